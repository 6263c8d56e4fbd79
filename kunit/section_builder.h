/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds SFrame sections as the specification says, FDE by FDE and row by row. A
 * test can then overwrite fields with values that no assembler writes. KUnit and
 * the host tests use this builder.
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
#define ADDR2		0x01
#define ADDR4		0x02
#define PCMASK		0x10
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

/**
 * struct build - a section under construction
 * @raw: the header, in this machine's byte order
 * @big: store big-endian
 * @gap: bytes between the header (with the auxiliary one) and the FDEs
 * @tail: zero bytes after the FREs
 * @cut_to: if not 0, the section is cut to this number of bytes
 * @fdes: the FDEs, @raw.num_fdes of them
 * @fres: the rows, @raw.fre_len bytes
 * @bytes: the section after build_finish(), @len bytes
 */
struct build {
	struct sframe_raw_header raw;
	bool			big;
	u32			gap;
	u32			tail;
	u32			cut_to;
	struct build_fde	fdes[BUILD_MAX_FDES];
	u8			fres[BUILD_SIZE];
	u8			bytes[BUILD_SIZE];
	u32			len;
};

void build_start(struct build *b, u8 version, u8 flags, u8 abi);
void build_fde(struct build *b, s64 start, u32 size, u8 info, u8 info2,
	       u8 rep_size);
void build_words(struct build *b, u32 start, u8 info, const s32 *words,
		 unsigned int nr);
void build_finish(struct build *b);
void build_patch(struct build *b, u32 off, u64 value, u32 len);

/* Adds a row. The words need not match @info. */
#define build_row(b, start, info, ...)					\
	build_words(b, start, info, (const s32[]){ 0, ##__VA_ARGS__ } + 1, \
		    sizeof((const s32[]){ 0, ##__VA_ARGS__ }) / 4 - 1)

#endif /* SECTION_BUILDER_H */
