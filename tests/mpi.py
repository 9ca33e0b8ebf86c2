#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many processes under MPI: their report is that of the program alone, byte for byte. Prints TAP."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of
from tap import Tap

CLUSTER = ROOT / "fixtures" / "cluster"
LAUNCH = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--quiet"]


class Programs:
    def __init__(self, alone, mpi):
        self.program, self.mpi = alone, mpi
        # Open MPI's own way to run without a network, and without a shell on other machines.
        self.environment = {**os.environ, "OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm_rsh_agent": "false",
                            "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def alone(self, *arguments):
        return self.start([self.program, *arguments])

    def together(self, count, *arguments):
        return self.start([*LAUNCH, "-n", count, self.mpi, *arguments])

    def apart(self, first, second):
        """Two processes with a command line each."""
        return self.start([*LAUNCH, "-n", 1, self.mpi, *first, ":", "-n", 1, self.mpi, *second])

    def start(self, command):
        return subprocess.run([*map(str, command)], capture_output=True, timeout=200, check=False, env=self.environment)


def is_same(tap, programs, count, arguments, claim):
    alone = programs.alone("--quiet", *arguments)
    together = programs.together(count, "--quiet", *arguments)
    return tap.ok(alone.stdout == together.stdout and alone.returncode == together.returncode, claim,
                  f"{alone.returncode} {together.returncode}\n{together.stderr.decode(errors='replace')}")


def check_reports(tap, programs, folder):
    is_same(tap, programs, 2, [CLUSTER / "late-loader", "--format", "json"], "two processes report a run as one does")


def check_more_reports(tap, programs, folder):
    runs = ("late-loader", "healthy")
    for count in (2, 4):
        for run in runs:
            is_same(tap, programs, count, [CLUSTER / run, "--format", "json"], f"{count} processes report {run} as one does")
    is_same(tap, programs, 2, [CLUSTER / "late-pair", "--format", "md"], "as Markdown too")
    is_same(tap, programs, 4, [CLUSTER / "late-pair", "--summary-out", "-", "--md-out", folder / "ignored.md"],
            "and what is kept of the ranks is the same")
    is_same(tap, programs, 1, [CLUSTER / "late-pair", "--format", "json"], "one process has no helper")
    is_same(tap, programs, 2, [CLUSTER / "late-pair", "--format", "json", "--redact", "--redact-key", __file__],
            "names that a helper read are redacted")


def check_odd_files(tap, programs, folder):
    traces = sorted((CLUSTER / "late-loader").glob("*.gz"))
    for trace in traces[:3]:
        shutil.copy(trace, folder)
    is_same(tap, programs, 4, [folder, "--format", "json"], "a process without a file helps as well")
    whole = gzip.decompress(traces[3].read_bytes())
    (folder / "rank3.json").write_bytes(whole[: len(whole) // 2])
    (folder / "rank4.json.gz").write_bytes(traces[3].read_bytes()[:2000])
    (folder / "rank5.json").write_bytes(whole.replace(b'"ph"', b'"ph', 1))
    (folder / "notes.txt").write_text("not a trace")
    shutil.copy(traces[0], folder / "again.json.gz")
    for count in (2, 4):
        is_same(tap, programs, count, [folder, "--format", "json"],
                f"files that are cut, broken, given twice or no input are told alike by {count} processes")
    is_same(tap, programs, 2, [folder, "--format", "json", "--salvage"], "and saved alike")
    kept = [folder / f"kept{i}.json" for i in range(4)]
    for trace, path in zip(traces, kept):
        programs.alone("--quiet", trace, "--summary-out", path, "--md-out", folder / "ignored.md")
    is_same(tap, programs, 3, ["--merge", *kept, "--format", "json"], "summaries are merged alike")


def check_others(tap, programs, _):
    hangs = ROOT / "fixtures" / "flight"
    hang = next(path for path in sorted(hangs.iterdir()) if path.is_dir())
    is_same(tap, programs, 2, [hang, "--format", "json"], "dumps of a run that hangs are reported alike")
    is_same(tap, programs, 2, [ROOT / "fixtures" / "traces" / "gpu_only.json", "--format", "json"],
            "one trace is reported as by the program")
    is_same(tap, programs, 2, [CLUSTER / "late-loader", "--fail-on", "low", "--format", "json"],
            "a condition that holds ends with 1")


def write_large(folder):
    """Two small traces, and one whose names fill more memory than the program gets."""
    folder.mkdir()
    for rank in range(3):
        size = 7_000_000 if rank == 1 else 10
        events = [{"ph": "X", "cat": "cpu_op", "name": str(i) * size, "pid": 1, "tid": 1, "ts": i, "dur": 1}
                  for i in range(4)]
        (folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": events}))
    return folder


def write_empty(folder):
    folder.mkdir()
    return folder


def check_failures(tap, programs, folder):
    for arguments, code, claim in ((["--no-such-option"], 2, "a mistake in the command line"),
                                   ([folder / "none"], 3, "no such file"),
                                   ([write_empty(folder / "empty"), "--format", "json"], 3, "an empty folder"),
                                   ([CLUSTER / "late-loader", "--json-out", folder / "none" / "out.json"], 4,
                                    "an output that cannot be made"),
                                   ([write_large(folder / "large"), "--max-memory", "34M", "--format", "json"], 5,
                                    "no memory")):
        alone, together = programs.alone("--quiet", *arguments), programs.together(3, "--quiet", *arguments)
        tap.same((together.returncode, alone.returncode), (code, code), f"{claim} ends with {code}")
        said = together.stderr.count(b"analyze_profile: ")
        tap.ok(said == alone.stderr.count(b"analyze_profile: ") == 1, "and is said once", together.stderr.decode())
    run = [CLUSTER / "late-loader", "--quiet", "--format", "json"]
    done = programs.apart(run, ["--no-such-option"])
    files = json.loads(done.stdout)["cluster"]["files"] if done.stdout else []
    whys = [file["why_not"] for file in files if file["why_not"]]
    tap.ok(done.returncode == 0 and len(whys) == 2 and all("process" in why for why in whys),
           "what a process did not read that ended early is named, and the rest is reported",
           f"{whys} {done.stderr.decode()}")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--mpi", type=Path, default=ROOT / "build" / "src" / "mpi" / "analyze_profile-mpi")
    parser.add_argument("--thorough", action="store_true", help="more than that it works at all")
    arguments = parser.parse_args()
    tap, programs = Tap(), Programs(arguments.program, arguments.mpi)
    if not arguments.mpi.exists() or not shutil.which("mpirun"):
        tap.skip("many processes report as one does", "there is no MPI here (Debian: libopenmpi-dev, openmpi-bin)")
        return tap.done()
    more = (check_more_reports, check_odd_files, check_others, check_failures) if arguments.thorough else ()
    for check in (check_reports, *more):
        with tempfile.TemporaryDirectory() as folder:
            check(tap, programs, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
