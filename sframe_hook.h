/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks: ftrace calls a function of the module at the entry of a kernel function. */
#ifndef SFU_HOOK_H
#define SFU_HOOK_H

#include <linux/types.h>

struct ftrace_ops;

int sfu_hook(struct ftrace_ops *ops, const char *function);
int sfu_hook_required(struct ftrace_ops *ops, const char *function);
void sfu_unhook(struct ftrace_ops *ops);
void sfu_hook_exit(void);

bool sfu_hook_is_alive(void);
void sfu_hook_abandon(void);

#endif /* SFU_HOOK_H */
