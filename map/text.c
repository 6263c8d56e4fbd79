// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the code of a range, to find out whether it keeps frame pointers.
 *
 * A few pieces, spread over the range, are read until the habit is clear. They are read from the
 * page cache, because the code of a new program is not in its page tables yet. Anonymous code is
 * read from the memory of the process. Nothing waits for a page.
 *
 * The choice of pieces of a file depends on the file alone. Any user who may read a file can fill
 * its page cache, or empty it. So if the habit of a file is remembered, or its missing pages are
 * read for a scan, all pieces up to the last one that counts must be in memory.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "map/map.h"
#include "map/scan.h"
#include "walk/user.h"

#define PIECE		512U		/* bytes of a page that are read */
#define NR_PIECES	32		/* read of one range, at most */
#define STRIDE		13	/* coprime to NR_PIECES: visits each piece, distant ones first */

/* A function of a JIT may begin at any byte: a piece costs as much as 4 pieces of a file. */
#define JIT_PIECES	4

/* Pages of anonymous code that one scan reads of each range, beside those that a walk asks for. */
#define NR_PAGES	8U

/* A range of at most this many bytes is read whole. */
#define WHOLE		(NR_PIECES * PIECE)

/*
 * Counts functions in @len bytes at @pos, which are in one page of the page cache. Returns 0,
 * or why they are not there.
 */
static int count_in_file(struct sframe_starts *starts, struct sfu_prefault *prefault,
			 struct file *file, u64 pos, unsigned int len)
{
	struct folio *folio = sfu_prefault_get_folio(prefault, file, pos >> PAGE_SHIFT);
	void *text;

	if (IS_ERR(folio))
		return PTR_ERR(folio);
	text = kmap_local_folio(folio, offset_in_folio(folio, pos));
	sframe_habit_count(starts, text, len, false);
	kunmap_local(text);
	folio_put(folio);
	return 0;
}

/* Counts functions in @nr pages of anonymous code. A page that is not in memory has none. */
static void count_pages(struct sframe_starts *starts, unsigned long addr, unsigned int nr,
			unsigned int *nr_pieces)
{
	u8 text[PIECE];

	*nr_pieces += nr * JIT_PIECES * (PAGE_SIZE / PIECE);
	for (; nr; nr--, addr += PAGE_SIZE) {
		unsigned long at = addr;

		for (; at < addr + PAGE_SIZE && !sfu_user_read(text, at, PIECE); at += PIECE)
			sframe_habit_count(starts, text, PIECE, true);
	}
}

/*
 * Returns the habit of the code before the address at which a walk needed it. There may be only one
 * function: more bytes are needed to recognize a function of a JIT than a function of a file.
 */
static enum sframe_habit habit_nearby(const struct sfu_range *range, unsigned int *nr_pieces)
{
	unsigned long asked = range->asked, end, start;
	struct sframe_starts starts = {};

	if (asked < range->start || asked >= range->end)
		return SFRAME_HABIT_UNKNOWN;
	end = PAGE_ALIGN(asked + 1);
	start = end - min(end - range->start, (unsigned long)WHOLE);
	count_pages(&starts, start, (end - start) >> PAGE_SHIFT, nr_pieces);
	return sframe_habit_of_jit(&starts);
}

/* Returns the habit of the anonymous code of a range. Each scan reads the next pages of it. */
static enum sframe_habit habit_of_all(struct sfu_range *range, unsigned int *nr_pieces)
{
	unsigned int nr_pages = (range->end - range->start) >> PAGE_SHIFT;
	unsigned int nr = min(nr_pages - range->nr_read, NR_PAGES);
	unsigned long addr = range->start + (unsigned long)range->nr_read * PAGE_SIZE;
	enum sframe_habit habit;

	count_pages(&range->starts, addr, nr, nr_pieces);
	range->nr_read += nr;
	habit = sframe_habit_early(&range->starts);
	if (range->nr_read == nr_pages) {
		range->nr_read = 0;
		range->was_read = true;
		range->starts = (struct sframe_starts){};
	}
	return habit;
}

/*
 * Returns the habit of a range, which is @vma, of current's memory or of memory that current has
 * borrowed; SFRAME_HABIT_UNKNOWN if anonymous code does not show the habit, or a piece of a file is
 * not in memory. With @needs_all no piece may be missing, because the habit of the file is
 * remembered for all processes. @prefault takes pieces that file systems are to read, unless it is
 * NULL. Adds to @nr_pieces the pieces of code that are read, at most 32 of a file; 1 for a page
 * that is not in memory; JIT_PIECES for each piece of anonymous code.
 */
enum sframe_habit sfu_text_habit(struct sfu_range *range, const struct vm_area_struct *vma,
				 bool needs_all, struct sfu_prefault *prefault,
				 unsigned int *nr_pieces)
{
	struct file *file = vma->vm_file;
	unsigned long nr_pages = (range->end - range->start) >> PAGE_SHIFT;
	bool is_whole = range->end - range->start <= WHOLE;
	unsigned int len = is_whole ? PAGE_SIZE : PIECE;
	unsigned int i, nr = is_whole ? nr_pages : NR_PIECES;
	struct sframe_starts starts = {};
	bool reads_ahead = file && sfu_prefault_reads_ahead(file);
	bool is_complete = true;
	enum sframe_habit habit;
	int err;

	/* The kernel has mapped code without a file that has vm_ops, such as the vDSO. */
	if (!file)
		return vma->vm_ops ? SFRAME_HABIT_OTHER :
		       habit_nearby(range, nr_pieces) ?: habit_of_all(range, nr_pieces);
	/* Shared memory without a name, with the code of PHP's JIT: most pieces are never there. */
	if (IS_PRIVATE(file_inode(file)))
		return SFRAME_HABIT_OTHER;
	needs_all |= reads_ahead;
	for (i = 0; i < nr; i++) {
		unsigned int place = i * STRIDE % NR_PIECES;
		unsigned long off = is_whole ? i * PAGE_SIZE :
				    nr_pages * place / NR_PIECES * PAGE_SIZE +
				    i % (PAGE_SIZE / PIECE) * PIECE;

		err = count_in_file(&starts, prefault, file, off + range->vma.offset, len);
		if (err == -ENOEXEC)
			return SFRAME_HABIT_OTHER;
		*nr_pieces += err ? 1 : len / PIECE;
		is_complete &= !err;
		/* The other pieces only matter if the missing ones are read ahead. */
		if (needs_all && !is_complete && !(prefault && reads_ahead))
			break;
		habit = sframe_habit_early(&starts);
		if ((is_complete || !needs_all) && habit != SFRAME_HABIT_UNKNOWN)
			return habit;
	}
	return is_complete ? sframe_habit_final(&starts) : SFRAME_HABIT_UNKNOWN;
}
