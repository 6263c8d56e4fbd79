// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of a process. See common.h. */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "sframe_find.h"
#include "walk/user.h"
#include "common.h"

/* Return: zeroed memory, which is freed after the test. */
void *test_alloc(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

/* Return: the address of @nr new, untouched pages. The page after them is not mapped. */
unsigned long user_map(struct kunit *test, u32 nr)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, (nr + 1) * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, (unsigned long)TASK_SIZE);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + nr * PAGE_SIZE, PAGE_SIZE));
	return addr;
}

void user_remap(struct kunit *test, unsigned long page, unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, page, vm_mmap(NULL, page, PAGE_SIZE, prot,
					    MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
}

void user_store(struct kunit *test, unsigned long addr, const void *bytes, u32 len)
{
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)addr, bytes, len));
}

/* Writes the script to @script, which has SCRIPT_TEXT bytes, and runs its steps. */
void run_each_step(struct kunit *test, char *script, void (*run)(struct kunit *test, char *step),
		   const char *format, va_list args)
{
	char step[1024];

	KUNIT_ASSERT_LT(test, vscnprintf(script, SCRIPT_TEXT, format, args), SCRIPT_TEXT - 1);
	for (; *script; script += *script == ';') {
		script += strspn(script, " ");
		strscpy(step, script, min(sizeof(step), strcspn(script, ";") + 1));
		script += strlen(step);
		if (*step)
			run(test, step);
		if (READ_ONCE(test->status) == KUNIT_FAILURE)
			kunit_info(test, "in or before the step before \"%s\"\n", script);
	}
}

int read_user_header(struct sframe_header *hdr, struct sframe_reader *rd, unsigned long addr,
		     u32 len)
{
	struct sframe_raw_header raw;

	if (copy_from_user(&raw, (void __user *)addr, sizeof(raw)))
		return -EFAULT;
	return sframe_header_check(hdr, rd, &raw, addr, len);
}

/* A look-up as a walk makes it. */
int find_user_row_now(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		      struct sframe_row *row)
{
	struct sframe_raw_row raw;

	return sfu_user_find(hdr, rd, pc, &raw) ?: sframe_decode_found(hdr, rd, &raw, row);
}

static __always_inline bool get_user_number(const struct sframe_header *hdr,
					    struct sframe_reader *rd, u64 addr, u32 size, u64 *val)
{
	*val = 0;
	return !copy_from_user(val, (void __user *)addr, size);
}

/* A look-up that may fault. */
int find_user_row(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_row *row)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_user_number };
	struct sframe_raw_row raw;

	return sframe_find(&from, pc, &raw) ?: sframe_decode_found(hdr, rd, &raw, row);
}
