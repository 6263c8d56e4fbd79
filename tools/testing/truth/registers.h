/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a thread that is stepped. */
#ifndef TRUTH_REGISTERS_H
#define TRUTH_REGISTERS_H

#include "sframe_types.h"

#define NR_REGISTERS	32

/**
 * struct registers - the registers of one thread
 * @by_number: by DWARF number
 * @ip: address of the next instruction
 * @syscall: the system call that the thread is in, or -1
 */
struct registers {
	u64	by_number[NR_REGISTERS];
	u64	ip;
	u64	syscall;
};

#ifdef TRUTH_ARM64
#define REG_FP	29
#define REG_RA	30
#define REG_SP	31

/* The bits of a return address that may hold its signature, see pointer authentication */
#define PAC_MASK	0x007f000000000000ull
#else
#define REG_AX	0
#define REG_FP	6
#define REG_SP	7
#endif

static inline u64 regs_sp(const struct registers *regs)
{
	return regs->by_number[REG_SP];
}

static inline u64 regs_fp(const struct registers *regs)
{
	return regs->by_number[REG_FP];
}

#endif /* TRUTH_REGISTERS_H */
