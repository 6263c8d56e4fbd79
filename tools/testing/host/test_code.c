// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the analysis of code that nothing describes: functions of a few instructions, and the
 * rows that follow from them. What may be wrong must give no row.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "code_rows.h"

#define CODE_ADDR	0x401000
#define CODE_MAX	128

/* Each row: the offset, the CFA, and where the caller's frame pointer is, unless it is in place */
static const struct {
	const char	*name;
	const char	*code;
	const char	*rows;
} cases[] = {
	/* push %rbx; call .+0x1000; pop %rbx; ret */
	{ "push and pop",
	  "53 e8 fb 0f 00 00 5b c3",
	  "0 sp+8, 1 sp+16, 7 sp+8" },
	/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp; leave; ret */
	{ "frame pointer, stack of any size",
	  "55 48 89 e5 48 29 c4 c9 c3",
	  "0 sp+8, 1 sp+16 fp-16, 7 fp+16 fp-16, 8 sp+8" },
	/* ret $8 */
	{ "ret n",
	  "c2 08 00",
	  "none" },
	/* mov %r11,(%rsp); ret */
	{ "the return address is overwritten",
	  "4c 89 1c 24 c3",
	  "none" },
	/* call 1f; 2: pause; lfence; jmp 2b; 1: mov %r11,(%rsp); ret */
	{ "retpoline",
	  "e8 07 00 00 00 f3 90 0f ae e8 eb f9 4c 89 1c 24 c3",
	  "0 sp+8, 5 none" },
	/* push %rbp; mov %rsp,%rbp; add $8,%rbp; leave; ret */
	{ "leave, after the frame pointer has changed",
	  "55 48 89 e5 48 83 c5 08 c9 c3",
	  "none" },
	/* push %rbp; movq $0,(%rsp); pop %rbp; ret */
	{ "the saved frame pointer is overwritten",
	  "55 48 c7 04 24 00 00 00 00 5d c3",
	  "none" },
	/* push %rbp; movq $0,-8(%rsp); pop %rbp; ret */
	{ "the word below is written",
	  "55 48 c7 44 24 f8 00 00 00 00 5d c3",
	  "0 sp+8, 1 sp+16 fp-16, 11 sp+8" },
	/* enter $16,$0; leave; ret */
	{ "enter",
	  "c8 10 00 00 c9 c3",
	  "none" },
	/* push %rsp; pop %rsp; ret */
	{ "push and pop of the stack pointer",
	  "54 5c c3",
	  "0 sp+8, 1 sp+16, 2 sp+8" },
	/* add %rax,%rsp; ret */
	{ "the stack pointer plus something",
	  "48 01 c4 c3",
	  "none" },
	/* add $8,%esp; sub $8,%esp; ret */
	{ "the lower half of the stack pointer",
	  "83 c4 08 83 ec 08 c3",
	  "none" },
	/* pushw %ax; popw %ax; ret */
	{ "a push of 16 bits",
	  "66 50 66 58 c3",
	  "none" },
	/* mov %rsp,%rbx; and $-64,%rsp; mov %rbx,%rsp; ret */
	{ "realignment with a copy",
	  "48 89 e3 48 83 e4 c0 48 89 dc c3",
	  "0 sp+8, 7 r3+8, 10 sp+8" },
	/* mov %rsp,%rbx; and $-64,%rsp; mov $1,%bl; mov %rbx,%rsp; ret */
	{ "a part of the copy is overwritten",
	  "48 89 e3 48 83 e4 c0 b3 01 48 89 dc c3",
	  "none" },
	/*
	 * mov %rsp,%rax; sub $64,%rsp; and $-32,%rsp; mov %rax,32(%rsp); call .+0x1000; mov
	 * 32(%rsp),%rsp; ret
	 */
	{ "realignment with the copy in memory",
	  "48 89 e0 48 83 ec 40 48 83 e4 e0 48 89 44 24 20 e8 fb 0f 00 00 48 8b 64 24 20 c3",
	  "0 sp+8, 7 sp+72, 11 r0+8, 16 *(sp+32)+8, 26 sp+8" },
	/* and $-64,%rsp; ret */
	{ "realignment without a copy",
	  "48 83 e4 c0 c3",
	  "none" },
	/* call 1f; 1: pop %rax; ret */
	{ "a call of the next instruction",
	  "e8 00 00 00 00 58 c3",
	  "0 sp+8, 5 none" },
	/* push %rax; call 1f; 1: push %rbx; pop %rbx; ret: the call may not return */
	{ "a call of the function after it",
	  "50 e8 00 00 00 00 53 5b c3",
	  "0 sp+8, 1 sp+16, 6 none" },
	/* cmove %rax,%rsp; ret */
	{ "cmov to the stack pointer",
	  "48 0f 44 e0 c3",
	  "none" },
	/* mov %rdi,%rsp; ret */
	{ "another stack",
	  "48 89 fc c3",
	  "none" },
	/* mov $15,%eax; syscall; ret */
	{ "rt_sigreturn",
	  "b8 0f 00 00 00 0f 05 c3",
	  "none" },
	/* mov $14,%eax; syscall; ret */
	{ "another system call",
	  "b8 0e 00 00 00 0f 05 c3",
	  "0 sp+8" },
	/* mov $56,%eax; syscall; ret */
	{ "clone",
	  "b8 38 00 00 00 0f 05 c3",
	  "none" },
	/* xor %ebp,%ebp; ret */
	{ "the frame pointer is lost",
	  "31 ed c3",
	  "none" },
	/* mov %rbp,%r8; mov $1,%ebp; mov %r8,%rbp; ret */
	{ "a frame pointer in another register",
	  "49 89 e8 bd 01 00 00 00 4c 89 c5 c3",
	  "0 sp+8, 8 none, 11 sp+8" },
	/*
	 * push %rax; test %edi,%edi; je 1f; pop %rax; ret; 1: call .+0x1000; push %rbx; pop
	 * %rbx; push %rbx; pop %rbx; ret
	 */
	{ "a call that does not return, before another function",
	  "50 85 ff 74 02 58 c3 e8 fb 0f 00 00 53 5b 53 5b c3",
	  "0 sp+8, 1 sp+16, 6 sp+8, 7 sp+16, 12 none" },
	/* je .+3; mov $0xc3585050,%eax; ret */
	{ "a jump into an instruction",
	  "74 01 b8 50 50 58 c3 c3",
	  "none" },
	/* push %rax; jmp *%rax */
	{ "a jump to an unknown place",
	  "50 ff e0",
	  "none" },
	/* push %rax; jmp .+0x1000 */
	{ "a tail call with a changed stack",
	  "50 e9 fb 0f 00 00",
	  "none" },
	/* test %edi,%edi; je 1f; push %rbx; pop %rbx; 1: ret */
	{ "two paths that agree",
	  "85 ff 74 02 53 5b c3",
	  "0 sp+8, 5 sp+16, 6 sp+8" },
	/* test %edi,%edi; je 1f; push %rbx; 1: ret */
	{ "two paths that disagree",
	  "85 ff 74 01 53 c3",
	  "none" },
	/* 1: push %rax; dec %edi; jne 1b; ret */
	{ "a loop that pushes",
	  "50 ff cf 75 fb c3",
	  "none" },
	/* push %rbp; mov %rsp,%rbp; 1: push %rax; dec %edi; jne 1b; leave; ret */
	{ "a loop that pushes, with a frame pointer",
	  "55 48 89 e5 50 ff cf 75 fb c9 c3",
	  "0 sp+8, 1 sp+16 fp-16, 4 fp+16 fp-16, 10 sp+8" },
	/* 1: jmp 1b */
	{ "a loop without an end",
	  "eb fe",
	  "0 sp+8" },
	/* mov %rbp,-8(%rsp); mov $1,%ebp; mov -8(%rsp),%rbp; ret */
	{ "the frame pointer in the red zone",
	  "48 89 6c 24 f8 bd 01 00 00 00 48 8b 6c 24 f8 c3",
	  "0 sp+8, 10 sp+8 fp-16, 15 sp+8" },
	/* push %rbx; .byte 0x06; pop %rbx; ret */
	{ "bytes that are no instruction",
	  "53 06 5b c3",
	  "none" },
	/* cli; ret */
	{ "an instruction of the kernel",
	  "fa c3",
	  "none" },
};

static u32 read_code(const char *text, u8 *code)
{
	u32 nr = 0;
	char *end;

	for (; *text && nr < CODE_MAX; text = end)
		code[nr++] = strtoul(text, &end, 16);
	return nr;
}

static void print_row(FILE *out, const struct cfi_machine *machine, const struct cfi_state *row)
{
	const struct cfi_rule *cfa = &row->cfa;

	if (cfa->how == CFI_REG_MEM)
		fprintf(out, "*(%s%+d)+%u", cfa->reg == machine->sp ? "sp" : "fp", cfa->off,
			cfa->sum);
	else if (cfa->reg == machine->sp || cfa->reg == machine->fp)
		fprintf(out, "%s%+d", cfa->reg == machine->sp ? "sp" : "fp", cfa->off);
	else
		fprintf(out, "r%u%+d", cfa->reg, cfa->off);
	if (row->fp.how == CFI_CFA_MEM)
		fprintf(out, " fp%+d", row->fp.off);
}

static void print_rows(FILE *out, const struct code_image *image, const struct code_rows *rows)
{
	const struct code_part *part;
	const char *comma = "";
	u64 end = 0;
	size_t i;
	u32 k;

	for (i = 0; i < rows->nr_parts; i++) {
		part = &rows->parts[i];
		if (end && part->start != end)
			fprintf(out, ", %u none", (u32)(end - CODE_ADDR));
		for (k = 0; k < part->nr; k++) {
			const struct cfi_row *row = &rows->rows[part->first + k];

			fprintf(out, "%s%u ", comma, (u32)(part->start - CODE_ADDR) + row->start);
			print_row(out, image->machine, &row->state);
			comma = ", ";
		}
		end = part->start + part->size;
	}
	if (!end)
		fprintf(out, "none");
	else if (end != CODE_ADDR + image->size)
		fprintf(out, ", %u none", (u32)(end - CODE_ADDR));
}

static void test(const char *name, const char *code, const char *wanted)
{
	struct cfi_functions functions = {};
	u8 bytes[CODE_MAX], flags[CODE_MAX] = { CODE_SYMBOL };
	struct code_image image = {
		.machine = cfi_find_machine(EM_X86_64), .functions = &functions,
		.size = read_code(code, bytes), .bytes = bytes, .flags = flags,
	};
	struct code_rows rows;
	char got[512] = "";
	FILE *out = fmemopen(got, sizeof(got) - 1, "w");

	if (!out)
		exit(1);
	ranges_add(&image.ranges, CODE_ADDR, image.size);
	ranges_merge(&image.ranges);
	ranges_add(&image.all, CODE_ADDR, 0x10000);
	ranges_merge(&image.all);
	code_rows_find(&rows, &image, NULL, NULL);
	print_rows(out, &image, &rows);
	fclose(out);
	printf("%s - analysis: %s\n", strcmp(got, wanted) ? "not ok" : "ok", name);
	if (strcmp(got, wanted))
		printf("# got %s\n# not %s\n", got, wanted);
	code_rows_free(&rows);
	ranges_free(&image.ranges);
	ranges_free(&image.all);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test(cases[i].name, cases[i].code, cases[i].rows);
	printf("1..%zu\n", i);
	return 0;
}
