#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of Nsight Systems: nsys.py --program PROGRAM. The same run as a trace and as an export of several years gives the
same report; what an export holds of the run's environment stands nowhere; hostile databases are refused, or read as far as
they are sound. Prints TAP."""

import json
import random
import sqlite3
import sys
import tempfile

from program import ROOT, Program, parser_of
from tap import Tap
import make_nsys

TRACES = ROOT / "fixtures" / "traces"
RUNS = ["training_step_cuda.json.gz", "training_healthy.json.gz", "sync_heavy.json", "copy_heavy.json", "tiny_ops.json"]
YEARS = ["2020", "2022", "2024"]
# What the two files themselves are.
OF_FILE = ("cpu.path", "trace.path", "trace.bytes_read", "trace.format", "trace.program", "trace.by_pytorch")
# What recording costs is known of PyTorch's profiler alone, and what is left without it differs then.
OF_RECORDER = tuple("verdict.host." + name for name in ("recording_us", "own_us", "own_ratio", "with_short_kernels_us"))
PID, TID = 4711, 4712


def flat(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from flat(inner, f"{path}[{i}]")
    else:
        yield path, value


def is_of_file(path):
    """Also what is recommended to be recorded next, which the tool decides."""
    return (path in OF_FILE + OF_RECORDER or path.startswith("capture") or ".missing" in path
            or path.endswith((".action", ".settle")))


def differing(left, right):
    for report in (left, right):  # those with as many events stand in the order of the file
        report["trace"]["categories"].sort(key=lambda row: str(row["category"]))
        # Remarks on how it was recorded are those of the recorder.
        report["findings"] = [row for row in report["findings"] if row["domain"] != "quality"]
        del report["not_evaluated"]
    left, right = dict(flat(left)), dict(flat(right))
    return [f"{path}: {left.get(path)} and {right.get(path)}" for path in sorted(set(left) | set(right))
            if left.get(path) != right.get(path) and not is_of_file(path)]


def check_same(tap, program):
    for run in RUNS:
        for year in YEARS:
            database, same = program.folder / f"{year}.sqlite", program.folder / "same.json"
            make_nsys.write_trace(make_nsys.make(make_nsys.load(TRACES / run), database, year), same)
            _, of_trace, said = program.report(same)
            _, of_export, said_of_export = program.report(database)
            claim = f"{run}: the export of {year} gives the figures of the trace"
            if not of_trace or not of_export:
                tap.ok(False, claim, said + said_of_export)
                continue
            tap.check(claim, differing(of_trace, of_export))


def check_secrets(tap, program):
    database = program.folder / "2024.sqlite"
    done = program.run(database, "--json-out", program.folder / "s.json", "--html-out", program.folder / "s.html",
                       "--trace-out", program.folder / "s.trace.json")
    texts = [done.stdout + done.stderr] + [(program.folder / name).read_bytes()
                                           for name in ("s.json", "s.html", "s.trace.json")]
    tap.ok(all(make_nsys.SECRET.encode() not in text for text in texts), "what the environment was stands in no output")
    copied = json.loads((program.folder / "s.trace.json").read_text())
    tap.ok(any(event.get("cat") == "kernel" for event in copied["traceEvents"]),
           "--trace-out makes a trace for viewers of an export")


# ---- databases made by hand

class Made:
    """A small export with one call and its kernel in each of four steps."""

    def __init__(self, path):
        path.unlink(missing_ok=True)
        self.path, self.export = path, make_nsys.Export(path, "2024")
        self.base = self.export.base
        for i in range(4):
            self.step(i)

    def step(self, i, process=0, pid=PID, device=0):
        start, add, string = 1_000_000 * i, self.export.add, self.export.string
        thread = make_nsys.global_tid(pid, TID)
        add("NVTX_EVENTS", start=start, end=start + 900_000, eventType=59, text=f"step {i}", globalTid=thread)
        add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start + 100_000, end=start + 110_000, globalTid=thread,
            correlationId=i + 1, nameId=string("cudaLaunchKernel_v7000"))
        self.kernel(start + 120_000, start + 620_000, i + 1, pid, device)

    def kernel(self, start, end, correlation, pid=PID, device=0, name=None, **more):
        name = self.export.string("a_kernel") if name is None else name
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", **{
            "start": start, "end": end, "deviceId": device, "contextId": 1, "streamId": 7, "correlationId": correlation,
            "globalPid": make_nsys.global_tid(pid, 0), "demangledName": name, "shortName": name, **more})

    def done(self):
        self.export.close()
        return self.path


def read(program, change, name="made.sqlite"):
    made = Made(program.folder / name)
    change(made)
    return program.report(made.done())


def warned(report):
    return {warning["code"] for warning in report["warnings"]}


def check_rows(tap, program):
    _, report, said = read(program, lambda made: None)
    tap.ok(report and report["gpu"]["kernel"]["count"] == 4 and report["steps"]["count"] == 4,
           "NVTX ranges that a loop repeats are steps", said)

    def two_processes(made):
        for i in range(4):
            made.step(i, pid=PID + 1, device=0)
        for pid, gpu in ((PID, 0), (PID + 1, 3)):
            made.export.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid, uuid="", numMultiprocessors=1)
    _, report, said = read(program, two_processes)
    tap.ok(report and [device["device"] for device in report["gpu"]["devices"]] == [0, 3] and
           report["launches"]["linked_count"] == 8,
           "two processes with the same numbers keep their devices and launches apart", said)

    def graph(made):
        made.export.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=5_000_000, end=5_500_000, deviceId=0, streamId=7,
                        correlationId=99, globalPid=make_nsys.global_tid(PID, 0), graphId=12)
    _, report, said = read(program, graph)
    tap.ok(report and report["gpu"]["busy_us"] == 2500, "a graph that was recorded whole is work of the device", said)
    whole = report and report["gpu"]["whole_graphs"]
    tap.ok(report and (whole["count"], whole["total_dur_us"], whole["names"][0]["name"]) ==
           (1, 500, "CUDA graph 12 (recorded whole)") and
           [row["name"] for row in report["gpu"]["unnamed_family"]["names"]] == ["a_kernel"] and
           "graphs-recorded-whole" in [finding["rule_id"] for finding in report["findings"]],
           "and is told as one, not as a kernel of an odd name", said)

    def modules(made):
        thread = make_nsys.global_tid(PID, TID)
        for i in range(4):
            made.export.add("NVTX_EVENTS", start=1_000_000 * i + 50_000, end=1_000_000 * i + 800_000, eventType=59,
                            text="{'Module': 'model.layers.0', 'x': 1}", globalTid=thread)
    _, report, said = read(program, modules)
    tap.ok(report and report["modules"], "ranges of a hook on modules are modules", said)


def odd_times(made):
    made.kernel(-5_000_000, -4_900_000, 50)
    made.kernel(9_000_000, 8_000_000, 51)
    made.kernel(-2**63, 2**63 - 1, 52)
    made.kernel("soon", 10_000_000, 53)
    made.kernel(9_500_000, "later", 54)
    made.kernel(9_600_000, 9_700_000, 55, name=999_999)
    made.kernel(9_700_000, 9_800_000, "x", deviceId="y", streamId=2**62)


def check_odd(tap, program):
    code, report, said = read(program, odd_times)
    tap.ok(report and {"name-missing"} <= warned(report), "odd times and names are counted, not hidden",
           f"{code} {said} {report and sorted(warned(report))}")
    tap.ok(report and report["gpu"]["kernel"]["count"] >= 4, "and leave the sound rows", said)

    def views(made):
        made.base.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO hidden")
        made.base.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM hidden")
    _, report, said = read(program, views)
    tap.ok(report and not report["gpu"], "a view in the place of a table is not read", said)

    advice = [row["action"] for row in report["findings"] if row["rule_id"] == "gpu-rows-missing"] if report else []
    tap.ok(len(advice) == 1 and "nsys profile" in advice[0] and "ProfilerActivity" not in json.dumps(report["verdict"]),
           "what to record is said in the words of this recorder", str(advice))

    def generated(made):
        made.base.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO hidden")
        made.base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER AS (start + "
                          "length(hex(zeroblob(1000000)))), deviceId INTEGER, streamId INTEGER)")
        made.base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 0, 7)")
    _, report, said = read(program, generated)
    tap.ok(report is not None, "a computed column is not computed", said)

    def triggers(made):
        made.base.execute("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM NVTX_EVENTS; END")
    _, report, said = read(program, triggers)
    tap.ok(report and report["steps"]["count"] == 4, "a trigger does nothing", said)

    def huge(made):
        made.kernel(9_000_000, 9_100_000, 60, name=made.export.string("n" * 3_000_000))
    code, report, said = read(program, huge)
    tap.ok(code in (0, 3) and (report or said), "a name of 3 MB ends nothing", f"{code} {said}")

    def hostile_names(made):
        name = '"}],"traceEvents":[{"ph":"X"\x1b[31m\x00\n</script>'
        made.kernel(9_000_000, 9_100_000, 60, name=made.export.string(name))
    code, report, said = read(program, hostile_names)
    tap.ok(report and report["gpu"]["kernel"]["count"] == 5 and "traceEvents" in json.dumps(report),
           "a name that looks like JSON is a name", said)


# ---- what is no export, or no longer a sound one

def refused(program, data, name="odd.sqlite"):
    path = program.folder / name
    path.write_bytes(data)
    return program.report(path)


def check_refused(tap, program, sound):
    page = int.from_bytes(sound[16:18], "big")
    cases = {"the header alone": sound[:100], "half of the file": sound[:len(sound) // 2 // page * page],
             "zeros behind the header": sound[:100] + bytes(len(sound) - 100),
             "noise behind the header": sound[:100] + random.Random(7).randbytes(len(sound) - 100),
             "a page size of 3": sound[:16] + b"\x00\x03" + sound[18:]}
    for claim, data in cases.items():
        code, report, said = refused(program, data)
        tap.ok(code in (0, 3) and (report is not None or "SQLite" in said), f"{claim}: refused, or read with a warning",
               f"{code} {said}")
    other = program.folder / "other.sqlite"
    other.unlink(missing_ok=True)
    base = sqlite3.connect(other)
    base.execute("CREATE TABLE songs (title TEXT)")
    base.commit()
    base.close()
    code, report, said = program.report(other)
    tap.ok(code == 3 and "no export of Nsight Systems" in said, "another database is told from an export",
           f"{code} {said}")
    done = program.run("--cpu-trace", "-", input=sound)
    tap.ok(done.returncode == 3 and b"pipe" in done.stderr, "an export in a pipe is refused with what to do", done.stderr)
    with open(program.folder / "made.sqlite", "rb") as file:
        done = program.run("--cpu-trace", "-", stdin=file)
    tap.ok(done.returncode == 0, "an export that is standard input is read", done.stderr)
    code, report, said = program.report(program.folder / "made.sqlite", "--memory-json", program.folder / "made.sqlite")
    tap.ok(code == 3 and "snapshot" in said, "and is no snapshot", f"{code} {said}")


def check_damage(tap, program, sound, count):
    """Bytes that are changed anywhere: the program ends by itself, with a report or a sentence."""
    random_of, bad = random.Random(11), []
    for i in range(count):
        data = bytearray(sound)
        for _ in range(random_of.choice((1, 3, 40))):
            data[random_of.randrange(16, len(data))] = random_of.randrange(256)
        code, report, said = refused(program, bytes(data))
        if code not in (0, 3) or (report is None and not said):
            bad.append(f"change {i}: {code} {said[:300]}")
    tap.check(f"{count} damaged exports end with a report or a sentence", bad)


def pages_in_a_circle(sound):
    """An inner page of a table whose children are all itself's parent: rows without end."""
    page = int.from_bytes(sound[16:18], "big")
    data = bytearray(sound)
    for at in range(page, len(data), page):
        if data[at] == 5:  # an inner page of a table: its last child becomes the page itself
            data[at + 8:at + 12] = (at // page + 1).to_bytes(4, "big")
    return bytes(data)


def check_circle(tap, program):
    made = Made(program.folder / "large.sqlite")
    for i in range(4000):
        made.kernel(10_000_000 + i * 10, 10_000_005 + i * 10, 100 + i)
    sound = made.done().read_bytes()
    code, report, said = refused(program, pages_in_a_circle(sound))
    tap.ok(code in (0, 3) and (report is not None or said), "pages that hold themselves come to an end", f"{code} {said}")

    def tables(made):
        made.base.execute("PRAGMA writable_schema = ON")
        made.base.executemany("INSERT INTO sqlite_master VALUES ('table', ?, ?, 2, ?)",
                              ((f"t{i}", f"t{i}", f"CREATE TABLE t{i} (a)") for i in range(60_000)))
    code, report, said = read(program, tables)
    tap.ok(code == 3 and "tables" in said, "60,000 tables are refused", f"{code} {said}")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--thorough", action="store_true")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(args.program, folder)
        made = Made(program.folder / "made.sqlite")
        code, _, said = program.report(made.done())
        if code and "built without SQLite" in said:
            tap.ok("libsqlite3" in said, "without SQLite the program says what is missing", said)
            tap.skip("the rest", "the program was built without SQLite")
            return tap.done()
        check_same(tap, program)
        check_secrets(tap, program)
        check_rows(tap, program)
        check_odd(tap, program)
        sound = Made(program.folder / "made.sqlite").done().read_bytes()
        check_refused(tap, program, sound)
        check_damage(tap, program, sound, 600 if args.thorough else 60)
        check_circle(tap, program)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
