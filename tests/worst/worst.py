#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile inputs of n and of 4n rows: no function of the program does more than LIMIT times as much work for the larger one.

    worst.py --program COUNTED_PROGRAM [--planted PROGRAM] [--verbose] [CASE...]

Work is counted, not timed: a build of its own (build_counted.py) counts each basic block that runs and what the C
library touches for it (work_count.c), so that the figures are the same on any machine. n log n stays below the limit, n
* n does not. What grows faster is tried again with 4n and 16n rows: a walk of at most so many steps has come to its
bound by then. The complaint names the function. KNOWN lists what is known to be worse; an entry that is not met any more
fails, too. Prints TAP.
"""
import argparse
import bisect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tap import Tap  # noqa: E402
from worst_cases import CASES  # noqa: E402

ROWS = 1000  # of the smallest input
GROWTH = 4
LIMIT = 6.0  # n log n from here on: below 5
WORTH = 25  # work for each row of the larger input, below which a function may do as it likes
RUN_LIMIT_S = 120
# Case: work for each row more, where a little that is done for each could be far too much.
MOST = {
    "a_layout_per_event": 15000,
    "empty_gzip_members": 2000,
    "members_that_stand_twice": 9000,
    "more_members_than_are_told_apart": 65000,
    "paths_of_windows_as_they_are": 40000,
}
# (case, function): why it may be worse than the limit
KNOWN = {}
# More ways to ask about a case than by writing all reports.
QUESTIONS = {
    "a_name_per_row": ["--table kernels --where name!=x --sort name --limit 0",
                       "--table operators --sort dur_us --limit 0 --format csv",
                       "--baseline trace --fail-on steps.p50_us>+5%", "--redact --summary-tokens 400"],
    "many_steps_of_everything": ["--around row:9 --limit 0", "--baseline trace --top-n 0", "--phase forward",
                                 "--redact --html-out out.html",
                                 "--table launches --where step>1 --limit 0"],
    "all_rows_nested": ["--around row:9 --limit 0"],
    "rows_below_frames_of_long_names": ["--table kernels --limit 0 --format json", "--baseline trace --top-n 0"],
    "freed_in_reverse": ["--table allocations --sort bytes --limit 0"],
    "segments_of_all_but_one_size": ["--baseline snapshot --top-n 0"],
}


class Functions:
    """The functions of a program by address."""

    def __init__(self, program):
        lines = subprocess.run(["nm", "-n", program], capture_output=True, text=True, check=True).stdout.splitlines()
        symbols = [line.split() for line in lines if re.fullmatch(r"[0-9a-f]+ \w .*", line)]
        start = next(int(address, 16) for address, _, name in symbols if name == "__executable_start")
        known = [(int(address, 16) - start, name) for address, kind, name in symbols if kind in "tT"]
        self.offsets, self.names = [offset for offset, _ in known], [name.partition(".")[0] for _, name in known]
        self.found = {}  # name by offset: all runs pass the same places, tens of thousands each

    def name_at(self, offset):
        if offset not in self.found:
            self.found[offset] = self.names[bisect.bisect_right(self.offsets, int(offset) - 1) - 1]
        return self.found[offset]

    def work(self, path):
        """By function, of one run."""
        work = Counter()
        numbers = path.read_text(encoding="ascii").split()
        for name, count in zip(map(self.name_at, numbers[::2]), map(int, numbers[1::2])):
            work[name] += count
        return work


def count(command, functions, folder):
    path = folder / "work"
    done = subprocess.run(command, cwd=folder, env={**os.environ, "AP_WORK_OUT": str(path), "LC_ALL": "C"},
                          stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=RUN_LIMIT_S, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[:400]}")
    return functions.work(path)


REPORTS = "--top-n 0 --md-out out.md --json-out out.json --html-out out.html"


def analyze(program, functions, documents, question=""):
    """The answer to a question; without one, every report."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--quiet", "--threads", "1", "--no-sandbox"]
        for name, option, more, document in zip(("trace", "snapshot"), ("--cpu-trace", "--memory-json"),
                                                ("--trace-out out.trace", "--folded-out out.folded"), documents):
            if isinstance(document, list):
                (Path(folder) / "ranks").mkdir()
                for rank, one in enumerate(document):
                    (Path(folder) / "ranks" / f"rank{rank}.json").write_text(json.dumps(one))
                command += ["ranks", "--jobs", "1"]
            elif document is not None:
                (Path(folder) / name).write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
                command += [option, name] + ([] if question else more.split())
        return count(command + (question or REPORTS).split(), functions, Path(folder))


def grown(small, large, rows):
    """What grew too much, by function: (before, after)."""
    return {name: (small[name], large[name]) for name in large
            if large[name] > WORTH * rows and large[name] > LIMIT * small[name]}


def compare(work_of):
    """What grows too much however many rows there are. @work_of: a function of the number of rows."""
    small, large = work_of(ROWS), work_of(ROWS * GROWTH)
    suspects = grown(small, large, ROWS * GROWTH)
    if suspects:
        huge = grown(large, work_of(ROWS * GROWTH**2), ROWS * GROWTH**2)
        suspects = {name: counts for name, counts in huge.items() if name in suspects}
    return suspects, small.total(), large.total()


def check_case(program, functions, name, question):
    """(complaints, a line about the whole)"""
    try:
        worse, before, after = compare(lambda rows: analyze(program, functions, CASES[name](rows), question))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [str(error)], ""
    met = {function for function in worse if (name, function) in KNOWN}
    said = [f"{function}: {few} for {ROWS * GROWTH} rows, {many} for {ROWS * GROWTH**2}: {many / max(few, 1):.1f} times"
            for function, (few, many) in sorted(worse.items(), key=lambda item: -item[1][1]) if function not in met]
    said += [f"{function} is in KNOWN and no longer worse" for case, function in KNOWN if case == name
             and function not in met]
    each = (after - before) / (ROWS * GROWTH - ROWS)
    if each > MOST.get(name, each):
        said.append(f"{each:.0f} for each row more, {MOST[name]} are allowed")
    return said, f"{after / (ROWS * GROWTH):.0f} for each row, {each:.0f} for each more, {after / before:.2f} times the work"


def check_planted(tap, planted):
    """The instrument itself, on a program that does too much in two functions, as much as it may in others."""
    functions = Functions(planted)
    with tempfile.TemporaryDirectory() as folder:
        worse, _, _ = compare(lambda rows: count([planted, str(rows)], functions, Path(folder)))
    tap.same(sorted(worse), ["quadratic", "quadratic_in_memmove"],
             "of planted functions those that do too much are found, no other")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--planted", type=Path)
    parser.add_argument("--verbose", action="store_true", help="tell the work of each case")
    parser.add_argument("cases", nargs="*", metavar="CASE", default=list(CASES))
    arguments = parser.parse_args()
    tap, program = Tap(), arguments.program.resolve()
    if arguments.planted:
        check_planted(tap, arguments.planted.resolve())
    functions = Functions(program)
    runs = [(name, question) for name in arguments.cases for question in ["", *QUESTIONS.get(name, [])]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda run: check_case(program, functions, *run), runs)
        for (name, question), (said, about) in zip(runs, answers):
            tap.check(f"{name}{question and ' ' + question}: {GROWTH} times the rows, at most {LIMIT:g} times the work",
                      said)
            if arguments.verbose:
                print(f"#   {about}", flush=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
