// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the counters of the module, and subtracts earlier ones. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "counters.h"
#include "report.h"

#define NAME_CHARACTERS							\
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* The longest line: a name, a space, 20 digits and a newline. */
#define LINE_MAX	(COUNTER_NAME - 1 + 1 + 20 + 1)
/* Has room for one counter more than COUNTERS_MAX, so that one is noticed. */
#define TEXT_MAX	((COUNTERS_MAX + 1) * LINE_MAX)

/* Reads at most @size bytes. Return: their number, or a negative errno. */
static ssize_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = 0, got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + len, size - len);
		if (got < 0)
			len = -errno;
		else
			len += got;
	} while (got > 0);
	close(fd);
	return len;
}

/* @end is the end of the line, where a byte 0 is. */
static bool parse_counter(const char *line, const char *end, struct counter *counter)
{
	size_t len = strspn(line, NAME_CHARACTERS);
	const char *value = line + len + 1;
	char *rest;

	if (!len || len >= sizeof(counter->name) || line[len] != ' ' ||
	    !isdigit((unsigned char)*value) || end - line >= LINE_MAX)
		return false;
	memcpy(counter->name, line, len);
	counter->name[len] = 0;
	errno = 0;
	counter->value = strtoull(value, &rest, 10);
	return !errno && rest == end;
}

/* Return: NULL, or the reason why the line is refused. */
static const char *add_counter(struct counters *counters, const char *line,
			       const char *end)
{
	struct counter counter;

	if (!parse_counter(line, end, &counter))
		return "is not a name and a number";
	if (counters_find(counters, counter.name))
		return "has a name that an earlier line has";
	if (counters->nr == COUNTERS_MAX)
		return "is one more than sframectl reads";
	counters->all[counters->nr++] = counter;
	return NULL;
}

/**
 * counters_read() - read all counters of a file
 * @counters: set to the counters
 * @path: the file
 *
 * Reads a bounded number of bytes, whatever @path is.
 *
 * Return: 0; -EBADMSG if the file has something else than counters, which has been
 * reported; another negative errno if it cannot be read.
 */
int counters_read(struct counters *counters, const char *path)
{
	char text[TEXT_MAX + 1], *line = text, *end;
	ssize_t size = read_text(path, text, TEXT_MAX);
	const char *refused;

	counters->nr = 0;
	if (size < 0)
		return size;
	for (; line < text + size; line = end + 1) {
		end = memchr(line, '\n', text + size - line) ?: text + size;
		*end = 0;
		refused = add_counter(counters, line, end);
		if (refused) {
			complain("%s: line %zu: %s", path, counters->nr + 1, refused);
			return -EBADMSG;
		}
	}
	if (counters->nr)
		return 0;
	complain("%s: has no counters", path);
	return -EBADMSG;
}

/* Return: the counter, or NULL: newer and older modules have other names. */
const struct counter *counters_find(const struct counters *counters,
				    const char *name)
{
	size_t i;

	for (i = 0; i < counters->nr; i++)
		if (!strcmp(counters->all[i].name, name))
			return &counters->all[i];
	return NULL;
}

/* Return: the name of @counter in @group; NULL if it is not in that group. */
const char *counter_member(const struct counter *counter, const char *group)
{
	size_t len = strlen(group);

	if (strncmp(counter->name, group, len) || counter->name[len] != '.')
		return NULL;
	return counter->name + len + 1;
}

/* The counters map.* and table.* say how much the module holds: they go up and down. */
static bool only_grows(const struct counter *counter)
{
	return !counter_member(counter, "map") && !counter_member(counter, "table");
}

/**
 * counters_subtract() - make the difference to earlier counters
 * @counters: the later counters; set to the difference
 * @before: the earlier ones
 *
 * Counters of the groups "map" and "table" stay as they are: they are no sums.
 *
 * Return: false if a counter has become smaller. Then the module was loaded again in
 * between, and @counters is left as it is.
 */
bool counters_subtract(struct counters *counters, const struct counters *before)
{
	const struct counter *old;
	struct counters difference = *counters;
	size_t i;

	for (i = 0; i < counters->nr; i++) {
		old = counters_find(before, counters->all[i].name);
		if (!old || !only_grows(old))
			continue;
		if (old->value > counters->all[i].value)
			return false;
		difference.all[i].value -= old->value;
	}
	*counters = difference;
	return true;
}
