/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ELF headers of mapped files. See map/headers.c.
 */
#ifndef SFU_HEADERS_H
#define SFU_HEADERS_H

#include <linux/types.h>

struct elf64_phdr;
struct file;
struct sfu_prefault;

/**
 * struct sfu_headers - the program headers of the file that was read last
 * @file: the file; only compared
 * @phdrs: its program headers; NULL with @err
 * @nr_phdrs: how many
 * @err: why there are none
 * @nr_files: files read so far
 */
struct sfu_headers {
	const struct file	*file;
	struct elf64_phdr	*phdrs;
	unsigned int		nr_phdrs;
	int			err;
	unsigned int		nr_files;
};

int sfu_headers_find_section(struct sfu_headers *headers, struct sfu_prefault *prefault,
			     struct file *file, u64 map_start, u64 map_offset, u64 *start,
			     u64 *end);
void sfu_headers_free(struct sfu_headers *headers);

#endif /* SFU_HEADERS_H */
