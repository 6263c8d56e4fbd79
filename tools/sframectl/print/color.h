/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours of a terminal. */
#ifndef SFRAMECTL_COLOR_H
#define SFRAMECTL_COLOR_H

enum color {
	COLOR_NONE,
	COLOR_GOOD,
	COLOR_POOR,
	COLOR_BAD,
	NR_COLORS
};

const char *color(enum color color);

#endif /* SFRAMECTL_COLOR_H */
