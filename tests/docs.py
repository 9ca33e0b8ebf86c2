#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the documents say what is true?  docs.py [--program PROGRAM] [--bless]

- The fenced blocks of README.md and references/guide/ that begin with ```console checked are run: each line `$ COMMAND` by
  bash, in a folder that shows fixtures/, references/ and tools/, with the program in PATH; what follows it must be what it
  prints, standard error included.
- The options in --help and the man page are the same, and so are the exit codes and their meanings; all pages and the skill
  name no other options; a test tries each.
- In all documents: links lead somewhere, paths and files exist, figures named by their path stand in a report, and
  so do the rules of the README's table in the rubric.
- The rooms of references/architecture.md are the folders below src/ that a meson.build makes into a library or program.
  CITATION.cff and CHANGELOG.md are about the version that meson.build tells.
- The README stays short.

--bless puts what the commands print now, and the rooms as they are now, into the pages. Prints TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from program import ROOT, parser_of, settled
from tap import Tap
from make_catalogue import all_figures
from make_catalogue import read as read_catalogue

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "references" / "guide").glob("*.md"))]
ARCHITECTURE = ROOT / "references" / "architecture.md"
README_LINES, README_BYTES = 190, 12 * 1024
SCREEN_LINES = 24
LIMIT_S = 120

BLOCK = re.compile(r"^```console checked\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FILE_NAME = re.compile(r"[a-z_0-9]+\.(?:c|h|def|py|css)")
REPOSITORY_PATH = re.compile(r"(?:src|include|tests|tools|references|fixtures)/[\w./-]*")
FIGURE = re.compile(r"(?:memory|cpu|trace|steps|gpu|split|idle|data_loading|phases|operators|modules|"
                    r"frames|autograd|drilldown|habits|links|launches|"
                    r"runtime|sync|copies|communication|compile|accelerator|critical_path|verdict)\.[a-z][a-z0-9_.\[\]<>]*")


def documents():
    folders = ("", "references", "references/guide", "fixtures", "tests", "tests/fuzz", "tools", "tools/bench",
               "tools/skill", "tools/skill/references")
    return [path for folder in folders for path in sorted((ROOT / folder).glob("*.md"))]


def read(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def name_of(path):
    return str(path.relative_to(ROOT))


# ---- the commands of README and guide

def commands_of(block):
    """[(command, expected output)]"""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


@lru_cache(maxsize=None)
def scorecard(program):
    """What it prints: pages show it whole and in part, and it takes seconds."""
    return subprocess.run([ROOT / "tools" / "scorecard"], env=environment_of(program), timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def environment_of(program):
    return dict(os.environ, LC_ALL="C", TZ="UTC", PATH=f"{program.parent}:{os.environ['PATH']}")


def run_commands(block, program):
    """The block as it should be: its commands with what they print."""
    with tempfile.TemporaryDirectory() as folder:
        for shown in ("fixtures", "references", "tools"):
            os.symlink(ROOT / shown, Path(folder) / shown)
        text = ""
        for command, _ in commands_of(block):
            quicker = re.sub(r"^tools/scorecard(?= \||$)", "cat", command)
            told = b"" if quicker == command else scorecard(program)
            done = subprocess.run(["bash", "-c", quicker], cwd=folder, input=told, env=environment_of(program),
                                  timeout=LIMIT_S, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text += f"$ {command}\n{settled(done.stdout).decode('utf-8', 'replace')}"
        return text


def difference(want, got):
    for number, (a, b) in enumerate(zip(want.split("\n") + [None], got.split("\n") + [None]), 1):
        if a != b:
            return [f"line {number} of the block", f"page: {a!r}", f" now: {b!r}", "tests/docs.py --bless takes it over"]
    return []


def check_commands(tap, program, bless):
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if bless:
            text = BLOCK.sub(lambda match: f"```console checked\n{run_commands(match[1], program)}```", text)
            page.write_text(text, encoding="utf-8")
        for block in BLOCK.findall(text):
            tap.check(f"{name_of(page)}: {commands_of(block)[0][0][:70]}", difference(block, run_commands(block, program)))
    text = README.read_text(encoding="utf-8")
    tap.check("README.md has commands to check", [] if BLOCK.search(text) else ["none found"])
    tap.check(f"README.md has at most {README_LINES} lines and {README_BYTES} bytes",
              [f"{text.count(chr(10))} lines, {len(text.encode())} bytes"]
              if text.count("\n") > README_LINES or len(text.encode()) > README_BYTES else [])


# ---- the first of the two commands

def check_example(tap, program):
    """tools/example.sh as it stands, where all that it needs is installed and built."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in ("tools", "bin", "build/src/cli"):
            (root / path).mkdir(parents=True)
        for name in ("tools/setup.sh", "bin/meson", "bin/ninja"):
            (root / name).write_text("#!/bin/sh\necho \"$0\" \"$@\" >&2\n", encoding="utf-8")
            (root / name).chmod(0o755)
        shutil.copy(ROOT / "tools" / "example.sh", root / "tools")
        (root / "fixtures").symlink_to(ROOT / "fixtures")
        (root / "build" / "src" / "cli" / "analyze_profile").symlink_to(program)
        done = subprocess.run(["bash", root / "tools" / "example.sh"], timeout=LIMIT_S, check=False, capture_output=True,
                              text=True, env=dict(os.environ, PATH=f"{root / 'bin'}:{os.environ['PATH']}"))
        page = root / "build" / "report.html"
        tap.check("tools/example.sh prints one screen, and says where the HTML is",
                  [done.stdout + done.stderr]
                  if done.returncode or done.stdout.count("\n") > SCREEN_LINES or not page.exists() or
                  "Written: build/report.html" not in done.stdout else [])
        said = "".join(re.findall(r"^(?:meson|ninja).*", "\n".join(
            line.rpartition("/bin/")[2] for line in done.stderr.splitlines()), re.MULTILINE))
        tap.check("and builds before", [] if "meson setup build" in said and "ninja -C build" in said else [done.stderr])


# ---- options and exit codes

def help_text(program):
    return subprocess.run([program, "--help"], capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout


def man_page():
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "page.1"
        subprocess.run([sys.executable, ROOT / "tools" / "make_man.py", ROOT / "references" / "analyze_profile.1.md",
                        ROOT / "src" / "cli" / "options.def", "0", out], check=True)
        return out.read_text(encoding="utf-8")


def readable(roff):
    return re.sub(r"\\f[BIR]|\\&", "", roff).replace("\\-", "-").replace("\\e", "\\")


def compare(tap, what, sources):
    """All sources say the same. @sources: {where: {key: value}}"""
    complaints, everything = [], set().union(*(source.items() for source in sources.values()))
    for key, value in sorted(everything, key=str):
        lacking = [where for where, source in sources.items() if source.get(key) != value]
        complaints += [f"{key} {value or ''}: not so in {where}" for where in lacking]
    tap.check(f"the same {what} in {', '.join(sources)}", complaints or ([] if everything else ["none found"]))


def check_options(tap, help_said, man):
    sources = {
        "--help": dict(re.findall(r"^  --([a-z-]+)(?: ([A-Z=]+))?", help_said.split("\nRecording")[0], re.MULTILINE)),
        "the man page": dict(re.findall(r"^--([a-z-]+)(?: ([A-Z=]+))?(?:, -\w)?$", readable(man), re.MULTILINE)),
    }
    compare(tap, "options", sources)
    pages = [*PAGES, *sorted((ROOT / "tools" / "skill").rglob("*.md"))]
    texts = [("--help", help_said), ("the man page", readable(man)),
             *((name_of(page), text) for page in pages for text in commands(page))]
    complaints = [f"{where}: --{name}" for where, text in texts
                  for name in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text) if name not in sources["--help"]]
    tap.check("they, the guide and the skill name no other options", complaints)
    tried = "\n".join(path.read_text(encoding="utf-8") for pattern in ("tests/*.py", "fixtures/golden/*/args", "tools/*.sh")
                      for path in ROOT.glob(pattern) if path.name != "docs.py")
    tap.check("a test tries each",
              [f"--{name}: neither tests/*.py nor the args of a golden case have it" for name in sources["--help"]
               if not re.search(rf"--{name}(?![\w-])", tried)])
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.c"))
    kept = re.findall(r"^AP_(?:REQUEST_)?(?:FLAG|TEXT)\((\w+), ", (ROOT / "src/cli/options.def").read_text(), re.MULTILINE)
    tap.check(f"{len(kept)} options that are only kept have an effect",
              [f"no .c file reads the member {name}" for name in kept if not re.search(rf"(?:->|\.){name}\b", sources)])


def commands(page):
    """Where a page names options of the program: in code that begins with one, and in lines that run it."""
    markdown = page.read_text(encoding="utf-8")
    yield from (code for code in CODE.findall(markdown) if code.startswith("--"))
    yield from re.findall(r"^(?: {4}|\$ )analyze_profile .*$", markdown, re.MULTILINE)


def check_exit_codes(tap, help_said, man):
    man_codes = readable(man).partition(".SH EXIT CODES")[2].partition(".SH ")[0]
    compare(tap, "exit codes", {
        "--help": dict(re.findall(r"^  (\d)  (.+)$", help_said, re.MULTILINE)),
        "the man page": dict(re.findall(r"^\.TP 4\n(\d)\n(.+)$", man_codes, re.MULTILINE)),
    })


def check_man_page(tap, man):
    groff = shutil.which("groff")
    if not groff:
        tap.skip("groff finds nothing wrong in the man page", "no groff here")
        return
    done = subprocess.run([groff, "-man", "-ww", "-z", "-Tutf8"], input=man, capture_output=True, text=True, check=False)
    tap.check("groff finds nothing wrong in the man page", done.stderr.splitlines())


# ---- links, paths, figures

def anchors_of(path):
    headings = HEADING.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(path):
    for target in LINK.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        file_name, _, anchor = target.partition("#")
        file = path.parent / file_name if file_name else path
        if not file.exists():
            yield f"{name_of(path)}: {target}"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
            yield f"{name_of(path)}: {target}: no such heading"


def exists_or_is_built(path):
    return (ROOT / path).exists() or (ROOT / (path + ".c")).exists()


def file_names():
    return {path.name for folder in ("include", "src", "tests", "tools") for path in (ROOT / folder).rglob("*.*")}


def missing_paths(path, names):
    for code in CODE.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        for word in code.split():
            pattern_like = any(re.fullmatch("[A-Z]+", part) for part in re.split(r"[/_.]", word.rpartition(".")[0] or word))
            if REPOSITORY_PATH.fullmatch(word) and not pattern_like and not exists_or_is_built(word):
                yield f"{name_of(path)}: {word}"
            if FILE_NAME.fullmatch(word) and word not in names:
                yield f"{name_of(path)}: {word}: no file is called so"


def paths_of(catalogue):
    """The path of every row that a report can have; those of a map under each key that the catalogue tells."""
    known = {figure.path for figure in all_figures(catalogue)}
    waiting = [("", row) for row in catalogue.keys().values()]
    while waiting:
        path, row = waiting.pop()
        path = f"{path}.{row.key}" if path else row.key
        known.add(path)
        shape = catalogue.shape_of(row.kind)
        rows, keys = (shape.rows if shape else row.rows), list(row.rows) if row.kind[0].startswith("map") else [""]
        waiting += [(f"{path}.{key}" if key else path, below) for below in rows.values() for key in keys]
        known.update(f"{path}.{key}" for key in keys if key)
    return known


def unknown_figures(path, known):
    for code in CODE.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        figure = code.partition("<")[0].replace("[]", "").rstrip(".")
        if FIGURE.fullmatch(code) and figure not in known and not (ROOT / code).exists() and not FILE_NAME.fullmatch(code):
            yield f"{name_of(path)}: {code}"


def schema_at(schema, at, key):
    """What the schema says of member @key, through references, alternatives and lists; None where there is none."""
    while "$ref" in at:
        at = schema["$defs"][at["$ref"].rpartition("/")[2]]
    for part in at.get("anyOf", []) + at.get("oneOf", []) + ([at["items"]] if "items" in at else []):
        found = schema_at(schema, part, key)
        if found is not None:
            return found
    return at.get("properties", {}).get(key) or at.get("additionalProperties") or None


def below(schema, at, path):
    """The same of a path."""
    for key in path.split("."):
        at = at and schema_at(schema, at, key)
    return at


def unknown_causes(rubric, schema):
    """Lists and members in the due_to of rules that no report has."""
    for value in re.findall(r"^due_to: (.*?)(?=^\S)",
                            "\n".join(re.findall(r"^```rule\n(.*?)^```", rubric, re.M | re.S)) + "\n.", re.M | re.S):
        for part in " ".join(value.split()).split("; "):
            path, _, inner = part.partition("(")
            members, _, tests = inner.removesuffix(")").partition(" where ")
            keys = re.split(r"[|:]", members) + [re.split(r" is | < | > ", test)[0] for test in tests.split(" and ") if test]
            at = below(schema, schema, path)
            yield from (f"{part}: {key}" for key in keys if not at or not below(schema, at, key.strip()))


def told_thresholds(rubric):
    """Shares of the window that the source of a rule tells, and its conditions do not know."""
    for name, block in re.findall(r"^### ([a-z0-9-]+):.*?^```rule\n(.*?)^```", rubric, re.M | re.S):
        conditions, _, source = block.partition("\nsource:")
        known = {float(share) for share in re.findall(r"([\d.]+) %", conditions)}
        known |= {100 * float(share) for share in re.findall(r"\* ([\d.]+)", conditions)}
        told = re.findall(r"([\d.]+) % of (?:the window|it)\b", " ".join(source.split()))
        yield from (f"{name}: {share} %" for share in told if not any(abs(float(share) - one) < 1e-9 for one in known))


def rules_of_readme():
    rows = read("README.md").partition("| Rule |\n")[2].partition("\n\n")[0].splitlines()
    return [rule for row in rows[1:] for rule in CODE.findall(row.split("|")[-2])]


def check_documents(tap, catalogue):
    paths = documents()
    known = paths_of(read_catalogue(catalogue))
    tap.check(f"all links in {len(paths)} documents lead somewhere", [c for path in paths for c in broken_links(path)])
    names = file_names()
    tap.check("all paths and files in them exist", [c for path in paths for c in missing_paths(path, names)])
    named = {code.partition(".")[0] for code in CODE.findall(read("references", "guide", "json.md"))}
    parts = {path.partition(".")[0] for path in known if path[:1].isalpha()}
    tap.check("guide/json.md has each part of a report", sorted(parts - named))
    tap.check("all figures named in them exist", [c for path in paths for c in unknown_figures(path, known)])
    rules = set(re.findall(r"^### ([a-z0-9-]+):", read("references", "interpretation.md"), re.MULTILINE))
    told = rules_of_readme()
    tap.check(f"{len(told)} rules of the README's table are in the rubric",
              [rule for rule in told if rule not in rules] or ([] if told else ["none found"]))
    rubric, schema = ((ROOT / "references" / name).read_text(encoding="utf-8")
                      for name in ("interpretation.md", "report-schema.json"))
    tap.check("all lists and members that rules are due_to exist", list(unknown_causes(rubric, json.loads(schema))))
    tap.check("the shares of the window that rules tell are their thresholds", list(told_thresholds(rubric)))


# ---- rooms and version

ROOMS = re.compile(r"(<!-- rooms: .*?-->\n)(.*?)(<!-- end of rooms -->)", re.DOTALL)
ROOM_HEAD = "| Room | What it knows |\n|---|---|\n"


def rooms_of_build():
    """A room is a folder whose meson.build makes a library or the program."""
    made = re.compile(r"^[^#\n]*\b(?:library|static_library|executable)\(", re.MULTILINE)
    return [str(path.parent.relative_to(ROOT / "src")) for path in sorted((ROOT / "src").rglob("meson.build"))
            if made.search(path.read_text(encoding="utf-8"))]


def check_rooms(tap, bless):
    built, text = rooms_of_build(), ARCHITECTURE.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w/]+)` \| *(.*?) *\|$", ROOMS.search(text)[2], re.MULTILINE))
    if bless:
        told = {room: knows for room, knows in told.items() if room in built} | \
               {room: "TODO" for room in built if room not in told}
        rows = "".join(f"| `{room}` | {knows} |\n" for room, knows in told.items())
        ARCHITECTURE.write_text(ROOMS.sub(lambda match: match[1] + ROOM_HEAD + rows + match[3], text), encoding="utf-8")
    complaints = [f"{room}: no row in the table" for room in built if room not in told] + \
                 [f"{room}: no such room in src" for room in told if room not in built] + \
                 [f"{room}: what does it know?" for room, knows in told.items() if knows in ("", "TODO")]
    tap.check(f"the {len(built)} rooms of src stand in {name_of(ARCHITECTURE)}",
              complaints + ["tests/docs.py --bless takes over which there are"] * bool(complaints))


def check_version(tap):
    version = re.search(r"^ *version: '([^']+)'", read("meson.build"), re.MULTILINE)[1]
    told = {"CITATION.cff": re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE),
            "CHANGELOG.md": re.search(r"^## \[(\S+)\]", read("CHANGELOG.md"), re.MULTILINE)}
    tap.check(f"{' and '.join(told)} are about version {version}",
              [name for name, found in told.items() if not found or found[1] != version])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--catalogue", type=Path, help="catalogue.i of the build; default: the one beside the program's")
    parser.add_argument("--bless", action="store_true", help="take what the commands print now as right")
    arguments = parser.parse_args()
    tap, program = Tap(), arguments.program.resolve()
    arguments.catalogue = arguments.catalogue or program.parents[1] / "catalogue" / "catalogue.i"
    check_commands(tap, program, arguments.bless)
    check_example(tap, program)
    help_said, man = help_text(program), man_page()
    check_options(tap, help_said, man)
    check_exit_codes(tap, help_said, man)
    check_man_page(tap, man)
    check_rooms(tap, arguments.bless)
    check_version(tap)
    check_documents(tap, arguments.catalogue)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
