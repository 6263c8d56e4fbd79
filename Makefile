# SPDX-License-Identifier: GPL-2.0-or-later
#
# All entry points of the project: build, install, test and measure. `make help` lists them.

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build
PREFIX	?= /usr/local
DESTDIR	?=
CC	?= gcc
VERSION	:= $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf 2>/dev/null)

# Paths may have any character. So their values are taken as they were given, without expansion by make, and recipes read
# them from the environment.
PATHS	:= KDIR PREFIX DESTDIR
$(foreach path,$(PATHS),$(if $(filter-out file,$(origin $(path))),$(eval override $(path) := $$(value $(path)))))
export $(PATHS)

# The oldest kernel on which the module is tested; BUILD_EXCLUSIVE_KERNEL in dkms.conf says the same.
OLDEST_KERNEL := 6.1

# Debian's packages that the tests need on this machine, those of the laboratory included. The rest is in its roots.
TEST_PACKAGES := gcc make libcapstone-dev libelf-dev python3 mmdebstrap debian-archive-keyring

NEEDED_OPTIONS := MODULES PERF_EVENTS DYNAMIC_FTRACE_WITH_ARGS \
		  IRQ_WORK KPROBES

help:	## show this list
	@echo "sframe_unwind $(VERSION): make TARGET [VARIABLE=value...]"
	@sed -n 's/^\([a-z-]*\):.*##/  \1\t/p' $(MAKEFILE_LIST) | expand -t 17
	@printf 'KDIR=DIR     kernel headers to build against (%s)\n' "$$KDIR"
	@printf 'PREFIX=DIR   where the tools are installed (%s); DESTDIR is honoured\n' "$$PREFIX"

all: modules tools	## the module and the tools

# Checks the headers, the compiler, the kernel and both paths. The first fault is reported in one sentence.
check-kdir:
	@test -f "$$KDIR/include/config/kernel.release" || { \
		echo "No kernel headers in $$KDIR: install the package" \
		     "linux-headers-$(KVER), or say KDIR=/path/to/headers." >&2; \
		exit 1; }
	@command -v $(CC) >/dev/null || { \
		echo "The compiler $(CC) is missing: install the package gcc." >&2; \
		exit 1; }
	@release=$$(cat "$$KDIR/include/config/kernel.release") && \
		printf '%s\n' $(OLDEST_KERNEL) "$$release" | sort -VC || { \
		echo "The kernel of $$KDIR is $$release, and sframe_unwind" \
		     "needs $(OLDEST_KERNEL) or later: use a newer kernel." >&2; \
		exit 1; }
	@grep -qE '^CONFIG_(X86_64|ARM64)=y' "$$KDIR/include/config/auto.conf" || { \
		echo "The kernel of $$KDIR is for another architecture:" \
		     "sframe_unwind knows x86_64 and arm64." >&2; \
		exit 1; }
	@for option in $(NEEDED_OPTIONS); do \
		grep -q "^CONFIG_$$option=y" "$$KDIR/include/config/auto.conf" || { \
		echo "The kernel of $$KDIR is built without CONFIG_$$option," \
		     "which sframe_unwind needs: use another kernel." >&2; \
		exit 1; }; \
	done
	@for dir in "$$KDIR" .; do \
		dir=$$(cd "$$dir" && pwd -P); \
		case $$dir in *[[:space:]:%\$$\'\"\\\`\(\)\&\;\|\<\>,]*) \
			echo "The kernel's build does not work in $$dir," \
			     "because of a special character: use another path." >&2; \
			exit 1; \
		esac; \
	done

modules: check-kdir	## build sframe_unwind.ko against KDIR
	$(MAKE) -C "$$KDIR" M="$$(pwd -P)" modules

tools:	## build sframectl and perf-sframe for this machine, in build/host
	$(MAKE) -C tools/sframectl
	$(MAKE) -C tools/perf-sframe

# modules_install cannot install into every path, and makes directories by the umask. So it installs into build/stage.
# cmd_depmod is kbuild's: it would only warn that depmod is skipped. tools/packaging/install calls depmod.
stage: modules
	rm -rf build/stage
	$(MAKE) -C "$$KDIR" M="$$(pwd -P)" INSTALL_MOD_PATH="$$(pwd -P)/build/stage" INSTALL_MOD_DIR=updates cmd_depmod=: \
		modules_install

# Refuses a PREFIX before the build, which may take a minute.
check-prefix:
	@tools/packaging/install check

install: check-prefix stage tools	## install the module (depmod included) and the tools
	@tools/packaging/install all

install-tools: check-prefix tools	## install the tools alone, for instance where DKMS installs the module
	@tools/packaging/install tools

uninstall:	## remove what install installed, for all kernels
	@tools/packaging/install remove

dist:	## write the sources to build/dist/sframe-unwind-VERSION.tar.xz
	tools/packaging/package dist

deb:	## build Debian packages of the module and the tools in build/dist
	tools/packaging/package deb

demo:	## profile Debian's programs on a stock kernel; compare fp, dwarf and sframe (KERNEL=7.2, arm64-6.12)
	tools/demo/run $(KERNEL:%=--kernel %)

test:	## run the tests that need no root, network or laboratory, in a minute
	tools/testing/run --host

check:	## run all tests: on this machine, in the laboratory, on stock kernels (FULL=1: more, on more kernels)
	tools/lab/lab need $(TEST_PACKAGES)
	tools/testing/run $(if $(FULL),--full)

kunit:	## run the KUnit tests in QEMU (KERNEL=7.2, arm64-7.2; KASAN=1)
	kunit/run --kernel $(or $(KERNEL),6.12) $(if $(KASAN),--kasan)

oracle:	## compare decoder and converter with readelf and .eh_frame on many real programs
	tools/testing/oracle/run corpus
	tools/testing/oracle/run convert

truth:	## compare stacks with what programs do at each instruction (PROGRAM=), or with libdw (LIVE=1, KERNEL=)
	tools/testing/truth/run $(if $(LIVE),live --kernel $(or $(KERNEL),6.12),steps $(PROGRAM))

runtimes:	## compare the stacks of runtimes with libdw and with their own lists (PROGRAM=, KERNEL=)
	tools/testing/runtimes/run --kernel $(or $(KERNEL),6.12) $(PROGRAM)

bench:	## measure what samples, look-ups and memory cost (PART=samples, KERNEL=)
	tools/bench/run --kernel $(or $(KERNEL),6.12) $(PART)

harm:	## measure what the module costs exec, fork and mmap (KERNEL=)
	tools/bench/run --kernel $(or $(KERNEL),6.12) harm

fuzz:	## fuzz the decoder, the walk and sframectl, each for SECONDS=60
	tools/testing/fuzz/run targets --seconds $(or $(SECONDS),60)
	tools/testing/fuzz/run mutations --seconds $(or $(SECONDS),60)

fuzz-coverage:	## report which code all inputs of the fuzzers together reach
	tools/lab/lab clang-run make -s --no-print-directory -C tools/testing/fuzz coverage

doc:	## make HTML pages of Documentation/ in build/doc
	tools/lab/lab doc-run sphinx-build -q -W --keep-going -b html Documentation build/doc

readme:	## record the tables and examples of the documents again, in half an hour, and write them there
	tools/packaging/readme --run

stress:	## run all loads that may race at once, on a debug kernel (KERNEL=7.2, SECONDS=600, RT=1, KCSAN=1)
	tools/testing/e2e/run storm --stress $(or $(SECONDS),600) --kernel $(if $(filter arm64-%,$(KERNEL)),arm64-)debug-$(patsubst arm64-%,%,$(or $(KERNEL),6.12))$(if $(RT),-rt)$(if $(KCSAN),-kcsan)

vm:	## open a shell on a stock kernel with the module (KERNEL=7.2, arm64-6.12)
	tools/lab/vm --kernel $(or $(KERNEL),6.12)

# The kernel's own `clean` searches every folder below this one: it would remove objects from the laboratory's roots and
# from the test data.
clean:	## remove what was built here; downloads stay (see distclean)
	find . \( -name .git -o -path ./build -o -path ./out -o -path ./tools \) -prune -o -type f \
		\( -name '*.[ios]' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name '.*.d' -o -name '.*.tmp' -o -name modules.order -o -name Module.symvers \) -exec rm -f {} +
	rm -rf build/dist build/doc build/host build/stage out

distclean: clean	## remove the laboratory as well
	tools/lab/lab clean
	rm -rf build

.PHONY: help all check-kdir modules tools stage check-prefix install install-tools uninstall dist deb demo test check kunit oracle truth runtimes \
	bench harm fuzz fuzz-coverage stress vm doc readme clean distclean
