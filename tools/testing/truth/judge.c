// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares a walk with the shadow stack, frame by frame: address, stack pointer and frame
 * pointer. A walk that comes to a state which it has been in before, in the same frame, goes on
 * as before.
 *
 * vfork(), swapcontext() and exceptions prepare to return without a call that they return from.
 * If the walk finds another caller of the present frame than the shadow stack has, and then the
 * same frames, this is a claim: the thread will arrive there. The next steps decide.
 *
 * An exception stores other values over the registers that a function has saved, before it
 * leaves the function. So a wrong frame pointer is noted, and blamed if a wrong frame follows.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "judge.h"

/**
 * struct trial - one comparison
 * @thread: the thread
 * @depth: how far it goes
 * @use_cache: the walk uses the row cache
 * @at: where the walk is on the shadow stack
 * @last: the last frame that the walk has found
 * @nr: how many frames it has found, the first included
 * @by_hand: the walk has found a caller of the present frame that no call has made
 * @is_replaced: the present frame has another return address than the call has left
 * @lost_fp: the first function whose caller has another frame pointer than the walk found
 * @differs: what counts such frame pointers of that function
 */
struct trial {
	struct thread		*thread;
	enum judge_depth	depth;
	bool			use_cache;
	struct shadow_cursor	at;
	struct walker_frame	last;
	unsigned int		nr;
	struct thread_claim	by_hand;
	bool			is_replaced;
	u64			lost_fp;
	struct tally		*differs;
};

static void print_place(FILE *out, const struct process *process, u64 ip)
{
	struct image_place place = image_find(&process->image, ip);
	u64 start;

	if (!place.binary)
		return;
	fprintf(out, " %s+0x%" PRIx64, place.binary->name, place.addr);
	fprintf(out, " (%s)", binary_symbol(place.binary, place.addr, &start));
}

static void print_frame(FILE *out, const struct process *process, const char *what,
			u64 ip, u64 sp, u64 fp)
{
	fprintf(out, "      %-6s ip %012" PRIx64 " sp %012" PRIx64 " fp %012" PRIx64, what, ip,
		sp, fp);
	print_place(out, process, ip);
	fputc('\n', out);
}

static void print_stack(FILE *out, const struct thread *thread)
{
	struct shadow_cursor cursor = { thread->shadow, thread->shadow->nr };
	const struct registers *regs = &thread->regs;
	struct shadow_frame *frame;

	print_frame(out, thread->process, "truth", regs->ip, regs_sp(regs), regs_fp(regs));
	while ((frame = shadow_next(&cursor)))
		print_frame(out, thread->process, "truth", frame->ip, frame->sp, frame->fp);
}

static void print_walk(FILE *out, const struct trial *trial)
{
	struct walker *walker = trial->thread->process->walker;
	struct walker_frame frame;
	const char *reason;
	int i;

	walker_begin(walker, &trial->thread->regs, trial->use_cache);
	for (i = 0; i < 100; i++) {
		reason = walker_next(walker, &frame);
		if (reason) {
			fprintf(out, "      walk   ends: %s%s\n", reason,
				trial->use_cache ? "" : " (without the row cache)");
			return;
		}
		print_frame(out, trial->thread->process, "walk", frame.ip, frame.sp, frame.fp);
	}
}

static void add_example(struct tally *tally, const struct trial *trial)
{
	size_t size;
	FILE *out;

	if (tally->example)
		return;
	out = open_memstream(&tally->example, &size);
	if (!out)
		err(1, "example");
	print_stack(out, trial->thread);
	print_walk(out, trial);
	fclose(out);
}

/* Returns the tally of this verdict for the function of the last frame. */
static struct tally *tally_of_last(const struct trial *trial, enum verdict verdict,
				   const char *reason)
{
	struct image_place place = image_find(&trial->thread->process->image,
					      trial->last.ip - (trial->nr > 1));

	return tally_find(verdict, reason, place.binary, place.addr);
}

/* The walk is over: an example walks once more. */
static struct tally *find_tally(const struct trial *trial, enum verdict verdict,
				const char *reason)
{
	u64 ip = trial->last.ip - (trial->nr > 1);
	struct image_place place;
	struct tally *tally;

	if (verdict == VERDICT_WHOLE)
		return tally_find(verdict, reason, NULL, 0);
	if (tally_is_wrong(verdict) && trial->lost_fp) {
		ip = trial->lost_fp;
		reason = TALLY_LOST_FP;
	} else if (tally_is_wrong(verdict) && (trial->by_hand.count || trial->is_replaced)) {
		ip = trial->thread->regs.ip;
		reason = TALLY_BY_HAND;
	}
	place = image_find(&trial->thread->process->image, ip);
	tally = tally_find(verdict, reason, place.binary, place.addr);
	add_example(tally, trial);
	return tally;
}

static bool is_same_function(const struct process *process, u64 one, u64 other)
{
	struct image_place a = image_find(&process->image, one);
	struct image_place b = image_find(&process->image, other);

	return a.binary && a.binary == b.binary &&
	       binary_function(a.binary, a.addr) == binary_function(b.binary, b.addr);
}

/*
 * Is the last frame that of a function which has begun on a stack of its own, by a jump? A
 * function that has gone to the stack itself has a caller, which is on another one.
 */
static bool begins_stack(const struct trial *trial)
{
	const struct shadow *shadow = trial->at.shadow;

	return !shadow_rest(&trial->at) && !shadow->is_whole && !shadow->interrupted &&
	       !is_same_function(trial->thread->process, trial->last.ip - (trial->nr > 1),
				 shadow->switched_at);
}

/* The walk has ended: what does the shadow stack say? */
static struct tally *judge_end(const struct trial *trial, const char *reason)
{
	if (!shadow_rest(&trial->at) && trial->at.shadow->is_whole)
		return find_tally(trial, VERDICT_WHOLE, reason);
	if (!strcmp(reason, "complete"))
		return find_tally(trial, begins_stack(trial) ? VERDICT_WHOLE : VERDICT_SHORT,
				  reason);
	return find_tally(trial, VERDICT_PREFIX, reason);
}

static bool is_same(const struct walker_frame *one, const struct walker_frame *other)
{
	return one->ip == other->ip && one->sp == other->sp && one->fp == other->fp &&
	       one->sp_is_guess == other->sp_is_guess;
}

/* A return address on the stack may have been replaced since the call. Then that is the truth. */
static void read_again(struct trial *trial, struct shadow_frame *truth)
{
	u64 ip = truth->ip;

	if (!truth->slot || !memory_word(trial->thread->process->mem, truth->slot, &truth->ip))
		return;
	if (trial->nr == 1 && truth->ip != ip)
		trial->is_replaced = true;
}

/* Compares one frame. Returns NULL if it is right, else how the trial ends. */
static struct tally *judge_frame(struct trial *trial, const struct walker_frame *frame,
				 const struct shadow_frame *truth)
{
	struct tally *tally;

	if (frame->ip != truth->ip)
		return find_tally(trial, VERDICT_WRONG, TALLY_WRONG_RA);
	if (frame->sp != truth->sp && !frame->sp_is_guess)
		return find_tally(trial, VERDICT_SP, "stack pointer");
	if (frame->fp == truth->fp)
		return NULL;
	tally = tally_of_last(trial, VERDICT_FP, "frame pointer");
	tally->count++;
	if (!trial->lost_fp) {
		trial->lost_fp = trial->last.ip - (trial->nr > 1);
		trial->differs = tally;
	}
	return NULL;
}

/*
 * Is the caller of the present frame one that no call has made? Then the trial goes on with the
 * frames that will be there after the return.
 */
static bool claim(struct trial *trial, const struct walker_frame *frame,
		  const struct shadow_frame *truth, struct shadow_cursor *at)
{
	if (trial->by_hand.count || trial->nr > 1 ||
	    (frame->ip == truth->ip && frame->sp == truth->sp))
		return false;
	trial->by_hand = (struct thread_claim){
		.ip = frame->ip,
		.sp = frame->sp,
		.other_ip = truth->ip,
		.other_sp = truth->sp,
		.count = 1,
	};
	trial->at = *at;
	while ((truth = shadow_next(&trial->at)) && truth->sp <= frame->sp)
		*at = trial->at;
	trial->at = *at;
	trial->last = *frame;
	trial->nr++;
	return true;
}

/* Walks on until the end. Returns what came out. */
static struct tally *walk(struct trial *trial)
{
	struct walker *walker = trial->thread->process->walker;
	struct shadow_frame *truth;
	struct shadow_cursor at;
	struct walker_frame frame;
	struct tally *tally;
	const char *reason;

	for (;;) {
		reason = walker_next(walker, &frame);
		if (reason)
			return judge_end(trial, reason);
		at = trial->at;
		truth = shadow_next(&trial->at);
		if (!truth && trial->at.shadow->is_whole)
			return find_tally(trial, VERDICT_LONG, "outermost frame");
		if (!truth && !thread_cross(trial->thread, frame.ip, frame.sp, &trial->at))
			return find_tally(trial, VERDICT_WRONG, TALLY_WRONG_STACK);
		if (!truth)
			truth = shadow_next(&trial->at);
		/* What the program has made itself, as the start of a coroutine, is not known. */
		if (!truth)
			return find_tally(trial, VERDICT_WHOLE, "stack of its own");
		if (frame.ip != truth->ip)
			read_again(trial, truth);
		if (claim(trial, &frame, truth, &at))
			continue;
		tally = judge_frame(trial, &frame, truth);
		if (tally)
			return tally;
		if (trial->depth == JUDGE_NEW && truth->verdict && is_same(&truth->seen, &frame))
			return truth->verdict;
		truth->seen = frame;
		truth->verdict = NULL;
		trial->last = frame;
		trial->nr++;
	}
}

/* Remembers how the trial ended in the frames that it has seen first. */
static void remember(const struct trial *trial, struct tally *tally)
{
	struct shadow_cursor at = { trial->thread->shadow, trial->thread->shadow->nr };
	struct shadow_frame *truth;
	unsigned int i;

	for (i = 1; i < trial->nr && (truth = shadow_next(&at)); i++)
		truth->verdict = tally;
}

/**
 * judge() - compare a walk with the shadow stack of a thread
 * @thread: the thread
 * @depth: how far
 * @use_cache: let the walk use the row cache
 */
void judge(struct thread *thread, enum judge_depth depth, bool use_cache)
{
	struct trial trial = {
		.thread = thread,
		.depth = depth,
		.use_cache = use_cache,
		.at = { thread->shadow, thread->shadow->nr },
		.last = { .ip = thread->regs.ip },
		.nr = 1,
	};
	struct tally *tally;

	walker_begin(thread->process->walker, &thread->regs, use_cache);
	tally = walk(&trial);
	if (trial.differs)
		add_example(trial.differs, &trial);
	if (!trial.by_hand.count)
		remember(&trial, tally);
	if (!trial.by_hand.count || tally_is_wrong(tally->verdict)) {
		tally->count++;
		return;
	}
	trial.last.ip = thread->regs.ip;
	trial.nr = 1;
	trial.by_hand.if_true = tally;
	trial.by_hand.if_false = find_tally(&trial, VERDICT_WRONG, "frame that no call has made");
	thread_claim(thread, &trial.by_hand);
}
