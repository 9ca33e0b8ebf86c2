#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of Nsight Systems, as nsys export --type sqlite writes them, of a run that is there as a trace of PyTorch:

    make_nsys.py TRACE.json[.gz] RUN.sqlite [--schema 2020|2022|2024] [--same-as RUN.json]

The tables and columns are those of NVIDIA's "SQLite Schema Reference" of these years. A trace has more than an export can
tell: stacks, the types of inputs, occupancy, instants, what an operator's number is. --same-as writes the trace without
those, so that both files tell the same run."""

import argparse
import gzip
import json
import re
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path

WORK = [("start", 1), ("end", 1), ("deviceId", 1), ("contextId", 1), ("streamId", 1), ("correlationId", 0),
        ("globalPid", 0)]
CALL = [("start", 1), ("end", 1), ("eventClass", 1), ("globalTid", 0), ("correlationId", 0), ("nameId", 1),
        ("returnValue", 1), ("callchainId", 0)]
# Column, and whether it may not be NULL; "@2022" stands before those that came with a year.
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": WORK + [
        ("demangledName", 1), ("shortName", 1), ("mangledName@2024", 0), ("launchType", 0), ("cacheConfig", 0),
        ("registersPerThread", 1), ("gridX", 1), ("gridY", 1), ("gridZ", 1), ("blockX", 1), ("blockY", 1), ("blockZ", 1),
        ("staticSharedMemory", 1), ("dynamicSharedMemory", 1), ("localMemoryPerThread", 1), ("localMemoryTotal", 1),
        ("gridId", 1), ("sharedMemoryExecuted", 0), ("graphNodeId@2022", 0), ("sharedMemoryLimitConfig@2022", 0)],
    "CUPTI_ACTIVITY_KIND_MEMCPY": WORK + [
        ("bytes", 1), ("copyKind", 1), ("deprecatedSrcId", 0), ("srcKind", 0), ("dstKind", 0), ("srcDeviceId", 0),
        ("srcContextId", 0), ("dstDeviceId", 0), ("dstContextId", 0), ("migrationCause@2022", 0),
        ("graphNodeId@2022", 0), ("virtualAddress@2022", 0)],
    "CUPTI_ACTIVITY_KIND_MEMSET": WORK + [("value", 1), ("bytes", 1), ("graphNodeId@2022", 0), ("memKind", 0)],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": WORK + [("syncType", 1), ("eventId", 1)],
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": WORK[2:] + [("eventId", 1)],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": WORK + [("graphId", 1), ("graphExecId", 1)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": CALL,
    "OSRT_API": CALL + [("nestingLevel", 0)],
    "PROFILER_OVERHEAD": CALL[:-1],
    "NVTX_EVENTS": [("start", 1), ("end", 0), ("eventType", 1), ("rangeId", 0), ("category", 0), ("color", 0), ("text", 0),
                    ("globalTid", 0), ("endGlobalTid", 0), ("textId", 0), ("domainId", 0), ("uint64Value", 0),
                    ("jsonTextId@2022", 0), ("jsonText@2022", 0), ("binaryData@2024", 0)],
    "ThreadNames": [("nameId", 1), ("priority", 0), ("globalTid", 0)],
    "TARGET_INFO_GPU": [("vmId", 1), ("id", 1), ("name", 0), ("busLocation", 0), ("isDiscrete", 0), ("l2CacheSize", 0),
                        ("totalMemory", 0), ("memoryBandwidth", 0), ("clockRate", 0), ("smCount", 0), ("uuid", 0),
                        ("chipName", 0), ("threadsPerWarp", 0), ("computeMajor", 0), ("computeMinor", 0)],
    "TARGET_INFO_CUDA_DEVICE@2022": [("gpuId", 1), ("cudaId", 1), ("pid", 1), ("uuid", 1), ("numMultiprocessors", 1)],
    "TARGET_INFO_CUDA_GPU": [("gpuId", 1), ("cudaId", 1), ("pid", 1)],
    "TARGET_INFO_SESSION_START_TIME": [("utcEpochNs", 0), ("utcTime", 0), ("localTime", 0)],
    "TARGET_INFO_SYSTEM_ENV": [("globalVid", 0), ("devStateName", 1), ("name", 1), ("nameEnum", 1), ("value", 1)],
    "META_DATA_CAPTURE": [("name", 1), ("value", 0)],
    "META_DATA_EXPORT": [("name", 1), ("value", 0)],
}
COPY_KINDS = ["Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"]
MEMORY_KINDS = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"]
SYNC_TYPES = ["", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"]
PUSH_POP = 59
SECRET = "AP_PLANTED_SECRET"  # stands in what the run's environment was, which no reader may show


def global_tid(pid, tid):
    return (pid & 0xffffff) << 24 | tid & 0xffffff


class Export:
    """One database of a schema."""

    def __init__(self, path, year):
        self.year = int(year)
        self.strings, self.tables = {}, {}
        Path(path).unlink(missing_ok=True)
        self.base = sqlite3.connect(path)
        self.base.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")

    def came(self, name):
        """(name, whether this schema has it)"""
        name, _, year = name.partition("@")
        return name, not year or int(year) <= self.year

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.base.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[text], text))
        return self.strings[text]

    def columns(self, table):
        """Tables are made when their first row is met, as the tool does."""
        if table not in self.tables:
            key = next(name for name in TABLES if name.partition("@")[0] == table)
            columns = [(self.came(name)[0], needed or self.year < 2021) for name, needed in TABLES[key]
                       if self.came(name)[1]]
            text = ", ".join(f'"{name}" {"TEXT" if name in ("text", "name", "value") else "INTEGER"}'
                             + (" NOT NULL" if needed else "") for name, needed in columns)
            self.base.execute(f"CREATE TABLE {table} ({text})")
            self.tables[table] = columns
        return self.tables[table]

    def add(self, table, **values):
        columns = self.columns(table)
        default = {"text": ""}
        row = [values.get(name, default.get(name, 0) if needed else None) for name, needed in columns]
        self.base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)

    def close(self):
        self.base.commit()
        self.base.close()


# ---- from a trace

def load(path):
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=Decimal)


def plain_shapes(dims):
    return isinstance(dims, list) and all(isinstance(dim, list) and all(isinstance(n, int) for n in dim) for dim in dims)


def reduced(event):
    """The event with what an export can tell of it; None of those that it cannot."""
    category, arguments = event.get("cat"), event.get("args", {})
    if event["ph"] == "M":
        return event if event["name"] == "thread_name" and isinstance(event["pid"], int) and event["pid"] > 100 else None
    if event["ph"] != "X" or category not in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_runtime",
                                              "cuda_driver", "cpu_op", "user_annotation"):
        return None
    kept = {"cpu_op": ("Sequence number", "Input Dims"), "kernel": ("device", "stream", "correlation", "grid"),
            "user_annotation": ()}.get(category, ("device", "stream", "correlation", "bytes", "wait_on_stream",
                                                  "wait_on_cuda_event_record_corr_id"))
    new = {key: value for key, value in arguments.items() if key in kept}
    if not plain_shapes(new.get("Input Dims")):
        new.pop("Input Dims", None)
    if "Sequence number" in new and "Backward" in event["name"]:
        new["Fwd thread id"] = 1
    return {**{key: value for key, value in event.items() if key != "args"}, "args": new}


def reduce(trace):
    events = [new for new in map(reduced, trace["traceEvents"]) if new]
    return {"schemaVersion": 1, "deviceProperties": trace.get("deviceProperties", []),
            **{key: trace[key] for key in ("baseTimeNanoseconds",) if key in trace}, "traceEvents": events}


def times(event):
    start = int(event["ts"] * 1000)
    return {"start": start, "end": start + int(event["dur"] * 1000)}


class Writer:
    """The events of a reduced trace, into an export."""

    def __init__(self, export, pid):
        self.export, self.pid, self.events = export, pid, 0

    def work(self, event):
        arguments = event["args"]
        return {**times(event), "deviceId": arguments["device"], "contextId": 1, "streamId": arguments.get("stream", 0),
                "correlationId": arguments.get("correlation", 0), "globalPid": global_tid(self.pid, 0)}

    def kernel(self, event):
        name = self.export.string(event["name"])
        grid = dict(zip(("gridX", "gridY", "gridZ"), event["args"].pop("grid", (0, 0, 0))))
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", **self.work(event), **grid, demangledName=name, shortName=name,
                        mangledName=name)

    def gpu_memcpy(self, event):
        kind, source, target = re.fullmatch(r"Memcpy (\w+) \((.+) -> (.+)\)", event["name"]).groups()
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", **self.work(event), bytes=event["args"].get("bytes", 0),
                        copyKind=COPY_KINDS.index(kind), srcKind=MEMORY_KINDS.index(source),
                        dstKind=MEMORY_KINDS.index(target))

    def gpu_memset(self, event):
        kind = re.fullmatch(r"Memset \((.+)\)", event["name"]).group(1)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMSET", **self.work(event), bytes=event["args"].get("bytes", 0),
                        memKind=MEMORY_KINDS.index(kind))

    def cuda_sync(self, event):
        work, arguments = self.work(event), event["args"]
        record = arguments.get("wait_on_cuda_event_record_corr_id", -1)
        if record >= 0:
            self.events += 1
            known = {key: value for key, value in work.items() if key not in ("start", "end")}
            self.export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **{**known, "streamId": arguments.get("wait_on_stream", 0),
                                                                 "correlationId": record}, eventId=self.events)
        self.export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **work, syncType=SYNC_TYPES.index(event["name"]),
                        eventId=self.events if record >= 0 else 0)

    def call(self, event):
        name = event["name"] + ("_v7000" if event["name"].startswith("cuda") else "")
        self.export.add("CUPTI_ACTIVITY_KIND_RUNTIME", **times(event), globalTid=global_tid(event["pid"], event["tid"]),
                        correlationId=event["args"].get("correlation", 0), nameId=self.export.string(name))

    cuda_runtime = cuda_driver = call

    def range(self, event):
        text, arguments = event["name"], event["args"]
        if event["cat"] == "cpu_op":
            text += f", seq = {arguments['Sequence number']}" if "Sequence number" in arguments else ", op_id = 7"
            if "Input Dims" in arguments:
                text += f", sizes = {json.dumps(arguments['Input Dims'])}"
        registered = event["cat"] == "user_annotation"
        text_of = {"textId": self.export.string(text)} if registered else {"text": text}
        self.export.add("NVTX_EVENTS", **times(event), eventType=PUSH_POP, domainId=0,
                        globalTid=global_tid(event["pid"], event["tid"]), **text_of)

    cpu_op = user_annotation = range

    def name_thread(self, event):
        self.export.add("ThreadNames", nameId=self.export.string(event["args"]["name"]),
                        globalTid=global_tid(event["pid"], event["tid"]))


def add_target(export, trace, pid):
    for device in trace["deviceProperties"]:
        export.add("TARGET_INFO_GPU", id=device["id"], name=device["name"], totalMemory=device["totalGlobalMem"],
                   smCount=device["numSms"], threadsPerWarp=device["warpSize"], computeMajor=device["computeMajor"],
                   computeMinor=device["computeMinor"], uuid=SECRET, busLocation="0000:00:00.0")
        export.add("TARGET_INFO_CUDA_DEVICE" if export.year >= 2022 else "TARGET_INFO_CUDA_GPU", gpuId=device["id"],
                   cudaId=device["id"], pid=pid, uuid=SECRET, numMultiprocessors=device["numSms"])
    export.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=trace.get("baseTimeNanoseconds", 0))
    export.add("TARGET_INFO_SYSTEM_ENV", devStateName="x", name="Hostname", value=SECRET)
    export.add("META_DATA_CAPTURE", name="COMMAND_LINE", value=f"python train.py --token {SECRET}")
    export.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.0.0")


def make(trace, path, year):
    """Writes the export of a trace; returns the trace that tells the same."""
    same = reduce(trace)
    pid = next(event["pid"] for event in same["traceEvents"] if event.get("cat") in ("cpu_op", "cuda_runtime"))
    export = Export(path, year)
    writer = Writer(export, pid)
    sms = {device["id"]: device["numSms"] for device in same["deviceProperties"]}
    add_target(export, same, pid)
    for event in same["traceEvents"]:
        grid = event.get("args", {}).get("grid")
        (writer.name_thread if event["ph"] == "M" else getattr(writer, event["cat"]))(event)
        if grid and sms.get(event["args"]["device"]):
            event["args"]["blocks per SM"] = grid[0] * grid[1] * grid[2] / sms[event["args"]["device"]]
    export.close()
    return same


def write_trace(trace, path):
    Path(path).write_text(json.dumps(trace, default=lambda number: float(number)), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("database")
    parser.add_argument("--schema", choices=["2020", "2022", "2024"], default="2024")
    parser.add_argument("--same-as", help="the trace that tells the same run")
    args = parser.parse_args()
    same = make(load(args.trace), args.database, args.schema)
    if args.same_as:
        write_trace(same, args.same_as)
    return 0


if __name__ == "__main__":
    sys.exit(main())
