// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads user memory: the stack, the code and mapped tables of the current
 * process. No read waits for memory that is not present. The module reads user
 * memory nowhere else.
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
	/*
	 * Without the mask a mispredicted check would let a process choose kernel
	 * memory to load.
	 */
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

/*
 * Sets @start to the start of the entry at @addr; false if the entry is not present. The
 * table is that of the section of this machine, so no field has to be swapped. Called inside
 * of a window of user memory.
 */
static __always_inline bool get_entry_start(const struct sframe_header *hdr, unsigned long addr,
					    u64 *start)
{
	s32 narrow;
	u64 val;

	if (hdr->version == SFRAME_VERSION_3) {
		unsafe_get_user(val, (u64 __user *)addr, absent);
	} else {
		unsafe_get_user(narrow, (s32 __user *)addr, absent);
		val = (s64)narrow;
	}
	*start = val + (hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL ? addr : hdr->addr);
	return true;
absent:
	return false;
}

/**
 * sfu_user_bisect() - search a sorted table of entries, as &sframe_reader.bisect
 * @hdr: the section, of this machine
 * @pc: address of an instruction
 * @nr: set to the number of entries that start at or below @pc
 *
 * Inside of one window of user memory a step takes some 15 instructions. The bounds of the
 * header keep it in the table, and sfu_user_open() is a barrier for the table as a whole.
 *
 * Context: As for sfu_user_read().
 * Return: 0; -EFAULT if an entry is not present; -ENOENT if one starts beyond user memory:
 * the decoder's own search finds the defect.
 */
int sfu_user_bisect(const struct sframe_header *hdr, u64 pc, u32 *nr)
{
	u32 lo = 0, hi = hdr->num_fdes;

	KUNIT_STATIC_STUB_REDIRECT(sfu_user_bisect, hdr, pc, nr);
	if (!sfu_user_open(hdr->fde_addr, (u64)hi * hdr->fde_size))
		return -EFAULT;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		unsigned long addr = hdr->fde_addr + (u64)mid * hdr->fde_size;
		u64 start;

		if (!get_entry_start(hdr, addr, &start))
			goto absent;
		if (start >> 63)
			goto malformed;
		if (start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	sfu_user_close();
	*nr = lo;
	return 0;
absent:
	sfu_user_close();
	return -EFAULT;
malformed:
	sfu_user_close();
	return -ENOENT;
}

/* sfu_user_read() for the decoder. */
int sfu_user_reader(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return sfu_user_read(dst, addr, len);
}
