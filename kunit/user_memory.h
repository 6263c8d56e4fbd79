/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a process, for the test that runs. KUnit gives real mappings to the test's thread, and
 * removes them after the test.
 */
#ifndef USER_MEMORY_H
#define USER_MEMORY_H

#include <linux/types.h>

struct kunit;
struct sframe_header;
struct sframe_reader;
struct sframe_row;

unsigned long user_map(struct kunit *test, u32 nr);
void user_allow(struct kunit *test, unsigned long page);
void user_forbid(struct kunit *test, unsigned long page);
void user_store(struct kunit *test, unsigned long addr, const void *bytes, u32 len);

int read_user_header(struct sframe_header *hdr, struct sframe_reader *rd, unsigned long addr,
		     u32 len);
int find_user_row_now(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		      struct sframe_row *row);
int find_user_row(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		  struct sframe_row *row);

#endif /* USER_MEMORY_H */
