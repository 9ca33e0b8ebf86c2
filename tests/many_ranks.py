#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of many ranks with a planted cause: is the rank, the host or the link named, and the cause? Prints TAP.

    many_ranks.py --program PROGRAM               a few small runs, and the recorded ones of fixtures/
    many_ranks.py --program PROGRAM --thorough    by hand: 8 to 1,024 ranks, other topologies, years, seeds and clocks
    many_ranks.py --program PROGRAM --only TEXT   only runs with TEXT in their name; --say tells what was said of each

tools/make_cluster makes the runs, and says in truth.json what the right answer is: it comes from what was planted, never
from this program. The goals: who is to blame is named in every run, with the right cause in 95 %, nobody is named where all
is well, and offsets of clocks are right within three times their error.
"""
import io
import json
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from contextlib import redirect_stdout
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from program import ROOT, parser_of
from tap import Tap

MAKER = ROOT / "tools" / "make_cluster"
CAUSE_SHARE = 0.95
ERROR_BARS = 3.0
FLOOR_US, FLOOR_RATIO = 100.0, 0.01     # of the step: below both nothing is a finding
NOT_EACH_STEP = 3                       # as many floors in the mean for what is there in some steps only
LIMIT_S = 600

Run = namedtuple("Run", "name kind arguments")


def traces(name, *arguments):
    return Run(name, "traces", arguments)


def dumps(name, *arguments):
    return Run(name, "dumps", arguments)


SMALL = ("--layers", "2", "--steps", "4")
QUICK = [
    traces("healthy", "--ranks", "8", *SMALL),
    traces("slow device", "--cause", "slow-device", "--ranks", "8", *SMALL),
    traces("host stall, clocks apart", "--cause", "host-stall", "--ranks", "8", "--per-host", "2", "--offset", "900",
           *SMALL),
    traces("batches late, 2024", "--cause", "dataloader", "--ranks", "4", "--era", "2024", *SMALL),
    traces("more work, 2022", "--cause", "more-work", "--ranks", "8", "--era", "2022", *SMALL),
    traces("late rank in a tensor group", "--cause", "host-stall", "--topology", "tpdp", "--ranks", "8", *SMALL),
    traces("late rank in groups that no trace tells", "--cause", "host-stall", "--topology", "tpdp", "--ranks", "8",
           "--era", "2022", *SMALL),
    traces("stages that no trace tells", "--cause", "gc", "--topology", "pp", "--ranks", "8", "--era", "2022",
           "--layers", "4", "--steps", "4"),
    traces("slow link between stages", "--cause", "slow-link", "--topology", "pp", "--ranks", "12", "--layers", "4",
           "--steps", "3", "--seed", "5"),
    traces("slow link", "--cause", "slow-link", "--topology", "tpdp", "--ranks", "8", "--per-host", "4", *SMALL),
    traces("two slow links", "--cause", "slow-links", "--topology", "tpdp", "--ranks", "16", "--per-host", "8", *SMALL),
    traces("two slow links between stages", "--cause", "slow-links", "--topology", "pp", "--ranks", "16", "--layers", "4",
           "--steps", "3"),
    traces("a slow path between two hosts", "--cause", "slow-path", "--topology", "pp", "--ranks", "16", "--per-host", "4",
           "--layers", "4", "--steps", "3"),
    traces("stall, parameters shared out within hosts", "--cause", "host-stall", "--topology", "hsdp", "--ranks", "16",
           "--per-host", "4", "--rank", "6", *SMALL),
    traces("a device hardly slower, parameters shared out within hosts", "--cause", "slow-device", "--strength", "1.05",
           "--topology", "hsdp", "--ranks", "16", "--per-host", "4", "--rank", "6", "--layers", "4", "--steps", "4"),
    traces("the same, groups not told", "--cause", "slow-device", "--topology", "hsdp", "--ranks", "16", "--per-host", "4",
           "--rank", "6", "--era", "2022", *SMALL),
    traces("nothing, parameters shared out within hosts", "--topology", "hsdp", "--ranks", "16", "--per-host", "4", *SMALL),
    traces("jitter", "--cause", "jitter", "--ranks", "8", "--layers", "2", "--steps", "6"),
    traces("long stalls, clocks that drift", "--cause", "host-stall", "--strength", "500000", "--ranks", "8", "--per-host",
           "2", "--offset", "900", "--drift", "50", "--layers", "2", "--steps", "5"),
    traces("a checkpoint of one rank in one step", "--cause", "checkpoint", "--topology", "tpdp", "--ranks", "8", *SMALL),
    traces("garbage in some steps", "--cause", "gc-sometimes", "--topology", "fsdp", "--ranks", "4", *SMALL),
    traces("late for reductions to owners", "--cause", "host-stall", "--topology", "zero", "--ranks", "4", *SMALL),
    traces("who reads the batch for its group", "--cause", "dataloader", "--topology", "tpdp", "--ranks", "8", "--rank", "4",
           *SMALL),
    traces("slow host in a pipeline", "--cause", "slow-host", "--topology", "pp", "--ranks", "8", "--per-host", "2",
           "--layers", "4", "--steps", "3"),
    traces("a stage with larger layers", "--cause", "heavy-stage", "--topology", "pp", "--ranks", "8", "--layers", "4",
           "--steps", "3"),
    traces("a stage with a little larger layers", "--cause", "larger-stage", "--topology", "pp", "--ranks", "8",
           "--layers", "4", "--steps", "3"),
    traces("jitter in a pipeline", "--cause", "jitter", "--topology", "pp", "--stages", "2", "--ranks", "8", "--layers", "2",
           "--steps", "6", "--micro-batches", "4"),
    traces("some ranks are absent, and not late", "--cause", "host-stall", "--topology", "tpdp", "--ranks", "8", "--absent",
           "3,7", *SMALL),
    traces("noise on all ranks", "--cause", "noisy", "--topology", "tpdp", "--ranks", "8", *SMALL),
    traces("two groups of the same ranks, each with its own numbers", "--cause", "gc", "--topology", "moe", "--ranks", "8",
           *SMALL),
    traces("torn windows", "--cause", "host-stall", "--ranks", "8", "--torn", "2", "--layers", "2",
           "--steps", "6"),
    dumps("no hang", "--hang", "healthy"),
    dumps("stuck", "--hang", "stuck"),
    dumps("stuck in a small group", "--hang", "stuck-subgroup"),
    dumps("call left out", "--hang", "skip"),
    dumps("calls swapped", "--hang", "swapped"),
    dumps("sizes", "--hang", "size"),
    dumps("no dump", "--hang", "no-dump"),
    dumps("stuck stage, rings that lost older calls", "--hang", "stage-wrapped", "--ranks", "16", "--rank", "9"),
    dumps("no dump of a rank of a pipeline", "--hang", "stage-no-dump", "--ranks", "16", "--rank", "6"),
    dumps("sizes in a small group", "--hang", "size-subgroup", "--ranks", "16"),
    dumps("circle of groups", "--hang", "cycle", "--version", "2.10"),
]


SOMETIMES = ("slow-cpu", "throttled", "gc-sometimes", "checkpoint", "evaluation", "noisy", "more-work", "host-stall")


def thorough_runs():
    """Every cause in several sizes, years and seeds; a thousand ranks for the causes that users meet most."""
    runs = []
    eras = ("2026", "2024", "2022")
    plain = ("slow-device", "host-stall", "dataloader", "gc", "allocator", "compile", "sync", "more-work", "healthy",
             "jitter", "length-imbalance")
    for ranks in (8, 16, 64, 256):
        for number, cause in enumerate(plain):
            seed = ranks + number
            clocks = ("--offset", "900", "--drift", "5") if number % 2 else ()
            where = ("--rank", str(seed * 7 % ranks))
            shape = ("--layers", "2", "--steps", "6" if cause in ("jitter", "length-imbalance") else "4")
            strength = ("--strength", "60") if cause == "sync" else ()
            runs.append(traces("%s, %d ranks" % (cause, ranks), "--cause", cause, "--ranks", str(ranks), "--era",
                               eras[(ranks + number) % 3], "--seed", str(seed), *where, *shape, *clocks, *strength))
        for cause in ("slow-device", "host-stall", "slow-link", "slow-host", "healthy"):
            runs.append(traces("%s, tensor groups, %d ranks" % (cause, ranks), "--cause", cause, "--topology", "tpdp",
                               "--ranks", str(ranks), "--per-host", "4" if ranks < 64 else "8", "--seed", str(ranks),
                               *SMALL))
        for cause in ("host-stall", "slow-device", "slow-link", "bubble", "healthy", "heavy-stage"):
            # a pause matters in the first stage: later ones wait for it anyway
            where = ("--rank", "1") if cause == "host-stall" else ()
            runs.append(traces("%s, stages, %d ranks" % (cause, ranks), "--cause", cause, "--topology", "pp", "--ranks",
                               str(ranks), "--layers", "4", "--steps", "4", "--seed", str(ranks), *where))
        for number, cause in enumerate(SOMETIMES):
            topology = ("dp", "tpdp", "fsdp", "zero", "moe", "pp")[(number + ranks // 8) % 6]
            one_host = ("--per-host", str(ranks)) if topology == "zero" else ()     # nothing else joins the clocks of hosts
            runs.append(traces("%s, %s, %d ranks" % (cause, topology, ranks), "--cause", cause, "--topology", topology,
                               "--ranks", str(ranks), "--layers", "4", "--steps", "6", "--seed", str(ranks + number),
                               "--rank", str(ranks // 4 + number % 3), *one_host))
        for cause in ("slow-host", "jitter"):
            runs.append(traces("%s, stages, %d ranks" % (cause, ranks), "--cause", cause, "--topology", "pp", "--ranks",
                               str(ranks), "--per-host", str(max(2, ranks // 8)), "--layers", "4", "--steps", "6", "--seed",
                               str(ranks)))
        for cause in ("expert-imbalance", "dataloader", "healthy"):
            runs.append(traces("%s, experts, %d ranks" % (cause, ranks), "--cause", cause, "--topology", "moe", "--ranks",
                               str(ranks), "--seed", str(ranks), *SMALL))
        for hang in ("healthy", "stuck", "stuck-subgroup", "skip", "skip-blocking", "swapped", "cycle", "size", "dtype",
                     "no-dump", "wrapped", "network", "stage", "stage-wrapped", "stage-no-dump", "size-subgroup"):
            version = ("2.3", "2.4", "2.10")[ranks % 3]
            runs.append(dumps("%s, %d ranks" % (hang, ranks), "--hang", hang, "--ranks", str(ranks), "--version", version,
                              "--rank", str(ranks * 3 // 7)))
    for cause, topology in (("slow-device", "dp"), ("host-stall", "tpdp"), ("slow-link", "tpdp"), ("healthy", "dp"),
                            ("slow-host", "tpdp")):
        runs.append(traces("%s, 1,024 ranks" % cause, "--cause", cause, "--topology", topology, "--ranks", "1024",
                           "--offset", "900", "--layers", "1", "--steps", "3", "--plain"))
    for hang in ("stuck-subgroup", "size", "no-dump", "healthy"):
        runs.append(dumps("%s, 1,024 ranks" % hang, "--hang", hang, "--ranks", "1024"))
    for cause in ("host-stall", "slow-device", "missing", "swapped"):
        runs.append(traces("%s, groups named anew on each rank" % cause, "--cause", cause, "--topology", "tpdp",
                           "--ranks", "16", "--group-names", "local", "--no-host-names", *SMALL))
    # some collectives must be there that did not wait, to tell by: with fewer layers all of them do
    runs.append(traces("the late rank is absent", "--cause", "host-stall", "--ranks", "8", "--rank", "5",
                       "--absent", "5-7", "--layers", "6", "--steps", "4"))
    return runs


# ---- what the program says

def numbers(text):
    """Ranks of a text such as 0-2, 5; None where more are counted than told."""
    found = set()
    if text is None or " more" in text:
        return found
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


KINDS = {"slow-device": {"slow_device"}, "slow-host": {"slow_host"}, "host-stall": {"host_code"},
         "dataloader": {"data_loading"},
         "gc": {"garbage_collection"}, "allocator": {"allocation"}, "compile": {"compilation"},
         "sync": {"synchronization"},
         "more-work": {"more_work"}, "expert-imbalance": {"more_work"}, "length-imbalance": {"uneven_data"},
         "heavy-stage": {"heavy_stage"},
         "slow-cpu": {"slow_cpu"}, "throttled": {"slow_device"}, "gc-sometimes": {"garbage_collection"},
         "checkpoint": {"host_code"}, "evaluation": {"more_work"},
         "jitter": {"jitter"}, "slow-link": {"link"}, "slow-links": {"link"}, "slow-path": {"link"}}
MOVING = {"jitter", "uneven_data"}
MOVING_CAUSES = ("jitter", "length-imbalance")
NOBODY = {"healthy", "larger-stage", "noisy", "missing", "swapped", "bubble"}

Answer = namedtuple("Answer", "named cause who what")


def said_of(cluster):
    """{kind: ranks}; of a link its members."""
    said = {kind: members_of(late["numbers"] or "") or {row["rank"] for row in late["ranks"]}
            for kind, late in (cluster.get("late") or {}).items() if late["rank_count"]}
    group = (cluster.get("link") or {}).get("group")
    if group:
        said["link"] = members_of(group)
    return said


def members_of(text):
    """Of a group as the report writes it: numbers, ranges, and ranges in strides, 2-14:4."""
    found = set()
    for first, last, stride in re.findall(r"(\d+)(?:-(\d+))?(?::(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1, int(stride or 1)))
    return found


def groups_are_unknown(truth):
    """Traces before 2024 do not say which ranks a collective is of: nobody may then be named who is in another group."""
    run = truth.get("run") or {}
    return run.get("era") == 2022 and run.get("topology") in ("tpdp", "pp", "hsdp")


def judge_traces(truth, report):
    cluster = report.get("cluster") or {}
    said = said_of(cluster)
    cause, culprit = truth["cause"], truth["culprit"]
    if cause != "swapped" and ((cluster.get("matching") or {}).get("unmatched") or {}).get("differ"):
        return Answer(False, False, [], "collectives of one group and number are not the same")
    fixed = set().union(*(ranks for kind, ranks in said.items() if kind not in MOVING | {"link"}), set())
    kind = max(said, key=lambda name: cluster["link"]["lost_us"] if name == "link" else
               cluster["late"][name]["waited_us"] or 0, default=None)
    who = sorted(said.get("link", fixed) if kind == "link" else fixed)
    if culprit.get("absent"):
        verdict = (cluster.get("verdict") or {}).get("kind")
        return Answer(verdict == "absent-rank" and not fixed, True, who, verdict)
    if groups_are_unknown(truth):
        return Answer(not fixed, True, who, kind)
    if cause in NOBODY:     # on the few busy cores of a recording somebody is late now and then
        cost_us = truth.get("cost_us_per_step", 0)
        if cause == "noisy":    # against usual noise, which costs as well: what noise costs grows with it
            cost_us *= truth["strength"] / (truth["strength"] - 1)
        costs = cost_us >= NOT_EACH_STEP * max(FLOOR_US, FLOOR_RATIO * truth.get("step_us", 0))
        busy = MOVING if truth.get("recording") == "pytorch-cpu" or (cause == "noisy" and costs) else set()
        return Answer(not said.keys() - busy, True, who, kind)
    if cause == "slow-path":
        run = truth["run"]
        hosts = {rank // run["per_host"] for rank in said.get("link", ())}
        return Answer(hosts == set(culprit["hosts"]), kind == "link", who, kind)
    if cause in ("slow-link", "slow-links"):
        told = sorted(sorted(members_of(row["group"])) for row in cluster.get("links") or [])
        return Answer(told == culprit["links"], kind == "link", told[:4], kind)
    if cause == "slow-host":
        host = set(culprit["ranks"])
        return Answer(bool(fixed) and fixed <= host and len(fixed) >= min(len(host), 8), kind == "slow_host", who, kind)
    floors = NOT_EACH_STEP if cause in MOVING_CAUSES + ("checkpoint", "evaluation", "gc-sometimes") else 1
    cost_us = truth.get("cost_us_per_step")
    if cost_us is not None and cost_us < floors * max(FLOOR_US, FLOOR_RATIO * truth["step_us"]) and not said:
        return Answer(True, True, who, kind)    # what costs next to nothing need not be told
    if cause == "jitter" and truth["run"]["stages"] > 1 and fixed:   # most pauses hide: one may be all that is left to see
        return Answer(fixed <= set(culprit["by_step"]), True, who, kind)
    if cause in MOVING_CAUSES:
        return Answer(not fixed and bool(said.keys() & MOVING), kind in KINDS[cause], who, kind)
    if cause == "more-work":    # who shares a batch has as much: later stages wait for the first one
        return Answer(bool(fixed) and fixed <= set(culprit["ranks"]), kind in KINDS[cause], who, kind)
    return Answer(fixed == set(culprit["ranks"]), kind in KINDS[cause], who, kind)


def clock_complaints(truth, report):
    """Hosts whose offset is further from the true one than three times its error, against the clock that is called 0."""
    clocks, complaints = truth.get("clocks"), []
    for row in ((report.get("cluster") or {}).get("clocks") or {}).get("hosts") or []:
        if clocks and row["error_us"] is not None:
            clock = clocks[row["rank"] // truth["run"]["per_host"]]
            base = clocks[row["relative_to_rank"] // truth["run"]["per_host"]]
            host, zero = (one.get("middle_us", one["offset_us"]) for one in (clock, base))
            drift = clock.get("drift_ppm", 0) - base.get("drift_ppm", 0)
            if row["drift_ppm"] is not None and abs(row["drift_ppm"] - drift) > ERROR_BARS * row["drift_error_ppm"]:
                complaints.append(f"{row['host']}: drifts by {row['drift_ppm']:.2f} ppm +- {row['drift_error_ppm']:.2f}, "
                                  f"it is {drift:.2f}")
            if abs(row["offset_us"] - (host - zero)) > ERROR_BARS * row["error_us"]:
                complaints.append(f"{row['host']}: {row['offset_us']:.1f} us +- {row['error_us']:.1f}, "
                                  f"it is {host - zero:.1f}")
    return complaints


VERDICTS = {"stuck-host": {"stuck_outside"}, "skipped": {"call_skipped"}, "desync": {"desync"},
            "order": {"order_swapped"},
            "cycle": {"group_order"}, "size": {"size_mismatch"}, "dtype": {"type_mismatch"}, "no-dump": {"dump_missing"},
            "network": {"collective_stalled", "dump_skew"}, "none": {"none"}, "lone-call": {"members_unknown"}}


def judge_hang(truth, report):
    hang = report.get("hang") or {}
    verdict = hang.get("verdict")
    want = truth.get("verdict") or truth["cause"]
    culprits = set(truth["culprit"]["ranks"])
    first = next(iter(hang.get("causes") or []), {})
    named = numbers(first.get("ranks"))
    if want == "none":
        right = not hang.get("causes") and verdict == "none"
    elif want == "network":
        right = True
    elif want == "cycle":
        right = culprits <= named
    else:   # one cause was planted: nobody else is surely to blame
        sure = [row for row in hang.get("causes") or [] if row["confidence"] == "high"]
        right = named == culprits and all(numbers(row["ranks"]) <= culprits for row in sure)
    return Answer(right, verdict in VERDICTS[want], sorted(named), verdict)


# ---- the runs

def report_of(program, folder):
    with tempfile.TemporaryDirectory() as outside:
        path = Path(outside) / "report.json"
        done = subprocess.run([program, folder, "--quiet", "--json-out", path, "--md-out", Path(outside) / "report.md"],
                              capture_output=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            return {}, done.stderr.decode("utf-8", "replace")
        return json.loads(path.read_bytes()), ""


def judged(program, folder):
    """The answer, what is wrong with clocks, and a failure as text."""
    truth = json.loads((folder / "truth.json").read_text(encoding="ascii"))
    report, failure = report_of(program, folder)
    if "hang" in truth or truth.get("verdict") or folder.parent.name == "flight":
        return judge_hang(truth, report), [], failure
    return judge_traces(truth, report), clock_complaints(truth, report), failure


def loaded_maker():
    """tools/make_cluster as a module: to start it for each run would take longer than to make the small ones."""
    sys.dont_write_bytecode = True
    loader = SourceFileLoader("make_cluster", str(MAKER))
    maker = module_from_spec(spec_from_loader("make_cluster", loader))
    loader.exec_module(maker)
    return maker


def made(maker, run, folder):
    with redirect_stdout(io.StringIO()):
        maker.main([run.kind, folder, *run.arguments])


class Counts:
    def __init__(self, say):
        self.say, self.rows, self.clocks = say, [], []

    def add(self, name, answer, clocks, failure):
        self.rows.append((name, answer, failure))
        self.clocks += [f"{name}: {text}" for text in clocks]
        if self.say or failure:
            print(f"# {name}: {'' if answer.named else 'NOT '}named ({answer.who[:12]}), "
                  f"{'right' if answer.cause else 'WRONG'} cause ({answer.what}) {failure.strip()}", flush=True)

    def check(self, tap, what, causes=True):
        wrong = [f"{name}: {answer.who[:12]}, {answer.what} {failure.strip()}" for name, answer, failure in self.rows
                 if not answer.named]
        tap.check(f"{what}: who is to blame, or nobody, is right in {len(self.rows)} runs", wrong)
        if causes:
            wrong = [f"{name}: {answer.what}" for name, answer, _ in self.rows if not answer.cause]
            tap.ok(len(wrong) <= (1 - CAUSE_SHARE) * len(self.rows),
                   f"{what}: and the cause in {CAUSE_SHARE:.0%} of them", "\n".join(wrong))
        tap.check(f"{what}: offsets of clocks are right within {ERROR_BARS:g} times their error", self.clocks)


def recorded_runs():
    folders = [path.parent for path in sorted((ROOT / "fixtures").glob("*/*/truth.json"))]
    return [folder for folder in folders if folder.parent.name in ("cluster", "flight")]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--thorough", action="store_true", help="hundreds of runs, of up to 1,024 ranks")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs with TEXT in their name")
    parser.add_argument("--say", action="store_true", help="say of each run what the program said")
    arguments = parser.parse_args()
    maker = loaded_maker()
    tap, simulated, recorded = Tap(), Counts(arguments.say), Counts(arguments.say)
    for run in thorough_runs() if arguments.thorough else QUICK:
        if arguments.only in run.name:
            with tempfile.TemporaryDirectory() as folder:
                made(maker, run, folder)
                simulated.add(run.name, *judged(arguments.program, Path(folder)))
    simulated.check(tap, "made")
    if not arguments.thorough:
        for folder in recorded_runs():
            name = f"{folder.parent.name}/{folder.name}"
            if arguments.only in name:
                recorded.add(name, *judged(arguments.program, folder))
        recorded.check(tap, "recorded")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
