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

/* The offset of the rows, at 28 + 12 in the section, becomes the largest value. */
#define SPOIL		"patch 0x3028 4 0xffffffff"

#define WHOLE_TRACED		"10 to 200, 3 frames, complete;"

/* The fixture of the hooks' tests. */
struct hooks_scene {
	/* the scene of scans; its image is mapped at the beginning of the area */
	struct scan_scene		scan;
	struct pt_regs			regs;	/* registers of the sample, in the image's code */
	/* the counters that grew from @scan.since to the end of the sample, as a text */
	char				counted[COUNTERS_TEXT];
	/* perf_callchain_user() stores here; room for MAX_FRAMES */
	struct perf_callchain_entry	*entry;
	/* the trace events since the last expect_traced(), as a text */
	char				traced[TEXT];
};

static struct hooks_scene *hooks_of(struct kunit *test)
{
	return test->priv;
}

static unsigned long code(struct kunit *test, unsigned long off)
{
	return page(test, IMAGE_CODE) + off;
}

/* ---- the stack ---- */

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

	KUNIT_ASSERT_EQ(test, start, vm_mmap(NULL, start, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					     MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
	put_words(test, sp, 0, code(test, 0x100));
	put_words(test, sp + 16, 0, code(test, 0x200));
	put_words(test, sp + 32, 0, 0);
	put_words(test, fp, fp + 16, code(test, 0x500));
	put_words(test, fp + 16, 0, code(test, 0x600));
	user_regs(&hooks_of(test)->regs, code(test, 0x10), sp, fp);
}

static void on_walk(void *data, unsigned long ip, unsigned long stop_ip,
		    unsigned int nr_frames, const char *reason)
{
	struct hooks_scene *scene = data;
	unsigned long base = scene->scan.area + IMAGE_CODE * PAGE_SIZE;
	size_t len = strlen(scene->traced);

	scnprintf(scene->traced + len, TEXT - len, "%lx to %lx, %u frames, %s;",
		  ip - base, stop_ip - base, nr_frames, reason);
}

static void stop_tracing(void *scene)
{
	unregister_trace_sfu_walk(on_walk, scene);
	tracepoint_synchronize_unregister();
}

static void scan_at_once(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, sfu_processes_scan(current->mm));
	counters_read(&hooks_of(test)->scan.since);
}

/* ---- a sample, and a deferred stack ---- */

static void count(struct hooks_scene *scene)
{
	counters_text(&scene->scan.since, scene->counted);
	counters_read(&scene->scan.since);
}

static void expect_traced(struct kunit *test, const char *want)
{
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->traced, want);
	hooks_of(test)->traced[0] = '\0';
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

/* Makes the test's thread a task with @flags. Return: its flags before. */
static unsigned int become(unsigned int flags)
{
	unsigned int mask = PF_KTHREAD | PF_USER_WORKER | PF_VCPU;
	unsigned int old = current->flags & mask;

	current->flags = (current->flags & ~mask) | flags;
	return old;
}

/*
 * Takes a sample as perf does: nothing may sleep or fault. Requested scans run later.
 * @is_interrupt: in an interrupt, as far as can be seen.
 */
static void sample_in(struct kunit *test, unsigned int flags, bool is_interrupt,
		      struct perf_callchain_entry_ctx *ctx)
{
	unsigned int offset = is_interrupt ? HARDIRQ_OFFSET : 0;
	struct hooks_scene *scene = test->priv;
	unsigned int old;

	memset64(scene->entry->ip, POISON, MAX_FRAMES);
	scene->entry->nr = 0;
	ctx->entry = scene->entry;
	local_irq_disable();
	old = become(flags);
	__preempt_count_add(offset);
	perf_callchain_user(ctx, &scene->regs);
	__preempt_count_sub(offset);
	become(old);
	count(scene);
	local_irq_enable();
}

static void expect_stored(struct kunit *test, const char *want)
{
	expect_frames(test, hooks_of(test)->entry->ip, hooks_of(test)->entry->nr, want);
}

static void sample(struct kunit *test, const char *want, const char *counted)
{
	struct perf_callchain_entry_ctx ctx = { .max_stack = MAX_FRAMES };

	sample_in(test, 0, false, &ctx);
	expect_stored(test, want);
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, counted);
}

/*
 * Steps of a script, besides those of scan_scene.h, change the sampled registers and the stack:
 *
 *	no-fp			without a frame pointer the kernel's own stack is "10"
 *	no-stack, at P		there is no stack; code at the beginning of a page is sampled
 *	return P		the caller is code near the beginning of a page
 *	compat, kernel		the registers are those of 32-bit code, or of the kernel
 *	begin-exec, end-exec	execve() begins, and ends
 *	scanned			a scan runs, and is not counted
 *	sample FRAMES | COUNTERS	compares a sample, and what it has counted
 */
static bool run_hooks_step(struct kunit *test, const char *step)
{
	unsigned long sp = stack_at(test), ip = code(test, 0x10);
	struct pt_regs *regs = &hooks_of(test)->regs;
	char frames[TEXT];
	unsigned int nr;

	if (!strcmp(step, "no-fp"))
		user_regs(regs, ip, sp, 0);
	else if (!strcmp(step, "no-stack"))
		user_regs(regs, ip, page(test, NO_PAGE), 0);
	else if (sscanf(step, "at %u", &nr) == 1)
		user_regs(regs, page(test, nr), sp, sp + 0x800);
	else if (sscanf(step, "return %u", &nr) == 1)
		put_words(test, sp, 0, page(test, nr) + 0x10);
	else if (!strcmp(step, "compat"))
		user_regs_make_compat(regs);
	else if (!strcmp(step, "kernel"))
		user_regs_make_kernel(regs);
	else if (!strcmp(step, "begin-exec"))
		current->in_execve = 1;
	else if (!strcmp(step, "end-exec"))
		current->in_execve = 0;
	else if (!strcmp(step, "scanned"))
		scan_at_once(test);
	else if (sscanf(step, "sample %127[^|]| %n", frames, &nr) == 1)
		sample(test, strim(frames), step + nr);
	else
		return false;
	return true;
}

static int hooks_scene_init(struct kunit *test)
{
	struct hooks_scene *scene = test_alloc(test, sizeof(*scene));

	scene->entry = test_alloc(test, struct_size(scene->entry, ip, MAX_FRAMES));
	KUNIT_ASSERT_EQ(test, 0, scan_scene_init(test));
	scene->scan = *(struct scan_scene *)test->priv;
	scene->scan.run_own_step = run_hooks_step;
	test->priv = scene;
	make_stack(test);
	map_image(test);
	KUNIT_ASSERT_EQ(test, 0, register_trace_sfu_walk(on_walk, scene));
	return kunit_add_action_or_reset(test, stop_tracing, scene);
}

/* ---- stacks that are left to the kernel ---- */

struct decline_case {
	const char	*name;
	bool		disabled;
	unsigned int	flags;
	const char	*steps;		/* before the scan */
	const char	*sampled;	/* the kernel's own stacks */
	const char	*deferred;
	const char	*counted;
};

#define KTHREAD	"declined.kthread"
#define GUEST	"declined.guest"
#define COMPAT	"declined.compat"

/* If there are several reasons, only the first in this order is counted. */
static const struct decline_case decline_cases[] = {
	{ "disabled", true, 0, "", BY_FP, BY_FP, "declined.disabled" },
	{ "kernel thread", false, PF_KTHREAD, "", BY_FP, "", KTHREAD },
	{ "io worker", false, PF_USER_WORKER, "", BY_FP, BY_FP, KTHREAD },
	{ "guest", false, PF_VCPU, "", BY_FP, BY_FP, GUEST },
	{ "32-bit code", false, 0, "no-fp; compat", "10", "10", COMPAT },
	{ "registers of the kernel", false, 0, "no-fp; kernel", "10", "", COMPAT },
	{ "no section", false, 0, "other 0", BY_FP, BY_FP, "declined.no-section" },
	{ "disabled, kernel thread", true, PF_KTHREAD, "", BY_FP, "", "declined.disabled" },
	{ "kernel thread, guest", false, PF_KTHREAD | PF_VCPU, "", BY_FP, "", KTHREAD },
	{ "guest, 32-bit code", false, PF_VCPU, "no-fp; compat", "10", "10", GUEST },
	{ "32-bit code, no section", false, 0, "other 0; no-fp; compat", "10", "10", COMPAT },
};

NAMED_CASES(decline);

static const struct kernel_param *find_parameter(const char *name)
{
	const struct kernel_param *param;

	for (param = __start___param; param < __stop___param; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

/* Writes the module parameter "enabled", as root does in /sys/module/.../parameters. */
static void enable(void *value)
{
	const struct kernel_param *param = find_parameter("sframe_unwind.enabled");

	param->ops->set(value, param);
}

static void prepare(struct kunit *test)
{
	const struct decline_case *c = test->param_value;

	run_steps(test, "%s; scanned", c->steps);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, enable, "Y"));
	enable(c->disabled ? "N" : "Y");
}

static void sample_declined(struct kunit *test)
{
	const struct decline_case *c = test->param_value;
	struct perf_callchain_entry_ctx ctx = { .max_stack = MAX_FRAMES };

	prepare(test);
	sample_in(test, c->flags, c->flags & PF_VCPU, &ctx);
	expect_stored(test, c->sampled);
	KUNIT_EXPECT_EQ(test, ctx.nr, hooks_of(test)->entry->nr);
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, c->counted);
	expect_traced(test, "");
}

/* Between two steps of the guest, the task that runs it is a task as any. */
static void sample_of_vcpu_task(struct kunit *test)
{
	struct perf_callchain_entry_ctx ctx = { .max_stack = MAX_FRAMES };

	scan_at_once(test);
	sample_in(test, PF_VCPU, false, &ctx);
	expect_stored(test, BY_SFRAME);
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, WHOLE);
}

/* The thread does not have its own memory any more. */
static void sample_without_mm(struct kunit *test)
{
	struct mm_struct *mm = current->mm;

	run_steps(test, "scanned; no-fp");
	kthread_unuse_mm(mm);
	sample(test, "10", KTHREAD);
	kthread_use_mm(mm);
	sample(test, BY_SFRAME, WHOLE);
}

/* ---- how many frames are stored ---- */

#define FULL_1	"walks stop.full first.full depth.full", "10 to 10, 1 frames, full;"
#define FULL_3	"walks stop.full depth.full=3 frames.sframe=2", "10 to 200, 3 frames, full;"

static const struct full_case {
	const char	*name;
	u32		max_stack;
	u32		nr;		/* already stored, of the kernel's stack */
	bool		contexts_maxed;
	const char	*want;
	const char	*counted;
	const char	*traced;
} full_cases[] = {
	{ "0", 0, 0, false, "", FULL_1 },
	{ "1", 1, 0, false, "10", "walks stop.full depth.full=2 frames.sframe",
	  "10 to 100, 2 frames, full;" },
	{ "2", 2, 0, false, "10 100", FULL_3 },
	{ "3", 3, 0, false, BY_SFRAME, WHOLE, WHOLE_TRACED },
	{ "4", 4, 0, false, BY_SFRAME, WHOLE, WHOLE_TRACED },
	{ "6 places, 4 of them taken", 6, 4, false, "10 100", FULL_3 },
	{ "6 places, 3 of them taken", 6, 3, false, BY_SFRAME, WHOLE, WHOLE_TRACED },
	{ "6 places, all of them taken", 6, 6, false, "", FULL_1 },
	{ "no room for contexts", 6, 0, true, "", FULL_1 },
};

NAMED_CASES(full);

/* The module stores its frames up to the limit. The kernel adds none. */
static void sample_max_stack(struct kunit *test)
{
	const struct full_case *c = test->param_value;
	struct perf_callchain_entry_ctx ctx = {
		.max_stack = c->max_stack,
		.nr = c->nr,
		.contexts_maxed = c->contexts_maxed,
	};

	scan_at_once(test);
	sample_in(test, 0, false, &ctx);
	expect_stored(test, c->want);
	KUNIT_EXPECT_EQ(test, ctx.nr, c->max_stack);
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, c->counted);
	expect_traced(test, c->traced);
}

/* ---- each end of a walk is counted and traced once ---- */

#define BAD_SECTION							\
	"walks stop.bad-section first.bad-section depth.bad-section defect.fre-off section.bad"

/* Addresses are hexadecimal; a page has 0x1000 bytes. */
static const struct stop_case {
	const char	*name;
	const char	*steps;		/* after a scan */
	const char	*want;
	const char	*counted;
	const char	*traced;
	const char	*deferred;		/* what unwind_user() has, if not the same */
	const char	*deferred_counted;
} stop_cases[] = {
	{ "complete", "", BY_SFRAME, WHOLE, WHOLE_TRACED },
	{ "stack-fault", "no-stack", "10",
	  "walks stop.stack-fault first.stack-fault depth.stack-fault",
	  "10 to 10, 1 frames, stack-fault;" },
	{ "nodata", "at 17", "10000", "walks stop.nodata first.nodata depth.nodata",
	  "10000 to 10000, 1 frames, nodata;" },
	{ "unscanned", "at 30", "1d000",
	  "walks stop.unscanned first.unscanned depth.unscanned scan.requests",
	  "1d000 to 1d000, 1 frames, unscanned;", NULL,
	  "walks stop.unscanned first.unscanned depth.unscanned scan.runs" },
	{ "bad-ra", "return 30", "10",
	  "walks stop.bad-ra first.bad-ra depth.bad-ra scan.requests",
	  "10 to 10, 1 frames, bad-ra;", NULL,
	  "walks stop.bad-ra first.bad-ra depth.bad-ra scan.runs" },
	{ "section-fault", "drop 3 1", "10",
	  "walks stop.section-fault first.section-fault depth.section-fault scan.requests",
	  "10 to 10, 1 frames, section-fault;", BY_SFRAME, WHOLE " scan.runs" },
	{ "bad-section", SPOIL, "10", BAD_SECTION, "10 to 10, 1 frames, bad-section;" },
	{ "exec, before the memory goes", "begin-exec", BY_SFRAME, WHOLE, WHOLE_TRACED },
};

NAMED_CASES(stop);

static void begin_stop(struct kunit *test)
{
	run_steps(test, "other 16; scanned; %s",
		  ((const struct stop_case *)test->param_value)->steps);
}

static void sample_stop(struct kunit *test)
{
	const struct stop_case *c = test->param_value;
	struct perf_callchain_entry_ctx ctx = { .max_stack = MAX_FRAMES };

	begin_stop(test);
	sample_in(test, 0, false, &ctx);
	current->in_execve = 0;
	expect_stored(test, c->want);
	/* The kernel adds no frames, even where there is room. */
	KUNIT_EXPECT_EQ(test, ctx.nr, MAX_FRAMES);
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, c->counted);
	expect_traced(test, c->traced);
}

static const struct script_case script_cases[] = {
	/* The first sample requests a scan, and later samples use its result. */
	{ "first",
	  "sample 10 | walks stop.unscanned first.unscanned depth.unscanned scan.requests; run;"
	  "counted scan.runs; sample " BY_SFRAME " | " WHOLE },
	/* The process has no map yet, and the walk ends for another reason. */
	{ "first, in execve()",
	  "begin-exec; sample 10 | walks stop.exec first.exec depth.exec scan.requests; end-exec" },
	/* The caller's code has no row: the walk ends there, and not in the sampled frame. */
	{ "no data in the caller",
	  "other 16; return 17; scanned;"
	  "sample 10 10010 | walks stop.nodata depth.nodata=2 frames.sframe" },
	/* A bad section is counted once. */
	{ "after a bad section",
	  "scanned; " SPOIL "; sample 10 | " BAD_SECTION ";"
	  "sample 10 | walks stop.nodata first.nodata depth.nodata" },
	/* New code may have a section. */
	{ "no section, in new code",
	  "other 0; scanned; other 16; at 17;"
	  "sample 10000 500 600 | declined.no-section scan.requests" },
};

NAMED_CASES(script);

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

	scan_at_once(test);
	process = sfu_processes_get(current->mm);
	map = sfu_process_get_map(process);
	process->inherited.map = map;
	run_steps(test, SPOIL "; sample 10 | %s",
		  "walks stop.bad-section first.bad-section depth.bad-section scan.requests");
	KUNIT_EXPECT_TRUE(test, is_ready(&map->ranges[0]));
	run_steps(test, "run; counted scan.runs; sample 10 | " BAD_SECTION);
	KUNIT_EXPECT_TRUE(test, is_ready(&map->ranges[0]));
	sfu_map_put(map);
	sfu_process_put(process);
}

/* ---- the parameter `summary` ---- */

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

/* A walk is complete, or ended in the sampled frame, or neither. */
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

static struct kunit_case sync_tests[] = {
	KUNIT_CASE_PARAM(sample_declined, decline_gen_params),
	KUNIT_CASE(sample_of_vcpu_task),
	KUNIT_CASE(sample_without_mm),
	KUNIT_CASE_PARAM(sample_max_stack, full_gen_params),
	KUNIT_CASE_PARAM(sample_stop, stop_gen_params),
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(sample_new_process),
	KUNIT_CASE(sample_with_inherited_map),
	KUNIT_CASE(summary_adds),
	KUNIT_CASE(summary_adds_stop),
	KUNIT_CASE(summary_is_read_only),
	{}
};

static struct kunit_suite sync_suite = {
	.name = "sframe_hooks_sync", .init = hooks_scene_init, .test_cases = sync_tests,
};

kunit_test_suite(sync_suite);

#if SFU_HAVE_UNWIND_USER
/* Unwinds as the kernel does on the way back to user mode. */
static int defer(struct kunit *test, unsigned int flags, unsigned int max, const char *want)
{
	struct pt_regs *regs = task_pt_regs(current), saved = *regs;
	unsigned long entries[MAX_FRAMES];
	struct unwind_stacktrace trace = { .nr = 99, .entries = entries };
	unsigned int old;
	int err;

	memset64((u64 *)entries, POISON, MAX_FRAMES);
	*regs = hooks_of(test)->regs;
	old = become(flags);
	err = unwind_user(&trace, max);
	become(old);
	*regs = saved;
	count(hooks_of(test));
	expect_frames(test, entries, trace.nr, want);
	return err;
}

static void defer_all(struct kunit *test, const char *want, const char *counted)
{
	KUNIT_EXPECT_EQ(test, 0, defer(test, 0, MAX_FRAMES, want));
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, counted);
}

static void defer_declined(struct kunit *test)
{
	const struct decline_case *c = test->param_value;

	if (!strcmp(c->counted, GUEST))
		kunit_skip(test, "a task is no guest on its way to user mode");
	prepare(test);
	KUNIT_EXPECT_EQ(test, 0, defer(test, c->flags, MAX_FRAMES, c->deferred));
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, c->counted);
	expect_traced(test, "");
}

/* The cases in which nothing is stored yet. */
static void defer_max_entries(struct kunit *test)
{
	const struct full_case *c = test->param_value;

	if (c->nr || c->contexts_maxed)
		kunit_skip(test, "of perf");
	scan_at_once(test);
	KUNIT_EXPECT_EQ(test, c->max_stack ? 0 : -EINVAL, defer(test, 0, c->max_stack, c->want));
	KUNIT_EXPECT_STREQ(test, hooks_of(test)->counted, c->max_stack ? c->counted : "");
	expect_traced(test, c->max_stack ? c->traced : "");
}

/* A deferred walk scans at once, but only one time. */
static void defer_stop(struct kunit *test)
{
	const struct stop_case *c = test->param_value;

	begin_stop(test);
	defer_all(test, c->deferred ?: c->want, c->deferred_counted ?: c->counted);
	current->in_execve = 0;
	expect_traced(test, c->deferred ? WHOLE_TRACED : c->traced);
}

/* The row of the second page of code says that the stack ends. The caller of 100 is at 1200. */
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

/* Whether rows are known or not, no frame is lost. */
static void defer_outermost(struct kunit *test)
{
	end_in_outermost(test);
	defer_all(test, "10 100 1200", WHOLE " scan.runs");
	defer_all(test, "10 100 1200", WHOLE);
	defer_all(test, "10 100 1200", WHOLE);
}

static void defer_first(struct kunit *test)
{
	defer_all(test, BY_SFRAME, WHOLE " scan.runs");
	defer_all(test, BY_SFRAME, WHOLE);
}

static struct kunit_case deferred_tests[] = {
	KUNIT_CASE_PARAM(defer_declined, decline_gen_params),
	KUNIT_CASE_PARAM(defer_max_entries, full_gen_params),
	KUNIT_CASE_PARAM(defer_stop, stop_gen_params),
	KUNIT_CASE(defer_first),
	KUNIT_CASE(defer_outermost),
	{}
};

static struct kunit_suite deferred_suite = {
	.name = "sframe_hooks_deferred", .init = hooks_scene_init, .test_cases = deferred_tests,
};

kunit_test_suite(deferred_suite);
#endif
