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
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "sframe_arch.h"
#include "sframe_cache.h"

static struct sfu_rule shorten(const struct sframe_rule *rule)
{
	return (struct sfu_rule){ .off = rule->off, .how = rule->how, .reg = rule->reg };
}

/* SFU_QUICK_* of a row. */
static u8 find_quick(const struct sframe_row *row)
{
	u8 quick = SFU_QUICK;

	if (row->outermost || row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return 0;
	if (row->cfa.reg == SFU_ARCH_REG_FP)
		quick |= SFU_QUICK_CFA_FP;
	else if (row->cfa.reg != SFU_ARCH_REG_SP)
		return 0;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		quick |= SFU_QUICK_FP_SAVED;
	else if (row->fp.how != SFRAME_RULE_SAME)
		return 0;
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
		.quick = find_quick(from),
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
	WRITE_ONCE(entry->key, key);
	entry->row = *row;
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
