// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * copies - processes with private copies of one file, whose SFrame sections differ
 *
 * copies [-a] sync|defer MS FILE: FILE is the program `copied` of hostile.py. One
 * process keeps the section of the file, and forks others that change their own
 * copy. Each process samples itself while it runs the function `leaf`. The only row
 * of leaf leads:
 *
 *	intact:  to the caller of leaf;
 *	moved:   to a marker two words further up: the row has been changed;
 *	garbage: nowhere: the row has been overwritten, and the code does not tell.
 *
 * A stack may end after the sampled address, because the module may be unloaded
 * meanwhile. But the second frame must never be that of another process. The frame
 * pointer is always 0, so that the kernel's own unwinder finds no second frame.
 *
 * Prints the number of whole and short stacks of each kind. The status is 0 if no
 * stack was wrong, and if intact and moved both had whole stacks. With -a the module
 * may be absent all the time, and no whole stack is needed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "image.h"

#define RING_PAGES		64
#define CALLCHAIN_DEFERRED	22	/* PERF_RECORD_CALLCHAIN_DEFERRED, 6.19 */

enum kind { INTACT, MOVED, GARBAGE, NR_KINDS };

static const char *const names[] = { "intact", "moved", "garbage" };

/*
 * The row of leaf, as hostile.py writes it: start, info, words. The first word is the CFA
 * offset. On arm64 the row has a saved return address, although leaf saves none.
 */
#ifdef __x86_64__
static const size_t row_at = 28 + 2 * 16 + 16 + 5;
static const unsigned char leaf_row[] = { 0, 3, 8 };
static const unsigned char moved_cfa = 24;
#else
static const size_t row_at = 28 + 2 * 16 + 18 + 5;
static const unsigned char leaf_row[] = { 0, 5, 16, 0xf8 };
static const unsigned char moved_cfa = 32;
#endif

/* The results of all processes, in shared memory. */
static struct tally {
	unsigned long	whole, shorter;
} *tally;

static struct image image;
static bool deferred;
static struct perf_event_mmap_page *ring;

/*
 * Calls leaf(7) NR times with the frame pointer 0. The return address is leaf_returns, and
 * the two words above it are the marker.
 */
long call_leaf(code_fn *leaf, const void *marker, long nr);
extern const char leaf_returns[];

#ifdef __x86_64__
__asm__(".text\n"
	"call_leaf:	push	%rbx\n"
	"		push	%rbp\n"
	"		push	%r12\n"
	"		push	%r13\n"
	"		mov	%rdi, %rbx\n"
	"		mov	%rsi, %r12\n"
	"		mov	%rdx, %r13\n"
	"		xor	%ebp, %ebp\n"
	"1:		push	%r12\n"
	"		push	%r12\n"
	"		mov	$7, %edi\n"
	"		call	*%rbx\n"
	"leaf_returns:	add	$16, %rsp\n"
	"		dec	%r13\n"
	"		jnz	1b\n"
	"		pop	%r13\n"
	"		pop	%r12\n"
	"		pop	%rbp\n"
	"		pop	%rbx\n"
	"		ret\n");
#else
__asm__(".text\n"
	"call_leaf:	stp	x29, x30, [sp, #-48]!\n"
	"		stp	x19, x20, [sp, #16]\n"
	"		stp	x21, x22, [sp, #32]\n"
	"		mov	x19, x0\n"
	"		mov	x20, x1\n"
	"		mov	x21, x2\n"
	"		adr	x22, leaf_returns\n"
	"		mov	x29, xzr\n"
	"1:		stp	x20, x20, [sp, #-16]!\n"
	"		stp	x22, x22, [sp, #-16]!\n"
	"		mov	x0, #7\n"
	"		mov	x30, x22\n"	/* not after a call: proves nothing */
	"		br	x19\n"
	".globl leaf_returns\n"		/* else ld 2.44 takes another address */
	"leaf_returns:	add	sp, sp, #32\n"
	"		subs	x21, x21, #1\n"
	"		b.ne	1b\n"
	"		ldp	x21, x22, [sp, #32]\n"
	"		ldp	x19, x20, [sp, #16]\n"
	"		ldp	x29, x30, [sp], #48\n"
	"		ret\n");
#endif

static void sample_me(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,	/* nanoseconds */
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
		/* Sets defer_callchain and defer_output, which older headers lack. */
		.__reserved_1 = deferred ? 3 : 0,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		err(1, "perf_event_open");
	ring = mmap(NULL, (RING_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
	close(fd);
}

static void judge(enum kind kind, const __u64 *ips, __u64 nr)
{
	__u64 expected[] = {
		[INTACT] = (__u64)leaf_returns,
		[MOVED] = (__u64)image.code + 8,
	};
	__u64 leaf = (__u64)image.code + LEAF_AT;

	if (nr == 0 || ips[0] - leaf >= LEAF_SIZE)
		return;
	if (nr == 1)
		__atomic_add_fetch(&tally[kind].shorter, 1, __ATOMIC_RELAXED);
	else if (kind != GARBAGE && ips[1] == expected[kind])
		__atomic_add_fetch(&tally[kind].whole, 1, __ATOMIC_RELAXED);
	else
		errx(1, "%s: %#llx called by %#llx", names[kind], ips[0], ips[1]);
}

static void copy_out(void *to, __u64 at, size_t len)
{
	const char *data = (char *)ring + PAGE;

	for (size_t i = 0; i < len; i++)
		((char *)to)[i] = data[(at + i) % (RING_PAGES * PAGE)];
}

static void judge_all(enum kind kind)
{
	__u64 head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	__u64 at = ring->data_tail, record[1024];

	while (at < head) {
		struct perf_event_header header;
		const __u64 *body = record + 1;

		copy_out(&header, at, sizeof(header));
		if (header.size > sizeof(record))
			errx(1, "a record of %d bytes", header.size);
		copy_out(record, at, header.size);
		at += header.size;
		/* A stack of a sample is: number of entries, PERF_CONTEXT_USER, frames. */
		if (header.type == PERF_RECORD_SAMPLE && body[0] && body[1] == PERF_CONTEXT_USER)
			judge(kind, body + 2, body[0] - 1);
		/* A deferred stack is: cookie, number of frames, frames. */
		if (header.type == CALLCHAIN_DEFERRED)
			judge(kind, body + 2, body[1]);
	}
	__atomic_store_n(&ring->data_tail, at, __ATOMIC_RELEASE);
}

static void run(enum kind kind)
{
	call_leaf((code_fn *)(image.code + LEAF_AT), image.code + 8, 20000);
	judge_all(kind);
}

/* Called before leaf runs in this process: rows that were looked up are cached. */
static void change_copy(enum kind kind)
{
	if (mprotect(image.section, PAGE, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
	if (kind == MOVED)
		image.section[row_at + 2] = moved_cfa;
	else if (kind == GARBAGE)
		memset(image.section + row_at, 0xff, sizeof(leaf_row));
	if (mprotect(image.section, PAGE, PROT_READ))
		err(1, "mprotect");
}

static void child(enum kind kind)
{
	long end = now_ms() + 100;

	change_copy(kind);
	sample_me();
	do
		run(kind);
	while (now_ms() < end);
	_exit(0);
}

int main(int argc, char **argv)
{
	bool may_be_absent = argc > 1 && !strcmp(argv[1], "-a");
	enum kind kind = INTACT;
	long end, turns = 0;

	argc -= may_be_absent;
	argv += may_be_absent;
	if (argc != 4)
		errx(2, "usage: copies [-a] sync|defer MS FILE");
	deferred = !strcmp(argv[1], "defer");
	tally = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		err(1, "mmap");
	image = map_image(open(argv[3], O_RDONLY));
	if (memcmp(image.section + row_at, leaf_row, sizeof(leaf_row)))
		errx(1, "%s: leaf has another row", argv[3]);
	sample_me();

	for (end = now_ms() + atol(argv[2]); now_ms() < end; turns++) {
		pid_t pid = fork();
		int status;

		kind = (kind + 1) % NR_KINDS;
		if (pid < 0)
			err(1, "fork");
		if (pid == 0)
			child(kind);
		do
			run(INTACT);
		while (!waitpid(pid, &status, WNOHANG));
		if (status)
			errx(1, "child: status %#x", status);
	}
	for (int i = 0; i < NR_KINDS; i++)
		printf("%s: %lu whole, %lu short%s", names[i], tally[i].whole, tally[i].shorter,
		       i < NR_KINDS - 1 ? "; " : "\n");
	if (!may_be_absent && (!tally[INTACT].whole || !tally[MOVED].whole))
		errx(1, "all were short");
	return 0;
}
