// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the registers of user mode on x86_64, in pt_regs and in signal frames. */
#include <linux/nospec.h>
#include <linux/sched/task_stack.h>

#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/unistd.h>

#include "sframe_arch.h"
#include "walk/walk.h"

/*
 * entry_SYSCALL_64() pushes all registers of user mode in its first ENTRY_BYTES bytes. Then SP
 * points to pt_regs, until it calls do_syscall_64() at byte 170 (in Linux 6.12 and 7.2).
 */
#define ENTRY_BYTES	128

/* entry_SYSCALL_64(), with its exit to user mode, is shorter than this number of bytes. */
#define ENTRY_AND_EXIT	1024

/*
 * Returns true if kernel entry code, interrupted with registers @kernel, has not yet stored the
 * registers of user mode in @user. @entry is the address of entry_SYSCALL_64(). @trampoline points
 * to the pt_regs at the top of the processor's entry stack, which has the size of one page.
 */
bool sfu_x86_is_entering(const struct pt_regs *kernel, const struct pt_regs *user,
			 unsigned long entry, const struct pt_regs *trampoline)
{
	unsigned long off = kernel->ip - entry;

	if (off < ENTRY_BYTES)
		return kernel->sp != (unsigned long)user;
	/*
	 * Else only code on the entry stack may still have to store @user: the last test is for
	 * such code. But entry_SYSCALL_64() uses this stack only on its way back to user mode, when
	 * @user is stored: skip the test there.
	 */
	if (off < ENTRY_AND_EXIT || (unsigned long)(trampoline + 1) - kernel->sp - 1 >= PAGE_SIZE)
		return false;
	/* Interrupts from user mode first store the registers in @trampoline, then in @user. */
	return trampoline->ip != user->ip || trampoline->sp != user->sp;
}

/*
 * Bytes above pt_regs on an NMI's stack, see asm_exc_nmi(): two copies of the five words that the
 * processor has pushed, a temporary word, and a flag.
 */
#define NMI_ABOVE_REGS	(2 * 5 * 8 + 2 * 8)

/*
 * Returns false if an NMI has hit kernel entry code that has yet to store @regs. Other interrupts
 * are masked in this code.
 */
bool sfu_arch_has_user_registers(const struct pt_regs *regs)
{
	const unsigned long top = this_cpu_read(cpu_tss_rw.x86_tss.ist[IST_INDEX_NMI]);
	/* The NMI stack, whose address is in the TSS, has interrupted registers near its top. */
	const struct pt_regs *kernel = (void *)(top - NMI_ABOVE_REGS);
	const struct pt_regs *trampoline;
	u32 low, high;

	/*
	 * On other stacks than the NMI stack of the TSS, @regs are valid. With FRED, the TSS has
	 * none: the processor itself stores user mode's ip and SP in @regs before kernel code runs.
	 */
	if (top - current_stack_pointer >= EXCEPTION_STKSZ || regs != task_pt_regs(current))
		return true;
	trampoline = (void *)this_cpu_read(cpu_tss_rw.x86_tss.sp0);
	rdmsr(MSR_LSTAR, low, high);
	return !sfu_x86_is_entering(kernel - 1, regs, (u64)high << 32 | low, trampoline - 1);
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

	/* The row decoder has checked @reg. A mispredicted check must not read beyond pt_regs. */
	return *(unsigned long *)((char *)regs +
				  offsets[array_index_nospec(reg, SFU_ARCH_NR_REGS)]);
}

bool sfu_arch_calls_sigreturn(const struct pt_regs *regs)
{
	return regs->ax == __NR_rt_sigreturn || regs->orig_ax == __NR_rt_sigreturn;
}

/* rt_sigreturn() restores ax after dx, cx, bx, si, di, bp: a new ax shows that all are restored. */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs)
{
	/* Until rt_sigreturn() restores ax, ax is -ENOSYS (-38), which entry code has set. */
	return regs->orig_ax == __NR_rt_sigreturn && regs->ax != -38L ? SFU_ARCH_REG_SP : 0;
}

/* Checks word 18 of struct sigcontext: cs and ss have user privilege (3), gs and fs are 0. */
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

	return words[array_index_nospec(reg, SFU_ARCH_NR_REGS)];	/* see sfu_arch_reg() */
}
