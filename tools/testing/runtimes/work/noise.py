# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a film of 60 pictures with noise in front of stripes that move."""
import random
import sys

WIDTH, HEIGHT = 352, 288
random.seed(1)
out = sys.stdout.buffer
out.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420\n".encode())
for picture in range(60):
    out.write(b"FRAME\n")
    for y in range(HEIGHT):
        out.write(bytes(((x + picture * 3 ^ y) & 127) + (random.getrandbits(5)) for x in range(WIDTH)))
    out.write(bytes(WIDTH * HEIGHT // 2))
