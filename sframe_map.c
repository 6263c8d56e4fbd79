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
 * headers of their files, check the section's header and make its pages present,
 * for samples to find them; then publish. No file is waited for: see
 * sframe_pages.c. Files are read without mmap_lock, so before publishing each
 * mapping is looked at again. One learns
 *   - in the process itself, on its way back to user mode, if the sample that
 *     asked interrupted user mode: before another instruction runs;
 *   - else in a worker, which borrows the memory;
 *   - or directly, where the unwinder itself may sleep.
 *
 * What comes and goes is told by ftrace, at the functions where the kernel does
 * it: a mapping is made (and learned before its first instruction), removed
 * (and marked as gone), a process forks (and its child gets a copy) or ends (and
 * is taken out of the table). mmu notifiers would tell of some of it, but a
 * process that has one waits for a grace period at its end: measured with
 * 400 short processes, each took eight times as long.
 *
 * Lifetimes. A struct sfu_process pins the mm_struct, so an mm in the table is
 * never mistaken for a later one at the same address. Whoever takes it out of
 * the table (the process's end or module exit) frees it an RCU grace period
 * later. A map is freed an RCU grace period after its last reference, and the
 * rule cache with the process.
 *
 * Publishing happens under mmap_lock held for reading: munmap() removes the
 * mapping under the same lock held for writing before it tells. So either the
 * learner no longer sees the mapping, or the new map is told.
 *
 * Memory: about 150 bytes per executable mapping and 32 KiB of rule cache,
 * charged to the process's memory control group where it is learned by the
 * process.
 *
 * Limits: an address that is executable but not in the map costs an ask. A
 * process that learned nothing new waits, twice as long each time, before it
 * learns again; and no process spends more than half of its time on it, but
 * for what it maps itself.
 */
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <asm/irq_regs.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_cache.h"
#include "sframe_map.h"
#include "sframe_pages.h"
#include "sframe_stats.h"

#define LEARN_WAIT_MAX	HZ		/* between looks that find nothing new */
#define LEARN_RETRIES	3		/* if the mappings change meanwhile */
#define PROFILED_FOR	(600 * HZ)	/* after the last sample */
#define MAX_PHDRS	128
#define SFU_KEY_MAX	BIT_ULL(63)
#define GFP_HOOK	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)
#define PRESENT_MAX	(64UL << 20)	/* bytes made present in one turn */
#define PRESENT_SURE	SZ_1M		/* of these, however long it takes */
#define PRESENT_TIME	DIV_ROUND_UP(HZ, 20)

/**
 * struct sfu_process - a process whose mappings are known
 * @node: in processes, until its end
 * @mm: whose mappings; pinned
 * @lock: held to learn
 * @map: the mappings; replaced under @lock
 * @cache: rows of them; made with the first map that has a section
 * @next_key: for the next mapping learned; under @lock
 * @unsettled: a mapping's section was not there, or it or some code went, while
 *	other code of it is there
 * @learned_at: when @map was learned, in jiffies; under @lock
 * @wait: jiffies until it may be learned again; under @lock
 * @rcu: frees it
 */
struct sfu_process {
	struct hlist_node	node;
	struct mm_struct	*mm;
	struct mutex		lock;		/* one learner at a time */
	struct sfu_map __rcu	*map;
	struct sfu_cache	*cache;
	u64			next_key;
	bool			unsettled;
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

static struct sfu_map *map_alloc(unsigned int nr_regions, gfp_t gfp)
{
	struct sfu_map *map;

	map = gfpflags_allow_blocking(gfp) ?
		kvzalloc(struct_size(map, regions, nr_regions), gfp) :
		kzalloc(struct_size(map, regions, nr_regions), gfp);
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
void sfu_region_retire(struct sfu_region *region, enum sframe_defect fault)
{
	if (atomic_cmpxchg(&region->state, SFU_REGION_COVERED,
			   SFU_REGION_RETIRED) != SFU_REGION_COVERED)
		return;
	sfu_count(retired);
	sfu_count(faults[fault]);
}

static bool is_covered(const struct sfu_region *region)
{
	return atomic_read(&region->state) == SFU_REGION_COVERED;
}

static bool is_awaited(const struct sfu_region *region)
{
	return atomic_read(&region->state) == SFU_REGION_AWAITED;
}

/*
 * Returns whether code remains that has lost its section, or other code of the
 * same mapping, as when a library is loaded.
 */
static bool map_forget(struct sfu_map *map, unsigned long start, unsigned long end)
{
	bool remains = false;
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];
		bool code = start < region->end && region->start < end;
		bool section = start < region->sframe_end &&
			       region->sframe_start < end;

		if (!code && !section)
			continue;
		atomic_set(&region->state, SFU_REGION_GONE);
		remains |= region->start < start || end < region->end;
	}
	return remains;
}

/* ---- processes ---- */

/* Under RCU or processes_lock. Who keeps the memory alive may keep the process. */
static struct sfu_process *process_lookup(struct mm_struct *mm)
{
	struct sfu_process *process;

	hash_for_each_possible_rcu(processes, process, node, (unsigned long)mm,
				   lockdep_is_held(&processes_lock))
		if (process->mm == mm)
			return process;
	return NULL;
}

static size_t process_size(const struct sfu_process *process)
{
	return sizeof(*process) + (process->cache ? sizeof(*process->cache) : 0);
}

static struct sfu_process *process_alloc(struct mm_struct *mm, gfp_t gfp)
{
	struct sfu_process *process = kzalloc_obj(*process, gfp);

	if (!process)
		return NULL;
	mmgrab(mm);
	process->mm = mm;
	mutex_init(&process->lock);
	process->next_key = PAGE_SIZE;
	process->learned_at = jiffies;
	atomic_long_add(sizeof(*process), &sfu_held.bytes);
	atomic_long_inc(&sfu_held.processes);
	return process;
}

static void process_free_rcu(struct rcu_head *rcu)
{
	struct sfu_process *process = container_of(rcu, struct sfu_process, rcu);

	sfu_cache_free(process->cache);
	kfree(process);
}

/* Nobody finds it any more, but a sample may have it in hand. */
static void process_free(struct sfu_process *process)
{
	sfu_map_put(rcu_dereference_protected(process->map, true));
	mmdrop(process->mm);
	atomic_long_dec(&sfu_held.processes);
	atomic_long_sub(process_size(process), &sfu_held.bytes);
	call_rcu(&process->rcu, process_free_rcu);
}

/* Into the table, unless it is there already: the one that is there. */
static struct sfu_process *process_add(struct sfu_process *process)
{
	struct sfu_process *was;

	spin_lock(&processes_lock);
	was = process_lookup(process->mm);
	if (!was)
		hash_add_rcu(processes, &process->node, (unsigned long)process->mm);
	spin_unlock(&processes_lock);

	if (was)
		process_free(process);
	return was ?: process;
}

/* The process of @mm, made if need be. The caller keeps @mm's memory alive. */
static struct sfu_process *process_get(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = process_lookup(mm);
	rcu_read_unlock();
	if (process)
		return process;
	process = process_alloc(mm, GFP_KERNEL_ACCOUNT);
	return process ? process_add(process) : NULL;
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
	bool		known;		/* the region has been copied */
};

/**
 * struct lesson - what learning is to do
 * @process: whom to learn
 * @known: its map so far, or NULL
 * @asked: something was lacking: look at known sections, too
 * @news: set if anything was learned that @known has not, or brought in
 * @turn: for pages of sections
 */
struct lesson {
	struct sfu_process	*process;
	struct sfu_map		*known;
	bool			asked;
	bool			news;
	struct sfu_pages_turn	turn;
};

/* There is a section, but it is of no use, or not yet. */
static int fault(struct sfu_region *region, enum sframe_defect fault)
{
	region->settled = false;
	sfu_count(faults[fault]);
	return -ENOEXEC;
}

static int read_phdrs(struct file *file, struct elf64_phdr **phdrs, unsigned int *nr)
{
	struct elf64_hdr ehdr;
	int err;

	err = sfu_pages_read(file, &ehdr, sizeof(ehdr), 0);
	if (err)
		return err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(**phdrs) ||
	    ehdr.e_phnum == 0 || ehdr.e_phnum > MAX_PHDRS)
		return -ENOEXEC;

	*nr = ehdr.e_phnum;
	*phdrs = kcalloc(*nr, sizeof(**phdrs), GFP_KERNEL);
	if (!*phdrs)
		return -ENOMEM;
	err = sfu_pages_read(file, *phdrs, *nr * sizeof(**phdrs), ehdr.e_phoff);
	if (err)
		kfree(*phdrs);
	return err;
}

/* What is added to p_vaddr: from the segment that @offset of the file is in. */
static bool find_bias(const struct elf64_phdr *phdrs, unsigned int nr,
		      const struct sfu_region *region, u64 *bias)
{
	unsigned long offset = region->offset;
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

static int place_section(struct sfu_region *region, const struct elf64_phdr *phdrs,
			 unsigned int nr)
{
	const struct elf64_phdr *seg = find_segment(phdrs, nr);
	u64 bias;

	if (!seg || !find_bias(phdrs, nr, region, &bias))
		return -ENOEXEC;
	if (!is_loaded(phdrs, nr, seg))
		return fault(region, SFRAME_DEFECT_SEGMENT);
	region->sframe_start = bias + seg->p_vaddr;
	region->sframe_end = region->sframe_start + seg->p_filesz;
	if (region->sframe_end >= region->sframe_start &&
	    access_ok((void __user *)region->sframe_start, seg->p_filesz))
		return 0;
	region->sframe_start = 0;
	region->sframe_end = 0;
	return fault(region, SFRAME_DEFECT_SEGMENT);
}

/* Where the section of a mapping is. */
static int locate_section(struct sfu_region *region, const struct mapping *mapping)
{
	struct elf64_phdr *phdrs;
	unsigned int nr;
	int err;

	if (!mapping->file || !sfu_pages_readable(mapping->file))
		return -ENOEXEC;
	err = read_phdrs(mapping->file, &phdrs, &nr);
	if (err)
		return err;
	err = place_section(region, phdrs, nr);
	kfree(phdrs);
	return err;
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
static bool section_is_mapped(struct mm_struct *mm, const struct sfu_region *region)
{
	return mapped_from(mm, region->sframe_start, region->file) &&
	       mapped_from(mm, region->sframe_end - 1, region->file);
}

/* Something else may be mapped there. Then publish() would never agree. */
static int shows_section(struct mm_struct *mm, struct sfu_region *region)
{
	bool shown;

	mmap_read_lock(mm);
	shown = section_is_mapped(mm, region);
	mmap_read_unlock(mm);
	return shown ? 0 : fault(region, SFRAME_DEFECT_SEGMENT);
}

/* Make the pages present, for samples to find them. A failure costs samples. */
static void touch(struct lesson *lesson, const struct sfu_region *region,
		  struct file *file)
{
	unsigned long start = region->sec.addr;
	unsigned int before = lesson->turn.nr;

	sfu_pages_map(lesson->process->mm, file, start,
		      start + min(sframe_header_span(&region->sec), PRESENT_MAX),
		      &lesson->turn);
	lesson->news |= lesson->turn.nr > before;
}

static int read_present(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user_nofault(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

static int map_header(struct lesson *lesson, struct sfu_region *region,
		      struct file *file)
{
	unsigned long start = region->sframe_start;
	unsigned long size = min(region->sframe_end - start,
				 sizeof(struct sframe_raw_header));
	int err = sfu_pages_map(lesson->process->mm, file, start, start + size,
				&lesson->turn);

	return err == -EFAULT ? fault(region, SFRAME_DEFECT_SEGMENT) : err;
}

/* Only this machine's sections: the decoder knows more than can run here. */
static int check_section(struct lesson *lesson, struct sfu_region *region,
			 struct file *file)
{
	struct sframe_reader rd = {
		.read = read_present,
		.budget = SFRAME_READ_COST + sizeof(struct sframe_raw_header),
	};
	struct sframe_header *sec = &region->sec;
	int err;

	err = map_header(lesson, region, file);
	if (err)
		return err;
	err = sframe_header_read(sec, &rd, region->sframe_start,
				  region->sframe_end - region->sframe_start);
	/* It was there a moment ago. */
	if (err == -EFAULT)
		return -EAGAIN;
	if (err)
		return fault(region, rd.defect);
	if (sec->swapped)
		return fault(region, SFRAME_DEFECT_ENDIAN);
	if (sec->abi != SFU_ARCH_ABI)
		return fault(region, SFRAME_DEFECT_FOREIGN);
	return sec->num_fdes ? 0 : -ENOEXEC;
}

/*
 * Without mmap_lock: reads the file and the process's memory. Where a section
 * should be but is not, one may be mapped yet: that place is watched, too.
 */
static void learn_region(struct lesson *lesson, struct sfu_region *region,
			 const struct mapping *mapping)
{
	int err;

	region->settled = true;
	err = locate_section(region, mapping) ?:
	      shows_section(lesson->process->mm, region) ?:
	      check_section(lesson, region, mapping->file);
	if (err == -EAGAIN || err == -ENOMEM) {
		region->settled = false;
		atomic_set(&region->state, SFU_REGION_AWAITED);
	} else if (!err) {
		atomic_set(&region->state, SFU_REGION_COVERED);
	}
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

/*
 * Is the mapping known? Under mmap_lock. As long as a region is not gone its
 * file is mapped, so that no other file has come to have the same address.
 */
static struct sfu_region *find_known(struct sfu_map *known,
				     const struct sfu_region *region)
{
	struct sfu_region *was = known ? sfu_map_find(known, region->start) : NULL;

	return was && was->settled && was->start == region->start &&
	       was->end == region->end && was->file == region->file &&
	       was->offset == region->offset ? was : NULL;
}

/* Fills both arrays, as far as they go; what is known is copied. */
static void list_mappings(const struct lesson *lesson, struct sfu_map *map,
			  struct mapping *mappings)
{
	VMA_ITERATOR(vmi, lesson->process->mm, 0);
	struct mm_struct *mm = lesson->process->mm;
	struct vm_area_struct *vma;
	struct sfu_region *was;
	unsigned int nr = 0;

	mmap_read_lock(mm);
	for_each_vma(vmi, vma) {
		struct sfu_region *region = &map->regions[nr];

		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (nr == map->nr_regions)
			break;
		region->start = vma->vm_start;
		region->end = vma->vm_end;
		region->file = vma->vm_file;
		region->offset = vma->vm_pgoff << PAGE_SHIFT;
		was = find_known(lesson->known, region);
		if (was) {
			*region = *was;
			mappings[nr].known = true;
		}
		if (vma->vm_file)
			mappings[nr].file = get_file(vma->vm_file);
		nr++;
	}
	mmap_read_unlock(mm);

	/* Fewer than counted: the rest is empty, and past all addresses. */
	for (; nr < map->nr_regions; nr++) {
		map->regions[nr].start = ULONG_MAX;
		map->regions[nr].end = ULONG_MAX;
		map->regions[nr].settled = true;
	}
}

/* Is the region as it was when it was listed? Under mmap_lock. */
static bool still_valid(struct mm_struct *mm, const struct sfu_region *region)
{
	struct vm_area_struct *vma;

	if (region->start == ULONG_MAX)
		return true;
	vma = mapped_from(mm, region->start, region->file);
	if (!vma || vma->vm_start != region->start || vma->vm_end != region->end ||
	    vma->vm_pgoff << PAGE_SHIFT != region->offset)
		return false;
	return !is_covered(region) || section_is_mapped(mm, region);
}

/*
 * Publish what still holds. Mappings that went meanwhile are marked as gone;
 * -EAGAIN then says that the map is old already.
 */
static int publish(struct lesson *lesson, struct sfu_map *map,
		   const struct mapping *mappings)
{
	struct sfu_process *process = lesson->process;
	unsigned int i, nr_sections = 0;
	bool unsettled = false;
	struct sfu_map *old;
	int err = 0;

	mmap_read_lock(process->mm);
	for (i = 0; i < map->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];

		if (!still_valid(process->mm, region) ||
		    (mappings[i].known && !find_known(lesson->known, region))) {
			atomic_set(&region->state, SFU_REGION_GONE);
			err = -EAGAIN;
		}
		nr_sections += is_covered(region) || is_awaited(region);
		unsettled |= !region->settled;
	}
	map_set_sections(map, nr_sections);
	/* Pairs with sfu_map_lookup() and sfu_map_on_unmap(). */
	old = rcu_replace_pointer(process->map, map,
				  lockdep_is_held(&process->lock));
	if (unsettled)
		WRITE_ONCE(process->unsettled, true);
	mmap_read_unlock(process->mm);

	sfu_map_put(old);
	return err;
}

/* Has this mapping anything that was not known? */
static bool is_news(const struct lesson *lesson, const struct sfu_region *region,
		    const struct mapping *mapping)
{
	struct sfu_region *was;

	if (mapping->known)
		return false;
	was = lesson->known ? sfu_map_find(lesson->known, region->start) : NULL;
	return !was || was->start != region->start || was->end != region->end ||
	       was->sframe_start != region->sframe_start ||
	       atomic_read(&was->state) != atomic_read(&region->state);
}

/* Is a known section still to be read? */
static void look_again(struct lesson *lesson, struct sfu_region *region,
		       struct file *file)
{
	if (region->sframe_start && check_section(lesson, region, file) == -ENOEXEC)
		atomic_set(&region->state, SFU_REGION_PLAIN);
}

/* Keys are never used again: an address that is mapped anew has another one. */
static u64 new_key(struct sfu_process *process, u64 size)
{
	u64 key = process->next_key;

	if (size >= SFU_KEY_MAX - key)
		return 0;
	process->next_key += size;
	return key;
}

static void make_cache(struct sfu_process *process)
{
	process->cache = sfu_cache_alloc();
	if (process->cache)
		atomic_long_add(sizeof(*process->cache), &sfu_held.bytes);
}

static void learn_mapping(struct lesson *lesson, struct sfu_region *region,
			  struct mapping *mapping)
{
	if (!mapping->known)
		learn_region(lesson, region, mapping);
	else if (lesson->asked)
		look_again(lesson, region, mapping->file);
	lesson->news |= is_news(lesson, region, mapping);
	if (!is_covered(region))
		return;
	if (!mapping->known || lesson->asked)
		touch(lesson, region, mapping->file);
	if (!mapping->known)
		region->key = new_key(lesson->process, region->end - region->start);
	if (!lesson->process->cache)
		make_cache(lesson->process);
}

static int learn_once(struct lesson *lesson)
{
	unsigned int i, nr = count_mappings(lesson->process->mm);
	struct mapping *mappings;
	struct sfu_map *map;
	int err;

	mappings = kvcalloc(nr, sizeof(*mappings), GFP_KERNEL_ACCOUNT);
	map = map_alloc(nr, GFP_KERNEL_ACCOUNT);
	if (!mappings || !map) {
		sfu_map_put(map);
		kvfree(mappings);
		return -ENOMEM;
	}

	WRITE_ONCE(lesson->process->unsettled, false);
	list_mappings(lesson, map, mappings);
	for (i = 0; i < nr; i++)
		learn_mapping(lesson, &map->regions[i], &mappings[i]);
	map->cache = lesson->process->cache;
	err = publish(lesson, map, mappings);

	for (i = 0; i < nr; i++)
		if (mappings[i].file)
			fput(mappings[i].file);
	kvfree(mappings);
	sfu_count(learned);
	return err;
}

/* Under process->lock. */
static bool is_due(const struct sfu_process *process)
{
	return time_after_eq(jiffies, process->learned_at + process->wait);
}

static int learn(struct sfu_process *process, bool asked)
{
	unsigned long start = jiffies;
	struct lesson lesson = {
		.process = process,
		.asked = asked,
		.turn = {
			.left = PRESENT_MAX,
			.hurried = PRESENT_MAX - PRESENT_SURE,
			.deadline = start + PRESENT_TIME,
		},
	};
	int err, i;

	for (i = 0; i < LEARN_RETRIES; i++) {
		lesson.known =
			rcu_dereference_protected(process->map,
						  lockdep_is_held(&process->lock));
		lesson.news |= !lesson.known;
		err = learn_once(&lesson);
		if (err != -EAGAIN)
			break;
	}

	process->learned_at = jiffies;
	process->wait = lesson.news ? 0 : clamp(2 * process->wait, 1, LEARN_WAIT_MAX);
	process->wait = max(process->wait, process->learned_at - start);
	return err;
}

/**
 * sfu_map_learn() - learn the executable mappings of a process
 * @mm: its memory, which is current's, or borrowed by current
 * @seen: the map that turned out to lack something, or NULL; only compared
 *
 * What of it is known already is not read again, but made present.
 *
 * Context: Task. May sleep, takes mmap_lock.
 * Return: 0; -EAGAIN if the mappings keep changing (what was learned is in
 * use); -ENOMEM.
 */
int sfu_map_learn(struct mm_struct *mm, const struct sfu_map *seen)
{
	struct sfu_process *process = process_get(mm);
	int err = 0;

	if (!process)
		return -ENOMEM;

	mutex_lock(&process->lock);
	/* Another map has been learned meanwhile. */
	if (rcu_access_pointer(process->map) == seen && is_due(process))
		err = learn(process, true);
	mutex_unlock(&process->lock);
	return err;
}

/* For a worker. Nothing is left to be learned of a process that has ended. */
static bool borrow(struct mm_struct *mm)
{
	if (!mmget_not_zero(mm))
		return false;
	kthread_use_mm(mm);
	return true;
}

static void give_back(struct mm_struct *mm)
{
	kthread_unuse_mm(mm);
	mmput(mm);
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

	if (borrow(request->mm)) {
		sfu_map_learn(request->mm, request->seen);
		give_back(request->mm);
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

/* ---- what comes and goes ---- */

/**
 * struct birth - new code, to be learned before its first instruction
 * @mm: whose
 * @start: the new mapping's first address; 0: a process, or what is no code
 * @end: one past its last
 * @task_work: learns, in a task of the process
 * @work: or a worker does
 *
 * Only while anybody profiles. What is not learned here will be when a sample
 * asks.
 */
struct birth {
	struct mm_struct	*mm;
	unsigned long		start;
	unsigned long		end;
	struct callback_head	task_work;
	struct work_struct	work;
};

static atomic_t nr_births;
static unsigned long profiled_at;		/* in jiffies */

/**
 * sfu_map_note_profiler() - somebody profiles, or is about to
 *
 * Context: Any, NMI included.
 */
void sfu_map_note_profiler(void)
{
	unsigned long now = jiffies;

	/* Samples come on all CPUs: not each is to write. */
	if (now - READ_ONCE(profiled_at) > HZ)
		WRITE_ONCE(profiled_at, now);
}

static bool is_profiled(void)
{
	return time_before(jiffies, READ_ONCE(profiled_at) + PROFILED_FOR);
}

static void birth_done(struct birth *birth)
{
	mmdrop(birth->mm);
	kfree(birth);
	/* Pairs with sfu_map_exit(). */
	atomic_dec_return_release(&nr_births);
}

/* Under process->lock. Somebody may have been faster. */
static bool is_known(struct sfu_process *process, const struct birth *birth)
{
	struct sfu_map *map = rcu_dereference_protected(process->map,
							lockdep_is_held(&process->lock));
	struct sfu_region *region = map ? sfu_map_find(map, birth->start) : NULL;

	return region && region->start == birth->start && region->end == birth->end;
}

/* Who maps code pays for it at once; a worker has others to serve. */
static void learn_birth(struct birth *birth)
{
	struct sfu_process *process = process_get(birth->mm);
	bool in_task = !(current->flags & PF_KTHREAD);

	if (!process)
		return;
	mutex_lock(&process->lock);
	if (!is_known(process, birth) && (in_task || is_due(process)))
		/* Of a new process, the page tables are empty. */
		learn(process, !birth->start);
	mutex_unlock(&process->lock);
}

static void birth_task_work(struct callback_head *head)
{
	struct birth *birth = container_of(head, struct birth, task_work);

	if (current->mm == birth->mm)
		learn_birth(birth);
	birth_done(birth);
}

static void birth_worker(struct work_struct *work)
{
	struct birth *birth = container_of(work, struct birth, work);

	if (borrow(birth->mm)) {
		learn_birth(birth);
		give_back(birth->mm);
	}
	birth_done(birth);
}

/*
 * Learn @mm in @task, on its next way to user mode. A traced task may be stopped
 * on that way for as long as the tracer likes: a worker has to do.
 */
static void announce(struct task_struct *task, struct mm_struct *mm,
		     const struct vm_area_struct *code)
{
	struct birth *birth = kmalloc(sizeof(*birth), GFP_HOOK);

	if (!birth)
		return;
	mmgrab(mm);
	*birth = (struct birth){
		.mm = mm,
		.start = code ? code->vm_start : 0,
		.end = code ? code->vm_end : 0,
	};
	init_task_work(&birth->task_work, birth_task_work);
	INIT_WORK(&birth->work, birth_worker);
	atomic_inc(&nr_births);
	if (task->ptrace || task_work_add(task, &birth->task_work, TWA_RESUME))
		queue_work(learners, &birth->work);
}

/* A process with this map, NULL too, is known from now on; or it is not. */
static void process_begin(struct mm_struct *mm, struct sfu_map *map, u64 next_key)
{
	struct sfu_process *process = process_alloc(mm, GFP_HOOK);

	if (!process) {
		sfu_map_put(map);
		return;
	}
	RCU_INIT_POINTER(process->map, map);
	process->next_key = next_key;
	process_add(process);
}

/**
 * sfu_map_on_mmap() - current has a new mapping, or one that has changed
 * @vma: the mapping
 *
 * Context: Task, mmap_lock held, preemption disabled.
 */
void sfu_map_on_mmap(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct sfu_process *process;

	if (!vma->vm_file || mm != current->mm || current->flags & PF_KTHREAD ||
	    !is_profiled())
		return;
	rcu_read_lock();
	process = process_lookup(mm);
	/* There is no stack to unwind before the new program's first instruction. */
	if (!process && current->in_execve)
		process_begin(mm, map_alloc(0, GFP_HOOK), PAGE_SIZE);
	if (vma->vm_flags & VM_EXEC)
		announce(current, mm, vma);
	else if (process && READ_ONCE(process->unsettled))
		announce(current, mm, NULL);
	rcu_read_unlock();
}

/**
 * sfu_map_on_unmap() - a mapping has been removed
 * @vma: the mapping
 *
 * Context: Task, mmap_lock held, preemption disabled.
 */
void sfu_map_on_unmap(struct vm_area_struct *vma)
{
	struct sfu_process *process;
	struct sfu_map *map;

	rcu_read_lock();
	process = process_lookup(vma->vm_mm);
	map = process ? rcu_dereference(process->map) : NULL;
	if (map && map_forget(map, vma->vm_start, vma->vm_end))
		WRITE_ONCE(process->unsettled, true);
	rcu_read_unlock();
}

/* The parent's mappings that the child has, or NULL. Under the child's mmap_lock. */
static struct sfu_map *map_inherit(const struct sfu_map *from, struct mm_struct *mm)
{
	struct sfu_map *map = map_alloc(from->nr_regions, GFP_HOOK);
	unsigned int i;

	if (!map)
		return NULL;
	for (i = 0; i < from->nr_regions; i++) {
		struct sfu_region *region = &map->regions[i];

		*region = from->regions[i];
		if (!still_valid(mm, region))
			atomic_set(&region->state, SFU_REGION_GONE);
	}
	map_set_sections(map, from->nr_sections);
	return map;
}

/**
 * sfu_map_on_fork() - current has a new child, that has not run yet
 * @child: the child; it may share its memory with current
 *
 * Other threads of current may have changed its mappings since they were copied.
 *
 * Context: Task, preemption disabled.
 */
void sfu_map_on_fork(struct task_struct *child)
{
	struct mm_struct *mm = child->mm;
	struct sfu_process *parent;
	struct sfu_map *from, *map = NULL;

	if (!mm || mm == current->mm || !is_profiled())
		return;
	rcu_read_lock();
	parent = process_lookup(current->mm);
	from = parent ? rcu_dereference(parent->map) : NULL;
	if (from && mmap_read_trylock(mm)) {
		map = map_inherit(from, mm);
		mmap_read_unlock(mm);
	}
	if (map)
		process_begin(mm, map, READ_ONCE(parent->next_key));
	/* Its page tables are empty. */
	if (!map || map->nr_sections)
		announce(child, mm, NULL);
	rcu_read_unlock();
}

/**
 * sfu_map_on_exit() - a process ends: nobody has its memory any more
 * @mm: the memory
 *
 * Context: Task, preemption disabled.
 */
void sfu_map_on_exit(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = process_lookup(mm);
	rcu_read_unlock();
	/* Most are not known; and who has no users will not be any more. */
	if (!process)
		return;
	spin_lock(&processes_lock);
	hash_del_rcu(&process->node);
	spin_unlock(&processes_lock);
	process_free(process);
}

static bool requests_are_done(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		/* Pairs with request_done(). */
		if (smp_load_acquire(&requests[i].mm))
			return false;
	/* Pairs with birth_done(). */
	return !atomic_read_acquire(&nr_births);
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
	sfu_map_note_profiler();
	learners = alloc_workqueue("sframe_unwind", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return learners ? 0 : -ENOMEM;
}

/**
 * sfu_map_exit() - forget everything; nobody samples, walks or tells any more
 *
 * No new request can come. A request that is pending as task work is so in a
 * task that returns to user mode or exits, irq work and workers run by
 * themselves: all end, and after synchronize_rcu_tasks() no task is left in
 * the tail of task_work_learn() or birth_task_work(), which do not sleep there.
 * Then nobody else is left to use or change the table. rcu_barrier() waits for
 * process_free_rcu(); what was handed to kvfree_rcu() does not need the module.
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

	hash_for_each_safe(processes, i, next, process, node) {
		hash_del_rcu(&process->node);
		process_free(process);
	}
	rcu_barrier();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.processes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
}
