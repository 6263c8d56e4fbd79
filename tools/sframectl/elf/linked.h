/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a program needs: its loader, and the libraries that this would map. */
#ifndef SFRAMECTL_LINKED_H
#define SFRAMECTL_LINKED_H

#include <stddef.h>

/**
 * struct linked - files, by path
 * @paths: the program first
 * @nr: how many
 */
struct linked {
	char	**paths;
	size_t	nr;
};

const char *linked_find(struct linked *linked, const char *program);
void linked_free(struct linked *linked);

#endif /* SFRAMECTL_LINKED_H */
