// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader for the decoder that reads from a plain buffer. */
#include <stdint.h>

#include "buffer.h"

static int buffer_read(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct buffer_reader *buf = (struct buffer_reader *)
		((u8 *)rd - offsetof(struct buffer_reader, rd));
	u64 off = addr - buf->addr;

	if (off > buf->size || len > buf->size - off)
		return -EFAULT;
	memcpy(dst, buf->data + off, len);
	return 0;
}

void buffer_reader_init(struct buffer_reader *buf, const void *data, u64 addr,
			u64 size)
{
	*buf = (struct buffer_reader){
		.rd.read = buffer_read,
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
