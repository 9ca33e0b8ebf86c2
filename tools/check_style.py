#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The style that a program can check: check_style.py [--commits RANGE] [FILE]...

Without FILE: every text file of the project (what git tracks or would track; without git, every file outside build folders),
less the inputs and approved reports below fixtures/ and the fuzz corpus, which are bytes. Prints TAP, one check a rule.
With --commits, the subjects of those commits are checked too (area: what it does, at most 60 characters, no full stop).
"""
import argparse
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BYTES = re.compile(r"^(fixtures/(expected|golden|json|recorded|snapshots|traces)|tests/fuzz/corpus)/")
TEXT_NAMES = {"LICENSE", "meson.build", "meson_options.txt", ".ci/run"}
TEXT_ENDINGS = (".c", ".h", ".cpp", ".css", ".cu", ".def", ".js", ".py", ".sh", ".md", ".txt", ".json", ".build", ".dict")
SPDX_ENDINGS = (".c", ".h", ".cpp", ".css", ".cu", ".def", ".js", ".py", ".sh")
SPDX = "SPDX-License-Identifier: MIT"
NO_POISON = re.compile(r"^src/(base/mem\.c$|cli/)")  # the memory gate itself, and the program
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
INCLUDE = re.compile(r'^#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
SUBJECT = re.compile(r"^[a-z][a-z0-9_./, -]*: \S.*[^.]$")
SHOWN = 40


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
    return [line_of(text, at) for at, character in enumerate(text) if not character.isascii() and
            unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Zs", "Zl", "Zp")] + \
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


RULES = [
    ("no tabs", lines_matching(r"\t")),
    ("no blanks at the end of a line", lines_matching(r"[ \t]+$")),
    ("lines end with LF alone", lines_matching(r"\r")),
    ("each file ends with one newline", final_newline),
    ("no invisible characters", invisible),
    (f"{SPDX} in the first line of code", spdx),
    ("poison.h is included last in src", poison),
    ("no // comments in C", line_comment),
]


def read(path):
    data = (ROOT / path).read_bytes()
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return None, f"{path}:{data.count(10, 0, error.start) + 1}"


class Tap:
    def __init__(self):
        self.count, self.failed = 0, 0

    def check(self, claim, places):
        self.count += 1
        self.failed += bool(places)
        print(f"{'not ok' if places else 'ok'} {self.count} - {claim}")
        for place in places[:SHOWN]:
            print(f"#   {place}")
        if len(places) > SHOWN:
            print(f"#   and {len(places) - SHOWN} more")


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
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
