#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The catalogue of figures, src/catalogue/catalogue.def, as a schema and as C tables.

usage: make_catalogue.py WHAT CATALOGUE OUTPUT

CATALOGUE is what the C preprocessor makes of catalogue.def. WHAT is
    report-schema, answer-schema   the files of these names in references/
    figures   the table of src/catalogue/catalogue.h
    tables    the lists and objects that --table knows, with their columns, for src/query/known_table.h"""
import json
import pathlib
import re
import sys

TOKEN = re.compile(r'\s*(?:# (?P<line>\d+) "(?P<file>[^"]*)"[^\n]*\n|'
                   r'(?P<text>"(?:\\.|[^"\\])*")|(?P<word>[\w-]+)|(?P<mark>[(),]))')
ANSWERS = "answers.def"  # whose shapes stand in no report
LISTS = {"rules": "listed_rule", "metrics": "listed_metric"}  # answers of the form of a table, and what their rows are
OR_NULL = "_or_null"

BESIDE = "In the unit of the figure that is told beside it."
# What JSON has for a kind. The unit of a figure is its kind.
SCALARS = {
    "time": {"description": "Microseconds, with up to three exact decimals.", "type": "number"},
    "bytes": {"description": "Bytes.", "type": "integer"},
    "count": {"description": "How many, or which.", "type": "integer", "minimum": 0},
    "ratio": {"description": "Quotient without unit.", "type": "number"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "bool": {"type": "boolean"},
    "text": {"type": "string"},
    "id": {"description": "As the input writes it.", "type": ["integer", "number", "string", "boolean"]},
    "text_or_number": {"type": ["string", "number"]},
    "figure": {"description": BESIDE, "type": ["number", "boolean"]},
    "figure_or_text": {"description": BESIDE, "type": ["number", "boolean", "string"]},
    "name": {"type": "string", "minLength": 1},
    "version": {"type": "string", "pattern": "^1\\.[0-9]+$"},
    "open": {"type": "object"},
}
SIGNS = ("times", "GB/s", "/s", "/step")  # what unit(...) can say of a ratio or a number
NOTHING = re.compile(r"(?!)")
NAMED_SIGNS = {"ratio": re.compile(r"_(vs|over)_"), "number": re.compile(r"per_(s|step)$")}
UNITS = {kind: kind for kind in ("time", "bytes", "count", "ratio", "number", "bool")} | {"integer": "count"}


def unit_of(row):
    """Of a number, or of the numbers in a list or map; None for all else."""
    kind = row.kind
    while kind[0].removesuffix(OR_NULL) in ("list", "map") and kind[1]:
        kind = kind[1][0]
    return UNITS.get(kind[0].removesuffix(OR_NULL))


class Mistake(Exception):
    """In the catalogue; the text says where."""


class Row:
    def __init__(self, place, macro, arguments):
        self.place, self.is_figure = place, macro == "AP_FIGURE"
        self.path = arguments[0][0]
        rest = arguments[1:]
        self.kind = rest.pop(0)[0] if macro != "AP_MEMBER" else ("member", [])
        self.meaning = rest.pop(0)[0] if macro != "AP_MEMBER" else ""
        self.traits = {name: values for ((name, values),) in rest}
        self.rows = {}  # what stands in it, by key
        self.choices = []  # (which, keys): it has the keys of exactly one of them

    @property
    def key(self):
        return self.path.rpartition(".")[2]

    def name_that(self, key):
        """The row may be told alone: what it calls "that" is the row before it."""
        self.meaning = re.sub("^That over ", f"{key} over ", self.meaning)
        if self.trait("rules"):
            self.traits["rules"][0] = re.sub("^that over ", f"{key} over ", self.traits["rules"][0])

    def trait(self, name, otherwise=None):
        values = self.traits.get(name)
        return values[0] if values else otherwise


# ---- reading ----

def tokens(text):
    """(kind, text, place) of what the preprocessor left."""
    at, file, line_at, line = 0, "?", 0, 1
    while match := TOKEN.match(text, at):
        at = match.end()
        if match["file"] is not None:
            file, line, line_at = match["file"], int(match["line"]), at
        else:
            start = match.start(match.lastgroup)
            yield match.lastgroup, match[match.lastgroup], (file, line + text.count("\n", line_at, start))
    if text[at:].strip():
        raise Mistake(f"{file}: not understood: {text[at:].strip()[:60]}")


def read_items(stream, place):
    """Arguments up to the closing bracket: lists of texts, which are joined, and of (name, arguments)."""
    found, current = [], []
    for kind, text, _ in stream:
        if text == ")" and kind == "mark" or text == "," and kind == "mark":
            if current:
                found.append(current)
            current = []
            if text == ")":
                return found
        elif text == "(" and kind == "mark":
            current[-1] = (current[-1][0], [item[0] for item in read_items(stream, place)])
        elif kind == "text":
            text = json.loads(text)
            if current and isinstance(current[-1], str):
                current[-1] += text
            else:
                current.append(text)
        else:
            current.append((text, []))
    raise Mistake(f"{place[0]}:{place[1]}: a bracket is not closed")


class Catalogue:
    def __init__(self, text):
        self.words, self.rows = {}, {}
        self.top = {}  # keys of the report, and shapes
        stream = tokens(text)
        for _, macro, place in stream:
            next(stream)
            arguments = read_items(stream, place)
            if macro == "AP_ONE_OF":
                self.rows[arguments[0][0]].choices.append((arguments[1][0], [word for ((word, _),) in arguments[2:]]))
            elif macro == "AP_WORDS":
                self.words[arguments[0][0][0]] = [word for (word,) in arguments[1:]]
            elif macro in ("AP_FIGURE", "AP_KEY", "AP_MEMBER"):
                self.add(Row(place, macro, arguments))
            else:
                raise Mistake(f"{place[0]}:{place[1]}: {macro} is no row")
        for row in self.rows.values():
            self.check(row)
        self.check_units()

    def add(self, row):
        if row.path in self.rows:
            self.fail(row, "stands twice")
        self.rows[row.path] = row
        around = row.path.rpartition(".")[0]
        if around and around not in self.rows:
            self.fail(row, f"no row above it is called {around}")
        beside = self.rows[around].rows if around else self.top
        if beside:
            row.name_that(next(reversed(beside)))
        beside[row.key] = row

    def check(self, row):
        name, arguments = row.kind
        base = name.removesuffix(OR_NULL)
        known = base in SCALARS or name in self.words or base in self.words or f"<{base}>" in self.top
        if not known and base not in ("object", "list", "map", "words", "member"):
            self.fail(row, f"no kind is called {name}")
        members_only = base == "map" and all(below.kind[0] == "member" for below in row.rows.values())
        if row.rows and base not in ("object", "list") and not members_only:
            self.fail(row, f"is a {name}, but has rows in it")
        if row.is_figure and base not in UNITS:
            self.fail(row, f"is a {name}: a figure is a number, or a bool that rules may name")
        if not row.meaning and name != "member":
            self.fail(row, "has no meaning")
        if "unit" in row.traits and (row.trait("unit") not in SIGNS or unit_of(row) not in ("ratio", "number")):
            self.fail(row, f"has a unit: that is one of {', '.join(SIGNS)}, of a ratio or a number")
        if "unit" not in row.traits and NAMED_SIGNS.get(unit_of(row), NOTHING).search(row.key):
            self.fail(row, f"has a name that promises a unit: unit(...) says which, one of {', '.join(SIGNS)}")
        if "compared" in row.traits and not ("title" in row.traits and "better" in row.traits):
            self.fail(row, "is compared: it needs title(...) and better(...)")

    def check_units(self):
        """A key has one unit wherever it stands: columns are known by it, and what is written and read back."""
        known = {}
        for row in self.rows.values():
            unit = unit_of(row)
            signs = ("number" if unit in ("count", "bool") else unit, row.trait("unit"))
            if unit and known.setdefault(row.key, (signs, row))[0] != signs:
                other = known[row.key][1]
                self.fail(row, f"is a {row.trait('unit', signs[0])}, but {other.path} is a "
                               f"{other.trait('unit', known[row.key][0][0])}: a key has one unit, give it another name")

    @staticmethod
    def fail(row, what):
        raise Mistake(f"{row.place[0]}:{row.place[1]}: {row.path} {what}")

    def shape_of(self, kind):
        """The shape in a kind; None where it has none."""
        while kind[0].removesuffix(OR_NULL) in ("list", "map") and kind[1]:
            kind = kind[1][0]
        return self.top.get(f"<{kind[0].removesuffix(OR_NULL)}>")

    def keys(self):
        return {key: row for key, row in self.top.items() if not key.startswith("<")}

    def shapes(self):
        return {key[1:-1]: row for key, row in self.top.items() if key.startswith("<")}


# ---- the schema ----

def with_null(types):
    return (types if isinstance(types, list) else [types]) + ["null"]


def words_schema(words, null):
    return {"enum": words + [None] * null}


def object_schema(catalogue, rows):
    return {"type": "object", "properties": {key: row_schema(catalogue, row) for key, row in rows.items()},
            "required": [key for key, row in rows.items() if "optional" not in row.traits], "additionalProperties": False}


def kind_schema(catalogue, kind, rows=None):
    """Of a kind whose rows, for objects and lists of them, are @rows."""
    name, arguments = kind
    base, null = name.removesuffix(OR_NULL), name.endswith(OR_NULL)
    if name in catalogue.words or base in catalogue.words:
        known = name if name in catalogue.words else base
        return words_schema(catalogue.words[known], null and known == base)
    if base == "words":
        return words_schema(arguments, null)
    if base == "object":
        schema = object_schema(catalogue, rows)
    elif base == "list":
        items = kind_schema(catalogue, arguments[0]) if arguments else object_schema(catalogue, rows)
        schema = {"type": "array", "items": items}
    elif base == "map":
        schema = {"type": "object", "additionalProperties": kind_schema(catalogue, arguments[0])}
        if rows:
            schema = {"type": "object", "propertyNames": {"enum": list(rows)}, "minProperties": len(rows)} | schema
    elif base in ("bool", "text", "integer", "number", "name", "version", "open"):
        schema = dict(SCALARS[base])
    else:
        if null and f"<{base}>" in catalogue.top:
            return {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{base}"}]}
        return {"$ref": f"#/$defs/{name}"}
    return schema | {"type": with_null(schema["type"])} if null else schema


def row_schema(catalogue, row):
    schema = {"description": row.meaning} | kind_schema(catalogue, row.kind, row.rows)
    least = "minItems" if row.kind[0].startswith("list") else "minimum"
    for trait, keys in (("items", ["minItems", "maxItems"]), ("least", [least])):
        if trait in row.traits:
            schema |= {key: int(row.trait(trait)[0]) for key in keys}
    if row.choices:
        schema |= {"required": [], "oneOf": [{"description": which, "required": keys, "maxProperties": len(keys)}
                                             for which, keys in row.choices]}
    if "keys" in row.traits:
        schema |= {"propertyNames": {"pattern": row.trait("keys")}}
    return schema


def references_in(value):
    if isinstance(value, dict):
        yield from [value["$ref"].removeprefix("#/$defs/")] if isinstance(value.get("$ref"), str) else []
        for member in value.values():
            yield from references_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from references_in(member)


def scalars_in(value):
    used = set(references_in(value))
    nullable = {name + OR_NULL: schema | {"type": with_null(schema["type"])} for name, schema in SCALARS.items()}
    return {name: schema for name, schema in (SCALARS | nullable).items() if name in used}


def definitions(catalogue, body):
    every = {name: row_schema(catalogue, row) for name, row in catalogue.shapes().items()}
    used, added = set(), set(references_in(body))
    while added:
        used |= added
        added = set(references_in([every[name] for name in added if name in every])) - used
    shapes = {name: schema for name, schema in every.items() if name in used}
    return scalars_in([body, shapes]) | shapes


REPORT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:analyze-profile:report:1",
    "title": "Report of analyze_profile",
    "description": "Made from src/catalogue. Times are microseconds, keys end in _us. Bytes end in _bytes, quotients "
                   "without unit in _ratio, numbers per second in _per_s. Integers may use all 64 bits. null means "
                   "not known, not recorded or not defined, never 0. A value's name is its path of keys, as in "
                   "cpu.summary.time_window_us: rules and findings use these names. Lists are bounded by --top-n "
                   "where they say so.",
}
ANSWER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:analyze-profile:answer:1",
    "title": "Answers of analyze_profile",
    "description": "Made from src/catalogue. What --table, --around, --explain, --list-rules and --list-metrics write "
                   "with --format json, and what the tools table, around and explain of the server have as structured "
                   "content. Names, units and null are those of report-schema.json, to which this refers; a "
                   "comparison (--baseline) and a series (--series) are parts of the report and stand there.",
    "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("table", "around", "rule", "metric")],
}


def report_schema(catalogue):
    body = object_schema(catalogue, catalogue.keys())
    return json_lines(REPORT | body | {"$defs": definitions(catalogue, body)}) + "\n"


def forms_of_tables(rows_of):
    """What the rows of an answer are, by its table; @rows_of: the shape of each that is no part of the report."""
    yield from ({"properties": {"table": {"const": table}, "columns": {"type": "null"},
                                "rows": {"items": {"$ref": f"#/$defs/{row}"}}}} for table, row in rows_of.items())
    yield {"description": "Columns that were chosen, members of members by their path; null where a row has no such member.",
           "properties": {"columns": {"type": "array"}, "rows": {"items": {"minProperties": 1}}}}
    row_id = {"description": "Path with places: gpu.kernels[3].", **SCALARS["name"]}
    yield {"description": "A list or object of the report, as there; what is no object is the member value.",
           "properties": {"table": {"not": {"enum": list(rows_of)}}, "columns": {"type": "null"},
                          "rows": {"items": {"properties": {"row_id": row_id}, "required": ["row_id"]}}}}


def answer_schema(catalogue):
    """Of answers: shapes of their own, those of the report by reference to its schema."""
    own = {name: row for name, row in catalogue.shapes().items() if row.place[0].endswith(ANSWERS)}
    shapes = {name: row_schema(catalogue, row) for name, row in own.items()}
    rows_of = {name.removeprefix("row_of_"): name for name in own if name.startswith("row_of_")} | LISTS
    shapes["table"]["oneOf"] = list(forms_of_tables(rows_of))
    text = json_lines(ANSWER | {"$defs": scalars_in(shapes) | shapes}) + "\n"
    for name in set(references_in(shapes)) - set(shapes):
        if f"<{name}>" in catalogue.top:
            text = text.replace(f'"#/$defs/{name}"', f'"{REPORT["$id"]}#/$defs/{name}"')
    return text


def json_lines(value, indent=""):
    """As JSON, what has no properties on one line."""
    if not isinstance(value, dict) or '"properties": ' not in json.dumps(value):
        return json.dumps(value, ensure_ascii=False)
    members = []
    for key, member in value.items():
        if key in ("properties", "$defs"):
            inner = [f"{indent}  {json.dumps(name)}: {json_lines(one, indent + '  ')}" for name, one in member.items()]
            members.append(f"{json.dumps(key)}: {{\n" + ",\n".join(inner) + f"\n{indent} }}")
        else:
            members.append(f"{json.dumps(key)}: {json_lines(member, indent + ' ')}")
    return "{\n" + ",\n".join(f"{indent} {member}" for member in members) + f"\n{indent}}}"


# ---- tables ----

LEVELS = 3
MOST_BYTES = 4000  # of a string that every C compiler takes


class Tables:
    """A table is a list or an object of the report, by its path; a key that the input chooses is "*". Its columns stand as
    --table writes them: members of objects in a row by their path, three levels deep at most; ".*" behind what has more
    below it, and "*" where there are too many to be told."""

    def __init__(self, catalogue):
        self.catalogue = catalogue

    def members(self, kind, rows):
        """{key: (kind, rows)} of what is an object."""
        base = kind[0].removesuffix(OR_NULL)
        shape = self.catalogue.top.get(f"<{base}>")
        if base == "map":
            return {"*": (kind[1][0], {})}
        rows = shape.rows if shape else rows if base == "object" else {}
        return {key: (row.kind, row.rows) for key, row in rows.items()}

    @staticmethod
    def items(kind, rows):
        """What stands in a list; None for what is none."""
        if kind[0].removesuffix(OR_NULL) != "list":
            return None
        return (kind[1][0], {}) if kind[1] else (("object", []), rows)

    def columns(self, node, levels=LEVELS):
        for key, member in self.members(*node).items():
            below = self.members(*member)
            if key == "*":
                yield "*"
            elif not below:
                yield key
            elif levels == 1 or "*" in below:
                yield f"{key}.*"
            else:
                yield from (f"{key}.{column}" for column in self.columns(member, levels - 1))

    def tables(self, members, path=()):
        for key, member in members.items():
            below, items = path + (key,), self.items(*member)
            row = items or member
            columns = list(self.columns(row))
            if columns or items:
                yield ".".join(below), ["row_id"] + (columns or ["value"])
            yield from self.tables(self.members(*row), below)

    def all(self):
        return dict(self.tables({key: (row.kind, row.rows) for key, row in self.catalogue.keys().items()}))


def joined(columns):
    text = " ".join(columns)
    return text if len(text) <= MOST_BYTES else text[:text.rindex(" ", 0, MOST_BYTES)] + " *"


def table_array(name, tables):
    return [f"const struct ap_known_table ap_{name}_tables[] = {{"] + \
        [f'    {{ "{table}", "{joined(tables[table])}" }},' for table in sorted(tables)] + \
        ["};", f"const size_t ap_{name}_table_count = {len(tables)};", ""]


def tables_c(catalogue):
    rows = {name.removeprefix("row_of_"): list(shape.rows) for name, shape in catalogue.shapes().items()
            if name.startswith("row_of_")}
    lines = ["/* Made by make_catalogue.py. */", '#include "known_table.h"', ""]
    return "\n".join(lines + table_array("row", rows) + table_array("report", Tables(catalogue).all()))


# ---- figures ----

class Figure:
    def __init__(self, path, row, words, is_member):
        self.path, self.row, self.is_member = path, row, is_member
        self.words = words


def said(row):
    """The meaning as a part of a sentence."""
    text = row.meaning.removesuffix(".")
    return text if len(text) > 1 and text[1].isupper() else text[:1].lower() + text[1:]


def words_of(row, spoken):
    """What rules call it; None where they may not. @spoken: what stands for $1 and $2; None where rules may name nothing."""
    if "rules" not in row.traits or spoken is None:
        return None
    words = row.trait("rules", said(row))
    for number, word in enumerate(spoken, 1):
        words = words.replace(f"${number}", word)
    return words


def figures_in(catalogue, rows, path=(), spoken=(), is_member=False):
    for key, row in rows.items():
        below = path + (key,)
        if row.kind[0].removesuffix(OR_NULL) in UNITS:
            yield Figure(".".join(below), row, words_of(row, spoken), is_member)
        shape = catalogue.shape_of(row.kind)
        inner = row.traits.get("rules") if shape else spoken
        if row.kind[0].startswith("map") and shape:
            yield from figures_in(catalogue, shape.rows, below + ("*",), None, is_member)
            for name, member in row.rows.items():
                yield from figures_in(catalogue, shape.rows, below + (name,), member.traits.get("rules"), True)
        elif row.kind[0].startswith("map"):
            if row.kind[1][0][0] in UNITS:
                item = Row(row.place, "AP_FIGURE", [[row.path], [row.kind[1][0]], [row.meaning]])
                yield Figure(".".join(below + ("*",)), item, None, is_member)
        else:
            yield from figures_in(catalogue, shape.rows if shape else row.rows, below, inner, is_member)


def all_figures(catalogue):
    """Of reports, and of rows that stand in answers alone."""
    rows = {key: row for key, row in catalogue.top.items() if not key.startswith("<") or key.startswith("<row_of_")}
    return sorted(figures_in(catalogue, rows), key=lambda figure: figure.path.encode())


def compared_in(row):
    return row.trait("compared", ("none", []))[0]


def c_text(words):
    return json.dumps(words, ensure_ascii=False) if words is not None else "NULL"


def texts_of(figure):
    return figure.path, figure.row.meaning, figure.words, figure.row.trait("title")


def places_of(figures):
    """Where each text begins when all of them stand one behind the other; the first one is of those that are not there."""
    places, end = {}, 1
    for text in (text for figure in figures for text in texts_of(figure) if text is not None):
        if text not in places:
            places[text] = end
            end += len(text.encode()) + 1
    return places


def figure_c(figure, places):
    row, unit = figure.row, UNITS[figure.row.kind[0].removesuffix(OR_NULL)]
    is_number = row.is_figure and unit != "bool" and not figure.path.startswith("<")
    texts = ", ".join(str(places.get(text, 0)) for text in texts_of(figure))
    flags = ", ".join("true" if flag else "false" for flag in (is_number, figure.is_member))
    better = row.trait("better", ("neither", []))[0]
    return f"    {{ {texts}, AP_UNIT_{unit}, AP_BETTER_{better}, AP_COMPARED_{compared_in(row)}, {flags} }},"


def keys_c(catalogue):
    """Each key of a number with its unit; what is a count in one place and a number in another is told by its digits."""
    units = {}
    for row in catalogue.rows.values():
        unit = unit_of(row)
        if unit:
            known = units.setdefault(row.key, (unit, row.trait("unit")))
            units[row.key] = known if known[0] == unit else ("count", None)
    return [f'    {{ "{key}", AP_UNIT_{unit}, {c_text(sign)} }},'
            for key, (unit, sign) in sorted(units.items(), key=lambda item: item[0].encode())]


def slot_of(path, count):
    """As src/catalogue/catalogue.c has it."""
    number = 2166136261
    for byte in path.encode():
        number = (number ^ byte) * 16777619 & 0xffffffff
    return (number ^ number >> 15) & (count - 1)


def slots_of(figures):
    """Open addressing, at most a quarter full."""
    count = 1 << (4 * len(figures) - 1).bit_length()
    slots = [0] * count
    for number, figure in enumerate(figures, 1):
        at = slot_of(figure.path, count)
        while slots[at]:
            at = (at + 1) % count
        slots[at] = number
    return slots


def numbers_c(name, numbers):
    rows = [", ".join(map(str, numbers[at:at + 24])) for at in range(0, len(numbers), 24)]
    return [f"const uint16_t {name}s[] = {{", *(f"    {row}," for row in rows), "};",
            f"const size_t {name}_count = {len(numbers)};"]


def figures_c(catalogue):
    figures = all_figures(catalogue)
    compared = sorted((int(figure.row.traits["compared"][1][0]), index) for index, figure in enumerate(figures)
                      if compared_in(figure.row) != "none")
    keys, places = keys_c(catalogue), places_of(figures)
    return "\n".join([
        "/* Made by make_catalogue.py. */", '#include "catalogue.h"', "",
        "const struct ap_key_info ap_keys[] = {", *keys, "};", f"const size_t ap_key_count = {len(keys)};",
        # Longer than a literal that every compiler takes.
        '__extension__ const char ap_figure_texts[] = "\\0"', *(f'    {c_text(text)} "\\0"' for text in places), "    ;",
        "const struct ap_figure_info ap_figures[] = {", *(figure_c(figure, places) for figure in figures), "};",
        f"const size_t ap_figure_count = {len(figures)};",
        *numbers_c("ap_figure_slot", slots_of(figures)),
        *numbers_c("ap_pattern_figure", [at for at, figure in enumerate(figures) if "*" in figure.path]),
        "const struct ap_figure_info *const ap_compared_figures[] = {",
        *(f"    &ap_figures[{index}]," for _, index in compared), "};",
        f"const size_t ap_compared_figure_count = {len(compared)};", ""])


WRITERS = {"report-schema": report_schema, "answer-schema": answer_schema, "figures": figures_c, "tables": tables_c}


def read(path):
    return Catalogue(pathlib.Path(path).read_text(encoding="utf-8"))


def main():
    what, catalogue, output = sys.argv[1:]
    try:
        pathlib.Path(output).write_text(WRITERS[what](read(catalogue)), encoding="utf-8")
    except Mistake as mistake:
        sys.exit(f"error: {mistake}")


if __name__ == "__main__":
    main()
