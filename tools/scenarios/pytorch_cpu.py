#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record the PyTorch scenarios that need no GPU: pytorch_cpu.py [NAME ...] [--out fixtures/scenarios] [--raw FOLDER]

    python3 -m venv FOLDER                         # outside the repository; PyTorch is needed for recording only
    FOLDER/bin/pip install torch
    FOLDER/bin/python tools/scenarios/pytorch_cpu.py

Each job of pytorch_jobs.py runs in both forms, each in processes of its own. First it is timed without the profiler, the two
forms in turn: the planted cost is the difference of the least times of a window of as many steps as are recorded, of the
processor, or on the wall where the job waits for others. Of causes that hold memory it is what the process holds more behind
such a window. Then it is recorded, some times of which the shortest is kept, trimmed by trim.py and written with truth.json.
malloc keeps what it was given back, so that the steps are timed and recorded on the same heap: else it returns the end of
it to the system in the one and not in the other, by what the profiler has put there, and takes it back page by page.
What computes all the time runs before all other work of the machine where the system lets it (root, or `ulimit -r`): rows of
a loop that is taken off its core last several times as long, and a bound looks too large beside the cost.
Times differ from run to run, so recording again changes the files.
"""
import argparse
import contextlib
import ctypes
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.multiprocessing as processes
from torch.profiler import ProfilerActivity, profile, schedule

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trim  # noqa: E402
from pytorch_jobs import JOBS  # noqa: E402

WARM_UP_STEPS = 6
RECORDINGS = 8        # of which the shortest is kept: what else the machine does only adds to it
KEPT_BY_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
                  "MALLOC_TOP_PAD_": str(64 << 20)}
PAUSE_S = 0.2        # for workers of one form that still fill their queues
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@contextlib.contextmanager
def undisturbed(job):
    usual = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, *(usual if job.waits else (os.SCHED_RR, os.sched_param(1))))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *usual)


def window_us(step, job):
    """Of the process where it computes all the time, so that what else the machine does is not counted; else on the wall."""
    clock = time.perf_counter if job.waits else time.process_time
    start = clock()
    for _ in range(job.steps):
        step()
    return (clock() - start) * 1e6


class MallocFigures(ctypes.Structure):
    """struct mallinfo2 of glibc."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks",
                                                     "fordblks", "keepcost")]


def bytes_in_use():
    """What malloc has given out in all threads, without what it keeps for later."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = MallocFigures
    figures = mallinfo2()
    return figures.uordblks + figures.hblkhd


def record(step, job, path):
    """The steps behind a wait and a warm-up of the profiler."""
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=2, active=job.steps),
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(path), **job.profiler) as profiler:
        for _ in range(3 + job.steps):
            step()
            profiler.step()


def work(rank, name, planted, store, orders, answers):
    """One process of one form: does what it is told, rank 0 answers."""
    job = JOBS[name]
    torch.manual_seed(0)
    torch.set_num_threads(1)          # other work on the machine would show as long waits for a second thread
    if job.ranks > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=job.ranks)
    step = job.make(planted, rank) if job.ranks > 1 else job.make(planted)
    for _ in range(WARM_UP_STEPS):
        step()
    while True:
        order = orders.get()
        if order == "time":
            before = bytes_in_use()
            with undisturbed(job):
                spent = window_us(step, job)
            answer = spent if job.unit == "us" else bytes_in_use() - before
        elif order == "record":
            path = store + ".%d.json" % rank
            with undisturbed(job):
                record(step, job, path)
            answer = (path, os.getpid())
        else:
            break
        if rank == 0:
            answers.put(answer)
    if job.ranks > 1:
        torch.distributed.destroy_process_group()


class Form:
    """The processes of one form of a job."""

    def __init__(self, name, planted, folder):
        context = processes.get_context("spawn")
        store = os.path.join(folder, "%s-%s" % (name, planted))
        self.orders = [context.Queue() for _ in range(JOBS[name].ranks)]
        self.answers = context.Queue()
        self.workers = [context.Process(target=work, args=(rank, name, planted, store, orders, self.answers))
                        for rank, orders in enumerate(self.orders)]
        for worker in self.workers:
            worker.start()

    def order(self, what):
        for orders in self.orders:
            orders.put(what)
        return self.answers.get(timeout=300) if what != "end" else None

    def end(self):
        self.order("end")
        for worker in self.workers:
            worker.join(60)


def measure(forms, job):
    """What the cause costs over one recorded window, and each form's figure: the least time, since what else the machine
    does only adds to it, or the median of the bytes."""
    seen = {planted: [] for planted in forms}
    for _ in range(job.windows):
        for planted, form in forms.items():
            seen[planted].append(form.order("time"))
            time.sleep(PAUSE_S)
    figures = {planted: min(values) if job.unit == "us" else statistics.median(values) for planted, values in seen.items()}
    return figures[True] - figures[False], figures


def how_measured(job, cost):
    if job.varies:
        return "%d us of %d steps without the profiler, but several times more or less from run to run." % (cost, job.steps)
    if job.unit == "bytes":
        return "what malloc has given out more behind %d steps, the twin's subtracted, median of %d windows." % (job.steps,
                                                                                                                 job.windows)
    clock = "wall clock time" if job.waits else "processor time"
    return "%s of %d steps less that of the twin, least of %d windows, without the profiler." % (clock, job.steps,
                                                                                                 job.windows)


def best_recording(form):
    """Of some recordings the shortest: it was disturbed least. With the process id."""
    recordings = []
    for _ in range(RECORDINGS):
        path, process_id = form.order("record")
        document = trim.read_json(path)
        steps = trim.host_steps(document["traceEvents"])
        recordings.append((steps[-1][2] - steps[0][1], len(recordings), document))
    return min(recordings)[2], process_id


def write_scenario(name, planted, form, cost, options):
    job = JOBS[name]
    directory = "pytorch-" + name + ("" if planted else "-healthy")
    document, process_id = best_recording(form)
    if options.raw:
        trim.write_json(document, os.path.join(options.raw, directory + ".json"))
    document = trim.trim_trace(document, job.steps, keep_shapes=job.profiler.get("record_shapes", False),
                               least_frame_us=job.least_frame_us)
    document = trim.anonymize(document, process_id)
    found = trim.left_over(document)
    if found:
        sys.exit("%s: still names this machine: %s" % (directory, found[:5]))
    folder = os.path.join(options.out, directory)
    os.makedirs(folder, exist_ok=True)
    size = trim.write_json(document, os.path.join(folder, "trace.json.gz"))
    twin = "pytorch-" + name + ("-healthy" if planted else "")
    truth = {"cause": "pytorch-" + name, "planted": planted, "twin": twin, "recording": "pytorch-cpu",
             "made_by": "tools/scenarios/pytorch_cpu.py " + name, "accept": job.accept if planted else [], "unit": job.unit,
             "planted_cost": round(cost) if planted and not job.varies else None,
             "note": " ".join(job.make.__doc__.split()) + " Cost: " + how_measured(job, cost)}
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(truth, indent=1) + "\n")
    return size


def run(name, options):
    with tempfile.TemporaryDirectory() as folder:
        forms = {planted: Form(name, planted, folder) for planted in (True, False)}
        try:
            cost, figures = measure(forms, JOBS[name])
            sizes = [write_scenario(name, planted, form, cost, options) for planted, form in forms.items()]
        finally:
            for form in forms.values():
                form.end()
    print("%-30s %s: %.0f with, %.0f without, cost %.0f; %d and %d bytes"
          % (name, JOBS[name].unit, figures[True], figures[False], cost, *sizes), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(JOBS))
    parser.add_argument("--out", default=os.path.join(ROOT, "fixtures", "scenarios"))
    parser.add_argument("--raw", help="keep the untrimmed traces here")
    options = parser.parse_args()
    os.environ.update(KEPT_BY_MALLOC)      # of the processes to come
    for name in options.names or JOBS:
        if name not in JOBS:
            parser.error("no scenario is called " + name)
        run(name, options)


if __name__ == "__main__":
    main()
