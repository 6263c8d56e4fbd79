// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rule caches: from an address to its decoded row, without reading the section.
 *
 * Nearly all rows fit in one word. Those of a table are remembered with the table, for all
 * processes: each reads the same table. Those of a mapped section are remembered with the
 * process: one that writes garbage into its copy of a section spoils only its own stacks. The few
 * rows that do not fit, and addresses that have no row, are remembered with the process, too.
 *
 * A cache is a fixed array. Each key has one place in it, and a new row replaces the old one. It is
 * written and read from any context on any CPU, NMI included, without waiting. A writer claims
 * the place in one atomic operation, or leaves it alone. A reader that another context disturbs
 * has found nothing. So an NMI that interrupts a writer finds nothing in that place and adds
 * nothing to it.
 */
#include <linux/slab.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_cache.h"
#include "sframe_pack.h"

/**
 * sfu_fast_row() - a row in one word
 * @row: the row
 *
 * Context: Any.
 * Return: The word; SFU_OUTERMOST_ROW; or SFU_OTHER_ROW if it does not fit.
 */
union sfu_fast_row sfu_fast_row(const struct sframe_row *row)
{
	s64 cfa = row->cfa.off;
	u16 how = 0;

	if (row->outermost)
		return SFU_OUTERMOST_ROW;
	if (row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return SFU_OTHER_ROW;
	if (row->cfa.reg == SFU_ARCH_REG_FP)
		how = SFU_FAST_FP;
	else if (row->cfa.reg != SFU_ARCH_REG_SP)
		return SFU_OTHER_ROW;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		how |= SFU_FAST_FP_SAVED;
	else if (row->fp.how != SFRAME_RULE_SAME)
		return SFU_OTHER_ROW;
	return sfu_pack_row(cfa, cfa + row->ra.off, cfa + row->fp.off, how);
}

/**
 * sfu_cache_add() - remember a row of any kind
 * @cache: the cache
 * @key: names the address and its mapping; not 0
 * @row: the row; NULL: the section has none there
 *
 * Context: Any, NMI included.
 */
void sfu_cache_add(struct sfu_cache *cache, u64 key, const struct sframe_row *row)
{
	struct sfu_cache_entry *entry = &cache->entries[hash_64(key, SFU_CACHE_BITS)];
	int seq = atomic_read(&entry->seq);

	/* A full barrier: a reader that sees any later write also sees seq odd. */
	if (seq & 1 || atomic_cmpxchg(&entry->seq, seq, seq + 1) != seq)
		return;
	WRITE_ONCE(entry->key, key);
	entry->has_row = row;
	if (row)
		entry->row = *row;
	atomic_set_release(&entry->seq, seq + 2);
}

/**
 * sfu_cache_alloc() - allocate the empty caches of a process, without words
 * @gfp: how to allocate; may sleep
 *
 * Context: May sleep.
 * Return: The cache, or NULL if there is no memory.
 */
struct sfu_cache *sfu_cache_alloc(gfp_t gfp)
{
	struct sfu_cache *cache = kzalloc_obj(*cache, gfp);

	if (!cache)
		return NULL;
	cache->entries = kcalloc(1 << SFU_CACHE_BITS, sizeof(*cache->entries), gfp);
	if (!cache->entries) {
		kfree(cache);
		return NULL;
	}
	return cache;
}

/**
 * sfu_cache_add_words() - allocate the words of a process
 * @cache: its cache, which has none
 * @gfp: how to allocate; may sleep
 *
 * Context: May sleep. Nobody else adds words.
 * Return: false if there is no memory.
 */
bool sfu_cache_add_words(struct sfu_cache *cache, gfp_t gfp)
{
	struct sfu_cache_word *words;

	words = kcalloc(2 << SFU_WORDS_BITS, sizeof(*words), gfp);
	/* Pairs with READ_ONCE() in sfu_cache_words(): the words are empty. */
	smp_store_release(&cache->words, words);
	return words;
}

/**
 * sfu_cache_size() - bytes that the caches of a process take
 * @cache: the cache; may be NULL
 *
 * Context: Any.
 * Return: Its bytes.
 */
size_t sfu_cache_size(const struct sfu_cache *cache)
{
	if (!cache)
		return 0;
	return sizeof(*cache) + (sizeof(*cache->entries) << SFU_CACHE_BITS) +
	       (cache->words ? 2 * sizeof(*cache->words) << SFU_WORDS_BITS : 0);
}

/**
 * sfu_cache_free() - free the caches of a process
 * @cache: the cache, which has no users any more; may be NULL
 *
 * Context: Any but NMI.
 */
void sfu_cache_free(struct sfu_cache *cache)
{
	if (!cache)
		return;
	kfree(cache->words);
	kfree(cache->entries);
	kfree(cache);
}
