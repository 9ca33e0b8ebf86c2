#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tools/scenarios/trim.py keeps of a recording, and that nothing in it names the machine. Prints TAP."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools" / "scenarios"))
import trim  # noqa: E402
from tap import Tap  # noqa: E402

HOST, GPU, MAIN, STREAM = 77, 0, 77, 7
NAMES = ["build-box", "alice"]


def row(cat, name, ts, dur, pid=HOST, tid=MAIN, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def arrow(phase, number, ts, pid=HOST, tid=MAIN):
    return {"ph": phase, "id": number, "cat": "ac2g", "name": "ac2g", "pid": pid, "tid": tid, "ts": ts}


def frame(name, ts, dur, number, parent):
    return row("python_function", name, ts, dur, **{"Python id": number, "Python parent id": parent})


def recording():
    """Three steps of 100 us. Each launches a kernel that runs in the step behind it."""
    events = [{"ph": "M", "name": "process_name", "pid": HOST, "ts": 0, "args": {"name": "python"}},
              {"ph": "M", "name": "process_name", "pid": 99, "ts": 0, "args": {"name": "another"}},
              {"ph": "M", "name": "thread_name", "pid": HOST, "tid": MAIN, "ts": 0, "args": {"name": "thread 77 (python)"}},
              row("Trace", "PyTorch Profiler (0)", 0, 400, pid="Spans", tid="PyTorch Profiler")]
    for step in range(3):
        start = 100 * step
        events += [row("user_annotation", "ProfilerStep#%d" % (step + 5), start, 100),
                   row("cpu_op", "aten::mm", start + 20, 30,
                       **{"External id": 10 + step, "Ev Idx": step, "Input Dims": [[1]]}),
                   row("cuda_runtime", "cudaLaunchKernel", start + 30, 5, correlation=100 + step),
                   row("kernel", "gemm", start + 110, 50, pid=GPU, tid=STREAM, correlation=100 + step),
                   arrow("s", 100 + step, start + 30), arrow("f", 100 + step, start + 110, GPU, STREAM),
                   {"ph": "i", "s": "t", "name": "[memory]", "pid": HOST, "tid": MAIN, "ts": start + 25,
                    "args": {"Bytes": 64}}]
    events += [frame("/home/alice/job/train.py(12): step", 105, 90, 1, None), frame("helper.py(3): short", 106, 80, 2, 1),
               frame("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py(9): forward", 110, 60, 3, 2)]
    return {"schemaVersion": 1, "trace_id": "ABC", "host_name": "build-box", "traceName": "/home/alice/logs/trace.json",
            "traceEvents": events}


def names_of(document, cat):
    return [event["name"] for event in document["traceEvents"] if event.get("cat") == cat]


def check_steps(check):
    cut = trim.trim_trace(recording(), steps=1, skip=1)
    events = cut["traceEvents"]
    check("one step stays", names_of(cut, "user_annotation") == ["ProfilerStep#6"])
    check("with its operator and launch", len(names_of(cut, "cpu_op")) == 1 == len(names_of(cut, "cuda_runtime")))
    kernels = [event for event in events if event.get("cat") == "kernel"]
    check("the kernel that it launched stays, though it runs later, and no other",
          [(kernel["ts"], kernel["args"]["correlation"]) for kernel in kernels] == [(210, 101)])
    check("its arrow has both ends, no other arrow has any",
          sorted((event["ph"], event["id"]) for event in events if event["ph"] in "sf") == [("f", 101), ("s", 101)])
    check("its instant stays", [event["ts"] for event in events if event["ph"] == "i"] == [125])
    check("names stay of processes that have rows",
          {(event["name"], event["pid"]) for event in events if event["ph"] == "M"} == {("process_name", HOST),
                                                                                        ("thread_name", HOST)})
    operator = next(event for event in events if event.get("cat") == "cpu_op")
    check("arguments that link stay, noise goes", operator["args"] == {"External id": 11})
    kept = trim.trim_trace(recording(), steps=1, skip=1, keep_shapes=True)
    check("shapes stay where asked for",
          next(e for e in kept["traceEvents"] if e.get("cat") == "cpu_op")["args"].get("Input Dims") == [[1]])
    check("without a number all steps stay", len(names_of(trim.trim_trace(recording()), "user_annotation")) == 3)


def check_frames(check):
    thin = trim.trim_trace(recording(), least_frame_us=85)
    frames = {event["args"]["Python id"]: event["args"]["Python parent id"] for event in thin["traceEvents"]
              if event.get("cat") == "python_function"}
    check("short frames go", frames == {1: None})
    thin = trim.thin_frames({"traceEvents": [frame("a", 0, 90, 1, None), frame("b", 1, 10, 2, 1), frame("c", 2, 50, 3, 2)]},
                            20)
    check("who stood below one stands below the next above",
          [(event["name"], event["args"]["Python parent id"]) for event in thin["traceEvents"]] == [("a", None), ("c", 1)])


def check_names(check):
    raw = recording()
    check("a raw recording names the machine", trim.left_over(raw, NAMES) != [])
    public = trim.anonymize(trim.trim_trace(raw), HOST, NAMES)
    check("a trimmed one does not", trim.left_over(public, NAMES) == [])
    check("own files lie in the public folder", "/srv/train/train.py(12): step" in names_of(public, "python_function"))
    check("libraries begin with their package",
          "torch/nn/modules/linear.py(9): forward" in names_of(public, "python_function"))
    operator = next(event for event in public["traceEvents"] if event.get("cat") == "cpu_op")
    check("the process id is another",
          (operator["pid"], operator["tid"]) == (trim.PUBLIC_PROCESS_ID, trim.PUBLIC_PROCESS_ID))
    check("times are as they were", operator["ts"] == 20 and operator["dur"] == 30)


def check_snapshot(check):
    frames = [{"filename": "/usr/lib/python3/torch/x.py", "name": "x", "line": 1},
              {"filename": "/home/alice/train.py", "name": "y", "line": 2}]
    short = trim.trim_snapshot({"segments": [{"blocks": [{"frames": frames, "size": 4}]}]}, 1)
    check("of a stack user code stays first", short["segments"][0]["blocks"][0] == {"frames": [frames[1]], "size": 4})


def main():
    tap = Tap()
    for part in (check_steps, check_frames, check_names, check_snapshot):
        part(lambda claim, holds: tap.ok(holds, claim))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
