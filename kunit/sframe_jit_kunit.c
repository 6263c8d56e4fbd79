// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of sframe_jit.c: tables for code that one process makes. */
#include <uapi/sframe_unwind.h>

#include "scan_scene.h"
#include "table/table.h"
#include "sframe_stats.h"
#include "table/wanted.h"

/*
 * A script has the steps of scan_scene.h, and these. Code is on N pages from page P on.
 *
 *	load P N OFF		loads a table: the CFA is SP + OFF everywhere
 *	repeat P N		loads a table with 8 bytes of entries for each 16 bytes of code
 *	refuse P N ERR		such a table is refused with this error, and with a text
 *	loads P N		loads a table for each page
 *	remove P N, keep P N ERR	removes the tables of the code; fails to
 *	row P OFF		a walk finds OFF at page P; 0: no row
 *	tables N, soon 1	all processes have so many tables, or one after RCU callbacks
 */

static void reset_limit(void *unused)
{
	sfu_table_memory = 0;
}

static u64 cookie_of(struct mm_struct *mm)
{
	struct sfu_process *process = process_of(mm);

	return process ? process->number : 0;
}

static struct sframe_process command(struct kunit *test, unsigned int nr, unsigned int nr_pages)
{
	return (struct sframe_process){
		.size = sizeof(struct sframe_process),
		.pid = task_tgid_vnr(current),
		.cookie = cookie_of(current->mm),
		.text_start = page(test, nr),
		.text_size = nr_pages * PAGE_SIZE,
		.section_addr = page(test, nr),
	};
}

/* As the device does for user space. The process is a kernel thread with memory of a process. */
static int give_command(const struct sframe_process *load, const void *bytes, u32 len)
{
	struct sfu_table_source source = { .len = len };
	int err;

	if (len) {
		source.bytes = kvmalloc(len, GFP_KERNEL);
		if (!source.bytes)
			return -ENOMEM;
		memcpy(source.bytes, bytes, len);
	}
	current->flags &= ~PF_KTHREAD;
	err = sfu_jit_load(load, &source);
	current->flags |= PF_KTHREAD;
	kvfree(source.bytes);
	return err;
}

/* A section whose one function has this size, and begins where the section is. */
static struct build *section_of(struct kunit *test, u32 size, s32 off)
{
	struct build *b = test_alloc(test, sizeof(*b));

	build_start(b, SFRAME_VERSION_3, BOTH, SFU_ARCH_ABI);
	if (off) {
		build_fde(b, 0, size, ADDR1, 0, 0);
		build_row(b, 0, 0x03, off);
	} else {
		build_fde(b, 0, size, 0x10, 0, 16);
		build_row(b, 0, 0x03, 16);
		build_row(b, 8, 0x03, 32);
	}
	build_finish(b);
	return b;
}

static int load(struct kunit *test, unsigned int nr, unsigned int nr_pages, s32 off)
{
	struct build *b = section_of(test, nr_pages * PAGE_SIZE, off);
	const struct sframe_process load = command(test, nr, nr_pages);

	return give_command(&load, b->bytes, b->len);
}

static int remove_tables(struct kunit *test, unsigned int nr, unsigned int nr_pages)
{
	const struct sframe_process load = command(test, nr, nr_pages);

	return give_command(&load, NULL, 0);
}

static s32 offset_at(struct kunit *test, unsigned int nr)
{
	char row[SECTION_ROW_TEXT];
	s32 off;

	row_text(false, page(test, nr), row);
	return sscanf(row, "sp+%d", &off) == 1 ? off : 0;
}

static long nr_tables(void)
{
	return atomic_long_read(&sfu_held.process_tables);
}

static bool has_one_table(void)
{
	return nr_tables() == 1;
}

static bool run_jit_step(struct kunit *test, const char *step)
{
	unsigned int nr = 0, nr_pages = 0;
	s32 off = 0;

	if (sscanf(step, "load %u %u %d", &nr, &nr_pages, &off) == 3)
		KUNIT_EXPECT_EQ_MSG(test, 0, load(test, nr, nr_pages, off), "%s", step);
	else if (sscanf(step, "repeat %u %u", &nr, &nr_pages) == 2)
		KUNIT_EXPECT_EQ_MSG(test, 0, load(test, nr, nr_pages, 0), "%s", step);
	else if (sscanf(step, "refuse %u %u %d", &nr, &nr_pages, &off) == 3)
		KUNIT_EXPECT_EQ_MSG(test, -off, load(test, nr, nr_pages, 0), "%s", step);
	else if (sscanf(step, "loads %u %u", &nr, &nr_pages) == 2)
		for (; nr_pages--; nr++)
			KUNIT_EXPECT_EQ(test, 0, load(test, nr, 1, 16));
	else if (sscanf(step, "keep %u %u %d", &nr, &nr_pages, &off) == 3)
		KUNIT_EXPECT_EQ_MSG(test, -off, remove_tables(test, nr, nr_pages), "%s", step);
	else if (sscanf(step, "remove %u %u", &nr, &nr_pages) == 2)
		KUNIT_EXPECT_EQ_MSG(test, 0, remove_tables(test, nr, nr_pages), "%s", step);
	else if (sscanf(step, "row %u %d", &nr, &off) == 2)
		KUNIT_EXPECT_EQ_MSG(test, off, offset_at(test, nr), "%s", step);
	else if (!strcmp(step, "soon 1"))
		KUNIT_EXPECT_TRUE(test, comes_true(has_one_table));
	else if (sscanf(step, "tables %u", &nr) == 1)
		KUNIT_EXPECT_EQ_MSG(test, nr, nr_tables(), "%s", step);
	else
		return false;
	return true;
}

static int jit_scene_init(struct kunit *test)
{
	scan_scene_begin(test, run_jit_step);
	return kunit_add_action_or_reset(test, reset_limit, NULL);
}

#define TABLE	"1-3 ready of process"
#define LOADED	"anon 1 2 rx; scan 1-3 none; load 1 2 16; map 1-3 none; scan " TABLE ";"

#define WITH_CODE(process)	"process " #process "; anon 0 60 rx; scan 0-60 none;"

/* ESTALE is 116, EEXIST 17, ENOSPC 28, ESRCH 3. */
static const struct script_case script_cases[] = {
	{ "loaded", LOADED "row 1 16; row 2 16; row 3 0; tables 1; scan " TABLE },
	{ "replaced", LOADED "load 1 2 32; tables 1; scan " TABLE "; row 1 32; row 2 32" },
	{ "replaced by a smaller one",
	  LOADED "load 2 1 32; tables 1; scan " TABLE "; row 1 0; row 2 32" },
	{ "removed", LOADED "remove 2 1; tables 0; scan 1-3 none; row 1 0" },
	{ "only another one removed", LOADED "remove 3 1; remove 0 1; tables 1; row 1 16" },
	{ "of one of two mappings",
	  LOADED "anon 5 1 rx; load 5 1 24; scan " TABLE ", 5-6 ready of process; load 5 1 40;"
	  "tables 2; scan " TABLE ", 5-6 ready of process; row 1 16; row 5 40" },
	{ "of two mappings",
	  "anon 1 1 rx; anon 2 1 rwx; scan 1-2 none, 2-3 none; load 1 2 16;"
	  "scan 1-2 ready of process, 2-3 ready of process; row 1 16; row 2 16; tables 1" },
	{ "the newest of a mapping",
	  "anon 1 2 rx; scan 1-3 none; load 1 1 16; load 2 1 24; tables 2;"
	  "scan " TABLE "; row 1 0; row 2 24" },
	{ "before the scan", "scan nothing; anon 1 2 rx; load 1 2 16; scan " TABLE "; row 1 16" },
	/* munmap() ends the table, and other code gets none. */
	{ "unmapped", LOADED "unmap 1 2; map 1-3 unmapped; scan nothing; tables 0" },
	{ "unmapped and mapped",
	  LOADED "unmap 1 2; anon 1 2 rx; row 1 0; scan 1-3 none; tables 0" },
	{ "unmapped before the scan",
	  "anon 1 2 rx; scan 1-3 none; load 1 2 16; unmap 1 2; anon 1 2 rx; scan 1-3 none;"
	  "tables 0" },
	{ "unmapped in part",
	  LOADED "unmap 2 1; anon 2 1 rx; row 1 0; row 2 0; scan 1-3 none; tables 0" },
	{ "the second of two mappings unmapped",
	  "anon 1 1 rx; anon 2 1 rwx; scan 1-2 none, 2-3 none; load 1 2 16;"
	  "scan 1-2 ready of process, 2-3 ready of process; unmap 2 1; anon 2 1 rwx;"
	  "scan 1-2 none, 2-3 none; tables 0" },
	{ "mapped over", LOADED "anon 2 1 rwx; row 1 0; scan 1-2 none, 2-3 none; tables 0" },
	{ "moved", LOADED "move 1 2 5; row 1 0; scan 5-7 none; tables 0" },
	{ "loaded again",
	  LOADED "unmap 1 2; anon 1 2 rx; load 1 2 32; scan " TABLE "; row 1 32; tables 1" },
	/* Code that grows, or may be written for a moment, keeps its table. */
	{ "grown", LOADED "anon 3 1 rx; scan 1-4 ready of process; row 2 16; row 3 0; tables 1" },
	{ "other memory unmapped", LOADED "anon 5 1 rx; unmap 5 1; scan " TABLE "; tables 1" },
	{ "written",
	  LOADED "protect 1 2 rw; scan nothing; protect 1 2 rx; scan " TABLE "; row 1 16" },
	/* Code that a file describes needs no table. */
	{ "file with a section", SCANNED "refuse 1 2 17; tables 0; scan " SAME },
	{ "file without data",
	  "other 0; scan 1-3 none; load 1 2 24; scan " TABLE "; scan " TABLE ";"
	  "row 1 24; unmap 1 2; scan nothing; tables 0" },
	{ "beside a file",
	  SCANNED "anon 0 1 rx; refuse 0 2 17; load 0 1 16; scan 0-1 ready of process, " SAME },
	{ "not mapped", "scan nothing; refuse 1 2 116; tables 0" },
	{ "mapped in part",
	  "scan nothing; anon 2 1 rx; refuse 1 2 116; refuse 2 2 116; load 2 1 16; tables 1" },
	{ "not executable", "anon 1 2 rw; scan nothing; refuse 1 2 116; tables 0" },
	{ "executable in part",
	  "anon 1 1 rx; anon 2 1 r; anon 3 1 rx; scan 1-2 none, 3-4 none; refuse 1 3 116" },
	{ "not replaced", LOADED "anon 3 1 r; refuse 1 3 116; tables 1; scan " TABLE "; row 1 16" },
	{ "not known", "anon 1 2 rx; refuse 1 2 3" },
	/* Tasks of the process may hold the locks for ever. EAGAIN is 11. */
	{ "waits for nobody",
	  "anon 1 2 rx; scan 1-3 none; begin-scan; refuse 1 2 11; keep 1 2 11; end-scan; lock;"
	  "refuse 1 2 11; unlock; tables 0; load 1 2 16; tables 1" },
	{ "64 tables",
	  "anon 0 128 rx; scan 0-128 none; loads 0 64; refuse 64 1 28; tables 64; load 63 1 24;"
	  "tables 64; load 62 3 24; tables 63; load 65 1 24; refuse 66 1 28; remove 0 128;"
	  "tables 0" },
	/* An eighth of 1 MiB is 128 KiB. 60 pages take 120 KiB, and 4 pages 8 KiB. */
	{ "memory of a process",
	  "memory 1; anon 0 128 rx; scan 0-128 none; refuse 0 65 28; tables 0; repeat 0 60;"
	  "refuse 64 4 28; tables 1; repeat 64 2; tables 2; repeat 0 60; tables 2; memory 2;"
	  "repeat 64 4; tables 2" },
	/* The tables of users take half of the memory, whoever loads them: 4 times 120 KiB. */
	{ "memory of users",
	  "memory 1; uid 1000; " WITH_CODE(1) "repeat 0 60; " WITH_CODE(2) "repeat 0 60;"
	  WITH_CODE(3) "repeat 0 60; " WITH_CODE(4) "repeat 0 60; " WITH_CODE(5)
	  "refuse 0 30 28; uid 0; repeat 0 30" },
	{ "of two processes",
	  LOADED "process 1; anon 1 2 rx; scan 1-3 none; row 1 0; load 1 2 40; scan " TABLE ";"
	  "row 1 40; tables 2; process 0; scan " TABLE "; row 1 16; process 1; unmap 1 2;"
	  "process 0; scan " TABLE "; row 1 16; end 1; soon 1" },
};

NAMED_CASES(script);

static const struct refused_case {
	const char		*name;
	struct sframe_process	add;
	int			err;
} refused_cases[] = {
	{ "nothing", { 0 }, 0 },
	{ "a flag", { .flags = 1 }, -EINVAL },
	{ "code that does not begin a page", { .text_start = 1 }, -EINVAL },
	{ "a part of a page", { .text_size = 1 }, -EINVAL },
	{ "no code", { .text_size = -2 * PAGE_SIZE }, -EINVAL },
	{ "code in the kernel", { .text_start = BIT_ULL(63) }, -EINVAL },
	{ "code up to the kernel", { .text_size = BIT_ULL(62) }, -EINVAL },
	{ "code around all memory", { .text_size = -4 * PAGE_SIZE }, -EINVAL },
	{ "a section in the kernel", { .section_addr = BIT_ULL(62) }, -EINVAL },
	{ "another memory", { .cookie = 1 }, -ESRCH },
	{ "no process", { .pid = 1 << 29 }, -ESRCH },
	{ "a function below the code", { .section_addr = -1 }, -EBADMSG },
	{ "a function above the code", { .section_addr = 1 }, -EBADMSG },
	{ "a function outside of the code", { .section_addr = 2 * PAGE_SIZE }, -EBADMSG },
};

NAMED_CASES(refused);

static void jit_refused(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	const struct build *b = section_of(test, 2 * PAGE_SIZE, 16);
	struct sframe_process load;

	run_steps(test, "anon 1 2 rx; scan 1-3 none");
	load = command(test, 1, 2);
	load.pid += c->add.pid;
	load.cookie += c->add.cookie;
	load.text_start += c->add.text_start;
	load.text_size += c->add.text_size;
	load.section_addr += c->add.section_addr;
	load.flags += c->add.flags;
	KUNIT_EXPECT_EQ(test, c->err, give_command(&load, b->bytes, b->len));
	KUNIT_EXPECT_EQ(test, !c->err, nr_tables());
}

/* The loader of all tables checks the section, here one that is cut at each byte. */
static void jit_bad_section(struct kunit *test)
{
	struct build *b = section_of(test, 2 * PAGE_SIZE, 16);
	struct sframe_process load;
	u32 at;

	run_steps(test, "anon 1 2 rx; scan 1-3 none");
	load = command(test, 1, 2);
	for (at = 1; at < b->len; at++)
		KUNIT_EXPECT_EQ_MSG(test, -EBADMSG, give_command(&load, b->bytes, at), "%u", at);
	KUNIT_EXPECT_EQ(test, 0, nr_tables());
}

/* Whoever has got the device from root does not get the rights of root. */
static void jit_without_capability(struct kunit *test)
{
	struct cred *cred = prepare_creds();
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_SYS_PTRACE);
	before = override_creds(cred);
	run_steps(test, "anon 1 2 rx; scan 1-3 none; refuse 1 2 1");
	revert_creds(before);
	put_cred(cred);
	run_steps(test, "load 1 2 16");
}

static bool has_no_table(void)
{
	return !nr_tables() && !atomic_long_read(&sfu_held.tables);
}

/* The end of a process, or execve() in it, is the end of its memory. */
static void jit_ends_with_process(struct kunit *test)
{
	struct sframe_process old;

	run_steps(test, LOADED);
	old = command(test, 1, 2);
	sfu_processes_end(current->mm);
	KUNIT_EXPECT_TRUE(test, comes_true(has_no_table));
	/* The same addresses, in another memory of the same process. */
	run_steps(test, "scan 1-3 none");
	KUNIT_EXPECT_NE(test, old.cookie, cookie_of(current->mm));
	KUNIT_EXPECT_EQ(test, -ESRCH, give_command(&old, NULL, 0));
	run_steps(test, "load 1 2 24; scan " TABLE "; row 1 24");
}

/* A child has the map of its parent until its first scan, and the code of that map. */
static void jit_of_child(struct kunit *test)
{
	struct sfu_process *process;
	struct sfu_map *map;

	run_steps(test, LOADED);
	map = map_of(current->mm);
	run_steps(test, "process 1; anon 1 2 rx");
	process = sfu_processes_add(current->mm, map);
	KUNIT_ASSERT_NOT_NULL(test, process);
	process->inherited.map = map;
	process->inherited.matches = true;
	run_steps(test, "map " TABLE "; row 1 16; scan 1-3 none; row 1 0; tables 1; process 0;"
		  "scan " TABLE "; row 1 16");
}

static bool must_ask(struct kunit *test, unsigned int nr)
{
	return sfu_jit_must_ask(process_of(current->mm), map_now(), page(test, nr));
}

/* A sample needs a table at this page, a second after the last one did. */
static void ask(struct kunit *test, unsigned int nr)
{
	process_of(current->mm)->jit.ask_at = jiffies;
	KUNIT_EXPECT_TRUE(test, must_ask(test, nr));
	run_steps(test, "scan 1-3 none");
}

/* What a reader gets: the address of code of current, or 0. */
static unsigned long taken_addr(struct kunit *test, struct sfu_wanted_reader *reader)
{
	struct sfu_wanted_file taken = {};

	if (!sfu_wanted_take(reader, &taken))
		return 0;
	KUNIT_EXPECT_NULL(test, taken.file);
	KUNIT_EXPECT_EQ(test, taken.pid, task_tgid_vnr(current));
	KUNIT_EXPECT_EQ(test, taken.id.ino, cookie_of(current->mm));
	return taken.addr;
}

static void jit_asks(struct kunit *test)
{
	struct sfu_wanted_reader reader;
	struct sfu_process *process;

	run_steps(test, "image 8; anon 1 2 rx; scan 1-3 none, 9-11 ready by 11");
	process = process_of(current->mm);
	/* Not for code with a section, and not for what is no code. */
	KUNIT_EXPECT_FALSE(test, must_ask(test, 9));
	KUNIT_EXPECT_FALSE(test, must_ask(test, 20));
	run_steps(test, "unmap 8 5; scan 1-3 none");
	sfu_wanted_open(&reader);
	KUNIT_EXPECT_EQ(test, 0, taken_addr(test, &reader));
	ask(test, 2);
	KUNIT_EXPECT_EQ(test, page(test, 2), taken_addr(test, &reader));
	KUNIT_EXPECT_EQ(test, 0, taken_addr(test, &reader));
	/* Once in a second, */
	process->jit.ask_at = jiffies + HZ;
	KUNIT_EXPECT_FALSE(test, must_ask(test, 1));
	/* and not before the reader has answered. */
	ask(test, 1);
	KUNIT_EXPECT_EQ(test, 0, taken_addr(test, &reader));
	KUNIT_EXPECT_TRUE(test, time_after(process->jit.ask_at, jiffies));
	run_steps(test, "remove 0 0");
	ask(test, 1);
	KUNIT_EXPECT_EQ(test, page(test, 1), taken_addr(test, &reader));
	/* Another reader gets what the last one has not answered. */
	sfu_wanted_close(&reader);
	sfu_wanted_open(&reader);
	ask(test, 1);
	KUNIT_EXPECT_EQ(test, page(test, 1), taken_addr(test, &reader));
	sfu_wanted_close(&reader);
}

static struct kunit_case jit_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE_PARAM(jit_refused, refused_gen_params),
	KUNIT_CASE(jit_bad_section),
	KUNIT_CASE(jit_without_capability),
	KUNIT_CASE(jit_ends_with_process),
	KUNIT_CASE(jit_of_child),
	KUNIT_CASE(jit_asks),
	{}
};

static struct kunit_suite jit_suite = {
	.name = "sframe_jit", .init = jit_scene_init, .test_cases = jit_tests,
};

kunit_test_suite(jit_suite);
