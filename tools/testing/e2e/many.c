// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * many - many files that want tables
 *
 * many fill DIR NR BYTES: makes NR files in DIR, and loads a table of BYTES bytes for each. No two
 * are the same. many use DIR NR: maps the first NR of them as code, and computes for ever.
 * many drops: tries to drop tables by wrong descriptors and flags, and prints the errors.
 * many refusals FILE: makes FILE, tries to load tables that are wrong in one way each, and prints
 * why the module refuses each.
 * many mutate FILE DIR NR SEED: writes NR files to DIR, which are FILE with some bytes changed.
 * many map DIR NR: maps these as code, one after the other, and computes for a moment with each.
 * many bomb FILE NR: NR times, executes a new copy of FILE with the argument "spin", 16 at a time.
 * many spin: computes for 20 ms.
 * many lease FILE: maps FILE as code, and computes with a lease on it. Says "asked" when somebody
 * is to wait for the lease, and keeps it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "sframe_format.h"
#include "uapi/sframe_unwind.h"

enum { PAGE = 4096, CODE = PAGE, TABLE = 16 * PAGE };

static void spin(long ms)
{
	long until = now_ms() + ms;

	do {
		for (int i = 0; i < 10000; i++)
			__asm__ volatile("");
	} while (now_ms() < until);
}

static int open_numbered(const char *dir, long nr, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%ld", dir, nr);
	fd = open(path, flags | O_CLOEXEC, 0755);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

/* ---- tables ---- */

/*
 * One function of @code bytes, with one row: CFA = SP + 16. A number makes each table another one.
 * The module keeps 8 bytes for each KiB of code.
 */
static void make_table(char *bytes, size_t size, uint32_t code, uint32_t nr)
{
	struct table {
		struct sframe_raw_header	header;
		struct sframe_raw_fde_v3	fde;
		struct sframe_raw_attr_v3	attr;
		u8				row[5];
	} __packed table = {
		.header = {
			.magic = SFRAME_MAGIC,
			.version = SFRAME_VERSION_3,
			.flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL,
			.num_fdes = 1,
			.num_fres = 1,
			.fre_len = size - sizeof(table.header) - sizeof(table.fde),
			.freoff = sizeof(table.fde),
		},
		.fde = { .start = CODE - TABLE - (long)sizeof(table.header), .size = code },
		.attr.num_fres = 1,
		.row = { 0, 0x03, 16 },		/* one word of one byte, from SP */
	};

#ifdef __x86_64__
	table.header.abi_arch = SFRAME_ABI_AMD64_LE;
	table.header.cfa_fixed_ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET;
#else
	table.header.abi_arch = SFRAME_ABI_AARCH64_LE;
	table.row[1] = 0x05;			/* two: the return address is at CFA - 8 */
	table.row[3] = -8;
#endif
	memset(bytes, 0, size);
	memcpy(bytes, &table, sizeof(table));
	memcpy(bytes + size - sizeof(nr), &nr, sizeof(nr));
}

/* A table to be loaded, and the answer. */
struct loading {
	struct sframe_load	load;
	struct sframe_segment	segment;
	char			message[256];
};

static void prepare(struct loading *loading, int fd, const char *bytes, size_t size)
{
	struct stat st;

	fstat(fd, &st);
	loading->message[0] = 0;
	loading->segment = (struct sframe_segment){ .offset = CODE, .size = PAGE, .addr = CODE };
	loading->load = (struct sframe_load){
		.size = sizeof(loading->load),
		.fd = fd,
		.section = (uintptr_t)bytes,
		.section_size = size,
		.section_addr = TABLE,
		.segments = (uintptr_t)&loading->segment,
		.nr_segments = 1,
		.file_size = st.st_size,
		.ctime = st.st_ctim.tv_sec,
		.ctime_nsec = st.st_ctim.tv_nsec,
		.message_size = sizeof(loading->message),
		.message = (uintptr_t)loading->message,
	};
}

static int open_device(void)
{
	int device = open("/dev/sframe_unwind", O_WRONLY | O_CLOEXEC);

	if (device < 0)
		err(1, "/dev/sframe_unwind");
	return device;
}

static void load(int device, int fd, const char *bytes, size_t size)
{
	struct loading loading;

	prepare(&loading, fd, bytes, size);
	if (ioctl(device, SFRAME_LOAD, &loading.load))
		err(1, "refused: %s", loading.message);
}

/* What is wrong with a table. */
enum wrong {
	TOO_NEW, NO_SEGMENT, HIGH_SEGMENT, HIGH_TABLE, OTHER_SIZE, VERSION, MACHINE, UNSORTED,
	NO_FUNCTION, ROW, TOO_LARGE, NR_WRONGS
};

/* Where make_table() writes the second byte of the row. */
#define ROW_INFO	(sizeof(struct sframe_raw_header) + sizeof(struct sframe_raw_fde_v3) +	\
			 sizeof(struct sframe_raw_attr_v3) + 1)

static void spoil(struct loading *loading, char *bytes, enum wrong wrong)
{
	struct sframe_raw_header *header = (void *)bytes;

	switch (wrong) {
	case NO_SEGMENT:
		loading->load.nr_segments = 0;
		break;
	case HIGH_SEGMENT:
		loading->segment.addr = 1ull << 63;
		break;
	case HIGH_TABLE:
		loading->load.section_addr = 1ull << 63;
		break;
	case OTHER_SIZE:
		loading->load.file_size++;
		break;
	case VERSION:
		header->version = 9;
		break;
	case MACHINE:
		if (header->abi_arch == SFRAME_ABI_AMD64_LE) {
			header->abi_arch = SFRAME_ABI_AARCH64_LE;
			header->cfa_fixed_ra_offset = 0;
		} else {
			header->abi_arch = SFRAME_ABI_AMD64_LE;
			header->cfa_fixed_ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET;
		}
		break;
	case UNSORTED:
		header->flags &= ~SFRAME_F_FDE_SORTED;
		break;
	case NO_FUNCTION:
		header->num_fdes = 0;
		break;
	case ROW:
		/* The word size of the row has no meaning. */
		bytes[ROW_INFO] |= 0x60;
		break;
	case TOO_LARGE:
		loading->load.section_size = 2 << 20;
		break;
	default:
		break;
	}
}

static void refusals(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755), device = open_device();
	char *bytes = malloc(2 << 20);
	struct loading loading;
	enum wrong wrong;

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		err(1, "%s", path);
	for (wrong = TOO_NEW; wrong < NR_WRONGS; wrong++) {
		make_table(bytes, wrong == TOO_LARGE ? 2 << 20 : PAGE, PAGE, 0);
		prepare(&loading, fd, bytes, PAGE);
		spoil(&loading, bytes, wrong);
		if (!ioctl(device, SFRAME_LOAD, &loading.load))
			errx(1, "table %d was loaded", wrong);
		puts(loading.message);
		if (wrong == TOO_NEW)
			usleep(2100000);
	}
}

static void fill(const char *dir, long nr, size_t size)
{
	int device = open_device();
	char bytes[PAGE];
	long i;

	for (i = 0; i < nr; i++) {
		int fd = open_numbered(dir, i, O_RDWR | O_CREAT);

		if (ftruncate(fd, 2 * PAGE))
			err(1, "ftruncate");
		close(fd);
	}
	/* A file that has changed a moment ago gets no table. */
	usleep(2100000);
	for (i = 0; i < nr; i++) {
		int fd = open_numbered(dir, i, O_RDONLY);

		make_table(bytes, sizeof(bytes), size / 8 * 1024, i);
		load(device, fd, bytes, sizeof(bytes));
		close(fd);
	}
}

/* Tries to drop a table by mistake. */
static void drops(void)
{
	static const struct {
		const char		*what;
		struct sframe_drop	drop;
	} mistakes[] = {
		{ "a descriptor of -1, first version", { .size = 8, .fd = -1 } },
		{ "a descriptor of -1", { .size = sizeof(struct sframe_drop), .fd = -1 } },
		{ "a descriptor of -2", { .size = sizeof(struct sframe_drop), .fd = -2 } },
		{ "a flag with a descriptor",
		  { .size = sizeof(struct sframe_drop), .flags = SFRAME_DROP_ALL } },
		{ "an unknown flag", { .size = sizeof(struct sframe_drop), .fd = -1, .flags = 4 } },
		{ "both flags", { .size = sizeof(struct sframe_drop), .fd = -1, .flags = 3 } },
	};
	int device = open_device();

	for (unsigned int i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++)
		printf("%s: %s\n", mistakes[i].what,
		       ioctl(device, SFRAME_DROP, &mistakes[i].drop) ? strerror(errno) : "done");
}

static void use(const char *dir, long nr)
{
	for (long i = 0; i < nr; i++) {
		int fd = open_numbered(dir, i, O_RDONLY);

		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, CODE) == MAP_FAILED)
			err(1, "mmap");
		close(fd);
	}
	for (;;)
		spin(1000);
}

/* ---- hostile files ---- */

static uint64_t random_state;

static uint64_t random_number(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* The value of a field next to which arithmetic goes wrong. */
static uint64_t odd_value(size_t size)
{
	static const uint64_t values[] = {
		0, 1, 2, -1, -2, 0x7f, 0x80, 0xff, 0xffff, 1u << 31, 1ul << 32, 1ul << 63, PAGE,
	};
	uint64_t value = values[random_number(sizeof(values) / sizeof(*values))];

	switch (random_number(4)) {
	case 0:
		return size - value;
	case 1:
		return random_number(2 * size);
	default:
		return value;
	}
}

/* Headers are changed as often as the rest: one time in two in the first 1024 bytes. */
static void change(char *bytes, size_t size)
{
	static const size_t widths[] = { 1, 2, 4, 8 };
	size_t width = widths[random_number(4)];
	size_t room = random_number(2) && size > 1024 ? 1024 : size;
	size_t at = random_number(room - 8) & -width;
	uint64_t value = odd_value(size);

	memcpy(bytes + at, &value, width);
}

static char *read_all(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	bytes = malloc(st.st_size);
	if (!bytes || read(fd, bytes, st.st_size) != st.st_size)
		err(1, "%s", path);
	close(fd);
	*size = st.st_size;
	return bytes;
}

static void mutate(const char *path, const char *dir, long nr, uint64_t seed)
{
	size_t size;
	char *original = read_all(path, &size), *mutant = malloc(size);

	for (long i = 0; i < nr; i++) {
		int fd = open_numbered(dir, i, O_WRONLY | O_CREAT | O_TRUNC);
		size_t len = size;

		random_state = (seed + i) * 0x9e3779b97f4a7c15 | 1;
		random_number(2);
		memcpy(mutant, original, size);
		for (long n = random_number(12) + 1; n; n--)
			change(mutant, size);
		if (!random_number(8))
			len = random_number(size);
		if (write(fd, mutant, len) != (ssize_t)len)
			err(1, "write");
		close(fd);
	}
}

static void map(const char *dir, long nr)
{
	for (long i = 0; i < nr; i++) {
		int fd = open_numbered(dir, i, O_RDONLY);

		/* An empty file cannot be mapped. */
		mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		spin(2);
	}
	spin(2000);
}

/* ---- new programs ---- */

static void execute_copy(const char *bytes, size_t size, long nr)
{
	int fd = memfd_create("bomb", 0), reader;
	char path[64];

	/* Another number makes another program. */
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
	    write(fd, &nr, sizeof(nr)) != sizeof(nr))
		_exit(1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	fexecve(reader, (char *[]){ "bomb", "spin", NULL }, (char *[]){ NULL });
	_exit(1);
}

static void bomb(const char *path, long nr)
{
	size_t size;
	char *bytes = read_all(path, &size);
	long running = 0, failed = 0;
	int status;

	for (long i = 0; i < nr || running; i++) {
		if (i < nr && fork() == 0)
			execute_copy(bytes, size, i);
		running += i < nr;
		if (running < 16 && i < nr)
			continue;
		wait(&status);
		running--;
		failed += status != 0;
	}
	if (failed)
		errx(1, "%ld programs failed", failed);
}

static volatile sig_atomic_t is_asked;

static void note_question(int nr)
{
	(void)nr;
	is_asked = 1;
}

static void lease(const char *path)
{
	int fd = open(path, O_RDONLY);

	signal(SIGIO, note_question);
	if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    fcntl(fd, F_SETLEASE, F_WRLCK))
		err(1, "%s", path);
	while (!is_asked)
		spin(10);
	puts("asked");
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "fill") && argc == 5)
		fill(argv[2], atol(argv[3]), atol(argv[4]));
	else if (!strcmp(mode, "drops") && argc == 2)
		drops();
	else if (!strcmp(mode, "refusals") && argc == 3)
		refusals(argv[2]);
	else if (!strcmp(mode, "use") && argc == 4)
		use(argv[2], atol(argv[3]));
	else if (!strcmp(mode, "mutate") && argc == 6)
		mutate(argv[2], argv[3], atol(argv[4]), atol(argv[5]));
	else if (!strcmp(mode, "map") && argc == 4)
		map(argv[2], atol(argv[3]));
	else if (!strcmp(mode, "bomb") && argc == 4)
		bomb(argv[2], atol(argv[3]));
	else if (!strcmp(mode, "lease") && argc == 3)
		lease(argv[2]);
	else if (!strcmp(mode, "spin"))
		spin(20);
	else
		errx(2, "usage: see the head of many.c");
	return 0;
}
