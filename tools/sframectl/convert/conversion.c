// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts the call frame information of a file to a table, function by function. */
#include <stdlib.h>

#include "cfi_functions.h"
#include "conversion.h"
#include "resolver.h"

/* Do two entries of one address say the same? */
static bool are_equal(struct cfi_functions *functions, const struct cfi_function *one,
		      const struct cfi_function *two)
{
	struct cfi_fde fde1, fde2;
	ptrdiff_t len;

	if (!cfi_functions_get(functions, one->off, &fde1) || !cfi_functions_get(functions,
										 two->off, &fde2))
		return false;
	len = fde1.program.end - fde1.program.pos;
	return one->size == two->size && fde1.cie == fde2.cie &&
	       len == fde2.program.end - fde2.program.pos &&
	       !memcmp(fde1.program.pos, fde2.program.pos, len);
}

/* @function has @size bytes before the next one begins. */
static void convert_function(struct table *table, struct cfi_functions *functions,
			     const struct cfi_function *function, u32 size, struct cfi_rows *rows)
{
	const struct cfi_cie *cie;
	struct cfi_fde fde;

	cie = cfi_functions_get(functions, function->off, &fde);
	if (!cie)
		return;
	fde.size = size;
	if (!cfi_run_fde(&functions->sec, functions->machine, cie, &fde, rows)) {
		table->error = "out of memory";
		return;
	}
	resolver_raise_cfa(functions->machine, rows->all, rows->nr);
	table_add(table, cie, function->start, size, rows->all, rows->nr);
}

/* @index is the first function that does not begin before @plt. */
static bool is_described(const struct cfi_functions *functions, u32 index, const struct plt *plt)
{
	const struct cfi_function *all = functions->all;

	if (index < functions->nr && all[index].start - plt->start < plt->size)
		return true;
	return index > 0 && plt->start - all[index - 1].start < all[index - 1].size;
}

/* Adds the PLTs that begin before the function @index, and that no function describes. */
static void convert_plts(struct table *table, const struct cfi_source *source,
			 const struct cfi_functions *functions, u32 index, u32 *nr_done)
{
	static const struct cfi_cie plain;
	const struct plts *plts = &source->plts;

	for (; *nr_done < plts->nr; (*nr_done)++) {
		const struct plt *plt = &plts->all[*nr_done];

		if (index < functions->nr && plt->start > functions->all[index].start)
			return;
		if (is_described(functions, index, plt) || plt->start < table_end(table) ||
		    ranges_bytes_within(&source->code, plt->start, plt->size) != plt->size)
			continue;
		table_add(table, &plain, plt->start, plt->size, plt->rows, plt->nr);
		table->counts.recognised += plt->size;
	}
}

static void convert_functions(struct table *table, const struct cfi_source *source,
			      struct cfi_functions *functions)
{
	const struct cfi_function *all = functions->all;
	struct cfi_rows rows = {};
	u32 nr_plts = 0;
	bool agree;
	u32 i, next;
	u64 size;

	for (i = 0; i < functions->nr && !table->error; i = next) {
		convert_plts(table, source, functions, i, &nr_plts);
		agree = true;
		size = all[i].size;
		for (next = i + 1; next < functions->nr &&
		     all[next].start == all[i].start; next++) {
			agree = agree && are_equal(functions, &all[i], &all[next]);
			if (all[next].size > size)
				size = all[next].size;
		}
		if (next < functions->nr)
			size = min_t(u64, size, all[next].start - all[i].start);
		if (agree)
			convert_function(table, functions, &all[i], size, &rows);
		else
			table->counts.holes[CFI_HOLE_OVERLAP] += size;
	}
	convert_plts(table, source, functions, functions->nr, &nr_plts);
	free(rows.all);
}

/**
 * conversion_fill - convert call frame information
 * @table: a new table, with the machine of @source; the functions are added
 * @source: the call frame information
 *
 * Return: NULL, or the error as a text.
 */
const char *conversion_fill(struct table *table, const struct cfi_source *source)
{
	struct cfi_functions *functions = malloc(sizeof(*functions));
	const char *error;

	if (!functions)
		return "out of memory";
	error = cfi_functions_read(functions, &source->sec, source->machine, &source->code);
	if (!error) {
		table->counts.odd = functions->odd;
		table->counts.holes[CFI_HOLE_OUTSIDE] = functions->outside;
		convert_functions(table, source, functions);
		error = table->error;
	}
	cfi_functions_free(functions);
	free(functions);
	if (!error && table_size(table) > TABLE_MAX)
		return TABLE_TOO_LARGE;
	return error;
}

/**
 * conversion_make - convert a file
 * @conv: filled in
 * @elf: the file
 *
 * Return: NULL, or the error as a text. The caller calls conversion_free() in both cases.
 */
const char *conversion_make(struct conversion *conv, const struct elf *elf)
{
	struct cfi_source source;
	const char *error;

	*conv = (struct conversion){ .type = elf->type };
	error = cfi_source_open(&source, elf);
	if (!error) {
		conv->end = source.end;
		conv->eh_frame_size = source.sec.size;
		conv->header_size = source.header_size;
		table_init(&conv->table, source.machine);
		table_note_find(&conv->note, elf);
		error = conversion_fill(&conv->table, &source);
	}
	if (!error && !conv->table.nr_fdes)
		error = "its .eh_frame describes no function";
	cfi_source_close(&source);
	return error;
}

/* Return: false if a write failed. */
bool conversion_write(const struct conversion *conv, FILE *out)
{
	return table_file_write(out, &conv->table, &conv->note, conv->type, conv->end);
}

void conversion_free(struct conversion *conv)
{
	table_free(&conv->table);
}
