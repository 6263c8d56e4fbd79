// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls the functions of assembly.S, from code that keeps no frame pointers. */
#include <stdio.h>

typedef long function(long n);

function easy_leaf, easy_pushes, easy_record, easy_loop;
function easy_calls, easy_tail, hard_kept, hard_saved;

static function *volatile functions[] = {
	easy_leaf, easy_pushes, easy_record, easy_loop,
	easy_calls, easy_tail, hard_kept, hard_saved,
};

static __attribute__((__noinline__)) long call_all(long n)
{
	long sum = 0;
	unsigned int i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		sum += functions[i](n);
	return sum;
}

int main(void)
{
	long i, sum = 0;

	for (i = 1; i <= 200; i++)
		sum += call_all(i % 9 + 1);
	printf("assembly: %ld\n", sum);
	return 0;
}
