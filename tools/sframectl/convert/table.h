/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A section .sframe of version 3 in the making. */
#ifndef TABLE_H
#define TABLE_H

#include "cfi_program.h"
#include "sframe_format.h"

/* No program needs a larger table. */
#define TABLE_MAX	(128u << 20)
#define TABLE_TOO_LARGE	"needs a table of more than 128 MiB: no program is so large"

/**
 * struct table_fde - an entry of the index
 * @start: address of the function
 * @size: its bytes
 * @list: offset of its attribute, and so of its rows, in @rows of the table
 */
struct table_fde {
	u64	start;
	u32	size;
	u32	list;
};

/**
 * struct table_counts - what a table says, and what it cannot say
 * @functions: functions with at least one described byte
 * @rows: rows, before equal lists of rows are stored once
 * @plain: bytes of code that DEFAULT rows describe
 * @flex: that FLEX rows describe
 * @plt: that rows for each slot of a PLT describe
 * @recognised: of these three, the bytes of PLTs that call frame information does not describe
 * @analysed: of these, the bytes of code that was analysed
 * @holes: that nothing describes, by reason
 * @unsure: of code that was analysed and got no rows, by reason
 * @odd: entries of .eh_frame and of .debug_frame that do not say which code they are for
 */
struct table_counts {
	u64	functions;
	u64	rows;
	u64	plain;
	u64	flex;
	u64	plt;
	u64	recognised;
	u64	analysed;
	u64	holes[NR_CFI_HOLES];
	u64	unsure[NR_CODE_HOLES];
	u64	odd[2];
};

/**
 * struct table - a section in the making
 * @machine: the architecture
 * @fdes: the index, in the order of addresses
 * @nr_fdes: entries of @fdes
 * @room_fdes: entries that @fdes has room for
 * @rows: the lists of rows: each an attribute and the rows
 * @rows_len: bytes of @rows
 * @rows_room: bytes that @rows has room for
 * @nr_rows: number of rows in @rows
 * @lists: a hash table of the lists, by their bytes
 * @nr_lists: number of lists
 * @lists_mask: size of @lists, less one
 * @error: why the table cannot be completed, else NULL
 * @counts: numbers of what the table says
 */
struct table {
	const struct cfi_machine *machine;
	struct table_fde	*fdes;
	u32			nr_fdes;
	u32			room_fdes;
	u8			*rows;
	u32			rows_len;
	u32			rows_room;
	u32			nr_rows;
	struct table_list	*lists;
	u32			nr_lists;
	u32			lists_mask;
	const char		*error;
	struct table_counts	counts;
};

void table_init(struct table *table, const struct cfi_machine *machine);
void table_add(struct table *table, const struct cfi_cie *cie, u64 start, u32 size,
	       const struct cfi_row *rows, u32 nr);
u64 table_end(const struct table *table);
u64 table_size(const struct table *table);
void table_free(struct table *table);

#endif /* TABLE_H */
