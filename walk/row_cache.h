/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row cache of a processor: SFrame rows that walks have looked up. See walk/row_cache.c. */
#ifndef SFU_ROW_CACHE_H
#define SFU_ROW_CACHE_H

#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/*
 * A packed row: an SFrame row of the most common kind in one u64. Its offsets count from one
 * register, SP or FP. Return address and saved FP are between this register and the CFA.
 */
#define SFU_ROW_BY_FP		BIT_ULL(0)
#define SFU_ROW_SAVES_FP	BIT_ULL(1)
#define SFU_ROW_IS_OTHER	BIT_ULL(2)	/* no packed row exists: the fast path stops here */
/* Bytes from FP if SFU_ROW_BY_FP is set, else from SP, to: CFA, return address, saved FP. */
#define SFU_ROW_CFA		GENMASK_ULL(15, 3)
#define SFU_ROW_RA		GENMASK_ULL(31, 16)
#define SFU_ROW_FP		GENMASK_ULL(47, 32)

/* Cached instead of a packed row. OUTERMOST: the frame has no caller. NONE: code has no row. */
#define SFU_ROW_OUTERMOST	(SFU_ROW_IS_OTHER | BIT_ULL(16))
#define SFU_ROW_NONE		(SFU_ROW_IS_OTHER | BIT_ULL(17))

struct sfu_cached_row {
	u64	section;	/* identifies the section of the row; 0: empty slot */
	u64	key;		/* key of the row: address of its code + &sfu_section.key_base */
	u64	row;		/* packed row, or an SFU_ROW_* value: why there is none */
};

/* Rows in one set of a row cache (one cache line). With 1, two rows in use may evict each other. */
#define SFU_ROW_WAYS	2U

struct sfu_row_set {
	struct sfu_cached_row	ways[SFU_ROW_WAYS];
} __aligned(64);

/* The row cache of one processor. Where a walk may not use it, &sfu_lookup.own replaces it. */
struct sfu_row_cache {
	struct sfu_row_set	*sets;
	unsigned long		nr_sets;
	bool			is_used;	/* a walk uses the cache: a nested walk may not */
};

/* Returns the row cache's set for @key. Multiplication spreads near keys over distant sets. */
static __always_inline struct sfu_row_set *sfu_row_cache_set(struct sfu_row_cache cache, u64 key)
{
	return &cache.sets[(u32)key * GOLDEN_RATIO_32 * cache.nr_sets >> 32];
}

static __always_inline bool sfu_cached_row_is(const struct sfu_cached_row *cached, u64 section,
					      u64 key)
{
	return cached->section == section && cached->key == key;
}

/* Returns the row (SFU_ROW_* value) cached for @key in section number @section; 0 if none is. */
static inline u64 sfu_row_cache_find(struct sfu_row_cache cache, u64 section, u64 key)
{
	const struct sfu_row_set *set = sfu_row_cache_set(cache, key);
	unsigned int i;

	for (i = 0; i < SFU_ROW_WAYS; i++)
		if (sfu_cached_row_is(&set->ways[i], section, key))
			return set->ways[i].row;
	return 0;
}

static __always_inline void sfu_row_cache_add(struct sfu_row_cache cache, u64 section, u64 key,
					      u64 row)
{
	struct sfu_row_set *set = sfu_row_cache_set(cache, key);

	set->ways[1] = set->ways[0];
	set->ways[0] = (struct sfu_cached_row){ .section = section, .key = key, .row = row };
}

DECLARE_PER_CPU(struct sfu_row_cache, sfu_row_caches);

/*
 * Returns the row cache of this processor; NULL if the caller has interrupted a walk that uses it.
 * Any context, NMI included. The caller keeps preemption disabled until sfu_row_cache_put().
 */
static inline struct sfu_row_cache *sfu_row_cache_get(void)
{
	struct sfu_row_cache *cache = this_cpu_ptr(&sfu_row_caches);

	/* Not atomic: a walk that interrupts here gives the cache back before this goes on. */
	if (READ_ONCE(cache->is_used))
		return NULL;
	WRITE_ONCE(cache->is_used, true);
	barrier();
	return cache;
}

static inline void sfu_row_cache_put(struct sfu_row_cache *cache)
{
	barrier();
	if (cache)
		WRITE_ONCE(cache->is_used, false);
}

u64 sfu_row_pack(const struct sframe_row *row);
u64 sfu_row_cache_new_section(u64 *key_base);
int sfu_row_cache_init(void);
void sfu_row_cache_exit(void);

#endif /* SFU_ROW_CACHE_H */
