// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue of requests for tables: for files that sampled processes have mapped, and for processes
 * with code that no file describes (JIT code).
 *
 * A scan of a process adds requests if a program reads the device. A request holds no reference of
 * a file or mm, because then the file system could not be unmounted. The request names a process
 * and an address in it, where read() finds the file. If the file is not there any more, the next
 * process that maps the file adds a request again.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/process.h"
#include "table/table.h"
#include "table/wanted.h"

/*
 * Maximum of requests for tables: of all, and of one user other than root. With half, a large build
 * needs more scans until all its programs have tables. With twice, the queue takes 1.5 MB.
 */
#define MAX_WANTED	4096
#define MAX_OF_OWNER	(MAX_WANTED / 4)

/* Users whose UIDs have equal hashes share a counter of requests. With one bit less, more do. */
#define OWNER_BITS	6

/* To serve users in turn, read() looks at so many last requests. With fewer, users wait longer. */
#define MAX_GIVEN	16

/* How often read() tries to take the mmap_lock of a process. With half, more requests are lost. */
#define MAX_TRIES	8
#define RETRY_MS	20

/* A request for the table of a file, or for a table for the JIT code of one process. */
struct wanted {
	struct hlist_node	node;	/* node in the hash table of all requests */
	struct list_head	list;	/* node in @queue, in @later, or in the list of a reader */
	struct sfu_file_id	id;	/* the file; for JIT code, @ino is &sfu_process.number */
	kuid_t			owner;	/* user who is charged for the request */
	struct pid		*pid;	/* process that has mapped the file or the JIT code */
	unsigned long		addr;	/* address of the code in the process @pid */
	unsigned int		nr_tries; /* failed attempts to take mmap_lock */
};

DECLARE_WAIT_QUEUE_HEAD(sfu_wanted_wait);

/* Protects all requests for tables, and the variables below. */
static DEFINE_SPINLOCK(wanted_lock);
static DEFINE_HASHTABLE(all, 8);
static LIST_HEAD(queue);	/* requests that read() may return now */
static LIST_HEAD(later);	/* requests that retry() moves back to @queue */
static unsigned int nr_wanted;
static unsigned int nr_of_owners[1 << OWNER_BITS];
static unsigned int nr_readers;	/* open files that may read the device */

/* Returns the request for JIT code, or for a file even if its content has changed; or NULL. */
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

static void retry(struct work_struct *work)
{
	spin_lock(&wanted_lock);
	list_splice_init(&later, &queue);
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
}

static DECLARE_DELAYED_WORK(retry_work, retry);

static void forget_wanted(struct wanted *wanted)
{
	hash_del(&wanted->node);
	list_del(&wanted->list);
	nr_wanted--;
	--*nr_of_owner(wanted);
	put_pid(wanted->pid);
	kfree(wanted);
}

/*
 * Sets @id to the identity of a file. Returns false if read() must not open the file.
 *
 * A file that is not regular, such as a device, may change its state when it is opened. A file on
 * FUSE is refused by sfu_file_id_get(), because read() would wait for the user's program that
 * serves it. Before 6.8, a file mapped from an overlay has its path in the overlay, and opening it
 * may read layers on FUSE. So a file in an overlay that a user has mounted is refused, too.
 */
static bool may_be_given(const struct file *file, struct sfu_file_id *id)
{
	const struct super_block *sb = file->f_path.dentry->d_sb;

	return S_ISREG(file_inode(file)->i_mode) &&
	       (sb == file_inode(file)->i_sb || sb->s_user_ns == &init_user_ns) &&
	       !sfu_file_id_get(file_inode(file), id);
}

/*
 * Returns the user who is charged for the requests and tables of a task with these credentials. In
 * a user namespace, one user may have thousands of UIDs. All of them are charged to the user who
 * has made the outermost namespace or, if this is root, to the UID that root of the namespace (of
 * the container) has outside. If this is UID 0, too, each UID is charged for itself.
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

/* Returns true if a user other than root is charged for a task with these credentials. */
bool sfu_wanted_is_of_user(const struct cred *cred)
{
	return !uid_eq(owner_of(cred), GLOBAL_ROOT_UID);
}

bool sfu_wanted_has_reader(void)
{
	return READ_ONCE(nr_readers);
}

/*
 * Adds a request for a file that current has mapped, or for JIT code of current. Does nothing if
 * there is such a request, the queue is full, or a user other than root has too many requests.
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
	if (nr_readers && nr_wanted < MAX_WANTED && !find_wanted(id) &&
	    (uid_eq(wanted->owner, GLOBAL_ROOT_UID) || *nr_of_owner(wanted) < MAX_OF_OWNER)) {
		wanted->pid = get_pid(task_tgid(current));
		hash_add(all, &wanted->node, jhash(id, SFU_FILE_INODE_SIZE, 0));
		list_add_tail(&wanted->list, &queue);
		nr_wanted++;
		++*nr_of_owner(wanted);
		wanted = NULL;
		wake_up_interruptible(&sfu_wanted_wait);
	}
	spin_unlock(&wanted_lock);
	kfree(wanted);
}

/* Requests a table for a file. Current has mapped code of the file at @addr. */
void sfu_wanted_add(const struct file *file, unsigned long addr)
{
	struct sfu_file_id id;

	if (sfu_wanted_has_reader() && may_be_given(file, &id))
		sfu_wanted_add_id(&id, addr);
}

/* Removes the request for a file, whatever its content is now, or for JIT code of a process. */
void sfu_wanted_answer(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(id);
	if (wanted)
		forget_wanted(wanted);
	spin_unlock(&wanted_lock);
}

/* Called by open() for reading. A process that lacks tables is scanned again at its next sample. */
void sfu_wanted_open(struct sfu_wanted_reader *reader)
{
	INIT_LIST_HEAD(&reader->given);
	spin_lock(&wanted_lock);
	nr_readers++;
	spin_unlock(&wanted_lock);
	atomic_fetch_inc_release(&sfu_table_generation);
}

/*
 * Called when an open file of the device is closed. Requests that this reader has not answered go
 * back to the queue, for other readers. After the last reader, all requests are removed.
 */
void sfu_wanted_close(struct sfu_wanted_reader *reader)
{
	spin_lock(&wanted_lock);
	list_splice_tail(&reader->given, &queue);
	list_splice_tail_init(&later, &queue);
	nr_readers--;
	/* cond_resched_lock() may drop the lock: a new reader then gets the other requests. */
	while (!nr_readers && !list_empty(&queue)) {
		forget_wanted(list_first_entry(&queue, struct wanted, list));
		cond_resched_lock(&wanted_lock);
	}
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
	/* After close(), the module may be unloaded: retry_work must not run any more. */
	cancel_delayed_work_sync(&retry_work);
	retry(NULL);
}

bool sfu_wanted_is_empty(void)
{
	return list_empty_careful(&queue);
}

/*
 * Returns the mm of a process after mmgrab(), or NULL. Sets @is_of_user if a user other than root
 * is charged for the process. After mmget(), the caller's mmput() might have to remove the
 * mappings, and wait for file systems. A process that ends removes them under mmap_lock, so this
 * lock is enough.
 */
struct mm_struct *sfu_wanted_grab_mm(struct pid *pid, bool *is_of_user)
{
	struct task_struct *first, *task;
	struct mm_struct *mm = NULL;

	guard(rcu)();
	first = pid_task(pid, PIDTYPE_TGID);
	if (!first)
		return NULL;
	/* The first thread may have ended: then it has no mm, but other threads have. */
	for_each_thread(first, task) {
		task_lock(task);
		mm = task->flags & PF_KTHREAD ? NULL : task->mm;
		if (mm)
			mmgrab(mm);
		task_unlock(task);
		if (mm)
			break;
	}
	*is_of_user = sfu_wanted_is_of_user(__task_cred(first));
	return mm;
}

/* Returns the file of a request, with a reference; NULL: unmapped; -EAGAIN: mmap_lock is held. */
static struct file *find_file(const struct wanted *wanted)
{
	bool is_of_user;
	struct mm_struct *mm = sfu_wanted_grab_mm(wanted->pid, &is_of_user);
	struct file *file = NULL;
	struct vm_area_struct *vma;
	struct sfu_file_id id;

	if (!mm)
		return NULL;
	/* A process may hold its mmap_lock for ever, so read() never waits for it. */
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

/* Keeps a request from being read until retry() runs, RETRY_MS later. */
static void retry_later(struct wanted *wanted)
{
	list_move_tail(&wanted->list, &later);
	schedule_delayed_work(&retry_work, msecs_to_jiffies(RETRY_MS));
}

/* Returns how many of the last MAX_GIVEN requests that @reader has got are charged to @owner. */
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
 * Returns the first request of the user for whom @reader has got the fewest requests lately: the
 * requests of one user, maybe thousands, must not delay other users. Requests for files that have
 * just changed wait, because their tables would be refused.
 */
static struct wanted *next_of_queue(const struct sfu_wanted_reader *reader)
{
	struct wanted *wanted, *next, *found = NULL;
	unsigned int nr, fewest = UINT_MAX;

	list_for_each_entry_safe(wanted, next, &queue, list) {
		if (sfu_file_id_has_just_changed(&wanted->id)) {
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
 * Called if read() has not found the file of a request. If mmap_lock was held, read() tries again
 * later. Otherwise the process has ended, or has unmapped the file: the request is removed, and
 * other processes that map the file request the table at their next scan.
 */
static void postpone(const struct wanted *copy, bool was_locked)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(&copy->id);
	if (wanted && was_locked && ++wanted->nr_tries < MAX_TRIES) {
		retry_later(wanted);
	} else if (wanted) {
		forget_wanted(wanted);
		atomic_fetch_inc_release(&sfu_table_generation);
	}
	spin_unlock(&wanted_lock);
}

/* Takes the next request from the queue, for read(). Returns false if there is none to read now. */
bool sfu_wanted_take(struct sfu_wanted_reader *reader, struct sfu_wanted_file *taken)
{
	struct wanted *wanted, copy;
	struct file *file;

	for (;;) {
		spin_lock(&wanted_lock);
		wanted = next_of_queue(reader);
		if (wanted) {
			list_move_tail(&wanted->list, &reader->given);
			copy = *wanted;
			get_pid(copy.pid);
		}
		spin_unlock(&wanted_lock);
		if (!wanted)
			return false;
		file = copy.id.sb ? find_file(&copy) : NULL;
		*taken = (struct sfu_wanted_file){
			.file = file,
			.id = copy.id,
			.pid = pid_vnr(copy.pid),
			.addr = copy.addr,
		};
		put_pid(copy.pid);
		if (!copy.id.sb || !IS_ERR_OR_NULL(file))
			return true;
		postpone(&copy, IS_ERR(file));
	}
}

/* Moves a request that read() could not return back to the head of the queue. */
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
