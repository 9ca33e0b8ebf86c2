#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The style that a program can check: check_style.py [--commits RANGE] [FILE]...

Without FILE: every text file of the project (what git tracks or would track; without git, every file outside build folders),
less the inputs and approved reports below fixtures/ and the fuzz corpus, which are bytes. Prints TAP, one check a rule.
A line has at most 125 columns in code. Documents have no such bound: a row of a table, and what the program reads out of
references/interpretation.md, is one line. A prototype in a header that others include has a comment: above it, behind it on
its line, or above the first of a group without an empty line.
With --commits, the subjects of those commits are checked too (area: what it does, at most 60 characters, no full stop).
"""
import argparse
import re
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from tap import Tap  # noqa: E402

BYTES = re.compile(r"^(fixtures/(cluster|expected|flight|golden|json|recorded|snapshots|traces)|tests/fuzz/corpus)/")
TEXT_NAMES = {"LICENSE", "meson.build", "meson_options.txt", ".ci/run"}
TEXT_ENDINGS = (".c", ".h", ".cpp", ".css", ".cu", ".def", ".js", ".py", ".sh", ".md", ".txt", ".json", ".build", ".dict")
SPDX_ENDINGS = (".c", ".h", ".cpp", ".css", ".cu", ".def", ".js", ".py", ".sh")
SPDX = "SPDX-License-Identifier: MIT"
NO_POISON = re.compile(r"^src/(base/mem\.c$|cli/)")  # the memory gate itself, and the program
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
INCLUDE = re.compile(r'^#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
SUBJECT = re.compile(r"^[a-z][a-z0-9_./, -]*: \S.*[^.]$")
COLUMNS = 125
CODE_ENDINGS = SPDX_ENDINGS + (".build",)
NAMED_ENDINGS = (".c", ".h", ".py")  # no two files of one name
FORMATTER = 14  # the major version of clang-format that .clang-format is written for
PUBLIC_HEADER = re.compile(r"^(include|src)/.*\.h$")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
EXTERN_C = re.compile(r'^extern "C" \{', re.MULTILINE)
COMMENT_BEHIND = re.compile(r"[ \t]*/\*.*?\*/", re.DOTALL)
# Only the program spells its options, and the catalogue, whose sentences describe its documents; a text below it that has to
# name one takes the name from this table.
OPTION_NAMES = "src/base/option_names.h"
OPTION = re.compile(r"--[A-Za-z][A-Za-z-]*")
# Spelled with s, ou, ll in Britain. Kept: names in reports and on the command line, whose readers know them.
IS_STEMS = ("normal synchron recogn serial vector optim anonym util token summar capital initial organ parallel quant minim "
            "maxim general custom special visual random final local equal standard").replace(" ", "|")
BRITISH = re.compile(rf"\b(?:re|un)?(?:{IS_STEMS})is(?:e|ed|es|er|ers|ing|able|ations?)\b|"
                     r"(?:colo|neighbo|behavio|favo|hono)ur|(?:label|cancel|model|travel)l(?:ed|ing)\b|"
                     r"\b(?:judgement|artefact|centre|grey)", re.IGNORECASE)
BRITISH_PART = re.compile(r"is(?:e|ing|a)|our|ll(?:ed|ing)|judgement|artefact|centre|grey")  # each of these words has one
KEPT = re.compile(r"\bsynchronisations\b|[\".]neighbours\"|live, neighbours|notifications/cancelled|gpu\.utilisation|"
                  r"[\"(|._](?:normalisation|synchronisation)\b|\b(?:normalisation|synchronisation)(?=[\",|]|$)|"
                  r"normalisation</tspan>|<title>normalisation|normalisation <tspan", re.MULTILINE)
FUNCTION_MOST, FILE_MOST = 40, 600  # lines, in src
# Longer, each for a reason that more functions would not mend.
LONG_FUNCTIONS = {
    "scan_element": "the loop over each event's text: a value in memory between two functions costs what it saves",
    "ap_layout_parse_gap": "its slow way through the same text, with the same state",
    "ap_json_next": "the grammar of a token, called for each",
    "set_option": "a case for each option, which the compiler counts",
}
FUNCTION = re.compile(r"^\w[^;{}()]*?(\w+)\([^;{}]*\)\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)  # as clang-format writes it
SOURCE_PATH = re.compile(r"\bsrc/[a-z_]+/[\w/]*\w\.(?:c|h|def|py|js|css)\b")
NOT_OURS = {
    "--exportLayerInfo": "of trtexec, whose output is recognized",
    "--exportProfile": "likewise",
    "--exportTimes": "likewise",
}


def is_text(path):
    name = path.rpartition("/")[2]
    return (not BYTES.match(path) and
            (path in TEXT_NAMES or name in TEXT_NAMES or name.endswith(TEXT_ENDINGS) or name.startswith(".")))


def project_files():
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False) if (ROOT / ".git").exists() else None
    if git and git.returncode == 0:
        paths = git.stdout.decode().split("\0")[:-1]
    else:
        paths = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
        paths = [path for path in paths if not re.match(r"build[^/]*/|\.git/|.*__pycache__/", path)]
    return sorted({path for path in paths if is_text(path) and (ROOT / path).is_file()})


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def lines_matching(pattern):
    def rule(_, text):
        return [line_of(text, match.start()) for match in re.finditer(pattern, text, re.MULTILINE)]
    return rule


def final_newline(_, text):
    return [line_of(text, len(text))] if text and (not text.endswith("\n") or text.endswith("\n\n")) else []


def invisible(_, text):
    """Control and format characters, odd spaces, private and unassigned code points: what a reader cannot see."""
    return [line_of(text, match.start()) for match in re.finditer(r"[^\0-\x7f]", text)
            if unicodedata.category(match[0]) in ("Cc", "Cf", "Co", "Cn", "Zs", "Zl", "Zp")] + \
           [line_of(text, match.start()) for match in re.finditer(r"[\0-\x08\x0b-\x1f\x7f]", text)]


def spdx(path, text):
    if not path.endswith(SPDX_ENDINGS):
        return []
    first = text.split("\n")[:2] if text.startswith("#!") else text.split("\n")[:1]
    return [] if any(SPDX in line for line in first) else [1]


def poison(path, text):
    if not re.match(r"^src/.*\.c$", path) or NO_POISON.match(path):
        return []
    includes = [match for match in INCLUDE.finditer(text) if not match[1].endswith(".def")]
    if includes and includes[-1][1] == "poison.h":
        return []
    return [line_of(text, includes[-1].start()) if includes else 1]


def line_comment(path, text):
    if not path.endswith((".c", ".h", ".cu", ".def")):
        return []
    return [line_of(text, match.start()) for match in C_TOKEN.finditer(text) if match[0].startswith("//")]


def long_line(path, text):
    if not path.endswith(CODE_ENDINGS):
        return []
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]


def blanked(match):
    return re.sub(r"[^\n]", " ", match[0])


def prototypes(text):
    """[(begin, end)] of what a header declares as a function that another file defines."""
    code = DIRECTIVE.sub(blanked, C_TOKEN.sub(blanked, EXTERN_C.sub(blanked, text)))
    found, depth, begin = [], 0, None
    for match in re.finditer(r"\S", code):
        if match[0] in "{}":
            depth = max(depth + (1 if match[0] == "{" else -1), 0)  # a } may end extern "C"
            if not depth and begin is not None and "(" in code[begin:match.start()].partition("{")[0]:
                begin = None  # the body of a function
        elif depth == 0 and match[0] == ";":
            declared = code[begin:match.start()] if begin is not None else ""
            if "(" in declared and "{" not in declared and not re.match(r"typedef\b|static\b", declared):
                found.append((begin, match.end()))
            begin = None
        elif depth == 0 and begin is None:
            begin = match.start()
    return found


def bare_prototype(path, text):
    if not PUBLIC_HEADER.match(path):
        return []
    comments = [match for match in C_TOKEN.finditer(text) if match[0].startswith("/*")]
    above = {match.end() + 1 for match in comments if not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()}
    bare, group_ends = [], None
    for begin, end in prototypes(text):
        behind = COMMENT_BEHIND.match(text, end)
        line_ends = behind.end() if behind else end
        if begin in above or begin - 1 == group_ends:
            group_ends = line_ends
        elif not behind:
            bare.append(line_of(text, begin))
    return bare


def option_in_text(path, text):
    if not re.match(r"^src/(?!cli/|catalogue/).*\.(c|h|def)$", path) or path == OPTION_NAMES:
        return []
    return [line_of(text, token.start()) for token in C_TOKEN.finditer(text) if token[0].startswith('"')
            for option in OPTION.findall(token[0]) if option not in NOT_OURS]


def unknown_option(path, text):
    if path != OPTION_NAMES:
        return []
    table = (ROOT / "src/cli/options.def").read_text(encoding="utf-8")
    known = set(re.findall(r'^AP_(?:OPTION|FLAG|TEXT|REQUEST_FLAG|REQUEST_TEXT)\(\w+, "([^"]+)"', table, re.MULTILINE))
    return [line_of(text, match.start()) for match in re.finditer(r'"--([^"]*)"', text) if match[1] not in known]


def british(path, text):
    """Of two spellings the American one, but in keys and names that an interface has."""
    if path == "tools/check_style.py" or not BRITISH_PART.search(text.lower()):
        return []
    return [number for number, line in enumerate(text.split("\n"), 1) if BRITISH_PART.search(line.lower())
            and BRITISH.search(KEPT.sub(lambda m: " " * len(m[0]), line))]


def long_function(path, text):
    if not re.match(r"src/.*\.[ch]$", path):
        return []
    return [line_of(text, match.start()) for match in FUNCTION.finditer(text)
            if match[0].count("\n") >= FUNCTION_MOST and match[1] not in LONG_FUNCTIONS]


def long_file(path, text):
    return [FILE_MOST + 1] if re.match(r"src/.*\.[ch]$", path) and text.count("\n") > FILE_MOST else []


def lost_path(path, text):
    """A source file that a text of the product names by its path, and that is not there: it has moved since."""
    if not re.match(r"(src|include|references)/|[A-Z]+\.md$", path):
        return []
    return [line_of(text, match.start()) for match in SOURCE_PATH.finditer(text) if not (ROOT / match[0]).is_file()]


RULES = [
    ("no tabs", lines_matching(r"\t")),
    ("no blanks at the end of a line", lines_matching(r"[ \t]+$")),
    ("lines end with LF alone", lines_matching(r"\r")),
    ("each file ends with one newline", final_newline),
    ("no invisible characters", invisible),
    (f"{SPDX} in the first line of code", spdx),
    ("poison.h is included last in src", poison),
    ("no // comments in C", line_comment),
    (f"at most {COLUMNS} columns in code", long_line),
    (f"functions of at most {FUNCTION_MOST} lines in src", long_function),
    (f"files of at most {FILE_MOST} lines in src", long_file),
    ("a comment on each prototype in the headers", bare_prototype),
    ("texts below src/cli name no option but by option_names.h", option_in_text),
    ("each name in option_names.h is an option", unknown_option),
    ("one spelling, the American one", british),
    ("sources that texts name are there", lost_path),
]


def read(path):
    data = (ROOT / path).read_bytes()
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return None, f"{path}:{data.count(10, 0, error.start) + 1}"


def same_name(paths):
    """Files of one name in two folders of the project's own code: whoever includes or opens one gets the other."""
    folders = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.endswith(NAMED_ENDINGS) and re.match(r"(src|include|tests|tools)/", path):
            folders.setdefault(name, []).append(folder)
    return [f"{name}: {', '.join(found)}" for name, found in folders.items() if len(found) > 1]


def formatter():
    """(clang-format of the right version, None) or (None, why there is none)"""
    why = f"no clang-format {FORMATTER} here (apt-get install clang-format)"
    for name in (f"clang-format-{FORMATTER}", "clang-format"):
        path = shutil.which(name)
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout if path else ""
        version = re.search(r"version (\d+)\.", told)
        if version and int(version[1]) == FORMATTER:
            return path, None
        if version:
            why = f"clang-format is of version {version[1]}, not {FORMATTER}"
    return None, why


def check_format(tap, paths):
    claim = "clang-format changes nothing"
    sources = [path for path in paths if path.endswith((".c", ".h"))]
    program, why = formatter()
    if not program:
        tap.skip(claim, why)
        return

    def complaints(some):
        done = subprocess.run([program, "--dry-run", *some], capture_output=True, text=True, cwd=ROOT, check=False)
        places = re.findall(r"^(\S+?:\d+):\d+: warning:", done.stderr, re.MULTILINE)
        return places or ([done.stderr.strip()] if done.returncode else [])

    with ThreadPoolExecutor(2) as pool:
        batches = [sources[at:at + 50] for at in range(0, len(sources), 50)]
        tap.check(claim, [place for places in pool.map(complaints, batches) for place in places])


def check_files(tap, paths):
    texts, undecodable = {}, []
    for path in paths:
        text, place = read(path)
        if place:
            undecodable.append(place)
        else:
            texts[path] = text
    tap.check(f"{len(paths)} files are UTF-8", undecodable or ([] if paths else ["no files found"]))
    for claim, rule in RULES:
        tap.check(claim, [f"{path}:{line}" for path, text in texts.items() for line in rule(path, text)])
    tap.check("no two files of one name", same_name(paths))
    check_format(tap, paths)


def check_commits(tap, commits):
    git = subprocess.run(["git", "-C", ROOT, "log", "--no-merges", "--format=%h %s", commits],
                         capture_output=True, text=True, check=True)
    subjects = git.stdout.splitlines()
    tap.check(f"the subjects of {len(subjects)} commits",
              [line for line in subjects if not SUBJECT.match(line.partition(" ")[2]) or len(line.partition(" ")[2]) > 60])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", metavar="RANGE", help="check the subjects of these commits too")
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these, relative to the project")
    arguments = parser.parse_args()
    tap = Tap()
    check_files(tap, arguments.files or project_files())
    if arguments.commits:
        check_commits(tap, arguments.commits)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
