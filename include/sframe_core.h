/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder: from the bytes of an SFrame section to the row that describes
 * one frame. See sframe_core.c.
 */
#ifndef SFRAME_CORE_H
#define SFRAME_CORE_H

#include "sframe_format.h"

/*
 * Defects: what can be wrong with a section. sframe_core.c holds the name and the
 * meaning of each.
 */
enum sframe_defect {
	SFRAME_DEFECT_NONE,
	/* file */
	SFRAME_DEFECT_SEGMENT,
	/* header */
	SFRAME_DEFECT_SHORT,
	SFRAME_DEFECT_EMPTY,
	SFRAME_DEFECT_MAGIC,
	SFRAME_DEFECT_VERSION,
	SFRAME_DEFECT_FLAGS,
	SFRAME_DEFECT_ENDIAN,
	SFRAME_DEFECT_ABI,
	SFRAME_DEFECT_FOREIGN,
	SFRAME_DEFECT_UNLINKED,
	SFRAME_DEFECT_FIXED,
	SFRAME_DEFECT_FDEOFF,
	SFRAME_DEFECT_FREOFF,
	SFRAME_DEFECT_FRELEN,
	SFRAME_DEFECT_NUM_FDES,
	/* function descriptor */
	SFRAME_DEFECT_FDE_ORDER,
	SFRAME_DEFECT_FDE_RANGE,
	SFRAME_DEFECT_STALE,
	SFRAME_DEFECT_FRE_OFF,
	SFRAME_DEFECT_FRE_TYPE,
	SFRAME_DEFECT_FDE_TYPE,
	SFRAME_DEFECT_REP_SIZE,
	/* row */
	SFRAME_DEFECT_FRE_CUT,
	SFRAME_DEFECT_FRE_ORDER,
	SFRAME_DEFECT_WORD_SIZE,
	SFRAME_DEFECT_NR_WORDS,
	SFRAME_DEFECT_FLEX_CFA,
	SFRAME_DEFECT_REGNUM,
	SFRAME_DEFECT_OFFSET,
	/* section */
	SFRAME_DEFECT_COSTLY,
	NR_SFRAME_DEFECTS
};

extern const char *const sframe_defect_names[NR_SFRAME_DEFECTS];
extern const char *const sframe_defect_texts[NR_SFRAME_DEFECTS];

/**
 * struct sframe_reader - what look-ups share
 * @bytes: the memory to read, if it is not the memory of a process
 * @addr: the address that the first of @bytes has
 * @len: their number
 * @budget: what look-ups may still cost, in instructions, about: SFRAME_FIND_COST each,
 *	SFRAME_ROW_COST for each row that is examined, and SFRAME_ENTRY_COST for each function
 *	that a search by halves does not find. 0 after -E2BIG
 * @defect: set with -EBADMSG and -EOPNOTSUPP
 *
 * The budget bounds a look-up whatever the bytes say.
 */
struct sframe_reader {
	const u8		*bytes;
	u64			addr;
	u64			len;
	u32			budget;
	enum sframe_defect	defect;
};

/* Each cost includes what the decoder does with the bytes. */
#define SFRAME_FIND_COST	768	/* besides rows; a table of 2^32 entries takes 32 steps */
#define SFRAME_ROW_COST		24
#define SFRAME_ENTRY_COST	40	/* of a function that is examined and is not the one */
#define SFRAME_FAULT_COST	1000	/* of a read that fails: it is an exception */

/**
 * sframe_charge() - take what some work costs from the budget
 * @rd: the reader
 * @cost: of the work, in instructions, about
 *
 * Return: 0; -E2BIG if the budget is too small. It is empty then.
 */
static __always_inline int sframe_charge(struct sframe_reader *rd, u32 cost)
{
	if (rd->budget < cost) {
		rd->budget = 0;
		return -E2BIG;
	}
	rd->budget -= cost;
	return 0;
}

/**
 * struct sframe_header - a section whose header has been checked
 * @addr: address of the header, in the address space of the code described
 * @fde_addr: address of the FDE table
 * @fre_addr: address of the FRE sub-section
 * @code_start: address of the code that the section may describe. sframe_header_read() sets the
 *	bounds of user memory; a caller that knows the mapped code sets those
 * @code_end: one past its last byte, below 2^63. No look-up finds a function that is not between
 *	the two
 * @num_fdes: entries in the FDE table
 * @fre_len: bytes of the FRE sub-section
 * @version: 1, 2 or 3
 * @flags: SFRAME_F_*
 * @abi: SFRAME_ABI_*
 * @fde_size: bytes of one entry of the FDE table
 * @swapped: stored in the byte order that is not this machine's
 *
 * Constant once read. The bytes that it was read from may change later. Every
 * access checks the bytes it reads against these bounds.
 */
struct sframe_header {
	u64	addr;
	u64	fde_addr;
	u64	fre_addr;
	u64	code_start;
	u64	code_end;
	u32	num_fdes;
	u32	fre_len;
	u8	version;
	u8	flags;
	u8	abi;
	u8	fde_size;
	bool	swapped;
};

/**
 * struct sframe_fde - one function descriptor, decoded
 * @start: address of the function
 * @size: its bytes
 * @fre_off: its first row, in bytes from the start of the FRE sub-section
 * @num_fres: its rows
 * @fre_type: SFRAME_FRE_TYPE_*: bytes of a row's start offset
 * @rep_size: block size if @pcmask, else as found
 * @pcmask: the rows describe each block of @rep_size bytes
 * @flex: rows are of the flexible form (V3)
 * @signal: a signal trampoline (V3)
 * @pauth_key_b: return addresses are signed with key B (AArch64)
 */
struct sframe_fde {
	u64	start;
	u32	size;
	u32	fre_off;
	u32	num_fres;
	u8	fre_type;
	u8	rep_size;
	bool	pcmask;
	bool	flex;
	bool	signal;
	bool	pauth_key_b;
};

enum sframe_rule_how {
	SFRAME_RULE_SAME,	/* unchanged, still in its register */
	SFRAME_RULE_CFA,	/* CFA + off */
	SFRAME_RULE_CFA_MEM,	/* *(CFA + off) */
	SFRAME_RULE_REG,	/* reg + off */
	SFRAME_RULE_REG_MEM,	/* *(reg + off) */
};

/**
 * struct sframe_rule - how to find one value of the caller's frame
 * @off: bytes added to the base
 * @how: enum sframe_rule_how
 * @reg: DWARF register number for the REG forms, else 0
 *
 * The decoder refuses a row whose offset or register does not fit.
 */
struct sframe_rule {
	s32	off;
	u8	how;
	u8	reg;
};

/**
 * struct sframe_row - one frame row entry, decoded
 * @cfa: the canonical frame address; one of the REG forms
 * @ra: the return address
 * @fp: the caller's frame pointer
 * @func: address of the function; set by sframe_find_row()
 * @start: offset from the function (or block) from which the row holds
 * @outermost: RA is undefined: there is no caller
 * @signal: the kernel has made the frame to deliver a signal. If no row
 *	describes it, all rules are empty
 * @ra_mangled: the return address carries a pointer authentication code
 * @pcmask: from repetitive code, such as a PLT
 */
struct sframe_row {
	struct sframe_rule cfa;
	struct sframe_rule ra;
	struct sframe_rule fp;
	u64	func;
	u32	start;
	bool	outermost;
	bool	signal;
	bool	ra_mangled;
	bool	pcmask;
};

/**
 * struct sframe_rows - a walk over the rows of one function
 * @hdr: the section
 * @fde: the function
 * @addr: address of the next row
 * @left: rows not yet seen
 * @least: the next row may not start below this
 */
struct sframe_rows {
	const struct sframe_header	*hdr;
	const struct sframe_fde		*fde;
	u64	addr;
	u32	left;
	u64	least;
};

/* What a row has from its function, by the bits of the info words; 0: the most common form. */
#define SFRAME_FORM_FLEX	0x01	/* as &sframe_fde.flex */
#define SFRAME_FORM_EMPTY	0x02	/* the function has no rows; this stands for them */
#define SFRAME_FORM_PCMASK	0x10	/* as &sframe_fde.pcmask */
#define SFRAME_FORM_SIGNAL	0x80	/* as &sframe_fde.signal */

/**
 * struct sframe_raw_row - a row as it is stored; only the one that holds is decoded
 * @func: address of its function
 * @start: offset from the function (or block) from which the row holds
 * @info: the FRE info word
 * @form: SFRAME_FORM_*
 * @words: the data words. The info word says how many there are
 */
struct sframe_raw_row {
	u64	func;
	u32	start;
	u8	info;
	u8	form;
	s32	words[SFRAME_FRE_MAX_WORDS];
};

/* Numbers at any address. In the kernel, memcpy() would check the size of the window each time. */
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
int sframe_header_read(struct sframe_header *hdr, struct sframe_reader *rd,
		       u64 addr, u64 len);
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

/**
 * sframe_header_span() - bytes that a section uses
 * @hdr: the section
 *
 * The bytes after them may be padding. If the linker does not merge sections,
 * they may be the next section, 8-byte aligned.
 *
 * Context: Any.
 * Return: Bytes from the header to the end of the FRE sub-section.
 */
static inline u64 sframe_header_span(const struct sframe_header *hdr)
{
	return hdr->fre_addr + hdr->fre_len - hdr->addr;
}

/**
 * sframe_decode_found() - the meaning of the row that holds at an address
 * @hdr: the section
 * @rd: takes the defect; nothing is read
 * @raw: the row, from sframe_find()
 * @row: filled on success
 *
 * GNU ld stores wrong rows for PLTs. This function corrects them; sframe_decode_row() does not.
 *
 * Context: Any.
 * Return: As sframe_decode_row(); -ENOENT if nothing is known of a function without rows.
 */
static inline int sframe_decode_found(const struct sframe_header *hdr, struct sframe_reader *rd,
				      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	return raw->form & SFRAME_FORM_PCMASK ? sframe_decode_plt(hdr, rd, raw, row) :
						sframe_decode_row(hdr, rd, raw, row);
}

#endif /* SFRAME_CORE_H */
