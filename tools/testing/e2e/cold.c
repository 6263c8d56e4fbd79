// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cold - run code whose SFrame section is not in memory, or whose stack is special memory
 *
 * cold MODE MS LIBRARY: LIBRARY is libcold.so, or a writable copy of it. In each
 * mode the stacks are: cold_leaf, cold_N for some N, cold_run, worker. Prints the
 * number of turns; a turn removes the pages again, in the modes that do so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "clock.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

enum { PAGE = 4096, STACK = 64 * PAGE };

typedef long run_fn(long x);

static const char *path;
static run_fn *run;
static volatile bool stop;

/* The pages that belong to the section of the library as a whole, and their file offset. */
static struct {
	char *start;
	size_t size;
	off_t offset;
} section;

static int note_section(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (strcmp(info->dlpi_name, path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &info->dlpi_phdr[i];
		size_t skip = -ph->p_offset & (PAGE - 1);

		if (ph->p_type != PT_GNU_SFRAME)
			continue;
		section.start = (char *)info->dlpi_addr + ph->p_vaddr + skip;
		section.size = (ph->p_filesz - skip) & -PAGE;
		section.offset = ph->p_offset + skip;
	}
	return 1;
}

/* Makes all pages of the library present. */
static int populate(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (strcmp(info->dlpi_name, path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &info->dlpi_phdr[i];
		unsigned long start = (info->dlpi_addr + ph->p_vaddr) & -PAGE;

		if (ph->p_type == PT_LOAD &&
		    madvise((void *)start, info->dlpi_addr + ph->p_vaddr + ph->p_memsz - start,
			    MADV_POPULATE_READ))
			err(1, "MADV_POPULATE_READ");
	}
	return 1;
}

/* Runs on a stack of its own, see thread(). */
static void worker(void)
{
	volatile long x = 5;

	while (!stop)
		x = run(x);
}

static void *thread(void *stack)
{
	ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK;
	there.uc_link = &here;
	makecontext(&there, worker, 0);
	swapcontext(&here, &there);
	return NULL;
}

static void pageout(void)
{
	if (madvise(section.start, section.size, MADV_PAGEOUT))
		err(1, "MADV_PAGEOUT");
}

/* New pages wait in a list of the processor for a while, and only that one reclaims them. */
static void stay_on_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		err(1, "sched_setaffinity");
}

/* The process gets pages of its own: what is reclaimed of them is not in the file's cache. */
static void copy(void)
{
	stay_on_processor();
	if (mprotect(section.start, section.size, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
	for (volatile char *page = section.start; page < section.start + section.size; page += PAGE)
		*page = *page;
	if (mprotect(section.start, section.size, PROT_READ))
		err(1, "mprotect");
}

/* Drops the section from the page tables and from the page cache. */
static void drop(void)
{
	int fd = open(path, O_RDONLY);

	if (madvise(section.start, section.size, MADV_DONTNEED) ||
	    posix_fadvise(fd, section.offset, section.size, POSIX_FADV_DONTNEED))
		err(1, "DONTNEED");
	close(fd);
}

/* From now on, the file system (cold-fs) answers no read of the section. */
static void silence(void)
{
	char name[256];

	snprintf(name, sizeof(name), "%.*s/silent", (int)(strrchr(path, '/') - path), path);
	access(name, F_OK);
}

static void silent(void)
{
	dl_iterate_phdr(populate, NULL);
	drop();
	silence();
}

static void read_page(int fd, int nr)
{
	char page[PAGE];

	if (pread(fd, page, PAGE, section.offset + nr * PAGE) != PAGE)
		err(1, "%s", path);
}

/*
 * The same, but the first pages of the section are cached. One of them, when it is used,
 * makes the kernel read the next ones (PG_readahead).
 */
static void marked(void)
{
	size_t nr = 0, nr_pages = section.size / PAGE;
	int fd = open(path, O_RDONLY), alone = open(path, O_RDONLY);
	unsigned char cached[nr_pages];

	dl_iterate_phdr(populate, NULL);
	drop();
	/* Two pages after one that is missing: the kernel reads a few more, and marks one. */
	read_page(fd, 1);
	read_page(fd, 2);
	posix_fadvise(alone, 0, 0, POSIX_FADV_RANDOM);
	read_page(alone, 0);
	close(alone);
	close(fd);
	if (mincore(section.start, section.size, cached))
		err(1, "mincore");
	while (nr < nr_pages && cached[nr] & 1)
		nr++;
	if (nr <= 3 || nr == nr_pages)
		errx(1, "%zu of %zu pages of the section were read ahead", nr, nr_pages);
	silence();
}

/* Makes the section missing: a task that touches it waits for this process, without end. */
static void never(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	int fd = open(path, O_RDWR);

	reg.range.start = (unsigned long)section.start;
	reg.range.len = section.size;
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		err(1, "userfaultfd");
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, section.offset,
		      section.size) ||
	    madvise(section.start, section.size, MADV_DONTNEED))
		err(1, "punch hole");
}

static void *map_secret(void *at, size_t size)
{
	int fd = syscall(SYS_memfd_secret, 0);
	void *mem;

	if (fd < 0 || ftruncate(fd, size))
		err(1, "memfd_secret");
	mem = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
	if (mem == MAP_FAILED)
		err(1, "memfd_secret: mmap");
	close(fd);
	return mem;
}

static void secret(void)
{
	map_secret(section.start, section.size);
}

static const struct {
	const char *name;
	void (*once)(void);
	void (*often)(void);
	bool secret_stack;
} modes[] = {
	{ .name = "plain" },
	{ .name = "pageout",	.often = pageout },
	{ .name = "pageout-copy", .once = copy, .often = pageout },
	{ .name = "drop",	.often = drop },
	{ .name = "never",	.once = never },
	{ .name = "silent",	.once = silent },
	{ .name = "marked",	.once = marked },
	{ .name = "secret",	.once = secret },
	{ .name = "secret-stack", .secret_stack = true },
};

int main(int argc, char **argv)
{
	long end = now_ms() + (argc == 4 ? atol(argv[2]) : 0), turns = 0;
	pthread_t sampled;
	void *lib, *stack;
	size_t i;

	for (i = 0; argc == 4 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			break;
	if (argc != 4 || i == sizeof(modes) / sizeof(modes[0]))
		errx(2, "usage: cold MODE MS LIBRARY");
	path = argv[3];
	lib = dlopen(path, RTLD_NOW);
	run = lib ? (run_fn *)dlsym(lib, "cold_run") : NULL;
	if (!run)
		errx(1, "%s", dlerror());
	dl_iterate_phdr(note_section, NULL);
	if (section.size < 8 * PAGE)
		errx(1, "%s: its section has no 8 pages", path);

	stack = modes[i].secret_stack ? map_secret(NULL, STACK) : malloc(STACK);
	if (modes[i].once)
		modes[i].once();
	if (pthread_create(&sampled, NULL, thread, stack))
		errx(1, "no thread");
	for (; now_ms() < end; usleep(50000)) {
		if (modes[i].often)
			modes[i].often();
		turns++;
	}
	stop = true;
	pthread_join(sampled, NULL);
	printf("%ld\n", turns);
	return 0;
}
