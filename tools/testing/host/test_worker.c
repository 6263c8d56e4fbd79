// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of worker.c with a converter that does what a hostile file might make it do: it stands
 * in for conversion_make(). Each limit of the child must hold, and the parent must believe
 * nothing that it has not checked. Runs as root: only root's child changes its user.
 */
#include <linux/capability.h>
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conversion.h"
#include "coverage.h"
#include "runtime.h"
#include "vdso.h"
#include "worker.h"

#define MIB	1048576ul

enum { CHILD_OUTPUT = 4 };

static const char *(*hostile)(void);

/* ---- the converter ---- */

static const char *spins(void)
{
	for (;;)
		__asm__ volatile("");
	return NULL;
}

static const char *allocates(void)
{
	u64 mib = 0;

	while (malloc(64 * MIB))
		mib += 64;
	return mib < 2048 && mib >= 1024 ? "no more memory" : "another limit";
}

static const char *duplicates(void)
{
	int fd;

	do
		fd = fcntl(CHILD_OUTPUT, F_DUPFD, 0);
	while (fd >= 0 && fd < 100);
	return fd < 0 && errno == EMFILE ? "no more files" : "another limit";
}

static const char *writes(void)
{
	static char piece[MIB];
	int i;

	for (i = 0; i < 200; i++)
		if (write(CHILD_OUTPUT, piece, sizeof(piece)) < 0)
			return "an error";
	return "no limit";
}

static const char *opens(void)
{
	return open("/dev/null", O_RDONLY) < 0 ? "an error" : "no limit";
}

static const char *does_nothing(void)
{
	return NULL;
}

static const char *forks(void)
{
	return fork() < 0 ? "an error" : "no limit";
}

static const char *connects(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? "an error" : "no limit";
}

static const char *kills(void)
{
	return kill(1, 0) ? "an error" : "no limit";
}

static const char *traps(void)
{
	__builtin_trap();
}

static const char *is_silent(void)
{
	syscall(SYS_exit_group, 0);
	return NULL;
}

static void tell(const struct worker_result *result)
{
	lseek(CHILD_OUTPUT, 0, SEEK_SET);
	if (write(CHILD_OUTPUT, result, sizeof(*result)) < 0)
		abort();
	syscall(SYS_exit_group, 0);
}

/* What the child of the present case writes. */
static struct worker_result lie;

static const char *tells(void)
{
	tell(&lie);
	return NULL;
}

static const char *tells_of_segments(void)
{
	struct worker_result result = { .size = 8, .nr_segments = SFRAME_SEGMENTS_MAX + 1 };

	/* The section is there. */
	lseek(CHILD_OUTPUT, sizeof(result), SEEK_SET);
	if (write(CHILD_OUTPUT, "section", 8) == 8)
		tell(&result);
	return NULL;
}

const char *conversion_make(struct conversion *conv, const struct elf *elf)
{
	(void)conv;
	(void)elf;
	return hostile();
}

void conversion_free(struct conversion *conv)
{
	(void)conv;
}

/* WORKER_FINDS_KEY calls this. */
const char *store_key(const struct file *file, char key[STORE_KEY])
{
	(void)file;
	(void)key;
	return hostile();
}

/* WORKER_DESCRIBES calls this. */
void coverage_find(struct coverage *coverage, const struct file *file)
{
	(void)file;
	*coverage = (struct coverage){};
	hostile();
}

/* WORKER_READS_PROCESS calls these. */
const char *runtime_write(const struct runtime_files *files, FILE *out)
{
	(void)out;
	return files->mem == 3 && files->program.is_open && !files->dump.is_open ? hostile() :
		"other files";
}

void jitdump_open(struct file *file, pid_t pid, const struct target *target)
{
	(void)pid;
	(void)target;
	*file = (struct file){};
}

bool table_file_write_section(FILE *out, const struct table *table, u64 addr)
{
	(void)out;
	(void)table;
	(void)addr;
	abort();
}

u64 table_size(const struct table *table)
{
	(void)table;
	abort();
}

u64 table_file_addr(u64 end)
{
	return end;
}

const char *vdso_open(struct file *file)
{
	(void)file;
	abort();
}

/* ---- the cases ---- */

#define STOPPED	"cannot be converted: the converter was stopped by what the file says"
#define KILLED	"its converter was killed: memory was short, or it had to wait for too long"
#define HAS_RIGHTS	"its converter cannot give up its rights: it needs CAP_SETUID, CAP_SETGID"
#define LIES	"cannot be converted: the converter has written something else"
#define NO_KEY	"cannot be looked up: the child has written something else"

struct worker_case {
	const char		*name;
	enum worker_task	task;
	const char		*(*hostile)(void);
	const char		*want;
};

static const struct worker_case cases[] = {
	{ "computes for ever", WORKER_CONVERTS, spins, "takes too long to convert" },
	{ "allocates all memory", WORKER_CONVERTS, allocates, "no more memory" },
	{ "duplicates its files", WORKER_CONVERTS, duplicates, "no more files" },
	{ "writes without end", WORKER_CONVERTS, writes, STOPPED },
	{ "opens a file", WORKER_CONVERTS, opens, STOPPED },
	{ "forks", WORKER_CONVERTS, forks, STOPPED },
	{ "connects", WORKER_CONVERTS, connects, STOPPED },
	{ "kills", WORKER_CONVERTS, kills, STOPPED },
	{ "crashes", WORKER_CONVERTS, traps, STOPPED },
	{ "writes nothing", WORKER_CONVERTS, is_silent,
	  "cannot be converted: the converter has written nothing" },
	{ "names too many segments", WORKER_CONVERTS, tells_of_segments, LIES },
	{ "describes for ever", WORKER_DESCRIBES, spins, "takes too long to convert" },
	{ "describes nothing", WORKER_DESCRIBES, does_nothing, "" },
	{ "reads a process for ever", WORKER_READS_PROCESS, spins, "takes too long to convert" },
	{ "reads a process, and allocates all memory", WORKER_READS_PROCESS, allocates,
	  "no more memory" },
	{ "reads a process, and opens a file", WORKER_READS_PROCESS, opens, STOPPED },
	{ "finds nothing in a process", WORKER_READS_PROCESS, does_nothing, "" },
};

static const struct {
	struct worker_case	c;
	struct worker_result	lie;
} lies[] = {
	{ { "names one byte more", WORKER_CONVERTS, tells, LIES }, { .size = 1 } },
	{ { "names too many bytes", WORKER_CONVERTS, tells, LIES }, { .size = ~0ull } },
	{ { "names no section", WORKER_CONVERTS, tells, LIES }, {} },
	{ { "writes to the terminal", WORKER_CONVERTS, tells, LIES }, { .error = "\033[31m" } },
	{ { "describes more than it has written", WORKER_DESCRIBES, tells, LIES },
	  { .size = ~0ull } },
	{ { "reads a process, and names too many bytes", WORKER_READS_PROCESS, tells, LIES },
	  { .size = ~0ull } },
	{ { "names a path as its key", WORKER_FINDS_KEY, tells, NO_KEY },
	  { .key = "../../../../../etc/passwd" } },
	{ { "names no key", WORKER_FINDS_KEY, tells, NO_KEY }, {} },
};

static bool all_passed = true;

static void end_case(const char *name, bool passes, const char *got)
{
	printf("%sok - worker: %s\n", passes ? "" : "not ", name);
	if (!passes)
		printf("# %s\n", got);
	fflush(stdout);
	all_passed = all_passed && passes;
}

static const char *begin(struct worker *worker, enum worker_task task)
{
	if (task == WORKER_READS_PROCESS)
		return worker_begin_process(worker, getpid());
	return worker_begin(worker, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), task);
}

static void run(const struct worker_case *c)
{
	struct worker worker;
	const char *error;

	hostile = c->hostile;
	error = begin(&worker, c->task);
	if (!error) {
		worker_end(&worker);
		error = worker.result.error;
	}
	end_case(c->name,
		 !strcmp(error, c->want) && !worker.section && !worker.is_transient, error);
	worker_free(&worker);
}

/* The text of the child has no end. */
static void ends_text(void)
{
	struct worker worker;

	hostile = tells;
	memset(lie.error, 'x', sizeof(lie.error));
	begin(&worker, WORKER_CONVERTS);
	worker_end(&worker);
	end_case("writes a text without end",
		 strlen(worker.result.error) == sizeof(worker.result.error) - 1, "another length");
	worker_free(&worker);
}

/* The line NAME of /proc/PID/status, which begins with @want. */
static bool status_is(pid_t pid, const char *name, const char *want)
{
	char path[64], line[256];
	bool found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		found = found || (!strncmp(line, name, strlen(name)) &&
				  !strncmp(line + strlen(name), want, strlen(want)));
	if (status)
		fclose(status);
	return found;
}

/* Its filter is the last thing that it sets. */
static bool is_confined(pid_t pid)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (status_is(pid, "Seccomp:", "\t2"))
			return true;
		usleep(10000);
	}
	return false;
}

static void has_no_privileges(void)
{
	static const char nobody[] = "\t65534\t65534\t65534\t65534";
	struct worker worker;
	pid_t pid;

	hostile = spins;
	begin(&worker, WORKER_CONVERTS);
	pid = worker.pid;
	end_case("is confined", is_confined(pid), "no filter of system calls");
	end_case("is nobody", status_is(pid, "Uid:", nobody), "another user");
	end_case("has nobody's group", status_is(pid, "Gid:", nobody), "another group");
	end_case("has no other groups", !status_is(pid, "Groups:", "\t0"), "root's");
	end_case("has no capabilities", status_is(pid, "CapEff:", "\t0000000000000000") &&
		 status_is(pid, "CapPrm:", "\t0000000000000000"), "capabilities");
	end_case("gets none", status_is(pid, "NoNewPrivs:", "\t1"), "no_new_privs is not set");
	worker_free(&worker);
	end_case("ends with its worker", kill(pid, 0) && errno == ESRCH, "it runs");
}

/* The OOM killer does so. It is no fault of the file. */
static void is_killed(void)
{
	struct worker worker;

	hostile = spins;
	begin(&worker, WORKER_CONVERTS);
	kill(worker.pid, SIGKILL);
	worker_end(&worker);
	end_case("is killed", worker.is_transient &&
		 !strcmp(worker.result.error, KILLED),
		 worker.result.error);
	worker_free(&worker);
}

/* Return: whether this process, without capabilities, is told what it lacks. */
static bool lacks_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
	struct worker worker;

	if (syscall(SYS_capset, &header, none))
		abort();
	begin(&worker, WORKER_CONVERTS);
	worker_end(&worker);
	return worker.is_transient &&
	       !strcmp(worker.result.error, HAS_RIGHTS);
}

static void cannot_give_up(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(!lacks_capabilities());
	waitpid(pid, &status, 0);
	end_case("cannot give up its rights", !status, "it has said something else");
}

/* A sparse file costs nobody a block of a disk. */
static void is_too_large_for_a_key(void)
{
	int fd = memfd_create("large", MFD_CLOEXEC);
	struct worker worker;

	if (fd < 0 || ftruncate(fd, 2048 * MIB))
		abort();
	worker_begin(&worker, fd, WORKER_FINDS_KEY);
	worker_end(&worker);
	end_case("is too large for a key",
		 !strcmp(worker.result.error, "larger than 1 GiB: it is not converted by content"),
		 worker.result.error);
	worker_free(&worker);
}

/* An ELF header and one segment, which is data. */
static void has_no_executable_code(void)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr;
	} image = {
		.ehdr = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		},
		.phdr = {
			.p_type = PT_LOAD, .p_flags = PF_R,
			.p_filesz = sizeof(image), .p_memsz = sizeof(image),
		},
	};
	int fd = memfd_create("data", MFD_CLOEXEC);
	struct worker worker;

	if (fd < 0 || write(fd, &image, sizeof(image)) != sizeof(image))
		abort();
	worker_begin(&worker, fd, WORKER_CONVERTS);
	worker_end(&worker);
	end_case("has no executable code", !strcmp(worker.result.error, "has no executable code"),
		 worker.result.error);
	worker_free(&worker);
}

/* A process that begins a worker, tells its PID, and is killed. */
static void begin_and_wait(int to)
{
	struct worker worker;

	begin(&worker, WORKER_CONVERTS);
	if (!is_confined(worker.pid) ||
	    write(to, &worker.pid, sizeof(worker.pid)) != sizeof(worker.pid))
		abort();
	for (;;)
		pause();
}

static void ends_with_parent(void)
{
	bool is_ended = false;
	int pipes[2], tries;
	pid_t parent, pid;

	hostile = spins;
	/* So this process, and no other, sees that the child has ended. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe(pipes))
		abort();
	parent = fork();
	if (!parent)
		begin_and_wait(pipes[1]);
	close(pipes[1]);
	if (read(pipes[0], &pid, sizeof(pid)) != sizeof(pid))
		abort();
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	/* It would end by itself, after a second of its own time. */
	for (tries = 0; tries < 1000 && !is_ended; tries++) {
		int status = 0;

		usleep(10000);
		is_ended = waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status) &&
			   WTERMSIG(status) == SIGKILL;
	}
	end_case("ends with its parent", is_ended, "it runs on");
	if (!is_ended) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	const gid_t group = 0;
	size_t i;

	/* Something to give up. */
	if (setgroups(1, &group))
		abort();

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		run(&cases[i]);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		lie = lies[i].lie;
		run(&lies[i].c);
	}
	ends_text();
	is_killed();
	cannot_give_up();
	is_too_large_for_a_key();
	has_no_executable_code();
	has_no_privileges();
	ends_with_parent();
	printf("1..%zu\n", ARRAY_SIZE(cases) + ARRAY_SIZE(lies) + 13);
	return !all_passed;
}
