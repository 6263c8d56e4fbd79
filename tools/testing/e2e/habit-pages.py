#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which pages of a file are in the page cache: habit-pages.py FILE [PAGE]

With PAGE, takes all others out of the page cache, by a descriptor that may only read. Else prints their numbers, which the
kernel tells who may write the file.
"""

import ctypes
import mmap
import os
import sys

fd = os.open(sys.argv[1], os.O_RDONLY)
if len(sys.argv) > 2:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    # Read no other page ahead.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(fd, mmap.PAGESIZE, int(sys.argv[2]) * mmap.PAGESIZE)
    sys.exit()
# Private, so nothing is written to the file.
area = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
cached = bytearray(len(area) // mmap.PAGESIZE + 1)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mincore(ctypes.byref(ctypes.c_char.from_buffer(area)), ctypes.c_size_t(len(area)),
                ctypes.byref(ctypes.c_char.from_buffer(cached))):
    sys.exit(os.strerror(ctypes.get_errno()))
print(*(page for page, is_cached in enumerate(cached) if is_cached & 1))
