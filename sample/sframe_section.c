// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A section: from an address to the row that holds there.
 *
 * A row that was found once is in a rule cache. Otherwise the decoder finds it
 * in the bytes of the section, and the cache remembers it. The cache also
 * remembers that an address has no row: the end of a stack is looked up in each
 * walk. A section that contradicts itself is marked as bad and never used again.
 */
#include <linux/nospec.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_section.h"
#include "sframe_stats.h"
#include "sframe_user.h"

/**
 * sfu_section_check() - read and check the header of a section
 * @section: its start, end and source are set; sets the header
 * @defect: set to the defect with -EBADMSG
 *
 * The decoder also reads sections of other machines. Here they are a defect.
 *
 * Context: Any, in the address space of the section; does not wait for pages.
 * Return: 0; -ENOENT if the section describes no function; -EBADMSG if it has a
 * defect; -EFAULT if the header is not present.
 */
int sfu_section_check(struct sfu_section *section, enum sframe_defect *defect)
{
	unsigned long len = section->end - section->start;
	struct sframe_header *hdr = &section->hdr;
	struct sframe_raw_header raw = {};
	struct sframe_reader rd = {};
	int err;

	*defect = SFRAME_DEFECT_NONE;
	if (len >= sizeof(raw) && sfu_user_read(&raw, section->start, sizeof(raw)))
		return -EFAULT;
	err = sframe_header_check(hdr, &rd, &raw, section->start, len);
	*defect = rd.defect;
	if (err && !*defect)
		return err;
	if (!err && hdr->swapped)
		*defect = SFRAME_DEFECT_ENDIAN;
	else if (!err && hdr->abi != SFU_ARCH_ABI)
		*defect = SFRAME_DEFECT_FOREIGN;
	if (*defect)
		return -EBADMSG;
	return hdr->num_fdes ? 0 : -ENOENT;
}

/**
 * sfu_section_mark_bad() - stop using a section that contradicts itself
 * @section: the section
 * @defect: its defect; counted once, by the first caller
 *
 * Context: Any, NMI included.
 */
void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect)
{
	if (atomic_cmpxchg(&section->state, SFU_SECTION_READY,
			   SFU_SECTION_BAD) != SFU_SECTION_READY)
		return;
	sfu_count(bad_sections);
	sfu_count(defects[defect]);
}

/*
 * Counts a look-up that has used up the budget. If it began with less than the largest function
 * needs, other look-ups of the walk have spent the budget, and the section is not to blame. Only a
 * hostile section has larger functions: each sample in one would cost all that a walk may.
 */
static void count_strike(struct sfu_section *section, const struct sfu_lookup *lookup, u32 budget)
{
	u8 nr = READ_ONCE(section->nr_strikes);

	if (lookup->is_borrowed || budget < SFU_BLAMED_BUDGET)
		return;
	if (nr < SFU_MAX_STRIKES)
		WRITE_ONCE(section->nr_strikes, nr + 1);
	if (nr + 1 >= SFU_MAX_STRIKES)
		sfu_section_mark_bad(section, SFRAME_DEFECT_COSTLY);
}

/* A look-up that began with this budget has found no row, or one that must not be followed. */
static noinline void note_error(struct sfu_section *section, struct sfu_lookup *lookup, int err,
				u32 budget)
{
	if (err == -EBADMSG) {
		if (!lookup->is_borrowed)
			sfu_section_mark_bad(section, lookup->rd.defect);
		lookup->bad = section;
	} else if (err == -E2BIG) {
		count_strike(section, lookup, budget);
	}
}

/* Finds a row in a mapped section, on the budget of the walk. */
static __always_inline int find_mapped_row(struct sfu_section *section, struct sfu_lookup *lookup,
					   unsigned long addr, struct sframe_row *row)
{
	struct sframe_raw_row raw __uninitialized;
	u32 budget = lookup->rd.budget;
	int err;

	if (unlikely(lookup->most) && lookup->nr_begun++ >= lookup->most) {
		/* The section is not to blame. */
		lookup->rd.budget = 0;
		return -E2BIG;
	}
	err = sfu_user_find(&section->hdr, &lookup->rd, addr, &raw) ?:
	      sframe_decode_found(&section->hdr, &lookup->rd, &raw, row);
	if (unlikely(err))
		note_error(section, lookup, err, budget);
	return err;
}

/* Remembers a row of any kind, or that there is none, with the process. */
static void remember(const struct sfu_section *section, struct sfu_lookup *lookup,
		     unsigned long addr, const struct sframe_row *row)
{
	if (!section->has_keys)
		return;
	if (lookup->cache)
		sfu_cache_add(lookup->cache, section->key_base + addr, row);
	else
		lookup->wants_cache = true;
}

/* Remembers a row in one word, for the fast path. */
static __always_inline void remember_word(const struct sfu_section *section,
					  const struct sfu_lookup *lookup, unsigned long addr,
					  bool is_activation, union sfu_fast_row fast)
{
	struct sfu_fast_rows rows __uninitialized;

	if (sfu_section_fast_rows(section, lookup->cache, is_activation, &rows))
		sfu_words_add(rows.words, rows.key_base + addr, fast);
}

/* Remembers that there is no row. */
static noinline void remember_none(const struct sfu_section *section, struct sfu_lookup *lookup,
				   unsigned long addr, bool is_activation)
{
	lookup->nr_missed++;
	remember_word(section, lookup, addr, is_activation, SFU_OTHER_ROW);
	remember(section, lookup, addr, NULL);
}

/**
 * sfu_section_add_fast_row() - find a row for the fast path, and remember it
 * @section: one for which sfu_section_fast_rows() has returned true
 * @lookup: what the look-ups of this walk share
 * @addr: address of an instruction, whose row is not known
 * @is_activation: @addr is the next instruction, not that of a call
 *
 * Context: Any, NMI included.
 * Return: The row. If it is of another kind, or there is none, sfu_section_find_row() finds it, or
 * the reason.
 */
union sfu_fast_row sfu_section_add_fast_row(struct sfu_section *section,
					    struct sfu_lookup *lookup, unsigned long addr,
					    bool is_activation)
{
	struct sframe_row row __uninitialized;
	union sfu_fast_row fast;
	int err = find_mapped_row(section, lookup, addr, &row);

	if (unlikely(err)) {
		if (err == -ENOENT)
			remember_none(section, lookup, addr, is_activation);
		return SFU_OTHER_ROW;
	}
	fast = sfu_fast_row(&row);
	remember_word(section, lookup, addr, is_activation, fast);
	lookup->nr_missed++;
	if (unlikely(fast.cfa & SFU_FAST_OTHER) && !sfu_fast_row_is_outermost(fast))
		remember(section, lookup, addr, &row);
	return fast;
}

/**
 * sfu_section_add_table_row() - find a row in a table, and remember it
 * @section: the section; it is a table
 * @lookup: what the look-ups of this walk share
 * @addr: address of an instruction, whose row is not known
 *
 * Most look-ups end here.
 *
 * Context: Any, NMI included.
 * Return: The row. If it is of another kind, or there is none, sfu_section_find_row() finds it, or
 * the reason.
 */
union sfu_fast_row sfu_section_add_table_row(const struct sfu_section *section,
					     struct sfu_lookup *lookup, unsigned long addr)
{
	const struct sfu_compiled *compiled = section->compiled;
	union sfu_fast_row fast;

	if (sframe_charge(&lookup->rd, SFU_TABLE_COST))
		return SFU_OTHER_ROW;
	fast = compiled->fast[sframe_compiled_find(&compiled->table, addr - section->bias)];
	lookup->nr_missed++;
	if (section->words.first)
		sfu_words_add(section->words, section->word_base + addr, fast);
	return fast;
}

/* Finds a row in a table. Returns as sfu_section_find_row(). */
static int find_table_row(const struct sfu_section *section, struct sfu_lookup *lookup,
			  unsigned long addr, struct sframe_row *row)
{
	const struct sframe_compiled *table = &section->compiled->table;
	u64 linked = addr - section->bias, func;
	u32 nr, back, left;
	int err = sframe_charge(&lookup->rd, SFU_TABLE_COST);

	if (err)
		return err;
	lookup->nr_missed++;
	nr = sframe_compiled_find(table, linked);
	if (!nr)
		return -ENOENT;
	sframe_compiled_get_row(table, nr, row);
	back = lookup->rd.budget / SFU_TABLE_ENTRY_COST;
	left = back;
	func = sframe_compiled_function(table, linked, &left);
	lookup->rd.budget -= (back - left) * SFU_TABLE_ENTRY_COST;
	row->func = func ? func + section->bias : 0;
	return 0;
}

/**
 * sfu_section_find_row() - find the row that holds at an address
 * @section: the section that describes the code
 * @lookup: what the look-ups of this walk share
 * @addr: address of an instruction
 * @row: set with 0
 *
 * Context: Any, NMI included.
 * Return: 0; -ENOENT if no row holds there; -EFAULT if the section is not present;
 * -E2BIG if the budget is spent; -EOPNOTSUPP if the row must not be followed, see
 * &sframe_reader.defect; -EBADMSG if the section contradicts itself: it is marked as bad, unless
 * @lookup is that of a borrowed map.
 */
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row)
{
	bool has_row;
	int err;

	if (sfu_section_is(section, SFU_SECTION_PENDING))
		return -EFAULT;
	/* That of the parent does. A scan finds out whether that of this process does, too. */
	if (lookup->is_borrowed && sfu_section_is(section, SFU_SECTION_BAD))
		lookup->bad = section;
	/* The fast path may have found that it contradicts itself, and has no word for it. */
	if (!sfu_section_is(section, SFU_SECTION_READY))
		return section == lookup->bad ? -EBADMSG : -ENOENT;

	if (section->compiled)
		return find_table_row(section, lookup, addr, row);
	if (lookup->cache && section->has_keys &&
	    sfu_cache_find(lookup->cache, section->key_base + addr, row, &has_row)) {
		lookup->nr_cached++;
		return has_row ? 0 : -ENOENT;
	}
	err = find_mapped_row(section, lookup, addr, row);
	if (err && err != -ENOENT)
		return err;
	lookup->nr_missed++;
	remember(section, lookup, addr, err ? NULL : row);
	return err;
}
