/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All differences between kernel versions: what changed, in which commit and release. The build
 * tests for features, not for versions, because stable and distribution kernels have backports.
 */
#ifndef SFU_COMPAT_H
#define SFU_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kconfig.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

/*
 * 71753c6ed2bf ("unwind_user: Add user space unwinding API with frame pointer support"), 6.17, adds
 * unwind_user(). Only x86 has it so far.
 */
#if IS_ENABLED(CONFIG_UNWIND_USER)
#include <linux/unwind_user.h>
#define SFU_HAVE_UNWIND_USER 1
#else
#define SFU_HAVE_UNWIND_USER 0
struct unwind_stacktrace {
	unsigned int	nr;
	unsigned long	*entries;
};
#endif

/* Added by 2932ba8d9c99 ("slab: Introduce kmalloc_obj() and family"), 7.0 and stable 6.12.107. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#endif

/* Added by fd7eea27a3ae ("Compiler Attributes: Add __uninitialized macro"), 6.9. */
#ifndef __uninitialized
#define __uninitialized
#endif

/*
 * 73ab05aa46b0 ("sched/core: Disable page allocation in task_tick_mm_cid()"), 6.12 to 6.13, adds
 * TWAF_NO_ALLOC. With KASAN, task_work_add() without this flag allocates memory, which is not
 * allowed under a raw spinlock. Kbuild looks for the flag in the headers.
 */
#ifdef SFU_HAVE_TWAF_NO_ALLOC
#define SFU_TWA_RESUME	((enum task_work_notify_mode)(TWA_RESUME | TWAF_NO_ALLOC))
#else
#define SFU_TWA_RESUME	TWA_RESUME
#endif

/*
 * 94d095ffa0e1 ("ftrace: abstract DYNAMIC_FTRACE_WITH_ARGS accesses"), 0ef86097f127 ("ftrace:
 * rename ftrace_instruction_pointer_set() -> ftrace_regs_set_instruction_pointer()"), 6.2. Kbuild
 * looks for these functions in the headers.
 */
#ifndef SFU_HAVE_FTRACE_ARGUMENT
#define ftrace_regs_get_argument(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#define ftrace_regs_set_instruction_pointer(fregs, ip) ftrace_instruction_pointer_set(fregs, ip)
#endif

/* c42d9eeef8e5 ("mm: shrinker: add infrastructure for dynamically allocating shrinker"), 6.7. */
#ifndef SFU_HAVE_SHRINKER_ALLOC
static inline struct shrinker *shrinker_alloc(unsigned int flags, const char *name)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (shrinker) {
		shrinker->flags = flags;
		shrinker->seeks = DEFAULT_SEEKS;
	}
	return shrinker;
}

/* If this fails, the module runs without a shrinker: unregister_shrinker() then does nothing. */
static inline void shrinker_register(struct shrinker *shrinker)
{
	if (register_shrinker(shrinker, "sframe_unwind"))
		pr_warn("no memory for a shrinker: tables stay when memory is short\n");
}

static inline void shrinker_free(struct shrinker *shrinker)
{
	if (shrinker)
		unregister_shrinker(shrinker);
	kfree(shrinker);
}
#endif

/* c8248faf3ca2 ("Compiler Attributes: counted_by: Adjust name and identifier expansion"), 6.6. */
#ifndef __counted_by
#define __counted_by(...)
#endif

/* 54e6842d0775 ("fork/vm: Move common PF_IO_WORKER behavior to new flag"), 6.4: PF_USER_WORKER. */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER	PF_IO_WORKER
#endif

/*
 * ba2bfc97b462 ("uprobes/x86: Add support to optimize uprobes"), 6.18. An optimized uprobe is a
 * call: a task at its first one has no utask and no TIF_UPROBE, but its mm shows uprobes.
 */
static inline bool sfu_may_have_optimized_uprobes(const struct mm_struct *mm)
{
#ifdef SFU_HAVE_OPTIMIZED_UPROBES
	return mm_flags_test(MMF_HAS_UPROBES, mm);
#else
	return false;
#endif
}

/* e047c5eaa763 ("kunit: Expose 'static stub' API to redirect functions"), 6.3. */
#ifdef SFU_HAVE_STATIC_STUB
#include <kunit/static_stub.h>
#else
#define KUNIT_STATIC_STUB_REDIRECT(...) do { } while (0)
#endif

#endif /* SFU_COMPAT_H */
