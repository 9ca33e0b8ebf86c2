#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--baseline, --fail-on, --junit-out, --github-annotations and --series, on runs of one simulated program: again with other
noise alone, and with slow-downs planted. Prints TAP."""

import gzip
import json
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

from golden import load_validator
from program import ROOT, Program, program_of
from tap import Tap
import make_fixtures

STEPS = 12
CHANGES = ("worse", "better", "differs", "changed", "new", "gone")


class Runs(Program):
    """Traces of one program, and the tool over them."""

    def __init__(self, program, folder):
        super().__init__(program, folder)
        self.invalid = load_validator(ROOT / "references" / "report-schema.json")

    def trace(self, name, seed, **changes):
        plan = dict(steps=STEPS, loader_us=900.0, gemm_us=190.0, copy_us=120.0)
        plan.update(changes)
        sim = make_fixtures.Sim(seed=seed, memory=True)
        sim.process()
        loop = make_fixtures.TrainingLoop(sim, make_fixtures.Plan(**plan))
        loop.run()
        loop.main.wait_for(loop.compute, "cudaDeviceSynchronize")
        head = make_fixtures.head_2025([make_fixtures.A100], ["record_shapes", "profile_memory"])
        text = make_fixtures.kineto_document(sim.finish(), head, make_fixtures.TRACE_NAME)
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def report(self, *arguments):
        """(exit code, report, Markdown)"""
        path = self.folder / "report.json"
        done = self.run(*arguments, "--json-out", path)
        return done.returncode, json.loads(path.read_text(encoding="utf-8")), done.stdout.decode()

    def page(self, *arguments):
        """The HTML report."""
        path = self.folder / "report.html"
        self.run(*arguments, "--html-out", path)
        return path.read_text(encoding="utf-8")


def changed(comparison, *paths):
    """The names of all rows that are called a change."""
    found = []
    for path in paths or ("split.parts", "device_operators.rows", "host_operators.rows", "kernels.rows", "figures",
                          "memory"):
        rows = comparison
        for key in path.split("."):
            rows = rows[key] if rows else []
        found += [next(iter(row.values())) for row in rows if row["change"] in CHANGES]
    return found


def mirrored(change):
    return {"worse": "better", "better": "worse", "new": "gone", "gone": "new"}.get(change, change)


def check_noise(tap, runs, old, old_report):
    for seed in (2, 3, 4):
        new = runs.trace("twin.json", seed)
        code, report, markdown = runs.report(new, "--baseline", old_report)
        comparison = report["comparison"]
        tap.same([code, comparison["steps"]["change"], changed(comparison)], [0, "no change", []],
                 f"noise alone is no change (seed {seed})")
        tap.same([markdown.count("## Compared with the baseline"), "Mann-Whitney U" in markdown], [1, True],
                 "the comparison stands in the Markdown and names its test")
    code, report, _ = runs.report(old, "--baseline", old_report)
    rows = report["comparison"]["split"]["parts"]
    tap.same([changed(report["comparison"]), report["comparison"]["findings"]["rows"], {row["delta_us"] for row in rows},
              {row["delta"] for row in report["comparison"]["figures"] + report["comparison"]["memory"]}],
             [[], [], {0}, {0}],
             "a run is not different from itself")


def check_planted(tap, runs, old):
    slow = runs.trace("slow.json", 2, loader_us=1800.0)
    code, report, markdown = runs.report(slow, "--baseline", old)
    comparison = report["comparison"]
    tap.same([code, comparison["steps"]["change"], comparison["baseline"]["kind"]], [0, "differs", "trace"],
             "a planted slow-down is found")
    tap.same(comparison["steps"]["p_value"] < 0.001 and 0.2 < comparison["steps"]["delta_ratio"] < 0.6, True,
             "it is far beyond noise, and of the size that was planted")
    tap.same("idle_causes.data_loading" in changed(comparison, "split.parts"), True, "it is where it was planted")
    where = "the largest part of it in idle time in which the host waited for, or made, the next batch, +"
    tap.same(where in comparison["verdict"]["sentence"] and "Steps differ" in markdown, True, "the verdict says where")
    tap.same([row["change"] for row in comparison["findings"]["rows"] if row["rule_id"] == "dataloader-in-process"],
             ["differs"],
             "the finding about it moved, too")
    page = runs.page(slow, "--baseline", old, "--fail-on", "steps.p50_us > +5%")
    tap.same(["<strong>Steps differ" in page, page.count('id="conditions"'), "comparison.split.parts" in page],
             [True, 1, True], "the HTML report says it, too, with the condition and the tables")
    _, back, _ = runs.report(old, "--baseline", slow)
    other = back["comparison"]
    tap.same([mirrored(row["change"]) for row in other["split"]["parts"]],
             [row["change"] for row in comparison["split"]["parts"]],
             "the other way round everything is the other way round")
    tap.same([-row["delta_us"] for row in other["split"]["parts"]],
             [row["delta_us"] for row in comparison["split"]["parts"]],
             "and the differences have the other sign")
    tap.same([other["steps"]["change"], -other["steps"]["shift_us"]], ["differs", comparison["steps"]["shift_us"]],
             "steps, too")
    return slow


def check_same_work(tap, runs):
    """A device at a lower clock: all kernels take a quarter longer, and the program is what it was."""
    times = dict(loader_us=20.0, gemm_us=400.0, pointwise_us=60.0, fused_us=200.0)
    longer = {name: us * (1 if name == "loader_us" else 1.25) for name, us in times.items()}
    before = runs.trace("clock.json", 1, **times)
    told = "the same kernels on the same shapes, called as often, take 1.25 times as long"
    for name, changes, same in (("lower.json", {}, True), ("wider.json", {"width": 1280}, False),
                                ("half.json", {"dtype": "c10::Half"}, False)):
        _, report, _ = runs.report(runs.trace(name, 2, **longer, **changes), "--baseline", before)
        comparison = report["comparison"]
        work = comparison["same_work"]
        tap.same([work is not None and round(work["times"], 2) == 1.25 and work["share_ratio"] > 0.9,
                  told in comparison["verdict"]["sentence"]], [same, same], f"the same work takes longer, or not: {name}")
        if same and runs.invalid:
            tap.same(runs.invalid((runs.folder / "report.json").read_bytes()), [], "as the schema says")


def check_operators(tap, runs, old):
    heavy = runs.trace("heavy.json", 2, gemm_us=240.0)
    _, report, _ = runs.report(heavy, "--baseline", old)
    comparison = report["comparison"]
    tap.same(changed(comparison, "device_operators.rows"), ["aten::mm", "aten::addmm"],
             "the operators that became slower, and no other")
    tap.same([row["change"] for row in comparison["kernels"]["rows"]], ["differs", "differs"], "their kernels")
    wide = runs.trace("wide.json", 2, layers=6)
    _, report, _ = runs.report(wide, "--baseline", old)
    tap.same("trace_memory.devices.peak_allocated_bytes" in changed(report["comparison"], "memory"), True,
             "more memory is told")
    few = runs.trace("few.json", 5, steps=3, loader_us=1800.0)
    _, report, markdown = runs.report(few, "--baseline", few)
    tap.same(report["comparison"]["steps"]["change"], "too few values", "even equal steps are too few for the test")
    tap.same(["Both are the same recording" in markdown, "no slower" in markdown, changed(report["comparison"])],
             [True, False, []], "a file that is given twice is told, and nothing changed")
    few_old = runs.trace("few_old.json", 6, steps=3)
    _, report, markdown = runs.report(few_old, "--baseline", runs.trace("few_twin.json", 7, steps=3))
    tap.same([report["comparison"]["steps"]["change"], report["comparison"]["steps"]["test"]], ["too few values", None],
             "three steps are too few for the test")
    tap.same("too few steady steps" in markdown, True, "which is said")
    _, report, markdown = runs.report(few, "--baseline", few_old)
    steps = report["comparison"]["steps"]
    tap.same([steps["change"], steps["test"]], ["differs", None],
             "three that are all longer, by more than the noise, differ")
    tap.same("are too few for a test, but do not overlap" in markdown, True, "which is said")
    _, report, _ = runs.report(runs.trace("two.json", 5, steps=2, loader_us=1800.0), "--baseline",
                               runs.trace("two_old.json", 6, steps=2))
    tap.same(report["comparison"]["steps"]["change"] in ("too few values", "unknown"), True, "of two nobody can tell")
    far = runs.trace("far.json", 5, steps=2, loader_us=9000.0)
    _, report, markdown = runs.report(far, "--baseline", runs.folder / "two_old.json")
    tap.same([report["comparison"]["steps"]["change"], "too few for a test, but do not overlap" in markdown],
             ["differs", True], "but of two that are far apart")
    _, report, _ = runs.report(runs.trace("one.json", 5, steps=1, loader_us=9000.0), "--baseline",
                               runs.trace("one_old.json", 6, steps=1))
    tap.same(report["comparison"]["steps"]["change"] in ("too few values", "unknown", None), True, "and of one nobody can")


def check_runs(tap, runs, old):
    """Three runs a side: the test is between runs."""
    before = [old] + [runs.trace(f"again{seed}.json", seed) for seed in (11, 12)]
    after = [runs.trace(f"slow{seed}.json", seed, loader_us=1800.0) for seed in (13, 14, 15)]
    sides = [part for path in before for part in ("--baseline", path)]
    sides += [part for path in after[1:] for part in ("--rerun", path)]
    code, report, markdown = runs.report(after[0], *sides)
    comparison = report["comparison"]
    tap.same([code, comparison["steps"]["change"], comparison["runs"]["tested"], comparison["steps"]["before_count"]],
             [0, "worse", "runs", 3], "three runs a side that stand apart are slower")
    tap.same([row["path"] for row in comparison["runs"]["before"] + comparison["runs"]["after"]],
             [str(path) for path in before + after], "all runs are named")
    tap.same([report["findings"][0]["rule_id"], report["findings"][0]["confidence"], "so few" in markdown,
              "one run a side" in markdown],
             ["slower-than-before", "high", False, False], "what changed most comes first, and is sure")
    code, report, markdown = runs.report(before[0], *[part for path in before[1:] for part in ("--baseline", path)],
                                         "--rerun", before[1])
    tap.same([code, changed(report["comparison"])], [0, []], "runs of one program have no change")
    tap.same([runs.run(old, "--rerun", old).returncode, b"--baseline" in runs.run(old, "--rerun", old).stderr], [2, True],
             "more runs without a baseline are a mistake")
    tap.same(runs.run(old, "--baseline", old, "--rerun", before[1], "--json-out", before[1]).returncode, 2,
             "no run is overwritten")


def check_conditions(tap, runs, old, slow):
    junit = runs.folder / "junit.xml"
    wanted = ["high,steps.p50_us > +5%", "steps.p50_us>10s", "memory.replay.devices.peak_reserved_bytes > 40GiB"]
    arguments = [part for text in wanted for part in ("--fail-on", text)]
    code, report, markdown = runs.report(slow, "--baseline", old, *arguments, "--junit-out", junit)
    rows = {row["condition"]: row for row in report["conditions"]}
    tap.same([code, [row["held"] for row in report["conditions"]][1:]], [1, [True, False, None]], "conditions are judged")
    tap.same(rows["steps.p50_us>10s"]["limit"], 10_000_000, "a limit is in the unit of the figure")
    tap.same(markdown.count("**fails**") >= 1 and "**not known**" not in markdown and "not known:" in markdown, True,
             "they stand in the Markdown")
    twin = runs.trace("twin.json", 3)
    done = runs.run(twin, "--baseline", old, "--fail-on", "steps.p50_us > -50%", "--junit-out", junit,
                    "--github-annotations")
    tap.same([done.returncode, b"; within the noise (p = " in done.stderr,
              "; within the noise (p = " in junit.read_text(encoding="utf-8")],
             [1, True, True], "a condition that fails on noise says so, in the annotation and in JUnit XML")
    code, report, markdown = runs.report(slow, "--baseline", old, *arguments, "--junit-out", junit)
    tap.same([row["change"] for row in report["conditions"]][1:], ["differs", None, None],
             "what the comparison calls it stands beside")
    suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    tap.same([suite.get("tests"), suite.get("skipped"), [case.get("name") for case in suite]],
             ["4", "1", list(rows)], "JUnit XML has a test case each")
    tap.same([case.find("failure") is not None for case in suite], [row["held"] is True for row in rows.values()],
             "with its outcome")
    tap.same(runs.run(slow, "--fail-on", "steps.p50_us > 10s").returncode, 0, "what does not hold fails nothing")
    report = runs.report(slow)[1]
    worst = max((found["severity"] for found in report["findings"]), key=["info", "low", "medium", "high", "critical"].index)
    told = runs.report(slow, "--baseline", slow, "--fail-on", f"{worst},new:{worst}")[1]["conditions"]
    tap.same([row["held"] for row in told], [True, False], f"what the baseline has is not new: {worst}")
    first = runs.report(slow, "--fail-on", f"new:{worst}")[1]["conditions"]
    tap.same([first[0]["held"], "no baseline" in first[0]["text"]], [False, True], "a first run passes, and says so")
    healthy = runs.folder / "healthy.json"
    healthy.write_text(json.dumps({**report, "findings": []}))
    new = runs.report(slow, "--baseline", healthy, "--fail-on", f"new:{worst}")[1]["conditions"]
    noted = runs.run(slow, "--baseline", slow, "--fail-on", "new:low", "--github-annotations").stderr
    tap.same(noted, b"", "nothing new, no annotation")
    tap.same([new[0]["held"], new[0]["text"].split(" of ")[0].split()[-2]], [True, "new"], "what it lacks is new")
    unknown = ["--fail-on", "memory.summary.reserved_bytes > 1G"]
    done = runs.run(slow, *unknown)
    tap.same([done.returncode, b"is not known in this report" in done.stderr], [0, True],
             "nor does a figure that is not known, which is said")
    tap.same(runs.run(slow, *unknown, "--strict").returncode, 1, "but with --strict it does")
    done = runs.run(slow, "--baseline", old, *arguments, "--github-annotations")
    lines = done.stderr.decode().splitlines()
    severe = sum(finding["severity"] in ("critical", "high") for finding in report["findings"])
    tap.same([line.split(" ")[0] for line in lines if line.startswith("::error")],
             ["::error"] * (1 + rows["high"]["held"] + severe), "annotations are errors for conditions that hold")
    tap.same(all(line.startswith(("::error title=", "::warning title=")) for line in lines), True, "and warnings else")
    tap.same(any("+5%25::" in line for line in lines), True, "their text is escaped")
    stranded = runs.run(ROOT / "fixtures" / "snapshots" / "fragmented.json", "--fail-on", "low", "--github-annotations")
    tap.same(b"::warning file=/srv/train/model.py,line=48,title=Free memory" in stranded.stderr, True,
             "a finding with a line stands beside it")
    done = runs.run(slow, "--fail-on", "low", "--github-annotations", "--json-out", runs.folder / "report.json")
    lines = [line.split("::")[1] for line in done.stderr.decode().splitlines()]
    severe = [finding["severity"]
              for finding in json.loads((runs.folder / "report.json").read_text(encoding="utf-8"))["findings"]
              if finding["severity"] != "info"]
    tap.same(sorted(line.split(" ")[0] for line in lines),
             sorted(["error"] + ["error" if severity in ("critical", "high") else "warning" for severity in severe]),
             "every finding that makes a severity hold is annotated, the two highest as errors")
    tap.same("error" in [line.split(" ")[0] for line in runs.run(slow, "--github-annotations").stderr.decode().split("::")],
             False,
             "without a condition nothing is an error")
    many = runs.run(slow, "--fail-on", ",".join(f"steps.count > {limit}" for limit in range(11)),
                    "--github-annotations").stderr.decode()
    tap.same([many.count("::error"), many.splitlines()[-1]],
             [10, "::notice title=more annotations::1 more are left out; the report has all findings"],
             "more than the runner takes are counted")
    hostile = ROOT / "fixtures/traces/hostile_names.json"
    lines = runs.run(hostile, "--baseline", old, "--fail-on", "low", "--github-annotations", "--junit-out",
                     junit).stderr.decode().splitlines()
    tap.same([line for line in lines if not line.startswith(("::error title=", "::warning title="))], [],
             "hostile names begin no line")
    tap.same(xml.etree.ElementTree.parse(junit).getroot().tag, "testsuites", "and break no XML")
    for text, want in (("steps.p50 > 5ms", b"steps.p50_us"), ("steps.p50_us > +5%", b"--baseline"),
                       ("steps.p50_us > 5", b"1.5 ms"),
                       ("steps.p50_us", b"<="), ("high,", b"severity"), ("urgent", b"critical"),
                       ("steps.count > 5ms", b"without unit")):
        done = runs.run(slow, "--fail-on", text)
        tap.same([done.returncode, want in done.stderr, done.stdout], [2, True, b""],
                 f"{text!r} is a mistake in the command line")
    tap.same(runs.run(slow, "--junit-out", junit).returncode, 2, "--junit-out without --fail-on is one, too")


def check_snapshots(tap, runs):
    modern, churn = ROOT / "fixtures/snapshots/modern.json.gz", ROOT / "fixtures/snapshots/churn.json"
    _, report, markdown = runs.report(modern, "--baseline", churn)
    verdict = report["comparison"]["verdict"]
    owners = {row["name"]: row["change"] for row in report["comparison"]["memory_owners"]["rows"]}
    tap.same([owners["/srv/train/train.py:76 train_step"], report["comparison"]["memory_owners"]["complete"]],
             ["worse", True],
             "who holds more is told")
    tap.same([verdict["change"] in ("worse", "better"), "Peak reserved" in verdict["sentence"], "Noise" in markdown],
             [True, True, False],
             "snapshots are compared by their peak")
    _, report, _ = runs.report(modern, "--baseline", modern)
    tap.same([report["comparison"]["verdict"]["change"], changed(report["comparison"])], ["no change", []],
             "one is not different from itself")
    jobs = ROOT / "fixtures" / "scenarios"
    _, report, _ = runs.report(jobs / "leak-without-stacks-healthy" / "snapshot.json.gz", "--baseline",
                               jobs / "activation-cache-leak-healthy" / "snapshot.json.gz")
    tap.same([report["comparison"]["memory_owners"], [n for n in report["comparison"]["notes"] if "stacks" in n] != [],
              [f["rule_id"] for f in report["findings"] if f["rule_id"] == "memory-grew"]], [None, True, []],
             "a snapshot without stacks does not hold more in no line")
    _, report, _ = runs.report(jobs / "activation-cache-leak" / "snapshot.json.gz", "--baseline",
                               jobs / "activation-cache-leak-healthy" / "snapshot.json.gz")
    tap.ok("; what changed most at the peak: /srv/job/probe.py:31 keep_output, +" in
           report["comparison"]["verdict"]["sentence"], "who holds more is in the lead",
           report["comparison"]["verdict"]["sentence"])
    tap.same([report["findings"][0]["rule_id"], report["comparison"]["largest"]["memory"]["name"]],
             ["memory-leak", "/srv/job/probe.py:31 keep_output"], "of what grew for a new leak the leak is told")
    folders = "/opt/conda/lib/python3.11/site-packages/some_package/models/probe.py"
    far = []
    for job in ("activation-cache-leak", "activation-cache-leak-healthy"):
        text = gzip.decompress((jobs / job / "snapshot.json.gz").read_bytes()).decode()
        far.append(runs.folder / f"{job}.json")
        far[-1].write_text(text.replace("/srv/job/probe.py", folders), encoding="utf-8")
    _, report, _ = runs.report(far[0], "--baseline", far[1])
    tap.ok(f"; what changed most at the peak: {folders}:31 keep_output, +" in report["comparison"]["verdict"]["sentence"],
           "whole, however many folders it lies in", report["comparison"]["verdict"]["sentence"])
    for path in far:
        bare = json.loads(path.read_text(encoding="utf-8"),
                          object_hook=lambda of: {key: [] if key == "frames" else held for key, held in of.items()})
        path.write_text(json.dumps(bare), encoding="utf-8")
    _, report, _ = runs.report(far[0], "--baseline", far[1])
    tap.ok("; what changed most at the peak: memory without a stack, +" in report["comparison"]["verdict"]["sentence"],
           "or that nothing tells who does", report["comparison"]["verdict"]["sentence"])


def check_baselines(tap, runs, old, old_report):
    report = json.loads(old_report.read_text(encoding="utf-8"))

    def given(change, claim, want_code, want_text=b""):
        path = runs.folder / "baseline.json"
        path.write_text(change if isinstance(change, str) else json.dumps(change), encoding="utf-8")
        done = runs.run(old, "--baseline", path)
        tap.same([done.returncode, want_text in done.stderr], [want_code, True], claim)

    given(dict(report, schema_version="1.7", news={"a": [1, {"b": None}]}), "a later report of the same format is read", 0)
    given(dict(report, schema_version="2.0"), "one of another format is not", 3, b"format 2.0")
    given(dict(report, generator={"name": "other"}), "nor what another program wrote", 3, b"no report of this program")
    given({"schema_version": "1.0", "generator": {"name": "analyze_profile"}}, "a report without anything is one", 0)
    given('{"schema_version": "1.0", "x": ' + "[" * 100 + "]" * 100 + "}", "nesting is bounded", 5)
    given('{"schema_version": "1.0", "generator": {"name"', "a cut one is refused", 3)
    given({"a": 1}, "what is none is refused", 3, b"was expected as the baseline")
    given("\x80\x04", "as is a pickle", 3)
    report["findings"].append({"rule_id": "<img src=x>|`a`", "title": "[x](javascript:1) | <b>",
                               "severity": "critical\n# x"})
    report["operators"]["top"].append({"name": "a|b\n## c", "device_self_us": 10**9, "count": 3})
    report["steps"]["rows"] += [{"steady": True, "dur_us": -5}, {"steady": True, "dur_us": "x"}, 7, None]
    report["context"] = {"a\nb": "c\n# d", "n": 5}
    given(report, "hostile names and odd rows are survived", 0)
    done = runs.run(old, "--baseline", runs.folder / "baseline.json")
    tap.same([line for line in done.stdout.decode().splitlines() if line.startswith(("# x", "## c", "# d"))
              or "<img" in line], [],
             "and their text stays text")
    tap.same(runs.run(old, "--baseline", "-").returncode, 2, "standard input is no baseline")
    tap.same(runs.run(old_report).returncode, 2, "a report is no input of its own")
    tap.same(runs.run(old, "--baseline", old_report, "--json-out", old_report).returncode, 2, "nor is it written over")


def check_series(tap, runs):
    """Kernels in proportion to the batch."""
    sizes = (8, 16, 32, 64)
    traces = [runs.trace(f"b{size}.json", 20 + size, batch=size, width=65536, gemm_us=40.0 * size, steps=6)
              for size in sizes]
    code, report, markdown = runs.report("--series", *(f"{size}={trace}" for size, trace in zip(sizes, traces)))
    series = report["series"]
    tap.same([code, [point["batch"] for point in series["points"]]], [0, list(sizes)], "a point for each batch size")
    (traces[0].parent / "lr=1").mkdir(exist_ok=True)
    named = [trace.rename(trace.parent / "lr=1" / f"8={trace.name}") for trace in traces[:2]]
    code, of_two, _ = runs.report("--series", *(f"{size}={trace}" for size, trace in zip(sizes, named)))
    tap.same([code, [point["batch"] for point in of_two["series"]["points"]]], [0, list(sizes[:2])],
             "names may hold what parts them from the size")
    traces[:2] = named
    rates = [point["samples_per_s"] for point in series["points"]]
    tap.same(rates == sorted(rates), True, "throughput rises with the size")
    tap.same([series["memory"]["per_sample_bytes"] > 0, series["memory"]["largest_batch"] > 64], [True, True],
             "memory grows with it, and a larger one would fit")
    tap.same(series["memory"]["fixed_bytes"] + series["memory"]["per_sample_bytes"] * series["memory"]["largest_batch"]
             <= 0.9 * series["memory"]["capacity_bytes"], True,
             "by the line, within the memory of the device less the reserve")
    tap.same(report["trace"]["path"], str(traces[-1]), "the rest of the report is about the largest")
    _, report, _ = runs.report("--series", *(f"{size}={trace}" for size, trace in zip(sizes, traces)), "--what-if",
                               "batch times 2")
    predicted = report["prediction"]["what_if"][0]["prediction"]
    latency = report["series"]["latency"]
    by_line = (latency["fixed_us"] / 128 + latency["per_sample_us"]) / (latency["fixed_us"] / 64 + latency["per_sample_us"])
    tap.ok(abs(predicted["after_us"] / predicted["before_us"] - by_line) < 0.05,
           "twice the batch takes of a sample's time what the line says",
           f"{predicted['after_us']} of {predicted['before_us']}, {by_line}")
    _, report, _ = runs.report(traces[0], "--what-if", "batch times 2")
    tap.same(report["prediction"]["what_if"][0]["prediction"], None, "without runs of several sizes nothing is predicted")
    tap.same(["## Batch sizes" in markdown, "Assumed" in markdown], [True, True],
             "the Markdown has it, with what is assumed")
    page = runs.page("--series", *(f"{size}={trace}" for size, trace in zip(sizes, traces)))
    tap.same(['<a href="#batch-sizes">' in page, page.count('id="series-chart"'), "series.points" in page], [True, 1, True],
             "and so has the HTML, with a picture")
    code, report, markdown = runs.report("--series", f"8={traces[0]}", f"8={traces[1]}")
    tap.same([code, report["series"]["knee"], "nee" in markdown.split("### Runs")[0], "batches of one size" in markdown],
             [0, None, False, True], "two runs of one size tell nothing of sizes")
    code, report, markdown = runs.report("--series", f"16={traces[0]}", f"15={traces[1]}")
    tap.same("**The knee is at a batch of 15, " in markdown, True, "a knee is called one")
    code, report, _ = runs.report("--series", *traces)
    tap.same([(point["batch"], point["batch_from"]) for point in report["series"]["points"]],
             [(size, "shapes") for size in sizes],
             "without labels the sizes are taken from the shapes")
    for arguments, claim in (([traces[0]], "one trace is no series"), ([f"0={traces[0]}", traces[1]], "a batch has samples"),
                             (["8=-", traces[1]], "files alone"),
                             ([*traces, "--memory-json", traces[0]], "no snapshot beside")):
        tap.same(runs.run("--series", *arguments).returncode, 2, claim)


def check_schema(tap, runs, old, slow):
    if not runs.invalid:
        print("# python3-jsonschema is not there: NOT CHECKED against the schema")
        return
    for arguments in ([slow, "--baseline", old, "--fail-on", "high,steps.p50_us > +5%,gpu.busy_us < 1s"],
                      ["--series", f"1={old}", f"2={slow}"],
                      ["--series", f"1={old}", f"1={slow}"], [old, "--baseline", ROOT / "fixtures/traces/tiny_ops.json"],
                      [ROOT / "fixtures/snapshots/modern.json.gz", "--baseline", ROOT / "fixtures/snapshots/churn.json"],
                      [ROOT / "fixtures/snapshots/modern.json.gz", "--baseline", old]):
        runs.report(*arguments)
        tap.same(runs.invalid((runs.folder / "report.json").read_bytes()), [],
                 "valid by the schema: " + " ".join(Path(str(a)).name for a in arguments))


def main():
    tap, program = Tap(), program_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(program, folder)
        old, old_report = runs.trace("old.json", 1), runs.folder / "old_report.json"
        tap.same(runs.run(old, "--json-out", old_report).returncode, 0, "a report to compare with")
        check_noise(tap, runs, old, old_report)
        slow = check_planted(tap, runs, old)
        check_same_work(tap, runs)
        check_operators(tap, runs, old)
        check_runs(tap, runs, old)
        check_conditions(tap, runs, old, slow)
        check_baselines(tap, runs, old, old_report)
        check_snapshots(tap, runs)
        check_series(tap, runs)
        check_schema(tap, runs, old, slow)
    return tap.done()


sys.exit(main())
