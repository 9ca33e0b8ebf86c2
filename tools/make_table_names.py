#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables that a report can have and their columns, out of its JSON schema, as a C table.

usage: make_table_names.py SCHEMA OUTPUT

A table is a list or an object of the report, by its path; a key that the input chooses is "*". Its columns stand as --table writes
them: members of objects in a row by their path, three levels deep at most; ".*" behind what has more below it,
and "*" where there are too many to be told."""
import json
import pathlib
import sys

LEVELS = 3
MOST_BYTES = 4000  # of a string that every C compiler takes


class Schema:
    def __init__(self, document):
        self.definitions = document["$defs"]

    def choices(self, node):
        """The node and its alternatives, without references."""
        while "$ref" in node:
            node = self.definitions[node["$ref"].rsplit("/", 1)[1]]
        yield node
        for choice in node.get("anyOf", []) + node.get("oneOf", []):
            yield from self.choices(choice)

    def members(self, node):
        """{key: node} of an object; "*" where the input chooses the keys."""
        found = {}
        for choice in self.choices(node):
            for key, member in choice.get("properties", {}).items():
                found.setdefault(key, member)
            if isinstance(choice.get("additionalProperties"), dict):
                found.setdefault("*", choice["additionalProperties"])
        return found

    def items(self, node):
        return [choice["items"] for choice in self.choices(node) if "items" in choice]

    def columns(self, node, levels=LEVELS):
        for key, member in self.members(node).items():
            below = self.members(member)
            if key == "*":
                yield "*"
            elif not below:
                yield key
            elif levels == 1 or "*" in below:
                yield f"{key}.*"
            else:
                yield from (f"{key}.{column}" for column in self.columns(member, levels - 1))

    def tables(self, node, path=()):
        for key, member in self.members(node).items():
            below, rows = path + (key,), self.items(member) or [member]
            columns = list(dict.fromkeys(column for row in rows for column in self.columns(row)))
            if columns or self.items(member):
                yield ".".join(below), ["row_id"] + (columns or ["value"])
            for row in rows:
                yield from self.tables(row, below)


def joined(columns):
    text = " ".join(columns)
    return text if len(text) <= MOST_BYTES else text[:text.rindex(" ", 0, MOST_BYTES)] + " *"


def main():
    schema, output = map(pathlib.Path, sys.argv[1:])
    document = json.loads(schema.read_text(encoding="utf-8"))
    tables = dict(Schema(document).tables(document))
    lines = ["/* Made by make_table_names.py from report-schema.json. */", '#include "known_table.h"', "",
             "const struct ap_known_table ap_report_tables[] = {"]
    lines += [f'    {{ "{name}", "{joined(tables[name])}" }},' for name in sorted(tables)]
    lines += ["};", f"const size_t ap_report_table_count = {len(tables)};", ""]
    output.write_text("\n".join(lines), encoding="utf-8")


main()
