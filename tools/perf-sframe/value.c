// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * value.c - the value sframe of --call-graph and of the term call-graph of events
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "wrapper.h"

#define KNOWN_VALUES "Known are:\n" SFRAME_VALUES

#define LONGEST_WORD 16

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t min = a < b ? a : b;

	return min < c ? min : c;
}

/*
 * edits: how many letters are to be inserted, removed or replaced to make "sframe" of @word, in
 * capitals or not
 */
static size_t edits(const char *word, size_t len)
{
	static const char sframe[] = "sframe";
	size_t row[sizeof(sframe)], i, j, diagonal, above;

	for (j = 0; j < sizeof(sframe); j++)
		row[j] = j;
	for (i = 1; i <= len; i++) {
		int letter = tolower((unsigned char)word[i - 1]);

		diagonal = row[0];
		row[0] = i;
		for (j = 1; j < sizeof(sframe); j++) {
			diagonal += letter != sframe[j - 1];
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal);
			diagonal = above;
		}
	}
	return row[sizeof(sframe) - 1];
}

/*
 * word_length: the length of the word at the start of a list like "sframe,sync" that ends at @end
 */
static size_t word_length(const char *list, const char *end)
{
	const char *comma = memchr(list, ',', end - list);

	return comma ? comma - list : end - list;
}

static bool is_word(const char *word, size_t len, const char *known)
{
	return len == strlen(known) && !memcmp(word, known, len);
}

/**
 * has_word() - does a value have this word?
 * @value: words with commas between
 * @len: its length
 * @word: such as "sframe"
 */
bool has_word(const char *value, size_t len, const char *word)
{
	const char *end = value + len;
	size_t n;

	for (; value < end; value += n + 1) {
		n = word_length(value, end);
		if (is_word(value, n, word))
			return true;
	}
	return false;
}

/**
 * resembles_sframe() - is one of the words of a value "sframe", or meant to be?
 * @value: words with commas between
 * @len: its length
 *
 * No other word that perf knows is as near.
 */
bool resembles_sframe(const char *value, size_t len)
{
	const char *end = value + len;
	size_t n;

	for (; value < end; value += n + 1) {
		n = word_length(value, end);
		if (!strncasecmp(value, "sframe", strlen("sframe")))
			return true;
		if (n && n < LONGEST_WORD && edits(value, n) <= 2)
			return true;
	}
	return false;
}

/**
 * module_file() - where the module shows one of its files
 * @name: the file, relative to the module's directory in /sys
 *
 * Return: the path.
 */
char *module_file(const char *name)
{
	const char *sys = getenv("SFU_SYSFS");

	return text("%s/module/sframe_unwind/%s", sys && *sys ? sys : "/sys", name);
}

static bool is_switched_on(void)
{
	char *path = module_file("parameters/enabled"), *enabled = read_file(path);
	bool on = enabled && (*enabled == 'Y' || *enabled == '1');

	free(enabled);
	free(path);
	return on;
}

/**
 * module_state() - is the module loaded, and does it take the stacks?
 */
enum module_state module_state(void)
{
	char *path = module_file("");
	bool loaded = !access(path, F_OK);

	free(path);
	if (!loaded)
		return MODULE_ABSENT;
	return is_switched_on() ? MODULE_ON : MODULE_OFF;
}

static void need_module(void)
{
	switch (module_state()) {
	case MODULE_ON:
		return;
	case MODULE_OFF:
		die(1,
		    "--call-graph=sframe: the kernel module sframe_unwind is loaded, but switched off. Type:\n"
		    "    echo Y | sudo tee %s", module_file("parameters/enabled"));
	case MODULE_ABSENT:
		die(1,
		    "--call-graph=sframe needs the kernel module sframe_unwind, which is not loaded. Type:\n"
		    "    sudo modprobe sframe_unwind\n"
		    "If that finds no module, none was built for this kernel. With the package sframe-unwind-dkms, type:\n"
		    "    sudo apt install linux-headers-$(uname -r)\n"
		    "Without the package, in the directory where it was built: sudo insmod sframe_unwind.ko");
	}
}

static bool kernel_defers(void)
{
	char *path = module_file("parameters/hooks"), *hooks = read_file(path), *list;
	bool defers;

	if (hooks)
		hooks[strcspn(hooks, "\n")] = '\0';
	list = text(",%s,", hooks ? hooks : "");
	defers = strstr(list, ",deferred,");
	free(list);
	free(hooks);
	free(path);
	return defers;
}

/*
 * perf_defers: can perf record deferred stacks? An older perf accepts the word defer and reads it
 * as a depth of 0. So the function asks for merging instead: a perf that records deferred stacks
 * can also merge them.
 */
static bool perf_defers(const char *real)
{
	char *output = output_of(real, "script", "--list-opts"), *rest = output, *word;
	bool defers = false;

	while ((word = strsep(&rest, "\n ")))
		defers |= !strcmp(word, "--merge-callchains");
	free(output);
	return defers;
}

/* why_not_deferred: why deferred stacks cannot be had, NULL if they can */
static const char *why_not_deferred(const char *real, const char *command, bool of_event)
{
	/* perf would record which stacks are deferred, but not the stacks. */
	if (of_event)
		return "perf cannot defer the stacks of single events";
	if (is_live(command))
		return text("perf %s shows samples as they come and cannot merge deferred ones",
			    command);
	if (!kernel_defers())
		return "this kernel has no deferred unwinding, as those before 6.17 and arm64's; "
		       "if it should, its log says why the module cannot use it";
	if (!perf_defers(real))
		return text("%s is too old for deferred stacks (6.19 is the first that can)", real);
	return NULL;
}

/**
 * perf_value() - translate a value for the real perf
 * @real: the real perf
 * @command: record, top, trace, or a command that has a record
 * @value: "sframe", alone or with other words
 * @of_event: it is the value of an event's term, not of the option
 *
 * Ends the program if the value cannot be had.
 *
 * Return: "fp" or "fp,defer", and what else perf top finds in the value.
 */
char *perf_value(const char *real, const char *command, const char *value, bool of_event)
{
	const char *end = value + strlen(value), *reason = NULL;
	bool sync = false, defer = false;
	char *others = "";
	size_t n;

	for (; value < end; value += n + 1) {
		n = word_length(value, end);
		if (!n || is_word(value, n, "sframe") || is_word(value, n, "mapped"))
			continue;
		if (is_word(value, n, "sync") || is_word(value, n, "defer")) {
			sync = *value == 's';
			defer = !sync;
			continue;
		}
		/* perf top reads its display options from the same value. */
		if (strcmp(command, "top"))
			die(1, "--call-graph=sframe: unknown word '%.*s'. " KNOWN_VALUES,
			    (int)n, value);
		others = text("%s,%.*s", others, (int)n, value);
	}
	need_module();
	if (!sync)
		reason = why_not_deferred(real, command, of_event);
	if (defer && reason)
		die(1, "--call-graph=sframe,defer: %s; use --call-graph=sframe,sync", reason);
	return text("%s%s", sync || reason ? "fp" : "fp,defer", others);
}

/**
 * refuse_misspelling() - end the program: a value looks like sframe, and is none
 * @value: it
 */
void refuse_misspelling(const char *value)
{
	die(1, "--call-graph=%s: perf has no such value. Is sframe meant? " KNOWN_VALUES, value);
}
