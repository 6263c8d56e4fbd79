// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder: finds, in the bytes of an SFrame section, the row that says
 * where the caller's frame is.
 *
 * The bytes belong to somebody else. They may be garbage, crafted, or change
 * between two reads, so every record is copied once into a local, the copy is
 * checked against the bounds that the header established, and nothing is read
 * again. All reading goes through one function, which also charges it to the
 * look-up's budget, as each row that is looked at is, for many go into one read:
 * that, and not any count in the section, is what bounds the work.
 *
 * No locks, no allocation, no logging, no kernel: this file compiles unchanged
 * in the module, in tests and in host programs. It is safe in any context in
 * which the reader is.
 *
 * Errors, in all functions:
 *   -ENOENT	nothing is known here
 *   -EFAULT	not readable now (the reader's own word)
 *   -E2BIG	the look-up's budget is spent
 *   -EBADMSG	the section contradicts itself, see sframe_reader.fault
 *   -EOPNOTSUPP	well-formed, but not to be followed, likewise
 */
#include "sframe_core.h"

const char *const sframe_fault_names[] = {
	[SFRAME_FAULT_NONE] = "none",
	[SFRAME_FAULT_SEGMENT] = "segment",
	[SFRAME_FAULT_SHORT] = "short",
	[SFRAME_FAULT_EMPTY] = "empty",
	[SFRAME_FAULT_MAGIC] = "magic",
	[SFRAME_FAULT_VERSION] = "version",
	[SFRAME_FAULT_FLAGS] = "flags",
	[SFRAME_FAULT_ENDIAN] = "endian",
	[SFRAME_FAULT_ABI] = "abi",
	[SFRAME_FAULT_FOREIGN] = "foreign",
	[SFRAME_FAULT_FIXED] = "fixed-offsets",
	[SFRAME_FAULT_FDEOFF] = "fdeoff",
	[SFRAME_FAULT_FREOFF] = "freoff",
	[SFRAME_FAULT_FRELEN] = "fre-len",
	[SFRAME_FAULT_NUM_FDES] = "num-fdes",
	[SFRAME_FAULT_FDE_ORDER] = "fde-order",
	[SFRAME_FAULT_FDE_RANGE] = "fde-range",
	[SFRAME_FAULT_FRE_OFF] = "fre-off",
	[SFRAME_FAULT_FRE_TYPE] = "fre-type",
	[SFRAME_FAULT_FDE_TYPE] = "fde-type",
	[SFRAME_FAULT_REP_SIZE] = "rep-size",
	[SFRAME_FAULT_FRE_CUT] = "fre-cut",
	[SFRAME_FAULT_FRE_ORDER] = "fre-order",
	[SFRAME_FAULT_WORD_SIZE] = "word-size",
	[SFRAME_FAULT_NR_WORDS] = "nr-words",
	[SFRAME_FAULT_FLEX_CFA] = "flex-cfa",
	[SFRAME_FAULT_REGNUM] = "regnum",
};

const char *const sframe_fault_texts[] = {
	[SFRAME_FAULT_NONE] =
		"no fault",
	[SFRAME_FAULT_SEGMENT] =
		"segment does not lie in readable, loaded memory",
	[SFRAME_FAULT_SHORT] =
		"shorter than its 28-byte header",
	[SFRAME_FAULT_EMPTY] =
		"all zero: nothing is described here",
	[SFRAME_FAULT_MAGIC] =
		"does not begin with the magic 0xdee2",
	[SFRAME_FAULT_VERSION] =
		"version is not 1, 2 or 3",
	[SFRAME_FAULT_FLAGS] =
		"undefined flag bits are set",
	[SFRAME_FAULT_ENDIAN] =
		"byte order of another machine",
	[SFRAME_FAULT_ABI] =
		"ABI identifier is unknown or contradicts the byte order",
	[SFRAME_FAULT_FOREIGN] =
		"made for another architecture",
	[SFRAME_FAULT_FIXED] =
		"fixed FP or RA offset is not the ABI's",
	[SFRAME_FAULT_FDEOFF] =
		"FDE table does not lie between header and FREs",
	[SFRAME_FAULT_FREOFF] =
		"FRE sub-section begins beyond the end",
	[SFRAME_FAULT_FRELEN] =
		"FRE sub-section runs past the end",
	[SFRAME_FAULT_NUM_FDES] =
		"more FDEs than the table has room for",
	[SFRAME_FAULT_FDE_ORDER] =
		"FDEs are marked sorted but are not",
	[SFRAME_FAULT_FDE_RANGE] =
		"FDE's function is not in user memory",
	[SFRAME_FAULT_FRE_OFF] =
		"FDE's rows begin past the end",
	[SFRAME_FAULT_FRE_TYPE] =
		"row address type is undefined",
	[SFRAME_FAULT_FDE_TYPE] =
		"FDE type is undefined",
	[SFRAME_FAULT_REP_SIZE] =
		"repetitive FDE has block size 0",
	[SFRAME_FAULT_FRE_CUT] =
		"row runs past the end",
	[SFRAME_FAULT_FRE_ORDER] =
		"rows do not ascend",
	[SFRAME_FAULT_WORD_SIZE] =
		"row's word size is undefined",
	[SFRAME_FAULT_NR_WORDS] =
		"row's word count does not fit its form",
	[SFRAME_FAULT_FLEX_CFA] =
		"flexible row's CFA is not based on a register",
	[SFRAME_FAULT_REGNUM] =
		"row names a register that cannot be known",
};

static_assert(ARRAY_SIZE(sframe_fault_names) == NR_SFRAME_FAULTS);
static_assert(ARRAY_SIZE(sframe_fault_texts) == NR_SFRAME_FAULTS);

/* A window refill never crosses such a boundary: the next page may be absent. */
#define WINDOW_ALIGN	4096

/* What the decoder has to know of an ABI. */
struct abi {
	bool	big_endian;
	s8	fixed_ra;	/* 0: rows carry a rule for RA */
	u8	sp;		/* DWARF register numbers */
	u8	fp;
	u8	nr_regs;
	u8	max_words;	/* of a DEFAULT row */
};

static const struct abi abis[] = {
	[SFRAME_ABI_AARCH64_BE] = {
		.big_endian = true,
		.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
		.nr_regs = SFRAME_AARCH64_NR_REGS, .max_words = 3,
	},
	[SFRAME_ABI_AARCH64_LE] = {
		.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
		.nr_regs = SFRAME_AARCH64_NR_REGS, .max_words = 3,
	},
	[SFRAME_ABI_AMD64_LE] = {
		.fixed_ra = SFRAME_AMD64_FIXED_RA_OFFSET,
		.sp = SFRAME_AMD64_REG_SP, .fp = SFRAME_AMD64_REG_FP,
		.nr_regs = SFRAME_AMD64_NR_REGS, .max_words = 2,
	},
	[SFRAME_ABI_S390X_BE] = {
		.big_endian = true,
		.sp = SFRAME_S390X_REG_SP, .fp = SFRAME_S390X_REG_FP,
		.nr_regs = SFRAME_S390X_NR_REGS, .max_words = 3,
	},
};

static int bad(struct sframe_reader *rd, enum sframe_fault fault)
{
	rd->fault = fault;
	return -EBADMSG;
}

static int unsupported(struct sframe_reader *rd, enum sframe_fault fault)
{
	rd->fault = fault;
	return -EOPNOTSUPP;
}

static int charge(struct sframe_reader *rd, u32 cost)
{
	if (rd->budget < cost)
		return -E2BIG;
	rd->budget -= cost;
	return 0;
}

static int read_bytes(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	int err = charge(rd, len + SFRAME_READ_COST);

	return err ?: rd->read(rd, dst, addr, len);
}

static u16 get16(const struct sframe_section *sec, u16 v)
{
	return sec->swapped ? swab16(v) : v;
}

static u32 get32(const struct sframe_section *sec, u32 v)
{
	return sec->swapped ? swab32(v) : v;
}

static u64 get64(const struct sframe_section *sec, u64 v)
{
	return sec->swapped ? swab64(v) : v;
}

static int check_preamble(struct sframe_section *sec, struct sframe_reader *rd,
			  const struct sframe_raw_header *raw)
{
	static const u8 known_flags[] = {
		[SFRAME_VERSION_1] = SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER,
		[SFRAME_VERSION_2] = SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER |
				     SFRAME_F_FDE_FUNC_START_PCREL,
		[SFRAME_VERSION_3] = SFRAME_F_FDE_SORTED |
				     SFRAME_F_FDE_FUNC_START_PCREL,
	};
	static const u8 fde_sizes[] = {
		[SFRAME_VERSION_1] = sizeof(struct sframe_raw_fde_v1),
		[SFRAME_VERSION_2] = sizeof(struct sframe_raw_fde_v2),
		[SFRAME_VERSION_3] = sizeof(struct sframe_raw_fde_v3),
	};

	if (raw->magic == 0) {
		rd->fault = SFRAME_FAULT_EMPTY;
		return -ENOENT;
	}
	if (raw->magic != SFRAME_MAGIC && raw->magic != SFRAME_MAGIC_SWAPPED)
		return bad(rd, SFRAME_FAULT_MAGIC);
	if (raw->version < SFRAME_VERSION_1 || raw->version > SFRAME_VERSION_3)
		return bad(rd, SFRAME_FAULT_VERSION);
	if (raw->flags & ~known_flags[raw->version])
		return bad(rd, SFRAME_FAULT_FLAGS);

	sec->swapped = raw->magic == SFRAME_MAGIC_SWAPPED;
	sec->version = raw->version;
	sec->flags = raw->flags;
	sec->fde_size = fde_sizes[raw->version];
	return 0;
}

static int check_abi(struct sframe_section *sec, struct sframe_reader *rd,
		     const struct sframe_raw_header *raw)
{
	bool big_endian = *(const u8 *)&raw->magic == (SFRAME_MAGIC >> 8);

	if (raw->abi_arch == 0 || raw->abi_arch >= ARRAY_SIZE(abis))
		return bad(rd, SFRAME_FAULT_ABI);
	if (abis[raw->abi_arch].big_endian != big_endian)
		return bad(rd, SFRAME_FAULT_ABI);
	if (raw->cfa_fixed_fp_offset != 0 ||
	    raw->cfa_fixed_ra_offset != abis[raw->abi_arch].fixed_ra)
		return bad(rd, SFRAME_FAULT_FIXED);

	sec->abi = raw->abi_arch;
	return 0;
}

/* Every field can be 2^32 - 1: all sums are 64 bits wide. */
static int check_layout(struct sframe_section *sec, struct sframe_reader *rd,
			const struct sframe_raw_header *raw, u64 len)
{
	u64 base = sizeof(*raw) + raw->auxhdr_len;
	u32 num_fdes = get32(sec, raw->num_fdes);
	u32 fre_len = get32(sec, raw->fre_len);
	u32 fdeoff = get32(sec, raw->fdeoff);
	u32 freoff = get32(sec, raw->freoff);

	if (fdeoff > freoff)
		return bad(rd, SFRAME_FAULT_FDEOFF);
	if (base + freoff > len)
		return bad(rd, SFRAME_FAULT_FREOFF);
	if (fre_len > len - base - freoff)
		return bad(rd, SFRAME_FAULT_FRELEN);
	if (num_fdes > (freoff - fdeoff) / sec->fde_size)
		return bad(rd, SFRAME_FAULT_NUM_FDES);

	sec->fde_addr = sec->addr + base + fdeoff;
	sec->fre_addr = sec->addr + base + freoff;
	sec->num_fdes = num_fdes;
	sec->fre_len = fre_len;
	return 0;
}

/**
 * sframe_section_init() - read and check the header of a section
 * @sec: filled if the header is sound
 * @rd: the reader
 * @addr: address of the section in the address space of the code it describes
 * @len: bytes that may belong to it; more than it uses is usual
 *
 * Implements "SFrame Header" of the specification, for all versions, both byte
 * orders and all ABIs; a caller that serves one ABI compares &sframe_section.abi.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT for an all-zero section, as linkers leave it; -EBADMSG if
 * the header contradicts itself or the specification; -EFAULT; -E2BIG.
 */
int sframe_section_init(struct sframe_section *sec, struct sframe_reader *rd,
			u64 addr, u64 len)
{
	struct sframe_raw_header raw;
	int err;

	if (len < sizeof(raw))
		return bad(rd, SFRAME_FAULT_SHORT);
	err = read_bytes(rd, &raw, addr, sizeof(raw));
	if (err)
		return err;

	*sec = (struct sframe_section){ .addr = addr };
	err = check_preamble(sec, rd, &raw);
	if (err)
		return err;
	err = check_abi(sec, rd, &raw);
	if (err)
		return err;
	return check_layout(sec, rd, &raw, len);
}

/**
 * sframe_section_size() - bytes that a section uses
 * @sec: the section
 *
 * What follows may be padding, or, in a file whose linker does not merge, the
 * next section, 8-byte aligned.
 *
 * Context: Any.
 * Return: Bytes from the header to the end of the FRE sub-section.
 */
u64 sframe_section_size(const struct sframe_section *sec)
{
	return sec->fre_addr + sec->fre_len - sec->addr;
}

static void set_fde_info(struct sframe_fde *fde, u8 info)
{
	fde->fre_type = SFRAME_FDE_FRE_TYPE(info);
	fde->pcmask = SFRAME_FDE_PCMASK(info);
	fde->pauth_key_b = SFRAME_FDE_PAUTH_KEY_B(info);
}

/*
 * The anchor of the start field: the field itself or the section. With the
 * former the raw values do not ascend, so only computed addresses compare.
 */
static u64 fde_start(const struct sframe_section *sec, u64 field_addr, s64 start)
{
	if (sec->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		return field_addr + start;
	return sec->addr + start;
}

/* The entry of the FDE table. A V3 entry leaves the rest to its attribute. */
static int read_entry(const struct sframe_section *sec, struct sframe_reader *rd,
		      u32 index, struct sframe_fde *fde)
{
	u64 addr = sec->fde_addr + (u64)index * sec->fde_size;
	union {
		struct sframe_raw_fde_v1 v1;
		struct sframe_raw_fde_v2 v2;
		struct sframe_raw_fde_v3 v3;
	} raw;
	int err;

	err = read_bytes(rd, &raw, addr, sec->fde_size);
	if (err)
		return err;

	*fde = (struct sframe_fde){};
	if (sec->version == SFRAME_VERSION_3) {
		fde->start = fde_start(sec, addr, get64(sec, raw.v3.start));
		fde->size = get32(sec, raw.v3.size);
		fde->fre_off = get32(sec, raw.v3.fre_off);
		return 0;
	}

	/* V2 begins with the fields of V1. */
	fde->start = fde_start(sec, addr, (s32)get32(sec, raw.v1.start));
	fde->size = get32(sec, raw.v1.size);
	fde->fre_off = get32(sec, raw.v1.fre_off);
	fde->num_fres = get32(sec, raw.v1.num_fres);
	set_fde_info(fde, raw.v1.info);
	if (sec->version == SFRAME_VERSION_2)
		fde->rep_size = raw.v2.rep_size;
	else if (sec->abi == SFRAME_ABI_AMD64_LE)
		fde->rep_size = SFRAME_V1_AMD64_REP_SIZE;
	return 0;
}

static int read_attr(const struct sframe_section *sec, struct sframe_reader *rd,
		     struct sframe_fde *fde)
{
	struct sframe_raw_attr_v3 raw;
	int err;

	if ((u64)fde->fre_off + sizeof(raw) > sec->fre_len)
		return bad(rd, SFRAME_FAULT_FRE_OFF);
	err = read_bytes(rd, &raw, sec->fre_addr + fde->fre_off, sizeof(raw));
	if (err)
		return err;
	if (SFRAME_FDE_TYPE(raw.info2) > SFRAME_FDE_TYPE_FLEX)
		return unsupported(rd, SFRAME_FAULT_FDE_TYPE);

	fde->fre_off += sizeof(raw);
	fde->num_fres = get16(sec, raw.num_fres);
	fde->rep_size = raw.rep_size;
	fde->flex = SFRAME_FDE_TYPE(raw.info2) == SFRAME_FDE_TYPE_FLEX;
	fde->signal = SFRAME_FDE_SIGNAL(raw.info);
	set_fde_info(fde, raw.info);
	return 0;
}

/* The second half: what only the entry that is wanted needs. */
static int complete_fde(const struct sframe_section *sec,
			struct sframe_reader *rd, struct sframe_fde *fde)
{
	int err;

	if (sec->version == SFRAME_VERSION_3) {
		err = read_attr(sec, rd, fde);
		if (err)
			return err;
	}
	if (fde->fre_type > SFRAME_FRE_TYPE_ADDR4)
		return bad(rd, SFRAME_FAULT_FRE_TYPE);
	if (fde->pcmask && fde->rep_size == 0)
		return bad(rd, SFRAME_FAULT_REP_SIZE);
	if (fde->num_fres && fde->fre_off >= sec->fre_len)
		return bad(rd, SFRAME_FAULT_FRE_OFF);
	return 0;
}

/**
 * sframe_get_fde() - decode the function descriptor at an index
 * @sec: the section
 * @rd: the reader
 * @index: 0 to &sframe_section.num_fdes - 1
 * @fde: filled on success
 *
 * Implements "SFrame Function Descriptor Entries", for tools that list them.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT beyond the last; -EBADMSG; -EOPNOTSUPP for an FDE type of
 * a later version; -EFAULT; -E2BIG.
 */
int sframe_get_fde(const struct sframe_section *sec, struct sframe_reader *rd,
		   u32 index, struct sframe_fde *fde)
{
	int err;

	if (index >= sec->num_fdes)
		return -ENOENT;
	err = read_entry(sec, rd, index, fde);
	return err ?: complete_fde(sec, rd, fde);
}

static bool covers(const struct sframe_fde *fde, u64 pc)
{
	return pc - fde->start < fde->size;
}

/* read_entry() for a search: functions live in the lower half, and end there. */
static int probe(const struct sframe_section *sec, struct sframe_reader *rd,
		 u32 index, struct sframe_fde *fde)
{
	int err = read_entry(sec, rd, index, fde);

	if (err)
		return err;
	if ((fde->start | (fde->start + fde->size)) >> 63)
		return bad(rd, SFRAME_FAULT_FDE_RANGE);
	return 0;
}

/*
 * A zero-size entry may share its start with the one that covers @pc, in any
 * order. @index is the last entry that starts at or below @pc.
 */
static int step_back(const struct sframe_section *sec, struct sframe_reader *rd,
		     u64 pc, u32 index, struct sframe_fde *fde)
{
	u64 start = fde->start;
	int err;

	while (!covers(fde, pc)) {
		if (index-- == 0)
			return -ENOENT;
		err = probe(sec, rd, index, fde);
		if (err)
			return err;
		if (fde->start > start)
			return bad(rd, SFRAME_FAULT_FDE_ORDER);
		if (fde->start < start)
			return -ENOENT;
	}
	return 0;
}

static int search_sorted(const struct sframe_section *sec,
			 struct sframe_reader *rd, u64 pc, struct sframe_fde *fde)
{
	u32 lo = 0, hi = sec->num_fdes;
	struct sframe_fde probed;
	int err;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		err = probe(sec, rd, mid, &probed);
		if (err)
			return err;
		if (probed.start <= pc) {
			*fde = probed;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	if (lo == 0)
		return -ENOENT;
	return step_back(sec, rd, pc, lo - 1, fde);
}

static int search_unsorted(const struct sframe_section *sec,
			   struct sframe_reader *rd, u64 pc,
			   struct sframe_fde *fde)
{
	u32 i;
	int err;

	for (i = 0; i < sec->num_fdes; i++) {
		err = probe(sec, rd, i, fde);
		if (err)
			return err;
		if (covers(fde, pc))
			return 0;
	}
	return -ENOENT;
}

/**
 * sframe_find_fde() - find the function descriptor that covers an address
 * @sec: the section
 * @rd: the reader
 * @pc: address of an instruction
 * @fde: filled on success
 *
 * A binary search where the section says that it is sorted, else a scan; the
 * reader's budget bounds both.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT if no entry covers @pc; -EBADMSG; -EOPNOTSUPP for an FDE
 * type of a later version; -EFAULT; -E2BIG.
 */
int sframe_find_fde(const struct sframe_section *sec, struct sframe_reader *rd,
		    u64 pc, struct sframe_fde *fde)
{
	int err;

	if (sec->flags & SFRAME_F_FDE_SORTED)
		err = search_sorted(sec, rd, pc, fde);
	else
		err = search_unsorted(sec, rd, pc, fde);
	return err ?: complete_fde(sec, rd, fde);
}

/**
 * sframe_rows_init() - start a walk over the rows of a function
 * @rows: the walk
 * @sec: the section; must outlive the walk
 * @fde: the function; likewise
 *
 * Context: Any.
 */
void sframe_rows_init(struct sframe_rows *rows, const struct sframe_section *sec,
		      const struct sframe_fde *fde)
{
	rows->sec = sec;
	rows->fde = fde;
	rows->next = fde->fre_off;
	rows->left = fde->num_fres;
	rows->last = -1;
	rows->pos = 0;
	rows->len = 0;
}

/* Have @need bytes behind rows->pos, none of which was read before. */
static int fill(struct sframe_rows *rows, struct sframe_reader *rd, u32 need)
{
	const struct sframe_section *sec = rows->sec;

	if (rows->len - rows->pos >= need)
		return 0;

	rows->len -= rows->pos;
	memmove(rows->buf, rows->buf + rows->pos, rows->len);
	rows->pos = 0;

	while (rows->len < need) {
		u64 addr = sec->fre_addr + rows->next;
		u32 n = sizeof(rows->buf) - rows->len;
		int err;

		n = min_t(u32, n, sec->fre_len - rows->next);
		n = min_t(u32, n, WINDOW_ALIGN - addr % WINDOW_ALIGN);
		if (n == 0)
			return bad(rd, SFRAME_FAULT_FRE_CUT);
		err = read_bytes(rd, rows->buf + rows->len, addr, n);
		if (err)
			return err;
		rows->next += n;
		rows->len += n;
	}
	return 0;
}

static u32 row_start(const struct sframe_rows *rows)
{
	const u8 *p = rows->buf + rows->pos;
	u16 v16;
	u32 v32;

	switch (rows->fde->fre_type) {
	case SFRAME_FRE_TYPE_ADDR1:
		return *p;
	case SFRAME_FRE_TYPE_ADDR2:
		memcpy(&v16, p, sizeof(v16));
		return get16(rows->sec, v16);
	default:
		memcpy(&v32, p, sizeof(v32));
		return get32(rows->sec, v32);
	}
}

/* Bytes of the data words, or -EBADMSG. */
static int words_size(struct sframe_reader *rd, u8 info)
{
	if (SFRAME_FRE_WORD_SIZE(info) > 2)
		return bad(rd, SFRAME_FAULT_WORD_SIZE);
	return SFRAME_FRE_NR_WORDS(info) << SFRAME_FRE_WORD_SIZE(info);
}

/**
 * sframe_rows_next() - the next row of a function, as it is stored
 * @rows: the walk
 * @rd: the reader
 * @raw: filled on success
 *
 * Implements "SFrame Frame Row Entries".
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT after the last row; -EBADMSG; -EFAULT; -E2BIG.
 */
int sframe_rows_next(struct sframe_rows *rows, struct sframe_reader *rd,
		     struct sframe_raw_row *raw)
{
	u32 addr_size = 1u << rows->fde->fre_type;
	int size, err;

	if (rows->left == 0)
		return -ENOENT;
	err = charge(rd, SFRAME_ROW_COST) ?: fill(rows, rd, addr_size + 1);
	if (err)
		return err;

	raw->start = row_start(rows);
	raw->info = rows->buf[rows->pos + addr_size];
	if ((s64)raw->start <= rows->last)
		return bad(rd, SFRAME_FAULT_FRE_ORDER);
	size = words_size(rd, raw->info);
	if (size < 0)
		return size;

	rows->pos += addr_size + 1;
	err = fill(rows, rd, size);
	if (err)
		return err;
	memcpy(raw->words, rows->buf + rows->pos, size);
	rows->pos += size;
	rows->last = raw->start;
	rows->left--;
	return 0;
}

static u32 get_word(const struct sframe_section *sec,
		    const struct sframe_raw_row *raw, u32 i)
{
	u16 v16;
	u32 v32;

	switch (SFRAME_FRE_WORD_SIZE(raw->info)) {
	case 0:
		return raw->words[i];
	case 1:
		memcpy(&v16, raw->words + 2 * i, sizeof(v16));
		return get16(sec, v16);
	default:
		memcpy(&v32, raw->words + 4 * i, sizeof(v32));
		return get32(sec, v32);
	}
}

static s64 get_signed_word(const struct sframe_section *sec,
			   const struct sframe_raw_row *raw, u32 i)
{
	u32 word = get_word(sec, raw, i);

	switch (SFRAME_FRE_WORD_SIZE(raw->info)) {
	case 0:
		return (s8)word;
	case 1:
		return (s16)word;
	default:
		return (s32)word;
	}
}

static s64 scale_cfa_offset(const struct sframe_section *sec, s64 off)
{
	if (sec->abi != SFRAME_ABI_S390X_BE)
		return off;
	return off * SFRAME_S390X_CFA_SCALE + SFRAME_S390X_CFA_BIAS;
}

static struct sframe_rule default_ra(const struct abi *abi)
{
	if (abi->fixed_ra)
		return (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM,
					     .off = abi->fixed_ra };
	return (struct sframe_rule){ .how = SFRAME_RULE_SAME };
}

/* RA and FP of s390x: V2 writes a register as an odd word, and no RA as 0. */
static struct sframe_rule saved_rule(const struct sframe_section *sec, s64 word)
{
	if (sec->abi == SFRAME_ABI_S390X_BE) {
		if (word == 0)
			return (struct sframe_rule){ .how = SFRAME_RULE_SAME };
		if (sec->version == SFRAME_VERSION_2 &&
		    SFRAME_S390X_REG_WORD_P(word))
			return (struct sframe_rule){ .how = SFRAME_RULE_REG,
				.reg = SFRAME_S390X_REGNUM(word) };
	}
	return (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = word };
}

static int decode_default(const struct sframe_section *sec,
			  struct sframe_reader *rd,
			  const struct sframe_raw_row *raw, struct sframe_row *row)
{
	const struct abi *abi = &abis[sec->abi];
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 i = 0;

	if (nr > abi->max_words)
		return bad(rd, SFRAME_FAULT_NR_WORDS);

	row->cfa.how = SFRAME_RULE_REG;
	row->cfa.reg = SFRAME_FRE_BASE_SP(raw->info) ? abi->sp : abi->fp;
	row->cfa.off = scale_cfa_offset(sec, get_signed_word(sec, raw, i++));

	row->ra = default_ra(abi);
	if (!abi->fixed_ra && i < nr)
		row->ra = saved_rule(sec, get_signed_word(sec, raw, i++));
	if (i < nr)
		row->fp = saved_rule(sec, get_signed_word(sec, raw, i++));
	if ((row->ra.reg | row->fp.reg) >= abi->nr_regs)
		return unsupported(rd, SFRAME_FAULT_REGNUM);
	return 0;
}

/*
 * One rule of the flexible form: a control word and an offset, or a single 0
 * for "no rule here", which leaves what the caller put into @rule.
 */
static int decode_flex_rule(const struct sframe_section *sec,
			    struct sframe_reader *rd,
			    const struct sframe_raw_row *raw, u32 *i,
			    struct sframe_rule *rule)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 control;
	bool deref;

	if (*i == nr)
		return 0;
	control = get_word(sec, raw, (*i)++);
	if (control == 0)
		return 0;
	if (*i == nr)
		return bad(rd, SFRAME_FAULT_NR_WORDS);

	*rule = (struct sframe_rule){ .off = get_signed_word(sec, raw, (*i)++) };
	deref = SFRAME_FLEX_DEREF_P(control);
	if (!SFRAME_FLEX_REG_P(control)) {
		rule->how = deref ? SFRAME_RULE_CFA_MEM : SFRAME_RULE_CFA;
		return 0;
	}
	if (SFRAME_FLEX_REGNUM(control) >= abis[sec->abi].nr_regs)
		return unsupported(rd, SFRAME_FAULT_REGNUM);
	rule->how = deref ? SFRAME_RULE_REG_MEM : SFRAME_RULE_REG;
	rule->reg = SFRAME_FLEX_REGNUM(control);
	return 0;
}

static int decode_flex(const struct sframe_section *sec, struct sframe_reader *rd,
		       const struct sframe_raw_row *raw, struct sframe_row *row)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 i = 0;
	int err;

	if (nr < 2 || nr == 3 || nr > 6)
		return bad(rd, SFRAME_FAULT_NR_WORDS);

	err = decode_flex_rule(sec, rd, raw, &i, &row->cfa);
	if (err)
		return err;
	if (row->cfa.how != SFRAME_RULE_REG && row->cfa.how != SFRAME_RULE_REG_MEM)
		return bad(rd, SFRAME_FAULT_FLEX_CFA);
	row->cfa.off = scale_cfa_offset(sec, row->cfa.off);

	row->ra = default_ra(&abis[sec->abi]);
	err = decode_flex_rule(sec, rd, raw, &i, &row->ra);
	if (err)
		return err;
	err = decode_flex_rule(sec, rd, raw, &i, &row->fp);
	if (err)
		return err;
	return i == nr ? 0 : bad(rd, SFRAME_FAULT_NR_WORDS);
}

/**
 * sframe_decode_row() - the meaning of a stored row
 * @sec: the section
 * @fde: the function that the row belongs to
 * @rd: takes the fault, nothing is read
 * @raw: the row as it is stored
 * @row: filled on success
 *
 * Implements "SFrame FRE Info Word", "ABI/arch-specific definition" (DEFAULT)
 * and "Flexible FDE type" (FLEX). A row without words marks the outermost
 * frame (V2 erratum 2, V3).
 *
 * Context: Any.
 * Return: 0; -EBADMSG if the words do not fit the form; -EOPNOTSUPP if a rule
 * names a register that no pt_regs holds, as assemblers do by mistake.
 */
int sframe_decode_row(const struct sframe_section *sec,
		      const struct sframe_fde *fde, struct sframe_reader *rd,
		      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	*row = (struct sframe_row){
		.start = raw->start,
		.signal = fde->signal,
		.ra_mangled = SFRAME_FRE_RA_MANGLED(raw->info),
		.pcmask = fde->pcmask,
	};
	if (SFRAME_FRE_NR_WORDS(raw->info) == 0) {
		row->outermost = true;
		return 0;
	}
	return fde->flex ? decode_flex(sec, rd, raw, row) :
			   decode_default(sec, rd, raw, row);
}

/* A function without rows: "SFrame FDE", num_fres; V1 and V2 say nothing. */
static int describe_empty(const struct sframe_section *sec,
			  const struct sframe_fde *fde, struct sframe_row *row)
{
	if (sec->version < SFRAME_VERSION_3)
		return -ENOENT;
	*row = (struct sframe_row){
		.func = fde->start,
		.signal = fde->signal,
		.outermost = !fde->signal,
	};
	return 0;
}

/*
 * GNU ld describes .plt.got, slots that only jump, as if each had pushed a
 * word. Whatever the slot, at its first byte only the return address has been.
 */
static void mend_plt_row(const struct sframe_section *sec, struct sframe_row *row)
{
	if (sec->abi == SFRAME_ABI_AMD64_LE && row->pcmask && row->start == 0 &&
	    row->cfa.how == SFRAME_RULE_REG &&
	    row->cfa.reg == SFRAME_AMD64_REG_SP)
		row->cfa.off = -SFRAME_AMD64_FIXED_RA_OFFSET;
}

/**
 * sframe_find_row() - find and decode the row that holds at an address
 * @sec: the section
 * @rd: the reader
 * @pc: address of an instruction; for a return address, one less
 * @row: filled on success
 *
 * The last row that starts at or below @pc holds. Only that row is decoded.
 *
 * Context: Any in which the reader may be called; the reader's budget bounds
 * the work.
 * Return: 0; -ENOENT if nothing is known of @pc; -EBADMSG if the section
 * contradicts itself; -EOPNOTSUPP if this function or row must not be
 * followed; -EFAULT if it is not readable now; -E2BIG if the budget is spent.
 */
int sframe_find_row(const struct sframe_section *sec, struct sframe_reader *rd,
		    u64 pc, struct sframe_row *row)
{
	struct sframe_raw_row raws[2];
	struct sframe_rows rows;
	struct sframe_fde fde;
	unsigned int nr = 0;
	u32 off;
	int err;

	err = sframe_find_fde(sec, rd, pc, &fde);
	if (err)
		return err;
	if (fde.num_fres == 0)
		return describe_empty(sec, &fde, row);

	off = pc - fde.start;
	if (fde.pcmask)
		off %= fde.rep_size;

	/* raws[nr & 1] is the next row, the other one the last that may hold. */
	sframe_rows_init(&rows, sec, &fde);
	while (!(err = sframe_rows_next(&rows, rd, &raws[nr & 1]))) {
		if (raws[nr & 1].start > off)
			break;
		nr++;
	}
	if (err && err != -ENOENT)
		return err;
	if (nr == 0)
		return -ENOENT;

	err = sframe_decode_row(sec, &fde, rd, &raws[(nr - 1) & 1], row);
	if (err)
		return err;
	row->func = fde.start;
	mend_plt_row(sec, row);
	return 0;
}
