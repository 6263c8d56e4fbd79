/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that are sampled, see chain-x86_64.S. */
#ifndef BENCH_CHAIN_H
#define BENCH_CHAIN_H

#define CHAIN_FUNCTIONS	4096
#define CHAIN_SIZE	32

#ifndef __ASSEMBLER__
extern char chain[CHAIN_FUNCTIONS][CHAIN_SIZE], leaves[CHAIN_FUNCTIONS][CHAIN_SIZE];

void enter_chain(void *top, unsigned long depth, void *first, void *leaf);
#endif

#endif /* BENCH_CHAIN_H */
