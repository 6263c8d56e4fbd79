// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the vDSO: an ELF file that the kernel maps in each process. All processes have the same. */
#include <gelf.h>
#include <sys/auxv.h>

#include "vdso.h"

/* The section headers are at the end. */
static u64 end_of_file(const Elf64_Ehdr *ehdr)
{
	const Elf64_Phdr *phdrs = (const void *)((const u8 *)ehdr + ehdr->e_phoff);
	u64 end = ehdr->e_shoff + (u64)ehdr->e_shnum * ehdr->e_shentsize;
	u32 i;

	for (i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_offset + phdrs[i].p_filesz > end)
			end = phdrs[i].p_offset + phdrs[i].p_filesz;
	return end;
}

/**
 * vdso_open - find the vDSO of this process
 * @file: filled in; its bytes stay where they are
 *
 * Return: NULL, or the error as a text.
 */
const char *vdso_open(struct file *file)
{
	const Elf64_Ehdr *ehdr = (const void *)getauxval(AT_SYSINFO_EHDR);

	*file = (struct file){};
	if (!ehdr)
		return "this process has no vDSO";
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64)
		return "the vDSO of this process is not 64-bit";
	*file = file_of_bytes(ehdr, end_of_file(ehdr));
	return NULL;
}
