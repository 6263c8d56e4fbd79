/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process on AArch64: its registers, and its system calls. */
#ifndef USER_ARCH_H
#define USER_ARCH_H

#include <linux/linkage.h>
#include <linux/ptrace.h>

/* Sets the registers of interrupted 64-bit code. */
static inline void user_regs(struct pt_regs *regs, unsigned long ip,
			     unsigned long sp, unsigned long fp)
{
	*regs = (struct pt_regs){
		.pc = ip,
		.sp = sp,
		.regs[29] = fp,
		.pstate = PSR_MODE_EL0t,
	};
}

/* Sets the register that DWARF numbers 0. */
static inline void user_regs_set_first(struct pt_regs *regs, unsigned long val)
{
	regs->regs[0] = val;
}

static inline void user_regs_make_compat(struct pt_regs *regs)
{
	regs->pstate |= PSR_MODE32_BIT;
}

static inline void user_regs_make_kernel(struct pt_regs *regs)
{
	regs->pstate = PSR_MODE_EL1h;
}

asmlinkage long __arm64_sys_madvise(const struct pt_regs *regs);
asmlinkage long __arm64_sys_mprotect(const struct pt_regs *regs);
asmlinkage long __arm64_sys_mremap(const struct pt_regs *regs);

#define USER_SYSCALL(name, a, b, c, d, e)				\
	__arm64_sys_##name(&(struct pt_regs){ .regs = { (a), (b), (c), (d), (e) } })

/* How functions begin, in 8 bytes: with a frame record, with another frame, without one. */
#define CODE_WITH_RECORD	0x910003fda9bd7bfd	/* stp x29, x30, [sp, #-48]!; mov x29, sp */
#define CODE_WITH_FRAME		0xf90007fed10083ff	/* sub sp, sp, #32; str x30, [sp, #8] */
#define CODE_WITHOUT_FRAME	0xd65f03c052800000	/* mov w0, #0; ret */
#define CODE_NOPS		0xd503201fd503201f

#endif /* USER_ARCH_H */
