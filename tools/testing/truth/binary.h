/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program or library, with its table and the names of its functions. */
#ifndef TRUTH_BINARY_H
#define TRUTH_BINARY_H

#include "memory.h"
#include "walker.h"

struct symbol;
struct elf_segment;

/**
 * struct binary - a file with code
 * @next: the next one of all
 * @nr: names it
 * @name: its path, or what /proc says instead
 * @table: its table; empty if it has none
 * @segments: executable segments
 * @nr_segments: how many
 * @symbols: functions, by address
 * @nr_symbols: how many
 */
struct binary {
	struct binary		*next;
	unsigned int		nr;
	char			*name;
	struct walker_table	table;
	struct elf_segment	*segments;
	unsigned int		nr_segments;
	struct symbol		*symbols;
	unsigned int		nr_symbols;
};

/* How tables are made, and the directory that keeps them. */
extern const char *binary_sframectl, *binary_tables;

struct binary *binary_get(const char *name, struct memory *mem, u64 start, u64 end);
bool binary_has_code(const struct binary *binary, u64 off);
u64 binary_bias(const struct binary *binary, u64 map_start, u64 map_off);
const char *binary_symbol(const struct binary *binary, u64 addr, u64 *start);
u64 binary_function(const struct binary *binary, u64 addr);

#endif /* TRUTH_BINARY_H */
