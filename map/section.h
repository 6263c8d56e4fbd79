/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A section is the SFrame data (rows) for one executable VMA of a process. See map/section.c. */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/atomic.h>

#include "sframe_core.h"
#include "table/table.h"
#include "walk/row_cache.h"

/* The kind of memory from which walks (the unwinding of one stack) read the rows of a section. */
enum sfu_source {
	SFU_SOURCE_MAPPED,	/* .sframe of the mapped file, in user memory of the process */
	SFU_SOURCE_TABLE,	/* compiled table in the kernel, for the file or the vDSO */
	SFU_SOURCE_JIT_TABLE,	/* compiled table for this process only, see table/jit.c */
};

enum sfu_section_state {
	SFU_SECTION_NONE,	/* no usable section; or code or section was unmapped */
	SFU_SECTION_PENDING,	/* no scan has read the section yet: a later scan tries again */
	SFU_SECTION_READY,
	SFU_SECTION_BAD,
};

/*
 * The SFrame data for one executable VMA in the map of a process. Once the map is published, only
 * @state changes.
 */
struct sfu_section {
	unsigned long		start;		/* user address of .sframe; 0: section not mapped */
	unsigned long		end;
	struct sfu_table	*table;		/* compiled table, with a reference; NULL: none */
	u64			bias;		/* user address of code minus its linked address */
	struct sframe_header	hdr;		/* copy of a mapped section's header, checked */
	u64			number;		/* identifies the section in row caches */
	u64			key_base;	/* key of a cached row = address of code + this */
	/*
	 * Some JIT code makes no frame: another function jumps to it, and it runs in the frame of
	 * that function. Then @entry_start is the address of that function, and @entry_size its
	 * size in bytes; else the size is 0. See step_after_jump() in walk/walk.c.
	 */
	unsigned long		entry_start;
	unsigned long		entry_size;
	/* Walks, in any context, change READY to BAD. munmap()'s hook, in a task, sets NONE. */
	atomic_t		state;		/* enum sfu_section_state */
	u8			source;		/* enum sfu_source */
	bool			is_of_user;	/* @table counts in non-root users' memory limit */
	bool			lacks_room;	/* no table: table memory of non-root users full */
};

/*
 * Limit of the CPU instructions of one walk, estimated. The real number stays below 60,000.
 * With half, more walks end early (SFU_STOP_BUDGET); with the double, samples take longer.
 */
#define SFU_BUDGET		56000U
#define SFU_TABLE_COST		128	/* taken from SFU_BUDGET for each row look-up in a table */
#define SFU_TABLE_ENTRY_COST	20	/* taken from SFU_BUDGET for each table entry searched */

/* The state that all look-ups of rows in one walk share. */
struct sfu_lookup {
	struct sframe_reader	rd;		/* decoder; rd.budget: what is left of SFU_BUDGET */
	/* This CPU's row cache; @own if this walk (in an NMI, say) interrupts a walk using it. */
	struct sfu_row_cache	cache;
	struct sfu_row_set	own;		/* small row cache that only this walk uses */
	const struct sfu_section *bad;		/* malformed section that the walk met, or NULL */
	/*
	 * The process is a forked child that still uses its parent's map, but may have changed its
	 * own memory. So walks of the child mark no section of this map as bad. They cache rows of
	 * mapped sections only in @own, where walks of the parent do not find them.
	 */
	bool			is_inherited;
	bool			wants_map;	/* walk used the parent's map: child needs a scan */
	unsigned int		nr_cached;
	unsigned int		nr_missed;
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

/* These functions read sections of current's mm. They run in any context, NMI included. */
int sfu_section_check(struct sfu_section *section, enum sframe_defect *defect);
bool sfu_section_add_row(struct sfu_section *section, struct sfu_lookup *lookup, u64 key);
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row);
u64 sfu_section_find_function(const struct sfu_section *section, struct sfu_lookup *lookup,
			      unsigned long addr);
void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect);

#endif /* SFU_SECTION_H */
