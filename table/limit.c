// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits the memory of all tables. Tables that processes of users other than root use take at most
 * half of the limit, even if root owns the files. So these users cannot use up the memory for
 * tables of root's programs.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/mm.h>
#include <linux/module.h>

#include "table/internal.h"

unsigned int sfu_table_memory;
module_param_named(table_memory, sfu_table_memory, uint, 0644);
MODULE_PARM_DESC(table_memory, "MiB that tables may take; 0: an eighth of the memory (default)");

/* Size in bytes of all tables that processes of users other than root use. */
static atomic_long_t bytes_of_users;

/*
 * Returns the maximum size of all tables, in bytes. With a quarter of the memory, unused tables
 * would compete with the page cache. With a sixteenth, a machine with 2 GiB would have no room for
 * the tables of a browser.
 */
unsigned long sfu_limit_bytes(void)
{
	unsigned long mib = READ_ONCE(sfu_table_memory);

	return mib ? mib << 20 : (totalram_pages() / 8) << PAGE_SHIFT;
}

/* Returns true if a table of @size bytes fits into the half of the limit for non-root users. */
bool sfu_limit_has_room_for_users(unsigned long size)
{
	return atomic_long_read(&bytes_of_users) + size <= sfu_limit_bytes() / 2;
}

/*
 * Counts one more section that uses the table in a process of a user other than root. Returns false
 * if the table does not fit into half of the limit. The first section adds the size of the table,
 * and the last one subtracts it. If two tasks both count a first section, one subtracts it again.
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
	if (atomic_inc_return(&table->nr_user_ranges) > 1)
		atomic_long_sub(table->size, &bytes_of_users);
	return true;
}

void sfu_limit_remove_user_range(struct sfu_table *table)
{
	if (atomic_dec_and_test(&table->nr_user_ranges))
		atomic_long_sub(table->size, &bytes_of_users);
}
