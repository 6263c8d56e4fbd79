// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code that nothing describes, and that a function of x86_64 jumps to: it runs in the frame of that
 * function. QEMU and Guile begin their memory for code with a function that makes a frame, and
 * jumps. LuaJIT jumps from its interpreter, which has one row.
 *
 * So one row holds at the start of all such code. Where the code moves the stack pointer unseen,
 * the row is wrong. The kernel follows it only if the return address follows a call of the
 * function.
 */
#include <stdlib.h>

#include "cfi_functions.h"
#include "cfi_program.h"
#include "jumps.h"
#include "runtime.h"
#include "sframe_format.h"

#define WORD		8
#define PAGE		4096u

/* The instructions from the one that makes the frame to the jump, and their bytes, at most. */
#define INSNS_MAX	24
#define BYTES_MAX	128

/* QEMU's and Guile's function is in the first pages, Guile's at the start of one. */
#define PAGES_MAX	512

/* Places of one process where such instructions are looked for. To read a row counts as some. */
#define PLACES_MAX	65536u
#define ROW_PLACES	16u

/* An interpreter in assembly is one large function. Of a file with more functions, none is read. */
#define FUNCTION_MIN	4096u
#define FUNCTION_MAX	(1024u << 10)
#define ENTRIES_MAX	65536u
#define SECTION_MAX	65536u

/* An entry of the table of .eh_frame_hdr: addresses relative to the table's header. */
struct entry {
	s32	start;
	s32	fde;
};

/*
 * Changes the row by an operation. Return: false if the stack pointer, or the caller's frame
 * pointer, is not known afterwards.
 */
static bool apply(const struct code_op *op, struct cfi_row *row)
{
	const u8 sp = SFRAME_AMD64_REG_SP, fp = SFRAME_AMD64_REG_FP;
	struct cfi_state *state = &row->state;
	s64 below = (s64)state->cfa.off - op->arg;

	if (op->how == CODE_STORE && op->reg == fp && op->base == sp && op->size == WORD &&
	    state->fp.how == CFI_SAME && below > 0 && below <= JUMPS_FRAME_MAX)
		state->fp = cfi_make_rule(CFI_CFA_MEM, 0, -below);
	if (code_op_changes(op, fp) && state->fp.how == CFI_SAME)
		return false;
	if (!code_op_changes(op, sp))
		return true;
	if (op->how != CODE_COPY || op->base != sp || below <= 0 || below > JUMPS_FRAME_MAX)
		return false;
	state->cfa.off = below;
	return true;
}

/*
 * Follows instructions up to a jump to the address in a register. The first one makes room on the
 * stack. @row: of the first one; set to that of the jump. Return: false if there is no such jump.
 */
static bool follow(const struct code_decoder *decoder, const u8 *bytes, u32 size,
		   struct cfi_row *row)
{
	const s32 first = row->state.cfa.off;
	struct code_insn insn = {};
	u32 i, k, off = 0;

	for (i = 0; i < INSNS_MAX && off < size; i++, off += insn.size) {
		code_decode(decoder, bytes + off, size - off, &insn);
		if (insn.flow == CODE_JUMP_REG)
			return i && insn.ops[0].how == CODE_COPY;
		if (insn.flow != CODE_NEXT)
			return false;
		for (k = 0; k < insn.nr_ops; k++)
			if (!apply(&insn.ops[k], row))
				return false;
		if (row->state.cfa.off <= first)
			return false;
	}
	return false;
}

/**
 * struct jump - the row for the code, and the function that jumps to it
 * @row: the row
 * @start: address of the function
 * @size: its bytes
 * @left: places where the search may still look
 */
struct jump {
	struct cfi_row	row;
	u64		start;
	u64		size;
	u32		left;
};

static bool may_look(struct jump *jump, u32 places)
{
	bool may = jump->left >= places;

	jump->left -= may ? places : jump->left;
	return may;
}

/* Finds a function that begins a page of memory without a file. */
static bool find_in_memory(const struct runtime *runtime, const struct code_decoder *decoder,
			   const struct mapping *mapping, struct jump *jump)
{
	u64 addr = mapping->start, end = mapping->end;
	u8 bytes[BYTES_MAX];
	u32 i;

	for (i = 0; i < PAGES_MAX && addr < end && may_look(jump, 1); i++, addr += PAGE) {
		jump->row = (struct cfi_row){
			.state.cfa = cfi_make_rule(CFI_REG, SFRAME_AMD64_REG_SP, WORD),
			.state.ra = cfi_make_rule(CFI_CFA_MEM, 0, -WORD),
			.state.sp.how = CFI_CFA,
		};
		jump->start = addr;
		jump->size = 1;
		if (target_read(runtime->target, addr, bytes, sizeof(bytes)) && *bytes &&
		    follow(decoder, bytes, sizeof(bytes), &jump->row))
			return true;
	}
	return false;
}

/* Return: whether the function has a frame of a known size, and returns as others do. */
static bool makes_frame(const struct cfi_row *row)
{
	const struct cfi_state *state = &row->state;

	return !row->hole && state->cfa.how == CFI_REG && state->cfa.reg == SFRAME_AMD64_REG_SP &&
	       state->cfa.off > 0 && state->cfa.off <= JUMPS_FRAME_MAX &&
	       state->ra.how == CFI_CFA_MEM && state->ra.off == -WORD && state->sp.how == CFI_CFA;
}

/* Sets the row of a function that has only one. */
static bool read_row(struct runtime *runtime, u64 fde, struct jump *jump)
{
	struct cfi_functions functions = {};
	struct cfi_section sec = {};
	const struct cfi_cie *cie = NULL;
	struct ranges code = {};
	struct cfi_rows rows = {};
	struct cfi_fde entry;
	u32 head[2], i;
	u8 *bytes;

	/* Its length, and how far before the second word its CIE is */
	if (!may_look(jump, ROW_PLACES) ||
	    !target_read(runtime->target, fde, head, sizeof(head)) || head[0] > SECTION_MAX ||
	    head[1] < 4 || head[1] > SECTION_MAX)
		return false;
	sec.addr = fde + 4 - head[1];
	sec.size = head[1] + head[0];
	bytes = target_copy(runtime->target, sec.addr, sec.size);
	if (!bytes)
		return false;
	sec.data = bytes;
	ranges_add(&code, jump->start, jump->size);
	ranges_merge(&code);
	if (!cfi_functions_read(&functions, &sec, runtime->machine, &code))
		for (i = 0; i < functions.nr; i++)
			if (functions.all[i].start == jump->start) {
				cie = cfi_functions_get(&functions, functions.all[i].off, &entry);
				jump->size = functions.all[i].size;
			}
	if (cie && (cie->is_signal || !cfi_run_fde(&sec, runtime->machine, cie, &entry, &rows) ||
		    rows.nr != 1 || !makes_frame(rows.all)))
		cie = NULL;
	if (cie)
		jump->row = *rows.all;
	cfi_functions_free(&functions);
	ranges_free(&code);
	free(rows.all);
	free(bytes);
	return cie;
}

/* Finds a jump in the function. It makes room by: sub $n, %rsp. Two jumps have one row. */
static bool find_in_function(struct runtime *runtime, const struct code_decoder *decoder,
			     struct jump *jump)
{
	static const u8 sub[] = { 0x48, 0x83, 0xec };
	u8 *bytes = target_copy(runtime->target, jump->start, jump->size), *end, *at = bytes;
	const struct cfi_row whole = jump->row;
	bool is_found = false, is_unclear = false;
	struct cfi_row row;

	if (!bytes)
		return false;
	for (end = bytes + jump->size; may_look(jump, 1); at++) {
		at = memmem(at, end - at, sub, sizeof(sub));
		if (!at)
			break;
		row = whole;
		if (!follow(decoder, at, min_t(u32, end - at, BYTES_MAX), &row))
			continue;
		is_unclear |= is_found && memcmp(&row.state, &jump->row.state, sizeof(row.state));
		is_found = true;
		jump->row = row;
	}
	free(bytes);
	return is_found && !is_unclear;
}

/* Finds a large function of an ELF file in memory by .eh_frame_hdr. */
static bool find_in_file(struct runtime *runtime, const struct code_decoder *decoder, u64 header,
			 struct jump *jump)
{
	struct { u8 form[4]; u32 eh_frame, nr; } head;
	struct entry *all;
	bool is_found = false;
	u32 i, size;

	/* The usual form: relative to the header, in four bytes */
	if (!target_read(runtime->target, header, &head, sizeof(head)) || head.form[0] != 1 ||
	    head.form[2] != 3 || head.form[3] != 0x3b || head.nr > ENTRIES_MAX)
		return false;
	all = (void *)target_copy(runtime->target, header + sizeof(head), head.nr * sizeof(*all));
	for (i = 0; all && !is_found && i + 1 < head.nr; i++) {
		size = (u32)all[i + 1].start - (u32)all[i].start;
		if (size < FUNCTION_MIN || size > FUNCTION_MAX)
			continue;
		jump->start = header + all[i].start;
		jump->size = size;
		is_found = read_row(runtime, header + all[i].fde, jump) &&
			   find_in_function(runtime, decoder, jump);
	}
	free(all);
	return is_found;
}

static bool find_jump(struct runtime *runtime, const struct code_decoder *decoder,
		      struct jump *jump)
{
	const struct target *target = runtime->target;
	struct image image;
	u32 i, k;

	for (i = 0; i < target->nr; i++)
		if (runtime_find_memory(runtime, target->all[i].start, 1) &&
		    find_in_memory(runtime, decoder, &target->all[i], jump))
			return true;
	for (i = 0; i < target->nr; i++) {
		if (target->all[i].off || !target->all[i].inode || !target->all[i].is_readable ||
		    !target_image(target, target->all[i].start, &image))
			continue;
		for (k = 0; k < image.nr; k++)
			if (image.segments[k].p_type == PT_GNU_EH_FRAME &&
			    find_in_file(runtime, decoder, image.segments[k].p_vaddr + image.bias,
					 jump))
				return true;
	}
	return false;
}

/* LuaJIT has at most so many bytes of traces by default. */
#define TRACES_MAX	(1024u << 10)

/* Adds the code of a mapping, if it is in memory without a file. */
static void add_code(struct runtime *runtime, const struct code_decoder *decoder,
		     const struct mapping *mapping, const struct jump *jump)
{
	u64 size = min_t(u64, mapping->end - mapping->start, 1u << 31);
	struct cfi_row *rows = NULL;
	u8 *bytes = NULL;
	u32 nr;

	/* A function that has made the frame for the code knows how large it is. */
	if (jump->size > 1 && size <= TRACES_MAX && runtime_find_memory(runtime, mapping->start, 1))
		bytes = target_copy(runtime->target, mapping->start, size);
	if (bytes)
		rows = traces_make_rows(decoder, bytes, size, mapping->start, &jump->row, &nr);
	runtime_add(runtime, mapping->start, size, rows ?: &jump->row, rows ? nr : 1, false);
	free(rows);
	free(bytes);
}

/**
 * jumps_read - describe code that a function jumps to, if nothing else describes code
 * @runtime: the runtime, after all other readers
 */
void jumps_read(struct runtime *runtime)
{
	const struct target *target = runtime->target;
	struct code_decoder decoder;
	struct jump jump = { .left = PLACES_MAX };
	u32 i;

	if (runtime->nr || runtime->machine->machine != EM_X86_64)
		return;
	if (code_decoder_open(&decoder, runtime->machine) &&
	    find_jump(runtime, &decoder, &jump)) {
		runtime->entry_start = jump.start;
		runtime->entry_size = jump.size;
		for (i = 0; i < target->nr; i++)
			add_code(runtime, &decoder, &target->all[i], &jump);
	}
	code_decoder_close(&decoder);
}
