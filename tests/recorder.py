#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that record themselves, run, and the report on what they wrote: recorder.py --program P --example E
[--recorded-run R]

The example of references/guide/recorder.md (E) and every run of tools/scenarios (R, with each cause planted and without)
write traces and snapshots that the program reads with --strict and without a warning; their steps are found, and what they
planted is not judged here, since times vary. Prints TAP."""
import json
import subprocess
import tempfile
from pathlib import Path

from program import parser_of
from tap import Tap

RUNS = [(prefix + cause, steps, with_snapshot) for cause, steps, with_snapshot in (
    ("slow-input", 8, False), ("sync-per-item", 6, False), ("results-leak", 24, True), ("write-each-step", 8, False),
    ("uneven-threads", 6, False), ("slow-rank", 8, False)) for prefix in ("", "none-")]


def report_on(program, folder, snapshot):
    """(report, complaint)"""
    inputs = ["--cpu-trace", folder / "trace.json"] + (["--memory-json", folder / snapshot] if snapshot else [])
    done = subprocess.run([program, "--strict", "--quiet", *inputs, "--md-out", folder / "r.md", "--json-out",
                           folder / "r.json"],
                          capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return None, done.stderr
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    return report, f"warnings: {report['warnings']}" if report["warnings"] else ""


def complaint_about(program, command, steps, snapshot, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr}"
    report, complaint = report_on(program, folder, snapshot)
    if complaint:
        return complaint
    found = report["steps"] and report["steps"]["count"]
    return "" if found == steps else f"{found} steps, expected {steps}"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--example", type=Path, required=True)
    parser.add_argument("--recorded-run", type=Path, help="without it the scenarios are not run")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    cases = [("the example of the guide", [arguments.example.resolve()], 100, "snapshot.json")]
    if arguments.recorded_run:
        cases += [(f"recorded_run {run}", [arguments.recorded_run.resolve(), run, "."], steps,
                   "snapshot.json" if with_snapshot else None) for run, steps, with_snapshot in RUNS]
    tap = Tap()
    for claim, command, steps, snapshot in cases:
        with tempfile.TemporaryDirectory() as folder:
            complaint = complaint_about(program, command, steps, snapshot, Path(folder))
        tap.ok(not complaint, f"{claim} records what the program reads without a warning", complaint)
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main())
