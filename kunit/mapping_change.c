// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes the mappings of a process. See mapping_change.h. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>

#include "mapping_change.h"
#include "scan_scene.h"

void unmap_at(struct kunit *test, unsigned int first, unsigned int nr)
{
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page(test, first), nr * PAGE_SIZE));
}

void protect_at(struct kunit *test, unsigned int first, unsigned int nr,
		unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, 0, user_mprotect(page(test, first), nr * PAGE_SIZE, prot));
}

void move_to(struct kunit *test, unsigned int from, unsigned int nr,
	     unsigned int to)
{
	KUNIT_ASSERT_EQ(test, page(test, to),
			user_mremap(page(test, from), nr * PAGE_SIZE, nr * PAGE_SIZE,
				    page(test, to)));
}

void map_anonymous(struct kunit *test, unsigned int first, unsigned int nr,
		   unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, page(test, first),
			vm_mmap(NULL, page(test, first), nr * PAGE_SIZE, prot,
				MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
}

void unmap_section(struct kunit *test)
{
	unmap_at(test, 3, 2);
}

void unmap_last_byte(struct kunit *test)
{
	unmap_at(test, 4, 1);
}

void unmap_first_byte(struct kunit *test)
{
	unmap_at(test, 3, 1);
}

void forbid_section(struct kunit *test)
{
	protect_at(test, 3, 2, PROT_NONE);
}

void unmap_code(struct kunit *test)
{
	unmap_at(test, 1, 2);
}

void unmap_code_first(struct kunit *test)
{
	unmap_at(test, 1, 1);
}

void unmap_code_last(struct kunit *test)
{
	unmap_at(test, 2, 1);
}

void unmap_headers(struct kunit *test)
{
	unmap_at(test, 0, 1);
}

void map_over_code(struct kunit *test)
{
	map_anonymous(test, 1, 2, PROT_READ | PROT_EXEC);
}

void map_over_section(struct kunit *test)
{
	map_anonymous(test, 3, 1, PROT_READ);
}

void map_code_again(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	user_map_file(test, scene->image.file, page(test, 1), 2,
		      PROT_READ | PROT_EXEC, IMAGE_CODE);
}

void map_section_again(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	user_map_file(test, scene->image.file, page(test, 3), 2, PROT_READ,
		      IMAGE_SECTION);
}

void no_exec(struct kunit *test)
{
	protect_at(test, 1, 2, PROT_READ);
}

void no_exec_last(struct kunit *test)
{
	protect_at(test, 2, 1, PROT_READ);
}
