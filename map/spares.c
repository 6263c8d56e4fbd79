// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spare process entries, allocated in advance: samples and hooks add processes to the hash table,
 * but cannot allocate memory. A task that has scanned its process allocates entries in its own
 * control group. As this task may sleep for ever, a worker allocates entries if few are left.
 */
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/process.h"
#include "sframe_stats.h"

/*
 * Maximum of spare process entries. If fewer than half are left, the worker allocates more. With
 * less, a burst of forks leaves processes without an entry, which lose their first samples.
 */
#define SPARES_MAX	128

static LLIST_HEAD(spares);
static atomic_t nr_spares;

void sfu_spares_refill(unsigned int nr)
{
	for (; nr && atomic_add_unless(&nr_spares, 1, SPARES_MAX); nr--) {
		struct sfu_process *process = kzalloc_obj(*process, SFU_GFP_TASK);

		if (!process) {
			atomic_dec(&nr_spares);
			return;
		}
		refcount_set(&process->refs, 1);
		mutex_init(&process->lock);
		INIT_LIST_HEAD(&process->jit.tables);
		atomic_long_add(sizeof(*process), &sfu_held.bytes);
		llist_add(&process->spare, &spares);
	}
}

static void refill_in_worker(struct work_struct *work)
{
	sfu_spares_refill(SPARES_MAX);
}

static DECLARE_WORK(refill_work, refill_in_worker);

static void queue_refill(struct irq_work *irq_work)
{
	schedule_work(&refill_work);
}

static struct irq_work refill_irq_work = IRQ_WORK_INIT_HARD(queue_refill);

/* Takes a spare process entry, which has no mm and no map yet. Returns NULL if none is left. */
struct sfu_process *sfu_spares_take(void)
{
	struct llist_node *node = llist_del_first(&spares);

	if (node)
		atomic_dec(&nr_spares);
	if (atomic_read(&nr_spares) < SPARES_MAX / 2)
		irq_work_queue(&refill_irq_work);
	return node ? llist_entry(node, struct sfu_process, spare) : NULL;
}

int sfu_spares_init(void)
{
	sfu_spares_refill(SPARES_MAX);
	return llist_empty(&spares) ? -ENOMEM : 0;
}

/* At unload, frees all spare process entries. All hooks, samples and scans have ended before. */
void sfu_spares_exit(void)
{
	struct sfu_process *process, *next;

	irq_work_sync(&refill_irq_work);
	cancel_work_sync(&refill_work);
	llist_for_each_entry_safe(process, next, llist_del_all(&spares), spare) {
		atomic_long_sub(sizeof(*process), &sfu_held.bytes);
		kfree(process);
	}
}
