/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an object has to be unwound by: its own .sframe, a table in the module, or .eh_frame. */
#ifndef SFRAMECTL_HOLDING_H
#define SFRAMECTL_HOLDING_H

#include "held.h"
#include "place.h"
#include "ranges.h"

/**
 * struct holding - what an object has
 * @is_elf: it is an ELF file
 * @is_32: and that of a 32-bit program
 * @has_sframe: it has an .sframe that the module can find
 * @is_elsewhere: it is on a file system whose files get no table
 * @has_table: the module holds a table for it
 * @has_changed: the module holds a table for it as it was before
 * @is_refused: the module has been told that there is none
 * @sframe: addresses that its .sframe describes
 * @eh_frame: addresses that a table made of its .eh_frame describes
 * @code: bytes of code of the file, if a table can be made; else 0
 * @covered: how many of them this table describes
 * @error: why no table can be made; empty: one can
 * @segments: where the file is loaded
 * @nr_segments: how many
 */
struct holding {
	bool			is_elf;
	bool			is_32;
	bool			has_sframe;
	bool			is_elsewhere;
	bool			has_table;
	bool			has_changed;
	bool			is_refused;
	struct ranges		sframe;
	struct ranges		eh_frame;
	u64			code;
	u64			covered;
	char			error[200];
	struct sframe_segment	segments[SFRAME_SEGMENTS_MAX];
	u32			nr_segments;
};

void holding_find(struct holding *holding, const struct place_object *object,
		  const struct held *held);
bool holding_describes(const struct holding *holding, const struct ranges *ranges, u64 off);
void holding_free(struct holding *holding);

#endif /* SFRAMECTL_HOLDING_H */
