/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few names the decoder needs from its surroundings, in the kernel and on
 * the host.
 */
#ifndef SFRAME_TYPES_H
#define SFRAME_TYPES_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/swab.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <byteswap.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define __packed	__attribute__((__packed__))
#define swab16		bswap_16
#define swab32		bswap_32
#define swab64		bswap_64
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#endif

#endif /* SFRAME_TYPES_H */
