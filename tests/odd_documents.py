#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole runs on traces and snapshots in which values were replaced by ones that nobody expects there: wrong types, numbers
without end, NaN, broken text, missing and repeated members.

Each run ends with a report or with a message, never otherwise; what it writes is JSON by the letter and valid UTF-8,
whatever stood in the input; and a second run writes the same. odd_documents.py --program PROGRAM [--runs N] [--seed N].
Prints TAP.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of, unpacked
from tap import Tap

RUN_LIMIT_S = 60
# Bytes of JSON, or nearly so; None leaves the member out.
ODD_VALUES = [
    b"null", b"true", b"false", b"0", b"-0", b"-1", b"1.5", b"1e400", b"-1e400", b"1e-400", b"9223372036854775807",
    b"-9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"4611686018427387.903",
    b"-4611686018427387.903",
    b"0.0005", b"1" + b"0" * 300, b"NaN", b"Infinity", b"-Infinity", b"-nan", b'""', b'"0"', b'"12.5"', b'"0x10"', b'"NaN"',
    b'"\\u0000"', b'"\\ud800"', b'"\xff\xfe"', b'"\xc3\xa9\xe2\x80\xae"', b'"a\tb\x01\x7f"', b'"<script>|`*_"',
    b'"' + b"x" * 5000 + b'"',
    b"[]", b"{}", b"[null]", b'["\xff"]', b"[[[[1,NaN]]]]", b'{"a":"\xed\xa0\x80"}', b'{"name":{"name":[]}}',
    b"[" * 300 + b"]" * 300, None,
]
TRACES = ["begin_end_pairs", "rocm", "gpu_only", "hostile_names", "legacy_autograd_array", "mtia", "onnxruntime_array",
          "training_step_cuda"]
SNAPSHOTS = ["odd_values", "bare_list", "history_2023", "expandable_multi_device", "modern"]


def read_document(kind, name):
    for suffix in (".json", ".json.gz"):
        path = ROOT / "fixtures" / kind / (name + suffix)
        if path.exists():
            return json.loads(unpacked(path).decode("utf-8-sig", errors="replace"), strict=False)
    raise FileNotFoundError(name)


class Raw:
    """Bytes that stand in the document as they are."""

    def __init__(self, data):
        self.data = data


def write(value):
    if isinstance(value, Raw):
        return value.data
    if isinstance(value, list):
        return b"[" + b",".join(map(write, value)) + b"]"
    if isinstance(value, dict):
        members = [json.dumps(key).encode() + b":" + write(member) for key, member in value.items()]
        return b"{" + b",".join(members) + b"}"
    return json.dumps(value).encode()


def shorten(value, chance, most=12):
    """A document of a few dozen entries is as odd as a long one."""
    if isinstance(value, list):
        kept = value if len(value) <= most else [chance.choice(value) for _ in range(most)]
        return [shorten(item, chance, most) for item in kept]
    if isinstance(value, dict):
        return {key: shorten(member, chance, 40 if key == "traceEvents" else most) for key, member in value.items()}
    return value


def spoil(value, chance, share):
    """Replace a share of the values, at any depth."""
    if chance.random() < share:
        return Raw(chance.choice(ODD_VALUES) or b"null")
    if isinstance(value, list):
        return [spoil(item, chance, share) for item in value]
    if isinstance(value, dict):
        members = {}
        for key, member in value.items():
            if chance.random() < share / 2:
                continue
            members[key] = spoil(member, chance, share)
        return members
    return value


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def check_strict(data):
    """None, or why this is no strict JSON."""
    try:
        text = data.decode("utf-8")
        json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        return str(error)[:200]
    if any(ord(c) < 32 and c != "\n" for c in text):
        return "a raw control character"
    return None


class Runs:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.reported = self.refused = 0
        self.broken = []

    def once(self, option, document, extra):
        names = ["report.json", "report.md"]
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "input").write_bytes(document)
        done = subprocess.run([self.program, option, "input", "--json-out", names[0], "--md-out", names[1], "--top-n", "0",
                               *extra],
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_LIMIT_S,
                              check=False)
        written = [(self.folder / name).read_bytes() if (self.folder / name).exists() else None for name in names]
        return done, written

    def check(self, option, document, extra):
        done, written = self.once(option, document, extra)
        complaint = None
        if done.returncode == 0:
            self.reported += 1
            complaint = check_strict(written[0]) if None not in written else "a report is missing"
            try:
                if None not in written:
                    written[1].decode("utf-8")
            except UnicodeDecodeError as error:
                complaint = f"Markdown: {error}"
        elif done.returncode in (3, 5):
            self.refused += 1
            if written != [None, None] or not done.stderr:
                complaint = "refused, but something is written, or nothing is said"
        else:
            complaint = f"exit code {done.returncode}: {done.stderr[-1500:].decode(errors='replace')}"
        if not complaint and (self.reported + self.refused) % 10 == 0 and self.once(option, document, extra)[1] != written:
            complaint = "a second run writes something else"
        if complaint:
            self.broken.append((complaint, document[:2000]))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--thorough", action="store_const", dest="runs", const=250, help="as --runs 250")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tap = Tap()
    for option, kind, names in (("--cpu-trace", "traces", TRACES), ("--memory-json", "snapshots", SNAPSHOTS)):
        chance = random.Random(arguments.seed)
        documents = [read_document(kind, name) for name in names]
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(str(Path(arguments.program).resolve()), folder)
            for _ in range(arguments.runs // 2):
                document = shorten(chance.choice(documents), chance)
                spoiled = spoil(document, chance, chance.choice([0.003, 0.02, 0.1]))
                runs.check(option, write(spoiled), chance.choice([[], ["--salvage"], ["--threads", "1"]]))
        tap.same(runs.broken[:3], [], f"{arguments.runs // 2} odd {kind}: a report in strict JSON, or a message "
                                      f"({runs.reported} and {runs.refused})")
        tap.same(runs.reported > arguments.runs // 8, True, f"most odd {kind} still give a report")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
