// SPDX-License-Identifier: GPL-2.0-or-later
/* A hash table with open addresses. */
#include <err.h>
#include <stdlib.h>

#include "places.h"

static u64 *table;
static u64 room, count;

static u64 *find(u64 key)
{
	u64 i = key * 0x9e3779b97f4a7c15ull >> 20;

	while (table[i % room] && table[i % room] != key)
		i++;
	return &table[i % room];
}

static void grow(void)
{
	u64 *old = table, old_room = room, i;

	room = room ? 2 * room : 1 << 16;
	table = calloc(room, sizeof(*table));
	if (!table)
		err(1, "places");
	for (i = 0; i < old_room; i++)
		if (old[i])
			*find(old[i]) = old[i];
	free(old);
}

/* Returns whether the address is new. */
bool places_add(unsigned int file, u64 addr)
{
	u64 key = (u64)(file + 1) << 48 ^ addr, *at;

	if (2 * count >= room)
		grow();
	at = find(key);
	if (*at == key)
		return false;
	*at = key;
	count++;
	return true;
}

u64 places_count(void)
{
	return count;
}
