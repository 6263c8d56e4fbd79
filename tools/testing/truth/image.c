// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads /proc/PID/maps, for the code that a process has mapped. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "image.h"

/* A line of /proc/PID/maps. */
struct mapping {
	u64	start;
	u64	end;
	u64	off;
	bool	is_code;
	bool	is_written;
	char	name[1024];
};

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

static bool read_mapping(FILE *maps, struct mapping *mapping)
{
	char line[1200], access[8];
	int at = 0;

	if (!fgets(line, sizeof(line), maps))
		return false;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapping->start,
		   &mapping->end, access, &mapping->off, &at) < 4)
		errx(1, "cannot read: %s", line);
	mapping->is_code = access[2] == 'x';
	mapping->is_written = access[1] == 'w';
	snprintf(mapping->name, sizeof(mapping->name), "%s", line + at);
	mapping->name[strcspn(mapping->name, "\n")] = 0;
	return true;
}

static void add_code(struct image *image, const struct mapping *mapping, struct memory *mem)
{
	struct walker_code *code;
	struct binary *binary;

	image->code = reallocarray(image->code, image->nr + 1, sizeof(*image->code));
	image->binaries = reallocarray(image->binaries, image->nr + 1, sizeof(*image->binaries));
	if (!image->code || !image->binaries)
		err(1, "image");
	binary = binary_get(mapping->name, mem, mapping->start, mapping->end);
	image->binaries[image->nr] = binary;
	code = &image->code[image->nr++];
	*code = (struct walker_code){
		.start = mapping->start,
		.end = mapping->end,
		.file = binary->nr,
		.bias = binary_bias(binary, mapping->start, mapping->off),
		.table = binary->table.len ? &binary->table : NULL,
	};
}

#ifdef TRUTH_ARM64
u64 image_vdso, image_stack;

/* The emulator does not execute the code: what may be executed is in the file. */
static bool is_code(struct mapping *mapping, struct memory *mem)
{
	if (mapping->start == image_vdso) {
		strcpy(mapping->name, "[vdso]");
		return true;
	}
	if (mapping->name[0] != '/' || mapping->is_written || strstr(mapping->name, "qemu-aarch64"))
		return false;
	return binary_has_code(binary_get(mapping->name, mem, mapping->start, mapping->end),
			       mapping->off);
}
#else
static bool is_code(struct mapping *mapping, struct memory *mem)
{
	(void)mem;
	return mapping->is_code && strcmp(mapping->name, "[vsyscall]");
}
#endif

/**
 * image_scan() - read what a process has mapped
 * @image: zero, or what an earlier scan has set
 * @pid: the process; stopped
 * @mem: its memory
 */
void image_scan(struct image *image, pid_t pid, struct memory *mem)
{
	FILE *maps = open_proc(pid, "maps");
	struct mapping mapping;

	image->nr = 0;
	if (!maps)
		return;
	while (read_mapping(maps, &mapping))
		if (is_code(&mapping, mem))
			add_code(image, &mapping, mem);
	fclose(maps);
}

void image_free(struct image *image)
{
	free(image->code);
	free(image->binaries);
}

struct image_place image_find(const struct image *image, u64 addr)
{
	unsigned int lo = 0, hi = image->nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (addr < image->code[mid].start)
			hi = mid;
		else if (addr >= image->code[mid].end)
			lo = mid + 1;
		else
			return (struct image_place){
				image->binaries[mid], addr - image->code[mid].bias
			};
	}
	return (struct image_place){ .addr = addr };
}

/* Finds the mapping of a stack pointer. */
bool image_is_stack(pid_t pid, u64 addr, u64 *start, u64 *end)
{
	FILE *maps = open_proc(pid, "maps");
	struct mapping mapping;
	bool found = false;

	while (maps && !found && read_mapping(maps, &mapping))
		found = addr >= mapping.start && addr < mapping.end;
	if (maps)
		fclose(maps);
	if (found) {
		*start = mapping.start;
		*end = mapping.end;
	}
	return found;
}

#ifdef TRUTH_ARM64
u64 image_start_stack(pid_t pid)
{
	(void)pid;
	return image_stack;
}
#else
/* The 28th word of /proc/PID/stat; the second may have spaces, and ends with a bracket. */
u64 image_start_stack(pid_t pid)
{
	FILE *stat = open_proc(pid, "stat");
	char line[2048];
	u64 start = 0;
	char *word;
	int i;

	if (stat && fgets(line, sizeof(line), stat)) {
		word = strrchr(line, ')');
		for (i = 2; word && i < 28; i++)
			word = strchr(word + 1, ' ');
		start = word ? strtoull(word, NULL, 10) : 0;
	}
	if (stat)
		fclose(stat);
	return start;
}
#endif
