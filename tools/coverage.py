#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much of what reads inputs the unit tests and the fuzz corpora reach: lines and branches of src/json, src/input,
src/trace and src/memory, counted by clang.

    coverage.py [--build build-cov] [--corpora] [--no-tests] [--missed ROOM]

Builds with clang in a folder of its own, runs the tests, prints a row for each room and ends with 0 where the parser, json
and input together, has 95 % of its lines and 90 % of its branches. --corpora runs only the fuzz targets, on the files that
their replays have and without changing them, and asks for 95 % of the lines of each room; it builds the analysis, too.
--missed json lists what is not reached; --no-tests looks at the last run again. Takes some minutes. Needs clang and llvm
(Debian: clang, llvm) besides what building needs.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("json", "input", "trace", "memory")
PARSER = ("json", "input")
LEAST = {"lines": 95, "branches": 90}
# Those that need no more than these rooms: a minute's work to build.
TESTS = ["json", "json_element", "json verdicts", "trace", "trace_ahead", "container", "input, zlib", "snapshot", "replay",
         "stacks", "hash", "memory_growth", *("replay " + entry for entry in ("json", "gzip", "input", "events"))]
CORPORA = ["replay " + entry for entry in ("json", "gzip", "input", "events", "trace", "trace_copy", "snapshot")]
FLAGS = "-fprofile-instr-generate -fcoverage-mapping"


def run_corpora(build, environment):
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True).stdout)
    commands = [test["cmd"] for test in tests if test["name"] in CORPORA]
    subprocess.run(["ninja", "-C", build, *(os.path.relpath(command[0], build) for command in commands)], check=True,
                   stdout=sys.stderr)
    for command in commands:
        changes = command.index("--mutate")
        subprocess.run(command[:changes] + command[changes + 2:], env=environment, check=True, stdout=sys.stderr)


def run(build, only_corpora):
    if not (build / "build.ninja").exists():
        subprocess.run(["meson", "setup", build, "--buildtype=plain", "-Dhardened=false", "-Dinflate=zlib", "-Dmpi=disabled",
                        "-Dcuda=disabled", f"-Dc_args=-O1 {FLAGS}", f"-Dc_link_args={FLAGS}"],
                       cwd=ROOT, env={**os.environ, "CC": "clang"}, check=True, stdout=subprocess.DEVNULL)
    for old in build.glob("*.profraw"):
        old.unlink()
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(build / "%4m.profraw")}
    if only_corpora:
        run_corpora(build, environment)
    else:
        subprocess.run(["meson", "test", "-C", build, *TESTS], env=environment, check=True, stdout=sys.stderr)
    subprocess.run(["llvm-profdata", "merge", "-o", build / "all.profdata", *build.glob("*.profraw")], check=True)


def counted(build):
    """What llvm-cov says of the files of the rooms."""
    programs = sorted({path for pattern in ("test_*", "replay_*", "json_verdicts") for folder in ("", "fuzz")
                       for path in (build / "tests" / folder).glob(pattern) if path.is_file() and not path.suffix})
    objects = [part for path in programs[1:] for part in ("-object", path)]
    done = subprocess.run(["llvm-cov", "export", "-instr-profile", build / "all.profdata", programs[0], *objects],
                          check=True, capture_output=True)
    for file in json.loads(done.stdout)["data"][0]["files"]:
        path = Path(os.path.normpath(file["filename"]))  # as compiled: ./build-cov/../src/json/json_reader.c
        if len(path.parts) == 3 and path.parts[0] == "src" and path.parts[1] in ROOMS:
            yield path, file


def missed_of(file):
    """Lines of which a part was never run, branches that were only ever taken one way."""
    lines = {segment[0] for segment in file["segments"] if segment[2] == 0 and segment[3] and segment[4]}
    ways = {}
    for begin, column, _, _, taken, passed, *_ in file["branches"]:
        way = ways.setdefault((begin, column), [0, 0])
        way[0] += taken
        way[1] += passed
    one_way = {line: [taken, passed] for (line, _), (taken, passed) in ways.items() if not taken or not passed}
    return lines, one_way


def print_missed(path, file):
    lines, one_way = missed_of(file)
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    for line in sorted(lines | set(one_way)):
        what = "never" if line in lines else "always" if one_way[line][0] else "never true"
        print(f"{path}:{line}: {what}: {text[line - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build-cov")
    parser.add_argument("--corpora", action="store_true")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--missed", choices=ROOMS)
    options = parser.parse_args()
    build = options.build.resolve()
    if not options.no_tests:
        run(build, options.corpora)
    sums = {}
    for path, file in counted(build):
        if options.missed == path.parts[1]:
            print_missed(path, file)
        for name in (path.parts[1], *(["parser"] if path.parts[1] in PARSER else [])):
            for what in LEAST:
                row = sums.setdefault(name, {}).setdefault(what, [0, 0])
                row[0] += file["summary"][what]["covered"]
                row[1] += file["summary"][what]["count"]
    reached = {name: {what: 100 * part / whole for what, (part, whole) in row.items()} for name, row in sums.items()}
    for name in (*ROOMS, "parser"):
        print(f"{name:8}{reached[name]['lines']:6.1f} % of lines {reached[name]['branches']:6.1f} % of branches")
    if options.corpora:
        return 0 if all(reached[name]["lines"] >= LEAST["lines"] for name in ROOMS) else 1
    return 0 if all(reached["parser"][what] >= least for what, least in LEAST.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
