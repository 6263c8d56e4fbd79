// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of sframe_wanted.c: processes ask for files, and readers get them. */
#include <linux/user_namespace.h>

#include "scan_scene.h"
#include "table/table.h"
#include "table/wanted.h"

/* The reader looks into the process that has mapped the file: here into the test's own. */
static bool take(struct sfu_wanted_reader *r, struct sfu_wanted_file *taken)
{
	bool is_taken;

	current->flags &= ~PF_KTHREAD;
	while (!(is_taken = sfu_wanted_take(r, taken)) && !sfu_wanted_is_empty())
		;
	current->flags |= PF_KTHREAD;
	return is_taken;
}

static struct file *image_file(struct kunit *test)
{
	return scene_of(test)->image.file;
}

/* A scan of current has found no table for the code of the image. */
static void want(struct kunit *test)
{
	sfu_wanted_add(image_file(test), page(test, 1));
}

static void expect_taken(struct kunit *test, struct sfu_wanted_reader *r)
{
	struct sfu_wanted_file taken = {};

	KUNIT_EXPECT_FALSE(test, sfu_wanted_is_empty());
	KUNIT_ASSERT_TRUE(test, take(r, &taken));
	KUNIT_EXPECT_PTR_EQ(test, taken.file, image_file(test));
	KUNIT_EXPECT_EQ(test, taken.id.ino, file_inode(image_file(test))->i_ino);
	KUNIT_EXPECT_EQ(test, taken.pid, task_tgid_vnr(current));
	fput(taken.file);
}

static void expect_none(struct kunit *test, struct sfu_wanted_reader *r)
{
	struct sfu_wanted_file taken;

	KUNIT_EXPECT_FALSE(test, take(r, &taken));
	KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
}

/* Has the module asked processes to be scanned again since the last call? */
static bool has_asked(void)
{
	static int then;
	bool has_changed = then != atomic_read(&sfu_table_generation);

	then = atomic_read(&sfu_table_generation);
	return has_changed;
}

/*
 * User 1000 has made namespace 1, and in it namespace 2. Root has made 3 and 4 of containers, and 5
 * of a service, with the UIDs that it has anyway.
 */
#define OF_ROOT(start, nr)						\
	{ .parent = &init_user_ns,					\
	  .uid_map = { .nr_extents = 1, .extent[0] = { .lower_first = (start), .count = (nr) } } }

static struct user_namespace namespaces[] = {
	[1] = { .parent = &init_user_ns, .owner = KUIDT_INIT(1000) },
	[2] = { .parent = &namespaces[1], .owner = KUIDT_INIT(100000) },
	[3] = OF_ROOT(100000, 65536), [4] = OF_ROOT(165536, 65536), [5] = OF_ROOT(0, UINT_MAX),
};

static struct {
	struct sfu_wanted_reader	readers[2];
	bool				is_open[2];
	struct user_namespace		*ns;
	unsigned int			uid;
} state;

static void close_reader(unsigned int i)
{
	if (state.is_open[i])
		sfu_wanted_close(&state.readers[i]);
	state.is_open[i] = false;
}

static void close_readers(void *unused)
{
	close_reader(0);
	close_reader(1);
}

static void want_number(struct kunit *test, unsigned int nr)
{
	struct cred *cred = prepare_creds();
	struct user_namespace *ours;
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	ours = cred->user_ns;
	cred->user_ns = state.ns;
	cred->uid = KUIDT_INIT(state.uid);
	before = override_creds(cred);
	file_inode(image_file(test))->i_generation = nr;
	want(test);
	revert_creds(before);
	cred->user_ns = ours;
	put_cred(cred);
}

static bool is_wanted(void)
{
	return !sfu_wanted_is_empty();
}

/*
 * These are steps of a script, besides those of scan_scene.h. The file is that of the image; the
 * readers are the first and the second (2).
 *
 *	open close open2 close2		a reader opens or closes the device
 *	want [N [M]]			scans found no table for the file with the numbers N to M
 *	number N			the number of the file
 *	in NAMESPACE UID		scans are of this user; 0 is the first namespace
 *	scan				a scan runs
 *	taken [N [M]] taken2 none none2	the reader gets the file with these numbers, or nothing
 *	ended				the reader gets nothing, for the process has ended
 *	answer load back drop		a reader answers, loads that there is no table, or gives
 *					the file back; what was loaded is dropped
 *	too-young			a reader cannot load that there is no table
 *	now device file			the file changes now; is a device; is a file again
 *	ready pause			waits until a reader would get something, or for 100 ms
 *	asked silent			processes were asked to be scanned again, or were not
 *	empty				no reader would get anything
 */
static bool run_wanted_step(struct kunit *test, const char *step)
{
	struct inode *inode = file_inode(image_file(test));
	struct sfu_table_source source = { .inode = inode };
	struct sfu_wanted_file taken;
	unsigned int first = inode->i_generation, last, nr, i;
	char name[16];

	KUNIT_EXPECT_EQ(test, 0, sfu_file_id_get(inode, &source.id));
	nr = sscanf(step, "%15s %u %u", name, &first, &last);
	last = nr < 3 ? first : last;
	i = name[strlen(name) - 1] == '2';
	if (strstarts(name, "open")) {
		sfu_wanted_open(&state.readers[i]);
		state.is_open[i] = true;
	} else if (strstarts(name, "close")) {
		close_reader(i);
	} else if (!strcmp(name, "want")) {
		for (; first <= last; first++)
			want_number(test, first);
	} else if (!strcmp(name, "number")) {
		inode->i_generation = first;
	} else if (!strcmp(name, "in")) {
		state.ns = first ? &namespaces[first] : &init_user_ns;
		state.uid = last;
	} else if (!strcmp(name, "scan")) {
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	} else if (strstarts(name, "taken")) {
		for (; first <= last; first++) {
			inode->i_generation = first;
			expect_taken(test, &state.readers[i]);
		}
	} else if (strstarts(name, "none")) {
		expect_none(test, &state.readers[i]);
	} else if (!strcmp(name, "ended")) {
		/* A kernel thread has no memory of its own, as a process that has ended. */
		KUNIT_EXPECT_FALSE(test, sfu_wanted_take(&state.readers[0], &taken));
	} else if (!strcmp(name, "answer")) {
		sfu_wanted_answer(&source.id);
	} else if (!strcmp(name, "load") || !strcmp(name, "too-young")) {
		KUNIT_EXPECT_EQ(test, *name == 'l' ? 0 : -EAGAIN, sfu_load_table(&source));
	} else if (!strcmp(name, "drop")) {
		KUNIT_EXPECT_EQ(test, 0, sfu_files_drop(inode));
	} else if (!strcmp(name, "back")) {
		sfu_wanted_give_back(&source.id);
	} else if (!strcmp(name, "now")) {
		inode_set_ctime(inode, ktime_get_real_seconds(), 0);
	} else if (!strcmp(name, "device") || !strcmp(name, "file")) {
		inode->i_mode = (*name == 'd' ? S_IFCHR : S_IFREG) | 0600;
	} else if (!strcmp(name, "ready")) {
		KUNIT_EXPECT_TRUE(test, comes_true(is_wanted));
	} else if (!strcmp(name, "pause")) {
		schedule_timeout_uninterruptible(HZ / 10);
	} else if (!strcmp(name, "asked") || !strcmp(name, "silent")) {
		KUNIT_EXPECT_EQ(test, *name == 'a', has_asked());
	} else if (!strcmp(name, "empty")) {
		KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
	} else {
		return false;
	}
	return true;
}

/* The file was written long ago: its table would be accepted. */
static int wanted_scene_init(struct kunit *test)
{
	scan_scene_begin(test, run_wanted_step);
	memset(&state, 0, sizeof(state));
	state.ns = &init_user_ns;
	map_image(test);
	inode_set_ctime(file_inode(image_file(test)), -1000, 0);
	has_asked();
	return kunit_add_action_or_reset(test, close_readers, NULL);
}

/* The lock of the process is held. After MAX_TRIES tries, which is 8, the file is forgotten. */
#define TWO_TRIES	"none; ready; none; ready; "
#define TWO_LOCKS	"lock; none; unlock; ready; lock; none; unlock; ready; "

static const struct script_case script_cases[] = {
	{ "without a reader", "want; empty; open; none" },
	{ "by a scan", "open; scan; taken; none" },
	/* A file that is queued, or that a reader has, is not queued again before an answer. */
	{ "wanted twice", "open; want; want; taken; want; none" },
	{ "answered",
	  "open; want; taken; answer; want; taken; answer; answer; want; answer; none" },
	/* The reader could not be given the file: it lacked memory, or file descriptors. */
	{ "given back", "open; want; taken; back; taken; answer; back; none" },
	/* The second reader gets the files that the first one has not answered. */
	{ "two readers", "open; open2; want; taken; none2; close; taken2; close2; empty" },
	/* Without a reader all is forgotten, and asked for again by the next one. */
	{ "no reader any more",
	  "open; want; close; empty; asked; open; asked; silent; none; want; taken" },
	/* It is wanted again after an answer, as it is then. */
	{ "changed while a reader has it",
	  "open; want; taken; changed -1000 1; want; none; answer; want; taken" },
	{ "changed", "open; want; changed -1000 1; none; want; taken" },
	/* Another process that has mapped the file is to ask for it. */
	{ "unmapped", "open; want; unmap 1 1; asked; none; asked; silent; want; none; asked" },
	{ "replaced", "open; want; other 0; none" },
	/* A load is an answer, also one that says that there is no table. */
	{ "until a load", "open; want; load; none; scan; none; drop" },
	/* To open a device may change its state. */
	{ "a device", "open; device; want; empty; file; want; taken" },
	/* The reader has no table for a file that changes all the time, and does not come again. */
	{ "without a table while it is young",
	  "open; want; taken; now; too-young; changed -1000 2; want; taken" },
	{ "64 have ended, twice", "open; want 1 128; asked; ended; asked; ready; ended; empty" },
	{ "users by turns",
	  "open; in 0 1000; want 0 9; in 0 1001; want 10; taken 0; taken 10; taken 1 9; none" },
	/* In a namespace, a user has as many UIDs as he likes. It is one user. */
	{ "UIDs of a user",
	  "open; in 1 100000; want 0; in 2 100001; want 1; in 1 100002; want 2; in 2 100003;"
	  "want 3; in 0 1001; want 4; taken 0; taken 4; taken 1 3; none" },
	/* The first UID of a container is its root. */
	{ "UIDs of a container",
	  "open; in 3 100000; want 0; in 3 100001; want 1; in 3 100002; want 2; in 4 165536;"
	  "want 3; taken 0; taken 3; taken 1 2; none" },
	/* The last one is not remembered. Files before it are forgotten: they are not mapped. */
	{ "many of a service", "open; in 5 1000; want 0 1024; number 1024; none" },
	/* Those after 4095 are not remembered. A reader has one, so there is room for one less. */
	{ "many", "open; want 0 8191; taken 4095; none; want 8192 12287; none; want; taken" },
	/* A user has a part of the queue, 1024 files, not all. An answered file makes room. */
	{ "many of a user",
	  "open; in 0 1000; want 0 4095; number 1024; none; want 0 4095; in 0 1001; want 4096;"
	  "taken; none; in 0 1000; want 0 1023; taken; none" },
	/* Another file stays first while the lock of one process is held. */
	{ "locked",
	  "open; want; " TWO_LOCKS TWO_LOCKS TWO_LOCKS "lock; none; unlock; ready; taken" },
	/* A process may hold its lock for ever. */
	{ "locked for ever",
	  "open; want; lock; " TWO_TRIES TWO_TRIES TWO_TRIES "none; ready; asked; none; asked;"
	  "unlock; want; taken" },
	/* It waits for its next try when the last reader goes. */
	{ "locked, and no reader any more",
	  "open; want; lock; none; unlock; close; empty; open; pause; none" },
};

NAMED_CASES(script);

/* Its table would be refused now. So the reader gets it when a second has passed. */
static void wanted_young(struct kunit *test)
{
	unsigned long until = jiffies + 60 * HZ;
	struct sfu_wanted_file taken = {};
	time64_t now;

	run_steps(test, "open; now");
	now = inode_get_ctime_sec(file_inode(image_file(test)));
	run_steps(test, "want; none; ready");
	while (!take(&state.readers[0], &taken) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_GE(test, ktime_get_real_seconds(), now + 2);
	KUNIT_ASSERT_PTR_EQ(test, taken.file, image_file(test));
	fput(taken.file);
}

static struct kunit_case wanted_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(wanted_young),
	{}
};

static struct kunit_suite wanted_suite = {
	.name = "sframe_wanted", .init = wanted_scene_init, .test_cases = wanted_tests,
};

kunit_test_suite(wanted_suite);
