// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's jitdump: a file to which a runtime writes each piece of code that it makes, with call
 * frame information. See jitdump-specification.txt of perf. python3 -X perf_jit and LLVM write it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cfi_functions.h"
#include "runtime.h"

#define MAGIC		0x4a695444	/* JiTD */
#define RECORD_MAX	(16u << 20)
#define RECORDS_MAX	(4 * TARGET_ENTRIES_MAX)

enum { RECORD_LOAD, RECORD_MOVE, RECORD_DEBUG, RECORD_CLOSE, RECORD_UNWINDING };

struct header {
	u32	magic;
	u32	version;
	u32	size;
	u32	machine;
	u32	reserved;
	u32	pid;
	u64	time;
	u64	flags;
};

struct record {
	u32	id;
	u32	size;
	u64	time;
};

struct load {
	u32	pid;
	u32	tid;
	u64	vma;
	u64	addr;
	u64	size;
	u64	index;
};

struct unwinding {
	u64	size;		/* of all data */
	u64	header_size;	/* of .eh_frame_hdr, which follows .eh_frame */
	u64	mapped_size;
};

static_assert(sizeof(struct header) == 40);
static_assert(sizeof(struct record) == 16);
static_assert(sizeof(struct load) == 40);

/**
 * struct jitdump - a file that is being read
 * @runtime: where the code goes to
 * @file: the file; the process may change it at any time
 * @eh_frame: the bytes for the next piece of code, or NULL
 * @size: how many
 */
struct jitdump {
	struct runtime		*runtime;
	const struct file	*file;
	u8			*eh_frame;
	u32			size;
};

/* Reads what follows the head of a record. Return: NULL if it is too short or cannot be read. */
static u8 *read_unwinding(const struct jitdump *dump, u64 off, u32 left, u32 *size)
{
	struct unwinding unwinding;
	u8 *bytes;

	if (left < sizeof(unwinding) || file_read(dump->file, off, &unwinding, sizeof(unwinding)))
		return NULL;
	left -= sizeof(unwinding);
	if (unwinding.size > left || unwinding.header_size > unwinding.size)
		return NULL;
	*size = unwinding.size - unwinding.header_size;
	return file_copy(dump->file, off + sizeof(unwinding), *size, &bytes) ? NULL : bytes;
}

/* Return: where the first function would be if .eh_frame were at its address. */
static u64 find_first(const struct runtime *runtime, const struct cfi_section *sec)
{
	struct cfi_functions *functions = calloc(1, sizeof(*functions));
	struct ranges all = {};
	u64 first = 0;

	ranges_add(&all, 0, 1ull << 62);
	ranges_merge(&all);
	if (functions && !cfi_functions_read(functions, sec, runtime->machine, &all) &&
	    functions->nr)
		first = functions->all->start;
	if (functions)
		cfi_functions_free(functions);
	free(functions);
	ranges_free(&all);
	return first;
}

/*
 * The addresses in .eh_frame are relative to it, and perf puts it after the code, in a file. Where
 * exactly does not matter: its first function is the code.
 */
static void add_code(struct jitdump *dump, const struct load *load)
{
	struct cfi_section sec = {
		.data = dump->eh_frame, .size = dump->size, .addr = 1ull << 60,
	};
	u64 first = find_first(dump->runtime, &sec);
	struct ranges code = {};

	ranges_add(&code, first, load->size);
	ranges_merge(&code);
	if (first)
		runtime_add_source(dump->runtime, &sec, &code, load->addr - first);
	ranges_free(&code);
}

static void read_load(struct jitdump *dump, u64 off, u32 left)
{
	struct load load;

	if (dump->eh_frame && left >= sizeof(load) &&
	    !file_read(dump->file, off, &load, sizeof(load)) && load.size < 1u << 30)
		add_code(dump, &load);
	free(dump->eh_frame);
	dump->eh_frame = NULL;
}

static void read_record(struct jitdump *dump, const struct record *record, u64 off)
{
	u32 left = record->size - sizeof(*record);

	off += sizeof(*record);
	if (record->id == RECORD_LOAD)
		read_load(dump, off, left);
	if (record->id != RECORD_UNWINDING)
		return;
	free(dump->eh_frame);
	dump->eh_frame = read_unwinding(dump, off, left, &dump->size);
}

/**
 * jitdump_read - add the code of a jitdump
 * @runtime: the runtime
 * @file: the jitdump, if it is open
 */
void jitdump_read(struct runtime *runtime, const struct file *file)
{
	struct jitdump dump = { .runtime = runtime, .file = file };
	struct header header;
	struct record record;
	u64 off;
	u32 i;

	if (!file->is_open || file_read(file, 0, &header, sizeof(header)) ||
	    header.magic != MAGIC)
		return;
	/* Python 3.13 has 0 there. */
	if (header.machine && header.machine != runtime->machine->machine)
		return;
	off = header.size;
	for (i = 0; i < RECORDS_MAX && !runtime->error; i++, off += record.size) {
		if (file_read(file, off, &record, sizeof(record)) ||
		    record.size < sizeof(record) || record.size > RECORD_MAX)
			break;
		read_record(&dump, &record, off);
	}
	free(dump.eh_frame);
}

/* Is it the file that perf's specification names jit-PID.dump? */
static bool is_dump(const struct mapping *mapping)
{
	const char *name = strrchr(mapping->name, '/');
	unsigned int pid;
	int end = 0;

	return mapping->is_code && mapping->inode && name &&
	       sscanf(name, "/jit-%u.dump%n", &pid, &end) == 1 && !name[end];
}

/**
 * jitdump_open - open the jitdump that a process has mapped
 * @file: filled in; &file.is_open is false if there is none
 * @pid: a thread of the process that has not ended
 * @target: its mappings
 *
 * The very file that is mapped is opened, whatever its name leads to by now.
 */
void jitdump_open(struct file *file, pid_t pid, const struct target *target)
{
	char path[128];
	u32 i;

	*file = (struct file){};
	for (i = 0; i < target->nr && !file->is_open; i++) {
		const struct mapping *mapping = &target->all[i];

		if (!is_dump(mapping))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
		file_open(file, path);
	}
}
