// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of the module. See common.h. */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/seq_buf.h>

#include "common.h"
#include "map/process.h"

/* The counters are all unsigned longs. */
#define NR_COUNTERS	(sizeof(struct sfu_counters) / sizeof(unsigned long))

void counters_read(struct sfu_counters *counters)
{
	unsigned long *sums = (unsigned long *)counters;
	unsigned int i;
	int cpu;

	memset(counters, 0, sizeof(*counters));
	for_each_possible_cpu(cpu)
		for (i = 0; i < NR_COUNTERS; i++)
			sums[i] += ((unsigned long *)per_cpu_ptr(&sfu_counters, cpu))[i];
}

static void add(struct seq_buf *s, const char *group, const char *name,
		unsigned long now, unsigned long since)
{
	if (now == since)
		return;
	seq_buf_printf(s, "%s%s%s", s->len ? " " : "", group, name);
	if (now - since > 1)
		seq_buf_printf(s, "=%lu", now - since);
}

/* Writes the counters that grew after @since to @text, which has COUNTERS_TEXT bytes. */
void counters_text(const struct sfu_counters *since, char *text)
{
	struct sfu_counters now;
	struct seq_buf s;
	unsigned int i;

	counters_read(&now);
	seq_buf_init(&s, text, COUNTERS_TEXT);
	text[0] = '\0';
	add(&s, "", "walks", now.walks, since->walks);
	for (i = 0; i < NR_SFU_STOPS; i++)
		add(&s, "stop.", sfu_stop_names[i], now.stops[i], since->stops[i]);
	for (i = 0; i < NR_SFU_STOPS; i++)
		add(&s, "first.", sfu_stop_names[i], now.firsts[i], since->firsts[i]);
	for (i = 0; i < NR_SFU_STOPS; i++)
		add(&s, "depth.", sfu_stop_names[i], now.depths[i], since->depths[i]);
	for (i = 0; i < NR_SFU_METHODS; i++)
		add(&s, "frames.", sfu_method_names[i], now.frames[i], since->frames[i]);
	for (i = 0; i < NR_SFU_DECLINES; i++)
		add(&s, "declined.", sfu_decline_names[i], now.declined[i], since->declined[i]);
	for (i = 0; i < NR_SFRAME_DEFECTS; i++)
		add(&s, "defect.", sframe_defects[i].name, now.defects[i], since->defects[i]);
	add(&s, "", "scan.runs", now.scans, since->scans);
	add(&s, "", "scan.lost", now.lost_scans, since->lost_scans);
	add(&s, "", "scan.requests", now.scan_requests, since->scan_requests);
	add(&s, "", "section.bad", now.bad_sections, since->bad_sections);
	seq_buf_str(&s);
}

/* Waits up to a minute for the condition: RCU callbacks run meanwhile. */
bool comes_true(bool (*condition)(void))
{
	unsigned long give_up = jiffies + 60 * HZ;

	while (!condition() && time_before(jiffies, give_up))
		schedule_timeout_uninterruptible(1);
	return condition();
}

/* The module holds nothing for any process. It has all its spare processes. */
bool nothing_is_held(void)
{
	return !atomic_long_read(&sfu_held.processes) && !atomic_long_read(&sfu_held.sections) &&
	       !atomic_long_read(&sfu_held.tables) &&
	       atomic_long_read(&sfu_held.bytes) == SPARES * sizeof(struct sfu_process);
}

/* The hooks of events are set, so that processes may be added. */
static bool is_watching(void)
{
	struct sfu_process *process = sfu_processes_get(current->mm);

	if (process)
		sfu_process_put(process);
	return process;
}

/* Somebody profiles: processes may be added for the next seconds. */
void begin_to_profile(struct kunit *test)
{
	sfu_watch_sample();
	KUNIT_ASSERT_TRUE(test, comes_true(is_watching));
	sfu_processes_end(current->mm);
	sfu_spares_refill(SPARES);
	/* The processes of all earlier tests have ended. */
	KUNIT_ASSERT_TRUE(test, comes_true(nothing_is_held));
}

KUNIT_DEFINE_ACTION_WRAPPER(put_map, sfu_map_put, struct sfu_map *);

/* A map of @nr ranges without a section. KUnit drops its reference after the test. */
struct sfu_map *build_map(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = sfu_map_alloc(nr, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, map);
	/* As a scan of this moment would have it. */
	map->generation = atomic_read(&sfu_table_generation);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_map, map));
	return map;
}

/* Sets range @i of the map, of code that keeps no frame pointers. Ranges must ascend. */
void build_range(struct sfu_map *map, unsigned int i, unsigned long start, unsigned long len)
{
	map->ranges[i].start = start;
	map->ranges[i].end = start + len;
	map->ranges[i].keeps_fp = SFRAME_KEEPS_FP_NO;
}

/* A new number, as for a new mapping: no row of the section that was there before is found. */
void renumber(struct sfu_range *range)
{
	range->section.number = sfu_row_cache_new_section(&range->section.key_base);
}

int read_header(struct sfu_range *range, unsigned long addr, u32 len)
{
	struct sfu_section *section = &range->section;
	struct sframe_reader rd = {};
	int err = read_user_header(&section->hdr, &rd, addr, len);

	if (err)
		return err;
	section->start = addr;
	section->end = addr + len;
	section->source = SFU_SOURCE_MAPPED;
	atomic_set(&section->state, SFU_SECTION_READY);
	return 0;
}

/* The state of the range, read once: another thread may change it. */
const char *state_text(const struct sfu_range *range)
{
	static const char *const states[] = { "none", "pending", "ready", "bad" };

	if (READ_ONCE(range->unmapped))
		return "unmapped";
	return states[atomic_read(&range->section.state)];
}

bool is_ready(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY);
}
