#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of many ranks: which files they have, and that no file is left out in silence. Prints TAP."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import ROOT, load_validator
from tap import Tap

TRACES = ROOT / "fixtures" / "traces"
SMALL = TRACES / "gpu_only.json"


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments):
        return subprocess.run([self.path, "--quiet", *map(str, arguments)], capture_output=True, timeout=120, check=False)

    def json(self, *arguments):
        done = self.run(*arguments, "--format", "json")
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr.decode()}")
        return json.loads(done.stdout)


def write_ranks(folder, names):
    for name in names:
        shutil.copy(SMALL, folder / name)


def check_files(tap, program, folder):
    write_ranks(folder, ["rank0.json", "rank1.json"])
    report = program.json(folder)
    files = report["cluster"]["files"]
    tap.same([file["rank"] for file in files], [0, 1], "the traces of a folder are a run")
    complaints = load_validator(ROOT / "references" / "report-schema.json")
    if complaints:
        tap.check("its report keeps to the schema", complaints(json.dumps(report)))
    by_options = program.json("--cpu-trace", folder / "rank0.json", "--cpu-trace", folder / "rank1.json")
    tap.same(by_options["cluster"], report["cluster"], "so are several traces of --cpu-trace: none is lost")
    alike = [program.run(folder, "--format", "json", "--jobs", jobs).stdout for jobs in (1, 4)]
    tap.ok(alike[0] == alike[1], "--jobs does not change the report")
    (folder / "notes.txt").write_text("not a trace")
    whys = {Path(file["path"]).name: file["why_not"] for file in program.json(folder)["cluster"]["files"]}
    tap.ok(whys["notes.txt"], "what is no input of the run is listed, with the reason", whys)


def check_ranks(tap, program, folder):
    write_ranks(folder, ["node-a-gpu-4.x.json", "node-a-gpu-5.x.json"])
    files = program.json(folder, "--rank-regex", "gpu-([0-9]+)")["cluster"]["files"]
    tap.same([file["rank"] for file in files], [4, 5], "--rank-regex tells the rank")
    done = program.run(folder, "--rank-regex", "gpu")
    tap.ok(done.returncode == 2 and b"--rank-regex" in done.stderr, "an expression without a group is refused", done.stderr)
    done = program.run(folder, "--rank-regex", "node-(x)")
    tap.ok(done.returncode == 2 and b"baseline" in done.stderr, "traces without ranks are no run", done.stderr)


def check_one(tap, program, folder):
    shutil.copy(SMALL, folder / "trace.json")
    one, alone = program.json(folder), program.json(folder / "trace.json")
    tap.ok(one == alone, "a folder with one trace is that trace")
    tap.same(program.run(folder, "-").returncode, 2, "standard input is no file of a run")
    empty = folder / "empty"
    empty.mkdir()
    tap.same(program.run(empty).returncode, 3, "an empty folder is refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "src" / "cli" / "analyze_profile")
    arguments = parser.parse_args()
    tap, program = Tap(), Program(arguments.program)
    for check in (check_files, check_ranks, check_one):
        with tempfile.TemporaryDirectory() as folder:
            check(tap, program, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
