#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the documents say what is true?  docs.py [--program PROGRAM] [--bless]

- The fenced blocks of README.md that begin with ```console checked are run: each line `$ COMMAND` by bash, in a folder that
  shows fixtures/, references/ and tools/, with the program in PATH; what follows it must be what it prints, standard error included.
- The options in --help, the man page and README's table are the same, and so are the exit codes and their meanings.
- In all documents: links lead somewhere, paths in the repository exist, and figures named by their path stand in a report.

--bless puts what the commands print now into README.md. Prints TAP.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
LIMIT_S = 120

BLOCK = re.compile(r"^```console checked\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
REPOSITORY_PATH = re.compile(r"(?:src|include|tests|tools|references|fixtures)/[\w./-]*")
FIGURE = re.compile(r"(?:memory|cpu|trace|steps|gpu|split|idle|data_loading|phases|operators|modules|frames|autograd|drilldown|links|launches|"
                    r"runtime|sync|copies|communication|compile|accelerator|critical_path|verdict)\.[a-z][a-z0-9_.\[\]<>]*")


class Tap:
    def __init__(self):
        self.count, self.failed = 0, 0

    def check(self, claim, complaints):
        self.count += 1
        self.failed += bool(complaints)
        print(f"{'not ok' if complaints else 'ok'} {self.count} - {claim}")
        for complaint in complaints[:60]:
            print("#   " + str(complaint).replace("\n", "\n#   "))

    def skip(self, claim, why):
        self.count += 1
        print(f"ok {self.count} - {claim} # SKIP {why}")


def documents():
    folders = (ROOT, ROOT / "references", ROOT / "fixtures", ROOT / "tests", ROOT / "tests" / "fuzz", ROOT / "tools",
               ROOT / "tools" / "bench", ROOT / "tools" / "skill", ROOT / "tools" / "skill" / "references")
    return [path for folder in folders for path in sorted(folder.glob("*.md"))]


def name_of(path):
    return str(path.relative_to(ROOT))


# ---- the commands of the README

def commands_of(block):
    """[(command, expected output)]"""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def run_commands(block, program):
    """The block as it should be: its commands with what they print."""
    with tempfile.TemporaryDirectory() as folder:
        for shown in ("fixtures", "references", "tools"):
            os.symlink(ROOT / shown, Path(folder) / shown)
        environment = dict(os.environ, LC_ALL="C", TZ="UTC", PATH=f"{program.parent}:{os.environ['PATH']}")
        text = ""
        for command, _ in commands_of(block):
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=LIMIT_S, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text += f"$ {command}\n{done.stdout.decode('utf-8', 'replace')}"
        return text


def difference(want, got):
    for number, (a, b) in enumerate(zip(want.split("\n") + [None], got.split("\n") + [None]), 1):
        if a != b:
            return [f"line {number} of the block", f"README: {a!r}", f"   now: {b!r}", "tests/docs.py --bless takes it over"]
    return []


def check_commands(tap, program, bless):
    text = README.read_text(encoding="utf-8")
    if bless:
        text = BLOCK.sub(lambda match: f"```console checked\n{run_commands(match[1], program)}```", text)
        README.write_text(text, encoding="utf-8")
    blocks = BLOCK.findall(text)
    tap.check("README.md has commands to check", [] if blocks else ["none found"])
    for block in blocks:
        tap.check(f"README.md: {commands_of(block)[0][0][:70]}", difference(block, run_commands(block, program)))


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


def check_options(tap, help_said, man, readme):
    sources = {
        "--help": dict(re.findall(r"^  --([a-z-]+)(?: ([A-Z=]+))?", help_said.split("\nRecording")[0], re.MULTILINE)),
        "the man page": dict(re.findall(r"^--([a-z-]+)(?: ([A-Z=]+))?$", readable(man), re.MULTILINE)),
        "README.md": dict(re.findall(r"^\| `--([a-z-]+)(?: ([A-Z=]+))?` \|", readme, re.MULTILINE)),
    }
    compare(tap, "options", sources)
    complaints = [f"{where}: --{name}" for where, text in (("--help", help_said), ("the man page", readable(man)), *commands(readme), *skill_commands())
                  for name in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text) if name not in sources["--help"]]
    tap.check("they name no other options", complaints)


def skill_commands():
    for path in sorted((ROOT / "tools" / "skill").rglob("*.md")):
        yield from ((name_of(path), text) for _, text in commands(path.read_text(encoding="utf-8")))


def commands(markdown):
    """Where a document names options of the program: in code that begins with one, and in lines that run it."""
    for code in CODE.findall(markdown):
        if code.startswith("--"):
            yield "README.md", code
    for line in re.findall(r"^(?: {4}|\$ )analyze_profile .*$", markdown, re.MULTILINE):
        yield "README.md", line


def check_exit_codes(tap, help_said, man, readme):
    man_codes = readable(man).partition(".SH EXIT CODES")[2].partition(".SH ")[0]
    compare(tap, "exit codes", {
        "--help": dict(re.findall(r"^  (\d)  (.+)$", help_said, re.MULTILINE)),
        "the man page": dict(re.findall(r"^\.TP 4\n(\d)\n(.+)$", man_codes, re.MULTILINE)),
        "README.md": {code: text.replace("`", "") for code, text in re.findall(r"^\| (\d) \| (.+?) \|$", readme, re.MULTILINE)},
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


def missing_paths(path):
    for code in CODE.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        for word in code.split():
            pattern_like = any(re.fullmatch("[A-Z]+", part) for part in re.split(r"[/_.]", word.rpartition(".")[0] or word))
            if REPOSITORY_PATH.fullmatch(word) and not pattern_like and not exists_or_is_built(word):
                yield f"{name_of(path)}: {word}"


def add_paths(value, path, known):
    known.add(path)
    children = value.items() if isinstance(value, dict) else (("", item) for item in value) if isinstance(value, list) else ()
    for key, child in children:
        add_paths(child, f"{path}.{key}" if key and path else key or path, known)


def paths_in_reports(program):
    """The path of every figure that a report on one of the fixtures holds; list elements under the list's own path."""
    known = set()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        for kind, option in (("traces", "--cpu-trace"), ("snapshots", "--memory-json")):
            for path in sorted((ROOT / "fixtures" / kind).iterdir()):
                done = subprocess.run([program, option, path, "--md-out", Path(folder) / "report.md", "--json-out", out],
                                      stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
                if done.returncode == 0:
                    add_paths(json.loads(out.read_text(encoding="utf-8")), "", known)
    return known


def defined_metrics():
    text = (ROOT / "src" / "model" / "metrics.def").read_text(encoding="utf-8")
    signals = re.findall(r"^AP_SIGNAL\((\w+)", (ROOT / "src" / "model" / "signals.def").read_text(encoding="utf-8"), re.MULTILINE)
    members = re.findall(r'AP_METRIC\("cpu\.signals\." #id "\.(\w+)"', text)
    causes = re.findall(r"^AP_IDLE_CAUSE\((\w+)", (ROOT / "src" / "model" / "idle_cause.def").read_text(encoding="utf-8"), re.MULTILINE)
    of_causes = re.findall(r'AP_METRIC\("(split\.[\w.]+)" #id "(\w+)"', text)
    return {path for path in re.findall(r'AP_METRIC\("([\w.]+)"', text) if not path.endswith(".")} | \
           {f"cpu.signals.{signal}.{member}" for signal in signals for member in members} | \
           {f"{head}{cause}{tail}" for head, tail in of_causes for cause in causes}


def unknown_figures(path, known):
    for code in CODE.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        figure = code.partition("<")[0].replace("[]", "").rstrip(".")
        if FIGURE.fullmatch(code) and figure not in known and not (ROOT / code).exists() and not code.endswith(".py"):
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


def unknown_causes(rubric, schema):
    """Lists and members in the due_to of rules that no report has."""
    for value in re.findall(r"^due_to: (.*?)(?=^\S)", "\n".join(re.findall(r"^```rule\n(.*?)^```", rubric, re.M | re.S)) + "\n.", re.M | re.S):
        for part in " ".join(value.split()).split("; "):
            path, _, inner = part.partition("(")
            members, _, tests = inner.removesuffix(")").partition(" where ")
            keys = re.split(r"[|:]", members) + [re.split(r" is | < | > ", test)[0] for test in tests.split(" and ") if test]
            at = schema
            for key in path.split("."):
                at = at and schema_at(schema, at, key)
            yield from (f"{part}: {key}" for key in keys if not at or schema_at(schema, at, key.strip()) is None)


def check_documents(tap, program):
    paths = documents()
    known = paths_in_reports(program) | defined_metrics()
    tap.check(f"all links in {len(paths)} documents lead somewhere", [c for path in paths for c in broken_links(path)])
    tap.check("all paths in them exist", [c for path in paths for c in missing_paths(path)])
    tap.check("all figures named in them exist", [c for path in paths for c in unknown_figures(path, known)])
    rubric, schema = ((ROOT / "references" / name).read_text(encoding="utf-8") for name in ("interpretation.md", "report-schema.json"))
    tap.check("all lists and members that rules are due_to exist", list(unknown_causes(rubric, json.loads(schema))))


def find_program():
    built = sorted(ROOT.glob("build*/src/cli/analyze_profile"))
    return built[0] if built else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=find_program(), help="default: the one in build/")
    parser.add_argument("--bless", action="store_true", help="take what the commands print now as right")
    arguments = parser.parse_args()
    if not arguments.program:
        sys.exit("docs.py: no program in build/: build it, or name it with --program")
    tap, program = Tap(), arguments.program.resolve()
    check_commands(tap, program, arguments.bless)
    help_said, man, readme = help_text(program), man_page(), README.read_text(encoding="utf-8")
    check_options(tap, help_said, man, readme)
    check_exit_codes(tap, help_said, man, readme)
    check_man_page(tap, man)
    check_documents(tap, program)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
