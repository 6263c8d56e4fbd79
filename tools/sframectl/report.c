// SPDX-License-Identifier: GPL-2.0-or-later
/* What is wrong, told on standard error, a line each. */
#include <stdarg.h>
#include <stdio.h>

#include "report.h"

/* What came out on standard output so far stays ahead of it. */
void complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("sframectl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/**
 * complain_defect - tell a defect
 * @obj: the file it is in
 * @name: what to call that
 * @place: where in its SFrame data
 * @defect: what
 */
void complain_defect(const struct object *obj, const char *name,
		     const struct scan_place *place, enum sframe_defect defect)
{
	bool guessed = !obj->is_elf && place->fde < 0;
	char where[64];

	complain("%s: %s%s: %s: %s", name,
		 guessed ? "no ELF file, so taken for a bare section: " : "",
		 scan_place_text(place, where, sizeof(where)),
		 sframe_defect_names[defect], sframe_defect_texts[defect]);
}

/**
 * complain_result - tell what a scan says of the whole
 * @name: what to call the file
 * @result: what the scan found
 *
 * Return: is the data bad?
 */
bool complain_result(const char *name, const struct scan_result *result)
{
	if (result->gave_up)
		complain("%s: its FDEs share rows many times over: gave up", name);
	return result->defects || result->gave_up;
}
