// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames of one stack, as an array. */
#include <err.h>
#include <stdlib.h>

#include "shadow.h"

struct shadow *shadow_new(u64 start, u64 end)
{
	struct shadow *shadow = calloc(1, sizeof(*shadow));

	if (!shadow)
		err(1, "shadow stack");
	shadow->start = start;
	shadow->end = end;
	return shadow;
}

void shadow_free(struct shadow *shadow)
{
	struct shadow *next;

	for (; shadow; shadow = next) {
		next = shadow->next;
		free(shadow->frames);
		free(shadow);
	}
}

/* A child of fork() has a copy of one stack. */
struct shadow *shadow_copy(const struct shadow *shadow)
{
	struct shadow *copy = shadow_new(shadow->start, shadow->end);
	unsigned int i;

	copy->is_whole = shadow->is_whole;
	for (i = 0; i < shadow->nr; i++)
		shadow_push(copy, &shadow->frames[i]);
	return copy;
}

void shadow_push(struct shadow *shadow, const struct shadow_frame *frame)
{
	if (shadow->nr == shadow->room) {
		shadow->room = 2 * shadow->room + 64;
		shadow->frames = reallocarray(shadow->frames, shadow->room, sizeof(*frame));
		if (!shadow->frames)
			err(1, "shadow stack");
	}
	shadow->frames[shadow->nr] = *frame;
	shadow->frames[shadow->nr++].verdict = NULL;
}

/* The stack pointer has changed: some frames may be gone. */
void shadow_pop(struct shadow *shadow, u64 sp)
{
	while (shadow->nr && shadow->frames[shadow->nr - 1].last_sp < sp)
		shadow->nr--;
}

/*
 * The thread comes from another stack to @sp: what has been left with it there, or below, is gone.
 * A call on arm64 leaves nothing at the stack pointer, so shadow_pop() cannot know.
 */
void shadow_leave(struct shadow *shadow, u64 sp)
{
	while (shadow->nr && shadow->frames[shadow->nr - 1].sp <= sp)
		shadow->nr--;
}

/* Goes to the caller. Returns NULL after the last one. */
struct shadow_frame *shadow_next(struct shadow_cursor *cursor)
{
	while (!cursor->nr && cursor->shadow->interrupted) {
		cursor->shadow = cursor->shadow->interrupted;
		cursor->nr = cursor->shadow->nr;
	}
	return cursor->nr ? &cursor->shadow->frames[--cursor->nr] : NULL;
}

/* How many frames are left? */
unsigned int shadow_rest(const struct shadow_cursor *cursor)
{
	const struct shadow *shadow = cursor->shadow;
	unsigned int nr = cursor->nr;

	while ((shadow = shadow->interrupted))
		nr += shadow->nr;
	return nr;
}
