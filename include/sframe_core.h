/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder: from bytes of an SFrame section to the row of one frame. See sframe_core.c. */
#ifndef SFRAME_CORE_H
#define SFRAME_CORE_H

#include "sframe_format.h"

/* The defects of sections, which each have a counter. */
enum sframe_defect {
#define ADD_DEFECT(defect, ...)	defect,
#include "sframe_defects.h"
#undef ADD_DEFECT
	NR_SFRAME_DEFECTS
};

extern const struct sframe_defect_info {
	const char	*name;		/* part of the name of the counter */
	const char	*text;
} sframe_defects[NR_SFRAME_DEFECTS];

/*
 * State of look-ups in one section, made by the caller of the decoder. @budget bounds the work of
 * a look-up, even if the section is hostile.
 */
struct sframe_reader {
	const u8		*bytes;	/* the section, if it is in a buffer */
	u64			addr;	/* address of the first byte in @bytes */
	u64			len;	/* number of bytes in @bytes */
	u32			budget;	/* instructions that look-ups may still take */
	enum sframe_defect	defect;	/* reason of -EBADMSG or -EOPNOTSUPP */
};

static __always_inline int sframe_malformed(struct sframe_reader *rd, enum sframe_defect defect)
{
	rd->defect = defect;
	return -EBADMSG;
}

static __always_inline int sframe_unsupported(struct sframe_reader *rd, enum sframe_defect defect)
{
	rd->defect = defect;
	return -EOPNOTSUPP;
}

/* Costs of a look-up, in instructions, approximately. */
#define SFRAME_FIND_COST	768	/* of a look-up in 2^32 functions, besides rows */
#define SFRAME_ROW_COST		24	/* of each row that is examined */
#define SFRAME_ENTRY_COST	40	/* of each function that is examined in vain */
#define SFRAME_FAULT_COST	1000	/* of a read that fails, with an exception */

/* Subtracts @cost from the budget of a look-up. Sets it to 0 and returns -E2BIG if it is less. */
static __always_inline int sframe_charge(struct sframe_reader *rd, u32 cost)
{
	if (rd->budget < cost) {
		rd->budget = 0;
		return -E2BIG;
	}
	rd->budget -= cost;
	return 0;
}

/*
 * The header of a section, as sframe_header_check() has checked it. Every access to the section is
 * checked against this copy, because a process may change the bytes of its section later.
 */
struct sframe_header {
	u64	addr;		/* address of the header, where the code has its addresses, too */
	u64	fde_addr;	/* address of the FDE table */
	u64	fre_addr;	/* address of the FRE sub-section */
	/*
	 * Bounds of the code that the section may describe: no look-up finds a function outside of
	 * them. sframe_header_check() allows all addresses below 2^63. A caller that knows which
	 * code is mapped sets the bounds of this code.
	 */
	u64	code_start;
	u64	code_end;
	u32	num_fdes;	/* entries in the FDE table */
	u32	fre_len;	/* length of the FRE sub-section in bytes */
	u8	version;	/* 1, 2 or 3 */
	u8	flags;		/* SFRAME_F_* */
	u8	abi;		/* SFRAME_ABI_* */
	u8	fde_size;	/* length of an entry of the FDE table in bytes */
	bool	swapped;	/* not in the byte order of this machine */
};

/* A decoded function descriptor (FDE): one function, or a stretch of repetitive code. */
struct sframe_fde {
	u64	start;		/* address of the function */
	u32	size;		/* length of the function in bytes */
	u32	fre_off;	/* bytes from the start of the FRE sub-section to the first row */
	u32	num_fres;	/* number of rows */
	u8	fre_type;	/* SFRAME_FRE_TYPE_*: bytes of a row's start offset */
	u8	rep_size;	/* length of a block in bytes, if @pcmask */
	bool	pcmask;		/* the rows describe each block of repetitive code */
	bool	flex;		/* rows are of the flexible form (V3) */
	bool	signal;		/* a signal trampoline (V3) */
	bool	pauth_key_b;	/* return addresses are signed with key B (AArch64) */
};

enum sframe_rule_how {
	SFRAME_RULE_SAME,	/* the value is unchanged, in its register */
	SFRAME_RULE_CFA,	/* CFA + off */
	SFRAME_RULE_CFA_MEM,	/* *(CFA + off) */
	SFRAME_RULE_REG,	/* reg + off */
	SFRAME_RULE_REG_MEM,	/* *(reg + off) */
};

/* How to find one value of the caller's frame: CFA, return address or frame pointer. */
struct sframe_rule {
	s32	off;		/* bytes added to the base */
	u8	how;		/* enum sframe_rule_how */
	u8	reg;		/* DWARF number for the REG forms, else 0 */
};

/*
 * A decoded row (FRE): how to find the caller of a frame in a piece of code. A signal trampoline
 * may have no row: then all rules are SFRAME_RULE_SAME.
 */
struct sframe_row {
	struct sframe_rule cfa;	/* the canonical frame address; one of the REG forms */
	struct sframe_rule ra;	/* the return address */
	struct sframe_rule fp;	/* the caller's frame pointer */
	u64	func;		/* address of the function; 0 in rows of a compiled table */
	u32	start;		/* offset in the function or block from which the row is valid */
	bool	outermost;	/* there is no caller: the return address is undefined */
	bool	signal;		/* the kernel has made the frame to deliver a signal */
	bool	ra_mangled;	/* the return address has a pointer authentication code */
	bool	pcmask;		/* row of repetitive code, such as a PLT */
};

struct sframe_rows {
	const struct sframe_header	*hdr;
	const struct sframe_fde		*fde;
	u64	addr;		/* address of the next row */
	u32	left;		/* rows not read yet */
	u64	least;		/* lowest valid start of the next row */
};

/* Flags of &sframe_raw_row.form: properties of the function, see struct sframe_fde. */
#define SFRAME_FORM_FLEX	0x01
#define SFRAME_FORM_EMPTY	0x02	/* the function has no row */
#define SFRAME_FORM_PCMASK	0x10
#define SFRAME_FORM_SIGNAL	0x80

/* A row as it is stored in the section: a look-up decodes only the row that it has found. */
struct sframe_raw_row {
	u64	func;		/* address of the function */
	u32	start;		/* offset in the function or block from which the row is valid */
	u8	info;		/* FRE info word: number and size of the data words, ... */
	u8	form;		/* SFRAME_FORM_* */
	s32	words[SFRAME_FRE_MAX_WORDS];	/* data words */
};

/* Unaligned numbers: the kernel's memcpy() would check sizes at run time. */
struct sframe_any_u16 {
	u16 v;
} __packed __attribute__((__may_alias__));

struct sframe_any_u32 {
	u32 v;
} __packed __attribute__((__may_alias__));

struct sframe_any_u64 {
	u64 v;
} __packed __attribute__((__may_alias__));

#define SFRAME_NO_SIZE		0x8000

extern const u16 sframe_words_sizes[256];

int sframe_header_check(struct sframe_header *hdr, struct sframe_reader *rd,
			const struct sframe_raw_header *raw, u64 addr, u64 len);
int sframe_header_read(struct sframe_header *hdr, struct sframe_reader *rd, u64 addr, u64 len);
int sframe_get_fde(const struct sframe_header *hdr, struct sframe_reader *rd,
		   u32 index, struct sframe_fde *fde);
void sframe_rows_init(struct sframe_rows *rows, const struct sframe_header *hdr,
		      const struct sframe_fde *fde);
int sframe_rows_next(struct sframe_rows *rows, struct sframe_reader *rd,
		     struct sframe_raw_row *raw);
int sframe_decode_row(const struct sframe_header *hdr, struct sframe_reader *rd,
		      const struct sframe_raw_row *raw, struct sframe_row *row);
int sframe_decode_plt(const struct sframe_header *hdr, struct sframe_reader *rd,
		      const struct sframe_raw_row *raw, struct sframe_row *row);
int sframe_find_row(const struct sframe_header *hdr, struct sframe_reader *rd,
		    u64 pc, struct sframe_row *row);

/*
 * Returns the length in bytes from the header to the end of the FRE sub-section. The next section
 * may follow, after padding: some linkers do not merge the sections of their inputs.
 */
static inline u64 sframe_header_span(const struct sframe_header *hdr)
{
	return hdr->fre_addr + hdr->fre_len - hdr->addr;
}

/* Decodes a row, and corrects the wrong rows that GNU ld stores for PLTs. */
static inline int sframe_decode_found(const struct sframe_header *hdr, struct sframe_reader *rd,
				      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	return raw->form & SFRAME_FORM_PCMASK ? sframe_decode_plt(hdr, rd, raw, row) :
						sframe_decode_row(hdr, rd, raw, row);
}

#endif /* SFRAME_CORE_H */
