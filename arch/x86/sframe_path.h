/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path from an instruction of x86_64 to the end of its function: where is the return
 * address? Compiles on the host, too.
 *
 * Whatever the path, a function moves the stack pointer back to its return address before it
 * returns. So the path is followed with two values: the stack pointer, and the frame pointer.
 * Each is relative to a register as it was at the first instruction, or is a word of the stack.
 *
 * A call of unknown code ends a path: it may not return, and other code may follow. So does all
 * that changes the stack pointer in another way.
 */
#ifndef SFRAME_PATH_H
#define SFRAME_PATH_H

#include "sframe_insn.h"
#include "sframe_path_at.h"

/* A base is a register, as it was at the first instruction, or a stack pointer that was saved. */
#define SFRAME_BASE_SP		SFRAME_INSN_SP
#define SFRAME_BASE_FP		SFRAME_INSN_FP
#define SFRAME_BASE_SAVED	SFRAME_INSN_NO_REG

/* The register of the frame pointer has one of these values. */
enum sframe_path_fp {
	SFRAME_FP_KEPT,		/* what was there at first */
	SFRAME_FP_LOADED,	/* the word at an offset from a base */
	SFRAME_FP_AT,		/* the first stack pointer, and an offset */
	SFRAME_FP_DATA,		/* anything */
};

/**
 * struct sframe_path_reg - the frame pointer
 * @what: what it is
 * @base: with SFRAME_FP_LOADED, what @off is relative to
 * @off: bytes
 */
struct sframe_path_reg {
	enum sframe_path_fp	what;
	u8			base;
	s32			off;
};

/* The frame pointer, where it was pushed, relative to the first stack pointer. */
struct sframe_path_push {
	struct sframe_path_reg	fp;
	s32			off;
};

/* The function pushes it, and one that it calls. */
#define SFRAME_PATH_PUSHES	3

/* No offset: what it is about has not happened. */
#define SFRAME_OFF_NONE		(-0x7fffffff - 1)

/* No frame is larger. A path has so few instructions that no offset overflows. */
#define SFRAME_OFF_MAX		0x100000

/* Words from the first stack pointer on that a path knows of, whether it has stored to them. */
#define SFRAME_PATH_WORDS	64

/**
 * struct sframe_path - what a path has done so far
 * @size: bytes of the last instruction
 * @jump: if that may jump, bytes from its end to where it jumps
 * @base: what the stack pointer is relative to
 * @off: and by how many bytes
 * @saved_off: with SFRAME_BASE_SAVED, where that stack pointer was saved
 * @written: the registers that the path has written, a bit each
 * @fp: the frame pointer
 * @pushed: the last times that the path has pushed it, and not popped it again
 * @nr_pushed: how often that was
 * @record_off: where the path has completed a frame record, or SFRAME_OFF_NONE
 * @stored: the words that the path has stored to by the stack pointer, a bit each
 * @has_stored_elsewhere: it has stored to others, above them or relative to another base
 * @call_off: where a call on the path has pushed its return address, relative to the first stack
 *	pointer, or SFRAME_OFF_NONE
 */
struct sframe_path {
	s32			size;
	s32			jump;
	u8			base;
	s32			off;
	s32			saved_off;
	u32			written;
	struct sframe_path_reg	fp;
	struct sframe_path_push	pushed[SFRAME_PATH_PUSHES];
	u8			nr_pushed;
	s32			record_off;
	u64			stored;
	bool			has_stored_elsewhere;
	s32			call_off;
};

/* Before the first instruction. */
#define SFRAME_PATH_INIT {				\
	.base = SFRAME_BASE_SP,				\
	.record_off = SFRAME_OFF_NONE,			\
	.call_off = SFRAME_OFF_NONE,			\
}

/* Is this displacement that of a place in a frame? */
static inline bool sframe_is_near(s32 disp)
{
	return disp <= SFRAME_OFF_MAX && disp >= -SFRAME_OFF_MAX;
}

static inline enum sframe_path_at sframe_path_move(struct sframe_path *path, s32 by)
{
	if (!sframe_is_near(by))
		return SFRAME_PATH_LOST;
	path->off += by;
	/* The return address of a call of its own is gone. */
	if (path->base == SFRAME_BASE_SP && path->off > path->call_off)
		path->call_off = SFRAME_OFF_NONE;
	return SFRAME_PATH_ON;
}

/*
 * Notes that the path overwrites the word at @off. It may be one that the path itself has pushed:
 * the return address of a call, or the frame pointer.
 */
static inline void sframe_path_spoil(struct sframe_path *path, s32 off)
{
	unsigned int i;

	if (off == path->call_off)
		path->call_off = SFRAME_OFF_NONE;
	for (i = 0; i < path->nr_pushed; i++)
		if (path->pushed[i].off == off)
			path->pushed[i].fp.what = SFRAME_FP_DATA;
}

/* The path stores @disp bytes above the present stack pointer. */
static inline void sframe_path_store(struct sframe_path *path, s32 disp)
{
	s32 off = path->off + (sframe_is_near(disp) ? disp : SFRAME_OFF_MAX);

	if (path->base == SFRAME_BASE_SP)
		sframe_path_spoil(path, off);
	if (path->base != SFRAME_BASE_SP || off / 8 >= SFRAME_PATH_WORDS)
		path->has_stored_elsewhere = true;
	else if (off >= 0)
		path->stored |= 1ull << (off / 8);
}

/*
 * Is this word what it was at the first instruction? What is below the stack pointer was not
 * stored then.
 */
static inline bool sframe_path_keeps(const struct sframe_path *path, s32 off)
{
	if (path->base != SFRAME_BASE_SP || off / 8 >= SFRAME_PATH_WORDS)
		return !path->has_stored_elsewhere;
	return off >= 0 && !(path->stored >> (off / 8) & 1);
}

static inline enum sframe_path_at sframe_path_push(struct sframe_path *path, u8 reg)
{
	sframe_path_move(path, -8);
	sframe_path_store(path, 0);
	if (reg == SFRAME_INSN_FP && path->base == SFRAME_BASE_SP &&
	    path->nr_pushed < SFRAME_PATH_PUSHES)
		path->pushed[path->nr_pushed++] = (struct sframe_path_push){ path->fp, path->off };
	return SFRAME_PATH_ON;
}

static inline const struct sframe_path_push *sframe_path_last_push(const struct sframe_path *path)
{
	return path->nr_pushed ? &path->pushed[path->nr_pushed - 1] : NULL;
}

/* Loads the frame pointer from @disp bytes above the present stack pointer. */
static inline void sframe_path_load_fp(struct sframe_path *path, s32 disp)
{
	s32 off = path->off + (sframe_is_near(disp) ? disp : 0);
	const struct sframe_path_push *last;

	path->fp = (struct sframe_path_reg){ .what = SFRAME_FP_DATA };
	if (!sframe_is_near(disp))
		return;
	last = sframe_path_last_push(path);
	if (path->base == SFRAME_BASE_SP && last && off == last->off) {
		path->fp = last->fp;
		path->nr_pushed--;
	} else if (sframe_path_keeps(path, off)) {
		path->fp = (struct sframe_path_reg){ SFRAME_FP_LOADED, path->base, off };
	}
}

static inline enum sframe_path_at sframe_path_pop(struct sframe_path *path, u8 reg)
{
	if (reg == SFRAME_INSN_SP)
		return SFRAME_PATH_LOST;
	if (reg == SFRAME_INSN_FP)
		sframe_path_load_fp(path, 0);
	path->written |= 1U << reg;
	return sframe_path_move(path, 8);
}

/* The stack pointer becomes @disp bytes more than the frame pointer. */
static inline enum sframe_path_at sframe_path_sp_from_fp(struct sframe_path *path, s32 disp)
{
	if (path->fp.what != SFRAME_FP_KEPT && path->fp.what != SFRAME_FP_AT)
		return SFRAME_PATH_LOST;
	path->base = path->fp.what == SFRAME_FP_KEPT ? SFRAME_BASE_FP : SFRAME_BASE_SP;
	path->off = path->fp.off;
	return sframe_path_move(path, disp);
}

/* The frame pointer becomes @disp bytes more than the stack pointer. */
static inline enum sframe_path_at sframe_path_fp_from_sp(struct sframe_path *path, s32 disp)
{
	const bool is_known = path->base == SFRAME_BASE_SP && sframe_is_near(disp);
	const struct sframe_path_push *last = sframe_path_last_push(path);

	/* push %rbp; mov %rsp,%rbp */
	if (is_known && !disp && path->fp.what == SFRAME_FP_KEPT && last && path->off == last->off)
		path->record_off = path->off;
	path->fp = (struct sframe_path_reg){ .what = SFRAME_FP_DATA };
	if (is_known)
		path->fp = (struct sframe_path_reg){ .what = SFRAME_FP_AT,
						     .off = path->off + disp };
	return SFRAME_PATH_ON;
}

/* Registers that no instruction writes without naming them. */
#define SFRAME_NAMED_REGS	0xf728	/* rbx, rbp, r8 to r10, r12 to r15 */

/* The stack pointer becomes what another register, which the path has not written, has kept. */
static inline enum sframe_path_at sframe_path_sp_from(struct sframe_path *path, u8 reg)
{
	if (reg == SFRAME_INSN_FP)
		return sframe_path_sp_from_fp(path, 0);
	if (!(SFRAME_NAMED_REGS & ~path->written & 1U << reg))
		return SFRAME_PATH_LOST;
	path->base = reg;
	path->off = 0;
	return SFRAME_PATH_ON;
}

/* The stack pointer becomes one that was saved @disp bytes above the present one. */
static inline enum sframe_path_at sframe_path_load_sp(struct sframe_path *path, s32 disp)
{
	if (path->base != SFRAME_BASE_SP || !sframe_is_near(disp) ||
	    !sframe_path_keeps(path, path->off + disp))
		return SFRAME_PATH_LOST;
	path->saved_off = path->off + disp;
	path->base = SFRAME_BASE_SAVED;
	path->off = 0;
	return SFRAME_PATH_ON;
}

/* mov between registers of 64 bits: to %rsp, or from it to %rbp */
static inline enum sframe_path_at sframe_path_copy(struct sframe_path *path, u8 from, u8 to)
{
	if (to == SFRAME_INSN_SP)
		return sframe_path_sp_from(path, from);
	if (from == SFRAME_INSN_SP && to == SFRAME_INSN_FP)
		return sframe_path_fp_from_sp(path, 0);
	return SFRAME_PATH_LOST;
}

/* mov from memory */
static inline enum sframe_path_at sframe_path_load(struct sframe_path *path,
						   const struct sframe_insn *insn)
{
	if (insn->base != SFRAME_INSN_SP)
		return SFRAME_PATH_LOST;
	if (insn->reg == SFRAME_INSN_SP)
		return sframe_path_load_sp(path, insn->disp);
	sframe_path_load_fp(path, insn->disp);
	return SFRAME_PATH_ON;
}

static inline enum sframe_path_at sframe_path_lea(struct sframe_path *path,
						  const struct sframe_insn *insn)
{
	if (insn->base == SFRAME_INSN_SP && insn->reg == SFRAME_INSN_SP)
		return sframe_path_move(path, insn->disp);
	if (insn->base == SFRAME_INSN_FP && insn->reg == SFRAME_INSN_SP)
		return sframe_path_sp_from_fp(path, insn->disp);
	if (insn->base == SFRAME_INSN_SP && insn->reg == SFRAME_INSN_FP)
		return sframe_path_fp_from_sp(path, insn->disp);
	return SFRAME_PATH_LOST;
}

/* add and sub of a constant */
static inline enum sframe_path_at sframe_path_add(struct sframe_path *path,
						  const struct sframe_insn *insn)
{
	const u8 which = insn->reg & 7;

	if (insn->rm != SFRAME_INSN_SP || (which != 0 && which != 5) || !sframe_is_near(insn->imm))
		return SFRAME_PATH_LOST;
	return sframe_path_move(path, which == 0 ? insn->imm : -insn->imm);
}

/* An instruction that writes the stack pointer or the frame pointer. */
static inline enum sframe_path_at sframe_path_compute(struct sframe_path *path,
						      const struct sframe_insn *insn)
{
	const bool is_memory = insn->mod != SFRAME_MOD_REG;

	if (insn->map != SFRAME_MAP_ONE_BYTE || !insn->is_wide || insn->has_index)
		return SFRAME_PATH_LOST;
	switch (insn->opcode) {
	case 0x81: case 0x83:
		return sframe_path_add(path, insn);
	case 0x89:
		return sframe_path_copy(path, insn->reg, insn->rm);
	case 0x8b:
		return is_memory ? sframe_path_load(path, insn) :
				   sframe_path_copy(path, insn->rm, insn->reg);
	case 0x8d:
		return sframe_path_lea(path, insn);
	default:
		return SFRAME_PATH_LOST;
	}
}

/* A call of a function whose code the path follows, too. So some way through it returns. */
static inline enum sframe_path_at sframe_path_call(struct sframe_path *path,
						   const struct sframe_insn *insn)
{
	if (path->base != SFRAME_BASE_SP || path->call_off != SFRAME_OFF_NONE)
		return SFRAME_PATH_LOST;
	sframe_path_push(path, SFRAME_INSN_NO_REG);
	path->call_off = path->off;
	path->jump = insn->imm;
	return SFRAME_PATH_CALL;
}

/* Does the path return from a call of its own? */
static inline bool sframe_path_is_back(struct sframe_path *path)
{
	if (path->base != SFRAME_BASE_SP || path->off != path->call_off)
		return false;
	sframe_path_move(path, 8);
	return true;
}

/*
 * The stack is as the caller has left it. The frame pointer may be anything: assembly calls parts
 * of itself that use it for data.
 */
static inline enum sframe_path_at sframe_path_return(struct sframe_path *path)
{
	if (sframe_path_is_back(path))
		return SFRAME_PATH_BACK;
	/* An address that the path itself has stored is one that the code jumps to. */
	return path->off >= 0 && sframe_path_keeps(path, path->off) ? SFRAME_PATH_RETURN :
								      SFRAME_PATH_LOST;
}

/* call, jmp and push whose operand is in memory, or any register */
static inline enum sframe_path_at sframe_path_group(struct sframe_path *path,
						    const struct sframe_insn *insn)
{
	switch (insn->reg & 7) {
	case 4:
		/* A function may end with the call of another one, which then returns for it. */
		return insn->mod == 0 && insn->base == SFRAME_INSN_NO_REG &&
		       insn->rm == SFRAME_RM_RIP && path->call_off == SFRAME_OFF_NONE ?
		       sframe_path_return(path) : SFRAME_PATH_LOST;
	case 6:
		return sframe_path_push(path, insn->mod == SFRAME_MOD_REG ? insn->rm :
							  SFRAME_INSN_NO_REG);
	default:
		return SFRAME_PATH_LOST;
	}
}

/* push, pop, leave, and what goes to another place. Nothing of these has operands of 16 bits. */
static inline enum sframe_path_at sframe_path_stack(struct sframe_path *path,
						    const struct sframe_insn *insn)
{
	switch (insn->opcode) {
	case 0x50 ... 0x57:
		return sframe_path_push(path, insn->low);
	case 0x58 ... 0x5f:
		return sframe_path_pop(path, insn->low);
	case 0x68: case 0x6a: case 0x9c:	/* push of a constant, and of flags */
		return sframe_path_push(path, SFRAME_INSN_NO_REG);
	case 0x9d:
		return sframe_path_pop(path, SFRAME_INSN_NO_REG);
	case 0x8f:				/* AMD's XOP begins with it, too. */
		return insn->mod == SFRAME_MOD_REG && (insn->reg & 7) == 0 ?
		       sframe_path_pop(path, insn->rm) : SFRAME_PATH_LOST;
	case 0xc9:
		return sframe_path_sp_from_fp(path, 0) == SFRAME_PATH_LOST ? SFRAME_PATH_LOST :
		       sframe_path_pop(path, SFRAME_INSN_FP);
	case 0xc3:
		return sframe_path_return(path);
	case 0xe9: case 0xeb:
		path->jump = insn->imm;
		return SFRAME_PATH_JUMP;
	case 0xe8:
		return sframe_path_call(path, insn);
	case 0xff:
		return sframe_path_group(path, insn);
	default:
		return SFRAME_PATH_LOST;
	}
}

/**
 * sframe_path_step() - follow a path by one instruction
 * @path: the path; SFRAME_PATH_INIT before the first instruction
 * @code: the instruction; SFRAME_INSN_READ bytes are there
 *
 * Return: Where the path is then.
 */
static inline enum sframe_path_at sframe_path_step(struct sframe_path *path, const u8 *code)
{
	struct sframe_insn insn;
	u32 written;

	if (!sframe_insn_decode(&insn, code))
		return SFRAME_PATH_LOST;
	path->size = insn.size;
	if (insn.op & SFRAME_OP_BRANCH) {
		path->jump = insn.imm;
		/* Processors differ in what a prefix of size means here. */
		return insn.is_16 ? SFRAME_PATH_LOST : SFRAME_PATH_BRANCH;
	}
	if ((insn.op & SFRAME_OP_STACK) && (insn.opcode != 0xff || (insn.reg & 7) >= 2))
		return insn.is_16 ? SFRAME_PATH_LOST : sframe_path_stack(path, &insn);
	if (insn.base == SFRAME_INSN_SP && sframe_insn_stores(&insn))
		sframe_path_store(path, insn.disp);
	written = sframe_insn_written(&insn);
	path->written |= written;
	if (written & 1U << SFRAME_INSN_SP)
		return sframe_path_compute(path, &insn);
	if ((written & 1U << SFRAME_INSN_FP) &&
	    sframe_path_compute(path, &insn) == SFRAME_PATH_LOST)
		path->fp = (struct sframe_path_reg){ .what = SFRAME_FP_DATA };
	return SFRAME_PATH_ON;
}

#endif /* SFRAME_PATH_H */
