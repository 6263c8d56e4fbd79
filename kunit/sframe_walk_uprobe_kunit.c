// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: return addresses that uretprobes have replaced. */
#include <linux/sched.h>

#include "walk_scene.h"

#ifdef CONFIG_UPROBES

/* A uretprobe is pending for the function whose frame ends @cfa into the stack. */
static struct return_instance *pend(struct kunit *test, s32 cfa, unsigned long ra)
{
	struct walk_scene *scene = test->priv;
	struct return_instance *pending;

	pending = kunit_kzalloc(test, sizeof(*pending), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pending);
	pending->stack = stack(test, 0) + cfa - PUSHED_BY_CALL;
	pending->orig_ret_vaddr = ra;
	pending->next = scene->utask.return_instances;
	scene->utask.return_instances = pending;
	return pending;
}

/* No assertion may end the test while current->utask is set: the kernel would free it. */
static const char *probed_text(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	const char *text;

	current->utask = &scene->utask;
	text = walk_text(test);
	current->utask = NULL;
	return text;
}

#define expect_probed(test, want, ...)					\
	expect_text(test, probed_text, want, __VA_ARGS__)

/* c4 is called from c44, and c44 from c84. */
static void uretprobe_scene(struct kunit *test)
{
	outermost_function(test, 0x80);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
}

static void uretprobe_each_frame(struct kunit *test)
{
	uretprobe_scene(test);
	word(test, 0x08, TRAMPOLINE);
	expect_probed(test, "c4@0 bad-ra needs-scan");
	pend(test, 0x10, code(test, 0x44));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	word(test, 0x18, TRAMPOLINE);
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");
	pend(test, 0x20, code(test, 0x84));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	word(test, 0x08, code(test, 0x44));
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
}

/* Some levels of a recursion are probed. Levels above the kernel's limit are not. */
static void uretprobe_recursion(struct kunit *test)
{
	sp_function(test, 0, 16);
	outermost_function(test, 0x40);
	use_section(test);
	recursion_scene(test, 4);
	word(test, 0x38, TRAMPOLINE);
	pend(test, 0x40, code(test, 0x44));
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 4));
	word(test, 0x08, TRAMPOLINE);
	pend(test, 0x10, code(test, 4));
	expect_probed(test, "c4@0 c4@10 c4@20 c4@30 c44@40 complete");
}

/* A probed function ends with a jump to another probed function. */
static void uretprobe_inherited(struct kunit *test)
{
	uretprobe_scene(test);
	word(test, 0x08, TRAMPOLINE);
	pend(test, 0x10, code(test, 0x44));
	pend(test, 0x10, code(test, 0x44))->chained = true;
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
}

/* longjmp() leaves entries of frames that are gone. */
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

/* Only the stack pointer at entry identifies a frame. */
static void uretprobe_of_another_frame(struct kunit *test)
{
	s32 off;

	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	for (off = -16; off <= 16; off++)
		if (off)
			pend(test, 0x20 + off, code(test, 0x84));
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");
}

/* A return address at the start of a page is not always a trampoline. */
static void uretprobe_none_at_page(struct kunit *test)
{
	outermost_function(test, PAGE_SIZE - 64);
	call_scene(test);
	word(test, 0x18, code(test, PAGE_SIZE));
	expect_probed(test, "c4@0 c44@10 c1000@20 complete");
	pend(test, 0x10, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 c1000@20 complete");
}

/* The frame is not set up yet, and the return address may be in a register. */
static void uretprobe_sampled_at_first(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	flex_function(test, 0, AT_REG(R_SP, 0), AT_REG(R_B, 0), 0);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	use_section(test);
	sample(test, code(test, 0), stack(test, 0x10), 0);
	set_register(&scene->regs, R_B, TRAMPOLINE);
	pend(test, 0x10, code(test, 0x44));
	word(test, 0x18, code(test, 0x84));
	expect_probed(test, "c0@10 c44@10 c84@20 complete");
}

/* The call before the original return address proves a frame. */
static void uretprobe_by_fp(struct kunit *test)
{
	fallback_scene(test);
	record(test, 0x20, 0, TRAMPOLINE);
	pend(test, 0x30, bare(test, 0x210));
	expect_probed(test, "b10@0 nodata");
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0));
	expect_probed(test, "b10@0 b210@30,fp? nodata");
}

/* The list has as many entries as the kernel allows, or one more, or no end, or a bad pointer. */
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
	/* One entry more. */
	pend(test, 0x100, code(test, 0x104));
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");

	last->stack = 0;
	last->next = last;
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");
	((struct walk_scene *)test->priv)->utask.return_instances = last;
	last->next = (void *)-PAGE_SIZE;
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");
	last->next = (void *)stack(test, 0);
	expect_probed(test, "c4@0 c44@10 bad-ra needs-scan");
}

/* After a return one register may still hold its target: R_B. */
static void sample_returned(struct kunit *test, unsigned long ip, unsigned long sp)
{
	struct walk_scene *scene = test->priv;

	sample(test, ip, sp, 0);
	set_register(&scene->regs, R_B, round_down(ip, PAGE_SIZE));
}

/*
 * The sample is in the trampoline. It has pushed some or all of its registers, below the place of
 * the return address.
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
	/* The function of this entry is not the one that has returned. */
	pend(test, -0x40, code(test, 0x104));
	sample_returned(test, bare(test, 0), stack(test, 0x10));
	expect_probed(test, "c44@10 c84@20 complete");
	/* No entry matches. */
	sample_returned(test, bare(test, 0), stack(test, 0x28));
	expect_probed(test, "b0@28 nodata");
	/*
	 * The sample is after the trampoline in its page; then in other code that no function
	 * returned to.
	 */
	sample_returned(test, bare(test, sizeof(trampoline)), stack(test, 0x10));
	expect_walk(test, "b" TRAMPOLINE_END "@10 nodata");
	expect_probed(test, "b" TRAMPOLINE_END "@10 nodata");
	user_store(test, bare(test, sizeof(trampoline) - 1), "", 1);
	sample(test, bare(test, 0), stack(test, 0x10), 0);
	set_register(&((struct walk_scene *)test->priv)->regs, R_B, code(test, 0x44));
	expect_probed(test, "b0@10 nodata");
}

/* Before 6.11 the trampoline is a breakpoint. The sample is at it, or after it. */
static void uretprobe_sampled_at_old_trampoline(struct kunit *test)
{
	unsigned long off;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "the trampoline has always been a breakpoint");
	uretprobe_scene(test);
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 0x84));
	pend(test, 0x10, code(test, 0x44));
	user_store(test, bare(test, 0), "\xcc\x90\x90", 3);
	for (off = 0; off <= 1; off++) {
		sample(test, bare(test, off), stack(test, 0x10), 0);
		expect_probed(test, "c44@10 c84@20 complete", "at 0x%lx", off);
	}
	/* After another instruction; then no function has returned to it. */
	sample(test, bare(test, 2), stack(test, 0x10), 0);
	expect_probed(test, "b2@10 nodata");
	sample(test, bare(test, 1), stack(test, 0x28), 0);
	expect_probed(test, "b1@28 nodata");
}

/* The probe has been handled: the return address is on the stack. */
static void uretprobe_sampled_after_trampoline(struct kunit *test)
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
	/* So it is if the caller is probed, too: its entry is that of another return. */
	word(test, 0x18, TRAMPOLINE);
	pend(test, 0x20, code(test, 0x84));
	sample(test, bare(test, 0x10), stack(test, 0x08), 0);
	expect_probed(test, "c44@10 c84@20 complete");
	word(test, 0x18, code(test, 0x84));
	((struct walk_scene *)test->priv)->utask.return_instances = NULL;
	sample(test, bare(test, 0x0b), stack(test, 0) - 8, 0);
	expect_probed(test, "bb@? nodata");
	/* The return address is not code. */
	word(test, 0x08, stack(test, 0));
	sample(test, bare(test, 0x10), stack(test, 0x08), 0);
	expect_probed(test, "b10@8 nodata");
}

/* The sample is in the out-of-line copy: before the instruction and after it. */
static void uretprobe_sampled_in_copy(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	uretprobe_scene(test);
	scene->utask.xol_vaddr = TRAMPOLINE + 0x80;
	scene->utask.vaddr = code(test, 0);
	sample(test, TRAMPOLINE + 0x80, stack(test, 0), 0);
	expect_probed(test, "c0@0 c44@10 c84@20 complete");
	sample(test, TRAMPOLINE + 0x84, stack(test, 0), 0);
	expect_probed(test, "c4@0 c44@10 c84@20 complete");
	sample(test, TRAMPOLINE + 0x7f, stack(test, 0), 0);
	expect_probed(test, "?@0 unscanned needs-scan");
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

/* A breakpoint has replaced push %rax, which has not been executed. */
static void uretprobe_after_breakpoint(struct kunit *test)
{
	struct build *b;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "a breakpoint leaves the ip at it");
	b = build_function(test, 0, 0, FLEX);
	build_flex_row(b, 0, AT_REG(R_SP, 8), IN_CFA(-8), 0);
	build_flex_row(b, 1, AT_REG(R_SP, 16), IN_CFA(-8), 0);
	sp_function(test, 0x40, 16);
	outermost_function(test, 0x80);
	use_section(test);
	word(test, 0x08, code(test, 0x44));
	word(test, 0x18, code(test, 0x84));
	user_store(test, code(test, 0), "\xcc", 1);
	sample(test, code(test, 1), stack(test, 0x08), 0);
	expect_at_breakpoint(test, "c0@8 c44@10 c84@20 complete");
	/* The task has no flag; only the call shows it. */
	store_call(test, plain_call(), code(test, 0x44), code(test, 0));
	expect_probed(test, "c0@8 c44@10 c84@20 complete");
	/* The instruction has been executed meanwhile. */
	sample(test, code(test, 1), stack(test, 0), 0);
	expect_probed(test, "c1@0 c44@10 c84@20 complete");
	/* The same if the called function jumped here. */
	store_call(test, plain_call(), code(test, 0x44), code(test, 0x40));
	expect_probed(test, "c1@0 c44@10 c84@20 complete");
	sample(test, code(test, 1), stack(test, 0x08), 0);
	expect_probed(test, "c0@8 c44@10 c84@20 complete");
	/* The task is at another breakpoint: this byte is none, or is before the function. */
	sample(test, code(test, 2), stack(test, 0), 0);
	expect_at_breakpoint(test, "c2@0 c44@10 c84@20 complete");
	user_store(test, code(test, 0x3f), "\xcc\xcc", 2);
	sample(test, code(test, 0x40), stack(test, 0x10), 0);
	expect_at_breakpoint(test, "c40@10 c84@20 complete");
	user_store(test, code(test, 0x40), "\x90", 1);
	expect_at_breakpoint(test, "c40@10 c84@20 complete");
}

/*
 * A breakpoint has replaced the first byte of an instruction that does not move the stack pointer.
 * The task has no flag. Both rows find the call of this function.
 */
static void uretprobe_after_breakpoint_without_flag(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "a breakpoint leaves the ip at it");
	sp_function(test, 0, 16);
	outermost_function(test, 0x40);
	use_section(test);
	word(test, 0x08, code(test, 0x44));
	user_store(test, code(test, 0), "\xcc\x83", 2);
	store_call(test, plain_call(), code(test, 0x44), code(test, 0));
	sample(test, code(test, 1), stack(test, 0), 0);
	expect_probed(test, "c0@0 c44@10 complete");
	/* In the middle of a function, such an instruction may have one byte. */
	user_store(test, code(test, 0), "\x90", 1);
	user_store(test, code(test, 1), "\xcc\x83", 2);
	sample(test, code(test, 2), stack(test, 0), 0);
	expect_probed(test, "c2@0 c44@10 complete");
}

/* The page that an optimized uprobe calls; 7.2 moves the stack pointer before. */
static const u8 probe_page[] = {
	0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0, 0x50, 0x01, 0x00, 0x00, 0x0f, 0x05,
	0x58, 0x41, 0x5b, 0x59, 0xc2, 0x80, 0x00, 0xcc,
};

#define PROBE_BYTES	10

/* The probed instruction is at c4. Two instructions have replaced it. */
static void optimized_scene(struct kunit *test)
{
	u8 call[PROBE_BYTES] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8 };
	s32 rel = bare(test, 0) - code(test, 4 + sizeof(call));

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "no uprobe is optimized");
	memcpy(call + 6, &rel, sizeof(rel));
	outermost_function(test, 0x80);
	call_scene(test);
	word(test, 0xa8, code(test, 0x44));
	word(test, 0xb8, code(test, 0x84));
	user_store(test, bare(test, 0), probe_page, sizeof(probe_page));
	user_store(test, code(test, 4), call, sizeof(call));
}

/* The call of the page returns to ce. */
static void uprobe_page_of_optimized(struct kunit *test)
{
	static const u8 at[] = { 0x00, 0x01, 0x03, 0x04, 0x0b, 0x0d, 0x0e, 0x10, 0x11 };
	static const u8 pushed[] = { 0, 8, 16, 24, 24, 24, 16, 8, 0 };
	static const u8 short_end[] = { 0xc3, 0xcc };
	u32 i;

	optimized_scene(test);
	word(test, 0x18, code(test, 4 + PROBE_BYTES));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		sample(test, bare(test, at[i]), stack(test, 0x18) - pushed[i], 0);
		expect_probed(test, "ce@a0 c44@b0 c84@c0 complete", "at 0x%x", at[i]);
	}
	/* The kernel has raised the stack pointer, and the ip is still in the page. */
	sample(test, bare(test, 0x0d), stack(test, 0xa0), 0);
	expect_probed(test, "ce@a0 c44@b0 c84@c0 complete");
	/* In the middle of an instruction; after the end. */
	sample(test, bare(test, 0x0c), stack(test, 0x18), 0);
	expect_probed(test, "bc@18 nodata");
	sample(test, bare(test, 0x14), stack(test, 0x18), 0);
	expect_probed(test, "b14@18 nodata");
	/* A BPF program has changed the return address; it is not code. */
	word(test, 0x18, code(test, 0x44));
	sample(test, bare(test, 0x11), stack(test, 0x18), 0);
	expect_probed(test, "c44@a0 c44@b0 c84@c0 complete");
	word(test, 0x18, stack(test, 0));
	expect_probed(test, "b11@18 nodata");
	/* Before 7.2 the call is all there is. */
	user_store(test, bare(test, 0x11), short_end, sizeof(short_end));
	word(test, 0x98, code(test, 4 + PROBE_BYTES));
	sample(test, bare(test, 0x0d), stack(test, 0x80), 0);
	expect_probed(test, "ce@a0 c44@b0 c84@c0 complete");
	/* There it is raised by less. */
	sample(test, bare(test, 0x0d), stack(test, 0xa0), 0);
	expect_probed(test, "ce@a0 c44@b0 c84@c0 complete");
	/* Another page begins alike. */
	user_store(test, bare(test, 0x11), "\x90", 1);
	sample(test, bare(test, 0x0d), stack(test, 0x80), 0);
	expect_probed(test, "bd@80 nodata");
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

/* The kernel has not heard yet that this thread has come to a probe. */
static void uprobe_of_new_thread(struct kunit *test)
{
	optimized_scene(test);
	sample(test, code(test, 9), stack(test, 0x20), 0);
	expect_text(test, text_of_new_thread, "c4@a0 c44@b0 c84@c0 complete");
	word(test, 0x18, code(test, 4 + PROBE_BYTES));
	sample(test, bare(test, 0), stack(test, 0x18), 0);
	expect_text(test, text_of_new_thread, "ce@a0 c44@b0 c84@c0 complete");
}
#endif

/* Before the probed instruction, in the middle of what replaces it, and later. */
static void uprobe_call_of_optimized(struct kunit *test)
{
	optimized_scene(test);
	sample(test, code(test, 4), stack(test, 0xa0), 0);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	sample(test, code(test, 9), stack(test, 0x20), 0);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	/* The kernel takes the probe away, and leaves the call to those that are before it. */
	user_store(test, code(test, 4), "\xcc", 1);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	user_store(test, code(test, 4), "\x66\x2e\x0f\x1f\x84", 5);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	/* The kernel is about to go back to the page. */
	word(test, 0x18, code(test, 4 + PROBE_BYTES));
	sample(test, code(test, 4), stack(test, 0), 0);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	user_store(test, code(test, 4), "\x48\x8d\x64\x24\x80", 5);
	expect_probed(test, "c4@a0 c44@b0 c84@c0 complete");
	/* Other code calls a page that is another one. */
	user_store(test, bare(test, 0), "\x90", 1);
	word(test, 0x28, code(test, 0x44));
	word(test, 0x38, code(test, 0x84));
	sample(test, code(test, 9), stack(test, 0x20), 0);
	expect_probed(test, "c9@20 c44@30 c84@40 complete");
}

/* A signal comes while the kernel handles a probe. It strikes where the system call returns to. */
static void uretprobe_signal_strikes(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "no system call handles a probe");
	signal_scene(test, bare(test, 0x100));
	user_store(test, bare(test, 0), trampoline, sizeof(trampoline));
	store_context(test, CONTEXT, bare(test, 0x0d), stack(test, 0x100), 0);
	word(test, 0x110, code(test, 0x44));
	word(test, 0x120, code(test, 0x84));
	expect_walk(test, "c4@ff0 b100@1000 bd@100 nodata");
	expect_probed(test, "c4@ff0 b100@1000 c44@118 c84@128 complete");
	user_store(test, bare(test, 0), probe_page, sizeof(probe_page));
	store_call(test, plain_call(), code(test, 0x4e), bare(test, 0));
	word(test, 0x118, code(test, 0x4e));
	word(test, 0x1a8, code(test, 0x84));
	expect_probed(test, "c4@ff0 b100@1000 c4e@1a0 c84@1b0 complete");
	/* It strikes before the call of the page, at c49; then elsewhere. */
	store_context(test, CONTEXT, code(test, 0x49), stack(test, 0x120), 0);
	expect_probed(test, "c4@ff0 b100@1000 c44@1a0 c84@1b0 complete");
	store_context(test, CONTEXT, code(test, 0x44), stack(test, 0x1a0), 0);
	expect_probed(test, "c4@ff0 b100@1000 c44@1a0 c84@1b0 complete");
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
	KUNIT_CASE(uretprobe_sampled_at_old_trampoline),
	KUNIT_CASE(uretprobe_sampled_after_trampoline),
	KUNIT_CASE(uretprobe_sampled_in_copy),
	KUNIT_CASE(uretprobe_after_breakpoint),
	KUNIT_CASE(uretprobe_after_breakpoint_without_flag),
	KUNIT_CASE(uprobe_page_of_optimized),
	KUNIT_CASE(uprobe_call_of_optimized),
#ifdef SFU_HAVE_OPTIMIZED_UPROBES
	KUNIT_CASE(uprobe_of_new_thread),
#endif
	KUNIT_CASE(uretprobe_signal_strikes),
	{}
};

static struct kunit_suite uretprobe_suite = {
	.name = "sframe_walk_uretprobe",
	.init = walk_scene_init,
	.test_cases = uretprobe_tests,
};

static struct kunit_suite uretprobe_cached_suite = {
	.name = "sframe_walk_uretprobe_cached",
	.init = walk_scene_init_cached,
	.test_cases = uretprobe_tests,
};

kunit_test_suite(uretprobe_suite);
kunit_test_suite(uretprobe_cached_suite);
#endif /* CONFIG_UPROBES */
