// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the rule cache, sframe_cache.c.
 *
 * Keys are made so that they share an entry or do not; a row is known again by
 * its offsets, which follow from its key.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "sframe_arch.h"
#include "sframe_cache.h"

#define KEY	0x12345000

static int cache_init(struct kunit *test)
{
	test->priv = sfu_cache_alloc();
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void cache_exit(struct kunit *test)
{
	sfu_cache_free(test->priv);
}

static struct sfu_cache_entry *half(struct kunit *test, bool sampled)
{
	return sfu_cache_half(test->priv, sampled);
}

/* A row in which every field tells the key; compared with its padding. */
static struct sfu_row row_of(u64 key)
{
	s32 off = key & 0xffffff;
	struct sfu_row row;

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
	row.quick = key;
	return row;
}

static bool find(struct sfu_cache_entry *half, u64 key, struct sfu_row *row)
{
	const struct sfu_cache_entry *entry;
	int seq;

	entry = sfu_cache_find(half, key, &seq);
	*row = entry->row;
	return READ_ONCE(entry->key) == key && sfu_cache_is_same(entry, seq);
}

static bool is_known(struct sfu_cache_entry *half, u64 key)
{
	struct sfu_row row, want = row_of(key);

	return find(half, key, &row) && !memcmp(&row, &want, sizeof(row));
}

static void add(struct sfu_cache_entry *half, u64 key)
{
	struct sfu_row row = row_of(key);

	sfu_cache_add(half, key, &row);
}

/* Another key that has the place of this one. */
static u64 rival(u64 key)
{
	u64 other = key;

	do {
		other++;
	} while (hash_64(other, SFU_CACHE_BITS) != hash_64(key, SFU_CACHE_BITS));
	return other;
}

static void empty(struct kunit *test)
{
	struct sfu_row row;
	u64 key;

	for (key = 1; key <= 4096; key++) {
		KUNIT_EXPECT_FALSE(test, find(half(test, false), key, &row));
		KUNIT_EXPECT_FALSE(test, find(half(test, true), key, &row));
	}
}

static void each_key_alone(struct kunit *test)
{
	u64 key;

	for (key = KEY; key < KEY + 4096; key++) {
		add(half(test, false), key);
		KUNIT_EXPECT_TRUE(test, is_known(half(test, false), key));
	}
}

static void halves_are_apart(struct kunit *test)
{
	struct sfu_row row;

	add(half(test, true), KEY);
	KUNIT_EXPECT_FALSE(test, find(half(test, false), KEY, &row));
	add(half(test, false), rival(KEY));
	KUNIT_EXPECT_TRUE(test, is_known(half(test, true), KEY));
	KUNIT_EXPECT_TRUE(test, is_known(half(test, false), rival(KEY)));
}

static void last_one_stays(struct kunit *test)
{
	struct sfu_row row;

	add(half(test, false), KEY);
	add(half(test, false), rival(KEY));
	KUNIT_EXPECT_FALSE(test, find(half(test, false), KEY, &row));
	KUNIT_EXPECT_TRUE(test, is_known(half(test, false), rival(KEY)));
}

/* As an NMI finds the entry whose writer it interrupted. */
static void being_written(struct kunit *test)
{
	struct sfu_cache_entry *entry =
		&half(test, false)[hash_64(KEY, SFU_CACHE_BITS)];
	struct sfu_row row;

	add(half(test, false), KEY);
	atomic_inc(&entry->seq);
	KUNIT_EXPECT_FALSE(test, find(half(test, false), KEY, &row));
	add(half(test, false), rival(KEY));
	KUNIT_EXPECT_EQ(test, KEY, entry->key);
	atomic_inc(&entry->seq);
	KUNIT_EXPECT_TRUE(test, is_known(half(test, false), KEY));
}

static void written_while_read(struct kunit *test)
{
	const struct sfu_cache_entry *entry;
	int seq;

	add(half(test, false), KEY);
	entry = sfu_cache_find(half(test, false), KEY, &seq);
	KUNIT_EXPECT_TRUE(test, sfu_cache_is_same(entry, seq));
	/* Away and back again: the key is that of before. */
	add(half(test, false), rival(KEY));
	add(half(test, false), KEY);
	KUNIT_EXPECT_EQ(test, KEY, entry->key);
	KUNIT_EXPECT_FALSE(test, sfu_cache_is_same(entry, seq));
}

/* ---- rows ---- */

#define SP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define FP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = (n) }
#define AT_SP(n)	{ .how = SFRAME_RULE_REG_MEM, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define AT_CFA(n)	{ .how = SFRAME_RULE_CFA_MEM, .off = (n) }
#define CFA_PLUS(n)	{ .how = SFRAME_RULE_CFA, .off = (n) }
#define SAME		{ .how = SFRAME_RULE_SAME }

static const struct quick_case {
	const char		*name;
	struct sframe_row	row;
	u8			quick;
} quick_cases[] = {
	{ "sp, fp same", { SP_PLUS(16), AT_CFA(-8), SAME }, SFU_QUICK },
	{ "sp, fp saved", { SP_PLUS(16), AT_CFA(-8), AT_CFA(-16) },
	  SFU_QUICK | SFU_QUICK_FP_SAVED },
	{ "fp, fp same", { FP_PLUS(16), AT_CFA(-8), SAME },
	  SFU_QUICK | SFU_QUICK_CFA_FP },
	{ "fp, fp saved", { FP_PLUS(16), AT_CFA(-8), AT_CFA(-16) },
	  SFU_QUICK | SFU_QUICK_CFA_FP | SFU_QUICK_FP_SAVED },
	{ "cfa in memory", { AT_SP(16), AT_CFA(-8), SAME }, 0 },
	{ "cfa of another register",
	  { { .how = SFRAME_RULE_REG, .reg = 0 }, AT_CFA(-8), SAME }, 0 },
	{ "no cfa", { SAME, SAME, SAME, .signal = true }, 0 },
	{ "ra same", { SP_PLUS(16), SAME, SAME }, 0 },
	{ "ra is an address", { SP_PLUS(16), CFA_PLUS(-8), SAME }, 0 },
	{ "ra by sp", { SP_PLUS(16), AT_SP(8), SAME }, 0 },
	{ "fp is an address", { SP_PLUS(16), AT_CFA(-8), CFA_PLUS(-16) }, 0 },
	{ "fp by sp", { SP_PLUS(16), AT_CFA(-8), AT_SP(8) }, 0 },
	{ "outermost", { SP_PLUS(16), AT_CFA(-8), SAME, .outermost = true }, 0 },
	{ "signal", { SP_PLUS(16), AT_CFA(-8), SAME, .signal = true }, 0 },
};

static void quick_desc(const struct quick_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(quick, quick_cases, quick_desc);

static void set_quick(struct kunit *test)
{
	const struct quick_case *c = test->param_value;
	struct sfu_row row;

	sfu_row_set(&row, &c->row);
	KUNIT_EXPECT_EQ(test, c->quick, row.quick);
}

static void set_keeps_all(struct kunit *test)
{
	const struct sframe_row from = {
		.cfa = { .how = SFRAME_RULE_REG_MEM, .reg = 5, .off = S32_MIN },
		.ra = { .how = SFRAME_RULE_CFA, .off = S32_MAX },
		.fp = { .how = SFRAME_RULE_REG, .reg = 31, .off = -1 },
		.func = U64_MAX,
		.outermost = true,
		.signal = true,
	};
	struct sfu_row row;

	sfu_row_set(&row, &from);
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

/* ---- at the same time ---- */

struct writer {
	struct sfu_cache_entry	*half;
	u64			key;
};

static int write_all_the_time(void *data)
{
	struct writer *writer = data;

	while (!kthread_should_stop()) {
		add(writer->half, writer->key);
		cond_resched();
	}
	return 0;
}

/* What is found is whole, whoever writes meanwhile. */
static void found_is_whole(struct kunit *test)
{
	struct writer writers[2] = {
		{ half(test, false), KEY },
		{ half(test, false), rival(KEY) },
	};
	struct task_struct *tasks[2];
	unsigned long end = jiffies + HZ;
	unsigned int i, found = 0;

	for (i = 0; i < 2; i++) {
		tasks[i] = kthread_run(write_all_the_time, &writers[i], "writer");
		KUNIT_ASSERT_FALSE(test, IS_ERR(tasks[i]));
	}
	while (time_before(jiffies, end)) {
		for (i = 0; i < 2; i++) {
			struct sfu_row row, want = row_of(writers[i].key);

			if (!find(writers[i].half, writers[i].key, &row))
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

static struct kunit_case cache_tests[] = {
	KUNIT_CASE(empty),
	KUNIT_CASE(each_key_alone),
	KUNIT_CASE(halves_are_apart),
	KUNIT_CASE(last_one_stays),
	KUNIT_CASE(being_written),
	KUNIT_CASE(written_while_read),
	KUNIT_CASE_PARAM(set_quick, quick_gen_params),
	KUNIT_CASE(set_keeps_all),
	KUNIT_CASE(found_is_whole),
	{}
};

static struct kunit_suite cache_suite = {
	.name = "sframe_cache",
	.init = cache_init,
	.exit = cache_exit,
	.test_cases = cache_tests,
};

kunit_test_suite(cache_suite);
