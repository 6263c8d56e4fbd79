// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds rows (unwind rules) in an SFrame section, in user memory or compiled to a kernel table. */
#include "compat.h"
#include "sframe_arch.h"
#include "map/section.h"
#include "sframe_stats.h"
#include "walk/user.h"

/*
 * Reads the header of a mapped SFrame section into @section, without page faults. Returns 0, or
 * -ENOENT: the section has no functions;
 * -EFAULT: the header is not in memory;
 * -EBADMSG: the header is malformed, or for another architecture. @defect says which.
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
	if (!err && hdr->swapped)
		*defect = SFRAME_DEFECT_ENDIAN;
	else if (!err && hdr->abi != SFU_ARCH_ABI)
		*defect = SFRAME_DEFECT_FOREIGN;
	if (*defect)
		return -EBADMSG;
	return !err && !hdr->num_fdes ? -ENOENT : err;
}

void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect)
{
	if (atomic_cmpxchg(&section->state, SFU_SECTION_READY,
			   SFU_SECTION_BAD) != SFU_SECTION_READY)
		return;
	sfu_count(bad_sections);
	sfu_count(defects[defect]);
}

static __always_inline int find_mapped_row(struct sfu_section *section, struct sfu_lookup *lookup,
					   unsigned long addr, struct sframe_row *row)
{
	struct sframe_raw_row raw __uninitialized;
	int err;

	err = sfu_user_find(&section->hdr, &lookup->rd, addr, &raw) ?:
	      sframe_decode_found(&section->hdr, &lookup->rd, &raw, row);
	if (unlikely(err == -EBADMSG)) {
		if (!lookup->is_inherited)
			sfu_section_mark_bad(section, lookup->rd.defect);
		lookup->bad = section;
	}
	return err;
}

/*
 * Called by the fast path of a walk if the row cache lacks @key. Decodes the row from a mapped
 * section, and caches the row; or SFU_ROW_NONE if the code has none. Returns false if this fails.
 */
bool sfu_section_add_row(struct sfu_section *section, struct sfu_lookup *lookup, u64 key)
{
	struct sframe_row row __uninitialized;
	int err;

	err = find_mapped_row(section, lookup, key - section->key_base, &row);
	lookup->wants_map |= lookup->is_inherited;
	/* After false, walk_slow(), the general path, repeats the look-up and handles the error. */
	if (err && err != -ENOENT)
		return false;
	lookup->nr_missed++;
	sfu_row_cache_add(sfu_lookup_cache(lookup, section), section->number, key,
			  err ? SFU_ROW_NONE : sfu_row_pack(&row));
	return true;
}

/*
 * Searches a section's compiled table, from @addr back, for the start of the function. @addr has a
 * row there. Returns 0 if the start is not found, or the walk spends its instruction budget.
 */
u64 sfu_section_find_function(const struct sfu_section *section, struct sfu_lookup *lookup,
			      unsigned long addr)
{
	u32 max_entries = lookup->rd.budget / SFU_TABLE_ENTRY_COST, left = max_entries;
	u64 func = sframe_compiled_function(&section->table->compiled, addr - section->bias, &left);

	lookup->rd.budget -= (max_entries - left) * SFU_TABLE_ENTRY_COST;
	return func ? func + section->bias : 0;
}

/*
 * Finds the row for the instruction at @addr. Returns 0, or
 * -ENOENT: there is no row;
 * -EFAULT: a page of the section is not in memory, or no scan could read the section yet;
 * -E2BIG: the walk has spent its instruction budget;
 * -EOPNOTSUPP: the decoder does not support the row;
 * -EBADMSG: the section is malformed.
 */
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row)
{
	struct sfu_row_cache cache = sfu_lookup_cache(lookup, section);
	u64 key = section->key_base + addr;
	u32 nr;
	int err;

	if (sfu_section_is(section, SFU_SECTION_PENDING))
		return -EFAULT;
	/*
	 * The section is bad in the parent, but may be good in a forked child that uses the
	 * parent's map. With lookup->bad set, this walk ends, and requests a scan of the child.
	 */
	if (lookup->is_inherited && sfu_section_is(section, SFU_SECTION_BAD))
		lookup->bad = section;
	/* -EBADMSG ends the walk that found the section malformed. Later walks go on without it. */
	if (!sfu_section_is(section, SFU_SECTION_READY))
		return section == lookup->bad ? -EBADMSG : -ENOENT;

	if (sfu_row_cache_find(cache, section->number, key) == SFU_ROW_NONE)
		return -ENOENT;
	if (!section->table) {
		err = find_mapped_row(section, lookup, addr, row);
	} else {
		err = sframe_charge(&lookup->rd, SFU_TABLE_COST);
		if (!err) {
			nr = sframe_compiled_find(&section->table->compiled, addr - section->bias);
			err = nr ? 0 : -ENOENT;
		}
		if (!err)
			*row = section->table->compiled.rows[nr];
	}
	lookup->nr_missed += !err || err == -ENOENT;
	if (err == -ENOENT)
		sfu_row_cache_add(cache, section->number, key, SFU_ROW_NONE);
	return err;
}
