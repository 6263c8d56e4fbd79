// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose stack does unusual things: signals at any instruction, on the same and on
 * another stack; longjmp(); stacks of its own; threads; children of several kinds; realigned and
 * variable frames; calls that are bound late.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_SIZE	(256 * 1024)

#define noinline	__attribute__((__noinline__, __noclone__))

extern char **environ;

static volatile sig_atomic_t nr_signals;
static volatile long sink;

/* A guard page keeps the memory apart from other stacks. */
static void *new_stack(void)
{
	char *stack = mmap(NULL, STACK_SIZE + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		abort();
	mprotect(stack, 4096, PROT_NONE);
	return stack + 4096;
}

/* ---- frames of unusual forms ---- */

static noinline long variable(long n)
{
	char *bytes = alloca(n);

	memset(bytes, n, n);
	return bytes[n - 1] + (n > 16 ? variable(n - 16) : 0);
}

static noinline long realigned(long n)
{
	char bytes[64] __attribute__((__aligned__(64)));

	memset(bytes, n, sizeof(bytes));
	return bytes[n & 63] + (n ? realigned(n - 1) : variable(64));
}

static noinline long large(long n)
{
	char bytes[20000];

	memset(bytes + n, n, 64);
	return bytes[n + 5] + realigned(n & 3);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static noinline long callback(void)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2, 8 };

	qsort(numbers, 7, sizeof(numbers[0]), compare);
	return numbers[3];
}

/* ---- signals ---- */

static void handle(int signal)
{
	nr_signals++;
	sink += signal;
	if (nr_signals % 4 == 0)
		sink += large(3);
}

static void on_signal(int signal, int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	sigaction(signal, &action, NULL);
}

static void set_timer(long us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static noinline void interrupted(int nr)
{
	int first = nr_signals;

	set_timer(2000);
	while (nr_signals - first < nr)
		sink += large(2) + callback();
	set_timer(0);
}

static void nested(int signal)
{
	(void)signal;
	raise(SIGUSR2);
	sink += callback();
}

static void raise_nested(void)
{
	struct sigaction action = { .sa_handler = nested };

	sigaction(SIGUSR1, &action, NULL);
	on_signal(SIGUSR2, 0);
	raise(SIGUSR1);
}

static sigjmp_buf fault_env;

static void jump(int signal)
{
	siglongjmp(fault_env, signal);
}

static noinline void fault(int flags)
{
	struct sigaction action = { .sa_handler = jump, .sa_flags = flags | SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(fault_env, 1))
		*(volatile int *)8 = 1;
	sink += callback();
}

/* ---- jumps ---- */

static jmp_buf env;

static noinline void leap(int depth)
{
	if (!depth)
		longjmp(env, 1);
	leap(depth - 1);
	sink++;
}

static noinline void jumps(void)
{
	volatile int i;

	for (i = 0; i < 5; i++)
		if (!setjmp(env))
			leap(i);
	sink += callback();
}

static ucontext_t main_context, other_context;

static void other(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		sink += large(1);
		swapcontext(&other_context, &main_context);
	}
}

static noinline void coroutines(void)
{
	int i;

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = new_stack();
	other_context.uc_stack.ss_size = STACK_SIZE;
	other_context.uc_link = &main_context;
	makecontext(&other_context, other, 0);
	for (i = 0; i < 4; i++) {
		swapcontext(&main_context, &other_context);
		sink += callback();
	}
}

/* ---- threads and children ---- */

static void *run_thread(void *arg)
{
	sink += large(3) + callback();
	return arg;
}

static void threads(void)
{
	pthread_t all[3];
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&all[i], NULL, run_thread, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(all[i], NULL);
}

static noinline void child_forked(void)
{
	if (!fork()) {
		sink += large(2);
		_exit(0);
	}
	wait(NULL);
}

static noinline void child_vforked(void)
{
	if (!vfork())
		_exit(0);
	wait(NULL);
}

static noinline void child_spawned(void)
{
	static char *const argv[] = { "true", NULL };
	pid_t pid;

	if (!posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	sink += system("exit 0");
}

/* ---- calls into the kernel's page ---- */

static noinline void clocks(void)
{
	struct timespec now;
	struct timeval time;
	int i;

	for (i = 0; i < 3; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		gettimeofday(&time, NULL);
		sink += now.tv_nsec + time.tv_usec;
	}
}

/* With an argument: without threads. */
int main(int argc, char **argv)
{
	stack_t stack = { .ss_sp = new_stack(), .ss_size = STACK_SIZE };

	sink += large(4) + callback();
	clocks();
	raise_nested();
	on_signal(SIGALRM, 0);
	interrupted(20);
	fault(0);
	sigaltstack(&stack, NULL);
	on_signal(SIGALRM, SA_ONSTACK);
	interrupted(20);
	fault(SA_ONSTACK);
	jumps();
	coroutines();
	if (argc == 1)
		threads();
	child_forked();
	child_vforked();
	child_spawned();
	printf("%s: %d signals\n", argv[0], (int)nr_signals);
	return 0;
}
