/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions whose wrong frames are known, and judged. */
#ifndef TRUTH_KNOWN_H
#define TRUTH_KNOWN_H

#include "tally.h"

void known_read(const char *path);
const char *known_find(const struct tally *tally, const char *what);

#endif /* TRUTH_KNOWN_H */
