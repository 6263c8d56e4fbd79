// SPDX-License-Identifier: GPL-2.0-or-later
/* The files whose tables the module holds. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
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
	if (held->nr)
		qsort(held->all, held->nr, sizeof(*held->all), compare_files);
	return error;
}

/**
 * held_is_current - is the file what it was when its table was loaded?
 * @file: what the module holds; a module of an older version does not say
 * @fd: the file; -1: it does not change
 */
bool held_is_current(const struct sframe_file *file, int fd)
{
	struct stat st;

	return file->size < sizeof(*file) || fd < 0 || fstat(fd, &st) ||
	       held_is_same_time(file, &st);
}

/**
 * held_find - find what the module holds for a file
 * @held: what the module holds
 * @code: the file as maps list it. The vDSO is no file: all zero
 * @fd: the file; -1: there is none
 *
 * Return: that of the file as it is now, or else that of an older content, or NULL.
 */
const struct sframe_file *held_find(const struct held *held, const struct code *code, int fd)
{
	struct sframe_file key = {
		.dev_major = code->major,
		.dev_minor = code->minor,
		.ino = code->inode,
	};
	const struct sframe_file *found, *file, *end = held->all + held->nr;

	if (!held->nr)
		return NULL;
	found = bsearch(&key, held->all, held->nr, sizeof(key), compare_files);
	while (found && found > held->all && !compare_files(found - 1, &key))
		found--;
	for (file = found; file && file < end && !compare_files(file, &key); file++)
		if (held_is_current(file, fd))
			return file;
	return found;
}

void held_free(struct held *held)
{
	free(held->all);
	*held = (struct held){};
}
