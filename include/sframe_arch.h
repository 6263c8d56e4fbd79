/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each architecture provides these, in the files of arch/ARCH/:
 *
 *	machine.h	constants and inline functions, listed below
 *	code.c		recognises instructions: calls, PLT slots, prologues, epilogues
 *	regs.c		reads registers of user mode, in pt_regs and in signal frames
 *	fallback.c	finds callers of frames without a row
 *	uprobe.c	corrects frames in which the kernel is handling a uprobe
 *
 * machine.h:
 *
 *	SFU_ARCH_ABI			SFRAME_ABI_* in the headers of its sections
 *	SFU_ARCH_REG_SP, _FP		DWARF numbers of stack pointer and frame pointer
 *	SFU_ARCH_REG_RA			DWARF number of the link register; -1: calls use the stack
 *	SFU_ARCH_NR_REGS		registers with DWARF numbers below this are in pt_regs
 *	SFU_ARCH_CFA_ALIGN		alignment of a CFA, in bytes
 *	SFU_ARCH_LOW_RECORD		bytes that an unaligned frame record may be below SP
 *	SFU_ARCH_CALL_BYTES		length in bytes of the longest call instruction
 *	SFU_ARCH_SIGRETURN_BYTES	length of the rt_sigreturn stub: handlers return to it
 *	SFU_ARCH_SIGRETURN_CALL		offset of the system call in this stub
 *	SFU_ARCH_SIGCONTEXT_OFFSET	bytes from SP in this stub to struct sigcontext
 *	SFU_ARCH_SIGCONTEXT_IP		index of the saved ip in struct sigcontext, in words
 *	SFU_ARCH_TRAMPOLINE_PUSHES	bytes that the uretprobe trampoline pushes at most
 *	sfu_arch_unwindable()		true if @regs are of 64-bit user code
 *	sfu_arch_has_user_memory()	true if the processor uses the page table of current
 *	sfu_arch_mask_user()		returns a user address unchanged. Any other value becomes an
 *					address that user_access_begin() refuses, and that leads to
 *					no kernel memory if the processor mispredicts this check
 *	sfu_arch_ra_mask()		mask of a stored return address: the other bits are a
 *					pointer authentication code
 *	sfu_arch_is_child()		true if @regs may be of a task that clone() has just made.
 *					Others with such @regs take the child's branch anyway
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

/* Returns false if an NMI has hit kernel entry code before this has stored the user's @regs. */
bool sfu_arch_has_user_registers(const struct pt_regs *regs);

/* Returns the value in @regs of the register with DWARF number @reg, below SFU_ARCH_NR_REGS. */
unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg);

/* Returns true if, by its registers, the task may be in rt_sigreturn(), or about to call it. */
bool sfu_arch_calls_sigreturn(const struct pt_regs *regs);

/*
 * Returns how many registers, from DWARF number 0 on, rt_sigreturn() has certainly restored from
 * the signal frame. If there are any, it may have restored the stack pointer, too.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs);

/* Returns SFU_STOP_SIGNAL if the memory at @sigcontext does not look like a struct sigcontext. */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext);

/* Returns the index of the register with DWARF number @reg in struct sigcontext, in words. */
unsigned int sfu_arch_sigcontext_word(unsigned int reg);

/* ---- code.c ---- */

/* Kinds of call instructions, by how the operand gives the function that is called. */
enum sfu_call {
	SFU_CALL_NONE,		/* not a call */
	SFU_CALL_REGISTER,	/* the function's address is in a register or in memory: unknown */
	SFU_CALL_DIRECT,	/* the operand gives the address of the function */
	SFU_CALL_SLOT,		/* the operand gives the address of a pointer to the function */
};

/* Returns the kind of call that ends at @ra. Sets @where to the address that its operand gives. */
enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra, unsigned long *where);

/*
 * Sets @slot to the address of the word through which the PLT slot at @addr jumps; to 0 if other
 * code is at @addr. Returns false if the code cannot be read.
 */
bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot);

/*
 * Sets @row, to find the caller by it, if the instructions at the ip of the frame show it: an
 * epilogue or, in an interrupted frame, a prologue or (x86) a PLT slot. Else returns false.
 */
bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row);

/*
 * @ip is after the system call of clone(). Returns the distance in bytes from @ip to the code to
 * which the new task branches there; 0 if other instructions are at @ip.
 */
unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip);

/* Kinds of code that starts a program or thread, recognised by the code at a return address. */
enum sfu_start {
	SFU_START_NONE,		/* other code */
	SFU_START_MAIN,		/* libc's exit(main()), or other code of the form f(callback()) */
	SFU_START_ENTRY,	/* after a call in _start, or another call that does not return */
	SFU_START_THREAD,	/* after the call of a thread's, fiber's or goroutine's function */
};

/* Returns which kind of starting code (enum sfu_start) is at the return address of the frame. */
enum sfu_start sfu_arch_read_start(struct sfu_walk *walk);

/* ---- uprobe.c ---- */

/*
 * If the kernel is handling the breakpoint of a uprobe, and the saved ip is still after it, sets
 * the ip of the frame to the breakpoint, and returns true.
 */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk);

/*
 * If the frame is in the code that an optimized uprobe (a call instead of a breakpoint) runs, sets
 * the frame to its state without the uprobe, and returns true.
 */
bool sfu_arch_leave_call(struct sfu_walk *walk);

/*
 * Returns true if the frame is in the uretprobe trampoline. Sets @pops to the number of words that
 * the trampoline still pops, the last one the return address; to 0 if it is not on the stack.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops);

/* ---- fallback.c ---- */

/*
 * Finds the caller of a frame without a row, outside of the rt_sigreturn stub, sets @caller, and
 * returns SFU_STOP_NONE. Returns SFU_STOP_NODATA if no evidence confirms a caller. Errors:
 * SFU_STOP_STACK, SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller);

/*
 * On x86, finds the caller of the dynamic loader's code that binds a function at its first call.
 * Its row finds the CFA by a register whose value is not known. Returns false if @row is of other
 * code, or the stack has no return address of a call of a PLT slot that is not bound yet.
 */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller);

#endif /* SFU_ARCH_H */
