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
 *
 * If perf itself runs this program, that outer perf ends at once by Ctrl-C, and the shell would go
 * on while the child still writes its file. So the child gets the terminal: its process group
 * becomes the foreground. This program then passes on what the child did to the group that it
 * shares with the outer perf, such as a stop by Ctrl-Z.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrapper.h"

/* The terminal that the child leads, or -1. */
static int terminal = -1;

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

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die(1, "cannot start the real perf: %s; nothing was recorded", strerror(errno));
	return pid;
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
	/* stdin may be closed: not in its place. */
	int file = fcntl(memfd_create("output", MFD_CLOEXEC), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	char *output;
	pid_t pid;

	if (file < 0)
		die(1, "cannot read the output of perf: %s; nothing was recorded", strerror(errno));
	pid = fork_child();
	if (!pid) {
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
		dup2(file, STDOUT_FILENO);
		dup2(file, STDERR_FILENO);
		exec_real(real, argv);
	}
	waitpid(pid, NULL, 0);
	output = read_file(text("/proc/self/fd/%d", file));
	close(file);
	return output ?: "";
}

/* ---- the terminal ---- */

/*
 * lead_terminal: if this program and its parent share the foreground of a terminal, the child is to
 * lead it. In a pipe, other programs of the group may want the terminal.
 */
static void lead_terminal(void)
{
	struct stat out;

	if (getpgid(getppid()) != getpgrp() || fstat(STDOUT_FILENO, &out) || S_ISFIFO(out.st_mode))
		return;
	terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (terminal >= 0 && tcgetpgrp(terminal) != getpgrp()) {
		close(terminal);
		terminal = -1;
	}
}

/* pass_terminal: if @from has the terminal, give it to @to. SIGTTOU is blocked. */
static void pass_terminal(pid_t from, pid_t to)
{
	if (terminal >= 0 && tcgetpgrp(terminal) == from)
		tcsetpgrp(terminal, to);
}

/* raise_like: what the child got from the terminal, the group has to get, too */
static void raise_like(int signal)
{
	if (terminal >= 0)
		kill(0, signal);
	else
		raise(signal);
}

/* ---- a child that is waited for ---- */

/*
 * stop_like: stop by the signal that stopped the child, until somebody continues this program. A
 * group that no shell can continue does not stop; then the child has to go on.
 */
static void stop_like(pid_t pid, int signal)
{
	sigset_t set;

	pass_terminal(pid, getpgrp());
	sigemptyset(&set);
	sigaddset(&set, signal);
	raise_like(signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigpending(&set);
	if (terminal >= 0 && !sigismember(&set, SIGCONT)) {
		pass_terminal(getpgrp(), pid);
		kill(-pid, SIGCONT);
	}
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
		stop_like(pid, stopped);
	return false;
}

/*
 * has_reached_child: did the kernel send this signal to the whole process group, as a terminal
 * makes it do, and is the child in that group?
 */
static bool has_reached_child(const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL || terminal >= 0)
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
		if (sigwaitinfo(&all, &info) < 0 || info.si_signo == SIGCHLD ||
		    has_reached_child(&info))
			continue;
		/* After `fg`, the shell has given the terminal to this group. */
		if (info.si_signo == SIGCONT)
			pass_terminal(getpgrp(), pid);
		/* SIGCONT: a child of the group has its own already; a second one is harmless. */
		kill(terminal >= 0 ? -pid : pid, info.si_signo);
	}
	pass_terminal(pid, getpgrp());
	return status;
}

/**
 * run_child() - run the real perf as a child, and wait for its end
 * @real: its path
 * @argv: its command line
 * @may_lead: perf itself may have started this program
 *
 * Return: its wait status. All signals stay blocked.
 */
int run_child(const char *real, char *const argv[], bool may_lead)
{
	struct sigaction given, by_default = { .sa_handler = SIG_DFL };
	pid_t parent = getpid(), pid;
	sigset_t all, mask;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	/* While SIGCHLD is ignored, a child leaves no status. */
	sigaction(SIGCHLD, &by_default, &given);
	if (may_lead)
		lead_terminal();
	pid = fork_child();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may have been killed before prctl(). */
		if (getppid() != parent)
			_exit(1);
		if (terminal >= 0) {
			setpgid(0, 0);
			tcsetpgrp(terminal, getpid());
		}
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
	int signal;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	signal = WTERMSIG(status);
	/* The child has dumped its core. */
	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigaction(signal, &by_default, NULL);
	if (signal == SIGINT || signal == SIGQUIT)
		raise_like(signal);
	else
		raise(signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + signal);
}
