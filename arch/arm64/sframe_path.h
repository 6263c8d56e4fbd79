/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path from an instruction of arm64 to the end of its function: where is the return
 * address? Compiles on the host, too.
 *
 * Compilers know, for each instruction, one place of the return address, whatever the path to
 * it. So the first instruction of a path that uses x30 tells the place: a return, or a prologue,
 * uses x30 as the caller has set it; an epilogue loads it from the stack.
 *
 * A call ends a path: it may not return, and other code may follow. So does all that may
 * change SP, x29 or x30 in another way.
 */
#ifndef SFRAME_PATH_H
#define SFRAME_PATH_H

#include "sframe_path_at.h"
#include "sframe_prologue.h"

#define SFRAME_INSN_MAX	4	/* bytes of an instruction */

/**
 * struct sframe_path - what a path has done so far
 * @size: bytes of the last instruction
 * @sp: bytes that it has moved SP by
 * @ra_off: where it has loaded x30 from, relative to the first SP
 * @fp_off: likewise x29
 * @jump: if that may jump, bytes from its end to where it jumps
 * @has_ra: it has loaded x30
 * @has_fp: it has loaded x29
 * @is_top: SP is that of the caller
 */
struct sframe_path {
	s32	size;
	s32	sp;
	s32	ra_off;
	s32	fp_off;
	s32	jump;
	bool	has_ra;
	bool	has_fp;
	bool	is_top;
};

/* Before the first instruction. */
#define SFRAME_PATH_INIT {}

#define SFRAME_INSN_FP	29
#define SFRAME_INSN_RA	30
#define SFRAME_INSN_SP	31

/* The three fields that may name a register to write. */
static inline u32 sframe_insn_rd(u32 insn)
{
	return insn & 31;
}

static inline u32 sframe_insn_rn(u32 insn)
{
	return insn >> 5 & 31;
}

static inline u32 sframe_insn_rt2(u32 insn)
{
	return insn >> 10 & 31;
}

/* x29, or x30 */
static inline bool sframe_is_kept(u32 reg)
{
	return reg == SFRAME_INSN_FP || reg == SFRAME_INSN_RA;
}

/* A signed field of some bits that begins at bit @shift. */
static inline s32 sframe_insn_signed(u32 insn, unsigned int shift, unsigned int bits)
{
	u32 value = insn >> shift & ((1U << bits) - 1), sign = 1U << (bits - 1);

	return (s32)(value ^ sign) - (s32)sign;
}

/* Notes that @reg, if it is x29 or x30, is loaded from @off bytes above the present SP. */
static inline void sframe_path_load(struct sframe_path *path, u32 reg, s32 off)
{
	if (reg == SFRAME_INSN_RA) {
		path->has_ra = true;
		path->ra_off = path->sp + off;
	} else if (reg == SFRAME_INSN_FP) {
		path->has_fp = true;
		path->fp_off = path->sp + off;
	}
}

/* One of the forms of an access to memory. The access may move its base register. */
struct sframe_access {
	u32	rt, rt2;	/* 0: none of the two registers that matter */
	s32	off;		/* of the access from the base register */
	s32	moved;		/* bytes that the base register moves by */
	s32	size;		/* of each register */
	bool	is_load;
	bool	is_whole;	/* 64 bits of general registers */
};

static inline enum sframe_path_at sframe_path_access(struct sframe_path *path, u32 rn,
						     const struct sframe_access *access)
{
	bool keeps = sframe_is_kept(access->rt) || sframe_is_kept(access->rt2);

	if (access->moved && sframe_is_kept(rn))
		return SFRAME_PATH_LOST;
	if (keeps && !access->is_load &&
	    (access->rt == SFRAME_INSN_RA || access->rt2 == SFRAME_INSN_RA)) {
		bool is_push = access->moved < 0;

		/* Once it is saved, x30 may be any value, and be stored in any other form. */
		if (rn != SFRAME_INSN_SP || (!is_push && access->rt != SFRAME_INSN_FP))
			return SFRAME_PATH_LOST;
		/* Only the first push of a prologue moves SP by itself. */
		path->is_top = is_push && path->sp >= 0;
		return SFRAME_PATH_SAVE;
	}
	if (keeps && access->is_load) {
		if (rn != SFRAME_INSN_SP || !access->is_whole)
			return SFRAME_PATH_LOST;
		sframe_path_load(path, access->rt, access->off);
		sframe_path_load(path, access->rt2, access->off + access->size);
	}
	if (rn == SFRAME_INSN_SP)
		path->sp += access->moved;
	return SFRAME_PATH_ON;
}

/* ldp, stp */
static inline enum sframe_path_at sframe_path_pair(struct sframe_path *path, u32 insn)
{
	bool is_vector = insn & 0x04000000, is_indexed = insn & 0x00800000;
	bool is_before = insn & 0x01000000;	/* or without moving the base */
	u32 opc = insn >> 30;
	s32 size = is_vector ? 4 << opc : opc == 2 ? 8 : 4;
	s32 off = sframe_insn_signed(insn, 15, 7) * size;
	struct sframe_access access = {
		.rt = is_vector ? 0 : sframe_insn_rd(insn),
		.rt2 = is_vector ? 0 : sframe_insn_rt2(insn),
		.off = is_indexed && !is_before ? 0 : off,
		.moved = is_indexed ? off : 0,
		.size = size,
		.is_load = insn & 0x00400000,
		.is_whole = opc == 2,
	};

	/* stgp moves by 16. */
	if (opc == 3 || (opc == 1 && !is_vector && !access.is_load))
		return SFRAME_PATH_LOST;
	return sframe_path_access(path, sframe_insn_rn(insn), &access);
}

/* ldr, str and their like, with an immediate offset */
static inline enum sframe_path_at sframe_path_single(struct sframe_path *path, u32 insn)
{
	bool is_vector = insn & 0x04000000, is_scaled = insn & 0x01000000;
	u32 size = insn >> 30, opc = insn >> 22 & 3, index = insn >> 10 & 3;
	bool is_prefetch = !is_vector && size == 3 && opc == 2;
	s32 imm = is_scaled ? (s32)(insn >> 10 & 0xfff) << size : sframe_insn_signed(insn, 12, 9);
	bool is_indexed = !is_scaled && (index & 1);
	struct sframe_access access = {
		.rt = is_vector || is_prefetch ? 0 : sframe_insn_rd(insn),
		.off = is_indexed && index == 1 ? 0 : imm,
		.moved = is_indexed ? imm : 0,
		.size = 8,
		.is_load = opc,
		.is_whole = size == 3 && opc == 1,
	};

	return sframe_path_access(path, sframe_insn_rn(insn), &access);
}

static inline enum sframe_path_at sframe_path_memory(struct sframe_path *path, u32 insn)
{
	u32 rt = sframe_insn_rd(insn);

	if ((insn & 0x3a000000) == 0x28000000)
		return sframe_path_pair(path, insn);
	if ((insn & 0x3b000000) == 0x39000000 || (insn & 0x3b200000) == 0x38000000)
		return sframe_path_single(path, insn);
	/* A register as offset, or the address itself: neither moves a base. */
	if ((insn & 0x3b200c00) == 0x38200800 || (insn & 0x3b000000) == 0x18000000)
		return sframe_is_kept(rt) ? SFRAME_PATH_LOST : SFRAME_PATH_ON;
	/* Vectors: some forms move the base. */
	if ((insn & 0xbe000000) == 0x0c000000)
		return (insn & 0x00800000) && sframe_insn_rn(insn) >= SFRAME_INSN_FP ?
		       SFRAME_PATH_LOST : SFRAME_PATH_ON;
	/* Exclusive, atomic, tags: they may write any of these, or move the base. */
	if (sframe_is_kept(rt) || sframe_is_kept(sframe_insn_rt2(insn)) ||
	    sframe_is_kept(insn >> 16 & 31) || sframe_insn_rn(insn) >= SFRAME_INSN_FP)
		return SFRAME_PATH_LOST;
	return SFRAME_PATH_ON;
}

/* A conditional branch to so many instructions further. */
static inline enum sframe_path_at sframe_path_fork(struct sframe_path *path, s32 insns)
{
	path->jump = 4 * insns - SFRAME_INSN_MAX;
	return SFRAME_PATH_BRANCH;
}

/* Branches, and what belongs to the system. */
static inline enum sframe_path_at sframe_path_branch(struct sframe_path *path, u32 insn)
{
	if (sframe_is_ret(insn)) {
		path->is_top = true;
		return SFRAME_PATH_RETURN;
	}
	if (sframe_signs_ra(insn)) {
		path->is_top = true;
		return SFRAME_PATH_SAVE;
	}
	if ((insn & 0xfc000000) == 0x14000000) {	/* b */
		path->jump = 4 * sframe_insn_signed(insn, 0, 26) - SFRAME_INSN_MAX;
		return SFRAME_PATH_JUMP;
	}
	if ((insn & 0xff000000) == 0x54000000 ||	/* b.cond */
	    (insn & 0x7e000000) == 0x34000000)		/* cbz, cbnz */
		return sframe_path_fork(path, sframe_insn_signed(insn, 5, 19));
	if ((insn & 0x7e000000) == 0x36000000)		/* tbz, tbnz */
		return sframe_path_fork(path, sframe_insn_signed(insn, 5, 14));
	if ((insn & 0xffe0001f) == 0xd4000001)		/* svc */
		return SFRAME_PATH_ON;
	/* Hints, barriers, system registers */
	if ((insn & 0xffc00000) == 0xd5000000 && !sframe_is_kept(sframe_insn_rd(insn)))
		return SFRAME_PATH_ON;
	return SFRAME_PATH_LOST;
}

/* Computes, maybe SP or x29. */
static inline enum sframe_path_at sframe_path_compute(struct sframe_path *path, u32 insn)
{
	s32 imm = (insn >> 10 & 0xfff) << (insn & 0x00400000 ? 12 : 0);
	u32 rd = sframe_insn_rd(insn);
	bool is_low = sframe_sets_low_x29(insn);

	if ((insn & 0xff8003ff) == 0x910003ff) {	/* add sp, sp, #imm */
		path->sp += imm;
		return SFRAME_PATH_ON;
	}
	if ((insn & 0xff8003ff) == 0xd10003ff) {	/* sub sp, sp, #imm */
		path->sp -= imm;
		return SFRAME_PATH_ON;
	}
	if ((sframe_sets_x29(insn) || is_low) && !path->has_ra && !path->has_fp) {
		sframe_path_load(path, SFRAME_INSN_FP, is_low ? -8 : imm);
		sframe_path_load(path, SFRAME_INSN_RA, is_low ? 0 : imm + 8);
		return SFRAME_PATH_RECORD;
	}
	if (sframe_is_kept(rd))
		return SFRAME_PATH_LOST;
	/* adds, subs, ands, as cmp, cmn and tst: no result */
	if (rd != SFRAME_INSN_SP || (insn & 0x3f000000) == 0x31000000 ||
	    (insn & 0x7f800000) == 0x72000000)
		return SFRAME_PATH_ON;
	return SFRAME_PATH_LOST;
}

/* Does this operation on vectors write a general register: fcvt to one, fmov, smov, umov? */
static inline bool sframe_is_from_vector(u32 insn)
{
	return (insn & 0x7f200000) == 0x1e000000 || (insn & 0x7f20fc00) == 0x1e200000 ||
	       (insn & 0xbfe0ec00) == 0x0e002c00;
}

/**
 * sframe_path_step() - follow a path by one instruction
 * @path: the path; SFRAME_PATH_INIT before the first instruction
 * @code: the instruction
 *
 * Return: Where the path is then.
 */
static inline enum sframe_path_at sframe_path_step(struct sframe_path *path, const u8 *code)
{
	u32 insn = sframe_insn(code), rd = sframe_insn_rd(insn);

	path->size = SFRAME_INSN_MAX;
	/* x30 has just been stored, and keeps its value. */
	if (sframe_stores_low_x29(insn) && !path->has_ra)
		return SFRAME_PATH_SAVE;
	switch (insn >> 25 & 15) {
	case 4: case 6: case 12: case 14:
		return sframe_path_memory(path, insn);
	case 8: case 9:
		return sframe_path_compute(path, insn);
	case 10: case 11:
		return sframe_path_branch(path, insn);
	case 5: case 13:
		/* Registers. Some forms of add, sub and irg may write SP. */
		if (sframe_is_kept(rd))
			return SFRAME_PATH_LOST;
		return rd == SFRAME_INSN_SP && ((insn & 0x3fe00000) == 0x0b200000 ||
						(insn & 0xffe0fc00) == 0x9ac01000) ?
		       SFRAME_PATH_LOST : SFRAME_PATH_ON;
	case 7: case 15:
		return sframe_is_kept(rd) && sframe_is_from_vector(insn) ? SFRAME_PATH_LOST :
									   SFRAME_PATH_ON;
	case 2:
		/* SVE. A few forms write a general register, or SP. */
		return rd >= SFRAME_INSN_FP ? SFRAME_PATH_LOST : SFRAME_PATH_ON;
	default:
		return SFRAME_PATH_LOST;
	}
}

#endif /* SFRAME_PATH_H */
