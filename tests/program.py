# SPDX-License-Identifier: MIT
"""The program that is tried: where it is, what it writes. A test that imports this can import what lies in tools/, too."""

import argparse
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "src" / "cli" / "analyze_profile"
LIMIT_S = 300
sys.path.insert(1, str(ROOT / "tools"))


def parser_of(description):
    """Of a script whose argument --program may be left out."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=BUILT, help="default: the one in build/")
    return parser


def program_of(description):
    return parser_of(description).parse_args().program.resolve()


def unpacked(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def settled(data):
    """What confines the program is this machine's, and no sanitizer's."""
    data = re.sub(rb'("sandbox": )"[^"]*"', rb'\1"seccomp and Landlock"', data)
    state = rb"Read (in a sandbox of [A-Za-z ]*|without a sandbox)[.]"
    return re.sub(state, b"Read in a sandbox of seccomp and Landlock.", data)


class Program:
    """@folder: where reports are written that are read back."""

    def __init__(self, path, folder=None):
        self.path, self.folder = path, folder and Path(folder)

    def run(self, *arguments, **more):
        return subprocess.run([self.path, "--quiet", *map(str, arguments)], capture_output=True, timeout=LIMIT_S,
                              check=False, **more)

    def json(self, *arguments, **more):
        done = self.run(*arguments, "--format", "json", **more)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def report(self, *arguments):
        """(exit code, report, what it says on stderr)"""
        out = self.folder / "report.json"
        out.unlink(missing_ok=True)
        done = self.run(*arguments, "--json-out", out)
        return done.returncode, json.loads(out.read_text(encoding="utf-8")) if out.exists() else None, done.stderr.decode()
