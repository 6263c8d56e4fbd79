// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists the code of a process, and opens the files that it has mapped as code.
 *
 * Only /proc/PID/map_files leads to a mapped file itself, and only root may use it.
 * Other users open the file by its name, where another file may be by now: the file
 * was replaced, or the name belongs to another root. The process may also map other
 * files meanwhile. So each file that was opened has to be the one that was listed.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "grow.h"
#include "process.h"
#include "target.h"

static const char deleted[] = " (deleted)";

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* In maps, the kernel writes a newline in a name as "\012". */
static void restore_newlines(char *name)
{
	char *to = name;

	while (*name) {
		if (has_prefix(name, "\\012")) {
			*to++ = '\n';
			name += 4;
		} else {
			*to++ = *name++;
		}
	}
	*to = 0;
}

/* Return: true if the line is understood. @code->name is in @line. */
static bool parse_mapping(char *line, struct code *code, char *perms)
{
	int name = 0;

	line[strcspn(line, "\n")] = 0;
	*code = (struct code){};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &code->start, &code->end, perms, &code->off, &code->major, &code->minor,
		   &code->inode, &name) < 7 || !name)
		return false;
	code->bytes = code->end - code->start;
	code->name = line + name;
	restore_newlines(code->name);
	return true;
}

/* The kernel maps code of its own into each process. */
static bool is_of_kernel(const char *name)
{
	return !strcmp(name, "[vdso]") || !strcmp(name, "[vsyscall]") ||
	       !strcmp(name, "[uprobes]");
}

static const char *name_of(const struct code *code)
{
	return *code->name ? code->name : "[anonymous]";
}

/* A process may map one file as often as it likes. Memory without a file is left to merge(). */
static bool extends_last(const struct process *process, const struct code *code)
{
	struct code *last = process->nr ? &process->code[process->nr - 1] : NULL;

	if (!last || !code->inode || last->inode != code->inode || last->major != code->major ||
	    last->minor != code->minor)
		return false;
	last->bytes += code->bytes;
	return true;
}

static bool add(struct process *process, const struct code *code)
{
	struct code *all;

	if (extends_last(process, code))
		return true;
	all = grow(process->code, process->nr, sizeof(*all));
	if (!all)
		return false;
	process->code = all;
	process->code[process->nr] = *code;
	process->code[process->nr].name = strndup(name_of(code), PATH_MAX);
	return process->code[process->nr++].name;
}

/* Return: NULL, or the error as a text. */
static const char *read_maps(struct process *process, FILE *maps)
{
	const char *error = NULL;
	char *line = NULL, perms[5];
	size_t room = 0;
	struct code code;

	errno = 0;
	while (!error && getline(&line, &room, maps) > 0) {
		if (!parse_mapping(line, &code, perms))
			error = "the kernel's list of its mappings is not understood; report it";
		else if (perms[2] == 'x' && !is_of_kernel(code.name) &&
			 !add(process, &code))
			error = "out of memory";
	}
	if (!error && !feof(maps))
		error = errno == ESRCH ? "it ended while its mappings were read" :
					 strerror(errno);
	free(line);
	return error;
}

static int compare(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

/* Memory without a file is told apart by its name only. */
static int compare_identity(const void *a, const void *b)
{
	const struct code *c1 = a, *c2 = b;

	return compare(c1->major, c2->major) ?: compare(c1->minor, c2->minor) ?:
	       compare(c1->inode, c2->inode) ?:
	       (c1->inode ? 0 : strcmp(c1->name, c2->name));
}

static int compare_identity_and_start(const void *a, const void *b)
{
	const struct code *c1 = a, *c2 = b;

	return compare_identity(a, b) ?: compare(c1->start, c2->start);
}

static int compare_start(const void *a, const void *b)
{
	const struct code *c1 = a, *c2 = b;

	return compare(c1->start, c2->start);
}

/* A file may have several mappings of code. Sorting keeps the time in bounds. */
static void merge(struct process *process)
{
	struct code *all = process->code;
	size_t i, nr = 0;

	qsort(all, process->nr, sizeof(*all), compare_identity_and_start);
	for (i = 0; i < process->nr; i++) {
		if (nr && !compare_identity(&all[nr - 1], &all[i])) {
			all[nr - 1].bytes += all[i].bytes;
			free(all[i].name);
		} else {
			all[nr++] = all[i];
		}
	}
	process->nr = nr;
	qsort(all, nr, sizeof(*all), compare_start);
}

static void set_error(struct process *process, const char *what)
{
	snprintf(process->error, sizeof(process->error), "%s", what);
}

static void needs_root(struct process *process, const char *what)
{
	if (geteuid())
		snprintf(process->error, sizeof(process->error),
			 "%s; type: sudo sframectl check -p %.20s", what, process->pid);
	else
		snprintf(process->error, sizeof(process->error),
			 "%s; it needs CAP_SYS_ADMIN outside of all containers", what);
}

static void cannot_open_maps(struct process *process, int error)
{
	if (error == ENOENT)
		set_error(process, "no such process");
	else if (error == EACCES || error == EPERM)
		needs_root(process, "only its user and root may see its mappings");
	else
		set_error(process, strerror(error));
}

/**
 * process_is_pid - is this a PID?
 * @name: a name
 */
bool process_is_pid(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

static pid_t thread_of(const char *pid)
{
	unsigned long number = strtoul(pid, NULL, 10);

	return target_thread(number < INT_MAX ? number : INT_MAX);
}

/**
 * process_open_maps - open the list of mappings of a process, even if its first thread has ended
 * @pid: the PID, as digits
 *
 * Return: the file, or NULL with errno.
 */
FILE *process_open_maps(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/task/%d/maps", pid, thread_of(pid));
	return fopen(path, "re");
}

/**
 * process_read - list the code of a process
 * @process: filled in
 * @pid: the PID, as digits
 *
 * Return: true, or false with a text in @process->error. The caller calls
 * process_free() in both cases.
 */
bool process_read(struct process *process, const char *pid)
{
	const char *error;
	FILE *maps;

	*process = (struct process){ .pid = pid, .thread = thread_of(pid) };
	maps = process_open_maps(pid);
	/* A kernel that reports missing memory so early says ESRCH. */
	if (!maps && errno != ESRCH) {
		cannot_open_maps(process, errno);
		return false;
	}
	error = maps ? read_maps(process, maps) : NULL;
	if (maps)
		fclose(maps);
	if (!error && !process->nr)
		error = "has no code: it is a kernel thread, or has ended";
	if (error) {
		set_error(process, error);
		return false;
	}
	merge(process);
	process->readable = true;
	return true;
}

/**
 * process_find - find the mapping of an address
 * @pid: the process, as digits
 * @addr: the address
 * @code: filled in, with that mapping alone; the kernel's own code counts, too
 *
 * Return: true, if the address is in memory that may be executed. The caller frees @code->name.
 */
bool process_find(const char *pid, u64 addr, struct code *code)
{
	char *line = NULL, perms[5];
	bool found = false;
	size_t room = 0;
	FILE *maps;

	maps = process_open_maps(pid);
	while (maps && !found && getline(&line, &room, maps) > 0)
		found = parse_mapping(line, code, perms) && perms[2] == 'x' &&
			addr >= code->start && addr < code->end;
	if (found)
		code->name = strdup(name_of(code));
	if (maps)
		fclose(maps);
	free(line);
	return found && code->name;
}

/**
 * process_identify - find by which device and inode the kernel lists a file in maps
 * @fd: the file
 * @code: filled in; it has no name
 *
 * The device in maps is that of the file system. On btrfs and overlayfs, stat() reports
 * others. So this process maps the file, too. The page is never touched.
 *
 * Return: true if it is known.
 */
bool process_identify(int fd, struct code *code)
{
	char *line = NULL, perms[5];
	bool found = false;
	size_t room = 0;
	FILE *maps;
	void *page;

	page = mmap(NULL, getpagesize(), PROT_NONE, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return false;
	maps = fopen("/proc/self/maps", "re");
	while (maps && !found && getline(&line, &room, maps) > 0)
		found = parse_mapping(line, code, perms) && code->start == (uintptr_t)page;
	if (maps)
		fclose(maps);
	free(line);
	munmap(page, getpagesize());
	code->name = NULL;
	return found && code->inode;
}

static bool is_mapped_as(int fd, const struct code *code)
{
	struct code own;

	return process_identify(fd, &own) && !compare_identity(&own, code);
}

static bool is_same_file(const struct stat *st, const struct code *code)
{
	return st->st_ino == code->inode && major(st->st_dev) == code->major &&
	       minor(st->st_dev) == code->minor;
}

static bool is_mapped_file(int fd, const struct code *code)
{
	struct stat st;

	return !fstat(fd, &st) && (is_same_file(&st, code) || is_mapped_as(fd, code));
}

/* Opens the file at @path if it is the one that is mapped. A device sets @code->no_elf. */
static bool open_by_name(struct code *code, const char *path, struct file *file)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (!S_ISREG(st.st_mode)) {
		code->no_elf |= is_same_file(&st, code);
		return false;
	}
	if (file_open(file, path))
		return false;
	if (is_mapped_file(file->fd, code))
		return true;
	file_close(file);
	return false;
}

/*
 * The name in maps is seen from this process: for a chroot it begins with the path
 * of the new root. In another mount namespace it is seen from the root there, and
 * begins with the path of a chroot inside. So beginnings of the name are left out.
 */
static bool open_by_any_name(const struct process *process, struct code *code,
			     struct file *file)
{
	const char *name = *code->name == '/' ? code->name : NULL;
	char path[PATH_MAX + 64];

	if (name && open_by_name(code, name, file))
		return true;
	for (; name; name = strchr(name + 1, '/')) {
		snprintf(path, sizeof(path), "/proc/%s/task/%d/root%s", process->pid,
			 process->thread, name);
		if (open_by_name(code, path, file))
			return true;
	}
	/* The program itself can be opened even if it has no name any more. */
	snprintf(path, sizeof(path), "/proc/%s/task/%d/exe", process->pid, process->thread);
	return open_by_name(code, path, file);
}

static bool is_deleted(const char *name)
{
	size_t len = strlen(name), end = sizeof(deleted) - 1;

	return len >= end && !strcmp(name + len - end, deleted);
}

static void mapping_is_gone(struct process *process)
{
	set_error(process, "its mapping is gone: the process changed or ended meanwhile");
}

/* By now another file may be mapped at the same addresses, for instance after execve(). */
static const char *open_mapping(struct process *process, const struct code *code,
				const char *path, struct file *file)
{
	const char *error = file_open(file, path);

	if (error || is_mapped_file(file->fd, code))
		return error;
	file_close(file);
	mapping_is_gone(process);
	return process->error;
}

/**
 * process_is_memory - is this code in no file?
 * @code: the code
 *
 * The kernel keeps some memory in files without a place: shared memory, GPU buffers.
 */
bool process_is_memory(const struct code *code)
{
	static const char *const prefixes[] = {
		"/memfd:", "/dev/zero (deleted)", "/dev/dri/", "/SYSV", "/anon_hugepage",
		"/[aio]", "/drm mm object", "/i915", "anon_inode:", "socket:",
	};
	size_t i;

	if (!code->inode)
		return true;
	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(code->name, prefixes[i]))
			return true;
	return false;
}

/**
 * process_open - open the file of a mapping
 * @process: the process
 * @code: the mapping; @no_elf is set if it is memory without a file
 * @file: filled in if there is a file
 *
 * Return: NULL, or the error as a text. On success without @no_elf the caller closes
 * @file.
 */
const char *process_open(struct process *process, struct code *code,
			 struct file *file)
{
	char path[128];
	struct stat st;
	int error;

	code->no_elf = !code->inode;
	if (code->no_elf)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 process->thread, code->start, code->end);
	if (!stat(path, &st)) {
		code->no_elf = !S_ISREG(st.st_mode);
		return code->no_elf ? NULL : open_mapping(process, code, path, file);
	}
	error = errno;
	if (open_by_any_name(process, code, file) || code->no_elf)
		return NULL;
	code->no_elf = process_is_memory(code);
	if (code->no_elf)
		return NULL;
	if (error != EACCES && error != EPERM)
		mapping_is_gone(process);
	else if (is_deleted(code->name))
		needs_root(process, "deleted: only root can still read it");
	else
		needs_root(process, "another file has this name now, or it cannot be read");
	return process->error;
}

void process_free(struct process *process)
{
	size_t i;

	for (i = 0; i < process->nr; i++)
		free(process->code[i].name);
	free(process->code);
	*process = (struct process){};
}
