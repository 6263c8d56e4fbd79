// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ELF headers of mapped files: where the section is.
 *
 * A scan keeps the program headers of the file that it has read last. Nothing of a file is
 * believed: see sframe_elf.c. Only what is in memory is read: see sframe_prefault.c.
 */
#include <linux/slab.h>

#include "sframe_elf.h"
#include "sframe_headers.h"
#include "sframe_prefault.h"
#include "sframe_process.h"

/* Makes the program header that lld has not written of the section headers. */
static int read_segment(struct sfu_prefault *prefault, struct file *file,
			const struct elf64_hdr *ehdr, struct elf64_phdr *seg)
{
	struct elf64_shdr *shdrs;
	int err;

	if (sframe_elf_check_sections(ehdr))
		return -ENOENT;
	shdrs = kmalloc_array(ehdr->e_shnum, sizeof(*shdrs), SFU_GFP_TASK);
	if (!shdrs)
		return -ENOMEM;
	err = sfu_prefault_read(prefault, file, shdrs, ehdr->e_shnum * sizeof(*shdrs),
				ehdr->e_shoff) ?:
	      sframe_elf_make_segment(shdrs, ehdr->e_shnum, seg);
	kfree(shdrs);
	/* No program needs that page: it would be waited for in vain. */
	if (err == -EAGAIN && !sfu_prefault_reads_ahead(file))
		return -ENODATA;
	return err == -ENOEXEC ? -ENOENT : err;
}

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
	phdrs = kmalloc_array(nr + 1, sizeof(*phdrs), SFU_GFP_TASK);
	if (!phdrs)
		return -ENOMEM;
	err = sfu_prefault_read(prefault, file, phdrs, nr * sizeof(*phdrs), ehdr.e_phoff);
	if (!err && sframe_elf_may_lack_segment(phdrs, nr)) {
		err = read_segment(prefault, file, &ehdr, &phdrs[nr]);
		if (!err)
			nr++;
		else if (err == -ENOENT)
			err = 0;
	}
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
 * Return: 0; -EAGAIN if the headers are not in memory; -ENODATA if those that are missing will not
 * be read; -ENOMEM; an error of sframe_elf_check_header() or sframe_elf_find_section().
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

/**
 * sfu_headers_free() - free the headers that were read last
 * @headers: they are forgotten
 *
 * Context: Task.
 */
void sfu_headers_free(struct sfu_headers *headers)
{
	kfree(headers->phdrs);
	headers->phdrs = NULL;
	headers->file = NULL;
}
