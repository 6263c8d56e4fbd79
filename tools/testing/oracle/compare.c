// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the rows of .sframe with .eh_frame, as libdw interprets it. For each file it prints a
 * line for each difference that no known mistake of a toolchain explains, then
 *
 *	FILE: VERSION ARCH functions F rows R addresses A differences D errata E1=N,...
 *
 * After "-t" comes a table file that sframectl convert has made of the next file. Nothing excuses
 * a difference in it. The line has, instead of the errata,
 *
 *	code B holes H unjustified U plts P
 *
 * The rows of a toolchain are looked up at every address. Those of a table hold up to the next row,
 * as in .eh_frame. So the two agree at every address if they agree wherever a row begins in either
 * of them. In repetitive code each address is compared.
 *
 * Lines that begin with "#" are for people. The exit status is 1 if there was a difference or an
 * unjustified hole, and 2 if a file could not be compared.
 */
#include <inttypes.h>
#include <stdio.h>

#include "compare.h"
#include "expression.h"
#include "ranges.h"
#include "scan.h"

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
	if (found->err)
		printf(" sframe: error %d, %s", found->err, sframe_defects[found->defect].name);
	else
		ehframe_print_row("sframe", cmp->sec.abi, &found->sframe);
	if (found->func)
		ehframe_print_row("eh_frame", cmp->sec.abi, &found->dwarf);
	else
		printf(" eh_frame: no function");
	if (cmp->table && !found->sp_is_cfa)
		printf(", SP is not CFA");
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

/**
 * compare_describe() - find out what .eh_frame says
 * @cmp: the comparison
 * @found: has the address; the rest is filled
 *
 * libdw ignores the instruction that signs the return address: a second interpreter reports it.
 */
void compare_describe(struct comparison *cmp, struct finding *found)
{
	const struct assembler faultless = { .eh = &cmp->eh };
	const struct function *func = functions_find(&cmp->functions, found->addr);
	struct sframe_row row;
	u64 end;

	if (!func || !ehframe_row(&cmp->eh, found->addr, &found->dwarf))
		return;
	found->end = cmp->eh.end;
	if (is_arm64(cmp)) {
		if (!assembler_row_until(&faultless, func, found->addr, &row, &end))
			return;
		found->dwarf.ra_mangled = row.ra_mangled;
		found->end = min_t(u64, found->end, end);
	}
	found->func = func;
	if (cmp->table)
		converted_describe(cmp, found);
}

/* A look-up by the decoder alone. */
int compare_find_row(struct comparison *cmp, u64 addr, struct sframe_row *row)
{
	buffer_reader_refill(&cmp->buf);
	return sframe_find_row(&cmp->sec, &cmp->buf.rd, addr, row);
}

static void find_sframe(struct comparison *cmp, struct finding *found)
{
	found->err = compare_find_row(cmp, found->addr, &found->sframe);
	found->defect = cmp->buf.rd.defect;
	found->stored_cfa = found->sframe.cfa.off;
	if (!cmp->table && !found->err && found->sframe.pcmask && found->sframe.start == 0 &&
	    found->sframe.func == cmp->fde.start)
		found->stored_cfa = cmp->stored_cfa;
}

/* Return: true if the two agree, or if errata explain the difference. */
static bool is_excused(struct comparison *cmp, const struct finding *found)
{
	errata_t errata;

	if (!errata_agree(found))
		errata = errata_explain(&cmp->eh, found);
	else if (errata_is_mended(found))
		errata = errata_mended(found);
	else
		return true;
	count_errata(cmp, errata);
	return errata;
}

/* Return: the next address to compare. */
static u64 compare_address(struct comparison *cmp, u64 addr, u64 end)
{
	struct finding found = { .obj = &cmp->program, .addr = addr, .sec = &cmp->sec };

	compare_describe(cmp, &found);
	find_sframe(cmp, &found);
	cmp->counts.addresses++;
	if (cmp->table ? !converted_agree(cmp, &found) : !is_excused(cmp, &found))
		count_difference(cmp, &found);
	if (cmp->table && !cmp->fde.pcmask && found.func && found.end > addr)
		return min_t(u64, found.end, end);
	return addr + (is_arm64(cmp) ? 4 : 1);
}

static void compare_up_to(struct comparison *cmp, u64 end)
{
	while (cmp->next < end)
		cmp->next = compare_address(cmp, cmp->next, end);
	cmp->next = end;
}

static void begin_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct comparison *cmp = arg;

	cmp->sec = blob->sec;
	if (index)
		return;
	cmp->version = version_text(&blob->sec);
	if (cmp->table)
		host_table_init(&cmp->host_table, &blob->sec, cmp->table->data, cmp->table->size);
}

static void begin_function(void *arg, const struct scan_blob *blob, u32 index,
			   const struct sframe_fde *fde)
{
	struct comparison *cmp = arg;

	(void)blob;
	(void)index;
	cmp->fde = *fde;
	cmp->next = fde->start;
	cmp->counts.functions++;
	cmp->is_only_in_table = cmp->table && converted_is_alone(cmp, fde);
	if (cmp->is_only_in_table)
		cmp->of_table.plts += fde->size;
	else
		ranges_add(&cmp->covered, fde->start, fde->size);
}

static void take_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct comparison *cmp = arg;

	(void)blob;
	if (cmp->is_only_in_table)
		return;
	cmp->counts.rows++;
	if (row->start == 0)
		cmp->stored_cfa = row->cfa.off;
	if (!cmp->table || cmp->fde.pcmask)
		return;
	cmp->is_unsound |= row->start >= cmp->fde.size;
	if (!cmp->is_unsound)
		compare_up_to(cmp, cmp->fde.start + row->start);
}

static void end_function(void *arg)
{
	struct comparison *cmp = arg;

	if (!cmp->is_only_in_table)
		compare_up_to(cmp, cmp->fde.start + cmp->fde.size);
}

/* Toolchains write rows with an unknown register. Any other defect ends the comparison. */
static void take_defect(void *arg, const struct scan_place *place,
			enum sframe_defect defect)
{
	struct comparison *cmp = arg;

	(void)place;
	if (!cmp->table && defect == SFRAME_DEFECT_REGNUM)
		cmp->counts.rows++;
	else
		cmp->defect = defect;
}

static void print_errata(const struct counts *counts)
{
	const char *separator = "";
	u32 i;

	printf(" errata ");
	for (i = 0; i < NR_ERRATA; i++) {
		if (!counts->errata[i])
			continue;
		printf("%sE%u=%" PRIu64, separator, i, counts->errata[i]);
		separator = ",";
	}
	puts(*separator ? "" : "-");
}

static void print_summary(const struct comparison *cmp)
{
	const struct counts *counts = &cmp->counts;
	const struct table_counts *of = &cmp->of_table;

	printf("%s: %s %s functions %" PRIu64 " rows %" PRIu64 " addresses %" PRIu64
	       " differences %" PRIu64, cmp->name, cmp->version,
	       is_arm64(cmp) ? "arm64" : "amd64", counts->functions, counts->rows,
	       counts->addresses, counts->differences);
	if (cmp->table)
		printf(" code %" PRIu64 " holes %" PRIu64 " unjustified %" PRIu64
		       " plts %" PRIu64 "\n", of->code, of->holes, of->unjustified, of->plts);
	else
		print_errata(counts);
}

/* Return: NULL, or the reason why the sections cannot be compared. */
static const char *compare_sections(struct comparison *cmp, const struct object *obj)
{
	static const struct scan_ops ops = {
		.blob = begin_blob,
		.fde = begin_function,
		.row = take_row,
		.fde_end = end_function,
		.defect = take_defect,
	};
	const char *error = NULL;
	struct scan_result result;

	buffer_reader_init(&cmp->buf, obj->data, obj->addr, obj->size);
	result = scan(obj->data, obj->addr, obj->size, &ops, cmp);
	if (cmp->defect)
		return sframe_defects[cmp->defect].text;
	if (result.gave_up || result.leftover || cmp->is_unsound)
		return "its .sframe is not understood";
	if (!result.nr_blobs || (cmp->table && result.nr_blobs > 1))
		return "its .sframe has no header, or its table has several";
	if (cmp->table)
		error = converted_judge(cmp);
	if (!error)
		print_summary(cmp);
	return error;
}

static const char *compare_opened(struct comparison *cmp)
{
	const struct object *obj = cmp->table ?: &cmp->program;
	const char *error;

	if (!cmp->program.is_elf || object_is_relocatable(&cmp->program))
		return "not a linked ELF file";
	if (!obj->place)
		return "no .sframe";
	error = functions_read(&cmp->functions, &cmp->program);
	if (!error)
		error = ehframe_open(&cmp->eh, &cmp->program);
	if (!error) {
		error = compare_sections(cmp, obj);
		ehframe_close(&cmp->eh);
	}
	functions_free(&cmp->functions);
	host_table_free(&cmp->host_table);
	ranges_free(&cmp->covered);
	return error;
}

/* @table is NULL if the file has its own .sframe. */
static enum status compare_file(const char *name, const char *table)
{
	struct object opened = {};
	struct comparison cmp = { .name = name, .table = table ? &opened : NULL };
	const char *error = object_open(&cmp.program, name);

	if (!error && table)
		error = object_open(&opened, table);
	if (!error)
		error = compare_opened(&cmp);
	object_close(&cmp.program);
	object_close(&opened);
	fflush(stdout);
	if (error) {
		fprintf(stderr, "%s: %s\n", name, error);
		return STATUS_UNREADABLE;
	}
	return cmp.counts.differences || cmp.of_table.unjustified ? STATUS_DIFFERENT :
		STATUS_EQUAL;
}

int main(int argc, char **argv)
{
	enum status status = STATUS_EQUAL, file;
	const char *table = NULL;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-t") && argv[i + 1]) {
			table = argv[++i];
			continue;
		}
		file = compare_file(argv[i], table);
		status = file > status ? file : status;
		table = NULL;
	}
	if (argc < 2 || table) {
		fputs("Usage: compare [-t TABLE] FILE...\n", stderr);
		return STATUS_UNREADABLE;
	}
	return status;
}
