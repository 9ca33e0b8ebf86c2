#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the man page: make_man.py PAGE.md OPTIONS.def VERSION OUT

PAGE.md is Markdown of a small kind: `# name`, `## section`, paragraphs, `- ` items, fenced blocks, **bold**, *italic*,
`code`. Its line `{{options}}` is replaced by the options of OPTIONS.def, where --help has them from too.
"""
import re
import sys

STRING = r'"((?:[^"\\]|\\.)*)"'
OPTION = r"AP_(?:OPTION|(?:REQUEST_)?(?:FLAG|TEXT))"
ENTRY = re.compile(rf'AP_SECTION\({STRING}\)|{OPTION}\(\w+,\s*{STRING},\s*(?:NULL|{STRING}),\s*((?:{STRING}\s*)+)\)')
INLINE = re.compile(r"\*\*(.+?)\*\*|\*(.+?)\*|`(.+?)`")


def unescape(c_text):
    return c_text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def read_options(text):
    """[(section, [(name, argument or None, help, letter or None)])] of an options.def."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    sections = []
    for section, name, argument, help_strings, _ in ENTRY.findall(text):
        if section:
            sections.append((section, []))
        else:
            help_text = "".join(unescape(part) for part in re.findall(STRING, help_strings))
            sections[-1][1].append((name, argument or None, help_text))
    if sum(len(options) for _, options in sections) != len(re.findall(r"^AP_(?!SECTION|LETTER)\w+\(", text, re.MULTILINE)):
        raise ValueError("an option in options.def is not of the form that this script reads")
    letters = {name: letter for letter, name in re.findall(r"^AP_LETTER\('(\w)', \"([\w-]+)\"\)", text, re.MULTILINE)}
    return [(title, [(name, argument, help_text, letters.get(name)) for name, argument, help_text in options])
            for title, options in sections]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    """Markdown within a line; bold for what is typed, italic for what stands for something else."""
    out, at = "", 0
    for match in INLINE.finditer(text):
        bold, italic, code = match.groups()
        out += roff(text[at:match.start()])
        out += f"\\fI{roff(italic)}\\fR" if italic else f"\\fB{roff(bold or code)}\\fR"
        at = match.end()
    out += roff(text[at:])
    return "\\&" + out if out[:1] in (".", "'") else out


def option_lines(sections):
    for section, options in sections:
        yield f".SS {section}"
        for name, argument, help_text, letter in options:
            yield ".TP"
            yield (f"\\fB\\-\\-{roff(name)}\\fR" + (f" \\fI{roff(argument)}\\fR" if argument else "")
                   + (f", \\fB\\-{letter}\\fR" if letter else ""))
            yield roff(" ".join(help_text.split()))


def blocks_of(markdown):
    """(kind, text): head, section, item, code, options, paragraph."""
    for block in re.findall(r"```\n(?s:.*?)```\n|(?:^(?!```).*\S.*\n)+", markdown, re.MULTILINE):
        if block.startswith("```"):
            yield "code", block[4:-4]
        elif block.startswith("## "):
            yield "section", block[3:].strip()
        elif block.startswith("# "):
            yield "head", block[2:].strip()
        elif block.strip() == "{{options}}":
            yield "options", ""
        elif block.startswith("- "):
            for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]:
                yield "item", " ".join(item.split())
        else:
            yield "paragraph", " ".join(block.split())


def page_lines(markdown, sections, version):
    name = ""
    for kind, text in blocks_of(markdown):
        if kind == "head":
            name = text
            yield f'.TH {name.upper()} 1 "" "{name} {version}" "User commands"'
            yield ".SH NAME"
        elif kind == "section":
            yield f".SH {text.upper()}"
        elif kind == "item":
            tag, _, rest = text.partition(" ")
            yield from (".TP 4", inline(tag), inline(rest))
        elif kind == "code":
            yield from (".PP", ".in +4n", ".nf", ".ft CW")
            yield from (roff(line) for line in text.rstrip("\n").split("\n"))
            yield from (".ft R", ".fi", ".in")
        elif kind == "options":
            yield from option_lines(sections)
        elif name:
            yield f"{roff(name)} \\- {inline(text)}"
            name = ""
        else:
            yield from (".PP", inline(text))


def main():
    page_path, options_path, version, out_path = sys.argv[1:]
    with open(options_path, encoding="utf-8") as file:
        sections = read_options(file.read())
    with open(page_path, encoding="utf-8") as file:
        lines = list(page_lines(file.read(), sections, version))
    with open(out_path, "w", encoding="utf-8") as out:
        out.write('.\\" Written by tools/make_man.py.\n' + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
