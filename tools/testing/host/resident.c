// SPDX-License-Identifier: GPL-2.0-or-later
/* A section as the module has it in a resident table. */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>

#include "resident.h"
#include "sframe_quick.h"
#include "sframe_verify.h"

/* SFU_BUDGET / 2, and MAX_ROWS of sframe_table.c. */
#define BUDGET		80000u
#define MAX_ROWS	(256u << 20)

struct reader {
	struct sframe_reader		rd;
	const struct sframe_memory	*mem;
};

static int read_memory(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	const struct sframe_memory *mem = ((const struct reader *)rd)->mem;
	u64 off = addr - mem->addr;

	if (len > mem->len || off > mem->len - len)
		return -EFAULT;
	memcpy(dst, mem->bytes + off, len);
	return 0;
}

static bool accepts_functions(const struct resident *res)
{
	struct sframe_verify verify = { .budget = BUDGET, .rows_left = MAX_ROWS };
	struct reader reader = { .rd.read = read_memory, .mem = &res->mem };
	u32 i;

	for (i = 0; i < res->hdr.num_fdes; i++)
		if (sframe_verify_function(&verify, &res->hdr, &reader.rd, i))
			return false;
	return true;
}

static struct sframe_index *make_index(struct resident *res)
{
	const struct sframe_header *hdr = &res->hdr;
	struct sframe_index form, *index;
	u32 nr;

	nr = sframe_index_form(&form, hdr, sframe_index_start(hdr, &res->mem, 0),
			       sframe_index_start(hdr, &res->mem, hdr->num_fdes - 1));
	if (!nr)
		return NULL;
	index = malloc(sizeof(form) + nr * sizeof(u32));
	if (!index)
		err(1, NULL);
	*index = form;
	if (!sframe_index_add(index, hdr, &res->mem, 0, hdr->num_fdes)) {
		res->is_unsorted = true;
		free(index);
		return NULL;
	}
	sframe_index_end(index, hdr);
	return index;
}

/**
 * resident_init() - check a section, and prepare for look-ups
 * @res: set
 * @hdr: its header
 * @bytes: the section, at &sframe_header.addr; it must not change
 * @len: how many
 */
void resident_init(struct resident *res, const struct sframe_header *hdr, const u8 *bytes,
		   u32 len)
{
	*res = (struct resident){
		.hdr = *hdr,
		.mem = { .bytes = bytes, .addr = hdr->addr, .len = len },
	};
	if (!sframe_quick_can_search(hdr) || !hdr->num_fdes)
		return;
	res->index = make_index(res);
	res->is_accepted = accepts_functions(res);
	res->can_search = res->is_accepted &&
			  sframe_verified_init(&res->verified, hdr, bytes, res->index,
					       RESIDENT_KEYS);
}

void resident_free(struct resident *res)
{
	free(res->index);
	res->index = NULL;
}

/**
 * resident_find() - find a plain row in a table
 * @res: the table
 * @pc: address of an instruction
 * @row: set with true, except for the places of the function and of the row
 *
 * Return: false if there is no such row: it may be of another form.
 */
bool resident_find(const struct resident *res, u64 pc, struct sframe_plain_row *row)
{
	u32 rows = UINT32_MAX;
	const u8 *found = res->can_search ?
			  sframe_verified_find(&res->verified, pc + RESIDENT_KEYS, &rows) : NULL;

	if (!found)
		return false;
	*row = (struct sframe_plain_row){ .info = *found };
	memcpy(row->words, found + 1, sframe_words_sizes[*found]);
	return true;
}
