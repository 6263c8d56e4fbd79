// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot, the Java VM of OpenJDK: finds the code that it has made. libjvm.so describes its own
 * structures for debuggers (vmStructs): names of types and of members, and their offsets.
 * A member that a version does not have costs what needs it: nothing is guessed.
 *
 * HotSpot knows the size of each compiled method's frame. It has no list of the instructions
 * that make the frame and remove it: hotspot_code.c follows the code.
 */
#include <stdlib.h>

#include "hotspot_code.h"
#include "runtime.h"

enum member {
	CACHE_HEAPS, ARRAY_LEN, ARRAY_DATA, HEAP_MEMORY, HEAP_SEGMENT_SHIFT, SPACE_LOW, SPACE_HIGH,
	BLOCK_LENGTH, BLOCK_USED, BLOB_NAME, BLOB_SIZE, BLOB_FRAME_SIZE, BLOB_OOP_MAPS,
	BLOB_CODE_BEGIN, BLOB_CODE_END, BLOB_CODE_OFFSET, BLOB_DATA_OFFSET, CALL_RETURN,
	INTERPRETER_CODE, QUEUE_BUFFER, QUEUE_BEGIN, QUEUE_END, CODELET_TEXT, CODELET_SIZE,
	CODELET_BYTECODE, NR_MEMBERS
};

static const struct {
	const char	*type;
	const char	*name;
} members[NR_MEMBERS] = {
	[CACHE_HEAPS] = { "CodeCache", "_heaps" },
	[ARRAY_LEN] = { "GrowableArrayBase", "_len" },
	[ARRAY_DATA] = { "GrowableArray<int>", "_data" },
	[HEAP_MEMORY] = { "CodeHeap", "_memory" },
	[HEAP_SEGMENT_SHIFT] = { "CodeHeap", "_log2_segment_size" },
	[SPACE_LOW] = { "VirtualSpace", "_low" },
	[SPACE_HIGH] = { "VirtualSpace", "_high" },
	[BLOCK_LENGTH] = { "HeapBlock::Header", "_length" },
	[BLOCK_USED] = { "HeapBlock::Header", "_used" },
	[BLOB_NAME] = { "CodeBlob", "_name" },
	[BLOB_SIZE] = { "CodeBlob", "_size" },
	[BLOB_FRAME_SIZE] = { "CodeBlob", "_frame_size" },
	[BLOB_OOP_MAPS] = { "CodeBlob", "_oop_maps" },
	[BLOB_CODE_BEGIN] = { "CodeBlob", "_code_begin" },
	[BLOB_CODE_END] = { "CodeBlob", "_code_end" },
	[BLOB_CODE_OFFSET] = { "CodeBlob", "_code_offset" },
	[BLOB_DATA_OFFSET] = { "CodeBlob", "_data_offset" },
	[CALL_RETURN] = { "StubRoutines", "_call_stub_return_address" },
	[INTERPRETER_CODE] = { "AbstractInterpreter", "_code" },
	[QUEUE_BUFFER] = { "StubQueue", "_stub_buffer" },
	[QUEUE_BEGIN] = { "StubQueue", "_queue_begin" },
	[QUEUE_END] = { "StubQueue", "_queue_end" },
	[CODELET_TEXT] = { "InterpreterCodelet", "_description" },
	[CODELET_SIZE] = { "InterpreterCodelet", "_size" },
	[CODELET_BYTECODE] = { "InterpreterCodelet", "_bytecode" },
};

/* Larger than all structures that are read here. */
#define BLOB_HEAD	512
#define CODE_MAX	(4u << 20)
#define STRUCTS_MAX	16384

/**
 * struct hotspot - a Java VM
 * @runtime: where its code goes to
 * @target: its process
 * @value: of each member its offset; of a static one its address; ~0: there is none
 * @head: the beginning of the present block: its header, and the blob
 * @code: room for the bytes of code
 * @nr_blobs: how many there were
 */
struct hotspot {
	struct runtime		*runtime;
	const struct target	*target;
	u64			value[NR_MEMBERS];
	u8			head[BLOB_HEAD];
	u8			*code;
	u32			nr_blobs;
};

/* ---- vmStructs ---- */

/* Where an entry of vmStructs has what. */
enum { TYPE_NAME, FIELD_NAME, IS_STATIC, OFFSET, ADDRESS, STRIDE, NR_PARTS };

#define PART_MAX	64

static const char *const part_names[NR_PARTS] = {
	[TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[STRIDE] = "gHotSpotVMStructEntryArrayStride",
};

static u64 part_of(const u8 *entry, u64 off)
{
	u64 value;

	memcpy(&value, entry + off, sizeof(value));
	return value;
}

static void take_member(struct hotspot *vm, const char *type, const u8 *entry, const u64 *parts)
{
	bool is_static = (u32)part_of(entry, parts[IS_STATIC]);
	char name[64];
	u32 i;

	if (!target_string(vm->target, part_of(entry, parts[FIELD_NAME]), name, sizeof(name)))
		return;
	for (i = 0; i < NR_MEMBERS; i++)
		if (!strcmp(type, members[i].type) && !strcmp(name, members[i].name))
			vm->value[i] = part_of(entry, parts[is_static ? ADDRESS : OFFSET]);
}

static bool is_needed(const char *type)
{
	u32 i;

	for (i = 0; i < NR_MEMBERS; i++)
		if (!strcmp(type, members[i].type))
			return true;
	return false;
}

/* The entries of one type follow each other. */
static void read_members(struct hotspot *vm, u64 list, const u64 *parts)
{
	u8 entry[PART_MAX + sizeof(u64)];
	u64 last = 0, name;
	char type[64];
	bool is_good = false;
	u32 i;

	for (i = 0; i < STRUCTS_MAX; i++, list += parts[STRIDE]) {
		if (!target_read(vm->target, list, entry, sizeof(entry)))
			return;
		name = part_of(entry, parts[TYPE_NAME]);
		if (!name)
			return;
		if (name != last)
			is_good = target_string(vm->target, name, type, sizeof(type)) &&
				  is_needed(type);
		last = name;
		if (is_good)
			take_member(vm, type, entry, parts);
	}
}

/* Return: false if the file is not libjvm.so, or an unknown version of it. */
static bool read_structs(struct hotspot *vm, const struct image *image)
{
	const struct target *target = vm->target;
	u64 list, parts[NR_PARTS];
	u32 i;

	list = target_symbol(target, image, "gHotSpotVMStructs");
	if (!list)
		return false;
	list = target_word(target, list);
	for (i = 0; i < NR_PARTS; i++) {
		u64 symbol = target_symbol(target, image, part_names[i]);

		parts[i] = symbol ? target_word(target, symbol) : ~0ull;
		if (parts[i] > PART_MAX)
			return false;
	}
	memset(vm->value, 0xff, sizeof(vm->value));
	read_members(vm, list, parts);
	for (i = 0; i <= BLOB_OOP_MAPS; i++)
		if (vm->value[i] == ~0ull)
			return false;
	return true;
}

/* A word of the process, at a member of a structure. */
static u64 get_word(const struct hotspot *vm, u64 addr, enum member member)
{
	return target_word(vm->target, addr + vm->value[member]);
}

static u32 get_u32(const struct hotspot *vm, u64 addr, enum member member)
{
	return get_word(vm, addr, member);
}

/* A word of the blob whose beginning has been read, which is @size bytes into the block. */
static u64 blob_word(const struct hotspot *vm, u32 size, enum member member)
{
	u64 word, off = size + vm->value[member];

	if (vm->value[member] > BLOB_HEAD || off > BLOB_HEAD - sizeof(word))
		return 0;
	memcpy(&word, vm->head + off, sizeof(word));
	return word;
}

/* ---- code ---- */

static void add_code(struct hotspot *vm, u64 start, const u32 *depths, u32 size)
{
	struct cfi_row *rows;
	u32 nr;

	rows = hotspot_make_rows(depths, size, &nr);
	if (rows && (nr > 1 || !rows->hole))
		runtime_add(vm->runtime, start, size, rows, nr, false);
	free(rows);
}

/* HotSpot itself walks the stack at these return addresses: the whole frame is there. */
static void add_calls(const struct hotspot *vm, u64 maps, u32 *depths, u32 size, u32 frame)
{
	u32 i, nr = target_word(vm->target, maps), off;

	for (i = 0; maps && i < nr && i < TARGET_ENTRIES_MAX; i++) {
		off = target_word(vm->target, maps + 8 + i * 8ull);
		if (!off || off >= size)
			continue;
		depths[off - 1] = frame;
		depths[off] = frame;
	}
}

static void read_code(struct hotspot *vm, u32 head, u64 start, u32 size, const char *name)
{
	u32 i, frame = blob_word(vm, head, BLOB_FRAME_SIZE);
	bool is_native = !strcmp(name, "native nmethod");
	u32 *depths;

	if (frame > HOTSPOT_FRAME_MAX / 8 || !target_read(vm->target, start, vm->code, size))
		return;
	depths = calloc(size, sizeof(*depths));
	if (!depths)
		return;
	frame *= 8;
	if (!strcmp(name, "vtable chunks")) {
		for (i = 0; i < size; i++)
			depths[i] = HOTSPOT_ENTRY;
	} else if (frame >= 16) {
		if (is_native || !strcmp(name, "nmethod"))
			hotspot_follow(vm->code, depths, size, frame, is_native);
		if (*depths == HOTSPOT_HOLE)
			add_calls(vm, blob_word(vm, head, BLOB_OOP_MAPS), depths, size, frame);
	}
	add_code(vm, start, depths, size);
	free(depths);
}

/* @blob: the address of a blob, whose beginning is @head bytes into what has been read. */
static void read_blob(struct hotspot *vm, u64 blob, u32 head, u64 room)
{
	u64 start = blob_word(vm, head, BLOB_CODE_BEGIN), end;
	char name[64];

	if (vm->value[BLOB_CODE_BEGIN] != ~0ull) {
		end = blob_word(vm, head, BLOB_CODE_END);
	} else {
		start = blob + (u32)blob_word(vm, head, BLOB_CODE_OFFSET);
		end = blob + (u32)blob_word(vm, head, BLOB_DATA_OFFSET);
	}
	if (start < blob || end <= start || end > blob + room || end - start > CODE_MAX ||
	    !target_string(vm->target, blob_word(vm, head, BLOB_NAME), name, sizeof(name)))
		return;
	read_code(vm, head, start, end - start, name);
}

static void read_heap(struct hotspot *vm, u64 heap)
{
	u64 space = heap + vm->value[HEAP_MEMORY];
	u64 block = get_word(vm, space, SPACE_LOW), end = get_word(vm, space, SPACE_HIGH), size;
	u32 shift = get_u32(vm, heap, HEAP_SEGMENT_SHIFT);
	/* The length is a size_t or, since version 23, a u32, which ends where _used begins. */
	u64 used = vm->value[BLOCK_USED], length = used - vm->value[BLOCK_LENGTH];
	u32 head = (used + 8) & ~7ull;

	if (shift > 16 || used > 32 || length > used || (length != 8 && length != 4))
		return;
	for (; block < end && vm->nr_blobs < TARGET_ENTRIES_MAX; vm->nr_blobs++, block += size) {
		memset(vm->head, 0, sizeof(vm->head));
		if (!target_read(vm->target, block, vm->head, min_t(u64, end - block, BLOB_HEAD)))
			return;
		size = 0;
		memcpy(&size, vm->head + vm->value[BLOCK_LENGTH], length);
		if (!size || size > (end - block) >> shift)
			return;
		size <<= shift;
		if (vm->head[used] && size > head)
			read_blob(vm, block + head, head, size - head);
	}
}

/* ---- the interpreter ---- */

/* Has the code a frame from its first to its last instruction? */
static bool has_frame(const char *text)
{
	static const char *const parts[] = { "return entry points", "invoke return entry points" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(text, parts[i]))
			return true;
	return false;
}

/* A codelet has a header, and its code ends with it. What is before the code is not executed. */
static void read_codelet(struct hotspot *vm, u64 codelet, u32 size)
{
	s32 bytecode = get_u32(vm, codelet, CODELET_BYTECODE);
	u64 text = get_word(vm, codelet, CODELET_TEXT);
	struct cfi_row row = hotspot_interpreter_row();
	char name[64];

	if (!target_string(vm->target, text, name, sizeof(name)))
		return;
	/* These remove the frame: returns, and athrow. */
	if (bytecode < 0 ? has_frame(name) : !strstr(name, "return") && strcmp(name, "athrow"))
		runtime_add(vm->runtime, codelet, size, &row, 1, false);
}

static void read_interpreter(struct hotspot *vm)
{
	u64 queue, codelet, end;
	u32 i, size;

	for (i = INTERPRETER_CODE; i < NR_MEMBERS; i++)
		if (vm->value[i] == ~0ull)
			return;
	queue = target_word(vm->target, vm->value[INTERPRETER_CODE]);
	codelet = get_word(vm, queue, QUEUE_BUFFER);
	end = codelet + get_u32(vm, queue, QUEUE_END);
	codelet += get_u32(vm, queue, QUEUE_BEGIN);
	for (i = 0; codelet < end && i < TARGET_ENTRIES_MAX; i++, codelet += size) {
		size = get_u32(vm, codelet, CODELET_SIZE);
		if (size > end - codelet || !size)
			return;
		read_codelet(vm, codelet, size);
	}
}

/* The VM calls Java by one piece of code, which keeps a frame pointer. */
static void read_call(struct hotspot *vm)
{
	u64 addr = vm->value[CALL_RETURN];
	static const u32 depths[2] = { HOTSPOT_FP, HOTSPOT_FP };

	addr = addr == ~0ull ? 0 : target_word(vm->target, addr);
	if (addr)
		add_code(vm, addr - 1, depths, ARRAY_SIZE(depths));
}

static void read_vm(struct hotspot *vm)
{
	u64 heaps = target_word(vm->target, vm->value[CACHE_HEAPS]);
	u64 data = get_word(vm, heaps, ARRAY_DATA);
	u32 i, nr = get_u32(vm, heaps, ARRAY_LEN);

	for (i = 0; i < nr && i < 16; i++)
		read_heap(vm, target_word(vm->target, data + i * 8));
	read_interpreter(vm);
	read_call(vm);
}

/**
 * hotspot_read - add the code of a Java VM
 * @runtime: the runtime
 */
void hotspot_read(struct runtime *runtime)
{
	const struct target *target = runtime->target;
	struct hotspot *vm = calloc(1, sizeof(*vm));
	struct image image;
	u32 i;

	if (!vm || runtime->machine->machine != EM_X86_64)
		goto free_vm;
	vm->runtime = runtime;
	vm->target = target;
	vm->code = malloc(CODE_MAX);
	for (i = 0; vm->code && i < target->nr; i++) {
		const struct mapping *mapping = &target->all[i];
		const char *name = strrchr(mapping->name, '/');

		if (mapping->off || !name || strncmp(name, "/libjvm.so", 10) ||
		    !target_image(target, mapping->start, &image) || !read_structs(vm, &image))
			continue;
		read_vm(vm);
		break;
	}
	free(vm->code);
free_vm:
	free(vm);
}
