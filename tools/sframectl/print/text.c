// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns the numbers of SFrame into text. Rules are written like this:
 *
 *	sp+16	the stack pointer plus 16
 *	(c-8)	the word in memory at CFA - 8
 *	r10+0	DWARF register 10
 *	u	unchanged: still in its register
 *
 * An outermost frame has no caller: its CFA and FP are "-", its RA is "undefined".
 */
#include <inttypes.h>
#include <stdio.h>

#include "text.h"

static const char *const abis[] = {
	[SFRAME_ABI_AARCH64_BE] = "AArch64 big-endian",
	[SFRAME_ABI_AARCH64_LE] = "AArch64",
	[SFRAME_ABI_AMD64_LE] = "AMD64",
	[SFRAME_ABI_S390X_BE] = "s390x",
};

/* The table has each ABI that the decoder accepts. */
const char *abi_text(u8 abi)
{
	return abis[abi];
}

/* @text has TEXT_SIZE bytes. */
const char *flags_text(u8 flags, char *text)
{
	snprintf(text, TEXT_SIZE, "%s%s%s",
		 flags & SFRAME_F_FDE_SORTED ? ",sorted" : "",
		 flags & SFRAME_F_FRAME_POINTER ? ",fp" : "",
		 flags & SFRAME_F_FDE_FUNC_START_PCREL ? ",pcrel" : "");
	return *text ? text + 1 : "none";
}

/* @text has TEXT_SIZE bytes, for a register without a name. */
static const char *register_text(u8 abi, u32 reg, char *text)
{
	static const u8 named[][2] = {
		[SFRAME_ABI_AARCH64_BE] = { SFRAME_AARCH64_REG_SP,
					    SFRAME_AARCH64_REG_FP },
		[SFRAME_ABI_AARCH64_LE] = { SFRAME_AARCH64_REG_SP,
					    SFRAME_AARCH64_REG_FP },
		[SFRAME_ABI_AMD64_LE] = { SFRAME_AMD64_REG_SP,
					  SFRAME_AMD64_REG_FP },
		[SFRAME_ABI_S390X_BE] = { SFRAME_S390X_REG_SP,
					  SFRAME_S390X_REG_FP },
	};

	if (reg == named[abi][0])
		return "sp";
	if (reg == named[abi][1])
		return "fp";
	snprintf(text, TEXT_SIZE, "r%u", reg);
	return text;
}

static void rule_to_text(u8 abi, const struct sframe_rule *rule, char *text)
{
	char name[TEXT_SIZE];

	switch (rule->how) {
	case SFRAME_RULE_CFA:
		snprintf(text, TEXT_SIZE, "c%+" PRId32, rule->off);
		break;
	case SFRAME_RULE_CFA_MEM:
		snprintf(text, TEXT_SIZE, "(c%+" PRId32 ")", rule->off);
		break;
	case SFRAME_RULE_REG:
		snprintf(text, TEXT_SIZE, "%.8s%+" PRId32,
			 register_text(abi, rule->reg, name), rule->off);
		break;
	case SFRAME_RULE_REG_MEM:
		snprintf(text, TEXT_SIZE, "(%.8s%+" PRId32 ")",
			 register_text(abi, rule->reg, name), rule->off);
		break;
	default:
		strcpy(text, "u");
	}
}

void row_to_text(u8 abi, const struct sframe_row *row, struct row_text *text)
{
	if (row->outermost) {
		*text = (struct row_text){ "-", "-", "undefined" };
		return;
	}
	rule_to_text(abi, &row->cfa, text->cfa);
	rule_to_text(abi, &row->fp, text->fp);
	rule_to_text(abi, &row->ra, text->ra);
}

#define WIDTH	80	/* columns of a line */

/* Prints words from @column on. Lines that follow begin in column @indent. */
void print_words(const char *words, unsigned int column, unsigned int indent)
{
	int len;

	for (; *words; words += len + strspn(words + len, " ")) {
		len = strcspn(words, " ");
		if (column + 1 + len > WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", len, words);
		column += len;
	}
	putchar('\n');
}
