// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what of this machine keeps stacks from being complete. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "findings.h"
#include "module.h"
#include "sframe_types.h"
#include "text.h"

/* The tests have a root of their own. */
#ifndef ROOT
#define ROOT		""
#endif

#define MODULES		ROOT "/lib/modules/%s"
#define SECURE_BOOT								\
	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* The wrapper has it in its first page, see tools/perf-sframe/real.c. */
#define WRAPPER		"sframe_unwind's wrapper named perf"
#define FIRST_PAGE	4096

/* The values at the end are those of @what. */
__printf(3, 6)
static void add(struct findings *findings, bool is_note, const char *what, const char *means,
		const char *action, ...)
{
	struct finding *finding = &findings->all[findings->nr];
	va_list args;

	if (findings->nr == FINDINGS_MAX)
		return;
	findings->nr++;
	findings->nr_problems += !is_note;
	finding->is_note = is_note;
	finding->means = means;
	snprintf(finding->action, sizeof(finding->action), "%s", action);
	va_start(args, action);
	vsnprintf(finding->what, sizeof(finding->what), what, args);
	va_end(args);
}

/* Return: whether a file can be read and has this text in one of its lines. */
static bool contains(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char *line = NULL;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) > 0)
		found = strstr(line, text);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* The options of the kernel are in one of these files. It does not matter if none is there. */
static void check_options(struct findings *findings, const char *release)
{
	static const char *const places[] = {
		ROOT "/boot/config-%s", MODULES "/config",
		MODULES "/build/include/config/auto.conf",
	};
	/* As in dkms.conf. */
	static const char *const options[] = {
		"CONFIG_PERF_EVENTS", "CONFIG_DYNAMIC_FTRACE_WITH_ARGS", "CONFIG_IRQ_WORK",
		"CONFIG_KPROBES",
	};
	char path[PATH_MAX], line[64];
	size_t place = 0, i;

	do
		snprintf(path, sizeof(path), places[place], release);
	while (access(path, R_OK) && ++place < ARRAY_SIZE(places));
	for (i = 0; i < ARRAY_SIZE(options) && place < ARRAY_SIZE(places); i++) {
		snprintf(line, sizeof(line), "%s=y", options[i]);
		if (!contains(path, line))
			add(findings, false, "The kernel %s is built without %s.",
			    "The module needs this option. It cannot be built for this kernel.",
			    "Boot a kernel that has it, such as Debian's (on arm64 from 6.12 on).",
			    release, options[i]);
	}
}

static bool is_too_old(const struct utsname *name)
{
	unsigned int major = 0, minor = 0, least = strcmp(name->machine, "aarch64") ? 1 : 12;

	if (sscanf(name->release, "%u.%u", &major, &minor) != 2)
		return false;
	return major < 6 || (major == 6 && minor < least);
}

static void check_installation(struct findings *findings, const char *release)
{
	char path[PATH_MAX], action[256];

	snprintf(path, sizeof(path), MODULES "/modules.dep", release);
	if (contains(path, "/sframe_unwind.ko"))
		return;
	snprintf(path, sizeof(path), MODULES "/build/Makefile", release);
	if (!access(path, F_OK)) {
		add(findings, false, "The module is not installed for the kernel %s.",
		    "The headers of this kernel are there, so the module can be built.",
		    "With the packages, type: dkms autoinstall. With the sources: make install",
		    release);
		return;
	}
	snprintf(action, sizeof(action),
		 "Type: apt install linux-headers-%s (kernel-devel or linux-headers elsewhere).",
		 release);
	add(findings, false, "The headers of the kernel %s are not installed.",
	    "Without them, neither DKMS nor make can build the module for this kernel.", action,
	    release);
}

/* A variable of EFI has four bytes of attributes before its value. */
static bool has_secure_boot(void)
{
	int fd = open(SECURE_BOOT, O_RDONLY | O_CLOEXEC);
	unsigned char value[5] = {};
	ssize_t len = fd < 0 ? 0 : read(fd, value, sizeof(value));

	if (fd >= 0)
		close(fd);
	return len == sizeof(value) && value[4] == 1;
}

/* What modprobe would meet. */
static void check_loading(struct findings *findings)
{
	if (contains("/proc/sys/kernel/ftrace_enabled", "0")) {
		add(findings, false, "ftrace is switched off: kernel.ftrace_enabled is 0.",
		    "The module hooks the kernel by ftrace, and cannot load without it.",
		    "Type: sysctl kernel.ftrace_enabled=1; modprobe sframe_unwind");
		return;
	}
	if (has_secure_boot() || contains("/sys/module/module/parameters/sig_enforce", "Y"))
		add(findings, true, "The kernel loads signed modules only (Secure Boot).",
		    "It has to know the key that has signed the module.",
		    "If modprobe says `Key was rejected by service`, type: mokutil --import /var/lib/dkms/mok.pub, reboot, and choose Enroll MOK.");
	add(findings, false, "The module is not loaded.",
	    "The kernel walks user stacks itself, by frame pointers, which most programs lack.",
	    geteuid() ? "Type: sudo modprobe sframe_unwind" : "Type: modprobe sframe_unwind");
}

static void check_absent_module(struct findings *findings, const struct utsname *name)
{
	if (strcmp(name->machine, "x86_64") && strcmp(name->machine, "aarch64")) {
		add(findings, false, "This machine is %s.",
		    "The module is for x86_64 and arm64 (aarch64) only.",
		    "Profile on another machine.", name->machine);
		return;
	}
	if (is_too_old(name))
		add(findings, false, "The kernel %s is too old.",
		    "The module needs Linux 6.1 or later, on arm64 6.12 or later.",
		    "Boot a newer kernel.", name->release);
	check_options(findings, name->release);
	if (findings->nr)
		return;
	check_installation(findings, name->release);
	if (!findings->nr)
		check_loading(findings);
}

static void check_module(struct findings *findings, const struct utsname *name)
{
	char text[64];

	if (module_read("parameters/enabled", text, sizeof(text)) && *text == 'N')
		add(findings, false, "The module is switched off.",
		    "It takes no stack: the kernel walks user stacks itself, by frame pointers.",
		    "Type: echo Y > /sys/module/sframe_unwind/parameters/enabled");
	if (module_read("version", text, sizeof(text)) && strcmp(text, VERSION))
		add(findings, false, "The loaded module has version %s, and sframectl has %s.",
		    "An upgrade leaves the old module loaded until the machine starts again.",
		    "Type: systemctl stop sframe-unwind; rmmod sframe_unwind; modprobe sframe_unwind; systemctl start sframe-unwind",
		    text, VERSION);
	if (!module_find_server(NULL))
		add(findings, false, "Nothing serves tables: sframectl serve does not run.",
		    "Programs without .sframe of their own get tables from sframectl load and from recordings by root only.",
		    module_has_service() ? "Type: systemctl enable --now sframe-unwind" :
					   "Type: sframectl serve &");
	/* Only kernels of x86 from 6.17 on can defer. */
	if (module_read("parameters/hooks", text, sizeof(text)) && !strstr(text, "deferred") &&
	    !strcmp(name->machine, "x86_64") && strverscmp(name->release, "6.17") >= 0)
		add(findings, true, "Deferred stacks are left to the kernel.",
		    "Another user of ftrace, such as a live patch, may own unwind_user().",
		    "The kernel's log says why: dmesg | grep sframe_unwind");
}

static void check_users(struct findings *findings)
{
	int level = module_paranoid_level();

	if (level > 2)
		add(findings, true, "Only root may profile: kernel.perf_event_paranoid is %d.",
		    "perf refuses the recordings of other users.",
		    "To let users profile their own programs, type: sysctl kernel.perf_event_paranoid=2",
		    level);
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static bool is_wrapper(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char page[FIRST_PAGE];
	ssize_t len = fd < 0 ? 0 : read(fd, page, sizeof(page));

	if (fd >= 0)
		close(fd);
	return len > 0 && memmem(page, len, WRAPPER, strlen(WRAPPER));
}

/* Which programs of a name count. */
enum wanted { ANY, REAL_ONLY };

/* Finds the first program of this name and kind in PATH. */
static bool find_program(const char *name, enum wanted wanted, char *path, size_t size)
{
	const char *dirs = getenv("PATH") ?: "", *end;

	for (;; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		snprintf(path, size, "%.*s/%s", (int)(end - dirs), dirs, name);
		if (*dirs == '/' && is_program(path) &&
		    (wanted == ANY || !is_wrapper(path)))
			return true;
		if (!*end)
			return false;
	}
}

/**
 * findings_perf - find the perf that a user gets, and what it knows
 * @path: set to its path
 * @size: its room
 *
 * Return: what it knows.
 */
enum findings_perf findings_perf(char *path, size_t size)
{
	char subcommand[PATH_MAX];

	if (!find_program("perf", ANY, path, size))
		return FINDINGS_NO_PERF;
	if (is_wrapper(path))
		return FINDINGS_WRAPPER;
	if (find_program("perf-sframe", ANY, subcommand, sizeof(subcommand)))
		return FINDINGS_SUBCOMMAND;
	return FINDINGS_PLAIN_PERF;
}

static void check_perf(struct findings *findings)
{
	char path[PATH_MAX], other[PATH_MAX];
	enum findings_perf perf = findings_perf(path, sizeof(path));

	if (perf == FINDINGS_NO_PERF) {
		add(findings, true, "There is no perf in PATH.",
		    "Only other tools that take user stacks can be used, such as bpftrace.",
		    "Type: apt install linux-perf");
	} else if (perf == FINDINGS_PLAIN_PERF) {
		add(findings, true, "perf-sframe is not in PATH.",
		    "perf record -g gets complete stacks, but loads no tables before it begins.",
		    "Install the package sframe-unwind, or type in the sources: make install-tools");
	} else if (perf == FINDINGS_WRAPPER &&
		   !find_program("perf", REAL_ONLY, other, sizeof(other))) {
		add(findings, true,
		    "%s is the wrapper of perf, and PATH has no perf that it can run.",
		    "perf records nothing.", "Type: apt install linux-perf", path);
	} else if (!find_program("sframectl", ANY, other, sizeof(other))) {
		add(findings, true, "sframectl is not in PATH.",
		    "perf-sframe looks for it there, and loads no tables.",
		    "Install it beside perf-sframe, or add its directory to PATH.");
	}
}

/**
 * findings_collect - find what is missing or in the way
 * @findings: filled in
 */
void findings_collect(struct findings *findings)
{
	struct utsname name;

	*findings = (struct findings){};
	uname(&name);
	if (module_is_loaded())
		check_module(findings, &name);
	else
		check_absent_module(findings, &name);
	check_users(findings);
	check_perf(findings);
}
