// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognises code that no call frame information describes: that of PLTs, that at which
 * a loader starts, and a function of the vDSO. lld and mold write no call frame information
 * for a PLT, and no linker does for AArch64.
 *
 * Each instruction is compared, so a section that only has the name of a PLT gets no rows.
 */
#include <stdlib.h>

#include "chacha.h"
#include "plt.h"
#include "start.h"
#include "sframe_format.h"

/* A PLT of 16 bytes for each symbol of the largest program is smaller. */
#define PLT_MAX	(16u << 20)

/* In a pattern: any byte. */
#define ANY	-1

/**
 * struct form - a header or a slot of a PLT of x86_64
 * @code: its bytes, or ANY
 * @len: number of bytes in @code
 * @size: bytes of the header or slot
 * @push_end: of a slot: offset after its push; 0: it has none
 * @rows: of a header: offsets, and distances from SP to the CFA from there on; 0 ends them
 */
struct form {
	s16	code[18];
	u8	len;
	u8	size;
	u8	push_end;
	u8	rows[PLT_NR_ROWS][2];
};

/* The slot has pushed its index before it jumps to the header. */
static const struct form headers[] = {
	{
		/* push GOT+8; jmp *GOT+16 */
		.code = { 0xff, 0x35, ANY, ANY, ANY, ANY, 0xff, 0x25, ANY, ANY, ANY, ANY },
		.len = 12, .size = 16, .rows = { { 0, 16 }, { 6, 24 } },
	}, {
		/* mold: endbr64; push %r11; push GOT+8; jmp *GOT+16 */
		.code = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, ANY, ANY, ANY, ANY,
			  0xff, 0x25, ANY, ANY, ANY, ANY },
		.len = 18, .size = 32, .rows = { { 0, 8 }, { 6, 16 }, { 12, 24 } },
	},
};

static const struct form slots[] = {
	{
		/* jmp *SLOT; push INDEX; jmp HEADER */
		.code = { 0xff, 0x25, ANY, ANY, ANY, ANY, 0x68, ANY, ANY, ANY, ANY,
			  0xe9, ANY, ANY, ANY, ANY },
		.len = 16, .size = 16, .push_end = 11,
	}, {
		/* endbr64; push INDEX; jmp HEADER */
		.code = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, ANY, ANY, ANY, ANY,
			  0xe9, ANY, ANY, ANY, ANY },
		.len = 14, .size = 16, .push_end = 9,
	}, {
		/* endbr64; jmp *SLOT */
		.code = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, ANY, ANY, ANY, ANY },
		.len = 10, .size = 16,
	}, {
		/* mold: endbr64; mov INDEX, %r11d; jmp *SLOT */
		.code = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, ANY, ANY, ANY, ANY,
			  0xff, 0x25, ANY, ANY, ANY, ANY },
		.len = 16, .size = 16,
	}, {
		/* jmp *SLOT; xchg %ax, %ax */
		.code = { 0xff, 0x25, ANY, ANY, ANY, ANY, 0x66, 0x90 }, .len = 8, .size = 8,
	},
};

static bool has_form(const struct form *form, const u8 *bytes, u64 left)
{
	u32 i;

	if (left < form->size)
		return false;
	for (i = 0; i < form->len; i++)
		if (form->code[i] != ANY && form->code[i] != bytes[i])
			return false;
	return true;
}

static const struct form *find_form(const struct form *forms, u32 nr, const u8 *bytes, u64 left)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (has_form(&forms[i], bytes, left))
			return &forms[i];
	return NULL;
}

/* Without rules for other registers. The return address is where a call leaves it. */
static void add_row(struct plt *plt, const struct cfi_machine *machine, u32 start,
		    struct cfi_rule cfa)
{
	struct cfi_row *row = &plt->rows[plt->nr++];

	*row = (struct cfi_row){ .start = start, .state.sp.how = CFI_CFA, .state.cfa = cfa };
	if (machine->fixed_ra)
		row->state.ra = cfi_make_rule(CFI_CFA_MEM, 0, machine->fixed_ra);
}

static struct plt *add_part(struct plts *plts, u64 start, u32 size)
{
	struct plt *plt;

	if (!size || plts->nr == PLT_NR_PARTS)
		return NULL;
	plt = &plts->all[plts->nr++];
	*plt = (struct plt){ .start = start, .size = size };
	return plt;
}

static void add_header(struct plts *plts, const struct cfi_machine *machine, u64 addr,
		       const struct form *form)
{
	struct plt *plt = add_part(plts, addr, form->size);
	u32 i;

	for (i = 0; plt && i < PLT_NR_ROWS && form->rows[i][1]; i++)
		add_row(plt, machine, form->rows[i][0],
			cfi_make_rule(CFI_REG, machine->sp, form->rows[i][1]));
}

static void add_slots(struct plts *plts, const struct cfi_machine *machine, u64 addr, u32 size,
		      const struct form *form)
{
	struct plt *plt = add_part(plts, addr, size);
	struct cfi_plt pushing = {
		.mask = form->size - 1, .push_end = form->push_end, .shift = 3,
	};

	if (!plt)
		return;
	if (form->push_end)
		add_row(plt, machine, 0, (struct cfi_rule){ .how = CFI_PLT, .plt = pushing });
	else
		add_row(plt, machine, 0, cfi_make_rule(CFI_REG, machine->sp, 8));
}

static void recognise_x86_64(struct plts *plts, const struct cfi_machine *machine, u64 addr,
			     const u8 *bytes, u64 size)
{
	const struct form *form = find_form(headers, ARRAY_SIZE(headers), bytes, size);
	u64 start = 0, end;

	if (form) {
		add_header(plts, machine, addr, form);
		start = form->size;
	}
	form = find_form(slots, ARRAY_SIZE(slots), bytes + start, size - start);
	if (!form)
		return;
	for (end = start; has_form(form, bytes + end, size - end); end += form->size)
		;
	add_slots(plts, machine, addr + start, end - start, form);
}

#define AARCH64_BTI_C	0xd503245f
#define AARCH64_PUSH	0xa9bf7bf0	/* stp x16, x30, [sp, #-16]! */

/* The instructions of slots. None of them changes SP or x30. */
static const struct {
	u32	mask;
	u32	code;
} aarch64_slot[] = {
	{ 0xffffffff, AARCH64_BTI_C },
	{ 0x9f00001f, 0x90000010 },	/* adrp x16 */
	{ 0xffc003ff, 0xf9400211 },	/* ldr x17, [x16] */
	{ 0xffc003ff, 0x91000210 },	/* add x16, x16 */
	{ 0xffffffff, 0xd503219f },	/* autia1716 */
	{ 0xffffffff, 0xd61f0220 },	/* br x17 */
	{ 0xffffffff, 0xd503201f },	/* nop */
};

static u32 instruction(const u8 *bytes)
{
	u32 code;

	memcpy(&code, bytes, sizeof(code));
	return code;
}

static bool is_of_slot(const u8 *bytes)
{
	u32 i, code = instruction(bytes);

	for (i = 0; i < ARRAY_SIZE(aarch64_slot); i++)
		if ((code & aarch64_slot[i].mask) == aarch64_slot[i].code)
			return true;
	return false;
}

/*
 * The header saves x16 and x30. What follows in it is as in a slot: the part ends at its jump.
 */
static u64 recognise_aarch64_header(struct plts *plts, const struct cfi_machine *machine, u64 addr,
				    const u8 *bytes, u64 size)
{
	u64 push = size >= 8 && instruction(bytes) == AARCH64_BTI_C ? 4 : 0;
	struct plt *plt;
	u64 end;

	if (size < 32 || instruction(bytes + push) != AARCH64_PUSH)
		return 0;
	for (end = push + 4; end < 32; end += 4)
		if (!is_of_slot(bytes + end))
			return 0;
	plt = add_part(plts, addr, end);
	if (!plt)
		return 0;
	add_row(plt, machine, 0, cfi_make_rule(CFI_REG, machine->sp, 0));
	add_row(plt, machine, push + 4, cfi_make_rule(CFI_REG, machine->sp, 16));
	plt->rows[1].state.ra = cfi_make_rule(CFI_CFA_MEM, 0, -8);
	return end;
}

/* All slots have one row: the caller's registers are as they were. */
static void recognise_aarch64(struct plts *plts, const struct cfi_machine *machine, u64 addr,
			      const u8 *bytes, u64 size)
{
	u64 start = recognise_aarch64_header(plts, machine, addr, bytes, size), end;
	struct plt *plt;

	for (end = start; end + 4 <= size && is_of_slot(bytes + end); end += 4)
		;
	plt = add_part(plts, addr + start, end - start);
	if (plt)
		add_row(plt, machine, 0, cfi_make_rule(CFI_REG, machine->sp, 0));
}

static bool is_plt(const struct elf *elf, const struct elf_section *sec)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec", ".iplt" };
	u32 i;

	if (sec->type != SHT_PROGBITS || !(sec->flags & SHF_EXECINSTR) || sec->size > PLT_MAX)
		return false;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_is_named(elf, sec, names[i]))
			return true;
	return false;
}

/* The kernel starts the loader there: there is no caller. */
static void add_start(struct plts *plts, const struct elf *elf)
{
	struct plt *plt = add_part(plts, elf->entry, start_size(elf));

	if (plt)
		plt->rows[plt->nr++] = (struct cfi_row){
			.state.sp.how = CFI_CFA,
			.state.ra.how = CFI_UNDEFINED,
		};
}

/* The return address stays where the call has left it. */
static void add_chacha(struct plts *plts, const struct elf *elf,
		       const struct cfi_machine *machine)
{
	u64 start = 0;
	u32 size = chacha_find(elf, &start);
	struct plt *plt = add_part(plts, start, size);

	if (plt)
		add_row(plt, machine, 0, cfi_make_rule(CFI_REG, machine->sp, -machine->fixed_ra));
}

static int compare(const void *a, const void *b)
{
	const struct plt *one = a, *two = b;

	return (one->start > two->start) - (one->start < two->start);
}

/**
 * plts_find - find the PLTs of a file
 * @plts: filled in
 * @elf: the file
 * @machine: its architecture
 *
 * A PLT that cannot be read, or is not recognised, is not there.
 */
void plts_find(struct plts *plts, const struct elf *elf, const struct cfi_machine *machine)
{
	struct elf_section sec;
	u32 i, nr_read = 0;
	u8 *bytes;

	plts->nr = 0;
	for (i = 0; elf_get_section(elf, i, &sec) && plts->nr < PLT_NR_PARTS; i++) {
		if (!is_plt(elf, &sec))
			continue;
		/* A file of nothing but PLTs would cost time without end. */
		if (nr_read++ == PLT_NR_PARTS)
			break;
		if (file_copy(&elf->file, sec.off, sec.size, &bytes))
			continue;
		if (machine->abi == SFRAME_ABI_AMD64_LE)
			recognise_x86_64(plts, machine, sec.addr, bytes, sec.size);
		else
			recognise_aarch64(plts, machine, sec.addr, bytes, sec.size);
		free(bytes);
	}
	add_start(plts, elf);
	add_chacha(plts, elf, machine);
	qsort(plts->all, plts->nr, sizeof(*plts->all), compare);
}
