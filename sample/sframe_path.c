// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the code of a frame that was interrupted, up to the end of its function. What the
 * instructions on that path say about the return address is known by arch/ARCH/sframe_path.h.
 */
#include <linux/nospec.h>

#include "sframe_arch.h"
#include "sframe_route.h"
#include "sframe_walk.h"

#define PIECE_BYTES	96	/* of a read */
#define MAX_INSNS	384	/* of the longest path */

/* A part of the code on a path. */
struct path_piece {
	unsigned long	start;
	u8		code[PIECE_BYTES];
};

/* Returns the code at @addr, or NULL. Reads it, unless the piece has it. */
static const u8 *find_code(const struct sfu_walk *walk, struct path_piece *piece,
			   unsigned long addr)
{
	const unsigned long nr_places = PIECE_BYTES - SFU_ARCH_PATH_BYTES + 1;
	unsigned long off = addr - piece->start;

	static_assert(SFU_ARCH_PATH_BYTES <= PIECE_BYTES);
	if (off < nr_places)
		return piece->code + array_index_nospec(off, nr_places);
	piece->start = addr;
	if (sfu_walk_read_code(walk, piece->code, addr, PIECE_BYTES))
		return piece->code;
	piece->start = addr - PIECE_BYTES;	/* nothing is there */
	return NULL;
}

/*
 * Returns the budget of a path. perf takes 127 frames: if the code keeps frame pointers, the rest
 * of the walk's budget has to pay for so many.
 */
static u32 path_budget(struct sfu_walk *walk)
{
	const u32 budget = walk->lookup.rd.budget;

	return sfu_fallback_has_habit(walk, &walk->frame) ? budget / 16 : budget / 2;
}

/**
 * sfu_path_follow() - follow the code from the ip to the end of the function
 * @walk: the walk, in a frame that was interrupted
 * @path: set to what the path has done when it ends; when it was lost for the first time, if
 *	it is lost
 *
 * Return: Where the path has ended; SFRAME_PATH_LOST if the code or the budget ends first.
 */
enum sframe_path_at sfu_path_follow(struct sfu_walk *walk, struct sframe_path *path)
{
	struct path_piece piece = { .start = walk->frame.ip - PIECE_BYTES };
	const u32 least = walk->lookup.rd.budget - path_budget(walk);
	enum sframe_path_at at = SFRAME_PATH_ON;
	struct sframe_route route;
	struct sframe_place *here = &route.here;
	const u8 *code;
	bool has_jumped = false;
	unsigned int i;

	sframe_route_begin(&route, walk->frame.ip);
	for (i = 0; i < MAX_INSNS && at == SFRAME_PATH_ON &&
	     walk->lookup.rd.budget >= least; i++) {
		code = find_code(walk, &piece, here->addr);
		at = code ? sfu_arch_path_step(&here->path, code, here->addr, has_jumped) :
			    SFRAME_PATH_LOST;
		has_jumped = at == SFRAME_PATH_JUMP;
		sfu_walk_charge(walk, SFU_ARCH_PATH_COST +
				here->path.size * SFU_ARCH_PATH_BYTE_COST);
		at = sframe_route_go(&route, at);
	}
	*path = route.here.path;
	if (at != SFRAME_PATH_ON && at != SFRAME_PATH_LOST)
		return at;
	if (route.was_lost)
		*path = route.lost;
	return SFRAME_PATH_LOST;
}
