#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a C file that holds the bytes of a text file: embed_text.py TEXT OUT.c NAME HEADER

NAME becomes `const unsigned char NAME[]` and `const size_t NAME_bytes`, declared in HEADER. An array of numbers and not a
string: string literals may not be longer than 4095 bytes in C11.
"""
import sys


def main():
    text_path, out_path, name, header = sys.argv[1:]
    with open(text_path, "rb") as text:
        data = text.read()
    lines = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    with open(out_path, "w", encoding="ascii") as out:
        out.write("/* SPDX-License-Identifier: MIT\n * Written by tools/embed_text.py. */\n")
        out.write(f'#include "{header}"\n\n')
        out.write(f"const unsigned char {name}[] = {{\n    " + ",\n    ".join(lines) + "\n};\n")
        out.write(f"const size_t {name}_bytes = sizeof({name});\n")


if __name__ == "__main__":
    main()
