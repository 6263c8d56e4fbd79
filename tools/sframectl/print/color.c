// SPDX-License-Identifier: GPL-2.0-or-later
/* Colours of a terminal. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "color.h"

static bool takes_colors(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return (!no_color || !*no_color) && term && strcmp(term, "dumb") && isatty(STDOUT_FILENO);
}

/* Return: what to print so that the next text has this colour; empty if that is no terminal. */
const char *color(enum color color)
{
	static const char *const codes[NR_COLORS] = {
		[COLOR_NONE] = "\033[m",
		[COLOR_GOOD] = "\033[32m",
		[COLOR_POOR] = "\033[33m",
		[COLOR_BAD] = "\033[31m",
	};
	static int colors = -1;

	if (colors < 0)
		colors = takes_colors();
	return colors ? codes[color] : "";
}
