// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads instructions, each architecture in its own way. */
#include <elf.h>

#include "code_insn.h"

#define NOP_ARM64	0xd503201f

/* A longer run of zeros is several pieces of padding. */
#define ZEROS_MAX	64

bool code_decoder_open(struct code_decoder *decoder, const struct cfi_machine *machine)
{
	*decoder = (struct code_decoder){ .machine = machine };
	return machine->machine != EM_X86_64 || code_x86_open(decoder);
}

void code_decoder_close(struct code_decoder *decoder)
{
	if (decoder->machine->machine == EM_X86_64)
		code_x86_close(decoder);
}

/**
 * code_decode - read an instruction
 * @decoder: how
 * @bytes: its bytes
 * @left: bytes up to the end of what can be read
 * @insn: filled in; the caller sets the address
 */
void code_decode(const struct code_decoder *decoder, const u8 *bytes, u64 left,
		 struct code_insn *insn)
{
	*insn = (struct code_insn){ .addr = insn->addr };
	if (decoder->machine->machine == EM_X86_64)
		code_x86_decode(decoder, bytes, left, insn);
	else if (left < 4 || insn->addr % 4)
		insn->flow = CODE_ODD;
	else
		code_arm64_decode(bytes, insn);
}

/* Zeros, or nop in its short form, with prefixes, or with an operand in memory */
static u32 padding_x86(const u8 *bytes, u64 left)
{
	u64 i = 0;
	u8 modrm;

	if (*bytes == 0xcc)
		return 1;
	/* A single zero begins an addition to a register. Of a longer run, two or more are left. */
	while (i < left && i <= ZEROS_MAX && !bytes[i])
		i++;
	if (i)
		return i > ZEROS_MAX ? i - 2 : i > 1 || left == 1 ? i : 0;
	while (i < left && i < 12 && (bytes[i] == 0x66 || bytes[i] == 0x2e))
		i++;
	if (i < left && bytes[i] == 0x90)
		return i + 1;
	if (left - i < 3 || bytes[i] != 0x0f || bytes[i + 1] != 0x1f)
		return 0;
	modrm = bytes[i + 2];
	i += 3 + (modrm >> 6 != 3 && (modrm & 7) == 4) +
	     (modrm >> 6 == 1 ? 1 : modrm >> 6 == 2 ? 4 : 0);
	return i <= left ? i : 0;
}

/* Return: bytes of a piece of padding between functions; 0: it is none. */
u32 code_padding(const struct cfi_machine *machine, const u8 *bytes, u64 left)
{
	u32 code;

	if (machine->machine == EM_X86_64)
		return padding_x86(bytes, left);
	if (left < 4)
		return left;
	memcpy(&code, bytes, sizeof(code));
	return code == NOP_ARM64 || !code ? 4 : 0;
}
