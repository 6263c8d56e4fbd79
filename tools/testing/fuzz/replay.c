// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a target without libFuzzer, on the inputs in files and in all files of
 * directories. The last line has the number of inputs.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

#define MAX_SIZE	0x100000

static unsigned long nr_inputs;

/* The target gets a copy of exactly this size, so that ASan reports a read past its end. */
static void replay_bytes(const u8 *bytes, size_t size)
{
	u8 *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	nr_inputs++;
}

static void replay_file(const char *path)
{
	static u8 bytes[MAX_SIZE];
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	/* Print the name first: it is the last line if the target crashes. */
	printf("%s\n", path);
	fflush(stdout);
	replay_bytes(bytes, size);
}

static void replay_directory(const char *path, DIR *dir)
{
	struct dirent *entry;
	char name[4096];

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		replay_file(name);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	DIR *dir;
	int i;

	replay_bytes(NULL, 0);
	for (i = 1; i < argc; i++) {
		dir = opendir(argv[i]);
		if (dir)
			replay_directory(argv[i], dir);
		else
			replay_file(argv[i]);
	}
	printf("%lu inputs\n", nr_inputs);
	return 0;
}
