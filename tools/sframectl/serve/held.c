// SPDX-License-Identifier: GPL-2.0-or-later
/* The files whose tables the module holds. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "grow.h"
#include "held.h"

static int compare(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare_files(const void *a, const void *b)
{
	const struct sframe_file *file1 = a, *file2 = b;

	return compare(file1->dev_major, file2->dev_major) ?:
	       compare(file1->dev_minor, file2->dev_minor) ?: compare(file1->ino, file2->ino);
}

static bool add(struct held *held, const struct sframe_file *file)
{
	struct sframe_file *all = grow(held->all, held->nr, sizeof(*all));

	if (!all)
		return false;
	held->all = all;
	all[held->nr++] = *file;
	return true;
}

/**
 * held_read - ask the module which tables it holds
 * @held: filled in
 *
 * Return: NULL, or the error as a text. The caller calls held_free() in both cases.
 */
const char *held_read(struct held *held)
{
	struct sframe_file file = {};
	const char *error;
	int device;

	*held = (struct held){};
	error = device_open(&device, O_WRONLY);
	if (error)
		return error;
	while (!error) {
		error = device_next(device, &file);
		if (error || !file.size)
			break;
		if (!add(held, &file))
			error = "out of memory";
	}
	close(device);
	held->is_known = !error;
	qsort(held->all, held->nr, sizeof(*held->all), compare_files);
	return error;
}

/* Return: what the module holds for the file of @code, or NULL. The vDSO is no file: all zero. */
const struct sframe_file *held_find(const struct held *held, const struct code *code)
{
	struct sframe_file key = {
		.dev_major = code->major,
		.dev_minor = code->minor,
		.ino = code->inode,
	};

	if (!held->nr)
		return NULL;
	return bsearch(&key, held->all, held->nr, sizeof(key), compare_files);
}

void held_free(struct held *held)
{
	free(held->all);
	*held = (struct held){};
}
