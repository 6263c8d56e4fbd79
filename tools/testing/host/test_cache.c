// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_cache [ROUNDS] - the rule caches in several threads at once
 *
 * A virtual machine lets its processors take turns, so this runs on the host. A few keys share
 * still fewer places, so the threads overwrite each other's rows all the time. A row that is found
 * must be that of its key. Prints TAP.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "../../../sample/sframe_cache.c"

#define NR_THREADS	4
#define NR_KEYS		12
#define PLACE_BITS	1		/* for words; entries have SFU_CACHE_BITS */

static struct sfu_words words;
static struct sfu_cache *cache;
static u64 keys[NR_KEYS];		/* all of them have one entry of @cache */
static unsigned long nr_rounds = 4000000;

/**
 * struct worker - a thread, and what it has seen
 * @state: of its random numbers
 * @found: rows
 * @wrong: rows of another key
 */
struct worker {
	thrd_t		thread;
	u64		state;
	unsigned long	found;
	unsigned long	wrong;
};

static u64 next_key(struct worker *worker)
{
	worker->state = worker->state * 6364136223846793005ull + 1442695040888963407ull;
	return keys[(worker->state >> 33) % NR_KEYS];
}

/* A word in which each part follows from the key. */
static union sfu_fast_row word_of(u64 key)
{
	u16 n = key % 4093;

	return (union sfu_fast_row){ .cfa = 8 * n, .ra = 2 * n, .fp = n };
}

static int use_words(void *arg)
{
	struct worker *worker = arg;
	unsigned long i;

	for (i = 0; i < nr_rounds; i++) {
		u64 key = next_key(worker);
		union sfu_fast_row fast;

		if (!sfu_words_find(words, key, &fast)) {
			sfu_words_add(words, key, word_of(key));
			continue;
		}
		fast.version = 0;
		worker->found++;
		worker->wrong += fast.word != word_of(key).word;
	}
	return 0;
}

static struct sframe_row row_of(u64 key)
{
	s32 n = key;

	return (struct sframe_row){
		.cfa = { .how = SFRAME_RULE_REG, .off = n },
		.ra = { .how = SFRAME_RULE_CFA_MEM, .off = ~n },
		.fp = { .how = SFRAME_RULE_CFA_MEM, .off = n / 2 },
		.func = key * 5,
		.start = n + 1,
	};
}

static bool is_row_of(const struct sframe_row *row, u64 key)
{
	struct sframe_row want = row_of(key);

	return row->cfa.off == want.cfa.off && row->ra.off == want.ra.off &&
	       row->fp.off == want.fp.off && row->func == want.func && row->start == want.start;
}

static int use_entries(void *arg)
{
	struct worker *worker = arg;
	unsigned long i;

	for (i = 0; i < nr_rounds; i++) {
		u64 key = next_key(worker);
		struct sframe_row row;
		bool has_row;

		if (!sfu_cache_find(cache, key, &row, &has_row)) {
			row = row_of(key);
			/* Of each fourth key it is known that there is no row. */
			sfu_cache_add(cache, key, key % 4 ? &row : NULL);
			continue;
		}
		worker->found++;
		worker->wrong += has_row != (key % 4 != 0) || (has_row && !is_row_of(&row, key));
	}
	return 0;
}

static void check(int nr, const char *what, int (*use)(void *arg))
{
	struct worker workers[NR_THREADS] = {};
	unsigned long found = 0, wrong = 0;
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		workers[i].state = i;
		if (thrd_create(&workers[i].thread, use, &workers[i]) != thrd_success)
			errx(1, "cannot create a thread");
	}
	for (i = 0; i < NR_THREADS; i++) {
		thrd_join(workers[i].thread, NULL);
		found += workers[i].found;
		wrong += workers[i].wrong;
	}
	printf("%s %d - %s: %lu found, %lu of another key\n",
	       found > nr_rounds / 100 && !wrong ? "ok" : "not ok", nr, what, found, wrong);
}

/* Keys with one entry among those of the cache. */
static void choose_keys(void)
{
	u64 key = 4096;
	int i = 0;

	while (i < NR_KEYS)
		if (hash_64(++key, SFU_CACHE_BITS) == 1)
			keys[i++] = key;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		nr_rounds = strtoul(argv[1], NULL, 0);
	choose_keys();
	cache = sfu_cache_alloc(GFP_KERNEL);
	words = sfu_words(calloc(1 << PLACE_BITS, sizeof(*words.first)), PLACE_BITS);
	if (!words.first)
		err(1, NULL);
	check(1, "rows in one word", use_words);
	check(2, "entries", use_entries);
	printf("1..2\n");
	return 0;
}
