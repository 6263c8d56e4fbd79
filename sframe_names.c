// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the counters in debugfs. User-space programs that contain the unwinder use them, too. */
#include "sframe_stats.h"

const char *const sfu_stop_names[] = {
	[SFU_STOP_NONE] = "none",
	[SFU_STOP_COMPLETE] = "complete",
	[SFU_STOP_ENTRYPOINT] = "start",
	[SFU_STOP_FULL] = "full",
	[SFU_STOP_NODATA] = "nodata",
	[SFU_STOP_UNSCANNED] = "unscanned",
	[SFU_STOP_EXEC] = "exec",
	[SFU_STOP_SWITCH] = "task-switch",
	[SFU_STOP_NO_REGS] = "entry",
	[SFU_STOP_STACK] = "stack-fault",
	[SFU_STOP_SECTION] = "section-fault",
	[SFU_STOP_BAD] = "bad-section",
	[SFU_STOP_REFUSED] = "refused",
	[SFU_STOP_BUDGET] = "budget",
	[SFU_STOP_CFA] = "bad-cfa",
	[SFU_STOP_RA] = "bad-ra",
	[SFU_STOP_REGISTER] = "register",
	[SFU_STOP_SIGNAL] = "bad-signal",
};

const char *const sfu_method_names[] = {
	[SFU_METHOD_SFRAME] = "sframe",
	[SFU_METHOD_FP] = "fp",
	[SFU_METHOD_FP_HABIT] = "fp-habit",
	[SFU_METHOD_SIGNAL] = "signal",
};

const char *const sfu_decline_names[] = {
	[SFU_DECLINE_DISABLED] = "disabled",
	[SFU_DECLINE_KTHREAD] = "kthread",
	[SFU_DECLINE_GUEST] = "guest",
	[SFU_DECLINE_COMPAT] = "compat",
	[SFU_DECLINE_NOSECTION] = "no-section",
};
