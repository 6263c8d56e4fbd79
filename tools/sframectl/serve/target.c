// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the memory of a process, and finds the ELF files and their symbols in it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "grow.h"
#include "target.h"

#define TEXT_MAX	(16u << 20)

static char *read_text(int fd)
{
	char *text = malloc(TEXT_MAX + 1);
	ssize_t part = 1;
	u32 len = 0;

	while (text && len < TEXT_MAX && part > 0) {
		part = read(fd, text + len, TEXT_MAX - len);
		len += part > 0 ? part : 0;
	}
	if (text)
		text[len] = 0;
	return text;
}

/* A line of maps: start-end rights offset device inode name. */
static bool read_line(const char *line, struct mapping *mapping)
{
	unsigned long long start, end, off, inode;
	char rights[5];
	int name = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %llu %n", &start, &end, rights, &off, &inode,
		   &name) != 5 || !name || start >= end)
		return false;
	*mapping = (struct mapping){
		.start = start, .end = end, .off = off, .inode = inode,
		.is_readable = rights[0] == 'r', .is_code = rights[2] == 'x', .name = line + name,
	};
	return true;
}

/**
 * target_thread - find a thread of a process that has its memory
 * @pid: the process
 *
 * If the first thread has ended, the mem, maps and exe of the process in /proc are empty, those of
 * its other threads are not.
 *
 * Return: its TID; @pid if there is none, or if it may not be read.
 */
pid_t target_thread(pid_t pid)
{
	pid_t thread = pid;
	struct dirent *entry;
	char path[64], byte;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, &byte, 1) == 1 || errno != ENOENT)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/exe", pid, entry->d_name);
		if (entry->d_name[0] != '.' && readlink(path, &byte, 1) == 1) {
			thread = atoi(entry->d_name);
			break;
		}
	}
	if (threads)
		closedir(threads);
	return thread;
}

/**
 * target_open - read the mappings of a process
 * @target: filled in
 * @mem: its /proc/PID/mem
 * @maps: its /proc/PID/maps, at the beginning
 *
 * Return: NULL, or the error as a text. The caller calls target_close() in both cases.
 */
const char *target_open(struct target *target, int mem, int maps)
{
	struct mapping mapping, *all;
	char *line, *rest;

	*target = (struct target){ .mem = mem, .text = read_text(maps) };
	if (!target->text)
		return "out of memory";
	rest = target->text;
	while ((line = strsep(&rest, "\n")) && target->nr < TARGET_ENTRIES_MAX) {
		if (!read_line(line, &mapping))
			continue;
		all = grow(target->all, target->nr, sizeof(*all));
		if (!all)
			return "out of memory";
		target->all = all;
		all[target->nr++] = mapping;
	}
	return target->nr ? NULL : "has no memory: it has ended";
}

void target_close(struct target *target)
{
	free(target->all);
	free(target->text);
	*target = (struct target){};
}

/* Return: false if one of the bytes cannot be read. */
bool target_read(const struct target *target, u64 addr, void *bytes, u64 size)
{
	return addr <= INT64_MAX && pread(target->mem, bytes, size, addr) == (ssize_t)size;
}

/* Return: the word at @addr; 0 if it cannot be read. */
u64 target_word(const struct target *target, u64 addr)
{
	u64 word;

	return target_read(target, addr, &word, sizeof(word)) ? word : 0;
}

/* Reads a text that is shorter than @size. A page after its end may be missing. */
bool target_string(const struct target *target, u64 addr, char *text, u32 size)
{
	ssize_t len = addr <= INT64_MAX ? pread(target->mem, text, size, addr) : -1;

	return len > 0 && memchr(text, 0, len);
}

/**
 * target_copy - copy bytes of a process
 * @target: the process
 * @addr: address of the first byte
 * @size: number of bytes; all copies have TARGET_COPIES_MAX at most
 *
 * Return: the bytes, which the caller frees; NULL if they cannot be read, or are too many.
 */
u8 *target_copy(struct target *target, u64 addr, u64 size)
{
	u8 *bytes;

	if (!size || size > TARGET_COPIES_MAX - target->copied)
		return NULL;
	target->copied += size;
	bytes = malloc(size);
	if (bytes && !target_read(target, addr, bytes, size)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Return: the mapping that has @addr, or NULL. */
const struct mapping *target_find(const struct target *target, u64 addr)
{
	u32 low = 0, high = target->nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (addr < target->all[middle].start)
			high = middle;
		else if (addr >= target->all[middle].end)
			low = middle + 1;
		else
			return &target->all[middle];
	}
	return NULL;
}

/**
 * target_image - read the headers of an ELF file in memory
 * @target: the process
 * @addr: address of the file's first byte
 * @image: filled in
 *
 * Return: false if there is none.
 */
bool target_image(const struct target *target, u64 addr, struct image *image)
{
	Elf64_Ehdr header;
	u32 i;

	if (!target_read(target, addr, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > ARRAY_SIZE(image->segments) || header.e_phoff > TARGET_COPIES_MAX)
		return false;
	image->nr = header.e_phnum;
	if (!target_read(target, addr + header.e_phoff, image->segments,
			 image->nr * sizeof(Elf64_Phdr)))
		return false;
	for (i = 0; i < image->nr; i++)
		if (image->segments[i].p_type == PT_LOAD) {
			image->bias = addr + image->segments[i].p_offset -
				      image->segments[i].p_vaddr;
			return image->segments[i].p_offset == 0;
		}
	return false;
}

/* The dynamic section: what is needed of it. */
struct dynamic {
	u64	symbols;
	u64	names;
	u64	hash;
};

/* glibc has added the bias to addresses in the dynamic section, musl has not. */
static u64 dynamic_address(const struct image *image, u64 addr)
{
	return addr < image->bias ? addr + image->bias : addr;
}

static bool find_dynamic(const struct target *target, const struct image *image,
			 struct dynamic *dynamic)
{
	Elf64_Dyn entries[128] = {};
	u64 size = 0, addr = 0;
	u32 i;

	for (i = 0; i < image->nr; i++)
		if (image->segments[i].p_type == PT_DYNAMIC) {
			addr = image->segments[i].p_vaddr + image->bias;
			size = min_t(u64, image->segments[i].p_memsz, sizeof(entries));
		}
	*dynamic = (struct dynamic){};
	if (!size || !target_read(target, addr, entries, size))
		return false;
	for (i = 0; i < ARRAY_SIZE(entries) && entries[i].d_tag != DT_NULL; i++) {
		u64 value = dynamic_address(image, entries[i].d_un.d_ptr);

		if (entries[i].d_tag == DT_SYMTAB)
			dynamic->symbols = value;
		if (entries[i].d_tag == DT_STRTAB)
			dynamic->names = value;
		if (entries[i].d_tag == DT_GNU_HASH)
			dynamic->hash = value;
	}
	return dynamic->symbols && dynamic->names && dynamic->hash;
}

static u32 gnu_hash(const char *name)
{
	u32 hash = 5381;

	while (*name)
		hash = hash * 33 + (u8)*name++;
	return hash;
}

static u32 read_u32(const struct target *target, u64 addr)
{
	u32 value;

	return target_read(target, addr, &value, sizeof(value)) ? value : 0;
}

/* Return: the address of a symbol, if its name is @name; else 0. */
static u64 match_symbol(const struct target *target, const struct image *image,
			const struct dynamic *dynamic, u32 index, const char *name)
{
	char found[64];
	Elf64_Sym sym;

	if (!target_read(target, dynamic->symbols + index * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF ||
	    !target_string(target, dynamic->names + sym.st_name, found, sizeof(found)) ||
	    strcmp(found, name))
		return 0;
	return sym.st_value + image->bias;
}

/**
 * target_symbol - find a symbol of an ELF file in memory, by the table of its loader
 * @target: the process
 * @image: the file
 * @name: of the symbol, shorter than 64 bytes
 *
 * Return: its address, or 0.
 */
u64 target_symbol(const struct target *target, const struct image *image, const char *name)
{
	u32 header[4], hash = gnu_hash(name), index, i, value;
	struct dynamic dynamic;
	u64 buckets, chains, found;

	/* The header: number of buckets, first symbol, words of the filter, a shift. */
	if (!find_dynamic(target, image, &dynamic) ||
	    !target_read(target, dynamic.hash, header, sizeof(header)) || !header[0])
		return 0;
	buckets = dynamic.hash + sizeof(header) + header[2] * 8ull;
	chains = buckets + header[0] * 4ull;
	index = read_u32(target, buckets + hash % header[0] * 4ull);
	for (i = 0; index >= header[1] && index && i < 1024; i++, index++) {
		value = read_u32(target, chains + (index - header[1]) * 4ull);
		found = (value | 1) == (hash | 1) ?
			match_symbol(target, image, &dynamic, index, name) : 0;
		if (found || value & 1)
			return found;
	}
	return 0;
}
