// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cold-fs - a file system with one file; reads of some of its pages end late, or never
 *
 * cold-fs FILE START SIZE MS MOUNTPOINT: MOUNTPOINT/file has the bytes of FILE. A
 * read of the SIZE bytes from START ends after MS milliseconds. MS 0: once somebody has
 * looked up MOUNTPOINT/silent, it never ends. MOUNTPOINT/direct has the same bytes, and
 * mmap() of it drops its cached pages (FOPEN_DIRECT_IO).
 *
 * Whoever reads waits for the answer, even if it only reads ahead (no FUSE_ASYNC_READ).
 * The kernel sends no other request in the background until one is answered.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 35
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char *const names[] = { NULL, NULL, "file", "direct" };	/* by inode */
enum { DIR_INODE = 1, FILE_INODE = 2, DIRECT_INODE = 3 };

static int fd;
static off_t late_start, late_end;
static long late_ms;
static volatile bool is_silent;

static void attributes(fuse_ino_t ino, struct stat *st)
{
	fstat(fd, st);
	st->st_ino = ino;
	if (ino == DIR_INODE)
		st->st_mode = S_IFDIR | 0755;
}

static void init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->want &= ~FUSE_CAP_ASYNC_READ;
	conn->max_background = 1;
	conn->congestion_threshold = 1;
	conn->max_read = PAGE;
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = { .attr_timeout = 1e6, .entry_timeout = 1e6 };

	(void)parent;
	is_silent |= !strcmp(name, "silent");
	for (fuse_ino_t ino = FILE_INODE; ino <= DIRECT_INODE; ino++)
		if (!strcmp(name, names[ino]))
			entry.ino = ino;
	if (!entry.ino) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	attributes(entry.ino, &entry.attr);
	fuse_reply_entry(req, &entry);
}

static void get_attributes(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	attributes(ino, &st);
	fuse_reply_attr(req, &st, 1e6);
}

static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->keep_cache = 1;
	fi->direct_io = ino == DIRECT_INODE;
	fuse_reply_open(req, fi);
}

struct late {
	fuse_req_t req;
	off_t off;
};

static void reply(fuse_req_t req, off_t off)
{
	char page[PAGE];
	ssize_t n = pread(fd, page, PAGE, off);

	fuse_reply_buf(req, page, n < 0 ? 0 : n);
}

static void *reply_late(void *arg)
{
	struct late *late = arg;

	usleep(late_ms * 1000);
	reply(late->req, late->off);
	free(late);
	return NULL;
}

static void read_file(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	struct late *late;
	pthread_t thread;

	(void)ino;
	(void)fi;
	if (size > PAGE) {
		fuse_reply_err(req, EIO);
		return;
	}
	if (off < late_start || off >= late_end || (!late_ms && !is_silent)) {
		reply(req, off);
		return;
	}
	if (!late_ms)
		return;
	late = malloc(sizeof(*late));
	*late = (struct late){ .req = req, .off = off };
	pthread_create(&thread, NULL, reply_late, late);
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	static const struct fuse_lowlevel_ops ops = {
		.init = init,
		.lookup = lookup,
		.getattr = get_attributes,
		.open = open_file,
		.read = read_file,
	};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session;

	if (argc != 6)
		errx(2, "usage: cold-fs FILE START SIZE MS MOUNTPOINT");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		err(1, "%s", argv[1]);
	late_start = atol(argv[2]);
	late_end = late_start + atol(argv[3]);
	late_ms = atol(argv[4]);
	if (fuse_opt_add_arg(&args, argv[0]) || fuse_opt_add_arg(&args, "-omax_read=4096"))
		errx(1, "no memory");
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!session || fuse_session_mount(session, argv[5]))
		errx(1, "cannot mount on %s", argv[5]);
	if (daemon(0, 0))
		err(1, "daemon");
	return fuse_session_loop(session) != 0;
}
