/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel names that the sample side and sframe_unwind.c use. With this
 * header their sources compile on the host unchanged. The Makefile replaces each kernel
 * header that they include with this one. The targets define the functions.
 */
#ifndef FUZZ_SHIM_KERNEL_H
#define FUZZ_SHIM_KERNEL_H

#include <stdio.h>
#include <stdlib.h>

#include "sframe_types.h"

struct shrinker;
struct shrink_control;

#define __user
#define __init
#define __exit
#define notrace
#define __counted_by(member)
#define __rcu
#define __aligned(n)		__attribute__((__aligned__(n)))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define noinline		__attribute__((__noinline__))
#define likely(x)		__builtin_expect(!!(x), 1)
#ifndef BIT_ULL
#define BIT_ULL(n)		(1ull << (n))
#endif
#define GENMASK_ULL(high, low)	(~0ull >> (63 - (high)) & ~0ull << (low))
#define FIELD_GET(mask, val)	(((val) & (mask)) >> __builtin_ctzll(mask))
#define FIELD_PREP(mask, val)	((u64)(val) << __builtin_ctzll(mask) & (mask))
#define clamp(val, low, high)	((val) < (low) ? (low) : (val) > (high) ? (high) : (val))
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "+r"(var))
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))
#define struct_size(p, member, n) (sizeof(*(p)) + (n) * sizeof((p)->member[0]))
#define KUNIT_STATIC_STUB_REDIRECT(...) ((void)0)
/* This kernel has what the newest one has; see compat.h. */
#define SFU_HAVE_FTRACE_ARGUMENT
#define SFU_HAVE_SHRINKER_ALLOC
#define SFU_HAVE_STATIC_STUB
#define IS_ENABLED(option)	0
#define IS_ALIGNED(x, a)	(((x) & ((a) - 1)) == 0)
#define PAGE_ALIGNED(addr)	IS_ALIGNED(addr, 4096)
#define offset_in_page(p)	((unsigned long)(p) & 4095)
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
#define round_up(x, y)		round_down((x) + (y) - 1, y)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define jiffies			0ul
#define MAX_JIFFY_OFFSET	((~0ul >> 2) - 1)
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define HZ			250
#define U16_MAX			0xffff
#define SZ_64K			0x10000
#define S32_MAX			0x7fffffff
#define strscpy(dst, src)	snprintf(dst, sizeof(dst), "%s", src)

static inline void __attribute__((__format__(printf, 1, 2)))
shim_print(const char *format, ...)
{
}

#define pr_err(...)		shim_print(__VA_ARGS__)
#define pr_warn(...)		shim_print(__VA_ARGS__)
#define pr_info(...)		shim_print(__VA_ARGS__)

/* A module. */
struct kernel_param;
struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buf, const struct kernel_param *kp);
};

#define sysfs_emit(buf, ...)	sprintf(buf, __VA_ARGS__)
#define module_param(name, type, perm) static_assert(sizeof(name) == sizeof(type))
#define module_param_named(name, value, type, perm) static_assert(sizeof(value))
#define module_param_cb(name, ops, arg, perm) static_assert(sizeof(*(ops)))
/* Nothing loads the module: the compiler leaves out what only these two functions call. */
#define module_init(function)						\
	static_assert(__builtin_types_compatible_p(__typeof__(function), int (void)))
#define module_exit(function)						\
	static_assert(__builtin_types_compatible_p(__typeof__(function), void (void)))
#define MODULE_PARM_DESC(name, text)	static_assert(sizeof(text))
#define MODULE_DESCRIPTION(text)	static_assert(sizeof(text))
#define MODULE_AUTHOR(text)		static_assert(sizeof(text))
#define MODULE_LICENSE(text)		static_assert(sizeof(text))
#define MODULE_VERSION(text)		static_assert(sizeof(text))

/* With SHIM_ARM64 the names are those of arm64. */
#ifdef SHIM_ARM64
#include "shim/arm64.h"
#else
#define __NR_rt_sigreturn	15
#define __NR_clone		56
#define __NR_clone3		435
#define TASK_SIZE_MAX		0x7ffffffff000ul

/* An interrupted task. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#define instruction_pointer(regs) ((regs)->ip)
#define user_stack_pointer(regs) ((regs)->sp)
#define frame_pointer(regs)	((regs)->bp)
#define user_mode(regs)		(((regs)->cs & 3) == 3)
#define user_64bit_mode(regs)	((regs)->cs == 0x33)
#endif

struct mm_struct {
	unsigned long	start_stack;
	void		*pgd;
};

struct task_struct {
	struct mm_struct	*mm;
	struct pt_regs		*regs;
	unsigned int		flags;
	bool			in_execve;
};

#define PF_KTHREAD		1
#define PF_USER_WORKER		2
#define PF_VCPU			4

extern struct task_struct shim_task;

/* The page table of user memory that is in place. */
extern unsigned long shim_table;

#define current			(&shim_task)
#define cond_resched()		((void)0)
#define fatal_signal_pending(task) ((void)(task), false)
#define task_pt_regs(task)	((task)->regs)

/* Nothing is an NMI. */
struct shim_tss {
	struct {
		unsigned long ist[2], sp0;
	} x86_tss;
};

extern struct shim_tss cpu_tss_rw;

#define this_cpu_read(var)	(var)
#define IST_INDEX_NMI		1
#define EXCEPTION_STKSZ		4096
#define PAGE_SIZE		4096
#define PAGE_MASK		(~(PAGE_SIZE - 1ul))
#define in_nmi()		false
#define in_task()		false
#define current_stack_pointer	0ul
#define MSR_LSTAR		0
#define rdmsr(msr, low, high)	((low) = (high) = (msr))

/* User memory. A page is either present or absent, and faults do not change that. */
#define __va(pa)		((void *)(pa))
#define read_cr3_pa()		shim_table
#define pagefault_disable()	((void)0)
#define pagefault_enable()	((void)0)
#define user_read_access_begin(ptr, len) ((void)(ptr), true)
#define array_index_mask_nospec(index, size) ((index) < (size) ? ~0ul : 0)
#define user_read_access_end()	((void)0)
#define unsafe_get_user(val, ptr, failed)				\
	do {								\
		if (copy_from_user_nofault(&(val), ptr, sizeof(val)))	\
			goto failed;					\
	} while (0)

long copy_from_user_nofault(void *dst, const void *src, size_t len);

/* All runs in one thread. */
typedef struct {
	int	counter;
} atomic_t;

typedef struct {
	s64	counter;
} atomic64_t;

typedef struct {
	long	counter;
} atomic_long_t;

typedef struct {
	int	refs;
} refcount_t;

struct callback_head {
	int	dummy;
};

#define rcu_head		callback_head

struct irq_work {
	int	dummy;
};

typedef struct {
	int	dummy;
} raw_spinlock_t;

struct list_head {
	struct list_head	*next, *prev;
};

struct rhash_head {
	struct rhash_head	*next;
};

struct llist_node {
	struct llist_node	*next;
};

struct hlist_node {
	int	dummy;
};

struct mutex {
	int	dummy;
};

#define atomic_read(v)		__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define ATOMIC_INIT(i)		{ (i) }
#define atomic_set(v, i)	((v)->counter = (i))
#define REFCOUNT_INIT(n)	{ n }
#define refcount_set(r, n)	((r)->refs = (n))
#define refcount_inc(r)		((void)(r)->refs++)
#define refcount_dec_and_test(r) (--(r)->refs == 0)
#define atomic_read_acquire(v)	__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_set_release(v, i) __atomic_store_n(&(v)->counter, i, __ATOMIC_RELEASE)
#define atomic64_inc_return(v)	(++(v)->counter)

/* Not random, so that a test does the same each time. */
static inline u32 get_unaligned_le32(const void *from)
{
	u32 val;

	memcpy(&val, from, sizeof(val));
	return val;
}

static inline u64 get_random_u64(void)
{
	static u64 last;

	last = last * 6364136223846793005 + 1442695040888963407;
	return last;
}

#define atomic_long_add(i, v)	((v)->counter += (i))
#define atomic_long_sub(i, v)	((v)->counter -= (i))
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define WRITE_ONCE(x, val)	(*(volatile __typeof__(x) *)&(x) = (val))

#define cmpxchg(p, old, new)						\
({									\
	__typeof__(*(p)) cmpxchg_was = (old);				\
									\
	__atomic_compare_exchange_n(p, &cmpxchg_was, new, false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	cmpxchg_was;							\
})

#define atomic_cmpxchg(v, old, new) cmpxchg(&(v)->counter, old, new)

#define GOLDEN_RATIO_32		0x61c88647
#define GOLDEN_RATIO_64		0x61c8864680b583ebull

static inline u32 hash_64(u64 val, unsigned int bits)
{
	return val * GOLDEN_RATIO_64 >> (64 - bits);
}

#define rcu_dereference_check(p, c) (p)
#define call_rcu(head, free)	((free)(head))
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define rcu_read_lock_sched()	((void)0)
#define rcu_read_unlock_sched()	((void)0)
#define synchronize_rcu_tasks()	((void)0)
#define DEFINE_STATIC_SRCU(name) static int name
#define srcu_read_lock(srcu)	((void)(srcu), 0)
#define srcu_read_unlock(srcu, idx) ((void)(srcu), (void)(idx))
#define synchronize_srcu(srcu)	((void)(srcu))
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) type name
#define this_cpu_ptr(var)	(var)
#define per_cpu_ptr(var, cpu)	((void)(cpu), (var))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define cpu_to_node(cpu)	(cpu)
#define barrier()		((void)0)
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define this_cpu_inc(var)	((void)((var)++))
#define this_cpu_add(var, n)	((void)((var) += (n)))

/* Memory. */
typedef unsigned int gfp_t;

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NORETRY		0
#define __GFP_NOWARN		0
#define kvmalloc(size, gfp)	kvzalloc(size, gfp)
#define kzalloc(size, gfp)	kvzalloc(size, gfp)
#define kzalloc_obj(obj, gfp)	kvzalloc(sizeof(obj), gfp)
#define kcalloc(nr, size, gfp)	kvzalloc((size_t)(nr) * (size), gfp)
#define kvzalloc_node(size, gfp, node) ((void)(node), kvzalloc(size, gfp))
#define kvfree(ptr)		free(ptr)
#define kfree(ptr)		free(ptr)

/* Returns whole pages, as the kernel does for a large size. */
static inline void *kvzalloc(size_t size, gfp_t gfp)
{
	size_t room = (size + 4095) & ~(size_t)4095;
	void *ptr = aligned_alloc(4096, room);

	(void)gfp;
	if (!ptr)
		abort();
	return memset(ptr, 0, room);
}

struct task_struct;
struct vm_area_struct;

/* An insertion sort of a few items, of 8 bytes at most. */
static inline void sort_r(void *base, size_t nr, size_t size,
			  int (*compare)(const void *a, const void *b, const void *priv),
			  const void *swap, const void *priv)
{
	char *at, *end = (char *)base + nr * size, *items = base;
	char item[8];

	(void)swap;
	for (items += size; items < end; items += size)
		for (at = items; at != base && compare(at, at - size, priv) < 0; at -= size) {
			memcpy(item, at, size);
			memcpy(at, at - size, size);
			memcpy(at - size, item, size);
		}
}

/* perf. */
struct perf_callchain_entry {
	u64	nr;
	u64	ip[];
};

struct perf_callchain_entry_ctx {
	struct perf_callchain_entry	*entry;
	u32				max_stack;
	u32				nr;
};

static inline int perf_callchain_store(struct perf_callchain_entry_ctx *ctx, u64 ip)
{
	if (ctx->nr >= ctx->max_stack)
		return -1;
	ctx->entry->ip[ctx->entry->nr++] = ip;
	ctx->nr++;
	return 0;
}

/* ftrace. */
struct ftrace_regs {
	unsigned long	args[2];
	unsigned long	ip;
};

struct ftrace_ops {
	void (*func)(unsigned long ip, unsigned long parent_ip,
		     struct ftrace_ops *ops, struct ftrace_regs *fregs);
	unsigned long	flags;
};

#define FTRACE_OPS_FL_PERMANENT	1
#define FTRACE_OPS_FL_IPMODIFY	2

#define ftrace_regs_get_argument(fregs, n)	((fregs)->args[n])
#define ftrace_regs_set_instruction_pointer(fregs, to) ((fregs)->ip = (to))

#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)		__VA_ARGS__
#define TRACE_EVENT(name, proto, args, ...)				\
	static inline void trace_##name(proto)				\
	{								\
	}								\
	static_assert(1)

#endif /* FUZZ_SHIM_KERNEL_H */
