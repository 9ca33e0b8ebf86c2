#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GPU graphs that are replayed: their kernels get operators, shapes and lines from a trace given beside; layers are found by
what repeats; rates of GPUs come from a table of the user's.  replay.py --program PROGRAM. Prints TAP."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, program_of
from tap import Tap
import make_graph_replay as made

PEAKS = """# Ours

| Device | Kind | fp32 | 16 bit | GB/s |
| --- | --- | --- | --- | --- |
| %s | AMD | 100 | %s | 5000 |
"""


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, Path(folder)

    def file(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def run(self, trace, *options):
        out = self.folder / "report.json"
        out.unlink(missing_ok=True)
        done = subprocess.run([self.path, "--cpu-trace", str(trace), *map(str, options), "--json-out", str(out), "--md-out",
                               str(self.folder / "report.md"), "--top-n", "0"], capture_output=True, text=True, timeout=60,
                              check=False)
        return done, json.loads(out.read_text()) if out.exists() else None


def mapped(program, run, mapping):
    _, report = program.run(program.file("run.json", run), "--mapping-trace", program.file("mapping.json", mapping))
    return report


def of_operator(report, name, key):
    return [row[key] for row in report["graphs"]["operators"] if row["operator"] == name]


def check_matches(tap, program):
    kernels = len(made.kernels(16)) * made.STEPS
    report = mapped(program, made.replay(), made.capture())
    graphs = report["graphs"]
    tap.same((graphs["launches"], graphs["kinds"], graphs["kernels"], graphs["mapped_kernels"], graphs["mapped_ratio"]),
             (made.STEPS, 1, kernels, kernels, 1), "all kernels of all launches are found in the capture")
    tap.same(graphs["items"][0]["match"], "capture", "as a captured graph")
    tap.same(sorted(of_operator(report, "aten::mm", "dims")),
             ["[[16, 1024], [1024, 1024]]", "[[16, 1024], [1024, 3072]]", "[[16, 1024], [1024, 32000]]"],
             "each kernel has the shapes of its call")
    tap.same(of_operator(report, "aten::embedding", "line"), ["model.py(5): forward"], "and the line")
    products = [row for row in report["compute"]["operators"] if row["operator"] == "aten::mm"]
    tap.same(sum(row["flops"] * row["timed_count"] for row in products),
             made.STEPS * 2 * 16 * 1024 * (made.LAYERS * 4096 + 32000), "operations of the products in graphs count")
    report = mapped(program, made.replay(), made.eager())
    tap.same((report["graphs"]["items"][0]["match"], report["graphs"]["mapped_ratio"]), ("sequence", 1),
             "a run without graphs serves as well")
    order = list(range(len(made.kernels(16))))
    order[3], order[4] = order[4], order[3]
    report = mapped(program, made.replay(order=order), made.capture())
    tap.same((report["graphs"]["items"][0]["match"], report["graphs"]["mapped_ratio"]), ("count", 1),
             "branches may run in another order")


def check_doubts(tap, program):
    report = mapped(program, made.replay(), made.capture(batches=(8, 16)))
    tap.same((report["graphs"]["items"][0]["shapes_differ"], report["graphs"]["mapped_ratio"]), (True, 1),
             "of several batch sizes none is guessed")
    tap.same(set(of_operator(report, "aten::mm", "dims")), {None}, "shapes that differ are left out")
    other = made.replay()
    other["traceEvents"][5]["name"] = "another_kernel"
    report = mapped(program, made.document([event for event in other["traceEvents"]
                                            if event["args"].get("correlation", 70) == 70]), made.capture())
    tap.same((report["graphs"]["mapped_kernels"], report["graphs"]["operators"]), (0, []),
             "a graph of other kernels gets no operator")
    _, report = program.run(program.file("run.json", made.replay()))
    tap.same(report["graphs"]["mapped_kernels"], None, "without a trace beside nothing is known")


def check_layers(tap, program):
    _, report = program.run(program.file("run.json", made.replay()))
    repeats = report["repeats"]
    layer_us = sum(kernel[4] for kernel in made.layer(16))
    tap.same((repeats["length"], repeats["in_a_row"], repeats["count"], repeats["mean_us"]),
             (7, made.LAYERS, made.STEPS * made.LAYERS, layer_us), "the layer: its kernels, how many, how long")
    tap.same([(row["fused"], row["count"]) for row in repeats["fusions"]],
             [("residual addition and RMS norm", made.STEPS * made.LAYERS)], "neighbors with one kernel for both")
    tap.same(repeats["fusion_saves_us"], 4 * made.STEPS * made.LAYERS, "the shorter one is what it saves at most")
    plain = made.document([made.device_row((0, 0, 0, f"kernel{i}", 5), 1000 + 10 * i, 1) for i in range(60)])
    _, report = program.run(program.file("run.json", plain))
    tap.same(report["repeats"], None, "where nothing repeats there is no layer")


def check_nothing_found(tap, program):
    """A capture by CUDA has operators and launches without kernels, as any trace of another run has others."""
    run, other = program.file("run.json", made.replay()), ROOT / "fixtures" / "traces" / "tiny_ops.json"
    for mapping, told in ((other, True), (program.file("m.json", made.capture()), False)):
        program.run(run, "--mapping-trace", mapping, "--full")
        text = (program.folder / "report.md").read_text()
        tap.same("a run of the same step without graphs" in text, told, f"{mapping.name}: what to give is said: {told}")


def eager_around(captures):
    """Long kernels, then 900 launches of which nothing runs and a wait for nothing, then short kernels."""
    events, at, key = [], 1000, 0
    for count, kernel, every in ((120, 300, 310), (900, 0, 10), (900, 30, 40)):
        if captures and not kernel:
            events.append(made.row("cuda_runtime", "cudaStreamBeginCapture", 1, at - 8, 5))
        for _ in range(count):
            key += 1
            link = {"correlation": key, "External id": key}
            events.append(made.row("cpu_op", "aten::mul", 1, at, 8, **{"External id": key}))
            events.append(made.row("cuda_runtime", "cudaLaunchKernel", 1, at + 3, 3, **link))
            if kernel:
                events.append(made.row("kernel", "mul_kernel", 7, at + 6, kernel, pid=0, device=0, stream=7, **link))
            at += every
        if not kernel:
            at += 6000
            if captures:
                events.append(made.row("cuda_runtime", "cudaStreamEndCapture", 1, at - 12, 5))
    return {"schemaVersion": 1, "traceEvents": events}


def check_captures(tap, program):
    """While a graph is captured devices wait for that, whatever the host does in it."""
    found, waited = [], []
    for captures in (False, True):
        _, report = program.run(program.file("captured.json", eager_around(captures)))
        found.append({finding["rule_id"] for finding in report["findings"]})
        waited.append([report["idle"]["unrecorded_pauses"]["dur_us"] > 5000,
                       report["split"]["window"]["idle_causes"]["driver_call_us"] > 14000])
    tap.same(["unrecorded-host-time" in found[0], "unrecorded-host-time" in found[1]], [True, False],
             "that nothing is recorded on the host is told where nothing is captured")
    tap.same(["graph-capture-in-window" in found[1], "driver-calls-in-steps" in found[1]], [True, False],
             "else the capture is, and as no call that comes again")
    tap.same(waited, [[True, False], [False, True]], "its time is that of the call")


def check_refusals(tap, program):
    run = program.file("run.json", made.replay())
    for what, mapping, said in (("a file that is not there", program.folder / "none.json", "none.json"),
                                ("a trace without launches", program.file("m.json", made.document([])), "--mapping-trace"),
                                ("standard input", "-", "--mapping-trace")):
        done, report = program.run(run, "--mapping-trace", mapping)
        tap.ok(done.returncode in (2, 3) and said in done.stderr and report is None, f"{what} is refused", done.stderr)


def check_peaks(tap, program):
    run = program.file("run.json", made.replay())
    _, report = program.run(run, "--mapping-trace", program.file("m.json", made.capture()), "--peaks",
                            program.file("peaks.md", PEAKS % ("MI300X", 1000)))
    device = report["compute"]["device"]
    tap.same((device["judged_as"], device["gb_s"], device["estimated"]), ("MI300X", 5000, False),
             "a row of the user's goes before the program's")
    done, report = program.run(run, "--peaks", program.file("peaks.md", PEAKS % ("MI300X", "fast")))
    tap.ok(done.returncode == 2 and "peaks.md: line 5: 'fast'" in done.stderr and report is None,
           "a mistake in it is told with its line", done.stderr)
    done, _ = program.run(run, "--peaks", program.file("peaks.md", "nothing"))
    tap.ok(done.returncode == 2 and "no table" in done.stderr, "a document without a table is refused", done.stderr)


def main():
    tap, path = Tap(), program_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, folder)
        for check in (check_matches, check_doubts, check_layers, check_nothing_found, check_captures, check_refusals,
                      check_peaks):
            check(tap, program)
    tap.ok(all((made.FOLDER / name).read_bytes() for name in made.FILES), "fixtures are there")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
