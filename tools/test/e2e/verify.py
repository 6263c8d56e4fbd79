#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Are the chains that perf recorded of ./chain the ones that gdb found?

perf script -F comm,pid,tid,time,event,ip --show-mmap-events | verify.py [--name NAME] [--whole N] ... DIR
... | verify.py --name NAME --events FILE --kallsyms FILE DIR
verify.py --selftest DIR
perf script --no-inline -F comm,tid,ip,sym,dso | verify.py --name NAME --signals FACTS

With --events samples are judged that are not spread over the turn but taken at something that happens in it: for each
line EVENT=LEAST so many whole ones, and next to none outside. The kernel's part of a sample, if it sleeps, must begin at
the system call's entry, and the user's part after a system call instruction. --kallsyms is the kernel's.

DIR holds `oracle` (oracle.py) and a `*.sframe` (readelf --sframe) for each object with SFrame data. Of arm64 also a
`*.plt`: where its PLT slots are, in which the link register stands for the data that linkers do not write. From
these alone, so not from our decoder, follows what each sample must look like:

  whole      the exact chain from the sampled address to main and its caller in libc
  gap        an address on the way has no SFrame data: exact up to there. The frame pointer may have found the rest
             of the true chain (right), or the chain ends on the way (short); any other frame is wrong
  early      short, and among a process's first samples: its sections were not scanned yet
  outside    the sampled address is no part of the turn (start-up code, libc)
  between    sampled where the kernel sets a uretprobe or takes it away, and keeps the return address only in a variable, or
             tries one that longjmp() left: the stack does not hold the true return address
  unmerged   sampled while the deferred stack it belongs to was being delivered: perf finds none for it
  short      ends before main although all is covered: an error
  wrong      anything else: an error

`between` and `unmerged` are samples that interrupt the kernel. Recording user mode only would avoid them, but it would
also avoid every stack at a tracepoint, at a probe and in a system call, which these recordings are for.
"""
import argparse
import bisect
import collections
import glob
import os
import re
import sys

EARLY = 0.2                 # seconds of a process in which its sections may not be known yet
MAX_EARLY = 5               # places at which samples may be short for that; while the module scans, the place stays
MIN_WHOLE = 1000            # samples; with V1 and V2 all below the first realigned function is a gap
MIN_ADDRESSES = 0.9         # share of the turn's addresses that were sampled
MAX_OUTSIDE = 0.05          # share of a recording's samples at events
# The end of handling a breakpoint may be called in place of returning to the first of them.
BETWEEN = {'uprobe_notify_resume', '__x64_sys_uretprobe', 'rcu_read_unlock_trace_special'}
# Functions that few others than uprobe_handle_trampoline() call.
CALLED_THERE = {'arch_uretprobe_is_alive', 'put_uprobe'}
MAX_UNMERGED = 0.15         # share of samples whose deferred stack perf did not find
MIN_IN_SLOTS = 10           # samples, where there are slots
MIN_ENTERED = 30            # samples with the kernel's and the user's part of a system call
# Of ./signals: how often a signal strikes at a place that must then be found, and some quarter of what there is of each.
OFTEN = 20
ENOUGH_SIGNALS = {'whole': 4000, 'signal': 400, 'nested': 250, 'on_other_stack': 300, 'no_frame': 40, 'no_call': 100,
                  'saves_registers': 200, 'in_vdso': 500, 'above_libc': 300, 'library_inner': 60, 'loaded': 50, 'met': 15}
MIN_SETUP = 0.5             # of the samples that prologues, epilogues and argument pushing get if all steps get as many


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


def samples(lines, comm):
    """(event, pid, time, kernel addresses, user chain as OBJECT+0xOFFSET) of each sample of COMM"""
    maps = collections.defaultdict(list)
    current = None

    def name(pid, address):
        for start, size, offset, path in reversed(maps[pid]):
            if start <= address < start + size:
                return f'{os.path.basename(path)}+{address - start + offset:#x}'
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


def verify(oracle, lines, args):
    name = args.name
    count = collections.Counter()
    begin, last_early, early = {}, 0, set()
    met, setup, in_slots, bad = set(), 0, 0, []
    for _, pid, time, _, chain in samples(lines, 'chain'):
        verdict, expected = oracle.judge(chain)
        begin.setdefault(pid, time)
        if verdict == 'short' and time < begin[pid] + EARLY:
            verdict = 'early'
            last_early = time - begin[pid]
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
            (f'{args.addresses:.0%} of the addresses met', len(met) >= args.addresses * len(oracle.chains)),
            (f'{args.setup:.0%} of their part in prologues and epilogues', share >= args.setup * oracle.setup_share)):
        yield f'{name}: {what}', holds


class Facts:
    """What ./signals itself and its kernel say, a line each: returns FUNCTION ADDRESS, trampoline ADDRESS,
    interrupted ADDRESS, loaded TIMES, and setup START END for each kernel function that sets up a handler"""

    def __init__(self, lines):
        self.known, self.returns, self.start, self.trampoline = set(), set(), set(), set()
        self.interrupted, self.setup, self.loaded = collections.Counter(), [], 0
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


Frame = collections.namedtuple('Frame', 'ip symbol object')


def signal_stacks(lines, comm):
    """(kernel's frames, user's frames) of each sample of COMM, in the text of perf script; a kernel address has 16 digits"""
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
    """Each frame must be followed by where its function returns to, by the program's own word: a handler's trampoline by
    where the kernel says that the signal struck. Of code without SFrame data, in which a stack may end, the symbols say
    who calls it: libc calls the vDSO, some functions call libc, one calls the vDSO. The frame that a thread's function
    returns to is the last that is judged: the stack is whole.

    A function that is called through a pointer, as by libc, may be the end after such code: the frame pointer's guess
    cannot be proved there.

    `between`: while the kernel sets up a handler or returns from it, it changes the registers one by one, so that for some
    instructions they are of neither frame. Of what a handler interrupts, the first frames may be right then: those for
    which the registers that have not changed yet suffice. The kernel's innermost function shows it; some are inlined. Sampling
    user mode only would avoid these samples, but lose all the others that interrupt the kernel: those in system calls,
    page faults and on the way back to a handler.
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
        if caller.symbol in self.facts.known:
            if in_vdso:
                return caller.symbol == 'calls_vdso'
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
                between = i == 0 and kernel or self.is_set_up(kernel)
                return 'between' if between else 'short', signals, kinds
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
        """How many there were of each verdict and kind, and up to four stacks of each bad verdict"""
        count, bad = collections.Counter(loaded=self.facts.loaded), []
        for kernel, user in stacks:
            verdict, signals, kinds = self.judge(kernel, user)
            count[verdict] += 1
            if verdict == 'whole':
                count.update(kinds)
                if signals:
                    count['signal' if signals == 1 else 'nested'] += 1
            if verdict in ('wrong', 'short') and count[verdict] <= 4:
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
    print('     ' + ', '.join(f'{what} {number}' for what, number in sorted(count.items())))
    few = [f'{kind}={least}' for kind, least in ENOUGH_SIGNALS.items() if count[kind] < least]
    if few:
        print(f'     too few: {" ".join(few)}')
    yield f'{name}: no wrong stack', not count['wrong']
    yield f'{name}: no stack ends in code with data', not count['short']
    yield f'{name}: one in 500 at most where a signal begins or ends', count['between'] * 500 <= count['whole']
    yield f'{name}: found wherever signals struck often', not count['missed']
    yield f'{name}: enough of each kind', not few


class Kernel:
    """Functions of the kernel the samples were taken in, from its /proc/kallsyms"""

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
    """In arm64's kernel stacks the innermost function may hide its caller, which is called by uprobe_notify_resume()."""
    return CALLED_THERE & set(functions[:1]) or (
        functions[1:2] == ['uprobe_notify_resume'] and functions[-1].startswith('el0t_64_sync'))


def excuse(verdict, chain, functions, deferred):
    # Instead of the stack there is a number then, in no mapping.
    if len(chain) == 1 and (any('unwind_deferred' in f for f in functions) or
                            deferred and chain[0].startswith('?')):
        return 'unmerged'
    # Not within a probe's handler: there all is in order.
    if any('dispatcher' in f for f in functions):
        return verdict
    if verdict in ('short', 'outside') and BETWEEN & set(functions):
        return 'between'
    if verdict in ('short', 'wrong') and ('uprobe_handle_trampoline' in functions or hides_trampoline(functions)):
        return 'between'
    return verdict


def verify_events(oracle, directory, name, least, kernel, lines):
    count = {event: collections.Counter() for event in least}
    entered = disagree = 0
    begin, bad = {}, []
    for event, pid, time, kernel_part, chain in samples(lines, 'chain'):
        event = max((e for e in least if event and event.startswith(e)), key=len, default=None)
        if not event:
            continue
        functions = kernel.functions(kernel_part)
        verdict, expected = oracle.judge(chain)
        verdict = excuse(verdict, chain, functions, 'defer' in name)
        begin.setdefault(pid, time)
        if verdict == 'short' and time < begin[pid] + EARLY:
            verdict = 'early'
        count[event][verdict] += 1
        if verdict in ('short', 'wrong'):
            bad.append((verdict, event, tuple(functions) + chain, expected))
        if functions and any('nanosleep' in f for f in (event, *functions)):
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
        yield f'{name} {event}: at most {MAX_EARLY} before the sections were scanned', c['early'] <= MAX_EARLY
    # Of all events, because there are some hundreds of one: chance would decide.
    c = sum(count.values(), collections.Counter())
    yield f'{name}: few outside or between', c['outside'] + c['between'] <= MAX_OUTSIDE * sum(c.values())
    yield f'{name}: few that perf could not merge', c['unmerged'] <= MAX_UNMERGED * sum(c.values())
    print(f'{name}: {entered} samples of the kernel asleep')
    yield f'{name}: kernel and user part agree', not disagree and entered >= MIN_ENTERED


def mutations(chain, end):
    """The ways to be wrong: a frame lost, doubled, off by one, foreign; two swapped; the end cut off."""
    for i in range(1, end):
        yield chain[:i] + chain[i + 1:]
        yield chain[:i] + chain[i - 1:]
        yield chain[:i] + (chain[i] + '1',) + chain[i + 1:]
        yield chain[:i] + ('?+0x1',) + chain[i:]
        yield chain[:i]
        if i + 1 < end and chain[i] != chain[i + 1]:
            yield chain[:i] + (chain[i + 1], chain[i]) + chain[i + 2:]


def selftest(oracle):
    """Each chain of the oracle passes, each damaged one does not."""
    chains = [chain for chains in oracle.chains.values() for chain in chains]
    good = all(oracle.judge(chain)[0] in ('whole', 'gap-right') for chain in chains)
    damaged = missed = 0
    for chain in chains:
        known = oracle.first_uncovered(chain) + 1
        for mutant in mutations(chain, known):
            # A recursion, one level less of it, is another true chain; a repeated one is its own swap.
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
    failed = 0
    for what, holds in results:
        print('ok  ' if holds else 'FAIL', what)
        failed += not holds
    return min(failed, 1)


if __name__ == '__main__':
    sys.exit(main())
