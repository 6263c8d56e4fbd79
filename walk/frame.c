// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Primitives of a walk: read memory and registers, find ranges of code, and compute the caller. The
 * present frame changes only after its caller has been checked: a failed step changes nothing.
 */
#include "walk/user.h"
#include "walk/walk.h"

/* Reads user memory. Returns false if a page is absent, or the instruction budget is spent. */
bool sfu_walk_read_code(struct sfu_walk *walk, void *code, unsigned long addr, size_t len)
{
	if (sfu_walk_charge(walk, SFU_READ_COST + len))
		return false;
	if (!sfu_user_read(code, addr, len))
		return true;
	sfu_walk_charge(walk, SFRAME_FAULT_COST);
	return false;
}

/*
 * Reads @before bytes of user code before @ip, and @after bytes from @ip on. Bytes of absent pages
 * are set to 0. Returns false if the page of @ip is absent.
 */
bool sfu_walk_read_around(struct sfu_walk *walk, u8 *code, unsigned long ip, unsigned int before,
			  unsigned int after)
{
	unsigned long from = ip - before, to = ip + after;
	unsigned long page = ip & PAGE_MASK, begin, end;

	if (sfu_walk_read_code(walk, code, from, to - from))
		return true;
	begin = max(from, page);
	end = min(to, page + PAGE_SIZE);
	memset(code, 0, to - from);
	return end - begin < to - from &&
	       sfu_walk_read_code(walk, code + (begin - from), begin, end - begin);
}

/* Reads a word of user memory. Errors: SFU_STOP_STACK if its page is absent; SFU_STOP_BUDGET. */
enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr, unsigned long *val)
{
	if (sfu_walk_read_code(walk, val, addr, sizeof(*val)))
		return SFU_STOP_NONE;
	return walk->lookup.rd.budget ? SFU_STOP_STACK : SFU_STOP_BUDGET;
}

enum sfu_stop sfu_walk_read_saved(struct sfu_walk *walk, unsigned long sigcontext,
				  unsigned int reg, unsigned long *val)
{
	return sfu_walk_read_word(walk, sigcontext + sizeof(*val) * sfu_arch_sigcontext_word(reg),
				  val);
}

/* Reads register @reg (DWARF number) of the present frame; SFU_STOP_REGISTER if it is not known. */
enum sfu_stop sfu_walk_read_register(struct sfu_walk *walk, unsigned int reg, unsigned long *val)
{
	const struct sfu_frame *frame = &walk->frame;

	if (reg == SFU_ARCH_REG_SP)
		*val = frame->sp;
	else if (reg == SFU_ARCH_REG_FP)
		*val = frame->fp;
	else if (frame->regs)
		*val = sfu_arch_reg(frame->regs, reg);
	else if (frame->sigcontext)
		return sfu_walk_read_saved(walk, frame->sigcontext, reg, val);
	else
		return SFU_STOP_REGISTER;
	return SFU_STOP_NONE;
}

/* Returns the range (executable mapping) with @addr, or NULL. */
struct sfu_range *sfu_walk_find_range(struct sfu_walk *walk, unsigned long addr)
{
	struct sfu_range *last = walk->last;

	if (last && addr >= last->start && addr < last->end)
		return READ_ONCE(last->unmapped) ? NULL : last;
	walk->last = sfu_map_find(walk->map, addr);
	return walk->last;
}

/* Returns the start of the function whose code at @addr has the row @row; 0 if it is unknown. */
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row, unsigned long addr)
{
	const struct sfu_range *range = sfu_walk_find_range(walk, addr);

	if (!row->func && range && range->section.table)
		return sfu_section_find_function(&range->section, &walk->lookup, addr);
	return row->func;
}

/* Computes a CFA, return address or FP by @rule of a row. The rule must not be SFRAME_RULE_SAME. */
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

/*
 * Computes the CFA of the present frame by @row. The CFA must be above @below: SP, or 0 to accept a
 * caller on another stack.
 */
static enum sfu_stop find_cfa(struct sfu_walk *walk, const struct sframe_row *row,
			      unsigned long below, unsigned long *cfa)
{
	enum sfu_stop stop = compute_rule(walk, &row->cfa, 0, cfa);

	if (stop)
		return stop;
	/*
	 * Refuses rows of glibc's setcontext() and longjmp(). Their CFA is no frame's end, but the
	 * address of a buffer of saved registers. The return address is then in this buffer (at or
	 * above the CFA) or in a register. In a frame, it is below the CFA.
	 */
	if (row->cfa.how == SFRAME_RULE_REG && row->cfa.reg != SFU_ARCH_REG_SP &&
	    row->cfa.reg != SFU_ARCH_REG_FP && !row->signal &&
	    (row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off >= 0))
		return SFU_STOP_CFA;
	/* On arm64, CFA equals SP if a sample or signal hit the function before it lowered SP. */
	if (!IS_ALIGNED(*cfa, SFU_ARCH_CFA_ALIGN) || *cfa < below ||
	    (*cfa == below && !sfu_walk_has_registers(&walk->frame)))
		return SFU_STOP_CFA;
	return SFU_STOP_NONE;
}

static enum sfu_stop find_ra(struct sfu_walk *walk, const struct sframe_rule *rule,
			     unsigned long cfa, unsigned long below, unsigned long *ra)
{
	/* Refuses a row whose return address is below SP: no call stores it there. */
	if (rule->how == SFRAME_RULE_CFA_MEM && cfa + rule->off < below)
		return SFU_STOP_CFA;
	if (rule->how != SFRAME_RULE_SAME)
		return compute_rule(walk, rule, cfa, ra);
	/* SFRAME_RULE_SAME: return address in the link register. x86 has none: refuses the row. */
	if (SFU_ARCH_REG_RA < 0)
		return SFU_STOP_RA;
	return sfu_walk_read_register(walk, SFU_ARCH_REG_RA, ra);
}

static enum sfu_stop find_fp(struct sfu_walk *walk, const struct sframe_rule *rule,
			     unsigned long cfa, unsigned long *fp)
{
	unsigned long addr = walk->frame.fp + rule->off;

	*fp = walk->frame.fp;
	if (rule->how == SFRAME_RULE_SAME)
		return SFU_STOP_NONE;
	/*
	 * In functions that realign their stack, the rule reads the caller's FP at FP + offset.
	 * Compilers keep this rule after the epilogue has restored FP. FP is then already the
	 * caller's, and FP + offset is outside of the frame: FP is used unchanged.
	 */
	if (rule->how == SFRAME_RULE_REG_MEM && rule->reg == SFU_ARCH_REG_FP &&
	    (addr < walk->frame.sp || addr >= cfa))
		return SFU_STOP_NONE;
	return compute_rule(walk, rule, cfa, fp);
}

/*
 * Where a return address of 0 ends a stack, SP is at most this many bytes below a page's end. In
 * Ruby's coroutines, SP is 16 bytes or more below it: 16 may be too small.
 */
#define MAX_ABOVE_OUTERMOST	32

/*
 * Checks the return address of @caller. Replaces the uretprobe trampoline by the original address.
 * Returns SFU_STOP_NONE, and sets walk->last, if an executable mapping has the address. Else
 * returns SFU_STOP_COMPLETE at the end of the stack, or SFU_STOP_RA.
 */
enum sfu_stop sfu_walk_check_caller(struct sfu_walk *walk, struct sfu_frame *caller)
{
	walk->wants_code = false;
	/*
	 * A return address of 0 ends the stack of a Ruby coroutine. There, FP is 0, and SP is near
	 * the end of a page, where the stack begins. Elsewhere, a wrong row may have read any 0.
	 */
	if (!caller->ip)
		return !caller->fp && -caller->sp % PAGE_SIZE <= MAX_ABOVE_OUTERMOST ?
		       SFU_STOP_COMPLETE : SFU_STOP_RA;
	/* Only an address at the start of a page may be the uretprobe trampoline. */
	if (PAGE_ALIGNED(caller->ip) && sfu_uprobe_is_used())
		caller->ip = sfu_uprobe_real_ra(walk, caller->sp, caller->ip);
	walk->wants_code = !sfu_walk_range_of(walk, caller);
	return walk->wants_code ? SFU_STOP_RA : SFU_STOP_NONE;
}

/*
 * Computes @caller of the present frame by @row, and checks it. The CFA must be above @below.
 * Returns SFU_STOP_NONE, or the reason why there is no valid caller: then @caller is undefined.
 */
enum sfu_stop sfu_walk_find_caller_above(struct sfu_walk *walk, const struct sframe_row *row,
					 unsigned long below, struct sfu_frame *caller)
{
	unsigned long cfa, ra, fp, sp;
	enum sfu_stop stop;

	walk->wants_code = false;
	stop = find_cfa(walk, row, below, &cfa) ?:
	       find_ra(walk, &row->ra, cfa, below, &ra) ?:
	       find_fp(walk, &row->fp, cfa, &fp);
	if (stop)
		return stop;
	/*
	 * SFrame cannot express the CFA *(reg + n) + c. "sframectl convert" leaves out c (8 or
	 * more): @cfa is too low by c. The return address's offset, which is -8 on x86, becomes
	 * c - 8. So an offset >= 0 shows such a row. The real CFA, which is the caller's SP, is
	 * right above the return address.
	 */
	sp = cfa;
	if (SFU_ARCH_REG_RA < 0 && row->cfa.how == SFRAME_RULE_REG_MEM &&
	    row->ra.how == SFRAME_RULE_CFA_MEM && row->ra.off >= 0)
		sp += row->ra.off + sizeof(long);
	*caller = (struct sfu_frame){
		.ip = sfu_arch_strip_ra(ra),
		.sp = sp,
		.fp = fp,
		.is_activation = row->signal,
	};
	return sfu_walk_check_caller(walk, caller);
}
