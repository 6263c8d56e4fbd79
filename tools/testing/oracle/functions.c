// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that an .eh_frame describes, with their instructions. libdw
 * parses the section. The addresses of the functions are read here, in the
 * encodings that compilers for 64-bit machines use.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "encoding.h"
#include "functions.h"
#include "grow.h"

/* Return: the size of an encoded pointer, 0 if the encoding is unknown. */
static int pointer_size(u8 encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* Return: the encoding of code addresses by the CIE, -1 if the CIE has unknown parts. */
static int pointer_encoding(const Dwarf_CIE *cie)
{
	const u8 *pos = cie->augmentation_data;
	const u8 *end = pos + cie->augmentation_data_size;
	const char *letter;
	int size;

	if (cie->augmentation[0] != 'z')
		return cie->augmentation[0] ? -1 : DW_EH_PE_absptr;
	for (letter = cie->augmentation + 1; *letter; letter++) {
		switch (*letter) {
		case 'R':
			return pos < end ? *pos : -1;
		case 'L':
			pos++;
			break;
		case 'P':
			size = pos < end ? pointer_size(*pos++) : 0;
			if (!size)
				return -1;
			pos += size;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return -1;
		}
	}
	return DW_EH_PE_absptr;
}

/* @data has the section's bytes, @addr is the section's address. */
static bool read_function(struct function *func, const Dwarf_CIE *cie,
			  const Dwarf_FDE *fde, const u8 *data, u64 addr)
{
	int encoding = pointer_encoding(cie);
	const u8 *pos = fde->start;
	int size;

	if (encoding < 0 || encoding & ~(0xf | DW_EH_PE_pcrel))
		return false;
	size = pointer_size(encoding);
	if (!size)
		return false;

	func->start = read_fixed(&pos, fde->end, size, encoding & DW_EH_PE_signed);
	if (encoding & DW_EH_PE_pcrel)
		func->start += addr + (fde->start - data);
	func->end = func->start + read_fixed(&pos, fde->end, size, false);
	if (cie->augmentation[0] == 'z') {
		u64 skipped = read_uleb(&pos, fde->end);

		if (skipped > (u64)(fde->end - pos))
			return false;
		pos += skipped;
	}
	func->initial = (struct program){ cie->initial_instructions,
					  cie->initial_instructions_end };
	func->own = (struct program){ pos, fde->end };
	func->code_factor = cie->code_alignment_factor;
	func->data_factor = cie->data_alignment_factor;
	return true;
}

static void add_function(struct functions *functions, const struct function *func)
{
	functions->all = grow(functions->all, functions->nr, sizeof(*func));
	if (!functions->all)
		abort();
	functions->all[functions->nr++] = *func;
}

/* Of two functions at one address, the empty one comes first. */
static int compare_places(const void *a, const void *b)
{
	const struct function *func1 = a, *func2 = b;

	if (func1->start != func2->start)
		return func1->start < func2->start ? -1 : 1;
	return (func1->end > func2->end) - (func1->end < func2->end);
}

/* Return: true if the file has a section of that name, with bytes in the file. */
bool functions_section(const struct object *obj, const char *name, struct elf_section *sec)
{
	u32 i;

	for (i = 0; elf_get_section(&obj->elf, i, sec); i++)
		if (elf_is_named(&obj->elf, sec, name) && sec->type != SHT_NOBITS)
			return true;
	return false;
}

/* Return: NULL, or an error text. Call functions_free() in both cases. */
const char *functions_read(struct functions *functions, const struct object *obj)
{
	Elf_Data data = { .d_type = ELF_T_BYTE, .d_version = EV_CURRENT };
	Dwarf_CFI_Entry entry, cie;
	struct elf_section sec;
	Dwarf_Off off = 0, next, unused;
	int status;

	*functions = (struct functions){};
	if (!functions_section(obj, ".eh_frame", &sec))
		return "no .eh_frame";
	if (file_copy(&obj->file, sec.off, sec.size, &functions->data))
		return "its .eh_frame cannot be read";
	data.d_buf = functions->data;
	data.d_size = sec.size;

	for (; !(status = dwarf_next_cfi(obj->elf.ident, &data, true, off, &next, &entry));
	     off = next) {
		struct function func;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (dwarf_next_cfi(obj->elf.ident, &data, true, entry.fde.CIE_pointer,
				   &unused, &cie) ||
		    !read_function(&func, &cie.cie, &entry.fde, data.d_buf, sec.addr))
			return "its .eh_frame has an entry that is not understood";
		add_function(functions, &func);
	}
	if (status < 0)
		return dwarf_errmsg(-1);
	qsort(functions->all, functions->nr, sizeof(*functions->all), compare_places);
	return NULL;
}

const struct function *functions_find(const struct functions *functions, u64 addr)
{
	size_t lo = 0, hi = functions->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < functions->all[mid].start)
			hi = mid;
		else if (addr >= functions->all[mid].end)
			lo = mid + 1;
		else
			return &functions->all[mid];
	}
	return NULL;
}

/* Merges the addresses of all functions. The caller calls ranges_free(). */
struct ranges functions_ranges(const struct functions *functions)
{
	struct ranges ranges = {};
	size_t i;

	for (i = 0; i < functions->nr; i++)
		ranges_add(&ranges, functions->all[i].start,
			   functions->all[i].end - functions->all[i].start);
	ranges_merge(&ranges);
	return ranges;
}

void functions_free(struct functions *functions)
{
	free(functions->all);
	free(functions->data);
}
