// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of sframe_wanted.c: processes ask for files, and readers get them. */
#include <linux/user_namespace.h>

#include "scan_scene.h"
#include "table/table.h"
#include "table/wanted.h"

/* As MAX_WANTED of sframe_wanted.c. */
#define LIMIT	4096

/* A reader that closes the device at the end of the test, unless the test has closed it. */
struct test_reader {
	struct sfu_wanted_reader	reader;
	bool				is_open;
};

static void close_reader(void *data)
{
	struct test_reader *r = data;

	if (r->is_open)
		sfu_wanted_close(&r->reader);
	r->is_open = false;
}

static struct test_reader *open_reader(struct kunit *test)
{
	struct test_reader *r = test_alloc(test, sizeof(*r));

	sfu_wanted_open(&r->reader);
	r->is_open = true;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_reader, r));
	return r;
}

/* The reader looks into the process that has mapped the file: here into the test's own. */
static bool take(struct test_reader *r, struct sfu_wanted_file *taken)
{
	bool is_taken;

	current->flags &= ~PF_KTHREAD;
	is_taken = sfu_wanted_take(&r->reader, taken);
	current->flags |= PF_KTHREAD;
	return is_taken;
}

static struct file *image_file(struct kunit *test)
{
	return scene_of(test)->image.file;
}

/* As if the file had been written long ago: its table would be accepted. */
static void map_old_image(struct kunit *test)
{
	map_image(test);
	inode_set_ctime(file_inode(image_file(test)), -1000, 0);
}

/* A scan of current has found no table for the code of the image. */
static void want(struct kunit *test)
{
	sfu_wanted_add(image_file(test), page(test, 1));
}

static void expect_taken(struct kunit *test, struct test_reader *r)
{
	struct sfu_wanted_file taken = {};

	KUNIT_EXPECT_FALSE(test, sfu_wanted_is_empty());
	KUNIT_ASSERT_TRUE(test, take(r, &taken));
	KUNIT_EXPECT_PTR_EQ(test, taken.file, image_file(test));
	KUNIT_EXPECT_EQ(test, taken.id.ino, file_inode(image_file(test))->i_ino);
	KUNIT_EXPECT_EQ(test, taken.pid, task_tgid_vnr(current));
	fput(taken.file);
}

static void expect_none(struct kunit *test, struct test_reader *r)
{
	struct sfu_wanted_file taken;

	KUNIT_EXPECT_FALSE(test, take(r, &taken));
	KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
}

static struct sfu_file_id image_id(struct kunit *test)
{
	struct sfu_file_id id = {};

	KUNIT_EXPECT_TRUE(test, sfu_file_identify(file_inode(image_file(test)), &id));
	return id;
}

/* Has the module asked processes to be scanned again since the last call? */
static bool has_asked(void)
{
	static int then;
	bool has_changed = then != atomic_read(&sfu_table_generation);

	then = atomic_read(&sfu_table_generation);
	return has_changed;
}

/* A process of @owner in this namespace wants a file of another number. */
static void want_within(struct kunit *test, struct user_namespace *ns, unsigned int owner,
			unsigned int nr)
{
	struct cred *cred = prepare_creds();
	struct user_namespace *ours;
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	ours = cred->user_ns;
	cred->user_ns = ns;
	cred->uid = KUIDT_INIT(owner);
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
 * A script. The file is that of the image; the readers are the first and the second (2).
 *
 *	open close open2 close2		a reader opens or closes the device
 *	want [N [M]]			scans found no table for the file with the numbers N to M
 *	number N			the number of the file
 *	uid N				scans are of this user
 *	scan				a scan runs
 *	taken [N [M]] taken2 none none2	the reader gets the file with these numbers, or nothing
 *	answer load back drop		a reader answers, loads that there is no table, or gives
 *					the file back; what was loaded is dropped
 *	change unmap other		the file changes, is unmapped, is replaced by another one
 *	lock unlock			another task holds mmap_lock
 *	ready pause			waits until a reader would get something, or for 100 ms
 *	asked silent			processes were asked to be scanned again, or were not
 *	empty				no reader would get anything
 */
static unsigned int want_uid;

static void run_word(struct kunit *test, struct test_reader **readers, const char *word)
{
	struct inode *inode = file_inode(image_file(test));
	struct sfu_table_source source = { .inode = inode };
	struct sfu_file_id id = image_id(test);
	unsigned int first = inode->i_generation, last, nr;
	struct test_reader **r;
	char name[16];

	nr = sscanf(word, "%15s %u %u", name, &first, &last);
	last = nr < 3 ? first : last;
	r = &readers[name[strlen(name) - 1] == '2'];
	if (strstarts(name, "open"))
		*r = open_reader(test);
	else if (strstarts(name, "close"))
		close_reader(*r);
	else if (!strcmp(name, "want"))
		for (; first <= last; first++)
			want_within(test, &init_user_ns, want_uid, first);
	else if (!strcmp(name, "number"))
		inode->i_generation = first;
	else if (!strcmp(name, "uid"))
		want_uid = first;
	else if (!strcmp(name, "scan"))
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	else if (strstarts(name, "taken"))
		for (; first <= last; first++) {
			inode->i_generation = first;
			expect_taken(test, *r);
		}
	else if (strstarts(name, "none"))
		expect_none(test, *r);
	else if (!strcmp(name, "answer"))
		sfu_wanted_answer(&id);
	else if (!strcmp(name, "load"))
		KUNIT_EXPECT_EQ(test, 0, (source.id = id, sfu_table_load(&source)));
	else if (!strcmp(name, "drop"))
		KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(inode));
	else if (!strcmp(name, "back"))
		sfu_wanted_give_back(&id);
	else if (!strcmp(name, "change"))
		inode_set_ctime(inode, -1000, 1);
	else if (!strcmp(name, "unmap"))
		run_steps(test, "unmap 1 1");
	else if (!strcmp(name, "other"))
		run_steps(test, "other 0");
	else if (!strcmp(name, "lock"))
		mmap_write_lock(current->mm);
	else if (!strcmp(name, "unlock"))
		mmap_write_unlock(current->mm);
	else if (!strcmp(name, "ready"))
		KUNIT_EXPECT_TRUE(test, comes_true(is_wanted));
	else if (!strcmp(name, "pause"))
		schedule_timeout_uninterruptible(HZ / 10);
	else if (!strcmp(name, "asked") || !strcmp(name, "silent"))
		KUNIT_EXPECT_EQ(test, *name == 'a', has_asked());
	else if (!strcmp(name, "empty"))
		KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
	else
		KUNIT_FAIL(test, "%s", word);
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
	  "open; want; taken; change; want; none; answer; want; taken" },
	{ "changed", "open; want; change; none; want; taken" },
	/* Another process that has mapped the file is to ask for it. */
	{ "unmapped", "open; want; unmap; asked; none; asked; silent; want; none; asked" },
	{ "replaced", "open; want; other; none" },
	/* A load is an answer, also one that says that there is no table. */
	{ "until a load", "open; want; load; none; scan; none; drop" },
	{ "users by turns",
	  "open; uid 1000; want 0 9; uid 1001; want 10; taken 0; taken 10; taken 1 9; none" },
	/*
	 * Those after 4095 are not remembered. The reader has one, so there is room for one less.
	 */
	{ "many", "open; want 0 8191; taken 4095; none; want 8192 12287; none; want; taken" },
	/*
	 * A user has a part of the queue, 1024 files, and leaves the rest to others. An answered
	 * file makes room. Files before the current number are forgotten: they are not mapped.
	 */
	{ "many of a user",
	  "open; uid 1000; want 0 4095; number 1024; none; want 0 4095; uid 1001; want 4096; taken;"
	  "none; uid 1000; want 0 1023; taken; none" },
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

static void wanted(struct kunit *test)
{
	const struct script_case *c = test->param_value;
	struct test_reader *readers[2] = {};
	char word[32];
	const char *at;

	want_uid = 0;
	map_old_image(test);
	has_asked();
	for (at = c->script; *at; at += strspn(at, "; ")) {
		strscpy(word, at, min(sizeof(word), strcspn(at, ";") + 1));
		at += strlen(word);
		run_word(test, readers, word);
		if (READ_ONCE(test->status) == KUNIT_FAILURE)
			kunit_info(test, "at or before \"%s\"", at);
	}
}

/* To open a device may change its state. */
static void wanted_device(struct kunit *test)
{
	struct inode *inode = file_inode(image_file(test));
	umode_t mode = inode->i_mode;

	open_reader(test);
	map_old_image(test);
	inode->i_mode = S_IFCHR | 0600;
	want(test);
	KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
	inode->i_mode = mode;
	want(test);
	KUNIT_EXPECT_FALSE(test, sfu_wanted_is_empty());
}

/* The reader has no table for a file that changes all the time, and does not come again. */
static void wanted_without_table_while_young(struct kunit *test)
{
	struct test_reader *r = open_reader(test);
	struct sfu_table_source source = {};

	map_old_image(test);
	want(test);
	expect_taken(test, r);
	inode_set_ctime(file_inode(image_file(test)), ktime_get_real_seconds(), 0);
	source.inode = file_inode(image_file(test));
	source.id = image_id(test);
	KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_table_load(&source));
	inode_set_ctime(source.inode, -1000, 2);
	want(test);
	expect_taken(test, r);
}

/* A kernel thread has no memory of its own, as a process that has ended. */
static void wanted_by_ended(struct kunit *test)
{
	struct test_reader *r = open_reader(test);
	struct sfu_wanted_file taken;

	map_old_image(test);
	want(test);
	has_asked();
	KUNIT_EXPECT_FALSE(test, sfu_wanted_take(&r->reader, &taken));
	KUNIT_EXPECT_TRUE(test, has_asked());
	KUNIT_EXPECT_TRUE(test, sfu_wanted_is_empty());
}

/* Its table would be refused now. So the reader gets it when a second has passed. */
static void wanted_young(struct kunit *test)
{
	struct test_reader *r = open_reader(test);
	unsigned long until = jiffies + 60 * HZ;
	struct sfu_wanted_file taken = {};
	time64_t now;

	map_image(test);
	now = ktime_get_real_seconds();
	inode_set_ctime(file_inode(image_file(test)), now, 0);
	want(test);
	expect_none(test, r);
	KUNIT_EXPECT_TRUE(test, comes_true(is_wanted));
	while (!take(r, &taken) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_GE(test, ktime_get_real_seconds(), now + 2);
	KUNIT_ASSERT_PTR_EQ(test, taken.file, image_file(test));
	fput(taken.file);
}

/*
 * One user has wanted the files from 0 to @nr - 1, and then another one file @nr. Once the reader
 * has the first file of the first user, the other one comes next, and then the first one again.
 */
static void expect_taken_by_turns(struct kunit *test, struct test_reader *r, unsigned int nr)
{
	unsigned int i;

	file_inode(image_file(test))->i_generation = 0;
	expect_taken(test, r);
	file_inode(image_file(test))->i_generation = nr;
	expect_taken(test, r);
	for (i = 1; i < nr; i++) {
		file_inode(image_file(test))->i_generation = i;
		expect_taken(test, r);
	}
	expect_none(test, r);
}

/* In a namespace, a user has as many UIDs as he likes. It is one user. */
static void wanted_by_numbers_of_user(struct kunit *test)
{
	struct user_namespace *nss = test_alloc(test, 2 * sizeof(*nss));
	struct test_reader *r = open_reader(test);
	unsigned int i;

	nss[0].parent = &init_user_ns;
	nss[0].owner = KUIDT_INIT(1000);
	nss[1].parent = &nss[0];
	nss[1].owner = KUIDT_INIT(100000);
	map_old_image(test);
	for (i = 0; i < 10; i++)
		want_within(test, &nss[i % 2], 100000 + i, i);
	want_within(test, &init_user_ns, 1001, 10);
	expect_taken_by_turns(test, r, 10);
}

/* Root makes the namespaces of containers. Each has its UIDs, of which the first is its root. */
static void wanted_by_containers(struct kunit *test)
{
	struct user_namespace *nss = test_alloc(test, 2 * sizeof(*nss));
	struct test_reader *r = open_reader(test);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		nss[i].parent = &init_user_ns;
		nss[i].owner = GLOBAL_ROOT_UID;
		nss[i].uid_map.nr_extents = 1;
		nss[i].uid_map.extent[0] = (struct uid_gid_extent){
			.lower_first = 100000 + i * 65536, .count = 65536,
		};
	}
	map_old_image(test);
	for (i = 0; i < 4; i++)
		want_within(test, &nss[0], 100000 + i, i);
	want_within(test, &nss[1], 100000 + 65536, 4);
	expect_taken_by_turns(test, r, 4);
}

/* systemd gives a service a namespace with the UIDs that it has anyway. */
static void wanted_by_many_of_service(struct kunit *test)
{
	struct user_namespace *ns = test_alloc(test, sizeof(*ns));
	struct test_reader *r = open_reader(test);
	unsigned int i;

	ns->parent = &init_user_ns;
	ns->owner = GLOBAL_ROOT_UID;
	ns->uid_map.nr_extents = 1;
	ns->uid_map.extent[0] = (struct uid_gid_extent){ .count = UINT_MAX };
	map_old_image(test);
	for (i = 0; i <= LIMIT / 4; i++)
		want_within(test, ns, 1000, i);
	/* The last one was not remembered. Those before are forgotten: they are not mapped. */
	file_inode(image_file(test))->i_generation = LIMIT / 4;
	expect_none(test, r);
}

static struct kunit_case wanted_tests[] = {
	KUNIT_CASE_PARAM(wanted, script_gen_params),
	KUNIT_CASE(wanted_device),
	KUNIT_CASE(wanted_by_numbers_of_user),
	KUNIT_CASE(wanted_by_containers),
	KUNIT_CASE(wanted_by_many_of_service),
	KUNIT_CASE(wanted_without_table_while_young),
	KUNIT_CASE(wanted_by_ended),
	KUNIT_CASE(wanted_young),
	{}
};

static struct kunit_suite wanted_suite = {
	.name = "sframe_wanted", .init = scan_scene_init, .test_cases = wanted_tests,
};

kunit_test_suite(wanted_suite);
