// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a section .sframe of version 3 from the rows of functions.
 *
 * Functions are added in the order of their addresses. A function that has holes becomes
 * several FDEs. Equal lists of rows are stored once: 28 % less on amd64, 37 % on arm64.
 */
#include <stdlib.h>

#include "table.h"
#include "table_row.h"

/*
 * A look-up examines the rows of an FDE one by one, on the budget of a walk. A function with more
 * rows becomes several FDEs: cc1 has one of 6942, and of 1.76 million functions only 424 have more
 * than 256.
 */
#define NR_ROWS_MAX	1024

/* A file can be made so that all of its lists have one hash. */
#define NR_PROBES	64

/**
 * struct table_list - a list of rows in the hash table
 * @hash: of its bytes
 * @off: offset in the rows of the table
 * @len: its bytes; 0: there is no list
 */
struct table_list {
	u32	hash;
	u32	off;
	u32	len;
};

/**
 * struct piece - a part of a function that one FDE describes
 * @start: its address
 * @size: its bytes
 * @rows: its rows
 * @nr: their number
 * @off: offset of the part in the function
 */
struct piece {
	u64			start;
	u32			size;
	const struct cfi_row	*rows;
	u32			nr;
	u32			off;
};

void table_init(struct table *table, const struct cfi_machine *machine)
{
	*table = (struct table){ .machine = machine };
}

void table_free(struct table *table)
{
	free(table->fdes);
	free(table->rows);
	free(table->lists);
}

/* Return: the first address after all functions so far; 0: there are none. */
u64 table_end(const struct table *table)
{
	const struct table_fde *last;

	if (!table->nr_fdes)
		return 0;
	last = &table->fdes[table->nr_fdes - 1];
	return last->start + last->size;
}

/* Return: the bytes of the section. */
u64 table_size(const struct table *table)
{
	return sizeof(struct sframe_raw_header) +
	       (u64)table->nr_fdes * sizeof(struct sframe_raw_fde_v3) + table->rows_len;
}

/* Makes room for @need more elements in an array that grows by half of its size. */
static bool make_room(struct table *table, void **array, u32 *room, u32 used, u32 need, size_t size)
{
	u64 wanted = (u64)used + need;
	void *grown;

	if (wanted <= *room)
		return true;
	if (wanted * size > 2ull * TABLE_MAX) {
		table->error = TABLE_TOO_LARGE;
		return false;
	}
	wanted += wanted / 2 + 64;
	grown = reallocarray(*array, wanted, size);
	if (!grown) {
		table->error = "out of memory";
		return false;
	}
	*array = grown;
	*room = wanted;
	return true;
}

static u32 hash_bytes(const u8 *bytes, u32 len)
{
	const u64 factor = 0x9e3779b97f4a7c15;
	u64 hash = len, word;

	for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, len);
	hash = (hash ^ word) * factor;
	return hash >> 32;
}

/* Return: the list that equals @wanted, or the place for it; NULL if too many others are there. */
static struct table_list *find_list(const struct table *table, const struct table_list *wanted)
{
	u32 i;

	for (i = 0; i < NR_PROBES; i++) {
		struct table_list *list = &table->lists[(wanted->hash + i) & table->lists_mask];

		if (!list->len)
			return list;
		if (list->hash == wanted->hash && list->len == wanted->len &&
		    !memcmp(table->rows + list->off, table->rows + wanted->off, list->len))
			return list;
	}
	return NULL;
}

/* The hash table is at most half full. */
static bool grow_lists(struct table *table)
{
	u32 i, old_size = table->lists ? table->lists_mask + 1 : 0;
	u32 size = old_size ? 2 * old_size : 256;
	struct table_list *old = table->lists, *list;

	if (table->nr_lists < old_size / 2)
		return true;
	table->lists = calloc(size, sizeof(*table->lists));
	if (!table->lists) {
		table->lists = old;
		table->error = "out of memory";
		return false;
	}
	table->lists_mask = size - 1;
	for (i = 0; i < old_size; i++) {
		list = old[i].len ? find_list(table, &old[i]) : NULL;
		if (list)
			*list = old[i];
	}
	free(old);
	return true;
}

/*
 * The list is the last of @table. Return: offset of an equal one, after which it is removed, or
 * else its own.
 */
static u32 share_list(struct table *table, u32 off, u32 nr)
{
	struct table_list wanted = { .off = off, .len = table->rows_len - off };
	struct table_list *list;

	if (!grow_lists(table))
		return off;
	wanted.hash = hash_bytes(table->rows + off, wanted.len);
	list = find_list(table, &wanted);
	if (list && list->len) {
		table->rows_len = off;
		return list->off;
	}
	table->nr_rows += nr;
	if (list) {
		*list = wanted;
		table->nr_lists++;
	}
	return off;
}

static void add_fde(struct table *table, u64 start, u32 size, u32 list)
{
	if (!make_room(table, (void **)&table->fdes, &table->room_fdes, table->nr_fdes, 1,
		       sizeof(*table->fdes)))
		return;
	table->fdes[table->nr_fdes++] = (struct table_fde){ .start = start, .size = size,
		.list = list };
}

static u8 addr_type_of(u32 start)
{
	if (start <= 0xff)
		return SFRAME_FRE_TYPE_ADDR1;
	return start <= 0xffff ? SFRAME_FRE_TYPE_ADDR2 : SFRAME_FRE_TYPE_ADDR4;
}

static u8 make_info(const struct cfi_cie *cie, u8 addr_type, bool pcmask)
{
	return addr_type | pcmask << 4 | cie->is_key_b << 5 | cie->is_signal << 7;
}

/* Return: the end of the list after the attribute, which comes first; NULL if there is no room. */
static u8 *begin_list(struct table *table, const struct sframe_raw_attr_v3 *attr)
{
	u8 *pos;

	if (!make_room(table, (void **)&table->rows, &table->rows_room, table->rows_len,
		       sizeof(*attr) + attr->num_fres * TABLE_ROW_ROOM, 1))
		return NULL;
	pos = table->rows + table->rows_len;
	memcpy(pos, attr, sizeof(*attr));
	return pos + sizeof(*attr);
}

/* The list reaches up to @end. */
static void end_list(struct table *table, const struct piece *piece, const u8 *end, u32 nr)
{
	u32 off = table->rows_len;

	table->rows_len = end - table->rows;
	table->counts.rows += nr;
	add_fde(table, piece->start, piece->size, share_list(table, off, nr));
}

static void add_rows(struct table *table, const struct cfi_cie *cie, const struct piece *piece)
{
	u8 addr_type = addr_type_of(piece->rows[piece->nr - 1].start - piece->off);
	struct sframe_raw_attr_v3 attr = {
		.num_fres = piece->nr,
		.info = make_info(cie, addr_type, false),
	};
	bool flex = false;
	u8 *pos;
	u32 i;

	for (i = 0; i < piece->nr && !flex; i++)
		flex = !table_row_is_plain(table->machine, &piece->rows[i]);
	attr.info2 = flex ? SFRAME_FDE_TYPE_FLEX : SFRAME_FDE_TYPE_DEFAULT;
	pos = begin_list(table, &attr);
	if (!pos)
		return;
	for (i = 0; i < piece->nr; i++)
		pos += table_row_put(pos, table->machine, &piece->rows[i],
				     piece->rows[i].start - piece->off, addr_type, flex);
	end_list(table, piece, pos, piece->nr);
	*(flex ? &table->counts.flex : &table->counts.plain) += piece->size;
}

/* In each slot of a PLT: one row before its push, one after it. */
static void add_plt(struct table *table, const struct cfi_cie *cie, const struct piece *piece)
{
	const struct cfi_plt *plt = &piece->rows->state.cfa.plt;
	struct sframe_raw_attr_v3 attr = {
		.num_fres = 2,
		.info = make_info(cie, SFRAME_FRE_TYPE_ADDR1, true),
		.rep_size = plt->mask + 1,
	};
	struct cfi_row row = *piece->rows;
	u8 *pos;

	/* The rows count from the start of the FDE, the expression from address 0. */
	if (piece->start & plt->mask) {
		table->counts.holes[CFI_HOLE_PLT] += piece->size;
		return;
	}
	pos = begin_list(table, &attr);
	if (!pos)
		return;
	row.state.cfa = cfi_make_rule(CFI_REG, table->machine->sp, 8);
	pos += table_row_put(pos, table->machine, &row, 0, SFRAME_FRE_TYPE_ADDR1, false);
	row.state.cfa.off += 1 << plt->shift;
	pos += table_row_put(pos, table->machine, &row, plt->push_end, SFRAME_FRE_TYPE_ADDR1,
			     false);
	end_list(table, piece, pos, 2);
	table->counts.plt += piece->size;
}

static bool is_plt(const struct cfi_row *row)
{
	return row->state.cfa.how == CFI_PLT && row->state.ra.how != CFI_UNDEFINED;
}

/* Return: number of rows at the begin of @rows that are of one kind. */
static u32 count_equal_kind(const struct table *table, const struct cfi_row *rows, u32 nr,
			    enum cfi_hole hole)
{
	u32 i;

	if (!hole && is_plt(rows))
		return 1;
	for (i = 1; i < nr && i < NR_ROWS_MAX; i++)
		if (table_row_hole(table->machine, &rows[i]) != hole || (!hole && is_plt(&rows[i])))
			break;
	return i;
}

/**
 * table_add - add a function to a table
 * @table: the table; an error sets @table->error
 * @cie: the CIE of the function
 * @start: its address; not below those of functions that were added before
 * @size: its bytes
 * @rows: its rows
 * @nr: number of rows, at least 1
 */
void table_add(struct table *table, const struct cfi_cie *cie, u64 start, u32 size,
	       const struct cfi_row *rows, u32 nr)
{
	u32 nr_fdes = table->nr_fdes;
	u32 i, n, end;

	for (i = 0; i < nr && rows[i].start < size && !table->error; i += n) {
		enum cfi_hole hole = table_row_hole(table->machine, &rows[i]);
		struct piece piece = {
			.start = start + rows[i].start, .off = rows[i].start, .rows = &rows[i],
		};

		n = count_equal_kind(table, &rows[i], nr - i, hole);
		end = i + n < nr ? min_t(u32, rows[i + n].start, size) : size;
		piece.size = end - piece.off;
		/* A later function may have cut off the last rows of this one. */
		for (piece.nr = n; rows[i + piece.nr - 1].start >= size; piece.nr--)
			;
		if (hole)
			table->counts.holes[hole] += piece.size;
		else if (is_plt(&rows[i]))
			add_plt(table, cie, &piece);
		else
			add_rows(table, cie, &piece);
	}
	table->counts.functions += table->nr_fdes != nr_fdes;
}
