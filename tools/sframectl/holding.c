// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what an object has to be unwound by. */
#include <fcntl.h>
#include <stdio.h>

#include "holding.h"
#include "object.h"
#include "scan.h"
#include "vdso.h"
#include "worker.h"

static void add_fde(void *arg, const struct scan_blob *blob, u32 index,
		    const struct sframe_fde *fde)
{
	(void)blob;
	(void)index;
	ranges_add(arg, fde->start, fde->size);
}

static const struct scan_ops add_ops = {
	.fde = add_fde,
};

static void add_section(struct ranges *ranges, const void *data, u64 addr, u64 size)
{
	scan(data, addr, size, &add_ops, ranges);
	ranges_merge(ranges);
}

static void add_segments(struct holding *holding, const struct elf *elf)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg) &&
	     holding->nr_segments < ARRAY_SIZE(holding->segments); i++)
		if (seg.type == PT_LOAD && seg.flags & PF_X)
			holding->segments[holding->nr_segments++] = (struct sframe_segment){
				.offset = seg.off, .size = seg.filesz, .addr = seg.addr,
			};
}

static void read_object(struct holding *holding, const struct file *file)
{
	struct object obj;
	const char *error;

	if (!elf_magic(file))
		return;
	error = object_init(&obj, file);
	holding->is_elf = obj.is_elf;
	holding->is_32 = obj.is_elf && obj.elf.ident[EI_CLASS] == ELFCLASS32;
	holding->has_sframe = !error && obj.is_found && obj.place;
	if (holding->has_sframe)
		add_section(&holding->sframe, obj.data, obj.addr, obj.size);
	if (obj.is_elf)
		add_segments(holding, &obj.elf);
	/* The caller closes the file. */
	obj.file = (struct file){};
	object_close(&obj);
}

/* Converts the file, in a child without privileges, to see what a table would describe. */
static void convert(struct holding *holding, struct worker *worker, const char *error)
{
	if (!error)
		worker_end(worker);
	if (!error && *worker->result.error)
		error = worker->result.error;
	if (!error && worker->section)
		add_section(&holding->eh_frame, worker->section, worker->result.addr,
			    worker->result.size);
	if (error)
		snprintf(holding->error, sizeof(holding->error), "%s", error);
	worker_free(worker);
}

static void convert_file(struct holding *holding, const struct file *file)
{
	struct worker worker;
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		snprintf(holding->error, sizeof(holding->error), "%s", strerror(errno));
	else
		convert(holding, &worker, worker_begin(&worker, fd, WORKER_CONVERTS));
}

static void find_vdso(struct holding *holding)
{
	struct worker worker;
	struct file vdso;

	if (vdso_open(&vdso))
		return;
	read_object(holding, &vdso);
	convert(holding, &worker, worker_begin_vdso(&worker, WORKER_CONVERTS));
}

/**
 * holding_find - find what an object has to be unwound by
 * @holding: filled in
 * @object: the object
 * @held: what the module holds
 *
 * The caller calls holding_free().
 */
void holding_find(struct holding *holding, const struct place_object *object,
		  const struct held *held)
{
	bool is_vdso = !strcmp(object->code.name, VDSO_NAME);
	const struct sframe_file *table = NULL;

	*holding = (struct holding){};
	if (is_vdso || object->code.inode)
		table = held_find(held, &object->code);
	holding->has_table = table && table->nr_functions;
	if (is_vdso)
		find_vdso(holding);
	else if (object->file.is_open)
		read_object(holding, &object->file);
	if (holding->is_elf && !is_vdso)
		convert_file(holding, &object->file);
}

/**
 * holding_describes - do these ranges describe a place?
 * @holding: what the object has
 * @ranges: of @holding
 * @off: offset of the place in the file
 */
bool holding_describes(const struct holding *holding, const struct ranges *ranges, u64 off)
{
	const struct sframe_segment *seg;
	u32 i;

	for (i = 0; i < holding->nr_segments; i++) {
		seg = &holding->segments[i];
		if (off - seg->offset < seg->size)
			return ranges_bytes_within(ranges, seg->addr + off - seg->offset, 1);
	}
	return false;
}

void holding_free(struct holding *holding)
{
	ranges_free(&holding->sframe);
	ranges_free(&holding->eh_frame);
}
