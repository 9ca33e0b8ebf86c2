#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces in Chrome's form that PyTorch's profiler did not write: other_traces.py --program PROGRAM. XLA's (JAX, TensorFlow)
for GPUs has the figures of the run that it was made of; those of a TPU, VizTracer, py-spy and a browser have planted times.
Prints TAP."""

import json
import re
import sys
import tempfile

import nsys
from program import ROOT, Program, program_of
from tap import Tap
import make_nsys
import make_xla

RUNS = ["training_step_cuda.json.gz", "training_healthy.json.gz", "copy_heavy.json", "tiny_ops.json"]
# What does not depend on how rows are worded: of steps, devices, kernels, copies and links.
SAME = ("trace.window_us", "steps.count", "steps.steady.p50_us", "gpu.rows", "gpu.window_us", "gpu.busy_us", "gpu.idle_us",
        "gpu.utilization_ratio", "gpu.kernel.count", "gpu.kernel.total_dur_us", "gpu.memcpy.count", "gpu.memcpy.bytes",
        "gpu.memcpy.htod_bytes", "gpu.memset.count", "copies.htod_pageable.bytes", "launches.linked_count",
        "cpu.signals.kernel_launch.count", "cpu.signals.graph_launch.count", "split.judged.idle_causes.queue_wait_us",
        "split.judged.idle_causes.launch_overhead_us", "launches.queue_delay_us.p50",
        "idle.gap_count", "idle.longest_us", "split.window.idle_us", "verdict.bound")
GPU_WORDS = ("gpu", "cuda", "torch.profiler", "prof.step", "with_stack", "record_shapes")


def at(report, path):
    for key in path.split("."):
        report = report.get(key) if isinstance(report, dict) else None
    return report


def written(program, name, trace):
    path = program.folder / name
    path.write_text(json.dumps(trace))
    return path


def markdown(program, path):
    return program.run(path).stdout.decode()


def check_xla_gpu(tap, program):
    for run in RUNS:
        trace = make_nsys.load(nsys.TRACES / run)
        _, want, _ = program.report(written(program, "same.json", json.loads(json.dumps(
            make_nsys.reduce(trace), default=float))))
        _, got, said = program.report(written(program, "xla.json", make_xla.make(trace)))
        tap.check(f"{run}: XLA's trace has the figures of PyTorch's",
                  [f"{path}: {at(want, path)} and {at(got, path)}" for path in SAME if at(want, path) != at(got, path)]
                  if got else [said])
    tap.same(got["trace"]["format"], "xla", "and is told by its content")
    names_behind = make_xla.make(trace)
    names_behind["traceEvents"].sort(key=lambda event: event.get("ph") == "M")
    _, behind, _ = program.report(written(program, "behind.json", names_behind))
    tap.check("names of processes may stand behind the rows",
              [path for path in SAME if at(behind, path) != at(got, path)])
    tap.same((make_xla.make(trace)["traceEvents"].count({}), got and got["warnings"]), (1, []),
             "the empty object that ends XLA's list is no odd event")
    text = markdown(program, program.folder / "xla.json")
    tap.ok("prof.step()" not in text and "torch.profiler" not in text, "no advice on PyTorch's profiler")


def check_xla_host(tap, program):
    """Frames are worded as PyTorch's; what the profiler does itself is none of the program's work."""
    events = make_xla.named(701, "/host:CPU") + make_xla.named(1, "/device:GPU:0") + \
        make_xla.named(701, "Host Threads/9", 9) + make_xla.named(1, "Stream #14(Compute)", 14)
    for step in range(4):
        at = 1000 + step * 10000
        rows = [("$train.py:12 evaluate", 5, at, 8000), ("$array.py:629 _value", 5, at + 10, 3000),
                ("$<unknown> argmax", 5, at + 3100, 3000), ("$numpy asarray", 5, at + 6200, 10),
                ("BUFFER_FLUSH", 9, at, 500)]
        events += [{"ph": "X", "pid": 701, "tid": tid, "name": name, "ts": ts, "dur": dur} for name, tid, ts, dur in rows]
        number = {"correlation_id": str(step + 1)}
        events += [{"ph": "X", "pid": 701, "tid": 5, "name": "loop_add", "ts": at + 9000, "dur": 10, "args": number},
                   {"ph": "X", "pid": 1, "tid": 14, "name": "loop_add", "ts": at + 9020, "dur": 900, "args": number}]
    _, report, said = program.report(written(program, "host.json", {"traceEvents": events}))
    tap.same(report and [(row["name"], row["count"]) for row in report["idle"]["paused_in"]],
             [("train.py(12): evaluate", 3)], f"pauses have the user's line, whatever library it is in {said}")
    signals = report and report["cpu"]["signals"]
    tap.same(signals and (signals["kernel_launch"]["count"], signals["profiler_cost"]["count"]), (4, 4),
             "calls are known by their work, and the profiler by its words")


def check_xla_pool(tap, program):
    """A thread of the pool that has work says so around it: that is no operator, however often it comes."""
    events = make_xla.named(701, "/host:CPU") + make_xla.named(701, "tf_Eigen/1", 9)
    for task in range(200):
        events.append({"ph": "X", "pid": 701, "tid": 9, "name": "ThreadpoolListener::Region", "ts": task * 100, "dur": 90})
    events.append({"ph": "X", "pid": 701, "tid": 9, "name": "_MklMatMul", "ts": 10, "dur": 80})
    _, report, said = program.report(written(program, "pool.json", {"displayTimeUnit": "ns", "traceEvents": events}))
    tap.same(report and [row["name"] for row in report["cpu"]["operators_by_self"]], ["_MklMatMul"],
             f"stretches of a pool are no operators {said}")


def check_xla_rules(tap, program):
    """What JAX does to a device that waits, by what its runtime writes on the host."""
    slow = [("pure_callback.1", "host-callbacks"), ("np.asarray(jax.Array)", "array-reads"),
            ("PjRtCApiClient::CompileAndLoad(jit_train_step)", "jit-recompiles")]
    for name, rule in [*slow, ("CommonPjRtLoadedExecutable::Execute (jit_train_step)", None)]:
        events = make_xla.named(701, "/host:CPU") + make_xla.named(1, "/device:GPU:0") + \
            make_xla.named(1, "Stream #14(Compute)", 14)
        for step in range(4):
            at, number = 1000 + step * 10000, {"correlation_id": str(step + 1)}
            events += [{"ph": "X", "pid": 701, "tid": 5, "name": name, "ts": at, "dur": 8000 if rule else 100},
                       {"ph": "X", "pid": 701, "tid": 5, "name": "gemm", "ts": at + 8100, "dur": 10, "args": number},
                       {"ph": "X", "pid": 1, "tid": 14, "name": "gemm", "ts": at + 8120, "args": number,
                        "dur": 900 if rule else 9900}]
        _, report, said = program.report(written(program, "slow.json", {"traceEvents": events}))
        tap.same(report and [one["rule_id"] for one in report["findings"] if one["rule_id"] in [of for _, of in slow]],
                 [rule] if rule else [], f"{name}: {rule} {said}")


EXECUTE = "CommonPjRtLoadedExecutable::Execute "
# Recorded on an H100: what is named first, and for what.
OF_JAX = {"accuracy-on-host": ("python-between-operators", "others.py(137): accuracy_on_host"),
          "checkpoint-each-step": ("python-between-operators", "others.py(437): save_checkpoint"),
          "compiled-each-step": ("jit-recompiles", "PjRtCApiClient::CompileAndLoad(jit_train_step)"),
          "eager-update": ("host-bound-small-ops", EXECUTE + "(jit_multiply)"),
          "highest-precision": ("no-tensor-cores", None),
          "host-callback": ("host-callbacks", "others.py(204): host_clip"),
          "input-on-host": ("python-between-operators", "others.py(235): augment"),
          "loop-over-time": ("host-bound-small-ops", EXECUTE + "(jit_dynamic_slice)"),
          "scan-over-time": ("host-bound-small-ops", EXECUTE + "(jit_linear_rnn)"),
          "metrics-each-step": ("array-reads", "others.py(175): log_metrics"),
          "update-on-host": ("python-between-operators", "others.py(360): <lambda>")}


def check_jax(tap, program):
    """Of each job the planted cause comes first; of the twins nothing severe is said but that the host is slow to launch."""
    for name, (rule, where) in OF_JAX.items():
        _, report, said = program.report(ROOT / "fixtures" / "jax" / f"{name}.json.gz")
        first = report["findings"][0] if report else None
        told = [one["name"] for one in first["affected"]] if first else said
        tap.ok(first and first["rule_id"] == rule and (not where or where in told), f"{name}: {rule}", told)
        tap.ok(report and not report["verdict"]["bound"] == "event-bound", f"{name}: nothing waits for an event")
        _, report, said = program.report(ROOT / "fixtures" / "jax" / f"{name}-healthy.json.gz")
        tap.same(report and [one["rule_id"] for one in report["findings"] if one["severity"] in ("high", "critical")
                             and one["rule_id"] != "graph-gaps"], [], f"{name}: its twin {said}")


def check_xla_tpu(tap, program):
    trace = make_nsys.load(nsys.TRACES / "training_healthy.json.gz")
    _, report, said = program.report(written(program, "tpu.json", make_xla.make(trace, "TPU")))
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    tap.ok(report and report["accelerator"]["rows"] == len(kernels) and not report["trace"]["recorded"]["gpu"],
           "operations of a TPU are work of an accelerator, and no GPU's", said)
    tap.same(report and report["steps"]["count"], 4, "steps are those of the host")


def devices(count, steps_on_host, behind=""):
    """A step of 10 ms on each: computing for 7, then a collective for 1.5 that waits for nobody, then a copy."""
    events = make_xla.named(701, "/host:CPU")
    for pid in range(1, count + 1):
        events += make_xla.named(pid, f"/device:GPU:{pid - 1}{behind}")
        for tid, label in ((1, "XLA Ops"), (3, "Steps"), (10, "Stream #14(Compute)")):
            events += make_xla.named(pid, label, tid)
    for step in range(20):
        start, row = 1000 + step * 10000, {"ph": "X", "name": "train", "ts": 1000 + step * 10000, "dur": 9900}
        if steps_on_host:
            events.append({**row, "pid": 701, "tid": 5, "args": {"step_num": str(step)}})
        for pid in range(1, count + 1):
            events.append({**row, "pid": pid, "tid": 3, "name": str(step)})
            for name, ts, dur in (("at::native::vectorized_elementwise_kernel<4>", start, 7000),
                                  ("ncclDevKernel_AllReduce", start + 7000, 1500), ("MemcpyH2D", start + 8500, 1200)):
                events += [{"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": ts, "dur": dur} for tid in (1, 10)]
    return {"traceEvents": events}


def check_xla_devices(tap, program):
    """(rule, share of the window) are those of one device, however many do the same at once."""
    def gains(report):
        return [(row["rule_id"], round(row["gain"]["share_ratio"], 2)) for row in report["findings"]
                if row["gain"] and row["gain"]["share_ratio"]]

    _, one, _ = program.report(written(program, "one.json", devices(1, True)))
    tap.ok(len(gains(one)) >= 3, f"one device: {gains(one)}")
    for claim, document in (("steps of the host", devices(2, True)), ("steps of the devices", devices(2, False)),
                            ("devices with a bus", devices(2, True, " H100 (0000:3b:00.0)"))):
        _, report, _ = program.report(written(program, "two.json", document))
        tap.same((report["steps"] and report["steps"]["count"], [row["rows"] for row in report["gpu"]["devices"]],
                  gains(report)), (20, [60, 60], gains(one)), f"{claim}: two devices at once")
    tap.ok(", -" not in markdown(program, program.folder / "two.json"), "nothing takes a negative share less")


def check_xla_hosts(tap, program):
    """Names of machines before those of processes; devices of two machines have the same numbers, and run the same steps."""
    trace = make_xla.make(make_nsys.load(nsys.TRACES / "training_healthy.json.gz"))
    _, want, _ = program.report(written(program, "plain.json", trace))

    def events_of(host, number):
        for event in trace["traceEvents"]:
            told = event.get("name") == "process_name"
            arguments = {"name": host + event["args"]["name"]} if told else dict(event.get("args", {}))
            if number and "correlation_id" in arguments:
                arguments["correlation_id"] = "7" + arguments["correlation_id"]
            yield {**event, "pid": event["pid"] + 1000 * number, "args": arguments} if event else event

    for host in ("host:0 ", "10.0.0.7 ", "/job:worker/replica:0/task:1"):
        _, got, said = program.report(written(program, "host.json", {"traceEvents": list(events_of(host, 0))}))
        tap.check(f"{host}: before the name of a process", [path for path in SAME if at(want, path) != at(got, path)]
                  if got else [said])
    both = [*events_of("host:0 ", 0), *events_of("host:1 ", 1)]
    _, got, said = program.report(written(program, "hosts.json", {"traceEvents": both}))
    tap.same(got and (got["steps"]["count"], [(row["device"], row["busy_us"]) for row in got["gpu"]["devices"]]),
             (want["steps"]["count"], [(number, want["gpu"]["busy_us"]) for number in (0, 1)]), "two machines " + str(said))


def check_xla_advice(tap, program):
    """No means of PyTorch are advised where no name tells that it ran."""
    for run in [*RUNS, "sync_heavy.json", "python_stacks.json", "rocm.json"]:
        made = make_xla.make(make_nsys.load(nsys.TRACES / run))
        for event in made["traceEvents"]:
            if event.get("ph") == "X":
                event["name"] = re.sub("aten::|autograd::|Optimizer|DataLoader|torch", "xla_", event["name"])
        _, report, said = program.report(written(program, "advice.json", made))
        words = [(found["rule_id"], word) for found in (report or {"findings": []})["findings"]
                 for word in ("torch.", "channels_last", "pin_memory", "non_blocking", "DistributedDataParallel", "foreach")
                 for text in ("hypothesis", "action", "trade_off", "validation")
                 if word in (found[text] or "")]
        tap.check(f"{run}: no means of PyTorch are advised for a trace of XLA", words if report else [said])


XLA_EVENTS_MAX = 1000000


def check_xla_capped(tap, program):
    """XLA's profiler writes no more events than that, and drops the rest without a word."""
    trace = make_xla.make(make_nsys.load(nsys.TRACES / "copy_heavy.json"))
    events = trace["traceEvents"]
    more = json.dumps(next(event for event in events if event.get("ph") == "X"))
    head = json.dumps(trace).removesuffix("]}")
    for count, want in ((XLA_EVENTS_MAX - 1, []), (XLA_EVENTS_MAX, ["events-capped"])):
        path = program.folder / "capped.json"
        path.write_text(head + ("," + more) * (count - len(events)) + "]}")
        _, report, said = program.report(path)
        told = [one["code"] for one in report["warnings"] if one["code"] == "events-capped"] if report else said
        tap.same(told, want, f"{count} events of XLA's profiler: {'' if want else 'not '}told to be a part")


def frames(rows, **more):
    """(name, start, duration) as complete events of one thread."""
    return [{"ph": "X", "pid": 7, "tid": 8, "name": name, "ts": start, "dur": dur, **more} for name, start, dur in rows]


VIZTRACER = {"traceEvents": frames([("<module> (/home/me/app.py:1)", 0, 1000), ("load (/home/me/app.py:5)", 100, 600),
                                    ("builtins.len", 150, 10),
                                    ("loads (/usr/lib/python3.11/json/__init__.py:299)", 200, 400)],
                                   cat="fee"), "viztracer_metadata": {"version": "1.0.0", "overflow": False}}


def py_spy():
    def frame(phase, name, line, at_us):
        return {"ph": phase, "cat": "py-spy", "name": name, "pid": 7, "tid": 8, "ts": at_us,
                "args": {"filename": "/home/me/app.py", "line": line}}
    return [frame("B", "<module>", 1, 0), frame("B", "load", 5, 100), frame("E", "load", 5, 700),
            frame("E", "<module>", 1, 1000)]


def speedscope():
    """What VIZTRACER tells, by samples of a tenth of a millisecond, and a second thread."""
    frames = [{"name": name, "file": "/home/me/app.py", "line": line} for name, line in (("<module>", 1), ("load", 5))]
    return {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [
        {"type": "sampled", "name": "Thread 1", "unit": "seconds", "startValue": 0.0, "endValue": 0.001,
         "samples": [[0]] + [[0, 1]] * 6 + [[0]] * 3, "weights": [0.0001] * 10},
        {"type": "evented", "name": "Thread 2", "unit": "microseconds", "startValue": 0, "endValue": 100, "events": [
            {"type": "O", "frame": 2, "at": 0}, {"type": "C", "frame": 2, "at": 40},
            {"type": "O", "frame": 2, "at": 40}, {"type": "C", "frame": 2, "at": 100}]}],
        "shared": {"frames": frames + [{"name": "other"}]}, "exporter": "py-spy@0.4.0"}


def together():
    """Frames that open and close together: the inner one, and what a library does below it, is its caller's."""
    frames = [{"name": name, "file": file, "line": line} for name, file, line in (
        ("<module>", "/home/me/app.py", 9), ("main", "/home/me/app.py", 4),
        ("loads", "/usr/lib/python3.11/json/__init__.py", 299))]
    return {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [
        {"type": "sampled", "name": "Thread 1", "unit": "milliseconds", "startValue": 0, "endValue": 4,
         "samples": [[0, 1, 2]] * 3 + [[0, 1]] * 2, "weights": [1, 1, 1, 1]}],
        "shared": {"frames": frames}, "exporter": "py-spy@0.4.0"}


BROWSER = {"metadata": {"source": "DevTools"}, "traceEvents":
           frames([("RunTask", 0, 1000)], cat="disabled-by-default-devtools.timeline") +
           frames([("FunctionCall", 100, 600)], cat="devtools.timeline") +
           frames([("V8.GC", 150, 50)], cat="devtools.timeline,v8")}


def lines_of(report):
    return {row["name"]: (row["count"], row["host_self_us"]) for row in report["frames"]["items"]}


def check_engine(tap, program):
    """PyTorch's profiler is turned on by the engine, which has its own way to say when: by its frames, not by who else is
    called so."""
    for frame, own in (("tensorrt_llm/_torch/pyexecutor/py_executor.py(900): forward", True),
                       ("/usr/lib/python3/tensorrt_llm/executor/worker.py(70): forward", True),
                       ("trtllm::fused_moe", True), ("/home/me/my_tensorrt_llm.py(9): forward", False)):
        rows = [event for at in range(1000, 31000, 1000) for event in (
            {"ph": "X", "cat": "python_function", "name": frame, "pid": 1, "tid": 1, "ts": at, "dur": 900, "args": {}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 10, "dur": 50, "args": {}})]
        _, report, said = program.report(written(program, "engine.json", {"schemaVersion": 1, "traceEvents": rows}))
        actions = json.dumps([finding["action"] for finding in report["findings"]]) if report else said
        tap.same(("TLLM_PROFILE_START_STOP" in actions, "prof.step()" in actions), (own, not own),
                 f"how steps are marked: {frame}")


def check_host(tap, program):
    _, report, said = program.report(written(program, "viztracer.json", VIZTRACER))
    want = {"/home/me/app.py(1): <module>": (1, 400), "/home/me/app.py(5): load": (1, 600)}
    tap.same(report and lines_of(report), want, "VizTracer: host time by the user's lines, with what they call")
    slept = {**VIZTRACER, "traceEvents": VIZTRACER["traceEvents"] + frames([("time.sleep", 450, 200)], cat="fee")}
    _, report, said = program.report(written(program, "slept.json", slept))
    tap.same(report and [finding["rule_id"] for finding in report["findings"]][:1], ["sleeps"],
             "and a sleep by its name there")
    _, report, said = program.report(written(program, "py-spy.json", py_spy()))
    tap.same(report and lines_of(report), want, "py-spy: the same")
    tap.ok(report and not [row for row in report["warnings"] if row["code"] == "crossing-pairs"], "without a warning", said)
    _, report, said = program.report(written(program, "speedscope.json", speedscope()))
    tap.same(report and (report["trace"]["format"], lines_of(report), report["trace"]["events"]["duration"]),
             ("py-spy", want, 4), "speedscope's form: frames from sample to sample, and opened and closed")
    built_in = {**speedscope(), "exporter": "pyinstrument"}
    built_in["shared"]["frames"][1] = {"name": "sleep", "file": "<built-in>", "line": 0}
    _, report, said = program.report(written(program, "pyinstrument.json", built_in))
    tap.same(report and (report["trace"]["format"], report["trace"]["program"], lines_of(report)),
             ("speedscope", "speedscope", {"/home/me/app.py(1): <module>": (1, 1000)}),
             "of another sampler than py-spy: a function in C is its caller's")
    _, report, said = program.report(written(program, "together.json", together()))
    tap.same(report and (lines_of(report), [(row["code"], row["count"]) for row in report["warnings"]]),
             ({"/home/me/app.py(9): <module>": (1, 0), "/home/me/app.py(4): main": (1, 4000)}, [("dur-not-a-number", 1)]),
             "of frames that open and close together the inner one has the time; a sample without weight is told")
    said_first = [finding["rule_id"] for finding in report["findings"]] if report else said
    tap.same((said_first[:1], report and report["frames"]["top_self_ratio"]), (["dominant-line"], 1),
             "the line that has most of the time is told")
    _, report, said = program.report(written(program, "odd-speedscope.json", {
        "$schema": "https://www.speedscope.app/x.json",
        "profiles": [5, {"unit": "bytes", "samples": [[0]], "weights": [1]}, {
            "unit": "seconds", "samples": [3, [0, -1, {}, 7], [], [[0]]], "weights": ["x", 1e30, -1, 2, 3]}, {
                "unit": "nanoseconds", "events": [{}, 7, {"type": "C", "frame": 4, "at": 2}, {"type": "O", "at": -5}]}],
        "shared": {"frames": [1, {"name": 5}]}}))
    tap.ok(report, "odd profiles end nothing", said)
    cut = json.dumps(speedscope())
    path = program.folder / "cut-speedscope.json"
    path.write_text(cut[:cut.index('"shared"')])
    _, report, said = program.report(path)
    tap.ok(report and {row["code"] for row in report["warnings"]} >= {"input-cut", "name-missing"},
           "nor does a cut file", said)
    path.write_text(cut[:cut.index('"weights"')] + '"weights": [0.0001, 0.0001, 0.0001, 0.0001,')
    _, report, said = program.report(path)
    tap.ok(report and report["trace"]["window_us"] == 400,
           "of a cut profile those samples count that have their weight", said)
    _, report, said = program.report(written(program, "browser.json", BROWSER))
    tap.same(report and {row["name"]: row["self_dur_us"] for row in report["cpu"]["operators_by_self"]}
             if report and "operators_by_self" in report["cpu"] else said,
             {"RunTask": 400, "FunctionCall": 550, "V8.GC": 50}, "DevTools: host time by function")
    full = {"traceEvents": [dict(row, cat="FEE") for row in VIZTRACER["traceEvents"]],
            "viztracer_metadata": {"version": "0.16.3", "overflow": True}}
    _, report, said = program.report(written(program, "viztracer-full.json", full))
    tap.same(report and (lines_of(report), [row["code"] for row in report["warnings"]]), (want, ["buffer-overflowed"]),
             "VizTracer's older category; a buffer that was full is told")
    written(program, "compiler.json", {"beginningOfTime": 7, "traceEvents": [
        *frames([("Source", 0, 900), ("Parse", 10, 40)]),
        {"ph": "M", "pid": 7, "tid": 8, "cat": "", "name": "process_name", "args": {"name": "clang-17"}}]})
    written(program, "xla-host.json", {"displayTimeUnit": "ns", "traceEvents": [
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": "python3"}},
        *(row for i in range(6) for row in frames([("PjitFunction(f)", i * 100 + 10, 70)])
          + [dict(frames([("train", i * 100, 90)])[0], args={"step_num": str(i)})])]})
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 80,
              "args": {"device": 0, "stream": 7}}
    text = markdown(program, written(program, "with-kernels.json", {"traceEvents": VIZTRACER["traceEvents"] + [kernel]}))
    tap.ok("## GPU" in text, "VizTracer's rows beside those of a GPU: the GPU is told of")
    written(program, "tasks.json", frames([("RunTask", i * 7000, 5000) for i in range(60)], cat="toplevel"))
    for name in ("viztracer.json", "viztracer-full.json", "py-spy.json", "speedscope.json", "pyinstrument.json",
                 "browser.json", "compiler.json", "xla-host.json", "tasks.json"):
        text = markdown(program, program.folder / name)
        found = [line for line in text.splitlines() if any(word in line.lower() for word in GPU_WORDS)
                 and not line.startswith("- Not recorded")]
        tap.check(f"{name}: no word about GPUs or options of PyTorch's profiler", found)


def rocprof(trace):
    """The JSON of rocprofv3 of the work and the calls of a trace, names behind the records or before them."""
    work = [event for event in trace["traceEvents"] if event.get("cat") in ("kernel", "gpu_memcpy")]
    calls = [event for event in trace["traceEvents"] if event.get("cat") == "cuda_runtime"]
    names = sorted({event["name"] for event in work})
    operations = sorted({event["name"] for event in calls})

    def record(event, **more):
        return {**nsys_times(event), "thread_id": event["tid"],
                "correlation_id": {"internal": event["args"]["correlation"], "external": 0}, **more}

    def dispatch(event):
        return {"dispatch_info": {"size": 8, "agent_id": {"handle": 900 + event["args"]["device"]},
                                  "queue_id": {"handle": event["args"]["stream"]},
                                  "kernel_id": names.index(event["name"]), "grid_size": {"x": 1, "y": 1, "z": 1}}}
    kinds = {"HtoD": 2, "DtoH": 3, "DtoD": 4}
    copies = [record(event, operation=kinds[event["name"].split()[1]], bytes=event["args"]["bytes"],
                     src_agent_id={"handle": 900}, dst_agent_id={"handle": 900}, stream_id={"handle": 7})
              for event in work if event["cat"] == "gpu_memcpy"]
    return {"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 4711, "command": ["secret"]}, "agents": [],
        "kernel_symbols": [{"kernel_id": i, "kernel_name": "x.kd", "formatted_kernel_name": name}
                           for i, name in enumerate(names)],
        "buffer_records": {"kernel_dispatch": [record(event, **dispatch(event)) for event in work
                                               if event["cat"] == "kernel"],
                           "memory_copy": copies,
                           "hip_api": [record(event, kind=1, operation=operations.index(event["name"]))
                                       for event in calls]},
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                       {"kind": "HIP_RUNTIME_API", "operations": operations}]}}]}


def nsys_times(event):
    times = make_nsys.times(event)
    return {"start_timestamp": times["start"], "end_timestamp": times["end"]}


OF_ROCPROF = ("gpu.rows", "gpu.window_us", "gpu.busy_us", "gpu.idle_us", "gpu.kernel.count", "gpu.kernel.total_dur_us",
              "gpu.memcpy.bytes", "gpu.memcpy.htod_bytes", "launches.linked_count", "launches.queue_delay_us.p50")


def check_rocprof(tap, program):
    for run in ("training_healthy.json.gz", "copy_heavy.json"):
        trace = make_nsys.reduce(make_nsys.load(nsys.TRACES / run))
        _, want, _ = program.report(written(program, "same.json", json.loads(json.dumps(trace, default=float))))
        _, got, said = program.report(written(program, "rocprof.json", rocprof(trace)))
        tap.check(f"{run}: rocprofv3's JSON has the figures of PyTorch's trace",
                  [f"{path}: {at(want, path)} and {at(got, path)}" for path in OF_ROCPROF if at(want, path) != at(got, path)]
                  if got else [said])
        names = [{row["name"] for row in report["gpu"]["kernels"]} for report in (want, got)]
        tap.same(names[1], names[0], "and its names")
    two = rocprof(trace)["rocprofiler-sdk-tool"] + rocprof(trace)["rocprofiler-sdk-tool"]
    two[1]["metadata"] = {"pid": 4712}
    for record in (row for rows in two[1]["buffer_records"].values() for row in rows):
        record["start_timestamp"] += 10**10
        record["end_timestamp"] += 10**10
    _, both, said = program.report(written(program, "two-processes.json", {"rocprofiler-sdk-tool": two}))
    tap.same(both and (both["launches"]["linked_count"], both["launches"]["queue_delay_us"]["p50"]),
             (2 * got["launches"]["linked_count"], got["launches"]["queue_delay_us"]["p50"]),
             "each of two processes counts its calls from 1")
    lost = rocprof(trace)
    for record in lost["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]:
        record["start_timestamp"] = str(record["start_timestamp"]) + "x"
    _, report, said = program.report(written(program, "lost-rocprof.json", lost))
    tap.same(report and report["verdict"] and report["verdict"]["confidence"], "low",
             "kernels without a time: what bounds the run is not sure" + ("" if report else said))
    odd = {"rocprofiler-sdk-tool": [None, 5, {"buffer_records": {"kernel_dispatch": [
        {}, [], {"start_timestamp": "x", "end_timestamp": 2**63 - 1, "dispatch_info": [1]},
        {"start_timestamp": 5, "end_timestamp": 2, "dispatch_info": {"kernel_id": {}, "agent_id": {"handle": -1}}}],
        "hip_api": [{"kind": -1, "operation": 2**70}], "memory_copy": {}}, "kernel_symbols": [{"kernel_id": 1}, 7],
        "strings": {"buffer_records": [0, {"operations": [1, "a"]}]}}]}
    code, report, said = program.report(written(program, "odd-rocprof.json", odd))
    tap.ok(code == 0 and report, "odd records end nothing", f"{code} {said}")


def check_odd(tap, program):
    odd = {"traceEvents": [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:99999999999999999999"}},
        {"ph": "M", "pid": None, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": "x", "name": "process_name", "args": {"name": "/device:"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Stream #"}},
        *({"ph": "X", "pid": pid, "tid": 1, "ts": i, "dur": -5 if i else 2**60, "name": "k",
           "args": {"correlation_id": {}, "memcpy_details": "size: size:-1 size:99999999999999999999"}}
          for i, pid in enumerate((1, None, "x", 2)))]}
    code, report, said = program.report(written(program, "odd.json", odd))
    tap.ok(code == 0 and report, "odd names of processes end nothing", f"{code} {said}")
    long = {"traceEvents": frames([("f (" + "p" * 5000 + ":1)", 0, 5), ("(:1)", 6, 1), (" (:", 8, 1), ("f (a:b)", 9, 1)],
                                  cat="fee")}
    code, report, said = program.report(written(program, "long.json", long))
    tap.ok(code == 0 and report, "nor do odd names of frames", f"{code} {said}")


def main():
    tap, path = Tap(), program_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, folder)
        check_xla_gpu(tap, program)
        check_xla_host(tap, program)
        check_xla_pool(tap, program)
        check_xla_rules(tap, program)
        check_jax(tap, program)
        check_xla_tpu(tap, program)
        check_xla_devices(tap, program)
        check_xla_hosts(tap, program)
        check_xla_advice(tap, program)
        check_xla_capped(tap, program)
        check_engine(tap, program)
        check_host(tap, program)
        check_rocprof(tap, program)
        check_odd(tap, program)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
