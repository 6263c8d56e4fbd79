// SPDX-License-Identifier: GPL-2.0-or-later
/* /dev/sframe_unwind: root loads unwind tables, and reads which files and processes need one. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include <uapi/sframe_unwind.h>

#include "compat.h"
#include "table/table.h"
#include "table/wanted.h"

/* Smallest sizes of the ioctl structures that programs may pass: the sizes of the first version. */
#define LOAD_SIZE_VER0		80
#define DROP_SIZE_VER0		8
#define FILE_SIZE_VER0		48
#define PROCESS_SIZE_VER0	72

static_assert(offsetofend(struct sframe_load, message) == LOAD_SIZE_VER0);
static_assert(offsetofend(struct sframe_drop, fd) == DROP_SIZE_VER0);
static_assert(offsetofend(struct sframe_file, nr_files) == FILE_SIZE_VER0);
static_assert(offsetofend(struct sframe_process, message) == PROCESS_SIZE_VER0);

/* Maximum length in bytes of a section to load. With twice, its copy may take 512 MiB. */
#define MAX_SECTION_SIZE	(256U << 20)

static int copy_sized(void *dst, size_t size, const void __user *src, size_t least)
{
	u32 user_size;

	if (get_user(user_size, (const u32 __user *)src))
		return -EFAULT;
	if (user_size < least || user_size > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(dst, size, src, user_size);
}

/* Returns the inode that stores the data of @file: on overlayfs, in the upper or lower layer. */
static struct inode *real_inode(const struct file *file)
{
	return d_real_inode(file->f_path.dentry);
}

static int put_message(u64 addr, u32 size, const char *text)
{
	size_t len = min_t(size_t, strlen(text) + 1, size);
	char __user *message = u64_to_user_ptr(addr);

	if (!addr || !len)
		return 0;
	if (copy_to_user(message, text, len - 1) || put_user('\0', message + len - 1))
		return -EFAULT;
	return 0;
}

/* Unlike vmemdup_user(), copy_section() charges the caller's memory cgroup, and logs no failure. */
static void *copy_section(u64 section, u64 size)
{
	void *bytes;

	if (!size)
		return NULL;
	if (size > MAX_SECTION_SIZE)
		return ERR_PTR(-EFBIG);
	bytes = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bytes)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(bytes, u64_to_user_ptr(section), size)) {
		kvfree(bytes);
		return ERR_PTR(-EFAULT);
	}
	return bytes;
}

static int dev_load(const struct sframe_load *load)
{
	struct sfu_table_source source = {
		.id.size = load->file_size,
		.id.changed = load->ctime * NSEC_PER_SEC + load->ctime_nsec,
		.addr = load->section_addr,
		.len = load->section_size,
		.nr_segments = load->nr_segments,
	};
	const bool is_vdso = load->flags & SFRAME_LOAD_VDSO;
	struct sframe_segment *segments;
	struct file *file;
	int err;

	err = put_message(load->message, load->message_size, "");
	if (err)
		return err;
	if (load->flags & ~SFRAME_LOAD_VDSO || load->nr_segments > SFRAME_SEGMENTS_MAX)
		return -EINVAL;
	file = is_vdso ? NULL : fget(load->fd);
	if (!file && !is_vdso)
		return -EBADF;
	source.inode = file ? real_inode(file) : NULL;
	segments = memdup_user(u64_to_user_ptr(load->segments),
			       load->nr_segments * sizeof(*segments));
	source.segments = segments;
	source.bytes = copy_section(load->section, load->section_size);
	err = PTR_ERR_OR_ZERO(segments) ?: PTR_ERR_OR_ZERO(source.bytes) ?:
	      sfu_load_table(&source);
	if (!IS_ERR(source.bytes))
		kvfree(source.bytes);
	if (!IS_ERR(segments))
		kfree(segments);
	if (file)
		fput(file);
	if (err)
		put_message(load->message, load->message_size, source.message);
	return err;
}

static int dev_process(const struct sframe_process *load)
{
	struct sfu_table_source source = { .len = load->section_size };
	int err;

	err = put_message(load->message, load->message_size, "");
	if (err)
		return err;
	source.bytes = copy_section(load->section, load->section_size);
	if (IS_ERR(source.bytes))
		return PTR_ERR(source.bytes);
	err = sfu_jit_load(load, &source);
	kvfree(source.bytes);
	if (err)
		put_message(load->message, load->message_size, source.message);
	return err;
}

static int dev_drop(const struct sframe_drop *drop)
{
	struct file *file;
	int err;

	if (drop->reserved || (drop->flags && drop->fd != -1))
		return -EINVAL;
	switch (drop->flags) {
	case SFRAME_DROP_ALL:
		sfu_files_drop_all();
		return 0;
	case SFRAME_DROP_TABLELESS:
		sfu_files_drop_tableless();
		return 0;
	case 0:
		break;
	default:
		return -EINVAL;
	}
	file = fget(drop->fd);
	if (!file)
		return -EBADF;
	err = sfu_files_drop(real_inode(file));
	fput(file);
	return err;
}

static int dev_list(struct sframe_file *entry, void __user *user)
{
	/* An older program passes a smaller structure: store only the members that it knows. */
	const size_t size = min_t(size_t, entry->size, sizeof(*entry));
	int err = sfu_files_list(entry);

	if (err)
		return err;
	entry->size = size;
	return copy_to_user(user, entry, size) ? -EFAULT : 0;
}

static long dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union {
		struct sframe_load	load;
		struct sframe_drop	drop;
		struct sframe_file	entry;
		struct sframe_process	process;
	} in;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(SFRAME_LOAD))
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(SFRAME_LOAD):
		return copy_sized(&in, sizeof(in.load), user, LOAD_SIZE_VER0) ?:
		       dev_load(&in.load);
	case _IOC_NR(SFRAME_DROP):
		return copy_sized(&in, sizeof(in.drop), user, DROP_SIZE_VER0) ?:
		       dev_drop(&in.drop);
	case _IOC_NR(SFRAME_LIST):
		return copy_sized(&in, sizeof(in.entry), user, FILE_SIZE_VER0) ?:
		       dev_list(&in.entry, user);
	case _IOC_NR(SFRAME_PROCESS):
		return copy_sized(&in, sizeof(in.process), user, PROCESS_SIZE_VER0) ?:
		       dev_process(&in.process);
	default:
		return -ENOTTY;
	}
}

/*
 * Opens a mapped file again, read-only, for a program that reads requests for tables. The program
 * does not get the open file of the mapping, because that one may be open for writing.
 */
static struct file *open_taken(const struct file *taken)
{
	/* With O_NONBLOCK, dentry_open() does not wait for the holder of a lease of the file. */
	struct file *file = dentry_open(&taken->f_path, O_RDONLY | O_LARGEFILE | O_NONBLOCK,
					current_cred());

	if (!(taken->f_path.dentry->d_flags & DCACHE_OP_REAL) ||
	    real_inode(taken) == file_inode(taken))
		return file;
	/* Before 6.7, if overlayfs copied up a mapped file, f_path opens the copy, not the file. */
	if (!IS_ERR(file))
		fput(file);
	return ERR_PTR(-ESTALE);
}

/* Stores a request in read()'s buffer, with a new descriptor of the file, or -1 for JIT code. */
static int give(const struct sfu_wanted_file *taken, struct sframe_wanted __user *buf)
{
	struct sframe_wanted wanted = { .size = sizeof(wanted), .fd = -1, .pid = taken->pid };
	struct file *file;
	int err;

	if (!taken->file) {
		wanted.cookie = taken->id.ino;
		wanted.addr = taken->addr;
		return copy_to_user(buf, &wanted, sizeof(wanted)) ? -EFAULT : 0;
	}
	wanted.fd = get_unused_fd_flags(O_CLOEXEC);
	if (wanted.fd < 0)
		return wanted.fd;
	file = open_taken(taken->file);
	err = PTR_ERR_OR_ZERO(file);
	if (!err && copy_to_user(buf, &wanted, sizeof(wanted))) {
		fput(file);
		err = -EFAULT;
	}
	if (err)
		put_unused_fd(wanted.fd);
	else
		fd_install(wanted.fd, file);
	return err;
}

/* Called after give() has failed. Returns true if read() goes on with the next request. */
static bool answer_error(const struct sfu_wanted_file *taken, int err)
{
	struct sfu_table_source source = { .id = taken->id };

	switch (err) {
	/* read() ends: it lacks memory, descriptors or a writable buffer, or is interrupted. */
	case -EFAULT:
	case -EINTR:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		sfu_wanted_give_back(&taken->id);
		return false;
	/*
	 * The file is leased; or overlayfs copied it up after it was mapped, see open_taken(). The
	 * file may have a table: only remove the request. The next scan may add it again.
	 */
	case -EWOULDBLOCK:
	case -ESTALE:
		break;
	/* The file cannot be opened: record that it has no table. */
	default:
		source.inode = file_inode(taken->file);
		sfu_load_table(&source);
	}
	sfu_wanted_answer(&taken->id);
	return true;
}

static ssize_t read_wanted(struct sfu_wanted_reader *reader, char __user *buf, size_t size)
{
	struct sfu_wanted_file taken;
	bool goes_on = true;
	size_t done = 0;
	int err = 0;

	while (goes_on && size - done >= sizeof(struct sframe_wanted) &&
	       sfu_wanted_take(reader, &taken)) {
		err = give(&taken, (void __user *)(buf + done));
		if (err)
			goes_on = answer_error(&taken, err);
		else
			done += sizeof(struct sframe_wanted);
		if (taken.file)
			fput(taken.file);
	}
	return done || goes_on ? done : err;
}

static ssize_t dev_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	ssize_t done;

	if (size < sizeof(struct sframe_wanted))
		return -EINVAL;
	while (!(done = read_wanted(file->private_data, buf, size))) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (signal_pending(current) ||
		    wait_event_interruptible(sfu_wanted_wait, !sfu_wanted_is_empty()))
			return -ERESTARTSYS;
	}
	return done;
}

static __poll_t dev_poll(struct file *file, struct poll_table_struct *table)
{
	poll_wait(file, &sfu_wanted_wait, table);
	return sfu_wanted_is_empty() ? 0 : EPOLLIN | EPOLLRDNORM;
}

static int dev_open(struct inode *inode, struct file *file)
{
	struct sfu_wanted_reader *reader = NULL;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* A program that opens the device only for writing loads tables, but reads no requests. */
	if (file->f_mode & FMODE_READ) {
		reader = kzalloc_obj(*reader, GFP_KERNEL_ACCOUNT);
		if (!reader)
			return -ENOMEM;
		sfu_wanted_open(reader);
	}
	file->private_data = reader;
	return 0;
}

static int dev_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		sfu_wanted_close(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations dev_fops = {
	.owner		= THIS_MODULE,
	.open		= dev_open,
	.release	= dev_release,
	.read		= dev_read,
	.poll		= dev_poll,
	.unlocked_ioctl	= dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice dev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "sframe_unwind",
	.fops	= &dev_fops,
	.mode	= 0600,
};

int sfu_device_init(void)
{
	return misc_register(&dev);
}

/* Called at unloading. The device is not open: an open file holds a reference of the module. */
void sfu_device_exit(void)
{
	misc_deregister(&dev);
}
