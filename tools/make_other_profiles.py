#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes fixtures/others: files of other profilers, each with one planted cause, and healthy twins.

make_other_profiles.py [--check]     --check compares with what is there
Forms are those that the tools write: ONNX Runtime 1.17 (with fences) and 1.32, trtexec of TensorRT 10, PyTorch 2.15. What is
planted, and the finding that has to name it, stands in PLANTED; tests/other_profiles.py asks for it.
"""
import json
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "others"
# The files of a case, the rule that has to stand first, or None: nothing above a remark may be said.
PLANTED = {
    "onnx-fallback": (["onnx_fallback.json"], "onnx-fallback"),
    "onnx-device": (["onnx_device.json"], None),
    "onnx-launched": (["onnx_launched.json"], None),
    "onnx-launches-alone": (["onnx_launches_alone.json"], None),
    "onnx-small-nodes": (["onnx_small_nodes.json"], "onnx-overhead"),
    "onnx-training-graph": (["onnx_training_graph.json"], "onnx-batch-norm"),
    "onnx-one-thread": (["onnx_one_thread.json"], "onnx-one-thread"),
    "onnx-shared-cores": (["onnx_shared_cores.json"], "onnx-shared-cores"),
    "onnx-pool": (["onnx_pool.json"], None),
    "onnx-unfused": (["onnx_unfused.json"], "onnx-unfused"),
    "onnx-fused": (["onnx_fused.json"], None),
    "onnx-bare-activations": (["onnx_bare_activations.json"], "onnx-unoptimized"),
    "onnx-unoptimized": (["onnx_unoptimized.json"], "onnx-unoptimized"),
    "onnx-gates": (["onnx_gates.json"], None),
    "onnx-a-session-each": ([f"onnx_request_{i}.json" for i in range(3)], "onnx-session-per-run"),
    "onnx-layouts": (["onnx_layouts.json"], None),
    "onnx-quantized-in-name": (["onnx_quantized_in_name.json"], "onnx-quantized-in-name"),
    "onnx-quantized": (["onnx_quantized.json"], None),
    "onnx-half-on-processor": (["onnx_half_on_processor.json"], "onnx-inserted-casts"),
    "onnx-loop": (["onnx_loop.json"], "onnx-overhead"),
    "onnx-loop-of-work": (["onnx_loop_of_work.json"], None),
    "trt-enqueue": (["trt_enqueue_times.json"], "trt-enqueue-bound"),
    "trt-reformats": (["trt_reformats_times.json", "trt_reformats_profile.json", "trt_reformats_layers.json"],
                      "trt-reformats"),
    "trt-healthy": (["trt_healthy_times.json", "trt_healthy_profile.json", "trt_healthy_layers.json"], None),
    "trt-cold": (["trt_cold_times.json"], None),
    "trt-hot": (["trt_hot_times.json"], "trt-drift"),
    "log-text": (["log_text.txt"], "log-break-scalar-read"),
    "log-shapes": (["log_shapes.log"], "log-recompiles-shape"),
    "log-values": (["log_values.log"], "log-recompiles-value"),
    "log-called": (["log_called.txt"], "log-break-call"),
    "log-tensor-texts": (["log_tensor_texts.txt"], "log-break-scalar-read"),
    "log-excluded": (["log_excluded.txt"], None),
    "log-healthy": (["log_healthy.log"], None),
}


# ---- ONNX Runtime


class Session:
    """Events as the profiler writes them: all values of args are texts but those that are JSON."""

    def __init__(self, seed, fences=False, launch_us=0, with_kernels=False, cores=(0, 1)):
        self.random, self.events, self.clock, self.fences = random.Random(seed), [], 0, fences
        self.cores = cores  # of the calling thread and of those that help; none help: there is no pool
        self.launch_us, self.with_kernels = launch_us, with_kernels
        self.add("Session", "model_loading_uri", 0, 2100)
        self.add("Session", "session_initialization", 2120, 5200)
        self.clock = 9000

    def add(self, category, name, ts, dur, args=None):
        self.events.append({"cat": category, "pid": 41, "tid": 41, "dur": dur, "ts": ts, "ph": "X", "name": name,
                            "args": args or {}})

    def node(self, name, op, provider, us, slow, shape, helped=True):
        dur = max(1, round(us * slow * self.random.uniform(0.98, 1.02)))
        if self.fences:
            self.add("Node", name + "_fence_before", self.clock, 1, {"op_name": op})
        shapes = shape if shape and isinstance(shape[0], list) else [shape]
        args = {"op_name": op, "provider": provider + "ExecutionProvider", "node_index": str(len(name)),
                "input_type_shape": [{"float": dims} for dims in shapes], "output_size": "4096"}
        if provider == "CPU":
            args["thread_scheduling_stats"] = self.pool(dur, helped) if len(self.cores) > 1 else ""
        self.add("Node", name + "_kernel_time", self.clock, dur, args)
        if provider == "CUDA" and "Memcpy" not in op and not self.launch_us:
            self.add("Kernel", "void " + op.lower() + "_kernel<float>(int)", self.clock + 2, dur, {
                "op_name": op, "stream": "7", "grid_x": "64", "block_x": "128"})
        self.clock += dur + 1

    def pool(self, dur, helped):
        return {"main_thread": {"thread_pool_name": "session-1-intra-op", "thread_id": "1", "block_size": [1],
                                "core": self.cores[0], "Distribution": 0, "DistributionEnqueue": 0, "Run": dur, "Wait": 0,
                                "WaitRevoke": 0},
                "sub_threads": {str(i): {"num_run": 1 if helped else 0, "core": core}
                                for i, core in enumerate(self.cores[1:], 2)}}

    def loop(self, passes, body, slow):
        """A node that others run inside; going round takes 6 us a pass."""
        start = self.clock
        for _ in range(passes):
            self.clock += 6
            for node in body:
                self.node(*node[:4], slow, *node[4:])
        self.add("Node", "/decoder/Loop_kernel_time", start, self.clock - start, {
            "op_name": "Loop", "provider": "CPUExecutionProvider", "node_index": "3", "output_size": "4096",
            "input_type_shape": [{"int64": []}], "thread_scheduling_stats": self.pool(self.clock - start, False)})

    def looped(self, passes, body, slow):
        start = self.clock
        self.clock += 2
        self.loop(passes, body, slow)
        self.clock += 3
        self.add("Session", "SequentialExecutor::Execute", start + 1, self.clock - start - 2)
        self.add("Session", "model_run", start, self.clock - start)
        self.clock += 40

    def launched(self, nodes, slow):
        """A run of nodes that launch and go on; the device computes behind them, and the run waits for it."""
        start, busy = self.clock, self.clock
        self.clock += 20
        for name, op, us in nodes:
            self.node(name, op, "CUDA", self.launch_us, 1, IMAGE)
            busy = max(busy, self.clock) + round(us * slow)
            if self.with_kernels:
                self.add("Kernel", "void " + op.lower() + "_kernel<float>(int)", busy - round(us * slow), round(us * slow),
                         {"op_name": op, "stream": "7", "grid_x": "64", "block_x": "128"})
        self.clock = max(self.clock, busy) + 15
        self.add("Session", "SequentialExecutor::Execute", start + 3, self.clock - start - 4)
        self.add("Session", "model_run", start, self.clock - start)
        self.clock += 40

    def run(self, nodes, gap_us, slow):
        start = self.clock
        self.clock += gap_us
        for node in nodes:
            self.node(*node[:4], slow, *node[4:])
            self.clock += gap_us if node[3] < 20 else 0
        self.add("Session", "SequentialExecutor::Execute", start + 3, self.clock - start - 4)
        self.add("Session", "model_run", start, self.clock - start)
        self.clock += 40

    def text(self):
        lines = []
        for e in sorted(self.events, key=lambda e: e["ts"]):
            args = json.dumps(e["args"], separators=(",", " : ")) if e["args"] else "{}"
            lines.append('{"cat" : "%s","pid" :%d,"tid" :%d,"dur" :%d,"ts" :%d,"ph" : "X","name" :"%s","args" : %s}'
                         % (e["cat"], e["pid"], e["tid"], e["dur"], e["ts"], e["name"], args))
        return "[\n" + ",\n".join(lines) + "\n]\n"


IMAGE, ROWS = [1, 64, 56, 56], [1, 1000]


def onnx(seed, nodes, gap_us=2, runs=12, fences=False, cores=(0, 1)):
    session = Session(seed, fences, cores=cores)
    for run in range(runs):
        session.run(nodes, gap_us, 4 if run == 0 else 1)
    return session.text()


def onnx_launched(seed, with_kernels):
    session = Session(seed, launch_us=9, with_kernels=with_kernels)
    for run in range(12):
        session.launched([(f"/layer{i}/conv", "Conv", 180) for i in range(25)], 3 if run == 0 else 1)
    return session.text()


def onnx_looped(seed, passes, body):
    session = Session(seed)
    for run in range(4):
        session.looped(passes, body, 3 if run == 0 else 1)
    return session.text()


TOKENS = [1, 128, 256]
NORM = ("ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add")
GELU = ("Div", "Erf", "Add", "Mul", "Mul")


def block(norm, gelu, layers=1):
    """Layers of a transformer: what stands for a layer normalization and for a GELU, and products."""
    nodes = []
    for i in range(layers):
        for part in (*norm, "MatMul", "Softmax", "MatMul", *norm, "MatMul", *gelu, "MatMul"):
            us = 700 if part == "MatMul" else 60 if part in ("Softmax", "LayerNormalization", "Gelu") else 25
            nodes.append((f"/layers.{i}/{part}_{len(nodes)}", part, "CPU", us, TOKENS))
    return nodes


def quantized(op, us, every):
    """Products, each behind values that are quantized and back where @every of them is."""
    nodes = []
    for i in range(8):
        if i % every == 0:
            nodes += [(f"/q{i}", "QuantizeLinear", "CPU", 22, TOKENS), (f"/dq{i}", "DequantizeLinear", "CPU", 18, TOKENS)]
        nodes.append((f"/layers.{i}/fc", op, "CPU", us, TOKENS))
    return nodes


def half_on_processor():
    nodes = []
    for i in range(6):
        nodes += [(f"InsertedPrecisionFreeCast_x{i}", "Cast", "CPU", 30, TOKENS), (f"/fc{i}", "MatMul", "CPU", 600, TOKENS),
                  (f"InsertedPrecisionFreeCast_y{i}", "Cast", "CPU", 30, TOKENS)]
    return nodes


def activations(is_squeezed, rows):
    """Blocks of a convolution with a SiLU, or with a gate for each channel, and of a product with its bias."""
    gate, nodes = [1, 64, 1, 1] if is_squeezed else IMAGE, []
    for i in range(3):
        nodes += [(f"/b{i}/Conv", "Conv", "CPU", 900, [IMAGE, [64, 64, 3, 3]]),
                  (f"/b{i}/Sigmoid", "Sigmoid", "CPU", 60, gate), (f"/b{i}/Mul", "Mul", "CPU", 40, [IMAGE, gate]),
                  (f"/b{i}/MatMul", "MatMul", "CPU", 500, [rows, [64, 64]]), (f"/b{i}/Add", "Add", "CPU", 30, [[64], rows])]
    return nodes + [("Identity_0", "Identity", "CPU", 3, [64])]


def processor_files():
    """What a session on the processor shows of its threads, of its graph and of its types."""
    convolutions = [(f"/conv{i}", "Conv", "CPU", 900, IMAGE) for i in range(8)]
    bare = [(f"/{op}{i}", op, "CPU", us, IMAGE) for i in range(5) for op, us in (("Conv", 900), ("Relu", 5))]
    layouts = [(f"{op}{i}", op, "CPU", us, IMAGE) for i in range(3)
               for op, us in (("ReorderInput", 70), ("Conv", 500), ("ReorderOutput", 70), ("Resize", 90))]
    tiny = [("/step/MatMul", "MatMul", "CPU", 5, [1, 16]), ("/step/Tanh", "Tanh", "CPU", 3, [1, 16], False)]
    large = [("/step/MatMul", "MatMul", "CPU", 900, [64, 2048]), ("/step/Tanh", "Tanh", "CPU", 80, [64, 2048])]
    return {"onnx_one_thread.json": onnx(11, convolutions, cores=(0,)),
            "onnx_pool.json": onnx(12, convolutions, runs=6, cores=(3, 0, 2, 1)),
            "onnx_shared_cores.json": onnx(13, convolutions, runs=16, cores=(0, 1, 0, 1, 0, 1)),
            "onnx_unfused.json": onnx(14, block(NORM, GELU), runs=5),
            "onnx_fused.json": onnx(15, block(("LayerNormalization",), ("Gelu",)), runs=5),
            "onnx_unoptimized.json": onnx(24, activations(False, [128, 64]), runs=5),
            "onnx_gates.json": onnx(25, activations(True, [1, 128, 64]), runs=5),
            **{f"onnx_request_{i}.json": onnx(26 + i, [("/conv", "Conv", "CPU", 300, IMAGE)], runs=1) for i in range(3)},
            "onnx_bare_activations.json": onnx(22, bare, runs=5), "onnx_layouts.json": onnx(23, layouts, runs=5),
            "onnx_quantized_in_name.json": onnx(16, quantized("MatMul", 600, 1)),
            "onnx_quantized.json": onnx(17, quantized("QLinearMatMul", 150, 8)),
            "onnx_half_on_processor.json": onnx(18, half_on_processor()),
            "onnx_loop.json": onnx_looped(19, 40, tiny), "onnx_loop_of_work.json": onnx_looped(20, 8, large)}


def onnx_files():
    device = [("conv1", "Conv", "CUDA", 300, IMAGE), ("conv2", "Conv", "CUDA", 260, IMAGE),
              ("fc", "Gemm", "CUDA", 90, ROWS)]
    back = device[:2] + [("/head/Memcpy", "MemcpyToHost", "CUDA", 30, ROWS),
                         ("/head/nms", "NonMaxSuppression", "CPU", 420, ROWS),
                         ("/head/Memcpy_1", "MemcpyFromHost", "CUDA", 30, ROWS)] + device[2:]
    small = [(f"/layer{i}/add", "Add", "CPU", 4, [4], False) for i in range(40)]
    graph = [("conv1", "Conv", "CPU", 400, IMAGE), ("bn1", "BatchNormalization", "CPU", 70, IMAGE),
             ("relu", "Relu", "CPU", 30, IMAGE)]
    return {"onnx_fallback.json": onnx(1, back), "onnx_device.json": onnx(2, device, fences=True),
            "onnx_small_nodes.json": onnx(3, small, gap_us=5, runs=6), "onnx_training_graph.json": onnx(4, graph),
            "onnx_launched.json": onnx_launched(9, True), "onnx_launches_alone.json": onnx_launched(10, False)}


# ---- TensorRT


def number(value):
    return f"{value:.6g}"


def trt_times(seed, compute_ms, enqueue_ms, slower=0.0, queries=200, first=1):
    rng, lines, host, device = random.Random(seed), [], 1.0, 1.0
    for i in range(queries):
        compute = compute_ms * rng.uniform(0.997, 1.003) * (1 + slower * i / queries) * (1 if i else first)
        enqueue = enqueue_ms * rng.uniform(0.98, 1.02)
        start = max(device + 0.004, host + enqueue if enqueue > compute * 0.5 else 0)
        fields = [("startEnqMs", host), ("endEnqMs", host + enqueue), ("startH2dMs", start - 0.02), ("endH2dMs", start),
                  ("startComputeMs", start), ("endComputeMs", start + compute), ("startD2hMs", start + compute),
                  ("endD2hMs", start + compute + 0.01), ("h2dMs", 0.02), ("computeMs", compute), ("d2hMs", 0.01),
                  ("latencyMs", compute + 0.03)]
        lines.append("  { " + ", ".join(f'"{k}" : {number(v)}' for k, v in fields) + " }")
        device, host = start + compute, max(host + enqueue, start)
    return "[\n" + "\n, ".join(lines) + "\n]\n"


def trt_layers(reformats):
    layers = [("Conv_0 + Relu_1", "CaskConvolution", "FP16", 0.31), ("MaxPool_2", "CaskPooling", "FP16", 0.06),
              ("Conv_3 + Relu_4", "CaskConvolution", "FP16", 0.28), ("Gemm_5", "CaskGemmConvolution", "FP32", 0.05)]
    for i in range(reformats):
        layers.insert(i * 2, (f"Reformatting CopyNode for Input Tensor {i} to Conv_0 + Relu_1", "Reformat", "FP16", 0.06))
    total = sum(layer[3] for layer in layers)
    profile = ['  { "count" : 100 }'] + [
        f'  {{ "name" : "{name}", "timeMs" : {number(ms * 100)}, "averageMs" : {number(ms)}, "medianMs" : {number(ms)}, '
        f'"percentage" : {number(100 * ms / total)} }}' for name, _, _, ms in layers]
    described = []
    for name, kind, precision, _ in layers:
        layer = {"Name": name, "LayerType": kind, "Inputs": [],
                 "Outputs": [{"Name": name + "_out", "Dimensions": [1, 64, 56, 56],
                              "Format/Datatype": f"Row major linear {precision} format"}]}
        if "Conv" in kind:
            layer.update({"Weights": {"Type": "Half" if precision == "FP16" else "Float", "Count": 9408},
                          "TacticName": "sm80_xmma_fprop_implicit_gemm_f16f16"})
        described.append(layer)
    return ("[\n" + "\n, ".join(profile) + "\n]\n",
            json.dumps({"Layers": described, "Bindings": ["input", "output"]}, indent=1) + "\n")


def trt_files():
    planted, planted_layers = trt_layers(3)
    healthy, healthy_layers = trt_layers(0)
    return {"trt_cold_times.json": trt_times(21, 0.8, 0.02, queries=60, first=12),
            "trt_enqueue_times.json": trt_times(5, 0.4, 0.62), "trt_hot_times.json": trt_times(6, 0.8, 0.02, slower=0.3),
            "trt_reformats_times.json": trt_times(7, 0.85, 0.02), "trt_reformats_profile.json": planted,
            "trt_reformats_layers.json": planted_layers, "trt_healthy_times.json": trt_times(8, 0.7, 0.02),
            "trt_healthy_profile.json": healthy, "trt_healthy_layers.json": healthy_layers}


# ---- torch.compile


def logged(second, source, message):
    return f"V1123 10:09:{second:02d}.548000 4711 torch/{source}] {message}"


def break_text(line, reason, explanation):
    return [f"Graph break in user code at train.py:{line}",
            "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):", "",
            reason, f"  Explanation: {explanation}", "  Hint: Consider another way.", ""]


ITEM = ("Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.")
PRINT = ("Failed to trace builtin operator", "Dynamo does not know how to trace builtin operator `print` with arguments")


STAT = ("Attempted to call function marked as skipped",
        "Dynamo does not know how to trace the builtin `posix.stat.` This function is either a Python builtin (e.g. "
        "_warnings.warn) or a third-party C/C++ Python extension (perhaps created with pybind).")
EXCLUDED = ("Skip calling `torch.compiler.disable()`d function",
            "Skip calling function `<function log_loss at 0x7f00>` since it was wrapped with `torch.compiler.disable`")
TEXT = ("repr() on tensor", "Tensor repr requires actual runtime values which are not available during tracing.")
EQUAL = ("Data dependent operator",
         "Operator `aten.equal.default` has a non-Tensor output whose value is dependent on the data of Tensor inputs.")
COPY = ("Attempted to copy.deepcopy a tensor", "Dynamo does not support copy.deepcopy() on tensors.")


def log_breaks(breaks):
    """Of the second break at a line PyTorch says so, and leaves its stack out."""
    lines, met = ["Epoch 1, loss 0.7"], set()
    for second, (line, words) in enumerate(breaks):
        for text in break_text(line, *words):
            if line in met:
                text = text.replace("Graph break in", "Graph break (user stack suppressed due to duplicate graph break) in")
            message = f"[{second}/0] [__graph_breaks] {text}".rstrip()
            lines.append(logged(second, "_dynamo/symbolic_convert.py:5577", message))
        lines.append("a line of the program")
        met.add(line)
    return lines


def log_text():
    lines = log_breaks(((31, ITEM), (40, PRINT), (31, ITEM)))
    for text in ("Recompiling function step in train.py:28", "    triggered by the following guard failure(s):",
                 "    - 0/0: tensor 'x' size mismatch at index 0. expected 32, actual 7"):
        lines.append(logged(9, "_dynamo/guards.py:6374", "[0/1] [__recompiles] " + text))
    return "\n".join(lines) + "\n"


def log_structured(reasons, failed=False):
    lines = [logged(0, "_logging/structured.py:28", '{"str": ["train.py", 0]}')]

    def metrics(number, seconds, fail=None):
        body = {"compile_id": f"0/{number}", "co_name": None if fail else "step",
                "co_filename": None if fail else "train.py", "co_firstlineno": None if fail else 28,
                "entire_frame_compile_time_s": seconds,
                "fail_type": "Unsupported" if fail else None, "fail_reason": fail}
        lines.append(logged(number, "_dynamo/utils.py:2132", json.dumps({"compilation_metrics": body, "frame_id": 0})))

    metrics(0, 3.5)
    for number, reason in enumerate(reasons, 1):
        lines.append(logged(number, "_dynamo/guards.py:6378", '{"artifact": {"name": "recompile_reasons", "encoding": '
                            f'"json"}}, "frame_id": 0, "frame_compile_id": {number}, "has_payload": "c8a2"}}'))
        lines.extend("\t" + text for text in (["[", f'"0/{number - 1}: {reason}",', f'"0/0: {reasons[0]}"', "]"]
                                              if number > 1 else [f"0/0: {reason}"]))
        lines.append(logged(number, "_dynamo/convert_frame.py:309", '{"dynamo_start": {"stack": [{"line": 28, "name": '
                            f'"step", "filename": 0}}]}}, "frame_id": 0, "frame_compile_id": {number}}}'))
        metrics(number, 1.25)
    if failed:
        metrics(len(reasons) + 1, 0.002, "Dynamo recompile limit exceeded\n  Explanation: too many times")
    return "\n".join(lines) + "\n"


def log_files():
    shapes = [f"tensor 'x' size mismatch at index 0. expected {n}, actual {n + 1}" for n in range(2, 9)]
    values = [f"step_number == {n}" for n in range(4)]
    return {"log_text.txt": log_text(), "log_shapes.log": log_structured(shapes, failed=True),
            "log_called.txt": "\n".join(log_breaks([(12, STAT)] * 3)) + "\n",
            "log_tensor_texts.txt": "\n".join(log_breaks([(12, TEXT)] * 3 + [(14, EQUAL), (15, COPY)])) + "\n",
            "log_excluded.txt": "\n".join(log_breaks([(12, EXCLUDED)] * 2)) + "\n",
            "log_values.log": log_structured(values), "log_healthy.log": log_structured([])}


def main():
    files = {**onnx_files(), **processor_files(), **trt_files(), **log_files()}
    if "--check" in sys.argv[1:]:
        differ = [name for name, text in files.items() if (FOLDER / name).read_text(encoding="utf-8") != text]
        print("\n".join(f"{name} differs" for name in differ))
        return 1 if differ else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
