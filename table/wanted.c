// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is wanted: files whose code processes have mapped, without a table, and processes with code
 * that no file describes.
 *
 * A scan adds the file to a queue, if the device has a reader. The queue holds no file and no
 * memory of a process: that would keep a file system from being unmounted. It remembers
 * a process and an address. The reader looks there for the file. If the process has
 * ended, or has mapped another file there, the next process that maps the file adds it again.
 * A process has an identity like a file, without a super block.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/process.h"
#include "table/table.h"
#include "table/wanted.h"

/* More are not remembered; nor more of one user, unless that is root. */
#define MAX_WANTED	4096
#define MAX_OF_OWNER	(MAX_WANTED / 4)

/* Users share a counter if their numbers have the same hash. */
#define OWNER_BITS	6

/* Files that a reader has: more than these are not looked at. */
#define MAX_GIVEN	16

/* How often a reader looks into a process whose mmap_lock is held. */
#define MAX_TRIES	8

/* After this time a reader tries again. */
#define RETRY_MS	20

/**
 * struct wanted - a file or process that is wanted
 * @node: in @all
 * @list: in @queue, @later, or &sfu_wanted_reader.given
 * @id: identity of the file; of a process, &sfu_process.number as the inode, and no super block
 * @owner: owner_of() the process, or of the one that has mapped the file first
 * @pid: the process, or one that had mapped the file
 * @addr: where
 * @nr_tries: how often mmap_lock was held
 */
struct wanted {
	struct hlist_node	node;
	struct list_head	list;
	struct sfu_file_id	id;
	kuid_t			owner;
	struct pid		*pid;
	unsigned long		addr;
	unsigned int		nr_tries;
};

DECLARE_WAIT_QUEUE_HEAD(sfu_wanted_wait);

/* All of these are protected by wanted_lock. */
static DEFINE_SPINLOCK(wanted_lock);
static DEFINE_HASHTABLE(all, 8);
static LIST_HEAD(queue);
static LIST_HEAD(later);
static unsigned int nr_wanted;
static unsigned int nr_of_owners[1 << OWNER_BITS];
static unsigned int nr_readers;

/*
 * By the inode, whatever its content. A file may change while a reader has it: what the reader says
 * of it answers the file that was taken.
 */
static u32 hash_of(const struct sfu_file_id *id)
{
	return jhash(id, SFU_FILE_INODE_SIZE, 0);
}

static struct wanted *find_wanted(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	hash_for_each_possible(all, wanted, node, hash_of(id))
		if (!memcmp(&wanted->id, id, SFU_FILE_INODE_SIZE))
			return wanted;
	return NULL;
}

static unsigned int *nr_of_owner(const struct wanted *wanted)
{
	return &nr_of_owners[hash_32(__kuid_val(wanted->owner), OWNER_BITS)];
}

/* Processes whose stacks end for want of a table are scanned once more. */
static void ask_again(void)
{
	atomic_fetch_inc_release(&sfu_table_generation);
}

/* The files of @later are looked into again, before the others that are wanted. */
static void retry(struct work_struct *work)
{
	spin_lock(&wanted_lock);
	list_splice_init(&later, &queue);
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
}

static DECLARE_DELAYED_WORK(retry_work, retry);

/* Under wanted_lock. */
static void forget(struct wanted *wanted)
{
	hash_del(&wanted->node);
	list_del(&wanted->list);
	nr_wanted--;
	--*nr_of_owner(wanted);
	put_pid(wanted->pid);
	kfree(wanted);
}

/* No user but root fills the queue alone. */
static bool has_room(const struct wanted *wanted)
{
	return nr_wanted < MAX_WANTED &&
	       (uid_eq(wanted->owner, GLOBAL_ROOT_UID) || *nr_of_owner(wanted) < MAX_OF_OWNER);
}

static bool add_wanted(struct wanted *wanted)
{
	bool is_added;

	spin_lock(&wanted_lock);
	is_added = nr_readers && has_room(wanted) && !find_wanted(&wanted->id);
	if (is_added) {
		hash_add(all, &wanted->node, hash_of(&wanted->id));
		list_add_tail(&wanted->list, &queue);
		nr_wanted++;
		++*nr_of_owner(wanted);
	}
	spin_unlock(&wanted_lock);
	return is_added;
}

/*
 * Is the path of a mapped file that of an overlay which a user has mounted? What somebody asks of
 * that path, the overlay may ask of its layers, and these may be FUSE. From 6.8 on the path is that
 * of the layer.
 */
static bool is_in_overlay_of_user(const struct file *file)
{
	const struct super_block *sb = file->f_path.dentry->d_sb;

	return sb != file_inode(file)->i_sb && sb->s_user_ns != &init_user_ns;
}

/* Sets the identity of a file. Returns false if the reader shall not have the file. */
static bool may_be_given(const struct file *file, struct sfu_file_id *id)
{
	return S_ISREG(file_inode(file)->i_mode) && !is_in_overlay_of_user(file) &&
	       sfu_file_identify(file_inode(file), id);
}

/*
 * Returns the user for whom the files of a task with these credentials count. In a user namespace,
 * one user may have thousands of UIDs: the files of all these UIDs count for the user who has made
 * the outermost namespace. If root has made it, as for a container, the files count for the UID
 * that root of the container has outside. If that is root, too, the namespace changes no UIDs: each
 * UID counts for itself.
 */
static kuid_t owner_of(const struct cred *cred)
{
	struct user_namespace *ns = cred->user_ns;
	kuid_t root;

	if (ns == &init_user_ns)
		return cred->uid;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	root = make_kuid(ns, 0);
	return uid_valid(root) && !uid_eq(root, GLOBAL_ROOT_UID) ? root : cred->uid;
}

/* Returns true if what a task with these credentials maps counts for a user other than root. */
bool sfu_wanted_is_of_user(const struct cred *cred)
{
	return !uid_eq(owner_of(cred), GLOBAL_ROOT_UID);
}

/* Returns true if the device has a reader. Any context, NMI included. */
bool sfu_wanted_has_reader(void)
{
	return READ_ONCE(nr_readers);
}

/* Adds a file that current has mapped, or current itself, unless it is there already. */
void sfu_wanted_add_id(const struct sfu_file_id *id, unsigned long addr)
{
	struct wanted *wanted = kzalloc_obj(*wanted, SFU_GFP_TASK);

	if (!wanted)
		return;
	wanted->id = *id;
	wanted->owner = owner_of(current_cred());
	wanted->addr = addr;
	wanted->pid = get_pid(task_tgid(current));
	if (add_wanted(wanted)) {
		wake_up_interruptible(&sfu_wanted_wait);
		return;
	}
	put_pid(wanted->pid);
	kfree(wanted);
}

/*
 * There is no table for code of @file that current has mapped at @addr.
 *
 * If a program of some user serves the file system, the reader of the device would wait for
 * that program. The reader serves the whole machine. It gets no file that is not a regular one:
 * to open a device may change its state.
 */
void sfu_wanted_add(const struct file *file, unsigned long addr)
{
	struct sfu_file_id id;

	if (sfu_wanted_has_reader() && may_be_given(file, &id))
		sfu_wanted_add_id(&id, addr);
}

/*
 * The file with this identity is wanted no more, whatever its content. If processes map another
 * content meanwhile, they want it after their next scan.
 */
void sfu_wanted_answer(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(id);
	if (wanted)
		forget(wanted);
	spin_unlock(&wanted_lock);
}

/* There is one more reader. What processes have mapped before is wanted after their next scan. */
void sfu_wanted_open(struct sfu_wanted_reader *reader)
{
	INIT_LIST_HEAD(&reader->given);
	spin_lock(&wanted_lock);
	nr_readers++;
	ask_again();
	spin_unlock(&wanted_lock);
}

/* A reader has gone. What it has not answered, another one gets. */
void sfu_wanted_close(struct sfu_wanted_reader *reader)
{
	spin_lock(&wanted_lock);
	list_splice_tail(&reader->given, &queue);
	list_splice_tail_init(&later, &queue);
	nr_readers--;
	/* The queue may be long. A reader that opens the device meanwhile gets the rest. */
	while (!nr_readers && !list_empty(&queue)) {
		forget(list_first_entry(&queue, struct wanted, list));
		cond_resched_lock(&wanted_lock);
	}
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
	/* The module may be unloaded after the last reader has gone. */
	cancel_delayed_work_sync(&retry_work);
	retry(NULL);
}

/* Is no file wanted? */
bool sfu_wanted_is_empty(void)
{
	return list_empty_careful(&queue);
}

/* Returns the file if it is still mapped there, with a reference. */
static struct file *get_mapped(struct mm_struct *mm, const struct wanted *wanted)
{
	struct vm_area_struct *vma;
	struct sfu_file_id id;
	struct file *file = NULL;

	/* Its holder may be anybody. */
	if (!mmap_read_trylock(mm))
		return ERR_PTR(-EAGAIN);
	vma = find_vma(mm, wanted->addr);
	if (vma && vma->vm_start <= wanted->addr && vma->vm_file &&
	    may_be_given(vma->vm_file, &id) && !memcmp(&id, &wanted->id, sizeof(id)))
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	return file;
}

/*
 * Returns the memory of a process, or NULL, and whether what it maps counts for a user other than
 * root. The process may end meanwhile: its mappings are removed under mmap_lock. With a reference
 * of its users, the last one would be the reader's to drop, and the files anybody's to close.
 */
struct mm_struct *sfu_wanted_grab_mm(struct pid *pid, bool *is_of_user)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	struct mm_struct *mm = NULL;

	if (!task)
		return NULL;
	task_lock(task);
	if (task->mm && !(task->flags & PF_KTHREAD)) {
		mm = task->mm;
		mmgrab(mm);
	}
	task_unlock(task);
	rcu_read_lock();
	*is_of_user = sfu_wanted_is_of_user(__task_cred(task));
	rcu_read_unlock();
	put_task_struct(task);
	return mm;
}

static struct file *find_file(const struct wanted *wanted)
{
	bool is_of_user;
	struct mm_struct *mm = sfu_wanted_grab_mm(wanted->pid, &is_of_user);
	struct file *file = NULL;

	if (mm) {
		file = get_mapped(mm, wanted);
		mmdrop(mm);
	}
	return file;
}

/* Under wanted_lock. */
static void retry_later(struct wanted *wanted)
{
	list_move_tail(&wanted->list, &later);
	schedule_delayed_work(&retry_work, msecs_to_jiffies(RETRY_MS));
}

/* How many files of this owner the reader has. Under wanted_lock. */
static unsigned int nr_given(const struct sfu_wanted_reader *reader, kuid_t owner)
{
	unsigned int nr = 0, left = MAX_GIVEN;
	const struct wanted *wanted;

	list_for_each_entry_reverse(wanted, &reader->given, list) {
		nr += uid_eq(wanted->owner, owner);
		if (!--left)
			break;
	}
	return nr;
}

/*
 * The next of the queue whose table would be accepted now: the first of a user of whose files the
 * reader has the fewest. A user may want thousands, each of which takes its time. Under
 * wanted_lock.
 */
static struct wanted *next_of_queue(const struct sfu_wanted_reader *reader)
{
	struct wanted *wanted, *next, *found = NULL;
	unsigned int nr, fewest = UINT_MAX;

	list_for_each_entry_safe(wanted, next, &queue, list) {
		if (sfu_file_has_just_changed(&wanted->id)) {
			retry_later(wanted);
			continue;
		}
		nr = nr_given(reader, wanted->owner);
		if (nr >= fewest)
			continue;
		found = wanted;
		fewest = nr;
		if (!nr)
			break;
	}
	return found;
}

/* Takes the next of the queue; false if there is none. */
static bool take_next(struct sfu_wanted_reader *reader, struct wanted *copy)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = next_of_queue(reader);
	if (wanted) {
		list_move_tail(&wanted->list, &reader->given);
		*copy = *wanted;
		get_pid(copy->pid);
	}
	spin_unlock(&wanted_lock);
	return wanted;
}

/*
 * The file cannot be had now. If mmap_lock was held, a reader tries again a little later. Else
 * the process has ended, or has unmapped the file. Others that have mapped it want it
 * again after their next scan.
 */
static void postpone(const struct wanted *copy, bool was_locked)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(&copy->id);
	if (wanted && was_locked && ++wanted->nr_tries < MAX_TRIES) {
		retry_later(wanted);
	} else if (wanted) {
		forget(wanted);
		ask_again();
	}
	spin_unlock(&wanted_lock);
}

/* Takes a file that is wanted, and a reference to it, or a process. Returns if there is one. */
bool sfu_wanted_take(struct sfu_wanted_reader *reader, struct sfu_wanted_file *taken)
{
	bool is_taken = false;
	struct wanted copy;

	while (!is_taken && take_next(reader, &copy)) {
		const bool is_process = !copy.id.sb;
		struct file *file = is_process ? NULL : find_file(&copy);

		is_taken = is_process || !IS_ERR_OR_NULL(file);
		if (!is_taken)
			postpone(&copy, IS_ERR(file));
		*taken = (struct sfu_wanted_file){
			.file = file,
			.id = copy.id,
			.pid = pid_vnr(copy.pid),
			.addr = copy.addr,
		};
		put_pid(copy.pid);
	}
	return is_taken;
}

/* The reader could not be given a file that it has taken. It is the next one that a reader gets. */
void sfu_wanted_give_back(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(id);
	if (wanted)
		list_move(&wanted->list, &queue);
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
}
