// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes JSON to standard output. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"

static unsigned int depth;
static bool need_comma;
static bool one_line;

/* Each outermost value takes one line from now on. */
void json_use_one_line(void)
{
	one_line = true;
}

/* Return: bytes of the UTF-8 sequence at @s; 0 if there is no valid sequence (RFC 3629). */
static unsigned int utf8_length(const u8 *s)
{
	static const struct {
		u8 first, last;		/* of the leading byte */
		u8 low, high;		/* of the second byte */
		u8 len;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].len == 1)
			return 1;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

static void put_string(const char *string)
{
	const u8 *s = (const u8 *)string;
	unsigned int len;

	putchar('"');
	while (*s) {
		len = utf8_length(s);
		if (len == 0)
			fputs("\\ufffd", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s < 0x20)
			printf("\\u%04x", *s);
		else
			fwrite(s, 1, len, stdout);
		s += len ? len : 1;
	}
	putchar('"');
}

/* Separates values, and indents the next one. */
static void put_space(void)
{
	if (one_line)
		putchar(' ');
	else
		printf("\n%*s", 2 * depth, "");
}

static void put_key(const char *key)
{
	if (need_comma)
		putchar(',');
	need_comma = true;
	if (depth)
		put_space();
	if (key) {
		put_string(key);
		fputs(": ", stdout);
	}
}

void json_open(const char *key, char bracket)
{
	put_key(key);
	putchar(bracket);
	depth++;
	need_comma = false;
}

void json_close(char bracket)
{
	depth--;
	if (need_comma)
		put_space();
	putchar(bracket);
	need_comma = depth;
	if (!depth)
		putchar('\n');
}

void json_string(const char *key, const char *value)
{
	put_key(key);
	put_string(value);
}

void json_number(const char *key, s64 value)
{
	put_key(key);
	printf("%" PRId64, value);
}

void json_count(const char *key, u64 value)
{
	put_key(key);
	printf("%" PRIu64, value);
}

void json_bool(const char *key, bool value)
{
	put_key(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	put_key(key);
	fputs("null", stdout);
}
