#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a trace takes of memory, whatever stands in it: at most PER_EVENT bytes for each event more, and the bytes of the
distinct names, signatures and numbers more.

    memory_rule.py --program PROGRAM [--events N | --whole N] [CASE...]

Peaks of the process for n and 4n events on one thread are compared, so that what each run takes is left out; they are
counted in bytes and do not depend on the machine's speed. KNOWN lists what takes more, and how much: no more than that.
With --whole the rule is taken at its word: the peak for N events is within them and RUN_BYTES; WHOLE_KNOWN, for two million,
lists what is not. Prints TAP."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from program import parser_of
from tap import Tap

EVENTS = 25000
GROWTH = 4
RUNS = 3
PER_EVENT = 60
SLACK = 1.05  # arrays grow in steps, allocators round
NOISE_BYTES = 768 << 10  # by which peaks of the same run differ on a busy machine: pages are counted late
# Bytes an event of what is beyond the rule: lists of pieces, gaps, operators and habits that passes make of such rows, and
# the graph of the replay, which is made of traces with at most REPLAYED_ROWS and REPLAYED_TRACKS.
REPLAYED_ROWS = 1000000
REPLAYED_TRACKS = 10000
KNOWN = {
    "launches": 96,
    "a_name_per_event": 64,
    "modules_one_in_the_other": 66,
    "steps": 75,
}
RUN_BYTES = 32 * 10**6
WHOLE_KNOWN = {}
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def event(cat, name, tid, ts, dur, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            **({"args": args} if args else {})}


@case
def equal_events(n):
    """Rows of one name, one after another."""
    return (event("cpu_op", "aten::mm", 1, 10 * i, 9) for i in range(n))


@case
def equal_bare_events(n):
    """Nothing but what a row needs."""
    return ({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(n))


@case
def equal_kernels(n):
    return (event("kernel", "gemm", 7, 10 * i, 9, pid=0, device=0, stream=7, correlation=i + 1) for i in range(n))


@case
def launches(n):
    for i in range(n // 2):
        yield event("cuda_runtime", "cudaLaunchKernel", 1, 20 * i, 9, correlation=i + 1)
        yield event("kernel", "gemm", 7, 20 * i + 10, 9, pid=0, device=0, stream=7, correlation=i + 1)


@case
def a_name_per_event(n):
    return (event("cpu_op", f"name number {i}", 1, 10 * i, 9) for i in range(n))


@case
def a_kernel_name_per_event(n):
    return (event("kernel", f"kernel number {i}", 7, 10 * i, 9, pid=0, device=0, stream=7) for i in range(n))


@case
def a_thread_per_event(n):
    return (event("cpu_op", "aten::mm", 1000 + i, 10 * i, 9) for i in range(n))


@case
def a_stream_per_event(n):
    return (event("kernel", "gemm", i, 10 * i, 9, pid=0, device=0, stream=i) for i in range(n))


@case
def a_device_per_event(n):
    return (event("kernel", "gemm", 7, 10 * i, 9, pid=i, device=i, stream=7) for i in range(n))


@case
def nested_modules(n):
    for i in range(0, n, 100):
        for j in range(100):
            yield event("python_function", f"nn.Module: Block_{j % 50}", 1, 1000 * i + j, 1000 - 2 * j,
                        **{"Python id": i + j + 1, "Python parent id": (i + j) if j else 0})


@case
def modules_one_in_the_other(n):
    return (event("python_function", f"nn.Module: Block_{i}", 1, i, 2 * (n - i), **{"Python id": i + 1})
            for i in range(n))


@case
def python_frames(n):
    for i in range(0, n, 20):
        for j in range(20):
            yield event("python_function", f"train.py({j}): step", 1, 1000 * i + j, 1000 - 2 * j)


@case
def signatures(n):
    return (event("cpu_op", "aten::mm", 1, 10 * i, 9, **{"Input Dims": [[i, 8], [8, 2]], "Input type": ["float", "float"],
                                                        "Sequence number": i, "External id": i}) for i in range(n))


@case
def backward(n):
    for i in range(n // 2):
        yield event("cpu_op", "aten::mm", 1, 10 * i, 9, **{"Sequence number": i, "External id": 2 * i + 1})
        yield event("cpu_op", "MmBackward0", 2, 10 * i, 9,
                    **{"Sequence number": i, "External id": 2 * i + 2, "Fwd thread id": 1})


@case
def instants(n):
    return ({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": i, "s": "t",
             "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 + 512 * (i // 2), "Bytes": 512 if i % 2 == 0 else -512,
                      "Total Allocated": 512 * (i % 2), "Total Reserved": 1 << 20}} for i in range(n))


@case
def copies(n):
    return (event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 10 * i, 9, pid=0, device=0, stream=7, bytes=4096,
                  correlation=i + 1) for i in range(n))


@case
def collectives(n):
    return (event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 7, 10 * i, 9, pid=0, device=0, stream=7,
                  **{"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 8,
                     "dtype": "Float", "Process Group Name": "0"}) for i in range(n))


@case
def steps(n):
    for i in range(n // 10):
        yield event("user_annotation", f"ProfilerStep#{i}", 1, 100 * i, 99)
        for j in range(9):
            yield event("cpu_op", "aten::mm", 1, 100 * i + 10 * j, 9)


@case
def open_pairs(n):
    for i in range(n // 2):
        yield {"ph": "B", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": i}
    for i in range(n // 2):
        yield {"ph": "E", "pid": 1, "tid": 1, "ts": n + i}


def distinct_bytes(events):
    """Names and signatures as they are kept once each."""
    texts = set()
    for one in events:
        args = one.get("args", {})
        texts |= {one.get("name", ""), f"{one['pid']} {one['tid']}"}
        if "Input Dims" in args:
            texts.add(json.dumps(args["Input Dims"]) + json.dumps(args["Input type"]))
    return sum(len(text) for text in texts)


# The peak of a process begins with that of the one which started it, which therefore is small.
LAUNCH = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def write_trace(events, folder):
    path = folder / "trace.json.gz"
    encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"traceEvents":[')
        for number, one in enumerate(events):
            file.write(("," if number else "") + encode(one))
        file.write("]}")
    return path


def peak_bytes(program, path, *more):
    folder = path.parent
    run = [program, path, "--json-out", folder / "report.json", "--md-out", folder / "report.md", "--quiet",
           "--threads", "1", *more]
    # meson has malloc fill what it hands out, which touches room that the program never does.
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCH, *run], capture_output=True, text=True, check=False,
                          env=os.environ | {"MALLOC_PERTURB_": "0"})
    if done.returncode:
        raise RuntimeError(done.stderr)
    return int(done.stdout) * 1024


def least_peak(program, path):
    """What differs from run to run is mostly more."""
    return min(peak_bytes(program, path) for _ in range(RUNS))


def check_whole(tap, program, folder, name, count):
    peak = least_peak(program, write_trace(CASES[name](count), folder))
    each = (peak - distinct_bytes(CASES[name](count)) - RUN_BYTES) / count
    most = WHOLE_KNOWN.get(name, PER_EVENT)
    tap.same(each if each > most else 0, 0, f"{name}: {each:.1f} bytes an event of {count}, {most} are allowed")
    if name in WHOLE_KNOWN:
        tap.same(each > PER_EVENT, True, f"{name}: it is still more than the rule, or WHOLE_KNOWN is out of date")


def check_bound(tap, program, folder, case, most, what, asked):
    """A trace of gigabytes is not made larger by a graph that nobody asked for."""
    told = []
    for count, more in ((most, []), (most + 2, []), (None, ["--what-if", asked])): # None: the one before
        if count:
            path = write_trace(CASES[case](count), folder)
        peak_bytes(program, path, *more)
        replay = json.loads((folder / "report.json").read_text())["prediction"]["replay"]
        told.append((replay["pieces"] > 0, "only where a change is asked for" in (replay["why_not"] or "")))
    tap.same(told, [(True, False), (False, True), (True, False)], f"more than {what} are replayed only when asked")


def check_longest(tap, program, folder):
    """Of many names the longest segments of those that are listed are looked for a second time."""
    def kernels(n):
        yield from a_kernel_name_per_event(n)
        for number, dur in enumerate((50, 900, 70, 900)):
            yield event("kernel", "gemm", 7, 10 * n + 1000 * number, dur, pid=0, device=0, stream=7)
    count = 70000
    peak_bytes(program, write_trace(kernels(count), folder))
    listed = json.loads((folder / "report.json").read_text())["critical_path"]["operators"]
    told = [[row[key] for key in ("name", "kind", "total_dur_us", "segments", "start_us", "dur_us")] for row in listed[:2]]
    tap.same(told, [["gemm", "gap", 1981, 4, 10 * count + 50, 950], ["gemm", "device", 1920, 4, 10 * count + 1000, 900]],
             "of more names than few the longest segments are told of those that are listed")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="of the smaller trace")
    parser.add_argument("--whole", type=int, help="events of one trace whose whole peak is looked at")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    tap, program = Tap(), arguments.program.resolve()
    if b"__asan_init" in program.read_bytes() or b"__tsan_init" in program.read_bytes():
        tap.skip("what a trace takes of memory", "sanitizers take memory of their own")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.whole:
            for name in arguments.cases or CASES:
                check_whole(tap, program, Path(folder), name, arguments.whole)
            return tap.done()
        for name in arguments.cases or CASES:
            few, many = arguments.events, arguments.events * GROWTH
            peaks = [least_peak(program, write_trace(CASES[name](count), Path(folder))) for count in (few, many)]
            texts = distinct_bytes(CASES[name](many)) - distinct_bytes(CASES[name](few))
            each = (peaks[1] - peaks[0] - texts) / (many - few)
            most = KNOWN.get(name, PER_EVENT)
            noise = NOISE_BYTES / (many - few)
            tap.same(each if each > most * SLACK + noise else 0, 0,
                     f"{name}: {each:.0f} bytes an event, {most} are allowed")
            if name in KNOWN:
                tap.same(each > PER_EVENT - noise, True, f"{name}: it is still more than the rule, or KNOWN is out of date")
        check_bound(tap, program, Path(folder), "launches", REPLAYED_ROWS, "a million rows", "kernel ~ gemm gone")
        check_bound(tap, program, Path(folder), "a_thread_per_event", REPLAYED_TRACKS, "ten thousand threads",
                    "op ~ mm gone")
        check_longest(tap, program, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
