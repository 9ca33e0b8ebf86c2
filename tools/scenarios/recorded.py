#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the scenarios recorder-* of fixtures/scenarios: real runs on the CPU of a program that records itself.

    ninja -C build tools/recorded_run
    python3 tools/scenarios/recorded.py --program build/tools/recorded_run [--tries 15] [CAUSE]...

recorded_run trains a small network with one cause planted, or without it. Both are run in turn, --tries times each, and of
each the fastest run is kept, as the one that other work on the machine disturbed least: its recording is the fixture, and
the difference of the two is what the cause costs. Bytes do not vary. Where the machine has other work, put `chrt -r 20` in
front, as root. Recording again changes times, nothing else."""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

CAUSES = {
    "slow-input": {
        "unit": "us", "accept": ["dataloader-wait", "dataloader-in-process", "dataloader-idle"],
        "note": "Each batch is read from the disk, image by image, and scaled down in the training loop; the twin has a "
        "thread that does so ahead of it. "
                "The cost is the difference in time over the eight recorded steps, of the fastest of {tries} runs each."},
    "sync-per-item": {
        "unit": "us", "accept": ["host-waits"],
        "note": "The loop gives a worker thread 24 pieces of work a step and waits behind each; the twin waits once, "
        "behind the last. "
                "The cost is the difference in time over the six recorded steps, of the fastest of {tries} runs each."},
    "results-leak": {
        "unit": "bytes", "accept": ["memory-leak", "memory-growth"],
        "note": "Each of 24 steps keeps its result, with its images, in a list; the twin releases it. "
                "The cost is what is in use behind the last step beyond what the twin has."},
    "write-each-step": {
        "unit": "us", "accept": ["time-outside-operators"],
        "note": "Each of eight steps writes a checkpoint to a file and waits until the disk has them; the twin does not. "
                "The cost is the difference in time over these steps, of the fastest of {tries} runs each."},
    "uneven-threads": {
        "unit": "us", "accept": ["thread-imbalance"],
        "note": "Of 16 pieces of work in each of six steps one of two threads has 15; the twin shares them out evenly. "
                "The cost is the difference in time over these steps, of the fastest of {tries} runs each."},
    "slow-rank": {
        "unit": "us", "accept": ["host-communication"],
        "note": "Two processes sum up the gradients of their last layer through a socket, and the one that is not recorded "
        "has twice as much data; in the "
                "twin both have the same. The cost is the difference in time over eight steps, of the fastest of "
                "{tries} runs each."},
}


def run(program, cause, folder):
    """Nanoseconds of the recorded steps, bytes in use behind them, and the files it wrote."""
    done = subprocess.run([Path(program).resolve(), cause, folder], cwd=folder, capture_output=True, text=True, check=True,
                          timeout=120)
    dur_ns, in_use_bytes = map(int, done.stdout.split())
    return dur_ns, in_use_bytes, {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def fastest_runs(program, cause, tries):
    """(planted, twin)"""
    best = [None, None]
    for _ in range(tries):
        for i, argument in enumerate((cause, f"none-{cause}")):
            with tempfile.TemporaryDirectory() as folder:
                now = run(program, argument, folder)
            if best[i] is None or now[0] < best[i][0]:
                best[i] = now
    return best


def write_scenario(out, name, twin, files, truth):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, data in files.items():
        with open(folder / f"{file_name}.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
            packed.write(data)
    (folder / "truth.json").write_text(json.dumps({**truth, "twin": twin}, indent=2) + "\n", encoding="utf-8")


def make(program, cause, tries, out):
    what = CAUSES[cause]
    planted, twin = fastest_runs(program, cause, tries)
    cost = round((planted[0] - twin[0]) / 1000, 3) if what["unit"] == "us" else planted[1] - twin[1]
    if cost <= 0:
        sys.exit(f"{cause}: planted {planted[0]} ns, without {twin[0]} ns: the machine is too busy, or nothing was planted")
    name = f"recorder-{cause}"
    truth = {"cause": name, "planted": True, "recording": "recorder", "made_by": f"tools/scenarios/recorded.py {cause}",
             "accept": what["accept"], "unit": what["unit"], "planted_cost": cost, "note": what["note"].format(tries=tries)}
    write_scenario(out, name, f"{name}-healthy", planted[2], truth)
    write_scenario(out, f"{name}-healthy", name, twin[2], {**truth, "planted": False, "accept": [], "planted_cost": None})
    print(f"{name}: {planted[0] / 1e6:.3f} ms, without {twin[0] / 1e6:.3f} ms; costs {cost} {what['unit']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="recorded_run")
    parser.add_argument("--tries", type=int, default=15)
    parser.add_argument("--out", type=Path, default=ROOT / "fixtures" / "scenarios")
    parser.add_argument("causes", nargs="*", metavar="CAUSE", help=f"default: {', '.join(CAUSES)}")
    arguments = parser.parse_args()
    for cause in arguments.causes or CAUSES:
        make(arguments.program, cause, arguments.tries, arguments.out)


if __name__ == "__main__":
    main()
