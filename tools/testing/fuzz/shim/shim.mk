# SPDX-License-Identifier: GPL-2.0-or-later
#
# To be included. The sources of the module, compiled for the host: shim/kernel.h replaces the kernel's headers. Objects
# with KERNEL_FLAGS need $(O)/shim/made. The includer sets top and O, and adds the architecture's directory.

shim := $(top)/tools/testing/fuzz/shim
host_headers := $(addprefix $(top)/include/sframe_,core.h elf.h find.h format.h types.h)
kernel_sources := $(addprefix $(top)/,sframe_names.c sframe_unwind.c) $(wildcard $(top)/*.h $(top)/map/*.h $(top)/map/map.c $(top)/map/section.c $(top)/table/*.h $(top)/walk/*.[ch] $(top)/arch/*/*) \
	$(filter-out $(host_headers),$(wildcard $(top)/include/*.h))
# The host tests run suites of KUnit, too.
kunit_sources := $(wildcard $(top)/kunit/*.[ch] $(top)/kunit/arch/*/*.h)
# Two are also headers of the host.
kernel_headers := $(filter-out linux/elf.h linux/types.h,$(sort $(shell sed -n 's/^\#include <\(linux\/.*\|trace\/.*\|kunit\/.*\|asm\/.*\)>/\1/p' $(kernel_sources) $(kunit_sources))))
KERNEL_FLAGS := -I $(O)/shim -iquote $(shim)/.. -fno-strict-aliasing -fwrapv -Wno-unused-parameter \
	-Wno-unused-function -Wno-shadow -Wno-sign-compare -Wno-missing-field-initializers

# A header of an earlier build that is no longer replaced would hide the host's.
$(O)/shim/made: $(kernel_sources) $(kunit_sources) $(shim)/shim.mk
	rm -rf $(O)/shim
	mkdir -p $(sort $(dir $(kernel_headers:%=$(O)/shim/%)))
	@for header in $(kernel_headers); do \
		echo '#include "shim/kernel.h"' >$(O)/shim/$$header; \
	done
	touch $@
