// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookup-unwind LIBRARY ADDRESSES: a step of libgcc's and of libunwind's unwinder
 *
 * A stack is made up, a frame for each address: the return addresses stand where
 * the functions would have left them. Each unwinder goes through all of it, by
 * .eh_frame. That is more than a look-up, for all registers are restored; but
 * there is no less of it that they offer.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <link.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "lookup.h"

/*
 * libgcc's, by their own names: libunwind's header has the types, and its
 * library has functions of these names, too.
 */
typedef int trace_fn(void *context, void *arg);
static int (*unwind_backtrace)(trace_fn *trace, void *arg);

static uint64_t load_addr;
static uint64_t *first_frame;
static jmp_buf back;
static int nr_frames;

/* Both look an address up that is one less than the return address. */
static void make_stack(void)
{
	uint64_t size = 4096, *slot;
	int i;

	for (i = 0; i < LOOKUP_COUNT; i++)
		size += addresses[i].cfa;
	/* Below is room for whoever unwinds. */
	first_frame = (uint64_t *)((char *)calloc(1, size + (1 << 20)) + (1 << 20) + 8);
	slot = first_frame;
	for (i = 0; i < LOOKUP_COUNT; i++) {
		*slot = load_addr + addresses[i].addr + 1;
		slot += addresses[i].cfa / 8;
	}
}

static int count_frame(void *context, void *arg)
{
	(void)context;
	(void)arg;
	nr_frames++;
	return 0;
}

__attribute__((__used__)) static void backtrace_and_leave(void)
{
	unwind_backtrace(count_frame, NULL);
	longjmp(back, 1);
}

/* As if the first function had called backtrace_and_leave(). */
static void unwind_libgcc(void)
{
	nr_frames = 0;
	if (!setjmp(back)) {
		asm volatile("mov %0, %%rsp\n\t"
			     "jmp *%1"
			     : : "r" (first_frame), "r" (backtrace_and_leave));
		__builtin_unreachable();
	}
	/* And the one of backtrace_and_leave() itself. */
	if (nr_frames < LOOKUP_COUNT || nr_frames > LOOKUP_COUNT + 2)
		errx(1, "libgcc: %d frames of %d", nr_frames, LOOKUP_COUNT);
}

static void unwind_libunwind(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	int i;

	unw_getcontext(&context);
	context.uc_mcontext.gregs[REG_RIP] = *first_frame;
	context.uc_mcontext.gregs[REG_RSP] = (uintptr_t)(first_frame + 1);
	unw_init_local(&cursor, &context);
	for (i = 0; i < LOOKUP_COUNT - 1; i++)
		if (unw_step(&cursor) <= 0)
			errx(1, "libunwind: frame %d", i);
}

int main(int argc, char **argv)
{
	struct link_map *map;

	if (argc != 3)
		errx(2, "usage: lookup-unwind LIBRARY ADDRESSES");
	map = dlopen(argv[1], RTLD_NOW);
	if (!map)
		errx(1, "%s", dlerror());
	load_addr = map->l_addr;
	read_addresses(argv[2]);
	make_stack();
	unwind_backtrace = dlsym(dlopen("libgcc_s.so.1", RTLD_NOW), "_Unwind_Backtrace");
	if (!unwind_backtrace)
		errx(1, "%s", dlerror());

	measure("libgcc", unwind_libgcc);
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
	measure("libunwind", unwind_libunwind);
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_GLOBAL);
	measure("libunwind-cached", unwind_libunwind);
	return 0;
}
