// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * command.c - read the command line as perf does, and replace the value sframe
 *
 * Only a value that perf itself reads as one is replaced. Reading stops where perf stops: at "--"
 * or at the first word of the workload.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "wrapper.h"

#define TERM "call-graph"

enum level {
	LEVEL_PERF,	/* before the command: perf's own options */
	LEVEL_OUTER,	/* perf sched, lock, ...: before their `record` */
	LEVEL_OURS,	/* the options of record, top or trace: here the value sframe is replaced */
	LEVEL_OVER,	/* the workload, or a command that records nothing */
};

/* enum kind - what the value of an option is for */
enum kind {
	KIND_NONE,	/* the option takes no further word */
	KIND_OTHER,
	KIND_CALL_GRAPH,
	KIND_EVENT,
	KIND_PID,
};

/* struct reader - the state while a command line is read */
struct reader {
	struct command *command;
	enum level level;
	struct options options;		/* of the level */
	enum kind pending;		/* the next word is the value of an option */
	bool has_event;			/* an event was named, or the command names its own */
	struct options own_options;	/* of c2c and mem, which come before those of record */
	const struct options *own;	/* those, before their "--"; else NULL */
};

static bool is_one_of(const char *word, const char *const list[])
{
	for (; *list; list++) {
		if (!strcmp(word, *list))
			return true;
	}
	return false;
}

/* abbreviates: is @name an abbreviation of @whole, with at least @least letters? */
static bool abbreviates(const char *name, const char *whole, size_t least)
{
	return strlen(name) >= least && starts_with(whole, name);
}

/* long_kind: perf itself refuses an ambiguous abbreviation. */
static enum kind long_kind(const struct reader *reader, const char *name)
{
	if (reader->level == LEVEL_OURS && abbreviates(name, "call-graph", strlen("ca")))
		return KIND_CALL_GRAPH;
	if (abbreviates(name, "event", strlen("ev")))
		return KIND_EVENT;
	if (abbreviates(name, "pid", strlen("pid")) || abbreviates(name, "tid", strlen("tid")))
		return KIND_PID;
	return KIND_OTHER;
}

/* ---- terms of events ---- */

/*
 * term_value: find the value of the next term call-graph at @events, such as "fp" in
 * "cycles/call-graph=fp,freq=99/u". The value may be in single quotes, which it needs if it has a
 * comma; what is in the quotes of another term's value is no term. Sets @len to the length of the
 * value, without the quotes, and moves @events after them.
 */
static const char *term_value(const char **events, size_t *len)
{
	const char *value;

	for (; **events; (*events)++) {
		if (**events == '\'') {
			*events = strchrnul(*events + 1, '\'');
			if (!**events)
				return NULL;
		}
		if (**events != '/' && **events != ',')
			continue;
		value = skip_blanks(*events + 1);
		if (!starts_with(value, TERM))
			continue;
		value = skip_blanks(value + strlen(TERM));
		if (*value != '=')
			continue;
		value = skip_blanks(value + 1);
		*len = *value == '\'' ? strcspn(++value, "'") : strcspn(value, " \t,/");
		*events = value + *len;
		*events += **events == '\'';
		return value;
	}
	return NULL;
}

static char *replace_value(struct reader *reader, const char *value, size_t len, bool of_event);

/* replace_in_event: replace the value sframe in all terms call-graph of the events */
static const char *replace_in_event(struct reader *reader, const char *events)
{
	const char *rest = events, *value;
	char *result = "";
	size_t len;

	while ((value = term_value(&events, &len))) {
		result = text("%s%.*s%s", result, (int)(value - rest), rest,
			      replace_value(reader, value, len, true));
		rest = value + len;
	}
	return text("%s%s", result, rest);
}

/* ---- values ---- */

/* replace_value: the real perf's value for a value of --call-graph or of a term */
static char *replace_value(struct reader *reader, const char *value, size_t len, bool of_event)
{
	struct command *command = reader->command;
	char *copy = text_n(value, len);

	if (has_word(value, len, "sframe")) {
		command->asked = true;
		command->mapped |= has_word(value, len, "mapped");
		return perf_value(command->real, command->name, copy, of_event);
	}
	if (resembles_sframe(value, len))
		refuse_misspelling(copy);
	return copy;
}

/* read_value: note what the value of an option says, and return the value for the real perf */
static const char *read_value(struct reader *reader, enum kind kind, const char *value)
{
	if (reader->level != LEVEL_OURS)
		return value;
	switch (kind) {
	case KIND_CALL_GRAPH:
		return replace_value(reader, value, strlen(value), false);
	case KIND_EVENT:
		return replace_in_event(reader, value);
	case KIND_PID:
		reader->command->pid = value;
		return value;
	default:
		return value;
	}
}

/* ---- options ---- */

/* read_long: read "--NAME" or "--NAME=VALUE"; returns the word for the real perf */
static const char *read_long(struct reader *reader, const char *word)
{
	const char *equals = strchr(word, '=');
	char *name = text_n(word + 2, strcspn(word + 2, "="));
	bool is_own = reader->own && has_option(reader->own, name);
	const struct options *options = is_own ? reader->own : &reader->options;
	enum kind kind = long_kind(reader, name);

	if (is_own && kind == KIND_PID)
		kind = KIND_OTHER;
	if (kind == KIND_EVENT || !strcmp(name, "pfm-events"))
		reader->has_event = true;
	if (abbreviates(name, "quiet", strlen("q")))
		reader->command->quiet = true;
	if (abbreviates(name, "all-cpus", strlen("all-c")) ||
	    abbreviates(name, "cpu", strlen("cpu")) || abbreviates(name, "uid", strlen("ui")))
		reader->command->all = true;
	if (equals)
		word = text("--%s=%s", name, read_value(reader, kind, equals + 1));
	else if (kind == KIND_CALL_GRAPH || long_takes_word(options, name))
		reader->pending = kind;
	free(name);
	return word;
}

static enum kind letter_kind(char letter, bool is_own)
{
	switch (letter) {
	case 'e':
		return KIND_EVENT;
	case 'p':
	case 't':
		return is_own ? KIND_OTHER : KIND_PID;
	default:
		return KIND_OTHER;
	}
}

/*
 * read_letters: read "-LETTERS"; returns the word for the real perf. Only the last letter can
 * take the next word: for an earlier one, the rest of this word is the argument. From the first
 * letter on that c2c or mem does not know, the word is record's.
 */
static const char *read_letters(struct reader *reader, const char *word)
{
	const struct options *options = reader->own ?: &reader->options;
	const char *letter;

	for (letter = word + 1; *letter; letter++) {
		enum argument argument = options->letter[(unsigned char)*letter];
		bool is_own = options == reader->own && argument != ARGUMENT_UNKNOWN;
		enum kind kind = letter_kind(*letter, is_own);

		if (!is_own) {
			options = &reader->options;
			argument = options->letter[(unsigned char)*letter];
		}
		if (*letter == 'q')
			reader->command->quiet = true;
		/* mem hands its -C on. */
		if (*letter == 'C' || (!is_own && strchr("au", *letter)))
			reader->command->all = true;
		if (argument == ARGUMENT_ATTACHED)
			break;
		if (argument != ARGUMENT_WORD)
			continue;
		if (*letter == 'e')
			reader->has_event = true;
		if (!letter[1])
			reader->pending = kind;
		else
			word = text("%.*s%s", (int)(letter + 1 - word), word,
				    read_value(reader, kind, letter + 1));
		break;
	}
	return word;
}

/* ---- levels ---- */

static enum level level_of_command(struct reader *reader, const char *word)
{
	static const char *const direct[] = { "record", "top", "trace", NULL };
	static const char *const with_record[] = {
		"sched", "lock", "kmem", "kwork", "kvm", "mem", "c2c", NULL
	};

	/* These give -a to their record. */
	static const char *const on_all_cpus[] = { "sched", "kmem", "kwork", NULL };

	reader->command->name = word;
	if (is_one_of(word, direct))
		return LEVEL_OURS;
	if (!is_one_of(word, with_record))
		return LEVEL_OVER;
	reader->has_event = strcmp(word, "kvm");
	reader->command->all = is_one_of(word, on_all_cpus);
	return LEVEL_OUTER;
}

static enum level level_of_subcommand(struct reader *reader, const char *word)
{
	if (abbreviates(word, "record", strlen("rec")))
		return LEVEL_OURS;
	if (strcmp(word, "stat"))
		return LEVEL_OVER;
	reader->has_event = true;
	return strcmp(reader->command->name, "kvm") ? LEVEL_OVER : LEVEL_OUTER;
}

/*
 * level_of_workload: `perf trace record` is a recording; all else that follows options is the
 * workload
 */
static enum level level_of_workload(struct reader *reader, const char *word)
{
	if (strcmp(reader->command->name, "trace") || strcmp(word, "record")) {
		reader->command->workload = word;
		return LEVEL_OVER;
	}
	reader->command->name = "record";
	reader->has_event = true;
	return LEVEL_OURS;
}

/* enter: read a word that is no option; it opens the next level */
static void enter(struct reader *reader, const char *word)
{
	struct command *command = reader->command;

	switch (reader->level) {
	case LEVEL_PERF:
		reader->level = level_of_command(reader, word);
		break;
	case LEVEL_OUTER:
		reader->level = level_of_subcommand(reader, word);
		break;
	default:
		reader->level = level_of_workload(reader, word);
		break;
	}
	if (reader->level == LEVEL_OVER)
		return;
	if (reader->level == LEVEL_OUTER || is_live(command->name)) {
		read_options(&reader->options, command->real, command->name);
	} else {
		/* So far, the options are those of the command before its record. */
		reader->own_options = reader->options;
		if (add_own_options(&reader->own_options, command->name))
			reader->own = &reader->own_options;
		read_options(&reader->options, command->real, "record");
	}
}

/*
 * end_options: read "--". c2c and mem have options of their own before it. What follows theirs is
 * the command line of record, with its options.
 */
static void end_options(struct reader *reader, const char *next)
{
	if (reader->level == LEVEL_OURS && reader->own) {
		reader->own = NULL;
		return;
	}
	if (reader->level == LEVEL_OURS)
		reader->command->workload = next;
	reader->level = LEVEL_OVER;
}

/* ---- arm64 ---- */

static bool is_arm64(void)
{
	const char *machine = getenv("SFU_MACHINE");
	struct utsname name;

	if (!machine || !*machine)
		machine = uname(&name) ? "" : name.machine;
	return !strcmp(machine, "aarch64");
}

/*
 * On arm64, perf assumes that each stack lacks the sampled function's caller. It records the link
 * register, and perf report looks it up by libunwind or libdw and shows one more frame. An exact
 * stack would then have the caller twice, the second one off by one or still signed. No option
 * turns this off, but perf leaves it out if any event is recorded with --call-graph=dwarf. So
 * add_arm64_event adds such an event, which never occurs. It costs 8 bytes a sample, because each
 * sample then names its event. perf also prints a message that some registers are missing.
 */
static void add_arm64_event(struct reader *reader)
{
	struct words *words = &reader->command->words;

	/* c2c and mem know other events, but pass on what follows "--". */
	if (reader->own)
		add_word(words, "--");
	/* An added event replaces perf's default event: name the default, too. */
	if (!reader->has_event) {
		add_word(words, "-e");
		add_word(words, "cycles:P");
	}
	add_word(words, "-e");
	add_word(words, "dummy/call-graph=dwarf/u");
}

/* ---- the command line ---- */

/* read_word: read one word; returns the word for the real perf */
static const char *read_word(struct reader *reader, const char *word, const char *next)
{
	enum kind pending = reader->pending;

	reader->pending = KIND_NONE;
	if (pending != KIND_NONE)
		return read_value(reader, pending, word);
	if (starts_with(word, "--") && word[2])
		return read_long(reader, word);
	if (*word == '-' && word[1] && word[1] != '-')
		return read_letters(reader, word);
	if (!strcmp(word, "--"))
		end_options(reader, next);
	else
		enter(reader, word);
	return word;
}

/**
 * rewrite_command() - replace the value sframe in a command line
 * @command: @real is set; all else is filled
 * @argv: the command line
 */
void rewrite_command(struct command *command, char *const argv[])
{
	static const char *const with_word[] = { "debugfs-dir", "buildid-dir", "debug", NULL };
	struct reader reader = { .command = command };
	const char *const *option;

	for (option = with_word; *option; option++)
		add_word(&reader.options.long_word, *option);
	add_word(&command->words, *argv++);
	for (; *argv; argv++) {
		const char *word = read_word(&reader, *argv, argv[1]);

		if (reader.level == LEVEL_OVER)
			break;
		add_word(&command->words, word);
	}
	command->records = command->asked && !is_live(command->name);
	if (command->records && reader.pending == KIND_NONE && is_arm64())
		add_arm64_event(&reader);
	for (; *argv; argv++)
		add_word(&command->words, *argv);
}

/**
 * may_ask() - may the value sframe, or one that resembles it, be in a command line?
 * @argv: the command line
 *
 * Most command lines have none, and cost no more than this loop.
 */
bool may_ask(char *const argv[])
{
	const char *events, *value;
	size_t len;

	for (argv++; *argv; argv++) {
		if (starts_with(*argv, "--ca")) {
			value = strchr(*argv, '=');
			value = value ? value + 1 : argv[1];
			if (value && resembles_sframe(value, strlen(value)))
				return true;
		}
		events = *argv;
		while ((value = term_value(&events, &len))) {
			if (resembles_sframe(value, len))
				return true;
		}
	}
	return false;
}
