// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that goes from stack to stack: by setcontext(), by instructions of its own with and
 * without call frame information, by clone(), and out of handlers. On x86_64 its functions can
 * also be compiled to get their stacks in pieces (-fsplit-stack: see split.c).
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_SIZE	(64 * 1024)
#define NR_STACKS	5
#define HIGHEST		(NR_STACKS - 1)

#define noinline	__attribute__((__noinline__, __noclone__))

static volatile long sink;

/* Of ascending addresses. A guard page keeps each apart from the others. */
static char *stacks[NR_STACKS];

static void make_stacks(void)
{
	size_t size = STACK_SIZE + 4096;
	char *all = mmap(NULL, NR_STACKS * size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (all == MAP_FAILED)
		abort();
	for (i = 0; i < NR_STACKS; i++) {
		mprotect(all + i * size, 4096, PROT_NONE);
		stacks[i] = all + i * size + 4096;
	}
}

static char *top_of(int stack)
{
	return stacks[stack] + STACK_SIZE;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static noinline long work(long n)
{
	int numbers[] = { 5, 3, n, 1 };

	qsort(numbers, 4, sizeof(numbers[0]), compare);
	return numbers[1] + (n ? work(n - 1) : 0);
}

/* ---- a call on another stack ---- */

/* Calls @function with @arg; its stack begins at @sp. */
void call_on_stack(void (*function)(long arg), long arg, void *sp);

/* The same, and nothing describes it. */
void call_on_stack_bare(void (*function)(long arg), long arg, void *sp);

/* Where the first function of a coroutine would return to: there is no caller. */
void end_of_stack(void);

/* Stores this stack in @from and goes on where @to was stored. */
void switch_stack(void **from, void *to);

#ifdef __x86_64__
__asm__(".text\n"
".globl call_on_stack\n"
".type call_on_stack, @function\n"
"call_on_stack:\n"
"	.cfi_startproc\n"
"	push	%rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset %rbp, -16\n"
"	mov	%rsp, %rbp\n"
"	.cfi_def_cfa_register %rbp\n"
"	mov	%rdi, %rax\n"
"	mov	%rsi, %rdi\n"
"	mov	%rdx, %rsp\n"
"	call	*%rax\n"
"	mov	%rbp, %rsp\n"
"	.cfi_def_cfa_register %rsp\n"
"	pop	%rbp\n"
"	.cfi_def_cfa_offset 8\n"
"	ret\n"
"	.cfi_endproc\n"
".size call_on_stack, . - call_on_stack\n"
".globl call_on_stack_bare\n"
".type call_on_stack_bare, @function\n"
"call_on_stack_bare:\n"
"	push	%rbx\n"
"	mov	%rsp, %rbx\n"
"	mov	%rdi, %rax\n"
"	mov	%rsi, %rdi\n"
"	mov	%rdx, %rsp\n"
"	call	*%rax\n"
"	mov	%rbx, %rsp\n"
"	pop	%rbx\n"
"	ret\n"
".size call_on_stack_bare, . - call_on_stack_bare\n"
".globl end_of_stack\n"
".type end_of_stack, @function\n"
"	.cfi_startproc\n"
"	.cfi_undefined %rip\n"
"	nop\n"
"end_of_stack:\n"
"	hlt\n"
"	.cfi_endproc\n"
".size end_of_stack, . - end_of_stack\n"
".globl switch_stack\n"
".type switch_stack, @function\n"
"switch_stack:\n"
"	.cfi_startproc\n"
"	push	%rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset %rbp, -16\n"
"	push	%rbx\n"
"	.cfi_def_cfa_offset 24\n"
"	push	%r12\n"
"	.cfi_def_cfa_offset 32\n"
"	push	%r13\n"
"	.cfi_def_cfa_offset 40\n"
"	push	%r14\n"
"	.cfi_def_cfa_offset 48\n"
"	push	%r15\n"
"	.cfi_def_cfa_offset 56\n"
"	mov	%rsp, (%rdi)\n"
"	mov	%rsi, %rsp\n"
"	pop	%r15\n"
"	.cfi_def_cfa_offset 48\n"
"	pop	%r14\n"
"	.cfi_def_cfa_offset 40\n"
"	pop	%r13\n"
"	.cfi_def_cfa_offset 32\n"
"	pop	%r12\n"
"	.cfi_def_cfa_offset 24\n"
"	pop	%rbx\n"
"	.cfi_def_cfa_offset 16\n"
"	pop	%rbp\n"
"	.cfi_restore %rbp\n"
"	.cfi_def_cfa_offset 8\n"
"	ret\n"
"	.cfi_endproc\n"
".size switch_stack, . - switch_stack\n");

/* R15 to R12, RBX, RBP; return addresses of switch_stack() and of the function that it begins */
static void **begin_stack(char *top, void (*function)(void))
{
	void **sp = (void **)top - 10;

	sp[6] = function;
	sp[7] = end_of_stack;
	return sp;
}
#else
__asm__(".text\n"
".globl call_on_stack\n"
".type call_on_stack, %function\n"
"call_on_stack:\n"
"	.cfi_startproc\n"
"	stp	x29, x30, [sp, -16]!\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset x29, -16\n"
"	.cfi_offset x30, -8\n"
"	mov	x29, sp\n"
"	.cfi_def_cfa_register x29\n"
"	mov	x9, x0\n"
"	mov	x0, x1\n"
"	mov	sp, x2\n"
"	blr	x9\n"
"	mov	sp, x29\n"
"	.cfi_def_cfa_register sp\n"
"	ldp	x29, x30, [sp], 16\n"
"	.cfi_def_cfa_offset 0\n"
"	.cfi_restore x29\n"
"	.cfi_restore x30\n"
"	ret\n"
"	.cfi_endproc\n"
".size call_on_stack, . - call_on_stack\n"
".globl call_on_stack_bare\n"
".type call_on_stack_bare, %function\n"
"call_on_stack_bare:\n"
"	stp	x19, x30, [sp, -16]!\n"
"	mov	x19, sp\n"
"	mov	x9, x0\n"
"	mov	x0, x1\n"
"	mov	sp, x2\n"
"	blr	x9\n"
"	mov	sp, x19\n"
"	ldp	x19, x30, [sp], 16\n"
"	ret\n"
".size call_on_stack_bare, . - call_on_stack_bare\n"
".globl end_of_stack\n"
".type end_of_stack, %function\n"
"	.cfi_startproc\n"
"	.cfi_undefined x30\n"
"	nop\n"
"end_of_stack:\n"
"	adr	x30, end_of_stack\n"
"	br	x19\n"
"	.cfi_endproc\n"
".size end_of_stack, . - end_of_stack\n"
".globl switch_stack\n"
".type switch_stack, %function\n"
"switch_stack:\n"
"	.cfi_startproc\n"
"	stp	x29, x30, [sp, -96]!\n"
"	.cfi_def_cfa_offset 96\n"
"	.cfi_offset x29, -96\n"
"	.cfi_offset x30, -88\n"
"	stp	x19, x20, [sp, 16]\n"
"	stp	x21, x22, [sp, 32]\n"
"	stp	x23, x24, [sp, 48]\n"
"	stp	x25, x26, [sp, 64]\n"
"	stp	x27, x28, [sp, 80]\n"
"	mov	x9, sp\n"
"	str	x9, [x0]\n"
"	mov	sp, x1\n"
"	ldp	x19, x20, [sp, 16]\n"
"	ldp	x21, x22, [sp, 32]\n"
"	ldp	x23, x24, [sp, 48]\n"
"	ldp	x25, x26, [sp, 64]\n"
"	ldp	x27, x28, [sp, 80]\n"
"	ldp	x29, x30, [sp], 96\n"
"	.cfi_def_cfa_offset 0\n"
"	.cfi_restore x29\n"
"	.cfi_restore x30\n"
"	ret\n"
"	.cfi_endproc\n"
".size switch_stack, . - switch_stack\n");

/* x29, x30, x19 to x28: end_of_stack() goes on to the function in x19. */
static void **begin_stack(char *top, void (*function)(void))
{
	void **sp = (void **)top - 12;

	sp[1] = end_of_stack;
	sp[2] = function;
	return sp;
}
#endif

static void work_here(long n)
{
	sink += work(n);
}

/* Each stack is below the one before, then above it: frames then have descending addresses. */
static void to_upper(long n)
{
	call_on_stack(work_here, n, top_of(2));
	sink += work(n);
}

static void to_lower(long n)
{
	call_on_stack(to_upper, n, top_of(1));
	sink += work(n);
}

static noinline void calls(void)
{
	call_on_stack(work_here, 2, top_of(0));
	call_on_stack(to_lower, 2, top_of(3));
	call_on_stack_bare(work_here, 2, top_of(0));
}

/* ---- coroutines by instructions ---- */

static void *here, *there;

static void take_turns(void)
{
	for (;;) {
		sink += work(1);
		switch_stack(&there, here);
	}
}

static noinline void turns(void)
{
	int i;

	there = begin_stack(top_of(0), take_turns);
	for (i = 0; i < 3; i++) {
		switch_stack(&here, there);
		sink += work(0);
	}
}

/* ---- contexts ---- */

static ucontext_t again, first, second;

static void run_second(int n)
{
	sink += work(n);
	setcontext(&first);
}

static noinline void contexts(void)
{
	volatile int turn = 0;

	getcontext(&again);
	sink += work(1);
	if (turn++ < 3)
		setcontext(&again);
	getcontext(&second);
	second.uc_stack.ss_sp = stacks[0];
	second.uc_stack.ss_size = STACK_SIZE;
	second.uc_link = NULL;
	makecontext(&second, (void (*)(void))run_second, 1, 2);
	turn = 0;
	getcontext(&first);
	if (!turn++)
		setcontext(&second);
	sink += work(1);
}

/* ---- out of handlers ---- */

static struct __jmp_buf_tag *env;	/* of the frame that is returned to */

static void leave(long n)
{
	sink += work(n);
	siglongjmp(env, 1);
}

/* Leaves a handler, its stack, and one more. */
static void handle(int signal)
{
	sink += work(signal & 1);
	call_on_stack(leave, 1, top_of(2));
}

static void raise_here(long n)
{
	sink += work(n);
	raise(SIGUSR1);
}

static noinline void handlers(void)
{
	stack_t stack = { .ss_sp = stacks[1], .ss_size = STACK_SIZE };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER };
	sigjmp_buf above;
	volatile int i;

	env = above;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < 2; i++)
		if (!sigsetjmp(above, 1))
			call_on_stack(raise_here, i, top_of(i ? 3 : 0));
	sink += work(1);
}

/* ---- children with a stack of their own ---- */

static int run_child(void *arg)
{
	sink += work((long)arg);
	return 0;
}

static noinline void children(void)
{
	pid_t pid = clone(run_child, top_of(0), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)2);

	waitpid(pid, NULL, 0);
	if (!vfork()) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	wait(NULL);
}

#ifdef __x86_64__
long split_run(long depth);
#else
static long split_run(long depth)
{
	return depth;
}
#endif

static void switch_stacks(long n)
{
	sink += work(n);
	calls();
	turns();
	contexts();
	handlers();
}

/* Where the first stack is depends on the kernel. The walk goes up only: let one be above. */
int main(int argc, char **argv)
{
	(void)argc;
	make_stacks();
	switch_stacks(0);
	call_on_stack(switch_stacks, 0, top_of(HIGHEST));
	sink += split_run(12);
	children();
	printf("%s: %d\n", argv[0], sink != 0);
	return 0;
}
