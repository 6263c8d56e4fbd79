// SPDX-License-Identifier: GPL-2.0-or-later
/* Stands in for held.c: a module that holds a table of each file. */
#include "held.h"

const char *held_read(struct held *held)
{
	*held = (struct held){ .is_known = true };
	return NULL;
}

const struct sframe_file *held_find(const struct held *held, const struct code *code, int fd)
{
	static const struct sframe_file file = { .nr_functions = 1 };

	(void)held;
	(void)code;
	(void)fd;
	return &file;
}

bool held_is_current(const struct sframe_file *file, int fd)
{
	(void)file;
	(void)fd;
	return true;
}

void held_free(struct held *held)
{
	(void)held;
}
