/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of this machine keeps stacks from being whole: what it is, what it means, what to do. */
#ifndef SFRAMECTL_FINDINGS_H
#define SFRAMECTL_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#define FINDINGS_MAX	16

/**
 * struct finding - something that is missing or in the way
 * @is_note: stacks can be whole all the same
 * @what: what it is
 * @means: what it means to the user
 * @action: what to do
 */
struct finding {
	bool		is_note;
	char		what[192];
	const char	*means;
	char		action[256];
};

struct findings {
	struct finding	all[FINDINGS_MAX];
	size_t		nr;
	size_t		nr_problems;	/* those that are no notes */
};

/* enum findings_perf - how the perf in PATH gets complete stacks */
enum findings_perf {
	FINDINGS_NO_PERF,
	FINDINGS_PLAIN_PERF,	/* perf record -g */
	FINDINGS_SUBCOMMAND,	/* perf sframe record: perf-sframe is in PATH */
	FINDINGS_WRAPPER,	/* perf record --call-graph=sframe, too: it is the wrapper */
};

void findings_collect(struct findings *findings);
enum findings_perf findings_perf(char *path, size_t size);

#endif /* SFRAMECTL_FINDINGS_H */
