/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads and processes that are stepped. */
#ifndef TRUTH_THREAD_H
#define TRUTH_THREAD_H

#include "image.h"
#include "registers.h"
#include "shadow.h"

/**
 * struct process - a process
 * @pid: the process
 * @nr_threads: of it
 * @mem: its memory
 * @image: its code
 * @walker: walks its stacks
 */
struct process {
	pid_t		pid;
	unsigned int	nr_threads;
	struct memory	*mem;
	struct image	image;
	struct walker	*walker;
};

/**
 * struct thread_claim - a walk says that the thread will return to a place, and no call says so
 * @ip: where to
 * @sp: stack pointer after the return
 * @other_ip: where a call says that the thread returns to: the claim is wrong if it does
 * @other_sp: stack pointer there
 * @if_true: what came out then
 * @if_false: else
 * @count: steps that said so
 */
struct thread_claim {
	u64		ip;
	u64		sp;
	u64		other_ip;
	u64		other_sp;
	struct tally	*if_true;
	struct tally	*if_false;
	u64		count;
};

/**
 * struct thread - a thread
 * @next: the next one of all
 * @tid: the thread
 * @process: of it
 * @regs: its registers before the present step
 * @has_regs: they are known
 * @shadow: its stack
 * @shadows: all of its stacks
 * @claim: not decided yet, if its count is not 0
 * @event: of the tracer: what the next stop is about
 */
struct thread {
	struct thread		*next;
	pid_t			tid;
	struct process		*process;
	struct registers	regs;
	bool			has_regs;
	struct shadow		*shadow;
	struct shadow		*shadows;
	struct thread_claim	claim;
	int			event;
};

struct process *process_new(pid_t pid);
void process_put(struct process *process);
void process_scan(struct process *process);

struct thread *thread_new(pid_t tid, struct process *process);
struct thread *thread_fork(const struct thread *parent, pid_t tid);
struct thread *thread_find(pid_t tid);
void thread_free(struct thread *thread);
void thread_begin(struct thread *thread, const struct registers *regs);
void thread_move(struct thread *thread, const struct registers *regs);
void thread_call(struct thread *thread, const struct shadow_frame *frame);
bool thread_cross(const struct thread *thread, u64 ip, u64 sp, struct shadow_cursor *at);
void thread_claim(struct thread *thread, const struct thread_claim *claim);
void thread_interrupt(struct thread *thread, const struct registers *regs,
		      const struct shadow_frame *stub, const struct shadow_frame *interrupted);

#endif /* TRUTH_THREAD_H */
