#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the synthetic traces and snapshots of fixtures/, with their known answers.

    make_fixtures.py [--out fixtures]            write them
    make_fixtures.py --out fixtures --check      write them elsewhere and compare; exit 1 if anything differs

Every file is made up here: a small simulated training loop (host threads, GPU streams) writes the traces, a small simulated
caching allocator writes the snapshots. The known answers in expected/ come from the simulation in exact integers
(nanoseconds, bytes), never from reading the written text back, so they are independent of every reader.
The output depends on nothing but this file: fixed seeds, no clock, gzip without time stamp.
"""
import argparse
import filecmp
import gzip
import heapq
import io
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import contextmanager
from decimal import Decimal

from scenarios.allocator_model import GIB, KIB, MIB, Allocator, Clock, OutOfMemory, frames, round_up, snapshot_document

NS_PER_US = 1000
# The writer's base time is a multiple of 7,889,238 s (a quarter of a year); times in the file count from there.
BASE_TIME_NS = 224 * 7_889_238 * 10**9
START_NS = 2_718_281_828_459_000          # first event, relative to the base


# ------------------------------------------------------------------------------------------------ exact numbers as text

def us_number(ns):
    """Nanoseconds as a JSON number in microseconds, exact for every value used in the answers."""
    return ns // NS_PER_US if ns % NS_PER_US == 0 else float(Decimal(ns) / NS_PER_US)


def three_decimals(ns):
    return "%d.%03d" % divmod(ns, NS_PER_US)


def whole_us(ns):
    return str(ns // NS_PER_US)


def ratio(numerator, denominator):
    return numerator / denominator if denominator else None


# ------------------------------------------------------------------------------------------------ known answers of a trace

HOST_OP_CATS = {"cpu_op", "operator"}
FRAMEWORK_ANNOTATION = re.compile(r"Optimizer\.|enumerate\(DataLoader\)|nccl:|gloo:|Distributed|DataParallel|## Call "
                                  r"|Torch|ProfilerStep")
GPU_WORK = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "memcpy": "memcpy", "memset": "memset"}


def is_host_op(row):
    """By kind: cpu_op, its name of 2021, and the rows without category of the old autograd exporter."""
    cat = row.get("cat")
    if cat is None:
        return row.get("pid") == "CPU functions"
    return str(cat).lower() in HOST_OP_CATS


def is_runtime(row):
    cat = str(row.get("cat")).lower()
    return cat == "runtime" or cat.endswith("_runtime") or cat.endswith("_driver")


def union_ns(intervals):
    total, reach = 0, None
    for start, end in sorted(intervals):
        if reach is None or start > reach:
            total += end - start
            reach = end
        elif end > reach:
            total += end - reach
            reach = end
    return total


def self_ns(rows):
    """Per row: the time during which it is the innermost open row. Innermost is the one that started last; of equal
    starts the shorter; of equal rows the later in the file."""
    order = sorted(range(len(rows)), key=lambda i: (rows[i]["ts"], -rows[i]["dur"], i))
    points = sorted({t for r in rows for t in (r["ts"], r["ts"] + max(r["dur"], 0))})
    own, open_rows, next_row = [0] * len(rows), [], 0
    for here, there in zip(points, points[1:]):
        while next_row < len(order) and rows[order[next_row]]["ts"] <= here:
            row = rows[order[next_row]]
            heapq.heappush(open_rows, (-next_row, row["ts"] + max(row["dur"], 0), order[next_row]))
            next_row += 1
        while open_rows and open_rows[0][1] <= here:
            heapq.heappop(open_rows)
        if open_rows:
            own[open_rows[0][2]] += there - here
    return own


def by_thread(rows):
    threads = defaultdict(list)
    for row in rows:
        threads[(row.get("pid"), row.get("tid"))].append(row)
    return threads


def placed(row):
    return isinstance(row.get("ts"), int) and isinstance(row.get("dur"), int)


def op_table(ops, durations):
    """Count, sums and self times per name. `ops`: rows with a numeric dur; `durations`: every duration row of the file."""
    own, own_excl = {}, {}
    for rows in by_thread(r for r in ops if placed(r)).values():
        own.update((id(r), ns) for r, ns in zip(rows, self_ns(rows)))
    chosen = {id(r) for r in ops}
    for rows in by_thread(r for r in durations if placed(r) and (id(r) in chosen or is_runtime(r))).values():
        own_excl.update((id(r), ns) for r, ns in zip(rows, self_ns(rows)))
    table = {}
    for row in ops:
        line = table.setdefault(str(row.get("name", "unknown")), [0, 0, 0, 0, 0])
        line[0] += 1
        line[1] += row["dur"]
        line[2] = max(line[2], row["dur"])
        line[3] += own.get(id(row), 0)
        line[4] += own_excl.get(id(row), 0)
    keys = ("total_dur_us", "max_dur_us", "self_dur_us", "self_excl_runtime_dur_us")
    ranked = sorted(table.items(), key=lambda item: (-item[1][1], item[0]))
    return [dict(name=name, count=v[0], **{k: us_number(n) for k, n in zip(keys, v[1:])}) for name, v in ranked]


def thread_table(ops):
    lines = []
    for (pid, tid), rows in by_thread(ops).items():
        busy = union_ns((r["ts"], r["ts"] + max(r["dur"], 0)) for r in rows if placed(r))
        lines.append((sum(r["dur"] for r in rows), busy, pid, tid))
    lines.sort(key=lambda t: (-t[0], str(t[2]), str(t[3])))
    return [dict(pid=p, tid=t, total_dur_us=us_number(total), busy_us=us_number(busy)) for total, busy, p, t in lines]


def uncovered_ns(intervals, cover):
    """Length of the union of `intervals` that lies outside of `cover`."""
    return union_ns(intervals + cover) - union_ns(cover)


def part_of_gpu(row):
    """compute, communication, memcpy or memset. The simulation names its collectives after NCCL."""
    kind = GPU_WORK[str(row["cat"]).lower()]
    if kind == "kernel":
        return "communication" if "nccl" in row["name"].lower() else "compute"
    return kind


def device_answers(rows, launches):
    """Unions of what one device did; what of it nothing else hides."""
    spans = defaultdict(list)
    for row in rows:
        spans[part_of_gpu(row)].append((row["ts"], row["ts"] + row["dur"]))
    parts = ("compute", "communication", "memcpy", "memset")
    answer = {f"{part}_us": us_number(union_ns(spans[part])) for part in parts}
    kernel_like = spans["compute"] + spans["memset"]
    answer["exposed_communication_us"] = us_number(uncovered_ns(spans["communication"], kernel_like))
    answer["exposed_memcpy_us"] = us_number(uncovered_ns(spans["memcpy"], kernel_like + spans["communication"]))
    unlaunched = sum(r["args"].get("correlation") not in launches for r in rows)
    answer["launched_before_recording_count"] = unlaunched if launches else None
    return answer


def sums_by_name(rows):
    """Count, sum, shortest and longest of each name, and bytes where the rows tell them; largest sum first."""
    by_name = defaultdict(list)
    for row in rows:
        by_name[row["name"]].append(row)
    lines = []
    for name, named in by_name.items():
        durs = [r["dur"] for r in named]
        lines.append((-sum(durs), name, {
            "name": name, "count": len(named), "total_dur_us": us_number(sum(durs)), "min_dur_us": us_number(min(durs)),
            "max_dur_us": us_number(max(durs)), "bytes": sum(r["args"].get("bytes", 0) for r in named)}))
    return [line for _, _, line in sorted(lines, key=lambda line: line[:2])]


def gpu_tables(durations):
    work = [r for r in durations if str(r.get("cat")).lower() in GPU_WORK]
    return {kind: sums_by_name(r for r in work if GPU_WORK[str(r["cat"]).lower()] == kind) for kind in ("kernel", "memcpy")}


def gpu_answers(durations):
    """Per device: first start to last end, unions of its work, sums by kind, rows with a launch in the file."""
    launches = {r["args"]["correlation"] for r in durations if is_runtime(r) and "correlation" in r.get("args", {})}
    devices = defaultdict(list)
    for row in durations:
        if str(row.get("cat")).lower() in GPU_WORK:
            devices[row["args"].get("device", row["pid"])].append(row)
    answers = []
    for device, rows in sorted(devices.items()):
        spans = [(r["ts"], r["ts"] + r["dur"]) for r in rows]
        line = {"device": device, "events": len(rows), "busy_us": us_number(union_ns(spans)),
                "window_us": us_number(max(e for _, e in spans) - min(s for s, _ in spans)),
                "with_launch": sum(r["args"].get("correlation") in launches for r in rows)}
        line.update(device_answers(rows, launches))
        for kind in ("kernel", "memcpy", "memset"):
            of_kind = [r["dur"] for r in rows if GPU_WORK[str(r["cat"]).lower()] == kind]
            line[kind] = {"count": len(of_kind), "total_dur_us": us_number(sum(of_kind))}
        answers.append(line)
    return answers


def repeated_annotations(durations):
    """What stands in for steps that are not marked: of the annotations that a thread repeats, those with the largest sum."""
    loops = defaultdict(list)
    for row in durations:
        if str(row.get("cat")).lower() == "user_annotation" and placed(row):
            loops[(str(row.get("pid")), str(row.get("tid")), re.sub("[0-9]+", "N", str(row.get("name"))))].append(row)
    own = {loop: rows for loop, rows in loops.items() if len(rows) >= 3 and not FRAMEWORK_ANNOTATION.match(loop[2])}
    best = max(own.values(), key=lambda rows: sum(r["dur"] for r in rows), default=[])
    return sorted(best, key=lambda r: r["ts"])


def step_answers(durations):
    steps = [r for r in durations if str(r.get("name")).startswith("ProfilerStep#")
             and str(r.get("cat")).lower() not in ("gpu_user_annotation", "cpu_op")]
    if not steps:
        return [{"number": None, "dur_us": us_number(r["dur"])} for r in repeated_annotations(durations)]
    steps.sort(key=lambda r: int(r["name"].split("#")[1]))
    return [{"number": int(r["name"].split("#")[1]), "dur_us": us_number(r["dur"])} for r in steps]


def trace_answers(rows, planted, oddities=None, pairs=()):
    """`rows`: one model per element of traceEvents (None for one that is no object). `pairs`: durations made of B/E
    pairs."""
    objects = [r for r in rows if r is not None]
    x_rows = [r for r in objects if r.get("ph") == "X"]
    timed = [r for r in x_rows if isinstance(r.get("dur"), int)]
    spans = [(r["ts"], r["ts"] + r["dur"]) for r in timed if placed(r)]
    cpu_rows = [r for r in timed if "cpu" in str(r.get("cat", "")).lower()]
    durations = timed + list(pairs)
    ops = [r for r in durations if is_host_op(r)]
    window_ns = max(e for _, e in spans) - min(s for s, _ in spans) if spans else None
    return {
        "cpu": {
            "summary": {"events_total": len(rows), "x_events_total": len(x_rows), "cpu_x_events": len(cpu_rows),
                        "time_window_us": None if window_ns is None else us_number(window_ns),
                        "unique_cpu_ops": len({str(r.get("name", "unknown")) for r in cpu_rows})},
            "top_ops": op_table(cpu_rows, durations),
            "top_threads": thread_table(cpu_rows),
            "operators": op_table(ops, durations),
            "operator_threads": thread_table(ops),
        },
        "events_by_ph": dict(sorted(Counter(str(r.get("ph")) for r in objects).items())),
        "events_by_cat": dict(sorted(Counter(str(r.get("cat", "")) for r in objects).items())),
        "gpu": gpu_answers(durations),
        "gpu_names": gpu_tables(durations),
        "steps": step_answers(durations),
        "oddities": oddities or {},
        "planted": planted,
    }


# ------------------------------------------------------------------------------------------------ simulated training loop

class Stream:
    def __init__(self, device, number):
        self.device, self.number, self.free_at_ns = device, number, 0


class Sim:
    """One traced process: host threads with a clock each, streams that run what is launched on them in order."""

    def __init__(self, seed, pid=4711, resolution_ns=1, hip=False, memory=False, shapes=True):
        self.random = random.Random(seed)
        self.pid, self.resolution_ns, self.hip, self.memory, self.shapes = pid, resolution_ns, hip, memory, shapes
        self.host_rows, self.device_rows, self.meta_rows = [], [], []
        self.next_id, self.next_correlation, self.next_sequence, self.ev_idx = 1, 2001, 512, 0
        self.allocated_bytes, self.reserved_bytes = 96 * MIB, 128 * MIB
        self.first_ns = START_NS

    def ns(self, us, jitter=0.08):
        """Microseconds with a little noise, in whole steps of the file's resolution, at least one step."""
        noisy = us * NS_PER_US * (1 + jitter * (2 * self.random.random() - 1))
        return max(1, round(noisy / self.resolution_ns)) * self.resolution_ns

    def thread(self, tid, name, start_us=0.0):
        self.meta("thread_name", self.pid, tid, {"name": "thread %s (%s)" % (tid, name)})
        self.meta("thread_sort_index", self.pid, tid, {"sort_index": tid})
        return Thread(self, tid, self.first_ns + round(start_us) * NS_PER_US)

    def process(self, name="python3"):
        self.meta("process_name", self.pid, 0, {"name": name})
        self.meta("process_labels", self.pid, 0, {"labels": "CPU"})
        self.meta("process_sort_index", self.pid, 0, {"sort_index": self.pid})

    def gpu(self, device, streams):
        self.meta("process_name", device, 0, {"name": "python3"})
        self.meta("process_labels", device, 0, {"labels": "GPU %d" % device})
        self.meta("process_sort_index", device, 0, {"sort_index": 5_000_000 + device})
        for number in streams:
            self.meta("thread_name", device, number, {"name": "stream %d " % number})
            self.meta("thread_sort_index", device, number, {"sort_index": number})
        return [Stream(device, number) for number in streams]

    def meta(self, name, pid, tid, args):
        self.meta_rows.append({"name": name, "ph": "M", "ts": self.first_ns, "pid": pid, "tid": tid, "args": args})

    def flow(self, ph, cat, number, pid, tid, ts):
        row = {"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": ts, "cat": cat, "name": cat}
        if ph == "f":
            row["bp"] = "e"
        self.device_rows.append(row)

    def finish(self, window_pad_us=400):
        """The writer's own rows at the end: names, the profiling window, its markers."""
        rows = [r for r in self.host_rows + self.device_rows if "dur" in r]
        start = min(r["ts"] for r in rows) - window_pad_us * NS_PER_US
        end = max(r["ts"] + r["dur"] for r in rows) + window_pad_us * NS_PER_US
        span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                "ts": start, "dur": end - start, "args": {"Op count": 0}}
        sort = {"name": "process_sort_index", "ph": "M", "ts": start, "pid": "Spans", "tid": 0,
                "args": {"sort_index": 536870912}}
        marks = [{"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces",
                  "tid": "Trace PyTorch Profiler", "ts": start},
                 {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": end}]
        return self.host_rows + self.device_rows + self.meta_rows + [span, sort] + marks


class Thread:
    def __init__(self, sim, tid, start_ns):
        self.sim, self.tid, self.now_ns, self.open_ids = sim, tid, start_ns, []

    def spend(self, us):
        self.now_ns += self.sim.ns(us)

    @contextmanager
    def span(self, name, cat="cpu_op", enter_us=1.5, leave_us=1.0, **args):
        """A host range; keyword arguments become args (underscores in place of the spaces)."""
        sim = self.sim
        row = {"ph": "X", "cat": cat, "name": name, "pid": sim.pid, "tid": self.tid, "ts": self.now_ns, "dur": 0,
               "args": {"External id": sim.next_id, "Record function id": 0}}
        row["args"].update({k.replace("_", " "): v for k, v in args.items()})
        row["args"]["Ev Idx"] = sim.ev_idx
        self.open_ids.append(sim.next_id)
        sim.next_id += 1
        sim.ev_idx += 1
        sim.host_rows.append(row)
        self.spend(enter_us)
        yield row
        self.spend(leave_us)
        self.open_ids.pop()
        row["dur"] = self.now_ns - row["ts"]

    def op(self, name, dims=None, dtype="float", **kwargs):
        if dims is not None and self.sim.shapes:
            kwargs = {"Input Dims": dims, "Input type": [dtype if d else "Scalar" for d in dims], **kwargs}
        return self.span(name, **kwargs)

    def leaf(self, name, us, dims=None, **kwargs):
        with self.op(name, dims, enter_us=us, leave_us=0.3, **kwargs) as row:
            pass
        return row

    def call(self, name, us, cat="cuda_runtime", **args):
        """A runtime call on this thread, linked to the innermost open op."""
        sim = self.sim
        correlation = sim.next_correlation
        sim.next_correlation += 1
        row = {"ph": "X", "cat": cat, "name": name, "pid": sim.pid, "tid": self.tid, "ts": self.now_ns,
               "dur": sim.ns(us), "args": {}}
        if self.open_ids:
            row["args"]["External id"] = self.open_ids[-1]
        row["args"].update(args)
        row["args"]["correlation"] = correlation
        sim.device_rows.append(row)
        self.now_ns += row["dur"]
        return row

    def launch(self, stream, name, gpu_us, cat="kernel", call="cudaLaunchKernel", call_us=5.5, **args):
        """A runtime call and the work it puts on a stream; the work starts when the stream is free."""
        sim = self.sim
        if sim.hip:
            call_row = self.call(call.replace("cuda", "hip"), call_us, cid=107, kernel=name, stream="0x0")
        else:
            call_row = self.call(call, call_us, cbid=211 if cat == "kernel" else 41)
        correlation = call_row["args"]["correlation"]
        start = max(call_row["ts"] + sim.ns(7.0), stream.free_at_ns + sim.ns(0.9))
        row = {"ph": "X", "cat": cat, "name": name, "pid": stream.device, "tid": stream.number, "ts": start,
               "dur": sim.ns(gpu_us), "args": {}}
        if "External id" in call_row["args"]:
            row["args"]["External id"] = call_row["args"]["External id"]
        row["args"].update({"device": stream.device, "stream": stream.number, "correlation": correlation})
        if not sim.hip:
            row["args"]["context"] = 1
        row["args"].update(args)
        stream.free_at_ns = row["ts"] + row["dur"]
        sim.flow("s", "ac2g", correlation, sim.pid, self.tid, call_row["ts"])
        sim.device_rows.append(row)
        sim.flow("f", "ac2g", correlation, stream.device, stream.number, row["ts"])
        return row

    def kernel(self, stream, name, gpu_us, grid=(432, 1, 1), block=(256, 1, 1), **kwargs):
        args = {"grid": list(grid), "block": list(block)}
        if self.sim.hip:
            args["kind"] = "Dispatch Kernel"
        else:
            blocks = grid[0] * grid[1] * grid[2] / 108
            args.update({"queued": 0, "registers per thread": 64, "shared memory": 16384,
                         "blocks per SM": round(blocks, 6), "warps per SM": round(blocks * block[0] / 32, 6),
                         "est. achieved occupancy %": min(100, int(blocks * 25))})
        return self.launch(stream, name, gpu_us, **args, **kwargs)

    def copy(self, stream, kind, nbytes, gpu_us, call_us=9.0):
        row = self.launch(stream, "Memcpy " + kind, gpu_us, cat="gpu_memcpy", call="cudaMemcpyAsync", call_us=call_us)
        row["args"].update({"bytes": nbytes, "memory bandwidth (GB/s)": round(nbytes / row["dur"], 6)})
        return row

    def fill(self, stream, nbytes, gpu_us):
        row = self.launch(stream, "Memset (Device)", gpu_us, cat="gpu_memset", call="cudaMemsetAsync", call_us=6.0)
        row["args"].update({"bytes": nbytes, "memory bandwidth (GB/s)": round(nbytes / row["dur"], 6)})
        return row

    def wait_for(self, stream, name="cudaStreamSynchronize"):
        """A blocking call: returns when the stream has run dry."""
        if self.sim.hip:
            name = name.replace("cuda", "hip")
        row = self.call(name, 4.0)
        late = stream.free_at_ns + self.sim.ns(3.0) - self.now_ns
        if late > 0:
            row["dur"] += late
            self.now_ns += late
        return row

    def memory(self, nbytes, device=0, device_type=1):
        """An allocation (or, negative, a free) as the profiler's instant event."""
        sim = self.sim
        if not sim.memory:
            return
        sim.allocated_bytes += nbytes
        sim.reserved_bytes = max(sim.reserved_bytes, (sim.allocated_bytes + 20 * MIB - 1) // (20 * MIB) * 20 * MIB)
        args = {"Total Reserved": sim.reserved_bytes, "Total Allocated": sim.allocated_bytes, "Bytes": nbytes,
                "Addr": 139_900_000_000_000 + abs(nbytes), "Device Id": device, "Device Type": device_type,
                "Ev Idx": sim.ev_idx}
        sim.ev_idx += 1
        sim.host_rows.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": sim.pid,
                              "tid": self.tid, "ts": self.now_ns, "args": args})


GEMM = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel"
ELEMENTWISE = ("void at::native::vectorized_elementwise_kernel<4, at::native::%s, std::array<char*, 2ul> >"
               "(int, at::native::%s, std::array<char*, 2ul>)")
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def elementwise(functor):
    return ELEMENTWISE % (functor, functor)


class Plan:
    """What a training loop does; the differences between the fixtures are here."""

    def __init__(self, **changes):
        self.steps, self.first_step, self.layers, self.batch, self.width = 4, 11, 4, 512, 1024
        self.loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        self.loader_us, self.loader_ops, self.pinned = 60.0, 0, True
        self.gemm_us, self.pointwise_us, self.python_gap_us, self.op_us = 60.0, 9.0, 14.0, 9.0
        self.all_reduce_us, self.optimizer, self.fused_us = 0.0, "AdamW", 70.0
        self.copy_us, self.gpu, self.dtype = 60.0, True, "c10::BFloat16"
        self.__dict__.update(changes)


class TrainingLoop:
    def __init__(self, sim, plan):
        self.sim, self.plan = sim, plan
        self.main = sim.thread(sim.pid, "python3")
        self.autograd = sim.thread(sim.pid + 77, "pt_autograd_0")
        self.compute = self.comm = None
        if plan.gpu:
            streams = [0, 3] if sim.hip else [7, 20]
            self.compute, self.comm = sim.gpu(0, streams if plan.all_reduce_us else streams[:1] * 2)

    def run(self):
        for index in range(self.plan.steps):
            with self.main.span("ProfilerStep#%d" % (self.plan.first_step + index), "user_annotation", 3.0, 2.0):
                self.step()
            self.main.spend(12)

    def step(self):
        plan, main = self.plan, self.main
        self.load_batch()
        if plan.gpu:
            self.move_batch()
        produced = self.forward()
        with main.span("Optimizer.zero_grad#%s.zero_grad" % plan.optimizer, "user_annotation", 18.0, 4.0):
            pass
        self.backward(produced)
        self.optimizer_step()

    def load_batch(self):
        """Single process: the batch is made here, so aten ops show inside the wait. Workers: only a wait."""
        plan, main = self.plan, self.main
        rest_us = plan.loader_us / (plan.loader_ops + 1)
        with main.span(plan.loader, "user_annotation", 6.0, 4.0):
            main.spend(rest_us)
            for _ in range(plan.loader_ops):
                main.leaf("aten::stack", rest_us * 0.3, [[[3, 224, 224]]])
                main.spend(rest_us * 0.7)

    def move_batch(self):
        plan, main = self.plan, self.main
        kind = "HtoD (%s -> Device)" % ("Host" if self.sim.hip else "Pinned" if plan.pinned else "Pageable")
        nbytes = plan.batch * plan.width * 4
        dims = [[plan.batch, plan.width], [], [], [], []]
        with main.op("aten::to", dims, enter_us=plan.op_us):
            with main.op("aten::_to_copy", dims, enter_us=plan.op_us):
                main.leaf("aten::empty_strided", plan.op_us, [[], []])
                main.memory(nbytes)
                with main.op("aten::copy_", dims[:2], enter_us=plan.op_us):
                    main.copy(self.compute, kind, nbytes, plan.copy_us, plan.copy_us + 20 if not plan.pinned else 9.0)
                    if not plan.pinned:
                        main.wait_for(self.compute)

    def forward(self):
        """Runs the layers; returns what backward needs: (name, sequence number, forward row) in order of execution."""
        plan, main, produced = self.plan, self.main, []
        activation_bytes = plan.batch * plan.width * 2
        for _ in range(plan.layers):
            main.spend(plan.python_gap_us)
            produced.append(self.linear())
            main.memory(activation_bytes)
            main.spend(plan.python_gap_us)
            produced.append(self.relu())
            main.memory(activation_bytes)
        main.spend(plan.python_gap_us)
        produced.append(self.loss())
        return produced

    def sequence(self):
        self.sim.next_sequence += 1
        return self.sim.next_sequence - 1

    def forward_op(self, name, dims, **kwargs):
        number = self.sequence()
        span = self.main.op(name, dims, self.plan.dtype, Sequence_number=number, Fwd_thread_id=0, **kwargs)
        return span, number

    def compute_kernel(self, thread, name, us, **kwargs):
        """The work of an op: a kernel on a GPU run, time on the host without one."""
        if self.plan.gpu:
            thread.kernel(self.compute, name, us, **kwargs)
        else:
            thread.spend(us)

    def linear(self):
        plan, main = self.plan, self.main
        dims = [[plan.width], [plan.batch, plan.width], [plan.width, plan.width], [], []]
        with main.op("aten::linear", [dims[1], dims[2], dims[0]], plan.dtype, enter_us=plan.op_us):
            with main.op("aten::t", [dims[2]], plan.dtype, enter_us=plan.op_us * 0.6):
                main.leaf("aten::transpose", plan.op_us * 0.7, [dims[2], [], []])
            span, number = self.forward_op("aten::addmm", dims, enter_us=plan.op_us * 2)
            with span as row:
                self.compute_kernel(main, GEMM, plan.gemm_us)
                main.spend(plan.op_us)
        return "AddmmBackward0", number, row

    def relu(self):
        plan, main = self.plan, self.main
        dims = [[plan.batch, plan.width]]
        span, number = self.forward_op("aten::relu", dims, enter_us=plan.op_us)
        with span as row:
            with main.op("aten::clamp_min", dims + [[]], plan.dtype, enter_us=plan.op_us):
                self.compute_kernel(main, elementwise("clamp_min_scalar_kernel_impl"), plan.pointwise_us)
        return "ReluBackward0", number, row

    def loss(self):
        plan, main = self.plan, self.main
        dims = [[plan.batch, plan.width], [plan.batch], [], [], []]
        with main.op("aten::cross_entropy_loss", dims, plan.dtype, enter_us=plan.op_us):
            with main.op("aten::log_softmax", [dims[0], [], []], plan.dtype, enter_us=plan.op_us):
                with main.op("aten::_log_softmax", [dims[0], [], []], plan.dtype, enter_us=plan.op_us):
                    self.compute_kernel(main, "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, "
                                        "c10::BFloat16, float, 10, true, false>", plan.pointwise_us * 1.5)
            span, number = self.forward_op("aten::nll_loss_forward", dims, enter_us=plan.op_us)
            with span as row:
                self.compute_kernel(main, "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d",
                                    plan.pointwise_us, grid=(1, 1, 1))
        return "NllLossBackward0", number, row

    def backward(self, produced):
        """On the autograd thread; the main thread waits for it."""
        plan, main, auto = self.plan, self.main, self.autograd
        main.spend(25)
        auto.now_ns = max(auto.now_ns, main.now_ns)
        parameters = 0
        for name, number, forward_row in reversed(produced):
            with auto.span("autograd::engine::evaluate_function: " + name, enter_us=plan.op_us * 0.8,
                           Sequence_number=number, Fwd_thread_id=1):
                with auto.op(name, [[plan.batch, plan.width]], plan.dtype, enter_us=plan.op_us, Sequence_number=number,
                             Fwd_thread_id=1) as row:
                    self.gradient_work(name)
            self.sim.flow("s", "fwdbwd", number, self.sim.pid, main.tid, forward_row["ts"])
            self.sim.flow("f", "fwdbwd", number, self.sim.pid, auto.tid, row["ts"])
            if name == "AddmmBackward0":
                self.accumulate()
                parameters += 1
                if plan.all_reduce_us and parameters % 2 == 0:
                    self.all_reduce()
            auto.memory(-plan.batch * plan.width * 2)
            auto.spend(plan.op_us * 0.5)
        main.now_ns = max(main.now_ns, auto.now_ns) + self.sim.ns(10)

    def gradient_work(self, name):
        plan, auto = self.plan, self.autograd
        square = [[plan.width, plan.width], [plan.batch, plan.width]]
        if name == "AddmmBackward0":
            for _ in range(2):
                with auto.op("aten::mm", square, plan.dtype, enter_us=plan.op_us * 1.6):
                    self.compute_kernel(auto, GEMM.replace("_tn_n_", "_nn_n_"), plan.gemm_us)
        elif name == "ReluBackward0":
            with auto.op("aten::threshold_backward", square[1:] * 2, plan.dtype, enter_us=plan.op_us):
                self.compute_kernel(auto, elementwise("threshold_kernel_impl"), plan.pointwise_us)
        else:
            with auto.op("aten::_log_softmax_backward_data", square[1:] * 2, plan.dtype, enter_us=plan.op_us):
                self.compute_kernel(auto, "void (anonymous namespace)::softmax_warp_backward<c10::BFloat16, "
                                    "c10::BFloat16, float, 10, true, false>", plan.pointwise_us * 1.5)

    def accumulate(self):
        auto, plan = self.autograd, self.plan
        with auto.span("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", enter_us=plan.op_us * 0.6):
            with auto.span("torch::autograd::AccumulateGrad", enter_us=plan.op_us * 0.7):
                auto.leaf("aten::detach", plan.op_us * 0.6, [[plan.width, plan.width]])

    def all_reduce(self):
        """What DDP starts per bucket, with the arguments the collective's kernel repeats."""
        plan, auto = self.plan, self.autograd
        elements = plan.width * plan.width * 2
        group = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": 2,
                 "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
                 "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}
        backend = "nccl" if plan.gpu else "gloo"
        with auto.span("c10d::allreduce_", enter_us=4.0):
            with auto.span("record_param_comms", enter_us=9.0, **{"Rank": 0}, **group):
                with auto.span("%s:all_reduce" % backend, "user_annotation", 5.0, 3.0):
                    if plan.gpu:
                        self.comm.free_at_ns = max(self.comm.free_at_ns, self.compute.free_at_ns)
                        row = auto.kernel(self.comm, ALL_REDUCE, plan.all_reduce_us, grid=(16, 1, 1), block=(544, 1, 1),
                                          call="cudaLaunchKernelExC", call_us=9.0)
                        row["args"].update(group)
                    else:
                        auto.spend(plan.all_reduce_us)

    def optimizer_step(self):
        plan, main = self.plan, self.main
        with main.span("Optimizer.step#%s.step" % plan.optimizer, "user_annotation", 20.0, 6.0):
            if plan.gpu:
                main.leaf("aten::_foreach_add_", plan.op_us * 1.4, [[[1]] * plan.layers, []])
                with main.op("aten::_fused_adamw_", [[[plan.width, plan.width]] * plan.layers], enter_us=plan.op_us * 3):
                    main.kernel(self.compute, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                                "at::native::(anonymous namespace)::TensorListMetadata<4>, FusedAdamMathFunctor<float, 4, "
                                "ADAM_MODE::ADAMW, false> >", plan.fused_us)
            else:
                main.leaf("aten::_foreach_mul_", plan.op_us * 2 + plan.fused_us, [[[plan.width]] * plan.layers])
                main.leaf("aten::_foreach_addcdiv_", plan.op_us * 2 + plan.fused_us, [[[plan.width]] * plan.layers])


# ------------------------------------------------------------------------------------------------ text of a trace

class Raw(str):
    """A token to be written as it stands (a number with trailing zeros, a bare NaN)."""


def token(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(token(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join("%s: %s" % (json.dumps(k), token(v)) for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def kineto_event(row, time_text, era_2021=False):
    """One event in the writer's own line layout."""
    first, second, third = [], [], []
    for key, value in row.items():
        if key in ("ts", "dur"):
            second.append('"%s": %s' % (key, time_text(value)))
        elif key in ("cat", "name") and second:
            third.append('"%s": %s' % (key, token(value)))
        elif key == "bp":
            third.append('"bp": "e"')
        elif key != "args":
            first.append('"%s": %s' % (key, token(value)))
    lines = [", ".join(first), ", ".join(second)] + ([", ".join(third)] if third else [])
    if "args" in row:
        inner = ", ".join('"%s": %s' % (k, token(v)) for k, v in row["args"].items())
        lines.append('"args": {\n      %s\n    }' % inner)
    if era_2021 and row["ph"] == "X":
        lines[0] = lines[0].replace(', "name"', ', \n    "name"')
    return "  {\n    " + ",\n    ".join(lines) + "\n  }"


def kineto_document(rows, head, tail=(), time_text=three_decimals, era_2021=False, shift_ns=0):
    """head and tail: (key, text of the value) before and after traceEvents."""
    shifted = [dict(r, ts=r["ts"] + shift_ns) for r in rows] if shift_ns else rows
    events = ",\n".join(kineto_event(r, time_text, era_2021) for r in shifted)
    before = "".join('  "%s": %s,\n' % item for item in head)
    after = "".join(',\n  "%s": %s' % item for item in tail)
    return ("{\n" + before + '  "traceEvents": [\n' + events + "\n  ]" + after + "\n}").encode()


NVIDIA_DEVICE = ('{\n      "id": %d, "name": "%s", "totalGlobalMem": %d,\n      "computeMajor": %d, "computeMinor": 0,\n'
                 '      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,\n      "regsPerBlock": 65536, '
                 '"warpSize": 32,\n      "sharedMemPerBlock": 49152, "numSms": %d\n    , "regsPerMultiprocessor": 65536, '
                 '"sharedMemPerBlockOptin": 166912, "sharedMemPerMultiprocessor": 167936\n    }')
A100 = NVIDIA_DEVICE % (0, "NVIDIA A100-SXM4-40GB", 42_297_786_368, 8, 108)
H100 = NVIDIA_DEVICE % (0, "NVIDIA H100 80GB HBM3", 84_942_979_072, 9, 132)
V100 = NVIDIA_DEVICE % (0, "Tesla V100-SXM2-16GB", 16_945_512_448, 7, 80)


def device_list(*devices):
    return "[\n    " + ",\n    ".join(devices) + "\n  ]" if devices else "[\n  ]"


def distributed(backend, rank, world_size):
    config = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo,cuda:nccl", "pg_size": world_size,
              "ranks": list(range(world_size))}
    info = {"backend": backend, "rank": rank, "world_size": world_size, "pg_count": 1, "pg_config": [config]}
    if backend == "nccl":
        info["nccl_version"] = "2.26.2"
    return token(info)


def head_2025(devices, flags, distributed_text=None, cuda=True):
    """Key order since 2025-03: unit and base time stand before the events."""
    head = [("schemaVersion", "1"), ("deviceProperties", device_list(*devices))]
    if distributed_text:
        head.append(("distributedInfo", distributed_text))
    if cuda:
        head += [("cupti_version", "26"), ("cuda_runtime_version", "12060"), ("cuda_driver_version", "12080")]
    head += [(flag, "1") for flag in flags]
    return head + [("trace_id", '"5C0FFEE05C0FFEE05C0FFEE05C0FFEE0"'), ("displayTimeUnit", '"ms"'),
                   ("baseTimeNanoseconds", str(BASE_TIME_NS))]


TRACE_NAME = [("traceName", '"log/worker0.pt.trace.json"')]


def plain(row):
    """The row as an ordinary dict with times in microseconds, as a script that dumps a trace again writes it."""
    copy = dict(row)
    for key in ("ts", "dur"):
        if key in copy:
            copy[key] = us_number(copy[key])
    return copy


# ------------------------------------------------------------------------------------------------ the traces

def training_step_cuda():
    sim = Sim(seed=1, memory=True)
    sim.process()
    loop = TrainingLoop(sim, Plan(loader_us=21_000.0, loader_ops=6, pinned=False, gemm_us=190.0, all_reduce_us=420.0,
                                  copy_us=380.0))
    loop.run()
    loop.main.wait_for(loop.compute, "cudaDeviceSynchronize")
    add_overhead_and_gpu_ranges(sim)
    rows = sim.finish()
    head = head_2025([A100], ["record_shapes", "profile_memory"], distributed("nccl", 0, 2))
    return kineto_document(rows, head, TRACE_NAME), trace_answers(rows, [
        "the GPU waits for the DataLoader most of every step", "DataLoader works in the training process "
        "(_SingleProcessDataLoaderIter)", "the batch is copied from pageable memory and the copy blocks"])


def add_overhead_and_gpu_ranges(sim):
    """Rows that are on the GPU's or the profiler's lanes and are no GPU work."""
    kernels = [r for r in sim.device_rows if r.get("cat") == "kernel"]
    for step in [r for r in sim.host_rows if r["name"].startswith("ProfilerStep#")]:
        inside = [k for k in kernels if step["ts"] <= k["ts"] < step["ts"] + step["dur"] and k["tid"] == 7]
        start = min(k["ts"] for k in inside) - 1
        end = max(k["ts"] + k["dur"] for k in inside) + 1
        sim.device_rows.append({"ph": "X", "cat": "gpu_user_annotation", "name": step["name"], "pid": 0, "tid": 7,
                                "ts": start, "dur": end - start, "args": {"External id": step["args"]["External id"]}})
    for call in [r for r in sim.device_rows if "Synchronize" in r["name"]]:
        kind = "Stream Sync" if "Stream" in call["name"] else "Context Sync"
        sim.device_rows.append({"ph": "X", "cat": "cuda_sync", "name": kind, "pid": 0, "tid": 7,
                                "ts": call["ts"] + 600, "dur": call["dur"] - 900,
                                "args": {"cuda_sync_kind": kind, "stream": 7, "correlation":
                                         call["args"]["correlation"], "device": 0, "context": 1}})
    sim.device_rows.append({"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0,
                            "ts": sim.first_ns + 90_000, "dur": 61_250})


def training_healthy():
    sim = Sim(seed=2)
    sim.process()
    loop = TrainingLoop(sim, Plan(
        loader="enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", loader_us=70.0, layers=8, batch=16384,
        width=4096, gemm_us=660.0, pointwise_us=120.0, fused_us=900.0, python_gap_us=420.0, op_us=70.0, copy_us=320.0))
    loop.run()
    loop.main.wait_for(loop.compute, "cudaDeviceSynchronize")
    rows = sim.finish()
    rename_for_h100(rows)
    return kineto_document(rows, head_2025([H100], ["record_shapes"]), TRACE_NAME), trace_answers(rows, [])


def rename_for_h100(rows):
    for row in rows:
        if row.get("cat") == "kernel":
            row["name"] = row["name"].replace("sm80_xmma_gemm_bf16bf16_bf16f32_f32", "sm90_xmma_gemm_bf16bf16_bf16f32_f32")


def cpu_only_gloo():
    sim = Sim(seed=3, pid=90210)
    sim.process("python3.12")
    TrainingLoop(sim, Plan(gpu=False, steps=3, layers=3, gemm_us=540.0, pointwise_us=85.0, fused_us=120.0,
                           all_reduce_us=900.0, loader_us=220.0, dtype="float", optimizer="SGD")).run()
    rows = sim.finish()
    head = [("schemaVersion", "1"), ("deviceProperties", device_list()), ("distributedInfo", distributed("gloo", 3, 8)),
            ("record_shapes", "1"), ("trace_id", '"0DDBA110DDBA110DDBA110DDBA110DDB"')]
    tail = [("traceName", '"rank3.pt.trace.json"'), ("displayTimeUnit", '"ms"'), ("baseTimeNanoseconds", str(BASE_TIME_NS))]
    return kineto_document(rows, head, tail), trace_answers(rows, ["no GPU work recorded: rank 3 of 8 on the CPU with gloo"])


OLD_CATS = {"cpu_op": "Operator", "user_annotation": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
            "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}


def row_of_2021(row):
    """The same event as the first Kineto exporter wrote it."""
    old = dict(row)
    if "args" in old:
        old["args"] = {k.replace("External id", "external id") if OLD_CATS.get(row.get("cat")) != "Operator" else k: v
                       for k, v in old["args"].items() if k not in ("Record function id", "Ev Idx")}
    if old["ph"] == "X" and old["cat"] in OLD_CATS:
        old["cat"] = OLD_CATS[old["cat"]]
        old["tid"] = "stream %d" % old["tid"] if old["cat"] in ("Kernel", "Memcpy", "Memset") else str(old["tid"])
        if old["cat"] == "Operator":
            old["args"] = {"Device": row["pid"], **old["args"], "Trace name": "PyTorch Profiler", "Trace iteration": 0}
    elif old.get("cat") == "ac2g":
        old.update(cat="async", name="launch")
    elif old.get("cat") == "fwdbwd":
        old.update(cat="forward_backward", name="fwd_bwd")
    elif old["ph"] == "i" and old.get("cat") == "cpu_instant_event":
        del old["cat"]
        old["args"] = {k: old["args"][k] for k in ("Device Type", "Device Id", "Bytes")}
    elif old.get("cat") == "Trace":
        old["pid"] = "Traces"
    return old


def kineto_2021():
    sim = Sim(seed=4, pid=25101, resolution_ns=1000, memory=True, shapes=False)
    sim.process("python")
    loop = TrainingLoop(sim, Plan(steps=3, layers=1, loader_us=900.0, dtype="float", optimizer="SGD", pinned=False))
    loop.run()
    rows = [row_of_2021(r) for r in sim.finish()]
    epoch_ns = 1_623_143_000 * 10**9 - START_NS
    head = [("schemaVersion", "1"), ("deviceProperties", device_list(V100))]
    return (kineto_document(rows, head, time_text=whole_us, era_2021=True, shift_ns=epoch_ns),
            trace_answers(rows, ["pageable copy", "category names of 2021: the old cpu lists stay empty, operators do not"]))


def legacy_autograd_array():
    sim = Sim(seed=5, resolution_ns=1000)
    TrainingLoop(sim, Plan(gpu=False, steps=2, layers=2, gemm_us=300.0, pointwise_us=40.0, fused_us=50.0,
                           loader_us=2000.0, dtype="float", optimizer="SGD")).run()
    zero = min(r["ts"] for r in sim.host_rows)
    rows = [{"name": r["name"], "ph": "X", "ts": r["ts"] - zero, "dur": r["dur"], "tid": 0 if r["tid"] == sim.pid else 1,
             "pid": "CPU functions", "args": {}} for r in sim.host_rows if not r["name"].startswith("ProfilerStep")]
    text = ", ".join('{"name": %s, "ph": "X", "ts": %s, "dur": %s, "tid": %d, "pid": "CPU functions", "args": {}}'
                     % (token(r["name"]), whole_us(r["ts"]), whole_us(r["dur"]), r["tid"]) for r in rows)
    return ("[" + text + "]").encode(), trace_answers(rows, ["no categories at all: rows count as host operators"])


def epoch_ns_digits():
    sim = Sim(seed=6, pid=3141)
    sim.process("python3.10")
    loop = TrainingLoop(sim, Plan(steps=2, layers=1, loader_us=400.0))
    loop.run()
    rows = sim.finish()
    epoch_ns = 1_712_195_495_520_833_313 - START_NS
    head = [("schemaVersion", "1"), ("deviceProperties", device_list(A100)), ("record_shapes", "1"),
            ("cupti_version", "18"), ("cuda_runtime_version", "12010"), ("cuda_driver_version", "12020")]
    tail = [("traceName", '"step.pt.trace.json"'), ("displayTimeUnit", '"ms"')]
    return (kineto_document(rows, head, tail, shift_ns=epoch_ns),
            trace_answers(rows, ["19-digit time stamps: a double loses up to 0.25 us each"]))


def rocm():
    sim = Sim(seed=7, pid=542, hip=True)
    sim.process("python3")
    loop = TrainingLoop(sim, Plan(steps=3, layers=1, loader_us=150.0, copy_us=70.0))
    loop.run()
    loop.main.wait_for(loop.compute, "cudaDeviceSynchronize")
    names = {GEMM: "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN",
             GEMM.replace("_tn_n_", "_nn_n_"): "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN"}
    rows = sim.finish()
    for row in rows:
        if row.get("cat") in ("kernel", "cuda_runtime"):
            row["name"] = names.get(row["name"], row["name"])
            if "kernel" in row["args"]:
                row["args"]["kernel"] = names.get(row["args"]["kernel"], row["args"]["kernel"])
        if row["name"] == "hipMemcpyAsync":
            row["args"].update({"kernel": "", "src": "0x7f3a80000000", "dst": "0x7f3b40c00000", "size": "2097152",
                                "bytes": "2097152", "kind": "1"})
        if row.get("cat") == "gpu_memcpy":
            row["args"]["kind"] = "HtoD"
    device = ('{\n      "id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992,\n      "computeMajor": 9, '
              '"computeMinor": 4,\n      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,\n      '
              '"regsPerBlock": 65536, "warpSize": 64,\n      "sharedMemPerBlock": 65536, "numSms": 304\n    , '
              '"maxSharedMemoryPerMultiProcessor": 65536\n    }')
    head = [("schemaVersion", "1"), ("deviceProperties", device_list(device)), ("roctracer_version", "4.1"),
            ("hip_runtime_version", "60443483"), ("hip_driver_version", "60443483"), ("record_shapes", "1")]
    tail = [("traceName", '"rank0.pt.trace.json"'), ("displayTimeUnit", '"ms"'), ("baseTimeNanoseconds", str(BASE_TIME_NS))]
    return kineto_document(rows, head, tail), trace_answers(rows, ["AMD: hip calls, ids and sizes as strings on host rows"])


def mtia():
    sim = Sim(seed=8, pid=865, shapes=False)
    sim.process("predictor")
    main = sim.thread(1457, "CPUThreadPool0")
    for job in range(12):
        with main.span("Stage::run", "user_annotation", 4.0, 2.0):
            with main.op("fb::merge_inputs", enter_us=12.0):
                main.leaf("aten::cat", 35.0)
            call = main.call("runFunction - job_prep_and_submit_for_execution", 48.0, cat="mtia_runtime", device=17,
                             stream_id="108", cmd_name="Job#%d" % (4_100_000 + job), executable_name="merge")
            sim.device_rows.append({"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", "pid": 17, "tid": 3910,
                                    "ts": call["ts"] + sim.ns(20.0), "dur": sim.ns(310.0),
                                    "args": {"stream": 108, "sqid": 11, "seq_num": 550_218 + job, "size": "14139908 bytes",
                                             "correlation": call["args"]["correlation"]}})
            main.spend(330.0)
            main.leaf("aten::slice", 9.0)
        main.spend(40.0)
    rows = sim.finish()
    for row in rows:
        if row["ph"] == "M":
            row["ts"] = 0       # this writer gives names no time: they must not set the start of the trace
    device = ('{\n      "id": 17, "name": "ARTEMIS",\n      "runtimeMajorVersion": 1, "runtimeMinorVersion": 30,\n      '
              '"maxGridHeight": 8, "maxGridWidth": 8\n    }')
    head = [("schemaVersion", "1"), ("deviceProperties", device_list(device)), ("trace_id", '"16180339887498948482"'),
            ("displayTimeUnit", '"ms"'), ("baseTimeNanoseconds", str(BASE_TIME_NS))]
    tail = [("ERROR", '["ERROR:2026-01-08 08:51:59 865:3386 DeviceProperties.cpp:47] no supported GPU"]')] + TRACE_NAME
    return (kineto_document(rows, head, tail),
            trace_answers(rows, ["an accelerator whose rows are not GPU work: never 'GPU idle 100 %'"]))


def onnxruntime_array():
    rng = random.Random(9)
    rows, clock = [], 2
    nodes = [("conv1", "Conv", 260), ("relu1", "Relu", 22), ("pool1", "MaxPool", 48), ("fc1", "Gemm", 130)]

    def add(cat, name, ts, dur, args):
        rows.append({"cat": cat, "pid": 7007, "tid": 7007, "dur": dur * NS_PER_US, "ts": ts * NS_PER_US, "ph": "X",
                     "name": name, "args": args})

    add("Session", "model_loading_uri", clock, 4100, {})
    add("Session", "session_initialization", clock + 4120, 6230, {})
    clock += 10_400
    for run in range(10):
        start = clock
        clock += 20
        slow = 6 if run == 0 else 1          # the first run is cold
        for index, (name, op_name, us) in enumerate(nodes):
            dur = slow * us + int(us * 0.1 * rng.random())
            add("Node", name + "_kernel_time", clock, dur,
                {"op_name": op_name, "provider": "CPUExecutionProvider", "node_index": str(index),
                 "activation_size": "196608", "parameter_size": "3584" if op_name in ("Conv", "Gemm") else "0",
                 "output_size": "65536", "input_type_shape": [{"float": [1, 3, 64, 64]}],
                 "output_type_shape": [{"float": [1, 16, 32, 32]}],
                 "thread_scheduling_stats": {"main_thread": {"thread_pool_name": "session-0-intra-op", "core": 1,
                                                             "block_size": [16], "Run": dur - 2, "Wait": 0}}})
            clock += dur + 3
        add("Session", "SequentialExecutor::Execute", start + 12, clock - start - 8, {})
        add("Session", "model_run", start, clock - start + 9, {})
        clock += 60
    text = ",\n".join('{"cat" : %s,"pid" :%d,"tid" :%d,"dur" :%s,"ts" :%s,"ph" : "X","name" :%s,"args" : %s}'
                      % (token(r["cat"]), r["pid"], r["tid"], whole_us(r["dur"]), whole_us(r["ts"]), token(r["name"]),
                         token(r["args"])) for r in rows)
    answers = trace_answers(rows, ["the first run is six times as slow: warm-up"])
    answers["operators_by_op_name"] = sorted(
        ({"op_name": o, "count": 10, "total_dur_us": us_number(sum(r["dur"] for r in rows if r["args"].get("op_name") == o))}
         for _, o, _ in nodes), key=lambda line: -line["total_dur_us"])
    return ("[\n" + text + "\n]\n").encode(), answers


def begin_end_pairs():
    """Durations as B/E pairs on three threads, rows of two threads interleaved as they happened."""
    rng = random.Random(10)
    events, pairs, open_rows = [], [], defaultdict(list)

    def begin(ts, tid, name, cat):
        events.append({"ph": "B", "cat": cat, "name": name, "pid": 77, "tid": tid, "ts": ts})
        open_rows[tid].append(events[-1])

    def end(ts, tid):
        events.append({"ph": "E", "pid": 77, "tid": tid, "ts": ts})
        start = open_rows[tid].pop()
        pairs.append({"ph": "B+E", "cat": start["cat"], "name": start["name"], "pid": 77, "tid": tid, "ts": start["ts"],
                      "dur": ts - start["ts"], "args": {}})

    us = NS_PER_US
    for step in range(8):
        for tid, shift in ((1, 0), (2, 350)):
            t = (1000 + step * 1000 + shift) * us
            width = 200 * us + round(rng.random() * 50) * us
            begin(t, tid, "aten::conv2d", "cpu_op")
            begin(t + 10 * us, tid, "aten::convolution", "cpu_op")
            end(t + width, tid)
            end(t + width + 5 * us, tid)
            begin(t + width + 5 * us, tid, "aten::relu", "cpu_op")
            end(t + width + 25 * us, tid)
        t = (1000 + step * 1000) * us
        events.append({"ph": "C", "name": "queue", "pid": 77, "tid": 1, "ts": t, "args": {"waiting": step % 3}})
        events.append({"ph": "i", "name": "tick", "s": "t", "pid": 77, "tid": 1, "ts": t + 1})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 77, "tid": 1, "ts": t + 700 * us,
                       "dur": 33_500, "args": {}})
        for ph, shift in (("s", 1), ("t", 360), ("f", 710)):
            flow = {"ph": ph, "id": step, "cat": "dataflow", "name": "step", "pid": 77, "tid": 1, "ts": t + shift * us}
            events.append(dict(flow, bp="e") if ph == "f" else flow)
        for ph, shift in (("b", 5), ("n", 50), ("e", 600)):
            events.append({"ph": ph, "id": "0x%x" % (step + 16), "cat": "request", "name": "request", "pid": 77, "tid": 3,
                           "ts": t + shift * us})
    events.sort(key=lambda r: r["ts"])
    events.append({"ph": "E", "pid": 77, "tid": 3, "ts": 9600 * us})
    events.append({"ph": "B", "cat": "user_annotation", "name": "never closed", "pid": 77, "tid": 1, "ts": 9700 * us})
    text = ",\n".join(json.dumps(plain(r)) for r in events)
    answers = trace_answers(events, ["B/E pairs count as durations by kind, not in the lists that count ph X only"],
                            {"end_without_begin": 1, "begin_without_end": 1}, pairs)
    return ('{"displayTimeUnit": "ns", "traceEvents": [\n' + text + "\n]}\n").encode(), answers


def compact_one_line():
    sim = Sim(seed=11, pid=5)
    sim.process()
    loop = TrainingLoop(sim, Plan(steps=2, layers=2))
    loop.run()
    rows = sim.finish()
    document = {"traceEvents": [plain(r) for r in rows], "schemaVersion": 1,
                "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42_297_786_368,
                                      "numSms": 108}],
                "distributedInfo": {"rank": 1}, "record_shapes": 1, "traceName": "rank1.json", "displayTimeUnit": "ms",
                "baseTimeNanoseconds": BASE_TIME_NS}
    return (json.dumps(document, separators=(",", ":")).encode(),
            trace_answers(rows, ["one line, events first: rank and base time are known only at the end"]))


def pretty_printed():
    sim = Sim(seed=12, pid=6)
    sim.process()
    loop = TrainingLoop(sim, Plan(steps=2, layers=1))
    loop.run()
    rows = sim.finish()
    sim.random.shuffle(rows)
    document = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_TIME_NS,
                "traceEvents": [plain(r) for r in rows], "traceName": "again.json"}
    return json.dumps(document, indent=4).encode(), trace_answers(rows, ["four spaces, events in no order at all"])


def gpu_only():
    sim = Sim(seed=13)
    stream, side = sim.gpu(2, [7, 13])
    clock = Thread(sim, 0, sim.first_ns)
    for index in range(24):
        clock.kernel(stream, GEMM, 120.0)
        clock.kernel(side if index % 4 == 0 else stream, elementwise("CUDAFunctor_add<float>"), 15.0)
        clock.spend(40)
    sim.device_rows = [r for r in sim.device_rows if r["ph"] == "X" and r["cat"] == "kernel"]
    for row in sim.device_rows:
        row["args"].pop("External id", None)
    rows = sim.finish()
    return (kineto_document(rows, head_2025([A100], []), TRACE_NAME),
            trace_answers(rows, ["no host rows: no launch of any kernel is in the file", "the device is number 2"]))


def python_stacks():
    sim = Sim(seed=14, pid=1234)
    sim.process()
    main, other = sim.thread(1234, "python3"), sim.thread(1299, "python3")
    python_ids = iter(range(1, 10_000))

    @contextmanager
    def python(thread, name, parent, module=None):
        number = next(python_ids)
        row = {"ph": "X", "cat": "python_function", "name": name, "pid": sim.pid, "tid": thread.tid, "ts": thread.now_ns,
               "dur": 0, "args": {"Python parent id": parent, "Python id": number}}
        if module is not None:
            row["args"]["Python module id"] = module
        sim.host_rows.append(row)
        thread.spend(2.0)
        yield number
        thread.spend(1.0)
        row["dur"] = thread.now_ns - row["ts"]

    with python(main, "train.py(88): <module>", None) as root, python(main, "train.py(61): train", root) as train:
        for step in range(6):
            with main.span("ProfilerStep#%d" % step, "user_annotation"):
                for layer in range(3):
                    with python(main, "nn.Module: Linear_%d" % layer, train, layer) as module:
                        with python(main, "torch/nn/modules/linear.py(125): forward", module) as forward:
                            with python(main, "<built-in function linear>", forward):
                                with main.op("aten::linear", [[32, 64], [64, 64]], enter_us=4.0):
                                    main.leaf("aten::addmm", 42.0, [[64], [32, 64], [64, 64]])
                with python(main, "torch/optim/sgd.py(58): step", train):
                    main.leaf("aten::_foreach_add_", 31.0)
            main.spend(120.0)       # time of the interpreter alone
    straddle(sim, main, next(python_ids))
    cross_ops(sim, other)
    for number in (1, 2):
        sim.host_rows.append({"ph": "X", "cat": "python_function", "name": "threading.py(1032): _bootstrap", "pid": 0,
                              "tid": 0, "ts": sim.first_ns, "dur": 900_000,
                              "args": {"Python parent id": None, "Python id": 9000 + number}})
    rows = sim.finish()
    return (kineto_document(rows, head_2025([], ["with_stack", "with_modules", "record_shapes"], cuda=False), TRACE_NAME),
            trace_answers(rows, ["python rows cross op rows: the op tree must be built without them",
                                 "one pair of op rows crosses on thread 1299"], {"crossing_op_pairs": 1}))


def straddle(sim, thread, number):
    """A python row that ends inside an op: the profiler's enter and exit calls are not nested with the interpreter's."""
    start = thread.now_ns
    sim.host_rows.append({"ph": "X", "cat": "python_function", "name": "torch/autograd/profiler.py(770): __exit__",
                          "pid": sim.pid, "tid": thread.tid, "ts": start, "dur": 20_000,
                          "args": {"Python parent id": 1, "Python id": number}})
    thread.now_ns = start + 15_000
    thread.leaf("aten::zeros", 30.0, [[]])


def cross_ops(sim, thread):
    """Two op rows of one thread that overlap without nesting: 40 us belong to the first, 60 us to the second."""
    start = thread.now_ns
    for name, shift, dur in (("aten::first_of_two", 0, 60_000), ("aten::second_of_two", 40_000, 60_000)):
        sim.host_rows.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": sim.pid, "tid": thread.tid,
                              "ts": start + shift, "dur": dur, "args": {"External id": sim.next_id}})
        sim.next_id += 1
    thread.now_ns = start + 100_000


def odd_values():
    """Each event as (bytes, model): the model is what a reader must make of it; None for an element that is no object."""
    def x(name, ts, dur, **more):
        row = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1}
        if ts is not None:
            row["ts"] = ts * NS_PER_US
        if dur is not None:
            row["dur"] = dur * NS_PER_US
        row.update(more)
        return row

    def text(body):
        return ('{"ph": "X", "pid": 1, "tid": 1, ' + body + "}").encode()

    events = [
        (text('"cat": "cpu_op", "name": "aten::good", "ts": 100, "dur": 50.500'), dict(x("aten::good", 100, 0), dur=50_500)),
        (text('"cat": "cpu_op", "name": "aten::no_dur", "ts": 160'), x("aten::no_dur", 160, None)),
        (text('"cat": "cpu_op", "name": "aten::good", "ts": 200, "dur": -7'), x("aten::good", 200, -7)),
        (text('"cat": "cpu_op", "name": "aten::ts_text", "ts": "210.5", "dur": 3'), x("aten::ts_text", None, 3)),
        (text('"cat": "cpu_op", "name": "aten::dur_text", "ts": 220, "dur": "4"'), x("aten::dur_text", 220, None)),
        (text('"cat": "cpu_op", "name": "aten::dur_null", "ts": 230, "dur": null'), x("aten::dur_null", 230, None)),
        (text('"cat": "cpu_op", "name": "aten::dur_true", "ts": 240, "dur": true'), x("aten::dur_true", 240, None)),
        (text('"cat": "cpu_op", "ts": 250, "dur": 5'), x("unknown", 250, 5)),
        (text('"cat": "cpu_op", "name": 42, "ts": 260, "dur": 6'), x("42", 260, 6)),
        (text('"cat": 7, "name": "numeric category", "ts": 270, "dur": 7'), x("numeric category", 270, 7, cat=7)),
        (text('"name": "no category", "ts": 280, "dur": 8'),
         {k: v for k, v in x("no category", 280, 8).items() if k != "cat"}),
        (text('"cat": "brand_new_kind", "name": "future", "ts": 290, "dur": 9'), x("future", 290, 9, cat="brand_new_kind")),
        (text('"cat": "kernel", "name": "k<inf>", "ts": 300, "dur": 10, "args": {"device": 0, "stream": 7, '
              '"correlation": 9, '
              '"blocks per SM": inf, "warps per SM": nan, "a": NaN, "b": Infinity, "c": -Infinity, "d": -inf}'),
         x("k<inf>", 300, 10, cat="kernel", args={"device": 0, "correlation": 9})),
        (b'{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "bad \xff byte", "ts": 310, "dur": 1}',
         x("bad \ufffd byte", 310, 1)),
        (text('"cat": "cpu_op", "name": "raw\nnewline", "ts": 320, "dur": 2'), x("raw\nnewline", 320, 2)),
        (text('"cat": "cpu_op", "name": "lone \\ud800 surrogate", "ts": 330, "dur": 3'), x("lone \ufffd surrogate", 330, 3)),
        (text('"cat": "cpu_op", "name": "first", "name": "last", "ts": 1, "ts": 340, "dur": 4'), x("last", 340, 4)),
        (text('"cat": "cpu_op", "name": "record_param_comms", "ts": 350, "dur": 5, "args": {"Comms Id": '
              '10159970886766084423}'),
         x("record_param_comms", 350, 5)),
        (text('"cat": "cpu_op", "name": "", "ts": 360, "dur": 0'), x("", 360, 0)),
        (text('"cat": "cpu_op", "name": "args are text", "ts": 370, "dur": 1, "args": "none"'), x("args are text", 370, 1)),
        (text('"cat": "cpu_op", "name": "exponent", "ts": 3.8e2, "dur": 25E-1'), dict(x("exponent", 380, 0), dur=2_500)),
        (b'{"pid": 1, "tid": 1, "cat": "cpu_op", "name": "no ph", "ts": 390, "dur": 1}', {"cat": "cpu_op", "name": "no ph"}),
        (b'{"ph": "?", "pid": 1, "tid": 1, "name": "unknown ph", "ts": 391}', {"ph": "?"}),
        (b"{}", {}), (b"null", None), (b"17", None), (b'"text"', None), (b"[1, 2]", None), (b"true", None),
    ]
    first = b'{"ph": "X", "cat": "cpu_op", "name": "aten::superseded", "pid": 1, "tid": 1, "ts": 0, "dur": 1}'
    body = (b"\xef\xbb\xbf{\n\"schemaVersion\": 1,\n\"traceEvents\": [\n" +
            first + b"\n],\n\"note\": \"a second one follows\",\n"
            b"\"traceEvents\": [\n" + b",\n".join(raw for raw, _ in events) + b",\n]\n}\n")
    oddities = {"byte_order_mark": 1, "dur_missing": 1, "dur_negative": 1, "ts_not_a_number": 1, "dur_not_a_number": 3,
                "name_missing": 1, "name_not_a_string": 1, "cat_not_a_string": 1, "bare_nan_or_infinity": 6,
                "invalid_utf8": 1, "raw_control_character": 1, "lone_surrogate": 1, "duplicate_key": 2,
                "second_trace_events": 1, "superseded_events": 1, "not_an_object": 5, "trailing_comma": 1,
                "args_not_an_object": 1, "unknown_category": 1, "unknown_or_missing_ph": 3}
    return body, trace_answers([model for _, model in events], ["every oddity a reader must survive and count"], oddities)


def hostile_names():
    names = [
        "aten::add|mul||", "| \\| \\\\|", "| a | b |\n|---|---|", "--- \n", "# heading", "* item\n* item", "~~~\ncode\n~~~",
        "`code` ``more``", "$x^2$", "[link](https://example.invalid/x)", "![img](https://example.invalid/i.png)",
        "](javascript:alert(1))", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- comment -->", "-->",
        "]]>",
        "&lt;b&gt; &amp; &#x41;", "line one\nline two\r\nline three", "\ttab\b\f", "\x1b[31mred\x1b[0m\x1b]0;title\x07",
        "nul\u0000inside", "\u202egnp.exe\u202c", "\ufeff\u200bzero width", "a" + "\u0301" * 40,
        "\u6a21\u578b::\u524d\u5411",
        "\U0001f525::\U0001f525", "\"quoted\" \\back\\slash", "%s%n%x", "../../etc/passwd", "$(id) `id` ; rm -rf /",
        "__proto__", "unknown", " ", "L" * 6144]
    rows = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": (100 + 10 * i) * NS_PER_US,
             "dur": (i % 7 + 1) * NS_PER_US, "args": {}} for i, name in enumerate(names)]
    rows.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#999999999999999999999", "pid": 1, "tid": 1,
                 "ts": 90 * NS_PER_US, "dur": NS_PER_US, "args": {}})
    rows.append({"ph": "X", "cat": "cat|<b>\n", "name": "x", "pid": "pid | <i>", "tid": "`tid`\n", "ts": 91 * NS_PER_US,
                 "dur": NS_PER_US, "args": {"k|": "v<"}})
    rows.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": "</td><script>| thread"}})
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU | <script> `x`"}],
                "traceName": "<script>|`\u001b[2J", "traceEvents": [plain(r) for r in rows]}
    return json.dumps(document, indent=1).encode(), trace_answers(
        rows, ["names that would break a Markdown table, run in a browser or move a terminal's cursor"])


def empty_events():
    return b'{"traceEvents": []}\n', trace_answers([], ["nothing recorded: a report that says so"])


def without_flows(rows):
    """Arrows double the size of a file and are not needed to link a launch to its kernel."""
    return [r for r in rows if r["ph"] not in ("s", "f")]


def sync_heavy():
    sim = Sim(seed=15)
    sim.process()
    loop = TrainingLoop(sim, Plan(steps=3, layers=1, loader_us=90.0))
    main, stream = loop.main, loop.compute

    def read_scalar():
        with main.op("aten::item", [[]], enter_us=3.0):
            with main.op("aten::_local_scalar_dense", [[]], enter_us=3.0):
                main.copy(stream, "DtoH (Device -> Pageable)", 4, 1.4)
                main.wait_for(stream)

    def select_rows():
        with main.op("aten::nonzero", [[512, 1024]], enter_us=6.0):
            main.kernel(stream, "void cub::DeviceSelectSweepKernel<...>", 180.0)
            main.copy(stream, "DtoH (Device -> Pageable)", 8, 1.4)
            main.wait_for(stream)

    plain_step = loop.step

    def step():
        plain_step()
        for _ in range(8):
            main.kernel(stream, elementwise("CUDAFunctor_add<float>"), 210.0)
            read_scalar()
            select_rows()
    loop.step = step
    loop.run()
    rows = without_flows(sim.finish())
    return (kineto_document(rows, head_2025([A100], ["record_shapes"]), TRACE_NAME),
            trace_answers(rows, ["8 aten::item and 8 aten::nonzero per step, each blocking in cudaStreamSynchronize"]))


def tiny_ops():
    sim = Sim(seed=16, shapes=False)
    sim.process()
    main = sim.thread(sim.pid, "python3")
    stream, = sim.gpu(0, [7])
    parameters = 26
    for step in range(4):
        with main.span("ProfilerStep#%d" % (step + 3), "user_annotation"):
            with main.op("aten::linear", enter_us=6.0):
                main.kernel(stream, GEMM, 35.0)
            with main.span("Optimizer.step#Adam.step", "user_annotation"):
                for _ in range(parameters):
                    for name in ("aten::lerp_", "aten::mul_", "aten::addcmul_", "aten::sqrt", "aten::add_",
                                 "aten::addcdiv_"):
                        with main.op(name, enter_us=0.9, leave_us=0.5):
                            if name == "aten::addcdiv_":
                                main.kernel(stream, elementwise("BinaryFunctor<float>"), 1.6, grid=(4, 1, 1), call_us=1.8)
                        main.spend(1.1)
    rows = without_flows(sim.finish())
    lines = ",\n".join(json.dumps(plain(r)) for r in rows)
    return (('{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [\n' + lines + "\n]}\n").encode(),
            trace_answers(rows, ["per-tensor Adam: 156 ops under 5 us in each Optimizer.step#Adam.step"]))


def copy_heavy():
    sim = Sim(seed=17)
    sim.process()
    main = sim.thread(sim.pid, "python3")
    stream, = sim.gpu(0, [7])
    for step in range(4):
        with main.span("ProfilerStep#%d" % (step + 5), "user_annotation"):
            for _ in range(4):
                with main.op("aten::to", [[512, 1024], [], []]):
                    with main.op("aten::_to_copy", [[512, 1024]]):
                        with main.op("aten::copy_", [[512, 1024], [512, 1024]], enter_us=30.0):
                            main.kernel(stream, elementwise("direct_copy_kernel_cuda"), 70.0)
                with main.op("aten::contiguous", [[512, 1024]]):
                    with main.op("aten::clone", [[512, 1024]]):
                        with main.op("aten::copy_", [[512, 1024], [512, 1024]], enter_us=30.0):
                            main.kernel(stream, elementwise("direct_copy_kernel_cuda"), 70.0)
                with main.op("aten::addmm", [[1024], [512, 1024], [1024, 1024]], enter_us=9.0):
                    main.kernel(stream, GEMM, 35.0)
    rows = without_flows(sim.finish())
    return (kineto_document(rows, head_2025([A100], ["record_shapes"]), TRACE_NAME),
            trace_answers(rows, ["aten::copy_ under aten::to and aten::contiguous takes most op and kernel time"]))


TRACES = {"training_step_cuda.json.gz": training_step_cuda, "training_healthy.json.gz": training_healthy,
          "cpu_only_gloo.json": cpu_only_gloo, "kineto_2021.json": kineto_2021,
          "legacy_autograd_array.json": legacy_autograd_array, "epoch_ns_digits.json": epoch_ns_digits, "rocm.json": rocm,
          "mtia.json": mtia, "onnxruntime_array.json": onnxruntime_array, "begin_end_pairs.json": begin_end_pairs,
          "compact_one_line.json": compact_one_line, "pretty_printed.json": pretty_printed, "gpu_only.json": gpu_only,
          "python_stacks.json": python_stacks, "odd_values.json": odd_values, "hostile_names.json": hostile_names,
          "empty_events.json": empty_events, "sync_heavy.json": sync_heavy, "tiny_ops.json": tiny_ops,
          "copy_heavy.json": copy_heavy}


# ------------------------------------------------------------------------------------------------ stacks of the snapshots

LINEAR = ("/venv/site-packages/torch/nn/modules/linear.py", 125, "forward")
FORWARD = frames(LINEAR, ("/srv/train/model.py", 48, "forward"))
BACKWARD = frames(("??", 0, "torch::autograd::Engine::evaluate_function(...)"),
                    ("/srv/train/train.py", 74, "train_step"))
OPTIMIZER = frames(("/venv/site-packages/torch/optim/adamw.py", 165, "_init_group"),
                   ("/srv/train/train.py", 76, "train_step"))
KEPT = frames(("/srv/train/train.py", 79, "train_step"), ("/srv/train/train.py", 120, "main"))
EMPTY_CACHE = frames(("/venv/site-packages/torch/cuda/memory.py", 222, "empty_cache"),
                     ("/srv/train/train.py", 80, "train_step"))


# ------------------------------------------------------------------------------------------------ known answers of a
# snapshot

SIZE_KEYS = (("reserved_bytes", "total_size"), ("allocated_bytes", "allocated_size"), ("active_bytes", "active_size"),
             ("requested_bytes", "requested_size"))


def size_or_zero(segment, field):
    value = segment.get(field, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def totals(segments):
    sums = {key: sum(size_or_zero(s, field) for s in segments) for key, field in SIZE_KEYS}
    return {"segments": len(segments), **sums,
            "reserved_vs_allocated_ratio": ratio(sums["reserved_bytes"], sums["allocated_bytes"]),
            "allocated_vs_requested_ratio": ratio(sums["allocated_bytes"], sums["requested_bytes"])}


def largest_segments(segments):
    lines = []
    for s in segments:
        reserved, allocated = size_or_zero(s, "total_size"), size_or_zero(s, "allocated_size")
        lines.append({"device": s.get("device"), "segment_type": s.get("segment_type", "unknown"), "reserved": reserved,
                      "allocated": allocated, "active": size_or_zero(s, "active_size"),
                      "requested": size_or_zero(s, "requested_size"), "slack": max(reserved - allocated, 0),
                      "address": s.get("address")})
    return sorted(lines, key=lambda l: (-l["reserved"], -l["slack"]))[:20]


def block_figures(segments):
    """What only the blocks tell."""
    inactive = split = wholly_free = pending = largest = 0
    for s in segments:
        blocks = s.get("blocks", [])
        free = [size_or_zero(b, "size") for b in blocks if b.get("state") == "inactive"]
        pending += sum(size_or_zero(b, "size") for b in blocks
                       if b.get("state") in ("active_pending_free", "active_awaiting_free"))
        inactive += sum(free)
        largest = max([largest] + free)
        if len(free) == len(blocks):
            wholly_free += sum(free)
        else:
            split += sum(free)
    return {"inactive_bytes": inactive, "inactive_split_bytes": split, "wholly_free_segment_bytes": wholly_free,
            "pending_free_bytes": pending, "largest_inactive_block_bytes": largest}


def action_figures(traces):
    entries = [e for trace in traces for e in trace if isinstance(e, dict)]
    counts = Counter(str(e.get("action", "unknown")) for e in entries)
    times = [e["time_us"] for e in entries if isinstance(e.get("time_us"), int)]
    first, last = (min(times), max(times)) if times else (None, None)
    return {"counts": dict(sorted(counts.items(), key=lambda c: (-c[1], c[0]))), "first_time_us": first,
            "last_time_us": last, "span_us": last - first if times else None}


def snapshot_answers(document, planted, allocators=(), oddities=None):
    bare = isinstance(document, list)
    segments = [s for s in (document if bare else document["segments"]) if isinstance(s, dict)]
    traces = [] if bare else document.get("device_traces", [])
    annotations = [] if bare else document.get("external_annotations", [])
    names = Counter(str(a.get("name", "unknown")) for a in annotations)
    kinds = defaultdict(list)
    for s in segments:
        kinds[str(s.get("segment_type", "unknown"))].append(s)
    answers = {
        "memory": {"summary": totals(segments), "segment_types": {k: totals(v) for k, v in sorted(kinds.items())},
                   "largest_segments": largest_segments(segments), "trace_actions": action_figures(traces),
                   "annotations": {"count": len(annotations),
                                   "top_names": dict(sorted(names.items(), key=lambda n: (-n[1], n[0]))[:10])}},
        "blocks": block_figures(segments),
        "oddities": oddities or {},
        "planted": planted,
    }
    if allocators:
        answers["devices"] = [{"device": a.device, "history_entries": len(a.history),
                               "requested_bytes_at_end": a.requested_bytes, "peak_requested_bytes": a.peak_requested_bytes,
                               "peak_requested_with_pending_bytes": a.peak_active_bytes,
                               "peak_reserved_bytes": a.peak_reserved_bytes,
                               "oom_count": sum(e["action"] == "oom" for e in a.history)} for a in allocators]
    return answers


# ------------------------------------------------------------------------------------------------ the snapshots

class Training:
    """A training loop seen from the allocator: weights, activations, gradients, optimizer state."""

    def __init__(self, allocator, layers=8, weight_bytes=8 * MIB, activation_bytes=6 * MIB):
        self.allocator, self.layers, self.activation_bytes = allocator, layers, activation_bytes
        self.weight_bytes, self.annotations, self.states = weight_bytes, [], []
        for _ in range(layers):
            allocator.alloc(weight_bytes)
            allocator.alloc(4096)                                  # its bias: lands in the small pool

    def mark(self, name, stage):
        self.annotations.append({"stage": stage, "name": name, "device": self.allocator.device,
                                 "time_us": self.allocator.clock.tick()})

    def forward(self, scale=1.0):
        sizes = [int(self.activation_bytes * scale) + 1024 * i + 40 for i in range(self.layers)]
        return [(self.allocator.alloc(n, FORWARD), self.allocator.alloc(n // 64, FORWARD)) for n in sizes]

    def backward(self, activations):
        gradients = []
        for large, small in reversed(activations):
            gradients.append(self.allocator.alloc(self.weight_bytes, BACKWARD))
            self.allocator.free(large, BACKWARD)
            self.allocator.free(small, BACKWARD)
        return gradients

    def optimizer(self, gradients, pending=False):
        self.mark("Optimizer.step#AdamW.step", "START")
        if not self.states:
            self.states = [self.allocator.alloc(self.weight_bytes, OPTIMIZER) for _ in range(2 * self.layers)]
        self.mark("Optimizer.step#AdamW.step", "END")
        for index, gradient in enumerate(gradients):
            self.allocator.free(gradient, OPTIMIZER, pending=pending and index == 0)

    def step(self, number, scale=1.0, pending=False):
        self.mark("ProfilerStep#%d" % number, "START")
        self.optimizer(self.backward(self.forward(scale)), pending)
        self.mark("ProfilerStep#%d" % number, "END")
        self.allocator.clock.pause(20_000)


def modern():
    allocator = Allocator(Clock(101))
    training = Training(allocator)
    allocator.start_recording()
    for number in range(4):
        training.step(number, 1.0 + 0.25 * (number % 2))
    allocator.release_cached(EMPTY_CACHE)
    training.step(4, 1.5)
    training.forward(0.5)
    allocator.snapshot()
    document = snapshot_document([allocator], training.annotations)
    return document, snapshot_answers(document,
                                      ["an ordinary run; recording starts after the weights were made, so a replay "
                                                 "from zero misses them"], [allocator])


def fragmented():
    allocator = Allocator(Clock(102))
    allocator.start_recording()
    pieces = [allocator.alloc(int(1.5 * MIB) + 4096 * (i % 7), FORWARD) for i in range(13 * 64)]
    for index, address in enumerate(pieces):
        if index % 13 != 5:                     # one piece stays in each segment and holds it
            allocator.free(address)
    allocator.history.clear()                   # a snapshot without history: recording was off
    allocator.recording = False
    document = snapshot_document([allocator])
    return document, snapshot_answers(document, ["1.25 GiB reserved for 0.1 GiB in use; nothing of it could be given back"])


def oom():
    allocator = Allocator(Clock(103), capacity_bytes=2 * GIB)
    training = Training(allocator, layers=6, weight_bytes=12 * MIB, activation_bytes=20 * MIB)
    allocator.start_recording()
    kept = []
    try:
        for number in range(60):
            training.step(number, 1.0 + 0.11 * (number % 9))
            kept.append(allocator.alloc(36 * MIB + 512 * number, KEPT))      # a loss kept with its graph
    except OutOfMemory:
        pass
    allocator.snapshot()
    document = snapshot_document([allocator], training.annotations)
    return document, snapshot_answers(document, ["36 MiB more per step are kept until memory runs out",
                                                 "before the end cached segments are freed in bursts (retries)"],
                                      [allocator])


def healthy():
    allocator = Allocator(Clock(104))
    training = Training(allocator, layers=6, weight_bytes=10 * MIB, activation_bytes=10 * MIB - 2 * KIB * 6)
    allocator.start_recording()
    for number in range(3):
        training.step(number)
    activations = training.forward()            # taken in the middle of a step, when the cache is in use
    training.backward(activations[3:])
    allocator.snapshot()
    document = snapshot_document([allocator], training.annotations)
    return document, snapshot_answers(document, [], [allocator])


def bare_list():
    allocator = Allocator(Clock(105))
    training = Training(allocator, layers=5)
    training.step(0)
    training.forward()
    segments = [{k: s[k] for k in ("device", "address", "total_size", "allocated_size", "active_size", "stream",
                                   "segment_type")}
                for s in allocator.segments]
    for new, old in zip(segments, allocator.segments):
        new["blocks"] = [{"size": b["size"], "state": b["state"]} for b in old["blocks"]]
    return segments, snapshot_answers(segments,
                                      ["the old list of segments: requested bytes, frames and history not recorded"])


def history_2023():
    allocator = Allocator(Clock(106))
    training = Training(allocator, layers=4)
    training.step(0)
    for address in (a for pair in training.forward() for a in pair):
        segment, index = allocator.locate(address)
        segment["blocks"][index]["frames"] = FORWARD
    segments = []
    for s in allocator.segments:
        old = {k: s[k] for k in ("device", "address", "total_size", "allocated_size", "active_size", "requested_size",
                                 "stream",
                                 "segment_type")}
        old["blocks"] = [block_of_2023(b) for b in s["blocks"]]
        segments.append(old)
    active = sum(s["active_size"] for s in segments)
    document = {"segments": segments, "device_traces": [[{"action": "snapshot", "addr": 0, "size": active, "stream": 0}]]}
    return document, snapshot_answers(document, ["blocks without address, a history of one entry, no times: no peak claim"])


def block_of_2023(block):
    old = {"size": block["size"], "requested_size": block["requested_size"], "state": block["state"]}
    if block["state"] == "active_allocated":
        old["history"] = [{"addr": block["address"], "real_size": block["requested_size"], "frames": block["frames"]}]
    return old


def expandable_multi_device():
    clock = Clock(107)
    allocators = [Allocator(clock, device, expandable=True) for device in (0, 1)]
    for allocator in allocators:
        allocator.start_recording()
        graph = [allocator.alloc(n, FORWARD, pool=(0, 1)) for n in (4 * MIB, 7 * MIB, 48 * KIB)]
        training = Training(allocator, layers=3 + allocator.device)
        for number in range(2):
            training.step(number, 1.0 + number)
        allocator.release_cached(EMPTY_CACHE)
        training.step(2, 2.5, pending=True)
        allocator.free(graph[0])
        allocator.snapshot()
    document = snapshot_document(allocators, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", expandable_segments=True)
    return document, snapshot_answers(document,
                                      ["two devices, growing segments, a private pool of a CUDA graph, blocks waiting "
                                                 "for another stream"], allocators)


def churn():
    allocator = Allocator(Clock(108))
    training = Training(allocator, layers=3)
    training.step(0)
    allocator.start_recording()
    for number in range(1, 6):
        training.step(number)
        allocator.release_cached(EMPTY_CACHE)
    training.forward()
    allocator.snapshot()
    document = snapshot_document([allocator], training.annotations)
    planted = ["empty_cache() in every step: segments are freed and asked for again"]
    return document, snapshot_answers(document, planted, [allocator])


def empty():
    document = {"segments": []}
    return document, snapshot_answers(document, ["nothing reserved; history and settings not recorded"])


def odd_snapshot():
    address = 0x7F2A00000000

    def segment(index, **changes):
        base = {"device": 0, "address": address + index * 32 * MIB, "total_size": 20 * MIB, "allocated_size": 12 * MIB,
                "active_size": 12 * MIB, "requested_size": 12 * MIB - 300, "stream": 0, "segment_type": "large",
                "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": [
                    {"address": address + index * 32 * MIB, "size": 12 * MIB, "requested_size": 12 * MIB - 300,
                     "state": "active_allocated", "frames": []},
                    {"address": address + index * 32 * MIB + 12 * MIB, "size": 8 * MIB, "requested_size": 0,
                     "state": "inactive", "frames": []}]}
        base.update(changes)
        return {k: v for k, v in base.items() if v != "absent"}

    blocks = segment(0)["blocks"]
    segments = [segment(0), segment(1, total_size="absent"), segment(2, segment_type="absent"),
                segment(3, total_size="20971520"), segment(4, allocated_size=24 * MIB), segment(5, active_size=None),
                segment(6, blocks=[dict(blocks[0], size=-512), dict(blocks[1], state="half_open")]),
                segment(7, blocks="absent"), segment(8, address="0x7f2a10000000"), segment(9, device="cuda:0"),
                segment(10, total_size=0, allocated_size=0, active_size=0, requested_size=0, blocks=[])]
    trace = [{"action": "alloc", "addr": address, "size": 4096, "stream": 0, "time_us": 1_753_000_000_000_100},
             {"addr": address, "size": 4096, "stream": 0, "time_us": 1_753_000_000_000_200},
             {"action": "rewind_everything", "addr": address, "size": 4096, "stream": 0, "time_us": 1_753_000_000_000_300},
             {"action": "free_requested", "addr": address, "size": "4096", "stream": 0, "time_us": "soon"},
             {"action": "free_completed", "addr": address, "size": -4096, "stream": 0, "time_us": 1_753_000_000_000_250},
             {"action": "segment_alloc", "stream": 0}, 17, None]
    document = {"segments": segments, "device_traces": [trace, []], "allocator_settings": "none",
                "external_annotations": [{"stage": "START", "time_us": 1}, {"name": "x", "stage": "END", "time_us": "late"}],
                "a_key_of_tomorrow": {"deep": [[[1]]]}}
    oddities = {"total_size_missing": 1, "segment_type_missing": 1, "size_not_a_number": 3, "size_negative": 2,
                "allocated_above_total": 1, "block_state_unknown": 1, "blocks_missing": 1, "address_not_a_number": 1,
                "device_not_a_number": 1, "action_missing": 1, "action_unknown": 1, "time_not_a_number": 2,
                "time_goes_backward": 1, "trace_entry_not_an_object": 2, "settings_not_an_object": 1,
                "annotation_name_missing": 1, "annotation_end_without_start": 1}
    return document, snapshot_answers(document, ["every oddity a reader must survive and count"], oddities=oddities)


# ------------------------------------------------------------------------------------------------ a trace and a snapshot of
# one run

class HostClock:
    """The allocator's clock: that of the thread which allocates, as microseconds since the epoch, a little behind."""

    BEHIND_NS = 37_250

    def __init__(self):
        self.thread = None

    def tick(self):
        self.thread.now_ns += 700
        return (BASE_TIME_NS + self.thread.now_ns - self.BEHIND_NS) // NS_PER_US


class RecordedLoop(TrainingLoop):
    """The loop with its allocator: each allocation is an instant in the trace and an entry of the history. Step 2 has the
    largest batch, so memory peaks in its backward pass."""

    ACTIVATION_BYTES, WEIGHT_BYTES = 6 * MIB + 1000, 24 * MIB

    def __init__(self, sim, plan):
        super().__init__(sim, plan)
        clock = HostClock()
        clock.thread = self.main
        self.allocator = Allocator(clock, capacity_bytes=2 * GIB)
        self.activations, self.gradients, self.states, self.number, self.python_id = [], [], [], 0, 0
        for _ in range(plan.layers):
            self.allocator.alloc(self.WEIGHT_BYTES)
        self.main.memory = lambda nbytes: None              # instants come from the allocator alone
        self.autograd.memory = lambda nbytes: self.release(self.autograd, self.activations)
        self.allocator.start_recording()

    def instant(self, thread, address, nbytes):
        allocated = sum(s["allocated_size"] for s in self.allocator.segments)
        args = {"Total Reserved": self.allocator.reserved_bytes, "Total Allocated": allocated, "Bytes": nbytes,
                "Addr": address, "Device Id": 0, "Device Type": 1, "Ev Idx": self.sim.ev_idx}
        self.sim.ev_idx += 1
        self.sim.host_rows.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": self.sim.pid,
                                   "tid": thread.tid, "ts": thread.now_ns, "args": args})

    def obtain(self, thread, requested, stack, owner):
        self.allocator.clock.thread = thread
        address = self.allocator.alloc(requested, stack)
        self.instant(thread, address, round_up(requested, 512))
        owner.append((address, round_up(requested, 512)))

    def release(self, thread, owner):
        self.allocator.clock.thread = thread
        address, size = owner.pop()
        self.allocator.free(address)
        self.instant(thread, address, -size)

    @contextmanager
    def python(self, name):
        row = {"ph": "X", "cat": "python_function", "name": name, "pid": self.sim.pid, "tid": self.main.tid,
               "ts": self.main.now_ns, "dur": 0, "args": {"Python id": self.python_id}}
        self.python_id += 1
        self.sim.host_rows.append(row)
        self.main.spend(1.0)
        yield
        self.main.spend(0.5)
        row["dur"] = self.main.now_ns - row["ts"]

    def run(self):
        with self.python("train.py(61): train"):
            super().run()

    def step(self):
        super().step()
        self.number += 1

    def forward(self):
        with self.python("nn.Module: Net_0"):
            return super().forward()

    def linear(self):
        with self.python("nn.Module: Linear_%d" % (len(self.activations) // 2)):
            return super().linear()

    def relu(self):
        with self.python("nn.Module: ReLU_%d" % (len(self.activations) // 2)):
            return super().relu()

    def compute_kernel(self, thread, name, us, **kwargs):
        """Outputs of forward stay until their node of backward has run; of the two products of a linear layer one is the
        gradient of its weight, which stays until the next zero_grad."""
        if thread is self.main:
            scale = 1.5 if self.number == 2 else 1.0
            self.obtain(thread, int(self.ACTIVATION_BYTES * scale), FORWARD, self.activations)
        elif name.startswith("sm80_") and len(self.gradients) < self.plan.layers and self.first_product:
            self.obtain(thread, self.WEIGHT_BYTES, BACKWARD, self.gradients)
        super().compute_kernel(thread, name, us, **kwargs)
        self.first_product = False

    def gradient_work(self, name):
        self.first_product = True
        super().gradient_work(name)

    def backward(self, produced):
        super().backward(produced)
        while self.activations:
            self.release(self.main, self.activations)

    def optimizer_step(self):
        plan, main = self.plan, self.main
        with main.span("Optimizer.step#AdamW.step", "user_annotation", 20.0, 6.0):
            for _ in range(0 if self.states else 2 * plan.layers):
                with main.op("aten::zeros_like", [[plan.width, plan.width]], enter_us=plan.op_us):
                    self.obtain(main, self.WEIGHT_BYTES, OPTIMIZER, self.states)
            with main.op("aten::_fused_adamw_", [[[plan.width, plan.width]] * plan.layers], enter_us=plan.op_us * 3):
                main.kernel(self.compute, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel", plan.fused_us)
        with main.span("Optimizer.zero_grad#AdamW.zero_grad", "user_annotation", 18.0, 4.0):
            while self.gradients:
                self.release(main, self.gradients)


def recorded_loop():
    sim = Sim(seed=31, shapes=False)
    sim.process()
    loop = RecordedLoop(sim, Plan(layers=3, steps=5, first_step=20))
    loop.run()
    loop.allocator.clock.thread = loop.main
    loop.allocator.snapshot()
    return loop


def one_run_trace():
    loop = recorded_loop()
    rows = loop.sim.finish()
    return (kineto_document(rows, head_2025([A100], ["with_stack", "with_modules", "profile_memory"]), TRACE_NAME),
            trace_answers(rows,
                          ["the same run as snapshots/one_run.json: clocks 37.25 us apart, the peak is in the backward "
                                 "pass of the third step"]))


def one_run_snapshot():
    allocator = recorded_loop().allocator
    document = snapshot_document([allocator])
    return document, snapshot_answers(document, ["the same run as traces/one_run.json.gz"], [allocator])


SNAPSHOTS = {"modern.json.gz": modern, "fragmented.json": fragmented, "oom.json.gz": oom, "healthy.json": healthy,
             "bare_list.json": bare_list, "history_2023.json": history_2023,
             "expandable_multi_device.json": expandable_multi_device, "odd_values.json": odd_snapshot, "empty.json": empty,
             "churn.json": churn, "one_run.json": one_run_snapshot}
TRACES["one_run.json.gz"] = one_run_trace


def slowdown(seed, loader_us, planted):
    sim = Sim(seed=seed, memory=True)
    sim.process()
    loop = TrainingLoop(sim, Plan(layers=2, steps=8, gemm_us=190.0, copy_us=120.0, loader_us=loader_us))
    loop.run()
    loop.main.wait_for(loop.compute, "cudaDeviceSynchronize")
    rows = sim.finish()
    return kineto_document(rows, head_2025([A100], ["record_shapes", "profile_memory"]), TRACE_NAME), trace_answers(rows,
                                                                                                                    planted)


def before_slowdown():
    return slowdown(31, 500.0, [])


def after_slowdown():
    return slowdown(32, 1400.0, ["the same program as before_slowdown.json.gz, but batches take 0.9 ms longer to make"])


TRACES["before_slowdown.json.gz"] = before_slowdown
TRACES["after_slowdown.json.gz"] = after_slowdown


# ------------------------------------------------------------------------------------------------ files

def squeezed(data):
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as stream:
        stream.write(data)
    return buffer.getvalue()


def unpacked(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def built_files():
    """(path below the output folder, bytes) of everything."""
    for name, build in TRACES.items():
        data, answers = build()
        yield from with_answers("traces/" + name, data, answers)
    for name, build in SNAPSHOTS.items():
        document, answers = build()
        yield from with_answers("snapshots/" + name, json.dumps(document).encode(), answers)


def with_answers(path, data, answers):
    """The answers go to expected/, named after the folder as well: both folders have an odd_values.json."""
    yield path, squeezed(data) if path.endswith(".gz") else data
    folder, name = path.split("/")
    stem = name.removesuffix(".gz").removesuffix(".json")
    text = json.dumps({"file": path, **answers}, indent=1, ensure_ascii=True)
    yield "expected/%s_%s.json" % (folder.rstrip("s"), stem), text.encode() + b"\n"


def write_all(folder):
    paths = []
    for path, data in built_files():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as stream:
            stream.write(data)
        paths.append(path)
    return paths


def differences(folder):
    """Names of generated files that differ from those in the folder, and of files there that nothing generates. Compressed
    files are compared by content: another zlib may pack the same bytes otherwise."""
    with tempfile.TemporaryDirectory() as fresh:
        paths = write_all(fresh)
        for path in paths:
            there = os.path.join(folder, path)
            if not os.path.exists(there):
                yield path + ": missing"
            elif not filecmp.cmp(there, os.path.join(fresh, path), shallow=False):
                with open(there, "rb") as a, open(os.path.join(fresh, path), "rb") as b:
                    if unpacked(a.read()) != unpacked(b.read()):
                        yield path + ": differs"
    for sub in ("traces", "snapshots", "expected"):
        for name in sorted(os.listdir(os.path.join(folder, sub)) if os.path.isdir(os.path.join(folder, sub)) else []):
            if sub + "/" + name not in paths:
                yield "%s/%s: nothing generates it" % (sub, name)


def main():
    default = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=default, help="folder that holds traces/, snapshots/ and expected/")
    parser.add_argument("--check", action="store_true", help="compare with the folder instead of writing to it")
    options = parser.parse_args()
    if not options.check:
        print("%d files written to %s" % (len(write_all(options.out)), options.out))
        return 0
    found = list(differences(options.out))
    print("\n".join(found) if found else "fixtures are as generated")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
