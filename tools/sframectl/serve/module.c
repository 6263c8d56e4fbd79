// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the module is there, and takes stacks. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "module.h"
#include "report.h"

#define MODULE	"/sys/module/sframe_unwind"
#define ENABLED	MODULE "/parameters/enabled"
#define LOADED	MODULE "/version"

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
	FILE *file = fopen(ENABLED, "re");

	if (file && getc(file) == 'N')
		complain("the module is switched off, and takes no stack; type: echo Y > %s",
			 ENABLED);
	if (file)
		fclose(file);
}

/* After an upgrade the module of before stays until it is unloaded. */
void module_complain_if_other(void)
{
	FILE *file = fopen(LOADED, "re");
	char version[32] = "";

	if (file && fgets(version, sizeof(version), file)) {
		version[strcspn(version, "\n")] = '\0';
		if (strcmp(version, VERSION))
			complain("the loaded module has version %s, and this is sframectl " VERSION
				 ": an upgrade leaves the old module loaded; type: systemctl stop sframe-unwind; rmmod sframe_unwind; modprobe sframe_unwind; systemctl start sframe-unwind",
				 version);
	}
	if (file)
		fclose(file);
}
