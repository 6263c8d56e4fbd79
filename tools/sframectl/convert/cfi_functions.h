/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that a section describes, in the order of addresses. */
#ifndef CFI_FUNCTIONS_H
#define CFI_FUNCTIONS_H

#include "cfi_entry.h"
#include "gopclntab.h"
#include "ranges.h"

#define CFI_NR_CIES	64

/**
 * struct cfi_cies - the CIEs that were used last
 * @all: each at the place that its offset gives
 * @known: for each place, whether there is one
 */
struct cfi_cies {
	struct cfi_cie	all[CFI_NR_CIES];
	bool		known[CFI_NR_CIES];
};

/* The section that a function is from. An earlier one is preferred. */
enum cfi_origin {
	CFI_EH_FRAME,
	CFI_GOPCLNTAB,
	CFI_DEBUG_FRAME,
	NR_CFI_ORIGINS
};

/**
 * struct cfi_function - where a function, or a part of one, is, and what is said about it
 * @start: its address
 * @size: its bytes
 * @off: offset of the entry of the function; of .gopclntab, its number
 * @skipped: bytes of the function before @start
 * @origin: the section that has the entry
 * @is_contradicted: another entry says something else of the same function
 */
struct cfi_function {
	u64	start;
	u32	size;
	u32	off;
	u32	skipped;
	u8	origin;
	bool	is_contradicted;
};

/**
 * struct cfi_functions - the functions
 * @sec: the section
 * @go: the section, if it is .gopclntab
 * @machine: its architecture
 * @cies: CIEs
 * @cie_bytes: bytes of all CIEs that were read, again and again if the file wants it so
 * @all: the functions; none is empty
 * @nr: number of functions
 * @odd: number of entries that do not say which code they are for
 * @outside: bytes of functions that are not in executable code
 */
struct cfi_functions {
	struct cfi_section		sec;
	const struct gopclntab		*go;
	const struct cfi_machine	*machine;
	struct cfi_cies			cies;
	u64				cie_bytes;
	struct cfi_function		*all;
	u32				nr;
	u64				odd;
	u64				outside;
};

const char *cfi_functions_read(struct cfi_functions *functions, const struct cfi_section *sec,
			       const struct cfi_machine *machine, const struct ranges *code);
bool cfi_functions_read_go(struct cfi_functions *functions, const struct gopclntab *go,
			   const struct ranges *code);
bool cfi_functions_complete(struct cfi_functions *functions, const struct cfi_functions *others);
const struct cfi_cie *cfi_functions_get(struct cfi_functions *functions, u32 off,
					struct cfi_fde *fde);
void cfi_functions_free(struct cfi_functions *functions);

#endif /* CFI_FUNCTIONS_H */
