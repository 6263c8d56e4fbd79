/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracepoint nmi_sampler:nmi, which runs in each NMI.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nmi_sampler

#if !defined(NMI_SAMPLER_H) || defined(TRACE_HEADER_MULTI_READ)
#define NMI_SAMPLER_H

#include <linux/tracepoint.h>

/* The code that an NMI interrupted. */
#define HIT_USER	0
#define HIT_KERNEL	1
#define HIT_ENTRY	2	/* kernel, where the user's registers are stored or loaded */
#define HIT_SWITCH	3	/* kernel, while the memory is not that of current */

TRACE_EVENT(nmi,

	TP_PROTO(unsigned int hit, unsigned long ax),

	TP_ARGS(hit, ax),

	TP_STRUCT__entry(
		__field(unsigned int, hit)
		__field(unsigned long, ax)
	),

	TP_fast_assign(
		__entry->hit = hit;
		__entry->ax = ax;
	),

	/* Where a system call enters, ax is its number. */
	TP_printk("ax=%ld hit=%s", __entry->ax,
		  __print_symbolic(__entry->hit, { HIT_USER, "user" },
				   { HIT_KERNEL, "kernel" },
				   { HIT_ENTRY, "entry" },
				   { HIT_SWITCH, "switch" }))
);

#endif /* NMI_SAMPLER_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nmi_sampler
#include <trace/define_trace.h>
