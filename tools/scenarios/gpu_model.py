# SPDX-License-Identifier: MIT
"""A small discrete-event model of a host and a GPU that writes traces in the dialect of PyTorch's profiler.

A Run holds one traced process. Its Host threads have a clock each: operators, Python and calls of the runtime move it. What
they launch is placed on a Device at once, since all that a piece of work can wait for was launched before it:

- a stream is a FIFO; an event of another stream can hold it back (Host.record, Host.wait_event);
- kernels share the multiprocessors: a kernel starts when as much of the device is free as its grid can fill;
- each direction has one copy engine; copies from pageable memory are staged by the host, which waits for the stream before
and
  for the copy itself;
- at most 1,024 pieces of work wait in the launch queue, then launching blocks;
- kernels of a graph follow each other without the host.

Durations come from what the work does (operations, bytes) and what the device can do, with a few percent of noise. The noise
depends on the name and how often it came before, so that two runs that differ in one thing differ in nothing else.
Nothing here depends on a clock or on an order of hashing: the same calls give the same trace.
"""
import heapq
import os
import sys
import zlib
from collections import Counter, defaultdict
from contextlib import contextmanager

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from make_fixtures import A100, H100, START_NS, TRACE_NAME, distributed, head_2025, kineto_document  # noqa: E402

NS_PER_US = 1000
QUEUE_LIMIT = 1024                    # pieces of work that may wait in the launch queue
LAUNCH_LATENCY_US = 3.2               # from the end of a launching call to the start on an idle device
KERNEL_GAP_US = 0.9                   # between two kernels of one stream
GRAPH_GAP_US = 0.7                    # between two kernels of one graph
WAKE_UP_US = 4.5                      # from the end of the work to the return of the call that waits for it
NOISE = 0.05
SLICE_NS = 1500 * NS_PER_US            # a thread keeps a core that others use too for about so long
PID, AUTOGRAD_OFFSET = 31337, 88


class Spec:
    """What a device can do, and how the trace names it."""

    UNALIGNED = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_%s_align1"

    def __init__(self, text, sms, tensor_flops, fp32_flops, bytes_per_s, gemm, gemm_tf32, gemm_fp32):
        self.text, self.sms, self.bytes_per_s = text, sms, bytes_per_s
        self.tensor_flops, self.fp32_flops = tensor_flops, fp32_flops
        self.gemm_names = {"bf16": gemm, "tf32": gemm_tf32, "fp32": gemm_fp32}

    def flops_per_s(self, dtype):
        return {"bf16": self.tensor_flops, "tf32": self.tensor_flops / 2, "fp32": self.fp32_flops}[dtype]


AMPERE = Spec(A100, 108, 312e12, 19.5e12, 1.55e12, "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_%s",
              "cutlass_80_tensorop_s1688gemm_128x128_16x5_%s_align4", "ampere_sgemm_128x128_%s")
HOPPER = Spec(H100, 132, 989e12, 67e12, 3.35e12,
              "sm90_xmma_gemm_bf16bf16_bf16f32_f32_%s_n_tilesize128x128x64_warpgroupsize1x1x1_"
              "execute_segment_k_off_kernel__5x_cublas",
              "sm80_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_"
              "execute_kernel__5x_cublas",
              "sm80_xmma_gemm_f32f32_f32f32_f32_%s_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_"
              "execute_kernel__5x_cublas")
HTOD_PINNED_BYTES_PER_S, HTOD_PAGEABLE_BYTES_PER_S = 24e9, 7.5e9


class Kernel:
    """A kernel: its name, its time alone on the device, its grid, how many of its blocks fit on a multiprocessor, and
    whether it runs beside kernels that fill the device, as those of collectives do."""

    def __init__(self, name, us, blocks, threads=256, registers=40, shared_bytes=0, fit=None, args=None, beside=False):
        self.name, self.us, self.blocks, self.threads = name, us, max(1, int(blocks)), threads
        self.registers, self.shared_bytes, self.args, self.beside = registers, shared_bytes, args or {}, beside
        self.fit = fit or min(32, 2048 // threads, 65536 // (registers * threads))

    def row_args(self, spec):
        per_sm = self.blocks / spec.sms
        warps = self.threads // 32
        return {"registers per thread": self.registers, "shared memory": self.shared_bytes,
                "blocks per SM": round(per_sm, 6),
                "warps per SM": round(per_sm * warps, 6), "grid": [self.blocks, 1, 1], "block": [self.threads, 1, 1],
                "est. achieved occupancy %": min(100, round(100 * min(per_sm, self.fit) * warps / 64)), **self.args}

    def device_share(self, spec):
        return 0.0 if self.beside else min(1.0, self.blocks / (spec.sms * self.fit))


class Stream:
    def __init__(self, device, number):
        self.device, self.number, self.free_at_ns, self.not_before_ns = device, number, 0, 0


class Device:
    """Streams, multiprocessors and copy engines of one GPU."""

    def __init__(self, spec, index=0):
        self.spec, self.index, self.streams = spec, index, {}
        self.running, self.engines, self.queued_starts = [], defaultdict(int), []

    def stream(self, number):
        return self.streams.setdefault(number, Stream(self, number))

    def done_ns(self):
        return max((s.free_at_ns for s in self.streams.values()), default=0)

    def room_ns(self, at_ns, share):
        """The first instant from at_ns on when a kernel of this share of the device fits beside what runs then."""
        self.running = [(start, end, part) for start, end, part in self.running if end > at_ns]
        for instant in sorted({at_ns} | {end for _, end, _ in self.running if end > at_ns}):
            if sum(part for start, end, part in self.running if start <= instant < end) + share <= 1.0 + 1e-9:
                return instant
        return at_ns

    def place(self, stream, ready_ns, dur_ns, gap_ns, share=0.0, engine=None):
        """Start and end of a piece of work on a stream."""
        start = max(ready_ns, stream.free_at_ns + gap_ns, stream.not_before_ns)
        if engine:
            start = max(start, self.engines[engine])
        if share:
            start = self.room_ns(start, share)
            self.running.append((start, start + dur_ns, share))
        end = start + dur_ns
        stream.free_at_ns = end
        if engine:
            self.engines[engine] = end
        heapq.heappush(self.queued_starts, start)
        return start, end

    def queue_room_ns(self, now_ns):
        """When the launch queue has room for one more."""
        while self.queued_starts and self.queued_starts[0] <= now_ns:
            heapq.heappop(self.queued_starts)
        waiting = len(self.queued_starts) - QUEUE_LIMIT
        return now_ns if waiting < 0 else sorted(self.queued_starts)[waiting]


class Run:
    """One traced process on one device."""

    def __init__(self, spec=AMPERE, ranks=1, backend="nccl", seed=0):
        self.spec, self.ranks, self.backend, self.seed = spec, ranks, backend, seed
        self.device = Device(spec)
        self.host_rows, self.device_rows, self.threads = [], [], []
        self.next_id, self.next_correlation, self.next_sequence, self.next_python_id = 1, 2001, 512, 1
        self.seen, self.loaded = Counter(), set()
        self.main = self.thread(PID, "python3")
        self.autograd = self.thread(PID + AUTOGRAD_OFFSET, "pt_autograd_0")

    def thread(self, tid, name):
        self.threads.append(Host(self, tid, name))
        return self.threads[-1]

    def ns(self, us, key):
        """A duration with the noise that belongs to this occurrence of the key."""
        self.seen[key] += 1
        noise = zlib.crc32(("%s %d" % (key, self.seen[key])).encode(), self.seed) / 0x7FFFFFFF - 1
        return max(1, round(us * NS_PER_US * (1 + NOISE * noise)))

    def timed_rows(self):
        return [row for row in self.host_rows + self.device_rows if "dur" in row]

    def window_ns(self):
        """From the first start to the last end of anything: what the planted cost is the difference of."""
        rows = self.timed_rows()
        return max(row["ts"] + row["dur"] for row in rows) - min(row["ts"] for row in rows)

    def metadata(self, start_ns):
        labels = [(PID, 0, "process_name", {"name": "python3"}), (PID, 0, "process_labels", {"labels": "CPU"}),
                  (PID, 0, "process_sort_index", {"sort_index": PID}),
                  (0, 0, "process_name", {"name": "python3"}), (0, 0, "process_labels", {"labels": "GPU 0"}),
                  (0, 0, "process_sort_index", {"sort_index": 5_000_000})]
        labels += [(PID, t.tid, "thread_name", {"name": "thread %d (%s)" % (t.tid, t.name)}) for t in self.threads]
        labels += [(0, s, "thread_name", {"name": "stream %d " % s}) for s in sorted(self.device.streams)]
        return [{"name": name, "ph": "M", "ts": start_ns, "pid": pid, "tid": tid, "args": args}
                for pid, tid, name, args in labels]

    def document(self, rank=0):
        """The trace as the profiler writes it."""
        rows = self.timed_rows()
        pad_ns = 60 * NS_PER_US
        start, end = min(r["ts"] for r in rows) - pad_ns, max(r["ts"] + r["dur"] for r in rows) + pad_ns
        frame = [{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                  "ts": start,
                  "dur": end - start, "args": {"Op count": 0}},
                 {"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces",
                  "tid": "Trace PyTorch Profiler", "ts": start},
                 {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": end}]
        info = distributed(self.backend, rank, self.ranks) if self.ranks > 1 else None
        return kineto_document(self.host_rows + self.device_rows + self.metadata(start) + frame,
                               head_2025([self.spec.text], [], info), TRACE_NAME)

    # ---- kernels by what they do

    TILES = ((128, 128, 0.65), (128, 64, 0.56), (64, 64, 0.45))    # rows, columns, share of the peak that it reaches

    @staticmethod
    def blocks(m, n, tile):
        return -(-m // tile[0]) * -(-n // tile[1])

    def gemm(self, m, n, k, dtype="bf16", layout="tn"):
        tile_rows, tile_columns, share = next((tile for tile in self.TILES if self.blocks(m, n, tile) >= self.spec.sms),
                                              self.TILES[-1])
        blocks = self.blocks(m, n, (tile_rows, tile_columns))
        waves = -(-blocks // self.spec.sms) * self.spec.sms / blocks
        name = self.spec.gemm_names[dtype]
        if dtype == "bf16" and (m % 8 or n % 8 or k % 8):
            name, share = "void cutlass::Kernel2<%s>(%s::Params)" % (self.spec.UNALIGNED, self.spec.UNALIGNED), share / 3.4
        us = 2.5 + 2.0 * m * n * k * waves / (self.spec.flops_per_s(dtype) * share) * 1e6
        return Kernel(name.replace("%s", layout).replace("128x128", "%dx%d" % (tile_rows, tile_columns)), us, blocks,
                      threads=256, registers=122, shared_bytes=81920, fit=2)

    def streaming(self, name, nbytes, threads=128, floor_us=1.6):
        """A kernel whose time is that of moving its bytes."""
        return Kernel(name, floor_us + nbytes / (self.spec.bytes_per_s * 0.82) * 1e6, nbytes / 8 / (threads * 4),
                      threads=threads, registers=32)

    def elementwise(self, functor, nbytes):
        return self.streaming("void at::native::vectorized_elementwise_kernel<4, at::native::%s, std::array<char*, 3ul> >"
                              "(int, at::native::%s, std::array<char*, 3ul>)" % (functor, functor), nbytes)


class Host:
    """A thread: its clock, and the operators that are open on it."""

    def __init__(self, run, tid, name):
        self.run, self.tid, self.name, self.now_ns = run, tid, name, START_NS
        self.open_ids, self.frames = [], []
        self.lazy = False              # kernels are loaded at their first use, as in a new process
        self.slice_ns = None           # on a core that others use too: what is left until they have it

    def share_core(self):
        """From now on others use its core as well."""
        self.slice_ns = SLICE_NS

    def ns(self, us, key):
        """How long the thread takes for so much work: while others have its core, it stands still."""
        run, ns = self.run, self.run.ns(us, key)
        if self.slice_ns is not None:
            self.slice_ns -= ns
            if self.slice_ns < 0:
                run.seen["core"] += 1
                draw = zlib.crc32(b"core %d" % run.seen["core"], run.seed)
                self.slice_ns = SLICE_NS // 2 + draw % SLICE_NS
                ns += 4 * NS_PER_US * 1000 * (1 + draw // SLICE_NS % 2)
        return ns

    def python(self, us):
        """Time of the interpreter, which leaves no row."""
        self.now_ns += self.ns(us, "python")

    @contextmanager
    def frame(self, name):
        """A Python function, as recorded with_stack."""
        run = self.run
        number, run.next_python_id = run.next_python_id, run.next_python_id + 1
        row = {"ph": "X", "cat": "python_function", "name": name, "pid": PID, "tid": self.tid, "ts": self.now_ns, "dur": 0,
               "args": {"Python parent id": self.frames[-1] if self.frames else None, "Python id": number}}
        run.host_rows.append(row)
        self.frames.append(number)
        self.now_ns += self.ns(0.8, "frame")
        yield row
        self.now_ns += self.ns(0.4, "frame")
        self.frames.pop()
        row["dur"] = self.now_ns - row["ts"]

    def sleep_until(self, at_ns):
        self.now_ns = max(self.now_ns, at_ns)

    @contextmanager
    def span(self, name, cat="user_annotation", enter_us=2.0, leave_us=1.0, **args):
        run = self.run
        number, run.next_id = run.next_id, run.next_id + 1
        row = {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": self.tid, "ts": self.now_ns, "dur": 0,
               "args": {"External id": number, "Record function id": 0, **{k.replace("_", " "): v for k, v in args.items()},
                        "Ev Idx": number - 1}}
        run.host_rows.append(row)
        self.open_ids.append(number)
        self.now_ns += self.ns(enter_us, name)
        yield row
        self.now_ns += self.ns(leave_us, name)
        self.open_ids.pop()
        row["dur"] = self.now_ns - row["ts"]

    def op(self, name, enter_us=6.0, leave_us=1.5, **args):
        return self.span(name, "cpu_op", enter_us, leave_us, **args)

    def leaf(self, name, us=3.0, **args):
        with self.op(name, us, 0.3, **args):
            pass

    def call(self, name, us, cbid, cat="cuda_runtime"):
        run = self.run
        number, run.next_correlation = run.next_correlation, run.next_correlation + 1
        row = {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": self.tid, "ts": self.now_ns, "dur": self.ns(us, name),
               "args": {}}
        if self.open_ids:
            row["args"]["External id"] = self.open_ids[-1]
        row["args"].update({"cbid": cbid, "correlation": number})
        run.device_rows.append(row)
        self.now_ns += row["dur"]
        return row

    def blocked_call(self, name, us, cbid, until_ns):
        """A call that returns only after until_ns."""
        row = self.call(name, us, cbid)
        if until_ns is not None and until_ns > self.now_ns:
            self.now_ns = until_ns + self.run.ns(WAKE_UP_US, "wake up")
            row["dur"] = self.now_ns - row["ts"]
        return row

    def flow(self, ph, number, pid, tid, ts, cat="ac2g"):
        self.run.device_rows.append({"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": ts, "cat": cat, "name": cat,
                                     **({"bp": "e"} if ph == "f" else {})})

    def put(self, call, stream, name, cat, us, args, gap_us=KERNEL_GAP_US, flow=True, **place):
        """Work of a call on a stream: its row, placed by the device."""
        run = self.run
        ready = call["ts"] + call["dur"] + run.ns(LAUNCH_LATENCY_US, "latency")
        start, end = stream.device.place(stream, ready, run.ns(us, name), run.ns(gap_us, "gap"), **place)
        number = call["args"]["correlation"]
        linked = {"External id": call["args"]["External id"]} if "External id" in call["args"] else {}
        queued = {"queued": 0} if cat == "kernel" else {}
        row = {"ph": "X", "cat": cat, "name": name, "pid": stream.device.index, "tid": stream.number, "ts": start,
               "dur": end - start,
               "args": {**linked, **queued, "device": stream.device.index, "context": 1, "stream": stream.number,
                        "correlation": number, **args}}
        run.device_rows.append(row)
        if flow:
            self.flow("s", number, PID, self.tid, call["ts"])
            self.flow("f", number, stream.device.index, stream.number, start)
        return row

    def load_us(self, kernel):
        """Loading a kernel at its first launch: longer where it brings a module (a library) that no kernel was taken from
        yet."""
        if not self.lazy or kernel.name in self.run.loaded:
            return 0
        module = kernel.name[:12]
        new_module = not any(name.startswith(module) for name in self.run.loaded)
        self.run.loaded.add(kernel.name)
        us = 2600.0 if new_module else 310.0
        self.run.host_rows.append({"ph": "X", "cat": "overhead", "name": "Lazy Function Loading", "pid": -1, "tid": 0,
                                   "ts": self.now_ns + 1500, "dur": round(us * 0.96) * NS_PER_US})
        return us

    def launch(self, stream, kernel, call="cudaLaunchKernel", call_us=4.8):
        row = self.call(call, call_us + self.load_us(kernel),
                        {"cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430}.get(call, 652),
                        "cuda_runtime" if call.startswith("cuda") else "cuda_driver")
        room = stream.device.queue_room_ns(self.now_ns)
        if room > self.now_ns:
            self.now_ns = room
            row["dur"] = room - row["ts"]
        return self.put(row, stream, kernel.name, "kernel", kernel.us, kernel.row_args(self.run.spec),
                        share=kernel.device_share(self.run.spec))

    def launch_graph(self, stream, kernels):
        """One call, all kernels of a captured graph one after the other."""
        row = self.call("cudaGraphLaunch", 9.0 + 0.02 * len(kernels), 311)
        for index, kernel in enumerate(kernels):
            self.put(row, stream, kernel.name, "kernel", kernel.us, kernel.row_args(self.run.spec), gap_us=GRAPH_GAP_US,
                     flow=index == 0, share=kernel.device_share(self.run.spec))

    def copy_in(self, stream, nbytes, pinned=True, wait=False):
        """Host to device. From pageable memory the host takes part: it waits for the stream, stages, and then waits as
        PyTorch does."""
        run = self.run
        kind = "Memcpy HtoD (%s -> Device)" % ("Pinned" if pinned else "Pageable")
        us = 1.5 + nbytes / (HTOD_PINNED_BYTES_PER_S if pinned else HTOD_PAGEABLE_BYTES_PER_S) * 1e6
        call = self.call("cudaMemcpyAsync", 6.5, 41)
        if not pinned:
            self.sleep_until(stream.free_at_ns)
            call["dur"] = self.now_ns - call["ts"]
        row = self.put(call, stream, kind, "gpu_memcpy", us, {}, engine="HtoD")
        self.add_bytes(row, nbytes)
        if not pinned:
            self.now_ns = row["ts"] + row["dur"] + run.ns(WAKE_UP_US, "wake up")
            call["dur"] = self.now_ns - call["ts"]
        if wait or not pinned:
            self.synchronize_stream(stream)
        return row

    def copy_in_staged(self, stream, nbytes):
        """A copy so small that the driver keeps what is copied: the call returns at once, and PyTorch waits for the
        stream."""
        row = self.put(self.call("cudaMemcpyAsync", 6.5, 41), stream, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 1.4,
                       {}, engine="HtoD")
        self.add_bytes(row, nbytes)
        self.synchronize_stream(stream)

    def copy_out(self, stream, nbytes):
        """Device to pageable host memory, with the wait that every .item() and .cpu() ends with."""
        call = self.call("cudaMemcpyAsync", 6.0, 41)
        row = self.put(call, stream, "Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", 1.4 + nbytes / 6e9 * 1e6, {},
                       engine="DtoH")
        self.add_bytes(row, nbytes)
        self.now_ns = max(self.now_ns, row["ts"] + row["dur"] + self.run.ns(WAKE_UP_US, "wake up"))
        call["dur"] = self.now_ns - call["ts"]
        self.synchronize_stream(stream)
        return row

    def copy_inside(self, stream, nbytes):
        call = self.call("cudaMemcpyAsync", 5.0, 41)
        us = 1.6 + 2 * nbytes / (self.run.spec.bytes_per_s * 0.8) * 1e6
        self.add_bytes(self.put(call, stream, "Memcpy DtoD (Device -> Device)", "gpu_memcpy", us, {}, share=1.0), nbytes)

    def fill(self, stream, nbytes):
        us = 1.3 + nbytes / (self.run.spec.bytes_per_s * 0.8) * 1e6
        self.add_bytes(self.put(self.call("cudaMemsetAsync", 4.5, 51), stream, "Memset (Device)", "gpu_memset", us, {}),
                       nbytes)

    @staticmethod
    def add_bytes(row, nbytes):
        row["args"].update({"bytes": nbytes, "memory bandwidth (GB/s)": round(nbytes / row["dur"], 6)})

    def synchronize_stream(self, stream):
        return self.blocked_call("cudaStreamSynchronize", 3.0, 131, stream.free_at_ns)

    def synchronize_device(self):
        return self.blocked_call("cudaDeviceSynchronize", 4.0, 165, self.run.device.done_ns())

    def malloc(self, nbytes):
        """Memory from the driver: maps pages, some 30 us per 32 MiB beside a fixed part; does not wait for the device."""
        return self.call("cudaMalloc", 90 + nbytes / (1 << 20), 20)

    def free(self):
        """Memory back to the driver: waits until the device is idle."""
        return self.blocked_call("cudaFree", 110, 22, self.run.device.done_ns())

    def malloc_host(self, nbytes):
        """Page-locked host memory: the pages are pinned one by one."""
        return self.call("cudaHostAlloc", 140 + nbytes / 3500, 113)

    def free_host(self, nbytes):
        return self.call("cudaFreeHost", 190 + nbytes / 10000, 114)

    def record(self, stream):
        self.call("cudaEventRecord", 1.2, 135)
        return stream.free_at_ns

    def wait_event(self, stream, event_ns):
        self.call("cudaStreamWaitEvent", 1.1, 147)
        stream.not_before_ns = max(stream.not_before_ns, event_ns)
