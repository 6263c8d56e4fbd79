// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Room for tables: the memory that all tables may take, and the part of it that users may use.
 *
 * Tables that ranges of users other than root use take at most half of the limit, also if root owns
 * the files. So no user keeps the programs of root from having tables.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/mm.h>
#include <linux/module.h>

#include "table/internal.h"

unsigned int sfu_table_memory;
module_param_named(table_memory, sfu_table_memory, uint, 0644);
MODULE_PARM_DESC(table_memory, "MiB that tables may take; 0: an eighth of the memory (default)");

/* Bytes of the tables that ranges of users other than root use. */
static atomic_long_t bytes_of_users;

/*
 * Returns the bytes that all tables may take: one eighth of the memory, unless the parameter says
 * otherwise. With a quarter, tables that nothing uses would compete with the page cache. With a
 * sixteenth, a machine with 2 GiB would have no room for the tables of a browser.
 */
unsigned long sfu_table_limit(void)
{
	unsigned long mib = READ_ONCE(sfu_table_memory);

	return mib ? mib << 20 : (totalram_pages() / 8) << PAGE_SHIFT;
}

/* Returns true if users have room for @size more bytes now. */
bool sfu_table_users_have_room(unsigned long size)
{
	return atomic_long_read(&bytes_of_users) + size <= sfu_table_limit() / 2;
}

/*
 * Counts one more range of a user. Returns false if users have no room for the table. The count of
 * ranges goes from 0 to 1 once for each time that the bytes are added, and back once.
 */
bool sfu_table_add_user_range(struct sfu_table *table)
{
	const unsigned long size = table->size;

	if (atomic_inc_not_zero(&table->nr_user_ranges))
		return true;
	if (atomic_long_add_return(size, &bytes_of_users) > sfu_table_limit() / 2) {
		atomic_long_sub(size, &bytes_of_users);
		WRITE_ONCE(table->was_refused, true);
		pr_warn_once("users other than root have tables of half of table_memory in use\n");
		return false;
	}
	if (atomic_inc_return(&table->nr_user_ranges) > 1)
		atomic_long_sub(size, &bytes_of_users);
	return true;
}

void sfu_table_remove_user_range(struct sfu_table *table)
{
	if (atomic_dec_and_test(&table->nr_user_ranges))
		atomic_long_sub(table->size, &bytes_of_users);
}
