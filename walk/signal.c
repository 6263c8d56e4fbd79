// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signal frames: from the code that a handler returns to, to the code that the
 * signal interrupted.
 *
 * The kernel saves the interrupted registers on the stack. While it restores them,
 * it changes the registers one by one: for an instruction or two the stack pointer
 * already is that of the interrupted frame, and the memory there is something else.
 * So a saved context must look like one, and must agree with the registers that
 * have already been restored.
 */
#include "sframe_arch.h"
#include "walk/frame.h"
#include "walk/signal.h"
#include "walk/uprobe.h"

/* The address of a word of the context at @sigcontext. */
static unsigned long word_addr(unsigned long sigcontext, unsigned int word)
{
	return sigcontext + word * sizeof(long);
}

/*
 * Compares the registers that are restored before the stack pointer with this context. If they
 * differ, the context is an older one, left where the stack pointer now is.
 */
static enum sfu_stop check_restored(struct sfu_walk *walk, unsigned long sigcontext)
{
	struct pt_regs *regs = walk->frame.regs;
	unsigned long saved, addr;
	enum sfu_stop stop;
	unsigned int reg;

	for (reg = 0; reg < SFU_ARCH_RESTORED_FIRST; reg++) {
		addr = word_addr(sigcontext, sfu_arch_sigcontext_word(reg));
		stop = sfu_walk_read_word(walk, addr, &saved);
		if (stop)
			return stop;
		if (saved != sfu_arch_reg(regs, reg))
			return SFU_STOP_SIGNAL;
	}
	return SFU_STOP_NONE;
}

/* Returns SFU_STOP_NONE if a saved context is at @sigcontext. */
static enum sfu_stop check_context(struct sfu_walk *walk, unsigned long sigcontext)
{
	const struct pt_regs *regs = walk->frame.regs;
	enum sfu_stop stop;
	unsigned long mark;

	stop = sfu_walk_read_word(walk, word_addr(sigcontext, SFU_ARCH_SIGCONTEXT_MARK),
				  &mark);
	if (stop)
		return stop;
	if (!sfu_arch_is_sigcontext(mark))
		return SFU_STOP_SIGNAL;
	if (regs && sfu_arch_restores(regs))
		return check_restored(walk, sigcontext);
	return SFU_STOP_NONE;
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

/* Returns true if signal handlers return to @addr: its code is the stub that calls sigreturn(). */
bool sfu_signal_is_stub(struct sfu_walk *walk, unsigned long addr)
{
	u8 code[SFU_ARCH_SIGRETURN_BYTES];

	return sfu_walk_read_code(walk, code, addr, sizeof(code)) &&
	       sfu_arch_is_sigreturn(code);
}

/*
 * Is the frame where a signal handler returns to? There are three such places. A handler returns to
 * the start of the stub. The stub may have been sampled, or interrupted by another signal, at its
 * system call. Or the saved ip is after the system call instruction, because the kernel is still in
 * that call. The stack pointer is the same in all of them.
 */
bool sfu_signal_is_at_return(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (sfu_signal_is_stub(walk, frame->ip))
		return true;
	if (frame->sigcontext)
		return sfu_signal_is_stub(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
	if (!frame->regs || !sfu_arch_calls_sigreturn(frame->regs))
		return false;
	return sfu_signal_is_stub(walk, frame->ip - SFU_ARCH_SIGRETURN_BYTES) ||
	       sfu_signal_is_stub(walk, frame->ip - SFU_ARCH_SIGRETURN_CALL);
}
