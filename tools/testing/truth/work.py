# SPDX-License-Identifier: GPL-2.0-or-later
"""Work for python3: generators, exceptions, regular expressions, JSON, a thread."""
import json
import re
import threading


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fail(depth):
    if not depth:
        raise KeyError("bottom")
    fail(depth - 1)


class Work(threading.Thread):
    def run(self):
        self.result = sorted({"a%d" % (i * 7 % 11) for i in range(40)}, key=lambda s: s[::-1])


thread = Work()
thread.start()
thread.join()
try:
    fail(5)
except KeyError as e:
    caught = repr(e)
text = json.dumps({"fib": [fib(i) for i in range(10)], "sorted": thread.result, "caught": caught})
print(re.sub(r"(\d)(\d)", r"\2\1", text))
