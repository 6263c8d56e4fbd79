// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists a section as a text that tests compare. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "listing.h"
#include "text.h"

__printf(2, 3)
static void append(struct listing *list, const char *format, ...)
{
	size_t room = sizeof(list->text) - list->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(list->text + list->len, room, format, args);
	va_end(args);
	list->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void list_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	struct listing *list = arg;

	(void)index;
	append(list, "blob %u %x\n", blob->sec.version, blob->sec.flags);
}

static void list_fde(void *arg, const struct scan_blob *blob, u32 index,
		     const struct sframe_fde *fde)
{
	struct listing *list = arg;
	s64 start = fde->start - blob->sec.addr;

	(void)index;
	append(list, "fde %s0x%" PRIx64 " %u", start < 0 ? "-" : "",
	       start < 0 ? -(u64)start : (u64)start, fde->size);
	if (fde->pcmask)
		append(list, " mask%u", fde->rep_size);
	append(list, "%s%s%s\n", fde->flex ? " flex" : "",
	       fde->signal ? " signal" : "", fde->pauth_key_b ? " key-b" : "");
}

static void list_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct listing *list = arg;
	struct row_text text;

	row_to_text(blob->sec.abi, row, &text);
	append(list, "  %x %s %s %s%s\n", row->start, text.cfa, text.fp, text.ra,
	       row->ra_mangled ? " [s]" : "");
	list->nr_rows++;
}

static void list_defect(void *arg, const struct scan_place *place,
			enum sframe_defect defect)
{
	struct listing *list = arg;
	char where[64];

	list->unnamed += defect == SFRAME_DEFECT_NONE;
	append(list, "! %s %s\n", scan_place_text(place, where, sizeof(where)),
	       sframe_defect_names[defect]);
}

void listing_make(struct listing *list, const u8 *data, u64 addr, u64 size)
{
	static const struct scan_ops ops = {
		.blob = list_blob,
		.fde = list_fde,
		.row = list_row,
		.defect = list_defect,
	};

	memset(list, 0, sizeof(*list));
	list->result = scan(data, addr, size, &ops, list);
}
