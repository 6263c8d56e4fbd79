#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of verify.py, mostly of SignalJudge: made-up stacks, and the expected verdict on each."""
import unittest

import verify

FACTS = '''returns main 1000
returns thread 2000
returns worker 2100
returns leaf 2200
returns calls_libc 2300
returns calls_vdso 2400
trampoline 9000
interrupted 2250
setup ffffffff81000000 ffffffff81000100
loaded 7
'''

SET_UP = 'ffffffff81000010 handle_signal ([kernel.kallsyms])'
ELSEWHERE = 'ffffffff81000100 do_futex ([kernel.kallsyms])'
LEAF, WORKER, THREAD, START = '2050 leaf /p', '2200 worker /p', '2100 thread /p', '2000 start_thread /l/libc.so.6'
TRAMPOLINE, STRUCK = '9000 __restore_rt /p', '2250 leaf /p'
VDSO = '7000 clock_gettime ([vdso])'
LIBC = '8000 qsort /l/libc.so.6'

# Name of the case, frames from the innermost outwards, verdict
STACKS = (
    ('whole to the start', (LEAF, WORKER, THREAD, START), 'whole'),
    ('whole from the kernel', (ELSEWHERE, LEAF, WORKER, THREAD, START), 'whole'),
    ('frames after the start do not matter', (LEAF, WORKER, THREAD, START, '1 other /p'), 'whole'),
    ('one signal', ('2050 leaf /p', '2200 leaf /p', '2200 worker /p', THREAD, START), 'whole'),
    ('a frame is lost', (LEAF, THREAD, START), 'wrong'),
    ('a frame is doubled', (LEAF, WORKER, WORKER, THREAD, START), 'wrong'),
    ('a return address is off by one', (LEAF, '2201 worker /p', THREAD, START), 'wrong'),
    ('wrong while a handler is set up', (SET_UP, LEAF, THREAD, START), 'between'),
    ('wrong elsewhere in the kernel', (ELSEWHERE, LEAF, THREAD, START), 'wrong'),
    ('the set-up is not the innermost function', (ELSEWHERE, SET_UP, LEAF, THREAD, START), 'wrong'),
    ('ends in code with data', (LEAF, WORKER), 'short'),
    ('ends at once, in user mode', (LEAF,), 'short'),
    ('ends at once, in the kernel', (ELSEWHERE, LEAF), 'between'),
    ('ends later, in the kernel', (ELSEWHERE, LEAF, WORKER), 'short'),
    ('ends while a handler is set up', (SET_UP, LEAF, WORKER), 'between'),
    ('ends in code without data', (LIBC,), 'nodata'),
    ('ends one frame after code without data', (LIBC, '2300 calls_libc /p'), 'nodata'),
    ('vDSO with its caller', (VDSO, '2400 calls_vdso /p', '2400 thread /p', START), 'whole'),
    ('vDSO with another caller', (VDSO, '2400 worker /p', THREAD, START), 'wrong'),
    ('vDSO called by libc', (VDSO, LIBC), 'nodata'),
    ('vDSO called by nobody', (VDSO, '7777 other /p', THREAD), 'wrong'),
    ('vDSO called by itself', ('7050 [unknown] ([vdso])', VDSO, '2400 calls_vdso /p', '2400 thread /p', START), 'whole'),
    ('vDSO with a frame doubled', (VDSO, VDSO, '2400 calls_vdso /p', '2400 thread /p', START), 'wrong'),
    ('libc called by who may', (LIBC, '2300 calls_libc /p', '2300 thread /p', START), 'whole'),
    ('libc called by who may not', (LIBC, '2300 leaf /p', THREAD, START), 'wrong'),
    ('a function that does not return to a trampoline', (LEAF, TRAMPOLINE, STRUCK, WORKER, THREAD, START), 'wrong'),
    ('a signal from its handler', (TRAMPOLINE, STRUCK, WORKER, THREAD, START), 'whole'),
    ('a signal elsewhere', (TRAMPOLINE, LEAF, WORKER, THREAD, START), 'wrong'),
    ('ends at the trampoline', (TRAMPOLINE,), 'short'),
    ('a number in no mapping', ('5 [unknown] ([unknown])',), 'unknown'),
)
# Names of the case, verdict before, kernel functions, second frame, verdict after
PROBED = (
    ('a mix of two addresses', 'wrong', ('_copy_to_user', 'arch_uretprobe_hijack_return_addr'), 'p+0x1200', 'between'),
    ('the same by a function of its own', 'wrong', ('rep_movs_alternative', '_copy_to_user', 'arch_uretprobe_hijack_return_addr'),
     'p+0x1200', 'between'),
    ('another address', 'wrong', ('_copy_to_user', 'arch_uretprobe_hijack_return_addr'), 'p+0x1201', 'wrong'),
    ('elsewhere', 'wrong', ('_copy_to_user', 'uprobe_notify_resume'), 'p+0x1200', 'wrong'),
)
# More return addresses than in FACTS, for functions with several callers.
MORE_FACTS = 'returns leaf 2200\nreturns calls_vdso 2400\nreturns calls_libc 2300\nreturns worker 2100\n'


def script(frames, comm='signals'):
    """A sample as perf script prints it"""
    return f'{comm}  12\n' + ''.join(f'\t{frame.split()[0]:>16} {frame.split(None, 1)[1]}\n' for frame in frames) + '\n'


def facts():
    return verify.Facts((FACTS + MORE_FACTS).splitlines())


def judged(text):
    return verify.SignalJudge(facts()).count(verify.signal_stacks(text.splitlines(True), 'signals'))[0]


class Samples(unittest.TestCase):
    MAPPING = 'chain 1/1 1.0: PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0x800 00:00 0 0]: r-xp /tmp/chain\n'

    def chains(self, text, moved=()):
        return [chain for *_, chain in verify.samples(text.splitlines(True), 'chain', dict(moved))]

    def test_offsets(self):
        text = f'{self.MAPPING}chain 1/1 1.0: clock:\n\t 1010\n\t 9000\n\n'
        self.assertEqual(self.chains(text), [('chain+0x810', '?+0x9000')])
        self.assertEqual(self.chains(text, {'chain': 0x1000}), [('chain+0x1810', '?+0x9000')])

    def test_frame_that_is_more_than_an_address(self):
        with self.assertRaises(ValueError):
            self.chains('chain 1/1 1.0: clock:\n\t 1010\n\t 1014 (inlined)\n\n')

    def test_sample_without_frames(self):
        self.assertEqual(self.chains('chain 1/1 1.0: clock:\n\n'), [()])


class Signals(unittest.TestCase):
    def test_verdicts(self):
        for what, frames, verdict in STACKS:
            with self.subTest(what):
                count = judged(script(frames))
                self.assertEqual({v: count[v] for v in VERDICTS if count[v]}, {verdict: 1})

    def test_other_programs_are_ignored(self):
        self.assertEqual(judged(script((LEAF,), 'other')), {'loaded': 7})

    def test_sample_without_user_frames(self):
        self.assertEqual(judged(script((ELSEWHERE,))), {'loaded': 7})

    def test_kinds_are_counted_of_whole_stacks_only(self):
        count = judged(script((VDSO, '2400 calls_vdso /p', '2400 thread /p', START)) + script((VDSO, '2400 worker /p')))
        self.assertEqual((count['in_vdso'], count['calls_vdso'], count['worker']), (1, 1, 0))

    def test_signals_are_counted(self):
        # The second signal interrupts the handler at 2250, which FACTS list as interrupted.
        once = (TRAMPOLINE, STRUCK, WORKER, THREAD, START)
        twice = ('2250 leaf /p', '9000 __restore_rt /p', STRUCK, WORKER, THREAD, START)
        more = verify.Facts((FACTS + 'returns leaf 9000\n').splitlines())
        text = script(once) + script((TRAMPOLINE, *twice))
        count, _ = verify.SignalJudge(more).count(verify.signal_stacks(text.splitlines(True), 'signals'))
        self.assertEqual((count['whole'], count['signal'], count['nested']), (2, 1, 1))

    def test_late_by_lost_scans(self):
        text = script(('2050 library_inner /p',))
        more = 'returns library_inner 2100\nreturns thread 2000\n'
        for lost, samples, verdict, holds in (0, 1, 'short', True), (1, 12, 'late', True), (1, 13, 'late', False):
            with self.subTest(lost=lost, samples=samples):
                lines, known = (text * samples).splitlines(True), verify.Facts((FACTS + more + f'lost {lost}').splitlines())
                count, _ = verify.SignalJudge(known).count(verify.signal_stacks(lines, 'signals'))
                self.assertEqual(count[verdict], samples)
                results = dict(verify.verify_signals(lines, known, 'x'))
                self.assertEqual(results['x: only lost scans make samples late'], holds)
                self.assertEqual(results['x: no stack ends in code with data'], verdict != 'short')

    def test_late_in_new_code_only(self):
        lost = verify.Facts((FACTS + 'returns library_inner 2100\nlost 1\n').splitlines())
        for frames in (LEAF,), ('2050 library_inner /p', '2100 library_inner /p'):
            count, _ = verify.SignalJudge(lost).count(verify.signal_stacks(script(frames).splitlines(True), 'signals'))
            self.assertEqual((count['short'], count['late']), (1, 0))

    def test_places_struck_often_must_be_met(self):
        often = verify.Facts((FACTS + 'interrupted 2250\n' * verify.OFTEN).splitlines())
        judge = verify.SignalJudge(often)
        self.assertEqual(judge.count([])[0]['missed'], 1)
        text = script((TRAMPOLINE, STRUCK, WORKER, THREAD, START))
        count, _ = judge.count(verify.signal_stacks(text.splitlines(True), 'signals'))
        self.assertEqual((count['met'], count['missed']), (1, 0))

    def test_nothing_recorded_fails(self):
        results = dict(verify.verify_signals([], facts(), 'none'))
        self.assertFalse(results['none: enough of each kind'])


class Beginnings(unittest.TestCase):
    def test_one_place_until_the_scan_has_ended(self):
        beginnings = verify.Beginnings()
        for time, verdict, place, early in (
                (1.0, 'short', 'a', True),
                (1.1, 'short', 'b', True),
                (1.3, 'short', 'b', True),
                (1.4, 'short', 'c', False),
                (1.5, 'short', 'c', False)):
            with self.subTest(time):
                self.assertEqual(beginnings.has(1, time, verdict, place), early)

    def test_a_whole_stack_ends_it(self):
        beginnings = verify.Beginnings()
        self.assertTrue(beginnings.has(1, 1.0, 'short', 'a'))
        self.assertFalse(beginnings.has(1, 1.1, 'whole', 'a'))
        self.assertFalse(beginnings.has(1, 1.3, 'short', 'a'))
        self.assertTrue(beginnings.has(2, 1.3, 'short', 'a'))


class Probes(unittest.TestCase):
    def test_half_of_a_trampoline(self):
        for what, before, functions, caller, after in PROBED:
            with self.subTest(what):
                self.assertEqual(verify.excuse(before, ('p+0x1444', caller), functions, False), after)


VERDICTS = ('whole', 'nodata', 'between', 'short', 'wrong', 'unknown')

if __name__ == '__main__':
    unittest.main()
