# SPDX-License-Identifier: MIT
"""Jobs of pytorch_gpu.py whose GPU is busy with work that another form would not need: see JOBS."""
import torch
from torch import nn
from torch.nn import functional

from pytorch_gpu_job import Job

DEVICE = "cuda"


class Block(nn.Module):
    """Attention and a layer of as many units, each behind a norm."""

    def __init__(self, width, heads, norm):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(out.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class WrittenOutNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + 1e-6)).to(x.dtype)


def written_out_norm(planted):
    """RMSNorm as six operators in float32; the twin calls the fused one."""
    norm = WrittenOutNorm if planted else (lambda width: nn.RMSNorm(width, eps=1e-6))
    layers = nn.ModuleList(Block(2048, 16, norm) for _ in range(4)).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-4, fused=True)
    tokens = torch.randn(8, 1024, 2048, device=DEVICE, dtype=torch.bfloat16)

    def step():
        hidden = tokens
        for layer in layers:
            hidden = layer(hidden)
        hidden.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def unpack(packed, scale):
    """Two weights of four bits in each byte."""
    whole = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1)
    return (whole.to(torch.bfloat16) - 8) * scale


class PackedLinear(nn.Module):
    def __init__(self, inputs, outputs, each_call):
        super().__init__()
        packed = torch.randint(0, 256, (outputs, inputs // 2), dtype=torch.uint8, device=DEVICE)
        scale = torch.full((outputs, 1), 0.004, dtype=torch.bfloat16, device=DEVICE)
        self.weight = None if each_call else unpack(packed, scale)
        self.packed, self.scale = packed, scale

    def forward(self, x):
        return functional.linear(x, unpack(self.packed, self.scale) if self.weight is None else self.weight)


def unpacked_each_call(planted):
    """Weights of four bits are turned to bfloat16 in each call; the twin keeps them turned."""
    layers = [(nn.LayerNorm(4096, device=DEVICE, dtype=torch.bfloat16), PackedLinear(4096, 16384, planted),
               PackedLinear(16384, 4096, planted)) for _ in range(4)]
    prompt = torch.randn(2048, 4096, device=DEVICE, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        x = prompt
        for norm, up, down in layers:
            x = x + down(functional.gelu(up(norm(x))))
        return x
    return step


BOTH = {"record_shapes": True, "with_stack": True}
JOBS = {
    "written-out-norm": Job(written_out_norm, ["written-out"], steps=4, profiler=BOTH, least_frame_us=20.0),
    "unpacked-each-call": Job(unpacked_each_call, ["weights-made-anew"], steps=4, profiler=BOTH, least_frame_us=20.0),
}
