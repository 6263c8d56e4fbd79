// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * config.c - explain call-graph.record-mode=sframe in perf's configuration
 *
 * perf reads its configuration itself, before any command, and ends at a value that it does not
 * know. Only a variable of the environment names another file, and the workload would inherit it.
 * So the value cannot be replaced, only explained.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "wrapper.h"

/* value_of: the value if @line is "KEY = VALUE", else NULL */
static char *value_of(char *line, const char *key)
{
	if (strncasecmp(line, key, strlen(key)))
		return NULL;
	line = skip_blanks(line + strlen(key));
	if (*line != '=')
		return NULL;
	line = skip_blanks(line + 1);
	return *line == '"' ? line + 1 : line;
}

/* sets_sframe: does this configuration set call-graph.record-mode to sframe? */
static bool sets_sframe(char *config)
{
	bool in_section = false;
	char *line, *value;

	while ((line = strsep(&config, "\n"))) {
		line = skip_blanks(line);
		if (*line == '[') {
			in_section = !strncasecmp(line, "[call-graph]", strlen("[call-graph]"));
			line = skip_blanks(line + strcspn(line, "]"));
			line += *line == ']';
			line = skip_blanks(line);
		}
		value = in_section ? value_of(line, "record-mode") : NULL;
		if (value && resembles_sframe(value, strcspn(value, "\" \t\r;#")))
			return true;
	}
	return false;
}

static void explain_file(const char *path)
{
	struct stat file;
	char *config;

	/* Bytes that the wrapper reads from a pipe would be missing for perf. */
	if (stat(path, &file) || !S_ISREG(file.st_mode))
		return;
	config = read_file(path);
	if (config && sets_sframe(config))
		say("%s: perf itself reads call-graph.record-mode there, and has no sframe. Write\n"
		    "    record-mode = fp\n"
		    "in its place: while the module sframe_unwind is loaded, these stacks are from SFrame.\n"
		    "Or remove the line, and use --call-graph=sframe.", path);
	free(config);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	static const char *const no[] = { "", "0", "false", "no", "off" };
	size_t i;

	for (i = 0; value && i < sizeof(no) / sizeof(*no); i++) {
		if (!strcasecmp(value, no[i]))
			return false;
	}
	return value;
}

/**
 * explain_config() - if perf's configuration has the value sframe, say what to do
 *
 * perf reads the same files, and fails after that with a message of its own.
 */
void explain_config(void)
{
	const char *only = getenv("PERF_CONFIG"), *home = getenv("HOME");
	char *path;

	if (only) {
		explain_file(only);
		return;
	}
	if (!is_set("PERF_CONFIG_NOSYSTEM"))
		explain_file("/etc/perfconfig");
	if (!home || is_set("PERF_CONFIG_NOGLOBAL"))
		return;
	path = text("%s/.perfconfig", home);
	explain_file(path);
	free(path);
}
