#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The short Markdown report: at most 250 lines of any input, each line of its tables one of the whole report, and no
section of that lost in silence. Every part that md_brief.def names is met by one of the inputs. Prints TAP."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import check_markdown, read_report, tables_of
from other_traces import VIZTRACER
from program import ROOT, parser_of
from tap import Tap

MOST_LINES = 250
FEW_LINES = 6
FIXTURES = ROOT / "fixtures"
PLACES = ("traces", "snapshots", "recorded", "others", "cluster", "flight", "scenarios")
STRIDE = 10  # of the scenarios, which are alike
# What only a question brings about.
ASKED = {
    "a baseline": ["traces/after_slowdown.json.gz", "--baseline", "traces/before_slowdown.json.gz"],
    "conditions": ["traces/training_step_cuda.json.gz", "--fail-on", "critical,steps.p50_us > 1ms"],
    "sizes of a batch": ["--series", "8=traces/before_slowdown.json.gz", "16=traces/after_slowdown.json.gz"],
    "a change": ["traces/training_step_cuda.json.gz", "--what-if", "loader like * workers 4"],
    "a trace and a snapshot": ["traces/one_run.json.gz", "snapshots/one_run.json"],
    "a failed request in both": ["scenarios/other-process-holds-device"],
    "a long list": ["traces/training_step_cuda.json.gz", "--top-n", "0"],
}


def memory_instant(name, at_us, size, allocated):
    return {"ph": "i", "s": "t", "name": name, "pid": 1, "tid": 2, "ts": at_us,
            "args": {"Total Reserved": 4096, "Total Allocated": allocated, "Bytes": size, "Device Id": 0, "Device Type": 1}}


# What no fixture holds.
MADE = {
    "viztracer.json": VIZTRACER,
    "failed.json": {"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 2, "ts": 1, "dur": 9},
        memory_instant("[memory]", 2, 512, 512), memory_instant("[OutOfMemory]", 5, 1 << 30, 512)]},
}


def parts_of(markdown):
    """{section: {heading: [line]}}; what stands before the first heading is under ""."""
    sections, parts, lines = {}, {}, []
    for line in markdown.split("\n"):
        if line.startswith("## "):
            parts = sections.setdefault(line[3:], {})
            lines = parts.setdefault("", [])
        elif line.startswith("### "):
            lines = parts.setdefault(line[4:], [])
        else:
            lines.append(line)
    return sections


def kept_parts():
    """(section, heading) of md_brief.def; None: any heading."""
    text = (ROOT / "src" / "report" / "md" / "md_brief.def").read_text(encoding="utf-8")
    rows = re.findall(r'^AP_BRIEF\(\d, "([^"]+)", (?:NULL|"([^"]*)"), \d+\)', text, re.M)
    return [(section, heading or None) for section, heading in rows]


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, Path(folder)

    def run(self, arguments):
        """(short, whole, JSON), or None where the input is refused."""
        texts = []
        for more in ([], ["--full", "--json-out", self.folder / "r.json"]):
            done = subprocess.run([self.path, "--quiet", *arguments, "--format", "md", *more], capture_output=True,
                                  cwd=FIXTURES, timeout=120, check=False)
            if done.returncode not in (0, 1):
                return None
            texts.append(done.stdout.decode("utf-8"))
        return *texts, (self.folder / "r.json").read_bytes()


def lost_sections(short, whole):
    """Sections of more than a sentence or two that the short report neither has nor names."""
    for title, parts in whole.items():
        lines = sum(len(lines) + 1 for lines in parts.values())
        if title not in short and lines > FEW_LINES + 1 and not any(
                title in line for line in short.get("The whole report", {}).get("", [])):
            yield f"{title}, {lines} lines"


def foreign_rows(short, whole):
    rows = {tuple(row) for *_, table in tables_of(whole) for row in table}
    return [row for *_, table in tables_of(short) for row in table if tuple(row) not in rows]


def check_input(tap, name, reports):
    short, whole, data = reports
    sections, all_sections = parts_of(short), parts_of(whole)
    complaints = [f"{short.count(chr(10))} lines"] if short.count("\n") > MOST_LINES else []
    complaints += [f"lost: {text}" for text in lost_sections(sections, all_sections)]
    complaints += [f"a row of its own: {row}" for row in foreign_rows(short, whole)]
    complaints += [f"an empty section: {title}" for title, parts in sections.items() if not any(map(any, parts.values()))]
    complaints += check_markdown(short, read_report(data))[0]
    if "findings" in json.loads(data) and "Verdict" in all_sections and "Verdict" not in sections:
        complaints.append("no verdict")
    tap.check(f"{name}: short, and nothing is lost", complaints)
    return {(title, heading) for title, parts in sections.items() for heading in parts}


def known_inputs(stride):
    """{name: arguments}"""
    inputs = dict(ASKED)
    for place in PLACES:
        paths = [path for path in sorted((FIXTURES / place).iterdir()) if path.suffix != ".md"]
        inputs |= {f"{place}/{path.name}": [f"{place}/{path.name}"]
                   for path in paths[::stride if place == "scenarios" else 1]}
    for case in sorted((FIXTURES / "golden").iterdir()):
        if not (case / "stdin").exists():
            inputs[f"golden/{case.name}"] = (case / "args").read_text(encoding="utf-8").split("\n")[:-1]
    return inputs


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--thorough", action="store_true", help="all scenarios, which meet every part")
    parser.add_argument("inputs", nargs="*", help="these instead of the fixtures")
    arguments = parser.parse_args()
    tap, seen = Tap(), set()
    inputs = {path: [path] for path in arguments.inputs} or known_inputs(1 if arguments.thorough else STRIDE)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.program.resolve(), folder)
        for name, trace in MADE.items():
            (Path(folder) / name).write_text(json.dumps(trace), encoding="utf-8")
            inputs[name] = [Path(folder) / name]
        for name, words in inputs.items():
            reports = program.run(words)
            if reports:
                seen |= check_input(tap, name, reports)
    if arguments.thorough:
        unseen = [part for part in kept_parts()
                  if not any(title == part[0] and heading.startswith(part[1] or "") for title, heading in seen)]
        tap.check("every part that md_brief.def names is met", unseen)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
