#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the program side by side with its peers and say which goals are met.

Standard library only.  README.md in this folder says how to run it and what each case means.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no __pycache__ in the source tree

import measured_run
from make_inputs import parse_size

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = {"nccl": "hta_nccl_data.json.gz", "b200": "tl_b200_eager.json.gz"}
# The goals for time are those of reading with sums of operators alone; with all analyses it may take this many times as
# long.
ALL_ANALYZES = 1.4
PEAK_BYTES_PER_X = 60
PEAK_BASE_BYTES = 32 * 10**6
FIVE_GB_LIMIT = "1536M"


class Skipped(Exception):
    """Something the case needs is not there."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---------------------------------------------------------------- inputs


class Inputs:
    """Input files, made once and kept in the work folder."""

    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(options.work, "inputs")
        os.makedirs(self.folder, exist_ok=True)

    def grown(self, source, size_bytes):
        original = self.require(source)
        name = f"{source}_{size_bytes}.json"
        return self.made(name, [sys.executable, self.options.grower, original, "OUT", "--size", str(size_bytes)])

    def require(self, source):
        """The sample trace that this source grows from."""
        original = os.path.join(self.options.traces, SOURCES[source])
        for path in (self.options.grower, original):
            if not os.path.exists(path):
                raise Skipped(f"{path} not found (--grower, --traces)")
        return original

    def reindented(self, path):
        return self.made_from(path, "_indent2.json", "reindent")

    def zipped(self, path):
        return self.made_from(path, ".json.gz", "gzip")

    def snapshot(self, size_bytes):
        return self.made(f"snapshot_{size_bytes}.json", self.maker("snapshot", "OUT", "--size", str(size_bytes)))

    def facts(self, path):
        """bytes, x_events, distinct_name_bytes of a grown plain trace."""
        known = path + ".facts"
        if not os.path.exists(known):
            text = subprocess.run(self.maker("facts", path), check=True, capture_output=True, text=True).stdout
            with open(known, "w", encoding="ascii") as file:
                file.write(text)
        with open(known, encoding="ascii") as file:
            return json.load(file)

    def maker(self, *arguments):
        return [sys.executable, os.path.join(HERE, "make_inputs.py"), *arguments]

    def made_from(self, path, ending, command):
        name = os.path.basename(path).removesuffix(".json") + ending
        return self.made(name, self.maker(command, path, "OUT"))

    def made(self, name, argv):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            say(f"making {name}")
            part = os.path.join(self.folder, "part_" + name)
            subprocess.run([part if word == "OUT" else word for word in argv], check=True)
            os.rename(part, path)
        return path


# ---------------------------------------------------------------- measuring


class Bench:
    """What was measured, and the verdicts drawn from it."""

    def __init__(self, options):
        self.options = options
        self.inputs = Inputs(options)
        self.logs = os.path.join(options.work, "logs")
        os.makedirs(self.logs, exist_ok=True)
        self.measurements = []
        self.verdicts = []
        self.versions = {}

    def report_paths(self):
        return [os.path.join(self.logs, name) for name in ("report.md", "report.json")]

    def program(self, path, option="--cpu-trace", binary=None):
        markdown_path, report_path = self.report_paths()
        return [binary or self.options.program, option, path, "--md-out", markdown_path, "--json-out", report_path]

    def peer(self, name):
        path = os.path.join(self.options.peers, name)
        if not os.access(path, os.X_OK):
            raise Skipped(f"peer {name} not found (--peers FOLDER, meson compile -C BUILD bench-peers)")
        return path

    def measure(self, input_path, contenders, runs=None, x_events=None):
        """Runs all contenders in turn on one input; label -> Samples."""
        name = os.path.basename(input_path)
        say(f"{name}: {', '.join(contenders)}")
        measured_run.warm(input_path)

        def check_report(label, log_stem):
            del log_stem
            if label.startswith("program"):
                self.check_report(x_events)

        results = measured_run.run_interleaved(contenders, runs or self.options.runs, self.logs, check_report)
        for label, samples in results.items():
            self.measurements.append({"input": name, "contender": label, "samples": samples})
        return results

    def check_report(self, x_events):
        """A report must have been written by this run, and speak of every span; its cpu.summary."""
        markdown_path, path = self.report_paths()
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            os.remove(path)
            os.remove(markdown_path)
        except (OSError, ValueError) as problem:
            raise measured_run.RunFailed(f"no report: {problem}") from problem
        summary = (report.get("cpu") or {}).get("summary") or {}
        if x_events is not None and summary.get("x_events_total") != x_events:
            raise measured_run.RunFailed(
                f"report counts {summary.get('x_events_total')} X events, the input has {x_events}")
        return summary

    def judge(self, case, what, value, best, goal, note=""):
        """goal: ('>=' or '<=', limit)."""
        sign, limit = goal
        passed = value >= limit if sign == ">=" else value <= limit
        self.verdicts.append(
            {"case": case, "what": what, "value": value, "best": best, "goal": f"{sign} {limit:g}",
             "verdict": "PASS" if passed else "MISS", "note": note})

    def judge_ratio(self, case, what, over, under, goal):
        """over / under, by medians; beside it by best times and by processor time."""
        note = f"by CPU time {over.median_cpu_s() / under.median_cpu_s():.2f}"
        self.judge(case, what, over.median_wall_s() / under.median_wall_s(),
                   over.best_wall_s() / under.best_wall_s(), goal, note)

    def set_aside(self, case, verdict, reason):
        say(f"*** {verdict}: case {case}: {reason}")
        self.verdicts.append({"case": case, "what": "", "value": None, "best": None, "goal": "",
                              "verdict": verdict, "note": str(reason)})


# ---------------------------------------------------------------- cases


def require_program(bench):
    if not os.access(bench.options.program, os.X_OK):
        raise Skipped(f"program {bench.options.program} not found (--program)")


def case_plain(bench, source):
    require_program(bench)
    peer = bench.peer("peer_simdjson")
    path = bench.inputs.grown(source, bench.options.big)
    facts = bench.inputs.facts(path)
    found = bench.measure(path, {"program": bench.program(path), "simdjson": [peer, path]}, x_events=facts["x_events"])
    bench.judge_ratio("plain", f"{source}: simdjson / program", found["simdjson"], found["program"],
                      (">=", 2.5 / ALL_ANALYZES))
    gb = facts["bytes"] / 1e9
    bench.judge("plain", f"{source}: GB/s", gb / found["program"].median_wall_s(),
                gb / found["program"].best_wall_s(), (">=", 0.95 / ALL_ANALYZES))


def case_reindent(bench, source):
    require_program(bench)
    plain = bench.inputs.grown(source, bench.options.medium)
    wide = bench.inputs.reindented(plain)
    x_events = bench.inputs.facts(plain)["x_events"]
    measured_run.warm(plain)
    found = bench.measure(wide, {"program": bench.program(wide), "program-plain": bench.program(plain)}, x_events=x_events)
    scale = os.path.getsize(plain) / os.path.getsize(wide)
    bench.judge("reindent", f"{source}: time per byte, re-indented / plain",
                found["program"].median_wall_s() / found["program-plain"].median_wall_s() * scale,
                found["program"].best_wall_s() / found["program-plain"].best_wall_s() * scale, ("<=", 2.5))


def case_gz(bench, source):
    plain = bench.inputs.grown(source, bench.options.big)
    path = bench.inputs.zipped(plain)
    x_events = bench.inputs.facts(plain)["x_events"]
    for library, limit in (("zlib", 1.3), ("isal", 2.2)):
        binary = getattr(bench.options, f"program_{library}")
        if not binary or not os.access(binary, os.X_OK):
            bench.set_aside(f"gz {source}", "SKIPPED", f"no program built with {library} (--program-{library})")
            continue
        alone, ours = f"inflate-{library}", f"program-{library}"
        contenders = {ours: bench.program(path, binary=binary), alone: [bench.peer("inflate_alone"), library, path]}
        found = bench.measure(path, contenders, x_events=x_events)
        bench.judge_ratio("gz", f"{source}: program / {library} alone", found[ours], found[alone],
                          ("<=", limit * ALL_ANALYZES))


def case_python(bench, source):
    require_program(bench)
    path = bench.inputs.grown(source, bench.options.medium)
    contenders = {"program": bench.program(path), "python": [sys.executable, os.path.join(HERE, "peer_python.py"), path]}
    found = bench.measure(path, contenders, bench.options.slow_runs, bench.inputs.facts(path)["x_events"])
    bench.judge_ratio("python", f"{source}: Python json / program", found["python"], found["program"],
                      (">=", 20 / ALL_ANALYZES))


def hta_folder(bench, path):
    """HTA reads a folder; give it one with nothing but this trace in it."""
    folder = path.removesuffix(".json") + "_hta"
    os.makedirs(folder, exist_ok=True)
    inside = os.path.join(folder, os.path.basename(path))
    if not os.path.exists(inside):
        os.link(path, inside)
    return folder


def case_hta(bench, source):
    require_program(bench)
    python = bench.options.hta_python
    if not python or not os.access(python, os.X_OK):
        raise Skipped("no Python with HolisticTraceAnalysis (--hta-python)")
    path = bench.inputs.grown(source, bench.options.medium)
    folder = hta_folder(bench, path)
    contenders = {"program": bench.program(path), "hta": [python, os.path.join(HERE, "peer_hta.py"), folder]}
    found = bench.measure(path, contenders, bench.options.slow_runs, bench.inputs.facts(path)["x_events"])
    for line in measured_run.text_of(os.path.join(bench.logs, "hta.out")).splitlines():
        if line.startswith("versions "):
            bench.versions["hta"] = line.removeprefix("versions ")
    bench.judge_ratio("hta", f"{source}: HTA / program", found["hta"], found["program"], (">=", 60 / ALL_ANALYZES))


def judge_peak(bench, case, what, peak_bytes, x_events, name_bytes):
    allowed = PEAK_BYTES_PER_X * x_events + name_bytes + PEAK_BASE_BYTES
    note = f"{peak_bytes / 1e6:.1f} MB of {allowed / 1e6:.1f} MB for {x_events} X events"
    bench.judge(case, what + ": peak memory / allowed", peak_bytes / allowed, None, ("<=", 1.0), note)


def case_memory(bench, source):
    require_program(bench)
    plain = bench.inputs.grown(source, bench.options.big)
    facts = bench.inputs.facts(plain)
    for path in (plain, bench.inputs.zipped(plain)):
        found = bench.measure(path, {"program": bench.program(path)}, 1, facts["x_events"])
        what = f"{source} {'gz' if path.endswith('.gz') else 'plain'}"
        judge_peak(bench, "memory", what, found["program"].peak_bytes(), facts["x_events"], facts["distinct_name_bytes"])


def case_proportion(bench, source):
    """Both sizes in turn in one series, so that both see the same machine."""
    require_program(bench)
    small, big = (bench.inputs.grown(source, size) for size in (bench.options.small, bench.options.big))
    measured_run.warm(small)
    found = bench.measure(big, {"program-small": bench.program(small), "program-big": bench.program(big)})
    scale = os.path.getsize(small) / os.path.getsize(big)
    ratio = found["program-big"].median_wall_s() / found["program-small"].median_wall_s() * scale
    best = found["program-big"].best_wall_s() / found["program-small"].best_wall_s() * scale
    bench.judge("proportion", f"{source}: time per byte, big / small, distance from 1", abs(ratio - 1), abs(best - 1),
                ("<=", 0.15), f"ratio {ratio:.3f}")


def case_snapshot(bench):
    require_program(bench)
    path = bench.inputs.snapshot(bench.options.snapshot)
    found = bench.measure(path, {"program": bench.program(path, "--memory-json")})
    gb = os.path.getsize(path) / 1e9
    bench.judge("snapshot", "GB/s", gb / found["program"].median_wall_s(), gb / found["program"].best_wall_s(), (">=", 0.6))


def pipe_grown(bench, source, size_bytes):
    """The grower writes into the program's standard input; nothing of it touches the disk.
    The sample, and what the grower said of its output."""
    original = bench.inputs.require(source)
    reading, writing = os.pipe()
    grower = subprocess.Popen(
        [sys.executable, bench.options.grower, original, "/dev/stdout", "--size", str(size_bytes)],
        stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    argv = bench.program("-") + ["--max-memory", FIVE_GB_LIMIT]
    log_stem = os.path.join(bench.logs, "program-five-gb")
    began_s = time.monotonic()
    pid = measured_run.start(argv, log_stem, reading)
    os.close(reading)
    code, sample = measured_run.wait_measured(pid, began_s)
    said = grower.communicate()[1].strip()
    measured_run.require_success(argv, code, log_stem)
    return sample, said


def case_five_gb(bench):
    require_program(bench)
    source = bench.options.sources[0]
    say(f"five_gb: {bench.options.five_gb_size} bytes through a pipe; this takes minutes")
    sample, said = pipe_grown(bench, source, bench.options.five_gb_size)
    summary = bench.check_report(None)
    if f" {summary.get('events_total')} events," not in said:
        raise measured_run.RunFailed(f"report counts {summary.get('events_total')} events; the grower: {said}")
    samples = measured_run.Samples()
    samples.runs.append(sample)
    bench.measurements.append({"input": f"{source}, piped", "contender": "program-five-gb", "samples": samples})
    limit_bytes = int(FIVE_GB_LIMIT.removesuffix("M")) << 20
    bench.judge("five_gb", f"{source}: peak memory MB", sample.peak_bytes / 1e6, None, ("<=", limit_bytes // 10**6),
                f"--max-memory {FIVE_GB_LIMIT}; the time is the grower's")
    judge_peak(bench, "five_gb", source, sample.peak_bytes, summary["x_events_total"], 0)


PER_SOURCE = {
    "plain": case_plain,
    "reindent": case_reindent,
    "gz": case_gz,
    "python": case_python,
    "hta": case_hta,
    "memory": case_memory,
    "proportion": case_proportion,
}
ONCE = {"snapshot": case_snapshot, "five_gb": case_five_gb}


def attempt(bench, name, case, *arguments):
    label = " ".join((name, *arguments))
    try:
        case(bench, *arguments)
    except Skipped as reason:
        bench.set_aside(label, "SKIPPED", reason)
    except (measured_run.RunFailed, subprocess.CalledProcessError, OSError) as reason:
        bench.set_aside(label, "FAILED", reason)


def run_cases(bench):
    for name in bench.options.only:
        if name in PER_SOURCE:
            for source in bench.options.sources:
                attempt(bench, name, PER_SOURCE[name], source)
        else:
            attempt(bench, name, ONCE[name])


# ---------------------------------------------------------------- results


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": models[0] if models else platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": memory_bytes,
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def library_versions():
    found = {}
    for name in ("simdjson", "zlib", "libisal"):
        try:
            asked = subprocess.run(["pkg-config", "--modversion", name], capture_output=True, text=True, check=False)
        except OSError:
            break
        if asked.returncode == 0:
            found[name] = asked.stdout.strip()
    return found


def verdict_lines(verdicts):
    yield "| case | figure | by median | by best | goal | verdict | note |"
    yield "|---|---|---|---|---|---|---|"
    for row in verdicts:
        value, best = ("" if row[key] is None else f"{row[key]:.3g}" for key in ("value", "best"))
        yield f"| {row['case']} | {row['what']} | {value} | {best} | {row['goal']} | {row['verdict']} | {row['note']} |"


def measurement_lines(measurements):
    yield "| input | contender | runs | wall s, median | best | user | system | peak MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in measurements:
        samples = row["samples"]
        yield (
            f"| {row['input']} | {row['contender']} | {len(samples.runs)} | {samples.median_wall_s():.3f} |"
            f" {samples.best_wall_s():.3f} | {samples.median_of('user_s'):.2f} | {samples.median_of('system_s'):.2f} |"
            f" {samples.peak_bytes() / 1e6:.1f} |")


def markdown(bench, place):
    versions = ", ".join(f"{name} {version}" for name, version in bench.versions.items())
    yield "# Benchmark"
    yield ""
    yield (f"{place['processor']}, {place['processors']} processors, {place['memory_bytes'] / 1e9:.0f} GB, "
           f"{place['system']},"
           f" Python {place['python']}; load at the start {place['load_average']:.2f}.")
    yield f"Peers: {versions}."
    yield ""
    yield from verdict_lines(bench.verdicts)
    yield ""
    yield from measurement_lines(bench.measurements)


def write_results(bench, place):
    text = "\n".join(markdown(bench, place)) + "\n"
    print(text, end="")
    with open(os.path.join(bench.options.work, "results.md"), "w", encoding="utf-8") as file:
        file.write(text)
    result = {
        "machine": place,
        "versions": bench.versions,
        "sizes_bytes": {name: getattr(bench.options, name) for name in ("big", "medium", "small", "snapshot")},
        "verdicts": bench.verdicts,
        "measurements": [{**row, "samples": row["samples"].as_json()} for row in bench.measurements],
    }
    with open(bench.options.json_out or os.path.join(bench.options.work, "results.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


# ---------------------------------------------------------------- command line


def names_of(known):
    def split(text):
        names = [name for name in text.split(",") if name]
        unknown = set(names) - set(known)
        if unknown or not names:
            raise argparse.ArgumentTypeError(f"choose among {', '.join(known)}")
        return names
    return split


def find_program(build):
    """Where in the build folder it lies is the build's affair."""
    for folder, _, names in os.walk(build):
        path = os.path.join(folder, "analyze_profile")
        if "analyze_profile" in names and os.access(path, os.X_OK):
            return path
    return os.path.join(build, "analyze_profile")


def parse_arguments():
    shared = os.path.join(os.path.dirname(ROOT), "shared")
    cases = [*PER_SOURCE, *ONCE]
    usual = [name for name in cases if name != "five_gb"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--build", default=os.path.join(ROOT, "build"), help="build folder with program and peers; default: build")
    add("--program", help="default: analyze_profile in the build folder")
    add("--program-zlib", help="the program built with -Dinflate=zlib")
    add("--program-isal", help="the program built with -Dinflate=isal")
    add("--peers", help="folder of the built peers; default: tools/bench in the build folder")
    add("--hta-python", help="a Python that has HolisticTraceAnalysis")
    add("--traces", default=os.environ.get("AP_TRACES", os.path.join(shared, "traces")), help="folder of the sample traces")
    add("--grower", default=os.path.join(shared, "tools", "make_big_trace.py"), help="the script that grows a trace")
    add("--work", default=os.path.join(tempfile.gettempdir(), "ap_bench"), help="inputs, logs and results go here")
    add("--json-out", help="default: results.json in the work folder")
    add("--only", type=names_of(cases), default=usual, metavar="CASE,...", help=", ".join(cases))
    add("--sources", type=names_of(SOURCES), default=list(SOURCES), metavar="NAME,...", help=", ".join(SOURCES))
    add("--runs", type=int, default=5)
    add("--slow-runs", type=int, default=2, help="runs beside Python and HTA")
    add("--big", type=parse_size, default=10**9)
    add("--medium", type=parse_size, default=300 * 10**6)
    add("--small", type=parse_size, default=100 * 10**6)
    add("--snapshot", type=parse_size, default=300 * 10**6)
    add("--five-gb", action="store_true", help="add the case five_gb")
    add("--five-gb-size", type=parse_size, default=5 * 10**9)
    options = parser.parse_args()
    options.program = options.program or find_program(options.build)
    options.peers = options.peers or os.path.join(options.build, "tools", "bench")
    if options.five_gb and "five_gb" not in options.only:
        options.only = options.only + ["five_gb"]
    if options.runs < 1 or options.slow_runs < 1:
        parser.error("at least one run")
    return options


def main():
    options = parse_arguments()
    bench = Bench(options)
    place = machine()
    bench.versions = library_versions()
    run_cases(bench)
    write_results(bench, place)
    return 0 if all(row["verdict"] == "PASS" for row in bench.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
