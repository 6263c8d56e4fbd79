// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that all fuzz targets use. */
#include <inttypes.h>
#include <stdlib.h>

#include "fuzz.h"

void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* Checks that @seen does not exceed @bound, and keeps the largest @seen for the report. */
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
		"; at most %" PRIu64 " %% of the bound\n",
		most->what, most->seen, most->bound, most->share);
}

/* Return: true if a look-up may report @defect, which then has a name and a text. */
bool fuzz_is_defect(enum sframe_defect defect)
{
	return defect > SFRAME_DEFECT_NONE && defect < NR_SFRAME_DEFECTS &&
	       sframe_defects[defect].name && sframe_defects[defect].text;
}

bool fuzz_same_rule(const struct sframe_rule *a, const struct sframe_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off;
}

bool fuzz_same_row(const struct sframe_row *a, const struct sframe_row *b)
{
	return fuzz_same_rule(&a->cfa, &b->cfa) && fuzz_same_rule(&a->ra, &b->ra) &&
	       fuzz_same_rule(&a->fp, &b->fp) && a->func == b->func && a->start == b->start &&
	       a->outermost == b->outermost && a->signal == b->signal &&
	       a->ra_mangled == b->ra_mangled && a->pcmask == b->pcmask;
}
