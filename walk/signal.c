// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signal frames: steps from the rt_sigreturn stub, where handlers return, to the interrupted code.
 *
 * The kernel saves the interrupted registers on the stack (struct sigcontext). rt_sigreturn()
 * restores them one by one. Near the end of rt_sigreturn(), SP may already point into the
 * interrupted frame, where no registers are saved. So a walk checks that the words there look like
 * saved registers. It also compares them to the registers that rt_sigreturn() has restored by then.
 */
#include "walk/walk.h"

static enum sfu_stop check_context(struct sfu_walk *walk, unsigned long sigcontext)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int reg, nr = regs ? sfu_arch_nr_restored(regs) : 0;
	enum sfu_stop stop = sfu_arch_check_sigcontext(walk, sigcontext);
	unsigned long saved;

	/*
	 * A sample may find @nr registers already restored by rt_sigreturn(). @sigcontext is at a
	 * distance from SP. While SP points to the signal frame, @sigcontext has the same values.
	 * If one differs, SP has been restored, too, and @sigcontext is in the interrupted frame:
	 * what looks like saved registers there is left from an older signal.
	 */
	for (reg = 0; !stop && reg < nr; reg++) {
		stop = sfu_walk_read_saved(walk, sigcontext, reg, &saved);
		if (!stop && saved != sfu_arch_reg(regs, reg))
			stop = SFU_STOP_SIGNAL;
	}
	return stop;
}

/*
 * Goes from a signal frame to the frame that the signal interrupted. Errors:
 * SFU_STOP_SIGNAL: too many signal frames, bad saved registers, or no code at the saved ip;
 * SFU_STOP_STACK, SFU_STOP_BUDGET: a read failed.
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
	/* If the signal hit code that the kernel adds for uprobes, go on in the probed program. */
	if (sfu_uprobe_is_used())
		sfu_uprobe_leave(walk);
	if (!sfu_walk_find_range(walk, walk->frame.ip)) {
		walk->frame = present;
		return SFU_STOP_SIGNAL;
	}
	walk->nr_frames[SFU_METHOD_SIGNAL]++;
	return SFU_STOP_NONE;
}

bool sfu_signal_is_stub_at(struct sfu_walk *walk, unsigned long addr)
{
	u8 code[SFU_ARCH_SIGRETURN_BYTES];

	return sfu_walk_read_code(walk, code, addr, sizeof(code)) && sfu_arch_is_stub(code);
}

/*
 * Returns true if the ip is in the rt_sigreturn stub, where SP points to the signal frame:
 * - at the start, to which a signal handler returns;
 * - at the system call instruction, which a sample or another signal may hit;
 * - at the end, where the ip is while the system call runs.
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
