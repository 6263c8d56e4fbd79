// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the code of an ELF file. */
#include "code.h"

/**
 * code_find - find the code of a file
 * @code: filled in, merged; the caller calls ranges_free()
 * @elf: the file
 *
 * Sections have exact bounds; segments may contain headers and padding besides code.
 */
void code_find(struct ranges *code, const struct elf *elf)
{
	struct elf_section sec;
	struct elf_segment seg;
	bool has_sections;
	u32 i;

	*code = (struct ranges){};
	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if (sec.flags & SHF_EXECINSTR && sec.flags & SHF_ALLOC)
			ranges_add(code, sec.addr, sec.size);
	has_sections = code->nr;
	for (i = 0; !has_sections && elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_LOAD && seg.flags & PF_X)
			ranges_add(code, seg.addr, seg.memsz);
	ranges_merge(code);
}
