// SPDX-License-Identifier: GPL-2.0-or-later
/* SHA-256. The names of variables are those of FIPS 180-4. */
#include "sha256.h"

static const u32 K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static u32 rotr(u32 x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static u32 big_endian(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void fill_schedule(u32 W[64], const u8 *block)
{
	unsigned int t;

	for (t = 0; t < 16; t++)
		W[t] = big_endian(block + 4 * t);
	for (; t < 64; t++) {
		u32 s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
		u32 s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;

		W[t] = s1 + W[t - 7] + s0 + W[t - 16];
	}
}

static void add_block(u32 H[8], const u8 *block)
{
	u32 a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
	unsigned int t;
	u32 W[64];

	fill_schedule(W, block);
	for (t = 0; t < 64; t++) {
		u32 S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
		u32 S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
		u32 T1 = h + S1 + ((e & f) ^ (~e & g)) + K[t] + W[t];
		u32 T2 = S0 + ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + T1;
		d = c;
		c = b;
		b = a;
		a = T1 + T2;
	}
	H[0] += a;
	H[1] += b;
	H[2] += c;
	H[3] += d;
	H[4] += e;
	H[5] += f;
	H[6] += g;
	H[7] += h;
}

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256){
		.state = {
			0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
		},
	};
}

void sha256_add(struct sha256 *sha, const void *bytes, u64 len)
{
	const u8 *from = bytes;

	while (len) {
		u32 used = sha->len % SHA256_BLOCK;
		u32 part = min_t(u64, len, SHA256_BLOCK - used);

		memcpy(sha->block + used, from, part);
		sha->len += part;
		from += part;
		len -= part;
		if (used + part == SHA256_BLOCK)
			add_block(sha->state, sha->block);
	}
}

/* Adds a bit, zeros up to the end of a block, and the length in bits. */
void sha256_end(struct sha256 *sha, u8 hash[SHA256_SIZE])
{
	u64 bits = 8 * sha->len;
	unsigned int i;
	u8 length[8];

	for (i = 0; i < 8; i++)
		length[i] = bits >> (56 - 8 * i);
	sha256_add(sha, "\x80", 1);
	while (sha->len % SHA256_BLOCK != SHA256_BLOCK - sizeof(length))
		sha256_add(sha, "", 1);
	sha256_add(sha, length, sizeof(length));
	for (i = 0; i < SHA256_SIZE; i++)
		hash[i] = sha->state[i / 4] >> (24 - 8 * (i % 4));
}
