// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the registers of user mode on arm64, in pt_regs and in signal frames. */
#include <linux/nospec.h>

#include <asm/sigcontext.h>
#include <asm/unistd.h>

#include "sframe_arch.h"
#include "walk/walk.h"

/* pt_regs always has the user's registers: until they are stored, even pseudo-NMIs are masked. */
bool sfu_arch_has_user_registers(const struct pt_regs *regs)
{
	return true;
}

unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg)
{
	/* The row decoder has checked @reg. A mispredicted check must not read beyond pt_regs. */
	reg = array_index_nospec(reg, SFU_ARCH_NR_REGS);
	return regs_get_register((struct pt_regs *)regs, reg * sizeof(u64));
}

bool sfu_arch_calls_sigreturn(const struct pt_regs *regs)
{
	return regs->regs[8] == __NR_rt_sigreturn || regs->syscallno == __NR_rt_sigreturn;
}

/*
 * rt_sigreturn() restores x0 to x30 in this order. Until it restores x8, x8 has the number of this
 * system call. If a sample in this call finds another value in x8, x0 to x8 are restored: return 9.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs)
{
	return regs->syscallno == __NR_rt_sigreturn && regs->regs[8] != __NR_rt_sigreturn ? 9 : 0;
}

/* Checks word 36 of struct sigcontext: the kernel always puts the head of fpsimd_context there. */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext)
{
	unsigned long head;
	enum sfu_stop stop = sfu_walk_read_word(walk, sigcontext + 36 * sizeof(long), &head);

	if (stop)
		return stop;
	return head == (FPSIMD_MAGIC | sizeof(struct fpsimd_context) << 32) ? SFU_STOP_NONE :
									      SFU_STOP_SIGNAL;
}

unsigned int sfu_arch_sigcontext_word(unsigned int reg)
{
	return 1 + reg;		/* x0 is word 1 of struct sigcontext, after the fault address */
}
