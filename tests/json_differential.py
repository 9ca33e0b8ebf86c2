#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON reader against CPython's: documents that are made up, half of them then broken in a few bytes.

    json_differential.py READER [--count N] [--seed N]

What is refused must be no JSON for CPython either, what is read without an oddity must be, and have the same tokens;
what is read with an oddity is ours alone (each is counted in reports). Whatever the pieces and windows in which a
document comes, the reader says the same (json_tokens.c). Prints TAP."""

import argparse
import json
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

from tap import Tap

LIMIT_S = 600
WORDS = ["", "a", "name", "ts", "\u00e9", "\u202e", "\U0001f600", "\x7f", "\\", '"', "/", "\n", "\t", "\0", "x" * 70,
         "</script>"]
NUMBERS = ["0", "-0", "1", "-1", "12.5", "1e5", "1E+5", "-1.5e-7", "9223372036854775808", "0.001", "1" + "0" * 40, "1e400"]
BLANKS = ["", "", "", "", " ", "\n", "\t", "\r", "  \n\t "]
# Bytes that mean something, more often than others.
BREAKS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"0", b"-", b".", b"e", b"+", b"t", b"null", b"NaN", b"\x00",
          b"\x1f", b"\x80", b"\xc0", b"\xed\xa0\x80", b"\xff", b"\\u", b"\\ud800", b"//", b"'", b" ", b"\xef\xbb\xbf", b"01",
          b"1.", b"N/A"]


def write_text(chance, text):
    out = []
    for char in text:
        code = ord(char)
        if char in '"\\' or code < 32:
            out.append(json.dumps(char)[1:-1] if chance.random() < 0.5 else f"\\u{code:04x}")
        elif chance.random() < 0.1 and code < 65536:
            out.append(f"\\u{code:04X}")
        elif char == "/" and chance.random() < 0.5:
            out.append("\\/")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def write_value(chance, depth):
    def blank():
        return chance.choice(BLANKS)
    kind = chance.random()
    if depth and kind < 0.25:
        items = (write_value(chance, depth - 1) for _ in range(chance.randrange(5)))
        return "[" + blank() + ",".join(blank() + item + blank() for item in items) + "]"
    if depth and kind < 0.55:
        items = (write_text(chance, chance.choice(WORDS)) + blank() + ":" + blank() + write_value(chance, depth - 1)
                 for _ in range(chance.randrange(5)))
        return "{" + blank() + ",".join(blank() + item + blank() for item in items) + "}"
    if kind < 0.7:
        return chance.choice(["true", "false", "null"])
    if kind < 0.85:
        return chance.choice(NUMBERS)
    return write_text(chance, "".join(chance.choice(WORDS) for _ in range(chance.randrange(4))))


def break_bytes(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data) + 1)
        data[at:at + chance.randrange(3)] = chance.choice(BREAKS) if chance.random() < 0.7 else b""
    return bytes(data)


def make_document(chance):
    data = (chance.choice(BLANKS) + write_value(chance, chance.randrange(7)) + chance.choice(BLANKS)).encode("utf-8")
    return break_bytes(chance, data) if chance.random() < 0.5 else data


class Number(str):
    pass


def not_finite(word):
    raise ValueError(word)


def hexadecimal(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", text).encode("utf-8").hex()


def tokens(value):
    if isinstance(value, tuple): # an object
        yield "{"
        for key, item in value:
            yield "k" + hexadecimal(key)
            yield from tokens(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from tokens(item)
        yield "]"
    elif isinstance(value, Number):
        yield "n" + value.encode("ascii").hex()
    elif isinstance(value, str):
        yield "s" + hexadecimal(value)
    else:
        yield {True: "T", False: "F", None: "N"}[value]


def read_by_python(data):
    """Its tokens, or None."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=tuple, parse_int=Number, parse_float=Number,
                           parse_constant=not_finite)
    except (ValueError, RecursionError):
        return None
    return " ".join(tokens(value))


def what_is_wrong(data, said):
    """None where both agree; said: the line of json_tokens.c"""
    if said == "differs":
        return "read otherwise in pieces"
    theirs = read_by_python(data)
    if said == "refused":
        return "refused, and CPython reads it" if theirs is not None else None
    ours, _, oddities = said.removeprefix("read ").rpartition(" ")
    if oddities != "0":
        return None
    if theirs is None:
        return "read, and CPython refuses it"
    return None if ours == theirs else f"tokens differ: {ours[:200]} and {theirs[:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", type=Path)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="drawn where not given, and printed")
    arguments = parser.parse_args()
    print(f"# seed {arguments.seed}")
    tap, chance = Tap(), random.Random(arguments.seed)
    documents = [make_document(chance) for _ in range(arguments.count)]
    data = b"".join(struct.pack("<I", len(document)) + document for document in documents)
    done = subprocess.run([arguments.reader.resolve()], input=data, capture_output=True, timeout=LIMIT_S, check=False)
    lines = done.stdout.decode("ascii").split("\n")[:-1]
    tap.same([done.returncode, len(lines)], [0, len(documents)], "each document has an answer")
    wrong = [(document, what) for document, said in zip(documents, lines) if (what := what_is_wrong(document, said))]
    tap.same(wrong[:5], [], f"{len(documents)} documents are read as CPython reads them")
    read = sum(line != "refused" for line in lines)
    tap.same(0.2 < read / len(lines) < 0.9, True, f"{read} of them are read, the others refused")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
