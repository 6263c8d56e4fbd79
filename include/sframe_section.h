/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An SFrame section of a process: from an address to its row. See
 * sample/sframe_section.c.
 */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/atomic.h>

#include "sframe_cache.h"
#include "sframe_compiled.h"
#include "sframe_core.h"
#include "sframe_pack.h"

struct sfu_table;

/* Where the bytes of a section are. */
enum sfu_source {
	SFU_SOURCE_MAPPED,	/* in the memory of the process */
	SFU_SOURCE_RESIDENT,	/* in a table of the kernel */
};

enum sfu_section_state {
	SFU_SECTION_NONE,	/* there is no usable section, or it has been unmapped */
	SFU_SECTION_PENDING,	/* a page that the scan must read, or memory, was not there */
	SFU_SECTION_READY,	/* the header has been checked */
	SFU_SECTION_BAD,	/* the section contradicts itself: no walk uses it any more */
};

/**
 * struct sfu_compiled - the compiled table of a file; constant
 * @table: finds the number of the row
 * @fast: the rows in one word, by their numbers; SFU_OTHER_ROW for the first
 */
struct sfu_compiled {
	struct sframe_compiled		table;
	const union sfu_fast_row	*fast;
};

/**
 * struct sfu_section - a section that describes code of one process
 * @start: address of its first byte, if it is mapped; else 0
 * @end: one past its last byte
 * @table: the table, if it is resident; the map has a reference
 * @compiled: the compiled form of @table
 * @bias: what to add to an address in @table
 * @words: rows in one word, of @table; nowhere: they are in the rule cache of the process
 * @hdr: its header, checked, if it is mapped, and @state is READY or BAD
 * @word_base: the key of a row in @words is this plus its address
 * @key_base: likewise in the rule cache of the process
 * @state: enum sfu_section_state. Any context may change READY to BAD, and task context
 *	any state to NONE. The rest is constant once the map is published
 * @source: enum sfu_source
 * @has_keys: @key_base is set; false: the process has no keys left
 * @is_of_user: counts for the users other than root, who use @table
 * @lacks_room: there is a table, and users have no room for it now
 * @nr_strikes: look-ups that cost too much, at most SFU_MAX_STRIKES. Any context counts
 *	them, without a lock: some may be lost
 */
struct sfu_section {
	unsigned long		start;
	unsigned long		end;
	struct sfu_table	*table;
	const struct sfu_compiled *compiled;
	u64			bias;
	struct sfu_words	words;
	struct sframe_header	hdr;
	u64			word_base;
	u64			key_base;
	atomic_t		state;
	u8			source;
	bool			has_keys;
	bool			is_of_user;
	bool			lacks_room;
	u8			nr_strikes;
};

/* A section is retired after so many look-ups that each found no end within SFU_BLAMED_BUDGET. */
#define SFU_MAX_STRIKES		8

/* The budget of one walk, in instructions, about. No walk may take more than 200,000. */
#define SFU_BUDGET		160000U
#define SFU_TABLE_COST		96	/* of a look-up in a table */
#define SFU_TABLE_ENTRY_COST	8	/* of an entry between it and the start of its function */
#define SFU_CHEAP_BUDGET	(SFU_BUDGET / 8)

/* The last row of the largest function known costs less: 147,000 (cc1: 6942 rows). */
#define SFU_BLAMED_BUDGET	(SFU_BUDGET - SFU_BUDGET / 16)

/**
 * struct sfu_lookup - what the look-ups of one walk share
 * @rd: the decoder's reader; its budget is that of all look-ups of the walk
 * @cache: the rule cache of the process, which owns it; NULL: rows are not remembered
 * @bad: the section that this walk has found to contradict itself, or NULL
 * @is_borrowed: the map is the one of the parent: what is found out about a section is not noted
 *	there. The process may write to its own copy of the section
 * @wants_cache: there was no @cache to remember a row
 * @most: look up so many rows that are not remembered; 0: as many as the budget pays for
 * @nr_begun: look-ups so far, counted if @most is not 0
 * @nr_cached: rows found in the rule cache
 * @nr_missed: rows found by decoding
 */
struct sfu_lookup {
	struct sframe_reader	rd;
	struct sfu_cache	*cache;
	const struct sfu_section *bad;
	bool			is_borrowed;
	bool			wants_cache;
	unsigned int		most;
	unsigned int		nr_begun;
	unsigned int		nr_cached;
	unsigned int		nr_missed;
};

/**
 * struct sfu_fast_rows - rows that the fast path may use
 * @words: where that of the first frame is remembered
 * @callers: where those of its callers are; as many
 * @key_base: the key of an address is this plus the address
 */
struct sfu_fast_rows {
	struct sfu_words	words;
	struct sfu_cache_word	*callers;
	u64			key_base;
};

static inline bool sfu_section_is(const struct sfu_section *section,
				  enum sfu_section_state state)
{
	return atomic_read(&section->state) == state;
}

/*
 * The rows of a section in one word: those of its table, or else those of the process. Returns
 * false if the fast path cannot use the section.
 */
static __always_inline bool sfu_section_fast_rows(const struct sfu_section *section,
						  const struct sfu_cache *cache,
						  bool is_activation,
						  struct sfu_fast_rows *rows)
{
	if (!sfu_section_is(section, SFU_SECTION_READY))
		return false;
	rows->words = section->words;
	rows->callers = rows->words.first;
	rows->key_base = section->word_base;
	if (rows->callers)
		return true;
	if (!cache || !section->has_keys)
		return false;
	rows->words = sfu_cache_words(cache, is_activation);
	rows->callers = sfu_cache_words(cache, false).first;
	rows->key_base = section->key_base;
	return rows->callers;
}

/* Sets @fast to the row at @addr; false: it is not known. */
static __always_inline bool sfu_section_fast_row(const struct sfu_fast_rows *rows,
						 unsigned long addr, union sfu_fast_row *fast)
{
	return sfu_words_find(rows->words, rows->key_base + addr, fast);
}

int sfu_section_check(struct sfu_section *section, enum sframe_defect *defect);
union sfu_fast_row sfu_section_add_table_row(const struct sfu_section *section,
					     struct sfu_lookup *lookup, unsigned long addr);
union sfu_fast_row sfu_section_add_fast_row(struct sfu_section *section,
					    struct sfu_lookup *lookup, unsigned long addr,
					    bool is_activation);
int sfu_section_find_row(struct sfu_section *section, struct sfu_lookup *lookup,
			 unsigned long addr, struct sframe_row *row);
void sfu_section_mark_bad(struct sfu_section *section, enum sframe_defect defect);

#endif /* SFU_SECTION_H */
