// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk, sframe_walk.c: one suite per promise.
 *
 * Section, code and stack lie in real mappings, all followed by nothing; the
 * process map and the registers are the test's. What is expected is a text,
 * written out from the specification and the ABI: the frames, and why there are
 * no more of them.
 *
 *	c40@10,fp80	in the code with a section, at 0x40; the stack pointer
 *			is 0x10 into the stack, the frame pointer, unlike that
 *			of the frame before, 0x80
 *	b10@30		in the code without one
 *	lacking		learning the process again might help
 *
 * Facts of the architecture are in arch/.../walk_facts.h.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/uprobes.h>

#include "counters.h"
#include "section_builder.h"
#include "sframe_cache.h"
#include "sframe_map.h"
#include "sframe_walk.h"
#include "user_memory.h"
#include "walk_facts.h"

#define CODE_SIZE	(2 * PAGE_SIZE)
#define BARE_SIZE	PAGE_SIZE
#define STACK_SIZE	(4 * PAGE_SIZE)

#define WALK_TEXT	1024
#define MAX_FRAMES	40		/* in a text */

typedef int read_fn(struct sframe_reader *rd, void *dst, u64 addr, u32 len);

/**
 * struct bench - what a test works with
 * @walk: the walk
 * @regs: the sampled frame
 * @may_fault: how to walk
 * @code: address of the code with a section, CODE_SIZE bytes
 * @bare: address of the code without, BARE_SIZE bytes, somewhere above
 * @section: address of the section
 * @stack: address of the stack, STACK_SIZE bytes
 * @map: both pieces of code
 * @b: to build in
 * @random: of a fixed seed
 * @read: what @walk reads with, where the test has put itself between
 * @calls: of it
 * @fail_at: the call that fails; 1 is the first
 * @section_size: how much counts as the section's
 * @of_section: what was read of it
 * @of_frames: what was read elsewhere
 * @text: of a walk
 * @len: its bytes
 * @utask: uretprobes that are pending
 */
struct bench {
	struct sfu_walk		walk;
	struct pt_regs		regs;
	bool			may_fault;
	unsigned long		code;
	unsigned long		bare;
	unsigned long		section;
	unsigned long		stack;
	struct sfu_map		*map;
	struct build		b;
	struct rnd_state	random;
	read_fn			*read;
	u32			calls;
	u32			fail_at;
	u32			section_size;
	struct tally {
		u32		reads;
		u32		bytes;
	} of_section, of_frames;
	char			text[WALK_TEXT];
	size_t			len;
#ifdef CONFIG_UPROBES
	struct uprobe_task	utask;
#endif
};

/* ---- the scene ---- */

static unsigned long map_present(struct kunit *test, u32 nr)
{
	unsigned long addr = user_map(test, nr);

	KUNIT_ASSERT_EQ(test, 0, clear_user((void __user *)addr, nr * PAGE_SIZE));
	return addr;
}

static int bench_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	struct sfu_region *regions;

	if (PAGE_SIZE != 4096)
		kunit_skip(test, "what is expected has pages of 4096 bytes");
	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->map = kunit_kzalloc(test, struct_size(bench->map, regions, 2),
				   GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench->map);
	bench->map->nr_regions = 2;
	regions = bench->map->regions;

	bench->code = map_present(test, 4);
	bench->bare = bench->code + CODE_SIZE + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(bench->code + CODE_SIZE, PAGE_SIZE));
	bench->section = map_present(test, 1);
	bench->stack = map_present(test, STACK_SIZE / PAGE_SIZE);

	regions[0].start = bench->code;
	regions[0].end = bench->code + CODE_SIZE;
	regions[1].start = bench->bare;
	regions[1].end = bench->bare + BARE_SIZE;
	prandom_seed_state(&bench->random, 5);
	build_start(&bench->b, 3, 0, ABI);
	test->priv = bench;
	return 0;
}

static void use_cache(struct kunit *test)
{
	struct sfu_map *map = ((struct bench *)test->priv)->map;

	map->cache = sfu_cache_alloc();
	KUNIT_ASSERT_NOT_NULL(test, map->cache);
	map->regions[0].key = PAGE_SIZE;
	map->regions[1].key = PAGE_SIZE + CODE_SIZE;
}

static int bench_init_cached(struct kunit *test)
{
	int err = bench_init(test);

	if (!err)
		use_cache(test);
	return err;
}

static void bench_exit_cached(struct kunit *test)
{
	struct bench *bench = test->priv;

	if (bench)
		sfu_cache_free(bench->map->cache);
}

static unsigned long code(struct kunit *test, u32 off)
{
	return ((struct bench *)test->priv)->code + off;
}

static unsigned long bare(struct kunit *test, u32 off)
{
	return ((struct bench *)test->priv)->bare + off;
}

static unsigned long stack(struct kunit *test, u32 off)
{
	return ((struct bench *)test->priv)->stack + off;
}

static void store_word(struct kunit *test, unsigned long addr, u64 value)
{
	user_store(test, addr, &value, sizeof(value));
}

/* A word of the stack. */
static void word(struct kunit *test, u32 off, u64 value)
{
	store_word(test, stack(test, off), value);
}

/* A frame record, as the frame pointer points to. */
static void record(struct kunit *test, u32 off, unsigned long fp,
		   unsigned long ra)
{
	word(test, off, fp);
	word(test, off + 8, ra);
}

/* The sampled frame. */
static void sample(struct kunit *test, unsigned long ip, unsigned long sp,
		   unsigned long fp)
{
	struct bench *bench = test->priv;

	instruction_pointer_set(&bench->regs, ip);
	set_register(&bench->regs, R_SP, sp);
	set_register(&bench->regs, R_FP, fp);
}

/* Another function, 64 bytes at @off in the code. Rows follow. */
static struct build *function(struct kunit *test, u32 off, u8 info, u8 type)
{
	struct bench *bench = test->priv;

	build_fde(&bench->b, bench->code + off - bench->section, 64,
		  ADDR1 | info, type, 0);
	return &bench->b;
}

static void flex_row(struct build *b, u32 start, u32 cfa, u32 ra, u32 fp)
{
	const u32 rules[] = { cfa, ra, fp };
	s32 words[6];
	u32 i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(rules) && rules[i]; i++) {
		words[nr++] = rules[i] >> 16;
		if (rules[i] != LEFT_OUT)
			words[nr++] = (s16)rules[i];
	}
	build_words(b, start, 0x20 | nr << 1, words, nr);
}

static void flex_function(struct kunit *test, u32 off, u32 cfa, u32 ra, u32 fp)
{
	flex_row(function(test, off, 0, FLEX), 0, cfa, ra, fp);
}

/* CFA = SP + @size, the return address below it. */
static void sp_function(struct kunit *test, u32 off, u32 size)
{
	flex_function(test, off, AT_REG(R_SP, size), IN_CFA(-8), 0);
}

/* CFA = FP + 16, below it the return address and the caller's FP. */
static void fp_function(struct kunit *test, u32 off)
{
	flex_function(test, off, AT_REG(R_FP, 16), IN_CFA(-8), IN_CFA(-16));
}

static void outermost_function(struct kunit *test, u32 off)
{
	build_row(function(test, off, 0, FLEX), 0, 0x01);
}

static struct sfu_region *covered(struct kunit *test)
{
	return &((struct bench *)test->priv)->map->regions[0];
}

static int read_user(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

/* What has been built is the section of the code from now on. */
static void learn(struct kunit *test)
{
	struct sframe_reader rd = { .read = read_user, .budget = U32_MAX };
	struct sfu_region *region = covered(test);
	struct bench *bench = test->priv;

	build_finish(&bench->b);
	/* As what is mapped anew. */
	if (region->key)
		region->key += CODE_SIZE + BARE_SIZE;
	user_store(test, bench->section, bench->b.bytes, bench->b.len);
	KUNIT_ASSERT_EQ(test, 0, sframe_section_init(&region->sec, &rd,
						     bench->section, bench->b.len));
	atomic_set(&region->state, SFU_REGION_COVERED);
}

/* What was built is forgotten. */
static void build_again(struct kunit *test)
{
	struct bench *bench = test->priv;

	build_start(&bench->b, 3, 0, ABI);
}

/* ---- the text of a walk ---- */

static __printf(2, 3) void append(struct bench *bench, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bench->len += vscnprintf(bench->text + bench->len, WALK_TEXT - bench->len,
				 format, args);
	va_end(args);
}

/* @on_stack goes ahead of what is no code. */
static void append_value(struct bench *bench, const char *on_stack,
			 unsigned long value)
{
	if (value - bench->code <= CODE_SIZE)
		append(bench, "c%lx", value - bench->code);
	else if (value - bench->bare <= BARE_SIZE)
		append(bench, "b%lx", value - bench->bare);
	else if (value - bench->stack <= STACK_SIZE)
		append(bench, "%s%lx", on_stack, value - bench->stack);
	else
		append(bench, "%s?", on_stack);
}

static void append_frame(struct bench *bench, unsigned long last_fp)
{
	const struct sfu_frame *frame = &bench->walk.frame;

	append_value(bench, "", frame->ip);
	append_value(bench, "@", frame->sp);
	if (frame->fp == last_fp)
		return;
	append(bench, ",fp");
	append_value(bench, "", frame->fp);
}

static void append_stop(struct bench *bench)
{
	append(bench, "%s%s", sfu_stop_names[bench->walk.stop],
	       bench->walk.lacking ? " lacking" : "");
}

/* From the sampled frame. What is in the cache is of the very same walk. */
static void begin(struct bench *bench)
{
	u64 ips[16];

	if (bench->map && bench->map->cache) {
		sfu_walk_init(&bench->walk, bench->map, &bench->regs, bench->may_fault);
		while (sfu_walk_callers(&bench->walk, ips, ARRAY_SIZE(ips)))
			;
	}
	sfu_walk_init(&bench->walk, bench->map, &bench->regs, bench->may_fault);
	bench->len = 0;
	bench->text[0] = '\0';
}

/* The walk that has begun reads by this function, which may read by bench.read. */
static void read_by(struct bench *bench, read_fn *read)
{
	bench->read = bench->walk.rd.read;
	bench->walk.rd.read = read;
	bench->calls = 0;
}

/* A step that fails changes nothing. */
static bool next(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct sfu_walk last = bench->walk;
	u64 ip;

	if (sfu_walk_callers(&bench->walk, &ip, 1)) {
		KUNIT_EXPECT_EQ(test, ip, bench->walk.frame.ip);
		return true;
	}
	KUNIT_EXPECT_MEMEQ(test, &bench->walk.frame, &last.frame,
			   sizeof(last.frame));
	KUNIT_EXPECT_MEMEQ(test, bench->walk.nr_frames, last.nr_frames,
			   sizeof(last.nr_frames));
	return false;
}

static void append_step(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned long fp = bench->walk.frame.fp;

	if (next(test))
		append_frame(bench, fp);
	else
		append_stop(bench);
}

static const char *last_text(struct kunit *test)
{
	return ((struct bench *)test->priv)->text;
}

/* One step, from the sampled frame. */
static const char *step_text(struct kunit *test)
{
	begin(test->priv);
	append_step(test);
	return last_text(test);
}

/* The step behind that. */
static const char *second_step_text(struct kunit *test)
{
	begin(test->priv);
	KUNIT_EXPECT_TRUE(test, next(test));
	append_step(test);
	return last_text(test);
}

/* From where we are. */
static void append_walk(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned long fp = bench->walk.frame.fp;
	u32 nr;

	append_frame(bench, fp);
	for (nr = 1; nr < MAX_FRAMES && next(test); nr++) {
		append(bench, " ");
		append_frame(bench, fp);
		fp = bench->walk.frame.fp;
	}
	append(bench, " ");
	append_stop(bench);
}

static const char *walk_text(struct kunit *test)
{
	begin(test->priv);
	append_walk(test);
	return last_text(test);
}

/* What follows, if anything, says in which case. */
#define expect_text(test, text, want, ...)				\
do {									\
	struct kunit *of = (test);					\
									\
	KUNIT_EXPECT_STREQ_MSG(of, text(of), want, " " __VA_ARGS__);	\
} while (0)

#define expect_walk(test, want, ...)					\
	expect_text(test, walk_text, want, ##__VA_ARGS__)
#define expect_step(test, want, ...)					\
	expect_text(test, step_text, want, ##__VA_ARGS__)
#define expect_second_step(test, want, ...)				\
	expect_text(test, second_step_text, want, ##__VA_ARGS__)
#define expect_end(test, want, ...)					\
	expect_text(test, last_text, want, ##__VA_ARGS__)

/* To the end: the callers found. */
static u32 count_callers(struct kunit *test)
{
	u32 nr = 0;

	begin(test->priv);
	while (next(test))
		nr++;
	append_stop(test->priv);
	return nr;
}

#define CASE_NAME(which)						\
	static void which##_desc(const struct which##_case *c, char *desc) \
	{								\
		strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);		\
	}

CASE_NAME(rule)
CASE_NAME(ra)
CASE_NAME(call)
CASE_NAME(plt)

/* ---- sframe_walk_step: what a row says is what is done ---- */

/*
 * The scene: SP 0x20 into the stack, FP 0x60, register A 0x40; register B is a
 * code address. Each word of the stack names a place in the code by the word's
 * offset, but 8 of them are addresses of the stack.
 */
static const struct rule_case flex_rows[] = {
	/* CFA */
	{ "CFA sp+16", FLEXIBLE, { AT_REG(R_SP, 16), IN_CFA(-8) }, "c828@30" },
	{ "CFA sp+0", FLEXIBLE, { AT_REG(R_SP, 0), IN_CFA(8) }, "c828@20", "bad-cfa" },
	{ "CFA sp-16", FLEXIBLE, { AT_REG(R_SP, -16), IN_CFA(40) }, "bad-cfa" },
	{ "CFA fp+16", FLEXIBLE, { AT_REG(R_FP, 16), IN_CFA(-8) }, "c868@70" },
	{ "CFA fp-80", FLEXIBLE, { AT_REG(R_FP, -80), IN_CFA(40) }, "bad-cfa" },
	{ "CFA A+16", FLEXIBLE, { AT_REG(R_A, 16), IN_CFA(-8) }, "c848@50", "register" },
	{ "CFA *(sp+96)", FLEXIBLE, { IN_REG(R_SP, 96), IN_CFA(-8) }, "c8f8@100" },
	{ "CFA *(fp+40)", FLEXIBLE, { IN_REG(R_FP, 40), IN_CFA(-8) }, "c908@110" },
	{ "CFA *(A+80)", FLEXIBLE, { IN_REG(R_A, 80), IN_CFA(-8) }, "c918@120", "register" },
	/* RA */
	{ "RA *(c+8)", FLEXIBLE, { AT_REG(R_SP, 16), IN_CFA(8) }, "c838@30" },
	{ "RA *(c-16), at SP", FLEXIBLE, { AT_REG(R_SP, 16), IN_CFA(-16) }, "c820@30" },
	{ "RA *(c-24), below SP", FLEXIBLE, { AT_REG(R_SP, 16), IN_CFA(-24) }, "bad-cfa" },
	{ "RA c+0", FLEXIBLE, { AT_REG(R_SP, 16), AT_CFA(0) }, "bad-ra lacking" },
	{ "RA B+16", FLEXIBLE, { AT_REG(R_SP, 16), AT_REG(R_B, 16) }, "ca10@30", "register" },
	{ "RA B-1", FLEXIBLE, { AT_REG(R_SP, 16), AT_REG(R_B, -1) }, "c9ff@30", "register" },
	{ "RA *(A+8)", FLEXIBLE, { AT_REG(R_SP, 16), IN_REG(R_A, 8) }, "c848@30", "register" },
	{ "RA *(sp+8)", FLEXIBLE, { AT_REG(R_SP, 16), IN_REG(R_SP, 8) }, "c828@30" },
	{ "RA *(fp+8)", FLEXIBLE, { AT_REG(R_SP, 16), IN_REG(R_FP, 8) }, "c868@30" },
	/* FP */
	{ "FP unchanged", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32) }, "c870@90" },
	{ "FP left out", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), LEFT_OUT }, "c870@90" },
	{ "FP *(c-16)", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_CFA(-16) },
	  "c870@90,fp100" },
	{ "FP c+16", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), AT_CFA(16) },
	  "c870@90,fpa0" },
	{ "FP A+8", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), AT_REG(R_A, 8) },
	  "c870@90,fp48", "register" },
	{ "FP *(A+64)", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_A, 64) },
	  "c870@90,fp100", "register" },
	{ "FP *(A+128), not in the frame",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_A, 128) },
	  "c870@90,fpc8c0", "register" },
	{ "FP sp+8", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), AT_REG(R_SP, 8) },
	  "c870@90,fp28" },
	{ "FP *(sp+96)", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_SP, 96) },
	  "c870@90,fp100" },
	{ "FP *(sp+160), not in the frame",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_SP, 160) },
	  "c870@90,fpc8c0" },
	{ "FP fp+16", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), AT_REG(R_FP, 16) },
	  "c870@90,fp70" },
	{ "FP fp+160", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), AT_REG(R_FP, 160) },
	  "c870@90,fp100" },
	{ "FP *(fp+32)", FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_FP, 32) },
	  "c870@90,fp100" },
	/* A slot that is not in the frame has been popped: FP is the caller's. */
	{ "FP *(fp+40), below CFA",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_FP, 40) }, "c870@90,fp110" },
	{ "FP *(fp+48), at CFA",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_FP, 48) }, "c870@90" },
	{ "FP *(fp-64), at SP",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_FP, -64) }, "c870@90,fpc820" },
	{ "FP *(fp-72), below SP",
	  FLEXIBLE, { AT_REG(R_SP, 112), IN_CFA(-32), IN_REG(R_FP, -72) }, "c870@90" },
	/* All rules hold in the frame, not in its caller. */
	{ "CFA fp+48, FP *(fp+32)",
	  FLEXIBLE, { AT_REG(R_FP, 48), IN_REG(R_FP, 16), IN_REG(R_FP, 32) },
	  "c870@90,fp100" },
};

KUNIT_ARRAY_PARAM(flex_row, flex_rows, rule_desc);
KUNIT_ARRAY_PARAM(default_row, default_rows, rule_desc);

static void row_scene(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	u32 off;

	if (c->info == FLEXIBLE)
		flex_function(test, 0, c->rules[0], c->rules[1], c->rules[2]);
	else
		build_words(function(test, 0, 0, 0), 0, c->info, (const s32 *)c->rules,
			    SFRAME_FRE_NR_WORDS(c->info));
	for (off = 0; off < 0x200; off += 8)
		word(test, off, code(test, 0x800 + off));
	for (off = 0; off < 8; off++)
		word(test, 0x80 + 8 * off, stack(test, 0x100 + 16 * off));
}

static void step_row_sampled(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct bench *bench = test->priv;

	row_scene(test);
	learn(test);
	sample(test, code(test, 0x10), stack(test, 0x20), stack(test, 0x60));
	set_register(&bench->regs, R_A, stack(test, 0x40));
	set_register(&bench->regs, R_B, SIGN(code(test, 0xa00)));
	expect_step(test, c->want);
}

/* All registers are in the context that the kernel saved. */
static void step_row_behind_signal(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	u32 at = 0x1000;

	row_scene(test);
	learn(test);
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, bare(test, 0x100), stack(test, at), 0);
	word(test, at + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, at + CONTEXT_IP, code(test, 0x10));
	word(test, at + context_register(R_SP), stack(test, 0x20));
	word(test, at + context_register(R_FP), stack(test, 0x60));
	word(test, at + context_register(R_A), stack(test, 0x40));
	word(test, at + context_register(R_B), SIGN(code(test, 0xa00)));
	expect_second_step(test, c->want);
}

/* SP and FP are known, and nothing else. */
static void step_row_in_caller(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct bench *bench = test->priv;

	row_scene(test);
	sp_function(test, 0x40, 16);
	learn(test);
	sample(test, code(test, 0x50), stack(test, 0x10), stack(test, 0x60));
	set_register(&bench->regs, R_A, stack(test, 0x40));
	set_register(&bench->regs, R_B, SIGN(code(test, 0xa00)));
	word(test, 0x18, code(test, 0x10));
	expect_second_step(test, c->in_caller ?: c->want);
}

/* Each register that has a number, in the sampled frame and behind a signal. */
static void step_every_register(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 at = 0x1000, i;
	char want[16];

	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	word(test, at + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, at + CONTEXT_IP, code(test, 0x10));
	for (i = 0; i < NR_REGS; i++) {
		if (i == R_SP)
			continue;
		set_register(&bench->regs, i, code(test, 0x800 + 4 * i));
		word(test, at + context_register(i), code(test, 0xc00 + 4 * i));
	}
	word(test, at + context_register(R_SP), stack(test, 0x20));
	for (i = 0; i < NR_REGS; i++) {
		if (i == R_SP)
			continue;
		build_again(test);
		flex_function(test, 0, AT_REG(R_SP, 16), AT_REG(i, 1), 0);
		learn(test);
		instruction_pointer_set(&bench->regs, code(test, 0x10));
		set_register(&bench->regs, R_SP, stack(test, 0x20));
		scnprintf(want, sizeof(want), "c%x@30", 0x801 + 4 * i);
		expect_step(test, want, "register %u", i);

		instruction_pointer_set(&bench->regs, bare(test, 0x100));
		set_register(&bench->regs, R_SP, stack(test, at));
		scnprintf(want, sizeof(want), "c%x@30", 0xc01 + 4 * i);
		expect_second_step(test, want, "register %u", i);
	}
}

/* Rows at 0, 1 and 4 of a function: in a caller, each holds one byte longer. */
static void step_every_address(struct kunit *test)
{
	struct build *b;
	u32 off;

	sp_function(test, 0x40, 16);
	b = function(test, 0x80, 0, FLEX);
	flex_row(b, 0, AT_REG(R_SP, 16), IN_CFA(-8), 0);
	flex_row(b, 1, AT_REG(R_SP, 32), IN_CFA(-8), 0);
	flex_row(b, 4, AT_REG(R_SP, 48), IN_CFA(-8), 0);
	sp_function(test, 0xc0, 64);
	learn(test);
	for (off = 0; off < 0x100; off += 16)
		word(test, off + 8, code(test, 0x800));

	for (off = 0x80; off < 0xc0; off++) {
		sample(test, code(test, off), stack(test, 0), 0);
		expect_step(test, off == 0x80 ? "c800@10" :
			    off < 0x84 ? "c800@20" : "c800@30", "at 0x%x", off);
	}
	sample(test, code(test, 0x44), stack(test, 0), 0);
	for (off = 0x81; off <= 0xc0; off++) {
		word(test, 8, code(test, off));
		expect_second_step(test, off == 0x81 ? "c800@20" :
				   off < 0x85 ? "c800@30" : "c800@40",
				   "to 0x%x", off);
	}
}

/* A call may be the last instruction of its function. */
static void step_call_is_last(struct kunit *test)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 32);
	outermost_function(test, 0x80);
	learn(test);
	sample(test, code(test, 0x44), stack(test, 0), 0);
	word(test, 0x18, code(test, 0x40));
	word(test, 0x28, code(test, 0x84));
	expect_walk(test, "c44@0 c40@20 c84@30 complete");
}

/* Where it is sampled an instruction is what it is, the first one too. */
static void step_sampled_at_first(struct kunit *test)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 32);
	outermost_function(test, 0x80);
	learn(test);
	sample(test, code(test, 0x40), stack(test, 0), 0);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c40@0 c84@20 complete");
}

static void step_at_ends_of_mapping(struct kunit *test)
{
	sp_function(test, 0, 16);
	sp_function(test, CODE_SIZE - 64, 16);
	learn(test);
	word(test, 0x08, code(test, CODE_SIZE));
	word(test, 0x18, code(test, 1));
	word(test, 0x28, code(test, 0));
	sample(test, code(test, 0), stack(test, 0), 0);
	expect_walk(test, "c0@0 c2000@10 c1@20 bad-ra lacking");
	sample(test, code(test, CODE_SIZE), stack(test, 0), 0);
	expect_walk(test, "c2000@0 unlearned lacking");
	sample(test, code(test, -1), stack(test, 0), 0);
	expect_step(test, "unlearned lacking");
}

/* CFA and RA are found, FP is not: no step. */
static void step_commits_whole(struct kunit *test)
{
	struct bench *bench = test->priv;

	flex_function(test, 0, AT_REG(R_SP, 16), IN_CFA(-8), IN_REG(R_A, 0));
	learn(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	word(test, 8, code(test, 4));
	set_register(&bench->regs, R_A, stack(test, STACK_SIZE));
	expect_walk(test, "c4@0 stack-fault");
	set_register(&bench->regs, R_A, stack(test, 0x20));
	word(test, 0x20, stack(test, 0x30));
	expect_walk(test, "c4@0 c4@10,fp30 register");
}

KUNIT_ARRAY_PARAM(ra, ra_cases, ra_desc);

/* Whether or not the row says that it is signed. */
static void step_ra(struct kunit *test)
{
	const struct ra_case *c = test->param_value;
	const char *want = c->valid ? "c84@10" : "bad-ra lacking";
	static const u8 keys[] = { 0, KEY_B };
	struct bench *bench = test->priv;
	u32 i;

	for (i = 0; i < 4; i++) {
		build_again(test);
		flex_row(function(test, 0, keys[i / 2], FLEX), 0,
			 AT_REG(R_SP, 16), IN_CFA(-8), 0);
		flex_row(function(test, 0x40, keys[i / 2], FLEX), 0,
			 AT_REG(R_SP, 16), AT_REG(R_B, 0), 0);
		/* An attribute of 5 bytes, start 1, info 1, words 8. */
		bench->b.fres[6] |= (i % 2) << 7;
		bench->b.fres[21] |= (i % 2) << 7;
		learn(test);
		sample(test, code(test, 4), stack(test, 0), 0);
		word(test, 8, code(test, 0x84) ^ c->bits);
		expect_step(test, want, "in memory, %u", i);

		sample(test, code(test, 0x44), stack(test, 0), 0);
		set_register(&bench->regs, R_B, code(test, 0x84) ^ c->bits);
		expect_step(test, want, "in a register, %u", i);
	}
}

/* By the processor, with both keys, as user code signs. */
static void step_ra_signed(struct kunit *test)
{
	u32 i, nr_signed[2] = {};

	if (!signs())
		kunit_skip(test, "return addresses are not signed here");
	sp_function(test, 0, 16);
	learn(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	for (i = 0; i < 256; i++) {
		bool key_b = i % 2;
		unsigned long ra = sign(code(test, 0x84), stack(test, 8 * i), key_b);

		nr_signed[key_b] += ra != code(test, 0x84);
		word(test, 8, ra);
		expect_step(test, "c84@10", "0x%lx", ra);
	}
	KUNIT_EXPECT_GT(test, nr_signed[0], 0);
	kunit_info(test, "signed: %u with key A, %u with key B", nr_signed[0],
		   nr_signed[1]);
}

static struct kunit_case step_tests[] = {
	KUNIT_CASE_PARAM(step_row_sampled, flex_row_gen_params),
	KUNIT_CASE_PARAM(step_row_behind_signal, flex_row_gen_params),
	KUNIT_CASE_PARAM(step_row_in_caller, flex_row_gen_params),
	KUNIT_CASE_PARAM(step_row_sampled, default_row_gen_params),
	KUNIT_CASE_PARAM(step_row_behind_signal, default_row_gen_params),
	KUNIT_CASE_PARAM(step_row_in_caller, default_row_gen_params),
	KUNIT_CASE(step_every_register),
	KUNIT_CASE(step_every_address),
	KUNIT_CASE(step_call_is_last),
	KUNIT_CASE(step_sampled_at_first),
	KUNIT_CASE(step_at_ends_of_mapping),
	KUNIT_CASE(step_commits_whole),
	KUNIT_CASE_PARAM(step_ra, ra_gen_params),
	KUNIT_CASE(step_ra_signed),
	{}
};

/* ---- sframe_walk_progress: up the stack, to its end ---- */

/* The rules of @off bytes around SP, in the sampled frame and in a caller. */
static void progress_every_offset(struct kunit *test)
{
	char want[16];
	s32 off;

	for (off = -40; off <= 40; off++) {
		bool aligned = off % CFA_ALIGN == 0;

		build_again(test);
		flex_function(test, 0, AT_REG(R_SP, off), IN_REG(R_SP, 8), 0);
		flex_function(test, 0x40, AT_REG(R_SP, 64), IN_REG(R_SP, 8), 0);
		learn(test);
		word(test, 0x08, code(test, 4));
		word(test, 0x48, code(test, 0x84));

		sample(test, code(test, 4), stack(test, 0x40), 0);
		scnprintf(want, sizeof(want), "c84@%x", 0x40 + off);
		expect_step(test, off >= 0 && aligned ? want : "bad-cfa",
			    "sampled, sp%+d", off);

		sample(test, code(test, 0x44), stack(test, 0), 0);
		expect_second_step(test, off > 0 && aligned ? want : "bad-cfa",
				   "in a caller, sp%+d", off);
	}
}

struct wrap_case {
	const char	*name;
	unsigned long	sp;
	s32		off;
	const char	*want;
};

static const struct wrap_case wrap_cases[] = {
	{ "from the top to 0", -16UL, 16, "bad-cfa" },
	{ "from the top to 16", -16UL, 32, "bad-cfa" },
	{ "from the top to 16 less", -16UL, -16, "bad-cfa" },
	{ "from 0 to the top", 0, -16, "stack-fault" },
	{ "from 0 to 16", 0, 16, "stack-fault" },
	/* What lies below 0 is at the top; what lies below the top is not pushed. */
	{ "at 0", 0, 0, "stack-fault" },
	{ "at the top", -16UL, 0, "bad-cfa" },
	{ "below the top", -32UL, 16, "stack-fault" },
	{ "to the upper half", LONG_MAX - 15, 16, "stack-fault" },
	{ "in the upper half", LONG_MIN, 16, "stack-fault" },
	{ "not aligned at the top", ULONG_MAX, 1, "bad-cfa" },
	{ "not aligned at 0", 0, -1, "bad-cfa" },
};

CASE_NAME(wrap)
KUNIT_ARRAY_PARAM(wrap, wrap_cases, wrap_desc);

static void progress_wraps(struct kunit *test)
{
	const struct wrap_case *c = test->param_value;

	flex_function(test, 0, AT_REG(R_SP, c->off), IN_CFA(-8), 0);
	learn(test);
	sample(test, code(test, 4), c->sp, 0);
	expect_step(test, c->want);
}

/* A function that calls itself @nr times. */
static void recursion(struct kunit *test, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		word(test, 16 * i + 8, code(test, 4));
	sample(test, code(test, 4), stack(test, 0), 0);
}

static const u32 depths[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 40, 126, 127, 128, 255, 511, 1022, 1023,
};

static void progress_every_depth(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 i, nr;

	sp_function(test, 0, 16);
	outermost_function(test, 0x40);
	learn(test);
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		recursion(test, depths[i]);
		word(test, 16 * (depths[i] - 1) + 8, code(test, 0x44));
		nr = count_callers(test);
		KUNIT_EXPECT_EQ(test, nr, depths[i]);
		KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SFRAME], nr);
		KUNIT_EXPECT_EQ(test, bench->walk.frame.sp, stack(test, 16 * nr));
		expect_end(test, "complete", "%u frames", nr);
	}
}

/* Until there is no more stack. */
static void progress_to_end_of_stack(struct kunit *test)
{
	sp_function(test, 0, 16);
	learn(test);
	recursion(test, STACK_SIZE / 16);
	KUNIT_EXPECT_EQ(test, count_callers(test), 1024);
	expect_end(test, "stack-fault");
}

/* What memory says of the CFA leads to where we have been. */
static void progress_no_cycle_by_cfa(struct kunit *test)
{
	flex_function(test, 0, IN_REG(R_SP, 0), IN_REG(R_SP, 8), 0);
	learn(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	record(test, 0, stack(test, 0x20), code(test, 4));
	record(test, 0x20, stack(test, 0x20), code(test, 4));
	expect_walk(test, "c4@0 c4@20 bad-cfa");
	word(test, 0x20, stack(test, 0x10));
	expect_walk(test, "c4@0 c4@20 bad-cfa");
	word(test, 0x20, stack(test, 0));
	expect_walk(test, "c4@0 c4@20 bad-cfa");
	word(test, 0, stack(test, 0));
	expect_walk(test, "c4@0 c4@0 bad-cfa");
}

static void progress_no_cycle_by_fp(struct kunit *test)
{
	fp_function(test, 0);
	learn(test);
	sample(test, code(test, 4), stack(test, 0), stack(test, 0));
	record(test, 0, stack(test, 0), code(test, 4));
	expect_walk(test, "c4@0 c4@10 bad-cfa");
	record(test, 0, stack(test, 0x20), code(test, 4));
	record(test, 0x20, stack(test, 0x10), code(test, 4));
	expect_walk(test, "c4@0 c4@10,fp20 c4@30,fp10 bad-cfa");
}

/* A signal frame that rows describe is no way to stay either. */
static void progress_no_cycle_by_signal_rows(struct kunit *test)
{
	flex_row(function(test, 0, SIGNAL, FLEX), 0,
		 AT_REG(R_SP, 0), IN_REG(R_SP, 8), 0);
	learn(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	word(test, 8, code(test, 4));
	expect_walk(test, "c4@0 c4@0 bad-cfa");
}

static struct kunit_case progress_tests[] = {
	KUNIT_CASE(progress_every_offset),
	KUNIT_CASE_PARAM(progress_wraps, wrap_gen_params),
	KUNIT_CASE(progress_every_depth),
	KUNIT_CASE(progress_to_end_of_stack),
	KUNIT_CASE(progress_no_cycle_by_cfa),
	KUNIT_CASE(progress_no_cycle_by_fp),
	KUNIT_CASE(progress_no_cycle_by_signal_rows),
	{}
};

/* ---- sframe_walk_fallback: the frame pointer, proved ---- */

static const struct call_case *plain_call(void)
{
	return &call_cases[0];
}

/* The code ahead of @ra, which names @to. */
static void store_call(struct kunit *test, const struct call_case *c,
		       unsigned long ra, unsigned long to)
{
	u8 bytes[CALL_CODE];

	memcpy(bytes, c->code, sizeof(bytes));
	if (c->refers != TO_NOTHING)
		put_callee(bytes, ra, to);
	user_store(test, ra - sizeof(bytes), bytes, sizeof(bytes));
}

static unsigned long slot_of(const struct plt_case *c, unsigned long slot)
{
	return c->names_page ? slot & PAGE_MASK : slot;
}

static void store_plt(struct kunit *test, const struct plt_case *c,
		      unsigned long addr, unsigned long slot)
{
	u8 bytes[PLT_CODE];

	memcpy(bytes, c->code, sizeof(bytes));
	put_slot(bytes + c->at, addr + c->at, slot);
	user_store(test, addr, bytes, sizeof(bytes));
}

/*
 * Sampled in a function at b0 that no row describes; the frame record is 0x20
 * into the stack and leads to b210. What calls there is up to the test. A
 * function with a row is at c0.
 */
static void fallback_scene(struct kunit *test)
{
	fp_function(test, 0);
	outermost_function(test, 0x40);
	learn(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, 0, bare(test, 0x210));
}

static void fallback_chain(struct kunit *test)
{
	struct bench *bench = test->priv;

	fallback_scene(test);
	record(test, 0x20, stack(test, 0x60), bare(test, 0x210));
	record(test, 0x60, stack(test, 0xa0), code(test, 0x10));
	record(test, 0xa0, 0, code(test, 0x50));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0x200));
	expect_walk(test, "b10@0 b210@30,fp60 c10@70,fpa0 c50@b0,fp? complete");
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_FP], 2);
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SFRAME], 1);
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SIGNAL], 0);
}

KUNIT_ARRAY_PARAM(call, call_cases, call_desc);

#define FOLLOWED	"b210@30,fp?"

/* A call of @func is what the code ahead of the return address may be. */
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
	/* The proof is of a function without a row, not of one that is named. */
	expect_call(test, bare(test, 0x400), FOLLOWED);
	expect_call(test, code(test, 0x1000), FOLLOWED);
	/* Some other function's frame. */
	expect_call(test, code(test, 0), "nodata");
	expect_call(test, code(test, 0x3c), "nodata");
	expect_call(test, code(test, 0x40), "nodata");
	expect_call(test, code(test, 0x80), FOLLOWED);
	/* Not even code. */
	expect_call(test, stack(test, 0), "nodata");
	expect_call(test, code(test, CODE_SIZE), "nodata");
}

KUNIT_ARRAY_PARAM(plt, plt_cases, plt_desc);

/* What does not jump is a function without a row itself. */
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

/* Code that ends where a mapping ends. */
static void fallback_code_at_ends(struct kunit *test)
{
	fallback_scene(test);
	record(test, 0x20, 0, bare(test, BARE_SIZE));
	store_call(test, plain_call(), bare(test, BARE_SIZE), bare(test, 0));
	expect_step(test, "b1000@30,fp?");
	/* As many bytes as a PLT slot would have, and fewer. */
	store_call(test, plain_call(), bare(test, BARE_SIZE),
		   bare(test, BARE_SIZE - PLT_CODE));
	expect_step(test, "b1000@30,fp?");
	store_call(test, plain_call(), bare(test, BARE_SIZE),
		   bare(test, BARE_SIZE - 4));
	expect_step(test, "nodata");
	/* Fewer bytes than a call has. */
	record(test, 0x20, 0, bare(test, 2));
	expect_step(test, "nodata");
	record(test, 0x20, 0, bare(test, 0));
	expect_step(test, "nodata");
}

/* The section says nothing of a function, or nothing any more. */
static void fallback_in_covered_code(struct kunit *test)
{
	fallback_scene(test);
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	expect_step(test, FOLLOWED);
	atomic_set(&covered(test)->state, SFU_REGION_RETIRED);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0));
	expect_step(test, FOLLOWED);
	sample(test, code(test, 0x10), stack(test, 0), stack(test, 0x20));
	expect_step(test, FOLLOWED);
}

struct fp_case {
	const char	*name;
	s32		fp;
	const char	*want;
};

/* SP is 0x20 into the stack, of which each word is b210. */
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
	{ "behind the stack", STACK_SIZE, "nodata" },
};

CASE_NAME(fp)
KUNIT_ARRAY_PARAM(fp, fp_cases, fp_desc);

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

/* Where calls leave the return address in a register, it may tell of a nearer caller. */
static void fallback_link(struct kunit *test)
{
	const char *nearer = PUSHED_BY_CALL ? FOLLOWED : "nodata";
	struct bench *bench = test->priv;

	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	set_register(&bench->regs, R_B, SIGN(code(test, 0x20)));
	expect_step(test, nearer, "which has a row");
	set_register(&bench->regs, R_B, code(test, 0x40));
	expect_step(test, nearer, "whose last instruction calls");
	set_register(&bench->regs, R_B, bare(test, 0x210));
	expect_step(test, FOLLOWED, "it is the same");
	set_register(&bench->regs, R_B, bare(test, 0x300));
	expect_step(test, FOLLOWED, "which has none");
	set_register(&bench->regs, R_B, 1);
	expect_step(test, FOLLOWED, "it is no code");
}

/* Likewise, in another file: the calls of a function return to its own. */
static void fallback_link_elsewhere(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	bool is_call = c->calls || c->calls_other;
	unsigned long to = code(test, 0x1000);
	struct bench *bench = test->priv;

	fallback_scene(test);
	covered(test)->file = (const struct file *)test;
	if (c->refers == TO_SLOT) {
		store_word(test, bare(test, 0x800), to);
		to = bare(test, 0x800);
	}
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	store_call(test, c, code(test, 0x20), to);
	set_register(&bench->regs, R_B, SIGN(code(test, 0x20)));
	expect_step(test, PUSHED_BY_CALL ? FOLLOWED : is_call ? "c20@0" : "nodata");
	store_call(test, c, code(test, 0x1020), to);
	set_register(&bench->regs, R_B, code(test, 0x1020));
	expect_step(test, PUSHED_BY_CALL ? FOLLOWED : is_call ? "c1020@0" : "nodata",
		    "has no row");
	record(test, 0x20, 0, code(test, 0x1020));
	expect_step(test, c->calls ? "c1020@30,fp?" : "nodata", "it is the same");
	record(test, 0x20, 0, 0);
	expect_step(test, is_call && !PUSHED_BY_CALL ? "c1020@0" : "nodata", "alone");
}

/* Who was called may have moved the stack pointer. */
static void fallback_link_doubt(struct kunit *test)
{
	struct bench *bench = test->priv;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	learn(test);
	covered(test)->file = (const struct file *)test;
	sample(test, bare(test, 0x10), stack(test, 0), 0);
	set_register(&bench->regs, R_B, code(test, 0x50));
	store_call(test, plain_call(), code(test, 0x50), bare(test, 0));
	word(test, 8, code(test, 0x90));
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x40));
	expect_walk(test, "b10@0 c50@0 c90@10 complete");
	store_call(test, plain_call(), code(test, 0x90), code(test, 0x44));
	expect_walk(test, "b10@0 c50@0 nodata");
}

/*
 * In a PLT slot the return address still is where the call left it, and nothing
 * is on the stack: what the stack pointer says is no guess.
 */
static void fallback_in_plt(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 i, off;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	learn(test);
	store_call(test, plain_call(), code(test, 0x50), bare(test, 0x400));
	word(test, 8, code(test, 0x90));
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	for (i = 0; i < ARRAY_SIZE(plt_cases); i++) {
		const struct plt_case *c = &plt_cases[i];
		u32 end = c->at + 4 * 4;

		store_plt(test, c, bare(test, 0x400), slot_of(c, bare(test, 0x800)));
		for (off = 0; off <= end; off += 4) {
			bool is_in = c->jumps && off < end;
			char want[48];

			/* Nor does it end where such code has something ahead. */
			if (!c->jumps && off >= c->at && c->at)
				is_in = off < end;
			sample(test, bare(test, 0x400 + off), stack(test, 0), stack(test, 0x20));
			set_register(&bench->regs, R_B, SIGN(code(test, 0x50)));
			scnprintf(want, sizeof(want), "b%x@0 %s", 0x400 + off,
				  is_in ? "c50@0 c90@10 complete" : "nodata");
			expect_walk(test, want, "%s, at %u", c->name, off);
		}
	}
}

/* But not to anywhere. */
static void fallback_in_plt_anything(struct kunit *test)
{
	const unsigned long values[] = {
		0, 1, stack(test, 0x40), code(test, CODE_SIZE + 1),
		bare(test, 0), LONG_MIN, -1, code(test, 0x20),
	};
	struct bench *bench = test->priv;
	u32 i;

	if (PUSHED_BY_CALL)
		kunit_skip(test, "calls leave the return address in memory");
	sp_function(test, 0, 16);
	learn(test);
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		sample(test, bare(test, 0x400), stack(test, 0), 0);
		set_register(&bench->regs, R_B, values[i]);
		expect_step(test, "nodata", "to 0x%lx", values[i]);
	}
	store_call(test, plain_call(), code(test, 0x20), bare(test, 0x400));
	expect_step(test, "c20@0");
	sample(test, bare(test, 0x400), stack(test, 8), 0);
	set_register(&bench->regs, R_B, code(test, 0x20));
	expect_step(test, "nodata", "SP is not aligned");
	/* No linker puts one where a mapping begins: there is room ahead. */
	store_plt(test, &plt_cases[0], bare(test, 0), bare(test, 0x800));
	sample(test, bare(test, 0), stack(test, 0), 0);
	set_register(&bench->regs, R_B, code(test, 0x20));
	expect_step(test, "nodata", "at the beginning");
}

/* A frame record that leads to no code is data. */
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
 * SP is 0x30 into the stack, FP 0x60. Either way the caller is c90, its CFA 0x70
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

CASE_NAME(doubt)
KUNIT_ARRAY_PARAM(doubt, doubt_cases, doubt_desc);

/* Through a frame found by FP to c10, whose row is in doubt, and on to c90. */
static void doubt_scene(struct kunit *test, const u32 *rules)
{
	flex_function(test, 0, rules[0], rules[1], rules[2]);
	sp_function(test, 0x40, 16);
	sp_function(test, 0x80, 32);
	outermost_function(test, 0xc0);
	learn(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, stack(test, 0x60), code(test, 0x10));
	store_call(test, plain_call(), code(test, 0x10), bare(test, 0));
	word(test, 0x38, stack(test, 0x70));
	record(test, 0x60, stack(test, 0x110), code(test, 0x90));
	word(test, 0x88, code(test, 0xc4));
}

#define DOUBTED		"b10@0 c10@30,fp60 nodata"
/* Nothing calls what c90 returns to, and nothing is doubted any more. */
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
		expect_walk(test, call->calls ? VINDICATED : doubted, "by %s",
			    call->name);
	}
	/* It is this very function that has to be called. */
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

/* A guess that leads nowhere speaks against the guess, not against the row. */
static void fallback_guess_leads_nowhere(struct kunit *test)
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

static struct kunit_case fallback_tests[] = {
	KUNIT_CASE(fallback_chain),
	KUNIT_CASE_PARAM(fallback_call, call_gen_params),
	KUNIT_CASE_PARAM(fallback_plt, plt_gen_params),
	KUNIT_CASE(fallback_code_at_ends),
	KUNIT_CASE(fallback_in_covered_code),
	KUNIT_CASE_PARAM(fallback_fp, fp_gen_params),
	KUNIT_CASE(fallback_fp_anything),
	KUNIT_CASE(fallback_link),
	KUNIT_CASE_PARAM(fallback_link_elsewhere, call_gen_params),
	KUNIT_CASE(fallback_link_doubt),
	KUNIT_CASE(fallback_in_plt),
	KUNIT_CASE(fallback_in_plt_anything),
	KUNIT_CASE(fallback_ra_anything),
	KUNIT_CASE_PARAM(fallback_doubt, doubt_gen_params),
	KUNIT_CASE(fallback_guess_leads_nowhere),
	{}
};

/* ---- sframe_walk_signal: through a handler to what it interrupted ---- */

#define CONTEXT		0x1000		/* the first one on the stack */
#define CONTEXT_NEXT	0x300		/* bytes from one to the next */

/* The context at @at: interrupted there. */
static void context(struct kunit *test, u32 at, unsigned long ip,
		    unsigned long sp, unsigned long fp)
{
	word(test, at + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, at + CONTEXT_IP, ip);
	word(test, at + context_register(R_SP), sp);
	word(test, at + context_register(R_FP), fp);
}

/*
 * A handler at c0 that returns to @stub, with the context behind its frame. The
 * interrupted frame is that of the function at c40, called by that at c80.
 */
static void signal_scene(struct kunit *test, unsigned long stub)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	learn(test);
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, code(test, 4), stack(test, CONTEXT - 16), 0);
	word(test, CONTEXT - 8, stub);
	context(test, CONTEXT, code(test, 0x44), stack(test, 0x100), stack(test, 0x300));
	word(test, 0x108, code(test, 0x84));
}

#define CROSSED(stub)	"c4@ff0 " stub "@1000 c44@100,fp300 c84@110 complete"

/* Down as well as up, for a handler may have a stack of its own. */
static void signal_by_stub(struct kunit *test)
{
	struct bench *bench = test->priv;

	signal_scene(test, bare(test, 0x100));
	expect_walk(test, CROSSED("b100"));
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SIGNAL], 1);
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SFRAME], 2);
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_FP], 0);

	context(test, CONTEXT, code(test, 0x44), stack(test, 0x2100), 0);
	word(test, 0x2108, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 c44@2100 c84@2110 complete");
	context(test, CONTEXT, code(test, 0x44), stack(test, CONTEXT), 0);
	word(test, CONTEXT + 8, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 c44@1000 c84@1010 complete");
}

static void signal_sampled_at_stub(struct kunit *test)
{
	signal_scene(test, 0);
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_walk(test, "b100@1000 c44@100,fp300 c84@110 complete");
}

/* At the stub's system call, or in it: the numbers tell. */
static void signal_sampled_in_stub(struct kunit *test)
{
	u32 end = 0x100 + sizeof(sigreturn_stub), call = end - SYSCALL_BYTES;
	struct bench *bench = test->priv;

	signal_scene(test, 0);
	sample(test, bare(test, call), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "of another number");
	set_register(&bench->regs, R_SYSCALL, __NR_rt_sigreturn);
	expect_step(test, "c44@100,fp300", "at it");
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	expect_step(test, "c44@100,fp300", "behind it");
	sample(test, bare(test, end + 4), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "elsewhere");
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_step(test, "c44@100,fp300", "ahead of it");
	set_register(&bench->regs, R_SYSCALL, 0);
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	expect_step(test, "nodata", "behind another");
	set_syscall(&bench->regs, __NR_rt_sigreturn);
	expect_step(test, "c44@100,fp300", "in it");
}

/*
 * The system call has restored some registers, and perhaps the stack pointer, to
 * where an older context has been left.
 */
static void signal_sampled_restoring(struct kunit *test)
{
	u32 end = 0x100 + sizeof(sigreturn_stub), reg, i;
	unsigned long value = stack(test, 0x300);
	struct bench *bench = test->priv;

	signal_scene(test, 0);
	sample(test, bare(test, end), stack(test, CONTEXT), 0);
	set_syscall(&bench->regs, __NR_rt_sigreturn);
	for (reg = 0; reg < RESTORED_FIRST; reg++) {
		word(test, CONTEXT + context_register(reg), value);
		expect_step(test, "c44@100,fp300", "not yet");
	}
	for (reg = 0; reg < RESTORED_FIRST; reg++)
		set_register(&bench->regs, reg, value);
	/* The frame pointer is restored, too: no change is told. */
	set_register(&bench->regs, R_FP, value);
	expect_step(test, "c44@100", "this one");
	for (i = 0; i < RESTORED_FIRST; i++) {
		word(test, CONTEXT + context_register(i), value + 1);
		expect_step(test, "bad-signal", "another one, by register %u", i);
		word(test, CONTEXT + context_register(i), value);
	}
	expect_step(test, "c44@100", "this one again");
}

/* A signal may strike there, too. */
static void signal_strikes_in_stub(struct kunit *test)
{
	u32 call = 0x100 + sizeof(sigreturn_stub) - SYSCALL_BYTES;

	signal_scene(test, 0);
	sample(test, bare(test, 0x100), stack(test, 0x800), 0);
	context(test, 0x800, bare(test, call), stack(test, CONTEXT), 0);
	expect_second_step(test, "c44@100,fp300", "at the system call");
	context(test, 0x800, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_second_step(test, "c44@100,fp300", "ahead of it");
	context(test, 0x800, bare(test, call + SYSCALL_BYTES), stack(test, CONTEXT), 0);
	expect_second_step(test, "nodata", "behind it");
}

/* The stub of a program that has a section, which says nothing of it. */
static void signal_stub_in_covered_code(struct kunit *test)
{
	signal_scene(test, code(test, 0x1000));
	user_store(test, code(test, 0x1000), sigreturn_stub, sizeof(sigreturn_stub));
	expect_walk(test, CROSSED("c1000"));
}

/* SFrame's mark, without rows: whatever the code. */
static void signal_by_mark(struct kunit *test)
{
	function(test, 0xc0, SIGNAL, 0);
	signal_scene(test, code(test, 0xd0));
	expect_walk(test, CROSSED("cd0"));
}

/* SFrame's mark, and rows: what they lead to was interrupted, not calling. */
static void signal_by_mark_and_rows(struct kunit *test)
{
	flex_row(function(test, 0xc0, SIGNAL, FLEX), 0,
		 AT_REG(R_SP, 64), IN_CFA(-8), IN_CFA(-16));
	sp_function(test, 0x100, 32);
	signal_scene(test, code(test, 0xd0));
	record(test, CONTEXT + 48, stack(test, 0x300), code(test, 0x100));
	word(test, CONTEXT + 88, code(test, 0x84));
	expect_walk(test, "c4@ff0 cd0@1000 c100@1040,fp300 c84@1060 complete");
}

/* A code that is nearly the stub. */
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
	begin(test->priv);
	next(test);
	next(test);
	append_step(test);
	expect_end(test, "c84@110");
	word(test, CONTEXT - 8, bare(test, at + 4));
	user_store(test, bare(test, at + 4), sigreturn_stub,
		   sizeof(sigreturn_stub) - 4);
	expect_second_step(test, "nodata");
}

/* Interrupted at its first instruction, a function is not the one ahead of it. */
static void signal_interrupted_at_first(struct kunit *test)
{
	sp_function(test, 0xc0, 32);
	signal_scene(test, bare(test, 0x100));
	context(test, CONTEXT, code(test, 0xc0), stack(test, 0x100), 0);
	word(test, 0x118, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 cc0@100 c84@120 complete");
}

/* At the start of a mapping there is nothing ahead. */
static void signal_interrupted_at_start(struct kunit *test)
{
	signal_scene(test, bare(test, 0x100));
	context(test, CONTEXT, code(test, 0), stack(test, 0x100), 0);
	expect_walk(test, "c4@ff0 b100@1000 c0@100 c84@110 complete");
}

/* The interrupted frame has its registers, but its caller has not. */
static void signal_registers_end_there(struct kunit *test)
{
	flex_function(test, 0xc0, AT_REG(R_A, 16), IN_CFA(-8), 0);
	signal_scene(test, bare(test, 0x100));
	context(test, CONTEXT, code(test, 0xc4), stack(test, 0x100), 0);
	word(test, CONTEXT + context_register(R_A), stack(test, 0x200));
	word(test, 0x208, code(test, 0xd0));
	expect_walk(test, "c4@ff0 b100@1000 cc4@100 cd0@210 register");
}

/* @nr signals, one within the other: each stub's context is that of a stub. */
static void nest(struct kunit *test, u32 nr)
{
	u32 i, at = CONTEXT;

	for (i = 1; i < nr; i++, at += CONTEXT_NEXT)
		context(test, at, bare(test, 0x100),
			stack(test, at + CONTEXT_NEXT), stack(test, 0x300));
	context(test, at, code(test, 0x44), stack(test, 0x100), stack(test, 0x300));
}

static void signal_at_most_eight(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 nr;

	signal_scene(test, bare(test, 0x100));
	for (nr = 1; nr <= 8; nr++) {
		nest(test, nr);
		KUNIT_EXPECT_EQ(test, count_callers(test), 1 + nr + 1);
		KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SIGNAL], nr);
		expect_end(test, "complete", "%u signals", nr);
	}
	nest(test, 9);
	KUNIT_EXPECT_EQ(test, count_callers(test), 1 + 8);
	KUNIT_EXPECT_EQ(test, bench->walk.nr_frames[SFU_METHOD_SIGNAL], 8);
	expect_end(test, "bad-signal");
}

#define AGAIN	" b100@1000"

/* The context says that it was interrupted where we are. */
static void signal_cycle(struct kunit *test)
{
	signal_scene(test, bare(test, 0x100));
	context(test, CONTEXT, bare(test, 0x100), stack(test, CONTEXT), 0);
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
		expect_walk(test, "c4@ff0 b100@1000 bad-signal", "ip 0x%lx",
			    values[i]);
	}
}

/* The stack pointer is at no context, or at none any more. */
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
		expect_walk(test, "c4@ff0 b100@1000 bad-signal", "mark 0x%lx",
			    values[i]);
	}
}

/* What is saved as the stack pointer is only used if it can be. */
static void signal_broken_sp(struct kunit *test)
{
	static const unsigned long values[] = { 0, 1, 16, LONG_MIN, -16, -1 };
	struct bench *bench = test->priv;
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		word(test, CONTEXT + context_register(R_SP), values[i]);
		KUNIT_EXPECT_EQ(test, count_callers(test), 2);
		KUNIT_EXPECT_TRUE_MSG(test, bench->walk.stop == SFU_STOP_CFA ||
				      bench->walk.stop == SFU_STOP_STACK,
				      "sp 0x%lx: %s", values[i], bench->text);
	}
}

/* Each word of the context that is needed is the first that is not there. */
static void signal_context_cut(struct kunit *test)
{
	const u32 needed[] = {
		CONTEXT_MARK, CONTEXT_IP, context_register(R_SP),
		context_register(R_FP),
	};
	u32 i;

	signal_scene(test, bare(test, 0x100));
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		sample(test, bare(test, 0x100),
		       stack(test, STACK_SIZE - needed[i]), 0);
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

/* ---- sframe_walk_stop: each end that a walk has, and what it means ---- */

/* c4, called from c44; the caller of that is up to the test. */
static void stop_scene(struct kunit *test)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 16);
	learn(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	word(test, 0x08, code(test, 0x44));
}

static void stop_complete_outermost(struct kunit *test)
{
	outermost_function(test, 0x80);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/* V3: a function without rows. */
static void stop_complete_no_rows(struct kunit *test)
{
	function(test, 0x80, 0, 0);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/* What starts a thread leaves a 0 for a return address, which may be signed. */
static void stop_complete_ra_0(struct kunit *test)
{
	stop_scene(test);
	word(test, 0x18, 0);
	expect_walk(test, "c4@0 c44@10 complete");
	word(test, 0x18, SIGN(0UL));
	expect_walk(test, "c4@0 c44@10 complete");
}

static void stop_nodata(struct kunit *test)
{
	stop_scene(test);
	word(test, 0x18, bare(test, 0x10));
	expect_walk(test, "c4@0 c44@10 b10@20 nodata");
	word(test, 0x18, code(test, 0x100));
	expect_walk(test, "c4@0 c44@10 c100@20 nodata");
}

/* Nothing is known of the process. */
static void stop_unlearned_process(struct kunit *test)
{
	struct bench *bench = test->priv;

	stop_scene(test);
	bench->map = NULL;
	expect_walk(test, "c4@0 unlearned lacking");
}

static void stop_unlearned_empty(struct kunit *test)
{
	struct bench *bench = test->priv;

	stop_scene(test);
	bench->map->nr_regions = 0;
	expect_walk(test, "c4@0 unlearned lacking");
}

/* Nothing is known of the address. */
static void stop_unlearned_address(struct kunit *test)
{
	stop_scene(test);
	sample(test, stack(test, 0), stack(test, 0), 0);
	expect_step(test, "unlearned lacking");
	sample(test, 0, stack(test, 0), 0);
	expect_step(test, "unlearned lacking");
	sample(test, -1UL, stack(test, 0), 0);
	expect_step(test, "unlearned lacking");
}

static void stop_unlearned_gone(struct kunit *test)
{
	stop_scene(test);
	atomic_set(&covered(test)->state, SFU_REGION_GONE);
	expect_walk(test, "c4@0 unlearned lacking");
}

/* The memory is not that of the registers any more. */
static void stop_exec(struct kunit *test)
{
	struct bench *bench = test->priv;

	stop_scene(test);
	current->in_execve = 1;
	expect_walk(test, "c4@0 exec");
	bench->map = NULL;
	expect_walk(test, "c4@0 exec");
	current->in_execve = 0;
	expect_walk(test, "c4@0 unlearned lacking");
}

/* A bad section is retired, counted once, and from then on says nothing. */
static void stop_bad(struct kunit *test)
{
	struct build *b = function(test, 0x80, 0, 0);
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];

	build_row(b, 0, 0x61, 16);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	counters_read(&since);
	expect_walk(test, "c4@0 c44@10 c84@20 bad-section");
	KUNIT_EXPECT_EQ(test, atomic_read(&covered(test)->state),
			SFU_REGION_RETIRED);
	expect_walk(test, "c4@0 nodata");
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, "fault.word-size retired");
}

/* A mapping that has gone meanwhile does not come back as a retired one. */
static void stop_bad_when_gone(struct kunit *test)
{
	stop_bad(test);
	atomic_set(&covered(test)->state, SFU_REGION_GONE);
	sfu_region_retire(covered(test), SFRAME_FAULT_WORD_SIZE);
	KUNIT_EXPECT_EQ(test, atomic_read(&covered(test)->state), SFU_REGION_GONE);
}

/* Each time it is met, and nothing comes of it. */
static void expect_refused(struct kunit *test, const char *want)
{
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];

	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	counters_read(&since);
	expect_walk(test, "c4@0 c44@10 c84@20 refused");
	expect_walk(test, "c4@0 c44@10 c84@20 refused");
	KUNIT_EXPECT_EQ(test, atomic_read(&covered(test)->state),
			SFU_REGION_COVERED);
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, want);
}

/* A register that no machine has. */
static void stop_refused_register(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(0x1fff, 16), IN_CFA(-8), 0);
	expect_refused(test, "fault.regnum=2");
}

/* A type of function that is yet to come. */
static void stop_refused_type(struct kunit *test)
{
	build_row(function(test, 0x80, 0, 2), 0, 0x03, 16);
	expect_refused(test, "fault.fde-type=2");
}

/*
 * A look-up here reads 16 entries of 16 bytes, an attribute of 5 and a row of
 * 10, and pays 32 for each of the 18 reads, and 16 for the row: 863. It is that
 * of the last.
 */
static void costly_section(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 15; i++)
		sp_function(test, 0x1000 + 64 * i, 16);
	sp_function(test, 0, 16);
	learn(test);
}

static void stop_budget_sample(struct kunit *test)
{
	costly_section(test);
	recursion(test, STACK_SIZE / 16);
	KUNIT_EXPECT_EQ(test, count_callers(test), 262144 / 863);
	expect_end(test, "budget");
}

static void stop_budget_task(struct kunit *test)
{
	const u32 nr = 16777216 / 863;
	struct bench *bench = test->priv;
	u32 i;

	bench->stack = user_map(test, nr * 16 / PAGE_SIZE + 1);
	bench->may_fault = true;
	costly_section(test);
	for (i = 0; i <= nr; i++)
		word(test, 16 * i + 8, code(test, 4));
	sample(test, code(test, 4), stack(test, 0), 0);
	KUNIT_EXPECT_EQ(test, count_callers(test), nr);
	expect_end(test, "budget");
}

static void stop_cfa(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(R_SP, -16), IN_REG(R_SP, 8), 0);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	word(test, 0x28, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 bad-cfa");
}

static void stop_ra(struct kunit *test)
{
	stop_scene(test);
	word(test, 0x18, stack(test, 0));
	expect_walk(test, "c4@0 c44@10 bad-ra lacking");
}

/* Of a mapping that is not there any more nothing is returned to. */
static void stop_ra_gone(struct kunit *test)
{
	struct bench *bench = test->priv;

	stop_scene(test);
	word(test, 0x18, bare(test, 0x10));
	atomic_set(&bench->map->regions[1].state, SFU_REGION_GONE);
	expect_walk(test, "c4@0 c44@10 bad-ra lacking");
}

static void stop_register(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(R_A, 16), IN_CFA(-8), 0);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 register");
}

static void stop_signal(struct kunit *test)
{
	function(test, 0x80, SIGNAL, 0);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
	word(test, 0x20 + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, 0x20 + CONTEXT_IP, stack(test, 0));
	expect_walk(test, "c4@0 c44@10 c84@20 bad-signal");
}

static struct kunit_case stop_tests[] = {
	KUNIT_CASE(stop_complete_outermost),
	KUNIT_CASE(stop_complete_no_rows),
	KUNIT_CASE(stop_complete_ra_0),
	KUNIT_CASE(stop_nodata),
	KUNIT_CASE(stop_unlearned_process),
	KUNIT_CASE(stop_unlearned_empty),
	KUNIT_CASE(stop_unlearned_address),
	KUNIT_CASE(stop_unlearned_gone),
	KUNIT_CASE(stop_exec),
	KUNIT_CASE(stop_bad),
	KUNIT_CASE(stop_bad_when_gone),
	KUNIT_CASE(stop_refused_register),
	KUNIT_CASE(stop_refused_type),
	KUNIT_CASE(stop_budget_sample),
	KUNIT_CASE(stop_budget_task),
	KUNIT_CASE(stop_cfa),
	KUNIT_CASE(stop_ra),
	KUNIT_CASE(stop_ra_gone),
	KUNIT_CASE(stop_register),
	KUNIT_CASE(stop_signal),
	{}
};

#ifdef CONFIG_UPROBES
/* ---- sframe_walk_uretprobe: return addresses that the kernel has replaced ---- */

#define TRAMPOLINE	(TASK_SIZE - PAGE_SIZE)

/* A uretprobe is pending, of the function whose frame ends @cfa into the stack. */
static struct return_instance *pend(struct kunit *test, s32 cfa, unsigned long ra)
{
	struct bench *bench = test->priv;
	struct return_instance *pending;

	pending = kunit_kzalloc(test, sizeof(*pending), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pending);
	pending->stack = stack(test, 0) + cfa - PUSHED_BY_CALL;
	pending->orig_ret_vaddr = ra;
	pending->next = bench->utask.return_instances;
	bench->utask.return_instances = pending;
	return pending;
}

/* Nothing between the two may end the test: the kernel would free utask. */
static const char *probed_text(struct kunit *test)
{
	struct bench *bench = test->priv;
	const char *text;

	current->utask = &bench->utask;
	text = walk_text(test);
	current->utask = NULL;
	return text;
}

#define expect_probed(test, want, ...)					\
	expect_text(test, probed_text, want, __VA_ARGS__)

/* c4, called from c44, called from c84. */
static void uretprobe_scene(struct kunit *test)
{
	outermost_function(test, 0x80);
	stop_scene(test);
	word(test, 0x18, code(test, 0x84));
}

static void uretprobe_each_frame(struct kunit *test)
{
	uretprobe_scene(test);
	word(test, 0x08, TRAMPOLINE);
	expect_probed(test, "c4@0 bad-ra lacking");
	pend(test, 0x10, code(test, 0x44));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	word(test, 0x18, TRAMPOLINE);
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");
	pend(test, 0x20, code(test, 0x84));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	word(test, 0x08, code(test, 0x44));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
}

/* Some levels of a recursion: those above the kernel's limit are not probed. */
static void uretprobe_recursion(struct kunit *test)
{
	sp_function(test, 0, 16);
	outermost_function(test, 0x40);
	learn(test);
	recursion(test, 4);
	word(test, 0x38, TRAMPOLINE);
	pend(test, 0x40, code(test, 0x44));
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 4));
	word(test, 0x08, TRAMPOLINE);
	pend(test, 0x10, code(test, 4));
	expect_probed(test, "c4@0 c4@10 c4@20 c4@30 c44@40 complete");
}

/* A function that another one ended by jumping to; both are probed. */
static void uretprobe_inherited(struct kunit *test)
{
	uretprobe_scene(test);
	word(test, 0x08, TRAMPOLINE);
	pend(test, 0x10, code(test, 0x44));
	pend(test, 0x10, code(test, 0x44))->chained = true;
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
}

/* As longjmp() leaves them: of frames that are gone. */
static void uretprobe_left_behind(struct kunit *test)
{
	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 0x84));
	pend(test, 0x10, code(test, 0x104));
	pend(test, 0x08, code(test, 0x104));
	pend(test, -0x100, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
}

/* A frame is told by nothing but the stack pointer at its entry. */
static void uretprobe_of_another_frame(struct kunit *test)
{
	s32 off;

	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	for (off = -16; off <= 16; off++)
		if (off)
			pend(test, 0x20 + off, code(test, 0x84));
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");
}

/* What begins a page need not be a trampoline. */
static void uretprobe_none_at_page(struct kunit *test)
{
	outermost_function(test, PAGE_SIZE - 64);
	stop_scene(test);
	word(test, 0x18, code(test, PAGE_SIZE));
	expect_probed(test, "c4@0 c44@10 c1000@20 complete");
	pend(test, 0x10, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 c1000@20 complete");
}

/* Before the frame is made, and where the return address is in a register. */
static void uretprobe_sampled_at_first(struct kunit *test)
{
	struct bench *bench = test->priv;

	flex_function(test, 0, AT_REG(R_SP, 0), AT_REG(R_B, 0), 0);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	learn(test);
	sample(test, code(test, 0), stack(test, 0x10), 0);
	set_register(&bench->regs, R_B, TRAMPOLINE);
	pend(test, 0x10, code(test, 0x44));
	word(test, 0x18, code(test, 0x84));
	expect_probed(test, "c0@10 c44@10 c84@20 complete");
}

/* The call that proves a frame is that of the real return address. */
static void uretprobe_by_fp(struct kunit *test)
{
	fallback_scene(test);
	record(test, 0x20, 0, TRAMPOLINE);
	pend(test, 0x30, bare(test, 0x210));
	expect_probed(test, "b10@0 nodata");
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	expect_probed(test, "b10@0 b210@30,fp? nodata");
}

/* As many as the kernel allows; or a list that has no end, or a bad one. */
static void uretprobe_list(struct kunit *test)
{
	struct return_instance *last;
	u32 nr;

	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	last = pend(test, 0x20, code(test, 0x84));
	for (nr = 1; nr < 64; nr++)
		pend(test, 0x100, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	/* One more than that. */
	pend(test, 0x100, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");

	last->stack = 0;
	last->next = last;
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");
	((struct bench *)test->priv)->utask.return_instances = last;
	last->next = (void *)-PAGE_SIZE;
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");
	last->next = (void *)stack(test, 0);
	expect_probed(test, "c4@0 c44@10 bad-ra lacking");
}

/* Where a return went to: one register still has that, and it is R_B if any. */
static void sample_returned(struct kunit *test, unsigned long ip, unsigned long sp)
{
	struct bench *bench = test->priv;

	sample(test, ip, sp, 0);
	set_register(&bench->regs, R_B, round_down(ip, PAGE_SIZE));
}

/*
 * In the trampoline: all that it pushes is on the stack, or some of it, below
 * where the return address was.
 */
static void uretprobe_sampled_in_trampoline(struct kunit *test)
{
	u32 pushed;

	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 0x84));
	pend(test, 0x10, code(test, 0x44));
	user_store(test, bare(test, 0), trampoline, sizeof(trampoline));
	for (pushed = 0; pushed <= TRAMPOLINE_PUSHES; pushed += 8) {
		sample_returned(test, bare(test, pushed / 8), stack(test, 0x10) - pushed);
		expect_probed(test, "c44@10 c84@20 complete", "%u pushed", pushed);
	}
	/* It is not this one that was returned from. */
	pend(test, -0x40, code(test, 0x104));
	sample_returned(test, bare(test, 0), stack(test, 0x10));
	expect_probed(test, "c44@10 c84@20 complete");
	/* Nor any. */
	sample_returned(test, bare(test, 0), stack(test, 0x28));
	expect_probed(test, "b0@28 nodata");
	/* Behind it in its page; and other code, which nobody returned to. */
	sample_returned(test, bare(test, sizeof(trampoline)), stack(test, 0x10));
	expect_walk(test, "b" TRAMPOLINE_END "@10 nodata");
	expect_probed(test, "b" TRAMPOLINE_END "@10 nodata");
	user_store(test, bare(test, sizeof(trampoline) - 1), "", 1);
	sample(test, bare(test, 0), stack(test, 0x10), 0);
	set_register(&((struct bench *)test->priv)->regs, R_B, code(test, 0x44));
	expect_probed(test, "b0@10 nodata");
}

/* Where the probe has been handled, the return address is on the stack. */
static void uretprobe_sampled_behind_trampoline(struct kunit *test)
{
	static const u8 at[] = { 0x0d, 0x0f, 0x10 };	/* pop; pop; ret */
	u32 i;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "the trampoline does not return by itself");
	uretprobe_scene(test);
	word(test, 0x08, code(test, 0x44));
	user_store(test, bare(test, 0), trampoline, sizeof(trampoline));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		sample(test, bare(test, at[i]), stack(test, 0) - 8 + 8 * i, 0);
		expect_probed(test, "c44@10 c84@20 complete", "at 0x%x", at[i]);
	}
	sample(test, bare(test, 0x0b), stack(test, 0) - 8, 0);
	expect_probed(test, "bb@? nodata");
	/* Where to is no code. */
	word(test, 0x08, stack(test, 0));
	sample(test, bare(test, 0x10), stack(test, 0x08), 0);
	expect_probed(test, "b10@8 nodata");
}

/* Out of line: ahead of the instruction, and behind it. */
static void uretprobe_sampled_in_copy(struct kunit *test)
{
	struct bench *bench = test->priv;

	uretprobe_scene(test);
	bench->utask.xol_vaddr = TRAMPOLINE + 0x80;
	bench->utask.vaddr = code(test, 0);
	sample(test, TRAMPOLINE + 0x80, stack(test, 0), 0);
	expect_probed(test, "c0@0 c44@10 c84@20 complete");
	sample(test, TRAMPOLINE + 0x84, stack(test, 0), 0);
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	sample(test, TRAMPOLINE + 0x7f, stack(test, 0), 0);
	expect_probed(test, "?@0 unlearned lacking");
}

static const char *text_at_breakpoint(struct kunit *test)
{
	const char *text;

	set_thread_flag(TIF_UPROBE);
	text = walk_text(test);
	clear_thread_flag(TIF_UPROBE);
	return text;
}

#define expect_at_breakpoint(test, want)				\
	expect_text(test, text_at_breakpoint, want)

/* push %rax has been replaced, and not been executed. */
static void uretprobe_behind_breakpoint(struct kunit *test)
{
	struct build *b;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "a breakpoint leaves the ip at it");
	b = function(test, 0, 0, FLEX);
	flex_row(b, 0, AT_REG(R_SP, 8), IN_CFA(-8), 0);
	flex_row(b, 1, AT_REG(R_SP, 16), IN_CFA(-8), 0);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	learn(test);
	word(test, 0x08, code(test, 0x44));
	word(test, 0x18, code(test, 0x84));
	user_store(test, code(test, 0), "\xcc", 1);
	sample(test, code(test, 1), stack(test, 0x08), 0);
	expect_at_breakpoint(test, "c0@8 c44@10 c84@20 complete");
	/* Nobody says so, but the call. */
	store_call(test, plain_call(), code(test, 0x44), code(test, 0));
	expect_probed(test, "c0@8 c44@10 c84@20 complete");
	/* It has, since. */
	sample(test, code(test, 1), stack(test, 0), 0);
	expect_probed(test, "c1@0 c44@10 c84@20 complete");
	/* Likewise where a function jumped here that was called. */
	store_call(test, plain_call(), code(test, 0x44), code(test, 0x40));
	expect_probed(test, "c1@0 c44@10 c84@20 complete");
	sample(test, code(test, 1), stack(test, 0x08), 0);
	expect_probed(test, "c0@8 c44@10 c84@20 complete");
	/* Another one is handled; this byte is not that, or ahead of a function. */
	sample(test, code(test, 2), stack(test, 0), 0);
	expect_at_breakpoint(test, "c2@0 c44@10 c84@20 complete");
	user_store(test, code(test, 0x3f), "\xcc\xcc", 2);
	sample(test, code(test, 0x40), stack(test, 0x10), 0);
	expect_at_breakpoint(test, "c40@10 c84@20 complete");
	user_store(test, code(test, 0x40), "\x90", 1);
	expect_at_breakpoint(test, "c40@10 c84@20 complete");
}

static struct kunit_case uretprobe_tests[] = {
	KUNIT_CASE(uretprobe_each_frame),
	KUNIT_CASE(uretprobe_recursion),
	KUNIT_CASE(uretprobe_inherited),
	KUNIT_CASE(uretprobe_left_behind),
	KUNIT_CASE(uretprobe_of_another_frame),
	KUNIT_CASE(uretprobe_none_at_page),
	KUNIT_CASE(uretprobe_sampled_at_first),
	KUNIT_CASE(uretprobe_by_fp),
	KUNIT_CASE(uretprobe_list),
	KUNIT_CASE(uretprobe_sampled_in_trampoline),
	KUNIT_CASE(uretprobe_sampled_behind_trampoline),
	KUNIT_CASE(uretprobe_sampled_in_copy),
	KUNIT_CASE(uretprobe_behind_breakpoint),
	{}
};
#endif /* CONFIG_UPROBES */

/* ---- sframe_walk_memory: what is not there, with both ways to read ---- */

struct fault_case {
	const char	*name;
	bool		may_fault;
};

static const struct fault_case fault_cases[] = {
	{ "must not fault", false },
	{ "may fault", true },
};

CASE_NAME(fault)
KUNIT_ARRAY_PARAM(fault, fault_cases, fault_desc);

static const struct fault_case *fault_scene(struct kunit *test)
{
	const struct fault_case *c = test->param_value;
	struct bench *bench = test->priv;

	bench->may_fault = c->may_fault;
	stop_scene(test);
	return c;
}

static void memory_whole_walk(struct kunit *test)
{
	outermost_function(test, 0x80);
	fault_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/* A word of the stack that ends where a page ends, for each byte of the word. */
static void memory_stack_ends(struct kunit *test)
{
	u32 cut;

	fault_scene(test);
	for (cut = 1; cut <= 8; cut++) {
		build_again(test);
		flex_function(test, 0, AT_REG(R_SP, 16), IN_REG(R_A, 0), 0);
		learn(test);
		set_register(&((struct bench *)test->priv)->regs, R_A,
			     stack(test, STACK_SIZE - 8 + cut));
		expect_walk(test, "c4@0 stack-fault", "%u bytes too many", cut);
	}
}

static void memory_stack_forbidden(struct kunit *test)
{
	fault_scene(test);
	sample(test, code(test, 4), stack(test, PAGE_SIZE - 16), 0);
	word(test, PAGE_SIZE - 8, code(test, 0x44));
	user_forbid(test, stack(test, PAGE_SIZE));
	expect_walk(test, "c4@ff0 c44@1000 stack-fault");
}

/* Nobody has touched it yet; then it is all zero. */
static void memory_stack_not_present(struct kunit *test)
{
	const struct fault_case *c = fault_scene(test);

	sample(test, code(test, 4), stack(test, PAGE_SIZE - 16), 0);
	word(test, PAGE_SIZE - 8, code(test, 0x44));
	user_allow(test, stack(test, PAGE_SIZE));
	expect_walk(test, c->may_fault ? "c4@ff0 c44@1000 complete" :
		    "c4@ff0 c44@1000 stack-fault");
}

static void memory_stack_in_kernel(struct kunit *test)
{
	struct bench *bench = test->priv;

	fault_scene(test);
	sample(test, code(test, 4), (unsigned long)bench->text & ~15UL, 0);
	expect_step(test, "stack-fault");
}

static void memory_section_forbidden(struct kunit *test)
{
	struct bench *bench = test->priv;

	fault_scene(test);
	user_forbid(test, bench->section);
	expect_walk(test, "c4@0 section-fault lacking");
	KUNIT_EXPECT_EQ(test, atomic_read(&covered(test)->state),
			SFU_REGION_COVERED);
}

/* The header was learned; the page comes back all zero, with no function in it. */
static void memory_section_not_present(struct kunit *test)
{
	const struct fault_case *c = fault_scene(test);
	struct bench *bench = test->priv;

	user_allow(test, bench->section);
	expect_walk(test, c->may_fault ? "c4@0 nodata" :
		    "c4@0 section-fault lacking");
	user_store(test, bench->section, bench->b.bytes, bench->b.len);
	expect_walk(test, "c4@0 c44@10 complete");
}

static void memory_section_unmapped(struct kunit *test)
{
	struct bench *bench = test->priv;

	fault_scene(test);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(bench->section, PAGE_SIZE));
	expect_walk(test, "c4@0 section-fault lacking");
}

/* In the middle of a walk: what has been found is kept. */
static void memory_section_half_there(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->section = map_present(test, 2) + PAGE_SIZE - 28 - 16;
	fault_scene(test);
	user_forbid(test, bench->section + 28 + 16);
	/* The entry of the first function is there, and its rows are not. */
	expect_walk(test, "c4@0 section-fault lacking");
	sample(test, code(test, 0x44), stack(test, 0), 0);
	expect_walk(test, "c44@0 section-fault lacking");
}

/* Code that cannot be read proves nothing. */
static void memory_code_forbidden(struct kunit *test)
{
	fault_scene(test);
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	expect_step(test, FOLLOWED);
	user_forbid(test, bare(test, 0));
	expect_step(test, "nodata");
	/* A stub that cannot be read is none. */
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_step(test, "nodata");
}

/* What is called may be a PLT slot: not to know is no proof. */
static void memory_callee_forbidden(struct kunit *test)
{
	fault_scene(test);
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	user_forbid(test, code(test, 0x1000));
	expect_step(test, "nodata");
}

static struct kunit_case memory_tests[] = {
	KUNIT_CASE_PARAM(memory_whole_walk, fault_gen_params),
	KUNIT_CASE_PARAM(memory_stack_ends, fault_gen_params),
	KUNIT_CASE_PARAM(memory_stack_forbidden, fault_gen_params),
	KUNIT_CASE_PARAM(memory_stack_not_present, fault_gen_params),
	KUNIT_CASE_PARAM(memory_stack_in_kernel, fault_gen_params),
	KUNIT_CASE_PARAM(memory_section_forbidden, fault_gen_params),
	KUNIT_CASE_PARAM(memory_section_not_present, fault_gen_params),
	KUNIT_CASE_PARAM(memory_section_unmapped, fault_gen_params),
	KUNIT_CASE_PARAM(memory_section_half_there, fault_gen_params),
	KUNIT_CASE_PARAM(memory_code_forbidden, fault_gen_params),
	KUNIT_CASE_PARAM(memory_callee_forbidden, fault_gen_params),
	{}
};

/* ---- sframe_walk_random: whatever there is, a walk ends ---- */

static u32 below(struct bench *bench, u32 limit)
{
	return prandom_u32_state(&bench->random) % limit;
}

/* Addresses of code, of the stack, and others. */
static unsigned long random_value(struct bench *bench)
{
	switch (below(bench, 16)) {
	case 0:
		return (u64)prandom_u32_state(&bench->random) << 32 |
			prandom_u32_state(&bench->random);
	case 1:
		return 0;
	case 2:
		return bench->bare + below(bench, BARE_SIZE + 1);
	case 3:
		return bench->bare + 0x100;
	case 4 ... 6:
		return bench->code + below(bench, 16 * 64);
	case 7 ... 9:
		return bench->code + 8 * below(bench, 16 * 8);
	case 10 ... 12:
		return CONTEXT_MARK_WORD;
	default:
		return bench->stack + 8 * below(bench, STACK_SIZE / 16);
	}
}

static void random_stack(struct kunit *test)
{
	struct bench *bench = test->priv;
	u64 words[64];
	u32 off, i;

	for (off = 0; off < STACK_SIZE; off += sizeof(words)) {
		for (i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = random_value(bench);
		user_store(test, stack(test, off), words, sizeof(words));
	}
}

static void random_registers(struct bench *bench)
{
	unsigned long sp = bench->stack + 16 * below(bench, STACK_SIZE / 64);
	u32 i;

	for (i = 0; i < NR_REGS; i++)
		set_register(&bench->regs, i, random_value(bench));
	set_register(&bench->regs, R_SP, sp);
	if (below(bench, 4))
		set_register(&bench->regs, R_FP, sp + 16 * below(bench, 16));
	instruction_pointer_set(&bench->regs, below(bench, 4) ?
				bench->code + below(bench, 16 * 64) :
				bench->bare + below(bench, BARE_SIZE));
}

/* 16 functions: each way to find a frame, and to lose one. */
static void every_function(struct kunit *test)
{
	struct build *b;
	u32 i;

	sp_function(test, 0, 16);
	sp_function(test, 0x40, 48);
	fp_function(test, 0x80);
	flex_function(test, 0xc0, AT_REG(R_A, 0), IN_CFA(-8), IN_CFA(-16));
	flex_function(test, 0x100, AT_REG(R_SP, 0), IN_REG(R_SP, 8), 0);
	flex_function(test, 0x140, IN_REG(R_SP, 0), IN_REG(R_SP, 8), IN_REG(R_SP, 16));
	flex_function(test, 0x180, IN_REG(R_FP, -8), IN_CFA(-8), IN_REG(R_FP, 0));
	flex_function(test, 0x1c0, AT_REG(R_SP, 32), AT_REG(R_B, 0), AT_CFA(-16));
	function(test, 0x200, SIGNAL, 0);
	flex_row(function(test, 0x240, SIGNAL, FLEX), 0,
		 AT_REG(R_SP, 0), IN_REG(R_SP, 8), 0);
	flex_row(function(test, 0x280, SIGNAL, FLEX), 0,
		 AT_REG(R_SP, 64), IN_CFA(-8), IN_CFA(-16));
	b = function(test, 0x2c0, 0, FLEX);
	for (i = 0; i < 8; i++)
		flex_row(b, 8 * i, AT_REG(R_SP, 8 * i), IN_REG(R_SP, 8), 0);
	build_row(function(test, 0x300, 0, 0), 0, default_rows[1].info,
		  default_rows[1].rules[0]);
	build_row(function(test, 0x340, 0, 0), 0, 0x25, 64, -8, -16);
	/* No rows from 0x380 on. */
	learn(test);
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	for (i = 0; i < 0x80; i++)
		store_call(test, plain_call(), code(test, 8 * i + 8),
			   i % 2 ? bare(test, 0) : code(test, 64 * (i % 14)));
}

static void expect_frame(struct kunit *test, const struct sfu_walk *last)
{
	struct bench *bench = test->priv;
	const struct sfu_walk *walk = &bench->walk;
	const struct sfu_frame *frame = &walk->frame;
	unsigned long at = frame->exact ? frame->ip : frame->ip - 1;
	bool known = !!last->frame.regs || !!last->frame.sigcontext;

	if (at - bench->code >= CODE_SIZE && at - bench->bare >= BARE_SIZE)
		KUNIT_FAIL(test, "0x%lx is not known", frame->ip);
	if (frame->regs)
		KUNIT_FAIL(test, "a caller has the sample's registers");
	if (walk->nr_signals != last->nr_signals) {
		KUNIT_EXPECT_LE(test, walk->nr_signals, 8);
		return;
	}
	if (frame->sp < last->frame.sp || (frame->sp == last->frame.sp && !known))
		KUNIT_FAIL(test, "from 0x%lx to 0x%lx", last->frame.sp, frame->sp);
	if (frame->sp % CFA_ALIGN || frame->sigcontext)
		KUNIT_FAIL(test, "0x%lx is no frame", frame->sp);
}

/* From one signal frame to the next there are no more frames than words. */
static void expect_sound(struct kunit *test, read_fn *read)
{
	struct bench *bench = test->priv;
	u32 nr = 0, max = 9 * STACK_SIZE / 8;

	begin(bench);
	if (read)
		read_by(bench, read);
	for (;;) {
		struct sfu_walk last = bench->walk;

		if (!next(test))
			break;
		expect_frame(test, &last);
		KUNIT_ASSERT_LT(test, nr++, max);
	}
	KUNIT_EXPECT_LT(test, bench->walk.stop, NR_SFU_STOPS);
	KUNIT_EXPECT_NE(test, bench->walk.stop, SFU_STOP_FULL);
}

/* 8000 walks, on 200 stacks. */
static void random_walks(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 i, nr_stops[NR_SFU_STOPS] = {}, nr_frames[NR_SFU_METHODS] = {};

	every_function(test);
	for (i = 0; i < 20000; i++) {
		int k;

		if (i % 40 == 0)
			random_stack(test);
		random_registers(bench);
		expect_sound(test, NULL);
		nr_stops[bench->walk.stop]++;
		for (k = 0; k < NR_SFU_METHODS; k++)
			nr_frames[k] += bench->walk.nr_frames[k];
	}
	/* Not all of them were over at once. */
	for (i = 0; i < NR_SFU_METHODS; i++)
		KUNIT_EXPECT_GT_MSG(test, nr_frames[i], 100, "method %u", i);
	for (i = 0; i < NR_SFU_STOPS; i++)
		kunit_info(test, "%s: %u", sfu_stop_names[i], nr_stops[i]);
	kunit_info(test, "frames: %u by rows, %u by fp, %u by signals",
		   nr_frames[0], nr_frames[1], nr_frames[2]);
}

/* Where a walk has been, and how it ended. */
struct trail {
	u64		frames;		/* a hash of all */
	u32		nr;
	u32		stop;
	unsigned long	sp;
	unsigned long	fp;
};

static void follow(struct kunit *test, unsigned int max, struct trail *trail)
{
	struct bench *bench = test->priv;
	u64 ips[16];
	unsigned int i, nr;

	memset(trail, 0, sizeof(*trail));
	begin(bench);
	while ((nr = sfu_walk_callers(&bench->walk, ips, max))) {
		KUNIT_ASSERT_LE(test, nr, max);
		KUNIT_EXPECT_EQ(test, ips[nr - 1], bench->walk.frame.ip);
		for (i = 0; i < nr; i++)
			trail->frames = hash_64(trail->frames ^ ips[i], 64);
		trail->nr += nr;
	}
	trail->stop = bench->walk.stop;
	trail->sp = bench->walk.frame.sp;
	trail->fp = bench->walk.frame.fp;
}

/* The rule cache, empty or filling, changes nothing; nor do steps by the dozen. */
static void expect_same_with_cache(struct kunit *test)
{
	struct sfu_map *map = ((struct bench *)test->priv)->map;
	struct sfu_cache *cache = map->cache;
	struct trail plain, cached;
	unsigned int max;

	map->cache = NULL;
	follow(test, 1, &plain);
	map->cache = cache;
	for (max = 1; max <= 16; max *= 4) {
		follow(test, max, &cached);
		KUNIT_EXPECT_MEMEQ(test, &plain, &cached, sizeof(plain));
	}
}

static void random_walks_cached(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 i, nr_cached = 0, nr_frames = 0;

	every_function(test);
	use_cache(test);
	for (i = 0; i < 4000; i++) {
		if (i % 40 == 0)
			random_stack(test);
		random_registers(bench);
		expect_same_with_cache(test);
		nr_cached += bench->walk.nr_cached;
		nr_frames += bench->walk.nr_frames[SFU_METHOD_SFRAME];
	}
	kunit_info(test, "%u rows from the cache, %u frames by rows", nr_cached, nr_frames);
	KUNIT_EXPECT_GT(test, nr_cached, 1000);
	sfu_cache_free(bench->map->cache);
}

/* The process writes to its stack between any two reads. */
static int read_then_write(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct bench *bench = container_of(rd, struct bench, walk.rd);
	int err = bench->read(rd, dst, addr, len);
	unsigned long at = bench->walk.frame.sp;

	put_user(random_value(bench), (u64 __user *)at + below(bench, 8));
	at = bench->stack;
	put_user(random_value(bench), (u64 __user *)at + below(bench, STACK_SIZE / 8));
	return err;
}

static void random_stack_changes(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 i;

	every_function(test);
	random_stack(test);
	for (i = 0; i < 2000; i++) {
		random_registers(bench);
		expect_sound(test, read_then_write);
	}
}

/* The n-th read fails, where n is bench.fail_at. */
static int read_until(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct bench *bench = container_of(rd, struct bench, walk.rd);

	if (++bench->calls == bench->fail_at)
		return -EFAULT;
	return bench->read(rd, dst, addr, len);
}

/*
 * A stack with all there is: the n-th read fails, for every n. What was found
 * before is what is found without, and the end is one that says so.
 */
static void every_read_fails(struct kunit *test)
{
	struct bench *bench = test->priv;
	char *whole = kunit_kzalloc(test, WALK_TEXT, GFP_KERNEL);
	u32 calls, n;

	KUNIT_ASSERT_NOT_NULL(test, whole);
	signal_scene(test, bare(test, 0x100));
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0x400));
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	store_word(test, bare(test, 0x800), bare(test, 0x300));
	context(test, CONTEXT, bare(test, 0x310), stack(test, 0x100), stack(test, 0x120));
	record(test, 0x120, 0, bare(test, 0x210));
	begin(bench);
	read_by(bench, read_until);
	append_walk(test);
	expect_end(test, "c4@ff0 b100@1000 b310@100,fp120 b210@130,fp? nodata");
	strscpy(whole, bench->text, WALK_TEXT);
	calls = bench->calls;
	for (n = 1; n <= calls; n++) {
		size_t last;

		begin(bench);
		read_by(bench, read_until);
		bench->fail_at = n;
		append_walk(test);
		last = bench->len - strlen(sfu_stop_names[bench->walk.stop]) -
			(bench->walk.lacking ? strlen(" lacking") : 0);
		KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(bench->text, whole, last),
				    "read %u: %s", n, bench->text);
		KUNIT_EXPECT_TRUE_MSG(test, bench->walk.stop == SFU_STOP_STACK ||
				      bench->walk.stop == SFU_STOP_SECTION ||
				      bench->walk.stop == SFU_STOP_NODATA,
				      "read %u: %s", n, bench->text);
	}
}

static struct kunit_case random_tests[] = {
	KUNIT_CASE(random_walks),
	KUNIT_CASE(random_walks_cached),
	KUNIT_CASE(random_stack_changes),
	KUNIT_CASE(every_read_fails),
	{}
};

/* ---- sframe_walk_bounds: what Documentation/design.rst promises of reads ---- */

/* Of sections: 262,144, where a read costs its bytes and 32, and a row 16. */
#define MOST_READS	7943		/* of a byte each */
#define MOST_BYTES	209715		/* 128 at a time */

static int read_and_count(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct bench *bench = container_of(rd, struct bench, walk.rd);
	struct tally *tally = addr - bench->section < bench->section_size ?
		&bench->of_section : &bench->of_frames;

	tally->reads++;
	tally->bytes += len;
	return bench->read(rd, dst, addr, len);
}

static void begin_counting(struct bench *bench)
{
	begin(bench);
	read_by(bench, read_and_count);
	memset(&bench->of_section, 0, sizeof(bench->of_section));
	memset(&bench->of_frames, 0, sizeof(bench->of_frames));
}

/* The step from here, beside sections: of the most that there are. */
static void expect_costly_step(struct kunit *test, u32 reads, u32 bytes)
{
	struct bench *bench = test->priv;

	bench->of_frames = (struct tally){};
	KUNIT_EXPECT_TRUE(test, next(test));
	KUNIT_EXPECT_EQ(test, bench->of_frames.reads, reads);
	KUNIT_EXPECT_EQ(test, bench->of_frames.bytes, bytes);
	KUNIT_EXPECT_LE(test, reads, MOST_FRAME_READS);
	KUNIT_EXPECT_LE(test, bytes, MOST_FRAME_BYTES);
}

/* CFA, RA and FP are each a word, found by a register that is another. */
static void bounds_step_by_registers(struct kunit *test)
{
	struct bench *bench = test->priv;

	flex_function(test, 0, IN_REG(R_A, 8), IN_REG(R_A, 16), IN_REG(R_A, 24));
	learn(test);
	bench->section_size = PAGE_SIZE;
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	context(test, CONTEXT, code(test, 4), stack(test, 0), 0);
	word(test, CONTEXT + context_register(R_A), stack(test, 0x40));
	word(test, 0x48, stack(test, 0x80));
	word(test, 0x50, code(test, 0x800));
	word(test, 0x58, stack(test, 0xc0));
	begin_counting(bench);
	KUNIT_EXPECT_TRUE(test, next(test));
	expect_costly_step(test, 6, 6 * 8);
}

/*
 * Is it a signal frame? Where calls leave the return address in a register: that,
 * from the context, and whether this is a PLT slot. RA and FP; the call, the slot
 * it may lead to, and what that names.
 */
static void bounds_step_past_plt(struct kunit *test)
{
	struct bench *bench = test->priv;

	fallback_scene(test);
	bench->section_size = PAGE_SIZE;
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0x400));
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	store_word(test, bare(test, 0x800), bare(test, 0));
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	context(test, CONTEXT, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	word(test, CONTEXT + context_register(R_B), bare(test, 0x300));
	begin_counting(bench);
	KUNIT_EXPECT_TRUE(test, next(test));
	expect_costly_step(test, MOST_FRAME_READS, MOST_FRAME_BYTES);
}

/*
 * A section too large to be built: a header, @nr_fdes and @fre_len bytes, all of
 * them 0. It is not read before store_large_section().
 */
static u8 *large_section(struct kunit *test, u32 nr_fdes, u32 fre_len)
{
	struct bench *bench = test->priv;
	u8 *bytes;

	bench->section_size = 28 + 16 * nr_fdes + fre_len;
	bench->section = user_map(test, bench->section_size / PAGE_SIZE + 1);
	build_finish(&bench->b);
	build_patch(&bench->b, 8, nr_fdes, 4);
	build_patch(&bench->b, 16, fre_len, 4);
	build_patch(&bench->b, 24, 16 * nr_fdes, 4);
	bytes = vzalloc(bench->section_size);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memcpy(bytes, bench->b.bytes, 28);
	return bytes;
}

static void store_large_section(struct kunit *test, u8 *bytes)
{
	struct sframe_reader rd = { .read = read_user, .budget = U32_MAX };
	struct bench *bench = test->priv;

	user_store(test, bench->section, bytes, bench->section_size);
	vfree(bytes);
	KUNIT_ASSERT_EQ(test, 0, sframe_section_init(&covered(test)->sec, &rd,
						     bench->section,
						     bench->section_size));
	atomic_set(&covered(test)->state, SFU_REGION_COVERED);
}

/* To the end. What of it was for the section? */
static void expect_bounded(struct kunit *test, u32 reads, u32 bytes)
{
	struct bench *bench = test->priv;
	u32 nr = 1;

	begin_counting(bench);
	while (next(test))
		nr++;
	append_stop(bench);
	expect_end(test, "budget");
	KUNIT_EXPECT_EQ(test, bench->of_section.reads, reads);
	KUNIT_EXPECT_EQ(test, bench->of_section.bytes, bytes);
	KUNIT_EXPECT_LE(test, reads, MOST_READS);
	KUNIT_EXPECT_LE(test, bytes, MOST_BYTES);
	KUNIT_EXPECT_LE(test, bench->of_frames.reads, MOST_FRAME_READS * nr);
	KUNIT_EXPECT_LE(test, bench->of_frames.bytes, MOST_FRAME_BYTES * nr);
}

/*
 * One function of 65,535 rows of 4 bytes, of which that of ours is number 57,348.
 * The entry (16 + 32) and the attribute (5 + 32) leave 262,059. The rows begin at
 * 49 of a page: 31 times 128, and 79 up to its end, are those up to the 1011th,
 * and leave 240,812. Then 128 at a time, with 32 rows, cost 672: that is paid 358
 * times, and what is left, 236, pays for a last read and some rows.
 */
static void bounds_walk_rows(struct kunit *test)
{
	u8 *bytes = large_section(test, 1, 5 + 4 * 65535);
	struct bench *bench = test->priv;
	s64 start = code(test, 0) - 0xe000 - bench->section;
	u32 i;

	memcpy(bytes + 28, &start, 8);
	memcpy(bytes + 36, &(u32){ 0x10000 }, 4);
	memcpy(bytes + 44, (u8[]){ 0xff, 0xff, SFRAME_FRE_TYPE_ADDR2 }, 3);
	for (i = 0; i < 65535; i++)
		memcpy(bytes + 49 + 4 * i, (u8[]){ i, i >> 8, 0x03, 16 }, 4);
	store_large_section(test, bytes);
	recursion(test, 16);
	expect_bounded(test, 2 + 32 + 359, 21 + 31 * 128 + 79 + 359 * 128);
}

/* Entries that cover nothing, in no order: 262,144 / (16 + 32) of them. */
static void bounds_walk_unsorted(struct kunit *test)
{
	store_large_section(test, large_section(test, 6000, 0));
	recursion(test, 16);
	expect_bounded(test, 5461, 5461 * 16);
}

/* Each look-up reads 16 entries, an attribute and a row: 271 bytes in 18 reads. */
static void bounds_walk_many_frames(struct kunit *test)
{
	const u32 nr = 262144 / 863;
	struct bench *bench = test->priv;

	costly_section(test);
	bench->section_size = PAGE_SIZE;
	recursion(test, STACK_SIZE / 16);
	/* What is left, 655, pays for 13 entries of the last. */
	expect_bounded(test, 18 * nr + 13, 271 * nr + 13 * 16);
}

/* A walk that was walked before reads no section, be there a row or none. */
static void bounds_walk_again(struct kunit *test)
{
	const u32 offs[] = { 0x10, 0x50, 0x1010 };
	struct bench *bench = test->priv;
	u32 i;

	fallback_scene(test);
	use_cache(test);
	bench->section_size = PAGE_SIZE;
	record(test, 0x20, 0, code(test, 0x1210));
	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		sample(test, code(test, offs[i]), stack(test, 0), stack(test, 0x20));
		store_call(test, plain_call(), code(test, 0x1210),
			   code(test, offs[i] & ~0x3f));
		begin_counting(bench);
		while (next(test))
			;
		KUNIT_EXPECT_EQ(test, bench->of_section.reads, 0);
		KUNIT_EXPECT_GT(test, bench->walk.nr_cached, 0);
		KUNIT_EXPECT_EQ(test, bench->walk.nr_missed, 0);
	}
	sfu_cache_free(bench->map->cache);
}

static struct kunit_case bounds_tests[] = {
	KUNIT_CASE(bounds_step_by_registers),
	KUNIT_CASE(bounds_step_past_plt),
	KUNIT_CASE(bounds_walk_again),
	KUNIT_CASE(bounds_walk_rows),
	KUNIT_CASE(bounds_walk_unsorted),
	KUNIT_CASE(bounds_walk_many_frames),
	{}
};

#define SUITE(which)						\
	static struct kunit_suite which##_suite = {		\
		.name = "sframe_walk_" #which,			\
		.init = bench_init,				\
		.test_cases = which##_tests,			\
	}

/* All over again, by rows of the cache. */
#define CACHED_SUITE(which)					\
	static struct kunit_suite which##_cached_suite = {	\
		.name = "sframe_walk_" #which "_cached",	\
		.init = bench_init_cached,			\
		.exit = bench_exit_cached,			\
		.test_cases = which##_tests,			\
	}

SUITE(step);
SUITE(progress);
SUITE(fallback);
SUITE(signal);
SUITE(stop);
SUITE(memory);
SUITE(random);
SUITE(bounds);
CACHED_SUITE(step);
CACHED_SUITE(progress);
CACHED_SUITE(fallback);
CACHED_SUITE(signal);

kunit_test_suites(&step_suite, &progress_suite, &fallback_suite, &signal_suite,
		  &stop_suite, &memory_suite, &random_suite, &bounds_suite, &step_cached_suite,
		  &progress_cached_suite, &fallback_cached_suite,
		  &signal_cached_suite);

#ifdef CONFIG_UPROBES
SUITE(uretprobe);
CACHED_SUITE(uretprobe);

kunit_test_suites(&uretprobe_suite, &uretprobe_cached_suite);
#endif
