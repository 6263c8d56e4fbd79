/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KUnit on the host: what the suites of kunit/ use, for those that need no kernel. It stands in for
 * <kunit/test.h> and for the kernel's headers, most of which fuzz/shim/kernel.h replaces. User
 * memory is a part of this process, far from all else: what is outside of it cannot be read.
 */
#ifndef HOST_KUNIT_H
#define HOST_KUNIT_H

#include <setjmp.h>
#include <linux/types.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "shim/kernel.h"

#undef KUNIT_STATIC_STUB_REDIRECT
#define U16_MAX			0xffff
#define S64_MAX			((s64)(~0ull >> 1))
#define U64_MAX			(~0ull)
#define LONG_MAX		__LONG_MAX__
#define __maybe_unused		__attribute__((__unused__))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define TASK_SIZE		TASK_SIZE_MAX
#define scnprintf(text, size, ...) kunit_print(text, size, __VA_ARGS__)
#define vscnprintf(text, size, format, args) kunit_vprint(text, size, format, args)
#undef strscpy
#define strscpy_size(dst, src, size, ...) snprintf(dst, size, "%s", src)
#define strscpy(dst, ...)	strscpy_size(dst, __VA_ARGS__, sizeof(dst))
#define instruction_pointer_set(regs, addr) (instruction_pointer(regs) = (addr))
#define WARN_ON(condition)	({ bool is_bad = (condition); if (is_bad) abort(); is_bad; })
#define ULONG_MAX		(~0ul)
#define SZ_128K			0x20000
#define SZ_1M			0x100000
#define SZ_1G			0x40000000
#define UINT_MAX		(~0u)
#define LONG_MIN		(-LONG_MAX - 1)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define strstarts(text, prefix)	(!strncmp(text, prefix, strlen(prefix)))
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define asmlinkage
#define CLONE_VM		0x100
#define PTRS_PER_PGD		512
#define __NR_getpid		39
#define __USER_CS		0x33
#define __USER_DS		0x2b
#define __USER32_CS		0x23
#define __KERNEL_CS		0x10
#define __KERNEL_DS		0x18
#define X86_EFLAGS_IF		0x200

/* The context of a signal on x86_64, and the frame of its handler. */
struct sigcontext {
	u64	r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	u16	cs, gs, fs, ss;
	u64	err, trapno, oldmask, cr2, fpstate, reserved1[8];
};

struct rt_sigframe {
	u64	pretcode;
	struct {
		u64			uc_flags, uc_link, uc_stack[3];
		struct sigcontext	uc_mcontext;
	} uc;
};

#define atomic_long_read(v)	((v)->counter)
#define schedule_timeout_uninterruptible(ticks) abort()

struct seq_buf {
	char	*text;
	size_t	size, len;
};

#define seq_buf_init(s, buf, room) (*(s) = (struct seq_buf){ buf, room })
#define seq_buf_printf(s, ...)						\
	((void)((s)->len += kunit_print((s)->text + (s)->len, (s)->size - (s)->len, __VA_ARGS__)))
#define seq_buf_str(s)		((void)(s)->text)

struct kunit;

__printf(3, 4) int kunit_print(char *text, size_t size, const char *format, ...);
int kunit_vprint(char *text, size_t size, const char *format, va_list args);

/* ---- user memory, and pages before one that cannot be read ---- */

unsigned long vm_mmap(void *file, unsigned long addr, unsigned long len, unsigned long prot,
		      unsigned long flags, unsigned long off);
int vm_munmap(unsigned long addr, size_t len);
#define kunit_vm_mmap(test, ...) vm_mmap(__VA_ARGS__)
unsigned long copy_to_user(void *to, const void *from, unsigned long len);
unsigned long copy_from_user(void *to, const void *from, unsigned long len);
unsigned long clear_user(void *to, unsigned long len);
#define put_user(val, ptr)						\
({									\
	__typeof__(*(ptr)) put_user_val = (val);			\
	copy_to_user(ptr, &put_user_val, sizeof(put_user_val)) ? -EFAULT : 0; \
})
void *vzalloc(size_t size);
#define vmalloc(size)		vzalloc(size)
void vfree(void *ptr);

struct rnd_state {
	u64	state;
};

#define prandom_seed_state(rnd, seed) ((rnd)->state = (seed))
u32 prandom_u32_state(struct rnd_state *rnd);

/* ---- KUnit ---- */

#define KUNIT_PARAM_DESC_SIZE	128
#define KUNIT_FAILURE		true	/* kunit.status */

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
	const void *(*generate)(struct kunit *test, const void *last, char *desc);
};

struct kunit_suite {
	const char		*name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case	*test_cases;
	struct kunit_suite	*next;
};

struct kunit {
	void			*priv;
	const void		*param_value;
	struct kunit_action	*actions;
	bool			status;
	char			skipped[128];
	jmp_buf			end;
};

#define KUNIT_CASE_PARAM(function, generator)				\
	{ .run = (function), .name = #function, .generate = (generator) }
#define KUNIT_CASE(function)	KUNIT_CASE_PARAM(function, NULL)
#define KUNIT_ARRAY_PARAM(name, array, describe)			\
static const void *name##_gen_params(struct kunit *test, const void *last, char *desc) \
{									\
	__typeof__(&(array)[0]) next = last ? (__typeof__(next))last + 1 : (array); \
	void (*text)(__typeof__(next) item, char *desc) = (describe);	\
									\
	if (next - (array) >= (ptrdiff_t)ARRAY_SIZE(array))		\
		return NULL;						\
	if (text)							\
		text(next, desc);					\
	return next;							\
}

void kunit_add_suite(struct kunit_suite *suite);
#define kunit_test_suite(suite)						\
static void __attribute__((__constructor__)) add_##suite(void)		\
{									\
	kunit_add_suite(&(suite));					\
}									\
static_assert(1)

#define kunit_test_suites(...)						\
static void __attribute__((__constructor__)) add_suites(void)		\
{									\
	struct kunit_suite *const list[] = { __VA_ARGS__ };		\
	size_t i;							\
									\
	for (i = 0; i < ARRAY_SIZE(list); i++)				\
		kunit_add_suite(list[i]);				\
}									\
static_assert(1)

struct kunit *kunit_get_current_test(void);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);
#define KUNIT_DEFINE_ACTION_WRAPPER(wrapper, orig, arg_type)		\
static void wrapper(void *in)						\
{									\
	orig((arg_type)in);						\
}									\
static_assert(1)
int kunit_add_action_or_reset(struct kunit *test, void (*run)(void *arg), void *arg);
__printf(2, 3) void kunit_skip(struct kunit *test, const char *format, ...);
#define kunit_info(test, ...)	((void)(test), shim_print(__VA_ARGS__))

/* A stub replaces a function until its test ends. */
void *kunit_stub_of(void *function);
void kunit_set_stub(void *function, void *stub);
#define kunit_activate_static_stub(test, function, stub) kunit_set_stub(function, stub)
#define kunit_deactivate_static_stub(test, function) kunit_set_stub(function, NULL)
#define KUNIT_STATIC_STUB_REDIRECT(function, ...)			\
do {									\
	__typeof__(function) *stub = kunit_stub_of(function);		\
									\
	if (stub)							\
		return stub(__VA_ARGS__);				\
} while (0)

__printf(6, 7) void kunit_fail(struct kunit *test, bool is_fatal, const char *file, int line,
			       const char *condition, const char *format, ...);
#define kunit_check(test, is_fatal, condition, text, ...)		\
do {									\
	if (!(condition))						\
		kunit_fail(test, is_fatal, __FILE__, __LINE__, text, " " __VA_ARGS__); \
} while (0)
#define kunit_compare(test, is_fatal, a, op, b, ...)			\
do {									\
	__typeof__((a) + 0) left_of = (a);				\
	__typeof__((b) + 0) right_of = (b);				\
									\
	if (!(left_of op right_of)) {					\
		kunit_fail(test, false, __FILE__, __LINE__, #a " " #op " " #b, "%#llx, %#llx", \
			   (unsigned long long)left_of, (unsigned long long)right_of); \
		kunit_check(test, is_fatal, false, "", __VA_ARGS__);	\
	}								\
} while (0)
#define kunit_compare_text(test, a, op, b, ...)				\
do {									\
	const char *left_of = (a), *right_of = (b);			\
									\
	if (!(strcmp(left_of, right_of) op 0)) {			\
		kunit_fail(test, false, __FILE__, __LINE__, #a " " #op " " #b, "%s, %s", \
			   left_of, right_of);				\
		kunit_check(test, false, false, "", __VA_ARGS__);	\
	}								\
} while (0)

#define KUNIT_FAIL(test, ...)	kunit_fail(test, false, __FILE__, __LINE__, "fails", __VA_ARGS__)
#define KUNIT_FAIL_AND_ABORT(test, ...)	\
	kunit_fail(test, true, __FILE__, __LINE__, "fails", __VA_ARGS__)
#define KUNIT_EXPECT_EQ(test, a, b)		kunit_compare(test, false, a, ==, b)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)	kunit_compare(test, false, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_NE(test, a, b)		kunit_compare(test, false, a, !=, b)
#define KUNIT_EXPECT_NE_MSG(test, a, b, ...)	kunit_compare(test, false, a, !=, b, __VA_ARGS__)
#define KUNIT_EXPECT_LT(test, a, b)		kunit_compare(test, false, a, <, b)
#define KUNIT_EXPECT_LE(test, a, b)		kunit_compare(test, false, a, <=, b)
#define KUNIT_EXPECT_LE_MSG(test, a, b, ...)	kunit_compare(test, false, a, <=, b, __VA_ARGS__)
#define KUNIT_EXPECT_GT(test, a, b)		kunit_compare(test, false, a, >, b)
#define KUNIT_EXPECT_GT_MSG(test, a, b, ...)	kunit_compare(test, false, a, >, b, __VA_ARGS__)
#define KUNIT_EXPECT_GE(test, a, b)		kunit_compare(test, false, a, >=, b)
#define KUNIT_EXPECT_GE_MSG(test, a, b, ...)	kunit_compare(test, false, a, >=, b, __VA_ARGS__)
#define KUNIT_ASSERT_EQ(test, a, b)		kunit_compare(test, true, a, ==, b)
#define KUNIT_ASSERT_NE(test, a, b)		kunit_compare(test, true, a, !=, b)
#define KUNIT_ASSERT_LT(test, a, b)		kunit_compare(test, true, a, <, b)
#define KUNIT_ASSERT_LE(test, a, b)		kunit_compare(test, true, a, <=, b)
#define KUNIT_EXPECT_TRUE(test, a)		kunit_check(test, false, a, #a)
#define KUNIT_EXPECT_TRUE_MSG(test, a, ...)	kunit_check(test, false, a, #a, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, a)		kunit_check(test, false, !(a), "not " #a)
#define KUNIT_EXPECT_FALSE_MSG(test, a, ...) kunit_check(test, false, !(a), "not " #a, __VA_ARGS__)
#define KUNIT_ASSERT_TRUE(test, a)		kunit_check(test, true, a, #a)
#define KUNIT_EXPECT_NULL(test, a)		kunit_check(test, false, !(a), #a " is NULL")
#define KUNIT_ASSERT_NOT_NULL(test, a)		kunit_check(test, true, a, #a " is not NULL")
#define KUNIT_EXPECT_PTR_EQ(test, a, b)		kunit_check(test, false, (a) == (b), #a " == " #b)
#define KUNIT_EXPECT_STREQ(test, a, b)		kunit_compare_text(test, a, ==, b)
#define KUNIT_EXPECT_STREQ_MSG(test, a, b, ...)	kunit_compare_text(test, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_STRNEQ_MSG(test, a, b, ...) kunit_compare_text(test, a, !=, b, __VA_ARGS__)
#define KUNIT_EXPECT_MEMEQ(test, a, b, len)				\
	kunit_check(test, false, !memcmp(a, b, len), #a " == " #b)

#endif /* HOST_KUNIT_H */
