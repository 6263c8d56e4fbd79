# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a Python suite, as TAP: case() and skip() print one each, end() prints the plan."""

import sys


class Tap:
    def __init__(self):
        self.cases = self.failed = 0

    def case(self, name, problems=()):
        """Report a case, which has passed if there are no problems: a text, or some."""
        problems = [problems] if isinstance(problems, str) and problems else list(problems)
        self.cases += 1
        self.failed += bool(problems)
        print(f"{'not ' if problems else ''}ok {self.cases} - {name}")
        for problem in problems[:10]:
            print(*(f"# {line}" for line in str(problem).splitlines()), sep="\n")
        sys.stdout.flush()
        return not problems

    def skip(self, name, reason):
        self.cases += 1
        print(f"ok {self.cases} - {name} # SKIP {reason}", flush=True)

    def subtest(self, name, output, status=0):
        """Report a case for all cases in the output of a program that prints TAP and has ended with that status."""
        print(f"# Subtest: {name}", *(f"    {line}" for line in output.splitlines()), sep="\n")
        return self.case(name, [f"status {status}"] if status else [])

    def end(self):
        """Print the plan. Return the exit status: 1 if a case has failed, or there was none."""
        print(f"1..{self.cases}", flush=True)
        return int(self.failed > 0 or not self.cases)
