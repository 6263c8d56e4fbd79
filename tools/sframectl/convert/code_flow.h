/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function of code that nothing describes, followed along all of its paths. */
#ifndef CODE_FLOW_H
#define CODE_FLOW_H

#include <time.h>

#include "code_image.h"
#include "code_state.h"

/* A larger function is not analysed. */
#define CODE_INSNS_MAX	60000

/* Places in a function where it may end, or not */
#define CODE_NR_DOUBTS	64

/**
 * struct code_step - an instruction of a function
 * @insn: what it does
 * @state: what is known before it
 * @index: of its first byte
 * @is_waiting: it is to be run
 * @is_proven: a path from here returns, or gives its place to a function that surely begins there
 * @is_local: that path does not leave the part of the function that begins at its start
 * @has_failed: a path from here ends with a stack that is not that of a return
 * @is_certain: what is known is true whenever the processor comes here
 */
struct code_step {
	struct code_insn	insn;
	struct code_state	state;
	u32			index;
	bool			is_waiting;
	bool			is_proven;
	bool			is_local;
	bool			has_failed;
	bool			is_certain;
};

/**
 * struct code_edge - a step, and one that may come after it
 * @from: number of the first
 * @to: number of the second
 * @is_call: the first is a call, which may never return
 * @is_entry: the first jumps to an entry of a table, which may be one that no index names
 */
struct code_edge {
	u32	from;
	u32	to;
	bool	is_call;
	bool	is_entry;
};

/**
 * struct code_call - a call or a jump to a function
 * @function: number of the calling function
 * @target: index of the other
 * @is_jump: it is a jump
 * @needs_fp: the frame pointer leads to the caller's frame, or is the caller's
 */
struct code_call {
	u32	function;
	u32	target;
	bool	is_jump;
	bool	needs_fp;
};

/**
 * struct code_flow - a function
 * @image: the code
 * @decoder: how to read instructions
 * @steps: its instructions
 * @nr: their number
 * @room: steps that there is room for
 * @marks: of each byte of the image, the number of the step that begins there + 1
 * @waiting: steps that are to be run
 * @nr_waiting: their number
 * @doubts: steps after which there may be another function
 * @nr_doubts: their number
 * @tables: its tables of places to jump to
 * @start: address of the function
 * @end: of the part of it that begins there
 * @named_end: of the code that belongs to it, as its symbol says; else its start
 * @is_weak: nothing but a gap says that a function begins there
 * @is_root: the kernel starts a program there, and nothing else leads there
 * @knows_returns: all functions have been analysed before: a call of one that returns does return
 * @number: of the function
 * @edges: which step comes after which
 * @nr_edges: their number
 * @calls: calls that are certain, of all functions
 * @nr_calls: their number
 * @work: units of work that are done, of all functions; an instruction is one
 * @work_max: units of work that the file gets, by its size
 * @until: the processor time of this process at which the analysis ends, as clock() counts it
 * @is_cut: the analysis has ended before it had done all
 * @current: number of the step that is judged
 * @changes_fp: it returns with another frame pointer
 * @moves_sp: it takes its return address from the stack
 * @hole: why it, or a part of it, gets no rows
 * @error: there is not enough memory
 */
struct code_flow {
	const struct code_image	*image;
	struct code_decoder	decoder;
	struct code_step	*steps;
	u32			nr;
	u32			room;
	u32			*marks;
	u32			*waiting;
	u32			nr_waiting;
	u32			doubts[CODE_NR_DOUBTS];
	u32			nr_doubts;
	struct code_tables	tables;
	u64			start;
	u64			end;
	u64			named_end;
	bool			is_weak;
	bool			is_root;
	bool			knows_returns;
	u32			number;
	struct code_edge	*edges;
	size_t			nr_edges;
	struct code_call	*calls;
	size_t			nr_calls;
	u64			work;
	u64			work_max;
	clock_t			until;
	bool			is_cut;
	u32			current;
	bool			changes_fp;
	bool			moves_sp;
	enum code_hole		hole;
	bool			error;
};

bool code_flow_open(struct code_flow *flow, const struct code_image *image);
void code_flow_close(struct code_flow *flow);
bool code_flow_is_prologue(const struct code_flow *flow, u64 addr);
bool code_flow_spend(struct code_flow *flow, u64 work);
void code_flow_run(struct code_flow *flow, u64 start);

#endif /* CODE_FLOW_H */
