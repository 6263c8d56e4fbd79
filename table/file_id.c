// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identities of files, and a cache of facts about files: where the .sframe section is, and whether
 * the code keeps frame pointers. The scan of one process finds the facts of a file; the scans of
 * all processes use them. A write changes the file's ctime and identity: facts are found anew.
 *
 * Cached facts may be wrong after the clock was set back, or after a write to the block device.
 * So each scan checks the addresses and the header of the section. Wrong facts about frame pointers
 * harm only processes that run the file.
 */
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/exportfs.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/timekeeping.h>

#include "table/file_id.h"
#include "sframe_file_system.h"

/* The cache of facts about files has 2^9 slots. With half, scans read ELF headers more often. */
#define ENTRY_BITS	9

#define MIN_AGE		3	/* seconds without a change until facts about a file are cached */

/* In an unused slot, &sfu_file_id.sb is NULL. */
static struct code_entry {
	struct sfu_code_id	code;
	struct sfu_code_facts	facts;
} entries[1 << ENTRY_BITS];

static DEFINE_SPINLOCK(entries_lock);

/*
 * Sets @id to the present identity of a file. @inode is the inode that stores the data, not an
 * inode of overlayfs. Returns 0, or an error if the content may change while the identity stays:
 * - -EOPNOTSUPP: on this file system, a write may leave ctime as it is; or encode_fh() fails
 * - -EOPNOTSUPP: the file system is on no block device, but in an image file (EROFS) or in flash
 *   memory (SquashFS on MTD). Another image with equal inodes and ctimes may take its place.
 * - -EAGAIN: the file is mapped for writing, and a store may leave ctime as it is. @id is set, too.
 *
 * On tmpfs and ramfs, a store to a mapped page that was read first never changes ctime. If the file
 * is unmapped before this check, the store goes unnoticed, and the file may get wrong rows. This is
 * accepted: only those who may write the file can do it, harming only those who run it.
 */
int sfu_file_id_get(struct inode *inode, struct sfu_file_id *id)
{
	struct timespec64 changed = inode_get_ctime(inode);
	const struct super_block *sb = inode->i_sb;
	const struct export_operations *ops = sb->s_export_op;
	int nr = SFU_HANDLE_WORDS, type = FILEID_INO32_GEN;

	if (!sframe_tells_changes(sb->s_magic) ||
	    (!sb->s_bdev && sb->s_magic != BTRFS_SUPER_MAGIC &&
	     sb->s_type->fs_flags & FS_REQUIRES_DEV))
		return -EOPNOTSUPP;
	*id = (struct sfu_file_id){
		.sb = sb,
		/*
		 * If another disk is mounted later, a file there may be equal in all other members.
		 * Without @medium, this file would get the table of the old file.
		 */
		.medium = sb->s_bdev ? sb->s_bdev->bd_disk->diskseq : sb->s_bdi->id,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.changed = timespec64_to_ns(&changed),
		.generation = inode->i_generation,
		.dev = sb->s_dev,
	};
	/* Before 6.7, most file systems lack encode_fh(): @ino and @generation identify files. */
	if (ops && ops->encode_fh)
		type = ops->encode_fh(inode, id->handle, &nr, NULL);
	if (type <= 0 || type == FILEID_INVALID)
		return -EOPNOTSUPP;
	return mapping_writably_mapped(inode->i_mapping) ? -EAGAIN : 0;
}

/*
 * Returns true if a file has changed within the last two seconds. Another change now may leave its
 * ctime and identity as they are: the clocks of some file systems tick every two seconds.
 */
bool sfu_file_id_has_just_changed(const struct sfu_file_id *id)
{
	return abs(ktime_get_real_seconds() - id->changed / NSEC_PER_SEC) <= 1;
}

bool sfu_file_id_has_settled(const struct sfu_file_id *id)
{
	/* Two writes in one tick of the clock leave one ctime: facts from in between would stay. */
	return ktime_get_real_seconds() - id->changed / NSEC_PER_SEC >= MIN_AGE;
}

static struct code_entry *entry_of(const struct sfu_code_id *code)
{
	return &entries[hash_64(code->file.ino ^ code->file.changed ^ code->offset, ENTRY_BITS)];
}

bool sfu_file_id_find_facts(const struct sfu_code_id *code, struct sfu_code_facts *facts)
{
	const struct code_entry *entry = entry_of(code);
	bool is_known;

	spin_lock(&entries_lock);
	is_known = !memcmp(&entry->code, code, sizeof(*code));
	if (is_known)
		*facts = entry->facts;
	spin_unlock(&entries_lock);
	return is_known;
}

void sfu_file_id_store_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts)
{
	struct code_entry *entry = entry_of(code);

	spin_lock(&entries_lock);
	*entry = (struct code_entry){ .code = *code, .facts = *facts };
	spin_unlock(&entries_lock);
}
