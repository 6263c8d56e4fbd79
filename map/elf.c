// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the .sframe section of a mapped ELF file in user memory, by the file's program headers.
 *
 * The headers are not trusted: the caller passes a copy, and this file checks each field.
 */
#include "map/elf.h"
#include "sframe_format.h"

/* Returns 0 for an ELF64 file with 1 to SFRAME_ELF_MAX_PHDRS program headers, else -ENOEXEC. */
int sframe_elf_check_header(const struct elf64_hdr *ehdr)
{
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_phentsize != sizeof(struct elf64_phdr) ||
	    ehdr->e_phnum == 0 || ehdr->e_phnum > SFRAME_ELF_MAX_PHDRS)
		return -ENOEXEC;
	return 0;
}

/* Returns true if @offset in the file is in segment @ph, or before it in its first page. */
static bool covers_offset(const struct elf64_phdr *ph, u64 page_size, u64 offset)
{
	u64 lead = ph->p_offset & (page_size - 1);
	u64 first = ph->p_offset - lead;

	return offset >= first && (offset - first < lead || offset - first - lead < ph->p_filesz);
}

static bool is_loaded(const struct elf64_phdr *phdrs, unsigned int nr, const struct elf64_phdr *seg)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct elf64_phdr *ph = &phdrs[i];
		u64 off = seg->p_vaddr - ph->p_vaddr;

		/*
		 * If @seg begins before @ph, @off wraps around and exceeds any real p_memsz. Do
		 * not add p_filesz to @off: the sum could wrap around, and @seg would seem to fit.
		 */
		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) &&
		    off <= ph->p_memsz && seg->p_filesz <= ph->p_memsz - off)
			return true;
	}
	return false;
}

/*
 * Sets @start and @end to the user addresses of a file's .sframe section. The code at file offset
 * @map_offset, a multiple of @page_size, is mapped at @map_start. Returns 0. On errors, both are 0:
 * -ENOENT: no PT_GNU_SFRAME, or no executable PT_LOAD contains @map_offset
 * -EBADMSG: no readable PT_LOAD contains the section, or the end of the section wraps around
 */
int sframe_elf_find_section(const struct elf64_phdr *phdrs, unsigned int nr, u64 page_size,
			    u64 map_start, u64 map_offset, u64 *start, u64 *end)
{
	const struct elf64_phdr *seg = NULL, *code = NULL, *ph;
	u64 bias, addr;

	*start = 0;
	*end = 0;
	for (ph = phdrs; ph < phdrs + nr; ph++) {
		if (!seg && ph->p_type == SFRAME_PT_GNU_SFRAME)
			seg = ph;
		if (!code && ph->p_type == PT_LOAD && (ph->p_flags & PF_X) &&
		    covers_offset(ph, page_size, map_offset))
			code = ph;
	}
	if (!seg || !code)
		return -ENOENT;
	if (!is_loaded(phdrs, nr, seg))
		return -EBADMSG;
	/* All segments have one bias: user address minus linked address (p_vaddr), modulo 2^64. */
	bias = map_start - map_offset - (code->p_vaddr - code->p_offset);
	addr = bias + seg->p_vaddr;
	if (addr + seg->p_filesz < addr)
		return -EBADMSG;
	/* The caller checks whether the section is empty, or outside of user space. */
	*start = addr;
	*end = addr + seg->p_filesz;
	return 0;
}
