// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframectl convert: makes table files of the call frame information that programs have
 * already.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "name.h"
#include "report.h"
#include "sframectl.h"
#include "store.h"
#include "vdso.h"
#include "worker.h"

static const char usage[] =
"Usage: sframectl convert [-v] [--json] [-o DIR | --store DIR] FILE...\n"
"\n"
"Makes the table file NAME.sframe of the .eh_frame and .debug_frame of each\n"
"FILE, and of the instructions of the code that these leave out. The FILE [vdso]\n"
"is the vDSO of the running kernel. The module does not get the table: to\n"
"profile, use sframectl load, which needs no table file.\n"
"\n"
"Options:\n"
"  -o, --output DIR  write to DIR, which must exist; else where you are\n"
"  --store DIR       the same, by the names that serve --store DIR looks for\n"
"  -v, --verbose     bytes of code that each form of row describes, and why the\n"
"                    rest has no row\n"
"  --json            one JSON object\n"
"  --help            this text\n"
"\n"
"Example:\n"
"  sframectl convert /usr/bin/git && sframectl dump git.sframe\n";

/**
 * struct output - a table file in the making
 * @dir: its directory
 * @path: its path
 * @temporary: the path until it is complete, if it needs one
 * @place: the file without a name
 */
struct output {
	const char	*dir;
	char		*path;
	char		*temporary;
	char		place[32];
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
	output->dir = dir;
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

/* A file without a name goes with this process. Return: -1 if there can be none. */
static int open_nameless(struct output *output)
{
	int fd = open(output->dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	snprintf(output->place, sizeof(output->place), "/proc/self/fd/%d", fd);
	if (fd < 0 || !access(output->place, F_OK))
		return fd;
	close(fd);
	return -1;
}

static bool link_as(const struct output *output, const char *path)
{
	return !linkat(AT_FDCWD, output->place, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Only rename() replaces a file. */
static bool replace(const struct output *output)
{
	int fd = mkstemp(output->temporary);

	if (fd < 0)
		return false;
	close(fd);
	return !unlink(output->temporary) && link_as(output, output->temporary) &&
	       !rename(output->temporary, output->path);
}

static bool write_table(const struct table_file *table, int fd)
{
	int copy = dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	bool is_written;

	if (!out)
		return false;
	is_written = table_file_write(out, table);
	return !fclose(out) && is_written;
}

static const char *make_output(const struct table_file *table, struct output *output)
{
	int fd = open_nameless(output);
	bool is_nameless = fd >= 0, is_done;
	const char *error;

	/* Some file systems have no files without a name. */
	if (!is_nameless)
		fd = mkstemp(output->temporary);
	if (fd < 0)
		return strerror(errno);
	is_done = write_table(table, fd);
	if (is_nameless)
		is_done = is_done && (link_as(output, output->path) ||
				      (errno == EEXIST && replace(output)));
	else
		is_done = is_done && !fchmod(fd, default_mode()) &&
			  !rename(output->temporary, output->path);
	error = is_done ? NULL : strerror(errno);
	close(fd);
	if (error)
		unlink(output->temporary);
	return error;
}

/*
 * Nobody sees a part of a table file: it gets its name when it is complete. Signals wait until
 * then, for they would leave what has another name.
 */
static const char *write_output(const struct worker *worker, struct output *output)
{
	const struct conversion_facts *facts = &worker->result.facts;
	const struct table_file table = {
		.section = worker->section, .size = worker->result.size,
		.addr = worker->result.addr, .note = &facts->note, .type = facts->type,
		.machine = facts->machine,
	};
	sigset_t all, before;
	const char *error;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	error = make_output(&table, output);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* The file is anybody's: a child without privileges converts it. */
static const char *convert_file(struct worker *worker, const char *name, struct file *file,
				char *key)
{
	const char *error = NULL;

	/* The key has to be that of the bytes that were converted: they may change. */
	if (key)
		error = file_keep(file) ?: store_key(file, key);
	if (!error && vdso_is_name(name))
		error = worker_begin_vdso(worker, WORKER_CONVERTS);
	else if (!error)
		error = worker_begin(worker, fcntl(file->fd, F_DUPFD_CLOEXEC, 0), WORKER_CONVERTS);
	if (error)
		return error;
	worker_end(worker);
	return *worker->result.error ? worker->result.error : NULL;
}

/* @key: set to the key of the file, unless NULL */
static const char *convert_path(struct worker *worker, const char *name, char *key)
{
	const char *error;
	struct file file;

	error = vdso_is_name(name) ? vdso_open(&file) : file_open(&file, name);
	if (error)
		return error;
	error = convert_file(worker, name, &file, key);
	file_close(&file);
	return error;
}

/* Of what call frame information describes. What is outside is no code. */
static u64 described_bytes(const struct table_counts *counts)
{
	u64 bytes = counts->plain + counts->flex + counts->plt;
	u32 i;

	for (i = 0; i < NR_CFI_HOLES; i++)
		if (i != CFI_HOLE_OUTSIDE)
			bytes += counts->holes[i];
	return bytes;
}

/* Of code that nothing describes. */
static u64 undescribed_bytes(const struct conversion_facts *facts)
{
	u64 described = described_bytes(&facts->counts);

	return facts->code > described ? facts->code - described : 0;
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

static void print_details(const struct conversion_facts *facts)
{
	const struct table_counts *counts = &facts->counts;
	u32 i;

	print_detail(counts->plain, "default", "described by DEFAULT rows");
	print_detail(counts->flex, "flex", "described by FLEX rows");
	print_detail(counts->plt, "plt", "slots of a PLT, described by rows for each slot");
	print_detail(counts->recognised, "recognised",
		     "of these, PLTs that .eh_frame does not describe, by their code");
	for (i = 0; i < NR_CFI_HOLES; i++)
		print_detail(counts->holes[i], cfi_hole_names[i], cfi_hole_texts[i]);
	print_detail(counts->analysed, "analysed",
		     "of these, code that nothing describes, by its instructions");
	for (i = CODE_SOUND + 1; i < NR_CODE_HOLES; i++)
		print_detail(counts->unsure[i], code_hole_names[i], code_hole_texts[i]);
	print_detail(undescribed_bytes(facts), "undescribed",
		     "no call frame information: assembly, C without it, and padding");
	for (i = 0; i < ARRAY_SIZE(counts->odd); i++)
		if (counts->odd[i])
			printf("%11" PRIu64 "   entries of %s cannot be read\n", counts->odd[i],
			       i ? ".debug_frame" : ".eh_frame");
}

/* Rounded down: 100 % is all of it. */
static double percent(u64 part, u64 whole)
{
	return whole ? (double)(u64)(1e5 * part / whole) / 1e3 : 0;
}

static void print_conversion(const struct worker *worker, const char *name, bool verbose)
{
	const struct conversion_facts *facts = &worker->result.facts;
	const u64 source = facts->eh_frame_size + facts->header_size;

	printf("%11" PRIu64 " %8.3f%% %8u %9" PRIu64 " ", facts->code,
	       percent(facts->covered, facts->code), facts->nr_fdes, worker->result.size);
	if (source)
		printf("%6.2f  ", (double)worker->result.size / source);
	else
		printf("%6s  ", "-");
	name_print(stdout, name);
	putchar('\n');
	if (verbose)
		print_details(facts);
}

static void print_json(const struct worker *worker, const char *name, const char *path,
		       const char *error)
{
	const struct conversion_facts *facts = &worker->result.facts;
	const struct table_counts *counts = &facts->counts;
	u32 i;

	json_open(NULL, '{');
	json_string("name", name);
	if (error) {
		json_string("error", error);
		json_close('}');
		return;
	}
	json_string("output", path);
	json_count("code_bytes", facts->code);
	json_count("covered_bytes", facts->covered);
	json_count("described_bytes", described_bytes(counts));
	json_count("undescribed_bytes", undescribed_bytes(facts));
	json_count("default_bytes", counts->plain);
	json_count("flex_bytes", counts->flex);
	json_count("plt_bytes", counts->plt);
	json_count("recognised_bytes", counts->recognised);
	json_count("analysed_bytes", counts->analysed);
	json_count("functions", counts->functions);
	json_count("fdes", facts->nr_fdes);
	json_count("rows", counts->rows);
	json_count("stored_rows", facts->nr_rows);
	json_count("table_size", worker->result.size);
	json_count("eh_frame_size", facts->eh_frame_size);
	json_count("eh_frame_hdr_size", facts->header_size);
	json_count("odd_entries", counts->odd[0] + counts->odd[1]);
	json_open("holes", '{');
	for (i = CFI_HOLE_NONE + 1; i < NR_CFI_HOLES; i++)
		json_count(cfi_hole_names[i], counts->holes[i]);
	json_close('}');
	json_open("unsure", '{');
	for (i = CODE_SOUND + 1; i < NR_CODE_HOLES; i++)
		json_count(code_hole_names[i], counts->unsure[i]);
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
	char room[STORE_KEY] = "", *key = args->store ? room : NULL;
	const char *error = NULL;
	struct worker worker = { .fd = -1, .pidfd = -1, .output = -1 };
	struct output output = {};

	if (!key && is_repeated(args, index))
		error = "a file of the same name came before; convert it to another directory";
	if (!error)
		error = convert_path(&worker, name, key);
	if (!error)
		error = output_init(&output, args->store ?: args->output ?: ".",
				    key ?: last_part(name));
	if (error) {
		complain("%s: %s", name, error);
	} else {
		error = write_output(&worker, &output);
		if (error)
			complain("%s: cannot write: %s", output.path, error);
	}
	if (args->json)
		print_json(&worker, name, output.path, error);
	else if (!error)
		print_conversion(&worker, name, args->verbose);
	worker_free(&worker);
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
	if (args->output && args->store) {
		complain("convert: takes -o DIR or --store DIR, not both");
		return STATUS_USAGE;
	}
	if ((args->output && !*args->output) || (args->store && !*args->store)) {
		complain("convert: %s: give the name of a directory",
			 args->store ? "--store" : "-o");
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
	.options = "joSv",
	.run = run,
};
