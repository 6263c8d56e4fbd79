/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports errors and defects on standard error, and tables on standard output, one per line. */
#ifndef SFRAMECTL_REPORT_H
#define SFRAMECTL_REPORT_H

#include "object.h"
#include "scan.h"

__printf(1, 2)
void complain(const char *format, ...);
void complain_name(const char *name, const char *error);
void complain_defect(const struct object *obj, const char *name,
		     const struct scan_place *place, enum sframe_defect defect);
void print_table(const char *name, u64 size, const char *error);
bool complain_result(const char *name, const struct scan_result *result);

#endif /* SFRAMECTL_REPORT_H */
