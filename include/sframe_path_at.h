/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a path is that follows the code from an instruction on, up to the end of its function:
 * see arch/ARCH/sframe_path.h.
 */
#ifndef SFRAME_PATH_AT_H
#define SFRAME_PATH_AT_H

enum sframe_path_at {
	SFRAME_PATH_ON,		/* at the next instruction */
	SFRAME_PATH_BRANCH,	/* at the next instruction, or at another one */
	SFRAME_PATH_JUMP,	/* at another instruction */
	SFRAME_PATH_CALL,	/* at a function that it calls */
	SFRAME_PATH_BACK,	/* after that call */
	SFRAME_PATH_RETURN,	/* it returns */
	SFRAME_PATH_SAVE,	/* it saves the return address, as a prologue does */
	SFRAME_PATH_RECORD,	/* it makes the frame pointer lead to a record */
	SFRAME_PATH_LOST,	/* nothing is known */
};

#endif /* SFRAME_PATH_AT_H */
