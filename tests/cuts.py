#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut files: a trace that ends at any byte, plain or gzip, gives a report of everything before the cut, says so, and is
never called complete; its figures are those of the whole events before the cut, worked out again with exact numbers. A
snapshot is refused unless --salvage is given. Wrong checksums and broken JSON are refused. Prints TAP.

    cuts.py --program PROGRAM [--cuts N] [--seed N]

--cuts N  so many cuts of each file, beside those at both ends; 10 where it is not given
--seed N  which byte is the first of them; drawn where it is not given, and printed"""

import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
import zlib
from decimal import Decimal
from pathlib import Path

from program import ROOT, parser_of, unpacked
from real_traces import check_against_slow
from tap import Tap


class Program:
    def __init__(self, path, folder, cuts, seed):
        self.path, self.folder, self.cuts, self.seed = path, Path(folder), cuts, seed

    def run(self, option, data, *more):
        artifact = self.folder / "input"
        report = self.folder / "report.json"
        artifact.write_bytes(data)
        report.unlink(missing_ok=True)
        done = subprocess.run([self.path, option, str(artifact), "--json-out", str(report), "--md-out",
                               str(self.folder / "report.md"), "--top-n", "0", *more],
                              capture_output=True, text=True, timeout=120, check=False)
        left = sorted(p.name for p in self.folder.iterdir() if ".part-" in p.name)
        return done, (json.loads(report.read_text(encoding="utf-8"), parse_float=Decimal) if report.exists() else None), left


def codes(report):
    return [w["code"] for w in report["warnings"]]


def places(size, count, seed, more):
    first = seed % max(size // count, 1)
    return sorted({size * i // count + first for i in range(count)} - {0} |
                  {1, 2, 10, 11, size - 1, size - 4, size - 8, size - 9} | more)


class Whole:
    """A trace, and what is before a cut of it."""

    def __init__(self, text):
        self.text = text.decode("ascii")  # an offset is one of bytes
        self.events, self.ends = [], []
        at = self.text.index("[", self.text.index('"traceEvents"')) + 1
        decoder = json.JSONDecoder(parse_float=Decimal)
        begin = re.compile(r"[\s,]*(?={)")
        while found := begin.match(self.text, at):
            event, at = decoder.raw_decode(self.text, found.end())
            self.events.append(event)
            self.ends.append(at)

    def before(self, data):
        kept = zlib.decompressobj(31).decompress(data) if data[:2] == b"\x1f\x8b" else data
        return self.events[:sum(end <= len(kept) for end in self.ends)]


class Differences:
    """In place of a Tap: the claims that do not hold."""

    def __init__(self):
        self.claims = []

    def same(self, got, want, claim):
        self.claims += [claim] * (got != want)


def what_differs(report, events):
    """From an exact reading of the events before the cut."""
    found = Differences()
    found.same(report["trace"]["events"]["total"], len(events), "events")
    check_against_slow(found, "cut", report, {"traceEvents": events})
    return found.claims


def check_trace(tap, program, name, data, whole):
    """Reports, once one whole event is there, with counts that never fall as the cut moves on."""
    last, broken, wrong, refused_after_report = 0, [], [], False
    whole_events = len(whole.events)
    edges = {whole.ends[whole_events * i // 4] + more for i in (1, 2, 3) for more in (-1, 0, 1)}
    for place in places(len(data), program.cuts, program.seed, edges if data == whole.text.encode() else set()):
        done, report, left = program.run("--cpu-trace", data[:place])
        if done.returncode == 3 and report is None and not left:
            refused_after_report |= last > 0
            continue
        good = (done.returncode == 0 and report and not report["trace"]["complete"] and "input-cut" in codes(report) and
                last <= report["trace"]["events"]["total"] <= whole_events and "cut" in
                (program.folder / "report.md").read_text(encoding="utf-8").lower())
        if not good:
            broken.append((place, done.returncode, done.stderr[-100:]))
        else:
            last = report["trace"]["events"]["total"]
            wrong += [(place, claim) for claim in what_differs(report, whole.before(data[:place]))]
    tap.same(broken, [], f"{name}: every cut is reported as one")
    tap.same(wrong[:5], [], f"{name}: the figures are those of the whole events before the cut")
    tap.same(refused_after_report, False, f"{name}: a later cut never gives less")
    tap.same(last > whole_events * 0.9, True, f"{name}: late cuts keep most events")
    done, report, _ = program.run("--cpu-trace", data[: len(data) * 2 // 3], "--strict")
    tap.same((done.returncode, report), (3, None), f"{name}: --strict makes a cut an error")


def check_refused(tap, program, name, option, data, *more):
    done, report, left = program.run(option, data, *more)
    tap.same((done.returncode, report, left), (3, None, []), f"{name}: refused, nothing is written")
    tap.same("byte" in done.stderr or "--salvage" in done.stderr, True, f"{name}: the message says where or what to do")


def check_salvaged(tap, program, name, option, data, code):
    done, report, _ = program.run(option, data, "--salvage")
    tap.same((done.returncode, code in codes(report) if report else done.stderr), (0, True), f"{name}: --salvage reads it")


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1:]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--cuts", type=int, default=10, help="of each file")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"# seed {arguments.seed}")
    tap = Tap()
    fixtures = ROOT / "fixtures"
    with tempfile.TemporaryDirectory() as folder:
        program = Program(str(Path(arguments.program).resolve()), folder, arguments.cuts, arguments.seed)
        for name in ("traces/training_step_cuda.json.gz", "traces/pretty_printed.json", "traces/compact_one_line.json"):
            text = unpacked(fixtures / name)
            whole = Whole(text)
            tap.same(whole.events, json.loads(text, parse_float=Decimal)["traceEvents"], f"{name}: all events stand in it")
            check_trace(tap, program, f"{name}, plain", text, whole)
            check_trace(tap, program, f"{name}, gzip", gzip.compress(text, 6, mtime=0), whole)
        text = gzip.decompress((fixtures / "traces/training_step_cuda.json.gz").read_bytes())
        packed = gzip.compress(text, 6, mtime=0)
        check_refused(tap, program, "trace with a wrong checksum", "--cpu-trace", flipped(packed, len(packed) - 6))
        check_salvaged(tap, program, "trace with a wrong checksum", "--cpu-trace", flipped(packed, len(packed) - 6),
                       "checksum-mismatch")
        middle = text.index(b'"ph"', len(text) // 2)
        check_refused(tap, program, "broken trace", "--cpu-trace", text[:middle] + b"?" + text[middle + 1:])
        check_salvaged(tap, program, "broken trace", "--cpu-trace", text[:middle] + b"?" + text[middle + 1:], "salvaged")
        snapshot = gzip.decompress((fixtures / "snapshots/modern.json.gz").read_bytes())
        check_refused(tap, program, "cut snapshot", "--memory-json", snapshot[: snapshot.index(b'"device_traces"') // 2])
        check_salvaged(tap, program, "cut snapshot", "--memory-json", snapshot[: snapshot.index(b'"device_traces"') // 2],
                       "input-cut")
        done, report, _ = program.run("--memory-json", snapshot[: len(snapshot) * 3 // 4])
        tap.same((done.returncode, codes(report) if report else done.stderr), (0, ["input-cut"]),
                 "snapshot whose history is cut: a report with a warning")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
