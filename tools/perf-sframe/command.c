// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * command.c - read the command line as perf does, and replace the value sframe
 *
 * The help of the real perf says which of its options take the next word. Reading stops where
 * perf stops: at "--" or at the first word of the workload, which stays as it is.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "wrapper.h"

#define TERM "call-graph="

/* struct option - an option of perf, as its help has it */
struct option {
	char letter;		/* 0: it has none */
	bool takes_word;	/* -e VALUE: its value is the next word, unless attached */
	bool takes_rest;	/* -I[VALUE]: its value is attached */
	bool call_graph;
};

/* struct reader - the state while a command line is read */
struct reader {
	struct command *command;
	char *help;		/* of the command */
	bool has_event;		/* an event was named, or the command names its own */
};

/* ---- options ---- */

/*
 * read_line: read a line of perf's help, such as "    -e, --event <event>   event selector",
 * "    -g                    enables ..." or "        --aio[=<n>] ...". Sets @name to the long
 * name, and returns its length; 0 if it has none.
 */
static size_t read_line(const char *line, struct option *option, const char **name)
{
	const char *end = "";
	size_t len = 0;

	*option = (struct option){ };
	*name = "";
	if (strcspn(line, "\n") < 10 || !starts_with(line, "    "))
		return 0;
	if (line[4] == '-' && line[5] != '-') {
		option->letter = line[5];
		end = line + 6;
	}
	if (starts_with(line + 6, ", --") || starts_with(line + 4, "    --")) {
		*name = line + 10;
		len = strspn(*name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
		end = *name + len;
	}
	option->takes_word = starts_with(end, " <") || starts_with(end, " ...");
	option->takes_rest = *end == '[';
	option->call_graph = len == strlen("call-graph") && starts_with(*name, "call-graph");
	return len;
}

/*
 * find_option: the option with a letter or, if that is 0, the first whose long name is @name or
 * begins so, as perf takes abbreviations
 */
static struct option find_option(const char *help, char letter, const char *name, size_t len)
{
	struct option option, found = { };
	bool is_found = false;
	const char *line, *long_name;
	size_t long_len;

	for (line = help; line; line = strchr(line, '\n'), line += !!line) {
		long_len = read_line(line, &option, &long_name);
		if (letter && option.letter == letter)
			return option;
		if (!len || long_len < len || strncmp(name, long_name, len))
			continue;
		if (long_len == len)
			return option;
		if (!is_found)
			found = option;
		is_found = true;
	}
	return found;
}

/* ---- values ---- */

/*
 * perf_defers: can perf record deferred stacks? An older perf accepts the word defer and reads it
 * as a depth of 0. So the function asks for merging instead: a perf that records deferred stacks
 * can also merge them.
 */
static bool perf_defers(const char *real)
{
	return strstr(output_of(real, "script", "--list-opts"), "--merge-callchains");
}

/* why_not_deferred: why deferred stacks cannot be had, NULL if they can */
static const char *why_not_deferred(const struct command *command)
{
	if (!command->records)
		return text("perf %s shows samples as they come and cannot merge deferred ones",
			    command->name);
	if (!module_defers())
		return "this kernel has no deferred unwinding, as those before 6.17 and arm64's; "
		       "if it should, its log says why the module cannot use it";
	if (!perf_defers(command->real))
		return text("%s is too old for deferred stacks (6.19 is the first that can)",
			    command->real);
	return NULL;
}

/*
 * perf_value: the real perf's value for "sframe" and the words after it; the value itself if it
 * does not begin so. Words that are not ours stay: perf knows what to do with them.
 */
static const char *perf_value(struct command *command, const char *value)
{
	char *words = text("%s", value), *word = strsep(&words, ","), *others = "";
	bool sync = false, defer = false;
	const char *reason = NULL;

	if (!word || strcmp(word, "sframe"))
		return value;
	command->asked = true;
	need_module();
	while ((word = strsep(&words, ","))) {
		if (!strcmp(word, "mapped"))
			command->mapped = true;
		else if (!strcmp(word, "sync"))
			sync = true, defer = false;
		else if (!strcmp(word, "defer"))
			sync = false, defer = true;
		else if (*word)
			others = text("%s,%s", others, word);
	}
	if (!sync)
		reason = why_not_deferred(command);
	if (defer && reason)
		die(1, "--call-graph=sframe,defer: %s; use --call-graph=sframe,sync", reason);
	return text("%s%s", sync || reason ? "fp" : "fp,defer", others);
}

/*
 * replace_in_events: replace the term call-graph=sframe of events by call-graph=fp: perf cannot
 * defer the stacks of single events. What is in quotes is left alone.
 */
static const char *replace_in_events(struct command *command, const char *events)
{
	const char *term = events, *end;

	if (strchr(events, '\''))
		return events;
	while ((term = strstr(term, TERM "sframe"))) {
		end = term + strlen(TERM "sframe");
		if (term > events && strchr("/,", term[-1]) && *end && strchr("/,", *end)) {
			need_module();
			command->asked = true;
			events = text("%.*s" TERM "fp%s", (int)(term - events), events, end);
			term = events;
		} else {
			term = end;
		}
	}
	return events;
}

/* read_value: note what the value of an option says, and return the value for the real perf */
static const char *read_value(struct command *command, struct option option, const char *value)
{
	if (option.call_graph)
		return perf_value(command, value);
	if (option.letter == 'e')
		return replace_in_events(command, value);
	if (option.letter == 'p' || option.letter == 't')
		command->pid = value;
	return value;
}

/* ---- the command line ---- */

/* note_option: note what the presence of an option says */
static void note_option(struct reader *reader, struct option option)
{
	reader->command->quiet |= option.letter == 'q';
	reader->command->all |= option.letter && strchr("aCu", option.letter);
	reader->has_event |= option.letter == 'e';
}

/*
 * read_option: read "--NAME", "--NAME=VALUE" or "-LETTERS"; returns the word for the real perf.
 * Sets @pending to the option whose value is the next word. Only the last letter can take the next
 * word: for an earlier one, the rest of this word is the value.
 */
static const char *read_option(struct reader *reader, const char *word, struct option *pending)
{
	struct option option;
	size_t len;

	if (word[1] == '-') {
		len = strcspn(word, "=");
		option = find_option(reader->help, 0, word + 2, len - 2);
		note_option(reader, option);
		reader->has_event |= starts_with(word, "--pfm-events");
		if (word[len])
			return text("%.*s=%s", (int)len, word,
				    read_value(reader->command, option, word + len + 1));
		*pending = option;
		return word;
	}
	for (len = 1; word[len]; len++) {
		option = find_option(reader->help, word[len], NULL, 0);
		note_option(reader, option);
		if (option.takes_word && word[len + 1])
			return text("%.*s%s", (int)len + 1, word,
				    read_value(reader->command, option, word + len + 1));
		if (option.takes_word || option.takes_rest)
			break;
	}
	*pending = option;
	return word;
}

/* read_options: read the options that begin at @argv; returns the first word after them */
static char *const *read_options(struct reader *reader, char *const argv[])
{
	struct option pending = { };

	for (; *argv; argv++) {
		const char *word = *argv;

		if (pending.takes_word) {
			word = read_value(reader->command, pending, word);
			pending.takes_word = false;
		} else if (*word == '-' && word[1] && strcmp(word, "--")) {
			word = read_option(reader, word, &pending);
		} else {
			break;
		}
		add_word(&reader->command->words, word);
	}
	return argv;
}

static bool is_arm64(void)
{
	struct utsname name;

	return !strcmp(variable("SFU_MACHINE", uname(&name) ? "" : name.machine), "aarch64");
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

	/* An added event replaces perf's default event: name the default, too. */
	if (!reader->has_event) {
		add_word(words, "-e");
		add_word(words, "cycles:P");
	}
	add_word(words, "-e");
	add_word(words, "dummy/call-graph=dwarf/u");
}

/*
 * read_names: read the words up to the options, such as "record" or "kvm stat record"; returns the
 * first option, NULL if the command records nothing
 */
static char *const *read_names(struct reader *reader, char *const argv[])
{
	static const char *const live[] = { "top", "trace", NULL };
	static const char *const with_record[] = { "sched", "lock", "kmem", "kwork", "kvm", NULL };
	/* These give -a to their record. */
	static const char *const on_all_cpus[] = { "sched", "kmem", "kwork", NULL };
	struct command *command = reader->command;

	while (*argv && **argv == '-')
		add_word(&command->words, *argv++);
	if (!*argv)
		return NULL;
	command->name = *argv;
	add_word(&command->words, *argv++);
	command->records = !is_one_of(command->name, live);
	if (is_one_of(command->name, with_record) ||
	    (!strcmp(command->name, "trace") && *argv && !strcmp(*argv, "record"))) {
		command->records = true;
		command->all = is_one_of(command->name, on_all_cpus);
		reader->has_event = strcmp(command->name, "kvm");
		while (*argv && !starts_with(*argv, "rec")) {
			reader->has_event |= !strcmp(*argv, "stat");
			add_word(&command->words, *argv++);
		}
		if (!*argv)
			return NULL;
		add_word(&command->words, *argv++);
	} else if (command->records && strcmp(command->name, "record")) {
		return NULL;
	}
	reader->help = output_of(command->real, command->records ? "record" : command->name, "-h");
	return argv;
}

/**
 * read_command() - replace the value sframe in a command line
 * @command: @real is set; all else is filled
 * @argv: the command line
 * @always: the value sframe is meant, even if no option has it
 */
void read_command(struct command *command, char *const argv[], bool always)
{
	struct reader reader = { .command = command };
	char *const *options;
	size_t first;

	add_word(&command->words, *argv);
	options = read_names(&reader, argv + 1);
	if (!options)
		return;
	first = command->words.nr;
	argv = read_options(&reader, options);
	if (always && !command->asked)
		insert_word(&command->words, first,
			    text("--call-graph=%s", perf_value(command, "sframe")));
	if (command->asked && command->records && is_arm64())
		add_arm64_event(&reader);
	command->workload = *argv && !strcmp(*argv, "--") ? argv[1] : *argv;
	for (; *argv; argv++)
		add_word(&command->words, *argv);
}
