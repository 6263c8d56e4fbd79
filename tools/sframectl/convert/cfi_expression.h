/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF expressions as rules. */
#ifndef CFI_EXPRESSION_H
#define CFI_EXPRESSION_H

#include "cfi_number.h"
#include "cfi_row.h"

struct cfi_rule cfi_cfa_expression(struct cfi_cursor block);
struct cfi_rule cfi_location_expression(struct cfi_cursor block);
struct cfi_rule cfi_value_expression(struct cfi_cursor block);

#endif /* CFI_EXPRESSION_H */
