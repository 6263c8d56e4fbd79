// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the files below directories that may have code: programs and shared objects. */
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "below.h"
#include "grow.h"

/* Debian installs shared objects without the right to execute them. */
static bool may_have_code(const FTSENT *entry)
{
	const struct stat *st = entry->fts_statp;

	return entry->fts_info == FTS_F && S_ISREG(st->st_mode) &&
	       (st->st_mode & 0111 || strstr(entry->fts_name, ".so"));
}

/* Out of memory: the file is not listed. */
static void add(struct below *below, const FTSENT *entry)
{
	struct below_file *all = grow(below->all, below->nr, sizeof(*all));
	char *path = strdup(entry->fts_path);

	if (all)
		below->all = all;
	if (all && path)
		all[below->nr++] = (struct below_file){ path, entry->fts_statp->st_size };
	else
		free(path);
}

static int compare(const void *a, const void *b)
{
	const struct below_file *f1 = a, *f2 = b;

	if (f1->size != f2->size)
		return f1->size < f2->size ? -1 : 1;
	return strcmp(f1->path, f2->path);
}

/**
 * below_find - find the files that may have code
 * @below: filled in; the caller calls below_free()
 * @dirs: the directories; what does not exist is left out
 * @nr_dirs: how many
 *
 * Symbolic links are not followed, and other file systems are not entered.
 */
void below_find(struct below *below, char **dirs, size_t nr_dirs)
{
	int options = FTS_PHYSICAL | FTS_COMFOLLOW | FTS_XDEV | FTS_NOCHDIR;
	char **paths = calloc(nr_dirs + 1, sizeof(*paths));
	FTS *tree = NULL;
	FTSENT *entry;

	*below = (struct below){};
	if (paths && nr_dirs) {
		memcpy(paths, dirs, nr_dirs * sizeof(*paths));
		tree = fts_open(paths, options, NULL);
	}
	while (tree && (entry = fts_read(tree)))
		if (may_have_code(entry))
			add(below, entry);
	if (tree)
		fts_close(tree);
	free(paths);
	if (below->nr)
		qsort(below->all, below->nr, sizeof(*below->all), compare);
}

void below_free(struct below *below)
{
	size_t i;

	for (i = 0; i < below->nr; i++)
		free(below->all[i].path);
	free(below->all);
	*below = (struct below){};
}
