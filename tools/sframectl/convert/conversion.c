// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts what a file says of its stack frames to a table, function by function. */
#include <stdlib.h>

#include "cfi_functions.h"
#include "code.h"
#include "code_rows.h"
#include "conversion.h"
#include "resolver.h"

/* Executes the entry of a function. @cie is set to its CIE. */
static void run_function(struct table *table, struct cfi_functions *functions,
			 const struct cfi_function *function, struct cfi_cie *cie,
			 struct cfi_rows *rows)
{
	const struct cfi_cie *found;
	struct cfi_fde fde;

	rows->nr = 0;
	if (functions->go) {
		if (!gopclntab_run(functions->go, function->off, cie, rows))
			table->error = "out of memory";
		return;
	}
	found = cfi_functions_get(functions, function->off, &fde);
	if (!found)
		return;
	*cie = *found;
	fde.size = function->skipped + function->size;
	if (!cfi_run_fde(&functions->sec, functions->machine, cie, &fde, rows))
		table->error = "out of memory";
}

/* Do two entries of one address have the same rows in the first @size bytes? */
static bool rows_agree(const struct cfi_rows *one, const struct cfi_rows *two, u32 size)
{
	u32 i;

	for (i = 0; i < one->nr && one->all[i].start < size; i++) {
		const struct cfi_row *row1 = &one->all[i], *row2 = &two->all[i];

		if (i == two->nr || row1->start != row2->start || row1->hole != row2->hole ||
		    (!row1->hole && memcmp(&row1->state, &row2->state, sizeof(row1->state))))
			return false;
	}
	return i == two->nr || two->all[i].start >= size;
}

static bool cies_agree(const struct cfi_cie *one, const struct cfi_cie *two)
{
	return one->is_signal == two->is_signal && one->is_key_b == two->is_key_b;
}

/*
 * Several objects may bring an entry of one function, by other CIEs and other instructions, and one
 * may have padding in its size. Return: whether all of them say the same as the longest one.
 */
static bool entries_agree(struct table *table, struct cfi_functions *functions,
			  const struct cfi_function *longest, const struct cfi_function *all,
			  u32 nr, struct cfi_rows rows[2])
{
	struct cfi_cie cie, other;
	u32 i;

	if (nr == 1)
		return true;
	run_function(table, functions, longest, &cie, &rows[0]);
	for (i = 0; i < nr && !table->error; i++) {
		if (&all[i] == longest)
			continue;
		run_function(table, functions, &all[i], &other, &rows[1]);
		if (table->error || !cies_agree(&cie, &other) ||
		    !rows_agree(&rows[0], &rows[1], all[i].size))
			return false;
	}
	return true;
}

/* Keeps one entry of each function, up to where the next one begins. */
static void unite_functions(struct table *table, struct cfi_functions *functions,
			    struct cfi_rows rows[2])
{
	struct cfi_function *all = functions->all, function;
	u32 i, k, next, nr = 0;

	for (i = 0; i < functions->nr && !table->error; i = next) {
		k = i;
		for (next = i + 1; next < functions->nr && all[next].start == all[i].start; next++)
			if (all[next].size > all[k].size)
				k = next;
		function = all[k];
		function.is_contradicted =
			!entries_agree(table, functions, &all[k], &all[i], next - i, rows);
		if (next < functions->nr)
			function.size = min_t(u64, function.size, all[next].start - function.start);
		all[nr++] = function;
	}
	functions->nr = nr;
}

/* Removes the rows of the first @skipped bytes. */
static void skip_rows(struct cfi_rows *rows, u32 skipped)
{
	u32 i, gone = 0;

	while (gone + 1 < rows->nr && rows->all[gone + 1].start <= skipped)
		gone++;
	rows->nr -= gone;
	for (i = 0; i < rows->nr; i++) {
		rows->all[i] = rows->all[i + gone];
		rows->all[i].start -= min_t(u32, skipped, rows->all[i].start);
	}
}

static void convert_function(struct table *table, struct cfi_functions *functions,
			     const struct cfi_function *function, struct cfi_rows *rows)
{
	struct cfi_cie cie;

	if (function->is_contradicted) {
		table->counts.holes[CFI_HOLE_OVERLAP] += function->size;
		return;
	}
	run_function(table, functions, function, &cie, rows);
	if (!rows->nr || table->error)
		return;
	resolver_raise_cfa(functions->machine, rows->all, rows->nr);
	skip_rows(rows, function->skipped);
	table_add(table, &cie, function->start, function->size, rows->all, rows->nr);
}

/* @index is the first function that does not begin before @plt. */
static bool is_described(const struct cfi_functions *functions, u32 index, const struct plt *plt)
{
	const struct cfi_function *all = functions->all;

	if (index < functions->nr && all[index].start - plt->start < plt->size)
		return true;
	return index > 0 && plt->start - all[index - 1].start < all[index - 1].size;
}

/* Adds a PLT that no function describes. */
static void convert_plt(struct table *table, const struct cfi_source *source,
			const struct cfi_functions *functions, u32 index, const struct plt *plt)
{
	static const struct cfi_cie plain;

	if (is_described(functions, index, plt) || plt->start < table_end(table) ||
	    ranges_bytes_within(&source->code, plt->start, plt->size) != plt->size)
		return;
	table_add(table, &plain, plt->start, plt->size, plt->rows, plt->nr);
	table->counts.recognised += plt->size;
}

/* Adds analysed code, and PLTs, that come before the function @index. */
static void convert_code(struct table *table, const struct cfi_source *source,
			 const struct cfi_functions *functions, u32 index,
			 const struct code_rows *code, u32 nr_done[2])
{
	u64 end = index < functions->nr ? functions->all[index].start : ~0ull;
	static const struct cfi_cie plain;
	const struct code_part *part;
	const struct plts *plts = &source->plts;

	for (; nr_done[0] < code->nr_parts && code->parts[nr_done[0]].start < end; nr_done[0]++) {
		part = &code->parts[nr_done[0]];
		while (nr_done[1] < plts->nr && plts->all[nr_done[1]].start < part->start)
			convert_plt(table, source, functions, index, &plts->all[nr_done[1]++]);
		table_add(table, &plain, part->start, part->size, &code->rows[part->first],
			  part->nr);
		table->counts.analysed += part->size;
	}
	while (nr_done[1] < plts->nr && plts->all[nr_done[1]].start <= end)
		convert_plt(table, source, functions, index, &plts->all[nr_done[1]++]);
}

/* Code that nothing describes is analysed where the file itself is at hand. */
static void analyse_code(struct table *table, const struct cfi_source *source,
			 const struct cfi_functions *functions, struct code_rows *code)
{
	struct code_image image;

	*code = (struct code_rows){};
	if (!source->elf)
		return;
	if (code_image_open(&image, source, functions))
		code_rows_find(code, &image, NULL, NULL);
	code_image_close(&image);
	memcpy(table->counts.unsure, code->holes, sizeof(code->holes));
}

static void convert_functions(struct table *table, const struct cfi_source *source,
			      struct cfi_functions *sections, struct cfi_rows *rows)
{
	struct cfi_functions *functions = &sections[CFI_EH_FRAME];
	const struct cfi_function *all = functions->all;
	u32 i, nr_done[2] = {};
	struct code_rows code;

	analyse_code(table, source, functions, &code);
	for (i = 0; i < functions->nr && !table->error; i++) {
		convert_code(table, source, functions, i, &code, nr_done);
		convert_function(table, &sections[all[i].origin], &all[i], rows);
	}
	convert_code(table, source, functions, functions->nr, &code, nr_done);
	code_rows_free(&code);
}

static const char *read_functions(struct table *table, struct cfi_functions *functions,
				  const struct cfi_section *sec, const struct cfi_source *source,
				  struct cfi_rows rows[2])
{
	const char *error = cfi_functions_read(functions, sec, source->machine, &source->code);

	if (error)
		return error;
	unite_functions(table, functions, rows);
	table->counts.odd[sec->is_debug] = functions->odd;
	table->counts.holes[CFI_HOLE_OUTSIDE] += functions->outside;
	return table->error;
}

/* A program runs with a damaged .debug_frame, too: what .eh_frame says is as good as ever. */
static const char *read_debug(struct table *table, const struct cfi_source *source,
			      struct cfi_functions *debug, struct cfi_rows rows[2])
{
	const char *error = read_functions(table, debug, &source->debug, source, rows);

	if (!error || (!source->sec.size && !source->go.nr))
		return error;
	table->counts.odd[true] = debug->odd + 1;
	debug->nr = 0;
	return NULL;
}

/* Adds to the functions of .eh_frame what the other sections have. */
static const char *fill(struct table *table, const struct cfi_source *source,
			struct cfi_functions *sections, struct cfi_rows rows[2])
{
	const char *error = NULL;
	u32 i;

	if (source->sec.size)
		error = read_functions(table, &sections[CFI_EH_FRAME], &source->sec, source, rows);
	if (!error && source->go.nr &&
	    !cfi_functions_read_go(&sections[CFI_GOPCLNTAB], &source->go, &source->code))
		error = "out of memory";
	if (!error && source->debug.size)
		error = read_debug(table, source, &sections[CFI_DEBUG_FRAME], rows);
	for (i = CFI_GOPCLNTAB; i < NR_CFI_ORIGINS && !error; i++)
		if (!cfi_functions_complete(&sections[CFI_EH_FRAME], &sections[i]))
			error = "out of memory";
	return error;
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
	struct cfi_functions *sections = calloc(NR_CFI_ORIGINS, sizeof(*sections));
	struct cfi_rows rows[2] = {};
	const char *error;
	u32 i;

	if (!sections)
		return "out of memory";
	error = fill(table, source, sections, rows);
	if (!error) {
		convert_functions(table, source, sections, rows);
		error = table->error;
	}
	for (i = 0; i < NR_CFI_ORIGINS; i++)
		cfi_functions_free(&sections[i]);
	free(sections);
	free(rows[0].all);
	free(rows[1].all);
	if (!error && table_size(table) > TABLE_MAX)
		return TABLE_TOO_LARGE;
	return error;
}

static void measure(struct conversion *conv, const struct elf *elf)
{
	const struct table *table = &conv->table;
	struct ranges code, covered = {};
	u32 i;

	for (i = 0; i < table->nr_fdes; i++)
		ranges_add(&covered, table->fdes[i].start, table->fdes[i].size);
	ranges_merge(&covered);
	code_find(&code, elf);
	conv->facts.code = ranges_bytes(&code);
	conv->facts.covered = ranges_common_bytes(&code, &covered);
	ranges_free(&code);
	ranges_free(&covered);
}

static void find_facts(struct conversion *conv, const struct elf *elf,
		       const struct cfi_source *source)
{
	conv->facts = (struct conversion_facts){
		.counts = conv->table.counts,
		.nr_fdes = conv->table.nr_fdes,
		.nr_rows = conv->table.nr_rows,
		.eh_frame_size = (u64)source->sec.size + source->debug.size,
		.header_size = source->header_size,
		.type = elf->type,
		.machine = elf->machine,
	};
	table_note_find(&conv->facts.note, elf);
	measure(conv, elf);
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

	*conv = (struct conversion){};
	error = cfi_source_open(&source, elf);
	if (!error) {
		conv->end = source.end;
		table_init(&conv->table, source.machine);
		error = conversion_fill(&conv->table, &source);
	}
	if (!error && !conv->table.nr_fdes)
		error = source.sec.size || source.debug.size || source.go.nr ?
			"its .eh_frame describes no function" :
			"has no .eh_frame: nothing describes its stack frames";
	if (!error)
		find_facts(conv, elf, &source);
	cfi_source_close(&source);
	return error;
}

void conversion_free(struct conversion *conv)
{
	table_free(&conv->table);
}
