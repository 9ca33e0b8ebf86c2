#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the program on runs of many ranks: time on one core and on two, time and memory for a thousand ranks, merging.

    many_ranks_bench.py --program build/src/cli/analyze_profile [--only sixteen,thousand,merge,hta] [--work FOLDER]

Inputs are made by tools/make_cluster once, in --work (about 4 GB). Prints a row for each goal with PASS or MISS; exit code 0
where all are met. Standard library only; peak memory is that of the process, as wait4 tells it.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import measured_run  # noqa: E402

HERE = Path(__file__).resolve().parent
MAKER = HERE.parent / "make_cluster"
CASES = ("sixteen", "thousand", "merge", "hta")
GIB = 1 << 30


class Bench:
    def __init__(self, options):
        self.options, self.failed = options, 0
        self.work = Path(options.work)
        self.logs = self.work / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def made(self, name, *arguments):
        """A folder of traces, made where it is not there yet."""
        folder = self.work / name
        if not (folder / "truth.json").exists():
            print(f"making {name}", file=sys.stderr)
            subprocess.run([sys.executable, MAKER, "traces", folder, *map(str, arguments), "--jobs", str(os.cpu_count())],
                           check=True, stdout=sys.stderr)
        return folder

    def program(self, *arguments):
        return [self.options.program, "--quiet", *map(str, arguments), "--md-out", str(self.logs / "report.md"),
                "--json-out", str(self.logs / "report.json")]

    def run(self, contenders, runs=None):
        return measured_run.run_interleaved(contenders, runs or self.options.runs, str(self.logs), lambda *_: None)

    def judge(self, what, value, unit, sign, limit):
        passed = value >= limit if sign == ">=" else value <= limit
        self.failed += not passed
        print(f"| {what} | {value:.2f} {unit} | {sign} {limit:g} {unit} | {'PASS' if passed else 'MISS'} |", flush=True)


def warm(folder):
    for path in sorted(folder.iterdir()):
        measured_run.warm(path)


def sixteen(bench):
    return bench.made("sixteen", "--ranks", 16, "--layers", 128, "--steps", 15, "--cause", "host-stall",
                      "--strength", 30000, "--plain")


def case_sixteen(bench):
    """Sixteen traces of 60 MB: two cores against one."""
    folder = sixteen(bench)
    warm(folder)
    found = bench.run({"one core": ["taskset", "-c", "0", *bench.program(folder, "--jobs", 1)],
                       "two cores": ["taskset", "-c", "0,1", *bench.program(folder, "--jobs", 2)]})
    for label, samples in found.items():
        print(f"| 16 traces of 60 MB, {label} | {samples.median_wall_s():.2f} s, {samples.peak_bytes() / 1e6:.0f} MB | | |")
    bench.judge("two cores are faster by", found["one core"].median_wall_s() / found["two cores"].median_wall_s(), "times",
                ">=", 1.8)


def case_thousand(bench):
    """1,024 ranks of 2 MB on two cores."""
    folder = bench.made("thousand", "--ranks", 1024, "--topology", "tpdp", "--tensor", 8, "--layers", 11, "--steps", 5,
                        "--cause", "host-stall", "--offset", 500, "--plain")
    warm(folder)
    found = bench.run({"thousand": ["taskset", "-c", "0,1", *bench.program(folder, "--jobs", 2)]}, 2)["thousand"]
    bench.judge("1,024 ranks of 2 MB", found.median_wall_s(), "s", "<=", 60)
    bench.judge("1,024 ranks of 2 MB, peak", found.peak_bytes() / 1e6, "MB", "<=", 600)


def case_merge(bench):
    """10,000 summaries, each of one rank."""
    summaries = bench.work / "summaries"
    if not (summaries / "complete").exists():
        make_summaries(bench, summaries)
    files = sorted(str(path) for path in summaries.glob("*.json"))
    list_file = [bench.options.program, "--quiet", "--merge", *files, "--md-out", str(bench.logs / "report.md"),
                 "--json-out", str(bench.logs / "report.json")]
    found = bench.run({"merge": list_file}, 2)["merge"]
    bench.judge(f"{len(files):,} summaries merged", found.median_wall_s(), "s", "<=", 10)
    bench.judge(f"{len(files):,} summaries merged, peak", found.peak_bytes() / 1e6, "MB", "<=", 300)


def make_summaries(bench, summaries):
    """Of ten thousand ranks, made and read a block at a time would need all at once: so all are made, small."""
    summaries.mkdir(exist_ok=True)
    folder = bench.made("ten_thousand", "--ranks", 10000, "--per-host", 8, "--topology", "tpdp", "--tensor", 8,
                        "--layers", 1, "--steps", 3, "--cause", "host-stall", "--offset", 500, "--plain")
    print("making summaries", file=sys.stderr)
    for rank in range(10000):
        subprocess.run([bench.options.program, "--quiet", "--cpu-trace", folder / f"rank{rank}.pt.trace.json",
                        "--summary-out", summaries / f"rank{rank}.json", "--md-out", os.devnull], check=True)
    (summaries / "complete").touch()


def case_hta(bench):
    """HolisticTraceAnalysis on eight of the sixteen traces, compressed or not as it finds them; said, not judged."""
    if not bench.options.hta_python:
        print("| HolisticTraceAnalysis | not given (--hta-python) | | SKIPPED |")
        return
    source = sixteen(bench)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        for rank in range(8):
            os.symlink(source / f"rank{rank}.pt.trace.json", Path(folder) / f"rank{rank}.pt.trace.json")
        found = bench.run({"HTA": [bench.options.hta_python, str(HERE / "peer_hta.py"), folder],
                           "program": bench.program(folder)}, 1)
    for label, samples in found.items():
        print(f"| 8 traces of 60 MB, {label} | {samples.median_wall_s():.1f} s, {samples.peak_bytes() / 1e6:.0f} MB | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the analyze_profile to measure")
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "ap_bench_ranks"),
                        help="folder for inputs and logs")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each contender")
    parser.add_argument("--hta-python", help="a Python that has HolisticTraceAnalysis")
    options = parser.parse_args()
    bench = Bench(options)
    print("| what | measured | goal | |\n|---|---:|---:|---|")
    for name in options.only.split(","):
        if name not in CASES:
            parser.error("there is no case " + name)
        globals()["case_" + name](bench)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
