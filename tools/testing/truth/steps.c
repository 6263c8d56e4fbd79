// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps a program, instruction by instruction, and compares the walk of the module with the calls
 * that the program has made.
 */
#include <err.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "judge.h"
#include "known.h"
#include "places.h"
#include "tracer.h"

static const char usage[] =
"Usage: steps [-lv] [-k FILE] [-n STEPS] [-o FILE] -c SFRAMECTL -t DIR [--] PROGRAM [ARG...]\n"
"\n"
"  -c SFRAMECTL  makes the tables: sframectl convert\n"
"  -t DIR        keeps the tables; one that is there already is used as it is\n"
"  -k FILE       lists functions whose wrong frames are known\n"
"  -n STEPS      ends after so many steps, with all processes\n"
"  -o FILE       gets the result: the program may close its standard output\n"
"  -l            does not step the loader, until the program begins\n"
"  -v            also prints where stacks end early\n"
"\n"
"Exit status: 0 if no frame is wrong, 1 if one is, 2 if the program cannot be stepped.\n";

/* Every so many steps the whole stack is walked, in both ways. */
#define WHOLE_EVERY	1024

static u64 nr_steps;

static void check(struct thread *thread)
{
	struct image_place place = image_find(&thread->process->image, thread->regs.ip);
	bool is_new = places_add(place.binary ? place.binary->nr : 0, place.addr);

	if (++nr_steps % WHOLE_EVERY == 0)
		judge(thread, JUDGE_ALL, true);
	else
		judge(thread, JUDGE_NEW, !is_new);
}

/**
 * struct arguments - the command line
 * @most: steps
 * @out: gets the result
 * @skip_loader: begin with the program
 * @verbose: print where stacks end early
 * @argv: the program
 */
struct arguments {
	u64	most;
	FILE	*out;
	bool	skip_loader;
	bool	verbose;
	char	**argv;
};

static bool parse(struct arguments *args, int option)
{
	switch (option) {
	case 'c':
		binary_sframectl = optarg;
		return true;
	case 'k':
		known_read(optarg);
		return true;
	case 'l':
		args->skip_loader = true;
		return true;
	case 'n':
		args->most = strtoull(optarg, NULL, 0);
		return true;
	case 'o':
		args->out = fopen(optarg, "we");
		return args->out;
	case 't':
		binary_tables = optarg;
		return true;
	case 'v':
		args->verbose = true;
		return true;
	default:
		return false;
	}
}

/* Both sides take turns: on two processors each turn would wait for a wake-up of the other. */
static void stay_on_one_processor(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	struct arguments args = { .most = ~0ull, .out = stdout };
	bool is_right = true;
	struct thread *thread;
	int option;
	u64 wrong;

	while (is_right && (option = getopt(argc, argv, "+c:k:ln:o:t:v")) >= 0)
		is_right = parse(&args, option);
	if (!is_right || !binary_sframectl || !binary_tables || optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	args.argv = argv + optind;
	stay_on_one_processor();
	tracer_start(args.argv, args.skip_loader);
	while (nr_steps < args.most && (thread = tracer_step()))
		check(thread);
	tracer_stop();
	wrong = tally_print(args.out, args.argv[0], args.verbose);
	fprintf(args.out, "%s: %" PRIu64 " steps at %" PRIu64 " addresses\n", args.argv[0],
		nr_steps, places_count());
	return wrong ? 1 : 0;
}
