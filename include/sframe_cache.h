/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule cache: from an address to its row. See sample/sframe_cache.c.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include <linux/atomic.h>
#include <linux/hash.h>

#include "sframe_core.h"

/**
 * union sfu_fast_row - a row of the most common kind, in one word
 * @cfa: bytes from the base register to the CFA, a multiple of SFU_ARCH_CFA_ALIGN
 * @ra: bytes from the base to the stored return address; all of it is below the CFA
 * @fp: likewise for the caller's frame pointer, if it is saved
 * @how: SFU_FAST_*: which register is the base
 * @word: all of it, read and written at once
 */
union sfu_fast_row {
	struct {
		u16	cfa;
		u16	ra;
		u16	fp;
		u16	how;
	};
	u64	word;
};

#define SFU_FAST_SP		0x01
#define SFU_FAST_FP		0x02
#define SFU_FAST_FP_SAVED	0x04
#define SFU_FAST_OTHER		0x08	/* and nothing else: the row is of another kind */

#define SFU_OTHER_ROW		((union sfu_fast_row){ .how = SFU_FAST_OTHER })

/**
 * struct sfu_cache_entry - one cache line
 * @key: names the address and its mapping; 0 while the entry is written
 * @seq: odd while the entry is written
 * @kind: SFU_CACHE_*
 * @fast: the row in one word; SFU_OTHER_ROW if there is none
 * @row: the row, of SFU_CACHE_ROW
 */
struct sfu_cache_entry {
	u64			key;
	atomic_t		seq;
	u8			kind;
	union sfu_fast_row	fast;
	struct sframe_row	row;
} __aligned(64);

static_assert(sizeof(struct sfu_cache_entry) == 64);

#define SFU_CACHE_NONE		0	/* the section has no row for the address */
#define SFU_CACHE_ROW		1
#define SFU_CACHE_WORD		2	/* of the row, only @fast is known */

#define SFU_CACHE_BITS	8

/**
 * struct sfu_cache - the rule cache of a process
 * @entries: one half for return addresses, one for activation addresses. Many of
 *	the latter are seen once and would push the others out
 */
struct sfu_cache {
	struct sfu_cache_entry	entries[2][1 << SFU_CACHE_BITS];
};

struct sfu_cache *sfu_cache_alloc(void);
void sfu_cache_free(struct sfu_cache *cache);

/* The half of the cache for addresses of this kind. */
static inline struct sfu_cache_entry *sfu_cache_half(struct sfu_cache *cache,
						     bool is_activation)
{
	return cache->entries[is_activation];
}

/**
 * sfu_cache_begin() - begin to read the entry of a key
 * @half: of the cache
 * @key: names the address and its mapping; not 0
 * @seq: set for sfu_cache_is_same()
 *
 * Context: Any, NMI included.
 * Return: The entry, which may be that of another key.
 */
static __always_inline const struct sfu_cache_entry *
sfu_cache_begin(const struct sfu_cache_entry *half, u64 key, int *seq)
{
	const struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];

	*seq = atomic_read_acquire(&entry->seq);
	return entry;
}

/* Do all reads since sfu_cache_begin() belong to one complete write? */
static __always_inline bool sfu_cache_is_same(const struct sfu_cache_entry *entry,
					      int seq)
{
	smp_rmb();	/* pairs with the barriers of sfu_cache_add() */
	return !(seq & 1) && atomic_read(&entry->seq) == seq;
}

/**
 * sfu_cache_find() - look a row up
 * @half: of the cache
 * @key: names the address and its mapping; not 0
 * @row: set to the row if there is one
 * @has_row: set to whether the section has a row there
 *
 * Both outputs are undefined if nothing was found. A row of which only one word is known is not.
 *
 * Context: Any, NMI included.
 * Return: Whether the cache knows the address.
 */
static __always_inline bool sfu_cache_find(const struct sfu_cache_entry *half, u64 key,
					   struct sframe_row *row, bool *has_row)
{
	const struct sfu_cache_entry *entry;
	u8 kind;
	int seq;

	entry = sfu_cache_begin(half, key, &seq);
	*row = entry->row;
	kind = entry->kind;
	*has_row = kind == SFU_CACHE_ROW;
	return kind != SFU_CACHE_WORD && READ_ONCE(entry->key) == key &&
	       sfu_cache_is_same(entry, seq);
}

/**
 * sfu_cache_fast_row() - look up a row in one word
 * @half: of the cache
 * @key: names the address and its mapping; not 0
 * @fast: set to the row, which may be of another kind
 *
 * The key is the same before and after one read of one word. So the word is that
 * of this key, even if other rows were written to the entry in between.
 *
 * Context: Any, NMI included.
 * Return: Whether the cache knows the row.
 */
static __always_inline bool sfu_cache_fast_row(const struct sfu_cache_entry *half, u64 key,
					       union sfu_fast_row *fast)
{
	const struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];

	/* Pairs with the barriers of sfu_cache_add(). */
	if (smp_load_acquire(&entry->key) != key)
		return false;
	fast->word = READ_ONCE(entry->fast.word);
	smp_rmb();	/* pairs with the barriers of sfu_cache_add() */
	return READ_ONCE(entry->key) == key;
}

union sfu_fast_row sfu_cache_add(struct sfu_cache_entry *half, u64 key,
				 const struct sframe_row *row);
union sfu_fast_row sfu_cache_add_plain(struct sfu_cache_entry *half, u64 key,
				       const struct sframe_plain_row *row);

#endif /* SFU_CACHE_H */
