# SPDX-License-Identifier: MIT
"""Jobs of pytorch_gpu.py that answer requests, each step one of them: see JOBS."""
import torch
from torch import nn
from torch.nn import functional

from pytorch_gpu_job import Job

DEVICE, HALF = "cuda", torch.bfloat16


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attention(self, x, mask, causal):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and mask is None)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, mask=None, causal=True):
        x = x + self.attention(self.norm1(x), mask, causal)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, vocabulary, width=2048, heads=16, layers=4):
        super().__init__()
        self.embed, self.norm = nn.Embedding(vocabulary, width), nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def hidden(self, ids, mask=None):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


def logits_of_all(planted):
    """The logits of all positions are made and cast, and those of the last one are used; the twin's head sees the last
    position."""
    model = Decoder(64000).to(DEVICE, HALF).eval()
    ids = torch.randint(64000, (8, 1024), device=DEVICE)
    choices = torch.tensor([11, 22, 33, 44], device=DEVICE)

    @torch.inference_mode()
    def step():
        hidden = model.hidden(ids)
        logits = model.head(hidden).float()[:, -1] if planted else model.head(hidden[:, -1]).float()
        return logits[:, choices].softmax(-1).cpu()
    return step


def mask_of_all_pairs(planted):
    """Attention over one long document is handed a causal mask as a tensor; the twin says is_causal."""
    model, length = Decoder(32000).to(DEVICE, HALF).eval(), 8192
    ids = torch.randint(32000, (1, length), device=DEVICE)
    mask = torch.full((length, length), float("-inf"), device=DEVICE, dtype=HALF).triu(1) if planted else None

    @torch.inference_mode()
    def step():
        return model.head(model.hidden(ids, mask)[:, -1]).argmax(-1).cpu()
    return step


class Projection(nn.Module):
    def __init__(self, width, inner, out):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, out)

    def forward(self, x):
        return functional.normalize(self.outer(functional.gelu(self.inner(x.to(self.inner.weight.dtype)))), dim=-1)


def head_in_32_bits(planted):
    """The projection behind a model in bfloat16 was left in float32; the twin's is in bfloat16."""
    blocks = nn.ModuleList(Block(2048, 16) for _ in range(4)).to(DEVICE, HALF).eval()
    projection = Projection(2048, 8192, 128).to(DEVICE, torch.float32 if planted else HALF)
    x0 = torch.randn(16, 512, 2048, device=DEVICE, dtype=HALF)

    @torch.inference_mode()
    def step():
        x = x0
        for block in blocks:
            x = block(x, causal=False)
        return projection(x).half().cpu()
    return step


BOTH = {"record_shapes": True, "with_stack": True}
JOBS = {
    "logits-of-all": Job(logits_of_all, ["rows-not-used"], steps=3, profiler={"record_shapes": True}),
    "mask-of-all-pairs": Job(mask_of_all_pairs, ["mask-for-all-pairs"], steps=2, profiler=BOTH, least_frame_us=20.0),
    "head-in-32-bits": Job(head_in_32_bits, ["wide-products"], steps=2, profiler=BOTH, least_frame_us=20.0),
}
