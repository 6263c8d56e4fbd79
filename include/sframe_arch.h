/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of the files in arch/ARCH/, equal for each architecture. Rows are SFrame rules.
 *
 *	machine.h	constants and inline functions, listed below
 *	code.c		recognises instructions: calls, PLT slots, prologues, epilogues
 *	regs.c		reads registers of user mode, in pt_regs and in signal frames
 *	fallback.c	finds the caller of a frame in code that no row describes
 *	uprobe.c	corrects ip and SP of frames in which the kernel is handling a uprobe
 *
 * machine.h defines:
 *
 *	SFU_ARCH_ABI			SFRAME_ABI_* number of SFrame sections for this machine
 *	SFU_ARCH_REG_SP, _FP		DWARF numbers of stack pointer and frame pointer
 *	SFU_ARCH_REG_RA			DWARF number of the link register; -1: a call pushes the RA
 *	SFU_ARCH_NR_REGS		registers with DWARF numbers below this are in pt_regs
 *	SFU_ARCH_CFA_ALIGN		alignment of a CFA, in bytes
 *	SFU_ARCH_LOW_RECORD		Go's frame records begin this many bytes below SP (on arm64)
 *	SFU_ARCH_CALL_BYTES		length in bytes of the longest call instruction
 *	SFU_ARCH_SIGRETURN_BYTES	bytes of the rt_sigreturn stub, to which handlers return
 *	SFU_ARCH_SIGRETURN_CALL		offset of the system call instruction in this stub
 *	SFU_ARCH_SIGCONTEXT_OFFSET	bytes from SP to struct sigcontext, while this stub runs
 *	SFU_ARCH_SIGCONTEXT_IP		index of the saved ip in struct sigcontext, in words
 *	SFU_ARCH_TRAMPOLINE_PUSHES	bytes by which the uretprobe trampoline lowers SP at most
 *	sfu_arch_unwindable()		true if @regs are of 64-bit user code
 *	sfu_arch_has_user_memory()	true if the processor uses the page table of current; false
 *					in a task switch, when user addresses lead elsewhere
 *	sfu_arch_mask_user()		returns the address to read: a user address as it is. For
 *					others, user_access_begin() refuses the result, and
 *					speculation past this check reads no kernel memory (Spectre)
 *	sfu_arch_ra_mask()		address bits of a stored return address; the other bits are
 *					a pointer authentication code
 *	sfu_arch_is_child()		true if @regs look like a new task's: clone() returned 0
 *	sfu_arch_is_stub()		true if @code is the rt_sigreturn stub
 *	sfu_arch_follows_call()		true if @ra, in a copy of code, follows a call instruction
 *
 * All functions run in any context, NMI included, and never wait. They read current's memory by
 * functions of walk/walk.h. Code that cannot be read is not recognised.
 */
#ifndef SFU_ARCH_H
#define SFU_ARCH_H

#include <linux/ptrace.h>

#include "machine.h"
#include "sframe_core.h"
#include "sframe_stats.h"

struct sfu_frame;
struct sfu_walk;

static __always_inline unsigned long sfu_arch_strip_ra(unsigned long ra)
{
	return ra & sfu_arch_ra_mask();
}

/* ---- regs.c ---- */

/* Returns false if @regs are old: an NMI has hit kernel entry code that has not stored them yet. */
bool sfu_arch_has_user_registers(const struct pt_regs *regs);

/* Returns the value in @regs of the register with DWARF number @reg, below SFU_ARCH_NR_REGS. */
unsigned long sfu_arch_reg(const struct pt_regs *regs, unsigned int reg);

/* Returns true if @regs hold the number of rt_sigreturn(): the task runs it, or may soon do so. */
bool sfu_arch_calls_sigreturn(const struct pt_regs *regs);

/*
 * A sample may interrupt rt_sigreturn(). Returns how many registers this has certainly restored:
 * those with DWARF numbers below the result. If the result is not 0, SP may be restored, too.
 */
unsigned int sfu_arch_nr_restored(const struct pt_regs *regs);

/* Returns SFU_STOP_SIGNAL if the memory at @sigcontext does not look like a struct sigcontext. */
enum sfu_stop sfu_arch_check_sigcontext(struct sfu_walk *walk, unsigned long sigcontext);

/* Returns which word of struct sigcontext holds the register with DWARF number @reg. */
unsigned int sfu_arch_sigcontext_word(unsigned int reg);

/* ---- code.c ---- */

enum sfu_call {
	SFU_CALL_NONE,		/* not a call */
	SFU_CALL_REGISTER,	/* indirect call by registers: the called function is unknown */
	SFU_CALL_DIRECT,	/* direct call: its operand gives the address of the function */
	SFU_CALL_SLOT,		/* indirect call by a pointer at a known address in memory */
};

/*
 * Returns the kind of call that ends at @ra. For SFU_CALL_DIRECT, sets @where to the address of the
 * called function. For SFU_CALL_SLOT, sets it to the address of the pointer to this function.
 */
enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra, unsigned long *where);

/*
 * If a PLT slot is at @addr, sets @slot to the address of the GOT entry through which it jumps;
 * else to 0. Returns false if the code cannot be read.
 */
bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot);

/*
 * Makes a row (unwind rule) from the instructions at the frame's ip, if they are an epilogue. Where
 * a sample or signal has interrupted the frame, also if they are a prologue or (x86) a PLT slot.
 * Returns false for other code.
 */
bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row);

/*
 * libc's clone() makes a system call, which returns 0 only in the new task. If the result is 0,
 * libc branches. Rows before the target of this branch describe the parent's stack, and are wrong
 * for the new task. So a walk begins at the target. If @ip is right after this system call, returns
 * the bytes from @ip to the target; else 0. sfu_arch_is_child() may be true for an old task, too.
 * This does no harm: the result register is 0, so libc takes the branch in this task, too.
 */
unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip);

enum sfu_start {
	SFU_START_NONE,		/* other code */
	SFU_START_MAIN,		/* libc after its call of main(), or code that looks like it */
	SFU_START_ENTRY,	/* _start after its call of libc, or code that looks like it */
	SFU_START_THREAD,	/* code to which a thread, fiber or goroutine returns at its end */
};

/* Returns whether the code at the frame's ip, a return address, starts a program or a thread. */
enum sfu_start sfu_arch_read_start(struct sfu_walk *walk);

/* ---- uprobe.c ---- */

/*
 * When a task hits a uprobe's breakpoint on x86, the saved ip is after it until the kernel sets it
 * back. For such a frame, sets the ip to the breakpoint and returns true.
 */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk);

/*
 * On x86, an optimized uprobe is a call in place of a breakpoint. Returns true if the frame is at
 * this call or in the code that it calls. Then sets ip and SP to their values without the uprobe.
 */
bool sfu_arch_leave_call(struct sfu_walk *walk);

/*
 * Returns true if the frame is in the uretprobe trampoline, to which probed functions return. Sets
 * @pops to the number of words that it has yet to pop. The last of them is the original return
 * address. If this address is not on the stack, @pops is 0.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops);

/* ---- fallback.c ---- */

/*
 * Finds the caller of a frame in code without rows, by frame pointer or (arm64) link register. Not
 * called for the rt_sigreturn stub. Returns SFU_STOP_NONE if evidence confirms @caller, such as a
 * call before its return address. Else returns SFU_STOP_NODATA, _STACK or _BUDGET.
 */
enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller);

/*
 * On x86, finds the caller of glibc's _dl_runtime_resolve(), which binds a function at its first
 * call. Searches the stack for the return address of a call that enters an unbound PLT slot.
 * @row is the row at the frame's ip. Returns false if it is not a row of _dl_runtime_resolve(), or
 * no such return address is found.
 */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller);

#endif /* SFU_ARCH_H */
