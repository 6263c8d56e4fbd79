// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn - keep mapping, changing and unmapping code and its SFrame section while it runs
 *
 * churn MODE COUNT FILE: FILE is a program made by hostile.py (libchain.so
 * for `dlopen`). COUNT is milliseconds, for `spawn` and `fork` a number of
 * processes. Prints what was done; status 0 if the code computed what it
 * should.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, NR_WORKERS = 2 };

typedef long code_fn(long x);
typedef long enter_fn(long x, code_fn *back);

extern char **environ;

/* What hostile.py wrote: addresses and where they are in the file. */
struct image {
	char *base;			/* ELF header */
	char *section;
	char *code;
};

static const char *path;
static volatile bool stop;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void place(int fd, char *at, int prot, long offset)
{
	if (mmap(at, PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, offset) != at)
		err(1, "mmap");
}

static struct image map_image(int fd)
{
	struct image image;

	image.base = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image.base == MAP_FAILED)
		err(1, "mmap");
	image.section = image.base + PAGE;
	image.code = image.base + 2 * PAGE;
	place(fd, image.base, PROT_READ, 0);
	place(fd, image.section, PROT_READ, 2 * PAGE);
	place(fd, image.code, PROT_READ | PROT_EXEC, PAGE);
	return image;
}

static void call_image(const struct image *image, int turns)
{
	code_fn *function = (code_fn *)image->code, *leaf = (code_fn *)(image->code + 0x40);
	long first = function(7);

	while (turns--)
		if (function(7) != first || leaf(7) != 127)
			errx(1, "the code computed something else");
}

static void *worker(void *image)
{
	while (!stop)
		call_image(image, 1000);
	return NULL;
}

/* The section changes under code that runs in other threads. */

static void protnone(struct image *image, int fd)
{
	(void)fd;
	mprotect(image->section, PAGE, PROT_NONE);
	usleep(3000);
	mprotect(image->section, PAGE, PROT_READ);
	usleep(3000);
}

static void unmapped(struct image *image, int fd)
{
	munmap(image->section, PAGE);
	usleep(3000);
	place(fd, image->section, PROT_READ, 2 * PAGE);
	usleep(3000);
}

static void dropped(struct image *image, int fd)
{
	(void)fd;
	madvise(image->section, PAGE, MADV_DONTNEED);
	usleep(1000);
}

static void scribble(struct image *image, int fd)
{
	static unsigned long seed = 88172645463325252ul;

	(void)fd;
	mprotect(image->section, PAGE, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 2000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		image->section[seed % 96] ^= 1 << (seed >> 32) % 8;
	}
	usleep(500);
	madvise(image->section, PAGE, MADV_DONTNEED);	/* as in the file again */
	usleep(1000);
}

static void header_gone(struct image *image, int fd)
{
	munmap(image->base, PAGE);
	usleep(3000);
	place(fd, image->base, PROT_READ, 0);
	usleep(3000);
}

/* The pages behind the mapping are cut off the file: to touch them is SIGBUS. */
static void truncated(struct image *image, int fd)
{
	static char saved[PAGE];

	(void)image;
	if (pread(fd, saved, PAGE, 2 * PAGE) != PAGE || ftruncate(fd, 2 * PAGE))
		err(1, "truncate");
	usleep(3000);
	if (pwrite(fd, saved, PAGE, 2 * PAGE) != PAGE)
		err(1, "write");
	usleep(3000);
}

static long change_section(long ms, void (*change)(struct image *, int))
{
	pthread_t threads[NR_WORKERS];
	char copy[] = "/tmp/churn.XXXXXX", buf[16 * PAGE];
	int from = open(path, O_RDONLY), fd = mkstemp(copy);
	struct image image;
	long turns = 0, end = now_ms() + ms;
	ssize_t len;

	/* A copy, for one of the changes is to the file itself. */
	while ((len = read(from, buf, sizeof(buf))) > 0)
		if (write(fd, buf, len) != len)
			err(1, "%s", copy);
	unlink(copy);
	image = map_image(fd);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &image);
	usleep(20000);
	for (; now_ms() < end; turns++)
		change(&image, fd);
	stop = true;
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	return turns;
}

/* Code comes and goes. */

static void *map_loop(void *nr_turns)
{
	int fd = open(path, O_RDONLY);

	while (!stop) {
		struct image image = map_image(fd);

		call_image(&image, 300);
		munmap(image.base, 3 * PAGE);
		__atomic_add_fetch((long *)nr_turns, 1, __ATOMIC_RELAXED);
	}
	close(fd);
	return NULL;
}

static long remap(long ms)
{
	pthread_t threads[NR_WORKERS];
	long turns = 0;

	for (int i = 0; i < NR_WORKERS; i++)
		pthread_create(&threads[i], NULL, map_loop, &turns);
	usleep(ms * 1000);
	stop = true;
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	return turns;
}

static long back(long x)
{
	for (int i = 0; i < 2000; i++)
		__asm__ volatile("" : "+r" (x));
	return x + 1;
}

static long load_library(long ms)
{
	long turns = 0, end = now_ms() + ms, first = 0;

	for (; now_ms() < end; turns++) {
		void *lib = dlopen(path, RTLD_NOW);
		enter_fn *enter = lib ? (enter_fn *)dlsym(lib, "lib_enter") : NULL;

		if (!enter)
			errx(1, "%s", dlerror());
		for (int i = 0; i < 20; i++) {
			long result = enter(5, back);

			if (first && result != first)
				errx(1, "the library computed something else");
			first = result;
		}
		dlclose(lib);
	}
	return turns;
}

/* Processes come and go. */

static long spawn(long count)
{
	char *const argv[] = { (char *)path, "1", NULL };

	for (long i = 0; i < count; i++) {
		int status;
		pid_t pid;

		if (posix_spawn(&pid, path, NULL, NULL, argv, environ))
			errx(1, "%s: cannot be run", path);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 42)
			errx(1, "%s: status %#x", path, status);
	}
	return count;
}

static long forks(long count)
{
	struct image image = map_image(open(path, O_RDONLY));

	for (long i = 0; i < count; i++) {
		int status;
		pid_t pid = fork();

		call_image(&image, 500);
		if (pid == 0)
			_exit(42);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 42)
			errx(1, "child: status %#x", status);
	}
	return count;
}

static const struct {
	const char *name;
	long (*run)(long count);
	void (*change)(struct image *image, int fd);
} modes[] = {
	{ "protnone",	NULL,		protnone },
	{ "unmapped",	NULL,		unmapped },
	{ "dropped",	NULL,		dropped },
	{ "scribble",	NULL,		scribble },
	{ "truncated",	NULL,		truncated },
	{ "header-gone", NULL,		header_gone },
	{ "remap",	remap,		NULL },
	{ "dlopen",	load_library,	NULL },
	{ "spawn",	spawn,		NULL },
	{ "fork",	forks,		NULL },
};

int main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "usage: churn MODE COUNT FILE");
	path = argv[3];
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		long count = atol(argv[2]);

		if (strcmp(modes[i].name, argv[1]))
			continue;
		count = modes[i].run ? modes[i].run(count) : change_section(count, modes[i].change);
		printf("%ld turns\n", count);
		return 0;
	}
	errx(2, "no mode %s", argv[1]);
}
