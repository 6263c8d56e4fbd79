// SPDX-License-Identifier: GPL-2.0-or-later
/* The machines that call frame information is converted for, and the reasons for holes. */
#include <elf.h>

#include "cfi_row.h"
#include "sframe_format.h"

const char *const cfi_hole_names[] = {
	[CFI_HOLE_NONE] = "none",
	[CFI_HOLE_MALFORMED] = "malformed",
	[CFI_HOLE_UNKNOWN] = "unknown",
	[CFI_HOLE_NO_CFA] = "no-cfa",
	[CFI_HOLE_EXPRESSION] = "expression",
	[CFI_HOLE_REGISTER] = "register",
	[CFI_HOLE_OFFSET] = "offset",
	[CFI_HOLE_SP] = "sp",
	[CFI_HOLE_RA] = "ra",
	[CFI_HOLE_FP] = "fp",
	[CFI_HOLE_PLT] = "plt",
	[CFI_HOLE_OVERLAP] = "overlap",
	[CFI_HOLE_OUTSIDE] = "outside",
	[CFI_HOLE_PADDING] = "padding",
};

const char *const cfi_hole_texts[] = {
	[CFI_HOLE_NONE] = "described",
	[CFI_HOLE_MALFORMED] = "call frame instructions that contradict themselves or the format",
	[CFI_HOLE_UNKNOWN] = "an instruction or augmentation that this program does not know",
	[CFI_HOLE_NO_CFA] = "no rule for the CFA",
	[CFI_HOLE_EXPRESSION] = "a DWARF expression that SFrame has no form for",
	[CFI_HOLE_REGISTER] = "a rule names a register that is not in the registers of a sample",
	[CFI_HOLE_OFFSET] = "an offset does not fit 32 bits",
	[CFI_HOLE_SP] = "the caller's stack pointer is not the CFA",
	[CFI_HOLE_RA] = "a rule for the return address that SFrame has no form for",
	[CFI_HOLE_FP] = "a rule for the frame pointer that SFrame has no form for",
	[CFI_HOLE_PLT] = "a PLT of an unknown form",
	[CFI_HOLE_OVERLAP] = "two functions of one address that contradict each other",
	[CFI_HOLE_OUTSIDE] = "not in executable code of the file",
	[CFI_HOLE_PADDING] = "between two functions of Go",
};

const char *const code_hole_names[] = {
	[CODE_SOUND] = "sound",
	[CODE_HOLE_UNREACHED] = "unreached",
	[CODE_HOLE_JUMP] = "jump",
	[CODE_HOLE_STACK] = "stack",
	[CODE_HOLE_ODD] = "odd",
	[CODE_HOLE_LIMIT] = "limit",
};

const char *const code_hole_texts[] = {
	[CODE_SOUND] = "its rows are certain",
	[CODE_HOLE_UNREACHED] = "no function leads there, or none that returns",
	[CODE_HOLE_JUMP] = "in a function that jumps to where a register says",
	[CODE_HOLE_STACK] = "paths disagree about the stack, or change it",
	[CODE_HOLE_ODD] = "in a function with bytes that are no known instruction",
	[CODE_HOLE_LIMIT] = "the function is too long, or the file",
};

static_assert(ARRAY_SIZE(code_hole_names) == NR_CODE_HOLES);
static_assert(ARRAY_SIZE(code_hole_texts) == NR_CODE_HOLES);
static_assert(ARRAY_SIZE(cfi_hole_names) == NR_CFI_HOLES);
static_assert(ARRAY_SIZE(cfi_hole_texts) == NR_CFI_HOLES);

static const struct cfi_machine machines[] = {
	{
		.machine = EM_X86_64, .abi = SFRAME_ABI_AMD64_LE,
		.sp = SFRAME_AMD64_REG_SP, .fp = SFRAME_AMD64_REG_FP, .ra = 16,
		.nr_regs = SFRAME_AMD64_NR_REGS,
		.fixed_ra = SFRAME_AMD64_FIXED_RA_OFFSET,
	},
	{
		.machine = EM_AARCH64, .abi = SFRAME_ABI_AARCH64_LE,
		.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
		.ra = SFRAME_AARCH64_REG_RA, .nr_regs = SFRAME_AARCH64_NR_REGS,
	},
};

/* Return: NULL if SFrame is not made for that machine. */
const struct cfi_machine *cfi_find_machine(u16 machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}
