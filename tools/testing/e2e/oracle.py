# SPDX-License-Identifier: GPL-2.0-or-later
#
# Lists every chain of one turn of ./chain, as found by gdb
#
# gdb -batch -x oracle.py -ex 'python oracle("OUT")' --args ./chain -n 3
#
# For another architecture, gdb-multiarch runs oracle("OUT", "QEMU", "ROOT"): QEMU emulates the program in ROOT.
#
# The script steps through one turn and gets the backtrace of gdb (DWARF) at each instruction. It also records the
# return addresses of all calls. These distinguish different ways to the same instruction, and check the backtrace.
# Output: one line for each chain,
#
#   FUNCTION STEPS SETUP AGREES OBJECT+0xOFFSET...      leaf first
#
# STEPS is the number of times that the turn is at that instruction with that chain. SETUP is 1 while the frame of the
# function is smaller than its largest size. AGREES is 1 if the recorded calls match the backtrace.
import collections
import os
import shlex
import struct
import subprocess
import tempfile
import time

import gdb


def mappings():
    """Start, end and path of each mapping of a file. An emulated program has its own addresses here."""
    for line in gdb.execute('info proc mappings', to_string=True).splitlines():
        fields = line.split()
        if fields and fields[-1].startswith('/'):
            yield int(fields[0], 16), int(fields[1], 16), fields[-1]


class Names:
    """Addresses as OBJECT+OFFSET. Address 0 of an object is at its first mapping."""

    def __init__(self):
        self.spans = []
        bases = {}
        for start, end, path in mappings():
            base = bases.setdefault(path, start)
            self.spans.append((start, end, base, os.path.basename(path)))

    def __getitem__(self, address):
        for start, end, base, name in self.spans:
            if start <= address < end:
                return f'{name}+{address - base:#x}'
        return f'?+{address:#x}'


def register(name):
    return int(gdb.parse_and_eval(f'(unsigned long)${name}'))


def backtrace():
    frame = gdb.newest_frame()
    while frame is not None:
        # Inlined and tail called functions exist only in the debug information and have no frame.
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            yield frame.pc()
        frame = frame.older()


class X86:
    """A call pushes the return address. A call whose return address is below the stack pointer has returned."""

    def __init__(self, memory):
        self.memory = memory

    def step(self, pc):
        gdb.execute('stepi', to_string=True)

    def called(self, before, pc, old_sp, sp):
        """(stack pointer, return address) if the step made a call, else None"""
        if sp == old_sp - 8:
            address, = struct.unpack('<Q', self.memory(sp, 8))
            if 2 <= address - before <= 7 and pc != address:
                return sp, address
        return None

    def returned(self, call, pc, sp):
        return call[0] < sp


class Arm64:
    """A call leaves the return address in x30."""

    def __init__(self, memory):
        self.memory = memory

    def code(self, pc):
        return struct.unpack('<I', self.memory(pc, 4))[0]

    def step(self, pc):
        # After a system call QEMU stops one instruction too late.
        gdb.execute(f'advance *{pc + 4}' if self.code(pc) == 0xd4000001 else 'stepi', to_string=True)

    def called(self, before, pc, old_sp, sp):
        code = self.code(before)
        if code & 0xfc000000 == 0x94000000 or code & 0xfffffc1f == 0xd63f0000:      # bl, blr
            return sp, before + 4
        return None

    def returned(self, call, pc, sp):
        return call[0] < sp or call == (sp, pc)


def physical_function():
    frame = gdb.newest_frame()
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame.name() or '?'


def emulate(qemu, root):
    """Starts the program in QEMU, which waits for gdb before the first instruction"""
    program = gdb.current_progspace().filename
    socket = os.path.join(tempfile.mkdtemp(), 'gdb')
    for setting in (f'sysroot {root}', f'debug-file-directory {root}/usr/lib/debug',
                    f'solib-search-path {os.path.dirname(program)}'):
        gdb.execute(f'set {setting}')
    process = subprocess.Popen([qemu, '-cpu', 'max,pauth-impdef=on', '-L', root, '-g', socket, program,
                                *shlex.split(gdb.parameter('args'))], stdin=subprocess.DEVNULL)
    while True:
        try:
            gdb.execute(f'target remote {socket}', to_string=True)
            return
        except gdb.error:
            if process.poll() is not None:
                raise
            time.sleep(0.1)


def oracle(path, *emulator):
    for setting in ('pagination off', 'backtrace past-main on', 'backtrace limit unlimited', 'confirm off'):
        gdb.execute(f'set {setting}')
    if emulator:
        emulate(*emulator)
    gdb.execute('break *first', to_string=True)
    gdb.execute('continue' if emulator else 'run', to_string=True)
    gdb.execute('continue', to_string=True)         # the first turn binds the PLT
    gdb.execute('delete', to_string=True)
    arm64 = gdb.newest_frame().architecture().name() == 'aarch64'
    machine = (Arm64 if arm64 else X86)(gdb.selected_inferior().read_memory)
    names = Names()
    begin, pc, sp = register('pc'), register('pc'), register('sp')
    # (stack pointer, return address), innermost last. The frames above the turn come only from gdb.
    outer = list(backtrace())[1:]
    calls = [(sp, outer[0])]
    found, largest, times, steps = {}, {}, collections.Counter(), 0
    while steps == 0 or pc != begin:
        key = pc, tuple(calls)
        if key not in found:
            function = physical_function()
            size = calls[-1][0] - sp if calls else 0    # the size of main does not matter
            largest[function] = max(largest.get(function, 0), size)
            chain = list(backtrace())
            truth = [pc] + [address for _, address in reversed(calls)]
            truth += outer[1:]
            found[key] = function, size, chain == truth, chain
        times[key] += 1
        before, old_sp = pc, sp
        machine.step(pc)
        pc, sp = register('pc'), register('sp')
        steps += 1
        while calls and machine.returned(calls[-1], pc, sp):
            calls.pop()
        call = machine.called(before, pc, old_sp, sp)
        if call:
            calls.append(call)
    with open(path + '.tmp', 'w') as out:
        for key, (function, size, agrees, chain) in found.items():
            setup = size < largest[function]
            print(function, times[key], int(setup), int(agrees), *(names[a] for a in chain), file=out)
    os.rename(path + '.tmp', path)
    print(f'{steps} steps, {len(found)} chains, {sum(not f[2] for f in found.values())} disagree')
    gdb.execute('kill')
