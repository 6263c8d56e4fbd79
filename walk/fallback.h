/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from code without a row: walk/fallback.c, with the parts that it and the architecture use.
 */
#ifndef SFU_FALLBACK_H
#define SFU_FALLBACK_H

#include "walk/frame.h"

/* walk/start.c */
bool is_start(struct sfu_walk *walk);
bool is_known_start(const struct sfu_walk *walk);

/* walk/record.c. A caller that is not found is undefined. */
extern bool proved_only;

static __always_inline bool is_low(const struct sfu_frame *frame)
{
	return !IS_ALIGNED(frame->fp, SFU_ARCH_CFA_ALIGN);
}

/* Does the frame pointer lead up the stack? It may be @below the stack pointer. */
static __always_inline bool links_up(const struct sfu_frame *frame, unsigned long below)
{
	return IS_ALIGNED(frame->fp, sizeof(long)) &&
	       (frame->fp >= frame->sp || frame->sp - frame->fp <= below);
}

bool sfu_fallback_has_habit(struct sfu_walk *walk, const struct sfu_frame *frame);
bool sfu_fallback_find_record(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_lacks_row(struct sfu_walk *walk, unsigned long func);
bool sfu_fallback_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller);
bool find_on_other_stack(struct sfu_walk *walk, const struct sfu_frame *frame,
			 struct sfu_frame *caller);
bool sfu_fallback_is_habitual(struct sfu_walk *walk, struct sfu_frame *caller);
bool lacks_habit(struct sfu_walk *walk);

/* walk/chain.c */
unsigned int sfu_fallback_follow(struct sfu_walk *walk, u64 *ips, unsigned int max);
unsigned int sfu_fallback_chain(struct sfu_walk *walk, u64 *ips, unsigned int max);

/* walk/fallback.c */
bool sfu_fallback_by_code(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller);
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk);

#endif /* SFU_FALLBACK_H */
