/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files below directories that may have code. */
#ifndef SFRAMECTL_BELOW_H
#define SFRAMECTL_BELOW_H

#include <stddef.h>

#include "file.h"

/**
 * struct below - files that may have code
 * @all: the files, the smallest first
 * @nr: how many
 */
struct below {
	struct below_file {
		char	*path;
		u64	size;
	}		*all;
	size_t		nr;
};

void below_find(struct below *below, char **dirs, size_t nr_dirs);
void below_free(struct below *below);

#endif /* SFRAMECTL_BELOW_H */
