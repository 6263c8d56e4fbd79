// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl check: reports which objects have SFrame data, and whether that data is sound. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "code.h"
#include "color.h"
#include "coverage.h"
#include "functions.h"
#include "held.h"
#include "json.h"
#include "module.h"
#include "name.h"
#include "object.h"
#include "process.h"
#include "ranges.h"
#include "report.h"
#include "scan.h"
#include "sframectl.h"
#include "text.h"
#include "vdso.h"
#include "worker.h"

static const char usage[] =
"Usage: sframectl check [-v] [--json] [--require] [-p PID] [FILE]...\n"
"\n"
"Reports whether each FILE, or each file that a process has mapped as code, has\n"
"SFrame data, whether the data is sound, how much of the code it covers, and by\n"
"what the module unwinds the code. The FILE [vdso] is the vDSO of the running\n"
"kernel.\n"
"\n"
"Options:\n"
"  -p, --pid PID  the files of this process\n"
"  --require      fail if a file with code has no data that can be used\n"
"  -v, --verbose  name the functions that are not covered\n"
"  --json         one JSON object\n"
"  --help         this text\n"
"\n"
"Examples:\n"
"  sframectl check --require ./app         does it bring data that can be used?\n"
"  sframectl check -p $(pidof -s app)      and each of its libraries?\n";

/* A file of garbage has a defect in every row: the rest is only counted. */
#define DEFECTS_SHOWN	10

/**
 * struct check - the findings on one file
 * @obj: the file
 * @name: the name of @obj in reports
 * @pid: the process that has mapped @obj, as digits, else NULL
 * @error: the reason why there are no findings, else NULL
 * @sec: the first sound header, if @result.nr_blobs is not 0
 * @result: the result of the scan
 * @fdes: number of FDEs in all blobs
 * @rows: number of rows in all blobs
 * @described: the addresses that FDEs describe
 * @code_ranges: the addresses of executable bytes
 * @has_code: there is at least one executable byte
 * @code: number of executable bytes of a linked file
 * @by_table: the addresses that the table of the module describes
 * @covered: number of executable bytes that can be unwound by @table or else by FDEs
 * @outside: number of bytes that FDEs describe and that are not executable
 * @is_held: @table is what the module has said
 * @table: the table that the module holds, or NULL
 * @has_lost: that is a table of an older content
 * @is_elsewhere: it is on a file system whose files get no table
 * @told: number of defects found; the first DEFECTS_SHOWN are reported one by one
 */
struct check {
	struct object		obj;
	const char		*name;
	const char		*pid;
	const char		*error;
	struct sframe_header	sec;
	struct scan_result	result;
	u64			fdes;
	u64			rows;
	struct ranges		described;
	struct ranges		code_ranges;
	bool			has_code;
	u64			code;
	struct ranges		by_table;
	u64			covered;
	u64			outside;
	bool			is_held;
	const struct sframe_file *table;
	bool			has_lost;
	bool			is_elsewhere;
	u64			told;
};

/**
 * struct totals - the findings on all objects
 * @args: the command line
 * @processes: the processes of the command line
 * @nr_processes: their number
 * @objects: number of objects
 * @with_sframe: number of objects with SFrame data
 * @with_table: number of objects with a table that the module holds
 * @with_none: number of objects with code, and neither data nor a table
 * @code: bytes of code of all objects, and of processes in no object
 * @by_table: how many of them the tables of the module describe
 * @by_own: how many the module finds described in the objects
 * @held: the tables of the module
 * @status: the result of the command
 */
struct totals {
	const struct arguments	*args;
	struct process	*processes;
	size_t		nr_processes;
	u64		objects;
	u64		with_sframe;
	u64		with_table;
	u64		with_none;
	u64		code;
	u64		by_table;
	u64		by_own;
	struct held	held;
	enum status	status;
};

/* The addresses of functions are known only after linking. */
static bool coverage_known(const struct check *check)
{
	return check->obj.is_elf && !object_is_relocatable(&check->obj);
}

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

	(void)index;
	if (!object_judge(&check->obj, &blob->sec, fde) &&
	    !object_judge(&check->obj, &blob->sec, NULL))
		ranges_add(&check->described, fde->start, fde->size);
}

static enum sframe_defect judge(void *arg, const struct scan_blob *blob,
				const struct sframe_fde *fde)
{
	const struct check *check = arg;

	return object_judge(&check->obj, &blob->sec, fde);
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
	.judge = judge,
	.fde = check_fde,
	.row = check_row,
	.defect = check_defect,
};

/* What the module unwinds the code by: it uses a table before the data of the file. */
static struct ranges *used_ranges(struct check *check)
{
	return check->by_table.nr ? &check->by_table : &check->described;
}

/* The table that the module holds is what the child without privileges makes of the file. */
static void read_table(struct check *check)
{
	const struct file *file = &check->obj.file;
	struct worker worker;
	const char *error;

	error = file->is_open ?
		worker_begin(&worker, fcntl(file->fd, F_DUPFD_CLOEXEC, 0), WORKER_CONVERTS) :
		worker_begin_vdso(&worker, WORKER_CONVERTS);
	if (!error)
		worker_end(&worker);
	if (!error && worker.section)
		coverage_add_section(&check->by_table, worker.section, worker.result.addr,
				     worker.result.size);
	worker_free(&worker);
}

static void measure(struct check *check)
{
	struct ranges *code = &check->code_ranges;

	if (check->obj.is_elf)
		code_find(code, &check->obj.elf);
	check->has_code = ranges_bytes(code);
	if (!coverage_known(check))
		return;
	ranges_merge(&check->described);
	check->code = ranges_bytes(code);
	if (check->table)
		read_table(check);
	check->covered = ranges_common_bytes(code, used_ranges(check));
	check->outside = ranges_bytes(&check->described) -
			 ranges_common_bytes(code, &check->described);
}

static void examine(struct check *check)
{
	const struct object *obj = &check->obj;

	if (obj->place && !object_is_empty(obj))
		check->result = scan(obj->data, obj->addr, obj->size, &check_ops,
				     check);
	measure(check);
}

/* As "sframectl convert" makes them: nothing of it is loaded. */
static bool is_table_file(const struct check *check)
{
	return coverage_known(check) && check->obj.place && !check->has_code;
}

static bool has_frame_data(const struct elf *elf)
{
	struct elf_section sec;
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if (sec.size && (elf_is_named(elf, &sec, ".eh_frame") ||
				 elf_is_named(elf, &sec, ".gopclntab") ||
				 elf_is_named(elf, &sec, ".debug_frame") ||
				 elf_is_named(elf, &sec, ".zdebug_frame")))
			return true;
	for (i = 0; elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

static bool lacks_everything(const struct check *check)
{
	return coverage_known(check) && check->has_code && !check->obj.place &&
	       !check->obj.debug_only && !has_frame_data(&check->obj.elf);
}

/* Does the module use the data of the file? */
static bool has_own(const struct check *check)
{
	return check->result.nr_blobs && check->obj.is_used;
}

/* Returns the note number @index on data that is sound but cannot be used fully; NULL: no more. */
static const char *note(const struct check *check, unsigned int index)
{
	const struct object *obj = &check->obj;
	const struct {
		bool holds;
		const char *text;
	} notes[] = {
		{ obj->is_elf && obj->place && !obj->has_segment && check->has_code &&
		  !object_is_relocatable(obj),
		  "no PT_GNU_SFRAME: the kernel module finds no data" },
		{ obj->has_segment && obj->place && !obj->is_used && !object_is_empty(obj),
		  "not sorted: the kernel module needs a table for this file" },
		{ obj->has_segment && obj->place && obj->segment_addr != obj->addr,
		  "PT_GNU_SFRAME is not where the section .sframe is" },
		{ check->result.nr_blobs > 1,
		  "not merged by the linker: the first header is of the first input only" },
		{ check->result.leftover,
		  "bytes after the data are neither padding nor SFrame" },
		{ is_table_file(check),
		  "a table file: it describes the code of another file" },
		{ check->outside && check->has_code,
		  "describes addresses that are not code of this file" },
		{ obj->debug_only, OBJECT_DEBUG_ONLY },
		{ lacks_everything(check),
		  "neither .sframe, .eh_frame, .gopclntab nor .debug_frame: no table is possible" },
		{ check->has_lost,
		  "it was written, renamed or linked, and so has lost its table: load it again" },
		{ check->is_held && check->is_elsewhere && check->has_code && !has_own(check),
		  FILE_ELSEWHERE },
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

/* Rounded down: 100 % is all of it. */
static double percent(u64 part, u64 whole)
{
	return (double)(u64)(1e3 * part / whole) / 10;
}

static const char *covered_text(const struct check *check, char *text)
{
	if (!coverage_known(check) || !check->code)
		return "-";
	snprintf(text, TEXT_SIZE, "%" PRIu64 "/%" PRIu64 " %5.1f%%",
		 check->covered, check->code, percent(check->covered, check->code));
	return text;
}

static const char *segment_text(const struct object *obj)
{
	if (!obj->is_elf || object_is_relocatable(obj))
		return "-";
	return obj->has_segment ? "yes" : "no";
}

/* Return: NULL for a file whose code nobody runs as it is. */
static const char *unwound_by(const struct check *check)
{
	if (!coverage_known(check) || !check->has_code || check->obj.debug_only)
		return NULL;
	if (check->table)
		return "table";
	if (has_own(check))
		return "own";
	return check->is_held || !module_is_loaded() ? "none" : "?";
}

static enum color shade_of(const char *unwound)
{
	if (!unwound || *unwound == '?')
		return COLOR_NONE;
	return strcmp(unwound, "none") ? COLOR_GOOD : COLOR_BAD;
}

static void print_head(void)
{
	printf("%-7s %-13s %-13s %-7s %7s %8s %22s %7s %-7s  %s\n", "VERSION", "ABI",
	       "FLAGS", "SEGMENT", "FDES", "ROWS", "COVERED", "DEFECTS", "UNWOUND", "FILE");
}

/* Without any data, all functions are missing: a list of them says no more. */
static bool lists_uncovered(const struct check *check)
{
	return coverage_known(check) && (check->result.nr_blobs || check->by_table.nr);
}

/* The reader of a report wants the first functions; all of a hostile file have no end. */
#define FUNCTIONS_SHOWN	100000

static void print_function(const struct function *func, const char *name)
{
	printf("        not covered: 0x%" PRIx64 ", ", func->addr);
	if (func->size && func->missing != func->size)
		printf("%" PRIu64 " of ", func->missing);
	if (func->size)
		printf("%" PRIu64 " bytes: ", func->size);
	else
		printf("size unknown: ");
	name_print(stdout, name);
	putchar('\n');
}

static void print_function_json(const struct function *func, const char *name)
{
	json_open(NULL, '{');
	json_string("name", name);
	json_count("addr", func->addr);
	json_count("size", func->size);
	json_count("missing", func->missing);
	json_close('}');
}

/* Return: number of bytes of code that are neither covered nor in a function of the list. */
static u64 nameless_bytes(struct check *check, const struct functions *functions)
{
	struct ranges *known = used_ranges(check);
	size_t i;

	for (i = 0; i < functions->nr; i++)
		ranges_add(known, functions->all[i].addr, functions->all[i].size);
	ranges_merge(known);
	return check->code - ranges_common_bytes(&check->code_ranges, known);
}

static void print_functions(const struct functions *functions, const struct elf *elf,
			    void (*print_one)(const struct function *func, const char *name))
{
	size_t i, nr = min_t(size_t, functions->nr, FUNCTIONS_SHOWN);
	char name[FUNCTION_NAME_SIZE];

	for (i = 0; i < nr; i++)
		print_one(&functions->all[i],
			  functions_name(functions, elf, &functions->all[i], name));
}

/* Changes used_ranges(): it is the last to use them. */
static void print_uncovered(struct check *check)
{
	const struct elf *elf = &check->obj.elf;
	struct functions functions;
	bool symbols;
	u64 rest;

	symbols = functions_read_uncovered(&functions, elf, used_ranges(check));
	print_functions(&functions, elf, print_function);
	if (functions.nr > FUNCTIONS_SHOWN)
		printf("        not covered: %zu more functions\n",
		       functions.nr - FUNCTIONS_SHOWN);
	rest = nameless_bytes(check, &functions);
	if (rest)
		printf("        not covered: %" PRIu64 " bytes %s\n", rest, symbols ?
		       "outside of functions: padding, PLT, code without symbols" :
		       "of code; the file has no symbols that could name it");
	functions_free(&functions);
}

static void print_uncovered_json(struct check *check)
{
	const struct elf *elf = &check->obj.elf;
	struct functions functions;

	functions_read_uncovered(&functions, elf, used_ranges(check));
	json_open("uncovered", '[');
	print_functions(&functions, elf, print_function_json);
	json_close(']');
	json_count("uncovered_functions", functions.nr);
	functions_free(&functions);
}

static void print_text(struct check *check, bool verbose)
{
	char version[TEXT_SIZE], flags[TEXT_SIZE], covered[TEXT_SIZE];
	const char *text, *unwound = unwound_by(check);
	bool sound = check->result.nr_blobs;
	unsigned int i;

	printf("%-7s %-13s %-13s %-7s %7" PRIu64 " %8" PRIu64 " %22s %7" PRIu64 " %s%-7s%s  ",
	       version_text(check, version), sound ? abi_text(check->sec.abi) : "-",
	       sound ? flags_text(check->sec.flags, flags) : "-",
	       segment_text(&check->obj), check->fdes, check->rows,
	       covered_text(check, covered), check->result.defects, color(shade_of(unwound)),
	       unwound ?: "-", color(COLOR_NONE));
	name_print(stdout, check->name);
	putchar('\n');
	for (i = 0; (text = note(check, i)); i++)
		printf("        note: %s\n", text);
	if (verbose && lists_uncovered(check))
		print_uncovered(check);
	else if (verbose && coverage_known(check))
		printf("        not covered: all of its functions, as it has no SFrame data\n");
}

static void print_json(struct check *check, bool verbose)
{
	const char *text, *unwound = unwound_by(check);
	bool sound = check->result.nr_blobs;
	unsigned int i;

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
	if (unwound)
		json_string("unwound_by", unwound);
	if (check->table)
		json_count("table_functions", check->table->nr_functions);
	json_open("notes", '[');
	for (i = 0; (text = note(check, i)); i++)
		json_string(NULL, text);
	json_close(']');
	if (verbose && lists_uncovered(check))
		print_uncovered_json(check);
}

/* Return: what --require misses, else NULL. */
static const char *lacks(const struct check *check)
{
	const struct object *obj = &check->obj;

	if (obj->debug_only)
		return OBJECT_DEBUG_ONLY;
	if (obj->is_elf && !check->has_code)
		return NULL;
	if (!check->result.nr_blobs)
		return "no SFrame data; build it with -Wa,--gsframe";
	if (obj->is_elf && !object_is_relocatable(obj) && !obj->has_segment)
		return "no PT_GNU_SFRAME, so the kernel module finds no data; link it with GNU ld";
	if (obj->is_elf && !object_is_relocatable(obj) && !obj->is_used)
		return "not sorted, so the kernel module uses no data; link it with GNU ld";
	return NULL;
}

static void print(struct check *check, const struct arguments *args, const char *lacking)
{
	if (!args->json) {
		if (!check->error)
			print_text(check, args->verbose);
		return;
	}
	json_open(NULL, '{');
	json_string("file", check->name);
	if (check->pid)
		json_count("pid", strtoull(check->pid, NULL, 10));
	if (check->error)
		json_string("error", check->error);
	else
		print_json(check, args->verbose);
	if (lacking)
		json_string("lacks", lacking);
	json_close('}');
}

/*
 * Finds the table of the file that maps list as @code. One without functions stands for none, and
 * so does one of an older content.
 */
static void find_table(const struct totals *totals, struct check *check, const struct code *code)
{
	int fd = check->error || !check->obj.file.is_open ? -1 : check->obj.file.fd;
	const struct sframe_file *table = held_find(&totals->held, code, fd);
	bool is_current = table && held_is_current(table, fd);

	check->is_held = totals->held.is_known;
	check->table = is_current && table->nr_functions ? table : NULL;
	check->has_lost = table && !is_current;
	check->is_elsewhere = file_is_elsewhere(fd);
}

/* Reports on an object and closes it. */
static void check_object(struct totals *totals, struct check *check)
{
	const struct arguments *args = totals->args;
	const char *lacking = NULL, *unwound;

	if (!check->error && check->obj.is_elf && !elf_is_whole(&check->obj.elf))
		check->error = "is cut off: its headers name bytes past the end of the file";
	if (!check->error)
		examine(check);
	if (!check->error && args->require)
		lacking = lacks(check);
	if (check->error)
		complain_name(check->name, check->error);
	else if (check->result.defects > DEFECTS_SHOWN)
		complain("%s: and %" PRIu64 " more defects", check->name,
			 check->result.defects - DEFECTS_SHOWN);
	print(check, args, lacking);
	if (lacking)
		complain("%s: %s", check->name, lacking);
	totals->objects++;
	totals->with_sframe += check->result.nr_blobs > 0;
	unwound = check->error ? NULL : unwound_by(check);
	totals->with_table += !!check->table;
	totals->with_none += unwound && !strcmp(unwound, "none");
	totals->code += unwound ? check->code : 0;
	if (check->by_table.nr)
		totals->by_table += check->covered;
	else if (unwound && !check->table && has_own(check))
		totals->by_own += check->covered;
	if (check->error || lacking || complain_result(check->name, &check->result))
		totals->status = STATUS_BAD;
	ranges_free(&check->described);
	ranges_free(&check->by_table);
	ranges_free(&check->code_ranges);
	object_close(&check->obj);
}

static void check_file(struct totals *totals, const char *path)
{
	struct check check = { .name = path };
	struct code code;

	check.error = object_open(&check.obj, path);
	if (!check.error && vdso_is_name(path))
		find_table(totals, &check, &(struct code){});
	else if (!check.error && process_identify(check.obj.file.fd, &code))
		find_table(totals, &check, &code);
	check_object(totals, &check);
}

static void check_code(struct totals *totals, struct process *process, struct code *code)
{
	struct check check = { .name = code->name, .pid = process->pid };
	struct file file = {};

	check.error = process_open(process, code, &file);
	if (!check.error && !code->no_elf && !elf_magic(&file)) {
		code->no_elf = true;
		file_close(&file);
	}
	if (code->no_elf) {
		totals->code += code->bytes;
		return;
	}
	if (!check.error)
		check.error = object_init(&check.obj, &file);
	find_table(totals, &check, code);
	check_object(totals, &check);
}

static void note_code_without_elf(const struct process *process)
{
	const struct code *code;
	bool first = true;

	for (code = process->code; code < process->code + process->nr; code++) {
		if (!code->no_elf)
			continue;
		if (first)
			printf("        note: process %s has code in no ELF file, without data:\n",
			       process->pid);
		first = false;
		printf("%22" PRIu64 " bytes  ", code->bytes);
		name_print(stdout, code->name);
		putchar('\n');
	}
}

static void check_process(struct totals *totals, const char *pid)
{
	struct process *process = &totals->processes[totals->nr_processes++];
	size_t i;

	if (!process_read(process, pid)) {
		complain("process %s: %s", pid, process->error);
		totals->status = STATUS_BAD;
		return;
	}
	for (i = 0; i < process->nr; i++)
		check_code(totals, process, &process->code[i]);
	if (!totals->args->json)
		note_code_without_elf(process);
}

static void print_process_json(const struct process *process)
{
	const struct code *code;

	json_open(NULL, '{');
	json_count("pid", strtoull(process->pid, NULL, 10));
	if (!process->readable)
		json_string("error", process->error);
	json_open("no_elf", '[');
	for (code = process->code; code < process->code + process->nr; code++) {
		if (!code->no_elf)
			continue;
		json_open(NULL, '{');
		json_string("name", code->name);
		json_count("bytes", code->bytes);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

static void check_all(struct totals *totals)
{
	const struct arguments *args = totals->args;
	int i;

	for (i = 0; i < args->nr_names; i++)
		check_file(totals, args->names[i]);
	for (i = 0; i < args->nr_pids; i++)
		check_process(totals, args->pids[i]);
}

/* Which code keeps frame pointers, only the module sees. */
static void print_measure(const struct totals *totals)
{
	double by_table, by_own;

	if (!totals->code)
		return;
	by_table = percent(totals->by_table, totals->code);
	by_own = percent(totals->by_own, totals->code);
	printf("%" PRIu64 " bytes of code can be unwound: ", totals->code);
	if (totals->held.is_known || !module_is_loaded())
		printf("by tables %.1f %%, by .sframe of the objects %.1f %%, %s %.1f %%\n",
		       by_table, by_own, "by frame pointers at most", 100 - by_table - by_own);
	else
		printf("by .sframe of the objects %.1f %%, by tables ?: only root may see them\n",
		       by_own);
}

static void report_text(struct totals *totals)
{
	print_head();
	check_all(totals);
	printf("%" PRIu64 " of %" PRIu64 " objects carry SFrame data", totals->with_sframe,
	       totals->objects);
	if (totals->held.is_known)
		printf(", %" PRIu64 " have a table", totals->with_table);
	putchar('\n');
	print_measure(totals);
	if (totals->held.is_known && totals->with_none)
		printf("%" PRIu64 " have neither; type: sframectl load -v %s\n", totals->with_none,
		       totals->nr_processes ? "-p PID" : "FILE");
}

static void report_json(struct totals *totals)
{
	size_t i;

	json_open(NULL, '{');
	json_open("objects", '[');
	check_all(totals);
	json_close(']');
	json_open("processes", '[');
	for (i = 0; i < totals->nr_processes; i++)
		print_process_json(&totals->processes[i]);
	json_close(']');
	json_count("code_bytes", totals->code);
	json_count("table_bytes", totals->by_table);
	json_count("sframe_bytes", totals->by_own);
	json_close('}');
}

static enum status run(const struct arguments *args)
{
	struct totals totals = { .args = args };
	size_t i;

	if (!args->nr_names && !args->nr_pids) {
		complain("check: give a FILE or -p PID");
		return STATUS_USAGE;
	}
	totals.processes = calloc(args->nr_pids, sizeof(*totals.processes));
	if (!totals.processes && args->nr_pids) {
		complain("out of memory");
		return STATUS_BAD;
	}
	/* Without an answer, the report shows what is in the files. */
	held_read(&totals.held);
	if (args->json)
		report_json(&totals);
	else
		report_text(&totals);
	for (i = 0; i < totals.nr_processes; i++)
		process_free(&totals.processes[i]);
	free(totals.processes);
	held_free(&totals.held);
	return totals.status;
}

const struct command check_command = {
	.name = "check",
	.usage = usage,
	.options = "jprv",
	.run = run,
};
