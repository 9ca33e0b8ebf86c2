#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a C file that holds the style and the script of the HTML report: embed_html.py STYLE.css SCRIPT.js OUT.c

Comments and indentation are left out; the hashes are those of what is left, as a Content-Security-Policy names them.
"""
import base64
import hashlib
import re
import sys


def shorten(text):
    """Whole-line // comments, /* */ comments that fill lines, and the blanks around lines."""
    text = re.sub(r"^[ ]*/\*.*?\*/[ ]*\n", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def embedded(name, data):
    assert b"</" not in data, "an element would end within"
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    lines = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return (f"const unsigned char {name}[] = {{\n    " + ",\n    ".join(lines) + "\n};\n" +
            f"const size_t {name}_bytes = sizeof({name});\n" + f'const char {name}_hash[] = "sha256-{digest}";\n')


def main():
    style_path, script_path, out_path = sys.argv[1:]
    parts = []
    for name, path in (("ap_html_style", style_path), ("ap_html_script", script_path)):
        with open(path, encoding="utf-8") as text:
            parts.append(embedded(name, shorten(text.read()).encode()))
    with open(out_path, "w", encoding="ascii") as out:
        out.write('/* SPDX-License-Identifier: MIT\n * Written by tools/embed_html.py. */\n#include "html_assets.h"\n\n')
        out.write("\n".join(parts))


if __name__ == "__main__":
    main()
