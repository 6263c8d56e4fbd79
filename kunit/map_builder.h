/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds process maps by hand. Tests also read the state of a range by these functions. */
#ifndef MAP_BUILDER_H
#define MAP_BUILDER_H

#include "map/map.h"

struct file;
struct kunit;

struct sfu_map *build_map(struct kunit *test, unsigned int nr);
void build_range(struct sfu_map *map, unsigned int i, unsigned long start, unsigned long len);
void build_file(struct sfu_range *range, const struct file *file);
void renumber(struct sfu_range *range);

int read_header(struct sfu_range *range, unsigned long addr, u32 len);
void mark_as_bad(struct sfu_range *range);
void mark_as_unmapped(struct sfu_range *range);
const char *state_text(const struct sfu_range *range);
bool is_ready(const struct sfu_range *range);
bool is_bad(const struct sfu_range *range);
bool is_unmapped(const struct sfu_range *range);

#endif /* MAP_BUILDER_H */
