/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A section is listed as a text that tests compare:
 *
 *	blob VERSION FLAGS
 *	fde START SIZE [maskN] [flex] [signal] [key-b]
 *	  OFFSET CFA FP RA [[s]]
 *	! PLACE DEFECT
 *
 * Starts are relative to the section; offsets and flags are hexadecimal.
 */
#ifndef TEST_LISTING_H
#define TEST_LISTING_H

#include "scan.h"

#define LISTING_SIZE	32768
#define LISTING_ROWS	640

struct listed_fde {
	struct sframe_fde	fde;
	u32			first_row;
	u32			nr_rows;
};

struct listing {
	struct scan_result	result;
	char			text[LISTING_SIZE];
	u32			len;
	struct sframe_header	sec;		/* FDEs of the last blob */
	struct listed_fde	fdes[32];
	u32			nr_fdes;
	struct sframe_row	rows[LISTING_ROWS];
	u32			nr_rows;
	u32			unnamed;	/* number of defects without a name */
};

void listing_make(struct listing *list, const u8 *data, u64 addr, u64 size);
int listing_find_row(const struct listing *list, u64 pc, struct sframe_row *row);

#endif /* TEST_LISTING_H */
