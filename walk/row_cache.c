// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The row caches: hash tables from code addresses to SFrame rows. They save searches in sections.
 *
 * Each processor has one cache for all processes. A walk uses it with preemption disabled. A walk
 * that interrupts this walk does not use it. So one walk at a time uses a cache, without barriers.
 *
 * A cached row is stored with the number of its section. All processes that use a compiled table
 * share its number. A section in user memory gets a new number each time it is mapped. So writes to
 * a section change no rows of other processes, and new code at an old address finds no old rows. A
 * row stays until newer rows with its hash value replace it.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "sframe_arch.h"
#include "walk/row_cache.h"

/* Maximum of the module parameter row_cache, in rows: 32 MiB of memory for each processor. */
#define MAX_ROWS	0x100000U

static unsigned int row_cache = 4096;
module_param(row_cache, uint, 0444);
MODULE_PARM_DESC(row_cache, "rows that each processor remembers, of 32 bytes each (default 4096)");

DEFINE_PER_CPU(struct sfu_row_cache, sfu_row_caches);

/*
 * Returns a new number, by which row caches identify a section or table. Sets @key_base: the key of
 * a row is its address + @key_base.
 */
u64 sfu_row_cache_new_section(u64 *key_base)
{
	static atomic64_t last;

	/* Random: no process may know which rows of other processes its own rows replace. */
	*key_base = get_random_u64();
	return atomic64_inc_return(&last);
}

/* Packed rows have flags in the low bits of the CFA offset, which are 0 as CFAs are aligned. */
static_assert(SFU_ARCH_CFA_ALIGN > (SFU_ROW_BY_FP | SFU_ROW_SAVES_FP | SFU_ROW_IS_OTHER));

/* Returns @row as a packed row; SFU_ROW_OUTERMOST; or SFU_ROW_IS_OTHER if it cannot be packed. */
u64 sfu_row_pack(const struct sframe_row *row)
{
	const s64 cfa = row->cfa.off, ra = cfa + row->ra.off;
	const u64 max = cfa - sizeof(long);
	u64 how = 0, fp = 0;

	if (row->outermost)
		return SFU_ROW_OUTERMOST;
	if (row->signal || row->cfa.how != SFRAME_RULE_REG || row->ra.how != SFRAME_RULE_CFA_MEM ||
	    !IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || max > U16_MAX - sizeof(long))
		return SFU_ROW_IS_OTHER;
	if (row->cfa.reg == SFU_ARCH_REG_FP)
		how = SFU_ROW_BY_FP;
	else if (row->cfa.reg != SFU_ARCH_REG_SP)
		return SFU_ROW_IS_OTHER;
	/* On x86, calls push the return address: it is the word right below the CFA. */
	if (SFU_ARCH_REG_RA < 0 ? (u64)ra != max : (u64)ra > max)
		return SFU_ROW_IS_OTHER;
	if (row->fp.how == SFRAME_RULE_CFA_MEM) {
		how |= SFU_ROW_SAVES_FP;
		fp = cfa + row->fp.off;
	} else if (row->fp.how != SFRAME_RULE_SAME) {
		return SFU_ROW_IS_OTHER;
	}
	if (fp > max)
		return SFU_ROW_IS_OTHER;
	return cfa | how | FIELD_PREP(SFU_ROW_RA, ra) | FIELD_PREP(SFU_ROW_FP, fp);
}

/* Allocates a row cache for each processor. After -ENOMEM, sfu_row_cache_exit() frees them. */
int sfu_row_cache_init(void)
{
	int cpu;

	row_cache = clamp(row_cache, SFU_ROW_WAYS, MAX_ROWS);
	for_each_possible_cpu(cpu) {
		struct sfu_row_cache *cache = per_cpu_ptr(&sfu_row_caches, cpu);

		cache->nr_sets = row_cache / SFU_ROW_WAYS;
		cache->sets = kvzalloc_node(cache->nr_sets * sizeof(*cache->sets), GFP_KERNEL,
					    cpu_to_node(cpu));
		if (!cache->sets)
			return -ENOMEM;
	}
	return 0;
}

/* Frees the row caches of all processors. Called when no walk can run any more. */
void sfu_row_cache_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu_ptr(&sfu_row_caches, cpu)->sets);
}
