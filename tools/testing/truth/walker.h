/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk of the module, over the stack of a process that is stepped. */
#ifndef TRUTH_WALKER_H
#define TRUTH_WALKER_H

#include "memory.h"
#include "registers.h"

struct sfu_table;

/**
 * struct walker_table - the SFrame section that describes a file
 * @bytes: the section
 * @len: how many
 * @addr: the address that it was linked at
 * @loaded: the same as the walk has it; NULL: no process has mapped the file yet
 */
struct walker_table {
	const u8		*bytes;
	u32			len;
	u64			addr;
	struct sfu_table	*loaded;
};

/**
 * struct walker_code - code of a process
 * @start: first address
 * @end: one past its last address
 * @file: names the file; 0: none
 * @table: the table of the file, or NULL
 * @bias: what is added to each address that was linked
 */
struct walker_code {
	u64				start;
	u64				end;
	unsigned long			file;
	struct walker_table		*table;
	u64				bias;
};

/* A frame that the walk has found. */
struct walker_frame {
	u64	ip;
	u64	sp;
	u64	fp;
	bool	sp_is_guess;
};

struct walker;

struct walker *walker_open(struct memory *mem);
void walker_close(struct walker *walker);
void walker_set_code(struct walker *walker, const struct walker_code *code, unsigned int nr,
		     u64 start_stack);
void walker_begin(struct walker *walker, const struct registers *regs, bool use_cache);
const char *walker_next(struct walker *walker, struct walker_frame *frame);

#endif /* TRUTH_WALKER_H */
