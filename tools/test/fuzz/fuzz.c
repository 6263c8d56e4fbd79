// SPDX-License-Identifier: GPL-2.0-or-later
/* What the fuzz targets share. */
#include <inttypes.h>
#include <stdlib.h>

#include "fuzz.h"

void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* It must not exceed @bound, and the nearest that it came is told. */
void fuzz_note(struct fuzz_most *most, u64 seen, u64 bound)
{
	require(seen <= bound);
	if (seen > most->seen) {
		most->seen = seen;
		most->bound = bound;
	}
	if (bound && seen * 100 / bound > most->share)
		most->share = seen * 100 / bound;
}

void fuzz_tell(const struct fuzz_most *most)
{
	fprintf(stderr, "most %s: %" PRIu64 " of %" PRIu64
		", and %" PRIu64 " %% of what is allowed\n",
		most->what, most->seen, most->bound, most->share);
}

/* One that a look-up may tell of, with its name and text. */
bool fuzz_is_fault(enum sframe_fault fault)
{
	return fault > SFRAME_FAULT_NONE && fault < NR_SFRAME_FAULTS &&
	       sframe_fault_names[fault] && sframe_fault_texts[fault];
}
