// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The index or the directory of a mapped section. They are in kernel memory, and the section is in
 * that of the process. A sorted section has an index. One that is not sorted has a directory: all
 * functions, by their start. Those that a linker (lld) has put together of several are not sorted.
 *
 * A scan makes both from what the section says at that moment. The process may change the section
 * afterwards, so they are hints, and each look-up verifies what it finds: see sframe_quick_search()
 * and sframe_find_row_of(). A map that takes a range over from the last one, or from that of the
 * parent, shares them.
 */
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "sframe_arch.h"
#include "sframe_index.h"
#include "sframe_process.h"
#include "sframe_section.h"
#include "sframe_stats.h"
#include "sframe_user.h"
#include "sframe_user_index.h"

/* Entries that are read at once. */
#define CHUNK	32

/* Functions of a slot, on average, at which an index gets no coarser: it is hardly of use then. */
#define FUNCTIONS_OF_SLOT	32

/**
 * struct shared - what the maps that share an index or a directory know of it
 * @refs: one of each map
 * @bytes: that it takes
 */
struct shared {
	refcount_t	refs;
	size_t		bytes;
};

/**
 * struct user_index - an index that maps share
 * @shared: first, because it is freed by this
 * @index: constant once the first map is published
 */
struct user_index {
	struct shared		shared;
	struct sframe_index	index;
};

/**
 * struct user_directory - the same of a directory
 * @shared: first
 * @directory: constant once the first map is published
 */
struct user_directory {
	struct shared		shared;
	struct sframe_directory	directory;
};

/* The index or the directory of the section, or NULL. The index of a table belongs to the table. */
static struct shared *shared_of(const struct sfu_section *section)
{
	if (section->source != SFU_SOURCE_MAPPED)
		return NULL;
	if (section->directory)
		return &container_of(section->directory, struct user_directory, directory)->shared;
	if (section->index)
		return &container_of(section->index, struct user_index, index)->shared;
	return NULL;
}

static size_t size_of(u32 nr_starts)
{
	return sizeof(struct user_index) + nr_starts * sizeof(u32);
}

/**
 * sfu_user_index_size() - bytes that the index or the directory of a section takes
 * @section: the section
 *
 * Context: Any, while the map of the section is held.
 * Return: Its bytes; 0 if it has none, or a table has it.
 */
size_t sfu_user_index_size(const struct sfu_section *section)
{
	const struct shared *shared = shared_of(section);

	return shared ? shared->bytes : 0;
}

/**
 * sfu_user_index_get() - one more map has the section
 * @section: the copy that the map has
 *
 * Context: Any.
 */
void sfu_user_index_get(struct sfu_section *section)
{
	struct shared *shared = shared_of(section);

	if (shared)
		refcount_inc(&shared->refs);
}

/**
 * sfu_user_index_put() - the map of a section is freed
 * @section: the section
 *
 * Context: Any but NMI, when no walk uses the section any more.
 */
void sfu_user_index_put(struct sfu_section *section)
{
	struct shared *shared = shared_of(section);

	if (!shared || !refcount_dec_and_test(&shared->refs))
		return;
	sfu_hold(-(long)shared->bytes);
	kvfree(shared);
}

/* Returns memory of @bytes that begins with a struct shared, or NULL. */
static void *alloc_shared(size_t bytes)
{
	return sfu_may_hold(bytes) ? kvzalloc(bytes, SFU_GFP_TASK) : NULL;
}

/* Takes the first reference, and counts the memory. */
static void begin_sharing(struct shared *shared, size_t bytes)
{
	refcount_set(&shared->refs, 1);
	shared->bytes = bytes;
	sfu_hold(bytes);
}

/* Reads @count entries from @nr on into @bytes, which @mem then describes. */
static int read_entries(const struct sframe_header *hdr, u32 nr, u32 count, u8 *bytes,
			struct sframe_memory *mem)
{
	*mem = (struct sframe_memory){
		.bytes = bytes,
		.addr = hdr->fde_addr + (u64)nr * hdr->fde_size,
		.len = count * hdr->fde_size,
	};
	return sfu_user_read(bytes, mem->addr, mem->len);
}

/*
 * Chooses the form of an index by the first and the last function. Returns the number of its
 * starts, 0 if the section needs none, or an error.
 */
static int choose_form(const struct sframe_header *hdr, struct sframe_index *form)
{
	u8 bytes[sizeof(struct sframe_raw_fde_v2)];
	struct sframe_memory mem;
	u64 first;

	if (read_entries(hdr, 0, 1, bytes, &mem))
		return -EFAULT;
	first = sframe_index_start(hdr, &mem, 0);
	if (read_entries(hdr, hdr->num_fdes - 1, 1, bytes, &mem))
		return -EFAULT;
	return sframe_index_form(form, hdr, first,
				 sframe_index_start(hdr, &mem, hdr->num_fdes - 1));
}

/* Makes the slots larger until the index takes @most bytes. Returns its starts, or an error. */
static int make_coarser(struct sframe_index *form, const struct sframe_header *hdr, size_t most)
{
	while (size_of(form->nr + 1) > most) {
		if (form->nr == 1 || form->shift == 63 ||
		    form->nr <= hdr->num_fdes / FUNCTIONS_OF_SLOT)
			return -E2BIG;
		form->nr = (form->nr - 1) / 2 + 1;
		form->shift++;
	}
	return form->nr + 1;
}

/* Adds all functions to the index. */
static int fill_index(struct sframe_index *index, const struct sframe_header *hdr)
{
	u8 bytes[CHUNK * sizeof(struct sframe_raw_fde_v2)];
	struct sframe_memory mem;
	u32 nr, count;

	for (nr = 0; nr < hdr->num_fdes; nr += count) {
		count = min_t(u32, hdr->num_fdes - nr, CHUNK);
		if (read_entries(hdr, nr, count, bytes, &mem))
			return -EFAULT;
		if (!sframe_index_add(index, hdr, &mem, nr, nr + count))
			return -EBADMSG;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	sframe_index_end(index, hdr);
	return 0;
}

/**
 * sfu_user_index_add() - give a mapped section an index
 * @section: the section of a map that is not published yet; ready, and without an index
 * @most: bytes that the index may take
 *
 * Context: Task, in the address space of the section; may sleep, and does not wait for pages.
 * Return: 0, also if the section needs no index; -EFAULT if a part of it is not present;
 * -EBADMSG if it is not sorted; -E2BIG if @most is too little; -ENOMEM; -EINTR if the task
 * is being killed.
 */
int sfu_user_index_add(struct sfu_section *section, size_t most)
{
	const struct sframe_header *hdr = &section->hdr;
	struct sframe_index form;
	struct user_index *user;
	int nr, err;

	if (hdr->num_fdes < SFRAME_INDEX_LEAST)
		return 0;
	nr = choose_form(hdr, &form);
	if (nr > 0)
		nr = make_coarser(&form, hdr, most);
	if (nr <= 0)
		return nr;
	user = alloc_shared(size_of(nr));
	if (!user)
		return -ENOMEM;
	user->index = form;
	err = fill_index(&user->index, hdr);
	if (err) {
		kvfree(user);
		return err;
	}
	begin_sharing(&user->shared, size_of(nr));
	section->index = &user->index;
	return 0;
}

/* Reads the header of the part at @off. Returns 0; -ENOENT: there is no sound one; -EFAULT. */
static int read_part(const struct sfu_section *section, u64 off, struct sframe_header *hdr)
{
	struct sframe_reader rd = {
		.read = sfu_user_reader,
		.budget = sframe_read_cost(sizeof(struct sframe_raw_header)),
	};
	u64 len = section->end - section->start;
	int err;

	if (off > len || len - off < sizeof(struct sframe_raw_header))
		return -ENOENT;
	err = sframe_header_read(hdr, &rd, section->start + off, len - off);
	if (err)
		return err == -EFAULT ? err : -ENOENT;
	return hdr->swapped || hdr->abi != SFU_ARCH_ABI ? -ENOENT : 0;
}

/* Where the part after this one begins, relative to the section. */
static u64 next_part(const struct sfu_section *section, const struct sframe_header *hdr)
{
	return round_up(hdr->addr + sframe_header_span(hdr) - section->start, SFRAME_PART_ALIGN);
}

/**
 * sfu_user_index_has_parts() - has a linker put several sections together?
 * @section: the section; its header has been checked
 *
 * Context: Task, in the address space of the section; does not wait for pages.
 * Return: 1: another part follows the first; 0: something else, or nothing; -EFAULT: not known.
 */
int sfu_user_index_has_parts(const struct sfu_section *section)
{
	struct sframe_header hdr;
	int err = read_part(section, next_part(section, &section->hdr), &hdr);

	return err == -EFAULT ? err : !err;
}

/**
 * struct listing - a directory that is being made
 * @section: the section
 * @most: bytes that the directory may take
 * @dir: the directory; NULL: its parts and functions are counted
 * @room_parts: parts that it has room for
 * @room: functions that it has room for
 * @nr_parts: so far
 * @nr: functions so far
 * @nr_compared: while it is sorted
 */
struct listing {
	const struct sfu_section	*section;
	size_t				most;
	struct sframe_directory		*dir;
	u32				room_parts;
	u32				room;
	u32				nr_parts;
	u32				nr;
	u32				nr_compared;
};

static size_t directory_bytes(u32 nr_parts, u32 nr)
{
	return sizeof(struct user_directory) + ((size_t)nr + nr_parts) * sizeof(struct sframe_mark);
}

/* Functions that are too far away are left out. */
static void add_function(struct sframe_directory *dir, s64 start, u32 nr)
{
	if (start != (s32)start)
		return;
	dir->functions[dir->nr_functions++] = (struct sframe_mark){ .at = start, .value = nr };
}

static int list_functions(struct listing *listing, const struct sframe_header *hdr)
{
	u8 bytes[CHUNK * sizeof(struct sframe_raw_fde_v2)];
	struct sframe_memory mem;
	u32 nr, count, i;

	for (nr = 0; nr < hdr->num_fdes; nr += count) {
		count = min_t(u32, hdr->num_fdes - nr, CHUNK);
		if (read_entries(hdr, nr, count, bytes, &mem))
			return -EFAULT;
		for (i = nr; i < nr + count; i++)
			add_function(listing->dir, sframe_index_start(hdr, &mem, i) -
				     listing->section->start, listing->nr + i);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Adds a part to the directory, or to the numbers of what it will have. */
static int list_part(struct listing *listing, const struct sframe_header *hdr)
{
	struct sframe_directory *dir = listing->dir;
	u32 nr_parts = listing->nr_parts + 1;
	u64 nr = (u64)listing->nr + hdr->num_fdes;
	int err = 0;

	if (nr > S32_MAX || directory_bytes(nr_parts, nr) > listing->most)
		return -E2BIG;
	if (dir) {
		/* The section has more than a moment ago. */
		if (nr_parts > listing->room_parts || nr > listing->room)
			return -EFAULT;
		dir->parts[dir->nr_parts++] = (struct sframe_mark){
			.at = listing->nr,
			.value = hdr->addr - listing->section->start,
		};
		err = list_functions(listing, hdr);
	}
	listing->nr_parts = nr_parts;
	listing->nr = nr;
	return err;
}

/*
 * Lists all parts, or counts them. The bytes after the last sound part are ignored: most likely
 * they are padding.
 */
static int list_parts(struct listing *listing)
{
	struct sframe_header hdr;
	u64 off = 0;
	int err;

	listing->nr_parts = 0;
	listing->nr = 0;
	for (;;) {
		err = read_part(listing->section, off, &hdr);
		if (err == -ENOENT)
			return 0;
		err = err ?: list_part(listing, &hdr);
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		off = next_part(listing->section, &hdr);
	}
}

#define COMPARISONS	4096	/* until other tasks may run */

static int compare_marks(const void *a, const void *b, const void *priv)
{
	const struct sframe_mark *x = a, *y = b;
	struct listing *listing = (void *)priv;

	if (++listing->nr_compared % COMPARISONS == 0)
		cond_resched();
	return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_functions(struct listing *listing)
{
	struct sframe_directory *dir = listing->dir;

	sort_r(dir->functions, dir->nr_functions, sizeof(dir->functions[0]), compare_marks, NULL,
	       listing);
}

/**
 * sfu_user_index_list() - give a mapped section a directory
 * @section: the section of a map that is not published yet; its header has been checked, and it has
 *	neither an index nor a directory
 * @most: bytes that the directory may take
 *
 * Context: As sfu_user_index_add().
 * Return: 0; -EFAULT if a part of it is not present, or it changes at this moment; -ENOENT if there
 * is no function; -E2BIG if @most is too little; -ENOMEM; -EINTR if the task is being killed.
 */
int sfu_user_index_list(struct sfu_section *section, size_t most)
{
	struct listing listing = { .section = section, .most = most };
	struct user_directory *user;
	size_t bytes;
	int err;

	if (section->end - section->start > U32_MAX)
		return -E2BIG;
	err = list_parts(&listing);
	if (err)
		return err;
	if (!listing.nr)
		return -ENOENT;
	bytes = directory_bytes(listing.nr_parts, listing.nr);
	user = alloc_shared(bytes);
	if (!user)
		return -ENOMEM;
	user->directory.parts = &user->directory.functions[listing.nr];
	listing.dir = &user->directory;
	listing.room_parts = listing.nr_parts;
	listing.room = listing.nr;
	err = list_parts(&listing);
	if (err) {
		kvfree(user);
		return err;
	}
	sort_functions(&listing);
	begin_sharing(&user->shared, bytes);
	section->directory = &user->directory;
	return 0;
}
