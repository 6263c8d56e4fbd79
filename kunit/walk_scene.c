// SPDX-License-Identifier: GPL-2.0-or-later
/* The scene in which the suites of the walk run. See walk_scene.h. */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/uaccess.h>

#include "sframe_find.h"
#include "walk/user.h"
#include "walk_scene.h"

unsigned long map_present(struct kunit *test, u32 nr)
{
	unsigned long addr = user_map(test, nr);

	KUNIT_ASSERT_EQ(test, 0, clear_user((void __user *)addr, nr * PAGE_SIZE));
	return addr;
}

/* Leaves each step to the general path. */
static enum sfu_stop no_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
				     unsigned int *nr)
{
	*nr = 0;
	return SFU_STOP_NONE;
}

int walk_scene_init(struct kunit *test)
{
	struct walk_scene *scene = kunit_kzalloc(test, sizeof(*scene), GFP_KERNEL);

	if (PAGE_SIZE != 4096)
		kunit_skip(test, "what is expected has pages of 4096 bytes");
	KUNIT_ASSERT_NOT_NULL(test, scene);
	scene->code = map_present(test, 4);
	scene->bare = scene->code + CODE_SIZE + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(scene->code + CODE_SIZE, PAGE_SIZE));
	scene->section = map_present(test, 1);
	scene->stack = map_present(test, STACK_SIZE / PAGE_SIZE);

	scene->test = test;
	scene->map = build_map(test, 2);
	build_range(scene->map, 0, scene->code, CODE_SIZE);
	build_range(scene->map, 1, scene->bare, BARE_SIZE);
	prandom_seed_state(&scene->random, 5);
	kunit_activate_static_stub(test, sfu_fast_callers, no_fast_callers);
	build_start(&scene->b, 3, 0, ABI);
	test->priv = scene;
	return 0;
}

/* From now on the walk takes the fast path, and finds rows in a row cache of its own. */
void use_cache(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	scene->cache = (struct sfu_row_cache){
		.sets = kunit_kzalloc(test, CACHED_SETS * sizeof(struct sfu_row_set), GFP_KERNEL),
		.nr_sets = CACHED_SETS,
	};
	KUNIT_ASSERT_NOT_NULL(test, scene->cache.sets);
	scene->shows_cache = true;
	kunit_deactivate_static_stub(test, sfu_fast_callers);
}

int walk_scene_init_cached(struct kunit *test)
{
	int err = walk_scene_init(test);

	if (!err)
		use_cache(test);
	return err;
}

/* Begins a function of 64 bytes at @off in the code. The caller adds its rows. */
struct build *build_function(struct kunit *test, u32 off, u8 info, u8 type)
{
	struct walk_scene *scene = test->priv;

	build_fde(&scene->b, scene->code + off - scene->section, 64, ADDR1 | info, type, 0);
	return &scene->b;
}

void build_flex_row(struct build *b, u32 start, u32 cfa, u32 ra, u32 fp)
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

void flex_function(struct kunit *test, u32 off, u32 cfa, u32 ra, u32 fp)
{
	build_flex_row(build_function(test, off, 0, FLEX), 0, cfa, ra, fp);
}

/* CFA = SP + @size; the return address is below the CFA. */
void sp_function(struct kunit *test, u32 off, u32 size)
{
	flex_function(test, off, AT_REG(R_SP, size), IN_CFA(-8), 0);
}

/* CFA = FP + 16; the return address and the caller's FP are below the CFA. */
void fp_function(struct kunit *test, u32 off)
{
	flex_function(test, off, AT_REG(R_FP, 16), IN_CFA(-8), IN_CFA(-16));
}

void outermost_function(struct kunit *test, u32 off)
{
	build_row(build_function(test, off, 0, FLEX), 0, 0x01);
}

struct sfu_range *code_range(struct kunit *test)
{
	return &((struct walk_scene *)test->priv)->map->ranges[0];
}

/* From now on the section of the builder describes the code. */
void use_section(struct kunit *test)
{
	struct sfu_range *range = code_range(test);
	struct walk_scene *scene = test->priv;

	build_finish(&scene->b);
	renumber(range);
	user_store(test, scene->section, scene->b.bytes, scene->b.len);
	KUNIT_ASSERT_EQ(test, 0, read_header(range, scene->section, scene->b.len));
}

/* Discards all functions and rows of the builder. */
void build_again(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	build_start(&scene->b, 3, 0, ABI);
}

/*
 * A look-up of the last function costs 768, 40 for each of 15 entries, and 24 for the row. The step
 * costs 500, and the return address 72: COSTLY_STEP.
 */
void costly_section(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 15; i++)
		sp_function(test, 0x1000 + 64 * i, 16);
	sp_function(test, 0, 16);
	use_section(test);
}

/* c4 is called by c44. The test chooses the caller of c44. */
void call_scene(struct kunit *test)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 16);
	use_section(test);
	sample(test, code(test, 4), stack(test, 0), 0);
	word(test, 0x08, code(test, 0x44));
}

/* Writes the stack of a function that has called itself @nr times. */
void recursion_scene(struct kunit *test, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		word(test, 16 * i + 8, code(test, 4));
	sample(test, code(test, 4), stack(test, 0), 0);
}

const struct call_case *plain_call(void)
{
	return &call_cases[0];
}

/* A call through a register. */
const struct call_case *by_pointer(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(call_cases); i++)
		if (!strcmp(call_cases[i].name, "call *%rax") ||
		    !strcmp(call_cases[i].name, "blr x1"))
			return &call_cases[i];
	return NULL;
}

/* Writes the code before @ra. It refers to @to. */
void store_call(struct kunit *test, const struct call_case *c, unsigned long ra, unsigned long to)
{
	u8 bytes[CALL_CODE];

	memcpy(bytes, c->code, sizeof(bytes));
	if (c->refers != TO_NOTHING)
		put_callee(bytes, ra, to);
	user_store(test, ra - sizeof(bytes), bytes, sizeof(bytes));
}

unsigned long slot_of(const struct plt_case *c, unsigned long slot)
{
	return c->names_page ? slot & PAGE_MASK : slot;
}

void store_plt(struct kunit *test, const struct plt_case *c, unsigned long addr, unsigned long slot)
{
	u8 bytes[PLT_CODE];

	memcpy(bytes, c->code, sizeof(bytes));
	put_slot(bytes + c->at, addr + c->at, slot);
	user_store(test, addr, bytes, sizeof(bytes));
}

/*
 * The sampled function is at b0 and has no row. Its frame record is 0x20 into the stack and leads
 * to b210; the test chooses the code before b210. The function at c0 has a row.
 */
void fallback_scene(struct kunit *test)
{
	fp_function(test, 0);
	outermost_function(test, 0x40);
	use_section(test);
	sample(test, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	record(test, 0x20, 0, bare(test, 0x210));
}

/* Writes the context of a signal at @at: the registers of the interrupted frame. */
void store_context(struct kunit *test, u32 at, unsigned long ip, unsigned long sp, unsigned long fp)
{
	word(test, at + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, at + CONTEXT_IP, ip);
	word(test, at + context_register(R_SP), sp);
	word(test, at + context_register(R_FP), fp);
}

/*
 * A signal handler at c0 returns to @stub. The context follows its frame. The interrupted function
 * is at c40, and its caller is at c80.
 */
void signal_scene(struct kunit *test, unsigned long stub)
{
	sp_function(test, 0, 16);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	use_section(test);
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, code(test, 4), stack(test, CONTEXT - 16), 0);
	word(test, CONTEXT - 8, stub);
	store_context(test, CONTEXT, code(test, 0x44), stack(test, 0x100), stack(test, 0x300));
	word(test, 0x108, code(test, 0x84));
}

static __printf(2, 3) void append(struct walk_scene *scene, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	scene->len += vscnprintf(scene->text + scene->len, WALK_TEXT - scene->len, format, args);
	va_end(args);
}

/* Appends a value as an offset. @on_stack is the prefix if the value is not a code address. */
static void append_value(struct walk_scene *scene, const char *on_stack, unsigned long value)
{
	if (value - scene->code <= CODE_SIZE)
		append(scene, "c%lx", value - scene->code);
	else if (value - scene->bare <= BARE_SIZE)
		append(scene, "b%lx", value - scene->bare);
	else if (value - scene->stack <= STACK_SIZE)
		append(scene, "%s%lx", on_stack, value - scene->stack);
	else
		append(scene, "%s?", on_stack);
}

static void append_frame(struct walk_scene *scene, unsigned long last_fp)
{
	const struct sfu_frame *frame = &scene->walk.frame;

	append_value(scene, "", frame->ip);
	append_value(scene, "@", frame->sp);
	if (frame->fp == last_fp)
		return;
	append(scene, ",fp");
	append_value(scene, "", frame->fp);
}

static void append_stop(struct walk_scene *scene)
{
	scene->len_frames = scene->len;
	append(scene, "%s%s", sfu_stop_names[scene->stop],
	       sfu_walk_needs_scan(&scene->walk, scene->stop) ? " needs-scan" : "");
}

/*
 * The only place that calls sfu_walk_callers(). After the last frame @scene->stop has the stop
 * reason.
 */
unsigned int next_frames(struct walk_scene *scene, u64 *ips, unsigned int max)
{
	unsigned int nr;

	if (scene->stop)
		return 0;
	scene->stop = sfu_walk_callers(&scene->walk, ips, max, &nr);
	KUNIT_EXPECT_TRUE(scene->test, scene->stop || nr);
	return nr;
}

static void start_walk(struct walk_scene *scene)
{
	/* On the stack of a sample there is anything. */
	memset(&scene->walk, 0x5a, sizeof(scene->walk));
	sfu_walk_init(&scene->walk, scene->map, scene->is_borrowed, cache_of(scene), &scene->regs);
	if (scene->budget)
		scene->walk.lookup.rd.budget = scene->budget;
	scene->stop = SFU_STOP_NONE;
}

/* Starts at the sampled frame. The cache has exactly the rows of this walk. */
void begin_walk(struct walk_scene *scene)
{
	u64 ips[16];

	if (scene->is_observed) {
		kunit_deactivate_static_stub(scene->test, sfu_user_read);
		kunit_deactivate_static_stub(scene->test, sfu_user_find);
	}
	scene->is_observed = false;
	if (scene->map && scene->cache.sets) {
		start_walk(scene);
		while (next_frames(scene, ips, ARRAY_SIZE(ips)))
			;
	}
	start_walk(scene);
	scene->len = 0;
	scene->text[0] = '\0';
}

/*
 * The only reader of user memory in a walk. It counts each read, fails the read that the test has
 * chosen, and then runs the action of the test.
 */
static int read_observed(void *dst, unsigned long addr, size_t len)
{
	struct walk_scene *scene = kunit_get_current_test()->priv;
	struct tally *tally = addr - scene->section < scene->section_size ?
		&scene->of_section : &scene->of_frames;
	int err;

	tally->reads++;
	tally->bytes += len;
	if (++scene->calls == scene->fail_at)
		return -EFAULT;
	err = sfu_user_read_now(dst, addr, len);
	if (scene->after_read)
		scene->after_read(scene);
	return err;
}

static __always_inline bool get_observed(const struct sframe_header *hdr, struct sframe_reader *rd,
					 u64 addr, u32 size, u64 *val)
{
	*val = 0;
	return !read_observed(val, addr, size);
}

static int find_observed(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
			 struct sframe_raw_row *raw)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_observed };

	return sframe_find(&from, pc, raw);
}

/* Observes the reads of the current walk. */
void observe_reads(struct walk_scene *scene)
{
	kunit_activate_static_stub(scene->test, sfu_user_read, read_observed);
	kunit_activate_static_stub(scene->test, sfu_user_find, find_observed);
	scene->is_observed = true;
	scene->calls = 0;
	scene->fail_at = 0;
	scene->of_section = (struct tally){};
	scene->of_frames = (struct tally){};
}

/* Field by field: what is between them belongs to nobody. */
static void expect_frame(struct kunit *test, const struct sfu_frame *frame,
			 const struct sfu_frame *want)
{
	KUNIT_EXPECT_EQ(test, frame->ip, want->ip);
	KUNIT_EXPECT_EQ(test, frame->sp, want->sp);
	KUNIT_EXPECT_EQ(test, frame->fp, want->fp);
	KUNIT_EXPECT_EQ(test, frame->is_activation, want->is_activation);
	KUNIT_EXPECT_EQ(test, frame->sp_unverified, want->sp_unverified);
	KUNIT_EXPECT_EQ(test, frame->by_habit, want->by_habit);
	KUNIT_EXPECT_PTR_EQ(test, frame->regs, want->regs);
	KUNIT_EXPECT_EQ(test, frame->sigcontext, want->sigcontext);
}

/* Takes one step. A step that fails leaves the walk unchanged. */
bool next_frame(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_walk last = scene->walk;
	u64 ip;

	if (next_frames(scene, &ip, 1)) {
		KUNIT_EXPECT_EQ(test, ip, scene->walk.frame.ip);
		return true;
	}
	expect_frame(test, &scene->walk.frame, &last.frame);
	KUNIT_EXPECT_MEMEQ(test, scene->walk.nr_frames, last.nr_frames, sizeof(last.nr_frames));
	return false;
}

void append_step(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	unsigned long fp = scene->walk.frame.fp;

	if (next_frame(test))
		append_frame(scene, fp);
	else
		append_stop(scene);
}

const char *last_text(struct kunit *test)
{
	return ((struct walk_scene *)test->priv)->text;
}

/* Return: the text of the first step of a walk. */
const char *step_text(struct kunit *test)
{
	begin_walk(test->priv);
	append_step(test);
	return last_text(test);
}

/* Return: the text of the second step of a walk. */
const char *second_step_text(struct kunit *test)
{
	begin_walk(test->priv);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	append_step(test);
	return last_text(test);
}

/* Appends the walk from the current frame to its end. */
void append_walk(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	unsigned long fp = scene->walk.frame.fp;
	u32 nr;

	append_frame(scene, fp);
	for (nr = 1; nr < MAX_FRAMES && next_frame(test); nr++) {
		append(scene, " ");
		append_frame(scene, fp);
		fp = scene->walk.frame.fp;
	}
	append(scene, " ");
	append_stop(scene);
}

const char *walk_text(struct kunit *test)
{
	begin_walk(test->priv);
	append_walk(test);
	return last_text(test);
}

/* Return: the number of callers from the current frame to the end. */
u32 count_to_end(struct kunit *test)
{
	u32 nr = 0;

	while (next_frame(test))
		nr++;
	append_stop(test->priv);
	return nr;
}

/* Return: the number of callers from the sampled frame to the end. */
u32 count_callers(struct kunit *test)
{
	begin_walk(test->priv);
	return count_to_end(test);
}
