// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the traces that LuaJIT has compiled: how far they have moved the stack pointer. A trace
 * that needs more room moves it at its start, and moves it back where it goes on elsewhere.
 *
 * The newest trace has the lowest address. A trace begins with the depth of the older trace that
 * jumps to it. If none does, the interpreter jumps to it. If two jumps disagree, there is a hole.
 */
#include <stdint.h>
#include <stdlib.h>

#include "jumps.h"
#include "sframe_format.h"

/* The depth before an instruction is the bytes that the stack pointer has moved, and 1 more. */
#define UNKNOWN		0u
#define AT_START	1u
#define HOLE		UINT32_MAX

/* Bytes of code for a row, at least. Traces have more on average; hostile code may have one. */
#define BYTES_OF_ROW	16

/**
 * struct traces - code that is being followed
 * @decoder: its decoder
 * @bytes: the code
 * @size: its bytes
 * @addr: its address
 * @depths: before each instruction that was followed
 * @is_start: the instruction begins a trace
 */
struct traces {
	const struct code_decoder	*decoder;
	const u8			*bytes;
	u32				size;
	u64				addr;
	u32				*depths;
	bool				*is_start;
};

/* The code leads to the instruction at @off with this depth. */
static void arrive(struct traces *traces, u32 off, u32 depth)
{
	u32 *known = &traces->depths[off];

	if (depth == UNKNOWN || depth == *known || *known == HOLE)
		return;
	*known = *known ? HOLE : depth;
}

/* Return: the depth after the instruction. */
static u32 execute(const struct code_insn *insn, u32 depth)
{
	u32 i;

	for (i = 0; i < insn->nr_ops && depth && depth != HOLE; i++) {
		const struct code_op *op = &insn->ops[i];

		if (!code_op_changes(op, SFRAME_AMD64_REG_SP))
			continue;
		if (op->how != CODE_COPY || op->base != SFRAME_AMD64_REG_SP)
			return HOLE;
		depth -= op->arg;
		if (!depth || depth > JUMPS_FRAME_MAX)
			return HOLE;
	}
	return depth;
}

/*
 * Follows a trace from its first instruction to its end. @depth: UNKNOWN: only the end is found.
 * Return: the offset of what follows.
 */
static u32 follow(struct traces *traces, u32 off, u32 depth)
{
	struct code_insn insn = {};
	u64 target;

	while (off < traces->size) {
		insn.addr = traces->addr + off;
		code_decode(traces->decoder, traces->bytes + off, traces->size - off, &insn);
		arrive(traces, off, depth);
		depth = execute(&insn, traces->depths[off]);
		target = insn.value - traces->addr;
		if ((insn.flow == CODE_JUMP || insn.flow == CODE_BRANCH) && target < traces->size)
			arrive(traces, target, depth);
		off += insn.size ?: 1;
		if (insn.flow != CODE_NEXT && insn.flow != CODE_BRANCH && insn.flow != CODE_CALL &&
		    insn.flow != CODE_CALL_ANY)
			break;
	}
	return off;
}

/*
 * Finds the first bytes of all traces. LuaJIT puts stubs of exits at the start of the memory, and a
 * trace before all older ones: in the zeros between them, newer traces will be.
 */
static void split(struct traces *traces)
{
	u32 off = 0, padding;

	while (off < traces->size) {
		padding = code_padding(traces->decoder->machine, traces->bytes + off,
				       traces->size - off);
		/* No trace begins with a zero, as an addition may. */
		if (!traces->bytes[off]) {
			traces->depths[off] = AT_START;
			padding = 1;
		}
		if (!padding)
			traces->is_start[off] = true;
		off = padding ? off + padding : follow(traces, off, UNKNOWN);
	}
}

/* If the code has too many rows, the last one is a hole to the end of the memory. */
static struct cfi_row *make_rows(const struct traces *traces, const struct cfi_row *first, u32 *nr)
{
	u32 off, before = AT_START, most = traces->size / BYTES_OF_ROW + 2;
	struct cfi_row *rows = calloc(most, sizeof(*rows));

	*nr = 0;
	if (rows)
		rows[(*nr)++] = *first;
	for (off = 0; rows && off < traces->size && *nr < most; off++) {
		u32 depth = traces->depths[off];
		struct cfi_row *row = &rows[*nr - (off == 0)];

		/* The bytes of an instruction after the first one have no depth. */
		if (!depth || depth == before)
			continue;
		before = depth;
		*row = *first;
		row->start = off;
		*nr = row - rows + 1;
		if (depth == HOLE || *nr == most)
			row->hole = CFI_HOLE_UNKNOWN;
		else
			row->state.cfa.off += depth - AT_START;
	}
	return rows;
}

/**
 * traces_make_rows - find the rows of all traces in a piece of memory
 * @decoder: the decoder
 * @bytes: the memory
 * @size: its bytes
 * @addr: its address
 * @first: the row at the start of a trace that the interpreter jumps to
 * @nr: set to the number of rows
 *
 * Return: the rows, which the caller frees; NULL: out of memory.
 */
struct cfi_row *traces_make_rows(const struct code_decoder *decoder, const u8 *bytes, u32 size,
				 u64 addr, const struct cfi_row *first, u32 *nr)
{
	struct traces traces = {
		.decoder = decoder, .bytes = bytes, .size = size, .addr = addr,
		.depths = calloc(size, sizeof(*traces.depths)),
		.is_start = calloc(size, sizeof(*traces.is_start)),
	};
	struct cfi_row *rows = NULL;
	u32 off = size;

	if (traces.depths && traces.is_start) {
		split(&traces);
		while (off--)
			if (traces.is_start[off])
				follow(&traces, off, traces.depths[off] ?: AT_START);
		rows = make_rows(&traces, first, nr);
	}
	free(traces.depths);
	free(traces.is_start);
	return rows;
}
