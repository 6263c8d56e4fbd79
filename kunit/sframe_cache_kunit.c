// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the rule caches, sample/sframe_cache.c.
 *
 * Tests choose keys with the same place or with different places. The offsets of a
 * row follow from its key, so that a test recognizes the row.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "named_cases.h"
#include "sframe_arch.h"
#include "sframe_cache.h"

#define KEY	0x12345000

static int cache_init(struct kunit *test)
{
	struct sfu_cache *cache = sfu_cache_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cache);
	test->priv = cache;
	KUNIT_ASSERT_TRUE(test, sfu_cache_add_words(cache, GFP_KERNEL));
	return 0;
}

static void cache_exit(struct kunit *test)
{
	sfu_cache_free(test->priv);
}

static struct sfu_words words_of(struct kunit *test, bool is_activation)
{
	return sfu_cache_words(test->priv, is_activation);
}

/* A row in which every field follows from the key. Tests compare its padding, too. */
static struct sframe_row row_of(u64 key)
{
	s32 off = key & 0xffffff;
	struct sframe_row row;

	memset(&row, 0, sizeof(row));
	row.cfa.how = SFRAME_RULE_REG;
	row.cfa.reg = SFU_ARCH_REG_SP;
	row.cfa.off = off;
	row.ra.how = SFRAME_RULE_CFA_MEM;
	row.ra.off = off + 1;
	row.fp.how = SFRAME_RULE_REG_MEM;
	row.fp.reg = SFU_ARCH_REG_FP;
	row.fp.off = off + 2;
	row.func = key * 3;
	row.signal = key & 1;
	row.outermost = key & 2;
	return row;
}

static bool find(const struct sfu_cache *cache, u64 key, struct sframe_row *row)
{
	bool has_row;

	return sfu_cache_find(cache, key, row, &has_row) && has_row;
}

static bool is_known(const struct sfu_cache *cache, u64 key)
{
	struct sframe_row row, want = row_of(key);

	return find(cache, key, &row) && !memcmp(&row, &want, sizeof(row));
}

static void add(struct sfu_cache *cache, u64 key)
{
	struct sframe_row row = row_of(key);

	sfu_cache_add(cache, key, &row);
}

/* Return: another key with the same place, among rows and among words. */
static u64 rival(u64 key)
{
	struct sfu_words words = sfu_words(NULL, SFU_WORDS_BITS);
	u64 other = key;

	do {
		other++;
	} while (sfu_words_place(words, other) != sfu_words_place(words, key) ||
		 hash_64(other, SFU_CACHE_BITS) != hash_64(key, SFU_CACHE_BITS));
	return other;
}

static void empty(struct kunit *test)
{
	struct sframe_row row;
	u64 key;

	for (key = 1; key <= 4096; key++)
		KUNIT_EXPECT_FALSE(test, find(test->priv, key, &row));
}

static void each_key_alone(struct kunit *test)
{
	u64 key;

	for (key = KEY; key < KEY + 4096; key++) {
		add(test->priv, key);
		KUNIT_EXPECT_TRUE(test, is_known(test->priv, key));
	}
}

/* An address without a row is known, too. */
static void absence(struct kunit *test)
{
	struct sframe_row row;
	bool has_row = true;

	sfu_cache_add(test->priv, KEY, NULL);
	KUNIT_EXPECT_TRUE(test, sfu_cache_find(test->priv, KEY, &row, &has_row));
	KUNIT_EXPECT_FALSE(test, has_row);
}

static void last_one_stays(struct kunit *test)
{
	struct sframe_row row;

	add(test->priv, KEY);
	add(test->priv, rival(KEY));
	KUNIT_EXPECT_FALSE(test, find(test->priv, KEY, &row));
	KUNIT_EXPECT_TRUE(test, is_known(test->priv, rival(KEY)));
}

/* An NMI has interrupted the writer of the entry. */
static void being_written(struct kunit *test)
{
	struct sfu_cache *cache = test->priv;
	struct sfu_cache_entry *entry = &cache->entries[hash_64(KEY, SFU_CACHE_BITS)];
	struct sframe_row row;

	add(test->priv, KEY);
	atomic_inc(&entry->seq);
	KUNIT_EXPECT_FALSE(test, find(test->priv, KEY, &row));
	add(test->priv, rival(KEY));
	KUNIT_EXPECT_EQ(test, KEY, entry->key);
	atomic_inc(&entry->seq);
	KUNIT_EXPECT_TRUE(test, is_known(test->priv, KEY));
}

static void written_while_read(struct kunit *test)
{
	const struct sfu_cache_entry *entry;
	int seq;

	add(test->priv, KEY);
	entry = sfu_cache_begin(test->priv, KEY, &seq);
	KUNIT_EXPECT_TRUE(test, sfu_cache_is_same(entry, seq));
	/* The entry is replaced twice, so that it has the same key again. */
	add(test->priv, rival(KEY));
	add(test->priv, KEY);
	KUNIT_EXPECT_EQ(test, KEY, entry->key);
	KUNIT_EXPECT_FALSE(test, sfu_cache_is_same(entry, seq));
}

/* ---- rows of the fast path ---- */

#define SP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define FP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = (n) }
#define AT_SP(n)	{ .how = SFRAME_RULE_REG_MEM, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define AT_CFA(n)	{ .how = SFRAME_RULE_CFA_MEM, .off = (n) }
#define CFA_PLUS(n)	{ .how = SFRAME_RULE_CFA, .off = (n) }
#define SAME		{ .how = SFRAME_RULE_SAME }

#define BY_FP		SFU_FAST_FP
#define SAVED		SFU_FAST_FP_SAVED
#define OTHER_KIND	{ { SFU_FAST_OTHER } }

/* The return address is not next to the CFA, as it is where calls push it. */
#if SFU_ARCH_REG_RA < 0
#define AWAY_FROM_CFA(...)	OTHER_KIND
#else
#define AWAY_FROM_CFA(...)	{ { __VA_ARGS__ } }
#endif

/* The largest CFA offset that fits. */
#define CFA_MAX		(0x10000 - SFU_ARCH_CFA_ALIGN)

static const struct fast_case {
	const char		*name;
	struct sframe_row	row;
	union sfu_fast_row	want;
} fast_cases[] = {
	{ "sp, fp same", { SP_PLUS(16), AT_CFA(-8), SAME }, { { 16, 8 } } },
	{ "sp, fp saved", { SP_PLUS(64), AT_CFA(-8), AT_CFA(-16) },
	  { { 64 | SAVED, 56, 48 } } },
	{ "fp, fp same", { FP_PLUS(16), AT_CFA(-8), SAME }, { { 16 | BY_FP, 8 } } },
	{ "fp, fp saved", { FP_PLUS(16), AT_CFA(-8), AT_CFA(-16) },
	  { { 16 | BY_FP | SAVED, 8 } } },
	{ "frame record below", { SP_PLUS(96), AT_CFA(-88), AT_CFA(-96) },
	  AWAY_FROM_CFA(96 | SAVED, 8) },
	{ "largest", { SP_PLUS(CFA_MAX), AT_CFA(-8), AT_CFA(-16) },
	  { { CFA_MAX | SAVED, CFA_MAX - 8, CFA_MAX - 16 } } },
	{ "too large", { SP_PLUS(0x10000), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "off by one", { SP_PLUS(17), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "off by half", { SP_PLUS(16 + SFU_ARCH_CFA_ALIGN / 2), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "empty", { SP_PLUS(0), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa below", { SP_PLUS(-16), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa far below", { SP_PLUS(S32_MIN), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "ra lowest", { SP_PLUS(16), AT_CFA(-16), SAME }, AWAY_FROM_CFA(16) },
	{ "ra below", { SP_PLUS(16), AT_CFA(-17), SAME }, OTHER_KIND },
	{ "ra across cfa", { SP_PLUS(16), AT_CFA(-7), SAME }, OTHER_KIND },
	{ "ra above", { SP_PLUS(16), AT_CFA(8), SAME }, OTHER_KIND },
	{ "ra far above", { SP_PLUS(16), AT_CFA(S32_MAX), SAME }, OTHER_KIND },
	{ "fp lowest", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-32) },
	  { { 32 | SAVED, 24 } } },
	{ "fp below", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-33) }, OTHER_KIND },
	{ "fp across cfa", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-7) }, OTHER_KIND },
	{ "cfa in memory", { AT_SP(16), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa of another register",
	  { { .how = SFRAME_RULE_REG, .reg = 0, .off = 16 }, AT_CFA(-8), SAME }, OTHER_KIND },
	{ "no cfa", { SAME, SAME, SAME, .signal = true }, OTHER_KIND },
	{ "ra same", { SP_PLUS(16), SAME, SAME }, OTHER_KIND },
	{ "ra is an address", { SP_PLUS(16), CFA_PLUS(-8), SAME }, OTHER_KIND },
	{ "ra by sp", { SP_PLUS(16), AT_SP(8), SAME }, OTHER_KIND },
	{ "fp is an address", { SP_PLUS(16), AT_CFA(-8), CFA_PLUS(-16) }, OTHER_KIND },
	{ "fp by sp", { SP_PLUS(16), AT_CFA(-8), AT_SP(8) }, OTHER_KIND },
	{ "outermost", { SP_PLUS(16), AT_CFA(-8), SAME, .outermost = true },
	  { { SFU_FAST_OTHER, 1 } } },
	{ "signal", { SP_PLUS(16), AT_CFA(-8), SAME, .signal = true }, OTHER_KIND },
};

NAMED_CASES(fast);

/* The row in one word, without its version; 0: it is not known. */
static union sfu_fast_row fast_row(struct sfu_words words, u64 key)
{
	union sfu_fast_row fast;

	if (!sfu_words_find(words, key, &fast))
		return (union sfu_fast_row){};
	fast.version = 0;
	return fast;
}

static void add_fast(struct kunit *test)
{
	const struct fast_case *c = test->param_value;
	struct sfu_words words = words_of(test, false);

	KUNIT_EXPECT_EQ(test, c->want.word, sfu_fast_row(&c->row).word);
	sfu_words_add(words, KEY, sfu_fast_row(&c->row));
	KUNIT_EXPECT_EQ(test, c->want.word, fast_row(words, KEY).word);
	KUNIT_EXPECT_EQ(test, 0, fast_row(words, rival(KEY)).word);
	KUNIT_EXPECT_EQ(test, 0, fast_row(words_of(test, true), KEY).word);
}

static void words_at_first(struct kunit *test)
{
	u64 key;

	for (key = 1; key <= 4096; key++) {
		KUNIT_EXPECT_EQ(test, 0, fast_row(words_of(test, false), key).word);
		KUNIT_EXPECT_EQ(test, 0, fast_row(words_of(test, true), key).word);
	}
}

/* A process without a mapped section has no words. */
static void words_are_nowhere(struct kunit *test)
{
	struct sfu_cache *cache = sfu_cache_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cache);
	KUNIT_EXPECT_NULL(test, sfu_cache_words(cache, false).first);
	KUNIT_EXPECT_NULL(test, sfu_cache_words(cache, true).first);
	KUNIT_EXPECT_LT(test, sfu_cache_size(cache), sfu_cache_size(test->priv));
	sfu_cache_free(cache);
}

/* A sampled process holds 16 KiB at most, with all else that is held for it. */
static void size_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, sfu_cache_size(test->priv), SZ_4K + SZ_8K + 64);
	KUNIT_EXPECT_EQ(test, 0, sfu_cache_size(NULL));
}

/* Each write has another version, so that a reader notices two of them. */
static void versions_differ(struct kunit *test)
{
	const struct sframe_row row = { SP_PLUS(16), AT_CFA(-8), SAME };
	struct sfu_words words = words_of(test, false);
	union sfu_fast_row before, after;
	unsigned int i;

	for (i = 0; i < 5000; i++) {
		before = sfu_words_place(words, KEY)->fast;
		sfu_words_add(words, KEY, sfu_fast_row(&row));
		after = sfu_words_place(words, KEY)->fast;
		KUNIT_ASSERT_NE(test, before.word, after.word);
		KUNIT_ASSERT_EQ(test, sfu_fast_row(&row).word, fast_row(words, KEY).word);
	}
}

/* An NMI has interrupted the writer of the word. */
static void fast_being_written(struct kunit *test)
{
	const struct sframe_row row = { SP_PLUS(16), AT_CFA(-8), SAME };
	struct sfu_words words = words_of(test, false);

	sfu_words_add(words, KEY, sfu_fast_row(&row));
	KUNIT_EXPECT_NE(test, 0, fast_row(words, KEY).word);
	sfu_words_place(words, KEY)->key = SFU_KEY_WRITING;
	KUNIT_EXPECT_EQ(test, 0, fast_row(words, KEY).word);
	sfu_words_add(words, KEY, sfu_fast_row(&row));
	sfu_words_add(words, rival(KEY), sfu_fast_row(&row));
	KUNIT_EXPECT_EQ(test, SFU_KEY_WRITING, sfu_words_place(words, KEY)->key);
}

static void add_keeps_all(struct kunit *test)
{
	const struct sframe_row from = {
		.cfa = { .how = SFRAME_RULE_REG_MEM, .reg = 5, .off = S32_MIN },
		.ra = { .how = SFRAME_RULE_CFA, .off = S32_MAX },
		.fp = { .how = SFRAME_RULE_REG, .reg = 31, .off = -1 },
		.func = U64_MAX,
		.outermost = true,
		.signal = true,
	};
	struct sframe_row row;

	sfu_cache_add(test->priv, KEY, &from);
	KUNIT_ASSERT_TRUE(test, find(test->priv, KEY, &row));
	KUNIT_EXPECT_EQ(test, row.cfa.how, SFRAME_RULE_REG_MEM);
	KUNIT_EXPECT_EQ(test, row.cfa.reg, 5);
	KUNIT_EXPECT_EQ(test, row.cfa.off, S32_MIN);
	KUNIT_EXPECT_EQ(test, row.ra.how, SFRAME_RULE_CFA);
	KUNIT_EXPECT_EQ(test, row.ra.off, S32_MAX);
	KUNIT_EXPECT_EQ(test, row.fp.how, SFRAME_RULE_REG);
	KUNIT_EXPECT_EQ(test, row.fp.reg, 31);
	KUNIT_EXPECT_EQ(test, row.fp.off, -1);
	KUNIT_EXPECT_EQ(test, row.func, U64_MAX);
	KUNIT_EXPECT_TRUE(test, row.outermost);
	KUNIT_EXPECT_TRUE(test, row.signal);
}

/* ---- readers beside writers ---- */

struct writer {
	struct sfu_cache	*cache;
	u64			key;
	u32			nr;
};

/* Adds a row that differs from the last one. Every field follows from one number, and fits. */
static void add_next(struct writer *writer)
{
	s32 n = 8 * (1 + writer->nr++ % 500);
	const struct sframe_row row = { SP_PLUS(16 * n), AT_CFA(-8), AT_CFA(-9 * n) };

	sfu_words_add(sfu_cache_words(writer->cache, false), writer->key, sfu_fast_row(&row));
}

static bool is_whole(union sfu_fast_row fast)
{
	u32 n = fast.cfa / 16;

	return fast.cfa == (16 * n | SAVED) && fast.ra == 16 * n - 8 && fast.fp == 7 * n;
}

static int write_all_the_time(void *data)
{
	struct writer *writer = data;

	while (!kthread_should_stop()) {
		add(writer->cache, writer->key);
		cond_resched();
	}
	return 0;
}

static int write_fast_all_the_time(void *data)
{
	while (!kthread_should_stop()) {
		add_next(data);
		cond_resched();
	}
	return 0;
}

/* Reads for a second, and on a busy machine until a row has been found at all. */
static bool reads_on(unsigned long begin, unsigned int found)
{
	return time_before(jiffies, begin + (found ? HZ : 60 * HZ));
}

/*
 * If the rival is the last to write before each read, as may be on one processor, the reader never
 * finds a row: after a second it writes one itself.
 */
static bool has_to_write(unsigned long begin, unsigned int found)
{
	return !found && time_after(jiffies, begin + HZ);
}

/* A row that is found is whole, while others write. */
static void found_is_whole(struct kunit *test)
{
	struct writer writers[2] = {
		{ test->priv, KEY },
		{ test->priv, rival(KEY) },
	};
	struct task_struct *tasks[2];
	unsigned long begin = jiffies;
	unsigned int i, found = 0;

	for (i = 0; i < 2; i++) {
		tasks[i] = kthread_run(write_all_the_time, &writers[i], "writer");
		KUNIT_ASSERT_FALSE(test, IS_ERR(tasks[i]));
	}
	while (reads_on(begin, found)) {
		for (i = 0; i < 2; i++) {
			struct sframe_row row, want = row_of(writers[i].key);

			if (has_to_write(begin, found))
				add(writers[i].cache, writers[i].key);
			if (!find(writers[i].cache, writers[i].key, &row))
				continue;
			found++;
			KUNIT_ASSERT_MEMEQ(test, &row, &want, sizeof(row));
		}
		cond_resched();
	}
	for (i = 0; i < 2; i++)
		kthread_stop(tasks[i]);
	KUNIT_EXPECT_GT(test, found, 0);
}

/* A row of the fast path is whole, while several threads write the same key. */
static void fast_is_whole(struct kunit *test)
{
	struct writer writers[3] = {
		{ test->priv, KEY },
		{ test->priv, KEY, 100 },
		{ test->priv, rival(KEY) },
	}, own = { test->priv, KEY, 200 };
	struct task_struct *tasks[3];
	unsigned long begin = jiffies;
	unsigned int i, found = 0;

	for (i = 0; i < 3; i++) {
		tasks[i] = kthread_run(write_fast_all_the_time, &writers[i], "writer");
		KUNIT_ASSERT_FALSE(test, IS_ERR(tasks[i]));
	}
	while (reads_on(begin, found)) {
		union sfu_fast_row fast;

		if (has_to_write(begin, found))
			add_next(&own);
		fast = fast_row(words_of(test, false), KEY);
		if (fast.word) {
			found++;
			KUNIT_EXPECT_TRUE(test, is_whole(fast));
		}
		cond_resched();
	}
	for (i = 0; i < 3; i++)
		kthread_stop(tasks[i]);
	KUNIT_EXPECT_GT(test, found, 0);
}

static struct kunit_case cache_tests[] = {
	KUNIT_CASE(empty),
	KUNIT_CASE(each_key_alone),
	KUNIT_CASE(absence),
	KUNIT_CASE(last_one_stays),
	KUNIT_CASE(being_written),
	KUNIT_CASE(written_while_read),
	KUNIT_CASE_PARAM(add_fast, fast_gen_params),
	KUNIT_CASE(words_at_first),
	KUNIT_CASE(words_are_nowhere),
	KUNIT_CASE(size_is_bounded),
	KUNIT_CASE(versions_differ),
	KUNIT_CASE(fast_being_written),
	KUNIT_CASE(add_keeps_all),
	KUNIT_CASE(found_is_whole),
	KUNIT_CASE(fast_is_whole),
	{}
};

static struct kunit_suite cache_suite = {
	.name = "sframe_cache",
	.init = cache_init,
	.exit = cache_exit,
	.test_cases = cache_tests,
};

kunit_test_suite(cache_suite);
