// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The identity of files, and facts that scans have found out about the code of files.
 *
 * Where the section of a program is, and whether its code keeps frame pointers, depends on the
 * file alone. So one process finds these facts, and all processes that map the file share them.
 *
 * A key is a value, see struct sfu_file_id: no inode and no file system is kept alive. A file that
 * is written gets another time of change, and so loses its facts. Two changes at the same moment
 * leave one time of change: no facts are remembered about a file that has changed a moment ago.
 *
 * Facts may still be wrong, as a user can set a clock back, or write to a block device. So each
 * process checks the addresses and the header of the section again. Wrong frame pointers harm the
 * processes that run the file; a user who can write the file can harm them anyway.
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

/* Places for facts: 512. Half: scans on a machine with many programs read more headers. */
#define ENTRY_BITS	9

#define MIN_AGE		3	/* seconds since the last change, before facts are remembered */

/* Facts about one part of a file. &sfu_file_id.sb is NULL in an entry that is not used. */
static struct {
	struct sfu_code_id	code;
	struct sfu_code_facts	facts;
} entries[1 << ENTRY_BITS];

static DEFINE_SPINLOCK(entries_lock);

/*
 * Sets @id to the identity of a file at this moment. @inode holds the bytes, and is no overlay's.
 * Returns false if the file has no identity: its file system does not tell each change, or it is an
 * image in a file or in flash memory, which nothing tells from the next image.
 *
 * Images may repeat the numbers and times of inodes, and the next image that is mounted may get the
 * address of the last super block. A file system without a disk of its own, such as btrfs, has a
 * backing device, whose number is never used again. Before 6.7, most file systems have no function
 * that names a file: the number of the inode and its generation are the name.
 */
bool sfu_file_identify(struct inode *inode, struct sfu_file_id *id)
{
	struct timespec64 changed = inode_get_ctime(inode);
	const struct super_block *sb = inode->i_sb;
	const struct export_operations *ops = sb->s_export_op;
	int nr = SFU_HANDLE_WORDS, type;

	if (!sframe_tells_changes(sb->s_magic) ||
	    (!sb->s_bdev && sb->s_magic != BTRFS_SUPER_MAGIC &&
	     sb->s_type->fs_flags & FS_REQUIRES_DEV))
		return false;
	*id = (struct sfu_file_id){
		.sb = sb,
		.medium = sb->s_bdev ? sb->s_bdev->bd_disk->diskseq : sb->s_bdi->id,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.changed = timespec64_to_ns(&changed),
		.generation = inode->i_generation,
		.dev = sb->s_dev,
	};
	if (!ops || !ops->encode_fh)
		return true;
	type = ops->encode_fh(inode, id->handle, &nr, NULL);
	return type > 0 && type != FILEID_INVALID;
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

/* Returns the only place for facts about a part of a file; other parts have the same place. */
static unsigned int place_of(const struct sfu_code_id *code)
{
	return hash_64(code->file.ino ^ code->file.changed ^ code->offset, ENTRY_BITS);
}

/* Sets @facts to what is known about a part of a file. Returns false if nothing is known. */
bool sfu_file_find(const struct sfu_code_id *code, struct sfu_code_facts *facts)
{
	const unsigned int place = place_of(code);
	bool is_known;

	spin_lock(&entries_lock);
	is_known = !memcmp(&entries[place].code, code, sizeof(*code));
	if (is_known)
		*facts = entries[place].facts;
	spin_unlock(&entries_lock);
	return is_known;
}

/* Remembers facts about a part of a file, and forgets the facts that were in their place. */
void sfu_file_remember(const struct sfu_code_id *code, const struct sfu_code_facts *facts)
{
	const unsigned int place = place_of(code);

	spin_lock(&entries_lock);
	entries[place].code = *code;
	entries[place].facts = *facts;
	spin_unlock(&entries_lock);
}
