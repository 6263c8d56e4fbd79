// SPDX-License-Identifier: GPL-2.0-or-later
/* What the suites of KUnit on the host use of the module, other than the sample side. */
#include "map/process.h"
#include "map/section.h"
#include "sframe_stats.h"
#include "table/table.h"

static struct mm_struct mm;
struct shim_tss cpu_tss_rw;
struct task_struct shim_task = { .mm = &mm };
unsigned long shim_table;
struct sfu_counters sfu_counters;
struct sfu_held sfu_held;
atomic_t sfu_table_generation;

/* There are no tables. Nobody profiles. */
void sfu_table_put(const struct sfu_section *section)
{
	if (section->table)
		abort();
}

struct sfu_process *sfu_processes_get(struct mm_struct *mm)
{
	abort();
}

void sfu_process_put(struct sfu_process *process)
{
	abort();
}

void sfu_processes_end(struct mm_struct *mm)
{
	abort();
}

void sfu_spares_refill(unsigned int nr)
{
	abort();
}

bool sfu_watch_sample(void)
{
	abort();
}
