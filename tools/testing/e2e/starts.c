// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * starts - a program that spends its time under main(), in threads, or in a callback of libc
 *
 * Only this program has SFrame data. So its stacks end at the code of libc that calls
 * it: the code that starts the program, or a thread, or qsort().
 *
 * starts program|threads|callback MILLISECONDS
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "chain.h"

static volatile sig_atomic_t is_over;

static void on_alarm(int number)
{
	is_over = 1;
}

static LINK long works(long x)
{
	for (int i = 0; i < 100; i++)
		x = opaque(x * 3 + i);
	return x;
}

/* Calls no libc: a sample there would end in its first frame. */
static LINK void spins(void)
{
	long x = 1;

	while (!is_over)
		x += works(x);
}

static void *thread(void *unused)
{
	spins();
	return NULL;
}

static int compare(const void *a, const void *b)
{
	spins();
	return *(const int *)a - *(const int *)b;
}

static void run_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int numbers[] = { 2, 1 };
	struct itimerval alarm = {};

	if (argc != 3) {
		fprintf(stderr, "usage: starts program|threads|callback MILLISECONDS\n");
		return 2;
	}
	signal(SIGALRM, on_alarm);
	alarm.it_value.tv_sec = atoi(argv[2]) / 1000;
	alarm.it_value.tv_usec = atoi(argv[2]) % 1000 * 1000;
	setitimer(ITIMER_REAL, &alarm, NULL);
	if (!strcmp(argv[1], "threads"))
		run_threads();
	else if (!strcmp(argv[1], "callback"))
		qsort(numbers, 2, sizeof(numbers[0]), compare);
	else
		spins();
	return 0;
}
