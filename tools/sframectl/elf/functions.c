// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists the functions of an ELF file that are not covered. */
#include <stdlib.h>

#include "functions.h"
#include "grow.h"

/* The symbols of a stripped file are those that the dynamic linker needs. */
static bool find_symbols(const struct elf *elf, struct elf_section *found)
{
	struct elf_section sec;
	bool dynamic = false;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if (sec.type == SHT_SYMTAB) {
			*found = sec;
			return true;
		}
		if (sec.type == SHT_DYNSYM && !dynamic) {
			*found = sec;
			dynamic = true;
		}
	}
	return dynamic;
}

static bool is_function(const struct elf_symbol *sym)
{
	return sym->section != SHN_UNDEF &&
	       (sym->type == STT_FUNC || sym->type == STT_GNU_IFUNC);
}

/* Out of memory: the function is not listed. */
static void add(struct functions *functions, const struct function *func)
{
	struct function *all = grow(functions->all, functions->nr, sizeof(*all));

	if (!all)
		return;
	functions->all = all;
	all[functions->nr++] = *func;
}

/* A name that the assembler wrote without a size has at least one byte of code. */
static void add_if_uncovered(struct functions *functions, const struct elf_symbol *sym,
			     const struct ranges *covered)
{
	u64 size = sym->size ? sym->size : 1;
	struct function func = {
		.addr = sym->value,
		.size = sym->size,
		.missing = size - ranges_bytes_within(covered, sym->value, size),
		.name = sym->name,
	};

	if (func.missing)
		add(functions, &func);
}

static int compare(const void *a, const void *b)
{
	const struct function *f1 = a, *f2 = b;

	if (f1->addr != f2->addr)
		return f1->addr < f2->addr ? -1 : 1;
	return (f1->size > f2->size) - (f1->size < f2->size);
}

/* Keeps one name of each place. */
static void sort(struct functions *functions)
{
	struct function *all = functions->all;
	size_t i, nr = 0;

	if (!functions->nr)
		return;
	qsort(all, functions->nr, sizeof(*all), compare);
	for (i = 0; i < functions->nr; i++)
		if (!nr || compare(&all[nr - 1], &all[i]))
			all[nr++] = all[i];
	functions->nr = nr;
}

/**
 * functions_read_uncovered - list the functions that are not covered
 * @functions: filled in; the caller calls functions_free()
 * @elf: the file, which is linked
 * @covered: the addresses that are covered, merged
 *
 * Return: true if the file has symbols.
 */
bool functions_read_uncovered(struct functions *functions, const struct elf *elf,
			      const struct ranges *covered)
{
	struct elf_section symbols;
	struct elf_symbol sym;
	u32 i;

	*functions = (struct functions){};
	if (!find_symbols(elf, &symbols) ||
	    !elf_get_section(elf, symbols.link, &functions->names))
		return false;
	for (i = 0; elf_get_symbol(elf, &symbols, i, &sym); i++)
		if (is_function(&sym))
			add_if_uncovered(functions, &sym, covered);
	sort(functions);
	return true;
}

/**
 * functions_name - read the name of a function
 * @functions: the functions
 * @elf: the file
 * @func: one of @functions
 * @name: room for FUNCTION_NAME_SIZE bytes
 *
 * Return: @name, or "?" if it cannot be read.
 */
const char *functions_name(const struct functions *functions, const struct elf *elf,
			   const struct function *func, char *name)
{
	const struct elf_section *names = &functions->names;
	u64 off, len;

	if (func->name >= names->size ||
	    __builtin_add_overflow(names->off, (u64)func->name, &off) ||
	    off >= elf->file.size)
		return "?";
	len = min_t(u64, FUNCTION_NAME_SIZE - 1, names->size - func->name);
	len = min_t(u64, len, elf->file.size - off);
	if (file_read(&elf->file, off, name, len))
		return "?";
	name[len] = 0;
	if (len == FUNCTION_NAME_SIZE - 1 && strlen(name) == len)
		strcpy(name + len - 3, "...");
	return *name ? name : "?";
}

void functions_free(struct functions *functions)
{
	free(functions->all);
}
