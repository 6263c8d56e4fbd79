// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps programs of arm64: qemu-aarch64 executes them, and its gdb server steps them. Their memory
 * is that of qemu-aarch64.
 *
 * A call leaves the address of the next instruction in x30. A frame is gone when the thread
 * arrives at its return address with its stack pointer, or when the stack pointer is above it.
 * Two kinds of jumps arrive elsewhere with the stack pointer of a live frame: longjmp(), after
 * another call, and an exception, which libgcc_s throws into other code.
 *
 * A step between an exclusive load and its store would make the store fail, for ever. So such a
 * sequence, which calls nothing, is one step.
 *
 * A step over a system call executes the instruction after it as well.
 *
 * Only the first thread of the first process is stepped.
 */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer.h"

/* The directory with the programs of arm64, and qemu-aarch64. */
#define ENV_ROOT	"TRUTH_ROOT"
#define ENV_QEMU	"TRUTH_QEMU"

#define SVC		0xd4000001u
#define NR_RT_SIGRETURN	139
#define BR_X16		0xd61f0200u
#define BR_X17		0xd61f0220u

/* struct rt_sigframe: siginfo, ucontext; in it sigcontext, and there the registers. */
#define CONTEXT_REGS	(128 + 176 + 8)
#define CONTEXT_SP	(CONTEXT_REGS + 8 * 31)
#define CONTEXT_PC	(CONTEXT_REGS + 8 * 32)

/* What a handler may have pushed by its first instruction. */
#define HANDLER_PUSH	1024

static int server = -1;
static struct thread *only;
static int pending;		/* the signal to deliver with the next step */

/* ---- the protocol of gdb ---- */

/* The plus acknowledges the last answer. */
static void send_packet(const char *text)
{
	char packet[256];
	unsigned int i, sum = 0;
	int len;

	for (i = 0; text[i]; i++)
		sum += (u8)text[i];
	len = snprintf(packet, sizeof(packet), "+$%s#%02x", text, sum & 0xff);
	if (write(server, packet, len) != len)
		err(2, "gdb server");
}

/* Reads the next byte; -1: the server has ended. */
static int read_byte(void)
{
	static char buffer[65536];
	static ssize_t at, end;

	if (at == end) {
		at = 0;
		end = read(server, buffer, sizeof(buffer));
		if (end <= 0) {
			end = 0;
			return -1;
		}
	}
	return (u8)buffer[at++];
}

/* Returns the length of a packet, or -1 if the server has ended. */
static ssize_t read_packet(char *text, size_t room)
{
	size_t len = 0;
	int byte;

	while ((byte = read_byte()) != '$')
		if (byte < 0)
			return -1;
	while ((byte = read_byte()) != '#') {
		/* An escaped byte of binary data. */
		if (byte == '}')
			byte = read_byte() ^ 0x20;
		if (byte < 0)
			return -1;
		if (len + 1 < room)
			text[len++] = byte;
	}
	text[len] = 0;
	/* The check sum of a socket is not looked at. */
	return read_byte() < 0 || read_byte() < 0 ? -1 : (ssize_t)len;
}

static ssize_t ask(const char *question, char *answer, size_t room)
{
	send_packet(question);
	return read_packet(answer, room);
}

/* A word as hexadecimal bytes, the lowest first. */
static u64 hex_word(const char *hex)
{
	u64 val = 0;
	int i;

	for (i = 0; i < 16; i++) {
		char digit = hex[i ^ 1];

		val |= (u64)(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10) << 4 * i;
	}
	return val;
}

/* x0 to x30, sp, pc */
static bool parse_registers(const char *hex, struct registers *regs)
{
	unsigned int i;

	if (strlen(hex) < 33 * 16)
		return false;
	for (i = 0; i < 32; i++)
		regs->by_number[i] = hex_word(hex + 16 * i);
	regs->ip = hex_word(hex + 16 * 32);
	regs->syscall = ~0ull;
	return true;
}

/* ---- steps ---- */

static u32 read_instruction(struct process *process, u64 ip)
{
	u32 insn = 0;

	if (!memory_read_code(process->mem, &insn, ip, sizeof(insn)))
		memory_read(process->mem, &insn, ip, sizeof(insn));
	return insn;
}

/* bl; blr, blraa, ... */
static bool is_call(u32 insn)
{
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

/* br, braa, ret, retaa, ... */
static bool is_jump(u32 insn)
{
	return (insn & 0xfedff000) == 0xd61f0000 || (insn & 0xfffff000) == 0xd65f0000;
}

/* paciasp, bti c */
static bool begins_function(u32 insn)
{
	return insn == 0xd503233f || insn == 0xd503245f;
}

/* ldxr, ldaxr; of a pair, too */
static bool begins_exclusive(u32 insn)
{
	return (insn & 0x3fc00000) == 0x08400000;
}

/* stxr, stlxr; of a pair, too */
static bool ends_exclusive(u32 insn)
{
	return (insn & 0x3fc00000) == 0x08000000;
}

/* b.cond, cbz, cbnz: bytes to the target; 0: another instruction */
static s64 branch_offset(u32 insn)
{
	if ((insn & 0xff000010) != 0x54000000 && (insn & 0x7e000000) != 0x34000000)
		return 0;
	return (s64)(s32)(insn << 8) >> 13 << 2;
}

static bool changes_mappings(u64 nr)
{
	return nr == 215 || nr == 216 || nr == 222 || nr == 226;
}

/* Removes the frames up to the one that the thread has returned to. */
static bool note_return(struct thread *thread)
{
	struct shadow *shadow = thread->shadow;
	u64 ip = thread->regs.ip, sp = regs_sp(&thread->regs);
	unsigned int i;

	for (i = shadow->nr; i-- && shadow->frames[i].sp == sp;)
		if (shadow->frames[i].ip == ip) {
			shadow->nr = i;
			return true;
		}
	return false;
}

static bool comes_from_libgcc(const struct thread *thread, u64 from)
{
	struct image_place before = image_find(&thread->process->image, from);
	struct image_place now = image_find(&thread->process->image, thread->regs.ip);

	return before.binary && strstr(before.binary->name, "libgcc_s") &&
	       now.binary != before.binary;
}

static bool comes_from_setcontext(const struct thread *thread, u64 from)
{
	struct image_place place = image_find(&thread->process->image, from);
	u64 start;

	return place.binary &&
	       !strcmp(binary_symbol(place.binary, place.addr, &start), "setcontext");
}

/* A jump to another place with the stack pointer of a frame: what that frame has called is gone. */
static void note_jump(struct thread *thread, u64 from, u32 insn)
{
	u32 next = read_instruction(thread->process, thread->regs.ip);
	struct shadow *shadow = thread->shadow;
	u64 sp = regs_sp(&thread->regs);

	/* Slots of PLTs, and the loader, go on to a function by x16 or x17. */
	if (((insn == BR_X16 || insn == BR_X17) && !comes_from_setcontext(thread, from)) ||
	    begins_function(next))
		return;
	if (!is_call(read_instruction(thread->process, thread->regs.ip - 4)) &&
	    !comes_from_libgcc(thread, from))
		return;
	while (shadow->nr && shadow->frames[shadow->nr - 1].sp <= sp)
		shadow->nr--;
}

static void note_call(struct thread *thread)
{
	const struct registers *regs = &thread->regs;
	struct shadow_frame frame = {
		.ip = regs->by_number[REG_RA],
		.sp = regs_sp(regs),
		.fp = regs_fp(regs),
		.last_sp = regs_sp(regs),
	};

	thread_call(thread, &frame);
}

/* Is this the frame of a signal that has interrupted the last step? */
static bool is_signal_frame(struct thread *thread, u64 sp, struct shadow_frame *interrupted)
{
	struct memory *mem = thread->process->mem;

	return memory_word(mem, sp + CONTEXT_PC, &interrupted->ip) &&
	       memory_word(mem, sp + CONTEXT_SP, &interrupted->sp) &&
	       memory_word(mem, sp + CONTEXT_REGS + 8 * REG_FP, &interrupted->fp) &&
	       interrupted->ip == thread->regs.ip && interrupted->sp == regs_sp(&thread->regs);
}

/* The thread has executed the first instruction of a handler, which may have signed x30. */
static bool note_signal(struct thread *thread, const struct registers *regs)
{
	struct shadow_frame stub = { .ip = regs->by_number[REG_RA] & ~PAC_MASK }, interrupted = {};
	u64 sp;

	for (sp = regs_sp(regs); sp < regs_sp(regs) + HANDLER_PUSH; sp += 16) {
		if (!is_signal_frame(thread, sp, &interrupted))
			continue;
		stub.sp = sp;
		stub.last_sp = sp;
		stub.fp = regs_fp(regs);
		interrupted.last_sp = sp;
		thread_interrupt(thread, regs, &stub, &interrupted);
		return true;
	}
	return false;
}

/*
 * A signal's stub returns to what was interrupted, at @ip. That frame is gone: the stack
 * pointer alone need not tell, for the step goes on with one instruction. Nothing else on that
 * stack is gone.
 */
static void leave_signal(struct thread *thread, u64 ip)
{
	struct shadow *shadow = thread->shadow;

	if (!shadow->nr || shadow->frames[shadow->nr - 1].ip != ip ||
	    shadow->frames[shadow->nr - 1].last_sp != regs_sp(&thread->regs))
		return;
	shadow->nr--;
	if (!shadow->nr && shadow->interrupted) {
		thread->shadow = shadow->interrupted;
		shadow->interrupted = NULL;
	}
}

/* Where has the system call returned to? */
static u64 leave_syscall(struct thread *thread)
{
	u64 sp = regs_sp(&thread->regs), ip;

	if (thread->regs.by_number[8] != NR_RT_SIGRETURN ||
	    !memory_word(thread->process->mem, sp + CONTEXT_PC, &ip))
		return thread->regs.ip + 4;
	leave_signal(thread, ip);
	return ip;
}

static void note_step(struct thread *thread, const struct registers *regs)
{
	struct process *process = thread->process;
	u64 ip = thread->regs.ip;
	u32 insn = read_instruction(process, ip);

	memory_moved_on(process->mem);
	/* QEMU has stopped before the system call, and will make it. */
	if (insn == SVC && regs->ip == ip)
		return;
	if (insn == SVC) {
		if (changes_mappings(thread->regs.by_number[8]))
			process_scan(process);
		ip = leave_syscall(thread);
		/* If a signal has come at once, the step has ended there. */
		insn = regs->ip == ip ? 0 : read_instruction(process, ip);
	}
	thread_move(thread, regs);
	if (is_call(insn) && regs->by_number[REG_RA] == ip + 4)
		note_call(thread);
	else if (is_jump(insn) && !note_return(thread))
		note_jump(thread, ip, insn);
}

/* ---- the program ---- */

static void run_qemu(const char *path, char **argv)
{
	const char *root = getenv(ENV_ROOT), *qemu = getenv(ENV_QEMU);
	char *args[64] = { "qemu-aarch64", "-g", (char *)path, "-cpu", "max,pauth-impdef=on",
			   "-L", (char *)root };
	unsigned int i = 7;

	if (!root || !qemu)
		errx(2, "%s and %s must be set", ENV_ROOT, ENV_QEMU);
	while (*argv && i < ARRAY_SIZE(args) - 1)
		args[i++] = *argv++;
	personality(ADDR_NO_RANDOMIZE);
	execv(qemu, args);
	err(2, "%s", qemu);
}

static void connect_server(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int tries;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (tries = 0; connect(server, (void *)&addr, sizeof(addr)); tries++) {
		if (tries == 1000)
			err(2, "%s", path);
		usleep(10000);
	}
	unlink(path);
}

/* Finds a word of the program's auxiliary vector; 0: it has none. */
static u64 auxiliary(u64 type)
{
	char answer[8192];
	ssize_t len = ask("qXfer:auxv:read::0,1000", answer, sizeof(answer)), i;
	u64 pair[2];

	for (i = 1; i + (ssize_t)sizeof(pair) <= len; i += sizeof(pair)) {
		memcpy(pair, answer + i, sizeof(pair));
		if (pair[0] == type)
			return pair[1];
	}
	return 0;
}

static bool read_registers(struct registers *regs)
{
	char answer[4096];

	return ask("g", answer, sizeof(answer)) > 0 && parse_registers(answer, regs);
}

static void set_breakpoint(char how, u64 addr)
{
	char text[64], answer[4096];

	snprintf(text, sizeof(text), "%c0,%llx,4", how, (unsigned long long)addr);
	ask(text, answer, sizeof(answer));
}

static void run_to(u64 addr)
{
	char answer[4096];

	set_breakpoint('Z', addr);
	ask("vCont;c", answer, sizeof(answer));
	set_breakpoint('z', addr);
}

void tracer_start(char **argv, bool skip_loader)
{
	char path[64], answer[4096];
	struct registers regs;
	pid_t pid;

	snprintf(path, sizeof(path), "/tmp/truth.%d", getpid());
	pid = fork();
	if (!pid)
		run_qemu(path, argv);
	if (pid < 0)
		err(2, "fork");
	connect_server(path);
	if (ask("?", answer, sizeof(answer)) < 0)
		errx(2, "the gdb server has ended");
	image_vdso = auxiliary(AT_SYSINFO_EHDR);
	if (skip_loader)
		run_to(auxiliary(AT_ENTRY));
	if (!read_registers(&regs))
		errx(2, "no registers");
	image_stack = regs_sp(&regs);
	only = thread_new(pid, process_new(pid));
	process_scan(only->process);
	thread_begin(only, &regs);
}

/* An exclusive sequence is shorter. */
#define MAX_EXCLUSIVE	16

/*
 * Finds where the exclusive sequence at @ip may be left: after its store, or by a branch before.
 * Returns how many places; 0: there is no such sequence.
 */
static unsigned int find_ends(struct process *process, u64 ip, u64 ends[2])
{
	unsigned int i, nr = 0;
	u32 insn;
	s64 off;

	if (!begins_exclusive(read_instruction(process, ip)))
		return 0;
	for (i = 1; i < MAX_EXCLUSIVE; i++) {
		insn = read_instruction(process, ip + 4 * i);
		off = branch_offset(insn);
		if (off && !nr)
			ends[nr++] = ip + 4 * i + off;
		if (!ends_exclusive(insn))
			continue;
		ends[nr++] = ip + 4 * (i + 1);
		return nr;
	}
	return 0;
}

/* Steps, or goes on to one of the places. Returns false if the program has ended. */
static bool go_on(const char *how, const u64 *ends, unsigned int nr, char *answer, size_t room)
{
	unsigned int i;
	bool is_alive;

	for (i = 0; i < nr; i++)
		set_breakpoint('Z', ends[i]);
	is_alive = ask(nr ? "vCont;c" : how, answer, room) > 0;
	for (i = 0; is_alive && i < nr; i++)
		set_breakpoint('z', ends[i]);
	return is_alive;
}

/**
 * tracer_step() - go on until the thread has made a step
 *
 * Return: The thread, or NULL if it has ended.
 */
struct thread *tracer_step(void)
{
	struct registers regs;
	char answer[4096], text[32];
	unsigned int signal, nr;
	bool was_signal;
	u64 ends[2];

	for (;;) {
		was_signal = pending;
		snprintf(text, sizeof(text), pending ? "vCont;S%02x" : "vCont;s", pending);
		nr = pending ? 0 : find_ends(only->process, only->regs.ip, ends);
		pending = 0;
		if (!go_on(text, ends, nr, answer, sizeof(answer)) || answer[0] != 'T' ||
		    sscanf(answer, "T%2x", &signal) != 1 || !read_registers(&regs))
			return NULL;
		if (signal != SIGTRAP) {
			/* It may have come after the instruction. */
			if (regs.ip != only->regs.ip)
				note_step(only, &regs);
			pending = signal;
			continue;
		}
		if (!was_signal || !note_signal(only, &regs))
			note_step(only, &regs);
		return only;
	}
}

void tracer_stop(void)
{
	send_packet("k");
	close(server);
}
