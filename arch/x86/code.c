// SPDX-License-Identifier: GPL-2.0-or-later
/* Recognises x86_64 code, such as calls. The code is a copy of user memory: it may be any bytes. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "sframe_arch.h"
#include "map/keeps_fp.h"
#include "walk/walk.h"

struct pattern {
	u8	before;		/* bytes from the start of the pattern to the tested address */
	u8	len;		/* number of used elements of @code */
	u16	code[22];	/* low half: byte to compare; high half: bits that may differ */
};

#define PATTERN(before, ...)	\
	{ before, sizeof((u16 []){ __VA_ARGS__ }) / sizeof(u16), { __VA_ARGS__ } }
#define ANY	0xff01		/* matches any byte */
#define ANY4	0xff04		/* matches any four bytes */
#define REG	0x0700		/* mask: the low 3 bits of the byte, a register, may differ */

/* Returns the length in bytes of the code at @addr if it matches @pattern; else 0. */
static unsigned int match_one(const u8 *addr, const struct pattern *pattern)
{
	const u8 *code = addr - pattern->before;
	unsigned int i, bytes = 0;

	for (i = 0; i < pattern->len; i++) {
		const u16 want = pattern->code[i];

		if (want >> 8 == 0xff)
			bytes += want & 0xff;
		else if ((code[bytes++] ^ want) & ~(want >> 8) & 0xff)
			return 0;
	}
	return bytes;
}

#define MATCHES(addr, before, ...) ({						\
	static const struct pattern pattern = PATTERN(before, __VA_ARGS__);	\
	match_one(addr, &pattern);						\
})
#define PATTERNS(name, ...)	static const struct pattern name[] = { __VA_ARGS__, {} }

static unsigned int match_any(const u8 *addr, const struct pattern *patterns)
{
	unsigned int bytes = 0;

	for (; patterns->len && !bytes; patterns++)
		bytes = match_one(addr, patterns);
	return bytes;
}

static s32 read_s32(const u8 *code)
{
	return ((const struct sframe_any_u32 *)code)->v;
}

/* ---- calls ---- */

/* Returns the length in bytes of the instruction 0xff @modrm @sib if it is a near call; else 0. */
static unsigned int indirect_call_bytes(u8 modrm, u8 sib)
{
	unsigned int mode = modrm >> 6, base = modrm & 7;

	if ((modrm & 0x38) != 0x10)
		return 0;
	if (mode == 3)
		return 2;
	if (base != 4)
		return mode == 1 ? 3 : mode == 2 || base == 5 ? 6 : 2;
	return mode == 1 ? 4 : mode == 2 || (sib & 7) == 5 ? 7 : 3;
}

bool sfu_x86_follows_indirect_call(const u8 *ra)
{
	int bytes;

	for (bytes = 2; bytes <= SFU_ARCH_CALL_BYTES; bytes++)
		if (ra[-bytes] == 0xff &&
		    indirect_call_bytes(ra[1 - bytes], bytes > 2 ? ra[2 - bytes] : 0) == bytes)
			return true;
	return false;
}

enum sfu_call sfu_arch_read_call(struct sfu_walk *walk, unsigned long ra, unsigned long *where)
{
	u8 code[SFU_ARCH_CALL_BYTES];
	const u8 *end = code + sizeof(code);

	/* If the page before @ra is not in memory, its bytes are read as 0, which match no call. */
	if (!sfu_walk_read_around(walk, code, ra, sizeof(code), 0))
		return SFU_CALL_NONE;
	*where = ra + read_s32(end - 4);
	if (end[-5] == 0xe8)				/* call disp */
		return SFU_CALL_DIRECT;
	if (end[-6] == 0xff && end[-5] == 0x15)		/* call *disp(%rip) */
		return SFU_CALL_SLOT;
	return sfu_x86_follows_indirect_call(end) ? SFU_CALL_REGISTER : SFU_CALL_NONE;
}

/* ---- PLT slots ---- */

/* PLT slots: [endbr64;] [bnd] jmp *disp(%rip); mold's: endbr64; mov $n,%r11d; jmp *disp(%rip) */
PATTERNS(plt_slots, PATTERN(0, 0xff, 0x25, ANY4), PATTERN(0, 0xf2, 0xff, 0x25, ANY4),
	 PATTERN(0, 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, ANY4),
	 PATTERN(0, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, ANY4),
	 PATTERN(0, 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, ANY4, 0xff, 0x25, ANY4));

bool sfu_arch_read_plt(struct sfu_walk *walk, unsigned long addr, unsigned long *slot)
{
	u8 code[16];
	unsigned int bytes;

	if (!sfu_walk_read_code(walk, code, addr, sizeof(code)))
		return false;
	bytes = match_any(code, plt_slots);
	*slot = bytes ? addr + bytes + read_s32(code + bytes - 4) : 0;
	return true;
}

bool sfu_x86_pushes_index(struct sfu_walk *walk, unsigned long addr, unsigned long index)
{
	u8 code[9];
	unsigned int i;

	if (!sfu_walk_read_code(walk, code, addr, sizeof(code)))
		return false;
	i = MATCHES(code, 0, 0xf3, 0x0f, 0x1e, 0xfa);
	return code[i] == 0x68 && (u32)read_s32(code + i + 1) == index;
}

/* ---- prologues of functions ---- */

#define TEXT_STEP	16	/* alignment of compiled functions, in bytes */
#define TEXT_AFTER	36	/* bytes that are read to recognise the prologue of a function */
#define MOVED_BETWEEN	16	/* between push %rbp and mov %rsp,%rbp are fewer bytes than this */

#define PUSH_RBP	0x55
#define BREAKPOINT	0xcc

/* Returns true for mov %rsp,%rbp, which has two encodings. */
static bool sets_rbp(const u8 *code)
{
	return code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) ||
				   (code[1] == 0x8b && code[2] == 0xec));
}

/* Instructions that make room on the stack: push %rbx, push %r12 to %r15, or sub $n,%rsp. */
PATTERNS(makes_room, PATTERN(0, 0x53), PATTERN(0, 0x41, 0x0300 | 0x54),
	 PATTERN(0, 0x48, 0x0200 | 0x81, 0xec));

/* Functions of Go begin with a check of the stack's limit: cmp 0x10(%r14),%rsp; jbe. */
PATTERNS(go_checks,
	 PATTERN(0, 0x49, 0x3b, 0x66, 0x10, 0x76, ANY),
	 PATTERN(0, 0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, ANY4));

/* Returns true if @byte may end ret, nop, int3 or a long nop: a function may begin after these. */
static bool ends_function(u8 byte)
{
	return byte == 0xc3 || byte == 0x90 || byte == BREAKPOINT || byte == 0x00;
}

/* Returns the length in bytes of [endbr64;] [Go's stack check], which may precede push %rbp. */
static unsigned int bytes_before_push(const u8 *code)
{
	unsigned int bytes = MATCHES(code, 0, 0xf3, 0x0f, 0x1e, 0xfa);

	return bytes + match_any(code + bytes, go_checks);
}

static unsigned int bytes_to_set_rbp(const u8 *code)
{
	unsigned int i;

	/* If push %rbx etc. or sub $n,%rsp is at @code, the function counts as one without FP. */
	if (match_any(code, makes_room))
		return 0;
	for (i = 0; i < MOVED_BETWEEN; i++)
		if (sets_rbp(code + i))
			return i + 3;
	return 0;
}

static enum sframe_prologue text_start(const u8 *code)
{
	if (!ends_function(code[-1]))
		return SFRAME_PROLOGUE_NONE;
	code += bytes_before_push(code);
	if (code[0] == PUSH_RBP)
		return bytes_to_set_rbp(code + 1) ? SFRAME_PROLOGUE_FP : SFRAME_PROLOGUE_OTHER;
	/* Skip _fini (sub $8,%rsp; add $8,%rsp): in any file, it makes no frame record. */
	if (MATCHES(code, 0, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08))
		return SFRAME_PROLOGUE_NONE;
	return match_any(code, makes_room) ? SFRAME_PROLOGUE_OTHER : SFRAME_PROLOGUE_NONE;
}

static bool jit_ends_function(const u8 *code)
{
	PATTERNS(nops, PATTERN(3, 0x0f, 0x1f, 0x00), PATTERN(4, 0x0f, 0x1f, 0x40, 0x00),
		 PATTERN(5, 0x0f, 0x1f, 0x44, 0x00, 0x00),
		 PATTERN(7, 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00),
		 PATTERN(8, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00));

	/*
	 * A byte 0 before @code counts only if it ends a long nop, which is padding. In OpenJDK's
	 * interpreter, a byte 0 may also end a jump. The code after this jump aligns the stack,
	 * which looks like a prologue, but no function begins there.
	 */
	return code[-1] ? ends_function(code[-1]) : match_any(code, nops);
}

/*
 * JIT functions may begin at any byte: each byte is tested, although most are inside functions.
 * So only sequences that are rare inside functions count as prologues.
 */
static enum sframe_prologue jit_start(const u8 *code, bool is_aligned)
{
	/* OpenJDK makes room, then stores rbp: sub $n,%rsp; mov %rbp,disp(%rsp) */
	PATTERNS(stores_rbp,
		 PATTERN(0, 0x48, 0x83, 0xec, ANY, 0x48, 0x89, 0x6c, 0x24, ANY),
		 PATTERN(0, 0x48, 0x81, 0xec, ANY4, 0x48, 0x89, 0x6c, 0x24, ANY),
		 PATTERN(0, 0x48, 0x81, 0xec, ANY4, 0x48, 0x89, 0xac, 0x24, ANY4));
	unsigned int bytes = match_any(code, stores_rbp);

	if (bytes)
		return sets_rbp(code + bytes) ? SFRAME_PROLOGUE_FP : SFRAME_PROLOGUE_OTHER;
	if (code[0] == PUSH_RBP && sets_rbp(code + 1))
		return SFRAME_PROLOGUE_FP;
	/* OpenJDK: push %rbp; sub $n,%rsp sets no FP. After 0x41, 0x55 is push %r13 instead. */
	if (code[0] == PUSH_RBP && match_any(code + 1, makes_room) && code[-1] != 0x41)
		return SFRAME_PROLOGUE_OTHER;
	return is_aligned && jit_ends_function(code) && text_start(code) == SFRAME_PROLOGUE_OTHER ?
	       SFRAME_PROLOGUE_OTHER : SFRAME_PROLOGUE_NONE;
}

void sframe_count_prologues(struct sframe_prologues *starts, const u8 *text, size_t len,
			    bool is_jit)
{
	size_t i;

	/* Skips the first TEXT_STEP bytes of @text: a test also reads bytes before its address. */
	for (i = TEXT_STEP; i + TEXT_AFTER <= len; i += is_jit ? 1 : TEXT_STEP)
		sframe_prologues_add(starts, is_jit ? jit_start(text + i, i % TEXT_STEP == 0) :
						   text_start(text + i));
}

/* ---- unwind rules from prologues and epilogues ---- */

#define CODE_BEFORE	24

static void set_row(struct sframe_row *row, u8 base, s32 off, bool has_pushed_rbp)
{
	*row = (struct sframe_row){
		.cfa = { .how = SFRAME_RULE_REG, .reg = base, .off = off },
		.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },
	};
	if (has_pushed_rbp)
		row->fp = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = -16 };
}

/* Returns the first byte of the function at @code, even if a uprobe's breakpoint replaces it. */
static u8 first_byte(const u8 *code, unsigned int off)
{
	if (code[0] != BREAKPOINT)
		return code[0];
	if (MATCHES(code, 0, ANY, 0x0f, 0x1e, 0xfa))	/* endbr64 */
		return 0xf3;
	if (MATCHES(code, 0, ANY, 0x3b, 0x66, 0x10))	/* Go: cmp 0x10(%r14),%rsp */
		return 0x49;
	/*
	 * This int3 is padding between functions, or a uprobe's in place of push %rbp. It is a
	 * uprobe's if mov %rsp,%rbp follows, or if the ip is at it (@off is 0): padding never runs.
	 */
	return !off || sets_rbp(code + 1) ? PUSH_RBP : code[0];
}

/* Sets @row and returns true if a prologue begins @off bytes before @ip, and ends after @ip. */
static bool row_of_prologue(const u8 *ip, unsigned int off, struct sframe_row *row)
{
	u8 code[TEXT_AFTER];
	unsigned int push, bytes;

	if (!ends_function(ip[-(int)off - 1]))
		return false;
	memcpy(code, ip - off, sizeof(code));
	code[0] = first_byte(code, off);
	push = bytes_before_push(code);
	bytes = code[push] == PUSH_RBP ? bytes_to_set_rbp(code + push + 1) : 0;
	if (!bytes || off >= push + 1 + bytes)
		return false;
	set_row(row, SFU_ARCH_REG_SP, off > push ? 16 : 8, off > push);
	return true;
}

static bool is_ret(const u8 *code)
{
	return code[code[0] == 0xf3 || code[0] == 0xf2] == 0xc3;
}

PATTERNS(add_rsp, PATTERN(0, 0x48, 0x83, 0xc4, ANY), PATTERN(0, 0x48, 0x81, 0xc4, ANY4));

/* Code beyond these limits does not count as epilogue. Functions save at most six registers. */
#define MAX_POPS	7	/* pop instructions before ret */
#define MAX_ROOM	0x10000	/* bytes of stack that add $n,%rsp frees before the pops */

#define POP_RSP		0x5c
#define POP_RBP		0x5d

/* Sets @row and returns true at an epilogue: leave; ret, or [add $n,%rsp;] pops; ret. */
static bool row_of_epilogue(const u8 *code, struct sframe_row *row)
{
	unsigned int i, has_rex, bytes = match_any(code, add_rsp);
	s32 room = 0;

	if (code[0] == 0xc9) {
		set_row(row, SFU_ARCH_REG_FP, 16, true);
		return is_ret(code + 1);
	}
	set_row(row, SFU_ARCH_REG_SP, 8, false);
	if (bytes) {
		room = bytes == 7 ? read_s32(code + 3) : (s8)code[3];
		if (room <= 0 || room > MAX_ROOM || room % 8)
			return false;
		code += bytes;
	}
	for (i = 0; i < MAX_POPS && !is_ret(code); i++) {
		has_rex = code[0] == 0x41;
		if ((code[has_rex] & 0xf8) != 0x58 || (!has_rex && code[0] == POP_RSP))
			return false;
		if (!has_rex && code[0] == POP_RBP)
			row->fp = (struct sframe_rule){ .how = SFRAME_RULE_REG_MEM,
				.reg = SFU_ARCH_REG_SP, .off = room };
		code += 1 + has_rex;
		room += 8;
	}
	row->cfa.off += room;
	return is_ret(code);
}

bool sfu_arch_read_row(struct sfu_walk *walk, struct sframe_row *row)
{
	const struct sfu_frame *frame = &walk->frame;
	u8 code[CODE_BEFORE + TEXT_AFTER];
	const u8 *ip = code + CODE_BEFORE;
	unsigned int off = frame->ip % TEXT_STEP;

	if (!sfu_walk_read_around(walk, code, frame->ip, CODE_BEFORE, TEXT_AFTER))
		return false;
	if (row_of_epilogue(ip, row))
		return true;
	if (!frame->is_activation)
		return false;
	set_row(row, SFU_ARCH_REG_SP, 8, false);
	/* In PLT slots, and in glibc's clone() right after its system call, RA is at SP. */
	return MATCHES(ip, 2, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, ANY, 0x74, ANY, 0xc3) ||
	       match_any(ip, plt_slots) || row_of_prologue(ip, off, row) ||
	       (off + TEXT_STEP < CODE_BEFORE && row_of_prologue(ip, off + TEXT_STEP, row));
}

/* ---- code that starts programs and threads ---- */

unsigned long sfu_arch_child_branch(struct sfu_walk *walk, unsigned long ip)
{
	u8 code[7];

	/* After the system call of clone(): test %rax,%rax; jl to the error; je to the child. */
	return sfu_walk_read_code(walk, code, ip, sizeof(code)) &&
	       MATCHES(code, 0, 0x48, 0x85, 0xc0, 0x7c, ANY, 0x74, ANY) ?
	       sizeof(code) + (s8)code[6] : 0;
}

#define START_BYTES	9

/*
 * Returns true if @ra follows call *(%reg), which runs a thread's function, in start() of musl:
 * syscall; mov 8(%reg),%rdi; call *(%reg); mov %rax,%rdi; call __pthread_exit.
 */
static bool starts_thread_of_musl(const u8 *ra)
{
	if (MATCHES(ra, 8, 0x0f, 0x05, 0x48, 0x8b, REG | 0x78, 0x08, 0xff, REG | 0x10,
		    0x48, 0x89, 0xc7, 0xe8))
		return (ra[-4] & 7) == (ra[-1] & 7);
	return MATCHES(ra, 9, 0x0f, 0x05, 0x49, 0x8b, REG | 0x78, 0x08, 0x41, 0xff, REG | 0x10,
		       0x48, 0x89, 0xc7, 0xe8) && (ra[-5] & 7) == (ra[-1] & 7);
}

static const struct {
	enum sfu_start	start;
	struct pattern	pattern;
} starts[] = {
	/* glibc calls main() by call *%reg or call *disp(%rsp), then: mov %eax,%edi; call exit */
	{ SFU_START_MAIN, PATTERN(2, 0xff, REG | 0xd0, 0x89, 0xc7, 0xe8) },
	{ SFU_START_MAIN, PATTERN(4, 0xff, 0x54, 0x24, ANY, 0x89, 0xc7, 0xe8) },
	/* _start calls __libc_start_main, directly or by a word at disp(%rip). Then comes hlt. */
	{ SFU_START_ENTRY, PATTERN(6, 0xff, 0x15, ANY4, 0xf4) },
	{ SFU_START_ENTRY, PATTERN(5, 0xe8, ANY4, 0xf4) },
	/* Go's goexit(): int3 (padding); nop; call; nop. A goroutine returns to the call itself. */
	{ SFU_START_THREAD, PATTERN(2, 0xcc, 0x90, 0xe8, ANY4, 0x90) },
	/*
	 * Code in Boost's make_fcontext() runs a fiber's function: push %rbp; jmp *%rbx; [endbr64;]
	 * xor %rdi,%rdi; call _exit. The push stores the return address, which is right after jmp.
	 */
	{ SFU_START_THREAD, PATTERN(3, 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8) },
	{ SFU_START_THREAD,
	  PATTERN(3, 0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff, 0xe8) },
};

/*
 * start_thread() of glibc calls the thread's function. Then mov %rax,%fs:disp stores its result in
 * the thread descriptor, and three calls follow. No disp < 0 matches: the descriptor begins at the
 * base of %fs, and thread-local variables of programs are below it. Before mov, cltq may extend a
 * C11 thread's result, which is an int. For a POSIX thread, jmp may lead to the mov. In static
 * programs, cmpq $0,disp(%rip); je may precede the first of the three calls, and skip it.
 */
PATTERNS(thread_exits,
	 PATTERN(0, 0x64, 0x48, 0x89, 0x04, 0x25, ANY, ANY, 0x00, 0x00,
		 0xe8, ANY4, 0xe8, ANY4, 0xe8),
	 PATTERN(0, 0x64, 0x48, 0x89, 0x04, 0x25, ANY, ANY, 0x00, 0x00,
		 0x48, 0x83, 0x3d, ANY4, 0x00, 0x74, 0x05, 0xe8, ANY4, 0xe8, ANY4, 0xe8));

static bool exits_thread(struct sfu_walk *walk, const u8 *code, unsigned long ra)
{
	u8 after[30];

	if (code[0] == 0x48 && code[1] == 0x98)	/* cltq after call of a C11 thread's function */
		ra += 2;
	else if (code[0] == 0xe9)
		ra += 5 + read_s32(code + 1);
	return sfu_walk_read_code(walk, after, ra, sizeof(after)) && match_any(after, thread_exits);
}

/* Sets @calls_cxx if code of libstdc++ seems to call a thread's function right before @ra. */
static enum sfu_start read_start(struct sfu_walk *walk, unsigned long ra, bool *calls_cxx)
{
	u8 code[2 * START_BYTES];
	const u8 *at_ra = code + START_BYTES;
	unsigned int i;

	*calls_cxx = false;
	if (!sfu_walk_read_code(walk, code, ra - START_BYTES, sizeof(code)))
		return SFU_START_NONE;
	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (match_one(at_ra, &starts[i].pattern))
			return starts[i].start;
	/*
	 * libstdc++ calls two virtual functions, the thread's function and a destructor:
	 * call *0x10(%rax); mov (%rbx),%rax; mov %rbx,%rdi; call *8(%rax).
	 */
	*calls_cxx = MATCHES(at_ra, 3, 0xff, 0x50, 0x10, 0x48, 0x8b, 0x03, 0x48, 0x89, 0xdf,
			     0xff, 0x50, 0x08);
	return starts_thread_of_musl(at_ra) || exits_thread(walk, at_ra, ra) ?
	       SFU_START_THREAD : SFU_START_NONE;
}

enum sfu_start sfu_arch_read_start(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	bool calls_cxx, is_nested;
	enum sfu_start start = read_start(walk, frame->ip, &calls_cxx);
	unsigned long ra;

	/*
	 * The code looks like the function of libstdc++ that runs a std::thread. Other functions
	 * may look so, too. So accept it only if it was called by libc's code that starts threads.
	 * The function's return address @ra is at SP + 24, above two saved registers and 8 bytes.
	 */
	if (!calls_cxx || sfu_walk_read_word(walk, frame->sp + 24, &ra))
		return start;
	start = read_start(walk, ra, &is_nested);
	return start == SFU_START_THREAD ? start : SFU_START_NONE;
}
