// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signal frames: steps from the rt_sigreturn stub, where handlers return, to the interrupted code.
 *
 * The kernel saves the interrupted registers on the stack (struct sigcontext). rt_sigreturn()
 * restores them one by one. A sample near its end may see a stack pointer that already points into
 * the interrupted frame, where no registers are saved. So a walk checks that they look like saved
 * registers, and that they equal the registers that have already been restored.
 */
#include "walk/walk.h"

/*
 * Returns SFU_STOP_NONE if @sigcontext has registers that a signal saved. If rt_sigreturn() has
 * restored a register, and it differs from its saved value, the saved ones are of an older signal.
 */
static enum sfu_stop check_context(struct sfu_walk *walk, unsigned long sigcontext)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int reg, nr = regs ? sfu_arch_nr_restored(regs) : 0;
	enum sfu_stop stop = sfu_arch_check_sigcontext(walk, sigcontext);
	unsigned long saved;

	for (reg = 0; !stop && reg < nr; reg++) {
		stop = sfu_walk_read_saved(walk, sigcontext, reg, &saved);
		if (!stop && saved != sfu_arch_reg(regs, reg))
			stop = SFU_STOP_SIGNAL;
	}
	return stop;
}

/*
 * Goes from a signal frame to the frame that the signal interrupted. Returns SFU_STOP_SIGNAL if the
 * walk has already crossed SFU_MAX_SIGNALS signal frames, the saved registers are not valid, or the
 * saved ip is in no range. Other errors: SFU_STOP_STACK, SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_signal_step(struct sfu_walk *walk)
{
	unsigned long context = walk->frame.sp + SFU_ARCH_SIGCONTEXT_OFFSET;
	struct sfu_frame caller = { .is_activation = true, .sigcontext = context };
	const struct sfu_frame present = walk->frame;
	enum sfu_stop stop;

	if (walk->nr_signals++ == SFU_MAX_SIGNALS)
		return SFU_STOP_SIGNAL;
	stop = check_context(walk, context) ?:
	       sfu_walk_read_word(walk, context + SFU_ARCH_SIGCONTEXT_IP * sizeof(long),
				  &caller.ip) ?:
	       sfu_walk_read_saved(walk, context, SFU_ARCH_REG_SP, &caller.sp) ?:
	       sfu_walk_read_saved(walk, context, SFU_ARCH_REG_FP, &caller.fp);
	if (stop)
		return stop;
	walk->frame = caller;
	if (sfu_uprobe_is_used())
		sfu_uprobe_leave(walk);
	if (!sfu_walk_find_range(walk, walk->frame.ip)) {
		walk->frame = present;
		return SFU_STOP_SIGNAL;
	}
	walk->nr_frames[SFU_METHOD_SIGNAL]++;
	return SFU_STOP_NONE;
}

/* Returns true if the rt_sigreturn stub, to which signal handlers return, is at @addr. */
bool sfu_signal_is_stub_at(struct sfu_walk *walk, unsigned long addr)
{
	u8 code[SFU_ARCH_SIGRETURN_BYTES];

	return sfu_walk_read_code(walk, code, addr, sizeof(code)) && sfu_arch_is_stub(code);
}

/*
 * Returns true if the ip is in the rt_sigreturn stub: at its start, where a signal handler returns
 * to; at its system call, if the stub was sampled or interrupted by another signal; or at its end,
 * if the kernel is in this system call. At all three, SP points to the signal frame.
 */
bool sfu_signal_is_at_return(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	const bool is_in_call = frame->regs && sfu_arch_calls_sigreturn(frame->regs);

	return sfu_signal_is_stub_at(walk, frame->ip) ||
	       ((is_in_call || frame->sigcontext) &&
		sfu_signal_is_stub_at(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL)) ||
	       (is_in_call && sfu_signal_is_stub_at(walk, frame->ip - SFU_ARCH_SIGRETURN_BYTES));
}
