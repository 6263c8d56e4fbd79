// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframe_unwind: precise user-space stack traces from SFrame data.
 *
 * perf and BPF take user stacks in one of two ways. perf_callchain_user() runs
 * with the sample, in NMI, interrupt or task context; we enter it by ftrace,
 * store our frames and leave the original nothing to add. unwind_user(), where
 * the kernel has it, runs on the way back to user mode and may sleep; we take
 * its place. Both use one walk; what differs is whether a read may fault.
 *
 * The walk goes from a frame to its caller: find the mapping of the address,
 * the row of its section, and apply it. The frame pointer is a row, too, but
 * one that nothing vouches for in code that may use the register as it likes.
 * It is followed only if the code at the return address calls where we are,
 * and so is a stack pointer that came of it: a wrong frame is worse than a
 * short stack.
 *
 * Termination: each step raises the stack pointer, or crosses one of at most
 * MAX_SIGNALS signal frames, or leaves the sampled frame. Work: each look-up
 * is charged to one budget per walk, each frame beyond it reads a few words.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_stats.h"

#define CREATE_TRACE_POINTS
#include "sframe_trace.h"

#define MAX_SIGNALS	8		/* signal frames in one walk */

/* What look-ups of one walk may cost: with interrupts off, and without. */
#define BUDGET_SAMPLE	(256U << 10)
#define BUDGET_TASK	(16U << 20)

static bool enabled = true;
module_param(enabled, bool, 0644);
MODULE_PARM_DESC(enabled, "unwind (default); else leave all stacks to the kernel");

/**
 * struct sfu_frame - one frame of a walk
 * @ip: the address to report
 * @sp: stack pointer
 * @fp: frame pointer
 * @exact: @ip is the next instruction, not behind a call
 * @guessed: @sp was derived from a frame pointer. It is off if that frame was
 *	realigned, for which some functions keep a copy of the return address
 * @regs: all registers, in the sampled frame, else NULL
 * @sigcontext: user address of all registers, behind a signal frame, else 0
 */
struct sfu_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
	bool		exact;
	bool		guessed;
	struct pt_regs	*regs;
	unsigned long	sigcontext;
};

/**
 * struct sfu_walk - a walk up the user stack of current
 * @rd: reads user memory, and bounds the look-ups
 * @map: the process's mappings, held by the caller; NULL: nothing is known
 * @frame: where we are
 * @stop: why the walk ended
 * @lacking: @map did not have what learning may bring
 * @nr_signals: signal frames crossed
 * @nr_frames: callers found, by method
 */
struct sfu_walk {
	struct sframe_reader	rd;
	struct sfu_map		*map;
	struct sfu_frame	frame;
	enum sfu_stop		stop;
	bool			lacking;
	unsigned int		nr_signals;
	unsigned int		nr_frames[NR_SFU_METHODS];
};

/* The fallback is data for the same step. */
static const struct sframe_row fp_row = SFU_ARCH_FP_ROW;

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

static bool read_word(struct sfu_walk *walk, unsigned long addr,
		      unsigned long *val)
{
	if (walk->rd.read(&walk->rd, val, addr, sizeof(*val)))
		return stop(walk, SFU_STOP_STACK);
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
static bool apply(struct sfu_walk *walk, const struct sframe_rule *rule,
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

/* Only the sampled frame (or the like, behind a signal) may have no room. */
static bool moves_up(const struct sfu_frame *frame, unsigned long cfa)
{
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN))
		return false;
	return cfa > frame->sp || (frame->exact && cfa == frame->sp);
}

/*
 * The caller's frame pointer. A rule that finds it by way of our own is stale
 * once ours has been popped, at the end of realigned functions: compilers do
 * not say so. Our frame pointer then is the caller's, and points elsewhere.
 */
static bool find_fp(struct sfu_walk *walk, const struct sframe_rule *rule,
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
static bool find_caller(struct sfu_walk *walk, const struct sframe_row *row,
			struct sfu_frame *caller)
{
	unsigned long cfa, ra, fp;

	if (!apply(walk, &row->cfa, 0, &cfa))
		return false;
	if (!moves_up(&walk->frame, cfa))
		return stop(walk, SFU_STOP_CFA);

	if (row->ra.how == SFRAME_RULE_SAME)
		return stop(walk, SFU_STOP_RA);
	/* Nothing below the stack pointer has been pushed by a call. */
	if (row->ra.how == SFRAME_RULE_CFA_MEM && cfa + row->ra.off < walk->frame.sp)
		return stop(walk, SFU_STOP_CFA);
	if (!apply(walk, &row->ra, cfa, &ra) ||
	    !find_fp(walk, &row->fp, cfa, &fp))
		return false;

	*caller = (struct sfu_frame){
		.ip = ra,
		.sp = cfa,
		.fp = fp,
		.exact = row->signal,
	};
	/* What starts a thread leaves no return address. */
	if (!ra)
		return stop(walk, SFU_STOP_COMPLETE);
	if (!sfu_map_find(walk->map, lookup_ip(caller)))
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

/* A signal frame: the interrupted frame is in the context the kernel saved. */
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

	if (walk->nr_signals++ == MAX_SIGNALS)
		return stop(walk, SFU_STOP_SIGNAL);
	if (!read_word(walk, ip_addr, &caller.ip) ||
	    !read_word(walk, sp_addr, &caller.sp) ||
	    !read_word(walk, fp_addr, &caller.fp))
		return false;
	if (!sfu_map_find(walk->map, caller.ip))
		return stop(walk, SFU_STOP_SIGNAL);
	return commit(walk, &caller, SFU_METHOD_SIGNAL);
}

static bool is_at_sigreturn(struct sfu_walk *walk)
{
	u8 code[SFU_ARCH_SIGRETURN_BYTES];

	return !walk->rd.read(&walk->rd, code, walk->frame.ip, sizeof(code)) &&
	       sfu_arch_is_sigreturn(code);
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
	case SFU_CALL_NONE:
		return false;
	default:
		break;
	}
	if (rd->read(rd, plt, *func, sizeof(plt)) ||
	    !sfu_arch_decode_plt(plt, *func, &slot))
		return true;
	return read_word(walk, slot, func);
}

/* Has the function no row? Then it may be the one that we are in. */
static bool lacks_row(struct sfu_walk *walk, unsigned long func)
{
	struct sfu_region *region = sfu_map_find(walk->map, func);
	struct sframe_row row;

	if (!region)
		return false;
	return atomic_read(&region->state) != SFU_REGION_COVERED ||
	       sframe_find_row(&region->sec, &walk->rd, func, &row) == -ENOENT;
}

static bool step_uncovered(struct sfu_walk *walk)
{
	struct sfu_frame caller;
	unsigned long callee;

	if (is_at_sigreturn(walk))
		return step_signal(walk);
	if (walk->frame.fp < walk->frame.sp ||
	    !find_caller(walk, &fp_row, &caller) ||
	    !find_callee(walk, caller.ip, &callee) || !lacks_row(walk, callee))
		return stop(walk, SFU_STOP_NODATA);
	caller.guessed = true;
	return commit(walk, &caller, SFU_METHOD_FP);
}

static bool is_sp_based(const struct sframe_rule *rule)
{
	return (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM) &&
	       rule->reg == SFU_ARCH_REG_SP;
}

/* Does the row rely on a stack pointer that nothing vouches for? */
static bool is_doubtful(struct sfu_walk *walk, const struct sframe_row *row,
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

static bool step(struct sfu_walk *walk, const struct sframe_row *row)
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

static int find_row(struct sfu_walk *walk, struct sfu_region *region,
		    struct sframe_row *row)
{
	if (atomic_read(&region->state) != SFU_REGION_COVERED)
		return -ENOENT;
	return sframe_find_row(&region->sec, &walk->rd, lookup_ip(&walk->frame), row);
}

/* To the caller's frame. False: walk->stop says why there is none. */
static bool walk_next(struct sfu_walk *walk)
{
	struct sfu_region *region = NULL;
	struct sframe_row row;

	/* The registers are those of the old program, the memory is not. */
	if (current->in_execve)
		return stop(walk, SFU_STOP_EXEC);
	if (walk->map)
		region = sfu_map_find(walk->map, lookup_ip(&walk->frame));
	if (!region)
		return stop_lacking(walk, SFU_STOP_UNLEARNED);

	switch (find_row(walk, region, &row)) {
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
		sfu_count(faults[walk->rd.fault]);
		return stop(walk, SFU_STOP_REFUSED);
	default:
		sfu_region_retire(region, walk->rd.fault);
		return stop(walk, SFU_STOP_BAD);
	}
}

static void walk_init(struct sfu_walk *walk, struct sfu_map *map,
		      struct pt_regs *regs, bool may_fault)
{
	*walk = (struct sfu_walk){
		.rd.read = may_fault ? read_mayfault : read_nofault,
		.rd.budget = may_fault ? BUDGET_TASK : BUDGET_SAMPLE,
		.map = map,
		.frame = {
			.ip = instruction_pointer(regs),
			.sp = user_stack_pointer(regs),
			.fp = frame_pointer(regs),
			.exact = true,
			.regs = regs,
		},
	};
}

/* The one place where a walk's end is told: counted, and traced. */
static void walk_end(const struct sfu_walk *walk, struct pt_regs *regs)
{
	unsigned int i, nr_frames = 1;

	sfu_count(stops[walk->stop]);
	for (i = 0; i < NR_SFU_METHODS; i++) {
		sfu_count_many(frames[i], walk->nr_frames[i]);
		nr_frames += walk->nr_frames[i];
	}
	trace_sfu_walk(instruction_pointer(regs), walk->frame.ip, nr_frames,
		       sfu_stop_names[walk->stop]);
}

static bool decline(enum sfu_decline why)
{
	sfu_count(declined[why]);
	return false;
}

/* Is this a stack for us? The registers are those of user mode. */
static bool may_walk(struct pt_regs *regs)
{
	if (!READ_ONCE(enabled))
		return decline(SFU_DECLINE_DISABLED);
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return decline(SFU_DECLINE_KTHREAD);
	if (current->flags & PF_VCPU)
		return decline(SFU_DECLINE_GUEST);
	if (!user_mode(regs) || !sfu_arch_unwindable(regs))
		return decline(SFU_DECLINE_COMPAT);
	return true;
}

/* The kernel knows frame pointers itself. New code may bring a section along. */
static bool has_sections(struct sfu_map *map, struct pt_regs *regs)
{
	if (!map || map->nr_sections)
		return true;
	if (!sfu_map_find(map, instruction_pointer(regs)))
		sfu_map_ask(current->mm, map);
	return decline(SFU_DECLINE_NOSECTION);
}

/* ---- the synchronous hook: any context ---- */

static void store_frames(struct perf_callchain_entry_ctx *ctx,
			 struct sfu_map *map, struct pt_regs *regs)
{
	struct sfu_walk walk;

	sfu_count(walks);
	walk_init(&walk, map, regs, false);
	do {
		if (perf_callchain_store(ctx, walk.frame.ip)) {
			stop(&walk, SFU_STOP_FULL);
			break;
		}
	} while (walk_next(&walk));
	walk_end(&walk, regs);
	if (walk.lacking)
		sfu_map_ask(current->mm, map);

	/* No room: what the original would store goes nowhere. */
	ctx->nr = ctx->max_stack;
}

static void notrace on_callchain_user(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops,
				      struct ftrace_regs *fregs)
{
	struct perf_callchain_entry_ctx *ctx =
		(void *)ftrace_regs_get_argument(fregs, 0);
	struct pt_regs *regs = (void *)ftrace_regs_get_argument(fregs, 1);
	struct sfu_map *map;

	if (!may_walk(regs))
		return;
	rcu_read_lock();
	map = sfu_map_lookup(current->mm);
	if (has_sections(map, regs))
		store_frames(ctx, map, regs);
	rcu_read_unlock();
}

static struct ftrace_ops callchain_ops = {
	.func	= on_callchain_user,
	/* Not silenced by kernel.ftrace_enabled=0. */
	.flags	= FTRACE_OPS_FL_PERMANENT,
};

/* ---- the deferred hook: task context, may sleep ---- */

/* Who is in replace_unwind_user(); ftrace does not wait for sleepers. */
DEFINE_STATIC_SRCU(deferred_srcu);

static void trace_frames(struct unwind_stacktrace *trace, unsigned int max,
			 struct sfu_map *map, struct sfu_walk *walk)
{
	walk_init(walk, map, task_pt_regs(current), true);
	trace->nr = 0;
	do {
		if (trace->nr == max) {
			stop(walk, SFU_STOP_FULL);
			break;
		}
		trace->entries[trace->nr++] = walk->frame.ip;
	} while (walk_next(walk));
}

/* What was not learned yet can be learned here and now, once. */
static void trace_learning(struct unwind_stacktrace *trace, unsigned int max)
{
	struct mm_struct *mm = current->mm;
	bool learned = false;
	struct sfu_walk walk;
	struct sfu_map *map;

	sfu_count(walks);
	for (;;) {
		map = sfu_map_get(mm);
		trace_frames(trace, max, map, &walk);
		sfu_map_put(map);
		if (!walk.lacking || learned)
			break;
		sfu_map_learn(mm, map);
		learned = true;
	}
	walk_end(&walk, task_pt_regs(current));
}

static int replace_unwind_user(struct unwind_stacktrace *trace, unsigned int max)
{
	int idx = srcu_read_lock(&deferred_srcu);

	trace->nr = 0;
	if (max)
		trace_learning(trace, max);
	srcu_read_unlock(&deferred_srcu, idx);
	return max ? 0 : -EINVAL;
}

static void notrace on_unwind_user(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops,
				   struct ftrace_regs *fregs)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long target = (unsigned long)replace_unwind_user;
	bool ours;

	if (!may_walk(regs))
		return;
	rcu_read_lock();
	ours = has_sections(sfu_map_lookup(current->mm), regs);
	rcu_read_unlock();
	if (ours)
		ftrace_regs_set_instruction_pointer(fregs, target);
}

static struct ftrace_ops unwind_user_ops = {
	.func	= on_unwind_user,
	.flags	= FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_IPMODIFY,
};

/* ---- the hooks, together ---- */

static bool hooked_deferred;

static int hook(struct ftrace_ops *ops, const char *function)
{
	char filter[KSYM_NAME_LEN];	/* ftrace parses it in place */
	int err;

	strscpy(filter, function);
	err = ftrace_set_filter(ops, filter, strlen(filter), 1);
	err = err ? -ENODEV : register_ftrace_function(ops);
	if (err)
		ftrace_free_filter(ops);
	return err;
}

static void unhook(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

static int hook_callchain(void)
{
	static const char function[] = "perf_callchain_user";
	int err = hook(&callchain_ops, function);

	if (err == -ENODEV)
		pr_err("this kernel's %s() cannot be traced by ftrace, so no stack can be unwound; a kernel with CONFIG_PERF_EVENTS and CONFIG_DYNAMIC_FTRACE_WITH_ARGS is needed\n",
		       function);
	else if (err)
		pr_err("ftrace refused to hook %s(): error %d\n", function, err);
	return err;
}

/* Not all kernels can defer, and we can do without. */
static void hook_unwind_user(void)
{
	static const char function[] = "unwind_user";
	int err;

	if (!SFU_HAVE_UNWIND_USER)
		return;
	err = hook(&unwind_user_ops, function);
	if (err == -EBUSY)
		pr_warn("another user of ftrace (a live patch?) owns %s(): deferred stacks are left to the kernel, --call-graph=sframe,sync still works\n",
			function);
	else if (err)
		pr_warn("%s() cannot be hooked (error %d): deferred stacks are left to the kernel, --call-graph=sframe,sync still works\n",
			function, err);
	hooked_deferred = !err;
}

static void unhook_unwind_user(void)
{
	if (!hooked_deferred)
		return;
	unhook(&unwind_user_ops);
	/* From the trampoline into the read-side section, and out of it. */
	synchronize_rcu_tasks();
	synchronize_srcu(&deferred_srcu);
	synchronize_rcu_tasks();
}

static int hooks_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", hooked_deferred ? "sync,deferred" : "sync");
}

static int hooks_set(const char *val, const struct kernel_param *kp)
{
	return -EPERM;
}

static const struct kernel_param_ops hooks_ops = {
	.get	= hooks_get,
	.set	= hooks_set,
};
module_param_cb(hooks, &hooks_ops, NULL, 0444);
MODULE_PARM_DESC(hooks, "what is unwound: sync, or sync,deferred (read only)");

static int __init sframe_unwind_init(void)
{
	int err;

	err = sfu_map_init();
	if (err)
		return err;
	err = hook_callchain();
	if (err) {
		sfu_map_exit();
		return err;
	}
	hook_unwind_user();
	sfu_stats_init();
	pr_info("user stacks are unwound from SFrame (%s)\n",
		hooked_deferred ? "synchronous and deferred" : "synchronous");
	return 0;
}

/*
 * Why nobody is left in here, or comes back, when the module goes:
 *
 * Samples, in NMI, interrupt or task context, are in on_callchain_user() or
 * on_unwind_user() with preemption disabled; unregister_ftrace_function() waits
 * for all of them, and for all who are on the way through ftrace's trampoline.
 *
 * Tasks that on_unwind_user() sent to replace_unwind_user() may be preempted
 * or asleep: ahead of its srcu_read_lock(), waited for by the first
 * synchronize_rcu_tasks(), for they have not slept since; inside, by
 * synchronize_srcu(); behind it, by the second synchronize_rcu_tasks().
 *
 * From then on no walk runs, so none asks for learning, and nobody takes a
 * reference on a map. Requests under way and the process maps are sfu_map_exit()'s
 * own argument. Readers of debugfs are waited for by its removal; module
 * parameters are sysfs files, which pin the module.
 */
static void __exit sframe_unwind_exit(void)
{
	sfu_stats_exit();
	unhook_unwind_user();
	unhook(&callchain_ops);
	sfu_map_exit();
}

module_init(sframe_unwind_init);
module_exit(sframe_unwind_exit);

MODULE_DESCRIPTION("Precise user-space stack traces from SFrame data");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
