// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes pages of mapped files present in the page table, without waiting for the files.
 *
 * A file system may be slow, or served by a process (FUSE). If a scan waited for it, the process
 * would stop with mmap_lock held, and the module could not be unloaded. So a scan maps only pages
 * in the page cache, by filemap_map_pages(). If a page table is missing, a page fault adds it, but
 * may read the file. So page faults need a file system that surely answers, see can_fault().
 *
 * Missing pages are read ahead if has_trusted_io(). This may wait for a disk. So it is done last,
 * without any lock.
 */
#include <linux/backing-dev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/userfaultfd_k.h>

#include "map/scan.h"
#include "sframe_file_system.h"

/* Maximum of pages per call of filemap_map_pages(). With 128, preemption would be off longer. */
#define PAGES_AT_ONCE	64UL

/*
 * Maximum of bytes that a scan reads ahead. With half, large sections need more scans until they
 * are in memory; with the double, the task that scans waits longer for the disk.
 */
#define AHEAD_BYTES_MAX	((loff_t)SZ_8M)

/* Maximum of pages read ahead in one call: a fatal signal ends read-ahead only between calls. */
#define PAGES_AHEAD	512UL

/* Returns true if it is safe that page faults and read-ahead wait for the file system of @file. */
static bool has_trusted_io(const struct file *file)
{
	const struct super_block *sb = file_inode(file)->i_sb;

	/*
	 * Even on a disk (s_bdev is set), a file system may wait for others. FUSE waits for a user
	 * process, a cluster file system for machines that may never answer. So accept only file
	 * systems whose source code was examined. Of these, btrfs is on a disk but sets no s_bdev.
	 */
	return sb->s_magic == BTRFS_SUPER_MAGIC ||
	       (sframe_tells_changes(sb->s_magic) && sb->s_bdev);
}

/*
 * Returns true if the page cache of a mapped file may be read. Refuses:
 * - DAX files (in persistent memory): they have no page cache
 * - hugetlbfs: before 6.7, its page cache is indexed by huge pages (a08c7193e4f1, "mm/filemap:
 *   remove hugetlb special casing in filemap.c"), and can_map() refuses it on any kernel
 * - files without read(): even the kernel may be unable to read their memory (memfd_secret())
 */
bool sfu_prefault_can_read(struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) && !IS_DAX(file_inode(file)) &&
	       file_inode(file)->i_sb->s_magic != HUGETLBFS_MAGIC &&
	       (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_CAN_READ) &&
	       file->f_op->read_iter && !file->f_op->read;
}

bool sfu_prefault_reads_ahead(const struct file *file)
{
	return has_trusted_io(file) && !IS_DAX(file_inode(file));
}

static struct folio *get_cached(const struct file *file, pgoff_t index)
{
	struct folio *folio = filemap_get_folio(file->f_mapping, index);

	if (IS_ERR_OR_NULL(folio))
		return NULL;
	if (folio_test_uptodate(folio) && !PageHWPoison(folio_file_page(folio, index)))
		return folio;
	folio_put(folio);
	return NULL;
}

/* Notes a part of @file to read ahead later, if has_trusted_io() and the limits allow it. */
static void add_cold(struct sfu_prefault *prefault, const struct file *file, loff_t pos, loff_t len)
{
	unsigned int i;

	if (prefault->nr_cold == SFU_MAX_COLD || !sfu_prefault_reads_ahead(file))
		return;
	for (i = 0; i < prefault->nr_cold; i++) {
		const struct sfu_cold_file *cold = &prefault->cold[i];

		if (cold->file == file && pos >= cold->pos && pos - cold->pos < cold->len)
			return;
	}
	len = min(len, AHEAD_BYTES_MAX - prefault->bytes_cold);
	if (len <= 0)
		return;
	prefault->bytes_cold += len;
	prefault->cold[prefault->nr_cold++] = (struct sfu_cold_file){
		.file = get_file((struct file *)file), .pos = pos, .len = len,
	};
}

/*
 * Returns the folio of a file's page, with a reference; -EAGAIN if the page cache lacks the page;
 * -ENOEXEC if the page cache may not be read. With @prefault, a missing page is read ahead later.
 */
struct folio *sfu_prefault_get_folio(struct sfu_prefault *prefault, struct file *file,
				     pgoff_t index)
{
	struct folio *folio;

	if (!sfu_prefault_can_read(file))
		return ERR_PTR(-ENOEXEC);
	folio = get_cached(file, index);
	if (!folio && prefault)
		add_cold(prefault, file, (loff_t)index << PAGE_SHIFT, PAGE_SIZE);
	return folio ?: ERR_PTR(-EAGAIN);
}

/*
 * Reads @len bytes at @pos of a mapped file from the page cache. Returns 0; -EAGAIN if a page is
 * missing; -ENOEXEC if the file is shorter, or its page cache may not be read.
 */
int sfu_prefault_read(struct sfu_prefault *prefault, struct file *file, void *buf,
		      size_t len, loff_t pos)
{
	loff_t size = i_size_read(file_inode(file));

	if (!sfu_prefault_can_read(file) || pos < 0 || pos > size || len > size - pos)
		return -ENOEXEC;
	while (len) {
		size_t n = min_t(size_t, len, PAGE_SIZE - offset_in_page(pos));
		pgoff_t index = pos >> PAGE_SHIFT;
		struct folio *folio = get_cached(file, index);

		if (!folio) {
			add_cold(prefault, file, pos, len);
			return -EAGAIN;
		}
		memcpy_from_page(buf, folio_file_page(folio, index), offset_in_page(pos), n);
		folio_put(folio);
		buf += n;
		pos += n;
		len -= n;
	}
	return 0;
}

static bool can_map(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_READ && vma->vm_ops &&
	       !(vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP)) &&
	       !is_vm_hugetlb_page((struct vm_area_struct *)vma) &&
	       !userfaultfd_armed((struct vm_area_struct *)vma);
}

static pmd_t *find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d = pgd_none(*pgd) ? NULL : p4d_offset(pgd, addr);
	pud_t *pud = !p4d || p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);
	pmd_t *pmd = !pud || pud_none(*pud) || pud_leaf(*pud) ? NULL : pmd_offset(pud, addr);

	return !pmd || pmd_none(*pmd) ? NULL : pmd;
}

/*
 * Returns true if the page table has a present page at @addr or, if @or_away is set, a page that is
 * swapped out or being migrated. Does not read the page: this could cause a page fault.
 */
static bool has_page(struct mm_struct *mm, unsigned long addr, bool or_away)
{
	pmd_t *pmd = find_pmd(mm, addr), entry;
	pte_t pte;

	if (!pmd)
		return false;
	/* RCU keeps the page table in memory: the kernel frees page tables after a grace period. */
	guard(rcu)();
	entry = READ_ONCE(*pmd);
	if (!pmd_present(entry) || pmd_leaf(entry))
		return pmd_present(entry) || (or_away && !pmd_none(entry));
	pte = ptep_get(pte_offset_kernel(&entry, addr));
	return pte_present(pte) || (or_away && !pte_none(pte));
}

/*
 * Maps cached pages from @start to @end, which must all belong to one page table. If it is missing,
 * maps none. The caller has checked can_map(@vma).
 */
static void map_cached(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	pgoff_t first = linear_page_index(vma, start);
	struct vm_fault vmf = {
		.vma = vma,
		.gfp_mask = GFP_NOWAIT,
		.pgoff = first,
		.address = start,
		.real_address = start,
		.pmd = find_pmd(vma->vm_mm, start),
	};

	/*
	 * Never call a file system's own ->map_pages(). If the file system was examined (see
	 * has_trusted_io()), call filemap_map_pages() instead. xfs before 6.5 only adds a sleeping
	 * lock, which cached pages do not need. For others, do nothing: their own function may be
	 * needed. That of afs checks whether cached pages are still valid.
	 */
	if (!vmf.pmd || (vma->vm_ops->map_pages != filemap_map_pages &&
			 (!vma->vm_ops->map_pages || !has_trusted_io(vma->vm_file))))
		return;
	guard(rcu)();
	filemap_map_pages(&vmf, first, first + ((end - start) >> PAGE_SHIFT) - 1);
}

/*
 * Returns true if the control group has memory for a page table of each level. If it has not, a
 * page fault would call the OOM killer. So this function first allocates such pages, which may fail
 * without harm, and frees them. The kernel keeps their charge in this CPU's stock. The page fault
 * takes its charge from this stock, and hardly ever exceeds the group's memory limit.
 */
static bool has_memory(void)
{
	struct page *pages[CONFIG_PGTABLE_LEVELS - 1];
	unsigned int nr = 0;
	bool is_enough;

	while (nr < ARRAY_SIZE(pages) && (pages[nr] = alloc_page(SFU_GFP_TASK)))
		nr++;
	is_enough = nr == ARRAY_SIZE(pages);
	while (nr)
		__free_page(pages[--nr]);
	return is_enough;
}

/* Returns true if a page fault on @file is allowed: it waits for no user process and no server. */
static bool can_fault(const struct file *file)
{
	/*
	 * A fault on tmpfs reads no disk. But it waits while fallocate() punches a hole in the
	 * file. Then i_private is set, so return false. If fallocate() begins after this check, the
	 * fault waits until this hole is punched. This is accepted: the fault then returns, and
	 * map_page() does not repeat it.
	 */
	if (inode_to_bdi(file_inode(file)) == &noop_backing_dev_info)
		return !READ_ONCE(file_inode(file)->i_private);
	return has_trusted_io(file);
}

static void map_page(struct sfu_prefault *prefault, struct vm_area_struct *vma,
		     unsigned long addr, unsigned long end)
{
	pgoff_t index = linear_page_index(vma, addr);
	struct file *file = vma->vm_file;
	/*
	 * A fault reads the file if the page is not in the page cache. While this reference is
	 * held, reclaim cannot remove the folio from there. Only truncate() etc. can.
	 */
	struct folio *folio = get_cached(file, index);

	if (!folio) {
		add_cold(prefault, file, (loff_t)index << PAGE_SHIFT, end - addr);
		return;
	}
	/*
	 * Clear PG_readahead: with it, filemap_map_pages() skips the page, and a fault reads ahead.
	 * In writeback, the bit is PG_reclaim: leave it.
	 */
	if (folio_test_readahead(folio) && !folio_test_writeback(folio))
		folio_clear_readahead(folio);
	map_cached(vma, addr, addr + PAGE_SIZE);
	/* A fault on a page that is swapped out or migrated would wait for it: make no fault. */
	if (has_page(vma->vm_mm, addr, true) || prefault->lacks_memory || !can_fault(file))
		goto out;
	/* If memory is short, this scan makes no more faults: each try would reclaim memory. */
	prefault->lacks_memory = !has_memory();
	/* On tmpfs, a page fault would wait until the folio is unlocked: then make no fault. */
	if (!prefault->lacks_memory && !folio_test_locked(folio))
		handle_mm_fault(vma, addr, FAULT_FLAG_REMOTE | FAULT_FLAG_ALLOW_RETRY |
				FAULT_FLAG_RETRY_NOWAIT, NULL);
out:
	folio_put(folio);
}

/*
 * Makes pages of @file at user addresses from @start to @end present, if they are cached. Examines
 * at most &sfu_prefault.bytes, but at least one page. May sleep, but waits for no user process, not
 * even with FUSE or userfaultfd.
 */
void sfu_prefault_map(struct sfu_prefault *prefault, struct mm_struct *mm,
		      const struct file *file, unsigned long start, unsigned long end)
{
	struct vm_area_struct *vma = NULL;
	unsigned long addr, tried = 0;

	mmap_assert_locked(mm);
	for (addr = start & PAGE_MASK; addr < end; addr += PAGE_SIZE) {
		unsigned long len = min3(end - addr, max(prefault->bytes, PAGE_SIZE),
					 PAGES_AT_ONCE * PAGE_SIZE);

		if (!vma || addr >= vma->vm_end)
			vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr || vma->vm_file != file || !can_map(vma))
			return;
		prefault->nr_examined++;
		prefault->bytes -= min(prefault->bytes, PAGE_SIZE);
		if (!has_page(mm, addr, false)) {
			if (addr >= tried) {
				tried = min3(PAGE_ALIGN(addr + len), vma->vm_end,
					     ALIGN(addr + 1, PMD_SIZE));
				map_cached(vma, addr, tried);
			}
			if (!has_page(mm, addr, false))
				map_page(prefault, vma, addr, min(end, vma->vm_end));
			prefault->nr_mapped += has_page(mm, addr, false);
		}
		if (!prefault->bytes || fatal_signal_pending(current))
			return;
		cond_resched();
	}
}

static void read_ahead(const struct sfu_cold_file *cold)
{
	struct address_space *mapping = cold->file->f_mapping;
	loff_t size = i_size_read(mapping->host);
	pgoff_t index = cold->pos >> PAGE_SHIFT, end;

	end = DIV_ROUND_UP(min(size, cold->pos + cold->len), PAGE_SIZE);
	for (; index < end && !fatal_signal_pending(current); index += PAGES_AHEAD) {
		unsigned long nr = min(end - index, PAGES_AHEAD);
		/* With this ra_pages, page_cache_sync_readahead() reads all @nr pages at once. */
		struct file_ra_state ra = { .ra_pages = nr, .prev_pos = -1 };

		/*
		 * Not ->fadvise(): some file systems take locks there that a writer holds while it
		 * waits for user space. Not page_cache_ra_unbounded(): on some kernels, but not
		 * all, its caller must hold invalidate_lock.
		 */
		page_cache_sync_readahead(mapping, &ra, cold->file, index, nr);
		cond_resched();
	}
}

/* Reads ahead file pages that the scan did not find in the page cache. May wait for a disk. */
void sfu_prefault_finish(struct sfu_prefault *prefault)
{
	unsigned int i;

	for (i = 0; i < prefault->nr_cold; i++) {
		read_ahead(&prefault->cold[i]);
		fput(prefault->cold[i].file);
	}
	prefault->nr_cold = 0;
}
