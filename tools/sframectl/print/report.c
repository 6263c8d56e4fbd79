// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports errors and defects on standard error, and tables on standard output, one per line. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "name.h"
#include "report.h"

/*
 * Standard output is flushed first: its lines then come before this one. The line
 * may have names that others chose in any place, so all of it is printed as a name.
 */
void complain(const char *format, ...)
{
	va_list args;
	char *line;

	fflush(stdout);
	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	fputs("sframectl: ", stderr);
	name_print(stderr, line ? line : "out of memory");
	fputc('\n', stderr);
	free(line);
}

/* Complains of a file. If its name is a number, the user may have meant a process. */
void complain_name(const char *name, const char *error)
{
	bool is_number = *name && !name[strspn(name, "0123456789")];

	complain("%s: %s%s%s", name, error, is_number ? "; if it is a process, type: -p " : "",
		 is_number ? name : "");
}

/**
 * complain_defect - report a defect
 * @obj: the file with the defect
 * @name: the name of @obj in the report
 * @place: the place of the defect in the SFrame data
 * @defect: the defect
 */
void complain_defect(const struct object *obj, const char *name,
		     const struct scan_place *place, enum sframe_defect defect)
{
	bool guessed = !obj->is_elf && place->fde < 0;
	char where[64];

	complain("%s: %s%s: %s: %s", name,
		 guessed ? "no ELF file, so taken for a bare section: " : "",
		 scan_place_text(place, where, sizeof(where)),
		 sframe_defects[defect].name, sframe_defects[defect].text);
}

/**
 * complain_result - report the result of a scan
 * @name: the name of the file in the report
 * @result: the result
 *
 * Return: true if the data is bad.
 */
bool complain_result(const char *name, const struct scan_result *result)
{
	if (result->gave_up)
		complain("%s: its FDEs share rows many times over: gave up", name);
	return result->defects || result->gave_up;
}

/**
 * print_table - report what has become of the table of a file
 * @name: the file
 * @size: bytes of the table
 * @error: why there is none, or NULL; it may have words of a child that has been taken over
 */
void print_table(const char *name, u64 size, const char *error)
{
	if (error)
		printf("%9s  ", "-");
	else
		printf("%9" PRIu64 "  ", size);
	name_print(stdout, name);
	if (error) {
		fputs(": ", stdout);
		name_print(stdout, error);
	}
	putchar('\n');
	fflush(stdout);
}
