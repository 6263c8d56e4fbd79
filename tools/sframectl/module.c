// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the module is there, and takes stacks. */
#include <stdio.h>
#include <unistd.h>

#include "module.h"
#include "report.h"

#define MODULE	"/sys/module/sframe_unwind"
#define ENABLED	MODULE "/parameters/enabled"

bool module_is_loaded(void)
{
	return !access(MODULE, F_OK);
}

void module_complain_missing(void)
{
	complain("the module is not loaded; type: %smodprobe sframe_unwind",
		 geteuid() ? "sudo " : "");
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
