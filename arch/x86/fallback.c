// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of x86_64: calls push the return address, so the frame pointer leads to
 * it. Where a function begins or ends, the stack pointer does, too. That is tried first.
 *
 * This file also finds the caller of _dl_runtime_resolve() of glibc, which binds a function at its
 * first call. That aligns the stack and keeps its CFA in rbx. The functions that it calls save rbx,
 * and no table says where. What leads into it is known, though. A slot of the PLT that is not
 * bound pushes its index, and the head of the PLT pushes the link map. So the stack has, from
 * low to high: rbx of the caller, link map, index, return address. The return address follows
 * a call of that slot. Copies that earlier calls have left on the stack do not mislead: their
 * slots are bound, and lead to a function.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

/* Follows the frame pointer to @caller, if there is a reason to. */
static bool follow_fp(struct sfu_walk *walk, struct sfu_frame *caller, enum sfu_method *method)
{
	if (!sfu_record_find(walk, caller))
		return false;
	if (sfu_record_trusts_fp(walk, caller))
		*method = SFU_METHOD_FP_HABIT;
	else if (!sfu_record_is_proved(walk, caller))
		return false;
	caller->sp_unverified = true;
	return true;
}

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller,
				enum sfu_method *method)
{
	*method = SFU_METHOD_FP;
	return follow_fp(walk, caller, method) ? SFU_STOP_NONE : SFU_STOP_NODATA;
}

#define REG_BX			3	/* DWARF number */
#define BINDING_CFA		32	/* bytes from rbx to the CFA */

/*
 * The return address is at most so many bytes above the stack pointer. Between the two are the
 * registers that calls pass arguments in, with all of AVX-512, 2752 bytes.
 */
#define MAX_BINDING		4096

/* No PLT has so many slots. */
#define MAX_SLOTS		0x1000000

/* Returns true if the code before @ra calls the PLT slot of this index, which is not bound yet. */
static bool calls_unbound(struct sfu_walk *walk, unsigned long ra, unsigned long index)
{
	unsigned long func;

	/* Most of what is there is 0, and costs nothing. All else costs a search of the ranges. */
	if (ra < PAGE_SIZE || ra >= TASK_SIZE_MAX || sfu_walk_charge(walk, SFU_RANGE_COST / 2))
		return false;
	return sfu_walk_find_range(walk, ra - 1) &&
	       sfu_call_find_callee(walk, ra, &func) && sfu_x86_pushes_index(walk, func, index);
}

static bool is_of_binding(const struct sframe_row *row)
{
	return row->cfa.how == SFRAME_RULE_REG && row->cfa.reg == REG_BX &&
	       row->cfa.off == BINDING_CFA && row->ra.how == SFRAME_RULE_CFA_MEM &&
	       row->ra.off == -8 && row->fp.how == SFRAME_RULE_SAME;
}

bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller)
{
	const unsigned long sp = walk->frame.sp, end = sp + MAX_BINDING;
	unsigned long words[32], addr;	/* aligned to their size: all in one page */
	unsigned int i;

	if (!is_of_binding(row))
		return false;
	for (addr = round_down(sp, sizeof(words)); addr < end; addr += sizeof(words)) {
		if (!sfu_walk_read_code(walk, words, addr, sizeof(words)) ||
		    sfu_walk_charge(walk, sizeof(words)))
			return false;
		/* The CFA, which is a multiple of 16, follows index and return address. */
		for (i = 0; i < ARRAY_SIZE(words); i += 2) {
			if (addr + i * sizeof(long) < sp || words[i] >= MAX_SLOTS ||
			    !calls_unbound(walk, words[i + 1], words[i]))
				continue;
			*caller = (struct sfu_frame){
				.ip = words[i + 1],
				.sp = addr + (i + 2) * sizeof(long),
				.fp = walk->frame.fp,
			};
			return true;
		}
	}
	return false;
}
