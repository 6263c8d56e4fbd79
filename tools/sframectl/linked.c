// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks the loader of a program for the libraries that it would map, as ldd does. Of a script
 * it is the interpreter that counts, also one that env looks for. The caller is about to run the
 * program: so nothing is run here that would not run anyway.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf.h"
#include "linked.h"

static const char *add_path(struct linked *linked, const char *path)
{
	char **all = reallocarray(linked->paths, linked->nr + 1, sizeof(*all));

	if (!all)
		return "out of memory";
	linked->paths = all;
	all[linked->nr] = strdup(path);
	return all[linked->nr++] ? NULL : "out of memory";
}

/* Looks for a program as a shell does. */
static bool find_in_path(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH");
	size_t len;

	for (; dir && *dir; dir += len + (dir[len] == ':')) {
		len = strcspn(dir, ":");
		snprintf(path, size, "%.*s/%s", (int)len, dir, name);
		if (len && !access(path, X_OK))
			return true;
	}
	*path = 0;
	return false;
}

/*
 * The word after "#!". If that is env, what it runs: the first word that is no option, and sets no
 * variable.
 */
static bool find_of_script(char *line, char *path, size_t size)
{
	char *word, *rest, *slash;

	line[strcspn(line, "\n")] = 0;
	word = strncmp(line, "#!", 2) ? NULL : strtok_r(line + 2, " \t", &rest);
	slash = word ? strrchr(word, '/') : NULL;
	if (slash && !strcmp(slash, "/env")) {
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (*word == '-' || strchr(word, '=')));
		if (word && !strchr(word, '/'))
			return find_in_path(word, path, size);
	}
	snprintf(path, size, "%s", word ? word : "");
	return word;
}

/* Sets @path to what the kernel, or env, runs for the file: PT_INTERP, or that of a script. */
static const char *find_interpreter(const char *name, char *path, bool *is_script)
{
	struct elf_segment seg;
	const char *error;
	struct file file;
	struct elf elf;
	u64 len;
	u32 i;

	*path = 0;
	*is_script = false;
	error = file_open(&file, name);
	if (error)
		return error;
	if (elf_magic(&file)) {
		error = elf_init(&elf, &file);
		for (i = 0; !error && elf_get_segment(&elf, i, &seg); i++) {
			if (seg.type != PT_INTERP || seg.filesz >= PATH_MAX)
				continue;
			error = file_read(&file, seg.off, path, seg.filesz);
			path[error ? 0 : seg.filesz] = 0;
			break;
		}
		elf_close(&elf);
	} else {
		char line[PATH_MAX + 2] = "";

		len = min_t(u64, file.size, sizeof(line) - 1);
		error = file_read(&file, 0, line, len);
		*is_script = !error && find_of_script(line, path, PATH_MAX + 2);
	}
	file_close(&file);
	return error;
}

/* A line is "NAME => PATH (ADDRESS)", or "PATH (ADDRESS)". */
static const char *parse_line(struct linked *linked, char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line;
	char *end = strstr(path, " (0x");

	path += strspn(path, " \t");
	if (*path != '/' || !end)
		return NULL;
	*end = 0;
	return add_path(linked, path);
}

static const char *read_list(struct linked *linked, FILE *list)
{
	const char *error = NULL;
	char *line = NULL;
	size_t room = 0;

	while (!error && getline(&line, &room, list) > 0)
		error = parse_line(linked, line);
	free(line);
	return error;
}

static const char *ask_loader(struct linked *linked, const char *loader, const char *program)
{
	const char *error;
	FILE *list;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return strerror(errno);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(loader, loader, "--list", program, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	list = fdopen(ends[0], "r");
	error = pid < 0 || !list ? strerror(errno) : read_list(linked, list);
	if (list)
		fclose(list);
	else
		close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return error;
}

/**
 * linked_find - find a program and what it needs
 * @linked: filled in
 * @program: its path
 *
 * Return: NULL, or the error as a text. The caller calls linked_free() in both cases.
 */
const char *linked_find(struct linked *linked, const char *program)
{
	char path[PATH_MAX + 2], script[PATH_MAX + 2];
	const char *error;
	bool is_script;

	*linked = (struct linked){};
	error = find_interpreter(program, path, &is_script);
	if (!error && is_script) {
		memcpy(script, path, sizeof(script));
		program = script;
		error = find_interpreter(script, path, &is_script);
		/* The interpreter of an interpreter is rare. */
		if (is_script)
			return NULL;
	}
	if (error)
		return error;
	error = add_path(linked, program);
	/* A static program needs nothing. */
	if (!error && *path)
		error = ask_loader(linked, path, program);
	return error;
}

void linked_free(struct linked *linked)
{
	size_t i;

	for (i = 0; i < linked->nr; i++)
		free(linked->paths[i]);
	free(linked->paths);
	*linked = (struct linked){};
}
