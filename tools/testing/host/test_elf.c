// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the ELF reader of sframectl: test_elf FILE...
 *
 * Each FILE is damaged in many small ways, and the reader reads each damaged copy. It
 * must not touch bytes outside of the file, and each defect must have a name.
 */
#include <stdio.h>

#include "guard.h"
#include "object.h"
#include "scan.h"

#define MAX_SIZE	65536

static void look_at_defect(void *arg, const struct scan_place *place,
			   enum sframe_defect defect)
{
	bool *all_named = arg;

	(void)place;
	*all_named &= defect != SFRAME_DEFECT_NONE;
}

/* Without this, a reader that finds nothing would pass all other tests. */
static bool read_undamaged(const u8 *bytes, u64 size)
{
	struct file file = file_of_bytes(bytes, size);
	struct object obj;
	bool found;

	found = !object_init(&obj, &file) && obj.place && obj.size;
	object_close(&obj);
	return found;
}

/* Return: true if all checks hold. */
static bool read_damaged(const u8 *bytes, u64 size)
{
	static const struct scan_ops ops = { .defect = look_at_defect };
	bool all_named = true;
	struct file file = file_of_bytes(guard_copy(bytes, size), size);
	struct object obj;

	if (!object_init(&obj, &file) && obj.place)
		scan(obj.data, obj.addr, obj.size, &ops, &all_named);
	object_close(&obj);
	return all_named;
}

static bool truncated(u8 *bytes, u64 size)
{
	bool ok = true;
	u64 len;

	for (len = 0; len <= size; len++)
		ok &= read_damaged(bytes, len);
	return ok;
}

static bool flipped(u8 *bytes, u64 size)
{
	bool ok = true;
	u64 bit;

	for (bit = 0; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		ok &= read_damaged(bytes, size);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	return ok;
}

/* Overwrites @len bytes with @value, at each place of the file. */
static bool overwritten(u8 *bytes, u64 size, u8 value, u64 len)
{
	bool ok = true;
	u8 saved[8];
	u64 i;

	for (i = 0; i + len <= size; i++) {
		memcpy(saved, bytes + i, len);
		memset(bytes + i, value, len);
		ok &= read_damaged(bytes, size);
		memcpy(bytes + i, saved, len);
	}
	return ok;
}

static void test(const char *path)
{
	static u8 bytes[MAX_SIZE];
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file) {
		printf("not ok - damaged %s: cannot open\n", path);
		return;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	printf("%s - undamaged %s\n", read_undamaged(bytes, size) ? "ok" : "not ok", path);
	printf("%s - truncated %s\n", truncated(bytes, size) ? "ok" : "not ok", path);
	printf("%s - flipped %s\n", flipped(bytes, size) ? "ok" : "not ok", path);
	printf("%s - overwritten %s\n",
	       overwritten(bytes, size, 0xff, 4) &&
	       overwritten(bytes, size, 0xff, 8) &&
	       overwritten(bytes, size, 0x00, 8) ? "ok" : "not ok", path);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		test(argv[i]);
	printf("1..%d\n", 4 * (argc - 1));
	return 0;
}
