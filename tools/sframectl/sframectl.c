// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl: the front door of sframe_unwind. This file reads the command line. */
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "report.h"
#include "sframectl.h"

static const char usage[] =
"Usage: sframectl [COMMAND] [OPTION...] [ARGUMENT...]\n"
"\n"
"Shows how the kernel unwinds user stacks by SFrame, and loads the tables for it.\n"
"\n"
"Commands:\n"
"  status           overview, also without a command: is it on, how do stacks end\n"
"  doctor           find what is missing or in the way, and say what to do\n"
"  why              sample now, and say in which files stacks end, and why\n"
"  stats            all counters, or what they mean, once or in intervals\n"
"  check FILE...    does it have SFrame data, is that sound, what does it cover\n"
"  load FILE...     make the tables of files or processes, and load them\n"
"  serve            make and load the tables that sampled programs lack\n"
"  tables [drop]    list the tables that the module holds, or drop them\n"
"  convert FILE...  make table files, and load nothing\n"
"  dump FILE        show all of the SFrame data of a file\n"
"  report           write a file to attach to a bug report\n"
"\n"
"Options:\n"
"  --help     this text; after a command, that of the command\n"
"  --version  print the version\n"
"\n"
"The manual page explains it all: man sframectl\n";

static const struct command *const commands[] = {
	&status_command,
	&doctor_command,
	&why_command,
	&stats_command,
	&check_command,
	&load_command,
	&serve_command,
	&tables_command,
	&convert_command,
	&dump_command,
	&report_command,
};

/**
 * parse_number() - read a number of the command line
 * @text: the word
 * @max: the largest that fits
 *
 * Return: the number; 0 if it is none, or does not fit.
 */
unsigned int parse_number(const char *text, unsigned int max)
{
	unsigned long number;
	char *rest;

	number = strtoul(text, &rest, 10);
	return *text < '0' || *text > '9' || *rest || number > max ? 0 : number;
}

/* @command is NULL if the command line names no command. */
static enum status usage_error(const struct command *command)
{
	fprintf(stderr, "Try 'sframectl %s%s--help'.\n",
		command ? command->name : "", command ? " " : "");
	return STATUS_USAGE;
}

/* A write error, such as a full disk, makes the command fail. */
static enum status finish(enum status status)
{
	if (fflush(stdout) || ferror(stdout)) {
		complain("standard output: cannot write");
		return STATUS_BAD;
	}
	return status;
}

static const struct option options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "duration", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "interval", required_argument, NULL, 'i' },
	{ "json", no_argument, NULL, 'j' },
	{ "last", no_argument, NULL, 't' },
	{ "linked", no_argument, NULL, 'l' },
	{ "output", required_argument, NULL, 'o' },
	{ "pid", required_argument, NULL, 'p' },
	{ "require", no_argument, NULL, 'r' },
	{ "stats", required_argument, NULL, 's' },
	{ "store", required_argument, NULL, 'S' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "within", required_argument, NULL, 'w' },
	{}
};

/* Of these, the ones that have a short form, as getopt() takes them. */
#define SHORT_OPTIONS	"ad:hi:o:p:v"

/* What an earlier version had, and what it is now. */
static const struct {
	const char	*was;
	const char	*now;
} renamed[] = {
	{ "--by-content", "convert --store DIR" },
	{ "--drop", "sframectl tables drop" },
	{ "--from", "serve --store DIR" },
};

/**
 * struct line - the command line, as far as it is parsed
 * @args: the arguments of the command
 * @given: letters of the options that were given, each once
 */
struct line {
	struct arguments	args;
	char			given[ARRAY_SIZE(options)];
};

static const struct option *find_option(int letter)
{
	const struct option *option = options;

	while (option->val != letter)
		option++;
	return option;
}

/* Return: the value of --pid, split at commas and spaces, is a list of PIDs. */
static bool add_pids(struct arguments *args, char *list)
{
	char *pid;

	while ((pid = strsep(&list, "\n, "))) {
		char **all;

		if (!*pid)
			continue;
		if (!process_is_pid(pid)) {
			complain("%s: no PID: -p takes digits, such as -p 1234 or -p 1234,5678",
				 pid);
			return false;
		}
		all = realloc(args->pids, (args->nr_pids + 1) * sizeof(*all));
		if (!all) {
			complain("out of memory");
			return false;
		}
		args->pids = all;
		all[args->nr_pids++] = pid;
	}
	if (!args->nr_pids)
		complain("-p takes a PID, and got none: no such process runs");
	return args->nr_pids;
}

/* Where the values of options are kept. */
static const struct {
	char	letter;
	size_t	off;
} members[] = {
	{ 'a', offsetof(struct arguments, all) },
	{ 'd', offsetof(struct arguments, seconds) },
	{ 'h', offsetof(struct arguments, help) },
	{ 'i', offsetof(struct arguments, seconds) },
	{ 'j', offsetof(struct arguments, json) },
	{ 'l', offsetof(struct arguments, linked) },
	{ 'o', offsetof(struct arguments, output) },
	{ 'r', offsetof(struct arguments, require) },
	{ 's', offsetof(struct arguments, stats) },
	{ 'S', offsetof(struct arguments, store) },
	{ 't', offsetof(struct arguments, last) },
	{ 'v', offsetof(struct arguments, verbose) },
	{ 'V', offsetof(struct arguments, version) },
	{ 'w', offsetof(struct arguments, within) },
};

/* Return: false if the value of the option is wrong. */
static bool apply(struct arguments *args, int letter)
{
	size_t i = 0;
	void *member;

	if (letter == 'p')
		return add_pids(args, optarg);
	while (members[i].letter != letter)
		i++;
	member = (char *)args + members[i].off;
	if (find_option(letter)->has_arg)
		*(const char **)member = optarg;
	else
		*(bool *)member = true;
	return true;
}

/* @argv is that of getopt_long() after it has refused an option. */
static void complain_option(char **argv)
{
	const char *word = argv[optind - 1];
	size_t i, len = strcspn(word, "=");

	for (i = 0; i < ARRAY_SIZE(renamed); i++)
		if (strlen(renamed[i].was) == len && !strncmp(word, renamed[i].was, len)) {
			complain("%s: no such option any more; type: %s", renamed[i].was,
				 renamed[i].now);
			return;
		}
	if (optopt && !strncmp(word, "--", 2))
		complain("%s: takes %s value", word, strchr(word, '=') ? "no" : "a");
	else if (optopt && strchr("diop", optopt))
		complain("-%c: takes a value", optopt);
	else if (optopt)
		complain("-%c: no such option", optopt);
	else
		complain("%s: no such option", word);
}

/* With "+" first in @letters, the parser stops at the first word that is no option. */
static bool parse_options(struct line *line, int argc, char **argv, const char *letters)
{
	int letter;

	opterr = 0;
	optind = 0;
	while ((letter = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (letter == '?') {
			complain_option(argv);
			return false;
		}
		if (!apply(&line->args, letter))
			return false;
		if (!strchr(line->given, letter))
			line->given[strlen(line->given)] = letter;
	}
	return true;
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	complain("%s: no such command", name);
	return NULL;
}

static bool takes_all(const struct command *command, const char *given)
{
	for (; *given; given++) {
		if (*given == 'h' || strchr(command->options, *given))
			continue;
		/* The counters were once what status shows. */
		complain("%s: takes no --%s%s", command->name, find_option(*given)->name,
			 command == &status_command && strchr(stats_command.options, *given) ?
			 "; the counters are now: sframectl stats" : "");
		return false;
	}
	return true;
}

static enum status run(struct line *line, const struct command *command, int argc,
		       char **argv)
{
	enum status status = STATUS_USAGE;

	if (!parse_options(line, argc, argv, SHORT_OPTIONS))
		return usage_error(command);
	if (line->args.help) {
		fputs(command->usage, stdout);
		return STATUS_OK;
	}
	line->args.names = argv + optind;
	line->args.nr_names = argc - optind;
	if (takes_all(command, line->given))
		status = command->run(&line->args);
	return status == STATUS_USAGE ? usage_error(command) : status;
}

/* Options may be before the command and after it. */
int main(int argc, char **argv)
{
	const struct command *command;
	struct line line = {};
	enum status status;
	int at;

	/* A parent that ignores it passes that on, and nobody could wait for a child. */
	signal(SIGCHLD, SIG_DFL);
	if (!parse_options(&line, argc, argv, "+" SHORT_OPTIONS))
		return usage_error(NULL);
	at = optind;
	if (line.args.version) {
		puts("sframectl " VERSION);
		return finish(STATUS_OK);
	}
	if (at < argc ? !strcmp(argv[at], "help") : line.args.help) {
		fputs(usage, stdout);
		return finish(STATUS_OK);
	}
	command = at < argc ? find_command(argv[at]) : &status_command;
	if (!command)
		return usage_error(NULL);
	/* Without a command, argv[0] stands where it would be. */
	if (at == argc)
		argv[--at] = argv[0];
	status = finish(run(&line, command, argc - at, argv + at));
	free(line.args.pids);
	return status;
}
