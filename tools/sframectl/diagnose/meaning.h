/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of each counter of the module, and the advice that goes with it. */
#ifndef SFRAMECTL_MEANING_H
#define SFRAMECTL_MEANING_H

#include "sframe_types.h"

/**
 * struct meaning - the meaning of a counter
 * @name: the counter
 * @text: what it counts; NULL: a counter that is not known here
 * @advice: what to do if the counter is high; NULL: nothing
 * @complete: the stacks that it counts are complete
 */
struct meaning {
	const char	*name;
	const char	*text;
	const char	*advice;
	bool		complete;
};

struct meaning meaning_of(const char *counter);

#endif /* SFRAMECTL_MEANING_H */
