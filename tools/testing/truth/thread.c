// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps the shadow stacks of the threads that are stepped. */
#include <err.h>
#include <stdlib.h>

#include "thread.h"

static struct thread *threads;

struct process *process_new(pid_t pid)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		err(1, "process");
	process->pid = pid;
	process->mem = memory_open(pid);
	process->walker = walker_open(process->mem);
	return process;
}

void process_put(struct process *process)
{
	if (--process->nr_threads)
		return;
	image_free(&process->image);
	walker_close(process->walker);
	memory_close(process->mem);
	free(process);
}

/* The process may have mapped or unmapped code. */
void process_scan(struct process *process)
{
	memory_mapped(process->mem);
	image_scan(&process->image, process->pid, process->mem);
	walker_set_code(process->walker, process->image.code, process->image.nr,
			image_start_stack(process->pid));
}

struct thread *thread_new(pid_t tid, struct process *process)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		err(1, "thread");
	thread->tid = tid;
	thread->process = process;
	process->nr_threads++;
	thread->next = threads;
	threads = thread;
	return thread;
}

/* The child of fork() or vfork() returns through the same frames as its parent. */
struct thread *thread_fork(const struct thread *parent, pid_t tid)
{
	struct thread *child = thread_new(tid, process_new(tid));

	process_scan(child->process);
	child->regs = parent->regs;
	child->has_regs = parent->has_regs;
	child->shadow = shadow_copy(parent->shadow);
	child->shadows = child->shadow;
	return child;
}

struct thread *thread_find(pid_t tid)
{
	struct thread *thread;

	for (thread = threads; thread && thread->tid != tid; thread = thread->next)
		;
	return thread;
}

static void decide(struct thread *thread, bool is_true)
{
	struct thread_claim *claim = &thread->claim;

	if (claim->count)
		(is_true ? claim->if_true : claim->if_false)->count += claim->count;
	claim->count = 0;
}

void thread_free(struct thread *thread)
{
	struct thread **at = &threads;

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	decide(thread, false);
	shadow_free(thread->shadows);
	process_put(thread->process);
	free(thread);
}

/* A new stack pointer may be the end of its memory. */
static struct shadow *add_shadow(struct thread *thread, u64 sp)
{
	struct shadow *shadow;
	u64 start = sp & ~4095ull, end = start + 4096;

	image_is_stack(thread->process->pid, sp - 1, &start, &end);
	shadow = shadow_new(start, end);
	shadow->next = thread->shadows;
	thread->shadows = shadow;
	return shadow;
}

/* The thread begins, or its program does: there are no frames. */
void thread_begin(struct thread *thread, const struct registers *regs)
{
	shadow_free(thread->shadows);
	thread->shadows = NULL;
	thread->shadow = add_shadow(thread, regs_sp(regs));
	thread->shadow->is_whole = true;
	thread->regs = *regs;
	thread->has_regs = true;
}

static bool is_on(const struct shadow *shadow, u64 sp)
{
	return sp > shadow->start && sp <= shadow->end;
}

/* Has the stack grown down to @sp? */
static bool has_grown(const struct thread *thread, struct shadow *shadow, u64 sp)
{
	u64 start, end;

	if (!image_is_stack(thread->process->pid, sp - 1, &start, &end) || end != shadow->end)
		return false;
	shadow->start = start;
	return true;
}

static struct shadow *find_shadow(const struct thread *thread, u64 sp)
{
	struct shadow *shadow;

	for (shadow = thread->shadows; shadow; shadow = shadow->next)
		if (is_on(shadow, sp))
			return shadow;
	return NULL;
}

/* The thread uses another stack now. A handler's stack is empty once the handler is left. */
static void switch_stack(struct thread *thread, u64 sp)
{
	struct shadow *last = thread->shadow;

	if (has_grown(thread, last, sp))
		return;
	thread->shadow = find_shadow(thread, sp) ?: add_shadow(thread, sp);
	shadow_leave(thread->shadow, sp);
	if (!thread->shadow->nr)
		thread->shadow->switched_at = thread->regs.ip;
	if (last->interrupted) {
		last->interrupted = NULL;
		last->nr = 0;
	}
}

/**
 * thread_cross() - go from the outermost frame of one stack to a frame of another
 * @thread: the thread
 * @ip: where that frame goes on
 * @sp: its stack pointer
 * @at: set to that frame, if it is there
 *
 * Return: false if the thread has another stack at @sp, and no call on it has left that frame.
 */
bool thread_cross(const struct thread *thread, u64 ip, u64 sp, struct shadow_cursor *at)
{
	struct shadow *shadow = find_shadow(thread, sp);
	unsigned int i;

	if (!shadow || shadow == at->shadow)
		return true;
	for (i = shadow->nr; i--;) {
		if (shadow->frames[i].ip != ip || shadow->frames[i].sp != sp)
			continue;
		*at = (struct shadow_cursor){ shadow, i + 1 };
		return true;
	}
	return false;
}

/* Has the thread arrived where a walk has claimed, or gone on without? */
static void check_claim(struct thread *thread)
{
	const struct thread_claim *claim = &thread->claim;
	u64 ip = thread->regs.ip, sp = regs_sp(&thread->regs);

	if (ip == claim->ip && sp == claim->sp)
		decide(thread, true);
	else if (sp > claim->sp || (ip == claim->other_ip && sp == claim->other_sp))
		decide(thread, false);
}

/**
 * thread_move() - the thread has made a step
 * @thread: the thread
 * @regs: its registers now
 *
 * Frames below the stack pointer are gone.
 */
void thread_move(struct thread *thread, const struct registers *regs)
{
	u64 sp = regs_sp(regs);

	if (!is_on(thread->shadow, sp))
		switch_stack(thread, sp);
	shadow_pop(thread->shadow, sp);
	thread->regs = *regs;
	if (thread->claim.count)
		check_claim(thread);
}

/**
 * thread_claim() - a walk claims a return
 * @thread: the thread
 * @claim: the claim; the same as the last one, or that one was wrong
 */
void thread_claim(struct thread *thread, const struct thread_claim *claim)
{
	u64 count = thread->claim.count;

	if (count && (claim->ip != thread->claim.ip || claim->sp != thread->claim.sp)) {
		decide(thread, false);
		count = 0;
	}
	thread->claim = *claim;
	thread->claim.count += count;
}

/* The step was a call. */
void thread_call(struct thread *thread, const struct shadow_frame *frame)
{
	shadow_push(thread->shadow, frame);
}

/**
 * thread_interrupt() - a signal has come, and the thread is at the start of its handler
 * @thread: the thread
 * @regs: its registers now
 * @stub: the code that the handler returns to
 * @interrupted: the code that was interrupted
 */
void thread_interrupt(struct thread *thread, const struct registers *regs,
		      const struct shadow_frame *stub, const struct shadow_frame *interrupted)
{
	struct shadow *last = thread->shadow;
	u64 sp = regs_sp(regs);

	if (!is_on(last, sp) && !has_grown(thread, last, sp)) {
		thread->shadow = find_shadow(thread, sp) ?: add_shadow(thread, sp);
		thread->shadow->interrupted = last;
		thread->shadow->nr = 0;
	}
	shadow_push(thread->shadow, interrupted);
	shadow_push(thread->shadow, stub);
	thread->regs = *regs;
}
