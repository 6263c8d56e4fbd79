// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What needs a table: files that a sampled process has mapped, and processes with code that no file
 * describes.
 *
 * A scan adds the file to a queue if the device has a reader. The queue holds no reference of a
 * file or of a process's memory, because a reference would keep a file system from being unmounted.
 * An entry has a process and an address, where the reader finds the file. If the process has ended,
 * or has mapped another file there, the next process that maps the file adds the file again. A
 * process has an identity like a file, without a super block.
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

/*
 * Entries at most, and entries of one user other than root. Halved, a large build needs more scans
 * until all its programs have tables; doubled, the queue takes 1.5 MB.
 */
#define MAX_WANTED	4096
#define MAX_OF_OWNER	(MAX_WANTED / 4)

/* Users share a counter if their UIDs have the same hash. One bit less: more of them share. */
#define OWNER_BITS	6

/* Entries that readers have, examined for fairness. Fewer than jobs of serve: users wait longer. */
#define MAX_GIVEN	16

/* Tries while mmap_lock is held, and the time between two of them. Halved: more scans instead. */
#define MAX_TRIES	8
#define RETRY_MS	20

/* A file or process that needs a table. */
struct wanted {
	struct hlist_node	node;	/* in @all */
	struct list_head	list;	/* in @queue, @later, or &sfu_wanted_reader.given */
	struct sfu_file_id	id;	/* a process: @ino is &sfu_process.number, no @sb */
	kuid_t			owner;	/* of the process: see owner_of() */
	struct pid		*pid;	/* the process, or one that has mapped the file */
	unsigned long		addr;	/* of the code in the process */
	unsigned int		nr_tries; /* how often mmap_lock was held */
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
 * Returns the entry of a file or process, or NULL. The content of the file does not count: a file
 * may change while a reader has it, and the reader answers for the file that it took.
 */
static struct wanted *find_wanted(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	hash_for_each_possible(all, wanted, node, jhash(id, SFU_FILE_INODE_SIZE, 0))
		if (!memcmp(&wanted->id, id, SFU_FILE_INODE_SIZE))
			return wanted;
	return NULL;
}

static unsigned int *nr_of_owner(const struct wanted *wanted)
{
	return &nr_of_owners[hash_32(__kuid_val(wanted->owner), OWNER_BITS)];
}

/* Puts the entries of @later at the head of the queue. */
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

/*
 * Sets the identity of a file. Returns false if no reader may get the file.
 *
 * To open a file that is not regular, such as a device, may change its state. Before 6.8, the path
 * of a mapped file of an overlay is the path in the overlay. If a user has mounted the overlay, to
 * open this path may read layers that are FUSE. sfu_file_identify() refuses a file whose file
 * system is served by a user's program: the reader would wait for this program.
 */
static bool may_be_given(const struct file *file, struct sfu_file_id *id)
{
	const struct super_block *sb = file->f_path.dentry->d_sb;

	return S_ISREG(file_inode(file)->i_mode) &&
	       (sb == file_inode(file)->i_sb || sb->s_user_ns == &init_user_ns) &&
	       sfu_file_identify(file_inode(file), id);
}

/*
 * Returns the user for whom the files of a task with these credentials count. In a user namespace,
 * one user may have thousands of UIDs: the files of all these UIDs count for the user who has made
 * the outermost namespace. If root has made this namespace, as for a container, the files count for
 * the UID that root of the container has outside. If this UID is root, too, the namespace changes
 * no UIDs: each UID counts for itself.
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

/*
 * Adds a file that current has mapped, or current itself, unless the queue has it already, or is
 * full: with the entries of all, or of a user other than root.
 */
void sfu_wanted_add_id(const struct sfu_file_id *id, unsigned long addr)
{
	struct wanted *wanted = kzalloc_obj(*wanted, SFU_GFP_TASK);

	if (!wanted)
		return;
	wanted->id = *id;
	wanted->owner = owner_of(current_cred());
	wanted->addr = addr;
	spin_lock(&wanted_lock);
	if (!nr_readers || nr_wanted >= MAX_WANTED || find_wanted(id) ||
	    (!uid_eq(wanted->owner, GLOBAL_ROOT_UID) && *nr_of_owner(wanted) >= MAX_OF_OWNER)) {
		spin_unlock(&wanted_lock);
		kfree(wanted);
		return;
	}
	wanted->pid = get_pid(task_tgid(current));
	hash_add(all, &wanted->node, jhash(id, SFU_FILE_INODE_SIZE, 0));
	list_add_tail(&wanted->list, &queue);
	nr_wanted++;
	++*nr_of_owner(wanted);
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
}

/* Adds a file without a table; current has mapped its code at @addr. */
void sfu_wanted_add(const struct file *file, unsigned long addr)
{
	struct sfu_file_id id;

	if (sfu_wanted_has_reader() && may_be_given(file, &id))
		sfu_wanted_add_id(&id, addr);
}

/*
 * Removes a file or process from the queue, whatever the content of the file is. Processes that map
 * the file with another content add the file again at their next scan.
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

/* Adds a reader. Processes that lack a table are scanned again at their next sample. */
void sfu_wanted_open(struct sfu_wanted_reader *reader)
{
	INIT_LIST_HEAD(&reader->given);
	spin_lock(&wanted_lock);
	nr_readers++;
	atomic_fetch_inc_release(&sfu_table_generation);
	spin_unlock(&wanted_lock);
}

/* Removes a reader. Another reader gets the entries that this one has not answered. */
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
	/* The work must not run when the module is unloaded, after the last reader has gone. */
	cancel_delayed_work_sync(&retry_work);
	retry(NULL);
}

bool sfu_wanted_is_empty(void)
{
	return list_empty_careful(&queue);
}

/*
 * Returns the mm of a process, or NULL. Sets @is_of_user if the mappings of the process count for a
 * user other than root. The reference is of mm_count: with a reference of mm_users, the caller
 * might have to free the mappings, and to wait for the file systems of the process. If the process
 * ends, its mappings are removed under mmap_lock.
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

/*
 * Returns the file, with a reference, if it is still mapped at the address; ERR_PTR(-EAGAIN) if
 * mmap_lock is held, maybe for ever; or NULL.
 */
static struct file *find_file(const struct wanted *wanted)
{
	bool is_of_user;
	struct mm_struct *mm = sfu_wanted_grab_mm(wanted->pid, &is_of_user);
	struct file *file = NULL;
	struct vm_area_struct *vma;
	struct sfu_file_id id;

	if (!mm)
		return NULL;
	if (!mmap_read_trylock(mm)) {
		file = ERR_PTR(-EAGAIN);
		goto out;
	}
	vma = find_vma(mm, wanted->addr);
	if (vma && vma->vm_start <= wanted->addr && vma->vm_file &&
	    may_be_given(vma->vm_file, &id) && !memcmp(&id, &wanted->id, sizeof(id)))
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
out:
	mmdrop(mm);
	return file;
}

/* Under wanted_lock. */
static void retry_later(struct wanted *wanted)
{
	list_move_tail(&wanted->list, &later);
	schedule_delayed_work(&retry_work, msecs_to_jiffies(RETRY_MS));
}

/* Returns how many of the last MAX_GIVEN entries that the reader has are of this owner. */
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
 * Returns the first entry of the owner of whom the reader has the fewest entries: one user may want
 * thousands of files. Files that have just changed wait, because their tables would be refused.
 * Under wanted_lock.
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

/*
 * Moves the next entry of the queue to the reader, and sets @copy to it, with a reference of its
 * pid. Returns false if the queue is empty.
 */
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
 * No file was found. If mmap_lock was held, a reader tries again later. Otherwise the process has
 * ended, or has unmapped the file: other processes that map the file add it at their next scan.
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
		atomic_fetch_inc_release(&sfu_table_generation);
	}
	spin_unlock(&wanted_lock);
}

/* Takes a file, with a reference, or a process. Returns false if nothing is wanted. */
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

/* Puts a file that could not be given to the reader at the head of the queue. */
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
