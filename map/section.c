// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A section: finds the row that describes an address, in the row cache of the processor, in a
 * compiled table of the kernel, or by decoding the mapped section.
 */
#include "compat.h"
#include "sframe_arch.h"
#include "map/section.h"
#include "sframe_stats.h"
#include "walk/user.h"

/*
 * Reads and checks the header of a mapped section. Does not wait for pages. The header of another
 * architecture is a defect, although the decoder can read it. Returns 0; -ENOENT if the section
 * describes no function; -EBADMSG, and sets @defect; -EFAULT if the header is not present.
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

/* Decodes the row for @addr from a mapped section. If the section has a defect, marks it as bad. */
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
 * For the fast path of a walk: decodes the row for @key, and adds it to the row cache. The section
 * is mapped and SFU_SECTION_READY. Returns false if no row is added; the general path says why.
 */
bool sfu_section_add_row(struct sfu_section *section, struct sfu_lookup *lookup, u64 key)
{
	struct sframe_row row __uninitialized;
	int err;

	err = find_mapped_row(section, lookup, key - section->key_base, &row);
	lookup->wants_map |= lookup->is_inherited;
	if (err && err != -ENOENT)
		return false;
	lookup->nr_missed++;
	sfu_row_cache_add(sfu_lookup_cache(lookup, section), section->number, key,
			  err ? SFU_ROW_NONE : sfu_row_pack(&row));
	return true;
}

/*
 * Returns the start of the function that has the instruction at @addr; 0 if it is not known, or the
 * budget of the walk is too small. The section is a compiled table, and has a row for @addr.
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
 * Finds the row for the instruction at @addr. &sframe_row.func is 0 if the section is a compiled
 * table. Returns 0; -ENOENT if there is no row; -EFAULT if the section is not present in memory;
 * -E2BIG if the budget of the walk is spent; -EOPNOTSUPP if the row must not be followed, see
 * &sframe_reader.defect; -EBADMSG if the section contradicts itself.
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
	/* The section may be bad only in the parent: lookup->bad makes the walk request a scan. */
	if (lookup->is_inherited && sfu_section_is(section, SFU_SECTION_BAD))
		lookup->bad = section;
	/* The fast path may have found the section bad in this walk: report it here. */
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
