#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The report is the same, byte by byte, however many threads read: whole files and cut ones, plain, compressed and through a
pipe, of many blocks and of fewer than there are threads.

    threads.py --program PROGRAM

Prints TAP."""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of, unpacked
from tap import Tap

LIMIT_S = 120
THREADS = ["1", "2", "3", "4", "8", "16"]
TRACES = ["training_step_cuda.json.gz", "python_stacks.json"]
WANTED_BYTES = 6 << 20  # blocks are of 256 KiB and more


def read_trace(name):
    return json.loads(unpacked(ROOT / "fixtures" / "traces" / name))


def grown(document, indent):
    """The same rows again and again, one after the other; their names differ now and then, so that blocks have new ones."""
    events = document["traceEvents"]
    timed = [event for event in events if event.get("ph") == "X" and "ts" in event]
    end = max(float(event["ts"]) + float(event.get("dur", 0)) for event in timed)
    span = end - min(float(event["ts"]) for event in timed) + 1
    copies = [json.dumps(event) for event in events]
    bytes_once = sum(map(len, copies))
    for turn in range(1, WANTED_BYTES // bytes_once + 1):
        for event in timed:
            again = dict(event, ts=round(float(event["ts"]) + turn * span, 3))
            if len(copies) % 1000 == 7:
                again["name"] = f"{again['name']} of turn {turn}"
            copies.append(json.dumps(again, indent=indent))
    rest = {key: value for key, value in document.items() if key != "traceEvents"}
    return (json.dumps(rest)[:-1] + (", " if rest else "") + '"traceEvents": [\n' + ",\n".join(copies) + "\n]}").encode()


def report_of(program, folder, data, threads, name):
    path = folder / name
    path.write_bytes(data)
    arguments = [program, "-" if name == "pipe" else name, "--format", "json", "--full", "--threads", threads]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, timeout=LIMIT_S, check=False,
                          input=data if name == "pipe" else None)
    return done.returncode, done.stdout, done.stderr


def main():
    parser = parser_of(__doc__)
    options = parser.parse_args()
    program = options.program.resolve()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(TRACES):
            whole = grown(read_trace(name), 1 if number else None)
            middle = len(whole) // 2
            broken = whole[:middle] + b'"}]}"}]}"}]}' + whole[middle:]
            packed = gzip.compress(whole, 1)
            inputs = {"trace.json": whole, "cut.json": whole[:middle + 12345], "broken.json": broken, "pipe": whole,
                      "trace.json.gz": packed, "cut.json.gz": packed[:len(packed) // 2],
                      "small.json": json.dumps(read_trace(name)).encode()}
            for kind, data in inputs.items():
                want = report_of(program, Path(folder), data, THREADS[0], kind)
                others = [threads for threads in THREADS[1:]
                          if report_of(program, Path(folder), data, threads, kind) != want]
                tap.ok(not others and (want[0] == 0 or kind == "broken.json"),
                          f"{name} as {kind}, {len(data)} bytes: the same with {', '.join(THREADS[1:])} threads as with one",
                          f"exit {want[0]}; differs with {others}; {want[2][-300:]}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
