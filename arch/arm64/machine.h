/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about arm64: registers, the ABI, and the form of its code. See
 * include/sframe_arch.h for the meaning of each name.
 */
#ifndef SFU_MACHINE_H
#define SFU_MACHINE_H

#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/unaligned.h>

#include <asm/cpufeature.h>
#include <asm/pointer_auth.h>
#include <asm/sigcontext.h>
#include <asm/sysreg.h>
#include <asm/unistd.h>

#include "sframe_core.h"
#include "sframe_format.h"
#include "sframe_prologue.h"

#define SFU_ARCH_ABI		SFRAME_ABI_AARCH64_LE
#define SFU_ARCH_REG_SP		SFRAME_AARCH64_REG_SP
#define SFU_ARCH_REG_FP		SFRAME_AARCH64_REG_FP
#define SFU_ARCH_REG_RA		SFRAME_AARCH64_REG_RA
#define SFU_ARCH_NR_REGS	SFRAME_AARCH64_NR_REGS
#define SFU_ARCH_CFA_ALIGN	16
#define SFU_ARCH_PUSHED_BY_CALL	0		/* bytes */
#define SFU_ARCH_RECORD_IS_TOP	0

/*
 * The frame record may be anywhere in its frame. So the stack pointer that follows
 * from it is the lowest possible one.
 */
#define SFU_ARCH_FP_ROW {						\
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AARCH64_REG_FP, .off = 16 },	\
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },		\
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -16 },		\
}

/*
 * Go stores x29 below the stack pointer of the function, and x30 at it: x29 points there, at an odd
 * multiple of 8. The caller's frame has at least 16 bytes more.
 */
#define SFU_ARCH_LOW_RECORD	8
#define SFU_ARCH_LOW_FP_ROW {						\
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AARCH64_REG_FP, .off = 24 },	\
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -16 },		\
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -24 },		\
}

static inline bool sfu_arch_unwindable(struct pt_regs *regs)
{
	return !compat_user_mode(regs);
}

/*
 * The register that holds the table of user memory. If the kernel emulates PAN, each
 * access loads it from the task that is current, and switch_mm() has written that value.
 */
static inline u64 sfu_user_ttbr(void)
{
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	if (system_uses_ttbr0_pan())
		return READ_ONCE(current_thread_info()->ttbr0);
#endif
	return read_sysreg(ttbr0_el1);
}

/* The address of the table; the other bits are the ASID and TTBR_CNP_BIT. */
#define SFU_TTBR_TABLE	GENMASK_ULL(47, 1)

static inline bool sfu_arch_has_user_memory(void)
{
	/* Not in the line below: phys_to_ttbr() is a macro that evaluates its argument twice. */
	phys_addr_t table = virt_to_phys(current->mm->pgd);

	return !((sfu_user_ttbr() ^ phys_to_ttbr(table)) & SFU_TTBR_TABLE);
}

/*
 * The processor masks all interrupts when it enters the kernel, also those that the kernel
 * uses as NMIs, and the entry code has stored the registers before it unmasks them.
 */
static inline bool sfu_arch_has_user_registers(const struct pt_regs *regs)
{
	return true;
}

/* unsafe_get_user() clears bit 55, without a branch. So each address is one of user memory. */
static inline unsigned long sfu_arch_mask_user(unsigned long addr)
{
	return addr;
}

static inline unsigned long sfu_arch_reg(struct pt_regs *regs, unsigned int reg)
{
	/* The decoder has checked the number, by a branch. */
	reg = array_index_nospec(reg, SFU_ARCH_NR_REGS);
	return regs_get_register(regs, reg * sizeof(u64));
}

/*
 * The authentication code may be of either key. It may be there whatever the row
 * says: a frame record has no row.
 */
static __always_inline unsigned long sfu_arch_ra_mask(void)
{
	return ~ptrauth_user_pac_mask();
}

#define SFU_ARCH_CALL_BYTES	4

static inline enum sfu_call sfu_arch_decode_call(const u8 *code, unsigned long ra,
						 unsigned long *where)
{
	u32 insn = get_unaligned_le32(code);

	if (sframe_is_indirect_call(insn))
		return SFU_CALL_REGISTER;
	if (!sframe_is_bl(insn))
		return SFU_CALL_NONE;
	*where = ra - 4 + 4 * sign_extend64(insn, 25);
	return SFU_CALL_DIRECT;
}

#define SFU_ARCH_CALL_SITE	4

static inline bool sfu_arch_follows_indirect_call(const u8 *ra)
{
	return sframe_is_indirect_call(get_unaligned_le32(ra - 4));
}

static inline bool sfu_arch_follows_direct_call(const u8 *ra)
{
	return sframe_is_bl(get_unaligned_le32(ra - 4));
}

/* A PLT slot, up to and with its jump: with or without bti, and autia1716 of -z pac-plt. */
#define SFU_ARCH_PLT_BYTES	24

static inline unsigned int sfu_arch_decode_plt(const u8 *code, unsigned long addr,
					       unsigned long *where)
{
	unsigned int i = 0, jump;
	u32 adrp, ldr, add;
	u64 pages;

	if (get_unaligned_le32(code) == 0xd503245f)	/* bti c */
		i += 4;
	adrp = get_unaligned_le32(code + i);
	ldr = get_unaligned_le32(code + i + 4);
	add = get_unaligned_le32(code + i + 8);
	jump = i + 12;
	if (get_unaligned_le32(code + jump) == 0xd503219f)	/* autia1716 */
		jump += 4;
	/* binutils 2.46 writes a nop instead of adding 0. */
	if (add == 0xd503201f && !(ldr & 0x3ffc00))
		add = 0x91000210;
	if ((adrp & 0x9f00001f) != 0x90000010 ||	/* adrp x16, pages */
	    (ldr & 0xffc003ff) != 0xf9400211 ||		/* ldr x17, [x16, imm12] */
	    (add & 0xffc003ff) != 0x91000210 ||		/* add x16, x16, imm12 */
	    get_unaligned_le32(code + jump) != 0xd61f0220) /* br x17 */
		return 0;
	pages = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
	*where = ((addr + i) & ~0xfffUL) + 4096 * sign_extend64(pages, 20) +
		 8 * (ldr >> 10 & 0xfff);
	return jump + 4;
}

#define SFU_ARCH_CHILD_BYTES	8

/*
 * The number of a system call is in x8, and stays there after the call. Until the call returns, x0
 * of the parent is the first argument: if that is 0, the child cannot be told from the parent.
 */
static inline bool sfu_arch_is_child(const struct pt_regs *regs)
{
	return !regs->regs[0] &&
	       (regs->regs[8] == __NR_clone || regs->regs[8] == __NR_clone3) &&
	       (regs->syscallno == NO_SYSCALL || regs->orig_x0);
}

/* cmp x0, #0; b.eq */
static inline unsigned long sfu_arch_child_branch(const u8 *code)
{
	u32 branch = get_unaligned_le32(code + 4);

	return get_unaligned_le32(code) == 0xf100001f && (branch & 0xff00001f) == 0x54000000 ?
	       4 + 4 * sign_extend64(branch >> 5, 18) : 0;
}

#define SFU_ARCH_CODE_BEFORE	4
#define SFU_ARCH_CODE_AFTER	12

/* Sets @row for a function whose frame has @size bytes, with x29 and x30 at the bottom. */
static inline void sfu_set_record_row(struct sframe_row *row, int size)
{
	row->cfa.off = size;
	row->ra = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = 8 - size };
	row->fp = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = -size };
}

/* ret; maybe after add sp, sp, #size, or after ldp x29, x30, [sp], #size and autiasp. */
static inline bool sfu_arch_row_of_end(const u8 *code, struct sframe_row *row)
{
	u32 insn = get_unaligned_le32(code);

	*row = (struct sframe_row){
		.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AARCH64_REG_SP },
	};
	if ((insn & 0xffc003ff) == 0x910003ff) {
		row->cfa.off = insn >> 10 & 0xfff;
		insn = get_unaligned_le32(code + 4);
	} else if (sframe_pops_record(insn)) {
		sfu_set_record_row(row, 8 * sign_extend32(insn >> 15, 6));
		insn = get_unaligned_le32(code + 4);
		if (sframe_checks_ra(insn))
			insn = get_unaligned_le32(code + 8);
	}
	return sframe_is_ret(insn);
}

static inline bool sfu_arch_row_of_code(const u8 *ip, unsigned long addr, struct sframe_row *row)
{
	u32 insn = get_unaligned_le32(ip), before = get_unaligned_le32(ip - 4);

	if (sfu_arch_row_of_end(ip, row))
		return true;
	*row = (struct sframe_row){
		.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AARCH64_REG_SP },
	};
	if (sframe_signs_ra(insn) || sframe_pushes_record(insn))
		return true;
	if (!sframe_pushes_record(before) || insn != 0x910003fd)	/* mov x29, sp */
		return false;
	sfu_set_record_row(row, -8 * sign_extend32(before >> 15, 6));
	return true;
}

#define SFU_ARCH_START_BEFORE	12
#define SFU_ARCH_START_AFTER	8

/* blr */
static inline bool sfu_is_register_call(u32 insn)
{
	return (insn & 0xfffffc1f) == 0xd63f0000;
}

/* ldr w0, [sp, imm12], or mov w0, wN */
static inline bool sfu_sets_argc(u32 insn)
{
	return (insn & 0xffc003ff) == 0xb94003e0 || (insn & 0xffe0ffff) == 0x2a0003e0;
}

/* argc in w0, not more than one instruction before; blr main; bl exit */
static inline bool sfu_arch_calls_main(const u8 *ra)
{
	return (sfu_sets_argc(get_unaligned_le32(ra - 12)) ||
		sfu_sets_argc(get_unaligned_le32(ra - 8))) &&
	       sfu_is_register_call(get_unaligned_le32(ra - 4)) &&
	       sframe_is_bl(get_unaligned_le32(ra));
}

/* bl __libc_start_main; bl abort */
static inline bool sfu_arch_is_entry(const u8 *ra)
{
	return sframe_is_bl(get_unaligned_le32(ra - 4)) && sframe_is_bl(get_unaligned_le32(ra));
}

/* start() of musl: svc #0; ldp x1, x0, [reg]; blr x1; bl __pthread_exit */
static inline bool sfu_starts_thread_of_musl(const u8 *ra)
{
	return get_unaligned_le32(ra - 12) == 0xd4000001 &&
	       (get_unaligned_le32(ra - 8) & 0xfffffc1f) == 0xa9400001 &&
	       get_unaligned_le32(ra - 4) == 0xd63f0020 &&
	       sframe_is_bl(get_unaligned_le32(ra));
}

/*
 * runtime.goexit() of Go: mov x0, x0; bl; padding. Nothing has called it: the runtime leaves the
 * address of the bl where the function of a goroutine returns to.
 */
static inline bool sfu_starts_goroutine(const u8 *ra)
{
	return get_unaligned_le32(ra - 4) == 0xaa0003e0 && sframe_is_bl(get_unaligned_le32(ra)) &&
	       !get_unaligned_le32(ra + 4);
}

/* make_fcontext() of Boost: ret; mov x0, #0; bl _exit. Nothing has called this end of a fiber. */
static inline bool sfu_starts_fiber(const u8 *ra)
{
	return get_unaligned_le32(ra - 4) == 0xd65f03c0 && get_unaligned_le32(ra) == 0xd2800000 &&
	       sframe_is_bl(get_unaligned_le32(ra + 4));
}

/* thread_start() of glibc, to which start_thread() returns: blr; mov x8, #__NR_exit; svc #0 */
static inline bool sfu_arch_starts_thread(const u8 *ra)
{
	return sfu_starts_thread_of_musl(ra) || sfu_starts_goroutine(ra) || sfu_starts_fiber(ra) ||
	       (sfu_is_register_call(get_unaligned_le32(ra - 4)) &&
		get_unaligned_le32(ra) == 0xd2800ba8 &&
		get_unaligned_le32(ra + 4) == 0xd4000001);
}

static inline unsigned long sfu_arch_thread_exit(const u8 *code, unsigned long ra)
{
	u32 insn = get_unaligned_le32(code);

	if (insn == 0x93407c00)			/* sxtw x0, w0: the result is an int */
		return ra + 4;
	if ((insn & 0xfc000000) != 0x14000000)	/* b imm26 */
		return ra;
	return ra + 4 * sign_extend64(insn, 25);
}

/* Does this instruction compute or load x1 from x29, or from x1 itself? */
static inline bool sfu_finds_x1(u32 insn)
{
	return (insn & 0x3ff) == 0x3a1 || (insn & 0x3ff) == 0x021;
}

/*
 * At most two instructions that find x1; str x0, [x1, #1024 to #2040], which is in the
 * descriptor of the thread; and three times bl. In static programs the first call depends
 * on adrp xN; ldr xN; cbz xN, and is a nop if nothing defines the function.
 */
#define SFU_ARCH_EXIT_BYTES	36

static inline bool sfu_arch_exits_thread(const u8 *code)
{
	bool is_weak = false;
	unsigned int i = 0;

	while (i < 8 && sfu_finds_x1(get_unaligned_le32(code + i)))
		i += 4;
	if ((get_unaligned_le32(code + i) & 0xfffe03ff) != 0xf9020020)
		return false;
	i += 4;
	if ((get_unaligned_le32(code + i + 8) & 0xffffffe0) == 0xb4000040) {
		is_weak = true;
		i += 12;
	}
	return (sframe_is_bl(get_unaligned_le32(code + i)) ||
		(is_weak && get_unaligned_le32(code + i) == 0xd503201f)) &&
	       sframe_is_bl(get_unaligned_le32(code + i + 4)) &&
	       sframe_is_bl(get_unaligned_le32(code + i + 8));
}

/* libstdc++ has frame pointers, which lead on to libc. */
static inline unsigned int sfu_arch_cxx_thread(const u8 *ra)
{
	return 0;
}

/* The stub is in the vDSO. */
#define SFU_ARCH_SIGRETURN_BYTES	8
#define SFU_ARCH_SIGRETURN_CALL		4

static inline bool sfu_arch_is_sigreturn(const u8 *code)
{
	static const u8 stub[SFU_ARCH_SIGRETURN_BYTES] = {
		0x68, 0x11, 0x80, 0xd2,		/* mov x8, #139 */
		0x01, 0x00, 0x00, 0xd4,		/* svc #0 */
	};

	return !memcmp(code, stub, sizeof(stub));
}

static inline bool sfu_arch_calls_sigreturn(const struct pt_regs *regs)
{
	return regs->regs[8] == __NR_rt_sigreturn ||
	       regs->syscallno == __NR_rt_sigreturn;
}

/*
 * More registers are restored before the stack pointer. x8 is the last one compared:
 * until it is restored, it holds the number of the system call.
 */
#define SFU_ARCH_RESTORED_FIRST		9

static inline bool sfu_arch_restores(const struct pt_regs *regs)
{
	return regs->syscallno == __NR_rt_sigreturn &&
	       regs->regs[8] != __NR_rt_sigreturn;
}

/*
 * The stack pointer points to a struct rt_sigframe: 128 bytes of siginfo, and a struct
 * ucontext, in which sigcontext begins at byte 176 (asm/ucontext.h, asm/sigcontext.h).
 */
#define SFU_ARCH_SIGCONTEXT_OFFSET	304
#define SFU_ARCH_SIGCONTEXT_IP		33
#define SFU_ARCH_SIGCONTEXT_MARK	36

/* This word is the head of the first record after the registers: FP registers. */
static inline bool sfu_arch_is_sigcontext(unsigned long mark)
{
	return mark == (FPSIMD_MAGIC | sizeof(struct fpsimd_context) << 32);
}

static inline unsigned int sfu_arch_sigcontext_word(unsigned int reg)
{
	return 1 + reg;				/* after the fault address */
}

/* A breakpoint leaves the ip at itself. */
#define SFU_ARCH_BREAKPOINT_BYTES	0
#define SFU_ARCH_BREAKPOINT		0

/*
 * The trampoline is one breakpoint, in a page that may be executable and not readable.
 * The probed function has returned to it, so the link register holds its address. The
 * link register of a function that begins a page does not hold its own address.
 */
#define SFU_ARCH_TRAMPOLINE_BYTES	4
#define SFU_ARCH_TRAMPOLINE_PUSHES	0

static inline bool sfu_arch_is_trampoline(const struct pt_regs *regs, unsigned long ip,
					  const u8 *code)
{
	return regs && regs->regs[30] == round_down(ip, PAGE_SIZE);
}

/* No uprobe is optimized. */
#define SFU_ARCH_PROBE_PAGE_BYTES	0
#define SFU_ARCH_PROBE_CALL_BYTES	0
#define SFU_ARCH_PROBE_MOVE_BYTES	0
#define SFU_ARCH_PROBE_MOVED		0
#define SFU_ARCH_PROBE_PUSHES		0

static inline int sfu_arch_probe_page_pushed(const u8 *code, unsigned int off, u32 *freed)
{
	return -1;
}

/* The trampoline does not return by itself. */
static inline unsigned int sfu_arch_trampoline_pops(unsigned int off)
{
	return 0;
}

#endif /* SFU_MACHINE_H */
