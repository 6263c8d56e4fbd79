// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of mapped files, without waiting for them.
 *
 * A file may be slow. A process may also hold up everybody who waits for its memory,
 * for ever: by a file system of its own, or by a userfaultfd that does not answer. A
 * scan waits for neither. It runs in the process itself, which would stop because it
 * is profiled, or in a worker, which has other processes to scan. So a scan uses what
 * the page cache has, and asks the file system to read ahead what it does not have.
 * The next scan finds it.
 *
 * Even the request to read ahead may wait, if a file system is full of requests that
 * nobody answers. Any user may serve FUSE, so a worker sends no request to FUSE. The
 * process does, when it is sampled in user mode.
 *
 * The budget bounds one scan in bytes and in time. Time also passes while the scan is
 * not running, so the first bytes are examined however late it is. mmap_lock is held
 * for reading, for one page at a time, as by a page fault.
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
#include <linux/sizes.h>

#include "sframe_prefault.h"
#include "sframe_user.h"

#define UNTIMED_BYTES	SZ_1M			/* examined however long it takes */
#define TIME_MAX	DIV_ROUND_UP(HZ, 20)

/**
 * sfu_prefault_budget() - the budget of a scan that begins now
 *
 * Context: Any.
 * Return: The budget.
 */
struct sfu_prefault_budget sfu_prefault_budget(void)
{
	return (struct sfu_prefault_budget){
		.bytes = SFU_PREFAULT_MAX,
		.timed_bytes = SFU_PREFAULT_MAX - UNTIMED_BYTES,
		.deadline = jiffies + TIME_MAX,
	};
}

/**
 * sfu_prefault_can_read() - may the page cache of a file be read?
 * @file: the file
 *
 * If a file has no read(), its page cache may hold memory that the kernel cannot read
 * either, such as that of memfd_secret().
 *
 * Context: Any.
 * Return: true if it may.
 */
bool sfu_prefault_can_read(struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) &&
	       (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_CAN_READ) &&
	       file->f_op->read_iter && !file->f_op->read;
}

/* Is the file memory? Then a read waits for nobody, and there is nothing to read ahead. */
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
 * sfu_prefault_read() - read a file, if the page cache has it
 * @file: the file; sfu_prefault_can_read()
 * @buf: set to the bytes
 * @len: bytes
 * @pos: offset in the file, in bytes
 *
 * Context: Task. Sleeps, but does not wait for the answer of a file system.
 * Return: 0; -EAGAIN if the file system was asked to read it; -ENOEXEC if the file is
 * shorter.
 */
int sfu_prefault_read(struct file *file, void *buf, size_t len, u64 pos)
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

	return !sfu_user_read(&byte, addr, sizeof(byte));
}

/* Does what a page fault would do, if nothing has to be waited for. Under mmap_lock. */
static int fault_in_nowait(struct vm_area_struct *vma, unsigned long addr)
{
	vm_fault_t result;

	result = handle_mm_fault(vma, addr, FAULT_FLAG_REMOTE | FAULT_FLAG_ALLOW_RETRY |
				 FAULT_FLAG_RETRY_NOWAIT, NULL);
	if (result & (VM_FAULT_RETRY | VM_FAULT_OOM))
		return -EAGAIN;
	return result & VM_FAULT_ERROR ? -EFAULT : 0;
}

/* Sets @missing to the offset in the file if the page cache does not have the page. */
static int map_page(struct mm_struct *mm, const struct file *file,
		    unsigned long addr, loff_t *missing)
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
			err = fault_in_nowait(vma, addr);
		} else {
			*missing = pos;
			err = -EAGAIN;
		}
	}
	mmap_read_unlock(mm);
	return err;
}

static bool is_spent(const struct sfu_prefault_budget *budget)
{
	return !budget->bytes ||
	       (budget->bytes <= budget->timed_bytes &&
		time_after(jiffies, budget->deadline)) ||
	       fatal_signal_pending(current);
}

/**
 * sfu_prefault_map() - make pages of a mapping present, if the page cache has them
 * @mm: memory of current, or borrowed by current
 * @file: the file that is mapped
 * @start: first address
 * @end: one past the last address
 * @budget: what may still be spent; reduced. One page is examined in any case
 *
 * Context: Task. Sleeps and takes mmap_lock, but waits for no file system and no
 * userfaultfd.
 * Return: 0 if all pages are present. Else the error of the first that is not: -EAGAIN
 * if another scan may find it, -EFAULT if it cannot be read.
 */
int sfu_prefault_map(struct mm_struct *mm, struct file *file, unsigned long start,
		     unsigned long end, struct sfu_prefault_budget *budget)
{
	bool has_asked = false;
	loff_t missing = -1;
	int err, first = 0;

	while (start < end) {
		if (!is_present(start)) {
			err = map_page(mm, file, start, &missing);
			if (missing >= 0 && !has_asked) {
				has_asked = true;
				read_ahead(file, missing, end - start);
				err = map_page(mm, file, start, &missing);
			}
			if (!err)
				budget->nr_pages++;
			else if (!first)
				first = err;
		}
		start = (start & PAGE_MASK) + PAGE_SIZE;
		budget->bytes -= min(budget->bytes, PAGE_SIZE);
		if (start < end && is_spent(budget))
			return first ?: -EAGAIN;
		cond_resched();
	}
	return first;
}
