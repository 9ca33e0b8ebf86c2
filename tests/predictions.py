#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are predictions right?  predictions.py --program PROGRAM [--scenarios FOLDER] [--samples]

Jobs with a planted cause and their twins without it, as fixtures/scenarios has them: what the finding of the
cause predicts to gain against what the twin shows. Of modeled and recorded jobs the measure is the difference of
the two windows; of recordings of PyTorch, which slow what they record, it is no measure, and only the sign counts.
--samples: of the sample traces in AP_TRACES instead, and of the jobs there, bad.json.gz and truth.json each, with the share
of a step that the cause took without a profiler. Pairs of a made program on a made GPU, with the change in words and really
made (tools/make_pairs.py): what is predicted of a step against what it takes. Prints TAP."""
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import ROOT, Program, parser_of
from tap import Tap
import make_pairs

NEAR, SHARE_NEAR = 0.20, 0.25
LEAST, SHARE_LEAST = 0.80, 2 / 3
ROOM = 1.0
LITTLE = 0.02  # of a step: nearer than this predictions are right, whatever the gain
MEASURED_LEAST = 25  # jobs with a prediction: fewer are no check


def report_of(program, trace, *options):
    """None where there is none."""
    run = Program(program).run("--format", "json", "--cpu-trace", trace, *options)
    return json.loads(run.stdout) if run.returncode in (0, 1) and run.stdout else None


def largest(findings):
    """The finding that is predicted to gain most; None where nothing is predicted."""
    predicted = [finding for finding in findings if finding["prediction"]]
    return max(predicted, key=lambda finding: finding["prediction"]["window_gain_us"], default=None)


def scenario(program, folder):
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    trace = folder / "trace.json.gz"
    if not truth.get("planted") or truth.get("unit") != "us" or not truth["planted_cost"] or not trace.exists():
        return None
    report = report_of(program, trace)
    above = [finding["rule_id"] for finding in report["findings"] if finding["prediction"] and
             finding["saves_us"] is not None and
             finding["prediction"]["window_gain_us"] > (1 + ROOM) * finding["saves_us"] + 0.001]
    named = [finding for finding in report["findings"] if finding["rule_id"] in truth["accept"]]
    finding = largest(named)
    if not finding:
        return None
    gain = finding["prediction"]["window_gain_us"]
    return folder.name, truth["recording"], finding["rule_id"], gain, truth["planted_cost"], above


def check_scenarios(tap, program, folder):
    folders = sorted(path.parent for path in folder.glob("*/truth.json"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for row in pool.map(lambda path: scenario(program, path), folders) if row]
    measured = [row for row in rows if row[1] != "pytorch-cpu"]
    far = [row for row in measured if abs(row[3] - row[4]) > NEAR * row[4]]
    wrong = [row for row in rows if row[3] < 0]
    def said(some):
        return [f"{name}: {rule} predicts {gain:.0f} us, measured {cost:.0f} us" for name, _, rule, gain, cost, _ in some]

    enough = len(measured) >= MEASURED_LEAST and len(far) <= (1 - LEAST) * len(measured)
    tap.check(f"of {len(measured)} gains {len(measured) - len(far)} are within {NEAR:.0%} of the measured one",
              [] if enough else said(far) or ["too few are predicted"])
    tap.check(f"of {len(rows)} gains none has the wrong sign", said(wrong))
    tap.check(f"none is more than {ROOM:.0%} above what its finding could save",
              [f"{row[0]}: {row[5]}" for row in rows if row[5]])


def job(program, folder):
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    if "measured_share" not in truth:
        return None
    findings = report_of(program, folder / "bad.json.gz")["findings"]
    first = next((finding for finding in findings if finding["prediction"] and finding["severity"] != "info"), None)
    return (folder.name, first["rule_id"], first["prediction"]["gain_ratio"], truth["measured_share"]) if first else None


def check_jobs(tap, program, folder):
    folders = sorted(path.parent for path in folder.glob("*/truth.json"))
    rows = [row for row in (job(program, path) for path in folders) if row]
    far = [row for row in rows if abs(row[2] - row[3]) > SHARE_NEAR * row[3]]
    enough = rows and len(far) <= (1 - SHARE_LEAST) * len(rows)
    tap.check(f"of {len(rows)} jobs {len(rows) - len(far)} gain a share within {SHARE_NEAR:.0%} of the measured one",
              [] if enough else [f"{name}: {rule} predicts {share:.0%} of a step, measured {measured:.0%}"
                                 for name, rule, share, measured in far] or ["none is predicted"])


def made_pair(program, folder, name):
    """(name, predicted gain, real gain), of a step; and the predicted gain of the window, as a share of its steps."""
    trace, words, before_us, after_us = make_pairs.make(name)
    path = Path(folder) / (name.replace(" ", "-") + ".json")
    path.write_text(json.dumps(trace), encoding="utf-8")
    report = report_of(program, path, "--what-if", words)
    prediction = report and report["prediction"]["what_if"][0]["prediction"]
    window = prediction and prediction["window_gain_us"] / (make_pairs.STEPS * before_us)
    return name, prediction["gain_ratio"] if prediction else None, 1 - after_us / before_us, window


def check_made_pairs(tap, program):
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda name: made_pair(program, folder, name), make_pairs.PAIRS))
    far = [row for row in rows if row[1] is None or abs(row[1] - row[2]) > max(NEAR * abs(row[2]), LITTLE)]
    tap.check(f"of {len(rows)} changes made to a made program all gain what was predicted",
              [f"{name}: predicted {gain if gain is None else round(gain, 3)}, really {real:.3f}"
               for name, gain, real, _ in far])
    far = [row for row in rows if row[3] is None or abs(row[3] - row[2]) > max(NEAR * abs(row[2]), LITTLE)]
    tap.check("and their windows as much in proportion", [f"{name}: {window}, really {real:.3f}"
                                                          for name, _, real, window in far])


IN_ORDER = ["kernel like * speedup 1", "kernel like * speedup 1.5", "kernel like * speedup 4",
            "kernel like * speedup 1000000", "kernel like * gone"]
OTHERS = ["op like * speedup 1", "op like * hostfree", "wait like * gone", "copy like * async", "gap = host hostfree"]


def invariants(program, trace):
    """What a recording breaks; None where nothing is predicted of it."""
    options = [part for change in IN_ORDER + OTHERS for part in ("--what-if", change)]
    report = report_of(program, trace, *options)
    prediction = report and report["prediction"]
    if not prediction or not prediction["replay"]["exact"]:
        return None
    gains = [row["prediction"]["window_gain_us"] if row["prediction"] else 0 for row in prediction["what_if"]]
    together = prediction["what_if_together"]
    broken = []
    if gains[0] or gains[len(IN_ORDER)]:
        broken.append("a change of nothing changes something")
    if sorted(gains[:len(IN_ORDER)]) != gains[:len(IN_ORDER)]:
        broken.append(f"faster gains less: {gains[:len(IN_ORDER)]}")
    if min(gains) < 0:
        broken.append(f"a removal is slower: {gains}")
    if together and together["rows"] and together["window_gain_us"] < max(gains):
        broken.append(f"all gain {together['window_gain_us']}, one {max(gains)}")
    return [f"{trace.name}: {what}" for what in broken]


def check_invariants(tap, program, traces):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for row in pool.map(lambda trace: invariants(program, trace), traces) if row is not None]
    tap.check(f"what is removed from {len(rows)} recordings gains in order",
              [what for row in rows for what in row] if rows else ["none is replayed"])


def check_samples(tap, program, traces):
    if not traces:
        tap.skip("sample traces and recorded jobs", "no folder of traces: -Dtraces=FOLDER")
        return
    check_invariants(tap, program, sorted(Path(traces).glob("*.json.gz")))
    if (Path(traces) / "jobs").is_dir():
        check_jobs(tap, program, Path(traces) / "jobs")
    else:
        tap.skip("recorded jobs", "the folder of traces has no folder jobs")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--scenarios", type=Path, default=ROOT / "fixtures/scenarios")
    parser.add_argument("--samples", action="store_true", help="the sample traces in AP_TRACES and its folder jobs")
    arguments = parser.parse_args()
    tap = Tap()
    if arguments.samples:
        check_samples(tap, arguments.program, os.environ.get("AP_TRACES"))
        return tap.done()
    check_made_pairs(tap, arguments.program)
    check_scenarios(tap, arguments.program, arguments.scenarios)
    check_invariants(tap, arguments.program, sorted((ROOT / "fixtures/traces").glob("*.json*")))
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main())
