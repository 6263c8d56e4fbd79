/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as DWARF stores them. */
#ifndef ORACLE_ENCODING_H
#define ORACLE_ENCODING_H

#include "sframe_types.h"

/*
 * Each function moves @pos forward, at most to @end. A number that @end cuts off
 * reads as a shorter number; the comparison with libdw's row finds such a case.
 */
u64 read_uleb(const u8 **pos, const u8 *end);
s64 read_sleb(const u8 **pos, const u8 *end);
s64 read_fixed(const u8 **pos, const u8 *end, int size, bool is_signed);

#endif /* ORACLE_ENCODING_H */
