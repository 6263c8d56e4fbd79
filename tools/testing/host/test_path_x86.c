// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of arch/x86/sframe_path.h: where the instructions up to the end of a function say
 * that the return address is. The encodings are those of the assembler.
 */
#include <stdio.h>

#include "sframe_route.h"

struct code {
	const char	*bytes;
	size_t		size;
};

#define CODE(bytes)	{ bytes, sizeof(bytes) - 1 }

struct path_case {
	const char		*name;
	enum sframe_path_at	at;
	struct sframe_path	want;		/* not with LOST */
	struct code		code;
};

/* The path returns, and the stack pointer was moved. */
#define KEEPS(name, from, saved, by, code)						\
	{ name, SFRAME_PATH_RETURN, { .base = from, .off = by, .saved_off = saved },	\
	  CODE(code) }
#define RETURNS(name, by, code)		KEEPS(name, SFRAME_BASE_SP, 0, by, code)
/* It has loaded the frame pointer, too. */
#define LOADS(name, from, by, fp_at, code)						\
	{ name, SFRAME_PATH_RETURN, { .base = SFRAME_BASE_##from, .off = by,		\
	  .fp = { SFRAME_FP_LOADED, SFRAME_BASE_##from, fp_at } }, CODE(code) }
/* The frame pointer is not that of the caller. */
#define FP_IS(name, kind, by, at, code)							\
	{ name, SFRAME_PATH_RETURN, { .base = SFRAME_BASE_SP, .off = by,		\
	  .fp = { .what = SFRAME_FP_##kind, .off = at } }, CODE(code) }
#define JUMPS(name, by, code)								\
	{ name, SFRAME_PATH_JUMP, { .base = SFRAME_BASE_SP, .jump = by }, CODE(code) }
#define LOST(name, code)		{ name, SFRAME_PATH_LOST, {}, CODE(code) }
/* The last instruction that is followed is not one that the decoder knows. */
#define UNKNOWN(name, code)		{ name, SFRAME_PATH_LOST, { .size = -1 }, CODE(code) }

static const struct path_case cases[] = {
	RETURNS("nop", 0, "\x90\xc3"),
	RETURNS("repz ret", 0, "\xf3\xc3"),
	RETURNS("bnd ret", 0, "\xf2\xc3"),
	RETURNS("add $8,%rsp", 8, "\x48\x83\xc4\x08\xc3"),
	RETURNS("add $0x1000,%rsp", 4096, "\x48\x81\xc4\x00\x10\x00\x00\xc3"),
	RETURNS("sub $8,%rsp; add $8,%rsp", 0, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3"),
	RETURNS("pop %rbx", 8, "\x5b\xc3"),
	RETURNS("pop %r13", 8, "\x41\x5d\xc3"),
	RETURNS("pop %r12", 8, "\x41\x5c\xc3"),
	RETURNS("lea 8(%rsp),%rsp", 8, "\x48\x8d\x64\x24\x08\xc3"),
	RETURNS("push %rbp; pop %rbp", 0, "\x55\x5d\xc3"),
	RETURNS("push %rbp; mov %rsp,%rbp; pop %rbp", 0, "\x55\x48\x89\xe5\x5d\xc3"),
	RETURNS("push %rbp; mov %rsp,%rbp; sub $32,%rsp; leave", 0,
		"\x55\x48\x89\xe5\x48\x83\xec\x20\xc9\xc3"),
	RETURNS("push %rbp; mov %rsp,%rbp; push %rbx; lea -8(%rbp),%rsp; pop %rbx; pop %rbp", 0,
		"\x55\x48\x89\xe5\x53\x48\x8d\x65\xf8\x5b\x5d\xc3"),
	LOADS("pop %rbp", SP, 8, 0, "\x5d\xc3"),
	LOADS("pop %rbx; pop %rbp; pop %r12", SP, 24, 8, "\x5b\x5d\x41\x5c\xc3"),
	LOADS("mov 16(%rsp),%rbp; add $32,%rsp", SP, 32, 16,
	      "\x48\x8b\x6c\x24\x10\x48\x83\xc4\x20\xc3"),
	RETURNS("pushf; popf; pop %rax", 8, "\x9c\x9d\x58\xc3"),
	RETURNS("push $1; pop %rax", 0, "\x6a\x01\x58\xc3"),
	RETURNS("pushq 8(%rax); pop %rax", 0, "\xff\x70\x08\x58\xc3"),
	RETURNS("add $16,%rsp; vzeroupper", 16, "\x48\x83\xc4\x10\xc5\xf8\x77\xc3"),
	RETURNS("mov %rax,8(%rsp)", 0, "\x48\x89\x44\x24\x08\xc3"),
	RETURNS("mov %rax,(%rsp); add $8,%rsp", 8, "\x48\x89\x04\x24\x48\x83\xc4\x08\xc3"),
	RETURNS("mov %rsp,%rax", 0, "\x48\x89\xe0\xc3"),
	RETURNS("mov %rbp,%rax", 0, "\x48\x89\xe8\xc3"),
	RETURNS("cmp %rsp,%rax", 0, "\x48\x39\xe0\xc3"),
	RETURNS("cmp $1,%rbp", 0, "\x48\x83\xfd\x01\xc3"),
	RETURNS("test %rbp,%rbp", 0, "\x48\x85\xed\xc3"),
	RETURNS("mov (%rsp),%rax", 0, "\x48\x8b\x04\x24\xc3"),
	RETURNS("mov (%rbp,%rax,8),%rcx", 0, "\x48\x8b\x4c\xc5\x00\xc3"),
	RETURNS("mov $1,%ch", 0, "\xb5\x01\xc3"),
	RETURNS("add %ah,%ch", 0, "\x00\xe5\xc3"),
	RETURNS("mov %rax,%r12", 0, "\x49\x89\xc4\xc3"),
	RETURNS("mov %rax,%r13", 0, "\x49\x89\xc5\xc3"),
	RETURNS("movq %xmm4,%xmm5", 0, "\xf3\x0f\x7e\xec\xc3"),
	RETURNS("movaps %xmm4,%xmm5", 0, "\x0f\x28\xec\xc3"),
	RETURNS("vpaddb %ymm4,%ymm5,%ymm4", 0, "\xc5\xd5\xfc\xe4\xc3"),
	RETURNS("vpaddb %zmm4,%zmm5,%zmm4", 0, "\x62\xf1\x55\x48\xfc\xe4\xc3"),
	RETURNS("vmovdqu64 %zmm4,0x40(%rsp)", 0, "\x62\xf1\xfe\x48\x7f\x64\x24\x01\xc3"),
	RETURNS("vpternlogd $1,%zmm4,%zmm5,%zmm4", 0, "\x62\xf3\x55\x48\x25\xe4\x01\xc3"),
	RETURNS("kmovq %k4,%k5", 0, "\xc4\xe1\xf8\x90\xec\xc3"),
	RETURNS("movabs $0x123456789abcdef0,%rax", 0,
		"\x48\xb8\xf0\xde\xbc\x9a\x78\x56\x34\x12\xc3"),
	RETURNS("nopw %cs:0x0(%rax,%rax,1)", 0, "\x2e\x66\x0f\x1f\x04\x00\xc3"),
	RETURNS("endbr64", 0, "\xf3\x0f\x1e\xfa\xc3"),
	RETURNS("syscall", 0, "\x0f\x05\xc3"),
	RETURNS("rep movsb", 0, "\xf3\xa4\xc3"),
	RETURNS("lock incl (%rax)", 0, "\xf0\xff\x00\xc3"),
	RETURNS("test $1,%al", 0, "\xa8\x01\xc3"),
	RETURNS("testl $1,(%rax)", 0, "\xf7\x00\x01\x00\x00\x00\xc3"),
	RETURNS("notl (%rax)", 0, "\xf7\x10\xc3"),
	RETURNS("mulx %rax,%rbx,%rcx", 0, "\xc4\xe2\xe3\xf6\xc8\xc3"),
	RETURNS("fldt 16(%rsp)", 0, "\xdb\x6c\x24\x10\xc3"),
	RETURNS("mov %fs:0x28,%rax", 0, "\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xc3"),
	RETURNS("movw $1,(%rax)", 0, "\x66\xc7\x00\x01\x00\xc3"),
	RETURNS("movb $1,(%rax)", 0, "\xc6\x00\x01\xc3"),
	RETURNS("pinsrw $1,%eax,%xmm4", 0, "\x66\x0f\xc4\xe0\x01\xc3"),
	RETURNS("pshufd $1,%xmm4,%xmm5", 0, "\x66\x0f\x70\xec\x01\xc3"),
	RETURNS("aesenc %xmm4,%xmm5", 0, "\x66\x0f\x38\xdc\xec\xc3"),
	RETURNS("palignr $8,%xmm4,%xmm5", 0, "\x66\x0f\x3a\x0f\xec\x08\xc3"),
	RETURNS("vaddph %zmm4,%zmm5,%zmm4", 0, "\x62\xf5\x54\x48\x58\xe4\xc3"),
	LOADS("leave", FP, 8, 0, "\xc9\xc3"),
	LOADS("mov %rbp,%rsp; pop %rbp", FP, 8, 0, "\x48\x89\xec\x5d\xc3"),
	LOADS("lea -16(%rbp),%rsp; pop %rbx; pop %r12; pop %rbp", FP, 8, 0,
	      "\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3"),
	KEEPS("mov %rbp,%rsp", SFRAME_BASE_FP, 0, 0, "\x48\x89\xec\xc3"),
	KEEPS("mov 40(%rsp),%rsp", SFRAME_BASE_SAVED, 40, 0, "\x48\x8b\x64\x24\x28\xc3"),
	{ "mov 40(%rsp),%rsp; pop %rbp", SFRAME_PATH_RETURN,
	  { .base = SFRAME_BASE_SAVED, .saved_off = 40, .off = 8,
	    .fp = { SFRAME_FP_LOADED, SFRAME_BASE_SAVED, 0 } },
	  CODE("\x48\x8b\x64\x24\x28\x5d\xc3") },
	KEEPS("add $8,%rsp; mov 40(%rsp),%rsp", SFRAME_BASE_SAVED, 48, 0,
	      "\x48\x83\xc4\x08\x48\x8b\x64\x24\x28\xc3"),
	KEEPS("mov %r12,%rsp", 12, 0, 0, "\x4c\x89\xe4\xc3"),
	KEEPS("mov %rbx,%rsp; pop %r12", 3, 0, 8, "\x48\x89\xdc\x41\x5c\xc3"),
	LOST("mov %r12,%r13; mov %r13,%rsp", "\x4d\x89\xe5\x4c\x89\xec\xc3"),
	LOST("pop %r12; mov %r12,%rsp", "\x41\x5c\x4c\x89\xe4\xc3"),
	LOST("mov %rdi,%rsp", "\x48\x89\xfc\xc3"),
	LOST("mov %r11,%rsp", "\x4c\x89\xdc\xc3"),
	LOST("mov %r12,%rsp; push %rax; pop %rax", "\x4c\x89\xe4\x50\x58\xc3"),
	LOST("add $0x208,%rsp; push %rax; pop %rax; sub $8,%rsp",
	     "\x48\x81\xc4\x08\x02\x00\x00\x50\x58\x48\x83\xec\x08\xc3"),
	LOST("call *%rax", "\xff\xd0\xc3"),
	LOST("call *8(%rip)", "\xff\x15\x08\x00\x00\x00\xc3"),
	LOST("jmp *%rax", "\xff\xe0\xc3"),
	LOST("jmp *8(%rax)", "\xff\x60\x08\xc3"),
	LOST("push %rax", "\x50\xc3"),
	LOST("push %rax; ret", "\x50\xc3"),
	LOST("add $8,%rsp; push %rax", "\x48\x83\xc4\x08\x50\xc3"),
	LOST("mov %rax,(%rsp)", "\x48\x89\x04\x24\xc3"),
	LOST("movq $1,(%rsp)", "\x48\xc7\x04\x24\x01\x00\x00\x00\xc3"),
	LOST("sub %rax,%rsp", "\x48\x29\xc4\xc3"),
	LOST("and $-16,%rsp", "\x48\x83\xe4\xf0\xc3"),
	LOST("mov %rax,%rsp", "\x48\x89\xc4\xc3"),
	LOST("mov (%rax),%rsp", "\x48\x8b\x20\xc3"),
	LOST("mov -8(%rsp),%rsp", "\x48\x8b\x64\x24\xf8\xc3"),
	LOST("mov %rax,40(%rsp); mov 40(%rsp),%rsp",
	     "\x48\x89\x44\x24\x28\x48\x8b\x64\x24\x28\xc3"),
	LOST("mov 8(%rsp,%rax),%rsp", "\x48\x8b\x64\x04\x08\xc3"),
	LOST("lea 8(%rsp,%rax),%rsp", "\x48\x8d\x64\x04\x08\xc3"),
	LOST("lea 8(%rax),%rsp", "\x48\x8d\x60\x08\xc3"),
	LOST("mov %ebp,%esp", "\x89\xec\xc3"),
	LOST("add $8,%esp", "\x83\xc4\x08\xc3"),
	LOST("xchg %rax,%rsp", "\x48\x94\xc3"),
	LOST("pop %rsp", "\x5c\xc3"),
	LOST("add $0x7fffffff,%rsp", "\x48\x81\xc4\xff\xff\xff\x7f\xc3"),
	FP_IS("xor %ebp,%ebp", DATA, 0, 0, "\x31\xed\xc3"),
	FP_IS("mov %rax,%rbp", DATA, 0, 0, "\x48\x89\xc5\xc3"),
	FP_IS("inc %rbp", DATA, 0, 0, "\x48\xff\xc5\xc3"),
	LOST("xor %ebp,%ebp; leave", "\x31\xed\xc9\xc3"),
	FP_IS("mov %rsp,%rbp", AT, 0, 0, "\x48\x89\xe5\xc3"),
	FP_IS("lea 8(%rsp),%rbp", AT, 0, 8, "\x48\x8d\x6c\x24\x08\xc3"),
	FP_IS("mov (%rax),%rbp", DATA, 0, 0, "\x48\x8b\x28\xc3"),
	FP_IS("mov -8(%rsp),%rbp", DATA, 0, 0, "\x48\x8b\x6c\x24\xf8\xc3"),
	FP_IS("mov %rax,(%rsp); pop %rbp", DATA, 8, 0, "\x48\x89\x04\x24\x5d\xc3"),
	FP_IS("cmove %rax,%rbp", DATA, 0, 0, "\x48\x0f\x44\xe8\xc3"),
	FP_IS("movd %xmm0,%ebp", DATA, 0, 0, "\x66\x0f\x7e\xc5\xc3"),
	FP_IS("pextrq $1,%xmm0,%rbp", DATA, 0, 0, "\x66\x48\x0f\x3a\x16\xc5\x01\xc3"),
	FP_IS("pmovmskb %xmm0,%ebp", DATA, 0, 0, "\x66\x0f\xd7\xe8\xc3"),
	FP_IS("cvttsd2si %xmm0,%rbp", DATA, 0, 0, "\xf2\x48\x0f\x2c\xe8\xc3"),
	FP_IS("kmovq %k1,%rbp", DATA, 0, 0, "\xc4\xe1\xfb\x93\xe9\xc3"),
	FP_IS("mulx %rax,%rbp,%rcx", DATA, 0, 0, "\xc4\xe2\xd3\xf6\xc8\xc3"),
	FP_IS("mulx %rax,%rcx,%rbp", DATA, 0, 0, "\xc4\xe2\xf3\xf6\xe8\xc3"),
	FP_IS("rorx $1,%rax,%rbp", DATA, 0, 0, "\xc4\xe3\xfb\xf0\xe8\x01\xc3"),
	FP_IS("andn %rax,%rcx,%rbp", DATA, 0, 0, "\xc4\xe2\xf0\xf2\xe8\xc3"),
	FP_IS("blsr %rax,%rbp", DATA, 0, 0, "\xc4\xe2\xd0\xf3\xc8\xc3"),
	FP_IS("bswap %rbp", DATA, 0, 0, "\x48\x0f\xcd\xc3"),
	FP_IS("mov $1,%ebp", DATA, 0, 0, "\xbd\x01\x00\x00\x00\xc3"),
	FP_IS("mov $1,%bpl", DATA, 0, 0, "\x40\xb5\x01\xc3"),
	FP_IS("sete %bpl", DATA, 0, 0, "\x40\x0f\x94\xc5\xc3"),
	FP_IS("xadd %rax,%rbp", DATA, 0, 0, "\x48\x0f\xc1\xc5\xc3"),
	FP_IS("cmpxchg %rax,%rbp", DATA, 0, 0, "\x48\x0f\xb1\xc5\xc3"),
	FP_IS("imul $3,%rax,%rbp", DATA, 0, 0, "\x48\x6b\xe8\x03\xc3"),
	FP_IS("neg %rbp", DATA, 0, 0, "\x48\xf7\xdd\xc3"),
	FP_IS("shl $3,%rbp", DATA, 0, 0, "\x48\xc1\xe5\x03\xc3"),
	FP_IS("movzbl %al,%ebp", DATA, 0, 0, "\x0f\xb6\xe8\xc3"),
	LOST("je with a prefix of size", "\x66\x0f\x84\x00\x00\x00\x00\xc3"),
	LOST("mov $1,%bh; mov %rbx,%rsp", "\xb7\x01\x48\x89\xdc\xc3"),
	LOST("cpuid; mov %rbx,%rsp", "\x0f\xa2\x48\x89\xdc\xc3"),
	LOST("xchg %rax,(%rsp)", "\x48\x87\x04\x24\xc3"),
	LOST("lock xadd %rax,(%rsp)", "\xf0\x48\x0f\xc1\x04\x24\xc3"),
	LOST("movnti %rax,(%rsp)", "\x48\x0f\xc3\x04\x24\xc3"),
	LOST("movups %xmm0,(%rsp)", "\x0f\x11\x04\x24\xc3"),
	FP_IS("push %rbp; push %rbx; mov %rax,8(%rsp); pop %rbx; pop %rbp", DATA, 0, 0,
	      "\x55\x53\x48\x89\x44\x24\x08\x5b\x5d\xc3"),
	UNKNOWN("insertq", "\xf2\x0f\x78\xca\x5b\xc3\xc3"),
	UNKNOWN("ud2", "\x0f\x0b"),
	UNKNOWN("hlt", "\xf4"),
	UNKNOWN("int3", "\xcc"),
	UNKNOWN("int $0x80", "\xcd\x80\xc3"),
	UNKNOWN("lret", "\xcb"),
	UNKNOWN("enter $8,$0", "\xc8\x08\x00\x00\xc3"),
	UNKNOWN("ret $8", "\xc2\x08\x00"),
	UNKNOWN("iretq", "\x48\xcf"),
	LOST("popw %ax", "\x66\x58\xc3"),
	UNKNOWN(".byte 0x06", "\x06\xc3"),
	UNKNOWN(".byte 0xd5,0x08,0x90", "\xd5\x08\x90\xc3"),
	LOST(".byte 0x66,0xe9,0,0", "\x66\xe9\x00\x00\xc3"),
	RETURNS("jmp *8(%rip)", 0, "\xff\x25\x08\x00\x00\x00"),
	RETURNS("bnd jmp *8(%rip)", 0, "\xf2\xff\x25\x08\x00\x00\x00"),
	RETURNS("pop %rbx; jmp *8(%rip)", 8, "\x5b\xff\x25\x08\x00\x00\x00"),
	JUMPS("jmp .+18", 16, "\xeb\x10"),
	JUMPS("jmp .-14", -16, "\xeb\xf0"),
	JUMPS("jmp .+0x1005", 0x1000, "\xe9\x00\x10\x00\x00"),
};

static bool is_same(const struct sframe_path *a, const struct sframe_path *b)
{
	return a->base == b->base && a->off == b->off && a->saved_off == b->saved_off &&
	       a->jump == b->jump && a->fp.what == b->fp.what && a->fp.base == b->fp.base &&
	       a->fp.off == b->fp.off && !a->nr_pushed;
}

static bool is_known(const u8 *code)
{
	struct sframe_insn insn;

	return sframe_insn_decode(&insn, code);
}

static bool passes(const struct path_case *c)
{
	struct sframe_path path = SFRAME_PATH_INIT;
	enum sframe_path_at at = SFRAME_PATH_ON;
	u8 code[64 + SFRAME_INSN_READ] = {};
	size_t i, last = 0;

	memcpy(code, c->code.bytes, c->code.size);
	for (i = 0; i < c->code.size && at == SFRAME_PATH_ON; i += path.size) {
		last = i;
		at = sframe_path_step(&path, code + i);
	}
	if (at == SFRAME_PATH_LOST)
		return c->at == at && is_known(code + last) == !c->want.size;
	return at == c->at && i == c->code.size && is_same(&path, &c->want);
}

/* A record that the path completes, and the place where it has pushed the frame pointer. */
static bool finds_record(const struct code *code, s32 want)
{
	struct sframe_path path = SFRAME_PATH_INIT;
	u8 bytes[64 + SFRAME_INSN_READ] = {};
	size_t i;

	memcpy(bytes, code->bytes, code->size);
	for (i = 0; i < code->size; i += path.size)
		sframe_path_step(&path, bytes + i);
	return path.record_off == want;
}

static const struct {
	const char	*name;
	s32		record_off;
	struct code	code;
} records[] = {
	{ "push %rbp; mov %rsp,%rbp", -8, CODE("\x55\x48\x89\xe5") },
	{ "endbr64; push %rbp; mov %rsp,%rbp", -8, CODE("\xf3\x0f\x1e\xfa\x55\x48\x8b\xec") },
	{ "push %rbp; sub $8,%rax; mov %rsp,%rbp", -8,
	  CODE("\x55\x48\x83\xe8\x08\x48\x89\xe5") },
	{ "push %rbx; push %rbp; mov %rsp,%rbp", -16, CODE("\x53\x55\x48\x89\xe5") },
	{ "mov %rsp,%rbp", SFRAME_OFF_NONE, CODE("\x48\x89\xe5") },
	{ "push %rbp; push %rbx; mov %rsp,%rbp", SFRAME_OFF_NONE, CODE("\x55\x53\x48\x89\xe5") },
	{ "push %rbp; lea 8(%rsp),%rbp", SFRAME_OFF_NONE, CODE("\x55\x48\x8d\x6c\x24\x08") },
	{ "xor %ebp,%ebp; push %rbp; mov %rsp,%rbp", SFRAME_OFF_NONE,
	  CODE("\x31\xed\x55\x48\x89\xe5") },
};

/* Whole functions, with branches and calls. */
static const struct {
	const char		*name;
	enum sframe_path_at	at;
	s32			off;	/* of the return address */
	struct code		code;
} routes[] = {
	{ "1: dec %ecx; jnz 1b; ret", SFRAME_PATH_RETURN, 0, CODE("\xff\xc9\x75\xfc\xc3") },
	{ "jz 1f; hlt; 1: ret", SFRAME_PATH_RETURN, 0, CODE("\x74\x01\xf4\xc3") },
	{ "jz 1f; pop %rax; hlt; 1: ret", SFRAME_PATH_RETURN, 0, CODE("\x74\x02\x58\xf4\xc3") },
	{ "jz 1f; jz 2f; hlt; 1: hlt; 2: ret", SFRAME_PATH_RETURN, 0,
	  CODE("\x74\x03\x74\x02\xf4\xf4\xc3") },
	{ "jz 1f with 32 bits; hlt; 1: ret", SFRAME_PATH_RETURN, 0,
	  CODE("\x0f\x84\x01\x00\x00\x00\xf4\xc3") },
	{ "jrcxz 1f; hlt; 1: ret", SFRAME_PATH_RETURN, 0, CODE("\xe3\x01\xf4\xc3") },
	{ "1: jz 2f; jmp 1b; 2: pop %rax; ret", SFRAME_PATH_RETURN, 8,
	  CODE("\x74\x02\xeb\xfc\x58\xc3") },
	{ "1: jmp 1b", SFRAME_PATH_ON, 0, CODE("\xeb\xfe") },
	{ "jz 1f; hlt; 1: hlt", SFRAME_PATH_LOST, 0, CODE("\x74\x01\xf4\xf4") },
	{ "jmp 1f; hlt; 1: ret", SFRAME_PATH_RETURN, 0, CODE("\xeb\x01\xf4\xc3") },
	{ "call 1f; pop %rax; ret; 1: ret", SFRAME_PATH_RETURN, 8,
	  CODE("\xe8\x02\x00\x00\x00\x58\xc3\xc3") },
	{ "call 1f; ret; 1: hlt", SFRAME_PATH_LOST, 0, CODE("\xe8\x01\x00\x00\x00\xc3\xf4") },
	{ "jz 1f; call 2f; 1: ret; 2: hlt", SFRAME_PATH_RETURN, 0,
	  CODE("\x74\x05\xe8\x01\x00\x00\x00\xc3\xf4") },
	{ "call 1f; ret; 1: call 2f; ret; 2: ret", SFRAME_PATH_LOST, 0,
	  CODE("\xe8\x01\x00\x00\x00\xc3\xe8\x01\x00\x00\x00\xc3\xc3") },
	{ "call 1f; ret; 1: jmp *8(%rip)", SFRAME_PATH_LOST, 0,
	  CODE("\xe8\x01\x00\x00\x00\xc3\xff\x25\x08\x00\x00\x00") },
	{ "call 1f; 1: pop %rax; ret", SFRAME_PATH_RETURN, 0,
	  CODE("\xe8\x00\x00\x00\x00\x58\xc3") },
	{ "call 1f; ret; 1: add $8,%rsp; ret", SFRAME_PATH_RETURN, 0,
	  CODE("\xe8\x01\x00\x00\x00\xc3\x48\x83\xc4\x08\xc3") },
	{ "call 1f; ret; 1: mov %rax,(%rsp); ret", SFRAME_PATH_LOST, 0,
	  CODE("\xe8\x01\x00\x00\x00\xc3\x48\x89\x04\x24\xc3") },
	{ "call 1f; ret; 1: pop %rax; push %rbx; ret", SFRAME_PATH_LOST, 0,
	  CODE("\xe8\x01\x00\x00\x00\xc3\x58\x53\xc3") },
	{ "leave; call 1f; ret; 1: ret", SFRAME_PATH_LOST, 0,
	  CODE("\xc9\xe8\x01\x00\x00\x00\xc3\xc3") },
};

/* Follows a route as the module does; what is not code of the function ends it. */
static bool takes_route(const struct code *code, enum sframe_path_at want, s32 off)
{
	u8 bytes[64 + SFRAME_INSN_READ] = {};
	enum sframe_path_at at = SFRAME_PATH_ON;
	struct sframe_route route;
	unsigned int i;

	memcpy(bytes, code->bytes, code->size);
	sframe_route_begin(&route, 1);
	for (i = 0; i < 100 && at == SFRAME_PATH_ON; i++) {
		if (route.here.addr - 1 >= code->size)
			return false;
		at = sframe_path_step(&route.here.path, bytes + route.here.addr - 1);
		at = sframe_route_go(&route, at);
	}
	return want == at && (at != SFRAME_PATH_RETURN || route.here.path.off == off);
}

static bool report(bool passed, unsigned int nr, const char *name)
{
	printf("%s %u - path: %s\n", passed ? "ok" : "not ok", nr, name);
	return passed;
}

int main(void)
{
	bool all_passed = true;
	unsigned int nr = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		all_passed &= report(passes(&cases[i]), ++nr, cases[i].name);
	for (i = 0; i < ARRAY_SIZE(records); i++)
		all_passed &= report(finds_record(&records[i].code, records[i].record_off),
				     ++nr, records[i].name);
	for (i = 0; i < ARRAY_SIZE(routes); i++)
		all_passed &= report(takes_route(&routes[i].code, routes[i].at, routes[i].off),
				     ++nr, routes[i].name);
	printf("1..%u\n", nr);
	return !all_passed;
}
