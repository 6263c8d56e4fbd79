// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * real.c - find the real perf: $PERF_REAL, or the first perf in PATH after this program
 *
 * "After" excludes a script named perf that comes first and calls this program: it would be
 * called again without end. Copies of this program are skipped wherever they are.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrapper.h"

/*
 * A note identifies each copy of this program under any name, also when it is stripped. The
 * linker puts notes on the first page of the file.
 */
#define MARKER "sframe_unwind's wrapper named perf"
#define FIRST_PAGE 4096

static const struct {
	Elf64_Nhdr header;
	char name[4];
	char desc[sizeof(MARKER) + 1];
} note __attribute__((section(".note.sframe_unwind"), aligned(4), used)) = {
	.header = { .n_namesz = sizeof(note.name), .n_descsz = sizeof(note.desc), .n_type = 1 },
	.name = "SFU",
	.desc = MARKER,
};

static_assert(sizeof(note.desc) % 4 == 0, "a note's description is padded to 4 bytes");

/* first_page: read the first page of @path. Returns its length, 0 if it cannot be read. */
static size_t first_page(const char *path, char page[FIRST_PAGE])
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len;

	if (file < 0)
		return 0;
	len = read(file, page, FIRST_PAGE);
	close(file);
	return len < 0 ? 0 : len;
}

static bool is_wrapper(const char *path)
{
	char page[FIRST_PAGE];

	return memmem(page, first_page(path, page), note.desc, sizeof(note.desc));
}

/**
 * is_script() - is this file anything but an ELF program?
 * @path: the file
 */
bool is_script(const char *path)
{
	char page[FIRST_PAGE];

	return first_page(path, page) < SELFMAG || memcmp(page, ELFMAG, SELFMAG);
}

static bool same_file(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static const char *called_as(void)
{
	return (const char *)getauxval(AT_EXECFN);
}

static bool stat_self(struct stat *self)
{
	return !stat("/proc/self/exe", self) || !stat(called_as(), self);
}

/*
 * split_path: the places in PATH where @program may be, in order; a relative one begins with "./",
 * never with a dash
 */
static void split_path(struct words *candidates, const char *program)
{
	const char *path = getenv("PATH"), *end, *dot;

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (;; path = end + 1) {
		end = strchrnul(path, ':');
		/* An empty entry is the current directory. */
		dot = end == path ? "." : "./";
		add_word(candidates, text("%s%.*s/%s", *path == '/' ? "" : dot,
					  (int)(end - path), path, program));
		if (!*end)
			return;
	}
}

static bool in_directory_of(const char *candidate, const char *file)
{
	const char *end = strrchr(file, '/');
	char *dir = end ? text_n(file, end + 1 - file) : text("./");
	char *candidate_dir = text_n(candidate, strrchr(candidate, '/') + 1 - candidate);
	struct stat one, other;
	bool same = !stat(dir, &one) && !stat(candidate_dir, &other) && same_file(&one, &other);

	free(candidate_dir);
	free(dir);
	return same;
}

/*
 * after_self: the index of the first candidate after this program. If PATH has several links to
 * it, the one by which it was called counts. 0 if PATH does not have it: it was called by its
 * path.
 */
static size_t after_self(const struct words *candidates)
{
	struct stat self, file;
	size_t i, after = 0;

	if (!stat_self(&self))
		return 0;
	for (i = 0; i < candidates->nr; i++) {
		if (stat(candidates->word[i], &file) || !same_file(&self, &file))
			continue;
		if (in_directory_of(candidates->word[i], called_as()))
			return i + 1;
		if (!after)
			after = i + 1;
	}
	return after;
}

static bool is_program(const char *path)
{
	struct stat file;

	return !stat(path, &file) && S_ISREG(file.st_mode) && !access(path, X_OK);
}

/**
 * find_in_path() - find a program as the shell does
 * @program: its name
 *
 * Return: its path, or NULL.
 */
char *find_in_path(const char *program)
{
	struct words candidates = { };
	size_t i;

	split_path(&candidates, program);
	for (i = 0; i < candidates.nr; i++) {
		if (is_program(candidates.word[i]))
			return candidates.word[i];
	}
	return NULL;
}

/* named_perf: the perf that PERF_REAL names; a name without a slash is searched in PATH */
static char *named_perf(char *name)
{
	char *found = strchr(name, '/') ? name : find_in_path(name);

	if (!found)
		die(127, "PERF_REAL=%s is not in PATH: name a file, or unset PERF_REAL", name);
	if (is_wrapper(found))
		die(1,
		    "PERF_REAL=%s is sframe_unwind's wrapper itself, which would run itself without end: name the real perf, or unset PERF_REAL",
		    name);
	return found;
}

/**
 * find_real_perf() - find the perf to run; ends the program if there is none
 *
 * Return: its path.
 */
char *find_real_perf(void)
{
	char *real = getenv("PERF_REAL");
	struct words candidates = { };
	size_t i, first;

	if (real && *real)
		return named_perf(real);
	split_path(&candidates, "perf");
	first = after_self(&candidates);
	for (i = first; i < candidates.nr; i++) {
		if (is_program(candidates.word[i]) && !is_wrapper(candidates.word[i]))
			return candidates.word[i];
	}
	die(127,
	    "no perf after this wrapper in PATH: install the package linux-perf (Ubuntu: linux-tools-generic), or name one by PERF_REAL=FILE");
}

static pid_t parent_of(pid_t pid)
{
	char *path = text("/proc/%d/stat", pid), *stat = read_file(path), *end;
	pid_t parent = 0;

	free(path);
	/* The name in parentheses may hold anything: the fields follow the last one. */
	end = stat ? strrchr(stat, ')') : NULL;
	if (end)
		sscanf(end, ") %*c %d", &parent);
	free(stat);
	return parent;
}

/**
 * refuse_loop() - end the program if a script runs this program again without end
 * @real: the script that is to be run
 *
 * This program waits for a script. In a loop it is its own ancestor again and again. A workload
 * of perf that calls perf makes a few such ancestors at most.
 */
void refuse_loop(const char *real)
{
	struct stat self, file;
	int times = 0;
	pid_t pid;

	if (!stat_self(&self))
		return;
	for (pid = getppid(); pid > 1; pid = parent_of(pid)) {
		char *path = text("/proc/%d/exe", pid);

		if (!stat(path, &file) && same_file(&self, &file))
			times++;
		free(path);
	}
	if (times >= 8)
		die(1,
		    "%s, which stands for the real perf here, runs sframe_unwind's wrapper again without end: name the real perf by PERF_REAL=FILE",
		    real);
}
