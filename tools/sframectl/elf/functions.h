/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of an ELF file, by its own symbols. */
#ifndef SFRAMECTL_FUNCTIONS_H
#define SFRAMECTL_FUNCTIONS_H

#include "elf.h"
#include "ranges.h"

/* Room for the name of a function. A longer name ends in "...". */
#define FUNCTION_NAME_SIZE	1024

/**
 * struct function - a function
 * @addr: its address
 * @size: its bytes; 0 if its author did not say
 * @missing: how many of them are not covered; 1 if @size is 0
 * @name: the place of its name in the table of names
 */
struct function {
	u64	addr;
	u64	size;
	u64	missing;
	u32	name;
};

/**
 * struct functions - the functions that are not covered, by address
 * @all: each place once, though it may have several names
 * @nr: number of functions
 * @names: the section of the names
 */
struct functions {
	struct function		*all;
	size_t			nr;
	struct elf_section	names;
};

bool functions_read_uncovered(struct functions *functions, const struct elf *elf,
			      const struct ranges *covered);
const char *functions_name(const struct functions *functions, const struct elf *elf,
			   const struct function *func, char *name);
void functions_free(struct functions *functions);

#endif /* SFRAMECTL_FUNCTIONS_H */
