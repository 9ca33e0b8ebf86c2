# SPDX-License-Identifier: MIT
"""What recordings lack: rows that a modeled run has and the file does not. Each function changes a run, planted or
healthy."""
import json
import random

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def is_flow(row):
    return row["ph"] in "sf"


def drop(run, unwanted):
    """Rows, and the arrows of those that go."""
    gone = {row["args"]["correlation"] for row in run.device_rows if not is_flow(row) and unwanted(row)}
    run.device_rows = [row for row in run.device_rows
                       if not (row["id"] in gone if is_flow(row) else unwanted(row))]
    run.host_rows = [row for row in run.host_rows if not unwanted(row)]


def begin_within(run, planted):
    """The recording begins with the second step's launches: what was queued before them runs in it, launched by nothing."""
    if not planted:
        return
    begin_ns = sorted(row["ts"] for row in run.host_rows if row["name"].startswith("ProfilerStep"))[1]
    drop(run, lambda row: row["ts"] < begin_ns)


def sample(run, planted):
    """Two of three kernels have no row."""
    chance = random.Random(7)
    left_out = {id(row) for row in run.device_rows if planted and row.get("cat") == "kernel" and chance.random() < 2 / 3}
    run.device_rows = [row for row in run.device_rows if id(row) not in left_out]


def drop_device(run, planted):
    """No row of the device."""
    if planted:
        run.device_rows = [row for row in run.device_rows if row.get("cat") not in DEVICE and not is_flow(row)]


def capture(run, planted):
    """A step launches into a graph that is captured: nothing of it runs."""
    if not planted:
        return
    drop_device(run, True)
    main = run.main
    steps = sorted((row for row in run.host_rows if row["name"].startswith("ProfilerStep")), key=lambda row: row["ts"])
    for step in steps:
        for name, at_ns in (("cudaStreamBeginCapture", step["ts"] + 1000),
                            ("cudaStreamEndCapture", step["ts"] + step["dur"] - 2000),
                            ("cudaGraphInstantiate", step["ts"] + step["dur"] - 900)):
            main.now_ns = at_ns
            main.call(name, 0.8, 317)


def drop_correlation(run, _planted):
    """As some exporters write it: runtime calls and kernels share the external id alone, and no arrows are drawn. The id is
    that of the call, so that each kernel has its own."""
    run.device_rows = [row for row in run.device_rows if not is_flow(row)]
    for row in run.device_rows:
        number = row["args"].pop("correlation", None)
        if number is not None:
            row["args"]["External id"] = number


def as_other_tracer(run, planted):
    """Python functions as VizTracer writes them, and nothing else."""
    if not planted:
        return
    start_ns = min(row["ts"] for row in run.host_rows)
    rows = [{"ph": "X", "cat": "fee", "name": "%s (train.py:%d)" % (row["name"].split("::")[-1], 10 + len(row["name"])),
             "pid": row["pid"], "tid": row["tid"], "ts": (row["ts"] - start_ns) / 1000, "dur": row["dur"] / 1000}
            for row in run.host_rows]
    document = json.dumps({"traceEvents": rows, "viztracer_metadata": {"version": "1.0", "overflow": False}}, indent=1)
    run.document = document.encode
