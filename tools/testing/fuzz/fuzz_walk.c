// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes a whole walk and both hooks, with the sources of the module. Section,
 * code, stack and registers all come from the input. User memory is small:
 *
 *	0x8000	the stack again: for a walk, another stack further down
 *	0x10000	.sframe
 *	0x11000	code that the section describes; seeds refer to addresses here
 *	0x13000	code without a section
 *	0x20000	stack
 *
 * A read of any other address fails. For each input the target checks that:
 *
 * - the walk ends, with a reason;
 * - each step moves up the stack, crosses one of a few signal frames, or leads to another
 *   stack, which is allowed a few times;
 * - each caller lies in known code;
 * - look-ups stay within the budget, and a frame reads only a few words more;
 * - a step that fails leaves the walk unchanged;
 * - both hooks find the same frames, by the fast path too, with the row cache empty or filled;
 * - if the module would accept the section as a table, look-ups in that table lead to the
 *   same frames.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "host_table.h"

/* The unchanged sources of the sample side. shim/kernel.h replaces the kernel headers. */
#include "../../../sframe_names.c"
#include "../../../map/map.c"
#include "../../../walk/row_cache.c"
#include "../../../map/section.c"
#include "../../../walk/signal.c"
#include "../../../walk/user.c"
#include "../../../walk/frame.c"
#include "../../../walk/walk.c"
#include "shim/fast_path.h"
#include "../../../walk/call.c"
#include "../../../walk/record.c"
#include "../../../walk/chain.c"
#include "../../../walk/fallback.c"
#include "../../../arch/x86/code.c"
#include "../../../arch/x86/fallback.c"
#include "../../../arch/x86/regs.c"
#include "../../../sframe_unwind.c"

#define SECTION		0x10000UL
#define CODE		0x11000UL
#define MORE_CODE	0x12000UL
#define PLAIN		0x13000UL
#define CODE_END	0x14000UL
#define STACK		0x20000UL
#define STACK_SIZE	0x2000UL
#define OTHER_STACK	0x8000UL

#define MAX_STACK	127		/* kernel.perf_event_max_stack */
#define MAX_DEFERRED	510

/* The lowest cost of a frame with a row: the row is in a table. */
#define LEAST_FRAME	(SFU_STEP_COST + SFU_TABLE_COST)

#define SETTING_TASK		0x01
#define SETTING_EXEC		0x02
#define SETTING_NO_MAP		0x04
#define SETTING_PLAIN		0x08	/* the sample lies in unknown code */
#define SETTING_GONE		0x10	/* the unknown code has been unmapped */
#define SETTING_SWITCH		0x20	/* user memory is that of another process */
#define SETTING_CODE_FP		0x40	/* the described code keeps frame pointers */
#define SETTING_PLAIN_FP	0x80	/* so does the other code */

/* The reasons for which the hooks leave a stack to the kernel. */
#define DECLINED_DISABLED	0x01
#define DECLINED_KTHREAD	0x02
#define DECLINED_GUEST		0x04
#define DECLINED_COMPAT		0x08
#define DECLINED_NO_MM		0x10
#define DECLINED_ANY		0x1f

/* An input begins with this. Then come the section, two pieces of code, and the stack. */
struct setting {
	u16	regs[16];		/* by DWARF number; offsets in the stack */
	u16	ip;			/* offset in the code */
	u16	section_size;
	u16	absent;			/* bytes at the end of the section that are not in memory */
	u16	change_at;		/* this byte changes after the scan */
	u8	change;
	u8	flags;
	u8	max_stack;
	u8	code_size;
	u8	plain_size;
	u8	declined;
} __packed;

/* ---- the surroundings ---- */

static u8 memory_section[CODE - SECTION];
static u8 memory_code[CODE_END - CODE];
static u8 memory_stack[STACK_SIZE];

static const struct area {
	u8		*bytes;
	unsigned long	addr;
	unsigned long	size;
} areas[] = {
	{ memory_section, SECTION, sizeof(memory_section) },
	{ memory_code, CODE, sizeof(memory_code) },
	{ memory_stack, STACK, sizeof(memory_stack) },
	{ memory_stack, OTHER_STACK, sizeof(memory_stack) },
};

static unsigned long section_present;
static u64 nr_reads;

static struct mm_struct mm = { .start_stack = STACK + STACK_SIZE };
struct shim_tss cpu_tss_rw;
struct task_struct shim_task;
unsigned long shim_table;

struct sfu_counters sfu_counters;
struct sfu_held sfu_held;

static struct sfu_process process;
static struct sfu_map *map;		/* two ranges of code that has the section, and bare code */
static struct sfu_map *map_known;	/* the map, or NULL: the process has not been scanned */

static struct host_table host;		/* what was scanned, if it can be a table */
static struct sfu_table table;		/* this table as the module has it */

/* Words that follow each other are one read: sfu_user_read() takes one after the other. */
long copy_from_user_nofault(void *dst, const void *src, size_t len)
{
	static unsigned long next_addr;
	unsigned long addr = (unsigned long)src;
	size_t i;

	nr_reads += addr != next_addr;
	next_addr = addr + len;
	for (i = 0; i < ARRAY_SIZE(areas); i++) {
		unsigned long off = addr - areas[i].addr;
		unsigned long size = areas[i].size;

		if (areas[i].addr == SECTION)
			size = section_present;
		if (off > size || len > size - off)
			continue;
		memcpy(dst, areas[i].bytes + off, len);
		return 0;
	}
	return -EFAULT;
}

struct sfu_process *sfu_processes_find(struct mm_struct *mm)
{
	require(mm == shim_task.mm);
	process.map = map_known;
	return map_known ? &process : NULL;
}

struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map)
{
	require(mm == shim_task.mm && !map_known);
	return NULL;
}

void sfu_request_for_sample(struct sfu_process *sampled)
{
	require(sampled == (map_known ? &process : NULL));
}

int sfu_processes_scan(struct mm_struct *mm)
{
	require(mm == shim_task.mm);
	return 0;
}

bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr)
{
	return false;
}

bool sfu_watch_sample(void)
{
	return true;
}

atomic_t sfu_table_generation;

void sfu_table_put(const struct sfu_section *section)
{
}

/* ---- the input ---- */

static const u8 *take(u8 *to, size_t room, size_t want, const u8 *from,
		      const u8 *end)
{
	size_t n = min_t(size_t, min_t(size_t, want, room), end - from);

	memset(to, 0, room);
	memcpy(to, from, n);
	return from + n;
}

/* Both ranges of described code have this section. */
static void set_section(const struct sfu_section *section)
{
	map->ranges[0].section = *section;
	map->ranges[1].section = *section;
}

static void set_range(unsigned int i, unsigned long start, unsigned long end, bool keeps_fp)
{
	map->ranges[i] = (struct sfu_range){
		.start = start,
		.end = end,
		.keeps_fp = keeps_fp ? SFRAME_KEEPS_FP_YES : SFRAME_KEEPS_FP_NO,
	};
}

/* Builds the process map as a scan does. */
static void scan(const struct setting *setting, u32 size)
{
	struct sfu_section section = {
		.start = SECTION,
		.end = SECTION + size,
		.source = SFU_SOURCE_MAPPED,
	};
	enum sframe_defect defect;

	if (!map)
		map = sfu_map_alloc(3, GFP_KERNEL);
	require(map->refs.refs == 1);
	set_range(0, CODE, MORE_CODE, setting->flags & SETTING_CODE_FP);
	set_range(1, MORE_CODE, PLAIN, setting->flags & SETTING_CODE_FP);
	set_range(2, PLAIN, CODE_END, setting->flags & SETTING_PLAIN_FP);
	map->ranges[2].unmapped = setting->flags & SETTING_GONE;
	map->nr_sections = 0;
	if (!sfu_section_check(&section, &defect)) {
		section.state.counter = SFU_SECTION_READY;
		map->nr_sections = 2;
	}
	set_section(&section);
	sfu_map_order_sections(map);
	require(map->nr_placed == 2);
	map_known = setting->flags & SETTING_NO_MAP ? NULL : map;
}

/* Loads the section that a scan has found as a table. It may change in the process. */
static void load_table(u32 size)
{
	const struct sfu_section *section = &map->ranges[0].section;
	struct sframe_row row;
	u64 *packed;
	u32 i;

	host = (struct host_table){};
	if (sfu_section_is(section, SFU_SECTION_READY))
		host_table_init(&host, &section->hdr, memory_section, size);
	if (!host.is_accepted)
		return;
	packed = calloc(host.compiled.nr_rows, sizeof(*packed));
	require(packed);
	packed[0] = SFU_ROW_NONE;
	for (i = 1; i < host.compiled.nr_rows; i++) {
		row = host.compiled.rows[i];
		packed[i] = sfu_row_pack(&row);
	}
	table = (struct sfu_table){ .compiled = host.compiled, .packed_rows = packed };
}

static void free_table(void)
{
	if (host.is_accepted)
		free((void *)table.packed_rows);
	host_table_free(&host);
}

static void set_registers(const struct setting *setting, struct pt_regs *regs)
{
	unsigned long *const by_number[] = {
		&regs->ax, &regs->dx, &regs->cx, &regs->bx,
		&regs->si, &regs->di, &regs->bp, &regs->sp,
		&regs->r8, &regs->r9, &regs->r10, &regs->r11,
		&regs->r12, &regs->r13, &regs->r14, &regs->r15,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_number); i++)
		*by_number[i] = STACK + setting->regs[i];
	regs->cs = 0x33;
	regs->ip = setting->flags & SETTING_PLAIN ? PLAIN : CODE;
	regs->ip += setting->ip;
}

static void set_task(const struct setting *setting, struct pt_regs *regs)
{
	shim_task = (struct task_struct){
		.mm = &mm,
		.regs = regs,
		.in_execve = setting->flags & SETTING_EXEC,
	};
	shim_table = setting->flags & SETTING_SWITCH ? 0x1000 : 0;
	enabled = !(setting->declined & DECLINED_DISABLED);
	if (setting->declined & DECLINED_KTHREAD)
		shim_task.flags |= PF_KTHREAD;
	if (setting->declined & DECLINED_GUEST)
		shim_task.flags |= PF_VCPU;
	if (setting->declined & DECLINED_COMPAT)
		regs->cs = 0x23;
}

static void set_memory(const struct setting *setting, const u8 *from, const u8 *end)
{
	u32 size = min_t(u32, setting->section_size, sizeof(memory_section));

	section_present = sizeof(memory_section);
	from = take(memory_section, sizeof(memory_section), size, from, end);
	from = take(memory_code, PLAIN - CODE, setting->code_size, from, end);
	from = take(memory_code + (PLAIN - CODE), CODE_END - PLAIN,
		    setting->plain_size, from, end);
	take(memory_stack, sizeof(memory_stack), sizeof(memory_stack), from, end);

	scan(setting, size);
	load_table(size);
	section_present = size - min_t(u32, size, setting->absent);
	if (setting->change_at < size)
		memory_section[setting->change_at] ^= setting->change;
}

/* ---- the checks ---- */

static struct fuzz_most most_work = { .what = "work of a walk's look-ups" };
static struct fuzz_most most_table_work = { .what = "work of a walk's look-ups in a table" };
static struct fuzz_most most_reads = { .what = "reads of a walk" };
static struct fuzz_most most_frames = { .what = "frames of a walk" };
static struct fuzz_most most_switches = { .what = "switches of stacks in a walk" };

static u64 found[MAX_STACK];
static u32 nr_found;

static unsigned long nr_stops(void)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < NR_SFU_STOPS; i++)
		sum += sfu_counters.stops[i];
	return sum;
}

static void check_step(const struct sfu_walk *walk, const struct sfu_walk *last)
{
	const struct sfu_frame *frame = &walk->frame;

	require(sfu_map_find(walk->map, sfu_walk_lookup_ip(frame)));
	if (walk->nr_signals != last->nr_signals) {
		require(walk->nr_signals == last->nr_signals + 1);
		require(walk->nr_signals <= SFU_MAX_SIGNALS);
		require(frame->sigcontext && frame->is_activation);
		return;
	}
	if (walk->nr_switches != last->nr_switches) {
		require(walk->nr_switches == last->nr_switches + 1);
		require(walk->nr_switches <= SFU_MAX_SWITCHES);
		require(!frame->by_kept_fp || !last->frame.is_activation);
		require(!frame->by_kept_fp ||
			(last->frame.fp < last->frame.sp &&
			 last->frame.sp - last->frame.fp >= MIN_STACK_DISTANCE));
		require(IS_ALIGNED(frame->sp, SFU_ARCH_CFA_ALIGN));
		require(!frame->regs && !frame->sigcontext);
		return;
	}
	require(frame->sp > last->frame.sp ||
		(frame->sp == last->frame.sp &&
		 (last->frame.regs || last->frame.sigcontext)));
	require(IS_ALIGNED(frame->sp, SFU_ARCH_CFA_ALIGN));
	require(!frame->regs && !frame->sigcontext);
}

/* Not by memcmp(): a compiler may leave anything between the members. */
static bool is_same_frame(const struct sfu_frame *a, const struct sfu_frame *b)
{
	return a->ip == b->ip && a->sp == b->sp && a->fp == b->fp &&
	       a->is_activation == b->is_activation && a->sp_unverified == b->sp_unverified &&
	       a->by_kept_fp == b->by_kept_fp && a->regs == b->regs &&
	       a->sigcontext == b->sigcontext;
}

static void check_stop(const struct sfu_walk *walk, const struct sfu_walk *last,
		       enum sfu_stop stop)
{
	require(stop > SFU_STOP_NONE && stop < NR_SFU_STOPS && stop != SFU_STOP_FULL);
	require(is_same_frame(&walk->frame, &last->frame));
	require(!memcmp(walk->nr_frames, last->nr_frames, sizeof(walk->nr_frames)));
	if (stop == SFU_STOP_BAD || stop == SFU_STOP_REFUSED)
		require(fuzz_is_defect(walk->lookup.rd.defect));
	if (stop == SFU_STOP_EXEC)
		require(shim_task.in_execve);
	if (shim_table != (unsigned long)shim_task.mm->pgd)
		require(nr_reads == 0 && nr_found == 1 &&
			(stop == SFU_STOP_EXEC || stop == SFU_STOP_SWITCH));
}

/*
 * A frame found by a row costs a look-up. A frame found by the frame pointer has a
 * word of memory as its return address. The walk uses this word only once between
 * two signal frames or switches, because the stack pointer is above the word afterwards.
 */
static void check_bounds(const struct sfu_walk *walk)
{
	u64 spent = SFU_BUDGET - walk->lookup.rd.budget;
	u64 words = (CODE_END - SECTION + 2 * STACK_SIZE) / sizeof(long);
	u64 by_fp = walk->nr_frames[SFU_METHOD_FP] + walk->nr_frames[SFU_METHOD_FP_HABIT];
	u64 steps = walk->nr_frames[SFU_METHOD_SFRAME] + by_fp +
		walk->nr_frames[SFU_METHOD_SIGNAL];

	require(walk->nr_frames[SFU_METHOD_SIGNAL] <= SFU_MAX_SIGNALS);
	require(walk->nr_frames[SFU_METHOD_SFRAME] <= spent / LEAST_FRAME);
	require(by_fp <= words * (SFU_MAX_SIGNALS + SFU_MAX_SWITCHES + 1));
	fuzz_note(&most_work, spent, SFU_BUDGET);
	/* The cheapest reads are those of a search, of 32 steps at most for 768. */
	/* A look-up reads seven numbers of an entry or a row at most. */
	fuzz_note(&most_reads, nr_reads, spent / (SFRAME_ROW_COST / 2));
	fuzz_note(&most_frames, steps, SFU_BUDGET / SFU_FAST_COST);
	fuzz_note(&most_switches, walk->nr_switches, SFU_MAX_SWITCHES);
}

/* Walks to the end of the stack. Only the limits of the walk itself apply. */
static enum sfu_stop walk_freely(struct pt_regs *regs)
{
	struct sfu_walk walk, last;
	enum sfu_stop stop;
	unsigned int nr;
	u64 ip;

	nr_reads = 0;
	nr_found = 0;
	sfu_walk_init(&walk, map_known, false, NULL, regs);
	for (;;) {
		if (nr_found < MAX_STACK)
			found[nr_found++] = walk.frame.ip;
		last = walk;
		stop = sfu_walk_callers(&walk, &ip, 1, &nr);
		require(nr == (stop == SFU_STOP_NONE));
		if (stop)
			break;
		check_step(&walk, &last);
		check_bounds(&walk);
	}
	check_stop(&walk, &last, stop);
	check_bounds(&walk);
	return stop;
}

/*
 * A sample has stored @nr of the frames of its stack, of which @max fit. It has all that were
 * found, unless its budget has ended it: it looks rows up for the fast path, too.
 */
static void check_stored(const u64 *ips, u64 nr, u32 max, unsigned long nr_before_by_budget)
{
	u32 nr_common = min_t(u32, min_t(u32, nr_found, max), nr);

	require(nr <= max);
	require(nr_common == min_t(u32, nr_found, max) ||
		sfu_counters.stops[SFU_STOP_BUDGET] > nr_before_by_budget);
	require(!memcmp(ips, found, nr_common * sizeof(*ips)));
}

static bool is_declined(const struct setting *setting)
{
	return setting->declined & DECLINED_ANY ||
	       (map_known && !map_known->nr_sections);
}

static void enter_callchain(const struct setting *setting, struct pt_regs *regs,
			    u32 max_stack)
{
	u64 chain[1 + MAX_STACK] = {};
	struct perf_callchain_entry *entry = (void *)chain;
	struct perf_callchain_entry_ctx ctx = { .entry = entry, .max_stack = max_stack };
	struct ftrace_regs fregs = {
		.args = { (unsigned long)&ctx, (unsigned long)regs },
	};
	unsigned long stops = nr_stops(), by_budget = sfu_counters.stops[SFU_STOP_BUDGET];

	callchain_ops.func(0, 0, &callchain_ops, &fregs);
	if (is_declined(setting)) {
		require(ctx.nr == 0 && nr_stops() == stops);
		return;
	}
	require(ctx.nr == max_stack && nr_stops() == stops + 1);
	check_stored(entry->ip, entry->nr, max_stack, by_budget);
}

static void enter_unwind_user(const struct setting *setting, u32 max)
{
	unsigned long ips[MAX_DEFERRED];
	struct unwind_stacktrace trace = { .entries = ips };
	struct ftrace_regs fregs = {};
	unsigned long stops = nr_stops(), by_budget = sfu_counters.stops[SFU_STOP_BUDGET];

	unwind_user_ops.func(0, 0, &unwind_user_ops, &fregs);
	if (is_declined(setting)) {
		require(!fregs.ip);
		return;
	}
	require(fregs.ip == (unsigned long)replace_unwind_user);
	require(replace_unwind_user(&trace, max) == (max ? 0 : -EINVAL));
	check_stored((u64 *)ips, trace.nr, max, by_budget);
	require(nr_stops() == stops + (max > 0));
}

/* Forgets what an earlier walk may have noted of the section. */
static void restore(const struct sfu_section *section)
{
	map->ranges[0].section.state = section->state;
	map->ranges[1].section.state = section->state;
}

/* New numbers hide the rows of earlier inputs, and those of the other range. */
static void number_sections(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct sfu_section *section = &map->ranges[i].section;

		section->number = sfu_row_cache_new_section(&section->key_base);
	}
}

/* From now on walks take the fast path, and use a row cache. */
static void use_cache(void)
{
	if (!sfu_row_caches.sets)
		require(!sfu_row_cache_init());
	uses_fast_path = true;
	number_sections();
}

/* The section of the code is that of the table. */
static struct sfu_section section_of_table(void)
{
	return (struct sfu_section){
		.source = SFU_SOURCE_TABLE,
		.table = &table,
		.state.counter = SFU_SECTION_READY,
	};
}

/* The fast path finds what was found without it, unless one of the two was too costly. */
static void walk_fast(struct pt_regs *regs, enum sfu_stop want)
{
	u64 ips[MAX_STACK];
	enum sfu_stop stop = SFU_STOP_NONE;
	struct sfu_walk walk;
	u32 nr = 1;

	sfu_walk_init(&walk, map, false, &sfu_row_caches, regs);
	ips[0] = walk.frame.ip;
	while (!stop && nr < MAX_STACK) {
		u32 more;

		stop = sfu_walk_callers(&walk, &ips[nr], MAX_STACK - nr, &more);
		nr += more;
	}
	fuzz_note(&most_table_work, SFU_BUDGET - walk.lookup.rd.budget, SFU_BUDGET);
	require(!memcmp(ips, found, min(nr, nr_found) * sizeof(*ips)));
	if (want == SFU_STOP_BUDGET || stop == SFU_STOP_BUDGET)
		return;
	require(nr == nr_found && (!stop || stop == want));
}

/* Compares walks by a table: on the general path, and twice on the fast path. */
static void walk_by_table(struct pt_regs *regs)
{
	struct sfu_section section = section_of_table();
	enum sfu_stop stop;
	int i;

	set_section(&section);
	number_sections();
	uses_fast_path = false;
	stop = walk_freely(regs);
	use_cache();
	for (i = 0; i < 2; i++)
		walk_fast(regs, stop);
	/* Everything was checked when the table was loaded. */
	for (i = 0; i < 2; i++)
		require(sfu_section_is(&map->ranges[i].section, SFU_SECTION_READY));
	require(stop != SFU_STOP_REFUSED);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct sfu_section section;
	struct setting setting;
	struct pt_regs regs = {};
	int i;

	if (size <= sizeof(setting))
		return 0;
	memcpy(&setting, data, sizeof(setting));
	set_registers(&setting, &regs);
	set_memory(&setting, data + sizeof(setting), data + size);
	set_task(&setting, &regs);

	section = map->ranges[0].section;
	number_sections();
	uses_fast_path = false;
	walk_freely(&regs);
	if (setting.declined & DECLINED_NO_MM)
		shim_task.mm = NULL;
	use_cache();
	for (i = 0; i < 2; i++) {
		restore(&section);
		enter_callchain(&setting, &regs, setting.max_stack % MAX_STACK);
	}
	restore(&section);
	if (setting.flags & SETTING_TASK)
		enter_unwind_user(&setting, setting.max_stack * 2);
	shim_task.mm = &mm;
	if (map_known && host.is_accepted)
		walk_by_table(&regs);
	free_table();
	return 0;
}

static void __attribute__((__destructor__)) tell(void)
{
	fuzz_tell(&most_work);
	fuzz_tell(&most_table_work);
	fuzz_tell(&most_reads);
	fuzz_tell(&most_frames);
	fuzz_tell(&most_switches);
}
