/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suites of the walk take these facts from arch/.../walk_facts.h. Each architecture describes
 * its ABI in tables of these structs, and in functions of the same names.
 */
#ifndef WALK_CASES_H
#define WALK_CASES_H

#include "section_builder.h"

/* A row, as "fn" in walk_scene.h has it, and the caller that step_row_sampled() finds by it. */
struct rule_case {
	const char	*row;
	const char	*want;		/* the caller's frame where all registers are known */
	/* the caller's frame where only SP and FP are known, if it differs */
	const char	*in_caller;
};

/* A return address with these bits toggled, and whether the walk still accepts it. */
struct ra_case {
	const char	*name;
	u64		bits;
	bool		valid;
};

#define CALL_CODE	8	/* bytes */
#define PLT_CODE	24

enum refers { TO_NOTHING, TO_FUNCTION, TO_SLOT };

/*
 * The code before a return address refers to an address (@refers). It calls that address (@calls),
 * another function (@calls_other), or nothing.
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
 * A PLT slot, or a head that pushes @pushes bytes before @at. The code at @at names the word that
 * holds the target, if it jumps. @names_page: it can only name the first word of a page.
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
	u8		pushes;
};

#define SAMPLED_CODE	40	/* bytes */

/*
 * The code of a function, from its first byte on, and the step from the instruction @at. The first
 * words of the stack are b210 (or the register that calls leave it in has it), b310 and b410; the
 * code before each of them calls.
 */
struct sampled_case {
	const char	*name;
	union {
		u8	code[SAMPLED_CODE];
		u32	insns[SAMPLED_CODE / 4];
	};
	u8		at;
	const char	*want;
};

#define START_CODE	64	/* bytes */
#define START_BEFORE	16	/* of these, before the return address */

/* The facts by which the walk knows libc's code that starts a program or thread. */
enum start {
	CALLS_MAIN,		/* the code, and its place in the stack */
	IS_ENTRY,		/* these, and that the frame pointer is 0 */
	CALLS_THREAD,		/* the code */
	CALLS_CXX_THREAD,	/* the code, and that of its caller, which CALLS_THREAD */
};

/*
 * The code around a return address, of a libc that exists. The bits of @any, which begin at @at,
 * may have any value. No other bit may differ from @at to @end.
 */
struct start_case {
	const char	*name;
	enum start	start;
	u8		at;
	u8		end;
	union {
		u8	code[START_CODE];
		u32	insns[START_CODE / 4];
	};
	union {
		u8	any[START_CODE];
		u32	any_insns[START_CODE / 4];
	};
};

#endif /* WALK_CASES_H */
