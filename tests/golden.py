#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden runs: the program on small inputs, its reports compared with what was approved.

A case is a folder fixtures/golden/CASE/ with
    args         one argument a line, paths relative to fixtures/
    report.md, report.json   what the run must write with --full, byte for byte (none of the two where the input is refused)
    brief.md     where the case has it: what it must write without
    paths        where the case is about a part of the report: report.json holds these paths of it alone, one a line, and
                 report.md is kept only where a line says so
    exit         the exit code, where it is not 0
    stderr       what the program must say, where it says something (else standard error is not compared)
    stdin        a path relative to fixtures/ that is fed to standard input
To add one: make the folder, its args and paths, run `tests/golden.py --bless CASE`, read the report, commit.
Few cases have no paths: a new figure changes these. Together with the paths that are whole parts they have all parts of a
report.

Every case runs in the locale C and again in another one with another time zone; both must write the same. The JSON is
validated against references/report-schema.json, and every figure of the Markdown's tables is read back and looked up in
the JSON, in the row that it claims to stand in; of all reports, whatever is kept of them. Prints TAP.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from program import ROOT, parser_of, settled
from tap import Tap

RUN_LIMIT_S = 120
MARKDOWN = ("report.md", "brief.md")


# ---- figures of the Markdown

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
ROUNDED = re.compile(rf"(?P<less>&lt;|&gt;)?(?P<number>{NUMBER}) (?P<suffix>%|x|/s|/step)|"
                     r"(?P<tiny>&lt;0\.001|&gt;-0\.001)")
EXACT = re.compile(rf"(?P<number>{NUMBER})(?: (?P<unit>us|B))?(?: \((?P<again>{NUMBER}) (?P<scale>\w+)\))?")
WORDS = {"–", "yes", "no", "not recorded", "(empty)"}
SCALES = {"us": 1, "ms": 1000, "s": 10**6, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def decimal_of(text):
    return Decimal(text.replace(",", ""))


def half_a_unit(text):
    """Half of what the last digit shown stands for."""
    if "e" in text:
        return abs(decimal_of(text)) / 200
    return Decimal(5).scaleb(-len(text.partition(".")[2]) - 1)


def agrees(shown, exact):
    return abs(decimal_of(shown) - exact) <= half_a_unit(shown) + abs(exact) * Decimal("1e-8")


def is_of_four_digits(match):
    """As numbers without a unit are shown, from 1,000 on with one decimal: not times and sizes, which are exact."""
    whole, _, decimals = match["number"].replace(",", "").lstrip("-0").partition(".")
    few = len((whole + decimals).lstrip("0")) <= 4 or (len(whole) > 3 and len(decimals) == 1)
    return not match["unit"] and not match["again"] and decimals != "" and few


def figure_is_among(cell, numbers):
    """Does the figure in this cell say one of these numbers of the JSON?"""
    match = ROUNDED.fullmatch(cell)
    if match:
        factor = 100 if match["suffix"] == "%" else 1
        if match["less"] or match["tiny"]:
            return any(0 < abs(n) * factor < Decimal("0.001") for n in numbers)
        return any(agrees(match["number"], n * factor) for n in numbers)
    match = EXACT.fullmatch(cell)
    if not match:
        return False
    exact = decimal_of(match["number"])
    if match["again"] and not agrees(match["again"], exact / SCALES[match["scale"]]):
        return False
    return exact in numbers or (is_of_four_digits(match) and any(agrees(match["number"], n) for n in numbers))


def numbers_in(value):
    """All numbers in a part of the JSON report."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return set()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*map(numbers_in, value)) if value else set()
    return {value}


def value_at(report, path):
    """The value at a path of keys and, in brackets, places in a list."""
    for key in re.findall(r"\w+", path):
        if isinstance(report, list) and key.isdigit() and int(key) < len(report):
            report = report[int(key)]
        elif isinstance(report, dict) and key in report:
            report = report[key]
        else:
            return None
    return report


def values_at(report, path):
    """All values at a path of keys, in which * stands for any letters."""
    found = [report]
    for key in path.split("."):
        found = [value[name] for value in found if isinstance(value, dict) for name in value
                 if fnmatch.fnmatchcase(name, key)]
    return found


def elements_at(report, paths):
    """The numbers of each row that a table may show: of list elements, or of an object's members by key."""
    first, *more = [value_at(report, path) for path in paths]
    if isinstance(first, list):
        return [numbers_in(element) for element in first]
    if not isinstance(first, dict):
        return []
    beside = [other for other in more if isinstance(other, dict)]
    return [set().union(numbers_in(value), *(numbers_in(other.get(key)) for other in beside))
            for key, value in first.items()]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_code(cell):
    return cell.startswith("`") or cell.startswith("&#")


def figures_of(row, right_aligned):
    """The figures in the columns of numbers; what is neither a figure nor one of our words is an error."""
    figures = []
    for cell, right in zip(row, right_aligned):
        if right and cell not in WORDS and not is_code(cell):
            if not ROUNDED.fullmatch(cell) and not EXACT.fullmatch(cell):
                raise ValueError(f"not a figure: {cell!r}")
            figures.append(cell)
    return figures


def tables_of(markdown):
    """(line number, caption, head, right_aligned, rows) of each table."""
    lines, caption, at = markdown.split("\n"), "", 0
    while at < len(lines):
        if lines[at].startswith("|"):
            start = at
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            head, marks, *rows = [cells_of(line) for line in lines[start:at]]
            yield start + 1, caption, head, [mark.endswith(":") for mark in marks], rows
            caption = ""
        else:
            if lines[at]:
                caption = lines[at]
            at += 1


def evidence_of(report, metric):
    return set().union(set(), *(numbers_in(evidence) for finding in report.get("findings", [])
                                for evidence in finding["evidence"] if evidence["metric"] == metric))


def check_table(report, caption, head, right_aligned, rows):
    """Complaints about one table."""
    by_path = head[-1] == "Path"
    paths = re.findall(r"`([\w.\[\]]+)`", caption) if caption.startswith("Rows of ") else []
    elements = iter(elements_at(report, paths)) if paths else None
    for row in rows:
        if len(row) != len(head):
            yield f"{len(row)} cells under {len(head)} titles: {row}"
            continue
        figures = figures_of(row, right_aligned)
        if by_path:
            numbers = numbers_in(values_at(report, row[-1].strip("`")))
        elif head[0] == "Path":
            numbers = evidence_of(report, row[0].strip("`"))
        elif paths:
            wanted = figures
            numbers = next((n for n in elements if all(figure_is_among(f, n) for f in wanted)), set())
        else:
            yield f"a table that names no path: {head}"
            return
        for figure in figures:
            if not figure_is_among(figure, numbers):
                yield f"{figure!r} is not in the JSON where this row says: {' | '.join(row)}"


def check_markdown(markdown, report):
    complaints, figures = [], 0
    for line, caption, head, right_aligned, rows in tables_of(markdown):
        try:
            complaints += [f"line {line}: {text}" for text in check_table(report, caption, head, right_aligned, rows)]
            figures += sum(len(figures_of(row, right_aligned)) for row in rows)
        except ValueError as error:
            complaints.append(f"line {line}: {error}")
    return complaints, figures


# ---- JSON

def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key stands twice: {sorted(k for k in keys if keys.count(k) > 1)[0]!r}")
    return dict(pairs)


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def read_report(data):
    """Numbers keep every digit; anything that strict JSON does not allow is an error."""
    return json.loads(data.decode("utf-8"), object_pairs_hook=no_duplicates, parse_float=Decimal, parse_int=Decimal,
                      parse_constant=refuse_constant)


class Digits(str):
    """A number as it is written."""


def pruned(value, paths):
    """What stands at these paths, each a list of keys, in the objects around it."""
    if [] in paths or not isinstance(value, dict):
        return value
    below = {key: [path[1:] for path in paths if path[0] == key] for key in value}
    return {key: pruned(value[key], more) for key, more in below.items() if more}


def text_of(value, indent="\n"):
    """JSON as the program writes it, for documents that were read with Digits."""
    if isinstance(value, Digits):
        return str(value)
    if not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + "  "
    if isinstance(value, list):
        return "[" + ",".join(deeper + text_of(item, deeper) for item in value) + indent + "]"
    members = (f"{deeper}{json.dumps(key, ensure_ascii=False)}: {text_of(item, deeper)}" for key, item in value.items())
    return "{" + ",".join(members) + indent + "}"


def part_of(data, paths):
    """The report as far as it is about the paths."""
    report = json.loads(data.decode("utf-8"), parse_float=Digits, parse_int=Digits)
    return (text_of(pruned(report, [path.split(".") for path in paths])) + "\n").encode("utf-8")


def with_report(text):
    """A schema that refers to that of the report, with it inside: each version of jsonschema finds other documents in a way
    of its own."""
    within, report = "#/$defs/report/$defs/", (ROOT / "references" / "report-schema.json").read_text(encoding="utf-8")
    schema = json.loads(text.replace("urn:analyze-profile:report:1#/$defs/", within))
    schema["$defs"]["report"] = {"$defs": json.loads(report.replace("#/$defs/", within))["$defs"]}
    return schema


def parts_within(value):
    """All objects in a document, itself included."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from parts_within(part)


def resolved(schema):
    """The schema with what its references name in their place: to look each up for each value takes most of the time."""
    for node in [part for part in parts_within(schema) if isinstance(part.get("$ref"), str)]:
        while "$ref" in node:
            if node.keys() - {"$ref", "description"}:
                raise ValueError(f"more beside a reference: {sorted(node)}")
            target = schema
            for key in node.pop("$ref").split("/")[1:]:
                target = target[key]
            node.update({key: value for key, value in target.items() if key not in node})
    return schema


def with_memory(draft):
    """A validator class that looks at a value without parts once for each place of the schema, not in each row again."""
    from jsonschema import validators
    right = set()

    def key_of(value, schema):
        if isinstance(value, (dict, list)) or not isinstance(schema, dict):
            return None
        whole = isinstance(value, float) and "integer" in schema.get("type", ())  # 1.0 is an integer, 1.5 is none
        by_type = schema.keys() <= {"type", "description"} and not whole
        return id(schema), type(value), None if by_type else value

    def errors_in(validator, value, schema, path):
        key = key_of(value, schema)
        if key is None or key not in right:
            errors = list(validator.descend(value, schema, path=path))
            if key is not None and not errors:
                right.add(key)
            yield from errors

    def properties(validator, members, instance, _):
        for name in members.keys() & instance.keys() if isinstance(instance, dict) else ():
            yield from errors_in(validator, instance[name], members[name], name)

    def items(validator, schema, instance, _):
        for place, value in enumerate(instance if isinstance(instance, list) else ()):
            yield from errors_in(validator, value, schema, place)

    return validators.extend(draft, {"properties": properties, "items": items})


def load_validator(schema_path, checked=False):
    """A function that lists what breaks the schema, or None without python3-jsonschema. @checked: asks first whether the
    schema is one, which takes a second."""
    try:
        import jsonschema
    except ImportError:
        return None
    text = schema_path.read_text(encoding="utf-8")
    schema = with_report(text) if "urn:analyze-profile:report:1#" in text else json.loads(text)
    if checked:
        jsonschema.Draft202012Validator.check_schema(schema)
    validator = with_memory(jsonschema.Draft202012Validator)(resolved(schema))

    def complaints(data):
        errors = sorted(validator.iter_errors(json.loads(data)), key=lambda error: list(map(str, error.absolute_path)))
        return ["$." + ".".join(map(str, error.absolute_path)) + ": " + error.message[:300] for error in errors]
    return complaints


def check_counters(tap, counters_path, documents):
    """Every oddity that the readers count is explained to people."""
    codes = re.findall(r'^AP_COUNTER\(\w+, "([\w-]+)"', counters_path.read_text(encoding="utf-8"), re.M)
    text = "".join(document.read_text(encoding="utf-8") for document in documents)
    lacking = [code for code in codes if f"`{code}`" not in text]
    tap.ok(codes and not lacking, "the format pages explain every counter of counters.def", "\n".join(lacking))


# ---- cases

def other_locale():
    """A locale that writes numbers or sorts differently: the one that the build made, or one that the machine has."""
    made = Path(os.environ.get("LOCPATH", ".")) / "de_DE.UTF-8"
    if made.is_dir():
        return made.name
    try:
        known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        known = []
    for wanted in ("de_DE", "fr_FR", "tr_TR", "en_US"):
        for name in known:
            if name.startswith(wanted):
                return name
    return "C.UTF-8"


class Case:
    def __init__(self, folder, fixtures):
        self.folder, self.fixtures, self.name = folder, fixtures, folder.name
        self.args = self.lines("args")
        self.paths = self.lines("paths")  # none: the whole report

    def lines(self, name):
        return [line for line in (self.expected(name) or b"").decode("utf-8").split("\n") if line]

    def expected(self, name):
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def run(self, program, locale, time_zone):
        """(exit code, standard error, {file name: bytes})"""
        environment = dict(os.environ, LC_ALL=locale, LANG=locale, TZ=time_zone)
        stdin = self.expected("stdin")
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            feed = (self.fixtures / stdin.decode().strip()).read_bytes() if stdin else b""
            runs = [["--full", "--md-out", out / "report.md", "--json-out", out / "report.json"]]
            runs += [["--md-out", out / "brief.md"]] if self.expected("brief.md") is not None else []
            for outputs in runs:
                done = subprocess.run([program, *self.args, *outputs], cwd=self.fixtures, env=environment, input=feed,
                                      timeout=RUN_LIMIT_S, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            files = {path.name: settled(path.read_bytes()) for path in out.iterdir()}
        return done.returncode, done.stderr, files

    def kept(self, files):
        """What of the reports is kept: (name, bytes or None)."""
        markdown, report = files.get("report.md"), files.get("report.json")
        if self.paths:
            markdown = markdown if "report.md" in self.paths else None
            report = report and part_of(report, [path for path in self.paths if path != "report.md"])
        return ("report.md", markdown), ("report.json", report), ("brief.md", files.get("brief.md"))

    def bless(self, code, stderr, files):
        for name, data in self.kept(files):
            self.write(name, data)
        self.write("exit", f"{code}\n".encode() if code else None)
        self.write("stderr", stderr or None)

    def write(self, name, data):
        path = self.folder / name
        if data is not None:
            path.write_bytes(data)
        elif path.exists():
            path.unlink()


def difference(want, got):
    """The first line that differs, for the log."""
    if want is None or got is None:
        return "expected no such file" if want is None else "the file was not written"
    want_lines, got_lines = want.split(b"\n"), got.split(b"\n")
    for number, (a, b) in enumerate(zip(want_lines, got_lines), 1):
        if a != b:
            return f"line {number}\nwant {a[:300]!r}\n got {b[:300]!r}"
    return f"want {len(want_lines)} lines, got {len(got_lines)}"


def check_case(tap, case, program, validate, bless):
    """The reports that it wrote."""
    code, stderr, files = case.run(program, "C", "UTC")
    if bless:
        case.bless(code, stderr, files)
        print(f"# blessed {case.name}: read the diff")
    want_code = int((case.expected("exit") or b"0").decode())
    tap.ok(code == want_code, f"{case.name}: exit code {want_code}", f"got {code}\n{stderr.decode(errors='replace')}")
    if case.expected("stderr") is not None:
        tap.ok(stderr == case.expected("stderr"), f"{case.name}: standard error",
               difference(case.expected("stderr"), stderr))
    for name, got in case.kept(files):
        want = case.expected(name)
        tap.ok(want == got, f"{case.name}: {name}", difference(want, got))
    tap.ok(set(files) <= {*MARKDOWN, "report.json"}, f"{case.name}: nothing else is left behind", sorted(files))
    locale = other_locale()
    again = case.run(program, locale, "Asia/Kathmandu")
    tap.ok(again == (code, stderr, files), f"{case.name}: the same again, in the locale {locale}",
           "\n".join(difference(files.get(name), again[2].get(name)) for name in files))
    if "report.json" in files:
        check_contents(tap, case, files, validate)
    return files


def filled_parts(files):
    """The members of a report that say something."""
    report = json.loads(files.get("report.json", b"{}"))
    return {key for key, value in report.items() if value not in (None, [], {})}


def check_contents(tap, case, files, validate):
    try:
        report = read_report(files["report.json"])
    except ValueError as error:
        tap.ok(False, f"{case.name}: strict JSON", error)
        return
    if validate:
        complaints = validate(files["report.json"])
        tap.ok(not complaints, f"{case.name}: the JSON keeps to the schema", "\n".join(complaints))
    complaints, figures = check_markdown(b"\n\n".join(files.get(name, b"") for name in MARKDOWN).decode("utf-8"), report)
    tap.ok(not complaints, f"{case.name}: all {figures} figures of the Markdown stand in the JSON",
           "\n".join(complaints))


def parse_arguments():
    parser = parser_of(__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only these cases")
    parser.add_argument("--bless", action="store_true", help="take what the program writes now as right")
    parser.add_argument("--fixtures", type=Path, default=ROOT / "fixtures", help="folder that holds golden/")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    tap = Tap()
    schema_path = ROOT / "references" / "report-schema.json"
    validate = load_validator(schema_path, checked=True)
    load_validator(schema_path.with_name("answer-schema.json"), checked=True)
    if not validate:
        tap.skip("reports keep to the schema", "NO SCHEMA CHECK: install python3-jsonschema")
    references = schema_path.parent
    check_counters(tap, ROOT / "src" / "base" / "counters.def",
                   [references / "trace-format.md", references / "memory-format.md",
                    references / "flight-format.md"])
    fixtures = arguments.fixtures.resolve()
    folders = sorted(path.parent for path in fixtures.glob("golden/*/args"))
    unknown = set(arguments.cases) - {folder.name for folder in folders}
    tap.ok(folders and not unknown, "there are cases", f"not found: {sorted(unknown) or fixtures / 'golden'}")
    told, whole = set(), set()
    for case in (Case(folder, fixtures) for folder in folders if not arguments.cases or folder.name in arguments.cases):
        parts = filled_parts(check_case(tap, case, arguments.program.resolve(), validate, arguments.bless))
        told |= parts
        whole |= parts & set(case.paths) if case.paths else parts
    if not arguments.cases:
        tap.same(sorted(told - whole), [], "each part of a report is kept whole in a case")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
