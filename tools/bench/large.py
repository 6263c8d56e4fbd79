# SPDX-License-Identifier: GPL-2.0-or-later
"""Work for gdb's Python, for `run large`: deep and varied calls of the interpreter."""

import json
import re


def tree(depth):
    return {"depth": depth, "text": f"node {depth}" * 3, "nodes": [tree(depth - 1) for _ in range(3)] if depth else []}


def count(node):
    return len(re.findall(r"no(d)e \d+", node["text"])) + sum(map(count, sorted(node["nodes"], key=lambda n: n["text"])))


for turn in range(6):
    print(count(json.loads(json.dumps(tree(8)))))
