// SPDX-License-Identifier: GPL-2.0-or-later
/* Talks to the module by its device. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "module.h"

/**
 * device_open - open the device of the module
 * @device: set to the file descriptor
 * @flags: O_WRONLY, to load tables; O_RDWR, to be told of files as well
 *
 * Return: NULL, or the error as a text.
 */
const char *device_open(int *device, int flags)
{
	*device = open(DEVICE, flags | O_CLOEXEC | O_NONBLOCK);
	if (*device >= 0)
		return NULL;
	if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		return module_missing();
	if (errno == EACCES || errno == EPERM)
		return module_needs_root("load, list or drop tables");
	return strerror(errno);
}

/**
 * device_load - load the table that a worker has made
 * @device: the device
 * @worker: the worker, which has ended; without a section the file is known to have none
 * @message: room for a text
 * @size: its bytes
 *
 * Return: NULL, or the error as a text, maybe in @message. errno is set.
 */
const char *device_load(int device, const struct worker *worker, char *message, u32 size)
{
	const struct worker_result *result = &worker->result;
	struct sframe_load load = {
		.size = sizeof(load),
		.fd = worker->is_vdso ? -1 : worker->fd,
		.flags = worker->is_vdso ? SFRAME_LOAD_VDSO : 0,
		.section = (uintptr_t)worker->section,
		.section_size = result->size,
		.section_addr = result->addr,
		.segments = (uintptr_t)result->segments,
		.nr_segments = result->nr_segments,
		.file_size = worker->stat.st_size,
		.ctime = worker->stat.st_ctim.tv_sec,
		.ctime_nsec = worker->stat.st_ctim.tv_nsec,
		.message = (uintptr_t)message,
		.message_size = size,
	};

	*message = 0;
	if (!ioctl(device, SFRAME_LOAD, &load))
		return NULL;
	return *message ? message : strerror(errno);
}

/**
 * device_load_process - replace the table for code of a process
 * @device: the device
 * @pid: the process
 * @cookie: of its memory, from &struct sframe_wanted
 * @table: the table; its section follows. Zeros: there is none; this answers the device
 * @message: room for a text
 * @size: its bytes
 *
 * Return: NULL, or the error as a text, maybe in @message. errno is set.
 */
const char *device_load_process(int device, pid_t pid, u64 cookie,
				const struct runtime_table *table, char *message, u32 size)
{
	struct sframe_process process = {
		.size = sizeof(process),
		.pid = pid,
		.cookie = cookie,
		.text_start = table->start,
		.text_size = table->size,
		.section = table->section_size ? (uintptr_t)(table + 1) : 0,
		.section_size = table->section_size,
		.section_addr = table->start,
		.message = (uintptr_t)message,
		.message_size = size,
		.entry_start = table->entry_start,
		.entry_size = table->entry_size,
	};

	*message = 0;
	if (!ioctl(device, SFRAME_PROCESS, &process))
		return NULL;
	return *message ? message : strerror(errno);
}

/**
 * device_next - the next file that has a table
 * @device: the device
 * @file: the last one, or zeros to begin; its size is 0 after the last
 *
 * Return: NULL, or the error as a text.
 */
const char *device_next(int device, struct sframe_file *file)
{
	file->size = sizeof(*file);
	if (!ioctl(device, SFRAME_LIST, file))
		return NULL;
	file->size = 0;
	return errno == ENOENT ? NULL : strerror(errno);
}

static const char *drop(int device, u32 flags)
{
	struct sframe_drop drop = { .size = sizeof(drop), .fd = -1, .flags = flags };

	return ioctl(device, SFRAME_DROP, &drop) ? strerror(errno) : NULL;
}

/* Return: NULL, or the error as a text. */
const char *device_drop_all(int device)
{
	return drop(device, SFRAME_DROP_ALL);
}

/**
 * device_drop_tableless - let the module ask again for files that are known to have no table
 * @device: the device
 *
 * Return: NULL, or the error as a text.
 */
const char *device_drop_tableless(int device)
{
	return drop(device, SFRAME_DROP_TABLELESS);
}
