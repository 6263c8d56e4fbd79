// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares table files, which sframectl convert has made, with the .eh_frame of the programs,
 * as libdw interprets it.
 *
 * A row holds up to the next one, in both. So the two agree at every address if they agree
 * wherever a row begins in either of them. In repetitive code each address is compared.
 *
 * Each row is looked up twice: by the decoder alone, and as the module does it in a table that is
 * loaded. Both have to agree with libdw.
 *
 * A PLT may be in the table only: sframectl has recognised its code. Its rows are not compared.
 * So may the code at which a loader starts, which has no caller.
 *
 * Code that .eh_frame describes and the table does not is a hole. It is justified if SFrame
 * has no form for what libdw reports there. For each file it prints a line for each difference
 * and each hole without a reason, then
 *
 *	FILE: ARCH functions F rows R comparisons C differences D code B holes H \
 *		unjustified U plts P
 *
 * Lines that begin with "#" are for people. The exit status is 1 if there was a difference or
 * an unjustified hole, and 2 if a file could not be compared.
 */
#include <inttypes.h>
#include <stdio.h>

#include "assembler.h"
#include "buffer.h"
#include "expression.h"
#include "functions.h"
#include "ranges.h"
#include "resident.h"
#include "scan.h"
#include "sframe_quick.h"

#define NR_SHOWN	5

/**
 * struct comparison - the comparison of one table
 * @name: name of the program
 * @program: the program
 * @eh: its .eh_frame as libdw interprets it
 * @functions: the functions of its .eh_frame, with their instructions
 * @table: the table file
 * @buf: its .sframe
 * @sec: its header
 * @resident: the same as the module has it
 * @fde: the function that is being compared
 * @covered: ranges of all functions of the table
 * @rows: number of rows
 * @comparisons: number of addresses at which rows were compared
 * @in_table: of these, rows that the module finds by a look-up in a verified table
 * @elsewhere: rows that it leaves to other look-ups, besides those of repetitive code
 * @differences: number of addresses at which they differ
 * @holes: bytes of code that only .eh_frame describes
 * @unjustified: of these, the bytes that SFrame could describe
 * @plts: bytes of PLTs and starts that only the table describes
 * @is_defect: the table cannot be read
 */
struct comparison {
	const char		*name;
	struct object		program;
	struct ehframe		eh;
	struct functions	functions;
	struct object		table;
	struct buffer_reader	buf;
	struct sframe_header	sec;
	struct resident		resident;
	struct sframe_fde	fde;
	struct ranges		covered;
	u64			nr_functions;
	u64			rows;
	u64			comparisons;
	u64			in_table;
	u64			elsewhere;
	u64			differences;
	u64			code;
	u64			holes;
	u64			unjustified;
	u64			plts;
	bool			is_defect;
};

/* What .eh_frame says at an address, and up to which address it says so. */
struct described {
	struct sframe_row	row;
	bool			sp_is_cfa;
	u64			end;
};

/*
 * A CFA of *(reg + n) + c, with the return address directly below it: the table has
 * CFA' = *(reg + n), and offsets from CFA'. The return address is then at CFA' or above it. From
 * this the walk knows that the caller's stack pointer is the address after it, which is CFA' + c.
 */
static void take_saved_sp(struct comparison *cmp, u64 addr, struct sframe_row *row)
{
	struct sframe_rule word;
	s64 sum;

	if (cmp->program.elf.machine != EM_X86_64 || !rule_is_odd(&row->cfa) ||
	    row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off != -8 ||
	    !ehframe_saved_sp(&cmp->eh, addr, &word, &sum) || sum < 8)
		return;
	row->cfa = word;
	row->ra.off += sum;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		row->fp.off += sum;
}

/* A function that a PLT has pushed two words before has its return address above the CFA. */
static bool has_pushed_ra(const struct assembler *faultless, const struct function *func)
{
	struct sframe_row row;
	u64 addr, end;

	for (addr = func->start; addr < func->end; addr = end) {
		if (!assembler_row_until(faultless, func, addr, &row, &end))
			return false;
		if (row.ra.how == SFRAME_RULE_CFA_MEM && row.ra.off == 8 &&
		    row.cfa.how == SFRAME_RULE_REG && row.cfa.reg == SFRAME_AARCH64_REG_SP)
			return true;
	}
	return false;
}

/* .eh_frame of such a function is 16 bytes off. The table has the CFA that the caller has. */
static void take_pushed_words(const struct assembler *faultless, const struct function *func,
			      struct sframe_row *row)
{
	if (row->cfa.how != SFRAME_RULE_REG || row->cfa.reg != SFRAME_AARCH64_REG_SP ||
	    !has_pushed_ra(faultless, func))
		return;
	row->cfa.off += 16;
	if (row->ra.how == SFRAME_RULE_CFA_MEM)
		row->ra.off -= 16;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		row->fp.off -= 16;
}

/* libdw ignores the instruction that signs the return address: a second interpreter reports it. */
static bool describe(struct comparison *cmp, u64 addr, struct described *desc)
{
	const struct assembler faultless = { .eh = &cmp->eh };
	const struct function *func;
	struct sframe_row row;
	u64 end;

	if (!ehframe_row(&cmp->eh, addr, &desc->row))
		return false;
	desc->sp_is_cfa = ehframe_sp_is_cfa(&cmp->eh, addr, &desc->row);
	take_saved_sp(cmp, addr, &desc->row);
	desc->end = cmp->eh.end;
	if (cmp->program.elf.machine != EM_AARCH64)
		return true;
	func = functions_find(&cmp->functions, addr);
	if (!func || !assembler_row_until(&faultless, func, addr, &row, &end))
		return false;
	desc->row.ra_mangled = row.ra_mangled;
	desc->end = end < desc->end ? end : desc->end;
	take_pushed_words(&faultless, func, &desc->row);
	return true;
}

/* CFA + offset has no form in SFrame: the register of the CFA + another offset is the same. */
static struct sframe_rule comparable(const struct sframe_row *row, struct sframe_rule rule)
{
	if (rule.how == SFRAME_RULE_CFA && row->cfa.how == SFRAME_RULE_REG) {
		rule.how = SFRAME_RULE_REG;
		rule.reg = row->cfa.reg;
		rule.off += row->cfa.off;
	}
	return rule;
}

static bool rows_agree(const struct sframe_row *sframe, const struct described *desc)
{
	const struct sframe_row *dwarf = &desc->row;
	struct sframe_rule ra, fp;

	if (sframe->signal != dwarf->signal)
		return false;
	if (sframe->outermost || dwarf->outermost)
		return sframe->outermost && dwarf->outermost;
	ra = comparable(dwarf, dwarf->ra);
	fp = comparable(dwarf, dwarf->fp);
	return desc->sp_is_cfa && sframe->ra_mangled == dwarf->ra_mangled &&
	       rules_equal(&sframe->cfa, &dwarf->cfa) && rules_equal(&sframe->ra, &ra) &&
	       rules_equal(&sframe->fp, &fp);
}

static void count_difference(struct comparison *cmp, u64 addr, int err,
			     const struct sframe_row *sframe,
			     const struct described *desc)
{
	if (cmp->differences++ >= NR_SHOWN)
		return;
	printf("# %s: 0x%" PRIx64 ":", cmp->name, addr);
	if (err)
		printf(" sframe: error %d", err);
	else
		ehframe_print_row("sframe", cmp->sec.abi, sframe);
	if (desc) {
		ehframe_print_row("eh_frame", cmp->sec.abi, &desc->row);
		puts(desc->sp_is_cfa ? "" : ", SP is not CFA");
	} else {
		puts(" eh_frame: nothing");
	}
}

/* A look-up by the decoder alone. */
static int find_row(struct comparison *cmp, u64 addr, struct sframe_row *row)
{
	buffer_reader_refill(&cmp->buf);
	return sframe_find_row(&cmp->sec, &cmp->buf.rd, addr, row);
}

/* A look-up as the module makes it in a resident table. */
static int find_resident_row(struct comparison *cmp, u64 addr, struct sframe_row *row)
{
	const struct resident *res = &cmp->resident;
	struct sframe_plain_row plain;
	u32 rows = UINT32_MAX;
	int err = 0;

	if (resident_find(res, addr, &plain)) {
		cmp->in_table++;
	} else {
		cmp->elsewhere += !cmp->fde.pcmask;
		err = sframe_memory_find(&res->hdr, &res->mem, res->index, addr, &rows, &plain);
	}
	if (err == -EAGAIN)
		return find_row(cmp, addr, row);
	buffer_reader_refill(&cmp->buf);
	return err ?: sframe_decode_plain(&res->hdr, &cmp->buf.rd, &plain, row);
}

/* Return: the next address to compare. */
static u64 compare_address(struct comparison *cmp, u64 addr, u64 next_row)
{
	struct described desc;
	struct sframe_row sframe;
	bool has_row = describe(cmp, addr, &desc);
	int err = find_row(cmp, addr, &sframe);

	if (!err && has_row && rows_agree(&sframe, &desc))
		err = find_resident_row(cmp, addr, &sframe);
	cmp->comparisons++;
	if (err || !has_row || !rows_agree(&sframe, &desc))
		count_difference(cmp, addr, err, &sframe, has_row ? &desc : NULL);
	if (cmp->fde.pcmask || !has_row || desc.end <= addr)
		return addr + 1;
	return desc.end < next_row ? desc.end : next_row;
}

static void compare_span(struct comparison *cmp, u64 start, u64 end)
{
	u64 addr = start;

	while (addr < end)
		addr = compare_address(cmp, addr, end);
}

static void begin_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct comparison *cmp = arg;

	cmp->is_defect |= index;
	if (index)
		return;
	cmp->sec = blob->sec;
	resident_init(&cmp->resident, &blob->sec, cmp->table.data, cmp->table.size);
}

/* The kernel enters a loader there. A program is entered by its loader, and has .eh_frame there. */
static bool is_start(struct comparison *cmp, const struct sframe_fde *fde)
{
	struct sframe_row row;

	buffer_reader_refill(&cmp->buf);
	return fde->start == cmp->program.elf.entry && fde->num_fres == 1 &&
	       !sframe_find_row(&cmp->sec, &cmp->buf.rd, fde->start, &row) && row.outermost;
}

/* No byte of it is in .eh_frame. All are in a section with the name of a PLT, or start a loader. */
static bool is_only_in_table(struct comparison *cmp, const struct sframe_fde *fde)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec", ".iplt" };
	const struct elf *elf = &cmp->program.elf;
	struct elf_section sec;
	u32 i, k;

	for (i = 0; i < fde->size; i++)
		if (functions_find(&cmp->functions, fde->start + i))
			return false;
	if (is_start(cmp, fde))
		return true;
	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		u64 off = fde->start - sec.addr;

		if (off >= sec.size || fde->size > sec.size - off)
			continue;
		for (k = 0; k < ARRAY_SIZE(names); k++)
			if (elf_is_named(elf, &sec, names[k]))
				return true;
	}
	return false;
}

/* The rows are read here: each span between two of them is compared. */
static void take_function(void *arg, const struct scan_blob *blob, u32 index,
			  const struct sframe_fde *fde)
{
	struct comparison *cmp = arg;
	u64 start = fde->start, end = fde->start + fde->size;
	struct sframe_raw_row raw;
	struct buffer_reader buf;
	struct sframe_rows rows;

	(void)blob;
	(void)index;
	cmp->fde = *fde;
	cmp->nr_functions++;
	if (!functions_find(&cmp->functions, fde->start) && is_only_in_table(cmp, fde)) {
		cmp->plts += fde->size;
		return;
	}
	ranges_add(&cmp->covered, fde->start, fde->size);
	buffer_reader_init(&buf, cmp->table.data, cmp->table.addr, cmp->table.size);
	sframe_rows_init(&rows, &cmp->sec, fde);
	while (!fde->pcmask && !sframe_rows_next(&rows, &buf.rd, &raw)) {
		buffer_reader_refill(&buf);
		cmp->rows++;
		if (fde->start + raw.start >= end)
			cmp->is_defect = true;
		else if (raw.start)
			compare_span(cmp, start, fde->start + raw.start);
		start = fde->start + raw.start;
	}
	compare_span(cmp, start, end);
}

static void take_defect(void *arg, const struct scan_place *place, enum sframe_defect defect)
{
	struct comparison *cmp = arg;

	printf("# %s: fde %" PRId64 ": %s\n", cmp->name, place->fde, sframe_defect_names[defect]);
	cmp->is_defect = true;
}

static bool can_follow(const struct comparison *cmp, const struct sframe_rule *rule)
{
	bool is_amd64 = cmp->program.elf.machine == EM_X86_64;
	u8 nr_regs = is_amd64 ? SFRAME_AMD64_NR_REGS : SFRAME_AARCH64_NR_REGS;

	return !rule_is_odd(rule) && rule->reg < nr_regs;
}

/* Is there a form in SFrame for what libdw reports? */
static bool is_expressible(const struct comparison *cmp, const struct described *desc)
{
	const struct sframe_row *row = &desc->row;
	struct sframe_rule ra = comparable(row, row->ra), fp = comparable(row, row->fp);
	bool is_amd64 = cmp->program.elf.machine == EM_X86_64;

	if (row->outermost)
		return true;
	return desc->sp_is_cfa && can_follow(cmp, &row->cfa) &&
	       (row->cfa.how == SFRAME_RULE_REG || row->cfa.how == SFRAME_RULE_REG_MEM) &&
	       can_follow(cmp, &ra) && ra.how != SFRAME_RULE_CFA &&
	       !(is_amd64 && ra.how == SFRAME_RULE_SAME) &&
	       can_follow(cmp, &fp) && fp.how != SFRAME_RULE_CFA;
}

static void judge_hole(struct comparison *cmp, u64 start, u64 end)
{
	struct described desc;
	u64 addr, next;

	for (addr = start; addr < end; addr = next) {
		next = addr + 1;
		if (!describe(cmp, addr, &desc))
			continue;
		if (desc.end > addr)
			next = desc.end < end ? desc.end : end;
		cmp->holes += next - addr;
		if (!is_expressible(cmp, &desc))
			continue;
		if (!cmp->unjustified) {
			printf("# %s: hole at 0x%" PRIx64 ":", cmp->name, addr);
			ehframe_print_row("eh_frame", cmp->sec.abi, &desc.row);
			putchar('\n');
		}
		cmp->unjustified += next - addr;
	}
}

/* Functions of one address are described once. */
static void judge_holes(struct comparison *cmp)
{
	const struct range *covered;
	struct ranges code = functions_ranges(&cmp->functions);
	size_t i, k = 0;
	u64 addr;

	ranges_merge(&cmp->covered);
	cmp->code = ranges_bytes(&code);
	for (i = 0; i < code.nr; i++) {
		for (addr = code.all[i].start; addr < code.all[i].end; addr = covered->end) {
			while (k < cmp->covered.nr && cmp->covered.all[k].end <= addr)
				k++;
			covered = &cmp->covered.all[k];
			if (k == cmp->covered.nr || covered->start >= code.all[i].end) {
				judge_hole(cmp, addr, code.all[i].end);
				break;
			}
			if (covered->start > addr)
				judge_hole(cmp, addr, covered->start);
		}
	}
	ranges_free(&code);
}

static void print_summary(const struct comparison *cmp)
{
	printf("%s: %s functions %" PRIu64 " rows %" PRIu64 " comparisons %" PRIu64
	       " differences %" PRIu64 " code %" PRIu64 " holes %" PRIu64 " unjustified %" PRIu64
	       " plts %" PRIu64 "\n",
	       cmp->name, cmp->program.elf.machine == EM_AARCH64 ? "arm64" : "amd64",
	       cmp->nr_functions, cmp->rows, cmp->comparisons, cmp->differences, cmp->code,
	       cmp->holes, cmp->unjustified, cmp->plts);
}

static const char *compare_sections(struct comparison *cmp)
{
	static const struct scan_ops ops = {
		.blob = begin_blob,
		.fde = take_function,
		.defect = take_defect,
	};
	struct scan_result result;

	buffer_reader_init(&cmp->buf, cmp->table.data, cmp->table.addr, cmp->table.size);
	result = scan(cmp->table.data, cmp->table.addr, cmp->table.size, &ops, cmp);
	if (cmp->is_defect || result.defects || result.leftover || result.nr_blobs != 1)
		return "its table is not sound";
	if (result.gave_up)
		return "the scan of its table gave up";
	if (!cmp->resident.can_search)
		return "the module does not accept its table";
	/* In few programs most rows have a flexible form. */
	if (cmp->elsewhere / 4 > 1 + cmp->in_table)
		return "the module finds too few rows by look-ups in a verified table";
	judge_holes(cmp);
	print_summary(cmp);
	return NULL;
}

static const char *compare_opened(struct comparison *cmp)
{
	const char *error;

	if (!cmp->table.place)
		return "its table file has no .sframe";
	error = functions_read(&cmp->functions, &cmp->program);
	if (!error)
		error = ehframe_open(&cmp->eh, &cmp->program);
	if (!error) {
		error = compare_sections(cmp);
		ehframe_close(&cmp->eh);
	}
	functions_free(&cmp->functions);
	resident_free(&cmp->resident);
	ranges_free(&cmp->covered);
	return error;
}

static enum status compare_file(const char *table, const char *name)
{
	struct comparison cmp = { .name = name };
	const char *error;

	error = object_open(&cmp.program, name) ?: object_open(&cmp.table, table) ?:
		compare_opened(&cmp);
	object_close(&cmp.program);
	object_close(&cmp.table);
	if (error) {
		fflush(stdout);
		fprintf(stderr, "%s: %s\n", name, error);
		return STATUS_UNREADABLE;
	}
	return cmp.differences || cmp.unjustified ? STATUS_DIFFERENT : STATUS_EQUAL;
}

int main(int argc, char **argv)
{
	enum status status = STATUS_EQUAL;
	int i;

	if (argc < 3 || argc % 2 == 0) {
		fputs("Usage: converted TABLE FILE [TABLE FILE]...\n", stderr);
		return STATUS_UNREADABLE;
	}
	for (i = 1; i < argc; i += 2) {
		enum status file = compare_file(argv[i], argv[i + 1]);

		fflush(stdout);
		if (file > status)
			status = file;
	}
	return status;
}
