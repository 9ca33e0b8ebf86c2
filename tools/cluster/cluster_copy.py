# SPDX-License-Identifier: MIT
"""A run of many ranks from the real trace of one: each rank gets a copy whose times are moved.

The collectives of the trace are its fixed points. Between two of them a rank takes as long as the original, with
noise; in one
all wait for the last. The time that is waited goes in at the end of the collective, so that what ran beside it keeps its
length. What a rank is late by is longer work all along (slow-device) or a gap where its device was idle anyway (host-stall).
"""
import bisect
import gzip
import json
import os
import random
import re

from cluster_fabric import Noise, noise_table
from cluster_layout import host_name
from cluster_plan import CAUSES

COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
COPIED_CAUSES = ("healthy", "slow-device", "host-stall")


def read_trace(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as stream:
        document = json.load(stream)
    if not isinstance(document, dict) or not document.get("traceEvents"):
        raise ValueError("%s is no trace with events" % path)
    return document


def is_span(event):
    return event.get("ph") == "X" and isinstance(event.get("ts"), (int, float)) and \
        isinstance(event.get("dur"), (int, float))


def merged(spans):
    """Spans that overlap or touch become one."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([begin, end])
    return found


class Original:
    """The trace that is copied: when its collectives ran, its steps, and where its device was idle. Times in us from
    its begin,
    for microseconds since 1970 with three digits do not fit a double."""

    def __init__(self, path):
        self.document = read_trace(path)
        events = [event for event in self.document["traceEvents"] if is_span(event)]
        self.begin = min(event["ts"] for event in events)
        device = [event for event in events if str(event.get("cat")).lower() in ("kernel", "gpu_memcpy", "gpu_memset")]
        self.collectives = merged(self.span(event) for event in device if COLLECTIVE.search(event["name"]))
        if not self.collectives:
            raise ValueError("%s has no kernels of collectives" % path)
        self.idle = self.gaps(merged(self.span(event) for event in device))
        self.steps = sorted(self.span(event)[0] for event in events
                            if event["name"].startswith("ProfilerStep#") and event.get("cat") == "user_annotation") or [0.0]

    def span(self, event):
        begin = event["ts"] - self.begin
        return begin, begin + event["dur"]

    @staticmethod
    def gaps(busy):
        return [(before[1], after[0]) for before, after in zip(busy, busy[1:])]

    def stall_points(self):
        """In each step the middle of the longest idle time before its first collective."""
        points = []
        for begin in self.steps:
            until = next((start for start, _ in self.collectives if start > begin), None)
            if until is not None:
                fits = [gap for gap in self.idle if gap[0] >= begin and gap[1] <= until]
                longest = max(fits, key=lambda gap: gap[1] - gap[0], default=(begin, begin))
                points.append((longest[0] + longest[1]) / 2)
        return points


class Warp:
    """Moves instants: linear between fixed points, as before them the first and as behind them the last."""

    def __init__(self, points):
        self.old = [old for old, _ in points]
        self.new = [new for _, new in points]

    def at(self, instant):
        last = len(self.old) - 1
        where = min(max(bisect.bisect_right(self.old, instant) - 1, 0), max(last - 1, 0))
        if instant <= self.old[0] or instant >= self.old[last]:
            edge = 0 if instant <= self.old[0] else last
            return self.new[edge] + instant - self.old[edge]
        share = (instant - self.old[where]) / (self.old[where + 1] - self.old[where])
        return self.new[where] + share * (self.new[where + 1] - self.new[where])


class CopiedRun:
    def __init__(self, path, ranks, per_host, cause, culprit, strength, seed, offset_us):
        if cause not in COPIED_CAUSES:
            raise ValueError("with a trace to copy only these can be planted: %s" % ", ".join(COPIED_CAUSES))
        self.original = Original(path)
        self.path, self.ranks, self.per_host, self.cause, self.culprit = path, ranks, per_host, cause, culprit
        self.strength, self.seed = CAUSES[cause].strength if strength is None else strength, seed
        dice = random.Random("clocks/%d" % seed)
        hosts = (ranks - 1) // per_host + 1
        self.offsets = [0.0] + [round((2 * dice.random() - 1) * offset_us, 3) for _ in range(1, hosts)]

    def warps(self, cause):
        """For each rank its fixed points, found from one collective to the next over all ranks."""
        table = noise_table(0.01, "copies")
        noises = [Noise(table, "%d/%d" % (self.seed, rank)) for rank in range(self.ranks)]
        points, now, old = [[(0.0, 0.0)] for _ in range(self.ranks)], [0.0] * self.ranks, 0.0
        stalls = self.original.stall_points() if cause == "host-stall" else []
        for begin, end in self.original.collectives:
            for rank in range(self.ranks):
                late = cause != "healthy" and rank == self.culprit
                factor = noises[rank].next() * (self.strength if late and cause == "slow-device" else 1.0)
                place = next((point for point in stalls if late and old < point < begin), None)
                if place is not None:
                    there = now[rank] + (place - old) * factor
                    points[rank] += [(place, there), (place + 0.001, there + self.strength)]
                    now[rank] += self.strength
                now[rank] += (begin - old) * factor
                points[rank].append((begin, now[rank]))
            last, length = max(now), end - begin
            for rank in range(self.ranks):
                points[rank].append((end - min(0.5, length / 4), now[rank] + length * 0.9))
                now[rank] = last + length + 2.0 * abs(noises[rank].next() - 1.0) / 0.01
                points[rank].append((end, now[rank]))
            old = end
        return points

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        planted, twin = self.warps(self.cause), self.warps("healthy")
        size = sum(self.write_rank(folder, rank, Warp(planted[rank])) for rank in range(self.ranks))
        steps = len(self.original.steps)
        cost = (planted[0][-1][1] - twin[0][-1][1]) / steps
        truth = {"cause": self.cause, "says": CAUSES[self.cause].says, "strength": self.strength,
                 "culprit": {"ranks": [] if self.cause == "healthy" else [self.culprit], "host": None, "link": None},
                 "cost_us_per_step": round(cost, 1), "step_us": round(planted[0][-1][1] / steps, 1),
                 "run": {"world_size": self.ranks, "per_host": self.per_host, "seed": self.seed,
                         "copied": os.path.basename(self.path)},
                 "clocks": [{"host": host_name(host), "offset_us": offset} for host, offset in enumerate(self.offsets)],
                 "collectives": len(self.original.collectives)}
        with open(os.path.join(folder, "truth.json"), "w", encoding="ascii") as stream:
            json.dump(truth, stream, indent=1)
            stream.write("\n")
        return truth, size

    def write_rank(self, folder, rank, warp):
        host = rank // self.per_host
        shift = self.original.begin + self.offsets[host]
        events = []
        for event in self.original.document["traceEvents"]:
            if isinstance(event.get("ts"), (int, float)) and event.get("ph") != "M":
                begin = event["ts"] - self.original.begin
                event = dict(event, ts=round(warp.at(begin) + shift, 3))
                if "dur" in event:
                    event["dur"] = round(max(0.0, warp.at(begin + event["dur"]) - warp.at(begin)), 3)
            events.append(event)
        document = {key: value for key, value in self.original.document.items() if key != "traceEvents"}
        known = document.get("distributedInfo") or {"backend": "nccl"}
        document["distributedInfo"] = dict(known, rank=rank, world_size=self.ranks, pg_config=[
            dict(group, pg_size=self.ranks, ranks=list(range(self.ranks))) for group in known.get("pg_config", [])[:1]])
        document["host_name"] = host_name(host)
        document["traceEvents"] = [self.regrouped(event) for event in events]
        data = json.dumps(document, separators=(",", ":")).encode()
        with open(os.path.join(folder, "rank%d.pt.trace.json.gz" % rank), "wb") as stream, \
                gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            packed.write(data)
        return len(data)

    def regrouped(self, event):
        """The one group of the copied run has as many members as the run has ranks."""
        args = event.get("args")
        if isinstance(args, dict) and "Group size" in args:
            members = ", ".join(map(str, range(min(30, self.ranks)))) + (", ..." if self.ranks > 30 else "")
            event = dict(event, args=dict(args, **{"Group size": self.ranks, "Process Group Ranks": "[%s]" % members}))
        return event
