/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place that knows that kernels differ.
 *
 * Ask for the feature, not for the version: stable and distribution kernels
 * backport. Beside each block: what changed, in which commit and release.
 */
#ifndef SFU_COMPAT_H
#define SFU_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kconfig.h>
#include <linux/slab.h>

/*
 * The user unwinder that perf defers to: 71753c6ed2bf ("unwind_user: Add
 * user space unwinding API with frame pointer support"), 6.17. Only x86 selects
 * it so far.
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

/* 2932ba8d9c99 ("slab: Introduce kmalloc_obj() and family"), 7.0; 6.12.107. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#endif

/*
 * With KASAN, task_work_add() allocates memory, which nobody may do under a raw spinlock.
 * 73ab05aa46b0 ("sched/core: Disable page allocation in task_tick_mm_cid()"), 6.12: a flag
 * prevents it. d40797d6720e ("kasan: make kasan_record_aux_stack_noalloc() the default
 * behaviour"), 6.14: it does not allocate, and there is no flag. Kbuild finds the flag.
 */
#ifdef SFU_HAVE_TWAF_NO_ALLOC
#define SFU_TWA_RESUME	((enum task_work_notify_mode)(TWA_RESUME | TWAF_NO_ALLOC))
#else
#define SFU_TWA_RESUME	TWA_RESUME
#endif

#endif /* SFU_COMPAT_H */
