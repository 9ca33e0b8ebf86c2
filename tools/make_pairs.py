#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of a made program on a made GPU, before and after a change.  make_pairs.py FOLDER

A simulation of a host thread that launches to streams with a queue of so many places, of waits, copies and collectives.
Each pair is a program as it is, written as a trace of nine steps, and with the change really made, of which only the time
of a step is known, in the long run. For tests of predictions; random in what it takes, by a seed, so that nothing fits by
construction."""
import argparse
import gzip
import json
import random
from collections import defaultdict, deque
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

STEPS, LONG_RUN = 9, 60
HOST, AUTOGRAD, WATCHDOG = 1, 2, 3
COMPUTE, COMMUNICATION = 7, 20
DEVICE = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85 * 10**9, "computeMajor": 8, "computeMinor": 0,
          "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, "numSms": 108}


FACTORS = 10007  # drawn once and used again and again: a prime, so that no step meets the same ones


class Machine:
    def __init__(self, seed, places=1024, sync_rows=True, recorded=True, watched=False):
        draw = random.Random(seed)
        self.factors = cycle([draw.lognormvariate(0, 0.05) for _ in range(FACTORS)])
        self.places, self.sync_rows, self.recorded, self.watched = places, sync_rows, recorded, watched
        self.now, self.thread, self.correlation, self.steps = 1e6, HOST, 100, 0
        self.events, self.free, self.starts, self.held = [], {}, defaultdict(deque), {}

    def about(self, us):
        return us * next(self.factors)

    def work(self, us):
        self.now += self.about(us)

    def row(self, category, name, start, end, pid=10, tid=None, **args):
        if not self.recorded:
            return
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": self.thread if tid is None else tid,
                            "ts": round(start, 3), "dur": round(max(end - start, 0.001), 3), "args": args})

    @contextmanager
    def around(self, category, name, before=3, after=2):
        start = self.now
        self.work(before)
        yield
        self.work(after)
        self.row(category, name, start, self.now)

    def op(self, name, before=3, after=2):
        return self.around("cpu_op", name, before, after)

    def call(self, name, start, **args):
        self.correlation += 1
        self.row("cuda_runtime", name, start, self.now, correlation=self.correlation, **args)

    def on_device(self, category, name, us, stream, ready, **args):
        start = max(ready, self.free.get(stream, 0) + self.about(1.2), self.held.pop(stream, 0) + self.about(1.2))
        end = self.free[stream] = start + self.about(us)
        self.starts[stream].append(start)
        self.row(category, name, start, end, pid=0, tid=stream, correlation=self.correlation, stream=stream, device=0,
                 **args)

    def launch(self, name, us, stream=COMPUTE, category="kernel", call="cudaLaunchKernel", **args):
        start = self.now
        waiting = self.starts[stream]
        while waiting and waiting[0] <= self.now:
            waiting.popleft()
        if len(waiting) >= self.places:
            self.now = waiting[len(waiting) - self.places]
        began = self.now
        self.work(4.5)
        self.call(call, start)
        self.on_device(category, name, us, stream, began + self.about(6), **args)

    def graph(self, kernels):
        start = self.now
        self.work(15)
        self.call("cudaGraphLaunch", start)
        for name, us in kernels:
            self.on_device("kernel", name, us, COMPUTE, start + 10)

    def wait(self, stream=None):
        start = self.now
        end = self.free.get(stream, 0) if stream else max(self.free.values(), default=0)
        self.now = max(self.now + self.about(1.5), end + self.about(4))
        self.call("cudaStreamSynchronize" if stream else "cudaDeviceSynchronize", start)
        if self.sync_rows and end > start:
            self.row("cuda_sync", "Stream Synchronize" if stream else "Context Synchronize", start, self.now, pid=0,
                     tid=stream or 0, correlation=self.correlation, stream=stream or 4294967295, device=0)

    def copy(self, name, us, size, waits=True):
        self.launch(name, us, category="gpu_memcpy", call="cudaMemcpyAsync", bytes=size)
        if waits:
            self.wait(COMPUTE)

    def item(self):
        with self.op("aten::item", 1, 1), self.op("aten::_local_scalar_dense", 2, 1):
            self.copy("Memcpy DtoH (Device -> Pageable)", 1.5, 4)

    def hold(self, stream, until_done):
        """What comes next on the one stream waits for what is on the other by now."""
        for name in ("cudaEventRecord", "cudaStreamWaitEvent"):
            start = self.now
            self.work(1.2)
            self.call(name, start)
        self.held[stream] = max(self.held.get(stream, 0), self.free.get(until_done, 0))
        if self.sync_rows:
            self.row("cuda_sync", "Stream Wait Event", start, start + 0.1, pid=0, tid=stream, correlation=self.correlation,
                     stream=stream, device=0, wait_on_stream=until_done, wait_on_cuda_event_id=self.correlation,
                     wait_on_cuda_event_record_corr_id=self.correlation - 1)

    def done(self):
        return max([self.now, *self.free.values()])

    def watch(self):
        """Threads that look on to the end of the recording, which comes later than the last step."""
        first, end = min(event["ts"] for event in self.events), self.done() + 20000
        self.row("python_function", "threading.py(359): wait", first, end, tid=WATCHDOG + 1)
        for at in range(int(first), int(end), 5000):
            self.row("cuda_runtime", "cudaEventQuery", at, at + 2, tid=WATCHDOG)

    def trace(self):
        if self.watched:
            self.watch()
        names = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": "python"}}
                 for pid in (0, 10)]
        return {"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": names + self.events}


def forward(machine, program):
    for i in range(program["layers"]):
        with machine.op("aten::linear"), machine.op("aten::addmm", 8):
            machine.launch("ampere_bf16_s16816gemm_bf16_128x128_tn", program["kernel"] * 3 / program["gemm"])
        for name in ("gelu",) if program["fused"] else ("gelu", "add", "mul", "dropout"):
            with machine.op(f"aten::{name}", 4):
                machine.launch(f"void at::native::vectorized_elementwise_kernel<4, {name}>", program["kernel"])
        machine.work(program["python"])
        if program["items"]:
            machine.item()
        if program["waits"]:
            machine.wait()
        if program["malloc"] and i % 2 == 0:
            start = machine.now
            machine.work(300)
            machine.call("cudaMalloc", start)


def all_reduce(machine, us, elements=4000000):
    with machine.op("c10d::allreduce_", 10):
        machine.hold(COMMUNICATION, COMPUTE)
        machine.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", us, COMMUNICATION,
                       **{"Collective name": "allreduce", "In msg nelems": elements, "dtype": "BFloat16", "Group size": 8,
                          "Process Group Name": "0"})


def backward(machine, program):
    machine.work(30)
    machine.thread = AUTOGRAD
    for i in range(program["layers"]):
        with machine.op("autograd::engine::evaluate_function: AddmmBackward0", 5):
            for form in ("nn", "nt"):
                with machine.op("aten::mm", 5):
                    machine.launch(f"ampere_bf16_s16816gemm_bf16_128x128_{form}", program["kernel"] * 3 / program["gemm"])
        if program["reduce"] == "beside" and i % 4 == 3:
            all_reduce(machine, program["reduce_us"])
    machine.thread = HOST
    machine.work(25)
    if program["reduce"] == "behind":
        for _ in range(program["layers"] // 4):
            all_reduce(machine, program["reduce_us"])
        if program["late_us"]:    # another rank comes late to the last one in every step
            all_reduce(machine, 2 * program["reduce_us"] + program["late_us"], 8000000)
    if program["reduce"]:
        machine.hold(COMPUTE, COMMUNICATION)


def step(machine, program):
    start = machine.now
    machine.steps += 1
    with machine.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", program["loader"], 5):
        pass
    with machine.around("python_function", "train.py(20): augment", program["augment"]):
        pass
    if program["copy"]:
        with machine.op("aten::to", 2), machine.op("aten::copy_", 3):
            rate = 3e3 if program["copy"] == "Pageable" else 24e3
            machine.copy(f"Memcpy HtoD ({program['copy']} -> Device)", 40e6 / rate, 40 * 10**6,
                         program["copy"] == "Pageable")
    if program["graph"]:
        machine.graph([("ampere_bf16_s16816gemm_bf16_128x128_tn", program["kernel"] * 3 / program["gemm"]),
                       *[("elementwise_kernel", program["kernel"])] * 4] * program["layers"])
    else:
        forward(machine, program)
        backward(machine, program)
    for _ in range(program["layers"]):
        with machine.op("aten::_foreach_add_", 5):
            machine.launch("multi_tensor_apply_kernel", program["kernel"])
    if program["loss"]:
        machine.item()
    machine.row("user_annotation", f"ProfilerStep#{machine.steps}", start, machine.now)
    machine.work(8)


USUAL = {"layers": 24, "kernel": 10, "gemm": 1, "python": 0, "items": False, "waits": False, "malloc": False, "reduce": None,
         "reduce_us": 0, "late_us": 0, "fused": False, "loader": 20, "augment": 1, "copy": None, "graph": False,
         "loss": True}
SMALL, LARGE, AHEAD = {"kernel": 2}, {"kernel": 30}, {"kernel": 30, "layers": 60, "loss": False}
# Name: the program, what is changed in it, the same in words, what is special about the machine.
PAIRS = {
    "faster kernels, limited by launches": (SMALL, {"gemm": 2}, "kernel ~ gemm speedup 2", {}),
    "faster kernels, limited by the device": (LARGE, {"gemm": 2}, "kernel ~ gemm speedup 2", {}),
    "faster kernels, limited by both": ({"kernel": 8}, {"gemm": 2}, "kernel ~ gemm speedup 2", {}),
    "faster kernels, and threads that look on": (LARGE, {"gemm": 2}, "kernel ~ gemm speedup 2", {"watched": True}),
    "faster kernels in a graph": ({"graph": True}, {"gemm": 2}, "kernel ~ gemm speedup 2", {}),
    "faster kernels, the queue is full": (AHEAD, {"gemm": 2}, "kernel ~ gemm speedup 2", {"places": 128}),
    "much faster kernels, the queue is full": ({**AHEAD, "kernel": 14}, {"gemm": 4}, "kernel ~ gemm speedup 4",
                                               {"places": 256}),
    "faster kernels, then collectives limit": ({**LARGE, "reduce": "beside", "reduce_us": 900}, {"gemm": 4},
                                               "kernel ~ gemm speedup 4", {}),
    "faster kernels, then collectives, no rows of waits": ({**LARGE, "reduce": "beside", "reduce_us": 900}, {"gemm": 4},
                                                           "kernel ~ gemm speedup 4", {"sync_rows": False}),
    "fused kernels, limited by launches": (SMALL, {"fused": True}, "kernel ~ vectorized fused 4", {}),
    "fused kernels, limited by the device": (LARGE, {"fused": True}, "kernel ~ vectorized fused 4", {}),
    "numbers are read in each layer": ({"items": True}, {"items": False}, "wait = scalar_read gone", {}),
    "numbers are read, small kernels": ({**SMALL, "items": True}, {"items": False}, "wait = scalar_read gone", {}),
    "numbers are read, without rows of waits": ({"items": True}, {"items": False}, "wait = scalar_read gone",
                                                {"sync_rows": False}),
    "waits in each layer": ({"waits": True}, {"waits": False}, "wait = explicit gone", {}),
    "memory is taken in the loop": ({"malloc": True}, {"malloc": False}, "call = cudaMalloc gone", {}),
    "a frame before small kernels": ({**SMALL, "augment": 4000}, {"augment": 1}, "frame ~ augment gone", {}),
    "a frame before large kernels": ({**LARGE, "augment": 4000}, {"augment": 1}, "frame ~ augment gone", {}),
    "Python between calls": ({**SMALL, "python": 60}, {"python": 0}, "gap = host hostfree", {}),
    "Python beside the device": ({"kernel": 14, "python": 60}, {"python": 0}, "gap = host hostfree", {}),
    "a loader in the loop": ({**LARGE, "loader": 12000}, {"loader": 20}, "loader like * workers 4", {}),
    "a loader, the queue is full": ({**AHEAD, "loader": 30000}, {"loader": 20}, "loader like * workers 4", {"places": 128}),
    "pageable copies": ({"copy": "Pageable"}, {"copy": "Pinned"}, "copy ~ pageable pinned", {}),
    "pageable copies, the host ahead": ({**LARGE, "copy": "Pageable", "loss": False}, {"copy": "Pinned"},
                                        "copy ~ pageable pinned", {}),
    "collectives behind": ({"reduce": "behind", "reduce_us": 400}, {"reduce": "beside"}, "collective like * overlapped", {}),
    "large collectives behind": ({"reduce": "behind", "reduce_us": 1500}, {"reduce": "beside"},
                                 "collective like * overlapped", {}),
    "small collectives behind": ({**LARGE, "reduce": "behind", "reduce_us": 300}, {"reduce": "beside"},
                                 "collective like * overlapped", {"sync_rows": False}),
    "a slow link": ({"reduce": "behind", "reduce_us": 1200}, {"reduce_us": 600}, "collective like * bandwidth 2", {}),
    "a slow link, and a rank that is always late": ({"reduce": "behind", "reduce_us": 1200, "late_us": 6000},
                                                    {"reduce_us": 600}, "collective like * bandwidth 2", {}),
    "a slow link, overlapped": ({"reduce": "beside", "reduce_us": 1200}, {"reduce_us": 600}, "collective like * bandwidth 2",
                                {}),
}


def long_run_us(program, seed, special):
    """Of a step, once the queues are as full as they get."""
    machine, marks = Machine(seed, recorded=False, **special), []
    for i in range(LONG_RUN):
        step(machine, program)
        if i in (LONG_RUN // 2 - 1, LONG_RUN - 1):
            marks.append(machine.done())
    return (marks[1] - marks[0]) * 2 / LONG_RUN


def make(name):
    """The trace of a pair, the change in words, and a step before and after it in us."""
    program, changed, words, special = PAIRS[name]
    before = {**USUAL, **program}
    machine = Machine(1, **special)
    for _ in range(STEPS):
        step(machine, before)
    machine.wait()
    return machine.trace(), words, long_run_us(before, 21, special), long_run_us({**before, **changed}, 51, special)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in PAIRS:
        trace, words, before, after = make(name)
        with gzip.open(arguments.folder / (name.replace(" ", "-").replace(",", "") + ".json.gz"), "wt") as file:
            json.dump(trace, file)
        print(f"{name}: {words}: {before:.0f} us -> {after:.0f} us")


if __name__ == "__main__":
    main()
