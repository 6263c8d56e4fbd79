/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which runtime has made code that is in no file, and what makes its stacks complete. */
#ifndef SFRAMECTL_LANGUAGE_H
#define SFRAMECTL_LANGUAGE_H

/**
 * struct language - a runtime that makes code while it runs
 * @name: for users
 * @file: pattern of the name of a file that only its processes map
 * @advice: what to do if its stacks are not complete
 */
struct language {
	const char	*name;
	const char	*file;
	const char	*advice;
};

const struct language *language_of(const char *pid);

#endif /* SFRAMECTL_LANGUAGE_H */
