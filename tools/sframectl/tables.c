// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl tables: lists the tables that the module holds, and drops them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "json.h"
#include "report.h"
#include "sframectl.h"

static const char usage[] =
"Usage: sframectl tables [--json]\n"
"       sframectl tables drop\n"
"\n"
"Lists the files for which the module holds an SFrame table. For root only.\n"
"\n"
"drop: drop all tables. Processes use theirs until they are scanned again; to\n"
"load those of what runs again, type: sframectl load --all\n"
"\n"
"Options:\n"
"  --json  one JSON object\n"
"  --help  this text\n";

static void print_file(const struct sframe_file *file)
{
	printf("%10llu %9u %6u %6u  %u:%-5u %llu\n", (unsigned long long)file->table_size,
	       file->nr_functions, file->nr_files, file->nr_users, file->dev_major,
	       file->dev_minor, (unsigned long long)file->ino);
}

static void print_json(const struct sframe_file *file)
{
	json_open(NULL, '{');
	json_count("table_bytes", file->table_size);
	json_count("functions", file->nr_functions);
	json_count("files", file->nr_files);
	json_count("used", file->nr_users);
	json_count("device_major", file->dev_major);
	json_count("device_minor", file->dev_minor);
	json_count("inode", file->ino);
	json_close('}');
}

static const char *list(int device, bool json)
{
	struct sframe_file file = {};
	const char *error;

	while (!(error = device_next(device, &file)) && file.size)
		(json ? print_json : print_file)(&file);
	return error;
}

static const char *list_all(int device, bool json)
{
	const char *error;

	if (json) {
		json_open(NULL, '{');
		json_open("tables", '[');
	} else {
		printf("%10s %9s %6s %6s  %-7s %s\n", "BYTES", "FUNCTIONS", "FILES", "USED",
		       "DEVICE", "INODE");
	}
	error = list(device, json);
	if (json) {
		json_close(']');
		json_close('}');
	}
	return error;
}

static enum status run(const struct arguments *args)
{
	bool is_drop = args->nr_names == 1 && !strcmp(args->names[0], "drop");
	const char *error;
	int device;

	if (args->nr_names && !is_drop) {
		complain("tables: %s: the one word that it takes is drop", args->names[0]);
		return STATUS_USAGE;
	}
	if (is_drop && args->json) {
		complain("tables drop: takes no option");
		return STATUS_USAGE;
	}
	error = device_open(&device, O_WRONLY);
	if (!error) {
		error = is_drop ? device_drop_all(device) : list_all(device, args->json);
		close(device);
	}
	if (error)
		complain("%s: %s", DEVICE, error);
	return error ? STATUS_BAD : STATUS_OK;
}

const struct command tables_command = {
	.name = "tables",
	.usage = usage,
	.options = "j",
	.run = run,
};
