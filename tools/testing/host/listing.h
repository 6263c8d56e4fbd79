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

struct listing {
	struct scan_result	result;
	char			text[LISTING_SIZE];
	u32			len;
	u32			nr_rows;
	u32			unnamed;	/* number of defects without a name */
};

void listing_make(struct listing *list, const u8 *data, u64 addr, u64 size);

#endif /* TEST_LISTING_H */
