#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The catalogue of figures against what reports have: every key of a report is a row of src/catalogue, in its kind; every
row is in some report; the schemas in references/ are what the catalogue makes; the figures that sections show have titles.

usage: catalogue.py --program PROGRAM --built FOLDER [--bless]

FOLDER holds catalogue.i, report-schema.json and answer-schema.json of the build. --bless copies the schemas to references/.
Reports are those of fixtures/golden and of what else is in fixtures/. Prints TAP."""
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from golden import load_validator
from program import BUILT, ROOT, parser_of
from tap import Tap
from make_catalogue import ANSWERS, OR_NULL, Mistake, all_figures, read

LIMIT_S = 120


class Walk:
    """Rows that reports have, and keys that no row has."""

    def __init__(self, catalogue):
        self.catalogue, self.seen, self.unknown = catalogue, set(), {}

    def shape_or(self, kind, rows):
        shape = self.catalogue.top.get(f"<{kind[0].removesuffix(OR_NULL)}>")
        return shape.rows if shape else rows

    def values(self, value, kind, rows, path, row):
        base = kind[0].removesuffix(OR_NULL)
        if base == "list" and isinstance(value, list):
            for element in value:
                self.values(element, kind[1][0] if kind[1] else ("object", []), rows, path, row)
        elif base == "map" and isinstance(value, dict):
            for key, member in value.items():
                if rows:
                    self.note(rows, key, path, row)
                self.values(member, kind[1][0], {}, f"{path}.*", row)
        elif isinstance(value, dict):
            self.members(value, self.shape_or(kind, rows), path, row)

    def note(self, rows, key, path, row):
        below = f"{path}.{key}" if path else key
        if key in rows:
            self.seen.add(rows[key].path)
        else:
            beside = next(iter(rows.values()), row)
            self.unknown[below] = beside.place[0] if beside else "src/catalogue/report.def"

    def members(self, value, rows, path="", row=None):
        for key, member in value.items():
            self.note(rows, key, path, row)
            if key in rows:
                self.values(member, rows[key].kind, rows[key].rows, f"{path}.{key}" if path else key, rows[key])


def name_of(file):
    path = Path(file)
    return f"src/catalogue/{path.name}" if (ROOT / "src" / "catalogue" / path.name).exists() else str(path)


def inputs():
    """(name, arguments) of runs that golden cases lack: every input, and what few of the scenarios alone have."""
    fixtures = ROOT / "fixtures"
    traces, scenarios = fixtures / "traces", fixtures / "scenarios"
    runs = [["--cpu-trace", path, "--html-out", "HTML"] for path in sorted(traces.iterdir())]
    runs += [["--memory-json", path, "--html-out", "HTML"] for path in sorted((fixtures / "snapshots").iterdir())]
    runs += [["--cpu-trace", scenarios / name / "trace.json.gz"]
             for name in ("graph-breaks-healthy", "unaligned-sizes", "data-dependent-size-healthy", "cold-start")]
    runs += [["--memory-json", scenarios / "rounding-to-powers" / "snapshot.json.gz"]]
    for option, name, file in (("--cpu-trace", "copies-to-host", "trace.json.gz"),
                               ("--memory-json", "activation-peak", "snapshot.json.gz")):
        runs += [[option, scenarios / name / file, "--baseline", scenarios / f"{name}-healthy" / file]]
    runs += [["--series"] + [f"{batch}={traces / f'{name}.json.gz'}"
                             for batch, name in ((8, "before_slowdown"), (16, "one_run"), (32, "after_slowdown"))]]
    for run in runs:
        words = [str(word).replace(f"{fixtures}/", "") for word in run]
        yield " ".join(word for word in words if word not in ("--html-out", "HTML")), run


def report_of(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        words = [Path(folder) / "report.html" if word == "HTML" else word for word in arguments]
        done = subprocess.run([program, *words, "--json-out", out, "--md-out", Path(folder) / "report.md", "--quiet"],
                              stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        return out.read_bytes() if done.returncode == 0 else None


def reports(program):
    """(name, JSON) of all that the program writes."""
    with ThreadPoolExecutor(2) as pool:
        for (name, _), report in zip(inputs(), pool.map(lambda one: report_of(program, one[1]), inputs())):
            if report:
                yield name, report


def is_below(path, row):
    return path == row.path or path.startswith(row.path + ".")


def check_rows(tap, walk):
    """Whether all rows and keys are told; else what breaks the schema says the same again."""
    known = tap.ok(not walk.unknown, "every key of a report is a row of the catalogue",
                   "\n".join(f"{path}: a report has it, the catalogue lacks it: add its row to {name_of(file)}"
                             for path, file in sorted(walk.unknown.items())))
    rows = [row for row in walk.catalogue.rows.values()
            if not row.place[0].endswith(ANSWERS) and row.kind[0] != "member" and not re.fullmatch("<[^.]*", row.path)]
    rare = [row for row in rows if "rare" in row.traits]
    had = tap.ok(not [row for row in rows if is_missing(walk, row, rare)], "every row of the catalogue is in a report",
                 "\n".join(f"{place_of(row)}: {row.path}: no report of the fixtures has it: compute it, or give the row "
                           'rare("why")' for row in rows if is_missing(walk, row, rare)))
    found = [row for row in rare if any(is_below(path, row) and (path != row.path or not row.rows) for path in walk.seen)]
    tap.ok(not found, "a row that is called rare is rare",
           "\n".join(f"{place_of(row)}: {row.path} is in a report: take its rare(...) away" for row in found))
    return known and had


def check_reports(tap, written, validate):
    if not validate:
        tap.skip("reports keep to the schema", "NO SCHEMA CHECK: install python3-jsonschema")
        return
    for name, report in written:
        complaints = validate(report)
        tap.ok(not complaints, f"{name}: the report keeps to the schema", "\n".join(complaints))


def is_missing(walk, row, rare):
    return row.path not in walk.seen and not any(is_below(row.path, one) for one in rare)


def place_of(row):
    return f"{name_of(row.place[0])}:{row.place[1]}"


def check_schemas(tap, built, bless):
    changed = max(path.stat().st_mtime for path in (ROOT / "src" / "catalogue").glob("*.def"))
    tap.ok((built / "report-schema.json").stat().st_mtime >= changed, "the schemas are made of the catalogue as it is",
           "run ninja in the build folder")
    for name in ("report-schema.json", "answer-schema.json"):
        made, kept = (built / name).read_text(encoding="utf-8"), ROOT / "references" / name
        if bless:
            kept.write_text(made, encoding="utf-8")
        tap.ok(kept.read_text(encoding="utf-8") == made, f"references/{name} is what the catalogue makes",
               "run tests/catalogue.py --bless, as CONTRIBUTING.md says")


def check_titles(tap, catalogue):
    titled = {figure.path for figure in all_figures(catalogue) if "title" in figure.row.traits}
    shown = [(path.name, name) for path in (ROOT / "src" / "report" / "sections").glob("*.c")
             for name in re.findall(r'\bFIGURE\("([^"]+)"\)', path.read_text(encoding="utf-8"))]
    missing = [f"{file}: {name} has no title(...) in src/catalogue" for file, name in sorted(shown) if name not in titled]
    tap.ok(shown and not missing, "each figure that a section shows has a title", "\n".join(missing))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--built", type=Path, default=BUILT.parents[1] / "catalogue", help="default: that of build/")
    parser.add_argument("--bless", action="store_true", help="take the schemas that were built as right")
    arguments = parser.parse_args()
    tap = Tap()
    try:
        walk = Walk(read(arguments.built / "catalogue.i"))
    except Mistake as mistake:
        tap.ok(False, "the catalogue can be read", mistake)
        return tap.done()
    check_schemas(tap, arguments.built, arguments.bless)
    check_titles(tap, walk.catalogue)
    written = list(reports(arguments.program.resolve()))
    approved = [path.read_bytes() for path in (ROOT / "fixtures" / "golden").glob("*/report.json")]
    for report in [report for _, report in written] + approved:
        walk.members(json.loads(report), walk.catalogue.keys())
    if check_rows(tap, walk):
        check_reports(tap, written, load_validator(arguments.built / "report-schema.json"))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
