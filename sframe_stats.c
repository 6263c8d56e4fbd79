// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters, /sys/kernel/debug/sframe_unwind/stats, and the module parameter
 * `summary`: a line per counter, "name value".
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "sframe_stats.h"

DEFINE_PER_CPU(struct sfu_counters, sfu_counters);
struct sfu_held sfu_held;

static struct dentry *debugfs_dir;

/* The counters are all unsigned longs: @offset names one of them. */
static unsigned long sum_counter(size_t offset)
{
	unsigned long total = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		total += READ_ONCE(*(unsigned long *)
			((char *)per_cpu_ptr(&sfu_counters, cpu) + offset));
	return total;
}

#define SUM(field)	sum_counter(offsetof(struct sfu_counters, field))

#define SHOW(m, name, field)	seq_printf(m, "%s %lu\n", name, SUM(field))

static void show_group(struct seq_file *m, const char *group,
		       const char *const *names, unsigned int nr, size_t offset)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		seq_printf(m, "%s.%s %lu\n", group, names[i],
			   sum_counter(offset + i * sizeof(unsigned long)));
}

static int stats_show(struct seq_file *m, void *unused)
{
	enum sframe_defect defect;

	SHOW(m, "walks", walks);
	show_group(m, "stop", sfu_stop_names + 1, NR_SFU_STOPS - 1,
		   offsetof(struct sfu_counters, stops[1]));
	show_group(m, "first", sfu_stop_names + 1, NR_SFU_STOPS - 1,
		   offsetof(struct sfu_counters, firsts[1]));
	show_group(m, "depth", sfu_stop_names + 1, NR_SFU_STOPS - 1,
		   offsetof(struct sfu_counters, depths[1]));
	show_group(m, "frames", sfu_method_names, NR_SFU_METHODS,
		   offsetof(struct sfu_counters, frames));
	SHOW(m, "cache.hits", cache_hits);
	SHOW(m, "cache.misses", cache_misses);
	show_group(m, "declined", sfu_decline_names, NR_SFU_DECLINES,
		   offsetof(struct sfu_counters, declined));
	for (defect = SFRAME_DEFECT_NONE + 1; defect < NR_SFRAME_DEFECTS; defect++)
		seq_printf(m, "defect.%s %lu\n", sframe_defects[defect].name,
			   SUM(defects[defect]));
	SHOW(m, "scan.requests", scan_requests);
	SHOW(m, "scan.runs", scans);
	SHOW(m, "scan.lost", lost_scans);
	SHOW(m, "section.bad", bad_sections);
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
	return SUM(walks);
}

static bool is_complete(enum sfu_stop stop)
{
	return stop == SFU_STOP_COMPLETE || stop == SFU_STOP_ENTRYPOINT;
}

/*
 * Writes what became of the stacks into @buf, a page. The numbers are sums of counters of debugfs,
 * which only root may read:
 *
 *	walks		stacks that were unwound
 *	complete		of these, walks that have reached the outermost frame
 *	first		of the others, walks that ended in the sampled frame
 *	full		walks that ended because perf has no room for more frames
 *	sframe, fp	callers that were found by SFrame, by the frame pointer
 *	declined	stacks of processes that have no section
 */
int sfu_stats_summary(char *buf)
{
	unsigned long complete = 0, first = 0;
	enum sfu_stop stop;

	for (stop = SFU_STOP_NONE + 1; stop < NR_SFU_STOPS; stop++) {
		if (is_complete(stop))
			complete += SUM(stops[stop]);
		else
			first += SUM(firsts[stop]);
	}
	return sysfs_emit(buf, "walks %lu\ncomplete %lu\nfirst %lu\nfull %lu\n"
			  "sframe %lu\nfp %lu\ndeclined %lu\n",
			  SUM(walks), complete, first, SUM(stops[SFU_STOP_FULL]),
			  SUM(frames[SFU_METHOD_SFRAME]),
			  SUM(frames[SFU_METHOD_FP]) + SUM(frames[SFU_METHOD_FP_HABIT]),
			  SUM(declined[SFU_DECLINE_NOSECTION]));
}

/* Creates the debugfs files. Without debugfs the counters cannot be read, and all else works. */
void sfu_stats_init(void)
{
	debugfs_dir = debugfs_create_dir("sframe_unwind", NULL);
	debugfs_create_file("stats", 0444, debugfs_dir, NULL, &stats_fops);
}

/* Removes the debugfs files; waits for their readers. */
void sfu_stats_exit(void)
{
	debugfs_remove(debugfs_dir);
}
