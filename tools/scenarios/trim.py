#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a recording small and nameless, and keep it valid: trim.py IN OUT.json[.gz] [options].

A trace is cut to whole steps (--steps N, from the first recorded one or --skip M later). What starts within them stays: rows
of the host, the GPU work they launched (by correlation, wherever it ran), flow arrows whose both ends stay, instants and
counters, the names of the processes and threads that still have rows. Arguments that no reader of timing needs are dropped
(--keep-all keeps them); Python frames may be thinned (--min-frame-us), children then point at the nearest frame that stays.

A snapshot of the CUDA allocator is told by its key `segments`. It keeps all segments and the whole history, for a replay
needs both; of each stack only the --frames innermost frames of user code, then of libraries, stay.

In both, whatever names the machine is replaced: folders, host, user, process id. Times are not touched.
"""
import argparse
import getpass
import gzip
import io
import json
import re
import socket
import sys

PUBLIC_PROCESS_ID = 4242          # stands for the real one, which means nothing elsewhere
PUBLIC_FOLDER = "/srv/train"
NOISE = {"Ev Idx", "Record function id", "Concrete Inputs", "Input Strides", "Python thread", "Python module id",
         "Input Dims",
         "Input type", "Profiler Event Index", "Rec. function id"}
SHAPES = {"Input Dims", "Input type"}
LIBRARY_FRAME = re.compile(r"site-packages|/lib/python|^torch/|^<|^\?\?$|^$")
FLOW_PHASES = ("s", "t", "f")


def read_json(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def write_json(document, path):
    """One event a line, so that a difference can be read; the same bytes for the same document."""
    compact = {"separators": (",", ":")}
    if isinstance(document, dict) and "traceEvents" in document:
        head = json.dumps({key: value for key, value in document.items() if key != "traceEvents"}, **compact)
        rows = ",\n".join(json.dumps(event, **compact) for event in document["traceEvents"])
        text = head[:-1] + ("," if len(head) > 2 else "") + '"traceEvents":[\n' + rows + "\n]}\n"
    else:
        text = json.dumps(document, **compact) + "\n"
    data = text.encode()
    if path.endswith(".gz"):
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as stream:
            stream.write(data)
        data = buffer.getvalue()
    with open(path, "wb") as stream:
        stream.write(data)
    return len(data)


# ---- cutting to steps


def step_number(event):
    match = re.fullmatch(r"ProfilerStep#(\d+)", event.get("name", ""))
    return int(match[1]) if match and event.get("ph") == "X" else None


def host_steps(events):
    """[(number, start, end)] in order of time; marks on GPU tracks carry the same name and are no host steps."""
    found = [(step_number(event), event["ts"], event["ts"] + event["dur"]) for event in events
             if step_number(event) is not None and not event.get("cat", "").startswith("gpu")]
    return sorted(found, key=lambda step: step[1])


def is_device_row(event):
    return event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync")


def correlation(event):
    args = event.get("args", {})
    return args.get("correlation", args.get("cbid_correlation"))


def cut_to_steps(document, count, skip=0):
    events = document["traceEvents"]
    steps = host_steps(events)[skip:]
    if count:
        steps = steps[:count]
    if not steps:
        return document
    start, end, numbers = steps[0][1], steps[-1][2], {step[0] for step in steps}

    def within(event):
        return "ts" in event and start <= event["ts"] and event["ts"] + event.get("dur", 0) <= end
    launched = {correlation(event) for event in events if event.get("ph") == "X" and not is_device_row(event)}
    launched_within = {correlation(event) for event in events
                       if event.get("ph") == "X" and not is_device_row(event) and within(event)} - {None}

    def stays(event):
        if event.get("ph") != "X" or event.get("cat") == "Trace":
            return event.get("ph") in ("i", "I", "C") and within(event)
        if step_number(event) is not None:
            return step_number(event) in numbers
        if is_device_row(event) and correlation(event) in launched:
            return correlation(event) in launched_within
        return within(event)
    return {**document, "traceEvents": with_companions(events, [event for event in events if stays(event)])}


def flow_key(event):
    return event.get("cat"), event.get("name"), event.get("id")


def with_companions(events, kept):
    """What only makes sense beside rows: flow arrows with both ends on rows that stay, names of tracks that have rows."""
    ends = {(event.get("pid"), event.get("tid"), event["ts"]) for event in kept if event.get("ph") == "X"}
    phases = {}
    for event in events:
        if event.get("ph") in FLOW_PHASES and (event.get("pid"), event.get("tid"), event.get("ts")) in ends:
            phases.setdefault(flow_key(event), set()).add(event["ph"])
    pids = {str(event.get("pid")) for event in kept}
    tracks = {(str(event.get("pid")), str(event.get("tid"))) for event in kept}

    def stays(event):
        if event.get("ph") in FLOW_PHASES:
            on_row = (event.get("pid"), event.get("tid"), event.get("ts")) in ends
            return on_row and {"s", "f"} <= phases.get(flow_key(event), set())
        if event.get("ph") == "M":
            of_track = (str(event.get("pid")), str(event.get("tid"))) in tracks
            return of_track if event.get("name", "").startswith("thread") else str(event.get("pid")) in pids
        return id(event) in identities
    identities = {id(event) for event in kept}
    return [event for event in events if stays(event)]


# ---- leaving out


def drop_arguments(document, noise):
    for event in document["traceEvents"]:
        args = event.get("args")
        if args and event.get("ph") != "M":
            event["args"] = {key: value for key, value in args.items() if key not in noise}
            if not event["args"]:
                del event["args"]
    for key in ("with_flops", "with_modules", "traceName"):
        document.pop(key, None)
    return document


def thin_frames(document, least_us):
    """Leave out Python frames shorter than this; whoever pointed at one points at its nearest ancestor that stays."""
    parents, dropped = {}, set()
    for event in document["traceEvents"]:
        if event.get("cat") == "python_function":
            parents[event["args"].get("Python id")] = event["args"].get("Python parent id")
            if event.get("dur", 0) < least_us:
                dropped.add(event["args"].get("Python id"))
    kept = []
    for event in document["traceEvents"]:
        if event.get("cat") == "python_function":
            if event["args"].get("Python id") in dropped:
                continue
            parent = event["args"].get("Python parent id")
            while parent in dropped:
                parent = parents.get(parent)
            event["args"]["Python parent id"] = parent if parent in parents else None
        kept.append(event)
    return {**document, "traceEvents": with_companions(document["traceEvents"],
                                                       [event for event in kept
                                                        if event.get("ph") not in FLOW_PHASES + ("M",)])}


def trim_trace(document, steps=0, skip=0, keep_all=False, keep_shapes=False, least_frame_us=0.0):
    document = cut_to_steps(document, steps, skip)
    if least_frame_us:
        document = thin_frames(document, least_frame_us)
    if not keep_all:
        document = drop_arguments(document, NOISE - SHAPES if keep_shapes else NOISE)
    return document


def trim_stack(frames, count):
    ordered = [frame for frame in frames if not LIBRARY_FRAME.search(frame.get("filename", ""))]
    rest = [frame for frame in frames if LIBRARY_FRAME.search(frame.get("filename", ""))]
    chosen = {id(frame) for frame in (ordered + rest)[:count]}
    return [frame for frame in frames if id(frame) in chosen]


def trim_snapshot(document, frames):
    def walk(value):
        if isinstance(value, dict):
            return {key: trim_stack(item, frames) if key == "frames" and isinstance(item, list) else walk(item)
                    for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value
    return walk(document)


# ---- names of the machine


def public_path(path):
    """Where a file would lie on a machine that is nobody's: libraries from their package on, all else in one folder."""
    library = re.search(r"(?:site-packages|dist-packages)/(.*)$", path) or re.search(r"lib/python[\d.]+/(.*)$", path)
    if library:
        return library[1]
    return PUBLIC_FOLDER + "/" + path.rpartition("/")[2]


def anonymize_text(text, names=None):
    """text: one string of the document. Absolute paths of three parts and more lose their folders."""
    text = re.sub(r"(?<![\w.:/])(?:/[\w.+@-]+){2,}", lambda match: public_path(match[0]), text)
    for name in names if names is not None else machine_names():
        text = re.sub(r"\b%s\b" % re.escape(name), "nobody", text)
    return text


def machine_names():
    names = {socket.gethostname(), getpass.getuser()}
    return sorted(name for name in names if len(name) > 3 and name != "root")


def anonymize(document, process_id=None, names=None):
    def of_process(value):
        return PUBLIC_PROCESS_ID if process_id is not None and value in (process_id, str(process_id)) else value

    def walk(value):
        if isinstance(value, dict):
            return {key: walk(of_process(item) if key in ("pid", "tid", "sort_index") else item)
                    for key, item in value.items()
                    if key not in ("trace_id", "host_name", "hostname", "username", "user_name")}
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, str):
            value = anonymize_text(value, names)
            return re.sub(r"\b%s\b" % process_id, str(PUBLIC_PROCESS_ID), value) if process_id is not None else value
        return value
    return walk(document)


def left_over(document, names=None):
    """What still names a machine: known names, or a path outside of the public folder."""
    text = json.dumps(document)
    found = [name for name in (names if names is not None else machine_names())
             if re.search(r"\b%s\b" % re.escape(name), text)]
    paths = set(re.findall(r'(?<![\w.:/])(?:/[\w.+@-]+){2,}', text))
    return found + sorted(path for path in paths if not path.startswith(PUBLIC_FOLDER + "/"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--steps", type=int, default=0, help="how many steps stay (0: all)")
    parser.add_argument("--skip", type=int, default=0, help="leading steps to leave out")
    parser.add_argument("--keep-all", action="store_true", help="keep all arguments")
    parser.add_argument("--keep-shapes", action="store_true", help="keep the operators' shapes and types")
    parser.add_argument("--min-frame-us", type=float, default=0.0, help="leave out shorter Python frames")
    parser.add_argument("--frames", type=int, default=4, help="frames kept of each stack of a snapshot")
    parser.add_argument("--pid", type=int, help="the process id to replace")
    options = parser.parse_args()
    document = read_json(options.source)
    if "segments" in document:
        document = trim_snapshot(document, options.frames)
    else:
        document = trim_trace(document, options.steps, options.skip, options.keep_all, options.keep_shapes,
                              options.min_frame_us)
    document = anonymize(document, options.pid)
    found = left_over(document)
    if found:
        sys.exit("%s: still names a machine: %s" % (options.source, ", ".join(found[:5])))
    print("%s: %d bytes" % (options.target, write_json(document, options.target)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
