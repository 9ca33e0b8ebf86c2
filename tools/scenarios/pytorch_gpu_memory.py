# SPDX-License-Identifier: MIT
"""Jobs about memory for pytorch_gpu.py, which says what a job is. Each records the allocator's history with stacks of Python
from its first allocation on and writes the snapshot alone: warm-up and recorded steps are called from two places, as in most
programs.
"""
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


def job(make, accept, steps, warm_up):
    return Job(make, accept, unit="bytes", steps=steps, memory=True, trace=False, warm_up=warm_up, windows=0)


JOBS = {
    "failed-batches": job(failed_batches, ["memory-leak"], steps=5, warm_up=5),
    "metric-without-reset": job(metric_without_reset, ["memory-leak"], steps=5, warm_up=4),
    "validation-graph": job(validation_graph, ["oom-graphs"], steps=2, warm_up=0),
    "first-token-views": job(first_token_views, ["memory-leak"], steps=4, warm_up=4),
}
