// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps programs of x86_64, by ptrace.
 *
 * A call pushes the address of the next instruction. A frame is gone when the stack pointer is
 * above its return address: by ret, longjmp() or an exception. The kernel stops at the start of
 * a signal handler; the context that it has saved says where the signal came.
 */
#include <err.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer.h"

/* What the next stop of a thread is about, besides a step. */
enum {
	EVENT_NONE,
	EVENT_ATTACHED,		/* the thread is new, and has its first stop before it */
	EVENT_SIGNAL,		/* a signal was delivered: there may be a handler */
};

#define MAX_PREFIXES	4

/* The context of a signal handler: its restorer is at the stack pointer. See asm/ucontext.h. */
#define CONTEXT_REGS	(8 + 40)
#define CONTEXT_BP	(CONTEXT_REGS + 8 * 10)
#define CONTEXT_SP	(CONTEXT_REGS + 8 * 15)
#define CONTEXT_IP	(CONTEXT_REGS + 8 * 16)

#define OPTIONS (PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | \
		 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

/* The thread to step next. */
static struct thread *stopped;

/* New threads that have stopped before their parents have. */
#define MAX_EARLY	16
static pid_t early[MAX_EARLY];
static unsigned int nr_early;

static bool was_early(pid_t tid)
{
	unsigned int i;

	for (i = 0; i < MAX_EARLY; i++)
		if (early[i] == tid) {
			early[i] = 0;
			return true;
		}
	return false;
}

static void request(int what, pid_t tid, unsigned long data)
{
	/* The thread may have been killed. */
	if (ptrace(what, tid, NULL, data) && errno != ESRCH)
		err(2, "ptrace");
}

static bool read_registers(pid_t tid, struct registers *regs)
{
	struct user_regs_struct user;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &user))
		return false;
	*regs = (struct registers){
		.by_number = {
			user.rax, user.rdx, user.rcx, user.rbx,
			user.rsi, user.rdi, user.rbp, user.rsp,
			user.r8, user.r9, user.r10, user.r11,
			user.r12, user.r13, user.r14, user.r15,
		},
		.ip = user.rip,
		.syscall = user.orig_rax,
	};
	return true;
}

/* The opcode at @ip and the byte after it, without prefixes. */
static const u8 *read_opcode(struct process *process, u64 ip, u8 *bytes)
{
	unsigned int i = 0;

	memset(bytes, 0, MAX_PREFIXES + 2);
	if (!memory_read_code(process->mem, bytes, ip, MAX_PREFIXES + 2))
		memory_read(process->mem, bytes, ip, 2);
	while (i < MAX_PREFIXES && (bytes[i] == 0x66 || bytes[i] == 0xf2 || bytes[i] == 0xf3 ||
				    bytes[i] == 0x3e || (bytes[i] & 0xf0) == 0x40))
		i++;
	return bytes + i;
}

static bool is_call(const u8 *opcode)
{
	return opcode[0] == 0xe8 || (opcode[0] == 0xff && (opcode[1] & 0x38) == 0x10);
}

static bool is_syscall(const u8 *opcode)
{
	return opcode[0] == 0x0f && opcode[1] == 0x05;
}

static bool changes_mappings(u64 nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_mremap;
}

/* A call has left its return address at the stack pointer. */
static void note_call(struct thread *thread, u64 fp)
{
	u64 sp = regs_sp(&thread->regs);
	struct shadow_frame frame = { .sp = sp + 8, .fp = fp, .last_sp = sp, .slot = sp };

	if (memory_word(thread->process->mem, sp, &frame.ip))
		thread_call(thread, &frame);
}

/* Is the thread at the start of a handler, with the context of what it did before? */
static bool note_signal(struct thread *thread, const struct registers *regs)
{
	struct memory *mem = thread->process->mem;
	u64 sp = regs_sp(regs);
	struct shadow_frame stub = { .sp = sp + 8, .fp = regs_fp(regs), .last_sp = sp, .slot = sp };
	struct shadow_frame interrupted = { .last_sp = sp + 8 };

	if (!memory_word(mem, sp, &stub.ip) ||
	    !memory_word(mem, sp + CONTEXT_IP, &interrupted.ip) ||
	    !memory_word(mem, sp + CONTEXT_SP, &interrupted.sp) ||
	    !memory_word(mem, sp + CONTEXT_BP, &interrupted.fp) ||
	    interrupted.sp != regs_sp(&thread->regs) || interrupted.fp != regs_fp(&thread->regs))
		return false;
	thread_interrupt(thread, regs, &stub, &interrupted);
	return true;
}

/* The thread has made one step. Returns whether it may be judged. */
static bool note_step(struct thread *thread)
{
	u64 ip = thread->regs.ip, fp = regs_fp(&thread->regs), sp = regs_sp(&thread->regs);
	struct process *process = thread->process;
	u8 bytes[MAX_PREFIXES + 2];
	const u8 *opcode = read_opcode(process, ip, bytes);
	struct registers regs;

	memory_moved_on(process->mem);
	if (!read_registers(thread->tid, &regs))
		return false;
	if (thread->event == EVENT_SIGNAL && note_signal(thread, &regs))
		return true;
	if (is_syscall(opcode) && changes_mappings(thread->regs.by_number[REG_AX]))
		process_scan(process);
	thread_move(thread, &regs);
	if (is_call(opcode) && regs_sp(&regs) == sp - 8)
		note_call(thread, fp);
	return true;
}

/* The thread begins, or its new program does. */
static void begin(struct thread *thread)
{
	struct registers regs;

	memory_moved_on(thread->process->mem);
	if (read_registers(thread->tid, &regs))
		thread_begin(thread, &regs);
}

static void note_exec(struct thread *thread)
{
	struct process *process = process_new(thread->tid);

	process->nr_threads++;
	process_put(thread->process);
	thread->process = process;
	process_scan(process);
	begin(thread);
}

/* The first stop of a new thread: a child of fork() goes on where its parent was. */
static void note_attached(struct thread *thread)
{
	struct registers regs;

	thread->event = EVENT_NONE;
	if (!thread->has_regs) {
		begin(thread);
		return;
	}
	memory_moved_on(thread->process->mem);
	if (!read_registers(thread->tid, &regs))
		return;
	/* clone() gives some children a stack of their own. */
	if (regs_sp(&regs) != regs_sp(&thread->regs))
		thread_begin(thread, &regs);
	else
		thread_move(thread, &regs);
}

/* The parent has cloned a thread or a process. Its first stop may come before or after this one. */
static void note_child(struct thread *parent, int event)
{
	struct thread *child;
	unsigned long tid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &tid))
		return;
	if (event == PTRACE_EVENT_CLONE)
		child = thread_new(tid, parent->process);
	else
		child = thread_fork(parent, tid);
	child->event = EVENT_ATTACHED;
	if (was_early(tid)) {
		note_attached(child);
		request(PTRACE_SINGLESTEP, tid, 0);
	}
}

/* Looks at one stop. Returns whether the thread may be judged. */
static bool note_stop(struct thread *thread, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	bool is_step = false;

	if (event == PTRACE_EVENT_EXEC) {
		note_exec(thread);
	} else if (event) {
		note_child(thread, event);
	} else if (thread->event == EVENT_ATTACHED) {
		note_attached(thread);
		is_step = true;
	} else if (signal == SIGTRAP) {
		is_step = note_step(thread);
		thread->event = EVENT_NONE;
	} else {
		thread->event = EVENT_SIGNAL;
		request(PTRACE_SINGLESTEP, thread->tid, signal);
		return false;
	}
	if (!is_step)
		request(PTRACE_SINGLESTEP, thread->tid, 0);
	return is_step;
}

/* The address at which the program begins, which its loader jumps to. */
static u64 entry_of(pid_t pid)
{
	u64 auxv[2] = {};
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "re");
	while (file && fread(auxv, sizeof(auxv), 1, file) == 1 && auxv[0] != AT_ENTRY)
		;
	if (file)
		fclose(file);
	if (auxv[0] != AT_ENTRY)
		errx(2, "%s has no entry", path);
	return auxv[1];
}

/* Runs the program up to @addr, which it has not executed before. */
static void run_to(pid_t pid, u64 addr)
{
	struct user_regs_struct user;
	int status;
	long word;

	word = ptrace(PTRACE_PEEKTEXT, pid, addr, NULL);
	ptrace(PTRACE_POKETEXT, pid, addr, (word & ~0xffl) | 0xcc);
	request(PTRACE_CONT, pid, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		errx(2, "the program does not begin");
	ptrace(PTRACE_POKETEXT, pid, addr, word);
	ptrace(PTRACE_GETREGS, pid, NULL, &user);
	user.rip = addr;
	ptrace(PTRACE_SETREGS, pid, NULL, &user);
}

/**
 * tracer_start() - start a program, stopped before its first instruction
 * @argv: its arguments
 * @skip_loader: go on until the loader has begun the program
 */
void tracer_start(char **argv, bool skip_loader)
{
	struct thread *thread;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		err(2, "%s", argv[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		err(2, "%s", argv[0]);
	request(PTRACE_SETOPTIONS, pid, OPTIONS);
	/* Up to the end of execve() there is nothing to step. */
	request(PTRACE_CONT, pid, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    status >> 16 != PTRACE_EVENT_EXEC)
		errx(2, "%s: cannot be executed", argv[0]);
	thread = thread_new(pid, process_new(pid));
	if (skip_loader)
		run_to(pid, entry_of(pid));
	note_exec(thread);
	request(PTRACE_SINGLESTEP, pid, 0);
}

/**
 * tracer_step() - go on until a thread has made a step
 *
 * Return: The thread, or NULL if all have ended.
 */
struct thread *tracer_step(void)
{
	struct thread *thread;
	int status;
	pid_t tid;

	if (stopped)
		request(PTRACE_SINGLESTEP, stopped->tid, 0);
	stopped = NULL;
	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == ECHILD)
			return NULL;
		if (tid < 0)
			err(2, "waitpid");
		thread = thread_find(tid);
		if (thread && !WIFSTOPPED(status))
			thread_free(thread);
		if (!WIFSTOPPED(status))
			continue;
		/* The stop of a new thread has come before that of its parent. */
		if (!thread) {
			early[nr_early++ % MAX_EARLY] = tid;
			continue;
		}
		if (note_stop(thread, status))
			return stopped = thread;
	}
}

/* Ends all that was stepped: PTRACE_O_EXITKILL does so when this process ends. */
void tracer_stop(void)
{
	stopped = NULL;
}
