/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reader for the decoder that reads from a plain buffer. */
#ifndef SFRAMECTL_BUFFER_H
#define SFRAMECTL_BUFFER_H

#include "sframe_core.h"

/**
 * struct buffer_reader - a buffer that the decoder reads as memory
 * @rd: the decoder's reader
 * @data: the bytes
 * @addr: the address of the first byte
 * @size: number of bytes
 */
struct buffer_reader {
	struct sframe_reader	rd;
	const u8		*data;
	u64			addr;
	u64			size;
};

void buffer_reader_init(struct buffer_reader *buf, const void *data, u64 addr,
			u64 size);
void buffer_reader_refill(struct buffer_reader *buf);

#endif /* SFRAMECTL_BUFFER_H */
