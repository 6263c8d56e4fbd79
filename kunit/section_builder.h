/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SFrame sections, and their rows, as texts. KUnit and the host tests use this builder.
 *
 * The text of a section has its functions and their rows:
 *
 *	"0x1000 64: 0 3 8, 1 5 16 -16; 0x2000 48 0x10 0 16: 0 3 8"
 *
 * A function is its start, from the start of the section, and its size. If they are not 0, the
 * bytes info, info2 (V3) and block size (V2, V3) follow. A row is its start in the function, its
 * info byte, and its words. The words need not be what the info byte says.
 *
 * The info byte is a sum: 1 = based on SP, else on FP; 2 for each word; 0x20 or 0x40 = words of 2
 * or 4 bytes; 0x80 = signed RA. So 3 is SP with one word, 5 SP with two words, 4 FP with two words.
 * The control word of a flexible rule is a sum, too: 8 times the register number, 2 = dereference,
 * 1 = register, else CFA.
 *
 * The text of a decoded row is "CFA FP RA":
 *
 *	sp+16	the stack pointer plus 16
 *	(c-8)	the word in memory at CFA - 8
 *	r10+0	DWARF register 10
 *	u	unchanged: still in its register
 */
#ifndef SECTION_BUILDER_H
#define SECTION_BUILDER_H

#include "sframe_core.h"

/* Short names for tables: flags, ABIs, and info bytes of the format. */
#define SORTED		SFRAME_F_FDE_SORTED
#define PCREL		SFRAME_F_FDE_FUNC_START_PCREL
#define BOTH		(SORTED | PCREL)
#define AMD64		SFRAME_ABI_AMD64_LE
#define AARCH64		SFRAME_ABI_AARCH64_LE
#define AARCH64_BE	SFRAME_ABI_AARCH64_BE
#define S390X		SFRAME_ABI_S390X_BE

#define ADDR1		0x00
#define ADDR4		0x02
#define KEY_B		0x20
#define SIGNAL		0x80
#define FLEX		0x01

#define BUILD_MAX_FDES	16
#define BUILD_SIZE	2048

struct build_fde {
	s64	start;		/* from the start of the section */
	u32	size;
	u32	fre_off;
	u32	num_fres;
	u8	info;
	u8	rep_size;
};

struct build {
	struct sframe_raw_header raw;	/* the header, in this machine's byte order */
	bool			big;	/* store big-endian */
	u8			fre_type;	/* ADDR*, for the rows of all FDEs */
	/* bytes between the header (with the auxiliary one) and the FDEs */
	u32			gap;
	u32			tail;	/* zero bytes after the FREs */
	u32			cut_to;	/* if not 0, the section is cut to this number of bytes */
	struct build_fde	fdes[BUILD_MAX_FDES];	/* the FDEs, @raw.num_fdes of them */
	u8			fres[BUILD_SIZE];	/* the rows, @raw.fre_len bytes */
	/* the section after build_finish(), @len bytes */
	u8			bytes[BUILD_SIZE];
	u32			len;
};

void build_start(struct build *b, u8 version, u8 flags, u8 abi);
bool section_number(const char **text, s64 *number);
void build_text(struct build *b, const char *text);
void build_fde(struct build *b, s64 start, u32 size, u8 info, u8 info2, u8 rep_size);
void build_words(struct build *b, u32 start, u8 info, const s32 *words, unsigned int nr);
void build_finish(struct build *b);
void build_patch(struct build *b, u32 off, u64 value, u32 len);
void build_patches(struct build *b, const char *text);

#define build_row(b, start, info, ...)					\
	build_words(b, start, info, (const s32[]){ 0, ##__VA_ARGS__ } + 1, \
		    sizeof((const s32[]){ 0, ##__VA_ARGS__ }) / 4 - 1)

#define SECTION_ROW_TEXT	128

void section_row_text(u8 abi, const struct sframe_row *row, char *text);
void section_error_text(const struct sframe_reader *rd, int err, char *text);

struct section_case {
	/* begins with ok-, bad- (refused, as a whole or in part) or weird- */
	const char	*name;
	u8		version;
	u8		flags;		/* SFRAME_F_* */
	u8		abi;		/* SFRAME_ABI_* */
	/* the functions; NULL: the section is all zero, but for its version */
	const char	*text;
	const char	*expect;	/* the listing, see test_decoder.c of the host tests */
	const char	*patch;		/* fields to overwrite, see build_patches(); may be NULL */
	u8		auxhdr;		/* bytes of the auxiliary header */
	u32		gap;		/* see struct build */
	u32		tail;		/* see struct build */
	u32		cut_to;		/* see struct build */
	/* built for AARCH64, the section would have another defect, or none */
	bool		is_of_abi;
};

#define NR_SECTION_CASES	93
extern const struct section_case section_cases[NR_SECTION_CASES];

/* With an ABI, sections of AMD64 are built for that ABI, unless they depend on their own. */
void make_section_case(struct build *b, const struct section_case *c);
void make_section_case_for(struct build *b, const struct section_case *c, u8 abi);

#endif /* SECTION_BUILDER_H */
