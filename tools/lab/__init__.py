# SPDX-License-Identifier: GPL-2.0-or-later
"""The laboratory: a Debian 13 root with compilers, headers and kernels, made on first use.

It makes everything from the Debian archive that this machine's apt already uses, and keeps it under build/lab/. The
modules, each of which uses those before it: host, cache, series, archive, unpack, roots, sources, kernels, module,
images, toolchains, programs, machine, debians, command.

The host's apt sources and package database are only read, with one exception: apt installs missing packages on the
host if the user agrees.
"""
