// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: through a signal handler to the frame it interrupted. */
#include "walk_scene.h"

#define CONTEXT_NEXT	0x300		/* bytes from one context to the next */

#define CROSSED(stub)	"c4@ff0 " stub "@1000 c44@100,fp300 c84@110 complete"

/* The interrupted stack may be above or below: a handler may have a stack of its own. */
static void signal_by_stub(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	signal_scene(test, bare(test, 0x100));
	expect_walk(test, CROSSED("b100"));
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SIGNAL], 1);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SFRAME], 2);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP], 0);

	store_context(test, CONTEXT, code(test, 0x44), stack(test, 0x2100), 0);
	word(test, 0x2108, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 c44@2100 c84@2110 complete");
	store_context(test, CONTEXT, code(test, 0x44), stack(test, CONTEXT), 0);
	word(test, CONTEXT + 8, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 c44@1000 c84@1010 complete");
}

static void signal_sampled_at_stub(struct kunit *test)
{
	signal_scene(test, 0);
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_walk(test, "b100@1000 c44@100,fp300 c84@110 complete");
}

/* The sample is at the stub's system call or in it. The number identifies the call. */
static void signal_sampled_in_stub(struct kunit *test)
{
	u32 end = 0x100 + sizeof(sigreturn_stub), call = end - SYSCALL_BYTES;
	struct walk_scene *scene = test->priv;

	signal_scene(test, 0);
	sample(test, bare(test, call), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "of another number");
	set_register(&scene->regs, R_SYSCALL, __NR_rt_sigreturn);
	expect_step(test, "c44@100,fp300", "at it");
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	expect_step(test, "c44@100,fp300", "after it");
	sample(test, bare(test, end + 4), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "elsewhere");
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_step(test, "c44@100,fp300", "before it");
	set_register(&scene->regs, R_SYSCALL, 0);
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "after another");
	set_syscall(&scene->regs, __NR_rt_sigreturn);
	expect_step(test, "c44@100,fp300", "in it");
}

/*
 * The system call has restored some registers, and perhaps the stack pointer. The stack pointer may
 * then be at the remains of an older context.
 */
static void signal_sampled_restoring(struct kunit *test)
{
	u32 end = 0x100 + sizeof(sigreturn_stub), reg, i;
	unsigned long value = stack(test, 0x300);
	struct walk_scene *scene = test->priv;

	signal_scene(test, 0);
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	set_syscall(&scene->regs, __NR_rt_sigreturn);
	for (reg = 0; reg < RESTORED_FIRST; reg++) {
		word(test, CONTEXT + context_register(reg), value);
		expect_step(test, "c44@100,fp300", "not yet");
	}
	for (reg = 0; reg < RESTORED_FIRST; reg++)
		set_register(&scene->regs, reg, value);
	/* The frame pointer is restored, too: the text shows no change. */
	set_register(&scene->regs, R_FP, value);
	expect_step(test, "c44@100", "this one");
	for (i = 0; i < RESTORED_FIRST; i++) {
		word(test, CONTEXT + context_register(i), value + 1);
		expect_step(test, "bad-signal", "another one, by register %u", i);
		word(test, CONTEXT + context_register(i), value);
	}
	expect_step(test, "c44@100", "this one again");
}

/* A signal interrupts the stub. */
static void signal_strikes_in_stub(struct kunit *test)
{
	u32 call = 0x100 + sizeof(sigreturn_stub) - SYSCALL_BYTES;

	signal_scene(test, 0);
	sample(test, bare(test, 0x100), stack(test, 0x800), 0);
	store_context(test, 0x800, bare(test, call), stack(test, CONTEXT), 0);
	expect_second_step(test, "c44@100,fp300", "at the system call");
	store_context(test, 0x800, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_second_step(test, "c44@100,fp300", "before it");
	store_context(test, 0x800, bare(test, call + SYSCALL_BYTES), stack(test, CONTEXT), 0);
	expect_second_step(test, "nodata", "after it");
}

/* The stub is in code with a section that has no row for it. */
static void signal_stub_in_covered_code(struct kunit *test)
{
	signal_scene(test, code(test, 0x1000));
	user_store(test, code(test, 0x1000), sigreturn_stub, sizeof(sigreturn_stub));
	expect_walk(test, CROSSED("c1000"));
}

/* The FDE has the signal flag and no rows: its code does not matter. */
static void signal_by_mark(struct kunit *test)
{
	build_function(test, 0xc0, SIGNAL, 0);
	signal_scene(test, code(test, 0xd0));
	expect_walk(test, CROSSED("cd0"));
}

/* The FDE has the signal flag and rows: the frame that they lead to was interrupted. */
static void signal_by_mark_and_rows(struct kunit *test)
{
	build_flex_row(build_function(test, 0xc0, SIGNAL, FLEX), 0,
		       AT_REG(R_SP, 64), IN_CFA(-8), IN_CFA(-16));
	sp_function(test, 0x100, 32);
	signal_scene(test, code(test, 0xd0));
	record(test, CONTEXT + 48, stack(test, 0x300), code(test, 0x100));
	word(test, CONTEXT + 88, code(test, 0x84));
	expect_walk(test, "c4@ff0 cd0@1000 c100@1040,fp300 c84@1060 complete");
}

/* At the stub, the context says more than rows: the interrupted stack may be below. */
static void signal_by_stub_with_rows(struct kunit *test)
{
	build_flex_row(build_function(test, 0xc0, SIGNAL, FLEX), 0,
		       AT_REG(R_SP, 64), IN_CFA(-8), IN_CFA(-16));
	signal_scene(test, code(test, 0xd0));
	user_store(test, code(test, 0xd0), sigreturn_stub, sizeof(sigreturn_stub));
	expect_walk(test, CROSSED("cd0"));
}

/* The code differs from the stub in one bit. */
static void signal_stub_altered(struct kunit *test)
{
	u8 stub[sizeof(sigreturn_stub)];
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < 8 * sizeof(stub); i++) {
		memcpy(stub, sigreturn_stub, sizeof(stub));
		stub[i / 8] ^= 1 << i % 8;
		user_store(test, bare(test, 0x100), stub, sizeof(stub));
		expect_walk(test, "c4@ff0 b100@1000 nodata", "bit %u", i);
	}
}

static void signal_stub_at_end(struct kunit *test)
{
	u32 at = BARE_SIZE - sizeof(sigreturn_stub);

	signal_scene(test, bare(test, at));
	user_store(test, bare(test, at), sigreturn_stub, sizeof(sigreturn_stub));
	begin_walk(test->priv);
	next_frame(test);
	next_frame(test);
	append_step(test);
	expect_end(test, "c84@110");
	word(test, CONTEXT - 8, bare(test, at + 4));
	user_store(test, bare(test, at + 4), sigreturn_stub, sizeof(sigreturn_stub) - 4);
	expect_second_step(test, "nodata");
}

/*
 * The function was interrupted at its first instruction. The byte before belongs to another
 * function.
 */
static void signal_interrupted_at_first(struct kunit *test)
{
	sp_function(test, 0xc0, 32);
	signal_scene(test, bare(test, 0x100));
	store_context(test, CONTEXT, code(test, 0xc0), stack(test, 0x100), 0);
	word(test, 0x118, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 cc0@100 c84@120 complete");
}

/* The interrupted address is the first of its mapping. */
static void signal_interrupted_at_start(struct kunit *test)
{
	signal_scene(test, bare(test, 0x100));
	store_context(test, CONTEXT, code(test, 0), stack(test, 0x100), 0);
	expect_walk(test, "c4@ff0 b100@1000 c0@100 c84@110 complete");
}

/* All registers are known in the interrupted frame, but not in its caller. */
static void signal_registers_end_there(struct kunit *test)
{
	flex_function(test, 0xc0, AT_REG(R_A, 16), IN_CFA(-8), 0);
	signal_scene(test, bare(test, 0x100));
	store_context(test, CONTEXT, code(test, 0xc4), stack(test, 0x100), 0);
	word(test, CONTEXT + context_register(R_A), stack(test, 0x200));
	word(test, 0x208, code(test, 0xd0));
	expect_walk(test, "c4@ff0 b100@1000 cc4@100 cd0@210 register");
}

/* @nr signals, each of which interrupted the stub of the one before. */
static void nest(struct kunit *test, u32 nr)
{
	u32 i, at = CONTEXT;

	for (i = 1; i < nr; i++, at += CONTEXT_NEXT)
		store_context(test, at, bare(test, 0x100),
			      stack(test, at + CONTEXT_NEXT), stack(test, 0x300));
	store_context(test, at, code(test, 0x44), stack(test, 0x100), stack(test, 0x300));
}

static void signal_at_most_eight(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 nr;

	signal_scene(test, bare(test, 0x100));
	for (nr = 1; nr <= 8; nr++) {
		nest(test, nr);
		KUNIT_EXPECT_EQ(test, count_callers(test), 1 + nr + 1);
		KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SIGNAL], nr);
		expect_end(test, "complete", "%u signals", nr);
	}
	nest(test, 9);
	KUNIT_EXPECT_EQ(test, count_callers(test), 1 + 8);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SIGNAL], 8);
	expect_end(test, "bad-signal");
}

#define AGAIN	" b100@1000"

/* The context leads back to the same frame. */
static void signal_cycle(struct kunit *test)
{
	signal_scene(test, bare(test, 0x100));
	store_context(test, CONTEXT, bare(test, 0x100), stack(test, CONTEXT), 0);
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_walk(test, "b100@1000" AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN
		    " bad-signal");
}

static void signal_broken_ip(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0), code(test, -1), code(test, CODE_SIZE),
		LONG_MIN, -1,
	};
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		word(test, CONTEXT + CONTEXT_IP, values[i]);
		expect_walk(test, "c4@ff0 b100@1000 bad-signal", "ip 0x%lx", values[i]);
	}
}

/* The stack pointer is not at a context, or the context has been overwritten. */
static void signal_broken_mark(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0), code(test, 0x84), LONG_MIN, -1,
		CONTEXT_MARK_WORD ^ 1, CONTEXT_MARK_WORD ^ 1ULL << 48,
	};
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		word(test, CONTEXT + CONTEXT_MARK, values[i]);
		expect_walk(test, "c4@ff0 b100@1000 bad-signal", "mark 0x%lx", values[i]);
	}
}

/* The saved stack pointer is checked before use. */
static void signal_broken_sp(struct kunit *test)
{
	static const unsigned long values[] = { 0, 1, 16, LONG_MIN, -16, -1 };
	struct walk_scene *scene = test->priv;
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		word(test, CONTEXT + context_register(R_SP), values[i]);
		KUNIT_EXPECT_EQ(test, count_callers(test), 2);
		KUNIT_EXPECT_TRUE_MSG(test, scene->stop == SFU_STOP_CFA ||
				      scene->stop == SFU_STOP_STACK,
				      "sp 0x%lx: %s", values[i], scene->text);
	}
}

/* Each word of the context that the walk needs is once the first that cannot be read. */
static void signal_context_cut(struct kunit *test)
{
	const u32 needed[] = {
		CONTEXT_MARK, CONTEXT_IP, context_register(R_SP),
		context_register(R_FP),
	};
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		sample(test, bare(test, 0x100), stack(test, STACK_SIZE - needed[i]), 0);
		expect_step(test, "stack-fault", "word at %u", needed[i]);
	}
	sample(test, bare(test, 0x100), -16UL, 0);
	expect_step(test, "stack-fault", "at the top");
}

static struct kunit_case signal_tests[] = {
	KUNIT_CASE(signal_by_stub),
	KUNIT_CASE(signal_sampled_at_stub),
	KUNIT_CASE(signal_sampled_in_stub),
	KUNIT_CASE(signal_sampled_restoring),
	KUNIT_CASE(signal_strikes_in_stub),
	KUNIT_CASE(signal_stub_in_covered_code),
	KUNIT_CASE(signal_by_mark),
	KUNIT_CASE(signal_by_mark_and_rows),
	KUNIT_CASE(signal_by_stub_with_rows),
	KUNIT_CASE(signal_stub_altered),
	KUNIT_CASE(signal_stub_at_end),
	KUNIT_CASE(signal_interrupted_at_first),
	KUNIT_CASE(signal_interrupted_at_start),
	KUNIT_CASE(signal_registers_end_there),
	KUNIT_CASE(signal_at_most_eight),
	KUNIT_CASE(signal_cycle),
	KUNIT_CASE(signal_broken_ip),
	KUNIT_CASE(signal_broken_mark),
	KUNIT_CASE(signal_broken_sp),
	KUNIT_CASE(signal_context_cut),
	{}
};

WALK_SUITE_AND_CACHED(signal);
