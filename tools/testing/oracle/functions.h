/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that an .eh_frame describes, with their instructions. */
#ifndef ORACLE_FUNCTIONS_H
#define ORACLE_FUNCTIONS_H

#include "object.h"
#include "ranges.h"

/* A sequence of call frame instructions. */
struct program {
	const u8	*ops;
	const u8	*end;
};

/**
 * struct function - an FDE and the instructions of its CIE
 * @start: its first address
 * @end: first address after it
 * @initial: instructions of the CIE
 * @own: instructions of the FDE
 * @code_factor: unit of advances
 * @data_factor: unit of offsets
 */
struct function {
	u64		start;
	u64		end;
	struct program	initial;
	struct program	own;
	u64		code_factor;
	s64		data_factor;
};

/* Sorted by address. @data is a copy of .eh_frame, with the instructions. */
struct functions {
	u8		*data;
	struct function	*all;
	size_t		nr;
};

const char *functions_read(struct functions *functions, const struct object *obj);
const struct function *functions_find(const struct functions *functions, u64 addr);
bool functions_section(const struct object *obj, const char *name, struct elf_section *sec);
struct ranges functions_ranges(const struct functions *functions);
void functions_free(struct functions *functions);

#endif /* ORACLE_FUNCTIONS_H */
