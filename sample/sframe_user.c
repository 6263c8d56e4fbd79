// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads user memory: the stack, the code and mapped tables of the current
 * process. No read waits for memory that is not present. The module reads user memory nowhere
 * else.
 */
#include <kunit/static_stub.h>

#include "sframe_arch.h"
#include "sframe_user.h"

/**
 * sfu_user_read_now() - sfu_user_read(), which a test cannot replace
 * @dst: where the bytes go
 * @addr: user address
 * @len: bytes
 *
 * Context: As for sfu_user_read().
 * Return: As sfu_user_read().
 */
int sfu_user_read_now(void *dst, unsigned long addr, size_t len)
{
	/* Without the mask a mispredicted check would let a process choose kernel memory to load. */
	const void __user *from = (const void __user *)sfu_arch_mask_user(addr);

	return copy_from_user_nofault(dst, from, len) ? -EFAULT : 0;
}

/**
 * sfu_user_read() - read memory of the current process
 * @dst: where the bytes go; undefined after an error
 * @addr: user address; any value is safe
 * @len: bytes
 *
 * If KUnit is configured, a test may replace this function in its own task. A sample
 * never comes here in such a task: kernel threads are declined.
 *
 * Context: Any, NMI included, in the address space of current.
 * Return: 0; -EFAULT if a byte is not readable, or not present.
 */
int sfu_user_read(void *dst, unsigned long addr, size_t len)
{
	KUNIT_STATIC_STUB_REDIRECT(sfu_user_read, dst, addr, len);
	return sfu_user_read_now(dst, addr, len);
}

/* sfu_user_read() for the decoder. */
int sfu_user_reader(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return sfu_user_read(dst, addr, len);
}
