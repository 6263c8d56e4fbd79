// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies of test data that end at a page that is not accessible. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

#define ROOM	(16u << 20)

static u8 *map_room(void)
{
	u8 *room = mmap(NULL, ROOM + getpagesize(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || mprotect(room + ROOM, getpagesize(), PROT_NONE)) {
		perror("guard page");
		exit(1);
	}
	return room;
}

u8 *guard_copy(const void *data, u64 size)
{
	static u8 *room;

	if (!room)
		room = map_room();
	assert(size <= ROOM);
	return memcpy(room + ROOM - size, data, size);
}
