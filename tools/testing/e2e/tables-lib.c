// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library of tables.c: three functions that call each other, with frames that depend on ROOM.
 * Built twice, the two have one build-id and the same addresses. Only the frames differ.
 */
#include "chain.h"

long spin(long x);
long middle(long x);
long outer(long x);

LINK long spin(long x)
{
	long left = opaque(20000);

	while (left--)
		x = opaque(x + left);
	return x;
}

LINK long middle(long x)
{
	char room[ROOM];

	keep(room);
	x = spin(x) + 1;
	keep(room);
	return x;
}

LINK long outer(long x)
{
	char room[2 * ROOM];

	keep(room);
	x = middle(x) + 1;
	keep(room);
	return x;
}
