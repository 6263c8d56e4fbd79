// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Analyses the functions of a file that nothing describes, and makes rows of what is certain.
 *
 * First the functions that surely begin somewhere, then those that may. What both have to say of an
 * instruction must agree.
 */
#include <elf.h>
#include <stdlib.h>

#include "code_rows.h"
#include "grow.h"

/* How often something is handed on along all calls of a file. It is seldom more than twice. */
#define ROUNDS_MAX	20

/* Different rows of a file, and how many of them may share a place */
#define NR_STATES_MAX	65536
#define NR_PROBES_MAX	64

/* In the map of bytes: 0, or enum code_hole; then the numbers of rows */
#define MAP_ROW	NR_CODE_HOLES

/**
 * struct run - instructions with the same row
 * @index: of the first byte
 * @size: number of bytes
 * @row: number of the row, or CODE_HOLE_STACK; CODE_SOUND: the function says nothing of them
 */
struct run {
	u32	index;
	u32	size;
	u32	row;
};

/**
 * struct function - a function that was analysed
 * @addr: its address
 * @index: of its first byte
 * @end: number of the first run that is not its own
 * @hole: why it has no rows
 * @is_endless: it surely begins there, and never returns
 * @changes_fp: it may return with another frame pointer
 * @moves_sp: its callers may go on with another stack
 * @caller: a function with rows that calls it
 */
struct function {
	u64			addr;
	u32			index;
	u32			end;
	enum code_hole		hole;
	bool			is_endless;
	bool			changes_fp;
	bool			moves_sp;
	const struct function	*caller;
};

struct analysis {
	struct code_image	*image;
	struct code_flow	flow;
	struct run		*runs;
	size_t			nr_runs;
	struct function		*functions;
	size_t			nr_functions;
	struct cfi_state	*states;
	u32			*hashed;
	u32			nr_states;
	code_visit		*visit;
	void			*arg;
};

static u32 hash_state(const struct cfi_state *state)
{
	u64 hash = 0, word;
	u32 i;

	for (i = 0; i < sizeof(*state); i += sizeof(word)) {
		memcpy(&word, (const u8 *)state + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Return: the number of a row in the map of bytes. */
static u32 number_state(struct analysis *all, const struct cfi_state *state)
{
	u32 place = hash_state(state) % (2 * NR_STATES_MAX), nr = 0;

	for (; all->hashed[place]; place = (place + 1) % (2 * NR_STATES_MAX))
		if (nr++ == NR_PROBES_MAX)
			return CODE_HOLE_LIMIT;
		else if (!memcmp(&all->states[all->hashed[place] - 1], state, sizeof(*state)))
			return MAP_ROW + all->hashed[place] - 1;
	if (all->nr_states == NR_STATES_MAX)
		return CODE_HOLE_LIMIT;
	all->states[all->nr_states++] = *state;
	all->hashed[place] = all->nr_states;
	return MAP_ROW + all->nr_states - 1;
}

static void add_run(struct analysis *all, const struct code_step *step)
{
	u32 first = all->nr_functions ? all->functions[all->nr_functions - 1].end : 0;
	struct run *last = all->nr_runs > first ? &all->runs[all->nr_runs - 1] : NULL;
	static const struct cfi_state no_caller = {
		.sp.how = CFI_CFA, .ra.how = CFI_UNDEFINED,
	};
	struct cfi_state state;
	u32 row = step->is_certain ? CODE_HOLE_STACK : CODE_SOUND;
	struct run *runs;

	if (step->is_certain && all->flow.is_root)
		row = number_state(all, &no_caller);
	else if (step->is_certain && code_state_row(&step->state, all->image->machine, &state))
		row = number_state(all, &state);
	if (last && last->index + last->size == step->index && last->row == row) {
		last->size += step->insn.size;
		return;
	}
	runs = grow(all->runs, all->nr_runs, sizeof(*runs));
	all->flow.error |= !runs;
	if (!runs)
		return;
	all->runs = runs;
	runs[all->nr_runs++] = (struct run){
		.index = step->index, .size = step->insn.size, .row = row,
	};
}

/* Marks what was reached, so that the search for starts goes on elsewhere. */
static void take_steps(struct analysis *all)
{
	const struct code_flow *flow = &all->flow;
	const struct code_step *step;
	u32 i;

	for (i = 0; i < flow->nr; i++) {
		step = &flow->steps[i];
		if (step->is_certain || flow->steps[0].has_failed)
			all->image->flags[step->index] |= CODE_REACHED;
		add_run(all, step);
		if (all->visit && step->is_certain && !flow->is_root)
			all->visit(all->arg, step);
	}
}

/* @is_sure: a function begins there, though it may never return. Return: false to end all this. */
static bool analyse(struct analysis *all, u64 addr, u32 index, bool is_sure)
{
	u16 flags = all->image->flags[index];
	struct code_flow *flow = &all->flow;
	struct function *functions;
	bool is_endless;

	if (flow->is_cut || flow->error)
		return false;
	functions = grow(all->functions, all->nr_functions, sizeof(*functions));
	if (!functions)
		return false;
	all->functions = functions;
	flow->number = all->nr_functions;
	code_flow_run(flow, addr);
	if (flags & CODE_ROOT)
		flow->hole = flow->is_root ? CODE_SOUND : CODE_HOLE_STACK;
	take_steps(all);
	is_endless = flow->hole == CODE_HOLE_UNREACHED && is_sure;
	if (is_endless)
		flow->hole = CODE_SOUND;
	functions[all->nr_functions++] = (struct function){
		.addr = addr, .index = index, .end = all->nr_runs, .hole = flow->hole,
		.is_endless = is_endless, .changes_fp = flow->changes_fp,
		.moves_sp = flow->moves_sp,
	};
	return !flow->error;
}

/*
 * Bytes that look like a call, or data that looks like an address, may name the middle of an
 * instruction. A function begins after padding or the end of another.
 */
static bool is_plausible(const struct code_image *image, const struct range *range, u64 addr)
{
	const u8 *bytes = image->bytes + range->before + (addr - range->start);
	u64 before = addr - range->start;
	u32 len;

	if (!before || image->machine->machine != EM_X86_64)
		return true;
	for (len = 1; len <= 11 && len <= before; len++)
		if (bytes[-(s64)len] && code_padding(image->machine, bytes - len, len) == len)
			return true;
	/* Free Pascal fills the gap with zeros. */
	len = 0;
	while (addr % 16 == 0 && len < 15 && len + 1 < before && !bytes[-1 - (s64)len])
		len++;
	return bytes[-1 - (s64)len] == 0xc3 || (before > 4 && bytes[-5] == 0xe9) ||
	       (before > 1 && (bytes[-2] == 0xeb || (bytes[-2] == 0x0f && bytes[-1] == 0x0b)));
}

/*
 * Does a pointer name a function at @addr, after the end of other code? A label within a function
 * has its address in a table, or is not aligned, or makes no room on the stack.
 */
static bool is_pointed_at(const struct analysis *all, u64 addr, u64 index)
{
	return all->image->flags[index] & CODE_POINTER && addr % 16 == 0 &&
	       code_flow_is_prologue(&all->flow, addr);
}

/* Analyses the functions that begin at bytes with any of the @flags. A mere hint may be wrong. */
static bool analyse_flagged(struct analysis *all, u16 flags)
{
	const struct code_image *image = all->image;
	bool is_plain, is_named;
	u64 addr, index = 0;
	size_t i;
	u16 flag;

	for (i = 0; i < image->ranges.nr; i++)
		for (addr = image->ranges.all[i].start; addr < image->ranges.all[i].end; addr++) {
			flag = image->flags[index++];
			if (!(flag & flags) ||
			    (flags == CODE_HINTED &&
			     (flag & CODE_REACHED ||
			      code_padding(image->machine, image->bytes + index - 1,
					   image->ranges.all[i].end - addr))))
				continue;
			is_plain = is_plausible(image, &image->ranges.all[i], addr);
			is_named = flag & (CODE_SYMBOL | CODE_ROOT);
			if ((is_plain || is_named) &&
			    !analyse(all, addr, index - 1, is_plain && (flag & CODE_SYMBOL ||
				     is_pointed_at(all, addr, index - 1))))
				return false;
		}
	return true;
}

/* Whether a function may begin in a gap: it is no padding, and nothing has reached it. */
static bool analyse_gaps(struct analysis *all)
{
	const struct code_image *image = all->image;
	const struct range *range;
	struct code_insn insn;
	u64 pos, left, index;
	bool is_begin;
	size_t i;
	u32 len;

	for (i = 0; i < image->ranges.nr; i++) {
		range = &image->ranges.all[i];
		is_begin = true;
		for (pos = range->start; pos < range->end; pos += len) {
			left = range->end - pos;
			index = range->before + (pos - range->start);
			len = code_padding(image->machine, image->bytes + index, left);
			/* Between two functions, a single zero is padding, too. */
			if (is_begin && pos % 16 == 15 && !image->bytes[index])
				len = 1;
			if (len) {
				is_begin = true;
				continue;
			}
			if (!(image->flags[index] & CODE_REACHED) &&
			    (!code_flow_spend(&all->flow, 1) ||
			     (is_begin && !analyse(all, pos, index,
						   is_pointed_at(all, pos, index)))))
				return false;
			insn.addr = pos;
			code_decode(&all->flow.decoder, image->bytes + index, left, &insn);
			len = insn.size ?: 1;
			/* After an end, another function may begin. */
			is_begin = insn.flow == CODE_RETURN || insn.flow == CODE_JUMP ||
				   insn.flow == CODE_JUMP_REG;
		}
	}
	return true;
}

/* Once it is known which functions return, more is certain after calls of them. */
static bool analyse_endless(struct analysis *all)
{
	size_t i, nr = all->nr_functions;

	all->flow.knows_returns = true;
	for (i = 0; i < nr; i++)
		if (all->functions[i].is_endless &&
		    !analyse(all, all->functions[i].addr, all->functions[i].index, true))
			return false;
	return true;
}

/* One that relies on another to keep the frame pointer has no rows if that one does not. */
static bool spread_change(struct function *caller, const struct function *called,
			  const struct code_call *call)
{
	if (called->moves_sp && !call->is_jump && !caller->hole) {
		caller->hole = CODE_HOLE_STACK;
		return true;
	}
	if (!called->changes_fp || caller->changes_fp || (!call->is_jump && !call->needs_fp))
		return false;
	caller->changes_fp = true;
	if (!call->is_jump)
		caller->hole = CODE_HOLE_STACK;
	return true;
}

/*
 * A function that never returns has rows if two functions with rows call it. One may be the middle
 * of an instruction that looks like a call.
 */
static bool spread_trust(const struct function *caller, struct function *called,
			 const struct code_call *call)
{
	if (caller->hole || called->hole != CODE_HOLE_UNREACHED || call->is_jump)
		return false;
	if (called->caller && called->caller != caller)
		called->hole = CODE_SOUND;
	called->caller = caller;
	return !called->hole;
}

static void spread_calls(struct analysis *all, bool is_trust)
{
	u32 *at = calloc(all->image->size, sizeof(*at));
	struct function *caller, *called;
	const size_t nr = all->flow.nr_calls;
	bool is_changed = at;
	u32 round;
	size_t i;

	for (i = 0; at && i < all->nr_functions; i++)
		at[all->functions[i].index] = i + 1;
	for (round = 0; is_changed && round < ROUNDS_MAX; round++) {
		is_changed = false;
		for (i = 0; i < 2 * nr; i++) {
			const struct code_call *call =
				&all->flow.calls[i < nr ? i : 2 * nr - 1 - i];

			if (!at[call->target])
				continue;
			caller = &all->functions[call->function];
			called = &all->functions[at[call->target] - 1];
			is_changed |= is_trust ? spread_trust(caller, called, call) :
						 spread_change(caller, called, call);
		}
	}
	/* A function may rely on another that changes the frame pointer. */
	if (!at || (is_changed && !is_trust))
		all->nr_functions = 0;
	free(at);
}

/* Paints functions with rows, or else functions without. */
static void paint(const struct analysis *all, u32 *map, bool is_sound)
{
	const struct function *function;
	const struct run *run = all->runs;
	bool is_other;
	u32 i, k, row;

	for (i = 0; i < all->nr_functions; i++) {
		function = &all->functions[i];
		if (!function->hole != is_sound) {
			run = all->runs + function->end;
			continue;
		}
		if (is_sound)
			all->image->flags[function->index] |= CODE_FUNCTION;
		for (; run < all->runs + function->end; run++) {
			row = function->hole ?: run->row;
			/* What another function says that seems never to return may be true. */
			is_other = run->row && (!row || row == CODE_HOLE_UNREACHED || is_sound);
			for (k = run->index; row && k < run->index + run->size; k++)
				if (!map[k])
					map[k] = row;
				else if (is_other && map[k] != run->row)
					map[k] = CODE_HOLE_STACK;
		}
	}
}

/* Return: false if there is not enough memory. */
static bool add_row(struct code_rows *rows, bool is_part, u64 addr, const struct cfi_state *state)
{
	struct code_part *parts;
	struct cfi_row *all;

	if (is_part) {
		parts = grow(rows->parts, rows->nr_parts, sizeof(*parts));
		if (!parts)
			return false;
		rows->parts = parts;
		parts[rows->nr_parts++] = (struct code_part){
			.start = addr, .first = rows->nr_rows,
		};
	}
	all = grow(rows->rows, rows->nr_rows, sizeof(*all));
	if (!all)
		return false;
	rows->rows = all;
	parts = &rows->parts[rows->nr_parts - 1];
	all[rows->nr_rows++] = (struct cfi_row){ .state = *state, .start = addr - parts->start };
	parts->nr++;
	return true;
}

static bool collect(struct code_rows *rows, const struct analysis *all, const u32 *map)
{
	const struct ranges *ranges = &all->image->ranges;
	const u16 *flags = all->image->flags;
	u32 last, unreached = all->flow.is_cut ? CODE_HOLE_LIMIT : CODE_HOLE_UNREACHED;
	u64 addr, index = 0;
	size_t i;
	bool is_part;

	for (i = 0; i < ranges->nr; i++) {
		last = 0;
		for (addr = ranges->all[i].start; addr < ranges->all[i].end; addr++, index++) {
			is_part = last < MAP_ROW || flags[index] & CODE_FUNCTION;
			if (map[index] >= MAP_ROW && (is_part || map[index] != last) &&
			    !add_row(rows, is_part, addr, &all->states[map[index] - MAP_ROW]))
				return false;
			last = map[index];
			if (last >= MAP_ROW) {
				rows->parts[rows->nr_parts - 1].size++;
				rows->covered++;
			} else {
				rows->holes[last ?: unreached]++;
			}
		}
	}
	return true;
}

static void run(struct code_rows *rows, struct analysis *all)
{
	u32 *map;

	/* What was found before a limit stays. */
	if (analyse_flagged(all, CODE_IS_START | CODE_ROOT) && analyse_flagged(all, CODE_HINTED) &&
	    analyse_endless(all))
		analyse_gaps(all);
	spread_calls(all, false);
	spread_calls(all, true);
	map = calloc(all->image->size, sizeof(*map));
	if (map && !all->flow.error) {
		paint(all, map, true);
		paint(all, map, false);
		collect(rows, all, map);
	}
	free(map);
}

/**
 * code_rows_find - analyse code that nothing describes
 * @rows: filled in; the caller calls code_rows_free()
 * @image: the code
 * @visit: called for each instruction with a row, or NULL
 * @arg: for @visit
 */
void code_rows_find(struct code_rows *rows, struct code_image *image, code_visit *visit, void *arg)
{
	struct analysis all = { .image = image, .visit = visit, .arg = arg };

	*rows = (struct code_rows){};
	all.states = malloc(NR_STATES_MAX * sizeof(*all.states));
	all.hashed = calloc(2 * NR_STATES_MAX, sizeof(*all.hashed));
	if (code_flow_open(&all.flow, image) && all.states && all.hashed)
		run(rows, &all);
	code_flow_close(&all.flow);
	free(all.states);
	free(all.hashed);
	free(all.runs);
	free(all.functions);
}

void code_rows_free(struct code_rows *rows)
{
	free(rows->parts);
	free(rows->rows);
}
