// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl tables: lists the tables that the module holds, and drops them. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "held.h"
#include "json.h"
#include "name.h"
#include "report.h"
#include "sframectl.h"
#include "vdso.h"

static const char usage[] =
"Usage: sframectl tables [-v] [--json]\n"
"       sframectl tables drop\n"
"\n"
"Lists the files for which the module holds an SFrame table. For root only.\n"
"\n"
"drop: drop all tables. Processes use theirs until they are scanned again; to\n"
"load those of what runs again, type: sframectl load --all\n"
"\n"
"Options:\n"
"  -v, --verbose  show the device and the inode of each file, too\n"
"  --json         one JSON object\n"
"  --help         this text\n";

/* Names each file of the list that is the one a process has mapped. */
static void name_files(const struct held *held, char **names, const struct code *code)
{
	const struct sframe_file *first = held_find(held, code, -1);
	const struct sframe_file *file;

	/* There may be tables of several contents that one file has had. */
	for (file = first; file && file < held->all + held->nr; file++) {
		char **name = &names[file - held->all];

		if (file->ino != first->ino || file->dev_major != first->dev_major ||
		    file->dev_minor != first->dev_minor)
			break;
		if (!*name)
			*name = strdup(code->name);
	}
}

/*
 * Return: the name of each file, or NULL if no running process has mapped it. NULL, if memory is
 * short. The caller frees the names and the list.
 */
static char **find_names(const struct held *held)
{
	char **names = calloc(held->nr, sizeof(*names));
	struct process process;
	struct dirent *entry;
	DIR *proc = NULL;
	size_t i;

	if (names) {
		name_files(held, names, &(struct code){ .name = VDSO_NAME });
		proc = opendir("/proc");
	}
	while (proc && (entry = readdir(proc))) {
		if (!process_is_pid(entry->d_name))
			continue;
		process_read(&process, entry->d_name);
		for (i = 0; i < process.nr; i++)
			if (process.code[i].inode)
				name_files(held, names, &process.code[i]);
		process_free(&process);
	}
	if (proc)
		closedir(proc);
	return names;
}

static void print_file(const struct sframe_file *file, const char *name, bool verbose)
{
	printf("%10llu %9u %6u %6u  ", (unsigned long long)file->table_size, file->nr_functions,
	       file->nr_files, file->nr_users);
	if (verbose)
		printf("%u:%-5u %8llu  ", file->dev_major, file->dev_minor,
		       (unsigned long long)file->ino);
	if (name)
		name_print(stdout, name);
	else if (verbose)
		putchar('?');
	else
		printf("device %u:%u inode %llu", file->dev_major, file->dev_minor,
		       (unsigned long long)file->ino);
	putchar('\n');
}

static void print_json(const struct sframe_file *file, const char *name)
{
	json_open(NULL, '{');
	json_count("table_bytes", file->table_size);
	json_count("functions", file->nr_functions);
	json_count("files", file->nr_files);
	json_count("used", file->nr_users);
	json_count("device_major", file->dev_major);
	json_count("device_minor", file->dev_minor);
	json_count("inode", file->ino);
	if (name)
		json_string("name", name);
	else
		json_null("name");
	json_close('}');
}

static void print_head(const struct arguments *args)
{
	if (args->json) {
		json_open(NULL, '{');
		json_open("tables", '[');
	} else {
		printf("%10s %9s %6s %6s  %s%s\n", "BYTES", "FUNCTIONS", "FILES", "USED",
		       args->verbose ? "DEVICE     INODE  " : "", "NAME");
	}
}

/* What packages have installed says nothing of a user. */
static void hide_names(char **names, size_t nr)
{
	static const char *const prefixes[] = {
		"/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/", "/opt/", VDSO_NAME,
	};
	size_t i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; names[i] && k < ARRAY_SIZE(prefixes); k++)
			if (!strncmp(names[i], prefixes[k], strlen(prefixes[k])))
				break;
		if (k < ARRAY_SIZE(prefixes))
			continue;
		free(names[i]);
		names[i] = NULL;
	}
}

static const char *list(const struct arguments *args, bool hide)
{
	struct held held;
	const char *error = held_read(&held);
	char **names = error ? NULL : find_names(&held);
	size_t i;

	if (!error && !names)
		error = "out of memory";
	if (names && hide)
		hide_names(names, held.nr);
	if (!error)
		print_head(args);
	for (i = 0; !error && i < held.nr; i++)
		if (args->json)
			print_json(&held.all[i], names[i]);
		else
			print_file(&held.all[i], names[i], args->verbose);
	if (!error && args->json) {
		json_close(']');
		json_close('}');
	}
	for (i = 0; names && i < held.nr; i++)
		free(names[i]);
	free(names);
	held_free(&held);
	return error;
}

static const char *drop_all(void)
{
	const char *error;
	int device;

	error = device_open(&device, O_WRONLY);
	if (error)
		return error;
	error = device_drop_all(device);
	close(device);
	return error;
}

void tables_report(void)
{
	static const struct arguments none;
	const char *error = list(&none, true);

	if (error)
		complain("%s: %s", DEVICE, error);
}

static enum status run(const struct arguments *args)
{
	bool is_drop = args->nr_names == 1 && !strcmp(args->names[0], "drop");
	const char *error;

	if (args->nr_names && !is_drop) {
		complain("tables: %s: the one word that it takes is drop", args->names[0]);
		return STATUS_USAGE;
	}
	if (is_drop && (args->json || args->verbose)) {
		complain("tables drop: takes no option");
		return STATUS_USAGE;
	}
	error = is_drop ? drop_all() : list(args, false);
	if (error)
		complain("%s: %s", DEVICE, error);
	return error ? STATUS_BAD : STATUS_OK;
}

const struct command tables_command = {
	.name = "tables",
	.usage = usage,
	.options = "jv",
	.run = run,
};
