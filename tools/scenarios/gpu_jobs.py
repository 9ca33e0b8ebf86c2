# SPDX-License-Identifier: MIT
"""The jobs that the scenarios run on the modeled GPU: each does what its settings say, and a scenario changes one of them.

Training is a small transformer under PyTorch's eager mode: DataLoader, copy of the batch, forward, loss, backward on the
autograd thread, AdamW. Sizes are those of real models cut to few layers, so that kernels take from some to some hundred
microseconds.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gpu_model import AMPERE, HOPPER, Kernel, Run  # noqa: E402

LOADER = "enumerate(DataLoader)#_%sDataLoaderIter.__next__"
LAYER_NORM = ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
              "(int, float, c10::BFloat16 const*)")
REDUCE = ("void at::native::reduce_kernel<128, 4, "
          "at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16> > >")
FLASH = "void pytorch_flash::flash_%s_kernel<Flash_%s_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMax%s<8, c10::BFloat16, float, c10::BFloat16>"
FUSED_ADAM = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
              "namespace)::TensorListMetadata<4>, "
              "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, at::native::ADAM_MODE::ADAMW, false> >")
CUB = "void cub::%s<cub::DevicePolicy, bool*, int*, int>(bool*, int*, int)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COMPUTE, SIDE, COMM = 7, 13, 20
BF16 = 2


class Op:
    """A forward operator: the operators around its kernels, the kernels, and what backward runs for it."""

    def __init__(self, names, kernels, node=None, backward=(), parameter=0):
        self.names, self.kernels, self.node, self.backward, self.parameter = names, kernels, node, list(backward), parameter


class Job:
    """Settings with defaults, and the loop over the steps."""
    DEFAULTS = {"spec": AMPERE, "steps": 5, "first_step": 20, "ranks": 1, "seed": 0}

    def __init__(self, **settings):
        for source in reversed(type(self).__mro__):
            self.__dict__.update(getattr(source, "DEFAULTS", {}))
        unknown = set(settings) - set(self.__dict__)
        assert not unknown, unknown
        self.__dict__.update(settings)
        self.run = Run(self.spec, ranks=self.ranks, seed=self.seed)
        self.main, self.autograd = self.run.main, self.run.autograd
        self.compute = self.run.device.stream(COMPUTE)

    def record(self):
        """The recorded window: the steps, and the wait with which the profiler ends."""
        self.prepare()
        for index in range(self.steps):
            with self.main.span("ProfilerStep#%d" % (self.first_step + index), enter_us=3.0, leave_us=2.0):
                self.step(index)
            self.main.python(9)
        self.main.synchronize_device()
        return self.run

    def prepare(self):
        pass

    def apply(self, host, names, kernels, enter_us=6.0):
        """Operators within each other; the innermost launches."""
        with host.op(names[0], enter_us):
            if len(names) > 1:
                self.apply(host, names[1:], kernels, enter_us * 0.8)
            else:
                for kernel in kernels:
                    host.launch(self.compute, kernel)


class Training(Job):
    DEFAULTS = {
        "layers": 2, "tokens": 4096, "width": 1024, "vocabulary": 8192, "dtype": "bf16",
        "input_bytes": 256 << 10, "pinned": True, "prefetch": False,
        "batch_ms": 24.0, "workers": 8,
        "sync_at_end": False, "items": 0, "log_us": 60.0, "python_us": 9.0,
        "optimizer": "fused", "micro_batches": 1, "reduce": None, "reduce_every": 1, "bus_bytes_per_s": 60e9,
        "peer_lag_us": 0.0, "bucket_bytes": 16 << 20,
        "scratch_mib": 0, "pin_each_batch": False, "masked": "", "attention_kind": "flash", "zero_grad": "none",
        "cast_weights": False,
        "casts": False, "uploads": False, "collect_garbage": False, "collect_ms": 22.0, "empty_cache": False, "segments": 10,
        "query_us": 0.0, "environment_ms": 0.0,
        "candidates": 0, "shares_core": False, "prints": False, "metrics": "none",
    }

    def prepare(self):
        for thread in self.run.threads if self.shares_core else ():
            thread.share_core()
        self.side = self.run.device.stream(SIDE) if self.prefetch else None
        self.comm = self.run.device.stream(COMM) if self.reduce else None
        self.batches, self.start_ns, self.next_ready_ns, self.emptied = 0, self.main.now_ns, 0, False
        if self.prefetch:
            self.next_ready_ns = self.main.now_ns

    # ---- input

    def step(self, index):
        self.lag_us = self.peer_lag_us
        for micro in range(self.micro_batches):
            self.load()
            self.move()
            if self.reduce:
                with self.main.span("DistributedDataParallel.forward", enter_us=26.0, leave_us=5.0):
                    produced = self.forward()
            else:
                produced = self.forward()
            if self.items:
                self.read_scalar("loss is finite")
            if self.prints:
                self.print_tensor(6)
            if micro == 0:
                self.clear_gradients()
            last = micro == self.micro_batches - 1
            self.backward(produced, bool(self.reduce) and (last or self.reduce_every == 1), accumulates=micro > 0)
        if self.items > 1:
            self.read_scalar("gradient norm")
        self.update()
        for _ in range(2 if self.metrics != "none" else 0):
            self.make_accuracy()
        if self.sync_at_end:
            self.main.synchronize_device()
        if self.candidates and index == 1:
            self.tune()
        if self.environment_ms:
            with self.main.frame("environment.py(57): step"):
                self.main.python(self.environment_ms * 1000)
        if self.collect_garbage:
            with self.main.frame("<built-in function collect>"):
                self.main.python(self.collect_ms * 1000)
        if self.empty_cache:
            self.give_memory_back()
        self.main.python(self.log_us)

    def clear_gradients(self):
        """set_to_none forgets them; else each one is filled with zeros."""
        main = self.main
        with main.span("Optimizer.zero_grad#AdamW.zero_grad", enter_us=14.0, leave_us=3.0):
            for size in self.parameters() if self.zero_grad == "fill" else ():
                main.python(4)
                with main.op("aten::zero_", 4.0):
                    with main.op("aten::fill_", 4.0):
                        main.launch(self.compute, self.run.elementwise("FillFunctor<c10::BFloat16>", size * BF16))

    def tune(self):
        """Triton tries each candidate again and again, and empties the cache of the device between two tries."""
        main = self.main
        with main.frame("triton/runtime/autotuner.py(215): run"):
            for number in range(self.candidates):
                with main.frame("triton/testing.py(117): do_bench"):
                    for _ in range(8):
                        with main.op("aten::zero_", 4.0):
                            main.fill(self.compute, 256 << 20)
                        main.launch(self.compute, Kernel("_attention_kernel", 300.0 + 20.0 * number, 512, 128))
                    main.synchronize_device()

    def give_memory_back(self):
        """torch.cuda.empty_cache(): the segments go back to the driver one by one, and the next step takes them again."""
        with self.main.frame("torch/cuda/memory.py(222): empty_cache"):
            with self.main.frame("<built-in function _cuda_emptyCache>"):
                for _ in range(self.segments):
                    self.main.free()

    def take_memory(self):
        for _ in range(self.segments):
            self.main.malloc(64 << 20)

    def load(self):
        """Workers make a batch each in batch_ms, all at the same time; the loop waits for the next one."""
        main = self.main
        self.batches += 1
        ready = self.start_ns + self.run.ns(self.batches * self.batch_ms * 1000 / max(1,
                                                                                      self.workers) - self.batch_ms * 500,
                                            "batch")
        with main.span(LOADER % ("MultiProcessing" if self.workers else "SingleProcess"), enter_us=22.0, leave_us=6.0):
            if self.workers:
                main.sleep_until(ready)
            else:
                self.make_batch()

    def make_batch(self):
        """In the training process: samples one by one, then collated."""
        main = self.main
        for _ in range(12):
            main.python(self.batch_ms * 1000 / 13)
            main.leaf("aten::to", 3.0)
        with main.op("aten::stack", 5.0):
            main.leaf("aten::cat", self.batch_ms * 1000 / 14)

    def move(self):
        main = self.main
        stream = self.side or self.compute
        if self.pin_each_batch:
            with main.op("aten::pin_memory", 5.0):
                with main.op("aten::_pin_memory", 4.0):
                    main.malloc_host(self.input_bytes)
                    main.leaf("aten::copy_", 2.0 + self.input_bytes / 12e3)
        with main.op("aten::to", 4.0):
            with main.op("aten::_to_copy", 5.0):
                main.leaf("aten::empty_strided", 5.0)
                with main.op("aten::copy_", 5.0):
                    main.copy_in(stream, self.input_bytes, self.pinned)
        if self.pin_each_batch:
            main.free_host(self.input_bytes)
        if self.prefetch:
            main.wait_event(self.compute, self.next_ready_ns)
            self.next_ready_ns = main.record(self.side)

    # ---- forward and backward

    def linear(self, outputs, inputs, rows=None):
        run, tokens = self.run, rows or self.tokens
        cast = [run.elementwise("bfloat16_copy_kernel_cuda", outputs * inputs * 6)] if self.cast_weights else []
        backward = [(["aten::mm"], [run.gemm(tokens, inputs, outputs, self.dtype, "nn")]),
                    (["aten::mm"], [run.gemm(outputs, inputs, tokens, self.dtype, "nt")]),
                    (["aten::sum"], [run.streaming(REDUCE, tokens * outputs * BF16)])]
        return Op(["aten::linear", "aten::addmm"], cast + [run.gemm(tokens, outputs, inputs, self.dtype)], "AddmmBackward0",
                  backward,
                  parameter=outputs * inputs)

    def norm(self):
        run, nbytes = self.run, self.tokens * self.width * BF16
        backward = [(["aten::native_layer_norm_backward"],
                     [run.streaming(LAYER_NORM.replace("vectorized_layer_norm", "layer_norm_grad_input"), 3 * nbytes),
                      run.streaming(LAYER_NORM.replace("vectorized_layer_norm", "GammaBetaBackwardCUDA"), 2 * nbytes)])]
        return Op(["aten::layer_norm", "aten::native_layer_norm"], [run.streaming(LAYER_NORM, 2 * nbytes)],
                  "NativeLayerNormBackward0", backward)

    def attention(self):
        return [self.fused_attention()] if self.attention_kind == "flash" else self.plain_attention()

    def plain_attention(self):
        """Scores, softmax and product as operators of their own, over 16 heads and sequences of 1,024."""
        run, tokens, scores = self.run, self.tokens, self.tokens * 1024 * 16
        product = run.gemm(tokens, 1024, self.width)
        softmax = Op(["aten::softmax", "aten::_softmax"], [run.streaming(SOFTMAX % "Forward", scores * BF16 * 2)],
                     "SoftmaxBackward0",
                     [(["aten::_softmax_backward_data"], [run.streaming(SOFTMAX % "Backward", scores * BF16 * 3)])])
        scale = Op(["aten::div"], [run.elementwise("DivFunctor<c10::BFloat16>", scores * BF16 * 2)], "DivBackward0",
                   [(["aten::div"], [run.elementwise("DivFunctor<c10::BFloat16>", scores * BF16 * 2)])])

        def batched():
            return Op(["aten::matmul", "aten::bmm"], [product], "BmmBackward0",
                      [(["aten::bmm"], [product]), (["aten::bmm"], [product])])
        return [batched(), scale, softmax, batched()]

    def fused_attention(self):
        run = self.run
        us = 2.0 + 4.0 * self.tokens * 1024 * self.width / (run.spec.flops_per_s("bf16") * 0.5) * 1e6
        forward = Kernel(FLASH % ("fwd", "fwd"), us, self.tokens // 8, 128, registers=255, shared_bytes=81920, fit=2)
        backward = Kernel(FLASH % ("bwd", "bwd"), us * 2.5, self.tokens // 8, 256, registers=255, shared_bytes=147456, fit=1)
        return Op(["aten::scaled_dot_product_attention", "aten::_flash_attention_forward"], [forward],
                  "ScaledDotProductFlashAttentionBackward0", [(["aten::_flash_attention_backward"], [backward])])

    def pointwise(self, name, functor, node, width, operands=2, backward=True):
        run, nbytes = self.run, self.tokens * width * BF16
        back = [([name + "_backward"], [run.elementwise(functor + "Backward", 3 * nbytes)])] if backward else []
        return Op([name], [run.elementwise(functor, operands * nbytes)], node, back)

    def cast(self, width):
        """To 32 bits and back, as code does that does not trust autocast."""
        run, nbytes = self.run, self.tokens * width * BF16
        name = ("void at::native::unrolled_elementwise_kernel<"
                "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&), std::array<char*, 2ul>, 4>")
        names = ["aten::to", "aten::_to_copy", "aten::copy_"]
        return [Op(names, [run.streaming(name, nbytes * 3)], "ToCopyBackward0", [(names, [run.streaming(name, nbytes * 3)])])
                for _ in range(2)] if self.casts else []

    def layer(self):
        width = self.width
        add = self.pointwise("aten::add", "CUDAFunctor_add<c10::BFloat16>", "AddBackward0", width, 3, backward=False)
        return [self.norm(), self.linear(3 * width, width), *self.cast(3 * width), *self.attention(),
                self.linear(width, width), add,
                self.norm(), self.linear(4 * width, width), *self.cast(4 * width),
                self.pointwise("aten::gelu", "GeluCUDAKernelImpl", "GeluBackward0", 4 * width),
                self.linear(width, 4 * width), add]

    def loss(self):
        run, nbytes = self.run, self.tokens * self.vocabulary * BF16
        soft = Op(["aten::cross_entropy_loss", "aten::log_softmax", "aten::_log_softmax"],
                  [run.streaming(SOFTMAX % "Forward", 2 * nbytes)], "LogSoftmaxBackward0",
                  [(["aten::_log_softmax_backward_data"], [run.streaming(SOFTMAX % "Backward", 3 * nbytes)])])
        nll = Op(["aten::nll_loss_nd", "aten::nll_loss_forward"],
                 [Kernel("void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, "
                         "float, long>", 6.5, 1, 32)],
                 "NllLossBackward0", [(["aten::nll_loss_backward"],
                                       [Kernel("void at::native::(anonymous "
                                               "namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float>", 3.5, 1, 32)])])
        return [self.linear(self.vocabulary, self.width), soft, nll]

    def model(self):
        """The forward operators in order."""
        return [op for _ in range(self.layers) for op in self.layer()] + self.loss()

    def select_tokens(self):
        """Indexing with a mask: how many are selected, the host has to read. A choice by the mask keeps the shape."""
        main = self.main
        if self.masked == "where":
            self.apply(main, ["aten::where"],
                       [self.run.elementwise("where_kernel_impl", self.tokens * self.width * BF16 * 2)])
            return
        with main.op("aten::index", 6.0):
            with main.op("aten::nonzero", 9.0):
                main.launch(self.compute, Kernel(CUB % "DeviceReduceSingleTileKernel", 3.4, 1, 256))
                main.copy_out(self.compute, 8)
                main.launch(self.compute, Kernel(CUB % "DeviceSelectSweepKernel", 5.2, 64, 128))
            main.launch(self.compute,
                        self.run.streaming("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel>",
                                                         self.tokens * 16))

    def upload_number(self):
        """torch.tensor(x, device="cuda"): a small copy from pageable memory, which PyTorch waits for."""
        main = self.main
        with main.op("aten::to", 4.0):
            with main.op("aten::_to_copy", 4.0):
                main.leaf("aten::empty_strided", 4.0)
                with main.op("aten::copy_", 4.0):
                    main.copy_in_staged(self.compute, 8)

    def forward(self):
        main, produced = self.main, []
        if self.empty_cache and self.emptied:
            self.take_memory()
        self.emptied = True
        for op in self.model():
            main.python(self.python_us)
            if self.query_us:
                main.call("cudaEventQuery", self.query_us, 163)
            number, self.run.next_sequence = self.run.next_sequence, self.run.next_sequence + 1
            with main.op(op.names[0], 6.0, Sequence_number=number, Fwd_thread_id=0):
                if len(op.names) > 1:
                    self.apply(main, op.names[1:], op.kernels, 5.0)
                else:
                    for kernel in op.kernels:
                        main.launch(self.compute, kernel)
            produced.append((op, number))
            if self.masked and len(produced) % 5 == 0:
                self.select_tokens()
            if self.uploads and len(produced) % 5 == 0:
                self.upload_number()
        if self.scratch_mib:
            self.scratch()
        return produced

    def scratch(self):
        """Buffers taken from the driver and given back, as an allocator without a cache does."""
        for _ in range(3):
            self.main.malloc(self.scratch_mib << 20)
            self.main.launch(self.compute, self.run.elementwise("FillFunctor<float>", self.scratch_mib << 18))
            self.main.free()

    def backward(self, produced, reduce, accumulates):
        main, auto = self.main, self.autograd
        main.python(18)
        auto.sleep_until(main.now_ns)
        self.buckets, filled = [], 0
        for op, number in reversed(produced):
            with auto.op("autograd::engine::evaluate_function: " + op.node, 3.5, Sequence_number=number, Fwd_thread_id=1):
                with auto.op(op.node, 4.0, Sequence_number=number, Fwd_thread_id=1):
                    for names, kernels in op.backward:
                        self.apply(auto, names, kernels, 6.0)
            if op.parameter:
                with auto.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 3.0):
                    with auto.op("torch::autograd::AccumulateGrad", 4.0, 0.3):
                        if self.zero_grad == "fill" or accumulates:
                            self.apply(auto, ["aten::add_"],
                                       [self.run.elementwise("CUDAFunctor_add<c10::BFloat16>", 3 * op.parameter * BF16)])
                filled += op.parameter * BF16
                if reduce and filled >= self.bucket_bytes:
                    self.bucket_full(filled)
                    filled = 0
            auto.python(1.5)
        if reduce and filled:
            self.bucket_full(filled)
        main.sleep_until(auto.now_ns)
        main.python(9)
        if reduce and self.reduce == "after backward":
            for nbytes in self.buckets:
                self.all_reduce(main, nbytes)
                main.wait_event(self.compute, self.comm.free_at_ns)
        elif reduce:
            main.wait_event(self.compute, self.comm.free_at_ns)

    # ---- communication

    def bucket_full(self, nbytes):
        if self.reduce == "after backward":
            self.buckets.append(nbytes)
        else:
            self.all_reduce(self.autograd, nbytes)

    def all_reduce(self, host, nbytes):
        group = {"Collective name": "allreduce", "In msg nelems": nbytes // BF16, "Out msg nelems": nbytes // BF16,
                 "Group size": self.ranks, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]",
                 "Process Group Name": "0", "Process Group Description": "default_pg",
                 "Process Group Ranks": str(list(range(self.ranks)))}
        us = 14 + 2.0 * (self.ranks - 1) / self.ranks * nbytes / self.bus_bytes_per_s * 1e6
        with host.op("c10d::allreduce_", 4.0):
            with host.op("record_param_comms", 7.0, **{"Rank": 0}, **group):
                with host.span("nccl:all_reduce", enter_us=4.0, leave_us=2.0):
                    host.wait_event(self.comm, host.record(self.compute))
                    kernel = Kernel(ALL_REDUCE, us + self.lag_us, 16, 544, registers=96, fit=1, args=group, beside=True)
                    self.lag_us = 0.0
                    host.launch(self.comm, kernel, "cudaLaunchKernelExC", 7.5)
                    host.record(self.comm)

    # ---- optimizer

    def read_scalar(self, _):
        main = self.main
        with main.op("aten::item", 2.0):
            with main.op("aten::_local_scalar_dense", 3.0):
                main.copy_out(self.compute, 4)
        main.python(60)

    def make_accuracy(self):
        """Made of the outputs, and read or added up."""
        main = self.main
        for name in ("argmax", "eq", "sum"):
            with main.op("aten::" + name):
                main.launch(self.compute, self.run.elementwise("compare_kernel", self.tokens * 4))
        if self.metrics == "read":
            self.read_scalar("accuracy")
        else:
            with main.op("aten::add_"):
                main.launch(self.compute, self.run.elementwise("CUDAFunctor_add<float>", 4))

    def print_tensor(self, values):
        """As PyTorch writes a tensor of floats on the device: it looks for the widest number, then reads each."""
        main, small = self.main, self.run.elementwise("abs_kernel_cuda", 64)
        for name in ("isfinite", "ne", "__and__", "masked_select", "abs", "min", "max"):
            with main.op("aten::" + name):
                main.launch(self.compute, small)
                if name == "masked_select":
                    main.copy_out(self.compute, 4)
        main.leaf("aten::unbind")
        for _ in range(values):
            main.python(4)
            with main.op("aten::ne"):
                main.launch(self.compute, small)
            with main.op("aten::is_nonzero", 2.0), main.op("aten::item", 2.0):
                with main.op("aten::_local_scalar_dense", 3.0):
                    main.copy_out(self.compute, 1)
            main.leaf("aten::detach")
            with main.op("aten::item", 2.0), main.op("aten::_local_scalar_dense", 3.0):
                main.copy_out(self.compute, 4)
        main.python(60)

    def parameters(self):
        return [op.parameter for op in self.model() if op.parameter]

    def update(self):
        main, run = self.main, self.run
        with main.span("Optimizer.step#AdamW.step", enter_us=24.0, leave_us=6.0):
            if self.optimizer == "fused":
                nbytes = sum(self.parameters()) * 4 * 5
                main.leaf("aten::_foreach_add_", 12.0)
                with main.op("aten::_fused_adamw_", 40.0, 6.0):
                    for _ in range(2):
                        main.launch(self.compute, run.streaming(FUSED_ADAM, nbytes / 2, 512))
            else:
                for size in self.parameters():
                    self.update_one(size)

    UPDATE = (("aten::mul_", "MulFunctor<float>", 2), ("aten::lerp_", "lerp_scalar_kernel", 3),
              ("aten::mul_", "MulFunctor<float>", 2),
              ("aten::addcmul_", "addcmul_cuda_scalar_tensor2_kernel", 3), ("aten::sqrt", "sqrt_kernel_cuda", 2),
              ("aten::div_", "DivFunctor<float>", 2), ("aten::add_", "CUDAFunctorOnSelf_add<float>", 2),
              ("aten::addcdiv_", "addcdiv_cuda_kernel", 4))

    def update_one(self, size):
        for name, functor, operands in self.UPDATE:
            self.main.python(5)
            self.apply(self.main, [name], [self.run.elementwise(functor, size * 4 * operands)])


class Features(Training):
    """Inference that keeps what each batch gives: on the host right away, or in a buffer on the device until the end."""
    DEFAULTS = {"to_host": False, "steps": 6, "vocabulary": 512, "batch_ms": 8.0}

    def step(self, index):
        main, nbytes = self.main, self.tokens * self.vocabulary * 4
        self.load()
        self.move()
        self.forward()
        if self.to_host:
            with main.op("aten::to", 4.0):
                with main.op("aten::_to_copy", 5.0):
                    main.leaf("aten::empty_strided", 5.0)
                    with main.op("aten::copy_", 5.0):
                        main.copy_out(self.compute, nbytes)
            main.python(self.log_us)
        else:
            with main.op("aten::copy_", 5.0):
                main.copy_inside(self.compute, nbytes)
            main.python(self.log_us)

    def model(self):
        return [op for _ in range(self.layers) for op in self.layer()] + [self.linear(self.vocabulary, self.width)]


class Decoder(Job):
    """Inference of one token at a time: every kernel is tiny. Eager, or as one captured graph."""
    DEFAULTS = {"spec": HOPPER, "steps": 5, "layers": 8, "width": 1024, "graph": False, "python_us": 7.0}

    def layer(self):
        run, nbytes, weights = self.run, self.width * BF16 * 8, self.width * self.width * BF16
        gemv = "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>"
        norm = [(["aten::pow"], run.elementwise("pow_tensor_scalar_kernel_impl", nbytes)),
                (["aten::mean"], run.streaming(REDUCE, nbytes)),
                (["aten::rsqrt"], run.elementwise("rsqrt_kernel_cuda", nbytes)),
                (["aten::mul"], run.elementwise("MulFunctor<float>", nbytes))]
        parts = norm + [(["aten::linear", "aten::addmm"], run.streaming(gemv, 3 * weights)),
                        (["aten::mul"], run.elementwise("MulFunctor<c10::BFloat16>", nbytes)),
                        (["aten::neg"], run.elementwise("neg_kernel", nbytes)),
                        (["aten::cat"], run.elementwise("CatArrayBatchedCopy<c10::BFloat16>", nbytes)),
                        (["aten::add"], run.elementwise("CUDAFunctor_add<c10::BFloat16>", nbytes)),
                        (["aten::scaled_dot_product_attention"], Kernel(FLASH % ("fwd_splitkv", "fwd"), 4.2, 16, 128, 255)),
                        (["aten::linear", "aten::addmm"], run.streaming(gemv, weights)),
                        (["aten::add"], run.elementwise("CUDAFunctor_add<c10::BFloat16>", nbytes))]
        return parts + norm + [(["aten::linear", "aten::addmm"], run.streaming(gemv, 3 * weights)),
                               (["aten::silu"], run.elementwise("silu_kernel", nbytes)),
                               (["aten::linear", "aten::addmm"], run.streaming(gemv, 3 * weights)),
                               (["aten::add"], run.elementwise("CUDAFunctor_add<c10::BFloat16>", nbytes))]

    def step(self, index):
        main = self.main
        parts = [part for _ in range(self.layers) for part in self.layer()]
        main.python(30)
        if self.graph:
            with main.op("aten::copy_", 5.0):
                main.copy_inside(self.compute, 64)
            main.launch_graph(self.compute, [kernel for _, kernel in parts])
        else:
            for names, kernel in parts:
                main.python(self.python_us)
                self.apply(main, names, [kernel], 5.5)
        with main.op("aten::argmax", 8.0):
            main.launch(self.compute, self.run.streaming(REDUCE, 128 << 10))


class Server(Decoder):
    """An inference engine: one prompt is read, then all requests decode; each step is marked as vLLM does it. The host waits
    for the tokens before it schedules the next step, or schedules ahead."""
    DEFAULTS = {"steps": 24, "graph": True, "layers": 6, "requests": 16, "prompt": 2048, "schedule_us": 60.0, "ahead": True}

    def record(self):
        self.prepare()
        for index in range(self.steps):
            reads = index % 12 == 0
            marks = (1, self.prompt, 0, 0) if reads else (0, 0, self.requests, self.requests)
            with self.main.span("execute_context_%d(%d)_generation_%d(%d)" % marks, enter_us=3.0, leave_us=2.0):
                if reads:
                    self.read_prompt()
                else:
                    self.step(index)
                if not self.ahead:
                    self.main.copy_out(self.compute, 8 * self.requests)
                    self.main.synchronize_stream(self.compute)
            self.main.python(self.schedule_us)
        self.main.synchronize_device()
        return self.run

    def read_prompt(self):
        main, run = self.main, self.run
        for _ in range(self.layers):
            for n, k in ((3 * self.width, self.width), (self.width, self.width), (3 * self.width, self.width),
                         (self.width, 3 * self.width)):
                main.python(self.python_us)
                self.apply(main, ["aten::linear", "aten::addmm"], [run.gemm(self.prompt, n, k)], 5.5)


class Towers(Job):
    """Inference of two independent towers on a stream each, both too narrow to fill the device; the results meet at the
    end."""
    DEFAULTS = {"spec": AMPERE, "steps": 6, "blocks": 14, "rows": 1024, "width": 1024, "ordered": False}

    def step(self, index):
        main, side = self.main, self.run.device.stream(SIDE)
        main.python(25)
        main.wait_event(side, main.record(self.compute))
        for stream, other in ((self.compute, side), (side, self.compute)):
            for _ in range(self.blocks):
                self.block(stream)
            if self.ordered:
                main.wait_event(other, main.record(stream))
        main.wait_event(self.compute, main.record(side))
        self.apply(main, ["aten::add"], [self.run.elementwise("CUDAFunctor_add<c10::BFloat16>", self.rows * self.width * 6)])

    def block(self, stream):
        """A matrix product of 128x64 tiles whose grid is 48 blocks."""
        main = self.main
        name = self.run.spec.gemm_names["bf16"].replace("128x128", "128x64") % "tn"
        main.python(6)
        with main.op("aten::linear", 5.0):
            with main.op("aten::addmm", 6.0):
                main.launch(stream, Kernel(name, 118.0, 48, 256, registers=122, shared_bytes=49152, fit=2))


class CustomKernel(Job):
    """A custom operator beside ordinary ones: its grid is one block for each sample of a small batch, or one for each
    tile."""
    DEFAULTS = {"spec": AMPERE, "steps": 6, "calls": 8, "samples": 12, "tiled": True}

    def step(self, index):
        main, run = self.main, self.run
        alone_us = 38.0 * run.spec.sms    # one multiprocessor alone for all of the work
        main.python(30)
        for _ in range(self.calls):
            main.python(9)
            self.apply(main, ["aten::linear", "aten::addmm"], [run.gemm(2048, 1024, 1024)])
            blocks = 432 if self.tiled else self.samples
            us = 3.0 + alone_us / min(blocks, run.spec.sms)
            main.python(6)
            self.apply(main, ["my_ops::windowed_scan"],
                       [Kernel("void my_ops::windowed_scan_kernel<float, 256>(float const*, float*, int, int)",
                                                               us, blocks, 256, registers=64)])


class Pointwise(Job):
    """Inference of layers with a long pointwise tail: as single operators, or fused by a compiler."""
    DEFAULTS = {"spec": AMPERE, "steps": 6, "layers": 4, "rows": 8192, "width": 2048, "fused": False}
    CHAIN = (("aten::pow", "pow_tensor_scalar_kernel_impl"), ("aten::mul", "MulFunctor<c10::BFloat16>"),
             ("aten::add", "CUDAFunctor_add<c10::BFloat16>"),
             ("aten::mul", "MulFunctor<c10::BFloat16>"), ("aten::tanh", "tanh_kernel_cuda"),
             ("aten::add", "CUDAFunctorOnSelf_add<c10::BFloat16>"),
             ("aten::mul", "MulFunctor<c10::BFloat16>"), ("aten::mul", "MulFunctor<c10::BFloat16>"))

    def step(self, index):
        main = self.main
        main.python(30)
        if not self.fused:
            return self.layers_of(self.eager_tail, ["aten::linear", "aten::addmm"])
        with main.op("TorchDynamo Cache Lookup", 18.0):
            pass
        with main.op("Torch-Compiled Region: 0/0", 12.0):
            with main.span("## Call CompiledFxGraph f7hk2q6w3n4c5v8b9m1x0z2s4d6g8j0l ##", enter_us=14.0):
                return self.layers_of(self.fused_tail, ["aten::addmm"])

    def layers_of(self, tail, names):
        for _ in range(self.layers):
            self.main.python(5)
            self.apply(self.main, names, [self.run.gemm(self.rows, self.width, self.width)])
            tail(self.rows * self.width * BF16)

    def eager_tail(self, nbytes):
        for name, functor in self.CHAIN:
            self.main.python(5)
            self.apply(self.main, [name],
                       [self.run.elementwise(functor, nbytes * (3 if "functor_add" in functor.lower() else 2))])

    def fused_tail(self, nbytes):
        with self.main.op("triton_poi_fused_add_mul_pow_tanh_0", 5.0):
            self.main.launch(self.compute, self.run.streaming("triton_poi_fused_add_mul_pow_tanh_0", nbytes * 3),
                             "cuLaunchKernelEx", 4.2)


class CopiedCache(Job):
    """Inference that keeps a cache: cloned in full for every layer, or written in place."""
    DEFAULTS = {"spec": HOPPER, "steps": 6, "layers": 8, "cache_bytes": 96 << 20, "cloned": False}

    def step(self, index):
        main, run = self.main, self.run
        main.python(25)
        for _ in range(self.layers):
            main.python(8)
            self.apply(main, ["aten::linear", "aten::addmm"], [run.gemm(2048, 4096, 2048)])
            if self.cloned:
                with main.op("aten::clone", 5.0):
                    main.leaf("aten::empty_like", 5.0)
                    with main.op("aten::copy_", 5.0):
                        main.copy_inside(self.compute, self.cache_bytes)
            else:
                self.apply(main, ["aten::index_copy_"],
                           [run.streaming("void at::native::index_copy_kernel_impl<c10::BFloat16>", 1 << 20)])
            self.apply(main, ["aten::scaled_dot_product_attention", "aten::_flash_attention_forward"],
                       [Kernel(FLASH % ("fwd", "fwd"), 96.0, 512, 128, registers=255, fit=2)])


class ColdTraining(Training):
    """The recording begins with the first steps of the process: modules are loaded at the first use of a kernel, the pool
    grows."""
    DEFAULTS = {"cold": True, "tokens": 2048, "steps": 6, "first_step": 0}

    def prepare(self):
        super().prepare()
        self.main.lazy = self.autograd.lazy = self.cold

    def step(self, index):
        if self.cold and index == 0:
            with self.main.op("aten::empty", 6.0):
                for _ in range(24):
                    self.main.malloc(20 << 20)
        super().step(index)


class Convolutions(Job):
    """Inference of a convolutional network in bfloat16: channels first with conversions around each convolution, or channels
    last."""
    DEFAULTS = {"spec": AMPERE, "steps": 6, "blocks": 6, "batch": 64, "channels": 256, "side": 28, "channels_last": False}
    CONVOLUTION = ("sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
                   "stage4_warpsize2x2x1_g1_"
                   "tensor16x8x16_kernel_cudnn")
    CONVERT = ("void cudnn::engines_precompiled::%sKernel<__nv_bfloat16, __nv_bfloat16, float, false, true, "
               "(cudnnKernelDataType_t)0>"
               "(cudnn::engines_precompiled::%s_params_t<float>, __nv_bfloat16 const*, __nv_bfloat16*)")
    NORM = ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<__nv_bfloat16, float, true, 1>"
            "(float, float, cudnnTensorStruct, __nv_bfloat16 const*)")

    def step(self, index):
        main, run = self.main, self.run
        nbytes = self.batch * self.channels * self.side * self.side * BF16
        product = run.gemm(self.batch * self.side * self.side, self.channels, self.channels * 9)
        kernels = [Kernel(self.CONVOLUTION, product.us, product.blocks, 128, registers=128, fit=2)]
        if not self.channels_last:
            kernels = [run.streaming(self.CONVERT % ("nchwToNhwc", "nchw2nhwc"), nbytes * 2.6)] + kernels + \
                      [run.streaming(self.CONVERT % ("nhwcToNchw", "nhwc2nchw"), nbytes * 2.6)]
        main.python(30)
        for _ in range(self.blocks):
            main.python(12)
            self.apply(main, ["aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"],
                       kernels, 8.0)
            main.python(9)
            self.apply(main, ["aten::batch_norm", "aten::cudnn_batch_norm"], [run.streaming(self.NORM, nbytes * 2)])
            self.apply(main, ["aten::relu_", "aten::clamp_min_"],
                       [run.elementwise("clamp_min_scalar_kernel_impl", nbytes * 2)])


class Compiled(Job):
    """Inference of compiled code: in one piece, with graph breaks, or with a new version for every other length."""
    DEFAULTS = {"spec": HOPPER, "steps": 6, "layers": 6, "rows": 4096, "width": 1024, "breaks": False, "recompiles": False,
                "compile_ms": 260.0}

    def step(self, index):
        self.version = index // 2 if self.recompiles else 0
        self.main.python(30)
        pieces = self.layers if self.breaks else 1
        for piece in range(pieces):
            self.region(piece, index, self.layers // pieces)
            if self.breaks and piece < pieces - 1:
                self.broken()
        with self.main.op("aten::argmax", 8.0):
            self.main.launch(self.compute, self.run.streaming(REDUCE, self.rows * self.width * BF16))

    def region(self, piece, index, layers):
        main = self.main
        main.leaf("TorchDynamo Cache Lookup", 24.0 + 6.0 * self.version)
        if self.recompiles and index % 2 == 0 and index:
            self.compile()
        with main.op("Torch-Compiled Region: %d/%d" % (piece, self.version), 14.0, 4.0):
            with main.span("## Call CompiledFxGraph f%02d%02dq6w3n4c5v8b9m1x0z2s4d6g8j0 ##" % (piece, self.version),
                           enter_us=16.0):
                for _ in range(layers):
                    self.compiled_layer()

    def compiled_layer(self):
        main, run = self.main, self.run
        with main.op("aten::mm", 7.0):
            main.launch(self.compute, run.gemm(self.rows, self.width, self.width))
        with main.op("triton_per_fused_add_native_layer_norm_gelu_0", 4.5):
            main.launch(self.compute,
                        run.streaming("triton_per_fused_add_native_layer_norm_gelu_0", self.rows * self.width * 6),
                        "cuLaunchKernelEx", 4.2)

    def broken(self):
        """What a break leaves to Python: a logging call on a statistic that is clamped back in."""
        main, run, nbytes = self.main, self.run, self.rows * self.width * BF16
        main.python(70)
        for name, functor in (("aten::abs", "AbsFunctor<c10::BFloat16>"), ("aten::amax", "MaxFunctor<c10::BFloat16>"),
                              ("aten::clamp", "clamp_kernel_cuda"), ("aten::div", "DivFunctor<c10::BFloat16>")):
            main.python(12)
            self.apply(main, [name], [run.elementwise(functor, nbytes * 2)])

    def compile(self):
        main = self.main
        timed = " (dynamo_timed)"
        with main.op("_compile.compile_inner" + timed, 900.0):
            with main.op("entire_frame_compile" + timed, 1500.0):
                with main.op("bytecode_tracing" + timed, self.compile_ms * 300):
                    pass
                with main.op("backend_compile" + timed, 800.0):
                    with main.op("compile_fx.<locals>.fw_compiler_base" + timed, self.compile_ms * 250):
                        with main.op("inductor_compile" + timed, self.compile_ms * 150):
                            main.leaf("async_compile.wait" + timed, self.compile_ms * 300)
