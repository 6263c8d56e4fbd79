/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the suites of the walk take from an architecture, arch/.../walk_facts.h:
 * its ABI in tables of these entries, and in functions that have the same names
 * everywhere.
 */
#ifndef WALK_CASES_H
#define WALK_CASES_H

#include "section_builder.h"

/*
 * A rule of a flexible row: control word, and offset. A CFA's has bit 2, which
 * is unused, for 0 is no rule.
 */
#define RULE(control, off)	((u32)(control) << 16 | ((off) & 0xffff))
#define AT_REG(reg, off)	RULE((reg) << 3 | 1, off)
#define IN_REG(reg, off)	RULE((reg) << 3 | 3, off)
#define AT_CFA(off)		RULE(4, off)
#define IN_CFA(off)		RULE(2, off)
#define LEFT_OUT		1	/* a single word 0 */

/**
 * struct rule_case - a row, and what comes of it in the scene of step_row_sampled()
 * @name: what the row says
 * @info: of the row; FLEXIBLE: as there are rules
 * @rules: CFA, RA and FP of a flexible row, else the row's words
 * @want: the caller's frame where all registers are known
 * @in_caller: likewise where only SP and FP are, if that is another
 */
struct rule_case {
	const char	*name;
	u8		info;
	u32		rules[3];
	const char	*want;
	const char	*in_caller;
};

#define FLEXIBLE	0

/* A return address with these bits toggled: is it still one? */
struct ra_case {
	const char	*name;
	u64		bits;
	bool		valid;
};

#define CALL_CODE	8	/* bytes */
#define PLT_CODE	24

enum refers { TO_NOTHING, TO_FUNCTION, TO_SLOT };

/*
 * The code ahead of a return address: what it names, and whether it calls that,
 * or something else.
 */
struct call_case {
	const char	*name;
	union {
		u8	code[CALL_CODE];
		u32	insns[CALL_CODE / 4];
	};
	enum refers	refers;
	bool		calls;
	bool		calls_other;
};

/*
 * A PLT slot; the code at @at names the word it jumps through, if it does. It may
 * be such that the word is the first of its page.
 */
struct plt_case {
	const char	*name;
	union {
		u8	code[PLT_CODE];
		u32	insns[PLT_CODE / 4];
	};
	u8		at;
	bool		jumps;
	bool		names_page;
};

#endif /* WALK_CASES_H */
