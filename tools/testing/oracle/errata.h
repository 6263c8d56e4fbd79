/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The known mistakes of toolchains. */
#ifndef ORACLE_ERRATA_H
#define ORACLE_ERRATA_H

#include "assembler.h"

/* A set of errata: bit N is EN. */
typedef u32 errata_t;

#define ERRATUM(n)	(1u << (n))
#define NR_ERRATA	13

/**
 * struct finding - the rows of SFrame and .eh_frame at an address
 * @obj: the file
 * @addr: the address
 * @sec: the SFrame section
 * @func: the function as .eh_frame describes it, NULL if it does not
 * @err: error of sframe_find_row()
 * @defect: its reason
 * @sframe: the row found, if @err is 0
 * @stored_cfa: the offset of its CFA as it is stored
 * @dwarf: libdw's row, if there is a @func
 * @end: the first address after @addr for which @dwarf may not hold
 * @sp_is_cfa: the caller's stack pointer is the CFA; only known for a converted table
 */
struct finding {
	const struct object		*obj;
	u64				addr;
	const struct sframe_header	*sec;
	const struct function		*func;
	int				err;
	enum sframe_defect		defect;
	struct sframe_row		sframe;
	s64				stored_cfa;
	struct sframe_row		dwarf;
	u64				end;
	bool				sp_is_cfa;
};

/* Return: true if the decoder has corrected a known mistake in the stored row. */
static inline bool errata_is_mended(const struct finding *found)
{
	return !found->err && found->stored_cfa != found->sframe.cfa.off;
}

bool errata_agree(const struct finding *found);
errata_t errata_explain(struct ehframe *eh, const struct finding *found);
errata_t errata_mended(const struct finding *found);

#endif /* ORACLE_ERRATA_H */
