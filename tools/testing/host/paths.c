// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * paths FILE - compare the paths of an x86_64 ELF file with its call frame information
 *
 * For each instruction that rows of standard input describe, follows the code as the module
 * does. A path that comes to a return says where the return address and the caller's frame
 * pointer are. Both have to be where the row says. A line of input is a row:
 *
 *	START END CFA_REGISTER CFA_OFFSET FP_OFFSET
 *
 * with hexadecimal addresses, rsp or rbp, and the offset from the CFA to the saved frame pointer,
 * 0 if it is not saved. Prints "boundary ADDRESS" for the first instruction after each row that
 * does not begin where the row ends, "wrong ADDRESS" with what differs, and a sum. Rows that do
 * not say what the code pushes are counted only, and so are paths that do not know the frame
 * pointer, and those with another base than the row, unless that is the stack pointer.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sframe_route.h"

#define PATH_INSNS	384	/* as in sample/sframe_path.c */

struct row {
	unsigned long	start;
	unsigned long	end;
	bool		by_fp;
	long		cfa_off;
	long		fp_off;
};

struct sums {
	unsigned long	insns;
	unsigned long	unknown;
	unsigned long	contradicted;
	unsigned long	returns;
	unsigned long	elsewhere;
	unsigned long	judged;
	unsigned long	vague;
	unsigned long	wrong;
};

static const u8 *file;
static size_t file_size;

/* The bytes at @addr, if SFRAME_INSN_READ of them are in a segment. */
static const u8 *find_code(unsigned long addr)
{
	const Elf64_Ehdr *ehdr = (const void *)file;
	const Elf64_Phdr *phdr = (const void *)(file + ehdr->e_phoff);
	unsigned int i;

	for (i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X) &&
		    addr >= phdr[i].p_vaddr &&
		    addr - phdr[i].p_vaddr + SFRAME_INSN_READ <= phdr[i].p_filesz &&
		    phdr[i].p_offset + phdr[i].p_filesz <= file_size)
			return file + phdr[i].p_offset + (addr - phdr[i].p_vaddr);
	return NULL;
}

static enum sframe_path_at follow(struct sframe_path *path, unsigned long addr)
{
	enum sframe_path_at at = SFRAME_PATH_ON;
	struct sframe_route route;
	unsigned int i;

	sframe_route_begin(&route, addr);
	for (i = 0; i < PATH_INSNS && at == SFRAME_PATH_ON; i++) {
		const u8 *code = find_code(route.here.addr);

		at = code ? sframe_path_step(&route.here.path, code) : SFRAME_PATH_LOST;
		at = sframe_route_go(&route, at);
	}
	*path = route.here.path;
	return at;
}

/*
 * The frame pointer is where the row says, or in its register. Rows go on to say where it was saved
 * after it has been popped.
 */
static bool is_fp_right(const struct sframe_path *path, const struct row *row)
{
	if (path->fp.what == SFRAME_FP_KEPT)
		return !row->fp_off || (!row->by_fp && row->cfa_off + row->fp_off < 0);
	return path->fp.what == SFRAME_FP_LOADED && row->fp_off &&
	       path->fp.base == (row->by_fp ? SFRAME_BASE_FP : SFRAME_BASE_SP) &&
	       path->fp.off == row->cfa_off + row->fp_off;
}

static void judge(const struct row *row, unsigned long addr, struct sums *sums)
{
	struct sframe_path path = SFRAME_PATH_INIT, first = SFRAME_PATH_INIT;
	bool is_cfa_right;

	/* A return says by itself where its address is. No row has to agree. */
	if (sframe_path_step(&first, find_code(addr)) == SFRAME_PATH_RETURN ||
	    follow(&path, addr) != SFRAME_PATH_RETURN)
		return;
	sums->returns++;
	if (path.base != (row->by_fp ? SFRAME_BASE_FP : SFRAME_BASE_SP)) {
		sums->elsewhere += path.base != SFRAME_BASE_SP;
		return;
	}
	sums->judged++;
	is_cfa_right = path.off + 8 == row->cfa_off;
	if (is_cfa_right && (path.fp.what == SFRAME_FP_DATA || path.fp.what == SFRAME_FP_AT)) {
		sums->vague++;
		return;
	}
	if (is_cfa_right && is_fp_right(&path, row))
		return;
	sums->wrong++;
	printf("wrong %lx: %s is at %+d\n", addr, is_cfa_right ? "FP" : "CFA",
	       is_cfa_right ? path.fp.off : path.off + 8);
}

/* nop, in all its forms, but for the one that is an xchg of 32 bits */
static bool is_nop(const struct sframe_insn *insn)
{
	return (insn->map == SFRAME_MAP_0F && insn->opcode == 0x1f) ||
	       (insn->map == SFRAME_MAP_ONE_BYTE && insn->opcode == 0x90 && !insn->low);
}

/* After a jump, a return, or a call that does not return, a nop fills space. It never runs. */
static bool may_be_last(const struct sframe_insn *insn)
{
	return insn->map == SFRAME_MAP_ONE_BYTE &&
	       (insn->opcode == 0xc3 || insn->opcode == 0xe8 || insn->opcode == 0xe9 ||
		insn->opcode == 0xeb || insn->opcode == 0xff);
}

/* Does the instruction move the stack pointer? The row would have to end after it. */
static bool moves_sp(const u8 *code)
{
	struct sframe_path path = SFRAME_PATH_INIT;

	return sframe_path_step(&path, code) == SFRAME_PATH_ON &&
	       path.base == SFRAME_BASE_SP && path.off;
}

static void judge_row(const struct row *row, struct sums *sums)
{
	static bool is_over;	/* the row before ended with such an instruction */
	struct sframe_insn insn;
	unsigned long addr;
	const u8 *code;

	for (addr = row->start; addr < row->end; addr += insn.size) {
		code = find_code(addr);
		if (!code || !sframe_insn_decode(&insn, code)) {
			sums->unknown++;
			return;
		}
		sums->insns++;
		is_over = is_over && is_nop(&insn);
		if (!is_over)
			judge(row, addr, sums);
		is_over = is_over || may_be_last(&insn);
		if (!row->by_fp && addr + insn.size < row->end && moves_sp(code)) {
			sums->contradicted++;
			return;
		}
	}
	if (addr != row->end)
		printf("boundary %lx: not %lx\n", addr, row->end);
}

int main(int argc, char **argv)
{
	struct sums sums = {};
	struct stat st;
	struct row row;
	char reg[4];
	int fd;

	if (argc != 2)
		errx(2, "usage: paths FILE");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", argv[1]);
	file_size = st.st_size;
	file = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", argv[1]);
	while (scanf("%lx %lx %3s %ld %ld", &row.start, &row.end, reg, &row.cfa_off,
		     &row.fp_off) == 5) {
		row.by_fp = !strcmp(reg, "rbp");
		judge_row(&row, &sums);
	}
	printf("sum %lu insns, %lu unknown, %lu contradicted, ", sums.insns, sums.unknown,
	       sums.contradicted);
	printf("%lu returns, %lu elsewhere, %lu judged, %lu vague, %lu wrong\n", sums.returns,
	       sums.elsewhere, sums.judged, sums.vague, sums.wrong);
	return 0;
}
