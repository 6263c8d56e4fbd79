// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what an object has to be unwound by. */
#include <fcntl.h>
#include <stdio.h>

#include "coverage.h"
#include "elf.h"
#include "holding.h"
#include "vdso.h"
#include "worker.h"

/* Without privileges: the file is anybody's. Return: NULL, or the error as a text. */
static const char *begin(struct worker *worker, const struct place_object *object, bool is_vdso,
			 enum worker_task task)
{
	int fd;

	if (is_vdso)
		return worker_begin_vdso(worker, task);
	fd = fcntl(object->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		return worker_begin(worker, fd, task);
	*worker = (struct worker){ .fd = -1, .pidfd = -1, .output = -1 };
	return strerror(errno);
}

/* Return: NULL, or the error as a text, which lasts as long as the worker. */
static const char *end(struct worker *worker, const char *error)
{
	if (error)
		return error;
	worker_end(worker);
	return *worker->result.error ? worker->result.error : NULL;
}

/* The child may have been taken over by the file: its ranges are merged again. */
static void take_coverage(struct holding *holding, const struct worker *worker)
{
	const struct worker_result *result = &worker->result;
	const struct range *range = worker->section;
	size_t i, nr = range ? result->size / sizeof(*range) : 0;

	holding->is_elf = result->is_elf;
	holding->is_32 = result->is_32;
	holding->has_sframe = result->has_sframe;
	holding->nr_segments = result->nr_segments;
	memcpy(holding->segments, result->segments, sizeof(holding->segments));
	for (i = 0; i < nr; i++)
		ranges_add(&holding->sframe, range[i].start, range[i].end - range[i].start);
	ranges_merge(&holding->sframe);
}

/* If the child fails, only the first bytes of the file say what it is. */
static void read_object(struct holding *holding, const struct place_object *object, bool is_vdso)
{
	struct worker worker;
	const char *error = begin(&worker, object, is_vdso, WORKER_DESCRIBES);

	error = end(&worker, error);
	if (error) {
		holding->is_elf = is_vdso || elf_magic(&object->file);
		snprintf(holding->error, sizeof(holding->error), "%s", error);
	} else {
		take_coverage(holding, &worker);
	}
	worker_free(&worker);
}

/* To see what a table describes, or would describe. */
static void convert(struct holding *holding, const struct place_object *object, bool is_vdso)
{
	struct worker worker;
	const char *error = begin(&worker, object, is_vdso, WORKER_CONVERTS);

	error = end(&worker, error);
	if (error) {
		snprintf(holding->error, sizeof(holding->error), "%s", error);
	} else {
		coverage_add_section(&holding->eh_frame, worker.section, worker.result.addr,
				     worker.result.size);
		holding->code = worker.result.facts.code;
		holding->covered = worker.result.facts.covered;
	}
	worker_free(&worker);
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
	int fd = object->file.is_open ? object->file.fd : -1;
	bool is_current;

	*holding = (struct holding){ .is_elsewhere = file_is_elsewhere(fd) };
	if (is_vdso || object->code.inode)
		table = held_find(held, &object->code, fd);
	is_current = table && held_is_current(table, fd);
	holding->has_table = is_current && table->nr_functions;
	holding->is_refused = is_current && !table->nr_functions;
	holding->has_changed = table && table->nr_functions && !is_current;
	if (is_vdso || object->file.is_open)
		read_object(holding, object, is_vdso);
	if (holding->is_elf && !*holding->error)
		convert(holding, object, is_vdso);
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
