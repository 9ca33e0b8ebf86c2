#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces as XLA's profiler writes them for JAX and TensorFlow (HOST.trace.json.gz), of a run that is there as a trace of
PyTorch:

    make_xla.py TRACE.json[.gz] RUN.trace.json[.gz] [--device GPU|TPU]

Events have no category. Processes are named "/device:GPU:0" and "/host:CPU"; a GPU has a thread for each stream and others
that show the same time by module, operation and step; a TPU has no streams, and its operations are the work. Links are
correlation_id, numbers are texts, calls are named by the work that they launch, and an empty object ends the list."""

import argparse
import gzip
import json
import re
import sys
from pathlib import Path

from make_nsys import load, reduce

HOST, DEVICE = 701, 1
MODULES, OPS, STEPS = 1, 2, 3
COPIES = {"HtoD": "MemcpyH2D", "DtoH": "MemcpyD2H", "DtoD": "MemcpyD2D"}


def named(pid, name, tid=None):
    row = {"ph": "M", "pid": pid, "name": "process_name" if tid is None else "thread_name", "args": {"name": name}}
    return [row if tid is None else {**row, "tid": tid}]


def complete(event, pid, tid, name=None, **arguments):
    return {"ph": "X", "pid": pid, "tid": tid, "ts": float(event["ts"]), "dur": float(event["dur"]),
            "name": name or event["name"], **({"args": arguments} if arguments else {})}


def of_call(event, launched):
    """A call that launches is named by its work, one of graphs tells which."""
    number, name = str(event["args"].get("correlation", 0)), event["name"]
    work = launched.get(event["args"].get("correlation"))
    if "GraphLaunch" in name:
        name = "cuGraphLaunch (CudaGraph:4)"
    elif work and re.search("Launch|Async", name):
        name = COPIES[work["name"].split()[1]] if work["cat"] == "gpu_memcpy" else \
            "Memset" if work["cat"] == "gpu_memset" else work["name"]
    return complete(event, HOST, event["tid"], name, correlation_id=number)


def of_host(event, number, launched):
    category, name = event["cat"], event["name"]
    if category in ("cuda_runtime", "cuda_driver"):
        return of_call(event, launched)
    if name.startswith("ProfilerStep"):
        return complete(event, HOST, event["tid"], "train", step_num=str(number))
    return complete(event, HOST, event["tid"])


def of_device(event, pid):
    """The rows that one row of work becomes: itself, and its projections."""
    arguments, name = event["args"], event["name"]
    links = {"correlation_id": str(arguments.get("correlation", 0)), "context_id": "$$1"}
    if event["cat"] == "gpu_memcpy":
        source, target = re.fullmatch(r"Memcpy \w+ \((.+) -> (.+)\)", name).groups()
        name = COPIES[name.split()[1]]
        links["memcpy_details"] = (f"kind_src:{source.lower()} kind_dst:{target.lower()} size:{arguments.get('bytes', 0)} "
                                   "dest:0 async:1")
    if event["cat"] == "gpu_memset":
        return [complete(event, pid, 10 + arguments["stream"], "Memset", **links)]
    work = complete(event, pid, 10 + arguments["stream"], name, hlo_op="fusion", hlo_module="jit_step", **links)
    return [work, complete(event, pid, OPS, "fusion"), complete(event, pid, MODULES, "jit_step")]


def make(trace, device="GPU"):
    """The trace of XLA, with the work of GPUs on streams or the same as operations of TPUs."""
    events = [event for event in reduce(trace)["traceEvents"] if event.get("cat") and event["cat"] != "cuda_sync"]
    work = [event for event in events if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    launched = {event["args"].get("correlation"): event for event in work}
    made, steps = named(HOST, "/host:CPU"), 0
    for number in sorted({event["args"]["device"] for event in work}):
        made += named(DEVICE + number, f"/device:{device}:{number}")
        for tid, label in ((MODULES, "XLA Modules"), (OPS, "XLA Ops"), (STEPS, "Steps")):
            made += named(DEVICE + number, label, tid)
        for stream in sorted({event["args"]["stream"] for event in work}) if device == "GPU" else ():
            made += named(DEVICE + number, f"Stream #{stream}(Compute)", 10 + stream)
    for event in events:
        if event in work and device == "GPU":
            made += of_device(event, DEVICE + event["args"]["device"])
        elif event in work:
            if event["cat"] == "kernel":
                made.append(complete(event, DEVICE + event["args"]["device"], OPS, hlo_op="fusion"))
        elif device == "GPU" or event["cat"] not in ("cuda_runtime", "cuda_driver"):
            made.append(of_host(event, steps, launched))
            steps += event["name"].startswith("ProfilerStep")
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": made + [{}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("made")
    parser.add_argument("--device", choices=["GPU", "TPU"], default="GPU")
    args = parser.parse_args()
    data = json.dumps(make(load(args.trace), args.device)).encode()
    Path(args.made).write_bytes(gzip.compress(data, mtime=0) if args.made.endswith(".gz") else data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
