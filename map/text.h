/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the code of a range, to find out its habit. See map/text.c. */
#ifndef SFU_TEXT_H
#define SFU_TEXT_H

#include "map/habit.h"

struct sfu_prefault;
struct sfu_range;
struct vm_area_struct;

enum sframe_habit sfu_text_habit(struct sfu_range *range, const struct vm_area_struct *vma,
				 bool needs_all, struct sfu_prefault *prefault,
				 unsigned int *nr_pieces);

#endif /* SFU_TEXT_H */
