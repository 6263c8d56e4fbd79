// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables for code that a process generates while it runs (JIT code), loaded with SFRAME_PROCESS. A
 * scan copies their sections to the map of the process, for code that no file describes. Walks of
 * stacks use the map.
 *
 * A JIT table ends with its mm, so execve() ends it, too. If a part of its code is unmapped, the
 * hook of munmap() marks the table as over before other code can be mapped there. If two mappings
 * merge, the kernel reports the removal of one of them, which ends the table. SFRAME_PROCESS checks
 * that the code is mapped, and adds the table, under mmap_lock: either the check or the hook
 * detects an unmapping.
 *
 * The list of JIT tables is changed under &sfu_process.lock, and read under RCU. SFRAME_PROCESS
 * only tries to take this lock and mmap_lock: tasks of the process may hold them for ever.
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
 * Limits for the JIT tables of one process: their number, and their part of the table memory. With
 * half, a JIT compiler with many mappings has code without rows. With twice, it may take a quarter.
 */
#define MAX_TABLES	64
#define MEMORY_SHARE	8

/* A table for JIT code of one process, made by SFRAME_PROCESS. */
struct jit_table {
	struct list_head	node;	/* node in the list of the process, newest first */
	unsigned long		start;	/* user address of the first byte of the code */
	unsigned long		end;	/* one past the last byte of the code */
	bool			is_over; /* set for ever when a part of the code is unmapped */
	struct sfu_section	section; /* scans copy it to maps; refers to the compiled table */
	struct rcu_head		rcu;
};

/* Returns true if the code of the JIT table overlaps the addresses from @start to @end. */
static bool has_code(const struct jit_table *jit, unsigned long start, unsigned long end)
{
	return jit->start < end && start < jit->end;
}

/* Called if a process unmaps code: marks its JIT tables for this code, which no scan uses then. */
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct jit_table *jit;

	list_for_each_entry_rcu(jit, &process->jit.tables, node)
		if (has_code(jit, start, end))
			WRITE_ONCE(jit->is_over, true);
}

/* Frees a process's JIT tables for unmapped code, and those for code between @start and @end. */
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
 * Sets @section to a copy of the newest JIT table's section for code between @start and @end, with
 * references of the table. Returns false if there is none.
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

/* Returns true if the file of this code has a section or table, or a later scan may find one. */
static bool is_described(const struct sfu_range *range)
{
	return range->section.source != SFU_SOURCE_JIT_TABLE &&
	       !sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * Called if a walk has ended in code at @addr because no data describes this code. If @addr may be
 * in JIT code, stores the address and returns true: the caller requests a scan, which calls
 * sfu_jit_ask(). After a request, returns false for a second; or longer, up to a minute, if no
 * table was loaded after the last requests.
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

/* If a walk has ended in JIT code of current without a table, requests a table for this code. */
void sfu_jit_ask(struct sfu_process *process)
{
	unsigned long addr = READ_ONCE(process->jit.asked_addr);

	if (!addr)
		return;
	WRITE_ONCE(process->jit.asked_addr, 0);
	process->jit.ask_wait = clamp(2 * process->jit.ask_wait, 1UL * HZ, 60UL * HZ);
	WRITE_ONCE(process->jit.ask_at, jiffies + process->jit.ask_wait);
	sfu_wanted_add_id(&(struct sfu_file_id){ .ino = process->number }, addr);
}

/* Returns -ESTALE if code of @jit is not mapped executable; -EEXIST if a file has rows for it. */
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

/* Returns -ENOSPC if @jit and the JIT tables that it does not replace exceed the limits. */
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
 * Removes the JIT tables for the code of @jit, and adds @jit if it has a section. Walks use the old
 * map of the process until a scan, which the next sample requests.
 */
static int replace(struct sfu_process *process, struct mm_struct *mm, struct jit_table *jit)
{
	const bool is_table = jit->section.table;
	struct sfu_map *map;
	int err = -EAGAIN;

	if (!mutex_trylock(&process->lock))
		return err;
	if (!mmap_read_trylock(mm))
		goto out;
	map = sfu_process_get_map(process);
	err = is_table ? check_code(jit, mm, map) ?: check_limits(jit, process) : 0;
	if (!err) {
		sfu_jit_forget(process, jit->start, jit->end);
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

/* Compiles the section of @source for @jit. Returns 0, or an error; -ENOSPC may lack a message. */
static int compile_for(struct jit_table *jit, struct sfu_table_source *source, bool is_of_user)
{
	struct sfu_table *table;
	int err = -ENOSPC;

	guard(mutex)(&sfu_files_mutex);
	table = sfu_table_compile(source);
	if (IS_ERR(table))
		return PTR_ERR(table);
	/* Refuse a table above the limit of one process before other tables are removed for it. */
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

/* Replaces the JIT tables for the code of @load by a new table, or only removes them. */
static int load_for(struct sfu_process *process, struct mm_struct *mm, bool is_of_user,
		    const struct sframe_process *load, struct sfu_table_source *source)
{
	struct jit_table *jit;
	int err = 0;

	/* SFRAME_PROCESS without code only removes the request that read() has returned. */
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
 * SFRAME_PROCESS: replaces the JIT tables of a process for the code of @load by the table of
 * @source, or only removes them if @source has no section. Removes the request for the process.
 * Returns 0, or an error that include/uapi/sframe_unwind.h lists.
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
