/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function of the vDSO's getrandom() that no call frame information describes. */
#ifndef CHACHA_H
#define CHACHA_H

#include "elf.h"

u32 chacha_find(const struct elf *elf, u64 *start);

#endif /* CHACHA_H */
