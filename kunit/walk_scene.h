/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scene in which the suites of the walk run, sframe_walk_*_kunit.c.
 *
 * Section, code and stack are in real mappings, and the page after each of them is not mapped. A
 * walk is compared as a text: the frames, then the stop reason. Expected texts are written out from
 * the specification and the ABI.
 *
 *	c40@10,fp80	a frame in the code with a section, at 0x40; its stack pointer is 0x10 into
 *			the stack; its frame pointer, at 0x80, differs from the last frame's
 *	b10@30		a frame in the code without a section
 *	needs-scan	another scan of the process might help
 *
 * A test is a script, as far as it can be. Places are hexadecimal: "c44" is in the code with a
 * section, "b210" in the code without one, "s20" in the stack, "o20" in another stack, which is
 * further down, "t0" in the section. "signed c44" is a return address that arm64 has signed. Other
 * values are numbers.
 *
 *	fn c40 RULES	a function of 64 bytes and its rows, "START CFA FP RA | ...", with the rules
 *			of section_builder.h (A, B: other registers); or "end" (outermost), or
 *			"row INFO WORDS", or "no-rows"; "signal", "key-b" or "type N" may precede
 *	no-fn		discards all functions
 *	at c4 s0 s20	the sampled frame: ip, stack pointer, frame pointer (0)
 *	s8=c44,s20	writes words, from s8 on
 *	A=s40, B=c20	sets a register of the sampled frame; B has the return address where a call
 *			leaves it in a register
 *	fill s8 s48 16 c44
 *			writes a word, from s8 up to s48, at each 16 bytes
 *	recursion N	the sampled function, c4, has called itself N times with frames of 16 bytes
 *	exec 1, exec 0	execve() is under way, or is not
 *	sections N	the map has so many ranges with a section
 *	call b210 c0	the code before b210 calls c0; "*" a pointer; "-" nothing
 *	put b210 stub	code: the stub that returns from a signal, "return" (frees 16 bytes, and
 *			returns), "plt b800" (a slot), or bytes
 *	context s1000 c44 s100 s300
 *			the context of a signal: ip, stack pointer, frame pointer, A
 *	range b STATE	changes the range of b (or c): keeps-fp, keeps-no-fp, habit-unknown,
 *			of-file, of-no-file, without-data, unnamed, bad, ready, unmapped,
 *			renumbered (no cache has its rows); "jumped-to-from
 *			c180": the function of 16 bytes at c180 jumps to the code of the section
 *	state c STATE	compares the state of a range: ready, bad, unmapped
 *	map none	the process has no map; "empty": one without ranges
 *	forbid s1000	makes a page PROT_NONE; "renew": new and untouched; "unmap": unmaps it
 *	other-stack	maps the other stack
 *	budget N	of the next walks
 *	walk TEXT	compares a walk; "step" its first step; "second" its second one
 *	callers N TEXT	compares the number of callers, and the stop reason
 *	frames TEXT	compares how many frames the last walk found by each method: "sframe=2 fp"
 *	counted TEXT	compares the counters since the script began, see common.h
 *	pend s10 c44	a uretprobe is pending for the function whose frame ends at s10, and that
 *			will return to c44; "chained": it was inherited by a jump
 *	probed TEXT	compares a walk of a task that has these probes; "at-breakpoint": and is
 *			at a breakpoint; "new-thread": of a thread that has none yet
 *	x86: STEP, arm64: STEP	a step for one architecture
 *
 * Facts of the architecture are in arch/.../walk_facts.h.
 */
#ifndef WALK_SCENE_H
#define WALK_SCENE_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "common.h"
#include "section_builder.h"
#include "user_arch.h"
#include "walk/fallback.h"
#include "walk/row_cache.h"
#include "walk/user.h"
#include "walk/walk.h"
#include "walk_facts.h"

#define CODE_SIZE	(2 * PAGE_SIZE)
#define BARE_SIZE	PAGE_SIZE
#define STACK_SIZE	(4 * PAGE_SIZE)

/* The page of the kernel that functions return to under a uretprobe. */
#define TRAMPOLINE	(TASK_SIZE - PAGE_SIZE)

#define WALK_TEXT	1024
#define MAX_FRAMES	40		/* in a text */

struct walk_scene {
	struct sfu_walk		walk;
	struct pt_regs		regs;	/* the sampled frame */
	u32			budget;	/* of each walk; 0: that of a sample */
	unsigned long		code;	/* address of the code with a section, CODE_SIZE bytes */
	unsigned long		bare;	/* of the code without one, BARE_SIZE bytes, higher */
	unsigned long		section;	/* address of the section */
	unsigned long		stack;	/* address of the stack, STACK_SIZE bytes */
	unsigned long		other_stack;	/* of a stack further down, if there is one */
	struct sfu_map		*map;	/* the process map, with both pieces of code */
	struct build		b;	/* the builder of the section */
	struct rnd_state	random;	/* the random number generator, with a fixed seed */
	struct sfu_row_cache	cache;	/* the row cache, if the test uses one */
	bool			shows_cache;	/* walks use @cache and the fast path */
	bool			is_inherited;	/* walks take the map for that of the parent */
	struct kunit		*test;
	bool			is_observed;	/* by observe_reads() */
	u32			calls;	/* reads since observe_reads() */
	u32			fail_at;	/* the read that fails; 1 is the first, 0 is none */
	void (*after_read)(struct walk_scene *scene);	/* runs after each read, if not NULL */
	u32			section_size;	/* bytes that count as the section's */
	struct tally {	/* of the section, and all other reads */
		u32		reads;
		u32		bytes;
	} of_section, of_frames;
	char			text[WALK_TEXT];	/* the text of a walk */
	size_t			len;	/* bytes of @text */
	size_t			len_frames;	/* bytes of @text before the stop reason */
	enum sfu_stop		stop;	/* the stop reason */
	/* the callers that next_frame() has found, and all of the walk that filled the cache */
	struct callers {
		u64		ips[MAX_FRAMES];
		u32		nr;
		enum sfu_stop	stop;
	} one_by_one, at_once;
	char			script[SCRIPT_TEXT];	/* the script that runs */
	struct sfu_counters	since;	/* the counters when the script began */
#ifdef CONFIG_UPROBES
	struct uprobe_task	utask;	/* the pending uretprobes */
#endif
};

extern struct kunit_case walk_bounds_tests[], walk_fallback_tests[], walk_progress_tests[];
extern struct kunit_case walk_random_tests[], walk_signal_tests[], walk_start_tests[];
extern struct kunit_case walk_step_tests[], walk_stop_tests[];

int walk_scene_init(struct kunit *test);
int walk_scene_init_cached(struct kunit *test);

static inline struct sfu_row_cache *cache_of(struct walk_scene *scene)
{
	return scene->shows_cache ? &scene->cache : NULL;
}

static inline struct walk_scene *scene_of(struct kunit *test)
{
	return test->priv;
}

static inline unsigned long code(struct kunit *test, u32 off)
{
	return scene_of(test)->code + off;
}

static inline unsigned long bare(struct kunit *test, u32 off)
{
	return scene_of(test)->bare + off;
}

static inline unsigned long stack(struct kunit *test, u32 off)
{
	return scene_of(test)->stack + off;
}

static inline void store_word(struct kunit *test, unsigned long addr, u64 value)
{
	user_store(test, addr, &value, sizeof(value));
}

static inline void word(struct kunit *test, u32 off, u64 value)
{
	store_word(test, stack(test, off), value);
}

static inline void record(struct kunit *test, u32 off, unsigned long fp, unsigned long ra)
{
	word(test, off, fp);
	word(test, off + 8, ra);
}

static inline void sample(struct kunit *test, unsigned long ip, unsigned long sp, unsigned long fp)
{
	struct walk_scene *scene = test->priv;

	instruction_pointer_set(&scene->regs, ip);
	set_register(&scene->regs, R_SP, sp);
	set_register(&scene->regs, R_FP, fp);
}

void use_cache(struct kunit *test);

struct sfu_range *code_range(struct kunit *test);
void use_section(struct kunit *test);
#define COSTLY_STEP	1964
void costly_section(struct kunit *test);

const struct call_case *plain_call(void);
const struct call_case *by_pointer(void);
void store_call(struct kunit *test, const struct call_case *c, unsigned long ra, unsigned long to);
unsigned long slot_of(const struct plt_case *c, unsigned long slot);
void store_plt(struct kunit *test, const struct plt_case *c, unsigned long addr,
	       unsigned long slot);

void recursion_scene(struct kunit *test, u32 nr);

#define CONTEXT		0x1000		/* the context of a signal, on the stack, in C tests */

__printf(2, 3) void run_walk_steps(struct kunit *test, const char *format, ...);
void run_walk_script(struct kunit *test);

void begin_walk(struct walk_scene *scene);
void observe_reads(struct walk_scene *scene);
unsigned int next_frames(struct walk_scene *scene, u64 *ips, unsigned int max);
bool next_frame(struct kunit *test);
void append_step(struct kunit *test);
void append_walk(struct kunit *test);
u32 count_to_end(struct kunit *test);
u32 count_callers(struct kunit *test);

const char *last_text(struct kunit *test);
const char *step_text(struct kunit *test);
const char *walk_text(struct kunit *test);

#ifdef CONFIG_UPROBES
struct return_instance *pend(struct kunit *test, s32 cfa, unsigned long ra);
#endif

/* Optional arguments after @want name the case. */
#define expect_text(test, text, want, ...)				\
do {									\
	struct kunit *of = (test);					\
									\
	KUNIT_EXPECT_STREQ_MSG(of, text(of), want, " " __VA_ARGS__);	\
} while (0)

#define expect_walk(test, want, ...)					\
	expect_text(test, walk_text, want, ##__VA_ARGS__)
#define expect_step(test, want, ...)					\
	expect_text(test, step_text, want, ##__VA_ARGS__)
#define expect_end(test, want, ...)					\
	expect_text(test, last_text, want, ##__VA_ARGS__)

#endif /* WALK_SCENE_H */
