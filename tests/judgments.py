#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the program says of real files and of recorded jobs, against what an expert reads: judgments.py --program PROGRAM.

The readings lie beside the folder of traces (AP_TRACES): ../reference/judgments*.json; ../tools/score_judgments.py scores.
Where one of these is missing the test is skipped. The floors are a little below what was reached when they were set: a
change that loses more has to say why. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from program import parser_of
from tap import Tap

LIMIT_S = 500
# Readings, and the least percentage of the points that can be had.
FLOORS = {"judgments.json": 92.0, "judgments-jobs.json": 96.0}


def scored(program, score, readings, traces):
    """The scorer's own document, or what it said instead."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "score.json"
        done = subprocess.run([sys.executable, str(score), program, str(readings), str(traces), "--json", str(out)],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return json.loads(out.read_text(encoding="utf-8")) if out.exists() else done.stderr or done.stdout


def check(tap, program, score, readings, traces):
    result = scored(program, score, readings, traces)
    if not tap.ok(isinstance(result, dict), f"{readings.name} is scored", result):
        return
    cases, floor = result["cases"], FLOORS[readings.name]
    lost = [f"{case['id']}: {case['points']} points, says {case['first']}" for case in cases if case["points"] < 2]
    tap.check(f"{readings.name}: at least {floor} % of the points of {len(cases)} readings",
              [] if cases and result["percent"] >= floor else [f"{result['percent']} %", *lost])
    for key, claim in (("trap", "no trap stands first"), ("wrong_verdict", "no verdict is wrong"),
                       ("alarms", "no alarm on a healthy run")):
        tap.check(f"{readings.name}: {claim}", [f"{case['id']}: {case['first']} | {case['verdict']} | {case['alarms']}"
                                                for case in cases if case[key]])


def main():
    parser = parser_of(__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, help="AP_TRACES by default")
    options = parser.parse_args()
    traces = options.traces or (Path(os.environ["AP_TRACES"]) if os.environ.get("AP_TRACES") else None)
    tap = Tap()
    for name in FLOORS:
        beside = traces.resolve().parent if traces else None
        score, readings = (beside / "tools" / "score_judgments.py", beside / "reference" / name) if beside else (None, None)
        missing = "AP_TRACES, the folder of sample traces" if not beside else next(
            (str(path) for path in (traces, score, readings) if not path.exists()), None)
        if missing:
            tap.skip(f"{name}: the expert's readings", f"{missing} is not there")
        else:
            check(tap, options.program, score, readings, traces)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
