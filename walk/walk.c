// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk: from a frame to its caller, by SFrame data.
 *
 * A step finds the range of the address, asks its section for the row, and applies
 * the row. Code without a row is left to sframe_fallback.c, signal frames to
 * sframe_signal.c. Each step returns the reason why it cannot go on, or SFU_STOP_NONE.
 *
 * Termination. Each step does one of four things: it raises the stack pointer; it
 * crosses one of at most SFU_MAX_SIGNALS signal frames; it leaves the sampled frame, or a
 * frame that such a signal interrupted; or it goes on further down, on another stack,
 * at most SFU_MAX_SWITCHES times. Work: all that a walk does is charged
 * to one budget: look-ups, steps, reads, and the list of pending uretprobes.
 *
 * Nothing here takes a lock, allocates, sleeps, or waits for memory.
 */
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "sframe_arch.h"
#include "walk/user.h"
#include "walk/walk.h"

/* Reads user memory; the budget has paid for a read that succeeds. */
static int read_user(const struct sfu_walk *walk, void *dst, unsigned long addr, size_t len)
{
	int err = sfu_user_read(dst, addr, len);

	if (err)
		sfu_walk_charge(walk, SFRAME_FAULT_COST);
	return err;
}

/* Reads a word of the stack. Returns SFU_STOP_NONE, SFU_STOP_STACK or SFU_STOP_BUDGET. */
enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr,
				 unsigned long *val)
{
	if (sfu_walk_charge(walk, SFU_READ_COST + sizeof(*val)))
		return SFU_STOP_BUDGET;
	return read_user(walk, val, addr, sizeof(*val)) ? SFU_STOP_STACK : SFU_STOP_NONE;
}

/* Reads @len bytes of code; returns whether they are there, and the budget pays for the read. */
bool sfu_walk_read_code(const struct sfu_walk *walk, void *code, unsigned long addr,
			size_t len)
{
	return !sfu_walk_charge(walk, SFU_READ_COST + len) && !read_user(walk, code, addr, len);
}

/*
 * Reads a register of the current frame. @reg is its DWARF number, below SFU_ARCH_NR_REGS. Returns
 * SFU_STOP_REGISTER if it is not known in this frame; else as sfu_walk_read_word().
 */
enum sfu_stop sfu_walk_read_register(struct sfu_walk *walk, unsigned int reg,
				     unsigned long *val)
{
	const struct sfu_frame *frame = &walk->frame;

	if (reg == SFU_ARCH_REG_SP)
		*val = frame->sp;
	else if (reg == SFU_ARCH_REG_FP)
		*val = frame->fp;
	else if (frame->regs)
		*val = sfu_arch_reg(frame->regs, reg);
	else if (frame->sigcontext)
		return sfu_walk_read_word(walk, frame->sigcontext + sizeof(*val) *
					  sfu_arch_sigcontext_word(reg), val);
	else
		return SFU_STOP_REGISTER;
	return SFU_STOP_NONE;
}

/* Computes the value that a rule describes. The calling function handles SFRAME_RULE_SAME. */
static enum sfu_stop compute_rule(struct sfu_walk *walk, const struct sframe_rule *rule,
				  unsigned long cfa, unsigned long *val)
{
	unsigned long base = cfa;
	enum sfu_stop stop;

	if (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM) {
		stop = sfu_walk_read_register(walk, rule->reg, &base);
		if (stop)
			return stop;
	}
	if (rule->how == SFRAME_RULE_CFA || rule->how == SFRAME_RULE_REG) {
		*val = base + rule->off;
		return SFU_STOP_NONE;
	}
	return sfu_walk_read_word(walk, base + rule->off, val);
}

/* Finds the range of an address, or NULL. Most callers lie in the last range: it is tried first. */
struct sfu_range *sfu_walk_find_range(struct sfu_walk *walk, unsigned long addr)
{
	struct sfu_range *last = walk->last;

	if (last && addr >= last->start && addr < last->end)
		return READ_ONCE(last->unmapped) ? NULL : last;
	walk->last = sfu_map_find(walk->map, addr);
	return walk->last;
}

/* Finds a row in the section of @range, on the budget of the walk, as sfu_section_find_row(). */
int sfu_walk_find_row(struct sfu_walk *walk, struct sfu_range *range, unsigned long addr,
		      struct sframe_row *row)
{
	return sfu_section_find_row(&range->section, &walk->lookup, addr, row);
}

/*
 * Finds the start of the function that @row belongs to, which holds at @addr. Returns 0 if the
 * start is not known, or the budget ends before.
 */
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row,
			   unsigned long addr)
{
	const struct sfu_range *range = sfu_walk_find_range(walk, addr);

	if (!row->func && range && range->section.compiled)
		return sfu_section_find_function(&range->section, &walk->lookup, addr);
	return row->func;
}

/*
 * Is the CFA above @below, which is the stack pointer if the caller's frame is on the same stack?
 * CFA == SP is allowed only in a frame that was interrupted (sampled, or hit by a
 * signal): it may not have pushed anything yet.
 */
static bool moves_up(const struct sfu_frame *frame, unsigned long cfa, unsigned long below)
{
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN))
		return false;
	return cfa > below || (sfu_walk_has_registers(frame) && cfa == below);
}

/*
 * Functions save below the CFA. The rows of setcontext() and longjmp() of glibc have their argument
 * as the CFA, with the return address in it, above, or in a register: it is no stack pointer.
 */
static bool cfa_is_argument(const struct sframe_row *row)
{
	if (row->cfa.how != SFRAME_RULE_REG || row->cfa.reg == SFU_ARCH_REG_SP ||
	    row->cfa.reg == SFU_ARCH_REG_FP || row->signal)
		return false;
	return row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off >= 0;
}

static enum sfu_stop find_ra(struct sfu_walk *walk, const struct sframe_rule *rule,
			     unsigned long cfa, unsigned long below, unsigned long *ra)
{
	/* A call has pushed nothing below the stack pointer. */
	if (rule->how == SFRAME_RULE_CFA_MEM && cfa + rule->off < below)
		return SFU_STOP_CFA;
	if (rule->how != SFRAME_RULE_SAME)
		return compute_rule(walk, rule, cfa, ra);
	/* The return address is still in the register that calls leave it in. */
	if (SFU_ARCH_REG_RA < 0)
		return SFU_STOP_RA;
	return sfu_walk_read_register(walk, SFU_ARCH_REG_RA, ra);
}

/*
 * Finds the caller's frame pointer. A rule that loads it relative to the frame pointer
 * of this frame is stale at the end of a realigned function, where that one has been
 * popped: compilers do not describe that. The slot then lies outside of the frame, and
 * the register already holds the caller's frame pointer.
 */
static enum sfu_stop find_fp(struct sfu_walk *walk, const struct sframe_rule *rule,
			     unsigned long cfa, unsigned long *fp)
{
	unsigned long slot = walk->frame.fp + rule->off;

	*fp = walk->frame.fp;
	if (rule->how == SFRAME_RULE_SAME)
		return SFU_STOP_NONE;
	if (rule->how == SFRAME_RULE_REG_MEM && rule->reg == SFU_ARCH_REG_FP &&
	    (slot < walk->frame.sp || slot >= cfa))
		return SFU_STOP_NONE;
	return compute_rule(walk, rule, cfa, fp);
}

/*
 * The caller's stack pointer is the CFA. SFrame has no form for a CFA of a saved stack pointer
 * plus an offset, *(reg + n) + c. "sframectl convert" leaves out c, so the return address is at
 * this CFA or above it, which is true of no other frame where calls push it: the caller's stack
 * begins after it.
 */
static unsigned long find_sp(const struct sframe_row *row, unsigned long cfa)
{
	if (SFU_ARCH_REG_RA >= 0 || row->cfa.how != SFRAME_RULE_REG_MEM ||
	    row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off < 0)
		return cfa;
	return cfa + row->ra.off + sizeof(long);
}

/* Bytes between the frame of a coroutine's first function and the end of its stack, at most. */
#define MAX_ABOVE_FIRST	32

/*
 * Returns true if nothing has called the function whose return address is 0. Code that starts a
 * coroutine (Ruby's) leaves neither a return address nor a frame pointer at the end of the stack,
 * which is the end of a page. A wrong row finds a 0 anywhere in a stack. Most first functions of
 * stacks have rows that say so.
 */
static bool is_first(const struct sfu_frame *caller)
{
	return !caller->fp && -caller->sp % PAGE_SIZE <= MAX_ABOVE_FIRST;
}

/*
 * Is there code at the address of @caller? Sets @last to the range of the address. If the address
 * is the trampoline of uretprobes, the caller gets the address that the trampoline has replaced.
 * Returns SFU_STOP_NONE, or why there is no caller.
 */
enum sfu_stop sfu_walk_check_caller(struct sfu_walk *walk, struct sfu_frame *caller)
{
	walk->wants_code = false;
	if (!caller->ip)
		return is_first(caller) ? SFU_STOP_COMPLETE : SFU_STOP_RA;
	/* The trampoline begins a page. Few other return addresses do. */
	if (PAGE_ALIGNED(caller->ip))
		caller->ip = sfu_uprobe_real_ra(walk, caller->sp, caller->ip);
	walk->wants_code = !sfu_walk_find_range(walk, sfu_walk_lookup_ip(caller));
	return walk->wants_code ? SFU_STOP_RA : SFU_STOP_NONE;
}

/* As sfu_walk_find_caller(), if the caller's frame is above @below. */
static enum sfu_stop find_caller_above(struct sfu_walk *walk, const struct sframe_row *row,
				       unsigned long below, struct sfu_frame *caller)
{
	unsigned long cfa, ra, fp;
	enum sfu_stop stop;

	walk->wants_code = false;
	stop = compute_rule(walk, &row->cfa, 0, &cfa);
	if (stop)
		return stop;
	if (cfa_is_argument(row) || !moves_up(&walk->frame, cfa, below))
		return SFU_STOP_CFA;

	stop = find_ra(walk, &row->ra, cfa, below, &ra) ?: find_fp(walk, &row->fp, cfa, &fp);
	if (stop)
		return stop;
	*caller = (struct sfu_frame){
		.ip = sfu_arch_strip_ra(ra),
		.sp = find_sp(row, cfa),
		.fp = fp,
		.is_activation = row->signal,
	};
	return sfu_walk_check_caller(walk, caller);
}

/*
 * Computes and checks the caller's frame by the row that holds in the frame of the walk, which does
 * not change. Returns SFU_STOP_NONE, or why no caller can be trusted; @caller is undefined then.
 */
enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk, const struct sframe_row *row,
				   struct sfu_frame *caller)
{
	return find_caller_above(walk, row, walk->frame.sp, caller);
}

/* Moves the walk to @caller, which @method has found. */
void sfu_walk_enter(struct sfu_walk *walk, const struct sfu_frame *caller,
		    enum sfu_method method)
{
	walk->frame = *caller;
	walk->nr_frames[method]++;
}

static bool is_sp_based(const struct sframe_rule *rule)
{
	return (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM) &&
	       rule->reg == SFU_ARCH_REG_SP;
}

static bool uses_unverified_sp(const struct sfu_walk *walk, const struct sframe_row *row)
{
	return walk->frame.sp_unverified &&
	       (is_sp_based(&row->cfa) || is_sp_based(&row->ra) || is_sp_based(&row->fp));
}

/* Does the code before @ra call the function that we are in? */
static bool calls(struct sfu_walk *walk, unsigned long ra, const struct sframe_row *row)
{
	unsigned long callee;

	return sfu_fallback_find_callee(walk, ra, &callee) &&
	       callee == sfu_walk_find_function(walk, row, sfu_walk_lookup_ip(&walk->frame));
}

/*
 * Go and OCaml call functions on another stack, so the caller's frame may be below the stack
 * pointer. The row leads to that frame. The instruction before the return address must call the
 * present function: functions that have returned leave other return addresses there.
 */
static bool leaves_stack_by_row(struct sfu_walk *walk, const struct sframe_row *row,
				struct sfu_frame *caller)
{
	if (walk->nr_switches == SFU_MAX_SWITCHES || uses_unverified_sp(walk, row) ||
	    find_caller_above(walk, row, 0, caller) || !calls(walk, caller->ip, row))
		return false;
	walk->nr_switches++;
	return true;
}

static enum sfu_stop step_by_row(struct sfu_walk *walk, const struct sframe_row *row)
{
	struct sfu_frame caller;
	enum sfu_stop stop = sfu_walk_find_caller(walk, row, &caller);

	if (stop == SFU_STOP_REGISTER && !walk->frame.sp_unverified &&
	    sfu_arch_find_binding(walk, row, &caller))
		stop = SFU_STOP_NONE;
	if (stop == SFU_STOP_CFA && leaves_stack_by_row(walk, row, &caller)) {
		sfu_walk_enter(walk, &caller, SFU_METHOD_SFRAME);
		return SFU_STOP_NONE;
	}
	if (stop && !walk->frame.sp_unverified)
		return stop;
	/* If the stack pointer is unverified, the row may be right all the same. */
	if (!stop && (!uses_unverified_sp(walk, row) || calls(walk, caller.ip, row))) {
		sfu_walk_enter(walk, &caller, SFU_METHOD_SFRAME);
		return SFU_STOP_NONE;
	}
	if (!sfu_fallback_by_row(walk, row, &caller))
		return SFU_STOP_NODATA;
	sfu_walk_enter(walk, &caller, SFU_METHOD_FP_HABIT);
	return SFU_STOP_NONE;
}

/*
 * Code that a function jumps to runs in the frame of that function. So the row is right if the
 * instruction before the return address calls the function.
 */
static bool is_entered(struct sfu_walk *walk, const struct sfu_section *section,
		       const struct sframe_row *row)
{
	struct sfu_frame caller;
	unsigned long callee;

	return !sfu_walk_find_caller(walk, row, &caller) &&
	       sfu_fallback_find_callee(walk, caller.ip, &callee) &&
	       callee - section->entry_start < section->entry_size;
}

static enum sfu_stop step(struct sfu_walk *walk, struct sfu_range *range)
{
	const struct sfu_section *section = &range->section;
	struct sframe_row row;

	switch (sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(&walk->frame), &row)) {
	case 0:
		if (row.outermost)
			return SFU_STOP_COMPLETE;
		/* A row leads up the stack only, and gives no registers but SP and FP. */
		if (row.cfa.how == SFRAME_RULE_SAME ||
		    (row.signal && sfu_signal_is_at_return(walk)))
			return sfu_signal_step(walk);
		if (section->entry_size && !is_entered(walk, section, &row))
			return sfu_fallback_step(walk);
		return step_by_row(walk, &row);
	case -ENOENT:
		return sfu_fallback_step(walk);
	case -EFAULT:
		return SFU_STOP_SECTION;
	case -E2BIG:
		return SFU_STOP_BUDGET;
	case -EOPNOTSUPP:
		sfu_count(defects[walk->lookup.rd.defect]);
		return SFU_STOP_REFUSED;
	default:
		return SFU_STOP_BAD;
	}
}

/* One step by any row, or by the fallback. Inlined, it would slow the fast path down. */
static noinline enum sfu_stop walk_slow(struct sfu_walk *walk, struct sfu_range *range)
{
	enum sfu_stop stop;

	if (sfu_walk_charge(walk, SFU_STEP_COST))
		return SFU_STOP_BUDGET;
	stop = step(walk, range);
	/* For want of budget a part of the step may have found nothing, and another reason. */
	return stop && !walk->lookup.rd.budget ? SFU_STOP_BUDGET : stop;
}

/*
 * Enters the next frames, at most @max, which is at least 1. Sets @ips to their addresses in their
 * order, and @nr to their number. &sfu_walk.frame is the last frame that was entered. If the walk
 * ends, only the address of that frame is of use.
 *
 * Returns SFU_STOP_NONE if the walk can go on, and at least one frame was entered; else the reason
 * why the walk ends after these frames, of which there may be none.
 */
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
			       unsigned int *nr)
{
	struct sfu_range *range = NULL;
	enum sfu_stop stop;

	*nr = 0;
	/*
	 * The registers are those of the old program. The memory may be that of the new one, which
	 * has no section yet.
	 */
	if (current->in_execve && !(walk->map && walk->map->nr_sections))
		return SFU_STOP_EXEC;
	if (!walk->has_memory)
		return SFU_STOP_SWITCH;
	if (walk->map)
		range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));
	if (!range)
		return SFU_STOP_UNSCANNED;

	stop = sfu_fast_callers(walk, ips, max, nr);
	if (stop || *nr)
		return stop;
	stop = walk_slow(walk, range);
	if (stop == SFU_STOP_NODATA) {
		*nr = sfu_fallback_chain(walk, ips, max);
		if (*nr)
			return SFU_STOP_NONE;
		return walk->lookup.rd.budget ? stop : SFU_STOP_BUDGET;
	}
	if (stop)
		return stop;
	ips[0] = walk->frame.ip;
	*nr = 1;
	if (walk->frame.by_habit)
		*nr += sfu_fallback_follow(walk, &ips[1], max - 1);
	return SFU_STOP_NONE;
}

/*
 * A new task begins where clone() returns, with the registers of the task that has made it. Its
 * stack may be a new one. The rows there are the other task's, and those of the new one begin at
 * the branch that follows, which it takes because the call has returned 0.
 */
static noinline void follow_child(struct sfu_walk *walk)
{
	u8 code[SFU_ARCH_CHILD_BYTES];

	if (sfu_walk_read_code(walk, code, walk->frame.ip, sizeof(code)))
		walk->frame.ip += sfu_arch_child_branch(code);
}

/*
 * Begins a walk in the frame of a sample. The caller holds @map, NULL if there is none yet, and
 * @cache, which may be NULL, until the end of the walk. @is_borrowed: the map is the parent's, and
 * the walk notes nothing in it. @regs: registers of user mode, in code that sfu_arch_unwindable()
 * allows.
 *
 * Some samples come while user addresses lead to the memory of another process: in a task
 * switch, where the memory is that of the next task before current is the next task, and
 * in calls of the firmware and writes to kernel code, which have page tables of their own.
 * A task switch runs with interrupts off, but tracepoints, kprobes, traced functions and
 * NMIs come there, and a call of the firmware may even be interrupted. So each walk checks
 * the memory, in any context. Once is enough: what a walk has interrupted does not go on
 * before the walk ends.
 *
 * Fields are set one by one: to assign a structure, a compiler clears all of it before.
 */
void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_borrowed,
		   struct sfu_row_cache *cache, struct pt_regs *regs)
{
	struct sfu_lookup *lookup = &walk->lookup;
	struct sfu_frame *frame = &walk->frame;

	walk->map = map;
	walk->last = NULL;
	lookup->rd.budget = SFU_BUDGET;
	lookup->rd.defect = SFRAME_DEFECT_NONE;
	lookup->own.ways[0].section = 0;
	lookup->own.ways[1].section = 0;
	sfu_lookup_use_cache(lookup, cache);
	lookup->bad = NULL;
	lookup->is_borrowed = is_borrowed;
	lookup->wants_map = false;
	lookup->nr_cached = 0;
	lookup->nr_missed = 0;
	walk->has_memory = sfu_arch_has_user_memory();
	walk->wants_habit = false;
	frame->ip = instruction_pointer(regs);
	frame->sp = user_stack_pointer(regs);
	frame->fp = frame_pointer(regs);
	frame->is_activation = true;
	frame->sp_unverified = false;
	frame->by_habit = false;
	frame->is_in_chain = false;
	frame->regs = regs;
	frame->sigcontext = 0;
	walk->nr_signals = 0;
	walk->nr_switches = 0;
	memset(walk->nr_frames, 0, sizeof(walk->nr_frames));
	if (map && walk->has_memory && sfu_uprobe_is_used())
		sfu_uprobe_undo(walk);
	if (unlikely(sfu_arch_is_child(regs)) && map && walk->has_memory)
		follow_child(walk);
}
