/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the numbers of SFrame into text, and text into lines. */
#ifndef SFRAMECTL_TEXT_H
#define SFRAMECTL_TEXT_H

#include "sframe_core.h"

/* The kernel has a macro of this name. */
#define __printf(string, first)	__attribute__((__format__(printf, string, first)))

/* Room for any text of text.c. */
#define TEXT_SIZE	32

struct row_text {
	char cfa[TEXT_SIZE];
	char fp[TEXT_SIZE];
	char ra[TEXT_SIZE];
};

const char *abi_text(u8 abi);
const char *flags_text(u8 flags, char *text);
void print_words(const char *words, unsigned int column, unsigned int indent);
void row_to_text(u8 abi, const struct sframe_row *row, struct row_text *text);

#endif /* SFRAMECTL_TEXT_H */
