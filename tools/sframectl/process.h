/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the files that a process has mapped as code. */
#ifndef SFRAMECTL_PROCESS_H
#define SFRAMECTL_PROCESS_H

/* @path opens the file in this process; @name is its name in the other process. */
typedef void (*process_file_fn)(void *arg, const char *path, const char *name);

const char *process_each_code_file(const char *pid, process_file_fn fn,
				   void *arg);

#endif /* SFRAMECTL_PROCESS_H */
