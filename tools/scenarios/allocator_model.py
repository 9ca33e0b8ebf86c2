# SPDX-License-Identifier: MIT
"""A model of PyTorch's CUDA caching allocator that writes its own history and snapshot.

It follows the rules of CUDACachingAllocator.cpp as far as snapshots show them: requests rounded to 512 bytes (or to
divisions of powers of two), a small and a large pool per stream and private pool, segments of 2 MiB, 20 MiB or the request
rounded to 2 MiB, best fit, splitting and merging, frees that wait for a stream, and what it does when the driver refuses
memory: complete the waiting frees, give wholly free segments back, try once more, fail. It knows nothing of any job or
report.

It also keeps its own books (bytes requested, active and reserved, and their peaks), so that figures drawn from it are
independent of every reader of its snapshots.
"""
import random

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SMALL_LIMIT, SMALL_SEGMENT, LARGE_SEGMENT = MIB, 2 * MIB, 20 * MIB
LEAST_BLOCK = 512
DEFAULT_POOL = (0, 0)


def round_up(value, step):
    return (value + step - 1) // step * step


def frames(*calls):
    """("file.py", line, "name"), innermost first."""
    return [{"name": name, "filename": filename, "line": line} for filename, line, name in calls]


class OutOfMemory(Exception):
    pass


class Clock:
    """Times of the history for a job without a host of its own."""

    def __init__(self, seed, start_us=1_753_000_000_000_000):
        self.random, self.now_us = random.Random(seed), start_us

    def tick(self):
        self.now_us += 3 + int(90 * self.random.random())
        return self.now_us

    def pause(self, us):
        self.now_us += us

    def now_ns(self):
        return self.now_us * 1000


class Allocator:
    """The caching allocator of one device.

    others_bytes: what contexts, libraries and other processes hold of the capacity.
    newest: entries carry pool_id, compile_context and user_metadata, as PyTorch of 2026 writes them."""

    def __init__(self, clock, device=0, capacity_bytes=40 * GIB, expandable=False, base_address=0x7F2A00000000,
                 others_bytes=0,
                 max_split_bytes=None, roundup_divisions=0, newest=False, limit_bytes=None):
        self.clock, self.device, self.capacity_bytes, self.expandable = clock, device, capacity_bytes, expandable
        self.others_bytes, self.max_split_bytes, self.roundup_divisions = others_bytes, max_split_bytes, roundup_divisions
        self.limit_bytes = limit_bytes                     # set_per_process_memory_fraction; None = all of the device
        self.newest, self.next_address = newest, base_address + device * (1 << 40)
        self.segments, self.history, self.recording = [], [], False
        self.on_driver = None                              # called with (driver call, bytes): what the host pays for it
        self.capturing, self.dropped_pools = False, set()  # a graph is being captured; pools whose graphs are gone
        self.live = {}                                     # address -> requested bytes, until the free is requested
        self.stream_uses, self.waiting = {}, []            # address -> time; (time, address, requested, stack) of frees
        self.requested_bytes = self.peak_requested_bytes = 0
        self.active_bytes = self.peak_active_bytes = 0     # requested bytes until the free is completed
        self.reserved_bytes = self.peak_reserved_bytes = 0
        self.driver_calls = self.retries = 0

    # history

    def note(self, action, stack=None, stream=0, pool=DEFAULT_POOL, **fields):
        if not self.recording:
            return
        entry = {"action": action, **fields, "stream": stream, "time_us": self.clock.tick()}
        if self.newest:
            entry.update(compile_context="N/A", user_metadata="", pool_id=list(pool))
        if stack:
            entry["frames"] = stack
        self.history.append(entry)

    def note_segment(self, action, segment, stack, address, nbytes):
        self.note(action, stack, segment["stream"], segment["segment_pool_id"], addr=address, size=nbytes)

    def start_recording(self):
        self.recording = True
        self.peak_requested_bytes, self.peak_reserved_bytes = self.requested_bytes, self.reserved_bytes
        self.peak_active_bytes = self.active_bytes

    def reserve(self, nbytes):
        self.reserved_bytes += nbytes
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)

    # the driver

    def device_free_bytes(self):
        return self.capacity_bytes - self.others_bytes - self.reserved_bytes

    def room_bytes(self):
        """What may still be taken: a limit does not show in what the device has free."""
        free_bytes = self.device_free_bytes()
        return free_bytes if self.limit_bytes is None else min(free_bytes, self.limit_bytes - self.reserved_bytes)

    def ask_driver(self, call, nbytes):
        self.driver_calls += 1
        if self.on_driver:
            self.on_driver(call, nbytes)

    # allocation

    def rounded(self, requested):
        divisions = self.roundup_divisions
        if divisions > 1 and requested > LEAST_BLOCK * divisions:
            step = (1 << (requested.bit_length() - 1)) // divisions
            return round_up(requested, step)
        return round_up(max(requested, 1), LEAST_BLOCK)

    def alloc(self, requested, stack=None, pool=DEFAULT_POOL, stream=0):
        self.complete_waiting()
        size = self.rounded(requested)
        small = size <= SMALL_LIMIT
        block = self.find(size, small, pool, stream)
        if block is None:
            block = self.grow(size, small, pool, stream, stack)
        segment, index = block
        self.take(segment, index, size, requested, small, stack)
        address = segment["blocks"][index]["address"]
        self.live[address] = requested
        self.requested_bytes += requested
        self.peak_requested_bytes = max(self.peak_requested_bytes, self.requested_bytes)
        self.active_bytes += requested
        self.peak_active_bytes = max(self.peak_active_bytes, self.active_bytes)
        self.note("alloc", stack, stream, pool, addr=address, size=requested)
        return address

    def find(self, size, small, pool, stream):
        """Best fit among the free blocks of the pool and stream."""
        fits = [(b["size"], b["address"], s, i) for s in self.segments
                if s["segment_type"] == ("small" if small else "large") and s["segment_pool_id"] == list(pool)
                and s["stream"] == stream
                for i, b in enumerate(s["blocks"]) if b["state"] == "inactive" and b["size"] >= size]
        best = min(fits, key=lambda f: f[:2]) if fits else None
        return best[2:] if best and self.may_serve(best[0], size) else None

    def may_serve(self, block_bytes, size):
        """Blocks of max_split_size and more are kept for requests of about their size."""
        limit = self.max_split_bytes
        if limit is None:
            return True
        return block_bytes < limit if size < limit else block_bytes < size + LARGE_SEGMENT

    def grow(self, size, small, pool, stream, stack):
        expandable = self.expandable and tuple(pool) == DEFAULT_POOL
        total, tail = self.growth(size, small, stream) if expandable else (self.segment_size(size, small), None)
        if total > self.room_bytes() and not self.capturing:
            self.retries += 1
            self.release_cached(stack)
            if expandable:
                total, tail = self.growth(size, small, stream)
        if total > self.room_bytes():
            self.note("oom", stack, stream, pool, device_free=self.device_free_bytes(), size=size)
            raise OutOfMemory()
        if expandable:
            return self.map_pages(tail, total, small, stream, stack)
        self.ask_driver("cudaMalloc", total)
        segment = self.new_segment(total, small, pool, stream, stack, False)
        self.reserve(total)
        self.note_segment("segment_alloc", segment, stack, segment["address"], total)
        return segment, 0

    @staticmethod
    def segment_size(size, small):
        if small:
            return SMALL_SEGMENT
        return LARGE_SEGMENT if size < 10 * MIB else round_up(size, 2 * MIB)

    def growth(self, size, small, stream):
        """Bytes to map behind the end of the one expandable segment of the pool, and that segment."""
        page, kind = (SMALL_SEGMENT, "small") if small else (LARGE_SEGMENT, "large")
        segment = next((s for s in self.segments if s["is_expandable"] and s["segment_type"] == kind
                        and s["stream"] == stream),
                       None)
        tail = segment["blocks"][-1] if segment else None
        tail_free = tail["size"] if tail and tail["state"] == "inactive" else 0
        return round_up(size - tail_free, page), segment

    def new_segment(self, total, small, pool, stream, stack, expandable):
        segment = {"device": self.device, "address": self.next_address, "total_size": total, "allocated_size": 0,
                   "active_size": 0, "requested_size": 0, "stream": stream, "segment_type": "small" if small else "large",
                   "segment_pool_id": list(pool), "is_expandable": expandable, "frames": stack or [],
                   "blocks": [{"address": self.next_address, "size": total, "requested_size": 0, "state": "inactive",
                               "frames": []}]}
        # an expandable segment owns a wide range of addresses to grow into
        self.next_address += 64 * GIB if expandable else round_up(total, 2 * MIB) + 2 * MIB
        self.segments.append(segment)
        self.segments.sort(key=lambda s: s["address"])
        return segment

    def map_pages(self, segment, grow_by, small, stream, stack):
        """Expandable: the pool's one segment grows at its end by whole pages."""
        self.ask_driver("cuMemMap", grow_by)
        if segment is None:
            segment = self.new_segment(grow_by, small, DEFAULT_POOL, stream, stack, True)
            address = segment["address"]
        else:
            tail = segment["blocks"][-1]
            address = segment["address"] + segment["total_size"]
            segment["total_size"] += grow_by
            if tail["state"] == "inactive":
                tail["size"] += grow_by
            else:
                segment["blocks"].append({"address": address, "size": grow_by, "requested_size": 0, "state": "inactive",
                                          "frames": []})
        self.reserve(grow_by)
        self.note_segment("segment_map", segment, stack, address, grow_by)
        return segment, len(segment["blocks"]) - 1

    def splits(self, segment, size, rest, small):
        if small or segment["is_expandable"]:
            return rest >= LEAST_BLOCK
        return rest > MIB and (self.max_split_bytes is None or size < self.max_split_bytes)

    def take(self, segment, index, size, requested, small, stack):
        block = segment["blocks"][index]
        rest = block["size"] - size
        if self.splits(segment, size, rest, small):
            segment["blocks"].insert(index + 1, {"address": block["address"] + size, "size": rest, "requested_size": 0,
                                                 "state": "inactive", "frames": []})
            block["size"] = size
        block.update(requested_size=requested, state="active_allocated", frames=stack or [])
        segment["allocated_size"] += block["size"]
        segment["active_size"] += block["size"]
        segment["requested_size"] += requested

    # release

    def locate(self, address):
        for segment in self.segments:
            if segment["address"] <= address < segment["address"] + segment["total_size"]:
                for index, block in enumerate(segment["blocks"]):
                    if block["address"] == address:
                        return segment, index
        raise KeyError(address)

    def record_stream(self, address, until_ns):
        """Another stream uses the block until then."""
        self.stream_uses[address] = max(until_ns, self.stream_uses.get(address, 0))

    def free(self, address, stack=None, pending=False):
        """pending: another stream uses the block for good, so the free is requested and never completed."""
        segment, index = self.locate(address)
        requested = self.live.pop(address)
        self.requested_bytes -= requested
        self.note("free_requested", stack, segment["stream"], segment["segment_pool_id"], addr=address, size=requested)
        segment["allocated_size"] -= segment["blocks"][index]["size"]
        segment["blocks"][index]["state"] = "active_pending_free" if self.newest else "active_awaiting_free"
        until_ns = self.stream_uses.pop(address, None)
        if until_ns is not None:
            self.waiting.append((until_ns, address, requested, stack))
        elif not pending:
            self.complete(segment, index, requested, stack)

    def complete_waiting(self, all_of_them=False):
        """What other streams are done with; all of it where the device was waited for."""
        still = []
        for wait in self.waiting:
            until_ns, address, requested, stack = wait
            if all_of_them or until_ns <= self.clock.now_ns():
                self.complete(*self.locate(address), requested, stack)
            else:
                still.append(wait)
        self.waiting = still

    def complete(self, segment, index, requested, stack):
        blocks = segment["blocks"]
        block = blocks[index]
        segment["active_size"] -= block["size"]
        segment["requested_size"] -= requested
        self.active_bytes -= requested
        block.update(state="inactive", frames=[])
        self.note("free_completed", stack, segment["stream"], segment["segment_pool_id"], addr=block["address"],
                  size=requested)
        if index + 1 < len(blocks) and blocks[index + 1]["state"] == "inactive":
            block["size"] += blocks.pop(index + 1)["size"]
        if index > 0 and blocks[index - 1]["state"] == "inactive":
            blocks[index - 1]["size"] += blocks.pop(index)["size"]

    def release_cached(self, stack=None):
        """empty_cache(), and the first half of a retry."""
        self.complete_waiting(all_of_them=True)
        for segment in list(self.segments):
            pool = tuple(segment["segment_pool_id"])
            if segment["is_expandable"]:
                self.unmap_tail(segment, stack)
            elif (pool == DEFAULT_POOL or pool in self.dropped_pools) and all(b["state"] == "inactive"
                                                                              for b in segment["blocks"]):
                self.segments.remove(segment)
                self.reserved_bytes -= segment["total_size"]
                self.ask_driver("cudaFree", segment["total_size"])
                self.note_segment("segment_free", segment, stack, segment["address"], segment["total_size"])

    def unmap_tail(self, segment, stack):
        """Whole free pages at the end of an expandable segment; those between blocks stay mapped here."""
        page = SMALL_SEGMENT if segment["segment_type"] == "small" else LARGE_SEGMENT
        tail = segment["blocks"][-1]
        whole = tail["size"] // page * page if tail["state"] == "inactive" else 0
        if whole == 0 or whole == segment["total_size"]:
            return
        tail["size"] -= whole
        segment["total_size"] -= whole
        self.reserved_bytes -= whole
        if tail["size"] == 0:
            segment["blocks"].pop()
        self.ask_driver("cuMemUnmap", whole)
        self.note_segment("segment_unmap", segment, stack, segment["address"] + segment["total_size"], whole)

    def snapshot(self):
        self.note("snapshot", None, addr=0, size=sum(s["active_size"] for s in self.segments))


SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
            "expandable_segments": False, "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
            "pinned_use_cuda_host_register": False, "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}


def snapshot_document(allocators, annotations=(), **settings):
    return {"segments": [s for a in allocators for s in a.segments], "device_traces": [a.history for a in allocators],
            "allocator_settings": {**SETTINGS, **settings}, "external_annotations": list(annotations)}
