/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code at which the kernel starts a program, or its loader. */
#ifndef START_H
#define START_H

#include "elf.h"

u32 start_size(const struct elf *elf);

#endif /* START_H */
