// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of a process, for the test that runs. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "sframe_user.h"
#include "user_memory.h"

/* Return: the address of @nr new, untouched pages. The page after them is not mapped. */
unsigned long user_map(struct kunit *test, u32 nr)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, (nr + 1) * PAGE_SIZE,
			     PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, (unsigned long)TASK_SIZE);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + nr * PAGE_SIZE, PAGE_SIZE));
	return addr;
}

static void remap(struct kunit *test, unsigned long page, unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, page,
			vm_mmap(NULL, page, PAGE_SIZE, prot,
				MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
}

/* Replaces this page of a mapping with a new page. */
void user_allow(struct kunit *test, unsigned long page)
{
	remap(test, page, PROT_READ | PROT_WRITE);
}

/* Makes this page of a mapping PROT_NONE. */
void user_forbid(struct kunit *test, unsigned long page)
{
	remap(test, page, PROT_NONE);
}

void user_store(struct kunit *test, unsigned long addr, const void *bytes,
		u32 len)
{
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)addr, bytes, len));
}

/* A reader that may fault. */
int read_user(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

/* A reader that must not fault. */
int read_user_nofault(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return sfu_user_read_now(dst, addr, len);
}
