#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No report depends on how the C library sorts what compares equal.

    sorts.py --program PROGRAM [--all]

Each file is read with the library's qsort and with that of reversed_sort.c (AP_REVERSED_SORT), which orders equals the other
way round: the reports have to be the same bytes, so each comparison orders fully. --all takes all fixtures. Prints TAP.
"""
import os
import subprocess
import sys
from pathlib import Path

from program import LIMIT_S, ROOT, parser_of
from tap import Tap

FOLDERS = ["traces", "snapshots", "flight", "others", "cluster"]


def report(program, inputs, preload=""):
    """(exit code, the report, whether the other qsort was in use)"""
    done = subprocess.run([program, *inputs, "--full", "--format", "json"], capture_output=True, timeout=LIMIT_S,
                          check=False, stdin=subprocess.DEVNULL, env=dict(os.environ, LD_PRELOAD=preload))
    return done.returncode, done.stdout, b"reversed_sort" in done.stderr


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    tap, program, preload = Tap(), arguments.program.resolve(), os.environ.get("AP_REVERSED_SORT", "")
    if not preload:
        tap.skip("the same reports, whichever equal comes first", "sanitizers want to be loaded first")
        return tap.done()
    fixtures = ROOT / "fixtures"
    folders = [fixtures] if arguments.all else [fixtures / name for name in FOLDERS]
    files = sorted(path for folder in folders for path in folder.rglob("*")
                   if path.name.endswith((".json", ".json.gz", ".csv", ".pb.gz")))
    runs = [[path] for path in files] + [[folder] for folder in sorted((fixtures / "cluster").iterdir()) if folder.is_dir()]
    used, differing = 0, []
    for inputs in runs:
        plain, reversed_ = report(program, inputs), report(program, inputs, preload)
        used += reversed_[2]
        if plain[:2] != reversed_[:2]:
            differing.append(str(Path(inputs[0]).relative_to(fixtures)))
    tap.same(used > len(runs) // 4, True, f"the other qsort is in use, for {used} of them")
    tap.same(differing[:8], [], f"the same reports of {len(runs)} inputs, whichever equal comes first")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
