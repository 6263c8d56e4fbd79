/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule cache: from an address to its row. See sframe_cache.c.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include <linux/atomic.h>
#include <linux/hash.h>

#include "sframe_core.h"

/* A rule, and a row, of this machine in short: see sframe_rule and sframe_row. */
struct sfu_rule {
	s32	off;
	u8	how;
	u8	reg;
};

/* A row; or, if @none, that there is none. */
struct sfu_row {
	struct sfu_rule	cfa;
	struct sfu_rule	ra;
	struct sfu_rule	fp;
	u64		func;
	bool		outermost;
	bool		signal;
	bool		none;
};

/**
 * union sfu_quick - a row of the most common kind, in one word
 * @cfa: the CFA is so much above the base, a multiple of SFU_ARCH_CFA_ALIGN
 * @ra: the return address is stored there, from the base, all of it below the CFA
 * @fp: likewise the caller's frame pointer, if it was saved
 * @how: SFU_QUICK_*: which register is the base; 0: the row is of another kind
 * @word: all of it, read and written at once
 */
union sfu_quick {
	struct {
		u16	cfa;
		u16	ra;
		u16	fp;
		u16	how;
	};
	u64	word;
};

#define SFU_QUICK_SP		0x01
#define SFU_QUICK_FP		0x02
#define SFU_QUICK_FP_SAVED	0x04

void sfu_row_set(struct sfu_row *row, const struct sframe_row *from);

/**
 * struct sfu_cache_entry - a cache line
 * @key: of the row; 0 while it is written
 * @seq: odd while it is written
 * @quick: the row once more
 * @row: the row
 */
struct sfu_cache_entry {
	u64		key;
	atomic_t	seq;
	union sfu_quick	quick;
	struct sfu_row	row;
} __aligned(64);

#define SFU_CACHE_BITS	8

/**
 * struct sfu_cache - the rule cache of a process
 * @entries: those of return addresses, and those of sampled addresses: many of
 *	these are seen once, and would drive out the others
 */
struct sfu_cache {
	struct sfu_cache_entry	entries[2][1 << SFU_CACHE_BITS];
};

struct sfu_cache *sfu_cache_alloc(void);
void sfu_cache_free(struct sfu_cache *cache);

/* One half of the cache. */
static inline struct sfu_cache_entry *sfu_cache_half(struct sfu_cache *cache,
						     bool sampled)
{
	return cache->entries[sampled];
}

/**
 * sfu_cache_find() - where the row of an address is, if it has been added
 * @half: of the cache
 * @key: names the address, and what is mapped there; not 0
 * @seq: for sfu_cache_is_same()
 *
 * Context: Any, NMI included.
 * Return: Where it is, if &sfu_cache_entry.key is @key, and if sfu_cache_is_same()
 * once it has been read.
 */
static __always_inline const struct sfu_cache_entry *
sfu_cache_find(const struct sfu_cache_entry *half, u64 key, int *seq)
{
	const struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];

	*seq = atomic_read_acquire(&entry->seq);
	return entry;
}

/* Is what has been read of one write, whole? */
static __always_inline bool sfu_cache_is_same(const struct sfu_cache_entry *entry,
					      int seq)
{
	smp_rmb();	/* with the barriers of sfu_cache_add() */
	return !(seq & 1) && atomic_read(&entry->seq) == seq;
}

/**
 * sfu_cache_quick() - the row of an address, if it is of the most common kind
 * @half: of the cache
 * @key: names the address, and what is mapped there; not 0
 *
 * The key is the same before and behind one read of one word: that was the word
 * of this key, even if others came and went between.
 *
 * Context: Any, NMI included.
 * Return: The row, or 0: there is none.
 */
static __always_inline union sfu_quick
sfu_cache_quick(const struct sfu_cache_entry *half, u64 key)
{
	const struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];
	union sfu_quick quick;

	/* Both with the barriers of sfu_cache_add(). */
	if (smp_load_acquire(&entry->key) != key)
		return (union sfu_quick){};
	quick.word = READ_ONCE(entry->quick.word);
	smp_rmb();	/* likewise */
	if (READ_ONCE(entry->key) != key)
		return (union sfu_quick){};
	return quick;
}

void sfu_cache_add(struct sfu_cache_entry *half, u64 key, const struct sfu_row *row);

#endif /* SFU_CACHE_H */
