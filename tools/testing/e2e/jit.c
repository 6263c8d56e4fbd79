// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit - a program that makes code while it runs, and one that loads tables for this code
 *
 * jit run LAYOUT: makes code in anonymous memory, always at the same address, and writes where the
 * functions of its stacks are, innermost first. The layout is a number, on which the size of each
 * frame depends. Then it reads commands from standard input, and writes "done" after each:
 *
 *	MS		runs the code for so many milliseconds
 *	change LAYOUT	writes other code to the same place
 *	remap LAYOUT	unmaps the code, and maps other code at the same address
 *	churn MS	does so all the time, and runs the code in between
 *	fork		goes on in a child, writes "child PID", and waits for the child's end
 *	thread		goes on in another thread, and ends the first one
 *	exec LAYOUT	executes itself
 *
 * It writes to /var/tmp/jit/PID which layout the code has.
 *
 * jit load: reads from the device which processes need a table, and loads one for each that has
 * written its layout, again when the layout changes. Writes "PID LAYOUT ERROR" for each.
 * jit storm: also loads and removes tables with all layouts for these processes, all the time.
 * jit stale: loads a table for the first process, waits for a line on standard input, and tries
 * the same command again.
 * jit zeros: passes 64 MiB of zeros as a section, and writes the error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "clock.h"
#include "sframe_format.h"
#include "uapi/sframe_unwind.h"

/* The code: the first function computes, the last one has changed the frame pointer. */
enum { FUNCTIONS = 5, SLOT = 128, PAGE = 4096, OUTER = FUNCTIONS - 1, LAYOUTS = 8 };

/* Bytes of a section of zeros. */
enum { ZEROS = 64 << 20 };

static char *const code = (char *)0x10000000;

static const char directory[] = "/var/tmp/jit";

/* The room on the stack of a function. */
static uint32_t room(int function, int layout)
{
	return 8 * (3 + (function * 7 + layout * 5) % 61);
}

/* ---- the program that makes code ---- */

static char *emit(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static char *emit_number(char *at, const char *opcode, size_t len, uint32_t number)
{
	at = emit(at, opcode, len);
	return emit(at, (char *)&number, sizeof(number));
}

/*
 * The jump after the call: that code tells its frame only to a reader who follows it. The offsets
 * of the instructions are those of make_section().
 */
static void make_function(char *start, int function, int layout)
{
	char *at = start;

	if (function == OUTER)
		at = emit_number(emit(at, "\x55", 1), "\xbd", 1, 3);	/* push %rbp; mov $3,%ebp */
	at = emit_number(at, "\x48\x81\xec", 3, room(function, layout));	/* sub $room,%rsp */
	if (function)
		at = emit_number(at, "\xe8", 1, start - SLOT - (at + 5)); /* call the last one */
	else							/* mov $20000,%ecx; dec %ecx; jne */
		at = emit(emit_number(at, "\xb9", 1, 20000), "\xff\xc9\x75\xfc", 4);
	at = emit(at, "\xeb\x02\x90\x90", 4);					/* jmp; nop; nop */
	at = emit_number(at, "\x48\x81\xc4", 3, room(function, layout));	/* add $room,%rsp */
	if (function == OUTER)
		at = emit(at, "\x5d", 1);					/* pop %rbp */
	emit(at, "\xc3", 1);							/* ret */
}

/* Says which layout the code has; a negative one: none. */
static void publish(int layout)
{
	char path[64], draft[72];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", directory, getpid());
	snprintf(draft, sizeof(draft), "%s.new", path);
	file = fopen(draft, "we");
	if (!file)
		err(1, "%s", draft);
	fprintf(file, "%d\n", layout);
	fclose(file);
	if (rename(draft, path))
		err(1, "%s", path);
}

static void make_code(int layout)
{
	int i;

	for (i = 0; i < FUNCTIONS; i++)
		make_function(code + i * SLOT, i, layout);
	publish(layout);
}

static void map_code(int layout)
{
	if (mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != code)
		err(1, "mmap");
	make_code(layout);
}

static void remap_code(int layout)
{
	publish(-1);
	if (munmap(code, PAGE))
		err(1, "munmap");
	map_code(layout);
}

long work(long (*outer)(long x), long ms);

LINK long work(link_fn *outer, long ms)
{
	long until = now_ms() + ms, x = 0;

	while (now_ms() < until)
		x += outer(x);
	return x;
}

static void run_code(long ms)
{
	work((link_fn *)(code + OUTER * SLOT), ms);
}

static void churn(long ms)
{
	long until = now_ms() + ms;
	int layout = 0;

	while (now_ms() < until) {
		remap_code(++layout % LAYOUTS);
		run_code(1);
	}
}

/* As perf prints addresses. */
static void print_function(const char *name)
{
	char *start = dlsym(NULL, name);
	const Elf64_Sym *found;
	Dl_info info;

	if (!start || !dladdr1(start, &info, (void **)&found, RTLD_DL_SYMENT) || !found)
		errx(1, "%s: no symbol", name);
	printf("%s %16lx %16lx\n", name, (long)start, (long)start + found->st_size);
}

static void print_functions(void)
{
	int i;

	for (i = 0; i < FUNCTIONS; i++)
		printf("code%d %16lx %16lx\n", i, (long)code + i * SLOT,
		       (long)code + (i + 1) * SLOT);
	print_function("work");
	print_function("obey_all");
	puts("ready");
}

static void go_on_in_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid) {
		waitpid(pid, NULL, 0);
		exit(0);
	}
	printf("child %d\n", getpid());
}

void *obey_all(void *ended);

static void go_on_in_thread(void)
{
	static pthread_t first;
	pthread_t thread;

	first = pthread_self();
	if (pthread_create(&thread, NULL, obey_all, &first))
		errx(1, "no thread");
	syscall(SYS_exit, 0);
}

static void obey(const char *line)
{
	char number[16];
	int n;

	if (sscanf(line, "change %d", &n) == 1)
		make_code(n);
	else if (sscanf(line, "remap %d", &n) == 1)
		remap_code(n);
	else if (sscanf(line, "churn %d", &n) == 1)
		churn(n);
	else if (!strcmp(line, "fork\n"))
		go_on_in_child();
	else if (!strcmp(line, "thread\n"))
		go_on_in_thread();
	else if (sscanf(line, "exec %15s", number) == 1)
		execl("/proc/self/exe", "jit", "again", number, NULL);
	else
		run_code(atol(line));
}

/* If a thread has ended, "thread" was obeyed when it is gone. */
void *obey_all(void *ended)
{
	char line[32];

	if (ended) {
		pthread_join(*(pthread_t *)ended, NULL);
		puts("done");
	}
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		puts("done");
	}
	return NULL;
}

/* ---- the program that loads tables ---- */

/* The section of the code. A row is an offset in the function, the CFA, and where RBP is. */
struct section {
	struct sframe_raw_header	header;
	struct sframe_raw_fde_v3	fdes[FUNCTIONS];
	uint8_t				rows[512];
} __attribute__((packed));

static uint8_t *add_row(uint8_t *at, uint8_t start, int32_t cfa, int saves_rbp)
{
	const int32_t words[] = { cfa, -16 };

	*at++ = start;
	*at++ = saves_rbp ? 0x45 : 0x43;	/* from SP, two words or one, of four bytes */
	memcpy(at, words, saves_rbp ? 8 : 4);
	return at + (saves_rbp ? 8 : 4);
}

static size_t make_section(struct section *section, int layout)
{
	uint8_t *at = section->rows;
	int i;

	*section = (struct section){
		.header = {
			.magic = SFRAME_MAGIC,
			.version = SFRAME_VERSION_3,
			.flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL,
			.abi_arch = SFRAME_ABI_AMD64_LE,
			.cfa_fixed_ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET,
			.num_fdes = FUNCTIONS,
			.freoff = sizeof(section->fdes),
		},
	};
	for (i = 0; i < FUNCTIONS; i++) {
		struct sframe_raw_attr_v3 attr = { .num_fres = i == OUTER ? 5 : 3 };
		int32_t full = 8 + room(i, layout);

		section->fdes[i] = (struct sframe_raw_fde_v3){
			.start = i * SLOT - (long)offsetof(struct section, fdes[i]),
			.size = SLOT,
			.fre_off = at - section->rows,
		};
		memcpy(at, &attr, sizeof(attr));
		at = add_row(at + sizeof(attr), 0, 8, 0);
		if (i == OUTER) {
			at = add_row(at, 1, 16, 1);
			at = add_row(at, 13, 8 + full, 1);
			at = add_row(at, 29, 16, 1);
			at = add_row(at, 30, 8, 0);
		} else {
			at = add_row(at, 7, full, 0);
			at = add_row(at, i ? 23 : 27, 8, 0);
		}
		section->header.num_fres += attr.num_fres;
	}
	section->header.fre_len = at - section->rows;
	return at - (uint8_t *)section;
}

/* A process that needs a table. */
struct process {
	int		pid;
	uint64_t	cookie;
	int		layout;		/* of its table; -1: it has none */
};

/* Returns an errno, or 0. A negative layout removes the table. */
static int load(int device, const struct process *process, int layout)
{
	char message[256] = "";
	struct section section;
	int error = 0, tries;
	struct sframe_process command = {
		.size = sizeof(command),
		.pid = process->pid,
		.cookie = process->cookie,
		.text_start = (uintptr_t)code,
		.text_size = PAGE,
		.section = (uintptr_t)&section,
		.section_size = layout < 0 ? 0 : make_section(&section, layout),
		.section_addr = (uintptr_t)code,
		.message_size = sizeof(message),
		.message = (uintptr_t)message,
	};

	/* A task of the process may be about to change its mappings, or to scan them. */
	for (tries = 0; tries < 100; tries++) {
		error = ioctl(device, SFRAME_PROCESS, &command) ? errno : 0;
		if (error != EAGAIN)
			break;
		usleep(1000);
	}
	return error;
}

static int layout_of(int pid)
{
	char path[64];
	int layout = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &layout) != 1)
		layout = -1;
	if (file)
		fclose(file);
	return layout;
}

/* Waits for a process that needs a table, at most so long. Returns whether there is one. */
static int take_process(int device, struct process *process, int ms)
{
	struct pollfd poll_for = { .fd = device, .events = POLLIN };
	struct sframe_wanted wanted;

	if (poll(&poll_for, 1, ms) <= 0 || read(device, &wanted, sizeof(wanted)) != sizeof(wanted))
		return 0;
	if (wanted.fd >= 0) {
		close(wanted.fd);
		return 0;
	}
	*process = (struct process){ .pid = wanted.pid, .cookie = wanted.cookie, .layout = -1 };
	return 1;
}

/* Loads the table of the present layout, if it is another one or if that is asked for. */
static void load_present(int device, struct process *process, int is_asked)
{
	int layout = layout_of(process->pid), error;

	if (layout == process->layout && !is_asked)
		return;
	error = load(device, process, layout);
	process->layout = layout;
	printf("%d %d %s\n", process->pid, layout, strerrorname_np(error));
}

static void load_for_ever(int device, int is_storm)
{
	static struct process processes[64];
	unsigned int nr = 0, i, turn = 0;
	struct process process;

	for (;;) {
		if (take_process(device, &process, is_storm ? 0 : 50)) {
			for (i = 0; i < nr && processes[i].cookie != process.cookie; i++)
				;
			if (i == nr && nr < 64)
				processes[nr++] = process;
			if (i < nr)
				load_present(device, &processes[i], 1);
		}
		for (i = 0; i < nr; i++) {
			load_present(device, &processes[i], 0);
			if (is_storm)
				load(device, &processes[i], (int)(turn++ % (LAYOUTS + 1)) - 1);
		}
	}
}

static void load_stale(int device)
{
	struct process process;
	char line[16];

	while (!take_process(device, &process, 1000))
		;
	printf("%s\n", strerrorname_np(load(device, &process, layout_of(process.pid))));
	if (fgets(line, sizeof(line), stdin))
		printf("%s\n", strerrorname_np(load(device, &process, 0)));
}

/*
 * Lets the kernel copy a section that it then refuses. The section takes no memory here: a page
 * that was never written is the page of zeros.
 */
static void load_zeros(int device)
{
	char message[256] = "";
	struct sframe_process command = {
		.size = sizeof(command),
		.pid = getpid(),
		.text_start = (uintptr_t)code,
		.text_size = PAGE,
		.section_size = ZEROS,
		.message_size = sizeof(message),
		.message = (uintptr_t)message,
	};
	void *zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (zeros == MAP_FAILED)
		err(1, "mmap");
	command.section = (uintptr_t)zeros;
	printf("%s %s\n", strerrorname_np(ioctl(device, SFRAME_PROCESS, &command) ? errno : 0),
	       message);
}

static int load_tables(const char *how)
{
	int device = open("/dev/sframe_unwind", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (device < 0)
		err(1, "/dev/sframe_unwind");
	if (!strcmp(how, "stale"))
		load_stale(device);
	else if (!strcmp(how, "zeros"))
		load_zeros(device);
	else
		load_for_ever(device, !strcmp(how, "storm"));
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2)
		return load_tables(argv[1]);
	if (argc != 3)
		errx(2, "usage: jit run LAYOUT | load | storm | stale | zeros");
	mkdir(directory, 0755);
	map_code(atoi(argv[2]));
	if (!strcmp(argv[1], "run"))
		print_functions();
	else
		puts("done");
	obey_all(NULL);
	return 0;
}
