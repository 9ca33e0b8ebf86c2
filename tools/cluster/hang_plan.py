# SPDX-License-Identifier: MIT
"""A run of many ranks that hangs: what each rank calls, what is planted, and how far host and device of each come.

A host enqueues calls without waiting and reads the loss at the end of a step; with blocking calls it waits for each.
A device does the calls of its rank in their order, and a call is done when the devices of all members stand at it and agree.
"""
from collections import namedtuple

HIDDEN, TOKENS = 4096, 2048

# group: a Group; op: as torch calls it; peers: (source, target) of a transfer, else None.
Call = namedtuple("Call", "group op inputs outputs dtype peers")
Hang = namedtuple("Hang", "topology blocking says verdict")
HANGS = {
    "healthy": Hang("tpdp", False, "nothing hangs, the dumps were asked for", "none"),
    "stuck": Hang("dp", False, "one rank's host never issues the next call", "stuck-host"),
    "stuck-subgroup": Hang("tpdp", False, "one rank is stuck before a call of a small group; larger groups wait for it too",
                           "stuck-host"),
    "skip": Hang("dp", False, "one rank leaves out a call, and its later ones meet the wrong ones of others", "skipped"),
    "skip-blocking": Hang("dp", True, "likewise, but it stops at its first wrong call: skipped or swapped cannot be told",
                          "desync"),
    "swapped": Hang("dp", False, "one rank issues two calls of a group in the other order", "order"),
    "cycle": Hang("tpdp", True, "two ranks use two groups in different order", "cycle"),
    "size": Hang("dp", False, "one rank calls with another size", "size"),
    "dtype": Hang("dp", False, "one rank calls with another type", "dtype"),
    "no-dump": Hang("dp", False, "one rank ended before the hang and left no dump", "no-dump"),
    "wrapped": Hang("dp", False, "one rank is stuck, and the buffers keep only the last few calls", "stuck-host"),
    "network": Hang("dp", False, "all entered the same call and none finishes", "network"),
    "stage": Hang("pp", False, "one stage of a pipeline is stuck, the others wait for its transfers", "stuck-host"),
    "stage-wrapped": Hang("pp", True, "likewise, and the buffers keep only the last few calls", "stuck-host"),
    "stage-no-dump": Hang("pp", True, "one rank of a pipeline ended and left no dump", "no-dump"),
    "size-subgroup": Hang("tpdp", False, "one rank calls with another size in a small group, among calls like it", "size"),
}


def call(group, op, elements, dtype="BFloat16", gathers=1, peers=None):
    return Call(group, op, ((elements,),), ((elements * gathers,),), dtype, peers)


def step_calls(layout, rank):
    """The calls of a rank in one step."""
    calls = []
    tensor, pipe = layout.tensor_of.get(rank), layout.pipe_of.get(rank)
    for _ in range(2):
        if tensor:
            calls += [call(tensor, "all_reduce", TOKENS * HIDDEN)] * 2
    if pipe:
        calls += pipe_calls(layout, rank, pipe)
    data = layout.data_of.get(rank)
    if data:
        calls += [call(data, "all_reduce", 25_000_000 // (1 + bucket)) for bucket in range(3)]
        calls.append(call(data, "_all_gather_base", 1_000_000, gathers=len(data.members)))
    calls.append(call(layout.groups[0], "all_reduce", 1, "Float"))
    return calls


def pipe_calls(layout, rank, pipe):
    """One forward and one backward transfer of two batches, each way in an order that fits the next stage's."""
    stage, calls = layout.stage(rank), []
    for forward in (True, True, False, False):
        towards = 1 if forward else -1
        before, after = stage - towards, stage + towards
        if 0 <= before < layout.stages:
            calls.append(call(pipe, "recv", TOKENS * HIDDEN, peers=(layout.neighbor(rank, -towards), rank)))
        if 0 <= after < layout.stages:
            calls.append(call(pipe, "send", TOKENS * HIDDEN, peers=(rank, layout.neighbor(rank, towards))))
    return calls


class HangPlan:
    """Plants one cause into the @step of the run, at the @place-th call that fits."""

    def __init__(self, layout, hang, culprit, steps, step):
        self.layout, self.hang, self.culprit, self.steps, self.step = layout, hang, culprit, steps, step
        self.programs = {rank: [self.planted(rank, number) for number in range(steps)] for rank in range(layout.world)}

    def place(self, calls):
        """Where in a step the cause is planted: at a later call of a small group, else in the middle of the large one's."""
        wanted = {"stuck-subgroup": "tp", "size-subgroup": "tp", "cycle": "tp"}.get(self.hang) or \
            ("pp" if self.hang.startswith("stage") else None)
        for at, one in enumerate(calls):
            if at and (one.group.desc == wanted if wanted else one.outputs[0][0] == 12_500_000):
                return at
        raise ValueError("the topology has no place for %s" % self.hang)

    def planted(self, rank, number):
        calls = step_calls(self.layout, rank)
        if number != self.step:
            return calls
        if self.hang == "cycle":
            return self.cycle(rank, calls)
        if rank != self.culprit:
            return calls
        at = self.place(calls)
        if HANGS[self.hang].verdict in ("stuck-host", "no-dump"):
            return calls[:at] + [None]
        if self.hang in ("skip", "skip-blocking"):
            return calls[:at] + calls[at + 1:]
        if self.hang == "swapped":
            other = at + 2                                  # the gathering call, so that the operations differ
            return calls[:at] + [calls[other], calls[at + 1], calls[at]] + calls[other + 1:]
        if HANGS[self.hang].verdict == "size":
            size = ((calls[at].inputs[0][0] - 500_000,),)
            return calls[:at] + [calls[at]._replace(inputs=size, outputs=size)] + calls[at + 1:]
        if self.hang == "dtype":
            return calls[:at] + [calls[at]._replace(dtype="Float")] + calls[at + 1:]
        return calls

    def cycle(self, rank, calls):
        """Before the step, the tensor group and the whole run each sum up once: the culprit in the other order."""
        tensor = self.layout.tensor_of[rank]
        first, second = call(tensor, "all_reduce", 77), call(self.layout.groups[0], "all_reduce", 78)
        return ([second, first] if rank == self.culprit else [first, second]) + calls

    def truth(self):
        named = {"ranks": [] if self.hang in ("healthy", "network") else [self.culprit]}
        if self.hang == "cycle":
            named["with"] = sorted(set(self.layout.tensor_of[self.culprit].members) - {self.culprit})
        return named


def agree(calls):
    """Whether the members' calls can be done together."""
    return len({(one.op, one.outputs, one.dtype) for one in calls}) == 1


class HangRun:
    """How far each rank comes: @issued calls by its host, @done by its device."""

    def __init__(self, plan, blocking):
        self.plan, self.blocking = plan, blocking
        self.flat = {rank: [one for step in steps for one in step] for rank, steps in plan.programs.items()}
        self.ends = {rank: self.step_ends(steps) for rank, steps in plan.programs.items()}
        self.issued, self.done = dict.fromkeys(self.flat, 0), dict.fromkeys(self.flat, 0)
        self.unreachable = plan.layout.groups[0].number if plan.hang == "network" else None
        while self.hosts() | self.devices():
            pass

    @staticmethod
    def step_ends(steps):
        ends, count = set(), 0
        for step in steps:
            count += len(step)
            ends.add(count)
        return ends

    def hosts(self):
        moved = False
        for rank, calls in self.flat.items():
            while self.issued[rank] < len(calls) and calls[self.issued[rank]] is not None and self.may_issue(rank):
                self.issued[rank] += 1
                moved = True
        return moved

    def may_issue(self, rank):
        waits = self.blocking or self.issued[rank] in self.ends[rank]
        return not waits or self.done[rank] == self.issued[rank]

    def devices(self):
        moved = False
        for rank in self.flat:
            if self.done[rank] == self.issued[rank]:
                continue
            one = self.flat[rank][self.done[rank]]
            members = one.peers or one.group.members
            if rank != members[0] or not all(self.done[other] < self.issued[other] for other in members):
                continue
            heads = [self.flat[other][self.done[other]] for other in members]
            if self.together(one, heads) and not self.blocked(rank, one):
                for other in members:
                    self.done[other] += 1
                moved = True
        return moved

    @staticmethod
    def together(one, heads):
        if one.peers:
            return all(head.peers == one.peers for head in heads)
        return all(head.group == one.group and not head.peers for head in heads) and agree(heads)

    def blocked(self, rank, one):
        """The network fails at the first large call of the planted step."""
        step_first = sum(len(step) for step in self.plan.programs[rank][:self.plan.step])
        return self.unreachable == one.group.number and self.done[rank] == step_first
