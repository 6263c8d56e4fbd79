// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads .gopclntab, in which Go's linker notes for each instruction how far the stack pointer is
 * below its value at the start of the function. The bytes may be anything.
 *
 * Go's runtime finds callers by these numbers. They do not say where the caller's frame pointer is
 * saved. All frames have it at one place, once a function has saved it. The instructions that do so
 * are looked for where the stack pointer moves first.
 *
 * Some functions of the runtime call on another stack. They keep the frame pointer, which leads
 * back to their own frame.
 */
#include <stdint.h>
#include <stdlib.h>

#include "gopclntab.h"
#include "sframe_format.h"

/**
 * struct gopclntab_layout - where a version has what
 * @magic: the first four bytes
 * @is_relative: the header has the address of the code, and functions are relative to it
 * @has_flags: functions have flags
 * @name: in the entry of a function: place of the offset of its name, as the next
 * @deltas: place of the offset of its table of stack pointers
 * @flags: place of its flags
 */
struct gopclntab_layout {
	u32	magic;
	bool	is_relative;
	bool	has_flags;
	u8	name;
	u8	deltas;
	u8	flags;
};

static const struct gopclntab_layout layouts[] = {
	/* Go 1.16, which has no flags, and Go 1.17 */
	{ .magic = 0xfffffffa, .name = 8, .deltas = 20 },
	/* Go 1.18 and 1.19 */
	{ .magic = 0xfffffff0, .is_relative = true, .has_flags = true,
	  .name = 4, .deltas = 16, .flags = 37 },
	/* Go 1.20 and later */
	{ .magic = 0xfffffff1, .is_relative = true, .has_flags = true,
	  .name = 4, .deltas = 16, .flags = 41 },
};

/* Flags of functions: nothing has called it; it loads the stack pointer. */
#define FLAG_TOP_FRAME	1
#define FLAG_SP_WRITE	2

/* A magic number, four bytes, and at most eight numbers of eight bytes. */
#define HEADER_SIZE	72

enum kind {
	KIND_PLAIN,
	KIND_TOP,	/* it has no caller */
	KIND_LEAVES,	/* it goes over to another stack, and does not come back */
	KIND_SWITCHES,	/* it calls on another stack */
	KIND_INJECTED,	/* a signal handler pretends that the interrupted code has called it */
	KIND_HOLE,
};

/* The functions that their flags do not say enough about. Without flags, the names count. */
static const struct {
	const char	*name;
	enum kind	kind;
	u8		flag;
} known_functions[] = {
	{ "runtime.mcall", KIND_LEAVES, FLAG_SP_WRITE },
	{ "runtime.morestack", KIND_LEAVES, FLAG_SP_WRITE },
	{ "runtime.asyncPreempt", KIND_INJECTED, 0 },
	{ "runtime.sigpanic", KIND_INJECTED, 0 },
	{ "runtime.sigpanic0", KIND_INJECTED, 0 },
	/* Go does not look above it. The frame of the signal is there. */
	{ "runtime.sigtramp", KIND_PLAIN, FLAG_TOP_FRAME },
	/* Handlers return to it, and nothing calls it. The walk knows such code by its bytes. */
	{ "runtime.sigreturn", KIND_HOLE, 0 },
	{ "runtime.sigreturn__sigaction", KIND_HOLE, 0 },
	{ "runtime.goexit", KIND_TOP, FLAG_TOP_FRAME },
	{ "runtime.mstart", KIND_TOP, FLAG_TOP_FRAME },
	{ "runtime.rt0_go", KIND_TOP, FLAG_TOP_FRAME },
	{ "runtime.gogo", KIND_HOLE, FLAG_SP_WRITE },
	{ "runtime.systemstack", KIND_SWITCHES, FLAG_SP_WRITE },
	{ "runtime.asmcgocall", KIND_SWITCHES, FLAG_SP_WRITE },
	{ "runtime.cgocallback", KIND_SWITCHES, 0 },
	{ "runtime.nanotime1", KIND_SWITCHES, FLAG_SP_WRITE },
	{ "runtime.walltime1", KIND_SWITCHES, FLAG_SP_WRITE },
	{ "time.now", KIND_SWITCHES, FLAG_SP_WRITE },
};

/* A longer name is none of these. */
#define NAME_ROOM	32

/**
 * struct go_function - a function, while its rows are made
 * @start: its address
 * @size: its bytes
 * @kind: what it is
 * @rows: takes the rows
 * @frame: how far the stack pointer moves first; 0: it has not moved yet
 * @saved: offset of the instruction from which on the caller's frame pointer is in the frame
 * @linked: offset of the instruction from which on the frame pointer points to the frame
 * @is_full: there was no memory for a row
 */
struct go_function {
	u64			start;
	u32			size;
	enum kind		kind;
	struct cfi_rows		*rows;
	u32			frame;
	u32			saved;
	u32			linked;
	bool			is_full;
};

/* Return: the unit of distances between instructions. */
static u8 quantum_of(const struct gopclntab *go)
{
	return go->machine->machine == EM_X86_64 ? 1 : 4;
}

static struct cfi_cursor cursor_at(const struct gopclntab *go, u64 off)
{
	struct cfi_cursor cur = { .pos = go->data, .end = go->data + go->size };

	cfi_block(&cur, off);
	return cur;
}

static u64 read_number(const struct gopclntab *go, u64 off, u32 size, bool *is_bad)
{
	struct cfi_cursor cur = cursor_at(go, off);
	u64 number = cfi_fixed(&cur, size);

	*is_bad |= cur.is_bad;
	return number;
}

/* Sets @code to the bytes at @addr, and to 0 where the code ends. */
static void read_code(const struct gopclntab *go, u64 addr, void *code, u32 len)
{
	u64 off = addr - go->code.addr;

	memset(code, 0, len);
	if (off < go->code.filesz)
		file_read(&go->elf->file, go->code.off + off, code,
			  min_t(u64, len, go->code.filesz - off));
}

/* Return: the offset after the instruction @code at @off of the function; 0: it is not there. */
static u32 skip_code(const struct gopclntab *go, const struct go_function *func, u32 off,
		     const u8 *code, u32 len)
{
	u8 found[8];

	read_code(go, func->start + off, found, len);
	return memcmp(found, code, len) ? 0 : off + len;
}

/* Makes an instruction that moves or loads: @op rbp, @slot(rsp). Return: its bytes. */
static u32 make_slot_code(u8 code[8], u8 op, u32 slot)
{
	const u32 len = !slot ? 0 : slot <= 0x7f ? 1 : 4;

	code[0] = 0x48;
	code[1] = op;
	code[2] = len == 0 ? 0x2c : len == 1 ? 0x6c : 0xac;
	code[3] = 0x24;
	memcpy(code + 4, &slot, sizeof(slot));
	return 4 + len;
}

/*
 * @off: after the instruction that moves the stack pointer. Before Go 1.21, that is followed by
 * mov %rbp, n-8(%rsp); lea n-8(%rsp), %rbp. Later it is push %rbp, and mov %rsp, %rbp follows.
 */
static void find_frame_x86_64(const struct gopclntab *go, struct go_function *func, u32 off)
{
	static const u8 push[] = { 0x55 }, mov[] = { 0x48, 0x89, 0xe5 };
	u8 code[8];

	if (func->frame == 8 && skip_code(go, func, off - 1, push, sizeof(push))) {
		func->saved = off;
		func->linked = skip_code(go, func, off, mov, sizeof(mov));
		return;
	}
	func->saved = skip_code(go, func, off, code, make_slot_code(code, 0x89, func->frame - 8));
	if (func->saved)
		func->linked = skip_code(go, func, func->saved, code,
					 make_slot_code(code, 0x8d, func->frame - 8));
}

/*
 * @off: after str x30, [sp, #-n]!, which stur x29, [sp, #-8] follows; or, for large frames, after
 * stp x29, x30, [x20, #-8]; mov sp, x20. Then sub x29, sp, #8 follows.
 */
static void find_frame_aarch64(const struct gopclntab *go, struct go_function *func, u32 off)
{
	u32 before[2] = {}, after[2];

	if (off >= sizeof(before))
		read_code(go, func->start + off - sizeof(before), before, sizeof(before));
	read_code(go, func->start + off, after, sizeof(after));
	if (after[0] == 0xf81f83fd)
		func->saved = off + 4;
	else if (before[0] == 0xa93ffa9d && before[1] == 0x9100029f)
		func->saved = off;
	if (func->saved && after[(func->saved - off) / 4] == 0xd10023fd)
		func->linked = func->saved + 4;
}

/* Functions that load the stack pointer are shorter. */
#define LOAD_MAX	512

/* mov n(%reg), %rsp. Return: the offset after it; 0: it is not there. */
static u32 find_load_x86_64(const u8 *code, u32 size)
{
	u32 i;

	for (i = 0; i + 4 <= size; i++)
		if ((code[i] & 0xfe) == 0x48 && code[i + 1] == 0x8b &&
		    (code[i + 2] & 0xf8) == 0x60 && code[i + 2] != 0x64)
			return i + 4;
	return 0;
}

/* mov sp, reg. Return: the offset after it; 0: it is not there. */
static u32 find_load_aarch64(const u8 *code, u32 size)
{
	u32 i, word;

	for (i = 0; i + 4 <= size; i += 4) {
		memcpy(&word, code + i, 4);
		if ((word & 0xfffffc1f) == 0x9100001f)
			return i + 4;
	}
	return 0;
}

static u32 find_load(const struct gopclntab *go, const struct go_function *func)
{
	u32 size = min_t(u32, func->size, LOAD_MAX);
	u8 code[LOAD_MAX];

	read_code(go, func->start, code, size);
	return go->machine->fixed_ra ? find_load_x86_64(code, size) :
				       find_load_aarch64(code, size);
}

/* A signal handler of arm64 pushes two words before it injects a call. */
static s32 pushed_bytes(const struct gopclntab *go, const struct go_function *func)
{
	return func->kind == KIND_INJECTED && !go->machine->fixed_ra ? 16 : 0;
}

static struct cfi_rule memory_at(s64 off)
{
	return cfi_make_rule(CFI_CFA_MEM, 0, off);
}

/* The row where the stack pointer is @delta bytes below its first value. */
static struct cfi_row row_by_sp(const struct gopclntab *go, const struct go_function *func, u32 off,
				s32 delta)
{
	const bool is_saved = func->saved && off >= func->saved && delta;
	const s32 pushed = pushed_bytes(go, func), ra = go->machine->fixed_ra;
	struct cfi_row row = { .start = off, .state.sp.how = CFI_CFA };

	if (delta < 0 || delta % 8 || (!ra && delta && (u32)delta != func->frame)) {
		row.hole = CFI_HOLE_MALFORMED;
		return row;
	}
	/* Assembly of arm64 may move the stack pointer, and leave the return address in x30. */
	if (!ra && delta && !func->saved) {
		row.hole = CFI_HOLE_RA;
		return row;
	}
	row.state.cfa = cfi_make_rule(CFI_REG, go->machine->sp, (s64)delta - ra + pushed);
	if (ra)
		row.state.ra = memory_at(ra);
	else if (delta)
		row.state.ra = memory_at(-(s64)delta - pushed);
	if (is_saved)
		row.state.fp = memory_at((ra ? ra : -(s64)delta - pushed) - 8);
	return row;
}

/* The row while the frame pointer points to the frame. */
static struct cfi_row row_by_fp(const struct gopclntab *go, const struct go_function *func, u32 off)
{
	struct cfi_row row = row_by_sp(go, func, off, func->frame);
	const s32 record = go->machine->fixed_ra ? 16 : 8 + func->frame;

	row.state.cfa = cfi_make_rule(CFI_REG, go->machine->fp, record);
	return row;
}

/* Adds a row, in the place of those that begin at its instruction or later. */
static void add_row(struct go_function *func, const struct cfi_row *row)
{
	struct cfi_rows *rows = func->rows;

	while (rows->nr && rows->all[rows->nr - 1].start >= row->start)
		rows->nr--;
	func->is_full |= !cfi_rows_add(rows, row);
}

/* @off: offset after the last instruction of an epilogue. Return: offset of that instruction. */
static u32 epilogue_start(const struct gopclntab *go, const struct go_function *func, u32 off)
{
	static const u8 add8[] = { 0x48, 0x83, 0xc4 }, add32[] = { 0x48, 0x81, 0xc4 };

	if (!go->machine->fixed_ra)
		return off - 4;
	if (skip_code(go, func, off - 4, add8, sizeof(add8)))
		return off - 4;
	/* pop %rbp needs no other row: the frame pointer still points to the frame. */
	return skip_code(go, func, off - 7, add32, sizeof(add32)) ? off - 7 : off;
}

#define DELTA_MAX	0x10000000	/* no frame is larger */

/**
 * struct deltas - a table of stack pointers, while it is read
 * @cur: the rest of it
 * @from: the stack pointer is @delta below its first value from this offset on
 * @to: and up to this one
 * @is_complete: all entries have been read
 */
struct deltas {
	struct cfi_cursor	cur;
	u64			from;
	u64			to;
	s32			delta;
	u32			quantum;
	bool			is_complete;
};

/* Reads the next entry. Return: false if there is none. */
static bool next_delta(struct deltas *deltas)
{
	u32 change, length;

	change = cfi_uleb(&deltas->cur);
	deltas->is_complete = !change && deltas->to && !deltas->cur.is_bad;
	if (deltas->is_complete)
		return false;
	length = cfi_uleb(&deltas->cur);
	deltas->from = deltas->to;
	deltas->to += (u64)length * deltas->quantum;
	deltas->delta = (u32)deltas->delta + (-(change & 1) ^ (change >> 1));
	deltas->cur.is_bad |= deltas->delta < -DELTA_MAX || deltas->delta > DELTA_MAX;
	return length && !deltas->cur.is_bad;
}

/*
 * systemstack() of arm64 may restore x30 and x29 by itself and jump, and the table does not count
 * that. Return: the offset after ldr x30, [sp], #n in the part; its end if it is not there.
 */
static u32 find_early_return(const struct gopclntab *go, const struct go_function *func,
			     const struct deltas *at)
{
	u64 end = min_t(u64, at->to, func->size);
	u32 off, code;

	for (off = at->from; !go->machine->fixed_ra && off + 4 <= end; off += 4) {
		read_code(go, func->start + off, &code, sizeof(code));
		if ((code & 0xfff00fff) == 0xf84007fe)
			return off + 4;
	}
	return at->to;
}

/* Adds the rows of one entry. @next_is_0: the stack pointer is back at its first value then. */
static void add_part(const struct gopclntab *go, struct go_function *func,
		     const struct deltas *at, bool next_is_0)
{
	u32 end = next_is_0 ? epilogue_start(go, func, at->to) : at->to;
	struct cfi_row row;

	if (at->delta > 0 && !func->frame) {
		func->frame = at->delta;
		if (go->machine->fixed_ra)
			find_frame_x86_64(go, func, at->from);
		else
			find_frame_aarch64(go, func, at->from);
	}
	row = row_by_sp(go, func, at->from, at->delta);
	add_row(func, &row);
	if (!at->delta || !func->saved)
		return;
	if (func->saved > at->from && func->saved < at->to) {
		row = row_by_sp(go, func, func->saved, at->delta);
		add_row(func, &row);
	}
	if (func->kind != KIND_SWITCHES || !func->linked || func->linked >= end)
		return;
	row = row_by_fp(go, func, func->linked > at->from ? func->linked : at->from);
	add_row(func, &row);
	if (end < at->to) {
		row = row_by_sp(go, func, end, at->delta);
		add_row(func, &row);
	}
	end = find_early_return(go, func, at);
	if (end < at->to) {
		row = (struct cfi_row){ .start = end, .hole = CFI_HOLE_SP };
		add_row(func, &row);
	}
}

/* Adds the rows of a function, as if it never loads the stack pointer. */
static void add_rows(const struct gopclntab *go, struct go_function *func, u64 table)
{
	struct deltas now, next = {
		.cur = cursor_at(go, table), .delta = -1, .quantum = quantum_of(go),
	};
	struct cfi_row rest = { .hole = CFI_HOLE_MALFORMED };
	bool is_read, is_next_read = next_delta(&next);

	do {
		now = next;
		is_read = is_next_read;
		is_next_read = is_read && now.to < func->size && next_delta(&next);
		if (is_read)
			add_part(go, func, &now, is_next_read && now.delta > 0 && !next.delta);
	} while (is_next_read);
	if (next.is_complete)
		rest.hole = CFI_HOLE_PADDING;
	rest.start = is_read ? now.to : now.from;
	if (rest.start < func->size)
		add_row(func, &rest);
}

/* @name may be cut off. */
static bool is_in_runtime(const char *name)
{
	return !strncmp(name, "runtime.", strlen("runtime."));
}

static enum kind find_kind(const struct gopclntab *go, const char *name, u8 flags)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known_functions); i++)
		if (!strcmp(known_functions[i].name, name) &&
		    (!go->layout->has_flags ||
		     (flags & known_functions[i].flag) == known_functions[i].flag))
			return known_functions[i].kind;
	if (flags & FLAG_TOP_FRAME)
		return KIND_TOP;
	if (flags & FLAG_SP_WRITE)
		return is_in_runtime(name) ? KIND_SWITCHES : KIND_HOLE;
	return KIND_PLAIN;
}

/* Sets @name to the name of a function, or the start of a longer one. */
static void read_name(const struct gopclntab *go, u64 off, char name[NAME_ROOM])
{
	struct cfi_cursor cur = cursor_at(go, off);
	size_t len = min_t(size_t, cur.end - cur.pos, NAME_ROOM - 1);

	memset(name, 0, NAME_ROOM);
	memcpy(name, cur.pos, len);
}

/*
 * Does the frame pointer point to the frame while the function is on another stack? On arm64, some
 * functions load it along with the stack pointer: ldr x29, [reg, #n] follows then.
 */
static bool keeps_fp(const struct gopclntab *go, const struct go_function *func)
{
	u32 load, next;

	if (go->machine->fixed_ra || !func->linked)
		return func->linked;
	load = find_load(go, func);
	read_code(go, func->start + load, &next, sizeof(next));
	return load && (next & 0xffc0001f) != 0xf940001d;
}

/* Reads what the section says of a function. Return: false if it is damaged. */
static bool find_function(const struct gopclntab *go, u32 index, struct go_function *func,
			  u64 *deltas)
{
	const struct gopclntab_layout *layout = go->layout;
	const u32 size = layout->is_relative ? 4 : 8;
	bool is_bad = false;
	char name[NAME_ROOM];
	u64 entry, end;
	u8 flags = 0;

	if (!gopclntab_get(go, index, &func->start, &end))
		return false;
	func->size = end - func->start;
	entry = go->functions + read_number(go, go->functions + (2ull * index + 1) * size, size,
					    &is_bad);
	read_name(go, go->names + read_number(go, entry + layout->name, 4, &is_bad), name);
	*deltas = go->deltas + read_number(go, entry + layout->deltas, 4, &is_bad);
	if (layout->has_flags)
		flags = read_number(go, entry + layout->flags, 1, &is_bad);
	func->kind = find_kind(go, name, flags);
	return !is_bad;
}

/**
 * gopclntab_get - find a function
 * @go: the section
 * @index: number of the function
 * @start: set to its address
 * @end: set to the address of the next function
 *
 * Return: false if there is no such function, or it is not in the code of the file.
 */
bool gopclntab_get(const struct gopclntab *go, u32 index, u64 *start, u64 *end)
{
	const u32 size = go->layout->is_relative ? 4 : 8;
	const u64 at = go->functions + 2ull * index * size;
	bool is_bad = index >= go->nr;

	*start = go->text + read_number(go, at, size, &is_bad);
	*end = go->text + read_number(go, at + 2 * size, size, &is_bad);
	return !is_bad && *start >= go->code.addr && *start < *end &&
	       *end - go->code.addr <= go->code.filesz && *end - *start <= INT32_MAX;
}

/**
 * gopclntab_run - make the rows of a function
 * @go: the section
 * @index: number of the function
 * @cie: set to what holds for all of its rows
 * @rows: the rows of the function replace what was there
 *
 * Return: false if there is not enough memory.
 */
bool gopclntab_run(const struct gopclntab *go, u32 index, struct cfi_cie *cie,
		   struct cfi_rows *rows)
{
	struct cfi_row hole = { .hole = CFI_HOLE_SP }, first = { .state.ra.how = CFI_UNDEFINED };
	struct go_function func = { .rows = rows };
	u64 deltas;

	rows->nr = 0;
	*cie = (struct cfi_cie){};
	if (!find_function(go, index, &func, &deltas))
		func.kind = KIND_HOLE;
	cie->is_signal = func.kind == KIND_INJECTED;
	if (func.kind != KIND_TOP && func.kind != KIND_HOLE)
		add_rows(go, &func, deltas);
	if (func.kind == KIND_LEAVES)
		first.start = find_load(go, &func);
	if (func.kind == KIND_TOP || first.start)
		add_row(&func, &first);
	else if (func.kind == KIND_HOLE || func.kind == KIND_LEAVES ||
		 (func.kind == KIND_SWITCHES && !keeps_fp(go, &func)))
		add_row(&func, &hole);
	return !func.is_full;
}

/* The first of these sections is the one that the linker has made. */
static bool is_relocations(const struct elf *elf, const struct elf_section *sec)
{
	return sec->type == SHT_RELA &&
	       (elf_is_named(elf, sec, ".rela") || elf_is_named(elf, sec, ".rela.dyn"));
}

/*
 * Return: the address that is stored at @addr. A position-independent file has it in a relocation,
 * and other bytes in its place.
 */
static u64 read_address(const struct elf *elf, const struct elf_section *sec, u64 at)
{
	struct elf_section relocations;
	const Elf64_Rela *rela;
	u64 i, address = 0;
	u8 *copy;

	if (at + 8 <= sec->size)
		file_read(&elf->file, sec->off + at, &address, sizeof(address));
	for (i = 0; elf_get_section(elf, i, &relocations); i++)
		if (is_relocations(elf, &relocations))
			break;
	if (!is_relocations(elf, &relocations) ||
	    file_copy(&elf->file, relocations.off, relocations.size, &copy))
		return address;
	rela = (const Elf64_Rela *)copy;
	for (i = 0; i < relocations.size / sizeof(*rela); i++)
		if (rela[i].r_offset == sec->addr + at)
			address = rela[i].r_addend;
	free(copy);
	return address;
}

static bool find_section(const struct elf *elf, const char *name, struct elf_section *sec)
{
	u32 i;

	for (i = 0; elf_get_section(elf, i, sec); i++)
		if (sec->type == SHT_PROGBITS && elf_is_named(elf, sec, name))
			return true;
	return false;
}

/* Go 1.26 no longer has the address of its code in the header, and has a section with it. */
#define TEXT_IN_MODULE	176

static u64 find_text(const struct gopclntab *go, const struct elf_section *sec, u64 at)
{
	struct elf_section module;
	u64 text;

	if (!go->layout->is_relative)
		return 0;
	text = read_address(go->elf, sec, at + 24);
	if (!text && find_section(go->elf, ".go.module", &module))
		text = read_address(go->elf, &module, TEXT_IN_MODULE);
	return text;
}

/* Finds the segment of the code. All functions are in it, and so as large as the file at most. */
static bool find_code(struct gopclntab *go, u64 addr)
{
	u32 i;

	for (i = 0; elf_get_segment(go->elf, i, &go->code); i++)
		if (go->code.type == PT_LOAD && go->code.flags & PF_X && addr >= go->code.addr &&
		    addr - go->code.addr < go->code.filesz)
			return file_has(&go->elf->file, go->code.off, go->code.filesz);
	return false;
}

static const struct gopclntab_layout *find_layout(const u8 *header, u8 quantum)
{
	u8 rest[] = { 0, 0, quantum, sizeof(u64) };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		if (!memcmp(header, &layouts[i].magic, 4) && !memcmp(header + 4, rest, 4))
			return &layouts[i];
	return NULL;
}

/* Return: the offset of the header in the section; the size of the section if it is not there. */
static u64 find_header(struct gopclntab *go)
{
	u64 off;

	for (off = 0; off + HEADER_SIZE <= go->size && !go->layout; off += 8)
		go->layout = find_layout(go->data + off, quantum_of(go));
	return go->layout ? off - 8 : go->size;
}

/* Offsets in the section count from the header. */
static void read_header(struct gopclntab *go, const struct elf_section *sec)
{
	const u64 at = find_header(go);
	bool is_bad = false;
	u64 word, first;

	if (!go->layout)
		return;
	go->text = find_text(go, sec, at);
	word = at + 24 + (go->layout->is_relative ? 8 : 0);
	go->names = at + read_number(go, word, 8, &is_bad);
	go->deltas = at + read_number(go, word + 24, 8, &is_bad);
	go->functions = at + read_number(go, word + 32, 8, &is_bad);
	go->nr = min_t(u64, read_number(go, at + 8, 8, &is_bad),
		       go->size / (go->layout->is_relative ? 8 : 16));
	first = go->text;
	if (!go->layout->is_relative)
		first = read_number(go, go->functions, 8, &is_bad);
	if (is_bad || !find_code(go, first))
		go->nr = 0;
}

/**
 * gopclntab_open - find and copy .gopclntab
 * @go: filled in; without such a section, it has no functions
 * @elf: the file, open for as long as @go is used
 * @machine: its architecture
 *
 * A program can run without it as far as this program knows: it is no error if it cannot be read.
 */
void gopclntab_open(struct gopclntab *go, const struct elf *elf, const struct cfi_machine *machine)
{
	/* ld puts the section of a position-independent file into the last of these. */
	static const char *const names[] = {
		".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro",
	};
	struct elf_section sec;
	size_t i;

	*go = (struct gopclntab){ .elf = elf, .machine = machine };
	for (i = 0; i < ARRAY_SIZE(names) && !find_section(elf, names[i], &sec); i++)
		;
	if (i == ARRAY_SIZE(names) || file_copy(&elf->file, sec.off, sec.size, &go->data))
		return;
	go->size = sec.size;
	read_header(go, &sec);
}

void gopclntab_close(struct gopclntab *go)
{
	free(go->data);
	go->data = NULL;
}
