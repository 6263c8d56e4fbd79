/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel types and macros that the SFrame decoder uses. User programs get substitutes for them. */
#ifndef SFRAME_TYPES_H
#define SFRAME_TYPES_H

#ifdef __KERNEL__
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/swab.h>
#include <linux/types.h>

#define sframe_is_killed()	fatal_signal_pending(current)
#else
#include <assert.h>
#include <byteswap.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __INT8_TYPE__ s8;
typedef __INT16_TYPE__ s16;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;

#define __packed	__attribute__((__packed__))
/* The headers of glibc may define __always_inline already. */
#ifndef __always_inline
#define __always_inline	inline
#endif
#define noinline	__attribute__((__noinline__))
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define U32_MAX		(~(u32)0)
#define swab16		bswap_16
#define swab32		bswap_32
#define swab64		bswap_64
#define cond_resched()	((void)0)
#define sframe_is_killed()	false
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
/* Masks nothing: in a user-space program, this code has no secret that Spectre could leak. */
#define array_index_nospec(index, size) ((void)(size), (index))
#endif

#endif /* SFRAME_TYPES_H */
