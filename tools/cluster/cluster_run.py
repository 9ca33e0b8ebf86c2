# SPDX-License-Identifier: MIT
"""A made run as a whole: simulate it, write a trace for each rank, and say in truth.json what was planted."""
import gzip
import json
import os
import random
from collections import defaultdict, namedtuple
from multiprocessing import Pool

from cluster_fabric import Fabric, Replay, replay, simulate, times_of_rank
from cluster_layout import Layout, host_name
from cluster_plan import CAUSES, Plan
from cluster_rank import RankRun
from cluster_rows import RankRows

Shape = namedtuple("Shape", "layers tokens micro_batches bucket_elements first_step era")
PAUSE_STEPS = 1                         # simulated before the first recorded step

# What to make. torn: ranks record windows that begin up to so many steps later; absent: ranks whose file is left out.
Request = namedtuple("Request", "topology ranks per_host tensor stages cause culprit strength steps layers tokens "
                     "micro_batches era seed offset_us drift_ppm torn absent host_names group_names plain jobs")


class MadeRun:
    def __init__(self, request):
        self.request = request
        self.layout = Layout(request.topology, request.ranks, request.per_host, request.tensor, request.stages)
        self.steps = PAUSE_STEPS + request.steps + request.torn
        self.shape = Shape(request.layers, request.tokens, request.micro_batches, 25_000_000, 10, request.era)
        self.plan = self.plan_of(request.cause)
        self.clocks = self.make_clocks()
        self.windows = self.make_windows()

    def plan_of(self, cause):
        strength = self.request.strength if self.request.strength is not None else CAUSES[cause].strength
        return Plan(self.layout, cause, self.request.culprit, strength, self.steps, self.request.seed)

    def make_clocks(self):
        """Offset in ns and drift in ppm of each host; the first host's clock is the true one."""
        dice = random.Random("clocks/%d" % self.request.seed)
        clocks = []
        for host in range(self.layout.host_count()):
            offset = (2 * dice.random() - 1) * self.request.offset_us
            drift = (2 * dice.random() - 1) * self.request.drift_ppm
            clocks.append((0, 0.0) if host == 0 else (int(offset * 1000), round(drift, 3)))
        return clocks

    def make_windows(self):
        """The steps that each rank records."""
        dice = random.Random("windows/%d" % self.request.seed)
        first = [PAUSE_STEPS + (int(dice.random() * (self.request.torn + 1)) if self.request.torn else 0)
                 for _ in range(self.layout.world)]
        return [range(begin, begin + self.request.steps) for begin in first]

    def simulated(self, plan):
        fabric = Fabric(plan, self.request.seed)
        watch = StepWatch()
        runs = {}
        for rank in range(self.layout.world):
            run = RankRun(self.layout, plan, self.shape, rank, self.request.seed, fabric)
            watch.watch(run)
            runs[rank] = run.run(self.steps)
        simulate(runs, fabric)
        return fabric, watch

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        fabric, watch = self.simulated(self.plan)
        _, twin = self.simulated(self.plan_of("healthy"))
        absent = set(self.request.absent)
        work = ((rank, times_of_rank(fabric, rank)) for rank in range(self.layout.world) if rank not in absent)
        if self.request.jobs > 1:
            with Pool(self.request.jobs, Writer.begin, (self, folder)) as pool:
                sizes = list(pool.imap_unordered(Writer.write, work, chunksize=4))
        else:
            sizes = [write_rank(self, folder, *one) for one in work]
        truth = self.truth(fabric, watch, twin)
        with open(os.path.join(folder, "truth.json"), "w", encoding="ascii") as stream:
            json.dump(truth, stream, indent=1)
            stream.write("\n")
        return truth, sum(sizes)

    # -------------------------------------------------------------- the truth

    def truth(self, fabric, watch, twin):
        request, layout = self.request, self.layout
        recorded = self.common_steps()
        named = self.plan.truth()
        middle_us = watch.middle_us(recorded, min(set(range(layout.world)) - set(request.absent)))
        step_us, healthy_us = watch.mean_us(recorded), twin.mean_us(recorded)
        return {
            "cause": request.cause, "culprit": dict(named, absent=bool(set(named["ranks"]) & set(request.absent))),
            "says": CAUSES[request.cause].says, "strength": self.plan.strength, "unit": CAUSES[request.cause].unit,
            "step_us": round(step_us, 1), "healthy_step_us": round(healthy_us, 1),
            "cost_us_per_step": round(step_us - healthy_us, 1),
            "run": {"topology": request.topology, "world_size": layout.world, "per_host": layout.per_host,
                    "hosts": layout.host_count(), "tensor": layout.tensor, "stages": layout.stages, "era": request.era,
                    "seed": request.seed, "groups": len(layout.groups)},
            "ranks_absent": sorted(request.absent),
            "steps": {"recorded_by_rank": [self.numbers(window) for window in self.windows] if request.torn else None,
                      "common": self.numbers(recorded)},
            "clocks": [{"host": host_name(host), "offset_us": clock[0] / 1000.0, "drift_ppm": clock[1],
                        "middle_us": round(clock[0] / 1000.0 + clock[1] * middle_us / 1e6, 3)}
                       for host, clock in enumerate(self.clocks)],
            "waiting": self.waiting(fabric, watch, recorded),
        }

    def numbers(self, steps):
        return [self.shape.first_step + step for step in steps]

    def common_steps(self):
        present = [window for rank, window in enumerate(self.windows) if rank not in self.request.absent]
        return range(max(window[0] for window in present), min(window[-1] for window in present) + 1)

    def waiting(self, fabric, watch, recorded):
        """Who came last how often, and how long each waited, in the steps that all present ranks recorded."""
        begin = {rank: watch.ends[rank][recorded[0] - 1] for rank in watch.ends}
        end = {rank: watch.ends[rank][recorded[-1]] for rank in watch.ends}
        waited, last, count = defaultdict(int), defaultdict(int), 0
        for key, channel in fabric.channels.items():
            for times in channel.done:
                if not all(begin[rank] <= start < end[rank] for rank, (start, _) in times.items()):
                    continue
                latest = max(times, key=lambda rank: times[rank][0])
                count += 1
                last[latest] += 1
                for rank, (start, _) in times.items():
                    waited[rank] += times[latest][0] - start
        most = sorted(last, key=lambda rank: (-last[rank], rank))[:8]
        return {"collectives": count, "total_us": round(sum(waited.values()) / 1000.0, 1),
                "least_rank": min(waited, key=lambda rank: (waited[rank], rank)) if waited else None,
                "last_arrivals": [[rank, last[rank]] for rank in most]}


class StepWatch:
    """When each step of each rank ended."""

    def __init__(self):
        self.ends = {}

    def watch(self, run):
        ends = self.ends[run.rank] = []
        span = run.span

        def watched(kind, name, began_ns, **more):
            if kind == "step":
                ends.append(run.now_ns)
            span(kind, name, began_ns, **more)
        run.span = watched

    def middle_us(self, steps, rank):
        """The middle of these steps of the rank: clocks that drift are compared there."""
        return (self.ends[rank][steps[0] - 1] + self.ends[rank][steps[-1]]) / 2 / 1000.0

    def mean_us(self, steps):
        """Mean time of a step, over the ranks."""
        spans = [ends[steps[-1]] - ends[steps[0] - 1] for ends in self.ends.values()]
        return sum(spans) / len(spans) / len(steps) / 1000.0


class Writer:
    """A process that writes ranks: the run is handed over once and not with each rank."""

    @classmethod
    def begin(cls, made, folder):
        cls.made, cls.folder = made, folder

    @classmethod
    def write(cls, one):
        return write_rank(cls.made, cls.folder, *one)


def write_rank(made, folder, rank, times):
    """One rank's file; its size in bytes, of the text."""
    layout, request = made.layout, made.request
    host = layout.host(rank)
    rows = RankRows(layout, rank, made.shape, made.clocks[host], made.windows[rank], request.group_names)
    fabric = Replay(rank, times)
    replay(RankRun(layout, made.plan, made.shape, rank, request.seed, fabric, rows).run(made.steps), fabric)
    data = rows.document(host_name(host) if request.host_names else None).encode("ascii")
    path = os.path.join(folder, "rank%d.pt.trace.json" % rank)
    if request.plain:
        with open(path, "wb") as stream:
            stream.write(data)
    else:
        with open(path + ".gz", "wb") as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            packed.write(data)
    return len(data)
