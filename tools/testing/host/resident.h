/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A section as the module has it in a resident table: checked, and with an index. Makes what
 * make_table() of task/sframe_table.c makes.
 */
#ifndef RESIDENT_H
#define RESIDENT_H

#include "sframe_verified.h"

/*
 * Each address that is looked up in &resident.verified has this added, as in the module: it is
 * WORD_KEYS of task/sframe_table.c.
 */
#define RESIDENT_KEYS	0x4000000000000000ull

/**
 * struct resident - a section that may be a resident table
 * @hdr: its header
 * @mem: its bytes; the caller has them
 * @index: of its functions; NULL: it needs none, or cannot have one
 * @verified: for look-ups
 * @is_unsorted: its functions are not in the order that its header says
 * @is_accepted: the module accepts it as a table
 * @can_search: and @verified can be used
 */
struct resident {
	struct sframe_header	hdr;
	struct sframe_memory	mem;
	struct sframe_index	*index;
	struct sframe_verified	verified;
	bool			is_unsorted;
	bool			is_accepted;
	bool			can_search;
};

void resident_init(struct resident *res, const struct sframe_header *hdr, const u8 *bytes,
		   u32 len);
void resident_free(struct resident *res);
bool resident_find(const struct resident *res, u64 pc, struct sframe_plain_row *row);

#endif /* RESIDENT_H */
