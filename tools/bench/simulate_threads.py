#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long reading would take with more threads than this machine has, by the times of its blocks.

    read_alone --blocks FILE 1 > one; read_alone --blocks FILE 2 > two
    simulate_threads.py one two

The first file tells of each block how long it takes to fetch and to read; the second, of each block that was read ahead,
how long it takes to take over. Then the threads are played as json_ahead.c lets them work: one to three fetch, as far
as there are free blocks; helpers take blocks in order; the first thread keeps one in so many for itself, takes over the
others, and takes back what nobody has begun with. All threads are taken to have a core of their own and none to slow
another down."""

import argparse
import heapq
import statistics


def lines(path):
    return [tuple(map(float, line.split())) for line in open(path, encoding="ascii") if line.strip()]


def kept(helpers, blocks):
    """Which blocks the first thread keeps, as keeps_next() has it."""
    keeps, in_a_row = set(), 1
    rest = max(0, 10 - helpers)
    for number in range(2, blocks):
        if in_a_row * rest + rest // 2 >= 10 * helpers:
            keeps.add(number)
            in_a_row = 0
        else:
            in_a_row += 1
    return keeps | {0}


def simulate(threads, fetch, read, join):
    """Microseconds from the first byte to the last."""
    blocks = len(read)
    if threads == 1:
        return sum(fetch) + sum(read)
    helpers = threads - 1
    ring, ahead_most = 5 + 3 * helpers, 2 * helpers
    keeps = kept(helpers, blocks)
    fetched, done, begun = [0.0] * blocks, [None] * blocks, [None] * blocks
    first = handed = 0.0
    fetchers = [0.0] * min(3, 1 + threads // 6)
    released = [0.0] * blocks
    free = [0.0] * helpers
    heapq.heapify(free)
    given, fetched_to = [], 0
    next_given = 1
    for number in range(blocks):
        while fetched_to < blocks and fetched_to - number < ring:
            waits = released[fetched_to - ring] if fetched_to >= ring else 0.0
            handed = max(handed, max(heapq.heappop(fetchers), waits) + fetch[fetched_to])
            heapq.heappush(fetchers, handed)
            fetched[fetched_to] = handed
            fetched_to += 1
        given = [at for at in given if at >= number]
        next_given = max(next_given, number + 1)
        while len(given) < ahead_most and next_given < fetched_to:
            if next_given not in keeps:
                free_at = heapq.heappop(free)
                begun[next_given] = max(free_at, fetched[next_given], first)
                done[next_given] = begun[next_given] + read[next_given]
                heapq.heappush(free, done[next_given])
                given.append(next_given)
            next_given += 1
        first = max(first, fetched[number])
        if done[number] is not None and begun[number] <= first:
            first = max(first, done[number]) + join
        else:
            first += read[number]
        released[number] = first
    return first


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("one")
    parser.add_argument("two")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2, 3, 4, 6, 8, 12, 16])
    options = parser.parse_args()
    one, two = lines(options.one), lines(options.two)
    fetch, read = [line[0] for line in one], [line[1] for line in one]
    usual = statistics.median(read)
    joins = [line[1] for line in two if line[1] < usual / 2]
    join = statistics.median(joins) if joins else 0.0
    print(f"{len(read)} blocks, median of each: fetched in {statistics.median(fetch):.0f} us, read in {usual:.0f} us, "
          f"taken over in {join:.0f} us ({100 * join / usual:.1f} % of reading)")
    alone = simulate(1, fetch, read, join)
    for threads in options.threads:
        took = simulate(threads, fetch, read, join)
        print(f"{threads:3d} threads: {took / 1e6:.3f} s, {alone / took:.2f} times one")


if __name__ == "__main__":
    main()
