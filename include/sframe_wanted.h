/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are wanted: a sampled process has mapped them, and there is no table. See
 * task/sframe_wanted.c.
 */
#ifndef SFU_WANTED_H
#define SFU_WANTED_H

#include <linux/list.h>
#include <linux/wait.h>

#include "sframe_file.h"

struct cred;
struct file;

/**
 * struct sfu_wanted_reader - somebody who makes tables
 * @given: what the reader has got and not answered
 */
struct sfu_wanted_reader {
	struct list_head	given;
};

/**
 * struct sfu_wanted_file - a file that a reader takes
 * @file: the file, with a reference
 * @id: its identity
 * @pid: a process that has mapped it, as current numbers them; 0: current cannot see it
 */
struct sfu_wanted_file {
	struct file		*file;
	struct sfu_file_id	id;
	pid_t			pid;
};

extern wait_queue_head_t sfu_wanted_wait;

/* Task context; may sleep. */
bool sfu_wanted_is_of_user(const struct cred *cred);
void sfu_wanted_add(const struct file *file, unsigned long addr);
void sfu_wanted_answer(const struct sfu_file_id *id);
void sfu_wanted_open(struct sfu_wanted_reader *reader);
void sfu_wanted_close(struct sfu_wanted_reader *reader);
bool sfu_wanted_is_empty(void);
bool sfu_wanted_take(struct sfu_wanted_reader *reader, struct sfu_wanted_file *taken);
void sfu_wanted_give_back(const struct sfu_file_id *id);

#endif /* SFU_WANTED_H */
