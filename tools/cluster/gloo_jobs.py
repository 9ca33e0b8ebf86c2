# SPDX-License-Identifier: MIT
"""What the processes of record_gloo do: a small training loop, or calls that end in a hang. Needs PyTorch."""
import os
import threading
import time
from collections import namedtuple

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

STEPS, BATCH, WIDTH = 4, 4, 192
LATE_S = 0.08
DUMP_AFTER_S, LINGER_S = 5.0, 3.0

Job = namedtuple("Job", "ranks culprit cause says")
TRAINING = {
    "healthy": Job(4, None, "healthy", "nothing is planted"),
    "late-loader": Job(4, 2, "dataloader", "rank 2 sleeps 80 ms in its data set for each batch"),
    "more-work": Job(4, 1, "more-work", "rank 1 has batches ten times as long"),
    "late-pair": Job(2, 1, "host-stall", "rank 1 of two sleeps 80 ms in log_metrics in each step"),
}
HANGS = {
    "healthy": Job(4, None, "none", "all calls end before the dump"),
    "stuck": Job(4, 2, "stuck-host", "rank 2 sleeps before its seventh call"),
    "skip": Job(4, 1, "desync", "rank 1 leaves out its seventh call and goes on with a gathering one"),
    "swapped": Job(4, 1, "desync", "rank 1 issues a gathering call before the summing one"),
    "exit": Job(4, 3, "no-dump", "rank 3 ends without a dump"),
    "stuck-subgroup": Job(4, 3, "stuck-host", "rank 3 sleeps before a call of its pair; the others wait in the large group"),
    "size": Job(4, 1, "size", "rank 1 calls with a smaller tensor"),
    "dtype": Job(4, 1, "dtype", "rank 1 calls with another type"),
    "lone-call": Job(4, 3, "lone-call", "rank 3 alone calls a barrier of a second pair; the others are in the large group"),
}


class Batches(Dataset):
    """Batches made on request; the late rank's sleep."""

    def __init__(self, late_s):
        self.late_s = late_s

    def __len__(self):
        return (STEPS + 4) * BATCH

    def __getitem__(self, index):
        if self.late_s and index % BATCH == 0:
            time.sleep(self.late_s)
        return torch.full((WIDTH,), float(index)), torch.zeros(WIDTH)


def log_metrics(seconds):
    if seconds:
        time.sleep(seconds)


def join(store_path, rank, ranks):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store_path, ranks), rank=rank, world_size=ranks)


def train(rank, name, folder):
    """Records STEPS steps; each sums up the gradients of three layers one after the other."""
    job = TRAINING[name]
    join(os.path.join(folder, "store"), rank, job.ranks)
    late = rank == job.culprit
    torch.manual_seed(0)
    layers = torch.nn.Sequential(*[part for _ in range(3) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())])
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3)
    loader = DataLoader(Batches(LATE_S if late and job.cause == "dataloader" else 0), batch_size=BATCH)
    plan = schedule(wait=1, warmup=1, active=STEPS)
    longer = 1000 if late and job.cause == "more-work" else 100

    def ready(profiler):
        profiler.export_chrome_trace(os.path.join(folder, "rank%d.json" % rank))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True, schedule=plan,
                 on_trace_ready=ready) as profiler:
        for number, (inputs, targets) in enumerate(loader):
            if number == STEPS + 2:
                break
            log_metrics(LATE_S if late and job.cause == "host-stall" else 0)
            with record_function("forward"):
                loss = torch.nn.functional.mse_loss(layers(inputs.repeat(longer, 1)), targets.repeat(longer, 1))
            optimizer.zero_grad()
            loss.backward()
            for parameter in layers.parameters():
                if parameter.dim() == 2:
                    dist.all_reduce(parameter.grad)
            optimizer.step()
            loss.item()
            profiler.step()
    dist.barrier()
    dist.destroy_process_group()


def dump_later(rank, at_s, path):
    """A thread of its own: the others hang. Leaving closes sockets, which would end the calls of peers: linger."""
    time.sleep(max(0.0, at_s - time.time()))
    data = torch._C._distributed_c10d._dump_fr_trace_json()
    with open(path, "wb") as stream:
        stream.write(data)
    time.sleep(LINGER_S)
    os._exit(0)


def hang(rank, name, folder):
    job = HANGS[name]
    join(os.path.join(folder, "store"), rank, job.ranks)
    late = rank == job.culprit
    pairs = [dist.new_group(members, group_desc="tp") for members in ([0, 1], [2, 3])]
    pair = pairs[rank // 2]
    if job.cause == "lone-call":
        across = [dist.new_group(members, group_desc="dp") for members in ([0, 2], [1, 3])][rank % 2]
    at = [time.time() + DUMP_AFTER_S]
    dist.broadcast_object_list(at, src=0)
    if not (late and job.cause == "no-dump"):
        threading.Thread(target=dump_later, args=(rank, at[0], os.path.join(folder, "gloo_trace_rank_%d.json" % rank)),
                         daemon=True).start()
    small, parts = torch.ones(64, 16), [torch.zeros(8) for _ in range(job.ranks)]
    for _ in range(3):
        dist.all_reduce(small, group=pair)
        dist.all_reduce(small)
    try:
        if job.cause == "lone-call" and late:
            dist.barrier(group=across)
        planted(job, late, pair, small, parts)
    except RuntimeError:                    # a peer has gone; the dump is written all the same
        pass
    time.sleep(60)


def planted(job, late, pair, small, parts):
    """The calls in which it goes wrong, or not."""
    if job.cause == "none":
        dist.all_reduce(small)
    elif job.cause in ("size", "dtype"):
        mismatch(job, late, small)
    elif job.says.startswith("rank 3 sleeps"):
        if late:
            time.sleep(60)
        dist.all_reduce(small, group=pair)
        dist.all_reduce(small)
    elif job.cause == "desync":
        if not late:
            dist.all_reduce(small)
        dist.all_gather(parts, torch.ones(8))
        dist.all_reduce(small)
    else:
        if late and job.cause == "no-dump":
            os._exit(1)
        if late:
            time.sleep(60)
        dist.all_reduce(small)


def mismatch(job, late, small):
    """The process with the smaller tensor would abort at once: two calls that wait for rank 0 hold gloo's two threads."""
    if dist.get_rank() == 0:
        time.sleep(DUMP_AFTER_S + 1)
    held = [dist.all_reduce(small.clone(), async_op=True) for _ in range(2)]
    wrong = torch.ones(32, 16) if job.cause == "size" else torch.ones(64, 16, dtype=torch.float64)
    held.append(dist.all_reduce(wrong if late else small, async_op=True))
    time.sleep(60)
