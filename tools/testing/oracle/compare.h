/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison of the SFrame data of one file with its .eh_frame. */
#ifndef ORACLE_COMPARE_H
#define ORACLE_COMPARE_H

#include "buffer.h"
#include "errata.h"
#include "host_table.h"

struct counts {
	u64	functions;
	u64	rows;
	u64	addresses;
	u64	differences;
	u64	errata[NR_ERRATA];
};

/**
 * struct table_counts - what is counted of a converted table only
 * @code: bytes of code that .eh_frame describes
 * @holes: of these, the bytes that the table does not describe
 * @unjustified: of these, the bytes that SFrame could describe
 * @plts: bytes of PLTs and starts that only the table describes
 */
struct table_counts {
	u64	code;
	u64	holes;
	u64	unjustified;
	u64	plts;
};

/**
 * struct comparison - the comparison of one file
 * @name: name of the file
 * @program: the file
 * @table: the table file that sframectl convert has made of it; NULL: it has its own .sframe
 * @eh: its .eh_frame as libdw interprets it
 * @functions: the functions of its .eh_frame, with their instructions
 * @buf: the .sframe
 * @sec: the header whose functions are being compared
 * @host_table: the table as the module has it: compiled
 * @fde: the function that is being compared
 * @next: the first address of the function that has not been compared
 * @asked: the function of .eh_frame of which @has_pushed_ra is known
 * @has_pushed_ra: its return address is above the CFA
 * @stored_cfa: offset of the CFA as stored in its first row; the decoder may correct it
 * @is_only_in_table: .eh_frame does not describe the function, and need not
 * @covered: ranges of all functions of the table
 * @version: text of the version, NULL before the first header
 * @defect: the reason if .sframe cannot be read completely
 * @is_unsound: a row begins after its function
 */
struct comparison {
	const char		*name;
	struct object		program;
	struct object		*table;
	struct ehframe		eh;
	struct functions	functions;
	struct buffer_reader	buf;
	struct sframe_header	sec;
	struct host_table		host_table;
	struct sframe_fde	fde;
	u64			next;
	const struct function	*asked;
	bool			has_pushed_ra;
	s64			stored_cfa;
	bool			is_only_in_table;
	struct ranges		covered;
	struct counts		counts;
	struct table_counts	of_table;
	const char		*version;
	enum sframe_defect	defect;
	bool			is_unsound;
};

/* The most differences that are printed for one file. */
#define NR_SHOWN	10

static inline bool is_arm64(const struct comparison *cmp)
{
	return cmp->program.elf.machine == EM_AARCH64;
}

void compare_describe(struct comparison *cmp, struct finding *found);
int compare_find_row(struct comparison *cmp, u64 addr, struct sframe_row *row);

void converted_describe(struct comparison *cmp, struct finding *found);
bool converted_agree(struct comparison *cmp, struct finding *found);
bool converted_is_alone(struct comparison *cmp, const struct sframe_fde *fde);
const char *converted_judge(struct comparison *cmp);

#endif /* ORACLE_COMPARE_H */
