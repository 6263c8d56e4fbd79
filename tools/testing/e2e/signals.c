// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signals - threads with known stacks, which signals interrupt anywhere
 *
 * signals MS LIBRARY OTHER
 *
 * Each function is called from one place. Some functions call libc or the vDSO.
 * Others are in two libraries that are loaded in turn at the same addresses. Both
 * libraries are this file, with different values of ROOM. The program prints facts
 * by which verify.py judges the stacks. None of them comes from an unwinder:
 *
 *	returns FUNCTION ADDRESS	the return address that the caller passed
 *	interrupted ADDRESS		the address that the kernel passed to a handler
 *	trampoline ADDRESS		an address of the code that a handler returns to, or its end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
#include "chain.h"
#include "clock.h"

/* On arm64 the higher bits have the signature of a return address. */
#define ADDRESS(ra) ((ra) & ((1UL << 48) - 1))

struct function {
	const char *name;
	volatile unsigned long returns;
};

/* The linker defines these names for the start and the end of the section. */
extern struct function __start_functions[], __stop_functions[];

/* On arm64 the builtin would give a frame to leaf functions, which must have none. */
#ifdef __aarch64__
#define RETURNS() ({ unsigned long ra; __asm__ volatile("mov %0, x30" : "=r" (ra)); ra; })
#else
#define RETURNS() ((unsigned long)__builtin_return_address(0))
#endif

#define KNOWN() do {							\
	static struct function this __attribute__((section("functions"), used)) = { __func__ }; \
									\
	this.returns = RETURNS();					\
} while (0)

/* Prints the return addresses of the functions of this program or library. */
LINK void tell(void)
{
	struct function *f;

	KNOWN();
	for (f = __start_functions; f < __stop_functions; f++)
		printf("returns %s %lx\n", f->name, ADDRESS(f->returns));
}

typedef long (*enter_fn)(long x, long (*back)(long x));

#ifdef ROOM
static LINK long library_inner(long x, link_fn *back)
{
	char room[ROOM];

	KNOWN();
	keep(room);
	x = back(x);
	keep(room);
	return x + 1;
}

long library_enter(long x, link_fn *back)
{
	KNOWN();
	return library_inner(opaque(x), back) + 1;
}
#else

static volatile bool stop;
static volatile long sink;

/* ---- handlers -------------------------------------------------------------- */

static unsigned long interrupted[1 << 17];
static atomic_uint nr_interrupted;

#ifdef __aarch64__
enum { TRAMPOLINE_BYTES = 8 };
#else
enum { TRAMPOLINE_BYTES = 9 };
#endif
static unsigned long trampoline;

static inline void note_interrupted(const ucontext_t *context)
{
	unsigned int nr = atomic_fetch_add(&nr_interrupted, 1) % (1 << 17);

#ifdef __aarch64__
	interrupted[nr] = context->uc_mcontext.pc;
#else
	interrupted[nr] = context->uc_mcontext.gregs[REG_RIP];
#endif
}

static LINK long busy(long x)
{
	KNOWN();
	for (int i = 0; i < 10000; i++)
		x = opaque(x * 3);
	return x;
}

static LINK void on_this_stack(int sig, siginfo_t *info, void *context)
{
	KNOWN();
	trampoline = ADDRESS(RETURNS());
	note_interrupted(context);
	sink += busy(sig);
}

static LINK long busy_elsewhere(long x)
{
	KNOWN();
	for (int i = 0; i < 10000; i++)
		x = opaque(x * 5);
	return x;
}

static LINK void on_other_stack(int sig, siginfo_t *info, void *context)
{
	KNOWN();
	note_interrupted(context);
	sink += busy_elsewhere(sig);
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_RESTART | flags,
	};

	if (sigaction(sig, &action, NULL))
		err(1, "sigaction");
}

/* ---- threads --------------------------------------------------------------- */

static LINK long no_frame(long x)
{
	KNOWN();
	return opaque(x) * 3;
}

/* Has a frame, but makes no call: on arm64 the return address stays in its register. */
static LINK long no_call(long x)
{
	volatile long a[40];

	KNOWN();
	a[opaque(3)] = x;
	return a[opaque(3)];
}

static LINK long saves_registers(long x)
{
	long a = opaque(x + 1), b = opaque(x + 2), c = opaque(x + 3), d = opaque(x + 4);

	KNOWN();
	return no_frame(x) + a * b + c * d;
}

static LINK long frame_pointer(long x)
{
	char *p = __builtin_alloca(opaque(x & 63) + 32);

	KNOWN();
	keep(p);
	x = saves_registers(x) + no_call(x);
	keep(p);
	return x;
}

static LINK void plain(void)
{
	KNOWN();
	while (!stop)
		sink += frame_pointer(opaque(3));
}

static LINK long calls_libc(long x)
{
	struct timespec t;

	KNOWN();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return x + t.tv_nsec;
}

static LINK long above_libc(long x)
{
	KNOWN();
	return calls_libc(x) + 1;
}

static LINK void libc(void)
{
	KNOWN();
	while (!stop)
		sink += above_libc(3);
}

static int (*vdso_gettime)(clockid_t clock, struct timespec *t);

static LINK long calls_vdso(long x)
{
	struct timespec t;

	KNOWN();
	vdso_gettime(CLOCK_MONOTONIC, &t);
	return x + t.tv_nsec;
}

static LINK long above_vdso(long x)
{
	KNOWN();
	return calls_vdso(x) + 1;
}

static LINK void vdso(void)
{
	KNOWN();
	while (!stop)
		sink += above_vdso(3);
}

static void find_vdso(void)
{
	void *lib = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);

#ifdef __aarch64__
	vdso_gettime = dlsym(lib, "__kernel_clock_gettime");
#else
	vdso_gettime = dlsym(lib, "__vdso_clock_gettime");
#endif
	if (!vdso_gettime)
		errx(1, "no vDSO");
}

static char **libraries;

static LINK long called_back(long x)
{
	KNOWN();
	return opaque(x) * 3;
}

static LINK long calls_library(enter_fn enter)
{
	KNOWN();
	return enter(3, called_back) + 1;
}

/*
 * The module scans for new code in a 32nd of the time at most. Its scans are a part of what it
 * takes to load and to unload a library: so wait longer than that takes, however slow the host is.
 */
#define CALLS_BY_LOAD	14

static LINK void loads(void)
{
	unsigned int turn;
	long close = 0;

	KNOWN();
	for (turn = 0; !stop; turn++) {
		long begin = now_us(), cpu = clock_us(CLOCK_THREAD_CPUTIME_ID), spent;
		void *lib = dlopen(libraries[turn & 1], RTLD_NOW);
		enter_fn enter = dlsym(lib, "library_enter");

		spent = close + clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
		while (now_us() < begin + CALLS_BY_LOAD * spent)
			for (int i = 0; i < 500; i++)
				sink += calls_library(enter);
		((void (*)(void))dlsym(lib, "tell"))();
		tell();
		cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
		dlclose(lib);
		close = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
	}
	printf("loaded %u\n", turn);
}

static void (*const bodies[])(void) = { plain, libc, vdso, loads };
enum { NR_THREADS = sizeof(bodies) / sizeof(bodies[0]) };

static LINK void *thread(void *body)
{
	enum { SIZE = 1 << 16 };
	stack_t other = { .ss_size = SIZE };

	KNOWN();
	other.ss_sp = malloc(SIZE);
	if (sigaltstack(&other, NULL))
		err(1, "sigaltstack");
	(*(void (*const *)(void))body)();
	return NULL;
}

/*
 * The last thread loads libraries. At first the module does not know how often samples come, and
 * scans less for new code than later. Then it does so for a 32nd of the time at most: enough here.
 */
#define LOADS_AFTER_MS	200

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	int nr = 0;
	long begin;

	KNOWN();
	if (argc != 4)
		errx(2, "usage: signals MS LIBRARY OTHER");
	find_vdso();
	handle(SIGUSR1, on_this_stack, 0);
	handle(SIGUSR2, on_other_stack, SA_ONSTACK);
	libraries = argv + 2;
	for (begin = now_ms(); now_ms() < begin + atoi(argv[1]); usleep(50 + random() % 150)) {
		int which = random() % 3;
		pthread_t one;

		for (; nr < NR_THREADS; nr++) {
			if (bodies[nr] == loads && now_ms() < begin + LOADS_AFTER_MS)
				break;
			if (pthread_create(&threads[nr], NULL, thread, (void *)&bodies[nr]))
				errx(1, "no thread");
		}
		one = threads[random() % nr];
		/* With both signals, one handler interrupts the other at its first instruction. */
		if (which != 0)
			pthread_kill(one, SIGUSR1);
		if (which != 1)
			pthread_kill(one, SIGUSR2);
	}
	stop = true;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	tell();
	for (unsigned int i = 0; i < nr_interrupted % (1 << 17); i++)
		printf("interrupted %lx\n", interrupted[i]);
	for (int i = 0; i <= TRAMPOLINE_BYTES; i++)
		printf("trampoline %lx\n", trampoline + i);
	return 0;
}
#endif
