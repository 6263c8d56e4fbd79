// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks the loader of a program for the libraries that it would map, as ldd does. Of a script
 * it is the interpreter that counts, also one that env looks for. The loader of a user's program
 * runs as that user.
 */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "elf.h"
#include "linked.h"

#define NOBODY		65534
#ifndef LOADER_SECONDS
#define LOADER_SECONDS	60
#endif
#define LIST_MAX	1048576u	/* bytes of a list */
#define SCRIPTS_MAX	4

static const char *add_path(struct linked *linked, const char *path)
{
	char **all = reallocarray(linked->paths, linked->nr + 1, sizeof(*all));

	if (!all)
		return "out of memory";
	linked->paths = all;
	all[linked->nr] = strdup(path);
	return all[linked->nr++] ? NULL : "out of memory";
}

/* Looks for a program as a shell does. */
static bool find_in_path(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH");
	struct stat st;
	size_t len;

	for (; dir && *dir; dir += len + (dir[len] == ':')) {
		len = strcspn(dir, ":");
		snprintf(path, size, "%.*s/%s", (int)len, dir, name);
		if (len && !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
			return true;
	}
	*path = 0;
	return false;
}

/* The program that env runs: its first argument that is no option, no value of one, no variable. */
static const char *find_of_env(char **rest)
{
	const char *word;

	while ((word = strtok_r(NULL, " \t", rest))) {
		if (!strcmp(word, "-u") || !strcmp(word, "-C"))
			strtok_r(NULL, " \t", rest);
		else if (!strncmp(word, "-S", 2) && word[2])
			return word + 2;
		else if (*word != '-' && !strchr(word, '='))
			return word;
	}
	return NULL;
}

/* The word after "#!", or what that runs if it is env. */
static bool find_of_script(char *line, char *path, size_t size)
{
	const char *word, *slash;
	char *rest;

	line[strcspn(line, "\n")] = 0;
	word = strncmp(line, "#!", 2) ? NULL : strtok_r(line + 2, " \t", &rest);
	slash = word ? strrchr(word, '/') : NULL;
	if (slash && !strcmp(slash, "/env")) {
		word = find_of_env(&rest);
		if (word && !strchr(word, '/'))
			return find_in_path(word, path, size);
	}
	snprintf(path, size, "%s", word ? word : "");
	return word;
}

/*
 * Sets @path to what the kernel, or env, runs for the file: PT_INTERP, or that of a script. Sets
 * @st to what the file is: a moment later its name may be that of another one.
 */
static const char *find_interpreter(const char *name, struct stat *st, char *path,
				    bool *is_script)
{
	struct elf_segment seg;
	const char *error;
	struct file file;
	struct elf elf;
	u64 len;
	u32 i;

	*path = 0;
	*is_script = false;
	error = file_open(&file, name);
	if (error)
		return error;
	if (fstat(file.fd, st)) {
		error = strerror(errno);
	} else if (elf_magic(&file)) {
		error = elf_init(&elf, &file);
		for (i = 0; !error && elf_get_segment(&elf, i, &seg); i++) {
			if (seg.type != PT_INTERP || seg.filesz >= PATH_MAX)
				continue;
			error = file_read(&file, seg.off, path, seg.filesz);
			path[error ? 0 : seg.filesz] = 0;
			break;
		}
		elf_close(&elf);
	} else {
		char line[PATH_MAX + 2] = "";

		len = min_t(u64, file.size, sizeof(line) - 1);
		error = file_read(&file, 0, line, len);
		*is_script = !error && find_of_script(line, path, PATH_MAX + 2);
	}
	file_close(&file);
	return error;
}

/* A line is "NAME => PATH (ADDRESS)", or "PATH (ADDRESS)". */
static const char *parse_line(struct linked *linked, char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line;
	char *end = strstr(path, " (0x");

	path += strspn(path, " \t");
	if (*path != '/' || !end)
		return NULL;
	*end = 0;
	return add_path(linked, path);
}

static const char *parse_list(struct linked *linked, char *list)
{
	const char *error = NULL;
	char *line, *rest = NULL;

	for (line = list; !error && (line = strtok_r(line, "\n", &rest)); line = NULL)
		error = parse_line(linked, line);
	return error;
}

/* The loader may be anybody's: neither what it writes nor its time is without end. */
static const char *read_list(int fd, char *list)
{
	u64 end = clock_ms() + LOADER_SECONDS * 1000, now;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got;

	while ((now = clock_ms()) < end) {
		if (poll(&ready, 1, end - now) <= 0)
			continue;
		got = read(fd, list + len, LIST_MAX - len);
		if (got < 0)
			return strerror(errno);
		list[len += got] = 0;
		if (!got)
			return NULL;
		if (len == LIST_MAX)
			return "its loader lists more than any program needs";
	}
	return "its loader takes too long: it is no loader, or the disk is slow";
}

/*
 * Can nobody but root change what is at this path, which has no links? What a user has made may be
 * mounted, and seem to be root's, but without setuid programs.
 */
static bool is_roots(const char *path)
{
	char part[PATH_MAX], *end;
	struct statvfs fs;
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	for (;;) {
		if (stat(part, &st) || st.st_uid || statvfs(part, &fs) || fs.f_flag & ST_NOSUID)
			return false;
		/*
		 * In a sticky directory, others cannot replace what is root's. What an access
		 * control list gives to others is in the bits of the group.
		 */
		if (!(S_ISDIR(st.st_mode) && st.st_mode & 01000) && st.st_mode & 0022)
			return false;
		if (!strcmp(part, "/"))
			return true;
		end = strrchr(part, '/');
		end[end == part] = 0;
	}
}

/* Is this path root's, and that of the file which has named the loader? */
static bool is_roots_file(const char *path, const struct stat *st)
{
	struct stat now;

	return is_roots(path) && !stat(path, &now) && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino;
}

/*
 * Becomes the owner of the file that has named the loader, who can read it. In some directories the
 * group of a file is one that its owner is not in. The loader starts no process, and learns nothing
 * of the environment but where libraries are.
 */
static bool become_owner(const struct stat *st)
{
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *kept = libraries ? strdup(libraries) : NULL;
	const struct rlimit none = {};
	uid_t uid = st->st_uid ?: NOBODY;

	return !clearenv() && !(kept && setenv("LD_LIBRARY_PATH", kept, true)) &&
	       !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(uid, uid, uid) && !setrlimit(RLIMIT_NPROC, &none);
}

/*
 * Does not return. The program names its loader: it runs as root only if others can change
 * neither. It shall not write to the terminal, nor run on.
 */
static void run_loader(const char *loader, const char *program, const struct stat *st,
		       int output, pid_t parent)
{
	const struct rlimit seconds = { LOADER_SECONDS, LOADER_SECONDS };
	int null = open("/dev/null", O_RDWR);

	loader = realpath(loader, NULL);
	program = realpath(program, NULL);
	if (!loader || !program)
		_exit(127);
	setsid();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) ||
	    setrlimit(RLIMIT_CPU, &seconds))
		_exit(127);
	if (!geteuid() && !(is_roots(loader) && is_roots_file(program, st)) && !become_owner(st))
		_exit(127);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    getppid() != parent)
		_exit(127);
	execl(loader, loader, "--list", program, (char *)NULL);
	_exit(127);
}

/* @st: of the program. It is the only one on the list yet. */
static const char *ask_loader(struct linked *linked, const char *loader, const char *program,
			      const struct stat *st)
{
	char *list = malloc(LIST_MAX + 1);
	pid_t pid, parent = getpid();
	const char *error;
	int ends[2];

	if (!list || pipe(ends)) {
		free(list);
		return strerror(errno);
	}
	pid = fork();
	if (pid == 0)
		run_loader(loader, program, st, ends[1], parent);
	close(ends[1]);
	error = pid < 0 ? strerror(errno) : read_list(ends[0], list);
	close(ends[0]);
	if (pid > 0) {
		/* It, and what it has started, unless that has left its session. */
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (!error)
		error = parse_list(linked, list);
	/* Each loader lists itself at least, unless whoever runs it cannot read the program. */
	if (!error && linked->nr == 1)
		error = "its loader lists nothing: load a process that runs it, by -p PID";
	free(list);
	return error;
}

/**
 * linked_find - find a program and what it needs
 * @linked: filled in
 * @program: its path
 *
 * Return: NULL, or the error as a text. The caller calls linked_free() in both cases.
 */
const char *linked_find(struct linked *linked, const char *program)
{
	char path[PATH_MAX + 2], script[PATH_MAX + 2];
	unsigned int depth = 0;
	const char *error;
	bool is_script;
	struct stat st;

	*linked = (struct linked){};
	error = find_interpreter(program, &st, path, &is_script);
	/* A script may be the interpreter of another one. */
	while (!error && is_script) {
		memcpy(script, path, sizeof(script));
		program = script;
		if (depth++ == SCRIPTS_MAX)
			return "too many scripts are interpreters of each other";
		error = find_interpreter(script, &st, path, &is_script);
	}
	if (error)
		return error;
	error = add_path(linked, program);
	/* A static program needs nothing. */
	if (!error && *path)
		error = ask_loader(linked, path, program, &st);
	return error;
}

void linked_free(struct linked *linked)
{
	size_t i;

	for (i = 0; i < linked->nr; i++)
		free(linked->paths[i]);
	free(linked->paths);
	*linked = (struct linked){};
}
