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
    "slow-cpu": Cause(20.0, "times", "one rank's host takes longer for everything that it does"),
    "throttled": Cause(1.6, "times", "one rank's kernels take longer from the middle of the recording on"),
    "gc-sometimes": Cause(6000, "us", "one rank collects garbage in every second step"),
    "checkpoint": Cause(60_000, "us", "one rank writes a checkpoint in one step, and the others wait for it"),
    "evaluation": Cause(3.0, "passes", "one rank evaluates in one step: further forward passes without the others"),
    "more-work": Cause(1.25, "times", "one rank, and who shares its batch, has longer batches: larger shapes"),
    "heavy-stage": Cause(1.6, "times", "the stage of one rank has larger layers than the others"),
    "larger-stage": Cause(1.15, "times", "the same by as little as first and last stages may have: nobody is to blame"),
    "length-imbalance": Cause(0.2, "sigma", "batches differ in length, each step another rank has the longest"),
    "expert-imbalance": Cause(1.6, "times", "the experts of one rank are sent more tokens than those of others"),
    "jitter": Cause(3000, "us", "each step another rank pauses"),
    "slow-path": Cause(4.0, "times", "whatever only the ranks of two hosts have between them takes longer"),
    "slow-link": Cause(4.0, "times", "collectives over one link take longer though all arrive together"),
    "slow-links": Cause(4.0, "times", "the same of two links at once"),
    "missing": Cause(1, "rows", "one collective was not recorded on one rank"),
    "swapped": Cause(1, "pairs", "one rank issues two collectives in the other order"),
    "bubble": Cause(2, "batches", "a pipeline has too few micro-batches to keep its stages busy"),
    "noisy": Cause(2.0, "times", "nothing is planted, but all ranks are less even than usual"),
    "healthy": Cause(0, "", "nothing is planted"),
}
SHIFTED_RANK = ("slow-device", "host-stall", "dataloader", "gc", "allocator", "compile", "sync", "slow-cpu", "throttled",
                "gc-sometimes", "checkpoint", "evaluation")
STALLS = {"host-stall": "host", "dataloader": "loader", "gc": "gc", "allocator": "allocator", "compile": "compile",
          "gc-sometimes": "gc", "checkpoint": "checkpoint"}


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
        self.slow_channels = self._slow_channels() if cause in ("slow-link", "slow-links") else []
        self.middle = steps // 2

    def _slow_channel(self, rank):
        """The widest group of the rank that spans hosts but not the whole run, or its way to the next stage."""
        layout = self.layout
        if layout.stages > 1:
            other = layout.neighbor(rank, 1 if layout.stage(rank) + 1 < layout.stages else -1)
            return frozenset((rank, other))
        of = layout.expert_of if rank in layout.expert_of else layout.data_of
        return frozenset(of[rank].members)

    def _slow_channels(self):
        """That of the culprit; with two links the next one of another group too."""
        layout, culprit = self.layout, self.culprit
        found = [self._slow_channel(culprit)]
        for step in range(1, layout.world if self.cause == "slow-links" else 1):
            channel = self._slow_channel((culprit + step) % layout.world)
            if not channel & found[0]:
                return found + [channel]
        return found

    def speed(self, rank, step):
        """How much longer the rank's kernels take for the same work."""
        slow = (self.cause == "slow-device" and rank == self.culprit or
                self.cause == "throttled" and rank == self.culprit and step >= self.middle or
                self.cause == "slow-host" and self.layout.host(rank) == self.layout.host(self.culprit))
        return self.strength if slow else 1.0

    def host_factor(self, rank):
        """How much longer the rank's host takes."""
        return self.strength if self.cause == "slow-cpu" and rank == self.culprit else 1.0

    def roughness(self):
        """How many times the usual noise there is, on all ranks."""
        return self.strength if self.cause == "noisy" else 1.0

    def evaluations(self, rank, step):
        """Forward passes that the rank adds to this step."""
        return int(self.strength) if self.cause == "evaluation" and rank == self.culprit and step == self.middle else 0

    def work(self, rank, step):
        """How much more there is to do for the rank in this step: shapes grow with it."""
        if self.cause == "more-work" and self.layout.column(rank) == self.layout.column(self.culprit):
            return self.strength
        if self.cause in ("heavy-stage", "larger-stage") and self.layout.stage(rank) == self.layout.stage(self.culprit):
            return self.strength
        if self.lengths:
            return max(0.5, 1.0 + self.strength * self.lengths[step][self.layout.column(rank)])
        return 1.0

    def expert_share(self, rank):
        """How many times its fair share of tokens the experts of the rank are sent."""
        return self.strength if self.cause == "expert-imbalance" and rank == self.culprit else 1.0

    def stall_ns(self, rank, step, kind):
        if self.cause == "jitter" and kind == "host" and self.jittered[step] == rank:
            return int(self.strength * 1000)
        if self.cause == "gc-sometimes" and step % 2:
            return 0
        if self.cause == "checkpoint" and step != self.middle:
            return 0
        if rank == self.culprit and STALLS.get(self.cause) == kind:
            return int(self.strength * 1000)
        return 0

    def sync_ns(self, rank):
        return int(self.strength * 1000) if self.cause == "sync" and rank == self.culprit else 0

    def slow_hosts(self):
        """The two hosts with a slow path between them: that of the culprit, and the next one that it has transfers with."""
        layout = self.layout
        towards = 1 if layout.stage(self.culprit) + 1 < layout.stages else -1
        other = layout.neighbor(self.culprit, towards) if layout.stages > 1 else self.culprit + layout.per_host
        return {layout.host(self.culprit), layout.host(other % layout.world)}

    def link_factor(self, members):
        if self.cause == "slow-path":
            return self.strength if {self.layout.host(rank) for rank in members} == self.slow_hosts() else 1.0
        return self.strength if frozenset(members) in self.slow_channels else 1.0

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
        elif self.cause == "more-work":
            named["ranks"] = [rank for rank in range(self.layout.world)
                              if self.layout.column(rank) == self.layout.column(self.culprit)]
        elif self.cause == "heavy-stage":
            named["ranks"] = [rank for rank in range(self.layout.world)
                              if self.layout.stage(rank) == self.layout.stage(self.culprit)]
        elif self.cause == "slow-path":
            named["hosts"] = sorted(self.slow_hosts())
        elif self.cause == "slow-host":
            named["host"] = self.layout.host(self.culprit)
            named["ranks"] = self.layout.ranks_of_host(named["host"])
        elif self.slow_channels:
            named["link"] = sorted(self.slow_channels[0])
            named["links"] = sorted(map(sorted, self.slow_channels))
        elif self.cause == "jitter":
            named["by_step"] = [self.jittered[step] for step in sorted(self.jittered)]
        return named
