/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of anybody, read piece by piece. Nothing of it is mapped: the file may
 * shrink or change at any time, and the bytes that were read stay as they are.
 */
#ifndef SFRAMECTL_FILE_H
#define SFRAMECTL_FILE_H

#include "sframe_types.h"

/* No piece of a file that is copied to memory is larger. */
#define FILE_COPY_MAX	(128u << 20)

/* No larger file is kept in memory. It may have holes, which cost nothing where they are. */
#define FILE_KEEP_MAX	(1024u << 20)

#define FILE_ELSEWHERE \
	"it is on a file system whose files get no table: a file can change there unseen"

/**
 * struct file - a file that is open, or bytes that stand for one
 * @is_open: there is a file
 * @fd: the file
 * @bytes: the bytes, if there is no file
 * @size: number of bytes when the file was opened
 */
struct file {
	bool		is_open;
	int		fd;
	const u8	*bytes;
	u64		size;
};

bool file_is_elsewhere(int fd);
const char *file_open(struct file *file, const char *path);
struct file file_of_bytes(const void *bytes, u64 size);
bool file_has(const struct file *file, u64 off, u64 len);
const char *file_read(const struct file *file, u64 off, void *dst, u64 len);
const char *file_keep(struct file *file);
const char *file_copy(const struct file *file, u64 off, u64 len, u8 **copy);
void file_close(struct file *file);

#endif /* SFRAMECTL_FILE_H */
