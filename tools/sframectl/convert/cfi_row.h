/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What call frame information says about one instruction: where the caller's frame is. Only
 * the registers that SFrame can describe are kept.
 */
#ifndef CFI_ROW_H
#define CFI_ROW_H

#include "sframe_types.h"

/*
 * Why SFrame cannot describe some code that call frame information describes. cfi_row.c has
 * names and texts.
 */
enum cfi_hole {
	CFI_HOLE_NONE,
	CFI_HOLE_MALFORMED,
	CFI_HOLE_UNKNOWN,
	CFI_HOLE_NO_CFA,
	CFI_HOLE_EXPRESSION,
	CFI_HOLE_REGISTER,
	CFI_HOLE_OFFSET,
	CFI_HOLE_SP,
	CFI_HOLE_RA,
	CFI_HOLE_FP,
	CFI_HOLE_PLT,
	CFI_HOLE_OVERLAP,
	CFI_HOLE_OUTSIDE,
	CFI_HOLE_PADDING,
	NR_CFI_HOLES
};

extern const char *const cfi_hole_names[NR_CFI_HOLES];
extern const char *const cfi_hole_texts[NR_CFI_HOLES];

/* Why an analysis of code that nothing describes does not say where the caller's frame is */
enum code_hole {
	CODE_SOUND,
	CODE_HOLE_UNREACHED,
	CODE_HOLE_JUMP,
	CODE_HOLE_STACK,
	CODE_HOLE_ODD,
	CODE_HOLE_LIMIT,
	NR_CODE_HOLES
};

extern const char *const code_hole_names[NR_CODE_HOLES];
extern const char *const code_hole_texts[NR_CODE_HOLES];

enum cfi_how {
	CFI_SAME,	/* unchanged; of the CFA: not set */
	CFI_UNDEFINED,	/* lost; of the RA: there is no caller */
	CFI_CFA,	/* CFA + off */
	CFI_CFA_MEM,	/* *(CFA + off) */
	CFI_REG,	/* reg + off */
	CFI_REG_MEM,	/* *(reg + off) */
	CFI_PLT,	/* of the CFA: the expression of a PLT, see &struct cfi_plt */
	CFI_HOLE,	/* SFrame has no such rule: hole says why */
};

/**
 * struct cfi_plt - the CFA in the slots of a PLT
 * @mask: size of a slot, less one
 * @push_end: offset in the slot after its push
 * @shift: the push moves the stack pointer by 1 << @shift
 *
 * CFA = SP + 8 + (((PC & mask) >= push_end) << shift)
 */
struct cfi_plt {
	u8	mask;
	u8	push_end;
	u8	shift;
	u8	unused;
};

/**
 * struct cfi_rule - how to find the value of one register in the caller's frame, or the CFA
 * @off: bytes added to the base
 * @plt: of CFI_PLT
 * @how: enum cfi_how
 * @reg: DWARF register number of the REG forms, else 0
 * @hole: of CFI_HOLE, enum cfi_hole
 * @sum: of a CFA of CFI_REG_MEM: bytes added to the word in memory; SFrame has no such form
 *
 * There is no padding: rules are compared by memcmp().
 */
struct cfi_rule {
	union {
		s32		off;
		struct cfi_plt	plt;
	};
	u8	how;
	u8	reg;
	union {
		u16	hole;
		u16	sum;
	};
};

/**
 * struct cfi_state - the rules at one instruction
 * @ra_signed: AArch64: the return address carries a pointer authentication code; 0 or 1
 */
struct cfi_state {
	struct cfi_rule	cfa;
	struct cfi_rule	ra;
	struct cfi_rule	fp;
	struct cfi_rule	sp;
	u64		ra_signed;
};

static_assert(sizeof(struct cfi_rule) == 8);
static_assert(sizeof(struct cfi_state) == 40);

/**
 * struct cfi_row - the rules from one instruction of a function on
 * @state: the rules
 * @start: offset of the instruction from the start of the function
 * @hole: not CFI_HOLE_NONE: nothing can be said, and @state has no meaning
 */
struct cfi_row {
	struct cfi_state	state;
	u32			start;
	enum cfi_hole		hole;
};

/**
 * struct cfi_machine - facts of an architecture
 * @machine: EM_*
 * @abi: SFRAME_ABI_*
 * @sp: DWARF register number, as the next
 * @fp: of the frame pointer
 * @ra: of the column of the return address
 * @nr_regs: the walk knows registers below this number
 * @fixed_ra: the return address is at CFA + this, if not 0
 */
struct cfi_machine {
	u16	machine;
	u8	abi;
	u8	sp;
	u8	fp;
	u8	ra;
	u8	nr_regs;
	s8	fixed_ra;
};

const struct cfi_machine *cfi_find_machine(u16 machine);

static inline struct cfi_rule cfi_hole_rule(enum cfi_hole hole)
{
	return (struct cfi_rule){ .how = CFI_HOLE, .hole = hole };
}

/* A rule of any of the forms with a base and an offset. */
static inline struct cfi_rule cfi_make_rule(u8 how, u64 reg, s64 off)
{
	if (off != (s32)off)
		return cfi_hole_rule(CFI_HOLE_OFFSET);
	if (reg > 0xff)
		return cfi_hole_rule(CFI_HOLE_REGISTER);
	return (struct cfi_rule){ .off = off, .how = how, .reg = reg };
}

#endif /* CFI_ROW_H */
