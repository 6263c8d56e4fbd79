// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes pages of mapped files present in the page table, without waiting for the files.
 *
 * A file system may be slow, or a process may serve it (FUSE). If a scan waited for a file,
 * profiling would stop the process while it holds mmap_lock, and the module could not be unloaded.
 * So a scan uses only pages that are in the page cache.
 *
 * filemap_map_pages() enters pages of the page cache into the page table, and does nothing else. It
 * needs an existing page table, and skips pages that are marked for read-ahead. A page fault
 * allocates a missing page table. If the page leaves the page cache at that moment, the fault reads
 * it from the file. So page faults are made only if the file system is known to answer, see
 * has_trusted_io(), or if the file is in memory.
 *
 * Pages that are missing in the page cache are read ahead if has_trusted_io(). This may wait for a
 * disk, as the process does for its own pages. It is done last, without any lock.
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

/* Pages that one filemap_map_pages() maps. With the double, it disables preemption for longer. */
#define PAGES_AT_ONCE	64UL

/* Bytes that a scan reads ahead. Half: large sections come later. Double: tasks wait longer. */
#define AHEAD_BYTES_MAX	((loff_t)SZ_8M)

/* Pages that one page_cache_sync_readahead() reads. A fatal signal ends the read-ahead after it. */
#define PAGES_AHEAD	512UL

/*
 * Returns true if page faults and read-ahead are allowed to wait for the file system of @file: one
 * that the kernel reads from a disk, and that has been examined. A user process may serve FUSE,
 * even on a block device. Servers on a network, and other machines of a cluster, may never answer.
 */
static bool has_trusted_io(const struct file *file)
{
	const struct super_block *sb = file_inode(file)->i_sb;

	/* btrfs reads disks, but has no s_bdev. */
	return sb->s_magic == BTRFS_SUPER_MAGIC ||
	       (sframe_tells_changes(sb->s_magic) && sb->s_bdev);
}

/*
 * Returns true if the page cache of a mapped file may be read.
 *
 * The page cache of a file without read() may have memory that the kernel cannot read either, such
 * as the memory of memfd_secret(). A file in persistent memory (DAX) has no page cache. The page
 * cache of hugetlbfs is indexed by huge pages before 6.7 (a08c7193e4f1, "mm/filemap: remove hugetlb
 * special casing in filemap.c"), and can_map() refuses its mappings on any kernel.
 */
bool sfu_prefault_can_read(struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) && !IS_DAX(file_inode(file)) &&
	       file_inode(file)->i_sb->s_magic != HUGETLBFS_MAGIC &&
	       (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_CAN_READ) &&
	       file->f_op->read_iter && !file->f_op->read;
}

/* Returns true if sfu_prefault_finish() reads missing pages of the file into memory. */
bool sfu_prefault_reads_ahead(const struct file *file)
{
	return has_trusted_io(file) && !IS_DAX(file_inode(file));
}

/* Returns the folio of a page, with a reference; NULL if its data is not in the page cache. */
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

/* Notes a part of @file that sfu_prefault_finish() has to read ahead, if the limits allow this. */
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
 * Finds a page of a mapped file in the page cache. Unless @prefault is NULL, sfu_prefault_finish()
 * reads a missing page ahead. Returns the folio, with a reference; -EAGAIN if the page is missing;
 * -ENOEXEC if the page cache of the file may not be read.
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
 * Returns true if the page table has a page at @addr that is present or, if @or_away is set, is
 * swapped out or being migrated. Does not read the page, because that could cause a page fault.
 */
static bool has_page(struct mm_struct *mm, unsigned long addr, bool or_away)
{
	pmd_t *pmd = find_pmd(mm, addr), entry;
	pte_t pte;

	if (!pmd)
		return false;
	/* RCU keeps the page table in memory: it is freed after a grace period. */
	guard(rcu)();
	entry = READ_ONCE(*pmd);
	if (!pmd_present(entry) || pmd_leaf(entry))
		return pmd_present(entry) || (or_away && !pmd_none(entry));
	pte = ptep_get(pte_offset_kernel(&entry, addr));
	return pte_present(pte) || (or_away && !pte_none(pte));
}

/*
 * Maps pages of the page cache, if their page table exists. The caller makes sure that they lie in
 * one page table, and in @vma, for which can_map() is true. If has_trusted_io(),
 * filemap_map_pages() replaces another ->map_pages(): before 6.5, that of xfs only adds a sleeping
 * lock, which is not needed. Pages of afs are not mapped: afs must ask its server first.
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

	if (!vmf.pmd || (vma->vm_ops->map_pages != filemap_map_pages &&
			 (!vma->vm_ops->map_pages || !has_trusted_io(vma->vm_file))))
		return;
	guard(rcu)();
	filemap_map_pages(&vmf, first, first + ((end - start) >> PAGE_SHIFT) - 1);
}

/*
 * Returns true if a page for each level of page tables can be allocated. The pages are freed, but
 * their charge stays with this CPU for the next allocations of the control group. So the page fault
 * that follows hardly ever exceeds the limit of the group, which would call the OOM killer.
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

/*
 * Returns true if a page fault on this file is allowed. A file of tmpfs has no disk, but a fault on
 * it waits while a hole is punched into it, and i_private is set during that time. If i_private is
 * set later, the fault waits only until this hole is punched.
 */
static bool can_fault(const struct file *file)
{
	if (inode_to_bdi(file_inode(file)) == &noop_backing_dev_info)
		return !READ_ONCE(file_inode(file)->i_private);
	return has_trusted_io(file);
}

/* Maps the page at @addr, which map_cached() left out; or notes it, up to @end, for read-ahead. */
static void map_page(struct sfu_prefault *prefault, struct vm_area_struct *vma,
		     unsigned long addr, unsigned long end)
{
	pgoff_t index = linear_page_index(vma, addr);
	struct file *file = vma->vm_file;
	struct folio *folio = get_cached(file, index);

	if (!folio) {
		add_cold(prefault, file, (loff_t)index << PAGE_SHIFT, end - addr);
		return;
	}
	/* This mark would make a fault read ahead. Under writeback, it means PG_reclaim. */
	if (folio_test_readahead(folio) && !folio_test_writeback(folio))
		folio_clear_readahead(folio);
	map_cached(vma, addr, addr + PAGE_SIZE);
	/* A fault on a page that is swapped out or being migrated would wait for the page. */
	if (has_page(vma->vm_mm, addr, true) || prefault->lacks_memory || !can_fault(file))
		goto out;
	/* After one failure, more tries would only reclaim memory of the control group again. */
	prefault->lacks_memory = !has_memory();
	/*
	 * This page fault allocates the page table. The reference to the folio keeps the page in
	 * the page cache. A fault on tmpfs would wait for the folio lock, which migration may hold.
	 */
	if (!prefault->lacks_memory && !folio_test_locked(folio))
		handle_mm_fault(vma, addr, FAULT_FLAG_REMOTE | FAULT_FLAG_ALLOW_RETRY |
				FAULT_FLAG_RETRY_NOWAIT, NULL);
out:
	folio_put(folio);
}

/*
 * Makes pages of @file from @start to @end present, if they are in the page cache: at least one,
 * even if &sfu_prefault.bytes is 0. May sleep, but waits neither for a file system that a user
 * process serves, nor for userfaultfd.
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

/*
 * Starts to read a part of a file ahead. ->fadvise() is not used: in some file systems it takes
 * locks that a writer holds while it waits for user space. page_cache_ra_unbounded() is not used:
 * its caller must hold invalidate_lock on some kernels, but not on others.
 */
static void read_ahead(const struct sfu_cold_file *cold)
{
	struct address_space *mapping = cold->file->f_mapping;
	loff_t size = i_size_read(mapping->host);
	pgoff_t index = cold->pos >> PAGE_SHIFT, end;

	end = DIV_ROUND_UP(min(size, cold->pos + cold->len), PAGE_SIZE);
	for (; index < end && !fatal_signal_pending(current); index += PAGES_AHEAD) {
		unsigned long nr = min(end - index, PAGES_AHEAD);
		/* ra_pages limits how much page_cache_sync_readahead() reads. */
		struct file_ra_state ra = { .ra_pages = nr, .prev_pos = -1 };

		page_cache_sync_readahead(mapping, &ra, cold->file, index, nr);
		cond_resched();
	}
}

/* Reads ahead the parts of files that a scan has missed in the page cache. May wait for a disk. */
void sfu_prefault_finish(struct sfu_prefault *prefault)
{
	unsigned int i;

	for (i = 0; i < prefault->nr_cold; i++) {
		read_ahead(&prefault->cold[i]);
		fput(prefault->cold[i].file);
	}
	prefault->nr_cold = 0;
}
