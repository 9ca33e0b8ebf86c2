#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of many ranks: which files they have, and that no file is left out in silence. Prints TAP."""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import load_validator
from program import ROOT, Program, program_of
from tap import Tap

TRACES = ROOT / "fixtures" / "traces"
SMALL = TRACES / "gpu_only.json"


def write_ranks(folder, names):
    for name in names:
        shutil.copy(SMALL, folder / name)


def check_files(tap, program, folder):
    write_ranks(folder, ["rank0.json", "rank1.json"])
    report = program.json(folder)
    files = report["cluster"]["files"]
    tap.same([file["rank"] for file in files], [0, 1], "the traces of a folder are a run")
    complaints = load_validator(ROOT / "references" / "report-schema.json")
    if complaints:
        tap.check("its report keeps to the schema", complaints(json.dumps(report)))
    by_options = program.json("--cpu-trace", folder / "rank0.json", "--cpu-trace", folder / "rank1.json")
    tap.same(by_options["cluster"], report["cluster"], "so are several traces of --cpu-trace: none is lost")
    alike = [program.run(folder, "--format", "json", "--jobs", jobs).stdout for jobs in (1, 4)]
    tap.ok(alike[0] == alike[1], "--jobs does not change the report")
    (folder / "notes.txt").write_text("not a trace")
    whys = {Path(file["path"]).name: file["why_not"] for file in program.json(folder)["cluster"]["files"]}
    tap.ok(whys["notes.txt"], "what is no input of the run is listed, with the reason", whys)


def check_rest(tap, program, folder):
    write_ranks(folder, ["rank0.json"])
    for name in ("notes.txt", "config.json"):
        (folder / name).write_text("{}")
    report = program.json(folder)
    told = [warning for warning in report["warnings"] if warning["code"] == "files-not-read"]
    tap.ok(len(told) == 1 and told[0]["count"] == 2 and told[0]["message"].endswith(": config.json, notes.txt"),
           "what a folder of one trace holds beside it is named", str(report["warnings"]))
    named = program.json(folder / "rank0.json")
    tap.ok("files-not-read" not in str(named["warnings"]), "nothing is beside a file that is named")


def check_shut(tap, program, folder):
    """Nobody knows of what cannot be opened that it is no input."""
    write_ranks(folder, ["rank0.json"])
    (folder / "rank1.json").symlink_to("nowhere")
    told = program.json(folder)["warnings"]
    tap.same([(row["code"], row["severity"], row["count"], row["message"].rpartition(": ")[2]) for row in told],
             [("files-not-opened", "loss", 1, "rank1.json")], "a file that cannot be opened is a loss")
    done = program.run(folder, "--strict")
    tap.ok(done.returncode == 3 and b"files-not-opened" in done.stderr, "which --strict refuses", done)
    (folder / "rank0.json").unlink()
    done = program.run(folder)
    tap.ok(done.returncode == 3 and b"among the 1 files, 1 of which cannot be opened" in done.stderr,
           "and where nothing else is there, that is told", done)


def check_pickles(tap, program, folder):
    """What PyTorch writes when a collective runs into its timeout: the answer is how to make JSON of it."""
    (folder / "notes.txt").write_text("not a trace")
    for rank in range(2):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(b"\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]q\x02u.")
    done = program.run(folder)
    tap.ok(done.returncode == 3 and b"none of the 3 files" in done.stderr and b"import json, pickle\n" in done.stderr,
           "a folder of pickled dumps is refused with the lines that make JSON", done.stderr)


def check_ranks(tap, program, folder):
    write_ranks(folder, ["node-a-gpu-4.x.json", "node-a-gpu-5.x.json"])
    files = program.json(folder, "--rank-regex", "gpu-([0-9]+)")["cluster"]["files"]
    tap.same([file["rank"] for file in files], [4, 5], "--rank-regex tells the rank")
    done = program.run(folder, "--rank-regex", "gpu")
    tap.ok(done.returncode == 2 and b"--rank-regex" in done.stderr, "an expression without a group is refused", done.stderr)
    done = program.run(folder, "--rank-regex", "(([0-9]{1,200}){1,200}){1,200}")
    tap.ok(done.returncode == 2 and b"written out" in done.stderr, "one that would take all memory, too", done.stderr)
    done = program.run(folder, "--rank-regex", "node-(x)")
    tap.ok(done.returncode == 2 and b"baseline" in done.stderr, "traces without ranks are no run", done.stderr)


def check_one(tap, program, folder):
    shutil.copy(SMALL, folder / "trace.json")
    one, alone = program.json(folder), program.json(folder / "trace.json")
    tap.ok(one == alone, "a folder with one trace is that trace")
    tap.same(program.run(folder, "-").returncode, 2, "standard input is no file of a run")
    empty = folder / "empty"
    empty.mkdir()
    done = program.run(empty)
    tap.same((done.returncode, done.stderr), (3, f"analyze_profile: {empty}: no file is in it\n".encode()),
             "an empty folder is refused")
    done = program.run(ROOT / "fixtures" / "cluster" / "healthy", "--table", "kernels")
    tap.ok(done.returncode == 2 and b"give one rank of the run: --rank N" in done.stderr, "rows are those of one rank",
           done.stderr.decode())
    done = program.run(ROOT / "fixtures" / "cluster" / "healthy", "--what-if", "op like * gone")
    tap.ok(done.returncode == 2 and b"--what-if: a trace is replayed for it" in done.stderr and not done.stdout,
           "what is asked of one trace is refused where there are many", str(done.stderr))
    for options, said in ((("--folded-out", folder / "folded"), b"no single one is among the files; give --memory-json"),
                          (("--slice", "1ms:2ms", "--slice-out", folder / "slice.json"), b"--slice: a slice is cut")):
        done = program.run(ROOT / "fixtures" / "cluster" / "healthy", *options)
        tap.ok(done.returncode == 2 and said in done.stderr and not done.stdout, f"so is {options[0]}", str(done.stderr))


def check_recorded(tap, program, folder):
    """What record() writes of one process: its details, in which the run is slower, are not taken for a second run."""
    (folder / "both").mkdir()
    write_ranks(folder / "both", ["trace_rank0.json", "details_rank0.json"])
    both = sorted((folder / "both").iterdir())
    alone = program.json(folder / "both" / "trace_rank0.json")
    tap.ok(alone == program.json(folder / "both") == program.json(*both), "of a trace and its details the trace is read")
    tap.same(program.json(both[0])["trace"]["path"], str(both[0]), "details are read where they are alone")


def check_xla_folder(tap, program, folder):
    """What JAX writes with create_perfetto_trace=True is one run, and the folder's name is a time of day."""
    where = folder / "2026_11_27_15_09_07"
    where.mkdir()
    rows = (ROOT / "fixtures" / "jax" / "loop-over-time.json.gz").read_bytes()
    for name in ("vm.trace.json.gz", "perfetto_trace.json.gz"):
        (where / name).write_bytes(rows)
    (where / "vm.xplane.pb").write_bytes(b"\x0a\xe5\x19\x12\x0e/host:metadata\x22\xad\x0e")
    tap.same(program.json(where)["trace"]["path"], str(where / "vm.trace.json.gz"), "of a run of JAX the trace is read")
    (where / "vm.trace.json.gz").unlink()
    tap.same(program.json(where)["trace"]["path"], str(where / "perfetto_trace.json.gz"), "its copy is where it is alone")
    (where / "perfetto_trace.json.gz").unlink()
    done = program.run(where)
    tap.ok(done.returncode and b"of the first: this is planes of XLA" in done.stderr, "planes alone are named", str(done))


def check_runs(tap, program, folder):
    """Recorded runs: who is late is told, from traces and from summaries alike, whatever the order."""
    run = ROOT / "fixtures" / "cluster" / "late-loader"
    report = program.json(run)
    tap.same((report["cluster"]["verdict"]["kind"], report["cluster"]["late"]["data_loading"]["rank"]), ("straggler", 2),
             "the rank that waits for its batches is named")
    tap.same(report["findings"][0]["rule_id"], "cluster-data-loading", "and leads the findings")
    tap.same(report["findings"][0]["affected"][0]["name"], "gloo_jobs.py(45): __getitem__, rank 2", "at the line it was in")
    (folder / "deep").mkdir()
    for path in run.glob("*.gz"):
        rows = gzip.decompress(path.read_bytes()).replace(b"gloo_jobs.py(45)", b"deep/" * 60 + b"gloo_jobs.py(45)")
        (folder / "deep" / path.name).write_bytes(gzip.compress(rows))
    tap.same(program.json(folder / "deep")["findings"][0]["affected"][0]["name"],
             "deep/" * 60 + "gloo_jobs.py(45): __getitem__, rank 2", "however long its path")
    kept = [folder / f"rank{rank}.json" for rank in range(4)]
    for rank, path in enumerate(kept):
        program.run(run / f"rank{rank}.pt.trace.json.gz", "--summary-out", path, "--md-out", folder / "ignored.md")
    merged = [program.run("--merge", *order, "--summary-out", "-", "--md-out", folder / "ignored.md").stdout
              for order in (kept, kept[::-1])]
    tap.ok(merged[0] and merged[0] == merged[1], "summaries merge to the same bytes in any order")
    both = folder / "two.json"
    program.run("--merge", *kept[2:], "--summary-out", both, "--md-out", folder / "ignored.md")
    by_tree = program.run("--merge", both, *kept[:2], "--summary-out", "-", "--md-out", folder / "ignored.md").stdout
    tap.ok(merged[0] == by_tree, "and by any tree")
    from_kept = program.json("--merge", *kept)["cluster"]
    alike = [key for key in report["cluster"] if key != "files" and report["cluster"][key] != from_kept[key]]
    tap.same(alike, [], "the report from summaries is that from the traces")
    done = program.run("--merge", run / "rank0.pt.trace.json.gz")
    tap.ok(done.returncode == 3 and b"--summary-out" in done.stderr, "--merge takes summaries alone", done.stderr)
    done = program.run(run / "rank0.pt.trace.json.gz", "--summary-out", folder / "cut.json", "--slice", "1ms:2ms",
                       "--slice-out", folder / "slice.json")
    tap.ok(done.returncode == 2 and b"--summary-out" in done.stderr and b"one after the other" in done.stderr,
           "--slice beside --summary-out is refused for what it is", done.stderr)
    one = program.json(run, "--rank", "2")
    tap.same((one["trace"]["rank"], "cluster" in one), (2, False), "--rank gives the report of one rank")
    tap.same(program.run(run, "--rank", "9").returncode, 2, "a rank that is not there is refused")
    again = program.run("--merge", *kept, both)
    tap.same(program.json("--merge", *kept, both)["cluster"]["duplicate_count"], 2, "what two summaries hold counts once")
    tap.ok(b"Files that say the same as another, left out: 2" in again.stdout, "and is told", again.stdout[:300])
    tracks = json.loads(program.run(run, "--trace-out", "-", "--md-out", folder / "ignored.md").stdout)["traceEvents"]
    tap.same({event["pid"] for event in tracks}, {0, 1, 2, 3}, "--trace-out has all ranks on one axis")


def check_losses(tap, program, folder):
    """What the trace of a rank lacks is told in the report on the run, from traces, from summaries and by helpers alike."""
    texts, source = [], ROOT / "fixtures" / "scenarios" / "pytorch-casts-anew" / "trace.json.gz"
    for rank in range(3):
        with gzip.open(source, "rt", encoding="utf-8") as stream:
            trace = json.load(stream)
        trace["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 3}
        trace = {"distributedInfo": trace.pop("distributedInfo"), **trace}
        if rank == 2:
            trace["traceEvents"].insert(5, "no event")
        texts.append(json.dumps(trace))
    texts[1] = texts[1][:len(texts[1]) * 3 // 4]
    paths = [folder / f"lossy{rank}.json" for rank in range(3)]
    for path, text in zip(paths, texts):
        path.write_text(text)
    kept = folder / "lossy.summary"
    wanted = [("input-cut", 1, "rank 1"), ("rank-losses", 1, "rank 2")]
    runs = {"traces": paths, "traces, one at a time": ["--jobs", "1", *paths]}
    program.run(*paths, "--summary-out", kept, "--md-out", folder / "ignored.md")
    runs["summaries"] = ["--merge", kept]
    for name, arguments in runs.items():
        rows = program.json(*arguments)["warnings"]
        told = [(row["code"], row["count"], row["message"].rpartition(": ")[2]) for row in rows]
        tap.same(told, wanted, f"what ranks lack is told from {name}")
    tap.ok(b"rank 1" in program.run("--strict", *paths).stderr, "--strict refuses it")
    snapshot = (ROOT / "fixtures" / "snapshots" / "churn.json").read_text()
    for rank, text in enumerate((snapshot, snapshot[:len(snapshot) * 3 // 4])):
        (folder / f"rank{rank}_snapshot.json").write_text(text)
    told = [(row["code"], row["input"], row["count"], row["message"].rpartition(": ")[2])
            for row in program.json(*(folder / f"rank{rank}_snapshot.json" for rank in range(2)))["warnings"]]
    tap.same(told, [("rank-losses", "memory-json", 1, "rank 1")], "what the snapshot of a rank lacks, too")


def check_shared(tap, program, folder):
    """No rank lags: then what two ranks do alike is told, and nothing that one of them does not."""
    def first_of(names):
        for rank, name in enumerate(names):
            with gzip.open(ROOT / "fixtures" / "scenarios" / name / "trace.json.gz", "rt", encoding="utf-8") as stream:
                trace = json.load(stream)
            trace["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
            (folder / f"rank{rank}.json").write_text(json.dumps(trace))
        report = program.json(folder)
        return [finding for finding in report["findings"] if finding["severity"] != "info"]
    found = first_of(["pytorch-casts-anew"] * 2)
    one = [row for row in program.json(folder, "--rank", "0")["findings"] if row["rule_id"] == found[0]["rule_id"]][0]
    tap.same((found[0]["saves_us"], found[0]["affected"]), (one["saves_us"], one["affected"]), "what both do leads")
    tap.ok(found[0]["observation"].startswith("on rank 0, and on rank 1 likewise: "), "and is told of both")
    rubric = folder.parent / "long.md"
    rules = (ROOT / "references" / "interpretation.md").read_text(encoding="utf-8")
    wide = "\u00e9" * 1500
    rubric.write_text(rules.replace("- Observation: casts of", f"- Observation: {wide}\n  {wide}"), encoding="utf-8")
    long = program.json(folder, "--rubric", rubric)["findings"][0]["observation"]
    rubric.unlink()
    tap.ok(len(long) < 3000 and long.endswith("\u00e9..."), "what is long is cut between characters",
           (len(long), long[-20:]))
    heading = f"### {found[0]['rule_id']}:"
    before, _, behind = rules.partition(heading)
    for most, expected in (("info", "info"), ("critical", found[0]["severity"]), ("never", None)):
        rubric.write_text(before + heading + behind.replace("\nconfidence:", f"\namong_ranks: {most}\nconfidence:", 1))
        told = [row["severity"] for row in program.json(folder, "--rubric", rubric)["findings"]
                if row["rule_id"] == found[0]["rule_id"]]
        tap.same(told, [expected] if expected else [], f"among_ranks: {most} bounds what a run is told of it")
    rubric.unlink()
    rest = first_of(["pytorch-casts-anew", "pytorch-casts-anew-healthy"])
    tap.ok(found[0]["rule_id"] not in [row["rule_id"] for row in rest], "what one of them does not is not told")


def merged(run, style):
    """The traces of a run in one file, as tools that merge write it. "numbers": processes and correlations get numbers of
    their own, each row its rank, names of processes come last, and nothing is left of the heads. "names": names of processes
    alone tell the rank. "places": ids of processes are texts with the place in brackets, correlations stay."""
    events, heads = [], {}
    for path in sorted(run.glob("*.json*")):
        if path.name == "truth.json":
            continue
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as stream:
            trace = json.load(stream)
        rank = trace["distributedInfo"]["rank"]
        heads = heads or {key: value for key, value in trace.items() if key != "traceEvents"}
        for event in trace["traceEvents"]:
            if event["ph"] == "M" and event["name"].startswith("process_"):
                continue
            args = event.setdefault("args", {})
            if style == "places":
                event["pid"] = f"[TP-{rank:02d}-EP-{rank:02d}] {event['pid']}"
            elif isinstance(event["pid"], int):
                event["pid"] += rank * 10_000_000
            if style == "numbers":
                args["rank"] = rank
                if "correlation" in args:
                    args["correlation"] += rank * 100_000_000
            events.append(event)
    if style == "names":
        for pid in sorted({event["pid"] for event in events if isinstance(event["pid"], int)}):
            events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
                           "args": {"name": f"RANK {pid // 10_000_000} - GPU"}})
    keep = {"baseTimeNanoseconds"} if style != "numbers" else set()
    return {**{key: value for key, value in heads.items() if key in keep or style == "places"}, "traceEvents": events}


def without_hosts(report):
    """What is said of a run, but for the names of hosts, which merged files have lost."""
    cluster = report["cluster"]
    late = {kind: {key: value for key, value in row.items() if key not in ("host", "ranks")}
            for kind, row in cluster["late"].items()}
    return {"kind": cluster["verdict"]["kind"], "late": late, "waiting": cluster["waiting"],
            "findings": [finding["rule_id"] for finding in report["findings"]]}


def check_merged(tap, program, folder):
    """One file with the traces of all ranks says what the folder says."""
    for cause, topology, style in (("host-stall", "dp", "numbers"), ("slow-device", "tpdp", "names"),
                                   ("dataloader", "dp", "places"), ("healthy", "dp", "numbers")):
        run, file = folder / cause, folder / f"{cause}.json"
        subprocess.run([sys.executable, ROOT / "tools" / "make_cluster", "traces", run, "--ranks", "8", "--layers", "2",
                        "--steps", "4", "--cause", cause, "--topology", topology], check=True, capture_output=True)
        (run / "truth.json").unlink()
        file.write_text(json.dumps(merged(run, style)))
        parts, whole = (without_hosts(program.json(path)) for path in (run, file))
        differ = [f"{key}: {parts[key]} {whole[key]}"[:300] for key in parts if parts[key] != whole[key]]
        tap.check(f"{cause}: the ranks in one file ({style}) are the run of the folder", differ)
    tap.same(len(program.json(file)["cluster"]["files"]), 1, "and its list of files has the one")
    kept = program.run(file, "--summary-out", "-", "--md-out", folder / "ignored.md").stdout
    tap.same(len(json.loads(kept)["ranks"]), 8, "its summary has all ranks")


def check_hang_with_traces(tap, program, folder):
    """Traces beside the dumps of a run: what the rank that the others wait for did last."""
    for path in (ROOT / "fixtures" / "flight" / "stuck").iterdir():
        if path.name != "truth.json":
            shutil.copy(path, folder)
    culprit = json.loads((ROOT / "fixtures" / "flight" / "stuck" / "truth.json").read_text())["culprit"]["ranks"]
    tap.ok("last" not in program.json(folder)["hang"], "dumps alone do not tell what a rank did last")
    for path in (ROOT / "fixtures" / "cluster" / "late-loader").glob("*.gz"):
        shutil.copy(path, folder)
    report = program.json(folder)
    last = report["hang"]["last"]
    tap.same([row["rank"] for row in last], culprit, "with traces it is told of the rank that the others wait for")
    tap.ok(all(row["operation"] and row["since_us"] is not None for row in last), "the last collective, and how long ago",
           last)
    tap.ok(b"What they did last" in program.run(folder).stdout, "in words too")
    complaints = load_validator(ROOT / "references" / "report-schema.json")
    if complaints:
        tap.check("and keeps to the schema", complaints(json.dumps(report)))


def check_dumps_by_many(tap, program, folder):
    """Dumps are read side by side, and joined in the order of their files."""
    for name in ("odd", "nccl-stage"):
        path = ROOT / "fixtures" / "flight" / name
        alike = {program.run(path, "--format", "json", "--full", "--jobs", jobs).stdout for jobs in (1, 2, 8)}
        tap.ok(len(alike) == 1 and b'"hang"' in alike.pop(), f"{name}: --jobs does not change what dumps tell")
    dumps = sorted((ROOT / "fixtures" / "flight" / "stuck").glob("*[0-9]*"))
    for path in dumps:
        text = path.read_text()
        (folder / path.name).write_text(text if path != dumps[1] else
                                        text.rstrip()[:-1] + ', "deep": ' + "[" * 20000 + "]" * 20000 + "}")
    told = [(row["code"], row["count"]) for row in program.json(folder)["warnings"]]
    tap.same(told, [("dump-unreadable", 1)], "one that nests too deep is one that cannot be read")
    heads = [program.run(ROOT / "fixtures" / "flight" / name).stdout for name in ("healthy", "stuck")]
    tap.same([[b"**No hang found**" in head, b"**Hang**" in head] for head in heads], [[True, False], [False, True]],
             "dumps in which nothing is pending are not called a hang")


def check_step(tap, program, folder):
    """The latest step beside one in the middle: each lane in order, within its step, and the planted cause the longest."""
    for name, late, spent in (("late-loader", 2, "data_loading"), ("late-pair", 1, "python"), ("more-work", 1, "operators")):
        step = program.json(ROOT / "fixtures" / "cluster" / name)["cluster"]["step"]
        lanes = {rank: [piece for piece in step["pieces"] if piece["rank"] == rank]
                 for rank in (step["late_rank"], step["other_rank"])}
        lengths = {step["late_rank"]: step["late_step_us"], step["other_rank"]: step["other_step_us"]}
        ends = {rank: [0, *(piece["start_us"] + piece["dur_us"] for piece in lane)] for rank, lane in lanes.items()}
        tap.ok(all(piece["start_us"] >= end - 0.002 for rank, lane in lanes.items() for piece, end in zip(lane, ends[rank]))
               and all(max(ends[rank]) <= lengths[rank] + 0.002 for rank in lanes), f"{name}: pieces come one by one", step)
        longest = {rank: max(lane, key=lambda piece: piece["dur_us"]) for rank, lane in lanes.items()}
        tap.same((step["late_rank"], longest[late]["spent"], longest[step["other_rank"]]["spent"]),
                 (late, spent, "communication"), f"{name}: the cause is the longest on the one, the wait on the other")
    tap.same(program.json(ROOT / "fixtures" / "cluster" / "healthy")["cluster"]["step"], None, "healthy: no step is shown")


STEP_US, STEPS = 10000, 5


def written_run(folder, rows_of, ranks, first_of=lambda rank: 1, launch_of=lambda start, number: number % 50):
    """Traces of one step after the other: rows_of(rank, step) gives (name, start in the step, duration, args) of kernels,
    first_of(rank) the number of its first step, and launch_of(start, number) when in the step a kernel is launched."""
    for rank in range(ranks):
        events = []
        for step in range(STEPS):
            base = step * STEP_US
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{first_of(rank) + step}", "pid": 1,
                           "tid": 1, "ts": base, "dur": STEP_US})
            for name, start, dur, args in rows_of(rank, step):
                number = len(events)
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                               "ts": base + launch_of(start, number), "dur": 1, "args": {"correlation": number}})
                kind = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
                events.append({"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": base + start, "dur": dur,
                               "args": {"device": 0, "stream": 7, "correlation": number, **args}})
        (folder / f"rank{rank}.json").write_text(json.dumps({
            "schemaVersion": 1, "host_name": f"host{rank}", "traceEvents": events,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}))


def check_one_way(tap, program, folder):
    """Ranks in a row send to the next and get from it; one of the ways back is slow."""
    def rows(rank, _):
        found = []
        for at, (near, far) in enumerate([(rank - 1, rank), (rank, rank + 1)]):
            for back in (False, True):
                sends = (rank == near) != back
                peer = far if rank == near else near
                if 0 <= peer < 6:
                    told = {"Collective name": "send" if sends else "recv", "Group size": 2, "dtype": "Float",
                            "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Process Group Name": f"pp{near}",
                            "Process Group Ranks": f"[{near}, {far}]", "Dst Rank" if sends else "Src Rank": peer}
                    found.append(("ncclDevKernel_SendRecv()", 1000 + 4000 * at + 2000 * back,
                                  1500 if back and near == 2 else 300, told))
        return found
    written_run(folder, rows, 6)
    link = program.json(folder)["cluster"]["link"]
    tap.same([link["group"], link["dur_us"], link["usual_us"]], ["2-3", 1500, 300],
             "a link is slow though the other way of it is not")


LONG_HOST = "gpu-node." + "a-subdomain." * 12 + "example" # as long as names of the DNS can be, and longer than most


def check_range(tap, program, folder):
    """A rank is late since its host is in a range of the user, in which nothing else was recorded."""
    told = {"Collective name": "allreduce", "Group size": 4, "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}
    for rank in range(4):
        events, late = [], 5000 if rank == 1 else 100
        for step in range(STEPS):
            base, number = step * STEP_US, {"correlation": step + 1}
            host = {"ph": "X", "pid": 1, "tid": 1}
            work = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, **number, **told}}
            events += [{**host, "cat": "user_annotation", "name": f"ProfilerStep#{step + 1}", "ts": base, "dur": STEP_US},
                       {**host, "cat": "user_annotation", "name": "load_batch", "ts": base + 10, "dur": late - 20},
                       {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": base + late, "dur": 5,
                        "args": number},
                       {**work, "name": "ncclDevKernel_AllReduce_Sum_f32()", "ts": base + late + 20, "dur": 5900 - late}]
        (folder / f"rank{rank}.json").write_text(json.dumps({
            "schemaVersion": 1, "host_name": LONG_HOST, "traceEvents": events,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}}))
    late = program.json(folder)["cluster"]["late"]["host_code"]
    tap.same((late["rank"], late["line"]), (1, "load_batch"), "the range of the user is named where no line was recorded")
    tap.same([row["name"] for row in late["ranks"]], [f"rank 1 on {LONG_HOST}"], "and the whole name of its host")


def check_sizes_alone(tap, program, folder):
    """Two groups of two, told by their size alone."""
    written_run(folder, lambda rank, step: [
        ("ncclDevKernel_AllReduce_Sum_f32()", 1000 * k, 100 + 50 * rank,
         {"Collective name": "allreduce", "Group size": 2, "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024})
        for k in range(4)], 4)
    cluster = program.json(folder)["cluster"]
    tap.same([cluster["matching"]["unmatched"]["groups"], cluster["verdict"]["kind"]], [16 * STEPS, "unknown"],
             "what more ranks did than a group has is of several groups")


def host_run(folder, operators_of, ends_of=None):
    """Traces without a device, each step ends in an all-reduce: operators_of(rank, step) gives (name, duration, args).
    With ends_of(rank), when the all-reduce ends in a step, its group is not told."""
    told = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 4,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}
    for rank in range(4):
        events = []
        for step in range(STEPS):
            rows, at = [(f"ProfilerStep#{step + 1}", "user_annotation", 0, STEP_US, {})], 10
            for name, dur, args in operators_of(rank, step):
                rows.append((name, "cpu_op", at, dur, args))
                inner = args.get("nested", ())
                rows += [(name, "cpu_op", at + 10, us, {}) for name, us in zip(inner[::2], inner[1::2])]
                at += dur
            end = ends_of(rank) if ends_of else STEP_US * 5 // 6 + 20
            rows.append(("gloo:all_reduce", "cpu_op", at + 10, end - at - 10, {} if ends_of else told))
            events += [{"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": step * STEP_US + start, "dur": dur,
                        "args": args} for name, kind, start, dur, args in rows]
        (folder / f"rank{rank}.json").write_text(json.dumps({
            "schemaVersion": 1, "host_name": "host", "traceEvents": events,
            "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 4}}))


def check_apart(tap, program, folder):
    """Without a device: more calls, larger shapes, calls that are longer, all of them or those that depend on the batch."""
    def shaped(rows):
        return {"Input Dims": [[rows, 64]], "Input type": ["float"]}
    mm, add = ("aten::mm", 600, shaped(8)), ("aten::add_", 40, shaped(64))
    for odd, wanted in (
            ([mm] * 9 + [add] * 30, ("more_work", "calls_times")),
            ([mm] * 3 + [add] * 10 + [("aten::norm", 1500, shaped(900))], ("more_work", "calls_more")),
            ([("aten::mm", 1800, shaped(32))] * 3 + [add] * 10, ("more_work", "shapes_times")),
            ([(name, 2 * dur, args) for name, dur, args in [mm] * 3 + [add] * 10], ("slow_cpu", "equal_times")),
            ([mm] * 3 + [add] * 10, None)):
        host_run(folder, lambda rank, step, odd=odd: odd if rank == 1 else [mm] * 3 + [add] * 10)
        tap.same(apart_of(program.json(folder)["cluster"]), wanted and [wanted], f"without a device: {wanted}")
    for factor, wanted in ((3, ("more_work", "alike_times")), (1.3, None)):
        host_run(folder, lambda rank, step, factor=factor: [("aten::mm", 600 * (factor if rank == 1 else 1), {})] * 3 +
                 [("aten::add_", 40, {})] * 10)
        tap.same(apart_of(program.json(folder)["cluster"]), wanted and [wanted], f"without shapes, {factor} times as long")


def check_own_time(tap, program, folder):
    """Operators that call others that call others do work themselves, too, and what they call counts once."""
    def nested(rank, step):
        own_us = 2000 if rank == 1 else 600
        return [("aten::native_batch_norm", own_us, {"nested": ("aten::empty_like", 30, "aten::empty", 20)}),
                ("aten::add_", 40, {})] * 3
    host_run(folder, nested)
    tap.same(apart_of(program.json(folder)["cluster"]), [("more_work", "alike_times")], "an operator's own time is work")


def check_busy_cores(tap, program, folder):
    """Four processes on cores that they share: each is late now and then, one waits for its batches in each step."""
    late_us = [(0, 900, 100, 700), (800, 0, 700, 0), (500, 100, 0, 100), (100, 400, 800, 0), (0, 900, 300, 800)]
    for loading_us, wanted in ((1500, [("data_loading", None)]), (0, None)):
        def rows(rank, step, loading_us=loading_us):
            loading = [("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", loading_us, {})] if rank == 2 else []
            return [row for row in loading if row[1]] + [("aten::mm", 600 + late_us[step % 5][rank], {})] * 3
        host_run(folder, rows)
        tap.same(apart_of(program.json(folder)["cluster"]), wanted, f"busy cores, batches {loading_us} us late")


def check_transfers(tap, program, folder):
    """All ranks alike are in collectives for most of the time, or for little; or for long since one comes late."""
    told = {"Collective name": "allreduce", "Group size": 4, "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}
    for late, end, wanted in ((0, 9000, True), (0, 3000, False), (6000, 9000, False)):
        written_run(folder, lambda rank, step, late=late, end=end: [
            ("gemm", 500, 2000 + late * (rank == 1), {}),
            ("ncclDevKernel_AllReduce_Sum_f32()", 2500 + late * (rank == 1), end - 2500 - late * (rank == 1), told)], 4)
        said = [finding["rule_id"] for finding in program.json(folder)["findings"]]
        tap.same("cluster-transfers" in said, wanted, f"late by {late}, transfers end at {end}")


def check_chain(tap, program, folder):
    """Behind the first of three collectives in a row all are in line but for 1 us: the wait was for the late one."""
    told = {"Collective name": "allreduce", "Group size": 4, "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}

    def rows(rank, step):
        late = 3000 if rank == 2 else 0
        found = [("gemm", 500, 1500 + late, {}), ("ncclDevKernel_AllReduce_Sum_f32()", 2100 + late, 4000 - late, told)]
        later = 1 if rank == step % 2 else 0
        return found + [("ncclDevKernel_AllReduce_Sum_f32()", at + later, 900 - later, told) for at in (6100, 7000)]
    written_run(folder, rows, 4)
    caused = {rank["rank"]: round(rank["caused_us"], -2) for rank in program.json(folder)["cluster"]["ranks"]}
    tap.same(caused, {0: 0, 1: 0, 2: 3 * 3000 * (STEPS - 1), 3: 0},
             "what is waited in a row of collectives goes back to who was late, but for the first step")


def check_host_groups(tap, program, folder):
    """Calls of which no trace tells the group are of all ranks, but not where one leaves before another one comes."""
    for pairs, wanted in ((False, ("straggler", 0)), (True, ("unknown", 4 * STEPS))):
        host_run(folder, lambda rank, step: [("aten::mm", 5000 if rank == 3 else 1000, {})],
                 lambda rank, pairs=pairs: 2000 if pairs and rank < 2 else 7000)
        cluster = program.json(folder)["cluster"]
        tap.same((cluster["verdict"]["kind"], cluster["matching"]["unmatched"]["groups"]), wanted,
                 f"without a device, pairs that end apart: {pairs}")
    for late_us, wanted in ((4000, ("straggler", True)), (0, ("unknown", False))):    # two calls a step
        host_run(folder, lambda rank, step, late_us=late_us: [
            ("aten::mm", 500 if rank < 2 else 2500, {}), ("gloo:all_reduce", 1000, {}),
            ("aten::add_", late_us if rank == 3 else 10, {})], lambda rank: 8500)
        cluster = program.json(folder)["cluster"]
        tap.same((cluster["verdict"]["kind"], "rank 3 is late" in cluster["verdict"]["sentence"]), wanted,
                 f"calls of pairs before those of all, in which one is late by {late_us} us")


def apart_of(cluster):
    """[(kind, the figure that tells why)] of who is late; None where nobody is."""
    return [(kind, next((key for key, value in late.items() if key.endswith(("_times", "calls_more")) and value), None))
            for kind, late in cluster["late"].items() if late["rank_count"]] or None


def check_lost(tap, program, folder):
    """Without its lateness the step is shorter on all ranks, on the late one too. Of a rank that is absent collectives on
    the host tell nothing: they take as long as the cores let them."""
    host_run(folder, lambda rank, step: [("aten::mm", 5000 if rank == 3 else 1000, {})])
    late = program.json(folder)["cluster"]["late"]["slow_cpu"]
    steps = STEPS - 1     # the lateness of the first one came from before the recording
    tap.same([late[key] for key in ("rank", "others_count", "waited_us", "lost_us")],
             [3, 0, 3 * steps * 4000, 4 * steps * 4000], "what a late rank costs is time of all ranks")
    host_run(folder, lambda rank, step: [("aten::mm", 1000 + 1000 * (step % 3), {})])
    (folder / "rank3.json").unlink()
    cluster = program.json(folder)["cluster"]
    tap.same((cluster["absent_count"], cluster["waiting"]["absent_us"], cluster["verdict"]["kind"]), (1, 0, "balanced"),
             "collectives on the host that take longer now and then are no waiting for an absent rank")


def check_copies(tap, program, folder):
    """Copies of equal size that take longer on one rank; and larger ones, which are more work."""
    for size, wanted in ((1 << 20, [("slow_copies", "equal_times")]), (3 << 20, [("more_work", None)])):
        def rows(rank, _, size=size):
            odd = rank == 2
            return [("Memcpy HtoD (Pageable -> Device)", 500, 3000 if odd else 1000,
                     {"bytes": size if odd else 1 << 20}),
                    ("ncclDevKernel_AllReduce_Sum_f32()", 3600 if odd else 1600, 1000 if odd else 3000,
                     {"Collective name": "allreduce", "Group size": 4, "dtype": "Float", "In msg nelems": 1024,
                      "Out msg nelems": 1024, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"})]
        written_run(folder, rows, 4)
        tap.same(apart_of(program.json(folder)["cluster"]), wanted, f"copies of {size >> 20} MiB, three times as long")


def check_waiting(tap, program, folder):
    """Without a device: who comes last is told, and how much all of them wait, though nothing tells why."""
    for who, wanted in ((lambda step: 1, ("unknown", "rank 1 comes last in ")), (lambda step: step % 4, ("balanced", ""))):
        host_run(folder, lambda rank, step, who=who:
                 [("aten::mm", STEP_US // 2 + (STEP_US // 6 if who(step) == rank else 0), {})])
        verdict = program.json(folder)["cluster"]["verdict"]
        said = verdict["sentence"]
        tap.ok(verdict["kind"] == wanted[0] and wanted[1] in said and " wait for each other 1" in said,
               f"waiting without a device is {wanted[0]}", str(verdict))


def check_chance(tap, program, folder):
    """Kernels vary from call to call; one rank's are by chance a little longer."""
    check_longer(tap, program, folder, 40, {})


def check_uneven(tap, program, folder):
    """Another rank has most work in each step. One has much in all of them: to blame only where the others wait for it."""
    told = {"Collective name": "allreduce", "Group size": 8, "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}
    for most, wanted in ((46, {"uneven_data": 4}), (30, {"more_work": 1})):
        def rows(rank, step, most=most):
            calls = 38 if rank == 7 else most if rank == step else 22 + (rank * 5 + step * 3) % 7
            found = [("gemm", 500 + 100 * k, 100, {}) for k in range(calls)]
            at = 500 + 100 * calls
            return found + [("ncclDevKernel_AllReduce_Sum_f32()", at, 6000 - at, told)]
        written_run(folder, rows, 8)
        late = program.json(folder)["cluster"]["late"]
        tap.same({kind: of["rank_count"] for kind, of in late.items() if of["rank_count"]}, wanted,
                 f"the most work of a step is {most}, one rank has 38 in each")


def check_slow(tap, program, folder):
    check_longer(tap, program, folder, 100, {"slow_device": 1})


def check_longer(tap, program, folder, longer, wanted):
    def rows(rank, step):
        varied = [((rank * 7 + step * 13 + k * 5) % 11 - 5) * 3 + (longer if rank == 3 else 0) for k in range(4)]
        found, at = [], 500
        for k, extra in enumerate(varied):
            found.append(("gemm", at, 1000 + extra, {}))
            at += 1000 + extra
            end = (k + 1) * 1600 + 500
            found.append(("ncclDevKernel_AllReduce_Sum_f32()", at, end - at,
                          {"Collective name": "allreduce", "Group size": 4, "dtype": "Float", "In msg nelems": 1024,
                           "Out msg nelems": 1024, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}))
            at = end
        return found
    written_run(folder, rows, 4)
    late = program.json(folder)["cluster"]["late"]
    said = {kind: of["rank_count"] for kind, of in late.items() if of["rank_count"]}
    tap.same(said, wanted, f"kernels that take {longer / 10:g} % longer")


def reduced(found, ranks):
    """Kernels, and behind them a collective that ends with those of the other ranks."""
    at = max(start + dur for _, start, dur, _ in found)
    return found + [("ncclDevKernel_AllReduce_Sum_f32()", at, 9800 - at,
                     {"Collective name": "allreduce", "Group size": ranks, "dtype": "Float", "In msg nelems": 1024,
                      "Out msg nelems": 1024, "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))})]


def check_some_steps(tap, program, folder):
    """A device that is slow in one step of five hardly shows in its times as a whole. Kernels a little longer are chance."""
    for times, wanted in ((1.4, ["slow_device"]), (1.2, ["slow_device"]), (1.04, [])):
        def rows(rank, step, times=times):
            dur = 1600 * (times if (rank, step) == (1, 3) else 1)
            return reduced([("gemm", 500 + dur * k, dur, {}) for k in range(4)], 4)
        written_run(folder, rows, 4)
        late = program.json(folder)["cluster"]["late"]
        tap.same([kind for kind, of in late.items() if of["rank_count"]], wanted,
                 f"one step of five in which kernels take {times:g} times as long")


def check_block(tap, program, folder):
    """Half of the ranks are slow. A block of them may be a host, others are told by their numbers alone."""
    for slow, words in (((2, 3), "rank 3, side by side as ranks of one host are"), ((1, 2), "rank 2"), ((3,), None)):
        def rows(rank, _, slow=slow):
            dur = 1120 - rank if rank in slow else 1000
            return reduced([("gemm", 500 + dur * k, dur, {}) for k in range(4)], 4)
        written_run(folder, rows, 4)
        for path in folder.glob("rank*.json"):
            path.write_text(path.read_text(encoding="utf-8").replace('"host_name"', '"not_a_name"'), encoding="utf-8")
        report = program.json(folder)
        late = report["cluster"]["late"]["slow_device"]
        finding = next(finding for finding in report["findings"] if finding["rule_id"] == "cluster-slow-device")
        tap.same((late["numbers"], late["others_count"]),
                 ("%d-%d" % (slow[0], slow[-1]) if len(slow) > 1 else "3", len(slow) - 1), f"slow are ranks {slow}")
        tap.ok((late["others"] or "").startswith(words or "") and ("side by side" in str(late["others"])) == (slow == (2, 3))
               and ("Late like it: " in finding["observation"]) == (len(slow) > 1), "the others are named", str(late))
        said = report["cluster"]["verdict"]["sentence"]
        tap.same("are late in every step, and the others wait; the latest is rank %d, by " % slow[0] in said, len(slow) > 1,
                 "what one of several does is said of that one")


def check_untraced(tap, program, folder):
    """A pause in which nothing is recorded is not put down to the call before or behind it."""
    def rows(rank, step):
        wait = 3000 if rank == 2 and step else 0
        return reduced([("gemm", 500 + wait + 300 * k, 300, {}) for k in range(4)], 4)
    written_run(folder, rows, 4, launch_of=lambda start, number: start - 10)
    late = program.json(folder)["cluster"]["late"]["host_code"]
    tap.same((late["rank"], late["line"]), (2, None), "no call stands for a pause in which nothing was recorded")


def check_other_steps(tap, program, folder):
    """Ranks that recorded other steps are told, and no rank is called on time for it."""
    for first_of, wanted in ((lambda rank: 1 if rank < 2 else 41, 2), (lambda rank: 1 + rank, 0)):
        written_run(folder, lambda rank, _: reduced([("gemm", 500, 1000 + rank, {})], 4), 4, first_of)
        report = program.json(folder)
        told = [finding["rule_id"] for finding in report["findings"] if finding["rule_id"] == "cluster-other-steps"]
        tap.same((report["cluster"]["steps"]["apart_count"], len(told), report["cluster"]["verdict"]["kind"]),
                 (wanted, wanted > 0, "unknown" if wanted else "balanced"), f"{wanted} ranks recorded other steps")


def check_baseline(tap, program, folder):
    """A run of many ranks against one before, by its report."""
    runs = ROOT / "fixtures" / "cluster"
    done = program.run(runs / "late-loader", "--baseline", runs / "healthy")
    tap.ok(done.returncode and b"write the report of its run as JSON" in done.stderr, "a folder is no baseline",
           str(done.stderr))
    program.run(runs / "healthy", "--json-out", folder / "before.json", "--quiet")
    comparison = program.json(runs / "late-loader", "--baseline", folder / "before.json")["comparison"]
    said = comparison["verdict"]["sentence"]
    tap.ok(said.startswith("Steps differ: the median step of all ranks takes ") and "; now: rank 2 is late by " in said,
           "its report is: steps of all ranks, and who is late now", said)
    again = program.json(runs / "healthy", "--baseline", folder / "before.json")["comparison"]
    tap.ok(again["verdict"]["change"] == "no change" and ";" not in again["verdict"]["sentence"],
           "and a run is not different from itself", again["verdict"]["sentence"])


def main():
    tap, program = Tap(), Program(program_of(__doc__))
    for check in (check_files, check_rest, check_shut, check_pickles, check_ranks, check_one, check_recorded, check_runs,
                  check_losses, check_shared, check_merged, check_xla_folder, check_hang_with_traces, check_dumps_by_many,
                  check_step, check_one_way,
                  check_range, check_sizes_alone, check_waiting, check_apart, check_lost, check_own_time, check_busy_cores,
                  check_copies, check_host_groups, check_chain, check_transfers, check_chance, check_uneven, check_slow,
                  check_some_steps, check_block, check_untraced, check_other_steps, check_baseline):
        with tempfile.TemporaryDirectory() as folder:
            check(tap, program, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
