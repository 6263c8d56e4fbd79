// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * real.c - find the real perf: $PERF_REAL, or the first perf in PATH that is not this program
 *
 * A program that is itself named perf takes the first one after itself. This excludes a script
 * named perf that comes before it and calls it: that would be called again without end.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

static bool is_wrapper(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char page[FIRST_PAGE];
	ssize_t len = file < 0 ? 0 : read(file, page, sizeof(page));

	if (file >= 0)
		close(file);
	return len > 0 && memmem(page, len, note.desc, sizeof(note.desc));
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;

	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * split_path: the places in PATH where @program may be, in order; a relative one begins with "./",
 * never with a dash
 */
static void split_path(struct words *candidates, const char *program)
{
	const char *path = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin", *end, *dot;

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

/* after_self: the index of the first candidate after this program; 0 if PATH does not have it */
static size_t after_self(const struct words *candidates)
{
	size_t i;

	for (i = 0; i < candidates->nr; i++) {
		if (same_file("/proc/self/exe", candidates->word[i]))
			return i + 1;
	}
	return 0;
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
 * @after: it comes after this program in PATH, because this one is named perf, too
 *
 * Return: its path.
 */
char *find_real_perf(bool after)
{
	char *real = getenv("PERF_REAL");
	struct words candidates = { };
	size_t i;

	if (real && *real)
		return named_perf(real);
	split_path(&candidates, "perf");
	for (i = after ? after_self(&candidates) : 0; i < candidates.nr; i++) {
		if (is_program(candidates.word[i]) && !is_wrapper(candidates.word[i]))
			return candidates.word[i];
	}
	die(127,
	    "no perf%s in PATH: install the package linux-perf (Ubuntu: linux-tools-generic), or name one by PERF_REAL=FILE",
	    after ? " after this wrapper" : "");
}
