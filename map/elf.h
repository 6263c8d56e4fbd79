/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the .sframe section of a mapped ELF file. Host tests compile it, too. */
#ifndef SFRAME_ELF_H
#define SFRAME_ELF_H

#include <linux/elf.h>

#include "sframe_types.h"

/* Maximum of program headers: ELF files with more are ignored. Linkers make about a dozen. */
#define SFRAME_ELF_MAX_PHDRS	128

int sframe_elf_check_header(const struct elf64_hdr *ehdr);
int sframe_elf_find_section(const struct elf64_phdr *phdrs, unsigned int nr, u64 page_size,
			    u64 map_start, u64 map_offset, u64 *start, u64 *end);

#endif /* SFRAME_ELF_H */
