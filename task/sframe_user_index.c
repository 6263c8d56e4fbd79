// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The index of a section that is mapped: it is in kernel memory, and the section is not.
 *
 * A scan makes it from what the section says at that moment. The process may change the section
 * afterwards, so the index is a hint, and each look-up verifies it: see sframe_quick_search(). A
 * map that takes a range over from the last one, or from that of the parent, shares its index.
 */
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

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
 * struct user_index - an index that maps share
 * @refs: one of each map
 * @index: constant once the first map is published
 */
struct user_index {
	refcount_t		refs;
	struct sframe_index	index;
};

/* The index that the section has, or NULL. That of a table belongs to the table. */
static struct user_index *index_of(const struct sfu_section *section)
{
	if (section->source != SFU_SOURCE_MAPPED || !section->index)
		return NULL;
	return container_of(section->index, struct user_index, index);
}

static size_t size_of(u32 nr_starts)
{
	return sizeof(struct user_index) + nr_starts * sizeof(u32);
}

/**
 * sfu_user_index_size() - bytes that the index of a section takes
 * @section: the section
 *
 * Context: Any, while the map of the section is held.
 * Return: Its bytes; 0 if it has none, or a table has it.
 */
size_t sfu_user_index_size(const struct sfu_section *section)
{
	const struct user_index *user = index_of(section);

	return user ? size_of(user->index.nr + 1) : 0;
}

/**
 * sfu_user_index_get() - one more map has the section
 * @section: the copy that the map has
 *
 * Context: Any.
 */
void sfu_user_index_get(struct sfu_section *section)
{
	struct user_index *user = index_of(section);

	if (user)
		refcount_inc(&user->refs);
}

/**
 * sfu_user_index_put() - the map of a section is freed
 * @section: the section
 *
 * Context: Any but NMI, when no walk uses the section any more.
 */
void sfu_user_index_put(struct sfu_section *section)
{
	struct user_index *user = index_of(section);

	if (!user || !refcount_dec_and_test(&user->refs))
		return;
	atomic_long_sub(size_of(user->index.nr + 1), &sfu_held.bytes);
	kvfree(user);
}

/* Reads the entries from @nr on, at most @count, into @mem, which has room for CHUNK. */
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
	if (!sfu_may_hold(size_of(nr)))
		return -ENOMEM;
	user = kvzalloc(size_of(nr), SFU_GFP_TASK);
	if (!user)
		return -ENOMEM;
	user->index = form;
	err = fill_index(&user->index, hdr);
	if (err) {
		kvfree(user);
		return err;
	}
	refcount_set(&user->refs, 1);
	atomic_long_add(size_of(nr), &sfu_held.bytes);
	section->index = &user->index;
	return 0;
}
