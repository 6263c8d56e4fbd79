// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: it ends with any contents of stack and registers. See walk_scene.h. */
#include "walk_scene.h"

static u32 below(struct walk_scene *scene, u32 limit)
{
	return prandom_u32_state(&scene->random) % limit;
}

static unsigned long random_value(struct walk_scene *scene)
{
	switch (below(scene, 16)) {
	case 0:
		return (u64)prandom_u32_state(&scene->random) << 32 |
			prandom_u32_state(&scene->random);
	case 1:
		return 0;
	case 2:
		return scene->bare + below(scene, BARE_SIZE + 1);
	case 3:
		return scene->bare + 0x100;
	case 4 ... 6:
		return scene->code + below(scene, 16 * 64);
	case 7 ... 9:
		return scene->code + 8 * below(scene, 16 * 8);
	case 10 ... 11:
		return CONTEXT_MARK_WORD;
	case 12:
		return scene->other_stack + 8 * below(scene, STACK_SIZE / 16);
	default:
		return scene->stack + 8 * below(scene, STACK_SIZE / 16);
	}
}

/* A record that leads to the other stack, of code without rows, after a call. */
static void random_record(struct walk_scene *scene, u64 *record)
{
	record[0] = below(scene, 4) ? scene->other_stack + 16 * below(scene, STACK_SIZE / 32) : 0;
	record[1] = scene->code + 0x388 + 8 * below(scene, 15);
}

static void random_stack(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u64 words[64];
	u32 off, i;

	for (off = 0; off < 2 * STACK_SIZE; off += sizeof(words)) {
		for (i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = random_value(scene);
		for (i = 0; i < ARRAY_SIZE(words); i += 4)
			random_record(scene, &words[i + 2 * below(scene, 2)]);
		user_store(test, off < STACK_SIZE ? stack(test, off) :
			   scene->other_stack + off - STACK_SIZE, words, sizeof(words));
	}
}

static void random_registers(struct walk_scene *scene)
{
	unsigned long sp = scene->stack + 16 * below(scene, STACK_SIZE / 64);
	u32 i;

	for (i = 0; i < NR_REGS; i++)
		set_register(&scene->regs, i, random_value(scene));
	set_register(&scene->regs, R_SP, sp);
	if (below(scene, 4))
		set_register(&scene->regs, R_FP, sp + 16 * below(scene, 16));
	instruction_pointer_set(&scene->regs, below(scene, 4) ?
				scene->code + below(scene, 16 * 64) :
				scene->bare + below(scene, BARE_SIZE));
}

#define ROWS_BY_OFFSET							\
	"0 sp+0 u (sp+8) | 8 sp+8 u (sp+8) | 16 sp+16 u (sp+8) | 24 sp+24 u (sp+8) | "	\
	"32 sp+32 u (sp+8) | 40 sp+40 u (sp+8) | 48 sp+48 u (sp+8) | 56 sp+56 u (sp+8)"

/* 16 functions, with each way to find a frame and to fail. */
static void every_function(struct kunit *test)
{
	u32 i;

	run_walk_steps(test, "other-stack; fn c0 sp+16 u (c-8); fn c40 sp+48 u (c-8);"
		       "fn c80 fp+16 (c-16) (c-8); fn cc0 A+0 (c-16) (c-8); fn c100 sp+0 u (sp+8);"
		       "fn c140 (sp+0) (sp+16) (sp+8); fn c180 (fp-8) (fp+0) (c-8);"
		       "fn c1c0 sp+32 c-16 B+0;"
		       "fn c200 signal no-rows; fn c240 signal sp+0 u (sp+8);"
		       "fn c280 signal sp+64 (c-16) (c-8); put b100 stub;"
		       "fn c2c0 " ROWS_BY_OFFSET "; fn c300 %s; fn c340 row 0x25 64 -8 -16",
		       default_rows[1].row);
	/* There are no rows from 0x380 on. */
	for (i = 0; i < 0x80; i++)
		store_call(test, plain_call(), code(test, 8 * i + 8),
			   i % 2 ? bare(test, 0) : code(test, 64 * (i % 14)));
}

static void expect_frame(struct kunit *test, const struct sfu_walk *last)
{
	struct walk_scene *scene = test->priv;
	const struct sfu_walk *walk = &scene->walk;
	const struct sfu_frame *frame = &walk->frame;
	unsigned long at = frame->is_activation ? frame->ip : frame->ip - 1;
	bool known = !!last->frame.regs || !!last->frame.sigcontext;

	if (at - scene->code >= CODE_SIZE && at - scene->bare >= BARE_SIZE)
		KUNIT_FAIL(test, "0x%lx is not known", frame->ip);
	if (frame->regs)
		KUNIT_FAIL(test, "a caller has the sample's registers");
	if (walk->nr_signals != last->nr_signals) {
		KUNIT_EXPECT_LE(test, walk->nr_signals, 8);
		return;
	}
	if (walk->nr_switches != last->nr_switches) {
		KUNIT_EXPECT_LE(test, walk->nr_switches, 4);
		return;
	}
	if (frame->sp < last->frame.sp || (frame->sp == last->frame.sp && !known))
		KUNIT_FAIL(test, "from 0x%lx to 0x%lx", last->frame.sp, frame->sp);
	if (frame->sp % CFA_ALIGN || frame->sigcontext)
		KUNIT_FAIL(test, "0x%lx is no frame", frame->sp);
}

/* Between two signal frames or switches there are at most as many frames as words of the stacks. */
static u32 expect_sound(struct kunit *test, void (*after_read)(struct walk_scene *scene))
{
	struct walk_scene *scene = test->priv;
	u32 nr = 0, max = 13 * 2 * STACK_SIZE / 8;

	begin_walk(scene);
	scene->after_read = after_read;
	if (after_read)
		observe_reads(scene);
	for (;;) {
		struct sfu_walk last = scene->walk;

		if (!next_frame(test))
			break;
		expect_frame(test, &last);
		KUNIT_ASSERT_LT(test, nr++, max);
	}
	KUNIT_EXPECT_LT(test, scene->stop, NR_SFU_STOPS);
	KUNIT_EXPECT_NE(test, scene->stop, SFU_STOP_FULL);
	return nr;
}

/* The process writes to its stack between any two reads. */
static void write_to_stack(struct walk_scene *scene)
{
	unsigned long at = scene->walk.frame.sp;

	put_user(random_value(scene), (u64 __user *)at + below(scene, 8));
	at = scene->stack;
	put_user(random_value(scene), (u64 __user *)at + below(scene, STACK_SIZE / 8));
}

/* Half of the walks are on a stack that changes meanwhile. fuzz_walk has more of the others. */
static void random_walks(struct kunit *test)
{
	u32 i, nr_frames[NR_SFU_METHODS] = {}, nr_switches = 0;
	struct walk_scene *scene = test->priv;
	int k;

	every_function(test);
	for (i = 0; i < 12000; i++) {
		if (i % 40 == 0)
			random_stack(test);
		random_registers(scene);
		for (k = 0; k < 2; k++)
			scene->map->ranges[k].keeps_fp = i / 2 % 2 ? SFRAME_KEEPS_FP_YES :
							 SFRAME_KEEPS_FP_NO;
		expect_sound(test, i % 2 ? write_to_stack : NULL);
		for (k = 0; k < NR_SFU_METHODS; k++)
			nr_frames[k] += scene->walk.nr_frames[k];
		nr_switches += scene->walk.nr_switches;
	}
	/* The walks did not all end at once. */
	for (k = 0; k < NR_SFU_METHODS; k++)
		KUNIT_EXPECT_GT_MSG(test, nr_frames[k], 10, "method %u", k);
	KUNIT_EXPECT_GT(test, nr_switches, 10);
}

/* On a stack with each kind of frame; those before the failed read are as in the whole walk. */
static void every_read_fails(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	char *whole = test_alloc(test, WALK_TEXT);
	u32 calls, n, nr_differ = 0;

	run_walk_steps(test, "fn c0 sp+16 u (c-8); put b100 stub; at c4 sff0; sff8=b100;"
	"call b210 b400;"
		       "put b400 plt b800; b800=b300; context s1000 b310 s100 s120; s120=0,b210");
	begin_walk(scene);
	observe_reads(scene);
	append_walk(test);
	expect_end(test, "c4@ff0 b100@1000 b310@100,fp120 b210@130,fp? nodata");
	strscpy(whole, scene->text, WALK_TEXT);
	calls = scene->calls;
	/* These frames need a return address, the stub, the context and a frame record. */
	KUNIT_EXPECT_GE(test, calls, 8);
	for (n = 1; n <= calls; n++) {
		begin_walk(scene);
		observe_reads(scene);
		scene->fail_at = n;
		append_walk(test);
		KUNIT_EXPECT_GE_MSG(test, scene->calls, n, "read %u", n);
		KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(scene->text, whole, scene->len_frames),
				    "read %u: %s", n, scene->text);
		KUNIT_EXPECT_TRUE_MSG(test, scene->stop == SFU_STOP_STACK ||
				      scene->stop == SFU_STOP_SECTION ||
				      scene->stop == SFU_STOP_NODATA,
				      "read %u: %s", n, scene->text);
		nr_differ += !!strcmp(scene->text, whole);
	}
	/* Some failures have no effect, but several must have one. */
	KUNIT_EXPECT_GE(test, nr_differ, 4);
}

struct kunit_case walk_random_tests[] = {
	KUNIT_CASE(random_walks),
	KUNIT_CASE(every_read_fails),
	{}
};
