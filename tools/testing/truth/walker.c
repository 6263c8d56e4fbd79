// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk of the module, with its unchanged sources. fuzz/shim/kernel.h replaces the kernel
 * headers, as for the fuzzers.
 */
#include <err.h>

#include "buffer.h"
#include "host_table.h"
#include "walker.h"

#include "../../../sframe_names.c"
#include "../../../map/map.c"
#include "../../../walk/row_cache.c"
#include "../../../map/section.c"
#include "../../../walk/signal.c"
#include "../../../walk/user.c"
#include "../../../walk/frame.c"
#include "../../../walk/walk.c"
#include "shim/fast_path.h"
#include "../../../walk/call.c"
#include "../../../walk/record.c"
#include "../../../walk/chain.c"
#include "../../../walk/fallback.c"
#include "../../../map/keeps_fp.c"
#ifdef TRUTH_ARM64
#include "../../../arch/arm64/code.c"
#include "../../../arch/arm64/fallback.c"
#include "../../../arch/arm64/regs.c"
#else
#include "../../../arch/x86/code.c"
#include "../../../arch/x86/fallback.c"
#include "../../../arch/x86/regs.c"

struct shim_tss cpu_tss_rw;
#endif

/* Rows that the walks remember, in all processes. */
#define NR_SETS	0x4000

/**
 * struct walker - the walks over the stacks of one process
 * @mem: its memory
 * @map: its code
 * @mm: as the walk sees it
 * @regs: the registers of the present walk
 * @walk: the present walk
 */
struct walker {
	struct memory		*mem;
	struct sfu_map		*map;
	struct mm_struct	mm;
	struct pt_regs		regs;
	struct sfu_walk		walk;
};

struct sfu_counters sfu_counters;
struct sfu_held sfu_held;
struct task_struct shim_task;
unsigned long shim_table;
atomic_t sfu_table_generation;

/* The process whose memory the walk reads. */
static struct walker *walking;

void sfu_table_put(const struct sfu_section *section)
{
}

long copy_from_user_nofault(void *dst, const void *src, size_t len)
{
	u64 addr = (unsigned long)src;
	bool is_code = walking->map && sfu_map_find(walking->map, addr);

	if (is_code)
		return memory_read_code(walking->mem, dst, addr, len) ? 0 : -EFAULT;
	return memory_read(walking->mem, dst, addr, len) ? 0 : -EFAULT;
}

struct walker *walker_open(struct memory *mem)
{
	struct walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		err(1, "walker");
	walker->mem = mem;
	return walker;
}

void walker_close(struct walker *walker)
{
	sfu_map_put(walker->map);
	free(walker);
}

static const u64 *pack_rows(const struct sframe_compiled *compiled)
{
	u64 *packed = kcalloc(compiled->nr_rows, sizeof(*packed), GFP_KERNEL);
	struct sframe_row row;
	u32 i;

	if (!packed)
		err(1, "table");
	packed[0] = SFU_ROW_IS_OTHER;
	for (i = 1; i < compiled->nr_rows; i++) {
		row = compiled->rows[i];
		packed[i] = sfu_row_pack(&row);
	}
	return packed;
}

/* Makes the table as sfu_table_compile() of table/table.c does. */
static struct sfu_table *load_table(const struct walker_table *from)
{
	struct sfu_table *table = calloc(1, sizeof(*table));
	struct host_table host;
	struct buffer_reader buf;
	struct sframe_header hdr;

	if (!table)
		err(1, "table");
	buffer_reader_init(&buf, from->bytes, from->addr, from->len);
	if (sframe_header_read(&hdr, &buf.rd, from->addr, from->len))
		errx(1, "the header of a table is malformed");
	host_table_init(&host, &hdr, from->bytes, from->len);
	if (!host.is_accepted)
		errx(1, "the module does not accept a table");
	table->compiled = host.compiled;
	table->packed_rows = pack_rows(&host.compiled);
	table->number = sfu_row_cache_new_section(&table->key_base);
	return table;
}

/* Sets the section as place_table() of table/files.c does. */
static void place_table(struct sfu_section *section, const struct walker_code *code)
{
	const struct sfu_table *table;

	if (!code->table->loaded)
		code->table->loaded = load_table(code->table);
	table = code->table->loaded;
	section->source = SFU_SOURCE_TABLE;
	section->table = code->table->loaded;
	section->bias = code->bias;
	section->number = table->number;
	section->key_base = table->key_base - code->bias;
	atomic_set(&section->state, SFU_SECTION_READY);
}

/* The module reads less of the code, and finds the same habit. */
static enum sframe_keeps_fp find_habit(struct memory *mem, const struct walker_code *code)
{
	struct sframe_prologues starts = {};
	u8 bytes[512];
	u64 addr;

	for (addr = code->start; addr + sizeof(bytes) <= code->end; addr += sizeof(bytes)) {
		if (!memory_read_code(mem, bytes, addr, sizeof(bytes)))
			continue;
		sframe_count_prologues(&starts, bytes, sizeof(bytes), false);
		if (sframe_keeps_fp_early(&starts) != SFRAME_KEEPS_FP_UNKNOWN)
			return sframe_keeps_fp_early(&starts);
	}
	return sframe_keeps_fp_final(&starts);
}

static void set_range(struct walker *walker, struct sfu_range *range,
		      const struct walker_code *code)
{
	*range = (struct sfu_range){
		.start = code->start,
		.end = code->end,
		.vma.file = (const struct file *)code->file,
		.keeps_fp = find_habit(walker->mem, code),
	};
	if (code->table)
		place_table(&range->section, code);
}

/**
 * walker_set_code() - the process has mapped or unmapped code
 * @walker: of the process
 * @code: its code, ascending
 * @nr: how many pieces
 * @start_stack: where the stack of the program began
 */
void walker_set_code(struct walker *walker, const struct walker_code *code, unsigned int nr,
		     u64 start_stack)
{
	unsigned int i;

	sfu_map_put(walker->map);
	walker->map = sfu_map_alloc(nr, GFP_KERNEL);
	for (i = 0; i < nr; i++)
		set_range(walker, &walker->map->ranges[i], &code[i]);
	sfu_map_order_sections(walker->map);
	walker->mm.start_stack = start_stack;
}

#ifdef TRUTH_ARM64
static void set_registers(struct pt_regs *to, const struct registers *from)
{
	*to = (struct pt_regs){
		.sp = from->by_number[REG_SP],
		.pc = from->ip,
		.syscallno = from->syscall,
	};
	memcpy(to->regs, from->by_number, sizeof(to->regs));
}
#else
static void set_registers(struct pt_regs *to, const struct registers *from)
{
	const u64 *reg = from->by_number;

	*to = (struct pt_regs){
		.ax = reg[0], .dx = reg[1], .cx = reg[2], .bx = reg[3],
		.si = reg[4], .di = reg[5], .bp = reg[6], .sp = reg[7],
		.r8 = reg[8], .r9 = reg[9], .r10 = reg[10], .r11 = reg[11],
		.r12 = reg[12], .r13 = reg[13], .r14 = reg[14], .r15 = reg[15],
		.ip = from->ip,
		.orig_ax = from->syscall,
		.cs = 0x33,
	};
}
#endif

/**
 * walker_begin() - begin a walk
 * @walker: of the process
 * @regs: registers of the thread
 * @use_cache: use the row cache and the fast path
 */
void walker_begin(struct walker *walker, const struct registers *regs, bool use_cache)
{
	static struct sfu_row_cache cache = { .nr_sets = NR_SETS };

	if (!cache.sets)
		cache.sets = kcalloc(NR_SETS, sizeof(*cache.sets), GFP_KERNEL);
	walking = walker;
	uses_fast_path = use_cache;
	set_registers(&walker->regs, regs);
	shim_task = (struct task_struct){ .mm = &walker->mm, .regs = &walker->regs };
	sfu_walk_init(&walker->walk, walker->map, false, use_cache ? &cache : NULL, &walker->regs);
}

/**
 * walker_next() - go to the caller
 * @walker: of the process
 * @frame: set if NULL is returned
 *
 * Return: NULL, or the reason why the walk ends.
 */
const char *walker_next(struct walker *walker, struct walker_frame *frame)
{
	const struct sfu_frame *found = &walker->walk.frame;
	enum sfu_stop stop;
	unsigned int nr;
	u64 ip;

	walking = walker;
	stop = sfu_walk_callers(&walker->walk, &ip, 1, &nr);
	if (!nr)
		return sfu_stop_names[stop];
	*frame = (struct walker_frame){
		.ip = found->ip,
		.sp = found->sp,
		.fp = found->fp,
		.sp_is_guess = found->sp_unverified,
	};
	return NULL;
}
