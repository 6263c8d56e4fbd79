// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl why: samples, and says where stacks end and what to do about it. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "color.h"
#include "json.h"
#include "language.h"
#include "module.h"
#include "name.h"
#include "remedy.h"
#include "report.h"
#include "sframectl.h"
#include "text.h"

#define SECONDS_DEFAULT	10
#define SECONDS_MAX	3600
#define PAUSE_MS	10	/* after which records are read again */
#define LATE_MS		1000	/* after the end: what comes until then is of the time before */
#define INDENT		11	/* column of the texts */

static const char usage[] =
"Usage: sframectl why [-p PID] [-d SECONDS] [-v] [--json]\n"
"\n"
"Samples by itself. Says in which files stacks end before they are complete, why,\n"
"and what to do about it. Ctrl-C ends it early, with what it has seen. For root\n"
"only.\n"
"\n"
"Options:\n"
"  -p, --pid PID           one process; else all\n"
"  -d, --duration SECONDS  how long to sample; else 10 seconds\n"
"  -v, --verbose           explain what is rare, too: less than 1 % of the stacks\n"
"  --json                  one JSON object\n"
"  --help                  this text\n"
"\n"
"Examples:\n"
"  sframectl why -d 5                       what runs now, for five seconds\n"
"  sframectl why -p $(pidof -s postgres)    one process\n";

/**
 * struct ending - stacks that ended in the same object, for the same cause
 * @object: as that of places
 * @reason: likewise
 * @cause: the cause
 * @count: number of stacks
 * @off: the offset at which most of them ended
 * @off_count: and how many that were
 */
struct ending {
	u16			object;
	u16			reason;
	enum remedy_cause	cause;
	u64			count;
	u64			off;
	u64			off_count;
};

/**
 * struct why - a run of the command
 * @args: the command line
 * @pid: the process; 0: all
 * @seconds: how long to sample
 * @end_ms: until when
 * @late_ms: from when on no record is taken any more
 * @places: where stacks ended
 * @stacks: number of stacks
 * @complete: of these, complete ones
 * @endings: the others, the most first
 * @nr_endings: how many
 */
struct why {
	const struct arguments	*args;
	u32			pid;
	u32			seconds;
	u64			end_ms;
	u64			late_ms;
	struct places		*places;
	u64			stacks;
	u64			complete;
	struct ending		*endings;
	size_t			nr_endings;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void take(void *arg, const struct sampler_end *end)
{
	struct why *why = arg;

	if (end->pid == (u32)getpid() || (why->pid && end->pid != why->pid))
		return;
	why->stacks++;
	if (remedy_is_complete(end->reason))
		why->complete++;
	else
		places_add(why->places, end, remedy_is_anywhere(end->reason));
}

static bool has_ended(u32 pid)
{
	return pid && kill(pid, 0);
}

/* Is the time over, or has somebody interrupted? */
static bool is_over(const struct why *why)
{
	return interrupted || clock_ms() >= why->end_ms;
}

/*
 * The records of the last moment are still taken. But to look up where a stack ended may take
 * longer than to take the next one: then there is always one more.
 */
static bool is_late(void *arg)
{
	struct why *why = arg;
	u64 now = clock_ms();

	if (interrupted && why->late_ms > now + LATE_MS)
		why->late_ms = now + LATE_MS;
	return now >= why->late_ms;
}

/* Samples until the end, or that of the process. */
static void sample(struct why *why, struct sampler *sampler)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	u64 begin = clock_ms();

	why->end_ms = begin + why->seconds * 1000ull;
	why->late_ms = why->end_ms + LATE_MS;
	do {
		nanosleep(&pause, NULL);
		sampler_read(sampler);
	} while (!is_over(why) && !has_ended(why->pid));
	why->seconds = min_t(u64, clock_ms() - begin, why->end_ms - begin) / 1000;
}

/* Stacks that end in the same object for the same cause are told together. */
static void add_ending(struct why *why, const struct place *place, enum remedy_cause cause)
{
	struct ending *ending = why->endings;

	while (ending->count && (ending->object != place->object ||
				 ending->reason != place->reason || ending->cause != cause))
		ending++;
	if (!ending->count) {
		*ending = (struct ending){
			.object = place->object, .reason = place->reason, .cause = cause,
		};
		why->nr_endings++;
	}
	ending->count += place->count;
	if (place->count > ending->off_count) {
		ending->off = place->off;
		ending->off_count = place->count;
	}
}

static enum remedy_cause cause_elsewhere(u16 object)
{
	switch (object) {
	case PLACE_GONE:
		return REMEDY_GONE;
	case PLACE_MORE:
		return REMEDY_MORE;
	default:
		return REMEDY_BY_REASON;
	}
}

/* Do stacks end in @object for want of data? Then its file has to be read. */
static bool lacks_data(const struct places *places, u16 object)
{
	const struct place *place;

	for (place = places->all; place < places->all + PLACES_MAX; place++)
		if (place->count && place->object == object &&
		    remedy_lacks_data(places->reasons[place->reason]))
			return true;
	return false;
}

/* Finds the causes of all places in @object, so that its file is converted once. */
static void explain_object(struct why *why, const struct held *held, u16 object)
{
	struct places *places = why->places;
	struct place_object *where = &places->objects[object];
	struct holding holding = {};
	const struct place *place;
	enum remedy_cause cause;

	if (lacks_data(places, object))
		holding_find(&holding, where, held);
	for (place = places->all; place < places->all + PLACES_MAX; place++) {
		if (!place->count || place->object != object)
			continue;
		cause = remedy_cause(places->reasons[place->reason], where, &holding,
				     place->off);
		add_ending(why, place, cause);
	}
	where->size = holding.code;
	where->covered = holding.covered;
	snprintf(where->no_table, sizeof(where->no_table), "%s", holding.error);
	holding_free(&holding);
}

static int compare_endings(const void *a, const void *b)
{
	const struct ending *ending1 = a, *ending2 = b;

	if (ending1->count != ending2->count)
		return ending1->count < ending2->count ? 1 : -1;
	return ending1->object - ending2->object;
}

static void explain(struct why *why)
{
	const struct place *place;
	struct held held;
	u16 i;

	/* Without an answer, tables count as not loaded. */
	held_read(&held);
	for (i = 0; i < why->places->nr_objects; i++)
		explain_object(why, &held, i);
	for (place = why->places->all; place < why->places->all + PLACES_MAX; place++)
		if (place->count && place->object >= PLACE_OBJECTS)
			add_ending(why, place, cause_elsewhere(place->object));
	qsort(why->endings, why->nr_endings, sizeof(*why->endings), compare_endings);
	held_free(&held);
}

static const char *object_name(const struct why *why, const struct ending *ending)
{
	return ending->object < PLACE_OBJECTS ?
		why->places->objects[ending->object].code.name : NULL;
}

/* Return: the runtime that has made the code; NULL if it is not known, or not the cause. */
static const struct language *language_of_ending(const struct why *why, const struct ending *ending)
{
	if (ending->cause != REMEDY_NO_FILE)
		return NULL;
	return why->places->objects[ending->object].language;
}

/* Return: the object, if its code lacks data and a table can be made of it; else NULL. */
static const struct place_object *measured_object(const struct why *why,
						  const struct ending *ending)
{
	if (ending->object >= PLACE_OBJECTS || !why->places->objects[ending->object].size ||
	    ending->cause == REMEDY_BY_REASON)
		return NULL;
	return &why->places->objects[ending->object];
}

/* Return: what the system or the converter says of the object; NULL if that is not the cause. */
static const char *error_of(const struct why *why, const struct ending *ending)
{
	switch (ending->cause) {
	case REMEDY_NO_TABLE:
		return why->places->objects[ending->object].no_table;
	case REMEDY_UNREADABLE:
		return why->places->objects[ending->object].error;
	default:
		return NULL;
	}
}

static void print_share(const struct why *why, u64 count, enum color shade)
{
	double share = 100.0 * count / why->stacks;

	fputs(color(shade), stdout);
	if (share < 0.05)
		printf("  <0.1 %%");
	else
		printf("%6.1f %%", share);
	printf("%s  ", color(COLOR_NONE));
}

static void print_indented(const char *words)
{
	printf("%*s", INDENT, "");
	print_words(words, INDENT, INDENT);
}

/* Stacks that did not end in an object: the reason begins the text. */
static void print_reason(const char *reason, const char *text)
{
	printf("%s%s", reason, text ? ":" : "\n");
	if (text)
		print_words(text, INDENT + strlen(reason) + 1, INDENT);
}

/* Rounded down, as `sframectl check` does: 100.0 % is all of it. */
static void print_covered(const struct place_object *object)
{
	printf("%*sA table of the file describes %.1f %% of its code.\n", INDENT, "",
	       (double)(u64)(1e3 * object->covered / object->size) / 10);
}

static void print_ending(const struct why *why, const struct ending *ending)
{
	const char *reason = why->places->reasons[ending->reason], *name = object_name(why, ending);
	const struct place_object *measured = measured_object(why, ending);
	const char *error = error_of(why, ending);
	const struct language *language = language_of_ending(why, ending);
	struct remedy remedy = remedy_of(ending->cause, reason);

	if (language)
		remedy.advice = language->advice;
	print_share(why, ending->count, COLOR_POOR);
	if (name) {
		fputs("end in ", stdout);
		name_print(stdout, name);
		if (language)
			printf(" of %s", language->name);
		printf(" (%s)\n", reason);
		if (remedy.text)
			print_indented(remedy.text);
		if (error)
			print_indented(error);
		if (measured && ending->cause == REMEDY_NOT_DESCRIBED)
			print_covered(measured);
	} else {
		print_reason(reason, remedy.text);
	}
	if (remedy.advice)
		print_indented(remedy.advice);
}

/* Less than one percent needs no explanation. */
static bool is_rare(const struct why *why, const struct ending *ending)
{
	return !why->args->verbose && ending->count < why->stacks / 100;
}

static void print_rare(const struct why *why)
{
	size_t i, nr = 0;
	u64 count = 0;

	for (i = 0; i < why->nr_endings; i++) {
		if (!is_rare(why, &why->endings[i]))
			continue;
		count += why->endings[i].count;
		nr++;
	}
	if (!nr)
		return;
	print_share(why, count, COLOR_NONE);
	printf("rare: %zu other %s, which -v names\n", nr, nr > 1 ? "causes" : "cause");
}

static void print_text(const struct why *why, u64 lost)
{
	size_t i;

	printf("%" PRIu64 " stack%s in %" PRIu32 " second%s\n", why->stacks,
	       why->stacks == 1 ? "" : "s", why->seconds, why->seconds == 1 ? "" : "s");
	if (!why->stacks) {
		puts(why->pid ? "The process did not run in this time: give it something to do." :
				"No program ran in this time: start what you want to know about.");
		return;
	}
	print_share(why, why->complete, COLOR_GOOD);
	puts("complete");
	for (i = 0; i < why->nr_endings; i++)
		if (!is_rare(why, &why->endings[i]))
			print_ending(why, &why->endings[i]);
	print_rare(why);
	if (lost)
		printf("%" PRIu64
		       " more are not counted: they came too fast; end other recordings\n", lost);
}

static void json_text(const char *key, const char *text)
{
	if (text)
		json_string(key, text);
	else
		json_null(key);
}

static void print_ending_json(const struct why *why, const struct ending *ending)
{
	const char *reason = why->places->reasons[ending->reason];
	const struct place_object *measured = measured_object(why, ending);
	const struct language *language = language_of_ending(why, ending);
	struct remedy remedy = remedy_of(ending->cause, reason);

	json_open(NULL, '{');
	json_count("stacks", ending->count);
	json_text("object", object_name(why, ending));
	json_text("runtime", language ? language->name : NULL);
	if (ending->object < PLACE_OBJECTS)
		json_count("offset", ending->off);
	if (measured) {
		json_count("code_bytes", measured->size);
		json_count("covered_bytes", measured->covered);
	}
	json_string("reason", reason);
	json_string("cause", remedy.name);
	json_text("text", remedy.text);
	json_text("error", error_of(why, ending));
	json_text("advice", language ? language->advice : remedy.advice);
	json_close('}');
}

static void print_json(const struct why *why, u64 lost)
{
	size_t i;

	json_open(NULL, '{');
	if (why->pid)
		json_count("pid", why->pid);
	json_count("seconds", why->seconds);
	json_count("stacks", why->stacks);
	json_count("complete", why->complete);
	json_count("lost", lost);
	json_open("endings", '[');
	for (i = 0; i < why->nr_endings; i++)
		print_ending_json(why, &why->endings[i]);
	json_close(']');
	json_close('}');
}

static enum status run_sampler(struct why *why)
{
	struct sampler sampler = { .take = take, .is_late = is_late, .arg = why };
	const char *error = sampler_open(&sampler);

	if (error) {
		complain("%s", error);
	} else {
		module_complain_if_off();
		sample(why, &sampler);
	}
	sampler_close(&sampler);
	if (error)
		return STATUS_BAD;
	/* To convert what it names may take long: it may be ended now. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	explain(why);
	(why->args->json ? print_json : print_text)(why, sampler.lost);
	return STATUS_OK;
}

static bool parse(struct why *why, const struct arguments *args)
{
	why->seconds = SECONDS_DEFAULT;
	if (args->seconds)
		why->seconds = parse_number(args->seconds, SECONDS_MAX);
	if (args->nr_pids)
		why->pid = parse_number(args->pids[0], INT32_MAX);
	if (args->nr_names)
		complain("why: %s: give a process by -p PID, a time by -d SECONDS", args->names[0]);
	else if (!why->seconds)
		complain("why: -d takes SECONDS from 1 to %u", SECONDS_MAX);
	else if (args->nr_pids > 1 || (args->nr_pids && !why->pid))
		complain("why: -p takes one process, by its PID");
	else
		return true;
	return false;
}

/* Return: whether there is something to sample; else it is said what is missing. */
static bool is_ready(const struct why *why)
{
	if (!module_is_loaded())
		module_complain_missing();
	else if (geteuid())
		complain("only root may sample; put sudo before the command");
	else if (has_ended(why->pid))
		complain("%" PRIu32 ": no such process", why->pid);
	else
		return true;
	return false;
}

static enum status run(const struct arguments *args)
{
	struct why why = { .args = args };
	enum status status = STATUS_BAD;

	if (!parse(&why, args))
		return STATUS_USAGE;
	if (!is_ready(&why))
		return STATUS_BAD;
	why.places = calloc(1, sizeof(*why.places));
	why.endings = calloc(PLACES_MAX + 1, sizeof(*why.endings));
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (why.places && why.endings)
		status = run_sampler(&why);
	else
		complain("out of memory");
	if (why.places)
		places_free(why.places);
	free(why.endings);
	return status;
}

const struct command why_command = {
	.name = "why",
	.usage = usage,
	.options = "djpv",
	.run = run,
};
