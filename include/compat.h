/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adapts the module to kernel versions. Tests for features, because kernels have backports. */
#ifndef SFU_COMPAT_H
#define SFU_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kconfig.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

/* On x86, Linux 6.17 (commit 71753c6ed2bf) adds unwind_user(). */
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

/* Linux 7.0 and 6.12.107 (commit 2932ba8d9c99) add kzalloc_obj(). Older ones have kzalloc(). */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#endif

/* Linux 6.9 (commit fd7eea27a3ae) adds __uninitialized. Without it, kernels may clear variables. */
#ifndef __uninitialized
#define __uninitialized
#endif

/*
 * Linux 6.12 and 6.13 have the flag TWAF_NO_ALLOC (commit 73ab05aa46b0). Without it, their
 * task_work_add() allocates memory if KASAN is on, which is not allowed under a raw spinlock.
 */
#ifdef SFU_HAVE_TWAF_NO_ALLOC
#define SFU_TWA_RESUME	((enum task_work_notify_mode)(TWA_RESUME | TWAF_NO_ALLOC))
#else
#define SFU_TWA_RESUME	TWA_RESUME
#endif

/*
 * Linux 6.2 adds ftrace_regs_get_argument() (commit 94d095ffa0e1), and renames
 * ftrace_instruction_pointer_set() (commit 0ef86097f127). Older kernels get both new names here.
 */
#ifndef SFU_HAVE_FTRACE_ARGUMENT
#define ftrace_regs_get_argument(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#define ftrace_regs_set_instruction_pointer(fregs, ip) ftrace_instruction_pointer_set(fregs, ip)
#endif

/* Linux 6.7 (commit c42d9eeef8e5) adds shrinker_alloc() etc. Older kernels get them here. */
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

/* If register_shrinker() fails, there is no shrinker, and unregister_shrinker() does nothing. */
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

/* Linux 6.5 (commit dd06e72e68bc) adds __counted_by(). Without it, indices stay unchecked. */
#ifndef __counted_by
#define __counted_by(...)
#endif

/*
 * Linux 6.4 (commit 54e6842d0775) adds PF_USER_WORKER, for kernel threads in a user process.
 * Before, only io_uring has such threads, and marks them by PF_IO_WORKER.
 */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER	PF_IO_WORKER
#endif

/*
 * Returns true if tasks of @mm may be in an optimized uprobe. On x86, Linux 6.18 (commit
 * ba2bfc97b462) replaces a uprobe's breakpoint by a call.
 */
static inline bool sfu_may_have_optimized_uprobes(const struct mm_struct *mm)
{
#ifdef SFU_HAVE_OPTIMIZED_UPROBES
	/*
	 * In its first call from an optimized uprobe, a task has no utask and no TIF_UPROBE. Only
	 * MMF_HAS_UPROBES of @mm shows that the task may be in such a call.
	 */
	return mm_flags_test(MMF_HAS_UPROBES, mm);
#else
	return false;
#endif
}

/* Linux 6.3 (commit e047c5eaa763) adds this macro, by which KUnit tests replace a function. */
#ifdef SFU_HAVE_STATIC_STUB
#include <kunit/static_stub.h>
#else
#define KUNIT_STATIC_STUB_REDIRECT(...) do { } while (0)
#endif

#endif /* SFU_COMPAT_H */
