// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collects the FDEs of a section, and sorts them by address.
 *
 * Where functions overlap, an address belongs to the one that starts last, as for all
 * unwinders that search a sorted table.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cfi_functions.h"
#include "cfi_program.h"

/*
 * No compiler writes a larger CIE. Functions without number may share it, and each may have to
 * read it again. So all that is read of CIEs is in proportion to the section.
 */
#define CIE_MAX		512
#define CIES_READ_MAX	8

/* Return: the CIE at @off, which is valid until the next call; NULL if there is none. */
static const struct cfi_cie *get_cie(struct cfi_functions *functions, u32 off)
{
	u32 place = off / 4 % CFI_NR_CIES;
	struct cfi_cie *cie = &functions->cies.all[place];
	struct cfi_entry entry;

	if (functions->cies.known[place] && cie->off == off)
		return cie;
	if (cfi_find_entry(&functions->sec, off, &entry) != CFI_ENTRY_FOUND || !entry.is_cie ||
	    entry.end - entry.off > CIE_MAX)
		return NULL;
	functions->cie_bytes += entry.end - entry.off;
	if (functions->cie_bytes > CIES_READ_MAX * functions->sec.size + (1 << 20))
		return NULL;
	cfi_read_cie(functions->machine, &entry, cie);
	cfi_run_cie(&functions->sec, functions->machine, cie);
	functions->cies.known[place] = true;
	return cie;
}

static const struct cfi_cie *read_function(struct cfi_functions *functions,
					   const struct cfi_entry *entry,
					   struct cfi_fde *fde)
{
	const struct cfi_cie *cie = get_cie(functions, entry->cie);

	return cie && cfi_read_fde(&functions->sec, entry, cie, fde) ? cie : NULL;
}

/**
 * cfi_functions_get - read the entry of a function
 * @functions: the functions
 * @off: offset of the entry, from &struct cfi_function
 * @fde: filled in
 *
 * Return: the CIE of the function, which is valid until the next call. NULL: none; the same
 * entry was read before, so this is impossible.
 */
const struct cfi_cie *cfi_functions_get(struct cfi_functions *functions, u32 off,
					struct cfi_fde *fde)
{
	struct cfi_entry entry;

	if (cfi_find_entry(&functions->sec, off, &entry) != CFI_ENTRY_FOUND)
		return NULL;
	return read_function(functions, &entry, fde);
}

/* Return: false if there is not enough memory. */
static bool add_function(struct cfi_functions *functions, u32 *room,
			 const struct cfi_function *function)
{
	struct cfi_function *all;

	if (functions->nr == *room) {
		*room += *room / 2 + 256;
		all = reallocarray(functions->all, *room, sizeof(*all));
		if (!all)
			return false;
		functions->all = all;
	}
	functions->all[functions->nr++] = *function;
	return true;
}

/* Return: false if there is not enough memory. */
static bool take_entry(struct cfi_functions *functions, u32 *room, const struct cfi_entry *entry,
		       const struct ranges *code)
{
	struct cfi_fde fde;

	if (entry->is_cie)
		return true;
	if (!read_function(functions, entry, &fde)) {
		functions->odd++;
		return true;
	}
	/* In .debug_frame, the entry of a function that the linker has thrown away begins at 0. */
	if (fde.size == 0 || (functions->sec.is_debug && fde.start == 0))
		return true;
	/* A linker has thrown away the function, and not the entry. */
	if (fde.size > UINT32_MAX || ranges_bytes_within(code, fde.start, fde.size) != fde.size) {
		functions->outside += fde.size;
		return true;
	}
	return add_function(functions, room, &(struct cfi_function){
		.start = fde.start, .size = fde.size, .off = entry->off,
		.origin = functions->sec.is_debug ? CFI_DEBUG_FRAME : CFI_EH_FRAME,
	});
}

static int compare(const void *a, const void *b)
{
	const struct cfi_function *one = a, *two = b;

	if (one->start != two->start)
		return one->start < two->start ? -1 : 1;
	return (one->off > two->off) - (one->off < two->off);
}

static void sort(struct cfi_functions *functions)
{
	u32 i;

	for (i = 1; i < functions->nr; i++) {
		if (functions->all[i].start < functions->all[i - 1].start) {
			qsort(functions->all, functions->nr, sizeof(*functions->all), compare);
			return;
		}
	}
}

/**
 * cfi_functions_read - collect the functions of a section
 * @functions: filled in
 * @sec: the section; the caller keeps its bytes as long as @functions is used
 * @machine: its architecture
 * @code: the executable bytes of the file, merged
 *
 * Return: NULL, or the error as a text. The caller calls cfi_functions_free() in both cases.
 */
const char *cfi_functions_read(struct cfi_functions *functions, const struct cfi_section *sec,
			       const struct cfi_machine *machine, const struct ranges *code)
{
	struct cfi_entry entry;
	u32 off, room = 0;

	*functions = (struct cfi_functions){ .sec = *sec, .machine = machine };
	for (off = 0; off < sec->size; off = entry.end) {
		switch (cfi_find_entry(sec, off, &entry)) {
		case CFI_ENTRY_FOUND:
			if (!take_entry(functions, &room, &entry, code))
				return "out of memory";
			break;
		case CFI_ENTRY_ODD:
			functions->odd++;
			break;
		case CFI_ENTRY_TERMINATOR:
			/* An object in the middle may bring one. */
			break;
		case CFI_ENTRY_DAMAGED:
			return sec->is_debug ?
				"its .debug_frame is damaged: an entry runs past the end" :
				"its .eh_frame is damaged: an entry runs past the end";
		}
	}
	sort(functions);
	return NULL;
}

/**
 * cfi_functions_read_go - collect the functions of .gopclntab
 * @functions: filled in
 * @go: the section, open as long as @functions is used
 * @code: addresses of code; functions elsewhere are left out
 *
 * Return: false if there is not enough memory. The caller calls cfi_functions_free() in both cases.
 */
bool cfi_functions_read_go(struct cfi_functions *functions, const struct gopclntab *go,
			   const struct ranges *code)
{
	struct cfi_function function = { .origin = CFI_GOPCLNTAB };
	u64 end, last = 0;
	u32 i, room = 0;

	*functions = (struct cfi_functions){ .go = go, .machine = go->machine };
	for (i = 0; i < go->nr; i++) {
		/* They are in the order of addresses. Damage costs the functions that are not. */
		if (!gopclntab_get(go, i, &function.start, &end) || function.start < last ||
		    ranges_bytes_within(code, function.start, end - function.start) !=
			    end - function.start) {
			functions->odd++;
			continue;
		}
		last = end;
		function.size = end - function.start;
		function.off = i;
		if (!add_function(functions, &room, &function))
			return false;
	}
	return true;
}

/* Adds the parts of a function that are not in @known, which is merged. */
static bool add_parts(struct cfi_functions *functions, u32 *room,
		      const struct cfi_function *function, const struct ranges *known, size_t first)
{
	u64 start = function->start, end = start + function->size, until;
	struct cfi_function part = *function;

	for (; start < end; first++) {
		until = first < known->nr ? min_t(u64, known->all[first].start, end) : end;
		if (until > start) {
			part.start = start;
			part.size = until - start;
			part.skipped = start - function->start;
			if (!add_function(functions, room, &part))
				return false;
		}
		start = first < known->nr ? known->all[first].end : end;
	}
	return true;
}

/**
 * cfi_functions_complete - add what another section says of code that a section leaves out
 * @functions: the functions
 * @others: those of the other section; neither of the two lists has functions that overlap
 *
 * Return: false if there is not enough memory.
 */
bool cfi_functions_complete(struct cfi_functions *functions, const struct cfi_functions *others)
{
	u32 i, nr = functions->nr, room = nr;
	struct ranges known = {};
	bool is_done = true;
	size_t first = 0;

	for (i = 0; i < nr; i++)
		ranges_add(&known, functions->all[i].start, functions->all[i].size);
	ranges_merge(&known);
	for (i = 0; i < others->nr && is_done; i++) {
		while (first < known.nr && known.all[first].end <= others->all[i].start)
			first++;
		is_done = add_parts(functions, &room, &others->all[i], &known, first);
	}
	ranges_free(&known);
	sort(functions);
	return is_done;
}

void cfi_functions_free(struct cfi_functions *functions)
{
	free(functions->all);
	functions->all = NULL;
}
