// SPDX-License-Identifier: GPL-2.0-or-later
/* Two thousand functions, for a section of many pages: cold_run() calls each in turn. */

#define F(n) \
	__attribute__((noinline)) long cold_##n(long x) \
	{ \
		long y = cold_leaf(x ^ n); \
		return y + n; \
	}
#define TEN(n)		F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) \
			F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define HUNDRED(n)	TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) \
			TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n)	HUNDRED(n##0) HUNDRED(n##1) HUNDRED(n##2) HUNDRED(n##3) HUNDRED(n##4) \
			HUNDRED(n##5) HUNDRED(n##6) HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)

__attribute__((noinline)) static long cold_leaf(long x)
{
	for (int i = 0; i < 20000; i++)
		__asm__ volatile("" : "+r" (x));
	return x + 1;
}

THOUSAND(1)
THOUSAND(2)

#undef F
#define F(n) cold_##n,
static long (*const functions[])(long x) = { THOUSAND(1) THOUSAND(2) };

__attribute__((noinline, visibility("default"))) long cold_run(long x)
{
	static unsigned int next;

	/* 2000 and 619 have no common divisor: each has its turn. */
	next = (next + 619) % 2000;
	return functions[next](x) + 1;
}
