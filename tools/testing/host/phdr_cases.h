/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF headers by hand, each with the place of the section that the module must find. */
#ifndef TEST_PHDR_CASES_H
#define TEST_PHDR_CASES_H

/* Prints one line of TAP for each case. Return: number of cases. */
int run_phdr_cases(void);

#endif /* TEST_PHDR_CASES_H */
