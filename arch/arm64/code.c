// SPDX-License-Identifier: GPL-2.0-or-later
/* Recognises arm64 code, such as calls. The code is a copy of user memory: it may be any bytes. */
#include <linux/bitops.h>
#include <linux/unaligned.h>

#include "sframe_arch.h"
#include "map/keeps_fp.h"
#include "walk/walk.h"

/* A kind of arm64 instructions: those whose bits under @mask equal @bits. */
#define INSN(mask, bits)	((u64)(mask) << 32 | (bits))
#define ANY			INSN(0, 0)
#define ADD_SP			INSN(0xffc003ff, 0x910003ff)
#define ADD_X16			INSN(0xffc003ff, 0x91000210)
#define ADRP_X16		INSN(0x9f00001f, 0x90000010)
#define ADRP_X19		INSN(0x9f00001f, 0x90000013)
#define AUTIA1716		INSN(0xffffffff, 0xd503219f)
#define AUTIASP			INSN(0xffffffbf, 0xd50323bf)	/* or autibsp */
#define B			INSN(0xfc000000, 0x14000000)
#define B_EQ			INSN(0xff00001f, 0x54000000)
#define BL			INSN(0xfc000000, 0x94000000)
#define BLR			INSN(0xfffffc1f, 0xd63f0000)
#define BLR_ANY			INSN(0xfefff000, 0xd63f0000)	/* blr, blraa, ... */
#define BLR_X1			INSN(0xffffffff, 0xd63f0020)
#define BR_X17			INSN(0xffffffff, 0xd61f0220)
#define BTI_C			INSN(0xffffffff, 0xd503245f)
#define CBZ_2			INSN(0xffffffe0, 0xb4000040)	/* cbz xN skips one instruction */
#define CMP_X0_0		INSN(0xffffffff, 0xf100001f)
#define FIND_X1_BY_X1		INSN(0x000003ff, 0x00000021)
#define FIND_X1_BY_X29		INSN(0x000003ff, 0x000003a1)
#define LDP_RECORD		INSN(0xffe07fff, 0xa8c07bfd)	/* ldp x29, x30, [sp], #any */
#define LDP_RECORD_16		INSN(0xffffffff, 0xa8c17bfd)
#define LDP_X1_X0		INSN(0xfffffc1f, 0xa9400001)
#define LDR_W0_SP		INSN(0xffc003ff, 0xb94003e0)
#define LDR_X17_X16		INSN(0xffc003ff, 0xf9400211)
#define LDRB_W0_X19		INSN(0xffc003ff, 0x39400260)
#define MOV_W0			INSN(0xffe0ffff, 0x2a0003e0)
#define MOV_X0_0		INSN(0xffffffff, 0xd2800000)
#define MOV_X0_X0		INSN(0xffffffff, 0xaa0003e0)
#define MOV_X29_SP		INSN(0xffffffff, 0x910003fd)
#define MOV_X8_EXIT		INSN(0xffffffff, 0xd2800ba8)
#define NOP			INSN(0xffffffff, 0xd503201f)
#define PACIASP			INSN(0xffffffbf, 0xd503233f)	/* or pacibsp */
#define RET			INSN(0xffffffff, 0xd65f03c0)
#define RETAA			INSN(0xfffffbff, 0xd65f0bff)	/* or retab */
#define SET_X29			INSN(0xffc003ff, 0x910003fd)
#define STP_PLT_HEAD		INSN(0xffffffff, 0xa9bf7bf0)	/* stp x16, x30, [sp, #-16]! */
#define STP_RECORD		INSN(0xffe07fff, 0xa9a07bfd)	/* stp x29, x30, [sp, #-any]! */
#define STP_RECORD_16		INSN(0xffffffff, 0xa9bf7bfd)
#define STP_RECORD_32		INSN(0xffffffff, 0xa9be7bfd)
#define STP_RECORD_AT		INSN(0xffe07fff, 0xa9007bfd)	/* stp x29, x30, [sp, #any] */
#define STP_RECORD_X20		INSN(0xffffffff, 0xa93ffa9d)
#define STR_X0_X1		INSN(0xfffe03ff, 0xf9020020)	/* str x0, [x1, #1024 to #2040] */
#define STR_X19_16		INSN(0xffffffff, 0xf9000bf3)
#define STR_X30			INSN(0xfff00fff, 0xf8100ffe)	/* str x30, [sp, #-n]! pushes LR */
#define STR_X30_AT		INSN(0xffc003ff, 0xf90003fe)	/* str x30, [sp, #n] stores LR */
#define STUR_X29_LOW		INSN(0xffffffff, 0xf81f83fd)	/* Go's stur x29, [sp, #-8] */
#define SUB_X29_8		INSN(0xffffffff, 0xd10023fd)
#define SVC			INSN(0xffffffff, 0xd4000001)
#define ZERO			INSN(0xffffffff, 0x00000000)

static bool is(u32 insn, u64 kind)
{
	return (insn & (kind >> 32)) == (u32)kind;
}

static u32 insn_at(const u8 *code)
{
	return get_unaligned_le32(code);
}

#define MAX_SEQUENCE	5

static bool matches(const u8 *code, const u64 *sequence)
{
	unsigned int i;

	for (i = 0; i < MAX_SEQUENCE; i++)
		if (sequence[i] != ANY && !is(insn_at(code + 4 * i), sequence[i]))
			return false;
	return true;
}

#define MATCHES(code, ...)	matches(code, (const u64 []){ __VA_ARGS__, ANY, ANY, ANY, ANY })

static bool is_ret(u32 insn)
{
	return is(insn, RET) || is(insn, RETAA);
}

/* ---- calls ---- */

enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra, unsigned long *where)
{
	u8 code[4];

	if (!sfu_walk_read_code(walk, code, ra - sizeof(code), sizeof(code)))
		return SFU_CALL_NONE;
	*where = ra - 4 + 4 * sign_extend64(insn_at(code), 25);
	if (is(insn_at(code), BL))
		return SFU_CALL_DIRECT;
	return is(insn_at(code), BLR_ANY) ? SFU_CALL_REGISTER : SFU_CALL_NONE;
}

/* ---- PLT slots ---- */

#define PLT_BYTES	24	/* bytes of the longest slot (bti, autia1716), or head (bti, stp) */

/*
 * Decodes the PLT slot @code at @addr: [bti c;] adrp; ldr; add; [autia1716;] br. Or the head of the
 * PLT, which has stp before adrp. Sets @slot to the address of the word that holds its target.
 * Returns the length in bytes up to the end of br; 0 for other code.
 */
static unsigned int decode_plt(const u8 *code, unsigned long addr, unsigned long *slot)
{
	unsigned int bti = is(insn_at(code), BTI_C) ? 4 : 0;
	unsigned int i = is(insn_at(code + bti), STP_PLT_HEAD) ? bti + 4 : bti, jump = i + 12;
	u32 adrp = insn_at(code + i), ldr = insn_at(code + i + 4), add = insn_at(code + i + 8);
	u64 pages = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);

	if (i < 8 && is(insn_at(code + jump), AUTIA1716))
		jump += 4;
	/* If the PLT slot's add would add 0, binutils 2.46 writes nop in place of add. */
	if (!is(adrp, ADRP_X16) || !is(ldr, LDR_X17_X16) ||
	    !(is(add, ADD_X16) || (is(add, NOP) && !(ldr & 0x3ffc00))) ||
	    !is(insn_at(code + jump), BR_X17))
		return 0;
	*slot = ((addr + i) & ~0xfffUL) + 4096 * sign_extend64(pages, 20) +
		8 * (ldr >> 10 & 0xfff);
	return jump + 4;
}

bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot)
{
	u8 code[PLT_BYTES];

	*slot = 0;
	if (!sfu_walk_read_code(walk, code, addr, sizeof(code)))
		return false;
	decode_plt(code, addr, slot);
	return true;
}

bool sfu_arm64_is_in_plt(struct sfu_walk *walk, unsigned long ip, unsigned long *sp)
{
	unsigned long slot, addr = ip - PLT_BYTES;
	u8 code[2 * PLT_BYTES];
	unsigned int off;

	if (!sfu_walk_read_code(walk, code, addr, sizeof(code)))
		return false;
	for (off = 0; off <= PLT_BYTES; off += 4) {
		if (off + decode_plt(code + off, addr + off, &slot) <= PLT_BYTES)
			continue;
		for (; off < PLT_BYTES; off += 4)
			*sp += is(insn_at(code + off), STP_PLT_HEAD) ? 16 : 0;
		return true;
	}
	return false;
}

/* ---- prologues of functions ---- */

#define TEXT_AFTER	36	/* bytes that are read to recognise the prologue of a function */

/* True if @insn stores x30 on the stack; false for stp x29, x30 (record), stp x16, x30 (PLT). */
static bool stores_x30(u32 insn)
{
	u32 first = insn & 0x1f, second = insn >> 10 & 0x1f;

	if (is(insn, STR_X30) || is(insn, STR_X30_AT))
		return true;
	if ((insn & 0xffe003e0) != 0xa9a003e0 &&	/* stp [sp, #-imm]! */
	    (insn & 0xffe003e0) != 0xa90003e0)		/* stp [sp, #imm] */
		return false;
	return first == 30 || (second == 30 && first != 29 && first != 16);
}

static enum sframe_prologue text_start(const u8 *code)
{
	u32 insn = insn_at(code);
	unsigned int i;

	/* Go's prologues of small and large (mov sp, x20) frames. Both make a frame record. */
	if (MATCHES(code, STR_X30, STUR_X29_LOW, SUB_X29_8) ||
	    MATCHES(code, STP_RECORD_X20, ANY, SUB_X29_8))
		return SFRAME_PROLOGUE_FP;
	if (stores_x30(insn))
		return SFRAME_PROLOGUE_OTHER;
	/*
	 * Do not count prologues of _init, _fini, __do_global_dtors_aux: these functions make a
	 * frame record even in files whose other functions keep no frame pointers.
	 */
	if ((!is(insn, STP_RECORD) && !is(insn, STP_RECORD_AT)) ||
	    MATCHES(code, STP_RECORD_16, MOV_X29_SP, LDP_RECORD_16) ||
	    MATCHES(code, STP_RECORD_16, MOV_X29_SP, BL, LDP_RECORD_16) ||
	    MATCHES(code, STP_RECORD_32, MOV_X29_SP, STR_X19_16, ADRP_X19, LDRB_W0_X19))
		return SFRAME_PROLOGUE_NONE;
	/* In a prologue, add x29, sp sets FP. Compilers may move other instructions before it. */
	for (i = 4; i < TEXT_AFTER; i += 4)
		if (is(insn_at(code + i), SET_X29))
			return SFRAME_PROLOGUE_FP;
	return SFRAME_PROLOGUE_OTHER;
}

void sframe_count_prologues(struct sframe_prologues *starts, const u8 *text, size_t len,
			    bool is_jit)
{
	size_t i;

	for (i = 0; i + TEXT_AFTER <= len; i += 4)
		sframe_prologues_add(starts, text_start(text + i));
}

/* ---- unwind rules from prologues and epilogues ---- */

static void set_row(struct sframe_row *row, int size, bool has_record)
{
	*row = (struct sframe_row){
		.cfa = { .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_SP, .off = size },
	};
	if (!has_record)
		return;
	row->ra = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = 8 - size };
	row->fp = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = -size };
}

/* Sets @row at an epilogue: [add sp, sp, #n;] ret, or ldp x29, x30, [sp], #n; [autiasp;] ret. */
static bool row_of_epilogue(const u8 *code, struct sframe_row *row)
{
	u32 insn = insn_at(code);

	set_row(row, 0, false);
	if (is(insn, ADD_SP)) {
		row->cfa.off = insn >> 10 & 0xfff;
		code += 4;
	} else if (is(insn, LDP_RECORD)) {
		set_row(row, 8 * sign_extend32(insn >> 15, 6), true);
		code += is(insn_at(code + 4), AUTIASP) ? 8 : 4;
	}
	return is_ret(insn_at(code));
}

bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row)
{
	const struct sfu_frame *frame = &walk->frame;
	u8 code[4 + 12];
	u32 before, insn;

	if (!sfu_walk_read_around(walk, code, frame->ip, 4, 12))
		return false;
	if (row_of_epilogue(code + 4, row))
		return true;
	if (!frame->is_activation)
		return false;
	set_row(row, 0, false);
	before = insn_at(code);
	insn = insn_at(code + 4);
	if (is(insn, PACIASP) || is(insn, STP_RECORD))
		return true;
	if (!is(before, STP_RECORD) || !is(insn, MOV_X29_SP))
		return false;
	set_row(row, -8 * sign_extend32(before >> 15, 6), true);
	return true;
}

static bool may_change_sp_or_link(u32 insn)
{
	const u32 rd = insn & 31;

	if (is(insn, B) || (insn & 0xff000010) == 0x54000000 ||
	    (insn & 0x7c000000) == 0x34000000 || is_ret(insn))
		return false;		/* b, b.cond, cbz, tbz, ret keep x30, SP */
	if ((insn & 0xffffff3f) == 0xd503241f || (insn & 0xfffff0ff) == 0xd50330bf)
		return false;			/* bti, dmb */
	/* Any other branch or system instruction counts as a change; mrs only if it loads x30. */
	if ((insn & 0x1c000000) == 0x14000000)
		return (insn & 0xfff00000) != 0xd5300000 || rd == 30;
	/* A load or store may change x30 as its operand, or SP as its base register. */
	if ((insn & 0x0a000000) == 0x08000000)
		return rd == 30 || (insn >> 10 & 31) == 30 || (insn >> 16 & 31) == 30 ||
		       (insn >> 5 & 31) == 31;
	if (rd != 31)
		return rd == 30;
	/* Destination 31 is SP in some forms of add, sub, and, orr, eor; else the zero register. */
	return (insn & 0x3f000000) == 0x11000000 || (insn & 0x3fe00000) == 0x0b200000 ||
	       ((insn & 0x1f800000) == 0x12000000 && (insn & 0x60000000) != 0x60000000);
}

#define ENTRY_INSNS	16

bool sfu_arm64_keeps_link(struct sfu_walk *walk, unsigned long func, unsigned long ip)
{
	u8 code[4 * ENTRY_INSNS];
	unsigned long off;

	if (ip - func >= sizeof(code) || !sfu_walk_read_code(walk, code, func, sizeof(code)))
		return false;
	for (off = 0; off < ip - func; off += 4)
		if (may_change_sp_or_link(insn_at(code + off)))
			return false;
	return true;
}

/* ---- code that starts programs and threads ---- */

unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip)
{
	u8 code[8];

	return sfu_walk_read_code(walk, code, ip, sizeof(code)) && MATCHES(code, CMP_X0_0, B_EQ) ?
	       4 + 4 * sign_extend64(insn_at(code + 4) >> 5, 18) : 0;
}

#define START_BEFORE	12
#define START_AFTER	8

static const struct {
	enum sfu_start	start;
	u8		before;		/* bytes from the start of @code to the return address */
	u64		code[MAX_SEQUENCE];
} starts[] = {
	/* glibc calls main(): set w0 to argc; [any instruction;] blr to main(); bl exit */
	{ SFU_START_MAIN, 8, { LDR_W0_SP, BLR, BL } },
	{ SFU_START_MAIN, 8, { MOV_W0, BLR, BL } },
	{ SFU_START_MAIN, 12, { LDR_W0_SP, ANY, BLR, BL } },
	{ SFU_START_MAIN, 12, { MOV_W0, ANY, BLR, BL } },
	/* _start of glibc makes two calls: bl __libc_start_main; bl abort */
	{ SFU_START_ENTRY, 4, { BL, BL } },
	/* thread_start() of glibc runs a thread: blr start_thread; mov x8, #__NR_exit; svc */
	{ SFU_START_THREAD, 4, { BLR, MOV_X8_EXIT, SVC } },
	/* start() of musl runs a thread: svc; ldp x1, x0, [xN]; blr x1; bl */
	{ SFU_START_THREAD, 12, { SVC, LDP_X1_X0, BLR_X1, BL } },
	/* A goroutine's function returns to bl in goexit(): mov x0, x0; bl; zeros (padding) */
	{ SFU_START_THREAD, 4, { MOV_X0_X0, BL, ZERO } },
	/* A Boost fiber returns to code after make_fcontext()'s own ret: mov x0, #0; bl _exit */
	{ SFU_START_THREAD, 4, { RET, MOV_X0_0, BL } },
};

/*
 * Returns true if @ra, the address of @insn, is in glibc's start_thread(), right after its call of
 * the thread's function. Then start_thread() stores the function's result, and makes three calls.
 * For POSIX threads, the call may be elsewhere in it: then a branch b leads from @ra to the store.
 */
static bool exits_thread(struct sfu_walk *walk, u32 insn, unsigned long ra)
{
	u8 after[36];
	const u8 *code = after;

	if (insn == 0x93407c00)			/* sxtw x0, w0 extends a C11 thread's int result */
		ra += 4;
	else if (is(insn, B))
		ra += 4 * sign_extend64(insn, 25);
	if (!sfu_walk_read_code(walk, after, ra, sizeof(after)))
		return false;
	/* Before str x0, [x1, #n] stores the result, up to two instructions set x1: skip them. */
	while (code < after + 8 && (is(insn_at(code), FIND_X1_BY_X29) ||
				    is(insn_at(code), FIND_X1_BY_X1)))
		code += 4;
	/*
	 * Next, start_thread() makes three calls, the first of __call_tls_dtors(). A static program
	 * may lack this function. So there, adrp; ldr; cbz first test its address, and skip the
	 * call if it is 0. For a missing function, the linker has replaced the skipped bl by nop.
	 */
	return MATCHES(code, STR_X0_X1, BL, BL, BL) ||
	       (MATCHES(code, STR_X0_X1, ANY, ANY, CBZ_2) &&
		(MATCHES(code + 16, BL, BL, BL) || MATCHES(code + 16, NOP, BL, BL)));
}

/* No pattern for libstdc++'s thread code: it keeps frame pointers. */
enum sfu_start sfu_arch_read_start(struct sfu_walk *walk)
{
	const unsigned long ra = walk->frame.ip;
	u8 code[START_BEFORE + START_AFTER];
	const u8 *at_ra = code + START_BEFORE;
	unsigned int i;

	if (!sfu_walk_read_code(walk, code, ra - START_BEFORE, sizeof(code)))
		return SFU_START_NONE;
	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (matches(at_ra - starts[i].before, starts[i].code))
			return starts[i].start;
	return exits_thread(walk, insn_at(at_ra), ra) ? SFU_START_THREAD : SFU_START_NONE;
}
