// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tables TABLE...: the memory that the tables of sframectl convert take in the module
 *
 * Prints a line for each: functions, bytes of its .sframe, bytes of the compiled table.
 */
#include <err.h>
#include <stdio.h>

#include "buffer.h"
#include "host_table.h"
#include "object.h"

/* As &sfu_table.size in the module: each row is there as a word, too. */
static u64 compiled_size(const struct sframe_compiled *compiled)
{
	return (compiled->nr_slots + 1 + (u64)compiled->nr_entries) * sizeof(u32) +
	       compiled->nr_rows * (sizeof(*compiled->rows) + sizeof(u64));
}

int main(int argc, char **argv)
{
	struct buffer_reader buf;
	struct sframe_header hdr;
	struct host_table res;
	struct object obj;
	const char *error;

	for (; *++argv; object_close(&obj)) {
		error = object_open(&obj, *argv);
		if (error)
			errx(1, "%s: %s", *argv, error);
		buffer_reader_init(&buf, obj.data, obj.addr, obj.size);
		if (!obj.place || sframe_header_read(&hdr, &buf.rd, obj.addr, obj.size))
			errx(1, "%s: no sound .sframe", *argv);
		host_table_init(&res, &hdr, obj.data, obj.size);
		if (!res.is_accepted)
			errx(1, "%s: the module does not accept it", *argv);
		printf("%u %llu %llu\n", hdr.num_fdes, (unsigned long long)obj.size,
		       (unsigned long long)compiled_size(&res.compiled));
		host_table_free(&res);
	}
	return argc ? 0 : 2;
}
