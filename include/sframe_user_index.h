/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index, or the directory, of a section that is mapped. See task/sframe_user_index.c.
 */
#ifndef SFU_USER_INDEX_H
#define SFU_USER_INDEX_H

#include <linux/types.h>

struct sfu_section;

/* Task context; may sleep. */
int sfu_user_index_add(struct sfu_section *section, size_t most);
int sfu_user_index_has_parts(const struct sfu_section *section);
int sfu_user_index_list(struct sfu_section *section, size_t most);
size_t sfu_user_index_size(const struct sfu_section *section);

/* Any context but NMI. @section is of any source. */
void sfu_user_index_get(struct sfu_section *section);
void sfu_user_index_put(struct sfu_section *section);

#endif /* SFU_USER_INDEX_H */
