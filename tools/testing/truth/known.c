// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the list of functions whose wrong frames are known: see the file "known". */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "binary.h"
#include "known.h"

/*
 * A line of the list: the name of a file without directories, a symbol, what is wrong in its
 * frame, and the judgement.
 */
struct known {
	struct known	*next;
	char		binary[64];
	char		symbol[64];
	char		what[8];
	char		judgement[200];
};

static struct known *all;

void known_read(const char *path)
{
	FILE *file = fopen(path, "re");
	struct known known;
	char line[400];

	if (!file)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %63s %7s %199[^\n]", known.binary, known.symbol,
			   known.what, known.judgement) != 4)
			errx(2, "%s: cannot read: %s", path, line);
		known.next = all;
		all = malloc(sizeof(known));
		if (!all)
			err(2, "%s", path);
		*all = known;
	}
	fclose(file);
}

/* Returns the judgement on a frame in which @what is wrong, or NULL. */
const char *known_find(const struct tally *tally, const char *what)
{
	const char *name, *slash, *symbol;
	const struct known *known;
	u64 start;

	if (!tally->binary)
		return NULL;
	slash = strrchr(tally->binary->name, '/');
	name = slash ? slash + 1 : tally->binary->name;
	symbol = binary_symbol(tally->binary, tally->func, &start);
	for (known = all; known; known = known->next)
		if ((!strcmp(known->binary, name) || !strcmp(known->binary, "*")) &&
		    !strcmp(known->symbol, symbol) && !strcmp(known->what, what))
			return known->judgement;
	return NULL;
}
