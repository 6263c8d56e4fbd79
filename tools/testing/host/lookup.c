// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls sframe_find_row() for every address that the FDEs of a file cover, and for
 * some before and after. Prints one line for each run of equal answers:
 *
 *	FIRST LAST OFFSET CFA FP RA [[s]]
 *	FIRST LAST -ERRNO
 *
 * fuzz_lookup compares the look-ups in tables with these.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "guard.h"
#include "object.h"
#include "scan.h"

/* Number of addresses to look up before a function and after it. */
#define MARGIN	32

struct lookup {
	struct buffer_reader	buf;
	struct sframe_header	sec;
	u64			first;
	u64			last;
	char			answer[128];
};

static void ask(struct lookup *lookup, u64 pc, char *answer, size_t size)
{
	struct sframe_row row = {};
	struct row_text text;
	int err;

	buffer_reader_refill(&lookup->buf);
	err = sframe_find_row(&lookup->sec, &lookup->buf.rd, pc, &row);
	if (err) {
		snprintf(answer, size, "%d", err);
		return;
	}
	row_to_text(lookup->sec.abi, &row, &text);
	snprintf(answer, size, "%x %s %s %s%s", row.start, text.cfa, text.fp,
		 text.ra, row.ra_mangled ? " [s]" : "");
}

static void end_run(struct lookup *lookup)
{
	if (*lookup->answer)
		printf("%" PRIx64 " %" PRIx64 " %s\n", lookup->first,
		       lookup->last, lookup->answer);
	*lookup->answer = 0;
}

static void lookup_range(struct lookup *lookup, u64 start, u64 end)
{
	char answer[sizeof(lookup->answer)];
	u64 pc;

	for (pc = start; pc != end; pc++) {
		ask(lookup, pc, answer, sizeof(answer));
		if (strcmp(answer, lookup->answer)) {
			end_run(lookup);
			snprintf(lookup->answer, sizeof(lookup->answer),
				 "%s", answer);
			lookup->first = pc;
		}
		lookup->last = pc;
	}
	end_run(lookup);
}

static void lookup_fde(void *arg, const struct scan_blob *blob, u32 index,
		       const struct sframe_fde *fde)
{
	struct lookup *lookup = arg;

	(void)index;
	lookup->sec = blob->sec;
	lookup_range(lookup, fde->start - MARGIN, fde->start + fde->size + MARGIN);
}

int main(int argc, char **argv)
{
	static const struct scan_ops ops = { .fde = lookup_fde };
	struct lookup lookup = {};
	const char *error;
	struct object obj;

	if (argc != 2)
		return 2;
	error = object_open(&obj, argv[1]);
	if (error || !obj.place) {
		fprintf(stderr, "%s: %s\n", argv[1], error ? error : "no .sframe");
		return 1;
	}
	buffer_reader_init(&lookup.buf, guard_copy(obj.data, obj.size), obj.addr,
			   obj.size);
	scan(obj.data, obj.addr, obj.size, &ops, &lookup);
	object_close(&obj);
	return 0;
}
