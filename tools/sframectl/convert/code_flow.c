// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows all paths of a function to their ends.
 *
 * The state at the entry is assumed. It is proven where a path returns: there the stack pointer is
 * known, and nothing but the true state at the entry leads to it. So an address that is no entry
 * of a function gets no rows, and neither does code that changes the stack.
 *
 * A call may never return, and be followed by another function. What comes after a call is certain
 * only if it leads to a return, too, or if a symbol says that it belongs to the function. Compilers
 * move pieces of many functions to one place, one after the other; there, nothing is certain after
 * a call.
 */
#include <elf.h>
#include <stdlib.h>

#include "code_flow.h"
#include "grow.h"

/*
 * A file gets WORK_OF_FILE units of work, and one for each byte of its code, at most WORK_MAX. The
 * code of compilers needs less. The rows of .eh_frame wait until the analysis ends, so the analysis
 * must end soon, whatever the code is.
 */
#define WORK_OF_FILE	400000
#define WORK_MAX	12000000

/* Seconds of a slow processor for a file. The worker that converts the file has more. */
#define SECONDS_MAX	20

/* Units of work between two readings of the clock */
#define WORK_OF_CLOCK	1024

/* Edges, and bytes, that a loop visits for one unit of work */
#define EDGES_OF_WORK	64
#define BYTES_OF_WORK	256

/* Entries of a table; a switch with more is not followed */
#define ENTRIES_MAX	4096

/* Limit of entries of 1 or 2 bytes without a comparison: other data looks like such entries. */
#define SMALL_ENTRIES	16

/* How often something is handed on along all paths of a function. It is seldom more than thrice. */
#define ROUNDS_MAX	100

/* System calls that do not return to their caller, or that return twice */
#define SYS_RT_SIGRETURN_X86	15
#define SYS_CLONE_X86		56
#define SYS_VFORK_X86		58
#define SYS_CLONE3		435
#define SYS_RT_SIGRETURN_ARM64	139
#define SYS_CLONE_ARM64		220

bool code_flow_open(struct code_flow *flow, const struct code_image *image)
{
	*flow = (struct code_flow){
		.image = image, .work_max = min_t(u64, WORK_OF_FILE + image->size, WORK_MAX),
		.until = clock() + SECONDS_MAX * CLOCKS_PER_SEC,
	};
	flow->marks = calloc(image->size, sizeof(*flow->marks));
	flow->waiting = malloc(CODE_INSNS_MAX * sizeof(*flow->waiting));
	return code_decoder_open(&flow->decoder, image->machine) && flow->marks && flow->waiting;
}

void code_flow_close(struct code_flow *flow)
{
	code_decoder_close(&flow->decoder);
	free(flow->marks);
	free(flow->waiting);
	free(flow->steps);
	free(flow->edges);
	free(flow->calls);
}

/**
 * code_flow_spend - count work
 * @flow: the flow
 * @work: units of work that are done now
 *
 * Return: false if the file gets no more.
 */
bool code_flow_spend(struct code_flow *flow, u64 work)
{
	u64 before = flow->work;

	flow->work += work;
	if (flow->work > flow->work_max ||
	    (flow->work / WORK_OF_CLOCK != before / WORK_OF_CLOCK && clock() > flow->until))
		flow->is_cut = true;
	return !flow->is_cut;
}

static void fail(struct code_flow *flow, enum code_hole hole)
{
	if (flow->current < flow->nr)
		flow->steps[flow->current].has_failed = true;
	if (!flow->hole)
		flow->hole = hole;
}

static void wait_for(struct code_flow *flow, u32 number)
{
	if (flow->steps[number].is_waiting)
		return;
	flow->steps[number].is_waiting = true;
	flow->waiting[flow->nr_waiting++] = number;
}

/* A path leads to @addr. Code outside of the image is judged later. */
static void reach(struct code_flow *flow, u64 addr, const struct code_state *state)
{
	struct code_step *step;
	u64 left;
	s64 index = code_image_index(flow->image, addr, &left);
	u32 number;

	if (index < 0 || flow->error)
		return;
	number = flow->marks[index];
	if (number) {
		if (code_state_meet(&flow->steps[number - 1].state, state))
			wait_for(flow, number - 1);
		return;
	}
	if (flow->nr == CODE_INSNS_MAX) {
		fail(flow, CODE_HOLE_LIMIT);
		return;
	}
	if (flow->nr == flow->room) {
		flow->room = flow->room ? 2 * flow->room : 256;
		step = reallocarray(flow->steps, flow->room, sizeof(*step));
		flow->error = !step;
		if (!step)
			return;
		flow->steps = step;
	}
	step = &flow->steps[flow->nr++];
	*step = (struct code_step){ .insn.addr = addr, .state = *state, .index = index };
	code_decode(&flow->decoder, flow->image->bytes + index, left, &step->insn);
	flow->marks[index] = flow->nr;
	wait_for(flow, flow->nr - 1);
}

/* Does a path leave the function if it goes on at @addr? */
static bool leaves(const struct code_flow *flow, u64 addr, const struct code_state *state)
{
	u64 left;
	s64 index = code_image_index(flow->image, addr, &left);

	if (index < 0)
		return true;
	return flow->image->flags[index] & CODE_IS_START &&
	       code_state_is_entry(state, flow->image->machine);
}

/* Does the instruction make room on the stack, or sign the return address, as a first one may? */
bool code_flow_is_prologue(const struct code_flow *flow, u64 addr)
{
	u8 sp = flow->image->machine->sp;
	struct code_insn insn = { .addr = addr };
	u64 left;
	s64 index = code_image_index(flow->image, addr, &left);
	u32 i;

	if (index < 0)
		return false;
	code_decode(&flow->decoder, flow->image->bytes + index, left, &insn);
	for (i = 0; i < insn.nr_ops; i++)
		if (insn.ops[i].how == CODE_SIGN ||
		    (insn.ops[i].how == CODE_COPY && insn.ops[i].reg == sp &&
		     insn.ops[i].base == sp && insn.ops[i].arg < 0))
			return true;
	return false;
}

/*
 * The last call does not return if what comes after it is another function, or no code. Such a
 * function may begin there if it would have the right state, too: what unwinds exceptions ends so.
 */
static bool is_after_end(const struct code_flow *flow, const struct code_insn *insn,
			 const struct code_state *state)
{
	u64 left, addr = insn->addr + insn->size;
	s64 index = code_image_index(flow->image, addr, &left);

	if (!state->after_call)
		return false;
	if (index < 0 || flow->image->flags[index] & (CODE_IS_START | CODE_HINTED) ||
	    code_flow_is_prologue(flow, addr))
		return true;
	return (flow->is_weak || (insn->is_nop && addr % 16 == 0)) &&
	       code_state_is_entry(state, flow->image->machine);
}

/* Reads an entry of a table. Return: false if it is no place in the code. */
static bool read_entry(const struct code_flow *flow, const struct code_table *table, u32 i,
		       u64 *target)
{
	u32 size = table->form & 15, bits = 64 - 8 * size;
	u64 left, word = 0;

	if (!code_image_read(flow->image, table->addr + (u64)i * size, &word, size))
		return false;
	if (!(table->form & CODE_UNSIGNED))
		word = (s64)(word << bits) >> bits;
	word <<= table->shift;
	*target = table->base + (table->form & CODE_MINUS ? -word : word);
	return code_image_index(flow->image, *target, &left) >= 0;
}

/* Return: number of entries up to the next address of data that code computes. */
static u32 count_room(const struct code_flow *flow, const struct code_table *table)
{
	u64 size = code_image_label_after(flow->image, table->addr) - table->addr;

	return min_t(u64, ENTRIES_MAX, size / (table->form & 15));
}

/*
 * A table ends where another one begins, too: a compiler that knows more of the index than the
 * comparison says makes it shorter. Return: number of entries; 0 if no comparison limits it, one
 * leads to no code, or the work is spent.
 */
static u32 count_entries(struct code_flow *flow, const struct code_table *table,
			 const struct code_state *state)
{
	u32 i, nr = min_t(u32, state->bound, count_room(flow, table));
	u64 target;

	if (state->bound > ENTRIES_MAX)
		return 0;
	for (i = 0; i < nr; i++)
		if (!code_flow_spend(flow, 1) || !read_entry(flow, table, i, &target))
			return 0;
	return i;
}

static const struct code_table *find_table(const struct code_flow *flow,
					   const struct code_state *state)
{
	const struct code_value *value = &state->regs[CODE_TEMP];

	return value->kind == CODE_PLACE ? &flow->tables.all[value->off] : NULL;
}

/*
 * The comparison may be another one's, and something in a table may look like the start of the
 * next. So what may be entries is reached, up to both ends: there, what is known has to hold for
 * them, too. Only the entries before both ends make code certain.
 */
static void reach_entries(struct code_flow *flow, const struct code_state *state)
{
	const struct code_table *table = find_table(flow, state);
	struct code_table copy;
	u64 target;
	u32 i, nr;

	if (!table)
		return;
	copy = *table;
	if (!count_entries(flow, &copy, state))
		return;
	nr = count_room(flow, &copy);
	if ((copy.form & 15) < 4)
		nr = min_t(u32, nr, SMALL_ENTRIES);
	if (nr < state->bound)
		nr = state->bound;
	for (i = 0; i < nr && code_flow_spend(flow, 1) && read_entry(flow, &copy, i, &target); i++)
		reach(flow, target, state);
}

static void run_step(struct code_flow *flow, u32 number)
{
	const struct cfi_machine *machine = flow->image->machine;
	struct code_state state = flow->steps[number].state;
	const struct code_insn insn = flow->steps[number].insn;
	u64 next = insn.addr + insn.size;

	code_state_run(&state, machine, &insn, &flow->tables);
	switch (insn.flow) {
	case CODE_CALL:
	case CODE_CALL_ANY:
		code_state_call(&state, machine);
		break;
	case CODE_JUMP:
	case CODE_BRANCH:
		if (!leaves(flow, insn.value, &state))
			reach(flow, insn.value, &state);
		if (insn.flow == CODE_JUMP)
			return;
		break;
	case CODE_JUMP_REG:
		reach_entries(flow, &state);
		return;
	case CODE_RETURN:
	case CODE_STOP:
	case CODE_ODD:
		return;
	}
	if (leaves(flow, next, &state) || is_after_end(flow, &insn, &state))
		return;
	if (state.after_call && insn.is_nop && next % 16 == 0 && flow->nr_doubts < CODE_NR_DOUBTS)
		flow->doubts[flow->nr_doubts++] = number;
	else
		reach(flow, next, &state);
}

/* All states become final. */
static void run_steps(struct code_flow *flow)
{
	u32 i;

	while (flow->nr_waiting && !flow->error && code_flow_spend(flow, 1)) {
		i = flow->waiting[--flow->nr_waiting];
		flow->steps[i].is_waiting = false;
		run_step(flow, i);
	}
}

/* A path that leaves the function has to have the state of its entry. */
static void judge_exit(struct code_flow *flow, u64 target, const struct code_state *state,
		       bool is_jump)
{
	const struct ranges *all = &flow->image->all;
	u64 left;
	s64 index = code_image_index(flow->image, target, &left);

	if (!code_state_is_entry(state, flow->image->machine))
		fail(flow, CODE_HOLE_STACK);
	else if (index < 0 && (!is_jump || ranges_bytes_within(all, target, 1) != 1))
		fail(flow, CODE_HOLE_ODD);
	/* Jumping back to its own start proves nothing. */
	else if (target != flow->start && code_image_is_start(flow->image, target))
		flow->steps[flow->current].is_proven = true;
}

/* Return: the end of the code that begins where the function does, and has no gaps but padding. */
static u64 find_end(const struct code_flow *flow)
{
	const struct code_image *image = flow->image;
	u64 addr = flow->start, left;
	s64 index;
	u32 len;

	for (;; addr += len) {
		index = code_image_index(image, addr, &left);
		if (index < 0 || (addr != flow->start && image->flags[index] & CODE_IS_START))
			return addr;
		len = flow->marks[index] ? flow->steps[flow->marks[index] - 1].insn.size :
			code_padding(image->machine, image->bytes + index, left);
		if (!len)
			return addr;
	}
}

static u64 find_named_end(const struct code_flow *flow)
{
	u64 left, addr = flow->start;
	s64 index = code_image_index(flow->image, addr, &left);
	const u16 *flags = flow->image->flags + index;

	if (!(*flags & CODE_SYMBOL))
		return addr;
	do
		addr++, flags++;
	while (--left && *flags & CODE_INSIDE);
	return addr;
}

static bool is_in_body(const struct code_flow *flow, const struct code_step *step)
{
	return step->insn.addr >= flow->start && step->insn.addr < flow->end;
}

static void add_edge(struct code_flow *flow, u64 addr, bool is_call, bool is_entry)
{
	u64 left;
	s64 index = code_image_index(flow->image, addr, &left);
	struct code_edge *edges;

	if (index < 0 || !flow->marks[index] ||
	    (is_call && !is_in_body(flow, &flow->steps[flow->current])))
		return;
	edges = grow(flow->edges, flow->nr_edges, sizeof(*edges));
	flow->error |= !edges;
	if (!edges)
		return;
	flow->edges = edges;
	edges[flow->nr_edges++] = (struct code_edge){
		.from = flow->current, .to = flow->marks[index] - 1, .is_call = is_call,
		.is_entry = is_entry,
	};
}

static void add_call(struct code_flow *flow, const struct code_step *step)
{
	bool is_jump = step->insn.flow == CODE_JUMP || step->insn.flow == CODE_BRANCH;
	u8 kind = step->state.regs[flow->image->machine->fp].kind;
	struct code_call *calls;
	u64 left;
	s64 index = code_image_index(flow->image, step->insn.value, &left);

	if (index < 0 || (!is_jump && step->insn.flow != CODE_CALL))
		return;
	calls = grow(flow->calls, flow->nr_calls, sizeof(*calls));
	flow->error |= !calls;
	if (!calls)
		return;
	flow->calls = calls;
	calls[flow->nr_calls++] = (struct code_call){
		.function = flow->number, .target = index, .is_jump = is_jump,
		.needs_fp = kind == CODE_OF_CALLER || kind == CODE_STACK || kind == CODE_ALIGNED,
	};
}

static void judge_return(struct code_flow *flow, const struct code_state *state)
{
	const struct cfi_machine *machine = flow->image->machine;
	const struct code_value *sp = &state->regs[machine->sp];

	if (code_state_is_entry(state, machine)) {
		flow->steps[flow->current].is_proven = true;
		return;
	}
	fail(flow, CODE_HOLE_STACK);
	/* It returns as it should, but with another frame pointer. */
	if (sp->kind == CODE_STACK && sp->off == machine->fixed_ra && !state->lost_ra)
		flow->changes_fp = true;
}

static void judge_jump(struct code_flow *flow, const struct code_state *state)
{
	const struct code_table *table = find_table(flow, state);
	u32 i, nr = table ? count_entries(flow, table, state) : 0;
	u64 target;

	for (i = 0; i < nr; i++)
		if (read_entry(flow, table, i, &target))
			add_edge(flow, target, false, true);
	if (!nr && !code_state_is_entry(state, flow->image->machine))
		fail(flow, CODE_HOLE_JUMP);
}

static void judge_system_call(struct code_flow *flow, const struct code_state *state)
{
	bool is_x86 = flow->image->machine->machine == EM_X86_64;
	const struct code_value *nr = &state->regs[is_x86 ? 0 : 8];

	/* An unknown number may be that of clone(). */
	if (nr->kind != CODE_NUMBER || nr->off == SYS_CLONE3 ||
	    (is_x86 ? nr->off == SYS_RT_SIGRETURN_X86 || nr->off == SYS_CLONE_X86 ||
		      nr->off == SYS_VFORK_X86 :
		      nr->off == SYS_RT_SIGRETURN_ARM64 || nr->off == SYS_CLONE_ARM64))
		fail(flow, CODE_HOLE_STACK);
}

/* May the instruction be a call that never returns? */
static bool may_be_last(const struct code_flow *flow, const struct code_insn *insn)
{
	u64 left;
	s64 index;

	if (insn->flow != CODE_CALL || !flow->knows_returns)
		return insn->flow == CODE_CALL || insn->flow == CODE_CALL_ANY;
	index = code_image_index(flow->image, insn->value, &left);
	return index < 0 || !(flow->image->flags[index] & CODE_RETURNS);
}

/* All states are final. */
static void judge_step(struct code_flow *flow, const struct code_step *step)
{
	const struct cfi_machine *machine = flow->image->machine;
	const struct code_insn *insn = &step->insn;
	struct code_state state = step->state;
	u64 next = insn->addr + insn->size;

	code_state_run(&state, machine, insn, &flow->tables);
	/* It takes its return address from the stack: its caller may go on with another stack. */
	if (state.regs[machine->sp].kind == CODE_STACK &&
	    state.regs[machine->sp].off > machine->fixed_ra) {
		fail(flow, CODE_HOLE_STACK);
		flow->moves_sp = true;
	}
	switch (insn->flow) {
	case CODE_CALL:
	case CODE_CALL_ANY:
		code_state_call(&state, machine);
		break;
	case CODE_JUMP:
	case CODE_BRANCH:
		if (leaves(flow, insn->value, &state))
			judge_exit(flow, insn->value, &state, true);
		else
			add_edge(flow, insn->value, false, false);
		if (insn->flow == CODE_JUMP)
			return;
		break;
	case CODE_JUMP_REG:
		judge_jump(flow, &state);
		return;
	case CODE_RETURN:
		judge_return(flow, &state);
		return;
	case CODE_SYSCALL:
		judge_system_call(flow, &step->state);
		break;
	case CODE_STOP:
		return;
	case CODE_ODD:
		fail(flow, CODE_HOLE_ODD);
		return;
	}
	if (is_after_end(flow, insn, &state))
		return;
	if (leaves(flow, next, &state))
		judge_exit(flow, next, &state, false);
	else
		add_edge(flow, next, may_be_last(flow, insn), false);
}

/*
 * A call after which a path fails is taken for one that never returns. Return: whether something
 * changed.
 */
static bool spread_back(struct code_flow *flow, const struct code_edge *edge)
{
	struct code_step *from = &flow->steps[edge->from];
	const struct code_step *to = &flow->steps[edge->to];
	bool is_trusted = !edge->is_call || (to->is_local && !to->has_failed);
	bool is_proven = from->is_proven || (to->is_proven && is_trusted);
	bool is_local = from->is_local || (to->is_local && is_trusted && is_in_body(flow, from) &&
					   is_in_body(flow, to));
	bool has_failed = from->has_failed || (to->has_failed && !edge->is_call);
	bool is_changed = is_proven != from->is_proven || has_failed != from->has_failed ||
			  is_local != from->is_local;

	from->is_proven = is_proven;
	from->is_local = is_local;
	from->has_failed = has_failed;
	return is_changed;
}

static bool spread_on(struct code_flow *flow, const struct code_edge *edge)
{
	struct code_step *to = &flow->steps[edge->to];
	bool is_named = to->insn.addr > flow->start && to->insn.addr < flow->named_end;

	if (flow->is_root && !is_in_body(flow, to))
		return false;
	if (!flow->steps[edge->from].is_certain || to->is_certain || to->has_failed ||
	    (edge->is_call && !to->is_local && !is_named) ||
	    (edge->is_entry && !to->is_proven && !is_named))
		return false;
	to->is_certain = true;
	return true;
}

/* Applies one of these to all edges in both orders, until nothing changes. */
static void spread(struct code_flow *flow,
		   bool (*along)(struct code_flow *flow, const struct code_edge *edge))
{
	bool is_changed = true;
	u32 round;
	size_t i;

	for (round = 0; is_changed && round < ROUNDS_MAX &&
	     code_flow_spend(flow, flow->nr_edges / EDGES_OF_WORK); round++) {
		is_changed = false;
		for (i = 0; i < flow->nr_edges; i++)
			is_changed |= along(flow, &flow->edges[i]);
		for (i = flow->nr_edges; i > 0; i--)
			is_changed |= along(flow, &flow->edges[i - 1]);
	}
	if (is_changed) {
		flow->current = 0;
		fail(flow, CODE_HOLE_LIMIT);
	}
}

/* Finds the steps that are certain if the state at the entry is. */
static void judge(struct code_flow *flow)
{
	struct code_step *first = &flow->steps[0];
	u32 i;

	flow->end = find_end(flow);
	flow->named_end = find_named_end(flow);
	code_flow_spend(flow, (flow->end + flow->named_end - 2 * flow->start) / BYTES_OF_WORK);
	flow->nr_edges = 0;
	flow->changes_fp = false;
	flow->moves_sp = false;
	flow->hole = CODE_SOUND;
	for (i = 0; i < flow->nr && !flow->error; i++) {
		flow->current = i;
		flow->steps[i].is_proven = false;
		flow->steps[i].has_failed = false;
		flow->steps[i].is_certain = false;
		judge_step(flow, &flow->steps[i]);
		flow->steps[i].is_local = flow->steps[i].is_proven &&
					  is_in_body(flow, &flow->steps[i]);
		/* Whatever it does to the stack, it has no caller. */
		if (flow->is_root)
			flow->steps[i].has_failed = false;
	}
	/* Some paths were not followed. */
	flow->current = 0;
	if (flow->nr == CODE_INSNS_MAX || flow->is_cut)
		fail(flow, CODE_HOLE_LIMIT);
	flow->current = ~0u;
	spread(flow, spread_back);
	first->is_certain = !first->has_failed;
	spread(flow, spread_on);
	if (!first->has_failed)
		flow->hole = first->is_proven ? CODE_SOUND : CODE_HOLE_UNREACHED;
}

/*
 * After a call and padding, there is a loop, or another function. In the second case what is known
 * is wrong, and does not lead to a return.
 */
static void run_doubt(struct code_flow *flow, u32 number)
{
	struct code_state state = flow->steps[number].state;
	u64 next = flow->steps[number].insn.addr + flow->steps[number].insn.size, left;
	u32 nr_doubts = flow->nr_doubts, first = flow->nr;

	reach(flow, next, &state);
	run_steps(flow);
	judge(flow);
	if (flow->is_cut) {
		flow->nr_doubts = 0;
		return;
	}
	/* 0: there was no room for it. */
	number = flow->marks[code_image_index(flow->image, next, &left)];
	if (number > first &&
	    (flow->steps[number - 1].has_failed || !flow->steps[number - 1].is_proven))
		flow->nr_doubts = nr_doubts;
}

/**
 * code_flow_run - follow the paths of a function
 * @flow: gets its instructions, and what is known before each of them
 * @start: its address
 */
void code_flow_run(struct code_flow *flow, u64 start)
{
	struct code_state state;
	u64 left;
	s64 index = code_image_index(flow->image, start, &left);
	u32 i;

	for (i = 0; i < flow->nr; i++)
		flow->marks[flow->steps[i].index] = 0;
	flow->start = start;
	flow->is_weak = !(flow->image->flags[index] & (CODE_IS_START | CODE_HINTED));
	flow->is_root = (flow->image->flags[index] & (CODE_ROOT | CODE_CALLED)) == CODE_ROOT;
	flow->nr = 0;
	flow->nr_waiting = 0;
	flow->nr_doubts = 0;
	flow->tables.nr = 0;
	code_state_init(&state, flow->image->machine);
	reach(flow, start, &state);
	run_steps(flow);
	judge(flow);
	while (flow->nr_doubts && !flow->error)
		run_doubt(flow, flow->doubts[--flow->nr_doubts]);
	for (i = 0; i < flow->nr && !flow->hole; i++) {
		if (!flow->steps[i].is_certain)
			continue;
		add_call(flow, &flow->steps[i]);
		if (flow->steps[i].insn.flow == CODE_RETURN)
			flow->image->flags[flow->steps[0].index] |= CODE_RETURNS;
	}
}
