/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the module is there, and takes stacks. */
#ifndef SFRAMECTL_MODULE_H
#define SFRAMECTL_MODULE_H

#include <stdbool.h>

bool module_is_loaded(void);
const char *module_missing(void);
const char *module_needs_root(const char *what);
void module_complain_missing(void);
void module_complain_if_off(void);
void module_complain_if_other(void);

#endif /* SFRAMECTL_MODULE_H */
