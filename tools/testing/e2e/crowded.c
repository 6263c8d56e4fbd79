// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowded - map a file thousands of times, fork, and unmap all of it at once, again and again
 *
 * crowded MILLISECONDS MAPPINGS FILE: each mapping is one executable page of FILE,
 * with a hole before it. A kernel without preemption would be busy for long in
 * each of these operations. Prints the number of turns.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void turn(char *room, long nr_mappings, int fd)
{
	pid_t child;
	long i;

	for (i = 0; i < nr_mappings; i++)
		if (mmap(room + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			err(1, "mmap");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child)
		_exit(0);
	if (waitpid(child, NULL, 0) != child)
		err(1, "waitpid");
	if (munmap(room, 2 * nr_mappings * PAGE))
		err(1, "munmap");
}

int main(int argc, char **argv)
{
	long end, nr_mappings, turns = 0;
	char *room;
	int fd;

	if (argc != 4)
		errx(2, "usage: crowded MILLISECONDS MAPPINGS FILE");
	end = now_ms() + atol(argv[1]);
	nr_mappings = atol(argv[2]);
	fd = open(argv[3], O_RDONLY);
	if (fd < 0)
		err(1, "%s", argv[3]);
	do {
		room = mmap(NULL, 2 * nr_mappings * PAGE, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED)
			err(1, "mmap");
		turn(room, nr_mappings, fd);
		turns++;
	} while (now_ms() < end);
	printf("%ld turns\n", turns);
	return 0;
}
