# SPDX-License-Identifier: GPL-2.0-or-later
import sys, traceback

says = False


def work():
    if says:
        for frame in reversed(traceback.extract_stack()):
            print("frame", frame.name)
        print("ready", flush=True)
    total = 0
    for number in range(20000):
        total += number * number % 7
    return total


def deep(n):
    return deep(n - 1) + 1 if n else work()


for turn in range(5):
    deep(20)
says = True
deep(20)
says = False
while True:
    deep(20)
