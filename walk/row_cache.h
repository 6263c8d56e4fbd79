/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row cache of a processor: rows that walks have looked up. See walk/row_cache.c. */
#ifndef SFU_ROW_CACHE_H
#define SFU_ROW_CACHE_H

#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/*
 * A packed row: a row of the most common kind in one u64. All offsets are relative to one register,
 * SP or FP. The CFA's offset is a multiple of SFU_ARCH_CFA_ALIGN. The return address and the
 * caller's frame pointer are stored between the register and the CFA.
 */
#define SFU_ROW_BY_FP		BIT_ULL(0)	/* the CFA is relative to FP; without it, to SP */
#define SFU_ROW_SAVES_FP	BIT_ULL(1)	/* the caller's frame pointer is on the stack */
#define SFU_ROW_IS_OTHER	BIT_ULL(2)	/* the row cannot be packed, or there is none */
#define SFU_ROW_CFA		GENMASK_ULL(15, 3)	/* offset of the CFA from SP or FP */
#define SFU_ROW_RA		GENMASK_ULL(31, 16)	/* offset of the stored return address */
#define SFU_ROW_FP		GENMASK_ULL(47, 32)	/* offset of the stored frame pointer */

#define SFU_ROW_OUTERMOST	(SFU_ROW_IS_OTHER | BIT_ULL(16))	/* there is no caller */
#define SFU_ROW_NONE		(SFU_ROW_IS_OTHER | BIT_ULL(17))	/* code without a row */

struct sfu_cached_row {
	u64	section;	/* number of the section; 0: the slot is empty */
	u64	key;		/* address of the code + &sfu_section.key_base */
	u64	row;		/* the packed row (SFU_ROW_*) of this address */
};

/* Slots of a set, which fits a cache line. With 1 slot, two rows in use would evict each other. */
#define SFU_ROW_WAYS	2U

struct sfu_row_set {
	struct sfu_cached_row	ways[SFU_ROW_WAYS];
} __aligned(64);

/* The row cache of one processor. A walk that may not use it has a cache of one set of its own. */
struct sfu_row_cache {
	struct sfu_row_set	*sets;		/* array of @nr_sets sets */
	unsigned long		nr_sets;
	bool			is_used;	/* a walk on this processor uses the cache */
};

/* Returns the set of slots for @key. The product spreads neighbouring keys over distant sets. */
static __always_inline struct sfu_row_set *sfu_row_cache_set(struct sfu_row_cache cache, u64 key)
{
	return &cache.sets[(u32)key * GOLDEN_RATIO_32 * cache.nr_sets >> 32];
}

static __always_inline bool sfu_cached_row_is(const struct sfu_cached_row *cached, u64 section,
					      u64 key)
{
	return cached->section == section && cached->key == key;
}

/* Returns the cached packed row of @key in the section with number @section, or 0. */
static inline u64 sfu_row_cache_find(struct sfu_row_cache cache, u64 section, u64 key)
{
	const struct sfu_row_set *set = sfu_row_cache_set(cache, key);
	unsigned int i;

	for (i = 0; i < SFU_ROW_WAYS; i++)
		if (sfu_cached_row_is(&set->ways[i], section, key))
			return set->ways[i].row;
	return 0;
}

/* Adds a row to the cache. Of the two rows in its set, the older one is dropped. */
static __always_inline void sfu_row_cache_add(struct sfu_row_cache cache, u64 section, u64 key,
					      u64 row)
{
	struct sfu_row_set *set = sfu_row_cache_set(cache, key);

	set->ways[1] = set->ways[0];
	set->ways[0] = (struct sfu_cached_row){ .section = section, .key = key, .row = row };
}

DECLARE_PER_CPU(struct sfu_row_cache, sfu_row_caches);

/*
 * Returns the row cache of this processor; NULL if the caller has interrupted a walk that uses the
 * cache. Any context, NMI included. The caller keeps preemption disabled until sfu_row_cache_put().
 */
static inline struct sfu_row_cache *sfu_row_cache_get(void)
{
	struct sfu_row_cache *cache = this_cpu_ptr(&sfu_row_caches);

	/* No race: a walk that interrupts this one gives the cache back before this one goes on. */
	if (READ_ONCE(cache->is_used))
		return NULL;
	WRITE_ONCE(cache->is_used, true);
	barrier();
	return cache;
}

/* Gives back a cache that sfu_row_cache_get() has returned, which may be NULL. */
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
