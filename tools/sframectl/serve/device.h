/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /dev/sframe_unwind: the tables that the module holds. */
#ifndef SFRAMECTL_DEVICE_H
#define SFRAMECTL_DEVICE_H

#include "runtime.h"
#include "worker.h"

#define DEVICE	"/dev/sframe_unwind"

/* After this time the table of a file is accepted that has just changed. */
#define DEVICE_RETRY_MS	2100

const char *device_open(int *device, int flags);
const char *device_next(int device, struct sframe_file *file);
const char *device_drop_all(int device);
const char *device_drop_tableless(int device);
const char *device_load(int device, const struct worker *worker, char *message, u32 size);
const char *device_load_process(int device, pid_t pid, u64 cookie,
				const struct runtime_table *table, char *message, u32 size);

#endif /* SFRAMECTL_DEVICE_H */
