// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * GDB's JIT interface: a list of ELF objects in memory, one for each piece of code. LLVM, Julia,
 * Erlang, PHP and others keep it, some of them only if they are told to.
 */
#include <stdlib.h>

#include "runtime.h"

#define SYMBOL	"__jit_debug_descriptor"

/* struct jit_descriptor and struct jit_code_entry, as GDB's manual has them. */
struct descriptor {
	u32	version;
	u32	action;
	u64	relevant;
	u64	first;
};

struct entry {
	u64	next;
	u64	prev;
	u64	object;
	u64	size;
};

/* A section of the object that is loaded: libelf knows its address only. */
static void add_code(const struct elf *elf, struct ranges *code)
{
	struct elf_section sec;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if ((sec.flags & SHF_EXECINSTR) && sec.addr && sec.size < 1u << 30)
			ranges_add(code, sec.addr, sec.size);
	ranges_merge(code);
}

/*
 * LLVM lists the object as the compiler wrote it, with the addresses at which its sections are
 * loaded: there they are relocated. Others list an object that is right as it is.
 */
static void add_section(struct runtime *runtime, const struct elf *elf,
			const struct elf_section *sec, const struct ranges *code, bool is_debug)
{
	struct cfi_section cfi = {
		.size = sec->size, .addr = sec->addr, .text = code->nr ? code->all->start : 0,
		.is_debug = is_debug,
	};
	u8 *copy = NULL;

	if (sec->addr)
		copy = target_copy(runtime->target, sec->addr, sec->size);
	else if (sec->type != SHT_NOBITS && !(sec->flags & SHF_COMPRESSED))
		file_copy(&elf->file, sec->off, sec->size, &copy);
	cfi.data = copy;
	if (copy)
		runtime_add_source(runtime, &cfi, code, 0);
	free(copy);
}

static void add_object(struct runtime *runtime, const u8 *bytes, u64 size)
{
	struct file file = file_of_bytes(bytes, size);
	struct ranges code = {};
	struct elf_section sec;
	struct elf elf;
	u32 i;

	if (!elf_init(&elf, &file) && elf.ident[EI_CLASS] == ELFCLASS64 &&
	    elf.machine == runtime->machine->machine) {
		add_code(&elf, &code);
		for (i = 0; elf_get_section(&elf, i, &sec); i++) {
			bool is_debug = elf_is_named(&elf, &sec, ".debug_frame");

			if (is_debug || elf_is_named(&elf, &sec, ".eh_frame"))
				add_section(runtime, &elf, &sec, &code, is_debug);
		}
	}
	elf_close(&elf);
	ranges_free(&code);
}

/* The list may be changed at any time, and may have a loop. */
static void read_list(struct runtime *runtime, u64 addr)
{
	struct descriptor descriptor;
	struct entry entry;
	u64 next;
	u8 *bytes;
	u32 i;

	if (!target_read(runtime->target, addr, &descriptor, sizeof(descriptor)) ||
	    descriptor.version != 1)
		return;
	next = descriptor.first;
	for (i = 0; next && i < TARGET_ENTRIES_MAX && !runtime->error; i++, next = entry.next) {
		if (!target_read(runtime->target, next, &entry, sizeof(entry)))
			return;
		bytes = target_copy(runtime->target, entry.object, entry.size);
		if (bytes)
			add_object(runtime, bytes, entry.size);
		free(bytes);
	}
}

/* The program itself may have the symbol in no table but that of its file. */
static u64 find_in_program(const struct file *program)
{
	struct elf_section sec, names;
	struct elf_symbol sym;
	char name[sizeof(SYMBOL)];
	u64 addr = 0;
	struct elf elf;
	u32 i, k;

	if (!program->is_open || elf_init(&elf, program))
		goto close;
	for (i = 0; elf_get_section(&elf, i, &sec) && !addr; i++) {
		if (sec.type != SHT_SYMTAB || !elf_get_section(&elf, sec.link, &names))
			continue;
		for (k = 0; elf_get_symbol(&elf, &sec, k, &sym) && !addr; k++)
			if (sym.type == STT_OBJECT &&
			    !file_read(program, names.off + sym.name, name, sizeof(name)) &&
			    !memcmp(name, SYMBOL, sizeof(name)))
				addr = sym.value;
	}
close:
	if (program->is_open)
		elf_close(&elf);
	return addr;
}

/**
 * gdb_jit_read - add the code that is listed for a debugger
 * @runtime: the runtime
 * @program: the program of the process, if it is open
 */
void gdb_jit_read(struct runtime *runtime, const struct file *program)
{
	const struct target *target = runtime->target;
	u64 addr, in_program = 0;
	bool is_first = true;
	struct image image;
	u32 i;

	in_program = find_in_program(program);
	for (i = 0; i < target->nr && !runtime->error; i++) {
		const struct mapping *mapping = &target->all[i];

		if (mapping->off || !mapping->inode || !mapping->is_readable ||
		    !target_image(target, mapping->start, &image))
			continue;
		addr = target_symbol(target, &image, SYMBOL);
		/* The kernel maps the program below all other files, unless it is a loader. */
		if (!addr && in_program && is_first)
			addr = in_program + image.bias;
		is_first = false;
		if (addr)
			read_list(runtime, addr);
	}
}
