// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframectl convert: makes table files of the call frame information that programs have
 * already.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conversion.h"
#include "json.h"
#include "name.h"
#include "report.h"
#include "sframectl.h"
#include "store.h"
#include "vdso.h"

static const char usage[] =
"Usage: sframectl convert [-o DIR] [--by-content] [--json] [-v] FILE...\n"
"\n"
"Converts the call frame information of each FILE, a program or shared library for\n"
"x86_64 or arm64, to SFrame: .eh_frame, and .debug_frame where that says nothing.\n"
"Writes the table file NAME.sframe, where NAME is the name of FILE without its\n"
"directories. A table file is an ELF file with the build-id of FILE and a section\n"
".sframe, version 3. FILE is only read.\n"
"The FILE [vdso] is the vDSO of the running kernel.\n"
"\n"
"Code that SFrame cannot describe exactly is left out, and counted.\n"
"\n"
"Columns:\n"
"  CODE      bytes of code that .eh_frame describes, and of PLTs that it does not\n"
"  COVERED   how much of it the table describes\n"
"  FDES      functions, or parts of functions, in the table\n"
"  SIZE      bytes of the table\n"
"  RATIO     SIZE to the bytes of .eh_frame and .eh_frame_hdr\n"
"\n"
"Options:\n"
"  -o, --output DIR  write to DIR, which must exist; without it, to the current\n"
"                    directory\n"
"  --by-content      name each table file by the content of FILE: KEY.sframe, where\n"
"                    KEY is the SHA-256 of FILE; for sframectl serve --from DIR\n"
"  --json            one JSON object; its strings are UTF-8: any other byte of a\n"
"                    name becomes U+FFFD\n"
"  -v, --verbose     say in which form rows are stored, and why code is left out\n"
"  --help            this text\n"
"\n"
"Examples:\n"
"  sframectl convert /usr/bin/git && sframectl dump git.sframe\n"
"                                   so does readelf --sframe of binutils 2.46\n"
"  sframectl convert -v -o /tmp /lib/x86_64-linux-gnu/libc.so.6\n"
"                                   what of libc cannot be described, and why\n"
"\n"
"The module does not get the result. To profile, use sframectl load, which needs\n"
"no file.\n"
"\n"
"Exit status: 0 if all files were converted; 1 if one was not: for it, nothing is\n"
"written; 2 if the command line is wrong.\n";

/**
 * struct output - a table file in the making
 * @path: its path
 * @temporary: the path until it is complete
 */
struct output {
	char	*path;
	char	*temporary;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void output_free(struct output *output)
{
	free(output->path);
	free(output->temporary);
}

/* @name: without the end of a table file's name */
static const char *output_init(struct output *output, const char *dir, const char *name)
{
	if (asprintf(&output->path, "%s/%s.sframe", dir, name) < 0)
		output->path = NULL;
	if (output->path && asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0)
		output->temporary = NULL;
	return output->temporary ? NULL : "out of memory";
}

/* As of a file that open() makes. */
static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static bool write_table(const struct conversion *conv, int fd)
{
	FILE *out = fdopen(fd, "w");
	bool is_written;

	if (!out) {
		close(fd);
		return false;
	}
	is_written = !fchmod(fd, default_mode()) && conversion_write(conv, out);
	return !fclose(out) && is_written;
}

/* Nobody sees a part of a table file: it gets its name when it is complete. */
static const char *write_output(const struct conversion *conv, const struct output *output)
{
	int fd = mkstemp(output->temporary);
	const char *error = NULL;

	if (fd < 0)
		return strerror(errno);
	if (!write_table(conv, fd) || rename(output->temporary, output->path))
		error = strerror(errno);
	if (error)
		unlink(output->temporary);
	return error;
}

static const char *convert_elf(struct conversion *conv, const struct file *file)
{
	const char *error;
	struct elf elf;

	*conv = (struct conversion){};
	error = elf_init(&elf, file) ?: conversion_make(conv, &elf);
	elf_close(&elf);
	return error;
}

/* @key: set to the key of the file, unless NULL */
static const char *convert_path(struct conversion *conv, const char *name, char *key)
{
	const char *error;
	struct file file;

	*conv = (struct conversion){};
	error = strcmp(name, VDSO_NAME) ? file_open(&file, name) : vdso_open(&file);
	if (error)
		return error;
	/* The key has to be that of the bytes that were converted: they may change. */
	error = key ? file_keep(&file) : NULL;
	error = error ?: convert_elf(conv, &file);
	if (!error && key)
		error = store_key(&file, key);
	file_close(&file);
	return error;
}

static u64 covered_bytes(const struct table_counts *counts)
{
	return counts->plain + counts->flex + counts->plt;
}

static u64 code_bytes(const struct table_counts *counts)
{
	u64 bytes = covered_bytes(counts);
	u32 i;

	/* What is outside is no code. */
	for (i = 0; i < NR_CFI_HOLES; i++)
		if (i != CFI_HOLE_OUTSIDE)
			bytes += counts->holes[i];
	return bytes;
}

static void print_head(void)
{
	printf("%11s %9s %8s %9s %6s  %s\n", "CODE", "COVERED", "FDES", "SIZE", "RATIO", "FILE");
}

static void print_detail(u64 bytes, const char *name, const char *text)
{
	if (bytes)
		printf("%11" PRIu64 "   %s: %s\n", bytes, name, text);
}

static void print_details(const struct table_counts *counts)
{
	u32 i;

	print_detail(counts->plain, "default", "described by DEFAULT rows");
	print_detail(counts->flex, "flex", "described by FLEX rows");
	print_detail(counts->plt, "plt", "slots of a PLT, described by rows for each slot");
	print_detail(counts->recognised, "recognised",
		     "of these, PLTs that .eh_frame does not describe, by their code");
	for (i = 0; i < NR_CFI_HOLES; i++)
		print_detail(counts->holes[i], cfi_hole_names[i], cfi_hole_texts[i]);
	for (i = 0; i < ARRAY_SIZE(counts->odd); i++)
		if (counts->odd[i])
			printf("%11" PRIu64 "   entries of %s cannot be read\n", counts->odd[i],
			       i ? ".debug_frame" : ".eh_frame");
}

/* Rounded down: 100 % is all of it. */
static double percent(u64 part, u64 whole)
{
	return (double)(u64)(1e5 * part / whole) / 1e3;
}

static void print_conversion(const struct conversion *conv, const char *name, bool verbose)
{
	const struct table_counts *counts = &conv->table.counts;

	printf("%11" PRIu64 " %8.3f%% %8u %9" PRIu64 " %6.2f  ", code_bytes(counts),
	       percent(covered_bytes(counts), code_bytes(counts)), conv->table.nr_fdes,
	       table_size(&conv->table),
	       (double)table_size(&conv->table) / (conv->eh_frame_size + conv->header_size));
	name_print(stdout, name);
	putchar('\n');
	if (verbose)
		print_details(counts);
}

static void print_json(const struct conversion *conv, const char *name, const char *path,
		       const char *error)
{
	const struct table_counts *counts = &conv->table.counts;
	u32 i;

	json_open(NULL, '{');
	json_string("name", name);
	if (error) {
		json_string("error", error);
		json_close('}');
		return;
	}
	json_string("output", path);
	json_count("code_bytes", code_bytes(counts));
	json_count("covered_bytes", covered_bytes(counts));
	json_count("default_bytes", counts->plain);
	json_count("flex_bytes", counts->flex);
	json_count("plt_bytes", counts->plt);
	json_count("recognised_bytes", counts->recognised);
	json_count("functions", counts->functions);
	json_count("fdes", conv->table.nr_fdes);
	json_count("rows", counts->rows);
	json_count("stored_rows", conv->table.nr_rows);
	json_count("table_size", table_size(&conv->table));
	json_count("eh_frame_size", conv->eh_frame_size);
	json_count("eh_frame_hdr_size", conv->header_size);
	json_count("odd_entries", counts->odd[0] + counts->odd[1]);
	json_open("holes", '{');
	for (i = CFI_HOLE_NONE + 1; i < NR_CFI_HOLES; i++)
		json_count(cfi_hole_names[i], counts->holes[i]);
	json_close('}');
	json_close('}');
}

/* Two files of one name would write one table file. */
static bool is_repeated(const struct arguments *args, int index)
{
	int i;

	for (i = 0; i < index; i++)
		if (!strcmp(last_part(args->names[i]), last_part(args->names[index])))
			return true;
	return false;
}

static bool convert_one(const struct arguments *args, int index)
{
	const char *name = args->names[index];
	char room[STORE_KEY] = "", *key = args->by_content ? room : NULL;
	const char *error = NULL;
	struct conversion conv = {};
	struct output output = {};

	if (!key && is_repeated(args, index))
		error = "a file of the same name came before; convert it to another directory";
	if (!error)
		error = convert_path(&conv, name, key);
	if (!error)
		error = output_init(&output, args->output ?: ".", key ?: last_part(name));
	if (error) {
		complain("%s: %s", name, error);
	} else {
		error = write_output(&conv, &output);
		if (error)
			complain("%s: cannot write: %s", output.path, error);
	}
	if (args->json)
		print_json(&conv, name, output.path, error);
	else if (!error)
		print_conversion(&conv, name, args->verbose);
	conversion_free(&conv);
	output_free(&output);
	return !error;
}

/* Only where lines can be overwritten, and standard output does not show the files already. */
static void print_progress(const struct arguments *args, int done)
{
	static int is_shown = -1;

	if (is_shown < 0)
		is_shown = args->nr_names > 1 && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	if (!is_shown)
		return;
	fprintf(stderr, "\r%d of %d files", done, args->nr_names);
	if (done == args->nr_names)
		fputc('\n', stderr);
}

static enum status run(const struct arguments *args)
{
	enum status status = STATUS_OK;
	int i;

	if (!args->nr_names) {
		complain("convert needs a FILE");
		return STATUS_USAGE;
	}
	if (args->json) {
		json_open(NULL, '{');
		json_open("files", '[');
	} else {
		print_head();
	}
	for (i = 0; i < args->nr_names; i++) {
		if (!convert_one(args, i))
			status = STATUS_BAD;
		print_progress(args, i + 1);
	}
	if (args->json) {
		json_close(']');
		json_close('}');
	}
	return status;
}

const struct command convert_command = {
	.name = "convert",
	.usage = usage,
	.options = "cjov",
	.run = run,
};
