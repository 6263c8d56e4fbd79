/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defects of SFrame sections. Includers define ADD_DEFECT(constant, name in counters, message). */
ADD_DEFECT(SFRAME_DEFECT_NONE, "none", "no defect")
/* file */
ADD_DEFECT(SFRAME_DEFECT_SEGMENT, "segment", "segment does not lie in readable, loaded memory")
/* header */
ADD_DEFECT(SFRAME_DEFECT_SHORT, "short", "shorter than its 28-byte header")
ADD_DEFECT(SFRAME_DEFECT_EMPTY, "empty", "all zero: nothing is described here")
ADD_DEFECT(SFRAME_DEFECT_MAGIC, "magic", "does not begin with the magic 0xdee2")
ADD_DEFECT(SFRAME_DEFECT_VERSION, "version", "version is not 1, 2 or 3")
ADD_DEFECT(SFRAME_DEFECT_FLAGS, "flags", "undefined flag bits are set")
ADD_DEFECT(SFRAME_DEFECT_ENDIAN, "endian", "byte order of another machine")
ADD_DEFECT(SFRAME_DEFECT_ABI, "abi", "ABI identifier is unknown or contradicts the byte order")
ADD_DEFECT(SFRAME_DEFECT_FOREIGN, "foreign", "made for another architecture")
ADD_DEFECT(SFRAME_DEFECT_UNLINKED, "unlinked",
	   "linked without regard to its format: all starts are wrong")
ADD_DEFECT(SFRAME_DEFECT_FIXED, "fixed-offsets", "fixed FP or RA offset is not the ABI's")
ADD_DEFECT(SFRAME_DEFECT_FDEOFF, "fdeoff", "FDE table does not lie between header and FREs")
ADD_DEFECT(SFRAME_DEFECT_FREOFF, "freoff", "FRE sub-section begins beyond the end")
ADD_DEFECT(SFRAME_DEFECT_FRELEN, "fre-len", "FRE sub-section runs past the end")
ADD_DEFECT(SFRAME_DEFECT_NUM_FDES, "num-fdes", "more FDEs than the table has room for")
/* function descriptor */
ADD_DEFECT(SFRAME_DEFECT_FDE_ORDER, "fde-order", "FDEs are marked sorted but are not")
ADD_DEFECT(SFRAME_DEFECT_FDE_RANGE, "fde-range", "FDE's function is not in user memory")
ADD_DEFECT(SFRAME_DEFECT_STALE, "stale",
	   "FDE's function is not in the file's code: the linker has discarded it")
ADD_DEFECT(SFRAME_DEFECT_FRE_OFF, "fre-off", "FDE's rows begin past the end")
ADD_DEFECT(SFRAME_DEFECT_FRE_TYPE, "fre-type", "row address type is undefined")
ADD_DEFECT(SFRAME_DEFECT_FDE_TYPE, "fde-type", "FDE type is undefined")
ADD_DEFECT(SFRAME_DEFECT_REP_SIZE, "rep-size", "repetitive FDE has block size 0")
/* row */
ADD_DEFECT(SFRAME_DEFECT_FRE_CUT, "fre-cut", "row runs past the end")
ADD_DEFECT(SFRAME_DEFECT_FRE_ORDER, "fre-order", "rows do not ascend")
ADD_DEFECT(SFRAME_DEFECT_WORD_SIZE, "word-size", "row's word size is undefined")
ADD_DEFECT(SFRAME_DEFECT_NR_WORDS, "nr-words", "row's word count does not fit its form")
ADD_DEFECT(SFRAME_DEFECT_FLEX_CFA, "flex-cfa", "flexible row's CFA is not based on a register")
ADD_DEFECT(SFRAME_DEFECT_REGNUM, "regnum", "row names a register that cannot be known")
ADD_DEFECT(SFRAME_DEFECT_OFFSET, "offset", "row's CFA offset does not fit 32 bits")
/* section */
ADD_DEFECT(SFRAME_DEFECT_COSTLY, "costly", "functions take too much work to compile")
