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

void findings_collect(struct findings *findings);
const char *findings_perf(char *path, size_t size, bool *is_wrapper);

#endif /* SFRAMECTL_FINDINGS_H */
