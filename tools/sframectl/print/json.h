/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes JSON to standard output. */
#ifndef SFRAMECTL_JSON_H
#define SFRAMECTL_JSON_H

#include "sframe_types.h"

/*
 * Strings are UTF-8. A byte that is not becomes U+FFFD: JSON cannot have it. An
 * invisible character, which could control a terminal, becomes \uXXXX.
 *
 * @key is NULL in an array and for the outermost value. The caller closes an
 * object or array with the matching bracket. The outermost one ends the line.
 */
void json_use_one_line(void);
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_string(const char *key, const char *value);
void json_number(const char *key, s64 value);
void json_count(const char *key, u64 value);
void json_bool(const char *key, bool value);
void json_null(const char *key);

#endif /* SFRAMECTL_JSON_H */
