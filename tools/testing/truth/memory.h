/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process that is stepped. */
#ifndef TRUTH_MEMORY_H
#define TRUTH_MEMORY_H

#include <sys/types.h>

#include "sframe_types.h"

struct memory;

struct memory *memory_open(pid_t pid);
void memory_close(struct memory *mem);
void memory_moved_on(struct memory *mem);
void memory_mapped(struct memory *mem);
bool memory_read(struct memory *mem, void *dst, u64 addr, size_t len);
bool memory_read_code(struct memory *mem, void *dst, u64 addr, size_t len);
bool memory_word(struct memory *mem, u64 addr, u64 *word);

#endif /* TRUTH_MEMORY_H */
