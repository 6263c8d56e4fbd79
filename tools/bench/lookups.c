// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures look-ups in the compiled table of a program or library, beside others on the same
 * addresses. It is a library that the loader loads beside the file, because libgcc finds only what
 * the loader has loaded:
 *
 *	LOOKUPS_TABLE=TABLE LOOKUPS_LIBSFRAME=LIBRARY \
 *		ld-linux-x86-64.so.2 --preload ./lookups.so FILE
 *
 * TABLE is what sframectl convert has made of FILE. The file itself does not run. Prints the
 * functions, the microseconds in which one of them is compiled, and for each way the nanoseconds
 * and the instructions of a look-up. Times are of the processor: the least of NR_RUNS.
 *
 * compiled	finds the row, and reads its CFA
 * libsframe	the same, in the section of the table
 * libgcc	finds the entry of .eh_frame. To find the row it would have to run its instructions
 */
#include <dlfcn.h>
#include <err.h>
#include <float.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "host_table.h"
#include "object.h"

#define NR_ADDRESSES	8192
#define NR_STEPPED	64	/* of them; single steps take long */
#define NR_RUNS		15

static struct {
	u64	addr;
	s64	cfa;	/* offset of the CFA */
} addresses[NR_ADDRESSES];

static struct object obj;
static struct buffer_reader buf;
static struct sframe_header hdr;
static struct host_table res;
static u64 load_addr;

static u64 next_random(void)
{
	static u64 state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 32;
}

/* ---- the ways ---- */

static bool find_compiled(u64 addr, s64 cfa)
{
	u32 nr = sframe_compiled_find(&res.compiled, addr);

	return nr && res.compiled.rows[nr].cfa.off == cfa;
}

/* As sframe-api.h of binutils 2.46 has them; that header would have to be of the same version. */
static int (*find_fre)(void *ctx, int64_t pc, void *row);
static int32_t (*get_cfa)(void *ctx, void *row, uint32_t fde_type, int *error);
static void *libsframe;

static bool find_libsframe(u64 addr, s64 cfa)
{
	char row[256];	/* more than any version has */
	int error;

	return !find_fre(libsframe, addr - hdr.addr, row) &&
	       get_cfa(libsframe, row, 0, &error) == cfa;
}

static const void *(*find_fde)(void *pc, void *bases);

static bool find_libgcc(u64 addr, s64 cfa)
{
	struct { void *text, *data, *func; } bases;
	u64 pc = addr + load_addr;

	(void)cfa;
	return find_fde((void *)pc, &bases) && (u64)bases.func <= pc;
}

static void *symbol(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void *found = handle ? dlsym(handle, name) : NULL;

	if (!found)
		errx(1, "%s", dlerror());
	return found;
}

/*
 * At a random address of a random function; libsframe must be able to report the CFA, and libgcc to
 * find the function. It knows none whose rows come of its instructions.
 */
static void choose_addresses(void)
{
	struct sframe_fde fde;
	struct sframe_row row;
	u64 addr;
	int nr = 0;

	while (nr < NR_ADDRESSES) {
		buffer_reader_refill(&buf);
		if (sframe_get_fde(&hdr, &buf.rd, next_random() % hdr.num_fdes, &fde))
			errx(1, "cannot read a function");
		if (!fde.size || fde.pcmask || fde.flex || fde.signal)
			continue;
		addr = fde.start + next_random() % fde.size;
		if (sframe_find_row(&hdr, &buf.rd, addr, &row) || row.outermost ||
		    !find_libgcc(addr, 0))
			continue;
		addresses[nr].addr = addr;
		addresses[nr++].cfa = row.cfa.off;
	}
}

static void open_peers(const char *library)
{
	void *(*decode)(const char *bytes, size_t len, int *error);
	int error;

	find_fde = symbol("libgcc_s.so.1", "_Unwind_Find_FDE");
	decode = symbol(library, "sframe_decode");
	find_fre = symbol(library, "sframe_find_fre");
	get_cfa = symbol(library, "sframe_fre_get_cfa_offset");
	libsframe = decode((const char *)obj.data, obj.size, &error);
	if (!libsframe)
		errx(1, "libsframe: error %d", error);
}

/* ---- measuring ---- */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static __always_inline void find_all(bool (*find)(u64 addr, s64 cfa), int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!find(addresses[i].addr, addresses[i].cfa))
			errx(1, "%" PRIx64 ": another row", (uint64_t)addresses[i].addr);
}

static void all_compiled(int nr) { find_all(find_compiled, nr); }
static void all_libsframe(int nr) { find_all(find_libsframe, nr); }
static void all_libgcc(int nr) { find_all(find_libgcc, nr); }

/* Steps through look-ups in a child, from its first stop to the second. */
static double count_instructions(void (*all)(int nr))
{
	pid_t child = fork();
	u64 steps = 0;
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		all(NR_STEPPED);
		raise(SIGSTOP);
		_exit(0);
	}
	for (waitpid(child, &status, 0);; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) || waitpid(child, &status, 0) != child ||
		    !WIFSTOPPED(status))
			errx(1, "the child cannot be stepped");
		if (WSTOPSIG(status) == SIGSTOP)
			break;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return (double)steps / NR_STEPPED;
}

static void measure(const char *name, void (*all)(int nr))
{
	double least = DBL_MAX, began;
	int i;

	for (i = 0; i < NR_RUNS; i++) {
		began = now();
		all(NR_ADDRESSES);
		least = min_t(double, least, now() - began);
	}
	printf(" %s %.1f %.0f", name, least / NR_ADDRESSES, count_instructions(all));
}

/* Returns the microseconds of a function. */
static double compile(void)
{
	double least = DBL_MAX, began;
	int i;

	for (i = 0; i < NR_RUNS; i++) {
		host_table_free(&res);
		began = now();
		host_table_init(&res, &hdr, obj.data, obj.size);
		least = min_t(double, least, now() - began);
		if (!res.is_accepted)
			errx(1, "the module does not accept the table");
	}
	return least / 1000 / hdr.num_fdes;
}

/* The first that is loaded is the file. */
static int take_load_addr(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	load_addr = info->dlpi_addr;
	return 1;
}

static void __attribute__((__constructor__)) look_up(void)
{
	const char *table = getenv("LOOKUPS_TABLE"), *library = getenv("LOOKUPS_LIBSFRAME"), *error;

	if (!table || !library)
		errx(2, "LOOKUPS_TABLE and LOOKUPS_LIBSFRAME are not set");
	error = object_open(&obj, table);
	if (error || !obj.place)
		errx(1, "%s", error ?: "no .sframe");
	buffer_reader_init(&buf, obj.data, obj.addr, obj.size);
	if (sframe_header_read(&hdr, &buf.rd, obj.addr, obj.size))
		errx(1, "the section's header is malformed");
	dl_iterate_phdr(take_load_addr, NULL);
	open_peers(library);
	choose_addresses();
	printf("functions %u compile %.2f", hdr.num_fdes, compile());
	measure("compiled", all_compiled);
	measure("libsframe", all_libsframe);
	measure("libgcc", all_libgcc);
	puts("");
	fflush(stdout);
	_exit(0);
}
