// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tables.c - bring the SFrame tables of what is recorded: load those of what runs already, or of
 * the program and its libraries, and serve those of what starts while perf records
 *
 * sframectl does the work. Only root may load tables: for others a service may do so. With
 * the word mapped, or SFU_TABLES=no in the environment, none are brought.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrapper.h"

/* The files of others shall not keep a recording from its start: serve makes what is left. */
#define LOAD_SECONDS	"60"

/* How long the process that serves may take to end. */
#define END_MS		5000

/* start_sframectl: it writes to @output, or nowhere if that is below 0; 0 if it cannot start */
static pid_t start_sframectl(char *const argv[], int output)
{
	pid_t parent = getpid(), pid = fork();
	int null;

	if (pid)
		return pid < 0 ? 0 : pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(output < 0 ? null : output, STDOUT_FILENO);
	if (output < 0)
		dup2(null, STDERR_FILENO);
	/* A signal of the terminal is for the program that is recorded. */
	setpgid(0, 0);
	/* It may write to the terminal all the same: see `stty tostop`. */
	signal(SIGTTOU, SIG_IGN);
	execv(argv[0], argv);
	_exit(127);
}

/* The file of the program that perf will run, or NULL. */
static char *workload_file(const struct command *command)
{
	if (!command->workload || strchr(command->workload, '/'))
		return (char *)command->workload;
	return find_in_path(command->workload);
}

/**
 * need_processes() - end the program if perf is to record a process that is not there
 * @pids: the processes or threads, as perf takes them ("7,8"), or NULL
 *
 * perf would fail as well, but only after tables were loaded.
 */
void need_processes(const char *pids)
{
	while (pids) {
		long pid = strtol(pids, NULL, 10);

		if (pid > 0 && pid <= INT_MAX && kill(pid, 0) && errno == ESRCH)
			die(1, "%ld: no such process or thread; nothing was recorded", pid);
		pids = strchr(pids, ',');
		pids += !!pids;
	}
}

/* Loads those of all that is sampled and known before perf begins. */
static void load_tables(char *sframectl, const struct command *command)
{
	char *file = workload_file(command);
	struct words words = {};
	unsigned int nr;
	pid_t pid;

	add_word(&words, sframectl);
	add_word(&words, "load");
	add_word(&words, "--within");
	add_word(&words, LOAD_SECONDS);
	nr = words.nr;
	/* To perf, processes count more than "all". */
	if (command->pid) {
		add_word(&words, "-p");
		add_word(&words, (char *)command->pid);
	} else if (command->all || !command->workload) {
		add_word(&words, "--all");
	}
	if (file && !command->pid) {
		add_word(&words, "--linked");
		add_word(&words, file);
	}
	if (words.nr == nr)
		return;
	pid = start_sframectl(words.word, command->quiet ? -1 : STDERR_FILENO);
	if (pid)
		waitpid(pid, NULL, 0);
}

/**
 * begin_tables() - load tables, and serve those that will be wanted
 * @command: what is recorded
 *
 * Return: the process that serves, for end_tables(); 0 if there is none.
 */
pid_t begin_tables(const struct command *command)
{
	char *sframectl;

	if (command->mapped || !strcmp(variable("SFU_TABLES", ""), "no") ||
	    access(variable("SFU_DEVICE", "/dev/sframe_unwind"), R_OK | W_OK))
		return 0;
	sframectl = find_in_path("sframectl");
	if (!sframectl) {
		if (!command->quiet)
			say("sframectl is not in PATH, so no tables are loaded: install it");
		return 0;
	}
	load_tables(sframectl, command);
	return start_sframectl((char *[]){ sframectl, "serve", NULL }, -1);
}

/**
 * end_tables() - end what begin_tables() has started
 * @pid: the process, or 0
 */
void end_tables(pid_t pid)
{
	unsigned int ms;

	if (!pid)
		return;
	kill(pid, SIGTERM);
	/* A file system that does not answer may hold it. */
	for (ms = 0; ms < END_MS; ms += 10) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, WNOHANG);
}
