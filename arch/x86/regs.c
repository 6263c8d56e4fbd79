// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers of user mode on x86_64: at an entry to the kernel, in pt_regs, and in signal frames. */
#include <linux/nospec.h>
#include <linux/sched/task_stack.h>

#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/unistd.h>

#include "sframe_arch.h"
#include "walk/frame.h"

/*
 * Bytes of entry_SYSCALL_64() until all registers are stored, at least. It then leaves SP alone
 * until it calls do_syscall_64(), after 170 bytes (6.12, 7.2).
 */
#define ENTRY_BYTES	128

/* The whole of entry_SYSCALL_64() is shorter. */
#define ENTRY_AND_EXIT	1024

/*
 * Returns true if the @kernel code has not stored the registers of user mode at @user yet. Then
 * @user has the registers of an earlier entry. @entry is the code that system calls enter.
 * Interrupts from user mode store the registers at @trampoline first, on a stack of one page, and
 * copy them.
 */
bool sfu_x86_is_entering(const struct pt_regs *kernel, const struct pt_regs *user,
			 unsigned long entry, const struct pt_regs *trampoline)
{
	unsigned long off = kernel->ip - entry;

	if (off < ENTRY_BYTES)
		return kernel->sp != (unsigned long)user;
	/* A return to user mode uses that stack, too, and its first word differs. */
	if (off < ENTRY_AND_EXIT ||
	    (unsigned long)(trampoline + 1) - kernel->sp - 1 >= PAGE_SIZE)
		return false;
	return trampoline->ip != user->ip || trampoline->sp != user->sp;
}

/*
 * Bytes of an NMI's stack above its pt_regs: three copies of what the processor has pushed, of
 * which one is the end of pt_regs; a temporary word, and a flag. See asm_exc_nmi().
 */
#define NMI_ABOVE_REGS	(2 * 5 * 8 + 2 * 8)

/*
 * Only NMIs, and what is as urgent, come to code that enters the kernel. From kernel mode they
 * use their own stack, which begins with the registers that they have interrupted. (With
 * FRED there is no such stack, and the processor itself stores ip and SP.)
 */
bool sfu_arch_has_user_registers(const struct pt_regs *regs)
{
	unsigned long top, entry_top;
	const struct pt_regs *kernel;
	u32 low, high;

	top = this_cpu_read(cpu_tss_rw.x86_tss.ist[IST_INDEX_NMI]);
	if (top - current_stack_pointer >= EXCEPTION_STKSZ || regs != task_pt_regs(current))
		return true;
	entry_top = this_cpu_read(cpu_tss_rw.x86_tss.sp0);
	kernel = (void *)(top - NMI_ABOVE_REGS);
	rdmsr(MSR_LSTAR, low, high);
	return !sfu_x86_is_entering(kernel - 1, regs, (u64)high << 32 | low,
				    (struct pt_regs *)entry_top - 1);
}

unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg)
{
	static const u8 offsets[SFU_ARCH_NR_REGS] = {
		offsetof(struct pt_regs, ax), offsetof(struct pt_regs, dx),
		offsetof(struct pt_regs, cx), offsetof(struct pt_regs, bx),
		offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
		offsetof(struct pt_regs, bp), offsetof(struct pt_regs, sp),
		offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
		offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
		offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
		offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
	};

	/* The decoder has checked the number, by a branch. */
	return *(unsigned long *)((char *)regs +
				  offsets[array_index_nospec(reg, SFU_ARCH_NR_REGS)]);
}

bool sfu_arch_calls_sigreturn(const struct pt_regs *regs)
{
	return regs->ax == __NR_rt_sigreturn || regs->orig_ax == __NR_rt_sigreturn;
}

/*
 * The last register restored before the stack pointer is ax. Until then it holds the -ENOSYS
 * (-38) of the entry code.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs)
{
	return regs->orig_ax == __NR_rt_sigreturn && regs->ax != -38L ? SFU_ARCH_REG_SP : 0;
}

/* Word 18 has cs, gs, fs and ss of user mode, in that order; gs and fs are 0. */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext)
{
	unsigned long segments;
	enum sfu_stop stop = sfu_walk_read_word(walk, sigcontext + 18 * sizeof(long), &segments);

	if (stop)
		return stop;
	return (segments & 0x0003ffffffff0003) == 0x0003000000000003 ? SFU_STOP_NONE :
								      SFU_STOP_SIGNAL;
}

unsigned int sfu_arch_sigcontext_word(unsigned int reg)
{
	static const u8 words[SFU_ARCH_NR_REGS] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7,
	};

	return words[array_index_nospec(reg, SFU_ARCH_NR_REGS)];	/* as sfu_arch_reg() */
}
