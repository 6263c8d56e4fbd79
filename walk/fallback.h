/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from code without a row: walk/fallback.c, with the parts that it and the architecture use.
 */
#ifndef SFU_FALLBACK_H
#define SFU_FALLBACK_H

#include "walk/frame.h"

/* walk/entrypoint.c */
bool sfu_is_entrypoint(struct sfu_walk *walk);
bool sfu_is_known_entrypoint(const struct sfu_walk *walk);

/* walk/record.c. A caller that is not found is undefined. */
extern bool sfu_proved_only;

static __always_inline bool sfu_record_is_low(const struct sfu_frame *frame)
{
	return !IS_ALIGNED(frame->fp, SFU_ARCH_CFA_ALIGN);
}

/* Does the frame pointer lead up the stack? It may be @below the stack pointer. */
static __always_inline bool sfu_record_links_up(const struct sfu_frame *frame, unsigned long below)
{
	return IS_ALIGNED(frame->fp, sizeof(long)) &&
	       (frame->fp >= frame->sp || frame->sp - frame->fp <= below);
}

bool sfu_has_habit(struct sfu_walk *walk, const struct sfu_frame *frame);
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_lacks_row(struct sfu_walk *walk, unsigned long func);
bool sfu_record_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller);
bool sfu_record_find_on_other_stack(struct sfu_walk *walk, const struct sfu_frame *frame,
			 struct sfu_frame *caller);
bool sfu_record_is_habitual(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_record_lacks_habit(struct sfu_walk *walk);

/* walk/chain.c */
unsigned int sfu_chain_follow(struct sfu_walk *walk, u64 *ips, unsigned int max);
unsigned int sfu_chain_enter(struct sfu_walk *walk, u64 *ips, unsigned int max);

/* walk/fallback.c */
bool sfu_fallback_by_code(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller);
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk);

#endif /* SFU_FALLBACK_H */
