// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rule cache: from an address to its decoded row, without reading the
 * section.
 *
 * Each process has its own cache: a process that writes garbage into its copy of a
 * section spoils only its own stacks. The cache is a fixed array. Each key has one place
 * in it, and a new row replaces the old one.
 *
 * An entry is written and read from any context on any CPU, NMI included, without
 * waiting. Its sequence number is odd while the entry is written. A writer takes
 * the number from even to odd in one atomic operation, or leaves the entry alone.
 * A reader has found nothing if the number was odd, or changed while it read. So
 * an NMI that interrupts a writer finds nothing in that entry and adds nothing to
 * it.
 *
 * sfu_cache_fast_row() reads one word. For that word the key suffices: the key is
 * 0 while the entry is written.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "sframe_arch.h"
#include "sframe_cache.h"

/* Is the word at @off from the base inside the frame, below the CFA? */
static bool is_in_frame(s64 off, s64 cfa)
{
	return off >= 0 && off + (s64)sizeof(long) <= cfa;
}

/* Returns the row in one word. */
static union sfu_fast_row make_fast_row(const struct sframe_row *row)
{
	const union sfu_fast_row other = { .how = SFU_FAST_OTHER };
	s64 cfa = row->cfa.off, ra = cfa + row->ra.off, fp = cfa + row->fp.off;
	union sfu_fast_row fast = { .cfa = cfa, .ra = ra };

	if (row->outermost || row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return other;
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || cfa > U16_MAX || !is_in_frame(ra, cfa))
		return other;
	if (row->cfa.reg == SFU_ARCH_REG_SP)
		fast.how = SFU_FAST_SP;
	else if (row->cfa.reg == SFU_ARCH_REG_FP)
		fast.how = SFU_FAST_FP;
	else
		return other;
	if (row->fp.how == SFRAME_RULE_SAME)
		return fast;
	if (row->fp.how != SFRAME_RULE_CFA_MEM || !is_in_frame(fp, cfa))
		return other;
	fast.fp = fp;
	fast.how |= SFU_FAST_FP_SAVED;
	return fast;
}

/**
 * sfu_cache_add() - remember the row of an address
 * @half: of the cache
 * @key: names the address and its mapping; not 0
 * @row: the row; NULL: the section has none there
 *
 * Context: Any, NMI included.
 * Return: The row in one word, also if another context is writing the entry.
 */
union sfu_fast_row sfu_cache_add(struct sfu_cache_entry *half, u64 key,
				 const struct sframe_row *row)
{
	struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];
	union sfu_fast_row fast = row ? make_fast_row(row) :
				  (union sfu_fast_row){ .how = SFU_FAST_OTHER };
	int seq = atomic_read(&entry->seq);

	/* A full barrier: a reader that sees any later write also sees seq odd. */
	if (seq & 1 || atomic_cmpxchg(&entry->seq, seq, seq + 1) != seq)
		return fast;
	WRITE_ONCE(entry->key, 0);
	smp_wmb();	/* sfu_cache_fast_row(): the key is cleared before the word changes */
	WRITE_ONCE(entry->fast.word, fast.word);
	entry->has_row = row;
	if (row)
		entry->row = *row;
	/* sfu_cache_fast_row(): the word is written before its key. */
	smp_store_release(&entry->key, key);
	atomic_set_release(&entry->seq, seq + 2);
	return fast;
}

/**
 * sfu_cache_alloc() - allocate an empty cache
 *
 * Context: May sleep.
 * Return: The cache, or NULL if there is no memory.
 */
struct sfu_cache *sfu_cache_alloc(void)
{
	return kvzalloc(sizeof(struct sfu_cache), GFP_KERNEL_ACCOUNT);
}

/**
 * sfu_cache_free() - free a cache
 * @cache: the cache, which has no users any more; may be NULL
 *
 * Context: Any but NMI.
 */
void sfu_cache_free(struct sfu_cache *cache)
{
	kvfree(cache);
}
