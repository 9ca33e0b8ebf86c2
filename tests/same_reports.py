#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two builds of the program give the same: same_reports.py --program ONE --other ANOTHER [FOLDER...].

For each file of the folders (without any: fixtures/) both write all reports, full, on one thread and on many; exit codes
and bytes are compared. The two may differ in the formats that they read: what only one was built for is left out and said.
Prints TAP.
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import LIMIT_S, ROOT, parser_of, settled
from tap import Tap

OUTPUTS = ("out.json", "out.md", "out.html")
WRITES = ["--full", "--json-out", OUTPUTS[0], "--md-out", OUTPUTS[1], "--html-out", OUTPUTS[2]]
ABSENT = (b"this program was built without",)


def run(program, path, threads):
    """(exit code, what it says, the reports)"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "--quiet", "--threads", str(threads), *WRITES, path], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        paths = [Path(folder) / name for name in OUTPUTS]
        return done.returncode, done.stderr, [settled(path.read_bytes()) if path.exists() else None for path in paths]


def compare(program, other, path):
    """(complaint, whether there was a report, whether one of them lacks the format)"""
    for threads in (1, 4):
        one, another = (run(which, path, threads) for which in (program, other))
        if any(word in said for word in ABSENT for said in (one[1], another[1])):
            return "", False, True
        if one != another:
            differing = [name for name, a, b in zip(OUTPUTS, one[2], another[2]) if a != b]
            return (f"{path}, {threads} threads: exit codes {one[0]} and {another[0]}, differing: {differing}\n"
                    f"{one[1].decode(errors='replace')}{another[1].decode(errors='replace')}"), True, False
    return "", one[2][0] is not None, False


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--other", type=Path, required=True)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "fixtures"])
    arguments = parser.parse_args()
    tap = Tap()
    program, other = arguments.program.resolve(), arguments.other.resolve()
    paths = sorted(path.resolve() for folder in arguments.folders for path in folder.rglob("*") if path.is_file())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda path: compare(program, other, path), paths))
    said = [complaint for complaint, _, _ in answers if complaint]
    reports, absent = (sum(answer[i] for answer in answers) for i in (1, 2))
    tap.ok(reports > 0, "there are reports to compare", f"{len(paths)} files")
    tap.check(f"{len(paths)} files, {reports} of them with reports, give the same with both builds", said)
    if absent:
        print(f"# {absent} files are of a format that one of the two was built without")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
