#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Questions on the command line: tables and the rows behind them, what stands around a row, explanations, digests, the
screen on a terminal. Rows are counted again here, from the trace and the snapshot as JSON. Prints TAP."""

import csv
import gzip
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
from decimal import Decimal

from golden import load_validator
from program import ROOT, Program, parser_of
from tap import Tap

TRACES, SNAPSHOTS = ROOT / "fixtures" / "traces", ROOT / "fixtures" / "snapshots"
TRAINING, HOSTILE, GLOO = TRACES / "training_step_cuda.json.gz", TRACES / "hostile_names.json", TRACES / "cpu_only_gloo.json"
OOM = SNAPSHOTS / "oom.json.gz"
ROW_TABLES = ("operators", "kernels", "launches", "copies", "synchronisations", "collectives", "steps")
BYTES_PER_TOKEN = 3


class Questions(Program):
    def __init__(self, path, thorough):
        super().__init__(path)
        self.thorough = thorough

    def text(self, *arguments):
        return self.run(*arguments).stdout.decode()

    def rows(self, path, table, *arguments):
        return self.json(path, "--table", table, "--limit", "0", *arguments)["rows"]

    def refused(self, *arguments):
        """(exit code, what it says) of a mistake."""
        done = self.run(*arguments)
        return done.returncode, done.stderr.decode()


def load(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, parse_float=Decimal)


def events_of(path):
    return [event for event in load(path)["traceEvents"] if event.get("ph") == "X" and "dur" in event]


def of_category(events, *names):
    return [event for event in events if event.get("cat", "").lower() in names]


def check_rows(tap, program):
    events = events_of(TRAINING)
    kernels = program.rows(TRAINING, "kernels")
    want = sorted((event["name"], float(event["ts"]), float(event["dur"])) for event in of_category(events, "kernel"))
    tap.same(sorted((row["name"], row["start_us"], row["dur_us"]) for row in kernels), want,
             "each kernel of the trace is a row")
    tap.same({row["row_id"]: row["name"] for row in kernels},
             {f"row:{number}": event["name"] for number, event in enumerate(events)
              if event in of_category(events, "kernel")},
             "its id is its number among the events with a duration")
    operators = program.rows(TRAINING, "operators")
    tap.same(len(operators), len(of_category(events, "cpu_op", "operator")), "each operator is a row")
    calls = {event["args"]["correlation"]: event
             for event in reversed(of_category(events, "cuda_runtime", "cuda_driver", "runtime"))
             if event.get("args", {}).get("correlation")}
    work = of_category(events, "kernel", "gpu_memcpy", "gpu_memset")
    want = sorted({calls[event["args"]["correlation"]]["name"] + str(calls[event["args"]["correlation"]]["ts"])
                   for event in work
                   if event["args"]["correlation"] in calls})
    launches = program.rows(TRAINING, "launches")
    tap.same(len(launches), len(want), "each call that launched something is a row")
    delays = {(event["name"], float(event["ts"])): float(event["ts"] - calls[event["args"]["correlation"]]["ts"])
              for event in work
              if event["args"]["correlation"] in calls}
    numbered = {f"row:{number}": event for number, event in enumerate(events)}
    off = [row for row in launches
           if abs(delays[row["kernel"], float(numbered[row["kernel_id"]]["ts"])] - row["queue_delay_us"]) > 0.002]
    tap.same(off, [], "with the time from the call to the start of the work")
    tap.same(len(program.rows(GLOO, "collectives")), 3, "collectives of the host are rows")
    steps = program.json(TRAINING)["steps"]
    tap.same([row["dur_us"] for row in program.rows(TRAINING, "steps")], [row["dur_us"] for row in steps["rows"]],
             "the steps are those of the report")
    waits = program.rows(TRAINING, "synchronisations")
    tap.same([row["row_id"] for row in waits if numbered[row["row_id"]]["name"] != row["call"]], [],
             "waits are calls of the trace")


def check_allocations(tap, program):
    entries = [entry for history in load(OOM)["device_traces"] for entry in history]
    rows = program.rows(OOM, "allocations")
    made = {f"alloc:{number}": entry["size"] for number, entry in enumerate(entries) if entry["action"] == "alloc"}
    tap.same({row["row_id"]: row["bytes"] for row in rows if not row["before_history"]}, made,
             "each allocation of the history is a row, by the number of its entry")
    largest = max(rows, key=lambda row: row["bytes"] or 0)
    around = program.json(OOM, "--around", largest["row_id"], "--limit", "3")
    tap.same([around["allocation"], len(around["frames"]), len(around["live"]["largest"])], [largest, 2, 3],
             "around one: its stack and what was in use beside it")
    code, said = program.refused(OOM, "--table", "kernels")
    tap.same([code, "--cpu-trace" in said], [2, True], "rows of a trace that was not given are asked for")


def check_where(tap, program):
    kernels = program.rows(TRAINING, "kernels")
    cases = (
        ("dur_us > 100us", lambda row: row["dur_us"] > 100),
        ("dur_us > 0.1ms and name contains GEMM", lambda row: row["dur_us"] > 100 and "gemm" in row["name"].lower()),
        ("step = 1 or step = 2 and phase = backward",
         lambda row: row["step"] == 1 or (row["step"] == 2 and row["phase"] == "backward")),
        ("name like '*elementwise*'", lambda row: "elementwise" in row["name"]),
        ("step = null", lambda row: row["step"] is None),
        ("(step = 1 or step = 2) and (phase = backward)", lambda row: row["step"] in (1, 2) and row["phase"] == "backward"),
        ("tid = 7 and (dur_us > 100us or step = null)",
         lambda row: str(row["tid"]) == "7" and (row["dur_us"] > 100 or row["step"] is None)),
        ("launch_id != null", lambda row: row["launch_id"] is not None),
    )
    for where, keep in cases:
        tap.same(program.rows(TRAINING, "kernels", "--where", where), [row for row in kernels if keep(row)],
                 f"--where {where}")
    best = program.json(TRAINING, "--table", "kernels", "--sort", "dur_us", "--limit", "4")
    tap.same([row["dur_us"] for row in best["rows"]], sorted((row["dur_us"] for row in kernels), reverse=True)[:4],
             "--sort and --limit")
    few = program.rows(TRAINING, "kernels", "--columns", "dur_us,row_id")
    tap.same(few, [{"dur_us": row["dur_us"], "row_id": row["row_id"]} for row in kernels], "--columns")
    tap.same([best["rows_total"], best["rows_matched"], best["rows_shown"]], [len(kernels), len(kernels), 4],
             "and what is left out is told")
    code, said = program.refused(TRAINING, "--table", "kernels", "--where", "stream = 7")
    tap.same([code, "tid of work on a GPU is its stream" in said], [2, True],
             "who asks for the stream hears where it stands")
    for arguments in (("--where", "dur_us"), ("--where", "(dur_us > 1"), ("--where", "dur_us > 1 and ()"),
                      ("--where", "dur_us > many"), ("--where", "no_such = 1"), ("--sort", "no_such"),
                      ("--limit", "x"), ("--columns", "name,no_such"), ("--columns", "")):
        code, said = program.refused(TRAINING, "--table", "kernels", *arguments)
        tap.same([code, arguments[0] in said], [2, True], f"a mistake is told: {' '.join(arguments)}")


def check_early(tap, program):
    """Mistakes that no input would make right are told before one is opened."""
    nowhere = "no-such-file.json"
    for arguments in (("kernels", "--where", "no_such = 1"), ("kernels", "--where", "dur_us >"),
                      ("kernels", "--sort", "no_such"), ("no.such",),
                      ("kernels", "--sort", "name:up"), ("gpu.kernels", "--columns", "name,no_such"),
                      ("memory.segment_types.large", "--sort", "no_such"),
                      ("cpu.summary.events_total",)):
        code, said = program.refused(nowhere, "--table", *arguments)
        tap.same([code, nowhere in said], [2, False], f"told before the input is read: --table {' '.join(arguments)}")
    for arguments in (("gpu.kernels", "--where", "longest.dur_us > 1 and longest != null", "--sort", "longest.dur_us"),
                      ("memory.segment_types", "--sort", "large.segments"), ("kernels", "--columns", "row_id,line")):
        tap.same(program.refused(nowhere, "--table", *arguments)[0], 3, f"no mistake: --table {' '.join(arguments)}")


def head_of(program, path, *arguments):
    lines = list(csv.reader(io.StringIO(program.run(path, *arguments, "--format", "csv").stdout.decode(), newline="")))
    return lines[0] if lines else []


def check_known(tap, program):
    """What is known of tables without input is what they have."""
    for table in ROW_TABLES + ("allocations", "tables"):
        path = OOM if table == "allocations" else GLOO if table == "collectives" else TRAINING
        known = head_of(program, path, "--table", table, "--where", "row_id = none")
        tap.same(known, head_of(program, path, "--table", table, "--limit", "1"),
                 f"{table} without rows has its columns in CSV")
    tap.same(head_of(program, GLOO, "--table", "gpu.kernels")[:4], ["row_id", "name", "subfamily", "family"],
             "and so has an empty list of a report")
    tap.same(head_of(program, GLOO, "--table", "gpu.kernels", "--columns", "name,family"), ["name", "family"],
             "those that are asked for alone")
    odd = []
    for path in (TRAINING, OOM, GLOO) if program.thorough else (GLOO,):
        for row in program.rows(path, "tables"):
            columns = head_of(program, path, "--table", row["table"], "--limit", "1")
            if columns and program.run(path, "--table", row["table"], "--columns", ",".join(columns[:60]), "--limit",
                                       "1").returncode:
                odd.append((path.name, row["table"]))
    tap.same(odd, [], "each column of each table can be asked for")


def check_report_tables(tap, program):
    report = program.json(TRAINING)
    named = {row["table"]: row["rows"] for row in program.rows(TRAINING, "tables")}
    tap.same([name for name in ROW_TABLES + ("findings", "gpu.kernels", "operators.top") if name not in named], [],
             "--table tables names them")
    of_memory = {row["table"] for row in program.rows(OOM, "tables")}
    tap.same([name for name in ("allocations", *ROW_TABLES) if (name in named, name in of_memory) !=
              (name in ROW_TABLES, name == "allocations")], [], "rows of a trace without a snapshot, or of that alone")
    tap.same(len(program.json(TRAINING, "--table", "tables")["rows"]), len(named), "all of them, without --limit")
    odd = [name for name, count in named.items() if count is not None and len(program.rows(TRAINING, name)) != count]
    tap.same(odd, [], "and each can be printed")
    rows = program.rows(TRAINING, "gpu.kernels")
    tap.same([{key: value for key, value in row.items() if key != "row_id"} for row in rows], report["gpu"]["kernels"],
             "a table of the report has the report's rows")
    tap.same([row["row_id"] for row in rows[:2]], ["gpu.kernels[0]", "gpu.kernels[1]"], "with ids")
    text = program.run(TRAINING, "--table", "gpu.kernels", "--limit", "0", "--format", "csv").stdout.decode()
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    tap.same([(line["name"], float(line["total_dur_us"])) for line in lines],
             [(row["name"], row["total_dur_us"]) for row in rows],
             "CSV can be read back")
    code, said = program.refused(TRAINING, "--table", "no.such")
    tap.same([code, "--table tables" in said], [2, True], "an unknown table is a mistake")


def check_around(tap, program):
    kernel = next(row for row in program.rows(TRAINING, "kernels", "--sort", "dur_us") if row["launch_id"])
    around = program.json(TRAINING, "--around", kernel["row_id"], "--limit", "5")
    tap.same([around["row"]["name"], around["launched_by"]["row_id"], around["launched_by"]["queue_delay_us"],
              around["step"]["step"]],
             [kernel["name"], kernel["launch_id"], kernel["queue_delay_us"], kernel["step"]],
             "around a kernel: its launch and its step")
    start, end = kernel["start_us"], kernel["start_us"] + kernel["dur_us"]
    odd = [row for row in around["beside"]["rows"] if row["start_us"] >= end or row["start_us"] + row["dur_us"] <= start
           or (row["pid"], row["tid"]) == (kernel["pid"], kernel["tid"])]
    tap.same([odd, len(around["beside"]["rows"]) <= 5], [[], True], "what ran beside it ran at its time, on other tracks")
    call = program.json(TRAINING, "--around", kernel["launch_id"])
    tap.same(kernel["row_id"] in [row["row_id"] for row in call["launched"]["rows"]], True, "around its launch: the kernel")
    tap.same([row["name"] for row in around["stack"][1:]], [row["name"] for row in call["stack"][:len(around["stack"]) - 1]],
             "and both have the same stack")
    finding = program.json(TRAINING)["findings"][0]
    tap.same(program.json(TRAINING, "--around", finding["rule_id"])["finding"]["title"], finding["title"],
             "a finding has surroundings")
    for name in ("finding:1", "findings[0]", f"finding:{finding['rule_id']}"):
        around, told = program.json(TRAINING, "--around", name), program.json(TRAINING, "--explain", name)
        tap.same([(around.get("finding") or around["of_report"])["title"], told["id"], told["finding"]["title"]],
                 [finding["title"], finding["rule_id"], finding["title"]], f"--around and --explain know it as {name}")
    tap.same(program.json("--explain", f"finding:{finding['rule_id']}")["id"], finding["rule_id"],
             "a rule is known so without input")
    with tempfile.NamedTemporaryFile("w", suffix=".md") as rubric:
        rubric.write((ROOT / "references" / "interpretation.md").read_text().replace(
            "\n### cold-start-step: ", "\nA long story.\n" * 700 + "\n### cold-start-step: "))
        rubric.flush()
        told = program.json("--rubric", rubric.name, "--explain", "cold-start-only")["text"]
        tap.same(told.count("A long story."), 700, "a rule is told whole, however long")
    for name in ("finding:1", "findings[0]"):
        code, said = program.refused("--explain", name)
        tap.same([code, "input" in said], [2, True], f"{name} needs one")
    for name in ("finding:0", "finding:999", "findings[999]", "finding:", "findings[", "findings[]", "findings[-1]",
                 "finding:99999999999999999999"):
        tap.same([program.refused(TRAINING, option, name)[0] for option in ("--around", "--explain")], [2, 2],
                 f"there is no {name}")
    tap.same(program.json(TRAINING, "--around", "step:1")["step"]["step"], 1, "and so has a step")
    tap.same("row" in program.json(TRAINING, "--around", "gpu.kernels[0]"), True, "and a row of the report")
    for name in ("row:99999999", "row:x", "step:4000", "gpu.kernels[999]", "no-such-rule", "", "row:99999999999999999999",
                 "alloc:1"):
        code, _ = program.refused(TRAINING, "--around", name)
        tap.same(code, 2, f"there is nothing around '{name}'")


def check_explanations(tap, program):
    rules = program.json("--list-rules")["rows"]
    tap.same([len(rules) > 100, {"id", "title", "severity", "when"} <= set(rules[0])], [True, True],
             "all rules are listed without input")
    odd = []
    for rule in rules if program.thorough else rules[::10]:
        told = program.json("--explain", rule["id"])
        begins = told["text"].startswith(f"### {rule['id']}: ")
        if told["title"] != rule["title"] or not told["inputs"] or not begins or not told["example"]:
            odd.append(rule["id"])
    tap.same(odd, [], "they are explained, with its inputs, its text and figures that fire it")
    figures = program.json("--list-metrics")["rows"]
    tap.same([row["name"] for row in figures if not row["unit"] or not row["meaning"]], [],
             "all figures have a unit and a meaning")
    told = program.json("--explain", "gpu.utilization_ratio", TRAINING)
    tap.same([told["value"], "gpu-underused" in told["used_by_rules"]],
             [program.json(TRAINING)["gpu"]["utilization_ratio"], True],
             "a figure: its value and the rules that use it")
    finding = program.json(TRAINING)["findings"][0]
    tap.same(program.json("--explain", finding["rule_id"], TRAINING)["finding"]["observation"], finding["observation"],
             "a finding: the rule with what it came to")
    text = program.text("--explain", finding["rule_id"], TRAINING)
    lines = text[text.index("\nfinding:\n"):].split("\n")
    tap.same([f"  title: {finding['title']}" in lines, f"  observation: {finding['observation']}" in lines,
              len([line for line in lines if line.startswith("    metric ")]) == len(finding["evidence"])],
             [True, True, True],
             "in text: a line for each member of the finding, and for each of its evidence")
    shares = [row for row in program.json(TRAINING)["findings"] if row["gain"]["speedup_bound_ratio"]]
    told = [program.text(TRAINING, "--around", row["rule_id"]).partition("speedup_bound_ratio ")[2].split("\n")[0]
            for row in shares]
    tap.same([one for one in told if not one.endswith(" times")], [], "how many times as fast is no share")
    code, said = program.refused("--explain", "gpu.utilisation_ratio")
    tap.same([code, "gpu.utilization_ratio" in said], [2, True], "an unknown name gets the nearest")
    for wrong, meant in (("dataloader", "dataloader-"), ("Host-Bound", "host-bound"), ("hots-bound", "host-bound"),
                         ("host_bound", "host-bound"),
                         ("utilization_ratio", "gpu.utilization_ratio"), ("p50", "steps.p50_us"),
                         ("finding:hostbound", "host-bound")):
        told = program.refused("--explain", wrong)[1].partition("did you mean ")[2]
        tap.same([wrong, meant in told], [wrong, True], f"{wrong}: {meant} may be meant")
    for wrong in ("nope", "x", "completely-unlike-anything", "x" * 500):
        tap.same("did you mean" in program.refused("--explain", wrong)[1], False, f"no name is near to {wrong[:30]}")


def answers_about(path, is_trace, limit):
    """Questions to one recording."""
    for table in (ROW_TABLES if is_trace else ("allocations",)) + ("tables", "findings", "warnings"):
        yield (path, "--table", table, "--limit", limit)
    yield (path, "--table", "tables", "--columns", "table,rows")
    for name in ("row:0", "row:1", "row:7", "row:192", "row:587", "step:0", "step:1", "gpu.kernels[0]", "operators.top[0]",
                 "idle.gaps[0]", "findings[0]",
                 "trace.devices[0]") if is_trace else ("alloc:17", "block:0", "block:1", "free:3",
                                                       "memory.largest_segments[0]", "findings[0]"):
        yield (path, "--around", name, "--limit", "3")
    yield (path, "--explain", "steps.p50_us" if is_trace else "memory.summary.segments")


def check_schema(tap, program):
    """Each kind of answer keeps to its schema, and the schema is strict."""
    invalid = load_validator(ROOT / "references" / "answer-schema.json")
    if not invalid:
        print("# python3-jsonschema is not there: NOT CHECKED against the schema")
        return
    for arguments in (("--list-rules",), ("--list-metrics",), ("--explain", "dataloader-idle"),
                      ("--explain", "steps.p50_us")):
        answer = program.json(*arguments)
        if "rows" in answer and not program.thorough:
            answer["rows"] = answer["rows"][::20]
        tap.same(invalid(json.dumps(answer)), [], "valid by the schema: " + " ".join(arguments))
    for path in sorted(TRACES.iterdir()) + sorted(SNAPSHOTS.iterdir()) if program.thorough else (HOSTILE, OOM):
        odd, count = [], 0
        for arguments in answers_about(path, path.parent == TRACES, "0" if program.thorough else "30"):
            done = program.run(*arguments, "--format", "json")
            if done.returncode == 0:
                odd += [f"{arguments[1:]}: {complaint}" for complaint in invalid(done.stdout)]
                count += 1
        tap.same(odd[:5], [], f"valid by the schema: {count} answers about {path.name}")
    check_strict(tap, program, invalid)


def check_strict(tap, program, invalid):
    finding = program.json(TRAINING)["findings"][0]["rule_id"]
    kinds = {"table": ("--table", "kernels", "--limit", "1"), "around": ("--around", finding),
             "rule": ("--explain", finding),
             "metric": ("--explain", "steps.p50_us")}
    for kind, arguments in kinds.items():
        answer = program.json(TRAINING, *arguments)
        tap.same(invalid(json.dumps(answer)), [], f"an answer of the kind {kind}")
        for claim, changed in (("with a member more", answer | {"more": 1}),
                               ("of another version", answer | {"schema_version": "2.0"}),
                               *((f"without {key}", {other: answer[other] for other in answer if other != key})
                                 for key in list(answer) if key not in ("finding", "value"))):
            if not invalid(json.dumps(changed)):
                tap.same(claim, "refused", f"{kind} {claim}")
    table = program.json(TRAINING, *kinds["table"])
    row = table["rows"][0]
    for changed in (row | {"more": 1}, {key: row[key] for key in list(row)[1:]}, row | {"dur_us": "1"}):
        tap.same(bool(invalid(json.dumps(table | {"rows": [changed]}))), True, "a row that is none")


def check_digests(tap, program):
    report = program.json(TRAINING)
    sizes = {tokens: program.run(TRAINING, "--summary-tokens", tokens).stdout for tokens in (200, 300, 1000, 100000)}
    tap.same([tokens for tokens, text in sizes.items() if len(text) > tokens * BYTES_PER_TOKEN], [],
             "a digest is never longer than it may be")
    tap.same([text.decode()[:20] for tokens, text in sizes.items()
              if not text.decode().startswith(report["verdict"]["bound"])],
             [], "the verdict comes first")
    tap.same([finding["title"] for finding in report["findings"] if finding["title"] not in sizes[100000].decode()], [],
             "with room all findings are told")
    tap.same(report["findings"][0]["title"] in sizes[200].decode(), True, "with little the first one")


def check_cut(tap, program):
    """What is doubtful is said before anything else."""
    whole = gzip.decompress(TRAINING.read_bytes())
    warning = "WARNING: cpu-trace: the file ends before it is complete"
    with tempfile.NamedTemporaryFile(suffix=".json") as cut:
        cut.write(whole[: len(whole) * 2 // 3])
        cut.flush()
        report = program.json(cut.name)
        for form in (("--format", "text"), ("--summary-tokens", "200"), ("--summary-tokens", "5000")):
            text = program.text(cut.name, *form)
            tap.same([0 <= text.find(warning) < text.find(report["verdict"]["bound"]), text.count("WARNING"),
                      len(text.split("\n")) <= 25 or form[0] != "--format"], [True, 1, True],
                     f"{' '.join(form)}: the cut is told before the verdict, once")
    tap.same([report["verdict"]["confidence"] != "high", "the file is cut" in report["verdict"]["sentence"]], [True, True],
             "and the verdict is weakened")


def check_formats(tap, program):
    markdown = program.text(TRAINING)
    tap.same(program.text(TRAINING, "--format", "md"), markdown, "--format md is the default where no terminal is")
    text = program.text(TRAINING, "--format", "text")
    tap.same([len(text.split("\n")) <= 25, max(map(len, text.split("\n"))) <= 80, "\033" in text], [True, True, False],
             "--format text is one screen, without colors")
    with tempfile.TemporaryDirectory() as folder:
        nameless, document = os.path.join(folder, "t.json"), load(TRAINING)
        document["deviceProperties"][0]["name"] = ""
        with open(nameless, "w", encoding="utf-8") as file:
            json.dump(document, file, default=float)
        tap.same("\nGPU: busy " in program.text(nameless, "--format", "text"), True, "an empty name is no name of a device")
    for arguments in (("--table", "kernels", "--format", "md"), ("--format", "csv"), ("--where", "a = 1"), ("--limit", "1"),
                      ("--table", "kernels", "--around", "row:1"), ("--summary-tokens", "900", "--format", "json"),
                      ("--format", "xml"),
                      ("--table", "kernels", "--json-out", "-"), ("--around", "row:1", "--format", "csv"),
                      ("--summary-tokens", "-1"),
                      ("--summary-tokens", "0"), ("--summary-tokens", "199")):
        code, _ = program.refused(TRAINING, *arguments)
        tap.same(code, 2, f"a mistake: {' '.join(arguments)}")


def on_terminal(program, *arguments, columns=80, lines=24, **changes):
    """What the program writes to a terminal of so many columns and lines."""
    parent, child = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", str(lines)], stdin=child, check=True)
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | changes
    with subprocess.Popen([program.path, "--quiet", *map(str, arguments)], stdout=child, stderr=subprocess.DEVNULL,
                          env=environment) as process:
        os.close(child)
        text = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError: # the other end is closed
                break
            if not piece:
                break
            text += piece
        process.wait()
    os.close(parent)
    return text.decode().replace("\r\n", "\n")


def check_terminal(tap, program):
    colored = on_terminal(program, TRAINING)
    tap.same(["\033[1m" in colored, len(colored.split("\n")) <= 25, "# Profile report" in colored], [True, True, False],
             "on a terminal the report is one screen, in colors")
    for changes in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        tap.same("\033" in on_terminal(program, TRAINING, **changes), False, f"without colors where {changes} is set")
    tap.same("# Profile report" in on_terminal(program, TRAINING, "--format", "md"), True, "--format md has its way")
    with tempfile.TemporaryDirectory() as folder:
        written, other = os.path.join(folder, "r.md"), os.path.join(folder, "r.json")
        screen = on_terminal(program, TRAINING, "--md-out", written, "--json-out", other)
        tap.same([screen.count("Written: "), "\033[1m" in screen, os.path.getsize(written) > 0, os.path.getsize(other) > 0],
                 [2, True, True, True], "with --md-out, too, there is a screen, which says where the files are")
        screen = on_terminal(program, TRAINING, "--md-out", written, "--json-out", "-")
        tap.same(json.loads(screen)["trace"]["complete"], True, "but not where an output is standard output itself")
        tap.same(program.text(TRAINING, "--md-out", written), "", "and nothing where no terminal is")
    table = on_terminal(program, TRAINING, "--table", "kernels")
    tap.same(max(map(len, table.split("\n"))) <= 80, True, "tables keep to the width of the terminal")


def texts_of(value):
    """All texts of a report."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    return " ".join(map(texts_of, value)) if isinstance(value, list) else ""


OWN_WORDS = ("more:", "remarks", "Pictures:")  # of narrow screens alone


SIGNS = "(.,/=#" # behind them a word that is wider than a line goes on in the next one


def breaks_behind_signs(part, known):
    """Is it a piece of a word between two of its signs?"""
    at = known.find(part)
    while at >= 0:
        before, after = known[at - 1:at], known[at + len(part):][:1]
        if (before.isspace() or before in SIGNS) and (after.isspace() or part[-1] in SIGNS):
            return True
        at = known.find(part, at + 1)
    return False


def cut_words(screen, known):
    """Words of a screen that end in the middle of one of the words that are known."""
    words = set(known.split())
    for word in screen.split():
        part = word.removesuffix(";").removesuffix("...").removeprefix("...")  # "; and 2 more" follows
        if not part or part in words or word in words or word in OWN_WORDS or word.isdigit():
            continue
        if part == word and breaks_behind_signs(part, known):
            continue
        at = known.find(part)
        while at >= 0 and not (word.endswith("...") and known[at + len(part):][:1] in "_:.(<,#/ "):
            at = known.find(part, at + 1)
            if word.startswith("...") and known[at + len(part):][:1] in " ":
                break
        if at < 0:
            yield word


def check_widths(tap, program):
    """From 40 to 200 columns: no line is longer, no word is cut, and the way to the whole report is told."""
    for path in (TRAINING, OOM, ROOT / "fixtures" / "cluster" / "late-loader",
                 ROOT / "fixtures" / "recorded" / "training_step_cpu.json.gz"):
        known = on_terminal(program, path, columns=1000, lines=200, NO_COLOR="1")
        known += texts_of(json.loads(program.text(path, "--format", "json")))
        wrong = []
        for columns in (40, 47, 60, 72, 80, 100, 133, 200):
            screen = on_terminal(program, path, columns=columns, NO_COLOR="1")
            wrong += [f"{columns}: {line}" for line in screen.split("\n") if len(line) > columns]
            wrong += [f"{columns}: cut: {word}" for word in cut_words(screen, known)]
            wrong += [f"{columns}: {screen}"] if "--html-out report.html" not in screen else []
        tap.check(f"{path.name}: from 40 to 200 columns", wrong)


def check_wrapped(tap, program):
    """Answers, help and messages on a terminal: as wide as it is, and not a word more or less than elsewhere."""
    for arguments in (["-h"], ["--help"], ["--explain", "dataloader-in-process"], [TRAINING, "--around", "finding:1"],
                      [TRAINING, "--explain", "finding:1"]):
        plain, wrong = program.text(*arguments), []
        for columns in (40, 60, 80, 120):
            screen = on_terminal(program, *arguments, columns=columns)
            wrong += [f"{columns}: {line}" for line in screen.split("\n") if len(line) > columns and " " in line.strip()]
            if "--around" not in arguments: # of a row it tells what the terminal has room for
                wrong += [] if screen.split() == plain.split() else [f"{columns}: other words"]
        tap.check(f"{' '.join(map(str, arguments[-2:]))}: wrapped to the terminal", wrong)
    text = program.text("--explain", "dataloader-in-process")
    tap.same(("{" in text, "```" in text, "which is <window_share_ratio> of the window" in text,
              "threshold source: 2 % of the window, and where a GPU works" in text), (False, False, True, True),
             "an explanation is for people: no markup of the rubric")
    given = program.text(TRAINING, "--table", "findings").split("\n")[0].split()
    tap.same([name in given for name in ("title", "severity", "saves_us")], [True] * 3, "findings by title and severity")


def check_hostile(tap, program):
    tables = ("operators", "cpu.operators", "findings", "tables")
    outputs = [program.text(HOSTILE, "--table", table, "--limit", "0", "--format", form) for table in tables
               for form in ("text", "csv", "json")]
    outputs += [program.text(HOSTILE, "--around", f"row:{number}", "--format", form) for number in range(0, 35, 4)
                for form in ("text", "json")]
    outputs += [program.text(HOSTILE, "--summary-tokens", "5000"), program.text(HOSTILE, "--format", "text")]
    hidden = {code for text in outputs for code in text
              if (code < " " and code not in "\n\r") or code == "\x7f" or "\u202a" <= code <= "\u202e"
              or "\u2066" <= code <= "\u2069"}
    tap.same([sorted(hidden), min(map(len, outputs)) > 0], [[], True],
             "no name moves the cursor or turns the direction of writing")
    text = program.run(HOSTILE, "--table", "operators", "--limit", "0", "--format", "csv").stdout.decode()
    cells = [cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line]
    formulas = [cell for cell in cells if cell.lstrip(" ")[:1] in ("=", "+", "@")
                or (cell[:1] == "-" and not cell[1:2].isdigit())]
    tap.same(formulas, [], "no cell is a formula")
    tap.same(len(list(csv.reader(io.StringIO(text, newline="")))), len(program.rows(HOSTILE, "operators")) + 1,
             "and each row is one line")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--thorough", action="store_true", help="with every fixture")
    arguments = parser.parse_args()
    program, tap = Questions(arguments.program, arguments.thorough), Tap()
    for check in (check_rows, check_allocations, check_where, check_early, check_known, check_report_tables, check_around,
                  check_explanations, check_schema, check_digests,
                  check_cut, check_formats, check_terminal, check_widths, check_wrapped, check_hostile):
        check(tap, program)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
