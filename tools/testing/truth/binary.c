// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs and libraries. "sframectl convert" makes their tables. A table file that is already
 * there is used as it is: a test can put a wrong one there.
 */
#include <err.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary.h"
#include "grow.h"
#include "object.h"

struct symbol {
	u64	addr;
	u64	size;
	char	*name;
};

const char *binary_sframectl, *binary_tables;

static struct binary *all;

static void make_directories(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

/* Runs sframectl convert. Returns whether there is a table. */
static bool make_table(const char *path, const char *dir)
{
	int status, fd;
	pid_t pid;

	pid = fork();
	if (!pid) {
		fd = open("/dev/null", O_WRONLY);
		dup2(fd, 1);
		dup2(fd, 2);
		execl(binary_sframectl, binary_sframectl, "convert", "-o", dir, path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", binary_sframectl);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		errx(1, "%s convert %s failed", binary_sframectl, path);
	return !status;
}

static void read_table(struct binary *binary, const char *table)
{
	struct object obj;
	const char *error = object_open(&obj, table);
	u8 *bytes;

	if (error || !obj.place)
		errx(1, "%s: %s", table, error ?: "no .sframe");
	bytes = malloc(obj.size);
	if (!bytes)
		err(1, "%s", table);
	memcpy(bytes, obj.data, obj.size);
	binary->table = (struct walker_table){
		.bytes = bytes,
		.len = obj.size,
		.addr = obj.addr,
	};
	object_close(&obj);
}

static void find_table(struct binary *binary, const char *path)
{
	char *table, *copy;

	if (asprintf(&table, "%s%s.sframe", binary_tables, path) < 0)
		err(1, "%s", path);
	make_directories(table);
	copy = strdup(table);
	if (access(table, R_OK) == 0 || make_table(path, dirname(copy)))
		read_table(binary, table);
	free(copy);
	free(table);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return one->addr < other->addr ? -1 : one->addr > other->addr;
}

static void add_symbols(struct binary *binary, const struct elf *elf,
			const struct elf_section *table)
{
	struct elf_symbol sym;
	struct symbol *symbols;
	const char *name;
	u32 i;

	for (i = 0; elf_get_symbol(elf, table, i, &sym); i++) {
		if (sym.type != STT_FUNC || !sym.section)
			continue;
		symbols = grow(binary->symbols, binary->nr_symbols, sizeof(*symbols));
		if (!symbols)
			err(1, "symbols");
		name = elf_strptr(elf->handle, table->link, sym.name);
		symbols[binary->nr_symbols++] = (struct symbol){
			sym.value, sym.size, strdup(name ?: "?"),
		};
		binary->symbols = symbols;
	}
}

static void read_symbols(struct binary *binary, const struct elf *elf)
{
	struct elf_section sec;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if (sec.type == SHT_SYMTAB || sec.type == SHT_DYNSYM)
			add_symbols(binary, elf, &sec);
	if (binary->nr_symbols)
		qsort(binary->symbols, binary->nr_symbols, sizeof(*binary->symbols),
		      compare_symbols);
}

static void read_segments(struct binary *binary, const struct elf *elf)
{
	struct elf_segment seg, *segments;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg); i++) {
		if (seg.type != PT_LOAD || !(seg.flags & PF_X))
			continue;
		segments = grow(binary->segments, binary->nr_segments, sizeof(*segments));
		if (!segments)
			err(1, "segments");
		segments[binary->nr_segments++] = seg;
		binary->segments = segments;
	}
}

static void read_elf(struct binary *binary, const char *path)
{
	struct file file;
	struct elf elf;

	if (file_open(&file, path))
		return;
	if (!elf_init(&elf, &file)) {
		read_segments(binary, &elf);
		read_symbols(binary, &elf);
		find_table(binary, path);
	}
	elf_close(&elf);
	file_close(&file);
}

/* Copies the vDSO to a file, whose name it returns. */
static char *copy_vdso(struct memory *mem, u64 start, u64 end)
{
	u64 size = end - start;
	u8 *bytes = malloc(size);
	char *path;
	FILE *file;

	if (asprintf(&path, "%s/vdso.so", binary_tables) < 0 || !bytes)
		err(1, "vdso");
	file = fopen(path, "we");
	if (!file || !memory_read(mem, bytes, start, size) || fwrite(bytes, size, 1, file) != 1 ||
	    fclose(file))
		err(1, "%s", path);
	free(bytes);
	return path;
}

static struct binary *add(const char *name)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	if (!binary)
		err(1, "%s", name);
	binary->name = strdup(name);
	binary->nr = all ? all->nr + 1 : 1;
	binary->next = all;
	all = binary;
	return binary;
}

/**
 * binary_get() - the file of a mapping
 * @name: as /proc/PID/maps has it
 * @mem: the memory that it is mapped in
 * @start: its first address
 * @end: one past its last address
 *
 * Return: The file.
 */
struct binary *binary_get(const char *name, struct memory *mem, u64 start, u64 end)
{
	struct binary *binary;
	char *vdso;

	for (binary = all; binary; binary = binary->next)
		if (!strcmp(binary->name, name))
			return binary;
	binary = add(name);
	if (name[0] == '/') {
		read_elf(binary, name);
	} else if (!strcmp(name, "[vdso]")) {
		vdso = copy_vdso(mem, start, end);
		read_elf(binary, vdso);
		free(vdso);
	}
	return binary;
}

static const struct elf_segment *find_segment(const struct binary *binary, u64 off)
{
	unsigned int i;

	for (i = 0; i < binary->nr_segments; i++) {
		const struct elf_segment *segment = &binary->segments[i];

		if (off >= (segment->off & ~4095ull) && off < segment->off + segment->filesz)
			return segment;
	}
	return NULL;
}

/* May the page at this offset be executed? */
bool binary_has_code(const struct binary *binary, u64 off)
{
	return find_segment(binary, off);
}

/* What is added to the addresses that were linked, for a mapping of the file. */
u64 binary_bias(const struct binary *binary, u64 map_start, u64 map_off)
{
	const struct elf_segment *segment = find_segment(binary, map_off);

	return map_start - map_off - (segment ? segment->addr - segment->off : 0);
}

/* The last symbol at or before an address; NULL: there is none. */
static const struct symbol *find_symbol(const struct binary *binary, u64 addr)
{
	unsigned int lo = 0, hi = binary->nr_symbols;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (binary->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &binary->symbols[lo - 1] : NULL;
}

/**
 * binary_symbol() - the name of a function
 * @binary: the file
 * @addr: an address, as it was linked
 * @start: set to the address of the symbol
 *
 * Return: The name of the last symbol before the address, or "?".
 */
const char *binary_symbol(const struct binary *binary, u64 addr, u64 *start)
{
	const struct symbol *symbol = find_symbol(binary, addr);

	*start = symbol ? symbol->addr : 0;
	return symbol ? symbol->name : "?";
}

/**
 * binary_function() - tell functions apart
 * @binary: the file
 * @addr: an address, as it was linked
 *
 * Return: Where the function begins. Functions between two symbols are one: they begin at the end
 * of the first.
 */
u64 binary_function(const struct binary *binary, u64 addr)
{
	const struct symbol *symbol = find_symbol(binary, addr);

	if (!symbol)
		return 0;
	return addr - symbol->addr < symbol->size ? symbol->addr : symbol->addr + symbol->size;
}
