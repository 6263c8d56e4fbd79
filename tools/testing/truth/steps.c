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
#include "places.h"
#include "tracer.h"

static const char usage[] =
"Usage: steps [-l] [-k FILE] [-n STEPS] -o FILE -c SFRAMECTL -t DIR -- PROGRAM [ARG...]\n"
"\n"
"  -c SFRAMECTL  makes the tables: sframectl convert\n"
"  -t DIR        keeps the tables; one that is there already is used as it is\n"
"  -k FILE       lists functions whose wrong frames are known\n"
"  -n STEPS      ends after so many steps, with all processes\n"
"  -o FILE       gets the result: the program may close its standard output\n"
"  -l            does not step the loader, until the program begins\n"
"\n"
"Exit status: 0 if no frame is wrong, 1 if one is, 2 if the program cannot be stepped.\n";

/* Every so many steps the whole stack is walked, in both ways. */
#define WHOLE_EVERY	1024

static u64 nr_steps, max_steps = ~0ull;
static FILE *result;
static bool skip_loader;

static void check(struct thread *thread)
{
	struct image_place place = image_find(&thread->process->image, thread->regs.ip);
	bool is_new = places_add(place.binary ? place.binary->nr : 0, place.addr);

	if (++nr_steps % WHOLE_EVERY == 0)
		judge(thread, JUDGE_ALL, true);
	else
		judge(thread, JUDGE_NEW, !is_new);
}

static bool parse(int option)
{
	switch (option) {
	case 'c':
		binary_sframectl = optarg;
		return true;
	case 'k':
		tally_read_known(optarg);
		return true;
	case 'l':
		skip_loader = true;
		return true;
	case 'n':
		max_steps = strtoull(optarg, NULL, 0);
		return true;
	case 'o':
		result = fopen(optarg, "we");
		return result;
	case 't':
		binary_tables = optarg;
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
	bool is_right = true;
	struct thread *thread;
	int option;
	u64 wrong;

	while (is_right && (option = getopt(argc, argv, "+c:k:ln:o:t:")) >= 0)
		is_right = parse(option);
	if (!is_right || !binary_sframectl || !binary_tables || !result || optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	argv += optind;
	stay_on_one_processor();
	tracer_start(argv, skip_loader);
	while (nr_steps < max_steps && (thread = tracer_step()))
		check(thread);
	tracer_stop();
	wrong = tally_print(result, argv[0]);
	fprintf(result, "%s: %" PRIu64 " steps at %" PRIu64 " addresses\n", argv[0], nr_steps,
		places_count());
	return wrong ? 1 : 0;
}
