# SPDX-License-Identifier: GPL-2.0-or-later
#
# All entry points of the project: build, install, test and measure. `make help` lists them.

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build
PREFIX	?= /usr/local
DESTDIR	?=
CC	?= gcc
VERSION	:= $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf 2>/dev/null)

release	= $(shell cat $(KDIR)/include/config/kernel.release)
depmod	= $(if $(DESTDIR),,depmod -a $(release))

# The oldest kernel on which the module is tested; BUILD_EXCLUSIVE_KERNEL in dkms.conf says the same.
OLDEST_KERNEL := 6.12

NEEDED_OPTIONS := MODULES PERF_EVENTS DYNAMIC_FTRACE_WITH_ARGS \
		  IRQ_WORK

help:	## show this list
	@echo "sframe_unwind $(VERSION): make TARGET [VARIABLE=value...]"
	@sed -n 's/^\([a-z-]*\):.*##/  \1\t/p' $(MAKEFILE_LIST) | expand -t 17
	@echo "KDIR=DIR     kernel headers to build against ($(KDIR))"
	@echo "PREFIX=DIR   where the tools are installed ($(PREFIX)); DESTDIR is honoured"

all: modules tools	## the module and the tools

# Checks the headers, the compiler and the kernel's options. The first one missing is reported in one sentence.
check-kdir:
	@test -f $(KDIR)/Makefile || { \
		echo "No kernel headers in $(KDIR): install the package" \
		     "linux-headers-$(KVER), or say KDIR=/path/to/headers." >&2; \
		exit 1; }
	@command -v $(CC) >/dev/null || { \
		echo "The compiler $(CC) is missing: install the package gcc." >&2; \
		exit 1; }
	@release=$(release) && printf '%s\n' $(OLDEST_KERNEL) "$$release" | sort -VC || { \
		echo "The kernel of $(KDIR) is $$release, and sframe_unwind" \
		     "needs $(OLDEST_KERNEL) or later: use a newer kernel." >&2; \
		exit 1; }
	@grep -qE '^CONFIG_(X86_64|ARM64)=y' $(KDIR)/include/config/auto.conf || { \
		echo "The kernel of $(KDIR) is for another architecture:" \
		     "sframe_unwind knows x86_64 and arm64." >&2; \
		exit 1; }
	@for option in $(NEEDED_OPTIONS); do \
		grep -q "^CONFIG_$$option=y" $(KDIR)/include/config/auto.conf || { \
		echo "The kernel of $(KDIR) is built without CONFIG_$$option," \
		     "which sframe_unwind needs: use another kernel." >&2; \
		exit 1; }; \
	done

modules: check-kdir	## build sframe_unwind.ko against KDIR
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

tools:	## build sframectl for this machine
	$(MAKE) -C tools/sframectl

# modules_install calls depmod only if it finds a System.map, and Debian's headers have none: depmod is called here.
# With DESTDIR it is not called: a staging area has no other modules to index.
install: all	## install the module (depmod included) and the tools
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(depmod)
	install -D -m 755 tools/perf $(DESTDIR)$(PREFIX)/bin/perf
	install -D -m 755 build/host/sframectl $(DESTDIR)$(PREFIX)/bin/sframectl

uninstall:	## remove what install installed
	rm -f $(DESTDIR)/lib/modules/$(release)/updates/sframe_unwind.ko*
	$(depmod)
	rm -f $(DESTDIR)$(PREFIX)/bin/perf $(DESTDIR)$(PREFIX)/bin/sframectl

demo:	## profile SQLite on two stock kernels; compare fp, dwarf and sframe (ARCH=x86_64|arm64)
	tools/demo --arch $(or $(ARCH),x86_64)

check:	## run the tests: style, builds, decoder, both kernels end to end (LONG=1: all of them)
	tools/check $(if $(LONG),--long)

kunit:	## run the KUnit tests in QEMU (ARCH=x86_64|arm64, KERNEL=6.12|7.2, KASAN=1)
	tools/kunit --arch $(or $(ARCH),x86_64) --kernel $(or $(KERNEL),6.12) $(if $(KASAN),--kasan)

oracle:	## compare the decoder with readelf and .eh_frame on real programs (FIXED=1: few)
	tools/oracle $(if $(FIXED),--fixed)

bench:	## measure samples, look-ups and memory beside fp, dwarf, libsframe ... (PART=samples, ARCH=)
	tools/bench/run --arch $(or $(ARCH),x86_64) $(if $(PART),--only $(PART)) $(or $(KERNEL),6.12)

fuzz:	## fuzz the decoder, the walk and sframectl, each for SECONDS=60
	tools/lab clang-run make -s --no-print-directory -C tools/test/fuzz fuzz SECONDS=$(or $(SECONDS),60)
	tools/lab run make -s --no-print-directory -C tools/test/fuzz mutations SECONDS=$(or $(SECONDS),60)

fuzz-coverage:	## report which code all inputs of the fuzzers together reach
	tools/lab clang-run make -s --no-print-directory -C tools/test/fuzz coverage

stress:	## run all loads that may race at once, on a debug kernel (KERNEL=6.12|7.2, ARCH=, SECONDS=600)
	tools/test/e2e/run --stress $(or $(SECONDS),600) --arch $(or $(ARCH),x86_64) $(or $(KERNEL),6.12)

vm:	## open a shell on a stock kernel with the module (ARCH=, KERNEL=)
	tools/vm --arch $(or $(ARCH),x86_64) --kernel $(or $(KERNEL),6.12)

# The kernel's own `clean` searches every folder below this one: it would remove objects from the laboratory's roots and
# from the test data.
clean:	## remove what was built here; downloads stay (see distclean)
	find . \( -name .git -o -path ./build -o -path ./out -o -path ./tools \) -prune -o -type f \
		\( -name '*.[ios]' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name '.*.d' -o -name '.*.tmp' -o -name modules.order -o -name Module.symvers \) -exec rm -f {} +
	rm -rf build/host out

distclean: clean	## remove the laboratory as well
	tools/lab clean
	rm -rf build

.PHONY: help all check-kdir modules tools install uninstall demo check kunit oracle bench fuzz fuzz-coverage stress vm clean distclean
