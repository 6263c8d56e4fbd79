/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scans a whole section, in the order in which it is stored. */
#ifndef SFRAMECTL_SCAN_H
#define SFRAMECTL_SCAN_H

#include "sframe_core.h"

/* The current place of a scan. */
struct scan_place {
	u32	blob;
	s64	fde;		/* -1: the header */
	s64	row;		/* -1: the FDE */
};

/**
 * struct scan_blob - the header of one blob
 * @sec: the header as decoded
 * @raw: the header as stored, in this machine's byte order; has fields that @sec lacks
 */
struct scan_blob {
	struct sframe_header		sec;
	struct sframe_raw_header	raw;
};

/**
 * struct scan_ops - functions that a scan calls; each is optional
 * @blob: called for each blob, before its FDEs
 * @judge: the defect of a header, or else of @fde, that only the file itself shows
 * @fde: called for each FDE, before its rows
 * @row: called for each row
 * @fde_end: called after the rows of an FDE
 * @blob_end: called after the FDEs of a blob
 * @defect: called for each defect; the scan goes on with the next FDE
 */
struct scan_ops {
	void (*blob)(void *arg, const struct scan_blob *blob, u32 index);
	enum sframe_defect (*judge)(void *arg, const struct scan_blob *blob,
				    const struct sframe_fde *fde);
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
 * struct scan_result - the result of a scan
 * @nr_blobs: number of sound headers
 * @defects: number of defects
 * @used: bytes up to the end of the last sound blob
 * @gave_up: FDEs share their rows many times over, so the scan ended early
 * @leftover: the bytes after @used are neither zero nor a header
 */
struct scan_result {
	u32	nr_blobs;
	u64	defects;
	u64	used;
	bool	gave_up;
	bool	leftover;
};

/* Of a blob, including rows that several FDEs share. */
static inline u64 scan_rows_max(const struct sframe_header *sec)
{
	return (u64)sec->fre_len + (u64)sec->num_fdes * 64;
}

struct scan_result scan(const u8 *data, u64 addr, u64 size,
			const struct scan_ops *ops, void *arg);
const char *scan_place_text(const struct scan_place *place, char *text,
			    size_t size);

#endif /* SFRAMECTL_SCAN_H */
