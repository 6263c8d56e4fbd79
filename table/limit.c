// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits the memory of all tables. Tables in use by processes of users other than root may take up
 * to half of the limit, even if root owns the files. The rest is left for root's programs.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/mm.h>
#include <linux/module.h>

#include "table/internal.h"

unsigned int sfu_table_memory;
module_param_named(table_memory, sfu_table_memory, uint, 0644);
MODULE_PARM_DESC(table_memory, "MiB that tables may take; 0: an eighth of the memory (default)");

static atomic_long_t bytes_of_users;

unsigned long sfu_limit_bytes(void)
{
	unsigned long mib = READ_ONCE(sfu_table_memory);

	/*
	 * With a quarter of the memory, unused tables would compete with the page cache. With a
	 * sixteenth, a machine with 2 GiB would have no room for the tables of a browser.
	 */
	return mib ? mib << 20 : (totalram_pages() / 8) << PAGE_SHIFT;
}

bool sfu_limit_has_room_for_users(unsigned long size)
{
	return atomic_long_read(&bytes_of_users) + size <= sfu_limit_bytes() / 2;
}

/*
 * Called before a section uses @table in a process whose user is not root. Returns false if tables
 * of such processes would take more than half of the memory limit: the other half is for root.
 */
bool sfu_limit_add_user_range(struct sfu_table *table)
{
	if (atomic_inc_not_zero(&table->nr_user_ranges))
		return true;
	if (atomic_long_add_return(table->size, &bytes_of_users) > sfu_limit_bytes() / 2) {
		atomic_long_sub(table->size, &bytes_of_users);
		WRITE_ONCE(table->was_refused, true);
		pr_warn_once("users other than root have tables of half of table_memory in use\n");
		return false;
	}
	/* If another task has added the size of @table at the same time, subtract it again. */
	if (atomic_inc_return(&table->nr_user_ranges) > 1)
		atomic_long_sub(table->size, &bytes_of_users);
	return true;
}

void sfu_limit_remove_user_range(struct sfu_table *table)
{
	if (atomic_dec_and_test(&table->nr_user_ranges))
		atomic_long_sub(table->size, &bytes_of_users);
}
