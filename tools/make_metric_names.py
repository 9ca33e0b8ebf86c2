#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The paths of all figures of a report and what they mean, out of its JSON schema, as C tables.

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


def figures(node, definitions, path, found, meaning=""):
    meaning = node.get("description", meaning)
    node = resolved(node, definitions)
    meaning = meaning or node.get("description", "")
    for choice in node.get("anyOf", []) + node.get("oneOf", []):
        figures(choice, definitions, path, found, meaning)
    for key, member in node.get("properties", {}).items():
        figures(member, definitions, path + (key,), found)
    if isinstance(node.get("additionalProperties"), dict):
        figures(node["additionalProperties"], definitions, path + ("*",), found, meaning)
    if "items" in node:
        figures(node["items"], definitions, path, found, meaning)
    types = node.get("type", [])
    if {"integer", "number"} & set([types] if isinstance(types, str) else types) and path and path[-1] not in LEFT_OUT:
        found.setdefault(".".join(path), meaning)


def main():
    schema, output = map(pathlib.Path, sys.argv[1:])
    document, found = json.loads(schema.read_text(encoding="utf-8")), {}
    figures(document, document["$defs"], (), found)
    names = sorted(name for name in found if not name.startswith("conditions."))
    lines = ["/* Made by make_metric_names.py from report-schema.json. */", '#include "metric_names.h"', "",
             "const char *const ap_metric_names[] = {"]
    lines += [f'    "{name}",' for name in names]
    lines += ["};", "const char *const ap_metric_meanings[] = {"]
    lines += [f"    {json.dumps(found[name])}," for name in names]
    lines += ["};", f"const size_t ap_metric_name_count = {len(names)};", ""]
    output.write_text("\n".join(lines), encoding="utf-8")


main()
