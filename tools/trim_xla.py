#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a trace of XLA's profiler small and nameless: trim_xla.py IN OUT.json.gz [options].

Of arguments only those stay that tell what a row is. Rows of the host go that are no call and shorter than --min-us, or on a
thread whose name holds a word of --without; all rows that begin behind --until-us go. Files of Python stand in such a trace
by their last name alone; times are not touched."""

import argparse
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0] + "/scenarios")
from trim import read_json, write_json  # noqa: E402

KEPT = ("correlation_id", "memcpy_details", "step_num", "hlo_op")


def is_kept(event, names, args):
    host = "/host:" in names.get((event["pid"], None), "")
    thread = names.get((event["pid"], event.get("tid")), "")
    is_call = "correlation_id" in event.get("args", {})
    left_out = host and (event["dur"] < args.min_us or any(word in thread for word in args.without))
    return event["ts"] <= args.until_us and (is_call or not left_out)


def trimmed(trace, args):
    events = [event for event in trace["traceEvents"] if event.get("ph") in ("M", "X")]
    names = {(event["pid"], event.get("tid")): event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] in ("process_name", "thread_name")}
    rows = [{**{key: event[key] for key in ("ph", "pid", "tid", "ts", "dur", "name")},
             "args": {key: value for key, value in event.get("args", {}).items() if key in KEPT}}
            for event in events if event["ph"] == "X" and is_kept(event, names, args)]
    used = {(row["pid"], row["tid"]) for row in rows} | {(row["pid"], None) for row in rows}
    told = [event for event in events if event["ph"] == "M" and (event["pid"], event.get("tid")) in used
            and event["name"] in ("process_name", "thread_name")]
    return {"displayTimeUnit": "ns", "metadata": trace.get("metadata", {}), "traceEvents": told + rows + [{}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("made")
    parser.add_argument("--min-us", type=float, default=0)
    parser.add_argument("--until-us", type=float, default=float("inf"))
    parser.add_argument("--without", action="append", default=[])
    args = parser.parse_args()
    print(write_json(trimmed(read_json(args.trace), args), args.made), "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
