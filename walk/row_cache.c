// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The row caches: from an address to its row, without a look-up in its section.
 *
 * Each processor has one, for all processes. A walk uses that of its processor, with preemption
 * disabled. A walk that has interrupted it, in an NMI, uses none. So one walk at a time reads and
 * writes a cache, and needs no barriers.
 *
 * A row belongs to a section: a table, for all processes that use it, or the section that one
 * process has mapped at one time. Sections have numbers, and no number is used twice. So a process
 * that writes to its section changes no row of others, and code that is mapped at an old address
 * has no rows. Rows are not removed, but replaced by those of other addresses with the same place:
 * whoever runs much code makes the walks of others look their rows up again, while both run on the
 * same processor.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "sframe_arch.h"
#include "walk/row_cache.h"

#define ROWS_MAX	0x100000U

static unsigned int row_cache = 4096;
module_param(row_cache, uint, 0444);
MODULE_PARM_DESC(row_cache, "rows that each processor remembers, of 32 bytes each (default 4096)");

DEFINE_PER_CPU(struct sfu_row_cache, sfu_row_caches);

/*
 * Returns a number that no section or table had before, for the row caches. Sets @key_base to what
 * is added to an address for its key. The sum is random: a process does not know whose rows its own
 * rows push out.
 */
u64 sfu_row_cache_new_section(u64 *key_base)
{
	static atomic64_t last;
	u64 number = atomic64_inc_return(&last);

	*key_base = get_random_u64();
	return number;
}

/* The bits below SFU_ROW_CFA are free. */
static_assert(SFU_ARCH_CFA_ALIGN > (SFU_ROW_BY_FP | SFU_ROW_SAVES_FP | SFU_ROW_IS_OTHER));

/*
 * Returns a row in one word. The offsets are those from the base; @how says what the base is, and
 * whether the frame pointer is saved. Where calls push the return address, it is next to the CFA.
 */
static u64 pack_row(s64 cfa, s64 ra, s64 fp, u64 how)
{
	const u64 most = cfa - sizeof(long);	/* for the start of a word below the CFA */

	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || most > U16_MAX - sizeof(long))
		return SFU_ROW_OTHER;
	if (SFU_ARCH_REG_RA < 0 ? (u64)ra != most : (u64)ra > most)
		return SFU_ROW_OTHER;
	if (!(how & SFU_ROW_SAVES_FP))
		fp = 0;
	else if ((u64)fp > most)
		return SFU_ROW_OTHER;
	return cfa | how | FIELD_PREP(SFU_ROW_RA, ra) | FIELD_PREP(SFU_ROW_FP, fp);
}

/* Returns a row in one word; SFU_ROW_OUTERMOST; or SFU_ROW_OTHER if it does not fit. */
u64 sfu_row_pack(const struct sframe_row *row)
{
	s64 cfa = row->cfa.off;
	u64 how = 0;

	if (row->outermost)
		return SFU_ROW_OUTERMOST;
	if (row->signal || row->cfa.how != SFRAME_RULE_REG ||
	    row->ra.how != SFRAME_RULE_CFA_MEM)
		return SFU_ROW_OTHER;
	if (row->cfa.reg == SFU_ARCH_REG_FP)
		how = SFU_ROW_BY_FP;
	else if (row->cfa.reg != SFU_ARCH_REG_SP)
		return SFU_ROW_OTHER;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		how |= SFU_ROW_SAVES_FP;
	else if (row->fp.how != SFRAME_RULE_SAME)
		return SFU_ROW_OTHER;
	return pack_row(cfa, cfa + row->ra.off, cfa + row->fp.off, how);
}

/* Allocates the caches. Returns -ENOMEM: then sfu_row_cache_exit() frees what there is. */
int sfu_row_cache_init(void)
{
	int cpu;

	row_cache = clamp(row_cache, SFU_ROW_WAYS, ROWS_MAX);
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

/* Frees the caches. No walk runs any more. */
void sfu_row_cache_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu_ptr(&sfu_row_caches, cpu)->sets);
}
