# SPDX-License-Identifier: MIT
"""What one rank of a made run does in a step: a transformer's forward and backward pass, its collectives, its optimizer.

The host launches, the device follows: a kernel starts when it was launched, when its stream is free and when what it needs
has ended. The host runs ahead by up to 1,024 launches and reads the loss at the end of each step, as training loops do.
"""
import random
from collections import namedtuple

from cluster_fabric import Noise, noise_table

US = 1000
LAUNCH_LATENCY_NS, KERNEL_GAP_NS, WAKE_UP_NS = 3200, 900, 4500
QUEUE_LIMIT = 1024
HIDDEN, BUCKETS, OWNERS = 4096, 4, 4
LAYER_ELEMENTS = 12 * HIDDEN * HIDDEN
NETWORK_BYTES_PER_US, NVLINK_BYTES_PER_US, PAIR_BYTES_PER_US = 160_000, 300_000, 90_000

# us: time of the kernel for the tokens of a plain batch; dims: in tokens (0 stands for them) and sizes; node: its name
# in the backward pass; split: whether a tensor group shares the work; summed: the pass in which it sums up the result.
Op = namedtuple("Op", "name kernel us dims node split summed", defaults=[""])
GEMM = ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_"
        "execute_segment_k_off_kernel__5x_cublas")
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64> >"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::%s, std::array<char*, 3ul> >(int, %s)"
ADD = ELEMENTWISE % ("CUDAFunctor_add<c10::BFloat16>", "at::native::CUDAFunctor_add<c10::BFloat16>")
GELU = ELEMENTWISE % ("GeluCUDAKernelImpl", "GeluCUDAKernelImpl")
HEADS = (1, 32, 0, 128)
FORWARD = (
    Op("aten::native_layer_norm", NORM, 38.0, ((0, HIDDEN), (HIDDEN,)), "NativeLayerNormBackward0", False),
    Op("aten::addmm", GEMM, 230.0, ((3 * HIDDEN,), (0, HIDDEN), (HIDDEN, 3 * HIDDEN)), "AddmmBackward0", True, "backward"),
    Op("aten::_scaled_dot_product_flash_attention", FLASH, 170.0, (HEADS, HEADS, HEADS),
       "ScaledDotProductFlashAttentionBackward0", True),
    Op("aten::mm", GEMM, 95.0, ((0, HIDDEN), (HIDDEN, HIDDEN)), "MmBackward0", True, "forward"),
    Op("aten::add", ADD, 34.0, ((0, HIDDEN), (0, HIDDEN)), "AddBackward0", False),
    Op("aten::mm", GEMM, 305.0, ((0, HIDDEN), (HIDDEN, 4 * HIDDEN)), "MmBackward0", True, "backward"),
    Op("aten::gelu", GELU, 46.0, ((0, 4 * HIDDEN),), "GeluBackward0", True),
    Op("aten::mm", GEMM, 305.0, ((0, 4 * HIDDEN), (4 * HIDDEN, HIDDEN)), "MmBackward0", True, "forward"),
)
EXPERT = Op("aten::_grouped_mm", GEMM, 300.0, ((0, HIDDEN), (8, HIDDEN, 4 * HIDDEN)), "GroupedMmBackward0", True)
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>"
OPTIMIZER = Op("aten::_fused_adamw_", ADAM, 240.0, (), "", False)
HOST_TABLE, KERNEL_TABLE = noise_table(0.12, "host"), noise_table(0.015, "kernels")


class RankRun:
    """The clocks of one rank. @writer writes rows, or is None while only the times matter."""

    def __init__(self, layout, plan, shape, rank, seed, fabric, writer=None):
        self.layout, self.plan, self.shape, self.rank, self.fabric, self.writer = layout, plan, shape, rank, fabric, writer
        dice = random.Random("rank/%d/%d" % (seed, rank))
        self.host_noise, self.kernel_noise = Noise(HOST_TABLE, dice.random()), Noise(KERNEL_TABLE, dice.random())
        self.outlier_at, self.dice = 200 + int(dice.random() * 800), dice
        self.evenness = 1.0 + 0.002 * dice.gauss(0.0, 1.0)
        self.device_factor, self.host_factor, self.rough = self.evenness, plan.host_factor(rank), plan.roughness()
        self.column_dice = random.Random("column/%d/%d" % (seed, layout.column(rank)))    # who shares a batch draws alike
        self.now_ns = int(dice.random() * 50 * US)
        self.free_ns, self.ready_ns = 0, 0          # of the compute stream; when what the next kernel needs has ended
        self.starts, self.launches = [0] * QUEUE_LIMIT, 0
        self.work = 1.0
        self.in_backward = False

    # -------------------------------------------------------------- host and device

    def host(self, us):
        """The host works: now and then much longer than usual, as an operating system lets it."""
        self.outlier_at -= 1
        if self.outlier_at <= 0:
            self.outlier_at = 200 + int(self.dice.random() * 800)
            us += (10.0 + 30.0 * self.dice.random()) * self.rough
        self.now_ns += int(us * US * self.host_factor * self.host_noise.next())

    def launch(self):
        """The time at which the host launches, after waiting for room in the queue."""
        at = self.launches % QUEUE_LIMIT
        self.now_ns = max(self.now_ns, self.starts[at])
        return self.now_ns

    def queued(self, start_ns):
        self.starts[self.launches % QUEUE_LIMIT] = start_ns
        self.launches += 1

    def kernel(self, us, began_ns):
        """A kernel on the compute stream, launched at @began_ns: when it starts and how long it takes."""
        start = max(began_ns + LAUNCH_LATENCY_NS, self.free_ns + KERNEL_GAP_NS, self.ready_ns)
        dur = int(us * US * self.device_factor * self.kernel_noise.next() ** self.rough)
        self.free_ns = start + dur
        self.queued(start)
        return start, dur

    def op(self, op, factor=1.0, backward=False):
        """One operator with one kernel, or with two in the backward pass."""
        began = self.now_ns
        self.host(4.5)
        us = op.us * self.work * factor / (self.layout.tensor if op.split else 1)
        rows = []
        for _ in range(2 if backward and op.kernel == GEMM else 1):
            at = self.launch()
            start, dur = self.kernel(us * (1.0 if op.kernel == GEMM or not backward else 2.0), at)
            self.host(3.4)
            rows.append((at, self.now_ns, start, dur))
        self.host(1.6)
        if self.writer:
            self.writer.op(op, self.tokens(factor), backward, began, self.now_ns, rows)

    def tokens(self, factor=1.0):
        return int(self.shape.tokens * self.work * factor)

    def span(self, kind, name, began_ns, **more):
        if self.writer:
            self.writer.span(kind, name, began_ns, self.now_ns, self.in_backward, **more)

    def wait_for_device(self):
        """The host waits until the compute stream is idle."""
        began = self.now_ns
        self.now_ns = max(self.now_ns + 1500, max(self.free_ns, self.ready_ns) + WAKE_UP_NS)
        self.span("runtime", "cudaStreamSynchronize", began)

    # -------------------------------------------------------------- collectives

    def collective(self, group, name, elements, bytes_per_us, received=None, key=None, root=None, **more):
        """Enqueues a collective behind the compute stream; returns its ticket. @root: sends to all, or gathers from all."""
        began = self.now_ns
        self.host(14.0)
        at = self.launch()
        ready = max(at + LAUNCH_LATENCY_NS, self.free_ns, self.ready_ns if name != "_allgather_base" else 0)
        count = len(group.members)
        share = 2.0 * (count - 1) / count if name == "allreduce" else (count - 1) / count if count > 2 else 1.0
        transfer_ns = int(12 * US + 2 * max(received or elements, elements) * share / bytes_per_us * US)
        ticket = self.fabric.post(self.rank, key or ("group", group.number), key[1:3] if key else group.members, ready,
                                  transfer_ns, (name, root) if root is not None else None)
        self.queued(at)
        self.host(4.0)
        launched = self.now_ns
        self.host(2.0)
        if self.writer:
            times = self.fabric.times(ticket, self.rank)
            self.writer.collective(group, name, elements, received or elements, began, at, launched, self.now_ns, times,
                                   self.in_backward, **more)
        return ticket

    def tensor_reduce(self):
        """The compute stream goes on when the tensor group has summed up."""
        group = self.layout.tensor_of.get(self.rank)
        if group:
            _, self.ready_ns = yield self.collective(group, "allreduce", self.tokens() * HIDDEN, NVLINK_BYTES_PER_US)

    def share_batch(self):
        """The first rank of a tensor group hands its batch to the others."""
        group = self.layout.tensor_of.get(self.rank)
        if group:
            _, self.ready_ns = yield self.collective(group, "broadcast", self.tokens() * 2, NVLINK_BYTES_PER_US,
                                                     root=group.members[0])

    def exchange(self):
        """Tokens to the experts and back, with the experts' work between."""
        group = self.layout.expert_of.get(self.rank)
        if group:
            count = len(group.members)
            hot = [rank for rank in group.members if self.plan.expert_share(rank) > 1.0]
            mine = self.plan.expert_share(self.rank)
            rest = (count - sum(self.plan.expert_share(rank) for rank in hot)) / (count - len(hot))
            share = mine if mine > 1.0 else rest
            wobble = 1.0 + 0.01 * self.dice.gauss(0.0, 1.0)
            sent, received = self.tokens() * HIDDEN, int(self.tokens(share * wobble)) * HIDDEN
            _, self.ready_ns = yield self.collective(group, "all_to_allv", sent, NETWORK_BYTES_PER_US, received=received)
            for _ in range(2):
                self.op(EXPERT, share * wobble, self.in_backward)
            _, self.ready_ns = yield self.collective(group, "all_to_allv", received, NETWORK_BYTES_PER_US, received=sent)

    # -------------------------------------------------------------- the step

    def layer(self, backward):
        for op in reversed(FORWARD) if backward else FORWARD:
            self.op(op, backward=backward)
            if not backward and self.plan.sync_ns(self.rank):
                self.read_scalar()
            if op.summed == ("backward" if backward else "forward"):
                yield from self.tensor_reduce()
        if self.layout.expert_of:
            yield from self.exchange()

    def read_scalar(self):
        began = self.now_ns
        self.host(3.0)
        self.wait_for_device()
        self.span("op", "aten::_local_scalar_dense", began)
        self.span("op", "aten::item", began - 900)
        self.now_ns += int(self.plan.sync_ns(self.rank) * self.host_noise.next())

    def pause(self, step, kind, us):
        """Where a stall of this kind would be, which lasts @us in a healthy step."""
        began = self.now_ns
        self.host(us / self.host_factor)
        self.now_ns += self.plan.stall_ns(self.rank, step, kind)
        return began

    def next_batch(self, step):
        began = self.pause(step, "loader", 160.0 * self.host_noise.next() ** (3.0 * (self.rough - 1.0)))
        self.span("annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", began)
        self.span("frame", "torch/utils/data/dataloader.py(734): __next__", began - 1500)
        self.host(4.0)
        at = self.launch()
        start = max(at + LAUNCH_LATENCY_NS, self.free_ns)
        dur = int(self.tokens() * 0.02 * US * self.kernel_noise.next())
        self.free_ns = start + dur
        self.host(6.0)
        self.queued(start)
        if self.writer:
            self.writer.copy("HtoD (Pinned -> Device)", self.tokens() * 512, at, self.now_ns, start, dur)

    def pauses(self, step):
        """What Python does between two steps."""
        began = self.pause(step, "host", 60.0)
        self.span("frame", "train.py(88): log_metrics", began)
        if self.plan.stall_ns(self.rank, step, "gc"):
            began = self.pause(step, "gc", 20.0)
            self.span("frame", "<built-in function collect>", began)
        if self.plan.stall_ns(self.rank, step, "compile"):
            began = self.pause(step, "compile", 50.0)
            self.span("annotation", "_compile.compile_inner (dynamo_timed)", began)
        if self.plan.stall_ns(self.rank, step, "allocator"):
            self.allocate(step)
        if self.plan.stall_ns(self.rank, step, "checkpoint"):
            began = self.pause(step, "checkpoint", 50.0)
            self.span("frame", "torch/serialization.py(944): save", began + 500)
            self.span("frame", "train.py(131): write_checkpoint", began)

    def evaluate(self, passes):
        """Forward passes of one rank alone, and the loss of each is read."""
        began = self.now_ns
        for _ in range(passes):
            for _ in range(self.shape.layers // self.layout.stages):
                for op in FORWARD:
                    self.op(op)
            self.wait_for_device()
        self.span("frame", "train.py(140): evaluate", began)

    def allocate(self, step):
        began = self.now_ns
        half_ns = self.plan.stall_ns(self.rank, step, "allocator") // 6
        for number in range(6):
            call_began = self.now_ns
            self.now_ns += int(half_ns * self.host_noise.next())
            self.span("runtime", "cudaFree" if number % 2 == 0 else "cudaMalloc", call_began)
        self.span("op", "aten::empty", began - 1200)

    def step(self, step):
        """One step; a generator, for it has to wait for other ranks."""
        began = self.now_ns
        self.host(5.0)
        self.work = self.plan.work(self.rank, step) * (1.0 + 0.003 * (self.rough - 1.0) * self.column_dice.gauss(0.0, 1.0))
        self.device_factor = self.evenness * self.plan.speed(self.rank, step)
        group = self.layout.tensor_of.get(self.rank)
        if self.layout.stage(self.rank) == 0 and (self.layout.topology != "tpdp" or group.members[0] == self.rank):
            self.next_batch(step)
        self.pauses(step)
        if self.plan.evaluations(self.rank, step):
            self.evaluate(self.plan.evaluations(self.rank, step))
        yield from self.pipeline(step) if self.layout.stages > 1 else self.plain(step)
        zero = self.now_ns
        for _ in range(4):
            self.op(OPTIMIZER)
        self.span("annotation", "Optimizer.step#AdamW.step", zero)
        item = self.now_ns
        self.host(8.0)
        self.wait_for_device()
        self.span("op", "aten::_local_scalar_dense", item + 1000)
        self.span("op", "aten::item", item)
        self.host(12.0)
        self.span("frame", "train.py(57): train_step", began + 2000)
        self.span("step", "ProfilerStep#%d" % (self.shape.first_step + step), began)

    def passes(self, backward, buckets=None, step=0):
        """All layers of the rank, forward or backward. With @buckets gradients are reduced meanwhile."""
        layers = self.shape.layers // self.layout.stages
        tickets, bucket = [], 0
        self.in_backward = backward
        began = self.now_ns
        for layer in range(layers):
            layer_began = self.now_ns
            yield from self.layer(backward)
            if not backward:
                self.span("frame", "nn.Module: Block_%d" % layer, layer_began)
            if buckets is not None and (layer + 1) * buckets // layers > layer * buckets // layers:
                tickets += self.bucket(step, bucket)
                bucket += 1
        self.in_backward = False
        self.span("frame", "torch/_tensor.py(590): backward" if backward else "nn.Module: Transformer_0", began)
        return tickets

    def bucket(self, step, number):
        """Reduces a bucket of gradients. Whoever swaps issues the first two in the other order, both when both are full."""
        group = self.layout.data_of.get(self.rank)
        if group is None:
            return []
        swaps = self.plan.swaps(self.rank, step)
        numbers = ([] if number == 0 else [1, 0] if number == 1 else [number]) if swaps else [number]
        dropped = self.plan.drops(self.rank, step, number)
        return [self.collective(group, "allreduce", self.shape.bucket_elements * (4 + 2 * (which == 0)) // 4,
                                NETWORK_BYTES_PER_US, dropped=dropped) for which in numbers]

    def await_buckets(self, tickets):
        for ticket in tickets:
            _, end = yield ticket
            self.ready_ns = max(self.ready_ns, end)

    def sharded_pass(self, backward):
        """Layers whose parameters are gathered one ahead; backward their gradients are scattered, and added up over the
        hosts where each has all parameters."""
        group, layers = self.layout.shard_of.get(self.rank, self.layout.groups[0]), self.shape.layers
        replica = self.layout.replica_of.get(self.rank)
        count = len(group.members)
        share = LAYER_ELEMENTS // count
        self.in_backward, began, scattered = backward, self.now_ns, []
        gathered = self.collective(group, "_allgather_base", share, NETWORK_BYTES_PER_US, received=share * count)
        for layer in range(layers):
            ticket = gathered
            if layer + 1 < layers:
                gathered = self.collective(group, "_allgather_base", share, NETWORK_BYTES_PER_US, received=share * count)
            _, end = yield ticket
            self.ready_ns = max(self.ready_ns, end)
            yield from self.layer(backward)
            if backward:
                scattered.append(self.collective(group, "_reduce_scatter_base", share * count, NETWORK_BYTES_PER_US,
                                                 received=share))
            if backward and replica:
                scattered.append(self.collective(replica, "allreduce", share, NETWORK_BYTES_PER_US))
        self.in_backward = False
        self.span("frame", "torch/_tensor.py(590): backward" if backward else "nn.Module: FSDPTransformer_0", began)
        yield from self.await_buckets(scattered)

    def owned_step(self, step):
        """Gradients go to the rank that owns them, and parameters come back from it."""
        yield from self.passes(False)
        yield from self.passes(True)
        group = self.layout.groups[0]
        share = self.shape.layers * LAYER_ELEMENTS // OWNERS
        owners = [group.members[number * len(group.members) // OWNERS] for number in range(OWNERS)]
        for name in ("reduce", "broadcast"):
            yield from self.await_buckets([self.collective(group, name, share, NETWORK_BYTES_PER_US, root=owner)
                                           for owner in owners])

    def plain(self, step):
        if self.layout.topology in ("fsdp", "hsdp"):
            yield from self.sharded_pass(False)
            yield from self.sharded_pass(True)
            return
        if self.layout.topology == "zero":
            yield from self.owned_step(step)
            return
        if self.layout.topology == "tpdp":
            yield from self.share_batch()
        yield from self.passes(False)
        tickets = yield from self.passes(True, BUCKETS, step)
        yield from self.await_buckets(tickets)

    # -------------------------------------------------------------- pipelines

    def transfer(self, step_on, forward):
        """Sends to (@step_on 1) or receives from (-1) the next stage in the direction of the pass; a ticket, or None."""
        layout = self.layout
        towards = step_on if forward else -step_on
        stage = layout.stage(self.rank) + towards
        if not 0 <= stage < layout.stages:
            return None
        other = layout.neighbor(self.rank, towards)
        source, target = (self.rank, other) if step_on == 1 else (other, self.rank)
        return self.collective(layout.pipe_of[self.rank], "send" if step_on == 1 else "recv", self.tokens() * HIDDEN,
                               PAIR_BYTES_PER_US, key=("p2p", source, target), peers=(source, target))

    def micro(self, forward, last, step):
        """One micro-batch through this stage."""
        ticket = self.transfer(-1, forward)
        if ticket:
            _, self.ready_ns = yield ticket
        tickets = yield from self.passes(not forward, BUCKETS if last else None, step)
        self.transfer(1, forward)
        return tickets

    def pipeline(self, step):
        """One forward, one backward, after as many forwards as there are stages behind this one."""
        batches = self.plan.micro_batches(self.shape.micro_batches)
        warm = min(batches, self.layout.stages - 1 - self.layout.stage(self.rank))
        tickets = []
        for _ in range(warm):
            yield from self.micro(True, False, step)
        for number in range(batches):
            if number + warm < batches:
                yield from self.micro(True, False, step)
            tickets = yield from self.micro(False, number == batches - 1, step)
        yield from self.await_buckets(tickets)

    def run(self, steps):
        """The whole life of the rank; step 0 is not recorded: what ranks carry into a window comes from before it."""
        for step in range(steps):
            if self.writer:
                self.writer.step_begins(step)
            yield from self.step(step)
