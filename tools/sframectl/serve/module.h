/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the module is there, and takes stacks. */
#ifndef SFRAMECTL_MODULE_H
#define SFRAMECTL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sframe_types.h"

bool module_is_loaded(void);
u64 module_table_limit(void);
bool module_read(const char *name, char *text, size_t size);
pid_t module_find_server(bool *is_service);
bool module_has_service(void);
int module_paranoid_level(void);
const char *module_missing(void);
const char *module_needs_root(const char *what);
void module_complain_missing(void);
void module_complain_if_off(void);

#endif /* SFRAMECTL_MODULE_H */
