#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of the rubric as C, so that no run has to read Markdown for them: make_rubric.py INTERPRETATION.md OUT.c

The Markdown of rules is what src/rubric/rule_reader.c takes of it through libcmark: words, emphasis, links and `code`. What
is beyond that is a failure here, and the test rubric_rules compares every rule with what the reader makes of it."""

import re
import sys

LABELS = ["Observation:", "Hypothesis:", "Action:", "Trade-off:", "Validation:"]
HEADING = re.compile(r"### ([a-z0-9][a-z0-9-]*):\s*(.*)")
MAX_LITERAL = 4000


def fail(line, what):
    sys.exit(f"{sys.argv[1]}:{line}: {what}")


def words(text, line):
    """What people read of inline Markdown, on one line."""
    kept = []
    for number, part in enumerate(re.split(r"(`[^`]*`)", text)):
        if number % 2:
            code = part[1:-1]
            if code.startswith(" ") and code.endswith(" ") and code.strip():
                code = code[1:-1]
            kept.append(f"`{code}`")
            continue
        part = re.sub(r"\[([^\[\]]*)\]\(([^()\s]*)\)", r"\1 (\2)", part)
        part = re.sub(r"\*\*(\S(?:[^*]*\S)?)\*\*", r"\1", part)
        part = re.sub(r"(?<![*\w])\*(\S(?:[^*]*\S)?)\*(?![*\w])", r"\1", part)
        if re.search(r"[\\`]|&#?\w+;|<[a-zA-Z/!?]|!\[|\]\(|\*\*", part):
            fail(line, f"Markdown that is not understood here: {part}")
        kept.append(part)
    return "".join(kept).strip()


def literal(text, line):
    data = text.encode("utf-8")
    if len(data) > MAX_LITERAL:
        fail(line, "a text of a rule is too long")
    out = ""
    for byte in data:
        char = chr(byte)
        out += {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}.get(char) or (
            char if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{out}"'


def read_items(lines, at):
    """The five texts of the list behind a block, joined: ([(line, text)], where it ends)"""
    items = []
    while at < len(lines) and not lines[at].strip():
        at += 1
    while at < len(lines) and lines[at].strip():
        if lines[at].startswith("- "):
            items.append((at + 1, [lines[at][2:]]))
        elif items and lines[at].startswith("  "):
            items[-1][1].append(lines[at].strip())
        else:
            fail(at + 1, "expected the five texts of a rule")
        at += 1
    return [(line, " ".join(part.strip() for part in parts)) for line, parts in items], at


def read_texts(lines, at):
    items, at = read_items(lines, at)
    if len(items) != len(LABELS):
        fail(at, f"expected {len(LABELS)} texts of a rule, not {len(items)}")
    texts = []
    for (line, text), label in zip(items, LABELS):
        if not text.startswith(label):
            fail(line, f"expected {label}")
        texts.append((line, words(text[len(label):], line)))
    return texts, at


def read_rules(lines):
    at = 0
    while at < len(lines):
        heading = HEADING.fullmatch(lines[at])
        if lines[at].startswith("```"): # a block for people: what stands in it is no heading
            at = lines.index("```", at + 1) + 1
            continue
        begin = at + 1
        while heading and begin < len(lines) and not lines[begin].strip():
            begin += 1
        if not heading or lines[begin] != "```rule":
            at += 1
            continue
        end = lines.index("```", begin)
        texts, behind = read_texts(lines, end + 1)
        # Each entry on one line, so that no run has to join them.
        block = re.sub(r"[ \t]*\n[ \t]+", " ", "\n".join(lines[begin + 1:end]))
        yield at + 1, heading[1], words(heading[2], at + 1), begin + 2, block + "\n", texts
        at = behind


def main():
    path, out_path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    out = ["/* SPDX-License-Identifier: MIT\n * Written by tools/make_rubric.py. */", '#include "rubric_source.h"', "",
           "const struct ap_rule_source ap_rule_sources[] = {"]
    count = 0
    for line, name, title, block_line, block, texts in read_rules(lines):
        out.append(f"    {{ {line}, {block_line}, {literal(name, line)}, {literal(title, line)},\n      "
                   f"{literal(block, line)},\n      {{ "
                   + ",\n        ".join(literal(text, at) for at, text in texts) + " } },")
        count += 1
    if not count:
        fail(1, "no rule in this document")
    out += ["};", f"const size_t ap_rule_source_count = {count};", ""]
    with open(out_path, "w", encoding="ascii") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main()
