// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls sframe_find_row() for every address that the FDEs of a file cover, and for
 * some before and after. Prints one line for each run of equal answers:
 *
 *	FIRST LAST OFFSET CFA FP RA [[s]]
 *	FIRST LAST -ERRNO
 *
 * Makes each look-up also as a quick one, with an index and without, and as that of a table if the
 * section can be one, and fails if the answer is another.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "guard.h"
#include "object.h"
#include "resident.h"
#include "scan.h"
#include "sframe_quick.h"

/* Number of addresses to look up before a function and after it. */
#define MARGIN	32

struct lookup {
	struct buffer_reader	buf;
	struct sframe_header	sec;
	struct resident		table;		/* @sec as a table, if it can be one */
	u64			nr_quick;	/* answers of quick look-ups */
	u64			nr_table;	/* rows found in a table */
	u64			nr_rows;
	u64			nr_left;	/* rows that they have left to sframe_find_row() */
	u64			first;
	u64			last;
	char			answer[128];
};

static void ask_quickly(struct lookup *lookup, const struct sframe_index *index, u64 pc,
			int want, const struct sframe_row *want_row)
{
	struct buffer_reader *buf = &lookup->buf;
	struct sframe_row row = {};
	struct sframe_plain_row plain;
	u32 rows = UINT32_MAX;
	int err;

	err = sframe_memory_find(&lookup->sec, &lookup->table.mem, index, pc, &rows, &plain) ?:
	      sframe_decode_plain(&lookup->sec, &buf->rd, &plain, &row);
	if (err == -EAGAIN) {
		lookup->nr_left += !want;
		return;
	}
	lookup->nr_quick++;
	if (err != want || (!err && memcmp(&row, want_row, sizeof(row))))
		errx(1, "%" PRIx64 ": a quick look-up %s index: error %d, not %d, or another row",
		     pc, index ? "with an" : "without", err, want);
}

/* Checks what a look-up in a table finds, which need not be all. */
static void ask_table(struct lookup *lookup, u64 pc, const struct sframe_row *want)
{
	struct sframe_plain_row plain;
	struct sframe_row row;

	if (!resident_find(&lookup->table, pc, &plain))
		return;
	plain.func = want ? want->func : 0;
	plain.start = want ? want->start : 0;
	if (!want || sframe_decode_plain(&lookup->sec, &lookup->buf.rd, &plain, &row) ||
	    memcmp(&row, want, sizeof(row)))
		errx(1, "%" PRIx64 ": another row by a look-up in a table", pc);
	lookup->nr_table++;
}

static void ask(struct lookup *lookup, u64 pc, char *answer, size_t size)
{
	struct sframe_row row = {};
	struct row_text text;
	int err;

	buffer_reader_refill(&lookup->buf);
	err = sframe_find_row(&lookup->sec, &lookup->buf.rd, pc, &row);
	if (sframe_quick_can_search(&lookup->sec)) {
		ask_quickly(lookup, NULL, pc, err, &row);
		ask_quickly(lookup, lookup->table.index, pc, err, &row);
	}
	lookup->nr_rows += !err;
	ask_table(lookup, pc, err ? NULL : &row);
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
	u64 off = blob->sec.addr - lookup->buf.addr;

	lookup->sec = blob->sec;
	if (index == 0) {
		resident_free(&lookup->table);
		resident_init(&lookup->table, &blob->sec, lookup->buf.data + off,
			      lookup->buf.size - off);
		if (lookup->table.is_unsorted)
			errx(1, "the functions are not sorted");
	}
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
	/* Files of toolchains are sound: quick look-ups answer for all but a few functions. */
	if (sframe_quick_can_search(&lookup.sec) && lookup.nr_left >= 1 + lookup.nr_quick / 100)
		errx(1, "quick look-ups leave %" PRIu64 " rows, and find %" PRIu64,
		     lookup.nr_left, lookup.nr_quick);
	/* Of tables, all but PLTs and the like. */
	if (lookup.table.can_search && lookup.nr_table < lookup.nr_rows / 2)
		errx(1, "look-ups in a table find %" PRIu64 " of %" PRIu64 " rows",
		     lookup.nr_table, lookup.nr_rows);
	resident_free(&lookup.table);
	return 0;
}
