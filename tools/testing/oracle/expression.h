/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF expressions as rules. */
#ifndef ORACLE_EXPRESSION_H
#define ORACLE_EXPRESSION_H

#include <elfutils/libdw.h>

#include "sframe_core.h"

/* Stands for any rule that SFrame cannot express. */
extern const struct sframe_rule odd_rule;

static inline bool rule_is_odd(const struct sframe_rule *rule)
{
	return rule->reg == odd_rule.reg;
}

static inline bool rules_equal(const struct sframe_rule *a, const struct sframe_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off;
}

/**
 * struct expression - a DWARF expression and what it may refer to
 * @ops: its operations, as libdw returns them
 * @nr: number of operations
 * @pc: value of the program counter
 * @pc_reg: DWARF register number of the program counter, -1 if there is none
 */
struct expression {
	const Dwarf_Op	*ops;
	size_t		nr;
	u64		pc;
	int		pc_reg;
};

struct sframe_rule expression_value(const struct expression *expr);
struct sframe_rule expression_location(const struct expression *expr);

#endif /* ORACLE_EXPRESSION_H */
