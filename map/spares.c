// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spare entries (struct sfu_process), allocated in advance: samples and hooks add processes, but
 * cannot allocate. A task that has scanned its process allocates new entries, in its own control
 * group, but may sleep for ever before that. So if few are left, a worker allocates some.
 */
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/process.h"
#include "sframe_stats.h"

/*
 * Maximum of spare processes. If fewer than half are left, the worker allocates. With half of it,
 * processes lose first samples in a burst of forks; with the double, 64 KiB more memory is used.
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

/* Returns a spare process, which has no mm and no map yet; or NULL. */
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

/* Frees all spare processes. The caller makes sure that no context takes one, or scans. */
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
