// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The compiler of SFrame sections. It checks and decodes each row (FRE) of a section once. Later,
 * a look-up of a code address only searches a few entries of 4 bytes.
 *
 * The first pass computes how much memory the second pass may need. The caller allocates it, and
 * sets a limit that bounds memory and work, even for a hostile section. User-space tools compile
 * this file, too.
 */
#include "table/compile.h"

/* Maximum of distinct rows. With twice this, a hostile section's rows take twice the memory. */
#define MAX_ROWS	0x10000u

/*
 * Maximum of the sum of entries and slots in a compiled section: 1 GiB, with 4 bytes each. Each KiB
 * of code has a slot. A section that needs more is refused. All known programs need at most half.
 */
#define MAX_ENTRIES	(256u << 20)

/*
 * Maximum of rows, summed over all stubs of a PLT: one million. Without it, a few bytes of a
 * section could describe many millions of stubs, each with entries to compile. If the maximum were
 * half a million, a PLT of 500,000 stubs with two rows each would be refused.
 */
#define MAX_BLOCK_ROWS	0x100000u

static int give_way(void)
{
	cond_resched();
	return sframe_is_killed() ? -EINTR : 0;
}

static u64 nr_blocks(const struct sframe_fde *fde)
{
	if (!fde->pcmask || !fde->num_fres)
		return 1;
	return ((u64)fde->size + fde->rep_size - 1) / fde->rep_size;
}

static int compile_each(struct sframe_compile *compile,
			int (*pass)(struct sframe_compile *compile, const struct sframe_fde *fde))
{
	struct sframe_fde fde;
	u64 end = 0;
	int err;

	for (compile->index = 0; compile->index < compile->hdr->num_fdes; compile->index++) {
		err = give_way() ?:
		      sframe_get_fde(compile->hdr, compile->rd, compile->index, &fde);
		if (err)
			return err;
		compile->end = end;
		end = fde.start + fde.size;
		if (fde.start >> 63 || end >> 63 || !fde.size)
			return sframe_malformed(compile->rd, SFRAME_DEFECT_FDE_RANGE);
		if (fde.start < compile->end)
			return sframe_malformed(compile->rd, SFRAME_DEFECT_FDE_ORDER);
		err = pass(compile, &fde);
		if (err)
			return err;
	}
	compile->end = end;
	return 0;
}

static int measure_function(struct sframe_compile *compile, const struct sframe_fde *fde)
{
	struct sframe_compiled *compiled = &compile->compiled;
	u64 nr_rows = nr_blocks(fde) * fde->num_fres, nr_slots, nr_entries, nr;

	if (!compile->index)
		compiled->first = fde->start & -(u64)SFRAME_SLOT_SIZE;
	if (fde->pcmask && nr_rows > MAX_BLOCK_ROWS)
		return sframe_malformed(compile->rd, SFRAME_DEFECT_COSTLY);
	/*
	 * Each slot is 1 KiB of code. Count the slot of the function's end address, too. To end the
	 * function's last row, the second pass may add an entry there, which says "no row".
	 */
	nr_slots = ((fde->start + fde->size - compiled->first) >> SFRAME_SLOT_BITS) + 1;
	/*
	 * The second pass adds at most one entry for: each row; the start of the function, or of
	 * each PLT stub, which may have no row; the gap after the function. In each slot that was
	 * not counted before, it may also repeat the row that is valid at the slot's start.
	 */
	nr_entries = compile->max_entries + nr_rows + nr_blocks(fde) + 1 +
		     nr_slots - compiled->nr_slots;
	nr = nr_entries + nr_slots + 1;
	if (nr > MAX_ENTRIES || nr * sizeof(u32) > compile->max_size)
		return -E2BIG;
	compiled->nr_slots = nr_slots;
	compile->max_entries = nr_entries;
	compile->max_rows = min_t(u64, MAX_ROWS,
				  (u64)compile->max_rows + fde->num_fres + !fde->num_fres);
	return 0;
}

/*
 * First pass of the compiler: computes how much memory the second pass may need. May sleep.
 * After an error, @compile->index is the index of the function with the error. Returns 0, or:
 * -E2BIG: the memory would exceed @compile->max_size or MAX_ENTRIES
 * -EINTR: a fatal signal is pending
 * -EFAULT: the section cannot be read
 * -EBADMSG, -EOPNOTSUPP: the section has the defect @compile->rd->defect
 */
int sframe_compile_measure(struct sframe_compile *compile)
{
	compile->max_rows = 1;
	return compile_each(compile, measure_function);
}

static u64 pack_rule(const struct sframe_rule *rule)
{
	return (u32)rule->off | (u64)rule->how << 32 | (u64)rule->reg << 40;
}

static void pack_row(const struct sframe_row *row, u64 words[3])
{
	words[0] = pack_rule(&row->cfa) | (u64)row->outermost << 48 | (u64)row->signal << 49 |
		   (u64)row->ra_mangled << 50;
	words[1] = pack_rule(&row->ra);
	words[2] = pack_rule(&row->fp);
}

/* Sets @nr to the index of @row in the array of rows. Adds @row if the array has no equal row. */
static int get_row_number(struct sframe_compile *compile, const struct sframe_row *row, u32 *nr)
{
	struct sframe_compiled *compiled = &compile->compiled;
	u64 words[3], other[3], hash = compile->secret;
	u32 i, *found;

	pack_row(row, words);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		hash = (hash ^ words[i]) * (compile->secret | 1);
		hash ^= hash >> 32;
	}
	for (i = hash;; i++) {
		found = &compile->hash[i % (2 * compile->max_rows)];
		*nr = *found;
		if (!*nr)
			break;
		pack_row(&compiled->rows[*nr], other);
		if (!memcmp(other, words, sizeof(words)))
			return 0;
	}
	if (compiled->nr_rows == compile->max_rows)
		return sframe_malformed(compile->rd, SFRAME_DEFECT_COSTLY);
	*nr = compiled->nr_rows++;
	*found = *nr;
	compiled->rows[*nr] = *row;
	compiled->rows[*nr].func = 0;
	compiled->rows[*nr].start = 0;
	compiled->rows[*nr].pcmask = false;
	return 0;
}

static void begin_slots(struct sframe_compile *compile, u64 off)
{
	struct sframe_compiled *compiled = &compile->compiled;

	while (compile->nr_begun <= off >> SFRAME_SLOT_BITS) {
		u64 slot_off = (u64)compile->nr_begun << SFRAME_SLOT_BITS;

		compiled->slots[compile->nr_begun++] = compiled->nr_entries;
		/*
		 * The row added last is valid up to code offset @off. A look-up searches only one
		 * 1 KiB slot: repeat the row at the start of each slot that begins before @off.
		 */
		if (slot_off != off)
			compiled->entries[compiled->nr_entries++] = compile->row;
		cond_resched();
	}
}

static void add_entry(struct sframe_compile *compile, u64 addr, u32 row, bool begins)
{
	struct sframe_compiled *compiled = &compile->compiled;
	u64 off = addr - compiled->first;

	/* Equal consecutive rows share an entry, but each function has an entry at its start. */
	if (row == compile->row && !begins)
		return;
	begin_slots(compile, off);
	compiled->entries[compiled->nr_entries++] =
		(u32)off << SFRAME_ENTRY_OFF_SHIFT | (begins ? SFRAME_ENTRY_BEGINS : 0) | row;
	compile->row = row;
}

/* Adds entries for repetitive code such as a PLT: each stub has the rows in @compile->block. */
static void add_block_entries(struct sframe_compile *compile, const struct sframe_fde *fde)
{
	const struct sframe_block_row *block = compile->block;
	u32 at, i;

	for (at = 0; at < fde->size; at += fde->rep_size) {
		if (!compile->nr_block || block->start)
			add_entry(compile, fde->start + at, 0, !at);
		for (i = 0; i < compile->nr_block && block[i].start < fde->size - at; i++)
			add_entry(compile, fde->start + at + block[i].start, block[i].row,
				  !at && !block[i].start);
		if (fde->size - at <= fde->rep_size)
			break;
	}
}

static int compile_rows(struct sframe_compile *compile, const struct sframe_fde *fde)
{
	u32 size = fde->pcmask ? fde->rep_size : fde->size, nr;
	struct sframe_raw_row raw;
	struct sframe_rows rows;
	struct sframe_row row;
	bool begins = true;
	int err;

	compile->nr_block = 0;
	sframe_rows_init(&rows, compile->hdr, fde);
	for (;;) {
		err = give_way() ?: sframe_rows_next(&rows, compile->rd, &raw);
		if (err)
			break;
		if (raw.start >= size)
			return sframe_malformed(compile->rd, SFRAME_DEFECT_FRE_ORDER);
		err = sframe_decode_found(compile->hdr, compile->rd, &raw, &row) ?:
		      get_row_number(compile, &row, &nr);
		if (err)
			return err;
		if (fde->pcmask) {
			compile->block[compile->nr_block].start = raw.start;
			compile->block[compile->nr_block++].row = nr;
			continue;
		}
		if (begins && raw.start)
			add_entry(compile, fde->start, 0, true);
		add_entry(compile, fde->start + raw.start, nr, !raw.start);
		begins = false;
	}
	if (err != -ENOENT)
		return err;
	if (fde->pcmask)
		add_block_entries(compile, fde);
	return 0;
}

/*
 * Adds an entry for a function without rows. In SFrame V3, such a function is outermost (no code
 * calls it) or a signal trampoline. In V1 and V2, its rows are missing: the entry says "no row".
 */
static int compile_empty(struct sframe_compile *compile, const struct sframe_fde *fde)
{
	const struct sframe_raw_row raw = {
		.form = SFRAME_FORM_EMPTY | (fde->signal ? SFRAME_FORM_SIGNAL : 0),
	};
	struct sframe_row row;
	u32 nr = 0;
	int err = sframe_decode_found(compile->hdr, compile->rd, &raw, &row) ?:
		  get_row_number(compile, &row, &nr);

	if (err && err != -ENOENT)
		return err;
	add_entry(compile, fde->start, nr, true);
	return 0;
}

static int compile_function(struct sframe_compile *compile, const struct sframe_fde *fde)
{
	if (compile->index && fde->start != compile->end)
		add_entry(compile, compile->end, 0, false);
	return fde->num_fres ? compile_rows(compile, fde) : compile_empty(compile, fde);
}

/* Second pass of the compiler: fills arrays. May sleep. Errors as the first, but never -E2BIG. */
int sframe_compile_fill(struct sframe_compile *compile)
{
	struct sframe_compiled *compiled = &compile->compiled;
	int err;

	compiled->rows[0] = (struct sframe_row){};
	compiled->nr_rows = 1;
	err = compile_each(compile, compile_function);
	if (err)
		return err;
	add_entry(compile, compile->end, 0, false);
	/*
	 * In V1 and V2, the last function may have no rows. Then this pass fills no slots (1 KiB of
	 * code each) after the slot with the function's start. Drop the empty slots: a look-up
	 * beyond the last slot finds no row, which is right for this code.
	 */
	compiled->nr_slots = compile->nr_begun;
	compiled->slots[compiled->nr_slots] = compiled->nr_entries;
	return 0;
}

/*
 * Returns the linked start address of the function that contains the linked address @addr. @addr
 * must have a row: for a gap, this returns the function before the gap. Each step of the search
 * takes one from @max_lookups. Returns 0 if the search finds no function, or has no step left.
 */
u64 sframe_compiled_function(const struct sframe_compiled *compiled, u64 addr, u32 *max_lookups)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(compiled, addr, &slot);

	if (!entry)
		return 0;
	for (; !(*entry & SFRAME_ENTRY_BEGINS); entry--) {
		if (entry == compiled->entries || !*max_lookups)
			return 0;
		(*max_lookups)--;
		if (entry == compiled->entries + compiled->slots[slot])
			slot--;
	}
	return compiled->first + (slot << SFRAME_SLOT_BITS) + (*entry >> SFRAME_ENTRY_OFF_SHIFT);
}
