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
 * which sframe_fallback.c allows MAX_SWITCHES times. Work: all that a walk does is charged
 * to one budget: look-ups, steps, reads, and the list of pending uretprobes.
 *
 * Nothing here takes a lock, allocates, sleeps, or waits for memory.
 */
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "sframe_arch.h"
#include "sframe_user.h"
#include "sframe_walk.h"

#define AHEAD_FRAMES_MAX	127	/* frames: as many as perf takes by default */

/*
 * The budget of a walk that a real-time task may be waiting for. Frames whose rows are remembered
 * are free, and so are those by habit: the kernel's own walk finds these, too. The budget pays for
 * two look-ups and the end of a stack, or for a proof. It is less after frames of the kernel, which
 * take perf some 300 instructions each.
 */
#define LIMITED_BUDGET	6000U
#define LEAST_BUDGET	3000U		/* a step, in which one read may fail */
#define KERNEL_FRAME_COST	200U

/*
 * A look-up takes some 500 instructions, and the first walk of a stack needs one for each frame. In
 * an interrupt of a real-time kernel a task may be waiting meanwhile. What else such a walk does is
 * limited, too: sfu_walk_set_limits().
 */
unsigned int sfu_walk_lookups = IS_ENABLED(CONFIG_PREEMPT_RT) ? 2 : 0;
module_param_named(lookups, sfu_walk_lookups, uint, 0644);
MODULE_PARM_DESC(lookups, "rows that the walk of a synchronous stack may look up; 0: as many as it needs (default 0; 2 on PREEMPT_RT)");

/* Reads user memory; the budget has paid for a read that succeeds. */
static int read_user(const struct sfu_walk *walk, void *dst, unsigned long addr, size_t len)
{
	int err = sfu_user_read(dst, addr, len);

	if (err)
		sfu_walk_charge(walk, SFRAME_FAULT_COST);
	return err;
}

/**
 * sfu_walk_read_word() - read a word of the stack
 * @walk: the walk
 * @addr: user address
 * @val: set with SFU_STOP_NONE
 *
 * Context: As that of sfu_walk_init().
 * Return: SFU_STOP_NONE, SFU_STOP_STACK, or SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr,
				 unsigned long *val)
{
	if (sfu_walk_charge(walk, SFU_READ_COST))
		return SFU_STOP_BUDGET;
	return read_user(walk, val, addr, sizeof(*val)) ? SFU_STOP_STACK : SFU_STOP_NONE;
}

/* Reads @len bytes of code; returns whether they are there, and the budget pays for the read. */
bool sfu_walk_read_code(const struct sfu_walk *walk, void *code, unsigned long addr,
			size_t len)
{
	return !sfu_walk_charge(walk, SFU_READ_COST) && !read_user(walk, code, addr, len);
}

/**
 * sfu_walk_read_register() - read a register of the current frame
 * @walk: the walk
 * @reg: DWARF number, below SFU_ARCH_NR_REGS
 * @val: set with SFU_STOP_NONE
 *
 * Context: As that of sfu_walk_init().
 * Return: SFU_STOP_NONE; SFU_STOP_REGISTER if the register is not known in this
 * frame; SFU_STOP_STACK; SFU_STOP_BUDGET.
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

/**
 * sfu_walk_find_range() - find the range of an address
 * @walk: the walk
 * @addr: user address
 *
 * A caller mostly lies in the range of its callee, so the last range is tried first.
 *
 * Context: As that of sfu_walk_init().
 * Return: The range, or NULL.
 */
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
 * CFA == SP is allowed only in a frame that was interrupted (sampled, or hit by a
 * signal): it may not have pushed anything yet.
 */
static bool moves_up(const struct sfu_frame *frame, unsigned long cfa)
{
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN))
		return false;
	return cfa > frame->sp || (sfu_walk_has_registers(frame) && cfa == frame->sp);
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

/* Does the row need a frame pointer that is not known? */
static bool lacks_fp(const struct sfu_walk *walk, const struct sframe_row *row)
{
	return walk->frame.fp == SFU_FP_UNKNOWN && row->cfa.reg == SFU_ARCH_REG_FP;
}

static enum sfu_stop find_ra(struct sfu_walk *walk, const struct sframe_rule *rule,
			     unsigned long cfa, unsigned long *ra)
{
	/* A call has pushed nothing below the stack pointer. */
	if (rule->how == SFRAME_RULE_CFA_MEM && cfa + rule->off < walk->frame.sp)
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
	if (SFU_ARCH_REG_RA >= 0 || row->signal || row->cfa.how != SFRAME_RULE_REG_MEM ||
	    row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off < 0)
		return cfa;
	return cfa + row->ra.off + sizeof(long);
}

/**
 * sfu_walk_find_caller() - compute and check the caller's frame
 * @walk: the walk; its frame stays as it is
 * @row: the row that holds in the frame
 * @caller: set with SFU_STOP_NONE, else undefined
 *
 * Context: As that of sfu_walk_init().
 * Return: SFU_STOP_NONE, or why there is no caller that can be trusted.
 */
enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk, const struct sframe_row *row,
				   struct sfu_frame *caller)
{
	unsigned long cfa, sp, ra, fp;
	enum sfu_stop stop;

	walk->wants_code = false;
	if (lacks_fp(walk, row))
		return SFU_STOP_REGISTER;
	stop = compute_rule(walk, &row->cfa, 0, &cfa);
	if (stop)
		return stop;
	if (cfa_is_argument(row) || !moves_up(&walk->frame, cfa))
		return SFU_STOP_CFA;

	stop = find_ra(walk, &row->ra, cfa, &ra) ?: find_fp(walk, &row->fp, cfa, &fp);
	if (stop)
		return stop;
	ra = sfu_arch_strip_ra(ra);
	sp = find_sp(row, cfa);
	/* The trampoline of uretprobes begins a page. Few other return addresses do. */
	if (PAGE_ALIGNED(ra))
		ra = sfu_uprobe_real_ra(walk, sp, ra);

	*caller = (struct sfu_frame){
		.ip = ra,
		.sp = sp,
		.fp = fp,
		.is_activation = row->signal,
	};
	/*
	 * Code that starts a thread or a coroutine leaves neither a return address nor a frame
	 * pointer. A wrong row finds a 0 anywhere.
	 */
	if (!ra)
		return fp ? SFU_STOP_RA : SFU_STOP_COMPLETE;
	walk->wants_code = !sfu_walk_find_range(walk, sfu_walk_lookup_ip(caller));
	return walk->wants_code ? SFU_STOP_RA : SFU_STOP_NONE;
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

/* Does the row use a stack pointer that no row vouches for? */
static bool uses_unverified_sp(const struct sfu_walk *walk, const struct sframe_row *row)
{
	return walk->frame.sp_unverified &&
	       (is_sp_based(&row->cfa) || is_sp_based(&row->ra) || is_sp_based(&row->fp));
}

/* Does the code before @ra call @func? */
static bool calls(struct sfu_walk *walk, unsigned long ra, unsigned long func)
{
	unsigned long callee;

	return sfu_fallback_find_callee(walk, ra, &callee) && callee == func;
}

static enum sfu_stop step_by_row(struct sfu_walk *walk, const struct sframe_row *row)
{
	struct sfu_frame caller;
	enum sfu_stop stop = sfu_walk_find_caller(walk, row, &caller);

	if (stop == SFU_STOP_REGISTER && !walk->frame.sp_unverified &&
	    sfu_arch_find_binding(walk, row, &caller))
		stop = SFU_STOP_NONE;
	if (stop && !walk->frame.sp_unverified)
		return stop;
	/* If the stack pointer is unverified, the row may be right all the same. */
	if (!stop && (!uses_unverified_sp(walk, row) || calls(walk, caller.ip, row->func))) {
		sfu_walk_enter(walk, &caller, SFU_METHOD_SFRAME);
		return SFU_STOP_NONE;
	}
	if (!sfu_fallback_by_row(walk, row, &caller))
		return SFU_STOP_NODATA;
	sfu_walk_enter(walk, &caller, SFU_METHOD_FP_HABIT);
	return SFU_STOP_NONE;
}

static enum sfu_stop step(struct sfu_walk *walk, struct sfu_range *range)
{
	struct sframe_row row;

	switch (sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(&walk->frame), &row)) {
	case 0:
		if (row.outermost)
			return SFU_STOP_COMPLETE;
		/* A row leads up the stack only, and gives no registers but SP and FP. */
		if (row.cfa.how == SFRAME_RULE_SAME ||
		    (row.signal && sfu_signal_is_at_return(walk)))
			return sfu_signal_step(walk);
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

/*
 * Gives back what frames have cost that the limits of a walk do not concern. In all, such a walk
 * never costs more than one without limits.
 */
static void give_back(struct sfu_walk *walk, u32 cost)
{
	if (!walk->lookup.most)
		return;
	cost = min_t(u32, cost, walk->spare);
	walk->spare -= cost;
	walk->lookup.rd.budget += cost;
}

/* One step by any row, or by the fallback. Inlined, it would slow the fast path down. */
static noinline enum sfu_stop walk_slow(struct sfu_walk *walk, struct sfu_range *range)
{
	const u32 budget = walk->lookup.rd.budget;
	enum sfu_stop stop;

	if (sfu_walk_charge(walk, SFU_STEP_COST))
		return SFU_STOP_BUDGET;
	stop = step(walk, range);
	if (!stop && walk->frame.by_habit)
		give_back(walk, budget - walk->lookup.rd.budget);
	/* For want of budget a part of the step may have found nothing, and another reason. */
	return stop && !walk->lookup.rd.budget ? SFU_STOP_BUDGET : stop;
}

/*
 * Returns the frame pointer as the base of a row, or 0 if it does not point into the
 * stack above @sp. If the processor mispredicts the checks, @fp may be any value, and @sp
 * be above @end. The mask compares with @end alone, which no process chooses: so the base
 * is a user address, or 0.
 */
static __always_inline unsigned long fast_base(unsigned long fp, unsigned long sp,
					       unsigned long end)
{
	if (fp < sp || fp >= end || !IS_ALIGNED(fp, SFU_ARCH_CFA_ALIGN))
		return 0;
	return array_index_nospec(fp, end);
}

/*
 * Finds the CFA and the return address by a row of one of the most common kinds, from the frame of
 * @sp and @fp. @base: set to what the row's offsets are from. @how: the bits of SFU_FAST_HOW that
 * the row has, or all of them if it may have any. Returns false if the row is of another kind, or
 * the step fails. The window of user memory is open from @sp to @end.
 *
 * sfu_pack_row() accepts only rows whose CFA is above the base, and whose reads lie
 * between the two. sfu_user_open() has checked the first stack pointer, for the processor,
 * too: it is a barrier, or each read masks its address. So each step checks only its CFA.
 * If the processor mispredicts that check, it reads a few frames too far up. Each is at most
 * 64 KiB. Above user addresses is a hole of 2^47 bytes at least, which such reads do not cross.
 */
static __always_inline bool step_fast(union sfu_fast_row row, u16 how, unsigned long sp,
				      unsigned long fp, unsigned long end,
				      unsigned long ra_mask, unsigned long *base,
				      unsigned long *cfa, unsigned long *ra)
{
	unsigned long val;

	*base = sp;
	if (how == SFU_FAST_HOW && row.word & SFU_FAST_OTHER)
		return false;
	if (how == SFU_FAST_HOW && row.word & SFU_FAST_FP) {
		*base = fast_base(fp, sp, end);
		if (!*base)
			return false;
	}
	/* To subtract the bits of @how that are set takes less than to mask them. */
	*cfa = *base + (how == SFU_FAST_HOW ? row.word & SFU_FAST_CFA : (u16)row.word - (u64)how);
	if (*cfa > end)
		return false;
	/* A call that pushes the return address pushes it last. */
	sfu_user_get_word(val, SFU_ARCH_REG_RA < 0 ? *cfa - sizeof(val) : *base + row.ra, absent);
	*ra = val & ra_mask;
	return true;
absent:
	return false;
}

/*
 * Where a row that saves the frame pointer has it. By a shift: for a member GCC would keep another
 * copy of the row.
 */
static __always_inline unsigned long fast_fp_slot(union sfu_fast_row row, unsigned long base)
{
	return base + (u16)(row.word >> 32);
}

static bool can_walk_fast(const struct sfu_walk *walk)
{
	return !walk->frame.sp_unverified &&
	       IS_ALIGNED(walk->frame.sp, SFU_ARCH_CFA_ALIGN) &&
	       walk->frame.sp < TASK_SIZE_MAX;
}

/* The rows of @range for the fast path. Without them the walk asks for a scan, which makes room. */
static __always_inline bool get_fast_rows(struct sfu_walk *walk, const struct sfu_range *range,
					  bool is_activation, struct sfu_fast_rows *rows)
{
	if (sfu_section_fast_rows(&range->section, walk->lookup.cache, is_activation, rows))
		return true;
	walk->wants_words |= sfu_section_is(&range->section, SFU_SECTION_READY) &&
			     range->section.has_keys;
	return false;
}

/* Moves the walk over @nr frames. The registers are those of the last one. */
static void enter_fast(struct sfu_walk *walk, unsigned long ip, unsigned long sp,
		       unsigned long fp, unsigned int nr)
{
	struct sfu_frame *frame = &walk->frame;

	frame->ip = ip;
	frame->sp = sp;
	frame->fp = fp;
	frame->is_activation = false;
	frame->regs = NULL;
	frame->sigcontext = 0;
	walk->nr_frames[SFU_METHOD_SFRAME] += nr;
}

/*
 * Counts the rows that the fast path has found in the rule cache: of @nr steps, and @nr_missed of
 * their rows were not there. One more may be missed, whose step fails.
 */
static void count_cached(struct sfu_walk *walk, unsigned int nr, unsigned int nr_missed)
{
	walk->lookup.nr_cached += nr - min_t(unsigned int, nr, nr_missed);
}

/**
 * struct fast_walk - the fast path, while it is not in registers
 * @walk: the walk; for look-ups. Kept here: the loop has no register for it
 * @sp: stack pointer of the last frame that was entered
 * @fp: its frame pointer
 * @row: its row, if that says that the stack ends, or is the next to step by; else another
 * @last: one past the place of the address of the last frame that the walk has paid for
 * @left: frames until then
 * @before: the range before the last one, or NULL
 * @minus_first_ra: the return address that is looked up at the start of the range, negated
 * @size: of the range
 * @key_of_ra: the key of a return address is this plus the address
 * @words: the rows of callers
 * @outer_sp: CFA of the last frame, if its caller is outside of the range; else 0
 * @outer_fp: frame pointer of that caller
 * @outer_ra: its address
 */
struct fast_walk {
	struct sfu_walk		*walk;
	unsigned long		sp;
	unsigned long		fp;
	union sfu_fast_row	row;
	u64			*last;
	long			left;
	struct sfu_range	*before;
	unsigned long		minus_first_ra;
	unsigned long		size;
	u64			key_of_ra;
	struct sfu_words	words;
	unsigned long		outer_sp;
	unsigned long		outer_fp;
	unsigned long		outer_ra;
};

/*
 * The walk has paid for the frames that it may still enter. Their budget is lent to a look-up, or
 * to a search of a range, until take_budget_back().
 */
static __always_inline void lend_budget(struct fast_walk *fast)
{
	fast->walk->lookup.rd.budget += (u32)fast->left * SFU_FAST_COST;
}

/* Pays for the frames again. If less is left of the budget, the walk may enter fewer of them. */
static __always_inline void take_budget_back(struct fast_walk *fast)
{
	u32 *budget = &fast->walk->lookup.rd.budget;
	u32 left = fast->left;

	if (unlikely(*budget < left * SFU_FAST_COST)) {
		fast->last -= left;
		left = *budget / SFU_FAST_COST;
		fast->last += left;
		fast->left = left;
	}
	*budget -= left * SFU_FAST_COST;
}

/* Finds the row of the last frame by any look-up. */
static noinline void find_any_row(struct sfu_walk *walk, struct fast_walk *fast,
				  unsigned long addr, bool is_activation)
{
	struct sfu_range *range = walk->last;

	lend_budget(fast);
	fast->row = sfu_section_add_fast_row(&range->section, &walk->lookup, addr, is_activation);
	take_budget_back(fast);
	/* The loop ends at such a row, and needs no test of its own for this. */
	if (!fast->left && !sfu_fast_row_is_outermost(fast->row))
		fast->row = SFU_OTHER_ROW;
}

/* Finds the row of the last frame, at @addr, which the rule cache does not know. */
static __always_inline void find_fast_row(struct fast_walk *fast, unsigned long addr,
					  bool is_activation)
{
	struct sfu_walk *walk = fast->walk;
	const struct sfu_section *section = &walk->last->section;

	if (likely(section->compiled))
		fast->row = sfu_section_add_table_row(section, &walk->lookup, addr);
	else
		find_any_row(walk, fast, addr, is_activation);
}

/*
 * Steps by rows that the rule cache knows, inside one range. The first is &fast_walk.row. Returns
 * true if it has entered a frame whose row is not known. Else the fast path is at its end.
 *
 * All values that the loop needs are copied to registers, of which there are just enough: so
 * nothing is called in it, and nothing else is used after it.
 */
static __always_inline bool follow_words(struct fast_walk *fast)
{
	const unsigned long end = TASK_SIZE_MAX, ra_mask = sfu_arch_ra_mask();
	const unsigned long size = fast->size, minus_first_ra = fast->minus_first_ra;
	const u64 key_of_ra = fast->key_of_ra;
	const struct sfu_words words = fast->words;
	unsigned long sp = fast->sp, fp = fast->fp, base, cfa, ra, caller_fp;
	union sfu_fast_row row = fast->row;
	u64 *last = fast->last;
	long i = -fast->left;
	bool is_missed = false;

	if (!sfu_user_open(sp, end - sp))
		return false;
	for (;;) {
		if (likely(!(row.word & SFU_FAST_HOW))) {
			if (!step_fast(row, 0, sp, fp, end, ra_mask, &base, &cfa, &ra))
				break;
			if (unlikely(ra + minus_first_ra >= size))
				goto outside;
		} else if (likely(!(row.word & SFU_FAST_HOW & ~SFU_FAST_FP_SAVED))) {
			if (!step_fast(row, SFU_FAST_FP_SAVED, sp, fp, end, ra_mask, &base, &cfa,
				       &ra))
				break;
			if (unlikely(ra + minus_first_ra >= size))
				goto outside_fp_saved;
			/* A read that fails may store anything in its target. */
			sfu_user_get_word(caller_fp, fast_fp_slot(row, base), close);
			fp = caller_fp;
		} else {
			if (!step_fast(row, SFU_FAST_HOW, sp, fp, end, ra_mask, &base, &cfa, &ra)) {
				fast->row = row;
				break;
			}
			if (unlikely(ra + minus_first_ra >= size)) {
				if (row.word & SFU_FAST_FP_SAVED)
					goto outside_fp_saved;
				goto outside;
			}
			if (row.word & SFU_FAST_FP_SAVED) {
				sfu_user_get_word(caller_fp, fast_fp_slot(row, base), close);
				fp = caller_fp;
			}
		}
		sp = cfa;
		last[i] = ra;
		if (unlikely(++i >= 0)) {
			/* There is no room. But the stack may end here. */
			if (sfu_words_find(words, key_of_ra + ra, &row))
				fast->row = row;
			break;
		}
		if (unlikely(!sfu_words_find(words, key_of_ra + ra, &row))) {
			is_missed = true;
			break;
		}
	}
	goto close;
outside_fp_saved:
	/* Hides that the address is that of the loop: GCC would compute it for each frame. */
	OPTIMIZER_HIDE_VAR(row.word);
	sfu_user_get_word(fast->outer_fp, fast_fp_slot(row, base), close);
	goto outside_fp_known;
outside:
	fast->outer_fp = fp;
outside_fp_known:
	fast->outer_sp = cfa;
	fast->outer_ra = ra;
close:
	sfu_user_close();
	fast->sp = sp;
	fast->fp = fp;
	fast->left = -i;
	return is_missed;
}

/* From now on the walk is in @range, whose rows are @rows. */
static __always_inline void go_to_range(struct fast_walk *fast, const struct sfu_range *range,
					const struct sfu_fast_rows *rows)
{
	fast->minus_first_ra = -(range->start + 1);
	fast->size = range->end - range->start;
	fast->words = rows->words;
	fast->words.first = rows->callers;
	fast->key_of_ra = rows->key_base - 1;
	fast->outer_sp = 0;
}

/* Pays for the way to another range. Returns false if the budget is too small, also for a frame. */
static __always_inline bool pay_for_range(struct fast_walk *fast)
{
	u32 *budget = &fast->walk->lookup.rd.budget;

	give_back(fast->walk, SFU_RANGE_COST);
	lend_budget(fast);
	*budget -= min_t(u32, *budget, SFU_RANGE_COST);
	take_budget_back(fast);
	return fast->left;
}

/*
 * Finds the range of an address outside of the last one, or NULL. Libraries call back: often it is
 * the one that the walk has come from.
 */
static __always_inline struct sfu_range *find_outer_range(struct fast_walk *fast,
							  unsigned long addr)
{
	struct sfu_walk *walk = fast->walk;
	struct sfu_range *range = fast->before;

	fast->before = walk->last;
	if (!range || addr < range->start || addr >= range->end || READ_ONCE(range->unmapped))
		range = sfu_map_find(walk->map, addr);
	walk->last = range;
	return range;
}

/*
 * Enters the frame outside of the range, unless it is the end of the stack, or a trampoline.
 * Returns false if the fast path is at its end. Else @is_missed says whether the row of the frame
 * is not known.
 */
static __always_inline bool enter_outer(struct fast_walk *fast, bool *is_missed)
{
	struct sfu_walk *walk = fast->walk;
	unsigned long ra = fast->outer_ra;
	struct sfu_fast_rows rows __uninitialized;
	struct sfu_range *range;

	if (!fast->outer_sp || PAGE_ALIGNED(ra))
		return false;
	range = find_outer_range(fast, ra - 1);
	if (!range || !pay_for_range(fast))
		return false;
	fast->sp = fast->outer_sp;
	fast->fp = fast->outer_fp;
	fast->outer_sp = 0;
	fast->last[-fast->left] = ra;
	fast->left--;
	if (!get_fast_rows(walk, range, false, &rows))
		return false;
	go_to_range(fast, range, &rows);
	*is_missed = !sfu_words_find(fast->words, fast->key_of_ra + ra, &fast->row);
	if (*is_missed)
		fast->row = SFU_OTHER_ROW;
	/* A walk with limits gets back what it has paid before it looks up another row. */
	return fast->left && !walk->lookup.most;
}

/*
 * Steps by rows that the rule cache knows, or will know. The first is &fast_walk.row, or that at
 * @addr, if it is not 0.
 */
static noinline void follow_rows(struct fast_walk *fast, unsigned long addr, bool is_activation)
{
	bool is_missed = addr;

	for (;;) {
		if (is_missed)
			find_fast_row(fast, addr, is_activation);
		is_missed = follow_words(fast);
		if (!is_missed && !enter_outer(fast, &is_missed))
			return;
		addr = fast->last[-fast->left - 1] - 1;
		is_activation = false;
	}
}

/*
 * The fast path: steps by rows of the most common kinds. It looks up rows that are not cached.
 * Each step does the same as step_by_row(), in a few registers. Anything else ends the fast path
 * and is left to walk_slow(), to do it or to find the reason.
 *
 * Sets @nr to the number of frames entered. Returns SFU_STOP_COMPLETE if the stack
 * ends after them, else SFU_STOP_NONE.
 */
static __always_inline enum sfu_stop walk_fast(struct sfu_walk *walk, struct sfu_range *range,
					       u64 *ips, unsigned int max, unsigned int *nr)
{
	struct fast_walk fast __uninitialized;
	unsigned int nr_missed = walk->lookup.nr_missed;
	unsigned long addr = sfu_walk_lookup_ip(&walk->frame);
	enum sfu_stop stop = SFU_STOP_NONE;
	struct sfu_fast_rows rows __uninitialized;

	fast.left = min_t(u32, max, walk->lookup.rd.budget / SFU_FAST_COST);
	if (!can_walk_fast(walk) || !fast.left ||
	    !get_fast_rows(walk, range, walk->frame.is_activation, &rows))
		return SFU_STOP_NONE;
	fast.walk = walk;
	fast.sp = walk->frame.sp;
	fast.fp = walk->frame.fp;
	fast.last = ips + fast.left;
	fast.before = NULL;
	go_to_range(&fast, range, &rows);
	/* The walk pays for all frames before it looks up any row. */
	walk->lookup.rd.budget -= fast.left * SFU_FAST_COST;
	if (sfu_section_fast_row(&rows, addr, &fast.row))
		addr = 0;
	follow_rows(&fast, addr, walk->frame.is_activation);
	if (fast.left > 0)
		walk->lookup.rd.budget += fast.left * SFU_FAST_COST;

	/* The last step may lead to the end of the stack, to a trampoline, or to no code at all. */
	if (fast.outer_sp ? !(fast.outer_ra | fast.outer_fp) : sfu_fast_row_is_outermost(fast.row))
		stop = SFU_STOP_COMPLETE;
	*nr = fast.last - fast.left - ips;
	count_cached(walk, *nr + (stop == SFU_STOP_COMPLETE), walk->lookup.nr_missed - nr_missed);
	if (*nr)
		enter_fast(walk, ips[*nr - 1], fast.sp, fast.fp, *nr);
	give_back(walk, *nr * SFU_FAST_COST);
	return stop;
}

/**
 * sfu_walk_callers() - go to the caller's frame, or several frames on
 * @walk: the walk
 * @ips: set to the addresses of the frames that were entered, in their order
 * @max: enter at most this many frames; at least 1
 * @nr: set to the number of frames entered
 *
 * &sfu_walk.frame is the last frame that was entered. If none was, it is unchanged.
 *
 * "noinline" keeps GCC from splitting the function in two, to inline the first checks in
 * sfu_walk_ahead(): each sample would pay with another call.
 *
 * Context: As that of sfu_walk_init().
 * Return: SFU_STOP_NONE if the walk can go on, and at least one frame was entered; else
 * the reason why the walk ends after these frames, of which there may be any number.
 */
noinline enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
					unsigned int *nr)
{
	struct sfu_range *range = NULL;
	unsigned int nr_fast = 0;
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

	stop = walk_fast(walk, range, ips, max, &nr_fast);
	if (stop || nr_fast) {
		*nr = nr_fast;
		return stop;
	}
	stop = walk_slow(walk, range);
	if (!stop) {
		ips[0] = walk->frame.ip;
		*nr = 1;
	}
	return stop;
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

/**
 * sfu_walk_init() - begin a walk in the frame of a sample
 * @walk: initialized
 * @map: the map of the process current, which the caller holds until the end of
 *	the walk; NULL if there is none yet
 * @is_borrowed: the map is the one of the parent: the walk notes nothing in it
 * @cache: its rule cache, held likewise, or NULL
 * @regs: registers of user mode, of code that sfu_arch_unwindable() allows
 *
 * Some samples come while user addresses lead to the memory of another process: in a task
 * switch, where the memory is that of the next task before current is the next task, and
 * in calls of the firmware and writes to kernel code, which have page tables of their own.
 * A task switch runs with interrupts off, but tracepoints, kprobes, traced functions and
 * NMIs come there, and a call of the firmware may even be interrupted. So no context
 * vouches for the memory, and each walk asks for it, once: what a walk has interrupted does
 * not go on before the walk ends.
 *
 * Fields are set one by one: to assign a structure, a compiler clears all of it before. Two fields
 * get their values later: &sfu_lookup.resident with the reader, &sfu_walk.spare with the limits.
 *
 * Context: Any, NMI included.
 */
void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_borrowed,
		   struct sfu_cache *cache, struct pt_regs *regs)
{
	struct sfu_lookup *lookup = &walk->lookup;
	struct sfu_frame *frame = &walk->frame;

	walk->map = map;
	walk->last = NULL;
	lookup->rd.budget = SFU_BUDGET;
	lookup->rd.defect = SFRAME_DEFECT_NONE;
	lookup->cache = cache;
	lookup->bad = NULL;
	lookup->is_borrowed = is_borrowed;
	lookup->wants_cache = false;
	lookup->most = 0;
	lookup->nr_begun = 0;
	lookup->nr_cached = 0;
	lookup->nr_missed = 0;
	walk->has_memory = sfu_arch_has_user_memory();
	walk->wants_habit = false;
	walk->wants_words = false;
	frame->ip = instruction_pointer(regs);
	frame->sp = user_stack_pointer(regs);
	frame->fp = frame_pointer(regs);
	frame->is_activation = true;
	frame->sp_unverified = false;
	frame->by_habit = false;
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

/**
 * sfu_walk_set_limits() - limit a walk that a real-time task may be waiting for
 * @walk: the walk, which has just begun
 * @most: rows that it may look up
 * @nr_before: frames of the kernel that perf has found before
 *
 * If the limits end a walk, sfu_walk_ahead() looks up what it has left, and the next one finds that
 * in the cache.
 *
 * Context: As that of sfu_walk_init().
 */
void sfu_walk_set_limits(struct sfu_walk *walk, unsigned int most, unsigned int nr_before)
{
	const u32 most_before = (LIMITED_BUDGET - LEAST_BUDGET) / KERNEL_FRAME_COST;
	struct sfu_lookup *lookup = &walk->lookup;

	lookup->most = most;
	walk->spare = SFU_BUDGET - LIMITED_BUDGET;
	lookup->rd.budget = min_t(u32, lookup->rd.budget, LIMITED_BUDGET -
				  min_t(u32, nr_before, most_before) * KERNEL_FRAME_COST);
}

/**
 * sfu_walk_ahead() - walk a stack for the sake of later walks
 * @map: as for sfu_walk_init()
 * @is_borrowed: as for sfu_walk_init()
 * @cache: as for sfu_walk_init()
 * @regs: registers of user mode
 *
 * All rows that the walk needs are looked up and remembered, whatever the limits of a sample are.
 * The walk ends after AHEAD_FRAMES_MAX frames, or when its budget, that of any walk, is spent.
 *
 * Context: Task, on its way to user mode, under rcu_read_lock(). Does not sleep.
 * Return: Whether there was no place for a row, for want of @cache.
 */
bool sfu_walk_ahead(struct sfu_map *map, bool is_borrowed, struct sfu_cache *cache,
		    struct pt_regs *regs)
{
	unsigned int depth, nr;
	struct sfu_walk walk __uninitialized;
	u64 ips[16];

	if (!sfu_arch_unwindable(regs))
		return false;
	sfu_walk_init(&walk, map, is_borrowed, cache, regs);
	for (depth = 1; depth < AHEAD_FRAMES_MAX; depth += nr)
		if (sfu_walk_callers(&walk, ips, ARRAY_SIZE(ips), &nr))
			break;
	return walk.lookup.wants_cache;
}
