#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of other profilers: the planted cause stands first, of a healthy file nothing is said above a remark; files that
belong together are read together, in any order, as a folder and as --cpu-trace. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, Program, program_of
from tap import Tap
from make_other_profiles import PLANTED

OTHERS = ROOT / "fixtures" / "others"


def run(program, folder, *args):
    path = Path(folder) / "report.json"
    done = Program(program).run(*args, "--json-out", path, "--md-out", os.devnull, text=True)
    return done, json.loads(path.read_text(encoding="utf-8")) if done.returncode == 0 else None


def test_causes(tap, program, folder):
    for case, (names, rule) in PLANTED.items():
        done, report = run(program, folder, *[OTHERS / name for name in names])
        if not tap.ok(done.returncode == 0, f"{case}: is read" + done.stderr):
            continue
        told = [f["rule_id"] for f in report["findings"] if f["severity"] != "info"]
        tap.same(told[:1], [rule] if rule else [], f"{case}: what is said first")


def test_ways(tap, program, folder):
    _, told = run(program, folder, OTHERS / "onnx_launched.json")
    _, untold = run(program, folder, OTHERS / "onnx_launches_alone.json")
    tap.same((told["profile"]["verdict"], untold["profile"]["verdict"], untold["onnxruntime"]["runs"]["outside_us"]),
             ("GPU-bound", "unknown", None), "nodes that only launch: the device's time is told by kernels, or unknown")
    plain, wrapped = OTHERS / "onnx_device.json", Path(folder) / "wrapped.json"
    wrapped.write_text('{"displayTimeUnit": "ms", "traceEvents": %s, "otherData": {"a": []}}' % plain.read_text())
    (_, told), (_, untold) = run(program, folder, plain), run(program, folder, wrapped)
    tap.same(untold and (untold["onnxruntime"], untold["warnings"]), (told["onnxruntime"], []),
             "a profile that a tool for traces has put into an object")
    described = Path(folder) / "layers.json"
    described.write_text(json.dumps([{"Name": "a", "LayerType": "Convolution"}, {"Name": "b", "LayerType": "Reformat"}]))
    _, report = run(program, folder, described)
    tap.same(report and report["tensorrt"]["layers"]["described_count"], 2, "descriptions of layers that are a list")
    tap.same(report and (report["profile"]["verdict"], report["profile"]["sentence"].split(";")[0]),
             ("unknown", "2 layers are described and none is timed: 1 only change layouts"), "and what is missing")
    _, report = run(program, folder, OTHERS / "trt_reformats_layers.json")
    tap.ok(report and "3 only change layouts, of the others 1 compute in FP32 and 3 in" in report["profile"]["sentence"],
           "layers alone: how many there are of which type")
    _, report = run(program, folder, described, OTHERS / "onnx_launched.json")
    tap.same(report and report["profile"]["verdict"], "GPU-bound", "a verdict goes before one that is not known")
    untimed = Path(folder) / "untimed.json"
    untimed.write_text('[{"count": 3}, {"name": "a", "averageMs": "x"}]')
    _, report = run(program, folder, untimed)
    tap.same(report and report["profile"]["sentence"], "no layer of the profile has a time", "a profile without a time")
    _, report = run(program, folder, OTHERS / "onnx_small_nodes.json")
    top = report["onnxruntime"]["operators"][0] if report else {}
    tap.same(report and (report["onnxruntime"]["top_operator_us"], report["onnxruntime"]["top_operator_ratio"]),
             (top.get("total_us"), top.get("share_ratio")), "the operator that takes longest")
    names = PLANTED["trt-reformats"][0]
    _, there = run(program, folder, *[OTHERS / name for name in names])
    _, back = run(program, folder, *[OTHERS / name for name in reversed(names)])
    tap.same(there["tensorrt"], back["tensorrt"], "the order of files does not matter")
    done, report = run(program, folder, "--cpu-trace", OTHERS / "onnx_device.json")
    tap.ok(done.returncode == 0 and report["onnxruntime"]["runs"]["count"] == 12, "a profile that is given as a trace")
    recorded = ROOT / "fixtures" / "recorded" / "training_step_cpu.json.gz"
    done, report = run(program, folder, recorded, OTHERS / "log_text.txt")
    tap.ok(done.returncode == 0 and report["trace"] and report["compile_log"]["breaks"]["count"] == 3,
           "a log beside the trace of the run")
    rules = {f["rule_id"] for f in report["findings"]} if report else set()
    tap.ok("log-break-scalar-read" in rules, "and what it tells is among the findings")
    done = subprocess.run([program, str(OTHERS / "trt_healthy_profile.json"), "--table", "tensorrt.layers.rows",
                           "--sort", "mean_us:desc"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 0 and "MaxPool_2" in done.stdout, "a table of the profile")


def test_sessions(tap, program, folder):
    names = ["onnx_pool.json", "onnx_one_thread.json", "onnx_layouts.json"]
    _, report = run(program, folder, *[OTHERS / name for name in names])
    alone = [run(program, folder, OTHERS / name)[1]["onnxruntime"] for name in sorted(names)]
    told = report["onnxruntime"]
    tap.same([(Path(row["path"]).name, row["graph"], row["runs"]) for row in told["sessions"]],
             [("onnx_layouts.json", 1, 5), ("onnx_one_thread.json", 2, 12), ("onnx_pool.json", 2, 6)],
             "each session is told, and which of them run the same nodes")
    tap.same([(row["median_us"], row["node_us"]) for row in told["sessions"]],
             [(one["runs"]["warm"]["p50_us"], one["nodes"]["total_us"]) for one in alone], "with times as alone")
    outside_us = sum(one["runs"]["outside_us"] for one in alone)
    node_us = sum(one["nodes"]["total_us"] for one in alone)
    tap.same((told["runs"]["count"], told["runs"]["outside_us"], told["nodes"]["total_us"]), (23, outside_us, node_us),
             "sums are of all of them")
    tap.same((told["runs"]["warm"]["p50_us"], told["runs"]["first_us"]), (None, None),
             "graphs that differ have no common median")
    _, report = run(program, folder, *[OTHERS / name for name in names[:2]])
    told = report["onnxruntime"]
    tap.same((told["graphs"], told["runs"]["warm"]["count"], report["profile"]["sentence"].split(", the")[0]),
             (1, 16, "2 sessions of 1 graph, 18 runs"), "runs of one graph are one population")


def test_pictures(tap, program, folder):
    for name, word in (("onnx_fallback.json", "NonMaxSuppression"), ("log_values.log", "step"),
                       ("trt_reformats_profile.json", "only changes the layout")):
        page, pictures = Path(folder) / "report.html", Path(folder) / "pictures"
        done, _ = run(program, folder, OTHERS / name, "--html-out", page, "--pictures-out", pictures)
        tap.ok(done.returncode == 0 and word in (pictures / "profile-bars.svg").read_text(encoding="utf-8"),
               f"{name}: bars as a picture")
        tap.same(page.read_text(encoding="utf-8").count('<figure id="profile-bars"'), 1, f"{name}: and in the page")


def test_named(tap, program, folder):
    for name, text, word in (("et.json", '{"schema": "1.0.1", "pid": 1, "nodes": [{"id": 1}]}', "execution trace"),
                             ("raw.json", "[[17, 0, 512, 3], [18, 1, 512, 3]]", "memory timeline"),
                             ("timeline.json", "[[17, 18], [[1, 2], [3, 4]]]", "memory timeline"),
                             ("out.json", '[{"name": "o", "dimensions": "1x2", "values": [1, 2]}]', "TensorRT")):
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        done, _ = run(program, folder, path)
        tap.ok(done.returncode != 0 and word in done.stderr and "give" in done.stderr, f"{name}: named, with what to do")


def test_large(tap, program, folder):
    """A million nodes with names of their own, and a name of a million bytes."""
    path = Path(folder) / "large.json"
    with path.open("w", encoding="utf-8") as out:
        out.write('[\n{"cat":"Session","pid":1,"tid":1,"dur":4000000,"ts":0,"ph":"X","name":"model_run","args":{}}')
        for i in range(1_000_000):
            out.write(',\n{"cat":"Node","pid":1,"tid":%d,"dur":3,"ts":%d,"ph":"X","name":"n%d_kernel_time",'
                      '"args":{"op_name":"O%d","provider":"CPUExecutionProvider"}}' % (i % 7, i * 4, i, i % 1000))
        out.write("\n]")
    done, report = run(program, folder, path, "--top-n", "5")
    tap.ok(done.returncode == 0 and report["onnxruntime"]["nodes"]["nodes"] == 1_000_000, "a million nodes")
    path.write_text('[{"cat":"Session","ph":"X","ts":0,"dur":9,"name":"model_run"},{"cat":"Node","ph":"X","ts":1,"dur":2,'
                    '"name":"%s_kernel_time"}' % ("<&|" * 300_000), encoding="utf-8")
    done, report = run(program, folder, path)
    tap.ok(done.returncode == 0 and [w["code"] for w in report["warnings"]] == ["input-cut", "text-cut"],
           "a long name, a file cut")


def main():
    program = program_of(__doc__)
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_causes, test_ways, test_sessions, test_pictures, test_named, test_large):
            test(tap, program, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
