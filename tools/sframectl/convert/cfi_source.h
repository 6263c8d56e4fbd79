/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the call frame information of a file is. */
#ifndef CFI_SOURCE_H
#define CFI_SOURCE_H

#include "cfi_entry.h"
#include "elf.h"
#include "gopclntab.h"
#include "plt.h"
#include "ranges.h"

/**
 * struct cfi_source - the call frame information of a file
 * @elf: the file; NULL: code that nothing describes is not analysed
 * @machine: the architecture
 * @sec: .eh_frame
 * @debug: .debug_frame
 * @data: the bytes of @sec, to be freed
 * @debug_data: the bytes of @debug, to be freed
 * @go: .gopclntab
 * @header_size: bytes of .eh_frame_hdr, 0 if there is none
 * @code: addresses of executable bytes, merged
 * @plts: PLTs, which call frame information may not describe
 * @end: an address after all that the file loads
 */
struct cfi_source {
	const struct elf		*elf;
	const struct cfi_machine	*machine;
	struct cfi_section		sec;
	struct cfi_section		debug;
	u8				*data;
	u8				*debug_data;
	struct gopclntab		go;
	u64				header_size;
	struct ranges			code;
	struct plts			plts;
	u64				end;
};

const char *cfi_source_open(struct cfi_source *source, const struct elf *elf);
void cfi_source_close(struct cfi_source *source);

#endif /* CFI_SOURCE_H */
