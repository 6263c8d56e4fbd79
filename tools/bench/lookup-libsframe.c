// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookup-libsframe SECTION ADDR ADDRESSES: the look-up of binutils' libsframe
 *
 * SECTION is a file with the bytes of an .sframe section, whose address is ADDR.
 * This program shares no code with the decoder that it is compared with.
 */
#include <sframe-api.h>

#include "lookup.h"

static struct sframe_decoder_ctx *ctx;
static uint64_t section_addr;

/* Decodes the complete row, as the other decoders do. */
static void find_all(void)
{
	sframe_frame_row_entry row;
	int i, error;

	for (i = 0; i < LOOKUP_COUNT; i++) {
		if (sframe_find_fre(ctx, addresses[i].addr - section_addr, &row))
			errx(1, "%" PRIx64 ": no row", addresses[i].addr);
		if (sframe_fre_get_cfa_offset(ctx, &row, &error) != addresses[i].cfa)
			errx(1, "%" PRIx64 ": another row", addresses[i].addr);
		sframe_fre_get_ra_offset(ctx, &row, &error);
		sframe_fre_get_fp_offset(ctx, &row, &error);
	}
}

int main(int argc, char **argv)
{
	FILE *file;
	char *bytes;
	long size;
	int error;

	if (argc != 4)
		errx(2, "usage: lookup-libsframe SECTION ADDR ADDRESSES");
	file = fopen(argv[1], "r");
	if (!file || fseek(file, 0, SEEK_END))
		err(1, "%s", argv[1]);
	size = ftell(file);
	rewind(file);
	bytes = malloc(size);
	if (!bytes || fread(bytes, 1, size, file) != (size_t)size)
		err(1, "%s", argv[1]);
	section_addr = strtoull(argv[2], NULL, 16);
	ctx = sframe_decode(bytes, size, &error);
	if (!ctx)
		errx(1, "%s", sframe_errmsg(error));
	read_addresses(argv[3]);
	measure("libsframe", find_all);
	return 0;
}
