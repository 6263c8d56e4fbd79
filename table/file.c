// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What scans have found out about files, for all processes that map them.
 *
 * Where the section of a program is, and whether its code keeps frame pointers, depends on
 * the file alone. So one process finds it out, and the next ones that run the same program
 * look it up here.
 *
 * The keys are values, see struct sfu_file_id: no inode and no file system is kept alive. A
 * file that is written gets another time of change, so its facts are not found any more.
 * Two changes in one moment leave one time. So nothing is remembered of a file that has changed
 * a moment ago.
 *
 * Facts may be wrong all the same: a user can set a clock back, or write a block device.
 * They are used as the headers of a file are, which may say anything: addresses are checked
 * again in each process, and so is the header of the section. A wrong habit harms the
 * processes that run this file, and whoever can write the file can harm them anyway.
 *
 * The table has a fixed size. Facts that are new replace others of the same set.
 */
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/exportfs.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "table/file.h"
#include "sframe_file_system.h"

#define SET_BITS	7
#define NR_WAYS		4

#define MIN_AGE		3	/* seconds since the last change, before facts are remembered */

/**
 * struct entry - the facts about one part of a file
 * @code: the part; &sfu_file_id.sb is NULL in an entry that is not used
 * @facts: the facts
 */
struct entry {
	struct sfu_code_id	code;
	struct sfu_code_facts	facts;
};

/**
 * struct entry_set - the entries that a part of a file may be in
 * @ways: the entries
 * @next: the one that is replaced next
 */
struct entry_set {
	struct entry	ways[NR_WAYS];
	unsigned int	next;
};

/* Held for the comparison of one set. */
static DEFINE_SPINLOCK(entries_lock);
static struct entry_set sets[1 << SET_BITS];

/*
 * Returns true if a file on this file system can have an identity. An image in a file, or in flash
 * memory, has nothing that tells it from the next image.
 */
static bool gives_identity(const struct super_block *sb)
{
	return sframe_tells_changes(sb->s_magic) &&
	       (sb->s_bdev || sb->s_magic == BTRFS_SUPER_MAGIC ||
		!(sb->s_type->fs_flags & FS_REQUIRES_DEV));
}

/*
 * Images may repeat the numbers and times of inodes, and the next one that is mounted may get the
 * address of the last super block. A file system without a disk of its own, such as btrfs, has a
 * backing device, whose number is never used again.
 */
static u64 medium_of(const struct super_block *sb)
{
	return sb->s_bdev ? sb->s_bdev->bd_disk->diskseq : sb->s_bdi->id;
}

/*
 * Asks the file system for its own name of the file. Before 6.7, most have no function for that,
 * and mean the number of the inode and its generation.
 */
static bool get_handle(struct inode *inode, u32 *handle)
{
	const struct export_operations *ops = inode->i_sb->s_export_op;
	int nr = SFU_HANDLE_WORDS, type;

	if (!ops || !ops->encode_fh)
		return true;
	type = ops->encode_fh(inode, handle, &nr, NULL);
	return type > 0 && type != FILEID_INVALID;
}

/*
 * Sets @id to the identity of a file at this moment. @inode holds the bytes, and is no overlay's.
 * Returns false if the file has no identity: its file system does not tell each change.
 */
bool sfu_file_identify(struct inode *inode, struct sfu_file_id *id)
{
	struct timespec64 changed = inode_get_ctime(inode);
	const struct super_block *sb = inode->i_sb;

	if (!gives_identity(sb))
		return false;
	*id = (struct sfu_file_id){
		.sb = sb,
		.medium = medium_of(sb),
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.changed = timespec64_to_ns(&changed),
		.generation = inode->i_generation,
		.dev = sb->s_dev,
	};
	return get_handle(inode, id->handle);
}

/*
 * Returns true if a file has changed within the last two seconds. A second change in one tick of
 * the file system's clock leaves the identity as it is. Some clocks tick once in two seconds, at
 * even seconds.
 */
bool sfu_file_has_just_changed(const struct sfu_file_id *id)
{
	s64 changed = id->changed / NSEC_PER_SEC;

	return abs(ktime_get_real_seconds() - changed) <= 1;
}

/* Returns true if the last change of a file was so long ago that facts are remembered. */
bool sfu_file_has_settled(const struct sfu_file_id *id)
{
	return ktime_get_real_seconds() - id->changed / NSEC_PER_SEC >= MIN_AGE;
}

static struct entry_set *find_set(const struct sfu_code_id *code)
{
	return &sets[hash_64(code->file.ino ^ code->file.changed ^ code->offset, SET_BITS)];
}

/* Under entries_lock. */
static struct entry *find_entry(struct entry_set *set, const struct sfu_code_id *code)
{
	unsigned int i;

	for (i = 0; i < NR_WAYS; i++)
		if (!memcmp(&set->ways[i].code, code, sizeof(*code)))
			return &set->ways[i];
	return NULL;
}

/* Sets @facts to what is known about a part of a file. Returns false if nothing is known. */
bool sfu_file_find(const struct sfu_code_id *code, struct sfu_code_facts *facts)
{
	struct entry *entry;

	spin_lock(&entries_lock);
	entry = find_entry(find_set(code), code);
	if (entry)
		*facts = entry->facts;
	spin_unlock(&entries_lock);
	return entry;
}

/* Remembers facts about a part of a file. They replace older ones. */
void sfu_file_remember(const struct sfu_code_id *code, const struct sfu_code_facts *facts)
{
	struct entry_set *set = find_set(code);
	struct entry *entry;

	spin_lock(&entries_lock);
	entry = find_entry(set, code) ?: &set->ways[set->next++ % NR_WAYS];
	entry->code = *code;
	entry->facts = *facts;
	spin_unlock(&entries_lock);
}
