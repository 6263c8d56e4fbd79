// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds, in the program headers of a mapped ELF file, where its .sframe is in memory.
 *
 * The headers are not trusted. The caller reads them once into its own memory, and each field is
 * checked there. This file calls nothing of the kernel: it compiles unchanged in the module, in
 * tests and in host programs.
 *
 * Differences of addresses are taken modulo 2^64, where every value is legal. Sizes are compared by
 * subtraction, after a check that the difference is not negative, because a sum could wrap around.
 */
#include "map/elf.h"
#include "sframe_format.h"

/*
 * Checks the first bytes of a file. Returns 0; -ENOEXEC if it is no ELF64 file of 1 to
 * SFRAME_ELF_MAX_PHDRS program headers of the usual size.
 */
int sframe_elf_check_header(const struct elf64_hdr *ehdr)
{
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_phentsize != sizeof(struct elf64_phdr) ||
	    ehdr->e_phnum == 0 || ehdr->e_phnum > SFRAME_ELF_MAX_PHDRS)
		return -ENOEXEC;
	return 0;
}

/* Returns true if a mapping of the segment begins at @offset: up to a page before the segment. */
static bool covers_offset(const struct elf64_phdr *ph, u64 page_size, u64 offset)
{
	u64 lead = ph->p_offset & (page_size - 1);
	u64 first = ph->p_offset - lead;

	if (offset < first)
		return false;
	return offset - first < lead || offset - first - lead < ph->p_filesz;
}

/* Returns true if one readable PT_LOAD holds the segment's file bytes. */
static bool is_loaded(const struct elf64_phdr *phdrs, unsigned int nr, const struct elf64_phdr *seg)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct elf64_phdr *ph = &phdrs[i];
		u64 off = seg->p_vaddr - ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) &&
		    off <= ph->p_memsz && seg->p_filesz <= ph->p_memsz - off)
			return true;
	}
	return false;
}

/**
 * sframe_elf_find_section() - find the address of PT_GNU_SFRAME of a mapped file
 * @phdrs: the file's program headers
 * @nr: how many
 * @page_size: of the machine that has mapped the file; a power of two
 * @map_start: address of a mapping with code of the file
 * @map_offset: where in the file that mapping begins; a multiple of @page_size
 * @start: set to the section's address, or to 0 if there is an error
 * @end: set to one past its last byte, or to 0 if there is an error
 *
 * The section may be empty. The caller checks that the addresses are user addresses.
 *
 * Return: 0; -ENOENT if there is no such segment, or no executable PT_LOAD has @map_offset;
 * -EBADMSG if no readable PT_LOAD holds the segment, or its end would lie beyond the last address.
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
	/* The load bias: what to add to each p_vaddr. Modulo 2^64 it may be negative. */
	bias = map_start - map_offset - (code->p_vaddr - code->p_offset);
	addr = bias + seg->p_vaddr;
	if (addr + seg->p_filesz < addr)
		return -EBADMSG;
	*start = addr;
	*end = addr + seg->p_filesz;
	return 0;
}
