/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the wrapper named perf. perf.c says what it is for.
 */
#ifndef SFU_WRAPPER_H
#define SFU_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The values of --call-graph that the wrapper adds, for perf's help and for messages. */
#define SFRAME_VALUES \
"    --call-graph=sframe        stacks from SFrame: deferred where perf and the kernel can\n" \
"    --call-graph=sframe,sync   unwind while the sample is taken\n" \
"    --call-graph=sframe,defer  unwind on the way back to user space\n" \
"    --call-graph=sframe,mapped bring no tables: use those that are loaded, and mapped sections\n" \
"    -e EVENT/call-graph=sframe/\n" \
"                               for one event, while the sample is taken"

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
char *text_n(const char *start, size_t len);
void add_word(struct words *words, const char *word);
bool starts_with(const char *string, const char *prefix);
char *skip_blanks(const char *string);
char *read_file(const char *path);

/* ---- real.c: the perf that this program runs ---- */

char *find_in_path(const char *program);
char *find_real_perf(void);
bool is_script(const char *path);
void refuse_loop(const char *real);

/* ---- child.c: the real perf as a child ---- */

char *output_of(const char *real, const char *command, const char *option);
int run_child(const char *real, char *const argv[]);
void end_like(int status) __attribute__((noreturn));
void exec_real(const char *real, char *const argv[]) __attribute__((noreturn));

/* ---- options.c: the options that a command of perf has ---- */

enum argument {
	ARGUMENT_UNKNOWN,
	ARGUMENT_NONE,		/* -g */
	ARGUMENT_ATTACHED,	/* -I[VALUE], --aio[=VALUE]: never the next word */
	ARGUMENT_WORD,		/* -e VALUE, --event VALUE: the next word, unless attached */
};

struct options {
	enum argument letter[256];	/* by short option */
	struct words long_word;		/* names of long options that may take the next word */
	struct words long_other;	/* all other names */
};

bool is_live(const char *command);
bool has_call_graph(const char *command);
void read_options(struct options *options, const char *real, const char *command);
bool has_option(const struct options *options, const char *name);
bool add_own_options(struct options *own, const char *command);
bool long_takes_word(const struct options *options, const char *name);

/* ---- value.c: the value sframe ---- */

enum module_state {
	MODULE_ABSENT,
	MODULE_OFF,	/* loaded, but it takes no stacks */
	MODULE_ON,
};

char *module_file(const char *name);
enum module_state module_state(void);
bool resembles_sframe(const char *value, size_t len);
bool has_word(const char *value, size_t len, const char *word);
char *perf_value(const char *real, const char *command, const char *value, bool of_event);
void refuse_misspelling(const char *value) __attribute__((noreturn));

/* ---- command.c: the command line ---- */

/* struct command - a command line, and what was learned while the value sframe was replaced */
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

bool may_ask(char *const argv[]);
void rewrite_command(struct command *command, char *const argv[]);

/* ---- config.c: perf's configuration ---- */

void explain_config(void);

/* ---- tables.c: tables of programs without .sframe ---- */

void need_processes(const char *pids);
pid_t begin_tables(const struct command *command);
void end_tables(pid_t pid);

/* ---- summary.c: the module's counters ---- */

/* struct summary - the module's counters at one time. The names are those of the file. */
struct summary {
	bool known;		/* the module has the file */
	uint64_t walks;
	uint64_t whole;
	uint64_t first;
	uint64_t full;
	uint64_t sframe;
	uint64_t fp;
	uint64_t declined;
};

void read_summary(struct summary *summary);
void keep_counters(bool is_over);
void print_summary(const struct summary *before, const struct command *command, bool has_tables,
		   int status);

#endif
