// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk: the unwinding of one user stack, from each frame to its caller, by SFrame data.
 *
 * The fast path (fast.c) finds most callers. The general path finds the range (executable mapping)
 * of the ip, and applies the row in its SFrame section. fallback.c finds the callers of code
 * without a row, and signal.c crosses signal frames.
 *
 * A walk cannot loop, because each step does one of these:
 * - raises SP;
 * - crosses a signal frame, at most SFU_MAX_SIGNALS times;
 * - keeps SP, as it leaves a frame that a sample or signal hit, at most 1 + SFU_MAX_SIGNALS times.
 *   On arm64, the function there may lower SP later, or never;
 * - goes to another stack, at lower addresses, at most SFU_MAX_SWITCHES times.
 * The work is bounded: each step, look-up and read costs a part of the walk's instruction
 * budget. A walk takes no lock, and allocates nothing.
 */
#include "walk/fallback.h"
#include "walk/walk.h"

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

/* Returns true if the call before @ra enters the function of @row: this proves @ra to be right. */
static bool is_proved(struct sfu_walk *walk, unsigned long ra, const struct sframe_row *row)
{
	unsigned long callee;

	return sfu_call_find_callee(walk, ra, &callee) &&
	       callee == sfu_walk_find_function(walk, row, sfu_walk_lookup_ip(&walk->frame));
}

/* Finds by @row a caller on another stack, at lower addresses. Go and OCaml have such callers. */
static bool leaves_stack_by_row(struct sfu_walk *walk, const struct sframe_row *row,
				struct sfu_frame *caller)
{
	/* The return address may be stale: check that the call before it enters this function. */
	if (walk->nr_switches == SFU_MAX_SWITCHES || uses_unverified_sp(walk, row) ||
	    sfu_walk_find_caller_above(walk, row, 0, caller) || !is_proved(walk, caller->ip, row))
		return false;
	walk->nr_switches++;
	return true;
}

static enum sfu_stop step_by_row(struct sfu_walk *walk, const struct sframe_row *row)
{
	struct sfu_frame caller;
	enum sfu_stop stop = sfu_walk_find_caller(walk, row, &caller);

	if ((stop == SFU_STOP_REGISTER && !walk->frame.sp_unverified &&
	     sfu_arch_find_binding(walk, row, &caller)) ||
	    (stop == SFU_STOP_CFA && leaves_stack_by_row(walk, row, &caller)))
		stop = SFU_STOP_NONE;
	if (!stop && (!uses_unverified_sp(walk, row) || is_proved(walk, caller.ip, row))) {
		sfu_walk_enter(walk, &caller, SFU_METHOD_SFRAME);
		return SFU_STOP_NONE;
	}
	if (stop && !walk->frame.sp_unverified)
		return stop;
	if (!sfu_fallback_by_row(walk, row, &caller))
		return SFU_STOP_NODATA;
	sfu_walk_enter(walk, &caller, SFU_METHOD_FP_HABIT);
	return SFU_STOP_NONE;
}

/*
 * Goes one step from JIT code that makes no frame of its own (in QEMU, Guile, LuaJIT). A function F
 * (at &sfu_section.entry_start) jumps to this code, which then runs in the frame of F. Where the
 * code has moved SP, @row is wrong. So accept only a return address that follows a call of F.
 */
static enum sfu_stop step_after_jump(struct sfu_walk *walk, const struct sfu_section *section,
				     const struct sframe_row *row)
{
	struct sfu_frame caller;
	unsigned long callee;

	if (sfu_walk_find_caller(walk, row, &caller) ||
	    !sfu_call_find_callee(walk, caller.ip, &callee) ||
	    callee - section->entry_start >= section->entry_size)
		return sfu_fallback_step(walk);
	sfu_walk_enter(walk, &caller, SFU_METHOD_SFRAME);
	return SFU_STOP_NONE;
}

static enum sfu_stop step(struct sfu_walk *walk, struct sfu_range *range)
{
	struct sframe_row row;

	switch (sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(&walk->frame), &row)) {
	case 0:
		if (row.outermost)
			return SFU_STOP_COMPLETE;
		/* Back from an alternate signal stack, SP may fall: sfu_signal_step() allows it. */
		if (row.cfa.how == SFRAME_RULE_SAME ||
		    (row.signal && sfu_signal_is_at_return(walk)))
			return sfu_signal_step(walk);
		if (range->section.entry_size)
			return step_after_jump(walk, &range->section, &row);
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

/* Does one step of a walk where the fast path cannot. Inlined, it would slow down the fast path. */
static noinline enum sfu_stop walk_slow(struct sfu_walk *walk, struct sfu_range *range, u64 *ips,
					unsigned int max, unsigned int *nr)
{
	enum sfu_stop stop;

	if (sfu_walk_charge(walk, SFU_STEP_COST))
		return SFU_STOP_BUDGET;
	stop = step(walk, range);
	if (stop == SFU_STOP_NODATA) {
		*nr = sfu_chain_enter(walk, ips, max);
		return *nr ? SFU_STOP_NONE : stop;
	}
	if (stop)
		return stop;
	ips[0] = walk->frame.ip;
	*nr = 1;
	if (walk->frame.by_kept_fp)
		*nr += sfu_chain_follow(walk, &ips[1], max - 1);
	return SFU_STOP_NONE;
}

/*
 * Finds at most @max (not 0) callers. Stores their addresses in @ips, and their number in @nr.
 * Returns SFU_STOP_NONE if the walk can go on: then @nr is at least 1. Else returns why the walk
 * ends. Then @nr may be 0, and walk->frame has a valid ip, but SP and FP may be wrong.
 */
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr)
{
	struct sfu_range *range = NULL;
	enum sfu_stop stop;

	*nr = 0;
	/* In execve(), memory and (empty) map may be the new program's, but registers the old's. */
	if (current->in_execve && !(walk->map && walk->map->nr_sections))
		return SFU_STOP_EXEC;
	if (!walk->has_memory)
		return SFU_STOP_SWITCH;
	if (walk->map)
		range = sfu_walk_range_of(walk, &walk->frame);
	if (!range)
		return SFU_STOP_UNSCANNED;

	stop = sfu_fast_callers(walk, ips, max, nr);
	if (stop || *nr)
		return stop;
	stop = walk_slow(walk, range, ips, max, nr);
	/* When the budget is spent, reads fail as if pages were absent: give the true reason. */
	return stop && !walk->lookup.rd.budget ? SFU_STOP_BUDGET : stop;
}

/*
 * Begins a walk at @regs, the sampled registers of user mode, which sfu_arch_unwindable() has
 * accepted. The caller keeps @map and @cache until the end of the walk; both may be NULL.
 * @is_inherited: @map belongs to the parent, so a walk of the forked child writes nothing to it.
 */
void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_inherited,
		   struct sfu_row_cache *cache, struct pt_regs *regs)
{
	struct sfu_lookup *lookup = &walk->lookup;
	struct sfu_frame *frame = &walk->frame;

	/* The members are set one by one: a structure assignment would first clear all of them. */
	walk->map = map;
	walk->last = NULL;
	lookup->rd.budget = SFU_BUDGET;
	lookup->rd.defect = SFRAME_DEFECT_NONE;
	lookup->own.ways[0].section = 0;
	lookup->own.ways[1].section = 0;
	sfu_lookup_use_cache(lookup, cache);
	lookup->bad = NULL;
	lookup->is_inherited = is_inherited;
	lookup->wants_map = false;
	lookup->nr_cached = 0;
	lookup->nr_missed = 0;
	/*
	 * NMIs, tracepoints and kprobes may occur while the memory of current is not loaded. A task
	 * switch loads the next task's memory before it changes current. Firmware calls and writes
	 * to kernel code use other page tables. One check is enough: the interrupted code does not
	 * go on before the walk ends.
	 */
	walk->has_memory = sfu_arch_has_user_memory();
	walk->wants_keeps_fp = false;
	frame->ip = instruction_pointer(regs);
	frame->sp = user_stack_pointer(regs);
	frame->fp = frame_pointer(regs);
	frame->is_activation = true;
	frame->sp_unverified = false;
	frame->by_kept_fp = false;
	frame->is_in_chain = false;
	frame->regs = regs;
	frame->sigcontext = 0;
	walk->nr_signals = 0;
	walk->nr_switches = 0;
	memset(walk->nr_frames, 0, sizeof(walk->nr_frames));
	if (map && walk->has_memory && sfu_uprobe_is_used())
		sfu_uprobe_undo(walk);
	/*
	 * A new task begins after the system call of clone(). Up to the next branch, the rows
	 * describe the parent's stack, so the walk begins at the target of this branch.
	 */
	if (unlikely(sfu_arch_is_child(regs)) && map && walk->has_memory)
		frame->ip += sfu_arch_child_branch(walk, frame->ip);
}
