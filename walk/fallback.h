/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds callers of frames without an SFrame row. A function that fails leaves @caller undefined. */
#ifndef SFU_FALLBACK_H
#define SFU_FALLBACK_H

#include "walk/walk.h"

/*
 * Largest distance in bytes from mm->start_stack (first SP of a process) down to SP in _start, or
 * in libc's code that calls main(). With half of it, these frames of glibc are not recognised. With
 * twice the distance, a frame of main() could be mistaken for one of them.
 */
#define SFU_MAX_START_STACK		768

static inline bool sfu_is_near_start(const struct sfu_frame *frame)
{
	return READ_ONCE(current->mm->start_stack) - frame->sp <= SFU_MAX_START_STACK;
}

static __always_inline bool sfu_is_known_entrypoint(const struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	/*
	 * The map has the ips where walks ended in code that starts the program or a thread. A
	 * forked child may still use its parent's map: it ignores these, and tests its own code. So
	 * a parent that replaces the code there makes only its own stacks wrong.
	 */
	if (frame->is_activation || walk->lookup.is_inherited)
		return false;
	return frame->ip == READ_ONCE(walk->map->thread_ra) ||
	       (frame->ip == READ_ONCE(walk->map->main_ra) && sfu_is_near_start(frame));
}

/* walk/record.c */
extern bool sfu_proved_only;

/* Returns true if FP is not aligned like a CFA, as FP of Go code on arm64. */
static __always_inline bool sfu_record_is_low(const struct sfu_frame *frame)
{
	return !IS_ALIGNED(frame->fp, SFU_ARCH_CFA_ALIGN);
}

/*
 * Returns true if FP of @frame may point to its frame record: FP is aligned, and not below SP of
 * @frame. But Go on arm64 saves FP in the word below SP, and lets FP point there. A called function
 * that is not of Go may overwrite this word. So accept FP one word below SP only if @callee, the
 * frame that @frame called, is of Go, too. To leave out this check, pass @frame as @callee.
 */
static __always_inline bool sfu_record_links_up(const struct sfu_frame *frame,
						const struct sfu_frame *callee)
{
	const bool is_low = sfu_record_is_low(frame) && sfu_record_is_low(callee);

	return IS_ALIGNED(frame->fp, sizeof(long)) &&
	       (frame->fp >= frame->sp ||
		frame->sp - frame->fp <= (is_low ? SFU_ARCH_LOW_RECORD : 0));
}

bool sfu_keeps_fp(struct sfu_walk *walk, const struct sfu_frame *frame);
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_record_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller);
bool sfu_record_find_on_other_stack(struct sfu_walk *walk, const struct sfu_frame *frame,
				    struct sfu_frame *caller);
bool sfu_record_is_kept(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_keeps_fp_is_unknown(struct sfu_walk *walk);

/* walk/chain.c */
unsigned int sfu_chain_follow(struct sfu_walk *walk, u64 *ips, unsigned int max);
unsigned int sfu_chain_enter(struct sfu_walk *walk, u64 *ips, unsigned int max);

/* walk/fallback.c */
bool sfu_is_entrypoint(struct sfu_walk *walk);
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller);
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk);

#endif /* SFU_FALLBACK_H */
