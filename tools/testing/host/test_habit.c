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
#include "sframe_prologue.h"

#define MAX_SIZE	4096

static unsigned int nr_tests;
static bool all_passed = true;

static void end(const char *what, const char *name, bool passed)
{
	all_passed &= passed;
	printf("%s %u - habit: %s %s\n", passed ? "ok" : "not ok", ++nr_tests, what, name);
}

typedef void (*count_fn)(struct sframe_starts *starts, const u8 *text, size_t len);

/* The function stands among padding. */
static void test_start(const char *what, const struct start_case *c, count_fn count)
{
	struct sframe_starts starts = {};
	u8 text[SFRAME_TEXT_FIRST + 2 * SFRAME_TEXT_AFTER];

	memset(text, PADDING, sizeof(text));
	if (SFRAME_TEXT_FIRST && c->before)
		text[SFRAME_TEXT_FIRST - 1] = c->before;
	memcpy(text + SFRAME_TEXT_FIRST, c->code, c->len);
	count(&starts, guard_copy(text, sizeof(text)), sizeof(text));
	end(what, c->name, starts.fp == (c->want == SFRAME_START_FP) &&
	    starts.other == (c->want == SFRAME_START_OTHER));
}

static const struct {
	struct sframe_starts	starts;
	enum sframe_habit	early, final, jit;
} judged[] = {
	{ { 0, 0 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 1, 0 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 2, 0 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 2, 1 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 1, 1 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 3, 1 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 4, 1 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 4, 0 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 5, 0 }, SFRAME_HABIT_FP, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 5, 1 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 6, 1 }, SFRAME_HABIT_FP, SFRAME_HABIT_FP, SFRAME_HABIT_FP },
	{ { 0, 4 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 0, 5 }, SFRAME_HABIT_OTHER, SFRAME_HABIT_OTHER, SFRAME_HABIT_OTHER },
	{ { 20, 24 }, SFRAME_HABIT_UNKNOWN, SFRAME_HABIT_OTHER, SFRAME_HABIT_UNKNOWN },
	{ { 20, 25 }, SFRAME_HABIT_OTHER, SFRAME_HABIT_OTHER, SFRAME_HABIT_OTHER },
};

static void test_judgement(void)
{
	char name[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(judged); i++) {
		snprintf(name, sizeof(name), "%u to %u", judged[i].starts.fp,
			 judged[i].starts.other);
		end("judges", name, sframe_habit_early(&judged[i].starts) == judged[i].early &&
		    sframe_habit_final(&judged[i].starts) == judged[i].final &&
		    sframe_habit_of_jit(&judged[i].starts) == judged[i].jit);
	}
}

/* Any bytes are code, of any length. */
static void test_anything(void)
{
	u8 text[96];
	size_t i, len;

	srandom(5);
	for (len = 0; len <= sizeof(text); len++) {
		struct sframe_starts starts = {};

		for (i = 0; i < len; i++)
			text[i] = random();
		sframe_habit_count(&starts, guard_copy(text, len), len);
		sframe_habit_count_jit(&starts, guard_copy(text, len), len);
	}
	end("reads", "any bytes, and none after them", true);
}

static void test_file(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	bool is_fp = !strncmp(name, "fp-", 3);
	struct sframe_starts starts = {};
	FILE *file = fopen(path, "rb");
	u8 text[MAX_SIZE];
	size_t len = file ? fread(text, 1, sizeof(text), file) : 0;

	if (file)
		fclose(file);
	sframe_habit_count(&starts, guard_copy(text, len), len);
	end("knows", name, (sframe_habit_early(&starts) ?: sframe_habit_final(&starts)) ==
	    (is_fp ? SFRAME_HABIT_FP : SFRAME_HABIT_OTHER));
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(start_cases); i++)
		test_start("begins with", &start_cases[i], sframe_habit_count);
	for (i = 0; i < ARRAY_SIZE(jit_cases); i++)
		test_start("of a JIT begins with", &jit_cases[i], sframe_habit_count_jit);
	test_judgement();
	test_anything();
	while (--argc)
		test_file(*++argv);
	printf("1..%u\n", nr_tests);
	return !all_passed;
}
