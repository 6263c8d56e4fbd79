// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads user memory: the stack, the code and mapped tables of the current
 * process. No read waits for memory that is not present. The module reads user
 * memory nowhere else, except inline, by sfu_user_get_word().
 */
#include "compat.h"
#include "sframe_arch.h"
#include "sframe_find.h"
#include "walk/user.h"

/*
 * sfu_user_read(), which a test cannot replace. Most reads are of a word, or of a few bytes of
 * code. copy_from_user_nofault() takes some 130 instructions for one, this 40.
 */
int sfu_user_read_now(void *dst, unsigned long addr, size_t len)
{
	u8 *to = dst, val8;
	unsigned long end;
	u64 val64;
	u32 val32;

	/*
	 * Without the mask a mispredicted check would let a process choose kernel
	 * memory to load.
	 */
	addr = sfu_arch_mask_user(addr);
	if (!sfu_user_open(addr, len))
		return -EFAULT;
	/* In the window no function may be called, not even memcpy(). */
	for (end = addr + len; end - addr >= sizeof(val64); addr += sizeof(val64)) {
		unsafe_get_user(val64, (u64 __user *)addr, absent);
		((struct sframe_any_u64 *)to)->v = val64;
		to += sizeof(val64);
	}
	if (end - addr >= sizeof(val32)) {
		unsafe_get_user(val32, (u32 __user *)addr, absent);
		((struct sframe_any_u32 *)to)->v = val32;
		to += sizeof(val32);
		addr += sizeof(val32);
	}
	for (; addr != end; addr++) {
		unsafe_get_user(val8, (u8 __user *)addr, absent);
		*to++ = val8;
	}
	sfu_user_close();
	return 0;
absent:
	sfu_user_close();
	return -EFAULT;
}

/*
 * Reads memory of the current process, in its address space. Any value of @addr is safe. Any
 * context, NMI included. Returns -EFAULT if a byte is not readable, or not present: @dst is
 * undefined then.
 *
 * If KUnit is configured, a test may replace this function in its own task. A sample never comes
 * here in such a task: kernel threads are declined.
 */
int sfu_user_read(void *dst, unsigned long addr, size_t len)
{
	KUNIT_STATIC_STUB_REDIRECT(sfu_user_read, dst, addr, len);
	return sfu_user_read_now(dst, addr, len);
}

/* A read of a look-up, inside of a window of user memory. The bytes are in the machine's order. */
static __always_inline bool get_user_now(const struct sframe_header *hdr, struct sframe_reader *rd,
					 u64 addr, u32 size, u64 *val)
{
	u8 val8;
	u16 val16;
	u32 val32;

	switch (size) {
	case 1:
		unsafe_get_user(val8, (u8 __user *)addr, absent);
		*val = val8;
		break;
	case 2:
		unsafe_get_user(val16, (u16 __user *)addr, absent);
		*val = val16;
		break;
	case 4:
		unsafe_get_user(val32, (u32 __user *)addr, absent);
		*val = val32;
		break;
	default:
		unsafe_get_user(*val, (u64 __user *)addr, absent);
		break;
	}
	return true;
absent:
	return false;
}

/*
 * As sframe_find(), in a mapped section in the byte order of the machine. @pc is below 2^63.
 *
 * All reads are made inside of one window of user memory. The bounds of the header keep them in the
 * section, and sfu_user_open() is a barrier for the section as a whole. If the processor
 * mispredicts a check, it reads up to 8 GiB above the section. Above user addresses is a hole of
 * 2^47 bytes at least, which such reads do not cross.
 */
int sfu_user_find(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_raw_row *raw)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_user_now };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(sfu_user_find, hdr, rd, pc, raw);
	if (!sfu_user_open(hdr->addr, sframe_header_span(hdr)))
		return -EFAULT;
	err = sframe_find(&from, pc, raw);
	sfu_user_close();
	if (err == -EFAULT)
		sframe_charge(rd, SFRAME_FAULT_COST);
	return err;
}
