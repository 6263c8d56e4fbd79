/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64, from the AAPCS64, the kernel's ABI and the architecture's manual. */
#ifndef WALK_FACTS_H
#define WALK_FACTS_H

#include <linux/compiler.h>
#include <linux/ptrace.h>
#include <linux/signal_types.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include <asm/cpufeature.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>

#include "walk_cases.h"

#define ABI		AARCH64
#define NR_REGS		32
#define R_SP		31
#define R_FP		29
#define R_A		9
#define R_B		30	/* a call leaves the return address here */
#define R_SYSCALL	8
#define SYSCALL_BYTES	4
#define CFA_ALIGN	16
#define TRAMPOLINE_PUSHES 0
#define PUSHED_BY_CALL	0
#define SIGN(ra)	((ra) | 5ULL << 52)

static const u8 trampoline[4] __maybe_unused;			/* not readable */

#define TRAMPOLINE_END	"4"

static const struct rule_case default_rows[] __maybe_unused = {
	/* The return address is in x30, which may be signed. */
	{ "row 3 0", "ca00@20", "bad-cfa" },
	{ "row 3 16", "ca00@30", "register" },
	{ "row 0x83 16", "ca00@30", "register" },
	{ "row 2 16", "ca00@70", "register" },
	{ "row 3 -16", "bad-cfa" },
	/* It is saved, last below the stack pointer. */
	{ "row 5 16 -8", "c828@30" },
	{ "row 4 16 -8", "c868@70" },
	{ "row 5 16 -16", "c820@30" },
	{ "row 5 16 -24", "bad-cfa" },
	/* A frame record, and other places of the two. */
	{ "row 7 96 -88 -96", "c828@80,fpc820" },
	{ "row 7 112 -32 -16", "c870@90,fp100" },
	{ "row 0x87 112 -32 -16", "c870@90,fp100" },
	{ "row 6 48 -32 -16", "c870@90,fp100" },
	{ "sp+16", "ca00@30", "register" },
	{ "sp+112 (c-16) u", "ca00@90,fp100", "register" },
	/* Calls push nothing. */
	{ "(sp+96) u (c+0)", "c900@100" },
};

/* User addresses have up to 52 bits. A signed one has bit 55 clear. */
static const struct ra_case ra_cases[] __maybe_unused = {
	{ "as it is", 0, true },
	{ "bit 52", 1ULL << 52, true },
	{ "bit 53", 1ULL << 53, true },
	{ "bit 54", 1ULL << 54, true },
	{ "bits 52 to 54", 7ULL << 52, true },
	{ "bit 47", 1ULL << 47, false },
	{ "bit 55", 1ULL << 55, false },
	{ "bits 52 to 55", 15ULL << 52, false },
	{ "bit 56", 1ULL << 56, false },
	{ "bit 63", 1ULL << 63, false },
};

static inline void set_register(struct pt_regs *regs, unsigned int reg, unsigned long value)
{
	if (reg == R_SP)
		regs->sp = value;
	else
		regs->regs[reg] = value;
}

/*
 * The code after the system call of clone(): cmp x0, #0; b.eq. The branch of the child leads @to
 * bytes from there, fewer than 36.
 */
#define CHILD_CODE(to)	{ 0x1f, 0, 0, 0xf1, ((to) - 4) << 3, 0, 0, 0x54 }

/* Sets the current system call as the entry code does. */
static inline void set_syscall(struct pt_regs *regs, unsigned int nr)
{
	regs->syscallno = nr;
	regs->regs[8] = nr;
	regs->orig_x0 = regs->regs[0];
}

/* An interrupt comes before the next instruction. */
static inline void end_syscall(struct pt_regs *regs)
{
	regs->syscallno = NO_SYSCALL;
}

/* restore_sigframe() begins with x0 to x8; x8 held the system call's number. */
#define RESTORED_FIRST	9

/* setup_rt_frame() leaves this at the stack pointer. */
struct signal_frame {
	struct siginfo	info;
	struct ucontext	uc;
};

#define CONTEXT_IP	offsetof(struct signal_frame, uc.uc_mcontext.pc)

/* The header of the record with FP registers. */
#define CONTEXT_MARK	offsetof(struct signal_frame, uc.uc_mcontext.__reserved)
#define CONTEXT_MARK_WORD	(0x46508001 | 528ULL << 32)

/* Return: the offset of a saved register from the stack pointer at the stub. */
static inline unsigned long context_register(unsigned int reg)
{
	if (reg == R_SP)
		return offsetof(struct signal_frame, uc.uc_mcontext.sp);
	return offsetof(struct signal_frame, uc.uc_mcontext.regs) + 8 * reg;
}

static const u8 sigreturn_stub[] __maybe_unused = {
	0x68, 0x11, 0x80, 0xd2,		/* mov x8, #139 */
	0x01, 0x00, 0x00, 0xd4,		/* svc #0 */
};

#define NOP		0xd503201f

static const struct call_case call_cases[] __maybe_unused = {
	{ "bl", .insns = { NOP, 0x94000000 }, TO_FUNCTION, true },
	{ "b", .insns = { NOP, 0x14000000 }, TO_FUNCTION, false },
	{ "b.eq", .insns = { NOP, 0x54000000 } },
	{ "blr x1", .insns = { NOP, 0xd63f0020 }, .calls_other = true },
	{ "blraa x1, x2", .insns = { NOP, 0xd73f0822 }, .calls_other = true },
	{ "br x1", .insns = { NOP, 0xd61f0020 } },
	{ "nop", .insns = { NOP, NOP } },
	{ "nothing", .insns = {} },
};

static inline void or_insn(u8 *code, u32 bits)
{
	put_unaligned_le32(get_unaligned_le32(code) | bits, code);
}

static inline void put_callee(u8 *code, unsigned long ra, unsigned long to)
{
	or_insn(code + 4, (to - (ra - 4)) >> 2 & 0x3ffffff);
}

#define ADRP_X16	0x90000010
#define LDR_X17		0xf9400211	/* from [x16, ...] */
#define ADD_X16		0x91000210	/* to x16, ... */
#define BR_X17		0xd61f0220

static const struct plt_case plt_cases[] __maybe_unused = {
	{ "adrp; ldr; add; br", .insns = { ADRP_X16, LDR_X17, ADD_X16, BR_X17 }, 0, true },
	{ "bti c; adrp; ldr; add; br",
	  .insns = { 0xd503245f, ADRP_X16, LDR_X17, ADD_X16, BR_X17 }, 4, true },
	{ "bti c; adrp; ldr; add; autia1716; br",
	  .insns = { 0xd503245f, ADRP_X16, LDR_X17, ADD_X16, 0xd503219f, BR_X17 }, 4, true },
	{ "adrp; ldr; add; autia1716; br",
	  .insns = { ADRP_X16, LDR_X17, ADD_X16, 0xd503219f, BR_X17 }, 0, true },
	{ "adrp; ldr; add; nop; br",
	  .insns = { ADRP_X16, LDR_X17, ADD_X16, NOP, BR_X17 }, 0, false },
	{ "nop; adrp; ldr; add; br",
	  .insns = { NOP, ADRP_X16, LDR_X17, ADD_X16, BR_X17 }, 4, false },
	{ "stp; adrp; ldr; add; br",
	  .insns = { 0xa9bf7bf0, ADRP_X16, LDR_X17, ADD_X16, BR_X17 }, 4, true, .pushes = 16 },
	{ "bti c; stp; adrp; ldr; add; br",
	  .insns = { 0xd503245f, 0xa9bf7bf0, ADRP_X16, LDR_X17, ADD_X16, BR_X17 }, 8, true, 0, 16 },
	{ "adrp; ldr; add; blr", .insns = { ADRP_X16, LDR_X17, ADD_X16, 0xd63f0220 }, 0, false },
	{ "adrp; ldr; add; br x16", .insns = { ADRP_X16, LDR_X17, ADD_X16, 0xd61f0200 }, 0, false },
	{ "adrp; ldr; nop; br", .insns = { ADRP_X16, LDR_X17, NOP, BR_X17 }, 0, true,
	  .names_page = true },
	{ "adrp; ldr; nop; br, within a page",
	  .insns = { ADRP_X16, LDR_X17, NOP, BR_X17 }, 0, false },
	{ "adrp; ldr x16; add; br", .insns = { ADRP_X16, 0xf9400210, ADD_X16, BR_X17 }, 0, false },
	{ "adrp x17; ldr; add; br", .insns = { 0x90000011, LDR_X17, ADD_X16, BR_X17 }, 0, false },
	{ "adr; ldr; add; br", .insns = { 0x10000010, LDR_X17, ADD_X16, BR_X17 }, 0, false },
};

static const struct sampled_case sampled_cases[] __maybe_unused = {
	{ "stp", .insns = { 0xa9be7bfd, 0x910003fd }, 0, "b210@0" },
	{ "mov x29, sp", .insns = { 0xa9be7bfd, 0x910003fd }, 4, "b410@20,fpb310" },
	{ "mov x29, sp alone", .insns = { NOP, 0x910003fd }, 4, "nodata" },
	{ "after mov x29, sp", .insns = { 0xa9be7bfd, 0x910003fd, NOP }, 8, "nodata" },
	{ "paciasp", .insns = { 0xd503233f, 0xa9be7bfd, 0x910003fd }, 0, "b210@0" },
	{ "pacibsp", .insns = { 0xd503237f, 0xa9be7bfd, 0x910003fd }, 0, "b210@0" },
	{ "mov x29, sp later", .insns = { 0xa9be7bfd, NOP, NOP, 0x910003fd }, 4, "nodata" },
	{ "Go: str x30, as also within functions", .insns = { 0xf81e0ffe, 0xf81f83fd, 0xd10023fd },
	  0, "nodata" },
	{ "Go: stur x29", .insns = { 0xf81e0ffe, 0xf81f83fd, 0xd10023fd }, 4, "nodata" },
	{ "stp [sp]", .insns = { 0xa9017bfd, 0x910043fd }, 0, "nodata" },
	{ "ret later", .insns = { NOP, NOP, NOP, 0xd65f03c0 }, 4, "nodata" },
	{ "add sp; ret", .insns = { 0x910043ff, 0xd65f03c0 }, 0, "b210@10" },
	{ "add sp, x0; ret", .insns = { 0x9100401f, 0xd65f03c0 }, 0, "nodata" },
	{ "add sp; nop; ret", .insns = { 0x910043ff, NOP, 0xd65f03c0 }, 0, "nodata" },
	{ "ldp; ret", .insns = { 0xa8c27bfd, 0xd65f03c0 }, 0, "b410@20,fpb310" },
	{ "ldp; autiasp; ret", .insns = { 0xa8c27bfd, 0xd50323bf, 0xd65f03c0 }, 0,
	  "b410@20,fpb310" },
	{ "ldp; nop; ret", .insns = { 0xa8c27bfd, NOP, 0xd65f03c0 }, 0, "nodata" },
	{ "ldp down; ret", .insns = { 0xa8fe7bfd, 0xd65f03c0 }, 0, "nodata" },
	{ "mov sp, x29; ret", .insns = { 0x910003bf, 0xd65f03c0 }, 0, "nodata" },
	{ "brk; ret", .insns = { 0xd4200000, 0xd65f03c0 }, 0, "nodata" },
	{ "ret", .insns = { NOP, 0xd65f03c0 }, 4, "b210@0" },
	{ "retaa", .insns = { NOP, 0xd65f0bff }, 4, "b210@0" },
	{ "ret x1", .insns = { NOP, 0xd65f0020 }, 4, "nodata" },
	{ "nop", .insns = { NOP, NOP }, 0, "nodata" },
};

#define BL		0x94000010
#define ANY_BL		0x03ffffff

/*
 * From objdump of libc.so.6 and libc.a of Debian; the calls lead elsewhere. A branch may also lead
 * to the instruction after the first one that loads x1. One bit makes a nop a bl.
 */
static const struct start_case start_cases[] __maybe_unused = {
	{ "glibc 2.36 to 2.43: main", CALLS_MAIN, 4, 20,
	  .insns = { [1] = 0xb94017e0, 0x3c8d83e0, 0xd63f0060, BL },
	  .any_insns = { [1] = 0x003ffc00, -1, 0x000003e0, ANY_BL } },
	{ "musl: main", CALLS_MAIN, 8, 20,
	  .insns = { [1] = 0xaa1403e1, 0x2a1303e0, 0xd63f02a0, BL },
	  .any_insns = { [2] = 0x001f0000, 0x000003e0, ANY_BL } },
	{ "glibc: _start", IS_ENTRY, 12, 20,
	  .insns = { [3] = BL, BL }, .any_insns = { [3] = ANY_BL, ANY_BL } },
	{ "glibc: thread_start", CALLS_THREAD, 12, 24,
	  .insns = { [3] = 0xd63f0140, 0xd2800ba8, 0xd4000001 },
	  .any_insns = { [3] = 0x000003e0 } },
	{ "glibc 2.36: thread", CALLS_THREAD, 16, 44,
	  .insns = { [3] = 0xd63f0020, 0x14000002, NOP, 0xf85183a1, 0xf9021420, BL, BL, BL },
	  .any_insns = { [4] = 1, -1, 0xfffffc00, 0x0001fc00, ANY_BL, ANY_BL, ANY_BL } },
	{ "glibc 2.36: thread of C11", CALLS_THREAD, 16, 40,
	  .insns = { [3] = 0xd63f0020, 0x93407c00, 0xf85183a1, 0xf9021420, BL, BL, BL },
	  .any_insns = { [5] = 0xfffffc00, 0x0001fc00, ANY_BL, ANY_BL, ANY_BL } },
	{ "glibc 2.41: thread", CALLS_THREAD, 16, 48,
	  .insns = { [3] = 0xd63f0040, 0x14000002, NOP, 0xd14013a1, 0xf95f6421, 0xf9021420,
		     BL, BL, BL },
	  .any_insns = { [4] = 1, -1, 0xfffffc00, 0xfffffc00, 0x0001fc00, ANY_BL, ANY_BL,
			 ANY_BL } },
	{ "glibc 2.43, static: thread", CALLS_THREAD, 16, 56,
	  .insns = { [3] = 0xd63f0040, 0x14000001, 0xd104e3a1, 0xf9400021, 0xf9021820,
		     0x90000000, 0xf9400000, 0xb4000040, BL, BL, BL },
	  .any_insns = { [4] = 2, 0xfffffc00, 0xfffffc00, 0x0001fc00, -1, -1, 0x1f, ANY_BL,
			 ANY_BL, ANY_BL } },
	{ "glibc 2.41, static and linked: thread", CALLS_THREAD, 16, 56,
	  .insns = { [3] = 0xd63f0040, 0x93407c00, 0xd14013a1, 0xf95f6421, 0xf9021420,
		     0xf0000520, 0xf947c400, 0xb4000040, NOP, BL, BL },
	  .any_insns = { [5] = 0xfffffc00, 0xfffffc00, 0x0001fc00, -1, -1, 0x1f,
			 0xd503201f ^ 0x9503201f, ANY_BL,
			 ANY_BL } },
	{ "Go 1.24: goroutine", CALLS_THREAD, 12, 24, .insns = { [3] = 0xaa0003e0, BL },
	  .any_insns = { [4] = ANY_BL } },
	{ "Boost: fiber", CALLS_THREAD, 12, 24,
	  .insns = { [3] = 0xd65f03c0, 0xd2800000, BL }, .any_insns = { [5] = ANY_BL } },
	{ "musl: thread", CALLS_THREAD, 4, 20,
	  .insns = { [1] = 0xd4000001, 0xa9400281, 0xd63f0020, BL },
	  .any_insns = { [2] = 0x000003e0, [4] = ANY_BL } },
};

/* The code of a function that frees 16 bytes, with its return address in the upper word. */
static const u8 end_code[] __maybe_unused = {
	0xfd, 0x7b, 0xc1, 0xa8,		/* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6,		/* ret */
};

/*
 * The most reads of memory in one step, without reads of the section. Tested by
 * bounds_step_past_plt(). The last two are of the instruction that was interrupted, if the one
 * before it is not there.
 */
#define MOST_FRAME_READS (11 + 2)
#define MOST_FRAME_BYTES (2 * 8 + 8 + 48 + 8 + 4 + 4 + 64 + 4 + 24 + 8 + 16 + 12)

static inline void put_slot(u8 *code, unsigned long addr, unsigned long to)
{
	u64 pages = (to >> 12) - (addr >> 12);

	or_insn(code, (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5);
	or_insn(code + 4, (to & 0xfff) / 8 << 10);
	if (get_unaligned_le32(code + 8) != NOP)
		or_insn(code + 8, (to & 0xfff) << 10);
}

static inline bool signs(void)
{
	return system_supports_address_auth();
}

/* Signs as a user function does on entry; @modifier is its stack pointer. */
static inline unsigned long sign(unsigned long ra, unsigned long modifier, bool key_b)
{
	if (key_b)
		asm(".arch_extension pauth\n\tpacib %0, %1" : "+r" (ra) : "r" (modifier));
	else
		asm(".arch_extension pauth\n\tpacia %0, %1" : "+r" (ra) : "r" (modifier));
	return ra;
}

#endif /* WALK_FACTS_H */
