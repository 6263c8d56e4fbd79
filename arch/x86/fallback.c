// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of x86_64: finds the caller of a frame without an SFrame row by the frame pointer.
 *
 * This file also finds the caller of glibc's _dl_runtime_resolve(), which binds a PLT slot (looks
 * up the slot's function) at the first call. Its row computes the CFA from rbx. The functions that
 * it calls save rbx, and no row says where. So the stack is searched for these words (high to low):
 *
 *	return address		pushed by the call of the PLT slot
 *	index of the slot	pushed by the slot
 *	link map		pushed by the head of the PLT
 *	rbx			pushed by _dl_runtime_resolve()
 *
 * An index counts only if the call before the return address enters an unbound slot with this
 * index. Earlier calls may have left such words on the stack, but their slots are bound by now.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/walk.h"

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller)
{
	if (!sfu_record_find(walk, caller) ||
	    !(sfu_record_is_kept(walk, caller) || sfu_record_is_proved(walk, caller)))
		return SFU_STOP_NODATA;
	caller->sp_unverified = true;
	return SFU_STOP_NONE;
}

#define REG_BX			3	/* DWARF number */
#define BINDING_CFA		32	/* the CFA of _dl_runtime_resolve() is rbx + this number */

/* Below the index, _dl_runtime_resolve() saves the registers: 2752 bytes with AVX-512. */
#define MAX_BINDING		4096	/* bytes of stack to search for the index of a PLT slot */

/* All PLTs have fewer slots than this. So a stack word >= this number is no index of a PLT slot. */
#define MAX_SLOTS		0x1000000

static bool calls_unbound(struct sfu_walk *walk, unsigned long ra, unsigned long index)
{
	unsigned long func;

	if (ra < PAGE_SIZE || ra >= TASK_SIZE_MAX || sfu_walk_charge(walk, SFU_RANGE_COST / 2))
		return false;
	return sfu_walk_find_range(walk, ra - 1) &&
	       sfu_call_find_callee(walk, ra, &func) && sfu_x86_pushes_index(walk, func, index);
}

bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller)
{
	const unsigned long sp = walk->frame.sp, end = sp + MAX_BINDING;
	unsigned long words[32], addr;	/* @addr is a multiple of 256, so @words are in one page */
	unsigned int i;

	if (row->cfa.how != SFRAME_RULE_REG || row->cfa.reg != REG_BX ||
	    row->cfa.off != BINDING_CFA || row->ra.how != SFRAME_RULE_CFA_MEM ||
	    row->ra.off != -8 || row->fp.how != SFRAME_RULE_SAME)
		return false;
	for (addr = round_down(sp, sizeof(words)); addr < end; addr += sizeof(words)) {
		if (!sfu_walk_read_code(walk, words, addr, sizeof(words)) ||
		    sfu_walk_charge(walk, sizeof(words)))
			return false;
		/* The slot's index is at CFA - 16. The ABI aligns the CFA to 16: skip odd words. */
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
