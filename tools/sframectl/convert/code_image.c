// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the code of a file that nothing describes, and addresses at which functions may begin:
 * symbols, targets of calls, and whatever code or data names. A wrong one does no harm: no rows
 * are made of code that does not return to its caller.
 */
#include <stdlib.h>

#include "code.h"
#include "code_image.h"
#include "code_insn.h"
#include "grow.h"

/* No file with more undescribed code is analysed: it would take too long. */
#define IMAGE_MAX	(32u << 20)

/* Where less than this part of the code is undescribed, the rest is not searched for calls. */
#define PART_MIN	256

/* Where code computes more addresses of data, no table of places to jump to is read. */
#define NR_LABELS_MAX	0x100000

/* Registers that functions may change on arm64: x0 to x18 */
#define NR_CHANGED_ARM64	19

/* No compiler makes longer names. */
#define NAME_LEN_MAX	16384

/* Return: the first range that ends after @addr, or NULL. */
static const struct range *find_range_after(const struct ranges *ranges, u64 addr)
{
	size_t lo = 0, hi = ranges->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (ranges->all[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ranges->nr ? &ranges->all[lo] : NULL;
}

/* Finds the range of an address. Return: NULL: it is in none. */
static const struct range *find_range(const struct ranges *ranges, u64 addr)
{
	const struct range *range = find_range_after(ranges, addr);

	return range && range->start <= addr ? range : NULL;
}

/**
 * code_image_label_after - find out where something in data ends at the latest
 * @image: the code
 * @addr: address of data that code computes
 *
 * Return: the next address that code computes; the highest number if there is none; @addr if not
 * all are known.
 */
u64 code_image_label_after(const struct code_image *image, u64 addr)
{
	const struct range *label = find_range_after(&image->labels, addr + 1);

	if (image->has_more_labels)
		return addr;
	if (!label)
		return ~0ull;
	return label->start > addr ? label->start : addr + 1;
}

/* Return: the index of the byte at @addr; -1: there is none. @left: bytes up to the range's end */
s64 code_image_index(const struct code_image *image, u64 addr, u64 *left)
{
	const struct range *range = find_range(&image->ranges, addr);

	if (!range)
		return -1;
	*left = range->end - addr;
	return range->before + (addr - range->start);
}

/* Does a function surely begin at @addr, so that a jump there has the state of a call? */
bool code_image_is_start(const struct code_image *image, u64 addr)
{
	const struct cfi_functions *functions = image->functions;
	u64 left, lo = 0, hi = functions->nr, mid;
	s64 index = code_image_index(image, addr, &left);

	if (index >= 0)
		return image->flags[index] & CODE_SYMBOL;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (functions->all[mid].start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < functions->nr && functions->all[lo].start == addr;
}

/* Reads what the file loads to @addr. */
bool code_image_read(const struct code_image *image, u64 addr, void *dst, u32 size)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(image->elf, i, &seg); i++)
		if (seg.type == PT_LOAD && addr >= seg.addr && addr - seg.addr < seg.filesz)
			return size <= seg.filesz - (addr - seg.addr) &&
			       !file_read(&image->elf->file, seg.off + (addr - seg.addr), dst,
					  size);
	return false;
}

static void add_label(struct code_image *image, u64 addr)
{
	if (image->has_more_labels)
		return;
	ranges_add(&image->labels, addr, 1);
	if (image->labels.nr < NR_LABELS_MAX)
		return;
	ranges_merge(&image->labels);
	image->has_more_labels = image->labels.nr > NR_LABELS_MAX / 2;
}

/* An address, found in code or data */
static void add_address(struct code_image *image, u64 addr, u8 flag)
{
	u64 left;
	s64 index = code_image_index(image, addr, &left);

	if (index >= 0)
		image->flags[index] |= flag;
	else if (flag == CODE_HINTED)
		add_label(image, addr);
}

static s32 signed_word(const u8 *bytes)
{
	s32 word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* call, lea, table(,%reg,8), at any byte: an address in the code by mere chance is rare. */
static void scan_x86(struct code_image *image, const u8 *bytes, u64 size, u64 addr)
{
	u64 i, next;

	for (i = 0; i + 6 <= size; i++) {
		next = addr + i + 5;
		if (bytes[i] == 0xe8)
			add_address(image, next + signed_word(bytes + i + 1), CODE_CALLED);
		else if (bytes[i] == 0x8d && (bytes[i + 1] & 0xc7) == 5)
			add_address(image, next + 1 + signed_word(bytes + i + 2), CODE_HINTED);
		else if (i + 7 <= size && (bytes[i] == 0xff || bytes[i] == 0x8b) &&
			 (bytes[i + 1] & 0xc7) == 4 && (bytes[i + 2] & 0xc7) == 0xc5)
			add_address(image, (u32)signed_word(bytes + i + 3), CODE_HINTED);
	}
}

/* bl; adr; adrp and add, if nothing else changes the register between them */
static void scan_arm64(struct code_image *image, const u8 *bytes, u64 size, u64 addr)
{
	u64 i, pages[32] = {};
	u32 code;

	for (i = 0; i + 4 <= size; i += 4) {
		code = signed_word(bytes + i);
		if (code >> 26 == 0x25) {
			add_address(image, addr + i + ((s32)(code << 6) >> 4), CODE_CALLED);
			memset(pages, 0, NR_CHANGED_ARM64 * sizeof(*pages));
		} else if ((code & 0x9f000000) == 0x90000000) {
			pages[code & 31] = ((addr + i) & ~0xfffull) +
				((s64)((s32)(code << 8) >> 13) * 4 + (code >> 29 & 3)) * 4096;
		} else if ((code & 0x9f000000) == 0x10000000) {
			add_address(image, addr + i + (s64)((s32)(code << 8) >> 13) * 4 +
				    (code >> 29 & 3), CODE_HINTED);
		} else {
			if ((code & 0xffc00000) == 0x91000000 && pages[code >> 5 & 31])
				add_address(image, pages[code >> 5 & 31] + (code >> 10 & 0xfff),
					    CODE_HINTED);
			pages[code & 31] = 0;
		}
	}
}

/* Return: the index of the byte that a word of data is the address of; -1: there is none. */
static s64 pointer_index(const struct code_image *image, const u8 *bytes, u64 size, u64 pos)
{
	u64 word, left;

	if (pos > size || size - pos < sizeof(word))
		return -1;
	memcpy(&word, bytes + pos, sizeof(word));
	if (word < image->ranges.all[0].start ||
	    word >= image->ranges.all[image->ranges.nr - 1].end)
		return -1;
	return code_image_index(image, word, &left);
}

/* A table has addresses in words, or in relocations, one after the other. */
static bool is_in_table(const struct code_image *image, const u8 *bytes, u64 size, u64 pos)
{
	static const u32 steps[] = { sizeof(u64), sizeof(Elf64_Rela) };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		if (pointer_index(image, bytes, size, pos - steps[i]) >= 0 ||
		    pointer_index(image, bytes, size, pos + steps[i]) >= 0)
			return true;
	return false;
}

static void scan_data(struct code_image *image, const u8 *bytes, u64 size)
{
	s64 index;
	u64 pos;

	for (pos = 0; pos + 8 <= size; pos += 8) {
		index = pointer_index(image, bytes, size, pos);
		if (index >= 0)
			image->flags[index] |= CODE_HINTED |
				(is_in_table(image, bytes, size, pos) ? 0 : CODE_POINTER);
	}
}

/* Searches all that is loaded for addresses. */
static void scan(struct code_image *image, const struct elf_segment *seg, const u8 *bytes, u64 size)
{
	if (!(seg->flags & PF_X))
		scan_data(image, bytes, size);
	else if (image->machine->machine == EM_X86_64)
		scan_x86(image, bytes, size, seg->addr);
	else
		scan_arm64(image, bytes, size, seg->addr);
}

/* @is_small: the code is so small a part of the file that only the code itself is searched */
static void scan_segments(struct code_image *image, bool is_small)
{
	struct elf_segment seg;
	const struct range *range;
	u8 *bytes;
	u64 len;
	u32 i;

	for (i = 0; is_small && i < image->ranges.nr; i++) {
		range = &image->ranges.all[i];
		seg = (struct elf_segment){ .flags = PF_X, .addr = range->start };
		scan(image, &seg, image->bytes + range->before, range->end - range->start);
	}
	for (i = 0; !is_small && elf_get_segment(image->elf, i, &seg); i++) {
		if (seg.type != PT_LOAD || !file_has(&image->elf->file, seg.off, seg.filesz))
			continue;
		len = min_t(u64, seg.filesz, FILE_COPY_MAX);
		if (file_copy(&image->elf->file, seg.off, len, &bytes))
			continue;
		scan(image, &seg, bytes, len);
		free(bytes);
	}
}

/*
 * The compiler names a piece of a function so that it has moved to another place. A name that is
 * too long to be searched may be such a name.
 */
static bool is_piece(const u8 *names, u64 size, u32 name)
{
	static const char cold[] = ".cold";
	u64 len;

	if (name >= size)
		return false;
	len = strnlen((const char *)names + name, min_t(u64, size - name, NAME_LEN_MAX));
	return len == NAME_LEN_MAX || memmem(names + name, len, cold, strlen(cold));
}

/* A symbol names a function, and may tell its size. Where symbols overlap, the first one counts. */
static void add_symbol(struct code_image *image, const struct elf_symbol *sym, const u8 *names,
		       u64 size)
{
	u64 left, pos;
	s64 index = code_image_index(image, sym->value, &left);

	if (index < 0 || is_piece(names, size, sym->name))
		return;
	image->flags[index] |= CODE_SYMBOL;
	for (pos = 1; pos < left && pos < sym->size; pos++) {
		if (image->flags[index + pos] & CODE_INSIDE)
			return;
		image->flags[index + pos] |= CODE_INSIDE;
	}
}

static void add_symbols(struct code_image *image)
{
	const struct elf *elf = image->elf;
	struct elf_section sec, strings;
	struct elf_symbol sym;
	u64 size;
	u8 *names;
	u32 i, k;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if ((sec.type != SHT_SYMTAB && sec.type != SHT_DYNSYM) ||
		    !elf_get_section(elf, sec.link, &strings) ||
		    elf_copy_section(elf, &strings, &names, &size))
			continue;
		for (k = 0; elf_get_symbol(elf, &sec, k, &sym); k++)
			if (sym.section != SHN_UNDEF &&
			    (sym.type == STT_FUNC || sym.type == STT_GNU_IFUNC))
				add_symbol(image, &sym, names, size);
		free(names);
	}
	add_address(image, elf->entry, CODE_ROOT);
}

/*
 * Adds a piece of code that nothing describes, unless it is padding. Between two functions, a piece
 * that is too short to begin at an aligned address is not even read.
 */
static void add_piece(struct code_image *image, u64 start, u64 end)
{
	u64 left = 0, len, off = 0;
	u8 bytes[256];

	if (end % 16 == 0 && end - start < 16)
		return;
	for (; start < end; start += len, off += len) {
		if (left - off < 16 && left - off < end - start) {
			left = min_t(u64, end - start, sizeof(bytes));
			off = 0;
			if (!code_image_read(image, start, bytes, left))
				return;
		}
		len = code_padding(image->machine, bytes + off, left - off);
		if (!len)
			break;
	}
	if (start < end)
		ranges_add(&image->ranges, start, end - start);
}

static void find_pieces(struct code_image *image, const struct ranges *described)
{
	size_t i, k = 0;
	u64 start;

	for (i = 0; i < image->all.nr; i++) {
		start = image->all.all[i].start;
		while (k < described->nr && described->all[k].end <= start)
			k++;
		for (; k < described->nr && described->all[k].start < image->all.all[i].end; k++) {
			if (described->all[k].start > start)
				add_piece(image, start, described->all[k].start);
			start = described->all[k].end;
		}
		/* The last one may reach into the next range. */
		k -= k > 0;
		if (start < image->all.all[i].end)
			add_piece(image, start, image->all.all[i].end);
	}
	ranges_merge(&image->ranges);
}

/* A section may be anywhere. Only what is loaded counts. */
static void find_code(struct code_image *image, const struct ranges *loaded)
{
	struct ranges code;
	size_t i;
	u64 size;

	code_find(&code, image->elf);
	for (i = 0; i < code.nr; i++) {
		size = code.all[i].end - code.all[i].start;
		if (ranges_bytes_within(loaded, code.all[i].start, size) == size)
			ranges_add(&image->all, code.all[i].start, size);
	}
	ranges_merge(&image->all);
	ranges_free(&code);
}

static bool read_pieces(struct code_image *image)
{
	const struct range *range;
	size_t i;

	image->size = ranges_bytes(&image->ranges);
	if (!image->size || image->size > IMAGE_MAX)
		return false;
	image->bytes = malloc(image->size);
	image->flags = calloc(image->size, sizeof(*image->flags));
	if (!image->bytes || !image->flags)
		return false;
	for (i = 0; i < image->ranges.nr; i++) {
		range = &image->ranges.all[i];
		if (!code_image_read(image, range->start, image->bytes + range->before,
				     range->end - range->start))
			return false;
	}
	return true;
}

/**
 * code_image_open - find the code that nothing describes
 * @image: filled in
 * @source: the file
 * @functions: the functions that are described
 *
 * Return: false if there is none, too much of it, or not enough memory. The caller calls
 * code_image_close() in both cases.
 */
bool code_image_open(struct code_image *image, const struct cfi_source *source,
		     const struct cfi_functions *functions)
{
	const struct plts *plts = &source->plts;
	struct ranges described = {};
	u32 i;

	*image = (struct code_image){
		.elf = source->elf, .machine = source->machine, .functions = functions,
	};
	for (i = 0; i < functions->nr; i++)
		ranges_add(&described, functions->all[i].start, functions->all[i].size);
	for (i = 0; i < plts->nr; i++)
		ranges_add(&described, plts->all[i].start, plts->all[i].size);
	ranges_merge(&described);
	find_code(image, &source->code);
	find_pieces(image, &described);
	ranges_free(&described);
	if (!read_pieces(image))
		return false;
	add_symbols(image);
	scan_segments(image, image->size < ranges_bytes(&image->all) / PART_MIN);
	ranges_merge(&image->labels);
	return true;
}

void code_image_close(struct code_image *image)
{
	ranges_free(&image->ranges);
	ranges_free(&image->all);
	ranges_free(&image->labels);
	free(image->bytes);
	free(image->flags);
}
