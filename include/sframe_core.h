/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder of SFrame sections: finds the row (unwind rule) for an address. See sframe_core.c. */
#ifndef SFRAME_CORE_H
#define SFRAME_CORE_H

#include "sframe_format.h"

/* Defects for which an SFrame section is refused. Each has a counter in debugfs. */
enum sframe_defect {
#define ADD_DEFECT(defect, ...)	defect,
#include "sframe_defects.h"
#undef ADD_DEFECT
	NR_SFRAME_DEFECTS
};

extern const struct sframe_defect_info {
	const char	*name;		/* the counter of the defect is called "defect.NAME" */
	const char	*text;
} sframe_defects[NR_SFRAME_DEFECTS];

/*
 * Input and state of look-ups of rows in one SFrame section, filled in by the caller of the
 * decoder. @budget limits the work of a look-up, even if the section was made to be slow.
 */
struct sframe_reader {
	const u8		*bytes;	/* buffer with the section; unused for user memory */
	u64			addr;	/* address of @bytes[0], in the address space of the code */
	u64			len;	/* number of bytes in @bytes */
	u32			budget;	/* instructions that further look-ups may take at most */
	enum sframe_defect	defect;	/* why a look-up returned -EBADMSG or -EOPNOTSUPP */
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

/* Costs, about in instructions, that a look-up of a row subtracts from the budget of the walk. */
#define SFRAME_FIND_COST	768	/* cost of finding the function, even among 2^32 */
#define SFRAME_ROW_COST		24	/* cost of each row that is examined */
#define SFRAME_ENTRY_COST	40	/* cost of each function that is examined in vain */
#define SFRAME_FAULT_COST	1000	/* cost of a read of memory that ends in an exception */

/* Subtracts @cost from a look-up's budget. If less is left, sets it to 0 and returns -E2BIG. */
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
 * The header of an SFrame section, as sframe_header_check() has checked it. Every access is checked
 * against this copy, because a process may change the section later.
 */
struct sframe_header {
	u64	addr;		/* address of the header, in the address space of the code */
	u64	fde_addr;	/* address of the table of functions (FDEs) */
	u64	fre_addr;	/* address of the sub-section with the rows (FREs) */
	/*
	 * No look-up finds a function outside of these bounds. sframe_header_check() sets them to
	 * all addresses below 2^63. A caller that knows the mapped code sets them to this code.
	 */
	u64	code_start;
	u64	code_end;
	u32	num_fdes;	/* number of functions (entries of the FDE table) */
	u32	fre_len;	/* length of the FRE sub-section in bytes */
	u8	version;	/* SFrame version: 1, 2 or 3 */
	u8	flags;		/* SFRAME_F_* */
	u8	abi;		/* SFRAME_ABI_* */
	u8	fde_size;	/* length of an entry of the FDE table in bytes */
	bool	swapped;	/* the section has the byte order of another machine */
};

/* A decoded function descriptor (FDE): one function, or repetitive code such as a whole PLT. */
struct sframe_fde {
	u64	start;		/* address of the function */
	u32	size;		/* length of the function in bytes */
	u32	fre_off;	/* bytes from the start of the FRE sub-section to its first row */
	u32	num_fres;	/* number of rows */
	u8	fre_type;	/* size of a row's start offset: SFRAME_FRE_TYPE_* */
	u8	rep_size;	/* if @pcmask: length of one block (PLT slot) in bytes */
	bool	pcmask;		/* repetitive code: the rows describe each block of it */
	bool	flex;		/* the rows have the "flexible" form of SFrame V3 */
	bool	signal;		/* the function is a signal trampoline (SFrame V3) */
	bool	pauth_key_b;	/* return addresses are signed with key B (AArch64) */
};

enum sframe_rule_how {
	SFRAME_RULE_SAME,	/* the value is still in its own register */
	SFRAME_RULE_CFA,	/* CFA + off */
	SFRAME_RULE_CFA_MEM,	/* *(CFA + off) */
	SFRAME_RULE_REG,	/* reg + off */
	SFRAME_RULE_REG_MEM,	/* *(reg + off) */
};

/* How to find one value of the caller's frame: CFA, return address or frame pointer. */
struct sframe_rule {
	s32	off;		/* offset in bytes, added to the CFA or the register */
	u8	how;		/* enum sframe_rule_how */
	u8	reg;		/* DWARF number of the register in the REG forms; else 0 */
};

/*
 * A decoded row (FRE): how to find the caller of a frame that executes a certain piece of code. If
 * a signal trampoline has no row, all rules are SFRAME_RULE_SAME.
 */
struct sframe_row {
	struct sframe_rule cfa;	/* how to find the canonical frame address (CFA): a REG form */
	struct sframe_rule ra;	/* how to find the return address */
	struct sframe_rule fp;	/* how to find the caller's frame pointer */
	u64	func;		/* address of the function; 0 in rows of a compiled table */
	u32	start;		/* the row holds from this offset in the function or block on */
	bool	outermost;	/* outermost frame: it has no caller, so no return address */
	bool	signal;		/* the kernel has made the frame to deliver a signal */
	bool	ra_mangled;	/* the return address has a pointer authentication code */
	bool	pcmask;		/* the row is for repetitive code, such as a PLT */
};

struct sframe_rows {
	const struct sframe_header	*hdr;
	const struct sframe_fde		*fde;
	u64	addr;		/* address where the next row is stored */
	u32	left;		/* number of rows that are not read yet */
	u64	least;		/* lowest valid start offset of the next row */
};

/* Flags in &sframe_raw_row.form: what struct sframe_fde says about the function of the row. */
#define SFRAME_FORM_FLEX	0x01
#define SFRAME_FORM_EMPTY	0x02	/* the function has no row */
#define SFRAME_FORM_PCMASK	0x10
#define SFRAME_FORM_SIGNAL	0x80

/* A row as the SFrame section stores it. A look-up decodes only the row that it has found. */
struct sframe_raw_row {
	u64	func;		/* address of the function */
	u32	start;		/* the row holds from this offset in the function or block on */
	u8	info;		/* FRE info word: base register, number and size of @words */
	u8	form;		/* SFRAME_FORM_* */
	s32	words[SFRAME_FRE_MAX_WORDS];	/* data words */
};

/* Types for unaligned reads. The kernel's memcpy() may check sizes, which takes instructions. */
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

extern const u16 sframe_words_sizes[64];

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
 * Returns the length in bytes from the header to the end of the FRE sub-section. Another SFrame
 * section may follow after padding: some linkers only append the sections of their input files.
 */
static inline u64 sframe_header_span(const struct sframe_header *hdr)
{
	return hdr->fre_addr + hdr->fre_len - hdr->addr;
}

/* Decodes the row that a look-up has found. Corrects the wrong rows that GNU ld stores for PLTs. */
static inline int sframe_decode_found(const struct sframe_header *hdr, struct sframe_reader *rd,
				      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	return raw->form & SFRAME_FORM_PCMASK ? sframe_decode_plt(hdr, rd, raw, row) :
						sframe_decode_row(hdr, rd, raw, row);
}

#endif /* SFRAME_CORE_H */
