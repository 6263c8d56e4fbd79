// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process maps: which SFrame section covers an address of a process.
 *
 * Sample side. A map is an array of the process's executable mappings, built
 * once and constant but for the state of each. A sample looks the process up
 * by its mm in a hash table, and the address in the array; both under RCU,
 * from any context. All it can change is a state, by one atomic operation: a
 * section that contradicts itself is retired. What it misses, it asks for.
 *
 * Task side. A map is learned in a context that may sleep and has the memory
 * of the process: list the executable mappings, find PT_GNU_SFRAME in the ELF
 * headers of their files, check the section's header and touch its pages, so
 * that samples find them present; then publish. Files are read without
 * mmap_lock, so before publishing each mapping is looked at again. One learns
 *   - in the process itself, on its way back to user mode, if the sample that
 *     asked interrupted user mode: before another instruction runs;
 *   - else in a worker, which borrows the memory;
 *   - or directly, where the unwinder itself may sleep.
 *
 * Lifetimes. A struct sfu_process belongs to the mmu notifier that is
 * subscribed to the mm. The subscription pins the mm_struct, so an mm in the
 * table is never mistaken for a later one at the same address. The notifier
 * marks mappings as gone when they are unmapped, and takes the process out of
 * the table when it ends. Who takes it out (process or module exit) drops the
 * subscription; the memory follows after an SRCU and then an RCU grace period.
 * A map is freed an RCU grace period after its last reference.
 *
 * Publishing happens under mmap_lock held for reading: munmap() removes the
 * mapping under the same lock held for writing before it notifies. So either
 * the learner no longer sees the mapping, or the notifier sees the new map.
 *
 * Memory: about 120 bytes per executable mapping, charged to the process's
 * memory control group where it is learned by the process.
 *
 * Limits: an address that is executable but not in the map costs an ask. A
 * process that learned nothing new waits, twice as long each time, before it
 * learns again; and no process spends more than half of its time on it.
 */
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <asm/irq_regs.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_stats.h"

#define LEARN_WAIT_MAX	HZ		/* between looks that find nothing new */
#define LEARN_RETRIES	3		/* if the mappings change meanwhile */
#define MAX_PHDRS	128
#define TOUCH_MAX	(64UL << 20)	/* bytes of a section made present */
#define TOUCH_STEP	(256UL << 10)	/* between looks at fatal signals */

/**
 * struct sfu_process - a process whose mappings are known
 * @node: in processes; taken out once, under processes_lock
 * @hashed: in the table; under processes_lock
 * @notifier: owns this struct
 * @mm: whose mappings; pinned by the notifier
 * @lock: held to learn
 * @map: the mappings; replaced under @lock
 * @learned_at: when @map was learned, in jiffies; under @lock
 * @wait: jiffies until it may be learned again; under @lock
 * @rcu: frees it
 */
struct sfu_process {
	struct hlist_node	node;
	bool			hashed;
	struct mmu_notifier	notifier;
	struct mm_struct	*mm;
	struct mutex		lock;		/* one learner at a time */
	struct sfu_map __rcu	*map;
	unsigned long		learned_at;
	unsigned long		wait;
	struct rcu_head		rcu;
};

/* Read under RCU, written under processes_lock. */
static DEFINE_HASHTABLE(processes, 12);
static DEFINE_SPINLOCK(processes_lock);

/*
 * Requests to learn a process, claimed on the sample side and so never
 * allocated there. A slot is taken while @mm is set, and pins it.
 */
struct sfu_request {
	struct mm_struct	*mm;
	const struct sfu_map	*seen;		/* the map that was lacking */
	bool			by_task;	/* else by a worker */
	struct callback_head	task_work;
	struct irq_work		irq_work;
	struct work_struct	work;
};

static struct sfu_request requests[64];
static struct workqueue_struct *learners;

/* ---- maps ---- */

static size_t map_size(const struct sfu_map *map)
{
	return struct_size(map, regions, map->nr_regions);
}

static struct sfu_map *map_alloc(unsigned int nr_regions)
{
	struct sfu_map *map;

	map = kvzalloc(struct_size(map, regions, nr_regions), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	map->nr_regions = nr_regions;
	refcount_set(&map->refs, 1);
	atomic_long_add(map_size(map), &sfu_held.bytes);
	return map;
}

static void map_set_sections(struct sfu_map *map, unsigned int nr)
{
	atomic_long_add((long)nr - map->nr_sections, &sfu_held.sections);
	map->nr_sections = nr;
}

/**
 * sfu_map_put() - drop a reference
 * @map: the map; may be NULL
 *
 * Context: Task; does not sleep.
 */
void sfu_map_put(struct sfu_map *map)
{
	if (!map || !refcount_dec_and_test(&map->refs))
		return;
	map_set_sections(map, 0);
	atomic_long_sub(map_size(map), &sfu_held.bytes);
	kvfree_rcu(map, rcu);
}

/**
 * sfu_map_find() - the executable mapping that covers an address
 * @map: the map
 * @addr: user address
 *
 * Context: Any, while the map is held by RCU or a reference.
 * Return: The mapping, or NULL if none is known that still stands.
 */
struct sfu_region *sfu_map_find(struct sfu_map *map, unsigned long addr)
{
	unsigned int lo = 0, hi = map->nr_regions;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		struct sfu_region *region = &map->regions[mid];

		if (addr < region->start)
			hi = mid;
		else if (addr >= region->end)
			lo = mid + 1;
		else
			return atomic_read(&region->state) == SFU_REGION_GONE ?
				NULL : region;
	}
	return NULL;
}

/**
 * sfu_region_retire() - use a section no more: it contradicts itself
 * @region: the mapping it describes
 * @fault: what was found; counted by whoever comes first
 *
 * Context: Any, NMI included.
 */
void sfu_region_retire(struct sfu_region *region, enum sframe_fault fault)
{
	if (atomic_cmpxchg(&region->state, SFU_REGION_COVERED,
			   SFU_REGION_RETIRED) != SFU_REGION_COVERED)
		return;
	sfu_count(retired);
	sfu_count(faults[fault]);
}

static bool overlaps(const struct mmu_notifier_range *range,
		     unsigned long start, unsigned long end)
{
	return range->start < end && start < range->end;
}

static void map_forget(struct sfu_map *map, const struct mmu_notifier_range *range)
{
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];

		if (overlaps(range, region->start, region->end) ||
		    overlaps(range, region->sframe_start, region->sframe_end))
			atomic_set(&region->state, SFU_REGION_GONE);
	}
}

/* ---- processes ---- */

/* Under RCU, or in the process itself, which keeps itself in the table. */
static struct sfu_process *process_lookup(struct mm_struct *mm)
{
	struct sfu_process *process;

	hash_for_each_possible_rcu(processes, process, node, (unsigned long)mm,
				   true)
		if (process->mm == mm)
			return process;
	return NULL;
}

/* Out of the table; true for the one who did it. */
static bool process_unhash(struct sfu_process *process)
{
	bool hashed;

	spin_lock(&processes_lock);
	hashed = process->hashed;
	if (hashed)
		hash_del_rcu(&process->node);
	process->hashed = false;
	spin_unlock(&processes_lock);
	return hashed;
}

static int on_invalidate(struct mmu_notifier *notifier,
			 const struct mmu_notifier_range *range)
{
	struct sfu_process *process =
		container_of(notifier, struct sfu_process, notifier);
	struct sfu_map *map;

	/* Reclaim and migration bring the same bytes back. */
	if (range->event != MMU_NOTIFY_UNMAP)
		return 0;

	rcu_read_lock();
	map = rcu_dereference(process->map);
	if (map)
		map_forget(map, range);
	rcu_read_unlock();
	return 0;
}

static void on_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct sfu_process *process =
		container_of(notifier, struct sfu_process, notifier);

	if (process_unhash(process))
		mmu_notifier_put(notifier);
}

static struct mmu_notifier *on_alloc(struct mm_struct *mm)
{
	struct sfu_process *process;

	process = kzalloc_obj(*process, GFP_KERNEL_ACCOUNT);
	if (!process)
		return ERR_PTR(-ENOMEM);
	process->mm = mm;
	mutex_init(&process->lock);
	process->learned_at = jiffies;
	atomic_long_add(sizeof(*process), &sfu_held.bytes);
	atomic_long_inc(&sfu_held.processes);
	return &process->notifier;
}

static void on_free(struct mmu_notifier *notifier)
{
	struct sfu_process *process =
		container_of(notifier, struct sfu_process, notifier);

	sfu_map_put(rcu_dereference_protected(process->map, true));
	atomic_long_sub(sizeof(*process), &sfu_held.bytes);
	kfree_rcu(process, rcu);
	/* The last word: sfu_map_exit() waits for it. */
	if (atomic_long_dec_and_test(&sfu_held.processes))
		wake_up_var(&sfu_held.processes);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start	= on_invalidate,
	.release		= on_release,
	.alloc_notifier		= on_alloc,
	.free_notifier		= on_free,
};

/* The process of @mm, made if need be. The caller keeps @mm's memory alive. */
static struct sfu_process *process_get(struct mm_struct *mm)
{
	struct sfu_process *process;
	struct mmu_notifier *notifier;
	bool hashed;

	rcu_read_lock();
	process = process_lookup(mm);
	rcu_read_unlock();
	if (process)
		return process;

	notifier = mmu_notifier_get(&notifier_ops, mm);
	if (IS_ERR(notifier))
		return ERR_CAST(notifier);
	process = container_of(notifier, struct sfu_process, notifier);

	spin_lock(&processes_lock);
	hashed = process->hashed;
	if (!hashed)
		hash_add_rcu(processes, &process->node, (unsigned long)mm);
	process->hashed = true;
	spin_unlock(&processes_lock);

	/* Another thread was first: its reference is the one that counts. */
	if (hashed)
		mmu_notifier_put(notifier);
	return process;
}

/**
 * sfu_map_lookup() - the map of a process
 * @mm: its memory
 *
 * Context: Any, under rcu_read_lock(), which also bounds the use of the map.
 * Return: The map, or NULL if nothing has been learned yet.
 */
struct sfu_map *sfu_map_lookup(struct mm_struct *mm)
{
	struct sfu_process *process = process_lookup(mm);

	return process ? rcu_dereference(process->map) : NULL;
}

/**
 * sfu_map_get() - the map of a process, for a walk that may sleep
 * @mm: its memory
 *
 * Context: Task.
 * Return: The map with a reference, or NULL if nothing has been learned yet.
 */
struct sfu_map *sfu_map_get(struct mm_struct *mm)
{
	struct sfu_map *map;

	rcu_read_lock();
	map = sfu_map_lookup(mm);
	if (map && !refcount_inc_not_zero(&map->refs))
		map = NULL;
	rcu_read_unlock();
	return map;
}

/* ---- learning ---- */

/* A mapping as found, in the order of the map's regions. */
struct mapping {
	struct file	*file;		/* NULL: anonymous */
	unsigned long	offset;		/* in the file, bytes */
};

static bool fault(enum sframe_fault fault)
{
	sfu_count(faults[fault]);
	return false;
}

static int read_file(struct file *file, void *buf, size_t len, loff_t pos)
{
	ssize_t n = kernel_read(file, buf, len, &pos);

	return n == len ? 0 : -ENOEXEC;
}

/* kernel_read() complains in the log about what it cannot read. */
static bool is_readable(struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) &&
	       (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_CAN_READ) &&
	       file->f_op->read_iter && !file->f_op->read;
}

static struct elf64_phdr *read_phdrs(struct file *file, unsigned int *nr)
{
	struct elf64_phdr *phdrs;
	struct elf64_hdr ehdr;

	if (read_file(file, &ehdr, sizeof(ehdr), 0))
		return NULL;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(*phdrs) ||
	    ehdr.e_phnum == 0 || ehdr.e_phnum > MAX_PHDRS)
		return NULL;

	phdrs = kcalloc(ehdr.e_phnum, sizeof(*phdrs), GFP_KERNEL);
	if (!phdrs)
		return NULL;
	if (read_file(file, phdrs, ehdr.e_phnum * sizeof(*phdrs), ehdr.e_phoff)) {
		kfree(phdrs);
		return NULL;
	}
	*nr = ehdr.e_phnum;
	return phdrs;
}

/* What is added to p_vaddr: from the segment that @offset of the file is in. */
static bool find_bias(const struct elf64_phdr *phdrs, unsigned int nr,
		      const struct sfu_region *region, unsigned long offset,
		      u64 *bias)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct elf64_phdr *ph = &phdrs[i];
		u64 first = ph->p_offset & PAGE_MASK;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (offset < first || offset - first >= ph->p_filesz +
		    (ph->p_offset - first))
			continue;
		*bias = region->start - offset - (ph->p_vaddr - ph->p_offset);
		return true;
	}
	return false;
}

static bool is_loaded(const struct elf64_phdr *phdrs, unsigned int nr,
		      const struct elf64_phdr *seg)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct elf64_phdr *ph = &phdrs[i];
		u64 off = seg->p_vaddr - ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) &&
		    off <= ph->p_memsz && seg->p_filesz <= ph->p_memsz - off)
			return true;
	}
	return false;
}

static const struct elf64_phdr *find_segment(const struct elf64_phdr *phdrs,
					     unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (phdrs[i].p_type == SFRAME_PT_GNU_SFRAME)
			return &phdrs[i];
	return NULL;
}

/* Where the section of a mapping is; false if it has none that is usable. */
static bool locate_section(struct sfu_region *region, const struct mapping *mapping)
{
	const struct elf64_phdr *seg;
	struct elf64_phdr *phdrs;
	unsigned int nr;
	bool found;
	u64 bias;

	if (!mapping->file || !is_readable(mapping->file))
		return false;
	phdrs = read_phdrs(mapping->file, &nr);
	if (!phdrs)
		return false;

	seg = find_segment(phdrs, nr);
	found = seg && find_bias(phdrs, nr, region, mapping->offset, &bias);
	if (found && !is_loaded(phdrs, nr, seg))
		found = fault(SFRAME_FAULT_SEGMENT);
	if (found) {
		region->sframe_start = bias + seg->p_vaddr;
		region->sframe_end = region->sframe_start + seg->p_filesz;
		if (region->sframe_end < region->sframe_start ||
		    !access_ok((void __user *)region->sframe_start, seg->p_filesz))
			found = fault(SFRAME_FAULT_SEGMENT);
	}
	kfree(phdrs);
	return found;
}

/* The mapping of @file that @addr is in. Under mmap_lock. */
static struct vm_area_struct *mapped_from(struct mm_struct *mm,
					  unsigned long addr,
					  const struct file *file)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr && vma->vm_file == file ? vma : NULL;
}

/* Under mmap_lock. */
static bool section_is_mapped(struct mm_struct *mm, const struct sfu_region *region,
			      const struct file *file)
{
	return mapped_from(mm, region->sframe_start, file) &&
	       mapped_from(mm, region->sframe_end - 1, file);
}

/* Something else may be mapped there. Then publish() would never agree. */
static bool shows_section(struct mm_struct *mm, const struct sfu_region *region,
			  const struct mapping *mapping)
{
	bool shown;

	mmap_read_lock(mm);
	shown = section_is_mapped(mm, region, mapping->file);
	mmap_read_unlock(mm);
	return shown || fault(SFRAME_FAULT_SEGMENT);
}

static int read_user(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

/* Bring the pages in, so that samples find them. A failure costs samples. */
static void touch(const struct sfu_region *region)
{
	unsigned long addr = region->sec.addr;
	unsigned long end = addr + min(sframe_section_size(&region->sec), TOUCH_MAX);

	while (addr < end && !fatal_signal_pending(current)) {
		unsigned long n = min(end - addr, TOUCH_STEP);

		if (fault_in_readable((const char __user *)addr, n))
			return;
		addr += n;
		cond_resched();
	}
}

/* Only this machine's sections: the decoder knows more than can run here. */
static bool check_section(struct sfu_region *region)
{
	struct sframe_reader rd = {
		.read = read_user,
		.budget = SFRAME_READ_COST + sizeof(struct sframe_raw_header),
	};
	struct sframe_section *sec = &region->sec;
	int err;

	err = sframe_section_init(sec, &rd, region->sframe_start,
				  region->sframe_end - region->sframe_start);
	if (err == -EFAULT)
		return fault(SFRAME_FAULT_SEGMENT);
	if (err)
		return fault(rd.fault);
	if (sec->swapped)
		return fault(SFRAME_FAULT_ENDIAN);
	if (sec->abi != SFU_ARCH_ABI)
		return fault(SFRAME_FAULT_FOREIGN);
	if (sec->num_fdes == 0)
		return false;
	return true;
}

/*
 * Without mmap_lock: reads the file and the process's memory. Where a section
 * should be but is not, one may be mapped yet: that place is watched, too.
 */
static void learn_region(struct mm_struct *mm, struct sfu_region *region,
			 const struct mapping *mapping)
{
	if (!locate_section(region, mapping)) {
		region->sframe_start = 0;
		region->sframe_end = 0;
		return;
	}
	if (!shows_section(mm, region, mapping) || !check_section(region))
		return;
	touch(region);
	atomic_set(&region->state, SFU_REGION_COVERED);
}

static unsigned int count_mappings(struct mm_struct *mm)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;
	unsigned int nr = 0;

	mmap_read_lock(mm);
	for_each_vma(vmi, vma)
		nr += !!(vma->vm_flags & VM_EXEC);
	mmap_read_unlock(mm);
	return nr;
}

/* Fills both arrays, as far as they go; sets the number found. */
static void list_mappings(struct mm_struct *mm, struct sfu_map *map,
			  struct mapping *mappings)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;
	unsigned int nr = 0;

	mmap_read_lock(mm);
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (nr == map->nr_regions)
			break;
		map->regions[nr].start = vma->vm_start;
		map->regions[nr].end = vma->vm_end;
		if (vma->vm_file)
			mappings[nr].file = get_file(vma->vm_file);
		mappings[nr].offset = vma->vm_pgoff << PAGE_SHIFT;
		nr++;
	}
	mmap_read_unlock(mm);

	/* Fewer than counted: the rest is empty, and past all addresses. */
	for (; nr < map->nr_regions; nr++) {
		map->regions[nr].start = ULONG_MAX;
		map->regions[nr].end = ULONG_MAX;
	}
}

/* Is the region as it was when it was listed? Under mmap_lock. */
static bool still_valid(struct mm_struct *mm, const struct sfu_region *region,
			const struct mapping *mapping)
{
	struct vm_area_struct *vma;

	if (region->start == ULONG_MAX)
		return true;
	vma = mapped_from(mm, region->start, mapping->file);
	if (!vma || vma->vm_start != region->start || vma->vm_end != region->end ||
	    vma->vm_pgoff << PAGE_SHIFT != mapping->offset)
		return false;
	return atomic_read(&region->state) != SFU_REGION_COVERED ||
	       section_is_mapped(mm, region, mapping->file);
}

static bool is_plain(const struct sfu_region *region)
{
	return atomic_read(&region->state) == SFU_REGION_PLAIN;
}

static bool is_same(const struct sfu_region *a, const struct sfu_region *b)
{
	return a->start == b->start && a->end == b->end &&
	       a->sframe_start == b->sframe_start && is_plain(a) == is_plain(b);
}

/*
 * A section that contradicted itself stays retired while it is mapped.
 * Returns whether the new map has anything that the old one had not.
 */
static bool carry_over(struct sfu_map *old, struct sfu_map *map)
{
	bool news = false;
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];
		struct sfu_region *was = sfu_map_find(old, region->start);

		if (!was || !is_same(was, region))
			news = true;
		else if (atomic_read(&was->state) == SFU_REGION_RETIRED)
			atomic_set(&region->state, SFU_REGION_RETIRED);
	}
	return news;
}

/*
 * Publish what still holds. Mappings that went meanwhile are marked as gone;
 * -EAGAIN then says that the map is old already.
 */
static int publish(struct sfu_process *process, struct sfu_map *map,
		   const struct mapping *mappings)
{
	struct sfu_map *old;
	unsigned int i, nr_sections = 0;
	int err = 0;

	mmap_read_lock(process->mm);
	for (i = 0; i < map->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];

		if (!still_valid(process->mm, region, &mappings[i])) {
			atomic_set(&region->state, SFU_REGION_GONE);
			err = -EAGAIN;
		}
		nr_sections += atomic_read(&region->state) == SFU_REGION_COVERED;
	}
	map_set_sections(map, nr_sections);
	/* Pairs with sfu_map_lookup() and on_invalidate(). */
	old = rcu_replace_pointer(process->map, map,
				  lockdep_is_held(&process->lock));
	mmap_read_unlock(process->mm);

	sfu_map_put(old);
	return err;
}

static int learn_once(struct sfu_process *process, bool *news)
{
	struct sfu_map *old = rcu_dereference_protected(process->map,
					lockdep_is_held(&process->lock));
	unsigned int i, nr = count_mappings(process->mm);
	struct mapping *mappings;
	struct sfu_map *map;
	int err;

	mappings = kvcalloc(nr, sizeof(*mappings), GFP_KERNEL_ACCOUNT);
	map = map_alloc(nr);
	if (!mappings || !map) {
		sfu_map_put(map);
		kvfree(mappings);
		return -ENOMEM;
	}

	list_mappings(process->mm, map, mappings);
	for (i = 0; i < nr; i++)
		learn_region(process->mm, &map->regions[i], &mappings[i]);
	*news |= !old || carry_over(old, map);
	err = publish(process, map, mappings);

	for (i = 0; i < nr; i++)
		if (mappings[i].file)
			fput(mappings[i].file);
	kvfree(mappings);
	sfu_count(learned);
	return err;
}

/* Under process->lock. A map other than @seen has been learned meanwhile. */
static bool needs_learning(struct sfu_process *process, const struct sfu_map *seen)
{
	return rcu_access_pointer(process->map) == seen &&
	       time_after_eq(jiffies, process->learned_at + process->wait);
}

static int learn(struct sfu_process *process)
{
	unsigned long start = jiffies;
	bool news = false;
	int err, i;

	err = learn_once(process, &news);
	for (i = 1; i < LEARN_RETRIES && err == -EAGAIN; i++)
		err = learn_once(process, &news);

	process->learned_at = jiffies;
	process->wait = news ? 0 : clamp(2 * process->wait, 1, LEARN_WAIT_MAX);
	process->wait = max(process->wait, process->learned_at - start);
	return err;
}

/**
 * sfu_map_learn() - learn the executable mappings of a process
 * @mm: its memory, which is current's, or borrowed by current
 * @seen: the map that turned out to lack something, or NULL; only compared
 *
 * Context: Task. May sleep and fault, takes mmap_lock.
 * Return: 0; -EAGAIN if the mappings keep changing (what was learned is in
 * use); -ENOMEM; -EINTR.
 */
int sfu_map_learn(struct mm_struct *mm, const struct sfu_map *seen)
{
	struct sfu_process *process = process_get(mm);
	int err = 0;

	if (IS_ERR(process))
		return PTR_ERR(process);

	mutex_lock(&process->lock);
	if (needs_learning(process, seen))
		err = learn(process);
	mutex_unlock(&process->lock);
	return err;
}

/* ---- asking ---- */

static void request_done(struct sfu_request *request)
{
	struct mm_struct *mm = request->mm;

	/* Pairs with the cmpxchg() in sfu_map_ask(), and sfu_map_exit(). */
	smp_store_release(&request->mm, NULL);
	mmdrop(mm);
}

static void task_work_learn(struct callback_head *head)
{
	struct sfu_request *request =
		container_of(head, struct sfu_request, task_work);

	/* The task may be exiting, and have given its memory up. */
	if (current->mm == request->mm)
		sfu_map_learn(request->mm, request->seen);
	request_done(request);
}

static void worker_learn(struct work_struct *work)
{
	struct sfu_request *request = container_of(work, struct sfu_request, work);
	struct mm_struct *mm = request->mm;

	if (mmget_not_zero(mm)) {
		kthread_use_mm(mm);
		sfu_map_learn(mm, request->seen);
		kthread_unuse_mm(mm);
		mmput(mm);
	}
	request_done(request);
}

static void irq_work_learn(struct irq_work *irq_work)
{
	struct sfu_request *request =
		container_of(irq_work, struct sfu_request, irq_work);

	queue_work(learners, &request->work);
}

/* A worker's request does not keep the task from being faster. */
static struct sfu_request *request_claim(struct mm_struct *mm, bool by_task)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (READ_ONCE(requests[i].mm) == mm &&
		    READ_ONCE(requests[i].by_task) >= by_task)
			return NULL;
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (!READ_ONCE(requests[i].mm) && !cmpxchg(&requests[i].mm, NULL, mm))
			return &requests[i];
	return NULL;
}

/*
 * Is current about to return to user mode, whatever else happens? A task in a
 * system call may sleep for ever first, and task work cannot be cancelled.
 */
static bool returns_to_user(void)
{
	struct pt_regs *regs;

	if (in_nmi())
		return sfu_arch_nmi_from_user();
	if (!in_hardirq())
		return false;
	regs = get_irq_regs();
	return regs && user_mode(regs);
}

/**
 * sfu_map_ask() - ask for the mappings of the current process to be learned
 * @mm: current->mm
 * @seen: the map that lacks something, or NULL; only compared
 *
 * Nothing happens if it has been asked already, or too much is being asked;
 * the next sample asks again.
 *
 * Context: Any, NMI included.
 */
void sfu_map_ask(struct mm_struct *mm, const struct sfu_map *seen)
{
	bool by_task = returns_to_user();
	struct sfu_request *request = request_claim(mm, by_task);

	if (!request)
		return;
	sfu_count(asked);
	mmgrab(mm);
	request->seen = seen;
	WRITE_ONCE(request->by_task, by_task);
	if (by_task && !task_work_add(current, &request->task_work,
				      in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME))
		return;
	irq_work_queue(&request->irq_work);
}

static bool requests_are_done(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		/* Pairs with request_done(). */
		if (smp_load_acquire(&requests[i].mm))
			return false;
	return true;
}

/**
 * sfu_map_init() - get ready to learn
 *
 * Context: May sleep.
 * Return: 0, or -ENOMEM.
 */
int sfu_map_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		init_task_work(&requests[i].task_work, task_work_learn);
		requests[i].irq_work = IRQ_WORK_INIT_HARD(irq_work_learn);
		INIT_WORK(&requests[i].work, worker_learn);
	}
	learners = alloc_workqueue("sframe_unwind", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return learners ? 0 : -ENOMEM;
}

/**
 * sfu_map_exit() - forget everything; nobody samples or walks any more
 *
 * No new request can come. A request that is pending as task work is so in a
 * task that returns to user mode or exits, irq work and workers run by
 * themselves: all end, and after synchronize_rcu_tasks() no task is left in
 * the tail of task_work_learn(), which does not sleep there.
 *
 * Then each process is taken out of the table, by us or by its own end, and
 * who did it dropped the subscription. The notifier core frees the processes
 * in its own time; the last thing on_free() does is to count. It runs with
 * bottom halves disabled, so that after synchronize_rcu() it has returned, and
 * the same grace period covers all that was handed to kfree_rcu() for the
 * readers' sake (the memory itself does not need the module).
 *
 * Context: May sleep.
 */
void sfu_map_exit(void)
{
	struct sfu_process *process;
	struct hlist_node *next;
	unsigned int i;

	while (!requests_are_done())
		schedule_timeout_uninterruptible(1);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		irq_work_sync(&requests[i].irq_work);
	destroy_workqueue(learners);
	synchronize_rcu_tasks();

	/* RCU keeps what we look at; on_release() may take it out meanwhile. */
	rcu_read_lock();
	hash_for_each_safe(processes, i, next, process, node)
		if (process_unhash(process))
			mmu_notifier_put(&process->notifier);
	rcu_read_unlock();

	mmu_notifier_synchronize();
	wait_var_event(&sfu_held.processes,
		       !atomic_long_read(&sfu_held.processes));
	synchronize_rcu();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
}
