// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the hooks, sframe_unwind.c: the stacks that perf and BPF get from the functions
 * that they call, and the counters and the trace of a walk.
 *
 * A stack is compared as a text: the addresses of the frames, in hex, from the beginning of the
 * image's code. By SFrame the stack here is "10 100 200"; the kernel, by frame pointers, finds "10
 * 500 600".
 */
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_buf.h>

#include "compat.h"
#include "sframe_trace.h"
#include "walk/walk.h"
#include "user_arch.h"
#include "scan_scene.h"

#define STACK_PAGE	8	/* and the next one */
#define NO_PAGE		30	/* PROT_NONE */

#define MAX_FRAMES	16
#define TEXT		128

#define BY_SFRAME	"10 100 200"
#define BY_FP		"10 500 600"

/* The counters of a walk that finds BY_SFRAME. */
#define WHOLE		"walks stop.complete depth.complete=3 frames.sframe=2"
#define WHOLE_TRACED	" | 10 to 200, 3 frames, complete"

/* The offset of the rows, at 28 + 12 in the section, becomes the largest value. */
#define SPOIL		"patch 0x3028 4 0xffffffff"

struct hooks_scene {
	/* the scene of scans; its image is mapped at the beginning of the area */
	struct scan_scene		scan;
	struct pt_regs			regs;	/* registers of the sample, in the image's code */
	unsigned int			task;	/* PF_* of the sampled task */
	bool				is_guest;	/* the sample is of a guest */
	struct perf_callchain_entry_ctx	ctx;	/* what perf_callchain_user() gets */
	struct perf_callchain_entry	*entry;	/* and where it stores; room for MAX_FRAMES */
	char				counted[COUNTERS_TEXT];	/* what the sample has counted */
	char				traced[TEXT];	/* the trace events, as a text */
};

static unsigned long code(struct kunit *test, unsigned long off)
{
	return page(test, IMAGE_CODE) + off;
}

static void put_words(struct kunit *test, unsigned long addr, unsigned long first,
		      unsigned long second)
{
	unsigned long words[] = { first, second };

	user_store(test, addr, words, sizeof(words));
}

/* Where three frames end with a page, as the stack of a coroutine does. */
static unsigned long stack_at(struct kunit *test)
{
	return page(test, STACK_PAGE) + PAGE_SIZE - 3 * 16;
}

/*
 * Frames have 16 bytes: the frame pointer and the return address, which is 0 in the last one. The
 * frame pointer register leads to other frames.
 */
static void make_stack(struct kunit *test)
{
	unsigned long start = page(test, STACK_PAGE), sp = stack_at(test), fp = sp + 0x800;
	struct hooks_scene *scene = test->priv;

	KUNIT_ASSERT_EQ(test, start, vm_mmap(NULL, start, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					     MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
	put_words(test, sp, 0, code(test, 0x100));
	put_words(test, sp + 16, 0, code(test, 0x200));
	put_words(test, sp + 32, 0, 0);
	put_words(test, fp, fp + 16, code(test, 0x500));
	put_words(test, fp + 16, 0, code(test, 0x600));
	user_regs(&scene->regs, code(test, 0x10), sp, fp);
}

static void on_walk(void *data, unsigned long ip, unsigned long stop_ip,
		    unsigned int nr_frames, const char *reason)
{
	struct hooks_scene *scene = data;
	unsigned long base = scene->scan.area + IMAGE_CODE * PAGE_SIZE;
	size_t len = strlen(scene->traced);

	scnprintf(scene->traced + len, TEXT - len, "%s%lx to %lx, %u frames, %s", len ? ", " : "",
		  ip - base, stop_ip - base, nr_frames, reason);
}

static void stop_tracing(void *scene)
{
	unregister_trace_sfu_walk(on_walk, scene);
	tracepoint_synchronize_unregister();
}

#define POISON	0xdeadULL

/* @frames has MAX_FRAMES entries of u64 or unsigned long; @nr of them were stored. */
static void expect_frames(struct kunit *test, const void *frames, u64 nr, const char *want)
{
	const u64 *ips = frames;
	char got[TEXT] = "";
	struct seq_buf s;
	u64 i;

	BUILD_BUG_ON(sizeof(u64) != sizeof(unsigned long));
	seq_buf_init(&s, got, TEXT);
	for (i = 0; i < nr; i++)
		seq_buf_printf(&s, "%s%llx", i ? " " : "", ips[i] - code(test, 0));
	seq_buf_str(&s);
	KUNIT_EXPECT_STREQ(test, got, want);
	for (i = nr; i < MAX_FRAMES; i++)
		KUNIT_EXPECT_EQ(test, ips[i], POISON);
}

static unsigned int become(unsigned int flags)
{
	unsigned int mask = PF_KTHREAD | PF_USER_WORKER | PF_VCPU;
	unsigned int old = current->flags & mask;

	current->flags = (current->flags & ~mask) | flags;
	return old;
}

/* Compares what one walk has counted, and its trace event; there is none if it is declined. */
static void expect_reported(struct kunit *test, const char *counted, const char *traced)
{
	struct hooks_scene *scene = test->priv;

	KUNIT_EXPECT_STREQ(test, scene->counted, counted);
	if (traced || strstarts(counted, "declined") || !*counted)
		KUNIT_EXPECT_STREQ(test, scene->traced, traced ?: "");
	scene->traced[0] = '\0';
}

static void count(struct hooks_scene *scene)
{
	counters_text(&scene->scan.since, scene->counted);
	counters_read(&scene->scan.since);
}

/* Takes a sample as perf does: nothing may sleep or fault. Requested scans run later. */
static void sample(struct kunit *test, const char *want, const char *counted, const char *traced)
{
	struct hooks_scene *scene = test->priv;
	struct perf_callchain_entry_ctx ctx = scene->ctx;
	unsigned int offset = scene->is_guest ? HARDIRQ_OFFSET : 0, old;

	memset64(scene->entry->ip, POISON, MAX_FRAMES);
	scene->entry->nr = 0;
	ctx.entry = scene->entry;
	local_irq_disable();
	old = become(scene->task);
	/* In an interrupt, as far as can be seen. */
	__preempt_count_add(offset);
	perf_callchain_user(&ctx, &scene->regs);
	__preempt_count_sub(offset);
	become(old);
	count(scene);
	local_irq_enable();
	expect_frames(test, scene->entry->ip, scene->entry->nr, want);
	/* The kernel adds no frames to those of a walk, even where there is room. */
	KUNIT_EXPECT_EQ(test, ctx.nr, strstarts(counted, "declined") ? scene->entry->nr :
			ctx.max_stack);
	expect_reported(test, counted, traced);
}

/* Unwinds as the kernel does on the way back to user mode. */
static void defer(struct kunit *test, const char *want, const char *counted, const char *traced)
{
#if SFU_HAVE_UNWIND_USER
	struct pt_regs *regs = task_pt_regs(current), saved = *regs;
	struct hooks_scene *scene = test->priv;
	unsigned long entries[MAX_FRAMES];
	struct unwind_stacktrace trace = { .nr = 99, .entries = entries };
	unsigned int old;
	int err;

	memset64((u64 *)entries, POISON, MAX_FRAMES);
	*regs = scene->regs;
	old = become(scene->task);
	err = unwind_user(&trace, scene->ctx.max_stack);
	become(old);
	*regs = saved;
	KUNIT_EXPECT_EQ(test, err, scene->ctx.max_stack ? 0 : -EINVAL);
	count(scene);
	expect_frames(test, entries, trace.nr, want);
	expect_reported(test, counted, traced);
#endif
}

static const struct kernel_param *find_parameter(const char *name)
{
	const struct kernel_param *param;

	for (param = __start___param; param < __stop___param; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

static void enable(void *value)
{
	const struct kernel_param *param = find_parameter("sframe_unwind.enabled");

	param->ops->set(value, param);
}

static void end_in_outermost(struct kunit *test)
{
	struct image *image = another_image(test);
	struct build *b = &image->section;
	const s64 start = IMAGE_CODE * PAGE_SIZE - image->section_at;

	build_start(b, 3, SORTED, SFU_ARCH_ABI);
	build_fde(b, start, PAGE_SIZE, ADDR1, 0, 0);
	build_image_row(b);
	build_fde(b, start + PAGE_SIZE, PAGE_SIZE, ADDR1, 0, 0);
	build_row(b, 0, 0x01);
	build_finish(b);
	image->phdrs[IMAGE_PH_SFRAME].p_filesz = b->len;
	image->phdrs[IMAGE_PH_SFRAME].p_memsz = b->len;
	image_write(test, image);
	image_map(test, image, page(test, 0));
	put_words(test, stack_at(test) + 16, 0, code(test, 0x1200));
}

static const char *next_part(char **text)
{
	char *part = strsep(text, "|");

	return part ? strim(part) : NULL;
}

/*
 * Steps of a script, besides those of scan_scene.h, change the sampled registers and the stack:
 *
 *	no-fp			without a frame pointer the kernel's own stack is "10"
 *	no-stack, at P		there is no stack; code at the beginning of a page is sampled
 *	return P		the caller is code near the beginning of a page
 *	compat, kernel		the registers are those of 32-bit code, or of the kernel
 *	outermost		the caller of 100 is at 1200, and its row says that the stack ends
 *	begin-exec, end-exec	execve() begins, and ends
 *	disable			root disables the module
 *	kthread, io-worker	the task is such a one;
 *	vcpu, guest		is one that runs a guest; the sample is of that guest
 *	room MAX NR FULL	perf takes MAX frames, and has NR of the kernel's stack already; it
 *				takes more contexts (0) or not (1)
 *	scanned			a scan runs, and is not counted
 *	sample, deferred, both FRAMES | COUNTERS [| TRACE]
 *				compares a sample, a deferred stack (from 6.17 on), or first the one
 *				and then the other, with what it has counted, and its trace event
 */
static bool run_hooks_step(struct kunit *test, const char *step)
{
	unsigned long sp = stack_at(test), ip = code(test, 0x10);
	struct hooks_scene *scene = test->priv;
	struct perf_callchain_entry_ctx *ctx = &scene->ctx;
	struct pt_regs *regs = &scene->regs;
	char parts[256], *text = parts;
	const char *frames, *counted, *traced;
	unsigned int nr;

	strscpy(parts, step + min(strlen(step), strcspn(step, " ") + 1));
	if (!strcmp(step, "no-fp")) {
		user_regs(regs, ip, sp, 0);
	} else if (!strcmp(step, "no-stack")) {
		user_regs(regs, ip, page(test, NO_PAGE), 0);
	} else if (sscanf(step, "at %u", &nr) == 1) {
		user_regs(regs, page(test, nr), sp, sp + 0x800);
	} else if (sscanf(step, "return %u", &nr) == 1) {
		put_words(test, sp, 0, page(test, nr) + 0x10);
	} else if (!strcmp(step, "compat")) {
		user_regs_make_compat(regs);
	} else if (!strcmp(step, "kernel")) {
		user_regs_make_kernel(regs);
	} else if (!strcmp(step, "outermost")) {
		end_in_outermost(test);
	} else if (!strcmp(step, "begin-exec") || !strcmp(step, "end-exec")) {
		current->in_execve = *step == 'b';
	} else if (!strcmp(step, "disable")) {
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, enable, "Y"));
		enable("N");
	} else if (!strcmp(step, "kthread")) {
		scene->task |= PF_KTHREAD;
	} else if (!strcmp(step, "io-worker")) {
		scene->task |= PF_USER_WORKER;
	} else if (!strcmp(step, "vcpu") || !strcmp(step, "guest")) {
		scene->task |= PF_VCPU;
		scene->is_guest = *step == 'g';
	} else if (sscanf(step, "room %u %u %u", &ctx->max_stack, &ctx->nr, &nr) == 3) {
		ctx->contexts_maxed = nr;
	} else if (!strcmp(step, "scanned")) {
		KUNIT_ASSERT_EQ(test, 0, sfu_processes_scan(current->mm));
		counters_read(&scene->scan.since);
	} else if (strstarts(step, "sample ") || strstarts(step, "deferred ") ||
		   strstarts(step, "both ")) {
		frames = next_part(&text);
		counted = next_part(&text);
		traced = next_part(&text);
		if (*step != 'd')
			sample(test, frames, counted, traced);
		if (*step != 's')
			defer(test, frames, counted, traced);
	} else {
		return false;
	}
	return true;
}

static int hooks_scene_init(struct kunit *test)
{
	struct hooks_scene *scene = test_alloc(test, sizeof(*scene));

	scene->entry = test_alloc(test, struct_size(scene->entry, ip, MAX_FRAMES));
	KUNIT_ASSERT_EQ(test, 0, scan_scene_begin(test, run_hooks_step));
	scene->scan = *(struct scan_scene *)test->priv;
	scene->ctx.max_stack = MAX_FRAMES;
	test->priv = scene;
	make_stack(test);
	map_image(test);
	KUNIT_ASSERT_EQ(test, 0, register_trace_sfu_walk(on_walk, scene));
	return kunit_add_action_or_reset(test, stop_tracing, scene);
}

#define OF_1	" | walks stop.full first.full depth.full | 10 to 10, 1 frames, full"
#define OF_2	" | walks stop.full depth.full=2 frames.sframe | 10 to 100, 2 frames, full"
#define OF_3	" | walks stop.full depth.full=3 frames.sframe=2 | 10 to 200, 3 frames, full"
#define ALL_OF_3	BY_SFRAME " | " WHOLE WHOLE_TRACED

#define BAD_RA		"walks stop.bad-ra first.bad-ra depth.bad-ra"
#define EXEC		"walks stop.exec first.exec depth.exec"
#define NODATA		"walks stop.nodata first.nodata depth.nodata"
#define SECTION_FAULT	"walks stop.section-fault first.section-fault depth.section-fault"
#define STACK_FAULT	"walks stop.stack-fault first.stack-fault depth.stack-fault"
#define UNSCANNED	"walks stop.unscanned first.unscanned depth.unscanned"
#define BORROWED_BAD	"walks stop.bad-section first.bad-section depth.bad-section"
#define BAD_SECTION	BORROWED_BAD " defect.fre-off section.bad"

/* There is code without a section, too, at page 17. A page has 0x1000 bytes. */
#define SCANNED_BOTH	"other 16; scanned; "

static const struct script_case script_cases[] = {
	/* If there are several reasons, only the first in this order is counted. */
	{ "disabled", "scanned; disable; both " BY_FP " | declined.disabled" },
	{ "kernel thread", "scanned; kthread; sample " BY_FP " | declined.kthread;"
	  "deferred | declined.kthread" },
	{ "io worker", "scanned; io-worker; both " BY_FP " | declined.kthread" },
	/* A task is no guest on its way to user mode. */
	{ "guest", "scanned; guest; sample " BY_FP " | declined.guest" },
	{ "32-bit code", "scanned; no-fp; compat; both 10 | declined.compat" },
	{ "registers of the kernel", "scanned; no-fp; kernel; sample 10 | declined.compat;"
	  "deferred | declined.compat" },
	{ "no section", "other 0; scanned; both " BY_FP " | declined.no-section" },
	{ "disabled, kernel thread", "scanned; disable; kthread; sample " BY_FP
	  " | declined.disabled; deferred | declined.disabled" },
	{ "kernel thread, guest", "scanned; kthread; guest; sample " BY_FP " | declined.kthread;"
	  "deferred | declined.kthread" },
	{ "guest, 32-bit code", "scanned; guest; no-fp; compat; sample 10 | declined.guest" },
	{ "32-bit code, no section", "other 0; scanned; no-fp; compat; both 10 | declined.compat" },
	/* Between two steps of the guest, the task that runs it is a task as any. */
	{ "vcpu", "scanned; vcpu; sample " BY_SFRAME " | " WHOLE },
	/* The module stores its frames up to the limit. The kernel adds none. */
	{ "room for 0", "scanned; room 0 0 0; sample " OF_1 "; deferred |" },
	{ "room for 1", "scanned; room 1 0 0; both 10" OF_2 },
	{ "room for 2", "scanned; room 2 0 0; both 10 100" OF_3 },
	{ "room for 3", "scanned; room 3 0 0; both " ALL_OF_3 },
	{ "room for 4", "scanned; room 4 0 0; both " ALL_OF_3 },
	{ "6 places, 4 of them taken", "scanned; room 6 4 0; sample 10 100" OF_3 },
	{ "6 places, 3 of them taken", "scanned; room 6 3 0; sample " ALL_OF_3 },
	{ "6 places, all of them taken", "scanned; room 6 6 0; sample " OF_1 },
	{ "no room for contexts", "scanned; room 6 0 1; sample " OF_1 },
	/* Each end of a walk is counted and traced once. A deferred walk scans at once. */
	{ "complete", SCANNED_BOTH "both " ALL_OF_3 },
	{ "stack-fault",
	  SCANNED_BOTH "no-stack; both 10 | " STACK_FAULT " | 10 to 10, 1 frames, stack-fault" },
	{ "nodata",
	  SCANNED_BOTH "at 17; both 10000 | " NODATA " | 10000 to 10000, 1 frames, nodata" },
	{ "unscanned", SCANNED_BOTH "at 30; sample 1d000 | " UNSCANNED
	  " scan.requests | 1d000 to 1d000, 1 frames, unscanned" },
	{ "bad-ra", SCANNED_BOTH "return 30; sample 10 | " BAD_RA
	  " scan.requests | 10 to 10, 1 frames, bad-ra" },
	{ "section-fault", SCANNED_BOTH "drop 3 1; sample 10 | " SECTION_FAULT
	  " scan.requests | 10 to 10, 1 frames, section-fault" },
	{ "bad-section",
	  SCANNED_BOTH SPOIL "; sample 10 | " BAD_SECTION " | 10 to 10, 1 frames, bad-section" },
	{ "exec, before the memory goes",
	  SCANNED_BOTH "begin-exec; both " ALL_OF_3 "; end-exec" },
#if SFU_HAVE_UNWIND_USER
	{ "deferred unscanned", SCANNED_BOTH "at 30; deferred 1d000 | " UNSCANNED
	  " scan.runs | 1d000 to 1d000, 1 frames, unscanned" },
	{ "deferred bad-ra", SCANNED_BOTH "return 30; deferred 10 | " BAD_RA
	  " scan.runs | 10 to 10, 1 frames, bad-ra" },
	{ "deferred section-fault",
	  SCANNED_BOTH "drop 3 1; deferred " BY_SFRAME " | " WHOLE " scan.runs" WHOLE_TRACED },
	{ "deferred bad-section",
	  SCANNED_BOTH SPOIL "; deferred 10 | " BAD_SECTION " | 10 to 10, 1 frames, bad-section" },
	{ "deferred first",
	  "deferred " BY_SFRAME " | " WHOLE " scan.runs; deferred " BY_SFRAME " | " WHOLE },
	/* Whether rows are known or not, no frame is lost. */
	{ "deferred outermost",
	  "outermost; deferred 10 100 1200 | " WHOLE " scan.runs; deferred 10 100 1200 | " WHOLE ";"
	  "deferred 10 100 1200 | " WHOLE },
#endif
	/* The first sample requests a scan, and later samples use its result. */
	{ "first",
	  "sample 10 | " UNSCANNED " scan.requests; run;"
	  "counted scan.runs; sample " BY_SFRAME " | " WHOLE },
	/* The process has no map yet, and the walk ends for another reason. */
	{ "first, in execve()",
	  "begin-exec; sample 10 | " EXEC " scan.requests; end-exec" },
	/* The caller's code has no row: the walk ends there, and not in the sampled frame. */
	{ "no data in the caller",
	  "other 16; return 17; scanned;"
	  "sample 10 10010 | walks stop.nodata depth.nodata=2 frames.sframe" },
	{ "after a bad section",
	  "scanned; " SPOIL "; sample 10 | " BAD_SECTION "; sample 10 | " NODATA },
	/* New code may have a section. */
	{ "no section, in new code",
	  "other 0; scanned; other 16; at 17;"
	  "sample 10000 500 600 | declined.no-section scan.requests" },
};

NAMED_CASES(script);

static void sample_without_mm(struct kunit *test)
{
	struct mm_struct *mm = current->mm;

	run_steps(test, "scanned; no-fp");
	kthread_unuse_mm(mm);
	sample(test, "10", "declined.kthread", NULL);
	kthread_use_mm(mm);
	sample(test, BY_SFRAME, WHOLE, NULL);
}

/* A new process needs nothing of its own: it asks for no memory. */
static void sample_new_process(struct kunit *test)
{
	add_new_process(test);
	run_steps(test, "counted scan.runs; sample " BY_SFRAME " | " WHOLE "; sample " BY_SFRAME
		  " | " WHOLE);
}

/* A child finds that its own copy of a section is bad. That says nothing about its parent's. */
static void sample_with_inherited_map(struct kunit *test)
{
	struct sfu_process *process;
	struct sfu_map *map;

	run_steps(test, "scanned");
	process = sfu_processes_get(current->mm);
	map = sfu_process_get_map(process);
	process->inherited.map = map;
	run_steps(test, SPOIL "; sample 10 | " BORROWED_BAD " scan.requests");
	KUNIT_EXPECT_TRUE(test, is_ready(&map->ranges[0]));
	run_steps(test, "run; counted scan.runs; sample 10 | " BAD_SECTION);
	KUNIT_EXPECT_TRUE(test, is_ready(&map->ranges[0]));
	sfu_map_put(map);
	sfu_process_put(process);
}

static void read_summary(struct kunit *test, char *text)
{
	const struct kernel_param *param = find_parameter("sframe_unwind.summary");

	KUNIT_ASSERT_NOT_NULL(test, param);
	KUNIT_EXPECT_EQ(test, param->ops->get(text, param), strlen(text));
}

/* Counts one of these. Only the numbers of the summary that @want names grow, by one. */
static void expect_added(struct kunit *test, const char *name, unsigned long __percpu *counter,
			 const char *want)
{
	char *then = test_alloc(test, 2 * PAGE_SIZE), *now = then + PAGE_SIZE;
	unsigned long before, after;
	char got[TEXT] = "", word[16];
	int len, then_len, nr = 0;

	read_summary(test, then);
	this_cpu_inc(*counter);
	read_summary(test, now);
	for (; sscanf(now, "%15s %lu %n", word, &after, &len) == 2; now += len, nr++) {
		if (sscanf(then, "%*s %lu %n", &before, &then_len) != 1)
			KUNIT_FAIL_AND_ABORT(test, "no number: %s", then);
		then += then_len;
		if (after - before == 1)
			scnprintf(got + strlen(got), TEXT - strlen(got), "%s;", word);
		else
			KUNIT_EXPECT_EQ(test, before, after);
	}
	KUNIT_EXPECT_EQ(test, 7, nr);
	KUNIT_EXPECT_STREQ(test, now, "");
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "%s", name);
}

#define EXPECT_ADDED(field, want)	expect_added(test, #field, &sfu_counters.field, want)

static void summary_adds(struct kunit *test)
{
	EXPECT_ADDED(walks, "walks;");
	EXPECT_ADDED(frames[SFU_METHOD_SFRAME], "sframe;");
	EXPECT_ADDED(frames[SFU_METHOD_FP], "fp;");
	EXPECT_ADDED(frames[SFU_METHOD_SIGNAL], "");
	EXPECT_ADDED(declined[SFU_DECLINE_DISABLED], "");
	EXPECT_ADDED(declined[SFU_DECLINE_KTHREAD], "");
	EXPECT_ADDED(declined[SFU_DECLINE_GUEST], "");
	EXPECT_ADDED(declined[SFU_DECLINE_COMPAT], "");
	EXPECT_ADDED(declined[SFU_DECLINE_NOSECTION], "declined;");
	EXPECT_ADDED(depths[SFU_STOP_COMPLETE], "");
	EXPECT_ADDED(bad_sections, "");
}

static void summary_adds_stop(struct kunit *test)
{
	enum sfu_stop stop;

	for (stop = SFU_STOP_COMPLETE; stop < NR_SFU_STOPS; stop++) {
		const char *name = sfu_stop_names[stop];
		bool is_whole = !strcmp(name, "complete") || !strcmp(name, "start");

		expect_added(test, name, &sfu_counters.stops[stop],
			     is_whole ? "complete;" : stop == SFU_STOP_FULL ? "full;" : "");
		expect_added(test, name, &sfu_counters.firsts[stop], is_whole ? "" : "first;");
	}
}

static void summary_is_read_only(struct kunit *test)
{
	const struct kernel_param *param = find_parameter("sframe_unwind.summary");

	KUNIT_EXPECT_EQ(test, 0444, param->perm);
	KUNIT_EXPECT_EQ(test, -EPERM, param->ops->set("0", param));
}

static struct kunit_case hooks_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(sample_without_mm),
	KUNIT_CASE(sample_new_process),
	KUNIT_CASE(sample_with_inherited_map),
	KUNIT_CASE(summary_adds),
	KUNIT_CASE(summary_adds_stop),
	KUNIT_CASE(summary_is_read_only),
	{}
};

static struct kunit_suite hooks_suite = {
	.name = "sframe_hooks", .init = hooks_scene_init, .test_cases = hooks_tests,
};

kunit_test_suite(hooks_suite);
