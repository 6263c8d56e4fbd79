// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * text.c - messages, strings and lists of words
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

/* vtext: a formatted string, as of vprintf() */
static char *vtext(const char *format, va_list args)
{
	char *result;

	if (vasprintf(&result, format, args) < 0) {
		fputs("perf: out of memory\n", stderr);
		exit(1);
	}
	return result;
}

/* One write for each message: lines of perf, which writes at the same time, do not get into it. */
static void print_message(const char *format, va_list args)
{
	char *message = vtext(format, args), *line = text("perf: %s\n", message);

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
	result = vtext(format, args);
	va_end(args);
	return result;
}

void insert_word(struct words *words, size_t at, const char *word)
{
	/* Doubling: the list is full when its length is one less than a power of two. */
	if (!(words->nr & (words->nr + 1))) {
		words->word = realloc(words->word, 2 * (words->nr + 1) * sizeof(*words->word));
		if (!words->word)
			die(1, "out of memory");
	}
	memmove(&words->word[at + 1], &words->word[at], (words->nr - at) * sizeof(*words->word));
	words->word[at] = (char *)word;
	words->word[++words->nr] = NULL;
}

void add_word(struct words *words, const char *word)
{
	insert_word(words, words->nr, word);
}

bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

bool is_one_of(const char *word, const char *const list[])
{
	for (; word && *list; list++) {
		if (!strcmp(word, *list))
			return true;
	}
	return false;
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

/* variable: the value of a variable of the environment; if it is not set or empty, @otherwise */
const char *variable(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}
