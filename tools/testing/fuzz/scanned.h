/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scans arbitrary bytes as sframectl does, and checks the results. */
#ifndef FUZZ_SCANNED_H
#define FUZZ_SCANNED_H

#include "sframe_types.h"

u64 scan_checked(const u8 *data, u64 addr, u64 size);

#endif /* FUZZ_SCANNED_H */
