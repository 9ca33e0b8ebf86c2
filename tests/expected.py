#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Known answers: the program's figures for fixtures/traces and fixtures/snapshots against fixtures/expected, which the
generator of the fixtures worked out from its own books. Counts, bytes and times must be equal, not close. Prints TAP."""

import json
import subprocess
import sys
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from program import ROOT, program_of
from tap import Tap


# What the generator calls an oddity, and the warnings that count it; several share one. Those that stand in no line here are
# told by a figure or a detail instead of a count.
ODDITIES = [
    ({"byte_order_mark"}, {"byte-order-mark"}),
    ({"dur_missing"}, {"dur-missing"}),
    ({"dur_negative"}, {"dur-negative"}),
    ({"dur_not_a_number"}, {"dur-not-a-number"}),
    ({"ts_not_a_number"}, {"ts-not-a-number"}),
    ({"name_missing"}, {"name-missing"}),
    ({"name_not_a_string"}, {"name-not-text"}),
    ({"cat_not_a_string"}, {"category-not-text"}),
    ({"bare_nan_or_infinity"}, {"non-finite-number"}),
    ({"invalid_utf8", "lone_surrogate"}, {"invalid-utf8"}),
    ({"raw_control_character"}, {"raw-control-character"}),
    ({"duplicate_key"}, {"duplicate-key"}),
    ({"second_trace_events"}, {"two-event-arrays"}),
    ({"not_an_object"}, {"event-not-an-object"}),
    ({"trailing_comma"}, {"trailing-comma"}),
    ({"unknown_or_missing_ph"}, {"phase-missing", "phase-unknown"}),
    ({"end_without_begin"}, {"end-without-begin"}),
    ({"begin_without_end"}, {"begin-without-end"}),
    ({"crossing_op_pairs"}, {"straddling-rows"}),
    ({"total_size_missing"}, {"size-missing"}),
    ({"segment_type_missing"}, {"segment-type-missing"}),
    ({"size_not_a_number"}, {"size-not-a-number"}),
    ({"size_negative"}, {"size-negative"}),
    ({"block_state_unknown"}, {"block-state-unknown"}),
    ({"blocks_missing"}, {"blocks-missing"}),
    ({"address_not_a_number", "device_not_a_number"}, {"segment-place-not-a-number"}),
    ({"action_missing"}, {"action-missing"}),
    ({"action_unknown"}, {"action-unknown"}),
    ({"time_not_a_number"}, {"time-us-not-a-number"}),
    ({"trace_entry_not_an_object"}, {"entry-not-an-object"}),
    ({"settings_not_an_object"}, {"member-of-wrong-type"}),
]
# Warnings that a fixture without oddities may have: its categories are of another make on purpose.
HARMLESS = {"category-unknown", "no-events", "no-segments"}  # an empty document is what it says


def run(program, option, path, folder):
    report = Path(folder) / "report.json"
    done = subprocess.run([program, option, str(path), "--top-n", "0", "--json-out", str(report), "--md-out",
                           str(Path(folder) / "report.md")], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit(f"Bail out! {path.name}: exit code {done.returncode}: {done.stderr}")
    return json.loads(report.read_text(encoding="utf-8"), parse_float=Decimal)


def rows(table, key_names, names):
    """A table by key, with the named columns only."""
    return {tuple(str(row.get(k)) for k in key_names): {n: row.get(n) for n in names} for row in table}


def compare_ops(tap, name, key, got, want):
    columns = ["count", "total_dur_us", "max_dur_us", "self_dur_us", "self_excl_runtime_dur_us"]
    tap.same(rows(got[key], ["name"], columns), rows(want[key], ["name"], columns), f"{name}: cpu.{key}")


def rounded(table):
    """Ratios with nine digits, as the report has them."""
    return {key: Decimal(f"{value:.8e}") if key.endswith("_ratio") and value is not None else value
            for key, value in table.items()}


def check_oddities(tap, name, got, want):
    counts = {w["code"]: w["count"] for w in got["warnings"]}
    for oddities, codes in ODDITIES:
        known = sum(want["oddities"].get(oddity, 0) for oddity in oddities)
        if known:
            tap.same(sum(counts.get(code, 0) for code in codes), known, f"{name}: {' + '.join(sorted(codes))}")
    if not want["oddities"]:
        tap.same([code for code in counts if code not in HARMLESS], [], f"{name}: nothing else is odd")


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def step_figures(durations):
    """Of all steps in order of time; whole nanoseconds, halves upwards, and ratios with nine digits."""
    def to_ns(value):
        return value.quantize(Decimal("0.001"), ROUND_HALF_UP)
    several = len(durations) > 1
    return {"count": len(durations), "total_us": sum(durations), "mean_us": to_ns(sum(durations) / len(durations)),
            "min_us": min(durations), "max_us": max(durations), "p50_us": to_ns(median(durations)) if several else None,
            "cold_start_ratio": Decimal(f"{durations[0] / to_ns(median(durations[1:])):.8e}") if several else None}


def check_gpu(tap, name, gpu, want):
    devices = gpu["devices"] if gpu else []
    columns = ["device", "window_us", "busy_us", "compute_us", "communication_us", "memcpy_us", "memset_us",
               "exposed_communication_us", "exposed_memcpy_us", "launched_before_recording_count"]
    tap.same([[d["rows"]] + [d[c] for c in columns] for d in devices],
             [[d["events"]] + [d[c] for c in columns] for d in want["gpu"]], f"{name}: gpu.devices")
    tap.same([d["idle_us"] for d in devices], [round(d["window_us"] - d["busy_us"], 3) for d in want["gpu"]],
             f"{name}: busy and idle make up the window")
    columns = ["count", "total_dur_us", "min_dur_us", "max_dur_us"]
    tap.same([[k["name"]] + [k[c] for c in columns] for k in (gpu["kernels"] if gpu else [])],
             [[k["name"]] + [k[c] for c in columns] for k in want["gpu_names"]["kernel"]], f"{name}: gpu.kernels")
    columns = ["count", "total_dur_us", "bytes"]
    tap.same([[k["kind"]] + [k[c] for c in columns] for k in (gpu["copies"] if gpu else [])],
             [[k["name"]] + [k[c] for c in columns] for k in want["gpu_names"]["memcpy"]], f"{name}: gpu.copies")


def check_trace(tap, name, got, want):
    cpu, known = got["cpu"], want["cpu"]
    tap.same(cpu["summary"], known["summary"], f"{name}: cpu.summary")
    compare_ops(tap, name, "top_ops", cpu, known)
    compare_ops(tap, name, "operators", cpu, known)
    tap.same(rows(cpu["top_threads"], ["pid", "tid"], ["total_dur_us"]),
             rows(known["top_threads"], ["pid", "tid"], ["total_dur_us"]), f"{name}: cpu.top_threads")
    tap.same(rows(cpu["threads"], ["pid", "tid"], ["total_dur_us", "busy_us"]),
             rows(known["operator_threads"], ["pid", "tid"], ["total_dur_us", "busy_us"]), f"{name}: cpu.threads")
    check_gpu(tap, name, got["gpu"], want)
    steps = got["steps"]["rows"] if got["steps"] else []
    tap.same([s["dur_us"] for s in steps], [s["dur_us"] for s in want["steps"]], f"{name}: steps")
    if want["steps"]:
        durations = [Decimal(s["dur_us"]) for s in want["steps"]]
        tap.same({key: got["steps"][key] for key in ("count", "total_us", "mean_us", "min_us", "max_us", "p50_us",
                                                     "cold_start_ratio")},
                 step_figures(durations), f"{name}: figures of the steps")
    phases = {phase: count for phase, count in want["events_by_ph"].items() if len(phase) == 1}  # others are no phases
    tap.same(got["trace"]["events"]["by_phase"], phases, f"{name}: trace.events.by_phase")
    categories = {}
    for category, count in want["events_by_cat"].items():
        category = "" if category.isdigit() else category  # a number is none
        categories[category] = categories.get(category, 0) + count
    tap.same({c["category"] or "": c["events"] for c in got["trace"]["categories"] if c["events"]}, categories,
             f"{name}: trace.categories")
    check_oddities(tap, name, got, want)


def check_onnxruntime(tap, name, got, want):
    tap.same([[row["operator"], row["calls"], row["total_us"]] for row in got["onnxruntime"]["operators"]],
             [[row["op_name"], row["count"], row["total_dur_us"]] for row in want["operators_by_op_name"]],
             f"{name}: onnxruntime.operators")
    tap.same(got["onnxruntime"]["window_us"], want["cpu"]["summary"]["time_window_us"], f"{name}: onnxruntime.window_us")
    check_oddities(tap, name, got, want)


def check_snapshot(tap, name, got, want):
    memory, known = got["memory"], want["memory"]
    tap.same(rounded(memory["summary"]), rounded(known["summary"]), f"{name}: memory.summary")
    tap.same({k: rounded(v) for k, v in memory["segment_types"].items()},
             {k: rounded(v) for k, v in known["segment_types"].items()}, f"{name}: memory.segment_types")
    tap.same(memory["largest_segments"][:20], known["largest_segments"], f"{name}: memory.largest_segments")
    tap.same(memory["trace_actions"], known["trace_actions"], f"{name}: memory.trace_actions")
    tap.same(memory["annotations"]["count"], known["annotations"]["count"], f"{name}: memory.annotations.count")
    for key in ("inactive_bytes", "inactive_split_bytes", "wholly_free_segment_bytes", "pending_free_bytes",
                "largest_inactive_block_bytes"):
        if key in want.get("blocks", {}):
            tap.same(memory["state"][key], want["blocks"][key], f"{name}: memory.state.{key}")
    check_oddities(tap, name, got, want)


def main():
    program = program_of(__doc__)
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for answers in sorted((ROOT / "fixtures" / "expected").glob("*.json")):
            want = json.loads(answers.read_text(encoding="utf-8"), parse_float=Decimal)
            path = ROOT / "fixtures" / want["file"]
            if "operators_by_op_name" in want:
                check_onnxruntime(tap, path.name, run(program, "--cpu-trace", path, folder), want)
            elif answers.name.startswith("trace_"):
                check_trace(tap, path.name, run(program, "--cpu-trace", path, folder), want)
            else:
                check_snapshot(tap, path.name, run(program, "--memory-json", path, folder), want)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
