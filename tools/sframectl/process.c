// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists the files that a process has mapped as code. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

struct file_id {
	unsigned int	major, minor;
	unsigned long	inode;
};

struct seen {
	struct file_id	*all;
	size_t		nr;
};

struct mapping {
	unsigned long	start, end;
	char		perms[5];
	struct file_id	id;
	const char	*name;		/* in the line */
};

/* A file may have several mappings of code. Out of memory: the file is reported again. */
static bool seen_before(struct seen *seen, const struct file_id *id)
{
	struct file_id *all;
	size_t i;

	for (i = 0; i < seen->nr; i++)
		if (!memcmp(&seen->all[i], id, sizeof(*id)))
			return true;
	all = reallocarray(seen->all, seen->nr + 1, sizeof(*all));
	if (all) {
		seen->all = all;
		seen->all[seen->nr++] = *id;
	}
	return false;
}

static bool parse_mapping(char *line, struct mapping *map)
{
	int name = 0;

	line[strcspn(line, "\n")] = 0;
	memset(map, 0, sizeof(*map));
	if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &map->start, &map->end,
		   map->perms, &map->id.major, &map->id.minor, &map->id.inode,
		   &name) < 6 || !name)
		return false;
	map->name = line + name;
	return map->perms[2] == 'x' && *map->name == '/';
}

/*
 * An entry of map_files opens the mapped file itself, even if the file has been
 * deleted or replaced. Only root may open it; other users open the file by name.
 */
static void visit(const char *pid, const struct mapping *map, process_file_fn fn,
		  void *arg)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%s/map_files/%lx-%lx", pid,
		 map->start, map->end);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "/proc/%s/root%s", pid, map->name);
	fn(arg, path, map->name);
}

/**
 * process_each_code_file - call a function for each file mapped as code
 * @pid: the PID, as digits
 * @fn: the function
 * @arg: first argument of @fn
 *
 * Return: NULL, or the error as a text.
 */
const char *process_each_code_file(const char *pid, process_file_fn fn,
				   void *arg)
{
	struct mapping map;
	struct seen seen = {};
	char path[64];
	char *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return errno == ENOENT ? "no such process" : strerror(errno);
	while (getline(&line, &room, maps) > 0)
		if (parse_mapping(line, &map) && !seen_before(&seen, &map.id))
			visit(pid, &map, fn, arg);
	free(line);
	free(seen.all);
	fclose(maps);
	return NULL;
}
