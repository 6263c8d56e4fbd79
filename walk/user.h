/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the user memory of the current process. See walk/user.c. */
#ifndef SFU_USER_H
#define SFU_USER_H

#include <linux/uaccess.h>

#include "sframe_core.h"

int sfu_user_read(void *dst, unsigned long addr, size_t len);
int sfu_user_read_now(void *dst, unsigned long addr, size_t len);

int sfu_user_find(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_raw_row *raw);

/*
 * Opens @len bytes of user memory of current at @addr for reads without page faults. Returns false
 * if these are no user addresses. Call only inline reads until sfu_user_close() ends user access.
 */
static __always_inline bool sfu_user_open(unsigned long addr, unsigned long len)
{
	pagefault_disable();
	if (user_read_access_begin((void __user *)addr, len))
		return true;
	pagefault_enable();
	return false;
}

static __always_inline void sfu_user_close(void)
{
	user_read_access_end();
	pagefault_enable();
}

/* Reads a word of user memory after sfu_user_open(). Jumps to @failed if its page is absent. */
#define sfu_user_get_word(val, addr, failed)				\
	unsafe_get_user(val, (unsigned long __user *)(addr), failed)

#endif /* SFU_USER_H */
