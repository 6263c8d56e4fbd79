// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: it follows frame pointers that a call proves. See walk_scene.h. */
#include "walk_scene.h"

/* b10 is sampled and has no row. Its frame record, at s20, leads to b210. c0 and c40 have rows. */
#define NO_ROW		"fn c0 fp+16 (c-16) (c-8); fn c40 end; at b10 s0 s20; s20=0,b210; "

/* The code of b10, b210 and b310 is not known. Their records lead to c50, which has a row. */
#define CHAIN_SCENE							\
	NO_ROW "call b210 *; call b310 *; call c50 *; "			\
	"s20=s60,b210; s60=sa0,b310; sa0=0,c50; range b habit-unknown; "
#define CHAIN		"walk b10@0 b210@30,fp60 b310@70,fpa0 c50@b0,fp? complete"
#define NO_CHAIN	"walk b10@0 nodata"

/*
 * c84 keeps its CFA in a register that is not known. The code before b210 calls the slot at b400,
 * which is not bound: its word, at b7d0, leads to b410, where the index of the slot is pushed. On
 * x86 the loader leaves a link map, the index and the return address on the stack.
 */
#define BINDING_OF(rules)						\
	"no-fn; fn c80 " rules "; fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44;" \
	"s18=c84; " \
	"put b400 plt b7d0; b7d0=b410; put b410 0x68 7 0 0 0 0xe9; call b210 b400; "
#define BINDING		BINDING_OF("r3+32 u (c-8)")
#define NOT_BOUND	"walk c4@0 c44@10 c84@20 register; "
#define BOUND_AT(cfa)	"walk c4@0 c44@10 c84@20 b210@" cfa " nodata; "

/* b210 has called on another stack: its frame pointer leads to a record further down. */
#define SWITCHED							\
	NO_ROW "other-stack; call b210 c0; call b310 c0; call c1210 c0; "	\
	"s20=o20,b210; o20=o60,b310; o60=0,b310; range b keeps-fp; "
#define ON_OTHER_STACK	"walk b10@0 b210@30,fpo20 b310@o30,fpo60 b310@o70,fp? nodata; "

/* The frame pointer of b10 leads to c10, where the stack pointer is not verified. */
#define DOUBT_OF_SP							\
	"fn c0 sp+32 u (c-8); fn c80 sp+32 u (c-8); fn cc0 end; at b10 s0 s20; s20=s60,c10; " \
	"call c10 *; s48=c90; s68=cc4; "
#define SP_IS_WRONG	"walk b10@0 c10@30,fp60 nodata; "
#define SP_IS_RIGHT							\
	"x86: walk b10@0 c10@30,fp60 c90@50 cc4@70 complete; arm64: " SP_IS_WRONG

/* The walk goes by frame pointer to c10, where SP is unverified, and on to c90. */
#define DOUBT_SCENE(rule)						\
	"no-fn; fn c0 " rule "; fn c40 sp+16 u (c-8); fn c80 sp+32 u (c-8); fn cc0 end;" \
	"at b10 s0 s20; s20=s60,c10; call c10 b0; s38=s70; s60=s110,c90; s88=cc4; "

#define DOUBTED		"b10@0 c10@30,fp60 nodata"
/* After c90 SP is verified: the walk goes on although no call proves the caller. */
#define VINDICATED	"b10@0 c10@30,fp60 c90@70,fp110 cc4@90 complete"

static const struct script_case script_cases[] = {
	{ "chain of proofs",
	  NO_ROW "s20=s60,b210; s60=sa0,c10; sa0=0,c50; call b210 b0; call c10 b200;"
	  "walk b10@0 b210@30,fp60 c10@70,fpa0 c50@b0,fp? complete; frames sframe fp=2" },
	/* Unless the code of the caller keeps records. */
	{ "a call proves nothing if no function of the file has a row",
	  NO_ROW "range b without-data; call b210 b0; step nodata;"
	  "s20=0,c1010; call c1010 b0; step nodata; range c keeps-fp; step c1010@30,fp?" },
	/* b1000 ends the mapping. The callee has as many bytes as a PLT slot, then fewer. */
	{ "code at the ends of its mapping",
	  NO_ROW "s20=0,b1000; call b1000 b0; step b1000@30,fp?; call b1000 bfe8;"
	  "step b1000@30,fp?; call b1000 bffc; step nodata; s20=0,b2; step nodata; s20=0,b0;"
	  "step nodata; x86: put b0 0xe8 0x0b 0 0 0; x86: s20=0,b5; x86: step b5@30,fp?;"
	  "x86: put b0 0x90 0xe8 0x0a 0 0 0; x86: s20=0,b6; x86: step b6@30,fp?;"
	  "arm64: put b0 4 0 0 0x94; arm64: s20=0,b4; arm64: step b4@30,fp?" },
	{ "code that a section covers, without a row; then the section is bad",
	  NO_ROW "at c1010 s0 s20; call b210 c1000; step b210@30,fp?;"
	  "range c bad; call b210 c0; step b210@30,fp?; at c10 s0 s20; step b210@30,fp?" },
	/* A function of another file may have called any number of functions. */
	{ "a call into another file",
	  NO_ROW "call b210 c1000; step b210@30,fp?; range c of-file; step nodata;"
	  "call b210 b0; step b210@30,fp?" },
	/* In turn: another index, no call below, two bindings, a bound slot, endbr64; push. */
	{ "binding: what is on the stack",
	  BINDING NOT_BOUND "sb8=s3000,7,b210; x86: " BOUND_AT("d0")
	  "s68=s3000,8,b210; x86: " BOUND_AT("d0") "s78=b310; s70=7; x86: " BOUND_AT("d0")
	  "s48=s3000,7,b210; x86: " BOUND_AT("60") "arm64: " NOT_BOUND "b7d0=b10; " NOT_BOUND
	  "b7d0=b410; put b410 0xf3 0x0f 0x1e 0xfa 0x68 7 0 0 0; x86: " BOUND_AT("60") },
	{ "binding: only by the loader's row",
	  BINDING_OF("r3+24 u (c-8)") "sb8=s3000,7,b210; " NOT_BOUND
	  BINDING_OF("r3+32 u (c-16)") NOT_BOUND BINDING_OF("r3+32 (c-16) (c-8)") NOT_BOUND
	  BINDING_OF("r12+32 u (c-8)") NOT_BOUND BINDING "x86: " BOUND_AT("d0") },
	/* The search ends 4096 bytes above the stack pointer, or with the stack. */
	{ "binding: how far it is searched",
	  BINDING "s10e8=s3000,7,b210; x86: " BOUND_AT("1100") "s10f0=0; s10f8=s3000,7,b210;"
	  NOT_BOUND "s1100=0; s10=7; call c84 b400; " NOT_BOUND "at c4 s3f80; s3f88=c44;"
	  "s3f98=c84; walk c4@3f80 c44@3f90 c84@3fa0 register; s3fe8=s3000,7,b210;"
	  "x86: walk c4@3f80 c44@3f90 c84@3fa0 b210@4000 nodata;"
	  "arm64: walk c4@3f80 c44@3f90 c84@3fa0 register" },
	/* Each word that may be a return address costs a search of the ranges. */
	{ "binding: the search is paid for",
	  BINDING "fill s48 s1000 16 s0; sff8=s3000,7,b210; x86: " BOUND_AT("1010")
	  "budget 15000; x86: walk c4@0 c44@10 c84@20 budget; arm64: " NOT_BOUND },
	/* In turn: at SP, above it, below it, not aligned, at the end. */
	{ "where the frame pointer leads",
	  NO_ROW "call b210 b0; fill s0 s4000 8 b210;"
	  "at b10 s20 s20; step b210@30,fpb210; at b10 s20 s100; step b210@110,fpb210;"
	  "at b10 s20 s10; step nodata; at b10 s20 s18; step nodata;"
	  "at b10 s20 s1f; step nodata; at b10 s20 s0; step nodata;"
	  "at b10 s20 s101; step nodata; at b10 s20 s104; step nodata;"
	  "at b10 s20 s3ff0; step b210@4000,fpb210; at b10 s20 s3ff8; step nodata;"
	  "at b10 s20 s4000; step nodata" },
	{ "any frame pointer",
	  NO_ROW "call b210 b0; at b10 s0 0; step nodata; at b10 s0 1; step nodata; at b10 s0 16;"
	  "step nodata; at b10 s0 0x7fffffffffffffff; step nodata; at b10 s0 0x8000000000000000;"
	  "step nodata; at b10 s0 -16; step nodata; at b10 s0 -8; step nodata; at b10 s0 -1;"
	  "step nodata" },
	/* Other data. 0x2001 and 0x1001 are after the ends of the code. */
	{ "any return address",
	  NO_ROW "s28=0; step nodata; s28=1; step nodata; s28=s40; step nodata; s28=c2001;"
	  "step nodata; s28=b0; step nodata; s28=b1001; step nodata; s28=0x8000000000000000;"
	  "step nodata; s28=-1; step nodata" },
	/* c20 has a row, c40 is after a call at the end of a function with one, b300 has none. */
	{ "link register: a nearer caller",
	  NO_ROW "call b210 b0; B=signed c20; x86: step b210@30,fp?; arm64: step nodata;"
	  "B=c40; x86: step b210@30,fp?; arm64: step nodata; B=b210; step b210@30,fp?;"
	  "B=b300; step b210@30,fp?; B=1; step b210@30,fp?" },
	/* The called function may have moved the stack pointer. */
	{ "link register: the stack pointer is not verified",
	  "fn c40 sp+16 u (c-8); fn c80 end; range c of-file; at b10 s0; B=c50; call c50 b0;"
	  "s8=c90; call c90 c40; arm64: walk b10@0 c50@0 c90@10 complete; call c90 c44;"
	  "arm64: walk b10@0 c50@0 nodata" },
	/* At the end SP is not aligned; the slot starts a mapping, where no linker puts it. */
	{ "PLT slot: any link register",
	  "fn c0 sp+16 u (c-8); put b400 plt b800; at b400 s0; B=0; arm64: step nodata; B=1;"
	  "arm64: step nodata; B=s40; arm64: step nodata; B=c2001; arm64: step nodata; B=b0;"
	  "arm64: step nodata; B=0x8000000000000000; arm64: step nodata; B=-1; arm64: step nodata;"
	  "B=c20; arm64: step nodata; call c20 b400; arm64: step c20@0; at b400 s8;"
	  "arm64: step nodata; put b0 plt b800; at b0 s0; arm64: step nodata" },
	{ "ret at the ends of its mapping",
	  NO_ROW "call b210 c0; s0=b210; B=b210; x86: put b0 0xc3; x86: at b0 s0; x86: step b210@8;"
	  "x86: put bfff 0xc3; x86: at bfff s0; x86: step b210@8;"
	  "arm64: put b0 0xc0 0x03 0x5f 0xd6; arm64: at b0 s0; arm64: step b210@0;"
	  "arm64: put bffc 0xc0 0x03 0x5f 0xd6; arm64: at bffc s0; arm64: step b210@0" },
	/* It is in memory that no file describes, and a call leads to it. */
	{ "a caller that does nothing but return",
	  "fn c0 sp+16 u (c-8); fn c40 end; at c4 s0; s8=b210; s18=c50; put b210 return;"
	  "walk c4@0 b210@10 nodata; call c50 *; walk c4@0 b210@10 c50@20 complete;"
	  "range b of-file; walk c4@0 b210@10 nodata; range b of-no-file;"
	  "walk c4@0 b210@10 c50@20 complete; range b bad; walk c4@0 b210@10 nodata" },
	{ "such a caller, with a stack pointer that is not verified",
	  NO_ROW "call b210 b0; s38=c50; call c50 *; put b210 return;"
	  "walk b10@0 b210@30,fp? nodata" },
	/* At the end a pop follows, and then the record is below the stack pointer. */
	{ "leave; ret",
	  NO_ROW "s20=s10,b210; put b10 0xc9 0xc3 0xc9 0x5d 0xc3; x86: step nodata;"
	  "call b210 *; x86: step b210@30,fp10; at b12 s0 s20; x86: step nodata;"
	  "at b10 s30 s20; x86: step nodata" },
	{ "a proof needs no next link",
	  NO_ROW "range b keeps-fp; call b210 b0; step b210@30,fp?; frames fp-habit;"
	  "s20=s10,b210; step b210@30,fp10; frames fp" },
	{ "a handler returns to a stub",
	  NO_ROW "range b keeps-fp; s20=s100,b210; step nodata; put b210 stub;"
	  "step b210@30,fp100" },
	/* Its last instruction, and on arm64 its link register, lead to the stub. */
	{ "a handler without a frame",
	  NO_ROW "put b210 stub; call b310 c0; s0=b210; B=b210; s60=0,b310;"
	  "x86: put b620 0x90 0xc3; x86: at b621 s0 s60;"
	  "arm64: put b620 0x1f 0x20 0x03 0xd5 0xc0 0x03 0x5f 0xd6; arm64: at b624 s0 s60;"
	  "range b keeps-fp; x86: step b210@8; arm64: step b210@0;"
	  "range b keeps-no-fp; x86: step b210@8; arm64: step b210@0" },
	/* In the last four, the record leads to itself, into itself, down, or to no record. */
	{ "the next link, where both files keep frame pointers",
	  NO_ROW "range b keeps-fp; call b210 c0; s20=s30,b210; step b210@30,fp30;"
	  "s20=s800; step b210@30,fp800; s20=s20; step nodata; s20=s28; step nodata;"
	  "s20=s10; step nodata; s20=s104; step nodata; s20=s-10000; step nodata" },
	{ "the next link, where the file of the caller does not",
	  NO_ROW "range b keeps-fp; call c1210 c0; s20=s30,c1210; step c1210@30,fp30;"
	  "s20=s20; step c1210@30; s20=s28; step c1210@30,fp28; s20=s10; step c1210@30,fp10;"
	  "s20=s104; step c1210@30,fp104; s20=s-10000; step c1210@30,fp?" },
	/* Functions that have returned leave records just below the stack pointer. */
	{ "a record on another stack",
	  SWITCHED ON_OTHER_STACK "frames fp-habit=3 switches=1; o20=o60,b318; walk b10@0 nodata;"
	  "o20=o60,c1210; walk b10@0 nodata; o20=o10,b310; walk b10@0 nodata; o20=o60,b310;"
	  ON_OTHER_STACK "at b10 s800 s820; s820=s20,b210; s20=0,b310; walk b10@800 nodata" },
	{ "the sampled function may be in the middle of a switch",
	  SWITCHED "at b10 s0 o20; walk b10@0 nodata" },
	/* An interpreter pushes the return address and jumps. The next link must lead to code. */
	{ "a pushed return address",
	  NO_ROW "range b keeps-fp; s20=s60,b210; s60=0,b310; step b210@30,fp60; s60=0,s0;"
	  "step nodata; s60=0,b310; range b of-file; step nodata; range b of-no-file;"
	  "s20=s60,c1210; step nodata" },
	/* Go on arm64: the record of the sampled function is below its stack pointer. */
	{ "low record",
	  NO_ROW "at b10 s100 sf8; call b210 c0; call b310 c0; sf8=s138,b210; s138=0,b310;"
	  "arm64: walk b10@100 nodata; range b keeps-fp;"
	  "arm64: walk b10@100 b210@110,fp138 b310@150,fp? nodata; sf8=sf8;"
	  "arm64: walk b10@100 nodata; sf8=se8; arm64: walk b10@100 nodata; sf0=s138,b210;"
	  "at b10 s100 sf0; arm64: walk b10@100 nodata; se8=s138,b210; at b10 s100 se8;"
	  "arm64: walk b10@100 nodata" },
	/*
	 * str x30, [sp, #-32]!; stur x29, [sp, #-8]; sub x29, sp, #8: x29 is still the caller's.
	 * The direct call of this function proves that x30 has the return address.
	 */
	{ "low record that is not set yet",
	  NO_ROW "range b keeps-fp; call b210 b620; call b310 c0; s138=0,b310; B=b210;"
	  "at b620 s100 s138; put b620 0xfe 0x0f 0x1e 0xf8 0xfd 0x83 0x1f 0xf8 0xfd 0x23 0 0xd1;"
	  "arm64: walk b620@100 b210@100 b310@150,fp? nodata" },
	{ "a later scan may find that the code keeps frame pointers",
	  NO_ROW "call b210 c0; step nodata; range b habit-unknown; step nodata needs-scan;"
	  "range b of-file; step nodata needs-scan" },
	/* Each link in the middle is broken: by its return address, then by its frame pointer. */
	{ "a chain as a whole",
	  CHAIN_SCENE CHAIN " needs-scan; frames fp-habit=3;"
	  "s60=sa0,b318;" NO_CHAIN " needs-scan; s60=sa0,s0;" NO_CHAIN " needs-scan;"
	  "s60=s60,b310;" NO_CHAIN " needs-scan; s60=sa4;" NO_CHAIN " needs-scan;"
	  "s60=s4000;" NO_CHAIN " needs-scan; s60=0;" NO_CHAIN " needs-scan;"
	  /* Code without a row, where other functions have one. */
	  "s60=sa0; sa0=0,c1010; call c1010 *;" NO_CHAIN " needs-scan;"
	  "sa0=0,c50;" CHAIN " needs-scan" },
	/* A chain begins in code that no row describes, and leads through such code only. */
	{ "a chain through a file",
	  CHAIN_SCENE "range b keeps-no-fp;" NO_CHAIN "; range b of-file;" NO_CHAIN ";"
	  "range b without-data;" CHAIN "; at b210 s30 s60; walk b210@30 nodata; range b unnamed;"
	  "walk b210@30 b310@70,fpa0 c50@b0,fp? complete; at c1010 s0 s20; walk c1010@0 nodata;"
	  "range c habit-unknown; walk c1010@0 nodata needs-scan" },
	{ "a chain costs more than the budget",
	  CHAIN_SCENE "budget 2000; walk b10@0 budget needs-scan" },
	/* c90 has a frame record and a row by SP, and only its frame pointer led to it. */
	{ "doubt of a record",
	  "fn c80 sp+32 (c-32) (c-24); fn cc0 end; at b10 s0 s20; s20=s60,c90; call c90 b0;"
	  "s60=s100,cc4; walk b10@0 c90@30,fp60 nodata; range c keeps-fp;"
	  "walk b10@0 c90@30,fp60 nodata; call cc4 c40;"
	  "walk b10@0 c90@30,fp60 cc4@80,fp100 complete;"
	  "s60=s100,s0; walk b10@0 c90@30,fp60 nodata" },
	/* c40 is another function: the call is not the one. Then a word may be a return address. */
	{ "doubt of the stack pointer",
	  DOUBT_OF_SP "walk b10@0 nodata; range b keeps-fp;" SP_IS_WRONG "call c90 *;" SP_IS_RIGHT
	  "call c90 c40;" SP_IS_WRONG "call c90 *; s30=c10;" SP_IS_WRONG "s30=0; s38=c10;"
	  SP_IS_WRONG "s38=0; s40=c10;" SP_IS_WRONG "s40=0; s50=c10;" SP_IS_WRONG "s50=0; s58=c10;"
	  SP_IS_WRONG "s58=0; s60=c10;" SP_IS_WRONG "s60=0;" SP_IS_RIGHT },
	/* Then SP is wrong, and the row is not bad. */
	{ "the stack pointer is not verified, and leads nowhere",
	  DOUBT_SCENE("sp+0 (c-16) (c-8)") "walk " DOUBTED ";"
	  DOUBT_SCENE("sp-16 (c-16) (c-8)") "walk " DOUBTED ";"
	  DOUBT_SCENE("sp+1 (c-16) (c-8)") "walk " DOUBTED ";"
	  DOUBT_SCENE("sp+4 (c-16) (c-8)") "walk " DOUBTED ";"
	  DOUBT_SCENE("sp+16384 (c-16) (c-8)") "walk " DOUBTED ";"
	  DOUBT_SCENE("fp+16 (c-16) (c-8)") "s60=0,s0; walk " DOUBTED "; s60=0,0; walk " DOUBTED },
	/* Records that lead up and down for ever end the walk. */
	{ "to and fro", SWITCHED "o20=s20; callers 9 nodata" },
};

NAMED_CASES(script);

#define FOLLOWED	"b210@30,fp?"

NAMED_CASES(call);

static void expect_call(struct kunit *test, unsigned long func, const char *want)
{
	const struct call_case *c = test->param_value;

	store_call(test, c, bare(test, 0x210), func);
	expect_step(test, c->calls ? want : "nodata", "of 0x%lx", func - code(test, 0));
}

static void fallback_call(struct kunit *test)
{
	run_walk_steps(test, NO_ROW);
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

	run_walk_steps(test, NO_ROW);
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

/* The link register leads to another file. A function's own calls return to its own file. */
static void fallback_link_elsewhere(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	bool is_call = !PUSHED_BY_CALL && (c->calls || c->calls_other);
	const char *alone = PUSHED_BY_CALL ? FOLLOWED : "nodata";

	run_walk_steps(test, NO_ROW "range c of-file; call b210 b0; B=signed c20");
	store_call(test, c, code(test, 0x20), code(test, 0x1000));
	store_call(test, c, code(test, 0x1020), code(test, 0x1000));
	/* c1020 has no row; then the record leads to it, too; then nothing else leads to it. */
	run_walk_steps(test, "step %s; B=c1020; step %s; s20=0,c1020; step %s; s20=0,0; step %s",
		       is_call ? "c20@0" : alone, is_call ? "c1020@0" : alone,
		       is_call ? "c1020@30,fp?" : "nodata", is_call ? "c1020@0" : "nodata");
}

/* The return address is where the call left it: the stack pointer is verified. */
static void fallback_in_plt(struct kunit *test)
{
	char want[64];
	u32 i, off;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	/* The call does not name the slot: it would prove the caller of any code. */
	run_walk_steps(test, "fn c40 sp+16 u (c-8); fn c80 end; call c50 *; s8=c90; s18=c90;"
		       "s20=0,b210; call b210 b0");
	for (i = 0; i < ARRAY_SIZE(plt_cases); i++) {
		const struct plt_case *c = &plt_cases[i];
		u32 end = PLT_CODE;

		while (!c->insns[end / 4 - 1])
			end -= 4;
		store_plt(test, c, bare(test, 0x400), slot_of(c, bare(test, 0x800)));
		for (off = 0; off <= end; off += 4) {
			u32 sp = off < c->at ? 0 : c->pushes;
			/* A slot that begins with other code has its end at the same place. */
			bool is_in = off < end && (c->jumps || (c->at && off >= c->at));

			if (is_in)
				sprintf(want, "c50@%x c90@%x complete", sp, sp + 16);
			run_walk_steps(test, "at b%x s0 s20; B=signed c50; walk b%x@0 %s",
				       0x400 + off, 0x400 + off, is_in ? want : "nodata");
		}
	}
}

/* SP is s30, FP is s60. Each of these rows finds the caller c90, with CFA s70 and FP s110. */
static const struct doubt_case {
	const char	*name;		/* the row */
	bool		doubtful;
} doubt_cases[] = {
	{ "sp+64 (c-16) (c-8)", true }, { "(sp+8) (c-16) (c-8)", true },
	{ "fp+16 (c-16) (sp+56)", true }, { "fp+16 (sp+48) (c-8)", true },
	{ "fp+16 sp+224 (c-8)", true },
	{ "fp+16 (c-16) (c-8)", false }, { "(fp-40) (fp+0) (fp+8)", false },
};

NAMED_CASES(doubt);

static void fallback_doubt(struct kunit *test)
{
	const struct doubt_case *c = test->param_value;
	const char *doubted = c->doubtful ? DOUBTED : VINDICATED;
	u32 i;

	run_walk_steps(test, DOUBT_SCENE("%s") "walk %s", c->name, doubted);
	for (i = 0; i < ARRAY_SIZE(call_cases); i++) {
		const struct call_case *call = &call_cases[i];

		store_call(test, call, code(test, 0x90), code(test, 0));
		expect_walk(test, call->calls ? VINDICATED : doubted, "by %s", call->name);
	}
	/* The call must name exactly this function. */
	run_walk_steps(test, "call c90 c4; walk %s; call c90 c40; walk %s; call c90 b0; walk %s;"
		       "put b400 plt b800; b800=c0; call c90 b400; walk " VINDICATED,
		       doubted, doubted, doubted);
}

NAMED_CASES(sampled);

/* Where a function begins or ends, the instruction tells where the return address is. */
static void fallback_by_code(struct kunit *test)
{
	const struct sampled_case *c = test->param_value;

	user_store(test, bare(test, 0x620), c->code, sizeof(c->code));
	/* These words are not aligned to 16, so that an unaligned CFA would be refused. */
	run_walk_steps(test, NO_ROW "call b210 c0; call b310 c0; call b410 c0; at b%x s0;"
		       "B=signed b210; x86: s0=b210,b310,b410; arm64: s0=b310,b410; step %s",
		       0x620 + c->at, c->want);
	KUNIT_EXPECT_EQ(test, scene_of(test)->walk.nr_frames[SFU_METHOD_FP_HABIT], 0);
	/* Nothing has called: another word of the stack, another use of the register. */
	run_walk_steps(test, "call b210 -; call b310 -; call b410 -; step nodata");
}

/* Nothing proves the frame; the record is followed only if the file keeps frame pointers. */
static void fallback_habit(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	bool is_call = c->calls || c->calls_other || strstarts(c->name, "call");

	/* The called function has a row, if it can be known. */
	store_call(test, c, bare(test, 0x210), code(test, 0));
	/* In the end: the outermost frame may have been called by nothing. */
	run_walk_steps(test, NO_ROW "s20=s100,b210; step nodata; range b keeps-fp;"
		       "step %s; frames %s; s20=0,b210; step " FOLLOWED,
		       is_call ? "b210@30,fp100" : "nodata", is_call ? "fp-habit" : "");
}

static u32 walk_at_once(struct walk_scene *scene, u64 *ips, u32 nr_ips)
{
	u32 nr = 0;

	begin_walk(scene);
	while (!scene->stop && nr < nr_ips)
		nr += next_frames(scene, ips + nr, nr_ips - nr);
	return nr;
}

/* perf takes 127 frames, and the kernel's own walk finds them: the budget is enough. */
static void fallback_habit_deep(struct kunit *test)
{
	const struct call_case *calls[] = { plain_call(), by_pointer() };
	u32 i, k, nr;
	u64 ips[127];

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		run_walk_steps(test, NO_ROW "range b keeps-fp");
		store_call(test, calls[i], bare(test, 0x210), bare(test, 0));
		for (k = 1; k <= 126; k++)
			record(test, 0x20 * k, k < 126 ? stack(test, 0x20 * (k + 1)) : 0,
			       bare(test, 0x210));
		nr = walk_at_once(scene_of(test), ips, ARRAY_SIZE(ips));
		KUNIT_EXPECT_EQ_MSG(test, nr, 126, "%s", calls[i]->name);
		KUNIT_EXPECT_EQ(test, scene_of(test)->stop, SFU_STOP_NODATA);
	}
}

/* The sampled code may make the first caller's SP certain. Later ones follow from FP. */
static void fallback_habit_doubts_sp(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 ips[4];

	run_walk_steps(test, NO_ROW "range b keeps-fp; call b210 *; s20=s40,b210; s40=s60,b210");
	begin_walk(scene);
	KUNIT_ASSERT_EQ(test, 1, next_frames(scene, ips, 1));
	scene->walk.frame.sp_unverified = false;
	KUNIT_EXPECT_EQ(test, 1, sfu_chain_follow(&scene->walk, ips, 1));
	KUNIT_EXPECT_TRUE(test, scene->walk.frame.sp_unverified);
}

static void fallback_remembers_no_row(struct kunit *test)
{
	run_walk_steps(test, NO_ROW "at c800 s0; walk c800@0 nodata");
	KUNIT_EXPECT_EQ(test, scene_of(test)->walk.lookup.nr_missed, !scene_of(test)->shows_cache);
}

static void fallback_chain_to_start(struct kunit *test)
{
	const struct start_case *c = start_cases;

	while (c->start != CALLS_THREAD)
		c++;
	run_walk_steps(test, CHAIN_SCENE "sa0=0,b510");
	user_store(test, bare(test, 0x510) - START_BEFORE, c->code, sizeof(c->code));
	expect_walk(test, "b10@0 b210@30,fp60 b310@70,fpa0 b510@b0,fp? start needs-scan");
}

/* So many frames are enough by themselves. */
static void fallback_chain_long(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 ips[130];
	u32 nr, i;

	run_walk_steps(test, CHAIN_SCENE);
	for (nr = 127; nr >= 126; nr--) {
		for (i = 1; i <= nr; i++)
			record(test, 0x20 * i, i < nr ? stack(test, 0x20 * (i + 1)) : 0,
			       bare(test, i % 2 ? 0x210 : 0x310));
		KUNIT_EXPECT_EQ(test, nr == 127 ? 127 : 0,
				walk_at_once(scene, ips, ARRAY_SIZE(ips)));
	}
}

struct kunit_case walk_fallback_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE_PARAM(fallback_call, call_gen_params),
	KUNIT_CASE_PARAM(fallback_plt, plt_gen_params),
	KUNIT_CASE_PARAM(fallback_link_elsewhere, call_gen_params),
	KUNIT_CASE(fallback_in_plt),
	KUNIT_CASE_PARAM(fallback_doubt, doubt_gen_params),
	KUNIT_CASE_PARAM(fallback_by_code, sampled_gen_params),
	KUNIT_CASE_PARAM(fallback_habit, call_gen_params),
	KUNIT_CASE(fallback_habit_deep),
	KUNIT_CASE(fallback_habit_doubts_sp),
	KUNIT_CASE(fallback_remembers_no_row),
	KUNIT_CASE(fallback_chain_to_start),
	KUNIT_CASE(fallback_chain_long),
	{}
};
