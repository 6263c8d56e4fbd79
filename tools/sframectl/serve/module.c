// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the module is there, and takes stacks; who serves its tables. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module.h"
#include "report.h"

#define MODULE		"/sys/module/sframe_unwind"
#define MEMORY_SHARE	8	/* of the memory, unless table_memory says more */

bool module_is_loaded(void)
{
	return !access(MODULE, F_OK);
}

/* Return: the error that the module is not loaded, as a text. */
const char *module_missing(void)
{
	return geteuid() ? "the module is not loaded; type: sudo modprobe sframe_unwind" :
			   "the module is not loaded; type: modprobe sframe_unwind";
}

/**
 * module_needs_root - explain a refusal
 * @what: what only root may do
 *
 * Return: the error as a text, until the next call.
 */
const char *module_needs_root(const char *what)
{
	static char text[128];

	/* Root of a user namespace has no rights over the machine, and sudo gives it none. */
	snprintf(text, sizeof(text), "only root may %s; %s", what,
		 geteuid() ? "put sudo before the command" :
			     "it needs CAP_SYS_ADMIN outside of all containers");
	return text;
}

void module_complain_missing(void)
{
	complain("%s", module_missing());
}

void module_complain_if_off(void)
{
	char text[8];

	if (module_read("parameters/enabled", text, sizeof(text)) && *text == 'N')
		complain("the module is switched off, and takes no stack; type: echo Y > %s",
			 MODULE "/parameters/enabled");
}

static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(text, size, file);

	if (is_read)
		text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
	return is_read;
}

/**
 * module_read - read the first line of a file of the module
 * @name: the file, such as parameters/enabled
 * @text: set to the line, without its end
 * @size: its room
 *
 * Return: whether there is one.
 */
bool module_read(const char *name, char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), MODULE "/%s", name);
	return read_line(path, text, size);
}

/* Return: the bytes that all tables may take, as the module reckons. */
u64 module_table_limit(void)
{
	char text[16] = "0";
	u64 limit;

	module_read("parameters/table_memory", text, sizeof(text));
	limit = strtoul(text, NULL, 10);
	return limit ? limit << 20 :
		(u64)sysconf(_SC_PHYS_PAGES) / MEMORY_SHARE * sysconf(_SC_PAGESIZE);
}

/* Return: what users may do with perf, see perf_event_open(2); -1 and more: the less, the more. */
int module_paranoid_level(void)
{
	char text[16];

	return read_line("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) ?
		atoi(text) : 0;
}

/* Is this the command line of `sframectl serve`? Its words end with bytes of 0. */
static bool is_server(const char *pid)
{
	char path[64], words[256] = "";
	const char *word = words, *name;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
	file = fopen(path, "re");
	len = file ? fread(words, 1, sizeof(words) - 1, file) : 0;
	if (file)
		fclose(file);
	name = strrchr(words, '/');
	if (strcmp(name ? name + 1 : words, "sframectl"))
		return false;
	while (word < words + len && strcmp(word, "serve"))
		word += strlen(word) + 1;
	return word < words + len;
}

static bool is_of_service(const char *pid)
{
	char path[64], line[PATH_MAX];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/cgroup", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/sframe-unwind.service");
	if (file)
		fclose(file);
	return found;
}

/**
 * module_find_server - find a process that serves tables
 * @is_service: set to whether it is the service, unless NULL
 *
 * Return: its PID; 0 if there is none; -1 if this user may not see the processes of others.
 */
pid_t module_find_server(bool *is_service)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)*entry->d_name) || !is_server(entry->d_name))
			continue;
		found = atoi(entry->d_name);
		if (is_service)
			*is_service = is_of_service(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return found ?: access("/proc/1/cmdline", R_OK);
}

/* Is the service installed, and does systemd run this machine? */
bool module_has_service(void)
{
	static const char *const places[] = {
		"/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
		"/lib/systemd/system",
	};
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/sframe-unwind.service", places[i]);
		if (!access(path, F_OK))
			return !access("/run/systemd/system", F_OK);
	}
	return false;
}
