// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file, or a process, in a child. The child has no privileges: nobody's IDs, no new files,
 * and only the system calls that reading, computing and writing need. Its time and memory are
 * limited. What it writes is checked: sizes here, the section by the kernel.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conversion.h"
#include "coverage.h"
#include "runtime.h"
#include "vdso.h"
#include "worker.h"

#define NOBODY		65534
#define MEMORY_MAX	(2ul << 30)
#define OUTPUT_MAX	(192ul << 20)
#define FILES_MAX	16

/* A test has less time. */
#ifndef SECONDS_MAX
#define SECONDS_MAX	60
#endif

#if defined(__x86_64__)
#define AUDIT_OF_MACHINE	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_OF_MACHINE	AUDIT_ARCH_AARCH64
#endif

/* A sanitizer needs more memory, and other system calls. It reports leaks at exit(). */
#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED	true
#define end_child	exit
#else
#define IS_SANITIZED	false
#define end_child	_exit
#endif

/* Where the child finds its files. The last three are of a process. */
enum { CHILD_FILE = 3, CHILD_OUTPUT, CHILD_MAPS, CHILD_PROGRAM, CHILD_DUMP, CHILD_END };

/* Its exit status. From CHILD_CANNOT_WRITE on, the rest is errno. */
enum { CHILD_DONE, CHILD_FAILED = 2, CHILD_HAS_PRIVILEGES, CHILD_CANNOT_WRITE = 100 };

bool worker_is_idle;

/* ---- the child ---- */

/*
 * What reading, computing and writing need. Before 2.37, qsort() of glibc asks how much memory the
 * machine has.
 */
static const u32 allowed[] = {
	__NR_brk, __NR_clock_gettime, __NR_close, __NR_exit_group, __NR_fcntl, __NR_fstat,
	__NR_futex, __NR_getrandom, __NR_lseek, __NR_madvise, __NR_mmap, __NR_mprotect, __NR_mremap,
	__NR_munmap, __NR_newfstatat, __NR_pread64, __NR_read, __NR_rt_sigreturn, __NR_sysinfo,
	__NR_write,
};

/* Any other system call, and those of another architecture, end the child. */
static bool forbid_system_calls(void)
{
	struct sock_filter filter[2 * ARRAY_SIZE(allowed) + 5] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_OF_MACHINE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };
	struct sock_filter *next = &filter[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(allowed); i++) {
		*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
						       0, 1);
		*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*next = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A limit that is lower already stays as it is: nobody may raise it. */
static bool limit_softly(int resource, rlim_t most, rlim_t hard)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return false;
	return !setrlimit(resource, &(struct rlimit){
		.rlim_cur = most < now.rlim_max ? most : now.rlim_max,
		.rlim_max = hard < now.rlim_max ? hard : now.rlim_max,
	});
}

static bool limit(int resource, rlim_t most)
{
	return limit_softly(resource, most, most);
}

/* With a hard limit of the same time, the child would be killed as for any other reason. */
static bool limit_time(void)
{
	signal(SIGXCPU, SIG_DFL);
	return limit_softly(RLIMIT_CPU, SECONDS_MAX, SECONDS_MAX + 1);
}

/* The child does not outlive its parent. A change of the user ends such a wish. */
static bool end_with(pid_t parent)
{
	return !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent;
}

/* Root of a user namespace without nobody has the rights of the user who made it. */
static bool become_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY))
		return errno == EINVAL;
	return !setgroups(0, NULL) && !setresuid(NOBODY, NOBODY, NOBODY);
}

/* An emulator of single programs (qemu-aarch64) has no filters. A user has no rights to lose. */
static bool may_lack_filter(bool is_root)
{
	return !is_root && errno == EINVAL;
}

static bool give_up_privileges(pid_t parent)
{
	bool is_root = !geteuid();

	if (is_root && !become_nobody())
		return false;
	return end_with(parent) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       limit(RLIMIT_CORE, 0) && (IS_SANITIZED || limit(RLIMIT_AS, MEMORY_MAX)) &&
	       limit(RLIMIT_FSIZE, OUTPUT_MAX) && limit_time() &&
	       limit(RLIMIT_NOFILE, FILES_MAX) &&
	       (IS_SANITIZED || forbid_system_calls() || may_lack_filter(is_root));
}

/*
 * Moves the files to their numbers and closes all others. -1: there is no such file. A sanitizer
 * reports on standard error.
 */
static bool keep_files(const int files[CHILD_END - CHILD_FILE])
{
	int high[CHILD_END - CHILD_FILE], i;

	for (i = 0; i < CHILD_END - CHILD_FILE; i++) {
		high[i] = files[i] < 0 ? -1 : fcntl(files[i], F_DUPFD, CHILD_END);
		if (high[i] < 0 && files[i] >= 0)
			return false;
	}
	for (i = 0; i < CHILD_END - CHILD_FILE; i++) {
		close(CHILD_FILE + i);
		if (high[i] >= 0 && dup2(high[i], CHILD_FILE + i) < 0)
			return false;
	}
	return !close_range(0, IS_SANITIZED ? 1 : 2, 0) && !close_range(CHILD_END, ~0u, 0);
}

/*
 * Opens the files of a process. It may wait without end if their file system is the process's
 * own: so the child does that, and not its parent.
 */
static bool keep_process(const struct worker *worker)
{
	int files[CHILD_END - CHILD_FILE] = { -1, worker->output, -1, -1, -1 };
	struct file program = {}, dump = {};
	struct target target;
	pid_t pid = worker->process, thread = target_thread(pid);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", pid, thread);
	files[0] = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, thread);
	files[CHILD_MAPS - CHILD_FILE] = open(path, O_RDONLY | O_CLOEXEC);
	if (files[0] < 0 || files[CHILD_MAPS - CHILD_FILE] < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", pid, thread);
	file_open(&program, path);
	if (!target_open(&target, files[0], files[CHILD_MAPS - CHILD_FILE]))
		jitdump_open(&dump, thread, &target);
	target_close(&target);
	files[CHILD_PROGRAM - CHILD_FILE] = program.is_open ? program.fd : -1;
	files[CHILD_DUMP - CHILD_FILE] = dump.is_open ? dump.fd : -1;
	return !lseek(files[CHILD_MAPS - CHILD_FILE], 0, SEEK_SET) && keep_files(files);
}

static void write_section(struct worker_result *result, const struct conversion *conv, FILE *out)
{
	result->addr = table_file_addr(conv->end);
	result->size = table_size(&conv->table);
	result->facts = conv->facts;
	fseek(out, sizeof(*result), SEEK_SET);
	table_file_write_section(out, &conv->table, result->addr);
}

static const char *convert(struct worker_result *result, const struct elf *elf, FILE *out)
{
	struct conversion conv = {};
	const char *error = conversion_make(&conv, elf);

	if (!error)
		write_section(result, &conv, out);
	conversion_free(&conv);
	return error;
}

static void describe(struct worker_result *result, const struct file *file, FILE *out)
{
	struct coverage coverage;

	coverage_find(&coverage, file);
	result->is_elf = coverage.is_elf;
	result->is_32 = coverage.is_32;
	result->has_sframe = coverage.has_sframe;
	result->nr_segments = coverage.nr_segments;
	memcpy(result->segments, coverage.segments, sizeof(result->segments));
	result->size = coverage.ranges.nr * sizeof(struct range);
	fseek(out, sizeof(*result), SEEK_SET);
	fwrite(coverage.ranges.all, sizeof(struct range), coverage.ranges.nr, out);
	ranges_free(&coverage.ranges);
}

/* A file of the child, if it has it. */
static struct file child_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? (struct file){} :
		(struct file){ .is_open = true, .fd = fd, .size = st.st_size };
}

static const char *read_process(struct worker_result *result, FILE *out)
{
	struct runtime_files files = {
		.mem = CHILD_FILE, .maps = CHILD_MAPS, .program = child_file(CHILD_PROGRAM),
		.dump = child_file(CHILD_DUMP),
	};
	const char *error;

	fseek(out, sizeof(*result), SEEK_SET);
	error = runtime_write(&files, out);
	result->size = ftell(out) - sizeof(*result);
	return error;
}

static const char *do_task(struct worker_result *result, FILE *out, const struct worker *worker)
{
	struct file file = {
		.is_open = true, .fd = CHILD_FILE, .size = worker->stat.st_size,
	};
	const char *error;
	struct elf elf;

	if (worker->task == WORKER_READS_PROCESS)
		return read_process(result, out);
	if (worker->task == WORKER_DESCRIBES) {
		describe(result, &file, out);
		return NULL;
	}
	if (worker->task == WORKER_FINDS_KEY && file.size > FILE_KEEP_MAX)
		return "larger than 1 GiB: it is not converted by content";
	error = elf_init(&elf, &file);
	if (!error)
		result->nr_segments = elf_list_code(&elf, result->segments);
	if (!error && !result->nr_segments)
		error = "has no executable code";
	if (!error)
		error = worker->task == WORKER_CONVERTS ? convert(result, &elf, out) :
							  store_key(&file, result->key);
	elf_close(&elf);
	return error;
}

__attribute__((__noreturn__))
static void child(const struct worker *worker, pid_t parent)
{
	static struct worker_result result;
	FILE *out = fdopen(CHILD_OUTPUT, "w");
	const char *error;

	if (!out)
		_exit(CHILD_FAILED);
	/* A sandbox may forbid it: then the child is as fast as any other. */
	if (worker_is_idle)
		sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){});
	if (!give_up_privileges(parent))
		_exit(CHILD_HAS_PRIVILEGES);
	error = do_task(&result, out, worker);
	if (error)
		result = (struct worker_result){};
	snprintf(result.error, sizeof(result.error), "%s", error ?: "");
	fseek(out, 0, SEEK_SET);
	fwrite(&result, sizeof(result), 1, out);
	end_child(fflush(out) || ferror(out) ? CHILD_CANNOT_WRITE + errno : CHILD_DONE);
}

/* ---- the parent ---- */

static const char *fork_child(struct worker *worker)
{
	pid_t parent = getpid();

	worker->pid = fork();
	if (worker->pid < 0)
		return strerror(errno);
	if (worker->pid == 0) {
		int files[CHILD_END - CHILD_FILE] = { worker->fd, worker->output, -1, -1, -1 };

		if (!(worker->process ? keep_process(worker) : keep_files(files)))
			_exit(CHILD_FAILED);
		child(worker, parent);
	}
	worker->pidfd = syscall(SYS_pidfd_open, worker->pid, 0);
	return worker->pidfd < 0 ? strerror(errno) : NULL;
}

/**
 * worker_begin - begin to work on a file
 * @worker: filled in
 * @fd: the file; the worker closes it
 * @task: what to do with it
 *
 * Return: NULL, or the error as a text, with errno if the system is to blame. The caller
 * calls worker_free() in both cases.
 */
const char *worker_begin(struct worker *worker, int fd, enum worker_task task)
{
	*worker = (struct worker){ .task = task, .fd = fd, .pidfd = -1, .output = -1 };
	errno = 0;
	if (fstat(fd, &worker->stat))
		return strerror(errno);
	if (!S_ISREG(worker->stat.st_mode))
		return "not a regular file";
	worker->output = memfd_create("sframectl", MFD_CLOEXEC);
	if (worker->output < 0)
		return strerror(errno);
	return fork_child(worker);
}

/**
 * worker_begin_process - begin to read the memory of a process
 * @worker: filled in
 * @pid: the process
 *
 * Return: As worker_begin().
 */
const char *worker_begin_process(struct worker *worker, pid_t pid)
{
	*worker = (struct worker){
		.task = WORKER_READS_PROCESS, .process = pid, .fd = -1, .pidfd = -1,
		.output = memfd_create("sframectl", MFD_CLOEXEC),
	};
	return worker->output < 0 ? strerror(errno) : fork_child(worker);
}

/**
 * worker_begin_vdso - begin to work on the code that the kernel maps into each process
 * @worker: filled in
 * @task: what to do with it
 *
 * Return: As worker_begin().
 */
const char *worker_begin_vdso(struct worker *worker, enum worker_task task)
{
	struct file vdso;
	const char *error;
	int fd;

	*worker = (struct worker){ .fd = -1, .pidfd = -1, .output = -1 };
	error = vdso_open(&vdso);
	if (error)
		return error;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	if (write(fd, vdso.bytes, vdso.size) != (ssize_t)vdso.size) {
		close(fd);
		return "cannot be copied to memory";
	}
	error = worker_begin(worker, fd, task);
	worker->is_vdso = true;
	return error;
}

static const char *describe_end(struct worker *worker, int status)
{
	static char text[80];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return "takes too long to convert";
	/* Seccomp ends the child by another signal. */
	worker->is_transient = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (worker->is_transient)
		return "its converter was killed: memory was short, or it had to wait for too long";
	worker->is_transient = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_HAS_PRIVILEGES;
	if (worker->is_transient)
		return "its converter cannot give up its rights: it needs CAP_SETUID, CAP_SETGID";
	if (WIFEXITED(status) && WEXITSTATUS(status) > CHILD_CANNOT_WRITE) {
		snprintf(text, sizeof(text), "cannot write: %s",
			 strerror(WEXITSTATUS(status) - CHILD_CANNOT_WRITE));
		return text;
	}
	if (WIFSIGNALED(status) || WEXITSTATUS(status))
		return "cannot be converted: the converter was stopped by what the file says";
	return NULL;
}

/*
 * Maps the section that the child has written, if the size that it names is right. The mapping is
 * private: the next child inherits it.
 */
static const char *map_section(struct worker *worker, u64 output_size)
{
	const struct worker_result *result = &worker->result;
	u64 size = sizeof(*result) + result->size;
	void *all;

	if (!result->size || result->size > output_size - sizeof(*result))
		return "cannot be converted: the converter has written something else";
	all = mmap(NULL, size, PROT_READ, MAP_PRIVATE, worker->output, 0);
	if (all == MAP_FAILED)
		return strerror(errno);
	worker->mapped = all;
	worker->mapped_size = size;
	worker->section = (u8 *)all + sizeof(*result);
	return NULL;
}

/* The error of the child is shown on root's terminal: has it no control characters? */
static bool is_text(const char *words)
{
	while (*words >= ' ' && *words <= '~')
		words++;
	return !*words;
}

/* The child may have been taken over by what the file says: each number is checked. */
static const char *read_output(struct worker *worker)
{
	struct worker_result *result = &worker->result;
	struct stat st;

	if (pread(worker->output, result, sizeof(*result), 0) != sizeof(*result) ||
	    fstat(worker->output, &st))
		return "cannot be converted: the converter has written nothing";
	result->error[sizeof(result->error) - 1] = 0;
	if (!is_text(result->error))
		return "cannot be converted: the converter has written something else";
	if (*result->error)
		return NULL;
	if (result->nr_segments > SFRAME_SEGMENTS_MAX ||
	    result->facts.note.len > sizeof(result->facts.note.bytes))
		return "cannot be converted: the converter has written something else";
	if ((worker->task == WORKER_DESCRIBES || worker->task == WORKER_READS_PROCESS) &&
	    !result->size)
		return NULL;
	if (worker->task != WORKER_FINDS_KEY)
		return map_section(worker, st.st_size);
	/* A key is a name of a file: nothing but digits. */
	result->key[STORE_KEY - 1] = 0;
	result->size = 0;
	return strspn(result->key, "0123456789abcdef") == STORE_KEY - 1 ? NULL :
		"cannot be looked up: the child has written something else";
}

/**
 * worker_end - wait for the child, and take its result
 * @worker: the worker; sets @result and @section
 */
void worker_end(struct worker *worker)
{
	const char *error;
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(worker->pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	worker->pid = 0;
	error = ended < 0 ? strerror(errno) : describe_end(worker, status) ?: read_output(worker);
	if (!error)
		return;
	worker->result = (struct worker_result){};
	snprintf(worker->result.error, sizeof(worker->result.error), "%s", error);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Ends the child, unless it has ended, and gives everything back. */
void worker_free(struct worker *worker)
{
	if (worker->pid > 0) {
		kill(worker->pid, SIGKILL);
		/* It may wait for a file that nobody serves. */
		if (worker->task != WORKER_READS_PROCESS)
			waitpid(worker->pid, NULL, 0);
	}
	if (worker->mapped)
		munmap(worker->mapped, worker->mapped_size);
	free(worker->copy);
	close_fd(worker->output);
	close_fd(worker->pidfd);
	close_fd(worker->fd);
	*worker = (struct worker){ .fd = -1, .pidfd = -1, .output = -1 };
}
