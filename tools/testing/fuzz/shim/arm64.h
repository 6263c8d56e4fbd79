/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What shim/kernel.h has for x86_64, for arm64: the kernel names that its architecture uses. */
#ifndef FUZZ_SHIM_ARM64_H
#define FUZZ_SHIM_ARM64_H

#define __NR_rt_sigreturn	139
#define __NR_clone		220
#define __NR_clone3		435

#define NO_SYSCALL		(-1)

/* An interrupted task. */
struct pt_regs {
	u64	regs[31];
	u64	sp;
	u64	pc;
	u64	pstate;
	u64	orig_x0;
	s32	syscallno;
};

#define instruction_pointer(r)	((r)->pc)
#define user_stack_pointer(r)	((r)->sp)
#define frame_pointer(r)	((r)->regs[29])
#define user_mode(r)		((void)(r), true)
#define compat_user_mode(r)	((void)(r), false)
#define regs_get_register(r, off) (*(u64 *)((u8 *)(r) + (off)))

/* Addresses of user memory have 48 bits. Bit 55 and the tag are not of the code. */
#define TASK_SIZE_MAX		0x1000000000000ul
#define ptrauth_user_pac_mask()	0x007f000000000000ul

typedef u64 phys_addr_t;
#define virt_to_phys(ptr)	((phys_addr_t)(ptr))
#define phys_to_ttbr(pa)	(pa)
#define read_sysreg(name)	shim_table

#define FPSIMD_MAGIC		0x46508001ul

struct fpsimd_context {
	u8	bytes[528];
};

static inline s32 sign_extend32(u32 val, int bit)
{
	return (s32)(val << (31 - bit)) >> (31 - bit);
}

static inline s64 sign_extend64(u64 val, int bit)
{
	return (s64)(val << (63 - bit)) >> (63 - bit);
}

#endif /* FUZZ_SHIM_ARM64_H */
