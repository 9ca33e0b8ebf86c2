#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML report of every fixture, with --samples that of every sample trace instead: below 1.5 MB, closed tags, one
script, no address to load from, of fixtures the same bytes twice; and what its pictures are drawn from, in the JSON,
keeps to the schema. Prints TAP. What a browser makes of it: browser.py."""

import json
import os
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from golden import load_validator
from program import ROOT, parser_of
from tap import Tap

MOST_BYTES = 1_500_000
EMPTY = {"meta", "link", "br"}
REFERENCES = ("src", "href", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href")


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.scripts = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        for name, value in attrs:
            if name.startswith("on") or name == "style" or (name in REFERENCES
                                                            and not re.fullmatch(r"#[a-z0-9-]*|data:,", value or "")):
                self.wrong.append(f"{tag} {name}={value}")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_comment(self, data):
        self.wrong.append("a comment")


def inputs(samples):
    if samples:
        return sorted(Path(os.environ["AP_TRACES"]).rglob("*.json.gz"))
    folders = [ROOT / "fixtures/traces", ROOT / "fixtures/snapshots", ROOT / "fixtures/recorded"]
    return [path for folder in folders for path in sorted(folder.iterdir())]


def write(program, path, json_path=os.devnull):
    return subprocess.run([program, str(path), "--quiet", "--md-out", os.devnull, "--html-out", "/dev/stdout", "--top-n",
                           "0",
                           "--json-out", str(json_path)], capture_output=True, timeout=300, check=False)


def bands_of(report):
    """What a curve of memory is made of adds up to it, but for what is the same all the time."""
    for device in ((report["memory"] or {}).get("timeline") or {}).get("devices", []):
        bands, points = device["bands"] or [], device["points"]
        if any(len(band["levels"]) != len(points) or min(band["levels"]) < 0 for band in bands):
            yield f"device {device['device']}: levels and points"
        gaps = {(point["requested_bytes"] or 0) - sum(band["levels"][at] for band in bands)
                for at, point in enumerate(points)}
        odd = sum(row["inconsistencies"] for row in report["memory"]["replay"]["devices"])
        if len(gaps) > 1 and not odd:
            yield f"device {device['device']}: {sorted(gaps)} bytes of the curve in no band"


def check(tap, program, path, validate, json_path, twice):
    done = write(program, path, json_path)
    refusals = (b"neither a PyTorch trace", b"and no times; give")
    if done.returncode == 3 and any(refusal in done.stderr for refusal in refusals):
        return  # named, and refused: there is no report
    reader = Reader()
    reader.feed(done.stdout.decode("utf-8"))
    reader.close()
    wrong = reader.wrong + [f"<{tag}> is open" for tag in reader.open]
    wrong += [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stderr.decode()}"]
    wrong += [] if len(done.stdout) < MOST_BYTES else [f"{len(done.stdout)} bytes"]
    wrong += [] if reader.scripts == 1 else [f"{reader.scripts} scripts"]
    wrong += [] if not twice or write(program, path).stdout == done.stdout else ["another one the second time"]
    text = json_path.read_text(encoding="utf-8")
    report = json.loads(text)
    wrong += [] if report["cpu"] is None or "pictures" in report else ["no pictures in the JSON"]
    wrong += bands_of(report)
    if validate:
        wrong += validate(text)[:5]
    tap.ok(not wrong, f"{path.name}: {len(done.stdout)} bytes of sound HTML", "\n".join(wrong))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--samples", action="store_true")
    arguments = parser.parse_args()
    if arguments.samples and not os.environ.get("AP_TRACES"):
        print("1..0 # SKIP NO SAMPLE TRACES: name their folder in AP_TRACES")
        return 0
    tap = Tap()
    validate = load_validator(ROOT / "references" / "report-schema.json")
    if not validate:
        tap.skip("the JSON keeps to the schema", "no python3-jsonschema")
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs(arguments.samples):
            check(tap, arguments.program, path, validate, Path(folder) / "report.json", not arguments.samples)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
