/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SFrame section, or table, that has the rows for code of a process. See map/section.c. */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/atomic.h>

#include "sframe_core.h"
#include "table/table.h"
#include "walk/row_cache.h"

/* Where walks read the rows of a section. */
enum sfu_source {
	SFU_SOURCE_MAPPED,	/* in user memory of the process */
	SFU_SOURCE_TABLE,	/* in a kernel table for the file or the vDSO */
	SFU_SOURCE_JIT_TABLE,	/* in a kernel table for this process only, see table/jit.c */
};

enum sfu_section_state {
	SFU_SECTION_NONE,	/* no usable section, or it has been unmapped */
	SFU_SECTION_PENDING,	/* a page, mapping or memory was missing: a later scan retries */
	SFU_SECTION_READY,	/* the header is valid: walks may use the section */
	SFU_SECTION_BAD,	/* the section contradicts itself: no walk uses it any more */
};

/*
 * The SFrame data for one range (executable VMA) of a map; @state says whether there is any. Any
 * context may change the state from READY to BAD, and task context any state to NONE. The rest is
 * constant once the map is published.
 */
struct sfu_section {
	unsigned long		start;		/* address of a mapped section; 0: not mapped */
	unsigned long		end;		/* one past the last byte of a mapped section */
	struct sfu_table	*table;		/* kernel table, with a reference; NULL: none */
	u64			bias;		/* user address minus linked address in @table */
	struct sframe_header	hdr;		/* checked header of a mapped section */
	u64			number;		/* identifies the section in row caches */
	u64			key_base;	/* key in row caches = address of the code + this */
	unsigned long		entry_start;	/* address of the function that jumps to the code */
	unsigned long		entry_size;	/* length of the function at @entry_start, or 0 */
	atomic_t		state;		/* enum sfu_section_state */
	u8			source;		/* enum sfu_source */
	bool			is_of_user;	/* counted in @table as a use by a non-root user */
	bool			lacks_room;	/* table left out: memory limit of users reached */
};

/* The instructions, by estimate, that one walk may use: no walk takes 60,000 or more. */
#define SFU_BUDGET		56000U
#define SFU_TABLE_COST		128	/* estimated instructions to look up a row in a table */
#define SFU_TABLE_ENTRY_COST	20	/* the same, per entry back to the start of a function */

/* The state of the look-ups of rows that one walk makes. */
struct sfu_lookup {
	struct sframe_reader	rd;		/* reads sections; has the budget of the walk */
	struct sfu_row_cache	cache;		/* row cache of the processor; or @own, empty */
	struct sfu_row_set	own;		/* small row cache that only this walk uses */
	const struct sfu_section *bad;		/* bad section, found by this walk; or NULL */
	/*
	 * The map is inherited from the parent at fork(). The child may have written to its own
	 * copy of a section, or have mapped another one there. So walks mark no section of the map
	 * as bad, and keep rows of mapped sections in @own.
	 */
	bool			is_inherited;
	bool			wants_map;	/* a child needs its own map to cache its rows */
	unsigned int		nr_cached;	/* rows that were found in the row cache */
	unsigned int		nr_missed;	/* rows that were looked up in a section */
};

static inline bool sfu_section_is(const struct sfu_section *section, enum sfu_section_state state)
{
	return atomic_read(&section->state) == state;
}

static inline void sfu_section_reset(struct sfu_section *section, enum sfu_section_state state)
{
	*section = (struct sfu_section){ .state = ATOMIC_INIT(state) };
}

static inline void sfu_lookup_use_cache(struct sfu_lookup *lookup,
					const struct sfu_row_cache *cache)
{
	lookup->cache = cache ? *cache :
			(struct sfu_row_cache){ .sets = &lookup->own, .nr_sets = 1 };
}

static __always_inline struct sfu_row_cache sfu_lookup_cache(struct sfu_lookup *lookup,
							     const struct sfu_section *section)
{
	if (lookup->is_inherited && !section->table)
		return (struct sfu_row_cache){ .sets = &lookup->own, .nr_sets = 1 };
	return lookup->cache;
}

/* Called in any context, NMI included, for a section in the address space of current. */
int sfu_section_check(struct sfu_section *section, enum sframe_defect *defect);
bool sfu_section_add_row(struct sfu_section *section, struct sfu_lookup *lookup, u64 key);
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row);
u64 sfu_section_find_function(const struct sfu_section *section, struct sfu_lookup *lookup,
			      unsigned long addr);
void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect);

#endif /* SFU_SECTION_H */
