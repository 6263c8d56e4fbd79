// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframectl serve: makes tables for the files that the module asks for, one child for each
 * file. It can end at any time, and start again: the module remembers what it has, and asks
 * another reader for what this one has not answered.
 *
 * It does so for processes, too, whose stacks end in code that a runtime has made.
 *
 * Another child makes the tables of all programs below directories, before anybody profiles them.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "device.h"
#include "report.h"
#include "sframectl.h"
#include "store.h"
#include "vdso.h"
#include "watch.h"

static const char usage[] =
"Usage: sframectl serve [-v] [--store DIR | DIR...]\n"
"\n"
"Makes SFrame tables for programs that were built without .sframe, as soon as\n"
"they are profiled, until it is stopped; and for all that is below each DIR, now\n"
"and when packages are installed. The service sframe-unwind.service does this.\n"
"For root only.\n"
"\n"
"Options:\n"
"  --store DIR    convert nothing: take the tables from DIR, where they are by\n"
"                 sframectl convert --store DIR\n"
"  -v, --verbose  report each file\n"
"  --help         this text\n"
"\n"
"Examples:\n"
"  sframectl serve /usr                        what is installed, and what runs\n"
"  sframectl load --all; sframectl serve       begin with what runs already\n";

#define JOBS		4	/* at the same time */
#define WORK_MS		180000	/* after which a child is ended that has not even used its time */
#define READ_MS		15000	/* likewise, a child that reads a process */
#define KILLED_MS	5000	/* after which a child that was killed is given up */
#define STUCK_MAX	8	/* children that were given up; with more, no process is read */
#define RESOURCE_MS	200	/* after which serve tries again what the system had no room for */
#define TRIES		3	/* to load a table that is refused for a reason that passes */
#define ROOM_MS		60000	/* after which tables are tried again for which there was no room */
#define LOOK_MS		5000	/* after which serve looks whether its store has changed */
#define PRELOAD_MS	60000	/* between two children that look after the directories */
#define ROOM_MS_MOST	3600000	/* in the end: each time takes twice as long as the last one */

enum job_state {
	JOB_FREE,
	JOB_BEGINS,		/* there was no room for a child, or the file has just changed */
	JOB_RUNS,		/* the child works */
	JOB_ENDS,		/* it was killed */
	JOB_WAITS,		/* there was no memory for its table */
};

/**
 * struct job - a file on its way
 * @state: what happens with it
 * @until: in ms: of JOB_RUNS, when the child is ended; of JOB_ENDS, when it is given up; else when
 *	serve goes on
 * @fd: of JOB_BEGINS: the file
 * @is_vdso: it is the code that the kernel maps
 * @watched: it is no file but this process; or NULL
 * @tries: how often its table was refused for a reason that passes
 * @worker: the child
 * @name: of the file
 */
struct job {
	enum job_state	state;
	u64		until;
	int		fd;
	bool		is_vdso;
	struct watched	*watched;
	unsigned int	tries;
	struct worker	worker;
	char		name[512];
};

/**
 * struct serving - a run of the command
 * @device: the device
 * @signals: readable when somebody ends this
 * @verbose: report each file
 * @store_path: the path of @store, or NULL
 * @store: the directory of table files; -1: files are converted
 * @store_stat: of the directory when it was opened
 * @look_at: when serve looks whether the store has changed, in ms
 * @has_lost_store: it has changed, and cannot be used as it is now
 * @lacks_vdso: the code that the kernel maps has no table
 * @room_at: when tables are tried again for which there was no room, in ms; 0: there are none
 * @room_ms: how long that takes
 * @tried_at: when they were tried the last time, in ms
 * @dirs: directories whose files have tables before they are sampled
 * @nr_dirs: how many
 * @preload_at: when the child begins that makes these tables, in ms
 * @preloader: this child, or 0
 * @preloader_fd: readable when it has ended; else -1
 * @watch: the processes
 * @stuck: children that a process keeps from ending: its memory is a file that nobody serves
 * @jobs: the files, and processes
 */
struct serving {
	int		device;
	int		signals;
	bool		verbose;
	const char	*store_path;
	int		store;
	struct stat	store_stat;
	u64		look_at;
	bool		has_lost_store;
	bool		lacks_vdso;
	u64		room_at;
	u64		room_ms;
	u64		tried_at;
	char		**dirs;
	size_t		nr_dirs;
	u64		preload_at;
	pid_t		preloader;
	int		preloader_fd;
	struct watch	watch;
	pid_t		stuck[STUCK_MAX];
	struct job	jobs[JOBS];
};

static void report_job(const struct serving *serving, const struct job *job, const char *error)
{
	if (serving->verbose)
		print_table(job->name, job->worker.result.size, error);
}

/* Does the system lack something for a moment, and not the file? */
static bool is_short_of_resources(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

static void end_job(struct job *job)
{
	worker_free(&job->worker);
	job->state = JOB_FREE;
}

static void wait_until(struct job *job, enum job_state state, u64 ms)
{
	job->state = state;
	job->until = clock_ms() + ms;
}

/*
 * The module shall not ask for this file again, as it is now. For the vDSO it never asks, and that
 * may have a table from before.
 */
static void answer_none(const struct serving *serving, struct job *job)
{
	char message[256];

	if (job->is_vdso)
		return;
	job->worker.result = (struct worker_result){};
	job->worker.section = NULL;
	device_load(serving->device, &job->worker, message, sizeof(message));
}

static const char *find_table(const struct serving *serving, struct job *job)
{
	if (*job->worker.result.error)
		return job->worker.result.error;
	if (serving->store < 0 || job->worker.section)
		return NULL;
	return store_find(serving->store, &job->worker);
}

/* The file waits, and keeps its place. Another child begins with it. */
static void postpone_job(struct job *job, u64 ms)
{
	if (!job->is_vdso)
		job->worker.fd = -1;
	worker_free(&job->worker);
	wait_until(job, JOB_BEGINS, ms);
}

/*
 * Has the table been refused for a reason that passes in a moment? If the file was written a moment
 * ago, what has been read of it may be the past.
 */
static bool waits(struct job *job, int error)
{
	if ((error != EAGAIN && error != ENOMEM) || ++job->tries == TRIES)
		return false;
	if (error == EAGAIN)
		postpone_job(job, DEVICE_RETRY_MS);
	else
		wait_until(job, JOB_WAITS, DEVICE_RETRY_MS);
	return true;
}

/* Has the system, and not the file, been the reason? */
static bool may_load_later(const struct job *job, int error)
{
	/* For a file that has changed a moment ago the device says EAGAIN. It is wanted again. */
	return job->worker.is_transient || error == ENOSPC ||
	       (error != EAGAIN && is_short_of_resources(error));
}

/* If the last try was long ago, there is another reason than then: the pause is short again. */
static void plan_to_try(struct serving *serving)
{
	u64 now = clock_ms();

	if (now - serving->tried_at > 2 * serving->room_ms)
		serving->room_ms = ROOM_MS;
	serving->room_at = now + serving->room_ms;
}

static void load_process(struct serving *serving, struct job *job)
{
	const char *error = watch_load(&serving->watch, job->watched, serving->device,
				       &job->worker);

	report_job(serving, job, error);
	job->watched = NULL;
	end_job(job);
}

/* The device is not answered: it does not report this process again. */
static void give_up(struct serving *serving, struct job *job)
{
	int i;

	for (i = 0; i < STUCK_MAX; i++)
		if (!serving->stuck[i] || waitpid(serving->stuck[i], NULL, WNOHANG))
			break;
	if (i == STUCK_MAX)
		return;
	serving->stuck[i] = job->worker.pid;
	job->worker.pid = 0;
	report_job(serving, job, "cannot be read: a program that serves its files does not answer");
	watch_give_up(&serving->watch, job->watched);
	job->watched = NULL;
	end_job(job);
}

static void load_job(struct serving *serving, struct job *job)
{
	const char *error;
	char message[256];

	if (job->watched) {
		load_process(serving, job);
		return;
	}
	errno = 0;
	error = find_table(serving, job);
	if (!error)
		error = device_load(serving->device, &job->worker, message, sizeof(message));
	if (error && waits(job, errno))
		return;
	if (error && may_load_later(job, errno) && !serving->room_at)
		plan_to_try(serving);
	if (job->is_vdso)
		serving->lacks_vdso = error;
	report_job(serving, job, error);
	if (error)
		answer_none(serving, job);
	end_job(job);
}

static const char *begin_worker(const struct serving *serving, struct job *job)
{
	enum worker_task task = serving->store < 0 ? WORKER_CONVERTS : WORKER_FINDS_KEY;

	return job->is_vdso ? worker_begin_vdso(&job->worker, task) :
			      worker_begin(&job->worker, job->fd, task);
}

static void begin_job(const struct serving *serving, struct job *job)
{
	const char *error = begin_worker(serving, job);

	if (!error) {
		wait_until(job, JOB_RUNS, WORK_MS);
	} else if (is_short_of_resources(errno)) {
		postpone_job(job, RESOURCE_MS);		/* under a fork bomb, for instance */
	} else {
		report_job(serving, job, error);
		answer_none(serving, job);
		end_job(job);
	}
}

/* Each process has it. The module does not ask for it. */
static void begin_vdso(const struct serving *serving, struct job *job)
{
	strcpy(job->name, VDSO_NAME);
	job->is_vdso = true;
	job->tries = 0;
	begin_job(serving, job);
}

/* Takes @fd. */
static void begin_file(const struct serving *serving, struct job *job, int fd)
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, job->name, sizeof(job->name) - 1);
	job->name[len < 0 ? 0 : len] = 0;
	job->fd = fd;
	job->is_vdso = false;
	job->tries = 0;
	begin_job(serving, job);
}

static void begin_process(struct serving *serving, struct job *job, struct watched *watched)
{
	const char *error = worker_begin_process(&job->worker, watched->pid);

	snprintf(job->name, sizeof(job->name), "process %d", watched->pid);
	job->watched = watched;
	wait_until(job, JOB_RUNS, READ_MS);
	if (error) {
		snprintf(job->worker.result.error, sizeof(job->worker.result.error), "%s", error);
		load_process(serving, job);
	}
}

static struct job *free_job(struct serving *serving)
{
	int i;

	for (i = 0; i < JOBS; i++)
		if (serving->jobs[i].state == JOB_FREE)
			return &serving->jobs[i];
	return NULL;
}

/* The module asks again for the files that had no table: now there may be room for one. */
static void try_again(struct serving *serving)
{
	struct job *job = free_job(serving);

	if (!serving->room_at || clock_ms() < serving->room_at || !job)
		return;
	serving->room_at = 0;
	serving->tried_at = clock_ms();
	serving->room_ms *= serving->room_ms < ROOM_MS_MOST ? 2 : 1;
	device_drop_tableless(serving->device);
	if (serving->lacks_vdso)
		begin_vdso(serving, job);
}

static const char *open_store(struct serving *serving)
{
	const char *error;
	struct stat st;
	int store;

	if (stat(serving->store_path, &st))
		return strerror(errno);
	error = store_open(&store, serving->store_path);
	if (error)
		return error;
	if (serving->store >= 0)
		close(serving->store);
	serving->store = store;
	serving->store_stat = st;
	return NULL;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Is the store what it was when it was opened? */
static bool is_same_store(const struct serving *serving)
{
	const struct stat *then = &serving->store_stat;
	struct stat st;

	return !stat(serving->store_path, &st) && st.st_dev == then->st_dev &&
	       st.st_ino == then->st_ino && is_same_time(st.st_mtim, then->st_mtim) &&
	       is_same_time(st.st_ctim, then->st_ctim);
}

/* Tables come into the store, or another store takes its name. */
static void look_into_store(struct serving *serving)
{
	struct job *job = free_job(serving);
	const char *error;

	if (!serving->store_path || clock_ms() < serving->look_at || !job)
		return;
	serving->look_at = clock_ms() + LOOK_MS;
	if (is_same_store(serving))
		return;
	error = open_store(serving);
	if (error && !serving->has_lost_store)
		complain("%s: %s: going on with what it was", serving->store_path, error);
	serving->has_lost_store = error;
	if (error)
		return;
	device_drop_tableless(serving->device);
	if (serving->lacks_vdso)
		begin_vdso(serving, job);
}

/* ---- directories ---- */

/* Has the device open for itself. Does not return, unless its parent has ended. */
static void run_preloader(const struct serving *serving, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
		load_preload(serving->dirs, serving->nr_dirs, serving->verbose);
}

/* Ends the child, unless it has ended. */
static void end_preloader(struct serving *serving)
{
	if (serving->preloader > 0) {
		kill(serving->preloader, SIGKILL);
		waitpid(serving->preloader, NULL, 0);
		unlink(PRELOADING);
	}
	if (serving->preloader_fd >= 0)
		close(serving->preloader_fd);
	serving->preloader = 0;
	serving->preloader_fd = -1;
}

static void begin_preloader(struct serving *serving)
{
	pid_t parent = getpid();

	serving->preload_at = clock_ms() + PRELOAD_MS;
	serving->preloader = fork();
	if (serving->preloader == 0) {
		run_preloader(serving, parent);
		_exit(0);
	}
	if (serving->preloader > 0)
		serving->preloader_fd = syscall(SYS_pidfd_open, serving->preloader, 0);
	if (serving->preloader_fd < 0)
		end_preloader(serving);
}

static void preload(struct serving *serving)
{
	if (serving->nr_dirs && !serving->preloader && clock_ms() >= serving->preload_at)
		begin_preloader(serving);
}

/* ---- the loop ---- */

static void look_at_processes(struct serving *serving)
{
	struct watched *watched;
	struct job *job;

	while ((job = free_job(serving)) && (watched = watch_next(&serving->watch)))
		begin_process(serving, job, watched);
}

/* Return: the user of a process. One that has ended is not loaded for, whoever it was. */
static uid_t owner_of(pid_t pid)
{
	struct stat st = {};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	stat(path, &st);
	return st.st_uid;
}

/* Begins jobs for what is wanted. Return: false if the device fails. */
static bool take_wanted(struct serving *serving)
{
	struct sframe_wanted wanted;
	struct job *job;

	while ((job = free_job(serving))) {
		ssize_t len = read(serving->device, &wanted, sizeof(wanted));

		if (len < 0 && is_short_of_resources(errno) && errno != EAGAIN)
			usleep(RESOURCE_MS * 1000);
		if (len < 0)
			return is_short_of_resources(errno) || errno == EINTR;
		if (len != sizeof(wanted))
			return false;
		if (wanted.fd >= 0)
			begin_file(serving, job, wanted.fd);
		else
			watch_add(&serving->watch, serving->device, wanted.pid, wanted.cookie,
				  owner_of(wanted.pid));
	}
	return true;
}

/* What time does to a job. */
static void check_time(struct serving *serving, struct job *job)
{
	if (job->state == JOB_FREE || clock_ms() < job->until)
		return;
	switch (job->state) {
	case JOB_BEGINS:
		begin_job(serving, job);
		break;
	case JOB_RUNS:
		kill(job->worker.pid, SIGKILL);
		wait_until(job, JOB_ENDS, KILLED_MS);
		break;
	case JOB_ENDS:
		if (job->watched)
			give_up(serving, job);
		break;
	default:
		load_job(serving, job);
	}
}

/* The first of the files is that of signals, the second the device. */
enum { POLL_SIGNALS, POLL_DEVICE, POLL_PRELOADER, POLL_JOBS };

static int fill_polls(struct serving *serving, struct pollfd *polls)
{
	bool waits_to_preload = serving->nr_dirs && !serving->preloader;
	int timeout = serving->room_at || waits_to_preload ? 1000 :
		      serving->store_path ? LOOK_MS : -1, i;

	polls[POLL_SIGNALS] = (struct pollfd){ .fd = serving->signals, .events = POLLIN };
	polls[POLL_DEVICE] = (struct pollfd){
		.fd = free_job(serving) ? serving->device : -1,
		.events = POLLIN,
	};
	polls[POLL_PRELOADER] = (struct pollfd){
		.fd = serving->preloader_fd, .events = POLLIN,
	};
	if (!watch_is_empty(&serving->watch))
		timeout = 200;
	for (i = 0; i < JOBS; i++) {
		const struct job *job = &serving->jobs[i];

		polls[POLL_JOBS + i] = (struct pollfd){
			.fd = job->state == JOB_RUNS || job->state == JOB_ENDS ?
				job->worker.pidfd : -1,
			.events = POLLIN,
		};
		if (job->state != JOB_FREE)
			timeout = 200;
	}
	return timeout;
}

/* Return: false if the device fails. */
static bool serve(struct serving *serving)
{
	struct pollfd polls[POLL_JOBS + JOBS];
	int i;

	for (;;) {
		int timeout;

		preload(serving);
		timeout = fill_polls(serving, polls);
		if (poll(polls, ARRAY_SIZE(polls), timeout) < 0 && errno != EINTR)
			return false;
		if (polls[POLL_SIGNALS].revents)
			return true;
		if (polls[POLL_PRELOADER].revents)
			end_preloader(serving);
		try_again(serving);
		look_into_store(serving);
		for (i = 0; i < JOBS; i++) {
			if (polls[POLL_JOBS + i].revents) {
				worker_end(&serving->jobs[i].worker);
				load_job(serving, &serving->jobs[i]);
			}
			check_time(serving, &serving->jobs[i]);
		}
		if (polls[POLL_DEVICE].revents && !take_wanted(serving))
			return false;
		look_at_processes(serving);
	}
}

/*
 * Adds a signal that ends serve, unless the caller has it ignored: nohup(1) ignores SIGHUP, and a
 * shell script ignores SIGINT for a command in the background.
 */
static void add_signal(sigset_t *set, int number)
{
	struct sigaction action;

	if (!sigaction(number, NULL, &action) && action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

static const char *begin_serving(struct serving *serving)
{
	const char *error;
	sigset_t set;

	sigemptyset(&set);
	add_signal(&set, SIGINT);
	add_signal(&set, SIGTERM);
	add_signal(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	error = device_open(&serving->device, O_RDWR);
	if (error)
		return error;
	serving->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (serving->signals < 0)
		return strerror(errno);
	/* This run may have a table for a file for which an earlier run had none. */
	return device_drop_tableless(serving->device);
}

static enum status run(const struct arguments *args)
{
	struct serving serving = { .verbose = args->verbose, .store_path = args->store, .store = -1,
				   .room_ms = ROOM_MS, .dirs = args->names,
				   .nr_dirs = args->nr_names, .preloader_fd = -1 };
	enum status status = STATUS_OK;
	const char *error;
	struct stat st;
	int i;

	for (i = 0; i < args->nr_names; i++)
		if (!stat(args->names[i], &st) && !S_ISDIR(st.st_mode)) {
			complain("serve: %s: no directory; type: sframectl load FILE",
				 args->names[i]);
			return STATUS_USAGE;
		}
	if (args->nr_names && args->store) {
		complain("serve: takes --store DIR, or DIRs with programs, not both");
		return STATUS_USAGE;
	}
	error = args->store ? open_store(&serving) : NULL;
	if (error) {
		complain("%s: %s", args->store, error);
		return STATUS_BAD;
	}
	error = begin_serving(&serving);
	if (error) {
		complain("%s: %s", DEVICE, error);
		return STATUS_BAD;
	}
	begin_vdso(&serving, &serving.jobs[0]);
	if (!serve(&serving)) {
		complain("%s: %s", DEVICE, strerror(errno));
		status = STATUS_BAD;
	}
	for (i = 0; i < JOBS; i++)
		if (serving.jobs[i].state != JOB_FREE)
			end_job(&serving.jobs[i]);
	end_preloader(&serving);
	close(serving.device);
	return status;
}

const struct command serve_command = {
	.name = "serve",
	.usage = usage,
	.options = "Sv",
	.run = run,
};
