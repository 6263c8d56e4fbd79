// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects what the runtimes of a process say of its code, and makes tables of it. */
#include <stdlib.h>

#include "cfi_functions.h"
#include "grow.h"
#include "resolver.h"
#include "runtime.h"
#include "table_file.h"

void runtime_init(struct runtime *runtime, struct target *target)
{
	*runtime = (struct runtime){
		.target = target,
#if defined(__x86_64__)
		.machine = cfi_find_machine(EM_X86_64),
#else
		.machine = cfi_find_machine(EM_AARCH64),
#endif
	};
}

void runtime_free(struct runtime *runtime)
{
	free(runtime->all);
	free(runtime->rows);
	*runtime = (struct runtime){};
}

/*
 * PHP and Erlang share memory for their code, which has a file without a name. The kernel's own
 * code has another table.
 */
static bool is_memory(const struct mapping *mapping)
{
	return mapping && mapping->is_code && strncmp(mapping->name, "[v", 2) &&
	       (!mapping->inode || !strncmp(mapping->name, "/dev/zero", 9) ||
		!strncmp(mapping->name, "/memfd:", 7));
}

/* Return: the mapping where this code begins; NULL: not all of it is in memory without a file. */
const struct mapping *runtime_find_memory(const struct runtime *runtime, u64 start, u64 size)
{
	const struct target *target = runtime->target;
	const struct mapping *first = target_find(target, start), *next = first;

	while (is_memory(next) && size > next->end - start) {
		if (++next == target->all + target->nr || next->start != next[-1].end)
			return NULL;
	}
	return is_memory(next) ? first : NULL;
}

static struct cfi_row *make_room(struct runtime *runtime, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct cfi_row *rows = grow(runtime->rows, runtime->nr_rows + i, sizeof(*rows));

		if (!rows)
			return NULL;
		runtime->rows = rows;
	}
	return runtime->rows + runtime->nr_rows;
}

/**
 * runtime_add - add a piece of code
 * @runtime: the runtime; an error sets @runtime->error
 * @start: address of the code. Code that is not in memory without a file is left out
 * @size: its bytes
 * @rows: its rows
 * @nr: number of rows
 * @is_signal: as in &struct runtime_function
 */
void runtime_add(struct runtime *runtime, u64 start, u32 size, const struct cfi_row *rows, u32 nr,
		 bool is_signal)
{
	struct runtime_function *all;
	struct cfi_row *place;

	if (!size || !nr || runtime->error || !runtime_find_memory(runtime, start, size))
		return;
	if (runtime->nr == RUNTIME_FUNCTIONS_MAX) {
		runtime->error = "has more functions than any program";
		return;
	}
	all = grow(runtime->all, runtime->nr, sizeof(*all));
	runtime->all = all ?: runtime->all;
	place = make_room(runtime, nr);
	if (!all || !place) {
		runtime->error = "out of memory";
		return;
	}
	memcpy(place, rows, nr * sizeof(*rows));
	all[runtime->nr++] = (struct runtime_function){
		.start = start, .size = size, .first = runtime->nr_rows, .nr = nr,
		.is_signal = is_signal,
	};
	runtime->nr_rows += nr;
}

/**
 * runtime_add_source - add the functions of call frame information
 * @runtime: the runtime
 * @sec: the bytes, with an address that makes the functions' addresses right but for @bias
 * @code: where there may be functions, merged
 * @bias: added to the addresses of the functions
 */
void runtime_add_source(struct runtime *runtime, const struct cfi_section *sec,
			const struct ranges *code, u64 bias)
{
	struct cfi_functions *functions = calloc(1, sizeof(*functions));
	const struct cfi_cie *cie;
	struct cfi_rows rows = {};
	struct cfi_fde fde;
	u32 i;

	if (functions && cfi_functions_read(functions, sec, runtime->machine, code))
		functions->nr = 0;
	for (i = 0; functions && i < functions->nr && !runtime->error; i++) {
		const struct cfi_function *function = &functions->all[i];

		cie = cfi_functions_get(functions, function->off, &fde);
		rows.nr = 0;
		if (!cie || !cfi_run_fde(sec, runtime->machine, cie, &fde, &rows))
			continue;
		runtime_add(runtime, function->start + bias, function->size, rows.all, rows.nr,
			    cie->is_signal);
	}
	if (functions)
		cfi_functions_free(functions);
	free(functions);
	free(rows.all);
}

/* By address. Of two pieces at one address, the one that was added first comes first. */
static int compare(const void *a, const void *b)
{
	const struct runtime_function *one = a, *two = b;

	if (one->start != two->start)
		return one->start < two->start ? -1 : 1;
	return (one->first > two->first) - (one->first < two->first);
}

/* Removes each piece that overlaps one that was added after it. */
static void drop_overlaps(struct runtime *runtime)
{
	struct runtime_function *all = runtime->all;
	u32 i, nr = 0;

	for (i = 0; i < runtime->nr; i++) {
		while (nr && all[i].start - all[nr - 1].start < all[nr - 1].size &&
		       all[nr - 1].first < all[i].first)
			nr--;
		if (!nr || all[i].start - all[nr - 1].start >= all[nr - 1].size)
			all[nr++] = all[i];
	}
	runtime->nr = nr;
}

/* Sorts the code by address, and removes code that was overwritten. */
void runtime_sort(struct runtime *runtime)
{
	if (runtime->nr)
		qsort(runtime->all, runtime->nr, sizeof(*runtime->all), compare);
	drop_overlaps(runtime);
}

/* Return: the number of the first function after the mappings of the function @first. */
static u32 find_range(const struct runtime *runtime, u32 first, struct runtime_table *range)
{
	const struct target *target = runtime->target;
	const struct mapping *start, *end = target->all + target->nr, *next;
	u32 i;

	start = target_find(target, runtime->all[first].start);
	next = start + 1;
	/* Code at the border of two mappings belongs to both. */
	while (start > target->all && start[-1].end == start->start && is_memory(&start[-1]))
		start--;
	while (next < end && next->start == next[-1].end && is_memory(next))
		next++;
	*range = (struct runtime_table){
		.start = start->start, .size = next[-1].end - start->start,
		.entry_start = runtime->entry_start, .entry_size = runtime->entry_size,
	};
	for (i = first; i < runtime->nr; i++)
		if (runtime->all[i].start - range->start >= range->size)
			break;
	return i;
}

static const char *write_table(const struct runtime *runtime, u32 i, u32 end,
			       struct runtime_table *range, FILE *out)
{
	const char *error;
	struct table table;

	table_init(&table, runtime->machine);
	for (; i < end && !table.error; i++) {
		const struct runtime_function *function = &runtime->all[i];
		struct cfi_cie cie = { .is_signal = function->is_signal };

		table_add(&table, &cie, function->start, function->size,
			  runtime->rows + function->first, function->nr);
	}
	error = table.error;
	if (!error && table.nr_fdes) {
		range->section_size = table_size(&table);
		fwrite(range, sizeof(*range), 1, out);
		table_file_write_section(out, &table, range->start);
	}
	table_free(&table);
	return error;
}

/**
 * runtime_write - write the tables of a process
 * @files: the process; the caller closes them
 * @out: each table follows its struct runtime_table
 *
 * Return: NULL, or the error as a text.
 */
const char *runtime_write(const struct runtime_files *files, FILE *out)
{
	struct runtime_table range;
	struct runtime runtime;
	struct target target;
	const char *error = target_open(&target, files->mem, files->maps);
	u32 i, next, nr = 0;

	runtime_init(&runtime, &target);
	if (!error) {
		copies_read(&runtime);
		hotspot_read(&runtime);
		gdb_jit_read(&runtime, &files->program);
		jitdump_read(&runtime, &files->dump);
		jumps_read(&runtime);
		runtime_sort(&runtime);
		error = runtime.error;
	}
	for (i = 0; !error && i < runtime.nr && nr < RUNTIME_TABLES_MAX; i = next, nr++) {
		next = find_range(&runtime, i, &range);
		error = write_table(&runtime, i, next, &range, out);
	}
	runtime_free(&runtime);
	target_close(&target);
	return error;
}
