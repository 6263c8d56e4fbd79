// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code of ELF files in memory that is no mapping of the file: the text was copied to large pages,
 * or a packed program has unpacked itself. Headers and .eh_frame are read where the program has
 * them. So it does not matter whether there is such a file.
 */
#include <stdlib.h>

#include "runtime.h"

/* Mappings of an image whose code may be a copy. Copies have a few; hostile headers span all. */
#define MAPPINGS_MAX	256

/* Is code of the image in memory that is no file? */
static bool is_copied(const struct runtime *runtime, const struct image *image)
{
	u32 i, nr = 0;

	for (i = 0; i < image->nr; i++) {
		const Elf64_Phdr *seg = &image->segments[i];
		u64 addr = seg->p_vaddr + image->bias, end = addr + seg->p_memsz, at;

		if (seg->p_type != PT_LOAD || !(seg->p_flags & PF_X))
			continue;
		/* Its first and last page may be of the file, where the large ones are not. */
		for (at = addr; at >= addr && at < end; ) {
			const struct mapping *mapping = target_find(runtime->target, at);

			if (!mapping)
				break;
			if (nr++ == MAPPINGS_MAX)
				return false;
			if (runtime_find_memory(runtime, at, 1))
				return true;
			at = mapping->end;
		}
	}
	return false;
}

static void add_ranges(const struct image *image, struct ranges *code)
{
	u32 i;

	for (i = 0; i < image->nr; i++)
		if (image->segments[i].p_type == PT_LOAD && (image->segments[i].p_flags & PF_X))
			ranges_add(code, image->segments[i].p_vaddr + image->bias,
				   image->segments[i].p_memsz);
	ranges_merge(code);
}

/* .eh_frame_hdr begins with its version, three forms, and the address of .eh_frame. */
static u64 find_eh_frame(const struct target *target, u64 addr)
{
	u8 bytes[16];
	struct cfi_section header = { .data = bytes, .size = sizeof(bytes), .addr = addr };
	struct cfi_cursor cur = { .pos = bytes + 4, .end = bytes + sizeof(bytes) };
	u64 found;

	if (!target_read(target, addr, bytes, sizeof(bytes)) || *bytes != 1)
		return 0;
	found = cfi_encoded(&header, &cur, bytes[1]);
	return cur.is_bad ? 0 : found;
}

/* .eh_frame has no size in memory: it ends with its segment, or with what is no entry. */
static u32 count_entries(const struct cfi_section *sec)
{
	struct cfi_entry entry;
	u32 off;

	for (off = 0; off < sec->size; off = entry.end)
		if (cfi_find_entry(sec, off, &entry) != CFI_ENTRY_FOUND)
			break;
	return off;
}

static u64 segment_end(const struct image *image, u64 addr)
{
	u32 i;

	for (i = 0; i < image->nr; i++) {
		const Elf64_Phdr *seg = &image->segments[i];

		if (seg->p_type == PT_LOAD && addr - image->bias - seg->p_vaddr < seg->p_filesz)
			return seg->p_vaddr + seg->p_filesz + image->bias;
	}
	return 0;
}

static void add_image(struct runtime *runtime, const struct image *image, u64 header)
{
	u64 addr = find_eh_frame(runtime->target, header);
	u64 end = segment_end(image, addr);
	struct cfi_section sec = { .addr = addr };
	struct ranges code = {};
	u8 *bytes;

	if (!addr || !end)
		return;
	bytes = target_copy(runtime->target, addr, end - addr);
	if (!bytes)
		return;
	sec.data = bytes;
	sec.size = end - addr;
	sec.size = count_entries(&sec);
	add_ranges(image, &code);
	runtime_add_source(runtime, &sec, &code, 0);
	ranges_free(&code);
	free(bytes);
}

/**
 * copies_read - add the code of copies of files
 * @runtime: the runtime
 */
void copies_read(struct runtime *runtime)
{
	const struct target *target = runtime->target;
	struct image image;
	u32 i, k;

	for (i = 0; i < target->nr && !runtime->error; i++) {
		if (!target->all[i].is_readable ||
		    !target_image(target, target->all[i].start, &image) ||
		    !is_copied(runtime, &image))
			continue;
		for (k = 0; k < image.nr; k++)
			if (image.segments[k].p_type == PT_GNU_EH_FRAME)
				add_image(runtime, &image, image.segments[k].p_vaddr + image.bias);
	}
}
