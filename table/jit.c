// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables for code that a process generates while it runs. Root loads them with SFRAME_PROCESS.
 *
 * A process has a list of its tables. A scan copies them to the map for code that no file
 * describes, and samples use the map.
 *
 * A table ends with its mm, so execve() ends it, too. The hook of munmap() sets is_over if any part
 * of the code is unmapped, before other code can be mapped there. If two mappings merge, the kernel
 * reports the removal of one of them, which ends the table. SFRAME_PROCESS checks that the code is
 * mapped and adds the table under mmap_lock. So no unmapping is missed: before the check, it makes
 * the check fail; after it, the hook finds the table.
 *
 * The list is changed under &sfu_process.lock, and read under RCU. SFRAME_PROCESS only tries to
 * take this lock and mmap_lock, because tasks of the process hold them.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>

#include "map/process.h"
#include "sframe_stats.h"
#include "table/internal.h"
#include "table/wanted.h"

struct jit_table {
	struct list_head	node;	/* in &sfu_process.jit.tables, newest first */
	unsigned long		start;	/* address of the code */
	unsigned long		end;
	unsigned long		size;	/* memory of the table, in bytes */
	bool			is_over; /* code was unmapped; never cleared */
	struct sfu_section	section; /* holds references; maps have copies */
	struct rcu_head		rcu;
};

/* Returns true if the code of the table overlaps the range from @start to @end. */
static bool has_code(const struct jit_table *table, unsigned long start, unsigned long end)
{
	return table->start < end && start < table->end;
}

/* Marks the tables of unmapped code as over. Called under RCU. */
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct jit_table *table;

	list_for_each_entry_rcu(table, &process->jit.tables, node)
		if (has_code(table, start, end))
			WRITE_ONCE(table->is_over, true);
}

/* Frees the tables that are over, and the tables for code between @start and @end. */
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct jit_table *table, *next;

	list_for_each_entry_safe(table, next, &process->jit.tables, node) {
		if (!READ_ONCE(table->is_over) && !has_code(table, start, end))
			continue;
		list_del_rcu(&table->node);
		sfu_table_put(&table->section);
		atomic_long_dec(&sfu_held.process_tables);
		kfree_rcu(table, rcu);
	}
}

/*
 * Sets @section to a copy of the newest section for code in this range, and takes references for
 * the copy. Returns false if there is none.
 */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section)
{
	const struct jit_table *table;

	list_for_each_entry(table, &process->jit.tables, node) {
		if (READ_ONCE(table->is_over) || !has_code(table, start, end))
			continue;
		*section = table->section;
		sfu_table_get(section);
		return true;
	}
	return false;
}

/* Returns true if the range has data of a file or the vDSO, or may have such data after a scan. */
static bool is_described(const struct sfu_range *range)
{
	return range->section.source != SFU_SOURCE_JIT_TABLE &&
	       !sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * Called after a walk has found no data for @addr. If no file describes this code, stores the
 * address and returns true: the next scan requests a table from a reader. After that no address is
 * stored for a second, and for up to a minute while no table is loaded. Any context, under RCU.
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

/* Requests a table for code of current from a reader, if a walk has stored an address. */
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

/* Returns -ESTALE if some code is not mapped executable; -EEXIST if a file describes some code. */
static int check_code(const struct jit_table *table, struct mm_struct *mm, struct sfu_map *map)
{
	const struct vm_area_struct *vma;
	const struct sfu_range *range;
	unsigned long addr;

	for (addr = table->start; addr < table->end; addr = vma->vm_end) {
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

/* Returns -ENOSPC if @table and the tables that it does not replace exceed the limits. */
static int check_limits(const struct jit_table *table, const struct sfu_process *process)
{
	unsigned long size = table->size;
	const struct jit_table *other;
	unsigned int nr = 1;

	list_for_each_entry(other, &process->jit.tables, node) {
		if (READ_ONCE(other->is_over) || has_code(other, table->start, table->end))
			continue;
		size += other->size;
		nr++;
	}
	return nr > SFU_JIT_TABLES_MAX || size > sfu_limit_bytes() / SFU_JIT_SHARE ? -ENOSPC : 0;
}

/*
 * Removes the tables for the code of @table, and adds @table if it has a section. Walks use the old
 * map until a scan, which the next sample requests.
 */
static int replace(struct sfu_process *process, struct mm_struct *mm, struct jit_table *table)
{
	const bool is_table = table->section.table;
	struct sfu_map *map;
	int err = -EAGAIN;

	if (!mutex_trylock(&process->lock))
		return err;
	if (!mmap_read_trylock(mm))
		goto out;
	map = sfu_process_get_map(process);
	err = is_table ? check_code(table, mm, map) ?: check_limits(table, process) : 0;
	if (!err) {
		sfu_jit_forget(process, table->start, table->end);
		process->quota.wait = 0;
		WRITE_ONCE(process->quota.sample_at, 0);
		if (map)
			WRITE_ONCE(map->valid_until, jiffies - 1);
	}
	if (!err && is_table) {
		list_add_rcu(&table->node, &process->jit.tables);
		process->jit.ask_wait = 0;
		atomic_long_inc(&sfu_held.process_tables);
	}
	sfu_map_put(map);
	mmap_read_unlock(mm);
out:
	mutex_unlock(&process->lock);
	return err;
}

/* Compiles the section for @jit. Returns 0, or an error; -ENOSPC may lack a message. */
static int compile_for(struct jit_table *jit, struct sfu_table_source *source, bool is_of_user)
{
	struct sfu_table *table;
	int err = -ENOSPC;

	guard(mutex)(&sfu_files_mutex);
	table = sfu_table_compile(source);
	if (IS_ERR(table))
		return PTR_ERR(table);
	/* First, so that no table is removed for one that is too large for its process. */
	if (table->size <= sfu_limit_bytes() / SFU_JIT_SHARE)
		err = sfu_files_make_room(source);
	if (err) {
		sfu_table_put_ref(table);
		return err;
	}
	jit->size = table->size;
	jit->section.source = SFU_SOURCE_JIT_TABLE;
	atomic_set(&jit->section.state, SFU_SECTION_READY);
	return sfu_table_use(table, 0, is_of_user, &jit->section) ? 0 : -ENOSPC;
}

/* Replaces the tables for the code of @load by its section, compiled, or by none. */
static int load_for(struct sfu_process *process, struct mm_struct *mm, bool is_of_user,
		    const struct sframe_process *load, struct sfu_table_source *source)
{
	struct jit_table *jit;
	int err = 0;

	/* Without code, the command only removes the request that read() has returned. */
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
 * Replaces the tables for code of a process by the table of @source, or only removes them if
 * @source has no section. The request of the process is answered. Returns 0, or an error that
 * include/uapi/sframe_unwind.h lists.
 */
int sfu_jit_load(const struct sframe_process *load, struct sfu_table_source *source)
{
	struct sfu_process *process;
	struct mm_struct *mm;
	bool is_of_user;
	struct pid *pid;
	int err = -ESRCH;

	/* CAP_SYS_PTRACE allows the caller to read and change any process anyway. */
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
