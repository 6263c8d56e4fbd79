// SPDX-License-Identifier: GPL-2.0-or-later
/* A section as the module has it in a table. */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>

#include "host_table.h"

/* Bytes of a table at most. Fuzzers have less: they would spend their time on the largest. */
#ifndef HOST_TABLE_MAX_SIZE
#define HOST_TABLE_MAX_SIZE	0x40000000u
#endif

static void *allocate(size_t nr, size_t size)
{
	void *memory = calloc(nr, size);

	if (!memory)
		err(1, NULL);
	return memory;
}

static int compile_all(struct sframe_compile *compile)
{
	int error = sframe_compile_measure(compile);

	if (error)
		return error;
	compile->compiled.slots = allocate(compile->compiled.nr_slots + 1, sizeof(u32));
	compile->compiled.entries = allocate(compile->max_entries, sizeof(u32));
	compile->compiled.rows = allocate(compile->max_rows, sizeof(*compile->compiled.rows));
	compile->hash = allocate(2 * compile->max_rows, sizeof(u32));
	error = sframe_compile_fill(compile);
	free(compile->hash);
	return error;
}

/**
 * host_table_init() - compile a section
 * @res: set
 * @hdr: its header
 * @bytes: the section, at &sframe_header.addr
 * @len: how many
 */
void host_table_init(struct host_table *res, const struct sframe_header *hdr, const u8 *bytes,
		     u32 len)
{
	struct sframe_reader rd = { .bytes = bytes, .addr = hdr->addr, .len = len };
	struct sframe_compile compile = {
		.hdr = hdr, .rd = &rd, .max_size = HOST_TABLE_MAX_SIZE,
		.secret = 0x9e3779b97f4a7c15,
	};

	*res = (struct host_table){};
	if (!(hdr->flags & SFRAME_F_FDE_SORTED) || hdr->swapped || !hdr->num_fdes)
		return;
	res->is_accepted = !compile_all(&compile);
	res->compiled = compile.compiled;
	res->defect = rd.defect;
}

void host_table_free(struct host_table *res)
{
	free(res->compiled.slots);
	free(res->compiled.entries);
	free(res->compiled.rows);
	*res = (struct host_table){};
}

/**
 * host_table_find() - find a row in a table
 * @res: the table, which the module accepts
 * @pc: address of an instruction
 * @row: set with 0, but for &sframe_row.start and &sframe_row.pcmask
 *
 * Return: 0; -ENOENT if the table has no row.
 */
int host_table_find(const struct host_table *res, u64 pc, struct sframe_row *row)
{
	u32 nr = sframe_compiled_find(&res->compiled, pc), most = UINT32_MAX;

	if (!nr)
		return -ENOENT;
	*row = res->compiled.rows[nr];
	row->func = sframe_compiled_function(&res->compiled, pc, &most);
	return 0;
}
