/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a lower and an upper bound: a value that was never measured must not pass. */
#ifndef EXPECT_WITHIN_H
#define EXPECT_WITHIN_H

#include <kunit/test.h>

static inline void expect_within(struct kunit *test, const char *what, u32 value,
				 u32 least, u32 most)
{
	KUNIT_EXPECT_GE_MSG(test, value, least, "too few %s", what);
	KUNIT_EXPECT_LE_MSG(test, value, most, "too many %s", what);
}

#endif /* EXPECT_WITHIN_H */
