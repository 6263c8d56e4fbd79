/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as DWARF stores them. */
#ifndef ORACLE_ENCODING_H
#define ORACLE_ENCODING_H

#include "sframe_types.h"

/*
 * Each moves @pos on, at most to @end. What is cut off there reads as something
 * shorter: who interprets the rest is told by libdw that it is not so.
 */
u64 read_uleb(const u8 **pos, const u8 *end);
s64 read_sleb(const u8 **pos, const u8 *end);
s64 read_fixed(const u8 **pos, const u8 *end, int size, bool is_signed);

#endif /* ORACLE_ENCODING_H */
