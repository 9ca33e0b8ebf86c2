#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what sandbox and limits cost: the program on one trace as it runs by default, with bounds for memory and time
beside the sandbox, and with none of them.

    safety_cost.py TRACE [--program build/src/cli/analyze_profile] [--runs 15]

The runs take turns. Prints medians of processor time and PASS where the bounds cost at most 3 %, which is the exit code.
On a shared machine some per cent either way are chance. Standard library only.
"""
import argparse
import sys
import tempfile

sys.dont_write_bytecode = True
import measured_run  # noqa: E402

MOST_RATIO = 1.03
WAYS = {"safe": ["--max-memory", "8G", "--max-seconds", "3600"], "bare": ["--no-sandbox"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--program", default="build/src/cli/analyze_profile")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    measured_run.warm(options.trace)
    outputs = ["--md-out", "/dev/null", "--json-out", "/dev/null"]
    contenders = {label: [options.program, "--quiet", *more, options.trace, *outputs] for label, more in WAYS.items()}
    with tempfile.TemporaryDirectory() as logs:
        results = measured_run.run_interleaved(contenders, options.runs, logs, lambda *_: None)
    safe_s, bare_s = (results[label].median_cpu_s() for label in ("safe", "bare"))
    passed = safe_s <= MOST_RATIO * bare_s
    print(f"{safe_s:.3f} s with sandbox and limits, {bare_s:.3f} s without: {100 * (safe_s / bare_s - 1):+.1f} %, "
          f"at most +3 %: {'PASS' if passed else 'MISS'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
