/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps programs of one architecture, and keeps the shadow stacks of their threads. */
#ifndef TRUTH_TRACER_H
#define TRUTH_TRACER_H

#include "thread.h"

void tracer_start(char **argv, bool skip_loader);
struct thread *tracer_step(void);
void tracer_stop(void);

#endif /* TRUTH_TRACER_H */
