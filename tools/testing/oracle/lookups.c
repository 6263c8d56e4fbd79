// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookups [-w] TABLE...: compare look-ups in compiled tables with those of the decoder
 *
 * TABLE is a file that sframectl convert has made. In the compiled table and in the section of
 * which it was made, the same must be found wherever something can change: where a row, a function
 * or a slot of the table begins or ends, and at the byte before. Of repetitive code, all bytes are
 * compared. Prints the first differences, and for each file
 *
 *	FILE: functions F addresses A differences D
 *
 * With -w each entry of the table is made wrong, in several ways, and must be found out:
 *
 *	FILE: changes C unnoticed U
 *
 * The exit status is 1 if there was a difference, or an unnoticed change, and 2 if a file cannot be
 * compared.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buffer.h"
#include "expression.h"
#include "host_table.h"
#include "object.h"

#define NR_SHOWN	5

struct comparison {
	const char		*name;
	struct object		obj;
	struct buffer_reader	buf;
	struct sframe_header	hdr;
	struct host_table		res;
	u64			addresses;
	u64			differences;
	bool			is_quiet;	/* an entry is wrong */
};

static bool is_same(const struct sframe_row *a, const struct sframe_row *b)
{
	return rules_equal(&a->cfa, &b->cfa) && rules_equal(&a->ra, &b->ra) &&
	       rules_equal(&a->fp, &b->fp) && a->func == b->func &&
	       a->outermost == b->outermost && a->signal == b->signal &&
	       a->ra_mangled == b->ra_mangled;
}

static void print_answer(const char *name, int err, const struct sframe_row *row)
{
	if (err)
		printf(" %s: error %d", name, err);
	else
		printf(" %s: function 0x%" PRIx64 ", CFA %+d", name, (uint64_t)row->func,
		       row->cfa.off);
}

static void compare_at(struct comparison *cmp, u64 addr)
{
	struct sframe_row want, found;
	int err, found_err;

	buffer_reader_refill(&cmp->buf);
	err = sframe_find_row(&cmp->hdr, &cmp->buf.rd, addr, &want);
	found_err = host_table_find(&cmp->res, addr, &found);
	cmp->addresses++;
	if (err == found_err && (err || is_same(&want, &found)))
		return;
	if (cmp->differences++ >= NR_SHOWN || cmp->is_quiet)
		return;
	printf("# %s: 0x%" PRIx64 ":", cmp->name, (uint64_t)addr);
	print_answer("decoder", err, &want);
	print_answer("table", found_err, &found);
	putchar('\n');
}

static void compare_beside(struct comparison *cmp, u64 addr)
{
	compare_at(cmp, addr - 1);
	compare_at(cmp, addr);
}

static int compare_function(struct comparison *cmp, u32 index)
{
	struct sframe_raw_row raw;
	struct sframe_rows rows;
	struct sframe_fde fde;
	u32 off;
	int err;

	buffer_reader_refill(&cmp->buf);
	err = sframe_get_fde(&cmp->hdr, &cmp->buf.rd, index, &fde);
	if (err)
		return err;
	compare_beside(cmp, fde.start);
	compare_beside(cmp, fde.start + fde.size);
	for (off = 1; fde.pcmask && off < fde.size; off++)
		compare_at(cmp, fde.start + off);
	sframe_rows_init(&rows, &cmp->hdr, &fde);
	for (;;) {
		buffer_reader_refill(&cmp->buf);
		err = sframe_rows_next(&rows, &cmp->buf.rd, &raw);
		if (err)
			return err == -ENOENT ? 0 : err;
		if (raw.start && !fde.pcmask)
			compare_beside(cmp, fde.start + raw.start);
	}
}

static int compare_all(struct comparison *cmp)
{
	const struct sframe_compiled *compiled = &cmp->res.compiled;
	int err = 0;
	u32 i;

	for (i = 0; i < cmp->hdr.num_fdes && !err; i++)
		err = compare_function(cmp, i);
	for (i = 0; i <= compiled->nr_slots; i++)
		compare_beside(cmp, compiled->first + ((u64)i << SFRAME_SLOT_BITS));
	return err;
}

/*
 * Changes an entry in one of three ways: its row, whether a function begins there, its offset.
 * Returns the entry as it was if no look-up can find out.
 */
static u32 changed(const struct sframe_compiled *compiled, u32 nr, int way)
{
	const u32 entry = compiled->entries[nr], *slot = compiled->slots;

	if (way == 0)
		return entry & SFRAME_ENTRY_ROW ? entry & ~SFRAME_ENTRY_ROW : entry | 1;
	if (way == 1) {
		/* No look-up asks for the function of code without a row. */
		if (!(entry & (SFRAME_ENTRY_ROW | SFRAME_ENTRY_BEGINS)))
			return entry;
		return entry ^ SFRAME_ENTRY_BEGINS;
	}
	while (*slot < nr)
		slot++;
	/* The first entry of a slot holds there whatever its offset is. */
	if (entry >> SFRAME_ENTRY_OFF_SHIFT == SFRAME_SLOT_SIZE - 1 ||
	    (*slot == nr && !(entry & SFRAME_ENTRY_BEGINS)))
		return entry;
	return entry + (1u << SFRAME_ENTRY_OFF_SHIFT);
}

static int make_wrong(struct comparison *cmp)
{
	const struct sframe_compiled *compiled = &cmp->res.compiled;
	u64 changes = 0, unnoticed = 0;
	u32 i, right;
	int way;

	cmp->is_quiet = true;
	for (i = 0; i < compiled->nr_entries; i++) {
		for (way = 0; way < 3; way++) {
			right = compiled->entries[i];
			compiled->entries[i] = changed(compiled, i, way);
			if (compiled->entries[i] == right)
				continue;
			cmp->differences = 0;
			if (compare_all(cmp))
				return -EBADMSG;
			changes++;
			if (!cmp->differences && unnoticed++ < NR_SHOWN)
				printf("# %s: entry %u, %08x for %08x, is not noticed\n",
				       cmp->name, i, compiled->entries[i], right);
			compiled->entries[i] = right;
		}
	}
	cmp->differences = unnoticed;
	printf("%s: changes %" PRIu64 " unnoticed %" PRIu64 "\n", cmp->name, (uint64_t)changes,
	       (uint64_t)unnoticed);
	return 0;
}

static const char *compare_opened(struct comparison *cmp, bool wrong)
{
	const struct object *obj = &cmp->obj;
	int err;

	buffer_reader_init(&cmp->buf, obj->data, obj->addr, obj->size);
	if (!obj->place || sframe_header_read(&cmp->hdr, &cmp->buf.rd, obj->addr, obj->size))
		return "no sound .sframe";
	host_table_init(&cmp->res, &cmp->hdr, obj->data, obj->size);
	if (!cmp->res.is_accepted)
		return "the module does not accept its table";
	err = wrong ? make_wrong(cmp) : compare_all(cmp);
	if (err)
		return "its rows cannot be read";
	if (!wrong)
		printf("%s: functions %u addresses %" PRIu64 " differences %" PRIu64 "\n",
		       cmp->name, cmp->hdr.num_fdes, (uint64_t)cmp->addresses,
		       (uint64_t)cmp->differences);
	return NULL;
}

int main(int argc, char **argv)
{
	bool wrong = argc > 1 && !strcmp(argv[1], "-w");
	int i, status = argc < 2 + wrong ? 2 : 0;

	for (i = 1 + wrong; i < argc; i++) {
		struct comparison cmp = { .name = argv[i] };
		const char *error = object_open(&cmp.obj, argv[i]);

		if (!error) {
			error = compare_opened(&cmp, wrong);
			host_table_free(&cmp.res);
			object_close(&cmp.obj);
		}
		fflush(stdout);
		if (error)
			fprintf(stderr, "%s: %s\n", argv[i], error);
		if (error)
			status = 2;
		else if (cmp.differences && !status)
			status = 1;
	}
	return status;
}
