// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of sframectl's scan with the sections of section_cases.c. KUnit's suites have the tests of
 * the decoder itself. Prints one line of TAP for each test.
 *
 * test_decoder --write DIR [MACHINE] writes each section to DIR/NAME.sframe.bin
 * instead. MACHINE is x86_64, arm64 or any. With MACHINE, DIR/table has a line
 * "NAME DEFECT" for each section. For x86_64 and arm64 the sections are built for
 * that machine, and DEFECT is the defect that the module counts there. For any,
 * DEFECT is the defect that sframectl finds.
 */
#include <err.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "section_builder.h"
#include "guard.h"
#include "scan.h"
#include "text.h"

/* The address of the sections, as far as the decoder knows. */
#define ADDR	(UINT64_C(1) << 46)

static unsigned int failed_checks;

#define check(condition, ...)						\
	do {								\
		if (!(condition)) {					\
			failed_checks++;				\
			printf("# %s:%d: %s: ", __FILE__, __LINE__,	\
			       #condition);				\
			printf(__VA_ARGS__);				\
			putchar('\n');					\
		}							\
	} while (0)

/*
 * A section is listed as a text:
 *
 *	blob VERSION FLAGS
 *	fde START SIZE [maskN] [flex] [signal] [key-b]
 *	  OFFSET CFA FP RA [[s]]
 *	! PLACE DEFECT
 *
 * Starts are relative to the section; offsets and flags are hexadecimal.
 */
struct listing {
	struct scan_result	result;
	char			text[32768];
	u32			len;
	u32			nr_rows;
	u32			unnamed;	/* number of defects without a name */
};

__printf(2, 3)
static void append(struct listing *list, const char *format, ...)
{
	size_t room = sizeof(list->text) - list->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(list->text + list->len, room, format, args);
	va_end(args);
	list->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void list_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct listing *list = arg;

	(void)index;
	append(list, "blob %u %x\n", blob->sec.version, blob->sec.flags);
}

static void list_fde(void *arg, const struct scan_blob *blob, u32 index,
		     const struct sframe_fde *fde)
{
	struct listing *list = arg;
	s64 start = fde->start - blob->sec.addr;

	(void)index;
	append(list, "fde %s0x%" PRIx64 " %u", start < 0 ? "-" : "",
	       start < 0 ? -(u64)start : (u64)start, fde->size);
	if (fde->pcmask)
		append(list, " mask%u", fde->rep_size);
	append(list, "%s%s%s\n", fde->flex ? " flex" : "",
	       fde->signal ? " signal" : "", fde->pauth_key_b ? " key-b" : "");
}

static void list_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct listing *list = arg;
	struct row_text text;

	row_to_text(blob->sec.abi, row, &text);
	append(list, "  %x %s %s %s%s\n", row->start, text.cfa, text.fp, text.ra,
	       row->ra_mangled ? " [s]" : "");
	list->nr_rows++;
}

static void list_defect(void *arg, const struct scan_place *place,
			enum sframe_defect defect)
{
	struct listing *list = arg;
	char where[64];

	list->unnamed += defect == SFRAME_DEFECT_NONE;
	append(list, "! %s %s\n", scan_place_text(place, where, sizeof(where)),
	       sframe_defects[defect].name);
}

static void listing_make(struct listing *list, const u8 *data, u64 addr, u64 size)
{
	static const struct scan_ops ops = {
		.blob = list_blob,
		.fde = list_fde,
		.row = list_row,
		.defect = list_defect,
	};

	memset(list, 0, sizeof(*list));
	list->result = scan(data, addr, size, &ops, list);
}

static void test_listing(const struct build *b, const char *name,
			 const char *expect)
{
	struct listing list;

	listing_make(&list, guard_copy(b->bytes, b->len), ADDR, b->len);
	check(!strcmp(list.text, expect), "%s: got\n%s", name, list.text);
	check(!list.unnamed, "%s: defects without names", name);
}

/* Malformed on purpose. */

static void check_hostile(const u8 *bytes, u32 len, const char *name)
{
	struct listing list;

	listing_make(&list, guard_copy(bytes, len), ADDR, len);
	check(!list.unnamed, "%s: defects without names", name);
}

/* A section without its last byte of data has a defect. Missing padding is no defect. */
static void test_truncated(const struct build *b, const char *name)
{
	u32 used = b->len - b->tail;
	struct listing list;
	u32 len;

	for (len = 0; len < b->len; len++) {
		listing_make(&list, guard_copy(b->bytes, len), ADDR, len);
		check(!list.unnamed, "%s: cut to %u: defects without names", name, len);
		if (len < used)
			check(list.result.defects, "%s: cut to %u: no defect", name, len);
	}
}

/* Every byte gets extreme values: every 1-byte field, and each byte of the larger fields. */
static void test_extremes(const struct build *b, const char *name)
{
	static const u8 values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	u8 bytes[BUILD_SIZE];
	size_t v;
	u32 i, k;

	for (i = 0; i < b->len; i++) {
		for (v = 0; v < sizeof(values); v++) {
			memcpy(bytes, b->bytes, b->len);
			bytes[i] = values[v];
			check_hostile(bytes, b->len, name);
			for (k = i; k < i + 4 && k < b->len; k++)
				bytes[k] = values[v];
			check_hostile(bytes, b->len, name);
		}
	}
}

/* Single tests. */

static void make_named(struct build *b, const char *name)
{
	unsigned int i = 0;

	while (strcmp(section_cases[i].name, name))
		i++;
	make_section_case(b, &section_cases[i]);
}

/* A linker that does not merge makes several blobs. Offsets are relative to the blob. */
static void scan_finds_all_blobs(void)
{
	struct listing list;
	struct build b;
	u8 bytes[2 * 88] = {};

	make_named(&b, "ok-v3-minimal");
	check(b.len == 84, "%u bytes", b.len);
	memcpy(bytes, b.bytes, b.len);
	memcpy(bytes + 88, b.bytes, b.len);
	bytes[88 + 2] = 9;
	listing_make(&list, guard_copy(bytes, 88 + 84), ADDR, 88 + 84);
	check(list.result.nr_blobs == 1 && list.result.defects == 1, "%u blobs",
	      list.result.nr_blobs);
	check(strstr(list.text, "! blob 1 header version\n"), "%s", list.text);

	bytes[88 + 2] = 3;
	listing_make(&list, guard_copy(bytes, 88 + 84), ADDR, 88 + 84);
	check(list.result.nr_blobs == 2 && !list.result.defects, "%u blobs",
	      list.result.nr_blobs);
	check(list.result.used == 88 + 84, "used %" PRIu64, list.result.used);
	check(!list.result.leftover, "something left");
}

static void scan_reports_leftover(void)
{
	struct listing list;
	struct build b;

	make_named(&b, "ok-v3-trailing-pad");
	listing_make(&list, guard_copy(b.bytes, b.len), ADDR, b.len);
	check(!list.result.leftover && list.result.used == 84, "zeros");
	b.bytes[b.len - 1] = 1;
	listing_make(&list, guard_copy(b.bytes, b.len), ADDR, b.len);
	check(list.result.leftover && !list.result.defects, "not zeros");
}

/* FDEs may share rows, but a small file must not cost hours. */
static void scan_gives_up_on_shared_rows(void)
{
	struct listing list;
	struct build b;
	u32 i;

	build_start(&b, 2, 0, SFRAME_ABI_AMD64_LE);
	build_fde(&b, 0x1000, 240, 0, 0, 0);
	for (i = 0; i < 200; i++)
		build_row(&b, i, 0x01);
	for (i = 0; i < 2; i++) {
		build_fde(&b, 0x2000, 240, 0, 0, 0);
		b.fdes[b.raw.num_fdes - 1].fre_off = 0;
		b.fdes[b.raw.num_fdes - 1].num_fres = 200;
	}
	b.raw.num_fdes = 2;
	build_finish(&b);
	listing_make(&list, guard_copy(b.bytes, b.len), ADDR, b.len);
	check(!list.result.gave_up && list.nr_rows == 400, "%u rows", list.nr_rows);
	b.raw.num_fdes = 3;
	build_finish(&b);
	listing_make(&list, guard_copy(b.bytes, b.len), ADDR, b.len);
	check(list.result.gave_up && list.nr_rows < 600, "%u rows", list.nr_rows);
}

static unsigned int nr_tests;

static void end_test(const char *what, const char *name)
{
	static unsigned int before;
	bool ok = failed_checks == before;

	before = failed_checks;
	printf("%s %u - %s %s\n", ok ? "ok" : "not ok", ++nr_tests, what, name);
}

static void test_section(const struct build *b, const char *name,
			 const char *expect)
{
	bool ok = !strncmp(name, "ok-", 3);

	test_listing(b, name, expect);
	end_test("listing", name);
	if (ok && b->raw.magic) {
		test_truncated(b, name);
		end_test("truncated", name);
	}
	test_extremes(b, name);
	end_test("extremes", name);
}

/* Sections for the machines that the module runs on. */

static const struct machine {
	const char	*name;
	u8		abi;
} machines[] = {
	{ "any", 0 },
	{ "x86_64", SFRAME_ABI_AMD64_LE },
	{ "arm64", SFRAME_ABI_AARCH64_LE },
};

#define DEFECT_SIZE	32

/* Copies the name of the first defect in a listing; "none" if it has none. */
static void first_defect(const char *listing, char *defect)
{
	const char *line = strstr(listing, "! ");
	const char *word, *end;

	snprintf(defect, DEFECT_SIZE, "none");
	if (!line)
		return;
	end = line + strcspn(line, "\n");
	for (word = end; word[-1] != ' '; word--)
		;
	snprintf(defect, DEFECT_SIZE, "%.*s", (int)(end - word), word);
}

/*
 * Copies the name of the defect that the module counts for a section on @machine.
 * A defect of the header comes first; then a section of another machine has the
 * defect "endian" or "foreign".
 */
static void expected_defect(const struct build *b, const struct machine *machine,
			    const char *expect, char *defect)
{
	first_defect(expect, defect);
	if (!b->raw.magic)
		snprintf(defect, DEFECT_SIZE, "empty");
	else if (!strncmp(expect, "! header", 8) || !machine->abi)
		return;
	else if (b->big)
		snprintf(defect, DEFECT_SIZE, "endian");
	else if (b->raw.abi_arch != machine->abi)
		snprintf(defect, DEFECT_SIZE, "foreign");
}

/* A section that is built for another ABI has the same defect. */
static void test_other_abi(const struct build *b, const char *name,
			   const char *expect)
{
	char got[DEFECT_SIZE], want[DEFECT_SIZE];
	struct listing list;

	first_defect(expect, want);
	listing_make(&list, guard_copy(b->bytes, b->len), ADDR, b->len);
	first_defect(list.text, got);
	check(!strcmp(got, want), "%s: %s, not %s", name, got, want);
	end_test("other ABI", name);
}

static FILE *open_in(const char *dir, const char *name, const char *suffix)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	file = fopen(path, "w");
	if (!file)
		err(1, "%s", path);
	return file;
}

static void close_written(FILE *file, const char *name)
{
	if (ferror(file) | fclose(file))
		err(1, "%s", name);
}

/* @table is NULL to write the section only. */
static void write_section(const struct build *b, const char *name,
			  const char *expect, const char *dir,
			  const struct machine *machine, FILE *table)
{
	FILE *file = open_in(dir, name, ".sframe.bin");
	char defect[DEFECT_SIZE];

	fwrite(b->bytes, 1, b->len, file);
	close_written(file, name);
	if (!table)
		return;
	expected_defect(b, machine, expect, defect);
	fprintf(table, "%s %s\n", name, defect);
}

static void write_sections(const char *dir, const struct machine *machine,
			   FILE *table)
{
	u8 abi = machine->abi ?: SFRAME_ABI_AMD64_LE;
	struct build b;
	unsigned int i;

	for (i = 0; i < NR_SECTION_CASES; i++) {
		make_section_case_for(&b, &section_cases[i], abi);
		write_section(&b, section_cases[i].name, section_cases[i].expect,
			      dir, machine, table);
	}
}

/* With @name of a machine, the table of defects is written, too. */
static int write_for(const char *dir, const char *name)
{
	FILE *table;
	size_t i;

	if (!name) {
		write_sections(dir, &machines[0], NULL);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		if (strcmp(machines[i].name, name))
			continue;
		table = open_in(dir, "table", "");
		write_sections(dir, &machines[i], table);
		close_written(table, "table");
		return 0;
	}
	errx(2, "no machine '%s'", name);
}

static void test_sections(void)
{
	const u8 arm64 = SFRAME_ABI_AARCH64_LE;
	const struct section_case *test;
	struct build b;

	for (test = section_cases; test < section_cases + NR_SECTION_CASES; test++) {
		make_section_case(&b, test);
		test_section(&b, test->name, test->expect);
		make_section_case_for(&b, test, arm64);
		test_other_abi(&b, test->name, test->expect);
	}
}

int main(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "--write"))
		return write_for(argv[2], argv[3]);
	test_sections();
	scan_finds_all_blobs();
	end_test("scan finds", "all blobs");
	scan_reports_leftover();
	end_test("scan reports", "leftover bytes");
	scan_gives_up_on_shared_rows();
	end_test("scan gives up on", "shared rows");
	printf("1..%u\n", nr_tests);
	return failed_checks > 0;
}
