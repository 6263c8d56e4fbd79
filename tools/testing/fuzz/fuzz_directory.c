// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the directory of a mapped section, with the sources of the module: a scan makes it, and
 * look-ups in the section use it. The section may be one that a linker has put together of
 * several. A process has written it, and changes bytes after the scan, or takes bytes away.
 *
 * For each input the target checks that:
 *
 * - no read leaves the section, and the work of a look-up stays within the budget;
 * - errors are documented ones;
 * - the directory has the functions of all parts by their start, and says how large it is;
 * - a row that is found covers the address, and all of its registers exist;
 * - if functions do not overlap, a look-up finds what a search through all functions of all parts
 *   finds, and the fast path gets the same row.
 */
#include <stdlib.h>

#include "fuzz.h"

/* The unchanged sources. shim/kernel.h replaces the kernel headers. */
#include "../../../sample/sframe_cache.c"
#include "../../../sample/sframe_section.c"
#include "../../../sample/sframe_user.c"
#include "../../../task/sframe_user_index.c"

#define SECTION		0x100000000UL
#define MOST_SIZE	4096
#define MOST_PARTS	(MOST_SIZE / sizeof(struct sframe_raw_header))
#define MOST_FUNCTIONS	(MOST_SIZE / sizeof(struct sframe_raw_fde_v3))
#define NR_ASKED	8		/* functions looked up */

/* The first bytes of an input; the bytes of the section follow. */
struct setting {
	s32	pc;		/* from the start of the section */
	u16	absent;		/* bytes at the end that are not in memory after the scan */
	u16	change_at;	/* these bytes change after the scan */
	u8	change[4];	/* xor that changes them */
	u8	most;		/* memory for the directory, in units of 64 bytes; 0: enough */
} __packed;

static const u8 *memory;
static unsigned long memory_size, memory_present;
static long held;

struct shim_tss cpu_tss_rw;
struct task_struct shim_task;
unsigned long shim_table;
struct sfu_counters sfu_counters;
struct sfu_held sfu_held;

static struct fuzz_most most_work = { .what = "work of a look-up by a directory" };
static struct fuzz_most most_parts = { .what = "parts of a directory" };
static struct fuzz_most most_functions = { .what = "functions of a directory" };

long copy_from_user_nofault(void *dst, const void *src, size_t len)
{
	unsigned long off = (unsigned long)src - SECTION;

	require(off <= memory_size && len <= memory_size - off);
	if (off + len > memory_present)
		return -EFAULT;
	memcpy(dst, memory + off, len);
	return 0;
}

bool sfu_may_hold(size_t size)
{
	return true;
}

void sfu_hold(long size)
{
	held += size;
}

/* ---- what the section says, function by function ---- */

static struct sframe_header parts[MOST_PARTS];
static struct sframe_fde functions[MOST_FUNCTIONS];
static u32 nr_parts, nr_functions;
static bool is_sound;		/* no function is malformed, overlaps another one, or is far away */

static int read_plainly(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user_nofault(dst, (const void *)addr, len);
}

static struct sframe_reader reader_without_limit(void)
{
	return (struct sframe_reader){ .read = read_plainly, .budget = U32_MAX };
}

static int compare_functions(const void *a, const void *b)
{
	const struct sframe_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static void list_part_plainly(const struct sframe_header *hdr)
{
	struct sframe_reader rd;
	u32 i;

	for (i = 0; i < hdr->num_fdes; i++) {
		struct sframe_fde *fde = &functions[nr_functions];
		s64 off;

		rd = reader_without_limit();
		if (sframe_get_fde(hdr, &rd, i, fde)) {
			is_sound = false;
			continue;
		}
		off = fde->start - SECTION;
		is_sound &= off == (s32)off;
		nr_functions++;
	}
}

/* Reads all parts. Each begins at a multiple of SFRAME_PART_ALIGN after the one before. */
static void list_plainly(void)
{
	u64 off = 0, last_end = 0;
	struct sframe_reader rd;
	u32 i;

	nr_parts = 0;
	nr_functions = 0;
	is_sound = true;
	while (off <= memory_size) {
		struct sframe_header *hdr = &parts[nr_parts];

		rd = reader_without_limit();
		if (sframe_header_read(hdr, &rd, SECTION + off, memory_size - off) ||
		    hdr->swapped || hdr->abi != SFU_ARCH_ABI)
			break;
		list_part_plainly(hdr);
		off = round_up(off + sframe_header_span(hdr), SFRAME_PART_ALIGN);
		nr_parts++;
	}
	qsort(functions, nr_functions, sizeof(*functions), compare_functions);
	for (i = 0; i < nr_functions; i++) {
		is_sound &= functions[i].start >= last_end;
		last_end = functions[i].start + functions[i].size;
	}
}

static int find_plainly(u64 addr, struct sframe_row *row)
{
	int err = -ENOENT;
	u32 i;

	for (i = 0; err == -ENOENT && i < nr_parts; i++) {
		struct sframe_reader rd = reader_without_limit();
		struct sframe_header hdr = parts[i];

		hdr.flags &= ~SFRAME_F_FDE_SORTED;
		err = sframe_find_row(&hdr, &rd, addr, row);
	}
	return err;
}

/* ---- the checks ---- */

static void check_directory(const struct sfu_section *section)
{
	const struct sframe_directory *dir = section->directory;
	u32 i;

	require(dir->nr_parts == nr_parts);
	for (i = 0; i < nr_parts; i++)
		require(SECTION + dir->parts[i].value == parts[i].addr);
	for (i = 1; i < dir->nr_functions; i++)
		require(dir->functions[i - 1].at <= dir->functions[i].at);
	if (is_sound) {
		require(dir->nr_functions == nr_functions);
		for (i = 0; i < nr_functions; i++)
			require(SECTION + dir->functions[i].at == functions[i].start);
	}
	require(sfu_user_index_size(section) == (unsigned long)held);
	fuzz_note(&most_parts, dir->nr_parts, MOST_PARTS);
	fuzz_note(&most_functions, dir->nr_functions, MOST_FUNCTIONS);
}

static void check_error(const struct sfu_lookup *lookup, int err)
{
	switch (err) {
	case -EBADMSG:
	case -EOPNOTSUPP:
		require(fuzz_is_defect(lookup->rd.defect));
		break;
	case -E2BIG:
		require(!lookup->rd.budget);
		break;
	case -EFAULT:
		require(memory_present < memory_size);
		break;
	default:
		require(!err || err == -ENOENT);
	}
}

/* The walk uses the register of a rule as an array index. */
static void check_row(u64 addr, const struct sframe_row *row)
{
	require(addr - row->func <= U32_MAX && row->start <= addr - row->func);
	require(row->cfa.reg < SFRAME_AMD64_NR_REGS && row->ra.reg < SFRAME_AMD64_NR_REGS &&
		row->fp.reg < SFRAME_AMD64_NR_REGS);
}

static void look_up(const struct sfu_section *made, u64 addr, bool is_changed)
{
	struct sfu_section section = *made;
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET };
	struct sframe_row row, want;
	union sfu_fast_row fast;
	int err;

	err = sfu_section_find_row(&section, &lookup, addr, &row);
	check_error(&lookup, err);
	require(sfu_section_is(&section, SFU_SECTION_BAD) == (err == -EBADMSG));
	fuzz_note(&most_work, SFU_BUDGET - lookup.rd.budget, SFU_BUDGET);
	if (!err)
		check_row(addr, &row);

	section = *made;
	lookup.rd.budget = SFU_BUDGET;
	fast = sfu_section_add_fast_row(&section, &lookup, addr, true);
	require(fast.word == (err ? SFU_OTHER_ROW : sfu_fast_row(&row)).word);

	if (is_changed || !is_sound || err == -E2BIG)
		return;
	require(err == find_plainly(addr, &want));
	require(err || fuzz_same_row(&row, &want));
}

static void look_up_all(const struct sfu_section *section, s32 pc, bool is_changed)
{
	u32 i, nr = min_t(u32, nr_functions, NR_ASKED);

	look_up(section, SECTION + pc, is_changed);
	for (i = 0; i < nr; i++) {
		const struct sframe_fde *fde = &functions[(u64)i * nr_functions / nr];

		look_up(section, fde->start - 1, is_changed);
		look_up(section, fde->start, is_changed);
		look_up(section, fde->start + fde->size / 2, is_changed);
		look_up(section, fde->start + fde->size - 1, is_changed);
		look_up(section, fde->start + fde->size, is_changed);
	}
}

/* Makes a directory. Returns false if there is none. */
static bool make_directory(struct sfu_section *section, size_t most)
{
	int err = sfu_user_index_list(section, most);

	require(!err || err == -ENOENT || err == -E2BIG || err == -EFAULT);
	require(err != -EFAULT || memory_present < memory_size);
	require(!err == !!section->directory && held <= (long)most);
	return !err;
}

static void fuzz_section(const struct setting *setting, u8 *bytes)
{
	size_t most = setting->most ? setting->most * 64 : MOST_SIZE * sizeof(struct sframe_mark);
	struct sfu_section again, section = {
		.start = SECTION,
		.end = SECTION + memory_size,
		.source = SFU_SOURCE_MAPPED,
		.state.counter = SFU_SECTION_READY,
	};
	enum sframe_defect defect;
	u32 i;

	if (sfu_section_check(&section, &defect))
		return;
	again = section;
	list_plainly();
	require(sfu_user_index_has_parts(&section) == (nr_parts > 1));
	if (!make_directory(&section, most))
		return;
	check_directory(&section);
	look_up_all(&section, setting->pc, false);

	for (i = 0; i < sizeof(setting->change) && setting->change_at + i < memory_size; i++)
		bytes[setting->change_at + i] ^= setting->change[i];
	memory_present -= min_t(u64, memory_size, setting->absent);
	look_up_all(&section, setting->pc, true);
	sfu_user_index_put(&section);
	require(!held);
	if (make_directory(&again, most))
		sfu_user_index_put(&again);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct setting setting;
	u8 *bytes;

	if (size <= sizeof(setting) || size > sizeof(setting) + MOST_SIZE)
		return 0;
	memcpy(&setting, data, sizeof(setting));
	memory_size = size - sizeof(setting);
	memory_present = memory_size;
	bytes = malloc(memory_size);
	require(bytes);
	memcpy(bytes, data + sizeof(setting), memory_size);
	memory = bytes;
	fuzz_section(&setting, bytes);
	require(!held);
	free(bytes);
	return 0;
}

static void __attribute__((__destructor__)) tell(void)
{
	fuzz_tell(&most_work);
	fuzz_tell(&most_parts);
	fuzz_tell(&most_functions);
}
