// SPDX-License-Identifier: GPL-2.0-or-later
/* The scene in which the suites of the walk run. See walk_scene.h. */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>

#include "sframe_find.h"
#include "walk/walk.h"
#include "walk_scene.h"

/* No rule is 0. So a rule on the CFA sets bit 2 of the control word, which is unused. */
#define RULE(control, off)	((u32)(control) << 16 | ((off) & 0xffff))
#define LEFT_OUT		1	/* a single word 0 */

static unsigned long map_present(struct kunit *test, u32 nr)
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
	struct walk_scene *scene = test_alloc(test, sizeof(*scene));

	if (PAGE_SIZE != 4096)
		kunit_skip(test, "what is expected has pages of 4096 bytes");
	scene->code = map_present(test, 4);
	scene->bare = scene->code + CODE_SIZE + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(scene->code + CODE_SIZE, PAGE_SIZE));
	scene->section = map_present(test, 1);
	scene->stack = map_present(test, STACK_SIZE / PAGE_SIZE);

	scene->section_size = PAGE_SIZE;
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

/* Many sets, so that few rows have the same one. */
#define CACHED_SETS	1024

/* From now on the walk takes the fast path, and finds rows in a row cache of its own. */
void use_cache(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	scene->cache = (struct sfu_row_cache){
		.sets = test_alloc(test, CACHED_SETS * sizeof(struct sfu_row_set)),
		.nr_sets = CACHED_SETS,
	};
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
static struct build *build_function(struct kunit *test, u32 off, u8 info, u8 type)
{
	struct walk_scene *scene = test->priv;

	build_fde(&scene->b, scene->code + off - scene->section, 64, ADDR1 | info, type, 0);
	return &scene->b;
}

static void build_flex_row(struct build *b, u32 start, u32 cfa, u32 ra, u32 fp)
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

struct sfu_range *code_range(struct kunit *test)
{
	return &scene_of(test)->map->ranges[0];
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

/*
 * A look-up of the last function costs 768, 40 for each of 15 entries, and 24 for the row. The step
 * costs 500, and the return address 72: COSTLY_STEP.
 */
void costly_section(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 15; i++)
		run_walk_steps(test, "fn c%x sp+16 u (c-8)", 0x1000 + 64 * i);
	run_walk_steps(test, "fn c0 sp+16 u (c-8)");
}

static void map_other_stack(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	scene->other_stack = user_map(test, SZ_128K / PAGE_SIZE);
	KUNIT_ASSERT_LT(test, scene->other_stack + SZ_64K + STACK_SIZE, scene->stack);
}

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

const struct call_case *by_pointer(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(call_cases); i++)
		if (!strcmp(call_cases[i].name, "call *%rax") ||
		    !strcmp(call_cases[i].name, "blr x1"))
			return &call_cases[i];
	return NULL;
}

/* Writes the code before @ra. It refers to @to, or to the slot at b800, which then leads to @to. */
void store_call(struct kunit *test, const struct call_case *c, unsigned long ra, unsigned long to)
{
	u8 bytes[CALL_CODE];

	if (c->refers == TO_SLOT) {
		store_word(test, bare(test, 0x800), to);
		to = bare(test, 0x800);
	}
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
	else if (scene->other_stack && value - scene->other_stack < SZ_128K)
		append(scene, "%so%lx", on_stack, value - scene->other_stack);
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
	sfu_walk_init(&scene->walk, scene->map, scene->is_inherited, cache_of(scene), &scene->regs);
	if (scene->budget)
		scene->walk.lookup.rd.budget = scene->budget;
	scene->stop = SFU_STOP_NONE;
}

/* Starts at the sampled frame. The cache has exactly the rows of this walk. */
void begin_walk(struct walk_scene *scene)
{
	struct callers *at_once = &scene->at_once;

	if (scene->is_observed) {
		kunit_deactivate_static_stub(scene->test, sfu_user_read);
		kunit_deactivate_static_stub(scene->test, sfu_user_find);
	}
	scene->is_observed = false;
	if (scene->map && scene->cache.sets) {
		start_walk(scene);
		for (at_once->nr = 0; !scene->stop && at_once->nr < MAX_FRAMES;)
			at_once->nr += next_frames(scene, &at_once->ips[at_once->nr],
						   MAX_FRAMES - at_once->nr);
		at_once->stop = scene->stop;
	}
	start_walk(scene);
	scene->one_by_one.nr = 0;
	scene->len = 0;
	scene->text[0] = '\0';
}

/* The only reader of user memory in a walk. */
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
	KUNIT_EXPECT_EQ(test, frame->by_kept_fp, want->by_kept_fp);
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
		if (scene->one_by_one.nr < MAX_FRAMES)
			scene->one_by_one.ips[scene->one_by_one.nr++] = ip;
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
	return scene_of(test)->text;
}

const char *step_text(struct kunit *test)
{
	begin_walk(test->priv);
	append_step(test);
	return last_text(test);
}

static const char *second_step_text(struct kunit *test)
{
	begin_walk(test->priv);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	append_step(test);
	return last_text(test);
}

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
	struct walk_scene *scene = test->priv;
	struct callers *at_once = &scene->at_once;

	begin_walk(scene);
	append_walk(test);
	/* Callers that the walk is asked for at once are those that it finds one by one. */
	if (scene->map && scene->cache.sets) {
		KUNIT_EXPECT_EQ(test, at_once->stop, scene->stop);
		KUNIT_EXPECT_EQ(test, at_once->nr, scene->one_by_one.nr);
		KUNIT_EXPECT_MEMEQ(test, at_once->ips, scene->one_by_one.ips,
				   at_once->nr * sizeof(at_once->ips[0]));
	}
	return scene->text;
}

#ifdef CONFIG_UPROBES
struct return_instance *pend(struct kunit *test, s32 cfa, unsigned long ra)
{
	struct return_instance *pending;

	pending = test_alloc(test, sizeof(*pending));
	pending->stack = stack(test, 0) + cfa - PUSHED_BY_CALL;
	pending->orig_ret_vaddr = ra;
	pending->next = scene_of(test)->utask.return_instances;
	scene_of(test)->utask.return_instances = pending;
	return pending;
}

/* No assertion may end the test while current->utask is set: the kernel would free it. */
static const char *probed_text(struct kunit *test)
{
	const char *text;

	current->utask = &scene_of(test)->utask;
	text = walk_text(test);
	current->utask = NULL;
	return text;
}

static const char *text_at_breakpoint(struct kunit *test)
{
	const char *text;

	set_thread_flag(TIF_UPROBE);
	text = walk_text(test);
	clear_thread_flag(TIF_UPROBE);
	return text;
}

#ifdef SFU_HAVE_OPTIMIZED_UPROBES
static const char *text_of_new_thread(struct kunit *test)
{
	const char *text;

	mm_flags_set(MMF_HAS_UPROBES, current->mm);
	text = walk_text(test);
	mm_flags_clear(MMF_HAS_UPROBES, current->mm);
	return text;
}
#endif

#endif

u32 count_to_end(struct kunit *test)
{
	u32 nr = 0;

	while (next_frame(test))
		nr++;
	append_stop(test->priv);
	return nr;
}

u32 count_callers(struct kunit *test)
{
	begin_walk(test->priv);
	return count_to_end(test);
}

static bool take_word(const char **text, const char *word)
{
	const char *at = *text + strspn(*text, " ,=");

	if (strncmp(at, word, strlen(word)))
		return false;
	*text = at + strlen(word);
	return true;
}

/* A place such as "c44", else a number. */
static bool take_value(struct kunit *test, const char **text, unsigned long *value)
{
	static const char letters[] = "cbsot", digits[] = "0123456789abcdef";
	struct walk_scene *scene = test->priv;
	const unsigned long bases[] = { scene->code, scene->bare, scene->stack,
					scene->other_stack, scene->section };
	const char *letter, *digit;
	unsigned long off = 0;
	bool is_below;
	s64 number;

	if (take_word(text, "signed")) {
		bool is_there = take_value(test, text, value);

		*value = SIGN(*value);
		return is_there;
	}
	if (take_word(text, "TRAMPOLINE")) {
		*value = TRAMPOLINE;
		return true;
	}
	*text += strspn(*text, " ,=");
	letter = **text ? strchr(letters, **text) : NULL;
	if (!letter) {
		if (!section_number(text, &number))
			return false;
		*value = number;
		return true;
	}
	is_below = *++*text == '-';
	for (*text += is_below; **text && (digit = strchr(digits, **text)); (*text)++)
		off = 16 * off + (digit - digits);
	*value = bases[letter - letters] + (is_below ? -off : off);
	return true;
}

static unsigned long need_value(struct kunit *test, const char **text)
{
	unsigned long value = 0;

	if (!take_value(test, text, &value))
		KUNIT_FAIL_AND_ABORT(test, "no value: %s", *text);
	return value;
}

/* A rule of a flexible row, as section_builder.h writes it; 0 if there is none. */
static u32 take_rule(const char **text)
{
	static const char *const names[] = { "sp", "fp", "A", "B", "c" };
	static const int regs[] = { R_SP, R_FP, R_A, R_B, -1 };
	bool is_memory = take_word(text, "(");
	s64 reg = 0, off = 0;
	u32 i = 0;

	if (take_word(text, "u"))
		return LEFT_OUT;
	while (i < ARRAY_SIZE(names) && !take_word(text, names[i]))
		i++;
	if (i < ARRAY_SIZE(names))
		reg = regs[i];
	else if (!take_word(text, "r") || !section_number(text, &reg))
		return 0;
	take_word(text, "+");
	section_number(text, &off);
	take_word(text, ")");
	if (reg < 0)
		return RULE(is_memory ? 2 : 4, off);
	return RULE(reg << 3 | (is_memory ? 3 : 1), off);
}

static void step_function(struct kunit *test, const char *text)
{
	u32 off = need_value(test, &text) - code(test, 0), cfa, fp, ra, nr = 0;
	u8 info = take_word(&text, "signal") ? SIGNAL : 0;
	s32 words[SFRAME_FRE_MAX_WORDS];
	s64 type = 0, row_info = 0, n;
	struct build *b;

	if (take_word(&text, "key-b"))
		info |= KEY_B;
	if (take_word(&text, "type"))
		section_number(&text, &type);
	if (take_word(&text, "no-rows")) {
		build_function(test, off, info, type);
		return;
	}
	if (take_word(&text, "row") && section_number(&text, &row_info)) {
		while (section_number(&text, &n))
			words[nr++] = n;
		build_words(build_function(test, off, info, type), 0, row_info, words, nr);
		return;
	}
	b = build_function(test, off, info, FLEX);
	if (take_word(&text, "end")) {
		build_row(b, 0, 0x01);
		return;
	}
	do {
		s64 start = 0;

		section_number(&text, &start);
		cfa = take_rule(&text);
		fp = take_rule(&text);
		ra = take_rule(&text);
		build_flex_row(b, start, cfa, ra, fp == LEFT_OUT ? 0 : fp);
	} while (take_word(&text, "|"));
}

static void step_call(struct kunit *test, const char *text)
{
	const struct call_case *no_call = &call_cases[ARRAY_SIZE(call_cases) - 1];
	unsigned long ra = need_value(test, &text), to = 0;

	if (take_value(test, &text, &to))
		store_call(test, plain_call(), ra, to);
	else
		store_call(test, take_word(&text, "*") ? by_pointer() : no_call, ra, 0);
}

static void step_put(struct kunit *test, const char *text)
{
	unsigned long at = need_value(test, &text);
	s64 byte;

	if (take_word(&text, "plt"))
		store_plt(test, &plt_cases[0], at, need_value(test, &text));
	if (take_word(&text, "stub"))
		user_store(test, at, sigreturn_stub, sizeof(sigreturn_stub));
	else if (take_word(&text, "return"))
		user_store(test, at, end_code, sizeof(end_code));
	for (; section_number(&text, &byte); at++)
		user_store(test, at, (u8 []){ byte }, 1);
}

#ifdef CONFIG_UPROBES
static void step_pend(struct kunit *test, const char *text)
{
	unsigned long cfa = need_value(test, &text) - stack(test, 0);

	pend(test, cfa, need_value(test, &text))->chained = take_word(&text, "chained");
}
#endif

static void step_sample(struct kunit *test, const char *text)
{
	unsigned long ip = need_value(test, &text), sp = need_value(test, &text), fp = 0;

	take_value(test, &text, &fp);
	sample(test, ip, sp, fp);
}

static void step_context(struct kunit *test, const char *text)
{
	u32 at = need_value(test, &text) - stack(test, 0);
	unsigned long fp = 0, a;

	word(test, at + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, at + CONTEXT_IP, need_value(test, &text));
	word(test, at + context_register(R_SP), need_value(test, &text));
	take_value(test, &text, &fp);
	word(test, at + context_register(R_FP), fp);
	if (take_value(test, &text, &a))
		word(test, at + context_register(R_A), a);
}

static void step_words(struct kunit *test, const char *text)
{
	unsigned long at, value;

	if (take_word(&text, "A=")) {
		set_register(&scene_of(test)->regs, R_A, need_value(test, &text));
	} else if (take_word(&text, "B=")) {
		set_register(&scene_of(test)->regs, R_B, need_value(test, &text));
	} else {
		at = need_value(test, &text);
		if (*text != '=')
			KUNIT_FAIL_AND_ABORT(test, "no step: %s", text);
		for (; take_value(test, &text, &value); at += 8)
			store_word(test, at, value);
	}
}

static void step_callers(struct kunit *test, const char *text)
{
	unsigned long want = need_value(test, &text);

	KUNIT_EXPECT_EQ(test, count_callers(test), want);
	expect_end(test, text + 1);
}

static void step_fill(struct kunit *test, const char *text)
{
	unsigned long at = need_value(test, &text), end = need_value(test, &text);
	unsigned long distance = need_value(test, &text), value = need_value(test, &text);

	for (; at < end; at += distance)
		store_word(test, at, value);
}

static struct sfu_range *take_range(struct kunit *test, const char **text)
{
	bool is_bare = take_word(text, "b");

	if (!is_bare && !take_word(text, "c"))
		KUNIT_FAIL_AND_ABORT(test, "no range: %s", *text);
	return &scene_of(test)->map->ranges[is_bare];
}

static void step_range(struct kunit *test, const char *text)
{
	static const char *const habits[] = {
		[SFRAME_KEEPS_FP_UNKNOWN] = "habit-unknown", [SFRAME_KEEPS_FP_NO] = "keeps-no-fp",
		[SFRAME_KEEPS_FP_YES] = "keeps-fp",
	};
	struct sfu_range *range = take_range(test, &text);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(habits); i++)
		if (take_word(&text, habits[i]))
			range->keeps_fp = i;
	if (take_word(&text, "jumped-to-from")) {
		range->section.entry_start = need_value(test, &text);
		range->section.entry_size = 16;
	} else if (take_word(&text, "of-file")) {
		range->vma.file = (void *)test;	/* compared, and never read */
	} else if (take_word(&text, "of-no-file")) {
		range->vma.file = NULL;
	} else if (take_word(&text, "without-data")) {
		range->has_no_data = true;
	} else if (take_word(&text, "unnamed")) {
		range->is_unnamed = true;
	} else if (take_word(&text, "bad")) {
		atomic_set(&range->section.state, SFU_SECTION_BAD);
	} else if (take_word(&text, "ready")) {
		atomic_set(&range->section.state, SFU_SECTION_READY);
	} else if (take_word(&text, "renumbered")) {
		renumber(range);
	} else if (take_word(&text, "unmapped")) {
		sfu_range_mark_unmapped(range);
	}
	if (*text)
		KUNIT_FAIL_AND_ABORT(test, "no state of a range: %s", text);
}

static const char *frames_text(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 i;

	scene->len = 0;
	scene->text[0] = '\0';
	for (i = 0; i < NR_SFU_METHODS; i++) {
		u32 nr = scene->walk.nr_frames[i];

		if (nr)
			append(scene, nr > 1 ? "%s%s=%u" : "%s%s", scene->len ? " " : "",
			       sfu_method_names[i], nr);
	}
	if (scene->walk.nr_switches)
		append(scene, " switches=%u", scene->walk.nr_switches);
	return scene->text;
}

static const char *counted_text(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	counters_text(&scene->since, scene->text);
	return scene->text;
}

static bool compare(struct kunit *test, const char *step)
{
	static const struct {
		const char	*name;
		const char	*(*text)(struct kunit *test);
	} texts[] = {
		{ "walk ", walk_text }, { "step ", step_text }, { "second ", second_step_text },
		{ "frames ", frames_text }, { "counted ", counted_text },
#ifdef CONFIG_UPROBES
		{ "probed ", probed_text }, { "at-breakpoint ", text_at_breakpoint },
#endif
#ifdef SFU_HAVE_OPTIMIZED_UPROBES
		{ "new-thread ", text_of_new_thread },
#endif
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (take_word(&step, texts[i].name)) {
			KUNIT_EXPECT_STREQ(test, texts[i].text(test), step);
			return true;
		}
	}
	return false;
}

static void run_step(struct kunit *test, char *text)
{
	const char *step = text;
	s64 number;

	if (take_word(&step, PUSHED_BY_CALL ? "arm64: " : "x86: "))
		return;
	take_word(&step, PUSHED_BY_CALL ? "x86: " : "arm64: ");
	if (compare(test, step))
		return;
	if (take_word(&step, "fn ")) {
		step_function(test, step);
		use_section(test);
	} else if (take_word(&step, "no-fn")) {
		build_start(&scene_of(test)->b, 3, 0, ABI);
	} else if (take_word(&step, "at ")) {
		step_sample(test, step);
	} else if (take_word(&step, "call ")) {
		step_call(test, step);
	} else if (take_word(&step, "callers ")) {
		step_callers(test, step);
	} else if (take_word(&step, "fill ")) {
		step_fill(test, step);
	} else if (take_word(&step, "recursion ") && section_number(&step, &number)) {
		recursion_scene(test, number);
	} else if (take_word(&step, "exec ") && section_number(&step, &number)) {
		current->in_execve = number;
	} else if (take_word(&step, "sections ") && section_number(&step, &number)) {
		scene_of(test)->map->nr_sections = number;
	} else if (take_word(&step, "put ")) {
		step_put(test, step);
	} else if (take_word(&step, "context ")) {
		step_context(test, step);
	} else if (take_word(&step, "range ")) {
		step_range(test, step);
	} else if (take_word(&step, "state ")) {
		KUNIT_EXPECT_STREQ(test, state_text(take_range(test, &step)), step + 1);
	} else if (take_word(&step, "map ")) {
		scene_of(test)->map = take_word(&step, "empty") ? build_map(test, 0) : NULL;
	} else if (take_word(&step, "forbid ")) {
		user_remap(test, need_value(test, &step), PROT_NONE);
	} else if (take_word(&step, "renew ")) {
		user_remap(test, need_value(test, &step), PROT_READ | PROT_WRITE);
	} else if (take_word(&step, "unmap ")) {
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(need_value(test, &step), PAGE_SIZE));
	} else if (take_word(&step, "other-stack")) {
		map_other_stack(test);
#ifdef CONFIG_UPROBES
	} else if (take_word(&step, "pend ")) {
		step_pend(test, step);
#endif
	} else if (take_word(&step, "budget ") && section_number(&step, &number)) {
		scene_of(test)->budget = number;
	} else {
		step_words(test, step);
	}
}

void run_walk_steps(struct kunit *test, const char *format, ...)
{
	struct walk_scene *scene = test->priv;
	va_list args;

	counters_read(&scene->since);
	va_start(args, format);
	run_each_step(test, scene->script, run_step, format, args);
	va_end(args);
}

void run_walk_script(struct kunit *test)
{
	run_walk_steps(test, "%s", ((const struct script_case *)test->param_value)->script);
}

/* ---- the suites; the cached ones run the tests again, by the fast path ---- */

static struct kunit_suite suites[] = {
	{ .name = "sframe_walk_bounds", .init = walk_scene_init, .test_cases = walk_bounds_tests },
	{ .name = "sframe_walk_fallback", .init = walk_scene_init,
	  .test_cases = walk_fallback_tests },
	{ .name = "sframe_walk_fallback_cached", .init = walk_scene_init_cached,
	  .test_cases = walk_fallback_tests },
	{ .name = "sframe_walk_progress", .init = walk_scene_init,
	  .test_cases = walk_progress_tests },
	{ .name = "sframe_walk_progress_cached", .init = walk_scene_init_cached,
	  .test_cases = walk_progress_tests },
	{ .name = "sframe_walk_random", .init = walk_scene_init, .test_cases = walk_random_tests },
	{ .name = "sframe_walk_signal", .init = walk_scene_init, .test_cases = walk_signal_tests },
	{ .name = "sframe_walk_signal_cached", .init = walk_scene_init_cached,
	  .test_cases = walk_signal_tests },
	{ .name = "sframe_walk_start", .init = walk_scene_init, .test_cases = walk_start_tests },
	{ .name = "sframe_walk_start_cached", .init = walk_scene_init_cached,
	  .test_cases = walk_start_tests },
	{ .name = "sframe_walk_step", .init = walk_scene_init, .test_cases = walk_step_tests },
	{ .name = "sframe_walk_step_cached", .init = walk_scene_init_cached,
	  .test_cases = walk_step_tests },
	{ .name = "sframe_walk_stop", .init = walk_scene_init, .test_cases = walk_stop_tests },
};

kunit_test_suites(&suites[0], &suites[1], &suites[2], &suites[3], &suites[4], &suites[5],
		  &suites[6], &suites[7], &suites[8], &suites[9], &suites[10], &suites[11],
		  &suites[12]);
