/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_64, from the psABI, the kernel's ABI and the processor's manual. */
#ifndef WALK_FACTS_H
#define WALK_FACTS_H

#include <linux/compiler.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/sigframe.h>
#include <asm/unistd.h>

#include "walk_cases.h"

#define ABI		AMD64
#define NR_REGS		16
#define R_SP		7
#define R_FP		6
#define R_A		10
#define R_B		11
#define R_SYSCALL	0
#define SYSCALL_BYTES	2
#define CFA_ALIGN	8
#define TRAMPOLINE_PUSHES 24
#define PUSHED_BY_CALL	8
#define SIGN(ra)	(ra)

/* uretprobe_trampoline_entry of the kernel */
static const u8 trampoline[] __maybe_unused = {
	0x50,						/* push %rax */
	0x51,						/* push %rcx */
	0x41, 0x53,					/* push %r11 */
	0x48, 0xc7, 0xc0, 0x4f, 0x01, 0x00, 0x00,	/* mov $335,%rax */
	0x0f, 0x05,					/* syscall */
	0x41, 0x5b,					/* pop %r11 */
	0x59,						/* pop %rcx */
	0xc3,						/* ret */
};

#define TRAMPOLINE_END	"11"

static const struct rule_case default_rows[] __maybe_unused = {
	{ "row 3 16", "c828@30" },
	{ "row 3 8", "c820@28" },	/* as at entry */
	{ "row 3 0", "bad-cfa" },
	{ "row 3 -16", "bad-cfa" },
	{ "row 2 16", "c868@70" },
	{ "row 0x25 176 -80", "c8c8@d0,fp100" },
	{ "row 0x24 112 -80", "c8c8@d0,fp100" },
	{ "sp+16", "c828@30" },
	{ "sp+176 (c-80) u", "c8c8@d0,fp100" },
	/* A saved SP below the CFA: the caller's SP follows from the place of RA. */
	{ "(sp+96) u (c+0)", "c900@108" },
	{ "(sp+96) (c-96) (c+24)", "c918@120,fp140" },
};

static const struct ra_case ra_cases[] __maybe_unused = {
	{ "as it is", 0, true },
	{ "bit 46", 1ULL << 46, false },
	{ "bit 47", 1ULL << 47, false },
	{ "bit 54", 1ULL << 54, false },
	{ "bit 63", 1ULL << 63, false },
};

/* By DWARF number. */
#define REGISTERS(of) {							\
	offsetof(of, ax), offsetof(of, dx), offsetof(of, cx),		\
	offsetof(of, bx), offsetof(of, si), offsetof(of, di),		\
	offsetof(of, bp), offsetof(of, sp), offsetof(of, r8),		\
	offsetof(of, r9), offsetof(of, r10), offsetof(of, r11),		\
	offsetof(of, r12), offsetof(of, r13), offsetof(of, r14),	\
	offsetof(of, r15),						\
}

static inline void set_register(struct pt_regs *regs, unsigned int reg, unsigned long value)
{
	static const u16 where[NR_REGS] = REGISTERS(struct pt_regs);

	*(unsigned long *)((char *)regs + where[reg]) = value;
}

/* Sets the current system call as the entry code does: ax is -ENOSYS. */
static inline void set_syscall(struct pt_regs *regs, unsigned int nr)
{
	regs->orig_ax = nr;
	regs->ax = -38;
}

/* An interrupt comes before the next instruction. */
static inline void end_syscall(struct pt_regs *regs)
{
	regs->orig_ax = -1;
	regs->cx = regs->ip;
}

/*
 * The code after the system call of clone(): test %rax,%rax; jl; je. The branch of the child, je,
 * leads @to bytes from there.
 */
#define CHILD_CODE(to)	{ 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, (to) - 7 }

/* restore_sigcontext() restores the registers up to bp, by DWARF number, before sp. */
#define RESTORED_FIRST	7

/* The return to the stub has popped the first word of struct rt_sigframe. */
#define CONTEXT_AT (offsetof(struct rt_sigframe, uc.uc_mcontext) - 8)
#define CONTEXT_IP (CONTEXT_AT + offsetof(struct sigcontext, ip))

/* Segment registers of user mode, cs first. */
#define CONTEXT_MARK (CONTEXT_AT + offsetof(struct sigcontext, cs))
#define CONTEXT_MARK_WORD	(__USER_CS | (u64)__USER_DS << 48)

/* Return: the offset of a saved register from the stack pointer at the stub. */
static inline unsigned long context_register(unsigned int reg)
{
	static const u16 where[NR_REGS] = REGISTERS(struct sigcontext);

	return CONTEXT_AT + where[reg];
}

static const u8 sigreturn_stub[] __maybe_unused = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00,	/* mov $15,%rax */
	0x0f, 0x05,					/* syscall */
};

static const struct call_case call_cases[] __maybe_unused = {
	{ "call", .code = { 0x90, 0x90, 0x90, 0xe8 }, TO_FUNCTION, true },
	{ "call after a prefix", .code = { 0x90, 0x90, 0x67, 0xe8 }, TO_FUNCTION, true },
	{ "call *slot(%rip)", .code = { 0x90, 0x90, 0xff, 0x15 }, TO_SLOT, true },
	{ "call *slot", .code = { 0x90, 0xff, 0x14, 0x25 }, TO_SLOT, false },
	{ "call *%rax", .code = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 } },
	{ "call *%r10", .code = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd2 } },
	{ "call *8(%rax)", .code = { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08 } },
	{ "jmp", .code = { 0x90, 0x90, 0x90, 0xe9 }, TO_FUNCTION, false },
	{ "jmp *slot(%rip)", .code = { 0x90, 0x90, 0xff, 0x25 }, TO_SLOT, false },
	{ "push slot(%rip)", .code = { 0x90, 0x90, 0xff, 0x35 }, TO_SLOT, false },
	{ "nothing", .code = {} },
};

static inline void put_callee(u8 *code, unsigned long ra, unsigned long to)
{
	s32 disp = to - ra;

	memcpy(code + CALL_CODE - sizeof(disp), &disp, sizeof(disp));
}

/* Instructions, as strings. */
#define PUSH_MOV	"\x55\x48\x89\xe5"			/* push %rbp; mov %rsp,%rbp */
#define PUSH_LEA_MOV	"\x55\x48\x8d\x47\x01\x48\x89\xe5"	/* push; lea 1(%rdi),%rax; mov */
#define ENDBR64		"\xf3\x0f\x1e\xfa"
#define GO_CMP		"\x49\x3b\x66\x10"			/* cmp 0x10(%r14),%rsp */
#define GO_CHECK	GO_CMP "\x76\x40"			/* ...; jbe */
#define ADD_8_RSP	"\x48\x83\xc4\x08"
#define AFTER_CLONE	"\x0f\x05\x48\x85\xc0\x7c\x13"	/* syscall; test %rax,%rax; jl */
#define MOVED		"b310@10,fpb210"

static const struct plt_case plt_cases[] __maybe_unused = {
	{ "jmp", .code = "\xff\x25", 0, true },
	{ "bnd jmp", .code = "\xf2\xff\x25", 1, true },
	{ "endbr64; jmp", .code = ENDBR64 "\xff\x25", 4, true },
	{ "endbr64; bnd jmp", .code = ENDBR64 "\xf2\xff\x25", 5, true },
	{ "endbr64; mov $1,%r11d; jmp",
	  .code = ENDBR64 "\x41\xbb\x01\x00\x00\x00\xff\x25", 10, true },
	{ "mov $1,%r11d; jmp", .code = "\x41\xbb\x01\x00\x00\x00\xff\x25", 6, false },
	{ "endbr32; jmp", .code = "\xf3\x0f\x1e\xfb\xff\x25", 4, false },
	{ "nop; jmp", .code = "\x90\xff\x25", 1, false },
	{ "call", .code = "\xff\x15", 0, false },
	{ "push slot", .code = "\xff\x35", 0, false },
	{ "bnd; endbr64; jmp", .code = "\xf2" ENDBR64 "\xff\x25", 5, false },
};

static const struct sampled_case sampled_cases[] __maybe_unused = {
	{ "push %rbp", .code = PUSH_MOV, 0, "b210@8" },
	{ "mov %rsp,%rbp", .code = PUSH_MOV, 1, MOVED },
	{ "after mov %rsp,%rbp", .code = PUSH_MOV, 4, "nodata" },
	{ "endbr64", .code = ENDBR64 PUSH_MOV, 0, "b210@8" },
	{ "push %rbp after endbr64", .code = ENDBR64 PUSH_MOV, 4, "b210@8" },
	{ "mov %rsp,%rbp after endbr64", .code = ENDBR64 PUSH_MOV, 5, MOVED },
	{ "lea between the two", .code = PUSH_LEA_MOV, 1, MOVED },
	{ "mov %rsp,%rbp after lea", .code = PUSH_LEA_MOV, 5, MOVED },
	{ "push %rbp; push %rbx", .code = "\x55\x53\x48\x89\xe5", 0, "nodata" },
	{ "push %rbp alone", .code = "\x55\x90\x90", 0, "nodata" },
	{ "check of Go", .code = GO_CHECK PUSH_MOV, 0, "b210@8" },
	{ "jbe of Go", .code = GO_CHECK PUSH_MOV, 4, "b210@8" },
	{ "push %rbp of Go", .code = GO_CHECK PUSH_MOV, 6, "b210@8" },
	{ "mov %rsp,%rbp of Go", .code = GO_CHECK PUSH_MOV, 7, MOVED },
	{ "mov %rsp,%rbp of Go, after a long jbe",
	  .code = GO_CMP "\x0f\x86\x40\x00\x00\x00" PUSH_MOV, 11, MOVED },
	{ "check of Go without a record", .code = GO_CHECK "\x48\x83\xec\x08", 0, "nodata" },
	{ "uprobe at endbr64", .code = "\xcc\x0f\x1e\xfa" PUSH_MOV, 0, "b210@8" },
	{ "mov %rsp,%rbp after such a uprobe", .code = "\xcc\x0f\x1e\xfa" PUSH_MOV, 5, MOVED },
	{ "uprobe at push %rbp", .code = "\xcc\x48\x89\xe5", 0, "b210@8" },
	{ "uprobe at push %rbp, before lea",
	  .code = "\xcc\x48\x8d\x47\x01\x48\x89\xe5", 0, "b210@8" },
	{ "mov %rsp,%rbp after such a uprobe", .code = "\xcc\x48\x89\xe5", 1, MOVED },
	{ "uprobe at the check of Go", .code = "\xcc\x3b\x66\x10\x76\x40" PUSH_MOV, 0, "b210@8" },
	{ "uprobe at another instruction", .code = "\xcc\x83\xec\x08", 0, "nodata" },
	{ "padding before push %rbp", .code = "\xcc" PUSH_MOV, 1, "nodata" },
	{ "ret", .code = "\x90\xc3", 1, "b210@8" },
	{ "repz ret", .code = "\x90\xf3\xc3", 1, "b210@8" },
	{ "before ret", .code = "\x90\xc3", 0, "nodata" },
	{ "pop %rbx; ret", .code = "\x5b\xc3", 0, "b310@10" },
	{ "pop %rbp; ret", .code = "\x5d\xc3", 0, MOVED },
	{ "pop %r13; ret", .code = "\x41\x5d\xc3", 0, "b310@10" },
	{ "pop %r12; pop %rbp; repz ret", .code = "\x41\x5c\x5d\xf3\xc3", 0, "b410@18,fpb310" },
	{ "pop %rsp; ret", .code = "\x5c\xc3", 0, "nodata" },
	{ "pop %rax; nop; ret", .code = "\x58\x90\xc3", 0, "nodata" },
	{ "8 pops", .code = "\x58\x58\x58\x58\x58\x58\x58\x58\xc3", 0, "nodata" },
	{ "add $8,%rsp; ret", .code = ADD_8_RSP "\xc3", 0, "b310@10" },
	{ "add $16,%rsp with 32 bits; ret", .code = "\x48\x81\xc4\x10\x00\x00\x00\xc3", 0,
	  "b410@18" },
	{ "add $8,%rsp; pop %rbp; ret", .code = ADD_8_RSP "\x5d\xc3", 0, "b410@18,fpb310" },
	{ "add $8,%rsp; nop; ret", .code = ADD_8_RSP "\x90\xc3", 0, "nodata" },
	{ "add $4,%rsp; ret", .code = "\x48\x83\xc4\x04\xc3", 0, "nodata" },
	{ "add $-8,%rsp; pop %rax; pop %rax; ret",
	  .code = "\x48\x83\xc4\xf8\x58\x58\xc3", 0, "nodata" },
	{ "add $8,%rax; ret", .code = "\x48\x83\xc0\x08\xc3", 0, "nodata" },
	{ "sub $8,%rsp; ret", .code = "\x48\x83\xec\x08\xc3", 0, "nodata" },
	{ "call *%rax; ret", .code = "\xff\xd0\xc3", 0, "nodata" },
	{ "hlt; ret", .code = "\xf4\xc3", 0, "nodata" },
	{ "jmp *slot(%rip)", .code = "\xff\x25\x10\x00\x00\x00", 0, "b210@8" },
	{ "after the system call of clone()", .code = AFTER_CLONE "\x74\x01\xc3", 2, "b210@8" },
	{ "after another system call", .code = AFTER_CLONE "\x75\x01\xc3", 2, "nodata" },
	{ "after another one, without ret", .code = AFTER_CLONE "\x74\x01\x90", 2, "nodata" },
	{ "nop", .code = "\x90", 0, "nodata" },
};

/* From objdump of libc.so.6 and libc.a of Debian; the calls lead elsewhere. */
static const struct start_case start_cases[] __maybe_unused = {
	{ "glibc 2.36 and 2.41: main", CALLS_MAIN, 14, 19,
	  .code = { [2] = 0x8b, 0x7c, 0x24, 0x14, 0x48, 0x8b, 0x10, 0x48, 0x8b, 0x44, 0x24, 0x08,
		    0xff, 0xd0, 0x89, 0xc7, 0xe8 }, .any = { [15] = 7 } },
	{ "glibc 2.43: main", CALLS_MAIN, 12, 19,
	  .code = { [5] = 0x8b, 0x7c, 0x24, 0x14, 0x48, 0x8b, 0x10, 0xff, 0x54, 0x24, 0x08,
		    0x89, 0xc7, 0xe8 }, .any = { [15] = 0xff } },
	{ "musl 1.2.3: main", CALLS_MAIN, 14, 19,
	  .code = { [6] = 0x89, 0xef, 0x4c, 0x89, 0xea, 0x4c, 0x89, 0xe6, 0xff, 0xd3,
		    0x89, 0xc7, 0xe8 }, .any = { [15] = 7 } },
	{ "musl 1.2.5: main", CALLS_MAIN, 14, 19,
	  .code = { [5] = 0x89, 0xdf, 0x4c, 0x89, 0xea, 0x48, 0x89, 0xee, 0x41, 0xff, 0xd4,
		    0x89, 0xc7, 0xe8 }, .any = { [15] = 7 } },
	{ "glibc: _start", IS_ENTRY, 10, 17,
	  .code = { [10] = 0xff, 0x15, 0x9b, 0x2f, 0, 0, 0xf4 }, .any = { [12 ... 15] = 0xff } },
	{ "glibc, static: _start", IS_ENTRY, 11, 17,
	  .code = { [10] = 0x67, 0xe8, 0x9b, 0x2f, 0, 0, 0xf4 }, .any = { [12 ... 15] = 0xff } },
	{ "glibc 2.36: thread", CALLS_THREAD, 16, 42,
	  .code = { [10] = 0xff, 0x90, 0x38, 0x06, 0, 0, 0xe9, 1, 0, 0, 0, 0x90,
		    0x64, 0x48, 0x89, 0x04, 0x25, 0x28, 0x06, 0, 0, 0xe8, 0, 0, 0, 0,
		    0xe8, 0, 0, 0, 0, 0xe8 },
	  .any = { [21] = 0xff, [27 ... 28] = 0xff, [32 ... 35] = 0xff, [37 ... 40] = 0xff } },
	{ "glibc 2.36: thread of C11", CALLS_THREAD, 16, 38,
	  .code = { [10] = 0xff, 0x93, 0x38, 0x06, 0, 0, 0x48, 0x98,
		    0x64, 0x48, 0x89, 0x04, 0x25, 0x28, 0x06, 0, 0, 0xe8, 0, 0, 0, 0,
		    0xe8, 0, 0, 0, 0, 0xe8 },
	  .any = { [23 ... 24] = 0xff, [28 ... 31] = 0xff, [33 ... 36] = 0xff } },
	{ "glibc, static: thread", CALLS_THREAD, 16, 51,
	  .code = { [14] = 0xff, 0xd0, 0xe9, 0, 0, 0, 0,
		    0x64, 0x48, 0x89, 0x04, 0x25, 0x28, 0x06, 0, 0,
		    0x48, 0x83, 0x3d, 0x19, 0x2f, 0x0b, 0, 0, 0x74, 0x05,
		    0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xe8 },
	  .any = { [26 ... 27] = 0xff, [33 ... 36] = 0xff, [41 ... 44] = 0xff,
		   [46 ... 49] = 0xff } },
	{ "glibc 2.31: thread", CALLS_THREAD, 16, 36,
	  .code = { [8] = 0x64, 0xff, 0x14, 0x25, 0x40, 0x06, 0, 0,
		    0x64, 0x48, 0x89, 0x04, 0x25, 0x30, 0x06, 0, 0, 0xe8, 0, 0, 0, 0,
		    0xe8, 0, 0, 0, 0, 0xe8 },
	  .any = { [21 ... 22] = 0xff, [26 ... 29] = 0xff, [31 ... 34] = 0xff } },
	{ "musl 1.2.3 and 1.2.5: thread", CALLS_THREAD, 8, 20,
	  .code = { [8] = 0x0f, 0x05, 0x48, 0x8b, 0x7b, 0x08, 0xff, 0x13,
		    0x48, 0x89, 0xc7, 0xe8 } },
	{ "musl 1.2.6: thread", CALLS_THREAD, 7, 20,
	  .code = { [7] = 0x0f, 0x05, 0x49, 0x8b, 0x78, 0x08, 0x41, 0xff, 0x10,
		    0x48, 0x89, 0xc7, 0xe8 } },
	{ "Go 1.24: goroutine", CALLS_THREAD, 14, 22,
	  .code = { [14] = 0xcc, 0x90, 0xe8, 0, 0, 0, 0, 0x90 }, .any = { [17 ... 20] = 0xff } },
	{ "Boost 1.74: fiber", CALLS_THREAD, 13, 20,
	  .code = { [13] = 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8 } },
	{ "Boost with CET: fiber", CALLS_THREAD, 13, 24,
	  .code = { [13] = 0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff, 0xe8 } },
	{ "libstdc++ of GCC 12 and 14: std::thread", CALLS_CXX_THREAD, 13, 25,
	  .code = { [13] = 0xff, 0x50, 0x10, 0x48, 0x8b, 0x03, 0x48, 0x89, 0xdf,
		    0xff, 0x50, 0x08 } },
};

/* The code of a function that frees 16 bytes, with its return address in the upper word. */
static const u8 end_code[] __maybe_unused = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };

/*
 * The most reads of memory in one step, without reads of the section. Tested by
 * bounds_step_past_plt(). The last ones are of the instruction that was interrupted, if not all
 * code around it is there.
 */
#define MOST_FRAME_READS (7 + 2)
#define MOST_FRAME_BYTES (2 * 9 + 2 * 8 + 6 + 16 + 8 + 60 + 59)

static inline void put_slot(u8 *code, unsigned long addr, unsigned long to)
{
	s32 disp = to - (addr + 6);

	memcpy(code + 2, &disp, sizeof(disp));
}

static inline bool signs(void)
{
	return false;
}

static inline unsigned long sign(unsigned long ra, unsigned long modifier, bool key_b)
{
	return ra;
}

#endif /* WALK_FACTS_H */
