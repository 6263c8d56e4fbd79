/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process on x86_64: its registers, and its system calls. */
#ifndef USER_ARCH_H
#define USER_ARCH_H

#include <linux/linkage.h>
#include <linux/ptrace.h>

/* Sets the registers of interrupted 64-bit code. */
static inline void user_regs(struct pt_regs *regs, unsigned long ip,
			     unsigned long sp, unsigned long fp)
{
	*regs = (struct pt_regs){
		.ip = ip,
		.sp = sp,
		.bp = fp,
		.cs = __USER_CS,
		.ss = __USER_DS,
		.flags = X86_EFLAGS_IF,
	};
}

/* Sets the register that DWARF numbers 0. */
static inline void user_regs_set_first(struct pt_regs *regs, unsigned long val)
{
	regs->ax = val;
}

static inline void user_regs_make_compat(struct pt_regs *regs)
{
	regs->cs = __USER32_CS;
}

static inline void user_regs_make_kernel(struct pt_regs *regs)
{
	regs->cs = __KERNEL_CS;
	regs->ss = __KERNEL_DS;
}

asmlinkage long __x64_sys_madvise(const struct pt_regs *regs);
asmlinkage long __x64_sys_mprotect(const struct pt_regs *regs);
asmlinkage long __x64_sys_mremap(const struct pt_regs *regs);

#define USER_SYSCALL(name, a, b, c, d, e)				\
	__x64_sys_##name(&(struct pt_regs){ .di = (a), .si = (b),	\
			 .dx = (c), .r10 = (d), .r8 = (e) })

/* How functions begin, in 8 bytes: with a frame record, with another frame, without one. */
#define CODE_WITH_RECORD	0x90909090e5894855	/* push %rbp; mov %rsp, %rbp */
#define CODE_WITH_FRAME		0x9090909018ec8348	/* sub $24, %rsp */
#define CODE_WITHOUT_FRAME	0x9090909090c3c031	/* xor %eax, %eax; ret */
#define CODE_NOPS		0x9090909090909090

#endif /* USER_ARCH_H */
