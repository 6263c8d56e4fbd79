// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JIT tables: tables for code that a process generates while it runs (JIT code). User space loads
 * them with the ioctl SFRAME_PROCESS. The next scan of the process's mappings makes the map that
 * walks of stacks read, and enters the tables in it.
 *
 * A JIT table ends if a part of its code is unmapped, or with its mm, for example at execve(). A
 * process's list of JIT tables is changed under &sfu_process.lock, and read under RCU.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>

#include "map/process.h"
#include "sframe_stats.h"
#include "table/internal.h"
#include "table/wanted.h"

/*
 * Limits of one process: MAX_TABLES JIT tables, and 1/MEMORY_SHARE of the memory limit of tables.
 * If the limits were half, some code of JIT compilers with many mappings would have no table. If
 * they were twice, one process could take a quarter of the memory limit.
 */
#define MAX_TABLES	64
#define MEMORY_SHARE	8

struct jit_table {
	struct list_head	node;	/* node in &sfu_process.jit.tables, newest first */
	unsigned long		start;
	unsigned long		end;
	bool			is_over; /* true: code was unmapped, later scans skip the table */
	struct sfu_section	section;
	struct rcu_head		rcu;
};

static bool has_code(const struct jit_table *jit, unsigned long start, unsigned long end)
{
	return jit->start < end && start < jit->end;
}

/*
 * The hook of munmap() calls this before other code can be mapped: the JIT tables of the code end.
 * They also end if the kernel merges two mappings and removes one, though the code stays.
 */
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct jit_table *jit;

	list_for_each_entry_rcu(jit, &process->jit.tables, node)
		if (has_code(jit, start, end))
			WRITE_ONCE(jit->is_over, true);
}

/* Frees a process's JIT tables whose code was unmapped, or overlaps @start up to @end. */
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct jit_table *jit, *next;

	list_for_each_entry_safe(jit, next, &process->jit.tables, node) {
		if (!READ_ONCE(jit->is_over) && !has_code(jit, start, end))
			continue;
		list_del_rcu(&jit->node);
		sfu_table_put(&jit->section);
		atomic_long_dec(&sfu_held.process_tables);
		kfree_rcu(jit, rcu);
	}
}

/*
 * Called by a scan: finds the newest JIT table with code from @start to @end. Copies its section to
 * @section, and takes a reference of the table for the copy. Returns false if there is none.
 */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section)
{
	const struct jit_table *jit;

	list_for_each_entry(jit, &process->jit.tables, node) {
		if (READ_ONCE(jit->is_over) || !has_code(jit, start, end))
			continue;
		*section = jit->section;
		sfu_table_get(section);
		return true;
	}
	return false;
}

/* Returns true if the code of @range needs no JIT table: its file has, or may have, SFrame data. */
static bool is_described(const struct sfu_range *range)
{
	return range->section.source != SFU_SOURCE_JIT_TABLE &&
	       !sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * Called if a walk has ended at @addr, because no rows describe this code. If it may be JIT code,
 * stores @addr for sfu_jit_ask() and returns true: the caller then requests a scan.
 */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr)
{
	const struct sfu_range *range;

	if (!sfu_wanted_has_reader() || time_before(jiffies, READ_ONCE(process->jit.ask_at)))
		return false;
	range = sfu_map_find(map, addr);
	if (!range || is_described(range))
		return false;
	WRITE_ONCE(process->jit.asked_addr, addr);
	return true;
}

/* Called after a scan: asks user space for a table if a walk has ended in JIT code without one. */
void sfu_jit_ask(struct sfu_process *process)
{
	unsigned long addr = READ_ONCE(process->jit.asked_addr);

	if (!addr)
		return;
	WRITE_ONCE(process->jit.asked_addr, 0);
	/* Double the time between requests until user space loads a table: perhaps it never can. */
	process->jit.ask_wait = clamp(2 * process->jit.ask_wait, 1UL * HZ, 60UL * HZ);
	WRITE_ONCE(process->jit.ask_at, jiffies + process->jit.ask_wait);
	sfu_wanted_add_id(&(struct sfu_file_id){ .ino = process->number }, addr);
}

/* -ESTALE: not all code of @jit is mapped executable. -EEXIST: a file's SFrame may describe it. */
static int check_code(const struct jit_table *jit, struct mm_struct *mm, struct sfu_map *map)
{
	const struct vm_area_struct *vma;
	const struct sfu_range *range;
	unsigned long addr;

	for (addr = jit->start; addr < jit->end; addr = vma->vm_end) {
		vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr || !(vma->vm_flags & VM_EXEC))
			return -ESTALE;
		range = map ? sfu_map_find(map, addr) : NULL;
		if (range && is_described(range))
			return -EEXIST;
		cond_resched();
	}
	return 0;
}

static int check_limits(const struct jit_table *jit, const struct sfu_process *process)
{
	unsigned long size = jit->section.table->size;
	const struct jit_table *other;
	unsigned int nr = 1;

	list_for_each_entry(other, &process->jit.tables, node) {
		if (READ_ONCE(other->is_over) || has_code(other, jit->start, jit->end))
			continue;
		size += other->section.table->size;
		nr++;
	}
	return nr > MAX_TABLES || size > sfu_limit_bytes() / MEMORY_SHARE ? -ENOSPC : 0;
}

/*
 * Removes a process's JIT tables for the code of @jit, and adds @jit if it has a table. Returns 0;
 * -EAGAIN if another task holds &sfu_process.lock or, for writing, mmap_lock; or another error.
 */
static int replace(struct sfu_process *process, struct mm_struct *mm, struct jit_table *jit)
{
	const bool is_table = jit->section.table;
	struct sfu_map *map;
	int err = -EAGAIN;

	/* Only try to take the two locks: tasks of the process may hold them for ever. */
	if (!mutex_trylock(&process->lock))
		return err;
	/* Check and add @jit under mmap_lock: the hook of a later munmap() then finds @jit. */
	if (!mmap_read_trylock(mm))
		goto out;
	map = sfu_process_get_map(process);
	err = is_table ? check_code(jit, mm, map) ?: check_limits(jit, process) : 0;
	if (!err) {
		sfu_jit_forget(process, jit->start, jit->end);
		/* Let the next sample request a scan. Until this scan, walks use the old tables. */
		process->quota.wait = 0;
		WRITE_ONCE(process->quota.sample_at, 0);
		if (map)
			WRITE_ONCE(map->valid_until, jiffies - 1);
	}
	if (!err && is_table) {
		list_add_rcu(&jit->node, &process->jit.tables);
		process->jit.ask_wait = 0;
		atomic_long_inc(&sfu_held.process_tables);
	}
	sfu_map_put(map);
	mmap_read_unlock(mm);
out:
	mutex_unlock(&process->lock);
	return err;
}

static int compile_for(struct jit_table *jit, struct sfu_table_source *source, bool is_of_user)
{
	struct sfu_table *table;
	int err = -ENOSPC;

	guard(mutex)(&sfu_files_mutex);
	table = sfu_table_compile(source);
	if (IS_ERR(table))
		return PTR_ERR(table);
	/* If the table alone exceeds a process's memory limit, fail, and remove no other table. */
	if (table->size <= sfu_limit_bytes() / MEMORY_SHARE)
		err = sfu_files_make_room(source);
	if (err) {
		sfu_table_put_ref(table);
		return err;
	}
	jit->section.source = SFU_SOURCE_JIT_TABLE;
	atomic_set(&jit->section.state, SFU_SECTION_READY);
	return sfu_table_use(table, 0, is_of_user, &jit->section) ? 0 : -ENOSPC;
}

static int load_for(struct sfu_process *process, struct mm_struct *mm, bool is_of_user,
		    const struct sframe_process *load, struct sfu_table_source *source)
{
	struct jit_table *jit;
	int err = 0;

	/* No code: load nothing. The program only answers a request. sfu_jit_load() removed it. */
	if (!load->text_size)
		return 0;
	jit = kzalloc_obj(*jit, GFP_KERNEL_ACCOUNT);
	if (!jit)
		return -ENOMEM;
	jit->start = source->text_start;
	jit->end = source->text_end;
	if (source->bytes)
		err = compile_for(jit, source, is_of_user);
	jit->section.entry_start = load->entry_start;
	jit->section.entry_size = load->entry_size;
	if (!err)
		err = replace(process, mm, jit);
	if (!err && source->bytes)
		return 0;
	sfu_table_put(&jit->section);
	kfree(jit);
	if (err == -ENOSPC && !source->message[0])
		sfu_table_refuse(source, err, "no room for the table of a process");
	return err;
}

/*
 * The ioctl SFRAME_PROCESS: removes a process's JIT tables for the code of @load, and adds a table
 * if @source has a section. Also removes the request for a JIT table for this process.
 */
int sfu_jit_load(const struct sframe_process *load, struct sfu_table_source *source)
{
	struct sfu_process *process;
	struct mm_struct *mm;
	bool is_of_user;
	struct pid *pid;
	int err = -ESRCH;

	/* With CAP_SYS_PTRACE, a task can change any process anyway: allow any @load->pid. */
	if (!capable(CAP_SYS_PTRACE))
		return -EPERM;
	if (load->flags || load->section_addr >= TASK_SIZE_MAX ||
	    load->text_start > TASK_SIZE_MAX ||
	    load->text_size > TASK_SIZE_MAX - load->text_start ||
	    (source->bytes && !load->text_size) ||
	    !PAGE_ALIGNED(load->text_start | load->text_size))
		return -EINVAL;
	source->addr = load->section_addr;
	source->text_start = load->text_start;
	source->text_end = load->text_start + load->text_size;
	sfu_wanted_answer(&(struct sfu_file_id){ .ino = load->cookie });
	pid = find_get_pid(load->pid);
	mm = sfu_wanted_grab_mm(pid, &is_of_user);
	put_pid(pid);
	if (!mm)
		return err;
	rcu_read_lock();
	process = sfu_processes_find(mm);
	if (process && (process->number != load->cookie || !refcount_inc_not_zero(&process->refs)))
		process = NULL;
	rcu_read_unlock();
	if (process) {
		err = load_for(process, mm, is_of_user, load, source);
		sfu_process_put(process);
	}
	mmdrop(mm);
	return err;
}
