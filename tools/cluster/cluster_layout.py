# SPDX-License-Identifier: MIT
"""Who is where in a made run: ranks on hosts, and the process groups that a parallel program makes of them.

Ranks are numbered as most launchers do: tensor parallel neighbors first, then data parallel ones, then pipeline stages.
"""
from collections import namedtuple

# number: as torch counts groups over the whole run, in the order in which the program made them.
Group = namedtuple("Group", "number members desc")

TOPOLOGIES = ("dp", "tpdp", "pp", "moe", "fsdp", "hsdp", "zero")


class Layout:
    """@per_host ranks on each host; @tensor ranks share a layer, @stages are the pieces of a pipeline."""

    def __init__(self, topology, world, per_host, tensor=1, stages=1):
        if world < 2 or per_host < 1:
            raise ValueError("a run has at least 2 ranks, and a host at least 1")
        if world % (tensor * stages):
            raise ValueError("%d ranks cannot be shared out to %d x %d" % (world, tensor, stages))
        self.topology, self.world, self.per_host = topology, world, per_host
        self.tensor, self.stages, self.data = tensor, stages, world // (tensor * stages)
        self.groups = [Group(0, tuple(range(world)), "default_pg")]
        tensors, columns, pieces = range(tensor), range(self.data), range(stages)
        self.tensor_of = self._make("tp", [[self._rank(t, d, p) for t in tensors] for p in pieces for d in columns])
        self.data_of = self._make("dp", [[self._rank(t, d, p) for d in columns] for p in pieces for t in tensors]
                                  if tensor * stages > 1 else [])
        self.pipe_of = self._make("pp", [[self._rank(t, d, p) for p in pieces] for d in columns for t in tensors])
        self.expert_of = self._make("ep", self._blocks(min(world, 8 * per_host, 64)) if topology == "moe" else [])
        hosts = self._blocks(per_host) if topology == "hsdp" else []
        self.shard_of = self._make("shard", hosts)
        self.replica_of = self._make("replica", [list(ranks) for ranks in zip(*hosts)])
        if tensor * stages == 1:
            self.data_of = {rank: self.groups[0] for rank in range(world)}

    def _rank(self, tensor, data, stage):
        return (stage * self.data + data) * self.tensor + tensor

    def _blocks(self, size):
        return [list(range(first, min(first + size, self.world))) for first in range(0, self.world, size)]

    def _make(self, desc, member_lists):
        """The group of each rank; a group of one rank is not made."""
        found = {}
        for members in member_lists:
            if len(members) > 1:
                group = Group(len(self.groups), tuple(members), desc)
                self.groups.append(group)
                found.update(dict.fromkeys(members, group))
        return found

    def column(self, rank):
        """Ranks of one column share their batches."""
        return rank // self.tensor % self.data

    def stage(self, rank):
        return rank // (self.data * self.tensor)

    def host(self, rank):
        return rank // self.per_host

    def host_count(self):
        return self.host(self.world - 1) + 1

    def ranks_of_host(self, host):
        return [rank for rank in range(self.world) if self.host(rank) == host]

    def neighbor(self, rank, step):
        """The same rank one stage on (@step 1) or back (-1)."""
        return rank + step * self.data * self.tensor

    def groups_of(self, rank):
        mine = (self.tensor_of, self.data_of, self.pipe_of, self.expert_of, self.shard_of, self.replica_of)
        return sorted({self.groups[0]} | {of[rank] for of in mine if rank in of})


def host_name(host):
    return "node%04d" % host
