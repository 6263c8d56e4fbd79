// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tables - a program that works in a library when it is told to
 *
 * tables [memfd] LIBRARY: loads LIBRARY, or a copy of it in a memfd; writes where the functions of
 * its stacks are, innermost first; then reads numbers from standard input. For each it works as
 * many milliseconds in the library, and writes a line. See tables-lib.c.
 *
 * tables store FROM TO: writes the bytes of FROM to TO, of the same size, by a shared mapping.
 * tables hold FROM TO: does so after it has written all bytes of TO again, and has read a line: the
 * first write of a page changes the file's time of change, and the second one does not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "chain.h"
#include "clock.h"

long work(long (*outer)(long x), long ms);

LINK long work(link_fn *outer, long ms)
{
	long until = now_ms() + ms, x = 0;

	while (now_ms() < until)
		x += outer(x);
	return x;
}

static void *must_find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		errx(1, "%s: %s", name, dlerror());
	return symbol;
}

/* As perf prints addresses. */
static void print_function(void *library, const char *name)
{
	char *start = must_find(library, name);
	const Elf64_Sym *found;
	Dl_info info;

	if (!dladdr1(start, &info, (void **)&found, RTLD_DL_SYMENT) || !found)
		errx(1, "%s: no symbol", name);
	printf("%s %16lx %16lx\n", name, (long)start, (long)start + found->st_size);
}

static char *copy_to_memfd(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("tables", 0);
	struct stat st;
	char *name;

	if (from < 0 || to < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, st.st_size) != st.st_size)
		err(1, "%s", path);
	close(from);
	if (asprintf(&name, "/proc/self/fd/%d", to) < 0)
		err(1, "asprintf");
	return name;
}

static void *map_shared(const char *path, int flags, int prot, size_t *size)
{
	int fd = open(path, flags);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	bytes = mmap(NULL, st.st_size, prot, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	*size = st.st_size;
	return bytes;
}

static void hold(char *dst, size_t size)
{
	char line[2];

	while (size--)
		((volatile char *)dst)[size] = dst[size];
	puts("held");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		errx(1, "no line");
}

static int store(const char *how, const char *from, const char *to)
{
	size_t size, room;
	void *src = map_shared(from, O_RDONLY, PROT_READ, &size);
	void *dst = map_shared(to, O_RDWR, PROT_READ | PROT_WRITE, &room);

	if (size != room)
		errx(1, "the sizes differ");
	if (!strcmp(how, "hold"))
		hold(dst, size);
	memcpy(dst, src, size);
	return 0;
}

int main(int argc, char **argv)
{
	char *path = argv[argc - 1], line[32];
	void *library;

	if (argc < 2)
		errx(2, "usage: tables [memfd] LIBRARY | store|hold FROM TO");
	if (argc == 4)
		return store(argv[1], argv[2], argv[3]);
	if (argc == 3)
		path = copy_to_memfd(path);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		errx(1, "%s", dlerror());
	print_function(library, "spin");
	print_function(library, "middle");
	print_function(library, "outer");
	print_function(NULL, "work");
	print_function(NULL, "main");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		work(must_find(library, "outer"), atol(line));
		puts("done");
		fflush(stdout);
	}
	return 0;
}
