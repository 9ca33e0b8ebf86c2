#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a C file that holds the style and the script of the HTML report, and the style of its pictures in files of their
own: embed_html.py STYLE.css SCRIPT.js PICTURE.css OUT.c

Comments and indentation are left out; the hashes are those of what is left, as a Content-Security-Policy names them.
"""
import base64
import hashlib
import re
import sys


def shorten(text):
    """Without whole-line // comments, /* */ comments that fill lines, and the blanks around lines. What is indented by
    twelve columns goes on with the line before it."""
    text = re.sub(r"\n {12,}(?=\S)", " ", text)
    text = re.sub(r"^[ ]*/\*.*?\*/[ ]*\n", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def picture_style(style, more):
    """The part of the page's style that is marked, and more: for light, with values in place of variables, which not all
    that shows SVG knows."""
    colors = dict(re.findall(r"--([a-z0-9]+): ([^;]+);", style.partition("}")[0]))
    marked = re.search(r"/\* pictures: from here.*?\*/\n(.*?)/\* pictures: to here", style, re.DOTALL)[1]
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda match: colors[match[1]], shorten(marked + more))


def embedded(name, data):
    assert b"</" not in data, "an element would end within"
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    lines = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return (f"const unsigned char {name}[] = {{\n    " + ",\n    ".join(lines) + "\n};\n" +
            f"const size_t {name}_bytes = sizeof({name});\n" + f'const char {name}_hash[] = "sha256-{digest}";\n')


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def main():
    *paths, out_path = sys.argv[1:]
    style, script, more = (read(path) for path in paths)
    parts = [embedded("ap_html_style", shorten(style).encode()), embedded("ap_html_script", shorten(script).encode()),
             embedded("ap_picture_style", picture_style(style, more).encode())]
    with open(out_path, "w", encoding="ascii") as out:
        out.write('/* SPDX-License-Identifier: MIT\n * Written by tools/embed_html.py. */\n#include "html_assets.h"\n\n')
        out.write("\n".join(parts))


if __name__ == "__main__":
    main()
