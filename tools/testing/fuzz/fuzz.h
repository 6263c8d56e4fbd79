/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that all fuzz targets use. A target is linked with libFuzzer, or with
 * replay.c. With replay.c it runs the inputs in the files that are its arguments.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>

#include "sframe_core.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

void fuzz_fail(const char *file, int line, const char *condition)
	__attribute__((__noreturn__));

/* Checks a condition that must hold for every input. */
#define require(condition)						\
	do {								\
		if (!(condition))					\
			fuzz_fail(__FILE__, __LINE__, #condition);	\
	} while (0)

/**
 * struct fuzz_most - the largest amount of something in all inputs
 * @what: name and unit
 * @seen: the largest amount
 * @bound: the bound for the input with the largest amount
 * @share: the largest amount of an input in percent of the bound for that input
 */
struct fuzz_most {
	const char	*what;
	u64		seen;
	u64		bound;
	u64		share;
};

void fuzz_note(struct fuzz_most *most, u64 seen, u64 bound);
void fuzz_tell(const struct fuzz_most *most);

bool fuzz_is_defect(enum sframe_defect defect);

bool fuzz_same_rule(const struct sframe_rule *a, const struct sframe_rule *b);
bool fuzz_same_row(const struct sframe_row *a, const struct sframe_row *b);

#endif /* FUZZ_H */
