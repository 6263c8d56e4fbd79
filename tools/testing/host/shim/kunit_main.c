// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs the suites of kunit/ that are linked with it, and prints TAP. See kunit.h. */
#include <sys/uio.h>
#include <unistd.h>

#include "kunit.h"

#define NR_STUBS	8
#define USER_START	0x200000000000ul
#define USER_SIZE	0x300000000000ul

struct kunit_action {
	struct kunit_action	*next;
	void (*run)(void *arg);
	void			*arg;
};

static struct kunit_suite *suites;
static struct kunit *current_test;
static struct {
	void	*function, *stub;
} stubs[NR_STUBS];

/* ---- the kernel's functions ---- */

int kunit_vprint(char *text, size_t size, const char *format, va_list args)
{
	int len = vsnprintf(text, size, format, args);

	return len < (int)size ? len : (int)size - 1;
}

int kunit_print(char *text, size_t size, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = kunit_vprint(text, size, format, args);
	va_end(args);
	return len;
}

u32 prandom_u32_state(struct rnd_state *rnd)
{
	rnd->state = rnd->state * 6364136223846793005ull + 1442695040888963407ull;
	return rnd->state >> 32;
}

/* The page after the last byte cannot be read. */
void *vzalloc(size_t size)
{
	size_t room = round_up(size, PAGE_SIZE);
	u8 *pages = mmap(NULL, room + 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE_SIZE + room, PAGE_SIZE, PROT_NONE))
		abort();
	*(size_t *)pages = room + 2 * PAGE_SIZE;
	return pages + PAGE_SIZE;
}

void vfree(void *ptr)
{
	u8 *pages = (u8 *)ptr - PAGE_SIZE;

	munmap(pages, *(size_t *)pages);
}

unsigned long vm_mmap(void *file, unsigned long addr, unsigned long len, unsigned long prot,
		      unsigned long flags, unsigned long off)
{
	static unsigned long last = USER_START + USER_SIZE;

	if (!addr) {
		/* A new mapping is below the older ones. */
		last -= round_up(len, PAGE_SIZE) + PAGE_SIZE;
		addr = last;
	}
	if (mmap((void *)addr, len, prot, flags | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	return addr;
}

int vm_munmap(unsigned long addr, size_t len)
{
	return munmap((void *)addr, len) ? -errno : 0;
}

static bool is_user_memory(const void *ptr, size_t len)
{
	unsigned long off = (unsigned long)ptr - USER_START;

	return off < USER_SIZE && len <= USER_SIZE - off;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long len)
{
	const struct iovec ours = { (void *)from, len }, theirs = { to, len };

	return !is_user_memory(to, len) ||
	       process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0) != (ssize_t)len;
}

unsigned long copy_from_user(void *to, const void *from, unsigned long len)
{
	const struct iovec ours = { to, len }, theirs = { (void *)from, len };

	return !is_user_memory(from, len) ||
	       process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) != (ssize_t)len;
}

unsigned long clear_user(void *to, unsigned long len)
{
	memset(to, 0, len);
	return 0;
}

/* No page is waited for: one that has not been touched is not there. */
long copy_from_user_nofault(void *dst, const void *src, size_t len)
{
	unsigned long start = (unsigned long)src & PAGE_MASK;
	size_t nr = (offset_in_page(src) + len + PAGE_SIZE - 1) / PAGE_SIZE, i;
	unsigned char present[2];

	if (!is_user_memory(src, len) || nr > ARRAY_SIZE(present) ||
	    mincore((void *)start, nr * PAGE_SIZE, present))
		return -EFAULT;
	for (i = 0; i < nr; i++)
		if (!(present[i] & 1))
			return -EFAULT;
	memcpy(dst, src, len);
	return 0;
}

/* ---- KUnit ---- */

void kunit_add_suite(struct kunit_suite *suite)
{
	suite->next = suites;
	suites = suite;
}

struct kunit *kunit_get_current_test(void)
{
	return current_test;
}

int kunit_add_action_or_reset(struct kunit *test, void (*run)(void *arg), void *arg)
{
	struct kunit_action *action = calloc(1, sizeof(*action));

	if (!action)
		abort();
	*action = (struct kunit_action){ test->actions, run, arg };
	test->actions = action;
	return 0;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	void *ptr = calloc(1, size ?: 1);

	if (!ptr)
		abort();
	kunit_add_action_or_reset(test, free, ptr);
	return ptr;
}

void kunit_skip(struct kunit *test, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kunit_vprint(test->skipped, sizeof(test->skipped), format, args);
	va_end(args);
	longjmp(test->end, 1);
}

void kunit_fail(struct kunit *test, bool is_fatal, const char *file, int line,
		const char *condition, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: %s: ", file, line, condition);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	test->status = true;
	if (is_fatal)
		longjmp(test->end, 1);
}

void *kunit_stub_of(void *function)
{
	int i;

	for (i = 0; i < NR_STUBS; i++)
		if (stubs[i].function == function)
			return stubs[i].stub;
	return NULL;
}

void kunit_set_stub(void *function, void *stub)
{
	int i = 0;

	while (stubs[i].function && stubs[i].function != function)
		if (++i == NR_STUBS)
			abort();
	stubs[i].function = function;
	stubs[i].stub = stub;
}

static void run_test(struct kunit_suite *suite, const struct kunit_case *c, struct kunit *test)
{
	struct kunit_action *action;

	current_test = test;
	if (!setjmp(test->end) && (!suite->init || !suite->init(test)))
		c->run(test);
	if (suite->exit && !setjmp(test->end))
		suite->exit(test);
	while ((action = test->actions)) {
		test->actions = action->next;
		action->run(action->arg);
		free(action);
	}
	memset(stubs, 0, sizeof(stubs));
}

static unsigned int nr_cases, nr_failed;

static void run_case(struct kunit_suite *suite, const struct kunit_case *c)
{
	char param[KUNIT_PARAM_DESC_SIZE] = "";
	const void *value = NULL;

	do {
		struct kunit test = {};

		if (c->generate) {
			*param = '\0';
			value = c->generate(&test, value, param);
			if (!value)
				break;
			test.param_value = value;
		}
		run_test(suite, c, &test);
		nr_failed += test.status;
		printf("%sok %u - %s %s%s%s%s%s\n", test.status ? "not " : "", ++nr_cases,
		       suite->name, c->name, *param ? ": " : "", param,
		       *test.skipped ? " # SKIP " : "", test.skipped);
		fflush(stdout);
	} while (value);
}

int main(void)
{
	struct kunit_suite *suite;
	struct kunit_case *c;

	for (suite = suites; suite; suite = suite->next)
		for (c = suite->test_cases; c->run; c++)
			run_case(suite, c);
	printf("1..%u\n", nr_cases);
	return nr_failed || !nr_cases;
}
