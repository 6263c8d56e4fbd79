// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookup-unwind LIBRARY ADDRESSES: measure a step of libgcc's and of libunwind's unwinder
 *
 * The program builds a stack with a frame for each address, and puts the return
 * addresses where the functions would put them. Each unwinder walks this stack by
 * .eh_frame. A step restores all registers, which is more work than a look-up,
 * but the unwinders offer no smaller operation.
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
 * libgcc's _Unwind_Backtrace() is found by dlsym(), because libunwind has a
 * function of the same name. libunwind's header also has libgcc's type names, so
 * the type here has another name.
 */
typedef int trace_fn(void *context, void *arg);
static int (*unwind_backtrace)(trace_fn *trace, void *arg);

static uint64_t load_addr;
static uint64_t *first_frame;
static jmp_buf back;
static int nr_frames;

/* Both unwinders look up the return address minus one: the stack has each address plus one. */
static void make_stack(void)
{
	uint64_t size = 4096, *slot;
	int i;

	for (i = 0; i < LOOKUP_COUNT; i++)
		size += addresses[i].cfa;
	/* The unwinder itself uses the stack below. */
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

/* Calls backtrace_and_leave() on the new stack, as if the first function had called it. */
static void unwind_libgcc(void)
{
	nr_frames = 0;
	if (!setjmp(back)) {
		asm volatile("mov %0, %%rsp\n\t"
			     "jmp *%1"
			     : : "r" (first_frame), "r" (backtrace_and_leave));
		__builtin_unreachable();
	}
	/* backtrace_and_leave() has a frame, too. */
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
