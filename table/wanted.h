/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests for unwind tables. Programs read() the requests from the device. See table/wanted.c. */
#ifndef SFU_WANTED_H
#define SFU_WANTED_H

#include <linux/list.h>
#include <linux/wait.h>

#include "table/file_id.h"

struct cred;
struct file;
struct mm_struct;
struct pid;

/* An open file of /dev/sframe_unwind, from which a program reads requests for tables. */
struct sfu_wanted_reader {
	struct list_head	given;	/* requests read from this open file, not answered yet */
};

/* A request that read() of the device is about to return: a file or JIT code needs a table. */
struct sfu_wanted_file {
	struct file		*file;	/* file without a table, with a reference; NULL: JIT code */
	struct sfu_file_id	id;
	pid_t			pid;	/* PID in current's PID namespace; 0: not visible there */
	unsigned long		addr;
};

extern wait_queue_head_t sfu_wanted_wait;

/* sfu_wanted_has_reader() may be called in any context, NMI included. */
bool sfu_wanted_has_reader(void);

/* Functions that add, return or remove requests are called in task context, and may sleep. */
bool sfu_wanted_is_of_user(const struct cred *cred);
void sfu_wanted_add(const struct file *file, unsigned long addr);
void sfu_wanted_add_id(const struct sfu_file_id *id, unsigned long addr);
void sfu_wanted_answer(const struct sfu_file_id *id);
struct mm_struct *sfu_wanted_grab_mm(struct pid *pid, bool *is_of_user);
void sfu_wanted_open(struct sfu_wanted_reader *reader);
void sfu_wanted_close(struct sfu_wanted_reader *reader);
bool sfu_wanted_is_empty(void);
bool sfu_wanted_take(struct sfu_wanted_reader *reader, struct sfu_wanted_file *taken);
void sfu_wanted_give_back(const struct sfu_file_id *id);

#endif /* SFU_WANTED_H */
