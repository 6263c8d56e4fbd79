/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function of glibc that PLTs of AArch64 go on to. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include "cfi_row.h"

void resolver_raise_cfa(const struct cfi_machine *machine, struct cfi_row *rows, u32 nr);

#endif /* RESOLVER_H */
