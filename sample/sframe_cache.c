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
static __always_inline bool is_in_frame(s64 off, s64 cfa)
{
	return off >= 0 && off + (s64)sizeof(long) <= cfa;
}

/*
 * Returns a row in one word. The offsets are those from the base; @how says what the base is, and
 * whether the frame pointer is saved.
 */
static __always_inline union sfu_fast_row pack_row(s64 cfa, s64 ra, s64 fp, u16 how)
{
	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || cfa > U16_MAX || !is_in_frame(ra, cfa))
		return SFU_OTHER_ROW;
	if (!(how & SFU_FAST_FP_SAVED))
		fp = 0;
	else if (!is_in_frame(fp, cfa))
		return SFU_OTHER_ROW;
	return (union sfu_fast_row){ .cfa = cfa, .ra = ra, .fp = fp, .how = how };
}

/* Returns the row in one word. */
static union sfu_fast_row make_fast_row(const struct sframe_row *row)
{
	s64 cfa = row->cfa.off;
	u16 how;

	if (row->outermost || row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return SFU_OTHER_ROW;
	if (row->cfa.reg == SFU_ARCH_REG_SP)
		how = SFU_FAST_SP;
	else if (row->cfa.reg == SFU_ARCH_REG_FP)
		how = SFU_FAST_FP;
	else
		return SFU_OTHER_ROW;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		how |= SFU_FAST_FP_SAVED;
	else if (row->fp.how != SFRAME_RULE_SAME)
		return SFU_OTHER_ROW;
	return pack_row(cfa, cfa + row->ra.off, cfa + row->fp.off, how);
}

/* One of the data words, which have @bits bits each. */
static __always_inline s64 get_word(const struct sframe_plain_row *row, u32 i, u32 bits)
{
	u32 end = bits * (i % (64 / bits) + 1);

	return (s64)(row->words[bits * i / 64] << (64 - end)) >> (64 - bits);
}

/*
 * Likewise, of the words as they are stored: the CFA, the return address where a call leaves it in
 * a register, and the frame pointer if it is saved.
 */
static __always_inline union sfu_fast_row pack_words(const struct sframe_plain_row *row, u32 bits)
{
	const bool has_ra = SFU_ARCH_REG_RA >= 0;
	u32 nr = SFRAME_FRE_NR_WORDS(row->info);
	u16 how = SFRAME_FRE_BASE_SP(row->info) ? SFU_FAST_SP : SFU_FAST_FP;
	s64 cfa = get_word(row, 0, bits), ra = cfa - sizeof(long), fp = 0;

	if (nr < 1 + has_ra || nr > 2 + has_ra)
		return SFU_OTHER_ROW;
	if (has_ra)
		ra = cfa + get_word(row, 1, bits);
	if (nr == 2 + has_ra) {
		fp = cfa + get_word(row, 1 + has_ra, bits);
		how |= SFU_FAST_FP_SAVED;
	}
	return pack_row(cfa, ra, fp, how);
}

static union sfu_fast_row make_plain_fast_row(const struct sframe_plain_row *row)
{
	switch (SFRAME_FRE_WORD_SIZE(row->info)) {
	case 0:
		return pack_words(row, 8);
	case 1:
		return pack_words(row, 16);
	default:
		return pack_words(row, 32);
	}
}

static __always_inline void add_entry(struct sfu_cache_entry *half, u64 key, u8 kind,
				      union sfu_fast_row fast, const struct sframe_row *row)
{
	struct sfu_cache_entry *entry = &half[hash_64(key, SFU_CACHE_BITS)];
	int seq = atomic_read(&entry->seq);

	/* A full barrier: a reader that sees any later write also sees seq odd. */
	if (seq & 1 || atomic_cmpxchg(&entry->seq, seq, seq + 1) != seq)
		return;
	WRITE_ONCE(entry->key, 0);
	smp_wmb();	/* sfu_cache_fast_row(): the key is cleared before the word changes */
	WRITE_ONCE(entry->fast.word, fast.word);
	entry->kind = kind;
	if (row)
		entry->row = *row;
	/* sfu_cache_fast_row(): the word is written before its key. */
	smp_store_release(&entry->key, key);
	atomic_set_release(&entry->seq, seq + 2);
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
	union sfu_fast_row fast = row ? make_fast_row(row) : SFU_OTHER_ROW;

	add_entry(half, key, row ? SFU_CACHE_ROW : SFU_CACHE_NONE, fast, row);
	return fast;
}

/**
 * sfu_cache_add_plain() - remember a row that a quick look-up has found
 * @half: of the cache
 * @key: names the address and its mapping; not 0
 * @row: the row, not of repetitive code
 *
 * Context: Any, NMI included.
 * Return: As sfu_cache_add(). SFU_OTHER_ROW is not remembered.
 */
union sfu_fast_row sfu_cache_add_plain(struct sfu_cache_entry *half, u64 key,
				       const struct sframe_plain_row *row)
{
	union sfu_fast_row fast = make_plain_fast_row(row);

	if (fast.how != SFU_FAST_OTHER)
		add_entry(half, key, SFU_CACHE_WORD, fast, NULL);
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
