/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An SFrame section of a process: from an address to its row. See map/section.c. */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/atomic.h>

#include "table/compiled.h"
#include "sframe_core.h"
#include "walk/row_cache.h"

struct sfu_table;

/* Where the bytes of a section are. */
enum sfu_source {
	SFU_SOURCE_MAPPED,	/* in the memory of the process */
	SFU_SOURCE_RESIDENT,	/* in a table of the kernel */
	SFU_SOURCE_PROCESS,	/* in a table for this process only, see table/jit.c */
};

enum sfu_section_state {
	SFU_SECTION_NONE,	/* there is no usable section, or it has been unmapped */
	SFU_SECTION_PENDING,	/* a page that the scan must read, or memory, was not there */
	SFU_SECTION_READY,	/* the header has been checked */
	SFU_SECTION_BAD,	/* the section contradicts itself: no walk uses it any more */
};

/* The compiled table of a file; constant. */
struct sfu_compiled {
	struct sframe_compiled		table;	/* finds the number of a row */
	const u64			*fast;	/* rows in one word, by number; 0: SFU_ROW_NONE */
};

/*
 * A section that describes code of one process. Any context may change its state from READY to BAD,
 * and task context any state to NONE. The rest is constant once the map is published.
 */
struct sfu_section {
	unsigned long		start;		/* of its bytes, if it is mapped; else 0 */
	unsigned long		end;
	struct sfu_table	*table;		/* if it is resident; the map has a reference */
	const struct sfu_compiled *compiled;	/* the compiled form of @table */
	u64			bias;		/* what to add to an address in @table */
	struct sframe_header	hdr;		/* checked, if it is mapped, and READY or BAD */
	u64			number;		/* of the section, in row caches */
	u64			key_base;	/* what to add to an address for its key in them */
	unsigned long		entry_start;	/* of the function that jumps to the code */
	unsigned long		entry_size;	/* of this function; 0: functions call the code */
	atomic_t		state;		/* enum sfu_section_state */
	u8			source;		/* enum sfu_source */
	bool			is_of_user;	/* counted for the users other than root */
	bool			lacks_room;	/* users have no room for the table now */
};

/* The budget of one walk, in instructions. No walk may take more than 60,000. */
#define SFU_BUDGET		56000U
#define SFU_TABLE_COST		128	/* of a look-up in a table */
#define SFU_TABLE_ENTRY_COST	20	/* of an entry between it and the start of its function */

/* What the look-ups of one walk share. */
struct sfu_lookup {
	struct sframe_reader	rd;		/* has the budget of the walk */
	struct sfu_row_cache	cache;		/* of the processor, or @own */
	struct sfu_row_set	own;		/* a cache of one set, which no other walk uses */
	const struct sfu_section *bad;		/* has contradicted itself in this walk, or NULL */
	/*
	 * The map is the parent's. A defect of a section is not noted in it, because the process
	 * may have written to its own copy of the section.
	 */
	bool			is_borrowed;
	/* A row of a borrowed map was looked up in a mapped section, and cannot be remembered. */
	bool			wants_map;
	unsigned int		nr_cached;	/* rows found in the row cache */
	unsigned int		nr_missed;	/* rows found by a look-up in a section */
};

static inline bool sfu_section_is(const struct sfu_section *section, enum sfu_section_state state)
{
	return atomic_read(&section->state) == state;
}

/* Clears the section, and sets its state: nothing else withdraws what a scan has found. */
static inline void sfu_section_reset(struct sfu_section *section, enum sfu_section_state state)
{
	*section = (struct sfu_section){ .state = ATOMIC_INIT(state) };
}

/* Makes all rows that row caches have of the section invalid. */
static inline void sfu_section_renumber(struct sfu_section *section)
{
	section->number = sfu_row_cache_new_section(&section->key_base);
}

/* Sets the row cache of a walk. NULL: a cache of two rows that belongs to the walk. */
static inline void sfu_lookup_use_cache(struct sfu_lookup *lookup,
					const struct sfu_row_cache *cache)
{
	lookup->cache = cache ? *cache :
			(struct sfu_row_cache){ .sets = &lookup->own, .nr_sets = 1 };
}

/*
 * Returns the cache that a walk uses for rows of a section. The section of a borrowed map belongs
 * to the parent, and a child may have another section at these addresses.
 */
static __always_inline struct sfu_row_cache sfu_lookup_cache(struct sfu_lookup *lookup,
							     const struct sfu_section *section)
{
	if (lookup->is_borrowed && !section->compiled)
		return (struct sfu_row_cache){ .sets = &lookup->own, .nr_sets = 1 };
	return lookup->cache;
}

/* Any context, NMI included. The section is in the address space of current. */
int sfu_section_check(struct sfu_section *section, enum sframe_defect *defect);
bool sfu_section_add_row(struct sfu_section *section, struct sfu_lookup *lookup, u64 key);
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row);
u64 sfu_section_find_function(const struct sfu_section *section, struct sfu_lookup *lookup,
			      unsigned long addr);
void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect);

#endif /* SFU_SECTION_H */
