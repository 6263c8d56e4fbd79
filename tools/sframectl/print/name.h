/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that others chose: of files, sections and functions. They may be any bytes. */
#ifndef SFRAMECTL_NAME_H
#define SFRAMECTL_NAME_H

#include <stdio.h>

#include "sframe_types.h"

/* A character that has no meaning to the reader, and does things to the terminal. */
bool name_must_escape(u32 code);
unsigned int name_decode(const char *s, u32 *code);
void name_print(FILE *out, const char *name);

#endif /* SFRAMECTL_NAME_H */
