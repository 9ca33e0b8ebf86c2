#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What leaves the program when names must not: --redact, --slice, and what it says of recording again and of its options.

A trace and a snapshot hold a secret word in each kind of field that a file can have; no output may contain it.
usage: privacy.py --program PATH
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from program import ROOT, parser_of, unpacked
from tap import Tap

SECRET = "zqsecret"

PARSER = parser_of(__doc__)
PARSER.add_argument("--thorough", action="store_true", help="all scenarios")
ARGUMENTS = PARSER.parse_args()
PROGRAM = str(ARGUMENTS.program.resolve())
STRIDE = 1 if ARGUMENTS.thorough else 10 # of the scenarios, which are alike
TAP = Tap()
ok, skip = TAP.ok, TAP.skip


def run(*args, cwd=None, expected=0):
    done = subprocess.run([PROGRAM, *map(str, args)], cwd=cwd, capture_output=True, timeout=300)
    if done.returncode != expected:
        ok(False, f"{args}: exit code {done.returncode}", done.stderr.decode(errors="replace"))
    return done


def report(*args, cwd=None):
    return json.loads(run(*args, "--quiet", "--md-out", os.devnull, "--json-out", "-", cwd=cwd).stdout)


# ---- the planted word -------------------------------------------------------------------------------------------------

def name(where):
    """A word of its own for each place, so that a leak tells where it came from."""
    return f"{SECRET}_{where}"


def op(cat, title, ts, dur, tid=7, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": title, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def step_events(base, number):
    home = f"/home/{name('user')}/{name('folder')}/train.py"
    yield op("user_annotation", f"ProfilerStep#{number}", base, 1000)
    yield op("user_annotation", f"## {name('annotation')} ##", base + 1, 900)
    yield op("python_function", f"{home}(48): {name('function')}", base + 2, 890,
             **{"Python id": 1 + 10 * number, "Python parent id": None})
    yield op("python_function", f"nn.Module: {name('Module')}_0", base + 3, 880,
             **{"Python id": 2 + 10 * number, "Python parent id": 1 + 10 * number})
    yield op("python_function", f"{name('windows')}\\x.py(3): f", base + 4, 870)
    yield op("cpu_op", f"{name('namespace')}::op", base + 10, 200, **{
        "External id": 100 * number + 1, "Input Dims": [[4, 8]], "Input type": [name("type")],
        "Concrete Inputs": [name("concrete")], name("key"): {name("inner_key"): [name("value"), {"x": name("deep")}]}})
    yield op("cpu_op", "aten::item", base + 220, 300, **{"External id": 100 * number + 2})
    yield op("cuda_runtime", "cudaStreamSynchronize", base + 230, 280, correlation=1000 * number + 9,
             **{"External id": 100 * number + 2})
    yield op("cuda_runtime", "cudaLaunchKernel", base + 20, 20, correlation=1000 * number + 1,
             **{"External id": 100 * number + 1})
    kernel = f"void {name('kernel')}<at::native::Add<{name('functor')}>>::run(float)"
    yield op("kernel", kernel, base + 60, 300, tid=20, pid=0, device=0, stream=20, correlation=1000 * number + 1,
             **{"External id": 100 * number + 1})
    yield op("kernel", f"at::native::k<float, {name('argument')}>", base + 370, 50, tid=20, pid=0, device=0, stream=20,
             correlation=1000 * number + 2)
    yield op("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", base + 450, 100, tid=21, pid=0, device=0,
             stream=21,
             correlation=1000 * number + 3, **{"Collective name": name("collective"), "Process Group Name": name("group"),
                                               "Process Group Description": name("description"), "dtype": name("dtype"),
                                               "Process Group Ranks": name("ranks"), "In msg nelems": 4,
                                               "Out msg nelems": 4, "Group size": 2})
    yield op("cpu_op", f"{name('Function')}Backward", base + 600, 100, **{"Sequence number": number, "Fwd thread id": 1})
    yield op(name("category"), name("of_category"), base + 710, 10)
    yield {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 7, "ts": base + 100, "s": "t",
           "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 * number, "Bytes": 1048576,
                    "Total Allocated": 1048576 * (number + 1),
                    "Total Reserved": 8388608, name("memory_key"): name("memory_value")}}
    yield {"ph": "s", "cat": name("flow"), "name": name("flow_name"), "pid": 1, "tid": 7, "ts": base + 21,
           "id": name("flow_id")}
    yield {"ph": "B", "cat": "cpu_op", "name": name("begin"), "pid": name("pid"), "tid": name("tid"), "ts": base + 5}
    yield {"ph": "E", "pid": name("pid"), "tid": name("tid"), "ts": base + 15}


def trace():
    events = [{"ph": "M", "name": kind, "pid": 1, "tid": 7, "ts": 0, "args": {key: name(kind)}}
              for kind, key in (("process_name", "name"), ("process_labels", "labels"), ("thread_name", "name"))]
    events += [{"ph": "M", "name": name("metadata"), "pid": 1, "tid": 7, "ts": 0, "args": {"name": "x"}},
               {"ph": "B", "cat": "cpu_op", "name": name("never_ended"), "pid": name("pid"), "tid": name("tid"),
                "ts": 100001}]
    for number in range(6):
        events += step_events(100000 + 1000 * number, number)
    return {"schemaVersion": 1, "traceName": f"/tmp/{name('trace_name')}.json", "displayTimeUnit": name("unit"),
            name("member"): name("in_member"),
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 1 << 35, "numSms": 108,
                                  name("property"): name("of_device")}],
            "distributedInfo": {"backend": name("backend"), "rank": 0, "world_size": 2,
                                "pg_config": [{"pg_name": name("pg"), "pg_desc": name("pg_desc")}],
                                name("info"): name("host") + ".example.org"},
            "traceEvents": events}


def odd_trace_text():
    """The same word behind escapes, in events that have to be written anew, and in broken ones."""
    escaped = "".join(f"\\u{ord(c):04x}" for c in SECRET)
    return (json.dumps(trace())[:-2] +
            f', {{"ph": "X", "cat": "cpu_op", "name": "{escaped}_escaped", "pid": 1, "tid": 7, "ts": 100100, "dur": 5, '
            f'"args": {{"{escaped}": "{escaped}"}}}}'
            f', {{"ph": "X", "cat": "cpu_op", "name": "{SECRET}_rewritten", "pid": "{SECRET}_p", "tid": 7, "ts": '
            f'100100, "dur": 5, '
            f'"args": {{"x": NaN, "name": "{SECRET}_n", "labels": "{SECRET}_l"}}}}'
            f', {{"ph": "X", "cat": "{SECRET}\u00e9", "name": "{SECRET}\u00e9\u4e2d", "pid": 1, "tid": 7, "ts": '
            f'100100, "dur": 5}}'
            f', {{"ph": "X", "name": "{SECRET}_broken", "ts": "x"}}]}}')


def frames(where):
    return [{"filename": f"/srv/{name('server')}/{name(where)}.py", "line": 12, "name": name("caller")},
            {"filename": "??", "line": 0, "name": f"{name('native')}::f()"}]


def snapshot():
    entries, live = [], []
    for i in range(60):
        entries.append({"action": "alloc", "addr": 0x7f0000000000 + i * 2097152, "size": 2097152, "stream": 0,
                        "time_us": 1000000 + i * 10,
                        "frames": frames(f"line{i % 5}"), "user_metadata": name("user_metadata"),
                        "compile_context": name("compile_context")})
        live.append({"address": 0x7f0000000000 + i * 2097152, "size": 2097152, "requested_size": 2000000,
                     "state": "active_allocated",
                     "frames": frames(f"line{i % 5}")})
    entries.append({"action": name("action"), "addr": 1, "size": 1, "stream": 0, "time_us": 1000700})
    entries.append({"action": "oom", "device_free": 1024, "size": 1 << 33, "stream": 0, "time_us": 1000800,
                    "frames": frames("failing")})
    segment = {"device": 0, "address": 0x7f0000000000, "total_size": 60 * 2097152, "allocated_size": 60 * 2097152,
               "active_size": 60 * 2097152,
               "requested_size": 60 * 2000000, "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0],
               "is_expandable": False,
               "frames": frames("segment"), "blocks": live}
    odd = {"device": name("device"), "address": name("address"), "total_size": 1048576, "allocated_size": 0,
           "active_size": 0,
           "requested_size": 0, "stream": 0, "segment_type": name("segment_type"), "blocks": []}
    return {"segments": [segment, odd], "device_traces": [entries],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": f"max_split_size_mb:128,{name('setting')}:{name('of_setting')}",
                "expandable_segments": False},
            "external_annotations": [{"name": f"## {name('note')} ##", "stage": stage, "device": 0, "time_us": time}
                                     for stage, time in (("START", 1000000), ("END", 1000900), (name("stage"), 1000950))],
            name("snapshot_member"): name("in_snapshot")}


def texts_of(folder):
    for path in sorted(folder.iterdir()):
        yield path.name, unpacked(path)


def leaks(data):
    """Also what JSON has escaped: é is, the word itself is ASCII."""
    return sorted(set(re.findall(rb"[^\s\"']{0,20}" + SECRET.encode() + rb"\w{0,30}", data, re.IGNORECASE)))[:5]


def test_redaction(folder):
    inputs, out = folder / name("input_folder"), folder / "out"
    inputs.mkdir()
    out.mkdir()
    trace_path, odd_path, snapshot_path = (inputs / f"{name(kind)}.json" for kind in ("trace", "odd", "snapshot"))
    trace_path.write_text(json.dumps(trace()))
    odd_path.write_text(odd_trace_text())
    snapshot_path.write_text(json.dumps(snapshot()))
    old = inputs / f"{name('old')}.json"
    run(trace_path, snapshot_path, "--md-out", os.devnull, "--json-out", old, "--quiet")
    ok(SECRET in old.read_text(), "without --redact the report has the names")
    rubric = inputs / f"{name('rubric')}.md"
    rubric.write_text((ROOT / "references" / "interpretation.md").read_text())
    for title, path, more in (("trace", trace_path, []), ("odd trace", odd_path, ["--trace-all", "--top-n", "0"])):
        for baseline in (old, trace_path):
            text = f"{title} against a {'report' if baseline is old else 'trace'}"
            for used in out.iterdir():
                used.unlink()
            done = run("--cpu-trace", path, "--memory-json", snapshot_path, "--redact", "--baseline", baseline, "--rubric",
                       rubric,
                       "--md-out", out / "r.md", "--json-out", out / "r.json", "--trace-out", out / "t.json.gz",
                       "--folded-out", out / "f.txt",
                       "--slice", "0:3ms", "--slice-out", out / "s.json", "--fail-on", "steps.p50_us > 1000s",
                       "--junit-out", out / "j.xml",
                       "--html-out", out / "r.html", "--github-annotations", "--context", "job=kept", "--quiet", *more)
            found = {name_: leaks(data) for name_, data in [*texts_of(out), ("standard error", done.stderr),
                                                            ("standard output", done.stdout)]
                     if leaks(data)}
            ok(not found and len(list(out.iterdir())) == 7, f"{text}: no output has a planted word", found)
    longer = trace()
    for event in longer["traceEvents"]:
        event["dur"] = 2 * event.get("dur", 0)
    longer_path = inputs / "longer.json"
    longer_path.write_text(json.dumps(longer))
    told = report("--cpu-trace", trace_path, "--baseline", longer_path, "--redact", "--top-n", "0")["comparison"]
    changes = {row["change"] for part in ("host_operators", "kernels") for row in told[part]["rows"]}
    ok(changes and not changes & {"new", "gone"}, "a name has one hash in a run and in what it is compared with", changes)
    asked = [["--format", "text"], ["--summary-tokens", "2000"], ["--table", "findings"],
             ["--table", "operators", "--limit", "0"],
             ["--table", "kernels", "--format", "csv"], ["--table", "allocations", "--format", "json"],
             ["--table", "operators.top"],
             ["--around", "row:0"], ["--around", "row:3", "--format", "json"], ["--around", "step:0"],
             ["--around", "operators.top[0]"]]
    for question in asked:
        done = run("--cpu-trace", trace_path, "--memory-json", snapshot_path, "--redact", "--quiet", *question)
        ok(len(done.stdout) > 20 and not leaks(done.stdout) and not leaks(done.stderr),
           f"{' '.join(question)}: no answer has a planted word",
           [done.stdout[:300], leaks(done.stdout)])
    done = run("--series", f"8={trace_path}", f"16={trace_path}", "--redact", "--md-out", "-", "--json-out",
               out / "series.json", "--quiet")
    ok(not leaks(done.stdout) and not leaks((out / "series.json").read_bytes()), "a series: no output has a planted word",
       leaks(done.stdout))
    redacted = json.loads((out / "r.json").read_text())
    ok(redacted["context"] == {"job": "kept"}, "labels of the user's stay")
    ok(redacted["trace"]["devices"][0]["name"] == "NVIDIA A100-SXM4-40GB", "names of devices stay")
    text = (out / "r.json").read_text()
    ok('"aten::item"' in text and "cudaStreamSynchronize" in text and "ProfilerStep" in text,
       "names of public libraries stay")
    ok(re.search(r'"path-[0-9a-f]{16}\(48\): name-[0-9a-f]{16}"', text) is not None, "frames keep their form", text[:500])
    return trace_path, snapshot_path


def figures(value):
    """All numbers and truth values of a report, in order."""
    if isinstance(value, dict):
        return [figure for inner in value.values() for figure in figures(inner)]
    if isinstance(value, list):
        return [figure for inner in value for figure in figures(inner)]
    return [] if isinstance(value, str) else [value]


def test_same_figures():
    """Redaction is behind the analysis: it changes names alone."""
    for case in ("traces/training_step_cuda.json.gz", "traces/python_stacks.json", "recorded/training_step_cpu.json.gz",
                 "traces/rocm.json",
                 "snapshots/churn.json", "snapshots/oom.json.gz", "traces/hostile_names.json"):
        path = ROOT / "fixtures" / case
        plain, redacted = report(path), report(path, "--redact")
        ids = [[finding["rule_id"] for finding in of["findings"]] for of in (plain, redacted)]
        ok(figures(plain) == figures(redacted) and ids[0] == ids[1], f"{case}: the same figures and findings with --redact",
           [pair for pair in zip(figures(plain), figures(redacted)) if pair[0] != pair[1]][:5])
    validate(report(ROOT / "fixtures/traces/training_step_cuda.json.gz", ROOT / "fixtures/snapshots/oom.json.gz",
                    "--redact"), "redacted report")


def validate(document, title):
    try:
        import jsonschema
    except ImportError:
        skip(f"{title}: follows the schema", "no jsonschema (Debian: python3-jsonschema)")
        return
    schema = json.loads((ROOT / "references" / "report-schema.json").read_text())
    errors = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
    ok(not errors, f"{title}: follows the schema", errors[:5])


def test_stable(folder, trace_path):
    key = folder / "key"
    key.write_bytes(bytes(range(16)))
    keyed = ["--redact", "--redact-key", key]
    first = report(trace_path, *keyed)
    copy = folder / "copy.json"
    run(trace_path, *keyed, "--slice", "0:1s", "--slice-out", copy, "--md-out", os.devnull, "--quiet")
    again, twice = report(copy), report(copy, *keyed)
    names = [{row["name"] for row in of["cpu"]["operators_by_self"]} for of in (first, again, twice)]
    # what begins and never ends has an end in the copy
    ok(names[0] and names[0] <= names[1] == names[2], "the same name gives the same hash, and a hash stays itself", names)
    drawn = {row["name"] for row in report(trace_path, "--redact")["cpu"]["operators_by_self"]}
    ok(drawn & names[0] == {name for name in names[0] if "-" not in name}, "without a key each run hashes otherwise",
       drawn & names[0])
    short = folder / "short"
    short.write_bytes(b"x" * 15)
    run(trace_path, "--redact", "--redact-key", short, expected=2)
    run(trace_path, "--redact-key", key, expected=2)
    done = run(folder / f"{SECRET}.json", "--redact", expected=3)
    ok(done.stderr and not leaks(done.stderr), "standard error names no file", done.stderr)
    found = folder / "found"
    found.mkdir()
    for name in (f"{SECRET}-1.json", f"{SECRET}-2.json"):  # neither tells its rank
        (found / name).write_bytes(trace_path.read_bytes())
    done = run(found, "--redact", expected=2)
    ok(b"rank" in done.stderr and not leaks(done.stderr), "nor one that was found in a folder", done.stderr)
    done = run("--memory-pickle", folder / f"{SECRET}.pickle", "--redact", expected=3)
    ok(b"pickle" in done.stderr and not leaks(done.stderr), "nor one that is never loaded", done.stderr)
    done = run(trace_path, "--redact", "--md-out", folder / SECRET / "r.md", expected=4)
    ok(done.stderr and not leaks(done.stderr), "of outputs neither", done.stderr)


# ---- slices -----------------------------------------------------------------------------------------------------------

def codes(of):
    return {warning["code"] for warning in of["warnings"]}


def test_slices(folder):
    for case in ("traces/training_step_cuda.json.gz", "traces/sync_heavy.json", "traces/legacy_autograd_array.json",
                 "traces/begin_end_pairs.json",
                 "traces/kineto_2021.json", "traces/python_stacks.json", "recorded/training_step_cpu.json.gz"):
        path = ROOT / "fixtures" / case
        whole = report(path)
        window_us = whole["trace"]["window_us"]
        for redact in ([], ["--redact"]):
            out = folder / "slice.json"
            run(path, "--slice", f"{window_us * 0.25:.3f}:{window_us * 0.75:.3f}us", "--slice-out", out, "--md-out",
                os.devnull, "--quiet", *redact)
            part = report(out)
            document = json.loads(out.read_text())
            stretch = part["trace"]["slice"] or {"start_us": 0, "end_us": 0}
            ok(codes(part) <= codes(whole) and 0 < part["trace"]["events"]["total"] <= whole["trace"]["events"]["total"],
               f"{case} {' '.join(redact)}: half of it is a sound trace",
               (codes(part) - codes(whole), part["trace"]["events"], whole["trace"]["events"]["total"]))
            ok(document["analyze_profile"]["slice_end_us"] == stretch["end_us"]
               and abs(stretch["end_us"] - stretch["start_us"] - window_us / 2) < 1
               and part["trace"]["window_us"] <= window_us / 2 + 1,
               "it says which stretch it is, and is analyzed as that: rows that reach beyond it make no time idle",
               (stretch, part["trace"]["window_us"], window_us))
            out.unlink()


def durations(path):
    document = json.loads(unpacked(path))
    events = document if isinstance(document, list) else document["traceEvents"]
    return [(float(event["ts"]), float(event["dur"])) for event in events if event.get("ph") == "X"
            and event.get("cat") != "Trace"]


def test_slice_times(folder):
    path, out = ROOT / "fixtures/traces/training_step_cuda.json.gz", folder / "slice.json.gz"
    whole = report(path)
    start = min(ts for ts, _ in durations(path))
    for text, first, last in (("10ms:30ms", 10000, 30000), ("0.01s:30000", 10000, 30000), (":5ms", 0, 5000),
                              (f"{start + 10000}:{start + 30000}", 10000, 30000)):
        run(path, "--slice", text, "--slice-out", out, "--md-out", os.devnull, "--quiet")
        kept, all_of = durations(out), durations(path)
        expected = [(ts, dur) for ts, dur in all_of if ts + dur >= start + first and ts <= start + last]
        ok(len(kept) == len(expected), f"--slice {text}: what meets the stretch, and nothing else",
           (len(kept), len(expected), len(all_of), start))
    finding = next(number for number, finding in enumerate(whole["findings"], 1) if finding["places"])
    place = whole["findings"][finding - 1]["places"][0]
    rule = whole["findings"][finding - 1]["rule_id"]
    for text in (f"finding:{finding}", f"findings[{finding - 1}]", f"finding:{rule}", rule):
        run(path, "--slice", text, "--slice-out", out, "--md-out", os.devnull, "--quiet")
        kept = durations(out)
        ok(any(ts == place["start_us"] and dur == place["dur_us"] for ts, dur in kept) and len(kept) < len(durations(path)),
           f"--slice {text}: its place is in it", (place, len(kept)))


def test_refusals():
    path = ROOT / "fixtures/traces/training_step_cuda.json.gz"
    snapshot_path = ROOT / "fixtures/snapshots/churn.json"
    cases = [(["--slice", "1:2"], "go together"), (["--slice-out", "x.json"], "go together"),
             (["--slice", "2:1", "--slice-out", "x.json"], "START:END"),
             (["--slice", "1", "--slice-out", "x.json"], "START:END"),
             (["--slice", ":", "--slice-out", "x.json"], "START:END"),
             (["--slice", "1x:2", "--slice-out", "x.json"], "START:END"),
             (["--slice", "-1:2", "--slice-out", "x.json"], "START:END"),
             (["--slice", "1:99999999999999999999s", "--slice-out", "x.json"], "START:END"),
             (["--slice", "finding:", "--slice-out", "x.json"], "START:END"),
             (["--slice", "finding:no-such-rule", "--slice-out", "x.json"], "no such finding"),
             (["--slice", "Rule", "--slice-out", "x.json"], "START:END"),
             (["--slice", "finding:9999", "--slice-out", "x.json"], "no such finding"),
             (["--slice", "finding:missing-stacks", "--slice-out", "x.json"], "no place"),
             (["--slice", "3000s:4000s", "--slice-out", "x.json"], "ends before"),
             (["--completion", "csh"], "bash, zsh or fish")]
    with tempfile.TemporaryDirectory() as folder:
        for args, words in cases:
            done = run(path, *args, "--quiet", "--md-out", "r.md", cwd=folder, expected=2)
            ok(words in done.stderr.decode() and not os.listdir(folder), f"{' '.join(args)}: refused, nothing written",
               done.stderr)
        done = run(snapshot_path, "--slice", "1:2", "--slice-out", "x.json", cwd=folder, expected=2)
        ok("cut from a trace, and none is given" in done.stderr.decode(), "--slice of a snapshot: refused", done.stderr)


# ---- what to record ---------------------------------------------------------------------------------------------------

def test_capture():
    snippet = run("--capture-snippet").stdout.decode()
    compile(snippet, "snippet", "exec")
    ok(all(word in snippet for word in ("record_shapes=", "with_stack=", "profile_memory=", "schedule(", "warmup=",
                                        'stacks="python"', "max_entries=", "json.dump")),
       "--capture-snippet has all that can be recorded")
    ok("profile_memory=True, with_stack=True" in snippet and "=False" not in snippet,
       "in a run of its own what slows the host")
    ok(re.search(r"^if torch\.cuda\.is_available\(\):\n    record_snapshot\(", snippet, re.M),
       "and a snapshot only where there is a GPU")
    texts = {"--capture-snippet": snippet, "--help": run("--help").stdout.decode()}
    texts.update({name: (ROOT / name).read_text() for name in ("README.md", "references/guide/recording.md")})
    recipe = ("schedule(wait=1, warmup=3, active=5, repeat=1)", "record_shapes=True", "prof.step()",
              '_record_memory_history(max_entries=100000, stacks="python")')
    lacking = [(name, words) for name, text in texts.items() for words in recipe if words not in text]
    ok(not lacking, "every text tells the same way to record", lacking)
    sizes, warmer = set(), 0
    for path in sorted([*(ROOT / "fixtures/traces").iterdir(), *(ROOT / "fixtures/snapshots").iterdir(),
                        ROOT / "fixtures/scenarios/cold-start/trace.json.gz",
                        *sorted((ROOT / "fixtures/scenarios").glob("*/*.json.gz"))[::STRIDE]]):
        done = subprocess.run([PROGRAM, path, "--quiet", "--md-out", os.devnull, "--json-out", "-"], capture_output=True,
                              timeout=300)
        if done.returncode:
            continue
        of = json.loads(done.stdout)
        wrong = check_capture(of)
        sizes.add(json.dumps(of["capture"], sort_keys=True))
        warmer += "wait=5" in (of["capture"] or {}).get("trace_snippet",
                                                        "") if of["capture"] and of["capture"]["trace_snippet"] else 0
        if wrong:
            ok(False, f"{path.name}: the advice fits", wrong)
    ok(report(ROOT / "fixtures/scenarios/recorder-sync-per-item/trace.json.gz")["capture"] is None,
       "no code for PyTorch where PyTorch did not record")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "host.json"
        rows = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 9}
                for ts, name in ((0, "aten::mm"), (20, "aten::record_stream"))]
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))
        ok("ProfilerActivity.CUDA" in report(path)["capture"]["trace_snippet"],
           "operators that only run with a GPU ask for its rows")
    mtia = report(ROOT / "fixtures/traces/mtia.json")["capture"]
    ok("activities" not in mtia["trace_snippet"] and not mtia["snapshot_snippet"],
       "an accelerator other than CUDA is recorded by default", mtia)
    ok(len(sizes) > 10 and warmer > 0, "advice is made for the recording at hand", (len(sizes), warmer))


def check_capture(of):
    capture = of["capture"]
    if capture is None:
        return ""
    reasons = {reason["id"] for reason in capture["reasons"]}
    code = {"trace": capture["trace_snippet"], "snapshot": capture["snapshot_snippet"]}
    for text in code.values():
        if text:
            compile(text, "snippet", "exec")
    if {reason["file"] for reason in capture["reasons"]} != {key for key, text in code.items() if text}:
        return "a snippet for each file that lacks something, and for no other"
    recorded = (of["trace"] or {}).get("recorded", {})
    for option, flag in (("record_shapes=True", "shapes"), ("with_stack=True", "stacks"), ("profile_memory=True", "memory")):
        if recorded.get(flag) and code["trace"] and option not in code["trace"]:
            return f"without {option}, which was recorded, the next report would ask for it"
    if code["trace"] and ("with_stack=True" in code["trace"]) != ("stacks" in reasons or bool(recorded.get("stacks"))):
        return "stacks asked for without a reason"
    full = max((device["entries"] for device in (of["memory"] or {}).get("replay", {}).get("devices", [])
                if device["ring_was_full"]), default=0)
    entries = int(re.search(r"max_entries=(\d+)", code["snapshot"]).group(1)) if code["snapshot"] else 0
    if full and entries <= full:
        return f"a ring of {full} was full, and {entries} are advised"
    return ""


# ---- completions ------------------------------------------------------------------------------------------------------

def option_names():
    return re.findall(r'AP_\w+\(\w+,\s*"([^"]+)"', (ROOT / "src/cli/options.def").read_text())


def test_completions(folder):
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        scripts[shell] = folder / f"completion.{shell}"
        scripts[shell].write_bytes(run("--completion", shell).stdout)
        text = scripts[shell].read_text()
        missing = [option for option in option_names() if not re.search(rf"(--|-l ){option}\b", text)]
        ok(not missing, f"{shell}: every option is completed", missing)
        if shutil.which(shell):
            done = subprocess.run([shell, "-n", scripts[shell]], capture_output=True, text=True)
            ok(done.returncode == 0 and not done.stderr, f"{shell}: takes the script", done.stderr)
        else:
            skip(f"{shell}: takes the script", f"NOT CHECKED: there is no {shell}")
    if shutil.which("bash"):
        test_bash(folder, scripts["bash"])
    if shutil.which("fish"):
        test_fish(folder, scripts["fish"])


SERVER_OPTIONS = {"--root", "--redact", "--redact-key", "--max-memory", "--max-seconds", "--max-depth", "--threads",
                  "--no-sandbox"}


def complete(script, folder, *words):
    line = f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _analyze_profile 2>&1; ' \
           f'printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", line, "bash", script, "analyze_profile", *words], cwd=folder,
                          capture_output=True, text=True)
    return [word for word in done.stdout.splitlines() if word]


def test_bash(folder, script):
    inside = folder / "files"
    inside.mkdir()
    (inside / "a trace.json").write_text("")
    (inside / "b.json").write_text("")
    (inside / "mcp folder").mkdir()
    cases = [(["--fo"], {"--focus", "--folded-out", "--format"}), (["--focus", ""], {"cpu", "gpu", "memory", "io"}),
             (["--focus", "=", "g"], {"gpu"}),
             (["--focus", "="], {"cpu", "gpu", "memory", "io"}), (["--phase", "back"], {"backward"}),
             (["--completion", "z"], {"zsh"}),
             (["a"], {"a trace.json"}), (["--json-out", ""], {"a trace.json", "b.json", "mcp folder"}),
             (["--top-n", ""], set()),
             (["--redact", "--sli"], {"--slice", "--slice-out"}), (["--format", "c"], {"csv"}),
             (["--table", "st"], {"steps"}),
             (["--pictures-out", ""], {"mcp folder"}), (["m"], {"mcp", "mcp folder"}), (["b.json", "m"], {"mcp folder"}),
             (["--roo"], set()),
             (["mcp", ""], SERVER_OPTIONS), (["mcp", "--ma"], {"--max-memory", "--max-seconds", "--max-depth"}),
             (["mcp", "--json"], set()),
             (["mcp", "--root", ""], {"mcp folder"}), (["mcp", "--threads", "="], {"1", "2", "4", "8", "16"}),
             (["mcp", "--root", "x", "--ro"], {"--root"})]
    for words, expected in cases:
        found = complete(script, inside, *words)
        ok(set(found) == expected, f"bash: {' '.join(words)!r} is completed", found)


def test_fish(folder, script):
    """Options alone: which files fish offers is its own affair."""
    cases = [("--redact --sli", {"--slice", "--slice-out"}), ("--focus c", {"cpu"}), ("mcp --", SERVER_OPTIONS),
             ("mcp --json", set()), ("--roo", set())]
    for words, expected in cases:
        line = 'source $argv[1]; complete -C "analyze_profile $argv[2]"'
        done = subprocess.run(["fish", "--no-config", "-c", line, script, words], cwd=folder / "files", capture_output=True,
                              text=True)
        found = {answer.split("\t")[0] for answer in done.stdout.splitlines()}
        ok(found == expected, f"fish: {words!r} is completed", f"{found} {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        trace_path, _ = test_redaction(folder)
        test_same_figures()
        test_stable(folder, trace_path)
        test_slices(folder)
        test_slice_times(folder)
        test_refusals()
        test_capture()
        test_completions(folder)
    sys.exit(TAP.done())


main()
