// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: it follows the frame pointer where a call proves it. */
#include "walk_scene.h"

static void fallback_chain(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	record(test, 0x20, stack(test, 0x60), bare(test, 0x210));
	record(test, 0x60, stack(test, 0xa0), code(test, 0x10));
	record(test, 0xa0, 0, code(test, 0x50));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0x200));
	expect_walk(test, "b10@0 b210@30,fp60 c10@70,fpa0 c50@b0,fp? complete");
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP], 2);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SFRAME], 1);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SIGNAL], 0);
}

static struct sfu_range *bare_range(struct kunit *test)
{
	return &((struct walk_scene *)test->priv)->map->ranges[1];
}

NAMED_CASES(call);

/* The code before the return address refers to @func, and may call it. */
static void expect_call(struct kunit *test, unsigned long func, const char *want)
{
	const struct call_case *c = test->param_value;
	unsigned long to = func;

	if (c->refers == TO_SLOT) {
		to = bare(test, 0x800);
		store_word(test, to, func);
	}
	store_call(test, c, bare(test, 0x210), to);
	expect_step(test, c->calls ? want : "nodata", "of %s+0x%lx",
		    func >= bare(test, 0) ? "b" : "c",
		    func - (func >= bare(test, 0) ? bare(test, 0) : code(test, 0)));
}

static void fallback_call(struct kunit *test)
{
	fallback_scene(test);
	expect_call(test, bare(test, 0), FOLLOWED);
	/* The proof needs a function without a row. It does not need the sampled one. */
	expect_call(test, bare(test, 0x400), FOLLOWED);
	expect_call(test, code(test, 0x1000), FOLLOWED);
	/* The frame belongs to another function. */
	expect_call(test, code(test, 0), "nodata");
	expect_call(test, code(test, 0x3c), "nodata");
	expect_call(test, code(test, 0x40), "nodata");
	expect_call(test, code(test, 0x80), FOLLOWED);
	/* The target is not code. */
	expect_call(test, stack(test, 0), "nodata");
	expect_call(test, code(test, CODE_SIZE), "nodata");
}

/* If no function of the file has a row, a call proves nothing, unless its code keeps records. */
static void fallback_call_without_data(struct kunit *test)
{
	fallback_scene(test);
	bare_range(test)->has_no_data = true;
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	expect_step(test, "nodata");
	record(test, 0x20, 0, code(test, 0x1010));
	store_call(test, plain_call(), code(test, 0x1010), bare(test, 0));
	expect_step(test, "nodata", "called from elsewhere");
	code_range(test)->habit = SFRAME_HABIT_FP;
	expect_step(test, "c1010@30,fp?", "called by code that keeps frame pointers");
}

NAMED_CASES(plt);

/* A slot that does not jump is itself a function without a row. */
static void fallback_plt(struct kunit *test)
{
	const struct plt_case *c = test->param_value;
	const char *beyond = c->jumps ? "nodata" : FOLLOWED;
	const struct {
		unsigned long plt, slot;
	} at[] = {
		{ bare(test, 0x400), bare(test, 0x808) },
		{ bare(test, 0x400), code(test, 0x808) },
		{ bare(test, 0x400), stack(test, 0x3ff8) },
		{ code(test, 0x1000) - c->at, bare(test, 0x808) },
	};
	u32 i;

	fallback_scene(test);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		unsigned long slot = slot_of(c, at[i].slot);

		store_plt(test, c, at[i].plt, slot);
		store_call(test, plain_call(), bare(test, 0x210), at[i].plt);
		store_word(test, slot, bare(test, 0));
		expect_step(test, FOLLOWED, "%u, no row", i);
		store_word(test, slot, code(test, 0x1000));
		expect_step(test, FOLLOWED, "%u, no row there", i);
		store_word(test, slot, code(test, 0));
		expect_step(test, beyond, "%u, a row", i);
		store_word(test, slot, 0);
		expect_step(test, beyond, "%u, not resolved", i);
	}
	store_plt(test, c, at[0].plt, slot_of(c, bare(test, BARE_SIZE + 8)));
	store_call(test, plain_call(), bare(test, 0x210), at[0].plt);
	expect_step(test, beyond, "not to be read");
}

/* The code ends where its mapping ends. */
static void fallback_code_at_ends(struct kunit *test)
{
	fallback_scene(test);
	record(test, 0x20, 0, bare(test, BARE_SIZE));
	store_call(test, plain_call(), bare(test, BARE_SIZE), bare(test, 0));
	expect_step(test, "b1000@30,fp?");
	/* The callee has as many bytes as a PLT slot, and then fewer. */
	store_call(test, plain_call(), bare(test, BARE_SIZE), bare(test, BARE_SIZE - PLT_CODE));
	expect_step(test, "b1000@30,fp?");
	store_call(test, plain_call(), bare(test, BARE_SIZE), bare(test, BARE_SIZE - 4));
	expect_step(test, "nodata");
	/* The code before the return address is shorter than a call. */
	record(test, 0x20, 0, bare(test, 2));
	expect_step(test, "nodata");
	record(test, 0x20, 0, bare(test, 0));
	expect_step(test, "nodata");
}

/* The code has a section, but no row for the function; then the section is bad. */
static void fallback_in_covered_code(struct kunit *test)
{
	fallback_scene(test);
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	expect_step(test, FOLLOWED);
	mark_as_bad(code_range(test));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	expect_step(test, FOLLOWED);
	sample(test, code(test, 0x10), stack(test, 0), stack(test, 0x20));
	expect_step(test, FOLLOWED);
}

/* A function of another file is not this one. It may have called any number of functions. */
static void fallback_call_into_other_file(struct kunit *test)
{
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	expect_step(test, FOLLOWED);
	build_file(code_range(test), (const struct file *)test);
	expect_step(test, "nodata", "another file");
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	expect_step(test, FOLLOWED, "this file");
}

#define BOUND_AT	0x7d0	/* the address of the function, in the slot's word */
#define SLOT_CODE	0x410
#define SLOT_INDEX	7

/* A call of the slot leaves on the stack: link map, index, return address. */
static void store_binding(struct kunit *test, u32 cfa, u32 index)
{
	word(test, cfa - 24, stack(test, 0x3000));
	word(test, cfa - 16, index);
	word(test, cfa - 8, bare(test, 0x210));
}

/*
 * c84 keeps its CFA in a register that is not known. The code before b210 calls the slot at b400,
 * which is not bound: its word leads to b410, where the index is pushed.
 */
static void binding_scene(struct kunit *test)
{
	static const u8 push[] = { 0x68, SLOT_INDEX, 0, 0, 0, 0xe9 };

	flex_function(test, 0x80, AT_REG(3, 32), IN_CFA(-8), 0);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, BOUND_AT));
	store_word(test, bare(test, BOUND_AT), bare(test, SLOT_CODE));
	user_store(test, bare(test, SLOT_CODE), push, sizeof(push));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0x400));
}

#define BINDING_ENDS	"c4@0 c44@10 c84@20 register"

/* Calls of other machines push no return address, and their loaders keep the CFA. */
static void expect_binding(struct kunit *test, const char *want, const char *what)
{
	expect_walk(test, PUSHED_BY_CALL ? want : BINDING_ENDS, "%s", what);
}

static void fallback_binding(struct kunit *test)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, SLOT_INDEX, 0, 0, 0 };

	binding_scene(test);
	expect_binding(test, BINDING_ENDS, "nothing on the stack");
	store_binding(test, 0xd0, SLOT_INDEX);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@d0 nodata", "a call");
	store_binding(test, 0x80, SLOT_INDEX + 1);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@d0 nodata", "another index below");
	word(test, 0x78, bare(test, 0x310));
	word(test, 0x70, SLOT_INDEX);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@d0 nodata", "no call below");
	store_binding(test, 0x60, SLOT_INDEX);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@60 nodata", "two");
	store_word(test, bare(test, BOUND_AT), bare(test, 0x10));
	expect_binding(test, BINDING_ENDS, "the slot is bound");
	store_word(test, bare(test, BOUND_AT), bare(test, SLOT_CODE));
	user_store(test, bare(test, SLOT_CODE), endbr, sizeof(endbr));
	expect_binding(test, "c4@0 c44@10 c84@20 b210@60 nodata", "endbr64; push");
}

/* Not every CFA in such a register is the loader's. */
static void fallback_binding_of_row(struct kunit *test)
{
	static const u32 rows[][3] = {
		{ AT_REG(3, 24), IN_CFA(-8), 0 },
		{ AT_REG(3, 32), IN_CFA(-16), 0 },
		{ AT_REG(3, 32), IN_CFA(-8), IN_CFA(-16) },
		{ AT_REG(12, 32), IN_CFA(-8), 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		build_again(test);
		flex_function(test, 0xc0, rows[i][0], rows[i][1], rows[i][2]);
		binding_scene(test);
		word(test, 0x18, code(test, 0xc4));
		store_binding(test, 0xd0, SLOT_INDEX);
		expect_walk(test, "c4@0 c44@10 cc4@20 register", "row %u", i);
	}
}

/* The search ends 4096 bytes above the stack pointer, or with the stack. */
static void fallback_binding_bounds(struct kunit *test)
{
	binding_scene(test);
	store_binding(test, 0x1100, SLOT_INDEX);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@1100 nodata", "at the end");
	store_binding(test, 0x1100, 0);
	store_binding(test, 0x1110, SLOT_INDEX);
	expect_binding(test, BINDING_ENDS, "after the end");
	store_binding(test, 0x1110, 0);
	word(test, 0x10, SLOT_INDEX);
	store_call(test, plain_call(), code(test, 0x84), bare(test, 0x400));
	expect_binding(test, BINDING_ENDS, "below the stack pointer");
	sample(test, code(test, 4), stack(test, STACK_SIZE - 0x80), 0);
	word(test, STACK_SIZE - 0x78, code(test, 0x44));
	word(test, STACK_SIZE - 0x68, code(test, 0x84));
	expect_walk(test, "c4@3f80 c44@3f90 c84@3fa0 register", "at the end of the stack");
	store_binding(test, STACK_SIZE, SLOT_INDEX);
	expect_walk(test, PUSHED_BY_CALL ? "c4@3f80 c44@3f90 c84@3fa0 b210@4000 nodata" :
		    "c4@3f80 c44@3f90 c84@3fa0 register", "the last words");
}

/* Each word that may be a return address costs a search of the ranges. */
static void fallback_binding_is_paid_for(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 off;

	binding_scene(test);
	for (off = 0x48; off < 0x1000; off += 16)
		word(test, off, stack(test, 0));
	store_binding(test, 0x1010, SLOT_INDEX);
	expect_binding(test, "c4@0 c44@10 c84@20 b210@1010 nodata", "whole budget");
	scene->budget = 15000;
	expect_binding(test, "c4@0 c44@10 c84@20 budget", "less");
}

struct fp_case {
	const char	*name;
	s32		fp;
	const char	*want;
};

/* SP is 0x20 into the stack. Each word of the stack is b210. */
static const struct fp_case fp_cases[] = {
	{ "at SP", 0x20, "b210@30,fpb210" },
	{ "above SP", 0x100, "b210@110,fpb210" },
	{ "16 below SP", 0x10, "nodata" },
	{ "8 below SP", 0x18, "nodata" },
	{ "1 below SP", 0x1f, "nodata" },
	{ "0 in the stack", 0, "nodata" },
	{ "not aligned to 1", 0x101, "nodata" },
	{ "not aligned to 4", 0x104, "nodata" },
	{ "the last record", STACK_SIZE - 16, "b210@4000,fpb210" },
	{ "half a record", STACK_SIZE - 8, "nodata" },
	{ "after the stack", STACK_SIZE, "nodata" },
};

NAMED_CASES(fp);

static void fallback_fp(struct kunit *test)
{
	const struct fp_case *c = test->param_value;
	u32 off;

	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	for (off = 0; off < STACK_SIZE; off += 8)
		word(test, off, bare(test, 0x210));
	sample(test, bare(test, 0x10), stack(test, 0x20), stack(test, c->fp));
	expect_step(test, c->want);
}

static void fallback_fp_anything(struct kunit *test)
{
	static const unsigned long values[] = {
		0, 1, 16, LONG_MAX, LONG_MIN, -16, -8, -1,
	};
	u32 i;

	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		sample(test, bare(test, 0x10), stack(test, 0), values[i]);
		expect_step(test, "nodata", "FP 0x%lx", values[i]);
	}
}

/* If a call leaves the return address in a register, the register may name a nearer caller. */
static void fallback_link(struct kunit *test)
{
	const char *nearer = PUSHED_BY_CALL ? FOLLOWED : "nodata";
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	set_register(&scene->regs, R_B, SIGN(code(test, 0x20)));
	expect_step(test, nearer, "which has a row");
	set_register(&scene->regs, R_B, code(test, 0x40));
	expect_step(test, nearer, "whose last instruction calls");
	set_register(&scene->regs, R_B, bare(test, 0x210));
	expect_step(test, FOLLOWED, "it is the same");
	set_register(&scene->regs, R_B, bare(test, 0x300));
	expect_step(test, FOLLOWED, "which has none");
	set_register(&scene->regs, R_B, 1);
	expect_step(test, FOLLOWED, "it is no code");
}

/* The link register leads to another file. A function's own calls return to its own file. */
static void fallback_link_elsewhere(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	bool is_call = c->calls || c->calls_other;
	unsigned long to = code(test, 0x1000);
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	build_file(code_range(test), (const struct file *)test);
	if (c->refers == TO_SLOT) {
		store_word(test, bare(test, 0x800), to);
		to = bare(test, 0x800);
	}
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	store_call(test, c, code(test, 0x20), to);
	set_register(&scene->regs, R_B, SIGN(code(test, 0x20)));
	expect_step(test, PUSHED_BY_CALL ? FOLLOWED : is_call ? "c20@0" : "nodata");
	store_call(test, c, code(test, 0x1020), to);
	set_register(&scene->regs, R_B, code(test, 0x1020));
	expect_step(test, PUSHED_BY_CALL ? FOLLOWED : is_call ? "c1020@0" : "nodata", "has no row");
	record(test, 0x20, 0, code(test, 0x1020));
	expect_step(test, is_call && !PUSHED_BY_CALL ? "c1020@30,fp?" : "nodata", "it is the same");
	record(test, 0x20, 0, 0);
	expect_step(test, is_call && !PUSHED_BY_CALL ? "c1020@0" : "nodata", "alone");
}

/* The called function may have moved the stack pointer. */
static void fallback_link_doubt(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	use_section(test);
	build_file(code_range(test), (const struct file *)test);
	sample(test, bare(test, 0x10), stack(test, 0), 0);
	set_register(&scene->regs, R_B, code(test, 0x50));
	store_call(test, plain_call(), code(test, 0x50), bare(test, 0));
	word(test, 8, code(test, 0x90));
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x40));
	expect_walk(test, "b10@0 c50@0 c90@10 complete");
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x44));
	expect_walk(test, "b10@0 c50@0 nodata");
}

/*
 * In a PLT slot the return address is still where the call left it, and nothing has been pushed.
 * The stack pointer is verified.
 */
static void fallback_in_plt(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 i, off;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	use_section(test);
	store_call(test, plain_call(), code(test, 0x50), bare(test, 0x400));
	word(test, 8, code(test, 0x90));
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	for (i = 0; i < ARRAY_SIZE(plt_cases); i++) {
		const struct plt_case *c = &plt_cases[i];
		u32 end = PLT_CODE;

		while (!c->insns[end / 4 - 1])
			end -= 4;
		store_plt(test, c, bare(test, 0x400), slot_of(c, bare(test, 0x800)));
		for (off = 0; off <= end; off += 4) {
			bool is_in = c->jumps && off < end;
			char want[48];

			/* A slot that begins with other code has its end at the same place. */
			if (!c->jumps && off >= c->at && c->at)
				is_in = off < end;
			sample(test, bare(test, 0x400 + off), stack(test, 0), stack(test, 0x20));
			set_register(&scene->regs, R_B, SIGN(code(test, 0x50)));
			scnprintf(want, sizeof(want), "b%x@0 %s", 0x400 + off,
				  is_in ? "c50@0 c90@10 complete" : "nodata");
			expect_walk(test, want, "%s, at %u", c->name, off);
		}
	}
}

/* The register has to hold an address that a call returns to. */
static void fallback_in_plt_anything(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0x40), code(test, CODE_SIZE + 1),
		bare(test, 0), LONG_MIN, -1, code(test, 0x20),
	};
	struct walk_scene *scene = test->priv;
	u32 i;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0, 16);
	use_section(test);
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		sample(test, bare(test, 0x400), stack(test, 0), 0);
		set_register(&scene->regs, R_B, values[i]);
		expect_step(test, "nodata", "to 0x%lx", values[i]);
	}
	store_call(test, plain_call(), code(test, 0x20), bare(test, 0x400));
	expect_step(test, "c20@0");
	sample(test, bare(test, 0x400), stack(test, 8), 0);
	set_register(&scene->regs, R_B, code(test, 0x20));
	expect_step(test, "nodata", "SP is not aligned");
	/* No linker puts a PLT slot at the start of a mapping: other code comes before it. */
	store_plt(test, &plt_cases[0], bare(test, 0), bare(test, 0x800));
	sample(test, bare(test, 0), stack(test, 0), 0);
	set_register(&scene->regs, R_B, code(test, 0x20));
	expect_step(test, "nodata", "at the beginning");
}

/* If a frame record does not lead to code, it is other data. */
static void fallback_ra_anything(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0x40), code(test, CODE_SIZE + 1),
		bare(test, 0), bare(test, BARE_SIZE + 1), LONG_MIN, -1,
	};
	u32 i;

	fallback_scene(test);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		record(test, 0x20, 0, values[i]);
		expect_step(test, "nodata", "RA 0x%lx", values[i]);
	}
}

struct doubt_case {
	const char	*name;
	u32		rules[3];
	bool		doubtful;
};

/*
 * SP is 0x30 into the stack, FP 0x60. With each of these rows the caller is c90, its CFA is 0x70
 * and its frame pointer 0x110.
 */
static const struct doubt_case doubt_cases[] = {
	{ "CFA sp", { AT_REG(R_SP, 0x40), IN_CFA(-8), IN_CFA(-16) }, true },
	{ "CFA *(sp)", { IN_REG(R_SP, 8), IN_CFA(-8), IN_CFA(-16) }, true },
	{ "RA *(sp)", { AT_REG(R_FP, 16), IN_REG(R_SP, 0x38), IN_CFA(-16) }, true },
	{ "FP *(sp)", { AT_REG(R_FP, 16), IN_CFA(-8), IN_REG(R_SP, 0x30) }, true },
	{ "FP sp", { AT_REG(R_FP, 16), IN_CFA(-8), AT_REG(R_SP, 0xe0) }, true },
	{ "all by FP", { AT_REG(R_FP, 16), IN_CFA(-8), IN_CFA(-16) }, false },
	{ "all *(fp)", { IN_REG(R_FP, -40), IN_REG(R_FP, 8), IN_REG(R_FP, 0) }, false },
};

NAMED_CASES(doubt);

/* The walk goes by frame pointer to c10, where SP is unverified, and on to c90. */
static void doubt_scene(struct kunit *test, const u32 *rules)
{
	flex_function(test, 0, rules[0], rules[1], rules[2]);
	sp_function(test, 0x40, 16);
	sp_function(test, 0x80, 32);
	outermost_function(test, 0xc0);
	use_section(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, stack(test, 0x60), code(test, 0x10));
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0));
	word(test, 0x38, stack(test, 0x70));
	record(test, 0x60, stack(test, 0x110), code(test, 0x90));
	word(test, 0x88, code(test, 0xc4));
}

#define DOUBTED		"b10@0 c10@30,fp60 nodata"
/* After c90 SP is verified: the walk goes on although no call proves the caller. */
#define VINDICATED	"b10@0 c10@30,fp60 c90@70,fp110 cc4@90 complete"

static void fallback_doubt(struct kunit *test)
{
	const struct doubt_case *c = test->param_value;
	const char *doubted = c->doubtful ? DOUBTED : VINDICATED;
	u32 i;

	doubt_scene(test, c->rules);
	expect_walk(test, doubted, "no call");
	for (i = 0; i < ARRAY_SIZE(call_cases); i++) {
		const struct call_case *call = &call_cases[i];
		unsigned long to = code(test, 0);

		if (call->refers == TO_SLOT)
			to = bare(test, 0x800);
		store_word(test, bare(test, 0x800), code(test, 0));
		store_call(test, call, code(test, 0x90), to);
		expect_walk(test, call->calls ? VINDICATED : doubted, "by %s", call->name);
	}
	/* The call must name exactly this function. */
	store_call(test, plain_call(), code(test, 0x90), code(test, 4));
	expect_walk(test, doubted, "into it");
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x40));
	expect_walk(test, doubted, "of another");
	store_call(test, plain_call(), code(test, 0x90), bare(test, 0));
	expect_walk(test, doubted, "of one without a row");
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	store_call(test, plain_call(), code(test, 0x90), bare(test, 0x400));
	expect_walk(test, VINDICATED, "through a PLT slot");
}

/* If an unverified SP leads nowhere, SP is wrong, and the row is not bad. */
static void fallback_unverified_sp_leads_nowhere(struct kunit *test)
{
	static const s32 cfas[] = { 0, -16, 1, 4, 0x4000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cfas); i++) {
		const u32 rules[] = {
			AT_REG(R_SP, cfas[i]), IN_CFA(-8), IN_CFA(-16),
		};

		build_again(test);
		doubt_scene(test, rules);
		expect_walk(test, DOUBTED, "CFA sp%+d", cfas[i]);
	}
	build_again(test);
	doubt_scene(test, doubt_cases[5].rules);
	record(test, 0x60, 0, stack(test, 0));
	expect_walk(test, DOUBTED, "no code");
	record(test, 0x60, 0, 0);
	expect_walk(test, DOUBTED, "no return address");
}

NAMED_CASES(sampled);

/* Where a function begins or ends, the instruction tells where the return address is. */
static void fallback_by_code(struct kunit *test)
{
	const struct sampled_case *c = test->param_value;
	struct walk_scene *scene = test->priv;
	/* Not aligned to 16 in the stack, so that an unaligned CFA would be refused. */
	const unsigned long words[] = { bare(test, 0x210), bare(test, 0x310), bare(test, 0x410) };
	u32 i;

	fallback_scene(test);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		store_call(test, plain_call(), words[i], code(test, 0));
	user_store(test, bare(test, 0x620), c->code, sizeof(c->code));
	sample(test, bare(test, 0x620 + c->at), stack(test, 0), 0);
	set_register(&scene->regs, R_B, SIGN(words[0]));
	if (PUSHED_BY_CALL) {
		for (i = 0; i < ARRAY_SIZE(words); i++)
			word(test, 8 * i, words[i]);
	} else {
		record(test, 0, words[1], words[2]);
	}
	expect_step(test, c->want);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 0);
	/* Nothing has called: another word of the stack, another use of the register. */
	for (i = 0; i < ARRAY_SIZE(words); i++)
		store_call(test, &call_cases[ARRAY_SIZE(call_cases) - 1], words[i], 0);
	expect_step(test, "nodata", "no call");
}

/* A return is the first instruction of its mapping, or the last one. */
static void fallback_by_code_at_ends(struct kunit *test)
{
	const u32 bytes = PUSHED_BY_CALL ? 1 : 4, at[] = { 0, BARE_SIZE - bytes };
	const struct sampled_case *c = sampled_cases;
	struct walk_scene *scene = test->priv;
	u32 i;

	while (strcmp(c->name, "ret"))
		c++;
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	word(test, 0, bare(test, 0x210));
	set_register(&scene->regs, R_B, bare(test, 0x210));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		user_store(test, bare(test, at[i]), c->code + c->at, bytes);
		sample(test, bare(test, at[i]), stack(test, 0), 0);
		expect_step(test, c->want, "%u", i);
	}
}

/* The sampled frame is in the code of a case. */
static void sample_code(struct kunit *test, const char *name, unsigned long sp, unsigned long fp)
{
	const struct sampled_case *c = sampled_cases;

	while (strcmp(c->name, name))
		c++;
	user_store(test, bare(test, 0x620), c->code, sizeof(c->code));
	sample(test, bare(test, 0x620 + c->at), sp, fp);
}

/*
 * b210, which was not interrupted, does nothing but return. That counts in memory that no file
 * describes.
 */
static void fallback_at_end(struct kunit *test)
{
	const char *want = "c4@0 b210@10 c50@20 complete";

	sp_function(test, 0, 16);
	outermost_function(test, 0x40);
	use_section(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	word(test, 8, bare(test, 0x210));
	word(test, 0x18, code(test, 0x50));
	user_store(test, bare(test, 0x210), end_code, sizeof(end_code));
	expect_walk(test, "c4@0 b210@10 nodata", "no call");
	store_call(test, by_pointer(), code(test, 0x50), 0);
	expect_walk(test, want);
	build_file(bare_range(test), (const struct file *)test);
	expect_walk(test, "c4@0 b210@10 nodata", "in a file");
	build_file(bare_range(test), NULL);
	expect_walk(test, want, "again");
	mark_as_bad(bare_range(test));
	expect_walk(test, "c4@0 b210@10 nodata", "a section was there");
}

/* Only the frame pointer leads to b210: whether the stack pointer is right is not known. */
static void fallback_at_end_by_fp(struct kunit *test)
{
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	word(test, 0x38, code(test, 0x50));
	store_call(test, by_pointer(), code(test, 0x50), 0);
	user_store(test, bare(test, 0x210), end_code, sizeof(end_code));
	expect_walk(test, "b10@0 b210@30,fp? nodata");
}

/* leave; ret */
static void fallback_at_leave(struct kunit *test)
{
	static const u8 leave[] = { 0xc9, 0xc3, 0xc9, 0x5d, 0xc3 };

	if (!PUSHED_BY_CALL)
		kunit_skip(test, "no instruction loads the stack pointer and the frame pointer");
	fallback_scene(test);
	record(test, 0x20, stack(test, 0x10), bare(test, 0x210));
	user_store(test, bare(test, 0x10), leave, sizeof(leave));
	expect_step(test, "nodata", "no call");
	store_call(test, by_pointer(), bare(test, 0x210), 0);
	expect_step(test, "b210@30,fp10");
	sample(test, bare(test, 0x12), stack(test, 0), stack(test, 0x20));
	expect_step(test, "nodata", "a pop follows");
	sample(test, bare(test, 0x10), stack(test, 0x30), stack(test, 0x20));
	expect_step(test, "nodata", "the record is below the stack pointer");
}

/* Nothing proves the frame; the record is followed only if the file keeps frame pointers. */
static void fallback_habit(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct walk_scene *scene = test->priv;
	bool is_call = c->calls || c->calls_other || strstarts(c->name, "call");

	fallback_scene(test);
	record(test, 0x20, stack(test, 0x100), bare(test, 0x210));
	/* The called function has a row, if it can be known. */
	store_word(test, bare(test, 0x800), code(test, 0));
	store_call(test, c, bare(test, 0x210),
		   c->refers == TO_SLOT ? bare(test, 0x800) : code(test, 0));
	bare_range(test)->habit = SFRAME_HABIT_OTHER;
	expect_step(test, "nodata");
	bare_range(test)->habit = SFRAME_HABIT_FP;
	expect_step(test, is_call ? "b210@30,fp100" : "nodata");
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], is_call);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP], 0);
	/* The outermost frame may have been called by nothing. */
	record(test, 0x20, 0, bare(test, 0x210));
	expect_step(test, FOLLOWED);
}

/* The habit is asked first, for it costs less. A proof needs no next link. */
static void fallback_habit_and_proof(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	expect_step(test, FOLLOWED);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 1);
	record(test, 0x20, stack(test, 0x10), bare(test, 0x210));
	expect_step(test, "b210@30,fp10");
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP], 1);
}

/* Walks from the sampled frame, and asks for at most @max frames at once. Returns their number. */
static u32 walk_by(struct walk_scene *scene, u64 *ips, u32 nr_ips, u32 max)
{
	u32 nr = 0;

	begin_walk(scene);
	while (!scene->stop && nr < nr_ips)
		nr += next_frames(scene, ips + nr, min(max, nr_ips - nr));
	return nr;
}

/* perf takes 127 frames, and the kernel's own walk finds them: the budget is enough. */
static void fallback_habit_deep(struct kunit *test)
{
	const struct call_case *calls[] = { plain_call(), by_pointer() };
	struct walk_scene *scene = test->priv;
	u32 i, k, nr;
	u64 ips[127];

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		fallback_scene(test);
		bare_range(test)->habit = SFRAME_HABIT_FP;
		store_call(test, calls[i], bare(test, 0x210), bare(test, 0));
		for (k = 1; k <= 126; k++)
			record(test, 0x20 * k, k < 126 ? stack(test, 0x20 * (k + 1)) : 0,
			       bare(test, 0x210));
		nr = walk_by(scene, ips, ARRAY_SIZE(ips), ARRAY_SIZE(ips));
		KUNIT_EXPECT_EQ_MSG(test, nr, 126, "%s", calls[i]->name);
		KUNIT_EXPECT_EQ(test, scene->stop, SFU_STOP_NODATA);
	}
}

/*
 * The callers of b10 are in three pieces of code in turn, and all follow calls. Each piece may keep
 * frame pointers or not, and be of the same file or another. Records may be aligned as the CFA is,
 * or not. Callers that are asked for at once are those that are found one by one.
 */
static void fallback_habit_mixed(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 one_by_one[16], at_once[16];
	struct sfu_frame last;
	u32 i, k, nr, off;

	fallback_scene(test);
	scene->map = build_map(test, 4);
	build_range(scene->map, 0, scene->code, CODE_SIZE);
	for (i = 1; i < 4; i++)
		build_range(scene->map, i, bare(test, 0x200 * (i - 1)), 0x200);
	for (i = 0; i < 64; i++) {
		for (k = 1; k < 4; k++) {
			scene->map->ranges[k].habit = i & 1 << (k - 1) ? SFRAME_HABIT_FP :
							SFRAME_HABIT_OTHER;
			scene->map->ranges[k].vma.file = i & 8 ? (struct file *)(8UL * k) : NULL;
			scene->map->ranges[k].has_no_data = i & 16;
		}
		off = i & 32 ? 8 : 0;
		sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20 + off));
		for (k = 1; k <= 8; k++) {
			unsigned long ra = bare(test, 0x200 * (k % 3) + 0x40 + 0x10 * k);

			store_call(test, by_pointer(), ra, 0);
			record(test, 0x20 * k + off, stack(test, 0x20 * (k + 1) + off), ra);
		}
		nr = walk_by(scene, one_by_one, ARRAY_SIZE(one_by_one), 1);
		last = scene->walk.frame;
		KUNIT_EXPECT_EQ_MSG(test, nr, walk_by(scene, at_once, ARRAY_SIZE(at_once), 16),
				    "%u", i);
		KUNIT_EXPECT_MEMEQ(test, one_by_one, at_once, nr * sizeof(*at_once));
		KUNIT_EXPECT_EQ(test, last.sp, scene->walk.frame.sp);
		KUNIT_EXPECT_EQ(test, last.fp, scene->walk.frame.fp);
		KUNIT_EXPECT_EQ(test, last.sp_unverified, scene->walk.frame.sp_unverified);
		KUNIT_EXPECT_EQ(test, last.by_habit, scene->walk.frame.by_habit);
	}
}

/*
 * The first caller may have been found with a stack pointer that is certain, by the code of the
 * sampled function. Those of the callers after it follow from frame pointers.
 */
static void fallback_habit_doubts_sp(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 ips[4];

	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	store_call(test, by_pointer(), bare(test, 0x210), 0);
	record(test, 0x20, stack(test, 0x40), bare(test, 0x210));
	record(test, 0x40, stack(test, 0x60), bare(test, 0x210));
	begin_walk(scene);
	KUNIT_ASSERT_EQ(test, 1, next_frames(scene, ips, 1));
	scene->walk.frame.sp_unverified = false;
	KUNIT_EXPECT_EQ(test, 1, sfu_chain_follow(&scene->walk, ips, 1));
	KUNIT_EXPECT_TRUE(test, scene->walk.frame.sp_unverified);
}

/* That no row holds at an address is found out once, and then remembered. */
static void fallback_remembers_no_row(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	sample(test, code(test, 0x800), stack(test, 0), 0);
	expect_walk(test, "c800@0 nodata");
	KUNIT_EXPECT_EQ(test, scene->walk.lookup.nr_missed, !scene->shows_cache);
}

/* A handler returns to a stub. */
static void fallback_habit_in_handler(struct kunit *test)
{
	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	record(test, 0x20, stack(test, 0x100), bare(test, 0x210));
	expect_step(test, "nodata");
	user_store(test, bare(test, 0x210), sigreturn_stub, sizeof(sigreturn_stub));
	expect_step(test, "b210@30,fp100");
}

/* It has no frame: its last instruction, and on arm64 its link register, lead to the stub. */
static void fallback_handler_without_frame(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	unsigned int habit;

	fallback_scene(test);
	user_store(test, bare(test, 0x210), sigreturn_stub, sizeof(sigreturn_stub));
	store_call(test, plain_call(), bare(test, 0x310), code(test, 0));
	word(test, 0, bare(test, 0x210));
	set_register(&scene->regs, R_B, bare(test, 0x210));
	record(test, 0x60, 0, bare(test, 0x310));
	for (habit = SFRAME_HABIT_FP; habit <= SFRAME_HABIT_OTHER; habit++) {
		bare_range(test)->habit = habit;
		sample_code(test, "ret", stack(test, 0), stack(test, 0x60));
		expect_step(test, PUSHED_BY_CALL ? "b210@8" : "b210@0", "habit %u", habit);
	}
}

struct link_case {
	const char	*name;
	s32		fp;
	bool		is_sound;
};

/* The record is 0x20 into the stack. */
static const struct link_case link_cases[] = {
	{ "next to it", 0x30, true },
	{ "further up", 0x800, true },
	{ "the same", 0x20, false },
	{ "in it", 0x28, false },
	{ "down the stack", 0x10, false },
	{ "not aligned", 0x104, false },
	{ "far down", -0x10000, false },
};

NAMED_CASES(link);

/* The next link of the chain counts if the caller's file keeps frame pointers, too. */
static void fallback_habit_of_next(struct kunit *test)
{
	const struct link_case *c = test->param_value;

	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	store_call(test, plain_call(), code(test, 0x1210), code(test, 0));
	record(test, 0x20, stack(test, 0) + c->fp, bare(test, 0x210));
	begin_walk(test->priv);
	KUNIT_EXPECT_EQ(test, next_frame(test), c->is_sound);
	record(test, 0x20, stack(test, 0) + c->fp, code(test, 0x1210));
	begin_walk(test->priv);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
}

/* Stores a record anywhere. */
static void store_record(struct kunit *test, unsigned long at, unsigned long fp, unsigned long ra)
{
	store_word(test, at, fp);
	store_word(test, at + 8, ra);
}

/*
 * b210 has called on another stack, and its frame pointer leads to the record of its caller, which
 * is further down. Returns the place of that record.
 */
static unsigned long switched_scene(struct kunit *test)
{
	unsigned long other = user_map(test, SZ_128K / PAGE_SIZE) + 0x20;

	fallback_scene(test);
	KUNIT_ASSERT_LT(test, other + SZ_64K, stack(test, 0));
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	store_call(test, plain_call(), bare(test, 0x310), code(test, 0));
	store_call(test, plain_call(), code(test, 0x1210), code(test, 0));
	record(test, 0x20, other, bare(test, 0x210));
	store_record(test, other, other + 0x40, bare(test, 0x310));
	store_record(test, other + 0x40, 0, bare(test, 0x310));
	bare_range(test)->habit = SFRAME_HABIT_FP;
	return other;
}

static void fallback_habit_on_other_stack(struct kunit *test)
{
	const char *want = "b10@0 b210@30,fp? b310@?,fp? b310@?,fp? nodata";
	const unsigned long other = switched_scene(test);
	struct walk_scene *scene = test->priv;

	expect_walk(test, want);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 3);
	store_record(test, other, other + 0x40, bare(test, 0x318));
	expect_walk(test, "b10@0 nodata", "no call");
	store_record(test, other, other + 0x40, code(test, 0x1210));
	expect_walk(test, "b10@0 nodata", "code without the habit");
	store_record(test, other, other - 0x10, bare(test, 0x310));
	expect_walk(test, "b10@0 nodata", "the next link leads down, too");
	store_record(test, other, other + 0x40, bare(test, 0x310));
	expect_walk(test, want, "again");
	/* Functions that have returned leave records just below the stack pointer. */
	sample(test, bare(test, 0x10), stack(test, 0x800), stack(test, 0x820));
	record(test, 0x820, stack(test, 0x20), bare(test, 0x210));
	record(test, 0x20, 0, bare(test, 0x310));
	expect_walk(test, "b10@800 nodata", "on the same stack");
	/* The sampled function may be in the middle of the switch. */
	sample(test, bare(test, 0x10), stack(test, 0), other);
	expect_walk(test, "b10@0 nodata", "sampled");
}

/* Records that lead up and down for ever end the walk. */
static void fallback_habit_to_and_fro(struct kunit *test)
{
	const unsigned long other = switched_scene(test);

	store_record(test, other, stack(test, 0x20), bare(test, 0x310));
	KUNIT_EXPECT_EQ(test, count_callers(test), 9);
	expect_end(test, "nodata");
}

/* An interpreter pushes the return address and jumps. The next link must lead to code. */
static void fallback_habit_pushed_return(struct kunit *test)
{
	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	record(test, 0x20, stack(test, 0x60), bare(test, 0x210));
	record(test, 0x60, 0, bare(test, 0x310));
	expect_step(test, "b210@30,fp60", "no call");
	record(test, 0x60, 0, stack(test, 0));
	expect_step(test, "nodata", "the next link leads to no code");
	record(test, 0x60, 0, bare(test, 0x310));
	build_file(bare_range(test), (const struct file *)test);
	expect_step(test, "nodata", "in a file");
	build_file(bare_range(test), NULL);
	record(test, 0x20, stack(test, 0x60), code(test, 0x1210));
	expect_step(test, "nodata", "code of another habit");
}

/* The records of Go on arm64: that of the sampled function is below its stack pointer. */
static void fallback_habit_low_record(struct kunit *test)
{
	const char *want = "b10@100 b210@110,fp138 b310@150,fp? nodata";

	if (!SFU_ARCH_LOW_RECORD)
		kunit_skip(test, "all records are above the stack pointer");
	fallback_scene(test);
	sample(test, bare(test, 0x10), stack(test, 0x100), stack(test, 0xf8));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	store_call(test, plain_call(), bare(test, 0x310), code(test, 0));
	record(test, 0xf8, stack(test, 0x138), bare(test, 0x210));
	record(test, 0x138, 0, bare(test, 0x310));
	expect_walk(test, "b10@100 nodata", "no habit");
	bare_range(test)->habit = SFRAME_HABIT_FP;
	expect_walk(test, want);
	record(test, 0xf8, stack(test, 0xf8), bare(test, 0x210));
	expect_walk(test, "b10@100 nodata", "it links to itself");
	record(test, 0xf8, stack(test, 0xe8), bare(test, 0x210));
	expect_walk(test, "b10@100 nodata", "it links down");
	record(test, 0xf0, stack(test, 0x138), bare(test, 0x210));
	sample(test, bare(test, 0x10), stack(test, 0x100), stack(test, 0xf0));
	expect_walk(test, "b10@100 nodata", "aligned, and below");
	record(test, 0xe8, stack(test, 0x138), bare(test, 0x210));
	sample(test, bare(test, 0x10), stack(test, 0x100), stack(test, 0xe8));
	expect_walk(test, "b10@100 nodata", "24 bytes below");
}

/* The prologue of such a function: x29 is still that of the caller. */
static void fallback_habit_low_record_not_set(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	if (!SFU_ARCH_LOW_RECORD)
		kunit_skip(test, "all records are above the stack pointer");
	fallback_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_FP;
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	store_call(test, plain_call(), bare(test, 0x310), code(test, 0));
	record(test, 0x138, 0, bare(test, 0x310));
	set_register(&scene->regs, R_B, bare(test, 0x210));
	sample_code(test, "Go: str x30", stack(test, 0x100), stack(test, 0x138));
	expect_walk(test, "b620@100 b210@100 b310@150,fp? nodata");
}

/* A later scan may find the habit, of the code of a JIT, too. */
static void fallback_habit_unknown(struct kunit *test)
{
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	expect_step(test, "nodata");
	bare_range(test)->habit = SFRAME_HABIT_UNKNOWN;
	expect_step(test, "nodata needs-scan");
	build_file(bare_range(test), (const struct file *)test);
	expect_step(test, "nodata needs-scan");
}

#define CHAINED		"b10@0 b210@30,fp60 b310@70,fpa0 c50@b0,fp? complete needs-scan"
#define NO_CHAIN	"b10@0 nodata"

/* Nothing is known of the code of b10, b210 and b310. Their records lead to c50, with a row. */
static void chain_scene(struct kunit *test)
{
	const unsigned long ras[] = { bare(test, 0x210), bare(test, 0x310), code(test, 0x50) };
	u32 i;

	fallback_scene(test);
	for (i = 0; i < ARRAY_SIZE(ras); i++) {
		store_call(test, by_pointer(), ras[i], 0);
		record(test, 0x20 + 0x40 * i, i < 2 ? stack(test, 0x60 + 0x40 * i) : 0, ras[i]);
	}
	bare_range(test)->habit = SFRAME_HABIT_UNKNOWN;
}

static void fallback_chain_as_a_whole(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	chain_scene(test);
	expect_walk(test, CHAINED);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 3);
	record(test, 0x60, stack(test, 0xa0), bare(test, 0x318));
	expect_walk(test, NO_CHAIN " needs-scan", "no call in the middle");
	record(test, 0x60, stack(test, 0xa0), stack(test, 0));
	expect_walk(test, NO_CHAIN " needs-scan", "no code");
	record(test, 0x60, stack(test, 0x60), bare(test, 0x310));
	expect_walk(test, NO_CHAIN " needs-scan", "a record leads to itself");
	record(test, 0x60, stack(test, 0xa4), bare(test, 0x310));
	expect_walk(test, NO_CHAIN " needs-scan", "not aligned");
	record(test, 0x60, stack(test, STACK_SIZE), bare(test, 0x310));
	expect_walk(test, NO_CHAIN " needs-scan", "the stack ends");
	record(test, 0x60, 0, bare(test, 0x310));
	expect_walk(test, NO_CHAIN " needs-scan", "it arrives nowhere");
	record(test, 0x60, stack(test, 0xa0), bare(test, 0x310));
	record(test, 0xa0, 0, code(test, 0x1010));
	store_call(test, by_pointer(), code(test, 0x1010), 0);
	expect_walk(test, NO_CHAIN " needs-scan", "code without a row, where others have one");
	record(test, 0xa0, 0, code(test, 0x50));
	expect_walk(test, CHAINED, "again");
}

/* It begins in code that nothing describes, and leads through such code only. */
static void fallback_chain_through(struct kunit *test)
{
	const char *want = "b10@0 b210@30,fp60 b310@70,fpa0 c50@b0,fp? complete";

	chain_scene(test);
	bare_range(test)->habit = SFRAME_HABIT_OTHER;
	expect_walk(test, NO_CHAIN, "functions of a JIT keep no frame pointers");
	build_file(bare_range(test), (const struct file *)test);
	expect_walk(test, NO_CHAIN, "a file with data");
	bare_range(test)->has_no_data = true;
	expect_walk(test, want, "a file without data");
	sample(test, bare(test, 0x210), stack(test, 0x30), stack(test, 0x60));
	expect_walk(test, "b210@30 nodata", "two frames in this file");
	bare_range(test)->is_unnamed = true;
	expect_walk(test, "b210@30 b310@70,fpa0 c50@b0,fp? complete", "in shared memory");
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	expect_walk(test, "c1010@0 nodata", "it begins where others have a row");
	code_range(test)->habit = SFRAME_HABIT_UNKNOWN;
	expect_walk(test, "c1010@0 nodata needs-scan", "of whose habit nothing is known");
}

/* A thread begins at its end. */
static void fallback_chain_to_start(struct kunit *test)
{
	const struct start_case *c = start_cases;

	while (c->start != CALLS_THREAD)
		c++;
	chain_scene(test);
	record(test, 0xa0, 0, bare(test, 0x510));
	user_store(test, bare(test, 0x510) - START_BEFORE, c->code, sizeof(c->code));
	expect_walk(test, "b10@0 b210@30,fp60 b310@70,fpa0 b510@b0,fp? start needs-scan");
}

/* So many frames are enough by themselves. Callers asked for at once are those found one by one. */
static void fallback_chain_long(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 ips[130], one_by_one[8];
	u32 nr, i;

	chain_scene(test);
	for (nr = 127; nr >= 126; nr--) {
		for (i = 1; i <= nr; i++)
			record(test, 0x20 * i, i < nr ? stack(test, 0x20 * (i + 1)) : 0,
			       bare(test, i % 2 ? 0x210 : 0x310));
		KUNIT_EXPECT_EQ(test, nr == 127 ? 127 : 0,
				walk_by(scene, ips, ARRAY_SIZE(ips), ARRAY_SIZE(ips)));
	}
	chain_scene(test);
	nr = walk_by(scene, one_by_one, ARRAY_SIZE(one_by_one), 1);
	KUNIT_EXPECT_EQ(test, nr, walk_by(scene, ips, ARRAY_SIZE(ips), 16));
	KUNIT_EXPECT_EQ(test, nr, 3);
	KUNIT_EXPECT_MEMEQ(test, one_by_one, ips, nr * sizeof(*ips));
	scene->budget = 2000;
	expect_walk(test, "b10@0 budget needs-scan", "the chain costs more");
}

/* c90 has a frame record and a row by SP, and only the habit led to it. */
static void fallback_doubt_of_record(struct kunit *test)
{
	const struct call_case *c = plain_call();

	flex_function(test, 0x80, AT_REG(R_SP, 32), IN_CFA(-24), IN_CFA(-32));
	outermost_function(test, 0xc0);
	use_section(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, stack(test, 0x60), code(test, 0x90));
	store_call(test, c, code(test, 0x90), bare(test, 0));
	record(test, 0x60, stack(test, 0x100), code(test, 0xc4));
	expect_walk(test, "b10@0 c90@30,fp60 nodata");
	code_range(test)->habit = SFRAME_HABIT_FP;
	expect_walk(test, "b10@0 c90@30,fp60 nodata", "no call");
	store_call(test, c, code(test, 0xc4), code(test, 0x40));
	expect_walk(test, "b10@0 c90@30,fp60 cc4@80,fp100 complete");
	record(test, 0x60, stack(test, 0x100), stack(test, 0));
	expect_walk(test, "b10@0 c90@30,fp60 nodata", "no code");
}

/*
 * The habit led to c10, which has a row by SP, and was called through a pointer. The stack pointer
 * is right if the sampled function has not realigned the stack.
 */
static void fallback_doubt_of_sp(struct kunit *test)
{
	const char *want = PUSHED_BY_CALL ? "b10@0 c10@30,fp60 c90@50 cc4@70 complete" :
			   "b10@0 c10@30,fp60 nodata";
	const struct call_case *call = by_pointer();
	u32 i;

	sp_function(test, 0, 32);
	sp_function(test, 0x80, 32);
	outermost_function(test, 0xc0);
	use_section(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, stack(test, 0x60), code(test, 0x10));
	store_call(test, call, code(test, 0x10), 0);
	word(test, 0x48, code(test, 0x90));
	word(test, 0x68, code(test, 0xc4));
	expect_walk(test, "b10@0 nodata");
	bare_range(test)->habit = SFRAME_HABIT_FP;
	expect_walk(test, "b10@0 c10@30,fp60 nodata", "no call");
	store_call(test, call, code(test, 0x90), 0);
	expect_walk(test, want);
	/* Only the address of another function: the call is not the one. */
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x40));
	expect_walk(test, "b10@0 c10@30,fp60 nodata", "of another");
	store_call(test, call, code(test, 0x90), 0);
	for (i = 0x30; i < 0x70; i += 8) {
		if (i == 0x48 || i == 0x68)
			continue;
		word(test, i, code(test, 0x10));
		expect_walk(test, "b10@0 c10@30,fp60 nodata", "realigned by %u", i - 0x28);
		word(test, i, 0);
	}
	expect_walk(test, want, "again");
}

static struct kunit_case fallback_tests[] = {
	KUNIT_CASE_PARAM(fallback_by_code, sampled_gen_params),
	KUNIT_CASE(fallback_by_code_at_ends),
	KUNIT_CASE(fallback_at_end),
	KUNIT_CASE(fallback_at_end_by_fp),
	KUNIT_CASE(fallback_at_leave),
	KUNIT_CASE_PARAM(fallback_habit, call_gen_params),
	KUNIT_CASE(fallback_habit_and_proof),
	KUNIT_CASE(fallback_habit_deep),
	KUNIT_CASE(fallback_habit_mixed),
	KUNIT_CASE(fallback_habit_doubts_sp),
	KUNIT_CASE(fallback_remembers_no_row),
	KUNIT_CASE(fallback_habit_in_handler),
	KUNIT_CASE(fallback_handler_without_frame),
	KUNIT_CASE_PARAM(fallback_habit_of_next, link_gen_params),
	KUNIT_CASE(fallback_habit_on_other_stack),
	KUNIT_CASE(fallback_habit_to_and_fro),
	KUNIT_CASE(fallback_habit_low_record),
	KUNIT_CASE(fallback_habit_low_record_not_set),
	KUNIT_CASE(fallback_habit_pushed_return),
	KUNIT_CASE(fallback_habit_unknown),
	KUNIT_CASE(fallback_chain_as_a_whole),
	KUNIT_CASE(fallback_chain_through),
	KUNIT_CASE(fallback_chain_to_start),
	KUNIT_CASE(fallback_chain_long),
	KUNIT_CASE(fallback_doubt_of_record),
	KUNIT_CASE(fallback_doubt_of_sp),
	KUNIT_CASE(fallback_chain),
	KUNIT_CASE_PARAM(fallback_call, call_gen_params),
	KUNIT_CASE(fallback_call_without_data),
	KUNIT_CASE_PARAM(fallback_plt, plt_gen_params),
	KUNIT_CASE(fallback_code_at_ends),
	KUNIT_CASE(fallback_in_covered_code),
	KUNIT_CASE(fallback_call_into_other_file),
	KUNIT_CASE(fallback_binding),
	KUNIT_CASE(fallback_binding_of_row),
	KUNIT_CASE(fallback_binding_bounds),
	KUNIT_CASE(fallback_binding_is_paid_for),
	KUNIT_CASE_PARAM(fallback_fp, fp_gen_params),
	KUNIT_CASE(fallback_fp_anything),
	KUNIT_CASE(fallback_link),
	KUNIT_CASE_PARAM(fallback_link_elsewhere, call_gen_params),
	KUNIT_CASE(fallback_link_doubt),
	KUNIT_CASE(fallback_in_plt),
	KUNIT_CASE(fallback_in_plt_anything),
	KUNIT_CASE(fallback_ra_anything),
	KUNIT_CASE_PARAM(fallback_doubt, doubt_gen_params),
	KUNIT_CASE(fallback_unverified_sp_leads_nowhere),
	{}
};

WALK_SUITE_AND_CACHED(fallback);
