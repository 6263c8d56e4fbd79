// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signal frames: from the code that a handler returns to, to the code that the
 * signal interrupted.
 *
 * The kernel saves the interrupted registers on the stack. While it restores them,
 * it changes the registers one by one: for an instruction or two the stack pointer
 * already belongs to the interrupted frame, and no saved context is there.
 * So a saved context must look like one, and must agree with the registers that
 * have already been restored.
 */
#include "sframe_arch.h"
#include "walk/frame.h"
#include "walk/uprobe.h"
#include "walk/walk.h"

static unsigned long word_addr(unsigned long sigcontext, unsigned int word)
{
	return sigcontext + word * sizeof(long);
}

/*
 * Returns SFU_STOP_NONE if a saved context is at @sigcontext. While rt_sigreturn() restores the
 * registers, those that it has restored already must be in the context. If they differ, the context
 * is an older one, left where the stack pointer now is.
 */
static enum sfu_stop check_context(struct sfu_walk *walk, unsigned long sigcontext)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int reg, nr = regs ? sfu_arch_nr_restored(regs) : 0;
	enum sfu_stop stop = sfu_arch_check_sigcontext(walk, sigcontext);
	unsigned long saved;

	for (reg = 0; !stop && reg < nr; reg++) {
		stop = sfu_walk_read_word(walk,
					  word_addr(sigcontext, sfu_arch_sigcontext_word(reg)),
					  &saved);
		if (!stop && saved != sfu_arch_reg(regs, reg))
			stop = SFU_STOP_SIGNAL;
	}
	return stop;
}

/*
 * Goes from a signal frame, which sfu_signal_is_at_return() or a row identifies, to the frame that
 * was interrupted. Returns SFU_STOP_SIGNAL if the walk has already crossed SFU_MAX_SIGNALS signal
 * frames, there is no valid context, or the context leads to no code; SFU_STOP_STACK;
 * SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_signal_step(struct sfu_walk *walk)
{
	unsigned long context = walk->frame.sp + SFU_ARCH_SIGCONTEXT_OFFSET;
	unsigned long ip_addr = word_addr(context, SFU_ARCH_SIGCONTEXT_IP);
	unsigned long sp_addr = word_addr(context, sfu_arch_sigcontext_word(SFU_ARCH_REG_SP));
	unsigned long fp_addr = word_addr(context, sfu_arch_sigcontext_word(SFU_ARCH_REG_FP));
	struct sfu_frame caller = { .is_activation = true, .sigcontext = context };
	enum sfu_stop stop;

	if (walk->nr_signals++ == SFU_MAX_SIGNALS)
		return SFU_STOP_SIGNAL;
	stop = check_context(walk, context);
	if (stop)
		return stop;
	stop = sfu_walk_read_word(walk, ip_addr, &caller.ip) ?:
	       sfu_walk_read_word(walk, sp_addr, &caller.sp) ?:
	       sfu_walk_read_word(walk, fp_addr, &caller.fp);
	if (stop)
		return stop;
	if (sfu_uprobe_is_used())
		sfu_uprobe_leave(walk, &caller);
	if (!sfu_walk_find_range(walk, caller.ip))
		return SFU_STOP_SIGNAL;
	sfu_walk_enter(walk, &caller, SFU_METHOD_SIGNAL);
	return SFU_STOP_NONE;
}

/*
 * Returns true if a signal handler returns to the frame, or has returned. There are three such
 * places: the start of the stub; its system call, where the stub may have been sampled or
 * interrupted by another signal; and the end of the stub, if the kernel is still in that call. The
 * stack pointer is the same in all of them.
 */
bool sfu_signal_is_at_return(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (sfu_arch_is_sigreturn(walk, frame->ip))
		return true;
	if (frame->sigcontext)
		return sfu_arch_is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
	if (!frame->regs || !sfu_arch_calls_sigreturn(frame->regs))
		return false;
	return sfu_arch_is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_BYTES) ||
	       sfu_arch_is_sigreturn(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
}
