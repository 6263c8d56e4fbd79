/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for code of one process, which no file describes. See table/jit.c. */
#ifndef SFU_JIT_H
#define SFU_JIT_H

#include <linux/types.h>

struct sframe_process;
struct sfu_map;
struct sfu_process;
struct sfu_section;
struct sfu_table_source;

/*
 * Tables of a process, and the part of the memory for all tables that they may take: an eighth.
 * Halved, a JIT compiler with many mappings has code without rows; doubled, one process may take a
 * quarter of all tables.
 */
#define SFU_JIT_TABLES_MAX	64
#define SFU_JIT_SHARE		8

/* Task context; may sleep. */
int sfu_jit_load(const struct sframe_process *load, struct sfu_table_source *source);

/* Of current, after a scan. */
void sfu_jit_ask(struct sfu_process *process);

/* Of a scan: under &sfu_process.lock. */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section);
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end);

/* Under rcu_read_lock(): any context; any context but NMI. Do not sleep. */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr);
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end);

#endif /* SFU_JIT_H */
