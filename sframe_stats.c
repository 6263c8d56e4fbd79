// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows all counters in the debugfs file `stats`, and a few in the module parameter `summary`. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "sframe_stats.h"

DEFINE_PER_CPU(struct sfu_counters, sfu_counters);
struct sfu_held sfu_held;

static struct dentry *debugfs_dir;

static void sum_counters(struct sfu_counters *total)
{
	const unsigned long *counters;
	unsigned int i;
	int cpu;

	*total = (struct sfu_counters){};
	for_each_possible_cpu(cpu) {
		counters = (const unsigned long *)per_cpu_ptr(&sfu_counters, cpu);
		for (i = 0; i < sizeof(*total) / sizeof(*counters); i++)
			((unsigned long *)total)[i] += READ_ONCE(counters[i]);
	}
}

static void show_group(struct seq_file *m, const char *group, const char *const *names,
		       const unsigned long *counters, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < nr; i++)
		seq_printf(m, "%s.%s %lu\n", group, names[i], counters[i]);
}

static int stats_show(struct seq_file *m, void *unused)
{
	struct sfu_counters total;
	enum sframe_defect defect;

	sum_counters(&total);
	seq_printf(m, "walks %lu\n", total.walks);
	show_group(m, "stop", sfu_stop_names, total.stops, 1, NR_SFU_STOPS);
	show_group(m, "first", sfu_stop_names, total.firsts, 1, NR_SFU_STOPS);
	show_group(m, "depth", sfu_stop_names, total.depths, 1, NR_SFU_STOPS);
	show_group(m, "frames", sfu_method_names, total.frames, 0, NR_SFU_METHODS);
	seq_printf(m, "cache.hits %lu\n", total.cache_hits);
	seq_printf(m, "cache.misses %lu\n", total.cache_misses);
	show_group(m, "declined", sfu_decline_names, total.declined, 0, NR_SFU_DECLINES);
	for (defect = SFRAME_DEFECT_NONE + 1; defect < NR_SFRAME_DEFECTS; defect++)
		seq_printf(m, "defect.%s %lu\n", sframe_defects[defect].name,
			   total.defects[defect]);
	seq_printf(m, "scan.requests %lu\n", total.scan_requests);
	seq_printf(m, "scan.runs %lu\n", total.scans);
	seq_printf(m, "scan.lost %lu\n", total.lost_scans);
	seq_printf(m, "section.bad %lu\n", total.bad_sections);
	seq_printf(m, "map.processes %ld\n", atomic_long_read(&sfu_held.processes));
	seq_printf(m, "map.sections %ld\n", atomic_long_read(&sfu_held.sections));
	seq_printf(m, "map.bytes %ld\n", atomic_long_read(&sfu_held.bytes));
	seq_printf(m, "table.bytes %ld\n", atomic_long_read(&sfu_held.tables));
	seq_printf(m, "table.processes %ld\n", atomic_long_read(&sfu_held.process_tables));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

unsigned long sfu_stats_walks(void)
{
	struct sfu_counters total;

	sum_counters(&total);
	return total.walks;
}

/* Shows the module parameter `summary`, for users who may not read debugfs. */
int sfu_stats_summary(char *buf, const struct kernel_param *kp)
{
	unsigned long complete, first = 0;
	struct sfu_counters total;
	enum sfu_stop stop;

	sum_counters(&total);
	complete = total.stops[SFU_STOP_COMPLETE] + total.stops[SFU_STOP_ENTRYPOINT];
	/* `first`: walks that found no caller. Complete stacks, of one frame, do not count. */
	for (stop = SFU_STOP_ENTRYPOINT + 1; stop < NR_SFU_STOPS; stop++)
		first += total.firsts[stop];
	return sysfs_emit(buf, "walks %lu\ncomplete %lu\nfirst %lu\nfull %lu\n"
			  "sframe %lu\nfp %lu\ndeclined %lu\n",
			  total.walks, complete, first, total.stops[SFU_STOP_FULL],
			  total.frames[SFU_METHOD_SFRAME],
			  total.frames[SFU_METHOD_FP] + total.frames[SFU_METHOD_FP_HABIT],
			  total.declined[SFU_DECLINE_NOSECTION]);
}

void sfu_stats_init(void)
{
	debugfs_dir = debugfs_create_dir("sframe_unwind", NULL);
	debugfs_create_file("stats", 0444, debugfs_dir, NULL, &stats_fops);
}

void sfu_stats_exit(void)
{
	debugfs_remove(debugfs_dir);
}
