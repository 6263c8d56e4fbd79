// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk: it follows the code up to the end of a function. What single
 * instructions say is in arch/ARCH/walk_facts.h, and in tools/testing/host/test_path_*.c.
 */
#include "walk_scene.h"

#define SAMPLED		0x620	/* nothing else stands there */

static const u8 ret[] = { 0xc3 };

/* b620 returns to b210, or to what the test has stored instead. */
static void path_scene(struct kunit *test, const u8 *bytes, size_t size)
{
	if (!PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in a register");
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	user_store(test, bare(test, SAMPLED), bytes, size);
	word(test, 0, bare(test, 0x210));
	sample(test, bare(test, SAMPLED), stack(test, 0), 0);
}

/* The callers of the sampled frame have no path: a call may not return. */
static void path_of_caller(struct kunit *test)
{
	path_scene(test, ret, sizeof(ret));
	user_store(test, bare(test, 0x210), ret, sizeof(ret));
	word(test, 8, bare(test, 0x210));
	expect_walk(test, "b620@0 b210@8 nodata");
}

/* The sampled frame does not know its caller's frame pointer, and the caller's row needs it. */
static void path_without_fp(struct kunit *test)
{
	static const u8 spoils[] = { 0x31, 0xed, 0xc3 };	/* xor %ebp,%ebp; ret */

	path_scene(test, spoils, sizeof(spoils));
	sample(test, bare(test, SAMPLED), stack(test, 0), stack(test, 0x100));
	record(test, 0x100, 0, bare(test, 0x210));
	expect_walk(test, "b620@0 b210@8,fp? nodata");
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0));
	word(test, 0, code(test, 0x10));
	expect_walk(test, "b620@0 c10@8,fp? register", "a row needs it");
}

/*
 * The path comes to the end of what can be read, 65 bytes from its first instruction, and goes back
 * to a branch, which leads 40 bytes further. At this place of the piece that was read before stands
 * a constant: the byte of a return. A read that fails may overwrite the first 31 bytes.
 */
static void path_at_end(struct kunit *test)
{
	static const u8 branch[] = { 0x74, 65 + 40 - 2 };	/* jz */
	static const u8 constant[] = { 0xb0, 0xc3 };		/* mov $0xc3,%al */
	u8 bytes[96];

	path_scene(test, ret, sizeof(ret));
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, branch, sizeof(branch));
	memcpy(bytes + 39, constant, sizeof(constant));
	user_store(test, bare(test, BARE_SIZE) - sizeof(bytes), bytes, sizeof(bytes));
	sample(test, bare(test, BARE_SIZE) - sizeof(bytes), stack(test, 0), 0);
	expect_step(test, "nodata");
	bytes[50] = ret[0];
	user_store(test, bare(test, BARE_SIZE) - sizeof(bytes), bytes, sizeof(bytes));
	expect_step(test, "b210@8", "with a return in the first piece");
}

/* A function returns by a stack pointer that it has kept, but not to another stack. */
static void path_to_kept_sp(struct kunit *test)
{
	static const u8 restores[] = { 0x4c, 0x89, 0xd4, 0xc3 };	/* mov %r10,%rsp; ret */
	struct walk_scene *scene = test->priv;
	unsigned long sp;

	path_scene(test, restores, sizeof(restores));
	sp = map_present(test, SZ_128K / PAGE_SIZE);
	sample(test, bare(test, SAMPLED), sp, 0);
	scene->stack = sp + SZ_64K - 8;
	word(test, 0, bare(test, 0x210));
	set_register(&scene->regs, R_A, stack(test, 0));
	expect_step(test, "b210@8", "64 KiB away");
	word(test, 8, bare(test, 0x210));
	set_register(&scene->regs, R_A, stack(test, 8));
	expect_step(test, "nodata", "8 bytes further");
}

static struct kunit_case path_tests[] = {
	KUNIT_CASE(path_of_caller),
	KUNIT_CASE(path_without_fp),
	KUNIT_CASE(path_at_end),
	KUNIT_CASE(path_to_kept_sp),
	{}
};

WALK_SUITE(path);
