/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of test data that end at a page that is not accessible. */
#ifndef TEST_GUARD_H
#define TEST_GUARD_H

#include "sframe_types.h"

/* There is one copy at a time: each call replaces the copy of the call before. */
u8 *guard_copy(const void *data, u64 size);

#endif /* TEST_GUARD_H */
