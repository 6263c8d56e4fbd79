// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks each function of a section as a whole, with all of its rows.
 *
 * This file reads memory by the reader only, and calls nothing of the kernel: it compiles
 * unchanged in the module and on the host.
 */
#include "sframe_verify.h"

static int has_defect(struct sframe_reader *rd, enum sframe_defect defect)
{
	rd->defect = defect;
	return -EBADMSG;
}

/* Decodes all rows. The decoder checks their order, registers and offsets. */
static int verify_rows(struct sframe_verify *verify, const struct sframe_header *hdr,
		       struct sframe_reader *rd, const struct sframe_fde *fde)
{
	u32 size = fde->pcmask ? fde->rep_size : fde->size;
	struct sframe_raw_row raw;
	struct sframe_rows rows;
	struct sframe_row row;
	u32 nr = 0;
	int err;

	sframe_rows_init(&rows, hdr, fde);
	for (;;) {
		err = sframe_rows_next(&rows, rd, &raw);
		if (err)
			return err == -ENOENT ? 0 : err;
		/* A row costs one instruction at least: verify_cost() would refuse more rows. */
		if (!verify->rows_left-- || nr++ > verify->budget)
			return has_defect(rd, SFRAME_DEFECT_COSTLY);
		if (raw.start >= size)
			return has_defect(rd, SFRAME_DEFECT_FRE_ORDER);
		err = sframe_decode_row(hdr, fde, rd, &raw, &row);
		if (err)
			return err;
	}
}

/* A look-up of the last address examines all rows. */
static int verify_cost(const struct sframe_verify *verify, const struct sframe_header *hdr,
		       struct sframe_reader *rd)
{
	struct sframe_row row;
	int err;

	rd->budget = verify->budget;
	err = sframe_find_row(hdr, rd, verify->last_end - 1, &row);
	if (err == -E2BIG)
		return has_defect(rd, SFRAME_DEFECT_COSTLY);
	return err == -ENOENT ? 0 : err;
}

/**
 * sframe_verify_function() - check a function and all of its rows
 * @verify: the state of the check
 * @hdr: the section; sorted
 * @rd: the reader; this changes its budget
 * @index: of the function; one more than in the last call
 *
 * Functions must not be empty, and must not overlap.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -EBADMSG or -EOPNOTSUPP with &sframe_reader.defect; -EFAULT.
 */
int sframe_verify_function(struct sframe_verify *verify, const struct sframe_header *hdr,
			   struct sframe_reader *rd, u32 index)
{
	struct sframe_fde fde;
	u64 end;
	int err;

	rd->budget = U32_MAX;
	err = sframe_get_fde(hdr, rd, index, &fde);
	if (err)
		return err;
	end = fde.start + fde.size;
	if (fde.start >> 63 || end >> 63 || !fde.size)
		return has_defect(rd, SFRAME_DEFECT_FDE_RANGE);
	if (fde.start < verify->last_end)
		return has_defect(rd, SFRAME_DEFECT_FDE_ORDER);
	verify->last_end = end;
	return verify_rows(verify, hdr, rd, &fde) ?: verify_cost(verify, hdr, rd);
}
