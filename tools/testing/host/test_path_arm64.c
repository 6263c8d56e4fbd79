// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of arch/arm64/sframe_path.h: where the instructions up to the end of a function say
 * that the return address is. The encodings are those of the assembler.
 */
#include <stdio.h>

#include "sframe_route.h"

#define NOP		0xd503201f
#define RET		0xd65f03c0
#define MAX_INSNS	6

struct path_case {
	const char		*name;
	enum sframe_path_at	at;
	struct sframe_path	want;		/* not with LOST */
	u32			insns[MAX_INSNS];
};

/* What may stand before the end of a function, without a use of x30. */
#define ON(name, insn)		{ name, SFRAME_PATH_RETURN, { .is_top = true }, { insn, RET } }
#define LOST(name, insn)	{ name, SFRAME_PATH_LOST, {}, { insn, RET } }
/* SP moves. */
#define MOVES(name, by, insn)	\
	{ name, SFRAME_PATH_RETURN, { .sp = by, .is_top = true }, { insn, RET } }
/* Both are loaded, or x30 alone. */
#define LOADS(name, by, ra, fp, ...) \
	{ name, SFRAME_PATH_RETURN, { .sp = by, .ra_off = ra, .fp_off = fp, .has_ra = true, \
	  .has_fp = true, .is_top = true }, { __VA_ARGS__ } }
#define LOADS_RA(name, by, ra, ...) \
	{ name, SFRAME_PATH_RETURN, { .sp = by, .ra_off = ra, .has_ra = true, .is_top = true }, \
	  { __VA_ARGS__ } }
/* A branch to so many bytes further, which may be taken or not. */
#define FORKS(name, by, insn)	{ name, SFRAME_PATH_BRANCH, { .jump = (by) - 4 }, { insn } }
#define SAVES(name, top, insn)	{ name, SFRAME_PATH_SAVE, { .is_top = top }, { insn } }

static const struct path_case cases[] = {
	ON("ret", NOP),
	{ "retaa", SFRAME_PATH_RETURN, { .is_top = true }, { 0xd65f0bff } },
	{ "retab", SFRAME_PATH_RETURN, { .is_top = true }, { 0xd65f0fff } },
	LOST("ret x1", 0xd65f0020),

	/* epilogues */
	LOADS("ldp x29, x30, [sp], #32", 32, 8, 0, 0xa8c27bfd, RET),
	LOADS("ldp; autiasp", 32, 8, 0, 0xa8c27bfd, 0xd50323bf, RET),
	LOADS("ldp; retaa", 32, 8, 0, 0xa8c27bfd, 0xd65f0bff),
	LOADS("ldp x29, x30, [sp, #16]; add sp, sp, #32", 32, 24, 16, 0xa9417bfd, 0x910083ff, RET),
	LOADS("add sp, sp, #32; ldp x29, x30, [sp], #32", 64, 40, 32, 0x910083ff, 0xa8c27bfd, RET),
	LOADS("ldp x19, x20, [sp, #16]; ldp x29, x30, [sp], #32", 32, 8, 0,
	      0xa94153f3, 0xa8c27bfd, RET),
	LOADS_RA("ldr x30, [sp], #16", 16, 0, 0xf84107fe, RET),
	LOADS_RA("ldr x30, [sp, #8]; add sp, sp, #32", 32, 8, 0xf94007fe, 0x910083ff, RET),
	LOADS_RA("ldp x30, x19, [sp], #48", 48, 0, 0xa8c34ffe, RET),
	MOVES("add sp, sp, #32", 32, 0x910083ff),
	MOVES("add sp, sp, #4096", 4096, 0x914007ff),
	MOVES("ldp x19, x20, [sp], #16", 16, 0xa8c153f3),
	MOVES("ldp q8, q9, [sp], #32", 32, 0xacc127e8),
	MOVES("ldr x19, [sp], #16", 16, 0xf84107f3),
	LOST("ldr w30, [sp, #8]", 0xb9400bfe),
	LOST("ldp w29, w30, [sp, #8]", 0x29417bfd),
	LOST("ldpsw x0, x30, [sp, #8]", 0x69417be0),
	LOST("ldrsw x30, [sp]", 0xb98003fe),
	LOST("ldr x30, [x0]", 0xf940001e),
	LOST("ldr x29, [x1, x2]", 0xf862683d),
	LOST("ldr x30, [sp, x2]", 0xf8626bfe),
	LOST("ldr x30, label", 0x5800001e),
	ON("ldr x0, label", 0x58000000),

	/* prologues */
	SAVES("stp x29, x30, [sp, #-32]!", true, 0xa9be7bfd),
	SAVES("stp x29, x30, [sp, #16]", false, 0xa9017bfd),
	SAVES("str x30, [sp, #-16]!", true, 0xf81f0ffe),
	SAVES("stp x30, x19, [sp, #-64]!", true, 0xa9bc4ffe),
	SAVES("paciasp", true, 0xd503233f),
	SAVES("pacibsp", true, 0xd503237f),
	{ "sub sp; stp x29, x30, [sp, #-32]!", SFRAME_PATH_SAVE, { .sp = -64 },
	  { 0xd10103ff, 0xa9be7bfd } },
	{ "sub sp; stp x29, x30, [sp, #16]", SFRAME_PATH_SAVE, { .sp = -64 },
	  { 0xd10103ff, 0xa9017bfd } },
	{ "mov x29, sp", SFRAME_PATH_RECORD, { .ra_off = 8, .has_ra = true, .has_fp = true },
	  { NOP, 0x910003fd } },
	{ "add x29, sp, #32", SFRAME_PATH_RECORD,
	  { .ra_off = 40, .fp_off = 32, .has_ra = true, .has_fp = true }, { 0x910083fd } },
	/* Go */
	SAVES("stur x29, [sp, #-8]", false, 0xf81f83fd),
	{ "sub x29, sp, #8", SFRAME_PATH_RECORD, { .fp_off = -8, .has_ra = true, .has_fp = true },
	  { 0xd10023fd } },
	LOADS("ldur x29, [sp, #-8]; ldr x30, [sp], #32", 32, 0, -8, 0xf85f83fd, 0xf84207fe, RET),
	LOST("sub x29, sp, #16", 0xd10043fd),
	LOADS_RA("ldr x30, [sp]; stur x29, [sp, #-8]", 0, 0, 0xf94003fe, 0xf81f83fd, RET),
	/* x30 may be saved already, and hold any value. */
	LOST("str x30, [sp, #8]", 0xf90007fe),
	LOST("stp x30, x19, [sp, #16]", 0xa9014ffe),
	LOST("stp x29, x30, [x0, #16]", 0xa901781d),
	ON("stp x29, x19, [sp, #16]", 0xa9014ffd),
	ON("str x29, [sp, #8]", 0xf90007fd),

	/* SP, x29 and x30 in other ways */
	LOST("mov sp, x29", 0x910003bf),
	LOST("sub sp, x29, #16", 0xd10043bf),
	LOST("sub sp, sp, x1", 0xcb2163ff),
	LOST("and sp, x1, #-16", 0x927cec3f),
	LOST("addvl sp, sp, #2", 0x043f505f),
	LOST("irg sp, x0", 0x9adf101f),
	LOST("addg sp, sp, #16, #0", 0x918103ff),
	LOST("stg x0, [sp], #16", 0xd92017e0),
	LOST("st1 {v0.16b}, [sp], #16", 0x4c9f73e0),
	LOST("str x0, [x30, #8]!", 0xf8008fc0),
	LOST("ldr x0, [x29], #8", 0xf84087a0),
	LOST("mov x30, x1", 0xaa0103fe),
	LOST("mov w30, #5", 0x528000be),
	LOST("mov x29, x0", 0xaa0003fd),
	LOST("adr x30, label", 0x1000001e),
	LOST("csel x30", 0x9a81001e),
	LOST("madd x30", 0x9b01081e),
	LOST("add x30, x0, w1, uxtw", 0x8b21401e),
	LOST("cntb x30", 0x0420e3fe),
	LOST("fmov x30, d0", 0x9e66001e),
	LOST("umov w29, v0.b[0]", 0x0e013c1d),
	LOST("mrs x30", 0xd53bd05e),
	LOST("stxr w30", 0xc81e7c20),
	LOST("ldadd x1, x30", 0xf821005e),
	LOST("swp [x30]", 0xf82183c2),

	/* what changes neither */
	ON("mov x1, x30", 0xaa1e03e1),
	ON("mov x1, sp", 0x910003e1),
	ON("cmp sp, x1", 0xeb2163ff),
	ON("cmp x30, x1", 0xeb0103df),
	ON("cmp x0, w1, uxtw", 0xeb21401f),
	ON("tst x0, #1", 0xf240001f),
	ON("ccmp x0, x1, #13, eq", 0xfa41000d),
	ON("cntb x0", 0x0420e3e0),
	ON("fadd d0, d1, d2", 0x1e622820),
	ON("fcmp d0, d1", 0x1e612000),
	ON("ldxr x0, [x1]", 0xc85f7c20),
	ON("ld1 {v0.16b}, [x0], #16", 0x4cdf7000),
	ON("ld1 {v16.4s}, [x2]", 0x4c407850),
	ON("st4 {v18.8h-v21.8h}, [x0], #64", 0x4c9f0412),
	ON("movi v29.8h, #0", 0x4f00841d),
	ON("fadd v30.4s, v1.4s, v2.4s", 0x4e22d43e),
	ON("ld1r {v5.16b}, [sp]", 0x4d40c3e5),
	ON("prfm", 0xf9800000),
	ON("prfm #30, [sp, #8]", 0xf98007fe),
	ON("mrs x0", 0xd53bd040),
	ON("autiasp", 0xd50323bf),
	ON("bti c", 0xd503245f),
	ON("svc #0", 0xd4000001),

	/* branches */
	FORKS("b.eq", 8, 0x54000040),
	FORKS("b.ne -8", -8, 0x54ffffc1),
	FORKS("cbz x0", 8, 0xb4000040),
	FORKS("cbnz x30", 8, 0xb500005e),
	FORKS("tbz w1, #3", 8, 0x36180041),
	FORKS("tbnz x1, #63, -4", -4, 0xb7ffffe1),
	{ "b +16", SFRAME_PATH_JUMP, { .jump = 12 }, { 0x14000004 } },
	{ "b -16", SFRAME_PATH_JUMP, { .jump = -20 }, { 0x17fffffc } },
	{ "add sp; b", SFRAME_PATH_JUMP, { .sp = 32, .jump = 12 }, { 0x910083ff, 0x14000004 } },
	LOST("bl", 0x94000004),
	LOST("blr x1", 0xd63f0020),
	LOST("br x1", 0xd61f0020),
	LOST("br x17", 0xd61f0220),
	LOST("brk", 0xd4200000),
	LOST("hlt", 0xd4400000),
	LOST("udf", 0),
};

static bool is_same(const struct sframe_path *a, const struct sframe_path *b)
{
	return a->sp == b->sp && a->ra_off == b->ra_off && a->fp_off == b->fp_off &&
	       a->jump == b->jump && a->has_ra == b->has_ra && a->has_fp == b->has_fp &&
	       a->is_top == b->is_top;
}

static bool passes(const struct path_case *c)
{
	enum sframe_path_at at = SFRAME_PATH_ON;
	struct sframe_path path = SFRAME_PATH_INIT;
	size_t i;

	for (i = 0; i < MAX_INSNS && at == SFRAME_PATH_ON; i++)
		at = sframe_path_step(&path, (const u8 *)&c->insns[i]);
	return at == c->at && (at == SFRAME_PATH_LOST || is_same(&path, &c->want));
}

/* Branches. */
static const struct {
	const char		*name;
	enum sframe_path_at	at;
	u32			insns[MAX_INSNS];
} routes[] = {
	{ "1: b.ne 1b; ret", SFRAME_PATH_RETURN, { 0x54000001, RET } },
	{ "b.eq 1f; bl; 1: ret", SFRAME_PATH_RETURN, { 0x54000040, 0x94000004, RET } },
	{ "1: b.eq 2f; b 1b; 2: ret", SFRAME_PATH_RETURN, { 0x54000040, 0x17ffffff, RET } },
	{ "b.eq 1f; bl; 1: bl", SFRAME_PATH_LOST, { 0x54000040, 0x94000004, 0x94000004 } },
	{ "1: b 1b", SFRAME_PATH_ON, { 0x14000000 } },
};

/* Follows a route as the module does. */
static bool takes_route(const u32 *insns, enum sframe_path_at want)
{
	enum sframe_path_at at = SFRAME_PATH_ON;
	struct sframe_route route;
	unsigned int i;

	sframe_route_begin(&route, 4);
	for (i = 0; i < 100 && at == SFRAME_PATH_ON; i++) {
		if (route.here.addr / 4 - 1 >= MAX_INSNS)
			return false;
		at = sframe_path_step(&route.here.path,
				      (const u8 *)&insns[route.here.addr / 4 - 1]);
		at = sframe_route_go(&route, at);
	}
	return at == want;
}

int main(void)
{
	bool all_passed = true;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool passed = passes(&cases[i]);

		all_passed &= passed;
		printf("%s %zu - path: %s\n", passed ? "ok" : "not ok", i + 1, cases[i].name);
	}
	for (k = 0; k < ARRAY_SIZE(routes); k++) {
		bool passed = takes_route(routes[k].insns, routes[k].at);

		all_passed &= passed;
		printf("%s %zu - path: %s\n", passed ? "ok" : "not ok", ++i, routes[k].name);
	}
	printf("1..%zu\n", i);
	return !all_passed;
}
