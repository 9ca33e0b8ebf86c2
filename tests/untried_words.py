#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words in the tables of names that no test has: untried_words.py

A word in a .def file counts as tried where a unit test, a script of tests/ or a file of fixtures/traces, others or flight
has it, whatever the case. What was untried when this was written is counted for each table; a new word has to come with a
test or a fixture. Prints TAP."""
import re
import sys

from program import ROOT, unpacked
from tap import Tap

UNTRIED = {
    "break_kind": 13, "call_kind": 73, "collective_name": 2, "compile_name": 31, "copy_cause": 8, "element_type": 5,
    "fusion": 35, "habit_words": 101, "kernel_device": 20, "library_files": 10, "library_frames": 5, "op_family": 107,
    "op_formula": 233, "owner_frames": 56, "phase_names": 17, "program_sign": 8, "recompile_kind": 17,
    "sync_category": 7, "tensor_core_words": 17, "warmup": 36,
}


def words_of(path):
    """What stands between bars in its strings; texts for people, which have blanks, are no words."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    parts = {part.strip("^$*").lower() for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', text)
             for part in literal.split("|")}
    return {part for part in parts if len(part) > 2 and not re.search(r"[\s*%\\]", part)}


def tried():
    patterns = ("tests/unit/*.c", "tests/*.py", "fixtures/traces/*", "fixtures/others/*", "fixtures/flight/*/*")
    files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path.name != "untried_words.py"]
    return b"\n".join(unpacked(path) for path in files).decode("utf-8", "replace").lower()


def main():
    tap, text = Tap(), tried()
    for name, known in UNTRIED.items():
        untried = sorted(word for word in words_of(next((ROOT / "src").rglob(f"{name}.def"))) if word not in text)
        tap.check(f"{name}.def: a new word stands in a test or a fixture", [] if len(untried) <= known else
                  [f"{len(untried)} stand in none, {known} did before; the new one is among these:", ", ".join(untried)])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
