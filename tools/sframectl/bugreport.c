// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl report: writes what a maintainer asks for into one file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "name.h"
#include "report.h"
#include "sframectl.h"

#define MODULE		"/sys/module/sframe_unwind"
#define PARAMETERS	MODULE "/parameters"

/* The commands of syslog(2). */
#define LOG_READ_ALL	3
#define LOG_SIZE	10

static const char usage[] =
"Usage: sframectl report [-o FILE]\n"
"\n"
"Writes what a maintainer asks for into one file, to attach to a bug report: the\n"
"system, the versions, and what status, doctor, stats and tables print. Its head\n"
"says what is in it. As root it is complete.\n"
"\n"
"Options:\n"
"  -o, --output FILE  the file, which must not exist; else\n"
"                     sframectl-report-DATE-TIME.txt in the current directory\n"
"  --help             this text\n";

static const char head[] =
"A report of sframectl, to attach to a bug report. Please read it before you send it.\n"
"\n"
"In it: kernel and distribution; the versions of the module, of sframectl and of perf;\n"
"what sframectl status, doctor and stats --all print; the module's parameters; for which\n"
"files it holds tables; and those lines of the kernel's log that name the module.\n"
"Not in it: the name of the machine, users, addresses, command lines, environments,\n"
"recordings, and names of files outside of /usr, /lib, /bin, /sbin and /opt.\n"
"\n"
"Add: what you typed, what came out, and what you expected.\n";

static void print_title(const char *title)
{
	printf("\n== %s\n", title);
}

/* Names and log lines are anybody's. */
static void print_text(const char *text)
{
	name_print(stdout, text);
	putchar('\n');
}

/* Prints those lines of a file that begin with @start, which the line does not show. */
static void print_lines(FILE *file, const char *title, const char *start)
{
	size_t len = strlen(start), room = 0;
	char *line = NULL;

	while (file && getline(&line, &room, file) > 0) {
		if (strncmp(line, start, len))
			continue;
		line[strcspn(line, "\n")] = '\0';
		printf("%s", title);
		print_text(line + len);
	}
	free(line);
	if (file)
		fclose(file);
}

static void print_system(void)
{
	struct utsname name;

	print_title("system");
	uname(&name);
	printf("%s %s %s %s\n", name.sysname, name.release, name.version, name.machine);
	print_lines(fopen("/etc/os-release", "re"), "", "PRETTY_NAME=");
	printf("%ld processors, %ld MiB\n", sysconf(_SC_NPROCESSORS_ONLN),
	       sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024));
}

static void print_versions(void)
{
	FILE *perf;

	print_title("versions");
	puts("sframectl " VERSION);
	print_lines(fopen(MODULE "/version", "re"), "sframe_unwind ", "");
	print_lines(fopen(MODULE "/srcversion", "re"), "sframe_unwind's sources ", "");
	fflush(stdout);
	perf = popen("perf --version 2>&1", "re");
	if (perf) {
		char line[256] = "";

		if (fgets(line, sizeof(line), perf)) {
			line[strcspn(line, "\n")] = '\0';
			print_text(line);
		}
		pclose(perf);
	}
}

static void print_parameters(void)
{
	DIR *dir = opendir(PARAMETERS);
	struct dirent *entry;
	char path[512];

	print_title("parameters");
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), PARAMETERS "/%s", entry->d_name);
		printf("%s", entry->d_name);
		print_lines(fopen(path, "re"), "\t", "");
	}
	if (dir)
		closedir(dir);
}

/* The log has lines of others, too, which are no business of a maintainer's. */
static void print_log(void)
{
	int size = klogctl(LOG_SIZE, NULL, 0), len = -1;
	char *log = size > 0 ? malloc(size) : NULL, *rest, *line;

	print_title("kernel log");
	if (log)
		len = klogctl(LOG_READ_ALL, log, size);
	if (len < 0) {
		printf("cannot be read: %s\n", strerror(errno));
		free(log);
		return;
	}
	log[len < size ? len : size - 1] = '\0';
	rest = log;
	while ((line = strsep(&rest, "\n")))
		if (strstr(line, "sframe_unwind"))
			print_text(line);
	free(log);
}

static void run_command(const struct command *command, const struct arguments *args)
{
	print_title(command->name);
	command->run(args);
}

static void write_report(void)
{
	static const struct arguments none, all = { .all = true };

	fputs(head, stdout);
	print_system();
	print_versions();
	run_command(&status_command, &none);
	run_command(&doctor_command, &none);
	run_command(&stats_command, &all);
	print_parameters();
	print_title("tables");
	tables_report();
	print_log();
}

/* Standard output and standard error are the file while this returns. */
static bool write_to(int file)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	bool is_written;

	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	dup2(file, STDERR_FILENO);
	write_report();
	is_written = !fflush(stdout) && !ferror(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	return is_written;
}

static enum status run(const struct arguments *args)
{
	char name[64];
	const char *path = args->output ?: name;
	time_t now = time(NULL);
	bool is_written;
	int file;

	if (args->nr_names) {
		complain("report: %s: give the name of the file by -o FILE", args->names[0]);
		return STATUS_USAGE;
	}
	strftime(name, sizeof(name), "sframectl-report-%Y%m%d-%H%M%S.txt", localtime(&now));
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (file < 0) {
		complain("%s: %s; give another name by -o FILE", path, strerror(errno));
		return STATUS_BAD;
	}
	is_written = write_to(file);
	close(file);
	if (!is_written) {
		complain("%s: cannot be written", path);
		return STATUS_BAD;
	}
	fputs("Written: ", stdout);
	print_text(path);
	puts("Please read it before you send it.");
	if (geteuid())
		puts("It lacks what only root may see: sudo sframectl report has all.");
	return STATUS_OK;
}

const struct command report_command = {
	.name = "report",
	.usage = usage,
	.options = "o",
	.run = run,
};
