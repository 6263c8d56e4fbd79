/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about x86_64: registers, the ABI, and the form of its code. See
 * include/sframe_arch.h for the meaning of each name.
 */
#ifndef SFU_MACHINE_H
#define SFU_MACHINE_H

#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/page_types.h>
#include <asm/processor.h>
#include <asm/unistd.h>

#include "sframe_core.h"
#include "sframe_format.h"
#include "sframe_prologue.h"

#define SFU_ARCH_ABI		SFRAME_ABI_AMD64_LE
#define SFU_ARCH_REG_SP		SFRAME_AMD64_REG_SP
#define SFU_ARCH_REG_FP		SFRAME_AMD64_REG_FP
#define SFU_ARCH_REG_RA		(-1)		/* calls push it */
#define SFU_ARCH_NR_REGS	SFRAME_AMD64_NR_REGS
#define SFU_ARCH_CFA_ALIGN	8
#define SFU_ARCH_PUSHED_BY_CALL	8		/* bytes */
#define SFU_ARCH_RECORD_IS_TOP	1

/* push %rbp; mov %rsp,%rbp */
#define SFU_ARCH_FP_ROW {						\
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AMD64_REG_FP, .off = 16 },	\
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },		\
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -16 },		\
}

/* Each record is above the stack pointer, and aligned as the CFA is. */
#define SFU_ARCH_LOW_RECORD	0
#define SFU_ARCH_LOW_FP_ROW	SFU_ARCH_FP_ROW

/* Not the code of 32-bit tasks, and not VM86. */
static inline bool sfu_arch_unwindable(struct pt_regs *regs)
{
	return user_64bit_mode(regs);
}

/*
 * nmi_uaccess_okay() compares the process that switch_mm_irqs_off() has noted; modules
 * cannot call it. This compares what it stands for, as its comment says.
 */
static inline bool sfu_arch_has_user_memory(void)
{
	return __va(read_cr3_pa()) == current->mm->pgd;
}

/*
 * Bytes of entry_SYSCALL_64() until all registers are stored, at least. It then leaves SP alone
 * until it calls do_syscall_64(), after 170 bytes (6.12, 7.2).
 */
#define SFU_ENTRY_BYTES		128

/* The whole of entry_SYSCALL_64() is shorter. */
#define SFU_ENTRY_AND_EXIT	1024

/*
 * Is @kernel code that has not stored the registers of user mode at @user yet? Then @user has
 * those of an earlier entry. @entry is the code that system calls enter. Interrupts from user
 * mode store the registers at @trampoline first, on a stack of one page, and copy them.
 */
static inline bool sfu_is_entering(const struct pt_regs *kernel, const struct pt_regs *user,
				   unsigned long entry, const struct pt_regs *trampoline)
{
	unsigned long off = kernel->ip - entry;

	if (off < SFU_ENTRY_BYTES)
		return kernel->sp != (unsigned long)user;
	/* A return to user mode uses that stack, too, and its first word differs. */
	if (off < SFU_ENTRY_AND_EXIT ||
	    (unsigned long)(trampoline + 1) - kernel->sp - 1 >= PAGE_SIZE)
		return false;
	return trampoline->ip != user->ip || trampoline->sp != user->sp;
}

/*
 * Bytes of an NMI's stack above its pt_regs: three copies of what the processor has pushed, of
 * which one is the end of pt_regs; a temporary word, and a flag. See asm_exc_nmi().
 */
#define SFU_NMI_ABOVE_REGS	(2 * 5 * 8 + 2 * 8)

/*
 * Only NMIs, and what is as urgent, come to code that enters the kernel. From kernel mode they
 * use their own stack, which begins with the registers that they have interrupted. (With
 * FRED there is no such stack, and the processor itself stores ip and SP.)
 */
static inline bool sfu_arch_has_user_registers(const struct pt_regs *regs)
{
	unsigned long top, entry_top;
	const struct pt_regs *kernel;
	u32 low, high;

	if (!in_nmi())
		return true;
	top = this_cpu_read(cpu_tss_rw.x86_tss.ist[IST_INDEX_NMI]);
	if (top - current_stack_pointer >= EXCEPTION_STKSZ || regs != task_pt_regs(current))
		return true;
	entry_top = this_cpu_read(cpu_tss_rw.x86_tss.sp0);
	kernel = (void *)(top - SFU_NMI_ABOVE_REGS);
	rdmsr(MSR_LSTAR, low, high);
	return !sfu_is_entering(kernel - 1, regs, (u64)high << 32 | low,
				(struct pt_regs *)entry_top - 1);
}

/*
 * user_access_begin() checks the address by a branch, with a barrier after it. Not all kernels
 * had the barrier, and it vouches for nothing that was computed before. The mask depends on
 * the address and on no branch: it makes an address that is too high all ones, which the
 * check refuses, and where nothing is mapped. No read is longer than the hole above user
 * addresses.
 */
static inline unsigned long sfu_arch_mask_user(unsigned long addr)
{
	return addr | ~array_index_mask_nospec(addr, TASK_SIZE_MAX);
}

static inline unsigned long sfu_arch_reg(struct pt_regs *regs, unsigned int reg)
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

	/* The decoder has checked the number, by a branch. */
	return *(unsigned long *)((char *)regs +
				  offsets[array_index_nospec(reg, SFU_ARCH_NR_REGS)]);
}

/* x86_64 has no authentication codes. */
static __always_inline unsigned long sfu_arch_ra_mask(void)
{
	return ~0ul;
}

#define SFU_ARCH_CALL_BYTES	6

/* A call through a register does not have one length: it counts as none. */
static inline enum sfu_call sfu_arch_decode_call(const u8 *code, unsigned long ra,
						 unsigned long *where)
{
	s32 disp;

	memcpy(&disp, code + 2, sizeof(disp));
	*where = ra + disp;
	if (code[0] == 0xff && code[1] == 0x15)		/* call *disp(%rip) */
		return SFU_CALL_SLOT;
	if (code[1] == 0xe8)				/* call disp */
		return SFU_CALL_DIRECT;
	return SFU_CALL_NONE;
}

/* call *reg, or call *disp(reg): bytes of the longest, without prefixes */
#define SFU_ARCH_CALL_SITE	7

/* Bytes of call *operand by its second byte, which names the operand; 0: it is no call. */
static inline unsigned int sfu_indirect_call_bytes(u8 modrm, u8 sib)
{
	unsigned int mode = modrm >> 6, base = modrm & 7;

	if ((modrm & 0x38) != 0x10)
		return 0;
	if (mode == 3)
		return 2;
	if (base != 4)
		return mode == 1 ? 3 : mode == 2 || base == 5 ? 6 : 2;
	return mode == 1 ? 4 : mode == 2 || (sib & 7) == 5 ? 7 : 3;
}

static inline bool sfu_arch_follows_indirect_call(const u8 *ra)
{
	unsigned int bytes;

	for (bytes = 2; bytes <= SFU_ARCH_CALL_SITE; bytes++)
		if (ra[-(int)bytes] == 0xff &&
		    sfu_indirect_call_bytes(ra[1 - (int)bytes],
					    bytes > 2 ? ra[2 - (int)bytes] : 0) == bytes)
			return true;
	return false;
}

static inline bool sfu_arch_follows_direct_call(const u8 *ra)
{
	return ra[-5] == 0xe8;
}

/*
 * A PLT slot, up to and with its jump: with or without endbr64 and a bnd prefix, or, by mold, with
 * mov $index,%r11d after endbr64, and then without the prefix: a slot has 16 bytes.
 */
#define SFU_ARCH_PLT_BYTES	16

static inline unsigned int sfu_arch_decode_plt(const u8 *code, unsigned long addr,
					       unsigned long *where)
{
	unsigned int i = 0;
	s32 disp;

	if (sframe_is_endbr64(code)) {
		i += 4;
		if (code[i] == 0x41 && code[i + 1] == 0xbb)
			i += 6;
	}
	if (code[i] == 0xf2 && i < 10)			/* bnd */
		i++;
	if (code[i] != 0xff || code[i + 1] != 0x25)	/* jmp *disp(%rip) */
		return 0;
	memcpy(&disp, code + i + 2, sizeof(disp));
	i += 6;
	*where = addr + i + disp;
	return i;
}

/* int3 */
#define SFU_ARCH_BREAKPOINT_BYTES	1
#define SFU_ARCH_BREAKPOINT		0xcc

#define SFU_ARCH_CODE_BEFORE	24
#define SFU_ARCH_CODE_AFTER	36

/* Before a function has pushed anything, and at its ret. */
#define SFU_ROW_AT_ENTRY {						\
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AMD64_REG_SP, .off = 8 },	\
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },		\
}

/* After push %rbp */
#define SFU_ROW_AFTER_PUSH {						\
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFRAME_AMD64_REG_SP, .off = 16 },	\
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },		\
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -16 },		\
}

/* ret, repz ret, or bnd ret */
static inline bool sfu_is_ret(const u8 *code)
{
	if (code[0] == 0xf3 || code[0] == 0xf2)
		code++;
	return code[0] == 0xc3;
}

/* Is the ip before push %rbp, or after it and before mov %rsp,%rbp? */
enum sfu_progress {
	SFU_PROGRESS_OTHER,
	SFU_PROGRESS_ENTRY,
	SFU_PROGRESS_PUSHED,
};

/*
 * The first byte of a function. What follows tells which one a uprobe has replaced. The same byte
 * fills the space between functions, so without endbr64 the ip must be at it, or the next
 * instruction set rbp.
 */
static inline u8 sfu_first_byte(const u8 *code, unsigned int off)
{
	static const u8 endbr64[] = { 0x0f, 0x1e, 0xfa }, go_check[] = { 0x3b, 0x66, 0x10 };

	if (code[0] != SFU_ARCH_BREAKPOINT)
		return code[0];
	if (!memcmp(code + 1, endbr64, sizeof(endbr64)))
		return 0xf3;
	if (!memcmp(code + 1, go_check, sizeof(go_check)))
		return 0x49;
	return !off || sframe_sets_rbp(code + 1) ? PUSH_RBP : code[0];
}

/* The same, if a function begins @off bytes before the ip. */
static inline enum sfu_progress sfu_progress_from(const u8 *ip, unsigned int off)
{
	unsigned int push = 0, bytes;
	u8 code[SFU_ARCH_CODE_AFTER];

	if (!sframe_ends_function(ip[-(int)off - 1]))
		return SFU_PROGRESS_OTHER;
	memcpy(code, ip - off, sizeof(code));
	code[0] = sfu_first_byte(code, off);
	if (sframe_is_endbr64(code))
		push += 4;
	push += sframe_go_check(code + push);
	if (code[push] != PUSH_RBP)
		return SFU_PROGRESS_OTHER;
	bytes = sframe_rbp_is_set_at(code + push + 1);
	if (!bytes || off >= push + 1 + bytes)
		return SFU_PROGRESS_OTHER;
	return off > push ? SFU_PROGRESS_PUSHED : SFU_PROGRESS_ENTRY;
}

static inline enum sfu_progress sfu_progress(const u8 *ip, unsigned long addr)
{
	unsigned int off = addr % SFRAME_TEXT_STEP;
	enum sfu_progress progress = sfu_progress_from(ip, off);

	off += SFRAME_TEXT_STEP;
	if (!progress && off < SFU_ARCH_CODE_BEFORE)
		progress = sfu_progress_from(ip, off);
	return progress;
}

/*
 * clone() and clone3() of glibc have no row from their system call to the ret that follows, since
 * the child takes another stack with it: test %rax,%rax; jl; je; ret.
 */
static inline bool sfu_follows_clone(const u8 *ip)
{
	static const u8 code[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c };

	return !memcmp(ip - 2, code, sizeof(code)) && ip[5] == 0x74 && ip[7] == 0xc3;
}

#define SFU_ARCH_CHILD_BYTES	7

/*
 * The instruction syscall puts its return address into rcx. So it is there during the call, and
 * when an interrupt comes right after it.
 */
static inline bool sfu_arch_is_child(const struct pt_regs *regs)
{
	return !regs->ax && (regs->cx == regs->ip || regs->orig_ax == __NR_clone ||
			     regs->orig_ax == __NR_clone3);
}

/* test %rax,%rax; jl; je */
static inline unsigned long sfu_arch_child_branch(const u8 *code)
{
	static const u8 test[] = { 0x48, 0x85, 0xc0, 0x7c };

	return !memcmp(code, test, sizeof(test)) && code[5] == 0x74 ? 7 + (s8)code[6] : 0;
}

/* An epilogue pops so many registers, and frees so many bytes before, at most. */
#define SFU_MAX_POPS	7
#define SFU_MAX_ROOM	0x10000

#define POP_RSP		0x5c
#define POP_RBP		0x5d

/* leave; ret. Or maybe add $n,%rsp; pops; ret. */
static inline bool sfu_arch_row_of_end(const u8 *code, struct sframe_row *row)
{
	static const struct sframe_row at_ret = SFU_ROW_AT_ENTRY, at_leave = SFU_ARCH_FP_ROW;
	unsigned int i, has_rex;
	s32 room = 0;

	if (code[0] == 0xc9) {
		*row = at_leave;
		return sfu_is_ret(code + 1);
	}
	*row = at_ret;
	if (code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xc4) {
		room = (s8)code[3];
		if (code[1] == 0x81)
			memcpy(&room, code + 3, sizeof(room));
		if (room <= 0 || room > SFU_MAX_ROOM || room % 8)
			return false;
		code += code[1] == 0x81 ? 7 : 4;
	}
	for (i = 0; i < SFU_MAX_POPS && !sfu_is_ret(code); i++) {
		has_rex = code[0] == 0x41;
		if ((code[has_rex] & 0xf8) != 0x58 || (!has_rex && code[0] == POP_RSP))
			return false;
		if (!has_rex && code[0] == POP_RBP)
			row->fp = (struct sframe_rule){ .how = SFRAME_RULE_REG_MEM,
				.reg = SFU_ARCH_REG_SP, .off = room };
		code += 1 + has_rex;
		room += 8;
	}
	row->cfa.off += room;
	return sfu_is_ret(code);
}

static inline bool sfu_arch_row_of_code(const u8 *ip, unsigned long addr, struct sframe_row *row)
{
	static const struct sframe_row at_entry = SFU_ROW_AT_ENTRY;
	static const struct sframe_row after_push = SFU_ROW_AFTER_PUSH;
	enum sfu_progress progress;
	unsigned long slot;

	if (sfu_arch_row_of_end(ip, row))
		return true;
	*row = at_entry;
	if (sfu_follows_clone(ip) || sfu_arch_decode_plt(ip, addr, &slot))
		return true;
	progress = sfu_progress(ip, addr);
	if (progress == SFU_PROGRESS_PUSHED)
		*row = after_push;
	return progress != SFU_PROGRESS_OTHER;
}

#define SFU_ARCH_START_BEFORE	9
#define SFU_ARCH_START_AFTER	9

/* call *%reg, or call *disp(%rsp) */
static inline bool sfu_is_register_call(const u8 *ra)
{
	return (ra[-2] == 0xff && (ra[-1] & 0xf8) == 0xd0) ||
	       (ra[-4] == 0xff && ra[-3] == 0x54 && ra[-2] == 0x24);
}

static inline bool sfu_arch_calls_main(const u8 *ra)
{
	static const u8 exits[] = { 0x89, 0xc7, 0xe8 };	/* mov %eax,%edi; call exit */

	return sfu_is_register_call(ra) && !memcmp(ra, exits, sizeof(exits));
}

/* call *__libc_start_main(%rip), or call __libc_start_main; hlt */
static inline bool sfu_arch_is_entry(const u8 *ra)
{
	return ra[0] == 0xf4 && ((ra[-6] == 0xff && ra[-5] == 0x15) || ra[-5] == 0xe8);
}

/*
 * start() of musl: syscall; mov 8(%reg),%rdi; call *(%reg); mov %rax,%rdi;
 * call __pthread_exit. From r8 on, the register needs a prefix.
 */
static inline bool sfu_starts_thread_of_musl(const u8 *ra)
{
	static const u8 exits[] = { 0x48, 0x89, 0xc7, 0xe8 };
	const unsigned int rex = ra[-3] == 0x41;
	const u8 *code = ra - 8 - rex, *call = ra - 2;
	const u8 reg = call[1] & 7;

	return code[0] == 0x0f && code[1] == 0x05 &&
	       code[2] == 0x48 + rex && code[3] == 0x8b && code[4] == (0x78 | reg) &&
	       code[5] == 8 &&
	       call[0] == 0xff && call[1] == (0x10 | reg) &&
	       !memcmp(ra, exits, sizeof(exits));
}

/*
 * runtime.goexit() of Go, after padding: nop; call; nop. Nothing has called it: the runtime leaves
 * the address after the first nop where the function of a goroutine returns to.
 */
static inline bool sfu_starts_goroutine(const u8 *ra)
{
	return ra[-2] == 0xcc && ra[-1] == 0x90 && ra[0] == 0xe8 && ra[5] == 0x90;
}

/*
 * make_fcontext() of Boost, which makes fibers, after push %rbp; jmp *%rbx: maybe endbr64; xor
 * %rdi,%rdi; call _exit. Nothing has called it: the push leaves the address of the xor.
 */
static inline bool sfu_starts_fiber(const u8 *ra)
{
	static const u8 enters[] = { 0x55, 0xff, 0xe3 }, exits[] = { 0x48, 0x31, 0xff, 0xe8 };

	return !memcmp(ra - sizeof(enters), enters, sizeof(enters)) &&
	       !memcmp(sframe_is_endbr64(ra) ? ra + 4 : ra, exits, sizeof(exits));
}

static inline bool sfu_arch_starts_thread(const u8 *ra)
{
	return sfu_starts_thread_of_musl(ra) || sfu_starts_goroutine(ra) || sfu_starts_fiber(ra);
}

static inline unsigned long sfu_arch_thread_exit(const u8 *code, unsigned long ra)
{
	s32 disp;

	if (code[0] == 0x48 && code[1] == 0x98)		/* cltq: the result is an int */
		return ra + 2;
	if (code[0] != 0xe9)				/* jmp disp */
		return ra;
	memcpy(&disp, code + 1, sizeof(disp));
	return ra + 5 + disp;
}

/*
 * mov %rax,%fs:disp, and three times call disp. The descriptor of a thread begins at %fs.
 * Variables of programs and libraries lie below it. In static programs the first call
 * depends on cmpq $0,disp(%rip); je.
 */
#define SFU_ARCH_EXIT_BYTES	30

static inline bool sfu_arch_exits_thread(const u8 *code)
{
	static const u8 stores[] = { 0x64, 0x48, 0x89, 0x04, 0x25 };
	static const u8 compares[] = { 0x48, 0x83, 0x3d }, skips[] = { 0x00, 0x74, 0x05 };

	if (memcmp(code, stores, sizeof(stores)) || code[7] || code[8])
		return false;
	code += 9;
	if (!memcmp(code, compares, sizeof(compares)) && !memcmp(code + 7, skips, sizeof(skips)))
		code += 10;
	return code[0] == 0xe8 && code[5] == 0xe8 && code[10] == 0xe8;
}

/*
 * libstdc++ calls the function of the thread's object and then its destructor, both
 * virtual: call *0x10(%rax); mov (%rbx),%rax; mov %rbx,%rdi; call *8(%rax). It has
 * pushed two registers and aligned the stack.
 */
static inline unsigned int sfu_arch_cxx_thread(const u8 *ra)
{
	static const u8 code[] = { 0xff, 0x50, 0x10, 0x48, 0x8b, 0x03, 0x48, 0x89, 0xdf,
				   0xff, 0x50, 0x08 };

	return memcmp(ra - 3, code, sizeof(code)) ? 0 : 24;
}

#define SFU_ARCH_SIGRETURN_BYTES	9
#define SFU_ARCH_SIGRETURN_CALL		7

static inline bool sfu_arch_is_sigreturn(const u8 *code)
{
	static const u8 stub[SFU_ARCH_SIGRETURN_BYTES] = {
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00,	/* mov $15,%rax */
		0x0f, 0x05,					/* syscall */
	};

	return !memcmp(code, stub, sizeof(stub));
}

static inline bool sfu_arch_calls_sigreturn(const struct pt_regs *regs)
{
	return regs->ax == __NR_rt_sigreturn || regs->orig_ax == __NR_rt_sigreturn;
}

/*
 * The last register restored before the stack pointer is ax. Until then it holds the
 * -ENOSYS of the entry code.
 */
#define SFU_ARCH_RESTORED_FIRST		7
#define SFU_NO_RESULT		(-38L)

static inline bool sfu_arch_restores(const struct pt_regs *regs)
{
	return regs->orig_ax == __NR_rt_sigreturn && regs->ax != SFU_NO_RESULT;
}

/*
 * The stack pointer points to a struct ucontext, in which sigcontext is the fifth
 * member (asm/ucontext.h, asm/sigcontext.h).
 */
#define SFU_ARCH_SIGCONTEXT_OFFSET	40
#define SFU_ARCH_SIGCONTEXT_IP		16
#define SFU_ARCH_SIGCONTEXT_MARK	18

/* This word has cs, gs, fs and ss of user mode, in that order; gs and fs are 0. */
static inline bool sfu_arch_is_sigcontext(unsigned long mark)
{
	return (mark & 0x0003ffffffff0003) == 0x0003000000000003;
}

static inline unsigned int sfu_arch_sigcontext_word(unsigned int reg)
{
	static const u8 words[SFU_ARCH_NR_REGS] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7,
	};

	return words[array_index_nospec(reg, SFU_ARCH_NR_REGS)];	/* as sfu_arch_reg() */
}

/*
 * The trampoline: push %rax; push %rcx; push %r11; mov $..., %rax; syscall;
 * pop %r11; pop %rcx; ret. The system call stores the return address where %rax was
 * pushed. Before ff474a78cef5 ("uprobe: Add uretprobe syscall to speed up return probe",
 * 6.11) it is one breakpoint.
 */
#define SFU_ARCH_TRAMPOLINE_BYTES	17
#define SFU_ARCH_TRAMPOLINE_PUSHES	24

static inline bool sfu_arch_is_trampoline(const struct pt_regs *regs, unsigned long ip,
					  const u8 *code)
{
	static const u8 start[] = { 0x50, 0x51, 0x41, 0x53, 0x48, 0xc7, 0xc0 };
	static const u8 end[] = { 0x0f, 0x05, 0x41, 0x5b, 0x59, 0xc3 };

	if (code[0] == SFU_ARCH_BREAKPOINT)
		return offset_in_page(ip) <= SFU_ARCH_BREAKPOINT_BYTES;
	return !memcmp(code, start, sizeof(start)) &&
	       !memcmp(code + sizeof(start) + 4, end, sizeof(end));
}

/*
 * The page that an optimized uprobe calls: push %rcx; push %r11; push %rax; mov $..., %rax;
 * syscall; pop %rax; pop %r11; pop %rcx; ret. If the call comes after lea -0x80(%rsp), %rsp
 * (7.2), the return frees as much.
 */
#define SFU_ARCH_PROBE_PAGE_BYTES	20

static inline int sfu_arch_probe_page_pushed(const u8 *code, unsigned int off, u32 *freed)
{
	static const u8 start[] = { 0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0 };
	static const u8 end[] = { 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59 };
	const u8 *ret = code + sizeof(start) + 4 + sizeof(end);

	if (memcmp(code, start, sizeof(start)) ||
	    memcmp(ret - sizeof(end), end, sizeof(end)) || (ret[0] != 0xc3 && ret[0] != 0xc2))
		return -1;
	*freed = ret[0] == 0xc2 ? ret[1] | ret[2] << 8 : 0;
	switch (off) {
	case 0:
	case 17:
		return 0;
	case 1:
	case 16:
		return 8;
	case 3:
	case 14:
		return 16;
	case 4:
	case 11:
	case 13:
		return 24;
	}
	return -1;
}

/*
 * From 7.2 on, lea -0x80(%rsp), %rsp and that call replace the probed instruction. The system call
 * stores three registers, below the return address.
 */
#define SFU_ARCH_PROBE_CALL_BYTES	5
#define SFU_ARCH_PROBE_MOVE_BYTES	5
#define SFU_ARCH_PROBE_MOVED		128
#define SFU_ARCH_PROBE_PUSHES		24

static inline unsigned int sfu_arch_trampoline_pops(unsigned int off)
{
	if (off == SFU_ARCH_TRAMPOLINE_BYTES - 4)
		return 3;
	if (off == SFU_ARCH_TRAMPOLINE_BYTES - 2)
		return 2;
	return off == SFU_ARCH_TRAMPOLINE_BYTES - 1;
}

#endif /* SFU_MACHINE_H */
