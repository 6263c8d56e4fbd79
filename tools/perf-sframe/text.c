// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * text.c - messages, strings and lists of words
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

static void out_of_memory(void)
{
	fputs("perf: out of memory\n", stderr);
	exit(1);
}

/* One write for each message: lines of perf, which writes at the same time, do not get into it. */
static void print_message(const char *format, va_list args)
{
	char *message, *line;

	if (vasprintf(&message, format, args) < 0)
		out_of_memory();
	line = text("perf: %s\n", message);
	fputs(line, stderr);
	free(line);
	free(message);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
}

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
	exit(status);
}

char *text(const char *format, ...)
{
	va_list args;
	char *result;

	va_start(args, format);
	if (vasprintf(&result, format, args) < 0)
		out_of_memory();
	va_end(args);
	return result;
}

/* text_n: the first @len bytes of @start as a string */
char *text_n(const char *start, size_t len)
{
	char *result = strndup(start, len);

	if (!result)
		out_of_memory();
	return result;
}

void add_word(struct words *words, const char *word)
{
	/* Doubling: the list is full when its length is a power of two. */
	if (!(words->nr & (words->nr + 1))) {
		words->word = realloc(words->word, 2 * (words->nr + 1) * sizeof(*words->word));
		if (!words->word)
			out_of_memory();
	}
	words->word[words->nr++] = (char *)word;
	words->word[words->nr] = NULL;
}

bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/* skip_blanks: like strchr(), for constant strings and others */
char *skip_blanks(const char *string)
{
	return (char *)string + strspn(string, " \t");
}

/*
 * read_file: the contents of a small text file, or NULL. Files in /sys and /proc have no size:
 * read until the end.
 */
char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	char *contents = NULL;

	if (!file)
		return NULL;
	if (getdelim(&contents, &room, '\0', file) < 0) {
		free(contents);
		contents = NULL;
	}
	fclose(file);
	return contents;
}
