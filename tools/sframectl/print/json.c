// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes JSON to standard output. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "name.h"

static unsigned int depth;
static bool need_comma;
static bool one_line;

/* Each outermost value takes one line from now on. */
void json_use_one_line(void)
{
	one_line = true;
}

/* An invisible character is written as UTF-16, as JSON has it. */
static void put_escape(u32 code)
{
	if (code >> 16)
		printf("\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
	else
		printf("\\u%04x", code);
}

static void put_string(const char *s)
{
	unsigned int len;
	u32 code;

	putchar('"');
	for (; *s; s += len ? len : 1) {
		len = name_decode(s, &code);
		if (len == 0)
			put_escape(0xfffd);
		else if (name_must_escape(code))
			put_escape(code);
		else if (code == '"' || code == '\\')
			printf("\\%c", (char)code);
		else
			fwrite(s, 1, len, stdout);
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
