// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the code of a range, to find out whether it keeps frame pointers.
 *
 * It reads a few pieces, spread over the range, until the habit is clear. It reads them
 * from the page cache, for the code of a new program is not in its page tables yet.
 * Anonymous code is read from the memory of the process. A page that is not there is
 * skipped: nothing waits, and no page is read for this.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "sframe_map.h"
#include "sframe_prefault.h"
#include "sframe_text.h"
#include "sframe_user.h"

#define PIECE		512U		/* bytes of a page that are read */
#define NR_PIECES	32		/* read of one range, at most */
#define STRIDE		13		/* the order of the pieces: far apart, each of them once */

/* A range of so many bytes is read whole. */
#define WHOLE		(NR_PIECES * PIECE)

/*
 * Counts functions in @len bytes at @pos, which are in one page of the page cache. Returns 0,
 * or why they are not there.
 */
static int count_in_file(struct sframe_starts *starts, struct file *file, u64 pos,
			 unsigned int len)
{
	struct folio *folio = sfu_prefault_get_folio(file, pos >> PAGE_SHIFT);
	void *text;

	if (IS_ERR(folio))
		return PTR_ERR(folio);
	text = kmap_local_folio(folio, offset_in_folio(folio, pos));
	sframe_habit_count(starts, text, len);
	kunmap_local(text);
	folio_put(folio);
	return 0;
}

static int count_in_memory(struct sframe_starts *starts, unsigned long addr,
			   unsigned int len)
{
	u8 text[PIECE];
	unsigned int i;

	for (i = 0; i + PIECE <= len; i += PIECE) {
		if (sfu_user_read(text, addr + i, PIECE))
			return -EAGAIN;
		sframe_habit_count(starts, text, PIECE);
	}
	return 0;
}

/*
 * Is this code of the kernel's, such as the vDSO? It stays as it is, unless a debugger sets
 * a breakpoint.
 */
static bool is_special(const struct vm_area_struct *vma)
{
	return !vma->vm_file && vma->vm_ops;
}

/**
 * sfu_text_habit() - find out the habit of a range
 * @range: the range, of current's memory, or of memory that current has borrowed
 * @vma: its VMA
 * @nr_pieces: raised by the number of pieces of code that it reads, at most 32
 *
 * Context: Task, under mmap_lock. Waits for nothing. Reads at most 16 KiB.
 * Return: The habit; SFRAME_HABIT_UNKNOWN if it is not clear, and code is not in memory.
 */
enum sframe_habit sfu_text_habit(const struct sfu_range *range,
				 const struct vm_area_struct *vma, unsigned int *nr_pieces)
{
	struct file *file = vma->vm_file;
	unsigned long nr_pages = (range->end - range->start) >> PAGE_SHIFT;
	bool is_whole = range->end - range->start <= WHOLE;
	unsigned int len = is_whole ? PAGE_SIZE : PIECE;
	unsigned int i, nr = is_whole ? nr_pages : NR_PIECES;
	struct sframe_starts starts = {};
	bool is_complete = file;	/* anonymous code may still be written */
	enum sframe_habit habit;
	int err;

	for (i = 0; i < nr; i++) {
		unsigned int place = i * STRIDE % NR_PIECES;
		unsigned long off = is_whole ? i * PAGE_SIZE :
				    nr_pages * place / NR_PIECES * PAGE_SIZE +
				    i % (PAGE_SIZE / PIECE) * PIECE;

		if (file)
			err = count_in_file(&starts, file, off + range->vma.offset, len);
		else
			err = count_in_memory(&starts, range->start + off, len);
		if (err == -ENOEXEC)
			return SFRAME_HABIT_OTHER;
		*nr_pieces += len / PIECE;
		is_complete &= !err;
		habit = sframe_habit_early(&starts);
		if (habit != SFRAME_HABIT_UNKNOWN)
			return habit;
	}
	if (is_special(vma))
		return SFRAME_HABIT_OTHER;
	return is_complete ? sframe_habit_final(&starts) : SFRAME_HABIT_UNKNOWN;
}
