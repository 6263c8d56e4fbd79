/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an architecture provides. To add one, add arch/ARCH/:
 *
 *	machine.h	constants and inline functions
 *	code.c		recognises instructions: calls, PLT slots, prologues, epilogues
 *	regs.c		reads registers of user mode, in pt_regs and in signal frames
 *	fallback.c	finds callers of frames without a row
 *	uprobe.c	corrects frames in which the kernel is handling a uprobe
 *
 * Constants of machine.h:
 *
 *	SFU_ARCH_ABI			SFRAME_ABI_* in the headers of its sections
 *	SFU_ARCH_REG_SP			DWARF number of the stack pointer
 *	SFU_ARCH_REG_FP			DWARF number of the frame pointer
 *	SFU_ARCH_REG_RA			DWARF number of the link register; -1 if calls push the
 *					return address
 *	SFU_ARCH_NR_REGS		registers with DWARF numbers below this are in pt_regs
 *	SFU_ARCH_CFA_ALIGN		alignment of a CFA, in bytes
 *	SFU_ARCH_LOW_RECORD		bytes that a frame record may be below the stack pointer, if
 *					the record does not have the alignment of a CFA
 *	SFU_ARCH_CALL_BYTES		bytes before a return address that sfu_arch_follows_call()
 *					reads: the length of the longest call
 *	SFU_ARCH_SIGRETURN_BYTES	length of the rt_sigreturn stub, to which handlers return
 *	SFU_ARCH_SIGRETURN_CALL		offset of the system call in this stub
 *	SFU_ARCH_SIGCONTEXT_OFFSET	bytes from SP in this stub to struct sigcontext
 *	SFU_ARCH_SIGCONTEXT_IP		index of the saved ip in struct sigcontext, in words
 *	SFU_ARCH_TRAMPOLINE_PUSHES	bytes that the uretprobe trampoline pushes at most
 *
 * Functions of machine.h:
 *
 *	sfu_arch_unwindable()		true if @regs are of 64-bit code
 *	sfu_arch_has_user_memory()	true if user addresses refer to the memory of current, until
 *					this code returns to the code that it has interrupted
 *	sfu_arch_mask_user()		makes an address safe for a speculative read. A user address
 *					does not change. Any other value becomes an address that
 *					user_access_begin() refuses, or that leads to no kernel
 *					memory if the processor mispredicts its checks
 *	sfu_arch_ra_mask()		mask of the bits of a stored return address that are its
 *					address; the others are an authentication code
 *	sfu_arch_is_child()		true if @regs may be of a task that clone() has just made,
 *					in this call or right after it. Another task with such @regs
 *					takes the branch of sfu_arch_child_branch() anyway
 *	sfu_arch_is_stub()		true if @code is the rt_sigreturn stub
 *	sfu_arch_follows_call()		true if a call ends at @ra, in a copy of the code
 *
 * The functions below run in any context, and never wait. They read the memory of current by the
 * functions of walk/walk.h. Code that cannot be read matches no pattern.
 */
#ifndef SFU_ARCH_H
#define SFU_ARCH_H

#include <linux/ptrace.h>

#include "machine.h"
#include "sframe_core.h"
#include "sframe_stats.h"

struct sfu_frame;
struct sfu_walk;

/* Removes the pointer authentication code from a return address. */
static __always_inline unsigned long sfu_arch_strip_ra(unsigned long ra)
{
	return ra & sfu_arch_ra_mask();
}

/* ---- regs.c ---- */

/*
 * Returns false if the current NMI has interrupted kernel entry code that has not yet stored the
 * registers of user mode in @regs: @regs are of an earlier entry then.
 */
bool sfu_arch_has_user_registers(const struct pt_regs *regs);

/* Returns the register with DWARF number @reg, below SFU_ARCH_NR_REGS. */
unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg);

/* Returns true if the task may be in rt_sigreturn(), or about to call it. */
bool sfu_arch_calls_sigreturn(const struct pt_regs *regs);

/*
 * Returns n if rt_sigreturn() has certainly restored the registers with DWARF numbers 0 to n - 1.
 * If n is not 0, the stack pointer may be restored, too.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs);

/* Returns SFU_STOP_SIGNAL if the kernel saved no context at @sigcontext, or why a read fails. */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext);

/* Returns the index, in words, of the register with DWARF number @reg in struct sigcontext. */
unsigned int sfu_arch_sigcontext_word(unsigned int reg);

/* ---- code.c ---- */

/* Kinds of call instructions, by the operand that gives their target. */
enum sfu_call {
	SFU_CALL_NONE,		/* not a call */
	SFU_CALL_REGISTER,	/* a register, or memory that it points to: target unknown */
	SFU_CALL_DIRECT,	/* the address of the target */
	SFU_CALL_SLOT,		/* a word at a fixed address, which has the target */
};

/*
 * Decodes the call instruction before @ra. Sets @where to its target if it is SFU_CALL_DIRECT, or
 * to the address of the word that has the target if it is SFU_CALL_SLOT.
 */
enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra,
				 unsigned long *where);

/* Returns true if the rt_sigreturn stub, which signal handlers return to, is at @addr. */
bool sfu_arch_is_sigreturn(struct sfu_walk *walk, unsigned long addr);

/*
 * Sets @slot to the address of the word that has the target of the PLT slot at @addr, or to 0 if
 * other code is at @addr. Returns false if the code cannot be read.
 */
bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot);

/*
 * Sets @row by the instructions at the ip of the frame. Returns false unless they are known: in an
 * interrupted frame, a prologue, an epilogue or (x86) a PLT slot; at a return address, an epilogue.
 */
bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row);

/*
 * @ip is after the system call of clone(). Returns the distance in bytes from @ip to the code where
 * the child continues; 0 if no such branch is at @ip.
 */
unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip);

/* Code that starts programs and threads, and that a return address may be part of. */
enum sfu_start {
	SFU_START_NONE,		/* other code */
	SFU_START_MAIN,		/* exit(main()) in libc, or other code like f(callback()) */
	SFU_START_ENTRY,	/* _start, or another call that does not return */
	SFU_START_THREAD,	/* return address of a thread's, fiber's or goroutine's function */
};

/* Identifies the code at the return address of the frame. */
enum sfu_start sfu_arch_read_start(struct sfu_walk *walk);

/* ---- uprobe.c ---- */

/*
 * If the kernel is handling a breakpoint, and the ip is still after the breakpoint, sets the ip to
 * the breakpoint, and returns true.
 */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk);

/*
 * Sets the frame to its state without an optimized uprobe. Returns false if the frame is not in
 * such a uprobe.
 */
bool sfu_arch_leave_call(struct sfu_walk *walk);

/*
 * Returns true if the frame is in the uretprobe trampoline. Sets @pops to the number of words that
 * the trampoline has still to pop; the last of them is the return address. 0: the return address is
 * not on the stack.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops);

/* ---- fallback.c ---- */

/*
 * Finds the caller of a frame without a row, outside of the rt_sigreturn stub. Returns
 * SFU_STOP_NONE, and sets @caller; SFU_STOP_NODATA if there is no evidence for a caller;
 * SFU_STOP_STACK; SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller);

/*
 * Finds the caller of the dynamic loader's code that binds a function at its first call. @row, the
 * row of the present frame, needs an unknown register. Returns true if this is the row of such
 * code, and the stack has the return address of a call whose PLT slot is not bound yet.
 */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller);

#endif /* SFU_ARCH_H */
