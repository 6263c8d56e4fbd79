/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a process runs. */
#ifndef SFRAMECTL_PROCESS_H
#define SFRAMECTL_PROCESS_H

/* @path opens the file from here, @name is what the process calls it. */
typedef void (*process_file_fn)(void *arg, const char *path, const char *name);

const char *process_each_code_file(const char *pid, process_file_fn fn,
				   void *arg);

#endif /* SFRAMECTL_PROCESS_H */
