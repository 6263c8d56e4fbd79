/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All of a section, in the order in which it is stored. */
#ifndef SFRAMECTL_SCAN_H
#define SFRAMECTL_SCAN_H

#include "sframe_core.h"

/* What a scan is looking at. */
struct scan_place {
	u32	blob;
	s64	fde;		/* -1: the header */
	s64	row;		/* -1: the FDE */
};

/**
 * struct scan_blob - one header with what belongs to it
 * @sec: as the decoder sees it
 * @raw: the header in this machine's byte order, for what @sec leaves out
 */
struct scan_blob {
	struct sframe_header		sec;
	struct sframe_raw_header	raw;
};

/**
 * struct scan_ops - what to do with what a scan comes across; each is optional
 * @blob: a header, ahead of its FDEs
 * @fde: an FDE, ahead of its rows
 * @row: a row
 * @fde_end: behind the rows of an FDE
 * @blob_end: behind the FDEs of a blob
 * @defect: something is wrong here; the scan goes on with the next FDE
 */
struct scan_ops {
	void (*blob)(void *arg, const struct scan_blob *blob, u32 index);
	void (*fde)(void *arg, const struct scan_blob *blob, u32 index,
		    const struct sframe_fde *fde);
	void (*row)(void *arg, const struct scan_blob *blob,
		    const struct sframe_row *row);
	void (*fde_end)(void *arg);
	void (*blob_end)(void *arg);
	void (*defect)(void *arg, const struct scan_place *place,
		       enum sframe_defect defect);
};

/**
 * struct scan_result - what a scan found
 * @nr_blobs: sound headers
 * @defects: what was wrong
 * @used: bytes up to the end of the last sound blob
 * @gave_up: there was no end to it: FDEs share their rows many times over
 * @leftover: behind those are bytes that are not zero and no header
 */
struct scan_result {
	u32	nr_blobs;
	u64	defects;
	u64	used;
	bool	gave_up;
	bool	leftover;
};

struct scan_result scan(const u8 *data, u64 addr, u64 size,
			const struct scan_ops *ops, void *arg);
const char *scan_place_text(const struct scan_place *place, char *text,
			    size_t size);

#endif /* SFRAMECTL_SCAN_H */
