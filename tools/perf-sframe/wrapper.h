/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of perf-sframe. perf.c says what it is for.
 */
#ifndef SFU_WRAPPER_H
#define SFU_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- text.c: messages, strings and lists of words; if memory runs out, the program ends ---- */

/*
 * struct words - a growing list of strings, ended by NULL as exec wants it; it starts as all
 * zeros
 */
struct words {
	char **word;
	size_t nr;
};

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void add_word(struct words *words, const char *word);
void insert_word(struct words *words, size_t at, const char *word);
bool starts_with(const char *string, const char *prefix);
bool is_one_of(const char *word, const char *const list[]);
char *read_file(const char *path);
const char *variable(const char *name, const char *otherwise);

/* ---- real.c: the perf that this program runs ---- */

char *find_in_path(const char *program);
char *find_real_perf(bool after);

/* ---- child.c: the real perf as a child ---- */

char *output_of(const char *real, const char *command, const char *option);
int run_child(const char *real, char *const argv[], bool may_lead);
void end_like(int status) __attribute__((noreturn));
void exec_real(const char *real, char *const argv[]) __attribute__((noreturn));

/* ---- command.c: the command line ---- */

/* struct command - a command line, and what was learned while it was read */
struct command {
	const char *real;	/* the real perf */
	struct words words;	/* the command line for the real perf */
	const char *name;	/* record, top, trace, or the command whose record this is */
	bool asked;		/* for the value sframe */
	bool mapped;		/* ... and its word mapped: no tables are brought */
	bool records;		/* into a file, or a pipe */
	bool quiet;		/* perf's -q */
	const char *workload;	/* the program that perf starts, or NULL */
	const char *pid;	/* the processes or threads that perf attaches to, or NULL */
	bool all;		/* it samples all processors, whatever runs there */
};

void read_command(struct command *command, char *const argv[], bool always);

/* ---- module.c: the module's files in /sys ---- */

enum module_state {
	MODULE_ABSENT,
	MODULE_OFF,	/* loaded, but it takes no stacks */
	MODULE_ON,
};

char *module_file(const char *name);
enum module_state module_state(void);
void need_module(void);
bool module_defers(void);

/* ---- tables.c: tables of programs without .sframe ---- */

void need_processes(const char *pids);
pid_t begin_tables(const struct command *command);
void end_tables(pid_t pid);

/* ---- summary.c: the module's counters ---- */

enum { WALKS, COMPLETE, FIRST, FULL, SFRAME, FP, DECLINED, NR_COUNTERS };

/* struct summary - the module's counters at one time */
struct summary {
	bool known;		/* the module has the file */
	unsigned long long nr[NR_COUNTERS];
};

void read_summary(struct summary *summary);
void keep_counters(bool is_over);
void print_summary(const struct summary *before, const struct command *command, bool has_tables,
		   int status);

#endif
