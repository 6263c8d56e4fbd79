// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl check: reports which objects have SFrame data, and whether that data is sound. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "object.h"
#include "process.h"
#include "ranges.h"
#include "report.h"
#include "scan.h"
#include "sframectl.h"
#include "text.h"

static const char usage[] =
"Usage: sframectl check [--json] FILE...|PID...\n"
"\n"
"Checks each FILE, or each file that process PID has mapped as code. Reports\n"
"whether the file has SFrame data, and how much of the code the data covers.\n"
"Verifies all of the data: every FDE, every row, and their order. A name that\n"
"has only digits is a PID; write ./123 for a file of such a name.\n"
"\n"
"Columns:\n"
"  VERSION  1, 2 or 3; - if there is no SFrame data; \"empty\" if the data\n"
"           describes no function\n"
"  FLAGS    sorted: FDEs ascend, so look-ups are fast; pcrel: each start field\n"
"           is relative to itself; fp: all functions keep a frame pointer\n"
"  SEGMENT  yes if there is a PT_GNU_SFRAME: the kernel module needs it to find\n"
"           the data\n"
"  FDES     functions described\n"
"  ROWS     rows that describe them\n"
"  COVERED  bytes of code that the FDEs describe, of all bytes of code;\n"
"           functions that the assembler cannot express and objects built\n"
"           without SFrame are missing\n"
"  DEFECTS  number of defects; each is reported on standard error\n"
"\n"
"Options:\n"
"  --json   one JSON object\n"
"  --help   this text\n"
"\n"
"Exit status: 0 if the data of all files is sound, or they have none; 1 if a\n"
"file or process cannot be read or has bad data; 2 if the command line is\n"
"wrong.\n";

/* A file of garbage has a defect in every row: the rest is only counted. */
#define DEFECTS_SHOWN	10

/**
 * struct check - the findings on one file
 * @obj: the file
 * @name: the name of @obj in reports
 * @error: the reason why there are no findings, else NULL
 * @sec: the first sound header, if @result.nr_blobs is not 0
 * @result: the result of the scan
 * @fdes: number of FDEs in all blobs
 * @rows: number of rows in all blobs
 * @described: the addresses that FDEs describe
 * @code: number of executable bytes
 * @covered: number of executable bytes that FDEs describe
 * @outside: number of bytes that FDEs describe and that are not executable
 * @told: number of defects found; the first DEFECTS_SHOWN are reported one by one
 */
struct check {
	struct object		obj;
	const char		*name;
	const char		*error;
	struct sframe_header	sec;
	struct scan_result	result;
	u64			fdes;
	u64			rows;
	struct ranges		described;
	u64			code;
	u64			covered;
	u64			outside;
	u64			told;
};

struct totals {
	bool		json;
	u64		objects;
	u64		with_sframe;
	enum status	status;
};

static void check_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct check *check = arg;

	if (index == 0)
		check->sec = blob->sec;
	check->fdes += blob->sec.num_fdes;
}

static void check_fde(void *arg, const struct scan_blob *blob, u32 index,
		      const struct sframe_fde *fde)
{
	struct check *check = arg;

	(void)blob;
	(void)index;
	ranges_add(&check->described, fde->start, fde->size);
}

static void check_row(void *arg, const struct scan_blob *blob,
		      const struct sframe_row *row)
{
	struct check *check = arg;

	(void)blob;
	(void)row;
	check->rows++;
}

static void check_defect(void *arg, const struct scan_place *place,
			 enum sframe_defect defect)
{
	struct check *check = arg;

	if (check->told++ < DEFECTS_SHOWN)
		complain_defect(&check->obj, check->name, place, defect);
}

static const struct scan_ops check_ops = {
	.blob = check_blob,
	.fde = check_fde,
	.row = check_row,
	.defect = check_defect,
};

/* Sections have exact bounds; segments may contain headers and padding besides code. */
static void add_code(const struct elf *elf, struct ranges *code)
{
	struct elf_section sec;
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if (sec.flags & SHF_EXECINSTR && sec.flags & SHF_ALLOC)
			ranges_add(code, sec.addr, sec.size);
	if (code->nr)
		return;
	for (i = 0; elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_LOAD && seg.flags & PF_X)
			ranges_add(code, seg.addr, seg.memsz);
}

/* The addresses of functions are known only after linking. */
static bool coverage_known(const struct check *check)
{
	return check->obj.is_elf && !object_is_relocatable(&check->obj);
}

static void measure(struct check *check)
{
	struct ranges code = {};

	if (!coverage_known(check))
		return;
	add_code(&check->obj.elf, &code);
	ranges_merge(&code);
	ranges_merge(&check->described);
	check->code = ranges_bytes(&code);
	check->covered = ranges_common_bytes(&code, &check->described);
	check->outside = ranges_bytes(&check->described) - check->covered;
	ranges_free(&code);
}

static void examine(struct check *check, const char *path)
{
	const struct object *obj = &check->obj;

	check->error = object_open(&check->obj, path);
	if (check->error)
		return;
	if (obj->place)
		check->result = scan(obj->data, obj->addr, obj->size, &check_ops,
				     check);
	measure(check);
}

/* Returns the note number @index on data that is sound but cannot be used fully; NULL: no more. */
static const char *note(const struct check *check, unsigned int index)
{
	const struct object *obj = &check->obj;
	const struct {
		bool holds;
		const char *text;
	} notes[] = {
		{ obj->is_elf && obj->place && !obj->has_segment &&
		  !object_is_relocatable(obj),
		  "no PT_GNU_SFRAME (lld makes none): the kernel module finds no data" },
		{ obj->has_segment && obj->place && obj->segment_addr != obj->addr,
		  "PT_GNU_SFRAME is not where the section .sframe is" },
		{ check->result.nr_blobs > 1,
		  "not merged by the linker: the first header is of the first input only" },
		{ check->result.leftover,
		  "bytes after the data are neither padding nor SFrame" },
		{ check->outside,
		  "describes addresses that are not code of this file" },
		{ obj->debug_only, OBJECT_DEBUG_ONLY },
		{ object_is_relocatable(obj),
		  "not linked: the covered code is known only after linking" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(notes); i++)
		if (notes[i].holds && index-- == 0)
			return notes[i].text;
	return NULL;
}

static const char *version_text(const struct check *check, char *text)
{
	if (!check->obj.place)
		return "-";
	if (!check->result.nr_blobs)
		return check->result.defects ? "bad" : "empty";
	snprintf(text, TEXT_SIZE, "%u", check->sec.version);
	return text;
}

static const char *covered_text(const struct check *check, char *text)
{
	if (!coverage_known(check) || !check->code)
		return "-";
	snprintf(text, TEXT_SIZE, "%" PRIu64 "/%" PRIu64 " %5.1f%%",
		 check->covered, check->code,
		 100.0 * check->covered / check->code);
	return text;
}

static const char *segment_text(const struct object *obj)
{
	if (!obj->is_elf || object_is_relocatable(obj))
		return "-";
	return obj->has_segment ? "yes" : "no";
}

static void print_head(void)
{
	printf("%-7s %-13s %-13s %-7s %7s %8s %22s %7s  %s\n", "VERSION", "ABI",
	       "FLAGS", "SEGMENT", "FDES", "ROWS", "COVERED", "DEFECTS", "FILE");
}

static void print_text(const struct check *check)
{
	char version[TEXT_SIZE], flags[TEXT_SIZE], covered[TEXT_SIZE];
	bool sound = check->result.nr_blobs;
	const char *text;
	unsigned int i;

	printf("%-7s %-13s %-13s %-7s %7" PRIu64 " %8" PRIu64 " %22s %7" PRIu64 "  %s\n",
	       version_text(check, version), sound ? abi_text(check->sec.abi) : "-",
	       sound ? flags_text(check->sec.flags, flags) : "-",
	       segment_text(&check->obj), check->fdes, check->rows,
	       covered_text(check, covered), check->result.defects, check->name);
	for (i = 0; (text = note(check, i)); i++)
		printf("        note: %s\n", text);
}

static void print_json(const struct check *check)
{
	bool sound = check->result.nr_blobs;
	const char *text;
	unsigned int i;

	json_open(NULL, '{');
	json_string("file", check->name);
	if (check->error) {
		json_string("error", check->error);
		json_close('}');
		return;
	}
	json_bool("elf", check->obj.is_elf);
	json_bool("sframe", check->obj.place);
	json_bool("segment", check->obj.has_segment);
	if (sound) {
		json_count("version", check->sec.version);
		json_count("abi", check->sec.abi);
		json_count("flags", check->sec.flags);
	}
	json_count("blobs", check->result.nr_blobs);
	json_count("fdes", check->fdes);
	json_count("rows", check->rows);
	json_count("defects", check->result.defects);
	if (coverage_known(check)) {
		json_count("code_bytes", check->code);
		json_count("covered_bytes", check->covered);
	}
	json_open("notes", '[');
	for (i = 0; (text = note(check, i)); i++)
		json_string(NULL, text);
	json_close(']');
	json_close('}');
}

static void count(struct totals *totals, const struct check *check)
{
	totals->objects++;
	totals->with_sframe += check->result.nr_blobs > 0;
	if (check->error || complain_result(check->name, &check->result))
		totals->status = STATUS_BAD;
}

static void check_file(struct totals *totals, const char *path, const char *name)
{
	struct check check = { .name = name };

	examine(&check, path);
	if (check.error)
		complain("%s: %s", name, check.error);
	else if (check.result.defects > DEFECTS_SHOWN)
		complain("%s: and %" PRIu64 " more defects", name,
			 check.result.defects - DEFECTS_SHOWN);
	if (totals->json)
		print_json(&check);
	else if (!check.error)
		print_text(&check);
	count(totals, &check);
	ranges_free(&check.described);
	object_close(&check.obj);
}

static void check_mapped(void *arg, const char *path, const char *name)
{
	check_file(arg, path, name);
}

static bool is_pid(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

static void check_name(struct totals *totals, const char *name)
{
	const char *error;

	if (!is_pid(name)) {
		check_file(totals, name, name);
		return;
	}
	error = process_each_code_file(name, check_mapped, totals);
	if (error) {
		complain("process %s: %s", name, error);
		totals->status = STATUS_BAD;
	}
}

static enum status run(const struct arguments *args)
{
	struct totals totals = { .json = args->json };
	int i;

	if (!args->nr_names) {
		complain("check: give a FILE or a PID");
		return STATUS_USAGE;
	}
	if (totals.json) {
		json_open(NULL, '{');
		json_open("objects", '[');
	} else {
		print_head();
	}
	for (i = 0; i < args->nr_names; i++)
		check_name(&totals, args->names[i]);
	if (totals.json) {
		json_close(']');
		json_close('}');
	} else {
		printf("%" PRIu64 " of %" PRIu64 " objects carry SFrame data\n",
		       totals.with_sframe, totals.objects);
	}
	return totals.status;
}

const struct command check_command = {
	.name = "check",
	.usage = usage,
	.options = "",
	.run = run,
};
