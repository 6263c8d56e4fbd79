// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the ELF reader of the module. Each answer is checked against the headers
 * in arithmetic of 128 bits, where no sum wraps around.
 *
 * An input is struct setting, then the beginning of a file.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "map/elf.h"
#include "sframe_format.h"

struct setting {
	u64	map_start;
	u64	map_offset;	/* rounded down to a page */
	u8	page_shift;	/* modulo 3: 4, 16 and 64 KiB */
} __packed;

/* A query of the ELF reader, and its answer: @start and @end. */
struct query {
	const struct elf64_phdr	*phdrs;
	unsigned int		nr;
	u64			page_size;
	u64			map_start;
	u64			map_offset;
	u64			start;
	u64			end;
};

#define u128 unsigned __int128

static u128 page_start(u128 off, u64 page_size)
{
	return off / page_size * page_size;
}

/* Stores the link-time address of the first mapped byte, if @ph is the mapped segment. */
static bool code_addr(const struct query *q, const struct elf64_phdr *ph, u64 *addr)
{
	u128 first = page_start(ph->p_offset, q->page_size);

	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
		return false;
	if (q->map_offset < first || q->map_offset >= (u128)ph->p_offset + ph->p_filesz)
		return false;
	*addr = ph->p_vaddr - ph->p_offset + q->map_offset;
	return true;
}

/* Return: true if the answer lies within the readable segment @ph, mapped at @bias. */
static bool holds(const struct elf64_phdr *ph, u64 bias, u64 start, u64 size)
{
	u64 into = start - (bias + ph->p_vaddr);

	return ph->p_type == PT_LOAD && (ph->p_flags & PF_R) &&
	       (u128)into + size <= ph->p_memsz;
}

static bool any_holds(const struct query *q, u64 bias, u64 start, u64 size)
{
	unsigned int i;

	for (i = 0; i < q->nr; i++)
		if (holds(&q->phdrs[i], bias, start, size))
			return true;
	return false;
}

static const struct elf64_phdr *first_segment(const struct query *q)
{
	unsigned int i;

	for (i = 0; i < q->nr; i++)
		if (q->phdrs[i].p_type == SFRAME_PT_GNU_SFRAME)
			return &q->phdrs[i];
	return NULL;
}

static bool find_bias(const struct query *q, u64 *bias)
{
	unsigned int i;
	u64 addr;

	for (i = 0; i < q->nr; i++) {
		if (!code_addr(q, &q->phdrs[i], &addr))
			continue;
		*bias = q->map_start - addr;
		return true;
	}
	return false;
}

static void check_answer(const struct query *q, int err)
{
	const struct elf64_phdr *seg = first_segment(q);
	u64 bias = 0, addr;
	bool known = find_bias(q, &bias);

	if (err)
		require(!q->start && !q->end);
	if (err == -ENOENT) {
		require(!seg || !known);
		return;
	}
	require(seg && known);
	addr = bias + seg->p_vaddr;
	if (err) {
		require(err == -EBADMSG);
		require(!any_holds(q, bias, addr, seg->p_filesz) ||
			((u128)addr + seg->p_filesz) >> 64);
		return;
	}
	require(q->start <= q->end);
	require(q->start == addr && q->end - q->start == seg->p_filesz);
	require(any_holds(q, bias, q->start, q->end - q->start));
}

/* Copies the program headers to a buffer of their size: ASan reports a read past its end. */
static struct elf64_phdr *read_phdrs(const struct elf64_hdr *ehdr, const u8 *file, size_t size)
{
	u64 len = ehdr->e_phnum * sizeof(struct elf64_phdr);
	struct elf64_phdr *phdrs;

	if (ehdr->e_phoff > size || len > size - ehdr->e_phoff)
		return NULL;
	phdrs = malloc(len);
	if (!phdrs)
		abort();
	return memcpy(phdrs, file + ehdr->e_phoff, len);
}

static void check_header(const struct elf64_hdr *ehdr)
{
	require(!memcmp(ehdr->e_ident, "\177ELF\2", 5));
	require(ehdr->e_phentsize == 56);
	require(ehdr->e_phnum >= 1 && ehdr->e_phnum <= 128);
}

static void find_and_check(const struct setting *set, const u8 *file, size_t size)
{
	struct elf64_phdr *phdrs;
	struct elf64_hdr ehdr;
	struct query q;
	int err;

	if (size < sizeof(ehdr))
		return;
	memcpy(&ehdr, file, sizeof(ehdr));
	if (sframe_elf_check_header(&ehdr))
		return;
	check_header(&ehdr);
	phdrs = read_phdrs(&ehdr, file, size);
	if (!phdrs)
		return;
	q = (struct query){
		.phdrs = phdrs,
		.nr = ehdr.e_phnum,
		.page_size = 0x1000ull << set->page_shift % 3 * 2,
		.map_start = set->map_start,
		.start = 1,
		.end = 1,
	};
	q.map_offset = page_start(set->map_offset, q.page_size);
	err = sframe_elf_find_section(phdrs, q.nr, q.page_size, q.map_start, q.map_offset,
				      &q.start, &q.end);
	check_answer(&q, err);
	free(phdrs);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct setting set;

	if (size < sizeof(set))
		return 0;
	memcpy(&set, data, sizeof(set));
	find_and_check(&set, data + sizeof(set), size - sizeof(set));
	return 0;
}
