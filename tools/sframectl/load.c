// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl load: converts files, and gives their tables to the module. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "below.h"
#include "clock.h"
#include "device.h"
#include "grow.h"
#include "held.h"
#include "linked.h"
#include "module.h"
#include "process.h"
#include "report.h"
#include "sframectl.h"
#include "vdso.h"

static const char usage[] =
"Usage: sframectl load [-v] [-a] [-p PID] [--linked] [--within SECONDS] [FILE]...\n"
"\n"
"Makes SFrame tables of programs that were built without .sframe, and gives them\n"
"to the module. Processes that run already use a table soon after. A FILE may be\n"
"a directory: then all programs and shared objects below it. For root only.\n"
"\n"
"Options:\n"
"  -a, --all         all files that any process has mapped as code now\n"
"  -p, --pid PID     all files that this process has mapped as code\n"
"  --linked          each FILE with the libraries that its loader would map\n"
"  --within SECONDS  convert no further file after this time, up to 3600 seconds\n"
"  -v, --verbose     say for each file what was loaded, or why nothing was\n"
"  --help            this text\n"
"\n"
"Examples:\n"
"  sframectl load --all                        what runs on this machine\n"
"  sframectl load --linked /usr/bin/python3    a program that will be started\n"
"  sframectl load /opt/app                     a directory\n"
"  sframectl load -v -p $(pidof -s postgres)   why does one file have no table?\n";

#define SECONDS_MAX	3600	/* of --within */
#define LATE_SECONDS	30	/* the last file may take 20 */
#define BELOW_SHARE	2	/* of the memory of tables, for files below directories */
#define QUIET_MS	3000	/* after the last change: a package has many files */
#define PACKAGES	"/var/lib/dpkg"	/* changes when packages have been installed */

/**
 * struct loading - a run of the command
 * @device: the device
 * @verbose: report each file
 * @is_named: the user has named the file that is loaded now: say why it has no table
 * @seen: the files so far
 * @nr_seen: how many
 * @nr_loaded: files that have a table now
 * @nr_without: files that cannot have one
 * @is_cut: there was no time for all files
 * @is_full: there was no room for all files below directories
 * @until: when the time is over, in ms of clock_ms(); 0: never
 * @has_failed: a PID or FILE that the user has named was not found, or has none
 * @bytes: of these tables
 * @changes: readable when a file below directories has changed; -1: nobody wants to know
 */
struct loading {
	int		device;
	bool		verbose;
	bool		is_named;
	struct seen {
		dev_t	dev;
		ino_t	ino;
		bool	has_table;
	}		*seen;
	size_t		nr_seen;
	size_t		nr_loaded;
	size_t		nr_without;
	bool		is_cut;
	bool		is_full;
	u64		until;
	bool		has_failed;
	u64		bytes;
	int		changes;
	u64		began;
};

static const struct seen *find_seen(const struct loading *loading, const struct stat *st)
{
	size_t i;

	for (i = 0; i < loading->nr_seen; i++)
		if (loading->seen[i].dev == st->st_dev && loading->seen[i].ino == st->st_ino)
			return &loading->seen[i];
	return NULL;
}

static void add_seen(struct loading *loading, const struct stat *st, bool has_table)
{
	struct seen *all = grow(loading->seen, loading->nr_seen, sizeof(*all));

	if (!all)
		return;
	loading->seen = all;
	all[loading->nr_seen++] = (struct seen){ st->st_dev, st->st_ino, has_table };
}

static const char *plural(size_t nr)
{
	return nr == 1 ? "" : "s";
}

/* Only where a line can be overwritten, and -v does not say more. @is_last: the result follows. */
static void show_progress(const struct loading *loading, bool is_last)
{
	if (loading->verbose || !isatty(STDERR_FILENO))
		return;
	if (is_last)
		fputs("\r\33[K", stderr);
	else
		fprintf(stderr, "\r%zu table%s loaded; %zu file%s without one", loading->nr_loaded,
			plural(loading->nr_loaded), loading->nr_without,
			plural(loading->nr_without));
}

static int dup_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/*
 * Waits for the worker, and loads its table. @error: why it could not begin, or NULL.
 * Return: NULL, or the error as a text, with errno if it is the device's.
 */
static const char *give_table(const struct loading *loading, struct worker *worker,
			      const char *error, char *message, u32 size)
{
	if (!error)
		worker_end(worker);
	errno = 0;
	if (error)
		return error;
	return *worker->result.error ? worker->result.error :
				       device_load(loading->device, worker, message, size);
}

/* Return: whether there is a table. */
static bool end_worker(struct loading *loading, struct worker *worker, const char *name,
		       const char *error)
{
	if (error)
		loading->nr_without++;
	else
		loading->nr_loaded++;
	loading->bytes += error ? 0 : worker->result.size;
	if (loading->verbose) {
		print_table(name, worker->result.size, error);
	} else if (loading->is_named && error) {
		show_progress(loading, true);
		complain("%s: %s", name, error);
	}
	show_progress(loading, false);
	worker_free(worker);
	return !error;
}

/* Each process has it. */
static void load_vdso(struct loading *loading)
{
	char message[256];
	struct worker worker;
	const char *error = worker_begin_vdso(&worker, WORKER_CONVERTS);

	error = give_table(loading, &worker, error, message, sizeof(message));
	end_worker(loading, &worker, VDSO_NAME, error);
}

/*
 * Converts a file and loads its table. If the file was written a moment ago, what has been read of
 * it may be the past, and the module could not tell: it is read once more. Return: whether there is
 * a table.
 */
static bool load_fd(struct loading *loading, int fd, const char *name)
{
	char message[256];
	struct worker worker;
	const char *error;

	if (file_is_elsewhere(fd)) {
		worker = (struct worker){ .fd = -1, .pidfd = -1, .output = -1 };
		return end_worker(loading, &worker, name, FILE_ELSEWHERE);
	}
	error = worker_begin(&worker, dup_fd(fd), WORKER_CONVERTS);
	error = give_table(loading, &worker, error, message, sizeof(message));
	if (error && errno == EAGAIN) {
		worker_free(&worker);
		usleep(DEVICE_RETRY_MS * 1000);
		error = worker_begin(&worker, dup_fd(fd), WORKER_CONVERTS);
		error = give_table(loading, &worker, error, message, sizeof(message));
	}
	return end_worker(loading, &worker, name, error);
}

static bool is_over(const struct loading *loading)
{
	return loading->until && clock_ms() >= loading->until;
}

/* Return: whether the file has a table now. */
static bool load_file(struct loading *loading, struct file *file, const char *name)
{
	const struct seen *seen;
	bool has_table;
	struct stat st;

	if (fstat(file->fd, &st))
		return false;
	seen = find_seen(loading, &st);
	if (seen)
		return seen->has_table;
	if (is_over(loading)) {
		loading->is_cut = true;
		return false;
	}
	has_table = load_fd(loading, file->fd, name);
	add_seen(loading, &st, has_table);
	return has_table;
}

/* Return: as load_file(). */
static bool load_path(struct loading *loading, const char *path)
{
	struct file file;
	const char *error = file_open(&file, path);
	bool has_table;

	if (error) {
		show_progress(loading, true);
		complain_name(path, error);
		loading->nr_without++;
		return false;
	}
	has_table = load_file(loading, &file, path);
	file_close(&file);
	return has_table;
}

static void load_named_file(struct loading *loading, const char *path)
{
	loading->is_named = true;
	if (!load_path(loading, path))
		loading->has_failed = true;
	loading->is_named = false;
}

static void load_linked(struct loading *loading, const char *program)
{
	struct linked linked;
	const char *error = linked_find(&linked, program);
	size_t i;

	if (error) {
		show_progress(loading, true);
		complain_name(program, error);
		loading->has_failed = true;
	}
	if (linked.nr)
		load_named_file(loading, linked.paths[0]);
	for (i = 1; i < linked.nr; i++)
		load_path(loading, linked.paths[i]);
	linked_free(&linked);
}

/* Processes may end meanwhile: errors are no failure, unless the user has named the process. */
static void load_process(struct loading *loading, const char *pid, bool is_named)
{
	struct process process;
	struct file file;
	size_t i;

	if (!process_read(&process, pid) && is_named) {
		show_progress(loading, true);
		complain("%s: %s", pid, process.error);
		loading->has_failed = true;
	}
	for (i = 0; i < process.nr; i++) {
		struct code *code = &process.code[i];
		const char *error;

		if (is_over(loading)) {
			loading->is_cut = true;
			break;
		}
		error = process_open(&process, code, &file);
		if (error && is_named) {
			loading->nr_without++;
			if (loading->verbose)
				print_table(code->name, 0, error);
		}
		if (error || code->no_elf)
			continue;
		load_file(loading, &file, code->name);
		file_close(&file);
	}
	process_free(&process);
}

static void load_all(struct loading *loading)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc) {
		complain("/proc: %s", strerror(errno));
		return;
	}
	while ((entry = readdir(proc)) && !is_over(loading))
		if (process_is_pid(entry->d_name))
			load_process(loading, entry->d_name, false);
	loading->is_cut |= !!entry;
	closedir(proc);
}

/*
 * What the module holds for the file as it is now, or NULL. The time of change tells inodes of two
 * devices apart: btrfs reports another device than the module does.
 */
static const struct sframe_file *find_held(const struct held *held, const struct stat *st)
{
	size_t i;

	for (i = 0; i < held->nr; i++)
		if (held->all[i].ino == st->st_ino && held_is_same_time(&held->all[i], st))
			return &held->all[i];
	return NULL;
}

/* Return: the bytes of a table that the module held before. */
static u64 load_if_lacking(struct loading *loading, const struct held *held, const char *path)
{
	const struct sframe_file *found = NULL;
	struct file file;
	struct stat st;
	u64 size = 0;

	/* The file may be gone by now. */
	if (file_open(&file, path))
		return 0;
	/* A hard link changes the file, too: perf makes one for its cache of build-ids. */
	if (loading->changes >= 0 && elf_magic(&file))
		inotify_add_watch(loading->changes, path, IN_ATTRIB);
	if (!fstat(file.fd, &st))
		found = find_held(held, &st);
	if (found)
		size = found->table_size;
	else if (elf_magic(&file))
		load_file(loading, &file, path);
	file_close(&file);
	return size;
}

/*
 * Has a file changed that a table was made for, or does a package bring files? Such files come
 * before all others: programs that run are among them. Events that come at once after the start
 * are part of what the start has seen.
 */
static bool has_changed(const struct loading *loading)
{
	struct pollfd ready = { .fd = loading->changes, .events = POLLIN };

	return loading->changes >= 0 && clock_ms() > loading->began + QUIET_MS &&
	       poll(&ready, 1, 0) > 0;
}

/*
 * Half of the room stays for what is sampled. The smallest files come first: so most files get a
 * table where there is no room for all.
 */
static void load_below(struct loading *loading, char **dirs, size_t nr_dirs)
{
	u64 most = module_table_limit() / BELOW_SHARE, before = 0, first = loading->bytes;
	struct below below;
	struct held held;
	size_t i;

	held_read(&held);
	below_find(&below, dirs, nr_dirs);
	for (i = 0; i < below.nr && !is_over(loading) && !loading->is_full &&
	     !has_changed(loading); i++) {
		before += load_if_lacking(loading, &held, below.all[i].path);
		loading->is_full = before + loading->bytes - first > most;
	}
	loading->is_cut |= is_over(loading) && !loading->is_full;
	below_free(&below);
	held_free(&held);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Directories come after all else that is named. */
static void load_named(struct loading *loading, const struct arguments *args)
{
	size_t nr_dirs = 0;
	int i;

	for (i = 0; i < args->nr_pids; i++)
		load_process(loading, args->pids[i], true);
	for (i = 0; i < args->nr_names; i++)
		if (args->linked)
			load_linked(loading, args->names[i]);
		else if (is_directory(args->names[i]))
			args->names[nr_dirs++] = args->names[i];
		else
			load_named_file(loading, args->names[i]);
	if (nr_dirs)
		load_below(loading, args->names, nr_dirs);
}

static enum status begin(struct loading *loading, const struct arguments *args)
{
	const char *error;

	loading->verbose = args->verbose;
	if (!args->all && !args->nr_pids && !args->nr_names) {
		complain("load: give a FILE, -p PID or --all");
		return STATUS_USAGE;
	}
	if (args->within) {
		unsigned int seconds = parse_number(args->within, SECONDS_MAX);

		if (!seconds) {
			complain("load: --within takes SECONDS from 1 to %u", SECONDS_MAX);
			return STATUS_USAGE;
		}
		loading->until = clock_ms() + seconds * 1000ull;
		/* A process, or a file system, may let this wait for as long as it likes. */
		alarm(seconds + LATE_SECONDS);
	}
	error = device_open(&loading->device, O_WRONLY);
	if (error) {
		complain("%s: %s", DEVICE, error);
		return STATUS_BAD;
	}
	return STATUS_OK;
}

static void report(const struct loading *loading)
{
	show_progress(loading, true);
	printf("%zu table%s loaded, %llu KiB; %zu file%s without one\n", loading->nr_loaded,
	       plural(loading->nr_loaded), (unsigned long long)(loading->bytes + 1023) / 1024,
	       loading->nr_without, plural(loading->nr_without));
	if (loading->is_cut)
		complain("no time for all files: sframectl serve makes what is wanted later");
	if (loading->is_full)
		complain("the largest files have no table: directories get half of table_memory");
}

static enum status run(const struct arguments *args)
{
	struct loading loading = { .changes = -1 };
	enum status status = begin(&loading, args);

	if (status != STATUS_OK)
		return status;
	load_vdso(&loading);
	/* The PIDs and FILEs of the command line come before all other processes. */
	load_named(&loading, args);
	if (args->all)
		load_all(&loading);
	report(&loading);
	close(loading.device);
	free(loading.seen);
	return loading.nr_loaded && !loading.has_failed ? STATUS_OK : STATUS_BAD;
}

static void preload_once(int changes, char **dirs, size_t nr_dirs, bool verbose)
{
	struct loading loading = { .verbose = verbose, .changes = changes, .began = clock_ms() };
	const char *error = device_open(&loading.device, O_WRONLY);

	if (error) {
		complain("%s: %s", DEVICE, error);
		return;
	}
	close(creat(PRELOADING, 0644));
	load_below(&loading, dirs, nr_dirs);
	unlink(PRELOADING);
	if (loading.nr_loaded)
		report(&loading);
	fflush(stdout);
	close(loading.device);
	free(loading.seen);
}

/* What the events say does not matter. If nothing can be known, this waits for ever. */
static void wait_for_changes(int changes)
{
	struct pollfd ready = { .fd = changes, .events = POLLIN };
	char events[4096];
	ssize_t len;

	do
		len = read(changes, events, sizeof(events));
	while (len > 0 && poll(&ready, 1, QUIET_MS) > 0);
	while (len <= 0)
		pause();
}

/**
 * load_preload - load the tables of all files below directories, now and when files change
 * @dirs: the directories; what does not exist is left out
 * @nr_dirs: how many
 * @verbose: report each file
 *
 * Does not return. Children that convert do not keep others from running.
 */
void load_preload(char **dirs, size_t nr_dirs, bool verbose)
{
	int changes = inotify_init1(IN_CLOEXEC);
	size_t i;

	worker_is_idle = true;
	inotify_add_watch(changes, PACKAGES, IN_CREATE | IN_MOVED_TO);
	for (i = 0; i < nr_dirs; i++)
		if (inotify_add_watch(changes, dirs[i], IN_CREATE | IN_MOVED_TO) < 0)
			complain("%s: %s: what comes to it later has no tables until it is sampled",
				 dirs[i], strerror(errno));
	for (;;) {
		preload_once(changes, dirs, nr_dirs, verbose);
		wait_for_changes(changes);
	}
}

const struct command load_command = {
	.name = "load",
	.usage = usage,
	.options = "alpvw",
	.run = run,
};
