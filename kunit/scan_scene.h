/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scene in which the suites of the task side run: sframe_scan*_kunit.c, sframe_request_kunit.c
 * and sframe_event_kunit.c. Real mappings of real files are scanned in a process that changes them.
 *
 * A process map is compared as a text. Numbers are pages of the area in which the test maps. "1-3
 * ready by 3-60" is code on pages 1 and 2 with a section that begins 60 bytes before page 3; "1-3
 * ready of process" has a table of the process. Counters are another text, see common.h.
 *
 * A test is a script, as far as it can be: "image 0; scan 1-3 ready by 3; unmap 3 2; map 1-3
 * unmapped" maps the image at the beginning of the area and scans it, which finds that map; when
 * two pages from page 3 on are unmapped, the map says so. P and N are pages and their number, and
 * PROT is of the letters r, w, x, or is "-".
 *
 *	section VERSION FLAGS AT, linked ADDR
 *				before the image is written: changes its section and where in the
 *				file it is; changes the address that the file is linked for
 *	image P, other P	maps the image, or one without a section, as a loader does
 *	file P N FROM PROT	maps pages of the image, from page FROM of the file on
 *	anon P N PROT		maps anonymous memory
 *	unmap P N, protect P N PROT, move P N TO, shrink P N TO, drop P N
 *				munmap(), mprotect(), mremap() twice, MADV_DONTNEED
 *	patch AT LEN VALUE	writes a number to the file of the image
 *	cut LEN			cuts this file
 *	poke AT VALUE		writes a byte to the memory of the area
 *	bad			a walk finds that the section of the code at page 1 is bad
 *	report P		the hook of mappings reports the mapping at page P
 *	exec P			the hook reports this mapping during an execve()
 *	run			current returns to user mode, where it does what was requested
 *	process N, end N	goes on in another process, which may be a new one; ends it. The
 *				test begins in process 0
 *	changed SECONDS NS	sets the time when the file of the image was changed
 *	uid UID			goes on as this user: root is 0
 *	memory MIB		limits the memory of tables
 *	lock, unlock		another task holds mmap_lock
 *	begin-scan, end-scan	another task scans the process
 *	busy			a scan for a sample finds no lock free
 *	scan MAP, new MAP	scans for a sample, or for new code, as soon as it may
 *	map MAP			compares the map as it is
 *	counted COUNTERS	compares what was counted since the last time; "scan" does so, too,
 *				and expects "scan.runs" unless its text goes on with " | COUNTERS"
 *	held N M		compares the numbers of known processes and of their sections
 *	rows P, row P ROW	looks up the rows of the image at a page, or one row, as a walk does
 *
 * The image is an ELF file with an SFrame section. Its pages: 0 has the ELF header and the program
 * headers, readable; 1 and 2 code, executable; 3 and 4 the section, readable. One FDE covers all of
 * the code. Its one row is "sp+16 (c-16) (c-8)": a frame consists of the frame pointer and the
 * return address. Zero bytes follow, so that the section has 60 bytes in all versions.
 */
#ifndef SCAN_SCENE_H
#define SCAN_SCENE_H

#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>

#include "common.h"
#include "map/map.h"
#include "map/process.h"
#include "map/scan.h"
#include "section_builder.h"
#include "sframe_arch.h"
#include "walk/user.h"

#define IMAGE_PAGES	5
#define IMAGE_CODE	1
#define IMAGE_SECTION	3
#define IMAGE_SECTION_LEN 60
#define IMAGE_MAX_PHDRS	129

enum { IMAGE_PH_HEADERS, IMAGE_PH_CODE, IMAGE_PH_DATA, IMAGE_PH_SFRAME, IMAGE_PHDRS };

/* The file; a test may change all of it before image_write(). */
struct image {
	struct file		*file;	/* the file, closed after the test */
	struct elf64_hdr	ehdr;	/* written at the beginning of the file */
	/* program headers, IMAGE_PHDRS of them unless @ehdr says more */
	struct elf64_phdr	phdrs[IMAGE_MAX_PHDRS];
	unsigned long		phdrs_at;	/* file offset of @phdrs; independent of @ehdr */
	struct build		section;
	unsigned long		section_at;	/* file offset of @section; independent of @ehdr */
};

void image_init(struct kunit *test, struct image *image);
void build_image_row(struct build *b);
void image_section(struct image *image, u8 version, u8 flags, unsigned long at);
void image_fill(struct kunit *test, const struct image *image, unsigned int first, unsigned int nr);
void image_write(struct kunit *test, const struct image *image);
void image_map(struct kunit *test, const struct image *image, unsigned long addr);

unsigned long user_area(struct kunit *test, unsigned int nr);
unsigned long map_many(struct kunit *test, unsigned int nr, unsigned long prot);
void user_map_file(struct kunit *test, struct file *file, unsigned long addr,
		   unsigned int nr, unsigned long prot, unsigned long page);

#define AREA_PAGES	128
#define MAP_TEXT	256

#define ROW		"sp+16 (c-16) (c-8)"

/* Texts of a map with the image at the beginning of the area. */
#define SAME	"1-3 ready by 3"
#define PLAIN	"1-3 none"
#define LATE	"1-3 pending"
#define BAD	"1-3 bad"
#define GONE	"1-3 unmapped"

#define SCANNED		"image 0; scan " SAME ";"

/* 28 bytes of header, 16 of entry, 5 of attribute; a row's words are at 51. */
#define ROW_WORDS	51

struct scan_scene {
	unsigned long		area;	/* AREA_PAGES pages of the process to map in */
	struct image		image;	/* the image; the test writes and maps it */
	struct image		*other;	/* an image without a section; run_steps() makes it */
	bool			is_written;
	char			script[SCRIPT_TEXT];	/* the script that runs */
	/* runs a step of the suite, unless it has none of this name; may be NULL */
	bool (*run_own_step)(struct kunit *test, const char *step);
	struct mm_struct	*mms[6];	/* the processes of the script, if it names one */
	struct sfu_counters	since;	/* the counters at the last call of expect_counted() */
};

int scan_scene_begin(struct kunit *test, bool (*run_own_step)(struct kunit *, const char *));
int scan_scene_init(struct kunit *test);
__printf(2, 3) void run_steps(struct kunit *test, const char *format, ...);
void run_script(struct kunit *test);

static inline struct scan_scene *scene_of(struct kunit *test)
{
	return test->priv;
}

static inline unsigned long page(struct kunit *test, unsigned int nr)
{
	return scene_of(test)->area + nr * PAGE_SIZE;
}

void map_image(struct kunit *test);
struct image *written_image(struct kunit *test);
struct folio *folio_at(struct kunit *test, unsigned int nr);
struct image *another_image(struct kunit *test);
void patch_file(struct kunit *test, loff_t at, u64 value, unsigned int len);

int scan_now(struct kunit *test);
void expect_scanned(struct kunit *test, const char *want, const char *counted);
void expect_counted(struct kunit *test, const char *want);
void text_of_map(struct kunit *test, struct sfu_map *map, char *text);
void map_text(struct kunit *test, char *text);
void expect_map(struct kunit *test, const char *want);
void row_text(bool may_fault, unsigned long addr, char *text);
void expect_row(struct kunit *test, unsigned long addr, const char *want);
void expect_rows(struct kunit *test, unsigned long image);

struct mm_struct *new_process(struct kunit *test);
struct mm_struct *process_mm(struct kunit *test, unsigned int nr);
void switch_process(struct mm_struct *mm);
struct sfu_process *process_of(struct mm_struct *mm);
struct sfu_map *map_of(struct mm_struct *mm);
struct sfu_map *map_now(void);
void add_new_process(struct kunit *test);
struct sfu_range *range_at(struct kunit *test, unsigned int nr);
void become_user(struct kunit *test, unsigned int uid);

#endif /* SCAN_SCENE_H */
