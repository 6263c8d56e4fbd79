/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why stacks end in an object, and what can be done about it. */
#ifndef SFRAMECTL_REMEDY_H
#define SFRAMECTL_REMEDY_H

#include "holding.h"

/* Causes; texts of remedy.c. */
enum remedy_cause {
	REMEDY_BY_REASON,	/* the reason says it all */
	REMEDY_GONE,
	REMEDY_MORE,
	REMEDY_NO_FILE,
	REMEDY_UNREADABLE,
	REMEDY_NO_ELF,
	REMEDY_32_BIT,
	REMEDY_ELSEWHERE,
	REMEDY_NO_TABLE,
	REMEDY_CHANGED,
	REMEDY_NOT_LOADED,
	REMEDY_NOT_TAKEN,
	REMEDY_NOT_DESCRIBED,
	REMEDY_DESCRIBED,
	NR_REMEDY_CAUSES
};

/**
 * struct remedy - a cause in words
 * @name: in a word, for programs
 * @text: why stacks end there
 * @advice: what to do
 */
struct remedy {
	const char	*name;
	const char	*text;
	const char	*advice;
};

bool remedy_is_anywhere(const char *reason);
bool remedy_is_complete(const char *reason);
bool remedy_lacks_data(const char *reason);
enum remedy_cause remedy_cause(const char *reason, const struct place_object *object,
			       const struct holding *holding, u64 off);
struct remedy remedy_of(enum remedy_cause cause, const char *reason);

#endif /* SFRAMECTL_REMEDY_H */
