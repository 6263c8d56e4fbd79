// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program that Documentation/recipes.rst profiles: a server that computes, allocates, waits for
 * the disk, and for a lock of the kernel. Each of these has a function, which main() calls by
 * handle_request(). A second thread holds the lock.
 *
 * It answers so many REQUESTS, or all until it is stopped, and saves its replies in FILE.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The compiler must not inline or clone it, and a call at its end must not become a jump. */
#define STEP	__attribute__((noipa, optimize("no-optimize-sibling-calls")))

/* While the kernel fills so much memory, no other thread can map any. */
#define CACHE	(16 << 20)

#define REPLY	1000

static int file;

/* Computes. */
STEP void parse_request(void)
{
	volatile long left = 3000000;

	while (left)
		left--;
}

/* Allocates. */
STEP char *make_reply(void)
{
	char *reply = malloc(REPLY);

	if (!reply)
		err(1, "malloc");
	memset(reply, 'x', REPLY);
	return reply;
}

static void *map(size_t len, int flags)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

/* Waits for the lock of the address space, which fill_cache() holds. */
STEP void map_buffer(void)
{
	munmap(map(REPLY, 0), REPLY);
}

/* Waits for the disk. */
STEP void save_reply(const char *reply)
{
	if (pwrite(file, reply, REPLY, 0) != REPLY || fsync(file))
		err(1, "the file");
}

STEP void handle_request(void)
{
	char *reply;

	parse_request();
	map_buffer();
	reply = make_reply();
	save_reply(reply);
	free(reply);
}

/* Holds the lock of the address space. */
STEP void fill_cache(void)
{
	munmap(map(CACHE, MAP_POPULATE), CACHE);
}

STEP void *keep_cache(void *unused)
{
	for (;;) {
		fill_cache();
		usleep(50000);
	}
	return unused;
}

int main(int argc, char *argv[])
{
	long left = argc > 2 ? atol(argv[2]) : -1;
	pthread_t thread;

	if (argc < 2)
		errx(2, "usage: app FILE [REQUESTS]");
	file = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (file < 0)
		err(1, "%s", argv[1]);
	if (pthread_create(&thread, NULL, keep_cache, NULL))
		errx(1, "no thread");
	for (; left; left--)
		handle_request();
	return 0;
}
