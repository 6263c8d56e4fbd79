/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that a function jumps to. */
#ifndef JUMPS_H
#define JUMPS_H

#include "code_insn.h"

/* Bytes of the frame, at most */
#define JUMPS_FRAME_MAX	65536

/* Does the operation change the register in another way than by a store? */
static inline bool code_op_changes(const struct code_op *op, u8 reg)
{
	switch (op->how) {
	case CODE_LOSE:
		return op->arg >> reg & 1;
	case CODE_STORE: case CODE_COMPARE: case CODE_ABOVE:
		return false;
	case CODE_SWAP:
		return op->reg == reg || op->base == reg;
	default:
		return op->reg == reg;
	}
}

struct cfi_row *traces_make_rows(const struct code_decoder *decoder, const u8 *bytes, u32 size,
				 u64 addr, const struct cfi_row *first, u32 *nr);

#endif /* JUMPS_H */
