/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants and inline functions of arm64, which include/sframe_arch.h lists and explains. */
#ifndef SFU_MACHINE_H
#define SFU_MACHINE_H

#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/unaligned.h>

#include <asm/cpufeature.h>
#include <asm/pointer_auth.h>
#include <asm/sysreg.h>
#include <asm/unistd.h>

#include "sframe_format.h"

#define SFU_ARCH_ABI		SFRAME_ABI_AARCH64_LE
#define SFU_ARCH_REG_SP		SFRAME_AARCH64_REG_SP
#define SFU_ARCH_REG_FP		SFRAME_AARCH64_REG_FP
#define SFU_ARCH_REG_RA		SFRAME_AARCH64_REG_RA
#define SFU_ARCH_NR_REGS	SFRAME_AARCH64_NR_REGS
#define SFU_ARCH_CFA_ALIGN	16

/*
 * Go stores x30 at its new SP, and x29 in the word below SP. Then x29 points to this word. As a
 * frame has at least 16 bytes, the caller's SP is at least x29 + 24.
 */
#define SFU_ARCH_LOW_RECORD	8

#define SFU_ARCH_CALL_BYTES	4

/* The rt_sigreturn stub is __kernel_rt_sigreturn() of the vDSO: mov x8, #139; svc #0. */
#define SFU_ARCH_SIGRETURN_BYTES	8
#define SFU_ARCH_SIGRETURN_CALL		4

/* In the rt_sigreturn stub, siginfo is at SP, ucontext at SP + 128, sigcontext at SP + 304. */
#define SFU_ARCH_SIGCONTEXT_OFFSET	304
#define SFU_ARCH_SIGCONTEXT_IP		33

#define SFU_ARCH_TRAMPOLINE_PUSHES	0

static inline bool sfu_arch_unwindable(struct pt_regs *regs)
{
	return !compat_user_mode(regs);
}

/* Returns TTBR0, the user page table. With software PAN, user accesses load it from thread_info. */
static inline u64 sfu_user_ttbr(void)
{
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	if (system_uses_ttbr0_pan())
		return READ_ONCE(current_thread_info()->ttbr0);
#endif
	return read_sysreg(ttbr0_el1);
}

/* Bits of TTBR0 that hold the page table's address. The others are the ASID and TTBR_CNP_BIT. */
#define SFU_TTBR_TABLE	GENMASK_ULL(47, 1)

static inline bool sfu_arch_has_user_memory(void)
{
	/* @table is a variable because the macro phys_to_ttbr() evaluates its argument twice. */
	phys_addr_t table = virt_to_phys(current->mm->pgd);

	return !((sfu_user_ttbr() ^ phys_to_ttbr(table)) & SFU_TTBR_TABLE);
}

/*
 * Masks nothing: unsafe_get_user() itself clears bit 55 of the address, without a branch. Kernel
 * addresses have this bit, so even a mispredicted check of the address reads no kernel memory.
 */
static inline unsigned long sfu_arch_mask_user(unsigned long addr)
{
	return addr;
}

/* The mask removes a PAC from any return address: frame records do not say if theirs has a PAC. */
static __always_inline unsigned long sfu_arch_ra_mask(void)
{
	return ~ptrauth_user_pac_mask();
}

static inline bool sfu_arch_is_child(const struct pt_regs *regs)
{
	/*
	 * In a new task, x0 is 0: the result of clone(). While a parent is in this system call, x0
	 * may still be its first argument (orig_x0). If that is 0, too, return false for both.
	 */
	return !regs->regs[0] && (regs->regs[8] == __NR_clone || regs->regs[8] == __NR_clone3) &&
	       (regs->syscallno == NO_SYSCALL || regs->orig_x0);
}

static __always_inline bool sfu_arch_is_stub(const u8 *code)
{
	return get_unaligned_le32(code) == 0xd2801168 && get_unaligned_le32(code + 4) == 0xd4000001;
}

static __always_inline bool sfu_arch_follows_call(const u8 *ra)
{
	u32 insn = get_unaligned_le32(ra - 4);

	/* calls are bl, or blr with or without pointer authentication */
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

struct sfu_walk;

/* Returns true if @ip is in a PLT: linkers write no rows. Adds to @sp the bytes that it pushed. */
bool sfu_arm64_is_in_plt(struct sfu_walk *walk, unsigned long ip, unsigned long *sp);

/* Returns true if the instructions from @func to @ip, at most 15, change neither x30 nor SP. */
bool sfu_arm64_keeps_link(struct sfu_walk *walk, unsigned long func, unsigned long ip);

#endif /* SFU_MACHINE_H */
