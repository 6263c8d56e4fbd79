// SPDX-License-Identifier: GPL-2.0-or-later
/* Fuzzes a full dump: all blobs, FDEs and rows of a bare section. */
#include "fuzz.h"
#include "object.h"
#include "scanned.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	scan_checked(data, OBJECT_BARE_ADDR, size);
	return 0;
}
