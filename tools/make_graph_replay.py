#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A run that replays a GPU graph, and the capture of that graph: fixtures/replay/.

    make_graph_replay.py            write the files
    make_graph_replay.py --check    compare them with what would be written; exit 1 if anything differs

Nothing here was measured: a model of six layers of seven kernels whose times are numbers. While the graph is captured, calls
tell the kernel that they would launch, as ROCm's do; nothing runs then.
"""
import gzip
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "replay"
LAYERS, STEPS = 6, 3
BF16 = "c10::BFloat16"


def layer(rows):
    """(operator, shapes, line, kernel, us) in order."""
    norm = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*)"
    add = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
           "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)")
    gate = "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>(c10::BFloat16*, c10::BFloat16 const*, int)"
    gemm = "Cijk_Alik_Bljk_BBS_BH_Bias_MT64x32x256_MI16x16x1_SN"
    return [("_C::rms_norm", [[rows, 1024], [rows, 1024], [1024]], "model.py(10): norm", norm, 5),
            ("aten::mm", [[rows, 1024], [1024, 3072]], "model.py(20): attend", gemm, 20),
            ("sgl_kernel::paged_attention", [[rows, 16, 64]], "model.py(22): attend", "paged_attention_kernel", 40),
            ("aten::mm", [[rows, 1024], [1024, 1024]], "model.py(24): attend", gemm.replace("64x32", "32x32"), 12),
            ("aten::add", [[rows, 1024], [rows, 1024]], "model.py(12): forward", add, 4),
            ("_C::rms_norm", [[rows, 1024], [rows, 1024], [1024]], "model.py(30): norm", norm, 5),
            ("_C::silu_and_mul", [[rows, 4096], [rows, 8192]], "model.py(32): gate", gate, 6)]


def kernels(rows):
    head = ("aten::embedding", [[32000, 1024], [rows]], "model.py(5): forward", "vectorized_gather_kernel", 7)
    tail = ("aten::mm", [[rows, 1024], [1024, 32000]], "model.py(90): logits",
            "Cijk_Alik_Bljk_BBS_MT256x48x64_MI16x16x1", 90)
    return [head] + [kernel for _ in range(LAYERS) for kernel in layer(rows)] + [tail]


def row(cat, name, tid, ts, dur, pid=10, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def call(ts, dur, key, name="hipLaunchKernel", **more):
    return row("cuda_runtime", name, 10, ts, dur, correlation=key, **more)


def document(events):
    return {"schemaVersion": 1, "record_shapes": 1, "with_stack": 1, "deviceProperties": [
        {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992, "computeMajor": 9, "computeMinor": 4,
         "warpSize": 64, "numSms": 304}], "traceEvents": events}


def launched(kernel, ts, key, tells, parts=1):
    """An operator within its line, with the calls in it."""
    name, shapes, line, launches, _ = kernel
    calls = [call(ts + 3 + 2 * part, 1, key + part, **({"kernel": launches} if tells else {})) for part in range(parts)]
    return [row("python_function", line, 10, ts, 12),
            row("cpu_op", name, 10, ts + 1, 10, **{"External id": key, "Input Dims": shapes,
                                                   "Input type": [BF16 for _ in shapes]}), *calls]


def capture(batches=(16,), tells=True):
    """Each batch size captured once, one behind the other."""
    events, ts, key = [], 1000, 1
    for rows in batches:
        events.append(call(ts, 2, key, "hipStreamBeginCapture"))
        for kernel in kernels(rows):
            ts, key = ts + 20, key + 1
            events += launched(kernel, ts, key, tells)
        events.append(call(ts + 20, 2, key + 1, "hipStreamEndCapture"))
        ts, key = ts + 40, key + 2
    return document(events)


def eager(rows=16):
    """A run without graphs: kernels are linked to their calls, which do not tell what they launch."""
    events, ts, key = [], 1000, 1
    for kernel in kernels(rows):
        events += launched(kernel, ts, key, False)
        events.append(device_row(kernel, ts + 15, key))
        ts, key = ts + 200, key + 1
    return document(events)


def device_row(kernel, ts, key):
    return row("kernel", kernel[3], 7, ts, kernel[4], pid=0, device=0, stream=7, correlation=key)


def replay(rows=16, order=None, steps=STEPS):
    """Steps of an engine that launch the graph; @order: of its kernels on the device."""
    events, ts, key = [], 5000, 70
    ran = kernels(rows)
    ran = [ran[i] for i in order] if order else ran
    for _ in range(steps):
        length = sum(kernel[4] for kernel in ran)
        events += [row("user_annotation", f"step[DECODE bs={rows}]", 10, ts, length + 60),
                   call(ts + 10, 8, key, "hipGraphLaunch")]
        at = ts + 20
        for kernel in ran:
            events.append(device_row(kernel, at, key))
            at += kernel[4]
        ts, key = ts + length + 100, key + 1
    return document(events)


FILES = {"capture.json.gz": capture, "run.json.gz": replay}


def packed(value):
    return gzip.compress(json.dumps(value, indent=0).encode(), mtime=0)


def main():
    if "--check" in sys.argv:
        wrong = [name for name, make in FILES.items()
                 if not (FOLDER / name).exists() or
                 gzip.decompress((FOLDER / name).read_bytes()) != gzip.decompress(packed(make()))]
        print("\n".join(f"{name} differs" for name in wrong) or "as written")
        return 1 if wrong else 0
    FOLDER.mkdir(exist_ok=True)
    for name, make in FILES.items():
        (FOLDER / name).write_bytes(packed(make()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
