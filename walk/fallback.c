// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: a step from code without a row, by the frame pointer.
 *
 * Such code may use the frame pointer as it likes. So a frame that the frame pointer
 * leads to needs a reason to be believed. There are two:
 *
 *   - A proof: the code at its return address calls a function of the same file that has no
 *     row. If the called function has a row, or is in another file, it is not the present
 *     one, and the frame belongs to a function further up the stack.
 *   - The habit of the file: its functions keep frame pointers (map/habit.c).
 *     Then the frame is one of those that the kernel's own walk finds. Like that walk it
 *     may skip the caller of a function that has no frame. The frame must also look like
 *     one: its return address follows a call, and its own frame pointer leads on. This is
 *     asked first, for it costs less: a walk has the budget for perf's 127 such frames.
 *
 * Where a function begins or ends, the instruction itself tells where the return address
 * is. That is exact, and needs no frame pointer. At a return address it counts in memory that no
 * file describes: elsewhere the call may not return, and other code may follow it.
 *
 * If a walk would end for want of a reason, the chain of frame pointers as a whole is one.
 *
 * The stack pointer that follows from a frame pointer is unverified. A wrong frame is
 * worse than a short stack: in a file that does not keep frame pointers the walk ends
 * without a proof.
 *
 * sfu_arch_fallback() decides with these parts, for the calls of one architecture.
 *
 * The outermost code of most stacks has no row: it belongs to libc, or to libstdc++. It
 * is recognised by its instructions, and the walk then ends as SFU_STOP_ENTRYPOINT. Nothing
 * follows such code.
 */
#include <linux/moduleparam.h>

#include "sframe_arch.h"
#include "walk/walk.h"

static bool proved_only;
module_param(proved_only, bool, 0644);
MODULE_PARM_DESC(proved_only, "follow a frame pointer only where a call proves it: Y leaves out frames that only the habit of a file speaks for (default N)");

/*
 * Bytes of the stack above the frame that calls main(): at most 450 in glibc of Debian 12
 * and 13 and of unstable, dynamic and static, and 48 in musl.
 */
#define MAX_START_STACK		768

/* The frame pointer is a row for the same step. */
static const struct sframe_row fp_row = SFU_ARCH_FP_ROW, low_fp_row = SFU_ARCH_LOW_FP_ROW;

static __always_inline bool is_low(const struct sfu_frame *frame)
{
	return !IS_ALIGNED(frame->fp, SFU_ARCH_CFA_ALIGN);
}

/* Does the frame pointer lead up the stack? It may be @below the stack pointer. */
static __always_inline bool links_up(const struct sfu_frame *frame, unsigned long below)
{
	return IS_ALIGNED(frame->fp, sizeof(long)) &&
	       (frame->fp >= frame->sp || frame->sp - frame->fp <= below);
}

/* The same of the caller that the present record leads to: low records lead to low ones. */
static bool caller_links_up(const struct sfu_frame *frame, const struct sfu_frame *caller)
{
	return links_up(caller, is_low(frame) && is_low(caller) ? SFU_ARCH_LOW_RECORD : 0);
}

/* Do the functions around the frame keep frame pointers? */
bool sfu_fallback_has_habit(struct sfu_walk *walk, const struct sfu_frame *frame)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(frame));

	return range && range->habit == SFRAME_HABIT_FP;
}

/*
 * Finds the caller that the frame pointer leads to: does it point to a frame record whose return
 * address lies in code? That is no proof yet.
 */
bool sfu_fallback_find_record(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;

	if (is_low(frame))
		return links_up(frame, SFU_ARCH_LOW_RECORD) &&
		       sfu_fallback_has_habit(walk, frame) &&
		       !sfu_walk_find_caller(walk, &low_fp_row, caller);
	return links_up(frame, 0) && !sfu_walk_find_caller(walk, &fp_row, caller);
}

/*
 * Finds the function that the call before @ra has entered, if it can be known. The call may be
 * direct, or go through a word in memory, or through a PLT slot that has been resolved.
 */
bool sfu_fallback_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func)
{
	u8 call[SFU_ARCH_CALL_BYTES], plt[SFU_ARCH_PLT_BYTES];
	unsigned long slot;

	if (!sfu_walk_read_code(walk, call, ra - sizeof(call), sizeof(call)))
		return false;
	switch (sfu_arch_decode_call(call, ra, func)) {
	case SFU_CALL_SLOT:
		return !sfu_walk_read_word(walk, *func, func);
	case SFU_CALL_DIRECT:
		break;
	default:
		return false;
	}
	if (!sfu_walk_read_code(walk, plt, *func, sizeof(plt)))
		return false;
	if (!sfu_arch_decode_plt(plt, *func, &slot))
		return true;
	return !sfu_walk_read_word(walk, slot, func);
}

/* Is it certain that no row holds at @func? Then it may be the function that we are in. */
bool sfu_fallback_lacks_row(struct sfu_walk *walk, unsigned long func)
{
	struct sfu_range *range = sfu_map_find(walk->map, func);
	struct sframe_row row;

	return range &&
	       sfu_walk_find_row(walk, range, func, &row) == -ENOENT;
}

/*
 * May a function in the range @there be the one that we are in, or one that has gone on to it? If
 * it is in another file, it may have called any number of functions since, which have left the
 * frame pointer alone.
 */
static bool is_in_same_file(struct sfu_walk *walk, const struct sfu_range *there)
{
	const struct sfu_range *here;

	here = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));
	return here && here->vma.file == there->vma.file;
}

/*
 * Can a call of @func tell whose frame @caller is? In a file without data no function has a row.
 * If it does not keep frame pointers, a record may be that of any function up the stack. But if the
 * caller is code that does, it is the innermost of such code: the kernel's own walk finds it, too.
 */
static bool can_tell(struct sfu_walk *walk, const struct sfu_frame *caller, unsigned long func)
{
	const struct sfu_range *there = sfu_map_find(walk->map, func);

	return there && is_in_same_file(walk, there) &&
	       (!there->has_no_data || sfu_fallback_has_habit(walk, caller));
}

/*
 * Is it certain that the code of @caller, from sfu_fallback_find_record(), calls a function without
 * a row, in the file of the present frame? If the file has no data at all, the caller's code must
 * also keep frame pointers.
 */
bool sfu_fallback_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	unsigned long func;

	return sfu_fallback_find_callee(walk, caller->ip, &func) &&
	       can_tell(walk, caller, func) && sfu_fallback_lacks_row(walk, func);
}

/* The evidence for a return address. */
enum call_site {
	SITE_NONE,
	SITE_OF_DIRECT_CALL,
	SITE_OF_INDIRECT_CALL,
};

static enum call_site classify_site(struct sfu_walk *walk, unsigned long ra)
{
	u8 code[SFU_ARCH_CALL_SITE];

	if (!sfu_walk_read_code(walk, code, ra - sizeof(code), sizeof(code)))
		return SITE_NONE;
	if (sfu_arch_follows_direct_call(code + sizeof(code)))
		return SITE_OF_DIRECT_CALL;
	if (sfu_arch_follows_indirect_call(code + sizeof(code)))
		return SITE_OF_INDIRECT_CALL;
	return SITE_NONE;
}

/*
 * Bytes from the stack pointer down to a record of another stack, at least. A record that is nearer
 * most likely belongs to a function that has returned.
 */
#define MIN_STACK_DISTANCE	0x10000

/*
 * Code that keeps frame pointers may call on another stack: Go runs C, and parts of its own
 * runtime, on the stack of the thread. The frame pointer of @frame, which has called, then leads to
 * the record of its caller, though that stack may be further down.
 */
static bool find_on_other_stack(struct sfu_walk *walk, const struct sfu_frame *frame,
				struct sfu_frame *caller)
{
	const struct sfu_frame present = walk->frame;
	bool found;

	if (!frame->fp || frame->fp >= frame->sp || frame->sp - frame->fp < MIN_STACK_DISTANCE)
		return false;
	walk->frame = *frame;
	walk->frame.sp = frame->fp;
	found = sfu_fallback_find_record(walk, caller);
	walk->frame = present;
	return found && sfu_fallback_has_habit(walk, caller) &&
	       (!caller->fp || caller_links_up(frame, caller)) &&
	       classify_site(walk, caller->ip) != SITE_NONE;
}

/* Is the next link of the chain sound, too? The outermost one has no frame pointer. */
static bool leads_on(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_frame next;

	return !caller->fp || !sfu_fallback_has_habit(walk, caller) ||
	       caller_links_up(&walk->frame, caller) ||
	       find_on_other_stack(walk, caller, &next);
}

/*
 * An interpreter may push the address that a function returns to, and jump. Nothing calls at such
 * an address. It counts in anonymous code that keeps frame pointers, if the next link of the
 * chain leads to code, too.
 */
static bool is_pushed_return(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(caller));
	unsigned long ra;

	return range && !range->vma.file && range->habit == SFRAME_HABIT_FP &&
	       !sfu_walk_read_word(walk, caller->fp + sizeof(ra), &ra) &&
	       sfu_walk_find_range(walk, sfu_arch_strip_ra(ra) - 1);
}

/*
 * Does the file of the present frame keep frame pointers, and does @caller, from
 * sfu_fallback_find_record(), look like a frame? Then this marks it.
 */
bool sfu_fallback_is_habitual(struct sfu_walk *walk, struct sfu_frame *caller)
{
	if (READ_ONCE(proved_only))
		return false;
	if (!sfu_fallback_has_habit(walk, &walk->frame) || !leads_on(walk, caller))
		return false;
	if (caller->fp && classify_site(walk, caller->ip) == SITE_NONE &&
	    !sfu_signal_is_stub(walk, caller->ip) && !is_pushed_return(walk, caller))
		return false;
	caller->by_habit = true;
	return true;
}

/* A sampled function may be in the middle of a switch, so only a caller is left like this. */
static bool leaves_stack(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;

	if (READ_ONCE(proved_only) || frame->is_activation ||
	    walk->nr_switches == SFU_MAX_SWITCHES || !sfu_fallback_has_habit(walk, frame) ||
	    !find_on_other_stack(walk, frame, caller))
		return false;
	caller->by_habit = true;
	caller->sp_unverified = true;
	walk->nr_switches++;
	return true;
}

/* The code around the ip. Only the page of the ip is certain to be there: the rest may be 0. */
static bool read_around(const struct sfu_walk *walk, u8 *code, unsigned long ip)
{
	unsigned long from = ip - SFU_ARCH_CODE_BEFORE, to = ip + SFU_ARCH_CODE_AFTER;
	unsigned long page = ip & PAGE_MASK, begin, end;

	if (sfu_walk_read_code(walk, code, from, to - from))
		return true;
	begin = max(from, page);
	end = min(to, page + PAGE_SIZE);
	memset(code, 0, to - from);
	return end - begin < to - from &&
	       sfu_walk_read_code(walk, code + (begin - from), begin, end - begin);
}

/* Returns true if the code of the frame is in memory without a file, such as a JIT's or a copy. */
static bool is_anonymous(struct sfu_walk *walk)
{
	const struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));

	return range && !range->vma.file && sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * Finds the caller by the instructions at the ip, if these tell where the return address is, and
 * that follows a call, or is the stub that a signal handler returns to. Trampolines of Python do
 * nothing but call and return.
 */
bool sfu_fallback_by_code(struct sfu_walk *walk, struct sfu_frame *caller)
{
	u8 code[SFU_ARCH_CODE_BEFORE + SFU_ARCH_CODE_AFTER];
	const struct sfu_frame *frame = &walk->frame;
	const u8 *ip = code + SFU_ARCH_CODE_BEFORE;
	struct sframe_row row;

	if (!frame->is_activation && (frame->sp_unverified || !is_anonymous(walk)))
		return false;
	return read_around(walk, code, frame->ip) &&
	       (frame->is_activation ? sfu_arch_row_of_code(ip, frame->ip, &row) :
				       sfu_arch_row_of_end(ip, &row)) &&
	       !sfu_walk_find_caller(walk, &row, caller) &&
	       (classify_site(walk, caller->ip) != SITE_NONE ||
		sfu_signal_is_stub(walk, caller->ip));
}

/* Bytes that a function may realign its stack by, and still be recognised. */
#define MAX_REALIGNED	64

/*
 * Has the callee realigned the stack? Then it has pushed a copy of its return address, and
 * the address itself is a little further up.
 */
static bool may_be_realigned(struct sfu_walk *walk)
{
	unsigned long words[MAX_REALIGNED / sizeof(long)];
	unsigned int i;

	if (!sfu_walk_read_code(walk, words, walk->frame.sp, sizeof(words)))
		return true;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (sfu_arch_strip_ra(words[i]) == walk->frame.ip)
			return true;
	return false;
}

/*
 * Sets @by_fp to a row that finds the same frame record by the frame pointer. A record is below the
 * CFA; a row with a return address above it has a CFA that is not the caller's stack pointer.
 */
static bool row_of_record(const struct sframe_row *row, struct sframe_row *by_fp)
{
	if (row->ra.how != SFRAME_RULE_CFA_MEM || row->fp.how != SFRAME_RULE_CFA_MEM ||
	    row->ra.off != row->fp.off + (int)sizeof(long) || row->ra.off >= 0)
		return false;
	*by_fp = *row;
	by_fp->cfa = (struct sframe_rule){
		.how = SFRAME_RULE_REG,
		.reg = SFU_ARCH_REG_FP,
		.off = -row->fp.off,
	};
	return true;
}

/*
 * Finds the caller by a row that an unverified SP makes doubtful, if it is at the site of a call.
 * There are two ways. The stack pointer may be right after all: it came from code that keeps frame
 * pointers, and that code has not realigned the stack. Or the row describes a frame record, and its
 * code keeps frame pointers. Then the frame pointer points to the record, and the CFA follows from
 * that.
 */
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller)
{
	struct sframe_row by_fp;

	if (READ_ONCE(proved_only))
		return false;
	if (SFU_ARCH_RECORD_IS_TOP && walk->frame.by_habit && !may_be_realigned(walk) &&
	    !sfu_walk_find_caller(walk, row, caller) &&
	    classify_site(walk, caller->ip) == SITE_OF_INDIRECT_CALL)
		return true;
	return sfu_fallback_has_habit(walk, &walk->frame) && walk->frame.fp >= walk->frame.sp &&
	       row_of_record(row, &by_fp) &&
	       !sfu_walk_find_caller(walk, &by_fp, caller) &&
	       classify_site(walk, caller->ip) != SITE_NONE;
}

/*
 * The process begins with the stack pointer at start_stack. The frames of _start and of
 * libc's functions are next to it.
 */
static bool is_near_start(const struct sfu_frame *frame)
{
	return READ_ONCE(current->mm->start_stack) - frame->sp <= MAX_START_STACK;
}

static bool starts_program(const struct sfu_frame *frame, const u8 *ra)
{
	return is_near_start(frame) &&
	       (sfu_arch_calls_main(ra) || (!frame->fp && sfu_arch_is_entry(ra)));
}

/* The code around a return address; @ra points to that address. */
struct call_code {
	u8		code[SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER];
	const u8	*ra;
	unsigned long	addr;
};

static bool read_call_site(const struct sfu_walk *walk, struct call_code *site,
			   unsigned long addr)
{
	site->ra = site->code + SFU_ARCH_START_BEFORE;
	site->addr = addr;
	return sfu_walk_read_code(walk, site->code, addr - SFU_ARCH_START_BEFORE,
				  sizeof(site->code));
}

static bool starts_thread(const struct sfu_walk *walk, const struct call_code *site)
{
	unsigned long after = sfu_arch_thread_exit(site->ra, site->addr);
	u8 code[SFU_ARCH_EXIT_BYTES];

	return sfu_arch_starts_thread(site->ra) ||
	       (sfu_walk_read_code(walk, code, after, sizeof(code)) &&
		sfu_arch_exits_thread(code));
}

/* Between libc and the function of a std::thread there is a frame of libstdc++. */
static bool starts_cxx_thread(struct sfu_walk *walk, const struct call_code *site)
{
	unsigned int off = sfu_arch_cxx_thread(site->ra);
	struct call_code outer;
	unsigned long ra;

	return off && !sfu_walk_read_word(walk, walk->frame.sp + off, &ra) &&
	       read_call_site(walk, &outer, ra) && starts_thread(walk, &outer);
}

/* Could the habit of the code help, if a scan found it? Of much anonymous code, it reads this. */
static bool lacks_habit(struct sfu_walk *walk)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));

	if (READ_ONCE(proved_only) || !range || range->habit != SFRAME_HABIT_UNKNOWN)
		return false;
	/* A child asks for the map that it will have, and leaves the one that it borrows alone. */
	if (!range->vma.file && !walk->lookup.is_borrowed)
		WRITE_ONCE(range->asked, sfu_walk_lookup_ip(&walk->frame));
	return true;
}

/*
 * Is the frame in the code of libc, libstdc++ or Go that starts a program or a thread? What
 * is not recognised is honestly reported as nodata, so this is strict.
 */
static bool is_start(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	struct call_code site;
	unsigned long *known;

	if (frame->is_activation || !read_call_site(walk, &site, frame->ip))
		return false;
	if (starts_program(frame, site.ra))
		known = &walk->map->main_ra;
	else if (starts_thread(walk, &site) || starts_cxx_thread(walk, &site))
		known = &walk->map->thread_ra;
	else
		return false;
	/* Once the habit is known, walks may go on from here. The parent may have other code. */
	if (!lacks_habit(walk) && !walk->lookup.is_borrowed)
		WRITE_ONCE(*known, frame->ip);
	return true;
}

/*
 * Has a walk found such code at this address? Most stacks end there, so it is read once
 * only. A process that puts other code there deceives nobody but itself: a child that has the map
 * of its parent does not rely on it.
 */
static __always_inline bool is_known_start(const struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (frame->is_activation || walk->lookup.is_borrowed)
		return false;
	return frame->ip == READ_ONCE(walk->map->thread_ra) ||
	       (frame->ip == READ_ONCE(walk->map->main_ra) && is_near_start(frame));
}

/* Is it certain that no row holds at @addr? Most code that keeps frame pointers has no section. */
static __always_inline bool lacks_row(struct sfu_walk *walk, struct sfu_range *range,
				      unsigned long addr)
{
	struct sframe_row row __uninitialized;

	return sfu_section_is(&range->section, SFU_SECTION_NONE) ||
	       sfu_walk_find_row(walk, range, addr, &row) == -ENOENT;
}

/*
 * Reads the frame record of @frame into @caller. Returns true if the return address is in code, and
 * follows a call. @range is the range of the frame; if this returns true, the range of the caller.
 */
static bool read_record(struct sfu_walk *walk, const struct sfu_frame *frame,
			struct sfu_frame *caller, struct sfu_range **range)
{
	const unsigned long below = is_low(frame) ? SFU_ARCH_LOW_RECORD : 0;
	u8 code[SFU_ARCH_CALL_SITE + SFU_ARCH_SIGRETURN_BYTES];
	const u8 *at_ra = code + SFU_ARCH_CALL_SITE;
	unsigned long record[2];	/* the caller's frame pointer, and the return address */
	struct sfu_range *outer;

	if (!links_up(frame, below) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return false;
	caller->ip = sfu_arch_strip_ra(record[1]);
	caller->sp = frame->fp + sizeof(record) + below;
	caller->fp = record[0];
	outer = sfu_walk_find_range(walk, caller->ip - 1);
	if (!outer || (outer != *range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    PAGE_ALIGNED(caller->ip) ||
	    !sfu_walk_read_code(walk, code, caller->ip - SFU_ARCH_CALL_SITE, sizeof(code)) ||
	    sfu_arch_is_sigreturn(at_ra) ||
	    !(sfu_arch_follows_direct_call(at_ra) || sfu_arch_follows_indirect_call(at_ra)))
		return false;
	*range = outer;
	return true;
}

/*
 * Enters the caller that the frame record leads to, if sfu_fallback_step() would do so by habit at
 * once: there is no row, both functions keep frame pointers, the caller's record is further up, and
 * the return address follows a call. Otherwise the frame does not change. @range is that of the
 * frame; it is set to the caller's.
 */
static __always_inline bool follow_record(struct sfu_walk *walk, struct sfu_range **range)
{
	struct sfu_frame *frame = &walk->frame;
	const bool is_low_record = is_low(frame);
	const unsigned long below = is_low_record ? SFU_ARCH_LOW_RECORD : 0;
	unsigned long record[2] __uninitialized;	/* frame pointer, return address */
	struct sfu_frame caller __uninitialized;
	u8 code[SFU_ARCH_CALL_SITE + SFU_ARCH_SIGRETURN_BYTES] __uninitialized;
	const u8 *at_ra = code + SFU_ARCH_CALL_SITE;
	struct sfu_range *outer;

	if ((*range)->habit != SFRAME_HABIT_FP || !links_up(frame, below) ||
	    is_known_start(walk) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !lacks_row(walk, *range, frame->ip - 1) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return false;
	caller.ip = sfu_arch_strip_ra(record[1]);
	caller.sp = frame->fp + sizeof(record) + below;
	caller.fp = record[0];
	outer = sfu_walk_find_range(walk, caller.ip - 1);
	if (!outer || (outer != *range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    outer->habit != SFRAME_HABIT_FP || PAGE_ALIGNED(caller.ip) ||
	    !links_up(&caller, is_low_record && is_low(&caller) ? SFU_ARCH_LOW_RECORD : 0) ||
	    !sfu_walk_read_code(walk, code, caller.ip - SFU_ARCH_CALL_SITE, sizeof(code)) ||
	    sfu_arch_is_sigreturn(at_ra) ||
	    !(sfu_arch_follows_direct_call(at_ra) || sfu_arch_follows_indirect_call(at_ra)))
		return false;
	frame->ip = caller.ip;
	frame->sp = caller.sp;
	frame->fp = caller.fp;
	*range = outer;
	return true;
}

/*
 * Enters at most @max more callers by habit, after a first one, and sets @ips to their addresses.
 * Returns their number. Runtimes have deep stacks of such frames, and sfu_fallback_step() takes
 * three times as long for each.
 */
unsigned int sfu_fallback_follow(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_range *range = sfu_walk_find_range(walk, walk->frame.ip - 1);
	unsigned int nr = 0;

	if (!range || !max || sfu_signal_is_stub(walk, walk->frame.ip))
		return 0;
	while (nr < max && follow_record(walk, &range))
		ips[nr++] = walk->frame.ip;
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	if (nr)
		walk->frame.sp_unverified = true;
	return nr;
}

/* perf takes so many frames. */
#define MAX_LINKS	127

/*
 * Returns true if a chain of frame pointers may lead through the code of this range. A record skips
 * the callers that keep no frame pointer. So the chain ends where a scan has seen such functions of
 * a JIT, and in files whose other functions have rows.
 */
static bool may_be_in_chain(const struct sfu_range *range)
{
	if (range->habit == SFRAME_HABIT_FP)
		return true;
	return range->vma.file ? range->has_no_data :
	       range->habit == SFRAME_HABIT_UNKNOWN &&
	       sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * In a file whose functions keep no frame pointers, one record may be that of a function further up
 * the stack, or data. A chain counts if at least this many of its frames are in such files. With 2,
 * a function that uses alloca() leads past its callees. With 6, shallow stacks of SBCL end.
 */
#define MIN_IN_FILE	3

static bool is_in_file(const struct sfu_range *range)
{
	return range->vma.file && !range->is_unnamed && range->habit != SFRAME_HABIT_FP;
}

/*
 * Returns true if the program or the thread begins in the frame. Most callers in a chain are in the
 * range of their callee, and their records lead on: for these, no code is read.
 */
static bool begins(struct sfu_walk *walk, bool is_other_range)
{
	return is_known_start(walk) ||
	       ((is_other_range || !links_up(&walk->frame, 0)) && is_start(walk));
}

/*
 * The last evidence, where no frame by itself has any: the chain of frame pointers as a whole. Each
 * record is further up the stack and leads to code after a call, and the chain arrives where a
 * program or a thread begins, or at a function with a row, or has MAX_LINKS links. Some runtimes
 * (SBCL) make records in a way that shows no habit.
 *
 * Enters at most @max callers, sets @ips to their addresses, and returns their number. If the
 * chain is not whole, this is 0, and the frame does not change.
 */
unsigned int sfu_fallback_chain(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));
	struct sfu_range *callee_range = range;
	struct sfu_frame *const frame = &walk->frame, first = *frame, last = first, caller;
	unsigned int nr, nr_in_file = 0;
	struct sframe_row row;
	int err;

	if (READ_ONCE(proved_only) || !range)
		return 0;
	/* The rest of a chain that had no room. */
	if (first.is_in_chain)
		nr_in_file = MIN_IN_FILE;
	for (nr = 0;; nr++) {
		err = sfu_section_is(&range->section, SFU_SECTION_NONE) ? -ENOENT :
		      sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(frame), &row);
		if (nr && (!err || nr == MAX_LINKS || begins(walk, range != callee_range)))
			break;
		callee_range = range;
		nr_in_file += is_in_file(range);
		if (err != -ENOENT || !may_be_in_chain(range) || is_low(frame) ||
		    !read_record(walk, frame, &caller, &range))
			goto not_whole;
		*frame = (struct sfu_frame){
			.ip = caller.ip,
			.sp = caller.sp,
			.fp = caller.fp,
			.sp_unverified = true,
			.by_habit = callee_range->habit == SFRAME_HABIT_FP,
			.is_in_chain = true,
		};
		if (nr < max) {
			ips[nr] = frame->ip;
			last = *frame;
		}
	}
	if (nr_in_file && nr_in_file < MIN_IN_FILE)
		goto not_whole;
	*frame = last;
	nr = min(nr, max);
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	return nr;

not_whole:
	*frame = first;
	return 0;
}

/*
 * One step from code without a row. Returns SFU_STOP_NONE; SFU_STOP_ENTRYPOINT if nothing is proved, and
 * the code is that of libc or libstdc++ which starts a program or a thread; SFU_STOP_NODATA if it
 * is other code; else as sfu_signal_step().
 */
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk)
{
	enum sfu_method method;
	struct sfu_frame caller;
	enum sfu_stop stop;

	if (is_known_start(walk))
		return SFU_STOP_ENTRYPOINT;
	if (sfu_walk_charge(walk, SFU_FALLBACK_COST))
		return SFU_STOP_BUDGET;
	if (sfu_signal_is_at_return(walk))
		return sfu_signal_step(walk);
	stop = sfu_arch_fallback(walk, &caller, &method);
	if (stop == SFU_STOP_NODATA && leaves_stack(walk, &caller)) {
		method = SFU_METHOD_FP_HABIT;
		stop = SFU_STOP_NONE;
	}
	if (!stop)
		sfu_walk_enter(walk, &caller, method);
	else if (stop == SFU_STOP_NODATA && is_start(walk))
		return SFU_STOP_ENTRYPOINT;
	if (stop == SFU_STOP_NODATA && lacks_habit(walk))
		walk->wants_habit = true;
	return stop;
}
