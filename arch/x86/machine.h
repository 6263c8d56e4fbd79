/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_64: constants and inline functions. See include/sframe_arch.h. */
#ifndef SFU_MACHINE_H
#define SFU_MACHINE_H

#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/page_types.h>
#include <asm/processor.h>
#include <asm/unistd.h>

#include "sframe_format.h"

#define SFU_ARCH_ABI		SFRAME_ABI_AMD64_LE
#define SFU_ARCH_REG_SP		SFRAME_AMD64_REG_SP
#define SFU_ARCH_REG_FP		SFRAME_AMD64_REG_FP
#define SFU_ARCH_REG_RA		(-1)		/* calls push it */
#define SFU_ARCH_NR_REGS	SFRAME_AMD64_NR_REGS
#define SFU_ARCH_CFA_ALIGN	8
#define SFU_ARCH_LOW_RECORD	0

#define SFU_ARCH_CALL_BYTES	7	/* longest call: call *disp(base,index), without prefixes */

/* The rt_sigreturn stub, __restore_rt() of libc: mov $15,%rax; syscall */
#define SFU_ARCH_SIGRETURN_BYTES	9
#define SFU_ARCH_SIGRETURN_CALL		7

/* In this stub, SP points to a struct ucontext, in which struct sigcontext begins at byte 40. */
#define SFU_ARCH_SIGCONTEXT_OFFSET	40
#define SFU_ARCH_SIGCONTEXT_IP		16

#define SFU_ARCH_TRAMPOLINE_PUSHES	24

/* Returns false if the task runs 32-bit code or VM86. */
static inline bool sfu_arch_unwindable(struct pt_regs *regs)
{
	return user_64bit_mode(regs);
}

/* Modules cannot call nmi_uaccess_okay(), which compares mms: this compares their page tables. */
static inline bool sfu_arch_has_user_memory(void)
{
	return __va(read_cr3_pa()) == current->mm->pgd;
}

/*
 * Changes an address above user memory to ~0, without a branch. The processor may mispredict the
 * check of user_access_begin(), and not all kernels have a barrier after it. No read from a lower
 * address is longer than the hole above user addresses.
 */
static inline unsigned long sfu_arch_mask_user(unsigned long addr)
{
	return addr | ~array_index_mask_nospec(addr, TASK_SIZE_MAX);
}

static __always_inline unsigned long sfu_arch_ra_mask(void)
{
	return ~0ul;
}

/*
 * The syscall instruction stores its return address in rcx. So in a task that clone() has just
 * made, rcx equals ip, also if an interrupt comes right after the system call.
 */
static inline bool sfu_arch_is_child(const struct pt_regs *regs)
{
	return !regs->ax && (regs->cx == regs->ip || regs->orig_ax == __NR_clone ||
			     regs->orig_ax == __NR_clone3);
}

static __always_inline bool sfu_arch_is_stub(const u8 *code)
{
	u64 start;

	/* Not memcmp(): compilers would call the function for nine bytes. */
	memcpy(&start, code, sizeof(start));
	return start == 0x0f0000000fc0c748 && code[8] == 0x05;
}

bool sfu_x86_follows_indirect_call(const u8 *ra);

static __always_inline bool sfu_arch_follows_call(const u8 *ra)
{
	return ra[-5] == 0xe8 || sfu_x86_follows_indirect_call(ra);
}

struct sfu_walk;

/* Returns true if the code at @addr pushes @index, as unbound PLT slots do: [endbr64;] push $n. */
bool sfu_x86_pushes_index(struct sfu_walk *walk, unsigned long addr, unsigned long index);

bool sfu_x86_is_entering(const struct pt_regs *kernel, const struct pt_regs *user,
			 unsigned long entry, const struct pt_regs *trampoline);

#endif /* SFU_MACHINE_H */
