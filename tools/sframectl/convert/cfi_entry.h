/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of .eh_frame and .debug_frame: CIEs, and the FDEs of functions. */
#ifndef CFI_ENTRY_H
#define CFI_ENTRY_H

#include "cfi_number.h"
#include "cfi_row.h"

/**
 * struct cfi_section - the bytes of .eh_frame or .debug_frame
 * @data: the bytes
 * @size: number of bytes, less than 4 GiB
 * @addr: address of the first byte
 * @text: address of the code, if entries may be relative to it, as those of JIT compilers; else 0
 * @is_debug: of .debug_frame, which has other identifiers
 */
struct cfi_section {
	const u8	*data;
	u32		size;
	u64		addr;
	u64		text;
	bool		is_debug;
};

/**
 * struct cfi_cie - what functions have in common
 * @off: offset of its entry
 * @code_factor: unit of advances
 * @data_factor: unit of offsets
 * @program: its instructions
 * @encoding: DW_EH_PE_*: how FDEs store addresses
 * @has_data: FDEs have augmentation data
 * @is_signal: its functions are signal trampolines
 * @is_key_b: AArch64: return addresses are signed with key B
 * @initial: the rules after @program
 * @hole: not CFI_HOLE_NONE: why its functions cannot be described
 */
struct cfi_cie {
	u32			off;
	u64			code_factor;
	s64			data_factor;
	struct cfi_cursor	program;
	u8			encoding;
	bool			has_data;
	bool			is_signal;
	bool			is_key_b;
	struct cfi_state	initial;
	enum cfi_hole		hole;
};

/**
 * struct cfi_fde - a function
 * @cie: offset of its CIE
 * @start: its address
 * @size: its bytes
 * @program: its instructions
 */
struct cfi_fde {
	u32			cie;
	u64			start;
	u64			size;
	struct cfi_cursor	program;
};

/**
 * struct cfi_entry - an entry, before it is read
 * @off: offset of the entry
 * @end: offset of the end of the entry
 * @body: the bytes after the identifier
 * @is_cie: it is a CIE
 * @cie: of an FDE: offset of its CIE
 */
struct cfi_entry {
	u32			off;
	u32			end;
	struct cfi_cursor	body;
	bool			is_cie;
	u32			cie;
};

enum cfi_entry_kind {
	CFI_ENTRY_FOUND,
	CFI_ENTRY_TERMINATOR,	/* four bytes of zero */
	CFI_ENTRY_ODD,		/* it cannot be read, and its end is known */
	CFI_ENTRY_DAMAGED,	/* its end is not in the section */
};

enum cfi_entry_kind cfi_find_entry(const struct cfi_section *sec, u32 off, struct cfi_entry *entry);
void cfi_read_cie(const struct cfi_machine *machine, const struct cfi_entry *entry,
		  struct cfi_cie *cie);
bool cfi_read_fde(const struct cfi_section *sec, const struct cfi_entry *entry,
		  const struct cfi_cie *cie, struct cfi_fde *fde);
u64 cfi_encoded(const struct cfi_section *sec, struct cfi_cursor *cur, u8 encoding);

#endif /* CFI_ENTRY_H */
