#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the chains of ./chain that perf recorded against the chains that gdb found

perf script -F comm,pid,tid,time,event,ip --show-mmap-events | verify.py [--name NAME] [--whole N] ... DIR
... | verify.py --name NAME --events FILE --kallsyms FILE DIR
verify.py --selftest DIR
perf script --no-inline -F comm,tid,ip,sym,dso | verify.py --name NAME --signals FACTS


With --events the samples were taken at events of the turn. FILE has lines EVENT=LEAST: the least number of whole
samples of each event. Few samples may be outside. If the kernel sleeps, its part of a sample must begin at the entry of
the system call. The user part must begin after a system call instruction. --kallsyms names /proc/kallsyms of that kernel.

DIR has `oracle` (oracle.py) and a `*.sframe` (readelf --sframe) for each object with SFrame data. On arm64 it also has
a `*.plt` with the place of the PLT slots. Linkers write no data for these slots; the link register leads to the caller.
Where a linker has moved the code of an object from its place in the file, a `*.moved` says how far.
The verdict on a sample depends only on these files, and not on our decoder:

  whole      the exact chain from the sampled address to main and its caller in libc
  gap        exact up to an address without SFrame data. After it the frame pointer has found the rest of the true
             chain (right), or the chain ends early (short); any other frame is wrong
  early      short, and among the first samples of a process: its sections were not scanned yet
  outside    the sampled address is not in the turn (start-up code, libc)
  between    sampled while the kernel sets or removes a uretprobe, or tries one that longjmp() left: the true return
             address is only in a variable of the kernel, and not on the stack
  unmerged   sampled while the kernel delivered the deferred stack of the sample: perf cannot merge the two
  short      ends before main although all addresses have data: an error
  wrong      anything else: an error

`between` and `unmerged` are samples that interrupt the kernel. Recording user mode only would avoid them. But then the
stacks at tracepoints, at probes and in system calls would be missing, too, for which these recordings are made.
"""
import argparse
import bisect
import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../lib'))
from tap import Tap  # noqa: E402

EARLY = 0.2                 # seconds after the start of a process, in which its first scan begins
MAX_EARLY = 5               # different places of such samples; during one scan the place stays the same
MIN_WHOLE = 1000            # samples; with V1 and V2 all samples from the first realigned function on are gaps
MIN_ADDRESSES = 0.9         # share of the turn's addresses that were sampled
MAX_OUTSIDE = 0.05          # share of a recording's samples at events
MAX_OUTSIDE_SHORT = 0.1     # of others: a program of a second is in its start-up code for a 20th of it
MAX_UNKNOWN = 0.02          # for ./signals: share of stacks of which perf shows nothing
# rcu_read_unlock_trace_special() may be the tail call of the first function, which handles a breakpoint. That one also calls
# arch_uretprobe_hijack_return_addr(), and then the real return address is in no list for a moment. On arm64 the stack of such
# a sample lacks the caller.
BETWEEN = {'uprobe_notify_resume', '__x64_sys_uretprobe', 'rcu_read_unlock_trace_special', 'arch_uretprobe_hijack_return_addr'}
# Functions with few callers besides uprobe_handle_trampoline().
CALLED_THERE = {'arch_uretprobe_is_alive', 'put_uprobe'}
MAX_UNMERGED = 0.15         # share of samples whose deferred stack perf did not find
MIN_IN_SLOTS = 10           # samples, where there are slots
MIN_ENTERED = 30            # samples with the kernel's and the user's part of a system call
# For ./signals: samples of new code, by each scan of it that was lost. The next scan may come a millisecond later.
LATE_BY_LOST = 12
# For ./signals: a place that signals hit this often must be found; a quarter of the usual number of each kind.
OFTEN = 20
ENOUGH_SIGNALS = {'whole': 4000, 'signal': 400, 'nested': 250, 'on_other_stack': 300, 'no_frame': 40, 'no_call': 100,
                  'saves_registers': 200, 'in_vdso': 500, 'above_libc': 300, 'library_inner': 60, 'loaded': 50, 'met': 15}
MIN_SETUP = 0.5             # share of prologues, epilogues and argument pushing in samples, by their share in steps


class Oracle:
    def __init__(self, directory):
        self.chains = collections.defaultdict(set)
        self.setup = set()
        self.disputed = 0
        steps = collections.Counter()
        with open(os.path.join(directory, 'oracle')) as lines:
            for line in lines:
                _, times, setup, agrees, *chain = line.split()
                steps[chain[0]] += int(times)
                self.disputed += agrees == '0'
                self.chains[chain[0]].add(tuple(chain))
                if setup == '1':
                    self.setup.add(chain[0])
        self.setup_share = sum(steps[address] for address in self.setup) / sum(steps.values())
        self.ranges = collections.defaultdict(list)
        for path in glob.glob(os.path.join(directory, '*.sframe')):
            with open(path) as dump:
                for start, size in re.findall(r'pc = 0x([0-9a-f]+), size = (\d+) bytes', dump.read()):
                    self.ranges[os.path.basename(path)[:-len('.sframe')]].append((int(start, 16), int(size)))
        self.moved = {}
        for path in glob.glob(os.path.join(directory, '*.moved')):
            with open(path) as number:
                self.moved[os.path.basename(path)[:-len('.moved')]] = int(number.read())
        self.slots = {}
        for path in glob.glob(os.path.join(directory, '*.plt')):
            with open(path) as dump:
                self.slots[os.path.basename(path)[:-len('.plt')]] = [int(number, 16) for number in dump.read().split()]

    def in_slot(self, address):
        name, offset = address.split('+')
        start, size = self.slots.get(name, (0, 0))
        # The code before the slots looks functions up.
        return start + 32 <= int(offset, 16) < start + size

    def covered(self, address, is_return):
        name, offset = address.split('+')
        pc = int(offset, 16) - is_return
        return (any(start <= pc < start + size for start, size in self.ranges[name]) or
                not is_return and self.in_slot(address))

    def first_uncovered(self, chain):
        for i, address in enumerate(chain):
            if not self.covered(address, i > 0):
                return i
        return len(chain)

    def judge(self, chain):
        """(verdict, expected chain) of one sample"""
        if not chain or chain[0] not in self.chains:
            return 'outside', None
        verdicts = [self.compare(chain, expected) for expected in self.chains[chain[0]]]
        return min(verdicts, key=lambda v: ORDER.index(v[0]))

    def compare(self, chain, expected):
        known = self.first_uncovered(expected) + 1
        if chain[:known] != expected[:known]:
            prefix = chain == expected[:len(chain)]
            return ('short' if prefix else 'wrong'), expected
        # The first address without data is main's caller: nothing else to know.
        if any(address.startswith('libc') for address in expected[:known]):
            return 'whole', expected
        end = self.libc_index(expected)
        if chain[:end] == expected[:end]:
            return 'gap-right', expected
        prefix = chain == expected[:len(chain)]
        return ('gap-short' if prefix else 'wrong'), expected

    @staticmethod
    def libc_index(chain):
        return next(i for i, address in enumerate(chain) if address.startswith('libc')) + 1


ORDER = ('whole', 'gap-right', 'gap-short', 'short', 'wrong', 'early', 'between', 'unmerged', 'outside')
SAMPLE = re.compile(r'^\s*(\S.*?)\s+(\d+)/(\d+)\s+([\d.]+):\s+(?:(\S+):\s*$)?')
MMAP = re.compile(r'PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*: \S+ (/.*|\[uprobes\])$')
ADDRESS = re.compile(r'^\s*([0-9a-f]+)\s*$')
NO_ADDRESS = re.compile(r'^\s*[0-9a-f]{4,16}\s')       # and more: perf has shown what nobody asked for


def samples(lines, comm, moved):
    """(event, pid, time, kernel addresses, user chain as OBJECT+0xOFFSET) of each sample of COMM

    OFFSET is from the place of the first byte of OBJECT in memory. `moved` has how far the code is from its place in the file.
    """
    maps = collections.defaultdict(list)
    current = None

    def name(pid, address):
        for start, size, offset, path in reversed(maps[pid]):
            if start <= address < start + size:
                base = os.path.basename(path)
                return f'{base}+{address - start + offset + moved.get(base, 0):#x}'
        return f'?+{address:#x}'

    def finish():
        if current:
            event, pid, time, addresses = current
            yield (event, pid, time, [a for a in addresses if a >= 1 << 63],
                   tuple(name(pid, a) for a in addresses if a < 1 << 63))

    for line in lines:
        address = ADDRESS.match(line)
        if address:
            if current:
                current[3].append(int(address[1], 16))
            continue
        if not line.strip():
            continue
        if current and NO_ADDRESS.match(line):
            raise ValueError(f'a frame that is more than an address: {line!r}')
        yield from finish()
        current = None
        mapping = MMAP.search(line)
        if mapping:
            pid, start, size, offset, path = mapping.groups()
            maps[int(pid)].append((int(start, 16), int(size, 16), int(offset, 16), path.split('//')[0]))
            continue
        sample = SAMPLE.match(line)
        if sample and sample[1] == comm and 'PERF_RECORD' not in line:
            current = sample[5], int(sample[2]), float(sample[4]), []
    yield from finish()


class Beginnings:
    """Samples before the first scan of a process has ended. However long it takes, the process stays at one place."""

    def __init__(self):
        self.first, self.place = {}, {}

    def has(self, pid, time, verdict, place):
        first = self.first.setdefault(pid, time)
        early = verdict == 'short' and (time < first + EARLY or place == self.place.get(pid))
        self.place[pid] = place if early else None
        return early


def verify(oracle, lines, args):
    name = args.name
    count = collections.Counter()
    beginnings, last_early, early = Beginnings(), 0, set()
    met, setup, in_slots, bad = set(), 0, 0, []
    for _, pid, time, _, chain in samples(lines, 'chain', oracle.moved):
        verdict, expected = oracle.judge(chain)
        if chain and beginnings.has(pid, time, verdict, chain[0]):
            verdict = 'early'
            last_early = time - beginnings.first[pid]
            early.add(chain[0])
        count[verdict] += 1
        if verdict == 'outside':
            continue
        met.add(chain[0])
        setup += chain[0] in oracle.setup
        in_slots += oracle.in_slot(chain[0])
        if verdict in ('short', 'wrong', 'early'):
            bad.append((verdict, chain, expected))
    total = sum(count.values())
    share = setup / max(total - count['outside'], 1)
    figures = ', '.join(f'{verdict} {count[verdict]}' for verdict in ORDER if count[verdict])
    print(f'{name}: {total} samples: {figures}')
    print(f'{name}: {len(met)} of {len(oracle.chains)} addresses met; '
          f'{share:.1%} of the samples in prologues and epilogues, {oracle.setup_share:.1%} of the steps '
          f'({len(met & oracle.setup)} of {len(oracle.setup)} such addresses)')
    if oracle.slots:
        print(f'{name}: {in_slots} samples in PLT slots')
    if last_early:
        print(f'{name}: the last of the early ones came {1000 * last_early:.1f} ms after the first sample')
    for verdict, chain, expected in sorted(bad, key=lambda b: b[0] == 'early')[:3]:
        at = next((i for i, (a, b) in enumerate(zip(chain, expected)) if a != b), min(len(chain), len(expected)))
        print(f'{name}: {verdict} at frame {at} of {chain[0]}')
        print(f'    expected {" ".join(expected)}')
        print(f'    got      {" ".join(chain)}')
    if oracle.slots:
        yield f'{name}: some in PLT slots', in_slots >= MIN_IN_SLOTS
    for what, holds in (
            ('no wrong chain', not count['wrong']),
            ('no short chain', not count['short']),
            (f'at most {MAX_EARLY} places before the sections were scanned', len(early) <= MAX_EARLY),
            (f'at least {args.whole} whole', count['whole'] >= args.whole),
            ('few outside', count['outside'] <= MAX_OUTSIDE_SHORT * total),
            (f'{args.addresses:.0%} of the addresses met', len(met) >= args.addresses * len(oracle.chains)),
            (f'{args.setup:.0%} of their part in prologues and epilogues', share >= args.setup * oracle.setup_share)):
        yield f'{name}: {what}', holds


class Facts:
    """Facts from ./signals itself and from its kernel, one per line: returns FUNCTION ADDRESS, trampoline ADDRESS,
    interrupted ADDRESS, loaded TIMES, lost SCANS, and setup START END for each kernel function that sets up a handler"""

    def __init__(self, lines):
        self.known, self.returns, self.start, self.trampoline = set(), set(), set(), set()
        self.interrupted, self.setup, self.loaded, self.lost = collections.Counter(), [], 0, 0
        for kind, *rest in map(str.split, lines):
            if kind == 'returns':
                function, address = rest
                self.known.add(function)
                self.returns.add((function, address))
                if function in ('thread', 'main'):
                    self.start.add(address)
            elif kind == 'trampoline':
                self.trampoline.add(rest[0])
            elif kind == 'interrupted':
                self.interrupted[rest[0]] += 1
            elif kind == 'setup':
                self.setup.append((rest[0], rest[1]))
            elif kind == 'loaded':
                self.loaded = int(rest[0])
            elif kind == 'lost':
                self.lost = int(rest[0])


Frame = collections.namedtuple('Frame', 'ip symbol object')


def signal_stacks(lines, comm):
    """(kernel frames, user frames) of each sample of COMM from perf script; kernel addresses have 16 digits"""
    current, kernel, user = None, [], []
    for line in lines:
        fields = line.split()
        if line.startswith('\t') and fields:
            frame = Frame(fields[0], fields[1] if len(fields) > 1 else '', fields[-1])
            (kernel if len(fields[0]) == 16 else user).append(frame)
            continue
        if not fields and user and current == comm:
            yield kernel, user
        current, kernel, user = fields[0] if fields else None, [], []


class SignalJudge:
    """Judges stacks of ./signals by the facts.

    The frame after a function must be a return address of that function. The frame after a trampoline must be an
    address at which a signal struck. Code without SFrame data may end a stack. Its callers are judged by symbol: libc
    calls the vDSO, some functions call libc, and one calls the vDSO. The return address of a thread's function is the last frame
    that is judged: the stack is whole.

    A stack may also end one frame after code without data. libc calls through pointers, so that no call proves the next
    frame.

    `between`: while the kernel sets up a handler or returns from it, it changes the registers one by one. For some
    instructions the registers then belong to neither frame. The first frames may be right, as far as unchanged
    registers lead to them. The innermost kernel function identifies such samples; some functions are inlined.
    Recording user mode only would avoid these samples. But it would also lose all samples in system calls, in page
    faults and on the way back to a handler.

    `late`: the task that has just loaded a library does not wait for mmap_lock, nor for another task that scans. The
    module counts such lost scans. The first samples in the library then end there.
    """

    def __init__(self, facts):
        self.facts = facts
        self.met = set()

    def has_data(self, frame):
        return frame.symbol in self.facts.known or frame.ip in self.facts.trampoline

    def follows(self, frame, caller):
        if frame.ip in self.facts.trampoline:
            self.met.add(caller.ip)
            return caller.ip in self.facts.interrupted
        if frame.symbol in self.facts.known:
            return (frame.symbol, caller.ip) in self.facts.returns
        in_vdso = frame.object == '([vdso])'
        # 6.1 has functions there that only those with a name call.
        if in_vdso and caller.object == '([vdso])':
            return frame.symbol == '[unknown]' != caller.symbol
        if caller.symbol in self.facts.known:
            if in_vdso:
                return caller.symbol == 'calls_vdso'
            # GCC calls these functions of its own, without SFrame data, for note_interrupted(), which is inlined.
            if frame.symbol.startswith('__aarch64_'):
                return caller.symbol in ('on_this_stack', 'on_other_stack')
            return caller.symbol in ('calls_libc', 'loads', 'tell', 'thread', 'main')
        return not in_vdso or 'libc' in caller.object

    def is_set_up(self, kernel):
        return bool(kernel) and any(start <= kernel[0].ip < end for start, end in self.facts.setup)

    def judge(self, kernel, user):
        """(verdict, number of signals, kinds of frames) of one stack"""
        signals, kinds = 0, set()
        if len(user) == 1 and user[0].object == '([unknown])':
            return 'unknown', 0, kinds
        for i, frame in enumerate(user):
            if frame.ip in self.facts.start:
                return 'whole', signals, kinds
            if i == len(user) - 1:
                if not self.has_data(frame) or i > 0 and not self.has_data(user[i - 1]):
                    return 'nodata', signals, kinds
                if i == 0 and kernel or self.is_set_up(kernel):
                    return 'between', signals, kinds
                late = i == 0 and self.facts.lost and frame.symbol.startswith('library_')
                return 'late' if late else 'short', signals, kinds
            if not self.follows(frame, user[i + 1]):
                return 'between' if self.is_set_up(kernel) else 'wrong', signals, kinds
            if frame.symbol in self.facts.known:
                kinds.add(frame.symbol)
            if frame.ip in self.facts.trampoline:
                signals += 1
            elif frame.object == '([vdso])':
                kinds.add('in_vdso')
        raise AssertionError('a stack without frames')

    def count(self, stacks):
        """(number of stacks of each verdict and kind, up to four stacks of each bad verdict)"""
        count, bad = collections.Counter(loaded=self.facts.loaded), []
        for kernel, user in stacks:
            verdict, signals, kinds = self.judge(kernel, user)
            count[verdict] += 1
            if verdict == 'whole':
                count.update(kinds)
                if signals:
                    count['signal' if signals == 1 else 'nested'] += 1
            if verdict in ('wrong', 'short', 'late') and count[verdict] <= 4:
                bad.append((verdict, kernel, user))
        for place, times in self.facts.interrupted.items():
            if times >= OFTEN:
                count['met' if place in self.met else 'missed'] += 1
        return count, bad


def verify_signals(lines, facts, name):
    count, bad = SignalJudge(facts).count(signal_stacks(lines, 'signals'))
    for verdict, kernel, user in bad:
        print(f'     {verdict}, kernel: {" ".join(f.symbol for f in kernel)}, user: '
              f'{" ".join(f"{f.ip}:{f.symbol}" for f in user)}')
    print('     ' + ', '.join(f'{what} {number}' for what, number in sorted(count.items())) + f', lost {facts.lost}')
    few = [f'{kind}={least}' for kind, least in ENOUGH_SIGNALS.items() if count[kind] < least]
    if few:
        print(f'     too few: {" ".join(few)}')
    yield f'{name}: no wrong stack', not count['wrong']
    yield f'{name}: no stack ends in code with data', not count['short']
    yield f'{name}: only lost scans make samples late', count['late'] <= LATE_BY_LOST * facts.lost
    yield f'{name}: few are not known', count['unknown'] <= MAX_UNKNOWN * count['whole']
    yield f'{name}: one in 500 at most where a signal begins or ends', count['between'] * 500 <= count['whole']
    yield f'{name}: found wherever signals struck often', not count['missed']
    yield f'{name}: enough of each kind', not few


class Kernel:
    """The functions of the sampled kernel, from its /proc/kallsyms"""

    def __init__(self, path):
        with open(path) as lines:
            symbols = sorted((int(a, 16), name) for a, kind, name, *_ in map(str.split, lines) if kind in 'tTwW')
        self.starts, self.names = zip(*symbols)

    def functions(self, addresses):
        return [self.names[bisect.bisect_right(self.starts, a) - 1] for a in addresses]


def behind_system_call(directory, address):
    name, offset = address.split('+')
    with open(os.path.join(directory, name), 'rb') as file:
        file.seek(int(offset, 16) - 4)
        return file.read(4).endswith((b'\x0f\x05', b'\x01\0\0\xd4'))        # syscall, svc #0


def hides_trampoline(functions):
    """On arm64, kernel stacks may lack the caller of the innermost function: here uprobe_handle_trampoline()."""
    return CALLED_THERE & set(functions[:1]) or (
        functions[1:2] == ['uprobe_notify_resume'] and functions[-1].startswith('el0t_64_sync'))


def excuse(verdict, chain, functions, deferred):
    # An unmerged sample has a number instead of the stack, which is in no mapping.
    if len(chain) == 1 and (any('unwind_deferred' in f for f in functions) or
                            deferred and chain[0].startswith('?')):
        return 'unmerged'
    # Within the handler of a probe the stack is intact.
    if any('dispatcher' in f for f in functions):
        return verdict
    if verdict in ('short', 'outside') and BETWEEN & set(functions):
        return 'between'
    if verdict in ('short', 'wrong') and ('uprobe_handle_trampoline' in functions or hides_trampoline(functions)):
        return 'between'
    # The processor may copy the trampoline's address byte by byte. Its lowest byte, of the start of a page, comes first.
    if verdict == 'wrong' and 'arch_uretprobe_hijack_return_addr' in functions[:3] and chain[1].endswith('00'):
        return 'between'
    # It sets the stack pointer of its own call before the ip.
    if verdict == 'wrong' and functions[:1] == ['__x64_sys_uretprobe']:
        return 'between'
    return verdict


def verify_events(oracle, directory, name, least, kernel, lines):
    count = {event: collections.Counter() for event in least}
    entered = disagree = 0
    beginnings, bad = Beginnings(), []
    early = {event: set() for event in least}
    for event, pid, time, kernel_part, chain in samples(lines, 'chain', oracle.moved):
        event = max((e for e in least if event and event.startswith(e)), key=len, default=None)
        if not event:
            continue
        functions = kernel.functions(kernel_part)
        verdict, expected = oracle.judge(chain)
        verdict = excuse(verdict, chain, functions, 'defer' in name)
        if chain and beginnings.has(pid, time, verdict, chain[0]):
            verdict = 'early'
            early[event].add(chain[0])
        count[event][verdict] += 1
        if verdict in ('short', 'wrong'):
            bad.append((verdict, event, tuple(functions) + chain, expected))
        if verdict != 'unmerged' and functions and any('nanosleep' in f for f in (event, *functions)):
            entered += 1
            if not functions[-1].startswith(('entry_SYSCALL_64', 'el0t_64_sync')) or not behind_system_call(directory, chain[0]):
                disagree += 1
                bad.append(('disagreeing', event, tuple(functions) + chain, expected))
    for verdict, event, chain, expected in bad[:5]:
        print(f'{name}: {verdict} at {event}')
        print(f'    expected {" ".join(expected)}')
        print(f'    got      {" ".join(chain)}')
    for event, c in count.items():
        print(f'{name} {event}: ' + (', '.join(f'{v} {c[v]}' for v in ORDER if c[v]) or 'no samples'))
        yield f'{name} {event}: no wrong or short chain', not c['wrong'] and not c['short']
        yield f'{name} {event}: at least {least[event]} whole', c['whole'] >= least[event]
        yield (f'{name} {event}: at most {MAX_EARLY} places before the sections were scanned',
               len(early[event]) <= MAX_EARLY)
    # The shares are those of all events together: a single event has too few samples.
    c = sum(count.values(), collections.Counter())
    yield f'{name}: few outside or between', c['outside'] + c['between'] <= MAX_OUTSIDE * sum(c.values())
    yield f'{name}: few that perf could not merge', c['unmerged'] <= MAX_UNMERGED * sum(c.values())
    print(f'{name}: {entered} samples of the kernel asleep')
    yield f'{name}: kernel and user part agree', not disagree and entered >= MIN_ENTERED


def mutations(chain, end):
    """Wrong chains: a frame is lost, doubled, off by one or foreign; two are swapped; the end is cut off."""
    for i in range(1, end):
        yield chain[:i] + chain[i + 1:]
        yield chain[:i] + chain[i - 1:]
        yield chain[:i] + (chain[i] + '1',) + chain[i + 1:]
        yield chain[:i] + ('?+0x1',) + chain[i:]
        yield chain[:i]
        if i + 1 < end and chain[i] != chain[i + 1]:
            yield chain[:i] + (chain[i + 1], chain[i]) + chain[i + 2:]


def selftest(oracle):
    """Checks that each chain of the oracle passes, and that each damaged chain fails."""
    chains = [chain for chains in oracle.chains.values() for chain in chains]
    good = all(oracle.judge(chain)[0] in ('whole', 'gap-right') for chain in chains)
    damaged = missed = 0
    for chain in chains:
        known = oracle.first_uncovered(chain) + 1
        for mutant in mutations(chain, known):
            # Skip mutants that are true chains: one level less of a recursion is another chain.
            if any(mutant[:len(c)] == c[:oracle.libc_index(c)] or mutant == c for c in oracle.chains[chain[0]]):
                continue
            damaged += 1
            missed += oracle.judge(mutant)[0] not in ('wrong', 'short')
    print(f'verifier: {len(chains)} true chains, {damaged} damaged ones, {missed} of these not noticed')
    yield 'verifier: true chains pass', good and len(chains) > 500
    yield 'verifier: damaged chains fail', damaged > 10000 and not missed
    yield 'verifier: gdb agrees with the return addresses seen while stepping', not oracle.disputed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--name', default='chain')
    parser.add_argument('--selftest', action='store_true')
    parser.add_argument('--whole', type=int, default=MIN_WHOLE)
    parser.add_argument('--addresses', type=float, default=MIN_ADDRESSES)
    parser.add_argument('--setup', type=float, default=MIN_SETUP)
    parser.add_argument('--events')
    parser.add_argument('--kallsyms')
    parser.add_argument('--signals')
    parser.add_argument('directory', nargs='?')
    args = parser.parse_args()
    if not args.directory and not args.signals:
        parser.error('DIR or --signals is missing')
    oracle = Oracle(args.directory) if args.directory else None
    if args.signals:
        with open(args.signals) as lines:
            results = verify_signals(sys.stdin, Facts(lines), args.name)
    elif args.selftest:
        results = selftest(oracle)
    elif args.events:
        with open(args.events) as events:
            least = {event: int(n) for event, n in (line.split('=') for line in events)}
        results = verify_events(oracle, args.directory, args.name, least, Kernel(args.kallsyms), sys.stdin)
    else:
        results = verify(oracle, sys.stdin, args)
    tap = Tap()
    for what, holds in results:
        tap.case(what, () if holds else 'see above')
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
