#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record small models on the CPU with what PyTorch's own counter counts: record_flops.py FOLDER

Writes FOLDER/MODEL.json.gz, a trace of one training step or one call with shapes, cut down to its operators, and with
the operations that torch.utils.flop_counter counted in a second run as "flop_counter" beside them. Needs PyTorch 2.1 or
later; the files are the same for the same version of it but for times. The test flops.py compares the program with them.
"""
import gzip
import json
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

KEPT = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Sequence number", "Fwd thread id", "External id")


class Attention(nn.Module):
    """One layer of a transformer, with fewer heads for keys where asked."""

    def __init__(self, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.into = nn.Linear(heads * size, 3 * heads * size)
        self.out = nn.Linear(heads * size, heads * size)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, self.size)).transpose(1, 2) for part in self.into(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class ByHand(nn.Module):
    """Attention in three operators, with a mask that is added."""

    def forward(self, x):
        scores = torch.baddbmm(torch.zeros(x.shape[1], x.shape[1]), x, x.transpose(1, 2), alpha=0.125)
        return torch.bmm(scores.softmax(-1), x)


class Gated(nn.Module):
    def __init__(self, size, inner):
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(size, inner), nn.Linear(size, inner), nn.Linear(inner, size)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 16, 24))

    def forward(self, x):
        return torch.einsum("bhi,hio->bho", x, self.weight)


def models():
    """Name, model, input, and whether it is trained. Those with groups are not: the counter forgets the groups in the
    gradient of the weights (PyTorch 2.15)."""
    yield "mlp", nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)), torch.randn(8, 32), True
    yield "cnn", nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3),
                               nn.Flatten(), nn.LazyLinear(10)), torch.randn(2, 3, 16, 16), True
    yield "depthwise", nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 1)), \
        torch.randn(2, 8, 12, 12), False
    yield "grouped_dilated", nn.Conv2d(8, 16, (1, 5), padding=(0, 4), dilation=2, groups=2), torch.randn(2, 8, 9, 12), False
    yield "transposed", nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1), torch.randn(2, 8, 6, 6), True
    yield "conv1d", nn.Conv1d(4, 8, 5, stride=3), torch.randn(2, 4, 40), True
    yield "conv3d", nn.Conv3d(2, 4, 3, padding=1), torch.randn(1, 2, 6, 6, 6), True
    yield "transformer", nn.Sequential(Attention(4, 16), Gated(64, 96)), torch.randn(2, 20, 64), True
    yield "attention_by_hand", ByHand(), torch.randn(3, 10, 16), False
    yield "encoder", nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), torch.randn(2, 12, 32), True
    yield "einsum", Einsum(), torch.randn(3, 4, 16), True
    yield "language_model", nn.Sequential(nn.Embedding(50, 16), nn.LayerNorm(16), nn.Linear(16, 50)), \
        torch.randint(50, (2, 7)), True
    yield "channels_last", nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last), \
        torch.randn(2, 4, 10, 10).to(memory_format=torch.channels_last), False


def run(model, data, trained):
    result = model(data)
    if trained:
        result.float().sum().backward()


def trace_of(model, data, trained):
    """The operators of a run, with what is needed of each."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        run(model, data, trained)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        trace = json.loads(Path(file.name).read_text(encoding="utf-8"))
    rows = [row for row in trace["traceEvents"] if row.get("ph") == "X" and row.get("cat") == "cpu_op"]
    start, main_thread = min(row["ts"] for row in rows), rows[0]["tid"]
    for row in rows:
        row.update(ts=round(row["ts"] - start, 3), pid=1, tid=1 + (row["tid"] != main_thread))
        row["args"] = {key: row["args"][key] for key in KEPT if key in row["args"]}
    return {"schemaVersion": 1, "record_shapes": 1, "traceEvents": rows}


def main():
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name, model, data, trained in models():
        run(model, data, trained)
        with FlopCounterMode(display=False) as counter:
            run(model, data, trained)
        trace = trace_of(model, data, trained)
        trace["flop_counter"] = counter.get_total_flops()
        with gzip.GzipFile(folder / f"{name}.json.gz", "wb", mtime=0) as file:
            file.write(json.dumps(trace, separators=(",", ":")).encode())
        print(name, trace["flop_counter"], len(trace["traceEvents"]))


if __name__ == "__main__":
    main()
