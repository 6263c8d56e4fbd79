// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the entries of .eh_frame and .debug_frame. The bytes may be anything; each entry is read
 * within its own bounds.
 *
 * The format of .eh_frame is that of the Linux Standard Base, "Exception Frames"; that of
 * .debug_frame is in DWARF 5, section 6.4.1.
 */
#include <stdint.h>

#include "cfi_entry.h"

/* DW_EH_PE_*: the form of an address, and what it is relative to. */
#define ENCODING_FORM(encoding)	((encoding) & 0x0f)
#define ENCODING_BASE(encoding)	((encoding) & 0xf0)

enum {
	FORM_ABSPTR = 0x00,
	FORM_ULEB128 = 0x01,
	FORM_UDATA2 = 0x02,
	FORM_UDATA4 = 0x03,
	FORM_UDATA8 = 0x04,
	FORM_SLEB128 = 0x09,
	FORM_SDATA2 = 0x0a,
	FORM_SDATA4 = 0x0b,
	FORM_SDATA8 = 0x0c,
	FORM_SIGNED = 0x08,

	BASE_NONE = 0x00,
	BASE_PCREL = 0x10,
	BASE_TEXTREL = 0x20,
};

/* Sets whether it is a CIE, or where its CIE is. Return: false if that is nowhere. */
static bool find_cie(const struct cfi_section *sec, struct cfi_entry *entry, bool is_long)
{
	u32 at = entry->body.pos - sec->data;
	u64 id = cfi_fixed(&entry->body, is_long ? 8 : 4);

	/* The FDE of .debug_frame has the offset of its CIE. */
	if (sec->is_debug) {
		entry->is_cie = id == (is_long ? UINT64_MAX : UINT32_MAX);
		entry->cie = entry->is_cie ? entry->off : id;
		return !entry->body.is_bad && (entry->is_cie || id < sec->size);
	}
	/* That of .eh_frame says how far before this place its CIE is. */
	entry->is_cie = id == 0;
	entry->cie = at - id;
	return !entry->body.is_bad && id <= at;
}

/**
 * cfi_find_entry - find the bounds of an entry
 * @sec: the section
 * @off: offset of the entry
 * @entry: filled in; of a terminator and an odd entry only the bounds
 *
 * Return: what was found.
 */
enum cfi_entry_kind cfi_find_entry(const struct cfi_section *sec, u32 off, struct cfi_entry *entry)
{
	struct cfi_cursor cur = { .pos = sec->data + off, .end = sec->data + sec->size };
	bool is_long;
	u64 len;

	*entry = (struct cfi_entry){ .off = off };
	len = cfi_fixed(&cur, 4);
	is_long = len == 0xffffffff;
	if (is_long)
		len = cfi_fixed(&cur, 8);
	entry->body = cfi_block(&cur, len);
	entry->end = cur.pos - sec->data;
	if (cur.is_bad)
		return CFI_ENTRY_DAMAGED;
	if (len == 0)
		return CFI_ENTRY_TERMINATOR;
	/* No toolchain writes long entries of .eh_frame. */
	return (!is_long || sec->is_debug) && find_cie(sec, entry, is_long) ? CFI_ENTRY_FOUND :
									     CFI_ENTRY_ODD;
}

/**
 * cfi_encoded - read an encoded address
 * @sec: the section that @cur is in
 * @cur: bad afterwards if the encoding is not one that linked files use
 * @encoding: DW_EH_PE_*
 *
 * Return: the address.
 */
u64 cfi_encoded(const struct cfi_section *sec, struct cfi_cursor *cur, u8 encoding)
{
	u64 place = sec->addr + (cur->pos - sec->data);
	u64 value = 0;

	switch (ENCODING_FORM(encoding)) {
	case FORM_ABSPTR:
	case FORM_UDATA8:
	case FORM_SDATA8:
		value = cfi_fixed(cur, 8);
		break;
	case FORM_ULEB128:
		value = cfi_uleb(cur);
		break;
	case FORM_SLEB128:
		value = cfi_sleb(cur);
		break;
	case FORM_UDATA2:
		value = cfi_fixed(cur, 2);
		break;
	case FORM_SDATA2:
		value = cfi_signed(cfi_fixed(cur, 2), 2);
		break;
	case FORM_UDATA4:
		value = cfi_fixed(cur, 4);
		break;
	case FORM_SDATA4:
		value = cfi_signed(cfi_fixed(cur, 4), 4);
		break;
	default:
		cur->is_bad = true;
	}
	if (ENCODING_BASE(encoding) == BASE_PCREL)
		return place + value;
	if (ENCODING_BASE(encoding) == BASE_TEXTREL && sec->text)
		return sec->text + value;
	if (ENCODING_BASE(encoding) != BASE_NONE)
		cur->is_bad = true;
	return value;
}

/* The address of a personality routine is of no use: only its size is. */
static void skip_encoded(struct cfi_cursor *cur)
{
	const struct cfi_section nowhere = {};

	cfi_encoded(&nowhere, cur, ENCODING_FORM(cfi_byte(cur)));
}

/* @data are the augmentation data. Return: true if all letters are known. */
static bool read_augmentation(struct cfi_cie *cie, const u8 *letter, struct cfi_cursor data)
{
	for (; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = cfi_byte(&data);
			break;
		case 'L':
			cfi_byte(&data);
			break;
		case 'P':
			skip_encoded(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			cie->is_key_b = true;
			break;
		case 'G':	/* AArch64: stack memory is tagged */
			break;
		default:
			return false;
		}
	}
	return !data.is_bad;
}

/* Return: CFI_HOLE_NONE if all parts are known. */
static enum cfi_hole parse_cie(const struct cfi_machine *machine, struct cfi_cursor cur,
			       struct cfi_cie *cie)
{
	u8 version = cfi_byte(&cur);
	const u8 *letters = cur.pos;
	struct cfi_cursor data;
	u64 ra;

	while (cfi_byte(&cur))
		;
	if (cur.is_bad)
		return CFI_HOLE_MALFORMED;
	if (version != 1 && version != 3 && version != 4)
		return CFI_HOLE_UNKNOWN;
	/* DWARF 4: addresses have 8 bytes, and segments do not exist. */
	if (version == 4 && (cfi_byte(&cur) != 8 || cfi_byte(&cur) != 0))
		return CFI_HOLE_UNKNOWN;
	cie->code_factor = cfi_uleb(&cur);
	cie->data_factor = cfi_sleb(&cur);
	ra = version == 1 ? cfi_byte(&cur) : cfi_uleb(&cur);
	if (*letters == 'z') {
		cie->has_data = true;
		data = cfi_block(&cur, cfi_uleb(&cur));
		if (!read_augmentation(cie, letters + 1, data))
			return CFI_HOLE_UNKNOWN;
	} else if (*letters) {
		return CFI_HOLE_UNKNOWN;
	}
	if (cur.is_bad)
		return CFI_HOLE_MALFORMED;
	cie->program = cur;
	return ra == machine->ra ? CFI_HOLE_NONE : CFI_HOLE_RA;
}

/**
 * cfi_read_cie - read a CIE
 * @machine: the architecture
 * @entry: the entry, one of a CIE
 * @cie: filled in, but for the initial rules
 */
void cfi_read_cie(const struct cfi_machine *machine, const struct cfi_entry *entry,
		  struct cfi_cie *cie)
{
	*cie = (struct cfi_cie){ .off = entry->off };
	cie->hole = parse_cie(machine, entry->body, cie);
}

/**
 * cfi_read_fde - read an FDE
 * @sec: the section
 * @entry: the entry, one of an FDE
 * @cie: its CIE
 * @fde: filled in
 *
 * Return: false if it does not say where its function is.
 */
bool cfi_read_fde(const struct cfi_section *sec, const struct cfi_entry *entry,
		  const struct cfi_cie *cie, struct cfi_fde *fde)
{
	struct cfi_cursor cur = entry->body;

	fde->cie = cie->off;
	fde->start = cfi_encoded(sec, &cur, cie->encoding);
	fde->size = cfi_encoded(sec, &cur, ENCODING_FORM(cie->encoding) & ~FORM_SIGNED);
	if (cie->has_data)
		cfi_block(&cur, cfi_uleb(&cur));
	fde->program = cur;
	return !cur.is_bad;
}
