/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256, as FIPS 180-4 has it. */
#ifndef SHA256_H
#define SHA256_H

#include "sframe_types.h"

#define SHA256_SIZE	32
#define SHA256_BLOCK	64

/**
 * struct sha256 - a hash that is being computed
 * @state: the hash of the blocks so far
 * @len: bytes so far
 * @block: those that do not fill a block yet
 */
struct sha256 {
	u32	state[8];
	u64	len;
	u8	block[SHA256_BLOCK];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, u64 len);
void sha256_end(struct sha256 *sha, u8 hash[SHA256_SIZE]);

#endif /* SHA256_H */
