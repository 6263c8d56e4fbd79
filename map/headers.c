// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ELF headers of mapped files: where the section is.
 *
 * A scan keeps the program headers of the file that it has read last. Nothing of a file is
 * believed: see sframe_elf.c. Only what is in memory is read: see sframe_prefault.c.
 */
#include <linux/slab.h>

#include "map/elf.h"
#include "map/headers.h"
#include "map/prefault.h"
#include "map/process.h"

static int read_phdrs(struct sfu_headers *headers, struct sfu_prefault *prefault,
		      struct file *file)
{
	struct elf64_phdr *phdrs;
	struct elf64_hdr ehdr;
	unsigned int nr;
	int err;

	err = sfu_prefault_read(prefault, file, &ehdr, sizeof(ehdr), 0) ?:
	      sframe_elf_check_header(&ehdr);
	if (err)
		return err;
	nr = ehdr.e_phnum;
	phdrs = kmalloc_array(nr, sizeof(*phdrs), SFU_GFP_TASK);
	if (!phdrs)
		return -ENOMEM;
	err = sfu_prefault_read(prefault, file, phdrs, nr * sizeof(*phdrs), ehdr.e_phoff);
	if (err) {
		kfree(phdrs);
		return err;
	}
	headers->phdrs = phdrs;
	headers->nr_phdrs = nr;
	return 0;
}

/**
 * sfu_headers_find_section() - find the section that describes mapped code
 * @headers: all zero at first, then as the last call has left it
 * @prefault: what the scan may read
 * @file: the file
 * @map_start: address at which the code is mapped
 * @map_offset: of that address in the file, in bytes
 * @start: set to the first address of the section
 * @end: set to the first address after it
 *
 * A file may be mapped many times, mostly side by side: then it is read once.
 *
 * Context: Task, under mmap_lock. May sleep, but waits for no file system.
 * Return: 0; -EAGAIN if the headers are not in memory; -ENOMEM; an error of
 * sframe_elf_check_header() or sframe_elf_find_section().
 */
int sfu_headers_find_section(struct sfu_headers *headers, struct sfu_prefault *prefault,
			     struct file *file, u64 map_start, u64 map_offset, u64 *start,
			     u64 *end)
{
	if (headers->file != file) {
		sfu_headers_free(headers);
		headers->file = file;
		headers->err = read_phdrs(headers, prefault, file);
		headers->nr_files++;
	}
	return headers->err ?: sframe_elf_find_section(headers->phdrs, headers->nr_phdrs, PAGE_SIZE,
						       map_start, map_offset, start, end);
}

/* Frees and forgets the headers that were read last. */
void sfu_headers_free(struct sfu_headers *headers)
{
	kfree(headers->phdrs);
	headers->phdrs = NULL;
	headers->file = NULL;
}
