#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same run, recorded with less: what is found stays, is told more widely, or falls silent; nothing else takes its place.

    less_recorded.py --program PROGRAM

Of each scenario a part of the recording is left out (Python frames, shapes, steps, arrows, ...) or only the middle of the
window kept. What comes first then with high or critical severity must be what came first before, or one of the wider
findings named below for it; a run that had no such finding gets none. Prints TAP.
To add one: a line in SCENARIOS or CHANGES."""

import gzip
import json
import sys
import tempfile
from pathlib import Path

from program import ROOT, Program, program_of
from tap import Tap

# The scenario, and what may come first when less is known.
SCENARIOS = {
    "cold-start": {"cold-start-step"},
    "driver-lock": {"driver-calls-in-steps"},
    "empty-cache-each-step": {"empty-cache-in-loop", "device-malloc-in-loop"},
    "engine-waits-to-schedule": {"engine-gaps", "graph-gaps"},
    "engine-waits-to-schedule-healthy": set(),
    "garbage-collection": {"explicit-gc", "host-bound", "unrecorded-host-time"},
    "gradient-accumulation-without-no-sync": {"accumulation-reduces", "exposed-communication"},
    "gradient-accumulation-without-no-sync-healthy": set(),
    "malloc-in-loop": {"device-malloc-in-loop"},
    "per-tensor-optimizer": {"per-tensor-optimizer", "uncompiled-elementwise"},
    "per-tensor-optimizer-healthy": set(),
    "sampled-rows": set(),
    "slow-input-pipeline": {"dataloader-wait", "host-bound", "unrecorded-host-time"},
    "sync-every-iteration": {"explicit-sync"},
    "sync-every-iteration-healthy": set(),
    "tiny-kernels": {"host-bound-small-ops"},
    "tiny-kernels-healthy": set(),
    "pytorch-deep-copied": {"deep-copies"},
    "pytorch-heads-one-by-one-healthy": set(),
    "pytorch-slow-worker": {"dataloader-wait"},
}


def without_rows(leaves_out):
    return lambda events: [event for event in events if not leaves_out(event)]


def category(event):
    return str(event.get("cat", "")).lower()


def without_args(*keys):
    def change(events):
        return [event if not isinstance(event.get("args"), dict)
                else event | {"args": {key: value for key, value in event["args"].items() if key not in keys}}
                for event in events]
    return change


def middle(events):
    """What lies wholly within the middle three fifths of the time, and all that has no time."""
    timed = [event for event in events if event.get("ph") == "X" and category(event) != "trace"]
    start = min(event["ts"] for event in timed)
    whole = max(event["ts"] + event["dur"] for event in timed) - start
    return [event for event in events if event.get("ph") != "X"
            or start + 0.2 * whole <= event["ts"] and event["ts"] + event["dur"] <= start + 0.8 * whole]


CHANGES = {
    "Python frames": without_rows(lambda event: category(event) == "python_function"),
    "shapes": without_args("Input Dims", "Input type", "Input Strides", "Concrete Inputs"),
    "steps": without_rows(lambda event: str(event.get("name", "")).startswith("ProfilerStep")),
    "annotations": without_rows(lambda event: category(event) in ("user_annotation", "gpu_user_annotation")),
    "arrows": without_rows(lambda event: event.get("ph") in ("s", "t", "f")),
    "calls of the runtime": without_rows(lambda event: category(event) in ("cuda_runtime", "cuda_driver")),
    "numbers that link": without_args("correlation", "External id", "Ev Idx", "Sequence number"),
    "all but the middle": middle,
}


def first_of(program, document, folder):
    """The first finding, where it is of high or critical severity."""
    path = Path(folder) / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    findings = Program(program).json(path)["findings"]
    return findings[0]["rule_id"] if findings and findings[0]["severity"] in ("high", "critical") else None


# Calls of the runtime behind a run on the CPU of a machine with a GPU: are rows of the GPU missing, or was it given no work?
CALLS = {
    (): "gpu-rows-missing",
    ("cudaDeviceSynchronize",): "gpu-unused",
    ("hipDeviceSynchronize",): "gpu-unused",
    ("cudaLaunchKernel", "cudaDeviceSynchronize"): "gpu-rows-missing",
    ("cudaMemcpyAsync", "cudaDeviceSynchronize"): "gpu-rows-missing",
    ("cudaGraphLaunch", "cudaDeviceSynchronize"): "gpu-rows-missing",
}


def check_unused(program, folder, tap):
    data = (ROOT / "fixtures" / "scenarios" / "pytorch-no-cache" / "trace.json.gz").read_bytes()
    document = json.loads(gzip.decompress(data)) | {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
    rows = [event for event in document["traceEvents"] if category(event) == "cpu_op"]
    path, end = Path(folder) / "trace.json", max(row["ts"] + row["dur"] for row in rows)
    for calls, want in CALLS.items():
        behind = [rows[0] | {"cat": "cuda_runtime", "name": call, "ts": end + 10 * i, "args": {"correlation": i + 1}}
                  for i, call in enumerate(calls)]
        path.write_text(json.dumps(document | {"traceEvents": document["traceEvents"] + behind}), encoding="utf-8")
        report = Program(program).json(path)
        rules = [finding["rule_id"] for finding in report["findings"]]
        bound = "CPU-bound" if want == "gpu-unused" else "unknown"
        judged = "growing-prefix" in rules
        tap.ok(want in rules and report["verdict"]["bound"] == bound and judged == (bound == "CPU-bound"),
               f"{', '.join(calls) or 'no calls'}: {want}", rules)


def check_cut(program, folder, tap):
    """Rows of the GPU may stand behind the cut: then recording it anew is no first advice."""
    path = Path(folder) / "trace.json"
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 9}
    whole = json.dumps({"schemaVersion": 1, "traceEvents": [call, call | {"ts": 20}]})
    for text in (whole, whole[:-2]):
        path.write_text(text, encoding="utf-8")
        report = Program(program, Path(folder)).report(path)[1]
        said = report["verdict"]["sentence"] + report["findings"][0]["action"]
        tap.same(("the file is cut" in said, "get the whole file first" in said), (text != whole,) * 2,
                 "a cut file" if text != whole else "a whole file")


def check_counters(program, folder, tap):
    """Ranges of a profiler that counts belong to no call; a stream's wait, of whose work the rows are missing, does."""
    path = Path(folder) / "trace.json"
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 9,
            "args": {"correlation": 1}}
    arguments = {"cuda_profiler_range": {"smsp__inst_executed.sum": 7}, "cuda_sync": {"correlation": 1, "stream": 7}}
    for what, args in arguments.items():
        row = {"ph": "X", "cat": what, "name": "gemm", "pid": 0, "tid": 7, "ts": 2, "dur": 5, "args": args}
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [call, row]}), encoding="utf-8")
        said = Program(program).json(path)["verdict"]["sentence"]
        tap.ok(("only counters" in said) == (what == "cuda_profiler_range"), f"{what} alone", said)


def launched(start_us, count, offset_us=0, recorded=True):
    """Steps of eight products of 1 ms and a pause of 12 ms; device rows lie @offset_us off, and may have no launch."""
    rows = []
    for i in range(count):
        at, number = start_us + 20000 * (i // 8) + 1000 * (i % 8), int(start_us) + i
        host = {"ph": "X", "pid": 1, "tid": 1, "args": {"correlation": number}}
        rows += recorded * [host | {"cat": "cpu_op", "name": "aten::mm", "ts": at, "dur": 40, "args": {}},
                            host | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 10, "dur": 10}]
        rows.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 50 + offset_us, "dur": 990,
                     "args": {"correlation": number, "device": 0, "stream": 7}})
    return rows


# rows, what the verdict is, and whether the pauses are the host's
EDGES = {
    "one clock": (launched(1e6, 80), "CPU-bound", True),
    "a device whose clock is 3 ms behind": (launched(1e6, 80, -3000), "unknown", False),
    "a device whose clock is 5 s behind": (launched(1e7, 80, -5e6), "unknown", False),
    "a device whose clock began elsewhere": (launched(1.7e15, 80, -1.7e15), "unknown", False),
    "a full device with a clock 3 ms behind": (launched(1e6, 8, -3000), "GPU-bound", False),
    "work of before, and a pause until the host is recorded": (launched(1e6, 8, recorded=False) + launched(1.1e6, 8),
                                                               "GPU-bound", False),
    "work of before, and a pause of the recorded host": (
        [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1e6, "dur": 40}] +
        launched(1e6, 8, recorded=False) + launched(1.1e6, 8), "CPU-bound", True),
}


def check_edges(program, folder, tap):
    """What the host did is asked only where the recording tells it."""
    path = Path(folder) / "trace.json"
    for what, (rows, bound, of_host) in EDGES.items():
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}), encoding="utf-8")
        report = Program(program).json(path)
        judged = report["split"]["judged"]["idle_causes"]["untraced_us"] > 1000
        tap.ok([report["verdict"]["bound"], judged] == [bound, of_host], what, report["verdict"]["sentence"])


def main():
    program, tap = program_of(__doc__), Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, allowed in SCENARIOS.items():
            data = (ROOT / "fixtures" / "scenarios" / name / "trace.json.gz").read_bytes()
            document = json.loads(gzip.decompress(data))
            first = first_of(program, document, folder)
            tap.ok(first is None or first in allowed, f"{name}: as recorded", first)
            for what, change in CHANGES.items():
                less = document | {"traceEvents": change(document["traceEvents"])}
                if less != document:
                    first = first_of(program, less, folder)
                    tap.ok(first is None or first in allowed, f"{name}: without {what}", first)
        check_unused(program, folder, tap)
        check_cut(program, folder, tap)
        check_counters(program, folder, tap)
        check_edges(program, folder, tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
