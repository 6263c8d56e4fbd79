// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader for the decoder that reads from a plain buffer. */
#include <stdint.h>

#include "buffer.h"

void buffer_reader_init(struct buffer_reader *buf, const void *data, u64 addr,
			u64 size)
{
	*buf = (struct buffer_reader){
		.rd = { .bytes = data, .addr = addr, .len = size },
		.data = data,
		.addr = addr,
		.size = size,
	};
	buffer_reader_refill(buf);
}

/* A tool has no budget: the size of the file bounds its time. */
void buffer_reader_refill(struct buffer_reader *buf)
{
	buf->rd.budget = UINT32_MAX;
	buf->rd.defect = SFRAME_DEFECT_NONE;
}
