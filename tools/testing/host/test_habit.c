// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the habit of a file: test_habit FILE...
 *
 * First single functions, by the instructions they begin with (habit_cases.h of the
 * architecture). Then each FILE, a piece of the code of a real program: its name begins
 * with fp- or other-, which is the expected habit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "habit_cases.h"
#include "map/keeps_fp.h"

#define MAX_SIZE	4096

static unsigned int nr_tests;
static bool all_passed = true;

static void end(const char *what, const char *name, bool passed)
{
	all_passed &= passed;
	printf("%s %u - habit: %s %s\n", passed ? "ok" : "not ok", ++nr_tests, what, name);
}

/* The code under test also has functions that read the code of a process. Nothing calls them. */
struct sfu_walk;

bool sfu_walk_read_code(struct sfu_walk *walk, void *code, unsigned long addr, size_t len);
bool sfu_walk_read_around(struct sfu_walk *walk, u8 *code, unsigned long ip,
			  unsigned int before, unsigned int after);
unsigned int sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr, unsigned long *val);

bool sfu_walk_read_code(struct sfu_walk *walk, void *code, unsigned long addr, size_t len)
{
	abort();
}

bool sfu_walk_read_around(struct sfu_walk *walk, u8 *code, unsigned long ip,
			  unsigned int before, unsigned int after)
{
	abort();
}

unsigned int sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr, unsigned long *val)
{
	abort();
}

/* Bytes of padding before the function, and bytes of it and of padding after it. */
#define FIRST	16
#define REST	72

/* The function stands among padding. */
static void test_start(const char *what, const struct start_case *c, bool is_jit)
{
	struct sframe_prologues starts = {};
	u8 text[FIRST + REST];

	memset(text, PADDING, sizeof(text));
	if (c->before)
		text[FIRST - 1] = c->before;
	memcpy(text + FIRST, c->code, c->len);
	sframe_count_prologues(&starts, guard_copy(text, sizeof(text)), sizeof(text), is_jit);
	end(what, c->name, starts.fp == (c->want == SFRAME_PROLOGUE_FP) &&
	    starts.other == (c->want == SFRAME_PROLOGUE_OTHER));
}

static const struct {
	struct sframe_prologues	starts;
	enum sframe_keeps_fp	early, final, jit;
} judged[] = {
	{ { 0, 0 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 1, 0 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 2, 0 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 2, 1 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 1, 1 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 3, 1 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 4, 1 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 4, 0 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 5, 0 }, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 5, 1 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 6, 1 }, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES, SFRAME_KEEPS_FP_YES },
	{ { 0, 4 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 0, 5 }, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_NO },
	{ { 20, 24 }, SFRAME_KEEPS_FP_UNKNOWN, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_UNKNOWN },
	{ { 20, 25 }, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_NO, SFRAME_KEEPS_FP_NO },
};

static void test_judgement(void)
{
	char name[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(judged); i++) {
		snprintf(name, sizeof(name), "%u to %u", judged[i].starts.fp,
			 judged[i].starts.other);
		end("judges", name, sframe_keeps_fp_early(&judged[i].starts) == judged[i].early &&
		    sframe_keeps_fp_final(&judged[i].starts) == judged[i].final &&
		    sframe_keeps_fp_of_jit(&judged[i].starts) == judged[i].jit);
	}
}

/* Any bytes are code, of any length. */
static void test_anything(void)
{
	u8 text[96];
	size_t i, len;

	srandom(5);
	for (len = 0; len <= sizeof(text); len++) {
		struct sframe_prologues starts = {};

		for (i = 0; i < len; i++)
			text[i] = random();
		sframe_count_prologues(&starts, guard_copy(text, len), len, false);
		sframe_count_prologues(&starts, guard_copy(text, len), len, true);
	}
	end("reads", "any bytes, and none after them", true);
}

static void test_file(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	bool is_fp = !strncmp(name, "fp-", 3);
	struct sframe_prologues starts = {};
	FILE *file = fopen(path, "rb");
	u8 text[MAX_SIZE];
	size_t len = file ? fread(text, 1, sizeof(text), file) : 0;

	if (file)
		fclose(file);
	sframe_count_prologues(&starts, guard_copy(text, len), len, false);
	end("knows", name, (sframe_keeps_fp_early(&starts) ?: sframe_keeps_fp_final(&starts)) ==
	    (is_fp ? SFRAME_KEEPS_FP_YES : SFRAME_KEEPS_FP_NO));
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(start_cases); i++)
		test_start("begins with", &start_cases[i], false);
	for (i = 0; i < ARRAY_SIZE(jit_cases); i++)
		test_start("of a JIT begins with", &jit_cases[i], true);
	test_judgement();
	test_anything();
	while (--argc)
		test_file(*++argv);
	printf("1..%u\n", nr_tests);
	return !all_passed;
}
