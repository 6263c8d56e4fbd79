// SPDX-License-Identifier: GPL-2.0-or-later
/* A decoded section as a text, which tests compare. */
#include <linux/kernel.h>

#include "section_text.h"

static const char *register_text(u8 abi, u32 reg, char *text, size_t size)
{
	static const u8 named[][2] = {
		[SFRAME_ABI_AARCH64_BE] = { 31, 29 },
		[SFRAME_ABI_AARCH64_LE] = { 31, 29 },
		[SFRAME_ABI_AMD64_LE] = { 7, 6 },
		[SFRAME_ABI_S390X_BE] = { 15, 11 },
	};

	if (reg == named[abi][0])
		return "sp";
	if (reg == named[abi][1])
		return "fp";
	scnprintf(text, size, "r%u", reg);
	return text;
}

static int rule_text(u8 abi, const struct sframe_rule *rule, char *text,
		     size_t size)
{
	const char *base = "c";
	char name[16];

	if (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM)
		base = register_text(abi, rule->reg, name, sizeof(name));

	switch (rule->how) {
	case SFRAME_RULE_CFA:
	case SFRAME_RULE_REG:
		return scnprintf(text, size, "%s%+d", base, rule->off);
	case SFRAME_RULE_CFA_MEM:
	case SFRAME_RULE_REG_MEM:
		return scnprintf(text, size, "(%s%+d)", base, rule->off);
	default:
		return scnprintf(text, size, "u");
	}
}

/* @text has SECTION_ROW_TEXT bytes. */
void section_row_text(u8 abi, const struct sframe_row *row, char *text)
{
	const struct sframe_rule *rules[] = { &row->cfa, &row->fp, &row->ra };
	size_t len = 0, i;

	if (row->outermost)
		len += scnprintf(text, SECTION_ROW_TEXT, "- - undefined");
	for (i = 0; i < ARRAY_SIZE(rules) && !row->outermost; i++) {
		len += scnprintf(text + len, SECTION_ROW_TEXT - len, i ? " " : "");
		len += rule_text(abi, rules[i], text + len, SECTION_ROW_TEXT - len);
	}
	if (row->ra_mangled)
		scnprintf(text + len, SECTION_ROW_TEXT - len, " [s]");
}

struct listing {
	struct sframe_reader	*rd;
	struct sframe_header	hdr;
	char			*text;
	size_t			len;
};

static __printf(2, 3) void append(struct listing *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	list->len += vscnprintf(list->text + list->len, SECTION_TEXT - list->len,
				format, args);
	va_end(args);
}

/* Return: 0 to go on with the next row; else the listing of this function ends. */
static int list_row(struct listing *list, struct sframe_rows *rows, u32 index, u32 nr)
{
	char text[SECTION_ROW_TEXT];
	struct sframe_raw_row raw;
	struct sframe_row row;
	int err;

	err = sframe_rows_next(rows, list->rd, &raw);
	if (!err)
		err = sframe_decode_row(&list->hdr, list->rd, &raw, &row);
	if (err == -ENOENT)
		return err;
	if (err) {
		append(list, "! fde %u row %u %s\n", index, nr,
		       sframe_defect_names[list->rd->defect]);
		/* The rows after a row that cannot be followed may still be sound. */
		return err == -EOPNOTSUPP ? 0 : err;
	}
	section_row_text(list->hdr.abi, &row, text);
	append(list, "  %x %s\n", row.start, text);
	return 0;
}

static void list_rows(struct listing *list, const struct sframe_fde *fde,
		      u32 index)
{
	struct sframe_rows rows;
	u32 nr = 0;

	sframe_rows_init(&rows, &list->hdr, fde);
	while (!list_row(list, &rows, index, nr))
		nr++;
}

static void list_fde(struct listing *list, const struct sframe_fde *fde,
		     u32 index, u64 last_start)
{
	s64 start = fde->start - list->hdr.addr;
	bool sorted = list->hdr.flags & SFRAME_F_FDE_SORTED;

	append(list, "fde %s0x%llx %u", start < 0 ? "-" : "",
	       start < 0 ? -(u64)start : (u64)start, fde->size);
	if (fde->pcmask)
		append(list, " mask%u", fde->rep_size);
	append(list, "%s%s%s\n", fde->flex ? " flex" : "",
	       fde->signal ? " signal" : "", fde->pauth_key_b ? " key-b" : "");
	if ((fde->start | (fde->start + fde->size)) >> 63)
		append(list, "! fde %u fde-range\n", index);
	else if (sorted && fde->start < last_start)
		append(list, "! fde %u fde-order\n", index);
	list_rows(list, fde, index);
}

/**
 * section_text() - list a section
 * @rd: the memory
 * @addr: address of the section
 * @len: bytes of the section
 * @text: SECTION_TEXT bytes
 */
void section_text(struct sframe_reader *rd, u64 addr, u64 len, char *text)
{
	struct listing list = { .rd = rd, .text = text };
	struct sframe_fde fde;
	u64 last_start = 0;
	u32 i;
	int err;

	*text = '\0';
	err = sframe_header_read(&list.hdr, rd, addr, len);
	if (err == -ENOENT)
		return;
	if (err) {
		append(&list, "! header %s\n", sframe_defect_names[rd->defect]);
		return;
	}
	append(&list, "blob %u %x\n", list.hdr.version, list.hdr.flags);
	for (i = 0; i < list.hdr.num_fdes; i++) {
		err = sframe_get_fde(&list.hdr, rd, i, &fde);
		if (err) {
			append(&list, "! fde %u %s\n", i,
			       sframe_defect_names[rd->defect]);
			continue;
		}
		list_fde(&list, &fde, i, last_start);
		last_start = fde.start;
	}
}
