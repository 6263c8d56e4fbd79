// SPDX-License-Identifier: GPL-2.0-or-later
/* The scene in which the suites of the task side run. See scan_scene.h. */
#include <linux/mount.h>
#include <linux/seq_buf.h>

#include "scan_scene.h"
#include "table/table.h"
#include "user_arch.h"

KUNIT_DEFINE_ACTION_WRAPPER(put_file, fput, struct file *);
KUNIT_DEFINE_ACTION_WRAPPER(unmount, kern_unmount, struct vfsmount *);

void build_image_row(struct build *b)
{
	if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
		build_row(b, 0, 0x05, 16, -16);
	else
		build_row(b, 0, 0x07, 16, -8, -16);
}

/* @at is the offset of the section in the file and in the image. */
void image_section(struct image *image, u8 version, u8 flags, unsigned long at)
{
	struct elf64_phdr *ph = &image->phdrs[IMAGE_PH_SFRAME];
	struct build *b = &image->section;

	build_start(b, version, flags, SFU_ARCH_ABI);
	build_fde(b, IMAGE_CODE * PAGE_SIZE - at, 2 * PAGE_SIZE, ADDR1, 0, 0);
	build_image_row(b);
	build_finish(b);
	b->tail = IMAGE_SECTION_LEN - b->len;
	build_finish(b);

	image->section_at = at;
	*ph = (struct elf64_phdr){
		.p_type = SFRAME_PT_GNU_SFRAME, .p_flags = PF_R,
		.p_offset = at, .p_vaddr = at, .p_filesz = b->len, .p_memsz = b->len,
	};
}

static struct elf64_phdr load(u32 flags, unsigned int page, unsigned int nr)
{
	return (struct elf64_phdr){
		.p_type = PT_LOAD, .p_flags = flags, .p_align = PAGE_SIZE,
		.p_offset = page * PAGE_SIZE, .p_vaddr = page * PAGE_SIZE,
		.p_filesz = nr * PAGE_SIZE, .p_memsz = nr * PAGE_SIZE,
	};
}

/* In a file system of its own: from 7.3 on, kernel threads have an empty root directory. */
void image_init(struct kunit *test, struct image *image)
{
	struct vfsmount *mnt = kern_mount(get_fs_type("ramfs"));
	struct path root;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unmount, mnt));
	root = (struct path){ .mnt = mnt, .dentry = mnt->mnt_root };
	image->file = file_open_root(&root, "/", O_TMPFILE | O_RDWR | O_LARGEFILE, 0600);
	KUNIT_ASSERT_EQ(test, 0, PTR_ERR_OR_ZERO(image->file));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_file, image->file));

	image->ehdr = (struct elf64_hdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = ELF_ARCH,
		.e_version = EV_CURRENT,
		.e_phoff = 64,
		.e_ehsize = 64,
		.e_phentsize = 56,
		.e_phnum = IMAGE_PHDRS,
	};
	image->phdrs_at = 64;
	image->phdrs[IMAGE_PH_HEADERS] = load(PF_R, 0, 1);
	image->phdrs[IMAGE_PH_CODE] = load(PF_R | PF_X, IMAGE_CODE, 2);
	image->phdrs[IMAGE_PH_DATA] = load(PF_R, IMAGE_SECTION, 2);
	image_section(image, SFRAME_VERSION_3, BOTH, IMAGE_SECTION * PAGE_SIZE);
}

static void write_at(struct kunit *test, const struct image *image, loff_t pos,
		     const void *bytes, size_t len)
{
	KUNIT_ASSERT_EQ(test, len, kernel_write(image->file, bytes, len, &pos));
}

/* Writes zero bytes, so that the page cache has these pages of the file. */
void image_fill(struct kunit *test, const struct image *image, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		write_at(test, image, (i + 1) * PAGE_SIZE - 1, "", 1);
}

void image_write(struct kunit *test, const struct image *image)
{
	size_t nr = max_t(size_t, IMAGE_PHDRS, image->ehdr.e_phnum);

	image_fill(test, image, 0, IMAGE_PAGES);
	write_at(test, image, 0, &image->ehdr, sizeof(image->ehdr));
	write_at(test, image, image->phdrs_at, image->phdrs,
		 min_t(size_t, nr, IMAGE_MAX_PHDRS) * sizeof(image->phdrs[0]));
	write_at(test, image, image->section_at, image->section.bytes, image->section.len);
}

void user_map_file(struct kunit *test, struct file *file, unsigned long addr,
		   unsigned int nr, unsigned long prot, unsigned long page)
{
	KUNIT_ASSERT_EQ(test, addr, vm_mmap(file, addr, nr * PAGE_SIZE, prot,
					    MAP_PRIVATE | MAP_FIXED, page * PAGE_SIZE));
}

void image_map(struct kunit *test, const struct image *image, unsigned long addr)
{
	user_map_file(test, image->file, addr, 1, PROT_READ, 0);
	user_map_file(test, image->file, addr + IMAGE_CODE * PAGE_SIZE, 2,
		      PROT_READ | PROT_EXEC, IMAGE_CODE);
	user_map_file(test, image->file, addr + IMAGE_SECTION * PAGE_SIZE, 2,
		      PROT_READ, IMAGE_SECTION);
}

/* Return: the address of @nr pages, all PROT_NONE, in which the test may map. */
unsigned long user_area(struct kunit *test, unsigned int nr)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, nr * PAGE_SIZE, PROT_NONE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, (unsigned long)TASK_SIZE);
	return addr;
}

static long user_mprotect(unsigned long addr, unsigned long len, unsigned long prot)
{
	return USER_SYSCALL(mprotect, addr, len, prot, 0, 0);
}

/* Return: the address of an area of which every other page has @prot. */
unsigned long map_many(struct kunit *test, unsigned int nr, unsigned long prot)
{
	unsigned long many = user_area(test, 2 * nr);
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, 0, user_mprotect(many + 2 * i * PAGE_SIZE, PAGE_SIZE, prot));
	return many;
}

/* @to is 0 if the mapping may stay at its address. */
static long user_mremap(unsigned long addr, unsigned long len, unsigned long new_len,
			unsigned long to)
{
	unsigned long flags = to ? MREMAP_MAYMOVE | MREMAP_FIXED : 0;

	return USER_SYSCALL(mremap, addr, len, new_len, flags, to);
}

void expect_counted(struct kunit *test, const char *want)
{
	char got[COUNTERS_TEXT];

	counters_text(&scene_of(test)->since, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	counters_read(&scene_of(test)->since);
}

static void range_text(struct kunit *test, const struct sfu_range *range, struct seq_buf *s)
{
	const char *state = state_text(range);
	unsigned long border;

	seq_buf_printf(s, "%s%ld-%ld %s", s->len ? ", " : "",
		       (long)(range->start - page(test, 0)) / (long)PAGE_SIZE,
		       (long)(range->end - page(test, 0)) / (long)PAGE_SIZE, state);
	if (strcmp(state, "ready"))
		return;
	if (range->section.source == SFU_SOURCE_JIT_TABLE) {
		seq_buf_puts(s, " of process");
		return;
	}
	if (range->section.table) {
		seq_buf_printf(s, " by table at %ld",
			       (long)(range->section.bias - page(test, 0)) / (long)PAGE_SIZE);
		return;
	}
	border = (range->section.hdr.addr + PAGE_SIZE / 2) & PAGE_MASK;
	seq_buf_printf(s, " by %lu", (border - page(test, 0)) / PAGE_SIZE);
	if (range->section.hdr.addr != border)
		seq_buf_printf(s, "%+ld", (long)(range->section.hdr.addr - border));
}

void text_of_map(struct kunit *test, struct sfu_map *map, char *text)
{
	struct seq_buf s;
	unsigned int i;

	seq_buf_init(&s, text, MAP_TEXT);
	text[0] = '\0';
	if (!map)
		seq_buf_puts(&s, "unknown");
	for (i = 0; map && i < map->nr_ranges; i++)
		range_text(test, &map->ranges[i], &s);
	if (!s.len)
		seq_buf_puts(&s, "nothing");
	seq_buf_str(&s);
}

/* The process of a memory that the test holds: it stays in the table. */
struct sfu_process *process_of(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_processes_find(mm);
	rcu_read_unlock();
	return process;
}

/* Return: the map of the process with a reference, or NULL. */
struct sfu_map *map_of(struct mm_struct *mm)
{
	struct sfu_process *process = process_of(mm);

	return process ? sfu_process_get_map(process) : NULL;
}

/* The map of current, which has it until it is scanned or changed. */
struct sfu_map *map_now(void)
{
	struct sfu_map *map = map_of(current->mm);

	sfu_map_put(map);
	return map;
}

/* Adds current as a program that begins, which has no code yet, and scans it. */
void add_new_process(struct kunit *test)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_processes_add(current->mm, sfu_map_get_empty());
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_ASSERT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
}

struct sfu_range *range_at(struct kunit *test, unsigned int nr)
{
	struct sfu_range *range = sfu_map_find(map_now(), page(test, nr));

	KUNIT_ASSERT_NOT_NULL(test, range);
	return range;
}

void map_text(struct kunit *test, char *text)
{
	struct sfu_map *map = map_of(current->mm);

	text_of_map(test, map, text);
	sfu_map_put(map);
}

/* A search of all ranges, one after the other, is the expectation. */
static void expect_found(struct kunit *test, struct sfu_map *map, unsigned long addr)
{
	struct sfu_range *want = NULL;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++)
		if (map->ranges[i].start <= addr && addr < map->ranges[i].end &&
		    !map->ranges[i].unmapped)
			want = &map->ranges[i];
	KUNIT_EXPECT_PTR_EQ_MSG(test, sfu_map_find(map, addr), want, "at 0x%lx", addr);
}

/* Ranges ascend and are disjoint. Each is found from its first to its last byte. */
static void expect_in_order(struct kunit *test, struct sfu_map *map)
{
	unsigned long end = 0;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		const struct sfu_range *range = &map->ranges[i];

		KUNIT_EXPECT_LE(test, end, range->start);
		KUNIT_EXPECT_LT(test, range->start, range->end);
		end = range->end;
		expect_found(test, map, range->start - 1);
		expect_found(test, map, range->start);
		expect_found(test, map, range->end - 1);
		expect_found(test, map, range->end);
	}
	expect_found(test, map, 0);
	expect_found(test, map, ULONG_MAX);
}

void expect_map(struct kunit *test, const char *want)
{
	struct sfu_map *map = map_of(current->mm);
	char got[MAP_TEXT];

	map_text(test, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	if (map)
		expect_in_order(test, map);
	sfu_map_put(map);
}

int scan_now(struct kunit *test)
{
	struct sfu_map *seen = map_of(current->mm);
	unsigned long give_up = jiffies + 60 * HZ;
	int err;

	sfu_watch_sample();
	for (;;) {
		err = sfu_processes_scan(current->mm);
		if (map_now() != seen || time_after(jiffies, give_up))
			break;
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_PTR_NE(test, map_now(), seen);
	sfu_map_put(seen);
	return err;
}

void expect_scanned(struct kunit *test, const char *want, const char *counted)
{
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	expect_map(test, want);
	expect_counted(test, counted);
}

/* The row that a walk finds, or a look-up that @may_fault; "uncovered" if no section has any. */
void row_text(bool may_fault, unsigned long addr, char *text)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET };
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = map ? sfu_map_find(map, addr) : NULL;
	struct sframe_row row;
	int err;

	sfu_lookup_use_cache(&lookup, NULL);
	if (!range || !is_ready(range)) {
		strscpy(text, "uncovered", SECTION_ROW_TEXT);
	} else {
		err = may_fault ? find_user_row(&range->section.hdr, &lookup.rd, addr, &row) :
				  sfu_section_find_row(&range->section, &lookup, addr, &row);
		if (err)
			scnprintf(text, SECTION_ROW_TEXT, "error %d", err);
		else
			section_row_text(SFU_ARCH_ABI, &row, text);
	}
	sfu_map_put(map);
}

void expect_row(struct kunit *test, unsigned long addr, const char *want)
{
	char got[SECTION_ROW_TEXT];

	row_text(false, addr, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%lx", addr);
}

void expect_rows(struct kunit *test, unsigned long image)
{
	expect_row(test, image + PAGE_SIZE - 1, "uncovered");
	expect_row(test, image + PAGE_SIZE, ROW);
	expect_row(test, image + 3 * PAGE_SIZE - 1, ROW);
	expect_row(test, image + 3 * PAGE_SIZE, "uncovered");
}

/* A page of the file, which is in the page cache and stays there. */
struct folio *folio_at(struct kunit *test, unsigned int nr)
{
	struct folio *folio = filemap_get_folio(scene_of(test)->image.file->f_mapping, nr);

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(folio));
	folio_put(folio);
	return folio;
}

int scan_scene_begin(struct kunit *test, bool (*run_own_step)(struct kunit *, const char *))
{
	struct scan_scene *scene = test_alloc(test, sizeof(*scene));

	scene->run_own_step = run_own_step;
	scene->area = user_area(test, AREA_PAGES);
	begin_to_profile(test);
	image_init(test, &scene->image);
	counters_read(&scene->since);
	test->priv = scene;
	return 0;
}

int scan_scene_init(struct kunit *test)
{
	return scan_scene_begin(test, NULL);
}

void map_image(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	image_write(test, &scene->image);
	scene->is_written = true;
	image_map(test, &scene->image, scene->area);
}

struct image *another_image(struct kunit *test)
{
	struct image *image = test_alloc(test, sizeof(*image));

	image_init(test, image);
	return image;
}

void patch_file(struct kunit *test, loff_t at, u64 value, unsigned int len)
{
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < len; i++)
		bytes[i] = value >> (8 * i);
	KUNIT_ASSERT_EQ(test, len, kernel_write(scene_of(test)->image.file, bytes, len, &at));
}

struct mm_struct *new_process(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	mm->task_size = TASK_SIZE;
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
	return mm;
}

void switch_process(struct mm_struct *mm)
{
	kthread_unuse_mm(current->mm);
	kthread_use_mm(mm);
}

static void end_process(struct scan_scene *scene, unsigned int nr)
{
	if (scene->mms[nr])
		mmput(scene->mms[nr]);
	scene->mms[nr] = NULL;
}

/* KUnit calls this in a thread of its own. */
static void end_processes(void *data)
{
	struct scan_scene *scene = data;
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(scene->mms); i++)
		end_process(scene, i);
}

struct mm_struct *process_mm(struct kunit *test, unsigned int nr)
{
	struct scan_scene *scene = test->priv;

	if (!scene->mms[0]) {
		scene->mms[0] = current->mm;
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, end_processes, scene));
	}
	if (!scene->mms[nr])
		scene->mms[nr] = new_process(test);
	return scene->mms[nr];
}

struct image *written_image(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	if (!scene->is_written)
		image_write(test, &scene->image);
	scene->is_written = true;
	return &scene->image;
}

static void map_other_at(struct kunit *test, unsigned int nr)
{
	struct scan_scene *scene = test->priv;

	if (!scene->other) {
		scene->other = another_image(test);
		scene->other->ehdr.e_phnum = IMAGE_PH_SFRAME;
		image_write(test, scene->other);
	}
	image_map(test, scene->other, page(test, nr));
}

static unsigned long prot_of(const char *text)
{
	return (strchr(text, 'r') ? PROT_READ : 0) | (strchr(text, 'w') ? PROT_WRITE : 0) |
	       (strchr(text, 'x') ? PROT_EXEC : 0);
}

static unsigned long map_pages(struct file *file, unsigned long at, unsigned long len,
			       unsigned long prot, unsigned long offset)
{
	return vm_mmap(file, at, len, prot, MAP_PRIVATE | MAP_FIXED | (file ? 0 : MAP_ANONYMOUS),
		       offset);
}

void become_user(struct kunit *test, unsigned int uid)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->uid = KUIDT_INIT(uid);
	commit_creds(cred);
}

/* The kernel reports mappings in a task of the process: here in the test's kernel thread. */
static void report_mapping(unsigned long addr, bool is_exec)
{
	mmap_read_lock(current->mm);
	preempt_disable();
	current->flags &= ~PF_KTHREAD;
	current->in_execve = is_exec;
	sfu_event_mmap(find_vma(current->mm, addr));
	current->in_execve = 0;
	current->flags |= PF_KTHREAD;
	preempt_enable();
	mmap_read_unlock(current->mm);
}

static bool change_process(struct kunit *test, const char *name, const s64 *n, const char *text)
{
	unsigned long at = page(test, n[0]), len = n[1] * PAGE_SIZE, to = page(test, n[2]);
	struct image *image = &scene_of(test)->image;
	unsigned long err = 0;
	unsigned int i;

	if (!strcmp(name, "image"))
		image_map(test, written_image(test), at);
	else if (!strcmp(name, "section"))
		image_section(image, n[0], n[1], n[2]);
	else if (!strcmp(name, "linked"))
		for (i = 0; i < IMAGE_PHDRS; i++)
			image->phdrs[i].p_vaddr += n[0];
	else if (!strcmp(name, "cut"))
		err = vfs_truncate(&image->file->f_path, n[0]);
	else if (!strcmp(name, "other"))
		map_other_at(test, n[0]);
	else if (!strcmp(name, "file"))
		err = map_pages(written_image(test)->file, at, len, prot_of(text),
				n[2] * PAGE_SIZE) - at;
	else if (!strcmp(name, "anon"))
		err = map_pages(NULL, at, len, prot_of(text), 0) - at;
	else if (!strcmp(name, "unmap"))
		err = vm_munmap(at, len);
	else if (!strcmp(name, "protect"))
		err = user_mprotect(at, len, prot_of(text));
	else if (!strcmp(name, "move"))
		err = user_mremap(at, len, len, to) - to;
	else if (!strcmp(name, "shrink"))
		err = user_mremap(at, len, n[2] * PAGE_SIZE, 0) - at;
	else if (!strcmp(name, "drop"))
		err = USER_SYSCALL(madvise, at, len, MADV_DONTNEED, 0, 0);
	else if (!strcmp(name, "patch"))
		patch_file(test, n[0], n[2], n[1]);
	else if (!strcmp(name, "poke"))
		err = put_user(n[1], (u8 __user *)page(test, 0) + n[0]);
	else if (!strcmp(name, "bad"))
		sfu_section_mark_bad(&range_at(test, 1)->section, SFRAME_DEFECT_FRE_CUT);
	else if (!strcmp(name, "report") || !strcmp(name, "exec"))
		report_mapping(at, *name == 'e');
	else if (!strcmp(name, "run"))
		task_work_run();
	else if (!strcmp(name, "process"))
		switch_process(process_mm(test, n[0]));
	else if (!strcmp(name, "end"))
		end_process(test->priv, n[0]);
	else if (!strcmp(name, "changed"))
		inode_set_ctime(file_inode(written_image(test)->file), n[0], n[1]);
	else if (!strcmp(name, "uid"))
		become_user(test, n[0]);
	else if (!strcmp(name, "memory"))
		sfu_table_memory = n[0];
	else if (!strcmp(name, "lock"))
		mmap_write_lock(current->mm);
	else if (!strcmp(name, "unlock"))
		mmap_write_unlock(current->mm);
	else if (!strcmp(name, "begin-scan"))
		mutex_lock(&process_of(current->mm)->lock);
	else if (!strcmp(name, "end-scan"))
		mutex_unlock(&process_of(current->mm)->lock);
	else if (!strcmp(name, "busy"))
		KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_processes_scan(current->mm));
	else
		return false;
	KUNIT_EXPECT_EQ_MSG(test, 0, err, "%s", name);
	return true;
}

static void check_process(struct kunit *test, const char *name, char *text)
{
	char *counted = strstr(text, " | ");
	const char *row = text;
	s64 nr = 0;

	if (counted) {
		*counted = '\0';
		counted += 3;
	}
	if (!strcmp(name, "scan")) {
		expect_scanned(test, text, counted ?: "scan.runs");
	} else if (!strcmp(name, "new")) {
		KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
		expect_map(test, text);
		expect_counted(test, counted ?: "scan.runs");
	} else if (!strcmp(name, "map")) {
		expect_map(test, text);
	} else if (!strcmp(name, "counted")) {
		expect_counted(test, text);
	} else if (!strcmp(name, "held") && section_number(&row, &nr)) {
		KUNIT_EXPECT_EQ(test, nr, atomic_long_read(&sfu_held.processes));
		section_number(&row, &nr);
		KUNIT_EXPECT_EQ(test, nr, atomic_long_read(&sfu_held.sections));
	} else if (!strcmp(name, "rows") && section_number(&row, &nr)) {
		expect_rows(test, page(test, nr));
	} else if (!strcmp(name, "row") && section_number(&row, &nr)) {
		expect_row(test, page(test, nr), row + 1);
	} else {
		KUNIT_FAIL_AND_ABORT(test, "no step: %s %s", name, text);
	}
}

static void run_step(struct kunit *test, char *step)
{
	struct scan_scene *scene = test->priv;
	const char *rest;
	s64 n[3] = {};
	char *name;
	int i = 0;

	if (scene->run_own_step && scene->run_own_step(test, step))
		return;
	name = strsep(&step, " ");
	rest = step ?: "";
	while (i < ARRAY_SIZE(n) && section_number(&rest, &n[i]))
		i++;
	if (!change_process(test, name, n, rest))
		check_process(test, name, step ?: "");
}

void run_steps(struct kunit *test, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	run_each_step(test, scene_of(test)->script, run_step, format, args);
	va_end(args);
}

void run_script(struct kunit *test)
{
	const struct script_case *c = test->param_value;

	run_steps(test, "%s", c->script);
	if (scene_of(test)->mms[0])
		run_steps(test, "process 0");
}
