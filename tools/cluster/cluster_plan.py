# SPDX-License-Identifier: MIT
"""What is planted into a made run: each cause by its effect on one rank in one step, and what the truth says of it."""
import random
from collections import namedtuple

# What a made run can be asked for: its effect, the strength that is taken without one, and what the strength means.
Cause = namedtuple("Cause", "strength unit says")
CAUSES = {
    "slow-device": Cause(1.2, "times", "kernels of equal shape take longer on one rank"),
    "slow-host": Cause(1.2, "times", "kernels take longer on every rank of one host"),
    "host-stall": Cause(3000, "us", "one rank's Python code pauses before each forward pass, in log_metrics"),
    "dataloader": Cause(3000, "us", "one rank waits longer for its batch"),
    "gc": Cause(3000, "us", "one rank collects garbage in every step"),
    "allocator": Cause(3000, "us", "one rank's allocator frees and takes device memory in every step"),
    "compile": Cause(3000, "us", "one rank compiles again in every step"),
    "sync": Cause(25, "us", "one rank reads a scalar after each operator of the forward pass, and goes on this much later"),
    "more-work": Cause(1.25, "times", "one rank has longer batches: larger shapes"),
    "length-imbalance": Cause(0.2, "sigma", "batches differ in length, each step another rank has the longest"),
    "expert-imbalance": Cause(1.6, "times", "the experts of one rank are sent more tokens than those of others"),
    "jitter": Cause(3000, "us", "each step another rank pauses"),
    "slow-link": Cause(4.0, "times", "collectives over one link take longer though all arrive together"),
    "missing": Cause(1, "rows", "one collective was not recorded on one rank"),
    "swapped": Cause(1, "pairs", "one rank issues two collectives in the other order"),
    "bubble": Cause(2, "batches", "a pipeline has too few micro-batches to keep its stages busy"),
    "healthy": Cause(0, "", "nothing is planted"),
}
SHIFTED_RANK = ("slow-device", "host-stall", "dataloader", "gc", "allocator", "compile", "sync", "more-work")
STALLS = {"host-stall": "host", "dataloader": "loader", "gc": "gc", "allocator": "allocator", "compile": "compile"}


class Plan:
    """One planted cause. Ask it what a rank meets in a step."""

    def __init__(self, layout, cause, culprit, strength, steps, seed):
        self.layout, self.cause, self.culprit, self.strength = layout, cause, culprit, strength
        dice = random.Random("plan/%d" % seed)
        self.jittered = {}
        last = None
        for step in range(steps):           # never the same rank twice in a row, or it would be a straggler for a while
            last = (last + 1 + int(dice.random() * (layout.world - 1))) % layout.world if last is not None else culprit
            self.jittered[step] = last
        self.lengths = [[dice.gauss(0.0, 1.0) for _ in range(layout.world)] for _ in range(steps)] \
            if cause == "length-imbalance" else None
        self.slow_channel = self._slow_channel() if cause == "slow-link" else None

    def _slow_channel(self):
        """The widest group of the culprit that spans hosts but not the whole run, or its way to the next stage."""
        layout, rank = self.layout, self.culprit
        if layout.stages > 1:
            other = layout.neighbor(rank, 1 if layout.stage(rank) + 1 < layout.stages else -1)
            return frozenset((rank, other))
        of = layout.expert_of if rank in layout.expert_of else layout.data_of
        return frozenset(of[rank].members)

    def speed(self, rank):
        """How much longer the rank's kernels take for the same work."""
        slow = (self.cause == "slow-device" and rank == self.culprit or
                self.cause == "slow-host" and self.layout.host(rank) == self.layout.host(self.culprit))
        return self.strength if slow else 1.0

    def work(self, rank, step):
        """How much more there is to do for the rank in this step: shapes grow with it."""
        if self.cause == "more-work" and rank == self.culprit:
            return self.strength
        if self.lengths:
            return max(0.5, 1.0 + self.strength * self.lengths[step][rank])
        return 1.0

    def expert_share(self, rank):
        """How many times its fair share of tokens the experts of the rank are sent."""
        return self.strength if self.cause == "expert-imbalance" and rank == self.culprit else 1.0

    def stall_ns(self, rank, step, kind):
        if self.cause == "jitter" and kind == "host" and self.jittered[step] == rank:
            return int(self.strength * 1000)
        if rank == self.culprit and STALLS.get(self.cause) == kind:
            return int(self.strength * 1000)
        return 0

    def sync_ns(self, rank):
        return int(self.strength * 1000) if self.cause == "sync" and rank == self.culprit else 0

    def link_factor(self, members):
        return self.strength if self.slow_channel is not None and frozenset(members) == self.slow_channel else 1.0

    def swaps(self, rank, step):
        return self.cause == "swapped" and rank == self.culprit and step == 1

    def drops(self, rank, step, bucket):
        return self.cause == "missing" and rank == self.culprit and step == 1 and bucket == 1

    def micro_batches(self, asked):
        return int(self.strength) if self.cause == "bubble" else asked

    def truth(self):
        """Whom the right answer names: ranks, a host or a group, whatever fits the cause."""
        named = {"ranks": [], "host": None, "link": None}
        if self.cause in SHIFTED_RANK + ("expert-imbalance", "missing", "swapped"):
            named["ranks"] = [self.culprit]
        elif self.cause == "slow-host":
            named["host"] = self.layout.host(self.culprit)
            named["ranks"] = self.layout.ranks_of_host(named["host"])
        elif self.cause == "slow-link":
            named["link"] = sorted(self.slow_channel)
        elif self.cause == "jitter":
            named["by_step"] = [self.jittered[step] for step in sorted(self.jittered)]
        return named
