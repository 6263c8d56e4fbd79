// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The places where stacks ended. A place outlives its process: /proc is read, and the file opened,
 * when the first stack ends there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "language.h"
#include "place.h"

#define MAPPING_MS	1000	/* for which a mapping is taken to stay where it is */

static u64 mix(u64 a, u64 b)
{
	u64 hash = (a ^ (b * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;

	return hash ^ hash >> 32;
}

/* Return: the index of the name; the last one stands for all that there is no room for. */
static u16 reason_of(struct places *places, const char *name)
{
	u32 i;

	for (i = 0; i < places->nr_reasons; i++)
		if (!strcmp(places->reasons[i], name))
			return i;
	if (places->nr_reasons == PLACE_REASONS)
		return PLACE_REASONS - 1;
	snprintf(places->reasons[i], SAMPLER_REASON, "%s", name);
	return places->nr_reasons++;
}

static bool is_object(const struct place_object *object, const struct code *code,
		      const struct language *language)
{
	return object->code.major == code->major && object->code.minor == code->minor &&
	       object->code.inode == code->inode && object->language == language &&
	       (code->inode || !strcmp(object->code.name, code->name));
}

/* Opens the file as long as it is mapped. */
static void open_object(struct place_object *object, const char *pid)
{
	struct process process = { .pid = pid };
	const char *error = process_open(&process, &object->code, &object->file);

	if (error)
		snprintf(object->error, sizeof(object->error), "%s", error);
}

/* Return: the index of the object; PLACE_MORE if there is no room for it. Takes @code->name. */
static u16 object_of(struct places *places, const char *pid, const struct code *code)
{
	const struct language *language = process_is_memory(code) ? language_of(pid) : NULL;
	u32 i;

	for (i = 0; i < places->nr_objects; i++)
		if (is_object(&places->objects[i], code, language))
			break;
	if (i < places->nr_objects || i == PLACE_OBJECTS) {
		free(code->name);
		return i < places->nr_objects ? i : PLACE_MORE;
	}
	places->objects[i] = (struct place_object){ .code = *code, .language = language };
	open_object(&places->objects[i], pid);
	places->nr_objects++;
	return i;
}

/* Fills in @mapping. Return: false if nothing is mapped there any more. */
static bool read_mapping(struct places *places, const struct sampler_end *end,
			 struct place_mapping *mapping)
{
	struct code code;
	char pid[16];

	*mapping = (struct place_mapping){};
	snprintf(pid, sizeof(pid), "%" PRIu32, end->pid);
	if (!process_find(pid, end->lookup_ip, &code))
		return false;
	*mapping = (struct place_mapping){
		.pid = end->pid,
		.start = code.start,
		.end = code.end,
		.off = code.off,
		.until = clock_ms() + MAPPING_MS,
	};
	mapping->object = object_of(places, pid, &code);
	return true;
}

/*
 * Finds the mapping of @end among those that were found lately. Return: false if it is not among
 * them; then @mapping is the one to forget for it. The mappings of a process follow each other.
 */
static bool find_mapping(struct places *places, const struct sampler_end *end,
			 struct place_mapping **mapping)
{
	u64 slot = mix(end->pid, 0), now = clock_ms(), addr = end->lookup_ip;
	struct place_mapping *entry;
	u32 i;

	*mapping = &places->mappings[slot % PLACE_MAPPINGS];
	for (i = 0; i < PLACE_NEIGHBOURS; i++) {
		entry = &places->mappings[(slot + i) % PLACE_MAPPINGS];
		if (entry->pid == end->pid && addr >= entry->start && addr < entry->end &&
		    now < entry->until) {
			*mapping = entry;
			return true;
		}
		if (entry->until < (*mapping)->until)
			*mapping = entry;
	}
	return false;
}

/* Sets the object and the offset of @place. */
static void find_place(struct places *places, const struct sampler_end *end,
		       struct place *place)
{
	struct place_mapping *mapping;

	place->object = PLACE_GONE;
	if (!find_mapping(places, end, &mapping) && !read_mapping(places, end, mapping))
		return;
	place->object = mapping->object;
	place->off = end->lookup_ip - mapping->start + mapping->off;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->object == b->object && a->reason == b->reason && a->off == b->off;
}

/* An eighth stays free, so that a search ends soon. */
static bool is_full(const struct places *places)
{
	return places->nr >= PLACES_MAX / 8 * 7;
}

static void count_place(struct places *places, struct place *place)
{
	u64 slot = mix(place->off, place->object * 65536ull + place->reason);
	struct place *entry;

	for (;; slot++) {
		entry = &places->all[slot % PLACES_MAX];
		if (!entry->count || is_same(entry, place))
			break;
	}
	if (!entry->count && is_full(places) && place->object < PLACE_OBJECTS) {
		place->object = PLACE_MORE;
		place->off = 0;
		count_place(places, place);
		return;
	}
	if (!entry->count) {
		*entry = *place;
		places->nr++;
	}
	entry->count++;
}

/**
 * places_add - count a stack
 * @places: the places
 * @end: where it ended, and why
 * @is_anywhere: the place does not matter
 */
void places_add(struct places *places, const struct sampler_end *end, bool is_anywhere)
{
	struct place place = { .object = PLACE_ANY };

	place.reason = reason_of(places, end->reason);
	if (!is_anywhere)
		find_place(places, end, &place);
	count_place(places, &place);
}

void places_free(struct places *places)
{
	u32 i;

	for (i = 0; i < places->nr_objects; i++) {
		file_close(&places->objects[i].file);
		free(places->objects[i].code.name);
	}
	free(places);
}
