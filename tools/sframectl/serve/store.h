/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store: a directory of table files. The name of each is the key of the file that it was made
 * of: the SHA-256 of all of its bytes. A build-id is no key, because different files may
 * have the same one, and anybody may write one into a file.
 */
#ifndef STORE_H
#define STORE_H

#include "file.h"

/* A key as a text: the digits of a SHA-256. */
#define STORE_KEY	65

struct worker;

const char *store_key(const struct file *file, char key[STORE_KEY]);
const char *store_open(int *dir, const char *path);
const char *store_find(int dir, struct worker *worker);

#endif /* STORE_H */
