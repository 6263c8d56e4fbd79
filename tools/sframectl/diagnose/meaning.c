// SPDX-License-Identifier: GPL-2.0-or-later
/* The meaning of each counter of the module, and the advice that goes with it. */
#include "meaning.h"
#include "sframe_core.h"

#define CHECK_OBJECT							\
	"`sframectl check -p PID` names the object and its defect. Build it again with " \
	"newer binutils."
#define FIND_PLACE							\
	"The data is wrong, or the program changes its stack by itself. " \
	"`sframectl why` shows where."
#define SHOW_COURSE							\
	"Normal at the beginning. `sframectl stats -i 5` shows whether it goes on"

static const struct meaning meanings[] = {
	{
		.name = "stop.complete",
		.text = "the outermost frame was reached",
		.complete = true,
	}, {
		.name = "stop.start",
		.text = "the program's or thread's first function was reached",
		.complete = true,
	}, {
		.name = "stop.full",
		.text = "perf has no room for more frames",
		.advice =
			"For more: sysctl kernel.perf_event_max_stack=512, while no perf runs.",
	}, {
		.name = "stop.nodata",
		.text = "no table or .sframe covers it, no frame pointer leads on",
		.advice =
			"`sframectl why` names the objects while they run, and says for each what to do.",
	}, {
		.name = "stop.unscanned",
		.text = "the code was not known yet; a scan was requested",
		.advice = SHOW_COURSE ".",
	}, {
		.name = "stop.exec",
		.text =
			"sampled in execve(): the old program's stack is gone, the new one has none",
		.advice = "This is normal.",
	}, {
		.name = "stop.task-switch",
		.text =
			"sampled in a task switch: the memory was not that of the task any more",
		.advice = "This is normal.",
	}, {
		.name = "stop.entry",
		.text =
			"sampled where the kernel is entered: the registers were not stored yet, no frame",
		.advice = "This is normal.",
	}, {
		.name = "stop.stack-fault",
		.text = "a word of the stack was not in memory",
		.advice = "Does the machine swap? `vmstat 5` shows it.",
	}, {
		.name = "stop.section-fault",
		.text = "a page of .sframe was not in memory; it was requested",
		.advice = SHOW_COURSE ": then memory is short.",
	}, {
		.name = "stop.bad-section",
		.text = "the section contradicts itself, and is not used again",
		.advice = CHECK_OBJECT,
	}, {
		.name = "stop.refused",
		.text = "the row must not be followed",
		.advice = CHECK_OBJECT,
	}, {
		.name = "stop.budget",
		.text = "the walk would have cost more work than one walk may",
		.advice =
			"New code needs a few samples, because rows that were looked up are remembered. If it goes on, `sframectl load` the files: look-ups in tables cost a fifth.",
	}, {
		.name = "stop.bad-cfa",
		.text = "the row leads down the stack",
		.advice = FIND_PLACE,
	}, {
		.name = "stop.bad-ra",
		.text = "the row leads to an address that is not code",
		.advice = FIND_PLACE,
	}, {
		.name = "stop.register",
		.text =
			"the row needs a register that is known only in the sampled frame, or where a signal struck",
		.advice = "This is normal where functions realign the stack, and in OCaml.",
	}, {
		.name = "stop.bad-signal",
		.text =
			"the signal frame leads to no code, or there are too many of them",
		.advice = FIND_PLACE,
	}, {
		.name = "frames.sframe",
		.text = "SFrame",
	}, {
		.name = "frames.fp",
		.text = "frame pointer",
	}, {
		.name = "frames.fp-habit",
		.text = "frame-pointer heuristic",
	}, {
		.name = "frames.signal",
		.text = "signal frame",
	}, {
		.name = "declined.disabled",
		.text = "the module was off, or not ready yet",
		.advice =
			"Nothing to do if it is on. Else: echo Y > /sys/module/sframe_unwind/parameters/enabled",
	}, {
		.name = "declined.kthread",
		.text = "kernel threads, which have no user stack",
	}, {
		.name = "declined.guest",
		.text = "processors of virtual machines",
	}, {
		.name = "declined.compat",
		.text = "32-bit programs",
	}, {
		.name = "declined.no-section",
		.text = "processes without any table or .sframe",
		.advice =
			"`sframectl load --all` loads tables of what runs; `sframectl why` names what has none.",
	}, {
		.name = "section.bad",
		.text = "sections that contradict themselves and are not used any more",
	}, {
		.name = "defect.segment",
		.text = "the segment was not in readable, loaded memory",
		.advice = "Normal now and then: the process was just being loaded.",
	},
};

/* The decoder describes the defects. */
static struct meaning meaning_of_defect(const char *defect)
{
	size_t i;

	for (i = 0; i < NR_SFRAME_DEFECTS; i++)
		if (!strcmp(sframe_defects[i].name, defect))
			return (struct meaning){
				.name = defect,
				.text = sframe_defects[i].text,
			};
	return (struct meaning){};
}

/**
 * meaning_of() - find the meaning of a counter
 * @counter: its name
 *
 * Return: the meaning, or an empty one: newer and older modules have other counters.
 */
struct meaning meaning_of(const char *counter)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		if (!strcmp(meanings[i].name, counter))
			return meanings[i];
	if (!strncmp(counter, "defect.", 7))
		return meaning_of_defect(counter + 7);
	return (struct meaning){};
}
