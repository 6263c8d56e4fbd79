// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of sha256.c with the messages of FIPS 180-2, appendix B, and around the size of a block. */
#include <stdio.h>

#include "sha256.h"

struct sha_case {
	const char	*name;
	const char	*text;
	unsigned int	times;
	const char	*want;
};

/* Those that are not of FIPS are by sha256sum. */
static const struct sha_case cases[] = {
	{ "nothing", "", 1,
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "one block", "abc", 1,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "two blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "a million bytes", "a", 1000000,
	  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	{ "55 bytes", "a", 55,
	  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
	{ "56 bytes", "a", 56,
	  "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
	{ "64 bytes", "a", 64,
	  "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
	{ "65 bytes, in pieces", "aaaaaaaaaaaaa", 5,
	  "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0" },
};

static void run(const struct sha_case *c)
{
	char got[2 * SHA256_SIZE + 1];
	u8 hash[SHA256_SIZE];
	struct sha256 sha;
	unsigned int i;

	sha256_init(&sha);
	for (i = 0; i < c->times; i++)
		sha256_add(&sha, c->text, strlen(c->text));
	sha256_end(&sha, hash);
	for (i = 0; i < SHA256_SIZE; i++)
		sprintf(got + 2 * i, "%02x", hash[i]);
	if (!strcmp(got, c->want))
		printf("ok - sha256: %s\n", c->name);
	else
		printf("not ok - sha256: %s: %s\n", c->name, got);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		run(&cases[i]);
	printf("1..%zu\n", ARRAY_SIZE(cases));
	return 0;
}
