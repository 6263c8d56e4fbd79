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
	const char	*name;
	const char	*text;
} sframe_defects[NR_SFRAME_DEFECTS];

/*
 * Input and state of the decoder of SFrame sections. The caller of the decoder sets it. @budget
 * limits the work of look-ups, which a hostile section may make slow.
 */
struct sframe_reader {
	const u8		*bytes;	/* section's bytes; unused if read from user memory */
	/* address of @bytes[0]: for code of a file, as linked; for JIT code, in the process */
	u64			addr;
	u64			len;
	u32			budget;
	enum sframe_defect	defect;	/* why a look-up has failed by -EBADMSG or -EOPNOTSUPP */
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

/* Estimated costs in instructions: a look-up subtracts them from &sframe_reader.budget. */
#define SFRAME_FIND_COST	768	/* find a function by binary search: at most 32 steps */
#define SFRAME_ROW_COST		24
#define SFRAME_ENTRY_COST	40	/* read a function (FDE) that does not have the pc */
#define SFRAME_FAULT_COST	1000

/* Subtracts @cost from @rd->budget. If less is left, sets it to 0, and returns -E2BIG. */
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
 * The header of an SFrame section, as sframe_header_check() has checked it. Every read of the
 * section is checked against this copy, because a process may change the section later.
 */
struct sframe_header {
	u64	addr;		/* address of the header: in the process, or as linked */
	u64	fde_addr;	/* address of the table of functions (FDEs) */
	u64	fre_addr;	/* address of the sub-section with the rows (FREs) */
	/*
	 * Bounds of the code: no look-up finds a function outside. sframe_header_check() allows all
	 * addresses below 2^63. A caller that knows where the code is mapped sets narrower bounds.
	 */
	u64	code_start;
	u64	code_end;
	u32	num_fdes;
	u32	fre_len;	/* length of the FRE sub-section in bytes */
	u8	version;
	u8	flags;		/* SFRAME_F_* */
	u8	abi;		/* SFRAME_ABI_* */
	u8	fde_size;
	bool	swapped;	/* the section has the byte order of another machine */
};

/* A decoded function descriptor (FDE): one function, or repetitive code such as a whole PLT. */
struct sframe_fde {
	u64	start;
	u32	size;
	u32	fre_off;	/* offset of the function's first row in the FRE sub-section */
	u32	num_fres;
	u8	fre_type;	/* width of the start offset in each row: SFRAME_FRE_TYPE_* */
	u8	rep_size;	/* if @pcmask: length in bytes of one block, such as a PLT slot */
	bool	pcmask;		/* code of many equal blocks (PLT): the rows describe one block */
	bool	flex;		/* the rows have the "flexible" form of SFrame V3 */
	bool	signal;		/* the function is a signal trampoline (SFrame V3) */
	bool	pauth_key_b;
};

enum sframe_rule_how {
	SFRAME_RULE_SAME,	/* register is not saved: it still has the caller's value */
	SFRAME_RULE_CFA,	/* CFA + off */
	SFRAME_RULE_CFA_MEM,	/* *(CFA + off) */
	SFRAME_RULE_REG,	/* reg + off */
	SFRAME_RULE_REG_MEM,	/* *(reg + off) */
};

/* An unwind rule: how to find the CFA, the return address, or the caller's frame pointer. */
struct sframe_rule {
	s32	off;		/* offset in bytes, added to the CFA or the register */
	u8	how;		/* enum sframe_rule_how */
	u8	reg;		/* DWARF number of the register; 0 if @how uses none */
};

/* A decoded row (FRE): how to find the caller of a frame while a certain piece of code runs. */
struct sframe_row {
	struct sframe_rule cfa;
	struct sframe_rule ra;
	struct sframe_rule fp;
	/* Address of the function; 0 in a compiled table, where functions share equal rows. */
	u64	func;
	u32	start;		/* offset of the row's code in the function or PLT slot, in bytes */
	bool	outermost;	/* outermost frame: it has no caller, so no return address */
	/* The kernel made the frame to deliver a signal, and has saved the caller's registers. */
	bool	signal;
	bool	ra_mangled;	/* the return address has a pointer authentication code */
	bool	pcmask;		/* the row is for repetitive code, such as a PLT */
};

struct sframe_rows {
	const struct sframe_header	*hdr;
	const struct sframe_fde		*fde;
	u64	addr;		/* address of the row that the iteration reads next */
	u32	left;
	u64	least;		/* lowest start offset that the next row may have: rows ascend */
};

/* Flags in &sframe_raw_row.form: properties of the function to which the row belongs. */
#define SFRAME_FORM_FLEX	0x01
#define SFRAME_FORM_EMPTY	0x02	/* the function has no rows: this one stands in for them */
#define SFRAME_FORM_PCMASK	0x10
#define SFRAME_FORM_SIGNAL	0x80

/* A row (FRE) before it is decoded. A look-up decodes only the row that it has found. */
struct sframe_raw_row {
	u64	func;
	u32	start;		/* offset of the row's code in the function or PLT slot, in bytes */
	u8	info;		/* FRE info word: base register, number and size of @words */
	u8	form;		/* SFRAME_FORM_* */
	s32	words[SFRAME_FRE_MAX_WORDS];
};

/* Types to read unaligned numbers, faster than by the kernel's memcpy(), which may check sizes. */
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

static inline int sframe_decode_found(const struct sframe_header *hdr, struct sframe_reader *rd,
				      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	return raw->form & SFRAME_FORM_PCMASK ? sframe_decode_plt(hdr, rd, raw, row) :
						sframe_decode_row(hdr, rd, raw, row);
}

#endif /* SFRAME_CORE_H */
