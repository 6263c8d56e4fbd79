// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk: from a frame to its caller, by SFrame data.
 *
 * A step finds the mapping of the address and the row of its section, and
 * applies the row. The frame pointer is a row, too, but one that nothing
 * vouches for in code that may use the register as it likes. It is followed
 * only if the code at the return address calls where we are, and so is a stack
 * pointer that came of it: a wrong frame is worse than a short stack.
 *
 * Termination: each step raises the stack pointer, or crosses one of at most
 * SFU_MAX_SIGNALS signal frames, or leaves the sampled frame or one that such a
 * signal interrupted. Work: each look-up is charged to one budget per walk,
 * each frame beyond it reads a few words.
 *
 * Nothing here locks, allocates or sleeps; a read may fault if the walk was
 * begun so.
 */
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "sframe_arch.h"
#include "sframe_cache.h"
#include "sframe_map.h"
#include "sframe_walk.h"

/* The fallback is data for the same step. */
static const struct sfu_row fp_row = SFU_ARCH_FP_ROW;

static int read_nofault(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user_nofault(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

static int read_mayfault(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

static bool stop(struct sfu_walk *walk, enum sfu_stop why)
{
	walk->stop = why;
	return false;
}

/* As stop(), where learning the process (again) may help the next walk. */
static bool stop_lacking(struct sfu_walk *walk, enum sfu_stop why)
{
	walk->lacking = true;
	return stop(walk, why);
}

/*
 * What copy_from_user_nofault() allowed once holds for the rest of the walk: it
 * knows of NMIs that come while user memory is being switched.
 */
static bool read_word(struct sfu_walk *walk, unsigned long addr,
		      unsigned long *val)
{
	if (walk->rd.read(&walk->rd, val, addr, sizeof(*val)))
		return stop(walk, SFU_STOP_STACK);
	walk->may_inline = !walk->may_fault;
	return true;
}

static bool read_register(struct sfu_walk *walk, unsigned int reg,
			  unsigned long *val)
{
	const struct sfu_frame *frame = &walk->frame;

	if (reg == SFU_ARCH_REG_SP) {
		*val = frame->sp;
	} else if (reg == SFU_ARCH_REG_FP) {
		*val = frame->fp;
	} else if (frame->regs) {
		*val = sfu_arch_reg(frame->regs, reg);
	} else if (frame->sigcontext) {
		return read_word(walk, frame->sigcontext + sizeof(*val) *
				 sfu_arch_sigcontext_word(reg), val);
	} else {
		return stop(walk, SFU_STOP_REGISTER);
	}
	return true;
}

/* Where the rule's base points, or what is there. SAME is the caller's. */
static bool apply(struct sfu_walk *walk, const struct sfu_rule *rule,
		  unsigned long cfa, unsigned long *val)
{
	unsigned long base = cfa;

	if (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM)
		if (!read_register(walk, rule->reg, &base))
			return false;
	if (rule->how == SFRAME_RULE_CFA || rule->how == SFRAME_RULE_REG) {
		*val = base + rule->off;
		return true;
	}
	return read_word(walk, base + rule->off, val);
}

/*
 * What to look up for a frame: where a call returns to may lie behind the
 * function, or even the mapping, that the call is the last instruction of.
 */
static unsigned long lookup_ip(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip : frame->ip - 1;
}

/* Callers mostly lie where their callees do. */
static struct sfu_region *find_region(struct sfu_walk *walk, unsigned long addr)
{
	struct sfu_region *last = walk->last;

	if (last && addr >= last->start && addr < last->end)
		return atomic_read(&last->state) == SFU_REGION_GONE ? NULL : last;
	walk->last = sfu_map_find(walk->map, addr);
	return walk->last;
}

/*
 * Only the sampled frame, and those that a counted signal interrupted, may have
 * no room.
 */
static bool may_be_empty(const struct sfu_frame *frame)
{
	return frame->regs || frame->sigcontext;
}

static bool moves_up(unsigned long sp, bool may_be_empty, unsigned long cfa)
{
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN))
		return false;
	return cfa > sp || (may_be_empty && cfa == sp);
}

#ifdef CONFIG_UPROBES
/*
 * A pending uretprobe has replaced a return address by that of its trampoline,
 * and keeps the real one in a list, innermost first. Finds what says where the
 * function returns to whose frame ends at @cfa, or at most @room above. Of
 * functions that jump to each other at their end all entries say the same: the
 * first that fits is right. Those of functions that were left by longjmp() stay
 * for a while, but below the stack pointer.
 *
 * The list is current's own. We interrupt current, or are it, so nobody changes
 * it meanwhile. But 6.12 unlinks some entries only after it has freed them:
 * whatever is there then must do no harm.
 */
static bool find_return(unsigned long cfa, unsigned long room,
			struct return_instance *entry)
{
	struct uprobe_task *utask = current->utask;
	unsigned int nr;

	entry->next = utask ? utask->return_instances : NULL;
	for (nr = 0; entry->next && nr < MAX_URETPROBE_DEPTH; nr++) {
		if (get_kernel_nofault(*entry, entry->next))
			return false;
		if (entry->stack + SFU_ARCH_PUSHED_BY_CALL - cfa <= room)
			return true;
	}
	return false;
}
#endif

/* A trampoline begins a page, and few other return addresses do. */
static unsigned long real_ra(unsigned long cfa, unsigned long ra)
{
#ifdef CONFIG_UPROBES
	struct return_instance entry;

	if (PAGE_ALIGNED(ra) && find_return(cfa, 0, &entry))
		return entry.orig_ret_vaddr;
#endif
	return ra;
}

static bool find_ra(struct sfu_walk *walk, const struct sfu_rule *rule,
		    unsigned long cfa, unsigned long *ra)
{
	/* Nothing below the stack pointer has been pushed by a call. */
	if (rule->how == SFRAME_RULE_CFA_MEM && cfa + rule->off < walk->frame.sp)
		return stop(walk, SFU_STOP_CFA);
	if (rule->how != SFRAME_RULE_SAME)
		return apply(walk, rule, cfa, ra);
	/* Still in the register that calls leave it in. */
	if (SFU_ARCH_REG_RA < 0)
		return stop(walk, SFU_STOP_RA);
	return read_register(walk, SFU_ARCH_REG_RA, ra);
}

/*
 * The caller's frame pointer. A rule that finds it by way of our own is stale
 * once ours has been popped, at the end of realigned functions: compilers do
 * not say so. Our frame pointer then is the caller's, and points elsewhere.
 */
static bool find_fp(struct sfu_walk *walk, const struct sfu_rule *rule,
		    unsigned long cfa, unsigned long *fp)
{
	unsigned long slot = walk->frame.fp + rule->off;

	*fp = walk->frame.fp;
	if (rule->how == SFRAME_RULE_SAME)
		return true;
	if (rule->how == SFRAME_RULE_REG_MEM && rule->reg == SFU_ARCH_REG_FP &&
	    (slot < walk->frame.sp || slot >= cfa))
		return true;
	return apply(walk, rule, cfa, fp);
}

/* The caller's frame by a row: compute all and check all, commit nothing. */
static bool find_caller(struct sfu_walk *walk, const struct sfu_row *row,
			struct sfu_frame *caller)
{
	unsigned long cfa, ra, fp;

	if (!apply(walk, &row->cfa, 0, &cfa))
		return false;
	if (!moves_up(walk->frame.sp, may_be_empty(&walk->frame), cfa))
		return stop(walk, SFU_STOP_CFA);

	if (!find_ra(walk, &row->ra, cfa, &ra) ||
	    !find_fp(walk, &row->fp, cfa, &fp))
		return false;
	ra = real_ra(cfa, sfu_arch_strip_ra(ra));

	*caller = (struct sfu_frame){
		.ip = ra,
		.sp = cfa,
		.fp = fp,
		.exact = row->signal,
	};
	/* What starts a thread leaves no return address. */
	if (!ra)
		return stop(walk, SFU_STOP_COMPLETE);
	if (!find_region(walk, lookup_ip(caller)))
		return stop(walk, SFU_STOP_RA);
	return true;
}

static bool commit(struct sfu_walk *walk, const struct sfu_frame *caller,
		   enum sfu_method method)
{
	walk->frame = *caller;
	walk->nr_frames[method]++;
	return true;
}

/*
 * While the system call restores a context, the stack pointer may be that of the
 * interrupted frame already, and what is there may be left of an older context:
 * the registers that were restored first are others.
 */
static bool is_restored_from(struct sfu_walk *walk, unsigned long sigcontext)
{
	struct pt_regs *regs = walk->frame.regs;
	unsigned long saved;
	unsigned int reg;

	for (reg = 0; reg < SFU_ARCH_RESTORED_FIRST; reg++) {
		if (!read_word(walk, sigcontext + sizeof(saved) *
			       sfu_arch_sigcontext_word(reg), &saved))
			return false;
		if (saved != sfu_arch_reg(regs, reg))
			return stop(walk, SFU_STOP_SIGNAL);
	}
	return true;
}

/*
 * A signal frame: the interrupted frame is in the context the kernel saved. For
 * an instruction or two of the system call that restores it, the stack pointer is
 * that frame's already, and what is there is something else.
 */
static bool step_signal(struct sfu_walk *walk)
{
	unsigned long sigcontext = walk->frame.sp + SFU_ARCH_SIGCONTEXT_OFFSET;
	struct sfu_frame caller = {
		.exact = true,
		.sigcontext = sigcontext,
	};
	unsigned long ip_addr = sigcontext + SFU_ARCH_SIGCONTEXT_IP * sizeof(long);
	unsigned long sp_addr = sigcontext + sizeof(long) *
		sfu_arch_sigcontext_word(SFU_ARCH_REG_SP);
	unsigned long fp_addr = sigcontext + sizeof(long) *
		sfu_arch_sigcontext_word(SFU_ARCH_REG_FP);
	unsigned long mark, mark_addr = sigcontext +
		SFU_ARCH_SIGCONTEXT_MARK * sizeof(long);

	if (walk->nr_signals++ == SFU_MAX_SIGNALS)
		return stop(walk, SFU_STOP_SIGNAL);
	if (!read_word(walk, mark_addr, &mark))
		return false;
	if (!sfu_arch_is_sigcontext(mark))
		return stop(walk, SFU_STOP_SIGNAL);
	if (walk->frame.regs && sfu_arch_restores(walk->frame.regs) &&
	    !is_restored_from(walk, sigcontext))
		return false;
	if (!read_word(walk, ip_addr, &caller.ip) ||
	    !read_word(walk, sp_addr, &caller.sp) ||
	    !read_word(walk, fp_addr, &caller.fp))
		return false;
	if (!find_region(walk, caller.ip))
		return stop(walk, SFU_STOP_SIGNAL);
	return commit(walk, &caller, SFU_METHOD_SIGNAL);
}

static bool is_sigreturn(struct sfu_walk *walk, unsigned long addr)
{
	u8 code[SFU_ARCH_SIGRETURN_BYTES];

	return !walk->rd.read(&walk->rd, code, addr, sizeof(code)) &&
	       sfu_arch_is_sigreturn(code);
}

/*
 * Where a handler returns to; or, having been sampled or interrupted there, at
 * the system call; or, having been sampled, behind it: the stack pointer still is
 * what it was.
 */
static bool is_at_sigreturn(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (is_sigreturn(walk, frame->ip))
		return true;
	if (frame->sigcontext)
		return is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
	if (!frame->regs || !sfu_arch_calls_sigreturn(frame->regs))
		return false;
	return is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_BYTES) ||
	       is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
}

/*
 * The function that the code ahead of @ra calls, if that can be known: by a
 * direct call or through a word in memory, past a PLT slot that is resolved.
 */
static bool find_callee(struct sfu_walk *walk, unsigned long ra,
			unsigned long *func)
{
	u8 call[SFU_ARCH_CALL_BYTES], plt[SFU_ARCH_PLT_BYTES];
	struct sframe_reader *rd = &walk->rd;
	unsigned long slot;

	if (rd->read(rd, call, ra - sizeof(call), sizeof(call)))
		return false;
	switch (sfu_arch_decode_call(call, ra, func)) {
	case SFU_CALL_SLOT:
		return read_word(walk, *func, func);
	case SFU_CALL_DIRECT:
		break;
	default:
		return false;
	}
	if (rd->read(rd, plt, *func, sizeof(plt)))
		return false;
	if (!sfu_arch_decode_plt(plt, *func, &slot))
		return true;
	return read_word(walk, slot, func);
}

/*
 * The row of an address, which was sampled or else returned to. That there is
 * none is worth remembering, too: the end of a stack is looked up in each walk.
 */
static int find_row(struct sfu_walk *walk, struct sfu_region *region,
		    unsigned long addr, bool sampled, struct sfu_row *row)
{
	u64 key = sfu_region_key(region, addr);
	struct sfu_cache_entry *half = NULL;
	const struct sfu_cache_entry *entry;
	struct sframe_row found;
	int err, seq;

	switch (atomic_read(&region->state)) {
	case SFU_REGION_COVERED:
		break;
	case SFU_REGION_AWAITED:
		return -EFAULT;
	default:
		return -ENOENT;
	}
	if (walk->map->cache && key) {
		half = sfu_cache_half(walk->map->cache, sampled);
		entry = sfu_cache_find(half, key, &seq);
		*row = entry->row;
		if (READ_ONCE(entry->key) == key && sfu_cache_is_same(entry, seq)) {
			walk->nr_cached++;
			return row->none ? -ENOENT : 0;
		}
	}
	err = sframe_find_row(&region->sec, &walk->rd, addr, &found);
	if (!err)
		sfu_row_set(row, &found);
	else if (err == -ENOENT)
		*row = (struct sfu_row){ .none = true };
	else
		return err;
	walk->nr_missed++;
	if (half)
		sfu_cache_add(half, key, row);
	return err;
}

/* Has the function no row? Then it may be the one that we are in. */
static bool lacks_row(struct sfu_walk *walk, unsigned long func)
{
	struct sfu_region *region = sfu_map_find(walk->map, func);
	struct sfu_row row;

	return region && find_row(walk, region, func, true, &row) == -ENOENT;
}

static bool is_behind_call(struct sfu_walk *walk, unsigned long ra)
{
	u8 call[SFU_ARCH_CALL_BYTES];
	unsigned long func;

	return !walk->rd.read(&walk->rd, call, ra - sizeof(call), sizeof(call)) &&
	       sfu_arch_decode_call(call, ra, &func) != SFU_CALL_NONE;
}

/*
 * The caller of a function that has no frame, by the register that calls leave
 * the return address in. Its ip is 0 if that is not known.
 */
static bool find_linked(struct sfu_walk *walk, struct sfu_frame *caller)
{
	*caller = (struct sfu_frame){
		.sp = walk->frame.sp,
		.fp = walk->frame.fp,
	};
	if (SFU_ARCH_REG_RA < 0 || !may_be_empty(&walk->frame))
		return true;
	if (!read_register(walk, SFU_ARCH_REG_RA, &caller->ip))
		return false;
	caller->ip = sfu_arch_strip_ra(caller->ip);
	return true;
}

static bool step_linked(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	if (!IS_ALIGNED(caller->sp, SFU_ARCH_CFA_ALIGN) ||
	    !find_region(walk, lookup_ip(caller)) ||
	    !is_behind_call(walk, caller->ip))
		return stop(walk, SFU_STOP_NODATA);
	return commit(walk, caller, SFU_METHOD_FP);
}

/*
 * In a PLT slot, of which linkers say nothing where the return address is in a
 * register. There it still is, and there is no frame.
 */
static bool is_in_plt(struct sfu_walk *walk)
{
	unsigned long slot, addr = walk->frame.ip - SFU_ARCH_PLT_BYTES;
	u8 code[2 * SFU_ARCH_PLT_BYTES];
	unsigned int off;

	if (walk->rd.read(&walk->rd, code, addr, sizeof(code)))
		return false;
	/* Each place where a slot would have to begin to reach here. */
	for (off = 0; off <= SFU_ARCH_PLT_BYTES; off += SFU_ARCH_INSN_ALIGN)
		if (off + sfu_arch_decode_plt(code + off, addr + off, &slot) >
		    SFU_ARCH_PLT_BYTES)
			return true;
	return false;
}

/*
 * Code without a row. If the link register leads to another file, that is the
 * caller: the function's own calls return to its own file. The function then has
 * no frame, or none yet, and a frame pointer that leads elsewhere is that of an
 * older frame: following it skips the caller. So it does if the register leads to
 * a row, but in the same file that may be of another part of the function.
 */
static bool step_uncovered(struct sfu_walk *walk)
{
	const struct sfu_region *here = find_region(walk, walk->frame.ip), *there;
	struct sfu_frame caller = {}, linked;
	unsigned long callee;
	bool has_record;

	if (is_at_sigreturn(walk))
		return step_signal(walk);
	if (!find_linked(walk, &linked))
		return false;
	if (linked.ip && is_in_plt(walk))
		return step_linked(walk, &linked);
	has_record = walk->frame.fp >= walk->frame.sp &&
		     find_caller(walk, &fp_row, &caller);
	there = linked.ip && linked.ip != caller.ip ?
		find_region(walk, lookup_ip(&linked)) : NULL;
	if (here && there && there->file != here->file) {
		linked.guessed = true;
		return step_linked(walk, &linked);
	}
	if (!has_record || !find_callee(walk, caller.ip, &callee) ||
	    !lacks_row(walk, callee) ||
	    (there && !lacks_row(walk, lookup_ip(&linked))))
		return stop(walk, SFU_STOP_NODATA);
	caller.guessed = true;
	return commit(walk, &caller, SFU_METHOD_FP);
}

static bool is_sp_based(const struct sfu_rule *rule)
{
	return (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM) &&
	       rule->reg == SFU_ARCH_REG_SP;
}

/* Does the row rely on a stack pointer that nothing vouches for? */
static bool is_doubtful(struct sfu_walk *walk, const struct sfu_row *row,
			unsigned long ra)
{
	unsigned long callee;

	if (!walk->frame.guessed)
		return false;
	if (!is_sp_based(&row->cfa) && !is_sp_based(&row->ra) &&
	    !is_sp_based(&row->fp))
		return false;
	return !find_callee(walk, ra, &callee) || callee != row->func;
}

static bool step(struct sfu_walk *walk, const struct sfu_row *row)
{
	struct sfu_frame caller;

	if (!find_caller(walk, row, &caller)) {
		/* A guess that leads nowhere is no fault of the data. */
		if (walk->frame.guessed)
			return stop(walk, SFU_STOP_NODATA);
		/* Code that was mapped since we learned looks like no code. */
		walk->lacking = walk->stop == SFU_STOP_RA;
		return false;
	}
	if (is_doubtful(walk, row, caller.ip))
		return stop(walk, SFU_STOP_NODATA);
	return commit(walk, &caller, SFU_METHOD_SFRAME);
}

/*
 * The frame pointer as the base of a row, or 0: it does not point into the
 * stack from @sp on. No speculation takes it elsewhere, such as to the kernel.
 */
static __always_inline unsigned long quick_base(unsigned long fp, unsigned long sp,
						unsigned long end)
{
	if (fp < sp || fp >= end || !IS_ALIGNED(fp, SFU_ARCH_CFA_ALIGN))
		return 0;
	return sp + array_index_nospec(fp - sp, end - sp);
}

/*
 * Steps of the most common kind: by rows of the cache. What they do is what
 * step() does, in a few registers. Anything else ends them, and is left to
 * step_slowly(), to do or to say why not.
 *
 * The rows are such that a caller's frame is above and that words are read only
 * from the room between: see sfu_quick. So it takes one look at the stack
 * pointer, ahead of all steps, to be aligned and in user memory, and one at each
 * CFA; and a wrong guess of the processor's leads a few frames up, still to
 * user memory.
 */
static unsigned int walk_quickly(struct sfu_walk *walk, struct sfu_region *region,
				 u64 *ips, unsigned int max)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long start = region->start, size = region->end - start;
	unsigned long off = lookup_ip(frame) - start, end = TASK_SIZE_MAX;
	unsigned long sp = frame->sp, fp = frame->fp, left_sp = 0, left_fp = 0;
	const struct sfu_cache_entry *half, *callers;
	u64 *next = ips, key = region->key;
	unsigned int nr;

	if (!walk->may_inline || !walk->map->cache || !key || frame->guessed ||
	    !IS_ALIGNED(sp, SFU_ARCH_CFA_ALIGN) || sp >= end ||
	    atomic_read(&region->state) != SFU_REGION_COVERED)
		return 0;
	half = sfu_cache_half(walk->map->cache, frame->exact);
	callers = sfu_cache_half(walk->map->cache, false);
	pagefault_disable();
	if (!user_read_access_begin((void __user *)sp, end - sp))
		goto enable;
	do {
		union sfu_quick row = sfu_cache_quick(half, key + off);
		unsigned long base = sp, cfa, ra, caller_fp = fp;

		if (!(row.how & SFU_QUICK_SP)) {
			if (!(row.how & SFU_QUICK_FP))
				break;
			base = quick_base(fp, sp, end);
			if (!base)
				break;
		}
		cfa = base + row.cfa;
		if (cfa > end)
			break;
		unsafe_get_user(ra, (unsigned long __user *)(base + row.ra), failed);
		if (row.how & SFU_QUICK_FP_SAVED)
			unsafe_get_user(caller_fp, (unsigned long __user *)(base + row.fp),
					failed);
		*next = sfu_arch_strip_ra(ra);
		off = *next - 1 - start;
		if (off >= size) {
			left_sp = cfa;
			left_fp = caller_fp;
			break;
		}
		sp = cfa;
		fp = caller_fp;
		half = callers;
	} while (++next < ips + max);
failed:
	user_read_access_end();
enable:
	pagefault_enable();
	if (next == ips && !left_sp)
		return 0;

	/* The last step led to other code, the end of the stack, or a trampoline. */
	if (left_sp && !*next) {
		walk->complete = true;
		walk->nr_cached++;
		stop(walk, SFU_STOP_COMPLETE);
	} else if (left_sp && !PAGE_ALIGNED(*next) && find_region(walk, *next - 1)) {
		next++;
		sp = left_sp;
		fp = left_fp;
	}
	nr = next - ips;
	if (!nr)
		return 0;
	frame->ip = ips[nr - 1];
	frame->sp = sp;
	frame->fp = fp;
	frame->exact = false;
	frame->regs = NULL;
	frame->sigcontext = 0;
	walk->nr_frames[SFU_METHOD_SFRAME] += nr;
	walk->nr_cached += nr;
	return nr;
}

static bool step_slowly(struct sfu_walk *walk, struct sfu_region *region)
{
	struct sfu_row row;

	switch (find_row(walk, region, lookup_ip(&walk->frame), walk->frame.exact, &row)) {
	case 0:
		if (row.outermost)
			return stop(walk, SFU_STOP_COMPLETE);
		if (row.cfa.how == SFRAME_RULE_SAME)
			return step_signal(walk);
		return step(walk, &row);
	case -ENOENT:
		return step_uncovered(walk);
	case -EFAULT:
		return stop_lacking(walk, SFU_STOP_SECTION);
	case -E2BIG:
		return stop(walk, SFU_STOP_BUDGET);
	case -EOPNOTSUPP:
		sfu_count(faults[walk->rd.defect]);
		return stop(walk, SFU_STOP_REFUSED);
	default:
		sfu_region_retire(region, walk->rd.defect);
		return stop(walk, SFU_STOP_BAD);
	}
}

/**
 * sfu_walk_callers() - go to the caller's frame, or several frames on
 * @walk: where we are
 * @ips: set to the addresses of the frames that were entered, in their order
 * @max: at most so many, and at least 1
 *
 * Context: As that of sfu_walk_init().
 * Return: How many frames: &sfu_walk.frame is the last of them. 0: it is
 * unchanged, and &sfu_walk.stop says why there is no caller, or none that can be
 * trusted.
 */
unsigned int sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_region *region = NULL;
	unsigned int nr;

	if (walk->complete)
		return 0;
	/* The registers are those of the old program, the memory is not. */
	if (current->in_execve)
		return stop(walk, SFU_STOP_EXEC);
	if (walk->map)
		region = find_region(walk, lookup_ip(&walk->frame));
	if (!region)
		return stop_lacking(walk, SFU_STOP_UNLEARNED);

	nr = walk_quickly(walk, region, ips, max);
	if (nr || walk->complete)
		return nr;
	if (!step_slowly(walk, region))
		return 0;
	ips[0] = walk->frame.ip;
	return 1;
}

#ifdef CONFIG_UPROBES
/* The function that is called at the return address that the row finds, or 0. */
static unsigned long called_by(struct sfu_walk *walk, const struct sfu_row *row)
{
	struct sfu_frame caller;
	unsigned long callee;

	return find_caller(walk, row, &caller) &&
	       find_callee(walk, caller.ip, &callee) ? callee : 0;
}

/*
 * Has a breakpoint been hit, and the ip not been set back to it yet? There is a
 * flag for it at first, then a lock is held. Between the two, for a few
 * instructions, only the stack can tell whether what was there is still to come:
 * where a call returns to is either of this function, or, if the function was
 * jumped to, of any.
 */
static bool is_behind_breakpoint(struct sfu_walk *walk)
{
	struct sfu_region *region = find_region(walk, walk->frame.ip);
	u8 code[SFU_ARCH_BREAKPOINT_BYTES + 1];
	struct sframe_reader *rd = &walk->rd;
	struct sfu_frame *frame = &walk->frame;
	struct sfu_row here, before;
	bool is_before;

	if (!SFU_ARCH_BREAKPOINT_BYTES || !region ||
	    rd->read(rd, code, frame->ip - SFU_ARCH_BREAKPOINT_BYTES, sizeof(code)))
		return false;
	/* While it is handled the ip is at it; what is ahead may be padding. */
	if (code[0] != SFU_ARCH_BREAKPOINT ||
	    code[SFU_ARCH_BREAKPOINT_BYTES] == SFU_ARCH_BREAKPOINT ||
	    find_row(walk, region, frame->ip, true, &here) || here.func == frame->ip)
		return false;
	if (test_thread_flag(TIF_UPROBE))
		return true;
#ifdef CONFIG_TASKS_TRACE_RCU
	if (current->trc_reader_nesting)
		return true;
#endif
	if (called_by(walk, &here) == here.func)
		return false;
	frame->ip -= SFU_ARCH_BREAKPOINT_BYTES;
	is_before = !find_row(walk, region, frame->ip, true, &before) && called_by(walk, &before);
	frame->ip += SFU_ARCH_BREAKPOINT_BYTES;
	return is_before;
}

/*
 * In the trampoline of a uretprobe: it goes on where the function was called
 * from. That is in the list at first, and then, when the probe has been handled,
 * on the stack.
 */
static void leave_trampoline(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned int off = offset_in_page(frame->ip), pops;
	u8 code[SFU_ARCH_TRAMPOLINE_BYTES] = {};
	struct return_instance entry;
	unsigned long sp = frame->sp, ra;

	if (off >= sizeof(code))
		return;
	/* What may not be read is told by the registers. */
	walk->rd.read(&walk->rd, code, frame->ip - off, sizeof(code));
	if (!sfu_arch_is_trampoline(frame->regs, frame->ip - off, code))
		return;
	if (find_return(sp, SFU_ARCH_TRAMPOLINE_PUSHES, &entry)) {
		sp = entry.stack + SFU_ARCH_PUSHED_BY_CALL;
		ra = entry.orig_ret_vaddr;
	} else {
		pops = sfu_arch_trampoline_pops(off);
		sp += pops * sizeof(ra);
		if (!pops || !read_word(walk, sp - sizeof(ra), &ra))
			return;
	}
	if (!find_region(walk, ra))
		return;
	frame->ip = ra;
	frame->sp = sp;
}

/* The sampled frame is to be what it would be without uprobes. */
static void undo_uprobe(struct sfu_walk *walk)
{
	struct uprobe_task *utask = current->utask;
	struct sfu_frame *frame = &walk->frame;

	if (likely(!utask && !test_thread_flag(TIF_UPROBE)) || !walk->map)
		return;
	/* In a copy of the instruction, or just behind it. */
	if (utask && utask->xol_vaddr &&
	    frame->ip - utask->xol_vaddr <= UPROBE_XOL_SLOT_BYTES)
		frame->ip += utask->vaddr - utask->xol_vaddr;
	else if (is_behind_breakpoint(walk))
		frame->ip -= SFU_ARCH_BREAKPOINT_BYTES;
	else
		leave_trampoline(walk);
}
#else
static void undo_uprobe(struct sfu_walk *walk)
{
}
#endif

/**
 * sfu_walk_init() - begin a walk, in the frame of a sample
 * @walk: what is to be the walk
 * @map: mappings of the process current, which the caller holds until the
 *	walk's end; NULL: nothing is known of it
 * @regs: registers of user mode, of code that sfu_arch_unwindable() allows
 * @may_fault: may memory be waited for?
 *
 * Context: Any, NMI too, and the process's memory is the current one; with
 * @may_fault, task context that may sleep.
 */
void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map,
		   struct pt_regs *regs, bool may_fault)
{
	*walk = (struct sfu_walk){
		.rd.read = may_fault ? read_mayfault : read_nofault,
		.rd.budget = may_fault ? SFU_BUDGET_TASK : SFU_BUDGET_SAMPLE,
		.map = map,
		.may_fault = may_fault,
		.may_inline = !may_fault && !in_nmi(),
		.frame = {
			.ip = instruction_pointer(regs),
			.sp = user_stack_pointer(regs),
			.fp = frame_pointer(regs),
			.exact = true,
			.regs = regs,
		},
	};
	undo_uprobe(walk);
}
