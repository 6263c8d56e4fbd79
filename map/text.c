// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the code of a range, to find out whether it keeps frame pointers.
 *
 * It reads a few pieces, spread over the range, until the answer is clear. Code of files is read
 * from the page cache: the code of a new program is not in its page tables yet. Anonymous code is
 * read from the memory of the process. Nothing waits for a page.
 *
 * Which pieces of a file are read depends on the file alone. Any reader of a file can fill its page
 * cache, or empty it. So if the answer is remembered for all processes, or missing pages are read
 * for a scan, all pieces up to the last one that counts must be there.
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
#define STRIDE		13		/* coprime to NR_PIECES: distant pieces first, each once */
#define WHOLE		(NR_PIECES * PIECE)	/* a range of at most so many bytes is read whole */

/* The cost of a piece of a JIT's code, where a function may begin at any byte. */
#define JIT_PIECES	4

/*
 * Pages of anonymous code that one scan reads of each range, beside the code at which a walk has
 * stopped. With half of them, a JIT's functions wait for twice the scans.
 */
#define NR_PAGES	8U

/*
 * Counts functions in @len bytes at @pos, which are in one page of the page cache. Returns 0,
 * or why they are not there.
 */
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

/* Counts functions in @nr pages of anonymous code, of which some may not be in memory. */
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

/* Judges the code before the address at which a walk has stopped. It may have one function. */
static enum sframe_keeps_fp judge_nearby(const struct sfu_range *range, unsigned int *nr_pieces)
{
	unsigned long asked = range->asked, end, start;
	struct sframe_prologues starts = {};

	if (asked < range->start || asked >= range->end)
		return SFRAME_KEEPS_FP_UNKNOWN;
	end = PAGE_ALIGN(asked + 1);
	start = end - min(end - range->start, (unsigned long)WHOLE);
	count_in_pages(&starts, start, (end - start) >> PAGE_SHIFT, nr_pieces);
	return sframe_keeps_fp_of_jit(&starts);
}

/* Judges all anonymous code of the range. Each scan reads some of it, again and again. */
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

/**
 * sfu_text_keeps_fp() - find out whether the code of a range keeps frame pointers
 * @range: the range, of current's memory, or of memory that current has borrowed; what has been
 *	read of anonymous code is noted in it
 * @vma: its VMA
 * @needs_all: the answer is remembered for all processes, so no piece may be missing
 * @prefault: what the scan asks file systems to read; NULL: nothing
 * @nr_pieces: raised by the number of pieces of code that it reads, at most 32 of a file; by 1 for
 *	a page that is not there; by JIT_PIECES for each piece of anonymous code
 *
 * Context: Task, under mmap_lock. Waits for nothing. Reads at most 16 KiB of a file, or 48 KiB
 * of anonymous code.
 * Return: The answer; SFRAME_KEEPS_FP_UNKNOWN if anonymous code does not show it, or a piece of a
 * file is not in memory.
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

	/* The kernel has mapped this code, such as the vDSO. Only a debugger changes it. */
	if (!file && vma->vm_ops)
		return SFRAME_KEEPS_FP_NO;
	if (!file)
		return judge_nearby(range, nr_pieces) ?: judge_all(range, nr_pieces);
	/* Shared memory without a name, with the code of PHP's JIT: most pieces are never there. */
	if (IS_PRIVATE(file_inode(file)))
		return SFRAME_KEEPS_FP_NO;
	needs_all |= reads_ahead;
	for (i = 0; i < nr; i++) {
		unsigned int place = i * STRIDE % NR_PIECES;
		unsigned long off = is_whole ? i * PAGE_SIZE :
				    nr_pages * place / NR_PIECES * PAGE_SIZE +
				    i % (PAGE_SIZE / PIECE) * PIECE;
		int err = count_in_file(&starts, prefault, file, off + range->vma.offset,
					len);

		if (err == -ENOEXEC)
			return SFRAME_KEEPS_FP_NO;
		*nr_pieces += err ? 1 : len / PIECE;
		is_complete &= !err;
		/* The other pieces only matter if the missing ones are read ahead. */
		if (needs_all && !is_complete && !(prefault && reads_ahead))
			break;
		keeps_fp = sframe_keeps_fp_early(&starts);
		if ((is_complete || !needs_all) && keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
			return keeps_fp;
	}
	return is_complete ? sframe_keeps_fp_final(&starts) : SFRAME_KEEPS_FP_UNKNOWN;
}
