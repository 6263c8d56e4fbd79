/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shadow stack: the calls of a thread that have not returned yet. It follows from the
 * instructions that the thread executes, and from nothing that describes them.
 */
#ifndef TRUTH_SHADOW_H
#define TRUTH_SHADOW_H

#include "tally.h"
#include "walker.h"

/**
 * struct shadow_frame - a frame that the thread will return to
 * @ip: the address that it returns to
 * @sp: stack pointer after the return
 * @fp: frame pointer at the call, or when the signal came
 * @last_sp: the frame is gone when the stack pointer is above this
 * @slot: where the return address is; 0: not on the stack
 * @seen: what the walk found here last
 * @verdict: how that walk ended; NULL: no walk came here
 */
struct shadow_frame {
	u64			ip;
	u64			sp;
	u64			fp;
	u64			last_sp;
	u64			slot;
	struct walker_frame	seen;
	struct tally		*verdict;
};

/**
 * struct shadow - the frames on one stack of a thread
 * @next: another stack of the thread
 * @start: of its memory
 * @end: of its memory
 * @interrupted: the stack that a signal has interrupted to use this one; or NULL
 * @switched_at: the instruction that has gone to this stack, when it had no frames
 * @is_whole: the first frame is the first of the thread
 * @nr: frames, without the present one
 * @room: in @frames
 * @frames: the outermost first
 */
struct shadow {
	struct shadow		*next;
	u64			start;
	u64			end;
	struct shadow		*interrupted;
	u64			switched_at;
	bool			is_whole;
	unsigned int		nr;
	unsigned int		room;
	struct shadow_frame	*frames;
};

/* A place in the frames of a thread: one of them, and where to go on. */
struct shadow_cursor {
	struct shadow	*shadow;
	unsigned int	nr;
};

struct shadow *shadow_new(u64 start, u64 end);
struct shadow *shadow_copy(const struct shadow *shadow);
void shadow_free(struct shadow *shadow);
void shadow_push(struct shadow *shadow, const struct shadow_frame *frame);
void shadow_pop(struct shadow *shadow, u64 sp);
void shadow_leave(struct shadow *shadow, u64 sp);
struct shadow_frame *shadow_next(struct shadow_cursor *cursor);
unsigned int shadow_rest(const struct shadow_cursor *cursor);

#endif /* TRUTH_SHADOW_H */
