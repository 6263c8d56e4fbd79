/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction does to the registers and words that lead to the caller's frame. */
#ifndef CODE_INSN_H
#define CODE_INSN_H

#include "cfi_row.h"

/* Registers have DWARF numbers. The last one is a temporary place inside an instruction. */
#define CODE_NR_REGS	33
#define CODE_TEMP	32

/* An instruction that stores two registers and moves its base has the most operations. */
#define CODE_NR_OPS	4

/**
 * enum code_how - an operation; the operations of an instruction run in their order
 * @CODE_LOSE: each register of the mask @arg gets an unknown value
 * @CODE_COPY: @reg = @base + @arg
 * @CODE_SWAP: @reg and @base change places
 * @CODE_CONST: @reg = the value of the instruction
 * @CODE_LOAD: @reg = the word at @base + @arg
 * @CODE_STORE: @size bytes at @base + @arg = @reg; CODE_TEMP: an unknown value
 * @CODE_ALIGN: @reg is rounded down
 * @CODE_COMPARE: a comparison with the constant @arg
 * @CODE_ABOVE: a branch if the last comparison found a greater number; @arg: 1 if also the same one
 * @CODE_SIGN: @reg gets a pointer authentication code, with the stack pointer as it is
 * @CODE_AUTH: @reg loses its pointer authentication code
 * @CODE_ENTRY: @reg = an entry of a table at @base + @arg; @size: its bytes, and CODE_UNSIGNED or
 *	CODE_ABSOLUTE
 * @CODE_TARGET: @reg = @base + the entry, or number, in @reg << @size, or - with CODE_MINUS; @arg:
 *	so many bytes of it are extended by their sign, 0: it is used as it is
 */
enum code_how {
	CODE_LOSE,
	CODE_COPY,
	CODE_SWAP,
	CODE_CONST,
	CODE_LOAD,
	CODE_STORE,
	CODE_ALIGN,
	CODE_COMPARE,
	CODE_ABOVE,
	CODE_SIGN,
	CODE_AUTH,
	CODE_ENTRY,
	CODE_TARGET,
};

#define CODE_UNSIGNED	0x10
#define CODE_MINUS	0x20
#define CODE_ABSOLUTE	0x40

struct code_op {
	u8	how;
	u8	reg;
	u8	base;
	u8	size;
	s32	arg;
};

/**
 * enum code_way - where the processor goes on
 * @CODE_NEXT: at the next instruction
 * @CODE_JUMP: at the target
 * @CODE_BRANCH: at one of these two
 * @CODE_CALL: at the next instruction, after the function at the target
 * @CODE_CALL_ANY: at the next instruction, after a function that is not known
 * @CODE_JUMP_REG: at the value of CODE_TEMP
 * @CODE_RETURN: at the caller
 * @CODE_SYSCALL: at the next instruction, depending on the system call
 * @CODE_STOP: nowhere: a trap
 * @CODE_ODD: the bytes are no instruction, or one that no function of a compiler has
 */
enum code_way {
	CODE_NEXT,
	CODE_JUMP,
	CODE_BRANCH,
	CODE_CALL,
	CODE_CALL_ANY,
	CODE_JUMP_REG,
	CODE_RETURN,
	CODE_SYSCALL,
	CODE_STOP,
	CODE_ODD,
};

/**
 * struct code_insn - an instruction
 * @addr: its address
 * @value: the target, or the value of CODE_CONST
 * @size: its bytes
 * @flow: enum code_way
 * @is_nop: it does nothing; compilers fill gaps with it
 * @nr_ops: number of operations
 * @ops: the operations
 */
struct code_insn {
	u64		addr;
	u64		value;
	u8		size;
	u8		flow;
	bool		is_nop;
	u8		nr_ops;
	struct code_op	ops[CODE_NR_OPS];
};

/**
 * struct code_decoder - reads instructions
 * @machine: the architecture
 * @handle: of the library, if the architecture needs it
 * @insn: room for what the library says
 */
struct code_decoder {
	const struct cfi_machine	*machine;
	size_t				handle;
	void				*insn;
};

bool code_decoder_open(struct code_decoder *decoder, const struct cfi_machine *machine);
void code_decoder_close(struct code_decoder *decoder);
void code_decode(const struct code_decoder *decoder, const u8 *bytes, u64 left,
		 struct code_insn *insn);

bool code_x86_open(struct code_decoder *decoder);
void code_x86_close(struct code_decoder *decoder);
void code_x86_decode(const struct code_decoder *decoder, const u8 *bytes, u64 left,
		     struct code_insn *insn);
void code_arm64_decode(const u8 *bytes, struct code_insn *insn);

u32 code_padding(const struct cfi_machine *machine, const u8 *bytes, u64 left);

static inline void code_op_add(struct code_insn *insn, u8 how, u8 reg, u8 base, u8 size, s64 arg)
{
	if (insn->nr_ops == CODE_NR_OPS || arg != (s32)arg) {
		insn->flow = CODE_ODD;
		return;
	}
	insn->ops[insn->nr_ops++] = (struct code_op){
		.how = how, .reg = reg, .base = base, .size = size, .arg = arg,
	};
}

#endif /* CODE_INSN_H */
