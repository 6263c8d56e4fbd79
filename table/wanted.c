// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue of requests for tables: for files that sampled processes have mapped, and for JIT code.
 * Scans of processes add requests while a program has the device open to read and answer them.
 *
 * A request names a process and an address, where read() of the device looks for the file. It holds
 * no reference of a file or mm, which would keep a file system from being unmounted.
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

/* Maximum of unanswered requests of all users. With twice, they would take 1.5 MB. */
#define MAX_WANTED	4096

/*
 * Maximum of unanswered requests of one user other than root: 1024. If it were 512, more requests
 * of a large build would be dropped. Its programs would get their tables only after more scans.
 */
#define MAX_OF_OWNER	(MAX_WANTED / 4)

/* Users whose UIDs have equal hashes share a limit of requests. With fewer bits, more users do. */
#define OWNER_BITS	6

/*
 * read() of the device is fair to the users whose processes need tables. It looks at the last
 * MAX_GIVEN requests that it has returned and that are still unanswered. Of the users who wait,
 * the one with the fewest of them is served next. If MAX_GIVEN were 8, read() would forget a user
 * whom it served nine requests ago. It might serve this user again before others who still wait.
 */
#define MAX_GIVEN	16

/*
 * read() tries to take mmap_lock of the process that a request names. If MAX_TRIES tries fail,
 * RETRY_MS ms apart, it removes the request. With half the tries, more requests are lost.
 */
#define MAX_TRIES	8
#define RETRY_MS	20

/* read() ends after this many requests in a row whose file is not there: more may always come. */
#define MAX_REMOVED	64

struct wanted {
	struct hlist_node	node;
	struct list_head	list;	/* node in @queue, @later, or an open device's @given */
	struct sfu_file_id	id;
	kuid_t			owner;	/* user whose limit of requests includes this one */
	struct pid		*pid;	/* process that has mapped the file or the JIT code */
	unsigned long		addr;
	unsigned int		nr_tries; /* how often read() failed to take mmap_lock of @pid */
};

DECLARE_WAIT_QUEUE_HEAD(sfu_wanted_wait);

/* Protects all requests for tables, and the variables below. */
static DEFINE_SPINLOCK(wanted_lock);
static DEFINE_HASHTABLE(all, 8);
static LIST_HEAD(queue);	/* requests that read() may return now */
static LIST_HEAD(later);	/* requests that wait until retry() moves them back to @queue */
static unsigned int nr_wanted;
static unsigned int nr_of_owners[1 << OWNER_BITS];
static unsigned int nr_readers;

/* Returns the request for a file or JIT code, or NULL. Ignores the file's size and ctime in @id. */
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

/* Sets @id to the identity of a file. Returns false if no table may be requested for the file. */
static bool may_be_given(const struct file *file, struct sfu_file_id *id)
{
	const struct super_block *sb = file->f_path.dentry->d_sb;

	/* Regular files only: read() opens the file, and to open a device may change its state. */
	return S_ISREG(file_inode(file)->i_mode) &&
	       /* Before 6.7, to open a file of a user's overlay may wait for a layer on FUSE. */
	       (sb == file_inode(file)->i_sb || sb->s_user_ns == &init_user_ns) &&
	       /* Also refuses files on FUSE: opening one may wait for a user's program. */
	       !sfu_file_id_get(file_inode(file), id);
}

/* Returns the user in whose limits the requests and tables of a task with @cred count. */
static kuid_t owner_of(const struct cred *cred)
{
	struct user_namespace *ns = cred->user_ns;
	kuid_t root;

	if (ns == &init_user_ns)
		return cred->uid;
	/*
	 * In user namespaces, one user may have thousands of UIDs. All of them count for the owner
	 * of the outermost namespace below the initial one.
	 */
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	/* If root made @ns (a container), return the UID on the host that is UID 0 in @ns. */
	root = make_kuid(ns, 0);
	return uid_valid(root) && !uid_eq(root, GLOBAL_ROOT_UID) ? root : cred->uid;
}

/* Returns true if requests and tables of a task with @cred count in limits of non-root users. */
bool sfu_wanted_is_of_user(const struct cred *cred)
{
	return !uid_eq(owner_of(cred), GLOBAL_ROOT_UID);
}

bool sfu_wanted_has_reader(void)
{
	return READ_ONCE(nr_readers);
}

/*
 * Requests a table for a file that current has mapped, or for JIT code of current. Does nothing if
 * there is such a request or no reader, the queue is full, or a user other than root has too many.
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

void sfu_wanted_add(const struct file *file, unsigned long addr)
{
	struct sfu_file_id id;

	if (sfu_wanted_has_reader() && may_be_given(file, &id))
		sfu_wanted_add_id(&id, addr);
}

/* Removes the request, if any, for JIT code or for a file, even if the file has changed since. */
void sfu_wanted_answer(const struct sfu_file_id *id)
{
	struct wanted *wanted;

	spin_lock(&wanted_lock);
	wanted = find_wanted(id);
	if (wanted)
		forget_wanted(wanted);
	spin_unlock(&wanted_lock);
}

void sfu_wanted_open(struct sfu_wanted_reader *reader)
{
	INIT_LIST_HEAD(&reader->given);
	spin_lock(&wanted_lock);
	nr_readers++;
	spin_unlock(&wanted_lock);
	/* Scans without a reader added no requests: let samples without a row ask for new scans. */
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
	/* cond_resched_lock() may let a new reader open the device: then stop, it gets the rest. */
	while (!nr_readers && !list_empty(&queue)) {
		forget_wanted(list_first_entry(&queue, struct wanted, list));
		cond_resched_lock(&wanted_lock);
	}
	spin_unlock(&wanted_lock);
	wake_up_interruptible(&sfu_wanted_wait);
	/* After close(), the module may be unloaded: cancel a queued retry(), do its work now. */
	cancel_delayed_work_sync(&retry_work);
	retry(NULL);
}

bool sfu_wanted_is_empty(void)
{
	return list_empty_careful(&queue);
}

/*
 * Returns the mm of a process, or NULL. Takes a reference by mmgrab(), which does not keep the
 * mappings: a process that ends removes them under mmap_lock, so the caller reads them under it.
 * Sets @is_of_user to true if the process's tables count in the limit of non-root users.
 */
struct mm_struct *sfu_wanted_grab_mm(struct pid *pid, bool *is_of_user)
{
	struct task_struct *first, *task;
	struct mm_struct *mm = NULL;

	guard(rcu)();
	first = pid_task(pid, PIDTYPE_TGID);
	if (!first)
		return NULL;
	/* The first thread may have ended: then it has no mm, but other threads may. */
	for_each_thread(first, task) {
		task_lock(task);
		mm = task->flags & PF_KTHREAD ? NULL : task->mm;
		/* Not mmget(): the last mmput() removes all mappings and waits for file systems. */
		if (mm)
			mmgrab(mm);
		task_unlock(task);
		if (mm)
			break;
	}
	*is_of_user = sfu_wanted_is_of_user(__task_cred(first));
	return mm;
}

/* Returns a request's file with a reference; NULL: not mapped now; -EAGAIN: mmap_lock is held. */
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

static void retry_later(struct wanted *wanted)
{
	list_move_tail(&wanted->list, &later);
	schedule_delayed_work(&retry_work, msecs_to_jiffies(RETRY_MS));
}

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
 * Returns the request that @reader gets next, or NULL. Prefers the user with the lowest nr_given(),
 * so thousands of requests of one user do not delay other users.
 */
static struct wanted *next_of_queue(const struct sfu_wanted_reader *reader)
{
	struct wanted *wanted, *next, *found = NULL;
	unsigned int nr, fewest = UINT_MAX;

	list_for_each_entry_safe(wanted, next, &queue, list) {
		/*
		 * The file has just changed, and another change may leave the same ctime. So
		 * SFRAME_LOAD would refuse its table now: let the request wait.
		 */
		if (sfu_file_id_has_just_changed(&wanted->id)) {
			retry_later(wanted);
		} else if (!found || !uid_eq(wanted->owner, found->owner)) {
			nr = nr_given(reader, wanted->owner);
			found = nr < fewest ? wanted : found;
			fewest = min(nr, fewest);
			if (!nr)
				break;
		}
	}
	return found;
}

/*
 * Called if read() has not found the file of a request. Removes the request. But if another task
 * held mmap_lock (@was_locked), first lets read() try again, up to MAX_TRIES times in all.
 * If a process still needs the table, its next samples lead to a scan, which adds a new request.
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

/* Returns false if there is no request to read now, or if MAX_REMOVED requests were in vain. */
bool sfu_wanted_take(struct sfu_wanted_reader *reader, struct sfu_wanted_file *taken)
{
	struct wanted *wanted, copy;
	struct file *file;
	unsigned int i;

	for (i = 0; i < MAX_REMOVED; i++) {
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
	return false;
}

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
