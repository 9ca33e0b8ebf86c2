#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trace summary with nothing but Python's json module.

    peer_python.py FILE.json[.gz]

Count, total and max by operator, sums by thread and the window of all spans: what a short script
does.  No self times, no sorting by thread, so it is asked for less than the program.
"""

import gzip
import json
import sys
from collections import defaultdict


def load(path):
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with (gzip.open if zipped else open)(path, "rb") as file:
        return json.load(file)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def summarize(events):
    ops = defaultdict(lambda: [0, 0, 0])
    threads = defaultdict(int)
    x_count, first_us, last_us = 0, None, None
    for event in events:
        if event.get("ph") != "X":
            continue
        x_count += 1
        ts_us, dur_us = event.get("ts"), event.get("dur")
        if not is_number(ts_us) or not is_number(dur_us):
            continue
        first_us = ts_us if first_us is None else min(first_us, ts_us)
        last_us = ts_us + dur_us if last_us is None else max(last_us, ts_us + dur_us)
        threads[(event.get("pid"), event.get("tid"))] += dur_us
        op = ops[event.get("name")]
        op[0] += 1
        op[1] += dur_us
        op[2] = max(op[2], dur_us)
    top = sorted(ops.items(), key=lambda item: -item[1][1])
    return x_count, top, threads, (first_us, last_us)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: peer_python.py FILE.json[.gz]")
    document = load(sys.argv[1])
    events = document if isinstance(document, list) else document["traceEvents"]
    x_count, top, threads, (first_us, last_us) = summarize(events)
    print(f"events {len(events)}\nx_rows {x_count}\nnames {len(top)}\nthreads {len(threads)}")
    print(f"total_dur_us {sum(op[1] for _, op in top):.3f}")
    print(f"window_us {last_us - first_us if top else 0:.3f}")


if __name__ == "__main__":
    main()
