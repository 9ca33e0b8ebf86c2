# SPDX-License-Identifier: MIT
"""What joins the ranks of a made run: collectives and transfers begin on each rank when it is ready and end together."""
import math
import random
from collections import defaultdict, deque
from functools import lru_cache

NOISES = 8192                          # a table: drawing anew for each kernel of a thousand ranks would take minutes


@lru_cache
def noise_table(sigma, name):
    """Factors of a log-normal noise around 1."""
    dice = random.Random(name)
    table = []
    while len(table) < NOISES:          # Box and Muller: only random() is promised to stay the same over versions of Python
        length, angle = math.sqrt(-2.0 * math.log(1.0 - dice.random())), 2.0 * math.pi * dice.random()
        table += [round(math.exp(sigma * length * turn), 6) for turn in (math.cos(angle), math.sin(angle))]
    return table


class Noise:
    """Endless factors for one place of the run: it walks through a table in strides of its own."""

    def __init__(self, table, name):
        dice = random.Random(name)
        self.table, self.at, self.stride = table, int(dice.random() * NOISES), 2 * int(dice.random() * NOISES / 2) + 1

    def next(self):
        self.at = (self.at + self.stride) & (NOISES - 1)
        return self.table[self.at]


class Channel:
    """One order of collectives: a group, or one direction between two ranks."""

    def __init__(self, members, factor, noise):
        self.members, self.factor, self.noise = members, factor, noise
        self.posted, self.counts = {}, dict.fromkeys(members, 0)
        self.free_ns = dict.fromkeys(members, 0)
        self.done = []                  # by number: {rank: (start, end)}

    def post(self, rank, ready_ns, transfer_ns, rooted):
        number = self.counts[rank]
        self.counts[rank] += 1
        self.posted.setdefault(number, {})[rank] = (ready_ns, transfer_ns, rooted)
        return number

    @staticmethod
    def begun_ns(rank, starts, rooted):
        """When the data of the rank can move: all have come; of a broadcast the root has, of a reduction all towards it."""
        if rooted is None or (rooted[0] == "reduce" and rank == rooted[1]):
            return max(starts.values())
        return max(starts[rank], starts[rooted[1]]) if rooted[0] == "broadcast" else starts[rank]

    def resolve(self):
        """Numbers that can be told now: all their members are there, and all before are done."""
        while len(self.posted.get(len(self.done), ())) == len(self.members):
            number = len(self.done)
            posts = self.posted.pop(number)
            starts = {rank: max(ready, self.free_ns[rank]) for rank, (ready, _, _) in posts.items()}
            factor, times = self.factor * self.noise.next(), {}
            last = max(starts.values())
            for rank, (_, transfer_ns, rooted) in posts.items():
                late_exit_ns = int(1500 * abs(math.log(self.noise.next())) / 0.03)
                begun = last if rooted is None else self.begun_ns(rank, starts, rooted)
                end = begun + int(transfer_ns * factor) + min(late_exit_ns, 9000)
                self.free_ns[rank] = end
                times[rank] = (starts[rank], end)
            self.done.append(times)
            yield number


class Fabric:
    """All channels. A rank posts, and later asks for the times of what it posted."""

    def __init__(self, plan, seed):
        self.plan, self.seed, self.channels = plan, seed, {}
        self.table = noise_table(0.03, "transfers/%d" % seed)
        self.resolved = deque()

    def post(self, rank, key, members, ready_ns, transfer_ns, rooted=None):
        """@key names the channel; the ticket that is returned names this collective of it."""
        channel = self.channels.get(key)
        if channel is None:
            noise = Noise(self.table, "channel/%d/%s" % (self.seed, key))
            channel = self.channels[key] = Channel(members, self.plan.link_factor(members), noise)
        ticket = (key, channel.post(rank, ready_ns, transfer_ns, rooted))
        self.resolved.extend((key, number) for number in channel.resolve())
        return ticket

    def times(self, ticket, rank):
        done = self.channels[ticket[0]].done
        return done[ticket[1]][rank] if ticket[1] < len(done) else None


def simulate(runs, fabric):
    """Lets all ranks run until each has ended. @runs: rank -> generator that yields the tickets whose times it needs."""
    waiting = defaultdict(list)
    ready = deque((rank, None) for rank in runs)
    left = len(runs)
    while ready:
        rank, sent = ready.popleft()
        try:
            ticket = runs[rank].send(sent)
            times = fabric.times(ticket, rank)
            while times is not None:
                ticket = runs[rank].send(times)
                times = fabric.times(ticket, rank)
            waiting[ticket].append(rank)
        except StopIteration:
            left -= 1
        while fabric.resolved:
            known = fabric.resolved.popleft()
            ready.extend((other, fabric.times(known, other)) for other in waiting.pop(known, ()))
    if left:
        raise RuntimeError("%d ranks wait for each other for ever" % left)


class Replay:
    """The fabric of a run that is over: for writing the rows of one rank after another."""

    def __init__(self, rank, times_by_key):
        self.rank, self.times_by_key, self.counts = rank, times_by_key, defaultdict(int)

    def post(self, rank, key, members, ready_ns, transfer_ns, rooted=None):
        number = self.counts[key]
        self.counts[key] += 1
        return (key, number)

    def times(self, ticket, rank):
        return self.times_by_key[ticket[0]][ticket[1]]


def times_of_rank(fabric, rank):
    return {key: [times[rank] for times in channel.done] for key, channel in fabric.channels.items()
            if rank in channel.counts}


def replay(run, fabric):
    """Runs one rank alone; what it asks for is known."""
    sent = None
    try:
        while True:
            sent = fabric.times(run.send(sent), fabric.rank)
    except StopIteration:
        pass
