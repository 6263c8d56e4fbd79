// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: through a signal handler to what it interrupted. See walk_scene.h. */
#include "walk_scene.h"

/*
 * A handler, c4, returns to the stub. The context follows its frame. c44 was interrupted, and is
 * called from c84. A stub is at b100.
 */
#define HANDLER(stub)							\
	"fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); fn c80 end; put b100 stub; " \
	"at c4 sff0; sff8=" stub "; context s1000 c44 s100 s300; s108=c84; "
#define CROSSED(stub)	"walk c4@ff0 " stub "@1000 c44@100,fp300 c84@110 complete; "
#define WRONG		"walk c4@ff0 b100@1000 bad-signal; "
#define WITH_ROWS	"fn cc0 signal sp+64 (c-16) (c-8); "
#define AGAIN		" b100@1000"

#define SIX_STUBS	" b100@1600 b100@1900 b100@1c00 b100@1f00 b100@2200 b100@2500"

/* Seven signals, each of which interrupted the stub of another one. */
#define SEVEN_NESTED							\
	"context s1000 b100 s1300 s300; context s1300 b100 s1600 s300;"	\
	"context s1600 b100 s1900 s300; context s1900 b100 s1c00 s300;"	\
	"context s1c00 b100 s1f00 s300; context s1f00 b100 s2200 s300;"	\
	"context s2200 b100 s2500 s300; "

static const struct script_case script_cases[] = {
	/* The interrupted stack may be above or below: a handler may have a stack of its own. */
	{ "by the stub",
	  HANDLER("b100") CROSSED("b100") "frames sframe=2 signal;"
	  "context s1000 c44 s2100; s2108=c84; walk c4@ff0 b100@1000 c44@2100 c84@2110 complete;"
	  "context s1000 c44 s1000; s1008=c84; walk c4@ff0 b100@1000 c44@1000 c84@1010 complete" },
	{ "sampled at the stub",
	  HANDLER("0") "at b100 s1000; walk b100@1000 c44@100,fp300 c84@110 complete" },
	/* The section has no row for it. */
	{ "a stub in code with a section", HANDLER("c1000") "put c1000 stub; " CROSSED("c1000") },
	/* The code does not matter. */
	{ "by the signal flag, without rows", "fn cc0 signal no-rows;"
	  "" HANDLER("cd0") CROSSED("cd0") },
	/* c100 was interrupted at its first instruction. */
	{ "by the signal flag and rows",
	  WITH_ROWS "fn c100 sp+32 u (c-8);" HANDLER("cd0") "s1030=s300,c100; s1058=c84;"
	  "walk c4@ff0 cd0@1000 c100@1040,fp300 c84@1060 complete" },
	/* The context says more than rows: the interrupted stack may be below. */
	{ "by the stub, with rows", WITH_ROWS HANDLER("cd0") "put cd0 stub;" CROSSED("cd0") },
	/* The byte before cc0 belongs to another function. */
	{ "interrupted at the first instruction",
	  "fn cc0 sp+32 u (c-8);" HANDLER("b100") "context s1000 cc0 s100; s118=c84;"
	  "walk c4@ff0 b100@1000 cc0@100 c84@120 complete" },
	{ "interrupted at the first byte of a mapping",
	  HANDLER("b100") "context s1000 c0 s100; walk c4@ff0 b100@1000 c0@100 c84@110 complete" },
	{ "registers are known in the interrupted frame, not in its caller",
	  "fn cc0 A+16 u (c-8);" HANDLER("b100") "context s1000 cc4 s100 0 s200; s208=cd0;"
	  "walk c4@ff0 b100@1000 cc4@100 cd0@210 register" },
	{ "the context leads back to the same frame",
	  HANDLER("b100") "context s1000 b100 s1000; at b100 s1000;"
	  "walk b100@1000" AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN AGAIN " bad-signal" },
	{ "eight signals, and no more",
	  HANDLER("b100") SEVEN_NESTED "context s2500 c44 s100 s300;"
	  "walk c4@ff0 b100@1000 b100@1300,fp300" SIX_STUBS " c44@100 c84@110 complete;"
	  "frames sframe=2 signal=8; context s2500 b100 s2800 s300;"
	  "context s2800 c44 s100 s300; callers 9 bad-signal; frames sframe signal=8" },
	{ "any stack pointer in the context",
	  HANDLER("b100") "context s1000 c44 0 s300; callers 2 stack-fault;"
	  "context s1000 c44 1 s300; callers 2 bad-cfa; context s1000 c44 16 s300;"
	  "callers 2 stack-fault; context s1000 c44 0x8000000000000000 s300; callers 2 stack-fault;"
	  "context s1000 c44 -16 s300; callers 2 bad-cfa; context s1000 c44 -1 s300;"
	  "callers 2 bad-cfa" },
	{ "any ip in the context",
	  HANDLER("b100") "context s1000 0 s100; " WRONG "context s1000 1 s100; " WRONG
	  "context s1000 s0 s100; " WRONG "context s1000 c-1 s100; " WRONG
	  "context s1000 c2000 s100; " WRONG "context s1000 0x8000000000000000 s100; " WRONG
	  "context s1000 -1 s100; " WRONG },
};

NAMED_CASES(script);

/* The sample is at the stub's system call or in it. The number identifies the call. */
static void signal_sampled_in_stub(struct kunit *test)
{
	u32 end = 0x100 + sizeof(sigreturn_stub), call = end - SYSCALL_BYTES;
	struct pt_regs *regs = &scene_of(test)->regs;

	/* Of another number; of this one, at it, after it, elsewhere, and before it. */
	run_walk_steps(test, HANDLER("0") "at b%x s1000; step nodata", call);
	set_register(regs, R_SYSCALL, __NR_rt_sigreturn);
	run_walk_steps(test, "step c44@100,fp300; at b%x s1000; step c44@100,fp300; at b%x s1000;"
		       "step nodata; at b100 s1000; step c44@100,fp300", end, end + 4);
	set_register(regs, R_SYSCALL, 0);
	run_walk_steps(test, "at b%x s1000; step nodata", end);
	set_syscall(regs, __NR_rt_sigreturn);
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

	run_walk_steps(test, HANDLER("0") "at b%x s1000", end);
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

static void signal_strikes_in_stub(struct kunit *test)
{
	u32 call = 0x100 + sizeof(sigreturn_stub) - SYSCALL_BYTES;

	/* At the system call, before it, and after it. */
	run_walk_steps(test, HANDLER("0") "at b100 s800; context s800 b%x s1000;"
		       "second c44@100,fp300; context s800 b100 s1000; second c44@100,fp300;"
		       "context s800 b%x s1000; second nodata", call, call + SYSCALL_BYTES);
}

static void signal_stub_altered(struct kunit *test)
{
	u8 stub[sizeof(sigreturn_stub)];
	u32 i;

	run_walk_steps(test, HANDLER("b100"));
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

	run_walk_steps(test, HANDLER("b%x") "put b%x stub; "
		       "walk c4@ff0 b%x@1000 c44@100,fp300 c84@110 complete", at, at, at);
	user_store(test, bare(test, at + 4), sigreturn_stub, sizeof(sigreturn_stub) - 4);
	run_walk_steps(test, "sff8=b%x; second nodata", at + 4);
}

/* The stack pointer is not at a context, or the context has been overwritten. */
static void signal_broken_mark(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0), code(test, 0x84), LONG_MIN, -1,
		CONTEXT_MARK_WORD ^ 1, CONTEXT_MARK_WORD ^ 1ULL << 48,
	};
	u32 i;

	run_walk_steps(test, HANDLER("b100"));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		word(test, CONTEXT + CONTEXT_MARK, values[i]);
		expect_walk(test, "c4@ff0 b100@1000 bad-signal", "mark 0x%lx", values[i]);
	}
}

/* Each word of the context that the walk needs is once the first that cannot be read. */
static void signal_context_cut(struct kunit *test)
{
	const u32 needed[] = {
		CONTEXT_MARK, CONTEXT_IP, context_register(R_SP), context_register(R_FP),
	};
	u32 i;

	run_walk_steps(test, HANDLER("b100"));
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		run_walk_steps(test, "at b100 s%x; step stack-fault", (u32)STACK_SIZE - needed[i]);
	run_walk_steps(test, "at b100 -16; step stack-fault");
}

struct kunit_case walk_signal_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(signal_sampled_in_stub),
	KUNIT_CASE(signal_sampled_restoring),
	KUNIT_CASE(signal_strikes_in_stub),
	KUNIT_CASE(signal_stub_altered),
	KUNIT_CASE(signal_stub_at_end),
	KUNIT_CASE(signal_broken_mark),
	KUNIT_CASE(signal_context_cut),
	{}
};
