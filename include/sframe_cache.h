/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule caches: from an address to its row. See sample/sframe_cache.c.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include <linux/atomic.h>
#include <linux/gfp_types.h>
#include <linux/hash.h>

#include "sframe_core.h"

/**
 * union sfu_fast_row - a row of the most common kind, in one word
 * @cfa: bytes from the base register to the CFA, a multiple of SFU_ARCH_CFA_ALIGN. The bits of
 *	SFU_FAST_HOW say what the base is, and whether the frame pointer is saved
 * @ra: bytes from the base to the stored return address; all of it is below the CFA
 * @fp: likewise for the caller's frame pointer, if it is saved
 * @version: counts how often its place was written
 * @word: all of it, read and written at once
 */
union sfu_fast_row {
	struct {
		u16	cfa;
		u16	ra;
		u16	fp;
		u16	version;
	};
	u64	word;
};

/* None of them: the base is SP, and the frame pointer is not saved. That is the commonest row. */
#define SFU_FAST_FP		0x01	/* the base is FP */
#define SFU_FAST_FP_SAVED	0x02
#define SFU_FAST_OTHER		0x04	/* and nothing else: the row is of another kind */
#define SFU_FAST_HOW		0x07
#define SFU_FAST_CFA		0xfff8

#define SFU_OTHER_ROW		((union sfu_fast_row){ .cfa = SFU_FAST_OTHER })
#define SFU_OUTERMOST_ROW	((union sfu_fast_row){ .cfa = SFU_FAST_OTHER, .ra = 1 })

/* Of the rows of another kind: is it one that says that the stack ends? */
static inline bool sfu_fast_row_is_outermost(union sfu_fast_row row)
{
	return row.cfa == SFU_FAST_OTHER && row.ra;
}

/**
 * struct sfu_cache_word - a row in one word
 * @key: names the address; 0: there is none; SFU_KEY_WRITING while it is written
 * @fast: the row
 */
struct sfu_cache_word {
	u64			key;
	union sfu_fast_row	fast;
};

#define SFU_KEY_WRITING		(~0ull)		/* names nothing */

/**
 * struct sfu_words - where rows in one word are remembered
 * @first: a power of two of them; NULL: nowhere
 * @mask: takes a hash of 32 bits to a place, in bytes from @first
 */
struct sfu_words {
	struct sfu_cache_word	*first;
	u32			mask;
};

static inline struct sfu_words sfu_words(struct sfu_cache_word *first, unsigned int bits)
{
	return (struct sfu_words){
		.first = first,
		.mask = ((1u << bits) - 1) * sizeof(*first),
	};
}

/* The one place of a key. */
static __always_inline struct sfu_cache_word *sfu_words_place(struct sfu_words words, u64 key)
{
	return (void *)words.first + ((u32)(key * GOLDEN_RATIO_64 >> 32) & words.mask);
}

/**
 * struct sfu_cache_entry - a row of any kind, in one cache line
 * @key: names the address and its mapping
 * @seq: odd while the entry is written
 * @has_row: false: the section has no row for the address
 * @row: the row
 */
struct sfu_cache_entry {
	u64			key;
	atomic_t		seq;
	bool			has_row;
	struct sframe_row	row;
} __aligned(64);

static_assert(sizeof(struct sfu_cache_entry) == 64);

#define SFU_CACHE_BITS		6
#define SFU_WORDS_BITS		8

/**
 * struct sfu_cache - the rule caches of a process
 * @words: rows of mapped sections that fit in one word, 2^SFU_WORDS_BITS for return addresses
 *	and as many for activation addresses: most of these are seen once, and would push the
 *	others out. NULL until the process has a mapped section
 * @entries: rows of another kind, of all sections
 */
struct sfu_cache {
	struct sfu_cache_word	*words;
	struct sfu_cache_entry	*entries;
};

/* Bytes that the caches of a process take at most. */
#define SFU_CACHE_MOST								\
	(sizeof(struct sfu_cache) +						\
	 (sizeof(struct sfu_cache_entry) << SFU_CACHE_BITS) +			\
	 (2 * sizeof(struct sfu_cache_word) << SFU_WORDS_BITS))

struct sfu_cache *sfu_cache_alloc(gfp_t gfp);
bool sfu_cache_add_words(struct sfu_cache *cache, gfp_t gfp);
void sfu_cache_free(struct sfu_cache *cache);
size_t sfu_cache_size(const struct sfu_cache *cache);

/* The words for addresses of this kind. */
static inline struct sfu_words sfu_cache_words(const struct sfu_cache *cache, bool is_activation)
{
	/* Pairs with sfu_cache_add_words(): the words are empty. */
	struct sfu_cache_word *words = READ_ONCE(cache->words);

	if (words && is_activation)
		words += 1 << SFU_WORDS_BITS;
	return sfu_words(words, SFU_WORDS_BITS);
}

/**
 * sfu_cache_begin() - begin to read the entry of a key
 * @cache: the cache
 * @key: names the address and its mapping; not 0
 * @seq: set for sfu_cache_is_same()
 *
 * Context: Any, NMI included.
 * Return: The entry, which may be that of another key.
 */
static __always_inline const struct sfu_cache_entry *
sfu_cache_begin(const struct sfu_cache *cache, u64 key, int *seq)
{
	const struct sfu_cache_entry *entry = &cache->entries[hash_64(key, SFU_CACHE_BITS)];

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
 * sfu_cache_find() - look up a row of any kind
 * @cache: the cache
 * @key: names the address and its mapping; not 0
 * @row: set to the row if there is one
 * @has_row: set to whether the section has a row there
 *
 * Both outputs are undefined if nothing was found.
 *
 * Context: Any, NMI included.
 * Return: Whether the cache knows the address.
 */
static __always_inline bool sfu_cache_find(const struct sfu_cache *cache, u64 key,
					   struct sframe_row *row, bool *has_row)
{
	const struct sfu_cache_entry *entry;
	int seq;

	entry = sfu_cache_begin(cache, key, &seq);
	*row = entry->row;
	*has_row = entry->has_row;
	return READ_ONCE(entry->key) == key && sfu_cache_is_same(entry, seq);
}

/**
 * sfu_words_find() - look up a row in one word
 * @words: where to look
 * @key: names the address
 * @fast: set to the row, which may be of another kind
 *
 * The word is the same before and after the key is read, so it is the word of this key: each write
 * to the place changes its version, and the key is another one meanwhile.
 *
 * Context: Any, NMI included.
 * Return: Whether the row is known.
 */
static __always_inline bool sfu_words_find(struct sfu_words words, u64 key,
					   union sfu_fast_row *fast)
{
	const struct sfu_cache_word *word = sfu_words_place(words, key);

	/* Pairs with cmpxchg() of sfu_words_add(): the old key is gone. */
	fast->word = smp_load_acquire(&word->fast.word);
	/* Pairs with smp_store_release() there: no older word is read after this. */
	if (smp_load_acquire(&word->key) != key)
		return false;
	return READ_ONCE(word->fast.word) == fast->word;
}

/**
 * sfu_words_add() - remember a row in one word
 * @words: where
 * @key: names the address; not 0
 * @fast: the row; SFU_OUTERMOST_ROW; SFU_OTHER_ROW if it is in no word, or there is none
 *
 * Context: Any, NMI included.
 */
static __always_inline void sfu_words_add(struct sfu_words words, u64 key,
					  union sfu_fast_row fast)
{
	struct sfu_cache_word *word = sfu_words_place(words, key);
	u64 old;

	old = READ_ONCE(word->key);
	/* A full barrier: a reader that sees the new word does not see the old key. */
	if (old == SFU_KEY_WRITING || cmpxchg(&word->key, old, SFU_KEY_WRITING) != old)
		return;
	fast.version = word->fast.version + 1;
	WRITE_ONCE(word->fast.word, fast.word);
	/* sfu_words_find(): the word is written before its key. */
	smp_store_release(&word->key, key);
}

union sfu_fast_row sfu_fast_row(const struct sframe_row *row);
void sfu_cache_add(struct sfu_cache *cache, u64 key, const struct sframe_row *row);

#endif /* SFU_CACHE_H */
