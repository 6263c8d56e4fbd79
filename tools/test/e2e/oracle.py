# SPDX-License-Identifier: GPL-2.0-or-later
#
# Lists every chain of one turn of ./chain, as gdb finds it
#
# gdb -batch -x oracle.py -ex 'python oracle("OUT")' --args ./chain -n 3
#
# Of another architecture: gdb-multiarch, and oracle("OUT", "QEMU", "ROOT"), by which and in which the program runs.
#
# Steps through one turn and asks gdb (DWARF) for the backtrace at each instruction. A stack of return
# addresses kept while stepping shows when the same instruction is reached another way, and checks gdb: where
# the two disagree, the line is marked. Output: one line for each chain,
#
#   FUNCTION STEPS SETUP AGREES OBJECT+0xOFFSET...      leaf first
#
# STEPS is how often the turn comes to that instruction by that chain. SETUP is 1 while the function's frame is not
# yet, or no longer, as large as it gets.
import collections
import os
import shlex
import struct
import subprocess
import tempfile
import time

import gdb


def mappings():
    """Start, end and path of each that is a file's; of an emulated program, too, where its own addresses count"""
    for line in gdb.execute('info proc mappings', to_string=True).splitlines():
        fields = line.split()
        if fields and fields[-1].startswith('/'):
            yield int(fields[0], 16), int(fields[1], 16), fields[-1]


class Names:
    """Addresses as OBJECT+OFFSET; the first mapping of a file is where its address 0 is."""

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
        # Inlined and tail called functions are inventions of the debug information: no frame is theirs.
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            yield frame.pc()
        frame = frame.older()


class X86:
    """A call pushes the return address. What is below the stack pointer has been returned from."""

    def __init__(self, memory):
        self.memory = memory

    def step(self, pc):
        gdb.execute('stepi', to_string=True)

    def called(self, before, pc, old_sp, sp):
        """The return address, and where the stack pointer was, if the step made a call"""
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
        # QEMU does not stop after a system call, but one instruction later.
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
    """Begins the program, which waits for us before its first instruction"""
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
    # (stack pointer, return address), innermost last; what is above the turn is gdb's word alone
    outer = list(backtrace())[1:]
    calls = [(sp, outer[0])]
    found, largest, times, steps = {}, {}, collections.Counter(), 0
    while steps == 0 or pc != begin:
        key = pc, tuple(calls)
        if key not in found:
            function = physical_function()
            size = calls[-1][0] - sp if calls else 0    # main's own is of no interest
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
