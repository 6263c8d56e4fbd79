// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl: shows SFrame data, and the counters of the module that unwinds by it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "sframectl.h"

static const char usage[] =
"Usage: sframectl COMMAND [OPTION...] [ARGUMENT...]\n"
"\n"
"Shows SFrame stack trace data (.sframe), and the counters of the kernel module\n"
"sframe_unwind, which unwinds the stacks of programs by such data.\n"
"\n"
"Commands:\n"
"  dump FILE            show all of the SFrame data of a file\n"
"  check FILE...|PID    report whether objects have SFrame data, whether it is\n"
"                       sound, and how much of their code it covers\n"
"  status [SECONDS]     say how the stacks ended that the module unwound, and why\n"
"\n"
"Each command takes --json for output to be read by programs, and --help.\n"
"\n"
"Exit status: 0 on success; 1 if a file, a process or the data is bad, or the\n"
"module is not loaded; 2 if the command line is wrong.\n";

static const struct command *const commands[] = {
	&dump_command,
	&check_command,
	&status_command,
};

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
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "require", no_argument, NULL, 'r' },
	{ "stats", required_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{}
};

static const char *option_name(int letter)
{
	const struct option *option = options;

	while (option->val != letter)
		option++;
	return option->name;
}

static bool takes(const struct command *command, int letter)
{
	return strchr("hj?", letter) || strchr(command->options, letter);
}

static enum status run(const struct command *command, int argc, char **argv)
{
	struct arguments args = {};
	int opt;

	while ((opt = getopt_long(argc, argv, "hv", options, NULL)) != -1) {
		if (!takes(command, opt)) {
			complain("%s: takes no --%s", command->name, option_name(opt));
			return STATUS_USAGE;
		}
		switch (opt) {
		case 'a':
			args.all = true;
			break;
		case 'h':
			fputs(command->usage, stdout);
			return STATUS_OK;
		case 'j':
			args.json = true;
			break;
		case 'r':
			args.require = true;
			break;
		case 's':
			args.stats = optarg;
			break;
		case 'v':
			args.verbose = true;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	args.names = argv + optind;
	args.nr_names = argc - optind;
	return command->run(&args);
}

int main(int argc, char **argv)
{
	enum status status;
	size_t i;

	if (argc < 2) {
		complain("no command given");
		return usage_error(NULL);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		fputs(usage, stdout);
		return finish(STATUS_OK);
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		status = run(commands[i], argc - 1, argv + 1);
		if (status != STATUS_USAGE)
			return finish(status);
		return usage_error(commands[i]);
	}
	complain("%s: no such command", argv[1]);
	return usage_error(NULL);
}
