// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: return addresses that uretprobes have replaced. See walk_scene.h. */
#include "walk_scene.h"

#ifdef CONFIG_UPROBES
/* c4 is called from c44, and c44 from c84. */
#define CALLED								\
	"fn c80 end; fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44; s18=c84; "
#define WHOLE		"probed c4@0 c44@10 c84@20 complete; "
#define NO_CALLER	"probed c4@0 c44@10 bad-ra needs-scan; "

static const struct script_case script_cases[] = {
	{ "each frame",
	  CALLED "s8=TRAMPOLINE; probed c4@0 bad-ra needs-scan; pend s10 c44; " WHOLE
	  "s18=TRAMPOLINE; " NO_CALLER "pend s20 c84; " WHOLE "s8=c44; " WHOLE },
	/* Some levels of a recursion are probed. Levels above the kernel's limit are not. */
	{ "recursion",
	  "fn c0 sp+16 u (c-8); fn c40 end; at c4 s0; s8=TRAMPOLINE; s18=TRAMPOLINE; s28=c4;"
	  "s38=TRAMPOLINE; pend s40 c44; pend s20 c4; pend s10 c4;"
	  "probed c4@0 c4@10 c4@20 c4@30 c44@40 complete" },
	/* A probed function ends with a jump to another probed function. */
	{ "inherited", CALLED "s8=TRAMPOLINE; pend s10 c44; pend s10 c44 chained; " WHOLE },
	{ "left behind by longjmp()",
	  CALLED "s18=TRAMPOLINE; pend s20 c84; pend s10 c104; pend s8 c104; pend s-100 c104;"
	  "" WHOLE },
	/* A return address at the start of a page is not always a trampoline. */
	{ "no trampoline",
	  "fn cfc0 end; fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44; s18=c1000;"
	  "probed c4@0 c44@10 c1000@20 complete; pend s10 c104;"
	  "probed c4@0 c44@10 c1000@20 complete" },
	/* The frame is not set up yet, and the return address may be in a register. */
	{ "sampled at the first instruction",
	  "fn c0 sp+0 u B+0; fn c40 sp+16 u (c-8); fn c80 end; at c0 s10; B=TRAMPOLINE;"
	  "pend s10 c44; s18=c84; probed c0@10 c44@10 c84@20 complete" },
	/* The call before the original return address proves a frame. */
	{ "by the frame pointer",
	  "fn c0 fp+16 (c-16) (c-8); at b10 s0 s20; s20=0,TRAMPOLINE; pend s30 b210;"
	  "probed b10@0 nodata; call b210 b0; probed b10@0 b210@30,fp? nodata" },
};

NAMED_CASES(script);

/* Only the stack pointer at entry identifies a frame. */
static void uretprobe_of_another_frame(struct kunit *test)
{
	s32 off;

	run_walk_steps(test, CALLED "s18=TRAMPOLINE");
	for (off = -16; off <= 16; off++)
		if (off)
			pend(test, 0x20 + off, code(test, 0x84));
	run_walk_steps(test, NO_CALLER);
}

/* The list has as many entries as the kernel allows, or one more, or no end, or a bad pointer. */
static void uretprobe_list(struct kunit *test)
{
	struct return_instance *last;
	u32 nr;

	run_walk_steps(test, CALLED "s18=TRAMPOLINE");
	last = pend(test, 0x20, code(test, 0x84));
	for (nr = 1; nr < 64; nr++)
		pend(test, 0x100, code(test, 0x104));
	run_walk_steps(test, WHOLE);
	pend(test, 0x100, code(test, 0x104));
	run_walk_steps(test, NO_CALLER);

	last->stack = 0;
	last->next = last;
	run_walk_steps(test, NO_CALLER);
	scene_of(test)->utask.return_instances = last;
	last->next = (void *)-PAGE_SIZE;
	run_walk_steps(test, NO_CALLER);
	last->next = (void *)stack(test, 0);
	run_walk_steps(test, NO_CALLER);
}

/* In the trampoline, which has pushed some or all of its registers below the return address. */
static void uretprobe_sampled_in_trampoline(struct kunit *test)
{
	u32 pushed;

	run_walk_steps(test, CALLED "s18=TRAMPOLINE; pend s20 c84; pend s10 c44");
	user_store(test, bare(test, 0), trampoline, sizeof(trampoline));
	for (pushed = 0; pushed <= TRAMPOLINE_PUSHES; pushed += 8) {
		sample(test, bare(test, pushed / 8), stack(test, 0x10) - pushed, 0);
		/* After a return one register may still hold its target. */
		run_walk_steps(test, "B=b0; probed c44@10 c84@20 complete");
	}
	/* Not returned yet; no entry matches; after the trampoline; code not returned to. */
	run_walk_steps(test, "pend s-40 c104; at b0 s10; probed c44@10 c84@20 complete; at b0 s28;"
		       "probed b0@28 nodata; at b%zx s10; walk b" TRAMPOLINE_END "@10 nodata;"
		       "probed b" TRAMPOLINE_END "@10 nodata; put b%zx 0; at b0 s10; B=c44;"
		       "probed b0@10 nodata", sizeof(trampoline), sizeof(trampoline) - 1);
}

/* The sample is in the out-of-line copy: before the instruction and after it. */
static void uretprobe_sampled_in_copy(struct kunit *test)
{
	run_walk_steps(test, CALLED);
	scene_of(test)->utask.xol_vaddr = TRAMPOLINE + 0x80;
	scene_of(test)->utask.vaddr = code(test, 0);
	run_walk_steps(test, "at %lu s0; probed c0@0 c44@10 c84@20 complete; at %lu s0;"
		       "probed c4@0 c44@10 c84@20 complete; at %lu s0;"
		       "probed ?@0 unscanned needs-scan",
		       TRAMPOLINE + 0x80, TRAMPOLINE + 0x84, TRAMPOLINE + 0x7f);
}

#ifdef CONFIG_X86_64
/* The code of the kernel's trampoline is at b0. */
#define TRAMPOLINE_CODE							\
	"put b0 0x50 0x51 0x41 0x53 0x48 0xc7 0xc0 0x4f 0x01 0 0 0x0f 0x05 0x41 0x5b 0x59 0xc3; "
#define PROBED		"probed c44@10 c84@20 complete; "

/*
 * The page that an optimized uprobe calls is at b0; 7.2 moves the stack pointer before. The probed
 * instruction is at c4. Two instructions have replaced it; their call returns to ce.
 */
#define PROBE_PAGE							\
	"put b0 0x51 0x41 0x53 0x50 0x48 0xc7 0xc0 0x50 0x01 0 0 0x0f 0x05 0x58 0x41 0x5b " \
	"0x59 0xc2 0x80 0 0xcc; "
#define LEA		"put c4 0x48 0x8d 0x64 0x24 0x80; "
#define OPTIMIZED							\
	"fn c80 end; fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); s8=c44; sa8=c44; sb8=c84; " \
	"call ce b0; " LEA PROBE_PAGE
#define AFTER_PROBE	"probed ce@a0 c44@b0 c84@c0 complete; "
#define AT_PROBE	"probed c4@a0 c44@b0 c84@c0 complete; "

static const struct script_case x86_cases[] = {
	/* Before 6.11 it is a breakpoint. The sample is at it, or after it; then elsewhere. */
	{ "sampled at an old trampoline",
	  CALLED "s18=TRAMPOLINE; pend s20 c84; pend s10 c44; put b0 0xcc 0x90 0x90; at b0 s10;"
	  "" PROBED
	  "at b1 s10; " PROBED "at b2 s10; probed b2@10 nodata; at b1 s28; probed b1@28 nodata" },
	/* pop; pop; ret. The return address is on the stack; the caller may be probed, too. */
	{ "sampled after the probe has been handled",
	  CALLED TRAMPOLINE_CODE "at bd s-8; " PROBED "at bf s0; " PROBED "at b10 s8; " PROBED
	  "s18=TRAMPOLINE; pend s20 c84; at b10 s8; " PROBED },
	{ "no probe is pending; then the return address is no code",
	  CALLED TRAMPOLINE_CODE "at bb s-8; probed bb@? nodata; s8=s0; at b10 s8;"
	  "probed b10@8 nodata" },
	/* It replaced push %rax. By the flag; by the call alone; executed; jumped to. */
	{ "after a breakpoint",
	  "fn c0 0 sp+8 u (c-8) | 1 sp+16 u (c-8); fn c40 sp+16 u (c-8); fn c80 end; s8=c44;"
	  "s18=c84;"
	  "put c0 0xcc; at c1 s8; at-breakpoint c0@8 c44@10 c84@20 complete;"
	  "call c44 c0; probed c0@8 c44@10 c84@20 complete; at c1 s0;"
	  "probed c1@0 c44@10 c84@20 complete;"
	  "call c44 c40; probed c1@0 c44@10 c84@20 complete; at c1 s8;"
	  "probed c0@8 c44@10 c84@20 complete;"
	  /* The task is at another breakpoint: this byte is none, or is before the function. */
	  "at c2 s0; at-breakpoint c2@0 c44@10 c84@20 complete; put c3f 0xcc 0xcc; at c40 s10;"
	  "at-breakpoint c40@10 c84@20 complete; put c40 0x90;"
	  "at-breakpoint c40@10 c84@20 complete" },
	/* Both rows find the call. In the middle of a function it may have one byte. */
	{ "after a breakpoint, without the flag",
	  "fn c0 sp+16 u (c-8); fn c40 end; s8=c44; put c0 0xcc 0x83; call c44 c0; at c1 s0;"
	  "probed c0@0 c44@10 complete; put c0 0x90 0xcc 0x83; at c2 s0;"
	  "probed c2@0 c44@10 complete" },
	/* At each instruction; then the kernel has raised SP, and the ip is still here. */
	{ "in the page of an optimized probe",
	  OPTIMIZED "s18=ce; at b0 s18; " AFTER_PROBE "at b1 s10; " AFTER_PROBE "at b3 s8;"
	  AFTER_PROBE "at b4 s0; " AFTER_PROBE "at bb s0; " AFTER_PROBE "at bd s0; " AFTER_PROBE
	  "at be s8;" AFTER_PROBE "at b10 s10; " AFTER_PROBE "at b11 s18; " AFTER_PROBE
	  "at bd sa0; " AFTER_PROBE },
	/* In an instruction; after the end; BPF has changed the return address; no code. */
	{ "elsewhere in the page of an optimized probe",
	  OPTIMIZED "s18=ce; at bc s18; probed bc@18 nodata; at b14 s18; probed b14@18 nodata;"
	  "s18=c44;"
	  "at b11 s18; probed c44@a0 c44@b0 c84@c0 complete; s18=s0; probed b11@18 nodata" },
	/* Before 7.2 the call is all there is. The kernel raises the stack pointer by less. */
	{ "in the short page of an optimized probe",
	  OPTIMIZED "s18=s0; put b11 0xc3 0xcc; s98=ce; at bd s80; " AFTER_PROBE "at bd sa0;"
	  AFTER_PROBE "put b11 0x90; at bd s80; probed bd@80 nodata" },
	/* Before it; in what replaces it; later, when the kernel takes the probe away. */
	{ "at the call of an optimized probe",
	  OPTIMIZED "at c4 sa0; " AT_PROBE "at c9 s20; " AT_PROBE "put c4 0xcc; " AT_PROBE
	  "put c4 0x66 0x2e 0x0f 0x1f 0x84; " AT_PROBE
	  /* The kernel is about to go back to the page. */
	  "s18=ce; at c4 s0; " AT_PROBE LEA AT_PROBE
	  /* Other code calls a page that is another one. */
	  "put b0 0x90; s28=c44; s38=c84; at c9 s20; probed c9@20 c44@30 c84@40 complete" },
#ifdef SFU_HAVE_OPTIMIZED_UPROBES
	/* The kernel has not heard yet that this thread has come to a probe. */
	{ "a new thread at an optimized probe",
	  OPTIMIZED "at c9 s20; new-thread c4@a0 c44@b0 c84@c0 complete;"
	  "s18=ce; at b0 s18; new-thread ce@a0 c44@b0 c84@c0 complete" },
#endif
	/* At the return of the system call; before the call of the page; at c49; elsewhere. */
	{ "a signal interrupts a probe",
	  "fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); fn c80 end; put b100 stub; at c4 sff0;"
	  "sff8=b100;" TRAMPOLINE_CODE "context s1000 bd s100; s110=c44; s120=c84;"
	  "walk c4@ff0 b100@1000 bd@100 nodata; probed c4@ff0 b100@1000 c44@118 c84@128 complete;"
	  PROBE_PAGE "call c4e b0; s118=c4e; s1a8=c84;"
	  "probed c4@ff0 b100@1000 c4e@1a0 c84@1b0 complete; context s1000 c49 s120;"
	  "probed c4@ff0 b100@1000 c44@1a0 c84@1b0 complete; context s1000 c44 s1a0;"
	  "probed c4@ff0 b100@1000 c44@1a0 c84@1b0 complete" },
};

NAMED_CASES_OF(x86, script_case);
#endif

static struct kunit_case uretprobe_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(uretprobe_of_another_frame),
	KUNIT_CASE(uretprobe_list),
	KUNIT_CASE(uretprobe_sampled_in_trampoline),
	KUNIT_CASE(uretprobe_sampled_in_copy),
#ifdef CONFIG_X86_64
	KUNIT_CASE_PARAM(run_walk_script, x86_gen_params),
#endif
	{}
};

static struct kunit_suite uretprobe_suites[] = {
	{ .name = "sframe_walk_uretprobe", .init = walk_scene_init, .test_cases = uretprobe_tests },
	{ .name = "sframe_walk_uretprobe_cached", .init = walk_scene_init_cached,
	  .test_cases = uretprobe_tests },
};

kunit_test_suites(&uretprobe_suites[0], &uretprobe_suites[1]);
#endif /* CONFIG_UPROBES */
