// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the rows of .sframe with .eh_frame, at every address that .sframe
 * covers. For each file it prints a line for each difference that no known
 * mistake of a toolchain explains, then
 *
 *	FILE: VERSION ARCH functions F rows R addresses A differences D errata E1=N,...
 *
 * Lines that begin with "#" are for people. The exit status is 1 if there was a
 * difference, and 2 if a file could not be compared.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buffer.h"
#include "errata.h"
#include "expression.h"
#include "ranges.h"
#include "scan.h"

/* The most differences that are printed for one file. */
#define NR_SHOWN	10

struct counts {
	u64	functions;
	u64	rows;
	u64	addresses;
	u64	differences;
	u64	errata[NR_ERRATA];
	u64	unmarked;	/* signal frames in versions without a mark for them */
};

/**
 * struct comparison - the comparison of one file
 * @name: name of the file
 * @obj: the open file
 * @eh: its .eh_frame as libdw interprets it
 * @functions: the functions of its .eh_frame, with their instructions
 * @buf: its .sframe
 * @blob: the header whose functions are being compared
 * @fde: the function that is being compared
 * @stored_cfa: offset of the CFA as stored in its first row; the decoder may correct it
 * @covered: ranges of all functions of .sframe so far
 * @counts: numbers of functions, rows, addresses, differences and errata
 * @version: text of the version, NULL before the first header
 * @defect: the reason if .sframe cannot be read completely
 */
struct comparison {
	const char		*name;
	struct object		obj;
	struct ehframe		eh;
	struct functions	functions;
	struct buffer_reader	buf;
	struct scan_blob	blob;
	struct sframe_fde	fde;
	s64			stored_cfa;
	struct ranges		covered;
	struct counts		counts;
	const char		*version;
	enum sframe_defect	defect;
};

static const char *version_text(const struct sframe_header *sec)
{
	static const char *const texts[] = { "", "V1", "V2", "V3" };

	if (sec->version == SFRAME_VERSION_2 &&
	    sec->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		return "V2-PCREL";
	return texts[sec->version];
}

static void count_difference(struct comparison *cmp, const struct finding *found)
{
	if (cmp->counts.differences++ >= NR_SHOWN)
		return;
	printf("# %s: 0x%" PRIx64 " of 0x%" PRIx64 "+%u:", cmp->name, found->addr,
	       cmp->fde.start, cmp->fde.size);
	if (found->err == -ENOENT)
		printf(" sframe: no row");
	else if (found->err)
		printf(" sframe: %s", sframe_defect_names[found->defect]);
	else
		ehframe_print_row("sframe", cmp->blob.sec.abi, &found->sframe);
	if (found->func)
		ehframe_print_row("eh_frame", cmp->blob.sec.abi, &found->dwarf);
	else
		printf(" eh_frame: no function");
	if (errata_is_mended(found))
		printf(", stored with %+" PRId64, found->stored_cfa);
	putchar('\n');
}

static void count_errata(struct comparison *cmp, errata_t errata)
{
	u32 i;

	for (i = 0; i < NR_ERRATA; i++)
		if (errata & ERRATUM(i))
			cmp->counts.errata[i]++;
}

static void find_dwarf(struct comparison *cmp, struct finding *found)
{
	const struct assembler faultless = { .eh = &cmp->eh };
	struct sframe_row row;

	found->func = functions_find(&cmp->functions, found->addr);
	if (!found->func)
		return;
	if (!ehframe_row(&cmp->eh, found->addr, &found->dwarf)) {
		found->func = NULL;
		return;
	}
	/* libdw ignores the instruction that signs the return address. */
	if (assembler_row(&faultless, found->func, found->addr, &row))
		found->dwarf.ra_mangled = row.ra_mangled;
}

static void find_sframe(struct comparison *cmp, struct finding *found)
{
	buffer_reader_refill(&cmp->buf);
	found->err = sframe_find_row(&cmp->blob.sec, &cmp->buf.rd, found->addr,
				     &found->sframe);
	found->defect = cmp->buf.rd.defect;
	found->stored_cfa = found->sframe.cfa.off;
	if (!found->err && found->sframe.pcmask && found->sframe.start == 0 &&
	    found->sframe.func == cmp->fde.start)
		found->stored_cfa = cmp->stored_cfa;
}

/* Return: true if the two agree, or if @errata explain the difference. */
static bool is_excused(struct comparison *cmp, const struct finding *found,
		       errata_t *errata)
{
	*errata = 0;
	if (!errata_agree(found))
		*errata = errata_explain(&cmp->eh, found);
	else if (errata_is_mended(found))
		*errata = errata_mended(found);
	else
		return true;
	return *errata;
}

static void compare_address(struct comparison *cmp, u64 addr)
{
	struct finding found = {
		.obj = &cmp->obj, .addr = addr, .sec = &cmp->blob.sec,
	};
	errata_t errata;

	find_dwarf(cmp, &found);
	find_sframe(cmp, &found);
	cmp->counts.addresses++;
	if (is_excused(cmp, &found, &errata))
		count_errata(cmp, errata);
	else
		count_difference(cmp, &found);
	if (found.sec->version < SFRAME_VERSION_3)
		cmp->counts.unmarked += found.dwarf.signal;
}

static void begin_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct comparison *cmp = arg;

	(void)index;
	cmp->blob = *blob;
	if (!cmp->version)
		cmp->version = version_text(&blob->sec);
}

static void begin_function(void *arg, const struct scan_blob *blob, u32 index,
			   const struct sframe_fde *fde)
{
	struct comparison *cmp = arg;

	(void)blob;
	(void)index;
	cmp->fde = *fde;
	cmp->counts.functions++;
	ranges_add(&cmp->covered, fde->start, fde->size);
}

static void take_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct comparison *cmp = arg;

	(void)blob;
	cmp->counts.rows++;
	if (row->start == 0)
		cmp->stored_cfa = row->cfa.off;
}

static void end_function(void *arg)
{
	struct comparison *cmp = arg;
	u32 step = cmp->obj.elf.machine == EM_AARCH64 ? 4 : 1;
	u32 off;

	for (off = 0; off < cmp->fde.size; off += step)
		compare_address(cmp, cmp->fde.start + off);
}

/* A row with an unknown register is compared. Any other defect ends the comparison. */
static void take_defect(void *arg, const struct scan_place *place,
			enum sframe_defect defect)
{
	struct comparison *cmp = arg;

	(void)place;
	if (defect == SFRAME_DEFECT_REGNUM)
		cmp->counts.rows++;
	else
		cmp->defect = defect;
}

static u64 functions_bytes_not_covered(struct comparison *cmp)
{
	struct ranges described = functions_ranges(&cmp->functions);
	u64 bytes;

	ranges_merge(&cmp->covered);
	bytes = ranges_bytes(&described) - ranges_common_bytes(&described, &cmp->covered);
	ranges_free(&described);
	return bytes;
}

static void print_information(struct comparison *cmp)
{
	u64 bytes = functions_bytes_not_covered(cmp);

	if (cmp->counts.differences > NR_SHOWN)
		printf("# %s: ... %" PRIu64 " differences in all\n", cmp->name,
		       cmp->counts.differences);
	if (bytes)
		printf("# %s: %" PRIu64 " bytes of code are in .eh_frame only\n", cmp->name,
		       bytes);
	if (cmp->counts.unmarked)
		printf("# %s: %" PRIu64 " addresses of signal frames, for which %s has no mark\n",
		       cmp->name, cmp->counts.unmarked, cmp->version);
}

static void print_summary(const struct comparison *cmp)
{
	const struct counts *counts = &cmp->counts;
	const char *separator = "";
	u32 i;

	printf("%s: %s %s functions %" PRIu64 " rows %" PRIu64 " addresses %" PRIu64
	       " differences %" PRIu64 " errata ", cmp->name, cmp->version,
	       cmp->obj.elf.machine == EM_AARCH64 ? "arm64" : "amd64",
	       counts->functions, counts->rows, counts->addresses,
	       counts->differences);
	for (i = 0; i < NR_ERRATA; i++) {
		if (!counts->errata[i])
			continue;
		printf("%sE%u=%" PRIu64, separator, i, counts->errata[i]);
		separator = ",";
	}
	puts(*separator ? "" : "-");
}

/* Return: NULL, or the reason why the sections cannot be compared. */
static const char *compare_sections(struct comparison *cmp)
{
	static const struct scan_ops ops = {
		.blob = begin_blob,
		.fde = begin_function,
		.row = take_row,
		.fde_end = end_function,
		.defect = take_defect,
	};
	const struct object *obj = &cmp->obj;
	struct scan_result result;

	buffer_reader_init(&cmp->buf, obj->data, obj->addr, obj->size);
	result = scan(obj->data, obj->addr, obj->size, &ops, cmp);
	if (cmp->defect)
		return sframe_defect_texts[cmp->defect];
	if (result.gave_up || result.leftover)
		return "its .sframe is not understood";
	if (!result.nr_blobs)
		return "its .sframe is empty";
	print_information(cmp);
	print_summary(cmp);
	return NULL;
}

static const char *compare_opened(struct comparison *cmp)
{
	const struct object *obj = &cmp->obj;
	const char *error;

	if (!obj->is_elf || object_is_relocatable(obj))
		return "not a linked ELF file";
	if (!obj->place)
		return "no .sframe";
	error = functions_read(&cmp->functions, obj);
	if (!error)
		error = ehframe_open(&cmp->eh, obj);
	if (!error) {
		error = compare_sections(cmp);
		ehframe_close(&cmp->eh);
	}
	functions_free(&cmp->functions);
	ranges_free(&cmp->covered);
	return error;
}

static enum status compare_file(const char *name)
{
	struct comparison cmp = { .name = name };
	const char *error = object_open(&cmp.obj, name) ?: compare_opened(&cmp);

	object_close(&cmp.obj);
	if (error) {
		fflush(stdout);
		fprintf(stderr, "%s: %s\n", name, error);
		return STATUS_UNREADABLE;
	}
	return cmp.counts.differences ? STATUS_DIFFERENT : STATUS_EQUAL;
}

int main(int argc, char **argv)
{
	enum status status = STATUS_EQUAL;
	int i;

	if (argc < 2) {
		fputs("Usage: compare FILE...\n", stderr);
		return STATUS_UNREADABLE;
	}
	for (i = 1; i < argc; i++) {
		enum status file = compare_file(argv[i]);

		if (file > status)
			status = file;
	}
	return status;
}
