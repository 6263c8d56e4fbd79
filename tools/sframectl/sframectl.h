/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that the subcommands of sframectl share. */
#ifndef SFRAMECTL_H
#define SFRAMECTL_H

#include <stdbool.h>
#include <stddef.h>

enum status {
	STATUS_OK = 0,
	STATUS_BAD = 1,		/* a file, process or counter file is bad */
	STATUS_USAGE = 2,
};

struct arguments {
	bool		help;
	bool		json;
	bool		last;
	bool		linked;
	bool		all;
	bool		require;
	bool		verbose;
	bool		version;
	const char	*output;
	const char	*seconds;	/* of --duration or --interval */
	const char	*stats;
	const char	*store;
	const char	*within;
	char		**names;
	int		nr_names;
	char		**pids;		/* digits */
	int		nr_pids;
};

struct command {
	const char	*name;
	const char	*usage;
	const char	*options;	/* letters of those it takes besides --help */
	enum status (*run)(const struct arguments *args);
};

extern const struct command check_command;
extern const struct command convert_command;
extern const struct command doctor_command;
extern const struct command dump_command;
extern const struct command load_command;
extern const struct command report_command;
extern const struct command serve_command;
extern const struct command stats_command;
extern const struct command status_command;
extern const struct command tables_command;
extern const struct command why_command;

/* As sframectl tables, without names of files that may be private. */
void tables_report(void);
/* Exists while sframectl serve preloads tables. */
#define PRELOADING	"/run/sframe_unwind.preloading"

void load_preload(char **dirs, size_t nr_dirs, bool verbose);
unsigned int parse_number(const char *text, unsigned int max);

#endif /* SFRAMECTL_H */
