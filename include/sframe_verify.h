/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks each function of a section as a whole: see task/sframe_verify.c.
 */
#ifndef SFRAME_VERIFY_H
#define SFRAME_VERIFY_H

#include "sframe_core.h"

/**
 * struct sframe_verify - the state of a check
 * @budget: what a look-up may cost at most, in instructions, about
 * @rows_left: rows that the check may still examine; functions may share rows
 * @last_end: end of the last function
 */
struct sframe_verify {
	u32	budget;
	u32	rows_left;
	u64	last_end;
};

int sframe_verify_function(struct sframe_verify *verify, const struct sframe_header *hdr,
			   struct sframe_reader *rd, u32 index);

#endif /* SFRAME_VERIFY_H */
