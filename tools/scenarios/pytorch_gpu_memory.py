# SPDX-License-Identifier: MIT
"""Jobs about memory for pytorch_gpu.py, which says what a job is. Each records the allocator's history with stacks of Python
from its first allocation on and writes the snapshot alone: warm-up and recorded steps are called from two places, as in most
programs.
"""
import copy
import math

import torch
from torch import nn
from torch.nn import functional

from pytorch_gpu_job import Job

DEVICE, DTYPE = "cuda", torch.bfloat16


def remember(quota_gib=0):
    """quota_gib: this process's part of a shared card."""
    if quota_gib:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(quota_gib * 2**30 / total)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")


class DeepMlp(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(512, width), nn.Linear(width, 64)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, rows):
        rows = self.inlet(rows)
        for layer in self.layers:
            rows = functional.gelu(layer(rows))
        return self.outlet(rows)


def on_device(module):
    return module.to(DEVICE, DTYPE)


def rows_of(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)


class BadBatch(RuntimeError):
    pass


def failed_batches(planted):
    """Batches whose loss is not finite are put aside with the exception, whose traceback holds the frames and the graph; the
    twin keeps its text."""
    remember()
    model, count, failed = on_device(DeepMlp(4096, 4)), [0], []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    good = rows_of(16384, 512)
    bad = good.clone()
    bad[7, 3] = math.inf

    def compute_loss(rows):
        prediction = model(rows)
        loss = prediction.float().square().mean()
        if not torch.isfinite(loss):
            raise BadBatch("the loss is not finite")
        return loss

    def step():
        count[0] += 1
        optimizer.zero_grad(set_to_none=True)
        try:
            compute_loss(bad if count[0] % 2 else good).backward()
            optimizer.step()
        except BadBatch as error:
            failed.append((count[0], error if planted else repr(error)))
    return step


class PixelConfidence:
    """How sure the predictions are, over all of a validation."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.probabilities = []

    def update(self, logits):
        self.probabilities.append(logits.float().softmax(1))

    def compute(self):
        return torch.stack([each.amax(1).mean() for each in self.probabilities]).mean().item()


def metric_without_reset(planted):
    """A metric keeps the predictions of each validation, at every second step, and is never reset; the twin resets it."""
    remember()
    model = on_device(nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(64, 21, 1)))
    optimizer, metric, count = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9), PixelConfidence(), [0]
    images, labels = rows_of(4, 3, 512, 512), torch.randint(21, (4, 512, 512), device=DEVICE)

    @torch.no_grad()
    def validate():
        for _ in range(4):
            metric.update(model(images))
        metric.compute()
        if not planted:
            metric.reset()

    def step():
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        count[0] += 1
        if count[0] % 2 == 0:
            validate()
    return step


def validation_graph(planted):
    """A validation keeps the loss of each batch with its graph until memory runs out, on a card shared by quota; the twin
    runs in inference mode."""
    remember(quota_gib=6)
    model = on_device(DeepMlp(4096, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows, target = rows_of(8192, 512), rows_of(8192, 64)

    def step():
        optimizer.zero_grad(set_to_none=True)
        functional.mse_loss(model(rows), target).backward()
        optimizer.step()
        with torch.inference_mode(not planted):
            losses = [functional.mse_loss(model(rows), target) for _ in range(24)]
        return torch.stack(losses).mean().item()
    return step


def first_token_views(planted):
    """An index keeps the first token of each output as a view, and with it the whole output; the twin copies it."""
    remember()
    encoder = on_device(nn.TransformerEncoderLayer(2048, 16, 8192, dropout=0.0, batch_first=True)).eval()
    documents, index = rows_of(32, 1024, 2048), []

    @torch.no_grad()
    def step():
        first = encoder(documents)[:, 0]
        index.append(first if planted else first.clone())
    return step


class CachedLayer(nn.Module):
    """Attention of a model that decodes; its keys and values are an argument."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, rows, past, place, fixed):
        batch, count, width = rows.shape
        query, key, value = self.qkv(rows).view(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if fixed:
            past[0][:, :, place:place + count] = key
            past[1][:, :, place:place + count] = value
            key, value, present = past[0][:, :, :place + count], past[1][:, :, :place + count], past
        else:
            if past is not None:
                key = torch.cat([past[0], key], dim=2)
                value = torch.cat([past[1], value], dim=2)
            present = key, value
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=count > 1)
        return rows + self.out(mixed.transpose(1, 2).reshape(batch, count, width)), present


class Generator(nn.Module):
    def __init__(self, layers, width=2048, heads=16):
        super().__init__()
        self.width, self.heads = width, heads
        self.layers = nn.ModuleList(CachedLayer(width, heads) for _ in range(layers))

    def room(self, slots, positions):
        shape = slots, self.heads, positions, self.width // self.heads
        return [tuple(torch.empty(shape, device=DEVICE, dtype=DTYPE) for _ in range(2)) for _ in self.layers]

    def forward(self, rows, past, place, fixed):
        presents = []
        for index, layer in enumerate(self.layers):
            rows, present = layer(rows, past and past[index], place, fixed)
            presents.append(present)
        return rows, presents


def cache_grown_by_cat(planted):
    """A model of one's own decodes, and each layer makes its keys and values anew for each token with cat, while the list of
    the last token's is there; the twin writes into a cache that is there from the start."""
    remember()
    model, slots, prompt, answer = on_device(Generator(4)), 48, 2048, 8

    @torch.inference_mode()
    def step():
        past = None if planted else model.room(slots, prompt + answer)
        rows, past = model(rows_of(slots, prompt, 2048), past, 0, not planted)
        rows = rows[:, -1:].clone()
        for token in range(answer):
            rows, past = model(rows, past, prompt + token, not planted)
        return rows
    return step


def ended_sessions(planted):
    """A server keeps the keys and values of each session in a dictionary, those of ended ones as well; the twin drops
    them."""
    remember()
    model, caches, count = on_device(Generator(6)), {}, [0]

    @torch.inference_mode()
    def step():
        session = count[0]
        count[0] += 1
        rows, caches[session] = model(rows_of(4, 1024 + 64 * (session % 3), 2048), caches.get(session), 0, False)
        if not planted:
            del caches[session]
        return rows[:, -1:].clone()
    return step


class Keeper:
    """Follows a model: an average for evaluation, and the weights of the best step so far."""

    def __init__(self, model, place):
        self.place, self.best_loss, self.best = place, math.inf, None
        self.average = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model, loss):
        for mean, weight in zip(self.average.parameters(), model.parameters()):
            mean.lerp_(weight, 0.01)
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = {name: weight.to(self.place, copy=True) for name, weight in model.state_dict().items()}


def best_weights(planted):
    """The best weights are kept on the device, and copied anew while the last copy is there; the twin keeps them on the
    host. An average of the weights is there in both."""
    remember()
    with torch.device(DEVICE):
        model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(6144, 6144), nn.GELU())))
        rows = torch.randn(1024, 6144)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    keeper = Keeper(model, DEVICE if planted else "cpu")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = (model(rows) - rows).square().mean()
        loss.backward()
        optimizer.step()
        keeper.update(model, loss.item())
    return step


def job(make, accept, steps, warm_up):
    return Job(make, accept, unit="bytes", steps=steps, memory=True, trace=False, warm_up=warm_up, windows=0)


JOBS = {
    "failed-batches": job(failed_batches, ["memory-leak"], steps=5, warm_up=5),
    "metric-without-reset": job(metric_without_reset, ["memory-leak"], steps=5, warm_up=4),
    "validation-graph": job(validation_graph, ["oom-graphs"], steps=2, warm_up=0),
    "first-token-views": job(first_token_views, ["memory-leak"], steps=4, warm_up=4),
    "cache-grown-by-cat": job(cache_grown_by_cat, ["kv-cache-remade"], steps=2, warm_up=2),
    "ended-sessions": job(ended_sessions, ["memory-leak"], steps=2, warm_up=8),
    "best-weights": job(best_weights, ["weight-copies"], steps=1, warm_up=2),
}
