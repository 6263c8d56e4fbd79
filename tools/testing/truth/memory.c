// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the memory of a process, page by page, and keeps the pages: data until its next
 * step, code until it changes its mappings.
 */
#include <err.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "memory.h"

#define PAGE		4096ul
#define NR_PAGES	512

/**
 * struct page - a page that was read
 * @addr: its address
 * @when: of its memory, when it was read
 * @is_present: it could be read
 * @bytes: of the page
 */
struct page {
	u64	addr;
	u64	when;
	bool	is_present;
	u8	bytes[PAGE];
};

/**
 * struct memory - the memory of one process
 * @pid: the process
 * @step: increases when data may change
 * @mapping: likewise for code
 * @data: pages by their addresses
 * @code: likewise
 */
struct memory {
	pid_t		pid;
	u64		step;
	u64		mapping;
	struct page	data[NR_PAGES];
	struct page	code[NR_PAGES];
};

struct memory *memory_open(pid_t pid)
{
	struct memory *mem = calloc(1, sizeof(*mem));

	if (!mem)
		err(1, "memory");
	mem->pid = pid;
	mem->step = 1;
	mem->mapping = 1;
	return mem;
}

void memory_close(struct memory *mem)
{
	free(mem);
}

/* The process has made a step. */
void memory_moved_on(struct memory *mem)
{
	mem->step++;
}

/* The process has changed its mappings. */
void memory_mapped(struct memory *mem)
{
	mem->mapping++;
	mem->step++;
}

static const u8 *read_page(struct memory *mem, struct page *pages, u64 addr, u64 when)
{
	struct page *page = &pages[addr / PAGE % NR_PAGES];
	struct iovec local = { page->bytes, PAGE };
	struct iovec remote = { (void *)addr, PAGE };

	if (page->addr != addr || page->when != when) {
		page->addr = addr;
		page->when = when;
		page->is_present = process_vm_readv(mem->pid, &local, 1, &remote, 1, 0) == PAGE;
	}
	return page->is_present ? page->bytes : NULL;
}

static bool copy(struct memory *mem, struct page *pages, u64 when, void *dst, u64 addr, size_t len)
{
	while (len) {
		u64 off = addr % PAGE;
		size_t part = min_t(size_t, len, PAGE - off);
		const u8 *bytes = read_page(mem, pages, addr - off, when);

		if (!bytes)
			return false;
		memcpy(dst, bytes + off, part);
		dst = (u8 *)dst + part;
		addr += part;
		len -= part;
	}
	return true;
}

/* Reads data, which may have changed since the last step. */
bool memory_read(struct memory *mem, void *dst, u64 addr, size_t len)
{
	return copy(mem, mem->data, mem->step, dst, addr, len);
}

/* Reads code, which changes with the mappings only. */
bool memory_read_code(struct memory *mem, void *dst, u64 addr, size_t len)
{
	return copy(mem, mem->code, mem->mapping, dst, addr, len);
}

bool memory_word(struct memory *mem, u64 addr, u64 *word)
{
	return memory_read(mem, word, addr, sizeof(*word));
}
