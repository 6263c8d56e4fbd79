/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets share. A target is a program of libFuzzer, or, linked
 * with replay.c, one that runs the inputs in the files it is given.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>

#include "sframe_core.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

void fuzz_fail(const char *file, int line, const char *condition)
	__attribute__((__noreturn__));

/* What holds whatever the input says. */
#define require(condition)						\
	do {								\
		if (!(condition))					\
			fuzz_fail(__FILE__, __LINE__, #condition);	\
	} while (0)

/**
 * struct fuzz_most - the most of something that was seen
 * @what: its name and unit
 * @seen: how much
 * @bound: what it must not exceed
 * @share: the largest part of its own bound that any input took, in percent
 */
struct fuzz_most {
	const char	*what;
	u64		seen;
	u64		bound;
	u64		share;
};

void fuzz_note(struct fuzz_most *most, u64 seen, u64 bound);
void fuzz_tell(const struct fuzz_most *most);

bool fuzz_is_fault(enum sframe_fault fault);

#endif /* FUZZ_H */
