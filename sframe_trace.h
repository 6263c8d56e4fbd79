/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracepoint sframe_unwind:sfu_walk reports where each walk began and ended, and why. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sframe_unwind

#if !defined(SFU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SFU_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(sfu_walk,

	TP_PROTO(unsigned long ip, unsigned long stop_ip, unsigned int nr_frames,
		 const char *reason),

	TP_ARGS(ip, stop_ip, nr_frames, reason),

	TP_STRUCT__entry(
		__field(unsigned long, ip)
		__field(unsigned long, stop_ip)
		__field(unsigned int, nr_frames)
		__string(reason, reason)
	),

	TP_fast_assign(
		__entry->ip = ip;
		__entry->stop_ip = stop_ip;
		__entry->nr_frames = nr_frames;
		memcpy(__get_str(reason), reason, __get_dynamic_array_len(reason));
	),

	TP_printk("ip=%lx stop_ip=%lx frames=%u reason=%s", __entry->ip,
		  __entry->stop_ip, __entry->nr_frames, __get_str(reason))
);

#endif /* SFU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sframe_trace
#include <trace/define_trace.h>
