/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of addresses that have been stepped, by file. */
#ifndef TRUTH_PLACES_H
#define TRUTH_PLACES_H

#include "sframe_types.h"

bool places_add(unsigned int file, u64 addr);
u64 places_count(void);

#endif /* TRUTH_PLACES_H */
