// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harm - processes that a profiler must not harm
 *
 * harm MODE [ARG...]: see modes[]. IMAGE is a program made by hostile.py.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "image.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

static int open_or_end(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static pid_t fork_or_end(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

/* Says that something has happened: a test reads it while the program runs. */
static void say(const char *what)
{
	if (write(1, what, strlen(what)) < 0)
		err(1, "write");
}

/* Runs the image's code for a time. Prints how often, after @change, if there is one. */
static void run_image(const struct image *image, long ms, void (*change)(void *), void *arg)
{
	long turns = 0, end = now_us() + ms * 1000;

	for (; now_us() < end; turns++) {
		if (change)
			change(arg);
		call_image(image, 100);
	}
	printf("%ld turns\n", turns);
}

/* ---- readers COUNT: processes that sleep in read(), without a libc in their stacks ---- */

/* read() of one byte; with a row for each instruction. */
static __attribute__((noinline)) long read_byte(long fd)
{
	char byte;
#ifdef __x86_64__
	long result = SYS_read;

	__asm__ volatile("syscall" : "+a" (result) : "D" (fd), "S" (&byte), "d" (1L)
			 : "rcx", "r11", "memory");
#else
	register long result __asm__("x0") = fd;
	register char *to __asm__("x1") = &byte;
	register long size __asm__("x2") = 1;
	register long nr __asm__("x8") = SYS_read;

	__asm__ volatile("svc 0" : "+r" (result) : "r" (to), "r" (size), "r" (nr) : "memory");
#endif
	return result;
}

static __attribute__((noinline)) void reader(int pipes[2][2])
{
	for (int i = 0; read_byte(pipes[i % 2][0]) == 1; i++)
		;
}

/* Each byte of stdin makes all of them return from read(), and call it again. */
static void readers(char **argv)
{
	int count = atoi(argv[0]), pipes[2][2];
	char bytes[count], byte;

	memset(bytes, 0, count);
	if (pipe(pipes[0]) || pipe(pipes[1]))
		err(1, "pipe");
	for (int i = 0; i < count; i++) {
		if (fork_or_end())
			continue;
		close(pipes[0][1]);
		close(pipes[1][1]);
		reader(pipes);
		_exit(0);
	}
	/* A process that is fast reads from the other pipe next: it takes nobody's byte. */
	for (int i = 0; read(0, &byte, 1) == 1; i++)
		if (write(pipes[i % 2][1], bytes, count) != count)
			err(1, "write");
	close(pipes[0][1]);
	close(pipes[1][1]);
	while (wait(NULL) > 0)
		;
}

/* ---- regions COUNT FILE: many mappings of code. Prints "OPERATION MICROSECONDS" ---- */

static char *map_regions(int count, const char *file)
{
	int fd = open_or_end(file, O_RDONLY);
	char *base = mmap(NULL, (size_t)count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (base == MAP_FAILED)
		err(1, "mmap");
	/* Each maps the same page of the file, so they are never merged. */
	for (int i = 0; i < count; i++)
		place(fd, base + (size_t)i * PAGE, PROT_READ, 0);
	close(fd);
	return base;
}

static void protect(char *at, size_t size, int prot)
{
	if (mprotect(at, size, prot))
		err(1, "mprotect");
}

static void fork_once(void)
{
	pid_t pid = fork_or_end();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static long print_time(const char *operation, long since)
{
	printf("%s %ld\n", operation, now_us() - since);
	fflush(stdout);
	return now_us();
}

static void regions(char **argv)
{
	int count = atoi(argv[0]);
	size_t size = (size_t)count * PAGE;
	long time = now_us();
	char *base = map_regions(count, argv[1]);

	time = print_time("mmap", time);
	protect(base, size, PROT_READ | PROT_EXEC);
	time = print_time("mprotect-all", time);
	fork_once();
	time = print_time("fork", time);
	for (size_t at = 0; at < 2000 * PAGE; at += PAGE) {
		protect(base + at, PAGE, PROT_READ);
		protect(base + at, PAGE, PROT_READ | PROT_EXEC);
	}
	time = print_time("mprotect-each", time);
	munmap(base, size);
	print_time("munmap", time);
}

/* ---- remap COUNT IMAGE: maps the image, then maps a file again and again ---- */

static void map_and_unmap(int fd, int prot, int count)
{
	for (int i = 0; i < count; i++) {
		char *at = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED || munmap(at, PAGE))
			err(1, "mmap");
	}
}

static void remap(char **argv)
{
	int fd = open_or_end(argv[1], O_RDONLY);
	struct image image = map_image(fd);
	long time = now_us();

	call_image(&image, 100);
	map_and_unmap(fd, PROT_READ, atoi(argv[0]));
	print_time("remap", time);
}

/* ---- traced COUNT IMAGE: the same for code, in a traced process ---- */

static void traced(char **argv)
{
	int fd = open_or_end(argv[1], O_RDONLY), status;
	pid_t pid = fork_or_end();
	long time = now_us();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		map_and_unmap(fd, PROT_READ | PROT_EXEC, atoi(argv[0]));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	print_time("traced", time);
}

/* ---- stopped IMAGE: a traced process, stopped at the end of mmap() of code, for ever ---- */

static void stopped(char **argv)
{
	int fd = open_or_end(argv[0], O_RDONLY), status;
	pid_t pid = fork_or_end();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	for (int i = 0; i < 2; i++) {
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		waitpid(pid, &status, 0);
	}
	say("ready\n");
	pause();
}

/* ---- populate FILE: mmap() of code that waits for its pages ---- */

static void populate(char **argv)
{
	int fd = open_or_end(argv[0], O_RDONLY);
	struct stat st;

	fstat(fd, &st);
	say("ready\n");
	mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_POPULATE, fd, 0);
}

/* ---- dontneed MS COUNT IMAGE: many mappings of code, which make scans long. Drops the section
 * from the page table before each turn ----
 */

static void drop_section(void *section)
{
	madvise(section, PAGE, MADV_DONTNEED);
}

static void dontneed(char **argv)
{
	struct image image = map_image(open_or_end(argv[2], O_RDONLY));
	int count = atoi(argv[1]);

	protect(map_regions(count, argv[2]), (size_t)count * PAGE, PROT_READ | PROT_EXEC);
	run_image(&image, atol(argv[0]), drop_section, image.section);
}

/* ---- dontneed-own MS COUNT FILE: the same with the program's own section. A sample of its system
 * calls misses the section, and the task is in the kernel ----
 */

static struct {
	char *start;
	size_t size;
} own_section;

/* The first object is the program. */
static int find_own_section(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_GNU_SFRAME)
			continue;
		own_section.start = (char *)(start & -PAGE);
		own_section.size = start + ph->p_memsz - (start & -PAGE);
	}
	return 1;
}

/*
 * madvise() at a thousand places, with a row for each instruction. The row cache has no room
 * for so many, so each sample has to read the section.
 */
static __attribute__((noinline)) void drop_own_section(void)
{
#ifdef __x86_64__
	__asm__ volatile(".rept 1000; mov %0, %%eax; syscall; .endr"
			 : : "i" (SYS_madvise), "D" (own_section.start), "S" (own_section.size),
			   "d" ((long)MADV_DONTNEED) : "rax", "rcx", "r11", "memory");
#else
	register size_t size __asm__("x1") = own_section.size;
	register long advice __asm__("x2") = MADV_DONTNEED;
	register long nr __asm__("x8") = SYS_madvise;

	__asm__ volatile(".rept 1000; mov x0, %0; svc 0; .endr"
			 : : "r" (own_section.start), "r" (size), "r" (advice), "r" (nr)
			 : "x0", "memory");
#endif
}

static void dontneed_own(char **argv)
{
	long turns = 0, end = now_us() + atol(argv[0]) * 1000;
	int count = atoi(argv[1]);

	protect(map_regions(count, argv[2]), (size_t)count * PAGE, PROT_READ | PROT_EXEC);
	dl_iterate_phdr(find_own_section, NULL);
	if (!own_section.size)
		errx(1, "the program has no section");
	for (; now_us() < end; turns++)
		drop_own_section();
	printf("%ld turns\n", turns);
}

/* ---- pkey MS IMAGE: nobody may read the section ---- */

static void pkey(char **argv)
{
	struct image image = map_image(open_or_end(argv[1], O_RDONLY));
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);

	if (key < 0 || pkey_mprotect(image.section, PAGE, PROT_READ, key))
		err(1, "pkey");
	run_image(&image, atol(argv[0]), NULL, NULL);
}

/* ---- limit CGROUP MS COUNT IMAGE: new code in a process that has no more memory ---- */

static long read_long(const char *dir, const char *name)
{
	char path[256], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open_or_end(path, O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) <= 0)
		err(1, "%s", path);
	close(fd);
	return atol(text);
}

static void map_new_code(void *fd)
{
	struct image image = map_image(*(int *)fd);

	call_image(&image, 10);
	unmap_image(&image);
}

static void limit(char **argv)
{
	int count = atoi(argv[2]);
	int fd = open_or_end(argv[3], O_RDONLY);
	struct image image = map_image(fd);
	long most;
	char *base;

	/* Its own pages are not taken from it: to read one back needs memory, too. */
	if (mlockall(MCL_CURRENT))
		err(1, "mlockall");
	base = map_regions(count, argv[3]);
	/*
	 * The kernel charges memory in batches of 64 pages for the processor. The map of so much
	 * code takes a hundred pages.
	 */
	most = read_long(argv[0], "memory.max") - 72 * PAGE;
	protect(base, (size_t)count * PAGE, PROT_READ | PROT_EXEC);
	while (read_long(argv[0], "memory.current") < most)
		memset(mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0), 1, 16 * PAGE);
	run_image(&image, atol(argv[1]), map_new_code, &fd);
}

/* ---- sibling DIR LATE IMAGE: a thread waits for cold-fs in mmap(), with mmap_lock ---- */

static struct {
	const char *dir;
	off_t late;		/* a read from here never ends */
	volatile pid_t pid;	/* the process or thread that is about to wait */
} direct;

static char *map_direct(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/direct", direct.dir);
	return mmap(NULL, direct.late + PAGE, PROT_READ, MAP_PRIVATE,
		    open_or_end(path, O_RDONLY), 0);
}

/* This keeps the page locked. */
static void read_late_page(int ready)
{
	char *at = map_direct();

	if (write(ready, "", 1) != 1)
		err(1, "write");
	_exit(*(volatile char *)(at + direct.late));
}

/* To drop that page, mmap() waits for its lock. */
static void *map_late_page(void *unused)
{
	(void)unused;
	direct.pid = gettid();
	map_direct();
	return NULL;
}

static void wait_for_state(pid_t pid, const char *states)
{
	char path[64], text[256], state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(10000);
		fd = open_or_end(path, O_RDONLY);
		text[read(fd, text, sizeof(text) - 1)] = 0;
		close(fd);
		state = strrchr(text, ')')[2];
	} while (!strchr(states, state));
}

static void sibling(char **argv)
{
	struct image image = map_image(open_or_end(argv[2], O_RDONLY));
	pthread_t thread;
	int ready[2];
	char byte;
	pid_t pid;

	direct.dir = argv[0];
	direct.late = atol(argv[1]);
	run_image(&image, 1, NULL, NULL);
	if (pipe(ready))
		err(1, "pipe");
	pid = fork_or_end();
	if (!pid)
		read_late_page(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		err(1, "read");
	wait_for_state(pid, "SD");
	/* A page fault of this thread would wait for mmap_lock, too. */
	if (mlockall(MCL_CURRENT))
		err(1, "mlockall");
	pthread_create(&thread, NULL, map_late_page, NULL);
	while (!direct.pid)
		usleep(10000);
	wait_for_state(direct.pid, "D");
	for (;;) {
		say("turn\n");
		run_image(&image, 100, NULL, NULL);
	}
}

/* ---- permission MS IMAGE: somebody must allow each access to the file, and never does ---- */

static void permission(char **argv)
{
	struct fanotify_event_metadata event;
	int fan = fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY);
	pid_t pid;

	if (fan < 0 || fanotify_mark(fan, FAN_MARK_ADD, FAN_ACCESS_PERM, AT_FDCWD, argv[1]))
		err(1, "fanotify");
	pid = fork_or_end();
	if (!pid) {
		struct image image;

		/* Else the listener would live as long as this process. */
		close(fan);
		image = map_image(open_or_end(argv[1], O_RDONLY));
		say("ready\n");
		run_image(&image, atol(argv[0]), NULL, NULL);
		exit(0);
	}
	for (; !waitpid(pid, NULL, WNOHANG); usleep(10000))
		if (read(fan, &event, sizeof(event)) == sizeof(event))
			say("access\n");
}

/* ---- stack MS: the caller's frame is on a page that never comes (userfaultfd) ---- */

enum { STACK = 16 * PAGE };

static char *stack;
static long stack_ms;

static void remove_upper_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range = { (unsigned long)stack + STACK - PAGE, PAGE },
	};
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg) ||
	    madvise(stack + STACK - PAGE, PAGE, MADV_DONTNEED))
		err(1, "userfaultfd");
}

static __attribute__((noinline)) void spin_and_exit(void)
{
	long end = now_us() + stack_ms * 1000;

	remove_upper_page();
	say("ready\n");
	while (now_us() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
	_exit(0);
}

static void on_stack(void)
{
	char frame[2 * PAGE];

	__asm__ volatile("" : : "r" (frame) : "memory");
	spin_and_exit();
	__asm__ volatile("" : : "r" (frame) : "memory");
}

static void missing_stack(char **argv)
{
	ucontext_t there;

	stack_ms = atol(argv[0]);
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK;
	makecontext(&there, on_stack, 0);
	setcontext(&there);
}

static const struct {
	const char *name;
	int nr_args;
	void (*run)(char **argv);
} modes[] = {
	{ "readers",	1, readers },
	{ "regions",	2, regions },
	{ "remap",	2, remap },
	{ "traced",	2, traced },
	{ "stopped",	1, stopped },
	{ "populate",	1, populate },
	{ "dontneed",	3, dontneed },
	{ "dontneed-own", 3, dontneed_own },
	{ "pkey",	2, pkey },
	{ "limit",	4, limit },
	{ "sibling",	3, sibling },
	{ "permission",	2, permission },
	{ "stack",	1, missing_stack },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) || argc - 2 != modes[i].nr_args)
			continue;
		modes[i].run(argv + 2);
		return 0;
	}
	errx(2, "usage: harm MODE [ARG...]");
}
