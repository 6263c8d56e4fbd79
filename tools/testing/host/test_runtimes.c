// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of what serve reads in processes that make code. A sparse file plays the memory of the
 * process: the offset is the address.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "hotspot_code.h"
#include "runtime.h"
#include "watch.h"
#include "x86_insn.h"

#define LIBRARY	0x10000ull	/* an ELF file of the process */
#define CODE	0x40000ull	/* memory without a file */
#define HEAP	0x100000ull
#define SYMBOL	0x18000ull	/* the address of the library's only symbol */

static const char maps[] =
	"10000-20000 r--p 00000000 08:01 77                  /lib/libfake.so\n"
	"20000-28000 r-xp 00010000 08:01 77                  /lib/libfake.so\n"
	"40000-48000 rwxp 00000000 00:00 0\n"
	"48000-50000 r-xp 00000000 00:00 0\n"
	"50000-58000 rwxs 00000000 00:01 9                   /dev/zero (deleted)\n"
	"60000-62000 r-xp 00000000 00:00 0                   [vdso]\n"
	"100000-40000000 rw-p 00000000 00:00 0               [heap]\n"
	"a line that the kernel does not write\n";

static struct target target;
static struct runtime runtime;
static bool all_passed = true;
static u32 nr_cases;

static void end_case(const char *name, bool passes)
{
	printf("%sok - runtimes: %s\n", passes ? "" : "not ", name);
	fflush(stdout);
	nr_cases++;
	all_passed = all_passed && passes;
}

static int file_with(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static void put(u64 addr, const void *bytes, size_t size)
{
	if (pwrite(target.mem, bytes, size, addr) != (ssize_t)size)
		abort();
}

static void put_word(u64 addr, u64 word)
{
	put(addr, &word, sizeof(word));
}

static void begin(void)
{
	int fd = file_with(maps, sizeof(maps) - 1);
	int mem = memfd_create("mem", MFD_CLOEXEC);

	if (mem < 0 || ftruncate(mem, 0x40000000) || target_open(&target, mem, fd))
		abort();
	close(fd);
	runtime_init(&runtime, &target);
	runtime.machine = cfi_find_machine(EM_X86_64);
}

static void end(void)
{
	close(target.mem);
	runtime_free(&runtime);
	target_close(&target);
}

/* The hash of DT_GNU_HASH: each byte after 33 times what was before, from 5381 on. */
static u32 hash_of(const char *name)
{
	u32 hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Puts an ELF file with these symbols at LIBRARY; the n-th has the address SYMBOL + 8 n. */
static void put_library(const char *const *names, u32 nr)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} file = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_filesz = 0x10000, .p_memsz = 0x10000 },
			{ .p_type = PT_DYNAMIC, .p_vaddr = 0x1000, .p_memsz = 64 },
		},
	};
	/* The address of the hash table is as in the file, the others are as in memory. */
	const Elf64_Dyn dynamic[] = {
		{ DT_SYMTAB, { LIBRARY + 0x2000 } }, { DT_STRTAB, { LIBRARY + 0x3000 } },
		{ DT_GNU_HASH, { 0x4000 } }, { DT_NULL, { 0 } },
	};
	/* One bucket, the first symbol, one word of the filter, a shift; the word; the bucket. */
	const u32 hash[] = { 1, 1, 1, 0, ~0u, ~0u, 1 };
	u32 i, name = 1, chain;

	put(LIBRARY, &file, sizeof(file));
	put(LIBRARY + 0x1000, dynamic, sizeof(dynamic));
	put(LIBRARY + 0x4000, hash, sizeof(hash));
	for (i = 0; i < nr; i++) {
		Elf64_Sym sym = {
			.st_name = name, .st_shndx = 1, .st_value = SYMBOL - LIBRARY + 8 * i,
		};

		chain = (hash_of(names[i]) & ~1u) | (i + 1 == nr);
		put(LIBRARY + 0x2000 + (i + 1) * sizeof(sym), &sym, sizeof(sym));
		put(LIBRARY + 0x3000 + name, names[i], strlen(names[i]) + 1);
		put(LIBRARY + 0x4000 + sizeof(hash) + 4 * i, &chain, sizeof(chain));
		name += strlen(names[i]) + 1;
	}
}

static const char *const debug_symbol[] = { "__jit_debug_descriptor" };

struct eh_frame {
	u8	cie[16], encoding, initial[7];
	u8	fde[8];
	u32	start;
	u8	rest[12];
};

static_assert(sizeof(struct eh_frame) == 48);

/* A CIE: zR. An FDE of 11 bytes: CFA = SP + 8, from 4 on + 16, from 10 on + 8. */
static struct eh_frame make_eh_frame(u8 encoding, u32 start)
{
	return (struct eh_frame){
		.cie = { 0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1 },
		.encoding = encoding,
		.initial = { 0x0c, 7, 8, 0x90, 1 },
		.fde = { 0x14, 0, 0, 0, 0x1c },
		.start = start,
		.rest = { 11, 0, 0, 0, 0, 0x44, 0x0e, 0x10, 0x46, 0x0e, 8 },
	};
}

#define TEXTREL	0x23
#define PCREL	0x1b

/* Is the only code that of make_eh_frame(), at @start? */
static bool has_function(u64 start)
{
	const struct cfi_row *rows = runtime.rows;

	runtime_sort(&runtime);
	return runtime.nr == 1 && runtime.all->start == start && runtime.all->size == 11 &&
	       runtime.all->nr == 3 && (rows += runtime.all->first) &&
	       rows[0].start == 0 && rows[0].state.cfa.off == 8 &&
	       rows[1].start == 4 && rows[1].state.cfa.off == 16 &&
	       rows[2].start == 10 && rows[2].state.cfa.off == 8;
}

/* ---- GDB's JIT interface ---- */

struct object {
	Elf64_Ehdr	header;
	Elf64_Shdr	sections[4];
	u8		names[32];
	struct eh_frame	eh_frame;
};

/* @loaded: the address of its .eh_frame; 0: it is in the object only */
static void put_object(u64 addr, u64 loaded)
{
	const struct object object = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_REL, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr), .e_shoff = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3,
		},
		.sections = {
			{},
			{ .sh_name = 1, .sh_type = SHT_NOBITS, .sh_addr = CODE, .sh_size = 11,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR },
			{ .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_addr = loaded,
			  .sh_offset = offsetof(struct object, eh_frame), .sh_size = 48,
			  .sh_flags = SHF_ALLOC },
			{ .sh_name = 17, .sh_type = SHT_STRTAB,
			  .sh_offset = offsetof(struct object, names), .sh_size = 32 },
		},
		.names = "\0.text\0.eh_frame\0.shstrtab",
		.eh_frame = make_eh_frame(TEXTREL, 0),
	};
	struct eh_frame relocated = make_eh_frame(PCREL, (u32)(CODE - (HEAP + 0x8000 + 32)));

	put(addr, &object, sizeof(object));
	if (loaded)
		put(loaded, &relocated, sizeof(relocated));
}

/* The list's first entry at HEAP, whose next is @next. */
static void put_list(u64 next, u64 object, u64 size)
{
	const u64 descriptor[] = { 1, 0, HEAP }, entry[] = { next, 0, object, size };

	put_library(debug_symbol, 1);
	put(SYMBOL, descriptor, sizeof(descriptor));
	put(HEAP, entry, sizeof(entry));
}

static void read_list(u64 next, u64 size, u64 loaded)
{
	const struct file none = {};

	begin();
	put_list(next, HEAP + 0x1000, size);
	put_object(HEAP + 0x1000, loaded);
	gdb_jit_read(&runtime, &none);
}

static void test_gdb_jit(void)
{
	const u64 entry[] = { HEAP + 0x100, 0, HEAP + 0x1000, 40u << 20 };
	const struct file none = {};
	u32 size;

	read_list(0, sizeof(struct object), 0);
	end_case("GDB: an object that is right as it is", has_function(CODE));
	end();
	read_list(0, sizeof(struct object), HEAP + 0x8000);
	end_case("GDB: an object that was relocated elsewhere", has_function(CODE));
	end();
	read_list(HEAP, 0, 0);
	end_case("GDB: a list with a loop ends", !runtime.nr && !runtime.error);
	end();
	read_list(0, 4ull << 30, 0);
	end_case("GDB: an object of 4 GiB is not copied", !runtime.nr && !target.copied);
	end();
	begin();
	put_list(HEAP + 0x100, HEAP + 0x1000, sizeof(struct object));
	put_object(HEAP + 0x1000, 0);
	put(HEAP + 0x100, entry, sizeof(entry));
	gdb_jit_read(&runtime, &none);
	end_case("GDB: of many bytes, 64 MiB are copied",
		 target.copied <= TARGET_COPIES_MAX && has_function(CODE));
	end();
	for (size = 0; size < sizeof(struct object); size++) {
		read_list(0, size, 0);
		end();
	}
	end_case("GDB: an object that ends anywhere", true);
	read_list(1, sizeof(struct object), 0);
	end_case("GDB: a list that leads nowhere", has_function(CODE));
	end();
}

/* ---- jitdump ---- */

struct dump {
	u32	magic, version, size, machine, reserved, pid;
	u64	time, flags;
	struct {
		u32	id, size;
		u64	time, data_size, header_size, mapped_size;
		struct eh_frame eh_frame;
		u8	header[24];
	} unwinding;
	struct {
		u32	id, size;
		u64	time;
		u32	pid, tid;
		u64	vma, addr, code_size, index;
		char	name[2];
		u8	code[14];
	} load;
};

/* Python 3.13 writes 0 for the machine. The code is 16 bytes before .eh_frame. */
static struct dump good_dump(void)
{
	return (struct dump){
		.magic = 0x4a695444, .version = 1, .size = 40, .pid = 1,
		.unwinding = {
			.id = 4, .size = sizeof(((struct dump *)0)->unwinding), .data_size = 72,
			.header_size = 24, .eh_frame = make_eh_frame(PCREL, -(16 + 32)),
		},
		.load = {
			.id = 0, .size = sizeof(((struct dump *)0)->load), .addr = CODE + 0x100,
			.code_size = 11,
		},
	};
}

static void read_dump(const struct dump *dump, size_t size)
{
	struct file file = { .is_open = true, .size = size };

	begin();
	file.fd = file_with(dump, size);
	jitdump_read(&runtime, &file);
	close(file.fd);
}

static void test_jitdump(void)
{
	struct dump dump = good_dump();
	bool is_right = true;
	size_t size;

	read_dump(&dump, sizeof(dump));
	end_case("jitdump: a function", has_function(CODE + 0x100));
	end();
	for (size = 0; size < sizeof(dump) - sizeof(dump.load) + 56; size++) {
		read_dump(&dump, size);
		is_right = is_right && !runtime.nr;
		end();
	}
	end_case("jitdump: ends anywhere", is_right);
	dump.load.addr = 0x20000;
	read_dump(&dump, sizeof(dump));
	end_case("jitdump: code in a file is left out", !runtime.nr);
	end();
	dump = good_dump();
	dump.unwinding.size = 0;
	read_dump(&dump, sizeof(dump));
	end_case("jitdump: a record of 0 bytes", !runtime.nr);
	end();
	dump = good_dump();
	dump.unwinding.data_size = 73;
	read_dump(&dump, sizeof(dump));
	end_case("jitdump: more data than the record has", !runtime.nr);
	end();
	dump = good_dump();
	dump.unwinding.header_size = 73;
	read_dump(&dump, sizeof(dump));
	end_case("jitdump: more header than data", !runtime.nr);
	end();
	dump = good_dump();
	dump.machine = EM_AARCH64;
	read_dump(&dump, sizeof(dump));
	end_case("jitdump: of another machine", !runtime.nr);
	end();
}

/* A FIFO has taken the name of the file that is mapped. Opening it would wait without end. */
static void test_fifo(void)
{
	char dir[] = "/tmp/runtimes-XXXXXX", path[64];
	struct dump dump = good_dump();
	struct target self;
	struct file file;
	int fd, text;
	void *page;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/jit-1.dump", dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &dump, sizeof(dump)) != sizeof(dump))
		abort();
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		abort();
	text = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (target_open(&self, -1, text))
		abort();
	if (rename(path, "/tmp/runtimes-dump") || mkfifo(path, 0600))
		abort();
	jitdump_open(&file, getpid(), &self);
	end_case(geteuid() ? "jitdump: a FIFO # SKIP not root" : "jitdump: a FIFO has its name",
		 geteuid() || (file.is_open && file.size == sizeof(dump)));
	file_close(&file);
	munmap(page, 4096);
	target_close(&self);
	close(text);
	close(fd);
	unlink("/tmp/runtimes-dump");
	unlink(path);
	rmdir(dir);
}

/* ---- copies of files ---- */

/* An ELF file in memory: its code is without a file, its .eh_frame_hdr leads to .eh_frame. */
static void put_copy(u64 code)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[3];
	} file = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_filesz = 0x2000, .p_memsz = 0x2000 },
			{ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = code - LIBRARY,
			  .p_filesz = 0x1000, .p_memsz = 0x1000 },
			{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x1000, .p_memsz = 12 },
		},
	};
	/* Version 1; .eh_frame is at the field + 12. */
	const u8 header[] = { 1, PCREL, 3, 0x3b, 12, 0, 0, 0, 0, 0, 0, 0 };
	struct eh_frame eh_frame = make_eh_frame(PCREL, code - (LIBRARY + 0x1010 + 32));

	put(LIBRARY, &file, sizeof(file));
	put(LIBRARY + 0x1000, header, sizeof(header));
	put(LIBRARY + 0x1010, &eh_frame, sizeof(eh_frame));
}

static void test_copies(void)
{
	begin();
	put_copy(CODE);
	copies_read(&runtime);
	end_case("copies: code without a file", has_function(CODE));
	end();
	begin();
	put_copy(0x20000);
	copies_read(&runtime);
	end_case("copies: code of the file has another table", !runtime.nr && !target.copied);
	end();
}

/* ---- code that a function jumps to ---- */

/* push %rbp; push %rbx; sub $0x18, %rsp; jmp *%rsi */
static const u8 makes_frame[] = { 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0xff, 0xe6 };

/* sub $16, %rsp; mov %r12, 16(%rsp); jmp *%rax */
static const u8 leaves[] = { 0x48, 0x83, 0xec, 16, 0x4c, 0x89, 0x64, 0x24, 16, 0xff, 0xe0 };

/* The only code is that of both mappings, whose first row has this offset of the CFA. */
static bool has_jumps(u64 entry, u64 size, s32 cfa, s32 fp)
{
	const struct cfi_state *state = &runtime.rows[0].state;

	runtime_sort(&runtime);
	return runtime.nr == 3 && runtime.all->start == CODE && runtime.entry_start == entry &&
	       runtime.entry_size == size && state->cfa.off == cfa && state->ra.off == -8 &&
	       (fp ? state->fp.how == CFI_CFA_MEM && state->fp.off == fp :
		     state->fp.how == CFI_SAME);
}

static void read_jumps(u64 addr, const u8 *bytes, u32 size)
{
	begin();
	put(addr, bytes, size);
	jumps_read(&runtime);
}

struct table_of_functions {
	u8	form[4];
	u32	eh_frame;
	u32	nr;
	s32	entries[2][2];
};

/* A function of 4096 bytes at LIBRARY + 0x10000: CFA = SP + 80, or + 88 further on. */
static void put_interpreter(bool has_two_rows)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} file = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_filesz = 0x18000, .p_memsz = 0x18000 },
			{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x1000, .p_memsz = 28 },
		},
	};
	const struct table_of_functions table = {
		{ 1, PCREL, 3, 0x3b }, 0x100, 2,
		{ { 0xf000, 0x100 + 24 }, { 0x10000, 0x100 + 24 } },
	};
	struct eh_frame frame = make_eh_frame(PCREL, 0x20000 - (LIBRARY + 0x1100 + 32));
	/* 4096 bytes; no data; DW_CFA_def_cfa_offset; DW_CFA_offset of RBP, or a second row */
	const u8 one_row[] = { 0, 0x10, 0, 0, 0, 0x0e, 80, 0x86, 2, 0, 0, 0 };
	const u8 two_rows[] = { 0, 0x10, 0, 0, 0, 0x0e, 80, 0x41, 0x0e, 88, 0, 0 };

	memcpy(frame.rest, has_two_rows ? two_rows : one_row, sizeof(one_row));
	put(LIBRARY, &file, sizeof(file));
	put(LIBRARY + 0x1000, &table, sizeof(table));
	put(LIBRARY + 0x1100, &frame, sizeof(frame));
	put(0x20100, leaves, sizeof(leaves));
}

/* The only trace has a row at its start, and a hole from @off to its end. */
static bool has_hole_after(const char *code, u32 size, u32 off)
{
	const struct cfi_row *rows;
	bool is_right;

	begin();
	put_interpreter(false);
	put(CODE + 0x100, code, size);
	jumps_read(&runtime);
	runtime_sort(&runtime);
	rows = runtime.rows;
	is_right = runtime.nr && runtime.all->nr >= 2 && !rows[0].hole &&
		   rows[0].state.cfa.off == 96 && rows[1].start == 0x100 + off && rows[1].hole &&
		   (runtime.all->nr == 2 || rows[2].start >= 0x100 + size);
	end();
	return is_right;
}

/* Traces of LuaJIT: the first one, at a higher address, leads to the second. */
static void test_traces(void)
{
	static const u8 second[] = {
		0x48, 0x83, 0xc4, 0xf0,			/* add $-16, %rsp */
		0x90,
		0x48, 0x83, 0xc4, 0x20,			/* add $32, %rsp */
		0xeb, 0x03,				/* jmp first */
		0x90, 0x90, 0x90,
	};
	static const u8 first[] = {
		0x48, 0x83, 0xc4, 0xf0, 0x75, 0xec,	/* add $-16, %rsp; jne second */
		0x48, 0x83, 0xc4, 0x10, 0xeb, 0xf4,	/* add $16, %rsp; jmp first */
	};
	const struct { u32 start; s32 off; } want[] = {
		{ 0, 96 }, { 0x100, 112 }, { 0x104, 128 }, { 0x109, 96 }, { 0x112, 112 },
		{ 0x118, 96 },
	};
	u8 pushes[0x4000];
	bool is_right;
	u32 i;

	begin();
	put_interpreter(false);
	put(CODE + 0x100, second, sizeof(second));
	put(CODE + 0x100 + sizeof(second), first, sizeof(first));
	jumps_read(&runtime);
	runtime_sort(&runtime);
	is_right = runtime.nr && runtime.all->nr == ARRAY_SIZE(want);
	for (i = 0; is_right && i < ARRAY_SIZE(want); i++)
		is_right = runtime.rows[i].start == want[i].start && !runtime.rows[i].hole &&
			   runtime.rows[i].state.cfa.off == want[i].off;
	end_case("traces: one leads to the other", is_right);
	end();
	begin();
	put_interpreter(false);
	put(CODE + 0x100, second, sizeof(second));
	put(CODE + 0x100 + sizeof(second), first, sizeof(first));
	put(CODE + 0x100 + sizeof(second) + 7, "\x83\xec\x10", 3);	/* sub $16, %rsp */
	jumps_read(&runtime);
	runtime_sort(&runtime);
	is_right = false;
	for (i = 0; i < runtime.all->nr; i++)
		is_right |= runtime.rows[i].start == 0x10e && runtime.rows[i].hole;
	end_case("traces: two ways that disagree", is_right);
	end();
	/* push $0; jmp .; then zeros, where a newer trace will begin; ret */
	begin();
	put_interpreter(false);
	put(CODE, "\x6a\x00\xeb\xfe", 4);
	put(CODE + 0x101, "\xc3", 1);
	jumps_read(&runtime);
	runtime_sort(&runtime);
	end_case("traces: zeros after the stubs of exits",
		 runtime.nr && runtime.all->nr == 3 && runtime.rows[1].start == 2 &&
		 runtime.rows[1].state.cfa.off == 104 && runtime.rows[2].start == 4 &&
		 runtime.rows[2].state.cfa.off == 96);
	end();
	/* mov %rax, %rsp; nop; ret */
	end_case("traces: the stack pointer is lost", has_hole_after("\x48\x89\xc4\x90\xc3", 5, 3));
	/* add $1, %rsp; nop; ret */
	end_case("traces: the stack pointer is one byte above the frame",
		 has_hole_after("\x48\x83\xc4\x01\x90\xc3", 6, 4));
	/* sub $0x7ffffff0, %rsp; nop; ret */
	end_case("traces: a frame of 2 GiB",
		 has_hole_after("\x48\x81\xec\xf0\xff\xff\x7f\x90\xc3", 9, 7));
	/* push %rax; pop %rax; ... */
	for (i = 0; i < sizeof(pushes); i++)
		pushes[i] = i % 2 ? 0x58 : 0x50;
	begin();
	put_interpreter(false);
	put(CODE, pushes, sizeof(pushes));
	jumps_read(&runtime);
	runtime_sort(&runtime);
	is_right = runtime.nr && runtime.all->nr < sizeof(pushes) &&
		   runtime.rows[runtime.all->nr - 1].hole;
	for (i = 0; is_right && i < runtime.all->nr - 1; i++)
		is_right = runtime.rows[i].start == i && !runtime.rows[i].hole &&
			   runtime.rows[i].state.cfa.off == (i % 2 ? 104 : 96);
	end_case("traces: a row for each byte", is_right);
	end();
}

static void test_jumps(void)
{
	u8 code[sizeof(makes_frame)];
	u32 i;

	read_jumps(CODE, makes_frame, sizeof(makes_frame));
	end_case("jumps: a function that makes a frame", has_jumps(CODE, 1, 48, -16));
	end();
	read_jumps(CODE + 0x8000 + 4096, makes_frame + 1, sizeof(makes_frame) - 1);
	end_case("jumps: in another page, and RBP is not saved",
		 has_jumps(CODE + 0x8000 + 4096, 1, 40, 0));
	end();
	read_jumps(CODE + 16, makes_frame, sizeof(makes_frame));
	end_case("jumps: not at the start of a page", !runtime.nr && !runtime.entry_size);
	end();
	memcpy(code, makes_frame, sizeof(code));
	code[7] = 0xd6;		/* call *%rsi */
	read_jumps(CODE, code, sizeof(code));
	end_case("jumps: a call", !runtime.nr);
	end();
	memcpy(code, makes_frame, sizeof(code));
	memcpy(code + 2, "\x48\x89\xe5\x90", 4);	/* mov %rsp, %rbp; nop */
	read_jumps(CODE, code, sizeof(code));
	end_case("jumps: RBP has been saved", has_jumps(CODE, 1, 24, -16));
	end();
	memcpy(code, "\x53\x48\x89\xe5\xff\xe6", 6);
	read_jumps(CODE, code, sizeof(code));
	end_case("jumps: RBP is lost", !runtime.nr);
	end();
	begin();
	put(CODE, makes_frame, sizeof(makes_frame));
	runtime_add(&runtime, CODE + 64, 8, &(struct cfi_row){}, 1, false);
	jumps_read(&runtime);
	end_case("jumps: something else describes code", runtime.nr == 1 && !runtime.entry_size);
	end();
	for (i = 0; i < 3; i++) {
		begin();
		put_interpreter(i == 1);
		/* It makes room twice. */
		if (i == 2) {
			put(0x20200, leaves, 4);
			put(0x20204, leaves, sizeof(leaves));
		}
		jumps_read(&runtime);
		end_case(!i ? "jumps: from an interpreter" : i == 1 ?
			 "jumps: from a function of two rows" : "jumps: two of different depth",
			 i ? !runtime.nr : has_jumps(0x20000, 0x1000, 96, -16));
		end();
	}
}

/* ---- HotSpot: code ---- */

struct follow_case {
	const char	*name;
	const char	*code;
	u32		size;
	u32		frame;
	bool		is_native;
	u8		depths[64];	/* one for each byte */
};

#define CODE_OF(bytes) .code = bytes, .size = sizeof(bytes) - 1
#define BANG	"\x89\x84\x24\x00\xc0\xfe\xff"	/* mov %eax, -0x14000(%rsp) */

/* cmp; ja over ret; ret */
#define POLL	"\x49\x3b\x67\x10\x0f\x87\x01\x00\x00\x00\xc3"

static const struct follow_case follows[] = {
	{ "push %rbp; sub; add; pop; poll; ret; what the poll leads to",
	  CODE_OF(BANG "\x55\x48\x83\xec\x10\x90\x48\x83\xc4\x10\x5d" POLL "\xf4"), 32, false,
	  { 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32, 32, 32, 16,
	    8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 } },
	{ "the method shall not be called any more",
	  CODE_OF("\xe9\0\x10\0\0\xfe\xff\x55\x48\x83\xec\x10\xf4"), 32, false,
	  { 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32 } },
	{ "sub; mov %rbp, 16(%rsp): RBP is not there yet",
	  CODE_OF("\x48\x81\xec\x18\0\0\0\x48\x89\x6c\x24\x10\x48\x83\xc4\x10\x5d\xc3"), 32,
	  false, { 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 32, 32, 32, 32, 16, 8 } },
	{ "push %rcx; jne over pop %rax; jmp; pop %rcx",
	  CODE_OF(BANG "\x55\x51\x75\x03\x58\xeb\x01\x59\x5d\xc3"), 16, false,
	  { 8, 8, 8, 8, 8, 8, 8, 8, 16, 24, 24, 24, 16, 16, 24, 16, 8 } },
	{ "a handler that nothing leads to has the whole frame",
	  CODE_OF(BANG "\x55\x48\x83\xec\x10\xf4\x90\xf4"), 32, false,
	  { 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32 } },
	{ "dead code that contradicts its end",
	  CODE_OF(BANG "\x55\x51\x75\x02\xf4\x90\x59\x5d\xc3"), 16, false,
	  { 8, 8, 8, 8, 8, 8, 8, 8, 16, 24, 24, 24, 0, 24, 16, 8 } },
	{ "a return elsewhere than at the return address",
	  CODE_OF(BANG "\x55\x48\x83\xec\x10\xc3"), 32, false, {} },
	{ "two ways to one place with two depths",
	  CODE_OF(BANG "\x55\x74\x01\x51\x90\x5d\xc3"), 16, false, {} },
	{ "another frame than HotSpot reports",
	  CODE_OF(BANG "\x55\x48\x83\xec\x10\xf4"), 48, false, {} },
	{ "no instruction", CODE_OF(BANG "\x55\x06"), 16, false, {} },
	{ "an instruction without its end", CODE_OF(BANG "\x55\x48\x81\xec"), 16, false, {} },
	{ "a native method: push %rbp; mov %rsp, %rbp; push; leave; ret",
	  CODE_OF("\x55\x48\x8b\xec\x50\xc9\xc3"), 32, true, { 8, 16, 16, 16, 1, 1, 8 } },
};

static void test_follow(void)
{
	u32 i, k, depths[64];
	bool passes;

	for (i = 0; i < ARRAY_SIZE(follows); i++) {
		const struct follow_case *c = &follows[i];
		u8 *code = malloc(c->size);

		memcpy(code, c->code, c->size);
		memset(depths, 0, sizeof(depths));
		hotspot_follow(code, depths, c->size, c->frame, c->is_native);
		passes = true;
		for (k = 0; k < c->size; k++)
			passes = passes && depths[k] == c->depths[k];
		end_case(c->name, passes);
		for (k = 0; !passes && k < c->size; k++)
			printf("# %u: %u, not %u\n", k, depths[k], c->depths[k]);
		free(code);
	}
}

/* ---- HotSpot: its structures ---- */

static const char *const vm_symbols[] = {
	"gHotSpotVMStructs", "gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMStructEntryArrayStride",
};

/* As in JDK 25, but for the order. @at: an offset, or the address of a static member */
static const struct {
	const char	*type, *name;
	u64		at;
	bool		is_static;
} vm_members[] = {
	{ "CodeCache", "_heaps", HEAP + 0x100, true }, { "GrowableArrayBase", "_len", 0 },
	{ "GrowableArray<int>", "_data", 8 }, { "CodeHeap", "_memory", 16 },
	{ "CodeHeap", "_log2_segment_size", 8 }, { "VirtualSpace", "_low", 16 },
	{ "VirtualSpace", "_high", 24 }, { "HeapBlock::Header", "_length", 0 },
	{ "HeapBlock::Header", "_used", 4 }, { "CodeBlob", "_name", 8 },
	{ "CodeBlob", "_size", 24 },
	{ "CodeBlob", "_frame_size", 44 }, { "CodeBlob", "_oop_maps", 0 },
	{ "CodeBlob", "_code_offset", 36 }, { "CodeBlob", "_data_offset", 40 },
};

#define VM_USED	8	/* the number of _used in vm_members */
#define VM_ODD	2	/* the length of a block for which the offset of _used has 33 bits */

static void put_structs(u32 nr)
{
	const u64 parts[] = { HEAP + 0x10000, 0, 8, 16, 24, 32, 40 };
	u64 text = HEAP + 0x20000;
	u32 i;

	put_library(vm_symbols, ARRAY_SIZE(vm_symbols));
	put(SYMBOL, parts, sizeof(parts));
	for (i = 0; i < nr; i++, text += 128) {
		u64 entry[] = { text, text + 64, vm_members[i].is_static, vm_members[i].at,
				vm_members[i].at };

		put(HEAP + 0x10000 + 40 * i, entry, sizeof(entry));
		put(text, vm_members[i].type, strlen(vm_members[i].type) + 1);
		put(text + 64, vm_members[i].name, strlen(vm_members[i].name) + 1);
	}
}

/* A heap of segments of 128 bytes at CODE, whose only block has the length @length. */
static void put_heap(u32 length, u32 frame)
{
	const u32 block[] = { length, 1 }, offsets[] = { 64, 96 };
	const char code[] = BANG "\x55\x48\x83\xec\x10\xf4";

	put_word(HEAP + 0x100, HEAP + 0x200);
	put_word(HEAP + 0x200, 1);
	put_word(HEAP + 0x208, HEAP + 0x300);
	put_word(HEAP + 0x300, HEAP + 0x400);
	put_word(HEAP + 0x408, 7);
	put_word(HEAP + 0x420, CODE);
	put_word(HEAP + 0x428, CODE + 0x8000);
	put(CODE, block, sizeof(block));
	put_word(CODE + 8 + 8, HEAP + 0x500);
	put(HEAP + 0x500, "nmethod", 8);
	put(CODE + 8 + 36, offsets, sizeof(offsets));
	put(CODE + 8 + 44, &frame, sizeof(frame));
	put(CODE + 8 + 64, code, sizeof(code) - 1);
}

static void read_vm(u32 nr_members, u32 length, u32 frame)
{
	u32 i;

	begin();
	for (i = 0; i < target.nr; i++)
		if (target.all[i].inode == 77)
			target.all[i].name = "/usr/lib/libjvm.so";
	put_structs(nr_members);
	put_heap(length, frame);
	if (length == VM_ODD)
		put_word(HEAP + 0x10000 + 40 * VM_USED + 24, 0x100000004);
	hotspot_read(&runtime);
}

static void test_hotspot(void)
{
	u32 i, nr = ARRAY_SIZE(vm_members);
	bool passes = true;

	read_vm(nr, 1, 4);
	end_case("HotSpot: a method", runtime.nr == 1 && runtime.all->start == CODE + 72 &&
		 runtime.rows[0].state.cfa.off == 8 && runtime.rows[1].start == 8 &&
		 runtime.rows[1].state.cfa.off == 16 && runtime.rows[2].start == 12 &&
		 runtime.rows[2].state.cfa.off == 32 && runtime.rows[2].state.fp.off == -16);
	end();
	for (i = 0; i + 2 < nr; i++) {
		read_vm(i, 1, 4);
		passes = passes && !runtime.nr;
		end();
	}
	end_case("HotSpot: a member that is needed is missing", passes);
	read_vm(nr, 0, 4);
	end_case("HotSpot: a block of no bytes", !runtime.nr);
	end();
	read_vm(nr, ~0u, 4);
	end_case("HotSpot: a block that does not end in its heap", !runtime.nr);
	end();
	read_vm(nr, VM_ODD, 4);
	end_case("HotSpot: a member at 4 GiB", !runtime.nr);
	end();
	read_vm(nr, 1, ~0u);
	end_case("HotSpot: a frame of 32 GiB", !runtime.nr);
	end();
}

/* ---- what all readers use ---- */

static void test_overlaps(void)
{
	const struct cfi_row row = {};

	begin();
	runtime_add(&runtime, CODE + 0x10, 0x10, &row, 1, false);
	runtime_add(&runtime, CODE + 0x30, 0x10, &row, 1, false);
	runtime_add(&runtime, CODE + 0x18, 0x20, &row, 1, false);
	runtime_add(&runtime, CODE + 0x38, 0x10, &row, 1, false);
	runtime_sort(&runtime);
	end_case("code that was overwritten", runtime.nr == 2 &&
		 runtime.all[0].start == CODE + 0x18 && runtime.all[1].start == CODE + 0x38);
	end();
	begin();
	runtime_add(&runtime, CODE + 0x7ff0, 0x20, &row, 1, false);
	end_case("code in two mappings", runtime.nr == 1);
	runtime_add(&runtime, 0x57ff0, 0x20, &row, 1, false);
	runtime_add(&runtime, 0x60000, 0x20, &row, 1, false);
	runtime_add(&runtime, HEAP, 0x20, &row, 1, false);
	runtime_add(&runtime, ~0ull - 4, 0x20, &row, 1, false);
	runtime_add(&runtime, 0x20000, 0x20, &row, 1, false);
	end_case("code of the kernel, of files, in data, or outside", runtime.nr == 1);
	runtime_add(&runtime, 0x50000, 0x20, &row, 1, false);
	end_case("code in shared memory", runtime.nr == 2);
	end();
}

/* ---- processes that are read again ---- */

static u32 nr_loaded, nr_answers;
static int load_errno;
static u32 nr_busy;	/* so many loads fail, before those that do not */
static bool is_sampled;	/* an answer succeeds though a table is refused */

/* The device. It is asked for a table, or told that there is none. */
const char *device_load_process(int device, pid_t pid, u64 cookie,
				const struct runtime_table *table, char *message, u32 size)
{
	(void)device;
	(void)message;
	(void)size;
	if (table->section_size && (pid != 7 || cookie != 9))
		abort();
	*(table->section_size ? &nr_loaded : &nr_answers) += 1;
	if (is_sampled && !table->section_size)
		return NULL;
	errno = load_errno;
	if (nr_busy) {
		nr_busy--;
		errno = EAGAIN;
		return "busy";
	}
	return load_errno ? "refused" : NULL;
}

/* What a child has written: two tables, of which the second says that it has @size bytes. */
static const char *load_again(struct watch *watch, struct watched *watched, u64 size)
{
	const struct {
		struct runtime_table	one;
		u8			section[8];
		struct runtime_table	two;
		u8			section2[8];
	} written = { .one.section_size = 8, .two.section_size = size };
	const struct worker worker = { .section = &written, .result.size = sizeof(written) };

	nr_loaded = 0;
	nr_answers = 0;
	watched->at = 0;
	if (watch_next(watch) != watched || watch_next(watch))
		abort();
	return watch_load(watch, watched, -1, &worker);
}

static u32 nr_watched(const struct watch *watch, pid_t pid)
{
	u32 i, nr = 0;

	for (i = 0; i < WATCH_MAX; i++)
		nr += watch->all[i].pid == pid;
	return nr;
}

static void load_killed(struct watch *watch, struct watched *watched)
{
	const struct worker worker = { .is_transient = true, .result.error = "killed" };

	load_errno = is_sampled ? 0 : ESRCH;
	watched->at = 0;
	if (watch_next(watch) != watched)
		abort();
	watch_load(watch, watched, -1, &worker);
	load_errno = 0;
}

static void test_watch(void)
{
	struct watch watch = {};
	struct watched *watched = &watch.all[0];
	u64 cookie;

	watch_add(&watch, -1, 7, 9, 1000);
	end_case("watch: two tables", !load_again(&watch, watched, 8) && nr_loaded == 2 &&
		 watched->pause == 1000);
	end_case("watch: the same tables", !load_again(&watch, watched, 8) && !nr_loaded &&
		 nr_answers == 1 && watched->pause == 2000);
	watch_add(&watch, -1, 7, 9, 1000);
	end_case("watch: the device reports it again", !load_again(&watch, watched, 8) &&
		 nr_loaded == 2 && watched->pause == 1000);
	end_case("watch: a table that is longer than what was written",
		 !load_again(&watch, watched, 9) && nr_loaded == 1);
	end_case("watch: a table of almost 2^64 bytes",
		 !load_again(&watch, watched, ~0ull) && nr_loaded == 1);
	watched->digest = 0;
	nr_busy = 4;
	end_case("watch: it was busy for a moment", !load_again(&watch, watched, 8) &&
		 nr_loaded == 6);
	load_errno = EAGAIN;
	is_sampled = true;
	watched->digest = 0;
	watched->pause = 1000;
	load_again(&watch, watched, 8);
	end_case("watch: it is busy, and is read later", watched->pause == 2000);
	load_again(&watch, watched, 8);
	end_case("watch: it is still busy, and is read later still", watched->pause == 4000);
	load_errno = 0;
	end_case("watch: it was busy", watched->pid == 7 && !load_again(&watch, watched, 8) &&
		 nr_loaded == 2);
	watch_add(&watch, -1, 7, 9, 1000);
	load_errno = ESRCH;
	is_sampled = false;
	end_case("watch: it is not sampled any more",
		 load_again(&watch, watched, 8) && nr_loaded == 1 && watch_is_empty(&watch) &&
		 !watch.nr_read);
	load_errno = 0;
	watch_add(&watch, -1, 7, 9, 1000);
	is_sampled = true;
	load_killed(&watch, watched);
	watch_add(&watch, -1, 7, 9, 1000);
	end_case("watch: a reader that was killed", watched->pid == 7 && watched->pause > 60000 &&
		 watched->at > clock_ms() + 50000 && !watch.nr_read);
	is_sampled = false;
	load_killed(&watch, watched);
	end_case("watch: a reader that was killed, of a process that has ended",
		 watch_is_empty(&watch));
	watch_add(&watch, -1, 1, 1, 1000);
	watch_add(&watch, -1, 2, 2, 1000);
	watch.all[0].at = 1;
	watch.all[1].at = 2;
	watch_add(&watch, -1, 3, 3, 1001);
	watch.all[2].at = 3;
	end_case("watch: each user has a reader",
		 watch_next(&watch)->pid == 1 && watch_next(&watch)->pid == 3);
	watch = (struct watch){};
	for (cookie = 10; cookie < 10 + WATCH_MAX; cookie++)
		watch_add(&watch, -1, 1, cookie, 1000);
	for (cookie = 0; cookie < WATCH_MAX; cookie++)
		watch.all[cookie].digest = 1;
	watch_add(&watch, -1, 7, 9, 1000);
	end_case("watch: a user with too many processes", nr_watched(&watch, 1) == WATCH_MAX);
	for (cookie = 100; cookie < 100 + WATCH_MAX; cookie++)
		watch_add(&watch, -1, 2, cookie, 1001);
	end_case("watch: another user gets half of the places",
		 nr_watched(&watch, 1) == WATCH_MAX / 2 && nr_watched(&watch, 2) == WATCH_MAX / 2);
	watch.all[0].is_read = true;
	for (cookie = 200; cookie < 300; cookie++)
		watch_add(&watch, -1, 3, cookie, 1002);
	end_case("watch: a process that is read keeps its place", watch.all[0].pid != 3);
}

static void *wait_for_end(void *unused)
{
	pause();
	return unused;
}

static void test_first_thread(void)
{
	pid_t pid = fork(), thread;
	pthread_t other;
	char path[32], byte;

	if (!pid) {
		if (pthread_create(&other, NULL, wait_for_end, NULL))
			abort();
		syscall(SYS_exit, 0);
	}
	end_case("target: the first thread", target_thread(getpid()) == getpid());
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (readlink(path, &byte, 1) == 1)
		usleep(1000);
	thread = target_thread(pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", thread);
	end_case("target: the first thread has ended",
		 thread != pid && readlink(path, &byte, 1) == 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	end_case("target: all threads have ended", target_thread(pid) == pid);
}

int main(void)
{
	test_gdb_jit();
	test_jitdump();
	test_fifo();
	test_copies();
	test_jumps();
	test_traces();
	test_follow();
	test_hotspot();
	test_overlaps();
	test_watch();
	test_first_thread();
	printf("1..%u\n", nr_cases);
	return !all_passed;
}
