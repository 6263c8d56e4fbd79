// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the code of a range, to find out whether it keeps frame pointers.
 *
 * A scan reads pieces of code, spread over the range, until the answer is clear. Code of files is
 * read from the page cache, because a new program has no page tables for its code yet.
 *
 * Which pieces of a file are read depends on the file alone. Any reader of a file can bring pages
 * into the page cache, or drop them, and so choose what is found. So if the answer is remembered
 * for all processes, or missing pages are read ahead, no piece before the answer may be missing.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "map/scan.h"
#include "walk/user.h"

#define PIECE		512U		/* bytes in a piece of code, which is in one page */
#define NR_PIECES	32		/* maximum of pieces that are read of one range of a file */
#define STRIDE		13		/* coprime to any number of pieces: far apart, none twice */
#define WHOLE		(NR_PIECES * PIECE)	/* a range up to this size is read whole */

/* Reading a piece of JIT code takes as long as this many of a file: functions begin at any byte. */
#define JIT_PIECES	4

/* Pages of anonymous code that one scan reads. With half, JIT code needs twice as many scans. */
#define NR_PAGES	8U

/* Counts the prologues in code of one page of a file. Returns 0, or as sfu_prefault_get_folio(). */
static int count_in_file(struct sframe_prologues *starts, struct sfu_prefault *prefault,
			 struct file *file, u64 pos, unsigned int len)
{
	struct folio *folio = sfu_prefault_get_folio(prefault, file, pos >> PAGE_SHIFT);
	void *text;

	if (IS_ERR(folio))
		return PTR_ERR(folio);
	text = kmap_local_folio(folio, offset_in_folio(folio, pos));
	sframe_count_prologues(starts, text, len, false);
	kunmap_local(text);
	folio_put(folio);
	return 0;
}

/* Counts prologues in @nr pages of anonymous code. Skips pages that are not in memory. */
static void count_in_pages(struct sframe_prologues *starts, unsigned long addr, unsigned int nr,
			   unsigned int *nr_pieces)
{
	unsigned long page, off;
	u8 text[PIECE];

	*nr_pieces += nr * JIT_PIECES * (PAGE_SIZE / PIECE);
	for (page = addr; page < addr + nr * PAGE_SIZE; page += PAGE_SIZE)
		for (off = 0; off < PAGE_SIZE && !sfu_user_read(text, page + off, PIECE);
		     off += PIECE)
			sframe_count_prologues(starts, text, PIECE, true);
}

/* Finds out whether anonymous code in and before the page where a walk stopped keeps FP. */
static enum sframe_keeps_fp judge_nearby(const struct sfu_range *range, unsigned int *nr_pieces)
{
	unsigned long addr = range->missed_addr, end, start;
	struct sframe_prologues starts = {};

	if (addr < range->start || addr >= range->end)
		return SFRAME_KEEPS_FP_UNKNOWN;
	end = PAGE_ALIGN(addr + 1);
	start = end - min(end - range->start, (unsigned long)WHOLE);
	count_in_pages(&starts, start, (end - start) >> PAGE_SHIFT, nr_pieces);
	return sframe_keeps_fp_of_jit(&starts);
}

/*
 * Reads the next NR_PAGES pages of anonymous code, to find out from all pages read so far whether
 * the code keeps frame pointers. After the last page, the next call begins at the first page.
 */
static enum sframe_keeps_fp judge_all(struct sfu_range *range, unsigned int *nr_pieces)
{
	unsigned int nr_pages = (range->end - range->start) >> PAGE_SHIFT;
	unsigned int nr = min(nr_pages - range->nr_read, NR_PAGES);
	unsigned long addr = range->start + (unsigned long)range->nr_read * PAGE_SIZE;
	enum sframe_keeps_fp keeps_fp;

	count_in_pages(&range->starts, addr, nr, nr_pieces);
	range->nr_read += nr;
	keeps_fp = sframe_keeps_fp_early(&range->starts);
	if (range->nr_read == nr_pages) {
		range->nr_read = 0;
		range->was_read = true;
		range->starts = (struct sframe_prologues){};
	}
	return keeps_fp;
}

/*
 * Finds out whether the code of a range in the mm of current keeps frame pointers. @needs_all: the
 * answer is remembered for all processes, so no piece may be missing. Missing pages are read ahead
 * by @prefault, unless it is NULL. Increases @nr_pieces by the number of pieces that it has read or
 * missed. Returns SFRAME_KEEPS_FP_UNKNOWN if the counts in anonymous code are not clear, or a piece
 * of a file is not in memory. Under mmap_lock.
 */
enum sframe_keeps_fp sfu_text_keeps_fp(struct sfu_range *range, const struct vm_area_struct *vma,
				       bool needs_all, struct sfu_prefault *prefault,
				       unsigned int *nr_pieces)
{
	struct file *file = vma->vm_file;
	unsigned long nr_pages = (range->end - range->start) >> PAGE_SHIFT;
	bool is_whole = range->end - range->start <= WHOLE;
	unsigned int len = is_whole ? PAGE_SIZE : PIECE;
	unsigned int i, nr = is_whole ? nr_pages : NR_PIECES;
	bool reads_ahead = file && sfu_prefault_reads_ahead(file);
	struct sframe_prologues starts = {};
	enum sframe_keeps_fp keeps_fp;
	bool is_complete = true;

	/* The kernel itself has mapped this code, such as the vDSO: it is no JIT code. */
	if (!file && vma->vm_ops)
		return SFRAME_KEEPS_FP_NO;
	if (!file)
		return judge_nearby(range, nr_pieces) ?: judge_all(range, nr_pieces);
	/* Shared anonymous memory, as for PHP's JIT: most of it is never in memory to be read. */
	if (IS_PRIVATE(file_inode(file)))
		return SFRAME_KEEPS_FP_NO;
	needs_all |= reads_ahead;
	for (i = 0; i < nr; i++) {
		unsigned long page = nr_pages * (i * STRIDE % nr) / nr;
		unsigned long off = page * PAGE_SIZE + i * len % PAGE_SIZE;
		int err = count_in_file(&starts, prefault, file, range->vma.offset + off, len);

		if (err == -ENOEXEC)
			return SFRAME_KEEPS_FP_NO;
		*nr_pieces += err ? 1 : len / PIECE;
		is_complete &= !err;
		/* A piece is missing: go on only to let further missing pieces be read ahead. */
		if (needs_all && !is_complete && !(prefault && reads_ahead))
			break;
		keeps_fp = sframe_keeps_fp_early(&starts);
		if ((is_complete || !needs_all) && keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
			return keeps_fp;
	}
	return is_complete ? sframe_keeps_fp_final(&starts) : SFRAME_KEEPS_FP_UNKNOWN;
}
