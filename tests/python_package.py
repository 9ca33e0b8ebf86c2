#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package, from its sources over the program that was built: python_package.py --program PROGRAM. Prints TAP.
PyTorch is played by a stand-in, so that the parts for a GPU run too; AP_TORCH_PYTHON names a Python with the real one."""
import gzip
import html
import json
import os
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from program import ROOT, program_of
from tap import Tap

SOURCES = ROOT / "src" / "python"
TRACE = ROOT / "fixtures" / "recorded" / "training_step_cpu.json.gz"
SNAPSHOT = ROOT / "fixtures" / "snapshots" / "fragmented.json"
LATE_RANK = ROOT / "fixtures" / "cluster" / "late-loader"
ONNX = ROOT / "fixtures" / "others" / "onnx_device.json"
HOSTILE = "<img src=x onerror=alert(1)>"
sys.dont_write_bytecode = True


# ---- reports

def check_report(tap, package, folder):
    report = package.analyze(TRACE, memory=SNAPSHOT)
    tap.ok(report.verdict.startswith("data-loading-bound: the run waits for batches"), "the verdict", report.verdict)
    first = report.findings[0]
    tap.same((first.rule_id, first.severity), ("dataloader-in-process", "critical"), "the first finding")
    tap.same((first.where, first.saves), ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "98.6 ms"),
             "where it is, and what it saves in words")
    tap.ok(first.saves_us == first.raw["saves_us"] and first.action, "with its gain and action", str(first))
    tap.ok(report.figure("steps.count") == 4 and report.figure("no.such.figure") is None, "figures by their path")
    rows = report.table("operators", where="name contains addmm", sort="dur_us", columns=["name", "dur_us"], limit=3)
    tap.ok(len(rows) == 3 <= rows.rows_matched and list(rows[0]) == ["name", "dur_us"] and
           rows[0]["dur_us"] >= rows[1]["dur_us"], "a table with a condition, an order and columns", str(list(rows)))
    tap.ok(report.to_html().startswith("<!DOCTYPE html>") and "# Profile report" in report.to_markdown(folder / "r.md") and
           (folder / "r.md").stat().st_size > 1000, "HTML and Markdown, to a file too")
    tap.ok(report.to_markdown().count("\n") <= 250 < report.to_markdown(full=True).count("\n"),
           "Markdown is short, or whole where that is asked for")
    tap.ok("dataloader-in-process" in report.explain("dataloader-in-process"), "explanations")
    shown = report._repr_html_()
    tap.ok(all(html.escape(text) in shown for text in (first.title, first.where, first.saves, first.action)),
           "a notebook shows the findings: what, where, how much, what to do", shown[:500])
    named = package.Table({"table": "t", "rows_total": 1, "rows_matched": 1, "rows": [{HOSTILE: HOSTILE}]})
    tap.ok("<img" not in named._repr_html_(), "names of an input are escaped there")
    tap.ok(package.analyze(ONNX).verdict.startswith("operator-bound: "), "the verdict of another profiler's file")
    tap.same(package.analyze(memory=SNAPSHOT).verdict,
             "7.56 % full: 96.8 MiB of 1.25 GiB that the allocator reserved were in use when the snapshot was taken",
             "the verdict of a snapshot alone")
    tap.ok(package.analyze(LATE_RANK).verdict.startswith("straggler: "), "the verdict of a run")
    tap.same((repr(rows), package.__version__), (f"<Table operators: 3 of {rows.rows_matched} rows>", package.version()),
             "a table and the version say what they are")
    compared = package.analyze(TRACE, baseline=TRACE)
    tap.ok(compared.raw["comparison"], "a baseline")
    for arguments, code in (((folder / "none.json",), 3), ((), 2)):
        try:
            package.analyze(*arguments)
            tap.ok(False, f"{arguments}: no report")
        except package.AnalyzeError as error:
            tap.same(error.exit_code, code, f"no report of {arguments}: exit code {code}, {str(error).splitlines()[0]}")
            tap.ok(not str(error).startswith("analyze_profile: "), "its message does not repeat who says it", str(error))
    try:
        package.analyze(3)
        tap.ok(False, "a number is no path")
    except TypeError as error:
        tap.ok("a path or a list of paths was expected, not int" in str(error), "a number is no path", str(error))


def check_module(tap, program):
    run = subprocess.run([sys.executable, "-m", "analyze_profile", "--version"], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": str(SOURCES)})
    want = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    tap.same(run.stdout, want, "python -m analyze_profile is the program")


# ---- recording, with a stand-in for PyTorch

class Profile:
    """torch.profiler.profile as far as record() uses it."""
    made = []

    def __init__(self, schedule, on_trace_ready, **details):
        self.schedule, self.ready, self.details, self.steps, self.stopped = schedule, on_trace_ready, details, 0, False
        Profile.made.append(self)

    def start(self):
        pass

    def step(self):
        self.steps += 1
        if self.steps == sum(self.schedule[key] for key in ("wait", "warmup", "active")):
            self.ready(self)

    def stop(self):
        self.stopped = True

    def export_chrome_trace(self, path):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump({"traceEvents": []}, file)


class Cuda:
    def __init__(self, available):
        self.history, self.observers = [], []
        self.memory = types.SimpleNamespace(
            _record_memory_history=lambda **how: self.history.append(how),
            _snapshot=lambda: {"segments": [], "device_traces": []})
        self.is_available = lambda: available


def stand_in(available):
    """A module torch, and those below it that are imported."""
    torch, hooks = types.ModuleType("torch"), []
    torch.cuda = Cuda(available)
    torch._C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=torch.cuda.observers.append)
    torch.profiler = types.ModuleType("torch.profiler")
    torch.profiler.profile = Profile
    torch.profiler.schedule = dict
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.is_available = lambda: False
    torch.optim = types.ModuleType("torch.optim")
    torch.optim.optimizer = types.ModuleType("torch.optim.optimizer")

    class Handle:
        def remove(self):
            hooks.clear()
    torch.optim.optimizer.register_optimizer_step_post_hook = lambda hook: hooks.append(hook) or Handle()
    torch.hooks = hooks
    Profile.made = []
    names = {"torch": torch, "torch.profiler": torch.profiler, "torch.distributed": torch.distributed,
             "torch.optim": torch.optim, "torch.optim.optimizer": torch.optim.optimizer}
    sys.modules.update(names)
    return torch


def names_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def check_record(tap, package, folder):
    torch = stand_in(True)
    with package.record(steps=2, folder=folder / "a", rank=3) as recorder:
        for _ in range(20):
            recorder.step()
    tap.same(names_in(folder / "a"), ["details_rank3.json.gz", "snapshot_rank3.json.gz", "trace_rank3.json.gz"],
             "a trace, details and a snapshot, with the rank in the name")
    tap.same([path.name for path in recorder.files],
             ["trace_rank3.json.gz", "details_rank3.json.gz", "snapshot_rank3.json.gz"], "one after the other")
    tap.ok([made.schedule["active"] for made in Profile.made] == [2, 2] and all(made.stopped for made in Profile.made) and
           Profile.made[0].details == {"record_shapes": True} and Profile.made[1].details.get("with_stack"),
           "what slows the host is recorded apart", str([made.details for made in Profile.made]))
    tap.same(torch.cuda.history, [{"max_entries": 100000, "stacks": "python"}, {"enabled": None}],
             "the history is switched off")

    torch = stand_in(False)
    first, second = object(), object()
    with package.record(steps=1, folder=folder / "b", stacks=False):
        for _ in range(5):
            for hook in list(torch.hooks):
                hook(first)
                hook(second)
    tap.same((names_in(folder / "b"), Profile.made[0].steps), (["trace_rank0.json.gz"], 5),
             "without step() the steps of the first optimizer count; no GPU, no snapshot")

    torch = stand_in(True)
    with package.record(steps=1, folder=folder / "c", on_oom=True, stacks=False):
        torch.cuda.observers[0](0, 1, 2, 3)
    tap.ok("oom_rank0.json.gz" in names_in(folder / "c") and torch.cuda.history[-1] == {"enabled": None},
           "on_oom writes the history where memory runs out", str(names_in(folder / "c")))

    torch = stand_in(False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with package.record(folder=folder / "d") as recorder:
            recorder.step()
    tap.ok(len(told) == 1 and "too early" in str(told[0].message), "a loop that is too short is told", str(told))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (folder / "f").mkdir()
        (folder / "f" / "trace_rank0.json.gz").touch()
        with package.record(folder=folder / "f") as recorder:
            recorder.step()
    tap.ok(not recorder.files and "not written" in str(told[0].message),
           "a file of an earlier run is not taken for this one's", str(told))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with package.record(folder=folder / "f" / "trace_rank0.json.gz") as recorder:
            recorder.step()
    tap.ok(len(told) == 1 and "FileExistsError" in str(told[0].message),
           "a folder that cannot be made is a warning", str(told))
    Profile.start = lambda self: 1 / 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with package.record(folder=folder / "e", stacks=False) as recorder:
            recorder.step()
    del Profile.start
    tap.ok(len(told) == 1 and "ZeroDivisionError" in str(told[0].message), "a failure is a warning: the loop goes on",
           str(told))
    Profile.start = lambda self: None


def check_hooks(tap, folder):
    from analyze_profile import hooks
    stand_in(False)
    transformers, lightning = types.ModuleType("transformers"), types.ModuleType("lightning.pytorch")
    transformers.TrainerCallback = lightning.Callback = object
    sys.modules.update({"transformers": transformers, "lightning": types.ModuleType("lightning"),
                        "lightning.pytorch": lightning})
    for name, callback, begin, step in (
            ("hugging", hooks.hugging_face_callback, "on_train_begin", "on_step_end"),
            ("lightning", hooks.lightning_callback, "on_train_start", "on_train_batch_end")):
        made = callback(steps=1, stacks=False, folder=folder / name)
        getattr(made, begin)(None, None)
        for _ in range(5):
            getattr(made, step)(None, None)
        made.on_train_end(None, None)
        tap.same(names_in(folder / name), ["trace_rank0.json.gz"], f"{name}: a callback")
    with hooks.torchtitan_profiling(steps=1, stacks=False, folder=folder / "titan")(object(), global_step=0) as profiler:
        for _ in range(5):
            profiler.step()
    tap.same(names_in(folder / "titan"), ["trace_rank0.json.gz"], "torchtitan")
    calls = []
    engine = types.SimpleNamespace(start_profile=lambda: calls.append("start"), stop_profile=lambda: calls.append("stop"))
    with hooks.vllm_profile(engine):
        calls.append("work")
    tap.same(calls, ["start", "work", "stop"], "vLLM")
    check_sglang(tap, hooks)


def check_sglang(tap, hooks):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        hooks.sglang_profile(f"http://127.0.0.1:{server.server_port}/", "/profile", steps=7, timeout_s=20)
        thread.join()
    tap.ok(asked and asked[0][0] == "/start_profile" and asked[0][1]["num_steps"] == 7, "SGLang", str(asked))


REAL = """
import sys, warnings
import torch, analyze_profile
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with analyze_profile.record(steps=2, folder=sys.argv[1]) as recorder:
    for _ in range(12):
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
report = analyze_profile.analyze(recorder.files[0])
print(len(recorder.files), report.figure("steps.count"), len(report.table("operators", limit=5)))
"""


def check_torch(tap, program, folder):
    python = os.environ.get("AP_TORCH_PYTHON")
    if not python:
        tap.skip("recording with PyTorch", "no AP_TORCH_PYTHON")
        return
    done = subprocess.run([python, "-c", REAL, str(folder / "real")], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(SOURCES), "ANALYZE_PROFILE_PROGRAM": program})
    tap.same(done.stdout.split(), ["2", "2", "5"], "PyTorch's own profiler, steps told by the optimizer")


def main():
    program, tap = str(program_of(__doc__)), Tap()
    os.environ["ANALYZE_PROFILE_PROGRAM"] = program
    sys.path.insert(0, str(SOURCES))
    import analyze_profile as package
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_report(tap, package, folder)
        check_module(tap, program)
        check_record(tap, package, folder)
        check_hooks(tap, folder)
        check_torch(tap, program, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
