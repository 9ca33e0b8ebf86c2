#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real sample files: the program's figures against known values and against the same figures worked out here, independently
and slowly, with exact numbers. The folder is named by --traces or AP_TRACES; without one the tests are skipped.

real_traces.py --program PROGRAM [--traces FOLDER]. Prints TAP.
"""
import heapq
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from program import parser_of, unpacked
from tap import Tap

RUN_LIMIT_S = 300
GPU_KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}

RUNTIME_CATEGORIES = {"cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "hip_driver", "privateuse1_runtime",
                      "xpu_runtime"}

# Worked out twice by others, from the files as they are published: events, GPU rows, and nanoseconds of window, busy time
# and communication; then the steps.
KNOWN = {
    "hta_nccl_data.json.gz": (40573, 3774, 660551005, 157500014, 46876493, [219726905, 222442191, 224936243]),
    "tl_b200_eager.json.gz": (24656, 929, 84487178, 11596482, 2141501, None),
    "tl_mi300_resnet_act_checkpoint.json.gz": (56451, 3653, 86567708, 84002056, 71516523, [15887029, 15950958, 16798984]),
    "hta_cp_alexnet.json.gz": (1408, 98, 12920244000, 66141000, 0, None),
}
# Files of other kinds, and a word of the message that names them.
REFUSED = {"hta_et_simple_add_et.json.gz": "execution trace"}
SNAPSHOT_FOLDERS = ("snapshots/", "jobs-memory/")


def run(program, option, path):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        done = subprocess.run([program, option, str(path), "--top-n", "0", "--json-out", str(out), "--md-out",
                               str(Path(folder) / "report.md")], capture_output=True, text=True, timeout=RUN_LIMIT_S,
                              check=False)
        report = json.loads(out.read_text(encoding="utf-8"), parse_float=Decimal) if out.exists() else None
        return done, report


def read_document(path):
    return json.loads(unpacked(path), parse_float=Decimal)


# ---- the same figures again

def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def to_ns(us):
    return int((Decimal(us) * 1000).to_integral_value(ROUND_HALF_UP))


def to_us(ns):
    """As the report writes it: a whole number where it is one."""
    us = Decimal(ns) / 1000
    return int(us) if us == us.to_integral_value() else us


def union(intervals):
    total, covered_to = 0, None
    for start, end in sorted(intervals):
        if covered_to is None or start > covered_to:
            total += end - start
            covered_to = end
        elif end > covered_to:
            total += end - covered_to
            covered_to = end
    return total


def self_times(rows):
    """By row: the time during which it is the innermost open one, from boundary to boundary. rows: (start, end, name)."""
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    bounds = sorted({bound for start, end, _ in rows for bound in (start, end)})
    result, opened, at = [0] * len(rows), [], 0
    for low, high in zip(bounds, bounds[1:]):
        while at < len(order) and rows[order[at]][0] <= low:
            index = order[at]
            start, end, _ = rows[index]
            # latest start, then the shorter, then the later in the file
            heapq.heappush(opened, (-start, end - start, -index))
            at += 1
        while opened and rows[-opened[0][2]][1] <= low:
            heapq.heappop(opened)
        if opened:
            result[-opened[0][2]] += high - low
    return result


class Slow:
    """One trace, read by Python's own reader into exact numbers."""

    def __init__(self, document):
        self.events = document["traceEvents"] if isinstance(document, dict) else document
        self.rows = []
        for event in self.events:
            if isinstance(event, dict) and event.get("ph") == "X" and is_number(event.get("dur")):
                start = to_ns(event["ts"]) if is_number(event.get("ts")) else None
                self.rows.append((event, start, to_ns(event["dur"])))

    @staticmethod
    def category(event):
        return str(event.get("cat") or "").lower()

    def cpu_rows(self):
        return [row for row in self.rows if "cpu" in self.category(row[0])]

    def summary(self):
        placed = [(start, start + dur) for _, start, dur in self.rows if start is not None]
        window = to_us(max(end for _, end in placed) - min(start for start, _ in placed)) if placed else None
        return {
            "events_total": len(self.events),
            "x_events_total": sum(isinstance(e, dict) and e.get("ph") == "X" for e in self.events),
            "cpu_x_events": len(self.cpu_rows()),
            "time_window_us": window,
            "unique_cpu_ops": len({str(event.get("name", "unknown")) for event, _, _ in self.cpu_rows()}),
        }

    def operators(self):
        """Count, total, largest and self time by name, and busy time by thread, of rows of category cpu_op."""
        ops, threads = {}, {}
        for event, start, dur in self.rows:
            if self.category(event) != "cpu_op":
                continue
            op = ops.setdefault(event["name"], {"count": 0, "total_dur_us": 0, "max_dur_us": 0, "self_dur_us": 0})
            op["count"] += 1
            op["total_dur_us"] += dur
            op["max_dur_us"] = max(op["max_dur_us"], dur)
            threads.setdefault((str(event["pid"]), str(event["tid"])), []).append((start, start + dur, event["name"]))
        busy = {}
        for thread, rows in threads.items():
            busy[thread] = to_us(union([(start, end) for start, end, _ in rows]))
            for (_, _, name), self_ns in zip(rows, self_times(rows)):
                ops[name]["self_dur_us"] += self_ns
        return {name: {k: v if k == "count" else to_us(v) for k, v in op.items()} for name, op in ops.items()}, busy

    def gpu(self):
        """By device: rows, window and busy time."""
        devices = {}
        for event, start, dur in self.rows:
            if self.category(event) in GPU_KINDS:
                device = (event.get("args") or {}).get("device", event["pid"])
                devices.setdefault(int(device), []).append((start, start + dur))
        return [(device, len(rows), to_us(max(e for _, e in rows) - min(s for s, _ in rows)), to_us(union(rows)))
                for device, rows in sorted(devices.items())]

    def gpu_names(self, kind):
        """Of kernels or copies by name: rows, time, shortest, longest."""
        names = {}
        for event, _, dur in self.rows:
            if GPU_KINDS.get(self.category(event)) == kind:
                names.setdefault(event["name"], []).append(dur)
        return {name: [len(durs), to_us(sum(durs)), to_us(min(durs)), to_us(max(durs))] for name, durs in names.items()}

    def exposed_communication(self):
        """Communication that no other kernel and no memset covers, over all devices; by the names of the known files."""
        exposed, devices = 0, {}
        for event, start, dur in self.rows:
            kind = GPU_KINDS.get(self.category(event))
            if kind and kind != "memcpy":
                is_comm = kind == "kernel" and any(word in event["name"].lower() for word in ("nccl", "multimem_all_reduce"))
                devices.setdefault(event["args"]["device"], ([], []))[is_comm].append((start, start + dur))
        for others, communication in devices.values():
            exposed += union(others + communication) - union(others)
        return to_us(exposed)


    def gpu_split(self, communication):
        """By device: unions of compute, communication, copies and memsets, and what of communication and copies is exposed.
        The names of communication are the report's: which names those are is decided in one table, not here."""
        devices = {}
        for event, start, dur in self.rows:
            kind = GPU_KINDS.get(self.category(event))
            if kind == "kernel" and event["name"] in communication:
                kind = "communication"
            if kind:
                rows = devices.setdefault(int((event.get("args") or {}).get("device", event["pid"])), {})
                rows.setdefault(kind, []).append((start, start + dur))
        result = {}
        for device, rows in devices.items():
            kernels, comms, copies, memsets = (rows.get(kind, []) for kind in ("kernel", "communication", "memcpy",
                                                                               "memset"))
            first, both = union(kernels + memsets), union(kernels + memsets + comms)
            result[device] = [to_us(ns) for ns in (
                union(kernels), union(comms), union(copies), union(memsets), both - first,
                union(kernels + memsets + comms + copies) - both)]
        return result

    def copies(self):
        """By kind: rows, time, bytes (None where no row tells them)."""
        kinds = {}
        for event, _, dur in self.rows:
            if GPU_KINDS.get(self.category(event)) == "memcpy":
                row = kinds.setdefault(event["name"], [0, 0, None])
                row[0] += 1
                row[1] += dur
                if is_number((event.get("args") or {}).get("bytes")):
                    row[2] = (row[2] or 0) + event["args"]["bytes"]
        return {kind: [count, to_us(ns), size] for kind, (count, ns, size) in kinds.items()}

    def runtime_calls(self):
        calls = {}
        for event, _, dur in self.rows:
            if self.category(event) in RUNTIME_CATEGORIES:
                row = calls.setdefault(event["name"], [0, 0])
                row[0] += 1
                row[1] += dur
        return {call: [count, to_us(ns)] for call, (count, ns) in calls.items()}

    def launch_key(self):
        """What names the call of a row of work: its correlation; where no row of work has one, the External id that it
        shares with a call, if no two calls share one."""
        work = [event.get("args") or {} for event, _, _ in self.rows if self.category(event) in GPU_KINDS]
        if any("correlation" in args for args in work):
            return "correlation"
        of_work = {args.get("External id") for args in work}
        of_calls = [(event.get("args") or {}).get("External id") for event, _, _ in self.rows
                    if self.category(event) in RUNTIME_CATEGORIES]
        shared = [call_id for call_id in of_calls if call_id is not None and call_id in of_work]
        return "External id" if len(set(shared)) == len(shared) else "correlation"

    def launches(self):
        """Linked and unlinked rows, starts before the end of the call, and delays from its start, in order."""
        key, calls, delays, unlinked, early = self.launch_key(), {}, [], 0, 0
        for event, start, dur in self.rows:
            if self.category(event) in RUNTIME_CATEGORIES and key in (event.get("args") or {}):
                calls.setdefault(event["args"][key], (start, start + dur))
        for event, start, _ in self.rows:
            if self.category(event) in GPU_KINDS:
                call = calls.get((event.get("args") or {}).get(key))
                unlinked += call is None
                if call:
                    delays.append(start - call[0])
                    early += start < call[1]
        return len(delays), unlinked, early, sorted(delays)

    def steps(self):
        """Of the host, in order of time."""
        rows = [(start, event["name"], dur) for event, start, dur in self.rows
                if re.match(r"ProfilerStep\s*#\s*\d", event.get("name") or "")
                and self.category(event) != "gpu_user_annotation"]
        return [(name, to_us(start), to_us(dur)) for start, name, dur in sorted(rows)]


def interpolated(ordered, percent):
    """Between the closest ranks, in nanoseconds."""
    at = Decimal(percent) * (len(ordered) - 1) / 100
    low = int(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def is_near(us, ns):
    """The report's figure is the exact one but for rounding to whole nanoseconds."""
    return us is not None and abs(us * 1000 - ns) <= 1


def check_steps(tap, name, steps, want):
    if not want:
        return
    tap.same([(row["name"], row["start_us"], row["dur_us"]) for row in steps["rows"]], want, f"{name}: steps.rows")
    ordered = sorted(Decimal(dur) * 1000 for _, _, dur in want)
    mean = sum(ordered) / len(ordered)
    figures = {"mean_us": mean, "min_us": ordered[0], "max_us": ordered[-1]}
    if len(ordered) > 1:
        figures["std_us"] = (sum((dur - mean) ** 2 for dur in ordered) / len(ordered)).sqrt()
    else:
        tap.same([steps["std_us"], steps["cv_ratio"]], [None, None], f"{name}: one step has no spread")
    for percent in (50, 90, 95, 99):
        if steps[f"p{percent}_us"] is not None:
            figures[f"p{percent}_us"] = interpolated(ordered, percent)
    tap.same(steps["count"], len(want), f"{name}: steps.count")
    tap.same([key for key, ns in figures.items() if not is_near(steps[key], ns)], [], f"{name}: steps")


def check_launches(tap, name, launches, slow):
    linked, unlinked, early, delays = slow.launches()
    if launches is None:
        tap.same(linked, 0, f"{name}: no launches, no links")
        return
    tap.same([launches[key] for key in ("linked_count", "unlinked_device_count", "started_before_call_end_count")],
             [linked, unlinked, early], f"{name}: launches")
    if delays:
        figures = {"mean": Decimal(sum(delays)) / linked, "max": delays[-1]}
        figures.update({f"p{percent}": interpolated(delays, percent) for percent in (50, 90, 99)})
        tap.same([key for key, ns in figures.items() if not is_near(launches["queue_delay_us"][key], ns)], [],
                 f"{name}: launches.queue_delay_us")


SPLIT_PARTS = ("compute_us", "memset_us", "exposed_communication_us", "exposed_memcpy_us", "idle_us")


def check_sums(tap, name, report):
    """What is told in parts adds up, to the nanosecond."""
    split, path, gpu = report["split"], report["critical_path"], report["gpu"]
    bad = []
    for part in [split["window"], split["steady"], split["judged"], *split["steps"]] if split else []:
        if part and part["compute_us"] is not None:
            causes = [value for key, value in (part["idle_causes"] or {}).items() if key.endswith("_us")]
            bad += [part] * (sum(part[key] for key in SPLIT_PARTS) != part["dur_us"] or
                             None not in causes and sum(causes) != part["idle_us"])
    tap.same(bad, [], f"{name}: parts of the split add up")
    if path:
        tap.same([path["length_us"], sum(row["dur_us"] for row in path["classes"])], [path["window_us"]] * 2,
                 f"{name}: the critical path is as long as the window")
    if gpu:
        kernels = sum(row["total_dur_us"] for row in gpu["kernels"])
        tap.same([sum(row["total_dur_us"] for row in gpu[key]) for key in ("families", "subfamilies")], [kernels] * 2,
                 f"{name}: families add up to the kernels")
        tap.same([row["device"] for row in gpu["devices"] if row["busy_us"] + row["idle_us"] != row["window_us"]], [],
                 f"{name}: busy and idle make the window")
    phases = report["phases"]
    if phases and phases["device_us"] is not None:
        tap.same(sum(row["device_us"] or 0 for row in phases["items"]), phases["device_us"], f"{name}: phases add up")


def check_parts(tap, name, report, document):
    slow, gpu = Slow(document), report["gpu"]
    columns = ("compute_us", "communication_us", "memcpy_us", "memset_us", "exposed_communication_us", "exposed_memcpy_us")
    communication = {row["name"] for row in gpu["communication"]["names"]} if gpu else set()
    tap.same({row["device"]: [row[key] for key in columns] for row in gpu["devices"]} if gpu else {},
             slow.gpu_split(communication), f"{name}: gpu.devices by kind")
    tap.same({row["kind"]: [row["count"], row["total_dur_us"], row["bytes"]] for row in gpu["copies"]} if gpu else {},
             slow.copies(), f"{name}: gpu.copies")
    want = slow.runtime_calls()
    calls = {row["name"]: [row["count"], row["total_dur_us"]]
             for row in report["runtime"]["calls"]} if report["runtime"] else {}
    tap.same({call: calls.get(call) for call in want}, want, f"{name}: runtime.calls")
    check_launches(tap, name, report["launches"], slow)
    check_steps(tap, name, report["steps"], slow.steps())
    check_sums(tap, name, report)


def check_against_slow(tap, name, report, document):
    slow, cpu = Slow(document), report["cpu"]
    tap.same(cpu["summary"], slow.summary(), f"{name}: cpu.summary")
    operators, busy = slow.operators()
    if operators:  # of exporters that write the category cpu_op
        columns = ("count", "total_dur_us", "max_dur_us", "self_dur_us")
        tap.same({row["name"]: {c: row[c] for c in columns} for row in cpu["operators"]}, operators,
                 f"{name}: cpu.operators")
        tap.same({(str(t["pid"]), str(t["tid"])): t["busy_us"] for t in cpu["threads"]}, busy, f"{name}: cpu.threads")
        tap.same(sum(row["self_dur_us"] for row in cpu["operators"]), sum(t["busy_us"] for t in cpu["threads"]),
                 f"{name}: self times add up to busy times")
    devices = report["gpu"]["devices"] if report["gpu"] else []
    tap.same([(d["device"], d["rows"], d["window_us"], d["busy_us"]) for d in devices], slow.gpu(), f"{name}: gpu.devices")
    kernels = report["gpu"]["kernels"] if report["gpu"] else []
    tap.same({k["name"]: [k["count"], k["total_dur_us"], k["min_dur_us"], k["max_dur_us"]] for k in kernels},
             slow.gpu_names("kernel"), f"{name}: gpu.kernels")
    check_parts(tap, name, report, document)


def check_known(tap, name, report, document):
    events, rows, window, busy, communication, steps = KNOWN[name]
    gpu = report["gpu"]
    tap.same(report["cpu"]["summary"]["events_total"], events, f"{name}: {events} events")
    tap.same([gpu["rows"], gpu["window_us"], gpu["busy_us"], gpu["communication"]["busy_us"]],
             [rows, to_us(window), to_us(busy), to_us(communication)], f"{name}: rows, window, busy and communication time")
    tap.same(gpu["communication"]["exposed_us"], Slow(document).exposed_communication(), f"{name}: exposed communication")
    if steps:
        tap.same(sorted(item["dur_us"] for item in report["steps"]["rows"]), [to_us(step) for step in steps],
                 f"{name}: steps")


def check_snapshot(tap, name, report, document):
    segments = document["segments"] if isinstance(document, dict) else document
    keys = {"reserved_bytes": "total_size", "allocated_bytes": "allocated_size", "active_bytes": "active_size",
            "requested_bytes": "requested_size"}
    want = {key: sum(segment.get(field) or 0 for segment in segments) for key, field in keys.items()}
    tap.same({key: report["memory"]["summary"][key] for key in keys}, want, f"{name}: memory.summary")
    free = sum(block["size"] for segment in segments for block in segment["blocks"] if block["state"] == "inactive")
    tap.same(report["memory"]["state"]["inactive_bytes"], free, f"{name}: memory.state.inactive_bytes")
    traces = (document.get("device_traces") or []) if isinstance(document, dict) else []
    actions = {}
    for entry in (entry for trace in traces for entry in trace):
        actions[entry["action"]] = actions.get(entry["action"], 0) + 1
    tap.same(report["memory"]["trace_actions"]["counts"], actions, f"{name}: memory.trace_actions.counts")


def recordings(folder):
    """(path, name, whether it is a snapshot): what was recorded, not what is told of it."""
    for path in sorted(folder.rglob("*.json*")):
        name = path.relative_to(folder).as_posix()
        if path.name != "truth.json":
            yield path, name, name.startswith(SNAPSHOT_FOLDERS)


def check_folder(tap, program, folder):
    for path, name, is_snapshot in recordings(folder):
        if name in REFUSED or is_snapshot:
            done, report = run(program, "--cpu-trace", path)
            tap.same((done.returncode, report, REFUSED.get(name, "snapshot") in done.stderr), (3, None, True),
                     f"{name}: refused as a trace, by name")
        if is_snapshot:
            done, report = run(program, "--memory-json", path)
            tap.same(done.returncode, 0, f"{name}: a report")
            if report:
                check_snapshot(tap, name, report, read_document(path))
        if name in REFUSED or is_snapshot:
            continue
        done, report = run(program, "--cpu-trace", path)
        tap.same(done.returncode, 0, f"{name}: a report")
        if not report:
            continue
        document = read_document(path)
        if name in KNOWN:
            check_known(tap, name, report, document)
        if report.get("cpu"):
            check_against_slow(tap, name, report, document)
        else:  # of another profiler, which other_profiles.py looks at
            tap.same(bool(report["profile"]), True, f"{name}: told as what it is")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--traces", default=os.environ.get("AP_TRACES", ""))
    arguments = parser.parse_args()
    if not arguments.traces:
        print("1..0 # SKIP NO REAL TRACES: name their folder with -Dtraces=FOLDER or in AP_TRACES")
        return 0
    folder = Path(arguments.traces)
    tap = Tap()
    tap.same(folder.is_dir(), True, "the folder is there")
    check_folder(tap, str(Path(arguments.program).resolve()), folder)
    tap.same(tap.count > 1, True, "there are files in it")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
