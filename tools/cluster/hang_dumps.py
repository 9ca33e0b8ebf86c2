# SPDX-License-Identifier: MIT
"""Flight-recorder dumps of a made run, as torch writes them as JSON: one file for each rank, and truth.json beside them."""
import json
import os
import random
from collections import defaultdict

from cluster_layout import Layout
from hang_plan import HANGS, HangPlan, HangRun

VERSIONS = ("2.3", "2.4", "2.10")
START_NS = 1_767_200_000_000_000_000
CALL_NS, DUMP_LATER_NS = 900_000, 600 * 10**9


class Dump:
    """The recorder of one rank: @keep entries, the oldest are lost."""

    def __init__(self, made, rank):
        self.made, self.rank = made, rank
        self.groups = made.layout.groups_of(rank)
        self.dice = random.Random("dump/%d/%d" % (made.seed, rank))
        self.entries = []
        run = made.run
        seqs, transfers, ops = defaultdict(int), defaultdict(int), defaultdict(int)
        for number in range(run.issued[rank]):
            call = run.flat[rank][number]
            ops[call.group] += 1
            (transfers if call.peers else seqs)[call.group] += 1
            self.entries.append(self.entry(number, call, seqs[call.group], transfers[call.group], ops[call.group],
                                           number < run.done[rank], number == run.done[rank]))
        self.status = {group: self.status_of(group) for group in self.groups}

    def name_of(self, call):
        library = "nccl"
        if not call.peers:
            return "%s:%s" % (library, call.op)
        source, target = (call.group.members.index(rank) for rank in call.peers)
        return "%s:send %d->%d" % (library, source, target) if call.op == "send" else \
            "%s:recv %d<-%d" % (library, target, source)

    def entry(self, number, call, seq, transfer, op, done, running):
        created = START_NS + number * CALL_NS + int(self.dice.random() * 40_000)
        timed = self.made.timing
        started = created + 60_000 + int(self.dice.random() * 20_000) if timed and (done or running) else 0
        entry = {
            "collective_seq_id": seq, "duration_ms": None,
            "input_dtypes": [call.dtype], "input_sizes": [list(call.inputs[0])],
            "is_p2p": call.peers is not None, "op_id": op, "output_dtypes": [call.dtype],
            "output_sizes": [list(call.outputs[0])], "p2p_seq_id": transfer, "pg_id": self.groups.index(call.group),
            "process_group": [str(call.group.number), call.group.desc], "profiling_name": self.name_of(call),
            "record_id": number, "retired": done, "state": "completed" if done else "started" if started else "scheduled",
            "time_created_ns": created,
            "time_discovered_completed_ns": created + 700_000 + int(self.dice.random() * 90_000_000) if done else 0,
            "time_discovered_started_ns": started, "timeout_ms": 600_000}
        if timed and done:
            entry["duration_ms"] = round(0.4 + 0.1 * self.dice.random(), 6)
        else:
            del entry["duration_ms"]
        if self.made.version == "2.10":
            entry.update(thread_id="140%09d" % (self.rank + 1), thread_name="python3")
        return dict(sorted(entry.items()))

    def status_of(self, group):
        mine = [entry for entry in self.entries if entry["pg_id"] == self.groups.index(group) and not entry["is_p2p"]]
        done = [entry["collective_seq_id"] for entry in mine if entry["retired"]]
        started = [entry["collective_seq_id"] for entry in mine if entry["time_discovered_started_ns"]]
        return {"last_completed_collective": str(max(done, default=-1)),
                "last_enqueued_collective": str(max((entry["collective_seq_id"] for entry in mine), default=-1)),
                "last_started_collective": str(max(started, default=-1))}

    def document(self):
        config = {str(group.number): {"desc": group.desc, "name": str(group.number), "ranks": str(list(group.members))}
                  for group in self.groups}
        document = {"entries": self.entries[-self.made.keep:], "nccl_comm_state": {}, "pg_config": config,
                    "pg_status": {str(at): self.status[group] for at, group in enumerate(self.groups)},
                    "version": self.made.version}
        if self.made.version == "2.10":
            document["comm_lib_version"] = "2.27.5"
        if not document["entries"]:
            del document["entries"]
        return json.dumps(dict(sorted(document.items())), separators=(",", ":")).encode("ascii")


class MadeDumps:
    """@hang: one of HANGS. @keep: how many entries a recorder keeps."""

    def __init__(self, hang, ranks, per_host, culprit, version, seed, steps, keep, timing):
        self.hang, self.version, self.seed, self.timing = hang, version, seed, timing
        kind = HANGS[hang]
        tensor = min(4, ranks) if kind.topology == "tpdp" else 1
        stages = min(4, ranks) if kind.topology == "pp" else 1
        self.layout = Layout(kind.topology, ranks, per_host, tensor, stages)
        self.keep = min(keep, {"wrapped": 6, "stage-wrapped": 9}.get(hang, keep))
        self.plan = HangPlan(self.layout, hang, culprit, steps, steps - 2)
        self.run = HangRun(self.plan, kind.blocking)

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        size = 0
        for rank in range(self.layout.world):
            if HANGS[self.hang].verdict == "no-dump" and rank == self.plan.culprit:
                continue
            data = Dump(self, rank).document()
            size += len(data)
            with open(os.path.join(folder, "nccl_trace_rank_%d.json" % rank), "wb") as stream:
                stream.write(data)
        truth = self.truth()
        with open(os.path.join(folder, "truth.json"), "w", encoding="ascii") as stream:
            json.dump(truth, stream, indent=1)
            stream.write("\n")
        return truth, size

    def truth(self):
        """Where it hangs is told by the first call that the culprit's peers cannot finish."""
        kind, culprit = HANGS[self.hang], self.plan.culprit
        return {"hang": self.hang, "verdict": kind.verdict, "culprit": self.plan.truth(), "says": kind.says,
                "pending": self.pending(), "recording": "synthetic",
                "run": {"topology": kind.topology, "world_size": self.layout.world, "version": self.version,
                        "seed": self.seed, "blocking": kind.blocking, "culprit": culprit}}

    def pending(self):
        """The first call of each group that is not done, and who has entered it."""
        found = {}
        for rank, calls in self.run.flat.items():
            seqs = defaultdict(int)
            for number in range(self.run.issued[rank]):
                call = calls[number]
                seqs[call.group.number, bool(call.peers)] += 1
                if number >= self.run.done[rank] and not call.peers:
                    key = (call.group.number, seqs[call.group.number, False])
                    found.setdefault(key, []).append(rank)
        first = {}
        for group, seq in sorted(found):
            first.setdefault(group, seq)
        return [{"group": str(group), "seq": seq, "entered": found[group, seq],
                 "missing": sorted(set(self.layout.groups[group].members) - set(found[group, seq]))}
                for group, seq in sorted(first.items())]
