#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the inputs of the benchmark.  Everything is streamed and deterministic.

    make_inputs.py reindent  IN.json OUT.json        as json.dump(..., indent=2) lays it out
    make_inputs.py gzip      IN      OUT.gz          level 6
    make_inputs.py snapshot  OUT.json --size 300M    a CUDA memory snapshot with a long history
    make_inputs.py facts     IN.json                 bytes, spans and distinct names of a grown trace

Standard library only.  run.py calls these as separate processes, so that what they need in memory
is not charged to the programs it measures.
"""

import argparse
import gzip
import json
import os
import random
import re
import shutil
import sys

BLOCK_BYTES = 4 << 20
MIB = 1 << 20

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
# A grown trace has one event's ph, cat and name on one line, in this order.
X_EVENT_NAME = re.compile(rb'"ph": "X"[^\n]*?"name": "((?:[^"\\\n]|\\.)*)"')


def parse_size(text):
    """Bytes, with K, M or G for powers of 1000."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    text = text.strip().upper()
    if text[-1:] in units:
        return int(float(text[:-1]) * units[text[-1]])
    return int(text)


def line_blocks(path):
    """The file in blocks that end behind a newline: no JSON token is ever cut."""
    with open(path, "rb") as file:
        rest = b""
        while block := file.read(BLOCK_BYTES):
            block = rest + block
            cut = block.rfind(b"\n") + 1
            rest = block[cut:]
            if cut:
                yield block[:cut]
        if rest:
            yield rest


# ---------------------------------------------------------------- re-indented JSON


class Indenter:
    """Tokens to text with two spaces per level; numbers and strings keep their digits and escapes."""

    def __init__(self):
        self.depth = 0
        self.just_opened = False
        self.newlines = [b"\n" + b"  " * depth for depth in range(64)]

    def newline(self):
        while self.depth >= len(self.newlines):
            self.newlines.append(b"\n" + b"  " * len(self.newlines))
        return self.newlines[self.depth]

    def feed(self, block):
        out = []
        put = out.append
        for token in TOKEN.findall(block):
            if token == b":":
                put(b": ")
            elif token == b",":
                put(b",")
                put(self.newline())
            elif token in b"}]":
                self.depth -= 1
                if not self.just_opened:
                    put(self.newline())
                self.just_opened = False
                put(token)
            else:
                if self.just_opened:
                    put(self.newline())
                    self.just_opened = False
                put(token)
                if token in b"{[":
                    self.depth += 1
                    self.just_opened = True
        return b"".join(out)


def reindent(source, target):
    indenter = Indenter()
    with open(target, "wb") as out:
        for block in line_blocks(source):
            out.write(indenter.feed(block))
        out.write(b"\n")


# ---------------------------------------------------------------- gzip


def compress(source, target):
    with open(source, "rb") as file, open(target, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as out:
            shutil.copyfileobj(file, out, MIB)


# ---------------------------------------------------------------- facts


def facts(path):
    x_events, names = 0, set()
    for block in line_blocks(path):
        found = X_EVENT_NAME.findall(block)
        x_events += len(found)
        names.update(found)
    return {
        "bytes": os.path.getsize(path),
        "x_events": x_events,
        "distinct_names": len(names),
        "distinct_name_bytes": sum(len(name) for name in names),
    }


# ---------------------------------------------------------------- memory snapshot

BASE_ADDRESS = 0x7F1200000000
BASE_TIME_US = 1_760_000_000_000_000
SEGMENT_COUNT = 256
STACK_COUNT = 400
STEP_US = 20_000
LAYERS = ("embed_tokens", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "norm", "lm_head")
CALLS = ("forward", "_call_impl", "_wrapped_call_impl", "backward", "step", "_single_tensor_adamw", "apply", "checkpoint")


class Slot:
    """One block of one segment; it is handed out and taken back whole."""

    __slots__ = ("address", "size_bytes", "requested_bytes", "alloc_stack")

    def __init__(self, address, size_bytes):
        self.address, self.size_bytes = address, size_bytes
        self.requested_bytes = 0  # 0: free
        self.alloc_stack = 0


def pick(rng, count):
    """Below count.  Only random() itself is promised to stay the same across Python versions."""
    return int(rng.random() * count)


def frame(rng, depth):
    layer, call = LAYERS[pick(rng, len(LAYERS))], CALLS[pick(rng, len(CALLS))]
    if depth < 6:  # innermost: the allocator's own frames, as C++ writes them
        name = f"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::{call}(unsigned long, CUstream_st*)"
        return {"name": name, "filename": "CUDACachingAllocator.cpp", "line": 0}
    filename = f"/opt/train/lib/python3.11/site-packages/torch/nn/modules/{layer}.py"
    return {"name": call, "filename": filename, "line": 100 + pick(rng, 1700)}


def make_stacks(rng):
    return [json.dumps([frame(rng, depth) for depth in range(12 + pick(rng, 49))]) for _ in range(STACK_COUNT)]


def make_segments():
    """Large segments of ten 2 MiB blocks and small ones of 32 blocks of 64 KiB, in turn."""
    segments, address = [], BASE_ADDRESS
    for number in range(SEGMENT_COUNT):
        count, size_bytes = (10, 2 * MIB) if number % 2 == 0 else (32, MIB // 16)
        segments.append([Slot(address + k * size_bytes, size_bytes) for k in range(count)])
        address += 32 * MIB
    return segments


def entry(action, slot_address, size_bytes, time_us, stack):
    return (
        f'{{"action": "{action}", "addr": {slot_address}, "size": {size_bytes}, "stream": 0, "time_us": {time_us},'
        f' "compile_context": "N/A", "user_metadata": "", "frames": {stack}}}'
    )


class History:
    """The allocator's life, the same each time it is replayed: entries(), and then the end state."""

    def __init__(self, target_bytes):
        self.target_bytes = target_bytes
        self.segments = make_segments()
        self.slots = [slot for segment in self.segments for slot in segment]
        self.rng = random.Random(20240229)
        self.stacks = make_stacks(self.rng)
        self.time_us = BASE_TIME_US

    def entries(self):
        made_bytes = 0
        for text in self.all_entries():
            made_bytes += len(text) + 2
            yield text
            if made_bytes >= self.target_bytes and not text.startswith('{"action": "free_requested"'):
                break
        yield entry("snapshot", 0, self.active_bytes(), self.time_us, "[]")

    def all_entries(self):
        for segment in self.segments:
            size_bytes = sum(slot.size_bytes for slot in segment)
            yield entry("segment_alloc", segment[0].address, size_bytes, self.time_us, self.stacks[0])
        while True:
            slot = self.slots[pick(self.rng, len(self.slots))]
            self.time_us += 1 + pick(self.rng, 19)
            stack = pick(self.rng, STACK_COUNT)
            if slot.requested_bytes:
                yield from self.free(slot, stack)
            else:
                yield self.alloc(slot, stack)

    def alloc(self, slot, stack):
        slot.requested_bytes = slot.size_bytes - pick(self.rng, 512)
        slot.alloc_stack = stack
        return entry("alloc", slot.address, slot.requested_bytes, self.time_us, self.stacks[stack])

    def free(self, slot, stack):
        requested_bytes = slot.requested_bytes
        yield entry("free_requested", slot.address, requested_bytes, self.time_us, self.stacks[stack])
        slot.requested_bytes = 0
        self.time_us += 1
        yield entry("free_completed", slot.address, requested_bytes, self.time_us, self.stacks[stack])

    def active_bytes(self):
        return sum(slot.size_bytes for slot in self.slots if slot.requested_bytes)


def block_text(slot, stacks):
    live = slot.requested_bytes > 0
    state = "active_allocated" if live else "inactive"
    return (
        f'{{"address": {slot.address}, "size": {slot.size_bytes}, "requested_size": {slot.requested_bytes},'
        f' "state": "{state}", "frames": {stacks[slot.alloc_stack] if live else "[]"}}}'
    )


def segment_text(segment, stacks):
    total_bytes = sum(slot.size_bytes for slot in segment)
    active_bytes = sum(slot.size_bytes for slot in segment if slot.requested_bytes)
    requested_bytes = sum(slot.requested_bytes for slot in segment)
    kind = "large" if segment[0].size_bytes > MIB else "small"
    blocks = ", ".join(block_text(slot, stacks) for slot in segment)
    return (
        f'{{"device": 0, "address": {segment[0].address}, "total_size": {total_bytes},'
        f' "allocated_size": {active_bytes}, "active_size": {active_bytes}, "requested_size": {requested_bytes},'
        f' "stream": 0, "segment_type": "{kind}", "segment_pool_id": [0, 0], "is_expandable": false,'
        f' "frames": {stacks[0]}, "blocks": [{blocks}]}}'
    )


def annotations(end_us):
    """One optimizer step after another, for as long as the history lasts."""
    return [
        {"name": "Optimizer.step#AdamW.step", "stage": stage, "device": 0, "time_us": begin_us + late_us}
        for begin_us in range(BASE_TIME_US, end_us - STEP_US, STEP_US)
        for stage, late_us in (("START", 1000), ("END", 4000))
    ]


SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "",
    "max_split_size": -1,
    "garbage_collection_threshold": 0.0,
    "expandable_segments": False,
    "pinned_num_register_threads": 1,
    "release_lock_on_cudamalloc": False,
    "pinned_use_cuda_host_register": False,
    "roundup_power2_divisions": {str(1 << power): 0 for power in range(16)},
}


def write_joined(out, texts):
    for number, text in enumerate(texts):
        out.write(", " + text if number else text)


def make_big_snapshot(target, size_bytes):
    """One line, keys in PyTorch's order.  The segments stand before the history that leads to them,
    so the history is lived twice: once for its end state, once to be written."""
    end = History(size_bytes)
    for _ in end.entries():
        pass
    with open(target, "w", encoding="ascii") as out:
        out.write('{"segments": [')
        write_joined(out, (segment_text(segment, end.stacks) for segment in end.segments))
        out.write('], "device_traces": [[')
        write_joined(out, History(size_bytes).entries())
        out.write(f']], "allocator_settings": {json.dumps(SETTINGS)},')
        out.write(f' "external_annotations": {json.dumps(annotations(end.time_us))}}}')


# ---------------------------------------------------------------- command line


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("reindent", "gzip"):
        command = commands.add_parser(name)
        command.add_argument("source")
        command.add_argument("target")
    command = commands.add_parser("snapshot")
    command.add_argument("target")
    command.add_argument("--size", type=parse_size, default=300 * 10**6)
    commands.add_parser("facts").add_argument("source")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.command == "reindent":
        reindent(arguments.source, arguments.target)
    elif arguments.command == "gzip":
        compress(arguments.source, arguments.target)
    elif arguments.command == "snapshot":
        make_big_snapshot(arguments.target, arguments.size)
    else:
        json.dump(facts(arguments.source), sys.stdout)


if __name__ == "__main__":
    main()
