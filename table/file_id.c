// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identities of files, and a cache of facts about the code of files.
 *
 * Where the .sframe section of a program is, and whether its code keeps frame pointers, depends on
 * the file alone. So the first scan finds out, and the scans of all processes share the result.
 *
 * A write to a file changes its ctime and so its identity: the old facts are not found any more.
 * Two writes within a tick of the clock leave one ctime. So no facts are stored until the last
 * change is MIN_AGE seconds ago.
 *
 * Facts may still be wrong after the clock was set back, or after a write to the block device. So
 * each scan checks the addresses and the header of the section. If code does not keep frame
 * pointers as the facts say, only processes that run the file are harmed.
 */
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/exportfs.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/timekeeping.h>

#include "table/file_id.h"
#include "sframe_file_system.h"

/* The cache has 512 slots. With half, scans of many different programs read more ELF headers. */
#define ENTRY_BITS	9

#define MIN_AGE		3	/* seconds from the last change of a file until facts are cached */

/* The cache of facts about mapped files. In an unused slot, &sfu_file_id.sb is NULL. */
static struct code_entry {
	struct sfu_code_id	code;
	struct sfu_code_facts	facts;
} entries[1 << ENTRY_BITS];

static DEFINE_SPINLOCK(entries_lock);

/*
 * Sets @id to the present identity of a file. The caller passes the inode that stores the data, not
 * the inode of an overlay. Returns false if the file system may leave ctime as it is when data
 * changes, or has its image in a file or in flash memory: nothing would distinguish the next image.
 *
 * Two images mounted in turn may have equal inode numbers and times, and super blocks at one
 * address. So @medium is a number that is never used again: of the disk or, without a disk (btrfs),
 * of the backing device. Before 6.7, most file systems lack encode_fh(): inode number and
 * generation identify the file.
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
		.medium = sb->s_bdev ? sb->s_bdev->bd_disk->diskseq : sb->s_bdi->id,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.changed = timespec64_to_ns(&changed),
		.generation = inode->i_generation,
		.dev = sb->s_dev,
	};
	if (ops && ops->encode_fh)
		type = ops->encode_fh(inode, id->handle, &nr, NULL);
	if (type <= 0 || type == FILEID_INVALID)
		return -EOPNOTSUPP;
	return mapping_writably_mapped(inode->i_mapping) ? -EAGAIN : 0;
}

/*
 * Returns true if a file has changed within the last two seconds. A second change within one tick
 * of the file system's clock does not change the identity. Some clocks tick every two seconds.
 */
bool sfu_file_id_has_just_changed(const struct sfu_file_id *id)
{
	return abs(ktime_get_real_seconds() - id->changed / NSEC_PER_SEC) <= 1;
}

/* Returns true if the last change of a file is old enough for facts about the file to be stored. */
bool sfu_file_id_has_settled(const struct sfu_file_id *id)
{
	return ktime_get_real_seconds() - id->changed / NSEC_PER_SEC >= MIN_AGE;
}

/* Returns the one cache slot that may have facts about a part of a file; other parts share it. */
static struct code_entry *entry_of(const struct sfu_code_id *code)
{
	return &entries[hash_64(code->file.ino ^ code->file.changed ^ code->offset, ENTRY_BITS)];
}

/* Sets @facts to the cached facts about a part of a file. Returns false if there are none. */
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

/* Caches facts about a part of a file, in place of other facts in the same slot. */
void sfu_file_id_store_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts)
{
	struct code_entry *entry = entry_of(code);

	spin_lock(&entries_lock);
	*entry = (struct code_entry){ .code = *code, .facts = *facts };
	spin_unlock(&entries_lock);
}
