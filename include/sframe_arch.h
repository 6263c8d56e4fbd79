/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that an architecture provides: arch/ARCH/machine.h has its facts, and
 * arch/ARCH/fallback.c its fallback. To add an architecture, add both files.
 *
 * Registers and the ABI
 *
 * SFU_ARCH_ABI: SFRAME_ABI_* of its sections.
 * SFU_ARCH_REG_SP, SFU_ARCH_REG_FP: DWARF numbers of stack and frame pointer.
 * SFU_ARCH_REG_RA: DWARF number of the register that calls leave the return address
 * in; -1 if they push it.
 * SFU_ARCH_NR_REGS: DWARF numbers below this one are known in pt_regs.
 * SFU_ARCH_CFA_ALIGN: bytes that a CFA is aligned to.
 * SFU_ARCH_PUSHED_BY_CALL: bytes that a call pushes.
 * SFU_ARCH_RECORD_IS_TOP: a frame record is the top of its frame, unless the function has
 * realigned the stack.
 * SFU_ARCH_FP_ROW: initializer of the row of a function that has a frame record.
 * SFU_ARCH_LOW_FP_ROW: the same of a record that is not aligned as the CFA is.
 * SFU_ARCH_LOW_RECORD: bytes that such a record may be below the stack pointer.
 *
 * Code
 *
 * SFU_ARCH_CALL_BYTES: bytes before a return address that sfu_arch_decode_call() needs.
 * SFU_ARCH_CALL_SITE: bytes before a return address that sfu_arch_follows_*_call() needs.
 * SFU_ARCH_CODE_BEFORE: bytes before the ip that sfu_arch_row_of_code() needs.
 * SFU_ARCH_CODE_AFTER: bytes from the ip on that it needs.
 * SFU_ARCH_PLT_BYTES: bytes of the longest PLT slot, up to and with its jump.
 * SFU_ARCH_START_BEFORE: bytes before a return address that the functions below need.
 * SFU_ARCH_START_AFTER: bytes from the return address on that they need.
 * SFU_ARCH_EXIT_BYTES: bytes that sfu_arch_exits_thread() needs.
 * SFU_ARCH_CHILD_BYTES: bytes from the ip on that sfu_arch_child_branch() needs.
 *
 * Signal frames. A handler returns to a stub that calls rt_sigreturn(). A context
 * saved by the kernel then lies at the stack pointer.
 *
 * SFU_ARCH_SIGRETURN_BYTES: bytes of the stub.
 * SFU_ARCH_SIGRETURN_CALL: offset of its system call in bytes.
 * SFU_ARCH_SIGCONTEXT_OFFSET: bytes from the stack pointer to struct sigcontext.
 * SFU_ARCH_SIGCONTEXT_IP: word of struct sigcontext that has the ip.
 * SFU_ARCH_SIGCONTEXT_MARK: word for sfu_arch_is_sigcontext().
 * SFU_ARCH_RESTORED_FIRST: registers with lower DWARF numbers are restored before
 * the stack pointer.
 *
 * Uprobes
 *
 * SFU_ARCH_BREAKPOINT_BYTES: bytes between a breakpoint and the ip it leaves; 0: none.
 * SFU_ARCH_BREAKPOINT: the byte of such a breakpoint.
 * SFU_ARCH_TRAMPOLINE_BYTES: bytes of the trampoline of uretprobes, which begins a page.
 * SFU_ARCH_TRAMPOLINE_PUSHES: bytes that it pushes at most.
 * SFU_ARCH_PROBE_PAGE_BYTES: bytes of the page that optimized uprobes call; 0: there is none.
 * SFU_ARCH_PROBE_CALL_BYTES: bytes of the instruction that calls it; 0: there is none.
 * SFU_ARCH_PROBE_MOVE_BYTES: bytes of the one before, which moves the stack pointer.
 * SFU_ARCH_PROBE_MOVED: by how much.
 * SFU_ARCH_PROBE_PUSHES: bytes that the page pushes at most.
 */
#ifndef SFU_ARCH_H
#define SFU_ARCH_H

#include <linux/ptrace.h>

#include "sframe_core.h"
#include "sframe_stats.h"

struct sfu_frame;
struct sfu_walk;

/* How a call names the function that it enters. */
enum sfu_call {
	SFU_CALL_NONE,		/* no call is known */
	SFU_CALL_REGISTER,	/* by a register: the function is not known */
	SFU_CALL_DIRECT,	/* by its address */
	SFU_CALL_SLOT,		/* by a word in memory */
};

/* Can the module unwind this code: has it 64 bits? */
static inline bool sfu_arch_unwindable(struct pt_regs *regs);

/*
 * Is the user memory in place that of current, which has memory of its own? If so, it stays so
 * whenever the code that asks runs, until it returns to what it has interrupted.
 */
static inline bool sfu_arch_has_user_memory(void);

/*
 * Are these the present registers of user mode? A sample takes them for that, but an NMI may
 * interrupt code that enters the kernel and has not stored them yet.
 */
static inline bool sfu_arch_has_user_registers(const struct pt_regs *regs);

/*
 * Makes an address safe to read from under speculation. Returns a user address as it is. Any other
 * value becomes an address that user_access_begin() refuses, or that leads to no kernel memory even
 * if the processor mispredicts its checks.
 */
static inline unsigned long sfu_arch_mask_user(unsigned long addr);

/* The register with this DWARF number, below SFU_ARCH_NR_REGS, of the interrupted code. */
static inline unsigned long sfu_arch_reg(struct pt_regs *regs, unsigned int reg);

/* The bits of a stored return address that are its address. Others are an authentication code. */
static __always_inline unsigned long sfu_arch_ra_mask(void);

/**
 * sfu_arch_decode_call() - decode the call that left a return address
 * @code: the SFU_ARCH_CALL_BYTES bytes before @ra
 * @ra: the return address
 * @where: set to the function with SFU_CALL_DIRECT, to the address of the word that
 *	names it with SFU_CALL_SLOT
 *
 * Return: The kind of the call.
 */
static inline enum sfu_call sfu_arch_decode_call(const u8 *code, unsigned long ra,
						 unsigned long *where);

/*
 * May the instruction before a return address be a call by address? @ra: the code there,
 * SFU_ARCH_CALL_SITE bytes into a buffer.
 */
static inline bool sfu_arch_follows_direct_call(const u8 *ra);

/* The same: may it be any other call? */
static inline bool sfu_arch_follows_indirect_call(const u8 *ra);

/**
 * sfu_arch_row_of_code() - the row of an instruction that tells it by itself
 * @ip: the code that was interrupted, SFU_ARCH_CODE_BEFORE bytes into a buffer
 * @addr: the ip
 * @row: set if it returns true, else undefined
 *
 * The instruction begins or ends a function, or is part of a PLT slot.
 *
 * Return: Whether the instruction is one of these.
 */
static inline bool sfu_arch_row_of_code(const u8 *ip, unsigned long addr, struct sframe_row *row);

/*
 * The same, if the function ends here: the instructions free its frame and return. @code:
 * SFU_ARCH_CODE_AFTER bytes. No other instruction is between them.
 */
static inline bool sfu_arch_row_of_end(const u8 *code, struct sframe_row *row);

/*
 * May these be the registers of a task that clone() has made, in that call or right after it? Other
 * tasks whose registers look so take the branch of sfu_arch_child_branch(), too.
 */
static inline bool sfu_arch_is_child(const struct pt_regs *regs);

/*
 * Where does the child go that clone() has made? @code: SFU_ARCH_CHILD_BYTES bytes after the system
 * call. Returns bytes from the ip to the target of the branch; 0: another instruction follows.
 */
static inline unsigned long sfu_arch_child_branch(const u8 *code);

/**
 * sfu_arch_decode_plt() - decode the jump of a PLT slot
 * @code: SFU_ARCH_PLT_BYTES bytes at the start of the slot
 * @addr: its address
 * @where: set to the address of the word that names the function
 *
 * Return: Bytes of the slot up to and with the jump; 0: it is no slot.
 */
static inline unsigned int sfu_arch_decode_plt(const u8 *code, unsigned long addr,
					       unsigned long *where);

/*
 * Is this libc's code that calls main(), and exit() after it? @ra: the code at a return address,
 * SFU_ARCH_START_BEFORE bytes into a buffer. Other code may look the same: ``f(callback())``. Its
 * place in the stack differs.
 */
static inline bool sfu_arch_calls_main(const u8 *ra);

/*
 * The same: is this _start, after its call of libc? Other code may look the same, but its frame
 * pointer or its place in the stack differ.
 */
static inline bool sfu_arch_is_entry(const u8 *ra);

/* The same: does the function of a thread, goroutine or fiber return here? */
static inline bool sfu_arch_starts_thread(const u8 *ra);

/**
 * sfu_arch_thread_exit() - where glibc's code goes on after a thread's function
 * @code: the code at the return address, SFU_ARCH_START_AFTER bytes
 * @ra: the return address
 *
 * glibc calls two kinds of functions. The code after both calls is the same.
 *
 * Return: The address at which sfu_arch_exits_thread() may be true.
 */
static inline unsigned long sfu_arch_thread_exit(const u8 *code, unsigned long ra);

/*
 * Is this glibc's code after a thread's function? @code: SFU_ARCH_EXIT_BYTES bytes. It stores the
 * result in the thread's descriptor and makes three calls without arguments, which release what
 * belongs to the thread.
 */
static inline bool sfu_arch_exits_thread(const u8 *code);

/**
 * sfu_arch_cxx_thread() - is this libstdc++'s code that calls a std::thread's function?
 * @ra: the code at a return address, SFU_ARCH_START_BEFORE bytes into a buffer
 *
 * libc calls that code as the thread's function. Other code may look the same.
 *
 * Return: Bytes from the stack pointer to the return address in libc, if it may be;
 * else 0.
 */
static inline unsigned int sfu_arch_cxx_thread(const u8 *ra);

/* Are these SFU_ARCH_SIGRETURN_BYTES bytes the stub that signal handlers return to? */
static inline bool sfu_arch_is_sigreturn(const u8 *code);

/* May the code be about to call rt_sigreturn(), or in it? */
static inline bool sfu_arch_calls_sigreturn(const struct pt_regs *regs);

/* Has rt_sigreturn() begun to restore the registers? */
static inline bool sfu_arch_restores(const struct pt_regs *regs);

/* May this word, SFU_ARCH_SIGCONTEXT_MARK, belong to a saved context? */
static inline bool sfu_arch_is_sigcontext(unsigned long mark);

/* The word of struct sigcontext that has the register with this DWARF number. */
static inline unsigned int sfu_arch_sigcontext_word(unsigned int reg);

/*
 * Is this the trampoline of uretprobes? @regs: registers of user mode; NULL if they are not known.
 * @code: the first SFU_ARCH_TRAMPOLINE_BYTES bytes of its page; zero if they cannot be read.
 */
static inline bool sfu_arch_is_trampoline(const struct pt_regs *regs, unsigned long ip,
					  const u8 *code);

/**
 * sfu_arch_probe_page_pushed() - what the page of optimized uprobes has on the stack
 * @code: the SFU_ARCH_PROBE_PAGE_BYTES bytes that begin a page
 * @off: offset of the ip in it
 * @freed: set to the bytes that the return frees above the return address
 *
 * Return: Bytes between the stack pointer and the return address; -1: this is another page.
 */
static inline int sfu_arch_probe_page_pushed(const u8 *code, unsigned int off, u32 *freed);

/*
 * Words that the trampoline still takes off the stack at this offset, the last of which is the
 * return address. 0: the stack does not have the return address.
 */
static inline unsigned int sfu_arch_trampoline_pops(unsigned int off);

/**
 * sfu_arch_fallback() - find the caller of code without a row
 * @walk: the walk; not at the stub of a signal handler
 * @caller: set with SFU_STOP_NONE
 * @method: set with SFU_STOP_NONE: how the caller was found
 *
 * Return: SFU_STOP_NONE; SFU_STOP_NODATA if nothing leads to a caller; SFU_STOP_STACK;
 * SFU_STOP_BUDGET.
 */
enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller,
				enum sfu_method *method);

/**
 * sfu_arch_find_binding() - find the caller of the loader's code that binds a function
 * @walk: the walk, which has come to a row that needs a register that is not known
 * @row: the row
 * @caller: set if it returns true, else undefined
 *
 * Return: true if the row is that of such code, and the stack has the return address of a call
 * of a function that is not bound yet.
 */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller);

#include "machine.h"

/* Removes the authentication code of a return address. */
static __always_inline unsigned long sfu_arch_strip_ra(unsigned long ra)
{
	return ra & sfu_arch_ra_mask();
}

#endif /* SFU_ARCH_H */
