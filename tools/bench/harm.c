// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harm PROGRAM LIBRARY: measure what operations that all programs do cost
 *
 * Prints "OPERATION NS" for each operation. In a virtual machine with -icount, two
 * nanoseconds are an instruction, and all of the machine's instructions count,
 * because it has one processor.
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_MAPPED	64	/* mappings at the same time */

extern char **environ;

static const char *program, *library;
static long page;
static int file;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* All mappings are of the same page of the library. So the kernel never merges two of them. */
static void *map_page(int prot)
{
	void *mapping = mmap(NULL, page, prot, MAP_PRIVATE, file, 0);

	if (mapping == MAP_FAILED)
		err(1, "mmap");
	return mapping;
}

static double take_mappings(long count, double *unmapping)
{
	void *mappings[MAX_MAPPED];
	double mapping = 0, start;
	int i;

	*unmapping = 0;
	for (; count > 0; count -= MAX_MAPPED) {
		start = now();
		for (i = 0; i < MAX_MAPPED; i++)
			mappings[i] = map_page(PROT_READ | PROT_EXEC);
		mapping += now() - start;
		start = now();
		for (i = 0; i < MAX_MAPPED; i++)
			if (munmap(mappings[i], page))
				err(1, "munmap");
		*unmapping += now() - start;
	}
	return mapping;
}

static double take_mmap_code(long count)
{
	double unmapping;

	return take_mappings(count, &unmapping);
}

static double take_munmap(long count)
{
	double unmapping;

	take_mappings(count, &unmapping);
	return unmapping;
}

static double take_mprotect(long count)
{
	void *mapping = map_page(PROT_READ);
	double start = now();
	long i;

	for (i = 0; i < count; i++)
		if (mprotect(mapping, page, PROT_READ | (i % 2 ? 0 : PROT_EXEC)))
			err(1, "mprotect");
	start = now() - start;
	munmap(mapping, page);
	return start;
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		err(1, "waitpid");
	if (status)
		errx(1, "a child ended with status %#x", status);
}

static double take_fork(long count)
{
	double start = now();
	pid_t pid;

	while (count--) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid)
			_exit(0);
		wait_for(pid);
	}
	return now() - start;
}

static double take_exec(long count)
{
	char *const args[] = { (char *)program, NULL };
	double start = now();
	pid_t pid;
	int error;

	while (count--) {
		error = posix_spawn(&pid, program, NULL, NULL, args, environ);
		if (error)
			errx(1, "%s: %s", program, strerror(error));
		wait_for(pid);
	}
	return now() - start;
}

static double take_dlopen(long count)
{
	double start = now();

	while (count--) {
		void *handle = dlopen(library, RTLD_NOW);

		if (!handle)
			errx(1, "%s", dlerror());
		dlclose(handle);
	}
	return now() - start;
}

static const struct operation {
	const char	*name;
	double		(*take)(long count);	/* returns nanoseconds */
	long		count;
} operations[] = {
	{ "mmap-code", take_mmap_code, 20032 },
	{ "munmap", take_munmap, 20032 },
	{ "mprotect", take_mprotect, 60000 },
	{ "fork", take_fork, 500 },
	{ "exec", take_exec, 200 },
	{ "dlopen", take_dlopen, 1000 },
};

int main(int argc, char **argv)
{
	const struct operation *op;

	if (argc != 3)
		errx(2, "usage: harm PROGRAM LIBRARY");
	program = argv[1];
	library = argv[2];
	page = sysconf(_SC_PAGESIZE);
	file = open(library, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		err(1, "%s", library);
	for (op = operations; op < operations + sizeof(operations) / sizeof(*operations); op++) {
		/* Run a part of it first, so that memory and caches are warm. */
		op->take(op->count / 20);
		printf("%s %.1f\n", op->name, op->take(op->count) / op->count);
	}
	return 0;
}
