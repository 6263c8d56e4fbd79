// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options.c - learn the options of a command from the help that perf prints
 *
 * Each perf has other options. Its help says which of them take the next word as their argument.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

/**
 * is_live() - does this command show the samples as they come?
 * @command: the command
 */
bool is_live(const char *command)
{
	return !strcmp(command, "top") || !strcmp(command, "trace");
}

/**
 * has_call_graph() - does this command itself have the option --call-graph?
 * @command: the command
 */
bool has_call_graph(const char *command)
{
	return !strcmp(command, "record") || is_live(command);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* add_long: add the name at the start of @line. Returns what follows it. */
static const char *add_long(struct options *options, const char *line, bool *takes_word)
{
	const char *end = line;
	char *name;

	while (is_name_char(*end))
		end++;
	name = text_n(line, end - line);
	*takes_word = starts_with(end, " <") || starts_with(end, " ...");
	add_word(*takes_word ? &options->long_word : &options->long_other, name);
	return end;
}

/*
 * add_option: add the option of one line, such as "e, --event <event> ...", "g   enables ..." or
 * "  --aio[=<n>] ..."
 */
static void add_option(struct options *options, const char *line)
{
	unsigned char letter = 0;
	bool takes_word;

	if (*line != ' ')
		letter = *line++;
	if (starts_with(line, "  --") || starts_with(line, ", --"))
		line = add_long(options, line + strlen("  --"), &takes_word);
	else
		takes_word = starts_with(line, " <") || starts_with(line, " ...");
	if (!letter)
		return;
	if (takes_word)
		options->letter[letter] = ARGUMENT_WORD;
	else if (*line == '[')
		options->letter[letter] = ARGUMENT_ATTACHED;
	else
		options->letter[letter] = ARGUMENT_NONE;
}

static bool has_name(const struct words *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->nr; i++) {
		if (!strcmp(names->word[i], name))
			return true;
	}
	return false;
}

static void add_help(struct options *options, char *help)
{
	char *line, *rest = help;

	while ((line = strsep(&rest, "\n"))) {
		if (starts_with(line, "    -") && line[5] && line[5] != '-')
			add_option(options, line + 5);
		else if (starts_with(line, "        --") && line[10] && line[10] != ' ')
			add_option(options, line + 6);
	}
}

/**
 * read_options() - read the options of a command of perf
 * @options: filled with them
 * @real: the real perf
 * @command: the command, such as record
 *
 * Ends the program if a command that has --call-graph does not list it. What perf said instead is
 * printed.
 */
void read_options(struct options *options, const char *real, const char *command)
{
	bool needed = has_call_graph(command);
	char *help = output_of(real, command, "-h"), *kept = text("%s", help);

	*options = (struct options){ };
	add_help(options, help);
	if (needed && !has_name(&options->long_word, "call-graph"))
		die(1,
		    "cannot read the options of %s (%s -h). PERF_REAL=FILE names another perf. It says:\n%s",
		    real, command, kept);
	free(kept);
	free(help);
}

static bool begins_one_of(const struct words *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->nr; i++) {
		if (starts_with(names->word[i], name))
			return true;
	}
	return false;
}

/**
 * has_option() - is this one of the command's options?
 * @options: the options
 * @name: the long name, perhaps abbreviated
 */
bool has_option(const struct options *options, const char *name)
{
	return begins_one_of(&options->long_word, name) ||
	       begins_one_of(&options->long_other, name);
}

/**
 * add_own_options() - complete the options that c2c and mem have before those of record
 * @own: what their help lists: the options of all of their commands
 * @command: the command
 *
 * The help of their record needs hardware. So its options are named here.
 *
 * Return: true if the command has such options.
 */
bool add_own_options(struct options *own, const char *command)
{
	bool c2c = !strcmp(command, "c2c");
	const char *flags = c2c ? "ukv" : "UKv";

	if (!c2c && strcmp(command, "mem"))
		return false;
	for (; *flags; flags++)
		own->letter[(unsigned char)*flags] = ARGUMENT_NONE;
	own->letter['e'] = ARGUMENT_WORD;
	if (c2c)
		own->letter['l'] = ARGUMENT_WORD;
	add_word(&own->long_word, "event");
	add_word(&own->long_word, "ldlat");
	add_word(&own->long_other, "all-user");
	add_word(&own->long_other, "all-kernel");
	add_word(&own->long_other, "verbose");
	return true;
}

/**
 * long_takes_word() - does this long option take the next word?
 * @options: the command's options
 * @name: the name, perhaps abbreviated. An exact name decides before an abbreviation, as in perf.
 */
bool long_takes_word(const struct options *options, const char *name)
{
	if (has_name(&options->long_word, name))
		return true;
	if (has_name(&options->long_other, name))
		return false;
	return begins_one_of(&options->long_word, name);
}
