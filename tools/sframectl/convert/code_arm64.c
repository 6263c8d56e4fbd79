// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions of AArch64 are not read yet: each path ends at the first one. */
#include "code_insn.h"

void code_arm64_decode(const u8 *bytes, struct code_insn *insn)
{
	(void)bytes;
	insn->size = 4;
	insn->flow = CODE_ODD;
}
