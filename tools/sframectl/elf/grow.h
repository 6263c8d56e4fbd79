/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow to the next power of two when they are full. */
#ifndef SFRAMECTL_GROW_H
#define SFRAMECTL_GROW_H

#include <stdlib.h>

/* Makes room for one more. Returns the array; NULL: out of memory, and @all is as it was. */
static inline void *grow(void *all, size_t nr, size_t size)
{
	return nr & (nr - 1) ? all : reallocarray(all, nr ? 2 * nr : 1, size);
}

#endif /* SFRAMECTL_GROW_H */
