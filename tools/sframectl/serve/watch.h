/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes whose runtimes serve looks at, again and again. */
#ifndef WATCH_H
#define WATCH_H

#include "device.h"

#define WATCH_MAX	64

/**
 * struct watched - a process
 * @pid: its PID; 0: there is none
 * @cookie: of its memory: another program in the process has another one
 * @owner: its user
 * @at: when it is read the next time, in ms
 * @pause: ms between this time and the last
 * @digest: of its tables, when they were loaded
 * @is_read: a child reads it
 * @was_killed: the last child that read it took too long
 */
struct watched {
	pid_t	pid;
	u64	cookie;
	uid_t	owner;
	u64	at;
	u64	pause;
	u64	digest;
	bool	is_read;
	bool	was_killed;
};

/**
 * struct watch - all of them
 * @all: the processes
 * @nr_read: how many are read at this moment
 */
struct watch {
	struct watched	all[WATCH_MAX];
	u32		nr_read;
};

bool watch_is_empty(const struct watch *watch);
void watch_add(struct watch *watch, int device, pid_t pid, u64 cookie, uid_t owner);
struct watched *watch_next(struct watch *watch);
void watch_give_up(struct watch *watch, struct watched *watched);
const char *watch_load(struct watch *watch, struct watched *watched, int device,
		       const struct worker *worker);

#endif /* WATCH_H */
