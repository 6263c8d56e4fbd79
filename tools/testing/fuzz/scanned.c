// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scans arbitrary bytes as sframectl does, and turns every FDE and row into text.
 * Every defect must have a name and a place. The size of the input must bound the
 * work.
 */
#include "fuzz.h"
#include "scan.h"
#include "scanned.h"
#include "text.h"

struct scanned {
	u64		size;
	u64		rows;		/* in the current blob */
	u64		defects;
	u32		blobs;
	struct sframe_header sec;
	s64		last_start;	/* start of the row before; -1: none */
	bool		in_fde;
};

static struct fuzz_most most_rows = { .what = "rows of a section" };

static void look_at_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct scanned *scanned = arg;
	char text[TEXT_SIZE];

	require(index == scanned->blobs++);
	require(*abi_text(blob->sec.abi) && *flags_text(blob->sec.flags, text));
	require(sframe_header_span(&blob->sec) <= scanned->size);
	scanned->sec = blob->sec;
	scanned->rows = 0;
}

static void look_at_fde(void *arg, const struct scan_blob *blob, u32 index,
			const struct sframe_fde *fde)
{
	struct scanned *scanned = arg;

	require(!scanned->in_fde && index < blob->sec.num_fdes);
	require(!fde->num_fres || fde->fre_off < blob->sec.fre_len);
	scanned->in_fde = true;
	scanned->last_start = -1;
}

static void look_at_row(void *arg, const struct scan_blob *blob,
			const struct sframe_row *row)
{
	struct scanned *scanned = arg;
	struct row_text text;

	require(scanned->in_fde && row->start > scanned->last_start);
	scanned->last_start = row->start;
	row_to_text(blob->sec.abi, row, &text);
	require(*text.cfa && strlen(text.cfa) < TEXT_SIZE);
	scanned->rows++;
	fuzz_note(&most_rows, scanned->rows, scan_rows_max(&blob->sec) + blob->sec.num_fdes);
}

static void look_at_end(void *arg)
{
	struct scanned *scanned = arg;

	require(scanned->in_fde);
	scanned->in_fde = false;
}

static void look_at_defect(void *arg, const struct scan_place *place,
			   enum sframe_defect defect)
{
	struct scanned *scanned = arg;
	char text[64];

	require(fuzz_is_defect(defect));
	require(*scan_place_text(place, text, sizeof(text)));
	require(place->fde < (s64)scanned->sec.num_fdes);
	scanned->defects++;
}

/* Return: number of defects. */
u64 scan_checked(const u8 *data, u64 addr, u64 size)
{
	static const struct scan_ops ops = {
		.blob = look_at_blob,
		.fde = look_at_fde,
		.row = look_at_row,
		.fde_end = look_at_end,
		.defect = look_at_defect,
	};
	struct scanned scanned = { .size = size };
	struct scan_result result = scan(data, addr, size, &ops, &scanned);

	require(!scanned.in_fde);
	require(result.nr_blobs == scanned.blobs);
	require(result.defects == scanned.defects);
	require(result.used <= size);
	return result.defects;
}

static void __attribute__((__destructor__)) tell(void)
{
	fuzz_tell(&most_rows);
}
