#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut files: a trace that ends at any byte, plain or gzip, gives a report of everything before the cut, says so, and is
never called complete; a snapshot is refused unless --salvage is given. Wrong checksums and broken JSON are refused. Prints
TAP."""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of, unpacked
from tap import Tap


class Program:
    def __init__(self, path, folder, cuts):
        self.path, self.folder, self.cuts = path, Path(folder), cuts

    def run(self, option, data, *more):
        artifact = self.folder / "input"
        report = self.folder / "report.json"
        artifact.write_bytes(data)
        report.unlink(missing_ok=True)
        done = subprocess.run([self.path, option, str(artifact), "--json-out", str(report), "--md-out",
                               str(self.folder / "report.md"), *more],
                              capture_output=True, text=True, timeout=120, check=False)
        left = sorted(p.name for p in self.folder.iterdir() if ".part-" in p.name)
        return done, (json.loads(report.read_text(encoding="utf-8")) if report.exists() else None), left


def codes(report):
    return [w["code"] for w in report["warnings"]]


def places(size, count):
    return sorted({size * i // count for i in range(1, count)} | {1, 2, 10, 11, size - 1, size - 4, size - 8, size - 9})


def check_trace(tap, program, name, data, whole_events):
    """Reports, once one whole event is there, with counts that never fall as the cut moves on."""
    last, broken, refused_after_report = 0, [], False
    for place in places(len(data), program.cuts):
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
    tap.same(broken, [], f"{name}: every cut is reported as one")
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
    parser.add_argument("--thorough", action="store_const", dest="cuts", const=60, default=10,
                        help="60 cuts of each file, not 10")
    arguments = parser.parse_args()
    tap = Tap()
    fixtures = ROOT / "fixtures"
    with tempfile.TemporaryDirectory() as folder:
        program = Program(str(Path(arguments.program).resolve()), folder, arguments.cuts)
        for name in ("traces/training_step_cuda.json.gz", "traces/pretty_printed.json", "traces/compact_one_line.json"):
            text = unpacked(fixtures / name)
            document = json.loads(text)
            events = len(document["traceEvents"] if isinstance(document, dict) else document)
            check_trace(tap, program, f"{name}, plain", text, events)
            check_trace(tap, program, f"{name}, gzip", gzip.compress(text, 6, mtime=0), events)
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
