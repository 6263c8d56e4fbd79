// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the table file of a program by the program's content. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object.h"
#include "sha256.h"
#include "store.h"
#include "worker.h"

/**
 * store_key - the key of a file
 * @file: the file
 * @key: set to the key
 *
 * Return: NULL, or the error as a text.
 */
const char *store_key(const struct file *file, char key[STORE_KEY])
{
	static u8 piece[64 << 10];
	u8 hash[SHA256_SIZE];
	const char *error;
	struct sha256 sha;
	u64 off, len;
	int i;

	sha256_init(&sha);
	for (off = 0; off < file->size; off += len) {
		len = min_t(u64, file->size - off, sizeof(piece));
		error = file_read(file, off, piece, len);
		if (error)
			return error;
		sha256_add(&sha, piece, len);
	}
	sha256_end(&sha, hash);
	for (i = 0; i < SHA256_SIZE; i++)
		sprintf(key + 2 * i, "%02x", hash[i]);
	return NULL;
}

/* A user who can write a table file chooses what the stacks of a program look like. */
static const char *check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (st.st_uid && st.st_uid != geteuid())
		return "is not root's";
	if (st.st_mode & (0022))
		return "others than its owner may write it";
	return NULL;
}

/**
 * store_open - open a store
 * @dir: set to its file descriptor
 * @path: the directory
 *
 * Return: NULL, or the error as a text.
 */
const char *store_open(int *dir, const char *path)
{
	const char *error;

	*dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0)
		return strerror(errno);
	error = check_owner(*dir);
	if (error)
		close(*dir);
	return error;
}

static const char *open_table(int dir, const char *key, struct file *file)
{
	char name[STORE_KEY + sizeof(".sframe")];
	struct stat st;

	snprintf(name, sizeof(name), "%s.sframe", key);
	*file = (struct file){
		.fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
	};
	if (file->fd < 0)
		return errno == ENOENT ? "has no table there" : strerror(errno);
	file->is_open = true;
	if (fstat(file->fd, &st) || !S_ISREG(st.st_mode))
		return "its table is not a regular file";
	file->size = st.st_size;
	return check_owner(file->fd) ? "others than root may write its table" : NULL;
}

/* Takes the section of the table file. */
static const char *take_section(struct worker *worker, struct object *obj)
{
	if (!obj->is_elf || !obj->data)
		return "its table file has no .sframe";
	worker->result.addr = obj->addr;
	worker->result.size = obj->size;
	worker->copy = obj->data;
	worker->section = obj->data;
	obj->data = NULL;
	return NULL;
}

/**
 * store_find - find the table of a file
 * @dir: the store
 * @worker: it has ended, and has found the key of the file; gets the section
 *
 * Return: NULL, or the error as a text.
 */
const char *store_find(int dir, struct worker *worker)
{
	const char *error;
	struct object obj;
	struct file file;

	error = open_table(dir, worker->result.key, &file);
	if (error) {
		file_close(&file);
		return error;
	}
	error = object_init(&obj, &file) ?: take_section(worker, &obj);
	object_close(&obj);
	return error;
}
