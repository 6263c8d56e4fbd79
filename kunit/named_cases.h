/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of cases that have a name: KUnit reports each case under it. */
#ifndef NAMED_CASES_H
#define NAMED_CASES_H

#include <kunit/test.h>
#include <linux/string.h>

/* A test that is a script: the steps are explained in walk_scene.h and scan_scene.h. */
struct script_case {
	const char	*name;
	const char	*script;
};

/* Defines which_gen_params() for the table which_cases[] of this type. */
#define NAMED_CASES_OF(which, type)					\
	static void which##_desc(const struct type *c, char *desc)	\
	{								\
		strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);		\
	}								\
	KUNIT_ARRAY_PARAM(which, which##_cases, which##_desc)

#define NAMED_CASES(which)	NAMED_CASES_OF(which, which##_case)

#endif /* NAMED_CASES_H */
