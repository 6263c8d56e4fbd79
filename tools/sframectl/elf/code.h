/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the code of an ELF file is: of these bytes each share of code is a part. */
#ifndef SFRAMECTL_CODE_H
#define SFRAMECTL_CODE_H

#include "elf.h"
#include "ranges.h"

void code_find(struct ranges *code, const struct elf *elf);

#endif /* SFRAMECTL_CODE_H */
