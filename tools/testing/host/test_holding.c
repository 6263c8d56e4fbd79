// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of holding.c with its real children. This program is the file that is looked at: it is
 * built with .sframe, and its compiler has written .eh_frame. Runs as root, as `sframectl why`
 * does.
 */
#include <linux/capability.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holding.h"
#include "vdso.h"

extern const char __executable_start[];

int main(void);

static bool all_passed = true;

static void end_case(const char *name, bool passes)
{
	printf("%sok - holding: %s\n", passes ? "" : "not ", name);
	fflush(stdout);
	all_passed = all_passed && passes;
}

/* The module holds nothing. */
const struct sframe_file *held_find(const struct held *held, const struct code *code, int fd)
{
	(void)held;
	(void)code;
	(void)fd;
	return NULL;
}

bool held_is_current(const struct sframe_file *file, int fd)
{
	(void)file;
	(void)fd;
	return true;
}

static struct place_object object_of(int fd)
{
	struct place_object object = {
		.code.name = "file", .file = { .is_open = true, .fd = fd },
	};

	if (fd < 0)
		abort();
	object.file.size = lseek(fd, 0, SEEK_END);
	return object;
}

static struct holding find(const struct place_object *object)
{
	const struct held held = {};
	struct holding holding;

	holding_find(&holding, object, &held);
	return holding;
}

static void finds_own(const struct place_object *self)
{
	u64 off = (u64)main - (u64)__executable_start;
	struct holding holding = find(self);

	end_case("a program with .sframe", holding.is_elf && !holding.is_32 && holding.has_sframe &&
		 !*holding.error && holding.nr_segments);
	end_case("its .sframe describes main()",
		 holding_describes(&holding, &holding.sframe, off));
	end_case("so does its .eh_frame", holding_describes(&holding, &holding.eh_frame, off));
	end_case("neither describes its header",
		 !holding_describes(&holding, &holding.sframe, 0) &&
		 !holding_describes(&holding, &holding.eh_frame, 0));
	holding_free(&holding);
}

static void finds_vdso(void)
{
	struct place_object object = { .code.name = VDSO_NAME };
	struct holding holding = find(&object);

	end_case("the vDSO", holding.is_elf && !holding.has_sframe && holding.eh_frame.nr &&
		 holding.nr_segments && !*holding.error);
	holding_free(&holding);
}

/* @want_elf: what the file counts as */
static void finds_nothing(const char *name, const char *bytes, size_t size, bool want_elf)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct place_object object;
	struct holding holding;

	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	object = object_of(fd);
	holding = find(&object);
	end_case(name, holding.is_elf == want_elf && !holding.has_sframe &&
		 want_elf == !!*holding.error);
	holding_free(&holding);
	close(fd);
}

/* Return: whether a file whose children fail counts as one without a table. */
static bool is_left(const struct place_object *self)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
	struct holding holding;

	if (syscall(SYS_capset, &header, none))
		abort();
	holding = find(self);
	return holding.is_elf && !holding.has_sframe && !holding.sframe.nr &&
	       !strcmp(holding.error,
		       "its converter cannot give up its rights: it needs CAP_SETUID, CAP_SETGID");
}

static void child_fails(const struct place_object *self)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(!is_left(self));
	waitpid(pid, &status, 0);
	end_case("its children fail", !status);
}

int main(void)
{
	struct place_object self = object_of(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	static const char magic[64] = "\177ELF";

	finds_own(&self);
	finds_vdso();
	finds_nothing("a text", "#!/bin/sh\n", 10, false);
	finds_nothing("a magic number and nothing else", magic, sizeof(magic), false);
	child_fails(&self);
	puts("1..8");
	return !all_passed;
}
