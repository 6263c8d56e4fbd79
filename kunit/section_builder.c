// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds SFrame sections, and writes rows as texts. See section_builder.h. */
#include "section_builder.h"

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/panic.h>

/* A failure is a mistake in the test, so the test cannot go on. */
#define assert(condition)					\
	do {							\
		if (!(condition))				\
			panic("section_builder: " #condition);	\
	} while (0)
#else
#include <stdio.h>
#include <stdlib.h>

#ifndef scnprintf
#define scnprintf	snprintf	/* all texts fit */
#endif
#endif

static u32 put(const struct build *b, u8 *to, u64 value, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		to[b->big ? len - 1 - i : i] = value >> (8 * i);
	return len;
}

void build_start(struct build *b, u8 version, u8 flags, u8 abi)
{
	memset(b, 0, sizeof(*b));
	b->raw = (struct sframe_raw_header){
		.magic = SFRAME_MAGIC,
		.version = version,
		.flags = flags,
		.abi_arch = abi,
		.cfa_fixed_ra_offset = abi == SFRAME_ABI_AMD64_LE ? -8 : 0,
	};
	b->big = abi == SFRAME_ABI_AARCH64_BE || abi == SFRAME_ABI_S390X_BE;
}

static u32 add(struct build *b, u64 value, u32 len)
{
	assert(b->raw.fre_len + len <= sizeof(b->fres));
	b->raw.fre_len += put(b, b->fres + b->raw.fre_len, value, len);
	return len;
}

/* @info2 is used by V3 only, @rep_size by V2 and V3. */
void build_fde(struct build *b, s64 start, u32 size, u8 info, u8 info2, u8 rep_size)
{
	assert(b->raw.num_fdes < BUILD_MAX_FDES);
	info |= b->fre_type;
	b->fdes[b->raw.num_fdes++] = (struct build_fde){
		.start = start,
		.size = size,
		.fre_off = b->raw.fre_len,
		.info = info,
		.rep_size = rep_size,
	};
	if (b->raw.version != SFRAME_VERSION_3)
		return;
	add(b, 0, 2);		/* num_fres, see build_words() */
	add(b, info, 1);
	add(b, info2, 1);
	add(b, rep_size, 1);
}

void build_words(struct build *b, u32 start, u8 info, const s32 *words, unsigned int nr)
{
	struct build_fde *fde = &b->fdes[b->raw.num_fdes - 1];
	unsigned int i;

	/* Undefined types have a size of 4. */
	add(b, start, min_t(u32, 1u << SFRAME_FDE_FRE_TYPE(fde->info), 4));
	add(b, info, 1);
	for (i = 0; i < nr; i++)
		add(b, words[i], 1u << SFRAME_FRE_WORD_SIZE(info));
	fde->num_fres++;
	b->raw.num_fres++;
	if (b->raw.version == SFRAME_VERSION_3)
		put(b, b->fres + fde->fre_off, fde->num_fres, 2);
}

/* Reads a number, decimal or hexadecimal (0x1f). Return: false if there is none. */
bool section_number(const char **text, s64 *number)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = *text + strspn(*text, " "), *digit;
	bool is_negative = *at == '-';
	u32 base = 10;
	u64 n = 0;

	at += is_negative;
	if (at[0] == '0' && at[1] == 'x') {
		base = 16;
		at += 2;
	}
	if (!*at || !memchr(digits, *at, base))
		return false;
	for (; (digit = memchr(digits, *at, base)); at++)
		n = n * base + (digit - digits);
	*number = is_negative ? -n : n;
	*text = at;
	return true;
}

/* Reads numbers, up to one that is none. Return: how many; those that are not there are 0. */
static u32 get_numbers(const char **text, s64 *numbers, u32 max)
{
	s64 number;
	u32 nr = 0;

	memset(numbers, 0, max * sizeof(*numbers));
	while (section_number(text, &number)) {
		assert(nr < max);
		numbers[nr++] = number;
	}
	return nr;
}

void build_text(struct build *b, const char *text)
{
	s64 n[2 + SFRAME_FRE_MAX_WORDS];
	s32 words[SFRAME_FRE_MAX_WORDS];
	u32 nr, i;

	while (*text) {
		text += *text == ';';
		nr = get_numbers(&text, n, 5);
		assert(nr >= 2);
		build_fde(b, n[0], n[1], n[2], n[3], n[4]);
		while (*text == ':' || *text == ',') {
			text++;
			nr = get_numbers(&text, n, ARRAY_SIZE(n));
			assert(nr >= 2);
			for (i = 2; i < nr; i++)
				words[i - 2] = n[i];
			build_words(b, n[0], n[1], words, nr - 2);
		}
		assert(!*text || *text == ';');
	}
}

static void finish_header(struct build *b, u32 fde_size)
{
	static const u8 lens[] = { 2, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4 };
	u32 i, off;
	u64 field;

	b->raw.fdeoff = b->gap;
	b->raw.freoff = b->gap + b->raw.num_fdes * fde_size;
	for (i = off = 0; i < ARRAY_SIZE(lens); off += lens[i++]) {
		field = 0;
		memcpy(&field, (u8 *)&b->raw + off, lens[i]);
		build_patch(b, off, field, lens[i]);
	}
}

static void finish_fde(struct build *b, const struct build_fde *fde, u32 off)
{
	bool pcrel = b->raw.flags & SFRAME_F_FDE_FUNC_START_PCREL;
	u32 start_len = b->raw.version == SFRAME_VERSION_3 ? 8 : 4;

	build_patch(b, off, fde->start - (pcrel ? off : 0), start_len);
	off += start_len;
	build_patch(b, off, fde->size, 4);
	build_patch(b, off + 4, fde->fre_off, 4);
	if (b->raw.version == SFRAME_VERSION_3)
		return;
	build_patch(b, off + 8, fde->num_fres, 4);
	build_patch(b, off + 12, fde->info, 1);
	if (b->raw.version == SFRAME_VERSION_2)
		build_patch(b, off + 13, fde->rep_size, 1);
}

void build_finish(struct build *b)
{
	static const u8 fde_sizes[] = { 0, 17, 20, 16 };
	u32 fde_size = fde_sizes[b->raw.version];
	u32 off = 28 + b->raw.auxhdr_len + b->gap;
	u32 i;

	b->len = off + b->raw.num_fdes * fde_size + b->raw.fre_len + b->tail;
	assert(b->len <= sizeof(b->bytes));
	finish_header(b, fde_size);
	for (i = 0; i < b->raw.num_fdes; i++, off += fde_size)
		finish_fde(b, &b->fdes[i], off);
	memcpy(b->bytes + off, b->fres, b->raw.fre_len);
	if (b->cut_to)
		b->len = b->cut_to;
}

void build_patch(struct build *b, u32 off, u64 value, u32 len)
{
	assert(off + len <= sizeof(b->bytes));
	put(b, b->bytes + off, value, len);
}

/* @text has offset, size and value of each field that is overwritten. */
void build_patches(struct build *b, const char *text)
{
	s64 n[12];
	u32 i, nr = text ? get_numbers(&text, n, ARRAY_SIZE(n)) : 0;

	for (i = 0; i < nr; i += 3)
		build_patch(b, n[i], n[i + 2], n[i + 1]);
}

static int rule_text(u8 abi, const struct sframe_rule *rule, char *text)
{
	/* SP and FP. */
	static const u8 named[][2] = {
		[AARCH64_BE] = { 31, 29 }, [AARCH64] = { 31, 29 }, [AMD64] = { 7, 6 },
		[S390X] = { 15, 11 },
	};
	bool is_memory = rule->how == SFRAME_RULE_CFA_MEM || rule->how == SFRAME_RULE_REG_MEM;
	char base[8] = "c";

	if (rule->how == SFRAME_RULE_SAME)
		return scnprintf(text, 2, "u");
	if (rule->how == SFRAME_RULE_REG || rule->how == SFRAME_RULE_REG_MEM) {
		if (rule->reg == named[abi][0] || rule->reg == named[abi][1])
			scnprintf(base, sizeof(base), rule->reg == named[abi][0] ? "sp" : "fp");
		else
			scnprintf(base, sizeof(base), "r%u", rule->reg);
	}
	return scnprintf(text, 32, "%s%s%+d%s", is_memory ? "(" : "", base, rule->off,
			 is_memory ? ")" : "");
}

/* @text has SECTION_ROW_TEXT bytes. */
void section_row_text(u8 abi, const struct sframe_row *row, char *text)
{
	if (row->outermost) {
		text += scnprintf(text, 16, "- - undefined");
	} else {
		text += rule_text(abi, &row->cfa, text);
		*text++ = ' ';
		text += rule_text(abi, &row->fp, text);
		*text++ = ' ';
		text += rule_text(abi, &row->ra, text);
	}
	if (row->ra_mangled)
		scnprintf(text, 8, " [s]");
}

/* @text has SECTION_ROW_TEXT bytes. */
void section_error_text(const struct sframe_reader *rd, int err, char *text)
{
	const char *defect = sframe_defects[rd->defect].name;

	if (err == -EBADMSG)
		scnprintf(text, SECTION_ROW_TEXT, "bad %s", defect);
	else if (err == -EOPNOTSUPP)
		scnprintf(text, SECTION_ROW_TEXT, "refused %s", defect);
	else if (err == -ENOENT)
		scnprintf(text, SECTION_ROW_TEXT, "none");
	else if (err == -EFAULT)
		scnprintf(text, SECTION_ROW_TEXT, "unreadable");
	else if (err == -E2BIG)
		scnprintf(text, SECTION_ROW_TEXT, "budget");
	else
		scnprintf(text, SECTION_ROW_TEXT, "error %d", err);
}
