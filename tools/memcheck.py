#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A few runs of the program under valgrind: memcheck.py VALGRIND PROGRAM

Each run must end with the exit code it ends with anyway; any error or leak that valgrind sees ends it with another one.
Prints TAP.
"""
import gzip
import lzma
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from command_line import zstd_frames  # noqa: E402
from tap import Tap  # noqa: E402

FIXTURES = ROOT / "fixtures"
FOUND = 99
LIMIT_S = 300

# claim, arguments, exit code; CUT.* and PACKED.* are made by make_inputs
RUNS = [
    ("a recorded step and a snapshot with history", ["recorded/training_step_cpu.json.gz", "snapshots/oom.json.gz"], 0),
    ("the same on one thread", ["--threads", "1", "recorded/training_step_cpu.json.gz", "snapshots/modern.json.gz"], 0),
    ("every oddity of a trace", ["--cpu-trace", "traces/odd_values.json"], 0),
    ("every oddity of a snapshot", ["--memory-json", "snapshots/odd_values.json"], 0),
    ("a bare array without categories", ["traces/legacy_autograd_array.json"], 0),
    ("a bare list of segments", ["snapshots/bare_list.json"], 0),
    ("a trace cut inside the compressed stream", ["--cpu-trace", "CUT.trace"], 0),
    ("a trace packed by xz", ["--cpu-trace", "PACKED.xz"], 0),
    ("a trace packed by zstd", ["--cpu-trace", "PACKED.zstd"], 0),
    ("a cut snapshot is refused", ["--memory-json", "CUT.snapshot"], 3),
    ("a cut snapshot, salvaged", ["--salvage", "--memory-json", "CUT.snapshot"], 0),
    ("a file that is no JSON", ["--cpu-trace", "README.md"], 3),
    ("a rubric that is none", ["--rubric", "traces/empty_events.json", "--cpu-trace", "traces/empty_events.json"], 2),
    ("a mistake in the command line", ["--top-n", "x"], 2),
]


def make_inputs(folder):
    trace = (FIXTURES / "traces" / "training_step_cuda.json.gz").read_bytes()
    (folder / "CUT.trace").write_bytes(trace[:len(trace) // 2])
    (folder / "PACKED.xz").write_bytes(lzma.compress(gzip.decompress(trace)))
    (folder / "PACKED.zstd").write_bytes(zstd_frames(gzip.decompress(trace)))
    snapshot = gzip.decompress((FIXTURES / "snapshots" / "modern.json.gz").read_bytes())
    (folder / "CUT.snapshot").write_bytes(snapshot[:len(snapshot) // 10])


def run(valgrind, program, folder, arguments):
    arguments = [folder / argument if argument.startswith(("CUT.", "PACKED.")) else argument for argument in arguments]
    with tempfile.TemporaryDirectory(dir=folder) as out:
        command = [valgrind, "--quiet", f"--error-exitcode={FOUND}", "--leak-check=full",
                   "--errors-for-leak-kinds=definite,indirect", program, "--no-sandbox", *arguments,
                   "--md-out", f"{out}/report.md", "--json-out", f"{out}/report.json"]
        return subprocess.run(command, cwd=FIXTURES, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)


def main():
    valgrind, program = sys.argv[1], str(Path(sys.argv[2]).resolve())
    tap = Tap()
    unpacked = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    refused = {f"PACKED.{codec}" for codec in ("xz", "zstd") if codec not in unpacked}
    with tempfile.TemporaryDirectory() as folder:
        make_inputs(Path(folder))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            finished = pool.map(lambda entry: run(valgrind, program, Path(folder), entry[1]), RUNS)
        for (claim, arguments, code), done in zip(RUNS, finished):
            code = 3 if refused.intersection(arguments) else code
            tap.ok(done.returncode == code, claim,
                   f"exit code {done.returncode}, expected {code}\n{done.stderr.decode(errors='replace')}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
