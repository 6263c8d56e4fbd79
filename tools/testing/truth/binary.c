// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs and libraries. "sframectl convert" makes their tables. A table file that is already
 * there is used as it is: a test can put a wrong one there.
 */
#include <err.h>
#include <fcntl.h>
#include <gelf.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary.h"
#include "object.h"

struct segment {
	u64	addr;
	u64	off;
	u64	size;
};

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

static void add_symbols(struct binary *binary, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;
	const char *name;
	GElf_Sym sym;

	binary->symbols = reallocarray(binary->symbols, binary->nr_symbols + nr,
				       sizeof(*binary->symbols));
	for (i = 0; i < nr; i++) {
		if (!gelf_getsym(data, i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    !sym.st_shndx)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		binary->symbols[binary->nr_symbols++] = (struct symbol){
			sym.st_value, sym.st_size, strdup(name ?: "?"),
		};
	}
}

static void read_symbols(struct binary *binary, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM)
			add_symbols(binary, elf, scn, &shdr);
	}
	qsort(binary->symbols, binary->nr_symbols, sizeof(*binary->symbols), compare_symbols);
}

static void read_segments(struct binary *binary, Elf *elf)
{
	size_t i, nr = 0;
	GElf_Phdr phdr;

	elf_getphdrnum(elf, &nr);
	binary->segments = calloc(nr + 1, sizeof(*binary->segments));
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X))
			continue;
		binary->segments[binary->nr_segments++] = (struct segment){
			phdr.p_vaddr, phdr.p_offset, phdr.p_filesz,
		};
	}
}

static void read_elf(struct binary *binary, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		read_segments(binary, elf);
		read_symbols(binary, elf);
		find_table(binary, path);
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
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

static const struct segment *find_segment(const struct binary *binary, u64 off)
{
	unsigned int i;

	for (i = 0; i < binary->nr_segments; i++) {
		const struct segment *segment = &binary->segments[i];

		if (off >= (segment->off & ~4095ull) && off < segment->off + segment->size)
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
	const struct segment *segment = find_segment(binary, map_off);

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
