// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harm OPERATION COUNT [ARG...]: measure what an operation costs
 *
 *	mmap COUNT FILE		map the first page of FILE
 *	mmap-code COUNT FILE	map it executable
 *	munmap COUNT FILE	unmap one executable page
 *	mprotect COUNT FILE	make one such mapping executable, or not executable
 *	many-munmap COUNT FILE	unmap COUNT executable mappings at once
 *	many-mprotect COUNT FILE  make COUNT mappings executable at once, and not executable again
 *	fork COUNT		start a child that exits, and wait for it
 *	exec COUNT PROGRAM	run PROGRAM
 *	dlopen COUNT LIBRARY	open and close LIBRARY
 *	switch COUNT		send a byte to another process and get it back
 *	jobs COUNT PROGRAM [ARG...]  run PROGRAM COUNT times, two at a time; %d in an ARG
 *				is the job's number
 *
 * Prints the nanoseconds of one operation; of one mapping for many-*. In a virtual
 * machine with -icount, two nanoseconds are an instruction. All of the machine's
 * instructions count, because it has one processor.
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_MAPPED	64	/* mappings at the same time, if they are made one by one */
#define MAX_ARGS	16

extern char **environ;

static long page;
static int file;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* ---- mappings ---- */

static void *map_page(void *addr, int prot)
{
	void *mapping = mmap(addr, page, prot, MAP_PRIVATE | (addr ? MAP_FIXED : 0), file, 0);

	if (mapping == MAP_FAILED)
		err(1, "mmap");
	return mapping;
}

static void unmap(void *mapping, size_t size)
{
	if (munmap(mapping, size))
		err(1, "munmap");
}

static void protect(void *mapping, size_t size, int prot)
{
	if (mprotect(mapping, size, prot))
		err(1, "mprotect");
}

/* All mappings are of the same page of the file. So the kernel never merges two of them. */
static double take_mappings(long count, int prot, double *unmapping)
{
	void *mappings[MAX_MAPPED];
	double mapping = 0, start;
	long done, n, i;

	*unmapping = 0;
	for (done = 0; done < count; done += n) {
		n = count - done < MAX_MAPPED ? count - done : MAX_MAPPED;
		start = now();
		for (i = 0; i < n; i++)
			mappings[i] = map_page(NULL, prot);
		mapping += now() - start;
		start = now();
		for (i = 0; i < n; i++)
			unmap(mappings[i], page);
		*unmapping += now() - start;
	}
	return mapping;
}

static double take_mmap(long count, char **args)
{
	double unmapping;

	return take_mappings(count, PROT_READ, &unmapping);
}

static double take_mmap_code(long count, char **args)
{
	double unmapping;

	return take_mappings(count, PROT_READ | PROT_EXEC, &unmapping);
}

static double take_munmap(long count, char **args)
{
	double unmapping;

	take_mappings(count, PROT_READ | PROT_EXEC, &unmapping);
	return unmapping;
}

static double take_mprotect(long count, char **args)
{
	void *mapping = map_page(NULL, PROT_READ);
	double start = now();
	long i;

	for (i = 0; i < count; i++)
		protect(mapping, page, PROT_READ | (i % 2 ? 0 : PROT_EXEC));
	start = now() - start;
	unmap(mapping, page);
	return start;
}

static void *map_many(long count, int prot)
{
	char *mapping = mmap(NULL, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long i;

	if (mapping == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < count; i++)
		map_page(mapping + i * page, prot);
	return mapping;
}

static double take_many_munmap(long count, char **args)
{
	void *mapping = map_many(count, PROT_READ | PROT_EXEC);
	double start = now();

	unmap(mapping, count * page);
	return now() - start;
}

static double take_many_mprotect(long count, char **args)
{
	void *mapping = map_many(count, PROT_READ);
	double start = now();

	protect(mapping, count * page, PROT_READ | PROT_EXEC);
	protect(mapping, count * page, PROT_READ);
	start = now() - start;
	unmap(mapping, count * page);
	return start;
}

/* ---- processes ---- */

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		err(1, "waitpid");
	if (status)
		errx(1, "a child ended with status %#x", status);
}

static double take_fork(long count, char **args)
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

static pid_t spawn(char **args)
{
	int error;
	pid_t pid;

	error = posix_spawnp(&pid, args[0], NULL, NULL, args, environ);
	if (error)
		errx(1, "%s: %s", args[0], strerror(error));
	return pid;
}

static double take_exec(long count, char **args)
{
	double start = now();

	while (count--)
		wait_for(spawn(args));
	return now() - start;
}

static pid_t spawn_job(char **args, int number)
{
	char texts[MAX_ARGS][256], *numbered[MAX_ARGS + 1];
	int i, len;

	for (i = 0; i < MAX_ARGS && args[i]; i++) {
		char *place = strstr(args[i], "%d");

		len = place ? place - args[i] : (int)strlen(args[i]);
		snprintf(texts[i], sizeof(texts[i]), "%.*s", len, args[i]);
		if (place)
			snprintf(texts[i] + len, sizeof(texts[i]) - len, "%d%s", number, place + 2);
		numbered[i] = texts[i];
	}
	numbered[i] = NULL;
	return spawn(numbered);
}

static double take_jobs(long count, char **args)
{
	double start = now();
	int running = 0, i;

	for (i = 0; i < count; i++) {
		if (running == 2)
			wait_for(-1);
		else
			running++;
		spawn_job(args, i);
	}
	while (running--)
		wait_for(-1);
	return now() - start;
}

static double take_switch(long count, char **args)
{
	int there[2], back[2];
	double start;
	char c = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1)
			if (write(back[1], &c, 1) != 1)
				err(1, "write");
		_exit(0);
	}
	close(there[0]);
	start = now();
	while (count--)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			err(1, "pipe");
	start = now() - start;
	close(there[1]);
	close(back[0]);
	close(back[1]);
	wait_for(pid);
	return start;
}

static double take_dlopen(long count, char **args)
{
	double start = now();

	while (count--) {
		void *library = dlopen(args[0], RTLD_NOW);

		if (!library)
			errx(1, "%s", dlerror());
		dlclose(library);
	}
	return now() - start;
}

static const struct operation {
	const char	*name;
	double		(*take)(long count, char **args);	/* returns nanoseconds */
	bool		maps_file;
	int		nr_args;
} operations[] = {
	{ "mmap", take_mmap, true, 1 },
	{ "mmap-code", take_mmap_code, true, 1 },
	{ "munmap", take_munmap, true, 1 },
	{ "mprotect", take_mprotect, true, 1 },
	{ "many-munmap", take_many_munmap, true, 1 },
	{ "many-mprotect", take_many_mprotect, true, 1 },
	{ "fork", take_fork, false, 0 },
	{ "exec", take_exec, false, 1 },
	{ "dlopen", take_dlopen, false, 1 },
	{ "switch", take_switch, false, 0 },
	{ "jobs", take_jobs, false, 1 },
};

static const struct operation *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	errx(2, "no operation '%s'", name);
}

int main(int argc, char **argv)
{
	const struct operation *operation;
	long count;

	if (argc < 3)
		errx(2, "usage: harm OPERATION COUNT [ARG...]");
	operation = find_operation(argv[1]);
	count = atol(argv[2]);
	if (count < 1 || argc - 3 < operation->nr_args || argc - 3 > MAX_ARGS)
		errx(2, "%s: wrong number of arguments", argv[1]);
	page = sysconf(_SC_PAGESIZE);
	if (operation->maps_file) {
		file = open(argv[3], O_RDONLY | O_CLOEXEC);
		if (file < 0)
			err(1, "%s", argv[3]);
	}
	/* Run a part of it first, so that memory and caches are warm. */
	operation->take(count / 20 + 1, argv + 3);
	printf("%.1f\n", operation->take(count, argv + 3) / count);
	return 0;
}
