// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder: finds the row (unwind rule) for an address in the bytes of an SFrame section.
 *
 * The section is not trusted, and may change between two reads. So each number is read once, and
 * checked against the bounds of the header. An index of an array is masked, too, because the
 * processor may mispredict the check.
 *
 * This file checks headers, decodes rows, and reads sections in a buffer. sframe_find.h searches
 * for rows, and is inlined for each kind of memory. Both use no lock, no allocation and no kernel
 * function, so they run in any context, and in user-space programs.
 *
 * Errors of all functions:
 *   -ENOENT	nothing is known for this address
 *   -EFAULT	bytes are not in memory now
 *   -E2BIG	the budget of the look-up is spent
 *   -EBADMSG	the section contradicts itself, see &sframe_reader.defect
 *   -EOPNOTSUPP	well-formed, but the decoder does not support it, see &sframe_reader.defect
 */
#include "sframe_find.h"

const struct sframe_defect_info sframe_defects[] = {
#define ADD_DEFECT(defect, name, text)	\
	[defect] = { name, text },
#include "sframe_defects.h"
#undef ADD_DEFECT
};

/* What in the SFrame format differs between the architectures (ABIs). */
struct abi {
	/* Default rule for return addresses. If its offset is 0, a row may store its own rule. */
	struct sframe_rule ra;
	bool	is_big_endian;
	u8	nr_regs;
	u8	sp;		/* DWARF register number */
	u8	fp;		/* DWARF register number */
};

static const struct abi abis[] = {
	[SFRAME_ABI_AARCH64_BE] = {
		.is_big_endian = true, .nr_regs = SFRAME_AARCH64_NR_REGS,
		.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
	},
	[SFRAME_ABI_AARCH64_LE] = {
		.nr_regs = SFRAME_AARCH64_NR_REGS,
		.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
	},
	[SFRAME_ABI_AMD64_LE] = {
		.ra = { .how = SFRAME_RULE_CFA_MEM, .off = SFRAME_AMD64_FIXED_RA_OFFSET },
		.nr_regs = SFRAME_AMD64_NR_REGS,
		.sp = SFRAME_AMD64_REG_SP, .fp = SFRAME_AMD64_REG_FP,
	},
	[SFRAME_ABI_S390X_BE] = {
		.is_big_endian = true, .nr_regs = SFRAME_S390X_NR_REGS,
		.sp = SFRAME_S390X_REG_SP, .fp = SFRAME_S390X_REG_FP,
	},
};

static u32 get32(const struct sframe_header *hdr, u32 v)
{
	return hdr->swapped ? swab32(v) : v;
}

static int check_preamble(struct sframe_header *hdr, struct sframe_reader *rd,
			  const struct sframe_raw_header *raw)
{
	static const struct {
		u8	fde_size;
		u8	flags;		/* defined flags */
	} versions[] = {
		[SFRAME_VERSION_1] = { sizeof(struct sframe_raw_fde_v1),
				       SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER },
		[SFRAME_VERSION_2] = { sizeof(struct sframe_raw_fde_v2),
				       SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER |
				       SFRAME_F_FDE_FUNC_START_PCREL },
		[SFRAME_VERSION_3] = { sizeof(struct sframe_raw_fde_v3),
				       SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL },
	};
	const u8 version = array_index_nospec(raw->version, ARRAY_SIZE(versions));
	const u8 abi = array_index_nospec(raw->abi_arch, ARRAY_SIZE(abis));
	const bool is_big_endian = *(const u8 *)&raw->magic == (SFRAME_MAGIC >> 8);

	/* Linkers may leave a section that is all zeros: it counts as empty, not as malformed. */
	if (raw->magic == 0) {
		rd->defect = SFRAME_DEFECT_EMPTY;
		return -ENOENT;
	}
	if (raw->magic != SFRAME_MAGIC && raw->magic != SFRAME_MAGIC_SWAPPED)
		return sframe_malformed(rd, SFRAME_DEFECT_MAGIC);
	if (raw->version < SFRAME_VERSION_1 || raw->version > SFRAME_VERSION_3)
		return sframe_malformed(rd, SFRAME_DEFECT_VERSION);
	if (raw->flags & ~versions[version].flags)
		return sframe_malformed(rd, SFRAME_DEFECT_FLAGS);
	if (raw->abi_arch == 0 || raw->abi_arch >= ARRAY_SIZE(abis) ||
	    abis[abi].is_big_endian != is_big_endian)
		return sframe_malformed(rd, SFRAME_DEFECT_ABI);
	if (raw->cfa_fixed_fp_offset != 0 || raw->cfa_fixed_ra_offset != abis[abi].ra.off)
		return sframe_malformed(rd, SFRAME_DEFECT_FIXED);

	hdr->swapped = raw->magic == SFRAME_MAGIC_SWAPPED;
	hdr->version = version;
	hdr->flags = raw->flags;
	hdr->abi = abi;
	hdr->fde_size = versions[version].fde_size;
	return 0;
}

/* Offsets and lengths in the header may be up to 2^32 - 1, so sums have 64 bits. */
static int check_layout(struct sframe_header *hdr, struct sframe_reader *rd,
			const struct sframe_raw_header *raw, u64 len)
{
	u64 base = sizeof(*raw) + raw->auxhdr_len;
	u32 num_fdes = get32(hdr, raw->num_fdes);
	u32 fre_len = get32(hdr, raw->fre_len);
	u32 fdeoff = get32(hdr, raw->fdeoff);
	u32 freoff = get32(hdr, raw->freoff);

	if (fdeoff > freoff)
		return sframe_malformed(rd, SFRAME_DEFECT_FDEOFF);
	if (base + freoff > len)
		return sframe_malformed(rd, SFRAME_DEFECT_FREOFF);
	if (fre_len > len - base - freoff)
		return sframe_malformed(rd, SFRAME_DEFECT_FRELEN);
	if (num_fdes > (freoff - fdeoff) / hdr->fde_size)
		return sframe_malformed(rd, SFRAME_DEFECT_NUM_FDES);

	hdr->fde_addr = hdr->addr + base + fdeoff;
	hdr->fre_addr = hdr->addr + base + freoff;
	hdr->num_fdes = num_fdes;
	hdr->fre_len = fre_len;
	return 0;
}

/*
 * Checks @raw, a copy of the header of a section at @addr with at most @len bytes, and decodes it
 * to @hdr: see "SFrame Header". Accepts all ABIs: a caller that supports only one must compare
 * @hdr->abi. Returns 0; -EBADMSG for a defect, which it stores in @rd; -ENOENT if the magic is 0.
 */
int sframe_header_check(struct sframe_header *hdr, struct sframe_reader *rd,
			const struct sframe_raw_header *raw, u64 addr, u64 len)
{
	if (len < sizeof(*raw))
		return sframe_malformed(rd, SFRAME_DEFECT_SHORT);
	*hdr = (struct sframe_header){ .addr = addr, .code_end = ~0ULL >> 1 };
	return check_preamble(hdr, rd, raw) ?: check_layout(hdr, rd, raw, len);
}

/*
 * Length in bytes of all data words of a row; SFRAME_NO_SIZE if the word size is undefined.
 * Index: SFRAME_FRE_SIZE_INDEX(), word size (2 bits) and number of words (4 bits) of the info word.
 */
const u16 sframe_words_sizes[64] = {
	[0x00] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	[0x10] = 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
	[0x20] = 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60,
	[0x30 ... 0x3f] = SFRAME_NO_SIZE,
};

static int set_register(const struct sframe_header *hdr, struct sframe_reader *rd,
			struct sframe_rule *rule, u32 reg)
{
	/* Some assemblers write numbers of other registers: the row is refused, not malformed. */
	if (reg >= abis[hdr->abi].nr_regs)
		return sframe_unsupported(rd, SFRAME_DEFECT_REGNUM);
	rule->reg = reg;
	return 0;
}

static int mend_s390x_cfa(const struct sframe_header *hdr, struct sframe_reader *rd,
			  struct sframe_rule *cfa)
{
	s64 off = (s64)cfa->off * SFRAME_S390X_CFA_SCALE + SFRAME_S390X_CFA_BIAS;

	if (hdr->abi != SFRAME_ABI_S390X_BE)
		return 0;
	cfa->off = off;
	return off == cfa->off ? 0 : sframe_unsupported(rd, SFRAME_DEFECT_OFFSET);
}

/* Decodes an RA or FP rule of s390x. Data word 0: not saved. Odd word (V2): in a register. */
static int mend_s390x_saved(const struct sframe_header *hdr, struct sframe_reader *rd,
			    struct sframe_rule *rule)
{
	const s32 word = rule->off;

	if (!word)
		rule->how = SFRAME_RULE_SAME;
	if (!word || hdr->version != SFRAME_VERSION_2 || !SFRAME_S390X_REG_WORD_P(word))
		return 0;
	*rule = (struct sframe_rule){ .how = SFRAME_RULE_REG };
	return set_register(hdr, rd, rule, SFRAME_S390X_REGNUM((u32)word));
}

/* Not inlined: else decode_default() saves more registers for all ABIs. */
static noinline int mend_s390x(const struct sframe_header *hdr, struct sframe_reader *rd,
			       struct sframe_row *row)
{
	return mend_s390x_cfa(hdr, rd, &row->cfa) ?: mend_s390x_saved(hdr, rd, &row->ra) ?:
	       mend_s390x_saved(hdr, rd, &row->fp);
}

static __always_inline int decode_default(const struct sframe_header *hdr, struct sframe_reader *rd,
					  const struct sframe_raw_row *raw, struct sframe_row *row)
{
	const struct abi *abi = &abis[hdr->abi];
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info), i = 1;

	row->cfa.how = SFRAME_RULE_REG;
	row->cfa.reg = SFRAME_FRE_BASE_SP(raw->info) ? abi->sp : abi->fp;
	row->cfa.off = raw->words[0];
	row->ra = abi->ra;
	if (!abi->ra.off && i < nr) {
		row->ra.how = SFRAME_RULE_CFA_MEM;
		row->ra.off = raw->words[i++];
	}
	if (i < nr) {
		row->fp.how = SFRAME_RULE_CFA_MEM;
		row->fp.off = raw->words[i++];
	}
	if (i != nr)
		return sframe_malformed(rd, SFRAME_DEFECT_NR_WORDS);
	return hdr->abi == SFRAME_ABI_S390X_BE ? mend_s390x(hdr, rd, row) : 0;
}

/*
 * Decodes one rule of a flexible row (SFrame V3): two data words, a control word and an offset. @i
 * is the index of the control word, and is set to the index of the next one.
 */
static int decode_flex_rule(const struct sframe_header *hdr, struct sframe_reader *rd,
			    const struct sframe_raw_row *raw, u32 *i, struct sframe_rule *rule)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 control;
	bool deref;

	if (*i == nr)
		return 0;
	/* Data words are sign-extended, but a control word is unsigned: clear the added bits. */
	control = raw->words[(*i)++] & (U32_MAX >> (32 - (8 << SFRAME_FRE_WORD_SIZE(raw->info))));
	/* 0: the row does not give this rule. No offset follows, and @rule keeps its default. */
	if (control == 0)
		return 0;
	if (*i == nr)
		return sframe_malformed(rd, SFRAME_DEFECT_NR_WORDS);

	*rule = (struct sframe_rule){ .off = raw->words[(*i)++] };
	deref = SFRAME_FLEX_DEREF_P(control);
	if (!SFRAME_FLEX_REG_P(control)) {
		rule->how = deref ? SFRAME_RULE_CFA_MEM : SFRAME_RULE_CFA;
		return 0;
	}
	rule->how = deref ? SFRAME_RULE_REG_MEM : SFRAME_RULE_REG;
	return set_register(hdr, rd, rule, SFRAME_FLEX_REGNUM(control));
}

static noinline int decode_flex(const struct sframe_header *hdr, struct sframe_reader *rd,
				const struct sframe_raw_row *raw, struct sframe_row *row)
{
	u32 nr = SFRAME_FRE_NR_WORDS(raw->info);
	u32 i = 0;
	int err;

	if (nr < 2 || nr == 3 || nr > 6)
		return sframe_malformed(rd, SFRAME_DEFECT_NR_WORDS);

	err = decode_flex_rule(hdr, rd, raw, &i, &row->cfa);
	if (err)
		return err;
	if (row->cfa.how != SFRAME_RULE_REG && row->cfa.how != SFRAME_RULE_REG_MEM)
		return sframe_malformed(rd, SFRAME_DEFECT_FLEX_CFA);
	row->ra = abis[hdr->abi].ra;
	err = mend_s390x_cfa(hdr, rd, &row->cfa) ?:
	      decode_flex_rule(hdr, rd, raw, &i, &row->ra) ?:
	      decode_flex_rule(hdr, rd, raw, &i, &row->fp);
	if (!err && i != nr)
		err = sframe_malformed(rd, SFRAME_DEFECT_NR_WORDS);
	return err;
}

/*
 * Decodes @raw, a row as the section stores it: "SFrame FRE Info Word", "ABI/arch-specific
 * definition" (DEFAULT FDEs), "Flexible FDE type" (FLEX FDEs). Returns 0, or:
 *   -ENOENT	@raw stands for a function without rows: only V3 says what this means
 *   -EBADMSG	the number of data words is wrong, or a flexible row has no valid CFA
 *   -EOPNOTSUPP	an offset is too large, or a rule names an unsupported register
 */
int sframe_decode_row(const struct sframe_header *hdr, struct sframe_reader *rd,
		      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	*row = (struct sframe_row){
		.func = raw->func,
		.start = raw->start,
		/* V2 (erratum 2) and V3 mark the outermost frame by a row without data words. */
		.outermost = !SFRAME_FRE_NR_WORDS(raw->info),
		.ra_mangled = SFRAME_FRE_RA_MANGLED(raw->info),
	};
	if (unlikely(raw->form)) {
		row->signal = raw->form & SFRAME_FORM_SIGNAL;
		if (raw->form & SFRAME_FORM_EMPTY) {
			/*
			 * In V3, a function without rows has no caller, or is a signal trampoline.
			 * A trampoline's caller is the code that the signal interrupted. The CFA
			 * rule stays SFRAME_RULE_SAME: walks then read the signal frame.
			 */
			row->outermost = !row->signal;
			return hdr->version < SFRAME_VERSION_3 ? -ENOENT : 0;
		}
		row->pcmask = raw->form & SFRAME_FORM_PCMASK;
		if (raw->form & SFRAME_FORM_FLEX && !row->outermost)
			return decode_flex(hdr, rd, raw, row);
	}
	return row->outermost ? 0 : decode_default(hdr, rd, raw, row);
}

int sframe_decode_plt(const struct sframe_header *hdr, struct sframe_reader *rd,
		      const struct sframe_raw_row *raw, struct sframe_row *row)
{
	int err = sframe_decode_row(hdr, rd, raw, row);

	/*
	 * For .plt.got on x86_64, GNU ld's rows say that each slot has pushed a word, but slots
	 * only jump. At the start of any PLT slot, only the return address is pushed: CFA = SP + 8.
	 */
	if (!err && hdr->abi == SFRAME_ABI_AMD64_LE && row->start == 0 &&
	    row->cfa.how == SFRAME_RULE_REG && row->cfa.reg == SFRAME_AMD64_REG_SP)
		row->cfa.off = -SFRAME_AMD64_FIXED_RA_OFFSET;
	return err;
}

static __always_inline bool get_from_memory(const struct sframe_header *hdr,
					    struct sframe_reader *rd, u64 addr, u32 size, u64 *val)
{
	const u8 *at = rd->bytes + (addr - rd->addr);

	if (addr - rd->addr > rd->len || size > rd->len - (addr - rd->addr))
		return false;
	if (size == 1)
		*val = *at;
	else if (size == 2)
		*val = ((const struct sframe_any_u16 *)at)->v;
	else if (size == 4)
		*val = ((const struct sframe_any_u32 *)at)->v;
	else
		*val = ((const struct sframe_any_u64 *)at)->v;
	if (hdr->swapped)
		*val = swab64(*val) >> (64 - 8 * size);
	return true;
}

int sframe_header_read(struct sframe_header *hdr, struct sframe_reader *rd, u64 addr, u64 len)
{
	u64 off = addr - rd->addr;
	struct sframe_raw_header raw;

	if (len < sizeof(raw))
		return sframe_malformed(rd, SFRAME_DEFECT_SHORT);
	if (off > rd->len || sizeof(raw) > rd->len - off)
		return -EFAULT;
	memcpy(&raw, rd->bytes + off, sizeof(raw));
	return sframe_header_check(hdr, rd, &raw, addr, len);
}

/* Decodes an FDE, as specified in "SFrame Function Descriptor Entries". -ENOENT after the last. */
int sframe_get_fde(const struct sframe_header *hdr, struct sframe_reader *rd,
		   u32 index, struct sframe_fde *fde)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_from_memory };
	bool is_v3 = hdr->version == SFRAME_VERSION_3;
	u64 addr = hdr->fde_addr + index * sframe_entry_size(hdr, is_v3);

	if (index >= hdr->num_fdes)
		return -ENOENT;
	if (!sframe_get_entry(&from, addr, is_v3, fde))
		return -EFAULT;
	return sframe_get_rest(&from, addr, is_v3, fde);
}

/* @hdr and @fde must outlive the iteration. */
void sframe_rows_init(struct sframe_rows *rows, const struct sframe_header *hdr,
		      const struct sframe_fde *fde)
{
	*rows = (struct sframe_rows){
		.hdr = hdr,
		.fde = fde,
		.addr = hdr->fre_addr + fde->fre_off,
		.left = fde->num_fres,
	};
}

/* Reads the next row, as specified in "SFrame Frame Row Entries". -ENOENT after the last row. */
int sframe_rows_next(struct sframe_rows *rows, struct sframe_reader *rd, struct sframe_raw_row *raw)
{
	const struct sframe_reading from = { .hdr = rows->hdr, .rd = rd, .get = get_from_memory };
	u64 left = rows->hdr->fre_addr + rows->hdr->fre_len - rows->addr, start, info;
	u32 addr_size = 1u << (rows->fde->fre_type & 3), size;

	if (!rows->left)
		return -ENOENT;
	if (left < addr_size + 1)
		return sframe_malformed(rd, SFRAME_DEFECT_FRE_CUT);
	if (!sframe_get(&from, rows->addr, addr_size, &start) ||
	    !sframe_get(&from, rows->addr + addr_size, 1, &info))
		return -EFAULT;
	if (start < rows->least)
		return sframe_malformed(rd, SFRAME_DEFECT_FRE_ORDER);
	size = sframe_words_sizes[SFRAME_FRE_SIZE_INDEX(info)];
	if (size == SFRAME_NO_SIZE)
		return sframe_malformed(rd, SFRAME_DEFECT_WORD_SIZE);
	if (left < addr_size + 1 + size)
		return sframe_malformed(rd, SFRAME_DEFECT_FRE_CUT);
	sframe_set_function(rows->fde, raw);
	raw->start = start;
	raw->info = info;
	if (!sframe_get_all_words(&from, rows->addr + addr_size + 1, raw))
		return -EFAULT;
	rows->addr += addr_size + 1 + size;
	rows->least = start + 1;
	rows->left--;
	return 0;
}

/* Finds and decodes the row for @pc, the address of an instruction or a return address minus 1. */
int sframe_find_row(const struct sframe_header *hdr, struct sframe_reader *rd,
		    u64 pc, struct sframe_row *row)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = rd, .get = get_from_memory };
	struct sframe_raw_row raw;

	return sframe_find(&from, pc, &raw) ?: sframe_decode_found(hdr, rd, &raw, row);
}
