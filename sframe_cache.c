// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rule cache: from an address to its decoded row, without reading the
 * section.
 *
 * One per process, for a process can write what it likes to its own copy of a
 * section, and it is its own stacks that this may spoil. A fixed array, in
 * which each key has one place, and whoever came last has it.
 *
 * An entry is written and read from any context on any CPU, NMI included, and
 * nobody waits. Its sequence number is odd while it is written. A writer takes
 * it from even to odd in one atomic operation or leaves the entry alone; a
 * reader that saw it odd, or not the same before and behind its reads, has
 * found nothing. So an NMI that interrupts a writer finds nothing in, and adds
 * nothing to, that one entry.
 *
 * What sfu_cache_quick() reads is one word: for it the key suffices, which is 0
 * while the entry is written.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "sframe_arch.h"
#include "sframe_cache.h"

static struct sfu_rule shorten(const struct sframe_rule *rule)
{
	return (struct sfu_rule){ .off = rule->off, .how = rule->how, .reg = rule->reg };
}

/* Is that word of the frame between base and CFA? */
static bool is_inside(s64 off, s64 cfa)
{
	return off >= 0 && off + (s64)sizeof(long) <= cfa;
}

static union sfu_quick find_quick(const struct sfu_row *row)
{
	s64 cfa = row->cfa.off, ra = cfa + row->ra.off, fp = cfa + row->fp.off;
	union sfu_quick quick = { .cfa = cfa, .ra = ra };

	if (row->outermost || row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return (union sfu_quick){};
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || cfa > U16_MAX || !is_inside(ra, cfa))
		return (union sfu_quick){};
	if (row->cfa.reg == SFU_ARCH_REG_SP)
		quick.how = SFU_QUICK_SP;
	else if (row->cfa.reg == SFU_ARCH_REG_FP)
		quick.how = SFU_QUICK_FP;
	else
		return (union sfu_quick){};
	if (row->fp.how == SFRAME_RULE_SAME)
		return quick;
	if (row->fp.how != SFRAME_RULE_CFA_MEM || !is_inside(fp, cfa))
		return (union sfu_quick){};
	quick.fp = fp;
	quick.how |= SFU_QUICK_FP_SAVED;
	return quick;
}

/**
 * sfu_row_set() - a row in short
 * @row: set
 * @from: a row of a section of SFU_ARCH_ABI, whose offsets are of 32 bits
 *
 * Context: Any, NMI included.
 */
void sfu_row_set(struct sfu_row *row, const struct sframe_row *from)
{
	*row = (struct sfu_row){
		.cfa = shorten(&from->cfa),
		.ra = shorten(&from->ra),
		.fp = shorten(&from->fp),
		.func = from->func,
		.outermost = from->outermost,
		.signal = from->signal,
	};
}

/**
 * sfu_cache_add() - remember the row of an address
 * @half: of the cache
 * @key: names the address, and what is mapped there; not 0
 * @row: its row
 *
 * Context: Any, NMI included.
 */
void sfu_cache_add(struct sfu_cache_entry *half, u64 key, const struct sfu_row *row)
{
	struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];
	int seq = atomic_read(&entry->seq);

	/* A full barrier: who sees any of what follows also sees it odd. */
	if (seq & 1 || atomic_cmpxchg(&entry->seq, seq, seq + 1) != seq)
		return;
	WRITE_ONCE(entry->key, 0);
	smp_wmb();	/* sfu_cache_quick(): the key goes before its word does */
	WRITE_ONCE(entry->quick.word, find_quick(row).word);
	entry->row = *row;
	/* Likewise: the word is there before its key is. */
	smp_store_release(&entry->key, key);
	atomic_set_release(&entry->seq, seq + 2);
}

/**
 * sfu_cache_alloc() - an empty cache
 *
 * Context: May sleep.
 * Return: The cache, or NULL: there is no memory for it.
 */
struct sfu_cache *sfu_cache_alloc(void)
{
	return kvzalloc(sizeof(struct sfu_cache), GFP_KERNEL_ACCOUNT);
}

/**
 * sfu_cache_free() - free a cache
 * @cache: the cache, which nobody uses any more; may be NULL
 *
 * Context: Any but NMI.
 */
void sfu_cache_free(struct sfu_cache *cache)
{
	kvfree(cache);
}
