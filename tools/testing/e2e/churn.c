// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn - keep mapping, changing and unmapping code and its SFrame section while it runs
 *
 * churn MODE COUNT FILE [LIBRARY]: FILE is a program made by hostile.py
 * (libchain.so for `dlopen` and `use`), LIBRARY is libchain.so, for `storm`. COUNT is
 * milliseconds. For `spawn` and `fork` it is a number of processes, for `bomb` the
 * depth of a tree of processes. Prints the number of turns or processes. The status
 * is 0 if the code computed the right results.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "image.h"

enum { NR_WORKERS = 2, DONE = 42 };

typedef long enter_fn(long x, code_fn *back);

extern char **environ;

static const char *path, *library;
static volatile bool stop;

static void *worker(void *image)
{
	while (!stop)
		call_image(image, 1000);
	return NULL;
}

/* Changes of the section while other threads run the code. */

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
	place(fd, image->section, PROT_READ, SECTION_AT);
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
	madvise(image->section, PAGE, MADV_DONTNEED);	/* restores the bytes of the file */
	usleep(1000);
}

static void header_gone(struct image *image, int fd)
{
	munmap(image->base, PAGE);
	usleep(3000);
	place(fd, image->base, PROT_READ, 0);
	usleep(3000);
}

/* Cuts the mapped pages off the file: an access to them then raises SIGBUS. */
static void truncated(struct image *image, int fd)
{
	static char saved[PAGE];

	(void)image;
	if (pread(fd, saved, PAGE, SECTION_AT) != PAGE || ftruncate(fd, SECTION_AT))
		err(1, "truncate");
	usleep(3000);
	if (pwrite(fd, saved, PAGE, SECTION_AT) != PAGE)
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

	/* Map a copy, because truncated() changes the file itself. */
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

/* Mappings of code come and go. */

static void *map_loop(void *nr_turns)
{
	int fd = open(path, O_RDONLY);

	while (!stop) {
		struct image image = map_image(fd);

		call_image(&image, 300);
		unmap_image(&image);
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
	/* usleep() takes 71 minutes at most. */
	sleep(ms / 1000);
	usleep(ms % 1000 * 1000);
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

static long load_and_call(long ms, int calls)
{
	long turns = 0, end = now_ms() + ms, first = 0;

	for (; now_ms() < end; turns++) {
		void *lib = dlopen(library, RTLD_NOW);
		enter_fn *enter = lib ? (enter_fn *)dlsym(lib, "lib_enter") : NULL;

		if (!enter)
			errx(1, "%s", dlerror());
		for (int i = 0; i < calls; i++) {
			long result = enter(5, back);

			if (first && result != first)
				errx(1, "the library computed something else");
			first = result;
		}
		dlclose(lib);
	}
	return turns;
}

static long load_library(long ms)
{
	return load_and_call(ms, 20);
}

static long use_library(long ms)
{
	return load_and_call(ms, 2000);
}

/* Processes come and go. */

static void expect_done(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != DONE)
		errx(1, "child: status %#x", status);
}

static void expect_killed(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		errx(1, "child: status %#x, and not killed", status);
}

static pid_t start(char *ms)
{
	char *const argv[] = { (char *)path, ms, NULL };
	pid_t pid;

	if (posix_spawn(&pid, path, NULL, NULL, argv, environ))
		errx(1, "%s: cannot be run", path);
	return pid;
}

static pid_t fork_or_end(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

static long spawn(long count)
{
	for (long i = 0; i < count; i++)
		expect_done(start("1"));
	return count;
}

static long forks(long count)
{
	int fd = open(path, O_RDONLY);
	struct image image = map_image(fd);

	for (long i = 0; i < count; i++) {
		pid_t pid = fork_or_end();

		call_image(&image, 500);
		if (pid == 0)
			_exit(DONE);
		expect_done(pid);
	}
	unmap_image(&image);
	close(fd);
	return count;
}

/* Grows a tree of processes, each with two children. All exist at the same time. */
static void grow(const struct image *image, long depth)
{
	pid_t children[2];

	if (depth)
		for (int i = 0; i < 2; i++) {
			children[i] = fork_or_end();
			if (children[i] == 0) {
				grow(image, depth - 1);
				_exit(DONE);
			}
		}
	call_image(image, 500);
	if (depth)
		for (int i = 0; i < 2; i++)
			expect_done(children[i]);
}

static long bomb(long depth)
{
	struct image image = map_image(open(path, O_RDONLY));

	grow(&image, depth);
	return (2L << depth) - 1;
}

/* Kills processes at any time: while they begin, and while the module scans them. */
static long killed(long ms)
{
	long turns = 0, end = now_ms() + ms;
	int fd = open(path, O_RDONLY);

	for (; now_ms() < end; turns++) {
		pid_t pid = turns % 2 ? start("10000") : fork_or_end();

		/* Many mappings make a scan of the child longer. */
		for (int i = 0; pid == 0; i++) {
			struct image image = map_image(fd);

			call_image(&image, 10);
			if (i == 100)
				pause();
		}
		usleep(turns * 7919 % 20000);
		expect_killed(pid);
	}
	return turns;
}

/* All these changes by the threads of one process, which ends in the middle of them. */

static void *move_loop(void *unused)
{
	int fd = open(path, O_RDONLY);

	(void)unused;
	for (;;) {
		struct image image = map_image(fd), to = map_image(fd);

		call_image(&image, 100);
		mprotect(image.code, PAGE, PROT_READ);
		mprotect(image.code, PAGE, PROT_READ | PROT_EXEC);
		call_image(&image, 100);
		for (int i = 0; i < 3; i++)
			if (mremap(image.base + i * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				   to.base + i * PAGE) == MAP_FAILED)
				err(1, "mremap");
		call_image(&to, 100);
		unmap_image(&to);
	}
	return NULL;
}

static void *load_loop(void *unused)
{
	(void)unused;
	for (;;)
		load_library(1000);
	return NULL;
}

static void *fork_loop(void *unused)
{
	(void)unused;
	for (;;)
		forks(10);
	return NULL;
}

static void *spawn_loop(void *unused)
{
	(void)unused;
	for (;;)
		spawn(10);
	return NULL;
}

static void all_threads(void)
{
	static void *(*const loops[])(void *) = {
		map_loop, move_loop, load_loop, fork_loop, spawn_loop,
	};
	static long turns;
	pthread_t thread;

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		pthread_create(&thread, NULL, loops[i], &turns);
	usleep(200000);
}

static long storm(long ms)
{
	char *const argv[] = { (char *)path, "1", NULL };
	long turns = 0, end = now_ms() + ms;

	for (; now_ms() < end; turns++) {
		pid_t pid = fork_or_end();

		if (pid == 0) {
			all_threads();
			if (turns % 3 == 0)
				_exit(DONE);
			if (turns % 3 == 1)
				execv(path, argv);
			pause();
		}
		if (turns % 3 < 2) {
			expect_done(pid);
		} else {
			usleep(turns * 7919 % 300000);
			expect_killed(pid);
		}
	}
	return turns;
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
	{ "use",	use_library,	NULL },
	{ "spawn",	spawn,		NULL },
	{ "fork",	forks,		NULL },
	{ "bomb",	bomb,		NULL },
	{ "kill",	killed,		NULL },
	{ "storm",	storm,		NULL },
};

int main(int argc, char **argv)
{
	if (argc < 4 || argc > 5)
		errx(2, "usage: churn MODE COUNT FILE [LIBRARY]");
	path = argv[3];
	library = argv[argc - 1];
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
