// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>

static int numbers[1000];

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noipa)) static int work(void)
{
	char text[64];
	int i, total = 0;

	for (i = 0; i < 1000; i++) {
		numbers[i] = i * 7919 % 1000;
		total += snprintf(text, sizeof(text), "%d %s", i, "text");
	}
	qsort(numbers, 1000, sizeof(numbers[0]), compare);
	return total + numbers[0];
}

__attribute__((noipa)) static int deep(int n)
{
	return n ? deep(n - 1) + 1 : work();
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		deep(20);
}
