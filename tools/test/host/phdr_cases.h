/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF headers by hand, each with where the module sees the section. */
#ifndef TEST_PHDR_CASES_H
#define TEST_PHDR_CASES_H

/* Prints one line of TAP for each case. Return: how many. */
int run_phdr_cases(void);

#endif /* TEST_PHDR_CASES_H */
