/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the frame is in code that HotSpot has made. */
#ifndef HOTSPOT_CODE_H
#define HOTSPOT_CODE_H

#include "cfi_row.h"

/* Bytes of a frame. No method has a larger one. */
#define HOTSPOT_FRAME_MAX	0x100000

/* The depth at an instruction: bytes from the stack pointer to the CFA; or one of these. */
#define HOTSPOT_HOLE	0	/* it is not known */
#define HOTSPOT_FP	1	/* the frame pointer leads to the frame */
#define HOTSPOT_ENTRY	8	/* the return address is at the stack pointer */

void hotspot_follow(const u8 *code, u32 *depths, u32 size, u32 frame, bool is_native);
struct cfi_row *hotspot_make_rows(const u32 *depths, u32 size, u32 *nr);
struct cfi_row hotspot_interpreter_row(void);

#endif /* HOTSPOT_CODE_H */
