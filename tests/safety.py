#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What references/guide/safety.md promises about hostile inputs, tried on the whole program: safety.py --program PROGRAM.
Prints TAP."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from program import Program, program_of
from tap import Tap

MIB = 2**20
ESCAPE = "\x1b]0;title\x07\x1b[31m"
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # of Unicode, as Python knows it
NONCHARACTERS = "\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff"
BAD_NAMES = [ESCAPE, "\n::error::forged", "\x9b31m", "\u202edesrever", NONCHARACTERS, "a.b", "a\0b",
             "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) in UNSEEN - {"Cs"})]
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU, signal.SIGUSR1,
                  signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)


class Runs(Program):
    """Runs of the program in a folder of their own."""

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return name

    def run(self, *arguments, **more):
        return super().run(*arguments, cwd=self.folder, **more)


def hidden_in(output):
    """Characters that a terminal would obey or not show, all but line feeds."""
    text = output.decode("utf-8", "surrogateescape")
    return sorted({hex(ord(c)) for c in text if (unicodedata.category(c) in UNSEEN or c in NONCHARACTERS) and c != "\n"})


# ---- what goes to a terminal

def snapshot_of_names(names):
    return {"segments": [{"device": 0, "address": MIB * (i + 1), "total_size": 512, "allocated_size": 512,
                          "active_size": 512, "requested_size": 512, "stream": 0, "segment_type": name, "frames": [],
                          "blocks": [{"address": MIB * (i + 1), "size": 512, "requested_size": 512,
                                      "state": "active_allocated", "frames": []}]} for i, name in enumerate(names)],
            "device_traces": [[{"action": name, "addr": MIB, "size": 512, "stream": 0, "time_us": 5 + i, "frames": []}
                               for i, name in enumerate(names)]],
            "external_annotations": [{"name": name, "stage": "START", "device": 0, "time_us": 3} for name in names]}


def check_tables(tap, runs):
    name = runs.write("names.json", snapshot_of_names(BAD_NAMES))
    for table in ("memory.trace_actions", "memory.segment_types", "memory.annotations.top_names"):
        for form in ("text", "csv", "json"):
            done = runs.run("--memory-json", name, "--table", table, "--format", form)
            tap.check(f"names of {table} are inert as {form}",
                      [] if done.returncode == 0 and done.stdout and not hidden_in(done.stdout.replace(b"\r\n", b"\n"))
                      and b"\n::error::" not in done.stdout else [done.stdout, done.stderr])


def check_messages(tap, runs):
    for bad in ["\x1b[31m.json", "a\n::error::forged.json", "\x9b31m.json", "\u202e.json", "\udcff.json"]:
        for content in (b"no JSON", b'{"traceEvents": [', None):
            path = runs.folder / bad
            if content is not None:
                path.write_bytes(content)
            done = runs.run("--cpu-trace", bad)
            tap.check(f"a file called {ascii(bad)} forges nothing on standard error",
                      [] if done.returncode == 3 and not hidden_in(done.stderr) and done.stderr.count(b"\n") == 1
                      else [done.returncode, done.stderr])
            path.unlink(missing_ok=True)
    unseen = [c for c in BAD_NAMES[-1] if c != "\0"]
    for at in range(0, len(unseen), 60):
        done = runs.run("--cpu-trace", "".join(unseen[at:at + 60]))
        tap.same([done.returncode, hidden_in(done.stderr)], [3, []], f"nor does what cannot be seen, from {at}")
    (runs.folder / "a\nb.pickle").write_bytes(b"\x80\x04K\x01.")
    done = runs.run("--memory-json", "a\nb.pickle")
    tap.same([done.returncode, done.stderr.count(b"\n") > 5, b"a\\u{a}b.pickle: " in done.stderr,
              done.stderr.count(b"\\u{a}")],
             [3, True, True, 1], "the lines that make JSON of a snapshot are lines, and its name is none")
    done = runs.run("--cpu-trace", "x", "--\x1b]0;x\x07")
    tap.check("nor does an option", [] if done.returncode == 2 and not hidden_in(done.stderr) else [done.stderr])


# ---- what must not be taken without a word

def segment(address, *blocks, size=1024, device=0):
    return {"device": device, "address": address, "total_size": size, "allocated_size": 512, "active_size": 512,
            "requested_size": 512, "stream": 0, "segment_type": "small", "frames": [],
            "blocks": [{"address": place, "size": 512, "requested_size": 512, "state": state, "frames": []}
                       for place, state in zip(blocks, ("active_allocated", "inactive"))]}


def alone(*segments):
    return {"segments": list(segments), "device_traces": []}


def alone_with(times_us):
    """A history with an allocation at each of these times."""
    return {**alone(segment(4096, 4096, 4608)), "device_traces": [[
        {"action": "alloc", "addr": 8192 + 512 * i, "size": 512, "stream": 0, "time_us": at}
        for i, at in enumerate(times_us)]]}


def entry(**members):
    return {**alone(segment(4096, 4096, 4608)), "device_traces": [[
        {"action": "alloc", "addr": 8192, "size": 512, "stream": 0, "time_us": 1, **members}]]}


def op(ts, dur, **more):
    return {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": dur, **more}


def pair(phase, name, ts):
    return {"ph": phase, "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts}


def kernel(ts, correlation=1, **more):
    return {**op(ts, 90), "cat": "kernel", "name": "gemm", "tid": 7,
            "args": {"device": 0, "stream": 7, "correlation": correlation}, **more}


def distributed(rank, world_size):
    return {"traceEvents": OPS, "distributedInfo": {"rank": rank, "world_size": world_size, "backend": "nccl"}}


OPS = [op(1000 * i, 900) for i in range(100)]
WEEK_US = 7 * 24 * 3600 * 10**6
DAYS_US = 8 * 24 * 3600 * 10**6
# what is odd, the document, the counters that tell of it; no counter: a refusal that has this text
ODD_SNAPSHOTS = [
    ("a segment twice", alone(*[segment(4096, 4096, 4608)] * 2), {"segments-overlap": 1}),
    ("a segment over another", alone(segment(4096, 4096, 4608), segment(4608, 4608, 5120)), {"segments-overlap": 1}),
    ("a segment at the same place of another device", alone(segment(4096, 4096, 4608),
                                                            segment(4096, 4096, 4608, device=1)), {}),
    ("a block twice", alone(segment(4096, 4096, 4096)), {"blocks-overlap": 1}),
    ("blocks in another order", alone(segment(4096, 4608, 4096)), {}),
    ("a block outside its segment", alone(segment(4096, 4096, 8192)), {"block-outside-segment": 1}),
    ("a recording without segments", {"device_traces": [[]]}, {"no-segments": 1}),
    ("an empty list", [], {"no-segments": 1}),
    ("an empty list of segments", {"segments": []}, {"no-segments": 1}),
    ("a history in which all is given back", {"segments": [], "device_traces": [[
        {"action": action, "addr": 4096, "size": 512, "stream": 0, "time_us": 1}
        for action in ("alloc", "free_requested", "free_completed")]]}, {}),
    ("an entry of another clock", alone_with([1700000000000000 + i for i in range(20)] + [5]), {"stray-entry": 1}),
    ("entries of a long run", alone_with([i * 86400 * 10**6 for i in range(25)]), {}),
    ("a segment at a negative address", alone(segment(-4096, -4096, -3584)), {"address-out-of-range": 1}),
    ("a segment beyond all addresses", alone(segment(2**64 - 512, 2**64 - 512)),
     {"address-out-of-range": 1, "segment-sums-differ": 1}),
    ("an entry at a negative address", entry(addr=-512), {"address-out-of-range": 1}),
    ("an entry whose stream is text", entry(stream="7"), {"member-of-wrong-type": 1}),
    ("an entry whose pool is a number", entry(pool_id=7), {"member-of-wrong-type": 1}),
    ("an entry whose frames are an object", entry(frames={}), {"member-of-wrong-type": 1}),
    ("an entry that tells of none of them", entry(stream=None, pool_id=None, frames=None), {}),
    ("events of a trace as well", {**alone(segment(4096, 4096, 4608)), "traceEvents": []}, {"two-forms": 1}),
    ("segments that are an object", {"segments": {}, "device_traces": []}, "segments is not a list"),
]
ODD_TRACES = [
    ("an empty array", [], {"no-events": 1}, None),
    ("empty traceEvents", {"traceEvents": []}, {"no-events": 1}, None),
    ("names of processes alone", {"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]},
     {"no-events": 1}, None),
    ("one event of another clock", {"traceEvents": [*OPS, op(1.4e15, 5)]}, {"stray-in-time": 1}, 99900),
    ("one event at 0 beside a clock of today", {"traceEvents": [op(0, 5), *(op(1.4e15 + o["ts"], 900) for o in OPS)]},
     {"stray-in-time": 1}, 99900),
    ("five events of a clock of today", {"traceEvents": [*OPS, *(op(1.7e15 + 1e11 * i, 5) for i in range(5))]},
     {"stray-in-time": 5}, 99900),
    ("one event two minutes behind 100 ms, which may be a hang", {"traceEvents": [*OPS, op(1.2e8, 5)]}, {}, 120000005),
    ("a row of ten minutes, which a collective that hangs takes", {"traceEvents": [*OPS, op(0, 6e8)]}, {}, 600000000),
    ("two halves two minutes apart", {"traceEvents": [*OPS, *(op(1.2e8 + o["ts"], 900) for o in OPS)]}, {}, 120099900),
    ("a row of 8 days", {"traceEvents": [*OPS, op(0, DAYS_US)]}, {"stray-in-time": 1, "duration-of-days": 1}, 99900),
    ("nothing but a row of 8 days", {"traceEvents": [op(0, DAYS_US)]}, {"duration-of-days": 1}, DAYS_US),
    ("two halves with a pause of two hours", {"traceEvents": [*OPS, *(op(7.2e9 + o["ts"], 900) for o in OPS)]}, {},
     7200099900),
    ("two halves a week apart", {"traceEvents": [*OPS, *(op(WEEK_US + o["ts"], 900) for o in OPS)]}, {"pause-of-days": 1},
     WEEK_US + 99900),
    ("a kernel on each of 300 devices", {"traceEvents": [
        {**op(100 * i, 90), "cat": "kernel", "name": "gemm", "pid": i, "args": {"device": i, "stream": 7}}
        for i in range(300)]}, {"many-devices": 44}, None),
    ("modules 1,002 deep in each other", {"traceEvents": [
        {**op(i, 3000 - 2 * i), "cat": "python_function", "name": f"nn.Module: Block{i}_0"} for i in range(1002)]},
     {"deep-modules": 2}, None),
    ("GPU work listed twice", {"traceEvents": [*map(kernel, range(0, 1000, 100), range(1, 11)), kernel(300, 4),
                                               kernel(300, 4)]}, {"gpu-rows-twice": 2}, None),
    ("equal GPU work of two calls, of two streams and of none", {"traceEvents": [
        kernel(0, 1), kernel(0, 2), kernel(0, 1, tid=8), kernel(200, 0), kernel(200, 0), kernel(400, 5), kernel(490, 5)]},
     {}, None),
    ("a rank that its world does not have", distributed(2, 2), {"rank-outside-world": 1}, 99900),
    ("a world of none", distributed(0, 0), {"rank-outside-world": 1}, 99900),
    ("a world of fewer than none", distributed(0, -3), {"rank-outside-world": 1}, 99900),
    ("a rank below -1", distributed(-2, 2), {"rank-outside-world": 1}, 99900),
    ("a rank of no group", distributed(-1, -1), {}, 99900),
    ("args that are none", {"traceEvents": [*OPS, *(op(1, 5, args=args) for args in ([], 5, "x", True, None, {}))]},
     {"member-of-wrong-type": 4}, 99900),
    ("ids that are lists and objects", {"traceEvents": [*OPS, op(1, 5, pid=[1]), op(1, 5, tid={"t": 1}),
                                                        op(1, 5, pid=None, tid=1.5), op(1, 5, pid="p", tid=True)]},
     {"id-not-a-scalar": 2}, 99900),
    ("devices that are none", {"traceEvents": [
        kernel(100 * i, i + 1, args={"device": device, "stream": 7, "correlation": i + 1})
        for i, device in enumerate([0, "1", -1, 1.5, "cuda", [], None])]}, {"device-not-a-number": 5}, None),
    ("a snapshot as well", {"traceEvents": OPS, **alone(segment(4096, 4096, 4608))}, {"two-forms": 1}, 99900),
    ("crossing pairs", {"traceEvents": [pair("B", "a", 1), pair("B", "b", 2), pair("E", "a", 3), pair("E", "b", 4)]},
     {"crossing-pairs": 2}, None),
    ("nested pairs", {"traceEvents": [pair("B", "a", 1), pair("B", "b", 2), pair("E", "b", 3), pair("E", "a", 4)]}, {},
     None),
]


def warnings_of(done):
    if done.returncode:
        return done.stderr.decode(errors="replace")
    return {row["code"]: row["count"] for row in json.loads(done.stdout)["warnings"]}


def check_odd(tap, runs):
    for what, document, wanted in ODD_SNAPSHOTS:
        got = warnings_of(runs.run("--memory-json", runs.write("odd.json", document), "--format", "json"))
        tap.ok(got == wanted if isinstance(wanted, dict) else wanted in got, f"a snapshot with {what}", got)
    for what, document, wanted, window_us in ODD_TRACES:
        done = runs.run("--cpu-trace", runs.write("odd.json", document), "--format", "json")
        got = warnings_of(done)
        window = json.loads(done.stdout)["cpu"]["summary"]["time_window_us"] if window_us else None
        tap.ok((got, window) == (wanted, window_us), f"a trace with {what}", f"{got}, window of {window} us")


def check_cut(tap, runs):
    """A report has 8 KiB of a text at most."""
    for what, option, document in (
            ("a trace", "--cpu-trace", lambda name: {"traceEvents": [*OPS, op(100000, 5, name=name)]}),
            ("a snapshot", "--memory-json", lambda name: snapshot_of_names([name]))):
        for size, wanted in ((8192, []), (8193, ["text-cut"])):
            name = runs.write("long.json", document("n" * size))
            done, strict = (runs.run(option, name, "--format", "json", *more) for more in ([], ["--strict"]))
            told = [code for code in warnings_of(done) if code != "action-unknown"]
            tap.same([told, strict.returncode, b"text-cut" in strict.stderr],
                     [wanted, 3 if wanted else 0, bool(wanted)], f"{what} with a name of {size} bytes")
    pages = [runs.run("--memory-json", name, *more).stdout for more in ([], ["--md-out", "/dev/null", "--html-out", "-"])]
    tap.same([b"more than 8 KiB" in page for page in pages], [True, True], "Markdown and page tell of it")
    name = runs.write("odd.json", alone({**segment(4096, 4096), "active_size": 1024}))
    done = runs.run("--memory-json", name, "--strict")
    tap.ok(done.returncode == 3 and b"segment-sums-differ" in done.stderr,
           "what only the analysis notices is refused by --strict as well", done)


# ---- JSON as exporters write it when they do not escape

def document(spoil, at=20):
    """Fifty events, one of them spoiled as text; and where that one begins."""
    events = [json.dumps(op(1000 * i, 900, args={"k": "text", "n": i})) for i in range(50)]
    events[at] = spoil(events[at])
    whole = '{"traceEvents": [\n' + ",\n".join(events) + "\n]}\n"
    return whole.encode(), whole.index(events[at])


REPAIRED = [
    ("bare N/A", lambda event: event.replace('"text"', "N/A"), {"bare-not-available": 1}, "aten::mm"),
    ("numbers that are none, as C writes them on Windows",
     lambda event: event.replace('"text"', "[-nan(ind), nan(snan), 1.#INF, -1.#IND00, 1.#QNAN, -1.#SNAN, inf]"),
     {"non-finite-number": 7}, "aten::mm"),
    ("what is no number in the place of args", lambda event: event.replace('{"k": "text", "n": 20}', "nan"),
     {"non-finite-number": 1, "member-of-wrong-type": 1}, "aten::mm"),
    ("Python's word for nothing in the place of args", lambda event: event.replace('{"k": "text", "n": 20}', "None"),
     {"bare-python-word": 1}, "aten::mm"),
    ("words of Python", lambda event: event.replace('"text"', "[None, True, False]"), {"bare-python-word": 3}, "aten::mm"),
    ("an unescaped Windows path in args", lambda event: event.replace("text", r"C:\Users\me\train.py"),
     {"unescaped-backslash": 2}, "aten::mm"),
    ("one that ends with a backslash", lambda event: event.replace("text", "C:\\train\\"),
     {"unescaped-path-end": 1}, "aten::mm"),
    ("one that ends its event with it", lambda event: event.replace('"n": 20', '"p": ["C:\\train\\"]'),
     {"unescaped-path-end": 1}, "aten::mm"),
    ("one in a name", lambda event: event.replace("aten::mm", r"D:\user\train\new.py(3): f"), {"unescaped-backslash": 1},
     r"D:\user\train\new.py(3): f"),
    ("one in a name that ends with it", lambda event: event.replace("aten::mm", "D:\\temp\\"), {"unescaped-path-end": 1},
     "D:\\temp\\"),
    ("one of a host", lambda event: event.replace("aten::mm", r"\\host\new\x.py(3): f"), {"unescaped-backslash": 1},
     r"\\host\new\x.py(3): f"),
    ("one from the folder of the run", lambda event: event.replace("text", r".\log\trace"), {"unescaped-backslash": 1},
     "aten::mm"),
    ("one of names and an ending", lambda event: event.replace("aten::mm", r"torch\nn\modules\module.py(3): f"),
     {"unescaped-backslash": 2}, r"torch\nn\modules\module.py(3): f"),
    ("what looks like one and is JSON", lambda event: event.replace("aten::mm", r'f:\n \", \"g'), {}, 'f:\n ", "g'),
    ("an escaped one", lambda event: event.replace("aten::mm", r"D:\\user\\train.py"), {}, r"D:\user\train.py"),
]
REFUSED = [
    ("a text in args that is not closed", lambda event: event.replace('"text"', '"text'), '"text', 20, "never closed"),
    ("one at the end of its event", lambda event: event.replace('"n": 20}}', '"n": "20}}'), '"20}}', 20, "never closed"),
    ("one in the last event", lambda event: event.replace('"n": 49}}', '"n": "49}}'), '"49}}', 49, "never closed"),
    ("a backslash without a drive", lambda event: event.replace("text", r"\Users"), None, 20, "after a backslash"),
    ("a backslash behind a word", lambda event: event.replace("text", r"te\xt"), None, 20, "after a backslash"),
    ("one in front of a name with an ending", lambda event: event.replace("text", r"\xt.py"), None, 20, "after a backslash"),
    ("a backslash behind a colon that is no drive's", lambda event: event.replace("text", r"a: \Users"), None, 20,
     "after a backslash"),
    ("N/B", lambda event: event.replace('"text"', "N/B"), None, 20, "expected a value"),
]


def is_strict(text):
    """Without the words that Python's reader takes beyond JSON."""
    def refuse(word):
        raise ValueError(word)
    try:
        return bool(json.loads(text, parse_constant=refuse))
    except ValueError:
        return False


def check_repairs(tap, runs):
    for what, spoil, wanted, name in REPAIRED:
        content, _ = document(spoil)
        done = runs.run("--cpu-trace", runs.write("t.json", content), "--top-n", "0", "--format", "json")
        names = [row["name"] for row in json.loads(done.stdout)["cpu"]["top_ops"]] if done.stdout else []
        tap.ok(warnings_of(done) == wanted and name in names, f"{what} is repaired", f"{warnings_of(done)} {names}")
        copied = runs.run("--cpu-trace", "t.json", "--md-out", "/dev/null", "--trace-all", "--trace-out", "-").stdout
        (runs.folder / "copy.json").write_bytes(copied)
        again = runs.run("--cpu-trace", "copy.json", "--format", "json")
        tap.ok(is_strict(copied) and warnings_of(again) == {}, f"{what} is written as JSON again", warnings_of(again))
    for what, spoil, begins, at, says in REFUSED:
        content, start = document(spoil, at)
        done = runs.run("--cpu-trace", runs.write("t.json", content))
        place = f"at byte {content.index(begins.encode(), start)}" if begins else ""
        tap.ok(done.returncode == 3 and says in done.stderr.decode() and place in done.stderr.decode(),
               f"{what} is refused, with its place", f"{done.stderr} {place}")
    cut = document(str)[0][:-30]
    tap.same(warnings_of(runs.run("--cpu-trace", runs.write("t.json", cut), "--format", "json")), {"input-cut": 1},
             "a cut within a text is still one")


# ---- outputs

def left(runs):
    return sorted(str(path.relative_to(runs.folder)) for path in runs.folder.rglob("*"))


def check_places(tap, runs):
    name = runs.write("t.json", {"traceEvents": OPS})
    (runs.folder / "in").mkdir()
    for first, second in (("n", "./n"), ("n", "in/../n"), ("n", runs.folder / "n"), ("in/../in/n", "in/./n")):
        before = left(runs)
        done = runs.run("--cpu-trace", name, "--md-out", first, "--json-out", second)
        tap.ok(done.returncode == 2 and left(runs) == before, f"{first} and a second spelling of it are one file",
               f"{done} {left(runs)}")
    done = runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--json-out", "/dev/null")
    tap.same(done.returncode, 0, "what keeps nothing may be given twice")
    runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--pictures-out", "all")
    picture = left(runs)[0:][next(i for i, path in enumerate(left(runs)) if path.endswith(".svg"))].partition("/")[2]
    kept = (runs.folder / name).read_bytes()
    for what, options in (("an input", ["--cpu-trace", f"p/{picture}"]),
                          ("another output", ["--cpu-trace", name, "--json-out", f"p/{picture}"])):
        (runs.folder / "p").mkdir(exist_ok=True)
        (runs.folder / "p" / picture).write_bytes(kept)
        done = runs.run(*options, "--md-out", "/dev/null", "--pictures-out", "p")
        tap.ok(done.returncode == 2 and (runs.folder / "p" / picture).read_bytes() == kept and len(
            [path for path in left(runs) if path.startswith("p/")]) == 1, f"a picture overwrites no {what[3:]}",
            f"{done.stderr} {left(runs)}")


def check_failing(tap, runs):
    """What fails behind the last byte of an output: a disk in a network tells only then that it is full."""
    planted, whole = os.environ.get("AP_PLANTED_CALLS"), runs.write("t.json", {"traceEvents": OPS})
    if not planted:
        tap.skip("an output that cannot be closed or put in place fails", "nothing can be preloaded")
        return
    environment = {**os.environ, "LD_PRELOAD": os.path.abspath(planted)}
    for call in ("close", "rename", "nothing"):
        before = left(runs)
        done = runs.run(whole, "--json-out", "out.json", "--html-out", "out.html", "--md-out", "/dev/null",
                        env={**environment, "AP_FAIL": call})
        failed = done.returncode == 4 and b"out." in done.stderr and left(runs) == before
        tap.ok(done.returncode == 0 if call == "nothing" else failed, f"an output of which {call} fails",
               f"{done} {left(runs)}")
    (runs.folder / "ranks").mkdir()
    for rank in range(4):
        runs.write(f"ranks/rank{rank}.json", distributed(rank, 4))
    for call, wanted in (("nothing", [0, b""]),
                         ("readdir", [3, b"analyze_profile: ranks: cannot be listed to its end\n"])):
        done = runs.run("ranks", env={**environment, "AP_FAIL": call})
        tap.same([done.returncode, done.stderr], wanted, f"a folder of which {call} fails")


def check_dangling(tap, runs):
    """A file in the place of a link would lose where it leads."""
    name = runs.write("t.json", {"traceEvents": OPS})
    for target in ("gone.md", "no/folder/gone.md", "link.md"):
        (runs.folder / "link.md").symlink_to(target)
        done = runs.run("--cpu-trace", name, "--md-out", "link.md")
        tap.ok(done.returncode == 4 and b"link.md: a link to what is not there" in done.stderr and
               os.readlink(runs.folder / "link.md") == target, f"a link to {target} stays", done)
        (runs.folder / "link.md").unlink()


def check_limit(tap, runs):
    """What ended the run, how much had been read, what to do."""
    event = json.dumps(op(1, 5)).encode() + b","
    name = runs.write("t.json", b'{"traceEvents": [' + event * 800000 + b"{}]}")
    done = runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--max-memory", "32Mi")
    said = re.search(rb"limit of 33554432 bytes was reached; raise --max-memory.* \(at byte (\d+)\)", done.stderr)
    tap.ok(done.returncode == 5 and said and int(said[1]) > 1000000, "a limit says how much was read", done)


def check_other_places(tap, runs):
    """Where a picture goes, nothing but a file is written to, in the sandbox or without."""
    name = runs.write("t.json", {"traceEvents": OPS})
    runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--pictures-out", "all")
    picture = next((runs.folder / "all").iterdir()).name
    for what, make in (("a FIFO", os.mkfifo), ("a folder", os.mkdir),
                       ("a device", lambda path: os.symlink("/dev/full", path))):
        folder = runs.folder / what[2:]
        folder.mkdir()
        make(folder / picture)
        for more in ([], ["--no-sandbox"]):
            done = runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--pictures-out", what[2:], *more)
            tap.ok(done.returncode == 4 and b"no regular file" in done.stderr and len(list(folder.iterdir())) == 1,
                   f"{what} in the place of a picture is told {' '.join(more)}", done)


def check_spared(tap, runs):
    """What is read in other ways than as a named file, and what standard output is."""
    kept = json.dumps({"traceEvents": OPS}).encode()
    runs.write("t.json", kept)
    runs.write("key", b"0123456789abcdef")
    (runs.folder / "f").mkdir()
    for rank in range(2):
        runs.write(f"f/rank{rank}.json", kept)
    (runs.folder / "s").symlink_to("f")
    summary = {**os.environ, "GITHUB_STEP_SUMMARY": str(runs.folder / "t.json")}
    nowhere = ["--md-out", "/dev/null"]
    for what, options, more in (
            ("a key", ["t.json", "--redact", "--redact-key", "key", "--json-out", "key", *nowhere], {}),
            ("a trace, by the summary of a step", ["t.json", "--step-summary", *nowhere], {"env": summary}),
            ("a trace that was found in a folder", ["f", "--json-out", "f/rank0.json", *nowhere], {}),
            ("one found through a link", ["s", "--json-out", "f/rank0.json", *nowhere], {}),
            ("standard input", ["-", "--json-out", "t.json", *nowhere], {"stdin": "t.json"}),
            ("a trace, by standard output", ["t.json"], {"stdout": "t.json"}),
            ("another output, by standard output", ["t.json", "--md-out", "-", "--json-out", "new"], {"stdout": "new"}),
            ("another output, by the summary of a step", ["t.json", "--step-summary", "--json-out", "new", *nowhere],
             {"env": {**os.environ, "GITHUB_STEP_SUMMARY": str(runs.folder / "new")}})):
        runs.write("new", b"")
        before = {path: (runs.folder / path).read_bytes() for path in left(runs) if (runs.folder / path).is_file()}
        with open(runs.folder / more.get("stdin", "/dev/null"), "rb") as given, \
                open(runs.folder / more.get("stdout", "/dev/null"), "ab") as taken:
            done = subprocess.run([runs.path, "--quiet", *options], cwd=runs.folder, stdin=given, stdout=taken,
                                  stderr=subprocess.PIPE, env=more.get("env"), check=False, timeout=60)
        after = {path: (runs.folder / path).read_bytes() for path in left(runs) if (runs.folder / path).is_file()}
        tap.ok(done.returncode == 2 and before == after, f"{what} is not written over",
               f"{done} {[path for path in after if after[path] != before.get(path)]}")
    for _ in range(2):
        done = runs.run("f", "--json-out", "f/report.json", *nowhere)
    tap.same(done.returncode, 0, "a report in the folder of its run may be written again")
    for path in ("n" * 255, "\u20ac" * 85):
        done = runs.run("t.json", "--json-out", path, *nowhere)
        tap.ok(done.returncode == 0 and (runs.folder / path).exists(), "an output may have the longest name", done)
    done = runs.run("t.json", "--json-out", "", *nowhere)
    tap.ok(done.returncode == 2 and b"not empty" in done.stderr, "but not none", done)


def check_inherited(tap, runs):
    """What the shell opened is gone on with: another file in its place would lose what stands before and behind."""
    runs.write("t.json", {"traceEvents": OPS})
    for path, redirect in (("/dev/stdout", ""), ("/proc/self/fd/1", ""), ("/dev/stderr", "2>&1"), ("/dev/fd/7", "7>&1"),
                           ("log", "")):
        command = f"(echo before; {runs.path} -q t.json --md-out /dev/null --json-out {path} {redirect}; echo $?) >> log"
        runs.write("log", b"old\n")
        done = subprocess.run(["bash", "-c", command], cwd=runs.folder, capture_output=True, check=False, timeout=60)
        text = (runs.folder / "log").read_text(encoding="utf-8")
        tap.ok(text.startswith("old\nbefore\n{") and text.endswith("}\n0\n") and left(runs) == ["log", "t.json"],
               f"{path} is gone on with", f"{done} {text[:80]} {text[-80:]} {left(runs)}")


def check_pages(tap, runs):
    """The digest is Markdown, and GitHub shows it as that."""
    bad = "<img src=http://evil.example/x> [a](http://evil.example) @everyone \x9b \u202e"
    runs.write("t.json", {"deviceProperties": [{"id": 0, "name": bad}], "traceEvents": OPS})
    summary = runs.folder / "summary"
    runs.run("t.json", "--step-summary", "--md-out", "/dev/null",
             env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)})
    for what, text in (("the summary of a step", summary.read_text(encoding="utf-8")),
                       ("a digest", runs.run("t.json", "--summary-tokens", "1000").stdout.decode())):
        bare = "".join(part for part in text.split("`")[::2])
        tap.ok("GPU: " in text and not [word for word in ("<img", "](", "@", "http:", "\x9b", "\u202e") if word in bare],
               f"a name is inert in {what}", text)


def check_folders(tap, runs):
    """Links make a tree of any size of a few folders."""
    (runs.folder / "loops").mkdir()
    for rank in range(2):
        runs.write(f"loops/rank{rank}.json", {"traceEvents": OPS})
    for i in range(60):
        (runs.folder / "loops" / f"l{i}").symlink_to(".")
    done = runs.run("loops", "--format", "json")
    paths = [row["path"] for row in json.loads(done.stdout)["cluster"]["files"]] if done.stdout else done.stderr
    tap.same(paths, ["loops/rank0.json", "loops/rank1.json"], "links to their own folder lead nowhere new")
    (runs.folder / "paths" / ".h" / "empty").mkdir(parents=True)
    for name, target in (("paths/.h/c", "../empty"), ("paths/.h/b", "../c"), ("paths", ".h/b")):
        (runs.folder / name).mkdir(exist_ok=True)
        for i in range(100):
            (runs.folder / name / f"l{i}").symlink_to(target)
    done = runs.run("paths")
    tap.ok(done.returncode == 5 and b"more than 200000 folders" in done.stderr,
           "a million paths of links end with a message", done)
    (runs.folder / "home" / "of").mkdir(parents=True)
    runs.write("home/of/0", b"no input")
    for i in range(1, 10001):
        os.link(runs.folder / "home" / "of" / "0", runs.folder / "home" / "of" / str(i))
    tap.same(runs.run("home").returncode, 3, "many names of one file are one file")
    for i in range(10001):
        runs.write(f"home/{i}", b"n")
    done = runs.run("home")
    tap.ok(done.returncode == 5 and b"home: no input of a report among 10000 of 10002 files" in done.stderr,
           "the folder of a whole machine ends soon, with what to do", done)
    for rank in range(2):
        runs.write(f"home/of/rank{rank}.json", {"traceEvents": OPS, "distributedInfo": {"rank": rank, "world_size": 2}})
    report = json.loads(runs.run("home", "--format", "json").stdout)
    unread = [row["count"] for row in report["warnings"] if row["code"] == "files-not-read"]
    tap.same((report["cluster"]["rank_count"], unread), (2, [10002]),
             "a log of each rank of a large run, read before its traces by name, hides none and is counted")


def check_deep(tap, runs):
    """A file that breaks a limit is a file that cannot be read, among others."""
    (runs.folder / "deep").mkdir()
    for rank in range(3):
        text = json.dumps({"traceEvents": OPS, "distributedInfo": {"rank": rank, "world_size": 3}})
        more = text.replace('"dur": 900', '"dur": 900, "args": {"deep": ' + "[" * 20000 + "]" * 20000 + "}")
        runs.write(f"deep/rank{rank}.json", (more if rank == 1 else text).encode())
    runs.write("deep/bomb.json", b"[" * 20000)
    done = runs.run("deep", "--format", "json")
    cluster = json.loads(done.stdout)["cluster"] if done.stdout else {"files": []}
    unread = {row["path"]: row["why_not"] for row in cluster["files"] if row.get("why_not")}
    tap.ok(done.returncode == 0 and sorted(unread) == ["deep/bomb.json", "deep/rank1.json"] and
           all("nest deeper" in why for why in unread.values()), "a file that nests too deep ends no run", (done, unread))


def check_descriptors(tap, runs):
    """Whatever has to be left for want of descriptors, the files that were begun go."""
    runs.write("t.json", {"traceEvents": OPS})
    (runs.folder / "f").mkdir()
    runs.write("f/rank0.json", {"traceEvents": OPS})
    for options in (["t.json", "--html-out", "o.html", "--trace-out", "o.trace", "--pictures-out", "o.pictures"], ["f"]):
        before, codes, lost = left(runs), [], []
        for most in range(4, 20):
            done = runs.run(*options, "--md-out", "o.md", "--json-out", "o.json",
                            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            codes.append(done.returncode)
            new = [path for path in left(runs) if path not in before]
            lost += [(most, done)] if not set(codes) <= {0, 3, 4, 5, 127} or (done.returncode and new) or (
                b"is among" in done.stderr) else []
            for path in reversed(new):
                (runs.folder / path).rmdir() if (runs.folder / path).is_dir() else (runs.folder / path).unlink()
        tap.ok(not lost and 0 in codes, f"{options[0]} with few descriptors leaves all or nothing", f"{lost} {codes}")


def check_identities(tap, runs):
    """Numbers that name processes are shown as they are, as long as every reader of JSON takes them."""
    for what, literal, shown in (("a usual one", "12", 12), ("one of a million digits", "1" + "0" * 10**6, str),
                                 ("one beyond all doubles", "1e999", "1e999"), ("none", "true", True)):
        event = json.dumps(op(1, 5000)).replace('"tid": 1', f'"tid": {literal}').encode()
        done = runs.run("--cpu-trace", runs.write("t.json", b'{"traceEvents": [' + event + b"]}"), "--format", "json")
        threads = json.loads(done.stdout)["cpu"]["threads"] if done.stdout else [{"tid": done.stderr}]
        tid = threads[0]["tid"]
        tap.ok(tid == shown or shown is str and isinstance(tid, str) and len(done.stdout) < 400000,
               f"{what} as a thread's number", f"{str(tid)[:100]} {len(done.stdout)}")


def check_endless(tap, runs):
    """A file that has no end but waits for others to write more; who may not open it is told that."""
    done = runs.run("/proc/kmsg")
    tap.ok(done.returncode == 3 and b"/proc/kmsg: " in done.stderr, "a file that never ends is not waited for", done)


def check_signals(tap, runs):
    many = [op(1000 * i, 900, args={"Input Dims": [[i]]}) for i in range(60000)]
    name = runs.write("many.json", {"traceEvents": many})
    for number in ENDING_SIGNALS:
        os.mkfifo(runs.folder / "pipe")
        before = left(runs)
        # the Markdown goes to a pipe that nobody reads from until the signal has come: the JSON is complete by then
        running = subprocess.Popen([runs.path, "--quiet", "--cpu-trace", name, "--json-out", "out.json", "--html-out",
                                    "out.html", "--trace-out", "pipe", "--md-out", "/dev/null"], cwd=runs.folder,
                                   stderr=subprocess.DEVNULL,
                                   # as if not started by nohup, which ignores one of them
                                   preexec_fn=lambda wanted=number: signal.signal(wanted, signal.SIG_DFL))
        reader = os.open(runs.folder / "pipe", os.O_RDONLY)
        os.read(reader, 1)
        begun = set(left(runs)) - set(before)
        running.send_signal(number)
        code = running.wait(timeout=30)
        os.close(reader)
        tap.ok(code == -number and begun and left(runs) == before, f"{number.name} leaves nothing behind",
               f"exit code {code}, begun {begun}, left {left(runs)}")
        (runs.folder / "pipe").unlink()
    before = left(runs)
    done = runs.run("--cpu-trace", name, "--json-out", "out.json", "--html-out", "out.html", "--md-out", "out.md",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    tap.ok(done.returncode == 4 and left(runs) == before, "a file that may not grow is a failed output",
           f"{done} {left(runs)}")
    done = runs.run("--cpu-trace", name, "--md-out", "/dev/null", "--pictures-out", "new",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    tap.ok(done.returncode == 4 and left(runs) == before, "pictures that find no room leave no folder",
           f"{done} {left(runs)}")


def calls_of(runs, *options):
    """How many calls of the kernel one thread makes; None where nobody can be watched."""
    done = subprocess.run(["strace", "-qq", "-o", runs.folder / "calls", runs.path, "--quiet", "--threads", "1", *options,
                           "--md-out", "/dev/null"], cwd=runs.folder, capture_output=True, check=False, timeout=60)
    return (runs.folder / "calls").read_bytes().count(b"\n") if done.returncode == 0 else None


def check_cost(tap, runs):
    """What the sandbox costs is a filter for each call of the kernel, and these are few, however long the trace is."""
    claim = "the sandbox costs some calls once, and a megabyte of the input few"
    if not shutil.which("strace") or b"seccomp" not in runs.run("--version", "--verbose").stdout:
        tap.skip(claim, "no strace (Debian: strace), no seccomp here, or a build with sanitizers")
        return
    for count in (20000, 80000):
        runs.write(f"{count}.json", {"traceEvents": [op(10 * i, 7, args={"External id": i}) for i in range(count)]})
    with_it, without = ([calls_of(runs, f"{count}.json", *more) for count in (20000, 80000)]
                        for more in ([], ["--no-sandbox"]))
    mib = [(runs.folder / f"{count}.json").stat().st_size / MIB for count in (20000, 80000)]
    if None in with_it + without:
        tap.skip(claim, "strace may not watch here")
        return
    more = [one - other for one, other in zip(with_it, without)]
    tap.ok(0 < max(more) <= 30 and max(more) - min(more) <= 2 and with_it[1] - with_it[0] < 20 * (mib[1] - mib[0]), claim,
           f"{with_it} calls with, {without} without, of {mib} MiB")


def check_small_things(tap, runs):
    for option in ("--help", "--version", "--capture-snippet", "--list-rules", "--list-metrics", "--completion=bash"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([runs.path, option], stdout=full, stderr=subprocess.PIPE, check=False)
        tap.ok(done.returncode == 4 and done.stderr, f"{option} to a full disk fails", done)
    trace = runs.write("t.json", {"traceEvents": [row for i in range(300) for row in (
        op(1000 * i, 900), {**op(1000 * i + 5, 300), "cat": "kernel", "tid": 7, "args": {"device": 0, "stream": 7}})]})
    snapshot = runs.write("s.json", snapshot_of_names(BAD_NAMES))
    for kib in (64, 128, 1024):
        done = runs.run("--cpu-trace", trace, "--memory-json", snapshot, "--html-out", "out.html", "--json-out", "out.json",
                        preexec_fn=lambda kib=kib: resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10)))
        tap.same(done.returncode, 0, f"a stack of {kib} KiB suffices")


# ---- the sandbox

def check_sandbox(tap, runs):
    said = runs.run("--version", "--verbose").stdout.decode()
    loaded, linked = (os.environ.get(name) for name in ("AP_PLANTED_CALLS", "AP_PLANTED_PROGRAM"))
    loaded = loaded and os.path.abspath(loaded)  # the runs are in a folder of their own
    if "seccomp" not in said or not (loaded or linked):
        tap.skip("what is planted behind the parser is stopped", "no seccomp here, or a build with sanitizers")
        return
    trace = runs.write("t.json", {"traceEvents": OPS})
    snapshot = runs.write("s.json", snapshot_of_names(BAD_NAMES))
    (runs.folder / "folder").mkdir()
    runs.write("folder/rank0.json", {"traceEvents": OPS})
    runs.write("lr=2.json", {"traceEvents": OPS})
    planted = Runs(linked or runs.path, runs.folder)
    large = runs.write("large.json", {"traceEvents": [op(1000 * i, 900) for i in range(20000)]})
    ways = [["--cpu-trace", trace], [large, "--threads", "8"], [trace, snapshot], ["--cpu-trace", "-"],
            ["--cpu-trace", trace, "--baseline", trace, "--json-out", "out.json"], ["folder"],
            ["--series", f"8={trace}", "16=lr=2.json"]]
    for plant in ("open", "old open", "create", "socket", "execve", "code", "process", "limits", "owner"):
        for way in ways:
            environment = {**os.environ, "AP_PLANT": plant, **({} if linked else {"LD_PRELOAD": loaded})}
            given = {"env": environment, "input": (runs.folder / trace).read_bytes()}
            inside, outside = (planted.run(*way, *more, **given) for more in ([], ["--no-sandbox"]))
            tap.ok(inside.returncode in (78, -signal.SIGSYS) and outside.returncode in (77, 0),
                   f"{plant} behind the parser of {' '.join(way)} is stopped",
                   f"{inside.returncode} in the sandbox, {outside.returncode} without")
    check_calls(tap, runs, planted, trace, loaded if not linked else None)
    for way in ways:
        done = runs.run(*way, "--format", "json", "--html-out", "out.html", "--md-out", "out.md", "--pictures-out",
                        "pictures", input=(runs.folder / trace).read_bytes())
        tap.ok(done.returncode == 0 and "seccomp" in str(json.loads(done.stdout)["generator"]["sandbox"]),
               f"{' '.join(way)} works within it, and the report says so", done)
    check_without_landlock(tap, planted, runs, trace, {} if linked else {"LD_PRELOAD": loaded})
    check_many_inputs(tap, runs)
    done = runs.run("--cpu-trace", trace, "--no-sandbox", "--format", "json")
    tap.same(json.loads(done.stdout)["generator"]["sandbox"], "none", "without it, too")


NEVER = ("accept4 bind bpf connect execveat fchmodat fchownat fork io_uring_setup keyctl kill linkat listen memfd_create "
         "mkdirat mount open_by_handle_at perf_event_open process_vm_writev ptrace sendmsg sendto setns setuid socketpair "
         "symlinkat truncate unshare userfaultfd").split()


def check_calls(tap, runs, planted, trace, loaded):
    """What nothing in the program asks for is refused or ends it, and is there for who asks outside."""
    (runs.folder / "out").mkdir()
    got = {}
    for plant in (*NEVER, "new process", "written code", "signal", "terminal", "remove"):
        environment = {**os.environ, "AP_PLANT": plant, **({"LD_PRELOAD": loaded} if loaded else {})}
        runs.write("kept", b"no output of the program")
        codes = [planted.run(trace, "--json-out", "out/report.json", *more, env=environment).returncode
                 for more in ([], ["--no-sandbox"])]
        stopped, worked = codes[0] in (78, -signal.SIGSYS), codes[1] == 77
        if not (stopped and worked):
            got[plant] = codes
    # a kernel or a machine may lack some
    lacking = {plant for plant, codes in got.items() if codes in ([78, 78], [-signal.SIGSYS, 78])}
    tap.same({plant: codes for plant, codes in got.items() if plant not in lacking}, {},
             f"{len(NEVER) + 5 - len(lacking)} more calls behind the parser are stopped")
    tap.ok(len(lacking) < 6, "which are there outside of it", lacking)


# As an older kernel: a filter that knows no landlock_create_ruleset, which is call 444 on every machine.
OLDER = """import ctypes, os, struct, sys
rows = (32, 0, 0, 0), (21, 0, 1, 444), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)
code = b"".join(struct.pack("HBBI", *row) for row in rows)
text = ctypes.create_string_buffer(code)
filter = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
c = ctypes.CDLL(None)
assert c.prctl(38, 1, 0, 0, 0) == 0 and c.prctl(22, 2, ctypes.create_string_buffer(filter), 0, 0) == 0
os.environ.update(part.split("=", 1) for part in sys.argv[1:3])
os.execv(sys.argv[3], sys.argv[3:])"""


def check_without_landlock(tap, planted, runs, trace, preload):
    """Seccomp alone lets nothing be opened either where all inputs are open, standard input among them."""
    loaded = "=".join(next(iter(preload.items()), ("AP_NONE", "")))
    for way in ([trace], ["-"]):
        done = subprocess.run([sys.executable, "-c", OLDER, "AP_PLANT=open", loaded, planted.path, "--quiet", *way],
                              cwd=runs.folder, input=(runs.folder / trace).read_bytes(), capture_output=True, check=False,
                              timeout=60)
        tap.ok(done.returncode == 78, f"so is open behind the parser of {way[0]} without Landlock", done)
    done = subprocess.run([sys.executable, "-c", OLDER, "AP_NONE=", "AP_NONE=", runs.path, "--version", "--verbose"],
                          capture_output=True, check=False, timeout=60)
    tap.ok(b"sandbox: seccomp\n" in done.stdout, "which is told", done)


def check_many_inputs(tap, runs):
    """However many there are, each may be read, and the sandbox is there."""
    (runs.folder / "many").mkdir()
    names = [runs.write(f"many/x{i}", b"no trace") for i in range(4100)]
    names += [runs.write(f"many/rank{i}.json", {"traceEvents": OPS, "distributedInfo": {"rank": i, "world_size": 2}})
              for i in range(2)]
    done = runs.run(*names, "--format", "json", "--md-out", "/dev/null")
    report = json.loads(done.stdout) if done.stdout else {}
    tap.ok(len(report.get("cluster", {}).get("ranks", [])) == 2 and "seccomp" in str(report["generator"]["sandbox"]),
           f"{len(names)} inputs are read within it, as far as they are traces", done.stderr[:500])


# ---- limits that nobody asked for

def check_default_memory(tap, runs):
    """In a mount namespace of its own, where the group of the process allows 40 MiB."""
    claim = "without --max-memory the cgroup's limit holds, and the message says so"
    groups = runs.folder / "groups"
    groups.mkdir()
    (groups / "memory.max").write_text(f"{40 * MIB}\n", encoding="ascii")
    inside = "mount --bind groups /sys/fs/cgroup && grep -q '^0::/$' /proc/self/cgroup || exit 77; exec \"$@\""
    row = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'
    runs.write("large.json", b'{"traceEvents":[' + b",".join([row] * 1500000) + b"]}")
    try:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", inside, "sh", runs.path, "--quiet", "large.json"],
                              cwd=runs.folder, capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        tap.skip(claim, "no unshare here")
        return
    if done.returncode not in (0, 5):
        tap.skip(claim, "no mount namespace with one cgroup can be had here")
        return
    tap.ok([done.returncode, done.stdout, b"41943040 bytes, what the cgroup allows" in done.stderr] == [5, b"", True], claim,
           done.stderr.decode(errors="replace"))


CHECKS = [check_sandbox, check_tables, check_messages, check_odd, check_cut, check_repairs, check_places, check_failing,
          check_dangling, check_limit, check_other_places,
          check_spared, check_inherited, check_pages, check_folders, check_deep, check_descriptors, check_identities,
          check_signals, check_endless, check_cost, check_small_things, check_default_memory]


def main():
    program = program_of(__doc__)
    tap = Tap()
    for check in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            check(tap, Runs(program, Path(folder)))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
