/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all suites share: tables of cases, and memory of a process. KUnit gives real mappings to the
 * test's thread, and removes them after the test.
 */
#ifndef COMMON_H
#define COMMON_H

#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/string.h>
#include <linux/types.h>

#include "map/map.h"
#include "sframe_stats.h"

struct sframe_header;
struct sframe_reader;
struct sframe_row;

/* A test that is a script: the steps are explained in walk_scene.h and scan_scene.h. */
struct script_case {
	const char	*name;
	const char	*script;
};

#define SCRIPT_TEXT	2048

void run_each_step(struct kunit *test, char *script, void (*run)(struct kunit *test, char *step),
		   const char *format, va_list args);

/* Defines which_gen_params() for the table which_cases[] of this type. */
#define NAMED_CASES_OF(which, type)					\
	static void which##_desc(const struct type *c, char *desc)	\
	{								\
		strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);		\
	}								\
	KUNIT_ARRAY_PARAM(which, which##_cases, which##_desc)

#define NAMED_CASES(which)	NAMED_CASES_OF(which, which##_case)

/* Checks a lower and an upper bound: a value that was never measured must not pass. */
static inline void expect_within(struct kunit *test, const char *what, u32 value,
				 u32 least, u32 most)
{
	KUNIT_EXPECT_GE_MSG(test, value, least, "too few %s", what);
	KUNIT_EXPECT_LE_MSG(test, value, most, "too many %s", what);
}

void *test_alloc(struct kunit *test, size_t size);
unsigned long user_map(struct kunit *test, u32 nr);
void user_remap(struct kunit *test, unsigned long page, unsigned long prot);
void user_store(struct kunit *test, unsigned long addr, const void *bytes, u32 len);

int read_user_header(struct sframe_header *hdr, struct sframe_reader *rd, unsigned long addr,
		     u32 len);
int find_user_row_now(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		      struct sframe_row *row);
int find_user_row(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_row *row);

/*
 * The state of the module. Its counters are a text that tests compare: "walks stop.full
 * frames.sframe=2" has those that have changed. Process maps are built by hand.
 */
#define COUNTERS_TEXT	256

#define SPARES		128	/* processes that the module keeps ready */

void counters_read(struct sfu_counters *counters);
void counters_text(const struct sfu_counters *since, char *text);

bool comes_true(bool (*condition)(void));
bool nothing_is_held(void);
void begin_to_profile(struct kunit *test);

struct sfu_map *build_map(struct kunit *test, unsigned int nr);
void build_range(struct sfu_map *map, unsigned int i, unsigned long start, unsigned long len);
void renumber(struct sfu_range *range);

int read_header(struct sfu_range *range, unsigned long addr, u32 len);
const char *state_text(const struct sfu_range *range);
bool is_ready(const struct sfu_range *range);

#endif /* COMMON_H */
