#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trace that --trace-out writes: strict JSON, read back without a warning, the events of the input as they were, and the
findings, gaps and steps on tracks of their own; also for hostile, cut and compressed input, and for standard input. And the
options that say what a report is about. Prints TAP."""

import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

from program import ROOT, program_of
from tap import Tap

OURS = "analyze_profile"
TRACKS = ["findings", "idle causes", "critical path", "steps"]
# Warnings about what the events say, not about how they are written: a copy has them as well.
CONTENT = {"category-unknown", "category-missing", "straddling-rows"}


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def strict(data):
    return json.loads(data.decode("utf-8"), parse_float=Decimal, parse_constant=refuse)


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, Path(folder)

    def run(self, *arguments, stdin=b""):
        return subprocess.run([self.path, *map(str, arguments)], input=stdin, capture_output=True, timeout=120, check=False)

    def report(self, trace, *arguments):
        done = self.run("--cpu-trace", trace, "--full", "--md-out", self.folder / "r.md", "--json-out",
                        self.folder / "r.json", *arguments)
        if done.returncode:
            return done, None
        return done, json.loads((self.folder / "r.json").read_text(encoding="utf-8"), parse_float=Decimal)

    def trace(self, trace, *arguments):
        """(report, what was written as it is read, its bytes)"""
        out = self.folder / "out.json"
        out.unlink(missing_ok=True)
        done, report = self.report(trace, "--trace-out", out, *arguments)
        if done.returncode:
            return None, None, done
        data = out.read_bytes()
        return report, strict(data), data

    def warnings(self, data):
        path = self.folder / "again.json"
        path.write_bytes(data)
        done, report = self.report(path)
        return sorted({w["code"] for w in report["warnings"]} - CONTENT) if report else [done.stderr.decode()]


def write(folder, name, data):
    path = Path(folder) / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


# ---- what is written

def pid_of(written):
    return next(e["pid"] for e in written["traceEvents"]
                if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == OURS)


def ours(written):
    """{track: its spans}"""
    pid = pid_of(written)
    labels = {e["tid"]: e["args"]["name"].partition(" (")[0] for e in written["traceEvents"]
              if e.get("pid") == pid and e["ph"] == "M" and e["name"] == "thread_name"}
    spans = {track: [] for track in TRACKS}
    for event in written["traceEvents"]:
        if event.get("pid") == pid and event["ph"] == "X":
            spans[labels[event["tid"]]].append(event)
    return spans


def overlaps(written):
    pid, free_from, count = pid_of(written), {}, 0
    for event in written["traceEvents"]:
        if event.get("pid") == pid and event["ph"] == "X":
            count += event["ts"] < free_from.get(event["tid"], event["ts"])
            free_from[event["tid"]] = event["ts"] + event["dur"]
    return count


def copied(written):
    pid = pid_of(written)
    return [e for e in written["traceEvents"] if e.get("pid") != pid]


def key(event):
    return json.dumps(event, sort_keys=True, default=str)


def check_fixture(tap, program, path):
    name = path.name
    report, written, data = program.trace(path, "--trace-all")
    if report is None:
        is_profile = name == "onnxruntime_array.json"  # it has a report, and no events that could be written again
        tap.same(data.returncode, 2 if is_profile else 3, f"{name}: refused")
        return
    again_report, again, again_data = program.trace(path, "--trace-all")
    tap.same(again_data, data, f"{name}: the same bytes each time")
    has_none = ["no-events"] if name == "empty_events.json" else []
    tap.same(program.warnings(data), has_none, f"{name}: read back without a new warning")
    tap.same(overlaps(written), 0, f"{name}: no spans of a track overlap")
    told = written[OURS]
    tap.same(told["events_read"], report["trace"]["events"]["total"], f"{name}: all events were read")
    tap.same(len(copied(written)) >= told["events_copied"], True, f"{name}: and written")
    drawn = {s["args"]["rule_id"] for s in ours(written)["findings"]}
    want = {f["rule_id"] for f in report["findings"] if f["severity"] != "info" or f["places"]}
    tap.same(drawn, want if report["trace"]["window_us"] else drawn, f"{name}: each finding is drawn")
    tap.same(again_report["findings"], report["findings"], f"{name}: the report does not depend on it")


def check_events_are_kept(tap, program, path):
    with gzip.open(path) as file:
        document = strict(file.read())
    report, written, data = program.trace(path, "--trace-all")
    tap.same(Counter(map(key, copied(written))) == Counter(map(key, document["traceEvents"])), True,
             f"{path.name}: all events as they were")
    for member in ("schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit"):
        if member in document:
            tap.same(written.get(member), document[member], f"{path.name}: {member} as it was")
    report, written, data = program.trace(path)
    places = [(p["start_us"], p["start_us"] + p["dur_us"]) for f in report["findings"] for p in f["places"]]
    timed = [e for e in document["traceEvents"] if e["ph"] == "X"]
    near = Counter(key(e) for e in timed if any(e["ts"] <= end and e["ts"] + e["dur"] >= start for start, end in places))
    tap.same(bool(places), True, f"{path.name}: findings have places")
    tap.same(near - Counter(map(key, copied(written))), Counter(), f"{path.name}: events at the findings are there")
    drawn = {(s["ts"], s["dur"]) for s in ours(written)["findings"]}
    tap.same({(start, end - start) for start, end in places} - drawn, set(),
             f"{path.name}: findings are drawn where they are")
    savings = {f["rule_id"]: f["saves_us"] for f in report["findings"]}
    tap.same([s["args"] for s in ours(written)["findings"] if s["args"].get("saves_us") != savings[s["args"]["rule_id"]]],
             [],
             f"{path.name}: with what they save")
    steps = [e for e in timed if e["name"].startswith("ProfilerStep") and e.get("cat") == "user_annotation"]
    tap.same(sorted((e["name"], e["ts"], e["dur"]) for e in steps),
             sorted((s["name"], s["ts"], s["dur"]) for s in ours(written)["steps"]), f"{path.name}: steps are drawn")


# ---- hostile input

HOSTILE = "</script>\"'\\ \u202e\x1b[31m \u2028 {[}] \U0001f600 " + "x" * 3000


def hostile_document():
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter" + HOSTILE
    base = {"ph": "X", "cat": "cpu_op", "pid": 2000000000, "tid": HOSTILE, "ts": 1754045645187531, "dur": 10.5}
    events = [dict(base, name=loader, cat="user_annotation", dur=500000), dict(base, name=HOSTILE),
              dict(base, name="ProfilerStep#1" + HOSTILE, cat="user_annotation", dur=600000),
              {"ph": "M", "name": "thread_name", "pid": 2000000000, "tid": HOSTILE, "args": {"name": HOSTILE}}]
    text = json.dumps({"displayTimeUnit": HOSTILE, "traceEvents": events}).encode().replace(b"1754045645187531",
                                                                                            b"1754045645187531.125")
    bad = (b',{"ph":"X","cat":"cpu_op","name":"\xff\x01","pid":1,"tid":2,"ts":1754045645187532,"dur":NaN},'
           b'{"ph":"X","cat":"cpu_op","name":"\xff\x01","pid":1,"tid":2,"ts":1754045645187532,'
           b'"dur":1,"args":{"a":Infinity}},'
           b'{"ph":"X","cat":"cpu_op","name":"\xed\xa0\x80\\ud800","pid":1,"tid":2,"ts":1754045645187532.0004,"dur":1},'
           b'{"ph":"B","cat":"cpu_op","name":"open","pid":1,"tid":2,"ts":1754045645187533},'
           b'{"ph":"E","pid":1,"tid":3,"ts":1754045645187533},'
           b'{"ph":"X","cat":"cpu_op","name":"deep","pid":1,"tid":2,"ts":1754045645187532,"dur":1,"args":' +
           b"[" * 5000 + b"]" * 5000 + b'},5]')
    return text[:-2] + bad + text[-1:]


def check_hostile(tap, program):
    path = write(program.folder, "hostile.json", hostile_document())
    for options in ((), ("--trace-all",)):
        report, written, data = program.trace(path, *options)
        tap.same(program.warnings(data), [], f"hostile {options}: read back without a warning")
        tap.same(pid_of(written) > 2000000000, True, f"hostile {options}: a process of its own")
        tap.same(any(e.get("name") == HOSTILE for e in copied(written)), True, f"hostile {options}: names are kept")
        tap.same([s["dur"] for s in ours(written)["steps"]], [600000], f"hostile {options}: the step is drawn")
        tap.same(b"\x1b" in data or "\u202e".encode() in data, False, f"hostile {options}: nothing hidden in what is ours")
        tap.same(b'"ts":1754045645187531.125,"dur":600000,' in data, True, f"hostile {options}: digits are kept")


def check_cuts(tap, program):
    with gzip.open(ROOT / "fixtures" / "traces" / "training_step_cuda.json.gz") as file:
        whole = file.read()
    bad = []
    for place in range(len(whole) // 40, len(whole), len(whole) // 40):
        report, written, data = program.trace(write(program.folder, "cut.json", whole[:place]), "--trace-all")
        if report is None:
            bad += [] if data.returncode == 3 and not (program.folder / "out.json").exists() else [place]
            continue
        if program.warnings(data) or written[OURS]["input_read_to_its_end"] or \
                written[OURS]["events_copied"] != report["trace"]["events"]["total"]:
            bad.append(place)
    tap.same(bad, [], "a cut trace is written up to the cut, as a whole document")


def check_limit(tap, program):
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "dur": 1, "args": {"text": "x" * 2000}}
    events = [{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
               "pid": 1,
               "tid": 1, "ts": 0, "dur": 100000}] + [dict(event, ts=i) for i in range(30000)] + \
             [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "last"}}]
    path = write(program.folder, "large.json", {"traceEvents": events})
    report, written, data = program.trace(path)
    tap.same(45000000 < len(data) < 62000000, True, "50 MB of events at most, and the tracks")
    tap.same(written[OURS]["events_over_limit"] > 1000, True, "the file says how many are missing")
    tap.same(any(e.get("args", {}).get("name") == "last" for e in written["traceEvents"]), True,
             "names of threads are not cut off")
    report, written, data = program.trace(path, "--trace-all")
    tap.same(written[OURS]["events_copied"], len(events), "all with --trace-all")


# ---- outputs

def check_outputs(tap, program):
    path = ROOT / "fixtures" / "traces" / "training_step_cuda.json.gz"
    plain = program.trace(path)[2]
    packed = program.folder / "out.json.gz"
    program.report(path, "--trace-out", packed)
    tap.same(gzip.decompress(packed.read_bytes()) == plain, True, "a name that ends in .gz is compressed")
    done = program.run("--cpu-trace", path, "--md-out", program.folder / "r.md", "--trace-out", "-")
    tap.same(done.stdout == plain, True, "\"-\" is standard output")
    with gzip.open(path) as file:
        done = program.run("--cpu-trace", "-", "--md-out", program.folder / "r.md", "--trace-out", "-", stdin=file.read())
    written = strict(done.stdout)
    tap.same(copied(written), [], "of standard input the tracks alone are written")
    tap.same(bool(ours(written)["findings"] and ours(written)["steps"]), True, "with findings and steps")
    tap.same("standard input" in written[OURS]["selection"] and b"standard input" in done.stderr, True,
             "which is said, twice")
    kept = write(program.folder, "kept.json", b"old")
    done = program.run("--cpu-trace", program.folder / "missing", "--trace-out", kept)
    tap.same((done.returncode, kept.read_bytes()), (3, b"old"), "a failed run leaves the old file")
    done = program.run("--cpu-trace", path, "--md-out", program.folder / "r.md", "--trace-out", "/dev/full")
    tap.same(done.returncode, 4, "a full disk is an output error")


def refused(tap, program, arguments, message):
    done = program.run(*arguments)
    tap.same((done.returncode, message in done.stderr.decode()), (2, True),
             f"refused: {' '.join(map(str, arguments))[-70:]}")


def check_options(tap, program):
    path = ROOT / "fixtures" / "traces" / "training_step_cuda.json.gz"
    snapshot = ROOT / "fixtures" / "snapshots" / "fragmented.json"
    trace = ["--cpu-trace", path]
    out = program.folder / "x.json"
    refused(tap, program, ["--memory-json", snapshot, "--trace-out", out], "--trace-out needs a trace")
    refused(tap, program, [*trace, "--trace-all"], "--trace-out FILE")
    refused(tap, program, [*trace, "--trace-out", path], "overwrite an input")
    refused(tap, program, [*trace, "--trace-out", out, "--json-out", out], "the same file")
    refused(tap, program, [*trace, "--trace-out", "-", "--format", "json"], "standard output")
    refused(tap, program, [*trace, "--folded-out", out], "--folded-out needs a memory snapshot")
    done = program.run(*trace, "--md-out", "/dev/null", "--json-out", "/dev/null")
    tap.same(done.returncode, 0, "two outputs may go to a device")
    refused(tap, program, [*trace, "--focus", "disk"], "cpu, gpu, memory or io")
    refused(tap, program, [*trace, "--focus", "quality"], "cpu, gpu, memory or io")
    refused(tap, program, [*trace, "--phase", "middle"], "forward, inference, backward, optimizer, zero_grad, data_loading")
    for context in ("novalue", "=x", "a b=c", "a" * 65 + "=x", "\u00e9=x"):
        refused(tap, program, [*trace, "--context", context], "--context: KEY=VALUE was expected")
    refused(tap, program, [*trace, "--context", "a=1", "--context", "b=1", "--context", "a=2"],
            "--context: a= is given twice")
    refused(tap, program, [*trace, *(f"--context=k{i}=v" for i in range(65))], "--context: at most 64 labels")

    everything = program.report(path, "--memory-json", snapshot)[1]
    tap.same((everything["focus"], everything["phase"], everything["context"], everything["findings_left_out"]),
             (None, None, {}, 0), "without options nothing is left out")
    for focus in ("cpu", "gpu", "memory", "io"):
        report = program.report(path, "--memory-json", snapshot, "--focus", focus)[1]
        want = [f["rule_id"] for f in everything["findings"] if f["domain"] in (focus, "quality")]
        tap.same([f["rule_id"] for f in report["findings"]], want, f"--focus {focus}: its findings, in their order")
        tap.same(report["findings_left_out"], len(everything["findings"]) - len(want),
                 f"--focus {focus}: the others are counted")
        markdown = (program.folder / "r.md").read_text(encoding="utf-8")
        tap.same(("\n## Memory\n" in markdown, "\n## CPU\n" in markdown), (focus == "memory", focus == "cpu"),
                 f"--focus {focus}: its sections")
    report = program.report(path, "--phase", "optimizer")[1]
    tap.same({tuple(f["phases"]) for f in report["findings"]} <= {(), ("optimizer",), ("optimizer", "zero_grad")}, True,
             "--phase keeps what is about it")
    labels = ["z=1", "a=it's $(x) `y`\n\"\u00e9\"", "empty="]
    report = program.report(path, "--focus", "cpu", *(f"--context={label}" for label in labels))[1]
    tap.same([f"{k}={v}" for k, v in report["context"].items()], labels, "labels stand in their order")
    check_commands(tap, program, report, labels)
    check_phases(tap, program)


def phases_trace(products_in_optimizer):
    """Three steps on a GPU with tensor cores that the products, in 32 bits, leave idle: 3 in forward, 9 in backward."""
    rows, number, at, free_at = [], 0, 1000000, 0
    header = {"id": 0, "name": "Tesla V100-SXM2-16GB", "totalGlobalMem": 1 << 34, "computeMajor": 7, "computeMinor": 0,
              "numSms": 80, "warpSize": 32}

    def call(name, kernel, dur_us):
        nonlocal number, at, free_at
        number, starts = number + 1, max(free_at, at + 20)
        on_host = {"ph": "X", "pid": 1, "tid": 1}
        rows.extend([on_host | {"cat": "cpu_op", "name": name, "ts": at, "dur": 20, "args": {"External id": number}},
                     on_host | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 10,
                                "args": {"correlation": number, "External id": number}},
                     {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": starts, "dur": dur_us,
                      "args": {"correlation": number, "External id": number, "device": 0, "stream": 7}}])
        at, free_at = at + 25, starts + dur_us

    def around(name, kind, calls):
        begun = at
        at_end = [call(*one) for one in calls] and at
        rows.append({"ph": "X", "pid": 1, "tid": 1, "cat": kind, "name": name, "ts": begun - 2, "dur": at_end - begun + 1})

    sgemm, add = ("aten::mm", "volta_sgemm_128x64_nn", 1000), ("aten::add_", "void add_kernel<x>(y)", 500)
    for step in range(3):
        begun = at - 10
        for _ in range(3):
            call(*sgemm)
        around("autograd::engine::evaluate_function: MmBackward0", "cpu_op", [sgemm] * 9)
        around("Optimizer.step#SGD.step", "user_annotation", [sgemm if products_in_optimizer else add] * 2)
        rows.append({"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": at,
                     "dur": free_at - at + 5})
        at = free_at + 10
        rows.append({"ph": "X", "pid": 1, "tid": 1, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begun,
                     "dur": at - begun})
        at += 50
    return {"schemaVersion": 1, "deviceProperties": [header], "traceEvents": rows}


def check_phases(tap, program):
    """A finding about kernels saves what the phase launched of them, and none where it launched none."""
    path = program.folder / "phases.json"
    for in_optimizer in (False, True):
        path.write_text(json.dumps(phases_trace(in_optimizer)), encoding="utf-8")
        saves = {}
        for phase in (None, "forward", "backward", "optimizer"):
            report = program.report(path, *(["--phase", phase] if phase else []))[1]
            saves[phase] = next((f["saves_us"] for f in report["findings"] if f["rule_id"] == "no-tensor-cores"), 0)
        parts = [saves[phase] / saves[None] for phase in ("forward", "backward", "optimizer")] if saves[None] else None
        whole = 14 if in_optimizer else 12
        tap.same([round(part * whole) for part in parts or []], [3, 9, 2 if in_optimizer else 0],
                 "--phase: each phase saves by what it launches")


def check_commands(tap, program, report, labels):
    """A shell takes the command of a finding apart into the options that were given."""
    fake = program.folder / OURS
    fake.write_text("#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n", encoding="utf-8")
    fake.chmod(0o755)
    command = next(f for f in report["findings"] if f["rule_id"] == "missing-stacks")["verify_command"]
    done = subprocess.run(["/bin/sh", "-c", command], cwd=program.folder, env={"PATH": f"{program.folder}:/bin:/usr/bin"},
                          capture_output=True, timeout=20, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    want = ["--cpu-trace", "NEW_TRACE.json.gz", "--json-out", "new.json", "--focus", "cpu"]
    tap.same(words, want + [word for label in labels for word in ("--context", label)], "a shell reads what was given")
    fake.unlink()


def main():
    tap, path = Tap(), program_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, folder)
        for path in sorted((ROOT / "fixtures" / "traces").iterdir()):
            check_fixture(tap, program, path)
        check_events_are_kept(tap, program, ROOT / "fixtures" / "traces" / "training_step_cuda.json.gz")
        check_events_are_kept(tap, program, ROOT / "fixtures" / "recorded" / "training_step_cpu.json.gz")
        check_hostile(tap, program)
        check_cuts(tap, program)
        check_limit(tap, program)
        check_outputs(tap, program)
        check_options(tap, program)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
