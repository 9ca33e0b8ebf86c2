# SPDX-License-Identifier: MIT
"""Jobs of pytorch_gpu.py that train: JOBS, by name, as entries of its Job; each is a function of `planted`."""
import torch
from torch import nn
from torch.nn import functional

from pytorch_gpu_job import Job

DEVICE = "cuda"


def autocast():
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads, causal)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))


class TinyGPT(nn.Module):
    def __init__(self, vocabulary, width, depth, heads, context):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal=True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LoRALinear(nn.Module):
    def __init__(self, base, rank=16, alpha=32):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        options = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features, **options) / rank)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank, **options))

    def forward(self, x):
        return self.base(x) + functional.linear(functional.linear(x, self.lora_a), self.lora_b) * self.scale


def add_lora(model, names=("qkv", "proj", "fc1", "fc2")):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in names and isinstance(child, nn.Linear):
                setattr(module, name, LoRALinear(child))
    return [parameter for name, parameter in model.named_parameters() if "lora_" in name]


def lora_base_not_frozen(planted):
    """Adapters on a language model whose own weights still require gradients; the twin freezes them."""
    vocabulary = 16000
    with torch.device(DEVICE):
        model = TinyGPT(vocabulary, 2048, 6, 16, 1024).to(torch.bfloat16)
    if not planted:
        model.requires_grad_(False)
    trainable = add_lora(model)
    optimizer = torch.optim.AdamW(trainable, lr=2e-4, fused=True)
    tokens = torch.randint(0, vocabulary, (8, 513), device=DEVICE)

    def finetune_step():
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
    return finetune_step


class ClickModel(nn.Module):
    def __init__(self, tables, rows, width, dense, sparse):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width, sparse=sparse, device=DEVICE) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 256), nn.ReLU(), nn.Linear(256, width))
        self.top = nn.Sequential(nn.Linear(width * (tables + 1), 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                 nn.Linear(512, 1))

    def forward(self, dense, ids):
        parts = [self.bottom(dense)] + [table(ids[:, i]) for i, table in enumerate(self.tables)]
        return self.top(torch.cat(parts, dim=1)).squeeze(1)


def recsys_dense_table_gradients(planted):
    """Large embedding tables with dense gradients, which Adam goes over whole; the twin's are sparse."""
    tables, rows, batch, count = 8, 1_200_000, 16384, [0]
    model = ClickModel(tables, rows, 64, 13, sparse=not planted).to(DEVICE)
    optimizers = [torch.optim.Adam(list(model.bottom.parameters()) + list(model.top.parameters()), lr=1e-3, fused=True)]
    table_parameters = list(model.tables.parameters())
    optimizers.append(torch.optim.Adam(table_parameters, lr=1e-3, fused=True) if planted
                      else torch.optim.SparseAdam(table_parameters, lr=1e-3))
    batches = [(torch.rand(batch, 13, device=DEVICE), torch.randint(0, rows, (batch, tables), device=DEVICE),
                torch.randint(0, 2, (batch,), device=DEVICE).float()) for _ in range(4)]

    def train_step():
        dense, ids, clicked = batches[count[0] % 4]
        count[0] += 1
        loss = functional.binary_cross_entropy_with_logits(model(dense, ids), clicked)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    return train_step


class SmallEncoder(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        layers, channels = [], 3
        for i, stride in enumerate((1, 2, 1, 2, 1, 2)):
            made = width << (i // 2)
            layers += [nn.Conv2d(channels, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made), nn.ReLU(inplace=True)]
            channels = made
        self.body = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(channels, 512), nn.ReLU(), nn.Linear(512, out))

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def info_nce_with_masks(features, temperature=0.1):
    n = features.shape[0]
    ids = torch.arange(n // 2, device=features.device).repeat(2)
    same = ids.unsqueeze(0) == ids.unsqueeze(1)
    diagonal = torch.eye(n, dtype=torch.bool, device=features.device)
    similarity = features @ features.T
    same = same[~diagonal].view(n, -1)
    similarity = similarity[~diagonal].view(n, -1)
    logits = torch.cat([similarity[same].view(n, -1), similarity[~same].view(n, -1)], dim=1) / temperature
    return functional.cross_entropy(logits, torch.zeros(n, dtype=torch.long, device=features.device))


def info_nce_with_targets(features, temperature=0.1):
    n = features.shape[0]
    diagonal = torch.eye(n, dtype=torch.bool, device=features.device)
    targets = torch.arange(n, device=features.device).roll(n // 2)
    logits = features @ features.T / temperature
    return functional.cross_entropy(logits.masked_fill(diagonal, float("-inf")), targets)


def simclr_boolean_masks(planted):
    """Pairs of a contrastive loss taken out of the matrix of similarities by masks; the twin covers the diagonal."""
    model = SmallEncoder(96, 128).to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    info_nce = info_nce_with_masks if planted else info_nce_with_targets
    images = torch.randint(0, 255, (2048, 3, 32, 32), dtype=torch.uint8, device=DEVICE)

    def two_views():
        views = torch.cat([images, images.flip(3)]).float().div_(255)
        return (views + 0.1 * torch.randn_like(views)).contiguous(memory_format=torch.channels_last)

    def train_step():
        with autocast():
            features = model(two_views())
        loss = info_nce(functional.normalize(features.float(), dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return train_step


class ViT(nn.Module):
    def __init__(self, width, depth, heads, classes=1000, image=224, patch=16):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, (image // patch) ** 2, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def layer_of(name, depth):
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    return 0 if name.startswith(("patch_embed", "pos_embed")) else depth + 1


def vit_group_for_each_parameter(planted):
    """Rates by layer with a parameter group for each parameter; the twin has one for each layer and weight decay."""
    depth, groups = 12, {}
    model = ViT(512, depth, 8).to(DEVICE)
    for name, parameter in model.named_parameters():
        layer, decay = layer_of(name, depth), 0.0 if parameter.ndim == 1 else 0.05
        options = {"params": [], "lr": 1e-3 * 0.75 ** (depth + 1 - layer), "weight_decay": decay}
        groups.setdefault(name if planted else (layer, decay), options)["params"].append(parameter)
    optimizer = torch.optim.AdamW(list(groups.values()))
    images = torch.randn(64, 3, 224, 224, device=DEVICE)
    labels = torch.randint(0, 1000, (64,), device=DEVICE)

    def train_step():
        with autocast():
            loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return train_step


SHAPES, STACKS, MEMORY = {"record_shapes": True}, {"with_stack": True}, {"profile_memory": True}
JOBS = {
    "lora-base-not-frozen": Job(lora_base_not_frozen, ["unneeded-gradients"], steps=4, profiler=SHAPES | MEMORY),
    "recsys-dense-table-gradients": Job(recsys_dense_table_gradients, ["dense-embedding-gradient"], steps=4,
                                        profiler=SHAPES),
    "simclr-boolean-masks": Job(simclr_boolean_masks, ["mask-gradients"], steps=4, profiler=SHAPES | STACKS),
    "vit-group-for-each-parameter": Job(vit_group_for_each_parameter, ["groups-of-one"], steps=4),
}
