// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads user memory of current: stacks, code and mapped sections. If a page is absent, a read
 * fails, and causes no page fault. Only walk/fast.c, the fast path of walks, has its own reads.
 */
#include "compat.h"
#include "sframe_arch.h"
#include "sframe_find.h"
#include "walk/user.h"

/* sfu_user_read() without its KUnit stub. Faster than copy_from_user_nofault() for short reads. */
int sfu_user_read_now(void *dst, unsigned long addr, size_t len)
{
	u8 *to = dst, val8;
	unsigned long end;
	u64 val64;
	u32 val32;

	/* Without this mask, a process could choose any address for a speculative read. */
	addr = sfu_arch_mask_user(addr);
	if (!sfu_user_open(addr, len))
		return -EFAULT;
	/* Until sfu_user_close() ends user access, no function may be called, not even memcpy(). */
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
 * Reads @len bytes of user memory of current to @dst, in any context, NMI included. Any @addr is
 * safe. Returns -EFAULT, with @dst undefined, if a byte is not readable or not present.
 */
int sfu_user_read(void *dst, unsigned long addr, size_t len)
{
	/* No sample waits for KUnit's lock: may_walk() refuses the kernel threads that take it. */
	KUNIT_STATIC_STUB_REDIRECT(sfu_user_read, dst, addr, len);
	return sfu_user_read_now(dst, addr, len);
}

/* Reads a native-endian integer of @size bytes from memory that sfu_user_open() has opened. */
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
 * Finds the row for the code at @pc, which is below 2^63, in an SFrame section in user memory. The
 * section has the machine's byte order.
 */
int sfu_user_find(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_raw_row *raw)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_user_now };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(sfu_user_find, hdr, rd, pc, raw);
	/*
	 * Speculation: on arm64, each read clears bit 55 of its address, so it reads no kernel
	 * memory. On x86, sfu_user_open() checks that the section is in user memory, then has a
	 * barrier. A later check of the section's bounds may still be mispredicted. Then reads go
	 * at most 8 GiB above the section: the hole below kernel memory has at least 2^47 bytes.
	 */
	if (!sfu_user_open(hdr->addr, sframe_header_span(hdr)))
		return -EFAULT;
	err = sframe_find(&from, pc, raw);
	sfu_user_close();
	if (err == -EFAULT)
		sframe_charge(rd, SFRAME_FAULT_COST);
	return err;
}
