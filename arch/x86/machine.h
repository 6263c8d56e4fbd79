/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants and inline functions of x86_64, which include/sframe_arch.h lists and explains. */
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

/* Length in bytes of the longest call, call *disp32(base,index), not counting prefixes or REX. */
#define SFU_ARCH_CALL_BYTES	7

/* The rt_sigreturn stub is __restore_rt() of libc: mov $15,%rax; syscall. */
#define SFU_ARCH_SIGRETURN_BYTES	9
#define SFU_ARCH_SIGRETURN_CALL		7

/* While the rt_sigreturn stub runs, struct ucontext is at SP, its struct sigcontext at SP + 40. */
#define SFU_ARCH_SIGCONTEXT_OFFSET	40
#define SFU_ARCH_SIGCONTEXT_IP		16

#define SFU_ARCH_TRAMPOLINE_PUSHES	24

static inline bool sfu_arch_unwindable(struct pt_regs *regs)
{
	return user_64bit_mode(regs);
}

/* Like nmi_uaccess_okay(), which modules cannot call: true if CR3 has the page table of current. */
static inline bool sfu_arch_has_user_memory(void)
{
	return __va(read_cr3_pa()) == current->mm->pgd;
}

/*
 * Changes an address above user memory to ~0, without a branch. Then a mispredicted check of
 * user_access_begin() does no harm, even without a barrier after it. Masking a read's first
 * address is enough: the non-canonical hole above user memory is larger than any read.
 */
static inline unsigned long sfu_arch_mask_user(unsigned long addr)
{
	return addr | ~array_index_mask_nospec(addr, TASK_SIZE_MAX);
}

static __always_inline unsigned long sfu_arch_ra_mask(void)
{
	return ~0ul;
}

static inline bool sfu_arch_is_child(const struct pt_regs *regs)
{
	/*
	 * An interrupt right after the system call overwrites orig_ax. Then cx == ip still shows
	 * this call. Without FRED, the syscall instruction sets cx to its return address.
	 */
	return !regs->ax && (regs->cx == regs->ip || regs->orig_ax == __NR_clone ||
			     regs->orig_ax == __NR_clone3);
}

static __always_inline bool sfu_arch_is_stub(const u8 *code)
{
	u64 start;

	/* Avoids memcmp(): to compare nine bytes, compilers would emit a call of it. */
	memcpy(&start, code, sizeof(start));
	return start == 0x0f0000000fc0c748 && code[8] == 0x05;
}

bool sfu_x86_follows_indirect_call(const u8 *ra);

static __always_inline bool sfu_arch_follows_call(const u8 *ra)
{
	return ra[-5] == 0xe8 || sfu_x86_follows_indirect_call(ra);
}

struct sfu_walk;

/* Returns true if [endbr64;] push $@index is at @addr. PLT slots do so for lazy binding. */
bool sfu_x86_pushes_index(struct sfu_walk *walk, unsigned long addr, unsigned long index);

bool sfu_x86_is_entering(const struct pt_regs *kernel, const struct pt_regs *user,
			 unsigned long entry, const struct pt_regs *trampoline);

#endif /* SFU_MACHINE_H */
