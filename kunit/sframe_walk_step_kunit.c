// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: a step does what the row says. See walk_scene.h. */
#include "walk_scene.h"

/*
 * SP is 0x20 into the stack, FP 0x60, register A 0x40; register B is a code address. Each word of
 * the stack is a code address that shows the word's offset, except for 8 words that are addresses
 * of the stack.
 */
static const struct rule_case flex_rows[] = {
	/* CFA */
	{ "sp+16 u (c-8)", "c828@30" },
	{ "sp+0 u (c+8)", "c828@20", "bad-cfa" },
	{ "sp-16 u (c+40)", "bad-cfa" },
	{ "fp+16 u (c-8)", "c868@70" },
	{ "fp-80 u (c+40)", "bad-cfa" },
	{ "A+16 u (c-8)", "c848@50", "register" },
	{ "A+16 u (c+8)", "bad-cfa", "register" },	/* RA above it */
	{ "A+16 u B+0", "bad-cfa", "register" },
	{ "(sp+96) u (c-8)", "c8f8@100" },
	{ "(fp+40) u (c-8)", "c908@110" },
	{ "(A+80) u (c-8)", "c918@120", "register" },
	/* RA */
	{ "sp+16 u (c+8)", "c838@30" },
	{ "sp+16 u (c-16)", "c820@30" },	/* at SP */
	{ "sp+16 u (c-24)", "bad-cfa" },	/* below SP */
	{ "sp+16 u c+0", "bad-ra needs-scan" },
	{ "sp+16 u B+16", "ca10@30", "register" },
	{ "sp+16 u B-1", "c9ff@30", "register" },
	{ "sp+16 u (A+8)", "c848@30", "register" },
	{ "sp+16 u (sp+8)", "c828@30" },
	{ "sp+16 u (fp+8)", "c868@30" },
	/* FP */
	{ "sp+112 u (c-32)", "c870@90" },
	{ "sp+112 (c-16) (c-32)", "c870@90,fp100" },
	{ "sp+112 c+16 (c-32)", "c870@90,fpa0" },
	{ "sp+112 A+8 (c-32)", "c870@90,fp48", "register" },
	{ "sp+112 (A+64) (c-32)", "c870@90,fp100", "register" },
	{ "sp+112 (A+128) (c-32)", "c870@90,fpc8c0", "register" },	/* not in the frame */
	{ "sp+112 sp+8 (c-32)", "c870@90,fp28" },
	{ "sp+112 (sp+96) (c-32)", "c870@90,fp100" },
	{ "sp+112 (sp+160) (c-32)", "c870@90,fpc8c0" },	/* not in the frame */
	{ "sp+112 fp+16 (c-32)", "c870@90,fp70" },
	{ "sp+112 fp+160 (c-32)", "c870@90,fp100" },
	{ "sp+112 (fp+32) (c-32)", "c870@90,fp100" },
	/* A slot outside of the frame has been popped: FP is already the caller's. */
	{ "sp+112 (fp+40) (c-32)", "c870@90,fp110" },	/* below CFA */
	{ "sp+112 (fp+48) (c-32)", "c870@90" },	/* at CFA */
	{ "sp+112 (fp-64) (c-32)", "c870@90,fpc820" },	/* at SP */
	{ "sp+112 (fp-72) (c-32)", "c870@90" },	/* below SP */
	/* A rule of the frame uses the registers of this frame, not of its caller. */
	{ "fp+48 (fp+32) (fp+16)", "c870@90,fp100" },
};

static const struct script_case script_cases[] = {
	{ "a call is the last instruction of its function",
	  "fn c0 sp+16 u (c-8); fn c40 sp+32 u (c-8); fn c80 end; at c44 s0; s18=c40; s28=c84;"
	  "walk c44@0 c40@20 c84@30 complete" },
	{ "a sampled address is searched as it is, also the first of a function",
	  "fn c0 sp+16 u (c-8); fn c40 sp+32 u (c-8); fn c80 end; at c40 s0; s18=c84;"
	  "walk c40@0 c84@20 complete" },
	{ "at the ends of a mapping",
	  "fn c0 sp+16 u (c-8); fn c1fc0 sp+16 u (c-8); s8=c2000; s18=c1; s28=c0; at c0 s0;"
	  "walk c0@0 c2000@10 c1@20 bad-ra needs-scan; at c2000 s0;"
	  "walk c2000@0 unscanned needs-scan; at c-1 s0; step unscanned needs-scan" },
	{ "a frame pointer that is not aligned",
	  "fn c0 fp+16 (c-16) (c-8); at c4 s0 s21; fill s21 s61 8 c4; walk c4@0 bad-cfa" },
	/* CFA and RA are found, but FP is not. */
	{ "a step is made as a whole",
	  "fn c0 sp+16 (A+0) (c-8); at c4 s0; s8=c4; A=s4000; walk c4@0 stack-fault;"
	  "A=s20; s20=s30; walk c4@0 c4@10,fp30 register" },
};

NAMED_CASES(script);

static void rule_desc(const struct rule_case *c, char *desc)
{
	strscpy(desc, c->row, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(flex_row, flex_rows, rule_desc);
KUNIT_ARRAY_PARAM(default_row, default_rows, rule_desc);

/*
 * The frame is the sampled one; an interrupted one, whose registers come from the context that the
 * kernel saved; and a caller, of which only SP and FP are known.
 */
static void step_row(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	u32 off;

	run_walk_steps(test, "fn c0 %s; put b100 stub; context s1000 c10 s20 s60 s40", c->row);
	word(test, CONTEXT + context_register(R_B), SIGN(code(test, 0xa00)));
	for (off = 0; off < 0x200; off += 8)
		word(test, off, code(test, 0x800 + off));
	for (off = 0; off < 8; off++)
		word(test, 0x80 + 8 * off, stack(test, 0x100 + 16 * off));
	run_walk_steps(test, "at c10 s20 s60; A=s40; B=signed ca00; step %s;"
		       "at b100 s1000; second %s; fn c40 sp+16 u (c-8); at c50 s10 s60; A=s40;"
		       "B=signed ca00; s18=c10; second %s",
		       c->want, c->want, c->in_caller ?: c->want);
}

static void step_every_register(struct kunit *test)
{
	u32 i;

	for (i = 0; i < NR_REGS; i++) {
		if (i == R_SP)
			continue;
		run_walk_steps(test, "no-fn; fn c0 sp+16 u r%u+1; put b100 stub;"
			       "context s1000 c10 s20", i);
		set_register(&scene_of(test)->regs, i, code(test, 0x800 + 4 * i));
		word(test, CONTEXT + context_register(i), code(test, 0xc00 + 4 * i));
		/* The frame pointer may be this register. */
		run_walk_steps(test, "at c10 s20 c%x; step c%x@30; at b100 s1000; second c%x@30",
			       0x800 + 4 * i, 0x801 + 4 * i, 0xc01 + 4 * i);
	}
}

/* Rows begin at 0, 1 and 4 of the function. In a caller each row holds for one byte more. */
static void step_every_address(struct kunit *test)
{
	u32 off;

	run_walk_steps(test, "fn c40 sp+16 u (c-8); fn cc0 sp+64 u (c-8); fill s8 s108 16 c800;"
		       "fn c80 0 sp+16 u (c-8) | 1 sp+32 u (c-8) | 4 sp+48 u (c-8)");
	for (off = 0x80; off < 0xc0; off++)
		run_walk_steps(test, "at c%x s0; step c800@%u", off,
			       off == 0x80 ? 10 : off < 0x84 ? 20 : 30);
	for (off = 0x81; off <= 0xc0; off++)
		run_walk_steps(test, "at c44 s0; s8=c%x; second c800@%u", off,
			       off == 0x81 ? 20 : off < 0x85 ? 30 : 40);
}

static void clone_returns(struct kunit *test, unsigned int syscall, unsigned long value)
{
	struct walk_scene *scene = test->priv;

	set_register(&scene->regs, 0, CLONE_VM);
	set_syscall(&scene->regs, syscall);
	set_register(&scene->regs, 0, value);
}

/* A task that clone() has made has another stack, and goes on elsewhere. */
static void step_child_of_clone(struct kunit *test)
{
	static const u8 branch[] = CHILD_CODE(0x0c);

	run_walk_steps(test, "fn c40 sp+16 u (c-8); fn c80 end; fn cc0 end; at c74 s0; s8=cc4");
	user_store(test, code(test, 0x74), branch, sizeof(branch));
	clone_returns(test, __NR_clone3, -38);
	expect_walk(test, "c74@0 cc4@10 complete", "not yet");
	clone_returns(test, __NR_clone3, 4711);
	expect_walk(test, "c74@0 cc4@10 complete", "in the parent");
	clone_returns(test, __NR_clone3, 0);
	expect_walk(test, "c80@0 complete", "in the child");
	clone_returns(test, __NR_clone, 0);
	expect_walk(test, "c80@0 complete", "in the child of clone()");
	clone_returns(test, __NR_getpid, 0);
	expect_walk(test, "c74@0 cc4@10 complete", "another system call");
	clone_returns(test, __NR_clone, 0);
	end_syscall(&scene_of(test)->regs);
	expect_walk(test, "c80@0 complete", "before the child's first instruction");
	user_store(test, code(test, 0x74), "\x90", 1);
	run_walk_steps(test, "walk c74@0 cc4@10 complete; at s0 s0");
	clone_returns(test, __NR_clone, 0);
	expect_walk(test, "0@0 unscanned needs-scan", "elsewhere");
}

NAMED_CASES(ra);

/* The result does not depend on the row's mark of a signed return address. */
static void step_ra(struct kunit *test)
{
	const struct ra_case *c = test->param_value;
	const char *want = c->valid ? "c84@10" : "bad-ra needs-scan";
	struct walk_scene *scene = test->priv;
	u32 i;

	for (i = 0; i < 4; i++) {
		const char *key = i / 2 ? "key-b" : "";

		run_walk_steps(test, "no-fn; fn c0 %s sp+16 u (c-8); fn c40 %s sp+16 u B+0;"
			       "at c4 s0", key, key);
		/* 5 bytes of attribute; then the row: 1 byte of start, 1 of info, 8 of words. */
		scene->b.fres[6] |= (i % 2) << 7;
		scene->b.fres[21] |= (i % 2) << 7;
		use_section(test);
		word(test, 8, code(test, 0x84) ^ c->bits);
		expect_step(test, want, "in memory, %u", i);

		run_walk_steps(test, "at c44 s0");
		set_register(&scene->regs, R_B, code(test, 0x84) ^ c->bits);
		expect_step(test, want, "in a register, %u", i);
	}
}

/* The processor signs, with both keys, as in user code. */
static void step_ra_signed(struct kunit *test)
{
	u32 i, nr_signed[2] = {};

	if (!signs())
		kunit_skip(test, "return addresses are not signed here");
	run_walk_steps(test, "fn c0 sp+16 u (c-8); at c4 s0");
	for (i = 0; i < 256; i++) {
		bool key_b = i % 2;
		unsigned long ra = sign(code(test, 0x84), stack(test, 8 * i), key_b);

		nr_signed[key_b] += ra != code(test, 0x84);
		word(test, 8, ra);
		expect_step(test, "c84@10", "0x%lx", ra);
	}
	KUNIT_EXPECT_GT(test, nr_signed[0], 0);
	kunit_info(test, "signed: %u with key A, %u with key B", nr_signed[0], nr_signed[1]);
}

struct kunit_case walk_step_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE_PARAM(step_row, flex_row_gen_params),
	KUNIT_CASE_PARAM(step_row, default_row_gen_params),
	KUNIT_CASE(step_every_register),
	KUNIT_CASE(step_every_address),
	KUNIT_CASE(step_child_of_clone),
	KUNIT_CASE_PARAM(step_ra, ra_gen_params),
	KUNIT_CASE(step_ra_signed),
	{}
};
