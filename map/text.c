// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds out, during a scan, whether the code of an executable mapping keeps frame pointers.
 *
 * The scan counts the function prologues in pieces of code, spread over the mapping, until the
 * answer is clear. It reads a file in the page cache: a new program has no page tables for it yet.
 *
 * A user who can read a file can load or drop its cached pages, and so choose the pieces that a
 * scan finds. So an answer is remembered for all processes only if the scan found every piece that
 * it sought. Then the answer depends on the file alone. If missing pages can be read ahead, the
 * scan gives no answer: a later scan finds these pages in the page cache.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "map/scan.h"
#include "walk/user.h"

#define PIECE		512U		/* length in bytes of a piece of code that a scan reads */
#define NR_PIECES	32		/* maximum of pieces that a scan reads of a file mapping */
/*
 * Step from one piece of code to the next that is read, modulo the number of pieces, which is
 * coprime to STRIDE. A scan may stop after few pieces: so these come from all over the mapping.
 */
#define STRIDE		13
#define WHOLE		(NR_PIECES * PIECE)

/*
 * On x86, the search for prologues tests each byte of JIT code, but only each 16th byte of a file.
 * So JIT code takes longer: one piece of it counts as this number of pieces of a file.
 */
#define JIT_PIECES	4

/* Pages of JIT code that one scan reads. With half, reading all code takes twice the scans. */
#define NR_PAGES	8U

/*
 * Counts the function prologues in @len bytes of code at @pos, in one page of a file. Returns 0, or
 * -EAGAIN: the page is not in the page cache;
 * -ENOEXEC: sfu_prefault_can_read() forbids to read the page cache, as for files on hugetlbfs.
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

/* Decides if JIT code keeps frame pointers, by the page of a walk's ip and the pages before it. */
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
 * Reads the next NR_PAGES pages of JIT code. Decides by all pages read so far whether the code
 * keeps frame pointers.
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
 * Called under mmap_lock: finds out whether the code of @range keeps frame pointers. Returns
 * SFRAME_KEEPS_FP_UNKNOWN if the prologues found do not decide it.
 * @needs_all: the answer will be remembered for all processes. So if any piece of the file that
 *	the scan seeks is not in the page cache, return SFRAME_KEEPS_FP_UNKNOWN. Do so also
 *	without @needs_all if the file can be read ahead: a later scan then knows all pieces.
 * @prefault: notes missing pages of a file, to read them ahead; or NULL.
 * @nr_pieces: grows by the number of pieces that were read or missing.
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

	/* The kernel itself has mapped this code, such as the vDSO. So it is no JIT code. */
	if (!file && vma->vm_ops)
		return SFRAME_KEEPS_FP_NO;
	if (!file)
		return judge_nearby(range, nr_pieces) ?: judge_all(range, nr_pieces);
	/* Search no prologues in shared anonymous memory: PHP's JIT leaves most of it empty. */
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
		/* If a needed piece is missing, the loop goes on only to read more pages ahead. */
		if (needs_all && !is_complete && !(prefault && reads_ahead))
			break;
		keeps_fp = sframe_keeps_fp_early(&starts);
		if ((is_complete || !needs_all) && keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
			return keeps_fp;
	}
	return is_complete ? sframe_keeps_fp_final(&starts) : SFRAME_KEEPS_FP_UNKNOWN;
}
