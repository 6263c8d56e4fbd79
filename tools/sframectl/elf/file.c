// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads files by pread(), and copies pieces of bounded size. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file.h"
#include "sframe_file_system.h"

/* Without a /proc of this process, opens the name once more: it may be that of another file now. */
static int open_again(const char *path, const struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat now;

	if (fd < 0 || (!fstat(fd, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/*
 * Opening a device may have effects. So its type is asked for first, of the very file: the name may
 * be that of another one a moment later. With O_NONBLOCK, open() does not wait for a process
 * that has a lease of the file.
 */
static const char *open_regular(struct file *file, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC), err;
	char name[64];
	struct stat st;

	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return "not a regular file";
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	file->fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 && errno == ENOENT)
		file->fd = open_again(path, &st);
	err = errno;
	close(fd);
	file->is_open = file->fd >= 0;
	file->size = st.st_size;
	return file->is_open ? NULL : strerror(err);
}

/**
 * file_open - open a regular file
 * @file: filled in; after an error there is nothing to close
 * @path: the file
 *
 * Return: NULL, or the error as a text.
 */
const char *file_open(struct file *file, const char *path)
{
	const char *error;

	*file = (struct file){};
	error = open_regular(file, path);
	if (error)
		file_close(file);
	return error;
}

/* The caller owns the bytes. */
struct file file_of_bytes(const void *bytes, u64 size)
{
	return (struct file){ .bytes = bytes, .size = size };
}

/* Return: true if the file had all @len bytes from @off when it was opened. */
bool file_has(const struct file *file, u64 off, u64 len)
{
	return off <= file->size && len <= file->size - off;
}

/**
 * file_read - read bytes of a file
 * @file: the file
 * @off: offset of the first byte
 * @dst: the place for the bytes; undefined after an error
 * @len: number of bytes
 *
 * Return: NULL, or the error as a text.
 */
const char *file_read(const struct file *file, u64 off, void *dst, u64 len)
{
	ssize_t part;
	u64 done;

	if (!file_has(file, off, len))
		return "ends too early";
	if (!file->is_open) {
		memcpy(dst, file->bytes + off, len);
		return NULL;
	}
	for (done = 0; done < len; done += part) {
		part = pread(file->fd, (u8 *)dst + done, len - done, off + done);
		if (part == 0)
			return "became shorter while it was read; try again";
		if (part < 0 && errno != EINTR)
			return strerror(errno);
		if (part < 0)
			part = 0;
	}
	return NULL;
}

/**
 * file_copy - copy bytes of a file to memory
 * @file: the file
 * @off: offset of the first byte
 * @len: number of bytes, at most FILE_COPY_MAX
 * @copy: set to the bytes, which the caller frees; NULL after an error
 *
 * Return: NULL, or the error as a text.
 */
const char *file_copy(const struct file *file, u64 off, u64 len, u8 **copy)
{
	const char *error;

	*copy = NULL;
	if (!file_has(file, off, len))
		return "ends too early";
	if (len > FILE_COPY_MAX)
		return "too large to be read";
	*copy = malloc(len ? len : 1);
	if (!*copy)
		return "out of memory";
	error = file_read(file, off, *copy, len);
	if (error) {
		free(*copy);
		*copy = NULL;
	}
	return error;
}

static const char *copy_to(int fd, const struct file *file)
{
	u8 piece[65536];
	u64 off, len;

	for (off = 0; off < file->size; off += len) {
		const char *error;

		len = min_t(u64, file->size - off, sizeof(piece));
		error = file_read(file, off, piece, len);
		if (error)
			return error;
		if (write(fd, piece, len) != (ssize_t)len)
			return "cannot be copied to memory";
	}
	return NULL;
}

/**
 * file_keep - go on with a copy of a file in memory, which nobody changes
 * @file: the file
 *
 * Return: NULL, or the error as a text.
 */
const char *file_keep(struct file *file)
{
	const char *error;
	int fd;

	if (!file->is_open)
		return NULL;
	if (file->size > FILE_KEEP_MAX)
		return "larger than 1 GiB: it is not converted by content";
	fd = memfd_create("copy", MFD_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	error = copy_to(fd, file);
	if (error) {
		close(fd);
		return error;
	}
	close(file->fd);
	file->fd = fd;
	return NULL;
}

/**
 * file_is_elsewhere - is a file on a file system whose files get no table?
 * @fd: the file; -1: there is none
 *
 * Only the module knows which file system has the bytes of an overlay's file. 9p may report the
 * type of the server's file system.
 */
bool file_is_elsewhere(int fd)
{
	struct statfs fs;

	return fd >= 0 && !fstatfs(fd, &fs) && fs.f_type != OVERLAYFS_SUPER_MAGIC &&
	       !sframe_tells_changes(fs.f_type);
}

void file_close(struct file *file)
{
	if (file->is_open)
		close(file->fd);
	*file = (struct file){};
}
