/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SFrame format, versions 1 to 3, as files store it: packed, unaligned, in the byte order that
 * the magic shows. Titles in quotes are from the specification of version 3 (binutils 2.46 and
 * later), unless another version is named.
 */
#ifndef SFRAME_FORMAT_H
#define SFRAME_FORMAT_H

#include "sframe_types.h"

#define SFRAME_PT_GNU_SFRAME		0x6474e554
#define SFRAME_SHT_GNU_SFRAME		0x6ffffff4

/* "SFrame Preamble" */
#define SFRAME_MAGIC			0xdee2
#define SFRAME_MAGIC_SWAPPED		0xe2de

#define SFRAME_VERSION_1		1
#define SFRAME_VERSION_2		2
#define SFRAME_VERSION_3		3

#define SFRAME_F_FDE_SORTED		0x1
#define SFRAME_F_FRAME_POINTER		0x2	/* V1, V2 */
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4	/* erratum 1 of SFrame V2 added this flag */

/* "SFrame ABI/arch Identifier" */
#define SFRAME_ABI_AARCH64_BE		1
#define SFRAME_ABI_AARCH64_LE		2
#define SFRAME_ABI_AMD64_LE		3
#define SFRAME_ABI_S390X_BE		4	/* erratum 1 of SFrame V2 added this ABI (s390x) */

/* "SFrame Header" of the specification: 28 bytes in all versions, with the preamble. */
struct sframe_raw_header {
	u16	magic;
	u8	version;
	u8	flags;
	u8	abi_arch;
	s8	cfa_fixed_fp_offset;	/* 0: not fixed */
	s8	cfa_fixed_ra_offset;	/* 0: not fixed */
	u8	auxhdr_len;
	u32	num_fdes;
	u32	num_fres;
	u32	fre_len;
	u32	fdeoff;			/* bytes from end of auxiliary header to FDE table */
	u32	freoff;			/* bytes from end of auxiliary header to FREs */
} __packed;

/* A function descriptor (FDE) of V1: "SFrame Function Descriptor Entries" in its specification. */
struct sframe_raw_fde_v1 {
	s32	start;
	u32	size;
	u32	fre_off;
	u32	num_fres;
	u8	info;
} __packed;

struct sframe_raw_fde_v2 {
	s32	start;
	u32	size;
	u32	fre_off;
	u32	num_fres;
	u8	info;
	u8	rep_size;
	u16	padding;
} __packed;

/* First of two parts of a function descriptor in V3: an entry in the index, "SFrame FDE". */
struct sframe_raw_fde_v3 {
	s64	start;
	u32	size;
	u32	fre_off;		/* offset of the FDE's second part in the FRE sub-section */
} __packed;

/* Second part of a function descriptor in V3: attributes, directly before the function's rows. */
struct sframe_raw_attr_v3 {
	u16	num_fres;
	u8	info;
	u8	info2;
	u8	rep_size;
} __packed;

/* "The SFrame FDE Info Word": fields of the info byte in a function descriptor. */
#define SFRAME_FDE_FRE_TYPE(info)	((info) & 0xf)
#define SFRAME_FDE_PCMASK(info)		(((info) >> 4) & 1)
#define SFRAME_FDE_PAUTH_KEY_B(info)	(((info) >> 5) & 1)
#define SFRAME_FDE_SIGNAL(info)		(((info) >> 7) & 1)	/* V3 */
#define SFRAME_FDE_TYPE(info2)		((info2) & 0x1f)	/* V3 */

#define SFRAME_FRE_TYPE_ADDR1		0
#define SFRAME_FRE_TYPE_ADDR2		1
#define SFRAME_FRE_TYPE_ADDR4		2

#define SFRAME_FDE_TYPE_DEFAULT		0
#define SFRAME_FDE_TYPE_FLEX		1

/* V1 has no field for the block size of repetitive code: on x86-64, it is 16 bytes (PLT slot). */
#define SFRAME_V1_AMD64_REP_SIZE	16

/* "The SFrame FRE Info Word": fields of the info byte in a row. */
#define SFRAME_FRE_BASE_SP(info)	((info) & 1)
#define SFRAME_FRE_NR_WORDS(info)	(((info) >> 1) & 0xf)
#define SFRAME_FRE_WORD_SIZE(info)	(((info) >> 5) & 3)
#define SFRAME_FRE_RA_MANGLED(info)	(((info) >> 7) & 1)
#define SFRAME_FRE_SIZE_INDEX(info)	(((info) >> 1) & 0x3f)	/* of sframe_words_sizes */

#define SFRAME_FRE_MAX_WORDS		15

/* "Flexible FDE type": fields of the control word that begins each rule of a flexible row (V3). */
#define SFRAME_FLEX_REG_P(word)		((word) & 1)
#define SFRAME_FLEX_DEREF_P(word)	(((word) >> 1) & 1)
#define SFRAME_FLEX_REGNUM(word)	((word) >> 3)

/* Appendix "ABI/arch-specific definition" */
#define SFRAME_AMD64_FIXED_RA_OFFSET	(-8)
#define SFRAME_AMD64_REG_FP		6
#define SFRAME_AMD64_REG_SP		7
#define SFRAME_AMD64_NR_REGS		16
#define SFRAME_AARCH64_REG_FP		29
#define SFRAME_AARCH64_REG_RA		30
#define SFRAME_AARCH64_REG_SP		31
#define SFRAME_AARCH64_NR_REGS		32
#define SFRAME_S390X_REG_FP		11
#define SFRAME_S390X_REG_SP		15
#define SFRAME_S390X_NR_REGS		32	/* registers 16 to 31 are floating-point ones */
#define SFRAME_S390X_CFA_SCALE		8
#define SFRAME_S390X_CFA_BIAS		160
#define SFRAME_S390X_REG_WORD_P(word)	((word) & 1)
#define SFRAME_S390X_REGNUM(word)	((word) >> 1)

static_assert(sizeof(struct sframe_raw_header) == 28);
static_assert(sizeof(struct sframe_raw_fde_v1) == 17);
static_assert(sizeof(struct sframe_raw_fde_v2) == 20);
static_assert(sizeof(struct sframe_raw_fde_v3) == 16);
static_assert(sizeof(struct sframe_raw_attr_v3) == 5);

#endif /* SFRAME_FORMAT_H */
