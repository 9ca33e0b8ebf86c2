# SPDX-License-Identifier: MIT
"""Small training and inference loops in PyTorch, each with one cause that can be planted: what pytorch_cpu.py records.

A job is a function of `planted` that returns a function which does one step. The two forms of a job differ in the cause and
in nothing else. JOBS names them, with the rules that name the cause rightly, and with what the recording has to show.
"""
import contextlib
import gc
import io
import math
import time
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import pytorch_habits as habits

IMAGE, CLASSES = 32, 10


# ---- models and data


class ConvNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(32 * width, CLASSES)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


class Attention(nn.Module):
    """fused: by scaled_dot_product_attention, else written out as matrix products around a softmax."""

    def __init__(self, width, heads, fused=True):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, rows):
        batch, length, width = rows.shape
        query, key, value = self.project(rows).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
            hidden = torch.ones(length, length, dtype=torch.bool, device=rows.device).triu(1)
            mixed = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, fused=True):
        super().__init__()
        self.attention = Attention(width, heads, fused)
        self.before, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, rows):
        rows = rows + self.attention(self.before(rows))
        return rows + self.feed(self.behind(rows))


class LanguageModel(nn.Module):
    def __init__(self, width=192, heads=4, blocks=2, words=512, fused=True):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, fused) for _ in range(blocks))
        self.head = nn.Linear(width, words)

    def forward(self, words):
        rows = self.words(words)
        for block in self.blocks:
            rows = block(rows)
        return self.head(rows)


class DeepMlp(nn.Module):
    """Many small parameters."""

    def __init__(self, width=64, layers=40):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width)) for _ in range(layers))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, rows):
        for layer in self.layers:
            rows = rows + functional.relu(layer(rows))
        return self.head(rows)


class Photos(Dataset):
    """Images decoded on request, each from a larger one; or decoded beforehand. Either may come from storage that lets
    wait."""

    def __init__(self, count, side, ready, read_s=0.0):
        self.count, self.side, self.read_s = count, side, read_s
        self.images = [self.decode(index) for index in range(min(count, 256))] if ready else None

    def __len__(self):
        return self.count

    def decode(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(1, 3, self.side, self.side, generator=generator)
        return (functional.interpolate(image, size=(IMAGE, IMAGE), mode="bilinear", antialias=True)[0] - 0.5) / 0.25

    def __getitem__(self, index):
        time.sleep(self.read_s)
        image = self.images[index % len(self.images)] if self.images else self.decode(index)
        return image, index % CLASSES


def images(batch=32):
    return torch.rand(batch, 3, IMAGE, IMAGE), torch.randint(CLASSES, (batch,))


def words(batch=4, length=128, vocabulary=512):
    return torch.randint(vocabulary, (batch, length))


def language_loss(model, batch):
    return functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def trainer(model, loss_of, batch_of, optimizer=None, after=None):
    """A plain training step."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        batch = batch_of()
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        if after:
            after(loss)
    return step


def image_loss(model, batch):
    return functional.cross_entropy(model(batch[0]), batch[1])


# ---- input


def dataloader_in_process(planted):
    """Pictures decoded in the training process; the twin has them decoded."""
    batches = iter(DataLoader(Photos(1 << 16, 320, ready=not planted), batch_size=8))
    return trainer(ConvNet(64), image_loss, lambda: next(batches))


def slow_worker(planted):
    """One worker that reads pictures from slow storage, 20 ms each; the twin's lie in memory."""
    photos = Photos(1 << 16, 64, ready=True, read_s=0.02 if planted else 0.0)
    batches = iter(DataLoader(photos, batch_size=16, num_workers=1, multiprocessing_context="fork"))
    return trainer(ConvNet(48), image_loss, lambda: next(batches))


# ---- optimizer and gradients


def per_tensor_optimizer(planted):
    """AdamW with foreach=False, parameter after parameter; the twin is fused."""
    model = DeepMlp(64, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **({"foreach": False} if planted else {"fused": True}))
    batch = torch.rand(512, 64), torch.randint(CLASSES, (512,))
    return trainer(model, image_loss, lambda: batch, optimizer)


def zero_grad_keeps(planted):
    """Gradients of a wide model overwritten with zeros, and added to, instead of dropped."""
    model = nn.Sequential(nn.Embedding(20000, 96), nn.Flatten(), nn.Linear(96 * 16, 256), nn.ReLU(), nn.Linear(256, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, fused=True)
    batch = torch.randint(20000, (256, 16)), torch.randint(CLASSES, (256,))

    def step():
        optimizer.zero_grad(set_to_none=not planted)
        image_loss(model, batch).backward()
        optimizer.step()
    return step


def anomaly_mode(planted):
    """Training under autograd's anomaly detection, left on after a hunt for a NaN."""
    model, batch = ConvNet(32), images(32)
    step = trainer(model, image_loss, lambda: batch)

    def guarded():
        with torch.autograd.set_detect_anomaly(planted):
            step()
    return guarded


# ---- operators


def unfused_attention(planted):
    """Attention written out as matrix products around a softmax; the twin calls scaled_dot_product_attention."""
    model, batch = LanguageModel(128, 8, 1, fused=not planted), words(1, 513)
    return trainer(model, language_loss, lambda: batch)


def tiny_operations(planted):
    """A recurrence written as a loop over time, gate by gate, where the twin calls the LSTM layer."""
    rows, width = torch.rand(8, 28, 128), 32
    cell = nn.LSTM(128, width, batch_first=True)
    into, again, bias = (getattr(cell, name).detach() for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0"))

    def by_hand():
        state = memory = torch.zeros(8, width)
        outputs = []
        for row in rows.unbind(1):
            gates = row @ into.t() + state @ again.t() + bias
            enter, forget, new, out = gates.chunk(4, -1)
            memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.sigmoid(out) * torch.tanh(memory)
            outputs.append(state)
        return torch.stack(outputs, 1)

    def step():
        with torch.inference_mode():
            return (by_hand() if planted else cell(rows)[0]).argmax(-1)
    return step


def redundant_copies(planted):
    """Activations cast to double and back and cloned between layers, as left over from a hunt for a NaN."""
    layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(6))
    rows = torch.rand(1024, 256)

    def step():
        with torch.inference_mode():
            current = rows
            for layer in layers:
                if planted:
                    current = current.to(torch.float64).clone().to(torch.float32).t().contiguous().t().contiguous()
                current = layer(current).relu_()
            return current
    return step


# ---- host


def collect_garbage(planted):
    """gc.collect in each step, of a process with many live objects."""
    keep = [{"row": [index, str(index)]} for index in range(20000)]
    model, batch = ConvNet(32), images(32)

    def after(_loss):
        if planted:
            gc.collect()
        return len(keep)
    return trainer(model, image_loss, lambda: batch, after=after)


def host_work(planted):
    """Text made ready in Python between steps; the twin has done it beforehand."""
    model = LanguageModel(96, 4, 1)
    ready = words(4, 65)
    text = " ".join("word%d" % (index % 211) for index in range(60000))

    def batch_of():
        if not planted:
            return ready
        numbers = {}
        ids = [numbers.setdefault(word.strip().lower(), len(numbers)) % 512 for word in text.split(" ")]
        return torch.tensor(ids[:4 * 65]).view(4, 65)
    return trainer(model, language_loss, batch_of)


def checkpoint_each_step(planted):
    """The whole model and optimizer saved in each step."""
    model = ConvNet(64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batch = images(16)

    def after(_loss):
        if planted:
            for _ in range(4):
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())
    return trainer(model, image_loss, lambda: batch, optimizer, after)


# ---- memory


def list_of_losses(planted):
    """Losses of a validation loop kept with their graphs, so that each batch's activations stay; the twin keeps numbers."""
    model, kept, batch = LanguageModel(96), [], words(2, 97)

    def step():
        loss = language_loss(model, batch)
        kept.append(loss if planted else loss.item())
    return step


def retained_graph(planted):
    """Backward with retain_graph=True and a history of the losses, so that each step's graph stays with its buffers."""
    cell, head = nn.GRUCell(128, 128), nn.Linear(128, CLASSES)
    rows, labels = torch.rand(2, 768, 128), torch.randint(CLASSES, (768,))
    history = []

    def step():
        state = torch.zeros(768, 128)
        for row in rows:
            state = cell(row, state)
        loss = functional.cross_entropy(head(state), labels)
        loss.backward(retain_graph=planted)
        for parameter in (*cell.parameters(), *head.parameters()):
            parameter.grad = None
        history.append(loss)
    return step


def kept_outputs(planted):
    """Predictions of an evaluation loop collected whole; the twin keeps the figure it needs."""
    model, kept = ConvNet(32), []
    batch = torch.rand(64, 3, IMAGE, IMAGE)

    def step():
        with torch.inference_mode():
            features = model.features[:4](batch)
            kept.append(features if planted else features.mean().item())
    return step


# ---- torch.compile


def recompiles(planted):
    """Requests of a size that differs from one to the next, each a new graph; the twin's are padded to one size."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 1024
    model = torch.compile(nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, CLASSES)), backend="aot_eager",
                          dynamic=False)
    sizes = iter(range(300, 100000))

    def step():
        with torch.no_grad():
            model(torch.rand(next(sizes) if planted else 300, 512)).argmax(-1)
    return step


def graph_breaks(planted):
    """The mean of each stage's output read for a log, which ends a graph that Dynamo compiles; the twin does not log."""
    torch._dynamo.reset()
    stages = nn.ModuleList(nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(5))
    log = []

    def note(rows):
        if planted:
            log.append(rows.mean().item())

    def forward(rows):
        rows = stages[0](rows) * 1.01 + 0.01
        note(rows)
        rows = stages[1](rows) * 1.01 + 0.01
        note(rows)
        rows = stages[2](rows) * 1.01 + 0.01
        note(rows)
        rows = stages[3](rows) * 1.01 + 0.01
        note(rows)
        return stages[4](rows)
    compiled, rows = torch.compile(forward, backend="inductor"), torch.rand(256, 128)

    def step():
        log.clear()
        with torch.no_grad():
            compiled(rows)
    return step


# ---- several processes


def accumulation_without_no_sync(planted, _rank=0):
    """Four micro-batches a step, each with its own reduction of the gradients; the twin reduces with the last one."""
    model = DistributedDataParallel(nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, CLASSES)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    batch = torch.rand(512, 512), torch.randint(CLASSES, (512,))

    def step():
        optimizer.zero_grad()
        for micro in range(4):
            with contextlib.nullcontext() if planted or micro == 3 else model.no_sync():
                image_loss(model, batch).backward()
        optimizer.step()
    return step


def slow_rank(planted, rank=0):
    """Rank 1 makes its batch by hand before each step; what is recorded is rank 0, which waits for it in the reduction."""
    model = DistributedDataParallel(ConvNet(48))
    batch = images(16)

    def batch_of():
        if planted and rank:
            time.sleep(0.03)
        return batch
    return trainer(model, image_loss, batch_of)


@dataclass
class Job:
    make: object
    accept: list
    unit: str = "us"
    ranks: int = 1
    steps: int = 5
    windows: int = 9                                  # that are timed
    waits: bool = False                               # for other processes: its cost is told by the wall clock
    varies: bool = False                              # its cost does, too much to hold a bound against
    profiler: dict = field(default_factory=dict)      # further arguments of torch.profiler.profile
    least_frame_us: float = 0.0                       # Python frames shorter than this are left out


STACKS = {"with_stack": True}
SHAPES = {"record_shapes": True}
MEMORY = {"profile_memory": True}
JOBS = {
    "dataloader-in-process": Job(dataloader_in_process, ["dataloader-in-process"]),
    "slow-worker": Job(slow_worker, ["dataloader-wait"], waits=True),
    "per-tensor-optimizer": Job(per_tensor_optimizer,
                                ["per-tensor-optimizer", "single-tensor-optimizer", "optimizer-share"], steps=4),
    "zero-grad-keeps": Job(zero_grad_keeps, ["zero-grad"]),
    "anomaly-mode": Job(anomaly_mode, ["debug-mode"]),
    "unfused-attention": Job(unfused_attention, ["attention-by-hand", "unfused-attention"]),
    "tiny-operations": Job(tiny_operations, ["operators-in-a-loop", "tiny-operators"], steps=4),
    "redundant-copies": Job(redundant_copies, ["copy-as-symptom"]),
    "gc-in-loop": Job(collect_garbage, ["explicit-gc"], profiler=STACKS, least_frame_us=20.0),
    "host-work": Job(host_work, ["time-outside-operators"]),
    "checkpoint-each-step": Job(checkpoint_each_step, ["time-outside-operators"]),
    "list-of-losses": Job(list_of_losses, ["memory-growth"], unit="bytes", steps=6, profiler=MEMORY),
    "retained-graph": Job(retained_graph, ["memory-growth"], unit="bytes", steps=6, profiler=MEMORY),
    "kept-outputs": Job(kept_outputs, ["memory-growth"], unit="bytes", steps=6, profiler=MEMORY),
    "recompiles": Job(recompiles, ["recompiles", "compile-in-window"], steps=4, windows=3),
    "graph-breaks": Job(graph_breaks, ["graph-breaks", "many-compiled-regions"], steps=4),
    "accumulation-without-no-sync": Job(accumulation_without_no_sync, ["accumulation-reduces"], ranks=2, waits=True),
    "slow-rank": Job(slow_rank, ["cpu-communication"], ranks=2, waits=True),
    "reduced-one-by-one": Job(habits.reduced_one_by_one, ["per-tensor-collectives"], ranks=2, waits=True, steps=4,
                              windows=15),
    "clipped-one-by-one": Job(habits.clipped_one_by_one, ["clip-per-tensor"], steps=3, windows=5),
    "values-one-by-one": Job(habits.values_one_by_one, ["values-one-by-one"], steps=3, windows=5),
    "weights-copied": Job(habits.weights_copied, ["copies-of-all-tensors"], steps=4, windows=5),
    "deep-copied": Job(habits.deep_copied, ["deep-copies"], steps=3, windows=5, profiler=STACKS, least_frame_us=20.0),
    "sample-by-sample": Job(habits.sample_by_sample, ["module-in-a-loop"], steps=3, windows=5, profiler=STACKS),
    "lstm-by-hand": Job(habits.lstm_by_hand, ["operators-in-a-loop"], steps=3, windows=5),
    "tables-one-by-one": Job(habits.tables_one_by_one, ["operators-in-a-loop"], steps=4, windows=5),
    "written-out": Job(habits.written_out, ["written-out"], steps=4, windows=5),
    "loss-by-hand": Job(habits.loss_by_hand, ["written-out"], steps=4, windows=5),
    "checks-left-on": Job(habits.checks_left_on, ["value-checks"], steps=4, windows=5),
    "all-pairs": Job(habits.all_pairs, ["all-pairs"], steps=4, windows=5, profiler=SHAPES),
    "logits-of-all": Job(habits.logits_of_all, ["rows-not-used"], steps=4, windows=5, profiler=SHAPES),
    "one-by-one": Job(habits.one_by_one, ["one-at-a-time"], steps=4, windows=5, profiler=SHAPES),
    "optimizer-made-anew": Job(habits.made_anew, ["optimizer-made-anew"], steps=4, windows=5),
    "ranked-for-ten": Job(habits.ranked_for_ten, ["whole-sort"], steps=4, windows=5),
    "sorted-for-five": Job(habits.sorted_for_five, ["whole-sort"], steps=4, windows=5, profiler=SHAPES),
    "whitened-each-step": Job(habits.whitened_each_step, ["decompositions-in-loop"], steps=4, windows=5, profiler=SHAPES),
    "resized-by-way-of": Job(habits.resized_by_way_of, ["images-resized"], steps=4, windows=5),
    "best-state-written": Job(habits.best_state_written, ["states-saved"], steps=4, windows=5, profiler=STACKS,
                              least_frame_us=20.0),
    "product-order": Job(habits.product_order, ["product-order"], steps=4, windows=5, profiler=SHAPES),
    "fed-by-a-thread": Job(habits.fed_by_a_thread, ["lock-waits"], steps=5, windows=5, waits=True, profiler=STACKS),
    "watched-by-a-thread": Job(habits.watched_by_a_thread, ["interpreter-held"], steps=6, windows=5, waits=True, varies=True,
                               profiler=STACKS, least_frame_us=20.0),
    "drawn-from-all": Job(habits.drawn_from_all, ["whole-sort"], steps=4, windows=5, profiler=SHAPES),
    "chances-of-all": Job(habits.chances_of_all, ["rows-not-used"], steps=4, windows=5, profiler=SHAPES),
    "dropout-left-on": Job(habits.dropout_left_on, ["dropout-in-inference"], steps=4, windows=5),
    "cells-one-by-one": Job(habits.cells_one_by_one, ["operators-in-a-loop"], steps=3, windows=5),
    "power-iterations": Job(habits.power_iterations, ["operators-in-a-loop"], steps=3, windows=5),
    "transform-of-a-prime": Job(habits.transform_of_a_prime, ["awkward-transforms"], steps=4, windows=5, profiler=SHAPES),
    "adapter-made-whole": Job(habits.adapter_made_whole, ["product-order"], steps=4, windows=5, profiler=SHAPES),
    "penalized-each-step": Job(habits.penalized_each_step, ["second-order"], steps=4, windows=5),
    "validated-with-graph": Job(habits.validated_with_graph, ["unused-graph"], steps=8, windows=5),
    "results-by-cat": Job(habits.results_by_cat, ["growing-concatenation"], steps=12, windows=5,
                          profiler={**SHAPES, **MEMORY}),
    "double-precision": Job(habits.double_precision, ["double-precision"], steps=4, windows=5, profiler=SHAPES),
    "one-hot-words": Job(habits.one_hot_words, ["one-hot-product"], steps=4, windows=5, profiler=SHAPES),
    "dense-gradient": Job(habits.dense_gradient, ["dense-embedding-gradient"], steps=4, windows=5, profiler=SHAPES),
    "masks-made-anew": Job(habits.masks_made_anew, ["constants-in-loop"], steps=4, windows=5, profiler=SHAPES),
    "positions-made-anew": Job(habits.positions_made_anew, ["constants-in-loop"], steps=4, windows=5),
    "graph-of-backward": Job(habits.graph_of_backward, ["backward-builds-graph"], steps=4, windows=9),
    "recomputed": Job(habits.recomputed, ["recompute-in-backward"], steps=4, windows=5),
    "evaluated-each-step": Job(habits.evaluated_each_step, ["evaluation-in-loop"], steps=4, windows=5),
    "forward-for-the-log": Job(habits.forward_for_the_log, ["unused-graph"], steps=4, windows=5),
    "frozen-with-gradients": Job(habits.frozen_with_gradients, ["unneeded-gradients"], steps=4, windows=5, profiler=SHAPES),
    "loss-through-generator": Job(habits.loss_through_generator, ["unneeded-gradients"], steps=4, windows=5,
                                  profiler=SHAPES),
    "adapters-over-gradients": Job(habits.adapters_over_gradients, ["unneeded-gradients"], steps=4, windows=5,
                                   profiler=SHAPES),
    "inference-with-graph": Job(habits.inference_with_graph, ["inference-with-graph"], steps=4, windows=5),
    "micro-batches": Job(habits.micro_batches, ["micro-batches"], steps=3, windows=5),
    "hooks-left": Job(habits.hooks_left, ["module-hooks"], steps=3, windows=5, profiler=STACKS),
    "parsed-in-the-loop": Job(habits.parsed_in_the_loop, ["python-at-line"], steps=3, windows=5, profiler=STACKS),
    "short-epochs": Job(habits.short_epochs, ["epoch-starts"], steps=4, windows=5, waits=True),
    "no-cache": Job(habits.no_cache, ["growing-prefix"], steps=3, windows=5, profiler=SHAPES),
    "cache-by-cat": Job(habits.cache_by_cat, ["growing-concatenation"], steps=4, windows=5, profiler=SHAPES),
    "losses-one-by-one": Job(habits.losses_one_by_one, ["shared-part-again"], steps=4, windows=5),
    "cosines-of-all-pairs": Job(habits.cosines_of_all_pairs, ["all-pairs"], steps=4, windows=5, profiler=SHAPES),
    "repeated-for-heads": Job(habits.repeated_for_heads, ["repeated-copies"], steps=4, windows=5, profiler=SHAPES),
    "weights-unpacked-again": Job(habits.weights_unpacked_again, ["weights-made-anew"], steps=4, windows=5, profiler=SHAPES),
    "adapter-added-to-weight": Job(habits.adapter_added_to_weight, ["weights-made-anew"], steps=4, windows=5,
                                   profiler=SHAPES),
    "penalty-on-weights": Job(habits.penalty_on_weights, ["penalty-on-weights"], steps=4, windows=5, varies=True,
                              profiler=SHAPES),
    "normalized-at-full-size": Job(habits.normalized_at_full_size, ["elements-not-used"], steps=4, windows=5,
                                   profiler=SHAPES),
    "all-triplets": Job(habits.all_triplets, ["all-pairs"], steps=4, windows=5, profiler=SHAPES),
    "products-spread-out": Job(habits.products_spread_out, ["all-pairs"], steps=4, windows=5, profiler=SHAPES),
    "heads-one-by-one": Job(habits.heads_one_by_one, ["operators-in-a-loop"], steps=3, windows=5, profiler=SHAPES),
    "chosen-row-by-row": Job(habits.chosen_row_by_row, ["module-in-a-loop"], steps=3, windows=5,
                             profiler={**STACKS, **SHAPES}),
    "experts-on-all": Job(habits.experts_on_all, ["experts-on-all-tokens"], steps=3, windows=5, profiler=SHAPES),
    "metric-of-all": Job(habits.metric_of_all, ["metric-over-history"], steps=4, windows=5, profiler=SHAPES),
    "norms-in-closure": Job(habits.norms_in_closure, ["clip-per-tensor"], steps=3, windows=5),
    "reference-with-gradients": Job(habits.reference_with_gradients, ["unneeded-gradients"], steps=4, windows=5,
                                    profiler=SHAPES),
    "counted-in-integers": Job(habits.counted_in_integers, ["integer-products"], steps=4, windows=5, profiler=SHAPES),
    "scaled-by-diagonals": Job(habits.scaled_by_diagonals, ["diagonal-products"], steps=4, windows=5, profiler=SHAPES),
    "convolved-by-patches": Job(habits.convolved_by_patches, ["convolution-by-patches"], steps=4, windows=5,
                                profiler=SHAPES),
    "blurred-by-a-matrix": Job(habits.blurred_by_a_matrix, ["image-filter-as-matrix"], steps=4, windows=5, profiler=SHAPES),
    "adjacency-again": Job(habits.adjacency_again, ["sparse-matrix-made-again", "prepared-for-each-layer"], steps=4,
                           windows=5, profiler=SHAPES),
    "tokens-by-mask": Job(habits.tokens_by_mask, ["mask-gradients-on-cpu"], steps=4, windows=5, profiler=SHAPES),
    "averaged-by-name": Job(habits.averaged_by_name, ["python-at-line"], steps=3, windows=5, profiler=STACKS,
                            least_frame_us=5.0),
    "casts-anew": Job(habits.casts_anew, ["weights-cast-again"], steps=4, windows=5, profiler=SHAPES),
    "scores-by-one-hot": Job(habits.scores_by_one_hot, ["one-hot-product"], steps=4, windows=5, profiler=SHAPES),
    "cut-at-quantiles": Job(habits.cut_at_quantiles, ["work-on-gradients"], steps=4, windows=5, profiler=SHAPES),
    "table-normalized-again": Job(habits.table_normalized_again, ["weights-made-anew"], steps=24, windows=5,
                                  profiler=SHAPES),
    "rows-through-layers": Job(habits.rows_through_layers, ["repeated-copies"], steps=4, windows=5, profiler=SHAPES),
    "graph-made-dense": Job(habits.graph_made_dense, ["diagonal-products"], steps=4, windows=5, profiler=SHAPES),
    "pictures-padded": Job(habits.pictures_padded, ["padded-samples"], profiler=SHAPES),
    "stacked-anew": Job(habits.stacked_anew, ["growing-concatenation"], steps=3, windows=5),
    "long-filter": Job(habits.long_filter, ["image-filter-as-matrix"], steps=4, windows=5, profiler=SHAPES),
    "decoded-under-autocast": Job(habits.decoded_under_autocast, ["weights-cast-again"], steps=8, windows=5,
                                  profiler=SHAPES),
    "prefix-without-sizes": Job(habits.prefix_without_sizes, ["growing-prefix"], steps=3, windows=5),
    "normalized-by-the-loader": Job(habits.normalized_by_the_loader, ["elements-not-used"], steps=4, windows=5,
                                    profiler=SHAPES),
    "chances-for-the-largest": Job(habits.chances_for_the_largest, ["probabilities-for-a-maximum"], steps=4, windows=9,
                                   profiler=SHAPES),
    "negatives-by-weight": Job(habits.negatives_by_weight, ["draws-sum-all-weights"], steps=4, windows=9, profiler=SHAPES),
    "edges-for-each-layer": Job(habits.edges_for_each_layer, ["prepared-for-each-layer"], steps=4, windows=5,
                                profiler=SHAPES),
    "watched-backward": Job(habits.watched_backward, ["module-hooks"], steps=3, windows=9, profiler=STACKS),
    "checked-at-each-draw": Job(habits.checked_at_each_draw, ["argument-checks-on-cpu"], steps=3, windows=9),
}
