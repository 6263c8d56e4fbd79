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

#endif /* USER_ARCH_H */
