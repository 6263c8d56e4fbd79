// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of mapped files, without waiting for them.
 *
 * A file may be slow, and a process may hold up who waits for its memory for
 * ever: by a file system of its own, or a userfaultfd that does not answer.
 * Who learns a process waits for neither, for it is either the process itself,
 * which would stop because it is profiled, or a worker, which has more to do.
 * So what the page cache has is used, and what it has not is asked for: the
 * file system is told to read ahead. What is not there at once is left to the
 * next turn.
 *
 * Even reading ahead may wait, where a file system is full of requests that
 * nobody answers. So a worker asks no FUSE, whose server any user may be: for
 * these the process asks, when it is sampled in user mode.
 *
 * One turn is bounded in bytes and in time. Time passes for who does not run,
 * too: a section of common size is looked at however late it is. mmap_lock is
 * held for reading, for one page at a time, as by a page fault.
 */
#include <linux/backing-dev.h>
#include <linux/fadvise.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "sframe_pages.h"

/**
 * sfu_pages_readable() - may the page cache of a file be read?
 * @file: the file
 *
 * That of files which cannot be read() may hold memory which the kernel cannot
 * read either, such as memfd_secret()'s.
 *
 * Context: Any.
 */
bool sfu_pages_readable(struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) &&
	       (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_CAN_READ) &&
	       file->f_op->read_iter && !file->f_op->read;
}

/* The file is memory: nothing is to be read ahead, and nobody to be waited for. */
static bool is_memory(const struct file *file)
{
	struct inode *inode = file_inode(file);

	return IS_DAX(inode) || inode_to_bdi(inode) == &noop_backing_dev_info;
}

static struct folio *get_cached(const struct file *file, u64 pos)
{
	struct folio *folio = filemap_get_folio(file->f_mapping, pos >> PAGE_SHIFT);

	if (IS_ERR(folio))
		return NULL;
	if (folio_test_uptodate(folio) && !folio_test_hwpoison(folio))
		return folio;
	folio_put(folio);
	return NULL;
}

static bool is_cached(const struct file *file, u64 pos)
{
	struct folio *folio = get_cached(file, pos);

	if (!folio)
		return false;
	folio_put(folio);
	return true;
}

static void read_ahead(struct file *file, u64 pos, u64 len)
{
	bool in_worker = current->flags & PF_KTHREAD;

	if (!in_worker || file_inode(file)->i_sb->s_magic != FUSE_SUPER_MAGIC)
		vfs_fadvise(file, pos, len, POSIX_FADV_WILLNEED);
}

static int read_memory(struct file *file, void *buf, size_t len, u64 pos)
{
	loff_t at = pos;

	return kernel_read(file, buf, len, &at) == len ? 0 : -ENOEXEC;
}

/**
 * sfu_pages_read() - read a file, as far as it is there
 * @file: the file; sfu_pages_readable()
 * @buf: set to what is there
 * @len: bytes
 * @pos: where in the file
 *
 * Context: Task. Sleeps, but for no file system's answer.
 * Return: 0; -EAGAIN if it has been asked for; -ENOEXEC if the file has no such
 * place.
 */
int sfu_pages_read(struct file *file, void *buf, size_t len, u64 pos)
{
	u64 size = i_size_read(file_inode(file));

	if (pos > size || len > size - pos)
		return -ENOEXEC;
	if (is_memory(file))
		return read_memory(file, buf, len, pos);

	while (len) {
		size_t n = min_t(size_t, len, PAGE_SIZE - offset_in_page(pos));
		struct folio *folio = get_cached(file, pos);
		void *page;

		if (!folio) {
			read_ahead(file, pos, len);
			folio = get_cached(file, pos);
		}
		if (!folio)
			return -EAGAIN;
		page = kmap_local_folio(folio, offset_in_folio(folio, pos));
		memcpy(buf, page, n);
		kunmap_local(page);
		folio_put(folio);
		buf += n;
		pos += n;
		len -= n;
	}
	return 0;
}

static bool is_present(unsigned long addr)
{
	u8 byte;

	return !copy_from_user_nofault(&byte, (void __user *)addr, 1);
}

/* As a page fault would, if nothing is to be waited for. Under mmap_lock. */
static int map_cached(struct vm_area_struct *vma, unsigned long addr)
{
	vm_fault_t what;

	what = handle_mm_fault(vma, addr, FAULT_FLAG_REMOTE | FAULT_FLAG_ALLOW_RETRY |
			       FAULT_FLAG_RETRY_NOWAIT, NULL);
	if (what & (VM_FAULT_RETRY | VM_FAULT_OOM))
		return -EAGAIN;
	return what & VM_FAULT_ERROR ? -EFAULT : 0;
}

/* Sets @ahead to the place in the file if it is to be read. */
static int map_page(struct mm_struct *mm, const struct file *file,
		    unsigned long addr, loff_t *ahead)
{
	struct vm_area_struct *vma;
	int err = -EFAULT;
	loff_t pos;

	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && vma->vm_file == file &&
	    vma->vm_flags & VM_READ) {
		pos = ((loff_t)vma->vm_pgoff << PAGE_SHIFT) + addr - vma->vm_start;
		if (is_memory(file) || is_cached(file, pos)) {
			err = map_cached(vma, addr);
		} else {
			*ahead = pos;
			err = -EAGAIN;
		}
	}
	mmap_read_unlock(mm);
	return err;
}

static bool turn_is_over(struct sfu_pages_turn *turn)
{
	return !turn->left ||
	       (turn->left <= turn->hurried && time_after(jiffies, turn->deadline)) ||
	       fatal_signal_pending(current);
}

/**
 * sfu_pages_map() - make the pages of a mapping present, as far as they are there
 * @mm: memory of the process current, or what current has borrowed
 * @file: the file that is mapped
 * @start: first address
 * @end: one past the last
 * @turn: what may still be spent; reduced. One page is looked at in any case
 *
 * Context: Task. Sleeps and takes mmap_lock, but waits for no file system and no
 * userfaultfd.
 * Return: 0 if all are present; else that of the first page that is not: -EAGAIN
 * if another turn may find it, -EFAULT if it cannot be read.
 */
int sfu_pages_map(struct mm_struct *mm, struct file *file, unsigned long start,
		  unsigned long end, struct sfu_pages_turn *turn)
{
	bool asked = false;
	loff_t ahead = -1;
	int err, first = 0;

	while (start < end) {
		if (!is_present(start)) {
			err = map_page(mm, file, start, &ahead);
			if (ahead >= 0 && !asked) {
				asked = true;
				read_ahead(file, ahead, end - start);
				err = map_page(mm, file, start, &ahead);
			}
			if (!err)
				turn->nr++;
			else if (!first)
				first = err;
		}
		start = (start & PAGE_MASK) + PAGE_SIZE;
		turn->left -= min(turn->left, PAGE_SIZE);
		if (start < end && turn_is_over(turn))
			return first ?: -EAGAIN;
		cond_resched();
	}
	return first;
}
