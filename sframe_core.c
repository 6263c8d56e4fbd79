// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder: finds, in the bytes of an SFrame section, the row that says
 * where the caller's frame is.
 *
 * The bytes are not trusted. They may be garbage or crafted, and they may change
 * between two reads. So the decoder copies each record once into a local, checks
 * the copy against the bounds of the header, and never reads a record again.
 *
 * One function does all the reading and charges it to the budget of the look-up.
 * One read may bring many rows, so each row that is examined is charged as well.
 * The budget bounds the work; no count in the section does.
 *
 * A value of the section that indexes a table is masked as well as checked: the processor
 * may mispredict the check.
 *
 * This file uses no locks, no allocation, no logging and no kernel interface. It
 * compiles unchanged in the module, in tests and in host programs. It is safe in
 * any context in which the reader is.
 *
 * All functions use these errors:
 *   -ENOENT	nothing is known here
 *   -EFAULT	not readable now (returned by the reader)
 *   -E2BIG	the budget of the look-up is spent
 *   -EBADMSG	the section contradicts itself, see &sframe_reader.defect
 *   -EOPNOTSUPP	well-formed, but the decoder does not follow it, likewise
 */
#include "sframe_core.h"

const char *const sframe_defect_names[] = {
	[SFRAME_DEFECT_NONE] = "none",
	[SFRAME_DEFECT_SEGMENT] = "segment",
	[SFRAME_DEFECT_SHORT] = "short",
	[SFRAME_DEFECT_EMPTY] = "empty",
	[SFRAME_DEFECT_MAGIC] = "magic",
	[SFRAME_DEFECT_VERSION] = "version",
	[SFRAME_DEFECT_FLAGS] = "flags",
	[SFRAME_DEFECT_ENDIAN] = "endian",
	[SFRAME_DEFECT_ABI] = "abi",
	[SFRAME_DEFECT_FOREIGN] = "foreign",
	[SFRAME_DEFECT_UNLINKED] = "unlinked",
	[SFRAME_DEFECT_FIXED] = "fixed-offsets",
	[SFRAME_DEFECT_FDEOFF] = "fdeoff",
	[SFRAME_DEFECT_FREOFF] = "freoff",
	[SFRAME_DEFECT_FRELEN] = "fre-len",
	[SFRAME_DEFECT_NUM_FDES] = "num-fdes",
	[SFRAME_DEFECT_FDE_ORDER] = "fde-order",
	[SFRAME_DEFECT_FDE_RANGE] = "fde-range",
	[SFRAME_DEFECT_STALE] = "stale",
	[SFRAME_DEFECT_FRE_OFF] = "fre-off",
	[SFRAME_DEFECT_FRE_TYPE] = "fre-type",
	[SFRAME_DEFECT_FDE_TYPE] = "fde-type",
	[SFRAME_DEFECT_REP_SIZE] = "rep-size",
	[SFRAME_DEFECT_FRE_CUT] = "fre-cut",
	[SFRAME_DEFECT_FRE_ORDER] = "fre-order",
	[SFRAME_DEFECT_WORD_SIZE] = "word-size",
	[SFRAME_DEFECT_NR_WORDS] = "nr-words",
	[SFRAME_DEFECT_FLEX_CFA] = "flex-cfa",
	[SFRAME_DEFECT_REGNUM] = "regnum",
	[SFRAME_DEFECT_OFFSET] = "offset",
	[SFRAME_DEFECT_COSTLY] = "costly",
};

const char *const sframe_defect_texts[] = {
	[SFRAME_DEFECT_NONE] =
		"no defect",
	[SFRAME_DEFECT_SEGMENT] =
		"segment does not lie in readable, loaded memory",
	[SFRAME_DEFECT_SHORT] =
		"shorter than its 28-byte header",
	[SFRAME_DEFECT_EMPTY] =
		"all zero: nothing is described here",
	[SFRAME_DEFECT_MAGIC] =
		"does not begin with the magic 0xdee2",
	[SFRAME_DEFECT_VERSION] =
		"version is not 1, 2 or 3",
	[SFRAME_DEFECT_FLAGS] =
		"undefined flag bits are set",
	[SFRAME_DEFECT_ENDIAN] =
		"byte order of another machine",
	[SFRAME_DEFECT_ABI] =
		"ABI identifier is unknown or contradicts the byte order",
	[SFRAME_DEFECT_FOREIGN] =
		"made for another architecture",
	[SFRAME_DEFECT_UNLINKED] =
		"linked without regard to its format: all starts are wrong",
	[SFRAME_DEFECT_FIXED] =
		"fixed FP or RA offset is not the ABI's",
	[SFRAME_DEFECT_FDEOFF] =
		"FDE table does not lie between header and FREs",
	[SFRAME_DEFECT_FREOFF] =
		"FRE sub-section begins beyond the end",
	[SFRAME_DEFECT_FRELEN] =
		"FRE sub-section runs past the end",
	[SFRAME_DEFECT_NUM_FDES] =
		"more FDEs than the table has room for",
	[SFRAME_DEFECT_FDE_ORDER] =
		"FDEs are marked sorted but are not",
	[SFRAME_DEFECT_FDE_RANGE] =
		"FDE's function is not in user memory",
	[SFRAME_DEFECT_STALE] =
		"FDE's function is not in the file's code: the linker has discarded it",
	[SFRAME_DEFECT_FRE_OFF] =
		"FDE's rows begin past the end",
	[SFRAME_DEFECT_FRE_TYPE] =
		"row address type is undefined",
	[SFRAME_DEFECT_FDE_TYPE] =
		"FDE type is undefined",
	[SFRAME_DEFECT_REP_SIZE] =
		"repetitive FDE has block size 0",
	[SFRAME_DEFECT_FRE_CUT] =
		"row runs past the end",
	[SFRAME_DEFECT_FRE_ORDER] =
		"rows do not ascend",
	[SFRAME_DEFECT_WORD_SIZE] =
		"row's word size is undefined",
	[SFRAME_DEFECT_NR_WORDS] =
		"row's word count does not fit its form",
	[SFRAME_DEFECT_FLEX_CFA] =
		"flexible row's CFA is not based on a register",
	[SFRAME_DEFECT_REGNUM] =
		"row names a register that cannot be known",
	[SFRAME_DEFECT_OFFSET] =
		"row's CFA offset does not fit 32 bits",
	[SFRAME_DEFECT_COSTLY] =
		"look-ups cost too much, again and again",
};

static_assert(ARRAY_SIZE(sframe_defect_names) == NR_SFRAME_DEFECTS);
static_assert(ARRAY_SIZE(sframe_defect_texts) == NR_SFRAME_DEFECTS);

/* A refill of the window never crosses a page: the next one may be absent. */
#define WINDOW_ALIGN	4096

/* Facts of an ABI that the decoder needs. */
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

static int malformed(struct sframe_reader *rd, enum sframe_defect defect)
{
	rd->defect = defect;
	return -EBADMSG;
}

static int unsupported(struct sframe_reader *rd, enum sframe_defect defect)
{
	rd->defect = defect;
	return -EOPNOTSUPP;
}

static int read_bytes(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	int err = sframe_charge(rd, sframe_read_cost(len));

	return err ?: rd->read(rd, dst, addr, len);
}

static __always_inline u16 get16(const struct sframe_header *hdr, u16 v)
{
	return hdr->swapped ? swab16(v) : v;
}

static __always_inline u32 get32(const struct sframe_header *hdr, u32 v)
{
	return hdr->swapped ? swab32(v) : v;
}

static u64 get64(const struct sframe_header *hdr, u64 v)
{
	return hdr->swapped ? swab64(v) : v;
}

static int check_preamble(struct sframe_header *hdr, struct sframe_reader *rd,
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
	u8 version;

	if (raw->magic == 0) {
		rd->defect = SFRAME_DEFECT_EMPTY;
		return -ENOENT;
	}
	if (raw->magic != SFRAME_MAGIC && raw->magic != SFRAME_MAGIC_SWAPPED)
		return malformed(rd, SFRAME_DEFECT_MAGIC);
	version = array_index_nospec(raw->version, ARRAY_SIZE(fde_sizes));
	if (raw->version < SFRAME_VERSION_1 || raw->version > SFRAME_VERSION_3)
		return malformed(rd, SFRAME_DEFECT_VERSION);
	if (raw->flags & ~known_flags[version])
		return malformed(rd, SFRAME_DEFECT_FLAGS);

	hdr->swapped = raw->magic == SFRAME_MAGIC_SWAPPED;
	hdr->version = version;
	hdr->flags = raw->flags;
	hdr->fde_size = fde_sizes[version];
	return 0;
}

static int check_abi(struct sframe_header *hdr, struct sframe_reader *rd,
		     const struct sframe_raw_header *raw)
{
	bool big_endian = *(const u8 *)&raw->magic == (SFRAME_MAGIC >> 8);
	u8 abi = array_index_nospec(raw->abi_arch, ARRAY_SIZE(abis));

	if (raw->abi_arch == 0 || raw->abi_arch >= ARRAY_SIZE(abis))
		return malformed(rd, SFRAME_DEFECT_ABI);
	if (abis[abi].big_endian != big_endian)
		return malformed(rd, SFRAME_DEFECT_ABI);
	if (raw->cfa_fixed_fp_offset != 0 ||
	    raw->cfa_fixed_ra_offset != abis[abi].fixed_ra)
		return malformed(rd, SFRAME_DEFECT_FIXED);

	hdr->abi = abi;
	return 0;
}

/* Every field can be 2^32 - 1: all sums are 64 bits wide. */
static int check_layout(struct sframe_header *hdr, struct sframe_reader *rd,
			const struct sframe_raw_header *raw, u64 len)
{
	u64 base = sizeof(*raw) + raw->auxhdr_len;
	u32 num_fdes = get32(hdr, raw->num_fdes);
	u32 fre_len = get32(hdr, raw->fre_len);
	u32 fdeoff = get32(hdr, raw->fdeoff);
	u32 freoff = get32(hdr, raw->freoff);

	if (fdeoff > freoff)
		return malformed(rd, SFRAME_DEFECT_FDEOFF);
	if (base + freoff > len)
		return malformed(rd, SFRAME_DEFECT_FREOFF);
	if (fre_len > len - base - freoff)
		return malformed(rd, SFRAME_DEFECT_FRELEN);
	if (num_fdes > (freoff - fdeoff) / hdr->fde_size)
		return malformed(rd, SFRAME_DEFECT_NUM_FDES);

	hdr->fde_addr = hdr->addr + base + fdeoff;
	hdr->fre_addr = hdr->addr + base + freoff;
	hdr->num_fdes = num_fdes;
	hdr->fre_len = fre_len;
	return 0;
}

/**
 * sframe_header_read() - read and check the header of a section
 * @hdr: filled if the header is sound
 * @rd: the reader
 * @addr: address of the section in the address space of the code it describes
 * @len: bytes that may belong to the section; usually more than it uses
 *
 * Implements "SFrame Header" of the specification, for all versions, both byte
 * orders and all ABIs. A caller that serves one ABI compares &sframe_header.abi.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT for an all-zero section, as linkers leave it; -EBADMSG if
 * the header contradicts itself or the specification; -EFAULT; -E2BIG.
 */
int sframe_header_read(struct sframe_header *hdr, struct sframe_reader *rd,
		       u64 addr, u64 len)
{
	struct sframe_raw_header raw;
	int err;

	if (len < sizeof(raw))
		return malformed(rd, SFRAME_DEFECT_SHORT);
	err = read_bytes(rd, &raw, addr, sizeof(raw));
	if (err)
		return err;

	*hdr = (struct sframe_header){ .addr = addr, .code_end = ~0ULL >> 1 };
	err = check_preamble(hdr, rd, &raw);
	if (err)
		return err;
	err = check_abi(hdr, rd, &raw);
	if (err)
		return err;
	return check_layout(hdr, rd, &raw, len);
}

/**
 * sframe_header_span() - bytes that a section uses
 * @hdr: the section
 *
 * The bytes after them may be padding. If the linker does not merge sections,
 * they may be the next section, 8-byte aligned.
 *
 * Context: Any.
 * Return: Bytes from the header to the end of the FRE sub-section.
 */
u64 sframe_header_span(const struct sframe_header *hdr)
{
	return hdr->fre_addr + hdr->fre_len - hdr->addr;
}

static void set_fde_info(struct sframe_fde *fde, u8 info)
{
	fde->fre_type = SFRAME_FDE_FRE_TYPE(info);
	fde->pcmask = SFRAME_FDE_PCMASK(info);
	fde->pauth_key_b = SFRAME_FDE_PAUTH_KEY_B(info);
}

/*
 * The start field is relative to itself or to the section. Relative to itself,
 * the raw values do not ascend, so only computed addresses can be compared.
 */
static u64 fde_start(const struct sframe_header *hdr, u64 field_addr, s64 start)
{
	if (hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		return field_addr + start;
	return hdr->addr + start;
}

union raw_fde {
	struct sframe_raw_fde_v1 v1;
	struct sframe_raw_fde_v2 v2;
	struct sframe_raw_fde_v3 v3;
};

static u64 entry_addr(const struct sframe_header *hdr, u32 index)
{
	return hdr->fde_addr + (u64)index * hdr->fde_size;
}

/* Decodes the entry at @index of the FDE table. In V3 the attribute holds the other fields. */
static void decode_entry(const struct sframe_header *hdr, u32 index,
			 const union raw_fde *raw, struct sframe_fde *fde)
{
	u64 addr = entry_addr(hdr, index);

	*fde = (struct sframe_fde){};
	if (hdr->version == SFRAME_VERSION_3) {
		fde->start = fde_start(hdr, addr, get64(hdr, raw->v3.start));
		fde->size = get32(hdr, raw->v3.size);
		fde->fre_off = get32(hdr, raw->v3.fre_off);
		return;
	}

	/* V2 begins with the fields of V1. */
	fde->start = fde_start(hdr, addr, (s32)get32(hdr, raw->v1.start));
	fde->size = get32(hdr, raw->v1.size);
	fde->fre_off = get32(hdr, raw->v1.fre_off);
	fde->num_fres = get32(hdr, raw->v1.num_fres);
	set_fde_info(fde, raw->v1.info);
	if (hdr->version == SFRAME_VERSION_2)
		fde->rep_size = raw->v2.rep_size;
	else if (hdr->abi == SFRAME_ABI_AMD64_LE)
		fde->rep_size = SFRAME_V1_AMD64_REP_SIZE;
}

static int read_entry(const struct sframe_header *hdr, struct sframe_reader *rd,
		      u32 index, struct sframe_fde *fde)
{
	union raw_fde raw;
	int err;

	err = read_bytes(rd, &raw, entry_addr(hdr, index), hdr->fde_size);
	if (!err)
		decode_entry(hdr, index, &raw, fde);
	return err;
}

/* Does the attribute lie in the section? In V3 it comes directly before the rows. */
static int check_attr(const struct sframe_header *hdr, struct sframe_reader *rd,
		      const struct sframe_fde *fde)
{
	if ((u64)fde->fre_off + sizeof(struct sframe_raw_attr_v3) > hdr->fre_len)
		return malformed(rd, SFRAME_DEFECT_FRE_OFF);
	return 0;
}

static int set_attr(const struct sframe_header *hdr, struct sframe_reader *rd,
		    const struct sframe_raw_attr_v3 *raw, struct sframe_fde *fde)
{
	if (SFRAME_FDE_TYPE(raw->info2) > SFRAME_FDE_TYPE_FLEX)
		return unsupported(rd, SFRAME_DEFECT_FDE_TYPE);

	fde->fre_off += sizeof(*raw);
	fde->num_fres = get16(hdr, raw->num_fres);
	fde->rep_size = raw->rep_size;
	fde->flex = SFRAME_FDE_TYPE(raw->info2) == SFRAME_FDE_TYPE_FLEX;
	fde->signal = SFRAME_FDE_SIGNAL(raw->info);
	set_fde_info(fde, raw->info);
	return 0;
}

static int read_attr(const struct sframe_header *hdr, struct sframe_reader *rd,
		     struct sframe_fde *fde)
{
	struct sframe_raw_attr_v3 raw;
	int err = check_attr(hdr, rd, fde);

	if (err)
		return err;
	err = read_bytes(rd, &raw, hdr->fre_addr + fde->fre_off, sizeof(raw));
	return err ?: set_attr(hdr, rd, &raw, fde);
}

static int check_fde(const struct sframe_header *hdr, struct sframe_reader *rd,
		     const struct sframe_fde *fde)
{
	if (fde->fre_type > SFRAME_FRE_TYPE_ADDR4)
		return malformed(rd, SFRAME_DEFECT_FRE_TYPE);
	if (fde->pcmask && fde->rep_size == 0)
		return malformed(rd, SFRAME_DEFECT_REP_SIZE);
	if (fde->num_fres && fde->fre_off >= hdr->fre_len)
		return malformed(rd, SFRAME_DEFECT_FRE_OFF);
	return 0;
}

/* The second half of decoding: only the entry that is wanted needs it. */
static int complete_fde(const struct sframe_header *hdr,
			struct sframe_reader *rd, struct sframe_fde *fde)
{
	int err = hdr->version == SFRAME_VERSION_3 ? read_attr(hdr, rd, fde) : 0;

	return err ?: check_fde(hdr, rd, fde);
}

/**
 * sframe_get_fde() - decode the function descriptor at an index
 * @hdr: the section
 * @rd: the reader
 * @index: 0 to &sframe_header.num_fdes - 1
 * @fde: filled on success
 *
 * Implements "SFrame Function Descriptor Entries", for tools that list them.
 *
 * Context: Any in which the reader may be called.
 * Return: 0; -ENOENT beyond the last; -EBADMSG; -EOPNOTSUPP for an FDE type of
 * a later version; -EFAULT; -E2BIG.
 */
int sframe_get_fde(const struct sframe_header *hdr, struct sframe_reader *rd,
		   u32 index, struct sframe_fde *fde)
{
	int err;

	if (index >= hdr->num_fdes)
		return -ENOENT;
	err = read_entry(hdr, rd, index, fde);
	return err ?: complete_fde(hdr, rd, fde);
}

/*
 * Does the function lie in the code of the section, and @pc in it? A linker that does not know
 * SFrame (mold) leaves the entries of functions that it has discarded at address 0.
 */
static bool covers_pc(const struct sframe_header *hdr, const struct sframe_fde *fde, u64 pc)
{
	return pc - fde->start < fde->size && fde->start >= hdr->code_start &&
	       fde->start + fde->size <= hdr->code_end;
}

/* User code begins and ends in the lower half. */
static int check_range(struct sframe_reader *rd, const struct sframe_fde *fde)
{
	if ((fde->start | (fde->start + fde->size)) >> 63)
		return malformed(rd, SFRAME_DEFECT_FDE_RANGE);
	return 0;
}

/* Reads an entry, whose function must lie in user memory. */
static int read_search_entry(const struct sframe_header *hdr, struct sframe_reader *rd,
			     u32 index, struct sframe_fde *fde)
{
	return read_entry(hdr, rd, index, fde) ?: check_range(rd, fde);
}

/*
 * Entries of size zero may share their start with the entry that covers @pc, in
 * any order. @index is the last entry that starts at or below @pc.
 */
static int step_back(const struct sframe_header *hdr, struct sframe_reader *rd,
		     u64 pc, u32 index, struct sframe_fde *fde)
{
	u64 start = fde->start;
	int err;

	while (!covers_pc(hdr, fde, pc)) {
		if (index-- == 0)
			return -ENOENT;
		err = read_search_entry(hdr, rd, index, fde);
		if (err)
			return err;
		if (fde->start > start)
			return malformed(rd, SFRAME_DEFECT_FDE_ORDER);
		if (fde->start < start)
			return -ENOENT;
	}
	return 0;
}

/* Sets @fde to the last entry that starts at or below @pc, if there is one. */
static int bisect_entries(const struct sframe_header *hdr, struct sframe_reader *rd,
			  u64 pc, u32 *nr, struct sframe_fde *fde)
{
	u32 lo = 0, hi = hdr->num_fdes;
	struct sframe_fde probed;
	int err;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		err = read_search_entry(hdr, rd, mid, &probed);
		if (err)
			return err;
		if (probed.start <= pc) {
			*fde = probed;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	*nr = lo;
	return 0;
}

static int search_sorted(const struct sframe_header *hdr,
			 struct sframe_reader *rd, u64 pc, struct sframe_fde *fde)
{
	u32 nr;
	int err = bisect_entries(hdr, rd, pc, &nr, fde);

	if (err)
		return err;
	if (nr == 0)
		return -ENOENT;
	return step_back(hdr, rd, pc, nr - 1, fde);
}

/* The number of entries to read at once: those of one page, as the next one may be absent. */
static u32 block_size(const struct sframe_header *hdr, u32 index, u32 room)
{
	u32 in_page = WINDOW_ALIGN - entry_addr(hdr, index) % WINDOW_ALIGN;
	u32 nr = min_t(u32, room, in_page) / hdr->fde_size;

	return min_t(u32, nr ? nr : 1, hdr->num_fdes - index);
}

/* Finds the entry that covers @pc among the @nr entries at @bytes. -ENOENT: there is none. */
static int search_block(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
			u32 index, u32 nr, const u8 *bytes, struct sframe_fde *fde)
{
	union raw_fde raw;
	u32 i;
	int err;

	for (i = 0; i < nr; i++) {
		memcpy(&raw, bytes + i * hdr->fde_size, hdr->fde_size);
		decode_entry(hdr, index + i, &raw, fde);
		err = check_range(rd, fde);
		if (err || covers_pc(hdr, fde, pc))
			return err;
	}
	return -ENOENT;
}

static int search_unsorted(const struct sframe_header *hdr,
			   struct sframe_reader *rd, u64 pc,
			   struct sframe_fde *fde)
{
	u8 block[SFRAME_WINDOW];
	u32 i, nr;
	int err;

	for (i = 0; i < hdr->num_fdes; i += nr) {
		nr = block_size(hdr, i, sizeof(block));
		err = sframe_charge(rd, nr * SFRAME_ENTRY_COST) ?:
		      read_bytes(rd, block, entry_addr(hdr, i), nr * hdr->fde_size);
		if (err)
			return err;
		err = search_block(hdr, rd, pc, i, nr, block, fde);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

/* Finds the entry that covers @pc. It still has to be completed. */
static int search_entries(const struct sframe_header *hdr, struct sframe_reader *rd,
			  u64 pc, struct sframe_fde *fde)
{
	return hdr->flags & SFRAME_F_FDE_SORTED ? search_sorted(hdr, rd, pc, fde) :
						  search_unsorted(hdr, rd, pc, fde);
}

/**
 * sframe_find_fde() - find the function descriptor that covers an address
 * @hdr: the section
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
int sframe_find_fde(const struct sframe_header *hdr, struct sframe_reader *rd,
		    u64 pc, struct sframe_fde *fde)
{
	return search_entries(hdr, rd, pc, fde) ?: complete_fde(hdr, rd, fde);
}

/**
 * sframe_rows_init() - start a walk over the rows of a function
 * @rows: the walk
 * @hdr: the section; must outlive the walk
 * @fde: the function; likewise
 *
 * Context: Any.
 */
void sframe_rows_init(struct sframe_rows *rows, const struct sframe_header *hdr,
		      const struct sframe_fde *fde)
{
	rows->hdr = hdr;
	rows->fde = fde;
	rows->next = fde->fre_off;
	rows->left = fde->num_fres;
	rows->last = -1;
	rows->pos = 0;
	rows->len = 0;
	rows->room = SFRAME_FIRST_WINDOW;
}

/* Makes @need bytes available at rows->pos. No byte of the section is read twice. */
static int fill_window(struct sframe_rows *rows, struct sframe_reader *rd, u32 need)
{
	const struct sframe_header *hdr = rows->hdr;

	if (rows->len - rows->pos >= need)
		return 0;

	rows->len -= rows->pos;
	memmove(rows->buf, rows->buf + rows->pos, rows->len);
	rows->pos = 0;

	while (rows->len < need) {
		u64 addr = hdr->fre_addr + rows->next;
		u32 n = rows->room - rows->len;
		int err;

		n = min_t(u32, n, hdr->fre_len - rows->next);
		n = min_t(u32, n, WINDOW_ALIGN - addr % WINDOW_ALIGN);
		if (n == 0)
			return malformed(rd, SFRAME_DEFECT_FRE_CUT);
		err = read_bytes(rd, rows->buf + rows->len, addr, n);
		if (err)
			return err;
		rows->next += n;
		rows->len += n;
	}
	rows->room = SFRAME_WINDOW;
	return 0;
}

static __always_inline u32 get_start(const u8 *p, u32 addr_size, bool swapped)
{
	u16 v16;
	u32 v32;

	switch (addr_size) {
	case 1:
		return *p;
	case 2:
		v16 = ((const struct sframe_any_u16 *)p)->v;
		return swapped ? swab16(v16) : v16;
	default:
		v32 = ((const struct sframe_any_u32 *)p)->v;
		return swapped ? swab32(v32) : v32;
	}
}

/*
 * Bytes of the data words, by the info word; SFRAME_NO_SIZE if the word size is undefined. Bit 0
 * of the info word is the base of the CFA, bits 1 to 4 are the number of words, bits 5 and 6
 * their size, and bit 7 says that the RA is mangled. The info word is a byte: no index of this
 * table is out of its bounds.
 */
const u16 sframe_words_sizes[256] = {
	[0x00] = 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
	[0x10] = 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15,
	[0x20] = 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14,
	[0x30] = 16, 16, 18, 18, 20, 20, 22, 22, 24, 24, 26, 26, 28, 28, 30, 30,
	[0x40] = 0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28,
	[0x50] = 32, 32, 36, 36, 40, 40, 44, 44, 48, 48, 52, 52, 56, 56, 60, 60,
	[0x60 ... 0x7f] = SFRAME_NO_SIZE,
	[0x80] = 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
	[0x90] = 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15,
	[0xa0] = 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14,
	[0xb0] = 16, 16, 18, 18, 20, 20, 22, 22, 24, 24, 26, 26, 28, 28, 30, 30,
	[0xc0] = 0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28,
	[0xd0] = 32, 32, 36, 36, 40, 40, 44, 44, 48, 48, 52, 52, 56, 56, 60, 60,
	[0xe0 ... 0xff] = SFRAME_NO_SIZE,
};

/* Returns the bytes of the data words, or -EBADMSG. */
static int words_size(struct sframe_reader *rd, u8 info)
{
	u16 size = sframe_words_sizes[info];

	/* The mask bounds the size if the processor mispredicts the check. */
	return size == SFRAME_NO_SIZE ? malformed(rd, SFRAME_DEFECT_WORD_SIZE) : size & 0x3f;
}

/* Bytes of a row's start offset. The mask is as that of words_size(). */
static u32 start_size(const struct sframe_rows *rows)
{
	return 1u << (rows->fde->fre_type & 3);
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
	u32 addr_size = start_size(rows);
	int size, err;

	if (rows->left == 0)
		return -ENOENT;
	err = sframe_charge(rd, SFRAME_ROW_COST) ?: fill_window(rows, rd, addr_size + 1);
	if (err)
		return err;

	raw->start = get_start(rows->buf + rows->pos, addr_size, rows->hdr->swapped);
	raw->info = rows->buf[rows->pos + addr_size];
	if ((s64)raw->start <= rows->last)
		return malformed(rd, SFRAME_DEFECT_FRE_ORDER);
	size = words_size(rd, raw->info);
	if (size < 0)
		return size;

	rows->pos += addr_size + 1;
	err = fill_window(rows, rd, size);
	if (err)
		return err;
	memcpy(raw->words, rows->buf + rows->pos, size);
	rows->pos += size;
	rows->last = raw->start;
	rows->left--;
	return 0;
}

/*
 * Skips the rows of the window that start at or below @off. Stops before a row that starts
 * above @off, is out of order, or is not whole in the window. Returns the last row that was
 * skipped, or NULL.
 *
 * A function may have thousands of rows, so this loop decides what a look-up costs. It
 * does not check the word size of each row: a row of SFRAME_NO_SIZE is not whole. At the end of the
 * window it may take a row from unfilled bytes: that row is not whole, either.
 */
static __always_inline const u8 *skip_in_window(struct sframe_rows *rows, u32 off,
						u32 addr_size, bool swapped, u32 *nr)
{
	const u8 *p = rows->buf + rows->pos;
	const u8 *end = rows->buf + rows->len;
	const u8 *skipped = NULL;
	u64 least = rows->last + 1;
	u32 left = rows->left;

	while (left) {
		u64 start = get_start(p, addr_size, swapped);
		const u8 *next = p + addr_size + 1 + sframe_words_sizes[p[addr_size]];

		if (start > off || start < least || next > end)
			break;
		skipped = p;
		least = start + 1;
		p = next;
		left--;
	}
	*nr = rows->left - left;
	rows->left = left;
	rows->last = (s64)least - 1;
	rows->pos = p - rows->buf;
	return skipped;
}

/* Keeps a copy of the row at @p, of which all is in the window. */
static int copy_row(struct sframe_reader *rd, struct sframe_raw_row *raw, const u8 *p,
		    u32 addr_size, bool swapped)
{
	int size;

	raw->start = get_start(p, addr_size, swapped);
	raw->info = p[addr_size];
	size = words_size(rd, raw->info);
	if (size < 0)
		return size;
	memcpy(raw->words, p + addr_size + 1, size);
	return 0;
}

/* Skips rows of one window; sets @raw to the last of them, and @nr to their number. */
static int skip_rows(struct sframe_rows *rows, struct sframe_reader *rd, u32 off,
		     struct sframe_raw_row *raw, u32 *nr)
{
	u32 addr_size = start_size(rows);
	bool swapped = rows->hdr->swapped;
	const u8 *skipped;
	int err;

	*nr = 0;
	if (swapped)
		skipped = skip_in_window(rows, off, addr_size, true, nr);
	else if (addr_size == 1)
		skipped = skip_in_window(rows, off, 1, false, nr);
	else if (addr_size == 2)
		skipped = skip_in_window(rows, off, 2, false, nr);
	else
		skipped = skip_in_window(rows, off, 4, false, nr);
	if (!skipped)
		return 0;
	err = sframe_charge(rd, *nr * SFRAME_ROW_COST);
	return err ?: copy_row(rd, raw, skipped, addr_size, swapped);
}

static u32 get_word(const struct sframe_header *hdr,
		    const struct sframe_raw_row *raw, u32 i)
{
	switch (SFRAME_FRE_WORD_SIZE(raw->info)) {
	case 0:
		return raw->words[i];
	case 1:
		return get16(hdr, ((const struct sframe_any_u16 *)raw->words)[i].v);
	default:
		return get32(hdr, ((const struct sframe_any_u32 *)raw->words)[i].v);
	}
}

static s32 get_signed_word(const struct sframe_header *hdr,
			   const struct sframe_raw_row *raw, u32 i)
{
	switch (SFRAME_FRE_WORD_SIZE(raw->info)) {
	case 0:
		return (s8)raw->words[i];
	case 1:
		return (s16)get16(hdr, ((const struct sframe_any_u16 *)raw->words)[i].v);
	default:
		return (s32)get32(hdr, ((const struct sframe_any_u32 *)raw->words)[i].v);
	}
}

/* Sets the offset of the CFA. s390x stores it scaled, so it may not fit. */
static int set_cfa_offset(const struct sframe_header *hdr, struct sframe_reader *rd,
			  struct sframe_rule *cfa, s64 off)
{
	if (hdr->abi == SFRAME_ABI_S390X_BE)
		off = off * SFRAME_S390X_CFA_SCALE + SFRAME_S390X_CFA_BIAS;
	if (off != (s32)off)
		return unsupported(rd, SFRAME_DEFECT_OFFSET);
	cfa->off = off;
	return 0;
}

static int set_register(const struct sframe_header *hdr, struct sframe_reader *rd,
			struct sframe_rule *rule, u32 reg)
{
	if (reg >= abis[hdr->abi].nr_regs)
		return unsupported(rd, SFRAME_DEFECT_REGNUM);
	rule->reg = reg;
	return 0;
}

static struct sframe_rule default_ra(const struct abi *abi)
{
	if (abi->fixed_ra)
		return (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM,
					     .off = abi->fixed_ra };
	return (struct sframe_rule){ .how = SFRAME_RULE_SAME };
}

/* RA or FP. s390x stores "no rule" as 0, and its V2 a register as an odd word. */
static int decode_saved(const struct sframe_header *hdr, struct sframe_reader *rd,
			s32 word, struct sframe_rule *rule)
{
	bool is_s390x = hdr->abi == SFRAME_ABI_S390X_BE;

	if (is_s390x && word == 0) {
		*rule = (struct sframe_rule){ .how = SFRAME_RULE_SAME };
		return 0;
	}
	if (is_s390x && hdr->version == SFRAME_VERSION_2 &&
	    SFRAME_S390X_REG_WORD_P(word)) {
		*rule = (struct sframe_rule){ .how = SFRAME_RULE_REG };
		return set_register(hdr, rd, rule, SFRAME_S390X_REGNUM((u32)word));
	}
	*rule = (struct sframe_rule){ .how = SFRAME_RULE_CFA_MEM, .off = word };
	return 0;
}

static int decode_default(const struct sframe_header *hdr, struct sframe_reader *rd,
			  const struct sframe_raw_row *raw, struct sframe_row *row)
{
	const struct abi *abi = &abis[hdr->abi];
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 i = 0;
	int err;

	if (nr > abi->max_words)
		return malformed(rd, SFRAME_DEFECT_NR_WORDS);

	row->cfa.how = SFRAME_RULE_REG;
	row->cfa.reg = SFRAME_FRE_BASE_SP(raw->info) ? abi->sp : abi->fp;
	err = set_cfa_offset(hdr, rd, &row->cfa, get_signed_word(hdr, raw, i++));

	row->ra = default_ra(abi);
	if (!err && !abi->fixed_ra && i < nr)
		err = decode_saved(hdr, rd, get_signed_word(hdr, raw, i++), &row->ra);
	if (!err && i < nr)
		err = decode_saved(hdr, rd, get_signed_word(hdr, raw, i++), &row->fp);
	return err;
}

/*
 * One rule of the flexible form: a control word and an offset. A single 0 means
 * "no rule here" and leaves @rule as the caller has set it.
 */
static int decode_flex_rule(const struct sframe_header *hdr,
			    struct sframe_reader *rd,
			    const struct sframe_raw_row *raw, u32 *i,
			    struct sframe_rule *rule)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 control;
	bool deref;

	if (*i == nr)
		return 0;
	control = get_word(hdr, raw, (*i)++);
	if (control == 0)
		return 0;
	if (*i == nr)
		return malformed(rd, SFRAME_DEFECT_NR_WORDS);

	*rule = (struct sframe_rule){ .off = get_signed_word(hdr, raw, (*i)++) };
	deref = SFRAME_FLEX_DEREF_P(control);
	if (!SFRAME_FLEX_REG_P(control)) {
		rule->how = deref ? SFRAME_RULE_CFA_MEM : SFRAME_RULE_CFA;
		return 0;
	}
	rule->how = deref ? SFRAME_RULE_REG_MEM : SFRAME_RULE_REG;
	return set_register(hdr, rd, rule, SFRAME_FLEX_REGNUM(control));
}

static int decode_flex(const struct sframe_header *hdr, struct sframe_reader *rd,
		       const struct sframe_raw_row *raw, struct sframe_row *row)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 i = 0;
	int err;

	if (nr < 2 || nr == 3 || nr > 6)
		return malformed(rd, SFRAME_DEFECT_NR_WORDS);

	err = decode_flex_rule(hdr, rd, raw, &i, &row->cfa);
	if (err)
		return err;
	if (row->cfa.how != SFRAME_RULE_REG && row->cfa.how != SFRAME_RULE_REG_MEM)
		return malformed(rd, SFRAME_DEFECT_FLEX_CFA);
	err = set_cfa_offset(hdr, rd, &row->cfa, row->cfa.off);
	if (err)
		return err;

	row->ra = default_ra(&abis[hdr->abi]);
	err = decode_flex_rule(hdr, rd, raw, &i, &row->ra);
	if (err)
		return err;
	err = decode_flex_rule(hdr, rd, raw, &i, &row->fp);
	if (err)
		return err;
	return i == nr ? 0 : malformed(rd, SFRAME_DEFECT_NR_WORDS);
}

/**
 * sframe_decode_row() - the meaning of a stored row
 * @hdr: the section
 * @fde: the function that the row belongs to
 * @rd: takes the defect; nothing is read
 * @raw: the row as it is stored
 * @row: filled on success
 *
 * Implements "SFrame FRE Info Word", "ABI/arch-specific definition" (DEFAULT)
 * and "Flexible FDE type" (FLEX). A row without words marks the outermost
 * frame (V2 erratum 2, V3).
 *
 * Context: Any.
 * Return: 0; -EBADMSG if the words do not fit the form; -EOPNOTSUPP if a rule
 * names a register that no pt_regs holds, as assemblers do by mistake, or an
 * offset does not fit &sframe_rule.off.
 */
int sframe_decode_row(const struct sframe_header *hdr,
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
	return fde->flex ? decode_flex(hdr, rd, raw, row) :
			   decode_default(hdr, rd, raw, row);
}

/**
 * sframe_describe_empty() - the meaning of a function without rows
 * @hdr: the section
 * @fde: the function
 * @row: filled on success
 *
 * Implements "SFrame FDE", num_fres. V1 and V2 do not define it.
 *
 * Context: Any.
 * Return: 0; -ENOENT if nothing is known of the function.
 */
int sframe_describe_empty(const struct sframe_header *hdr,
			  const struct sframe_fde *fde, struct sframe_row *row)
{
	if (hdr->version < SFRAME_VERSION_3)
		return -ENOENT;
	*row = (struct sframe_row){
		.func = fde->start,
		.signal = fde->signal,
		.outermost = !fde->signal,
	};
	return 0;
}

/*
 * GNU ld describes the slots of .plt.got as if each pushed a word, but they only
 * jump. At the first byte of any slot only the return address has been pushed.
 */
static void mend_plt_row(const struct sframe_header *hdr, struct sframe_row *row)
{
	if (hdr->abi == SFRAME_ABI_AMD64_LE && row->pcmask && row->start == 0 &&
	    row->cfa.how == SFRAME_RULE_REG &&
	    row->cfa.reg == SFRAME_AMD64_REG_SP)
		row->cfa.off = -SFRAME_AMD64_FIXED_RA_OFFSET;
}

/**
 * sframe_decode_found() - the meaning of the row that holds at an address
 * @hdr: the section
 * @fde: the function that the row belongs to
 * @rd: takes the defect; nothing is read
 * @raw: the row as it is stored
 * @row: filled on success
 *
 * What GNU ld stores of PLTs is mended. sframe_decode_row() says what is stored.
 *
 * Context: Any.
 * Return: As sframe_decode_row().
 */
int sframe_decode_found(const struct sframe_header *hdr, const struct sframe_fde *fde,
			struct sframe_reader *rd, const struct sframe_raw_row *raw,
			struct sframe_row *row)
{
	int err = sframe_decode_row(hdr, fde, rd, raw, row);

	if (err)
		return err;
	row->func = fde->start;
	mend_plt_row(hdr, row);
	return 0;
}

/**
 * sframe_decode_plain() - the meaning of the row that a quick look-up has found
 * @hdr: the section
 * @rd: takes the defect; nothing is read
 * @plain: the row as it is stored
 * @row: filled on success
 *
 * Context: Any.
 * Return: As sframe_decode_row().
 */
int sframe_decode_plain(const struct sframe_header *hdr, struct sframe_reader *rd,
			const struct sframe_plain_row *plain, struct sframe_row *row)
{
	const struct sframe_fde fde = {
		.start = plain->func,
		.pcmask = plain->form & SFRAME_PLAIN_PCMASK,
		.flex = plain->form & SFRAME_PLAIN_FLEX,
		.signal = plain->form & SFRAME_PLAIN_SIGNAL,
	};
	struct sframe_raw_row raw;

	raw.start = plain->start;
	raw.info = plain->info;
	memcpy(raw.words, plain->words, sizeof(plain->words));
	return sframe_decode_found(hdr, &fde, rd, &raw, row);
}

/*
 * Completes @fde and begins to walk over its rows. In V3 the attribute and the first rows
 * come with one read.
 */
static int begin_rows(const struct sframe_header *hdr, struct sframe_reader *rd,
		      struct sframe_fde *fde, struct sframe_rows *rows)
{
	struct sframe_raw_attr_v3 attr;
	int err;

	sframe_rows_init(rows, hdr, fde);
	if (hdr->version == SFRAME_VERSION_3) {
		err = check_attr(hdr, rd, fde) ?: fill_window(rows, rd, sizeof(attr));
		if (err)
			return err;
		memcpy(&attr, rows->buf, sizeof(attr));
		err = set_attr(hdr, rd, &attr, fde);
		if (err)
			return err;
		rows->pos = sizeof(attr);
		rows->left = fde->num_fres;
	}
	return check_fde(hdr, rd, fde);
}

/* Finds the last row that starts at or below @off. -ENOENT: there is none. */
static int find_raw_row(struct sframe_rows *rows, struct sframe_reader *rd, u32 off,
			struct sframe_raw_row *raw)
{
	bool is_found = false;
	struct sframe_raw_row next;
	u32 nr;
	int err;

	for (;;) {
		err = skip_rows(rows, rd, off, raw, &nr);
		if (err)
			return err;
		is_found |= nr;
		/* The next row is out of order, above @off, or the window has to move for it. */
		err = sframe_rows_next(rows, rd, &next);
		if (err && err != -ENOENT)
			return err;
		if (err || next.start > off)
			return is_found ? 0 : -ENOENT;
		*raw = next;
		is_found = true;
	}
}

/* Finds and decodes the row that holds at @pc, of the function whose entry has been read. */
static int find_in_function(const struct sframe_header *hdr, struct sframe_reader *rd,
			    u64 pc, struct sframe_fde *fde, struct sframe_row *row)
{
	struct sframe_raw_row raw;
	struct sframe_rows rows;
	u32 off;
	int err;

	err = begin_rows(hdr, rd, fde, &rows);
	if (err)
		return err;
	if (fde->num_fres == 0)
		return sframe_describe_empty(hdr, fde, row);

	off = pc - fde->start;
	if (fde->pcmask)
		off %= fde->rep_size;
	return find_raw_row(&rows, rd, off, &raw) ?:
	       sframe_decode_found(hdr, fde, rd, &raw, row);
}

/**
 * sframe_find_row() - find and decode the row that holds at an address
 * @hdr: the section
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
int sframe_find_row(const struct sframe_header *hdr, struct sframe_reader *rd,
		    u64 pc, struct sframe_row *row)
{
	struct sframe_fde fde;

	return search_entries(hdr, rd, pc, &fde) ?: find_in_function(hdr, rd, pc, &fde, row);
}
