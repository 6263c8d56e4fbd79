/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files whose tables the module holds. */
#ifndef SFRAMECTL_HELD_H
#define SFRAMECTL_HELD_H

#include <stddef.h>
#include <sys/stat.h>

#include "uapi/sframe_unwind.h"
#include "process.h"

/**
 * struct held - the files whose tables the module holds, or that it knows to have none
 * @is_known: the module was asked; it answers root only
 * @all: the files, by device and inode
 * @nr: their number
 */
struct held {
	bool			is_known;
	struct sframe_file	*all;
	size_t			nr;
};

/* Has the file not changed since its table was loaded? @st: of the file, as it is now */
static inline bool held_is_same_time(const struct sframe_file *file, const struct stat *st)
{
	return st->st_ctim.tv_sec == file->ctime && st->st_ctim.tv_nsec == file->ctime_nsec;
}

const char *held_read(struct held *held);
const struct sframe_file *held_find(const struct held *held, const struct code *code, int fd);
bool held_is_current(const struct sframe_file *file, int fd);
void held_free(struct held *held);

#endif /* SFRAMECTL_HELD_H */
