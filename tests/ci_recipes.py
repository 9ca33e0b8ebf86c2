#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of references/guide/ci.md, as far as a shell can run them: what stands under run and script, in order, as
the runner would (bash -e for GitHub, sh -e for GitLab), with stand-ins for the recording and for what fetches the
artifact. A first run passes without a baseline, the same program passes, a slower one fails and says so. Prints TAP."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, parser_of
from tap import Tap

TRACES = ROOT / "fixtures" / "traces"
FAST, SLOW = TRACES / "before_slowdown.json.gz", TRACES / "after_slowdown.json.gz"
LIMIT_S = 120

# The recording writes the trace that $RECORDED names; what is fetched are the files of $KEPT, where there are any.
STAND_INS = {
    "python3": """#!/bin/sh
if [ "$1" = train.py ]; then shift; while [ "$1" != --trace ]; do shift; done; exec cp "$RECORDED" "$2"; fi
exec "$REAL_PYTHON" "$@"
""",
    "gh": """#!/bin/sh
[ -n "$KEPT" ] || { echo "no runs" >&2; exit 1; }
if [ "$2" = list ]; then echo 4711; exit; fi
[ "$2 $3" = "download 4711" ] || exit 2
while [ "$1" != --dir ]; do shift; done
mkdir -p "$2" && exec cp "$KEPT"/* "$2"
""",
    "curl": """#!/bin/sh
[ -n "$KEPT" ] || { echo "404" >&2; exit 22; }
while [ "$1" != --output ]; do shift; done
out=$(pwd)/$2
cd "$KEPT" && exec "$REAL_PYTHON" -m zipfile -c "$out" report.json
""",
}


def recipes():
    """{title: text of the recipe}"""
    page = (ROOT / "references" / "guide" / "ci.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([^\n]+)\n\n```yaml recipe\n(.*?)^```", page, re.M | re.S))


def scripts_of(recipe):
    """What the runner hands to the shell: blocks behind "|", and single lines, under run: and script:."""
    lines, at, scripts, script_indent = recipe.split("\n"), 0, [], None
    while at < len(lines):
        line = lines[at]
        indent, at = len(line) - len(line.lstrip()), at + 1
        if script_indent is not None and line.strip() and indent <= script_indent:
            script_indent = None
        if line.strip() == "script:":
            script_indent = indent
        begins = re.match(r"\s*(?:- )?run: (.*)" if script_indent is None else r"\s*- (.*)", line)
        if not begins:
            continue
        if begins[1] != "|":
            scripts.append(begins[1])
            continue
        block = []
        while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent):
            block.append(lines[at])
            at += 1
        inner = min(len(text) - len(text.lstrip()) for text in block if text.strip())
        scripts.append("\n".join(text[inner:] for text in block))
    return scripts


class Runner:
    def __init__(self, folder, program):
        self.folder = folder
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, text in STAND_INS.items():
            (bin_folder / name).write_text(text, encoding="utf-8")
            (bin_folder / name).chmod(0o755)
        (bin_folder / "analyze_profile").symlink_to(program)
        self.environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", REAL_PYTHON=sys.executable,
                                GITHUB_SHA="1a2b3c", CI_COMMIT_SHA="1a2b3c", CI_JOB_TOKEN="t", CI_PROJECT_ID="7",
                                CI_API_V4_URL="https://ci.invalid/api/v4", CI_DEFAULT_BRANCH="main")

    def run(self, title, name, trace, kept):
        """(exit code, what was said, folder): each script in a shell of its own for GitHub, all in one for GitLab."""
        work = self.folder / f"{title}-{name}".replace(" ", "-")
        work.mkdir()
        environment = dict(self.environment, RECORDED=str(trace), KEPT=str(kept or ""),
                           GITHUB_STEP_SUMMARY=str(work / "summary.md"))
        scripts = scripts_of(recipes()[title])
        shell = ["sh", "-e", "-c"] if title == "GitLab" else ["bash", "-e", "-o", "pipefail", "-c"]
        said, code = "", 0
        for script in (["\n".join(scripts)] if title == "GitLab" else scripts):
            done = subprocess.run([*shell, script], cwd=work, env=environment, capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
            said, code = said + done.stdout + done.stderr, done.returncode
            if code:
                break
        return code, said, work


def check_recipe(tap, runner, title):
    code, said, first = runner.run(title, "first", FAST, None)
    written = sorted(path.name for path in first.glob("*") if path.is_file())
    tap.ok(code == 0 and "no baseline" in said and {"report.json", "report.html", "perf.xml"} <= set(written),
           f"{title}: a first run passes without a baseline, says so, and leaves one", f"{code}\n{said}\n{written}")
    kept = runner.folder / f"kept-{title}".replace(" ", "-")
    kept.mkdir()
    for name in ("report.json", "report.html"):
        shutil.copy(first / name, kept)
    code, said, work = runner.run(title, "same", FAST, kept)
    tap.ok(code == 0 and (work / "baseline" / "report.json").exists(), f"{title}: the same program passes",
           f"{code}\n{said}")
    code, said, work = runner.run(title, "slower", SLOW, kept)
    junit = (work / "perf.xml").read_text(encoding="utf-8") if (work / "perf.xml").exists() else ""
    tap.ok(code == 1 and "steps.p50_us" in said and "<failure" in junit and (work / "report.html").exists(),
           f"{title}: a slower one fails, says what, and leaves its report", f"{code}\n{said}\n{junit[:500]}")
    if title != "GitLab":
        tap.ok("::error" in said and "steps" in (work / "summary.md").read_text(encoding="utf-8"),
               f"{title}: with annotations and a summary", said)


def main():
    parser = parser_of(__doc__)
    arguments = parser.parse_args()
    tap = Tap()
    titles = list(recipes())
    tap.same(titles, ["GitHub Actions", "GitLab"], "two recipes")
    tap.same([len(scripts_of(recipes()[title])) for title in titles], [3, 3], "each records, fetches and judges")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder), arguments.program.resolve())
        for title in titles:
            check_recipe(tap, runner, title)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
