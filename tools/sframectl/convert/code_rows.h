/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for code that nothing describes. */
#ifndef CODE_ROWS_H
#define CODE_ROWS_H

#include "code_flow.h"

/**
 * struct code_part - a part of the code that has rows
 * @start: its address
 * @size: its bytes
 * @first: its first row
 * @nr: number of rows
 */
struct code_part {
	u64	start;
	u32	size;
	u32	first;
	u32	nr;
};

/**
 * struct code_rows - the rows
 * @parts: where they are, by address
 * @nr_parts: their number
 * @rows: all rows; each counts from the start of its part
 * @nr_rows: their number
 * @holes: bytes without rows, by reason
 * @covered: bytes with rows
 */
struct code_rows {
	struct code_part	*parts;
	size_t			nr_parts;
	struct cfi_row		*rows;
	size_t			nr_rows;
	u64			holes[NR_CODE_HOLES];
	u64			covered;
};

/* Called for each instruction that gets a row, once for each function that it is in */
typedef void code_visit(void *arg, const struct code_step *step);

void code_rows_find(struct code_rows *rows, struct code_image *image, code_visit *visit, void *arg);
void code_rows_free(struct code_rows *rows);

#endif /* CODE_ROWS_H */
