#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record the PyTorch scenarios that need a GPU: pytorch_gpu.py [NAME ...] [--out fixtures/scenarios] [--raw FOLDER]

Needs PyTorch with CUDA (or ROCm) and a device. As pytorch_cpu.py: a job is a function of `planted` that returns a function
which does one step; each form runs in a process of its own, is warmed up, timed without the profiler over windows of as many
steps as are recorded, with the device waited for at the window's end only, and recorded. Jobs about memory also write the
allocator's snapshot, by json.dump. Both are trimmed by trim.py. A job that runs out of memory ends there; its snapshot is
what is wanted.
"""
import argparse
import contextlib
import gc
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.multiprocessing as processes
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch_gpu_compute  # noqa: E402
import pytorch_gpu_memory  # noqa: E402
import pytorch_gpu_serve  # noqa: E402
import pytorch_gpu_train  # noqa: E402
import trim  # noqa: E402
from pytorch_gpu_job import Job  # noqa: E402
from pytorch_jobs import CLASSES, ConvNet, DeepMlp, LanguageModel, Photos, image_loss, language_loss  # noqa: E402

DEVICE = "cuda"
HISTORY_ENTRIES = 100000
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def trainer(model, loss_of, batch_of, optimizer=None, after=None, autocast=True):
    """A plain training step in bf16 on the device."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        batch = batch_of()
        optimizer.zero_grad()
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=autocast):
            loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        if after:
            after(loss)
    return step


def words(batch=16, length=512, vocabulary=8192):
    return torch.randint(vocabulary, (batch, length), device=DEVICE)


def language_model(width=768, heads=12, blocks=2, vocabulary=8192, **more):
    return LanguageModel(width, heads, blocks, vocabulary, **more).to(DEVICE)


def resident_images(batch=64, side=64):
    return torch.rand(batch, 3, side, side, device=DEVICE), torch.randint(CLASSES, (batch,), device=DEVICE)


# ---- the host and the input


def item_each_layer(planted):
    """The mean of each block's output read by the host, for a log; the twin reads nothing within the loop."""
    model = language_model(blocks=8)
    batch, seen = words(4, 257), []
    for block in model.blocks if planted else ():
        block.register_forward_hook(lambda _module, _inputs, output: seen.append(output.detach().mean().item()))

    def after(_loss):
        seen.clear()
    return trainer(model, language_loss, lambda: batch, after=after)


def outputs_to_host(planted):
    """All predictions copied to the host with .cpu() in each step."""
    model, batch = ConvNet(64).to(DEVICE), resident_images(256)

    def loss_of(model, batch):
        if planted:
            model.features[:4](batch[0]).detach().float().cpu()
        return image_loss(model, batch)
    return trainer(model, loss_of, lambda: batch)


def dataloader_in_process(planted):
    """Pictures decoded in the training process; the twin has them decoded."""
    batches = iter(DataLoader(Photos(1 << 16, 224, ready=not planted), batch_size=64, pin_memory=True))
    model = ConvNet(256).to(DEVICE)
    return trainer(model, image_loss, lambda: [part.to(DEVICE, non_blocking=True) for part in next(batches)])


def pageable_batches(planted):
    """Batches in ordinary memory; the twin's are pinned and copied without waiting."""
    pictures = torch.rand(256, 3, 128, 128)
    labels = torch.randint(CLASSES, (256,), device=DEVICE)
    source = pictures if planted else pictures.pin_memory()
    model = ConvNet(64).to(DEVICE)
    return trainer(model, image_loss, lambda: (source.to(DEVICE, non_blocking=not planted), labels))


def collect_garbage(planted):
    """gc.collect in each step, of a process with many live objects."""
    keep = [{"row": [index, str(index)]} for index in range(150000)]
    model, batch = language_model(), words(4, 257)

    def after(_loss):
        if planted:
            gc.collect()
        return len(keep)
    return trainer(model, language_loss, lambda: batch, after=after)


# ---- optimizer, operators, compilation


def per_tensor_optimizer(planted):
    """AdamW with foreach=False, parameter after parameter; the twin is fused."""
    model = DeepMlp(256, 60).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **({"foreach": False} if planted else {"fused": True}))
    batch = torch.rand(4096, 256, device=DEVICE), torch.randint(CLASSES, (4096,), device=DEVICE)
    return trainer(model, image_loss, lambda: batch, optimizer)


def zero_grad_keeps(planted):
    """Gradients overwritten with zeros, and added to, instead of dropped."""
    model, batch = language_model(blocks=12), words(2, 129)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=not planted)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = language_loss(model, batch)
        loss.backward()
        optimizer.step()
    return step


def no_autocast(planted):
    """Training in fp32 without tensor cores; the twin runs in bf16 under autocast."""
    torch.backends.cuda.matmul.allow_tf32 = False
    model, batch = language_model(), words()
    return trainer(model, language_loss, lambda: batch, autocast=not planted)


def unaligned_sizes(planted):
    """Widths and a vocabulary that no tile divides; the twin's are the next multiples of 64."""
    width, vocabulary = (1021, 8191) if planted else (1024, 8192)
    layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(8)), nn.Linear(width, vocabulary)).to(DEVICE)
    batch = torch.rand(8192, width, device=DEVICE), torch.randint(vocabulary, (8192,), device=DEVICE)
    return trainer(layers, image_loss, lambda: batch)


def unfused_attention(planted):
    """Attention written out as matrix products around a softmax; the twin calls scaled_dot_product_attention."""
    model, batch = language_model(fused=not planted), words(8, 1025)
    return trainer(model, language_loss, lambda: batch)


def contiguous_convolutions(planted):
    """Convolutions of NCHW tensors in half precision, converted around each; the twin is channels_last."""
    memory_format = torch.contiguous_format if planted else torch.channels_last
    model = ConvNet(128).to(DEVICE, memory_format=memory_format)
    pictures, labels = resident_images(128)
    batch = pictures.to(memory_format=memory_format), labels
    return trainer(model, image_loss, lambda: batch)


def graph_breaks(planted):
    """A side effect between layers, which Dynamo cannot compile through."""
    torch._dynamo.reset()
    layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(12)).to(DEVICE)

    def forward(rows):
        for layer in layers:
            rows = functional.gelu(layer(rows)) * 1.01 + 0.01
            if planted:
                torch._dynamo.graph_break()
        return rows
    compiled, rows = torch.compile(forward), torch.rand(1024, 1024, device=DEVICE)

    def step():
        with torch.no_grad():
            compiled(rows)
    return step


def recompiles(planted):
    """Lengths that differ from step to step, each a new graph; the twin pads to one length."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 1024
    model = torch.compile(language_model(256, 4, 1), dynamic=False)
    lengths = iter(range(40, 100000))
    return trainer(model, language_loss, lambda: words(4, next(lengths) % 400 if planted else 65))


# ---- memory


def empty_cache_each_step(planted):
    """empty_cache in each step, so that the next takes its memory from the driver again."""
    model, batch = language_model(), words()
    return trainer(model, language_loss, lambda: batch, after=lambda _loss: torch.cuda.empty_cache() if planted else None)


def list_of_losses(planted):
    """Losses of a validation loop kept with their graphs, so that each batch's activations stay; the twin keeps numbers."""
    model, kept, batch = language_model(256, 4), [], words(4, 257)

    def step():
        loss = language_loss(model, batch)
        kept.append(loss if planted else loss.item())
    return step


def growing_lengths(planted):
    """Lengths that grow from step to step, so that no freed block fits the next request; the twin pads to the longest."""
    model, lengths = language_model(256, 4, 4), iter(range(64, 1 << 20, 24))
    return trainer(model, language_loss, lambda: words(16, 64 + next(lengths) % 1600 if planted else 1664))


def out_of_memory(planted):
    """A batch whose activations the device does not hold: the batch is doubled until a request fails."""
    model, count = language_model(1024, 16, 4), [8]

    def step():
        batch = words(count[0], 513)
        if planted:
            count[0] *= 2
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            language_loss(model, batch).backward()
    return step


def record_stream_growth(planted):
    """Blocks used on a side stream under record_stream, which the host runs ahead of; the twin waits with an event."""
    side = torch.cuda.Stream()
    weight = torch.rand(4096, 4096, device=DEVICE)

    def step():
        for _ in range(16):
            block = torch.rand(4096, 4096, device=DEVICE)
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                weight @ block
            if planted:
                block.record_stream(side)
            else:
                torch.cuda.current_stream().wait_stream(side)
            del block
    return step


STACKS, SHAPES = {"with_stack": True}, {"record_shapes": True}
JOBS = {
    "item-each-layer": Job(item_each_layer, ["scalar-read-sync"]),
    "outputs-to-host": Job(outputs_to_host, ["large-results-to-host", "pageable-copies"]),
    "dataloader-in-process": Job(dataloader_in_process, ["dataloader-in-process"]),
    "pageable-batches": Job(pageable_batches, ["pageable-copies"]),
    "gc-in-loop": Job(collect_garbage, ["explicit-gc"], profiler=STACKS, least_frame_us=20.0),
    "per-tensor-optimizer": Job(per_tensor_optimizer, ["per-tensor-optimizer"]),
    "zero-grad-keeps": Job(zero_grad_keeps, ["zero-grad", "memset-share"]),
    "no-autocast": Job(no_autocast, ["no-tensor-cores"], profiler=SHAPES),
    "unaligned-sizes": Job(unaligned_sizes, ["unaligned-sizes", "no-tensor-cores"], profiler=SHAPES),
    "unfused-attention": Job(unfused_attention, ["unfused-attention"], profiler=SHAPES),
    "contiguous-convolutions": Job(contiguous_convolutions, ["layout-conversions"], profiler=SHAPES),
    "graph-breaks": Job(graph_breaks, ["graph-breaks", "many-compiled-regions"]),
    "recompiles": Job(recompiles, ["recompiles", "compile-in-window"], steps=3, warm_up=1, windows=1),
    "empty-cache-in-loop": Job(empty_cache_each_step, ["empty-cache-in-loop", "empty-cache-pattern", "device-malloc-in-loop",
                                                       "allocator-churn"], memory=True),
    "list-of-losses": Job(list_of_losses, ["memory-leak", "memory-growth"], unit="bytes", steps=6, memory=True),
    "growing-lengths": Job(growing_lengths, ["library-plans-in-steps", "stranded-memory", "memory-slack", "allocator-churn",
                                             "device-malloc-in-loop"], unit="bytes", steps=6, memory=True),
    "out-of-memory": Job(out_of_memory, ["oom-one-step", "oom-truly-full", "oom-huge-request", "oom-recorded", "trace-oom"],
                         unit="bytes", steps=12, memory=True, warm_up=0, windows=0),
    "record-stream-growth": Job(record_stream_growth, ["pending-free", "pending-free-peak"], unit="bytes", memory=True),
}
JOBS |= pytorch_gpu_train.JOBS | pytorch_gpu_compute.JOBS | pytorch_gpu_memory.JOBS | pytorch_gpu_serve.JOBS


def window(step, job):
    """Microseconds of a window of steps, or the bytes that it adds to what the allocator has reserved."""
    torch.cuda.synchronize()
    before, start = torch.cuda.memory_reserved(), time.perf_counter()
    for _ in range(job.steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e6 if job.unit == "us" else torch.cuda.memory_reserved() - before


def write_snapshot(path):
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(torch.cuda.memory._snapshot(), stream)
    return path


def record(step, job, folder):
    trace, snapshot = os.path.join(folder, "trace.json"), os.path.join(folder, "snapshot.json")
    if job.memory and job.trace:
        torch.cuda.memory._record_memory_history(max_entries=HISTORY_ENTRIES)
    if not job.trace:
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            for _ in range(job.steps):
                step()
        return trace, write_snapshot(snapshot)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 schedule=schedule(wait=1, warmup=2, active=job.steps),
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(trace), **job.profiler) as profiler:
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            for _ in range(3 + job.steps):
                step()
                profiler.step()
    return trace, write_snapshot(snapshot) if job.memory else None


def work(name, planted, folder, answers):
    """One form: the windows' figures, then the recording."""
    job = JOBS[name]
    torch.manual_seed(0)
    step, figures = job.make(planted), []
    with contextlib.suppress(torch.cuda.OutOfMemoryError):
        for _ in range(job.warm_up):
            step()
        figures = [window(step, job) for _ in range(job.windows)]
    answers.put((figures, record(step, job, folder), os.getpid()))


def write_form(name, planted, paths, process_id, cost, options):
    job, trace, snapshot = JOBS[name], *paths
    directory = "pytorch-gpu-" + name + ("" if planted else "-healthy")
    folder = os.path.join(options.out, directory)
    os.makedirs(folder, exist_ok=True)
    documents = {}
    if os.path.exists(trace):
        documents["trace"] = trim.trim_trace(trim.read_json(trace), job.steps, least_frame_us=job.least_frame_us,
                                             keep_shapes="record_shapes" in job.profiler)
    if snapshot:
        documents["snapshot"] = trim.trim_snapshot(trim.read_json(snapshot), frames=4)
    for kind, document in documents.items():
        document = trim.anonymize(document, process_id)
        found = trim.left_over(document)
        if found:
            sys.exit("%s: still names this machine: %s" % (directory, found[:5]))
        trim.write_json(document, os.path.join(folder, kind + ".json.gz"))
    truth = {"cause": "pytorch-gpu-" + name, "planted": planted,
             "twin": "pytorch-gpu-" + name + ("-healthy" if planted else ""),
             "recording": "gpu", "made_by": "tools/scenarios/pytorch_gpu.py " + name,
             "accept": job.accept if planted else [],
             "unit": job.unit, "planted_cost": round(cost) if planted and cost is not None else None,
             "note": " ".join(job.make.__doc__.split())}
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(truth, indent=1) + "\n")


def run(name, options):
    context = processes.get_context("forkserver")
    context.set_forkserver_preload(["torch", "pytorch_jobs"])
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        forms = {}
        for planted in (True, False):
            place = os.path.join(options.raw or folder, name + ("" if planted else "-healthy"))
            os.makedirs(place, exist_ok=True)
            answers = context.Queue()
            worker = context.Process(target=work, args=(name, planted, place, answers))
            worker.start()
            figures[planted], *forms[planted] = answers.get(timeout=600)
            worker.join()
        medians = {planted: statistics.median(values) if values else None for planted, values in figures.items()}
        cost = None if None in medians.values() else medians[True] - medians[False]
        for planted, (paths, process_id) in forms.items():
            write_form(name, planted, paths, process_id, cost, options)
    print("%-26s %s: %s with, %s without" % (name, JOBS[name].unit, medians[True], medians[False]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(JOBS))
    parser.add_argument("--out", default=os.path.join(ROOT, "fixtures", "scenarios"))
    parser.add_argument("--raw", help="keep the untrimmed recordings here")
    options = parser.parse_args()
    unknown = set(options.names) - set(JOBS)
    if unknown:
        parser.error("no scenario is called " + ", ".join(sorted(unknown)))
    if not torch.cuda.is_available():
        sys.exit("pytorch_gpu.py records on a GPU, and PyTorch finds none here. pytorch_cpu.py needs none.")
    for name in options.names or JOBS:
        run(name, options)


if __name__ == "__main__":
    main()
