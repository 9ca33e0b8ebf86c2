#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The walls between the rooms of src: check_rooms.py

Reads which rooms a room's meson.build lists, and which headers its files include. Prints TAP: no include climbs to a room
that is not listed, nor to one that a listed room does not see; no circle of rooms; parts see no parts; one room sees both a
trace and a snapshot; a part says which facts it reads, and has a unit test; no folder is too large to be read.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from tap import Tap  # noqa: E402

SRC = ROOT / "src"
FOLDER_MOST = 40
INCLUDE = re.compile(r'^#\s*include\s+"([^"]+)"', re.MULTILINE)
# The program and the library see all that they are made of; the program's files sit in two front rooms. A run of many ranks
# reads both, each file by itself, and puts none on the axis of the other.
JOINS = "joined"
LATE_FACTS = ("split", "path_index", "path")  # the others are in AP_FACTS_EARLY
FOUND_WITH = {"ops": "names", "op_families": "names", "calls": "names", "families": "names", "bins": "split"}
ABOVE_JOINED = {"analyze", "api", "query", "export", "cli", "cluster", "cluster/ranks", "mcp", "mpi"}


def rooms():
    """By folder: the rooms that its meson.build lists, its own files, the headers in it."""
    found = {}
    for build in sorted(SRC.rglob("meson.build")):
        if build.parent != SRC:
            found[build.parent.relative_to(SRC).as_posix()] = build.read_text(encoding="utf-8")
    by_name = {folder.replace("/", "_"): folder for folder in found}
    by_name.update(analyze_profile="api", ap="api")
    listed = {}
    for folder, text in found.items():
        names = set(re.findall(r"\b(\w+)_dep\b", text)) - {folder.replace("/", "_")}
        listed[folder] = {by_name[name] for name in names if name in by_name} - {folder}
    return listed


def seen_from(folder, listed):
    seen, new = set(), {folder}
    while new:
        seen |= new
        new = {below for room in new for below in listed[room]} - seen
    return seen


def climbing(listed):
    owner = {}
    for header in SRC.rglob("*"):
        if header.suffix in (".h", ".def"):
            owner.setdefault(header.name, set()).add(header.parent.relative_to(SRC).as_posix())
    places = []
    for path in sorted(SRC.rglob("*")):
        folder = path.parent.relative_to(SRC).as_posix()
        if path.suffix not in (".c", ".h") or folder not in listed:
            continue
        allowed = seen_from(folder, listed)
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            rooms_of = owner.get(name.rpartition("/")[2], set())
            if rooms_of and not rooms_of & allowed:
                places.append(f"{path.relative_to(SRC)} includes {name} of {', '.join(sorted(rooms_of))}")
    return places


def undeclared():
    """Parts that read a fact that their row in analyze.c does not name: they may run before it is found."""
    table = (SRC / "analyze/analyze.c").read_text(encoding="utf-8")
    needs = dict(re.findall(r"\{ (ap_part_\w+), \d+, ([^{]*), \{", table))
    facts = set(re.findall(r"^    AP_FACT_(\w+),", (SRC / "facts/facts.h").read_text(encoding="utf-8"), re.MULTILINE))
    found = []
    for path in sorted((SRC / "parts").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        read = {FOUND_WITH.get(member, member) for member in re.findall(r"\bfacts->(\w+)", text)} & facts
        for part in set(re.findall(r"^enum ap_status (ap_part_\w+)\(", text, re.MULTILINE)) & set(needs):
            named = set(re.findall(r"AP_FACT\((\w+)\)", needs[part]))
            named |= facts - set(LATE_FACTS) if "EARLY" in needs[part] else set()
            found += [f"{part} reads facts->{fact}" for fact in sorted(read - named) if needs[part] != "AP_FACTS_ALL"]
    return found


def untried():
    """Parts of which no unit test looks at a figure, by its path: the key alone may be that of something else."""
    table = (SRC / "analyze/analyze.c").read_text(encoding="utf-8")
    tests = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/unit").glob("*.c")))
    return [part for part, keys in re.findall(r"\{ (ap_part_\w+), \d+, [^{]*, \{ ([^}]*) \}", table)
            if not any(re.search(rf'"{key}\.', tests) for key in re.findall(r"\w+", keys))]


def main():
    listed = rooms()
    circles = [room for room in listed for below in listed[room] if room in seen_from(below, listed)]
    parts = {room for room in listed if room.startswith("parts/")}
    sees_both = [room for room in listed if {"trace", "memory"} <= seen_from(room, listed)
                 and room != JOINS and room not in ABOVE_JOINED]
    large = [f"{folder}: {count} files" for folder in ["", *listed]
             if (count := sum(1 for path in (SRC / folder).iterdir() if path.is_file())) > FOLDER_MOST]
    tap = Tap()
    tap.check("no include climbs", climbing(listed))
    tap.check("no circle of rooms", sorted(set(circles)))
    tap.check("parts never see parts", [f"{room} sees {other}" for room in sorted(parts)
                                        for other in sorted(seen_from(room, listed) & parts - {room})])
    tap.check("one room joins trace and snapshot", sees_both)
    tap.check("parts name the facts that they read", undeclared())
    tap.check("a unit test looks at each part", untried())
    tap.check(f"no folder of more than {FOLDER_MOST} files", large)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
