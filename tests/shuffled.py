#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The events of a trace in another order: the same report, as all of them say when they happened.

    shuffled.py --program PROGRAM [--seed N]

Left out is what goes by the order: memory as its instants tell it, as those of one time have no other, which of equally long
rows is called the longest, and the order in which categories are met. Prints TAP."""

import json
import random
import sys
import tempfile
from pathlib import Path

from program import ROOT, Program, parser_of, unpacked
from tap import Tap

TRACES = ["training_step_cuda.json.gz", "sync_heavy.json", "copy_heavy.json", "rocm.json", "python_stacks.json",
          "cpu_only_gloo.json", "compact_one_line.json", "epoch_ns_digits.json", "mtia.json", "kineto_2021.json"]
BY_ORDER = {"trace_memory", "longest", "categories", "row_id", "row", "first_byte_offset"}


def read_trace(name):
    return json.loads(unpacked(ROOT / "fixtures" / "traces" / name))


def without_order(value):
    if isinstance(value, dict):
        return {key: without_order(member) for key, member in value.items() if key not in BY_ORDER}
    return [without_order(item) for item in value] if isinstance(value, list) else value


def differences(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other)):
            yield from differences(*pair, f"{path}[{number}]")
    elif one != other:
        yield f"{path}: {str(one)[:80]} and {str(other)[:80]}"


def report_of(program, document, folder):
    path = folder / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return without_order(Program(program).json(path.name, cwd=folder))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tap, program, chance = Tap(), arguments.program.resolve(), random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        for name in TRACES:
            document = read_trace(name)
            before = report_of(program, document, Path(folder))
            chance.shuffle(document["traceEvents"])
            after = report_of(program, document, Path(folder))
            tap.same(list(differences(before, after))[:8], [], f"{name}: the same report in another order")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
