// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * child.c - run the real perf: in this process, as a child whose output is read, or as a child
 * that is waited for
 *
 * A child that is waited for must not notice this program, and neither must its caller:
 *
 * - It gets the signal mask and the dispositions that this program was given.
 * - A signal that is sent to this program is sent on. Those of the terminal have reached the whole
 *   process group already.
 * - When it stops, this program stops. When this program continues, it continues.
 * - This program ends as the child did: with its exit status, or by its signal.
 * - If this program is killed by SIGKILL, so is the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrapper.h"

/**
 * exec_real() - become the real perf
 * @real: its path. A script without "#!" is run by the shell, as the shell itself would.
 * @argv: its command line
 */
void exec_real(const char *real, char *const argv[])
{
	int error;

	execvp(real, argv);
	error = errno;
	say("cannot run %s, the real perf: %s. PERF_REAL=FILE names another",
	    real, strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

static void run_for_output(const char *real, char *const argv[], int output)
{
	int null = open("/dev/null", O_RDONLY);

	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	exec_real(real, argv);
}

static char *read_all(int fd)
{
	size_t len = 0, room = 65536;
	char *buffer = malloc(room);
	ssize_t got = 1;

	while (buffer && got > 0) {
		if (len == room - 1)
			buffer = realloc(buffer, room *= 2);
		got = buffer ? read(fd, buffer + len, room - 1 - len) : 0;
		len += got > 0 ? got : 0;
	}
	if (!buffer)
		die(1, "out of memory");
	buffer[len] = '\0';
	return buffer;
}

/**
 * output_of() - run the real perf, and return what it writes to stdout and stderr
 * @real: its path
 * @command: a command of perf, such as record
 * @option: an option of the command
 */
char *output_of(const char *real, const char *command, const char *option)
{
	/* Called by another name, such as perf-6.19, perf would take the name for a command. */
	char *const argv[] = { "perf", (char *)command, (char *)option, NULL };
	char *output;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		die(1, "cannot create a pipe to the real perf: %s; nothing was recorded",
		    strerror(errno));
	pid = fork();
	if (pid < 0)
		die(1, "cannot start the real perf: %s; nothing was recorded", strerror(errno));
	if (!pid)
		run_for_output(real, argv, ends[1]);
	close(ends[1]);
	output = read_all(ends[0]);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return output;
}

/* stop_like: stop by the signal that stopped the child, until somebody continues this program */
static void stop_like(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	raise(signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* has_ended: look what the child did. If it stopped and was not continued, stop as well. */
static bool has_ended(pid_t pid, int *status)
{
	int stopped = 0;

	while (waitpid(pid, status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
		if (WIFEXITED(*status) || WIFSIGNALED(*status))
			return true;
		stopped = WIFSTOPPED(*status) ? WSTOPSIG(*status) : 0;
	}
	if (stopped)
		stop_like(stopped);
	return false;
}

/*
 * is_for_group: did the kernel send this signal to the whole process group, as a terminal makes
 * it do?
 */
static bool is_for_group(const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL)
		return false;
	switch (info->si_signo) {
	case SIGHUP:
		/* When a terminal hangs up, only the leader of its session gets this. */
		return getsid(0) != getpid();
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGWINCH:
		return true;
	default:
		return false;
	}
}

/*
 * attend: wait for the child, and pass signals on to it. All signals are blocked. Returns its
 * wait status.
 */
static int attend(pid_t pid)
{
	siginfo_t info;
	sigset_t all;
	int status;

	sigfillset(&all);
	while (!has_ended(pid, &status)) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		/*
		 * SIGCONT has continued this program. The child got its own if the whole group
		 * did; a second one is harmless.
		 */
		if (info.si_signo != SIGCHLD && !is_for_group(&info))
			kill(pid, info.si_signo);
	}
	return status;
}

/**
 * run_child() - run the real perf as a child, and wait for its end
 * @real: its path
 * @argv: its command line
 *
 * Return: its wait status. All signals stay blocked.
 */
int run_child(const char *real, char *const argv[])
{
	struct sigaction given, by_default = { .sa_handler = SIG_DFL };
	sigset_t all, mask;
	pid_t parent = getpid(), pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	/* While SIGCHLD is ignored, a child leaves no status. */
	sigaction(SIGCHLD, &by_default, &given);
	pid = fork();
	if (pid < 0)
		die(1, "cannot start the real perf: %s; nothing was recorded", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may have been killed before prctl(). */
		if (getppid() != parent)
			_exit(1);
		sigaction(SIGCHLD, &given, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		exec_real(real, argv);
	}
	return attend(pid);
}

/**
 * end_like() - end this program as a child ended
 * @status: the child's wait status
 */
void end_like(int status)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct rlimit no_core = { };
	sigset_t set;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	/* The child has dumped its core. */
	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigaction(WTERMSIG(status), &by_default, NULL);
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + WTERMSIG(status));
}
