// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scans a whole section: each blob, each FDE of a blob, each row of an FDE. A
 * linker that does not merge puts the sections of its inputs one after the
 * other, each 8-byte aligned. Each of these sections is a blob.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buffer.h"
#include "scan.h"

#define BLOB_ALIGN	8

struct scan_state {
	struct buffer_reader	buf;
	const struct scan_ops	*ops;
	void			*arg;
	struct scan_place	place;
	struct scan_result	result;
	u64			rows_left;
};

static void report(struct scan_state *scan, enum sframe_defect defect)
{
	scan->result.defects++;
	if (scan->ops->defect)
		scan->ops->defect(scan->arg, &scan->place, defect);
}

/* Copies the header as stored: the decoder drops some of its fields. */
static void read_raw_header(struct scan_state *scan, struct scan_blob *blob)
{
	struct sframe_raw_header *raw = &blob->raw;

	memcpy(raw, scan->buf.data + (blob->sec.addr - scan->buf.addr),
	       sizeof(*raw));
	if (!blob->sec.swapped)
		return;
	raw->magic = swab16(raw->magic);
	raw->num_fdes = swab32(raw->num_fdes);
	raw->num_fres = swab32(raw->num_fres);
	raw->fre_len = swab32(raw->fre_len);
	raw->fdeoff = swab32(raw->fdeoff);
	raw->freoff = swab32(raw->freoff);
}

/*
 * FDEs may share rows: "sframectl convert" stores equal lists once. The time of a scan must stay
 * in proportion to the size of the file, so the scan gives up where FDEs have more rows on
 * average than those of any program, and more than the blob has bytes.
 */
static bool worn_out(struct scan_state *scan)
{
	if (!scan->rows_left)
		scan->result.gave_up = true;
	else
		scan->rows_left--;
	return scan->result.gave_up;
}

/* Return: 0 to go on with the next row; else the scan of this function ends. */
static int scan_row(struct scan_state *scan, const struct scan_blob *blob,
		    struct sframe_rows *rows)
{
	struct sframe_reader *rd = &scan->buf.rd;
	struct sframe_raw_row raw;
	struct sframe_row row;
	int err;

	err = sframe_rows_next(rows, rd, &raw);
	if (!err)
		err = sframe_decode_row(&blob->sec, rd, &raw, &row);
	if (err == -ENOENT)
		return err;
	if (err)
		report(scan, rd->defect);
	else if (scan->ops->row)
		scan->ops->row(scan->arg, blob, &row);

	/* The rows after a row that cannot be followed may still be sound. */
	return err == -EOPNOTSUPP ? 0 : err;
}

static void scan_rows(struct scan_state *scan, const struct scan_blob *blob,
		      const struct sframe_fde *fde)
{
	struct sframe_rows rows;

	sframe_rows_init(&rows, &blob->sec, fde);
	do {
		buffer_reader_refill(&scan->buf);
		scan->place.row++;
	} while (!worn_out(scan) && !scan_row(scan, blob, &rows));
	scan->place.row = -1;
}

static enum sframe_defect judge(const struct scan_state *scan, const struct scan_blob *blob,
				const struct sframe_fde *fde)
{
	return scan->ops->judge ? scan->ops->judge(scan->arg, blob, fde) : SFRAME_DEFECT_NONE;
}

/* The scan can list such an entry, but a look-up does not follow it. */
static enum sframe_defect misplaced(const struct scan_state *scan, const struct scan_blob *blob,
				    const struct sframe_fde *fde, u64 last_start)
{
	if ((fde->start | (fde->start + fde->size)) >> 63)
		return SFRAME_DEFECT_FDE_RANGE;
	if (blob->sec.flags & SFRAME_F_FDE_SORTED && fde->start < last_start)
		return SFRAME_DEFECT_FDE_ORDER;
	return judge(scan, blob, fde);
}

static void scan_fdes(struct scan_state *scan, const struct scan_blob *blob)
{
	struct sframe_reader *rd = &scan->buf.rd;
	enum sframe_defect defect;
	struct sframe_fde fde;
	u64 last_start = 0;
	u32 i;

	/* Each FDE costs one more: the look for the end of its rows. */
	scan->rows_left = scan_rows_max(&blob->sec) + blob->sec.num_fdes;
	for (i = 0; i < blob->sec.num_fdes && !scan->result.gave_up; i++) {
		scan->place.fde = i;
		buffer_reader_refill(&scan->buf);
		if (sframe_get_fde(&blob->sec, rd, i, &fde)) {
			report(scan, rd->defect);
			continue;
		}
		if (scan->ops->fde)
			scan->ops->fde(scan->arg, blob, i, &fde);
		defect = misplaced(scan, blob, &fde, last_start);
		if (defect)
			report(scan, defect);
		last_start = fde.start;
		scan_rows(scan, blob, &fde);
		if (scan->ops->fde_end)
			scan->ops->fde_end(scan->arg);
	}
	scan->place.fde = -1;
}

/* Return: the offset of a possible next blob; 0 if there can be none. */
static u64 scan_blob(struct scan_state *scan, u64 off)
{
	struct buffer_reader *buf = &scan->buf;
	struct scan_blob blob;
	int err;

	buffer_reader_refill(buf);
	err = sframe_header_read(&blob.sec, &buf->rd, buf->addr + off,
				 buf->size - off);
	if (err == -ENOENT)
		return 0;
	if (err) {
		report(scan, buf->rd.defect);
		return 0;
	}
	read_raw_header(scan, &blob);
	if (scan->ops->blob)
		scan->ops->blob(scan->arg, &blob, scan->place.blob);
	if (judge(scan, &blob, NULL))
		report(scan, judge(scan, &blob, NULL));
	scan_fdes(scan, &blob);
	if (scan->ops->blob_end)
		scan->ops->blob_end(scan->arg);

	scan->result.nr_blobs++;
	scan->place.blob++;
	scan->result.used = off + sframe_header_span(&blob.sec);
	if (scan->result.gave_up)
		return 0;
	return (scan->result.used + BLOB_ALIGN - 1) & ~(u64)(BLOB_ALIGN - 1);
}

/* Padding or other bytes after a blob must not be taken for the next blob. */
static bool has_magic(const struct buffer_reader *buf, u64 off)
{
	u16 magic;

	if (off > buf->size || buf->size - off < sizeof(magic))
		return false;
	memcpy(&magic, buf->data + off, sizeof(magic));
	return magic == SFRAME_MAGIC || magic == SFRAME_MAGIC_SWAPPED;
}

static bool all_zero(const u8 *bytes, u64 size)
{
	while (size && !*bytes) {
		bytes++;
		size--;
	}
	return size == 0;
}

/**
 * scan - scan a whole section
 * @data: the bytes of the section
 * @addr: the address of @data
 * @size: number of bytes
 * @ops: functions to call during the scan
 * @arg: first argument of each function in @ops
 *
 * Return: the result. A section without blobs and without defects is empty.
 */
struct scan_result scan(const u8 *data, u64 addr, u64 size,
			const struct scan_ops *ops, void *arg)
{
	struct scan_state scan = {
		.ops = ops,
		.arg = arg,
		.place = { .fde = -1, .row = -1 },
	};
	u64 off = 0;

	buffer_reader_init(&scan.buf, data, addr, size);
	do {
		off = scan_blob(&scan, off);
	} while (off && has_magic(&scan.buf, off));

	if (off)
		scan.result.leftover = !all_zero(data + scan.result.used,
						 size - scan.result.used);
	return scan.result;
}

const char *scan_place_text(const struct scan_place *place, char *text,
			    size_t size)
{
	char blob[24] = "";

	if (place->blob)
		snprintf(blob, sizeof(blob), "blob %u ", place->blob);
	if (place->fde < 0)
		snprintf(text, size, "%sheader", blob);
	else if (place->row < 0)
		snprintf(text, size, "%sfde %" PRId64, blob, place->fde);
	else
		snprintf(text, size, "%sfde %" PRId64 " row %" PRId64, blob,
			 place->fde, place->row);
	return text;
}
