#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The paths of all figures of a report, out of its JSON schema, as a C table.

usage: make_metric_names.py SCHEMA OUTPUT

Keys joined by dots; lists are not in the path, and a key that the input chooses is "*". Figures whose unit another member tells
are left out, as are places in the trace."""
import json
import pathlib
import sys

# members whose unit stands beside them, and what names a place or a thing
LEFT_OUT = {"value", "threshold", "limit", "before", "after", "delta", "start_us", "pid", "tid", "address"}


def resolved(node, definitions):
    while "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[1]]
    return node


def figures(node, definitions, path, found):
    node = resolved(node, definitions)
    for choice in node.get("anyOf", []) + node.get("oneOf", []):
        figures(choice, definitions, path, found)
    for key, member in node.get("properties", {}).items():
        figures(member, definitions, path + (key,), found)
    if isinstance(node.get("additionalProperties"), dict):
        figures(node["additionalProperties"], definitions, path + ("*",), found)
    if "items" in node:
        figures(node["items"], definitions, path, found)
    types = node.get("type", [])
    if {"integer", "number"} & set([types] if isinstance(types, str) else types) and path and path[-1] not in LEFT_OUT:
        found.add(".".join(path))


def main():
    schema, output = map(pathlib.Path, sys.argv[1:])
    document, found = json.loads(schema.read_text(encoding="utf-8")), set()
    figures(document, document["$defs"], (), found)
    found = sorted(name for name in found if not name.startswith("conditions."))
    lines = ["/* Made by make_metric_names.py from report-schema.json. */", '#include "metric_names.h"', "",
             "const char *const ap_metric_names[] = {"]
    lines += [f'    "{name}",' for name in found]
    lines += ["};", f"const size_t ap_metric_name_count = {len(found)};", ""]
    output.write_text("\n".join(lines), encoding="utf-8")


main()
