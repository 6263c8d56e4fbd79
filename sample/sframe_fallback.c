// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: a step from code without a row, by the frame pointer.
 *
 * Such code may use the frame pointer as it likes. So a frame that the frame pointer
 * leads to has to be proved: the code at its return address must call a function that has
 * no row. If the called function has a row, it is not the present one, and the frame
 * belongs to a function further up the stack.
 *
 * The stack pointer that follows from such a step is unverified. A wrong frame is
 * worse than a short stack: without a proof the walk ends.
 *
 * sfu_arch_fallback() decides with these parts, for the calls of one architecture.
 *
 * The outermost code of most stacks has no row: it belongs to libc, or to libstdc++. It
 * is recognised by its instructions, and the walk then ends as SFU_STOP_START. Nothing
 * follows such code.
 */
#include "sframe_arch.h"
#include "sframe_walk.h"

/*
 * Bytes of the stack above the frame that calls main(): at most 450 in glibc of Debian 12
 * and 13 and of unstable, dynamic and static, and 48 in musl.
 */
#define MAX_START_STACK		768

/* The frame pointer is a row for the same step. */
static const struct sframe_row fp_row = SFU_ARCH_FP_ROW;

/**
 * sfu_fallback_find_record() - find the caller that the frame pointer leads to
 * @walk: the walk
 * @caller: set if it returns true, else undefined
 *
 * Context: As that of sfu_walk_init().
 * Return: Whether the frame pointer points to a frame record whose return address
 * lies in code. That is no proof yet.
 */
bool sfu_fallback_find_record(struct sfu_walk *walk, struct sfu_frame *caller)
{
	return walk->frame.fp >= walk->frame.sp &&
	       !sfu_walk_find_caller(walk, &fp_row, caller);
}

/**
 * sfu_fallback_find_callee() - find the function that a call has entered
 * @walk: the walk
 * @ra: the return address of the call
 * @func: set to the address of the function if it returns true
 *
 * The call may be direct, or go through a word in memory, or through a PLT slot that
 * has been resolved.
 *
 * Context: As that of sfu_walk_init().
 * Return: Whether the function can be known.
 */
bool sfu_fallback_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func)
{
	u8 call[SFU_ARCH_CALL_BYTES], plt[SFU_ARCH_PLT_BYTES];
	unsigned long slot;

	if (!sfu_walk_read_code(walk, call, ra - sizeof(call), sizeof(call)))
		return false;
	switch (sfu_arch_decode_call(call, ra, func)) {
	case SFU_CALL_SLOT:
		return !sfu_walk_read_word(walk, *func, func);
	case SFU_CALL_DIRECT:
		break;
	default:
		return false;
	}
	if (!sfu_walk_read_code(walk, plt, *func, sizeof(plt)))
		return false;
	if (!sfu_arch_decode_plt(plt, *func, &slot))
		return true;
	return !sfu_walk_read_word(walk, slot, func);
}

/* Is it certain that no row holds at @func? Then it may be the function that we are in. */
bool sfu_fallback_lacks_row(struct sfu_walk *walk, unsigned long func)
{
	struct sfu_range *range = sfu_map_find(walk->map, func);
	struct sframe_row row;

	return range && sfu_walk_find_row(walk, range, func, true, &row) == -ENOENT;
}

/**
 * sfu_fallback_is_proved() - does the code of @caller call a function without a row?
 * @walk: the walk
 * @caller: from sfu_fallback_find_record()
 *
 * Context: As that of sfu_walk_init().
 * Return: true if it is certain.
 */
bool sfu_fallback_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	unsigned long func;

	return sfu_fallback_find_callee(walk, caller->ip, &func) &&
	       sfu_fallback_lacks_row(walk, func);
}

/*
 * The process begins with the stack pointer at start_stack. The frames of _start and of
 * libc's functions are next to it.
 */
static bool is_near_start(const struct sfu_frame *frame)
{
	return READ_ONCE(current->mm->start_stack) - frame->sp <= MAX_START_STACK;
}

static bool starts_program(const struct sfu_frame *frame, const u8 *ra)
{
	return is_near_start(frame) &&
	       (sfu_arch_calls_main(ra) || (!frame->fp && sfu_arch_is_entry(ra)));
}

/* The code around a return address; @ra points to that address. */
struct call_site {
	u8		code[SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER];
	const u8	*ra;
	unsigned long	addr;
};

static bool read_call_site(const struct sfu_walk *walk, struct call_site *site,
			   unsigned long addr)
{
	site->ra = site->code + SFU_ARCH_START_BEFORE;
	site->addr = addr;
	return sfu_walk_read_code(walk, site->code, addr - SFU_ARCH_START_BEFORE,
				  sizeof(site->code));
}

static bool starts_thread(const struct sfu_walk *walk, const struct call_site *site)
{
	unsigned long after = sfu_arch_thread_exit(site->ra, site->addr);
	u8 code[SFU_ARCH_EXIT_BYTES];

	return sfu_arch_starts_thread(site->ra) ||
	       (sfu_walk_read_code(walk, code, after, sizeof(code)) &&
		sfu_arch_exits_thread(code));
}

/* Between libc and the function of a std::thread there is a frame of libstdc++. */
static bool starts_cxx_thread(struct sfu_walk *walk, const struct call_site *site)
{
	unsigned int off = sfu_arch_cxx_thread(site->ra);
	struct call_site outer;
	unsigned long ra;

	return off && !sfu_walk_read_word(walk, walk->frame.sp + off, &ra) &&
	       read_call_site(walk, &outer, ra) && starts_thread(walk, &outer);
}

/*
 * Is the frame in the code of libc or libstdc++ that starts a program or a thread? What
 * is not recognised is honestly reported as nodata, so this is strict.
 */
static bool is_start(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	struct call_site site;

	if (frame->is_activation || !read_call_site(walk, &site, frame->ip))
		return false;
	if (starts_program(frame, site.ra))
		WRITE_ONCE(walk->map->main_ra, frame->ip);
	else if (starts_thread(walk, &site) || starts_cxx_thread(walk, &site))
		WRITE_ONCE(walk->map->thread_ra, frame->ip);
	else
		return false;
	return true;
}

/*
 * Has a walk found such code at this address? Most stacks end there, so it is read once
 * only. A process that puts other code there deceives nobody but itself.
 */
static bool is_known_start(const struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (frame->is_activation)
		return false;
	return frame->ip == READ_ONCE(walk->map->thread_ra) ||
	       (frame->ip == READ_ONCE(walk->map->main_ra) && is_near_start(frame));
}

/**
 * sfu_fallback_step() - one step from code without a row
 * @walk: the walk
 *
 * Context: As that of sfu_walk_init().
 * Return: SFU_STOP_NONE; SFU_STOP_START if nothing is proved, and the code is that of
 * libc or libstdc++ which starts a program or a thread; SFU_STOP_NODATA if it is other
 * code; else as sfu_signal_step().
 */
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk)
{
	struct sfu_frame caller;
	enum sfu_stop stop;

	if (is_known_start(walk))
		return SFU_STOP_START;
	if (sfu_signal_is_at_return(walk))
		return sfu_signal_step(walk);
	stop = sfu_arch_fallback(walk, &caller);
	if (!stop)
		sfu_walk_enter(walk, &caller, SFU_METHOD_FP);
	else if (stop == SFU_STOP_NODATA && is_start(walk))
		return SFU_STOP_START;
	return stop;
}
