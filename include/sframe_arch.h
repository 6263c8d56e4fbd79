/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an architecture provides. To add one, add arch/ARCH/:
 *
 *	machine.h	constants, and functions that are inlined
 *	code.c		what the bytes of code mean
 *	regs.c		registers of user mode
 *	fallback.c	steps from code without a row
 *	uprobe.c	frames in which the kernel handles a uprobe
 *
 * Constants of machine.h:
 *
 *	SFU_ARCH_ABI			SFRAME_ABI_* of its sections
 *	SFU_ARCH_REG_SP			DWARF number of the stack pointer
 *	SFU_ARCH_REG_FP			DWARF number of the frame pointer
 *	SFU_ARCH_REG_RA			DWARF number of the register that calls leave the return
 *					address in; -1 if calls push it
 *	SFU_ARCH_NR_REGS		DWARF numbers below this one are in pt_regs
 *	SFU_ARCH_CFA_ALIGN		bytes that a CFA is aligned to
 *	SFU_ARCH_LOW_RECORD		bytes that a frame record may be below the stack pointer, if
 *					it is not aligned as the CFA is
 *	SFU_ARCH_CALL_BYTES		bytes before a return address that sfu_arch_follows_call()
 *					reads
 *	SFU_ARCH_SIGRETURN_BYTES	bytes of the stub that signal handlers return to
 *	SFU_ARCH_SIGRETURN_CALL		offset of the system call in the stub
 *	SFU_ARCH_SIGCONTEXT_OFFSET	bytes from the stack pointer to struct sigcontext
 *	SFU_ARCH_SIGCONTEXT_IP		word of struct sigcontext that has the ip
 *	SFU_ARCH_TRAMPOLINE_PUSHES	bytes that the trampoline of uretprobes pushes at most
 *
 * Functions of machine.h:
 *
 *	sfu_arch_unwindable()		true if @regs are those of 64-bit code
 *	sfu_arch_has_user_memory()	true if user addresses lead to the memory of current. They
 *					do so until this code returns to what it has interrupted
 *	sfu_arch_mask_user()		makes an address safe to read from under speculation: a user
 *					address stays as it is; any other value becomes an address
 *					that user_access_begin() refuses, or that leads to no kernel
 *					memory if the processor mispredicts its checks
 *	sfu_arch_ra_mask()		the bits of a stored return address that are its address;
 *					the others are an authentication code
 *	sfu_arch_is_child()		true if @regs may be those of a task that clone() has made,
 *					in that call or right after it. Other tasks whose registers
 *					look so take the branch of sfu_arch_child_branch(), too
 *	sfu_arch_is_stub()		true if @code is the stub that signal handlers return to
 *	sfu_arch_follows_call()		true if @ra, the code at a return address, follows a call
 *
 * The functions below run in any context, and wait for nothing. They read the memory of current
 * by the functions of walk/frame.h. Code that cannot be read has no meaning.
 */
#ifndef SFU_ARCH_H
#define SFU_ARCH_H

#include <linux/ptrace.h>

#include "machine.h"
#include "sframe_core.h"
#include "sframe_stats.h"

struct sfu_frame;
struct sfu_walk;

/* Removes the authentication code of a return address. */
static __always_inline unsigned long sfu_arch_strip_ra(unsigned long ra)
{
	return ra & sfu_arch_ra_mask();
}

/* ---- regs.c ---- */

/*
 * Called in NMI. Returns false if the NMI has interrupted code that enters the kernel and has not
 * stored the registers of user mode in @regs yet.
 */
bool sfu_arch_has_user_registers(const struct pt_regs *regs);

/* Returns a register by its DWARF number, which is below SFU_ARCH_NR_REGS. */
unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg);

/* Returns true if the code may be about to call rt_sigreturn(), or in it. */
bool sfu_arch_calls_sigreturn(const struct pt_regs *regs);

/*
 * Returns how many registers rt_sigreturn() has certainly restored, in the order of DWARF numbers.
 * If this is not 0, the stack pointer may be restored, too.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs);

/* Returns SFU_STOP_SIGNAL if @sigcontext is no saved context; else as sfu_walk_read_word(). */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext);

/* Returns which word of struct sigcontext has the register with this DWARF number. */
unsigned int sfu_arch_sigcontext_word(unsigned int reg);

/* ---- code.c ---- */

/* How a call names the function that it enters. */
enum sfu_call {
	SFU_CALL_NONE,		/* there is no call */
	SFU_CALL_REGISTER,	/* by a register: the function is not known */
	SFU_CALL_DIRECT,	/* by its address */
	SFU_CALL_SLOT,		/* by a word in memory */
};

/*
 * Returns how the call before @ra names its function. Sets @where to the function if this is
 * SFU_CALL_DIRECT, to the address of the word that names the function if it is SFU_CALL_SLOT.
 */
enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra,
				 unsigned long *where);

/* Returns true if @addr is the stub that signal handlers return to: it calls rt_sigreturn(). */
bool sfu_arch_is_sigreturn(struct sfu_walk *walk, unsigned long addr);

/*
 * Sets @slot to the address of the word that names the function of the PLT slot at @addr, or to 0
 * if other code is there. Returns false if the code cannot be read.
 */
bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot);

/*
 * Sets @row to what the instruction at the ip of the frame shows, and returns true, if one of these
 * is there. In an interrupted frame: an instruction that begins or ends a function, or is part of a
 * PLT slot. At a return address: instructions that free the frame and return.
 */
bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row);

/*
 * Returns bytes from the ip, which is after the system call of clone(), to where the child goes on;
 * 0: another instruction follows.
 */
unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip);

/* What a return address is part of. */
enum sfu_start {
	SFU_START_NONE,		/* other code */
	SFU_START_MAIN,		/* code of libc that calls main() and exit(), or f(callback()) */
	SFU_START_ENTRY,	/* _start, or other code that calls and does not go on */
	SFU_START_THREAD,	/* code that a thread, a fiber or a goroutine returns to */
};

/* Returns what the return address of the frame is part of. */
enum sfu_start sfu_arch_read_start(struct sfu_walk *walk);

/* ---- uprobe.c ---- */

/*
 * If the kernel handles a breakpoint, and the ip is still after it, sets the ip to the breakpoint,
 * and returns true.
 */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk);

/*
 * Puts the frame where it would be without an optimized uprobe. Returns false if there is none, or
 * the frame needs no change.
 */
bool sfu_arch_leave_call(struct sfu_walk *walk);

/*
 * Returns true if the frame is in the trampoline of uretprobes. Sets @pops to the words that the
 * trampoline still takes off the stack, of which the last is the return address. With 0, the stack
 * does not have the return address.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops);

/* ---- fallback.c ---- */

/*
 * Finds the caller of code without a row, which is no stub of a signal handler. Returns
 * SFU_STOP_NONE, and sets @caller and how it was found; SFU_STOP_NODATA if nothing leads to a
 * caller; SFU_STOP_STACK; SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller,
				enum sfu_method *method);

/*
 * Finds the caller of the loader's code that binds a function. The walk has come to @row, which
 * needs a register that is not known. Returns true if the row belongs to such code, and the stack
 * has the return address of a call of a function that is not bound yet.
 */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller);

#endif /* SFU_ARCH_H */
