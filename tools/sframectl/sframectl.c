// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl: shows and makes SFrame data, and shows the counters of the module that uses it. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "sframectl.h"

static const char usage[] =
"Usage: sframectl COMMAND [OPTION...] [ARGUMENT...]\n"
"\n"
"Shows and makes SFrame stack trace data (.sframe), and shows the counters of the\n"
"kernel module sframe_unwind, which unwinds the stacks of programs by such data.\n"
"\n"
"Commands:\n"
"  dump FILE            show all of the SFrame data of a file\n"
"  check FILE...|PID    report whether objects have SFrame data, whether it is\n"
"                       sound, and how much of their code it covers\n"
"  convert FILE...      make SFrame data of the .eh_frame that programs have\n"
"  load PID|FILE...     convert files, and load the result into the module\n"
"  serve                make and load the tables that the module asks for\n"
"  status [SECONDS]     say how the stacks ended that the module unwound, and why\n"
"  why [PID] [SECONDS]  sample now, and say in which files stacks end, and what to\n"
"                       do about it\n"
"  tables               list the tables that the module holds, or drop them\n"
"\n"
"Options:\n"
"  --help     this text; after a command, that of the command\n"
"  --version  print the version\n"
"\n"
"Commands that show something take --json, for output to be read by programs. The\n"
"options of a command may be before it, too.\n"
"\n"
"Names of files and functions may be any bytes. In text, a byte that is not\n"
"UTF-8 and an invisible character are printed as \\xff, \\u202e or \\U000e0041, and\n"
"a backslash is doubled. In JSON, a byte that is not UTF-8 becomes U+FFFD.\n"
"\n"
"On a terminal there are colours, unless NO_COLOR is set in the environment.\n"
"\n"
"Exit status: 0 on success; 1 if a file, a process or the data is bad, or the\n"
"module is not loaded; 2 if the command line is wrong.\n";

static const struct command *const commands[] = {
	&dump_command,
	&check_command,
	&convert_command,
	&load_command,
	&serve_command,
	&status_command,
	&why_command,
	&tables_command,
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

/* Of options that have no letter for the command line. */
enum { OPTION_VERSION = 1 };

static const struct option options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "by-content", no_argument, NULL, 'c' },
	{ "drop", no_argument, NULL, 'd' },
	{ "from", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "last", no_argument, NULL, 't' },
	{ "linked", no_argument, NULL, 'l' },
	{ "output", required_argument, NULL, 'o' },
	{ "require", no_argument, NULL, 'r' },
	{ "stats", required_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "within", required_argument, NULL, 'w' },
	{}
};

/**
 * struct line - the command line, as far as it is parsed
 * @args: the arguments of the command
 * @given: letters of the options that were given, each once
 * @help: --help was given
 * @version: --version was given
 */
struct line {
	struct arguments	args;
	char			given[ARRAY_SIZE(options)];
	bool			help;
	bool			version;
};

static const char *option_name(int letter)
{
	const struct option *option = options;

	while (option->val != letter)
		option++;
	return option->name;
}

static void apply(struct line *line, int letter)
{
	switch (letter) {
	case 'a':
		line->args.all = true;
		break;
	case 'c':
		line->args.by_content = true;
		break;
	case 'd':
		line->args.drop = true;
		break;
	case 'f':
		line->args.from = optarg;
		break;
	case 'h':
		line->help = true;
		break;
	case 'j':
		line->args.json = true;
		break;
	case 'o':
		line->args.output = optarg;
		break;
	case 't':
		line->args.last = true;
		break;
	case 'l':
		line->args.linked = true;
		break;
	case 'r':
		line->args.require = true;
		break;
	case 's':
		line->args.stats = optarg;
		break;
	case 'v':
		line->args.verbose = true;
		break;
	case 'w':
		line->args.within = optarg;
		break;
	case OPTION_VERSION:
		line->version = true;
		break;
	}
}

/* @argv is that of getopt_long() after it has refused an option. */
static void complain_option(char **argv)
{
	const char *word = argv[optind - 1];

	if (optopt && !strncmp(word, "--", 2))
		complain("%s: takes %s value", word, strchr(word, '=') ? "no" : "a");
	else if (optopt == 'o')
		complain("-o: takes a value");
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
		apply(line, letter);
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
		complain("%s: takes no --%s", command->name, option_name(*given));
		return false;
	}
	return true;
}

static enum status run(struct line *line, const struct command *command, int argc,
		       char **argv)
{
	enum status status = STATUS_USAGE;

	if (!parse_options(line, argc, argv, "ahvo:"))
		return usage_error(command);
	if (line->help) {
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
	int at;

	/* A parent that ignores it passes that on, and nobody could wait for a child. */
	signal(SIGCHLD, SIG_DFL);
	if (!parse_options(&line, argc, argv, "+ahvo:"))
		return usage_error(NULL);
	at = optind;
	if (line.version) {
		puts("sframectl " VERSION);
		return finish(STATUS_OK);
	}
	if (at < argc ? !strcmp(argv[at], "help") : line.help) {
		fputs(usage, stdout);
		return finish(STATUS_OK);
	}
	if (at == argc) {
		complain("no command given");
		return usage_error(NULL);
	}
	command = find_command(argv[at]);
	if (!command)
		return usage_error(NULL);
	return finish(run(&line, command, argc - at, argv + at));
}
