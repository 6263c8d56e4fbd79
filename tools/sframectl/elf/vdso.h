/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vDSO of the running kernel. */
#ifndef VDSO_H
#define VDSO_H

#include "file.h"

/* As in /proc/PID/maps */
#define VDSO_NAME	"[vdso]"

static inline bool vdso_is_name(const char *name)
{
	return !strcmp(name, VDSO_NAME);
}

const char *vdso_open(struct file *file);

#endif /* VDSO_H */
