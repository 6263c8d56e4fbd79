// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the call chains of the kernel with those that libdw finds in the copy of the stack, by
 * .eh_frame of the mapped files.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>

#include "records.h"

#define MAX_FRAMES	512
#define MAX_PIDS	65536
#define SHARED		"/mnt"

static const char usage[] =
"Usage: live [--list] ROOT DIR FILE\n"
"\n"
"ROOT has the files of the machine; DIR those that it has in /mnt, with its vdso.so.\n"
"--list: print both stacks of each sample instead, for another judge.\n"
"Exit status: 0 if no stack is wrong or too long, 1 if one is.\n";

/**
 * struct space - the address space of a process
 * @maps: its mappings, the last one first
 * @dwfl: what libdw knows of them; NULL: they have changed
 */
struct space {
	struct mapping {
		struct mapping	*next;
		u64		start;
		u64		size;
		u64		off;
		bool		is_code;
		char		*name;
	}	*maps;
	Dwfl	*dwfl;
};

/* How one chain compares. */
enum outcome {
	OUTCOME_EXACT,		/* both have the same frames */
	OUTCOME_COPY,		/* likewise, as far as the copy of the stack goes */
	OUTCOME_UNJUDGED,	/* libdw has no call frame information for a frame that agrees */
	OUTCOME_SHORT,		/* the chain ends earlier */
	OUTCOME_LONG,		/* the chain goes on after the outermost frame */
	OUTCOME_DIFFERENT,	/* a frame differs */
	NR_OUTCOMES
};

static const char *const outcome_names[NR_OUTCOMES] = {
	"exact", "exact as far as the copy goes", "libdw ends first", "ended early",
	"TOO LONG", "DIFFERENT",
};

/* Outcomes by function of the last frame that agrees. */
struct entry {
	struct entry	*next;
	enum outcome	outcome;
	char		*where;
	u64		count;
};

static const char *root, *shared;
static bool is_listing;
static struct space spaces[MAX_PIDS];
static u64 outcomes[NR_OUTCOMES], nr_lost, nr_without;
static struct entry *entries;

/* The sample that libdw unwinds, and what it finds. */
static const struct sample *now;
static u64 found[MAX_FRAMES];
static bool found_activation[MAX_FRAMES];
static u32 nr_found;
static bool needs_more;			/* of the stack than was copied */
static u64 unreadable;			/* libdw wants this word, below the copy or far above */

/* ---- what libdw asks for ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	u64 off = addr - regs_sp(&now->regs);

	(void)dwfl;
	(void)arg;
	if (off <= now->stack_size && now->stack_size - off >= sizeof(*word)) {
		memcpy(word, now->stack + off, sizeof(*word));
		return true;
	}
	if (off < 1u << 26)
		needs_more = true;
	else
		unreadable = addr;
	return false;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
#ifdef TRUTH_ARM64
	const unsigned int nr = 32;
#else
	const unsigned int nr = 17;
#endif
	Dwarf_Word words[32];
	unsigned int i;

	(void)arg;
	for (i = 0; i < nr; i++)
		words[i] = i == 16 && nr == 17 ? now->regs.ip : now->regs.by_number[i];
#ifdef TRUTH_ARM64
	/* libdw takes the mask of signatures as register -2. */
	words[0] = PAC_MASK;
	dwfl_thread_state_registers(thread, -2, 1, words);
	words[0] = now->regs.by_number[0];
#endif
	dwfl_thread_state_register_pc(thread, now->regs.ip);
	return dwfl_thread_state_registers(thread, 0, nr, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static void report(Dwfl *dwfl, const struct mapping *mapping)
{
	char path[4096];

	if (!strcmp(mapping->name, "[vdso]"))
		snprintf(path, sizeof(path), "%s/vdso.so", shared);
	else if (!strncmp(mapping->name, SHARED, strlen(SHARED)))
		snprintf(path, sizeof(path), "%s%s", shared, mapping->name + strlen(SHARED));
	else
		snprintf(path, sizeof(path), "%s%s", root, mapping->name);
	if (mapping->name[0] == '/' || !strcmp(mapping->name, "[vdso]"))
		dwfl_report_elf(dwfl, mapping->name, path, -1, mapping->start - mapping->off,
				false);
}

static Dwfl *dwfl_of(struct space *space)
{
	const struct mapping *mapping;

	if (space->dwfl)
		return space->dwfl;
	space->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(space->dwfl);
	for (mapping = space->maps; mapping; mapping = mapping->next)
		if (mapping->is_code)
			report(space->dwfl, mapping);
	dwfl_report_end(space->dwfl, NULL, NULL);
	if (!dwfl_attach_state(space->dwfl, NULL, 1, &thread_callbacks, space))
		return NULL;
	return space->dwfl;
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;

	(void)arg;
	if (nr_found == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &found_activation[nr_found]))
		return DWARF_CB_ABORT;
	found[nr_found++] = pc;
	return DWARF_CB_OK;
}

/* ---- address spaces ---- */

static void forget_dwfl(struct space *space)
{
	if (space->dwfl)
		dwfl_end(space->dwfl);
	space->dwfl = NULL;
}

static void forget_maps(struct space *space)
{
	struct mapping *next;

	for (; space->maps; space->maps = next) {
		next = space->maps->next;
		free(space->maps->name);
		free(space->maps);
	}
	forget_dwfl(space);
}

static void add_map(struct space *space, u64 start, u64 size, u64 off, bool is_code,
		    const char *name)
{
	struct mapping **at = &space->maps, *mapping;

	/* A new mapping takes the place of all that it covers. */
	while ((mapping = *at)) {
		if (mapping->start >= start && mapping->start - start < size) {
			*at = mapping->next;
			free(mapping->name);
			free(mapping);
		} else {
			at = &mapping->next;
		}
	}
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		err(2, "mapping");
	*mapping = (struct mapping){ space->maps, start, size, off, is_code, strdup(name) };
	space->maps = mapping;
	forget_dwfl(space);
}

static void fork_space(struct space *child, const struct space *parent)
{
	const struct mapping *mapping;

	if (child == parent)
		return;
	forget_maps(child);
	for (mapping = parent->maps; mapping; mapping = mapping->next)
		add_map(child, mapping->start, mapping->size, mapping->off, mapping->is_code,
			mapping->name);
}

/* ---- the comparison ---- */

static char *describe(Dwfl *dwfl, u64 addr)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, addr);
	const char *file = "no code", *symbol = NULL;
	GElf_Addr bias = 0;
	char *text;

	if (mod) {
		file = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		symbol = dwfl_module_addrname(mod, addr);
		dwfl_module_getelf(mod, &bias);
	}
	if (asprintf(&text, "%s+0x%" PRIx64 " (%s)", file, addr - bias, symbol ?: "?") < 0)
		err(2, "text");
	return text;
}

static void print_example(Dwfl *dwfl)
{
	u64 i, most = now->nr > nr_found ? now->nr : nr_found;
	char *ours, *theirs;

	printf("      sp %" PRIx64 ", fp %" PRIx64 ", stack copied %" PRIu64 " bytes",
	       regs_sp(&now->regs), regs_fp(&now->regs), (u64)now->stack_size);
	if (unreadable)
		printf(", libdw wants %" PRIx64, unreadable);
	puts("");
	for (i = 0; i < most && i < 40; i++) {
		ours = i < now->nr ? describe(dwfl, now->chain[i]) : strdup("-");
		theirs = i < nr_found ? describe(dwfl, found[i]) : strdup("-");
		printf("      %s %-60s %s\n",
		       i < now->nr && i < nr_found && now->chain[i] == found[i] ? " " : "*",
		       ours, theirs);
		free(ours);
		free(theirs);
	}
}

static void count(Dwfl *dwfl, enum outcome outcome, u64 last)
{
	struct entry *entry;
	char *where;

	outcomes[outcome]++;
	if (outcome < OUTCOME_UNJUDGED)
		return;
	where = describe(dwfl, last);
	for (entry = entries; entry; entry = entry->next)
		if (entry->outcome == outcome && !strcmp(entry->where, where))
			break;
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			err(2, "entry");
		*entry = (struct entry){ entries, outcome, strdup(where), 0 };
		entries = entry;
		printf("    %s: %s\n", outcome_names[outcome], where);
		print_example(dwfl);
	}
	entry->count++;
	free(where);
}

static bool covers(Dwarf_CFI *cfi, Dwarf_Addr pc)
{
	Dwarf_Frame *frame = NULL;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc, &frame))
		return false;
	free(frame);
	return true;
}

/*
 * Without call frame information libdw follows the frame pointer. Of the programs that are built
 * for a test, .debug_frame counts, too: Go has nothing else. To look for others takes long.
 */
static bool has_cfi(Dwfl *dwfl, u64 pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;

	if (covers(cfi, pc - bias))
		return true;
	if (!mod || strncmp(dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL), SHARED,
			    strlen(SHARED)))
		return false;
	cfi = dwfl_module_dwarf_cfi(mod, &bias);
	return covers(cfi, pc - bias);
}

/* Forgets the frames that libdw has only guessed. Returns whether there are some. */
static bool forget_guesses(Dwfl *dwfl)
{
	u32 i;

	for (i = 0; i < nr_found; i++)
		if (!has_cfi(dwfl, found[i] - !found_activation[i])) {
			nr_found = i + 1;
			return true;
		}
	return false;
}

/* How many frames agree? */
static u64 nr_equal(void)
{
	u64 i;

	for (i = 0; i < now->nr && i < nr_found && now->chain[i] == found[i]; i++)
		;
	return i;
}

/*
 * After a register is popped, .eh_frame still names the word below the stack pointer that held it.
 * The copy begins at the stack pointer, so libdw does not know the register, and ends at a frame
 * that needs it.
 */
static enum outcome compare(bool is_whole, u64 equal)
{
	if (equal < now->nr && equal < nr_found)
		return OUTCOME_DIFFERENT;
	if (equal == now->nr && equal == nr_found && is_whole)
		return OUTCOME_EXACT;
	if (equal < nr_found)
		return OUTCOME_SHORT;
	if (is_whole && !unreadable)
		return OUTCOME_LONG;
	return needs_more ? OUTCOME_COPY : OUTCOME_UNJUDGED;
}

/* A frame: whose it is, the address, its file and offset there, and the symbol. */
static void list_frame(struct space *space, char whose, u64 addr, bool is_activation)
{
	Dwfl_Module *mod = dwfl_addrmodule(space->dwfl, addr - !is_activation);
	const char *symbol = mod ? dwfl_module_addrname(mod, addr - !is_activation) : NULL;
	const struct mapping *mapping = space->maps;

	while (mapping && addr - mapping->start >= mapping->size)
		mapping = mapping->next;
	printf("%c %" PRIx64 " %" PRIx64 " %s %s\n", whose, addr,
	       mapping ? addr - mapping->start + mapping->off : 0,
	       mapping ? mapping->name : "-", symbol ?: "?");
}

/*
 * The chain of the kernel has frames "k". Those of libdw are "d" as long as call frame information
 * finds the caller, "g" afterwards.
 */
static void list(struct space *space, const struct sample *sample, bool is_whole)
{
	bool is_guessed = false;
	u64 i;

	printf("sample %u %u %s\n", sample->pid, sample->tid,
	       is_whole && !unreadable ? "whole" : needs_more ? "cut" : "ended");
	for (i = 0; i < sample->nr; i++)
		list_frame(space, 'k', sample->chain[i], !i);
	for (i = 0; i < nr_found; i++) {
		list_frame(space, is_guessed ? 'g' : 'd', found[i], found_activation[i]);
		is_guessed |= !has_cfi(space->dwfl, found[i] - !found_activation[i]);
	}
}

static void judge(const struct sample *sample)
{
	struct space *space = &spaces[sample->pid % MAX_PIDS];
	Dwfl *dwfl = dwfl_of(space);
	bool is_whole;
	u64 equal;

	now = sample;
	nr_found = 0;
	needs_more = false;
	unreadable = 0;
	if (!dwfl || !sample->has_regs || !sample->nr) {
		nr_without++;
		return;
	}
	/* libdw takes a return address that it cannot read for an undefined one. */
	is_whole = !dwfl_getthread_frames(dwfl, 1, add_frame, NULL) && !needs_more;
	if (is_listing) {
		list(space, sample, is_whole);
		return;
	}
	if (forget_guesses(dwfl))
		is_whole = false;
	equal = nr_equal();
	count(dwfl, compare(is_whole, equal), equal ? sample->chain[equal - 1] : sample->regs.ip);
}

static void handle(const struct record *record)
{
	const struct map_record *map = &record->map;

	switch (record->kind) {
	case RECORD_SAMPLE:
		judge(&record->sample);
		break;
	case RECORD_MAP:
		add_map(&spaces[map->pid % MAX_PIDS], map->start, map->size, map->off,
			map->is_code, map->name);
		break;
	case RECORD_FORK:
		fork_space(&spaces[record->child % MAX_PIDS], &spaces[record->pid % MAX_PIDS]);
		break;
	case RECORD_EXEC:
		forget_maps(&spaces[record->pid % MAX_PIDS]);
		break;
	case RECORD_LOST:
		nr_lost += record->lost;
		break;
	case RECORD_OTHER:
		break;
	}
}

/* ---- the result ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *one = *(struct entry *const *)a, *other = *(struct entry *const *)b;

	if (one->outcome != other->outcome)
		return one->outcome < other->outcome ? 1 : -1;
	return one->count < other->count ? 1 : -1;
}

static void print_entries(void)
{
	struct entry *entry, **sorted;
	u64 i, nr = 0;

	for (entry = entries; entry; entry = entry->next)
		nr++;
	sorted = calloc(nr + 1, sizeof(*sorted));
	nr = 0;
	for (entry = entries; entry; entry = entry->next)
		sorted[nr++] = entry;
	qsort(sorted, nr, sizeof(*sorted), compare_entries);
	for (i = 0; i < nr; i++)
		printf("  %-8" PRIu64 " %s: %s\n", sorted[i]->count,
		       outcome_names[sorted[i]->outcome], sorted[i]->where);
	free(sorted);
}

/* What libdw cannot judge does not count. */
static int print_result(void)
{
	u64 good = outcomes[OUTCOME_EXACT] + outcomes[OUTCOME_COPY];
	u64 wrong = outcomes[OUTCOME_LONG] + outcomes[OUTCOME_DIFFERENT];
	u64 judged = good + wrong + outcomes[OUTCOME_SHORT];
	int i;

	print_entries();
	for (i = 0; i < NR_OUTCOMES; i++)
		printf("%s %" PRIu64 ", ", outcome_names[i], outcomes[i]);
	printf("without registers or mappings %" PRIu64, nr_without);
	printf(", lost %" PRIu64 "\n", nr_lost);
	printf("live: %" PRIu64 " samples judged, %.3f %% exact, %" PRIu64 " wrong\n", judged,
	       judged ? 100.0 * good / judged : 0, wrong);
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct record record;
	FILE *file;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		is_listing = true;
		argv++, argc--;
	}
	if (argc != 4)
		return fputs(usage, stderr), 2;
	root = argv[1];
	shared = argv[2];
	file = fopen(argv[3], "re");
	if (!file)
		err(2, "%s", argv[3]);
	while (record_read(file, &record))
		handle(&record);
	return is_listing ? 0 : print_result();
}
