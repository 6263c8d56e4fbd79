// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * module.c - what the module says of itself in /sys
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wrapper.h"

/**
 * module_file() - where the module shows one of its files
 * @name: the file, relative to the module's directory in /sys
 *
 * Return: the path.
 */
char *module_file(const char *name)
{
	return text("%s/module/sframe_unwind/%s", variable("SFU_SYSFS", "/sys"), name);
}

/**
 * module_state() - is the module loaded, and does it take the stacks?
 */
enum module_state module_state(void)
{
	char *enabled = read_file(module_file("parameters/enabled"));

	if (access(module_file(""), F_OK))
		return MODULE_ABSENT;
	return enabled && strchr("Y1", *enabled) ? MODULE_ON : MODULE_OFF;
}

/**
 * need_module() - end the program unless the module takes the stacks
 */
void need_module(void)
{
	switch (module_state()) {
	case MODULE_ON:
		return;
	case MODULE_OFF:
		die(1,
		    "--call-graph=sframe: the kernel module sframe_unwind is loaded, but switched off. Type:\n"
		    "    echo Y | sudo tee %s", module_file("parameters/enabled"));
	case MODULE_ABSENT:
		die(1,
		    "--call-graph=sframe needs the kernel module sframe_unwind, which is not loaded. Type:\n"
		    "    sudo modprobe sframe_unwind\n"
		    "If that finds no module, none was built for this kernel. With the package sframe-unwind-dkms, type:\n"
		    "    sudo apt install linux-headers-$(uname -r)\n"
		    "Without the package, in the directory where it was built: sudo insmod sframe_unwind.ko");
	}
}

/**
 * module_defers() - can the module and this kernel take deferred stacks?
 */
bool module_defers(void)
{
	char *hooks = read_file(module_file("parameters/hooks")), *word;

	while ((word = strsep(&hooks, ",\n"))) {
		if (!strcmp(word, "deferred"))
			return true;
	}
	return false;
}
