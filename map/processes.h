/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all processes whose mappings are known. See map/processes.c. */
#ifndef SFU_PROCESSES_H
#define SFU_PROCESSES_H

struct mm_struct;
struct sfu_map;
struct sfu_process;

/* Any context, under rcu_read_lock(). */
struct sfu_process *sfu_processes_find(struct mm_struct *mm);
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map);

/* Any context but NMI; does not sleep. */
void sfu_processes_end(struct mm_struct *mm);

/* Task context; may sleep. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm);
int sfu_processes_scan(struct mm_struct *mm);
void sfu_processes_open(void);
void sfu_processes_close(void);
void sfu_processes_exit(void);

#endif /* SFU_PROCESSES_H */
