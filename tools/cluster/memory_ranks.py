# SPDX-License-Identifier: MIT
"""A memory snapshot for each rank of a made run, with one planted difference: jobs of tools/scenarios on the model of the
allocator. The truth comes from the model's own books."""
import gzip
import json
import os
import random
import sys
from collections import namedtuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from scenarios.allocator_model import MIB, OutOfMemory  # noqa: E402
from scenarios.memory_jobs import MAIN, Job, Transformer, stack  # noqa: E402

TOKENS, STEPS = 4096, 3
LIMIT_BYTES = 10_500 * MIB              # of the process, where a rank is to fail
NS_PER_RANK = 40_000_000                # ranks do not start at once
LOAD = (("/srv/job/checkpoint.py", 41, "load_checkpoint"),) + MAIN

# says: what is planted; owner: of what the odd rank holds more; line: at which line; fails: it runs out of memory
Memory = namedtuple("Memory", "says owner line fails")
MEMORY = {
    "healthy": Memory("batches differ a little from rank to rank, nothing else", None, None, False),
    "stages": Memory("ranks are stages of a pipeline, which hold less and less: nothing is wrong", None, None, False),
    "longer-batch": Memory("one rank has batches of twice the tokens", "activations", None, False),
    "checkpoint": Memory("one rank keeps the checkpoint that it has read on the device", None, LOAD[0], False),
    "more-state": Memory("one rank keeps optimizer state that the others have sharded", "optimizer state", None, False),
    "out-of-memory": Memory("one rank has longer batches and runs out of memory", "activations", None, True),
}


class RankJob:
    """One rank: how many tokens it has in a step, and what of the cause it is part of."""

    def __init__(self, cause, rank, ranks, odd, seed):
        self.cause, self.rank, self.ranks, self.odd = cause, rank, ranks, rank == odd
        self.dice = random.Random("memory/%d/%d" % (seed, rank))
        limit = LIMIT_BYTES if cause == "out-of-memory" else None
        self.job = Job(seed * 1000 + rank, limit_bytes=limit)
        self.job.main.now_ns += rank * NS_PER_RANK

    def tokens(self):
        tokens = TOKENS * (1.0 + 0.02 * self.dice.random())
        if self.odd and self.cause == "longer-batch":
            tokens *= 2
        if self.odd and self.cause == "out-of-memory":
            tokens *= 4
        if self.cause == "stages":
            tokens *= (self.ranks - self.rank) / self.ranks
        return int(tokens) // 64 * 64

    def model(self):
        state = 8 if self.cause != "more-state" or self.odd else 2
        return Transformer(self.job, 4, 2048, 32000, 2, state_bytes_per_weight=state)

    def run(self):
        model = self.model()
        if self.odd and self.cause == "checkpoint":
            for weight in model.weights.values():
                self.job.obtain(weight * 4, stack("_to_copy", *LOAD))
        try:
            for _ in range(STEPS):
                model.train_step(self.tokens())
        except OutOfMemory:
            self.job.fail(False)
        return self.job


def write_memory(folder, cause, ranks, odd, seed):
    """rankN.snapshot.json.gz for each rank, and memory.json with the truth, which is returned."""
    os.makedirs(folder, exist_ok=True)
    books = []
    for rank in range(ranks):
        job = RankJob(cause, rank, ranks, odd, seed).run()
        if job.failed != (MEMORY[cause].fails and rank == odd):
            raise ValueError("rank %d %s" % (rank, "fails" if job.failed else "does not fail"))
        path = os.path.join(folder, "rank%d.snapshot.json.gz" % rank)
        with open(path, "wb") as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            packed.write(json.dumps(job.snapshot()).encode("ascii"))
        books.append({"rank": rank, "peak_bytes": job.allocator.peak_requested_bytes,
                      "peak_reserved_bytes": job.allocator.peak_reserved_bytes, "retries": job.allocator.retries})
    planted = cause not in ("healthy", "stages")
    truth = {"cause": cause, "says": MEMORY[cause].says, "rank": odd if planted else None, "fails": MEMORY[cause].fails,
             "owner": MEMORY[cause].owner, "line": "%s:%d %s" % MEMORY[cause].line if MEMORY[cause].line else None,
             "ranks": books}
    with open(os.path.join(folder, "memory.json"), "w", encoding="ascii") as stream:
        json.dump(truth, stream, indent=1)
        stream.write("\n")
    return truth
