#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of many ranks with one planted difference: is the rank named, and what it holds more of? Prints TAP.

tools/make_cluster writes the snapshots, and in memory.json what the model's own books say of them."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import load_validator
from program import ROOT, Program, program_of
from tap import Tap

MAKER = ROOT / "tools" / "make_cluster"
HEALTHY = ("healthy", "stages")
APART = ("longer-batch", "checkpoint", "more-state")


def made(folder, memory, *arguments):
    subprocess.run([sys.executable, MAKER, "snapshots", folder, "--memory", memory, *arguments], check=True, timeout=300,
                   capture_output=True)
    return json.loads((folder / "memory.json").read_text())


def check_books(tap, memory, truth, what):
    rows = {row["rank"]: row for row in memory["ranks"]}
    wrong = [f"rank {book['rank']}: {key} {rows[book['rank']][key]}, not {book[key]}" for book in truth["ranks"]
             for key in ("peak_bytes", "peak_reserved_bytes") if rows[book["rank"]][key] != book[key]]
    tap.check(f"{what}: the peaks of all ranks are those of the books", wrong)


def check_cause(tap, program, folder, cause):
    truth = made(folder, cause, "--ranks", "6")
    report = program.json(folder)
    memory, rules = report["cluster"]["memory"], [finding["rule_id"] for finding in report["findings"]]
    check_books(tap, memory, truth, cause)
    if cause in HEALTHY:
        tap.same((rules, memory["differs"]["rank"]), ([], None), f"{cause}: nothing is said")
        return report
    tap.same(memory["differs"]["rank"], truth["rank"], f"{cause}: the rank is named")
    tap.same(rules[:1], ["cluster-out-of-memory" if truth["fails"] else "cluster-memory-apart"], f"{cause}: by a finding")
    tap.ok(f"rank {truth['rank']}" in report["findings"][0]["observation"], f"{cause}: which tells the rank")
    if truth["owner"]:
        tap.same(memory["differs"]["owner"]["category"], truth["owner"], f"{cause}: and what it holds more of")
    if truth["line"]:
        tap.same(memory["differs"]["line"]["line"], truth["line"], f"{cause}: and at which line")
    tap.same((memory["out_of_memory"]["rank"], memory["out_of_memory"]["rank_count"]),
             (truth["rank"], 1) if truth["fails"] else (None, 0), f"{cause}: and whether it ran out")
    return report


def check_summaries(tap, program, folder):
    """The report from summaries is that from the snapshots, whatever the order and the tree."""
    made(folder / "run", "out-of-memory", "--ranks", "4")
    report = program.json(folder / "run")
    complaints = load_validator(ROOT / "references" / "report-schema.json")
    if complaints:
        tap.check("the report keeps to the schema", complaints(json.dumps(report)))
    kept = [folder / f"kept{rank}.json" for rank in range(4)]
    ignored = ("--md-out", folder / "ignored.md")
    for rank, path in enumerate(kept):
        program.run(folder / "run" / f"rank{rank}.snapshot.json.gz", "--summary-out", path, *ignored)
    merged = [program.run("--merge", *order, "--summary-out", "-", *ignored).stdout for order in (kept, kept[::-1])]
    tap.ok(merged[0] and merged[0] == merged[1], "summaries of snapshots merge to the same bytes in any order")
    program.run("--merge", *kept[1:3], "--summary-out", folder / "two.json", *ignored)
    by_tree = program.run("--merge", folder / "two.json", kept[3], kept[0], "--summary-out", "-", *ignored).stdout
    tap.ok(merged[0] == by_tree, "and by any tree")
    from_kept = program.json("--merge", *kept)["cluster"]
    tap.same(from_kept["memory"], report["cluster"]["memory"], "and tell what the snapshots tell")
    program.run(folder / "run", "--html-out", folder / "page.html", *ignored)
    tap.ok(b'"rank-memory"' in (folder / "page.html").read_bytes(), "the memory of the ranks is drawn")
    for number, place in enumerate((b'"rows":[', b'"memory":')):
        broken = folder / f"broken{number}.json"
        broken.write_bytes(kept[0].read_bytes().replace(place, place + b"7,"))
        done = program.run("--merge", broken, *kept[1:], "--format", "json")
        ranks = json.loads(done.stdout)["cluster"]["memory"]["rank_count"] if done.returncode == 0 else None
        tap.ok(done.returncode == 3 or ranks == 3, "what is broken in a summary is no memory of a rank", done.stderr)


def check_names(tap, program, folder):
    """Snapshots that no rank is told of, or all of one rank, are no run; with traces beside them they are told apart."""
    made(folder / "run", "healthy", "--ranks", "2")
    one = folder / "one"
    one.mkdir()
    for name in ("first.json.gz", "second.json.gz"):
        shutil.copy(folder / "run" / "rank0.snapshot.json.gz", one / name)
    done = program.run(one)
    tap.ok(done.returncode == 2 and b"snapshot" in done.stderr, "snapshots without ranks are no run", done.stderr)
    both = folder / "both"
    shutil.copytree(ROOT / "fixtures" / "cluster" / "healthy", both)
    for rank in (0, 1):
        shutil.copy(folder / "run" / f"rank{rank}.snapshot.json.gz", both)
    cluster = program.json(both)["cluster"]
    tap.same((cluster["rank_count"], cluster["memory"]["rank_count"]), (4, 2), "traces and snapshots of one folder")
    tap.same([file["why_not"] for file in cluster["files"] if file["kind"] == "snapshot"], [None, None],
             "snapshots are part of the run")


def main():
    tap, program = Tap(), Program(program_of(__doc__))
    for cause in HEALTHY + APART + ("out-of-memory",):
        with tempfile.TemporaryDirectory() as folder:
            check_cause(tap, program, Path(folder), cause)
    for check in (check_summaries, check_names):
        with tempfile.TemporaryDirectory() as folder:
            check(tap, program, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
