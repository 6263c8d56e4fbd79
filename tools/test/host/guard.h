/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of test data that end at a page that is not accessible. */
#ifndef TEST_GUARD_H
#define TEST_GUARD_H

#include "sframe_types.h"

/* One copy at a time: the next call takes the place of the last one's. */
u8 *guard_copy(const void *data, u64 size);

#endif /* TEST_GUARD_H */
