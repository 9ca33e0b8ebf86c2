# SPDX-License-Identifier: MIT
"""Small training and inference jobs on a modeled device: every tensor comes from the model of the caching allocator, every
operator takes time on a simulated host and GPU. One run writes a snapshot and, on the same clock, a trace.

What a job allocates, in which order and for how long, is what eager PyTorch would: outputs that backward needs stay until
their node has run, gradients until zero_grad, optimizer state for good. Stacks are those of the frames that would be there.
"""
import functools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from make_fixtures import (A100, BASE_TIME_NS, GEMM, H100, NVIDIA_DEVICE, NS_PER_US, TRACE_NAME, V100, Sim,  # noqa: E402
                           elementwise, head_2025, kineto_document)
from scenarios.allocator_model import DEFAULT_POOL, MIB, Allocator, frames, snapshot_document  # noqa: E402

A100_BYTES, H100_BYTES, V100_BYTES, RTX_BYTES = 42_297_786_368, 84_942_979_072, 16_945_512_448, 25_393_692_672
RTX = NVIDIA_DEVICE % (0, "NVIDIA GeForce RTX 4090", RTX_BYTES, 8, 128)
DEVICE_TEXT = {A100_BYTES: A100, H100_BYTES: H100, V100_BYTES: V100, RTX_BYTES: RTX}
CONTEXT_BYTES = 540 * MIB                       # the CUDA context and the libraries' code
BYTES_PER_US, FLOPS_PER_US = 1_100_000, 90_000_000
MALLOC_US, MALLOC_US_PER_MIB, FREE_US = 90.0, 0.35, 110.0

# ------------------------------------------------------------------------------------------------ stacks

TORCH = "/venv/lib/python3.12/site-packages/torch/"
MALLOC = ("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)")
CALLS = ((TORCH + "nn/modules/module.py", 1784, "_call_impl"), (TORCH + "nn/modules/module.py", 1773, "_wrapped_call_impl"))
MAIN = (("/srv/job/train.py", 171, "main"), ("/srv/job/train.py", 180, "<module>"))
TRAIN_STEP = (("/srv/job/train.py", 88, "train_step"),) + MAIN
EVALUATE = (("/srv/job/train.py", 121, "evaluate"), ("/srv/job/train.py", 176, "main"),
            ("/srv/job/train.py", 180, "<module>"))
BUILD = ((TORCH + "nn/modules/module.py", 1329, "convert"), (TORCH + "nn/modules/module.py", 942, "_apply"),
         (TORCH + "nn/modules/module.py", 1343, "to"), ("/srv/job/train.py", 150, "main"),
         ("/srv/job/train.py", 180, "<module>"))
MODULE_FRAMES = {"addmm": (TORCH + "nn/modules/linear.py", 125, "forward"),
                 "native_layer_norm": (TORCH + "nn/modules/normalization.py", 217, "forward"),
                 "gelu": (TORCH + "nn/modules/activation.py", 816, "forward"),
                 "embedding": (TORCH + "nn/modules/sparse.py", 192, "forward")}
NODES = {"addmm": "AddmmBackward0", "native_layer_norm": "NativeLayerNormBackward0", "gelu": "GeluBackward0",
         "embedding": "EmbeddingBackward0", "_scaled_dot_product_flash_attention": "ScaledDotProductFlashAttentionBackward0",
         "add": "AddBackward0", "_log_softmax": "LogSoftmaxBackward0", "nll_loss_forward": "NllLossBackward0"}
FUNCTION = "void at::native::(anonymous namespace)::%s"
KERNELS = {"native_layer_norm": FUNCTION % "vectorized_layer_norm_kernel<c10::BFloat16, float>",
           "native_layer_norm_backward": FUNCTION % "layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>",
           "_scaled_dot_product_flash_attention": "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, "
           "128, 128, 4> >",
           "_scaled_dot_product_flash_attention_backward": "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"
                                                           "<Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4> >",
           "_log_softmax": FUNCTION % "cunn_SoftMaxForward<8, float, float, float, LogSoftMaxForwardEpilogue>",
           "_log_softmax_backward": FUNCTION % "cunn_SoftMaxBackward<8, float, float, float, LogSoftMaxBackwardEpilogue>",
           "nll_loss_forward": FUNCTION % "nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>",
           "embedding": FUNCTION % "indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"}
LOSS = ((TORCH + "nn/functional.py", 3462, "cross_entropy"),)
ZERO_GRAD = ((TORCH + "optim/optimizer.py", 973, "zero_grad"),) + TRAIN_STEP
STATE_INIT = ((TORCH + "optim/adamw.py", 178, "_init_group"), (TORCH + "optim/adamw.py", 232, "step"),
              (TORCH + "optim/optimizer.py", 493, "wrapper"), ("/srv/job/train.py", 93, "train_step")) + MAIN
EMPTY_CACHE = ((TORCH + "cuda/memory.py", 222, "empty_cache"), ("/srv/job/train.py", 96, "train_step")) + MAIN


@functools.lru_cache(None)
def stack(operator, *calls):
    return frames(MALLOC, ("??", 0, "at::_ops::%s::call" % operator), *calls)


@functools.lru_cache(None)
def released(*calls):
    return frames(("??", 0, "c10::StorageImpl::release_resources()"), *calls)


@functools.lru_cache(None)
def node_stack(node, operator=None):
    """autograd's thread: no Python below the engine."""
    engine = (("??", 0, "torch::autograd::generated::%s::apply(std::vector<at::Tensor>&&)" % node),
              ("??", 0, "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)"),
              ("??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, "
                        "torch::autograd::Node*, torch::autograd::InputBuffer&)"),
              ("??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"))
    return stack(operator, *engine) if operator else released(*engine)


def in_module(operator, line, outer):
    """The frames of a module's forward, called from model.py, called from the loop."""
    here = ((MODULE_FRAMES[operator],) + CALLS) if operator in MODULE_FRAMES else ()
    return here + (("/srv/job/model.py", line, "forward"),) + CALLS + outer


# ------------------------------------------------------------------------------------------------ the job

class HostClock:
    """The allocator's clock is that of the thread which allocates, a little behind the profiler's."""

    BEHIND_NS = 21_400

    def __init__(self):
        self.thread = None

    def tick(self):
        self.thread.now_ns += 300
        return (BASE_TIME_NS + self.thread.now_ns - self.BEHIND_NS) // NS_PER_US

    def now_ns(self):
        return self.thread.now_ns


class Job:
    """One process on one device. capacity_bytes is what the device has, others_bytes what of it is not the allocator's.
    python_only: frames of C++ were not recorded; bare: no frames and no annotations, as old versions write it."""

    def __init__(self, seed, capacity_bytes=A100_BYTES, others_bytes=CONTEXT_BYTES, settings=None, python_only=False,
                 bare=False,
                 history_from_step=0, **rules):
        self.sim = Sim(seed, shapes=False)
        self.sim.process()
        self.main = self.sim.thread(4711, "python3")
        self.autograd = self.sim.thread(4802, "pt_autograd_0")
        self.compute, self.side = self.sim.gpu(0, (7, 20))
        self.clock = HostClock()
        self.clock.thread = self.main
        self.allocator = Allocator(self.clock, capacity_bytes=capacity_bytes, others_bytes=others_bytes, newest=True,
                                   **rules)
        self.allocator.on_driver = self.call_driver
        self.settings, self.profiled, self.annotations = settings or {}, False, []
        self.python_only, self.bare, self.history_from_step, self.trimmed = python_only, bare, history_from_step, {}
        self.pool, self.pool_stream, self.steps = DEFAULT_POOL, 0, 0
        self.failed, self.live_before_step, self.flops_per_us = False, None, FLOPS_PER_US
        self.allocator.start_recording()

    def start_profile(self):
        """What came before is not in the trace."""
        self.profiled = True
        self.sim.host_rows.clear()
        self.sim.device_rows.clear()

    def restart_recording(self):
        """As if the history began here."""
        self.allocator.history.clear()
        self.allocator.start_recording()
        self.annotations.clear()

    # memory

    def call_driver(self, call, nbytes):
        """What the host pays for memory of the driver. cudaFree waits for the device."""
        thread = self.clock.thread
        if call == "cudaMalloc":
            thread.call(call, MALLOC_US + MALLOC_US_PER_MIB * nbytes / MIB)
        elif call == "cudaFree":
            row = thread.call(call, FREE_US)
            late = max(self.compute.free_at_ns, self.side.free_at_ns) - row["ts"]
            if late > 0:
                row["dur"] += late
                thread.now_ns += late

    def obtain(self, nbytes, frames_of_it, thread=None, stream=None):
        self.clock.thread = thread or self.main
        address = self.allocator.alloc(nbytes, self.trim(frames_of_it), self.pool,
                                       self.pool_stream if stream is None else stream)
        self.instant(self.clock.thread, address, nbytes)
        return address

    def release(self, address, frames_of_it, thread=None):
        self.clock.thread = thread or self.main
        nbytes = self.allocator.live[address]
        self.allocator.free(address, self.trim(frames_of_it))
        self.instant(self.clock.thread, address, -nbytes)

    def trim(self, frames_of_it):
        if self.bare:
            return []
        if not self.python_only:
            return frames_of_it
        key = id(frames_of_it)                                  # stacks are made once and kept
        if key not in self.trimmed:
            self.trimmed[key] = [f for f in frames_of_it if f["filename"] != "??"]
        return self.trimmed[key]

    def capture(self, pool):
        """A CUDA graph is captured on a stream and into a pool of its own."""
        self.pool, self.pool_stream, self.allocator.capturing = pool, 20, True

    def end_capture(self):
        self.pool, self.pool_stream, self.allocator.capturing = DEFAULT_POOL, 0, False

    def fail(self, unwound):
        """The exception ends what is open; unwound: and drops the step's tensors before anyone looks."""
        self.failed = True
        for row in self.sim.host_rows:
            if row.get("dur") == 0:
                row["dur"] = max(0, self.main.now_ns - row["ts"]) + 2000
        if unwound and self.live_before_step is not None:
            for address in sorted(set(self.allocator.live) - self.live_before_step):
                self.release(address, released(*TRAIN_STEP[1:]))

    def instant(self, thread, address, nbytes):
        if not self.profiled:
            return
        sim, allocator = self.sim, self.allocator
        allocated = sum(s["allocated_size"] for s in allocator.segments)
        rounded = allocator.rounded(abs(nbytes))
        args = {"Total Reserved": allocator.reserved_bytes, "Total Allocated": allocated,
                "Bytes": rounded if nbytes > 0 else -rounded, "Addr": address, "Device Id": 0, "Device Type": 1,
                "Ev Idx": sim.ev_idx}
        sim.ev_idx += 1
        sim.host_rows.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": sim.pid,
                              "tid": thread.tid, "ts": thread.now_ns, "args": args})

    # work

    def operator(self, name, sizes, calls, flops=0, thread=None, frames_of_it=None):
        """One operator: its outputs, and a kernel that takes as long as they (or the arithmetic) take."""
        thread = thread or self.main
        with thread.op("aten::" + name, enter_us=5.0, leave_us=1.5):
            outputs = [self.obtain(n, frames_of_it or stack(name, *calls), thread) for n in sizes]
            us = max(2.4, 2.2 * sum(sizes) / BYTES_PER_US, flops / self.flops_per_us)
            thread.kernel(self.compute, GEMM if flops else KERNELS.get(name) or elementwise("%s_functor" % name), us)
        return outputs

    def mark(self, name, stage):
        self.annotations.append({"name": name, "stage": stage, "device": 0,
                                 "time_us": (BASE_TIME_NS + self.main.now_ns - HostClock.BEHIND_NS) // NS_PER_US})

    def span(self, name, cat="user_annotation"):
        return Range(self, name, cat)

    def step(self):
        """One pass of the loop; with the profiler on it is a ProfilerStep."""
        self.steps += 1
        if self.steps == self.history_from_step:
            self.restart_recording()
        self.live_before_step = set(self.allocator.live)
        return self.span("ProfilerStep#%d" % (self.steps + 9)) if self.profiled else Range(self, None, None)

    def empty_cache(self):
        self.clock.thread = self.main
        self.allocator.release_cached(self.trim(released(*EMPTY_CACHE)))

    # files

    def window_ns(self):
        rows = [r for r in self.sim.host_rows + self.sim.device_rows if "dur" in r]
        return max(r["ts"] + r["dur"] for r in rows) - min(r["ts"] for r in rows)

    def snapshot(self):
        self.clock.thread = self.main
        self.allocator.snapshot()
        annotations = [] if self.bare else self.annotations
        return snapshot_document([self.allocator], annotations, graph_capture_record_stream_reuse=False, **self.settings)

    def trace(self):
        rows = self.sim.finish()
        device = DEVICE_TEXT[self.allocator.capacity_bytes]
        return kineto_document(rows, head_2025([device], ["profile_memory"]), TRACE_NAME)


class Range:
    """record_function: a row of the trace, an annotation of the history."""

    def __init__(self, job, name, cat):
        self.job, self.name, self.cat, self.row = job, name, cat, None

    def __enter__(self):
        if not self.name:
            return self
        self.job.mark(self.name, "START")
        self.row = self.job.main.span(self.name, self.cat, 6.0, 2.0)
        self.row.__enter__()
        return self

    def __exit__(self, *failure):
        if self.name:
            self.row.__exit__(None, None, None)
            self.job.mark(self.name, "END")
        return False


# ------------------------------------------------------------------------------------------------ a transformer

# operator, line of model.py, output in widths, kept for backward, weight in widths squared
LAYER = (("native_layer_norm", 61, 1, True, 0), ("addmm", 62, 3, True, 3),
         ("_scaled_dot_product_flash_attention", 64, 1, True, 0),
         ("addmm", 65, 1, False, 1), ("add", 66, 1, True, 0), ("native_layer_norm", 68, 1, True, 0),
         ("addmm", 69, 4, True, 4),
         ("gelu", 70, 4, True, 0), ("addmm", 71, 1, False, 4), ("add", 72, 1, True, 0))


class Node:
    """One node of the graph: what it saved, and what its backward makes."""

    def __init__(self, operator, saved, input_bytes, weight=None, flops=0):
        self.operator, self.saved, self.input_bytes, self.weight, self.flops = operator, saved, input_bytes, weight, flops


class Transformer:
    """Its weights, gradients and optimizer state; element_bytes is 4 for fp32 and 2 for bf16."""

    def __init__(self, job, layers=3, width=1024, vocabulary=16000, element_bytes=4, trained=True, state_bytes_per_weight=8):
        self.job, self.layers, self.width = job, layers, width
        self.vocabulary, self.element_bytes = vocabulary, element_bytes
        self.gradients, self.states, self.state_bytes_per_weight = {}, [], state_bytes_per_weight
        job.flops_per_us = FLOPS_PER_US * 2 // element_bytes
        self.weights = {"embedding": vocabulary * width}
        for layer in range(layers):
            self.weights.update({"%d.%d" % (layer, i): op[4] * width * width for i, op in enumerate(LAYER) if op[4]})
        if trained:
            self.weights["head"] = vocabulary * width
        self.addresses = [job.obtain(n * element_bytes, stack("_to_copy", *BUILD)) for n in self.weights.values()]
        self.workspace = job.obtain(8_519_680, stack("addmm", ("??", 0, "at::cuda::getCurrentCUDABlasHandle()"), *MAIN))

    def weight_bytes(self):
        return sum(self.weights.values()) * self.element_bytes

    # forward

    def forward(self, tokens, grad=True, outer=TRAIN_STEP, checkpoint=False):
        """Runs the layers. With grad it returns the nodes of the graph, without the last output alone."""
        job, unit = self.job, tokens * self.width * self.element_bytes
        current, = job.operator("embedding", [unit], in_module("embedding", 55, outer))
        nodes, residual = [Node("embedding", [current], 0, "embedding")], current
        for layer in range(self.layers):
            first = len(nodes)
            for index, (operator, line, widths, kept, weight) in enumerate(LAYER):
                current, residual = self.one(nodes,
                                             (operator, line, widths, kept, "%d.%d" % (layer, index) if weight else None),
                                             (current, residual), tokens, grad, outer)
            if checkpoint:
                inner = [a for node in nodes[first:-1] for a in node.saved]
                for address in inner:
                    job.release(address, released(*in_module("add", 73, outer)))
                nodes[first:] = [Node("checkpoint", nodes[-1].saved, unit, layer)]
        return nodes if grad else current

    def one(self, nodes, what, inputs, tokens, grad, outer):
        operator, line, widths, kept, weight = what
        (current, residual), job, unit = inputs, self.job, tokens * self.width * self.element_bytes
        calls = in_module(operator, line, outer)
        flops = 2 * tokens * self.weights[weight] if weight else 0
        output, = job.operator(operator, [unit * widths], calls, flops)
        input_bytes = job.allocator.live[current]
        saved = [output] if kept else []
        if operator == "native_layer_norm":
            saved += [job.obtain(tokens * 4, stack(operator, *calls)) for _ in range(2)]
        nodes.append(Node(operator, saved, input_bytes, weight, flops))
        if grad and operator == "add":
            job.release(current, released(*calls))              # the projection's output: no node needs it
        elif not grad:
            dead = {current, residual} if operator == "add" else {current} - {residual}
            for address in sorted(dead) + saved[1:]:
                job.release(address, released(*calls))
        return output, output if operator == "add" else residual

    def loss(self, nodes, tokens, outer=TRAIN_STEP, chunks=1):
        """Logits and cross entropy; in chunks each part is made, used and dropped by itself."""
        job, nbytes = self.job, tokens * self.vocabulary * self.element_bytes // chunks
        flops = 2 * tokens * self.weights["head"]
        logits, = job.operator("addmm", [nbytes], in_module("addmm", 77, outer), flops)
        logs, = job.operator("_log_softmax", [nbytes], LOSS + (("/srv/job/train.py", 89, "train_step"),) + outer[1:])
        scalar, = job.operator("nll_loss_forward", [4], LOSS + (("/srv/job/train.py", 89, "train_step"),) + outer[1:])
        job.release(logits, released(*outer))
        unit = tokens * self.width * self.element_bytes
        return nodes + [Node("addmm", [], unit, "head", flops), Node("_log_softmax", [logs], nbytes),
                        Node("nll_loss_forward", [scalar], nbytes)]

    def drop(self, nodes, outer=TRAIN_STEP):
        """The graph dies without a backward."""
        for node in nodes:
            for address in node.saved:
                self.job.release(address, released(*outer))

    # backward and optimizer

    def backward(self, nodes, retain=False):
        """Gradients flow back; saved tensors go with their node unless the graph is retained."""
        job, gradient = self.job, None
        job.autograd.now_ns = max(job.autograd.now_ns, job.main.now_ns + 9000)
        for node in reversed(nodes):
            gradient = self.backward_of(node, gradient, retain)
        if gradient is not None:
            job.release(gradient, node_stack("EmbeddingBackward0"), job.autograd)
        job.main.now_ns = max(job.main.now_ns, job.autograd.now_ns + 12000)

    def recompute(self, layer, unit):
        nodes, current = [], None
        for index, (operator, line, widths, kept, weight) in enumerate(LAYER):
            calls = (("/srv/job/model.py", line, "forward"), (TORCH + "utils/checkpoint.py", 1130, "unpack_hook"))
            name = "%d.%d" % (layer, index) if weight else None
            flops = 2 * unit * self.weights[name] // (self.width * self.element_bytes) if name else 0
            output, = self.job.operator(operator, [unit * widths], calls, flops, self.job.autograd)
            nodes.append(Node(operator, [output], unit, name, flops))
        return nodes

    def backward_of(self, node, gradient, retain):
        job = self.job
        if node.operator == "checkpoint":
            inner = self.recompute(node.weight, node.input_bytes)
            for part in reversed(inner):
                gradient = self.backward_of(part, gradient, False)
            job.release(node.saved[0], node_stack("AddBackward0"), job.autograd)
            return gradient
        name = NODES[node.operator]
        with job.autograd.span("autograd::engine::evaluate_function: " + name, enter_us=3.0):
            made = gradient
            if node.operator != "add" and node.input_bytes:
                made, = job.operator("mm" if node.weight else node.operator + "_backward", [node.input_bytes], (),
                                     node.flops,
                                     job.autograd, node_stack(name, "mm" if node.weight else node.operator + "_backward"))
            if node.weight:
                self.weight_gradient(node, name)
            if gradient is not None and made != gradient:
                job.release(gradient, node_stack(name), job.autograd)
            if not retain:
                for address in node.saved:
                    job.release(address, node_stack(name), job.autograd)
        return made

    def weight_gradient(self, node, name):
        job, nbytes = self.job, self.weights[node.weight] * self.element_bytes
        fresh, = job.operator("mm", [nbytes], (), node.flops, job.autograd, node_stack(name, "mm"))
        if node.weight in self.gradients:                       # added to what is there
            job.release(fresh, node_stack("AccumulateGrad"), job.autograd)
        else:
            self.gradients[node.weight] = fresh

    def optimizer_step(self):
        job = self.job
        with job.span("Optimizer.step#AdamW.step"):
            if not self.states:
                for count in self.weights.values():
                    half = count * self.state_bytes_per_weight // 2
                    self.states += [job.obtain(half, stack("zeros_like", *STATE_INIT)) for _ in range(2)]
            with job.main.op("aten::_fused_adamw_", enter_us=14.0):
                job.main.kernel(job.compute, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel",
                                max(4.0, 4 * self.weight_bytes() / BYTES_PER_US))

    def zero_grad(self, set_to_none=True):
        job = self.job
        with job.span("Optimizer.zero_grad#AdamW.zero_grad"):
            if set_to_none:
                for address in self.gradients.values():
                    job.release(address, released(*ZERO_GRAD))
                self.gradients.clear()
            else:
                with job.main.op("aten::_foreach_zero_", enter_us=9.0):
                    job.main.kernel(job.compute, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel",
                                    max(4.0, self.weight_bytes() / BYTES_PER_US))

    def train_step(self, tokens, set_to_none=True, checkpoint=False, chunks=1, after_forward=None, at_end=None):
        with self.job.step():
            batch = self.job.obtain(tokens * 16, stack("_to_copy", ("/srv/job/train.py", 85, "train_step"), *MAIN))
            nodes = self.loss(self.forward(tokens, checkpoint=checkpoint), tokens, chunks=chunks)
            if after_forward:
                after_forward()
            self.backward(nodes)
            self.optimizer_step()
            self.zero_grad(set_to_none)
            self.job.release(batch, released(*TRAIN_STEP))
            if at_end:
                at_end()
