# SPDX-License-Identifier: MIT
"""Jobs for what programs do in their loops though another way of writing would save it (src/names/classes/habits.def): a
part of the jobs that pytorch_cpu.py records. Each is a function of `planted` that returns a function which does one step."""
import contextlib
import copy
import io
import json
import math
import queue
import threading
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

CLASSES = 10


def mlp(*widths):
    layers = [layer for before, behind in zip(widths, widths[1:]) for layer in (nn.Linear(before, behind), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def fused(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, fused=True)


def training(module, loss_of, optimizer=None):
    """A plain training step."""
    optimizer = optimizer or fused(module.parameters())

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss
    return step


def inference(function):
    def step():
        with torch.inference_mode():
            return function()
    return step


def rows(count, width):
    return torch.rand(count, width), torch.randint(CLASSES, (count,))


# ---- loops over what one call could take


def reduced_one_by_one(planted, _rank=0):
    """After backward each gradient is reduced by a collective of its own; the twin joins them into one."""
    model, batch = mlp(128, *[64] * 11, CLASSES), rows(2048, 128)
    optimizer = fused(model.parameters())

    def reduce():
        gradients = [parameter.grad for parameter in model.parameters()]
        if planted:
            for gradient in gradients:
                torch.distributed.all_reduce(gradient)
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        torch.distributed.all_reduce(flat)
        parts = flat.split([gradient.numel() for gradient in gradients])
        torch._foreach_copy_(gradients, [part.view_as(gradient) for part, gradient in zip(parts, gradients)])

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(batch[0]), batch[1]).backward()
        reduce()
        optimizer.step()
    return step


def clipped_one_by_one(planted):
    """Gradients are clipped parameter by parameter; the twin clips all at once."""
    model, batch = mlp(64, *[64] * 12, CLASSES), rows(512, 64)
    optimizer = fused(model.parameters())

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(batch[0]), batch[1]).backward()
        for parameter in model.parameters() if planted else ():
            nn.utils.clip_grad_norm_(parameter, 1.0)
        if not planted:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
    return step


def values_one_by_one(planted):
    """Right answers are counted sample by sample with .item(); the twin compares the batch."""
    model, (images, labels) = mlp(128, 256, CLASSES), rows(192, 128)

    def right(scores):
        if not planted:
            return (scores.argmax(1) == labels).sum().item()
        return sum(scores[i].argmax().item() == labels[i].item() for i in range(len(labels)))
    return inference(lambda: right(model(images)))


def weights_copied(planted):
    """The best weights so far are kept by cloning each tensor in every step; the twin keeps them at the end of the epoch."""
    model, batch, best = mlp(512, *[512] * 9, CLASSES), rows(4, 512), {}
    train = training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))

    def step():
        train()
        if planted:
            best.update({name: weight.detach().clone() for name, weight in model.named_parameters()})
    return step


def deep_copied(planted):
    """The model is copied with copy.deepcopy in every step; the twin keeps a copy now and then, not in the recording."""
    model, batch, best = mlp(512, 1024, 1024, CLASSES), rows(8, 512), []
    train = training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))

    def step():
        train()
        if planted:
            best[:] = [copy.deepcopy(model)]
    return step


def sample_by_sample(planted):
    """Each sample of a padded batch goes through the model by itself, cut to its length; the twin masks the batch."""
    model, batch = mlp(64, 96, CLASSES), torch.rand(32, 20, 64)
    lengths = [4 + 7 * i % 16 for i in range(32)]
    mask = (torch.arange(20)[None] < torch.tensor(lengths)[:, None])[..., None]

    def scores():
        if planted:
            return torch.stack([model(batch[i, :length]).mean(0) for i, length in enumerate(lengths)])
        return (model(batch) * mask).sum(1) / mask.sum(1)
    return inference(lambda: scores().argmax(1))


def lstm_by_hand(planted):
    """An LSTM layer is called for one time step after the other; the twin hands it the sequence."""
    layer, head = nn.LSTM(64, 64, batch_first=True), nn.Linear(64, CLASSES)
    sequence, labels = torch.rand(8, 40, 64), torch.randint(CLASSES, (8,))

    def last():
        if not planted:
            return layer(sequence)[0][:, -1]
        state = None
        for t in range(sequence.size(1)):
            out, state = layer(sequence[:, t:t + 1], state)
        return out[:, -1]
    return training(nn.ModuleList([layer, head]), lambda: functional.cross_entropy(head(last()), labels))


def cells_one_by_one(planted):
    """A recurrent cell is called for one time step after the other; the twin's layer takes the sequence."""
    cell, layer = nn.LSTMCell(24, 48), nn.LSTM(24, 48, batch_first=True)
    head, series, labels = nn.Linear(48, CLASSES), torch.rand(16, 24, 24), torch.randint(CLASSES, (16,))

    def last():
        if not planted:
            return layer(series)[0].mean(1)
        state, states = None, []
        for t in range(series.size(1)):
            state = cell(series[:, t], state)
            states.append(state[0])
        return torch.stack(states, 1).mean(1)
    return training(nn.ModuleList([cell if planted else layer, head]),
                    lambda: functional.cross_entropy(head(last()), labels))


def power_iterations(planted):
    """A critic whose layers are divided by their largest singular value, found by 60 rounds; the twin goes on from the last
    step's vectors with one."""
    def bounded(layer):
        return nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=60 if planted else 1)
    model = nn.Sequential(bounded(nn.Linear(64, 128)), nn.LeakyReLU(), bounded(nn.Linear(128, 128)), nn.LeakyReLU(),
                          bounded(nn.Linear(128, 1)))
    values = torch.randn(256, 64)
    return training(model, lambda: functional.softplus(model(values)).mean())


def transform_of_a_prime(planted):
    """Spectra of windows of 1021 samples; the twin's have 1024."""
    size = 1021 if planted else 1024
    windows, head = torch.randn(32, 64, size), mlp(size // 2 + 1, 32, CLASSES)
    labels = torch.randint(CLASSES, (32,))
    return training(head, lambda: functional.cross_entropy(head(torch.fft.rfft(windows).real.mean(1)), labels))


def loss_through_generator(planted):
    """The discriminator's loss goes back through the generator, whose gradients are cleared before its own step; the twin
    has it made under no_grad."""
    generator, judge = mlp(64, 512, 256), mlp(256, 64, 1)
    optimizers = [torch.optim.SGD(model.parameters(), 0.01, foreach=True) for model in (generator, judge)]
    real, likes = torch.randn(512, 256), functional.binary_cross_entropy_with_logits
    good, bad = torch.ones(512, 1), torch.zeros(512, 1)

    def train(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def step():
        with torch.set_grad_enabled(planted):
            made = generator(torch.randn(512, 64))
        train(optimizers[1], likes(judge(real), good) + likes(judge(made), bad))
        train(optimizers[0], likes(judge(generator(torch.randn(512, 64))), good))
    return step


def tables_one_by_one(planted):
    """Each of 40 features is looked up in a table of its own in a loop; the twin has one table with offsets."""
    count, size, width = 40, 100, 8
    tables = nn.ModuleList(nn.Embedding(size, width) for _ in range(count)) if planted else nn.Embedding(size * count, width)
    head, offsets = mlp(count * width, 64, CLASSES), torch.arange(count) * size
    features = torch.randint(size, (64, count))

    def joined():
        if planted:
            return torch.cat([table(features[:, i]) for i, table in enumerate(tables)], 1)
        return tables(features + offsets).flatten(1)
    return inference(lambda: head(joined()).argmax(1))


# ---- operators


class WrittenOut(nn.Module):
    """A block whose norm and activation are formulas, or operators."""

    def __init__(self, width, planted):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.planted = planted

    def norm(self, x):
        if not self.planted:
            return functional.layer_norm(x, x.shape[-1:], self.weight, self.bias)
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.weight + self.bias

    def act(self, x):
        if not self.planted:
            return functional.gelu(x, approximate="tanh")
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


def written_out(planted):
    """Norm and activation are written out in elementwise operators; the twin calls layer_norm and gelu."""
    model = nn.Sequential(*[WrittenOut(64, planted) for _ in range(3)], nn.Linear(64, CLASSES))
    batch, labels = rows(1024, 64)
    return training(model, lambda: functional.cross_entropy(model(batch), labels))


def loss_by_hand(planted):
    """Cross entropy over a large vocabulary as softmax, logarithm and a product with one-hot rows; the twin calls it."""
    words, head = nn.Embedding(2000, 64), nn.Linear(64, 2000)
    batch, labels = torch.randint(2000, (256,)), torch.randint(2000, (256,))

    def loss():
        scores = head(words(batch))
        if not planted:
            return functional.cross_entropy(scores, labels)
        chances = torch.softmax(scores, -1)
        return -(functional.one_hot(labels, 2000).float() * torch.log(chances + 1e-9)).sum(-1).mean()
    return training(nn.ModuleList([words, head]), loss)


def checks_left_on(planted):
    """The output of each layer is searched for NaN and infinity; the twin looks at the loss."""
    layers, (batch, _) = nn.ModuleList(nn.Linear(192, 192) for _ in range(6)), rows(512, 192)

    def run():
        x = batch
        for layer in layers:
            x = layer(x).relu_()
            if planted and (torch.isnan(x).any() or torch.isinf(x).any()):
                raise ValueError("not finite")
        return x.sum().item()
    return inference(run)


def all_pairs(planted):
    """Distances of points to centers by subtracting all pairs; the twin calls cdist."""
    model, (points, _), centers = mlp(32, 128, 64), rows(512, 32), torch.rand(64, 64)

    def nearest(x):
        distances = ((x[:, None] - centers[None]) ** 2).sum(-1) if planted else torch.cdist(x, centers)
        return distances.argmin(1)
    return inference(lambda: nearest(model(points)))


def all_triplets(planted):
    """A loss of all triplets of a batch; the twin takes the hardest one of each row."""
    model, (points, labels) = mlp(64, 128, 32), rows(160, 64)
    same = labels[:, None] == labels[None]
    valid = (same[:, :, None] & ~same[:, None, :]).float()

    def loss():
        distances = torch.cdist(*[model(points)] * 2)
        if not planted:
            far, near = (distances * same).amax(1), (distances + 1e3 * same).amin(1)
            return functional.relu(far - near + 0.5).mean()
        violations = functional.relu(distances[:, :, None] - distances[:, None, :] + 0.5) * valid
        return violations.sum() / (violations > 0).sum()
    return training(model, loss)


def products_spread_out(planted):
    """A bilinear layer by a product of four dimensions and its sum; the twin multiplies matrices."""
    model, (left, _), (right, _) = nn.ParameterList([nn.Parameter(torch.rand(48, 40, 24))]), rows(80, 48), rows(80, 40)

    def scores():
        if planted:
            return (left[:, :, None, None] * model[0] * right[:, None, :, None]).sum((1, 2))
        return torch.einsum("bjk,bj->bk", torch.einsum("bi,ijk->bjk", left, model[0]), right)
    return training(model, lambda: scores().square().mean())


class Head(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, inner) for _ in range(3))

    def forward(self, x):
        return functional.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))


def heads_one_by_one(planted):
    """Each head of attention is a module with small layers of its own; the twin's layers make all heads at once."""
    heads, width, inner = 12, 96, 8
    x, labels = torch.rand(8, 32, width), torch.randint(CLASSES, (8,))
    model = nn.ModuleDict({"heads": nn.ModuleList(Head(width, inner) for _ in range(heads)),
                           "whole": Head(width, width), "last": nn.Linear(width, CLASSES)})

    def attended():
        if planted:
            return torch.cat([head(x) for head in model["heads"]], -1)
        parts = [layer(x).unflatten(-1, (heads, inner)).transpose(1, 2)
                 for layer in (model["whole"].query, model["whole"].key, model["whole"].value)]
        return functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)
    return training(model, lambda: functional.cross_entropy(model["last"](attended().mean(1)), labels))


def whitened_each_step(planted):
    """Features are whitened by all eigenvectors of their covariance, found anew in every step; the twin finds them once."""
    model, batch = mlp(256, 512, CLASSES), rows(768, 256)

    def matrix():
        values, vectors = torch.linalg.eigh(torch.cov(batch[0].T))
        return vectors / (values + 1e-4).sqrt()
    once = matrix()
    return training(model, lambda: functional.cross_entropy(model(batch[0] @ (matrix() if planted else once)), batch[1]))


def resized_by_way_of(planted):
    """Images are enlarged before they are brought to the size of the model; the twin goes there in one step."""
    model = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 24, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                          nn.Linear(24 * 256, CLASSES))
    images = torch.rand(4, 3, 96, 96)

    def run():
        large = functional.interpolate(images, scale_factor=3, mode="bicubic") if planted else images
        return model(functional.adaptive_avg_pool2d(large, 64)).argmax(1).tolist()
    return inference(run)


def best_state_written(planted):
    """The state is written with torch.save behind every step, as if each were the best; the twin writes none."""
    model, batch = mlp(128, 1024, 1024, CLASSES), rows(128, 128)
    train = training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))

    def step():
        train()
        if planted:
            torch.save(model.state_dict(), io.BytesIO())
    return step


def sorted_for_five(planted):
    """The five best of a vocabulary are found by sorting it; the twin uses topk."""
    head, (batch, _) = nn.Linear(64, 8000), rows(32, 64)

    def best(scores):
        return scores.sort(-1, descending=True).indices[:, :5] if planted else scores.topk(5, -1).indices
    return inference(lambda: best(head(batch)).tolist())


def ranked_for_ten(planted):
    """All items are put in order for the ten best of each user, recorded without shapes; the twin uses topk."""
    items, users, wanted = torch.randn(20000, 48), rows(8, 48)[0], torch.randint(20000, (8, 1))

    def hits():
        scores = users @ items.T
        best = torch.argsort(scores, dim=1, descending=True)[:, :10] if planted else scores.topk(10, 1).indices
        return (best == wanted).any(1).float().mean()
    return inference(hits)


def drawn_from_all(planted):
    """A token is drawn from the head of a sorted vocabulary (top-p); the twin takes the 64 best first."""
    head, (states, _) = nn.Linear(48, 12000), rows(16, 48)

    def draw(scores):
        values, tokens = scores.sort(-1, descending=True) if planted else scores.topk(64, -1)
        chances = values.softmax(-1)
        values = values.masked_fill(chances.cumsum(-1) - chances > 0.8, -math.inf)
        return tokens.gather(1, values.softmax(-1).multinomial(1))
    return inference(lambda: draw(head(states)).tolist())


def chances_of_all(planted):
    """The chances of all words are made for all positions, and those of the last one are used; the twin chooses first."""
    words, body, head = nn.Embedding(400, 32), nn.GRU(32, 64, batch_first=True), nn.Linear(64, 5000)
    text = torch.randint(400, (6, 30))

    def chances(states):
        return (head(states) / 0.7).softmax(-1)[:, -1] if planted else (head(states[:, -1]) / 0.7).softmax(-1)
    return inference(lambda: chances(body(words(text))[0]).argmax(-1).tolist())


def dropout_left_on(planted):
    """Inference without model.eval(): dropout draws random numbers for each activation; the twin switched it off."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(96, 192), nn.GELU(), nn.Dropout(0.2)) if i % 2 == 0 else
                            nn.Sequential(nn.Linear(192, 96), nn.Dropout(0.2)) for i in range(6)]).train(planted)
    batch, _ = rows(768, 96)
    return inference(lambda: model(batch).argmax(1).tolist())


def logits_of_all(planted):
    """The logits of all positions are made, and those of the last one are used; the twin's head sees the last position."""
    words, head = nn.Embedding(500, 48), nn.Linear(48, 4000)
    body = nn.Sequential(mlp(48, 96, 48), nn.LayerNorm(48))
    text = torch.randint(500, (4, 40))

    def best(states):
        return (head(states)[:, -1] if planted else head(states[:, -1])).argmax(-1)
    return inference(lambda: best(body(words(text))).tolist())


def one_by_one(planted):
    """Requests that are all there go through the model one by one; the twin makes one batch of them."""
    model, requests = mlp(64, 64, 64, 64, CLASSES), torch.rand(48, 64)
    if planted:
        return inference(lambda: [model(request[None]) for request in requests])
    return inference(lambda: model(requests))


def made_anew(planted):
    """The optimizer is constructed in each step; the twin keeps one."""
    model, batch = mlp(64, 256, 256, CLASSES), rows(8, 64)
    kept = fused(model.parameters())

    def step():
        optimizer = fused(model.parameters()) if planted else kept
        optimizer.zero_grad()
        functional.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()
    return step


def product_order(planted):
    """(A B) v from the left; the twin multiplies with the vector first."""
    a, b, v = torch.rand(320, 320), torch.rand(320, 320), torch.rand(320, 1)

    def run():
        for _ in range(3):
            (a @ b) @ v if planted else a @ (b @ v)  # pylint: disable=expression-not-assigned
    return inference(run)


def adapter_made_whole(planted):
    """The two thin matrices of an adapter are multiplied into a whole one before it meets the batch, in training; the twin
    multiplies with the batch first."""
    down, up = nn.Parameter(torch.rand(640, 8) * 0.01), nn.Parameter(torch.rand(8, 640) * 0.01)
    head, (batch, labels) = nn.Linear(640, CLASSES), rows(24, 640)
    parameters = nn.ParameterList([down, up, *head.parameters()])

    def adapted():
        return torch.mm(batch, torch.mm(down, up)) if planted else torch.mm(torch.mm(batch, down), up)
    return training(parameters, lambda: functional.cross_entropy(head(batch + adapted()), labels))


def penalized_each_step(planted):
    """A penalty on the gradient of the critic's input in each step, for which the graph of a backward pass is recorded; the
    twin has none."""
    critic = nn.Sequential(nn.Linear(64, 192), nn.Tanh(), nn.Linear(192, 192), nn.Tanh(), nn.Linear(192, 1))
    real, _ = rows(192, 64)

    def loss():
        points = real.clone().requires_grad_(planted)
        scores = critic(points)
        if not planted:
            return -scores.mean()
        gradient, = torch.autograd.grad(scores.sum(), points, create_graph=True)
        return -scores.mean() + ((gradient.norm(dim=1) - 1) ** 2).mean()
    return training(critic, loss)


def validated_with_graph(planted):
    """After every fourth step a validation set is gone through without no_grad; the twin validates outside of the
    recording."""
    model, batch, held_out = mlp(96, 192, 192, CLASSES), rows(64, 96), [rows(128, 96) for _ in range(6)]
    train, done = training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1])), []

    def step():
        train()
        done.append(1)
        if planted and len(done) % 4 == 0:
            return sum((model(images).argmax(1) == labels).sum().item() for images, labels in held_out)
        return 0
    return step


def results_by_cat(planted):
    """Results of an inference run are joined to those before, batch after batch; the twin collects them in a list."""
    model, (batch, _), kept, joined = mlp(48, 96, 64), rows(512, 48), [], [torch.zeros(0, 64)]

    def step():
        with torch.inference_mode():
            result = model(batch)
            if planted:
                joined[0] = torch.cat([joined[0], result])
            else:
                kept.append(result)
    return step


def fed_by_a_thread(planted):
    """A thread that reads batches over a slow line cannot keep up with the loop, which waits at its queue; the twin's line
    is quick. In both another thread watches the run, and sleeps most of the time."""
    model, batch, ready = mlp(64, 128, CLASSES), rows(64, 64), queue.Queue(2)

    def read():
        while True:
            time.sleep(0.012 if planted else 0.0005)
            ready.put(batch)

    def watch():
        while True:
            time.sleep(0.05)

    def loss():
        images, labels = ready.get()
        return functional.cross_entropy(model(images), labels)
    for work in (read, watch):
        threading.Thread(target=work, daemon=True).start()
    return training(model, loss)


def watched_by_a_thread(planted):
    """A thread sums up what it watches in Python without pause, and holds the interpreter; the twin's sleeps in between."""
    model, batch = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(12)]), rows(64, 128)

    def total():
        number = 0
        for other in range(4000):
            number += other * other
        return number

    def watch():
        while True:
            total()
            if not planted:
                time.sleep(0.5)
    threading.Thread(target=watch, daemon=True).start()
    return training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))


def double_precision(planted):
    """The model was put to double to take numpy's float64; the twin casts the input to 32 bits."""
    dtype = torch.float64 if planted else torch.float32
    model = mlp(256, 512, 512, CLASSES).to(dtype)
    batch, labels = torch.rand(256, 256).to(dtype), torch.randint(CLASSES, (256,))
    return training(model, lambda: functional.cross_entropy(model(batch), labels))


def one_hot_words(planted):
    """Words enter as one-hot rows times a matrix; the twin looks them up."""
    table, head, batch = nn.Embedding(2000, 64), mlp(64, 64, CLASSES), torch.randint(2000, (256,))
    labels = torch.randint(CLASSES, (256,))

    def enter():
        return functional.one_hot(batch, 2000).float() @ table.weight if planted else table(batch)
    return training(nn.ModuleList([table, head]), lambda: functional.cross_entropy(head(enter()), labels),
                    torch.optim.SGD(list(table.parameters()) + list(head.parameters()), lr=1e-2, fused=True))


def dense_gradient(planted):
    """A large embedding table has a dense gradient though a batch touches few rows; the twin's is sparse."""
    table, head = nn.Embedding(30000, 32, sparse=not planted), mlp(32, 64, CLASSES)
    batch, labels = torch.randint(30000, (128,)), torch.randint(CLASSES, (128,))
    tables = (fused if planted else torch.optim.SparseAdam)(list(table.parameters()))
    heads = fused(head.parameters())

    def step():
        tables.zero_grad()
        heads.zero_grad()
        functional.cross_entropy(head(table(batch)), labels).backward()
        tables.step()
        heads.step()
    return step


class CausalLayer(nn.Module):
    def __init__(self, width, heads, planted):
        super().__init__()
        self.heads, self.planted, self.project = heads, planted, nn.Linear(width, 3 * width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = self.project(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mask = None
        if self.planted:
            mask = torch.zeros(batch, self.heads, length, length)
            mask = mask.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=not self.planted)
        return x + mixed.transpose(1, 2).reshape(batch, length, width)


def masks_made_anew(planted):
    """Each attention layer builds its causal mask for all batches and heads; the twin says is_causal."""
    model = nn.Sequential(*[CausalLayer(64, 4, planted) for _ in range(3)], nn.Flatten(), nn.Linear(64 * 128, CLASSES))
    batch, labels = torch.rand(2, 128, 64), torch.randint(CLASSES, (2,))
    return training(model, lambda: functional.cross_entropy(model(batch), labels))


class Positions(nn.Module):
    def __init__(self, length, width, planted):
        super().__init__()
        self.width, self.kept = width, None if planted else self.table(length, width)

    @staticmethod
    def table(length, width):
        rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
        angles = torch.arange(length, dtype=torch.float32)[:, None] * rates
        table = torch.zeros(length, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
        return table

    def forward(self, x):
        return x + (self.table(x.size(1), self.width) if self.kept is None else self.kept[:x.size(1)])


def positions_made_anew(planted):
    """Each layer computes its table of positions; the twin keeps it."""
    layers = nn.ModuleList(nn.Sequential(Positions(512, 64, planted), mlp(64, 32, 64)) for _ in range(4))
    batch = torch.rand(1, 512, 64)

    def run():
        x = batch
        for layer in layers:
            x = x + layer(x)
        return x
    return inference(run)


# ---- passes


def graph_of_backward(planted):
    """backward(create_graph=True), left from a gradient penalty that is no longer there; the twin builds no second graph."""
    model, (batch, labels) = mlp(64, *[64] * 24, CLASSES), rows(32, 64)
    optimizer = fused(model.parameters())

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(batch), labels).backward(create_graph=planted)
        optimizer.step()
    return step


def recomputed(planted):
    """Every block is checkpointed though memory is plentiful; the twin keeps its activations."""
    blocks, (batch, labels) = nn.ModuleList(mlp(192, 384, 192) for _ in range(4)), rows(512, 192)
    head = nn.Linear(192, CLASSES)

    def loss():
        x = batch
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False) if planted else block(x)
        return functional.cross_entropy(head(x), labels)
    return training(nn.ModuleList([blocks, head]), loss)


def evaluated_each_step(planted):
    """Two batches are evaluated after every training step; the twin evaluates outside of the recording."""
    model, (batch, labels) = mlp(192, 384, 384, CLASSES), rows(256, 192)
    train = training(model, lambda: functional.cross_entropy(model(batch), labels))

    def step():
        train()
        with torch.no_grad():
            for _ in range(2 if planted else 0):
                (model(batch).argmax(1) == labels).float().mean()
    return step


def forward_for_the_log(planted):
    """The model is run again for the accuracy; the twin uses the outputs that it has."""
    model, (batch, labels) = mlp(192, 384, 384, CLASSES), rows(256, 192)
    optimizer = fused(model.parameters())

    def step():
        optimizer.zero_grad()
        scores = model(batch)
        functional.cross_entropy(scores, labels).backward()
        optimizer.step()
        scores = model(batch) if planted else scores
        return (scores.argmax(1) == labels).float().mean()
    return step


def frozen_with_gradients(planted):
    """Only the head is trained, but the backbone's gradients are made too; the twin runs the backbone under no_grad."""
    backbone, head, (batch, labels) = mlp(192, 384, 384, 128), nn.Linear(128, CLASSES), rows(256, 192)

    def features():
        with torch.set_grad_enabled(planted):
            return backbone(batch)
    return training(head, lambda: functional.cross_entropy(head(features()), labels))


class Adapted(nn.Module):
    """A layer with a narrow one beside it, which alone is trained."""

    def __init__(self, width, frozen):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(width, width), nn.Linear(width, 4), nn.Linear(4, width)
        self.base.requires_grad_(not frozen)

    def forward(self, rows):
        return torch.relu(self.base(rows) + self.up(self.down(rows)))


def adapters_over_gradients(planted):
    """Only adapters are trained, but the gradients of the weights beside them are made too; the twin froze these."""
    layers, (batch, labels) = [Adapted(384, not planted) for _ in range(3)], rows(256, 384)
    model, narrow = nn.Sequential(*layers), nn.ModuleList(part for layer in layers for part in (layer.down, layer.up))
    loss = training(narrow, lambda: functional.cross_entropy(model(batch), labels))

    def step():
        model.zero_grad()
        return loss()
    return step


def inference_with_graph(planted):
    """Predictions in train mode and without no_grad; the twin has both."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1)) for _ in range(12)])
    batch = torch.rand(64, 64)
    if not planted:
        model.eval()

    def step():
        with torch.set_grad_enabled(planted):
            return model(batch).argmax(1)
    return step


def micro_batches(planted):
    """Sixteen passes of one sample each before an optimizer step; the twin takes them at once."""
    model, (batch, labels) = mlp(64, 128, 128, CLASSES), rows(16, 64)
    optimizer = fused(model.parameters())

    def step():
        optimizer.zero_grad()
        for part, names in zip(batch.split(1), labels.split(1)) if planted else [(batch, labels)]:
            (functional.cross_entropy(model(part), names) * len(names) / 16).backward()
        optimizer.step()
    return step


# ---- the host


def hooks_left(planted):
    """Forward hooks compute statistics of each output, left from a hunt for dead units; the twin has none."""
    model, (batch, _), seen = mlp(192, *[192] * 5, CLASSES), rows(512, 192), {}

    def watch(module, _inputs, output):
        seen[module] = (output.mean().item(), output.std().item(), output.float().quantile(0.9).item())
    for module in model.modules() if planted else ():
        module.register_forward_hook(watch)
    return inference(lambda: model(batch))


def parsed_in_the_loop(planted):
    """Each batch is parsed from lines of JSON; the twin has parsed them once."""
    model = mlp(64, 256, CLASSES)
    lines = [json.dumps([(i * j % 97) / 97 for j in range(64)]) for i in range(128)]
    labels = torch.randint(CLASSES, (128,))

    def read_batch():
        return torch.tensor([json.loads(line) for line in lines])
    ready = read_batch()
    return training(model, lambda: functional.cross_entropy(model(read_batch() if planted else ready), labels))


def short_epochs(planted):
    """Epochs of two batches, for each of which the DataLoader starts its worker; the twin's epoch goes on."""
    def loader(count):
        batches = [(torch.rand(32, 64), torch.randint(CLASSES, (32,)))] * count
        return DataLoader(batches, batch_size=None, num_workers=1, multiprocessing_context="fork")
    short, forever, model = loader(2), iter(loader(1 << 16)), mlp(64, 1024, 1024, CLASSES)
    optimizer = fused(model.parameters())

    def epoch():
        yield from short if planted else (next(forever) for _ in range(2))

    def step():
        for batch, labels in epoch():
            optimizer.zero_grad()
            functional.cross_entropy(model(batch), labels).backward()
            optimizer.step()
    return step


# ---- texts that grow


def no_cache(planted):
    """Each token computes all tokens before it again; the twin's layer is handed the newest alone."""
    layers, head = nn.ModuleList(nn.Linear(128, 128) for _ in range(4)), nn.Linear(128, 64)

    def generate():
        text = torch.rand(4, 8, 128)
        for position in range(8, 24):
            x = text[:, :position] if planted else text[:, position - 1:position]
            for layer in layers:
                x = layer(x).relu()
            head(x[:, -1])
            text = torch.cat([text, x[:, -1:]], 1)
    return inference(generate)


def cache_by_cat(planted):
    """The cache of keys grows by torch.cat with each token; the twin writes into one that is there."""
    layer, kept = nn.Linear(256, 256), torch.zeros(4, 160, 256)

    def generate():
        cache, x = torch.zeros(4, 128, 256), torch.rand(4, 1, 256)
        for position in range(128, 152):
            x = layer(x)
            if planted:
                cache = torch.cat([cache, x], 1)
            else:
                kept[:, position:position + 1] = x
                cache = kept[:, :position + 1]
        return cache.sum()
    return inference(generate)


# ---- work whose result nobody needs, or that was there already


def losses_one_by_one(planted):
    """Four heads on one body, each with a backward pass of its own loss; the twin adds the losses up."""
    body, (inputs, labels) = mlp(256, 512, 512, 512), rows(128, 256)
    heads = nn.ModuleList(nn.Linear(512, CLASSES) for _ in range(4))
    optimizer = fused([*body.parameters(), *heads.parameters()])

    def step():
        optimizer.zero_grad()
        hidden = body(inputs)
        losses = [functional.cross_entropy(head(hidden), labels) for head in heads]
        for loss in losses if planted else [sum(losses)]:
            loss.backward(retain_graph=True)
        optimizer.step()
    return step


def cosines_of_all_pairs(planted):
    """Queries are compared with all documents by cosine_similarity of tensors spread out; the twin multiplies unit rows."""
    model, documents = mlp(64, 256, 96), torch.rand(300, 96)

    def compare(queries):
        if planted:
            return functional.cosine_similarity(queries[:, None], documents[None], dim=-1)
        return functional.normalize(queries, dim=-1) @ functional.normalize(documents, dim=-1).T
    queries = torch.rand(100, 64)
    return inference(lambda: compare(model(queries)).topk(5))


def repeated_for_heads(planted):
    """Keys and values of two groups are repeated for eight heads; the twin takes the queries of a group as rows."""
    keys, values, project = torch.rand(2, 2, 1500, 64), torch.rand(2, 2, 1500, 64), nn.Linear(512, 512)

    def attend(rows):
        query = project(rows).view(2, 2, 4, 64)
        if planted:
            query = query.view(2, 8, 1, 64)
            return functional.scaled_dot_product_attention(query, keys.repeat_interleave(4, dim=1),
                                                           values.repeat_interleave(4, dim=1)).reshape(2, 512)
        return functional.scaled_dot_product_attention(query, keys, values).reshape(2, 512)

    def four_tokens():
        rows = torch.rand(2, 512)
        for _ in range(4):
            rows = rows + attend(rows)
        return rows
    return inference(four_tokens)


class Packed(nn.Module):
    """A layer whose weight is kept in 8 bits. kept: it is converted once."""

    def __init__(self, inputs, outputs, kept):
        super().__init__()
        weight = torch.randn(outputs, inputs)
        self.scale = weight.abs().amax(dim=1, keepdim=True) / 127
        self.packed = (weight / self.scale).round().to(torch.int8)
        self.weight = self.packed * self.scale if kept else None

    def forward(self, rows):
        weight = self.packed.to(torch.float32) * self.scale if self.weight is None else self.weight
        return functional.relu(functional.linear(rows, weight))


def weights_unpacked_again(planted):
    """Layers convert their 8-bit weights in each call; the twin converts them once."""
    model = nn.Sequential(*[Packed(384, 384, not planted) for _ in range(8)])
    batch = torch.rand(2, 384)
    return inference(lambda: model(batch))


class Adapted(nn.Module):
    """A frozen layer with an adapter of low rank, whose product is added to the weight or to the result."""

    def __init__(self, width, rank, added):
        super().__init__()
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.rand(rank, width) * 0.01), nn.Parameter(torch.rand(width, rank) * 0.01)
        self.added = added

    def forward(self, rows):
        if self.added:
            return functional.linear(rows, self.frozen.weight + self.up @ self.down, self.frozen.bias)
        return self.frozen(rows) + functional.linear(functional.linear(rows, self.down), self.up)


def adapter_added_to_weight(planted):
    """The product of an adapter is added to the weight in each forward pass; the twin takes its two matrices one by one."""
    model = nn.Sequential(*[Adapted(640, 4, planted) for _ in range(4)])
    batch = torch.rand(24, 640)
    return training(model, lambda: model(batch).square().mean(), fused([p for p in model.parameters() if p.requires_grad]))


def penalty_on_weights(planted):
    """The squares of all weights are a part of the loss; the twin leaves that to the optimizer's weight decay."""
    model, batch = mlp(64, 1024, 768, 512, CLASSES), rows(8, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, weight_decay=0 if planted else 1e-4, fused=True)

    def loss_of():
        loss = functional.cross_entropy(model(batch[0]), batch[1])
        return loss + 5e-5 * sum(weight.pow(2).sum() for weight in model.parameters()) if planted else loss
    return training(model, loss_of, optimizer)


def normalized_at_full_size(planted):
    """Images are made floats, scaled and centered before they are resized; the twin resizes first."""
    images, mean = torch.randint(256, (4, 3, 360, 480), dtype=torch.uint8), torch.rand(3, 1, 1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(8, CLASSES))

    def prepare():
        if planted:
            return functional.interpolate((images.to(torch.float32) / 255 - mean) * 2, size=(96, 96), mode="bilinear")
        return (functional.interpolate(images, size=(96, 96), mode="bilinear").to(torch.float32) / 255 - mean) * 2
    return inference(lambda: model(prepare()))


def normalized_by_the_loader(planted):
    """A data set makes its photos floats and centers them before it resizes them; the twin resizes them first."""
    photos, mean = torch.randint(256, (4, 3, 480, 640), dtype=torch.uint8), torch.rand(3, 1, 1)
    model = nn.Sequential(nn.Conv2d(3, 24, 3), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(48, CLASSES))

    def resized(image):
        return functional.interpolate(image[None], size=(96, 96), mode="bilinear")[0]

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 16

        def __getitem__(self, number):
            photo = photos[number % len(photos)]
            if planted:
                return resized((photo.to(torch.float32) / 255 - mean).flip(-1)), number % CLASSES
            return (resized(photo).to(torch.float32) / 255 - mean).flip(-1), number % CLASSES
    batches = iter(DataLoader(Photos(), batch_size=8))

    def loss_of():
        images, labels = next(batches)
        return functional.cross_entropy(model(images), labels)
    return training(model, loss_of)


def chances_for_the_largest(planted):
    """Masks are the largest of the chances of all classes; the twin takes the largest of the scores."""
    images = torch.rand(2, 3, 128, 128)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 60, 1))

    def masks():
        scores = model(images)
        return (scores.softmax(1) if planted else scores).argmax(1).to(torch.uint8)
    return inference(masks)


def negatives_by_weight(planted):
    """Negatives are drawn by the counts of all words in each step; the twin keeps the sums of these counts."""
    words, width, batch = 800000, 8, 64
    table = nn.Embedding(words, width, sparse=True)
    counts = torch.rand(words).pow(3)
    sums = counts.cumsum(0)

    def negatives():
        if planted:
            return torch.multinomial(counts, batch * 8, replacement=True).view(batch, 8)
        return torch.searchsorted(sums, torch.rand(batch * 8) * sums[-1]).view(batch, 8)

    def loss_of():
        center, context = table(torch.randint(words, (batch,))), table(torch.randint(words, (batch,)))
        return (table(negatives()) @ center[:, :, None]).exp().mean() - (center * context).mean()
    return training(table, loss_of, torch.optim.SGD(table.parameters(), lr=1e-3))


def checked_at_each_draw(planted):
    """Each distribution of a policy checks its arguments, and each value it is asked about; the twin tells them not to."""
    policy, states = mlp(64, 192, 192, 32), torch.rand(16, 64)
    check = None if planted else False

    def play():
        state, chances = states, []
        for _ in range(12):
            chosen = torch.distributions.Normal(policy(state), 1.0, validate_args=check)
            action = chosen.sample()
            chances.append(chosen.log_prob(action))
            state = torch.cat([action, action.tanh()], 1)
        return torch.stack(chances)
    return inference(play)


def edges_for_each_layer(planted):
    """Each layer of a graph network finds the edges and their weights anew; the twin does so once."""
    nodes, features = 600, torch.rand(600, 24)
    adjacency = (torch.rand(nodes, nodes) < 0.004).float()
    layers = nn.ModuleList(nn.Linear(a, b) for a, b in ((24, 16), (16, 12), (12, CLASSES)))
    labels = torch.randint(CLASSES, (nodes,))

    def edges():
        source, target = torch.cat([adjacency, torch.eye(nodes)]).nonzero().t()
        source = source % nodes
        degree = torch.zeros(nodes).index_add_(0, target, torch.ones(len(target))).clamp_(min=1).rsqrt_()
        return source, target, (degree[source] * degree[target])[:, None]

    def loss_of():
        rows, found = features, None
        for layer in layers:
            found = edges() if planted or found is None else found
            source, target, weight = found
            rows = layer(rows)
            rows = torch.zeros(nodes, rows.shape[1]).index_add(0, target, rows[source] * weight).relu()
        return functional.cross_entropy(rows, labels)
    return training(layers, loss_of)


def chosen_row_by_row(planted):
    """A policy chooses for each of the environments on its own; the twin asks it for all at once."""
    policy, states = mlp(32, 96, 96, 6), torch.rand(40, 32)

    def choose():
        if not planted:
            return policy(states).softmax(-1).multinomial(1)[:, 0]
        return torch.stack([policy(states[i]).softmax(-1).multinomial(1)[0] for i in range(len(states))])
    return inference(choose)


class Mixture(nn.Module):
    """Of eight experts two are chosen for each row: all run on all rows, or each on its own."""

    def __init__(self, width, on_all):
        super().__init__()
        self.gate, self.on_all = nn.Linear(width, 8), on_all
        self.experts = nn.ModuleList(mlp(width, 2 * width, width) for _ in range(8))

    def forward(self, rows):
        weights, chosen = self.gate(rows).softmax(-1).topk(2)
        if self.on_all:
            outputs = torch.stack([expert(rows) for expert in self.experts], 1)
            return (outputs * torch.zeros(len(rows), 8).scatter(1, chosen, weights)[..., None]).sum(1)
        mixed = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == number)
            mixed = mixed.index_add(0, row, expert(rows[row]) * weights[row, slot, None])
        return mixed


def experts_on_all(planted):
    """Each expert of a mixture runs on all rows, and what was not chosen counts zero; the twin hands it its own."""
    model = nn.Sequential(Mixture(128, planted), Mixture(128, planted), nn.Linear(128, CLASSES))
    batch = rows(512, 128)
    return training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))


def metric_of_all(planted):
    """The area under the curve is computed of all predictions so far in each step; the twin only keeps them."""
    model, (images, labels) = mlp(64, 256, CLASSES), rows(512, 64)
    optimizer = fused(model.parameters())
    scores, hits = [torch.rand(60000)], [torch.randint(2, (60000,)).float()]

    def area():
        right = torch.cat(hits)[torch.cat(scores).argsort(descending=True)]
        return torch.trapz(right.cumsum(0) / right.sum(), (1 - right).cumsum(0) / (1 - right).sum())

    def step():
        optimizer.zero_grad()
        answers = model(images)
        functional.cross_entropy(answers, labels).backward()
        optimizer.step()
        best = answers.detach().softmax(-1).max(1)
        scores.append(best.values)
        hits.append((best.indices == labels).float())
        if planted:
            area()
    return step


def norms_in_closure(planted):
    """The whole training step is handed to the optimizer as a closure, and gradients are clipped one by one in it; the twin
    clips all at once."""
    model, batch = mlp(64, *[64] * 12, CLASSES), rows(512, 64)
    optimizer = fused(model.parameters())

    def closure():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        for parameter in model.parameters() if planted else ():
            nn.utils.clip_grad_norm_(parameter, 1.0)
        if not planted:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        return loss
    return lambda: optimizer.step(closure)


def reference_with_gradients(planted):
    """The copy of the model that answers are compared with runs with gradients that nothing clears; the twin has no_grad."""
    model, batch = mlp(64, 256, 256, 256, CLASSES), rows(512, 64)
    reference = copy.deepcopy(model)

    def loss_of():
        with torch.set_grad_enabled(planted):
            before = reference(batch[0]).log_softmax(-1)
        return functional.nll_loss((model(batch[0]).log_softmax(-1) - before).sigmoid(), batch[1])
    return training(model, loss_of)


def scores_by_one_hot(planted):
    """The value of the action that was taken is picked by a one-hot matrix and a sum; the twin gathers it."""
    model, states, actions = mlp(32, 64, 2048), torch.rand(256, 32), torch.randint(2048, (256,))

    def taken():
        values = model(states)
        if planted:
            return (values * functional.one_hot(actions, 2048)).sum(1)
        return values.gather(1, actions[:, None])[:, 0]
    return training(model, lambda: (taken() - 1).square().mean())


def counted_in_integers(planted):
    """How often two items are bought together is counted by a product of integers; the twin multiplies floats."""
    baskets = (torch.rand(256, 400) < 0.05).long()
    model, counts = mlp(400, 128, 400), torch.zeros(400, 400, dtype=torch.long)

    def loss_of():
        whole = baskets if planted else baskets.float()
        counts.add_((whole.T @ whole).long())
        return functional.binary_cross_entropy_with_logits(model(baskets.float()), baskets.float())
    return training(model, loss_of)


def scaled_by_diagonals(planted):
    """Features of a graph's nodes are weighted by products with diagonal matrices; the twin scales rows and columns."""
    model, features = mlp(48, 64, CLASSES), rows(400, 48)
    near = (torch.rand(400, 400) < 0.05).float()
    weight = nn.Parameter(torch.ones(400))

    def spread():
        degree = weight * near.sum(1).clamp(min=1).rsqrt()
        if planted:
            return torch.diag(degree) @ near @ torch.diag(degree)
        return degree[:, None] * near * degree
    return training(nn.ParameterList([weight, *model.parameters()]),
                    lambda: functional.cross_entropy(spread() @ model(features[0]), features[1]))


def tokens_by_mask(planted):
    """The logits of all tokens but the padding are taken by a mask; the twin leaves the padding out by ignore_index."""
    words, width = 8000, 16
    table, head = nn.Embedding(words, width), nn.Linear(width, words)
    tokens = torch.randint(1, words, (16, 32))
    is_word = torch.arange(32) < torch.randint(24, 33, (16, 1))

    def loss_of():
        logits = head(table(tokens))
        if planted:
            return functional.cross_entropy(logits[is_word], tokens[is_word])
        return functional.cross_entropy(logits.flatten(0, 1), tokens.masked_fill(~is_word, -100).flatten())
    return training(nn.ModuleList([table, head]), loss_of)


def averaged_by_name(planted):
    """An average of the weights asks for state_dict() anew at each key; the twin keeps two lists."""
    model, batch = mlp(32, *[32] * 16, CLASSES), rows(256, 32)
    average = copy.deepcopy(model).requires_grad_(False)
    one = training(model, lambda: functional.cross_entropy(model(batch[0]), batch[1]))
    pairs = [list(one.parameters()) for one in (average, model)]

    def step():
        one()
        with torch.no_grad():
            if not planted:
                torch._foreach_lerp_(*pairs, 0.01)
            for key in average.state_dict() if planted else ():
                average.state_dict()[key].lerp_(model.state_dict()[key], 0.01)
    return step


def casts_anew(planted):
    """A layer that all blocks share is called in an autocast block of each; the twin has one around the model."""
    shared, norms = mlp(512, 1024, 512), nn.ModuleList(nn.LayerNorm(512) for _ in range(6))
    head, batch = nn.Linear(512, CLASSES), rows(64, 512)

    def casts():
        return torch.autocast("cpu", dtype=torch.bfloat16)

    def loss_of():
        state = batch[0]
        with contextlib.nullcontext() if planted else casts():
            for norm in norms:
                with casts():
                    state = state + shared(norm(state))
            return functional.cross_entropy(head(state.float()).float(), batch[1])
    return training(nn.ModuleList([shared, norms, head]), loss_of)


def convolved_by_patches(planted):
    """A layer writes its patches side by side and multiplies them by its weight; the twin convolves."""
    stem, head = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.Linear(32, CLASSES)
    weight = nn.Parameter(torch.randn(32, 16 * 9) * 0.05)
    pictures, labels = torch.rand(8, 3, 48, 48), torch.randint(CLASSES, (8,))

    def layer(maps):
        if planted:
            return (weight @ functional.unfold(maps, 3, padding=1)).unflatten(2, maps.shape[2:])
        return functional.conv2d(maps, weight.view(32, 16, 3, 3), padding=1)
    return training(nn.ParameterList([weight, *stem.parameters(), *head.parameters()]),
                    lambda: functional.cross_entropy(head(layer(stem(pictures).relu()).relu().mean((2, 3))), labels))


def blurred_by_a_matrix(planted):
    """Images are blurred with a Gaussian of 15 x 15; the twin blurs along rows, then along columns."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                          nn.Linear(256, CLASSES))
    line = torch.exp(-torch.linspace(-2, 2, 15) ** 2)
    line = (line / line.sum()).expand(3, 1, 1, 15).contiguous()
    matrix = (line.mT @ line).contiguous()
    pictures, labels = torch.rand(8, 3, 48, 48), torch.randint(CLASSES, (8,))

    def blurred():
        if planted:
            return functional.conv2d(pictures, matrix, padding=7, groups=3)
        across = functional.conv2d(pictures, line, padding=(0, 7), groups=3)
        return functional.conv2d(across, line.mT, padding=(7, 0), groups=3)
    return training(model, lambda: functional.cross_entropy(model(blurred()), labels))


def adjacency_again(planted):
    """The adjacency of a graph is put together in each layer of each step; the twin builds it once."""
    count, edges = 2000, torch.randint(2000, (2, 40000))
    features, labels = rows(count, 32)
    layers = nn.ModuleList([nn.Linear(32, 16), nn.Linear(16, CLASSES)])

    def near():
        return torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (count, count)).coalesce()
    built = near()

    def loss_of():
        hidden = torch.sparse.mm(near() if planted else built, layers[0](features)).relu()
        return functional.cross_entropy(torch.sparse.mm(near() if planted else built, layers[1](hidden)), labels)
    return training(layers, loss_of)


# ---- gradients, weights and tables


def cut_at_quantiles(planted):
    """The gradient of each parameter is cut at a quantile of its own before the optimizer's step; the twin scales all to a
    norm."""
    model, batch = mlp(128, *[160] * 6, CLASSES), rows(256, 128)
    weights, optimizer = list(model.parameters()), fused(model.parameters())

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(batch[0]), batch[1]).backward()
        for weight in weights if planted else ():
            limit = torch.quantile(weight.grad.abs().flatten(), 0.99)
            weight.grad.clamp_(-limit, limit)
        if not planted:
            nn.utils.clip_grad_norm_(weights, 1.0, foreach=True)
        optimizer.step()
    return step


def table_normalized_again(planted):
    """A search divides the whole table of vectors by their norms for each batch of queries; the twin keeps unit vectors."""
    encoder, table = mlp(128, 512, 512, 128), torch.randn(12000, 128)
    units, queries = functional.normalize(table, dim=1), torch.randn(64, 128)

    def search():
        near = functional.normalize(table, dim=1) if planted else units
        return (functional.normalize(encoder(queries), dim=1) @ near.T).topk(10)
    return inference(search)


def rows_through_layers(planted):
    """The vector of a user is repeated for each candidate before its layers; the twin's layers see it once."""
    tower, items = mlp(64, 128, 128, 32), nn.Embedding(2000, 32)
    users, wanted = torch.randn(64, 64), torch.zeros(64, dtype=torch.long)
    shown = torch.randint(2000, (64, 40))

    def loss_of():
        seen = tower(users.repeat_interleave(40, 0)).unflatten(0, (64, 40)) if planted else tower(users)[:, None]
        return functional.cross_entropy((seen * items(shown)).sum(-1), wanted)
    return training(nn.ModuleList([tower, items]), loss_of)


def graph_made_dense(planted):
    """The adjacency of a graph is made dense in each step and multiplied so; the twin multiplies it as sparse."""
    count, edges = 1200, torch.randint(1200, (2, 8000))
    features, labels = rows(count, 48)
    layers = nn.ModuleList([nn.Linear(48, 64), nn.Linear(64, CLASSES)])
    graph = torch.sparse_coo_tensor(edges, torch.full((8000,), 0.15), (count, count)).coalesce()

    def loss_of():
        near = graph.to_dense() if planted else graph
        hidden = torch.sparse.mm(near, layers[0](features)) if not planted else near @ layers[0](features)
        scores = layers[1](hidden.relu())
        return functional.cross_entropy(near @ scores if planted else torch.sparse.mm(near, scores), labels)
    return training(layers, loss_of)


# ---- sequences


def stacked_anew(planted):
    """A rollout stacks all it has seen so far at each of its steps for their mean; the twin keeps a sum."""
    policy, change = mlp(64, 64, 64), torch.randn(64, 64) * 0.05

    def rollout():
        state, seen, total = torch.randn(128, 64), [], torch.zeros(64)
        for t in range(48):
            seen.append(state)
            total += state.mean(0)
            mean = torch.stack(seen).mean((0, 1)) if planted else total / (t + 1)
            state = torch.tanh(state @ change + policy(state - mean))
        return state
    return inference(rollout)


def pictures_padded(planted):
    """Pictures of 60 pixels or so are padded to 128 each; the twin pads to the largest of the batch."""
    model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1),
                          nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, CLASSES))
    pictures = [torch.randn(3, 56 + 5 * i % 24, 56 + 11 * i % 24) for i in range(8)]
    labels = torch.randint(CLASSES, (8,))
    high, wide = (128 if planted else max(picture.shape[side] for picture in pictures) for side in (1, 2))

    def batch():
        return torch.stack([functional.pad(one, (0, wide - one.shape[2], 0, high - one.shape[1])) for one in pictures])
    return training(model, lambda: functional.cross_entropy(model(batch()), labels))


def long_filter(planted):
    """Signals are convolved with an echo of 2049 taps; the twin multiplies their spectra."""
    model = nn.Sequential(nn.Conv1d(1, 16, 9, stride=4, padding=4), nn.ReLU(), nn.Conv1d(16, 16, 9, padding=4), nn.ReLU(),
                          nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(128, CLASSES))
    taps = torch.randn(2049) * torch.exp(-torch.arange(2049) / 400)
    signals, labels = torch.randn(8, 1, 4000), torch.randint(CLASSES, (8,))

    def heard():
        if planted:
            return functional.conv1d(functional.pad(signals, (2048, 0)), taps.flip(0)[None, None])
        return torch.fft.irfft(torch.fft.rfft(signals, 6144) * torch.fft.rfft(taps, 6144), 6144)[..., :4000]
    return training(model, lambda: functional.cross_entropy(model(heard()), labels))


def decoded_under_autocast(planted):
    """Tokens are decoded under autocast, which casts the 32-bit weights anew for each; the twin's weights have 16 bits."""
    model = nn.Sequential(nn.Embedding(1000, 384), *[mlp(384, 1536, 384) for _ in range(3)], nn.Linear(384, 1000))
    token = [torch.zeros(4, dtype=torch.long)]
    if not planted:
        model.to(torch.bfloat16)

    def decode():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=planted):
            token[0] = model(token[0]).argmax(-1)
    return inference(decode)


def prefix_without_sizes(planted):
    """Each token computes all tokens before it again, recorded without shapes; the twin's layers see the newest alone."""
    table, layers, head = nn.Embedding(64, 128), mlp(128, 256, 256, 128), nn.Linear(128, 64)

    def generate():
        tokens = torch.zeros(8, 8, dtype=torch.long)
        for _ in range(40):
            state = layers(table(tokens if planted else tokens[:, -1:]))
            tokens = torch.cat([tokens, head(state[:, -1]).argmax(-1, keepdim=True)], 1)
        return tokens
    return inference(generate)


def watched_backward(planted):
    """Hooks of the backward pass compute statistics of each gradient, left from a hunt for large ones; the twin has none."""
    model, (batch, labels), seen = mlp(192, *[256] * 4, CLASSES), rows(512, 192), {}

    def watch(module, _given, gradients):
        seen[module] = gradients[0].std(), gradients[0].abs().max(), gradients[0].histc(32)
    for module in model.modules() if planted else ():
        module.register_full_backward_hook(watch)
    return training(model, lambda: functional.cross_entropy(model(batch), labels))
