/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places where stacks ended: in which file, at which offset, and why. */
#ifndef SFRAMECTL_PLACE_H
#define SFRAMECTL_PLACE_H

#include "process.h"
#include "sampler.h"

/* These limits bound the memory. What goes beyond is counted without its place. */
#define PLACES_MAX	8192		/* a power of two */
#define PLACE_OBJECTS	256
#define PLACE_REASONS	32

/* Objects that are none. */
#define PLACE_ANY	PLACE_OBJECTS		/* it does not matter which */
#define PLACE_GONE	(PLACE_OBJECTS + 1)	/* the process had ended */
#define PLACE_MORE	(PLACE_OBJECTS + 2)	/* there was no room for another place */

/**
 * struct place_object - code that stacks ended in
 * @code: the file, or the kind of memory
 * @file: the file, opened while it was mapped
 * @language: the runtime that made the code; NULL: it is not known, or there is a file
 * @error: why there is no file; empty: there is one, or @code.no_elf is set
 * @no_table: why no table can be made of the file; empty: one can, or nobody has tried
 * @size: bytes of code, if a table can be made; else 0
 * @covered: how many of them this table describes
 */
struct place_object {
	struct code	code;
	struct file	file;
	const struct language *language;
	char		error[160];
	char		no_table[200];
	u64		size;
	u64		covered;
};

/**
 * struct place - a place in an object, and how many stacks ended there
 * @object: index of the object, or PLACE_ANY, PLACE_GONE or PLACE_MORE
 * @reason: index of the reason
 * @off: offset in the file, or in the mapping
 * @count: number of stacks; 0: this entry is free
 */
struct place {
	u16	object;
	u16	reason;
	u64	off;
	u64	count;
};

/**
 * struct place_mapping - a mapping that was found lately
 * @pid: the process
 * @start: the first address
 * @end: the first address after it
 * @off: offset in the file of @start
 * @object: index of its object
 * @until: from then on it may have been replaced; in ms
 */
struct place_mapping {
	u32	pid;
	u64	start;
	u64	end;
	u64	off;
	u16	object;
	u64	until;
};

#define PLACE_MAPPINGS	1024
#define PLACE_NEIGHBOURS	16	/* entries where the mapping of a process may be */

/**
 * struct places - all places
 * @all: the places, by hash
 * @nr: number of places that are not free
 * @objects: the objects
 * @nr_objects: their number
 * @reasons: the names of reasons
 * @nr_reasons: their number
 * @mappings: by hash
 */
struct places {
	struct place		all[PLACES_MAX];
	u32			nr;
	struct place_object	objects[PLACE_OBJECTS];
	u32			nr_objects;
	char			reasons[PLACE_REASONS][SAMPLER_REASON];
	u32			nr_reasons;
	struct place_mapping	mappings[PLACE_MAPPINGS];
};

void places_add(struct places *places, const struct sampler_end *end, bool is_anywhere);
void places_free(struct places *places);

#endif /* SFRAMECTL_PLACE_H */
