// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk: it follows the code up to the end of a function. What single
 * instructions say is in arch/ARCH/walk_facts.h, and in tools/test/host/test_path_*.c.
 */
#include "walk_scene.h"

#define SAMPLED		0x620	/* ret; nothing else stands there */
#define CALLEE		0x400

static const u8 ret[] = { 0xc3 }, hlt[] = { 0xf4 };

/* b620 returns to b210, after a call of b400 by address. b210 returns to b310. */
static void after_call_scene(struct kunit *test)
{
	static const u8 pops[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };	/* add $8,%rsp; ret */

	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, CALLEE));
	store_call(test, plain_call(), bare(test, 0x310), code(test, 0));
	user_store(test, bare(test, CALLEE), ret, sizeof(ret));
	user_store(test, bare(test, SAMPLED), ret, sizeof(ret));
	user_store(test, bare(test, 0x210), pops, sizeof(pops));
	word(test, 0, bare(test, 0x210));
	word(test, 0x10, bare(test, 0x310));
	sample(test, bare(test, SAMPLED), stack(test, 0), 0);
}

#define FOUND		"b620@0 b210@8 b310@18 nodata"
#define NOT_FOUND	"b620@0 b210@8 nodata"

/* From a return address, a path goes through the function that was called: does it return? */
static void path_after_call(struct kunit *test)
{
	/* shr $3,%eax; call *24(%rax) ends with the byte of a call by address, and four more. */
	static const u8 by_pointer[] = { 0xc1, 0xe8, 0x03, 0xff, 0x50, 0x18 };

	if (!PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in a register");
	after_call_scene(test);
	expect_walk(test, FOUND, "it returns");
	user_store(test, bare(test, CALLEE), hlt, sizeof(hlt));
	expect_walk(test, NOT_FOUND, "it does not");
	after_call_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), stack(test, 0));
	expect_walk(test, NOT_FOUND, "it is not code");
	after_call_scene(test);
	user_store(test, bare(test, 0x210) - sizeof(by_pointer), by_pointer, sizeof(by_pointer));
	expect_walk(test, NOT_FOUND, "another call");
	after_call_scene(test);
	((struct walk_scene *)test->priv)->map->ranges[1].habit = SFRAME_HABIT_FP;
	expect_walk(test, NOT_FOUND, "code that keeps frame pointers");
}

/* The sampled frame does not know its frame pointer; the caller's row needs it, or not. */
static void path_without_fp(struct kunit *test)
{
	static const u8 spoils[] = { 0x31, 0xed, 0xc3 };	/* xor %ebp,%ebp; ret */

	if (!PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in a register");
	after_call_scene(test);
	user_store(test, bare(test, SAMPLED), spoils, sizeof(spoils));
	user_store(test, bare(test, CALLEE), spoils, sizeof(spoils));
	sample(test, bare(test, SAMPLED), stack(test, 0), stack(test, 0x100));
	record(test, 0x100, 0, bare(test, 0x310));
	expect_walk(test, "b620@0 b210@8,fp? b310@18 nodata");
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0));
	word(test, 0x10, code(test, 0x10));
	expect_walk(test, "b620@0 b210@8,fp? c10@18 register", "a row needs it");
}

/*
 * The path branches to code whose bytes cannot be read in one piece. It must not take those of the
 * piece before for them, where a constant is the byte of a return.
 */
static void path_at_end(struct kunit *test)
{
	static const u8 head[] = { 0x74, 73, [9] = 0xb0, 0xc3 };	/* jz; mov $0xc3,%al */
	u8 bytes[96];

	if (!PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in a register");
	after_call_scene(test);
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, head, 2);
	memcpy(bytes + 9, head + 9, 2);
	user_store(test, bare(test, BARE_SIZE) - sizeof(bytes), bytes, sizeof(bytes));
	sample(test, bare(test, BARE_SIZE) - sizeof(bytes), stack(test, 0), 0);
	expect_step(test, "nodata");
	bytes[40] = ret[0];
	user_store(test, bare(test, BARE_SIZE) - sizeof(bytes), bytes, sizeof(bytes));
	expect_step(test, "b210@8", "with a return in the first piece");
}

static struct kunit_case path_tests[] = {
	KUNIT_CASE(path_after_call),
	KUNIT_CASE(path_without_fp),
	KUNIT_CASE(path_at_end),
	{}
};

WALK_SUITE(path);
